//! The form that answers are asked to have. All of it is off by default: it changes what a client sends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of the form that answers are asked to have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AnswersPolicy {
    /// True if required fields of the schema of an answer may be null where nothing that stands speaks of them.
    pub relax_schemas: bool,
    /// True if the schema of a hard constraint that stands is asked of the answer where the request asks for none.
    pub add_schemas: bool,
}

impl AnswersPolicy {
    /// Returns whether it asks for nothing.
    pub(crate) fn is_off(&self) -> bool {
        *self == AnswersPolicy::default()
    }
}
