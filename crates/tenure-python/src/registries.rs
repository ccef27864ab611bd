//! An agent's working sets of blocks, in memory or in snapshots.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use tenure::Error;
use tenure_workspace::embedded::registries::OwnedRegistries;

use crate::errors::Raise;
use crate::values::{read, written};
use crate::workspace::{Objects, Workspace};

/// Registries, with the authority over each of them.
#[pyclass(frozen)]
pub(crate) struct Registries(OwnedRegistries);

impl Registries {
    pub(crate) fn open(
        workspace: &tenure_workspace::Workspace,
        snapshot: Option<&Path>,
    ) -> Result<Registries, Error> {
        OwnedRegistries::open(workspace, snapshot).map(Registries)
    }
}

#[pymethods]
impl Registries {
    /// Makes a registry of an agent, or of an orchestrator.
    #[pyo3(signature = (label, kind="agent"))]
    fn create(&self, py: Python<'_>, label: &str, kind: &str) -> PyResult<()> {
        py.detach(|| self.0.create(label, kind.parse()?)).raise(py)
    }

    /// The labels.
    fn labels(&self) -> Vec<String> {
        self.0.labels()
    }

    /// Puts in the seeds of files and folders.
    fn draw(
        &self,
        py: Python<'_>,
        workspace: &Workspace,
        label: &str,
        files: Vec<PathBuf>,
    ) -> PyResult<usize> {
        let workspace = workspace.0.workspace();
        py.detach(|| self.0.draw(workspace, label, &files)).raise(py)
    }

    /// Applies an operation whose blocks are named. A registry acts as itself.
    fn apply(&self, py: Python<'_>, label: &str, op: &str) -> PyResult<String> {
        let op = read(py, op, "op")?;
        let done = py.detach(|| self.0.apply(label, op)).raise(py)?;
        written(py, &done)
    }

    /// Writes a block at a place.
    fn write(&self, py: Python<'_>, label: &str, object: &str, at: &str) -> PyResult<String> {
        let (object, at) = (read(py, object, "object")?, read(py, at, "at")?);
        let done = py.detach(|| self.0.write(label, object, at)).raise(py)?;
        written(py, &done)
    }

    /// Gives a block another content.
    fn revise(&self, py: Python<'_>, label: &str, name: &str, content: String) -> PyResult<String> {
        let done = py.detach(|| self.0.revise(label, name, content)).raise(py)?;
        written(py, &done)
    }

    /// Evicts what is least worth keeping until so many bytes are left. `scores` are the caller's own, by name: what has
    /// none is kept by priority and use.
    #[pyo3(signature = (label, bytes, scores=None))]
    fn evict_until(
        &self,
        py: Python<'_>,
        label: &str,
        bytes: u64,
        scores: Option<BTreeMap<String, f64>>,
    ) -> PyResult<(Vec<String>, u64)> {
        py.detach(|| self.0.evict_until(label, bytes, |name| scores.as_ref()?.get(name).copied()))
            .raise(py)
    }

    /// The blocks as objects that can be compiled.
    fn objects(&self, py: Python<'_>, label: &str) -> PyResult<Objects> {
        let candidates = py.detach(|| self.0.candidates(label)).raise(py)?;
        Ok(Objects(Arc::new(candidates)))
    }

    /// The blocks, in order, as documents.
    fn blocks(&self, py: Python<'_>, label: &str) -> PyResult<String> {
        let blocks = py.detach(|| self.0.blocks(label)).raise(py)?;
        written(py, &blocks)
    }

    /// The registry in a few numbers.
    fn summary(&self, py: Python<'_>, label: &str) -> PyResult<String> {
        written(py, &self.0.summary(label).raise(py)?)
    }

    /// Tells where each block comes from, and what became of it.
    fn provenance(&self, py: Python<'_>, label: &str) -> PyResult<String> {
        written(py, &self.0.provenance(label).raise(py)?)
    }

    /// Everything, as a text that restores it.
    fn snapshot(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.0.snapshot()).raise(py)
    }
}
