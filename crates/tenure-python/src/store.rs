//! A store of objects.

use std::sync::Arc;

use pyo3::prelude::*;
use serde::Deserialize;
use tenure::object::{LOCAL_TENANT, ObjectId, RevisionId};
use tenure::time::Instant;
use tenure::{Error, ObjectDocument, Policy, Principal};
use tenure_store::{Expect, Put, StoredObject, Tenant, Writing};
use tenure_workspace::{Belief, object_id};

use crate::errors::Raise;
use crate::values::{read, written};
use crate::workspace::Shared;

/// An object to write, with the state that its writer expects.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    object: ObjectDocument,
    /// That there is none yet.
    #[serde(default)]
    absent: bool,
    /// That this revision was written last.
    #[serde(default)]
    revision: Option<RevisionId>,
}

/// A store, and the models that its searches are ranked by.
#[pyclass(frozen)]
pub(crate) struct Store {
    store: tenure_store::Store,
}

impl Store {
    /// Opens a store, and makes it where it is not there.
    pub(crate) fn open(_: Arc<Shared>, url: &str) -> Result<Store, Error> {
        let store = tenure_store::Store::open(url)?;
        store.migrate()?;
        Ok(Store { store })
    }

    pub(crate) fn tenant(&self, name: &str) -> Result<Tenant, Error> {
        self.store.tenant(name)
    }
}

/// What a name or an id names.
fn named(tenant: &Tenant, name: &str) -> Result<Vec<ObjectId>, Error> {
    match name.parse::<ObjectId>() {
        Ok(id) => Ok(vec![id]),
        Err(_) => tenant.named(name),
    }
}

#[pymethods]
impl Store {
    /// Writes objects, all of them or none.
    #[pyo3(signature = (objects, tenant=LOCAL_TENANT, key=None, author=None))]
    fn put(
        &self,
        py: Python<'_>,
        objects: &str,
        tenant: &str,
        key: Option<String>,
        author: Option<String>,
    ) -> PyResult<String> {
        let wanted: Vec<Wanted> = read(py, objects, "objects")?;
        let put = || -> Result<_, Error> {
            let mut puts = Vec::with_capacity(wanted.len());
            for (at, wanted) in wanted.into_iter().enumerate() {
                let within = |error: Error| error.or_at(format!("objects[{at}]"), None);
                let mut document = wanted.object;
                document.tenant_id.get_or_insert_with(|| tenant.to_owned());
                document.complete().map_err(within)?;
                document.untyped_is_data();
                document.distrust_the_web();
                document.check_provenance().map_err(within)?;
                let expect = match (wanted.revision, wanted.absent) {
                    (Some(revision), _) => Expect::Revision(revision),
                    (None, true) => Expect::Absent,
                    (None, false) => Expect::Any,
                };
                puts.push(Put { document, expect });
            }
            let writing = Writing {
                idempotency_key: key,
                author,
            };
            self.tenant(tenant)?.put(puts, &writing)
        };
        let done = py.detach(put).raise(py)?;
        written(py, &done)
    }

    /// The states of the objects of a name or an id that are believed, now or at an instant.
    #[pyo3(signature = (name, tenant=LOCAL_TENANT, known_at=None))]
    fn get(
        &self,
        py: Python<'_>,
        name: &str,
        tenant: &str,
        known_at: Option<&str>,
    ) -> PyResult<String> {
        let get = || -> Result<_, Error> {
            let tenant = self.tenant(tenant)?;
            let known = known_at.map(str::parse::<Instant>).transpose()?;
            let mut found = Vec::new();
            for id in named(&tenant, name)? {
                found.extend(match known {
                    Some(known) => tenant.as_of(id, known)?,
                    None => tenant.get(id)?,
                });
            }
            documents(&found)
        };
        let found = py.detach(get).raise(py)?;
        written(py, &found)
    }

    /// Every state that an object ever had, the first first.
    #[pyo3(signature = (name, tenant=LOCAL_TENANT))]
    fn history(&self, py: Python<'_>, name: &str, tenant: &str) -> PyResult<String> {
        let get = || -> Result<_, Error> {
            let tenant = self.tenant(tenant)?;
            let mut found = Vec::new();
            for id in named(&tenant, name)? {
                found.extend(tenant.history(id)?);
            }
            documents(&found)
        };
        let found = py.detach(get).raise(py)?;
        written(py, &found)
    }

    /// The objects with words of a query that the owner sees, the best first.
    #[pyo3(signature = (query, most=20, tenant=LOCAL_TENANT))]
    fn search(&self, py: Python<'_>, query: &str, most: usize, tenant: &str) -> PyResult<String> {
        let search = || -> Result<_, Error> {
            let resident = self.tenant(tenant)?.search(query)?;
            let policy = Policy::preset("standard")?;
            let candidates = resident.candidates();
            let principal = Principal {
                tenant: tenant.to_owned(),
                ..Principal::owner()
            };
            let seen = tenure::admitted(&policy, &principal, candidates);
            let objects = seen.into_iter().take(most);
            let objects = objects.map(|at| candidates.objects()[at].to_document());
            objects.collect::<Result<Vec<_>, Error>>()
        };
        let found = py.detach(search).raise(py)?;
        written(py, &found)
    }

    /// Judges an object believed no more: it stays in the history and leaves every compile.
    #[pyo3(signature = (name, tenant=LOCAL_TENANT))]
    fn retract(&self, py: Python<'_>, name: &str, tenant: &str) -> PyResult<String> {
        let retract = || -> Result<_, Error> {
            let tenant = self.tenant(tenant)?;
            let id = object_id(&tenant, name)?;
            tenant.retract(id, Expect::Any, &Writing::default())
        };
        let done = py.detach(retract).raise(py)?;
        written(py, &done)
    }

    /// The tenant's version: each write raises it.
    #[pyo3(signature = (tenant=LOCAL_TENANT))]
    fn version(&self, py: Python<'_>, tenant: &str) -> PyResult<u64> {
        py.detach(|| self.tenant(tenant)?.version()).raise(py)
    }

    /// The tenants.
    fn tenants(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.store.tenants()).raise(py)
    }
}

/// Stored objects as they are published.
fn documents(stored: &[StoredObject]) -> Result<Vec<Belief>, Error> {
    stored.iter().map(Belief::of).collect()
}
