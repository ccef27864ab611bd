//! The objects that were made from others.

use std::collections::BTreeSet;

use tenure::Error;
use tenure::object::ObjectId;

use crate::beside::only_proposed_from;
use crate::engine::Read;

/// These objects and everything made from them, each once; but for those of which only what waits beside what is believed was made
/// from them, or what was rejected.
pub(crate) fn with_descendants(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<Vec<ObjectId>, Error> {
    let mut all: BTreeSet<ObjectId> = ids.iter().copied().collect();
    let mut fresh: Vec<ObjectId> = ids.to_vec();
    while !fresh.is_empty() {
        let mut children = rows.children(&fresh)?;
        children.retain(|child| !all.contains(child));
        let proposed = only_proposed_from(rows, &children, &all)?;
        fresh = children
            .into_iter()
            .filter(|child| !proposed.contains_key(child) && all.insert(*child))
            .collect();
    }
    Ok(all.into_iter().collect())
}
