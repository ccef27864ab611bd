//! The compile of a relayed request, as its record keeps it, with all that is needed to repeat it.

use serde_json::value::RawValue;
use tenure::policy::PolicyDocument;
use tenure::{Error, Request, TaskState};

use super::compose::messages;
use crate::records::{ExchangeCompile, choices, entity_conflicts, summaries};
use crate::sessions::{Session, SessionCompiled, SessionJob};

/// The longest text that ranks, in bytes.
const MAX_ASKED: usize = 16 << 10;
/// The longest white space between messages that is kept, in bytes.
const MAX_BETWEEN: usize = 64;

/// A compile of a request, for its record. The recorder adds what takes time to say.
#[derive(Clone, PartialEq, Debug)]
pub struct Done {
    pub(crate) compile: ExchangeCompile,
    pub(crate) policy: PolicyDocument,
    pub(crate) payload: Vec<u8>,
}

impl Done {
    /// That of a compile behind this entry of the session's log.
    pub(super) fn of(
        job: &SessionJob<'_>,
        (session, after): (&Session, u64),
        (goes_on, gated): (bool, bool),
        compiled: &SessionCompiled,
    ) -> Result<Done, Error> {
        let single = compiled.outcome.single()?;
        let (trace, report) = (&single.trace, &compiled.session);
        let beside = job.beside.candidates.len();
        let (included, omitted, decayed) = choices(trace, &compiled.gathered.candidates, beside);
        let payload = single.envelope.payload.as_ref();
        Ok(Done {
            compile: ExchangeCompile {
                compiler: tenure::COMPILER,
                model: trace.model.clone(),
                after,
                request: Request {
                    task: TaskState::default(),
                    ..job.request.clone()
                },
                goes_on,
                gated,
                policy: job.policy.digest(),
                store: None,
                inputs: trace.inputs,
                payload_digest: trace.payload_digest,
                payload_tokens: trace.total_tokens,
                epoch: report.epoch,
                cause: report.cause,
                rewritten: report.rewritten,
                passed: report.passed,
                cut: session.is_cut(),
                from: report.from,
                summaries: summaries(&report.checkpoints),
                words: report.words,
                media_left_out: report.media_left_out,
                included,
                omitted,
                entity_conflicts: Some(entity_conflicts(trace)),
                decayed,
                pieces: Vec::new(),
            },
            policy: job.policy.document().clone(),
            payload: payload.map_or_else(Vec::new, |payload| payload.bytes().to_vec()),
        })
    }

    /// The model, as the catalogue names it.
    pub fn model(&self) -> &str {
        &self.compile.model
    }

    /// Returns whether any message no longer stands as it was said.
    pub fn cut(&self) -> bool {
        self.compile.cut
    }

    /// The bytes that it holds.
    pub fn held(&self) -> usize {
        self.payload.len()
    }
}

/// The messages of a request of which nothing was compiled, for its record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Untouched {
    /// The last entry of the session's log that is of it.
    pub(crate) after: u64,
    /// The bytes between its messages.
    pub(crate) between: String,
    /// Its messages, as the session has them.
    messages: Vec<String>,
}

impl Untouched {
    /// The messages of a body, as its session has them; none where the session does not hold all of them in memory.
    pub(super) fn of(session: &Session, body: &str) -> Option<Untouched> {
        Some(Untouched {
            after: session.version(),
            between: between(body),
            messages: session.as_they_came()?,
        })
    }

    /// The list of them.
    pub(crate) fn list(&self) -> Vec<u8> {
        list(&self.messages, &self.between)
    }

    /// The bytes that it holds.
    pub fn held(&self) -> usize {
        self.messages.iter().map(String::len).sum()
    }
}

/// Messages as a body that has nothing else, with this between them.
pub(crate) fn list(messages: &[String], between: &str) -> Vec<u8> {
    format!("{{\"messages\":[{}]}}", messages.join(between)).into_bytes()
}

/// The bytes between the first two messages of a body: a comma, mostly, and white space.
fn between(body: &str) -> String {
    let messages: Vec<&RawValue> = match messages(body) {
        Ok(list) => serde_json::from_str(list.get()).unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    let place = |message: &RawValue| message.get().as_ptr() as usize - body.as_ptr() as usize;
    let between = messages
        .first()
        .zip(messages.get(1))
        .and_then(|(first, second)| body.get(place(first) + first.get().len()..place(second)));
    between.filter(|text| text.len() <= MAX_BETWEEN).unwrap_or(",").to_owned()
}

/// The task of a request: the user's last message.
pub(crate) fn task_of(session: &Session) -> TaskState {
    let mut task = session.last_request().unwrap_or_default();
    task.truncate(task.floor_char_boundary(MAX_ASKED));
    if task.trim().is_empty() {
        task = "Continue.".to_owned();
    }
    TaskState::new(task)
}
