//! Packing: units that were found become items, in the order of the recipes and of their rank, as far as the budget goes.

use std::collections::BTreeMap;

use super::form::*;
use super::unit::UnitKind;
use crate::base::error::Error;
use crate::base::num::Score;
use crate::base::tokenizer::Tokenizer;
use crate::condense::Goal;
use crate::condense::distill::{Aim, distill};

/// The share of a text's tokens that a summary aims at.
pub const SUMMARY: Score = Score::from_millionths(200_000);
/// A text of fewer tokens is its own summary.
const SHORT: u32 = 60;
/// The method of summaries that nobody supplied.
pub const DISTILLED: &str = "distilled";

/// A unit that was found, with its text: an item once it fits.
#[derive(Clone, PartialEq, Debug)]
pub struct Draft {
    /// Its headings, the outermost first, or its name.
    pub name: String,
    /// Its text, with plain newlines.
    pub text: String,
    /// The place that it is from.
    pub provenance: SourceSpan,
    /// Its policy.
    pub policy: ItemPolicy,
    /// Further properties.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// A summary that somebody supplied.
    pub summary: Option<String>,
}

/// The frame of a package: all but what is found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// The name under which versions follow each other.
    pub name: String,
    /// The title.
    pub title: String,
    /// The use.
    pub intent: String,
    /// The coordinates.
    pub namespace: MemoryNamespace,
    /// The room.
    pub budget: ContextBudget,
    /// The queries.
    pub recipes: Vec<RetrievalRecipe>,
    /// The time for which it is kept.
    pub retention: Retention,
    /// True if new versions need assent.
    pub reviewed: bool,
}

/// Packs what was found. The same drafts and plan give the same package.
///
/// # Errors
///
/// [`ErrorKind::Budget`](crate::ErrorKind::Budget) when the reserve is all of the budget;
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when the package would be too large.
pub fn pack(
    plan: Plan,
    drafts: Vec<Draft>,
    diagnostics: Vec<String>,
    tokenizer: &dyn Tokenizer,
) -> Result<ContextPackage, Error> {
    let budget = plan.budget;
    let reserve = budget.reserve.unwrap_or(0);
    let room = budget.max_tokens.map(|most| most.saturating_sub(reserve));
    if room == Some(0) {
        return Err(Error::new(
            crate::ErrorKind::Budget,
            "the budget leaves no room for items",
        )
        .expected("a max_tokens above the reserve"));
    }
    let mut items: Vec<ContextPackageItem> = Vec::new();
    let mut cut = Vec::new();
    let mut held: BTreeMap<String, Vec<(u64, u64)>> = BTreeMap::new();
    let mut left = room;
    for draft in drafts {
        let tokens = u32::try_from(tokenizer.count(&draft.text)).unwrap_or(u32::MAX);
        let (start, end) = draft.provenance.bytes;
        let around = held.entry(draft.provenance.path.clone()).or_default();
        let is_held = around.iter().any(|(from, until)| *from <= start && end <= *until);
        let is_full = budget.max_items.is_some_and(|most| items.len() >= most as usize);
        let reason = if is_held {
            Some(CutReason::Contained)
        } else if is_full {
            Some(CutReason::MaxItems)
        } else {
            left.filter(|left| tokens > *left).map(|_| CutReason::MaxTokens)
        };
        if let Some(reason) = reason {
            cut.push(CutItem {
                lines: draft.provenance.lines,
                name: draft.name,
                path: draft.provenance.path,
                reason,
                tokens,
            });
            continue;
        }
        around.push((start, end));
        left = left.map(|left| left - tokens);
        let summary = match draft.summary {
            Some(supplied) => Some(supplied),
            None => summary(&draft.text, tokens, &plan.intent, tokenizer),
        };
        items.push(ContextPackageItem {
            metadata: draft.metadata,
            name: draft.name,
            policy: draft.policy,
            provenance: draft.provenance,
            summary,
            text: draft.text,
            tokens,
        });
    }
    let capabilities = capabilities(&plan.recipes, &items);
    let package = ContextPackage {
        summary_layers: layers(&items, &plan.intent, tokenizer),
        capabilities,
        budget,
        cut,
        diagnostics,
        intent: plan.intent,
        items,
        merged_from: Vec::new(),
        name: plan.name,
        namespace: plan.namespace,
        retrieval_recipes: plan.recipes,
        retention: plan.retention,
        reviewed: plan.reviewed,
        title: plan.title,
        version: PACKAGE_VERSION,
    };
    package.check()?;
    Ok(package)
}

/// The needs of a receiver of these.
pub(super) fn capabilities(
    recipes: &[RetrievalRecipe],
    items: &[ContextPackageItem],
) -> Capabilities {
    let mut engines: Vec<Engine> =
        recipes.iter().map(|recipe| recipe.engine.unwrap_or(recipe.kind)).collect();
    engines.sort();
    engines.dedup();
    let mut units: Vec<UnitKind> = items.iter().map(|item| item.provenance.unit_kind).collect();
    units.sort();
    units.dedup();
    let is_code = units.iter().any(|kind| matches!(kind, UnitKind::Function | UnitKind::Class));
    Capabilities {
        engines,
        features: is_code.then(|| "code".to_owned()).into_iter().collect(),
        units,
    }
}

/// The layers over these items: what all texts together come to.
pub(super) fn layers(
    items: &[ContextPackageItem],
    intent: &str,
    tokenizer: &dyn Tokenizer,
) -> Vec<SummaryLayer> {
    let texts: Vec<&str> =
        items.iter().map(|item| item.summary.as_deref().unwrap_or(&item.text)).collect();
    let whole = texts.join("\n\n");
    let tokens = u32::try_from(tokenizer.count(&whole)).unwrap_or(u32::MAX);
    let from = summary(&whole, tokens, intent, tokenizer);
    from.map(|text| SummaryLayer {
        method: DISTILLED.to_owned(),
        ratio: SUMMARY,
        tokens: u32::try_from(tokenizer.count(&text)).unwrap_or(u32::MAX),
        text,
    })
    .into_iter()
    .collect()
}

/// A text at the ratio of summaries; none of one that is short, or that has no shorter form.
fn summary(text: &str, tokens: u32, task: &str, tokenizer: &dyn Tokenizer) -> Option<String> {
    if tokens < SHORT {
        return None;
    }
    let target = (u64::from(tokens) * u64::from(SUMMARY.millionths())).div_ceil(1_000_000) as u32;
    let count = |text: &str| tokenizer.count(text);
    let goal = Goal {
        tokens: target,
        task,
        count: &count,
        lossless_only: false,
    };
    let aim = Aim {
        target: Some(target),
        floor: Score::ZERO,
        context: &[],
    };
    let distilled = distill(text, &aim, &goal);
    Some(distilled.text).filter(|text| !text.trim().is_empty())
}
