//! Outcomes and corrections: proposed by agents and people, and compiled once a person accepted them.

mod decide;
mod list;
mod propose;
mod repeat;

pub use decide::DecideOutcome;
pub(crate) use decide::decide;
pub use list::{ListOutcomes, Outcomes, seen};
pub use propose::ProposeOutcome;
pub use repeat::RepeatMistake;
