//! One answer: each operation of the table gives the same JSON for its examples on every face that it has.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Map, Value, json};
use tenure::time::Instant;
use tenure_operations::{Effect, Entry, Example, Names, call_as_owner, table};
use tenure_store::{Store, Writing};
use tenure_workspace::Workspace;

use crate::help::{copy, folder, run};
use crate::support::{Bench, Serving};

const STORE: &str = ".tenure/store.db";

/// By the command whose page shows the example; none where no page does.
fn command_line(bench: &Bench, entry: &Entry, example: &Example) -> Option<Value> {
    let Names::Are(commands) = entry.commands else {
        return None;
    };
    let line = commands.iter().find_map(|command| {
        let words: Vec<&str> = command.split(' ').chain(["-h"]).collect();
        let page = bench.ok(&words);
        let mut lines = page.lines().skip_while(|line| *line != "Examples:");
        let end = format!("  {}", example.says);
        let line = lines.find_map(|line| line.strip_suffix(&end).map(str::trim));
        line.map(str::to_owned)
    })?;
    let printed = run(bench, &format!("{line} --format json")).unwrap();
    Some(serde_json::from_slice(&printed).unwrap())
}

/// A text as a part of a path or of a query.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// By the HTTP API.
fn over_http(server: &Serving, key: &str, entry: &Entry, example: &Example) -> Value {
    let mut input: Map<String, Value> = serde_json::from_str(example.input).unwrap();
    let mut path = entry.route.path.to_owned();
    input.retain(|name, value| {
        let place = format!("{{{name}}}");
        let is_beside = !path.contains(&place);
        path = path.replace(&place, &encoded(&as_text(value)));
        is_beside
    });
    let mut body = String::new();
    if entry.route.method == "get" {
        let query = input.iter();
        let query = query.map(|(name, value)| format!("{name}={}", encoded(&as_text(value))));
        path = format!("{path}?{}", query.collect::<Vec<_>>().join("&"));
    } else {
        body = json!(input).to_string();
    }
    let request = format!(
        "{} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        entry.route.method.to_uppercase(),
        body.len()
    );
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let status = format!("HTTP/1.1 {}", entry.route.status);
    assert!(head.starts_with(&status), "{}: {reply}", entry.id);
    serde_json::from_str(body).unwrap()
}

/// By the function that the packages for Python and Node call.
fn embedded(bench: &Bench, entry: &Entry, example: &Example) -> Value {
    let store = Store::sqlite(&bench.folder.path().join(STORE)).unwrap();
    let workspace = Workspace::without_key().unwrap();
    let call = (entry.id, example.input);
    let answer = call_as_owner(call, &store, &workspace, "local", Writing::default());
    serde_json::from_str(&answer.unwrap_or_else(|error| panic!("{}: {error}", entry.id))).unwrap()
}

/// Puts a placeholder in the place of what differs from run to run: ids and digests, numbered as they come, and instants.
fn without_chance(value: Value, seen: &mut Vec<String>) -> Value {
    match value {
        Value::String(text) if text.parse::<Instant>().is_ok() => json!("<instant>"),
        Value::String(text) => {
            let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != ':';
            let words = text.split_inclusive(is_end).map(|word| {
                let bare = word.trim_end_matches(is_end);
                if !is_id(bare) {
                    return word.to_owned();
                }
                let at = seen.iter().position(|id| id == bare).unwrap_or_else(|| {
                    seen.push(bare.to_owned());
                    seen.len() - 1
                });
                word.replace(bare, &format!("<id {at}>"))
            });
            Value::String(words.collect())
        }
        Value::Array(items) => items.into_iter().map(|item| without_chance(item, seen)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, without_chance(value, seen)))
            .collect(),
        value => value,
    }
}

fn is_id(word: &str) -> bool {
    let is_hex = |part: &str| part.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let is_uuid = word.len() == 36 && word.matches('-').count() == 4 && is_hex(word);
    is_uuid || word.strip_prefix("sha256:").is_some_and(is_hex)
}

/// A server over the store of a folder.
fn serving(bench: &Bench) -> Serving {
    Serving::start(bench, &["--store", &format!("sqlite://{STORE}")])
}

#[test]
fn an_operation_answers_the_same_on_every_face() {
    let base = folder();
    // It may do everything, and decide as the person whom the examples name.
    let create = "keys create --tenant local --operator --user ada --role reviewer --format json";
    let made = base.json(&create.split(' ').collect::<Vec<_>>());
    let key = made["key"].as_str().unwrap();
    let reading = copy(&base);
    let reader = serving(&reading);
    for entry in table() {
        let mut by_command = 0;
        for example in entry.examples {
            // What only reads leaves the store as it is for the others.
            let own =
                (entry.effect == Effect::Writes).then(|| [copy(&base), copy(&base), copy(&base)]);
            let [one, two, three] = match &own {
                Some(benches) => benches.each_ref(),
                None => [&reading; 3],
            };
            let writer = own.is_some().then(|| serving(one));
            let served = over_http(writer.as_ref().unwrap_or(&reader), key, entry, example);
            let printed = command_line(two, entry, example);
            let called = without_chance(embedded(three, entry, example), &mut Vec::new());
            let place = format!("{}, {}", entry.id, example.says);
            let served = without_chance(served, &mut Vec::new());
            assert_eq!(served, called, "{place}: HTTP");
            if let Some(printed) = printed {
                by_command += 1;
                let printed = without_chance(printed, &mut Vec::new());
                assert_eq!(printed, called, "{place}: the command line");
            }
        }
        let has_command = matches!(entry.commands, Names::Are(_));
        assert_eq!(by_command > 0, has_command, "{}", entry.id);
    }
}

#[test]
fn what_differs_from_run_to_run_is_compared_by_its_place() {
    let id = |letter: &str| letter.repeat(8) + "-1111-1111-1111-111111111111";
    let answer = |one: &str, other: &str| {
        let text = format!("tenure store get {}", id(other));
        let answer = json!([id(one), { "at": "2026-01-01T00:00:00Z", "text": text }]);
        without_chance(answer, &mut Vec::new())
    };
    assert_eq!(answer("a", "b"), answer("c", "d"));
    assert_ne!(answer("a", "a"), answer("c", "d"));
    let expected = json!(["<id 0>", { "at": "<instant>", "text": "tenure store get <id 1>" }]);
    assert_eq!(answer("a", "b"), expected);
}
