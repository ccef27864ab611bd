//! The questions: what is believed, what was, what a compile may choose from, and what a search finds.

pub(crate) mod beliefs;
pub(crate) mod resident;
pub(crate) mod search;
