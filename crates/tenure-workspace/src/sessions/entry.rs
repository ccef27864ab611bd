//! The entries of a session's log. Entries are only ever added, so a session is the fold of its log and two writers
//! cannot both append after the same entry.

use serde::{Deserialize, Serialize};
use tenure::object::{MessageStatus, RevisionId};
use tenure::request::{ServedLedger, TaskState};
use tenure::session::{Checkpoint, Forecast, UserWords};
use tenure::time::Instant;
use tenure::trace::EpochCause;
use tenure::wire::Format;
use tenure::{Digest, ObjectDocument, Target};

use super::idempotency::IdempotencyKey;
use super::instructions::InstructionPlace;
use super::origin::Origin;

/// The version of these entries.
pub(super) const SESSION_VERSION: u32 = 1;

/// An entry of a session's log. Its number is its place there, from 1 on.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Entry {
    /// The session begins.
    Opened(Opened),
    /// The opening before the history: instructions, tools. The last such entry holds.
    Opening(Opening),
    /// A message.
    Said(Message),
    /// The messages after this one are taken back: their client goes on without these replies, or says more in the
    /// place of a message that was not answered.
    Withdrawn { after: u64 },
    /// A summary.
    Checkpoint(Checkpoint),
    /// An epoch ended, and the next begins with this.
    Epoch(Box<Mark>),
    /// A request was compiled.
    Served(Box<Served>),
    /// Turns whose originals stand in the tail until the epoch ends; of those that have some here, the passages
    /// alone.
    Carried {
        turns: Vec<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        passages: Vec<Recalled>,
    },
    /// A turn that outlives every compaction.
    Pinned { turn: u64 },
    /// It does so no more, as far as summaries are made from now on.
    Unpinned { turn: u64 },
    /// The window that a provider's error named.
    Learned { window: u32 },
    /// A tool's result is shown in a shorter form from now on.
    Shortened { turn: u64, part: u32, text: String },
    /// Messages are judged.
    Judged(Judgement),
    /// Something was erased: entries before this one were rewritten by the store.
    Erased {},
}

/// The beginning of a session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opened {
    /// The version of the entries.
    pub version: u32,
    /// The session's id.
    pub id: String,
    /// The instant at which it began.
    pub at: Instant,
    /// The user that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The project that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The format of its messages, where it was read from some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    /// The idempotency key of the write that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<IdempotencyKey>,
    /// The origin of its messages, where they were brought. Missing in older sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The opening before the history.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Opening {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) instructions: Vec<ObjectDocument>,
    /// The messages that the instructions came in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) messages: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tools: Vec<ObjectDocument>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) server_tools: Vec<String>,
    /// The format of the messages and of the tools; none in entries from before it was noted, which have the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<Format>,
}

impl Opening {
    /// Returns whether it holds nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.tools.is_empty() && self.server_tools.is_empty()
    }

    /// Returns whether it holds the same, whether its format was noted or not.
    pub(super) fn is_as(&self, other: &Opening) -> bool {
        let format = self.format.or(other.format);
        let noted = |opening: &Opening| Opening {
            format: opening.format.or(format),
            ..opening.clone()
        };
        noted(self) == noted(other)
    }
}

/// One message, or the items of one turn of the model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The instant at which it was added, never before that of the message before it, whatever the clock says.
    pub at: Instant,
    /// Its content as objects.
    pub objects: Vec<ObjectDocument>,
    /// Whether the provider signed any of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signed: bool,
    /// The kinds of blocks that are kept unread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opaque: Vec<String>,
    /// Whether it is a provider's reply that a gateway added. It may be taken back until something follows it: the
    /// client's messages count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reply: bool,
    /// The idempotency key of the write that it is the first message of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub once: Option<IdempotencyKey>,
}

/// A judgement on messages: they stand in no request from now on, and in no summary, or again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Judgement {
    /// The messages: those that were named, and the calls and results that cannot stand without them.
    pub(super) turns: Vec<u64>,
    pub(super) status: MessageStatus,
    pub(super) at: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

/// A message that is judged, as the mark of an epoch has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JudgedTurn {
    pub(super) turn: u64,
    /// The entry that says so.
    pub(super) entry: u64,
    pub(super) status: MessageStatus,
}

/// Passages of a turn, as they stand in a request. Erasing the turn erases the text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recalled {
    pub(super) turn: u64,
    pub(super) text: String,
}

/// The beginning of an epoch: all that a compile needs to know of the time before.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    /// The reason why the one before ended.
    pub(super) cause: EpochCause,
    /// The cost of ending it: the tokens that stood in a prefix and are sent again.
    pub(super) rewritten: u64,
    /// The first message that stays as it was said.
    pub(super) from: u64,
    /// The summaries of those before it, by their numbers.
    pub(super) frontier: Vec<u64>,
    /// The last request of the user, where it is before `from`: it always stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) request: Option<u64>,
    /// The entry with what stands before the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) opening: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pinned: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) learned: Option<u32>,
    /// The number of messages until then.
    pub(super) messages: u64,
    /// The ledger of the last request, whose epoch's number counts on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ledger: Option<ServedLedger>,
    /// Whether no tool that reads originals is offered, so that no summary names one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) names_no_tool: bool,
    /// The name of that tool, where clients put something before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) names_tool: Option<String>,
    /// The passages of turns before `from` that stand with their summaries until the epoch ends: a history that was
    /// cut before any of it was sent brings along what its last message asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) recalled: Vec<Recalled>,
    /// What the user said in messages before `from`; none in marks of a time when summaries alone said it. Erasing a
    /// message erases its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) words: Option<UserWords>,
    /// The shorter forms of results from `from` on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) shortened: Vec<(u64, u32, String)>,
    /// The compiler that began it. Marks without it are of compiler 1.
    #[serde(default = "first_compiler")]
    pub(super) compiler: u32,
    /// The instructions before `from` that stand on; none in marks of a time when they did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) standing: Option<Vec<InstructionPlace>>,
    /// The messages that are judged, those before `from` included: its summaries say nothing of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) judged: Vec<JudgedTurn>,
}

fn first_compiler() -> u32 {
    1
}

/// A request that a compile sent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Served {
    pub(super) at: Instant,
    /// The instant up to which it knew what its store believes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) known: Option<Instant>,
    pub(super) target: Target,
    pub(super) ledger: ServedLedger,
    /// The digest of the task and query.
    pub(super) task: Digest,
    /// The state of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) state: Option<Box<TaskState>>,
    /// The texts of the tail, as they were sent.
    pub(super) tail: Vec<String>,
    /// The messages behind them, as they were sent: by the provider's channels for what comes late.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) late: Vec<String>,
    /// Those of `said` that stand in `late`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) late_said: Vec<RevisionId>,
    /// The revisions that stand in them.
    pub(super) said: Vec<RevisionId>,
    /// The messages whose originals stand in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) carried: Vec<u64>,
    pub(super) payload: Option<Digest>,
    pub(super) tokens: u32,
    /// The most tokens that its provider was assumed to count for a hundred of the vocabulary's; `None` where the
    /// catalogue's margin was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) calibrated: Option<u32>,
    /// Whether the model was told that the epoch is about to end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) handoff: bool,
    /// When its window is full; none in entries from before it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) forecast: Option<Forecast>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_without_a_compiler_is_of_the_first() {
        let before =
            r#"{"epoch":{"cause":"high_water","rewritten":9,"from":3,"frontier":[],"messages":4}}"#;
        let Entry::Epoch(mark) = serde_json::from_str(before).unwrap() else {
            unreachable!("it is a mark");
        };
        assert_eq!(mark.compiler, 1);
        let after = serde_json::to_value(Entry::Epoch(mark)).unwrap();
        assert_eq!(after["epoch"]["compiler"], 1);
    }
}
