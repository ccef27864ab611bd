//! The task of a compile, and how far it has come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::policy::TaskClass;
use crate::object::{TaskType, vocabulary::vocabulary};

pub use crate::object::Step;

vocabulary! {
    /// The progress of a subtask, an action or an approval.
    Progress ("progress") {
        /// Not begun.
        Pending = "pending",
        /// Begun.
        InProgress = "in_progress",
        /// Ended well.
        Done = "done",
        /// Ended badly.
        Failed = "failed",
        /// Given.
        Approved = "approved",
        /// Refused.
        Refused = "refused",
    }
}

/// The typed state of a task. It stands in the envelope in a canonical, compact form.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskState {
    /// The objective.
    pub objective: String,
    /// The care that the task needs. Default: `interactive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_class: Option<TaskClass>,
    /// The kind of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// The step of the loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// The parts of the objective.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<Subtask>,
    /// The results so far. Data, not instructions: they stand in a frame.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<IntermediateResult>,
    /// Actions that wait to be done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingAction>,
    /// Actions that need someone's word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// The errors so far. Data, not instructions: they stand in a frame.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<TaskError>,
    /// The names of objects that the task leans on: nothing else is let in before them, and none of them leaves for
    /// want of relevance. They are not shown to the model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<String>,
}

/// A part of an objective.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subtask {
    /// Its title.
    pub title: String,
    /// Its progress.
    pub status: Progress,
}

/// Something that came out on the way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntermediateResult {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Its source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// An action that waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PendingAction {
    /// The action.
    pub action: String,
    /// The event that it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
}

/// An action that needs someone's word.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The action.
    pub action: String,
    /// The state of the approval.
    pub status: Progress,
}

/// Something that went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskError {
    /// The message.
    pub message: String,
    /// The number of retries.
    #[serde(default)]
    pub retries: u32,
    /// The way to undo it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback: Option<String>,
}

impl TaskState {
    /// A task of which only the objective is known.
    pub fn new(objective: impl Into<String>) -> TaskState {
        TaskState {
            objective: objective.into(),
            ..TaskState::default()
        }
    }

    /// Returns the care that the task needs.
    pub fn class(&self) -> TaskClass {
        self.task_class.unwrap_or(TaskClass::Interactive)
    }
}
