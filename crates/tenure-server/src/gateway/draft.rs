//! The record of an exchange in the making: what is known of a request and its answer.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use axum::http::StatusCode;
use bytes::Bytes;
use tenure::answer::{self, AnswerConstraint, Demands, Findings, Source};
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{Digest, Error};
use tenure_workspace::keys::Grant;
use tenure_workspace::records::{ExchangeCompile, Kept, KeptBody};
use tenure_workspace::relay::{Done, Notice, Position, Unmanaged, Untouched};

use super::fitted::{Fitted, OmittedTools};
use super::reply_buffer::{ReplyBuffer, ReplyMemory};
use super::side_contexts::SideContext;
use crate::protocol::Protocol;
use crate::telemetry::log::bounded;

/// The longest account of a fault, in bytes.
const MAX_FAULT: usize = 512;

/// The record of an exchange in the making.
pub(super) struct Draft {
    pub(super) id: String,
    pub(super) at: Instant,
    pub(super) started: Clock,
    pub(super) protocol: Protocol,
    pub(super) path: String,
    pub(super) tenant: Arc<str>,
    pub(super) key: Option<Arc<str>>,
    pub(super) grant: Arc<Grant>,
    pub(super) session: Option<String>,
    /// The place in the session that it was compiled of.
    pub(super) position: Option<Position>,
    /// The format, where it asks for a message.
    pub(super) format: Option<Format>,
    pub(super) mode: &'static str,
    pub(super) client: Option<String>,
    pub(super) sent: Sent,
    /// The request's body, until it is let go.
    pub(super) request: Option<Bytes>,
    pub(super) request_bytes: u64,
    /// The encoding of the answer.
    pub(super) encoding: Option<String>,
    pub(super) status: Option<u16>,
    /// The time to the head of the answer.
    pub(super) head: Option<Duration>,
    /// The constraints that stand in it.
    pub(super) constraints: Vec<Arc<AnswerConstraint>>,
    /// Sources of it that the answer may cite, where a constraint asks for that.
    pub(super) sources: Vec<Source>,
    /// The fields of its answer that may be null, though the agent did not say so.
    pub(super) relaxed: Vec<String>,
    pub(super) omitted_tools: OmittedTools,
    /// The answer's message and its faults, where it was inspected before it went on.
    pub(super) inspected: Option<Inspected>,
    /// Reason for which it was not managed, where it was not.
    pub(super) unmanaged: Option<Unmanaged>,
    /// Notices for its operator.
    pub(super) notices: Vec<Notice>,
    /// Calibration of its provider's counts, where reports of its usage say so.
    pub(super) calibrated: Option<u32>,
    /// The most tokens of input that its provider takes, where it is managed.
    pub(super) room: Option<u32>,
    pub(super) reply: ReplyBuffer,
}

/// An answer that was read and checked.
#[derive(Clone)]
pub(super) struct Inspected {
    /// Its message, as the provider gave it, until it is let go.
    pub(super) message: Option<Arc<str>>,
    pub(super) findings: Findings,
}

impl Inspected {
    /// Reads and checks an answer; none where its message cannot be read. `place` is where its request began it, if it
    /// did.
    pub(super) fn of(
        demands: &Demands<'_>,
        answer: &[u8],
        position: Option<&Position>,
    ) -> Option<Inspected> {
        let message = answer::message(demands.format, answer).ok()?;
        let whole = position.map_or(Cow::Borrowed(&*message), |position| {
            position.finished(&message)
        });
        let findings = demands.check(&whole);
        Some(Inspected {
            message: Some(message.into()),
            findings,
        })
    }

    fn held(&self) -> usize {
        self.message.as_ref().map_or(0, |message| message.len())
    }
}

impl Draft {
    /// Notes what goes on: `body`, or nothing where it is refused.
    pub(super) fn note_fitted(
        &mut self,
        fitted: &mut Fitted,
        body: Option<&Bytes>,
        retries: u32,
        memory: &Arc<ReplyMemory>,
    ) {
        if let Some(position) = fitted.position.as_ref().filter(|_| self.position.is_none()) {
            self.session = Some(position.session.clone());
            // What the model says is added to the session.
            self.reply = ReplyBuffer::new(true, memory);
        }
        self.position.clone_from(&fitted.position);
        self.sent = Sent::of(fitted, body, retries);
        self.constraints.clone_from(&fitted.constraints);
        self.sources.clone_from(&fitted.sources);
        self.relaxed.clone_from(&fitted.relaxed);
        self.omitted_tools = Arc::clone(&fitted.omitted_tools);
        self.unmanaged = fitted.unmanaged;
        self.notices.clone_from(&fitted.notices);
        (self.calibrated, self.room) = (fitted.calibrated, fitted.room);
    }

    pub(super) fn note_status(&mut self, status: StatusCode) {
        self.status = Some(status.as_u16());
    }

    /// Returns the bytes of contents that it holds.
    pub(super) fn held(&self) -> usize {
        let request = self.request.as_ref();
        let inspected = self.inspected.as_ref();
        request.map_or(0, Bytes::len)
            + self.sent.held(request)
            + self.reply.len()
            + inspected.map_or(0, Inspected::held)
    }

    /// Drops the contents, so that the record says less.
    pub(super) fn let_go(&mut self) {
        self.request = None;
        self.sent.let_go();
        self.reply.let_go();
        if let Some(inspected) = &mut self.inspected {
            inspected.message = None;
        }
    }
}

/// The request as it went on.
#[derive(Default)]
pub(super) struct Sent {
    /// None where nothing went on.
    pub(super) bytes: Option<u64>,
    /// The body, until it is let go.
    pub(super) body: Option<Bytes>,
    pub(super) saved: u64,
    pub(super) added: u64,
    pub(super) fault: Option<String>,
    pub(super) retries: u32,
    pub(super) done: Option<Box<Done>>,
    untouched: Option<Box<Untouched>>,
    /// The objects that were added to the conversation.
    side_context: Option<Arc<SideContext>>,
}

impl Sent {
    fn of(fitted: &mut Fitted, body: Option<&Bytes>, retries: u32) -> Sent {
        let fault = fitted.fault.as_ref();
        Sent {
            bytes: body.map(|body| body.len() as u64),
            body: body.cloned(),
            saved: fitted.saved,
            added: fitted.added,
            fault: fault.map(|error| bounded(&error.what, MAX_FAULT).into_owned()),
            retries,
            done: fitted.done.take(),
            untouched: fitted.untouched.take(),
            side_context: fitted.side_context.take(),
        }
    }

    /// Returns the bytes that it holds besides the request.
    fn held(&self, request: Option<&Bytes>) -> usize {
        let body = self.body.as_ref().filter(|body| Some(*body) != request);
        body.map_or(0, Bytes::len)
            + self.done.as_ref().map_or(0, |done| done.held())
            + self.untouched.as_ref().map_or(0, |messages| messages.held())
    }

    fn let_go(&mut self) {
        (self.body, self.done, self.side_context) = (None, None, None);
        self.untouched = None;
    }

    /// Returns what a body of which nothing was compiled is put together of again, and what is kept with that.
    pub(super) fn kept(&mut self) -> Option<(KeptBody, Kept)> {
        let untouched = self.untouched.take()?;
        Some(KeptBody::of(&untouched, self.body.as_ref()?))
    }

    /// Returns how it was compiled, and what is kept with that; none where it was not.
    pub(super) fn compile(&mut self) -> Result<Option<(Box<ExchangeCompile>, Kept)>, Error> {
        let (Some(done), Some(body)) = (self.done.take(), &self.body) else {
            return Ok(None);
        };
        let gathered = self.side_context.as_ref().map(|context| &context.gathered);
        ExchangeCompile::of(*done, body, gathered).map(Some)
    }

    /// Returns the digest of what went on; that of the request, where it is the same.
    pub(super) fn digest(&self, request: Option<(&Bytes, Digest)>) -> Option<Digest> {
        let body = self.body.as_ref()?;
        match request {
            Some((request, digest)) if request == body => Some(digest),
            _ => Some(Digest::of(body)),
        }
    }
}
