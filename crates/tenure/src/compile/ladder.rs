//! The ladder from what somebody said to what the model is told: how far each object climbs, and what stops it.
//!
//! Not a stage: `contain` takes the words of what it converts from here, and `emit` each verdict's rung.

use crate::compile::reason::{Reason, Ruling, Stage};
use crate::input::candidates::Row;
use crate::input::policy::Policy;
use crate::object::claim::WrittenClaim;
use crate::object::{Authority, ContextObject, ObjectType, TaskType, vocabulary::vocabulary};

vocabulary! {
    /// A step of the ladder from what somebody said to what the model is told.
    Rung ("rung") {
        /// 0: as it was said.
        RawObservation = "raw_observation",
        /// 1: a claim in normal form.
        NormalizedFact = "normalized_fact",
        /// 2: a claim that holds for this caller now.
        ScopedMemory = "scoped_memory",
        /// 3: of use for this task.
        TaskContext = "task_relevant_context",
        /// 4: what follows from it for the model.
        Guidance = "behavioral_guidance",
        /// 5: what answers are held against.
        HardConstraint = "hard_constraint",
    }
}

impl Rung {
    /// Its number, from 0 to 5.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

vocabulary! {
    /// The condition that stopped an object on the ladder.
    Hold ("hold") {
        /// It is a part of the conversation, which stands as it was said.
        Conversation = "conversation",
        /// It has no form that can be compiled, or no source.
        Form = "form",
        /// The caller is outside its scope.
        Scope = "scope",
        /// It does not hold at the instants asked for, or was judged, replaced or damaged.
        Validity = "validity",
        /// It waits: it was sent before, or is left to another request, epoch or the model's own search.
        Waiting = "waiting",
        /// It does not apply to this type of task.
        TaskType = "task_type",
        /// It is not near the task, or others are nearer.
        Relevance = "relevance",
        /// The policy lets it stand in its own words.
        Policy = "policy",
        /// Objects of its authority go no higher.
        Authority = "authority",
        /// Objects of its type go no higher.
        ObjectType = "object_type",
        /// A person has yet to say which entity it is about.
        Entity = "entity",
        /// Neither a template nor its `behavioral_implication` says what follows from it.
        NoGuidance = "no_guidance",
        /// Its template failed.
        TemplateFailed = "template_failed",
        /// It is no hard constraint.
        NotHard = "not_hard",
        /// No machine can check it.
        NoValidator = "no_validator",
    }
}

/// The way up of an observation that is in scope and of use for the task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Climb {
    pub(crate) rung: Rung,
    pub(crate) held_by: Hold,
    /// The words in which it stands, where these are not its own.
    pub(crate) words: Option<String>,
    /// The fault of its template, where that failed.
    pub(crate) fault: Option<String>,
}

/// Returns whether objects of this type and authority are observations, which never stand in their own words.
pub(crate) fn is_observation(object_type: ObjectType, authority: Authority) -> bool {
    let observed = matches!(
        object_type,
        ObjectType::Preference | ObjectType::IdentityFact | ObjectType::InferredBelief
    );
    observed && authority != Authority::Data
}

/// Returns how far a row climbs that is no observation, given that it is in scope and of use for the task, and what
/// holds it. Nothing holds what reaches the top.
fn height(row: &Row) -> (Rung, Option<Hold>) {
    let held = |rung, by| (rung, Some(by));
    match row.object_type {
        ObjectType::Turn | ObjectType::ToolResult | ObjectType::Checkpoint => {
            return held(Rung::RawObservation, Hold::Conversation);
        }
        _ if row.authority == Authority::Data => return held(Rung::TaskContext, Hold::Authority),
        ObjectType::ToolSchema
        | ObjectType::TaskState
        | ObjectType::Artifact
        | ObjectType::Media
        | ObjectType::RetrievedPassage => return held(Rung::TaskContext, Hold::ObjectType),
        _ => {}
    }
    if !row.hard {
        held(Rung::Guidance, Hold::NotHard)
    } else if row.authority >= Authority::Memory {
        held(Rung::Guidance, Hold::Authority)
    } else if !row.checked {
        held(Rung::Guidance, Hold::NoValidator)
    } else {
        (Rung::HardConstraint, None)
    }
}

/// Returns whether a row may only stand once it is decided which entity it is about: what the platform or the developer
/// says, and what is guidance or a constraint in its own words. The conversation stands as it was said.
pub(crate) fn needs_decided(row: &Row) -> bool {
    let (rung, hold) = height(row);
    if hold == Some(Hold::Conversation) {
        return false;
    }
    row.authority <= Authority::Developer
        || rung >= Rung::Guidance && !is_observation(row.object_type, row.authority)
}

/// An observation about an entity that nobody has decided: nothing follows from it, and its claim stands.
pub(crate) fn undecided(object: &ContextObject, policy: &Policy) -> Climb {
    let words = policy
        .document()
        .guidance
        .ladder
        .then(|| WrittenClaim::of(object.revision()).to_string());
    let rung = match words {
        Some(_) => Rung::TaskContext,
        None => Rung::ScopedMemory,
    };
    Climb {
        rung,
        held_by: Hold::Entity,
        words,
        fault: None,
    }
}

/// An observation as what follows from it: by the template of the type of task, else as its author says, else as its
/// claim alone.
pub(crate) fn convert(
    object: &ContextObject,
    policy: &Policy,
    task_type: Option<TaskType>,
) -> Climb {
    if !policy.document().guidance.ladder {
        return Climb {
            rung: Rung::ScopedMemory,
            held_by: Hold::Policy,
            words: None,
            fault: None,
        };
    }
    let revision = object.revision();
    let claim = WrittenClaim::of(revision);
    let implication = revision
        .rare()
        .behavioral_implication
        .as_deref()
        .map(str::trim)
        .filter(|text| !text.is_empty());
    let mut fault = None;
    let written = task_type.and_then(|task_type| {
        let written = policy.guided(task_type, object, &claim);
        written.unwrap_or_else(|error| {
            fault = Some(error);
            None
        })
    });
    let follows = written.or_else(|| implication.map(str::to_owned));
    // Words of an inferred belief and of a person never become a constraint, whatever authority they claim.
    let (rung, held_by, words) = match follows {
        Some(words) => (Rung::Guidance, Hold::ObjectType, words),
        None if fault.is_some() => (Rung::TaskContext, Hold::TemplateFailed, claim.to_string()),
        None => (Rung::TaskContext, Hold::NoGuidance, claim.to_string()),
    };
    Climb {
        rung,
        held_by,
        words: Some(words),
        fault,
    }
}

/// Returns the rung of a row with this verdict, and what held it: `converted` says how far an observation goes where
/// nothing before holds it.
pub(crate) fn reached(
    reason: &Reason,
    row: &Row,
    converted: impl FnOnce() -> (Rung, Hold),
) -> (Rung, Option<Hold>) {
    let held = |rung, by| (rung, Some(by));
    let climb = || {
        if is_observation(row.object_type, row.authority) {
            let (rung, by) = converted();
            held(rung, by)
        } else {
            height(row)
        }
    };
    if reason.ruling() == Ruling::Included {
        return climb();
    }
    let is_said = matches!(
        row.object_type,
        ObjectType::Turn | ObjectType::ToolResult | ObjectType::Checkpoint
    );
    match (reason, reason.stages().first()) {
        (Reason::AnonymousEvidence | Reason::UnsupportedModality { .. }, _) => {
            held(Rung::RawObservation, Hold::Form)
        }
        _ if is_said => held(Rung::RawObservation, Hold::Conversation),
        (Reason::EntityPending { .. }, _) => held(Rung::NormalizedFact, Hold::Entity),
        (_, Some(Stage::Admit)) => held(Rung::NormalizedFact, Hold::Scope),
        (_, Some(Stage::Settle)) => held(Rung::NormalizedFact, Hold::Validity),
        (_, Some(Stage::Plan)) => held(Rung::ScopedMemory, Hold::Waiting),
        (Reason::Overwritten { .. }, _) => held(Rung::NormalizedFact, Hold::Validity),
        (Reason::NotApplicable { .. }, _) => held(Rung::ScopedMemory, Hold::TaskType),
        (
            Reason::NotNearTask
            | Reason::BelowFloor { .. }
            | Reason::GatedOut { .. }
            | Reason::NotRetrieved { .. }
            | Reason::IrrelevantToActiveTask { .. },
            _,
        ) => held(Rung::ScopedMemory, Hold::Relevance),
        // Of use, and without room, or told by another.
        _ => climb(),
    }
}
