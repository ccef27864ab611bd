//! What an epoch has served: the model has it before it, so it stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::input::policy::Strategy;
use crate::input::task::TaskState;
use crate::object::{RevisionId, vocabulary::vocabulary};

vocabulary! {
    /// How much of an object stands.
    Form ("form") {
        /// A sentence or two, by its author.
        Abstract = "abstract",
        /// A paragraph or two, by its author.
        Overview = "overview",
        /// What a condensation made of it.
        Condensed = "condensed",
        /// All of it.
        Full = "full",
    }
}

vocabulary! {
    /// Why an epoch began.
    EpochCause ("epoch cause") {
        /// Nothing was served before.
        First = "first",
        /// It goes on.
        Kept = "kept",
        /// Something that was served is no longer clean, authorised, valid or present.
        FrozenGone = "frozen_gone",
        /// A rule or a tool that must stand in the floor is new.
        FloorGrew = "floor_grew",
        /// The policy, the model, the frame key or the target changed.
        SettingsChanged = "settings_changed",
        /// The history passed its high-water mark.
        HighWater = "high_water",
        /// What was served left no room for what had to be added.
        OverBudget = "over_budget",
        /// Somebody asked for it.
        Asked = "asked",
        /// What was read in vain costs more than laying the history anew.
        Cheaper = "cheaper",
    }
}

/// What the model has already been sent in this epoch, in payload order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServedLedger {
    /// The epoch's number.
    pub epoch: u32,
    /// The revisions that stand in the floor, in order.
    pub floor: Vec<RevisionId>,
    /// The digest of the settings that the floor was made with: policy, world and target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<Digest>,
    /// Which of these stand in a shorter form, by their place in `floor`, counted from nought.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub forms: BTreeMap<u32, Form>,
    /// How the model came by the corpus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Whether the compiler's own tool `query_archive` stands in the floor.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archive: bool,
    /// The revisions that stand in what was sent of the tail, and so in the history.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub said: BTreeSet<RevisionId>,
    /// The digest of the task and query that stand in what was sent. While the epoch lasts they are not
    /// said again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Digest>,
    /// The digest of the task and query for which evidence and recall were last chosen. While the epoch
    /// lasts and they stay the same, what was left out then stays out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen_for: Option<Digest>,
    /// The state of the task as it stands in what was sent: while the epoch lasts, only what is new since is
    /// said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Box<TaskState>>,
    /// Why the epoch ends now, where whoever keeps the history ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<EpochCause>,
}
