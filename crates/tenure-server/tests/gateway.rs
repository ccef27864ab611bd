//! The gateway in `observe`: what goes in comes out, in both directions, and a record says what it was.

use std::io::Write;
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::support::{Bench, LONG, Upstream, answer, chunk, compiling, wait_for};
use tenure::CountKind;
use tenure_server::{Mode, Options};
use tenure_workspace::records::Ending;

const CHAT: &[u8] = br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Say hello."}]}"#;
const CHAT_REPLY: &str = r#"{"id":"c","choices":[{"message":{"role":"assistant","content":"Hello."}}],"usage":{"prompt_tokens":11,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}"#;

#[test]
fn a_request_goes_through_byte_for_byte() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bench = Bench::new(&[upstream.url()]);
    // Odd white space, odd numbers, escapes, and bytes that no JSON would write.
    let body = b"{ \"model\" : \"gpt-4o\",\n\t\"n\": 1.0e0, \"big\": 12345678901234567890123, \"x\": \"\\u00e9\\ud83d\xc3\xa9\", \"model\":\"gpt-4o\" }\n ";
    let reply = bench.ask(
        "POST",
        "/v1/chat/completions?beta=true&a=%2F",
        &[
            "content-type: application/json; charset=utf-8",
            "authorization: Bearer sk-secret",
            "openai-organization: org-1",
            "x-stainless-lang: python",
            "connection: keep-alive, x-mine",
            "x-mine: 1",
            "x-tenure-session: s-1",
        ],
        body,
    );
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body, CHAT_REPLY.as_bytes());
    assert_eq!(reply.header("x-request-id"), Some("req_1"));
    assert_eq!(reply.header("x-tenure-mode"), Some("observe"));
    assert_eq!(reply.header("x-tenure-saved-tokens"), Some("0"));
    let seen = upstream.only();
    assert_eq!(seen.body, body);
    assert_eq!(
        seen.line,
        "POST /v1/chat/completions?beta=true&a=%2F HTTP/1.1"
    );
    assert_eq!(
        seen.header("host"),
        Some(upstream.address.to_string().as_str())
    );
    assert_eq!(seen.header("authorization"), Some("Bearer sk-secret"));
    assert_eq!(seen.header("openai-organization"), Some("org-1"));
    assert_eq!(seen.header("x-stainless-lang"), Some("python"));
    assert_eq!(
        seen.header("content-type"),
        Some("application/json; charset=utf-8")
    );
    assert_eq!(
        seen.header("content-length"),
        Some(body.len().to_string().as_str())
    );
    assert_eq!(seen.header("via"), Some("1.1 tenure"));
    for ours in ["x-mine", "x-tenure-session", "transfer-encoding"] {
        assert_eq!(seen.header(ours), None, "{ours}");
    }
}

#[test]
fn every_size_of_body_arrives_whole() {
    let upstream = Upstream::new(|seen, stream| {
        stream
            .write_all(&answer("200 OK", "application/octet-stream", &seen.body))
            .unwrap();
    });
    let bench = Bench::new(&[upstream.url()]);
    for size in [0, 1, 8_191, 8_192, 65_537, 260_000, 3_000_000] {
        let body: Vec<u8> =
            (0..size).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let reply = bench.post("/v1/responses", &body);
        assert_eq!((reply.status, reply.body.len()), (200, body.len()));
        assert!(reply.body == body, "{size}");
    }
    // In pieces, too.
    let mut client = bench.connect();
    client.raw(
        b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    for piece in [&b"one "[..], b"two ", b"three"] {
        client.raw(&chunk(piece));
        std::thread::sleep(Duration::from_millis(5));
    }
    client.raw(&chunk(b""));
    assert_eq!(client.reply().body, b"one two three");
}

#[test]
fn an_empty_body_arrives_as_one() {
    let upstream = Upstream::saying("application/json", "{}");
    let bench = Bench::new(&[upstream.url()]);
    let mut client = bench.connect();
    let head = "/v1/responses/resp_1/cancel HTTP/1.1\r\nhost: localhost\r\n";
    for (method, framing, length) in [
        ("POST", "content-length: 0\r\n\r\n", Some("0")),
        ("PUT", "content-length: 0\r\n\r\n", Some("0")),
        (
            "POST",
            "transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            Some("0"),
        ),
        ("POST", "\r\n", None),
        ("GET", "\r\n", None),
    ] {
        client.raw(format!("{method} {head}{framing}").as_bytes());
        assert_eq!(client.reply().status, 200);
        let seen = upstream.seen().pop().unwrap();
        assert_eq!(seen.header("content-length"), length, "{method} {framing}");
        assert_eq!(seen.header("transfer-encoding"), None);
    }
}

#[test]
fn a_record_says_what_can_be_known() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bench = Bench::new(&[upstream.url()]);
    let reply = bench.ask(
        "POST",
        "/v1/chat/completions",
        &["x-tenure-session: s-1"],
        CHAT,
    );
    let record = bench.record("local", &reply.record());
    assert_eq!(record.model.as_deref(), Some("gpt-4o"));
    assert_eq!(
        (record.protocol.as_str(), record.path.as_str()),
        ("openai", "/v1/chat/completions")
    );
    assert_eq!(
        (record.request_bytes, record.response_bytes),
        (CHAT.len() as u64, CHAT_REPLY.len() as u64)
    );
    assert_eq!(record.request_digest, Some(tenure::Digest::of(CHAT)));
    assert_eq!(
        (record.request_tokens, record.count),
        (Some(3), Some(CountKind::Exact))
    );
    let usage = record.usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (11, 4, 2));
    assert_eq!(
        (record.status, record.ending, record.streamed),
        (Some(200), Ending::Whole, false)
    );
    assert_eq!((record.session.as_deref(), record.key), (Some("s-1"), None));
    assert!(record.head_latency_us.unwrap() <= record.latency_us);
    assert_eq!(
        bench.metric("tenure_gateway_tokens_total{protocol=\"openai\",kind=\"input\"}"),
        Some(11.0)
    );
}

#[test]
fn names_of_models_that_nobody_knows_take_no_place() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bench = Bench::new(&[upstream.url()]);
    let mut client = bench.connect();
    let mut ask = |model: &str| {
        let body =
            format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"Hi."}}]}}"#);
        client.send("POST", "/v1/chat/completions", &[], body.as_bytes());
        client.reply().record()
    };
    for at in 0..64 {
        ask(&format!("made-up-{at}"));
    }
    for model in ["gpt-4.1", "gpt-4o-2024-08-06", "claude-opus-4-5"] {
        let record = bench.record("local", &ask(model));
        assert_eq!(record.model.as_deref(), Some(model));
        assert!(record.request_tokens.is_some(), "{model}");
    }
    let long = format!("gpt-4o-{}", "é".repeat(100_000));
    let record = bench.record("local", &ask(&long));
    assert!(record.request_tokens.is_some());
    let model = record.model.unwrap();
    let kept = model.strip_suffix('…').unwrap();
    assert!(long.starts_with(kept) && kept.len() == 255, "{model}");
}

#[test]
fn what_is_written_down_of_a_request_has_a_bound() {
    let folder = tempfile::tempdir().unwrap();
    let audit = folder.path().join("audit");
    let mut bench = Bench::with(&[], |options| Options {
        audit: Some(audit.clone()),
        ..options
    });
    let (method, path) = ("X".repeat(10_000), format!("/v1/{}", "x".repeat(50_000)));
    assert_eq!(bench.ask(&method, &path, &[], b"").status, 404);
    bench.stop();
    let line = std::fs::read_to_string(&audit).unwrap();
    assert!(line.len() < 3_000, "{} bytes", line.len());
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let method = line["method"].as_str().unwrap();
    assert_eq!(method, format!("{}…", "X".repeat(32)));
    assert!(path.starts_with(line["path"].as_str().unwrap().trim_end_matches('…')));
}

#[test]
fn nothing_secret_and_no_content_is_kept() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let mut bench = Bench::with(&[upstream.url()], |options| tenure_server::Options {
        audit: Some(std::env::temp_dir().join(format!("tenure-audit-{}", std::process::id()))),
        ..options
    });
    let reply = bench.ask(
        "POST",
        "/v1/chat/completions?api-version=7",
        &[
            "authorization: Bearer sk-verysecret",
            "x-api-key: sk-alsosecret",
            "cookie: sk-cookie",
        ],
        br#"{"model":"gpt-4o","messages":[{"role":"user","content":"a private matter"}]}"#,
    );
    bench.record("local", &reply.record());
    let metrics = bench.get("/metrics").body;
    bench.stop();
    let audit = std::env::temp_dir().join(format!("tenure-audit-{}", std::process::id()));
    let lines = std::fs::read_to_string(&audit).unwrap();
    std::fs::remove_file(&audit).unwrap();
    let line: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["tenant"], &line["path"], &line["status"]),
        (&"local".into(), &"/v1/chat/completions".into(), &200.into())
    );
    assert_eq!(line["record"], reply.record());
    let mut kept = vec![metrics, lines.into_bytes()];
    for entry in std::fs::read_dir(bench.folder.path()).unwrap() {
        kept.push(std::fs::read(entry.unwrap().path()).unwrap());
    }
    for bytes in kept {
        let text = String::from_utf8_lossy(&bytes);
        for secret in [
            "sk-verysecret",
            "sk-alsosecret",
            "sk-cookie",
            "a private matter",
            "Hello.",
        ] {
            assert!(!text.contains(secret), "{secret} was kept");
        }
    }
}

#[test]
fn a_stream_comes_piece_by_piece() {
    let (go, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let upstream = Upstream::new(move |_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            .unwrap();
        let events = [
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"cache_read_input_tokens\":7,\"output_tokens\":1}}}\n\n",
            "data: {\"type\":\"content_block_delta\",\"delta\":{\"text\":\"He\"}}\n\n",
            "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":9}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
        ];
        for event in events {
            // Nothing more is sent before what was sent has arrived.
            wait.lock().unwrap().recv_timeout(LONG).unwrap();
            stream.write_all(&chunk(event.as_bytes())).unwrap();
        }
        stream.write_all(&chunk(b"")).unwrap();
    });
    let bench = Bench::new(&[format!("anthropic={}", upstream.url())]);
    let mut client = bench.connect();
    let body =
        br#"{"model":"claude-opus-4-5","stream":true,"messages":[{"role":"user","content":"Hi"}]}"#;
    client.send(
        "POST",
        "/v1/messages",
        &["x-api-key: sk-ant", "anthropic-version: 2023-06-01"],
        body,
    );
    let head = client.head().unwrap();
    assert_eq!(
        (head.status, head.header("content-type")),
        (200, Some("text/event-stream"))
    );
    let mut all = String::new();
    for word in ["message_start", "\"He\"", "message_stop"] {
        go.send(()).unwrap();
        while !all.contains(word) {
            all.push_str(&String::from_utf8(client.some()).unwrap());
        }
    }
    assert!(all.find("message_start") < all.find("\"He\""));
    let record = bench.record("local", head.header("x-tenure-record").unwrap());
    assert!(record.streamed);
    let usage = record.usage.unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output), (12, 7, 9));
    assert_eq!(record.count, Some(CountKind::Bounded));
    assert_eq!(upstream.only().header("x-api-key"), Some("sk-ant"));
}

#[test]
fn connections_to_the_upstream_are_used_again() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bench = Bench::new(&[upstream.url()]);
    let mut client = bench.connect();
    for _ in 0..20 {
        client.send("POST", "/v1/chat/completions", &[], CHAT);
        assert_eq!(client.reply().status, 200);
    }
    assert_eq!(upstream.seen().len(), 20);
    assert_eq!(upstream.connections(), 1);
}

#[test]
fn what_the_upstream_refuses_comes_back_as_it_said_it() {
    let upstream = Upstream::new(|seen, stream| {
        let (status, body) = match seen.body.as_slice() {
            b"1" => (
                "429 Too Many Requests",
                "{\"error\":{\"message\":\"slow down\"}}",
            ),
            b"2" => ("529 Overloaded", "overloaded"),
            b"3" => ("401 Unauthorized", ""),
            _ => ("302 Found", "elsewhere"),
        };
        let text = format!(
            "HTTP/1.1 {status}\r\nretry-after: 7\r\nlocation: http://127.0.0.1:1/\r\nset-cookie: a=1\r\nset-cookie: b=2\r\nx-should-retry: true\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(text.as_bytes()).unwrap();
    });
    let bench = Bench::new(&[upstream.url()]);
    for (body, status, text) in [
        ("1", 429, "{\"error\":{\"message\":\"slow down\"}}"),
        ("2", 529, "overloaded"),
        ("3", 401, ""),
        ("4", 302, "elsewhere"),
    ] {
        let reply = bench.post("/v1/messages", body.as_bytes());
        assert_eq!(
            (reply.status, reply.body.as_slice()),
            (status, text.as_bytes())
        );
        assert_eq!(reply.header("retry-after"), Some("7"));
        assert_eq!(reply.header("x-should-retry"), Some("true"));
        assert_eq!(
            reply.headers.iter().filter(|(name, _)| name == "set-cookie").count(),
            2
        );
        assert_eq!(bench.record("local", &reply.record()).status, Some(status));
    }
    // Nothing was sent twice, and no redirect was followed.
    assert_eq!(upstream.seen().len(), 4);
}

#[test]
fn the_reason_of_a_status_goes_on() {
    let upstream = Upstream::new(|seen, stream| {
        let status = String::from_utf8_lossy(&seen.body).into_owned();
        let _ = stream.write_all(&answer(&status, "application/json", b"{}"));
    });
    let bench = Bench::new(&[upstream.url()]);
    for status in ["529 Overloaded", "200 Fine", "503 Service Unavailable"] {
        let mut client = bench.connect();
        client.send("POST", "/v1/messages", &[], status.as_bytes());
        let said = String::from_utf8(client.some()).unwrap();
        assert!(
            said.starts_with(&format!("HTTP/1.1 {status}\r\n")),
            "{said}"
        );
    }
}

#[test]
fn a_request_without_json_passes_in_observe() {
    let upstream = Upstream::saying("application/json", "{}");
    let bench = Bench::new(&[upstream.url()]);
    let deep = vec![b'['; 100_000];
    for body in [
        &b"{\"model\": \"gpt-4o\", "[..],
        b"\xff\xfe\x00",
        b"null",
        b"[]",
        &deep,
    ] {
        let reply = bench.post("/v1/chat/completions", body);
        assert_eq!(reply.status, 200);
        assert_eq!(upstream.seen().last().unwrap().body, body);
        let record = bench.record("local", &reply.record());
        assert_eq!((record.model, record.request_tokens), (None, None));
    }
}

#[test]
fn the_protocol_chooses_the_upstream() {
    let openai = Upstream::saying("application/json", "\"openai\"");
    let anthropic = Upstream::saying("application/json", "\"anthropic\"");
    let bench = Bench::new(&[
        format!("openai={}/v1/", openai.url()),
        format!("anthropic={}", anthropic.url()),
    ]);
    for path in ["/v1/chat/completions", "/v1/responses", "/v1/embeddings"] {
        assert_eq!(bench.post(path, b"{}").json(), "openai", "{path}");
    }
    for path in ["/v1/messages", "/v1/messages/count_tokens"] {
        assert_eq!(bench.post(path, b"{}").json(), "anthropic", "{path}");
    }
    assert_eq!(bench.get("/v1/models").json(), "openai");
    let named = bench.ask(
        "GET",
        "/v1/models?limit=2",
        &["anthropic-version: 2023-06-01"],
        b"",
    );
    assert_eq!(named.json(), "anthropic");
    assert_eq!(
        anthropic.seen().last().unwrap().line,
        "GET /v1/models?limit=2 HTTP/1.1"
    );
    assert_eq!(openai.seen()[2].line, "POST /v1/embeddings HTTP/1.1");
    // Only what asks a model is recorded.
    assert!(named.header("x-tenure-record").is_none());
}

#[test]
fn without_an_upstream_it_says_so() {
    let one = Upstream::saying("application/json", "{}");
    let bench = Bench::new(&[]);
    let reply = bench.post("/v1/messages", b"{}");
    assert_eq!(reply.status, 404);
    let error = &reply.json()["error"];
    assert!(
        error["message"].as_str().unwrap().contains("--upstream anthropic=URL"),
        "{error}"
    );
    drop(one);
}

#[test]
fn a_client_that_leaves_cancels_the_upstream() {
    let upstream = Upstream::new(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            .unwrap();
        // Until nobody reads any more.
        while stream.write_all(&chunk(&[b'x'; 1024])).is_ok() {
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    let bench = Bench::new(&[upstream.url()]);
    let mut client = bench.connect();
    client.send(
        "POST",
        "/v1/responses",
        &[],
        br#"{"model":"gpt-4o","stream":true}"#,
    );
    let head = client.head().unwrap();
    client.some();
    drop(client);
    wait_for(|| (upstream.closed() == 1).then_some(()));
    let record = bench.record("local", head.header("x-tenure-record").unwrap());
    assert_eq!(record.ending, Ending::ClientLeft);
}

#[test]
fn a_client_that_leaves_with_the_last_event_has_the_whole_answer() {
    let upstream = Upstream::new(|_, stream| {
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            .unwrap();
        let delta = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"Warm."}}]}"#;
        let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
        let events = format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n");
        stream.write_all(&chunk(events.as_bytes())).unwrap();
        // The body has no end before the client has left.
        let _ = std::io::Read::read(stream, &mut [0]);
    });
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let mut client = bench.connect();
    let body = br#"{"model":"small","stream":true,"messages":[{"role":"user","content":"Hi"}]}"#;
    client.send("POST", "/v1/chat/completions", &[], body);
    let head = client.head().unwrap();
    let mut all = String::new();
    while !all.contains("[DONE]\n\n") {
        all.push_str(&String::from_utf8(client.some()).unwrap());
    }
    drop(client);
    let record = bench.record("local", head.header("x-tenure-record").unwrap());
    assert_eq!(record.ending, Ending::Whole);
    let kept = "tenure_gateway_replies_total{what=\"kept\"}";
    wait_for(|| (bench.metric(kept) == Some(1.0)).then_some(()));
}

#[test]
fn a_client_that_leaves_before_the_answer_cancels_it() {
    let upstream = Upstream::new(|_, stream| {
        // The upstream thinks until it is left alone.
        let mut byte = [0];
        let _ = std::io::Read::read(stream, &mut byte);
    });
    let bench = Bench::new(&[upstream.url()]);
    let mut client = bench.connect();
    client.send("POST", "/v1/responses", &[], b"{}");
    wait_for(|| (upstream.seen().len() == 1).then_some(()));
    assert_eq!(upstream.closed(), 0);
    drop(client);
    wait_for(|| (upstream.closed() == 1).then_some(()));
    let left = "tenure_gateway_exchanges_total{what=\"client_left\"}";
    wait_for(|| (bench.metric(left) == Some(1.0)).then_some(()));
}

#[test]
fn what_is_under_way_comes_to_its_end_when_the_server_stops() {
    let (go, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let upstream = Upstream::new(move |_, stream| {
        wait.lock().unwrap().recv_timeout(LONG).unwrap();
        stream.write_all(&answer("200 OK", "application/json", b"{}")).unwrap();
    });
    let mut bench = Bench::new(&[upstream.url()]);
    let mut client = bench.connect();
    client.send("POST", "/v1/responses", &[], b"{}");
    wait_for(|| (upstream.seen().len() == 1).then_some(()));
    let stopper = std::thread::spawn(move || {
        bench.stop();
        bench
    });
    std::thread::sleep(Duration::from_millis(100));
    go.send(()).unwrap();
    let reply = client.reply();
    assert_eq!(reply.status, 200);
    let bench = stopper.join().unwrap();
    // It is recorded, and nobody is let in any more.
    bench.record("local", &reply.record());
    assert!(std::net::TcpStream::connect(bench.address).is_err());
}

#[test]
fn what_is_cut_off_when_the_server_stops_is_recorded() {
    let upstream = Upstream::new(move |seen, stream| {
        if seen.body == b"half" {
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&chunk(b"first")).unwrap();
        }
        // The rest does not come.
        let _ = std::io::Read::read(stream, &mut [0]);
    });
    let short = Duration::from_millis(200);
    let mut bench = Bench::with(&[upstream.url()], |options| Options {
        limits: options.limits.clone().with_drain(short),
        audit: Some(options.originals.clone().unwrap().with_extension("audit")),
        ..options
    });
    let mut streaming = bench.connect();
    streaming.send("POST", "/v1/responses", &[], b"half");
    assert_eq!(streaming.head().unwrap().status, 200);
    let mut waiting = bench.connect();
    waiting.send("POST", "/v1/messages", &[], b"{}");
    wait_for(|| (upstream.seen().len() == 2).then_some(()));
    bench.stop();
    let tenant = bench.store.tenant("local").unwrap();
    let kept = tenant.records(10).unwrap();
    let endings = kept.iter().map(|(id, _)| {
        let record = bench.record("local", id);
        (record.path, record.status, record.ending)
    });
    let mut endings: Vec<_> = endings.collect();
    endings.sort_by(|one, other| one.0.cmp(&other.0));
    let cut = |path: &str, status| (path.to_owned(), status, Ending::ClientLeft);
    let expected = [cut("/v1/messages", None), cut("/v1/responses", Some(200))];
    assert_eq!(endings, expected);
    let audit = std::fs::read_to_string(bench.folder.path().join("originals.audit")).unwrap();
    let cut = r#""path":"/v1/messages","status":499"#;
    assert!(audit.contains(cut), "{audit}");
}

/// A request whose messages are so many turns of some hundred tokens.
fn long_request(turns: usize) -> String {
    let turn = |at: usize| {
        let said = "the pump is warm and the valve is open ".repeat(12);
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        format!(r#"{{"role": "{role}", "content": "{at}: {said}"}}"#)
    };
    let turns: Vec<String> = (0..turns).map(turn).collect();
    format!(
        r#"{{"model": "small-2026-01-01",  "stream":false, "messages": [{}], "n": 1.0, "max_tokens": 300}}"#,
        turns.join(", ")
    )
}

#[test]
fn what_does_not_fit_is_cut_on_its_way() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let ask = |body: &str| {
        bench.ask(
            "POST",
            "/v1/chat/completions",
            &["content-type: application/json"],
            body.as_bytes(),
        )
    };
    let short = long_request(3);
    let reply = ask(&short);
    assert_eq!(
        (reply.status, reply.header("x-tenure-saved-tokens")),
        (200, Some("0"))
    );
    assert_eq!(reply.header("x-tenure-mode"), Some("fit"));
    let session = reply.header("x-tenure-session").unwrap().to_owned();
    assert_eq!(upstream.seen()[0].body, short.as_bytes());
    let long = long_request(61);
    let reply = ask(&long);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("x-tenure-session"), Some(session.as_str()));
    let saved: u64 = reply.header("x-tenure-saved-tokens").unwrap().parse().unwrap();
    assert!(saved > 3_000, "{saved}");
    let seen = upstream.seen();
    let sent = String::from_utf8(seen[1].body.clone()).unwrap();
    assert!(
        sent.starts_with(r#"{"model": "small-2026-01-01",  "stream":false, "messages": ["#),
        "{sent}"
    );
    assert!(sent.ends_with(r#"], "n": 1.0, "max_tokens": 300}"#));
    assert!(sent.contains(r#""content": "60: the pump"#) && !sent.contains(r#""content": "20: "#));
    let broken = tenure::conform::check(tenure::wire::Format::OpenAiChat, &sent, None).unwrap();
    assert!(broken.is_empty(), "{broken:?}");
    // The same request once more gets the same bytes.
    ask(&long);
    assert_eq!(upstream.seen()[2].body, seen[1].body);
}

#[test]
fn what_cannot_be_made_to_fit_goes_on_as_it_came_or_is_refused() {
    let upstream = Upstream::saying("application/json", CHAT_REPLY);
    let bodies = [
        (
            r#"{"model":"unheard-of","messages":[{"role":"user","content":"Hi."}]}"#,
            "unknown_model",
        ),
        (r#"{"model":"small","messages":"#, "unreadable"),
        (
            r#"{"model":"small","messages":[{"role":"tool","tool_call_id":"x","content":7}]}"#,
            "unreadable",
        ),
    ];
    let open = compiling(&upstream, Mode::Fit, |options| options);
    let closed = compiling(&upstream, Mode::Fit, |options| Options {
        fail_closed: true,
        ..options
    });
    for (at, (body, code)) in bodies.iter().enumerate() {
        let head = ["content-type: application/json"];
        let reply = open.ask("POST", "/v1/chat/completions", &head, body.as_bytes());
        assert_eq!(
            (reply.status, reply.header("x-tenure-fault")),
            (200, Some(*code)),
            "{body}"
        );
        assert_eq!(upstream.seen()[at].body, body.as_bytes());
        let reply = closed.ask("POST", "/v1/chat/completions", &head, body.as_bytes());
        assert_eq!(reply.status / 100, 4, "{body}");
    }
    assert_eq!(upstream.seen().len(), bodies.len());
}
