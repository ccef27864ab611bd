//! Content into bytes: frames and escapes, pieces with their price, the bodies of the targets.

pub(crate) mod frame;
pub(crate) mod imitation;
pub(crate) mod piece;
pub(crate) mod render;
pub(crate) mod span;
pub(crate) mod world;
