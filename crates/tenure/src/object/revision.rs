//! The compact form of an object in memory.
//!
//! What every stage reads stands in the struct itself; what few objects have is boxed. A plain
//! rule costs its text and a few hundred bytes.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Wire;
use super::authority::Authority;
use super::document::{ConstraintDocument, DecayRule, Provenance, ToolCall};
use super::identity::{ObjectId, RevisionId};
use super::vocabulary::*;
use crate::base::digest::Digest;
use crate::base::num::Score;
use crate::base::time::{Instant, Interval};

/// The owner of an object, and who may see it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// The tenant. Never empty, never shared.
    pub tenant: Box<str>,
    /// The one user, if only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<Box<str>>,
    /// The one project, if only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<Box<str>>,
    /// The one session, if only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Box<str>>,
    /// The one task, if only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<str>>,
    /// The caller needs one of these, if there are any.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub allow_roles: Box<[Box<str>]>,
    /// The caller must have none of these.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub deny_roles: Box<[Box<str>]>,
}

impl Provenance {
    /// Returns whether the evidence is not anonymous: its source is known, and the time or the bytes that were read.
    pub fn is_complete(&self) -> bool {
        let source = self.source_id.as_ref();
        source.is_some_and(|id| !id.trim().is_empty())
            && (self.retrieved_at.is_some() || self.digest.is_some())
    }

    /// Returns the parts that it neither says nor says to be unknown. A file that was read as it is (with its `digest`,
    /// and no `retrieved_at`) was found by no query: it is all of its source where it names no place in it.
    pub fn open_parts(&self) -> impl Iterator<Item = ProvenancePart> + '_ {
        let is_read = self.digest.is_some() && self.retrieved_at.is_none();
        ProvenancePart::ALL.iter().copied().filter(move |part| {
            let is_said = match part {
                ProvenancePart::Authority => self.authority.is_some(),
                ProvenancePart::Chunk => is_read || self.chunk.is_some(),
                ProvenancePart::Lineage => is_read || self.lineage.is_some(),
                ProvenancePart::Relevance => is_read || self.relevance.is_some(),
            };
            !is_said && !self.unknown.contains(part)
        })
    }

    /// Returns the parts that it says both to be unknown and what they are.
    pub(super) fn contradicted(&self) -> Option<ProvenancePart> {
        self.unknown.iter().copied().find(|part| match part {
            ProvenancePart::Authority => self.authority.is_some(),
            ProvenancePart::Chunk => self.chunk.is_some(),
            ProvenancePart::Lineage => self.lineage.is_some(),
            ProvenancePart::Relevance => self.relevance.is_some(),
        })
    }
}

/// The facts of a tool that the model and the caller need.
#[derive(Clone, PartialEq, Debug)]
pub struct Tool {
    /// JSON Schema of its arguments, canonical.
    pub input_schema: Value,
    /// JSON Schema of its result, canonical.
    pub output_schema: Option<Value>,
    /// The protocol by which it is called.
    pub protocol: Protocol,
    /// The resources that it may touch.
    pub authorization_scope: Option<String>,
    /// The class of the time that it takes.
    pub timeout_class: TimeoutClass,
}

/// The fields that few objects have.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Rare {
    pub(crate) abstract_text: Option<Box<str>>,
    pub(crate) overview: Option<Box<str>>,
    pub(crate) normalized_claim: Option<String>,
    pub(crate) slot_cardinality: Option<SlotCardinality>,
    pub(crate) entities: Vec<String>,
    pub(crate) aliases: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) derived_from: Vec<ObjectId>,
    pub(crate) subjects: Vec<String>,
    pub(crate) said_by: Option<String>,
    pub(crate) why_it_matters: Option<String>,
    pub(crate) task_types: Vec<TaskType>,
    pub(crate) behavioral_implication: Option<String>,
    pub(crate) decay_rule: Option<DecayRule>,
    pub(crate) update_path: Option<String>,
    pub(crate) retirement_rule: Option<RetirementRule>,
    pub(crate) conflict_policy: Option<ConflictPolicy>,
    pub(crate) keep_with: Vec<String>,
    pub(crate) inserted_in_step: Option<String>,
    pub(crate) constraint: Option<ConstraintDocument>,
    pub(crate) memory_kind: Option<MemoryKind>,
    pub(crate) provenance: Option<Provenance>,
    pub(crate) role: Option<Role>,
    pub(crate) tool_calls: Vec<ToolCall>,
    pub(crate) tool_call_id: Option<String>,
    pub(crate) tool: Option<Tool>,
    pub(crate) wire: Option<Wire>,
}

static NO_RARE: Rare = Rare {
    abstract_text: None,
    overview: None,
    normalized_claim: None,
    slot_cardinality: None,
    entities: Vec::new(),
    aliases: Vec::new(),
    origins: Vec::new(),
    derived_from: Vec::new(),
    subjects: Vec::new(),
    said_by: None,
    why_it_matters: None,
    task_types: Vec::new(),
    behavioral_implication: None,
    decay_rule: None,
    update_path: None,
    retirement_rule: None,
    conflict_policy: None,
    keep_with: Vec::new(),
    inserted_in_step: None,
    constraint: None,
    memory_kind: None,
    provenance: None,
    role: None,
    tool_calls: Vec::new(),
    tool_call_id: None,
    tool: None,
    wire: None,
};

impl Rare {
    pub(super) fn boxed(self) -> Option<Box<Rare>> {
        (self != NO_RARE).then(|| Box::new(self))
    }
}

#[derive(Clone)]
pub(super) struct RevisionParts {
    pub(super) id: RevisionId,
    pub(super) content_digest: Digest,
    pub(super) object_id: ObjectId,
    pub(super) name: Arc<str>,
    pub(super) content: Box<str>,
    pub(super) origin: Option<Arc<str>>,
    pub(super) trajectory: Option<Arc<str>>,
    pub(super) tags: Box<[Box<str>]>,
    pub(super) object_type: ObjectType,
    pub(super) layer: Layer,
    pub(super) authority: Authority,
    pub(super) classification: Classification,
    pub(super) protection: Protection,
    pub(super) modality: Modality,
    pub(super) author: AuthorKind,
    pub(super) priority: Score,
    pub(super) source_authority: Score,
    pub(super) confidence: Score,
    pub(super) removable: bool,
    pub(super) optional: bool,
    pub(super) valid: Interval,
    pub(super) scope: Arc<Scope>,
    pub(super) rare: Option<Box<Rare>>,
}

impl RevisionParts {
    pub(super) fn rare(&self) -> &Rare {
        self.rare.as_deref().unwrap_or(&NO_RARE)
    }
}

/// Immutable content and tenure. Made by [`ObjectDocument::seal`](super::ObjectDocument::seal).
#[derive(Clone)]
pub struct Revision {
    parts: RevisionParts,
}

impl Revision {
    pub(super) fn from_parts(parts: RevisionParts) -> Revision {
        Revision { parts }
    }

    pub(super) fn parts(&self) -> &RevisionParts {
        &self.parts
    }

    /// The digest of everything here.
    pub fn id(&self) -> RevisionId {
        self.parts.id
    }

    /// The digest of the content alone.
    pub fn content_digest(&self) -> Digest {
        self.parts.content_digest
    }

    /// The identity across revisions.
    pub fn object_id(&self) -> ObjectId {
        self.parts.object_id
    }

    /// The name that its author gave it; [`ContextObject::name`] is the one it goes by.
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// The content.
    pub fn content(&self) -> &str {
        &self.parts.content
    }

    /// Returns its type.
    pub fn object_type(&self) -> ObjectType {
        self.parts.object_type
    }

    /// Its state layer.
    pub fn layer(&self) -> Layer {
        self.parts.layer
    }

    /// May it command?
    pub fn authority_level(&self) -> Authority {
        self.parts.authority
    }

    /// Returns its sensitivity.
    pub fn classification(&self) -> Classification {
        self.parts.classification
    }

    /// Returns the protection of its text.
    pub fn protection(&self) -> Protection {
        self.parts.protection
    }

    /// Returns the modality of its content.
    pub fn modality(&self) -> Modality {
        self.parts.modality
    }

    /// Returns its kind of author.
    pub fn author(&self) -> AuthorKind {
        self.parts.author
    }

    /// Returns the importance that its author gives it.
    pub fn priority(&self) -> Score {
        self.parts.priority
    }

    /// Returns the quality of its source.
    pub fn source_authority(&self) -> Score {
        self.parts.source_authority
    }

    /// Returns the confidence in its claim.
    pub fn confidence(&self) -> Score {
        self.parts.confidence
    }

    /// Returns its claim as it was written: `slot op value`, or what its author took for that.
    pub fn normalized_claim(&self) -> Option<&str> {
        self.rare().normalized_claim.as_deref()
    }

    /// Returns the ids of the entities that it is about, and the names that it gives them.
    pub fn names(&self) -> (&[String], &[String]) {
        (&self.rare().entities, &self.rare().aliases)
    }

    /// Returns whether anyone but its author may remove it.
    pub fn is_removable(&self) -> bool {
        self.parts.removable
    }

    /// Returns whether a budget may omit it wherever it stands.
    pub fn is_optional(&self) -> bool {
        self.parts.optional
    }

    /// Returns the interval in which it is true in the world, as its author has it; [`ContextObject::valid`] has the
    /// one that is held.
    pub fn valid(&self) -> Interval {
        self.parts.valid
    }

    /// Returns its owner and who may see it.
    pub fn scope(&self) -> &Arc<Scope> {
        &self.parts.scope
    }

    /// The words to find it by.
    pub fn tags(&self) -> impl Iterator<Item = &str> + '_ {
        self.parts.tags.iter().map(|tag| &**tag)
    }

    /// The names of the objects without which it must not stand.
    pub fn keep_with(&self) -> &[String] {
        &self.rare().keep_with
    }

    /// Returns its provenance.
    pub fn provenance(&self) -> Option<&Provenance> {
        self.rare().provenance.as_ref()
    }

    /// The tool, when it is one.
    pub fn tool(&self) -> Option<&Tool> {
        self.rare().tool.as_ref()
    }

    /// Returns the role that speaks, when it is a turn.
    pub fn role(&self) -> Option<Role> {
        self.rare().role
    }

    /// The tools it calls, when it is a turn of the assistant.
    pub fn tool_calls(&self) -> &[ToolCall] {
        &self.rare().tool_calls
    }

    /// The call it answers, when it is a tool's result.
    pub fn tool_call_id(&self) -> Option<&str> {
        self.rare().tool_call_id.as_deref()
    }

    /// The provider's own message that it came in, if it did.
    pub fn wire(&self) -> Option<&Wire> {
        self.rare().wire.as_ref()
    }

    /// Returns whether a provider's body carries it as a message of its own.
    pub(crate) fn is_message(&self) -> bool {
        matches!(
            self.object_type(),
            ObjectType::Turn | ObjectType::ToolResult
        )
    }

    /// Returns whether it comes from the web, or was made from what does.
    pub fn is_from_the_web(&self) -> bool {
        self.origins().any(super::is_web)
    }

    /// Returns whether it is memory: concluded, and neither laid down nor found. Memory from the web is read for its
    /// origins alone.
    pub fn is_memory(&self) -> bool {
        let is_concluded = matches!(
            self.object_type(),
            ObjectType::InferredBelief | ObjectType::Outcome
        );
        match self.authority_level() {
            Authority::Memory => true,
            Authority::Data => is_concluded,
            Authority::Platform | Authority::Developer | Authority::User => false,
        }
    }

    /// Returns its origin.
    pub fn source_origin(&self) -> Option<&str> {
        self.parts.origin.as_deref()
    }

    /// The place that newer versions of it come from, as its author says.
    pub fn update_path(&self) -> Option<&str> {
        self.rare().update_path.as_deref()
    }

    /// All sources that it was made from.
    pub fn origins(&self) -> impl Iterator<Item = &str> {
        let further = self.rare().origins.iter().map(String::as_str);
        self.source_origin().into_iter().chain(further)
    }

    /// The objects that it was made from.
    pub fn derived_from(&self) -> &[ObjectId] {
        &self.rare().derived_from
    }

    /// The people whom it is about.
    pub fn subjects(&self) -> &[String] {
        &self.rare().subjects
    }

    /// Returns whether it is personal data: tagged as such, or about someone.
    pub fn is_personal(&self) -> bool {
        !self.subjects().is_empty() || self.tags().any(|tag| tag == PERSONAL)
    }

    /// The run that wrote it.
    pub fn trajectory(&self) -> Option<&str> {
        self.parts.trajectory.as_deref()
    }

    /// Returns the rule by which it ages, where its author gave one.
    pub fn decay_rule(&self) -> Option<DecayRule> {
        self.rare().decay_rule
    }

    /// Returns the rule for when it is of no more use, where its author gave one.
    pub fn retirement_rule(&self) -> Option<RetirementRule> {
        self.rare().retirement_rule
    }

    /// Returns the rule for when another claim contradicts its own, where its author gave one.
    pub fn conflict_policy(&self) -> Option<ConflictPolicy> {
        self.rare().conflict_policy
    }

    /// Returns whether it is a constraint that is never relaxed.
    pub fn is_hard_constraint(&self) -> bool {
        self.constraint().is_none_or(|constraint| constraint.rigidity == Rigidity::Hard)
    }

    /// Returns whether a machine can hold answers against it: it is a constraint with a validator.
    pub fn has_validator(&self) -> bool {
        let constraint = self.constraint();
        constraint.is_some_and(ConstraintDocument::has_validator)
    }

    /// Returns its kind of constraint, where it states one.
    pub fn constraint(&self) -> Option<&ConstraintDocument> {
        self.rare().constraint.as_ref()
    }

    /// Returns the name of whoever says it, where it is known.
    pub fn said_by(&self) -> Option<&str> {
        self.rare().said_by.as_deref()
    }

    /// Returns its purpose, where it states one.
    pub fn why_it_matters(&self) -> Option<&str> {
        self.rare().why_it_matters.as_deref()
    }

    pub(crate) fn rare(&self) -> &Rare {
        self.parts.rare()
    }

    pub(crate) fn has_rare(&self) -> bool {
        self.parts.rare.is_some()
    }

    /// Returns the role that speaks; none of anything but a turn.
    pub(crate) fn speaker(&self) -> Option<Role> {
        let is_turn = self.object_type() == ObjectType::Turn;
        is_turn.then(|| self.role().unwrap_or(Role::User))
    }

    /// Returns the words of a turn: none when it only calls tools.
    pub(crate) fn spoken(&self) -> Option<&str> {
        let silent = !self.tool_calls().is_empty() && self.content().trim().is_empty();
        (!silent).then(|| self.content())
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Revision({} `{}` {})",
            self.object_type(),
            self.name(),
            self.id()
        )
    }
}

/// Counters. They never decide, except in coarse buckets that a policy names, and are never hashed
/// into a revision.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Usage {
    /// The number of compiles that used it.
    pub access_count: u64,
    /// The instant at which a compile last used it.
    pub last_used: Option<Instant>,
    /// The instant of the last confirmation.
    pub last_confirmed: Option<Instant>,
}

impl Usage {
    /// The coarse bucket that a compile may depend on: the bit length of the access count.
    pub fn bucket(&self) -> u8 {
        (u64::BITS - self.access_count.leading_zeros()) as u8
    }
}

/// The tag of personal data.
pub(super) const PERSONAL: &str = "pii";

/// The store's decisions about an object. Written by the store's own settlement only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// The interval in which the system held it to be so.
    pub transaction: Interval,
    /// The instant at which its author said what it says, where a judgement, or a write that does not change what it says,
    /// renewed it since.
    pub recorded: Option<Instant>,
    /// The judgement on contradictions.
    pub contradiction: ContradictionStatus,
    /// The object that replaces it.
    pub superseded_by: Option<ObjectId>,
    /// The instant at which its author wrote what it says, where that was before the store came to hold it as it does now.
    pub written: Option<Instant>,
    /// The interval in which it is held to be true, where a later revision left only a part of what its author said.
    pub valid: Option<Interval>,
    /// The access to the object now, where this is a revision of the past: the caller must be admitted to both.
    pub access: Option<Arc<Access>>,
    /// The revision that should stand here, where its row was damaged: the object is a stand-in that says who might
    /// see it and whether it must go in, and nothing of its content.
    pub damaged: Option<RevisionId>,
    /// The decisions between its claims and those of other objects, by which they hold where a compile has both. Of two that act on
    /// one pair, the first holds; one that a merge makes gives way to one that needs none.
    pub decisions: Option<Arc<[Decided]>>,
    /// The authority that it asked for, where its source, its author or its writer gave it less.
    pub asked: Option<Authority>,
    /// True if the object stands among the same candidates with more authority, too, where that is the platform's or the
    /// developer's: it stands for that no more than anything else of less authority does.
    pub outranked: bool,
}

/// A decision between the claims of two objects.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Decided {
    /// The other object.
    pub other: ObjectId,
    /// The one of both that stands.
    pub stands: Decision,
    /// The ids that this object and the other one name, where only a merge makes them one: the decision acts where they mean one.
    pub merged: Option<Arc<[String; 2]>>,
}

/// The conditions for seeing a revision.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// The owner.
    pub scope: Arc<Scope>,
    /// The sensitivity.
    pub classification: Classification,
    /// True if it is personal data.
    pub personal: bool,
}

impl Status {
    /// The status of an object whose store has judged nothing.
    pub(super) const UNJUDGED: Status = Status {
        transaction: Interval::UNKNOWN,
        recorded: None,
        contradiction: ContradictionStatus::Clean,
        superseded_by: None,
        written: None,
        valid: None,
        access: None,
        damaged: None,
        decisions: None,
        asked: None,
        outranked: false,
    };
}

impl Default for Status {
    /// Returns the status of an object whose store has judged nothing.
    fn default() -> Status {
        Status::UNJUDGED
    }
}

impl Usage {
    pub(super) const NONE: Usage = Usage {
        access_count: 0,
        last_used: None,
        last_confirmed: None,
    };
}

/// The values that a registry gives an object in the place of its revision's. `None` leaves the revision's.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// Another name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// Another priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Score>,
    /// Another protection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// True if anyone but its author may remove it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removable: Option<bool>,
}

impl Overrides {
    /// The digest of what they say.
    pub(crate) fn digest(&self) -> Digest {
        let said = |said: bool| if said { b"1".as_slice() } else { b"0" };
        let priority = self.priority.map(Score::millionths).map(u32::to_le_bytes);
        Digest::of_parts([
            said(self.name.is_some()),
            self.name.as_deref().unwrap_or_default().as_bytes(),
            priority.as_ref().map_or(&[], <[u8; 4]>::as_slice),
            self.protection.map_or("", Protection::term).as_bytes(),
            self.removable.map_or(&[], said),
        ])
    }
}

impl Access {
    /// The digest of all of it.
    pub(crate) fn digest(&self) -> Digest {
        let scope = &*self.scope;
        let ids = [&scope.user, &scope.project, &scope.session, &scope.task];
        let mut parts: Vec<&[u8]> = vec![scope.tenant.as_bytes()];
        for id in ids {
            parts.push(id.as_deref().map_or(&[0], |_| &[1]));
            parts.push(id.as_deref().unwrap_or_default().as_bytes());
        }
        for roles in [&scope.allow_roles, &scope.deny_roles] {
            parts.push(b"roles");
            parts.extend(roles.iter().map(|role| role.as_bytes()));
        }
        let last = [self.classification as u8, u8::from(self.personal)];
        parts.push(&last);
        Digest::of_parts(parts)
    }
}

/// The fields that few objects have besides their revision.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub(super) status: Status,
    pub(super) usage: Usage,
    pub(super) overrides: Overrides,
}

static NO_RECORD: Record = Record {
    status: Status::UNJUDGED,
    usage: Usage::NONE,
    overrides: Overrides {
        name: None,
        priority: None,
        protection: None,
        removable: None,
    },
};

/// The atom: an immutable revision, what the store decided about it, how it was used, and what the
/// registry it stands in says otherwise.
#[derive(Clone, Debug)]
pub struct ContextObject {
    revision: Revision,
    record: Option<Box<Record>>,
}

impl ContextObject {
    pub(super) fn new(revision: Revision, status: Status, usage: Usage) -> ContextObject {
        let record = Record {
            status,
            usage,
            overrides: Overrides::default(),
        };
        ContextObject {
            revision,
            record: (record != NO_RECORD).then(|| Box::new(record)),
        }
    }

    /// Returns the revision with another judgement and other counters.
    #[must_use]
    pub fn judged(&self, status: Status, usage: Usage) -> ContextObject {
        let overrides = self.overrides().clone();
        let record = Record {
            status,
            usage,
            overrides,
        };
        ContextObject {
            revision: self.revision.clone(),
            record: (record != NO_RECORD).then(|| Box::new(record)),
        }
    }

    /// Returns the conditions for seeing this revision.
    pub fn access(&self) -> Access {
        Access {
            scope: Arc::clone(self.revision.scope()),
            classification: self.revision.classification(),
            personal: self.revision.is_personal(),
        }
    }

    /// Returns the interval in which it is held to be true in the world.
    pub fn valid(&self) -> Interval {
        self.status().valid.unwrap_or(self.revision.valid())
    }

    fn record(&self) -> &Record {
        self.record.as_deref().unwrap_or(&NO_RECORD)
    }

    /// Returns whether anything is known of it beside its revision.
    pub(crate) fn has_record(&self) -> bool {
        self.record.is_some()
    }

    /// The immutable part.
    pub fn revision(&self) -> &Revision {
        &self.revision
    }

    /// The store's judgement.
    pub fn status(&self) -> &Status {
        &self.record().status
    }

    /// The counters.
    pub fn usage(&self) -> &Usage {
        &self.record().usage
    }

    /// Returns the values that a registry gives in the place of the revision's.
    pub fn overrides(&self) -> &Overrides {
        &self.record().overrides
    }

    /// Returns the revision with these overrides, which replace all earlier ones.
    #[must_use]
    pub fn with_overrides(&self, overrides: Overrides) -> ContextObject {
        let record = Record {
            overrides,
            ..self.record().clone()
        };
        ContextObject {
            revision: self.revision.clone(),
            record: (record != NO_RECORD).then(|| Box::new(record)),
        }
    }

    /// The name it goes by: the registry's, else the revision's.
    pub fn name(&self) -> &str {
        self.name_arc()
    }

    pub(crate) fn shared_name(&self) -> Arc<str> {
        Arc::clone(self.name_arc())
    }

    fn name_arc(&self) -> &Arc<str> {
        let own = &self.revision.parts.name;
        self.overrides().name.as_ref().unwrap_or(own)
    }

    /// Returns its importance: the registry's, else the revision's.
    pub fn priority(&self) -> Score {
        let own = self.revision.priority();
        self.overrides().priority.unwrap_or(own)
    }

    /// Returns the protection of its text: the registry's, else the revision's.
    pub fn protection(&self) -> Protection {
        let own = self.revision.protection();
        self.overrides().protection.unwrap_or(own)
    }

    /// Returns whether anyone but its author may remove it: what the registry says, else the revision.
    pub fn is_removable(&self) -> bool {
        let own = self.revision.is_removable();
        self.overrides().removable.unwrap_or(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_ids_are_version_8_uuids_and_survive_their_text_form() {
        let id = ObjectId::derived(&["local", "rules.md", "init-seal"]);
        let text = id.to_string();
        assert_eq!(&text[14..15], "8");
        assert!("89ab".contains(&text[19..20]));
        assert_eq!(text.parse(), Ok(id));
        assert!("nonsense".parse::<ObjectId>().is_err());
        assert_ne!(
            ObjectId::derived(&["a", "bc"]),
            ObjectId::derived(&["ab", "c"])
        );
    }

    #[test]
    fn a_plain_object_is_small() {
        assert!(
            size_of::<ContextObject>() <= 240,
            "{}",
            size_of::<ContextObject>()
        );
    }
}
