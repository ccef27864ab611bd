//! The inputs of a request's draft besides its session.

use std::collections::BTreeMap;

use tenure::session::SessionPolicy;
use tenure::{Target, World};

use super::entry::Recalled;

/// The tool by which a model reads originals, behind whatever a client puts before its name.
pub(super) const READS: &str = "rehydrate";

/// The shorter forms of results, by message and part.
pub(super) type Shortened = BTreeMap<(u64, u32), String>;

/// The inputs of a draft besides the session.
#[derive(Clone, Copy)]
pub(super) struct DraftInputs<'d> {
    pub(super) world: &'d World,
    pub(super) policy: &'d SessionPolicy,
    pub(super) task: &'d str,
    pub(super) target: Target,
    /// Whether the instructions stand before the history.
    pub(super) instructions: bool,
    /// The tools that are offered in addition to the session's own.
    pub(super) offered: &'d [&'d str],
    /// The most tokens of one result.
    pub(super) most: u32,
    /// The tool that reads originals, by the name under which the model is offered it.
    pub(super) reads: Option<&'d str>,
    /// Whether a gate may leave out tools.
    pub(super) gated: bool,
    /// The most tokens of what the user said in messages that left, where an epoch begins with this draft.
    pub(super) words: u64,
    /// The number of times that the limits of summaries are halved, which leave no room otherwise.
    pub(super) halved: u32,
    /// The passages that stand with the summaries, where an epoch begins with this draft.
    pub(super) recalled: &'d [Recalled],
}

impl DraftInputs<'_> {
    /// The end of a pointer, which says where its original is found: empty for a model that could not read it.
    pub(super) fn found_with(&self, turn: u64) -> String {
        match self.reads {
            Some(tool) => format!("; {tool} with t{turn}"),
            None => String::new(),
        }
    }
}
