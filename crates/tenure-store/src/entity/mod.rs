//! Entities, at the level of rows: the log of the registry, the mentions in what is written, and who knows what of it.

pub(crate) mod audience;
pub(crate) mod mentions;
pub(crate) mod resolution;
pub(crate) mod session_mentions;
