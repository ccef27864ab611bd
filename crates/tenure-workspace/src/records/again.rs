//! A relayed request made again: its session as it was, compiled as it was, and the sent body put together of it.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use tenure::{
    Candidates, Digest, Envelope, Error, ErrorKind, Payload, Policy, Request, Span, Trace,
};
use tenure_store::Tenant;

use super::pieces::{LOOK, Piece, messages, of_payload};
use super::replay::{blob, differing, of_store};
use super::{ExchangeCompile, ExchangeRecord, KeptBody, Records, unwritable};
use crate::relay::{list, task_of};
use crate::sessions::{Session, SessionJob};
use crate::stored::Gathered;

/// The proof that a repeated relayed request gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Again {
    /// The sent body has the recorded digest, and so has everything that its compile depended on.
    Whole,
    /// The sent body has the recorded digest. Something that did not change it is no longer as it was.
    Payload,
    /// It went on as it came: the digest of what was sent is that of the request. Nothing was compiled; where its session
    /// holds its messages, the body is put together again of them, and has the digest.
    AsItCame,
    /// Something that it was made of was erased since.
    Erased,
    /// Another compiler made it, whose bytes are its own.
    OtherCompiler,
    /// The record does not say what it was made of: it is an older one, was dropped, or only counted tokens.
    NotKept,
}

/// A relayed request made again.
#[derive(Clone, Debug)]
pub struct ExchangeReplay {
    /// The proof.
    pub proof: Again,
    /// The sent body, where it could be made.
    pub body: Option<Vec<u8>>,
    /// The account of its compile, where it was made again.
    pub trace: Option<Trace>,
    /// The sent body with the places of its objects; none where another body came of it.
    pub envelope: Option<Envelope>,
    /// The record.
    pub record: ExchangeRecord,
}

/// A compile made again.
struct Repeated {
    body: Option<Vec<u8>>,
    trace: Trace,
    envelope: Envelope,
    /// The number of candidates that are gone.
    gone: u64,
    /// True if anything of the session was erased since.
    erased: bool,
}

impl Records<'_> {
    /// Makes a relayed request again from its session and from what the store holds, and compares what was sent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is no such record; [`ErrorKind::Input`] when something that it needs is gone without an erasure;
    /// [`ErrorKind::Internal`] when nothing was erased and the body is another.
    pub fn replay_exchange(&self, id: &str) -> Result<ExchangeReplay, Error> {
        let record = self.exchange(id)?.ok_or_else(|| super::unknown(id))?;
        let nothing = |proof, record| ExchangeReplay {
            proof,
            body: None,
            trace: None,
            envelope: None,
            record,
        };
        if let Some(kept) = &record.body {
            let (body, erased) = self.put_together(&record, kept)?;
            let is_same = body.as_deref().map(Digest::of) == record.sent_digest;
            let proof = match (record.is_as_it_came(), is_same) {
                (true, _) => Again::AsItCame,
                (false, true) => Again::Whole,
                (false, false) => Again::Erased,
            };
            if body.is_some() && !is_same && !erased {
                return Err(differs(&[]));
            }
            return Ok(ExchangeReplay {
                body: body.filter(|_| is_same),
                ..nothing(proof, record)
            });
        }
        if record.is_as_it_came() {
            return Ok(nothing(Again::AsItCame, record));
        }
        let (Some(compile), Some(session)) = (&record.compile, &record.session) else {
            return Ok(nothing(Again::NotKept, record));
        };
        if compile.compiler != tenure::COMPILER {
            return Ok(nothing(Again::OtherCompiler, record));
        }
        if compile.pieces.is_empty() {
            return Ok(nothing(Again::NotKept, record));
        }
        let Some(made) = self.compile_again(session, compile, &record)? else {
            return Ok(nothing(Again::Erased, record));
        };
        let differing = differing(&compile.inputs, &made.trace.inputs);
        let is_same = made.body.as_deref().map(Digest::of) == record.sent_digest;
        let proof = match (is_same, made.erased || made.gone > 0 || made.body.is_none()) {
            (true, _) if differing.is_empty() => Again::Whole,
            (true, _) => Again::Payload,
            (false, true) => Again::Erased,
            (false, false) => return Err(differs(&differing)),
        };
        let sent = made.body.filter(|_| is_same);
        Ok(ExchangeReplay {
            proof,
            envelope: sent.as_deref().map(|sent| as_sent(made.envelope, sent)),
            body: sent,
            trace: Some(made.trace),
            record,
        })
    }

    /// The body of which nothing was compiled, of the messages of its session, and whether anything of that was erased since.
    fn put_together(
        &self,
        record: &ExchangeRecord,
        kept: &KeptBody,
    ) -> Result<(Option<Vec<u8>>, bool), Error> {
        let Some(session) = &record.session else {
            return Ok((None, true));
        };
        let Some((session, erased)) = Session::past(self.tenant, session, kept.after)? else {
            return Ok((None, true));
        };
        let list = list(&session.logged()?, &kept.between);
        Ok((body(self.tenant, &list, &kept.pieces)?, erased))
    }

    /// Compiles the session as it was; none where it, or the policy, is gone.
    fn compile_again(
        &self,
        session: &str,
        compile: &ExchangeCompile,
        record: &ExchangeRecord,
    ) -> Result<Option<Repeated>, Error> {
        let Some((mut session, erased)) = Session::past(self.tenant, session, compile.after)?
        else {
            return Ok(None);
        };
        let Some(policy) = blob(self.tenant, compile.policy)? else {
            return Ok(None);
        };
        let policy = serde_json::from_slice(&policy).map_err(|error| {
            Error::input(format!("the recorded policy cannot be read: {error}"))
        })?;
        let policy = Policy::seal(policy)?;
        session.goes_on = compile.goes_on;
        // Of a model of no known family only what its upstream stated is known.
        let world = match record.resolved_by.as_deref() {
            Some("stated") => self.workspace.unknown_world()?,
            _ => self.workspace.world(&compile.model)?,
        };
        let request = Request {
            task: task_of(&session),
            ..compile.request.clone()
        };
        let beside = match &compile.store {
            Some(store) => of_store(self.tenant, store, Candidates::default())?,
            None => Arc::default(),
        };
        let gathered = Gathered::recorded(beside).without_tools();
        let gate = policy.document().session.tools();
        let job = SessionJob {
            world: &world,
            policy: &policy,
            request: &request,
            beside: &gathered,
            instructions: false,
            now: record.at,
        };
        let gate = gate.filter(|_| compile.gated);
        let unnoted = self.workspace.compile_unnoted(&mut session, &job, gate)?;
        let compiled = unnoted.compiled().outcome.single()?;
        let payload = compiled
            .envelope
            .payload
            .as_ref()
            .map(|payload| payload.bytes())
            .unwrap_or_default();
        let before = compile.included.len() + compile.omitted.len();
        Ok(Some(Repeated {
            body: body(self.tenant, payload, &compile.pieces)?,
            trace: compiled.trace.clone(),
            envelope: compiled.envelope.clone(),
            gone: before.saturating_sub(compiled.trace.verdicts.len() as u64),
            erased,
        }))
    }
}

impl ExchangeReplay {
    /// The proof, in a line.
    pub fn sentence(&self) -> String {
        let record = &self.record;
        let digest = record
            .sent_digest
            .map_or_else(|| "no digest".to_owned(), |digest| digest.to_string());
        match self.proof {
            Again::Whole => {
                format!("proven: what was sent and all its inputs are as recorded, {digest}")
            }
            Again::Payload => format!(
                "proven: what was sent is as recorded, {digest}; something that did not change it is not"
            ),
            Again::AsItCame if self.body.is_some() => format!(
                "proven: it went on as it came, {digest}; its body is put together again of its session"
            ),
            Again::AsItCame if record.body.is_some() => format!(
                "it went on as it came, {digest}; something that its body was made of was erased since"
            ),
            Again::AsItCame => format!(
                "it went on as it came, {digest}: nothing was compiled, and its session does not hold its body"
            ),
            Again::Erased => {
                "not proven: something that it was made of was erased since".to_owned()
            }
            Again::OtherCompiler => format!(
                "not proven: compiler {} made it, and this is compiler {}",
                record.compile.as_ref().map_or(1, |compile| compile.compiler),
                tenure::COMPILER
            ),
            Again::NotKept => "not proven: the record does not say what it was made of".to_owned(),
        }
    }

    /// The proof and the body, for programs.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the record cannot be written.
    pub fn to_json(&self) -> Result<serde_json::Value, Error> {
        let record = &self.record;
        let body = self.body.as_deref().map(String::from_utf8_lossy);
        let mut shown = serde_json::json!({
            "record_id": record.record_id,
            "proof": self.proof,
            "compiler": record.compile.as_ref().map(|compile| compile.compiler),
            "sent_digest": self.body.as_deref().map(Digest::of),
            "recorded_digest": record.sent_digest,
            "request_digest": record.request_digest,
            "body": body,
        });
        if let Some(trace) = &self.trace {
            shown["trace"] = serde_json::to_value(trace).map_err(unwritable)?;
        }
        Ok(shown)
    }
}

/// A body of these pieces; none where a text of it was erased, or the payload is another.
fn body(tenant: &Tenant, payload: &[u8], pieces: &[Piece]) -> Result<Option<Vec<u8>>, Error> {
    let mut body = Vec::new();
    for piece in pieces {
        let part = match piece {
            Piece::Payload { from, to } => of_payload(payload, *from, *to).map(<[u8]>::to_vec),
            Piece::Text(digest) => blob(tenant, *digest)?,
        };
        let Some(part) = part else {
            return Ok(None);
        };
        body.extend(part);
    }
    Ok(Some(body))
}

/// The envelope with the sent body in the place of its payload, and its items where they stand there: instructions of the
/// agent may be messages before them. An item that does not stand there as it was compiled has no place.
fn as_sent(envelope: Envelope, sent: &[u8]) -> Envelope {
    let body = std::str::from_utf8(sent)
        .ok()
        .and_then(|body| RawValue::from_string(body.to_owned()).ok());
    let Some(body) = body else {
        return envelope;
    };
    let payload = envelope
        .payload
        .as_ref()
        .map_or_else(Vec::new, |payload| payload.bytes().to_vec());
    let texts = |bytes: &'_ [u8]| -> Vec<String> {
        messages(bytes)
            .into_iter()
            .map(|place| String::from_utf8_lossy(&bytes[place]).into_owned())
            .collect()
    };
    let (compiled, own) = (texts(&payload), texts(sent));
    let mut places = Vec::with_capacity(compiled.len());
    let mut next = 0;
    for message in &compiled {
        let at = own.iter().skip(next).take(LOOK).position(|one| is_alike(one, message));
        places.push(at.map(|at| next + at));
        next = at.map_or(next, |at| next + at + 1);
    }
    let before = [&payload[..], sent].map(blocks_before);
    let mut envelope = envelope;
    let items = envelope.sections.iter_mut().flat_map(|section| &mut section.items);
    for item in items {
        item.span = item.span.and_then(|span| match (span.message, span.tool) {
            (Some(message), _) => {
                let at = (*places.get(message as usize)?)?;
                let message = u32::try_from(at).ok();
                Some(Span { message, ..span })
            }
            // Tools stand as the agent sent them.
            (None, Some(_)) => None,
            (None, None) => {
                let behind = before[1].checked_sub(before[0])?;
                let block = span.block.unwrap_or(0).checked_add(behind);
                Some(Span { block, ..span })
            }
        });
    }
    envelope.payload = Some(Payload::Body(body));
    envelope
}

/// Returns whether two messages are the same but for marks of a cache.
fn is_alike(one: &str, other: &str) -> bool {
    one == other || {
        let plain = |text: &str| {
            let mut value: serde_json::Value = serde_json::from_str(text).ok()?;
            unmarked(&mut value);
            Some(value)
        };
        let has_marks = one.contains("cache") || other.contains("cache");
        has_marks && plain(one).is_some_and(|one| plain(other) == Some(one))
    }
}

fn unmarked(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Array(values) => values.iter_mut().for_each(unmarked),
        serde_json::Value::Object(fields) => {
            for mark in ["cache_control", "prompt_cache_breakpoint"] {
                fields.remove(mark);
            }
            fields.values_mut().for_each(unmarked);
        }
        _ => {}
    }
}

/// The number of blocks of the system's text in a body.
fn blocks_before(body: &[u8]) -> u32 {
    let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
    let blocks = body["system"].as_array();
    blocks.map_or(0, |blocks| u32::try_from(blocks.len()).unwrap_or(u32::MAX))
}

fn differs(differing: &[&str]) -> Error {
    match differing {
        [] => Error::new(
            ErrorKind::Internal,
            "the same inputs gave a body that differs from the one sent",
        )
        .hint("this is a bug in tenure; please report it with the record"),
        _ => Error::input(format!(
            "the request cannot be repeated: its {} {} changed",
            differing.join(" and "),
            if differing.len() == 1 { "is" } else { "are" },
        ))
        .hint("the model catalogue and the frame key must be those of the server"),
    }
}
