//! The operations on a registry. Its state is the fold of them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use super::permissions::Actor;
use crate::object::{ContextObject, Overrides};

/// The number of a block in its registry, in the order of writing. It says the same in every process
/// that folds one log; a restored snapshot counts anew, in the same order. Whoever is not trusted names
/// a block by its [`Address`].
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema,
)]
pub struct BlockId(pub(super) u32);

/// The address of a block for one session: 128 bits that no one can guess, new each time a registry
/// is made or restored, and never written into an envelope. What a content says can
/// name no address, because none existed when it was written.
///
/// ```
/// use tenure::registry::Address;
/// assert!("f3b1c0de".parse::<Address>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub(super) u128);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let bits = is_hex.then(|| u128::from_str_radix(text, 16).ok());
        bits.flatten().map(Address).ok_or_else(|| {
            format!(
                "`{}` is not an address; expected 32 hexadecimal digits",
                crate::object::clip(text)
            )
        })
    }
}

impl Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Address, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Address {
    fn schema_name() -> Cow<'static, str> {
        "Address".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9a-fA-F]{32}$" })
    }
}

/// The place for blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Place<Block = Address> {
    /// Before all others.
    Front,
    /// After all others.
    Back,
    /// So that the first of them stands here, counted from 0, once all are moved.
    At(u32),
    /// So many places towards the front, or, when negative, towards the back; no further than the
    /// end.
    Steps(i32),
    /// Right before this block.
    Before(Block),
    /// Right after this block.
    After(Block),
}

impl<Block> Place<Block> {
    /// Returns the place with its block named another way.
    ///
    /// # Errors
    ///
    /// What `map` fails with.
    pub fn try_map<To, E>(
        self,
        map: &mut impl FnMut(Block) -> Result<To, E>,
    ) -> Result<Place<To>, E> {
        Ok(match self {
            Place::Front => Place::Front,
            Place::Back => Place::Back,
            Place::At(at) => Place::At(at),
            Place::Steps(steps) => Place::Steps(steps),
            Place::Before(block) => Place::Before(map(block)?),
            Place::After(block) => Place::After(map(block)?),
        })
    }
}

/// The place of the critical block of a group among its neighbours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Critical {
    /// Before them.
    First,
    /// Amid them; of an odd number of neighbours, the larger half comes after.
    Centre,
    /// After them, where models heed it most.
    Last,
}

impl Critical {
    /// The group of a block and its neighbours, in the order in which to promote them.
    ///
    /// ```
    /// use tenure::registry::Critical;
    /// assert_eq!(Critical::Last.group('c', &['x', 'y']), ['x', 'y', 'c']);
    /// assert_eq!(Critical::Centre.group('c', &['x', 'y']), ['x', 'c', 'y']);
    /// ```
    pub fn group<Block: Copy>(self, critical: Block, neighbours: &[Block]) -> Vec<Block> {
        let before = match self {
            Critical::First => 0,
            Critical::Centre => neighbours.len() / 2,
            Critical::Last => neighbours.len(),
        };
        let (front, back) = neighbours.split_at(before);
        [front, &[critical], back].concat()
    }
}

/// A change of a registry. Callers name blocks by [`Address`]; the log, which outlives a session,
/// by [`BlockId`].
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Op<Block = Address> {
    /// Puts in an object that an agent or an orchestrator wrote.
    Write {
        /// The object.
        object: Arc<ContextObject>,
        /// The place. Steps make no sense here.
        at: Place<Block>,
    },
    /// Puts in a seed of a library. Only the host does: [`Registries::draw`](super::Registries::draw).
    Draw {
        /// The object.
        object: Arc<ContextObject>,
        /// Its key in the library.
        from: Arc<str>,
        /// The place.
        at: Place<Block>,
    },
    /// Gives a block another content. An agent may revise its own blocks; what a seed or an
    /// orchestrator says is immutable.
    Revise {
        /// The block.
        block: Block,
        /// The new object. It keeps the block's name, place and author.
        object: Arc<ContextObject>,
    },
    /// Moves blocks, as one unit, in the order given.
    Promote {
        /// The blocks.
        blocks: Vec<Block>,
        /// The place.
        to: Place<Block>,
    },
    /// Puts blocks on the places that they hold together, in the order given.
    Reorder {
        /// The blocks. All of them is a permutation of the registry.
        blocks: Vec<Block>,
    },
    /// Gives a block another name, priority or protection than its object has.
    Override {
        /// The block.
        block: Block,
        /// The values; they replace earlier ones.
        overrides: Overrides,
    },
    /// Takes blocks out for good.
    Evict {
        /// The blocks.
        blocks: Vec<Block>,
        /// True if the author means it, although the block is not removable.
        #[serde(default)]
        force: bool,
    },
    /// Takes out every block that the caller wrote in this run, removable or not.
    Rollback {
        /// The run.
        trajectory: Arc<str>,
    },
    /// Counts a use of each of these blocks.
    Use {
        /// The blocks.
        blocks: Vec<Block>,
    },
    /// Sets the texts before and after all blocks. Nothing takes one away.
    Wrap {
        /// Before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<Arc<ContextObject>>,
        /// After.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        suffix: Option<Arc<ContextObject>>,
    },
    /// Sets how many bytes of text the registry should hold at most. Above it every report says so;
    /// nothing is evicted unasked.
    Limit {
        /// The bytes; no limit when left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<u64>,
    },
}

impl<Block> Op<Block> {
    /// The objects that it brings in.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<ContextObject>> {
        let (first, second) = match self {
            Op::Write { object, .. } | Op::Draw { object, .. } | Op::Revise { object, .. } => {
                (Some(object), None)
            }
            Op::Wrap { prefix, suffix } => (prefix.as_ref(), suffix.as_ref()),
            Op::Promote { .. }
            | Op::Reorder { .. }
            | Op::Override { .. }
            | Op::Evict { .. }
            | Op::Rollback { .. }
            | Op::Use { .. }
            | Op::Limit { .. } => (None, None),
        };
        first.into_iter().chain(second)
    }

    /// Returns the change with its blocks named another way.
    ///
    /// # Errors
    ///
    /// What `map` fails with.
    pub fn try_map<To, E>(self, mut map: impl FnMut(Block) -> Result<To, E>) -> Result<Op<To>, E> {
        let all = |blocks: Vec<Block>, map: &mut dyn FnMut(Block) -> Result<To, E>| {
            blocks.into_iter().map(map).collect::<Result<Vec<To>, E>>()
        };
        Ok(match self {
            Op::Write { object, at } => Op::Write {
                object,
                at: at.try_map(&mut map)?,
            },
            Op::Draw { object, from, at } => Op::Draw {
                object,
                from,
                at: at.try_map(&mut map)?,
            },
            Op::Revise { block, object } => Op::Revise {
                block: map(block)?,
                object,
            },
            Op::Promote { blocks, to } => Op::Promote {
                blocks: all(blocks, &mut map)?,
                to: to.try_map(&mut map)?,
            },
            Op::Reorder { blocks } => Op::Reorder {
                blocks: all(blocks, &mut map)?,
            },
            Op::Override { block, overrides } => Op::Override {
                block: map(block)?,
                overrides,
            },
            Op::Evict { blocks, force } => Op::Evict {
                blocks: all(blocks, &mut map)?,
                force,
            },
            Op::Rollback { trajectory } => Op::Rollback { trajectory },
            Op::Use { blocks } => Op::Use {
                blocks: all(blocks, &mut map)?,
            },
            Op::Wrap { prefix, suffix } => Op::Wrap { prefix, suffix },
            Op::Limit { bytes } => Op::Limit { bytes },
        })
    }
}

/// The version of the log's form.
pub const LOG_VERSION: u32 = 1;

/// An operation as the log holds it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Entry")]
pub struct Entry {
    /// The version of this form.
    pub version: u32,
    /// Its number in the registry's log, counted from one.
    pub number: u64,
    /// The registry that acted.
    pub by: Actor,
    /// The operation.
    pub op: Op<BlockId>,
}
