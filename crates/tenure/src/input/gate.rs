//! The relevance gate: which blocks come near the task at all.
//!
//! It works inside the compile, on what the caller may see: a hidden object neither takes a place
//! among the best nor changes anyone's score. Relevance is the built-in ranker's, or what a caller's own
//! function says of a text as a [`Fact`](crate::Fact).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::Error;
use crate::base::num::Score;

/// The nearness to the task that candidates must have. With both limits, both must hold.
///
/// Gated are removable blocks of the elastic sections, and tools, which otherwise are all offered; tools have
/// a gate of their own where the request has one for them (`tools`). What its author made not removable
/// passes, unless it is optional; so does what something that must go in needs, what an epoch has frozen,
/// the conversation and the tools that it calls. What a passing block needs passes with it.
///
/// ```
/// use tenure::{Budget, Request, gate::Gate};
/// let request = Request { gate: Some(Gate::top(3)), ..Request::new("Set up PWM.", Budget::tokens(900)) };
/// assert!(request.validate().is_ok());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gate {
    /// The least relevance, from 0 to 1. The built-in ranker's is relative: the nearest of all that are
    /// gated has 1. A supplied relevance is taken as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Score>,
    /// The greatest number that passes: the nearest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
}

impl Gate {
    /// A gate for what has at least this relevance.
    pub const fn threshold(least: Score) -> Gate {
        Gate {
            threshold: Some(least),
            top_k: None,
        }
    }

    /// Returns a gate for this many of the nearest.
    pub const fn top(k: u32) -> Gate {
        Gate {
            threshold: None,
            top_k: Some(k),
        }
    }

    /// Checks that the gate in this field of a request turns anything away.
    pub(crate) fn validate(&self, field: &str) -> Result<(), Error> {
        if *self == Gate::default() {
            return Err(Error::input(format!("the `{field}` lets everything pass"))
                .expected("a `threshold`, a `top_k`, or both"));
        }
        Ok(())
    }
}

/// The standing of a candidate before the gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Standing {
    /// Its relevance.
    pub relevance: Score,
    /// Its rank by relevance, counted from one.
    pub rank: u32,
    /// True if it passes.
    pub passes: bool,
}

/// The standing of candidates before a gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Gating {
    /// The gated candidates, the nearest first; tools that have their own gate follow the others.
    pub gated: Vec<Gated>,
    /// The others, which stay whatever their relevance: their places among the candidates. What neither list names is
    /// not in force, or not for the caller to see.
    pub spared: Vec<usize>,
}

/// A candidate before the gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Gated {
    /// Its place among the candidates, by which its name is found.
    pub candidate: usize,
    /// Its standing.
    #[serde(flatten)]
    pub standing: Standing,
}
