//! Beliefs, held to be true: claims and whether two can hold together, how two intervals lie to each other, which of
//! two claims stands, how far evidence is believed, and which entity a name means.
//!
//! All decisions about beliefs are here, as functions of what they are given: a store applies them as it writes, and
//! a compile to what its caller may see. None depends on the order in which anything came, but for preferences of
//! which nobody says since when they hold: they hold from when they were said.

mod claim;
mod confidence;
mod disguise;
pub mod entity;
mod interval;
mod lookalike;
mod protocol;
mod retirement;
mod scope;
mod slot;

pub use crate::object::claim::Op;
pub use claim::{Claim, MAX_VALUES, Value, folded, slot_name};
pub use confidence::{
    Direction, Evidence, GateRefusal, Weight, confidence, may_persist, origin_site, votes,
};
pub use disguise::{Disguise, disguises};
pub use interval::{Action, Relation, action, overlap, relate};
pub use protocol::{Ground, Judgement, Loser, Standing, judge};
pub use retirement::{Aged, Ageing, TypeAges, aged, freshness};
pub use scope::{Narrowness, exclude};
pub use slot::{Defeat, SlotClaim, about, defeats};
