//! The settings that keep a session's history in its budget.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::num::Score;
use crate::input::gate::Gate;

/// The settings that keep a session's history in its budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionPolicy {
    /// The share of the budget that the history may reach before the epoch ends.
    pub high_water: Score,
    /// The share of the window that the request may take when it does, all that stands before its turns included; five
    /// sixths of it, where the model's prices make that cheaper. The turns that stay have half of this share of the
    /// budget, whatever stands before them.
    pub low_water: Score,
    /// The share of the budget from which on the model is told that the epoch is about to end.
    pub handoff: Score,
    /// The greatest number of groups of turns that a checkpoint stands for.
    pub checkpoint_every: u32,
    /// The number of checkpoints of one level that one of the next summarises.
    pub fan_in: u32,
    /// The share of its turns' tokens that a checkpoint aims at.
    pub ratio: Score,
    /// The least tokens that a checkpoint aims at.
    pub least: u32,
    /// The most tokens that a checkpoint aims at.
    pub most: u32,
    /// The most tokens of decisions, corrections and constraints that a checkpoint hands on; beyond it
    /// the oldest decisions go first.
    pub kept_most: u32,
    /// True if the epoch also ends where that is cheaper by the catalogue's prices.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_when_cheaper: bool,
    /// The greatest number of tools that an epoch offers, the nearest to the step, where the request has no gate for
    /// them. 0: any number.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub tools_top_k: u32,
    /// The least relevance of a tool that an epoch offers, where the request has no gate for them. 0: any.
    #[serde(default, skip_serializing_if = "is_none")]
    pub tools_threshold: Score,
    /// The most tokens that a request may ask for as its answer: a gateway lowers what asks for more. 0: any number.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub max_answer_tokens: u32,
}

impl Default for SessionPolicy {
    /// Returns the settings of the preset `standard`.
    fn default() -> SessionPolicy {
        let percent = |share: u32| Score::from_millionths(share * 10_000);
        SessionPolicy {
            high_water: percent(85),
            low_water: percent(30),
            handoff: percent(75),
            checkpoint_every: 8,
            fan_in: 4,
            ratio: percent(10),
            least: 64,
            most: 512,
            kept_most: 1_024,
            ends_when_cheaper: false,
            tools_top_k: 0,
            tools_threshold: Score::ZERO,
            max_answer_tokens: 0,
        }
    }
}

fn is_nought(number: &u32) -> bool {
    *number == 0
}

fn is_none(score: &Score) -> bool {
    *score == Score::ZERO
}

impl SessionPolicy {
    /// The gate for tools, where there is one.
    pub fn tools(&self) -> Option<Gate> {
        let gate = Gate {
            threshold: Some(self.tools_threshold).filter(|least| *least > Score::ZERO),
            top_k: Some(self.tools_top_k).filter(|most| *most > 0),
        };
        (gate != Gate::default()).then_some(gate)
    }

    /// The most tokens that a request may ask for as its answer, where there is a limit.
    pub fn max_answer(&self) -> Option<u32> {
        Some(self.max_answer_tokens).filter(|most| *most > 0)
    }

    /// Returns the fault of these settings.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        if !(self.low_water < self.high_water && self.high_water <= Score::ONE) {
            return Some("`session`: low_water must be below high_water");
        }
        if self.checkpoint_every == 0 || self.fan_in < 2 {
            return Some("`session`: checkpoint_every must be at least 1, fan_in at least 2");
        }
        (self.least > self.most).then_some("`session`: least must not be above most")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_for_tools_is_one_only_where_a_policy_sets_it() {
        let off = SessionPolicy::default();
        assert_eq!(off.tools(), None);
        let few = SessionPolicy {
            tools_top_k: 3,
            ..off
        };
        assert_eq!(few.tools(), Some(Gate::top(3)));
        let near = SessionPolicy {
            tools_threshold: Score::ONE,
            ..off
        };
        assert_eq!(near.tools(), Some(Gate::threshold(Score::ONE)));
        // A policy that sets none is the one that it was.
        let json = serde_json::to_string(&off).unwrap();
        assert!(!json.contains("tools"), "{json}");
    }
}
