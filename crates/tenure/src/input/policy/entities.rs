//! The settings by which mentions are resolved to entities.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::belief::entity::PartWeights;

/// The settings by which mentions are resolved to entities. A store takes those of the policy that its tenant keeps under the
/// name `entities`. From a similarity of 0.95 on a mention is bound, up to 0.70 it is new: these limits are fixed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EntityPolicy {
    /// The weights of the six parts of a similarity.
    pub weights: PartWeights,
}

impl EntityPolicy {
    /// Returns whether it says what holds where nothing is said.
    pub(super) fn is_default(&self) -> bool {
        *self == EntityPolicy::default()
    }
}
