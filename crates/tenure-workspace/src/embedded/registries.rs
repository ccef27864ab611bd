//! Registries whose blocks are named, in the hands of whoever owns all of them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tenure::num::Score;
use tenure::registry::{
    Address, Applied, Capability, Kind, Lineage, LoweredAuthority, Op, Place, Registries, Summary,
    Until, retention,
};
use tenure::{Candidates, Error, ObjectDocument};

use crate::collect::Collect;
use crate::registries::{SeedSource, draw_all};
use crate::workspace::Workspace;

/// Registries, with the authority over each of them. One thread works on them at a time; another waits.
#[derive(Debug)]
pub struct OwnedRegistries(Mutex<Registries>);

/// The effect of an operation.
#[derive(Debug, Serialize)]
pub struct Effect {
    /// Its number in the registry's log.
    number: u64,
    /// The names of the blocks that were taken out.
    removed: Vec<Arc<str>>,
    /// The names of the blocks that a rollback left, because others wrote them.
    kept: Vec<Arc<str>>,
    /// By how many bytes the registry is above its soft limit.
    over_limit: Option<u64>,
    /// The objects that have less authority than they asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lowered: Vec<LoweredAuthority>,
}

impl From<Applied> for Effect {
    fn from(done: Applied) -> Effect {
        Effect {
            number: done.number,
            removed: done.removed,
            kept: done.kept.into_iter().map(|kept| kept.name).collect(),
            over_limit: done.over_limit,
            lowered: done.lowered,
        }
    }
}

/// The address of the block of this name.
fn address(registries: &mut Registries, label: &str, name: &str) -> Result<Address, Error> {
    let view = registries.view(label)?;
    Ok(view.address(registries, view.named(name)?))
}

impl OwnedRegistries {
    /// New registries, or those of a snapshot.
    ///
    /// # Errors
    ///
    /// As [`Workspace::registries`] and [`Workspace::read_snapshot`].
    pub fn open(workspace: &Workspace, snapshot: Option<&Path>) -> Result<OwnedRegistries, Error> {
        let registries = match snapshot {
            Some(path) => workspace.read_snapshot(path)?,
            None => workspace.registries()?,
        };
        Ok(OwnedRegistries(Mutex::new(registries)))
    }

    fn inner(&self) -> MutexGuard<'_, Registries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something as the registry itself.
    fn as_itself(
        &self,
        label: &str,
        act: impl FnOnce(&mut Registries, &Capability) -> Result<Applied, Error>,
    ) -> Result<Effect, Error> {
        let mut registries = self.inner();
        let by = registries.issue(label)?;
        act(&mut registries, &by).map(Effect::from)
    }

    /// Makes a registry.
    ///
    /// # Errors
    ///
    /// As [`Registries::create`].
    pub fn create(&self, label: &str, kind: Kind) -> Result<(), Error> {
        self.inner().create(label, kind).map(drop)
    }

    /// The labels, in order.
    pub fn labels(&self) -> Vec<String> {
        self.inner().labels().map(str::to_owned).collect()
    }

    /// Puts in the seeds of these files and folders, behind its blocks; all of them, or none. Gives their number.
    ///
    /// # Errors
    ///
    /// As [`Workspace::library`] and [`draw_all`].
    pub fn draw(
        &self,
        workspace: &Workspace,
        label: &str,
        files: &[PathBuf],
    ) -> Result<usize, Error> {
        let sources: Vec<SeedSource> = files.iter().map(SeedSource::all).collect();
        let loaded = workspace.library(&sources, &Collect::default())?;
        let mut registries = self.inner();
        let by = registries.issue(label)?;
        Ok(draw_all(&mut registries, &by, label, &loaded.library)?.len())
    }

    /// Applies an operation whose blocks are named.
    ///
    /// # Errors
    ///
    /// As [`Registries::apply`], and when no block, or several, have a name.
    pub fn apply(&self, label: &str, op: Op<String>) -> Result<Effect, Error> {
        self.as_itself(label, |registries, by| {
            let op = op.try_map(|name| address(registries, label, &name))?;
            registries.apply(by, label, op)
        })
    }

    /// Writes a block at a place.
    ///
    /// # Errors
    ///
    /// As [`Registries::write`].
    pub fn write(
        &self,
        label: &str,
        document: ObjectDocument,
        at: Place<String>,
    ) -> Result<Effect, Error> {
        self.as_itself(label, |registries, by| {
            let at = at.try_map(&mut |name: String| address(registries, label, &name))?;
            registries.write(by, label, document, at)
        })
    }

    /// Gives a block another content.
    ///
    /// # Errors
    ///
    /// As [`Registries::revise`].
    pub fn revise(&self, label: &str, name: &str, content: String) -> Result<Effect, Error> {
        self.as_itself(label, |registries, by| {
            let block = address(registries, label, name)?;
            registries.revise(by, label, block, content)
        })
    }

    /// Evicts what is least worth keeping until the contents have at most so many bytes. `score` says what keeping a block
    /// of this name is worth; where it says nothing, priority and use do. Gives the names of the blocks that left, and
    /// by how many bytes the rest is above the limit.
    ///
    /// # Errors
    ///
    /// As [`Registries::evict_until`].
    pub fn evict_until(
        &self,
        label: &str,
        bytes: u64,
        score: impl Fn(&str) -> Option<f64>,
    ) -> Result<(Vec<String>, u64), Error> {
        let mut registries = self.inner();
        let by = registries.issue(label)?;
        let before = registries.view(label)?;
        let until = Until::bytes(bytes);
        let (eviction, _) = registries.evict_until(&by, label, &until, |block| {
            score(block.name()).map_or_else(|| retention(block), Score::clamped)
        })?;
        let names = before
            .blocks()
            .filter(|block| eviction.blocks.contains(&block.id()))
            .map(|block| block.name().to_owned())
            .collect();
        Ok((names, eviction.short))
    }

    /// The blocks as candidates.
    ///
    /// # Errors
    ///
    /// When there is no such registry.
    pub fn candidates(&self, label: &str) -> Result<Candidates, Error> {
        let view = self.inner().view(label)?;
        Ok(Candidates::new(view.objects().cloned().collect()))
    }

    /// The blocks, in order.
    ///
    /// # Errors
    ///
    /// When there is no such registry.
    pub fn blocks(&self, label: &str) -> Result<Vec<ObjectDocument>, Error> {
        let view = self.inner().view(label)?;
        view.objects().map(|object| object.to_document()).collect()
    }

    /// The registry in a few numbers.
    ///
    /// # Errors
    ///
    /// When there is no such registry.
    pub fn summary(&self, label: &str) -> Result<Summary, Error> {
        Ok(self.inner().view(label)?.summary())
    }

    /// The source of each block and its later changes.
    ///
    /// # Errors
    ///
    /// When there is no such registry.
    pub fn provenance(&self, label: &str) -> Result<Vec<Lineage>, Error> {
        Ok(self.inner().view(label)?.provenance().collect())
    }

    /// All of it, as a text that [`OwnedRegistries::open`] reads from a file.
    ///
    /// # Errors
    ///
    /// As [`Registries::snapshot`].
    pub fn snapshot(&self) -> Result<String, Error> {
        self.inner().snapshot()
    }
}
