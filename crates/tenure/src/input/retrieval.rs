//! The retrieval plan: what is fetched for a task, by which questions, and what each of them brought.
//!
//! A plan works inside the compile, on what the caller may see and what holds at the instants asked for:
//! a hidden object neither takes a place nor changes a score. What no subquery brings is omitted with the
//! subquery that came nearest; nothing is dropped unseen. Without a plan everything is a candidate.
//!
//! ```
//! use tenure::retrieval::{RetrievalPlan, RetrievalStrategy, Subquery};
//! use tenure::{Budget, Request};
//! let mut causes = Subquery::new("causes", "What makes the pump leak?");
//! (causes.strategy, causes.limit) = (RetrievalStrategy::Lexical, 3);
//! let plan = RetrievalPlan { subqueries: vec![causes], ..RetrievalPlan::default() };
//! let request = Request { retrieval: Some(plan), ..Request::new("Mend the pump.", Budget::tokens(900)) };
//! assert!(request.validate().is_ok());
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::Error;
use crate::base::num::Score;
use crate::base::text::clip;
use crate::input::policy::{Policy, Scorer};
use crate::object::section::Section;
use crate::object::{MemoryKind, vocabulary::vocabulary};

vocabulary! {
    /// The strategy of a subquery.
    #[derive(Default)]
    RetrievalStrategy ("retrieval strategy") {
        /// By terms.
        Lexical = "lexical",
        /// By vectors alone.
        Dense = "dense",
        /// By terms and vectors.
        #[default]
        Hybrid = "hybrid",
        /// By links: what some objects are kept with, what is kept with them, and what speaks of the same
        /// entities.
        Neighbourhood = "neighbourhood",
        /// Memories of a kind, the latest first.
        Memory = "memory",
    }
}

/// The sections that a plan may fetch for: data and guidance that nothing else obliges to stand.
const FETCHED: [Section; 3] = [Section::Evidence, Section::Memory, Section::Karma];

/// The most subqueries, and the most names that one begins at.
const MOST: usize = 64;
const MOST_HOPS: u32 = 8;
const LONGEST: usize = 64 << 10;

/// The plan of what is fetched for a task.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RetrievalPlan {
    /// The sections whose objects stand only when a subquery brings them. What must stand, and what that
    /// needs, stays. Default: `evidence` and `memory`.
    pub sections: Vec<Section>,
    /// The questions, in order.
    pub subqueries: Vec<Subquery>,
}

impl Default for RetrievalPlan {
    fn default() -> RetrievalPlan {
        RetrievalPlan {
            sections: vec![Section::Evidence, Section::Memory],
            subqueries: Vec::new(),
        }
    }
}

/// One question of a plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Subquery {
    /// Its name in the trace.
    pub name: String,
    /// The text that it asks for. Default: the task and the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The strategy. Default: `hybrid`.
    #[serde(default)]
    pub strategy: RetrievalStrategy,
    /// The most objects that it brings: the nearest. Default: 8.
    #[serde(default = "limit")]
    pub limit: u32,
    /// The least score of what it brings, from 0 to 1. Of terms and of both, the nearest has 1; of vectors
    /// it is the cosine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Score>,
    /// Only objects of this section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<Section>,
    /// Only memories of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_kind: Option<MemoryKind>,
    /// The names of objects at which a neighbourhood begins. Default: the three that are nearest to the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<String>,
    /// The number of links that a neighbourhood follows. Default: 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub hops: u32,
}

/// The most candidates that a subquery brings.
const MOST_BROUGHT: u32 = 10_000;

fn limit() -> u32 {
    8
}

fn one() -> u32 {
    1
}

// The signature is serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Subquery {
    /// A question by terms and vectors, for the eight nearest.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Subquery {
        Subquery {
            name: name.into(),
            text: Some(text.into()),
            strategy: RetrievalStrategy::Hybrid,
            limit: limit(),
            threshold: None,
            section: None,
            memory_kind: None,
            from: Vec::new(),
            hops: 1,
        }
    }

    fn validate(&self, plan: &RetrievalPlan) -> Result<(), Error> {
        let wrong = |what: String, expected: &str| {
            let name = clip(&self.name);
            Err(Error::input(format!("subquery `{name}`: {what}")).expected(expected))
        };
        if self.name.trim().is_empty() || self.name.len() > 200 {
            return wrong("its name is empty or too long".into(), "1 to 200 bytes");
        }
        if let Some(text) = &self.text {
            if text.trim().is_empty() || text.contains('\0') {
                return wrong("`text` says nothing".into(), "some text, or leave it out");
            }
            if text.len() > LONGEST {
                let what = format!("`text` has {} bytes", text.len());
                return wrong(what, "at most 65536");
            }
        }
        if self.limit == 0 {
            return wrong("a `limit` of 0 brings nothing".into(), "at least 1");
        }
        if self.limit > MOST_BROUGHT {
            let what = format!("a `limit` of {}", self.limit);
            return wrong(what, "at most 10000");
        }
        if let Some(section) = self.section.filter(|one| !plan.sections.contains(one)) {
            let what = format!("the plan does not fetch for `{section}`");
            return wrong(what, "one of the plan's `sections`");
        }
        let by_links = self.strategy == RetrievalStrategy::Neighbourhood;
        if !by_links && (!self.from.is_empty() || self.hops != 1) {
            let what = format!("`from` and `hops` have no effect on `{}`", self.strategy);
            return wrong(what, "the strategy `neighbourhood`");
        }
        if self.hops == 0 || self.hops > MOST_HOPS || self.from.len() > MOST {
            let what = format!("{} hops from {} objects", self.hops, self.from.len());
            return wrong(what, "1 to 8 hops from at most 64 objects");
        }
        if self.strategy == RetrievalStrategy::Memory {
            if self.memory_kind.is_none() {
                return wrong("of which kind?".into(), "a `memory_kind`");
            }
            if self.text.is_some() || self.threshold.is_some() {
                let what =
                    "`text` and `threshold` have no effect on `memory`: the latest come first";
                return wrong(what.into(), "another strategy with a `memory_kind`");
            }
        }
        Ok(())
    }
}

impl RetrievalPlan {
    pub(crate) fn validate(&self) -> Result<(), Error> {
        if self.subqueries.is_empty() || self.subqueries.len() > MOST {
            let what = format!(
                "the retrieval plan has {} subqueries",
                self.subqueries.len()
            );
            return Err(Error::input(what).expected(format!("1 to {MOST}")));
        }
        let other = self.sections.iter().find(|one| !FETCHED.contains(one));
        if let Some(section) = other {
            let what = format!("a retrieval plan cannot fetch for `{section}`");
            return Err(Error::input(what).expected("`evidence`, `memory` or `karma`"));
        }
        if self.sections.is_empty() {
            return Err(Error::input("the retrieval plan fetches for no section")
                .expected("`evidence`, `memory` or `karma`"));
        }
        let mut names = BTreeSet::new();
        for subquery in &self.subqueries {
            subquery.validate(self)?;
            if !names.insert(&subquery.name) {
                let name = clip(&subquery.name);
                return Err(Error::input(format!("two subqueries are named `{name}`"))
                    .expected("a name of its own for each"));
            }
        }
        Ok(())
    }

    /// Refuses what this policy can never answer.
    pub(crate) fn suits(&self, policy: &Policy) -> Result<(), Error> {
        let dense = |subquery: &&Subquery| subquery.strategy == RetrievalStrategy::Dense;
        let scorer = policy.document().scorer;
        match self.subqueries.iter().find(dense) {
            Some(subquery) if scorer != Scorer::Hybrid => Err(Error::input(format!(
                "subquery `{}` asks vectors, and the policy's scorer is `{scorer}`",
                clip(&subquery.name)
            ))
            .expected("`scorer = \"hybrid\"`, or the strategy `lexical`")),
            _ => Ok(()),
        }
    }
}

/// The findings of a plan's subqueries.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetrievalReport {
    /// One for each subquery, in order.
    pub subqueries: Vec<SubqueryReport>,
}

/// The findings of a subquery.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubqueryReport {
    /// Its name.
    pub name: Arc<str>,
    /// The strategy that was asked for.
    pub strategy: RetrievalStrategy,
    /// The strategy that answered, where it is another: no vectors were supplied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fell_back: Option<RetrievalStrategy>,
    /// Among how many objects it looked.
    pub among: u32,
    /// The number of them that match.
    pub matched: u32,
    /// Those that it brought, the nearest first.
    pub brought: Vec<Brought>,
}

/// A candidate that a subquery brought: its lineage.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Brought {
    /// Its place among the candidates.
    pub candidate: u32,
    /// Its name.
    pub name: Arc<str>,
    /// Its nearness to what was asked; none of a memory, which comes by its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// The number of links between it and the beginning of the neighbourhood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<u32>,
}

impl RetrievalReport {
    /// The subqueries that brought a candidate, each with its rank there, counted from one.
    pub fn lineage(&self, candidate: usize) -> impl Iterator<Item = (&SubqueryReport, usize)> {
        self.subqueries.iter().filter_map(move |subquery| {
            let mut brought = subquery.brought.iter();
            let at = brought.position(|one| one.candidate as usize == candidate)?;
            Some((subquery, at + 1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(change: impl FnOnce(&mut RetrievalPlan)) -> Error {
        let mut plan = RetrievalPlan {
            subqueries: vec![Subquery::new("one", "pumps")],
            ..RetrievalPlan::default()
        };
        plan.validate().unwrap();
        change(&mut plan);
        plan.validate().unwrap_err()
    }

    #[test]
    fn plans_that_make_no_sense_are_refused() {
        let first = |change: fn(&mut Subquery)| refused(|plan| change(&mut plan.subqueries[0]));
        let errors = [
            (refused(|plan| plan.subqueries.clear()), "0 subqueries"),
            (refused(|plan| plan.sections.clear()), "no section"),
            (
                refused(|plan| plan.sections.push(Section::History)),
                "`history`",
            ),
            (
                refused(|plan| plan.subqueries.push(plan.subqueries[0].clone())),
                "two",
            ),
            (first(|one| one.name.clear()), "name"),
            (first(|one| one.text = Some(" ".into())), "nothing"),
            (first(|one| one.text = Some("x".repeat(70_000))), "70000"),
            (first(|one| one.limit = 0), "brings nothing"),
            (first(|one| one.limit = 10_001), "10001"),
            (first(|one| one.section = Some(Section::Karma)), "`karma`"),
            (first(|one| one.from.push("x".into())), "`from`"),
            (first(|one| one.hops = 3), "`hops`"),
            (
                first(|one| one.strategy = RetrievalStrategy::Memory),
                "which kind",
            ),
        ];
        for (error, part) in errors {
            assert!(error.what.contains(part), "{error}: {part}");
            assert!(error.expected.is_some(), "{error}");
        }
    }

    #[test]
    fn a_plan_is_read_with_its_defaults_and_names_what_it_does_not_know() {
        let plan: RetrievalPlan =
            serde_json::from_str(r#"{ "subqueries": [{ "name": "all" }] }"#).unwrap();
        assert_eq!(plan.sections, [Section::Evidence, Section::Memory]);
        let one = &plan.subqueries[0];
        assert_eq!((one.limit, one.hops, one.text.as_deref()), (8, 1, None));
        assert_eq!(one.strategy, RetrievalStrategy::Hybrid);
        let unknown = r#"{ "subqueries": [{ "name": "all", "strategy": "densest" }] }"#;
        assert!(serde_json::from_str::<RetrievalPlan>(unknown).is_err());
    }
}
