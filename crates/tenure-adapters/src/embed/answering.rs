//! An endpoint for tests, which those of the workspace share.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

/// A real server on the loopback that gives these answers in turn and tells what it was asked.
pub(crate) fn server(answers: Vec<(&'static str, String)>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, told) = channel();
    std::thread::spawn(move || {
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = Vec::new();
            let mut buffer = [0; 4096];
            loop {
                let read = stream.read(&mut buffer).unwrap();
                asked.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&asked);
                let length = text
                    .to_lowercase()
                    .split("content-length: ")
                    .nth(1)
                    .and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok());
                let body = text.split_once("\r\n\r\n").map(|(_, body)| body.len());
                if read == 0 || (length.is_some() && body >= length) {
                    break;
                }
            }
            tell.send(String::from_utf8(asked).unwrap()).unwrap();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    (format!("http://127.0.0.1:{port}/v1/"), told)
}
