//! The registry of entities: who and what objects speak of.

mod change;
mod history;
mod list;
mod resolve;

pub use change::ChangeEntities;
pub use history::{EntityHistory, GetEntityHistory};
pub use list::{Entities, ListEntities};
pub use resolve::{Meaning, ResolveEntity};
