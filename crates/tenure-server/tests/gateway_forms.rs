//! Each provider's requests go where its key may go, and what is refused is refused in its own form.

use std::io::Write;
use std::net::Shutdown;

use crate::support::{Bench, Reply, Upstream, compiling};
use serde_json::json;
use tenure_server::Mode;
use tenure_workspace::records::Ending;

const GOOGLE: &str = "/v1/models/gemini-2.5-pro:generateContent";

fn both() -> (Upstream, Upstream, Bench) {
    let (openai, anthropic) = (
        Upstream::saying("application/json", "{}"),
        Upstream::saying("application/json", "{}"),
    );
    let bench = Bench::new(&[
        format!("openai={}", openai.url()),
        format!("anthropic={}", anthropic.url()),
    ]);
    (openai, anthropic, bench)
}

/// Checks that an answer is an error of a provider's, word for word but for the message.
fn is_error(reply: &Reply, path: &str, status: u16, kind: &str) {
    assert_eq!(reply.status, status, "{path}");
    let told = reply.json();
    let message = told["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("tenure: "), "{path}: {message}");
    let expected = if path.contains("/messages") {
        json!({ "type": "error", "error": { "type": kind, "message": message } })
    } else if path.contains("v1beta") || path.contains(":generate") {
        json!({ "error": { "code": status, "message": message, "status": kind } })
    } else {
        let code = told["error"]["code"].clone();
        assert!(code.as_str().unwrap().starts_with("tenure_"));
        json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
    };
    assert_eq!(told, expected, "{path}");
}

#[test]
fn a_key_is_shown_to_its_own_provider_alone() {
    let (openai, anthropic, bench) = both();
    let ask = |path: &str, header: &str| {
        let headers = ["content-type: application/json", header];
        bench.ask("POST", path, &headers, b"{}")
    };
    for path in [GOOGLE, "/v1beta/models/gemini-2.5-pro:generateContent"] {
        let reply = ask(path, "x-goog-api-key: AIza");
        is_error(&reply, path, 404, "NOT_FOUND");
    }
    let reply = ask("/v1/models?key=AIza", "x-a: b");
    assert_eq!(reply.status, 404);
    assert!(openai.seen().is_empty() && anthropic.seen().is_empty());
    // Where the path says whose the request is, the keys of others stay here.
    ask("/v1/chat/completions", "x-goog-api-key: AIza");
    ask("/v1/chat/completions", "x-api-key: sk-ant");
    ask("/v1/messages", "x-goog-api-key: AIza");
    ask("/v1/messages", "x-api-key: sk-ant");
    ask("/v1/models", "x-api-key: sk-ant");
    let of = |upstream: &Upstream, name: &str| -> Vec<Option<String>> {
        let seen = upstream.seen().into_iter();
        seen.map(|seen| seen.header(name).map(str::to_owned)).collect()
    };
    assert_eq!(of(&openai, "x-goog-api-key"), [None, None]);
    assert_eq!(of(&openai, "x-api-key"), [None, None]);
    assert_eq!(of(&anthropic, "x-goog-api-key"), [None, None, None]);
    let own = Some("sk-ant".to_owned());
    assert_eq!(of(&anthropic, "x-api-key"), [None, own.clone(), own]);
}

#[test]
fn one_upstream_without_a_name_takes_every_protocol() {
    let any = Upstream::saying("application/json", "{}");
    let bench = Bench::new(&[any.url()]);
    for path in [GOOGLE, "/v1beta/models/g:generateContent", "/v1/messages"] {
        let headers = ["x-goog-api-key: AIza", "x-api-key: own"];
        assert_eq!(bench.ask("POST", path, &headers, b"{}").status, 200);
    }
    let seen = any.seen();
    assert!(seen[1].line.starts_with("POST /v1beta/models/g:generateContent "));
    for seen in seen {
        assert_eq!(seen.header("x-goog-api-key"), Some("AIza"));
        assert_eq!(seen.header("x-api-key"), Some("own"));
    }
    // One that is named takes its own.
    let bench = Bench::new(&[format!("openai={}", any.url())]);
    let reply = bench.post("/v1/messages", b"{}");
    is_error(&reply, "/v1/messages", 404, "not_found_error");
}

#[test]
fn what_is_refused_has_the_form_of_its_provider() {
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let bench = Bench::new(&[gone]);
    for (path, kind) in [
        ("/v1/messages", "api_error"),
        ("/v1/messages/count_tokens", "api_error"),
        ("/v1/responses", "api_error"),
        (GOOGLE, "UNAVAILABLE"),
    ] {
        is_error(&bench.post(path, b"{}"), path, 502, kind);
    }
    // What is refused before it is looked at, too.
    for (path, kind) in [
        ("/v1/messages/../x", "invalid_request_error"),
        ("/v1/responses/../x", "invalid_request_error"),
        ("/v1beta/../x", "INVALID_ARGUMENT"),
    ] {
        is_error(&bench.post(path, b"{}"), path, 400, kind);
    }
    for (path, kind) in [
        ("/chat/completions", "not_found_error"),
        ("/messages", "not_found_error"),
    ] {
        let reply = bench.post(path, b"{}");
        is_error(&reply, path, 404, kind);
        assert!(reply.json().to_string().contains(&format!("/v1{path}")));
    }
    assert_eq!(bench.get("/nothing").json()["status"], 404);
}

#[test]
fn a_web_socket_is_not_implemented() {
    let (openai, anthropic, bench) = both();
    for (path, kind) in [
        ("/v1/responses", "api_error"),
        ("/v1/messages", "api_error"),
    ] {
        let headers = [
            "connection: Upgrade",
            "upgrade: WebSocket",
            "sec-websocket-version: 13",
            "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
        ];
        is_error(&bench.ask("GET", path, &headers, b""), path, 501, kind);
    }
    assert!(openai.seen().is_empty() && anthropic.seen().is_empty());
}

#[test]
fn an_upstream_that_breaks_off_early_is_a_bad_gateway_in_every_mode() {
    let chat =
        json!({ "model": "small", "messages": [{ "role": "user", "content": "How warm?" }] });
    let messages = json!({ "model": "claude-small", "max_tokens": 9,
        "messages": [{ "role": "user", "content": "How warm?" }] });
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    let breaks = [
        String::new(),
        "HTTP/1.1 200 OK\r\ncontent-ty".to_owned(),
        format!("{head}content-length: 400\r\n\r\n"),
        format!("{head}content-length: 400\r\n\r\n{{\"choices\": ["),
        format!("{head}transfer-encoding: chunked\r\n\r\n5\r\n{{\"cho\r\n"),
        "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: 400\r\n\r\n{\"error\"".to_owned(),
    ];
    for (at, text) in breaks.into_iter().enumerate() {
        let upstream = Upstream::new(move |_, to| {
            let _ = to.write_all(text.as_bytes());
            let _ = to.shutdown(Shutdown::Both);
        });
        for mode in [Mode::Observe, Mode::Fit, Mode::Full] {
            // What goes through as it comes has gone on already.
            if mode == Mode::Observe && at > 1 {
                continue;
            }
            let bench = compiling(&upstream, mode, |options| options);
            for (path, body) in [("/v1/chat/completions", &chat), ("/v1/messages", &messages)] {
                let reply = bench.post(path, body.to_string().as_bytes());
                is_error(&reply, path, 502, "api_error");
                let record = bench.record("local", &reply.record());
                let ending = match at {
                    0 | 1 => Ending::UpstreamFailed,
                    _ => Ending::UpstreamBroke,
                };
                assert_eq!((record.ending, record.status), (ending, Some(502)), "{at}");
            }
        }
    }
}
