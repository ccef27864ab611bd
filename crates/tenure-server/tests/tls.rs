//! Upstreams over TLS: a server on loopback whose certificate is of an authority of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::support::Bench;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tenure_server::{Options, Upstream};

fn file(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// A provider over TLS, one request for each connection; what it was sent.
fn provider(ip: &str) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let certificate = CertificateDer::from_pem_slice(file("leaf.pem").as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(file("leaf.key.pem").as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind((ip, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream.unwrap());
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            // A head, then a body that ends with its brace; a client that does not trust us says nothing.
            while !(request.ends_with(b"}") && request.windows(4).any(|w| w == b"\r\n\r\n")) {
                match stream.read(&mut piece) {
                    Ok(read) if read > 0 => request.extend_from_slice(&piece[..read]),
                    _ => break,
                }
            }
            if request.is_empty() {
                continue;
            }
            heard.lock().unwrap().push(String::from_utf8(request).unwrap());
            let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{\"ok\":true}";
            let _ = stream.write_all(answer);
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    (address, seen)
}

const BODY: &[u8] = br#"{"model": "gpt-4o",  "messages": []}"#;

fn bench(upstream: Upstream) -> Bench {
    Bench::with(&[], |options| Options {
        upstreams: vec![upstream],
        ..options
    })
}

#[test]
fn a_certificate_of_a_trusted_authority_is_believed() {
    let (address, seen) = provider("127.0.0.1");
    for host in ["localhost", "127.0.0.1"] {
        let upstream = format!("openai=https://{host}:{}", address.port());
        let upstream: Upstream = upstream.parse().unwrap();
        let bench = bench(upstream.trusting(&file("ca.pem")).unwrap());
        let reply = bench.post("/v1/chat/completions", BODY);
        assert_eq!(
            (reply.status, &*reply.body),
            (200, &b"{\"ok\":true}"[..]),
            "{}",
            String::from_utf8_lossy(&reply.body)
        );
    }
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 2);
    for request in &*seen {
        assert!(
            request.ends_with(std::str::from_utf8(BODY).unwrap()),
            "{request}"
        );
    }
}

/// That an upstream at this host is not believed, and hears nothing of what was to go to it.
fn is_refused(ip: &str, trusting: Option<&str>) {
    let (address, seen) = provider(ip);
    let upstream: Upstream = format!("openai=https://{address}").parse().unwrap();
    let upstream = match trusting {
        Some(pem) => upstream.trusting(pem).unwrap(),
        None => upstream,
    };
    let bench = bench(upstream);
    let secret = "authorization: Bearer hush-4711";
    let headers = ["content-type: application/json", secret];
    let reply = bench.ask("POST", "/v1/chat/completions", &headers, BODY);
    let said = reply.json()["error"]["message"].to_string();
    assert_eq!(reply.status, 502, "{said}");
    assert!(said.contains("certificate"), "{said}");
    assert!(seen.lock().unwrap().is_empty(), "a credential was sent");
}

#[test]
fn a_certificate_of_nobody_who_is_trusted_is_refused() {
    is_refused("127.0.0.1", None);
}

#[test]
#[cfg(target_os = "linux")] // where all of 127.0.0.0/8 is this machine
fn a_certificate_of_another_name_is_refused() {
    is_refused("127.0.0.2", Some(&file("ca.pem")));
}

#[test]
fn what_is_no_certificate_is_refused() {
    let upstream: Upstream = "https://localhost".parse().unwrap();
    for wrong in ["", "no certificate", &file("leaf.key.pem")] {
        let error = upstream.clone().trusting(wrong).unwrap_err();
        assert_eq!(error.what, "there is no certificate");
    }
    let broken = file("ca.pem").replace("MII", "AAA");
    assert!(upstream.trusting(&broken).is_err());
}
