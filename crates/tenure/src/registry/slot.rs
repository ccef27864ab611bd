//! A place of a registry that holds a block.

use std::sync::Arc;

use crate::object::ContextObject;

/// A block: an object with what its registry knows of it.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) object: Arc<ContextObject>,
    /// The registry that wrote it.
    pub(super) writer: Arc<str>,
    pub(super) uses: u32,
    /// The count of uses at which it was last used.
    pub(super) last_use: u32,
}
