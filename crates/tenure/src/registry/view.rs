//! Reading a registry: an immutable view, cheap to take.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Serialize;

use super::Registries;
use super::op::{Address, BlockId};
use super::permissions::Kind;
use super::slot::Slot;
use super::state::State;
use crate::base::digest::Digest;
use crate::base::error::{Error, nearest};
use crate::base::num::Score;
use crate::base::text::clip;
use crate::input::candidates::Candidates;
use crate::object::{AuthorKind, ContextObject, ObjectType, Protection};

/// A registry as it is at one moment. Writing goes on beside it and never changes it.
#[derive(Debug)]
pub struct RegistryView {
    pub(super) kind: Kind,
    pub(super) state: State,
    candidates: Arc<OnceLock<Candidates>>,
}

/// A block of a view.
#[derive(Clone, Copy, Debug)]
pub struct Block<'v> {
    id: BlockId,
    slot: &'v Slot,
    ticks: u32,
}

impl<'v> Block<'v> {
    /// Its number, the same in every session.
    pub fn id(&self) -> BlockId {
        self.id
    }

    /// The object, with what the registry overrides.
    pub fn object(&self) -> &'v Arc<ContextObject> {
        &self.slot.object
    }

    /// The name it goes by.
    pub fn name(&self) -> &'v str {
        self.slot.object.name()
    }

    /// The registry that wrote it.
    pub fn writer(&self) -> &'v str {
        &self.slot.writer
    }

    pub(super) fn slot(&self) -> &'v Slot {
        self.slot
    }

    /// Returns the number of its uses.
    pub fn uses(&self) -> u32 {
        self.slot.uses
    }

    /// Returns the number of counts of use since it was last used, or written.
    pub fn idle(&self) -> u32 {
        self.ticks - self.slot.last_use.min(self.ticks)
    }
}

/// A registry in a few numbers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// The label.
    pub label: Arc<str>,
    /// Agent or orchestrator.
    pub kind: Kind,
    /// The number of blocks.
    pub blocks: usize,
    /// The bytes of their contents.
    pub bytes: u64,
    /// The soft limit of these bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// By how many bytes the contents are above it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_limit: Option<u64>,
    /// The number of blocks by their kind of author.
    pub authors: BTreeMap<AuthorKind, usize>,
    /// The number of blocks that every principal may remove.
    pub removable: usize,
    /// The number of operations that made this state.
    pub operations: u64,
    /// The text before all blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The text after all blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suffix: Option<String>,
}

/// The lineage of a block: its source and its later changes.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct Lineage {
    /// Its position, counted from 0.
    pub position: usize,
    /// The name it goes by.
    pub name: Arc<str>,
    /// The name of its revision, when it goes by another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_as: Option<String>,
    /// Its type.
    pub object_type: ObjectType,
    /// Seed, agent or orchestrator.
    pub author: AuthorKind,
    /// The registry that wrote it.
    pub writer: Arc<str>,
    /// The source it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The run in which it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory: Option<String>,
    /// The revision.
    pub revision: Digest,
    /// Its priority.
    pub priority: Score,
    /// Its protection.
    pub protection: Protection,
    /// True if others may remove it.
    pub removable: bool,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The bytes of its content.
    pub bytes: usize,
    /// The number of its uses.
    pub uses: u32,
    /// The number of counts of use since it was last used.
    pub idle: u32,
}

impl RegistryView {
    /// The view of a state, such as one folded from a log.
    pub fn new(kind: Kind, state: State) -> RegistryView {
        RegistryView {
            kind,
            state,
            candidates: Arc::default(),
        }
    }

    /// Returns the view with the candidates of another that holds the same objects.
    pub(super) fn sharing(self, candidates: &Arc<OnceLock<Candidates>>) -> RegistryView {
        RegistryView {
            candidates: Arc::clone(candidates),
            ..self
        }
    }

    /// The registry's label.
    pub fn label(&self) -> &str {
        self.state.label()
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.state.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.state.is_empty()
    }

    /// The blocks in order.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'_>> {
        self.state.blocks().map(|(id, slot)| self.block(id, slot))
    }

    fn block<'v>(&'v self, id: BlockId, slot: &'v Slot) -> Block<'v> {
        Block {
            id,
            slot,
            ticks: self.state.ticks,
        }
    }

    /// The block of this name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when there is none; the nearest names are
    /// offered.
    pub fn named(&self, name: &str) -> Result<Block<'_>, Error> {
        let found = self.state.find(name);
        if let Some((id, slot)) = found.and_then(|id| Some((id, self.state.get(id)?))) {
            return Ok(self.block(id, slot));
        }
        let error = Error::input(format!(
            "`{}` has no block named `{}`",
            self.label(),
            clip(name)
        ));
        Err(
            match nearest(name, self.blocks().map(|block| block.name())) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.expected("the name of a block"),
            },
        )
    }

    /// The blocks with this tag, in order.
    pub fn tagged<'v>(&'v self, tag: &'v str) -> impl Iterator<Item = Block<'v>> {
        self.blocks()
            .filter(move |block| block.object().revision().tags().any(|own| own == tag))
    }

    /// The blocks of a run, in the order of their writing.
    pub fn written_in(&self, trajectory: &str) -> Vec<Block<'_>> {
        let run = self.state.run(trajectory);
        run.into_iter().map(|(id, slot)| self.block(id, slot)).collect()
    }

    /// Returns the position of a block, counted from 0.
    pub fn position(&self, block: Block<'_>) -> usize {
        self.state.position(block.id)
    }

    /// The objects in order, between the prefix and the suffix.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<ContextObject>> {
        let blocks = self.state.blocks().map(|(_, slot)| &slot.object);
        let prefix = self.state.prefix.iter();
        prefix.chain(blocks).chain(&self.state.suffix)
    }

    /// Returns the candidates of a compile: the objects of this view. Made at the first call and kept.
    pub fn candidates(&self) -> &Candidates {
        self.candidates
            .get_or_init(|| Candidates::new(self.objects().cloned().collect()))
    }

    /// By how many bytes the contents are above the soft limit.
    pub fn over_limit(&self) -> Option<u64> {
        self.state.over_limit()
    }

    /// The registry in a few numbers.
    pub fn summary(&self) -> Summary {
        let content = |object: &Arc<ContextObject>| object.revision().content().to_owned();
        let mut authors = BTreeMap::new();
        let mut removable = 0;
        for block in self.blocks() {
            *authors.entry(block.object().revision().author()).or_insert(0) += 1;
            removable += usize::from(block.object().is_removable());
        }
        Summary {
            label: Arc::clone(self.state.label()),
            kind: self.kind,
            blocks: self.len(),
            bytes: self.state.bytes(),
            limit: self.state.limit,
            over_limit: self.over_limit(),
            authors,
            removable,
            operations: self.state.number,
            prefix: self.state.prefix.as_ref().map(content),
            suffix: self.state.suffix.as_ref().map(content),
        }
    }

    /// The provenance of every block, in order.
    pub fn provenance(&self) -> impl Iterator<Item = Lineage> + '_ {
        self.blocks().enumerate().map(|(position, block)| {
            let object = block.object();
            let revision = object.revision();
            let renamed = object.name() != revision.name();
            Lineage {
                position,
                name: object.shared_name(),
                written_as: renamed.then(|| revision.name().to_owned()),
                object_type: revision.object_type(),
                author: revision.author(),
                writer: Arc::clone(&block.slot.writer),
                source: revision.source_origin().map(str::to_owned),
                trajectory: revision.trajectory().map(str::to_owned),
                revision: revision.id(),
                priority: object.priority(),
                protection: object.protection(),
                removable: object.is_removable(),
                tags: revision.tags().map(str::to_owned).collect(),
                bytes: revision.content().len(),
                uses: block.uses(),
                idle: block.idle(),
            }
        })
    }

    /// The address of a block in the session of these registries.
    pub fn address(&self, registries: &Registries, block: Block<'_>) -> Address {
        registries.address(self.label(), block.id)
    }
}
