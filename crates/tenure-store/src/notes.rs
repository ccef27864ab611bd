//! Notes on what is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::ContextObject;
use tenure::belief::{Claim, GateRefusal, about};
use tenure::num::Score;
use tenure::object::Authority;

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
    /// It names more than one write resolves: it has names of which the registry of entities learns nothing by this write.
    MentionsCut,
    /// It was inferred, and waits for a person: what speaks for it is not enough for it to be believed by itself, or a stated
    /// preference says otherwise.
    AwaitsConfirmation {
        /// The reason: `too_little_evidence`, `unverified_parent`, `flagged` or `stated_otherwise`.
        why: String,
    },
    /// It has less authority than it asked for: nothing has more than what it was made from, and a rule that an agent wrote
    /// or that was found on the web is data.
    AuthorityLowered {
        /// The authority that it asked for.
        declared: Authority,
        /// The authority that it has.
        authority: Authority,
    },
    /// What it was made from leads back to it, at once or by way of others: what becomes of one of them becomes of all.
    MadeFromItself,
    /// It did not wait for a person: it counts as confirmed now.
    Renewed,
    /// It is the correction of a mistake that was made again, and stays as it is: the repeat was counted.
    MistakeRepeated {
        /// The number of times so far.
        repeats: u64,
    },
    /// Nothing speaks for its claim or against it: its confidence stays as it is stated.
    NothingSpeaks,
    /// Its evidence would give it more, but it was made from other objects, and is at most as sure as they are.
    AtMost {
        /// The most that it may have.
        confidence: Score,
    },
}

/// The note on an object that is written: of several the one that says most of what becomes of it. It waits where it was
/// `refused`, and has less authority than was `declared` where it comes from what has less: it shows that itself, so that this
/// comes last.
pub(crate) fn note_on(
    object: &ContextObject,
    refused: Option<GateRefusal>,
    declared: Option<Authority>,
) -> Option<WriteNote> {
    let waits = refused.map(|refused| WriteNote::AwaitsConfirmation {
        why: refused.term().to_owned(),
    });
    let authority = object.revision().authority_level();
    let lowered = declared.filter(|declared| *declared < authority);
    let lowered = lowered.map(|declared| WriteNote::AuthorityLowered {
        declared,
        authority,
    });
    waits.or_else(|| note_on_claim(object)).or(lowered)
}

/// The note on the claim of an object.
pub(crate) fn note_on_claim(object: &ContextObject) -> Option<WriteNote> {
    let claim = object.revision().normalized_claim()?;
    match Claim::flaw(claim) {
        Some(why) => Some(WriteNote::ClaimNotParsed { why }),
        None => about(object)
            .next()
            .is_none()
            .then_some(WriteNote::ClaimAboutNobody),
    }
}

/// Notes that what an object was made from leads back to it, unless it waits for a person.
pub(crate) fn note_ring(note: &mut Option<WriteNote>) {
    if !matches!(note, Some(WriteNote::AwaitsConfirmation { .. })) {
        *note = Some(WriteNote::MadeFromItself);
    }
}

/// Notes what became of the names in an object, unless there is a note that says more.
pub(crate) fn note_mentions(note: &mut Option<WriteNote>, found: WriteNote) {
    let says_less = match note {
        None => true,
        Some(note) => matches!(
            note,
            WriteNote::ClaimAboutNobody | WriteNote::AuthorityLowered { .. }
        ),
    };
    if says_less {
        *note = Some(found);
    }
}
