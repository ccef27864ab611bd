//! What the server costs: `cargo build --profile dist && cargo bench -p tenure-server --bench gateway`. With `-- modes`,
//! only what the modes `fit` and `full` cost.
//!
//! It starts the binary of the profile `dist` (`TENURE`, else `target/dist/tenure`) as users do, with a store on disk
//! and every exchange recorded, in front of an upstream of threads in this process. Clients are blocking
//! sockets in this process, too: client, gateway and upstream share the machine's cores.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SAMPLES: usize = 4_000;
const CLIENTS: usize = 32;
const REPLY: &[u8] = br#"{"id":"c","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hello."}}],"usage":{"prompt_tokens":11,"completion_tokens":2}}"#;

// --- the upstream ---------------------------------------------------------------------------------

fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer_all(stream));
        }
    });
    address
}

fn answer_all(mut stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::with_capacity(1 << 19, stream.try_clone().ok()?);
    let mut body = Vec::new();
    loop {
        read_message(&mut reader, &mut body)?;
        if body.starts_with(b"{\"stream\":true") {
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
            let first = "10\r\ndata: {\"n\":0}\n\n\n\r\n";
            stream.write_all(format!("{head}{first}").as_bytes()).ok()?;
            std::thread::sleep(Duration::from_millis(1));
            stream.write_all(b"10\r\ndata: {\"n\":1}\n\n\n\r\n0\r\n\r\n").ok()?;
        } else {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                REPLY.len()
            );
            stream.write_all(&[head.as_bytes(), REPLY].concat()).ok()?;
        }
    }
}

/// Reads a head, and a body that says its length; the length of the body, or none where it is chunked.
fn read_message(reader: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> Option<Option<usize>> {
    let mut length = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        if line.len() <= 2 {
            break;
        }
        let text = String::from_utf8_lossy(&line).to_ascii_lowercase();
        if let Some(value) = text.strip_prefix("content-length:") {
            length = value.trim().parse().ok();
        }
    }
    if let Some(length) = length {
        body.resize(length, 0);
        reader.read_exact(body).ok()?;
    }
    Some(length)
}

// --- the clients ----------------------------------------------------------------------------------

struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Client {
    fn to(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Client {
            stream,
            reader,
            body: Vec::new(),
        }
    }

    fn ask(&mut self, request: &[u8]) -> Duration {
        let started = Instant::now();
        self.stream.write_all(request).unwrap();
        read_message(&mut self.reader, &mut self.body).unwrap();
        started.elapsed()
    }

    /// The time to the first event of a stream, which is then read to its end.
    fn first_event(&mut self, request: &[u8]) -> Duration {
        let started = Instant::now();
        self.stream.write_all(request).unwrap();
        read_message(&mut self.reader, &mut self.body).unwrap();
        let mut line = String::new();
        while !line.starts_with("data:") {
            line.clear();
            self.reader.read_line(&mut line).unwrap();
        }
        let took = started.elapsed();
        while line != "0\r\n" {
            line.clear();
            self.reader.read_line(&mut line).unwrap();
        }
        self.reader.read_line(&mut line).unwrap();
        took
    }
}

fn request(path: &str, body: &[u8]) -> Vec<u8> {
    let mut request = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nauthorization: Bearer sk-1\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.extend_from_slice(body);
    request
}

fn p(samples: &mut [Duration], part: usize) -> f64 {
    samples.sort_unstable();
    samples[(samples.len() - 1) * part / 100].as_secs_f64() * 1e3
}

/// The same request directly and through the gateway, in turn; milliseconds.
fn compare(
    name: &str,
    direct: SocketAddr,
    through: SocketAddr,
    mut ask: impl FnMut(&mut Client) -> Duration,
    samples: usize,
) {
    let mut clients = [Client::to(direct), Client::to(through)];
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..samples + samples / 10 {
        for (client, times) in clients.iter_mut().zip(&mut times) {
            let took = ask(client);
            if round >= samples / 10 {
                times.push(took);
            }
        }
    }
    let [direct, through] = &mut times;
    let (d50, t50) = (p(direct, 50), p(through, 50));
    println!(
        "{name:<34} p50 direct {d50:.3} ms, through {t50:.3} ms: {:+.3} ms; p99 {:+.3} ms",
        t50 - d50,
        p(through, 99) - p(direct, 99)
    );
}

/// Requests a second of many clients.
fn throughput(name: &str, address: SocketAddr, request: &[u8], total: usize) {
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut client = Client::to(address);
                for _ in 0..total / CLIENTS {
                    client.ask(request);
                }
            });
        }
    });
    let rate = total as f64 / started.elapsed().as_secs_f64();
    println!("{name:<34} {rate:>8.0} requests/s, {CLIENTS} connections");
}

// --- the server -----------------------------------------------------------------------------------

struct Server {
    child: Child,
    address: SocketAddr,
}

impl Server {
    fn start(binary: &Path, folder: &Path, upstream: SocketAddr) -> (Server, Duration) {
        Server::with(binary, folder, upstream, &[])
    }

    fn with(
        binary: &Path,
        folder: &Path,
        upstream: SocketAddr,
        arguments: &[&str],
    ) -> (Server, Duration) {
        let started = Instant::now();
        let store = format!("sqlite://{}", folder.join("store.db").display());
        let upstream = format!("http://{upstream}");
        let mut child = Command::new(binary)
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--store",
                &store,
                "--upstream",
                &upstream,
            ])
            .args(arguments)
            .env("XDG_STATE_HOME", folder)
            .env("XDG_CONFIG_HOME", folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary: cargo build --profile dist");
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let address = url.trim().strip_prefix("http://").unwrap().parse().unwrap();
        let server = Server { child, address };
        assert!(server.get("/readyz").contains("200 OK"));
        (server, started.elapsed())
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply
    }

    fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics");
        let of = text.lines().filter(|line| line.starts_with(name));
        let values = of.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
        values.sum()
    }

    fn memory(&self) -> f64 {
        self.metric("tenure_process_resident_memory_bytes") / 1e6
    }

    /// Waits until the recorder has nothing to do.
    fn settle(&self) {
        while self.metric("tenure_records_queued") > 0.0 {
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A conversation of tool calls and results, as large as that.
fn conversation(bytes: usize) -> Vec<u8> {
    let mut body = String::from(
        "{\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\",\"content\":\"Find the fault.\"}",
    );
    let mut number = 0;
    while body.len() < bytes {
        number += 1;
        let lines: String = (0..40)
            .map(|line| {
                format!(
                    "{number:04}:{line:02} sensor {} reads {} Pa\\n",
                    line * 7 % 13,
                    number * 31 + line
                )
            })
            .collect();
        body.push_str(&format!(
            ",{{\"role\":\"assistant\",\"tool_calls\":[{{\"id\":\"call_{number}\",\"type\":\"function\",\"function\":{{\"name\":\"read\",\"arguments\":\"{{\\\"at\\\":{number}}}\"}}}}]}},{{\"role\":\"tool\",\"tool_call_id\":\"call_{number}\",\"content\":\"{lines}\"}}"
        ));
    }
    body.push_str("]}");
    body.into_bytes()
}

/// An agent's conversation: what it asks grows by the reply and the next question.
struct Agent {
    name: &'static str,
    model: &'static str,
    messages: String,
    turns: usize,
}

impl Agent {
    /// Agents of other names say other things: who repeats another's conversation goes on in its session.
    fn new(name: &'static str, model: &'static str, turns: usize) -> Agent {
        let mut agent = Agent {
            name,
            model,
            messages: String::new(),
            turns: 0,
        };
        for _ in 0..turns {
            agent.next();
        }
        agent
    }

    /// The next request: some 1.3 KB more than the one before.
    fn next(&mut self) -> Vec<u8> {
        if self.turns > 0 {
            self.messages.push_str(",{\"role\":\"assistant\",\"content\":\"Hello.\"},");
        }
        self.turns += 1;
        let turn = self.turns;
        let lines: String = (0..36)
            .map(|line| {
                format!(
                    "{turn:04}:{line:02} sensor {} reads {} Pa\\n",
                    line * 7 % 13,
                    turn * 31 + line
                )
            })
            .collect();
        self.messages.push_str(&format!(
            "{{\"role\":\"user\",\"content\":\"{}: {lines}\"}}",
            self.name
        ));
        let body = format!(
            "{{\"model\":\"{}\",\"max_tokens\":1000,\"messages\":[{}]}}",
            self.model, self.messages
        );
        request("/v1/chat/completions", body.as_bytes())
    }
}

/// What `fit` and `full` add to the requests of an agent.
fn modes(binary: &Path, direct: SocketAddr) {
    let folder = tempfile::tempdir().unwrap();
    let models = folder.path().join("models.toml");
    let text = "models.window-64k = { extends = \"gpt-4o\", window = 64000, reserve = 4000 }\n";
    std::fs::write(&models, text).unwrap();
    let models = models.display().to_string();
    let start = |mode: &str| {
        Server::with(
            binary,
            folder.path(),
            direct,
            &["--mode", mode, "--catalogue", &models],
        )
        .0
    };
    let agent = |name: &'static str, server: &Server, model, turns: usize, samples: usize| {
        let mut agent = Agent::new(name, model, turns);
        // The conversation as it is when it is first seen.
        Client::to(server.address).ask(&agent.next());
        let mut clients = [Client::to(direct), Client::to(server.address)];
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..samples {
            let request = agent.next();
            for (client, times) in clients.iter_mut().zip(&mut times) {
                times.push(client.ask(&request));
            }
        }
        let [direct, through] = &mut times;
        let (d50, t50) = (p(direct, 50), p(through, 50));
        println!(
            "{name:<34} p50 direct {d50:.3} ms, through {t50:.3} ms: {:+.3} ms; p99 {:+.3} ms",
            t50 - d50,
            p(through, 99) - p(direct, 99)
        );
    };
    let fit = start("fit");
    agent("fit, a short conversation", &fit, "gpt-4o", 2, 40);
    agent("fit, 200 turns that fit", &fit, "gpt-4o", 160, 80);
    agent("fit, 200 turns cut to 64k", &fit, "window-64k", 160, 80);
    println!(
        "fit: replies in their sessions     {} of {}, {} unmanaged",
        fit.metric("tenure_gateway_replies_total{what=\"kept\"}"),
        fit.metric("tenure_gateway_exchanges_total{what=\"whole\"}"),
        fit.metric("tenure_gateway_unmanaged_total")
    );
    drop(fit);
    let full = start("full");
    let mut client = Client::to(full.address);
    for part in 0..20 {
        let object = |at: usize| {
            let at = part * 500 + at;
            format!(
                "{{\"name\":\"fact-{at}\",\"object_type\":\"preference\",\"content\":\"Pump {at} of line {} is served by crew {} and runs at {} Pa.\"}}",
                at % 37,
                at % 11,
                at * 13
            )
        };
        let objects: Vec<String> = (0..500).map(object).collect();
        let body = format!("{{\"objects\":[{}]}}", objects.join(","));
        client.ask(&request("/api/v1/objects", body.as_bytes()));
    }
    agent("full, 10,000 objects, short", &full, "window-64k", 2, 40);
    agent("full, 10,000 objects, 64k", &full, "window-64k", 120, 80);
    println!(
        "full: replies in their sessions    {} of {}, {} unmanaged",
        full.metric("tenure_gateway_replies_total{what=\"kept\"}"),
        full.metric("tenure_gateway_exchanges_total{what=\"whole\"}"),
        full.metric("tenure_gateway_unmanaged_total")
    );
}

/// 31 blocks of about 140 tokens.
fn blocks() -> String {
    let text = "State every pressure in pascal and round it to three digits, unless the sheet says otherwise. ".repeat(6);
    let block = |at| format!("{{\"name\":\"rule-{at}\",\"content\":\"Rule {at}. {text}\"}}");
    let blocks: Vec<String> = (0..31).map(block).collect();
    format!("\"objects\":[{}]", blocks.join(","))
}

/// A compile, and what it is told beside the task.
fn compile(beside: &str) -> Vec<u8> {
    let body = format!(
        "{{\"request\":{{\"task\":{{\"objective\":\"Report the pressure.\"}},\"budget\":{{\"tokens\":8000}}}},{beside}}}"
    );
    request("/api/v1/compile", body.as_bytes())
}

fn main() {
    // `cargo test --benches` only wants to know that it builds.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let binary = std::env::var_os("TENURE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/dist/tenure"),
        PathBuf::from,
    );
    let folder = tempfile::tempdir().unwrap();
    let direct = upstream();
    if std::env::args().any(|arg| arg == "modes") {
        modes(&binary, direct);
        return;
    }
    let mut starts = Vec::new();
    for _ in 0..10 {
        starts.push(Server::start(&binary, folder.path(), direct).1);
    }
    println!(
        "start to ready                     p50 {:.0} ms",
        p(&mut starts, 50)
    );
    let (server, _) = Server::start(&binary, folder.path(), direct);
    println!(
        "idle memory                        {:.1} MB",
        server.memory()
    );

    let small = request(
        "/v1/chat/completions",
        br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Say hello."}]}"#,
    );
    let large = request("/v1/chat/completions", &conversation(260_000));
    let stream = request(
        "/v1/chat/completions",
        br#"{"stream":true,"model":"gpt-4o","messages":[]}"#,
    );
    compare(
        "small request",
        direct,
        server.address,
        |client| client.ask(&small),
        SAMPLES,
    );
    compare(
        "260 KB tool conversation",
        direct,
        server.address,
        |client| client.ask(&large),
        SAMPLES / 4,
    );
    compare(
        "first event of a stream",
        direct,
        server.address,
        |client| client.first_event(&stream),
        SAMPLES / 4,
    );
    server.settle();

    throughput("small, direct", direct, &small, 100_000);
    let before = server.memory();
    throughput(
        "small, through the gateway",
        server.address,
        &small,
        100_000,
    );
    server.settle();
    println!(
        "memory over 100,000 requests       {before:.1} MB before, {:.1} MB after",
        server.memory()
    );
    let kept = server.metric("tenure_records_kept_total");
    let dropped = server.metric("tenure_records_dropped_total{what=\"record\"}");
    println!("records                            {kept} kept, {dropped} dropped");
    throughput("small, again", server.address, &small, 100_000);
    server.settle();
    println!(
        "memory after another 100,000       {:.1} MB",
        server.memory()
    );

    let sent = compile(&format!("\"store\":false,{}", blocks()));
    let stored = compile("\"store\":true");
    let mut client = Client::to(server.address);
    client.ask(&request(
        "/api/v1/objects",
        format!("{{{}}}", blocks()).as_bytes(),
    ));
    for (name, compile) in [
        ("compile, 31 blocks of the store", &stored),
        ("compile, 31 blocks sent with it", &sent),
    ] {
        let mut times: Vec<Duration> = (0..500).map(|_| client.ask(compile)).collect();
        println!("{name:<34} p50 {:.2} ms", p(&mut times, 50));
        throughput(name, server.address, compile, 10_000);
    }
    drop(server);
    modes(&binary, direct);
}
