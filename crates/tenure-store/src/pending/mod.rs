//! Work that waits for a person: outcomes that were proposed, what awaits confirmation, and the list of all of it.

pub(crate) mod confirm;
pub(crate) mod outcomes;
pub(crate) mod proposals;
