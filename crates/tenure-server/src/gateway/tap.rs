//! An answer on its way to the client: each piece goes on as it comes, and enough of it is kept to say
//! afterwards what it used.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tenure_workspace::records::Ending;
use tokio::time::{Instant, Sleep};

use super::recorder::Open;
use crate::app::App;
use crate::metrics::{Metrics, What, Word};

/// What is kept of the beginning of an answer, and of its end; what it used stands in one of them.
const HEAD: usize = 64 << 10;
const TAIL: usize = 1 << 20;

/// The beginning and the end of an answer.
#[derive(Default)]
pub(super) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    pub(super) bytes: u64,
    /// Whether something in between was let go.
    cut: bool,
}

impl Kept {
    fn keep(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        let (head, rest) = data.split_at(data.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(head);
        let over = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        if over > 0 {
            self.cut = true;
            self.tail.drain(..over.min(self.tail.len()));
        }
        self.tail.extend(&rest[rest.len() - rest.len().min(TAIL)..]);
    }

    /// Keeps the count alone.
    pub(super) fn let_go(&mut self) {
        *self = Kept {
            bytes: self.bytes,
            cut: true,
            ..Kept::default()
        };
    }

    /// What is held in memory.
    pub(super) fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// The parts: one where nothing is missing.
    pub(super) fn parts(self) -> Vec<Vec<u8>> {
        let (mut head, tail) = (self.head, Vec::from(self.tail));
        if self.cut {
            return vec![head, tail];
        }
        head.extend_from_slice(&tail);
        vec![head]
    }
}

/// The body of an answer.
pub(super) struct Tap {
    upstream: Incoming,
    open: Open,
    metrics: Arc<Metrics>,
    bytes: u64,
    silence: Duration,
    patience: Pin<Box<Sleep>>,
}

/// Why an answer breaks off.
#[derive(Debug)]
pub(super) enum Broken {
    Upstream(hyper::Error),
    Silent,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Upstream(error) => write!(f, "the upstream broke off: {error}"),
            Broken::Silent => f.write_str("the upstream fell silent"),
        }
    }
}

impl std::error::Error for Broken {}

impl Tap {
    pub(super) fn new(upstream: Incoming, silence: Duration, open: Open, app: &App) -> Tap {
        Tap {
            upstream,
            open,
            metrics: Arc::clone(&app.metrics),
            bytes: 0,
            silence,
            patience: Box::pin(tokio::time::sleep(silence)),
        }
    }
}

impl Body for Tap {
    type Data = Bytes;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Broken>>> {
        let this = &mut *self;
        match Pin::new(&mut this.upstream).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    this.bytes += data.len() as u64;
                    if let Some(exchange) = this.open.exchange() {
                        exchange.reply.keep(data);
                    }
                }
                this.patience.as_mut().reset(Instant::now() + this.silence);
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                this.open.end(Ending::UpstreamBroke);
                Poll::Ready(Some(Err(Broken::Upstream(error))))
            }
            Poll::Ready(None) => {
                this.open.end(Ending::Whole);
                Poll::Ready(None)
            }
            Poll::Pending => {
                if this.patience.as_mut().poll(context).is_ready() {
                    this.open.end(Ending::UpstreamSilent);
                    return Poll::Ready(Some(Err(Broken::Silent)));
                }
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.upstream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.upstream.size_hint()
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let label = What {
            what: Word("response"),
        };
        self.metrics
            .gateway_bytes
            .get_or_create(&label)
            .inc_by(self.bytes);
        // An answer of a known length is not asked for its end.
        if self.upstream.is_end_stream() {
            self.open.end(Ending::Whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let mut kept = Kept::default();
        let text: Vec<u8> = (0..HEAD + 100).map(|at| (at % 251) as u8).collect();
        for piece in text.chunks(777) {
            kept.keep(piece);
        }
        assert_eq!(kept.bytes, text.len() as u64);
        assert_eq!(kept.parts(), [text]);

        let mut kept = Kept::default();
        let text: Vec<u8> = (0..HEAD + 3 * TAIL + 5)
            .map(|at| (at % 241) as u8)
            .collect();
        for piece in text.chunks(100_000) {
            kept.keep(piece);
            assert!(kept.len() <= HEAD + TAIL);
        }
        let parts = kept.parts();
        assert_eq!(parts[0], text[..HEAD]);
        assert_eq!(parts[1], text[text.len() - TAIL..]);

        let mut kept = Kept::default();
        kept.keep(&text);
        assert_eq!(kept.parts()[1], text[text.len() - TAIL..]);
    }
}
