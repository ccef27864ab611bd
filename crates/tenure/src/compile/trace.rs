//! The account of a compile: a verdict with its reason for every candidate, as data.
//!
//! A trace is pure: the same inputs give the same trace, byte for byte. What only the outside knows
//! (ids, instants, latencies, the provider's usage) goes into a [`CompileRecord`] around it.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::base::error::json_error;
use crate::base::num::Score;
use crate::base::time::Instant;
use crate::base::tokenizer::CountKind;
pub use crate::compile::ladder::{Hold, Rung};
pub use crate::compile::quality::Measured;
pub use crate::compile::reason::{
    Affinity, Attachment, EntityLink, Factor, Obligation, Reason, Ruling, Stage,
};
use crate::compile::score::ScoreCard;
use crate::condense::Method;
use crate::condense::pointer::PointerId;
use crate::input::candidates::Unfetched;
use crate::input::policy::ContextMode;
use crate::input::policy::Strategy;
use crate::input::retrieval::RetrievalReport;
pub use crate::input::served::{EpochCause, Form};
use crate::object::Authority;
use crate::object::section::Section;
use crate::object::{TaskType, TextField};
pub use crate::provider::answer::ProviderUsage;
use crate::rank::allocate::Certificate;
use crate::session::Forecast;

/// The version of the trace's form.
pub const TRACE_VERSION: u32 = 1;

/// The verdict on one candidate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The candidate's name.
    pub name: Arc<str>,
    /// The ruling.
    pub verdict: Ruling,
    /// The reason.
    pub reason: Reason,
    /// The section in which it stands or would stand.
    pub section: Section,
    /// The tokens that it costs as it would stand; 0 when it left before it was priced.
    pub tokens: u32,
    /// Its score; null when it left before it was ranked.
    pub score: Option<ScoreCard>,
    /// The step that it reached on the ladder from what somebody said to what the model is told. None in traces from
    /// before verdicts had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rung: Option<Rung>,
    /// The condition that stopped it there; none on the last rung.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<Hold>,
    /// The canonical ids of the entities that it is about, where its own are others: of merged entities.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub canonical_entity_ids: Vec<String>,
    /// The entity of the task, or next to one, for which it counts as near: where the registry says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaks_of: Option<EntityLink>,
    /// The canonical ids of the entities that its text mentions, as that was bound when it was stored, and as far as the caller
    /// may know them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<String>,
}

/// Something worth knowing about a candidate beside its verdict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// Invisible characters stand where they have no lawful use. The bytes are kept.
    HiddenText {
        /// The candidate.
        name: Arc<str>,
        /// The field that they stand in, where it is not the content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        field: Option<TextField>,
        /// The number of hidden characters.
        hidden: u32,
        /// The number of those that change the direction of text.
        bidi: u32,
        /// The text that they spell, if they spell one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<String>,
    },
    /// Text imitates a frame, a heading, a label or a control token, and was escaped.
    ImitationEscaped {
        /// The candidate.
        name: Arc<str>,
        /// The number of escapes.
        times: u32,
    },
    /// A message imitates a frame, a heading, a label or a control token, and is passed on byte for byte.
    ImitationPassed {
        /// The candidate.
        name: Arc<str>,
        /// The number of imitations.
        times: u32,
    },
    /// Text imitates a frame, a heading or a label in disguise. It stands unchanged.
    DisguisedImitation {
        /// The candidate.
        name: Arc<str>,
    },
    /// White space at the end was left out so that counts add up.
    SeamTrimmed {
        /// The candidate.
        name: Arc<str>,
    },
    /// A label was put before the text so that counts add up.
    SeamLabelled {
        /// The candidate.
        name: Arc<str>,
    },
    /// A person has yet to say which entity this is: what speaks of it stands as its claim or as data, or not at all.
    EntityUndecided {
        /// The id of the entity.
        entity: String,
        /// The candidates that speak of it.
        names: Vec<Arc<str>>,
    },
    /// An alias names more than one entity and was left unresolved.
    AmbiguousAlias {
        /// The alias.
        alias: String,
        /// The entities.
        entities: Vec<String>,
    },
    /// A fact was missing and the stated fallback was used.
    FactMissing {
        /// The candidate.
        name: Arc<str>,
        /// The fallback.
        fallback: String,
    },
    /// Objects replace each other in a cycle. None of them is left out for it.
    SupersessionCycle {
        /// The candidates, in registry order.
        names: Vec<Arc<str>>,
    },
    /// Two pieces of guidance say nearly the same, and one asks what the other forbids. Both are kept.
    OpposedGuidance {
        /// The candidate that asks.
        name: Arc<str>,
        /// The one that forbids.
        forbids: Arc<str>,
        /// The share of the shorter one's words that both have.
        shared: Score,
    },
    /// The payload differs from the input, as a rule of the target wants it.
    RuleApplied {
        /// The rule, by its name in `docs/reference/wire.md`.
        rule: String,
        /// The number of times.
        times: u32,
    },
    /// The provider takes the payload only with a beta, which the request's headers must name.
    BetaNeeded {
        /// The beta.
        beta: String,
    },
    /// The policy's template for this type of task failed on an object, which stands without guidance.
    TemplateFailed {
        /// The candidate.
        name: Arc<str>,
        /// The type of task.
        task_type: TaskType,
        /// The fault, in words.
        why: String,
    },
    /// Constraints that must stand take more of the payload than the policy lets them.
    DenseConstraints {
        /// The share of the payload that they take.
        density: Score,
        /// The policy's limit.
        limit: Score,
    },
    /// The encoder does not know the task's language, or no word of it, and the stated fallback was used.
    TaskNotEncoded {
        /// The encoder's name.
        model: String,
        /// The fallback.
        fallback: String,
    },
    /// No one supplied vectors, or not that of the query, and the stated fallback was used.
    NoVectors {
        /// The fallback.
        fallback: String,
    },
    /// An object asked for more authority than its source, its author or its writer gives it.
    AuthorityLowered {
        /// The candidate.
        name: Arc<str>,
        /// The authority that it asked for.
        asked: Authority,
        /// The authority that it has.
        has: Authority,
    },
    /// Rules stay out because they are not near to the task, as all of them take more than the policy's share of the budget.
    RulesLeftOut {
        /// The number of rules that stay out.
        left: u32,
        /// The number of all.
        rules: u32,
        /// The share of the budget, in tokens.
        share: u32,
    },
}

impl Note {
    /// The code, as JSON has it.
    pub fn code(&self) -> String {
        let written = serde_json::to_value(self).unwrap_or_default();
        written["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The finding in words.
    pub fn sentence(&self) -> String {
        match self {
            Note::HiddenText {
                name,
                field,
                hidden,
                bidi,
                payload,
            } => {
                let spells = payload
                    .as_ref()
                    .map_or_else(String::new, |payload| format!(", which spell {payload:?}"));
                let field = field.map_or_else(String::new, |field| format!(" in its {field}"));
                format!(
                    "{name}: {hidden} hidden and {bidi} direction-changing characters{field}{spells}"
                )
            }
            Note::ImitationEscaped { name, times } => format!(
                "{name}: imitates a frame, a heading, a label or a control token {times} times; escaped"
            ),
            Note::ImitationPassed { name, times } => format!(
                "{name}: imitates a frame, a heading, a label or a control token {times} times; passed on as it came"
            ),
            Note::DisguisedImitation { name } => {
                format!("{name}: imitates a frame, a heading or a label in disguise; left as it is")
            }
            Note::SeamTrimmed { name } => format!("{name}: white space at the end left out"),
            Note::SeamLabelled { name } => {
                format!("{name}: labelled, because it starts with white space or `/`")
            }
            Note::EntityUndecided { entity, names } => format!(
                "a person has yet to say which entity `{entity}` is: {} speak of it",
                names.join(", ")
            ),
            Note::AmbiguousAlias { alias, entities } => {
                format!("`{alias}` names several entities: {}", entities.join(", "))
            }
            Note::FactMissing { name, fallback } => {
                format!("{name}: a fact was missing; {fallback} stood in")
            }
            Note::SupersessionCycle { names } => {
                format!("these replace each other in a cycle: {}", names.join(", "))
            }
            Note::OpposedGuidance { name, forbids, .. } => {
                format!("{name} asks what {forbids} forbids")
            }
            Note::RuleApplied { rule, times } => format!("rule {rule}: applied {times} times"),
            Note::BetaNeeded { beta } => format!("send the header anthropic-beta: {beta}"),
            Note::TemplateFailed {
                name,
                task_type,
                why,
            } => format!("{name}: the template for {task_type} failed: {why}"),
            Note::DenseConstraints { density, limit } => format!(
                "constraints take {density} of the payload, more than {limit}, and none of them may leave"
            ),
            Note::TaskNotEncoded { model, fallback } => {
                format!("the encoder {model} knows no word of the task; {fallback} stood in")
            }
            Note::NoVectors { fallback } => {
                format!("there were no vectors; {fallback} stood in")
            }
            Note::AuthorityLowered { name, asked, has } => format!(
                "{name}: asked for authority {asked} and has {has}, the most that its source, author and writer give it"
            ),
            Note::RulesLeftOut { left, rules, share } => format!(
                "{left} of {rules} rules stay out, as they are not near to the task: all of them take more than {share} tokens, \
                 the policy's share of the budget for rules (`guidance.rules`)"
            ),
        }
    }
}

/// The number of candidates that entered and left a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageReport {
    /// The stage.
    pub stage: Stage,
    /// The number of candidates that entered.
    pub entered: u32,
    /// The number that left it for the next.
    pub left: u32,
}

/// The decisions of the plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanReport {
    /// The epoch's number.
    pub epoch: u32,
    /// The cause of this epoch.
    pub cause: EpochCause,
    /// The number of frozen objects.
    pub frozen: u32,
    /// The tools offered, in order.
    pub tools: Vec<Arc<str>>,
    /// The figures of the choice between the whole corpus and retrieval, where it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextReport>,
    /// The figures of the choice between all rules and those near to the task, where it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<RulesReport>,
}

/// The figures of the choice between all rules and those near to the task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RulesReport {
    /// The number of rules that the caller may see and that hold.
    pub rules: u32,
    /// The policy's share of the budget for them, in tokens.
    pub share: u32,
    /// True if all of them would take more, so that only what is near to the task or critical may stand.
    pub near_alone: bool,
}

/// The figures of the choice between the whole corpus and retrieval. The corpus stands whole where it is below the
/// threshold, none of it is too long, and it fits beside the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextReport {
    /// The mode that was asked for.
    pub mode: ContextMode,
    /// The number of documents in the corpus.
    pub documents: u32,
    /// The number of them, and of what must stand with them, that are longer than the policy allows for one item.
    pub too_long: u32,
    /// The tokens that they would cost together.
    pub corpus: u64,
    /// The policy's share of the window in tokens: 5 % less where the last epoch left the corpus to
    /// retrieval, 5 % more where it stood whole.
    pub threshold: u64,
    /// At most what else must stand, in tokens, with the minimums of the sections.
    pub beside: u64,
    /// The budget.
    pub budget: u32,
}

/// The allocation of a section and its use.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationReport {
    /// The section.
    pub section: Section,
    /// The policy's minimum.
    pub min: u32,
    /// The policy's maximum, 0 for none.
    pub max: u32,
    /// The tokens of all its elastic candidates.
    pub demand: u32,
    /// The tokens that were sent before in this epoch: they count against the minimum and the maximum.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub stands: u32,
    /// The tokens that it was given.
    pub allocated: u32,
    /// The tokens of its included elastic candidates, flow-back included.
    pub used: u32,
    /// The part of those that other sections left over.
    pub flow_back: u32,
    /// The worth of one more token to it; 0 when it has all it can use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marginal: Option<f64>,
    /// By how much of its score another choice could at most beat this one in the same tokens, ranks
    /// and closures set aside: the gap to the fractional knapsack. None where everything fits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Score>,
}

fn is_nothing(tokens: &u32) -> bool {
    *tokens == 0
}

/// An object that stands in a shorter form.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Condensed {
    /// Its place among the candidates.
    pub candidate: u32,
    /// Its name.
    pub name: Arc<str>,
    /// The tokens of its full form.
    pub from: u32,
    /// The tokens of the form that stands.
    pub to: u32,
    /// That form.
    pub form: Form,
    /// The method: its author's hand, or a condensation.
    pub method: Method,
    /// The share of the content's numbers, names, negations and identifiers that it still has; none
    /// where its author made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<Score>,
    /// By what the original can be read back; none where nothing was left out, or by its author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<PointerId>,
}

/// An object that left for want of room, and by what it can be read back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evicted {
    /// Its place among the candidates.
    pub candidate: u32,
    /// Its name.
    pub name: Arc<str>,
    /// The tokens that were won.
    pub tokens: u32,
    /// The share of its relevance that was left.
    pub current: Score,
    /// By what the original can be read back.
    pub pointer: PointerId,
}

/// The most evicted objects that a trace names: those whose leaving won most.
pub const MAX_EVICTED: usize = 16;

/// The tokenizer that counted, and the precision of its counts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenizerReport {
    /// Its name.
    pub name: String,
    /// The precision of its counts.
    pub count: CountKind,
}

/// The policy that decided.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyReport {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its digest.
    pub digest: Digest,
}

/// The digests of the parts of a compile's input. Together they are its `input_digest`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InputDigests {
    /// The policy.
    pub policy: Digest,
    /// The request, the served ledger included.
    pub request: Digest,
    /// The candidates: revisions, status, usage buckets, registry positions.
    pub candidates: Digest,
    /// The facts.
    pub facts: Digest,
    /// The world: model, tokenizer, frame key.
    pub world: Digest,
}

impl InputDigests {
    /// The digest of the digests.
    pub fn root(&self) -> Digest {
        let parts = [
            &self.policy,
            &self.request,
            &self.candidates,
            &self.facts,
            &self.world,
        ];
        Digest::of_parts(parts.map(|digest| digest.bytes().as_slice()))
    }
}

/// The full account of a compile.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The version of this form.
    pub version: u32,
    /// The digest of everything that the compile depended on.
    pub input_digest: Digest,
    /// Its parts.
    pub inputs: InputDigests,
    /// The digest of the payload's bytes; none after a dry run.
    pub payload_digest: Option<Digest>,
    /// The policy.
    pub policy: PolicyReport,
    /// The model.
    pub model: String,
    /// The tokenizer.
    pub tokenizer: TokenizerReport,
    /// The most tokens that the payload may have.
    pub budget: u32,
    /// The tokens that it has.
    pub total_tokens: u32,
    /// The model's way to the corpus. None in traces from before there was a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// The decisions of the plan.
    pub plan: PlanReport,
    /// The number of candidates that each stage saw.
    pub stages: Vec<StageReport>,
    /// The allocation of each section.
    pub allocations: Vec<AllocationReport>,
    /// The shadow price of the budget: what one more token would be worth, in the unit of the policy's
    /// weights. None where the sections are one flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// The proof that no other allocation is worth more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
    /// The objects in a shorter form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub condensed: Vec<Condensed>,
    /// The turns, results and evidence that left for want of room, those first whose leaving won most: (1 − what is
    /// left of their relevance) · tokens. The first 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evicted: Vec<Evicted>,
    /// One verdict for each candidate, in their order; in a brief account those on what went in and on what was near.
    pub verdicts: Vec<Verdict>,
    /// The findings of each subquery of the request's retrieval plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalReport>,
    /// The sources that collecting did not fetch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfetched: Vec<Unfetched>,
    /// Other findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The injection surface V: the share of tokens at level 4, each weighted by what its isolation
    /// leaves open.
    pub injection_surface: Score,
    /// The eight quality metrics. None in traces from before they were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quality: Vec<Measured>,
    /// The forecast of the conversation; none where no turn stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// The view: the caller's, from `admitted` on, or the operator's, with everything.
    #[serde(default)]
    pub view: View,
    /// The candidates without a verdict here; none where there is one for each ([`Trace::brief`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Rest>,
}

/// The part of an account that a brief one leaves out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rest {
    /// The candidates that have no verdict here, by the code of their reason.
    pub reasons: BTreeMap<String, Left>,
    /// The place of each verdict that is here among all candidates. Places elsewhere in the account count the verdicts that
    /// are here.
    pub places: Vec<u32>,
    /// The digest of the whole account.
    pub whole: Digest,
    /// The number of further sources that were not fetched.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub unfetched: u32,
    /// The number of further findings, by their codes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, u32>,
}

/// Candidates that left for one reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Left {
    /// The ruling.
    pub verdict: Ruling,
    /// Their number.
    pub candidates: u32,
    /// Their tokens.
    pub tokens: u64,
    /// The number of those that left for their age.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub aged: u32,
}

/// The reader of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// The operator, who sees everything.
    #[default]
    Operator,
    /// The caller, who sees what they were admitted to.
    Caller,
}

impl Trace {
    /// A trace from JSON.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is not a trace of a known version.
    pub fn from_json(text: &str) -> Result<Trace, Error> {
        let trace: Trace =
            serde_json::from_str(text).map_err(|error| json_error(&error, "trace"))?;
        if trace.version != TRACE_VERSION {
            return Err(
                Error::input(format!("trace version {} is unknown", trace.version))
                    .expected(format!("version {TRACE_VERSION}")),
            );
        }
        Ok(trace)
    }

    /// The verdict on the candidate of this name: of several that share it, the first that the
    /// caller may see.
    pub fn verdict(&self, name: &str) -> Option<&Verdict> {
        let named = || self.verdicts.iter().filter(|verdict| &*verdict.name == name);
        named()
            .find(|verdict| verdict.verdict != Ruling::Denied)
            .or_else(|| named().next())
    }
}

/// A trace with what only the outside knows. Stored; never an input of a compile.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompileRecord {
    /// The record's id.
    pub record_id: String,
    /// The instant of the compile.
    pub compiled_at: Instant,
    /// The time that it took, in microseconds.
    pub compilation_latency_us: u64,
    /// The provider's count of its use, once it has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ProviderUsage>,
    /// The number of times that the request had to be sent again.
    #[serde(default)]
    pub downstream_retries: u32,
    /// The number of the compiler that made it ([`COMPILER`](crate::COMPILER)). Records without it are of compiler 1.
    #[serde(default = "first_compiler")]
    pub compiler: u32,
    /// The trace.
    pub trace: Trace,
}

fn first_compiler() -> u32 {
    1
}
