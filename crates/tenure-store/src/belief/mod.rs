//! Beliefs: claims and the conflicts between them, the evidence for what is inferred, and what becomes of both.

pub(crate) mod beliefs;
pub(crate) mod claims;
pub(crate) mod conflicts;
pub(crate) mod decisions;
pub(crate) mod empty_slots;
pub(crate) mod evidence;
pub(crate) mod expiry;
pub(crate) mod judge;
pub(crate) mod judgement;
pub(crate) mod merges;
pub(crate) mod stale;
pub(crate) mod support;
pub(crate) mod sweep;
pub(crate) mod ties;
pub(crate) mod user_stated;
