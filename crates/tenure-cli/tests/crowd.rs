//! Ten thousand connections at once: most of them wait, some send their request a byte at a time, and whoever
//! asks among them is answered. Where files are short, as many as there may be; `scripts/test --full` demands
//! all.

#![cfg(target_os = "linux")] // it reads /proc

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Bench, Serving};

const CROWD: usize = 10_000;
/// What this process and the server need beside the connections.
const SPARE: usize = 200;
/// The most memory that a connection may take in the server; measured: 14 KiB.
const PER_CONNECTION: usize = 24 << 10;

/// How many files a process may have open: what it has, and what it may give itself.
fn files(process: &str) -> (usize, usize) {
    let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let mut numbers = line.unwrap().split_whitespace().skip(3);
    let mut number = || numbers.next().unwrap().parse().unwrap_or(usize::MAX);
    (number(), number())
}

fn resident(id: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.unwrap().trim().trim_end_matches("kB").trim();
    kilobytes.parse::<usize>().unwrap() << 10
}

fn ask(address: SocketAddr) -> Duration {
    let started = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let body = r#"{"request":{"task":{"objective":"x"},"budget":{"tokens":500}},"store":false}"#;
    let request = format!(
        "POST /api/v1/compile HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    started.elapsed()
}

#[test]
fn ten_thousand_connections_hold_nobody_up() {
    let (soft, hard) = files("self");
    let full = std::env::var_os("TENURE_TEST_FULL").is_some();
    if soft < CROWD + SPARE && hard >= CROWD + SPARE {
        // A process may only raise its own limit, so the test runs once more in one that has.
        let program = std::env::current_exe().unwrap();
        let raised = Command::new("sh")
            .args([
                "-c",
                "ulimit -n \"$1\" && exec \"$2\" --exact crowd::ten_thousand_connections_hold_nobody_up",
                "sh",
            ])
            .arg(hard.min(4 * CROWD).to_string())
            .arg(program)
            .status();
        assert!(raised.unwrap().success());
        return;
    }
    let crowd = CROWD.min(soft.saturating_sub(SPARE));
    assert!(!full || crowd == CROWD, "only {soft} files may be open");

    let bench = Bench::new();
    let server = Serving::start(&bench, &["--no-store"]);
    let address = server.address;
    ask(address);
    let before = resident(server.child.id());

    let mut held: Vec<TcpStream> = Vec::with_capacity(crowd);
    for n in 0..crowd {
        let mut stream = TcpStream::connect(address).unwrap();
        // Some say nothing, some begin a request, some have had an answer and stay.
        match n % 4 {
            0 => {}
            1 => stream.write_all(b"GET /healthz HT").unwrap(),
            2 => stream.write_all(b"POST /api/v1/compile HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n{").unwrap(),
            _ => stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap(),
        }
        held.push(stream);
    }
    let answered = held.iter_mut().skip(3).step_by(4);
    let answered = answered.filter_map(|stream| {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut piece = [0; 512];
        let read = stream.read(&mut piece).ok()?;
        piece[..read].starts_with(b"HTTP/1.1 200").then_some(())
    });
    assert_eq!(answered.count(), crowd / 4);
    let mut times: Vec<Duration> = (0..50).map(|_| ask(address)).collect();
    times.sort();
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.child.id())).unwrap().count();
    assert!(open >= crowd, "{open} files are open of {crowd}");
    let each = resident(server.child.id()).saturating_sub(before) / crowd;
    println!(
        "{crowd} connections: {each} bytes each, a compile among them {:?} (p50), {:?} (worst)",
        times[25], times[49]
    );
    assert!(each < PER_CONNECTION, "{each} bytes for each connection");
    assert!(times[25] < Duration::from_secs(1), "{times:?}");
    // Those that were slow can still finish.
    let slow = &mut held[1];
    slow.write_all(b"TP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut piece = [0; 512];
    slow.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let read = slow.read(&mut piece).unwrap();
    assert!(piece[..read].starts_with(b"HTTP/1.1 200"));
}
