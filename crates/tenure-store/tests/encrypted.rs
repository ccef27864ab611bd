//! TLS to PostgreSQL: a real server with a certificate of an authority that only these tests know.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::server::{PASSWORD, Server};
use crate::common::{contents, put_one};
use tenure::ErrorKind;
use tenure_store::Store;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tenure-server/tests/tls")
        .join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap()
}

/// A port that nobody has at the moment.
fn free_port() -> u16 {
    let probe = TcpListener::bind("127.0.0.1:0").unwrap();
    probe.local_addr().unwrap().port()
}

/// A server that is reached as `localhost`, 127.0.0.1 and 127.0.0.2, with this among its settings.
fn server(setting: &str) -> (Server, u16) {
    let port = free_port();
    let setting = format!("listen_addresses = '127.0.0.1, 127.0.0.2'\nfsync = off\n{setting}");
    let files = [
        ("leaf.pem", text("leaf.pem")),
        ("leaf.key.pem", text("leaf.key.pem")),
    ];
    let files = files.each_ref().map(|(name, text)| (*name, text.as_str()));
    let server = Server::start_at(port, &setting, &files);
    server.create("store");
    (server, port)
}

const ENCRYPTED: &str = "ssl = on\nssl_cert_file = 'leaf.pem'\nssl_key_file = 'leaf.key.pem'";

fn url(host: &str, port: u16, parameters: &str) -> String {
    format!("postgresql://owner:{PASSWORD}@{host}:{port}/store?{parameters}")
}

fn trusting(mode: &str, authority: &str) -> String {
    format!("sslmode={mode}&sslrootcert={}", path(authority).display())
}

fn refused(url: &str, says: &str) {
    let error = Store::open(url).and_then(|store| store.migrate()).unwrap_err();
    assert!(error.to_string().contains(says), "{says}: {error}");
    assert!(!error.to_string().contains(PASSWORD), "{error}");
}

#[test]
fn a_server_that_proves_who_it_is_is_spoken_to_and_nobody_else() {
    let (server, port) = server(ENCRYPTED);
    for (host, mode) in [("localhost", "verify-full"), ("127.0.0.1", "require")] {
        let store = Store::open(&url(host, port, &trusting(mode, "ca.pem"))).unwrap();
        store.migrate().unwrap();
        let acme = store.tenant("acme").unwrap();
        let id = put_one(&acme, mode, "Two bar.");
        assert_eq!(contents(&acme, id), ["Two bar."]);
        // Large rows come whole through many records of TLS.
        let large = "0123456789abcdef".repeat(40_000);
        let id = put_one(&acme, &format!("large-{mode}"), &large);
        assert_eq!(contents(&acme, id), [large]);
        let heard = store.watch().unwrap();
        assert!(heard.is_some());
        let sql = "SELECT bool_and(ssl), count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                   WHERE application_name = 'tenure'";
        let row = server.administrator("store").query_one(sql, &[]).unwrap();
        assert!(row.get::<_, bool>(0) && row.get::<_, i64>(1) > 0);
    }
    // Another name, another authority, the system's authorities.
    refused(
        &url("127.0.0.2", port, &trusting("verify-full", "ca.pem")),
        "127.0.0.2",
    );
    refused(
        &url("127.0.0.2", port, &trusting("require", "ca.pem")),
        "not valid for",
    );
    refused(
        &url("localhost", port, &trusting("verify-full", "other.pem")),
        "UnknownIssuer",
    );
    refused(&url("localhost", port, "sslmode=require"), "certificate");
    refused(
        &url("localhost", port, "sslmode=verify-full&sslrootcert=system"),
        "certificate",
    );
    // A server that lets nobody in without TLS is not spoken to without: it is the URL that says.
    let plain = Store::open(&url("localhost", port, "sslmode=disable")).unwrap();
    plain.tenants().unwrap();
}

#[test]
fn a_server_without_tls_is_not_spoken_to() {
    let (_server, port) = server("");
    let wanted = url("localhost", port, &trusting("require", "ca.pem"));
    refused(&wanted, "server does not support TLS");
    // Of what was to go to it, it hears nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 8];
        stream.read_exact(&mut asked).unwrap();
        stream.write_all(b"N").unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        (asked, rest)
    });
    refused(
        &url("127.0.0.1", port, &trusting("require", "ca.pem")),
        "does not support TLS",
    );
    let (asked, rest) = server.join().unwrap();
    assert_eq!(asked, [0, 0, 0, 8, 4, 210, 22, 47]);
    assert!(rest.is_empty());
}

/// A port where everybody is let in, told this much, and no more; and who is there.
fn silent(says: &'static [u8]) -> (u16, Arc<Mutex<Vec<TcpStream>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let there = Arc::new(Mutex::new(Vec::new()));
    let guests = Arc::clone(&there);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            stream.write_all(says).unwrap();
            guests.lock().unwrap().push(stream);
        }
    });
    (port, there)
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    let encrypted = trusting("require", "ca.pem");
    // Before TLS, within its handshake, and at the login.
    for (says, parameters) in [
        (&b""[..], encrypted.as_str()),
        (b"S", &encrypted),
        (b"", "sslmode=disable"),
    ] {
        let (port, _there) = silent(says);
        let store = Store::open(&url(
            "127.0.0.1",
            port,
            &format!("connect_timeout=1&{parameters}"),
        ));
        let store = store.unwrap();
        let acme = store.tenant("acme").unwrap();
        for called in [
            store.migrate().map(drop),
            acme.version().map(drop),
            store.watch().map(drop),
        ] {
            let error = called.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Unavailable);
            assert!(error.to_string().contains("no login within 1 s"), "{error}");
        }
    }
}

#[test]
fn logins_that_nobody_answers_do_not_pile_up() {
    let (port, there) = silent(b"");
    let store = Store::open(&url("127.0.0.1", port, "connect_timeout=2")).unwrap();
    let said = |says: &str| {
        let error = store.migrate().unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable);
        error.to_string().contains(says)
    };
    let refused = std::thread::scope(|scope| {
        let asking = || scope.spawn(|| said("64 logins wait"));
        let asking: Vec<_> = (0..80).map(|_| asking()).collect();
        let refused = asking.into_iter().map(|asked| asked.join().unwrap());
        refused.filter(|refused| *refused).count()
    });
    assert!(refused >= 80 - 64, "{refused}");
    assert!(there.lock().unwrap().len() <= 64);
    // While they hang, the next hears of it at once; when they are let go, it is tried again.
    while !said("64 logins wait") {}
    let before = Instant::now();
    assert!(said("64 logins wait"));
    assert!(before.elapsed() < Duration::from_secs(1));
    let deadline = Instant::now() + Duration::from_secs(20);
    while said("64 logins wait") {
        assert!(Instant::now() < deadline);
        there.lock().unwrap().clear();
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_cannot_be_honoured_is_refused_before_anybody_is_asked() {
    let ca = path("ca.pem");
    let ca = ca.display();
    for (parameters, says) in [
        ("sslmode=prefer".to_owned(), "`sslmode=prefer`"),
        ("sslmode=allow".to_owned(), "`sslmode=allow`"),
        ("sslmode=verify-ca".to_owned(), "`sslmode=verify-ca`"),
        ("sslmode=Require".to_owned(), "did you mean `require`?"),
        ("sslmode=".to_owned(), "unknown `sslmode`"),
        ("sslmod%65=require".to_owned(), "percent-encoded"),
        ("sslmode=require&sslmode=disable".to_owned(), "twice"),
        (format!("sslrootcert={ca}"), "asks for no TLS"),
        (
            format!("sslmode=disable&sslrootcert={ca}"),
            "asks for no TLS",
        ),
        (
            "sslmode=require&sslrootcert=/nowhere/ca.pem".to_owned(),
            "/nowhere/ca.pem",
        ),
        (
            format!(
                "sslmode=require&sslrootcert={}",
                path("leaf.key.pem").display()
            ),
            "certificate",
        ),
        (
            format!("sslmode=require&sslrootcert={ca}&channel_binding=require"),
            "channel_binding",
        ),
        (
            format!("sslmode=require&sslrootcert={ca}&host=/tmp"),
            "Unix socket",
        ),
        (
            format!("sslmode=require&sslrootcert={ca}&sslcert=/x"),
            "unknown option",
        ),
    ] {
        let error = Store::open(&url("127.0.0.1", 1, &parameters)).unwrap_err();
        assert_ne!(error.kind, ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains(says), "{parameters}: {error}");
        assert!(!error.to_string().contains(PASSWORD), "{error}");
    }
    // A path may hold what a URL writes in another way.
    let folder = tempfile::tempdir().unwrap();
    let spaced = folder.path().join("our ca.pem");
    std::fs::copy(path("ca.pem"), &spaced).unwrap();
    let spaced = spaced.display().to_string().replace(' ', "%20");
    Store::open(&url(
        "127.0.0.1",
        1,
        &format!("sslmode=require&sslrootcert={spaced}"),
    ))
    .unwrap();
}
