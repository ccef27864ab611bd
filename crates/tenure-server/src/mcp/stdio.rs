//! Lines of JSON-RPC on standard input and output. A line has a most; what is longer, or is no message, is answered
//! with an error under its id, so that nobody waits for it.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::messages::{Fault, LONGEST};

/// The most lines that wait to be written.
const WAITING: usize = 64;
/// The most bytes of lines that wait to be written; a longer one waits alone.
const WAITING_BYTES: u32 = 8 << 20;
/// The most requests that are under way: others are read once one of them is answered.
const UNDER_WAY: usize = 16;
/// The longest id of a line that is too long, in bytes.
const LONGEST_ID: usize = 256;

/// The requests that have no answer yet, each with its place among those that are under way.
type Open = Arc<Mutex<BTreeMap<String, OwnedSemaphorePermit>>>;

/// A line that waits to be written, with its room among those that wait.
struct Waiting {
    line: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

fn key(id: &RequestId) -> String {
    // A number and a text that look alike are two ids.
    serde_json::to_string(id).unwrap_or_default()
}

/// A client at the other end of two streams.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
    line: Vec<u8>,
    /// What is known of a line that is too long, while the rest of it comes.
    long: Option<IdScan>,
    writer: Option<mpsc::Sender<Waiting>>,
    /// The bytes that may wait.
    room: Arc<Semaphore>,
    /// The places of requests that may be under way.
    places: Arc<Semaphore>,
    /// An answer to a line that is no message.
    answer: Option<Vec<u8>>,
    open: Open,
    grace: Duration,
    ended: Option<Instant>,
}

impl<R: AsyncRead + Unpin + Send> Lines<R> {
    /// A client, and the task that writes to it. After the end of its input, answers under way have `grace` to come.
    pub(super) fn new<W>(reader: R, writer: W, grace: Duration) -> (Lines<R>, JoinHandle<()>)
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (sender, receiver) = mpsc::channel(WAITING);
        let lines = Lines {
            reader: BufReader::new(reader),
            line: Vec::new(),
            long: None,
            writer: Some(sender),
            room: Arc::new(Semaphore::new(WAITING_BYTES as usize)),
            places: Arc::new(Semaphore::new(UNDER_WAY)),
            answer: None,
            open: Open::default(),
            grace,
            ended: None,
        };
        (lines, tokio::spawn(write(writer, receiver)))
    }

    /// Reads on, and says whether a line is whole. Nothing is lost when this is dropped half way.
    async fn read(&mut self) -> io::Result<Read> {
        loop {
            let buffer = self.reader.fill_buf().await?;
            if buffer.is_empty() {
                return Ok(Read::End);
            }
            let newline = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..newline.unwrap_or(buffer.len())];
            match &mut self.long {
                Some(scan) => scan.read(part),
                None if self.line.len() + part.len() > LONGEST => {
                    let mut scan = IdScan::default();
                    scan.read(&self.line);
                    scan.read(part);
                    self.long = Some(scan);
                    self.line = Vec::new();
                }
                None => self.line.extend_from_slice(part),
            }
            let used = newline.map_or(buffer.len(), |at| at + 1);
            self.reader.consume(used);
            if newline.is_some() {
                return Ok(match self.long.take() {
                    Some(scan) => Read::Long(scan.id()),
                    None => Read::Line,
                });
            }
        }
    }

    /// The message of the line that was read, or the answer that the line gets.
    fn message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        if text.is_empty() {
            return None;
        }
        let read = serde_json::from_slice(text).ok();
        if read.is_none() {
            self.answer = Fault::of(text).and_then(Fault::answer);
        }
        read
    }

    fn has_answered_all(&self) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.is_empty()
    }

    /// Waits until every request has its answer, but no longer than the grace.
    async fn settled(&mut self) {
        let ended = *self.ended.get_or_insert_with(Instant::now);
        while ended.elapsed() < self.grace {
            let is_gone = self.writer.as_ref().is_none_or(mpsc::Sender::is_closed);
            if is_gone || self.has_answered_all() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

enum Read {
    /// A whole line stands ready.
    Line,
    /// A line was too long.
    Long(Option<RequestId>),
    End,
}

impl<R: AsyncRead + Unpin + Send> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = self.writer.clone();
        let open = Arc::clone(&self.open);
        let room = Arc::clone(&self.room);
        async move {
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(key(&response.id)),
                JsonRpcMessage::Error(error) => error.id.as_ref().map(key),
                _ => None,
            };
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            let line = serde_json::to_vec(&message).map_err(io::Error::from)?;
            let writer = writer.ok_or_else(gone)?;
            let bytes = u32::try_from(line.len()).unwrap_or(u32::MAX);
            let room = room.acquire_many_owned(bytes.min(WAITING_BYTES)).await;
            let line = Waiting {
                line,
                _room: room.ok(),
            };
            let sent = writer.send(line).await.map_err(|_| gone());
            if let Some(answered) = answered {
                let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
                open.remove(&answered);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if self.answer.is_some() {
                // The answer stays until there is room for it.
                let room = self.writer.as_ref()?.reserve().await.ok()?;
                if let Some(answer) = self.answer.take() {
                    room.send(Waiting {
                        line: answer,
                        _room: None,
                    });
                }
            }
            if self.ended.is_some() {
                self.settled().await;
                return None;
            }
            // Before a line is read, so that none is lost where this is dropped half way.
            let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
            match self.read().await {
                Ok(Read::Line) => {
                    let Some(message) = self.message() else {
                        continue;
                    };
                    match &message {
                        JsonRpcMessage::Request(request) => {
                            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                            let id = key(&request.id);
                            if open.contains_key(&id) {
                                drop(open);
                                self.answer = Fault::taken(request.id.clone()).answer();
                                continue;
                            }
                            open.insert(id, place);
                        }
                        JsonRpcMessage::Notification(note) => self.forget_cancelled(note),
                        _ => {}
                    }
                    return Some(message);
                }
                Ok(Read::Long(id)) => {
                    self.answer = Fault::too_long(id).answer();
                }
                Ok(Read::End) | Err(_) => self.ended = Some(Instant::now()),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer = None;
        Ok(())
    }
}

impl<R> Lines<R> {
    /// Waits for no answer to a request that is cancelled: there may be none.
    fn forget_cancelled(
        &self,
        note: &rmcp::model::JsonRpcNotification<rmcp::model::ClientNotification>,
    ) {
        if let rmcp::model::ClientNotification::CancelledNotification(cancelled) =
            &note.notification
            && let Some(id) = &cancelled.params.request_id
        {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.remove(&key(id));
        }
    }
}

/// Writes lines until there are no more, or nobody reads them.
async fn write(mut writer: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Waiting>) {
    while let Some(Waiting { mut line, _room }) = lines.recv().await {
        line.push(b'\n');
        if writer.write_all(&line).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}

/// Looks for the `id` of a message of which not all is kept.
#[derive(Default)]
struct IdScan {
    depth: u32,
    in_text: bool,
    escaped: bool,
    /// The last text that ended at the top of the message.
    name: Vec<u8>,
    /// Whether the value of `id` comes now.
    at_id: bool,
    id: Vec<u8>,
}

impl IdScan {
    fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    fn step(&mut self, byte: u8) {
        let ends = self.depth == 1 && !self.in_text && matches!(byte, b',' | b'}');
        if self.at_id {
            if ends {
                self.at_id = false;
            } else if self.id.len() < LONGEST_ID {
                self.id.push(byte);
            }
        }
        if self.in_text {
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_text = false;
                return;
            }
            if self.depth == 1 && self.name.len() < LONGEST_ID {
                self.name.push(byte);
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_text = true;
                self.name.clear();
            }
            b':' if self.depth == 1 => {
                self.at_id = self.name == b"id" && self.id.is_empty();
            }
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn id(&self) -> Option<RequestId> {
        serde_json::from_slice(self.id.trim_ascii()).ok()
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ErrorData;
    use rmcp::service::TxJsonRpcMessage;

    use super::*;

    fn ping(id: i64) -> String {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n")
    }

    async fn soon<T>(what: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(Duration::from_millis(200), what).await.ok()
    }

    fn answer_of(id: i64, bytes: usize) -> TxJsonRpcMessage<RoleServer> {
        let error = ErrorData::internal_error("x".repeat(bytes), None);
        TxJsonRpcMessage::<RoleServer>::error(error, Some(RequestId::Number(id)))
    }

    #[tokio::test]
    async fn only_so_many_requests_are_under_way_and_each_id_once() {
        let input: String = (0..=UNDER_WAY as i64).map(ping).collect();
        let input = format!("{}{input}", ping(0));
        let (near, far) = tokio::io::duplex(1 << 20);
        let (mut lines, _writer) = Lines::new(
            std::io::Cursor::new(input.into_bytes()),
            near,
            Duration::ZERO,
        );
        for _ in 0..UNDER_WAY {
            assert!(matches!(
                lines.receive().await,
                Some(JsonRpcMessage::Request(_))
            ));
        }
        // The next one waits until one of them is answered; nothing is lost by that.
        assert!(soon(lines.receive()).await.is_none());
        lines.send(answer_of(3, 1)).await.unwrap();
        let Some(Some(JsonRpcMessage::Request(next))) = soon(lines.receive()).await else {
            unreachable!("there is a place");
        };
        assert_eq!(next.id, RequestId::Number(UNDER_WAY as i64));
        // The second request of an id that is under way is refused under it.
        let mut far = BufReader::new(far).lines();
        let first = far.next_line().await.unwrap().unwrap();
        assert!(
            first.contains("\"id\":0") && first.contains("under way"),
            "{first}"
        );
        let second = far.next_line().await.unwrap().unwrap();
        assert!(second.contains("\"id\":3"), "{second}");
    }

    #[tokio::test]
    async fn what_nobody_reads_is_bounded() {
        let (near, _far) = tokio::io::duplex(1 << 10);
        let (mut lines, _writer) = Lines::new(tokio::io::empty(), near, Duration::ZERO);
        let most = WAITING_BYTES as usize / (1 << 20);
        for id in 0..most as i64 - 1 {
            assert!(soon(lines.send(answer_of(id, 1 << 20))).await.is_some());
        }
        let mut sent = most - 1;
        for id in 100..104 {
            sent += usize::from(soon(lines.send(answer_of(id, 1 << 20))).await.is_some());
        }
        assert!(sent <= most, "{sent} of {most}");
    }

    fn id_of(text: &str) -> Option<RequestId> {
        let mut scan = IdScan::default();
        // As it comes: in parts.
        for part in text.as_bytes().chunks(3) {
            scan.read(part);
        }
        scan.id()
    }

    #[test]
    fn the_id_of_a_message_is_found_without_the_message() {
        assert_eq!(
            id_of(r#"{"id":7,"params":{"id":9}}"#),
            Some(RequestId::Number(7))
        );
        assert_eq!(
            id_of(r#"{"params":{"id":9,"a":"\"id\":3"},"id" : "x,}" }"#),
            Some(RequestId::String("x,}".into()))
        );
        assert_eq!(
            id_of(r#"{"a":"id","b":[1,{"id":2}],"id":-3}"#),
            Some(RequestId::Number(-3))
        );
        assert_eq!(id_of(r#"{"params":{"id":9}}"#), None);
        assert_eq!(id_of(r#"{"id":{"a":1}}"#), None);
        assert_eq!(id_of("[[[{"), None);
    }
}
