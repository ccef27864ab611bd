//! An agent's working sets of blocks, in memory or in snapshots.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use serde::Serialize;
use tenure::registry::{Address, Applied, Capability, Kind, Op, Until, retention};
use tenure::{Candidates, Error, ObjectDocument};

use crate::errors::Raise;
use crate::values::{read, written};
use crate::workspace::{Objects, Shared};

/// Registries, with the authority over each of them.
#[pyclass(frozen)]
pub(crate) struct Registries {
    inner: Mutex<tenure::registry::Registries>,
}

/// Registries, locked, with what is done by the owner of all of them.
struct Owned<'r>(MutexGuard<'r, tenure::registry::Registries>);

impl Owned<'_> {
    fn capability(&self, label: &str) -> Result<Capability, Error> {
        self.0.issue(label)
    }

    fn address(&mut self, label: &str, name: &str) -> Result<Address, Error> {
        let view = self.0.view(label)?;
        let block = view.named(name)?;
        Ok(view.address(&self.0, block))
    }
}

impl Registries {
    pub(crate) fn open(shared: &Shared, snapshot: Option<&Path>) -> Result<Registries, Error> {
        let registries = match snapshot {
            Some(path) => shared.workspace.read_snapshot(path)?,
            None => shared.workspace.registries()?,
        };
        Ok(Registries {
            inner: Mutex::new(registries),
        })
    }

    fn owned(&self) -> Owned<'_> {
        Owned(self.inner.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Registries {
    /// Makes a registry of an agent, or of an orchestrator.
    #[pyo3(signature = (label, kind="agent"))]
    fn create(&self, py: Python<'_>, label: &str, kind: &str) -> PyResult<()> {
        let create = || -> Result<(), Error> {
            let kind: Kind = kind.parse()?;
            self.owned().0.create(label, kind).map(drop)
        };
        py.detach(create).raise(py)
    }

    /// The labels.
    fn labels(&self) -> Vec<String> {
        self.owned().0.labels().map(str::to_owned).collect()
    }

    /// Applies an operation whose blocks are named. A registry acts as itself.
    fn apply(&self, py: Python<'_>, label: &str, op: &str) -> PyResult<String> {
        let op: Op<String> = read(py, op, "op")?;
        let apply = || -> Result<Applied, Error> {
            let mut owned = self.owned();
            let by = owned.capability(label)?;
            let op = op.try_map(|name| owned.address(label, &name))?;
            owned.0.apply(&by, label, op)
        };
        let done = py.detach(apply).raise(py)?;
        written(py, &Told::from(done))
    }

    /// Writes a block at a place.
    fn write(&self, py: Python<'_>, label: &str, object: &str, at: &str) -> PyResult<String> {
        let document: ObjectDocument = read(py, object, "object")?;
        let at: tenure::registry::Place<String> = read(py, at, "at")?;
        let write = || -> Result<Applied, Error> {
            let mut owned = self.owned();
            let by = owned.capability(label)?;
            let at = at.try_map(&mut |name: String| owned.address(label, &name))?;
            owned.0.write(&by, label, document, at)
        };
        let done = py.detach(write).raise(py)?;
        written(py, &Told::from(done))
    }

    /// Gives a block another content.
    fn revise(&self, py: Python<'_>, label: &str, name: &str, content: String) -> PyResult<String> {
        let revise = || -> Result<Applied, Error> {
            let mut owned = self.owned();
            let by = owned.capability(label)?;
            let block = owned.address(label, name)?;
            owned.0.revise(&by, label, block, content)
        };
        let done = py.detach(revise).raise(py)?;
        written(py, &Told::from(done))
    }

    /// Evicts what is least worth keeping until so many bytes are left. `scores` are the caller's own, by name: what has
    /// none is kept by priority and use.
    #[pyo3(signature = (label, bytes, scores=None))]
    fn evict_until(
        &self,
        py: Python<'_>,
        label: &str,
        bytes: u64,
        scores: Option<std::collections::BTreeMap<String, f64>>,
    ) -> PyResult<(Vec<String>, u64)> {
        let evict = || -> Result<(Vec<String>, u64), Error> {
            let mut owned = self.owned();
            let by = owned.capability(label)?;
            let before = owned.0.view(label)?;
            let until = Until::bytes(bytes);
            let (eviction, _) = owned.0.evict_until(&by, label, &until, |block| {
                let own = scores.as_ref().and_then(|scores| scores.get(block.name()));
                match own {
                    Some(score) => tenure::num::Score::clamped(*score),
                    None => retention(block),
                }
            })?;
            let names = before.blocks();
            let gone = names.filter(|block| eviction.blocks.contains(&block.id()));
            Ok((
                gone.map(|block| block.name().to_owned()).collect(),
                eviction.short,
            ))
        };
        py.detach(evict).raise(py)
    }

    /// The blocks as objects that can be compiled.
    fn objects(&self, py: Python<'_>, label: &str) -> PyResult<Objects> {
        let view = py.detach(|| self.owned().0.view(label)).raise(py)?;
        let objects = view.objects().cloned().collect();
        Ok(Objects(Arc::new(Candidates::new(objects))))
    }

    /// The blocks, in order, as documents.
    fn blocks(&self, py: Python<'_>, label: &str) -> PyResult<String> {
        let read = || -> Result<Vec<ObjectDocument>, Error> {
            let view = self.owned().0.view(label)?;
            view.objects().map(|object| object.to_document()).collect()
        };
        let blocks = py.detach(read).raise(py)?;
        written(py, &blocks)
    }

    /// The registry in a few numbers.
    fn summary(&self, py: Python<'_>, label: &str) -> PyResult<String> {
        let view = py.detach(|| self.owned().0.view(label)).raise(py)?;
        written(py, &view.summary())
    }

    /// Where each block comes from, and what became of it.
    fn provenance(&self, py: Python<'_>, label: &str) -> PyResult<String> {
        let view = py.detach(|| self.owned().0.view(label)).raise(py)?;
        written(py, &view.provenance().collect::<Vec<_>>())
    }

    /// Everything, as a text that restores it.
    fn snapshot(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.owned().0.snapshot()).raise(py)
    }
}

/// What an operation did.
#[derive(Serialize)]
struct Told {
    /// Its number in the registry's log.
    number: u64,
    /// The names of the blocks that were taken out.
    removed: Vec<Arc<str>>,
    /// The names of the blocks that a rollback left, because others wrote them.
    kept: Vec<Arc<str>>,
    /// By how many bytes the registry is above its soft limit.
    over_limit: Option<u64>,
}

impl From<Applied> for Told {
    fn from(done: Applied) -> Told {
        Told {
            number: done.number,
            removed: done.removed,
            kept: done.kept.into_iter().map(|kept| kept.name).collect(),
            over_limit: done.over_limit,
        }
    }
}
