//! The objects that were made from others.

use std::collections::BTreeSet;

use tenure::Error;
use tenure::object::ObjectId;

use crate::engine::Read;

/// These objects and everything made from them, each once.
pub(crate) fn with_descendants(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<Vec<ObjectId>, Error> {
    let mut all: BTreeSet<ObjectId> = ids.iter().copied().collect();
    let mut fresh: Vec<ObjectId> = ids.to_vec();
    while !fresh.is_empty() {
        let children = rows.children(&fresh)?;
        fresh = children
            .into_iter()
            .filter(|child| all.insert(*child))
            .collect();
    }
    Ok(all.into_iter().collect())
}
