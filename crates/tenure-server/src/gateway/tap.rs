//! The body of an answer on its way to the client: each piece goes on as it comes, and enough of it is kept to say
//! afterwards what it used.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tenure_workspace::records::Ending;
use tokio::time::{Instant, Sleep};

use super::answer::{Ahead, Answer, Broken};
use super::recorder::OpenRecord;
use super::writes::SessionWrite;
use crate::telemetry::Telemetry;
use crate::telemetry::metrics::{What, Word};

/// The body of an answer.
pub(super) struct Tap {
    ahead: Ahead,
    upstream: Incoming,
    /// The turns of the request, to be durable before the answer ends.
    write: Option<SessionWrite>,
    /// The last frame, where it waits for that.
    last: Option<Frame<Bytes>>,
    /// True if there is nothing more.
    ended: bool,
    record: OpenRecord,
    telemetry: Arc<Telemetry>,
    bytes: u64,
    silence: Duration,
    patience: Pin<Box<Sleep>>,
}

impl Tap {
    /// Makes the body of an answer, of which nothing has gone on yet.
    pub(super) fn new(
        answer: Answer,
        write: Option<SessionWrite>,
        record: OpenRecord,
        telemetry: &Arc<Telemetry>,
        silence: Duration,
    ) -> Tap {
        Tap {
            ahead: answer.ahead,
            upstream: answer.body,
            write,
            last: None,
            ended: false,
            record,
            telemetry: Arc::clone(telemetry),
            bytes: 0,
            silence,
            patience: Box::pin(tokio::time::sleep(silence)),
        }
    }

    fn pass(&mut self, data: &[u8]) {
        self.bytes += data.len() as u64;
        if let Some(draft) = self.record.draft()
            && draft.reply.keep(data)
        {
            self.telemetry.metrics.dropped("contents");
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
        if let Some(data) = this.ahead.data.take() {
            this.pass(&data);
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        if let Some(broken) = this.ahead.broken.take() {
            this.record.end(broken.ending());
            return Poll::Ready(Some(Err(broken)));
        }
        if this.last.is_some() || this.ended {
            if let Some(write) = &mut this.write {
                // An error was counted.
                std::task::ready!(Pin::new(write).poll(context));
                this.write = None;
            }
            if let Some(frame) = this.last.take() {
                return Poll::Ready(Some(Ok(frame)));
            }
            this.record.end(Ending::Whole);
            return Poll::Ready(None);
        }
        match Pin::new(&mut this.upstream).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Some(data) = frame.data_ref() {
                    this.pass(data);
                }
                this.patience.as_mut().reset(Instant::now() + this.silence);
                // An answer of a known length is not asked for its end.
                this.ended = this.upstream.is_end_stream();
                if this.ended && this.write.is_some() {
                    this.last = Some(frame);
                    return self.poll_frame(context);
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                this.record.end(Ending::UpstreamBroke);
                Poll::Ready(Some(Err(Broken::Upstream(error))))
            }
            Poll::Ready(None) => {
                this.ended = true;
                self.poll_frame(context)
            }
            Poll::Pending => {
                if this.patience.as_mut().poll(context).is_ready() {
                    this.record.end(Ending::UpstreamSilent);
                    return Poll::Ready(Some(Err(Broken::Silent)));
                }
                Poll::Pending
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        let waits = self.ahead.data.is_some() || self.ahead.broken.is_some() || self.last.is_some();
        !waits && self.upstream.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.upstream.size_hint();
        let last = self.last.as_ref().and_then(Frame::data_ref);
        let held = self.ahead.bytes().len() + last.map_or(0, Bytes::len);
        match (rest.exact(), &self.ahead.broken) {
            (Some(rest), None) => SizeHint::with_exact(rest + held as u64),
            _ => SizeHint::default(),
        }
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        let label = What {
            what: Word("response"),
        };
        let metrics = &self.telemetry.metrics;
        metrics.gateway_bytes.get_or_create(&label).inc_by(self.bytes);
        // An answer of a known length is not asked for its end.
        if self.is_end_stream() {
            self.record.end(Ending::Whole);
        }
    }
}
