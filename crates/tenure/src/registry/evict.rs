//! The choice of blocks to evict to come down to a limit. Evicting is asked for, never a side effect: the answer is a
//! list of blocks, and an [`Op::Evict`](super::Op::Evict) of it goes into the log, so that a log with any function's
//! choices can be replayed without the function.

use super::op::BlockId;
use super::permissions::is_evictable;
use super::view::{Block, RegistryView};
use crate::base::num::Score;
use crate::object::ContextObject;

/// Down to which limit to evict.
pub struct Until<'a> {
    most: u64,
    size: Box<dyn Fn(&ContextObject) -> u64 + 'a>,
}

impl<'a> Until<'a> {
    /// At most this many blocks.
    pub fn blocks(most: usize) -> Until<'static> {
        Until {
            most: most as u64,
            size: Box::new(|_| 1),
        }
    }

    /// At most this many bytes of content.
    pub fn bytes(most: u64) -> Until<'static> {
        Until {
            most,
            size: Box::new(|object| object.revision().content().len() as u64),
        }
    }

    /// At most so much of what `size` measures, such as tokens.
    pub fn measured(most: u64, size: impl Fn(&ContextObject) -> u64 + 'a) -> Until<'a> {
        Until {
            most,
            size: Box::new(size),
        }
    }
}

/// Returns the worth of keeping a block: half its priority, a quarter each how often and how lately it was used.
///
/// ```text
/// ½·priority + ¼·(1 − 1/(1 + uses)) + ¼·1/(1 + idle)
/// ```
pub fn retention(block: &Block<'_>) -> Score {
    let part = |n: u32| 1_000_000 / (u64::from(n) + 1);
    let priority = u64::from(block.object().priority().millionths());
    let used = 1_000_000 - part(block.uses());
    let lately = part(block.idle());
    let sum = priority / 2 + used / 4 + lately / 4;
    Score::from_millionths(u32::try_from(sum).unwrap_or(u32::MAX))
}

/// The result of a policy of eviction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Eviction {
    /// The blocks to evict, the least worth keeping first.
    pub blocks: Vec<BlockId>,
    /// By how much the registry is above the limit once they are gone: what is left is not removable
    /// or another registry's.
    pub short: u64,
}

impl RegistryView {
    /// The blocks to evict to come down to a limit, by `score`: the lowest leaves first, of equals
    /// the one written first. Blocks that are not removable, and those of other registries, are never
    /// among them.
    pub fn eviction<S: Ord>(
        &self,
        until: &Until<'_>,
        mut score: impl FnMut(&Block<'_>) -> S,
    ) -> Eviction {
        let mut total: u64 = 0;
        let mut choice = Vec::new();
        for block in self.blocks() {
            let size = (until.size)(block.object());
            total = total.saturating_add(size);
            if is_evictable(self.label(), block.slot()) && size > 0 {
                choice.push((score(&block), block.id(), size));
            }
        }
        choice.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut blocks = Vec::new();
        for (_, block, size) in choice {
            if total <= until.most {
                break;
            }
            total = total.saturating_sub(size);
            blocks.push(block);
        }
        Eviction {
            blocks,
            short: total.saturating_sub(until.most),
        }
    }
}
