//! Notes on what is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::ContextObject;
use tenure::belief::{Claim, GateRefusal, about};
use tenure::num::Score;

/// A note on an object that was written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum WriteNote {
    /// Its `normalized_claim` is no claim that can be compared with others: it takes part in no settlement.
    ClaimNotParsed {
        /// The reason.
        why: String,
    },
    /// Its `normalized_claim` names nobody and nothing that it is about: it contradicts no other.
    ClaimAboutNobody,
    /// A name in it may mean one of several entities: it waits for a person to say which.
    EntityPending,
    /// It was inferred, and waits for a person: what speaks for it is not enough for it to be believed by itself.
    AwaitsConfirmation {
        /// The reason: `too_little_evidence`, `unverified_parent` or `flagged`.
        why: String,
    },
    /// Nothing speaks for its claim or against it: its confidence stays as it is stated.
    NothingSpeaks,
    /// Its evidence would give it more, but it was made from other objects, and is at most as sure as they are.
    AtMost {
        /// The most that it may have.
        confidence: Score,
    },
}

/// The note on something that was inferred and waits.
pub(crate) fn note_on_refusal(refused: GateRefusal) -> WriteNote {
    WriteNote::AwaitsConfirmation {
        why: refused.term().to_owned(),
    }
}

/// The note on an object that is written.
pub(crate) fn note_on(object: &ContextObject) -> Option<WriteNote> {
    let claim = object.revision().normalized_claim()?;
    match claim.parse::<Claim>() {
        Err(error) => Some(WriteNote::ClaimNotParsed { why: error.what }),
        Ok(_) => about(object)
            .next()
            .is_none()
            .then_some(WriteNote::ClaimAboutNobody),
    }
}

/// Notes that an object waits for a person, unless its claim cannot be read.
pub(crate) fn note_waiting(note: &mut Option<WriteNote>) {
    if !matches!(note, Some(WriteNote::ClaimNotParsed { .. })) {
        *note = Some(WriteNote::EntityPending);
    }
}
