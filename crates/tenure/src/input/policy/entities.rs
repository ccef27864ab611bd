//! The settings by which mentions are resolved to entities.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::num::Score;
use crate::belief::entity::{PartWeights, RelationType};

/// The share for a parent, a child or a sibling where nothing is said.
const RELATIVES: Score = Score::HALF;
/// The share for what one text speaks of beside it where nothing is said.
const CROSS_REFERENCES: Score = Score::from_millionths(250_000);

/// The settings by which mentions are resolved to entities, and of what the graph of entities counts for. A store takes the
/// weights of the policy that its tenant keeps under the name `entities`. From a similarity of 0.95 on a mention is bound, up to
/// 0.70 it is new: these limits are fixed.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EntityPolicy {
    /// The weights of the six parts of a similarity.
    pub weights: PartWeights,
    /// The nearness to the task of what is about a parent, a child or a sibling of an entity of the task, as a share of that of
    /// what is about the entity itself.
    #[serde(skip_serializing_if = "is_relatives")]
    pub relatives: Score,
    /// The nearness, as such a share, of what is about an entity that some text speaks of beside it.
    #[serde(skip_serializing_if = "is_cross_references")]
    pub cross_references: Score,
}

impl Default for EntityPolicy {
    fn default() -> EntityPolicy {
        EntityPolicy {
            weights: PartWeights::default(),
            relatives: RELATIVES,
            cross_references: CROSS_REFERENCES,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_relatives(share: &Score) -> bool {
    *share == RELATIVES
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
fn is_cross_references(share: &Score) -> bool {
    *share == CROSS_REFERENCES
}

impl EntityPolicy {
    /// The share for a relation to an entity of the task: 1 for what is the same.
    pub const fn lift(&self, relation: RelationType) -> Score {
        match relation {
            RelationType::SameAs => Score::ONE,
            RelationType::CrossReference => self.cross_references,
            _ => self.relatives,
        }
    }

    /// Returns whether it says what holds where nothing is said.
    pub(super) fn is_default(&self) -> bool {
        *self == EntityPolicy::default()
    }
}
