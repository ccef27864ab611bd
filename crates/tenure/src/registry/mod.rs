//! Registries: ordered, addressable sets of blocks in memory, changed only by [`Op`] values.
//!
//! A block is an object that resides in a registry. What a registry holds and in which order is what
//! a compile chooses from; moving a block, writing one or taking one out costs no token.
//!
//! | primitive | here |
//! |---|---|
//! | promote | [`Op::Promote`], for one block or a group ([`Critical`]); [`Op::Reorder`] |
//! | gate | [`Request::gate`](crate::Request::gate): inside the compile, over what the caller may see |
//! | write | [`Registries::write`], [`Registries::draw`], [`Registries::revise`] |
//! | evict | [`Op::Evict`], [`Registries::evict_until`] |
//! | rollback | [`Op::Rollback`] |
//!
//! ```
//! use tenure::ObjectDocument;
//! use tenure::registry::{Kind, Op, Place, Registries, Secrets};
//!
//! # let random = || [7; 32];
//! let mut registries = Registries::new(Secrets::new(random(), random()));
//! let chair = registries.create("chair", Kind::Orchestrator)?;
//! let table = registries.create("table", Kind::Agent)?;
//! registries.refer(&chair, &table)?;
//!
//! // The chair writes into the table's registry: no message, no token.
//! let ceiling = ObjectDocument { removable: Some(false), ..ObjectDocument::rule("ceiling", "Spend at most 100 €.") };
//! let ceiling = registries.write(&chair, "table", ceiling, Place::Front)?.written.unwrap();
//! // The table cannot get rid of it.
//! let evict = Op::Evict { blocks: vec![ceiling], force: true };
//! assert!(registries.apply(&table, "table", evict).is_err());
//!
//! let view = registries.view("table")?;
//! assert_eq!(view.candidates().len(), 1);
//! # Ok::<(), tenure::Error>(())
//! ```

mod capability;
mod evict;
mod library;
mod op;
mod order;
mod permissions;
mod persistent;
mod slot;
mod snapshot;
mod state;
mod view;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

pub use capability::{Capability, Secrets};
pub use evict::{Eviction, Until, retention};
pub use library::Library;
pub use op::{Address, BlockId, Critical, Entry, LOG_VERSION, Op, Place};
pub use permissions::{Actor, Kind};
pub use snapshot::{Blocks, Part, SNAPSHOT_VERSION, Snapshot};
pub use state::{Applied, Kept, LoweredAuthority, State};
pub use view::{Block, Lineage, RegistryView, Summary};

use crate::base::error::{Error, ErrorKind, unknown_name};
use crate::base::text::clip;
use crate::compile::envelope::Envelope;
use crate::input::candidates::Candidates;
use crate::object::{Authority, ObjectDocument, check_name};

/// All registries of a process: their labels are unique among them.
#[derive(Debug)]
pub struct Registries {
    secrets: Secrets,
    /// Tells these registries from any others, and lasts through snapshots.
    set: u128,
    registries: BTreeMap<Arc<str>, Registry>,
    /// True if what is done is logged.
    logs: bool,
}

#[derive(Debug)]
struct Registry {
    kind: Kind,
    state: State,
    /// The registries that this one may write to.
    references: BTreeSet<Arc<str>>,
    /// The operations since the log was last taken.
    log: Vec<Entry>,
    /// The view of the state as it is, once someone took it.
    view: Option<Arc<RegistryView>>,
    /// The candidates of all views since an object was last changed: counting uses makes no new ones.
    candidates: Arc<OnceLock<Candidates>>,
}

impl Registries {
    /// No registries yet.
    pub fn new(secrets: Secrets) -> Registries {
        Registries {
            set: secrets.set_id(),
            secrets,
            registries: BTreeMap::new(),
            logs: false,
        }
    }

    /// Returns the registries, which from now on log what is done to them. Whoever asks for a log takes
    /// it ([`Registries::take_log`]) before it grows beyond memory.
    #[must_use]
    pub fn with_log(self) -> Registries {
        Registries { logs: true, ..self }
    }

    /// Returns the number that tells these registries from any others, and lasts through restores.
    pub fn set(&self) -> u128 {
        self.set
    }

    /// Registries of an earlier set, to which [`Registries::adopt`] adds what was kept of it.
    pub fn of_set(set: u128, secrets: Secrets) -> Registries {
        Registries {
            set,
            ..Registries::new(secrets)
        }
    }

    /// Takes over a registry whose state is the fold of its log, with the labels that it may write to.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the label is taken.
    pub fn adopt(
        &mut self,
        kind: Kind,
        state: State,
        references: impl IntoIterator<Item = Arc<str>>,
    ) -> Result<(), Error> {
        let label = Arc::clone(state.label());
        self.is_free(&label)?;
        let mut registry = Registry::new(kind, state);
        registry.references = references.into_iter().collect();
        self.registries.insert(label, registry);
        Ok(())
    }

    /// Returns the kind of a registry.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is no such registry.
    pub fn kind(&self, label: &str) -> Result<Kind, Error> {
        self.registry(label).map(|registry| registry.kind)
    }

    fn is_free(&self, label: &str) -> Result<(), Error> {
        check_name(label)?;
        if self.registries.contains_key(label) {
            return Err(
                Error::input(format!("there already is a registry `{}`", clip(label)))
                    .expected("a label of its own for each registry"),
            );
        }
        Ok(())
    }

    /// Makes a registry, and the capability to act as it. Its label holds no `@`, which names an entry of
    /// its log.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the label is taken, is no name or holds an `@`.
    pub fn create(&mut self, label: &str, kind: Kind) -> Result<Capability, Error> {
        self.is_free(label)?;
        if label.contains('@') {
            return Err(
                Error::input(format!("the label `{}` holds an `@`", clip(label)))
                    .expected("a label without it")
                    .hint("`main@17` is the registry `main` as it stood at entry 17 of its log"),
            );
        }
        let label: Arc<str> = label.into();
        let state = State::empty(Arc::clone(&label));
        self.registries.insert(Arc::clone(&label), Registry::new(kind, state));
        Ok(Capability::new(self.set, label, false))
    }

    /// The labels of all registries.
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.registries.keys().map(|label| &**label)
    }

    /// Lets `from` write to `to`; needs the authority of both.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when a capability is not of these registries.
    pub fn refer(&mut self, from: &Capability, to: &Capability) -> Result<(), Error> {
        self.own(from)?;
        let label = self.own(to)?;
        let registry = self.registries.get_mut(from.label());
        registry.map(|registry| registry.references.insert(label));
        Ok(())
    }

    /// Takes a reference back, from either end.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when the capability is neither's; [`ErrorKind::Input`] when there is no
    /// such reference.
    pub fn unrefer(&mut self, by: &Capability, from: &str, to: &str) -> Result<(), Error> {
        let label = self.own(by)?;
        if *label != *from && *label != *to {
            return Err(Error::new(
                ErrorKind::Policy,
                format!(
                    "`{label}` has no part in a reference from `{}` to `{}`",
                    clip(from),
                    clip(to)
                ),
            ));
        }
        let registry = self.registries.get_mut(from);
        if registry.is_some_and(|registry| registry.references.remove(to)) {
            Ok(())
        } else {
            Err(Error::input(format!(
                "`{}` holds no reference to `{}`",
                clip(from),
                clip(to)
            )))
        }
    }

    /// The labels of the registries that this one may write to.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is no such registry.
    pub fn references(&self, label: &str) -> Result<impl Iterator<Item = &str>, Error> {
        let registry = self.registry(label)?;
        Ok(registry.references.iter().map(|label| &**label))
    }

    /// The label of a capability of these registries.
    fn own(&self, capability: &Capability) -> Result<Arc<str>, Error> {
        let known = self.registries.get_key_value(capability.label());
        match known {
            Some((label, _)) if capability.is_of(self.set) => Ok(Arc::clone(label)),
            _ => Err(Error::new(
                ErrorKind::Policy,
                format!(
                    "the capability for `{}` is not of these registries",
                    clip(capability.label())
                ),
            )
            .hint("after a restore, redeem the token of a capability")),
        }
    }

    fn registry(&self, label: &str) -> Result<&Registry, Error> {
        self.registries
            .get(label)
            .ok_or_else(|| unknown_name("registry", label, self.labels()))
    }

    // ---- capabilities in other processes -------------------------------------------------------

    /// The token of a capability, to be redeemed in another process or after a restore.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when it is not of these registries.
    pub fn token(&self, capability: &Capability) -> Result<String, Error> {
        let label = self.own(capability)?;
        Ok(capability::token(&self.secrets, self.set, &label))
    }

    /// The capability that a token stands for.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when the token is forged or of other registries; [`ErrorKind::Input`]
    /// when it is no token.
    pub fn redeem(&self, token: &str) -> Result<Capability, Error> {
        let label = capability::verified(&self.secrets, self.set, token)?;
        let registry = self.registry(&label)?;
        let label = Arc::clone(registry.state.label());
        Ok(Capability::new(self.set, label, false))
    }

    /// The host's capability to act as a registry: for whoever made or restored these registries, who
    /// also decides on protected seeds. Give agents what [`Registries::create`] or
    /// [`Registries::redeem`] makes, not this, and not the registries.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is no such registry.
    pub fn issue(&self, label: &str) -> Result<Capability, Error> {
        let registry = self.registry(label)?;
        let label = Arc::clone(registry.state.label());
        Ok(Capability::new(self.set, label, true))
    }

    /// Returns the holder of a capability of these registries.
    fn actor(&self, capability: &Capability) -> Result<Actor, Error> {
        let label = self.own(capability)?;
        Ok(Actor {
            kind: self.registry(&label)?.kind,
            label,
            host: capability.is_host(),
        })
    }

    // ---- changing ------------------------------------------------------------------------------

    /// Applies an operation to a registry, acting as another or as itself.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] without the authority; [`ErrorKind::Input`] when an address is of
    /// another session or registry, or the operation makes no sense. Nothing is changed then.
    pub fn apply(&mut self, by: &Capability, label: &str, op: Op) -> Result<Applied, Error> {
        if let Op::Draw { object, .. } = &op {
            let what = format!("`{}` is not drawn from a library", clip(object.name()));
            return Err(Error::new(ErrorKind::Policy, what)
                .expected("a write, or a seed that the host draws from a library"));
        }
        let op = op.try_map(|address| self.resolve(label, address))?;
        self.run(by, label, op)
    }

    fn run(&mut self, by: &Capability, label: &str, op: Op<BlockId>) -> Result<Applied, Error> {
        let actor = self.actor(by)?;
        self.registry(label)?;
        if *actor.label != *label && !self.registry(&actor.label)?.references.contains(label) {
            return Err(Error::new(
                ErrorKind::Policy,
                format!("`{}` holds no reference to `{}`", actor.label, clip(label)),
            )
            .expected("a reference, which the authority of both makes"));
        }
        let Some(registry) = self.registries.get_mut(label) else {
            return Err(unknown_name("registry", label, std::iter::empty()));
        };
        let logged = self.logs.then(|| op.clone());
        let same_objects = matches!(op, Op::Use { .. } | Op::Limit { .. });
        let done = registry.state.apply(&actor, op)?;
        registry.view = None;
        if !same_objects {
            registry.candidates = Arc::default();
        }
        registry.log.extend(logged.map(|op| Entry {
            version: LOG_VERSION,
            number: done.number,
            by: actor.clone(),
            op,
        }));
        Ok(Applied {
            number: done.number,
            written: done.written.map(|block| self.address(label, block)),
            removed: done.removed,
            kept: done.kept,
            over_limit: done.over_limit,
            lowered: done.lowered,
        })
    }

    /// Writes a block. What the document does not say follows from who writes: its author, and for
    /// an agent at most the authority of memory. What comes from the web, from mail or a tool is data.
    ///
    /// # Errors
    ///
    /// As [`Registries::apply`], and as [`ObjectDocument::seal`].
    pub fn write(
        &mut self,
        by: &Capability,
        label: &str,
        mut document: ObjectDocument,
        at: Place,
    ) -> Result<Applied, Error> {
        let asked = document.asked_authority();
        document.distrust(Authority::Platform);
        let object = self.authored(by, document)?.seal()?;
        let lowered = LoweredAuthority::of(asked, &object);
        let op = Op::Write { object, at };
        let applied = self.apply(by, label, op)?;
        Ok(Applied {
            lowered: lowered.into_iter().collect(),
            ..applied
        })
    }

    /// The document with what follows from who writes it, where it does not say so itself: its author, and for an agent
    /// at most the authority level of memory.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] without the authority.
    pub fn authored(
        &self,
        by: &Capability,
        document: ObjectDocument,
    ) -> Result<ObjectDocument, Error> {
        Ok(self.actor(by)?.authored(document))
    }

    /// Puts a seed of the library into a registry, by key or by a name that only one seed has.
    ///
    /// # Errors
    ///
    /// As [`Registries::apply`], and as [`Library::get`].
    pub fn draw(
        &mut self,
        by: &Capability,
        label: &str,
        library: &Library,
        name: &str,
        at: Place,
    ) -> Result<Applied, Error> {
        let actor = self.actor(by)?;
        if actor.kind == Kind::Agent && *actor.label != *label {
            let what = format!(
                "`{}` may not draw seeds into `{}`",
                actor.label,
                clip(label)
            );
            return Err(Error::new(ErrorKind::Policy, what)
                .expected("the registry itself, or an orchestrator"));
        }
        let (key, object) = library.get(name)?;
        let op = Op::Draw {
            object: Arc::clone(object),
            from: key.into(),
            at,
        }
        .try_map(|address| self.resolve(label, address))?;
        self.run(by, label, op)
    }

    /// Gives a block that an agent wrote another content.
    ///
    /// # Errors
    ///
    /// As [`Registries::apply`].
    pub fn revise(
        &mut self,
        by: &Capability,
        label: &str,
        block: Address,
        content: impl Into<String>,
    ) -> Result<Applied, Error> {
        let id = self.resolve(label, block)?;
        let registry = self.registry(label)?;
        let Some(slot) = registry.state.get(id) else {
            return Err(gone(label));
        };
        let object = ObjectDocument {
            content: content.into(),
            ..slot.object.to_document()?
        }
        .seal_stored()?;
        self.apply(by, label, Op::Revise { block, object })
    }

    /// Sets the texts before and after all blocks of a registry. They must go in, as what is not
    /// removable must; none, or a blank one, takes a text away.
    ///
    /// # Errors
    ///
    /// As [`Registries::apply`].
    pub fn wrap(
        &mut self,
        by: &Capability,
        label: &str,
        prefix: Option<&str>,
        suffix: Option<&str>,
    ) -> Result<Applied, Error> {
        let actor = self.actor(by)?;
        let seal = |part: &str, text: Option<&str>| {
            text.filter(|text| !text.trim().is_empty())
                .map(|text| ObjectDocument {
                    removable: Some(false),
                    ..ObjectDocument::named(format!("{label}:{part}"), text)
                })
                .map(|document| actor.authored(document))
                .map(ObjectDocument::seal)
                .transpose()
        };
        let op = Op::Wrap {
            prefix: seal("prefix", prefix)?,
            suffix: seal("suffix", suffix)?,
        };
        self.apply(by, label, op)
    }

    /// Evicts the blocks that deserve least to stay, by `score`, until a limit is kept. Blocks that
    /// are not removable and those of other registries stay.
    ///
    /// # Errors
    ///
    /// As [`Registries::apply`], and [`ErrorKind::Policy`] for another registry than one's own.
    pub fn evict_until<S: Ord>(
        &mut self,
        by: &Capability,
        label: &str,
        until: &Until<'_>,
        score: impl FnMut(&Block<'_>) -> S,
    ) -> Result<(Eviction, Option<Applied>), Error> {
        if by.label() != label {
            return Err(Error::new(
                ErrorKind::Policy,
                format!(
                    "`{}` may not evict from `{}` by a policy",
                    by.label(),
                    clip(label)
                ),
            )
            .expected("the registry's own authority, or addresses"));
        }
        let eviction = self.view(label)?.eviction(until, score);
        if eviction.blocks.is_empty() {
            return Ok((eviction, None));
        }
        let op = Op::Evict {
            blocks: eviction.blocks.clone(),
            force: false,
        };
        let done = self.run(by, label, op)?;
        Ok((eviction, Some(done)))
    }

    /// Counts a use of each block of the registry that an envelope holds.
    ///
    /// # Errors
    ///
    /// As [`Registries::apply`].
    pub fn record_use(
        &mut self,
        by: &Capability,
        label: &str,
        envelope: &Envelope,
    ) -> Result<(), Error> {
        let state = &self.registry(label)?.state;
        let items = envelope.sections.iter().flat_map(|section| &section.items);
        let blocks: BTreeSet<BlockId> = items
            .filter_map(|item| {
                let block = state.find(&item.name)?;
                let revision = state.get(block)?.object.revision().id();
                (item.revision == Some(revision)).then_some(block)
            })
            .collect();
        if !blocks.is_empty() {
            let blocks = blocks.into_iter().collect();
            self.run(by, label, Op::Use { blocks })?;
        }
        Ok(())
    }

    // ---- reading -------------------------------------------------------------------------------

    /// A registry as it is now. The same view is handed out until something changes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is no such registry.
    pub fn view(&mut self, label: &str) -> Result<Arc<RegistryView>, Error> {
        self.registry(label)?;
        let Some(registry) = self.registries.get_mut(label) else {
            return Err(unknown_name("registry", label, std::iter::empty()));
        };
        Ok(Arc::clone(registry.view.get_or_insert_with(|| {
            let view = RegistryView::new(registry.kind, registry.state.clone());
            Arc::new(view.sharing(&registry.candidates))
        })))
    }

    /// The address of a block in this session.
    pub(crate) fn address(&self, label: &str, block: BlockId) -> Address {
        self.secrets.address(self.set, label, block)
    }

    /// The block at an address.
    fn resolve(&self, label: &str, address: Address) -> Result<BlockId, Error> {
        let registry = self.registry(label)?;
        let block = capability::claimed(address);
        if self.address(label, block) != address {
            return Err(Error::input(format!(
                "`{address}` is not an address of `{}` in this session",
                clip(label)
            ))
            .hint("addresses are new in every session and after every restore; look the block up by name"));
        }
        match registry.state.get(block) {
            Some(_) => Ok(block),
            None => Err(gone(label)),
        }
    }

    /// Takes what was done to a registry since the log was last taken, for a store to keep.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is no such registry.
    pub fn take_log(&mut self, label: &str) -> Result<Vec<Entry>, Error> {
        self.registry(label)?;
        let registry = self.registries.get_mut(label);
        Ok(registry.map_or_else(Vec::new, |registry| std::mem::take(&mut registry.log)))
    }
}

fn gone(label: &str) -> Error {
    Error::input(format!("the block no longer stands in `{}`", clip(label)))
        .hint("it was evicted or rolled back")
}

impl Registry {
    fn new(kind: Kind, state: State) -> Registry {
        Registry {
            kind,
            state,
            references: BTreeSet::new(),
            log: Vec::new(),
            view: None,
            candidates: Arc::default(),
        }
    }
}
