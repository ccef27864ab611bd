//! What a server is made from, and what its requests share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use hashlink::LruCache;
use serde_json::json;
use tenure::catalogue::Rule;
use tenure::object::{RevisionId, clip};
use tenure::time::Instant;
use tenure::{Error, ErrorKind, World};
use tenure_store::{Resident, Store, Tenant};
use tenure_workspace::keys::{Grant, KeySet, Keys};
use tenure_workspace::relay::Relay;
use tenure_workspace::{Reach, ReadRegistry, Reader, RegistryRef, Workspace};

use crate::audit::Audit;
use crate::caller::Caller;
use crate::error::Refusal;
use crate::gateway::{Gateway, OutputFault};
use crate::jwt::Issuers;
use crate::limits::Rates;
use crate::log::{Log, LogLevel};
use crate::metrics::Metrics;
use crate::options::{Limits, Mode, Options};
use crate::quality::Threshold;
use crate::spans::{Exporter, Spans};
use crate::tasks::Tasks;
use crate::versioned::Versioned;
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
    pub(crate) gateway: Gateway,
    pub(crate) mode: Mode,
    pub(crate) fail_closed: bool,
    pub(crate) rejects: Vec<OutputFault>,
    pub(crate) relay: Arc<Relay>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) audit: Audit,
    pub(crate) rates: Rates,
    /// The turns of the tenants at work that blocks.
    pub(crate) turns: Arc<Turns>,
    pub(crate) limits: Limits,
    pub(crate) hosts: Vec<String>,
    /// Who asks while there are no keys.
    owner: Caller,
    pub(crate) originals: Option<PathBuf>,
    pub(crate) log: Log,
    pub(crate) thresholds: Vec<Threshold>,
    /// What sends spans, until the server runs it.
    pub(crate) exporter: Mutex<Option<Exporter>>,
    pub(crate) known_worlds: Mutex<BTreeMap<String, Arc<World>>>,
    /// The world of models of which nothing is known.
    unknown: OnceLock<Arc<World>>,
    residents: Mutex<LruCache<Arc<str>, Arc<Resident>>>,
    /// What of tenants is looked into by queries.
    archives: Versioned<Arc<str>, Resident>,
    /// The registries that compiles asked for.
    registries: Versioned<(Arc<str>, String), ReadRegistry>,
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
        let metrics = Arc::new(Metrics::new());
        let mut exporter = None;
        if let Some(collector) = options.otlp {
            let (spans, sends) = Spans::to(collector, Arc::clone(&metrics))?;
            let _ = metrics.spans.set(Arc::new(spans));
            exporter = Some(sends);
        }
        let log = Log::start(
            options.log,
            Box::new(std::io::stderr()),
            Arc::clone(&metrics),
        )?;
        let limits = options.limits.bounded();
        let workspace = Arc::new(options.workspace);
        let relay = Arc::new(Relay::default());
        let gateway = Gateway::new(
            options.upstreams,
            &limits,
            options.store.clone(),
            Arc::clone(&workspace),
            Arc::clone(&relay),
            Arc::clone(&metrics),
        )?;
        Ok(App {
            gateway,
            mode: options.mode,
            fail_closed: options.fail_closed,
            rejects: options.rejects,
            relay,
            audit: Audit::open(options.audit.as_deref())?,
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
            metrics,
            originals: options.originals,
            log,
            thresholds: options.thresholds,
            exporter: Mutex::new(exporter),
            known_worlds: Mutex::default(),
            unknown: OnceLock::new(),
            residents: Mutex::new(LruCache::new(MAX_RESIDENT)),
            archives: Versioned::of(MAX_ARCHIVES),
            registries: Versioned::of(MAX_REGISTRIES),
            jwt: Issuers::new(options.jwt)?,
            keys,
            known: RwLock::new(Arc::new(known)),
            stopping: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
            told: Mutex::default(),
            requests: Tasks::default(),
        })
    }

    /// The instant, on the workspace's clock.
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
        let all = || {
            self.residents
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let known = all().get(tenant.name()).cloned();
        let fresh = match &known {
            Some(known) => tenant.refresh(known)?,
            None => Arc::new(tenant.load()?),
        };
        self.tell_damaged(tenant, &fresh);
        let newer = |known: &Arc<Resident>| known.version() < fresh.version();
        let mut all = all();
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
                self.metrics.damaged("revision");
                let fields = json!({ "tenant": tenant.name(), "revision": revision });
                self.log.note(LogLevel::Error, "damaged", fields);
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

    /// Lets go of what was erased, of tenants of whom something is held. `seen` says up to which version of each it
    /// was looked. Blocks.
    pub(crate) fn forget_erased(&self, seen: &mut BTreeMap<String, u64>) -> Result<(), Error> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        let residents = || {
            self.residents
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let mut held = self.relay.tenants();
        let mut hold = |tenant: &str, version: u64| {
            let since = held.entry(tenant.to_owned()).or_insert(u64::MAX);
            *since = version.min(*since);
        };
        for (tenant, resident) in residents().iter() {
            hold(tenant, resident.version());
        }
        self.archives.each(|tenant, version| hold(tenant, version));
        self.registries
            .each(|(tenant, _), version| hold(tenant, version));
        seen.retain(|tenant, _| held.contains_key(tenant));
        for (name, since) in held {
            let tenant = store.tenant(&name)?;
            let known = seen.get(&name).copied().unwrap_or(since);
            let version = tenant.version()?;
            if version != known {
                let writes = tenant.log(known, u32::MAX)?;
                if writes.iter().any(|write| write.verb == "erase") {
                    self.relay.forget(&name);
                    self.archives.forget(|tenant| **tenant == *name);
                    self.registries.forget(|(tenant, _)| **tenant == *name);
                    if residents().get(name.as_str()).is_some() {
                        self.resident(&tenant)?;
                        self.gateway.forget(&name);
                    }
                }
            }
            seen.insert(name, version);
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
                self.metrics.damaged("store");
                let fields = json!({ "detail": error.what });
                self.log.note(LogLevel::Error, "damaged", fields);
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
