//! One contract: the compiles of `tests/contract/` give the same payload, counts and verdicts on every face. The Python
//! package runs them in its own tests.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tenure::object::Sealer;
use tenure::{Candidates, Compiled, FrameKey, ObjectDocument, Policy, Request};
use tenure_workspace::Workspace;

use crate::support::{Bench, Serving};

/// The secret of every case's frame key, in hexadecimal digits.
const KEY: &str = "7777777777777777777777777777777777777777777777777777777777777777";

struct Case {
    path: PathBuf,
    whole: Value,
}

fn cases() -> Vec<Case> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/contract"));
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    assert!(paths.len() >= 6);
    let read = |path: PathBuf| Case {
        whole: serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap(),
        path,
    };
    paths.into_iter().map(read).collect()
}

/// What a face made of a case, as a result of `compile` says it. The order of verdicts is that of the candidates.
fn told(result: &Value) -> Value {
    let (envelope, trace) = (&result["envelope"], &result["trace"]);
    let verdicts = trace["verdicts"].as_array().unwrap().iter();
    let verdicts = verdicts.map(|verdict| json!([verdict["name"], verdict["reason"]["code"]]));
    json!({
        "payload_digest": envelope["payload_digest"],
        "total_tokens": envelope["total_tokens"],
        "verdicts": verdicts.collect::<Vec<Value>>(),
    })
}

/// By the library.
fn library(case: &Case) -> Compiled {
    let key = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(key.path(), KEY).unwrap();
    let key: FrameKey = tenure_workspace::load_frame_key(key.path()).unwrap();
    let workspace = Workspace::new(key).unwrap();
    let call = &case.whole["call"];
    let request: Request = serde_json::from_value(call["request"].clone()).unwrap();
    let request = Request {
        principal: tenure::Principal::owner(),
        ..request
    };
    let mut sealer = Sealer::default();
    let objects = call["objects"].as_array().unwrap().iter();
    let objects = objects.map(|object| {
        let mut document: ObjectDocument = serde_json::from_value(object.clone()).unwrap();
        document.complete().unwrap();
        document.untyped_is_data();
        sealer.seal(document).unwrap()
    });
    let candidates = Candidates::new(objects.collect::<Vec<Arc<_>>>());
    let policy = Policy::preset(call["policy"].as_str().unwrap_or("standard")).unwrap();
    let model = request.model.as_deref().unwrap_or("gpt-4o");
    let world = workspace.world(model).unwrap();
    let outcome = workspace.compile(&world, &policy, &request, &candidates);
    outcome.unwrap().single().unwrap().clone()
}

/// By the command line, over a store.
fn command_line(case: &Case) -> Value {
    let bench = Bench::new();
    let call = &case.whole["call"];
    let mut request = call["request"].clone();
    request["principal"] = json!(tenure::Principal::owner());
    let lines = call["objects"].as_array().unwrap().iter();
    let lines: Vec<String> = lines.map(Value::to_string).collect();
    bench
        .file("key", KEY)
        .file("request.json", request.to_string())
        .file("objects.jsonl", lines.join("\n"));
    let put = bench.run(&["store", "put", "objects.jsonl", "--store", "sqlite://s.db"]);
    assert!(
        put.status.success(),
        "{}",
        crate::support::text(&put.stderr)
    );
    let policy = call["policy"].as_str().unwrap_or("standard");
    bench.json(&[
        "compile",
        "--store",
        "sqlite://s.db",
        "--frame-key",
        "key",
        "--request",
        "request.json",
        "--policy",
        policy,
        "--format",
        "json",
    ])
}

/// By the HTTP API.
fn over_http(server: &Serving, case: &Case) -> Value {
    let mut call = case.whole["call"].clone();
    call["store"] = json!(false);
    let body = call.to_string();
    let mut stream = TcpStream::connect(server.address).unwrap();
    let head = format!(
        "POST /api/v1/compile HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{reply}");
    serde_json::from_str(body).unwrap()
}

#[test]
fn every_face_compiles_the_same() {
    let bench = Bench::new();
    bench.file("key", KEY);
    let server = Serving::start(&bench, &["--frame-key", "key"]);
    for mut case in cases() {
        let name = case.path.display().to_string();
        let compiled = library(&case);
        let own = json!({ "envelope": compiled.envelope, "trace": compiled.trace });
        let own = told(&own);
        if std::env::var_os("UPDATE_CASES").is_some() {
            case.whole["expected"] = own.clone();
            let text = serde_json::to_string_pretty(&case.whole).unwrap();
            std::fs::write(&case.path, text + "\n").unwrap();
        }
        assert_eq!(own, case.whole["expected"], "{name}, the library");
        assert_eq!(told(&over_http(&server, &case)), own, "{name}, HTTP");
        let sorted = |mut told: Value| {
            let verdicts = told["verdicts"].as_array_mut().unwrap();
            verdicts.sort_by_key(Value::to_string);
            told
        };
        // A store gives its objects in an order of its own.
        assert_eq!(
            sorted(told(&command_line(&case))),
            sorted(own),
            "{name}, the command line"
        );
    }
}
