//! Everything that is pending until a person decides on it.

mod decide;
mod list;

pub use decide::{Confirmation, DecideProposal};
pub use list::{ListProposals, Proposals};
