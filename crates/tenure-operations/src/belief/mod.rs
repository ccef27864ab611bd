//! Beliefs: claims with the evidence for them and against them.

mod revise;
mod show;

pub use revise::{ReviseBelief, Revised};
pub use show::{GetBelief, Shown};
