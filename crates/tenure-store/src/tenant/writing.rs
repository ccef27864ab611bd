//! The words of a write: what its writer expects, and what became of each object.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::error::ErrorKind;
use tenure::object::{ObjectId, RevisionId, clip};
use tenure::time::Instant;
use tenure::{Error, ObjectDocument};

use crate::rows::engine::{BeliefRow, Standing, Write};
use crate::rows::notes::WriteNote;

/// The state of an object that its writer expects.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Expect {
    /// Nothing: the last writer wins.
    #[default]
    Any,
    /// That there is none yet.
    Absent,
    /// That this revision was written last.
    Revision(RevisionId),
    /// That it is believed, judged and waits as it has since this instant.
    Since(Instant),
    /// That it awaits the confirmation of a person.
    Waiting,
    /// That this revision of it awaits the confirmation of a person: what is decided is decided of that one alone.
    Proposed(RevisionId),
}

impl Expect {
    /// The revision that is decided on, where one is named.
    pub(crate) const fn proposed(self) -> Option<RevisionId> {
        match self {
            Expect::Proposed(revision) => Some(revision),
            _ => None,
        }
    }
}

/// An object to write.
#[derive(Clone, Debug)]
pub struct Put {
    /// The object. What only a store says of it (`tx_start`, `tx_end`, `access_count`) is not read; of when it was
    /// last used and confirmed the later instant holds.
    pub document: ObjectDocument,
    /// The expected state.
    pub expect: Expect,
}

impl Put {
    /// This object, whatever is there.
    pub fn new(document: ObjectDocument) -> Put {
        Put {
            document,
            expect: Expect::Any,
        }
    }
}

/// Options of a write.
#[derive(Clone, Default, Debug)]
pub struct Writing {
    /// A key that makes the write happen once: the same write under the same key is answered as it was
    /// the first time.
    pub idempotency_key: Option<String>,
    /// The author, for the log.
    pub author: Option<String>,
}

/// The effect of a write on one object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "WriteOutcome")]
#[non_exhaustive]
pub enum Outcome {
    /// It is new.
    Created,
    /// It has another revision, or is believed for another time.
    Revised,
    /// It was so already.
    Unchanged,
    /// It is judged otherwise, or believed no more.
    Judged,
    /// Nothing is left of it.
    Erased,
}

/// An object that was written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WrittenObject {
    /// Its id.
    pub object_id: ObjectId,
    /// Its name; not that of what was erased.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its revision now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionId>,
    /// The effect.
    pub outcome: Outcome,
    /// A note on what was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<WriteNote>,
}

/// The result of a write.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// The tenant's version after it: a later read may ask for at least this one.
    pub version: u64,
    /// The instant in transaction time at which it took effect.
    pub at: Instant,
    /// The objects that it touched.
    pub objects: Vec<WrittenObject>,
    /// True where all that was asked for was so already: of entities, revised beliefs, judgements, decisions between
    /// claims and retractions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nothing_changed: bool,
}

/// Effect of a write.
pub(crate) struct Effect {
    pub(crate) objects: Vec<WrittenObject>,
    /// True where all of it was so already.
    pub(crate) nothing_changed: bool,
}

impl Effect {
    /// The effect on these objects alone.
    pub(crate) fn on(objects: Vec<WrittenObject>) -> Effect {
        Effect {
            nothing_changed: objects.iter().all(|one| one.outcome == Outcome::Unchanged),
            objects,
        }
    }
}

impl From<Vec<WrittenObject>> for Effect {
    /// Makes the effect of a write that also changes something that is no object.
    fn from(objects: Vec<WrittenObject>) -> Effect {
        Effect {
            objects,
            nothing_changed: false,
        }
    }
}

pub(crate) fn check(expect: &Expect, name: &str, before: Option<&Standing>) -> Result<(), Error> {
    let conflict = |what: String, expected: String| {
        Err(
            Error::new(ErrorKind::Conflict, format!("`{}` {what}", clip(name)))
                .expected(expected)
                .hint("read what is there, and try again"),
        )
    };
    match (expect, before) {
        (Expect::Any, _) | (Expect::Absent, None) => Ok(()),
        (Expect::Absent, Some(_)) => conflict("already exists".into(), "no such object".into()),
        (Expect::Revision(revision), None) => {
            conflict("is not there".into(), format!("the revision {revision}"))
        }
        (Expect::Revision(revision), Some(before))
            if before.head == *revision || waits_last(before, *revision) =>
        {
            Ok(())
        }
        (Expect::Revision(revision), Some(before)) => conflict(
            format!("has the revision {}", before.head),
            format!("the revision {revision}"),
        ),
        (Expect::Since(since), Some(before))
            if before.beliefs.iter().any(|row| row.opened.at == *since) =>
        {
            Ok(())
        }
        (Expect::Waiting, Some(before)) if before.beliefs.iter().any(BeliefRow::waits) => Ok(()),
        (Expect::Waiting, _) => {
            conflict("waits for nobody".into(), "what awaits confirmation".into())
        }
        (Expect::Proposed(revision), Some(before))
            if before.beliefs.iter().any(|row| row.waits() && row.revision == *revision) =>
        {
            Ok(())
        }
        (Expect::Proposed(revision), before) => {
            let beliefs = before.into_iter().flat_map(|before| &before.beliefs);
            let waits: Vec<String> = beliefs
                .filter(|row| row.waits())
                .map(|row| row.revision.to_string())
                .collect::<BTreeSet<String>>()
                .into_iter()
                .collect();
            let what = format!("has no proposal {revision} that waits");
            if waits.is_empty() {
                conflict(what, "what awaits confirmation".into())
            } else {
                conflict(what, format!("one that waits: {}", waits.join(", ")))
            }
        }
        (Expect::Since(since), _) => conflict(
            "was changed meanwhile".into(),
            format!("as it was since {since}"),
        ),
    }
}

/// Returns whether a revision waits, and nothing else of the object was written since.
fn waits_last(before: &Standing, revision: RevisionId) -> bool {
    let last = before.beliefs.iter().map(|row| row.opened).max();
    let mut own = before.beliefs.iter();
    own.any(|row| row.waits() && row.revision == revision && Some(row.opened) == last)
}

/// Checks that an object is in the expected state.
pub(crate) fn expected(rows: &mut dyn Write, id: ObjectId, expect: Expect) -> Result<(), Error> {
    let standing = rows.standing(&[id])?.remove(&id);
    if standing.is_none() && expect == Expect::Any {
        return Err(Error::not_found(format!("there is no object `{id}`")));
    }
    let name = standing
        .as_ref()
        .map_or_else(|| id.to_string(), |standing| standing.name.clone());
    check(&expect, &name, standing.as_ref())
}
