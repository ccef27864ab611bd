//! Clients and upstreams that break the rules, or keep nobody's time.

use std::io::Write;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use crate::support::{Bench, Upstream, answer, chunk, compiling, wait_for};
use tenure::{ErrorKind, FrameKey};
use tenure_server::{Limits, Mode, Options, Server};
use tenure_workspace::Workspace;
use tenure_workspace::records::Ending;

fn quick(limits: impl FnOnce(Limits) -> Limits) -> impl FnOnce(Options) -> Options {
    move |options| Options {
        limits: limits(options.limits),
        ..options
    }
}

// --- upstreams ------------------------------------------------------------------------------------

#[test]
fn an_upstream_that_breaks_off_breaks_the_answer_off() {
    let upstream = Upstream::new(|_, stream| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&chunk(b"data: one\n\n")).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let _ = stream.shutdown(Shutdown::Both);
    });
    let bench = Bench::new(&[upstream.url()]);
    let mut client = bench.connect();
    client.send("POST", "/v1/responses", &[], b"{\"stream\":true}");
    let head = client.head().unwrap();
    assert_eq!(head.status, 200);
    let (rest, _) = client.rest();
    let text = String::from_utf8_lossy(&rest);
    assert!(text.contains("data: one"), "{text}");
    // No last chunk: the client can tell that it has not got all.
    assert!(!text.ends_with("0\r\n\r\n"), "{text}");
    let record = bench.record("local", head.header("x-tenure-record").unwrap());
    assert_eq!(record.ending, Ending::UpstreamBroke);
}

#[test]
fn an_upstream_that_lies_about_its_length_is_not_believed() {
    // It promises more than it sends.
    let upstream = Upstream::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort");
        let _ = stream.shutdown(Shutdown::Both);
    });
    let bench = Bench::new(&[upstream.url()]);
    let mut client = bench.connect();
    client.send("POST", "/v1/responses", &[], b"{}");
    let head = client.head().unwrap();
    assert_eq!(head.header("content-length"), Some("100"));
    assert_eq!(client.rest().0, b"short");
    let record = bench.record("local", head.header("x-tenure-record").unwrap());
    assert_eq!(record.ending, Ending::UpstreamBroke);
    // It sends more than it promised; the rest is no answer to anybody.
    let upstream = Upstream::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged");
    });
    let bench = Bench::new(&[upstream.url()]);
    for _ in 0..3 {
        let reply = bench.post("/v1/responses", b"{}");
        assert!(
            reply.status == 200 && reply.body == b"ok" || reply.status == 502,
            "{reply:?}"
        );
    }
}

#[test]
fn what_an_upstream_sends_too_much_is_nobody_elses_answer() {
    let upstream = Upstream::new(|seen, stream| {
        if seen.header("authorization") == Some("Bearer one") {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhe");
            std::thread::sleep(Duration::from_micros(300));
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged");
        } else {
            std::thread::sleep(Duration::from_millis(2));
            let _ = stream.write_all(&answer("200 OK", "text/plain", b"honest"));
        }
    });
    let bench = Bench::new(&[upstream.url()]);
    let mut client = bench.connect();
    for _ in 0..40 {
        for (credentials, answer) in [("one", &b"he"[..]), ("two", b"honest")] {
            let header = format!("authorization: Bearer {credentials}");
            client.send("POST", "/v1/responses", &[&header], b"{}");
            let reply = client.reply();
            assert!(
                reply.body == answer || credentials == "one",
                "{credentials}: {reply:?}"
            );
        }
    }
}

#[test]
fn an_answer_in_chunks_is_whole_whatever_length_it_names() {
    let upstream = Upstream::new(|seen, stream| {
        let length = String::from_utf8_lossy(&seen.body).into_owned();
        let head = format!(
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: {length}\r\n\r\n"
        );
        let _ = stream.write_all(&[head.as_bytes(), &chunk(b"hello"), &chunk(b"")].concat());
    });
    let bench = Bench::new(&[upstream.url()]);
    for length in ["3", "5", "300"] {
        let reply = bench.post("/v1/responses", length.as_bytes());
        assert_eq!((reply.status, reply.header("content-length")), (200, None));
        assert_eq!(reply.body, b"hello", "{length}");
        let record = bench.record("local", &reply.record());
        assert_eq!((record.ending, record.response_bytes), (Ending::Whole, 5));
    }
}

#[test]
fn an_upstream_that_hangs_is_given_up() {
    let upstream = Upstream::new(|seen, stream| {
        if seen.body == b"late" {
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&chunk(b"first")).unwrap();
        }
        std::thread::sleep(Duration::from_secs(5));
    });
    let patience = Duration::from_millis(300);
    let bench = Bench::with(
        &[upstream.url()],
        quick(|limits| limits.with_upstream(patience)),
    );
    let started = Instant::now();
    let reply = bench.post("/v1/messages", b"{}");
    assert_eq!(reply.status, 504);
    assert_eq!(reply.json()["error"]["type"], "timeout_error");
    assert!(started.elapsed() < Duration::from_secs(4));
    let record = bench.record("local", &reply.record());
    assert_eq!(
        (record.ending, record.status),
        (Ending::UpstreamSilent, Some(504))
    );

    let mut client = bench.connect();
    client.send("POST", "/v1/messages", &[], b"late");
    let head = client.head().unwrap();
    assert_eq!(head.status, 200);
    let (rest, _) = client.rest();
    assert!(!rest.ends_with(b"0\r\n\r\n"));
    let record = bench.record("local", head.header("x-tenure-record").unwrap());
    assert_eq!(record.ending, Ending::UpstreamSilent);
}

#[test]
fn a_patience_without_an_end_harms_nobody() {
    let upstream = Upstream::saying("application/json", "{}");
    let endless = |limits: Limits| {
        let limits = limits.with_upstream(Duration::MAX);
        let limits = limits.with_patience(Duration::MAX);
        limits.with_drain(Duration::MAX)
    };
    let bench = Bench::with(&[upstream.url()], quick(endless));
    let reply = bench.post("/v1/responses", b"{}");
    assert_eq!((reply.status, &reply.body[..]), (200, &b"{}"[..]));
}

#[test]
fn an_upstream_that_is_not_there_or_talks_nonsense_is_a_bad_gateway() {
    let gone = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let bench = Bench::new(&[gone]);
    let reply = bench.post("/v1/responses", b"{}");
    assert_eq!(reply.status, 502);
    assert_eq!(reply.json()["error"]["type"], "api_error");
    assert_eq!(
        bench.record("local", &reply.record()).ending,
        Ending::UpstreamFailed
    );
    for nonsense in [
        &b"\x00\x01\x02\x03\r\n\r\n"[..],
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"",
    ] {
        let upstream = Upstream::new(move |_, stream| {
            let _ = stream.write_all(nonsense);
            let _ = stream.shutdown(Shutdown::Both);
        });
        let bench = Bench::new(&[upstream.url()]);
        let reply = bench.post("/v1/responses", b"{}");
        assert_eq!(reply.status, 502, "{}", String::from_utf8_lossy(nonsense));
        let record = bench.record("local", &reply.record());
        assert_eq!(
            (record.ending, record.status),
            (Ending::UpstreamFailed, Some(502))
        );
    }
}

#[test]
fn an_upstream_with_endless_headers_is_a_bad_gateway() {
    let upstream = Upstream::new(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        for number in 0..100_000 {
            if stream.write_all(format!("x-{number}: {number}\r\n").as_bytes()).is_err() {
                return;
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    });
    let bench = Bench::new(&[upstream.url()]);
    assert_eq!(bench.post("/v1/responses", b"{}").status, 502);
}

// --- framing --------------------------------------------------------------------------------------

#[test]
fn a_smuggled_request_reaches_nobody() {
    let upstream = Upstream::saying("application/json", "{}");
    let bench = Bench::new(&[upstream.url()]);
    let smuggled = "POST /v1/smuggled HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}";
    let attempts = [
        // Both lengths, in both orders.
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"
        ),
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n{smuggled}"
        ),
        // Two lengths.
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\ncontent-length: {}\r\n\r\n{smuggled}",
            smuggled.len()
        ),
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0, 5\r\n\r\n{smuggled}"
        ),
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: +0\r\n\r\n{smuggled}"
        ),
        // A coding that is not understood, or hidden.
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n{smuggled}"
        ),
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{smuggled}"
        ),
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding : chunked\r\n\r\n0\r\n\r\n{smuggled}"
        ),
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\nx: y\r\n transfer-encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"
        ),
        // Chunks that are none.
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0x0\r\n\r\n{smuggled}"
        ),
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n{smuggled}"
        ),
        format!(
            "POST /v1/responses HTTP/1.0\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{smuggled}"
        ),
    ];
    for attempt in &attempts {
        let mut client = bench.connect();
        client.raw(attempt.as_bytes());
        // Whoever closed the connection at once would be taken for gone.
        let patience = Duration::from_millis(300);
        client.stream.set_read_timeout(Some(patience)).unwrap();
        client.rest();
    }
    for seen in upstream.seen() {
        assert!(!seen.line.contains("smuggled"), "{seen:?}");
        assert!(
            !String::from_utf8_lossy(&seen.body).contains("smuggled"),
            "{seen:?}"
        );
    }
}

#[test]
fn a_request_in_two_framings_is_the_last_of_its_connection() {
    let upstream = Upstream::saying("application/json", "{}");
    let bench = Bench::new(&[upstream.url()]);
    let (length, coding) = ("content-length: 1", "transfer-encoding: chunked");
    for (at, [first, second]) in [[length, coding], [coding, length]].into_iter().enumerate() {
        let mut client = bench.connect();
        let head = format!(
            "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\n{first}\r\n{second}\r\n\r\n"
        );
        let next = b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n";
        client.raw(&[head.as_bytes(), &chunk(b"hello"), &chunk(b""), next].concat());
        let reply = client.reply();
        assert_eq!(
            (reply.status, reply.header("connection")),
            (200, Some("close"))
        );
        assert!(client.rest().0.is_empty());
        let seen = upstream.seen();
        assert_eq!(
            (seen.len(), seen[at].body.as_slice()),
            (at + 1, &b"hello"[..])
        );
        assert_eq!(seen[at].header("content-length"), Some("5"));
    }
}

#[test]
fn what_is_not_http_is_refused() {
    let bench = Bench::new(&[]);
    for nonsense in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\x00 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx\x00: 1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\r\n\r\n\r\n",
    ] {
        let mut client = bench.connect();
        client.raw(nonsense);
        client.shut(Shutdown::Write);
        let (rest, _) = client.rest();
        let text = String::from_utf8_lossy(&rest);
        assert!(rest.is_empty() || text.starts_with("HTTP/1.1 4"), "{text}");
    }
    assert_eq!(bench.get("/healthz").status, 200);
}

#[test]
fn a_flood_of_headers_is_refused() {
    let bench = Bench::new(&[]);
    let many: Vec<String> = (0..200).map(|at| format!("x-{at}: {at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(bench.ask("GET", "/healthz", &many, b"").status, 431);
    let piece = vec![b'a'; 4 << 10];
    for (size, status) in [
        (60 << 10, 200),
        (64 << 10, 431),
        (100 << 10, 431),
        (256 << 10, 431),
        (64 << 20, 431),
    ] {
        let mut client = bench.connect();
        client.raw(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ");
        let pieces = (0..size / piece.len()).map_while(|_| client.stream.write_all(&piece).ok());
        let sent = pieces.count() * piece.len();
        assert!(sent < 8 << 20, "{sent} bytes of one header were taken");
        let _ = client.stream.write_all(b"\r\n\r\n");
        let answered = client.head().map(|head| head.status);
        assert_eq!(answered, Some(status), "{size}");
    }
    assert_eq!(bench.get("/healthz").status, 200);
}

#[test]
fn a_head_is_sixty_four_kib_at_most() {
    let bench = Bench::new(&[]);
    let head = |size: usize| {
        let head = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nx:\r\n\r\n";
        head.replace("x:", &format!("x:{}", "a".repeat(size - head.len())))
    };
    for (size, status) in [(64 << 10, 200), ((64 << 10) + 1, 431), (100 << 10, 431)] {
        for piece in [1_000, 40_000, 1 << 20] {
            let mut client = bench.connect();
            for piece in head(size).as_bytes().chunks(piece) {
                let _ = client.stream.write_all(piece);
                std::thread::sleep(Duration::from_millis(1));
            }
            let answered = client.head().map(|head| head.status);
            assert_eq!(answered, Some(status), "{size} in pieces of {piece}");
        }
    }
}

#[test]
fn a_line_of_a_head_ends_with_both_its_characters() {
    let bench = Bench::new(&[]);
    let body = "{\"model\":\"gpt-4o\",\n\n\"text\":\"a\"}";
    let headers = "host: localhost\r\ncontent-type: application/json";
    let length = body.len();
    let before = [
        String::new(),
        format!(
            "POST /api/v1/tokens HTTP/1.1\r\n{headers}\r\ncontent-length: {length}\r\n\r\n{body}"
        ),
        format!(
            "POST /api/v1/tokens HTTP/1.1\r\n{headers}\r\ntransfer-encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
        ),
    ];
    for before in &before {
        let whole = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
        for (at, _) in whole.match_indices('\r') {
            let mut bare = whole.to_owned();
            bare.remove(at);
            for (head, status) in [(whole, 200), (&bare, 400), (&format!("\n{whole}"), 400)] {
                let mut client = bench.connect();
                client.raw(format!("{before}{head}").as_bytes());
                if !before.is_empty() {
                    assert_ne!(client.reply().status, 400, "{before}");
                }
                assert_eq!(client.reply().status, status, "{head:?} behind {before:?}");
            }
        }
    }
}

// --- bodies ---------------------------------------------------------------------------------------

#[test]
fn a_body_that_is_too_large_never_reaches_the_upstream() {
    let upstream = Upstream::saying("application/json", "{}");
    let bench = Bench::with(&[upstream.url()], quick(|limits| limits.with_body(1_000)));
    assert_eq!(bench.post("/v1/responses", &[b'x'; 1_000]).status, 200);
    let reply = bench.post("/v1/responses", &[b'x'; 1_001]);
    assert_eq!(reply.status, 413);
    assert_eq!(reply.json()["error"]["type"], "request_too_large");
    // One that does not say how large it is.
    let mut client = bench.connect();
    client.raw(
        b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n",
    );
    for _ in 0..11 {
        let _ = client.stream.write_all(&chunk(&[b'x'; 100]));
    }
    assert_eq!(client.reply().status, 413);
    assert_eq!(upstream.seen().len(), 1);
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let upstream = Upstream::saying("application/json", "{}");
    let short = Duration::from_millis(200);
    let bench = Bench::with(
        &[upstream.url()],
        quick(|limits| limits.with_patience(short)),
    );
    // A body without an end.
    let mut client = bench.connect();
    client
        .raw(b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nhalf");
    assert_eq!(client.reply().status, 408);
    // A head without an end.
    let started = Instant::now();
    let mut client = bench.connect();
    client.raw(b"POST /v1/responses HTTP/1.1\r\nhost: local");
    client.rest();
    assert!(started.elapsed() < Duration::from_secs(5));
    assert!(upstream.seen().is_empty());
}

#[test]
fn a_body_that_comes_too_slowly_is_its_clients_affair() {
    let bench = Bench::with(
        &[],
        quick(|mut limits| {
            limits.answer = Duration::from_millis(300);
            limits
        }),
    );
    let mut client = bench.connect();
    client.raw(b"POST /api/v1/tokens HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n");
    let mut slow = client.stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        // Never silent for long, and never done.
        while slow.write_all(b" ").is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let reply = client.reply();
    assert_eq!(reply.status, 408);
    let told = reply.json();
    assert_eq!(told["kind"], "input", "{told}");
    assert!(told["detail"].to_string().contains("body"), "{told}");
    client.shut(Shutdown::Both);
    sender.join().unwrap();
}

#[test]
fn a_socket_that_is_closed_halfway_is_let_go() {
    let upstream = Upstream::new(|_, stream| {
        std::thread::sleep(Duration::from_millis(100));
        let _ = stream.write_all(&answer("200 OK", "application/json", b"{}"));
    });
    let bench = Bench::new(&[upstream.url()]);
    // Before the request is whole: nothing is sent on.
    let mut client = bench.connect();
    client
        .raw(b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nhalf");
    client.shut(Shutdown::Write);
    client.rest();
    assert!(upstream.seen().is_empty());
    // After it: the client counts as gone, and its request is cancelled.
    let mut client = bench.connect();
    client.send("POST", "/v1/responses", &[], b"{}");
    client.shut(Shutdown::Write);
    client.rest();
    assert_eq!(bench.get("/healthz").status, 200);
    wait_for(|| (bench.metric("tenure_http_connections") == Some(1.0)).then_some(()));
}

#[test]
fn a_client_that_leaves_is_noticed_behind_bytes_of_a_further_request() {
    let upstream = Upstream::new(|_, stream| {
        // Says nothing until it is let go of.
        let _ = std::io::Read::read(stream, &mut [0]);
    });
    let bench = Bench::new(&[upstream.url()]);
    let mut client = bench.connect();
    client.raw(b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}POST /v1/resp");
    wait_for(|| (upstream.seen().len() == 1).then_some(()));
    drop(client);
    let left = "tenure_http_requests_total{route=\"/v1/responses\",status=\"499\"}";
    wait_for(|| (bench.metric(left) == Some(1.0)).then_some(()));
    wait_for(|| (bench.metric("tenure_http_connections") == Some(1.0)).then_some(()));
}

#[test]
fn a_refusal_can_be_read_by_a_client_that_still_sends() {
    let bench = Bench::with(&[], quick(|limits| limits.with_body(1_000)));
    for _ in 0..5 {
        let mut client = bench.connect();
        client.raw(b"POST /api/v1/tokens HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 8000000\r\n\r\n");
        for _ in 0..80 {
            client.stream.write_all(&[b'x'; 100_000]).unwrap();
        }
        assert_eq!(client.reply().status, 413);
    }
}

#[test]
fn a_slow_reader_gets_all_of_it_and_holds_nobody_up() {
    let body: Vec<u8> = (0..8 << 20).map(|at: u32| (at % 253) as u8).collect();
    let sent = body.clone();
    let upstream = Upstream::new(move |seen, stream| {
        let body = if seen.body == b"large" {
            &sent[..]
        } else {
            b"{}"
        };
        let _ = stream.write_all(&answer("200 OK", "application/octet-stream", body));
    });
    let bench = Bench::new(&[upstream.url()]);
    let mut slow = bench.connect();
    slow.send("POST", "/v1/responses", &[], b"large");
    let head = slow.head().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    for _ in 0..10 {
        assert_eq!(bench.post("/v1/responses", b"{}").body, b"{}");
    }
    let mut got = Vec::new();
    while got.len() < body.len() {
        got.extend_from_slice(&slow.some());
    }
    assert!(got == body);
    let record = bench.record("local", head.header("x-tenure-record").unwrap());
    assert_eq!(
        (record.ending, record.response_bytes),
        (Ending::Whole, body.len() as u64)
    );
}

#[test]
fn a_client_that_takes_nothing_is_given_up() {
    let upstream = Upstream::new(|_, stream| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        while stream.write_all(&chunk(&[b'x'; 64 << 10])).is_ok() {}
    });
    let short = Duration::from_millis(300);
    let bench = Bench::with(
        &[upstream.url()],
        quick(|limits| limits.with_patience(short)),
    );
    let mut clients: Vec<_> = (0..20).map(|_| bench.connect()).collect();
    let ask = b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for client in &mut clients {
        client.raw(&ask.repeat(100));
    }
    let mut streaming = bench.connect();
    streaming.send("POST", "/v1/responses", &[], b"{}");
    let head = streaming.head().unwrap();
    wait_for(|| (bench.metric("tenure_http_connections") == Some(1.0)).then_some(()));
    wait_for(|| (upstream.closed() == 1).then_some(()));
    let record = bench.record("local", head.header("x-tenure-record").unwrap());
    assert_eq!(record.ending, Ending::ClientLeft);
    drop((clients, streaming));
}

#[test]
fn a_client_that_takes_little_at_a_time_is_given_all() {
    let body: Vec<u8> = (0..6 << 20).map(|at: u32| (at % 253) as u8).collect();
    let sent = answer("200 OK", "application/octet-stream", &body);
    let upstream = Upstream::new(move |_, stream| {
        let _ = stream.write_all(&sent);
    });
    let patience = Duration::from_millis(500);
    let bench = Bench::with(
        &[upstream.url()],
        quick(|limits| limits.with_patience(patience)),
    );
    let mut slow = bench.connect();
    let socket = socket2::SockRef::from(&slow.stream);
    socket.set_recv_buffer_size(128 << 10).unwrap();
    slow.send("POST", "/v1/responses", &[], b"{}");
    assert_eq!(slow.head().unwrap().status, 200);
    let mut got = Vec::new();
    while got.len() < body.len() {
        let some = slow.some();
        assert!(!some.is_empty(), "it broke off after {} bytes", got.len());
        got.extend_from_slice(&some);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(got == body);
}

// --- clients that leave ---------------------------------------------------------------------------

fn audited(options: Options) -> Options {
    let audit = options.originals.as_ref().unwrap().with_extension("audit");
    Options {
        audit: Some(audit),
        ..options
    }
}

/// The path and the status of each line of the audit log.
fn audit_of(bench: &Bench) -> Vec<(String, u64)> {
    let text = std::fs::read_to_string(bench.folder.path().join("originals.audit")).unwrap();
    let line = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let path = line["path"].as_str().unwrap().to_owned();
        (path, line["status"].as_u64().unwrap())
    };
    text.lines().map(line).collect()
}

#[test]
fn what_a_client_that_leaves_has_written_is_accounted_for() {
    const COUNT: u64 = 60;
    let mut bench = Bench::with(&[], audited);
    for number in 0..COUNT {
        let mut client = bench.connect();
        let path = format!("/api/v1/objects/ghost{number}");
        let json = "content-type: application/json";
        let body = format!(r#"{{"name":"ghost{number}","content":"No more than 5 bar."}}"#);
        client.send("PUT", &path, &[json], body.as_bytes());
        // Some leave before they are heard at all, some later.
        std::thread::sleep(Duration::from_micros(50 * number));
        client.shut(Shutdown::Write);
        client.rest();
    }
    bench.stop();
    let lines = audit_of(&bench);
    let tenant = bench.store.tenant("local").unwrap();
    let mut written = 0;
    for number in 0..COUNT {
        let name = format!("ghost{number}");
        let path = format!("/api/v1/objects/{name}");
        let noted = lines.iter().filter(|(found, _)| *found == path);
        let noted: Vec<u64> = noted.map(|(_, status)| *status).collect();
        assert!(noted.len() <= 1, "{name}: {noted:?}");
        let is_written = !tenant.named(&name).unwrap().is_empty();
        assert_eq!(noted == [201], is_written, "{name}: {noted:?}");
        written += usize::from(is_written);
    }
    assert!(written > 0);
}

#[test]
fn what_is_forwarded_for_a_client_that_leaves_is_cancelled_and_accounted_for() {
    let upstream = Upstream::new(|_, stream| {
        // The upstream thinks until it is left alone.
        let _ = std::io::Read::read(stream, &mut [0]);
    });
    let mut bench = Bench::with(&[upstream.url()], audited);
    let mut client = bench.connect();
    client.send("POST", "/v1/responses", &[], b"{}");
    wait_for(|| (upstream.seen().len() == 1).then_some(()));
    drop(client);
    wait_for(|| (upstream.closed() == 1).then_some(()));
    let left = "tenure_http_requests_total{route=\"/v1/responses\",status=\"499\"}";
    wait_for(|| (bench.metric(left) == Some(1.0)).then_some(()));
    bench.stop();
    assert!(audit_of(&bench).contains(&("/v1/responses".to_owned(), 499)));
}

// --- names ----------------------------------------------------------------------------------------

#[test]
fn a_path_that_climbs_reaches_nothing() {
    let upstream = Upstream::saying("application/json", "{}");
    let bench = Bench::new(&[upstream.url()]);
    for path in [
        "/v1/../admin",
        "/v1/%2e%2e/admin",
        "/v1/x/..%2f..%2fadmin",
        "/v1/./models",
    ] {
        assert_eq!(bench.get(path).status, 400, "{path}");
    }
    for path in [
        "/admin",
        "/v1",
        "/v2/models",
        "//v1/models",
        "/etc/passwd",
        "/%76%31/models",
    ] {
        assert_eq!(bench.get(path).status, 404, "{path}");
    }
    assert!(upstream.seen().is_empty());
}

/// Names as they stand in a path that would leave it, end it, or be none.
fn climbing() -> Vec<String> {
    let names = [
        "%2e%2e",
        "..%2f..%2f..%2fetc%2fpasswd",
        "..%5c..%5cwin.ini",
        "%2fetc%2fpasswd",
        "C:%5ctemp",
        "a%00b",
        "%ff%fe",
        "%c0%ae%c0%ae%c0%af",
        "%252e%252e%252f",
        "..;",
        "%0d%0aset-cookie:%20a=b",
        "%e2%80%ae",
    ];
    let long = "x".repeat(8_000);
    names.into_iter().map(str::to_owned).chain([long]).collect()
}

#[test]
fn names_that_climb_name_nothing() {
    let bench = Bench::new(&[]);
    let files = || {
        let found = std::fs::read_dir(bench.folder.path()).unwrap();
        let names = found.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| !name.starts_with("store.db")).collect();
        names.sort();
        names
    };
    let before = files();
    let json = "content-type: application/json";
    for name in climbing() {
        for (method, path, body) in [
            ("GET", "objects/NAME", "".to_owned()),
            ("GET", "objects/NAME/history", "".to_owned()),
            ("DELETE", "objects/NAME", "{}".to_owned()),
            (
                "PUT",
                "objects/NAME",
                r#"{"name":"x","content":"y"}"#.to_owned(),
            ),
            ("GET", "models/NAME", "".to_owned()),
            ("GET", "records/NAME", "".to_owned()),
            ("GET", "registries/NAME", "".to_owned()),
            ("GET", "sessions/NAME", "".to_owned()),
            ("GET", "sessions/NAME/export", "".to_owned()),
            ("POST", "sessions/NAME/compile", "{}".to_owned()),
        ] {
            let path = format!("/api/v1/{}", path.replace("NAME", &name));
            let reply = bench.ask(method, &path, &[json], body.as_bytes());
            assert!(
                (400..500).contains(&reply.status),
                "{method} {path} {}",
                reply.status
            );
            assert_eq!(reply.header("set-cookie"), None);
        }
    }
    // The same in bodies.
    for name in [
        "../../../../etc/passwd",
        "/etc/passwd",
        "..\\\\..\\\\x",
        "/tmp/x.json",
        "a\\u0000b",
        "",
    ] {
        let task = r#""task":{"objective":"x"},"budget":{"tokens":500}"#;
        for (path, body) in [
            (
                "compile",
                format!(r#"{{"request":{{{task},"model":"{name}"}}}}"#),
            ),
            (
                "compile",
                format!(r#"{{"request":{{{task}}},"policy":"{name}"}}"#),
            ),
            (
                "compile",
                format!(r#"{{"request":{{{task}}},"registry":"{name}"}}"#),
            ),
            ("tokens", format!(r#"{{"text":"x","model":"{name}"}}"#)),
            ("sessions", format!(r#"{{"id":"{name}"}}"#)),
            ("replay", format!(r#"{{"record_id":"{name}"}}"#)),
        ] {
            let reply = bench.post(&format!("/api/v1/{path}"), body.as_bytes());
            let said = String::from_utf8_lossy(&reply.body).into_owned();
            assert!((400..500).contains(&reply.status), "{path} {body} {said}");
            assert!(!said.contains("root:"), "{said}");
        }
    }
    assert_eq!(files(), before);
}

#[test]
fn bodies_that_are_no_json_harm_nobody() {
    let upstream = Upstream::saying("application/json", r#"{"choices":[]}"#);
    let chat = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#;
    let deep = [
        b"{\"model\":\"gpt-4o\",\"messages\":".to_vec(),
        vec![b'['; 200_000],
    ]
    .concat();
    let bodies: [Vec<u8>; 10] = [
        b"\xff\xfe{\"model\":\"gpt-4o\"}".to_vec(),
        b"{\"model\":\"gpt-4o\",\"messages\":[{\"role\":\"user\",\"content\":\"\xc3\x28\"}]}"
            .to_vec(),
        [b"\xef\xbb\xbf", chat.as_bytes()].concat(),
        chat.replace("Hi", "\\ud800").into_bytes(),
        chat.replace("\"Hi\"", "1e999999").into_bytes(),
        chat.replace("gpt-4o\"", "gpt-4o\",\"model\":[]").into_bytes(),
        chat.as_bytes()[..chat.len() - 2].to_vec(),
        deep,
        b"null".to_vec(),
        b"\0".to_vec(),
    ];
    for mode in [Mode::Observe, Mode::Fit, Mode::Full] {
        let bench = compiling(&upstream, mode, |options| options);
        for body in &bodies {
            // It is the provider's to say what it thinks of it.
            for path in ["/v1/chat/completions", "/v1/responses", "/v1/messages"] {
                let reply = bench.post(path, body);
                assert_eq!(reply.status, 200, "{path}");
                assert_eq!(&upstream.seen().pop().unwrap().body, body, "{path}");
            }
            for path in ["compile", "objects", "sessions", "query", "tokens"] {
                let reply = bench.post(&format!("/api/v1/{path}"), body);
                assert_eq!(
                    reply.status,
                    400,
                    "{path}: {:?}",
                    String::from_utf8_lossy(&reply.body)
                );
            }
        }
        assert_eq!(bench.get("/readyz").status, 200);
    }
}

#[test]
fn a_page_of_another_site_reads_nothing() {
    let bench = Bench::new(&[]);
    let get = |path: &str, headers: &[&str]| bench.ask("GET", path, headers, b"");
    for site in ["sec-fetch-site: cross-site", "sec-fetch-site: same-site"] {
        let link = [site, "sec-fetch-mode: navigate", "sec-fetch-dest: document"];
        let frame = [site, "sec-fetch-mode: navigate", "sec-fetch-dest: iframe"];
        for path in [
            "/openapi.json",
            "/healthz",
            "/metrics",
            "/api/v1/models",
            "/v1/models",
        ] {
            for asked in [&[site][..], &[site, "sec-fetch-mode: no-cors"], &frame] {
                assert_eq!(get(path, asked).status, 403, "{path} {asked:?}");
            }
        }
        // Who follows a link comes to a page, and to no data of a tenant.
        assert_eq!(get("/openapi.json", &link).status, 200);
        assert_eq!(get("/api/v1/models", &link).status, 403);
    }
    for own in [
        "sec-fetch-site: same-origin",
        "sec-fetch-site: none",
        "accept: */*",
    ] {
        let reply = get("/api/v1/models", &[own]);
        assert_eq!(
            (reply.status, reply.header("x-content-type-options")),
            (200, Some("nosniff"))
        );
    }
    let refused = get("/nowhere", &[]);
    assert_eq!(
        (refused.status, refused.header("x-content-type-options")),
        (404, Some("nosniff"))
    );
}

#[test]
fn two_origins_are_none() {
    let bench = Bench::new(&[]);
    let own = format!("origin: http://{}", bench.address);
    let host = format!("host: {}", bench.address);
    for origins in [[&*own, "origin: https://evil.example"], [&own, &own]] {
        let [one, other] = origins;
        let mut client = bench.connect();
        client
            .raw(format!("GET /healthz HTTP/1.1\r\n{host}\r\n{one}\r\n{other}\r\n\r\n").as_bytes());
        assert_eq!(client.reply().status, 400);
    }
}

#[test]
fn a_page_of_another_origin_is_refused() {
    let upstream = Upstream::saying("application/json", "{}");
    let bench = Bench::new(&[upstream.url()]);
    let host = format!("host: {}", bench.address);
    for (headers, status) in [
        (vec!["host: rebound.example"], 421),
        (vec!["host: localhost.rebound.example:7878"], 421),
        (vec!["host: localhost", "host: rebound.example"], 400),
        (vec!["host:"], 400),
        (vec![&host, "origin: https://evil.example"], 403),
        (vec![&host, "origin: null"], 403),
        (vec![&host, "origin: http://localhost:3000"], 403),
        (vec![&host], 200),
    ] {
        let reply = bench.ask("POST", "/v1/responses", &headers, b"{}");
        assert_eq!(reply.status, status, "{headers:?}");
    }
    let own = format!("origin: http://{}", bench.address);
    assert_eq!(
        bench.ask("POST", "/v1/responses", &[&host, &own], b"{}").status,
        200
    );
    let mut client = bench.connect();
    client.raw(b"GET /healthz HTTP/1.0\r\n\r\n");
    assert_eq!(client.reply().status, 400);
    assert_eq!(upstream.seen().len(), 2);
}

#[test]
fn a_name_that_no_request_can_call_is_refused() {
    let options = |host: &str| Options {
        hosts: vec![host.to_owned()],
        listen: "127.0.0.1:0".into(),
        ..Options::new(Workspace::new(FrameKey::new("test", [7; 32])).unwrap())
    };
    for wrong in [
        "x:80", "", "http://x", "x/", "[::1]", "[::1]:80", "a b", "é",
    ] {
        let refused = Server::bind(options(wrong)).err().unwrap();
        assert_eq!(refused.kind, ErrorKind::Usage, "{wrong}");
        let port = refused.hint.is_some_and(|hint| hint.contains("port"));
        assert_eq!(port, wrong.ends_with(":80"), "{wrong}");
    }
    for right in ["x", "tenure.example.com", "a_b-c.internal", "10.1.2.3"] {
        assert!(Server::bind(options(right)).is_ok(), "{right}");
    }
}

#[test]
fn many_connections_at_once_are_all_answered() {
    let upstream = Upstream::saying("application/json", "{}");
    let bench = Bench::new(&[upstream.url()]);
    let mut clients: Vec<_> = (0..400).map(|_| bench.connect()).collect();
    for client in &mut clients {
        client.send("POST", "/v1/responses", &[], b"{\"model\":\"gpt-4o\"}");
    }
    for client in &mut clients {
        assert_eq!(client.reply().status, 200);
    }
}
