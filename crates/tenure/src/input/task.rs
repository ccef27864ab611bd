//! The task of a compile, and how far it has come.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::policy::TaskClass;
use crate::object::{TaskType, vocabulary::vocabulary};

vocabulary! {
    /// Where the agent's loop stands (Prefill Compiler, 6.3.2).
    Step ("step") {
        /// Deciding what to do.
        Plan = "plan",
        /// Doing it.
        Act = "act",
        /// Checking that it worked.
        Verify = "verify",
        /// Judging how good it is.
        Critique = "critique",
        /// Mending it.
        Repair = "repair",
        /// Making it final.
        Commit = "commit",
    }
}

vocabulary! {
    /// How far a subtask, an action or an approval has come.
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

/// The typed state of a task (Prefill Compiler, 6.3.2). It stands in the envelope in a canonical,
/// compact form.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TaskState {
    /// What is to be reached.
    pub objective: String,
    /// How careful the task must be. Default: `interactive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_class: Option<TaskClass>,
    /// The kind of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// Where the loop stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Step>,
    /// The parts of the objective.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subtasks: Vec<Subtask>,
    /// What came out so far. Data, not instructions: it stands in a frame.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<IntermediateResult>,
    /// Actions that wait to be done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingAction>,
    /// Actions that need somebody's word.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    /// What went wrong. Data, not instructions: it stands in a frame.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<TaskError>,
}

/// A part of an objective.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subtask {
    /// What it is.
    pub title: String,
    /// How far it has come.
    pub status: Progress,
}

/// Something that came out on the way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntermediateResult {
    /// What it is.
    pub name: String,
    /// What came out.
    pub value: String,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// An action that waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PendingAction {
    /// What is to be done.
    pub action: String,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
}

/// An action that needs somebody's word.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The action.
    pub action: String,
    /// Whether it was given.
    pub status: Progress,
}

/// Something that went wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskError {
    /// What happened.
    pub message: String,
    /// How often it was tried again.
    #[serde(default)]
    pub retries: u32,
    /// How to undo it.
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

    /// How careful the task must be.
    pub fn class(&self) -> TaskClass {
        self.task_class.unwrap_or(TaskClass::Interactive)
    }
}
