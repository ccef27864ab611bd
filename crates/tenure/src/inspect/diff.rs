//! The difference between two compiles, by section and object.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::compile::trace::{Ruling, Trace, Verdict};
use crate::object::section::Section;

/// The change of one object.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Change {
    /// It stands only in the second.
    Added {
        /// The object.
        name: Arc<str>,
        /// The tokens that it costs.
        tokens: u32,
        /// The reason why it did not stand in the first.
        before: String,
    },
    /// It stands only in the first.
    Removed {
        /// The object.
        name: Arc<str>,
        /// The tokens that it cost.
        tokens: u32,
        /// The reason why it does not stand in the second.
        after: String,
    },
    /// It stands in both at another price.
    Modified {
        /// The object.
        name: Arc<str>,
        /// The tokens that it cost.
        before: u32,
        /// The tokens that it costs.
        after: u32,
    },
    /// It stands in neither, for another reason.
    Reason {
        /// The object.
        name: Arc<str>,
        /// The reason in the first.
        before: String,
        /// The reason in the second.
        after: String,
    },
}

/// The changes of one section.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct SectionDiff {
    /// The section.
    pub section: Section,
    /// The change of the tokens of its objects.
    pub token_delta: i64,
    /// The changes, in the order of the objects.
    pub changes: Vec<Change>,
}

/// The difference between two compiles.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Diff {
    /// True if the payloads are the same, byte for byte.
    pub same_payload: bool,
    /// The change of the total.
    pub total_token_delta: i64,
    /// The share of its budget that the first used, in thousandths.
    pub utilization_before: u32,
    /// The share of its budget that the second uses, in thousandths.
    pub utilization_after: u32,
    /// The parts of the input that differ.
    pub inputs: Vec<&'static str>,
    /// The sections in which anything changed.
    pub sections: Vec<SectionDiff>,
}

/// Compares two traces. Objects are matched by name and by their turn among those of that name.
pub fn diff(before: &Trace, after: &Trace) -> Diff {
    let (old, new) = (keyed(before), keyed(after));
    let mut by_section: BTreeMap<Section, SectionDiff> = BTreeMap::new();
    let names: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for key in names {
        let (was, is) = (old.get(key), new.get(key));
        let Some(section) = is.or(was).map(|verdict| verdict.section) else {
            continue;
        };
        let standing = |verdict: Option<&&Verdict>| {
            verdict
                .filter(|verdict| verdict.verdict == Ruling::Included)
                .map(|verdict| verdict.tokens)
        };
        let reason = |verdict: Option<&&Verdict>| {
            verdict.map_or_else(
                || "not a candidate".to_owned(),
                |verdict| verdict.reason.sentence(),
            )
        };
        let name = Arc::clone(&key.0);
        let (delta, change) = match (standing(was), standing(is)) {
            (None, Some(tokens)) => (
                i64::from(tokens),
                Some(Change::Added {
                    name,
                    tokens,
                    before: reason(was),
                }),
            ),
            (Some(tokens), None) => (
                -i64::from(tokens),
                Some(Change::Removed {
                    name,
                    tokens,
                    after: reason(is),
                }),
            ),
            (Some(before), Some(after)) => {
                let changed = before != after;
                (
                    i64::from(after) - i64::from(before),
                    changed.then_some(Change::Modified {
                        name,
                        before,
                        after,
                    }),
                )
            }
            (None, None) => {
                let code =
                    |verdict: Option<&&Verdict>| verdict.map(|verdict| verdict.reason.code());
                let changed = code(was) != code(is);
                (
                    0,
                    changed.then(|| Change::Reason {
                        name,
                        before: reason(was),
                        after: reason(is),
                    }),
                )
            }
        };
        if let Some(change) = change {
            let entry = by_section.entry(section).or_insert(SectionDiff {
                section,
                token_delta: 0,
                changes: Vec::new(),
            });
            entry.token_delta += delta;
            entry.changes.push(change);
        }
    }
    let parts = [
        ("policy", before.inputs.policy == after.inputs.policy),
        ("request", before.inputs.request == after.inputs.request),
        (
            "candidates",
            before.inputs.candidates == after.inputs.candidates,
        ),
        ("facts", before.inputs.facts == after.inputs.facts),
        ("world", before.inputs.world == after.inputs.world),
    ];
    Diff {
        same_payload: before.payload_digest.is_some()
            && before.payload_digest == after.payload_digest,
        total_token_delta: i64::from(after.total_tokens) - i64::from(before.total_tokens),
        utilization_before: utilization(before),
        utilization_after: utilization(after),
        inputs: parts.iter().filter(|(_, same)| !same).map(|(name, _)| *name).collect(),
        sections: by_section.into_values().collect(),
    }
}

fn keyed(trace: &Trace) -> BTreeMap<(Arc<str>, usize), &Verdict> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut keyed = BTreeMap::new();
    for verdict in &trace.verdicts {
        let turn = seen.entry(&verdict.name).or_insert(0);
        keyed.insert((Arc::clone(&verdict.name), *turn), verdict);
        *turn += 1;
    }
    keyed
}

fn utilization(trace: &Trace) -> u32 {
    (u64::from(trace.total_tokens) * 1000)
        .checked_div(u64::from(trace.budget))
        .unwrap_or(0) as u32
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.same_payload {
            writeln!(f, "the payloads are the same, byte for byte")?;
        }
        if !self.inputs.is_empty() {
            writeln!(f, "differs in the input: {}", self.inputs.join(", "))?;
        }
        let percent = |thousandths: u32| format!("{}.{} %", thousandths / 10, thousandths % 10);
        writeln!(
            f,
            "total {:+} tokens, budget used {} → {}",
            self.total_token_delta,
            percent(self.utilization_before),
            percent(self.utilization_after)
        )?;
        for section in &self.sections {
            writeln!(f, "\n{} {:+} tokens", section.section, section.token_delta)?;
            for change in &section.changes {
                match change {
                    Change::Added {
                        name,
                        tokens,
                        before,
                    } => writeln!(f, "  + {name}  {tokens} tokens (was: {before})")?,
                    Change::Removed {
                        name,
                        tokens,
                        after,
                    } => writeln!(f, "  - {name}  {tokens} tokens (now: {after})")?,
                    Change::Modified {
                        name,
                        before,
                        after,
                    } => writeln!(f, "  ~ {name}  {before} → {after} tokens")?,
                    Change::Reason {
                        name,
                        before,
                        after,
                    } => writeln!(f, "  . {name}  {before} → {after}")?,
                }
            }
        }
        Ok(())
    }
}
