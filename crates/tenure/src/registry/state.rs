//! The state of a registry, and how an operation changes it.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::sync::Arc;

use super::op::{BlockId, Op, Place};
use super::order::Order;
use super::permissions::{self, Actor};
use super::persistent::{CowSet, CowVec};
use super::slot::Slot;
use crate::base::error::{Error, ErrorKind, nearest};
use crate::base::text::clip;
use crate::object::{Authority, ContextObject, Overrides};

/// A block that an operation left where it is, and whose it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// The block's name.
    pub name: Arc<str>,
    /// The registry that wrote it.
    pub writer: Arc<str>,
}

/// An object that an operation put in with less authority than it asked for.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct LoweredAuthority {
    /// The object's name.
    pub name: Arc<str>,
    /// The authority that it asked for.
    pub asked: Authority,
    /// The authority that it has.
    pub has: Authority,
}

impl LoweredAuthority {
    /// Returns what became of an object that asked for this authority; none where it has it.
    pub fn of(asked: Option<Authority>, object: &ContextObject) -> Option<LoweredAuthority> {
        let has = object.revision().authority_level();
        let asked = asked.filter(|asked| *asked < has)?;
        let name = object.name().into();
        Some(LoweredAuthority { name, asked, has })
    }
}

/// The effect of an operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied<Block = super::Address> {
    /// Its number in the registry's log.
    pub number: u64,
    /// The block that was written.
    pub written: Option<Block>,
    /// The names of the blocks that were taken out.
    pub removed: Vec<Arc<str>>,
    /// The blocks that a rollback left, because others wrote them.
    pub kept: Vec<Kept>,
    /// By how many bytes the registry is above its soft limit.
    pub over_limit: Option<u64>,
    /// The objects that have less authority than they asked for.
    pub lowered: Vec<LoweredAuthority>,
}

/// The state of a registry: persistent, so that a copy is taken in no time and never changes.
#[derive(Clone, Debug)]
pub struct State {
    label: Arc<str>,
    order: Order,
    /// By number; empty where a block was taken out.
    slots: CowVec<Option<Slot>, 256>,
    /// The blocks by a hash of their name, and by one of their run.
    names: CowSet<(u64, u32)>,
    runs: CowSet<(u64, u32)>,
    /// By a hash of each name in their `keep_with`: the blocks that must not stand without it.
    guards: CowSet<(u64, u32)>,
    pub(super) prefix: Option<Arc<ContextObject>>,
    pub(super) suffix: Option<Arc<ContextObject>>,
    pub(super) limit: Option<u64>,
    bytes: u64,
    /// The number of counts of use: the registry's only notion of time.
    pub(super) ticks: u32,
    /// The number of operations that made this state.
    pub(super) number: u64,
}

fn key(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

impl State {
    /// A registry without blocks.
    pub fn empty(label: Arc<str>) -> State {
        State {
            label,
            order: Order::default(),
            slots: CowVec::default(),
            names: CowSet::default(),
            runs: CowSet::default(),
            guards: CowSet::default(),
            prefix: None,
            suffix: None,
            limit: None,
            bytes: 0,
            ticks: 0,
            number: 0,
        }
    }

    /// A registry of these blocks, with numbers from 0, in this order of numbers; or the number
    /// of a block whose name another has.
    pub(super) fn of(
        label: Arc<str>,
        slots: Vec<Slot>,
        order: &[u32],
    ) -> Result<State, (usize, Error)> {
        let mut names: Vec<(u64, u32)> = Vec::with_capacity(slots.len());
        let mut runs = Vec::new();
        let mut guards = Vec::new();
        for (at, slot) in slots.iter().enumerate() {
            names.push((key(slot.object.name()), at as u32));
            if let Some(run) = slot.object.revision().trajectory() {
                runs.push((key(run), at as u32));
            }
            guards.extend(guarded(slot).map(|key| (key, at as u32)));
        }
        names.sort_unstable();
        runs.sort_unstable();
        guards.sort_unstable();
        guards.dedup();
        let name = |at: u32| slots[at as usize].object.name();
        for same in names.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            let mut seen = BTreeSet::new();
            if let Some((_, at)) = same.iter().find(|(_, at)| !seen.insert(name(*at))) {
                let error = Error::input(format!(
                    "`{label}` has two blocks named `{}`",
                    clip(name(*at))
                ))
                .expected("a name of its own for each block");
                return Err((*at as usize, error));
            }
        }
        Ok(State {
            order: Order::of(order),
            names: CowSet::from_sorted(&names),
            runs: CowSet::from_sorted(&runs),
            guards: CowSet::from_sorted(&guards),
            bytes: slots.iter().map(size).sum(),
            slots: CowVec::from_iter(slots.into_iter().map(Some)),
            ..State::empty(label)
        })
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of all contents.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// The blocks in order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (BlockId, &Slot)> {
        self.order
            .iter()
            .filter_map(|id| Some((BlockId(id), self.slots.get(id)?.as_ref()?)))
    }

    /// For each block in order: how many of those that are here were written before it, unless that is
    /// its place.
    pub(super) fn written(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        let mut ids: Vec<u32> = self.order.iter().collect();
        ids.sort_unstable();
        self.order.iter().zip(0usize..).map(move |(id, place)| {
            let rank = ids.partition_point(|other| *other < id);
            (rank != place).then_some(rank as u32)
        })
    }

    pub(super) fn get(&self, block: BlockId) -> Option<&Slot> {
        self.slots.get(block.0)?.as_ref()
    }

    pub(super) fn position(&self, block: BlockId) -> usize {
        self.order.position(block.0)
    }

    /// The block of this name.
    pub(super) fn find(&self, name: &str) -> Option<BlockId> {
        let key = key(name);
        self.names
            .from((key, 0))
            .take_while(|entry| entry.0 == key)
            .map(|(_, id)| BlockId(id))
            .find(|id| self.get(*id).is_some_and(|slot| slot.object.name() == name))
    }

    /// The blocks of this run, in the order of their writing.
    pub(super) fn run(&self, trajectory: &str) -> Vec<(BlockId, &Slot)> {
        let key = key(trajectory);
        self.runs
            .from((key, 0))
            .take_while(|entry| entry.0 == key)
            .filter_map(|(_, id)| Some((BlockId(id), self.get(BlockId(id))?)))
            .filter(|(_, slot)| slot.object.revision().trajectory() == Some(trajectory))
            .collect()
    }

    /// By how many bytes the contents are above the soft limit.
    pub fn over_limit(&self) -> Option<u64> {
        self.bytes.checked_sub(self.limit?).filter(|over| *over > 0)
    }

    /// Applies an operation. It is checked whole before anything changes: where it fails, the state
    /// is what it was.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when the actor may not do it; [`ErrorKind::Input`] when it makes no
    /// sense, with the block it fails for.
    pub fn apply(&mut self, by: &Actor, op: Op<BlockId>) -> Result<Applied<BlockId>, Error> {
        let mut done = Applied {
            number: self.number.saturating_add(1),
            written: None,
            removed: Vec::new(),
            kept: Vec::new(),
            over_limit: None,
            lowered: op
                .objects()
                .filter_map(|object| LoweredAuthority::of(object.status().asked, object))
                .collect(),
        };
        match op {
            Op::Write { object, at } => {
                permissions::may_write(by, &object)?;
                done.written = Some(self.put(by, object, at)?);
            }
            Op::Draw { object, at, .. } => done.written = Some(self.put(by, object, at)?),
            Op::Revise { block, object } => self.revise(by, block, object)?,
            Op::Promote { blocks, to } => self.promote(by, &blocks, to)?,
            Op::Reorder { blocks } => self.reorder(by, &blocks)?,
            Op::Override { block, overrides } => self.override_with(by, block, overrides)?,
            Op::Evict { blocks, force } => {
                for slot in self.distinct(&blocks)? {
                    permissions::may_evict(by, slot, force)?;
                    self.unneeded(by, slot)?;
                }
                done.removed = self.take_out(&blocks);
            }
            Op::Rollback { trajectory } => self.roll_back(by, &trajectory, &mut done)?,
            Op::Use { blocks } => {
                self.distinct(&blocks)?;
                self.ticks = self.ticks.saturating_add(1);
                for block in blocks {
                    if let Some(mut slot) = self.get(block).cloned() {
                        slot.uses = slot.uses.saturating_add(1);
                        slot.last_use = self.ticks;
                        self.slots.set(block.0, Some(slot));
                    }
                }
            }
            Op::Wrap { prefix, suffix } => {
                self.own(by, "wrapped")?;
                for text in prefix.iter().chain(&suffix) {
                    permissions::may_write(by, text)?;
                }
                (self.prefix, self.suffix) = (prefix.map(plain), suffix.map(plain));
            }
            Op::Limit { bytes } => {
                self.own(by, "limited")?;
                self.limit = bytes;
            }
        }
        self.number = done.number;
        done.over_limit = self.over_limit();
        Ok(done)
    }

    fn own(&self, by: &Actor, verb: &str) -> Result<(), Error> {
        if by.label == self.label {
            return Ok(());
        }
        let what = format!("registry `{}` may not be {verb} by another", self.label);
        Err(Error::new(ErrorKind::Policy, what))
    }

    /// The block, or an error that names it.
    fn present(&self, block: BlockId) -> Result<&Slot, Error> {
        self.get(block).ok_or_else(|| {
            Error::input(format!("the block no longer stands in `{}`", self.label))
                .hint("it was evicted or rolled back")
        })
    }

    /// The blocks, each there and named once.
    fn distinct(&self, blocks: &[BlockId]) -> Result<Vec<&Slot>, Error> {
        if blocks.is_empty() {
            return Err(Error::input("no block is named").expected("at least one"));
        }
        let mut seen = BTreeSet::new();
        let check = |block: &BlockId| {
            let slot = self.present(*block)?;
            if seen.insert(*block) {
                return Ok(slot);
            }
            let name = clip(slot.object.name());
            Err(Error::input(format!("block `{name}` is named twice")).expected("each block once"))
        };
        blocks.iter().map(check).collect()
    }

    /// Refuses what would leave a block that another registry protects without what it needs, or
    /// put something else in its place.
    fn unneeded(&self, by: &Actor, slot: &Slot) -> Result<(), Error> {
        let name = slot.object.name();
        let key = key(name);
        let mut guards = self.guards.from((key, 0)).take_while(|entry| entry.0 == key);
        let guard = guards.find_map(|(_, id)| {
            let guard = self.get(BlockId(id))?;
            let needs = guard.object.revision().keep_with();
            let protected = !guard.object.is_removable() && !permissions::is_author(by, guard);
            (protected && needs.iter().any(|needed| needed == name)).then_some(guard)
        });
        match guard {
            None => Ok(()),
            Some(guard) => Err(Error::new(
                ErrorKind::Policy,
                format!(
                    "block `{}` may not change: `{}` must not stand without it",
                    clip(name),
                    clip(guard.object.name())
                ),
            )
            .expected(format!("`{}`, which protects that block", guard.writer))),
        }
    }

    /// Refuses a block that must go in and cannot, because what it needs is not here: it would stop
    /// every compile.
    fn may_need(&self, by: &Actor, object: &ContextObject) -> Result<(), Error> {
        if object.is_removable() {
            return Ok(());
        }
        permissions::may_protect(by, &self.label, object)?;
        let needs = object.revision().keep_with();
        match needs.iter().find(|name| self.find(name).is_none()) {
            None => Ok(()),
            Some(missing) => Err(Error::input(format!(
                "block `{}` is not removable and must not stand without `{}`, which `{}` does not have",
                clip(object.name()),
                clip(missing),
                self.label
            ))
            .expected("`keep_with` names of blocks that are there")),
        }
    }

    fn free_name(&self, name: &str) -> Result<(), Error> {
        let wrap = name.strip_prefix(&*self.label);
        if name.starts_with('@') || matches!(wrap, Some(":prefix" | ":suffix")) {
            return Err(
                Error::input(format!("a block cannot have `{}`", clip(name))).expected(
                    "a name that neither begins with `@` nor is that of the registry's wrap",
                ),
            );
        }
        let Some(other) = self.find(name) else {
            return Ok(());
        };
        let writer = self.get(other).map(|slot| Arc::clone(&slot.writer));
        Err(Error::input(format!(
            "`{}` already has a block named `{}`",
            self.label,
            clip(name)
        ))
        .expected("a name of its own for each block")
        .hint(format!(
            "it was written by `{}` and stands at position {}",
            writer.unwrap_or_default(),
            self.position(other)
        )))
    }

    fn put(
        &mut self,
        by: &Actor,
        object: Arc<ContextObject>,
        at: Place<BlockId>,
    ) -> Result<BlockId, Error> {
        let object = plain(object);
        self.free_name(object.name())?;
        self.may_need(by, &object)?;
        let index = self.index(&[], at)?;
        let id =
            u32::try_from(self.slots.len())
                .ok()
                .filter(|id| *id < u32::MAX)
                .ok_or_else(|| {
                    Error::input(format!("`{}` has had {} blocks", self.label, u32::MAX)).hint(
                        "write a snapshot and restore it: evicted blocks then no longer count",
                    )
                })?;
        self.names.insert((key(object.name()), id));
        if let Some(run) = object.revision().trajectory() {
            self.runs.insert((key(run), id));
        }
        let slot = Slot {
            object,
            writer: Arc::clone(&by.label),
            uses: 0,
            last_use: self.ticks,
        };
        guarded(&slot).for_each(|key| self.guards.insert((key, id)));
        self.bytes += size(&slot);
        self.slots.push(Some(slot));
        self.order.insert(index, &[id]);
        Ok(BlockId(id))
    }

    fn revise(
        &mut self,
        by: &Actor,
        block: BlockId,
        object: Arc<ContextObject>,
    ) -> Result<(), Error> {
        let object = plain(object);
        let slot = self.present(block)?;
        permissions::may_revise(by, slot, &object)?;
        self.unneeded(by, slot)?;
        self.may_need(by, &object)?;
        let overrides = slot.object.overrides();
        let object = if *overrides == Overrides::default() {
            object
        } else {
            Arc::new(object.with_overrides(overrides.clone()))
        };
        let slot = Slot {
            object,
            ..slot.clone()
        };
        self.replace(block, slot);
        Ok(())
    }

    /// Puts another slot in the place of one that is there, and keeps what depends on it true.
    fn replace(&mut self, block: BlockId, slot: Slot) {
        let Some(old) = self.get(block).cloned() else {
            return;
        };
        self.names.remove(&(key(old.object.name()), block.0));
        self.names.insert((key(slot.object.name()), block.0));
        if let Some(run) = old.object.revision().trajectory() {
            self.runs.remove(&(key(run), block.0));
        }
        if let Some(run) = slot.object.revision().trajectory() {
            self.runs.insert((key(run), block.0));
        }
        guarded(&old).for_each(|key| self.guards.remove(&(key, block.0)));
        guarded(&slot).for_each(|key| self.guards.insert((key, block.0)));
        self.bytes = self.bytes - size(&old) + size(&slot);
        self.slots.set(block.0, Some(slot));
    }

    fn override_with(
        &mut self,
        by: &Actor,
        block: BlockId,
        overrides: Overrides,
    ) -> Result<(), Error> {
        let slot = self.present(block)?;
        permissions::may_override(by, slot, &overrides)?;
        if let Some(name) = &overrides.name {
            crate::object::check_name(name)?;
            self.unneeded(by, slot)?;
        }
        let object = slot.object.with_overrides(overrides);
        if object.name() != slot.object.name() {
            self.free_name(object.name())?;
        }
        let slot = Slot {
            object: Arc::new(object),
            ..slot.clone()
        };
        self.replace(block, slot);
        Ok(())
    }

    /// Returns the index at which `moved`, once taken out, go in again.
    fn index(&self, moved: &[BlockId], to: Place<BlockId>) -> Result<usize, Error> {
        let rest = self.len() - moved.len();
        let before = |position: usize| {
            moved.iter().filter(|block| self.position(**block) < position).count()
        };
        let beside = |other: BlockId| {
            let slot = self.present(other)?;
            if moved.contains(&other) {
                let name = clip(slot.object.name());
                return Err(Error::input(format!(
                    "block `{name}` cannot be moved relative to itself"
                ))
                .expected("a block that is not among those that move"));
            }
            let position = self.position(other);
            Ok(position - before(position))
        };
        match to {
            Place::Front => Ok(0),
            Place::Back => Ok(rest),
            Place::At(at) if at as usize <= rest => Ok(at as usize),
            Place::At(at) => Err(Error::input(format!("there is no position {at}"))
                .expected(format!("a position from 0 to {rest}"))),
            Place::Before(other) => beside(other),
            Place::After(other) => Ok(beside(other)? + 1),
            Place::Steps(steps) => {
                let Some(first) = moved.first() else {
                    return Err(Error::input(
                        "a step needs a block that has a place, and this one is new",
                    )
                    .expected("front, back, a position, before or after a block"));
                };
                let position = self.position(*first);
                let from = (position - before(position)) as i64;
                Ok((from - i64::from(steps)).clamp(0, rest as i64) as usize)
            }
        }
    }

    fn promote(&mut self, by: &Actor, blocks: &[BlockId], to: Place<BlockId>) -> Result<(), Error> {
        for slot in self.distinct(blocks)? {
            permissions::may_move(by, slot)?;
        }
        let index = self.index(blocks, to)?;
        let numbers: Vec<u32> = blocks.iter().map(|block| block.0).collect();
        self.order.remove(&numbers);
        self.order.insert(index, &numbers);
        Ok(())
    }

    fn reorder(&mut self, by: &Actor, blocks: &[BlockId]) -> Result<(), Error> {
        let slots = self.distinct(blocks)?;
        let mut places: Vec<usize> = blocks.iter().map(|block| self.position(*block)).collect();
        let now = places.clone();
        places.sort_unstable();
        for ((slot, old), new) in slots.into_iter().zip(now).zip(places) {
            if old != new {
                permissions::may_move(by, slot)?;
            }
        }
        let numbers: Vec<u32> = blocks.iter().map(|block| block.0).collect();
        self.order.rearrange(&numbers);
        Ok(())
    }

    /// Takes out blocks that are there, and gives their names.
    fn take_out(&mut self, blocks: &[BlockId]) -> Vec<Arc<str>> {
        let numbers: Vec<u32> = blocks.iter().map(|block| block.0).collect();
        self.order.remove(&numbers);
        let mut removed = Vec::with_capacity(blocks.len());
        for id in numbers {
            let Some(slot) = self.get(BlockId(id)).cloned() else {
                continue;
            };
            self.names.remove(&(key(slot.object.name()), id));
            if let Some(run) = slot.object.revision().trajectory() {
                self.runs.remove(&(key(run), id));
            }
            guarded(&slot).for_each(|key| self.guards.remove(&(key, id)));
            self.bytes -= size(&slot);
            self.slots.set(id, None);
            removed.push(slot.object.shared_name());
        }
        removed
    }

    fn roll_back(
        &mut self,
        by: &Actor,
        trajectory: &str,
        done: &mut Applied<BlockId>,
    ) -> Result<(), Error> {
        let all = self.run(trajectory);
        if all.is_empty() {
            let runs: BTreeSet<&str> = self
                .blocks()
                .filter_map(|(_, slot)| slot.object.revision().trajectory())
                .collect();
            let near = nearest(trajectory, runs);
            let error = Error::input(format!(
                "no block of `{}` was written in the run `{}`",
                self.label,
                clip(trajectory)
            ));
            return Err(match near {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error,
            });
        }
        let (own, others): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(_, slot)| permissions::is_author(by, slot));
        if own.is_empty() {
            return Err(Error::new(
                ErrorKind::Policy,
                format!(
                    "`{}` wrote no block of the run `{}`",
                    by.label,
                    clip(trajectory)
                ),
            )
            .hint("a rollback is the author's own retraction"));
        }
        let kept = others.iter().map(|(_, slot)| Kept {
            name: slot.object.shared_name(),
            writer: Arc::clone(&slot.writer),
        });
        done.kept = kept.collect();
        let blocks: Vec<BlockId> = own.into_iter().map(|(block, _)| block).collect();
        done.removed = self.take_out(&blocks);
        Ok(())
    }
}

/// The object without what a registry says of it, which only an override and a snapshot bring in.
fn plain(object: Arc<ContextObject>) -> Arc<ContextObject> {
    if *object.overrides() == Overrides::default() {
        return object;
    }
    Arc::new(object.with_overrides(Overrides::default()))
}

/// The hashes of the names without which a block must not stand.
fn guarded(slot: &Slot) -> impl Iterator<Item = u64> + '_ {
    let names = slot.object.revision().keep_with().iter();
    names.map(|name| key(name))
}

fn size(slot: &Slot) -> u64 {
    slot.object.revision().content().len() as u64
}
