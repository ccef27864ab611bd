//! The state that requests share: settings, the store and its caches, who may ask, telemetry. The clock is the workspace's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use tenure::catalogue::Rule;
use tenure::object::RevisionId;
use tenure::time::Instant;
use tenure::{Error, ErrorKind, World};
use tenure_operations::{Caller, Context, Deciders};
use tenure_store::{Resident, Store, Tenant, Writing};
use tenure_workspace::packages::Packages;
use tenure_workspace::relay::Relay;
use tenure_workspace::{Reach, ReadRegistry, Reader, RegistryRef, Workspace};

use crate::access::Access;
use crate::caches::Caches;
use crate::inspect::KeptPages;
use crate::options::{Options, Settings};
use crate::rates::Rates;
use crate::tasks::Tasks;
use crate::telemetry::log::LogLevel;
use crate::telemetry::{Telemetry, TelemetryOptions};
use crate::work::Turns;

/// The most damaged revisions that are logged.
const MAX_DAMAGED: usize = 10_000;

/// The state that requests share.
pub(crate) struct App {
    pub(crate) settings: Settings,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Option<Store>,
    pub(crate) relay: Arc<Relay>,
    caches: Caches,
    /// The compiles that pages of the inspector were drawn from.
    pub(crate) pages: KeptPages,
    pub(crate) access: Access,
    pub(crate) telemetry: Arc<Telemetry>,
    pub(crate) rates: Rates,
    /// The turns of the tenants at work that blocks.
    pub(crate) turns: Arc<Turns>,
    /// The requests of the API that are under way.
    pub(crate) requests: Tasks,
    is_stopping: AtomicBool,
    /// The damaged revisions that were logged.
    damaged: Mutex<BTreeSet<RevisionId>>,
    /// True if the store was damaged as a whole when it was last probed.
    is_store_damaged: AtomicBool,
}

impl App {
    /// Makes the state of a server.
    ///
    /// # Errors
    ///
    /// As [`Server::bind`](crate::Server::bind).
    pub(crate) fn new(options: Options) -> Result<App, Error> {
        options.check()?;
        let access = Access::open(
            options.store.as_ref(),
            options.jwt,
            options.tenant.clone(),
            options.own_key.as_deref(),
        )?;
        let packages = options.packages.as_deref().map(Packages::of).transpose()?;
        let workspace = Arc::new(options.workspace);
        let telemetry = Telemetry::start(TelemetryOptions {
            clock: workspace.clock().clone(),
            log: options.log,
            otlp: options.otlp,
            audit: options.audit.as_deref(),
            thresholds: options.thresholds,
        })?;
        let limits = options.limits.bounded();
        Ok(App {
            rates: Rates::new(limits.rate),
            settings: Settings {
                mode: options.mode,
                fail_closed: options.fail_closed,
                rejects: options.rejects,
                resolvers: options.resolvers.into(),
                own_proposals: options.own_proposals,
                hosts: options.hosts,
                limits,
                originals: options.originals,
                labels: options.labels,
                warm: options.warm,
                tenant: options.tenant,
                conversation: options.conversation,
                packages: packages.map(Arc::new),
            },
            workspace,
            store: options.store,
            relay: Arc::default(),
            caches: Caches::default(),
            pages: KeptPages::default(),
            access,
            telemetry: Arc::new(telemetry),
            turns: Arc::default(),
            requests: Tasks::default(),
            is_stopping: AtomicBool::new(false),
            damaged: Mutex::default(),
            is_store_damaged: AtomicBool::new(false),
        })
    }

    /// Returns the surroundings of an operation that a caller calls.
    pub(crate) fn context<'a>(&'a self, caller: &'a Caller, writing: Writing) -> Context<'a> {
        Context {
            store: self.store.as_ref(),
            caller,
            workspace: &self.workspace,
            writing,
            expected: None,
            deciders: Deciders::Reviewers {
                keys: self.access.known(),
                own: self.settings.own_proposals,
                resolvers: Arc::clone(&self.settings.resolvers),
            },
        }
    }

    /// Returns the instant, on the workspace's clock.
    pub(crate) fn now(&self) -> Instant {
        self.workspace.clock().now()
    }

    /// Returns the world of a model of the catalogue.
    pub(crate) fn world(&self, model: &str) -> Result<Arc<World>, Error> {
        self.caches.world(&self.workspace, model)
    }

    /// Puts a world in the place of a model's.
    #[cfg(test)]
    pub(crate) fn know_world(&self, model: &str, world: Arc<World>) {
        self.caches.know_world(model, world);
    }

    /// Returns the world of a model as the catalogue resolves its name, and by which rule; none where it knows nothing of
    /// the model.
    pub(crate) fn world_like(&self, model: &str) -> Result<Option<(Arc<World>, Rule)>, Error> {
        let found = self.workspace.catalogue().resolve(model);
        found.map(|found| Ok((self.world(found.name)?, found.rule))).transpose()
    }

    /// Returns the world of models of which nothing is known.
    pub(crate) fn unknown_world(&self) -> Result<Arc<World>, Error> {
        self.caches.unknown_world(&self.workspace)
    }

    /// Returns what a tenant believes now; counts and logs its damaged revisions, each once. Blocks.
    pub(crate) fn resident(&self, tenant: &Tenant) -> Result<Arc<Resident>, Error> {
        let resident = self.caches.resident(tenant)?;
        for revision in resident.damaged() {
            let mut logged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
            if logged.len() < MAX_DAMAGED && logged.insert(revision) {
                self.telemetry.metrics.damaged("revision");
                let fields = json!({ "tenant": tenant.name(), "revision": revision });
                self.telemetry.log.note(LogLevel::Error, "damaged", fields);
            }
        }
        Ok(resident)
    }

    /// Returns the tenants of whom something is held, each with the version from which on it may be older than its store.
    pub(crate) fn held(&self) -> BTreeMap<String, u64> {
        let mut held = self.relay.tenants();
        self.caches.note_held(&mut held);
        self.pages.note_held(&mut held);
        held
    }

    /// Lets go of what is held of a tenant and may have been erased; blocks.
    pub(crate) fn forget(&self, tenant: &Tenant) -> Result<(), Error> {
        self.relay.forget(tenant.name());
        self.pages.forget(tenant.name());
        self.caches.forget(tenant)
    }

    /// Notes that the server is about to stop.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Returns whether the server is about to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Checks that the store answers, and is as a whole what was written; blocks. Damage of single revisions does not
    /// make it unready. Damage is counted and logged when it is found, and not again until the store was sound.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`], with the reason.
    pub(crate) fn is_ready(&self) -> Result<(), Error> {
        if self.is_stopping.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Unavailable, "the server is stopping"));
        }
        let Some(store) = &self.store else {
            return Ok(());
        };
        let probed = store.probe().and_then(|()| self.access.probe());
        if probed.is_ok() {
            self.is_store_damaged.store(false, Ordering::Relaxed);
        }
        probed.map_err(|error| {
            let is_damaged = error.kind == ErrorKind::Damaged;
            if is_damaged && !self.is_store_damaged.swap(true, Ordering::Relaxed) {
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

/// Reads for compiles; what is read is kept from one request to the next.
impl Reader for App {
    fn world(&self, model: &str) -> Result<Arc<World>, Error> {
        App::world(self, model).map_err(|error| error.or_at("request.model", None))
    }

    fn objects(&self, tenant: &Tenant, reach: Reach) -> Result<Arc<Resident>, Error> {
        match reach {
            Reach::Resident => self.resident(tenant),
            Reach::Archive => self.caches.archive(tenant),
        }
    }

    fn registry(&self, tenant: &Tenant, wanted: &RegistryRef) -> Result<Arc<ReadRegistry>, Error> {
        self.caches.registry(tenant, wanted)
    }
}
