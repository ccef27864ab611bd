//! Labels: they say who may see a revision, and are kept apart from its body. So what is hidden is refused before its
//! body is read, as quickly as what does not exist.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure::object::{
    Access, Authority, Classification, ObjectId, ObjectType, PermissionScope, RevisionId, Sealer,
    Status,
};
use tenure::{ContextObject, Error, ErrorKind, ObjectDocument};

use crate::rows::engine::{BeliefRow, Read};

/// Says of each of these objects whether it may be seen. They have the labels of revisions and none of their contents.
pub type Sees<'s> = dyn Fn(&[Arc<ContextObject>]) -> Vec<bool> + 's;

/// A tenant that no caller is of.
const NOBODYS: &str = "\u{1}";

/// The tag of personal data.
pub(crate) const PERSONAL: &str = "pii";

/// The fields of a revision that say who may see it.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Labels {
    #[serde(skip_serializing_if = "Option::is_none")]
    security_classification: Option<Classification>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_scope: Option<PermissionScope>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    project_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    subjects: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_origin: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    origins: Vec<String>,
    /// True of memory of the web, which is read for its origins alone. Rows from before labels said so say nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    memory: bool,
}

/// The labels of a revision, as JSON.
pub(crate) fn labels_of(object: &ContextObject) -> Result<Arc<str>, Error> {
    let revision = object.revision();
    let scope = revision.scope();
    let text = |id: &Option<Box<str>>| id.as_deref().map(str::to_owned);
    let roles = |roles: &[Box<str>]| roles.iter().map(ToString::to_string).collect();
    let (allow_roles, deny_roles) = (roles(&scope.allow_roles), roles(&scope.deny_roles));
    let permissions = PermissionScope {
        allow_roles,
        deny_roles,
    };
    let personal = revision.is_personal().then(|| PERSONAL.to_owned());
    let labels = Labels {
        security_classification: Some(revision.classification()),
        permission_scope: (permissions != PermissionScope::default()).then_some(permissions),
        user_id: text(&scope.user),
        project_id: text(&scope.project),
        session_id: text(&scope.session),
        task_id: text(&scope.task),
        tags: personal.into_iter().collect(),
        subjects: Vec::new(),
        source_origin: None,
        origins: revision.origins().map(str::to_owned).collect(),
        memory: !object.sites().is_empty(),
    };
    let written = serde_json::to_string(&labels)
        .map_err(|error| Error::assertion(format!("labels are JSON: {error}")))?;
    Ok(written.into())
}

/// An object with these labels, which says nothing else.
pub(crate) fn labelled(
    sealer: &mut Sealer,
    tenant: &str,
    id: ObjectId,
    labels: &str,
    access: Option<Arc<Access>>,
) -> Result<Arc<ContextObject>, Error> {
    let damaged = || {
        Error::damaged(format!(
            "the labels of the object `{id}`, which say who may see it, are damaged"
        ))
    };
    let document = document_of(tenant, id, labels).ok_or_else(damaged)?;
    let object = sealer.seal(document).map_err(|_| damaged())?;
    let status = Status {
        access,
        ..Status::default()
    };
    Ok(Arc::new(object.judged(status, *object.usage())))
}

/// The document of an object with these labels, which says nothing else; none where they cannot be read.
pub(crate) fn document_of(tenant: &str, id: ObjectId, labels: &str) -> Option<ObjectDocument> {
    let labels: Labels = serde_json::from_str(labels).ok()?;
    let memory = labels.memory;
    Some(ObjectDocument {
        object_type: memory.then_some(ObjectType::InferredBelief),
        authority_level: memory.then_some(Authority::Memory),
        object_id: Some(id),
        tenant_id: Some(tenant.to_owned()),
        security_classification: labels.security_classification,
        permission_scope: labels.permission_scope,
        user_id: labels.user_id,
        project_id: labels.project_id,
        session_id: labels.session_id,
        task_id: labels.task_id,
        tags: labels.tags,
        subjects: labels.subjects,
        source_origin: labels.source_origin,
        origins: labels.origins,
        ..ObjectDocument::named("labels", "-")
    })
}

/// Like `document_of`, where labels that cannot be read hide what they are of: it is seen in no list.
pub(crate) fn labelled_or_hidden(
    sealer: &mut Sealer,
    tenant: &str,
    id: ObjectId,
    labels: &str,
    access: Option<Arc<Access>>,
) -> Result<Arc<ContextObject>, Error> {
    match labelled(sealer, tenant, id, labels, access) {
        Err(error) if error.kind == ErrorKind::Damaged => sealer.seal(ObjectDocument {
            tenant_id: Some(NOBODYS.into()),
            ..ObjectDocument::named("labels", "-")
        }),
        read => read,
    }
}

/// Those of these beliefs whose revisions may be seen; all of them where there is no caller. `access` is who may see what is
/// not believed any more.
pub(crate) fn open(
    tenant: &str,
    beliefs: Vec<BeliefRow>,
    access: Option<&Arc<Access>>,
    sees: Option<&Sees<'_>>,
) -> Result<Vec<BeliefRow>, Error> {
    let Some(sees) = sees else {
        return Ok(beliefs);
    };
    let mut sealer = Sealer::default();
    let objects: Vec<_> = beliefs
        .iter()
        .map(|row| {
            let access = row.closed.and(access.cloned());
            labelled_or_hidden(&mut sealer, tenant, row.object, &row.labels, access)
        })
        .collect::<Result<_, _>>()?;
    let mut seen = sees(&objects).into_iter();
    let open = beliefs.into_iter();
    Ok(open.filter(|_| seen.next() == Some(true)).collect())
}

/// Those of these objects of which something may be seen, by the labels of what is believed of them; all of them where
/// there is no caller. Few labels are shared by many objects, so each is judged once; where there are no objects,
/// the labels of none are judged, so that it takes as long as where all are hidden.
pub(crate) fn open_objects(
    rows: &mut dyn Read,
    tenant: &str,
    ids: Vec<ObjectId>,
    sees: Option<&Sees<'_>>,
) -> Result<Vec<ObjectId>, Error> {
    let Some(sees) = sees else {
        return Ok(ids);
    };
    let held = believed_labels(rows, &ids)?;
    let seen = seen_texts(tenant, &held, sees)?;
    let open: BTreeSet<ObjectId> =
        held.iter().filter(|(_, text)| seen.contains(text)).map(|(id, _)| *id).collect();
    Ok(ids.into_iter().filter(|id| open.contains(id)).collect())
}

/// Those of these labels that may be seen.
fn seen_texts(
    tenant: &str,
    held: &[(ObjectId, Arc<str>)],
    sees: &Sees<'_>,
) -> Result<BTreeSet<Arc<str>>, Error> {
    let mut different: Vec<(ObjectId, Arc<str>)> = held.to_vec();
    different.sort_unstable_by(|(_, one), (_, other)| one.cmp(other));
    different.dedup_by(|(_, one), (_, other)| one == other);
    if different.is_empty() {
        different.push((ObjectId::from_bits(0), "{}".into()));
    }
    let mut sealer = Sealer::default();
    let objects: Vec<_> = different
        .iter()
        .map(|(id, text)| labelled_or_hidden(&mut sealer, tenant, *id, text, None))
        .collect::<Result<_, _>>()?;
    let seen = sees(&objects);
    let seen = different.into_iter().zip(seen).filter(|(_, seen)| *seen);
    Ok(seen.map(|((_, text), _)| text).collect())
}

/// The labels of what is believed of these objects now, of each belief. What waits counts where nothing is believed: beside a
/// belief it says nothing of who may see that.
pub(crate) fn believed_labels(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<Vec<(ObjectId, Arc<str>)>, Error> {
    let mut held = rows.held_labels(ids)?;
    let mut known = BTreeSet::new();
    let again = held.iter().filter(|(id, _)| !known.insert(*id));
    let several: BTreeSet<ObjectId> = again.map(|(id, _)| *id).collect();
    if several.is_empty() {
        return Ok(held);
    }
    held.retain(|(id, _)| !several.contains(id));
    let several: Vec<ObjectId> = several.into_iter().collect();
    for (id, standing) in rows.standing(&several)? {
        let is_believed = standing.beliefs.iter().any(|row| !row.waits());
        let mut beliefs = standing.beliefs;
        beliefs.retain(|row| !(is_believed && row.waits()));
        held.extend(beliefs.into_iter().map(|row| (id, row.labels)));
    }
    Ok(held)
}

/// The parts of an object that a decision is about: those with labels that a caller may see, and of one revision where one is
/// named. The labels are read before a write, which cannot ask the caller.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    seen: Option<BTreeSet<Arc<str>>>,
    revision: Option<RevisionId>,
}

impl Parts {
    /// Reads the labels of what is believed of an object now, and of what waits; any labels where there is no caller.
    pub(crate) fn of(
        rows: &mut dyn Read,
        tenant: &str,
        id: ObjectId,
        sees: Option<&Sees<'_>>,
    ) -> Result<Parts, Error> {
        let Some(sees) = sees else {
            return Ok(Parts::default());
        };
        let held = rows.held_labels(&[id])?;
        Ok(Parts {
            seen: Some(seen_texts(tenant, &held, sees)?),
            revision: None,
        })
    }

    /// Those of them that are of a revision, where one is named.
    pub(crate) fn of_revision(self, revision: Option<RevisionId>) -> Parts {
        Parts { revision, ..self }
    }

    /// Returns whether the caller may see a belief.
    pub(crate) fn show(&self, row: &BeliefRow) -> bool {
        self.seen.as_ref().is_none_or(|seen| seen.contains(&row.labels))
    }

    /// Returns whether a belief is one of them.
    pub(crate) fn have(&self, row: &BeliefRow) -> bool {
        self.show(row) && self.revision.is_none_or(|own| own == row.revision)
    }
}

/// Those of these objects of which everything may be seen that is believed of them; all of them where there is no caller. What
/// waits beside it does not count.
pub(crate) fn open_whole(
    rows: &mut dyn Read,
    tenant: &str,
    ids: &[ObjectId],
    sees: Option<&Sees<'_>>,
) -> Result<BTreeSet<ObjectId>, Error> {
    let Some(sees) = sees else {
        return Ok(ids.iter().copied().collect());
    };
    let held = believed_labels(rows, ids)?;
    let seen = seen_texts(tenant, &held, sees)?;
    let mut whole: BTreeSet<ObjectId> = held.iter().map(|(id, _)| *id).collect();
    for (id, text) in &held {
        if !seen.contains(text) {
            whole.remove(id);
        }
    }
    Ok(whole)
}

/// The access to an object that holds now: that of the revision that was written last.
pub(crate) fn head_access(
    rows: &mut dyn Read,
    tenant: &str,
    id: ObjectId,
) -> Result<Option<Arc<Access>>, Error> {
    let Some((_, labels)) = rows.head_labels(Ok(id))?.pop() else {
        return Ok(None);
    };
    let object = labelled(&mut Sealer::default(), tenant, id, &labels, None)?;
    Ok(Some(Arc::new(object.access())))
}
