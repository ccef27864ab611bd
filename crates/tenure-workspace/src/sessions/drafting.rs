//! What the draft of a request depends on besides its session.

use std::collections::BTreeMap;

use tenure::session::SessionPolicy;
use tenure::{Target, World};

use super::entry::Recalled;

/// The tool by which a model reads originals, behind whatever a client puts before its name.
pub(super) const READS: &str = "rehydrate";

/// The shorter forms of results, by message and part.
pub(super) type Shortened = BTreeMap<(u64, u32), String>;

/// What a draft depends on besides the session.
#[derive(Clone, Copy)]
pub(super) struct Drafting<'d> {
    pub(super) world: &'d World,
    pub(super) policy: &'d SessionPolicy,
    pub(super) task: &'d str,
    pub(super) target: Target,
    /// Whether the instructions stand before the history.
    pub(super) instructions: bool,
    /// The tools that are offered beside the session's own.
    pub(super) offered: &'d [&'d str],
    /// The most tokens of one result.
    pub(super) most: u32,
    /// Whether the model is offered the tool that reads originals.
    pub(super) reads: bool,
    /// Whether a gate may leave out tools.
    pub(super) gated: bool,
    /// The passages that stand beside the summaries, where an epoch begins with this draft.
    pub(super) recalled: &'d [Recalled],
}

impl Drafting<'_> {
    /// Where an original is found, as a pointer ends: nothing for a model that could not read it.
    pub(super) fn found_with(&self, turn: u64) -> String {
        if self.reads {
            format!("; {READS} with t{turn}")
        } else {
            String::new()
        }
    }
}
