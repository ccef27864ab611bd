//! Several `tenure serve` over one PostgreSQL, behind a balancer: the same bytes from each, what one writes
//! is seen by the others, a node may be killed, and the database may go away and come back.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::server::Server;
use crate::support::{Bench, Serving};
use serde_json::{Value, json};
use tenure_store::Store;

/// The longest that anything is waited for.
const LONG: Duration = Duration::from_secs(30);

/// A node of this store.
fn node(bench: &Bench, store: &str, more: &[&str]) -> Serving {
    let args = [&["--tenant", "acme", "--store", store], more].concat();
    Serving::start(bench, &args)
}

/// Hands each connection to the next node that takes it.
struct Balancer {
    address: SocketAddr,
    stopping: Arc<AtomicBool>,
}

impl Balancer {
    fn over(nodes: &[&Serving]) -> Balancer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let nodes: Vec<SocketAddr> = nodes.iter().map(|node| node.address).collect();
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        std::thread::spawn(move || {
            for (turn, client) in listener.incoming().enumerate() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let order = (0..nodes.len()).map(|step| nodes[(turn + step) % nodes.len()]);
                let Some(node) = order.clone().find_map(|node| TcpStream::connect(node).ok())
                else {
                    continue;
                };
                pass(client.unwrap(), node);
            }
        });
        Balancer { address, stopping }
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

/// Passes bytes both ways until either side is done.
fn pass(client: TcpStream, node: TcpStream) {
    for (mut from, mut to) in [
        (client.try_clone().unwrap(), node.try_clone().unwrap()),
        (node, client),
    ] {
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Both);
        });
    }
}

/// An answer.
#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }
}

/// Asks once; nothing, where no whole answer came.
fn try_ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &[u8],
) -> Option<Reply> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    for header in headers {
        head.push_str(&format!("{header}\r\n"));
    }
    head.push_str(&format!(
        "content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    ));
    stream.write_all(&[head.as_bytes(), body].concat()).ok()?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).ok()?;
    let at = reply.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8(reply[..at].to_vec()).unwrap();
    let body = reply[at + 4..].to_vec();
    let length = head.lines().find_map(|line| {
        let line = line.to_ascii_lowercase();
        line.strip_prefix("content-length: ")?.parse::<usize>().ok()
    });
    (length? == body.len()).then_some(Reply {
        status: head.split(' ').nth(1)?.parse().ok()?,
        head,
        body,
    })
}

fn ask(address: SocketAddr, method: &str, path: &str, headers: &[&str], body: &Value) -> Reply {
    let body = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    try_ask(address, method, path, headers, &body).unwrap()
}

fn post(address: SocketAddr, path: &str, body: &Value) -> Reply {
    ask(address, "POST", path, &[], body)
}

fn wait_for<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + LONG;
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < until, "it did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A store in a database of this server, migrated.
fn store(server: &Server, database: &str) -> (Store, String) {
    server.create(database);
    let url = server.url(database);
    let store = Store::open(&url).unwrap();
    store.migrate().unwrap();
    (store, url)
}

fn object(name: &str, content: &str) -> Value {
    json!({ "name": name, "content": content, "tags": ["device"] })
}

/// A compile over the store whose bytes the clock has no part in.
fn call() -> Value {
    json!({
        "request": {
            "task": { "objective": "What does the device report?" },
            "budget": { "tokens": 4000 },
            "as_of": { "valid": "2026-06-06T00:00:00Z" },
        },
    })
}

fn payload(reply: &Reply) -> String {
    assert_eq!(
        reply.status,
        200,
        "{}",
        String::from_utf8_lossy(&reply.body)
    );
    reply.json()["envelope"]["payload"].as_str().unwrap().to_owned()
}

#[test]
fn nodes_give_the_same_bytes_and_see_what_the_others_wrote() {
    let bench = Bench::new();
    let (_, url) = store(Server::shared(), "same");
    let nodes: Vec<Serving> = (0..3).map(|_| node(&bench, &url, &[])).collect();
    let balancer = Balancer::over(&nodes.iter().collect::<Vec<_>>());
    // Written through all of them, in turn.
    for n in 0..24 {
        let written = ask(
            balancer.address,
            "PUT",
            &format!("/api/v1/objects/fact-{n}"),
            &[],
            &object(
                &format!("fact-{n}"),
                &format!("The device reports value {n}."),
            ),
        );
        assert_eq!(written.status, 201, "{}", written.json());
    }
    let served = nodes.iter().filter(|node| {
        let metrics = ask(node.address, "GET", "/metrics", &[], &Value::Null);
        let metrics = String::from_utf8(metrics.body).unwrap();
        metrics.contains("route=\"/api/v1/objects/{object}\",status=\"201\"} 8")
    });
    assert_eq!(served.count(), 3, "the balancer did not go round");

    // The whole answers are the same where the request leaves nothing to the clock.
    let mut dated = call();
    dated["request"]["as_of"]["known"] = "2100-01-01T00:00:00Z".into();
    let bodies: Vec<Vec<u8>> = nodes
        .iter()
        .map(|node| post(node.address, "/api/v1/compile", &dated).body)
        .collect();
    assert!(bodies[0] == bodies[1] && bodies[1] == bodies[2]);
    let first = payload(&post(nodes[0].address, "/api/v1/compile", &dated));
    assert!(
        first.contains("value 0.") && first.contains("value 23."),
        "{first}"
    );
    for node in &nodes {
        assert_eq!(
            payload(&post(node.address, "/api/v1/compile", &call())),
            first
        );
    }

    // What one node takes back, no other gives out again: with its very next compile.
    for n in 0..12 {
        let (writer, others) = (&nodes[n % 3], [&nodes[(n + 1) % 3], &nodes[(n + 2) % 3]]);
        let path = format!("/api/v1/objects/fact-{n}");
        let gone = ask(writer.address, "DELETE", &path, &[], &Value::Null);
        assert_eq!(gone.status, 200, "{}", gone.json());
        for node in others {
            let seen = payload(&post(node.address, "/api/v1/compile", &call()));
            assert!(!seen.contains(&format!("value {n}.")), "{n}: {seen}");
        }
        // A request may name the version of a write: nobody answers from before it.
        let written = post(
            writer.address,
            "/api/v1/objects",
            &json!({ "objects": [object(&format!("new-{n}"), &format!("The device is new {n}."))] }),
        );
        let mut named = call();
        named["version"] = written.json()["version"].clone();
        for node in others {
            let seen = payload(&post(node.address, "/api/v1/compile", &named));
            assert!(seen.contains(&format!("is new {n}.")), "{n}: {seen}");
        }
        named["version"] = (written.json()["version"].as_u64().unwrap() + 1).into();
        let early = post(others[0].address, "/api/v1/compile", &named);
        assert_eq!(
            (early.status, &early.json()["kind"]),
            (503, &"unavailable".into())
        );
    }

    // A registry that one makes and changes is the others'.
    let library = json!({ "label": "library", "kind": "agent" });
    let made = post(nodes[0].address, "/api/v1/registries", &library);
    assert_eq!(made.status, 201, "{}", made.json());
    let listed = ask(
        nodes[1].address,
        "GET",
        "/api/v1/registries/library",
        &[],
        &Value::Null,
    );
    assert_eq!(listed.status, 200, "{}", listed.json());
}

#[test]
fn a_revoked_key_opens_nothing_on_any_node() {
    let bench = Bench::new();
    let (_, url) = store(Server::shared(), "revoked");
    let create = ["keys", "create", "--tenant", "acme", "--operator"];
    let keys: Vec<String> = (0..6)
        .map(|_| {
            let made = bench.run(&[&create[..], &["--store", &url]].concat());
            crate::support::text(&made.stdout).trim().to_owned()
        })
        .collect();
    let nodes: Vec<Serving> = (0..3).map(|_| node(&bench, &url, &[])).collect();
    let status = |node: &Serving, key: &str| {
        let header = format!("authorization: Bearer {key}");
        ask(
            node.address,
            "POST",
            "/api/v1/compile",
            &[&header],
            &json!({
                "request": { "task": { "objective": "x" }, "budget": { "tokens": 500 } },
                "objects": [object("a", "b")],
            }),
        )
        .status
    };
    for key in &keys {
        for node in &nodes {
            assert_eq!(status(node, key), 200);
        }
        let id = key.split('_').nth(1).unwrap();
        bench.ok(&["keys", "revoke", id, "--store", &url]);
        for node in &nodes {
            assert_eq!(status(node, key), 401);
        }
    }
}

#[test]
fn a_write_is_known_even_where_the_clock_of_the_database_is_ahead() {
    let bench = Bench::new();
    let server = Server::shared();
    let (_, url) = store(server, "ahead");
    let node = node(&bench, &url, &[]);
    let write = |name: &str| {
        let body = json!({ "objects": [object(name, &format!("The device says {name}."))] });
        let written = post(node.address, "/api/v1/objects", &body).json();
        let at: tenure::time::Instant = written["at"].as_str().unwrap().parse().unwrap();
        at.micros()
    };
    let first = write("first");
    // As if its clock were an hour ahead of the node's.
    let ahead = "UPDATE tenure.tenants SET at = at + 3600000000 WHERE tenant = 'acme'";
    server.administrator("ahead").batch_execute(ahead).unwrap();
    assert!(write("second") > first + 3_000_000_000);
    let seen = payload(&post(node.address, "/api/v1/compile", &call()));
    assert!(
        seen.contains("says first.") && seen.contains("says second."),
        "{seen}"
    );
}

/// Writes objects one after the other, each until it is acknowledged, under a key of its own.
struct Writers {
    stop: Arc<AtomicBool>,
    written: Arc<Mutex<BTreeMap<String, u64>>>,
    refused: Arc<AtomicUsize>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Writers {
    fn start(address: SocketAddr) -> Writers {
        let stop = Arc::new(AtomicBool::new(false));
        let written: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
        let refused = Arc::new(AtomicUsize::new(0));
        let threads = (0..4).map(|writer| {
            let (stop, written, refused) = (
                Arc::clone(&stop),
                Arc::clone(&written),
                Arc::clone(&refused),
            );
            std::thread::spawn(move || {
                for n in 0.. {
                    let name = format!("w{writer}-{n}");
                    let once = format!("idempotency-key: {name}");
                    let body = json!({ "objects": [object(&name, &format!("It is {name}."))] });
                    let body = body.to_string();
                    let until = Instant::now() + LONG;
                    loop {
                        let reply = try_ask(
                            address,
                            "POST",
                            "/api/v1/objects",
                            &[&once],
                            body.as_bytes(),
                        );
                        match reply {
                            Some(reply) if reply.status == 200 => {
                                let version = reply.json()["version"].as_u64().unwrap();
                                written.lock().unwrap().insert(name, version);
                                break;
                            }
                            Some(reply) => {
                                // Whoever is refused is told so in full.
                                let problem = reply.json();
                                assert_eq!(reply.status, 503, "{problem}");
                                assert!(
                                    reply.head.contains("application/problem+json"),
                                    "{}",
                                    reply.head
                                );
                                assert_eq!(problem["kind"], "unavailable", "{problem}");
                                assert!(problem["hint"].is_string(), "{problem}");
                                refused.fetch_add(1, Ordering::Relaxed);
                            }
                            None => {}
                        }
                        assert!(Instant::now() < until, "`{name}` is never taken");
                        std::thread::sleep(Duration::from_millis(10));
                    }
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                }
            })
        });
        Writers {
            threads: threads.collect(),
            stop,
            written,
            refused,
        }
    }

    fn count(&self) -> usize {
        self.written.lock().unwrap().len()
    }

    /// Waits until so many more are written.
    fn more(&self, more: usize) {
        let goal = self.count() + more;
        wait_for(|| (self.count() >= goal).then_some(()));
    }

    /// Ends them; everything that was acknowledged is there, once, at the version that was said.
    fn check(self, store: &Store) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap();
        }
        let written = self.written.lock().unwrap();
        let acme = store.tenant("acme").unwrap();
        let resident = acme.load().unwrap();
        let objects = resident.candidates().objects();
        let held: Vec<&str> = objects.iter().map(|object| object.name()).collect();
        assert_eq!(held.len(), written.len());
        for (name, version) in written.iter() {
            let ids = acme.named(name).unwrap();
            assert_eq!(ids.len(), 1, "{name}");
            let history = acme.history(ids[0]).unwrap();
            assert_eq!(history.len(), 1, "{name} was written more than once");
            assert_eq!(history[0].opened, *version, "{name}");
        }
    }
}

#[test]
fn a_node_that_is_killed_loses_nothing_that_it_acknowledged() {
    let bench = Bench::new();
    let (store, url) = store(Server::shared(), "killed");
    let mut nodes: Vec<Serving> = (0..3).map(|_| node(&bench, &url, &[])).collect();
    let balancer = Balancer::over(&nodes.iter().collect::<Vec<_>>());
    let writers = Writers::start(balancer.address);
    writers.more(20);
    // A compile whose record was acknowledged by a node that dies right then.
    let mut recorded = call();
    recorded["record"] = true.into();
    let done = post(nodes[0].address, "/api/v1/compile", &recorded).json();
    let id = done["record_ids"][0].as_str().unwrap().to_owned();
    nodes[0].kill();
    writers.more(20);
    nodes[1].kill();
    writers.more(20);
    let shown = ask(
        nodes[2].address,
        "GET",
        &format!("/api/v1/records/{id}"),
        &[],
        &Value::Null,
    );
    assert_eq!(shown.status, 200, "{}", shown.json());
    let again = post(
        nodes[2].address,
        "/api/v1/replay",
        &json!({ "record_id": id }),
    );
    assert_eq!(again.status, 200, "{}", again.json());
    writers.check(&store);
}

#[test]
fn while_the_database_is_away_nodes_say_so_and_go_on_when_it_is_back() {
    let bench = Bench::new();
    // What was acknowledged must survive a crash of the database, too.
    let server = Server::start("synchronous_commit = on");
    let (store, url) = store(&server, "outage");
    let upstream = upstream();
    let nodes: Vec<Serving> =
        (0..3).map(|_| node(&bench, &url, &["--upstream", &upstream])).collect();
    let balancer = Balancer::over(&nodes.iter().collect::<Vec<_>>());
    let writers = Writers::start(balancer.address);
    writers.more(10);
    let get = |node: &Serving, path: &str| ask(node.address, "GET", path, &[], &Value::Null);
    let mut exchanged = Vec::new();
    for how in ["stop", "kill"] {
        server.end(how);
        let before = writers.refused.load(Ordering::Relaxed);
        for node in &nodes {
            let started = Instant::now();
            let refused = post(node.address, "/api/v1/compile", &call());
            let problem = refused.json();
            assert_eq!(refused.status, 503, "{problem}");
            assert_eq!(
                problem["type"], "urn:tenure:problem:unavailable",
                "{problem}"
            );
            assert!(
                !problem.to_string().contains(crate::server::PASSWORD),
                "{problem}"
            );
            assert_eq!(get(node, "/readyz").status, 503);
            assert_eq!(get(node, "/healthz").status, 200);
            // What needs no store goes on.
            assert_eq!(get(node, "/api/v1/models").status, 200);
            let mut alone = call();
            alone["store"] = false.into();
            alone["objects"] = json!([object("a", "The device reports.")]);
            payload(&post(node.address, "/api/v1/compile", &alone));
            let answered = post(
                node.address,
                "/v1/chat/completions",
                &json!({ "model": "gpt-4o", "messages": [{ "role": "user", "content": "Hi." }] }),
            );
            assert_eq!(answered.status, 200, "{}", answered.json());
            let record =
                answered.head.lines().find_map(|line| line.strip_prefix("x-tenure-record: "));
            exchanged.push(record.unwrap().to_owned());
            assert!(started.elapsed() < Duration::from_secs(5));
        }
        wait_for(|| (writers.refused.load(Ordering::Relaxed) > before).then_some(()));
        server.resume();
        for node in &nodes {
            wait_for(|| (get(node, "/readyz").status == 200).then_some(()));
            payload(&post(node.address, "/api/v1/compile", &call()));
        }
        writers.more(10);
    }
    // What was recorded meanwhile is kept, once.
    let acme = store.tenant("acme").unwrap();
    for id in &exchanged {
        wait_for(|| acme.record(id).unwrap());
    }
    let kept = acme.records(1000).unwrap();
    assert_eq!(kept.len(), exchanged.len(), "{kept:?}");
    writers.check(&store);
}

/// A provider that answers everything; gives its URL.
fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                loop {
                    let mut length = 0;
                    loop {
                        let mut line = String::new();
                        if reader.read_line(&mut line).unwrap_or(0) == 0 {
                            return;
                        }
                        let line = line.trim_end().to_ascii_lowercase();
                        if line.is_empty() {
                            break;
                        }
                        if let Some(value) = line.strip_prefix("content-length: ") {
                            length = value.parse().unwrap();
                        }
                    }
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body).unwrap();
                    let said = r#"{"id":"c","object":"chat.completion","model":"gpt-4o","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1,"total_tokens":8}}"#;
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{said}",
                        said.len()
                    );
                    stream.write_all(answer.as_bytes()).unwrap();
                }
            });
        }
    });
    url
}
