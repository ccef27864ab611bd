//! A server in this process, an upstream that does as it is told, and a client of bare sockets.

#![allow(clippy::unwrap_used, clippy::panic, dead_code)] // helpers, of which no test uses all

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tenure::FrameKey;
use tenure_server::{Mode, Options, Server};
use tenure_store::Store;
use tenure_workspace::Workspace;
use tenure_workspace::records::ExchangeRecord;

/// The longest that a test waits for anything.
pub(crate) const LONG: Duration = Duration::from_secs(20);

// --- the upstream ---------------------------------------------------------------------------------

/// A request as it came, to the byte.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }
}

type Answer = dyn Fn(&Seen, &mut TcpStream) + Send + Sync;

/// A provider on loopback.
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    connections: Arc<AtomicUsize>,
    /// How many connections were closed by the other side.
    closed: Arc<AtomicUsize>,
}

impl Upstream {
    /// One that answers each request with this; a connection stays open unless the answer shuts it.
    pub(crate) fn new(answer: impl Fn(&Seen, &mut TcpStream) + Send + Sync + 'static) -> Upstream {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let connections = Arc::new(AtomicUsize::new(0));
        let closed = Arc::new(AtomicUsize::new(0));
        let answer: Arc<Answer> = Arc::new(answer);
        let upstream = Upstream {
            address,
            seen: Arc::clone(&seen),
            connections: Arc::clone(&connections),
            closed: Arc::clone(&closed),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                connections.fetch_add(1, Ordering::SeqCst);
                let (seen, answer, closed) =
                    (Arc::clone(&seen), Arc::clone(&answer), Arc::clone(&closed));
                std::thread::spawn(move || {
                    serve(stream, &seen, &*answer);
                    closed.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        upstream
    }

    /// One that answers everything with this body.
    pub(crate) fn saying(content_type: &'static str, body: &'static str) -> Upstream {
        Upstream::new(move |_, stream| {
            let _ = stream.write_all(&answer("200 OK", content_type, body.as_bytes()));
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn closed(&self) -> usize {
        self.closed.load(Ordering::SeqCst)
    }
}

/// An answer with a length.
pub(crate) fn answer(status: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\nx-request-id: req_1\r\n\r\n",
        body.len()
    )
    .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// A piece of a chunked body.
pub(crate) fn chunk(data: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{:x}\r\n", data.len()).into_bytes();
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(b"\r\n");
    bytes
}

fn serve(stream: TcpStream, seen: &Mutex<Vec<Seen>>, answer: &Answer) {
    stream.set_nodelay(true).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut writer = stream;
    while let Some(request) = read_request(&mut reader) {
        seen.lock().unwrap().push(request.clone());
        answer(&request, &mut writer);
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Seen> {
    let (line, headers) = read_head(reader)?;
    let body = read_body(reader, &headers, false)?;
    Some(Seen {
        line,
        headers,
        body,
    })
}

type Head = (String, Vec<(String, String)>);

fn read_head(reader: &mut impl BufRead) -> Option<Head> {
    let mut first = String::new();
    if reader.read_line(&mut first).ok()? == 0 {
        return None;
    }
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Some((first.trim_end().to_owned(), headers));
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn read_body(
    reader: &mut impl BufRead,
    headers: &[(String, String)],
    to_the_end: bool,
) -> Option<Vec<u8>> {
    let header = |name: &str| headers.iter().find(|(known, _)| known == name);
    let mut body = Vec::new();
    if header("transfer-encoding").is_some() {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim(), 16).ok()?;
            let mut data = vec![0; size + 2];
            reader.read_exact(&mut data).ok()?;
            if size == 0 {
                return Some(body);
            }
            body.extend_from_slice(&data[..size]);
        }
    }
    match header("content-length") {
        Some((_, length)) => {
            body.resize(length.parse().ok()?, 0);
            reader.read_exact(&mut body).ok()?;
        }
        None if to_the_end => drop(reader.read_to_end(&mut body).ok()?),
        None => {}
    }
    Some(body)
}

// --- the server -----------------------------------------------------------------------------------

/// A server that runs until it is dropped.
pub(crate) struct Bench {
    pub(crate) folder: TempDir,
    pub(crate) store: Store,
    pub(crate) address: SocketAddr,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Bench {
    /// One in front of these upstreams.
    pub(crate) fn new(upstreams: &[String]) -> Bench {
        Bench::with(upstreams, |options| options)
    }

    pub(crate) fn with(upstreams: &[String], change: impl FnOnce(Options) -> Options) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        Bench::over(folder, store, upstreams, change)
    }

    pub(crate) fn over(
        folder: TempDir,
        store: Store,
        upstreams: &[String],
        change: impl FnOnce(Options) -> Options,
    ) -> Bench {
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let options = Options {
            listen: "127.0.0.1:0".into(),
            store: Some(store.clone()),
            upstreams: upstreams.iter().map(|url| url.parse().unwrap()).collect(),
            originals: Some(folder.path().join("originals")),
            ..Options::new(workspace)
        };
        let server = Server::bind(change(options)).unwrap();
        let address = server.address();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            let stopped = async {
                let _ = stopped.await;
            };
            runtime.block_on(server.serve(stopped)).unwrap();
            runtime.shutdown_timeout(Duration::from_secs(1));
        });
        Bench {
            folder,
            store,
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::to(self.address)
    }

    /// Asks once, on a connection of its own.
    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Reply {
        let mut client = self.connect();
        client.send(method, path, headers, body);
        client.reply()
    }

    pub(crate) fn post(&self, path: &str, body: &[u8]) -> Reply {
        self.ask("POST", path, &["content-type: application/json"], body)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], b"")
    }

    /// Stops the server and waits for its end.
    pub(crate) fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }

    /// The record of an exchange, once it is kept.
    pub(crate) fn record(&self, tenant: &str, id: &str) -> ExchangeRecord {
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let tenant = self.store.tenant(tenant).unwrap();
        wait_for(|| workspace.records(&tenant).exchange(id).unwrap())
    }

    /// The number in a line of the metrics.
    pub(crate) fn metric(&self, line: &str) -> Option<f64> {
        let text = String::from_utf8(self.get("/metrics").body).unwrap();
        let found = text.lines().find_map(|found| found.strip_prefix(line))?;
        found.trim().parse().ok()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.stop();
    }
}

/// A gateway that compiles, for models with a window of 3,000 tokens: `small` of OpenAI's and `claude-small`.
pub(crate) fn compiling(
    upstream: &Upstream,
    mode: Mode,
    change: impl FnOnce(Options) -> Options,
) -> Bench {
    let models = tempfile::NamedTempFile::new().unwrap();
    let text = "models.small = { extends = \"gpt-4o\", window = 3000, reserve = 500 }\n\
        models.claude-small = { extends = \"claude-opus-4-5\", window = 3000, reserve = 500 }\n";
    std::fs::write(models.path(), text).unwrap();
    Bench::with(&[upstream.url()], |options| {
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        change(Options {
            workspace: workspace.load_catalogue(models.path()).unwrap(),
            mode,
            ..options
        })
    })
}

/// Asks until there is an answer.
pub(crate) fn wait_for<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + LONG;
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < until, "it did not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

// --- the client -----------------------------------------------------------------------------------

/// A connection to the server.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    reader: BufReader<TcpStream>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        found.next().map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&self.body)))
    }

    pub(crate) fn record(&self) -> String {
        self.header("x-tenure-record").unwrap().to_owned()
    }
}

impl Client {
    pub(crate) fn to(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Client { stream, reader }
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, headers: &[&str], body: &[u8]) {
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        if !headers.iter().any(|header| header.starts_with("host:")) {
            head.push_str("host: localhost\r\n");
        }
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        if !body.is_empty() || method != "GET" {
            head.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(body);
        self.raw(&bytes);
    }

    /// The head of an answer, or nothing where the connection was closed.
    pub(crate) fn head(&mut self) -> Option<Reply> {
        let (line, headers) = read_head(&mut self.reader)?;
        Some(Reply {
            status: line.split(' ').nth(1)?.parse().ok()?,
            headers,
            body: Vec::new(),
        })
    }

    /// The whole answer.
    pub(crate) fn reply(&mut self) -> Reply {
        self.try_reply().unwrap()
    }

    pub(crate) fn try_reply(&mut self) -> Option<Reply> {
        let mut reply = self.head()?;
        if reply.status != 304 {
            reply.body = read_body(&mut self.reader, &reply.headers, true)?;
        }
        Some(reply)
    }

    /// What comes next, as soon as something does.
    pub(crate) fn some(&mut self) -> Vec<u8> {
        let data = self.reader.fill_buf().unwrap().to_vec();
        self.reader.consume(data.len());
        data
    }

    /// The body that belongs to a head, or what comes of it until it breaks off.
    pub(crate) fn rest_of(&mut self, head: &Reply) -> Option<Vec<u8>> {
        read_body(&mut self.reader, &head.headers, true)
    }

    /// What is left until the connection is closed, and whether it was closed in order.
    pub(crate) fn rest(&mut self) -> (Vec<u8>, bool) {
        let mut rest = Vec::new();
        let done = self.reader.read_to_end(&mut rest);
        (rest, done.is_ok())
    }

    pub(crate) fn shut(&self, how: Shutdown) {
        match self.stream.shutdown(how) {
            // The other side was quicker.
            Err(error) if error.kind() == std::io::ErrorKind::NotConnected => {}
            shut => shut.unwrap(),
        }
    }
}
