//! The effect of the compile of a relayed request, and all that is needed to repeat it. No contents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tenure::object::{ContradictionStatus, ObjectId, clip};

use tenure::session::UserWordsKept;
use tenure::trace::{EpochCause, InputDigests, Note, Reason, Ruling};
use tenure::{Candidates, Digest, Request, Trace};

use super::StoreRef;
use super::pieces::Piece;
use crate::sessions::Passed;

/// The most objects that a record names of those that went in.
const MAX_IN: usize = 128;
/// The most that it names of those that stayed out.
const MAX_OUT: usize = 64;
/// The most summaries that it names.
const MAX_SUMMARIES: usize = 256;

/// The compile of a relayed request.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExchangeCompile {
    /// The number of the compiler ([`tenure::COMPILER`]).
    pub compiler: u32,
    /// The model, as the catalogue names it.
    pub model: String,
    /// The last entry of the session's log that the compile read.
    pub after: u64,
    /// The request, without the task: the session says it.
    pub request: Request,
    /// True if earlier requests of its conversation went to the provider, compiled or as they came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
    /// True if the policy's gate for tools was applied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gated: bool,
    /// The digest of the policy's document, which is stored with the record.
    pub policy: Digest,
    /// The state of the store that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreRef>,
    /// The digests of all that the compile depended on.
    pub inputs: InputDigests,
    /// The digest of the compiled messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_digest: Option<Digest>,
    /// Their tokens.
    pub payload_tokens: u32,
    /// The number of the epoch.
    pub epoch: u32,
    /// The cause of this epoch.
    pub cause: EpochCause,
    /// The tokens that stood in a prefix and are sent again, where the epoch has just begun.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rewritten: u64,
    /// The length for which the history was cut, where the epoch has just begun with that, by the count of this compile.
    /// Missing in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<Passed>,
    /// True if any message no longer stands as it was said.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The first message that stands as it was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The summaries that stand for those before it, by their numbers; the first 256.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<u64>,
    /// State of the user's words in messages that left; none where none left, and in records of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<UserWordsKept>,
    /// The number of pictures, documents and recordings in messages that left.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub media_left_out: u64,
    /// The objects that went in.
    pub included: Choices,
    /// Those that stayed out.
    pub omitted: Choices,
    /// The names that were not resolved: aliases of several entities, and entities that wait for a person. Records of older versions
    /// do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity_conflicts: Option<u64>,
    /// The number that stayed out because they are too old.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub decayed: u64,
    /// The parts that the sent body is made of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<Piece>,
}

/// Objects that share a fate.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choices {
    /// The number for each code of a reason, as traces have it.
    pub reasons: BTreeMap<String, u64>,
    /// Some of them, at most 128 that went in and 64 that stayed out: objects from outside the conversation, the nearest of
    /// those that stayed out first, then its own messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<Chosen>,
}

/// An object and its verdict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// Its id.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// The code of the reason.
    pub code: String,
    /// The judgement on its claim, where that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction_status: Option<ContradictionStatus>,
    /// Its cost, in tokens.
    pub tokens: u32,
    /// Set for an object from outside the conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub beside: bool,
}

impl Choices {
    /// Their number.
    pub fn len(&self) -> u64 {
        self.reasons.values().sum()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }

    /// The named ones from outside the conversation.
    pub fn beside(&self) -> impl Iterator<Item = &Chosen> {
        self.named.iter().filter(|chosen| chosen.beside)
    }
}

/// The candidates that went in, those that stayed out, and the number of these that are too old. The last `beside`
/// candidates are from outside the conversation.
pub(crate) fn choices(
    trace: &Trace,
    candidates: &Candidates,
    beside: usize,
) -> (Choices, Choices, u64) {
    let (mut included, mut omitted) = (Choices::default(), Choices::default());
    let mut decayed = 0;
    let own = trace.verdicts.len().saturating_sub(beside);
    let all: Vec<_> = trace.verdicts.iter().zip(candidates.objects()).enumerate().collect();
    let (talk, others) = all.split_at(own.min(all.len()));
    let mut others = others.to_vec();
    others.sort_by_key(|(at, (verdict, _))| {
        let score = verdict.score.map(|score| score.composite);
        let near = score.filter(|_| verdict.verdict != Ruling::Included);
        (std::cmp::Reverse(near), *at)
    });
    for (at, (verdict, object)) in others.iter().chain(talk) {
        let (choices, most) = match verdict.verdict {
            Ruling::Included => (&mut included, MAX_IN),
            _ => (&mut omitted, MAX_OUT),
        };
        decayed += u64::from(verdict.reason.is_age());
        let code = verdict.reason.code();
        *choices.reasons.entry(code.to_owned()).or_default() += 1;
        if choices.named.len() < most {
            choices.named.push(Chosen {
                object_id: object.revision().object_id(),
                name: clip(&verdict.name),
                code: code.to_owned(),
                contradiction_status: verdict.reason.contradiction(),
                tokens: verdict.tokens,
                beside: *at >= own,
            });
        }
    }
    (included, omitted, decayed)
}

/// The number of names of a compile that were not resolved.
pub(crate) fn entity_conflicts(trace: &Trace) -> u64 {
    let open = trace.notes.iter().filter(|note| {
        matches!(
            note,
            Note::AmbiguousAlias { .. } | Note::EntityUndecided { .. }
        )
    });
    let rest = trace
        .rest
        .iter()
        .flat_map(|rest| &rest.notes)
        .filter(|(code, _)| matches!(&***code, "ambiguous_alias" | "entity_undecided"));
    open.count() as u64 + rest.map(|(_, count)| u64::from(*count)).sum::<u64>()
}

/// Returns whether a claim was left out as one that is in question, and not for what others say better.
pub(crate) fn is_quarantined(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::Contradicted { .. }
            | Reason::ConflictingClaimUnresolved { .. }
            | Reason::Overridden {
                quarantined: true,
                ..
            }
    )
}

impl Chosen {
    /// Returns whether an object that a record names is quarantined. Records of older versions do not say of what was
    /// overridden whether it was quarantined.
    pub fn is_quarantined(&self) -> bool {
        let by_policy = self.contradiction_status == Some(ContradictionStatus::Quarantined);
        by_policy || matches!(&*self.code, "contradicted" | "conflicting_claim_unresolved")
    }
}

/// The summaries that a record names.
pub(crate) fn summaries(all: &[u64]) -> Vec<u64> {
    all.iter().copied().take(MAX_SUMMARIES).collect()
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
