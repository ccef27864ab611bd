//! Answers only the outside can give. A compile never asks while it runs: `needs` lists the
//! questions, the caller answers them as [`Facts`], and a missing fact has a stated fallback.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::condense::code::Elidable;
use crate::digest::Digest;
use crate::num::Score;
use crate::object::RevisionId;

/// A question for the outside, about a settled object only: nothing hidden reaches an outside model.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Need {
    /// How relevant is this revision to this query? Fallback: the lexical score.
    Relevance {
        /// The revision.
        revision: RevisionId,
        /// The digest of the query's text.
        query: Digest,
    },
    /// Which parts of this source text can go without changing what it declares? Fallback: it stands
    /// whole or not at all.
    Outline {
        /// The digest of the text.
        content: Digest,
        /// The ending of the name of its file, where that says that it is source code; else empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        ending: String,
    },
}

impl Need {
    /// What the answer is stored under.
    pub fn key(&self) -> Digest {
        match self {
            Need::Relevance { revision, query } => {
                Digest::of_parts([b"relevance".as_slice(), revision.bytes(), query.bytes()])
            }
            Need::Outline { content, ending } => {
                Digest::of_parts([b"outline".as_slice(), content.bytes(), ending.as_bytes()])
            }
        }
    }
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fact {
    /// The relevance asked for.
    Relevance {
        /// From 0 to 1.
        score: Score,
    },
    /// The parts asked for, by where they start; none where no parser knows the text.
    Outline {
        /// The parts.
        parts: Vec<Elidable>,
    },
}

/// Questions with what their answerer needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// The text that relevance is asked about.
    pub query: String,
    /// The questions, in the order of the candidates.
    pub asked: Vec<Asked>,
}

/// One question about one object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The question.
    pub need: Need,
    /// The candidate's place, to find its text by.
    pub candidate: usize,
}

/// Content-addressed answers: stored, they make a compile repeatable.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Facts(BTreeMap<Digest, Fact>);

impl Facts {
    /// No answers.
    pub fn none() -> Facts {
        Facts::default()
    }

    /// Adds an answer.
    pub fn insert(&mut self, need: &Need, fact: Fact) {
        self.0.insert(need.key(), fact);
    }

    /// The answer to a question.
    pub fn get(&self, need: &Need) -> Option<&Fact> {
        self.0.get(&need.key())
    }

    /// The digest of all answers.
    pub fn digest(&self) -> Digest {
        if self.0.is_empty() {
            return Digest::from_bytes([0; 32]);
        }
        Digest::of(&serde_json::to_vec(&self.0).unwrap_or_default())
    }
}
