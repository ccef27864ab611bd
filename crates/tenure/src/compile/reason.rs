//! The reasons for which candidates are in or out, and the stages that give them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::num::Score;
use crate::base::time::Instant;
use crate::belief::Ground;
use crate::belief::entity::RelationType;
use crate::condense::Omission;
use crate::object::{
    Classification, ContradictionStatus, Modality, RetirementRule, RevisionId, TaskType,
    vocabulary::vocabulary,
};

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
        /// The choice of what goes in.
        Fit = "fit",
        /// In which order.
        Order = "order",
        /// The payload.
        Emit = "emit",
    }
}

vocabulary! {
    /// The fate of a candidate.
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
    /// The reason for which an object must be in the payload.
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

/// The reason for a candidate's verdict. One variant, one entry in `docs/reference/reasons.md`, one test.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// Included: it must be there.
    Mandatory {
        /// The obligation.
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
        /// Its sensitivity.
        classification: Classification,
    },
    /// Denied: memory that comes from a web origin is read only for that origin.
    OtherOrigin {
        /// Its origin.
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
    /// Omitted: it is about an entity that waits for a person to say which one it is, and would be more than context.
    EntityPending {
        /// The id of that entity.
        entity: Box<str>,
    },
    /// Omitted: it is not true yet.
    NotYetValid {
        /// The instant at which it becomes true.
        valid_from: Instant,
    },
    /// Omitted: it is no longer true.
    ExpiredValidTime {
        /// The instant at which it ceased to be true.
        valid_until: Instant,
    },
    /// Omitted: it is too old by its own rule, or that of its type.
    Decayed {
        /// Its freshness.
        freshness: Score,
        /// The threshold that it is below.
        threshold: Score,
        /// The rule for what becomes of it.
        rule: RetirementRule,
    },
    /// Omitted: it is too old, and its rule asks a person to confirm it.
    AwaitingConfirmation {
        /// Its freshness.
        freshness: Score,
        /// The threshold that it is below.
        threshold: Score,
    },
    /// Omitted: the system did not know it yet.
    NotYetKnown {
        /// The instant at which the system came to know it.
        tx_start: Instant,
    },
    /// Omitted: the system no longer held it to be so.
    NoLongerHeld {
        /// The instant at which the system ceased to.
        tx_end: Instant,
    },
    /// Omitted: the store judged that something contradicts it.
    Contradicted {
        /// The judgement.
        status: ContradictionStatus,
    },
    /// Omitted: another claim on its slot, which cannot hold beside it, stands on better ground. By that ground it is overridden or
    /// disputed ([`Reason::contradiction`]).
    Overridden {
        /// The object with that claim.
        by: Arc<str>,
        /// The ground.
        ground: Ground,
        /// Higher authority overrides it, and the policy quarantines what falls so.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        quarantined: bool,
    },
    /// Omitted, as is the other one: their claims cannot both hold, and nothing says which does.
    ConflictingClaimUnresolved {
        /// The other one.
        with: Arc<str>,
    },
    /// Omitted: it was made from something that was written or judged again since, or that does not stand.
    Stale {
        /// That object.
        of: Arc<str>,
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
    /// Omitted: at the same authority a later object claims the same slot.
    Overwritten {
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
        /// The share of the two that is the same.
        similarity: Score,
    },
    /// Omitted: it does not apply to this type of task.
    NotApplicable {
        /// The type, when the request names one.
        task_type: Option<TaskType>,
    },
    /// Omitted: memory or guidance whose reason, or, where it states none, whose text is not near the task.
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
        /// Its rank there, counted from one; 0 when it matches none.
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
        /// The tokens that it needs, with its closure and its section's heading.
        needed: u32,
        /// The tokens that were left for its section at its last turn.
        left: u32,
        /// The last that was let in before that.
        displaced_by: Option<Arc<str>>,
        /// The class of a turn of the history that had to wait for the others.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Omission>,
    },
    /// Omitted: it is longer than one item's share of its section, and when the others had had their
    /// turn not enough was left over.
    OverShare {
        /// The tokens that it needs, with its closure and its section's heading.
        needed: u32,
        /// The share in tokens.
        share: u32,
    },
    /// Omitted: its section's next tokens are worth less than they cost.
    NotWorthItsCost {
        /// The tokens that it needs, with its closure and its section's heading.
        needed: u32,
        /// The number of tokens of its section that are worth their cost.
        worth: u32,
    },
    /// Omitted: a soft constraint, where constraints take more of the payload than the policy lets them.
    TooManyConstraints {
        /// The share of the payload that they would take.
        density: Score,
        /// The policy's limit.
        limit: Score,
    },
    /// Omitted: evidence that waits for a later turn, because not everything fits into this one.
    Deferred {
        /// The tokens that it would cost.
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

/// The object that a small unit was attached to, and the parts of their affinity.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// That object.
    pub to: Arc<str>,
    /// The affinity: the sum of the parts, weighted as the policy says.
    pub affinity: Score,
    /// The parts.
    pub parts: Affinity,
    /// The entity of the unit that is next to one of that object, where the two fit each other for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<EntityLink>,
}

/// An entity that an object speaks of: one that the task names, or one that is next to an entity in the registry's graph.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityLink {
    /// Its canonical id.
    pub entity: String,
    /// Its relation to the other: `child` where the other holds it. None where the task names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<RelationType>,
    /// The canonical id of the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
}

impl std::fmt::Display for EntityLink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let entity = &self.entity;
        match (self.relation, &self.of) {
            (Some(relation), Some(of)) => write!(f, "`{entity}`, {relation} of `{of}`"),
            _ => write!(f, "`{entity}`, which the task names"),
        }
    }
}

/// The parts of an affinity, each from 0 to 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Affinity {
    /// The unit's nearness to the task.
    pub task: Score,
    /// The unit's nearness to the object.
    pub fit: Score,
    /// The object's nearness to the task.
    pub selected: Score,
    /// 1 where both are of one source, else 0.
    pub same: Score,
    /// 1 where the unit speaks of what is being done or waits to be done, else 0.
    pub active: Score,
}

impl Reason {
    /// The verdict that this reason gives.
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
            Reason::AnonymousEvidence
            | Reason::UnsupportedModality { .. }
            | Reason::EntityPending { .. }
            | Reason::NotYetValid { .. }
            | Reason::ExpiredValidTime { .. }
            | Reason::Decayed { .. }
            | Reason::AwaitingConfirmation { .. }
            | Reason::NotYetKnown { .. }
            | Reason::NoLongerHeld { .. }
            | Reason::Contradicted { .. }
            | Reason::Overridden { .. }
            | Reason::ConflictingClaimUnresolved { .. }
            | Reason::Stale { .. }
            | Reason::Damaged { .. }
            | Reason::Superseded { .. }
            | Reason::Overwritten { .. }
            | Reason::Duplicate { .. }
            | Reason::NearDuplicate { .. }
            | Reason::NotApplicable { .. }
            | Reason::NotNearTask
            | Reason::BelowFloor { .. }
            | Reason::GatedOut { .. }
            | Reason::NotRetrieved { .. }
            | Reason::IrrelevantToActiveTask { .. }
            | Reason::ClosureMissing { .. }
            | Reason::ClosureTooLong { .. }
            | Reason::OrphanToolResult
            | Reason::UnansweredToolCall
            | Reason::OverLimit { .. }
            | Reason::NoRoom { .. }
            | Reason::OverShare { .. }
            | Reason::NotWorthItsCost { .. }
            | Reason::TooManyConstraints { .. }
            | Reason::Deferred { .. }
            | Reason::OnPage { .. }
            | Reason::LeftToRetrieval
            | Reason::NextEpoch
            | Reason::NextRequest
            | Reason::AlreadySent
            | Reason::AfterStop { .. } => Ruling::Omitted,
        }
    }

    /// The stages that give this reason, in the order in which they run: one, but for `closure_missing`.
    pub fn stages(&self) -> &'static [Stage] {
        match self {
            Reason::OtherTenant
            | Reason::OtherUser
            | Reason::OtherProject
            | Reason::OtherSession
            | Reason::OtherTask
            | Reason::RoleMissing
            | Reason::RoleDenied
            | Reason::Classified { .. }
            | Reason::OtherOrigin { .. }
            | Reason::PersonalData
            | Reason::AnonymousEvidence
            | Reason::UnsupportedModality { .. } => &[Stage::Admit],
            Reason::EntityPending { .. } => &[Stage::Resolve],
            Reason::NotYetValid { .. }
            | Reason::ExpiredValidTime { .. }
            | Reason::Decayed { .. }
            | Reason::AwaitingConfirmation { .. }
            | Reason::NotYetKnown { .. }
            | Reason::NoLongerHeld { .. }
            | Reason::Contradicted { .. }
            | Reason::Overridden { .. }
            | Reason::ConflictingClaimUnresolved { .. }
            | Reason::Stale { .. }
            | Reason::Damaged { .. }
            | Reason::Superseded { .. } => &[Stage::Settle],
            Reason::LeftToRetrieval
            | Reason::NextEpoch
            | Reason::NextRequest
            | Reason::AlreadySent => &[Stage::Plan],
            Reason::Duplicate { .. }
            | Reason::Overwritten { .. }
            | Reason::NotApplicable { .. }
            | Reason::NotNearTask
            | Reason::BelowFloor { .. }
            | Reason::GatedOut { .. }
            | Reason::NotRetrieved { .. }
            | Reason::IrrelevantToActiveTask { .. } => &[Stage::Rank],
            Reason::ClosureMissing { .. } => &[Stage::Rescue, Stage::Contain],
            Reason::Attached(_)
            | Reason::ClosureTooLong { .. }
            | Reason::OrphanToolResult
            | Reason::UnansweredToolCall => &[Stage::Rescue],
            Reason::OverLimit { .. } => &[Stage::Contain],
            Reason::Mandatory { .. }
            | Reason::Fits
            | Reason::KeptWith { .. }
            | Reason::NearDuplicate { .. }
            | Reason::NoRoom { .. }
            | Reason::OverShare { .. }
            | Reason::NotWorthItsCost { .. }
            | Reason::TooManyConstraints { .. }
            | Reason::Deferred { .. }
            | Reason::OnPage { .. }
            | Reason::AfterStop { .. } => &[Stage::Fit],
        }
    }

    /// Returns whether a verdict shows its score: the score decided it, or the object came so far that a larger
    /// budget may let it in.
    pub(crate) fn shows_score(&self) -> bool {
        let Some(last) = self.stages().last() else {
            return false;
        };
        match last {
            Stage::Normalize | Stage::Admit | Stage::Resolve | Stage::Settle | Stage::Plan => false,
            Stage::Rank => matches!(
                self,
                Reason::BelowFloor { .. } | Reason::IrrelevantToActiveTask { .. }
            ),
            Stage::Rescue => matches!(self, Reason::Attached(_)),
            Stage::Contain => matches!(self, Reason::OverLimit { .. }),
            Stage::Fit | Stage::Order | Stage::Emit => true,
        }
    }

    /// The judgement on a claim, where it is the reason: the store's own, or what follows from the ground on which another stands.
    /// Of what `superseded` replaces, its object says so.
    pub const fn contradiction(&self) -> Option<ContradictionStatus> {
        match self {
            Reason::Contradicted { status } => Some(*status),
            Reason::Overridden {
                quarantined: true, ..
            } => Some(ContradictionStatus::Quarantined),
            Reason::Overridden { ground, .. } => Some(ground.status()),
            Reason::ConflictingClaimUnresolved { .. } => Some(ContradictionStatus::Disputed),
            _ => None,
        }
    }

    /// Returns whether it is that something is too old: for its own threshold, that of its type, or that of its section.
    pub fn is_age(&self) -> bool {
        matches!(
            self,
            Reason::Decayed { .. }
                | Reason::AwaitingConfirmation { .. }
                | Reason::BelowFloor {
                    factor: Factor::Freshness,
                    ..
                }
        )
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
            Reason::EntityPending { .. } => "entity_pending",
            Reason::NotYetValid { .. } => "not_yet_valid",
            Reason::ExpiredValidTime { .. } => "expired_valid_time",
            Reason::Decayed { .. } => "decayed",
            Reason::AwaitingConfirmation { .. } => "awaiting_confirmation",
            Reason::NotYetKnown { .. } => "not_yet_known",
            Reason::NoLongerHeld { .. } => "no_longer_held",
            Reason::Contradicted { .. } => "contradicted",
            Reason::Overridden { .. } => "overridden",
            Reason::ConflictingClaimUnresolved { .. } => "conflicting_claim_unresolved",
            Reason::Stale { .. } => "stale",
            Reason::Damaged { .. } => "damaged",
            Reason::Superseded { .. } => "superseded",
            Reason::Overwritten { .. } => "overwritten",
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
            Reason::TooManyConstraints { .. } => "too_many_constraints",
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
                let Attachment {
                    to, affinity, by, ..
                } = &**attachment;
                let by = by.as_ref().map_or_else(String::new, |by| format!("; by {by}"));
                format!("attached to `{to}`: affinity {affinity}{by}")
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
            Reason::EntityPending { entity } => {
                format!("a person has yet to say which entity `{entity}` is")
            }
            Reason::NotYetValid { valid_from } => format!("not valid before {valid_from}"),
            Reason::ExpiredValidTime { valid_until } => format!("expired at {valid_until}"),
            Reason::Decayed {
                freshness,
                threshold,
                rule,
            } => format!("too old ({rule}): freshness {freshness}, below {threshold}"),
            Reason::AwaitingConfirmation {
                freshness,
                threshold,
            } => format!("awaits confirmation: freshness {freshness}, below {threshold}"),
            Reason::NotYetKnown { tx_start } => format!("not known before {tx_start}"),
            Reason::NoLongerHeld { tx_end } => format!("no longer held from {tx_end}"),
            Reason::Contradicted { status } => format!("judged {status}"),
            Reason::Overridden {
                by,
                ground,
                quarantined,
            } => {
                let quarantined = if *quarantined { ", quarantined" } else { "" };
                match ground.status() {
                    ContradictionStatus::Disputed => {
                        format!("disputed, and `{by}` stands: {ground}")
                    }
                    _ => format!("overridden by `{by}`: {ground}{quarantined}"),
                }
            }
            Reason::ConflictingClaimUnresolved { with } => {
                format!("contradicts `{with}`, and nothing says which holds")
            }
            Reason::Stale { of } => {
                format!("made from `{of}`, which has changed or does not stand")
            }
            Reason::Damaged { revision } => format!("its revision {revision} is damaged"),
            Reason::Superseded { by } => format!("superseded by `{by}`"),
            Reason::Overwritten { by } => format!("`{by}` claims the same later"),
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
            Reason::NotNearTask => "not near the task".into(),
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
                let after =
                    displaced_by.as_ref().map_or(String::new(), |name| format!(" after `{name}`"));
                let class = class.map_or("", loss);
                format!("needs {needed} tokens, {left} left{after}{class}")
            }
            Reason::OverShare { needed, share } => {
                format!("needs {needed} tokens, more than one item's share of {share}")
            }
            Reason::NotWorthItsCost { needed, worth } => {
                format!("needs {needed} tokens; {worth} of its section are worth their cost")
            }
            Reason::TooManyConstraints { density, limit } => format!(
                "constraints would take {density} of the payload, and it is soft: at most {limit}"
            ),
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

/// Returns the words for the class of a turn that waits for others.
fn loss(class: Omission) -> &'static str {
    match class {
        Omission::Formatting | Omission::LowRelevance => "; others say more",
        Omission::Acknowledgement => "; it only acknowledges",
        Omission::Repeat => "; it is said again later",
        Omission::SupersededOutput => "; a later call repeats it",
        Omission::CompletedSubtask => "; its subtask is done",
        Omission::Stale => "; it is stale",
        Omission::NuancedPreference => "; it only asks for a style",
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
