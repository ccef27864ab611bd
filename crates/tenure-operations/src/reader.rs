//! On whose behalf a store is read: what of it may be shown.
//!
//! What is hidden is no other than what is not there, and looking for it takes as long.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::object::{ObjectId, clip};
use tenure::request::json_error;
use tenure::time::Instant;
use tenure::{Candidates, ContextObject, Error, ObjectDocument, Policy, Principal, admitted};
use tenure_store::{OutcomeLine, Sees, StoredObject, Tenant};
use tenure_workspace::keys::Grant;
use tenure_workspace::{Belief, object_id};

use crate::fields::{InField, read_field};

/// The number of beliefs that are read at once.
const CHUNK: u32 = 256;

/// On whose behalf objects are read.
pub enum Reader {
    /// An operator's own: past every access list.
    Operator,
    /// Somebody who sees what each object's labels and lists let them.
    Somebody(Box<(Principal, Policy)>),
}

impl Reader {
    /// Returns the caller, or whom the request names, which is no more than the caller is.
    ///
    /// # Errors
    ///
    /// As [`Grant::bind`].
    pub fn on_behalf(grant: &Grant, named: Option<Principal>) -> Result<Reader, Error> {
        let principal = match named {
            None if grant.operator => return Ok(Reader::Operator),
            None => grant.principal(),
            Some(named) => grant.bind(named)?,
        };
        // Personal data is what is tagged so, whatever policies a tenant keeps.
        let policy = Policy::preset("standard")?;
        Ok(Reader::Somebody(Box::new((principal, policy))))
    }

    /// Returns the caller, or whom the request names as JSON.
    ///
    /// # Errors
    ///
    /// As [`Reader::on_behalf`]; [`ErrorKind::Input`](tenure::ErrorKind::Input) when the text is no principal.
    pub fn of(grant: &Grant, named: Option<&str>) -> Result<Reader, Error> {
        let named = match named {
            None => None,
            // A list would be taken for the fields in their order.
            Some(json) if !json.trim_start().starts_with('{') => {
                return Err(Error::input("the principal is no JSON object")
                    .at("principal", None)
                    .expected("as a compile takes it: {\"tenant\": …}"));
            }
            Some(json) => {
                let named = serde_json::from_str(json);
                Some(read_field(
                    named.map_err(|error| json_error(&error, "principal"))?,
                    "principal",
                )?)
            }
        };
        Reader::on_behalf(grant, named)
    }

    /// Returns the test of which objects may be shown, by their labels alone; none for an operator, who sees all.
    pub fn sees(&self) -> Option<Box<Sees<'_>>> {
        let Reader::Somebody(reader) = self else {
            return None;
        };
        let (principal, policy) = &**reader;
        Some(Box::new(move |objects: &[Arc<ContextObject>]| {
            let candidates = Candidates::new(objects.to_vec());
            let mut seen = vec![false; objects.len()];
            for at in admitted(policy, principal, &candidates) {
                seen[at] = true;
            }
            seen
        }))
    }

    /// Returns the test of which objects may be shown to a reviewer: those of every user, as if the reviewer were that user.
    /// Tenant, project, roles and classes hold as they do elsewhere.
    pub fn sees_of_anyone(&self) -> Option<Box<Sees<'_>>> {
        let Reader::Somebody(reader) = self else {
            return None;
        };
        let (principal, policy) = &**reader;
        Some(Box::new(move |objects: &[Arc<ContextObject>]| {
            let mut by_user: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
            for (at, object) in objects.iter().enumerate() {
                let user = object.revision().scope().user.as_deref();
                by_user.entry(user).or_default().push(at);
            }
            let mut seen = vec![false; objects.len()];
            for (user, places) in by_user {
                let principal = Principal {
                    user: user.map_or_else(|| principal.user.clone(), |user| Some(user.to_owned())),
                    ..principal.clone()
                };
                let own = places.iter().map(|at| Arc::clone(&objects[*at]));
                let open = admitted(policy, &principal, &Candidates::new(own.collect()));
                for at in open {
                    seen[places[at]] = true;
                }
            }
            seen
        }))
    }

    /// Returns those of these objects that may be shown, in their order.
    pub fn among<'c>(&self, candidates: &'c Candidates) -> Vec<&'c Arc<ContextObject>> {
        let objects = candidates.objects();
        match self {
            Reader::Operator => objects.iter().collect(),
            Reader::Somebody(reader) => {
                let (principal, policy) = &**reader;
                let open = admitted(policy, principal, candidates);
                open.into_iter().filter_map(|at| objects.get(at)).collect()
            }
        }
    }

    /// Returns those of these beliefs that may be shown.
    pub fn of_beliefs(&self, beliefs: Vec<StoredObject>) -> Vec<StoredObject> {
        let Reader::Somebody(reader) = self else {
            return beliefs;
        };
        let (principal, policy) = &**reader;
        let objects = beliefs.iter().map(|belief| Arc::clone(&belief.object));
        let open = admitted(policy, principal, &Candidates::new(objects.collect()));
        (0..)
            .zip(beliefs)
            .filter(|(at, _)| open.binary_search(at).is_ok())
            .map(|(_, belief)| belief)
            .collect()
    }

    /// At most so many of the beliefs about an object that may be shown, from behind an instant on, and behind which
    /// instant there are more. What is hidden leaves no gap.
    pub fn history(
        &self,
        tenant: &Tenant,
        id: ObjectId,
        mut after: Option<Instant>,
        most: u32,
    ) -> Result<(Vec<StoredObject>, Option<Instant>), Error> {
        let opened = |belief: &StoredObject| belief.object.status().transaction.from;
        let sees = self.sees();
        let mut shown: Vec<StoredObject> = Vec::new();
        loop {
            let (beliefs, last) = tenant.history_seen(id, after, CHUNK, sees.as_deref())?;
            if last.is_none() {
                return Ok((shown, None));
            }
            after = last;
            for belief in self.of_beliefs(beliefs) {
                let last = shown.last().and_then(opened);
                // What was opened together stays together.
                if shown.len() >= most as usize && opened(&belief) != last {
                    return Ok((shown, last));
                }
                shown.push(belief);
            }
        }
    }

    /// These beliefs, as they are shown: to an operator with the ids of other objects, which others may not see.
    pub fn shown(&self, beliefs: &[StoredObject]) -> Result<Vec<Belief>, Error> {
        beliefs
            .iter()
            .map(|belief| {
                let belief = Belief::of(belief)?;
                Ok(match self {
                    Reader::Operator => belief,
                    Reader::Somebody(_) => belief.by_itself(),
                })
            })
            .collect()
    }

    /// The object that a path names, where there is one of which anything may be shown.
    pub fn existing(&self, tenant: &Tenant, named: &str) -> Result<Option<ObjectId>, Error> {
        let Some(sees) = self.sees() else {
            return existing(tenant, named);
        };
        self.existing_of(tenant, named, open(tenant.labels(named)?, &sees)?)
    }

    /// Returns the outcome that a reviewer names, of any user's proposals.
    pub fn existing_outcome(
        &self,
        tenant: &Tenant,
        named: &str,
        outcomes: &[OutcomeLine],
    ) -> Result<Option<ObjectId>, Error> {
        let Some(sees) = self.sees_of_anyone() else {
            return existing(tenant, named);
        };
        let mut found = tenant.labels(named)?;
        found.extend(tenant.waiting_labels(named)?);
        found.retain(|(id, _)| outcomes.iter().any(|one| one.object_id == *id));
        one_of(named, &open(found, &sees)?)
    }

    /// Returns the object of this name or id, a pending one too: that may be shown where the believed one may not.
    pub fn existing_to_decide(
        &self,
        tenant: &Tenant,
        named: &str,
    ) -> Result<Option<ObjectId>, Error> {
        let Some(sees) = self.sees() else {
            return existing(tenant, named);
        };
        let mut found = tenant.waiting_labels(named)?;
        found.extend(tenant.labels(named)?);
        self.existing_of(tenant, named, open(found, &sees)?)
    }

    /// Returns the object that a field names, of which anything may be shown.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) at the field when there is none, or when several have the name.
    pub fn object(&self, tenant: &Tenant, named: &str, field: &str) -> Result<ObjectId, Error> {
        match (self.existing(tenant, named).in_field(field)?, self) {
            (Some(id), _) => Ok(id),
            // An operator may know what there is instead.
            (None, Reader::Operator) => object_id(tenant, named).in_field(field),
            (None, _) => {
                let error = Error::input(format!("there is no object `{}`", clip(named)));
                Err(error.at(field, None))
            }
        }
    }

    fn existing_of(
        &self,
        tenant: &Tenant,
        named: &str,
        mut open: Vec<ObjectId>,
    ) -> Result<Option<ObjectId>, Error> {
        if open.len() > 1 {
            // Labels do not tell all: some memory is hidden by where it comes from.
            let mut shown = Vec::with_capacity(open.len());
            for id in open {
                if !self.history(tenant, id, None, 1)?.0.is_empty() {
                    shown.push(id);
                }
            }
            open = shown;
        }
        one_of(named, &open)
    }
}

/// The objects of these that may be shown by their labels, each once.
fn open(
    mut found: Vec<(ObjectId, Arc<ContextObject>)>,
    sees: &Sees<'_>,
) -> Result<Vec<ObjectId>, Error> {
    if found.is_empty() {
        // What is not there is judged, too, and so takes as long as what is hidden.
        found.push((ObjectId::from_bits(0), nobodys()?));
    }
    let (ids, labels): (Vec<ObjectId>, Vec<_>) = found.into_iter().unzip();
    let mut open: Vec<ObjectId> = ids
        .iter()
        .zip(sees(&labels))
        .filter(|(_, open)| *open)
        .map(|(id, _)| *id)
        .collect();
    let mut known = BTreeSet::new();
    open.retain(|id| known.insert(*id));
    Ok(open)
}

/// The one object that a name means.
fn one_of(named: &str, open: &[ObjectId]) -> Result<Option<ObjectId>, Error> {
    match open {
        [] => Ok(None),
        [id] => Ok(Some(*id)),
        several => {
            let ids: Vec<String> = several.iter().map(ObjectId::to_string).collect();
            let what = format!("{} objects are named `{}`", several.len(), clip(named));
            Err(Error::input(what)
                .at("object", None)
                .expected(format!("the id of one: {}", ids.join(", "))))
        }
    }
}

/// An object that nobody sees.
fn nobodys() -> Result<Arc<ContextObject>, Error> {
    let document = ObjectDocument {
        tenant_id: Some("\u{1}".into()),
        ..ObjectDocument::named("labels", "-")
    };
    document.seal()
}

/// The object of this id or name, where there is one.
pub fn existing(tenant: &Tenant, named: &str) -> Result<Option<ObjectId>, Error> {
    if let Ok(id) = named.parse() {
        let known = !tenant.labels(named)?.is_empty();
        return Ok(known.then_some(id));
    }
    if tenant.named(named)?.is_empty() {
        return Ok(None);
    }
    object_id(tenant, named).in_field("object").map(Some)
}

/// Returns the error of an object that is not there.
pub fn unknown(named: &str) -> Error {
    Error::not_found(format!("there is no object `{}`", clip(named)))
}
