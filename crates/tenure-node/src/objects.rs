//! Stores and registries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use napi::bindgen_prelude::AsyncTask;
use napi_derive::napi;
use tenure::Error;
use tenure_operations::call_as_owner;
use tenure_store::Writing;
use tenure_workspace::embedded::registries::OwnedRegistries;
use tenure_workspace::embedded::{Embedded, parsed, store};

use crate::errors::{Throw, written};
use crate::work::Work;
use crate::workspace::{Objects, Workspace};

/// A store of objects, and the workspace that it was opened from.
#[napi]
pub struct Store {
    pub(crate) inner: Arc<tenure_store::Store>,
    pub(crate) embedded: Arc<Embedded>,
}

#[napi]
impl Store {
    /// Writes objects, all of them or none.
    #[napi]
    pub fn put(
        &self,
        objects: String,
        tenant: String,
        key: Option<String>,
        author: Option<String>,
    ) -> AsyncTask<Work<String>> {
        let inner = Arc::clone(&self.inner);
        Work::promised(None, move || {
            let writing = Writing {
                idempotency_key: key,
                author,
            };
            let wanted = parsed(&objects, "objects")?;
            written(&store::put(&inner, wanted, &tenant, &writing)?)
        })
    }

    /// Returns what is believed of the objects of a name or an id, now or at an instant.
    #[napi]
    pub fn get(
        &self,
        name: String,
        tenant: String,
        known_at: Option<String>,
    ) -> AsyncTask<Work<String>> {
        let inner = Arc::clone(&self.inner);
        Work::promised(None, move || {
            written(&store::get(&inner, &name, &tenant, known_at.as_deref())?)
        })
    }

    /// All that was ever believed of them, the first first.
    #[napi]
    pub fn history(&self, name: String, tenant: String) -> AsyncTask<Work<String>> {
        let inner = Arc::clone(&self.inner);
        Work::promised(None, move || {
            written(&store::history(&inner, &name, &tenant)?)
        })
    }

    /// The objects with words of a query that the owner sees.
    #[napi]
    pub fn search(&self, query: String, most: u32, tenant: String) -> AsyncTask<Work<String>> {
        let inner = Arc::clone(&self.inner);
        Work::promised(None, move || {
            written(&store::search(&inner, &query, most as usize, &tenant)?)
        })
    }

    /// Judges an object believed no more.
    #[napi]
    pub fn retract(&self, name: String, tenant: String) -> AsyncTask<Work<String>> {
        let inner = Arc::clone(&self.inner);
        Work::promised(None, move || {
            written(&store::retract(&inner, &name, &tenant)?)
        })
    }

    /// Calls an operation of the table with an input of JSON, and returns its answer as JSON.
    #[napi]
    pub fn call(
        &self,
        id: String,
        input: String,
        tenant: String,
        key: Option<String>,
        author: Option<String>,
    ) -> AsyncTask<Work<String>> {
        let (inner, embedded) = (Arc::clone(&self.inner), Arc::clone(&self.embedded));
        Work::promised(None, move || {
            let writing = Writing {
                idempotency_key: key,
                author,
            };
            call_as_owner(
                (&id, &input),
                &inner,
                embedded.workspace(),
                &tenant,
                writing,
            )
        })
    }
}

/// Registries, with the authority over each of them.
#[napi]
pub struct Registries(OwnedRegistries);

impl Registries {
    pub(crate) fn open(
        workspace: &tenure_workspace::Workspace,
        snapshot: Option<&Path>,
    ) -> Result<Registries, Error> {
        OwnedRegistries::open(workspace, snapshot).map(Registries)
    }
}

#[napi]
impl Registries {
    /// Makes a registry of an agent, or of an orchestrator.
    #[napi]
    pub fn create(&self, label: String, kind: String) -> napi::Result<()> {
        let create = || self.0.create(&label, kind.parse()?);
        create().throw()
    }

    /// The labels.
    #[napi]
    pub fn labels(&self) -> Vec<String> {
        self.0.labels()
    }

    /// Puts in the seeds of files and folders.
    #[napi]
    pub fn draw(
        &self,
        workspace: &Workspace,
        label: String,
        files: Vec<String>,
    ) -> napi::Result<u32> {
        let files: Vec<PathBuf> = files.into_iter().map(PathBuf::from).collect();
        let drawn = self.0.draw(workspace.embedded.workspace(), &label, &files).throw()?;
        Ok(u32::try_from(drawn).unwrap_or(u32::MAX))
    }

    /// Applies an operation whose blocks are named.
    #[napi]
    pub fn apply(&self, label: String, op: String) -> napi::Result<String> {
        let apply = || written(&self.0.apply(&label, parsed(&op, "op")?)?);
        apply().throw()
    }

    /// Writes a block at a place.
    #[napi]
    pub fn write(&self, label: String, object: String, at: String) -> napi::Result<String> {
        let write = || {
            let object = parsed(&object, "object")?;
            written(&self.0.write(&label, object, parsed(&at, "at")?)?)
        };
        write().throw()
    }

    /// Gives a block another content.
    #[napi]
    pub fn revise(&self, label: String, name: String, content: String) -> napi::Result<String> {
        let revise = || written(&self.0.revise(&label, &name, content)?);
        revise().throw()
    }

    /// Evicts what is least worth keeping until so many bytes are left; scores are JSON, by name.
    #[napi]
    pub fn evict_until(
        &self,
        label: String,
        bytes: u32,
        scores: Option<String>,
    ) -> napi::Result<String> {
        let evict = || {
            let scores: Option<BTreeMap<String, f64>> =
                scores.as_deref().map(|json| parsed(json, "scores")).transpose()?;
            written(&self.0.evict_until(&label, u64::from(bytes), |name| {
                scores.as_ref()?.get(name).copied()
            })?)
        };
        evict().throw()
    }

    /// The blocks as objects that can be compiled.
    #[napi]
    pub fn objects(&self, label: String) -> napi::Result<Objects> {
        let candidates = self.0.candidates(&label).throw()?;
        Ok(Objects(Arc::new(candidates)))
    }

    /// The blocks, in order, as documents.
    #[napi]
    pub fn blocks(&self, label: String) -> napi::Result<String> {
        let blocks = || written(&self.0.blocks(&label)?);
        blocks().throw()
    }

    /// The registry in a few numbers.
    #[napi]
    pub fn summary(&self, label: String) -> napi::Result<String> {
        let summary = || written(&self.0.summary(&label)?);
        summary().throw()
    }

    /// Tells where each block comes from, and what became of it.
    #[napi]
    pub fn provenance(&self, label: String) -> napi::Result<String> {
        let provenance = || written(&self.0.provenance(&label)?);
        provenance().throw()
    }

    /// Everything, as a text that restores it.
    #[napi]
    pub fn snapshot(&self) -> napi::Result<String> {
        self.0.snapshot().throw()
    }
}
