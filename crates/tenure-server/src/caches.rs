//! Memory that requests share: worlds of models, objects and registries of tenants.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use tenure::{Error, World};
use tenure_store::{Resident, Tenant};
use tenure_workspace::{ReadRegistry, RegistryRef, Workspace};

use crate::cache::{Cache, VersionedCache};
use crate::work::Stopping;

/// The most models whose worlds are held in memory.
const MAX_WORLDS: usize = 1_024;
/// The most tenants whose resident objects are.
const MAX_RESIDENT: usize = 256;
/// The most tenants whose archives are.
pub(crate) const MAX_ARCHIVES: usize = 16;
/// The most registries that are.
const MAX_REGISTRIES: usize = 256;

/// The caches of a server.
pub(crate) struct Caches {
    worlds: Cache<String, Arc<World>>,
    /// The world of models of which nothing is known.
    unknown: OnceLock<Arc<World>>,
    residents: Cache<Arc<str>, Arc<Resident>>,
    /// The objects that queries look into.
    archives: Cache<Arc<str>, Arc<Resident>>,
    /// The registries that compiles asked for, by tenant and label.
    registries: VersionedCache<(Arc<str>, String), ReadRegistry>,
}

impl Default for Caches {
    fn default() -> Caches {
        Caches {
            worlds: Cache::of(MAX_WORLDS),
            unknown: OnceLock::new(),
            residents: Cache::of(MAX_RESIDENT),
            archives: Cache::of(MAX_ARCHIVES),
            registries: VersionedCache::of(MAX_REGISTRIES),
        }
    }
}

impl Caches {
    /// Returns the world of a model of the catalogue, whose counting stops when its work is unwanted. A path is none:
    /// files are not for callers to name.
    ///
    /// # Errors
    ///
    /// Those of [`Workspace::world`], and where the catalogue has no such model.
    pub(crate) fn world(&self, workspace: &Workspace, model: &str) -> Result<Arc<World>, Error> {
        if let Some(world) = self.worlds.get(model) {
            return Ok(world);
        }
        let known = workspace.catalogue().model(model);
        known.map_err(|error| error.expected("a model of the catalogue"))?;
        if model.ends_with(".json") {
            return Err(Error::input(
                "a model of the catalogue cannot be named after a file",
            ));
        }
        let world = stopping(workspace.world(model)?);
        self.worlds.insert(model.to_owned(), Arc::clone(&world));
        Ok(world)
    }

    /// Puts a world in the place of a model's.
    #[cfg(test)]
    pub(crate) fn know_world(&self, model: &str, world: Arc<World>) {
        self.worlds.insert(model.to_owned(), world);
    }

    /// Returns the world of models of which nothing is known.
    pub(crate) fn unknown_world(&self, workspace: &Workspace) -> Result<Arc<World>, Error> {
        if let Some(world) = self.unknown.get() {
            return Ok(Arc::clone(world));
        }
        let world = stopping(workspace.unknown_world()?);
        Ok(Arc::clone(self.unknown.get_or_init(|| world)))
    }

    /// Returns what a tenant believes now: the objects in memory, with what changed since. Blocks.
    pub(crate) fn resident(&self, tenant: &Tenant) -> Result<Arc<Resident>, Error> {
        kept(&self.residents, tenant, Tenant::load)
    }

    /// Returns the same with what is archived or demoted. Blocks.
    pub(crate) fn archive(&self, tenant: &Tenant) -> Result<Arc<Resident>, Error> {
        kept(&self.archives, tenant, Tenant::load_archive)
    }

    /// Returns a registry of the tenant's, folded again after each write. Blocks.
    pub(crate) fn registry(
        &self,
        tenant: &Tenant,
        wanted: &RegistryRef,
    ) -> Result<Arc<ReadRegistry>, Error> {
        if wanted.entry.is_some() {
            return wanted.read(tenant).map(Arc::new);
        }
        let key = (Arc::from(tenant.name()), wanted.label.clone());
        self.registries.get(key, tenant.version()?, || wanted.read(tenant))
    }

    /// Notes the tenants of whom something is held, each with the version from which on it may be older than its store.
    pub(crate) fn note_held(&self, held: &mut BTreeMap<String, u64>) {
        let versions = |cache: &Cache<Arc<str>, Arc<Resident>>| -> Vec<(Arc<str>, u64)> {
            let all = cache.lock();
            all.iter()
                .map(|(tenant, resident)| (Arc::clone(tenant), resident.version()))
                .collect()
        };
        let (residents, archives) = (versions(&self.residents), versions(&self.archives));
        let registries = self
            .registries
            .versions()
            .into_iter()
            .map(|((tenant, _), version)| (tenant, version));
        for (tenant, version) in residents.into_iter().chain(archives).chain(registries) {
            let since = held.entry(tenant.to_string()).or_insert(u64::MAX);
            *since = version.min(*since);
        }
    }

    /// Lets go of what is held of a tenant and may have been erased. Blocks.
    pub(crate) fn forget(&self, tenant: &Tenant) -> Result<(), Error> {
        let name = tenant.name();
        self.registries.forget(|(tenant, _)| **tenant == *name);
        if self.archives.get(name).is_some() {
            self.archive(tenant)?;
        }
        if self.residents.get(name).is_some() {
            self.resident(tenant)?;
        }
        Ok(())
    }
}

/// Returns what is held of a tenant's objects, with what changed since, or else what is read now.
fn kept(
    cache: &Cache<Arc<str>, Arc<Resident>>,
    tenant: &Tenant,
    load: impl Fn(&Tenant) -> Result<Resident, Error>,
) -> Result<Arc<Resident>, Error> {
    let fresh = match cache.get(tenant.name()) {
        Some(known) => tenant.refresh(&known)?,
        None => Arc::new(load(tenant)?),
    };
    let newer = |known: &Arc<Resident>| known.version() < fresh.version();
    let mut all = cache.lock();
    if all.get(tenant.name()).is_none_or(newer) {
        all.insert(tenant.name().into(), Arc::clone(&fresh));
    }
    drop(all);
    Ok(fresh)
}

/// Makes a world whose counting stops when its work is unwanted.
fn stopping(world: World) -> Arc<World> {
    Arc::new(world.counted_by(|inner| Arc::new(Stopping(inner))))
}
