//! Damaged revisions, and the objects that stand in for them.
//!
//! A revision whose row is not what was written is never served. Among the candidates of a compile an object
//! stands in for it, and nothing else: the compile leaves it out with a reason, or fails. The labels of its row say who
//! might see it; where they are damaged, too, only a caller who may see everything does. Its body, or an earlier revision
//! of the object, says only whether it must go in.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure::object::{Authority, Classification, ObjectId, RevisionId, Sealer, Status};
use tenure::{ContextObject, Error, ErrorKind, ObjectDocument};

use crate::rows::engine::{BeliefRow, Read};
use crate::rows::labels::{PERSONAL, document_of, labelled};
use crate::rows::stored::read_revision;

/// The content of an object that stands in for a lost one.
const LOST: &str = "[damaged]";

/// Reads revisions, and remembers those that are damaged.
pub(crate) struct Reading {
    sealer: Sealer,
    aside: BTreeSet<RevisionId>,
    damaged: Vec<(u64, BeliefRow, String)>,
}

/// A damaged revision: its place, a belief about it, and the object that stands in for it.
pub(crate) struct StandIn {
    pub(crate) place: u64,
    pub(crate) row: BeliefRow,
    pub(crate) object: Arc<ContextObject>,
    /// Set where the revision was set aside, so that only its labels are of any use.
    pub(crate) is_aside: bool,
}

impl Reading {
    pub(crate) fn of(rows: &mut dyn Read) -> Result<Reading, Error> {
        Ok(Reading {
            sealer: Sealer::default(),
            aside: rows.set_aside()?,
            damaged: Vec::new(),
        })
    }

    /// The revision of a belief, unless it is damaged.
    pub(crate) fn read(
        &mut self,
        place: u64,
        row: &BeliefRow,
        body: &str,
    ) -> Result<Option<Arc<ContextObject>>, Error> {
        match read_revision(&mut self.sealer, row.revision, body) {
            Err(error) if error.kind == ErrorKind::Damaged => {
                self.damaged.push((place, row.clone(), body.to_owned()));
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// The objects that stand in for the damaged revisions that were read.
    pub(crate) fn stand_ins(
        mut self,
        rows: &mut dyn Read,
        tenant: &str,
    ) -> Result<Vec<StandIn>, Error> {
        let damaged = std::mem::take(&mut self.damaged);
        let mut found = Vec::with_capacity(damaged.len());
        for (place, row, body) in damaged {
            let is_aside = self.aside.contains(&row.revision);
            let object = if is_aside {
                self.only_labels(tenant, &row)?
            } else {
                self.stand_in(rows, tenant, &row, &body)?
            };
            found.push(StandIn {
                place,
                row,
                object,
                is_aside,
            });
        }
        Ok(found)
    }

    /// A stand-in for a revision that shows nothing but who may see it.
    fn only_labels(&mut self, tenant: &str, row: &BeliefRow) -> Result<Arc<ContextObject>, Error> {
        match labelled(&mut self.sealer, tenant, row.object, &row.labels, None) {
            Err(error) if error.kind == ErrorKind::Damaged => {
                nameless(&mut self.sealer, tenant, row.object, row.revision)
            }
            read => read,
        }
    }

    fn stand_in(
        &mut self,
        rows: &mut dyn Read,
        tenant: &str,
        row: &BeliefRow,
        body: &str,
    ) -> Result<Arc<ContextObject>, Error> {
        let Some(labels) = document_of(tenant, row.object, &row.labels) else {
            return nameless(&mut self.sealer, tenant, row.object, row.revision);
        };
        let name = rows
            .standing(&[row.object])?
            .remove(&row.object)
            .map_or_else(|| row.object.to_string(), |standing| standing.name);
        let labels = ObjectDocument {
            name,
            content: LOST.into(),
            object_type: None,
            authority_level: None,
            ..labels
        };
        if let Some(claims) = claims(body)
            && let Ok(object) = self.standing_for(&labels, row, claims)
        {
            return Ok(object);
        }
        // What another revision of the object says, the newest first.
        let history = rows.history(row.object)?;
        for known in history.iter().rev() {
            let body = rows.bodies(&[known])?.remove(&known.revision);
            let read = read_revision(&mut self.sealer, known.revision, &body.unwrap_or_default());
            if let Ok(object) = read
                && let Ok(object) = self.standing_for(&labels, row, object.to_document()?)
            {
                return Ok(object);
            }
        }
        // It must go in, so that no compile of those who may see it passes over it. What comes from elsewhere may be
        // memory, which its origins keep from some.
        let is_from_elsewhere = labels.source_origin.is_some() || !labels.origins.is_empty();
        let document = ObjectDocument {
            authority_level: is_from_elsewhere.then_some(Authority::Memory),
            removable: Some(false),
            ..labels
        };
        match self.sealer.seal(document) {
            Ok(object) => Ok(marked(&object, row.revision)),
            Err(_) => nameless(&mut self.sealer, tenant, row.object, row.revision),
        }
    }

    /// An object whose labels say who may see it, and which has of a document what says whether it must go in.
    fn standing_for(
        &mut self,
        labels: &ObjectDocument,
        row: &BeliefRow,
        claims: ObjectDocument,
    ) -> Result<Arc<ContextObject>, Error> {
        let labels = labels.clone();
        let own_tags = claims.tags.into_iter().filter(|tag| tag != PERSONAL);
        let known_tags = labels.tags.iter().filter(|tag| *tag == PERSONAL).cloned();
        let document = ObjectDocument {
            object_type: claims.object_type,
            layer: claims.layer,
            authority_level: claims.authority_level,
            tags: own_tags.chain(known_tags).collect(),
            removable: claims.removable,
            optional: claims.optional,
            constraint: claims.constraint,
            memory_kind: claims.memory_kind,
            provenance: claims.provenance,
            role: claims.role,
            tool_call_id: claims.tool_call_id,
            input_schema: claims.input_schema.map(|_| serde_json::json!({ "type": "object" })),
            ..labels
        };
        Ok(marked(&*self.sealer.seal(document)?, row.revision))
    }
}

/// An object that stands in for one of which nothing is known, not even who may see it: it must go in, and only a caller
/// who may see everything sees it.
pub(crate) fn nameless(
    sealer: &mut Sealer,
    tenant: &str,
    id: ObjectId,
    revision: RevisionId,
) -> Result<Arc<ContextObject>, Error> {
    let document = ObjectDocument {
        object_id: Some(id),
        tenant_id: Some(tenant.to_owned()),
        security_classification: Some(Classification::HighlyRestricted),
        tags: vec![PERSONAL.into()],
        removable: Some(false),
        ..ObjectDocument::named(id.to_string(), LOST)
    };
    Ok(marked(&*sealer.seal(document)?, revision))
}

fn marked(object: &ContextObject, revision: RevisionId) -> Arc<ContextObject> {
    let status = Status {
        damaged: Some(revision),
        ..object.status().clone()
    };
    Arc::new(object.judged(status, *object.usage()))
}

/// Reads what a damaged body still says: bytes that are no text any more do not stop it from being read.
fn claims(body: &str) -> Option<ObjectDocument> {
    let text: String = body.chars().map(|c| if c < ' ' { ' ' } else { c }).collect();
    serde_json::from_str(&text).ok()
}
