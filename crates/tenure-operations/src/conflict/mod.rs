//! Claims that cannot both hold, and decisions between them.

mod list;
mod resolve;

pub use list::{Conflicts, ListConflicts};
pub use resolve::ResolveConflict;

use tenure::Error;
use tenure::object::ObjectId;

/// Refuses a pair whose two objects are the same.
fn refuse_itself(first: ObjectId, second: ObjectId) -> Result<(), Error> {
    if first != second {
        return Ok(());
    }
    Err(Error::input("both names are of one object")
        .at("second", None)
        .expected("two objects whose claims contradict each other")
        .hint("`tenure conflicts list` shows which there are"))
}
