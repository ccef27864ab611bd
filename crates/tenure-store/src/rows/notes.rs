//! Notes on what is written.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::ContextObject;
use tenure::belief::{Claim, Disguise, GateRefusal, about};
use tenure::num::Score;
use tenure::object::{Authority, ObjectId, TextField};

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
        /// The texts that are `flagged`: of the object, and of what it was made from as far as everyone may see that who may
        /// see the object.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        flagged: Vec<FlaggedText>,
    },
    /// It has less authority than it asked for: nothing has more than what it was made from, and a rule that an agent wrote
    /// or that was found on the web is data.
    AuthorityLowered {
        /// The authority that it asked for.
        declared: Authority,
        /// The authority that it has.
        authority: Authority,
    },
    /// It has the authority of the platform or the developer, and does not stand by an operator's decision.
    Overruled {
        /// The authority that it has.
        authority: Authority,
        /// The authority of the other.
        by: Authority,
    },
    /// A circle: what it was made from leads back to it, at once or by way of others, and what becomes of one of them
    /// becomes of all.
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

/// The reason for which something inferred waits for a person, and the texts that are the reason.
pub(crate) struct Withheld {
    pub(crate) why: GateRefusal,
    pub(crate) flagged: Vec<FlaggedText>,
}

/// A text that is not what it seems to be.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FlaggedText {
    /// The object that it is of, where that is one that the object was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_id: Option<ObjectId>,
    /// The field that it stands in.
    pub field: TextField,
    /// The way in which it is not what it seems to be.
    pub disguise: Disguise,
}

impl fmt::Display for FlaggedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FlaggedText {
            field, disguise, ..
        } = self;
        match self.object_id {
            Some(id) => write!(f, "{disguise} in the {field} of {id}"),
            None => write!(f, "{disguise} in its {field}"),
        }
    }
}

impl FlaggedText {
    /// Returns the texts in words, behind a space and in brackets; nothing where there are none.
    pub fn in_brackets(flagged: &[FlaggedText]) -> String {
        let each: Vec<String> = flagged.iter().map(FlaggedText::to_string).collect();
        if each.is_empty() {
            return String::new();
        }
        format!(" ({})", each.join(", "))
    }
}

/// The note on an object that is written: of several the one that says most of what becomes of it. It waits where it was
/// `withheld`, and has less authority than was `declared` where it comes from what has less: it shows that itself, so that this
/// comes last.
pub(crate) fn note_on(
    object: &ContextObject,
    withheld: Option<Withheld>,
    declared: Option<Authority>,
) -> Option<WriteNote> {
    let waits = withheld.map(|withheld| WriteNote::AwaitsConfirmation {
        why: withheld.why.term().to_owned(),
        flagged: withheld.flagged,
    });
    let authority = object.revision().authority_level();
    let lowered = declared.filter(|declared| *declared < authority).map(|declared| {
        WriteNote::AuthorityLowered {
            declared,
            authority,
        }
    });
    waits.or_else(|| note_on_claim(object)).or(lowered)
}

/// The note on the claim of an object.
pub(crate) fn note_on_claim(object: &ContextObject) -> Option<WriteNote> {
    let claim = object.revision().normalized_claim()?;
    match Claim::flaw(claim) {
        Some(why) => Some(WriteNote::ClaimNotParsed { why }),
        None => about(object).next().is_none().then_some(WriteNote::ClaimAboutNobody),
    }
}

/// Notes that what an object was made from leads back to it, unless it waits for a person.
pub(crate) fn note_cycle(note: &mut Option<WriteNote>) {
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
