//! The verbs of a store, with its tenants by name and its objects by name or id.

use serde::Deserialize;
use tenure::object::{ObjectId, RevisionId};
use tenure::time::Instant;
use tenure::{Error, ObjectDocument, Policy, Principal};
use tenure_store::{Expect, Put, Store, Tenant, Writing, Written};

use super::outside;
use crate::views::{Belief, object_id};

/// An object to write, with the state that its writer expects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WantedObject {
    object: ObjectDocument,
    /// That there is none yet.
    #[serde(default)]
    absent: bool,
    /// That this revision was written last.
    #[serde(default)]
    revision: Option<RevisionId>,
}

/// Opens a store, and makes it where it is not there.
///
/// # Errors
///
/// As [`Store::open`] and [`Store::migrate`].
pub fn open(url: &str) -> Result<Store, Error> {
    let store = Store::open(url)?;
    store.migrate()?;
    Ok(store)
}

/// Writes objects, all of them or none. What names no type is data.
///
/// # Errors
///
/// As [`Tenant::put`].
pub fn put(
    store: &Store,
    wanted: Vec<WantedObject>,
    tenant: &str,
    writing: &Writing,
) -> Result<Written, Error> {
    let mut puts = Vec::with_capacity(wanted.len());
    for (at, wanted) in wanted.into_iter().enumerate() {
        let document = outside(wanted.object, tenant)
            .map_err(|error| error.or_at(format!("objects[{at}]"), None))?;
        let expect = match (wanted.revision, wanted.absent) {
            (Some(revision), _) => Expect::Revision(revision),
            (None, true) => Expect::Absent,
            (None, false) => Expect::Any,
        };
        puts.push(Put { document, expect });
    }
    store.tenant(tenant)?.put(puts, writing)
}

/// The ids that a name or an id names.
fn named(tenant: &Tenant, name: &str) -> Result<Vec<ObjectId>, Error> {
    match name.parse::<ObjectId>() {
        Ok(id) => Ok(vec![id]),
        Err(_) => tenant.named(name),
    }
}

/// Returns what is believed of the objects of a name or an id, now or at an instant.
///
/// # Errors
///
/// As [`Tenant::get`].
pub fn get(
    store: &Store,
    name: &str,
    tenant: &str,
    known_at: Option<&str>,
) -> Result<Vec<Belief>, Error> {
    let tenant = store.tenant(tenant)?;
    let known = known_at.map(str::parse::<Instant>).transpose()?;
    let mut found = Vec::new();
    for id in named(&tenant, name)? {
        found.extend(match known {
            Some(known) => tenant.as_of(id, known)?,
            None => tenant.get(id)?,
        });
    }
    found.iter().map(Belief::of).collect()
}

/// All that was ever believed of them, the first first.
///
/// # Errors
///
/// As [`Tenant::history`].
pub fn history(store: &Store, name: &str, tenant: &str) -> Result<Vec<Belief>, Error> {
    let tenant = store.tenant(tenant)?;
    let mut found = Vec::new();
    for id in named(&tenant, name)? {
        found.extend(tenant.history(id)?);
    }
    found.iter().map(Belief::of).collect()
}

/// The objects with words of a query that the owner sees.
///
/// # Errors
///
/// As [`Tenant::search`].
pub fn search(
    store: &Store,
    query: &str,
    most: usize,
    tenant: &str,
) -> Result<Vec<ObjectDocument>, Error> {
    let resident = store.tenant(tenant)?.search(query)?;
    let policy = Policy::preset("standard")?;
    let candidates = resident.candidates();
    let principal = Principal {
        tenant: tenant.to_owned(),
        ..Principal::owner()
    };
    let seen = tenure::admitted(&policy, &principal, candidates);
    seen.into_iter()
        .take(most)
        .map(|at| candidates.objects()[at].to_document())
        .collect()
}

/// Judges an object believed no more.
///
/// # Errors
///
/// As [`object_id`] and [`Tenant::retract`].
pub fn retract(store: &Store, name: &str, tenant: &str) -> Result<Written, Error> {
    let tenant = store.tenant(tenant)?;
    let id = object_id(&tenant, name)?;
    tenant.retract(id, Expect::Any, &Writing::default())
}
