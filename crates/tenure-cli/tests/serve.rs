//! `tenure serve` and `tenure keys`: the real binary, its address, its end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Bench, Serving, text};

/// The answer to a request of this header.
fn get(server: &Serving, path: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{header}\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

#[test]
fn it_says_where_it_listens_and_ends_when_it_is_told() {
    let bench = Bench::new();
    let mut server = Serving::start(&bench, &[]);
    assert!(server.address.ip().is_loopback());
    for path in [
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/api/v1/models",
    ] {
        assert!(get(&server, path, "").starts_with("HTTP/1.1 200"), "{path}");
    }
    // The project has a store from now on.
    assert!(bench.folder.path().join(".tenure/store.db").is_file());
    #[cfg(unix)]
    {
        let id = server.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let until = Instant::now() + Duration::from_secs(10);
        let ended = loop {
            if let Some(status) = server.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < until, "it did not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert_eq!(ended.code(), Some(0));
    }
}

#[test]
#[cfg(unix)]
fn the_log_is_json_lines_without_contents() {
    let bench = Bench::new();
    let args = ["--log", "info", "--quality", "utilization=0.9"];
    let mut server = Serving::with(&bench, &args, Stdio::piped());
    let mut errors = server.child.stderr.take().unwrap();
    let hush = "authorization: Bearer hush-4711\r\n";
    get(&server, "/api/v1/objects/hush-4711?as_of=hush-4711", hush);
    get(&server, "/healthz", hush);
    let body = r#"{"request":{"task":{"objective":"hush-4711"},"budget":{"tokens":500}}}"#;
    let length = body.len();
    let mut stream = TcpStream::connect(server.address).unwrap();
    write!(stream, "POST /api/v1/compile HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    let id = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let mut log = String::new();
    errors.read_to_string(&mut log).unwrap();
    assert!(!log.contains("hush-4711"), "{log}");
    // Each line is an object.
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let events: Vec<&str> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(
        events,
        [
            "store", "started", "request", "quality", "request", "stopping", "stopped"
        ],
        "{log}"
    );
    assert_eq!(
        (&lines[2]["status"], &lines[2]["level"]),
        (&400.into(), &"info".into())
    );
    assert_eq!(lines[2]["route"], "/api/v1/objects/{object}");
    assert_eq!(
        (&lines[3]["metric"], &lines[3]["level"]),
        (&"utilization".into(), &"warn".into())
    );
    assert!(lines[4]["took_us"].as_u64().unwrap() > 0);
}

#[test]
fn what_cannot_be_served_is_refused_at_once() {
    let bench = Bench::new();
    let serve = |args: &[&'static str]| [&["serve"], args].concat();
    let refused = |code, args: &[&'static str]| bench.refused(code, &serve(args));
    assert!(refused(1, &["--mode", "fit", "--no-store"]).contains("there is no store"));
    assert!(refused(1, &["--mode", "full", "--no-store"]).contains("there is no store"));
    assert!(refused(1, &["--mode", "fitt"]).contains("did you mean `fit`?"));
    assert!(refused(1, &["--listen", "nowhere"]).contains("127.0.0.1:7878"));
    assert!(refused(1, &["--upstream", "gemini=http://h"]).contains("openai, anthropic"));
    assert!(refused(1, &["--log", "loud"]).contains("info"));
    let endless = ["--upstream-timeout", "18446744073709551614"];
    assert!(refused(1, &endless).contains("1..=31536000"));
    assert!(refused(1, &["--quality", "stalenes=0.1"]).contains("staleness"));
    assert!(
        refused(2, &["--upstream", "https://h", "--upstream-ca", "/nowhere"]).contains("/nowhere")
    );
    assert!(refused(1, &["--upstream", "ftp://h"]).contains("neither http nor https"));
    let twice = ["--upstream", "http://a", "--upstream", "http://b"];
    assert!(refused(1, &twice).contains("two upstreams"));
    assert!(refused(4, &["--listen", "0.0.0.0:0"]).contains("tenure keys create"));
    assert!(
        refused(2, &["--listen", "127.0.0.1:0", "--audit", "/nowhere/audit"]).contains("audit log")
    );
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    assert!(bench.refused(6, &["serve", "--listen", &address]).contains("cannot listen"));
}

#[test]
fn keys_are_made_listed_and_revoked() {
    let bench = Bench::new();
    assert!(bench.refused(2, &["keys", "list"]).contains("there is no store"));
    let made = bench.run(&["keys", "create", "--tenant", "acme", "--operator"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(text(&made.stderr).contains("the only time"));
    let key = text(&made.stdout).trim().to_owned();
    let id = key.split('_').nth(1).unwrap().to_owned();
    let more = [
        "--role",
        "reader",
        "--clearance",
        "restricted",
        "--expires",
        "2100-01-01",
        "--format",
        "json",
    ];
    let other = bench.json(&[&["keys", "create", "--tenant", "beta"], &more[..]].concat());
    assert_eq!(other["grant"]["roles"][0], "reader");
    let listed = bench.ok(&["keys", "list"]);
    assert!(
        listed.contains(&format!("{id}  valid     acme")),
        "{listed}"
    );
    assert!(
        listed.contains("role reader, clearance restricted, until 2100-01-01"),
        "{listed}"
    );
    assert!(!listed.contains(&key));

    let server = Serving::start(&bench, &[]);
    let header = format!("authorization: Bearer {key}\r\n");
    assert!(get(&server, "/api/v1/objects", "").starts_with("HTTP/1.1 401"));
    assert!(get(&server, "/api/v1/objects", &header).starts_with("HTTP/1.1 200"));
    assert_eq!(
        bench.ok(&["keys", "revoke", &id]),
        format!("{id}: revoked\n")
    );
    let until = Instant::now() + Duration::from_secs(10);
    while get(&server, "/api/v1/objects", &header).starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < until, "it still opens");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(bench.ok(&["keys", "list"]).contains(&format!("{id}  revoked")));

    assert!(bench.refused(2, &["keys", "revoke", "nobody"]).contains("there is no key"));
    assert!(
        bench
            .refused(1, &["keys", "create", "--tenant", "a", "--expires", "soon"])
            .contains("--expires")
    );
    assert!(
        bench
            .refused(
                2,
                &["keys", "create", "--tenant", "a", "--expires", "2000-01-01"]
            )
            .contains("expire before")
    );
    assert!(
        bench
            .refused(
                1,
                &["keys", "create", "--tenant", "a", "--clearance", "top"]
            )
            .contains("confidential")
    );
    let silent = bench.refused(2, &["keys", "create", "--tenant", "a", "--role", "reader"]);
    assert!(
        silent.contains("has no clearance") && silent.contains("highly_restricted"),
        "{silent}"
    );
    assert!(
        bench
            .refused(2, &["keys", "create", "--tenant", "tenure:keys"])
            .contains("cannot create a key")
    );
}

#[test]
#[cfg(unix)]
fn what_is_too_old_is_retired_while_it_serves() {
    let bench = Bench::new();
    let old = |name: &str, rule: &str| {
        format!(
            r#"{{"name": "{name}", "content": "Was so.", "valid_from": "2020-01-01", "retirement_rule": "{rule}",
                "decay_rule": {{"half_life_days": 30, "minimum_threshold": 0.1}}}}"#
        )
    };
    for (name, rule) in [("old", "archive"), ("gone", "hard_delete")] {
        bench.file(&format!("{name}.json"), old(name, rule));
        bench.ok(&["store", "put", &format!("{name}.json")]);
    }
    let refused = bench.refused(
        1,
        &["serve", "--listen", "127.0.0.1:0", "--sweep-every", "0"],
    );
    assert!(refused.contains("or off"), "{refused}");
    let args = ["--sweep-every", "1", "--log", "info"];
    let mut server = Serving::with(&bench, &args, Stdio::piped());
    let mut errors = server.child.stderr.take().unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let shown = bench.ok(&["review", "list"]);
        // What is to be erased is proposed, and there.
        if shown.starts_with("erase it?") && shown.contains("gone") {
            break;
        }
        assert!(Instant::now() < until, "{shown}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let list = bench.json(&["store", "list", "--format", "json"]);
    assert_eq!(list["objects"], serde_json::json!([]));
    assert!(bench.ok(&["store", "log"]).contains("sweep"));
    let id = server.child.id().to_string();
    Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    let mut log = String::new();
    errors.read_to_string(&mut log).unwrap();
    let swept = log.lines().find(|line| line.contains("\"swept\""));
    let swept: serde_json::Value = serde_json::from_str(swept.unwrap()).unwrap();
    assert_eq!(
        (
            &swept["archived"],
            &swept["awaiting_confirmation"],
            &swept["erased"]
        ),
        (&1.into(), &1.into(), &0.into())
    );
}
