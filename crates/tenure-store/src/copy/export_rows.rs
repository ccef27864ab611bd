//! Lines of an export besides beliefs and texts: counters, the registry of entities, what texts mention and
//! sessions spoke of, the judgements on pairs of claims, and what was done with outcomes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tenure::belief::entity::EntityEntry;
use tenure::belief::{Ground, Loser};
use tenure::object::{Authority, ObjectId};
use tenure::time::Instant;
use tenure::{Digest, Error};

use crate::belief::claims::{Kept, kept};
use crate::entity::session_mentions::SpokenLine;
use crate::pending::outcomes::OutcomeEntry;
use crate::rows::engine::PairRow;

/// A line of an export about what is kept besides the beliefs and the texts.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum CarriedLine {
    /// The counters of an object.
    Usage(UsageLine),
    /// An entry of the registry of entities.
    Entity(Box<EntityEntry>),
    /// The entities that a text of an object mentions.
    Mention(MentionLine),
    /// The entities that an object of a session spoke of.
    Spoken(SpokenLine),
    /// A judgement on the claims of two objects.
    Conflict(Box<ConflictLine>),
    /// A step in the life of an outcome.
    Outcome(OutcomeEntry),
}

/// The counters of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageLine {
    /// The object.
    pub object_id: ObjectId,
    /// The number of compiles that used it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub access_count: u64,
    /// The instant at which a compile last used it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Instant>,
    /// The instant of the last confirmation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_confirmed: Option<Instant>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde wants it so
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The entities that a text of an object mentions, as they were bound when it was written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MentionLine {
    /// The instant of the write.
    pub at: Instant,
    /// The object.
    pub object_id: ObjectId,
    /// The digest of the text.
    pub text_digest: Digest,
    /// The ids of the entities.
    pub entities: BTreeSet<String>,
}

/// A judgement on the claims of two objects on one slot, and the time for which it was held.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConflictLine {
    /// Since when it is so judged.
    pub tx_start: Instant,
    /// Since when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tx_end: Option<Instant>,
    /// The object with the lower id.
    pub first: ObjectId,
    /// The other one.
    pub second: ObjectId,
    /// The entity.
    pub entity: String,
    /// The slot.
    pub slot: String,
    /// The one that does not stand.
    pub loser: Loser,
    /// The ground of the judgement: `person` for a decision by hand.
    pub ground: Ground,
    /// Since when both hold; missing means unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Instant>,
    /// Until when both hold; missing means open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
    /// The ids that the first and the second object name, where only a merge makes them one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<[String; 2]>,
    /// The author of the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The note on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The authorities of the first and the second object, where an operator decided against the higher one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorities: Option<[Authority; 2]>,
}

impl ConflictLine {
    pub(crate) fn of(row: &PairRow) -> Result<ConflictLine, Error> {
        let Kept {
            entity,
            slot,
            loser,
            ground,
            from,
            until,
            by,
            note,
            authorities,
            merged,
        } = kept(row)?;
        Ok(ConflictLine {
            tx_start: row.opened.at,
            tx_end: row.closed.map(|closed| closed.at),
            first: row.first,
            second: row.second,
            entity,
            slot,
            loser,
            ground,
            from,
            until,
            merged,
            by,
            note,
            authorities,
        })
    }

    pub(crate) fn kept(&self) -> Kept {
        Kept {
            entity: self.entity.clone(),
            slot: self.slot.clone(),
            loser: self.loser,
            ground: self.ground,
            from: self.from,
            until: self.until,
            by: self.by.clone(),
            note: self.note.clone(),
            authorities: self.authorities,
            merged: self.merged.clone(),
        }
    }
}
