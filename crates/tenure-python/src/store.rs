//! A store of objects.

use std::sync::Arc;

use pyo3::prelude::*;
use tenure::object::LOCAL_TENANT;
use tenure_operations::call_as_owner;
use tenure_store::Writing;
use tenure_workspace::embedded::{Embedded, store};

use crate::errors::Raise;
use crate::values::{read, written};

/// A store, and the workspace that it was opened from.
#[pyclass(frozen)]
pub(crate) struct Store {
    pub(crate) inner: tenure_store::Store,
    pub(crate) embedded: Arc<Embedded>,
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
        let wanted = read(py, objects, "objects")?;
        let writing = Writing {
            idempotency_key: key,
            author,
        };
        let done = py.detach(|| store::put(&self.inner, wanted, tenant, &writing)).raise(py)?;
        written(py, &done)
    }

    /// Returns what is believed of the objects of a name or an id, now or at an instant.
    #[pyo3(signature = (name, tenant=LOCAL_TENANT, known_at=None))]
    fn get(
        &self,
        py: Python<'_>,
        name: &str,
        tenant: &str,
        known_at: Option<&str>,
    ) -> PyResult<String> {
        let found = py.detach(|| store::get(&self.inner, name, tenant, known_at)).raise(py)?;
        written(py, &found)
    }

    /// All that was ever believed of them, the first first.
    #[pyo3(signature = (name, tenant=LOCAL_TENANT))]
    fn history(&self, py: Python<'_>, name: &str, tenant: &str) -> PyResult<String> {
        let found = py.detach(|| store::history(&self.inner, name, tenant)).raise(py)?;
        written(py, &found)
    }

    /// The objects with words of a query that the owner sees.
    #[pyo3(signature = (query, most=20, tenant=LOCAL_TENANT))]
    fn search(&self, py: Python<'_>, query: &str, most: usize, tenant: &str) -> PyResult<String> {
        let found = py.detach(|| store::search(&self.inner, query, most, tenant)).raise(py)?;
        written(py, &found)
    }

    /// Judges an object believed no more: it stays in the history and leaves every compile.
    #[pyo3(signature = (name, tenant=LOCAL_TENANT))]
    fn retract(&self, py: Python<'_>, name: &str, tenant: &str) -> PyResult<String> {
        let done = py.detach(|| store::retract(&self.inner, name, tenant)).raise(py)?;
        written(py, &done)
    }

    /// Calls an operation of the table with an input of JSON, and returns its answer as JSON.
    #[pyo3(signature = (id, input, tenant=LOCAL_TENANT, key=None, author=None))]
    fn call(
        &self,
        py: Python<'_>,
        id: &str,
        input: &str,
        tenant: &str,
        key: Option<String>,
        author: Option<String>,
    ) -> PyResult<String> {
        let writing = Writing {
            idempotency_key: key,
            author,
        };
        let workspace = self.embedded.workspace();
        py.detach(|| call_as_owner((id, input), &self.inner, workspace, tenant, writing))
            .raise(py)
    }

    /// The tenant's version: each write raises it.
    #[pyo3(signature = (tenant=LOCAL_TENANT))]
    fn version(&self, py: Python<'_>, tenant: &str) -> PyResult<u64> {
        py.detach(|| self.inner.tenant(tenant)?.version()).raise(py)
    }

    /// The tenants.
    fn tenants(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.inner.tenants()).raise(py)
    }
}
