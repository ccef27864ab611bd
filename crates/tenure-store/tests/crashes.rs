//! Many writers at once, processes and servers that are killed, and disks that are full.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::common::server::{PASSWORD, Server};
use crate::common::{Dice, Home, contents, document, exported, put_one, rounds};
use tenure::{Error, ErrorKind};
use tenure_store::{Expect, Put, Store, Tenant, Writing, Written};

on_both_engines!(
    of_many_writers_one_is_first,
    writers_of_different_things_all_succeed,
    what_was_acknowledged_outlives_a_killed_writer,
);

fn of_many_writers_one_is_first(home: &Home) {
    let acme = home.tenant("acme");
    let id = put_one(&acme, "counter", "0");
    let (each, writers) = (25, 8);
    let conflicts = AtomicU64::new(0);
    // Each adds one to the number that it read, if nobody else did meanwhile.
    std::thread::scope(|scope| {
        for _ in 0..writers {
            scope.spawn(|| {
                let mut done = 0;
                while done < each {
                    let seen = acme.get(id).unwrap().remove(0);
                    let revision = seen.object.revision();
                    let next: u64 = revision.content().parse::<u64>().unwrap() + 1;
                    let put = Put {
                        document: document("counter", &next.to_string()),
                        expect: Expect::Revision(revision.id()),
                    };
                    match acme.put(vec![put], &Writing::default()) {
                        Ok(_) => done += 1,
                        Err(error) => {
                            assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
                            conflicts.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    let total = each * writers;
    assert_eq!(contents(&acme, id), [total.to_string()]);
    let history: Vec<u64> = acme
        .history(id)
        .unwrap()
        .iter()
        .map(|stored| stored.object.revision().content().parse().unwrap())
        .collect();
    assert_eq!(history, (0..=total).collect::<Vec<_>>());
    // What failed took no version.
    assert_eq!(acme.version().unwrap(), total + 1);
    assert_eq!(acme.log(0, 1000).unwrap().len() as u64, total + 1);
}

fn writers_of_different_things_all_succeed(home: &Home) {
    let shared = home.tenant("shared");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (shared, own) = (&shared, home.tenant(&format!("tenant-{writer}")));
            scope.spawn(move || {
                for round in 0..25 {
                    put_one(shared, &format!("object-{writer}"), &round.to_string());
                    put_one(&own, "object", &round.to_string());
                    shared.record_use(vec![]).unwrap();
                }
            });
        }
    });
    assert_eq!(shared.version().unwrap(), 200);
    let log = shared.log(0, 1000).unwrap();
    let versions: Vec<u64> = log.iter().map(|write| write.stamp.version).collect();
    assert_eq!(versions, (1..=200).collect::<Vec<_>>());
    assert!(log.windows(2).all(|pair| pair[0].stamp.at < pair[1].stamp.at));
    for writer in 0..8 {
        assert_eq!(
            home.tenant(&format!("tenant-{writer}")).version().unwrap(),
            25
        );
    }
}

/// One write of the loop: two objects that are the same as each other, and an entry of a log.
fn paired(tenant: &Tenant, number: u64) -> Result<Written, Error> {
    let content = format!("{number} {}", "x".repeat(2_000));
    let puts = ["left", "right"].map(|name| Put::new(document(name, &content)));
    let key = Writing {
        idempotency_key: Some(format!("write-{number}")),
        author: None,
    };
    tenant.put(puts.into(), &key)
}

/// That every write up to `acknowledged` is there, that what is there is whole, and the last number.
fn check_paired(tenant: &Tenant, acknowledged: u64) -> u64 {
    let lines = exported(tenant);
    let of = |name: &str| -> Vec<u64> {
        let lines = lines.iter().filter(|line| line.object.name == name);
        let numbers =
            lines.map(|line| line.object.content.split_once(' ').unwrap().0.parse().unwrap());
        numbers.collect()
    };
    let (left, right) = (of("left"), of("right"));
    assert_eq!(left, right, "a write is there by half");
    let last = left.len() as u64;
    assert_eq!(
        left,
        (1..=last).collect::<Vec<_>>(),
        "a write is missing or stands twice"
    );
    assert!(
        last >= acknowledged,
        "{acknowledged} was acknowledged, {last} is there"
    );
    assert_eq!(tenant.version().unwrap(), last);
    assert_eq!(tenant.log(0, u32::MAX).unwrap().len() as u64, last);
    last
}

const WRITER: &str = "TENURE_TEST_WRITER";

/// Not a test by itself: this program starts itself again with this one alone, to be killed.
#[test]
fn writes_until_it_is_killed() {
    let Ok(url) = std::env::var(WRITER) else {
        return;
    };
    let acme = Store::open(&url).unwrap().tenant("acme").unwrap();
    for number in acme.version().unwrap() + 1.. {
        paired(&acme, number).unwrap();
        // Straight to the pipe: what tests print is held back otherwise.
        writeln!(std::io::stderr(), "wrote {number}").unwrap();
    }
}

fn what_was_acknowledged_outlives_a_killed_writer(home: &Home) {
    let acme = home.tenant("acme");
    let mut dice = Dice(5);
    let mut last = 0;
    for _ in 0..rounds(20, 200) {
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "crashes::writes_until_it_is_killed",
                "--nocapture",
            ])
            .env(WRITER, &home.url)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(writer.stderr.take().unwrap()).lines();
        let first = said.next().unwrap().unwrap();
        std::thread::sleep(Duration::from_micros(dice.roll(40_000)));
        writer.kill().unwrap();
        let lines = std::iter::once(first).chain(said.map(Result::unwrap));
        let acknowledged = lines
            .filter_map(|line| line.strip_prefix("wrote ")?.parse().ok())
            .last()
            .unwrap();
        writer.wait().unwrap();
        settle(&acme);
        last = check_paired(&acme, acknowledged);
    }
    assert!(last > 20);
}

/// Waits until nobody else is in the middle of a write.
fn settle(tenant: &Tenant) {
    let put = Put {
        document: document("left", "never"),
        expect: Expect::Revision(tenure::Digest::of(b"nothing")),
    };
    let error = tenant.put(vec![put], &Writing::default()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict, "{error}");
}

/// Writes until it is told to stop, each number until it is acknowledged; gives the last one, and how
/// often something went wrong on the way.
fn write_through(tenant: &Tenant, stop: &AtomicBool) -> (u64, u32) {
    let mut failures = 0;
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        number += 1;
        while let Err(error) = paired(tenant, number) {
            assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
            assert!(error.hint.is_some(), "{error}");
            assert!(!error.to_string().contains(PASSWORD));
            failures += 1;
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    (number, failures)
}

/// Ends the server so, again and again, while there are writers.
fn end_under_load(how: &str, times: u32) {
    let server = Server::start("fsync = on");
    let home = Home::on(&server);
    let tenants: Vec<Tenant> = (0..4).map(|n| home.tenant(&format!("tenant-{n}"))).collect();
    let stop = AtomicBool::new(false);
    let mut dice = Dice(9);
    let written: Vec<(u64, u32)> = std::thread::scope(|scope| {
        let writers: Vec<_> = tenants
            .iter()
            .map(|tenant| scope.spawn(|| write_through(tenant, &stop)))
            .collect();
        for _ in 0..times {
            std::thread::sleep(Duration::from_micros(100_000 + dice.roll(100_000)));
            server.end(how);
            std::thread::sleep(Duration::from_micros(dice.roll(50_000)));
            server.resume();
        }
        std::thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    for (tenant, (acknowledged, failures)) in tenants.iter().zip(written) {
        assert!(failures > 0);
        assert_eq!(check_paired(tenant, acknowledged), acknowledged);
    }
}

#[test]
fn a_server_that_is_stopped_loses_and_doubles_nothing() {
    end_under_load("stop", rounds(5, 50));
}

#[test]
fn a_server_that_is_killed_loses_and_doubles_nothing() {
    end_under_load("kill", rounds(5, 200));
}

/// A folder with little room, while it is there.
struct Narrow(tempfile::TempDir);

impl Narrow {
    fn mounted() -> Option<Narrow> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(folder.path());
        let done = mount.stderr(Stdio::null()).status();
        done.is_ok_and(|done| done.success()).then(|| Narrow(folder))
    }
}

impl Drop for Narrow {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0.path()).status().ok();
    }
}

const FILLER: &str = "TENURE_TEST_FILLER";

/// Not a test by itself: run where files may not grow beyond a limit.
#[test]
fn fills_a_file_up_to_its_limit() {
    if let Ok(url) = std::env::var(FILLER) {
        fill(&url);
    }
}

/// Writes until there is no more room; gives what is said then.
fn fill(url: &str) -> Error {
    let store = Store::open(url).unwrap();
    let acme = store.tenant("acme").unwrap();
    let mut acknowledged = 0;
    let error = loop {
        match paired(&acme, acknowledged + 1) {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(acknowledged > 20);
    assert_eq!(error.kind, ErrorKind::Unavailable, "{error}");
    // What is there is whole, for this process and for the next.
    assert_eq!(check_paired(&acme, acknowledged), acknowledged);
    drop((acme, store));
    let again = Store::open(url).unwrap().tenant("acme").unwrap();
    assert_eq!(check_paired(&again, acknowledged), acknowledged);
    error
}

#[test]
fn a_full_disk_loses_nothing() {
    if let Some(narrow) = Narrow::mounted() {
        let url = format!("sqlite://{}/store.db", narrow.0.path().display());
        let error = fill(&url);
        assert!(error.what.contains("no room on the disk"), "{error}");
        assert!(error.hint.unwrap().contains("nothing was written"));
        // With room again, it goes on.
        let mut mount = Command::new("mount");
        mount.args(["-o", "remount,size=8m"]).arg(narrow.0.path());
        assert!(mount.status().unwrap().success());
        let acme = Store::open(&url).unwrap().tenant("acme").unwrap();
        put_one(&acme, "other", "x");
        return;
    }
    // Who may not mount may still limit how large a file grows.
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/store.db", folder.path().display());
    let limited =
        "trap '' XFSZ; ulimit -f 2048; exec \"$0\" --exact crashes::fills_a_file_up_to_its_limit";
    let mut filler = Command::new("sh");
    filler
        .args(["-c", limited])
        .arg(std::env::current_exe().unwrap())
        .env(FILLER, &url);
    assert!(filler.status().unwrap().success());
}
