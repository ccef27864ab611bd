//! The change that would have let an object in. Where it is a budget, it is found by compiling, not by a second
//! formula, so that the explanation cannot drift from the compiler.

use std::fmt;

use serde::Serialize;

use crate::base::error::{Error, nearest};
use crate::compile::compile;
use crate::compile::trace::Factor;
use crate::compile::trace::{Reason, Ruling, Trace, Verdict};
use crate::input::candidates::Candidates;
use crate::input::facts::Facts;
use crate::input::policy::Policy;
use crate::input::request::{Budget, Request};
use crate::object::section::Section;
use crate::write::world::World;

/// The change that would have let an object in.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "remedy", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Remedy {
    /// It is in already.
    InAlready,
    /// A budget of this many tokens, checked by compiling.
    Budget {
        /// A budget that lets it in, while one token less does not.
        tokens: u32,
    },
    /// Something else, in words.
    Change {
        /// The change, in words.
        what: String,
    },
}

/// An object's verdict and what would have changed it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WhyNot {
    /// The verdict.
    pub verdict: Verdict,
    /// The change that would have let it in.
    pub remedy: Remedy,
}

/// Explains why the object of this name is in or out, and what would have let it in.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when no candidate has the name.
pub fn why_not(
    world: &World,
    policy: &Policy,
    request: &Request,
    candidates: &Candidates,
    facts: &Facts,
    trace: &Trace,
    name: &str,
) -> Result<WhyNot, Error> {
    let verdict = trace.verdict(name).ok_or_else(|| {
        let error = Error::input(format!("no candidate is named `{name}`"));
        match nearest(name, trace.verdicts.iter().map(|verdict| &*verdict.name)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.hint("the trace lists every candidate"),
        }
    })?;
    let lets_in = |tokens: u32| {
        let budget = Budget {
            tokens: Some(tokens),
            // A target may have to name the room for the answer; how much it is decides nothing.
            window: Some(
                request
                    .budget
                    .window
                    .unwrap_or(world.model().window)
                    .max(tokens.saturating_add(1)),
            ),
            reserve: Some(1),
        };
        let request = Request {
            budget,
            dry_run: true,
            ..request.clone()
        };
        let outcome = compile(world, policy, &request, candidates, facts);
        outcome
            .as_ref()
            .ok()
            .and_then(|outcome| outcome.single().ok())
            .and_then(|compiled| {
                compiled.trace.verdict(name).map(|found| found.verdict == Ruling::Included)
            })
    };
    let remedy = match &verdict.reason {
        reason if reason.ruling() == Ruling::Included => Remedy::InAlready,
        Reason::NoRoom { .. }
        | Reason::OverShare { .. }
        | Reason::Deferred { .. }
        | Reason::AfterStop { .. } => {
            let window = request.budget.window.unwrap_or(world.model().window);
            let least = request.target.least_answer();
            let room = window.saturating_sub(request.budget.reserve.unwrap_or(least));
            match least_budget(trace.budget, lets_in) {
                Some(tokens) if tokens <= room => Remedy::Budget { tokens },
                Some(tokens) => change(format!(
                    "a larger window: it takes a budget of {tokens} tokens, and the window has room for {room}"
                )),
                None => change(format!(
                    "a larger `sections.{}.max` in the policy",
                    verdict.section
                )),
            }
        }
        _ => change(remedy_in_words(verdict, Some(policy))),
    };
    Ok(WhyNot {
        verdict: verdict.clone(),
        remedy,
    })
}

fn change(what: impl Into<String>) -> Remedy {
    Remedy::Change { what: what.into() }
}

/// The least budget above `from` at which `lets_in` turns true, by doubling and halving.
fn least_budget(from: u32, lets_in: impl Fn(u32) -> Option<bool>) -> Option<u32> {
    let mut low = from;
    let mut high = from.saturating_add(64);
    while lets_in(high) != Some(true) {
        if high >= u32::MAX / 2 {
            return None;
        }
        low = high;
        high = high.saturating_mul(2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if lets_in(middle) == Some(true) {
            high = middle
        } else {
            low = middle
        }
    }
    Some(high)
}

/// Returns the change that would have let an object in, in words, without compiling: how large a budget would have to be
/// is not said. Without the policy, a floor is named as the section's own.
pub fn remedy_in_words(verdict: &Verdict, policy: Option<&Policy>) -> String {
    match &verdict.reason {
        Reason::OtherTenant => "a caller of its tenant".into(),
        Reason::OtherUser => "a caller who is its user".into(),
        Reason::OtherProject => "a caller in its project".into(),
        Reason::OtherSession => "a caller in its session".into(),
        Reason::OtherTask => "a caller on its task".into(),
        Reason::RoleMissing => "a caller with one of the roles that it allows".into(),
        Reason::RoleDenied => "a caller without the roles that it denies".into(),
        Reason::Classified { classification } => {
            format!("a clearance of at least {classification}")
        }
        Reason::OtherOrigin { origin } => format!("a caller whose `origins` list {origin}"),
        Reason::PersonalData => "a caller who is authorised for personal data".into(),
        Reason::AnonymousEvidence => "a provenance with `source_id` and `retrieved_at`".into(),
        Reason::UnsupportedModality { .. } => "a text in its place".into(),
        Reason::NotYetValid { valid_from } => format!("an `as_of.valid` at or after {valid_from}"),
        Reason::ExpiredValidTime { valid_until } => {
            format!("an `as_of.valid` before {valid_until}")
        }
        Reason::Decayed { threshold, .. } | Reason::AwaitingConfirmation { threshold, .. } => {
            format!(
                "a confirmation that it still holds (`tenure store confirm`), or a threshold of less than {threshold}"
            )
        }
        Reason::NotYetKnown { tx_start } => format!("an `as_of.known` at or after {tx_start}"),
        Reason::NoLongerHeld { tx_end } => format!("an `as_of.known` before {tx_end}"),
        Reason::EntityPending { entity } => {
            format!("a decision which entity `{entity}` is (`tenure review show {entity}`)")
        }
        Reason::Contradicted { status } => format!("a judgement that it is clean: it is {status}"),
        Reason::Overridden { by, .. } => {
            format!("a decision for it against `{by}`, or `contradictions = \"keep\"` in the policy")
        }
        Reason::ConflictingClaimUnresolved { with } => {
            format!("a decision between it and `{with}` (`tenure conflicts resolve`)")
        }
        Reason::Stale { of } => format!("a revision of it that is made from `{of}` as it is now"),
        Reason::Damaged { .. } => "a store that is whole: restore it, or write the object again".into(),
        Reason::Superseded { by } => format!("an `as_of` at which `{by}` does not hold"),
        Reason::Overwritten { by } => {
            format!("`guidance.equals = \"accumulate\"` in the policy: `{by}` claims the same slot later")
        }
        Reason::Duplicate { of } => format!("nothing: `{of}` says the same"),
        Reason::NearDuplicate { of, .. } => {
            format!("`near_duplicates = 0.0` in the policy: `{of}` says nearly the same")
        }
        Reason::NotApplicable { .. } => "a task of one of the types that it applies to".into(),
        Reason::NotNearTask => "a task that is near its `why_it_matters`, or its text where it has none".into(),
        Reason::BelowFloor { factor, floor } => {
            let own = policy.map(|policy| policy.section(verdict.section).relevance_floor);
            let is_own = own.is_none_or(|own| own == *floor);
            let setting = if *factor == Factor::Relevance && !is_own {
                "unasked_floor".to_owned()
            } else {
                format!("sections.{}.{factor}_floor", verdict.section)
            };
            format!("{factor} of at least {floor}, or a lower `{setting}`")
        }
        Reason::GatedOut { relevance, rank } => {
            let which = match verdict.section {
                Section::Tools => "a gate for tools",
                _ => "a gate",
            };
            format!("{which} with a threshold of at most {relevance} and a `top_k` of at least {rank}")
        }
        Reason::NotRetrieved {
            subquery: Some(name),
            rank,
        } => format!("a `limit` of at least {rank} in the subquery `{name}`"),
        Reason::NotRetrieved { subquery: None, .. } => {
            "a subquery that asks for it, or no retrieval plan for its section".into()
        }
        Reason::IrrelevantToActiveTask { needed } => {
            let score = verdict.score.map_or_else(String::new, |score| {
                format!(" (it has {})", score.composite)
            });
            format!("a composite score of at least {needed}{score}, or a lower `grades.minimal`")
        }
        Reason::ClosureMissing { name } => format!("`{name}`, which it must not stand without"),
        Reason::ClosureTooLong { limit } => {
            format!("a `keep_with` that reaches at most {limit} others")
        }
        Reason::OrphanToolResult => "the call that it answers, before it".into(),
        Reason::UnansweredToolCall => "a result for each of its calls, right after it".into(),
        Reason::OverLimit { limit } => format!(
            "a limit of at least {} tokens in the policy's `limits`, or a text of at most {limit}",
            verdict.tokens
        ),
        Reason::NextEpoch => "the next epoch, which a request without `served` begins".into(),
        Reason::NextRequest => {
            "another request or step of the task, or the next epoch, which a request without `served` begins".into()
        }
        Reason::AlreadySent => "nothing: the model has it before it until the epoch ends".into(),
        Reason::NoRoom { .. }
        | Reason::OverShare { .. }
        | Reason::Deferred { .. }
        | Reason::AfterStop { .. } => "a larger budget".into(),
        Reason::TooManyConstraints { .. } => {
            "a higher `priority`, fewer constraints, or a larger `quality.constraint_density` in the policy"
                .into()
        }
        Reason::NotWorthItsCost { .. } => format!(
            "a lower `cost_sensitivity`, or a lower `sections.{}.cost`",
            verdict.section
        ),
        Reason::OnPage { page } => format!("nothing: it stands on page {page}"),
        Reason::LeftToRetrieval => {
            "`context.mode = \"full\"`, or a larger `context.share` or budget; or a call of `query_archive`"
                .into()
        }
        Reason::Mandatory { .. }
        | Reason::Fits
        | Reason::KeptWith { .. }
        | Reason::Attached(_) => "nothing".into(),
    }
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Verdict {
            name,
            verdict,
            reason,
            section,
            tokens,
            score,
            rung,
            held_by,
            canonical_entity_ids,
            speaks_of,
            mentions,
        } = &self.verdict;
        writeln!(
            f,
            "{name}: {verdict}, {} [{}]",
            reason.sentence(),
            reason.code()
        )?;
        writeln!(f, "  section {section}, {tokens} tokens")?;
        if let Some(rung) = rung {
            let held = held_by.map_or(String::new(), |by| format!(", held by {by}"));
            writeln!(f, "  rung {} of 5, {rung}{held}", rung.number())?;
        }
        if !canonical_entity_ids.is_empty() {
            writeln!(f, "  about {}", canonical_entity_ids.join(", "))?;
        }
        if !mentions.is_empty() {
            writeln!(f, "  mentions {}", mentions.join(", "))?;
        }
        if let Some(link) = speaks_of {
            writeln!(f, "  near for {link}")?;
        }
        if let Some(score) = score {
            writeln!(
                f,
                "  score {} ({}): relevance {}, authority {}, freshness {}, utility {}, economy {}, confidence {}",
                score.composite,
                score.grade,
                score.relevance,
                score.authority,
                score.freshness,
                score.utility,
                score.economy,
                score.confidence
            )?;
        }
        match &self.remedy {
            Remedy::InAlready => writeln!(f, "  it is in"),
            Remedy::Budget { tokens } => writeln!(
                f,
                "  a budget of {tokens} tokens lets it in (checked by compiling)"
            ),
            Remedy::Change { what } => writeln!(f, "  what would let it in: {what}"),
        }
    }
}
