//! From the published document to the object in memory.
//!
//! It stands above the rest of this room and above the providers' parsers: an object may bring the message that it
//! came in, which is read to see that it says what the object says.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::canonical::Canonical;
use super::document::{canonical, default_authority, default_layer, default_trust, empty_schema};
use super::revision::{Rare, RevisionParts};
use super::vocabulary::*;
use super::{
    ContextObject, LOCAL_TENANT, ObjectDocument, ObjectId, Revision, Scope, Status, Tool, Usage,
};
use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::base::num::Score;
use crate::base::time::Interval;
use crate::provider::wire;

impl ObjectDocument {
    /// Checks the document and makes it an object. A [`Sealer`](super::Sealer) makes many, and lets
    /// them share what they have in common.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when a field breaks a rule; the message names
    /// the field and says what was expected. As [`ObjectDocument::check_provenance`].
    pub fn seal(mut self) -> Result<Arc<ContextObject>, Error> {
        self.complete()?;
        self.check_provenance()?;
        self.seal_stored()
    }

    /// Makes an object again of what was stored once, whether it would be taken today or not.
    ///
    /// # Errors
    ///
    /// As [`ObjectDocument::seal`], but that a passage without provenance is taken. A compile omits it.
    pub fn seal_stored(self) -> Result<Arc<ContextObject>, Error> {
        Sealer::default().seal(self)
    }
}

/// Seals documents, and lets their objects share what they have in common: scopes, origins, runs. It takes what was
/// stored once as it is; who brings documents calls [`ObjectDocument::complete`] and
/// [`ObjectDocument::check_provenance`] before.
///
/// ```
/// use tenure::object::{ObjectDocument, Sealer};
/// let mut sealer = Sealer::default();
/// let a = sealer.seal(ObjectDocument::rule("a", "One."))?;
/// let b = sealer.seal(ObjectDocument::rule("b", "Two."))?;
/// assert!(std::sync::Arc::ptr_eq(a.revision().scope(), b.revision().scope()));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Sealer {
    scopes: BTreeSet<Arc<Scope>>,
    texts: BTreeSet<Arc<str>>,
    /// Room for the canonical form, used again and again.
    scratch: Vec<u8>,
}

impl Sealer {
    /// Checks the document and makes it an object.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when a field breaks a rule; the message names
    /// the field and says what was expected.
    pub fn seal(&mut self, document: ObjectDocument) -> Result<Arc<ContextObject>, Error> {
        document.check()?;
        if let Some(wire) = &document.wire {
            wire::check(&document, wire)?;
        }
        let object_type = document.object_type.unwrap_or(ObjectType::Rule);
        let authority = document
            .authority_level
            .unwrap_or(default_authority(object_type, document.role));
        let tenant = document.tenant_id.as_deref().unwrap_or(LOCAL_TENANT);
        let object_id = document.id_when_named(&document.name);
        let permissions = document.permission_scope.unwrap_or_default();
        let boxed = |roles: Vec<String>| roles.into_iter().map(Into::into).collect();
        let scope = self.scope(Scope {
            tenant: tenant.into(),
            user: document.user_id.map(Into::into),
            project: document.project_id.map(Into::into),
            session: document.session_id.map(Into::into),
            task: document.task_id.map(Into::into),
            allow_roles: boxed(permissions.allow_roles),
            deny_roles: boxed(permissions.deny_roles),
        });
        let status = Status {
            transaction: Interval {
                from: document.tx_start,
                until: document.tx_end,
            },
            contradiction: document.contradiction_status.unwrap_or(ContradictionStatus::Clean),
            superseded_by: document.supersession_link,
            asked: document.asked,
            ..Status::UNJUDGED
        };
        let usage = Usage {
            access_count: document.access_count.unwrap_or(0),
            last_used: document.last_used,
            last_confirmed: document.last_confirmed,
        };
        let tool = (object_type == ObjectType::ToolSchema).then(|| Tool {
            input_schema: canonical(document.input_schema.unwrap_or_else(empty_schema)),
            output_schema: document.output_schema.map(canonical),
            protocol: document.protocol.unwrap_or(Protocol::Function),
            authorization_scope: document.authorization_scope,
            timeout_class: document.timeout_class.unwrap_or(TimeoutClass::Medium),
        });
        let rare = Rare {
            abstract_text: document.abstract_text.map(Into::into),
            overview: document.overview.map(Into::into),
            normalized_claim: document.normalized_claim,
            slot_cardinality: document.slot_cardinality,
            entities: document.canonical_entity_ids,
            aliases: document.aliases,
            origins: document.origins,
            derived_from: document.derived_from,
            subjects: document.subjects,
            said_by: document.said_by,
            why_it_matters: document.why_it_matters,
            task_types: document.applicable_task_types,
            behavioral_implication: document.behavioral_implication,
            decay_rule: document.decay_rule,
            update_path: document.update_path,
            retirement_rule: document.retirement_rule,
            conflict_policy: document.conflict_policy,
            keep_with: document.keep_with,
            inserted_in_step: document.inserted_in_step,
            constraint: document.constraint,
            memory_kind: document.memory_kind,
            provenance: document.provenance,
            role: document.role,
            tool_calls: document.tool_calls,
            tool_call_id: document.tool_call_id,
            tool,
            wire: document.wire,
        };
        let trusted = default_trust(authority);
        let mut parts = RevisionParts {
            id: Digest::from_bytes([0; 32]),
            content_digest: Digest::of(document.content.as_bytes()),
            object_id,
            name: document.name.into(),
            content: document.content.into(),
            origin: document.source_origin.map(|origin| self.text(&origin)),
            trajectory: document.trajectory_id.map(|run| self.text(&run)),
            tags: boxed(document.tags),
            object_type,
            layer: document.layer.unwrap_or(default_layer(object_type)),
            authority,
            classification: document.security_classification.unwrap_or(Classification::Restricted),
            protection: document.protection.unwrap_or(Protection::None),
            modality: document.modality.unwrap_or(Modality::Text),
            author: document.author.unwrap_or(AuthorKind::Seed),
            priority: document.priority.unwrap_or(Score::HALF),
            source_authority: document.source_authority.unwrap_or(trusted),
            confidence: document.confidence_score.unwrap_or(trusted),
            removable: document.removable.unwrap_or(true),
            optional: document.optional.unwrap_or(false),
            valid: Interval {
                from: document.valid_from,
                until: document.valid_until,
            },
            scope,
            rare: rare.boxed(),
        };
        parts.id = Canonical::of_revision(&parts).digest(&mut self.scratch)?;
        let revision = Revision::from_parts(parts);
        Ok(Arc::new(ContextObject::new(revision, status, usage)))
    }

    fn scope(&mut self, scope: Scope) -> Arc<Scope> {
        if let Some(known) = self.scopes.get(&scope) {
            return Arc::clone(known);
        }
        let fresh = Arc::new(scope);
        self.scopes.insert(Arc::clone(&fresh));
        fresh
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return Arc::clone(known);
        }
        let fresh: Arc<str> = text.into();
        self.texts.insert(Arc::clone(&fresh));
        fresh
    }
}

impl ObjectDocument {
    /// The id that it has under this name, unless it says one itself.
    pub fn id_when_named(&self, name: &str) -> ObjectId {
        let tenant = self.tenant_id.as_deref().unwrap_or(LOCAL_TENANT);
        let origin = self.source_origin.as_deref().unwrap_or_default();
        self.object_id.unwrap_or_else(|| id_of_source(tenant, origin, name, self))
    }
}

/// The id of what its author gave none: it follows from its name, where it comes from and whose it
/// is, so that no one writes over what another calls by the same name.
fn id_of_source(tenant: &str, origin: &str, name: &str, document: &ObjectDocument) -> ObjectId {
    let scope = [
        &document.user_id,
        &document.project_id,
        &document.session_id,
        &document.task_id,
    ];
    let mut parts = vec![tenant, origin, name];
    if scope.iter().any(|id| id.is_some()) {
        parts.extend(scope.map(|id| id.as_deref().unwrap_or_default()));
    }
    ObjectId::derived(&parts)
}
