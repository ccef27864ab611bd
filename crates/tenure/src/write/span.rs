//! A place in a payload.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The place of an item's bytes: of a text, from `start` to `end`; of a provider's body, from `start` to `end` of the
/// content of `message`, or as a whole under `tools[tool]`, those of `message` where both are named. A tool that is
/// added late by a block is all of its definition. Where contents are lists of blocks, `block` says which: of the
/// message, or of the top-level `system` without one. What only calls tools stands empty at its first block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The message, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<u32>,
    /// The content block, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// The tool, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<u32>,
    /// The first byte.
    pub start: u32,
    /// The first byte after.
    pub end: u32,
}
