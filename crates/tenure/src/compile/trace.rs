//! Why every candidate is in or out: verdicts with their reasons, as data.
//!
//! A trace is pure: the same inputs give the same trace, byte for byte. What only the outside knows
//! (ids, instants, latencies, the provider's usage) goes into a [`CompileRecord`] around it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::base::error::json_error;
use crate::base::num::Score;
use crate::base::time::Instant;
use crate::base::tokenizer::CountKind;
use crate::compile::score::ScoreCard;
use crate::condense::pointer::PointerId;
use crate::condense::{Method, Omission};
use crate::input::candidates::Unfetched;
use crate::input::policy::ContextMode;
use crate::input::policy::Strategy;
use crate::input::retrieval::RetrievalReport;
pub use crate::input::served::{EpochCause, Form};
use crate::object::section::Section;
use crate::object::{
    Classification, ContradictionStatus, Modality, RevisionId, TaskType, vocabulary::vocabulary,
};
use crate::rank::allocate::Certificate;

/// The version of the trace's form.
pub const TRACE_VERSION: u32 = 1;

vocabulary! {
    /// What became of a candidate.
    Ruling ("verdict") {
        /// It stands in the payload.
        Included = "included",
        /// The caller may see it, but it does not stand in the payload.
        Omitted = "omitted",
        /// The caller may not see it. Only the operator's view says so.
        Denied = "denied",
    }
}

vocabulary! {
    /// Why an object must be in the payload.
    Obligation ("obligation") {
        /// Its section's tier is fixed.
        FixedTier = "fixed_tier",
        /// It is not removable.
        NotRemovable = "not_removable",
        /// It belongs to the exchange that is not finished.
        OpenExchange = "open_exchange",
        /// It was sent in this epoch and stays as it is.
        Frozen = "frozen",
        /// The corpus stands whole.
        FullContext = "full_context",
        /// The caller's own `query_archive`, by which the model reaches what is left to retrieval.
        Archive = "archive",
    }
}

vocabulary! {
    /// The factors that have a floor.
    Factor ("factor") {
        /// Nearness to the task.
        Relevance = "relevance",
        /// Newness.
        Freshness = "freshness",
        /// Standing of the source.
        Authority = "authority",
    }
}

/// Why a candidate has the verdict that it has. One variant, one entry in `docs/reasons.md`, one
/// test.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Included: it must be there.
    Mandatory {
        /// Why it must.
        because: Obligation,
    },
    /// Included: it ranked high enough to fit.
    Fits,
    /// Included: an included object cannot stand without it.
    KeptWith {
        /// That object.
        name: Arc<str>,
    },
    /// Included: far from the task by itself, of use beside an object that stands.
    Attached(Box<Attachment>),

    /// Denied: it belongs to another tenant.
    OtherTenant,
    /// Denied: it belongs to another user, or the caller names none.
    OtherUser,
    /// Denied: it belongs to another project, or the caller names none.
    OtherProject,
    /// Denied: it belongs to another session, or the caller names none.
    OtherSession,
    /// Denied: it belongs to another task, or the caller names none.
    OtherTask,
    /// Denied: the caller has none of the roles that it allows.
    RoleMissing,
    /// Denied: the caller has a role that it denies.
    RoleDenied,
    /// Denied: the caller's clearance is too low.
    Classified {
        /// How sensitive it is.
        classification: Classification,
    },
    /// Denied: memory that comes from a web origin is read only for that origin.
    OtherOrigin {
        /// Where it comes from.
        origin: Box<str>,
    },
    /// Denied: it is tagged as personal data and the caller is not authorised.
    PersonalData,

    /// Omitted: evidence without a source or a time, or a result without a time, is refused.
    AnonymousEvidence,
    /// Omitted: this kind of content cannot be compiled yet.
    UnsupportedModality {
        /// The kind.
        modality: Modality,
    },
    /// Omitted: it is not true yet.
    NotYetValid {
        /// When it becomes true.
        valid_from: Instant,
    },
    /// Omitted: it is no longer true.
    ExpiredValidTime {
        /// When it ceased to be true.
        valid_until: Instant,
    },
    /// Omitted: the system did not know it yet.
    NotYetKnown {
        /// When it came to know it.
        tx_start: Instant,
    },
    /// Omitted: the system no longer held it to be so.
    NoLongerHeld {
        /// When it ceased to.
        tx_end: Instant,
    },
    /// Omitted: the store judged that something contradicts it.
    Contradicted {
        /// The judgement.
        status: ContradictionStatus,
    },
    /// Omitted: what the store holds of it is damaged.
    Damaged {
        /// The revision that was written. In a box: the other reasons are shorter, and there is one for each object.
        revision: Box<RevisionId>,
    },
    /// Omitted: another object that the caller sees replaces it.
    Superseded {
        /// That object.
        by: Arc<str>,
    },
    /// Omitted: another candidate is the same evidence and stands higher or came first.
    Duplicate {
        /// That candidate.
        of: Arc<str>,
    },
    /// Omitted: it is data, and something that stands higher says nearly the same.
    NearDuplicate {
        /// That candidate.
        of: Arc<str>,
        /// How much of the two is the same.
        similarity: Score,
    },
    /// Omitted: it does not apply to this type of task.
    NotApplicable {
        /// The type, when the request names one.
        task_type: Option<TaskType>,
    },
    /// Omitted: a preference whose reason is not near the task.
    NotNearTask,
    /// Omitted: a factor is below the section's floor.
    BelowFloor {
        /// The factor.
        factor: Factor,
        /// The floor.
        floor: Score,
    },
    /// Omitted: it does not pass the request's gate.
    GatedOut {
        /// Its relevance.
        relevance: Score,
        /// Its rank among what was gated, counted from one.
        rank: u32,
    },
    /// Omitted: no subquery of the retrieval plan brings it.
    NotRetrieved {
        /// The subquery that came nearest to bringing it; none when it matches none.
        subquery: Option<Arc<str>>,
        /// Its rank there, counted from one; nought when it matches none.
        rank: u32,
    },
    /// Omitted: its composite score is below the least grade.
    IrrelevantToActiveTask {
        /// The least score that is not irrelevant.
        needed: Score,
    },
    /// Omitted: an object without which it must not stand is not there.
    ClosureMissing {
        /// The name it asks for.
        name: Arc<str>,
    },
    /// Omitted: it cannot stand without more objects than one may bring along.
    ClosureTooLong {
        /// The most.
        limit: u32,
    },
    /// Omitted: a result whose call is not there.
    OrphanToolResult,
    /// Omitted: a call without all its results.
    UnansweredToolCall,
    /// Omitted: it is longer than the policy allows for one item.
    OverLimit {
        /// The limit in tokens.
        limit: u32,
    },
    /// Omitted: it does not fit into what is left.
    NoRoom {
        /// What it needs, with its closure and its section's heading.
        needed: u32,
        /// What was left for its section at its last turn.
        left: u32,
        /// The last that was let in before that.
        displaced_by: Option<Arc<str>>,
        /// Why a turn of the history had to wait for the others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Omission>,
    },
    /// Omitted: it is longer than one item's share of its section, and when the others had had their
    /// turn not enough was left over.
    OverShare {
        /// What it needs, with its closure and its section's heading.
        needed: u32,
        /// The share in tokens.
        share: u32,
    },
    /// Omitted: its section's next tokens are worth less than they cost.
    NotWorthItsCost {
        /// What it needs, with its closure and its section's heading.
        needed: u32,
        /// How many tokens of its section are worth their cost.
        worth: u32,
    },
    /// Omitted: evidence that waits for a later turn, because not everything fits into this one.
    Deferred {
        /// What it would cost.
        needed: u32,
    },
    /// Omitted: evidence that stands on another page.
    OnPage {
        /// That page, counted from one.
        page: u32,
    },
    /// Omitted: a document of the corpus, which the model asks for when it needs it.
    LeftToRetrieval,
    /// Omitted: an optional tool that is new joins at the next epoch.
    NextEpoch,
    /// Evidence and recall are chosen once for a request and a step of its task: it was left out then.
    NextRequest,
    /// It stands in the history, in what was sent before.
    AlreadySent,
    /// Omitted: the strict walk stopped before it.
    AfterStop {
        /// The block that did not fit.
        stopped_at: Arc<str>,
    },
}

/// What a small unit was attached to, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// That object.
    pub to: Arc<str>,
    /// How well it fits: the sum of the parts, weighted as the policy says.
    pub affinity: Score,
    /// The parts.
    pub parts: Affinity,
}

/// The parts of an affinity, each from 0 to 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Affinity {
    /// How near the unit is to the task.
    pub task: Score,
    /// How near the unit is to the object.
    pub fit: Score,
    /// How near the object is to the task.
    pub selected: Score,
    /// Whether both are of one source.
    pub same: Score,
    /// Whether the unit speaks of what is being done or waits to be done.
    pub active: Score,
}

impl Reason {
    /// What this reason amounts to.
    pub fn ruling(&self) -> Ruling {
        match self {
            Reason::Mandatory { .. }
            | Reason::Fits
            | Reason::KeptWith { .. }
            | Reason::Attached(_) => Ruling::Included,
            Reason::OtherTenant
            | Reason::OtherUser
            | Reason::OtherProject
            | Reason::OtherSession
            | Reason::OtherTask
            | Reason::RoleMissing
            | Reason::RoleDenied
            | Reason::Classified { .. }
            | Reason::OtherOrigin { .. }
            | Reason::PersonalData => Ruling::Denied,
            _ => Ruling::Omitted,
        }
    }

    /// The reason as its code, as it stands in JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Reason::Mandatory { .. } => "mandatory",
            Reason::Fits => "fits",
            Reason::KeptWith { .. } => "kept_with",
            Reason::Attached(_) => "attached",
            Reason::OtherTenant => "other_tenant",
            Reason::OtherUser => "other_user",
            Reason::OtherProject => "other_project",
            Reason::OtherSession => "other_session",
            Reason::OtherTask => "other_task",
            Reason::RoleMissing => "role_missing",
            Reason::RoleDenied => "role_denied",
            Reason::Classified { .. } => "classified",
            Reason::OtherOrigin { .. } => "other_origin",
            Reason::PersonalData => "personal_data",
            Reason::AnonymousEvidence => "anonymous_evidence",
            Reason::UnsupportedModality { .. } => "unsupported_modality",
            Reason::NotYetValid { .. } => "not_yet_valid",
            Reason::ExpiredValidTime { .. } => "expired_valid_time",
            Reason::NotYetKnown { .. } => "not_yet_known",
            Reason::NoLongerHeld { .. } => "no_longer_held",
            Reason::Contradicted { .. } => "contradicted",
            Reason::Damaged { .. } => "damaged",
            Reason::Superseded { .. } => "superseded",
            Reason::Duplicate { .. } => "duplicate",
            Reason::NearDuplicate { .. } => "near_duplicate",
            Reason::NotApplicable { .. } => "not_applicable",
            Reason::NotNearTask => "not_near_task",
            Reason::BelowFloor { .. } => "below_floor",
            Reason::GatedOut { .. } => "gated_out",
            Reason::NotRetrieved { .. } => "not_retrieved",
            Reason::IrrelevantToActiveTask { .. } => "irrelevant_to_active_task",
            Reason::ClosureMissing { .. } => "closure_missing",
            Reason::ClosureTooLong { .. } => "closure_too_long",
            Reason::OrphanToolResult => "orphan_tool_result",
            Reason::UnansweredToolCall => "unanswered_tool_call",
            Reason::OverLimit { .. } => "over_limit",
            Reason::NoRoom { .. } => "no_room",
            Reason::OverShare { .. } => "over_share",
            Reason::NotWorthItsCost { .. } => "not_worth_its_cost",
            Reason::Deferred { .. } => "deferred",
            Reason::OnPage { .. } => "on_page",
            Reason::LeftToRetrieval => "left_to_retrieval",
            Reason::NextEpoch => "next_epoch",
            Reason::NextRequest => "next_request",
            Reason::AlreadySent => "already_sent",
            Reason::AfterStop { .. } => "after_stop",
        }
    }

    /// The reason in words.
    pub fn sentence(&self) -> String {
        match self {
            Reason::Mandatory { because } => match because {
                Obligation::FixedTier => "mandatory: its section is fixed".into(),
                Obligation::NotRemovable => "mandatory: not removable".into(),
                Obligation::OpenExchange => "mandatory: the open exchange".into(),
                Obligation::Frozen => "mandatory: sent in this epoch".into(),
                Obligation::FullContext => "mandatory: the corpus stands whole".into(),
                Obligation::Archive => "mandatory: it reaches what is left to retrieval".into(),
            },
            Reason::Fits => "ranked and fits".into(),
            Reason::KeptWith { name } => format!("kept with `{name}`"),
            Reason::Attached(attachment) => {
                let Attachment { to, affinity, .. } = &**attachment;
                format!("attached to `{to}`: affinity {affinity}")
            }
            Reason::OtherTenant => "belongs to another tenant".into(),
            Reason::OtherUser => "belongs to another user".into(),
            Reason::OtherProject => "belongs to another project".into(),
            Reason::OtherSession => "belongs to another session".into(),
            Reason::OtherTask => "belongs to another task".into(),
            Reason::RoleMissing => "the caller has no allowed role".into(),
            Reason::RoleDenied => "the caller has a denied role".into(),
            Reason::Classified { classification } => format!("classified {classification}"),
            Reason::OtherOrigin { origin } => format!("memory of another origin, {origin}"),
            Reason::PersonalData => "personal data without authorisation".into(),
            Reason::AnonymousEvidence => "evidence without source or time".into(),
            Reason::UnsupportedModality { modality } => {
                format!("{modality} cannot be compiled yet")
            }
            Reason::NotYetValid { valid_from } => format!("not valid before {valid_from}"),
            Reason::ExpiredValidTime { valid_until } => format!("expired at {valid_until}"),
            Reason::NotYetKnown { tx_start } => format!("not known before {tx_start}"),
            Reason::NoLongerHeld { tx_end } => format!("no longer held from {tx_end}"),
            Reason::Contradicted { status } => format!("judged {status}"),
            Reason::Damaged { revision } => format!("its revision {revision} is damaged"),
            Reason::Superseded { by } => format!("superseded by `{by}`"),
            Reason::Duplicate { of } => format!("the same as `{of}`"),
            Reason::NearDuplicate { of, similarity } => {
                format!("nearly the same as `{of}`: {similarity}")
            }
            Reason::NotApplicable {
                task_type: Some(task_type),
            } => format!("does not apply to {task_type}"),
            Reason::NotApplicable { task_type: None } => {
                "applies only to tasks of a stated type".into()
            }
            Reason::NotNearTask => "its reason is not near the task".into(),
            Reason::BelowFloor { factor, floor } => format!("{factor} below the floor {floor}"),
            Reason::GatedOut { relevance, rank } => {
                format!("relevance {relevance}, rank {rank}, does not pass the gate")
            }
            Reason::NotRetrieved { subquery, rank } => match subquery {
                Some(name) => format!("rank {rank} of subquery `{name}`, beyond its limit"),
                None => "matches no subquery of the retrieval plan".into(),
            },
            Reason::IrrelevantToActiveTask { needed } => {
                format!("irrelevant: score below {needed}")
            }
            Reason::ClosureMissing { name } => format!("`{name}`, which it needs, is not there"),
            Reason::ClosureTooLong { limit } => format!("needs more than {limit} others"),
            Reason::OrphanToolResult => "a result without its call".into(),
            Reason::UnansweredToolCall => "a call without all its results".into(),
            Reason::OverLimit { limit } => format!("longer than {limit} tokens"),
            Reason::NoRoom {
                needed,
                left,
                displaced_by,
                class,
            } => {
                let after = displaced_by.as_ref();
                let after = after.map_or(String::new(), |name| format!(" after `{name}`"));
                let class = class.map_or("", loss);
                format!("needs {needed} tokens, {left} left{after}{class}")
            }
            Reason::OverShare { needed, share } => {
                format!("needs {needed} tokens, more than one item's share of {share}")
            }
            Reason::NotWorthItsCost { needed, worth } => {
                format!("needs {needed} tokens; {worth} of its section are worth their cost")
            }
            Reason::Deferred { needed } => format!("waits for a later turn with {needed} tokens"),
            Reason::OnPage { page } => format!("stands on page {page}"),
            Reason::LeftToRetrieval => "left to retrieval".into(),
            Reason::NextEpoch => "a new optional tool waits for the next epoch".into(),
            Reason::NextRequest => {
                "evidence was chosen already for this request and this step of its task".into()
            }
            Reason::AlreadySent => "it stands in the history, in what was sent before".into(),
            Reason::AfterStop { stopped_at } => format!("the walk stopped at `{stopped_at}`"),
        }
    }
}

/// The verdict on one candidate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The candidate's name.
    pub name: Arc<str>,
    /// What became of it.
    pub verdict: Ruling,
    /// Why.
    pub reason: Reason,
    /// Where it stands or would stand.
    pub section: Section,
    /// What it costs as it would stand; 0 when it left before it was priced.
    pub tokens: u32,
    /// Its score; null when it left before it was ranked.
    pub score: Option<ScoreCard>,
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
        /// How many.
        hidden: u32,
        /// How many change the direction of text.
        bidi: u32,
        /// What they spell, when they spell something.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        payload: Option<String>,
    },
    /// Text imitates a frame, a heading, a label or a control token, and was escaped.
    ImitationEscaped {
        /// The candidate.
        name: Arc<str>,
        /// How often.
        times: u32,
    },
    /// A message imitates a frame, a heading, a label or a control token, and is passed on byte for byte.
    ImitationPassed {
        /// The candidate.
        name: Arc<str>,
        /// How often.
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
        /// What stood in.
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
    /// What is sent stands otherwise than it was given, as a rule of the target wants it.
    RuleApplied {
        /// The rule, by its name in `docs/wire.md`.
        rule: String,
        /// How often.
        times: u32,
    },
    /// The provider takes the payload only with a beta, which the request's headers must name.
    BetaNeeded {
        /// The beta.
        beta: String,
    },
    /// Nobody supplied vectors, or not that of the query, and the stated fallback was used.
    NoVectors {
        /// What stood in.
        fallback: String,
    },
}

/// How many entered and left a stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StageReport {
    /// The stage.
    pub stage: Stage,
    /// How many candidates entered.
    pub entered: u32,
    /// How many left it for the next.
    pub left: u32,
}

vocabulary! {
    /// The eleven stages.
    Stage ("stage") {
        /// Candidates become rows.
        Normalize = "normalize",
        /// Permissions.
        Admit = "admit",
        /// Mentions become entities.
        Resolve = "resolve",
        /// Time, supersession, contradictions.
        Settle = "settle",
        /// The epoch and what it freezes.
        Plan = "plan",
        /// Scores and grades.
        Rank = "rank",
        /// Closures and atomic groups.
        Rescue = "rescue",
        /// Final bytes and prices.
        Contain = "contain",
        /// What goes in.
        Fit = "fit",
        /// In which order.
        Order = "order",
        /// The payload.
        Emit = "emit",
    }
}

/// What the plan decided.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanReport {
    /// The epoch's number.
    pub epoch: u32,
    /// Why this epoch.
    pub cause: EpochCause,
    /// How many objects are frozen.
    pub frozen: u32,
    /// The tools offered, in order.
    pub tools: Vec<Arc<str>>,
    /// What the choice between the whole corpus and retrieval rests on, where it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextReport>,
}

/// What the choice between the whole corpus and retrieval rests on. The corpus stands whole where it
/// is below the threshold, none of it is too long, and it fits beside the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextReport {
    /// What was asked for.
    pub mode: ContextMode,
    /// How many documents the corpus has.
    pub documents: u32,
    /// How many of them, or of what must stand beside them, are longer than the policy allows for one
    /// item.
    pub too_long: u32,
    /// What they would cost together, in tokens.
    pub corpus: u64,
    /// The policy's share of the window in tokens: 5 % less where the last epoch left the corpus to
    /// retrieval, 5 % more where it stood whole.
    pub threshold: u64,
    /// At most what else must stand, in tokens, with the minimums of the sections.
    pub beside: u64,
    /// The budget.
    pub budget: u32,
}

/// What a section was given and used.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllocationReport {
    /// The section.
    pub section: Section,
    /// The policy's minimum.
    pub min: u32,
    /// The policy's maximum, 0 for none.
    pub max: u32,
    /// What all its elastic candidates would cost.
    pub demand: u32,
    /// What of it was sent before in this epoch: it counts against the minimum and the maximum.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub stands: u32,
    /// What it was given.
    pub allocated: u32,
    /// What its included elastic candidates cost, flow-back included.
    pub used: u32,
    /// How much of that came from what other sections left over.
    pub flow_back: u32,
    /// What one more token would be worth to it; nought when it has all it can use.
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
    /// What its full form would cost, in tokens.
    pub from: u32,
    /// What the form that stands costs, in tokens.
    pub to: u32,
    /// That form.
    pub form: Form,
    /// How it was made: by its author, or by a condensation.
    pub method: Method,
    /// The share of the content's numbers, names, negations and identifiers that it still has; none
    /// where its author made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fidelity: Option<Score>,
    /// By what the original can be read back; none where nothing was left out, or by its author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<PointerId>,
}

/// Which tokenizer counted, and what its counts are worth.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenizerReport {
    /// Its name.
    pub name: String,
    /// What its counts are worth.
    pub count: CountKind,
}

/// Which policy decided.
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
    /// How the model comes by the corpus. None in traces from before there was a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// What the plan decided.
    pub plan: PlanReport,
    /// How many candidates each stage saw.
    pub stages: Vec<StageReport>,
    /// What each section was given.
    pub allocations: Vec<AllocationReport>,
    /// The shadow price of the budget: what one more token would be worth, in the unit of the policy's
    /// weights (Prefill Compiler, 6.2.4). None where the sections are one flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// Why no other allocation is worth more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
    /// What stands in a shorter form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub condensed: Vec<Condensed>,
    /// One verdict for each candidate, in their order.
    pub verdicts: Vec<Verdict>,
    /// What each subquery of the request's retrieval plan brought.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalReport>,
    /// What collecting did not fetch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfetched: Vec<Unfetched>,
    /// What else is worth knowing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
    /// The injection surface V: the share of tokens at level 4, each weighted by what its isolation
    /// leaves open (Prefill Compiler, 6.9.4).
    pub injection_surface: Score,
    /// Whether this is the caller's view, from `admitted` on, or the operator's, with everything.
    #[serde(default)]
    pub view: View,
}

/// Who may read a trace.
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
        let named = || {
            self.verdicts
                .iter()
                .filter(|verdict| &*verdict.name == name)
        };
        let visible = named().find(|verdict| verdict.verdict != Ruling::Denied);
        visible.or_else(|| named().next())
    }
}

/// A trace with what only the outside knows. Stored; never an input of a compile.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompileRecord {
    /// The record's id.
    pub record_id: String,
    /// When the compile was made.
    pub compiled_at: Instant,
    /// How long it took.
    pub compilation_latency_us: u64,
    /// What the provider says it used, once it has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ProviderUsage>,
    /// How often the request had to be sent again.
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

/// What a provider says a call used, in tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProviderUsage {
    /// Input, cached tokens included.
    pub input: u64,
    /// Of which read from the cache.
    pub cache_read: u64,
    /// Of which written to the cache.
    pub cache_write: u64,
    /// Output.
    pub output: u64,
}

/// What makes a turn wait for others.
fn loss(class: Omission) -> &'static str {
    match class {
        Omission::Formatting | Omission::LowRelevance => "; others say more",
        Omission::Acknowledgement => "; it only acknowledges",
        Omission::Repeat => "; it is said again later",
        Omission::SupersededOutput => "; a later call repeats it",
        Omission::CompletedSubtask => "; its subtask is done",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_its_code_and_data() {
        let reason = Reason::NoRoom {
            needed: 12,
            left: 3,
            displaced_by: Some("a".into()),
            class: None,
        };
        let json = serde_json::to_string(&reason).unwrap();
        assert_eq!(
            json,
            r#"{"code":"no_room","needed":12,"left":3,"displaced_by":"a"}"#
        );
        assert_eq!(serde_json::from_str::<Reason>(&json).unwrap(), reason);
        assert_eq!(reason.ruling(), Ruling::Omitted);
        assert!(size_of::<Reason>() <= 32, "{}", size_of::<Reason>());
    }
}
