//! From what was asked to a [`Job`]: the policy, the objects, the instants, the model.
//!
//! The faces (command line, API, sessions) read their own arguments into an [`Ask`]; what follows is the same for all.

use std::path::PathBuf;
use std::sync::Arc;

use tenure::time::Instant;
use tenure::trace::View;
use tenure::{Candidates, Error, ErrorKind, Policy, Request, World};
use tenure_store::{Resident, Tenant};

use crate::identities::identities;
use crate::job::Job;
use crate::policies::Policies;
use crate::stored::{Gathered, ReadRegistry, RegistryRef};
use crate::workspace::Workspace;

/// The model of a request that names none.
pub const DEFAULT_MODEL: &str = "gpt-4o";

/// The inputs of a compile, as a face was asked for it.
pub struct Ask<'a> {
    /// The request, on behalf of its principal: the face has checked that it may speak for it. It looks from now
    /// where it names no instant.
    pub request: Request,
    /// The policy.
    pub policy: Choice<'a>,
    /// Returns the objects that stand before those of a store. Called once the policy is known.
    pub sources: Box<dyn FnOnce() -> Result<Candidates, Error> + 'a>,
    /// The part of the ask that concerns a store.
    pub store: Option<StoreAsk<'a>>,
    /// The folder where originals are kept that the payload points to; none for the store, or the user's own.
    pub originals: Option<PathBuf>,
    /// The view of the trace that is returned. A record is always the operator's.
    pub view: View,
}

/// A policy that is asked for.
pub enum Choice<'a> {
    /// This one.
    Given(Box<Policy>),
    /// The preset of this name, else the one that the store keeps under it at the instant that the request looks from.
    Named(&'a str),
    /// The one that the store keeps under this name at that instant, else this one.
    Kept(&'a str, &'a Policy),
}

/// The reads of a compile from a store, and whether it keeps a record there.
pub struct StoreAsk<'a> {
    /// The tenant whose part of it is meant.
    pub tenant: Tenant,
    /// The choice of its objects that are candidates; `None` for none of them.
    pub objects: Option<Reach>,
    /// The version of the tenant that must have been read at least.
    pub version: u64,
    /// The registry whose blocks stand behind the sources, as [`RegistryRef::find`] takes it.
    pub registry: Option<&'a str>,
    /// True if an error may name the registries that there are.
    pub names_registries: bool,
    /// True if a record of the compile is kept.
    pub record: bool,
}

/// The choice of a store's objects that are candidates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Those that a compile takes.
    Resident,
    /// Those that are archived or demoted, too.
    Archive,
}

/// Reads what a compile depends on: again each time, unless an implementation keeps it, as a server does.
pub trait Reader {
    /// The world of a model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is no such model.
    fn world(&self, model: &str) -> Result<Arc<World>, Error>;

    /// The objects of a tenant that are believed now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    fn objects(&self, tenant: &Tenant, reach: Reach) -> Result<Arc<Resident>, Error> {
        let read = match reach {
            Reach::Resident => tenant.load(),
            Reach::Archive => tenant.load_archive(),
        };
        read.map(Arc::new)
    }

    /// The blocks of a registry.
    ///
    /// # Errors
    ///
    /// As [`RegistryRef::read`].
    fn registry(&self, tenant: &Tenant, wanted: &RegistryRef) -> Result<Arc<ReadRegistry>, Error> {
        wanted.read(tenant).map(Arc::new)
    }
}

impl Reader for Workspace {
    fn world(&self, model: &str) -> Result<Arc<World>, Error> {
        Workspace::world(self, model).map(Arc::new)
    }
}

impl Workspace {
    /// Makes ready what is to be compiled: policy, sources, registry, store, instants and model, in this order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the policy, the registry or the model is not known; [`ErrorKind::Unavailable`] when the
    /// store cannot be reached, or has not come to the version that was asked for; what the sources fail with.
    pub fn prepare(&self, ask: Ask<'_>, reader: &dyn Reader) -> Result<Job, Error> {
        let mut request = ask.request;
        // Registries and the store stand now as they stand; who names an instant looks back.
        let looks_back = request.as_of.known.is_some();
        let tenant = ask.store.as_ref().map(|store| &store.tenant);
        let policy = self.chosen_policy(ask.policy, tenant, request.as_of.known)?;
        let mut sources = (ask.sources)()?;
        let mut registry = None;
        if let Some(store) = &ask.store
            && let Some(wanted) = store.registry
        {
            let wanted = RegistryRef::find(&store.tenant, wanted, store.names_registries)?;
            wanted.check(looks_back)?;
            let found = reader.registry(&store.tenant, &wanted)?;
            sources = found.behind(sources);
            registry = Some(found.read.clone());
        }
        let second = self.clock().second();
        request.as_of.valid.get_or_insert(second);
        let gathered = match &ask.store {
            Some(store) if let Some(reach) = store.objects => {
                let known = request.as_of.known;
                let (gathered, resident) = gather(sources, store, (reach, known), reader)?;
                request.identities = identities(&resident, &gathered.candidates, &policy, &request);
                // What was written before the store was read is known.
                request.as_of.known.get_or_insert_with(|| gathered.known_at(self.clock().now()));
                gathered
            }
            _ => {
                request.as_of.known.get_or_insert(second);
                Gathered::of_sources(sources)
            }
        };
        let world = reader.world(request.model.as_deref().unwrap_or(DEFAULT_MODEL))?;
        request.model = Some(world.model_name().to_owned());
        let record = ask.store.as_ref().is_some_and(|store| store.record);
        Ok(Job {
            world,
            policy,
            request,
            gathered: gathered.with_registry(registry),
            tenant: ask.store.map(|store| store.tenant),
            originals: ask.originals,
            record,
            view: ask.view,
        })
    }

    /// The policy that is asked for, as it stood at an instant where the tenant's store keeps it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is none of this name; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn chosen_policy(
        &self,
        choice: Choice<'_>,
        tenant: Option<&Tenant>,
        known: Option<Instant>,
    ) -> Result<Policy, Error> {
        let kept = |name| match tenant {
            Some(tenant) => Policies::of(tenant).get(name, known),
            None => Ok(None),
        };
        match choice {
            Choice::Given(policy) => Ok(*policy),
            Choice::Kept(name, default) => Ok(kept(name)?.unwrap_or_else(|| default.clone())),
            Choice::Named(name) => match Policy::preset(name) {
                Err(unknown) => kept(name)?.ok_or(unknown),
                preset => preset,
            },
        }
    }
}

/// The objects of a store behind the sources, and all that was read of it: what is believed now, or what was at an instant.
fn gather(
    sources: Candidates,
    store: &StoreAsk<'_>,
    (reach, known): (Reach, Option<Instant>),
    reader: &dyn Reader,
) -> Result<(Gathered, Arc<Resident>), Error> {
    let tenant = &store.tenant;
    let resident = match (known, reach) {
        (None, _) => reader.objects(tenant, reach)?,
        (Some(known), Reach::Resident) => Arc::new(tenant.load_as_of(known)?),
        (Some(known), Reach::Archive) => Arc::new(tenant.load_archive_as_of(known)?),
    };
    // A store that lags behind a write that the request names is not read as if it did not.
    let (asked, has) = (store.version, resident.version());
    if asked > has {
        let what = format!("the store is at version {has}, before version {asked}");
        return Err(Error::new(ErrorKind::Unavailable, what)
            .hint("try again, or name a version that a write returned"));
    }
    let gathered = Gathered::over(sources, tenant, &resident, known);
    Ok((gathered.holding(Arc::clone(&resident)), resident))
}
