//! A server whose login is a member of `tenure_app` and nothing else: all that it serves works, and where the promise
//! of row-level security ends, as the documents say.

#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::server::{PASSWORD, Server};
use crate::support::{Bench, Serving};
use serde_json::{Value, json};

/// The status and the body of an answer.
fn ask(server: &Serving, method: &str, path: &str, key: &str, body: &Value) -> (u16, Value) {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-tenure-key: {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}

#[test]
fn a_server_needs_no_right_but_that_of_tenure_app() {
    let postgres = Server::shared();
    postgres.create("least");
    let bench = Bench::new();
    // The owner makes the store, and is not needed any more.
    bench.ok(&["store", "migrate", "--store", &postgres.url("least")]);
    let mut administrator = postgres.administrator("least");
    let sql = format!("CREATE ROLE serving LOGIN PASSWORD '{PASSWORD}' IN ROLE tenure_app");
    administrator.batch_execute(&sql).unwrap();
    let store = postgres.url_as("serving", "least");
    let made = [
        "keys",
        "create",
        "--tenant",
        "acme",
        "--operator",
        "--store",
        &store,
        "--format",
        "json",
    ];
    let key = bench.json(&made)["key"].as_str().unwrap().to_owned();
    let server = Serving::start(&bench, &["--store", &store]);
    let ask = |method, path, body: Value| ask(&server, method, path, &key, &body);

    let limit = json!({ "name": "limit", "content": "At most 10 kW.", "subjects": ["ada"] });
    assert_eq!(ask("PUT", "/api/v1/objects/limit", limit).0, 201);
    let judged = json!({ "contradiction_status": "clean" });
    let done = [
        ("GET", "/readyz", json!(null)),
        ("GET", "/api/v1/objects", json!(null)),
        ("GET", "/api/v1/objects/limit", json!(null)),
        ("GET", "/api/v1/objects/limit/history", json!(null)),
        ("GET", "/api/v1/objects?search=kW", json!(null)),
        ("POST", "/api/v1/objects/limit/judgement", judged),
        (
            "POST",
            "/api/v1/compile",
            json!({
                "request": { "task": { "objective": "Report." }, "budget": { "tokens": 900 } },
                "record": true,
            }),
        ),
        ("POST", "/api/v1/query", json!({ "text": "kW" })),
        (
            "POST",
            "/api/v1/sessions",
            json!({ "id": "s", "text": "How warm is it?" }),
        ),
        (
            "POST",
            "/api/v1/registries",
            json!({ "label": "main", "kind": "agent" }),
        ),
        ("GET", "/api/v1/records", json!(null)),
        ("DELETE", "/api/v1/objects/limit", json!(null)),
    ];
    for (method, path, body) in done {
        let (status, said) = ask(method, path, body);
        assert!(
            (200..300).contains(&status),
            "{method} {path}: {status} {said}"
        );
    }
    // The tenant's verbs of the command line, too; not those that are the owner's.
    bench.ok(&["store", "check", "--store", &store, "--tenant", "acme"]);
    bench.ok(&[
        "store",
        "erase",
        "--subject",
        "ada",
        "--store",
        &store,
        "--tenant",
        "acme",
    ]);
    bench.refused(4, &["store", "check", "--store", &store]);

    // What the login may not: see anything without a tenant, list them, or touch what holds the wall.
    let mut login = postgres::Client::connect(&store, postgres::NoTls).unwrap();
    let count = |client: &mut postgres::Client, sql: &str| -> i64 {
        client.query_one(sql, &[]).unwrap().get(0)
    };
    let all = "SELECT count(*) FROM tenure.writes";
    assert_eq!(count(&mut login, all), 0);
    for sql in [
        "ALTER TABLE tenure.writes DISABLE ROW LEVEL SECURITY",
        "DROP POLICY one_tenant ON tenure.writes",
        "DROP TABLE tenure.writes",
        "UPDATE tenure.revisions SET body = ''",
        "SET ROLE owner",
    ] {
        assert!(login.batch_execute(sql).is_err(), "{sql}");
    }
    // And where the promise ends: who speaks SQL with this login names any tenant.
    login.batch_execute("SET tenure.tenant = 'acme'").unwrap();
    assert!(count(&mut login, all) > 0);
}
