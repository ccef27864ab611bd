//! What a server is made from, and what its requests share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use serde_json::json;
use tenure::answer::OutputFault;
use tenure::catalogue::Rule;
use tenure::object::{RevisionId, clip};
use tenure::time::Instant;
use tenure::{Error, ErrorKind, World};
use tenure_store::{Resident, Store, Tenant};
use tenure_workspace::keys::{Grant, KeySet, Keys};
use tenure_workspace::relay::Relay;
use tenure_workspace::{Reach, ReadRegistry, Reader, RegistryRef, Workspace};

use crate::cache::{Cache, VersionedCache};
use crate::caller::Caller;
use crate::error::Refusal;
use crate::jwt::Issuers;
use crate::limits::Rates;
use crate::options::{Limits, Mode, Options};
use crate::tasks::Tasks;
use crate::telemetry::log::LogLevel;
use crate::telemetry::{Telemetry, TelemetryOptions};
use crate::work::{Stopping, Turns};

/// How often the keys are looked at again: a key that is revoked opens nothing after this long.
pub(crate) const KEYS_EVERY: Duration = Duration::from_secs(1);

/// The most tenants whose objects are held in memory.
const MAX_RESIDENT: usize = 256;

/// The most tenants whose archives are.
const MAX_ARCHIVES: usize = 16;

/// The most damaged revisions that are told of.
const MOST_TOLD: usize = 10_000;

/// The most registries that are.
const MAX_REGISTRIES: usize = 256;

/// What the requests share.
pub(crate) struct App {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Option<Store>,
    pub(crate) mode: Mode,
    pub(crate) fail_closed: bool,
    pub(crate) rejects: Vec<OutputFault>,
    pub(crate) relay: Arc<Relay>,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) rates: Rates,
    /// The turns of the tenants at work that blocks.
    pub(crate) turns: Arc<Turns>,
    pub(crate) limits: Limits,
    pub(crate) hosts: Vec<String>,
    /// Who asks while there are no keys.
    owner: Caller,
    pub(crate) originals: Option<PathBuf>,
    known_worlds: Mutex<BTreeMap<String, Arc<World>>>,
    /// The world of models of which nothing is known.
    unknown: OnceLock<Arc<World>>,
    residents: Cache<Arc<str>, Arc<Resident>>,
    /// What of tenants is looked into by queries.
    archives: VersionedCache<Arc<str>, Resident>,
    /// The registries that compiles asked for.
    registries: VersionedCache<(Arc<str>, String), ReadRegistry>,
    pub(crate) jwt: Issuers,
    keys: Option<Keys>,
    known: RwLock<Arc<KeySet>>,
    stopping: AtomicBool,
    /// The damaged revisions that were told of.
    told: Mutex<BTreeSet<RevisionId>>,
    /// Whether the store was damaged as a whole when it was last probed.
    damaged: AtomicBool,
    /// The requests of the API that are under way.
    pub(crate) requests: Tasks,
}

impl App {
    pub(crate) fn new(options: Options) -> Result<App, Error> {
        if options.mode != Mode::Observe && options.store.is_none() {
            let mode = options.mode.term();
            let what = format!("the gateway mode `{mode}` keeps sessions, and there is no store");
            return Err(Error::new(ErrorKind::Usage, what).expected("a store"));
        }
        if options.mode == Mode::Observe && !options.rejects.is_empty() {
            let what = "the gateway mode `observe` alters no answer, so it rejects none";
            return Err(Error::new(ErrorKind::Usage, what).expected("the mode `fit` or `full`"));
        }
        options.hosts.iter().try_for_each(|host| check_host(host))?;
        if let Some(store) = &options.store {
            // A name that cannot be a tenant's is refused now, not at each request.
            store.tenant(&options.tenant)?;
        }
        let keys = options.store.as_ref().map(Keys::of).transpose()?;
        let known = keys
            .as_ref()
            .map(Keys::load)
            .transpose()?
            .unwrap_or_default();
        let telemetry = Telemetry::start(TelemetryOptions {
            log: options.log,
            otlp: options.otlp,
            audit: options.audit.as_deref(),
            thresholds: options.thresholds,
        })?;
        let limits = options.limits.bounded();
        let workspace = Arc::new(options.workspace);
        Ok(App {
            mode: options.mode,
            fail_closed: options.fail_closed,
            rejects: options.rejects,
            relay: Arc::default(),
            telemetry: Arc::new(telemetry),
            rates: Rates::new(limits.rate),
            turns: Arc::default(),
            owner: Caller {
                tenant: options.tenant.as_str().into(),
                key: None,
                grant: Arc::new(Grant::owner(options.tenant)),
            },
            hosts: options.hosts,
            limits,
            store: options.store,
            workspace,
            originals: options.originals,
            known_worlds: Mutex::default(),
            unknown: OnceLock::new(),
            residents: Cache::of(MAX_RESIDENT),
            archives: VersionedCache::of(MAX_ARCHIVES),
            registries: VersionedCache::of(MAX_REGISTRIES),
            jwt: Issuers::new(options.jwt)?,
            keys,
            known: RwLock::new(Arc::new(known)),
            stopping: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
            told: Mutex::default(),
            requests: Tasks::default(),
        })
    }

    /// Returns the instant, on the workspace's clock.
    pub(crate) fn now(&self) -> Instant {
        self.workspace.clock().now()
    }

    /// The keys as they were last read.
    pub(crate) fn known_keys(&self) -> Arc<KeySet> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the keys again where there are new ones; blocks.
    pub(crate) fn refresh_keys(&self) -> Result<(), Error> {
        let Some(keys) = &self.keys else {
            return Ok(());
        };
        if keys.version()? == self.known_keys().version() {
            return Ok(());
        }
        let fresh = Arc::new(keys.load()?);
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// Whether everybody must show who they are.
    pub(crate) fn is_locked(&self) -> bool {
        !self.jwt.is_empty() || !self.known_keys().is_empty()
    }

    /// Who shows this key or token. Once there is a key, or tokens are accepted, everybody must show one, and
    /// once the last key is revoked, nobody can show a key.
    pub(crate) async fn caller(&self, shown: Option<&str>) -> Result<Option<Caller>, Refusal> {
        if !self.is_locked() {
            return Ok(Some(self.owner.clone()));
        }
        let Some(shown) = shown else {
            return Ok(None);
        };
        if let Some(key) = self.known_keys().open(shown, self.now()) {
            return Ok(Some(Caller {
                tenant: key.grant.tenant.as_str().into(),
                key: Some(key.id.as_str().into()),
                grant: Arc::new(key.grant.clone()),
            }));
        }
        // No key has a dot.
        if !self.jwt.is_empty() && shown.contains('.') {
            self.jwt.caller(shown, self.now()).await.map(Some)
        } else {
            Ok(None)
        }
    }

    /// The world of a model of the catalogue. A path is none: files are not for callers to name.
    pub(crate) fn world(&self, model: &str) -> Result<Arc<World>, Error> {
        let known = || {
            self.known_worlds
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        if let Some(world) = known().get(model) {
            return Ok(Arc::clone(world));
        }
        let known_model = self.workspace.catalogue().model(model);
        known_model.map_err(|error| error.expected("a model of the catalogue"))?;
        if model.ends_with(".json") {
            return Err(Error::input(
                "a model of the catalogue cannot be named after a file",
            ));
        }
        let world = self.workspace.world(model)?;
        let world = Arc::new(world.counted_by(|inner| Arc::new(Stopping(inner))));
        known().insert(model.to_owned(), Arc::clone(&world));
        Ok(world)
    }

    /// Puts a world in the place of a model's.
    #[cfg(test)]
    pub(crate) fn know_world(&self, model: &str, world: Arc<World>) {
        let mut known = self.known_worlds.lock().unwrap();
        known.insert(model.to_owned(), world);
    }

    /// The world of a model as the catalogue resolves its name, and by which rule; none where it knows nothing of it.
    pub(crate) fn world_like(&self, model: &str) -> Result<Option<(Arc<World>, Rule)>, Error> {
        let found = self.workspace.catalogue().resolve(model);
        let world = found.map(|found| Ok((self.world(found.name)?, found.rule)));
        world.transpose()
    }

    /// The world of models of which nothing is known.
    pub(crate) fn unknown_world(&self) -> Result<Arc<World>, Error> {
        if let Some(world) = self.unknown.get() {
            return Ok(Arc::clone(world));
        }
        let world = self.workspace.unknown_world()?;
        let world = Arc::new(world.counted_by(|inner| Arc::new(Stopping(inner))));
        Ok(Arc::clone(self.unknown.get_or_init(|| world)))
    }

    /// What a tenant believes now: what is in memory, and what changed since. Blocks.
    pub(crate) fn resident(&self, tenant: &Tenant) -> Result<Arc<Resident>, Error> {
        let known = self.residents.get(tenant.name());
        let fresh = match &known {
            Some(known) => tenant.refresh(known)?,
            None => Arc::new(tenant.load()?),
        };
        self.tell_damaged(tenant, &fresh);
        let newer = |known: &Arc<Resident>| known.version() < fresh.version();
        let mut all = self.residents.lock();
        if all.get(tenant.name()).is_none_or(newer) {
            all.insert(tenant.name().into(), Arc::clone(&fresh));
        }
        Ok(fresh)
    }

    /// Counts and logs the damaged revisions among these, each once.
    fn tell_damaged(&self, tenant: &Tenant, resident: &Resident) {
        for revision in resident.damaged() {
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.len() < MOST_TOLD && told.insert(revision) {
                self.telemetry.metrics.damaged("revision");
                let fields = json!({ "tenant": tenant.name(), "revision": revision });
                self.telemetry.log.note(LogLevel::Error, "damaged", fields);
            }
        }
    }

    /// The same with what is archived or demoted, read whole again after each write. Blocks.
    pub(crate) fn archive(&self, tenant: &Tenant) -> Result<Arc<Resident>, Error> {
        let key = Arc::from(tenant.name());
        self.archives
            .get(key, tenant.version()?, || tenant.load_archive())
    }

    /// A registry of the tenant's, folded again after each write. Blocks.
    pub(crate) fn registry(
        &self,
        tenant: &Tenant,
        wanted: &RegistryRef,
    ) -> Result<Arc<ReadRegistry>, Error> {
        if wanted.entry.is_some() {
            return wanted.read(tenant).map(Arc::new);
        }
        let key = (Arc::from(tenant.name()), wanted.label.clone());
        self.registries
            .get(key, tenant.version()?, || wanted.read(tenant))
    }

    /// Returns the tenants of whom something is held, each with the version from which on it may be older than its store.
    pub(crate) fn held(&self) -> BTreeMap<String, u64> {
        let mut held = self.relay.tenants();
        let residents = self.residents.lock();
        let residents = residents
            .iter()
            .map(|(tenant, resident)| (Arc::clone(tenant), resident.version()))
            .collect::<Vec<_>>();
        let archives = self.archives.versions();
        let registries = self.registries.versions();
        let registries = registries
            .into_iter()
            .map(|((tenant, _), version)| (tenant, version));
        for (tenant, version) in residents.into_iter().chain(archives).chain(registries) {
            let since = held.entry(tenant.as_ref().to_owned()).or_insert(u64::MAX);
            *since = version.min(*since);
        }
        held
    }

    /// Lets go of what is held of a tenant and may have been erased; blocks.
    pub(crate) fn forget(&self, tenant: &Tenant) -> Result<(), Error> {
        let name = tenant.name();
        self.relay.forget(name);
        self.archives.forget(|tenant| **tenant == *name);
        self.registries.forget(|(tenant, _)| **tenant == *name);
        if self.residents.get(name).is_some() {
            self.resident(tenant)?;
        }
        Ok(())
    }

    /// Says that the server is about to stop.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Whether the store answers, and is as a whole what was written; blocks. Damage of single revisions does not make
    /// it unready. Damage is counted and logged when it is found, and not again until the store was sound.
    pub(crate) fn is_ready(&self) -> Result<(), Error> {
        if self.is_stopping() {
            return Err(Error::new(ErrorKind::Unavailable, "the server is stopping"));
        }
        let (Some(store), Some(keys)) = (&self.store, &self.keys) else {
            return Ok(());
        };
        let probed = store.probe().and_then(|()| keys.version().map(drop));
        if probed.is_ok() {
            self.damaged.store(false, Ordering::Relaxed);
        }
        probed.map_err(|error| {
            let is_damaged = error.kind == ErrorKind::Damaged;
            if is_damaged && !self.damaged.swap(true, Ordering::Relaxed) {
                self.telemetry.metrics.damaged("store");
                let fields = json!({ "detail": error.what });
                self.telemetry.log.note(LogLevel::Error, "damaged", fields);
            }
            Error {
                kind: ErrorKind::Unavailable,
                ..error
            }
        })
    }
}

/// What compiles read is kept from one request to the next.
impl Reader for App {
    fn world(&self, model: &str) -> Result<Arc<World>, Error> {
        App::world(self, model)
    }

    fn objects(&self, tenant: &Tenant, reach: Reach) -> Result<Arc<Resident>, Error> {
        match reach {
            Reach::Resident => self.resident(tenant),
            Reach::Archive => self.archive(tenant),
        }
    }

    fn registry(&self, tenant: &Tenant, wanted: &RegistryRef) -> Result<Arc<ReadRegistry>, Error> {
        App::registry(self, tenant, wanted)
    }
}

/// Refuses what the name in a `Host` header never is.
fn check_host(name: &str) -> Result<(), Error> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    if !name.is_empty() && name.chars().all(is_part) {
        return Ok(());
    }
    let what = format!("`{}` is no name of a host", clip(name));
    let error = Error::new(ErrorKind::Usage, what).expected("a name such as tenure.example.com");
    Err(match name.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => {
            error.hint("leave the port out: the server is called by this name at any port")
        }
        _ => error,
    })
}
