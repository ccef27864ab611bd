//! The ledger of an epoch: the model has what was served before it, so it stays as it is.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::time::Instant;
use crate::input::policy::Strategy;
use crate::input::task::TaskState;
use crate::object::{RevisionId, vocabulary::vocabulary};

vocabulary! {
    /// The form of an object that stands.
    Form ("form") {
        /// A sentence or two, by its author.
        Abstract = "abstract",
        /// A paragraph or two, by its author.
        Overview = "overview",
        /// The text that a condensation made of it.
        Condensed = "condensed",
        /// All of it.
        Full = "full",
    }
}

vocabulary! {
    /// The cause of an epoch's beginning.
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
        /// The floor that was served left no room for what had to be added.
        OverBudget = "over_budget",
        /// Someone asked for it.
        Asked = "asked",
        /// The cost of reading unused parts exceeds that of writing the history again.
        Cheaper = "cheaper",
        /// A message that was sent, or that a summary speaks of, was judged: what it said is not repeated.
        Judged = "judged",
    }
}

/// The objects that the model has already been sent in this epoch, in payload order.
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
    /// The forms of those that stand in a shorter one, by their place in `floor`, counted from 0.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub forms: BTreeMap<u32, Form>,
    /// The model's way to the corpus.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// True if the compiler's own tool `query_archive` stands in the floor.
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
    /// The instant up to which the last request knew, where the keeper of the history says so. An outcome that was accepted
    /// later was never left out of a choice, so it does not wait for the next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Instant>,
    /// The digest of the task and query for which the floor was chosen. While the epoch lasts and they stay the same,
    /// what was left out of the floor claims nothing of the tail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_for: Option<Digest>,
    /// The state of the task as it stands in what was sent: while the epoch lasts, only what is new since is
    /// said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Box<TaskState>>,
    /// The fields of the answer's schema that may be null, chosen when the epoch began; none where none was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relaxed: Option<Vec<String>>,
    /// The cause for which the epoch ends now, where the keeper of the history ends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ends: Option<EpochCause>,
}
