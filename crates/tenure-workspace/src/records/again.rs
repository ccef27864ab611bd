//! A relayed request made again: its session as it was, compiled as it was, and the sent body put together of it.

use std::sync::Arc;

use serde::Serialize;
use tenure::{Candidates, Digest, Envelope, Error, ErrorKind, Policy, Request, Trace};
use tenure_store::Tenant;

use super::pieces::{Piece, of_payload};
use super::replay::{blob, differing, of_store};
use super::{ExchangeCompile, ExchangeRecord, Records, unwritable};
use crate::relay::task_of;
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
    /// It went on as it came: the digest of what was sent is that of the request. Nothing was compiled.
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
    /// The messages that were compiled, with what stands where in them; none where another body came of it.
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
    /// Whether anything of the session was erased since.
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
        let record = self.exchange(id)?;
        let record = record.ok_or_else(|| super::unknown(id))?;
        let nothing = |proof, record| ExchangeReplay {
            proof,
            body: None,
            trace: None,
            envelope: None,
            record,
        };
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
        Ok(ExchangeReplay {
            proof,
            body: made.body.filter(|_| is_same),
            trace: Some(made.trace),
            envelope: is_same.then_some(made.envelope),
            record,
        })
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
        let payload = compiled.envelope.payload.as_ref();
        let payload = payload.map(|payload| payload.bytes()).unwrap_or_default();
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
        let digest = record.sent_digest;
        let digest = digest.map_or_else(|| "no digest".to_owned(), |digest| digest.to_string());
        match self.proof {
            Again::Whole => {
                format!("proven: what was sent and all its inputs are as recorded, {digest}")
            }
            Again::Payload => format!(
                "proven: what was sent is as recorded, {digest}; something that did not change it is not"
            ),
            Again::AsItCame => {
                format!(
                    "it went on as it came, {digest}: nothing was compiled, and bodies are not kept"
                )
            }
            Again::Erased => {
                "not proven: something that it was made of was erased since".to_owned()
            }
            Again::OtherCompiler => format!(
                "not proven: compiler {} made it, and this is compiler {}",
                record
                    .compile
                    .as_ref()
                    .map_or(1, |compile| compile.compiler),
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
