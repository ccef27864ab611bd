//! The canonical JSON of an object: keys sorted, no white space, what equals its default left out.
//!
//! Its digest identifies a revision, so that spelling out a default, or reading an object from
//! another form, changes no identity. A snapshot holds objects in the same form.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::Wire;
use super::document::{
    ConstraintDocument, DecayRule, LOCAL_TENANT, PermissionScope, Provenance, ToolCall,
    default_authority, default_layer, default_trust, empty_schema,
};
use super::revision::{RevisionParts, Status, Usage};
use super::vocabulary::*;
use super::{Authority, ContextObject, ObjectDocument, ObjectId, kind_of_origin};
use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::base::num::Score;
use crate::base::time::Instant;

/// The fields of [`ObjectDocument`] in the order of their names.
#[derive(Serialize)]
pub(crate) struct Canonical<'a> {
    #[serde(rename = "abstract", skip_serializing_if = "Option::is_none")]
    abstract_text: Option<&'a str>,
    #[serde(skip_serializing_if = "is_zero")]
    access_count: u64,
    #[serde(skip_serializing_if = "is_empty")]
    aliases: &'a [String],
    #[serde(skip_serializing_if = "is_empty")]
    applicable_task_types: &'a [TaskType],
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<AuthorKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authority_level: Option<Authority>,
    #[serde(skip_serializing_if = "Option::is_none")]
    authorization_scope: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    behavioral_implication: Option<&'a str>,
    #[serde(skip_serializing_if = "is_empty")]
    canonical_entity_ids: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence_score: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conflict_policy: Option<ConflictPolicy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    constraint: Option<&'a ConstraintDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_digest: Option<Digest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    contradiction_status: Option<ContradictionStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decay_rule: Option<DecayRule>,
    #[serde(skip_serializing_if = "is_empty")]
    derived_from: &'a [ObjectId],
    #[serde(skip_serializing_if = "Option::is_none")]
    input_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inserted_in_step: Option<&'a str>,
    #[serde(skip_serializing_if = "is_empty")]
    keep_with: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    last_confirmed: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<Layer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_kind: Option<MemoryKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modality: Option<Modality>,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    normalized_claim: Option<&'a str>,
    object_id: ObjectId,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_type: Option<ObjectType>,
    #[serde(skip_serializing_if = "Option::is_none")]
    optional: Option<bool>,
    #[serde(skip_serializing_if = "is_empty")]
    origins: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overview: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_scope: Option<PermissionScope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protection: Option<Protection>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocol: Option<Protocol>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provenance: Option<&'a Provenance>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retirement_rule: Option<RetirementRule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<Role>,
    #[serde(skip_serializing_if = "Option::is_none")]
    said_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_classification: Option<Classification>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slot_cardinality: Option<SlotCardinality>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_authority: Option<Score>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_origin: Option<&'a str>,
    #[serde(skip_serializing_if = "is_empty")]
    subjects: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    supersession_link: Option<ObjectId>,
    #[serde(skip_serializing_if = "is_empty")]
    tags: &'a [Box<str>],
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_class: Option<TimeoutClass>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "is_empty")]
    tool_calls: &'a [ToolCall],
    #[serde(skip_serializing_if = "Option::is_none")]
    trajectory_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx_end: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tx_start: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    update_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_from: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    valid_until: Option<Instant>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_it_matters: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wire: Option<&'a Wire>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_empty<T>(list: &[T]) -> bool {
    list.is_empty()
}

/// `value`, unless it is the default.
fn unless<T: PartialEq>(value: T, default: T) -> Option<T> {
    (value != default).then_some(value)
}

impl<'a> Canonical<'a> {
    /// The whole object: revision, judgement and counters, without a registry's overrides.
    pub(crate) fn of(object: &'a ContextObject) -> Canonical<'a> {
        Canonical::new(object.revision().parts(), object.status(), object.usage())
    }

    /// Returns the form that a revision's digest covers: the revision alone, with the digest of its content in the
    /// place of the content, which is read once.
    pub(super) fn of_revision(parts: &'a RevisionParts) -> Canonical<'a> {
        Canonical {
            content: None,
            content_digest: Some(parts.content_digest),
            ..Canonical::new(parts, &Status::UNJUDGED, &Usage::NONE)
        }
    }

    fn new(parts: &'a RevisionParts, status: &Status, usage: &Usage) -> Canonical<'a> {
        let rare = parts.rare();
        let scope = &*parts.scope;
        let tool = rare.tool.as_ref();
        let trusted = default_trust(parts.authority);
        let roles = |roles: &[Box<str>]| roles.iter().map(|role| role.to_string()).collect();
        let open = scope.allow_roles.is_empty() && scope.deny_roles.is_empty();
        Canonical {
            abstract_text: rare.abstract_text.as_deref(),
            access_count: usage.access_count,
            aliases: &rare.aliases,
            applicable_task_types: &rare.task_types,
            author: unless(parts.author, AuthorKind::Seed),
            authority_level: unless(
                parts.authority,
                default_authority(parts.object_type, rare.role),
            ),
            authorization_scope: tool.and_then(|tool| tool.authorization_scope.as_deref()),
            behavioral_implication: rare.behavioral_implication.as_deref(),
            canonical_entity_ids: &rare.entities,
            confidence_score: unless(parts.confidence, trusted),
            conflict_policy: rare.conflict_policy,
            constraint: rare.constraint.as_ref(),
            content: Some(&parts.content),
            content_digest: None,
            contradiction_status: unless(status.contradiction, ContradictionStatus::Clean),
            decay_rule: rare.decay_rule,
            derived_from: &rare.derived_from,
            input_schema: tool
                .map(|tool| &tool.input_schema)
                .filter(|schema| **schema != empty_schema()),
            inserted_in_step: rare.inserted_in_step.as_deref(),
            keep_with: &rare.keep_with,
            last_confirmed: usage.last_confirmed,
            last_used: usage.last_used,
            layer: unless(parts.layer, default_layer(parts.object_type)),
            memory_kind: rare.memory_kind,
            modality: unless(parts.modality, Modality::Text),
            name: &parts.name,
            normalized_claim: rare.normalized_claim.as_deref(),
            object_id: parts.object_id,
            object_type: unless(parts.object_type, ObjectType::Rule),
            optional: unless(parts.optional, false),
            origins: &rare.origins,
            output_schema: tool.and_then(|tool| tool.output_schema.as_ref()),
            overview: rare.overview.as_deref(),
            permission_scope: (!open).then(|| PermissionScope {
                allow_roles: roles(&scope.allow_roles),
                deny_roles: roles(&scope.deny_roles),
            }),
            priority: unless(parts.priority, Score::HALF),
            project_id: scope.project.as_deref(),
            protection: unless(parts.protection, Protection::None),
            protocol: tool.and_then(|tool| unless(tool.protocol, Protocol::Function)),
            provenance: rare.provenance.as_ref(),
            removable: unless(parts.removable, true),
            retirement_rule: rare.retirement_rule,
            role: rare.role,
            said_by: rare.said_by.as_deref(),
            security_classification: unless(parts.classification, Classification::Restricted),
            session_id: scope.session.as_deref(),
            slot_cardinality: rare.slot_cardinality,
            source_authority: unless(parts.source_authority, trusted),
            source_origin: parts.origin.as_deref(),
            subjects: &rare.subjects,
            supersession_link: status.superseded_by,
            tags: &parts.tags,
            task_id: scope.task.as_deref(),
            tenant_id: unless(&*scope.tenant, LOCAL_TENANT),
            timeout_class: tool.and_then(|tool| unless(tool.timeout_class, TimeoutClass::Medium)),
            tool_call_id: rare.tool_call_id.as_deref(),
            tool_calls: &rare.tool_calls,
            trajectory_id: parts.trajectory.as_deref(),
            tx_end: status.transaction.until,
            tx_start: status.transaction.from,
            update_path: rare.update_path.as_deref(),
            user_id: scope.user.as_deref(),
            valid_from: parts.valid.from,
            valid_until: parts.valid.until,
            why_it_matters: rare.why_it_matters.as_deref(),
            wire: rare.wire.as_ref(),
        }
    }

    /// The digest of the JSON, which is written into `scratch`.
    pub(super) fn digest(&self, scratch: &mut Vec<u8>) -> Result<Digest, Error> {
        scratch.clear();
        serde_json::to_writer(&mut *scratch, self).map_err(unwritable)?;
        Ok(Digest::of(scratch))
    }
}

fn unwritable(error: impl Display) -> Error {
    Error::input(format!("the object cannot be written as JSON: {error}"))
}

impl Serialize for ContextObject {
    /// The published form, without a registry's overrides.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Canonical::of(self).serialize(serializer)
    }
}

impl JsonSchema for ContextObject {
    fn schema_name() -> Cow<'static, str> {
        ObjectDocument::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ObjectDocument::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for ContextObject {
    /// Reads the published form of what was sealed before.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ContextObject, D::Error> {
        let document = ObjectDocument::deserialize(deserializer)?;
        let object = document.seal_stored().map_err(de::Error::custom)?;
        Ok(Arc::unwrap_or_clone(object))
    }
}

impl ContextObject {
    /// The published form, without a registry's overrides: what [`ObjectDocument::seal`] makes the
    /// same object of. What [`ObjectDocument::distrust`] could lower states its authority, so that it keeps it when it is
    /// written again.
    pub fn to_document(&self) -> Result<ObjectDocument, Error> {
        let json = serde_json::to_value(self).map_err(unwritable)?;
        let mut document: ObjectDocument = serde_json::from_value(json).map_err(unwritable)?;
        let revision = self.revision();
        let is_agents = revision.author() == AuthorKind::Agent;
        let is_outside = revision.origins().any(|origin| kind_of_origin(origin).is_some());
        if is_agents || is_outside || revision.states_source_kind() {
            document.authority_level = Some(revision.authority_level());
        }
        Ok(document)
    }
}
