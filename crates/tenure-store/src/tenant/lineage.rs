//! The objects that were made from others.

use std::collections::BTreeSet;

use tenure::Error;
use tenure::object::ObjectId;

use crate::rows::engine::Read;
use crate::tenant::alongside::only_proposed_from;

/// These objects and everything made from them, each once; but for those of which only what waits beside what is believed was made
/// from them, or what was rejected.
pub(crate) fn with_descendants(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<Vec<ObjectId>, Error> {
    let mut all: BTreeSet<ObjectId> = ids.iter().copied().collect();
    let mut fresh: Vec<ObjectId> = ids.to_vec();
    while !fresh.is_empty() {
        let mut children = made_from(rows, &fresh, &all)?;
        children.retain(|child| all.insert(*child));
        fresh = children;
    }
    Ok(all.into_iter().collect())
}

/// Finds what was made from these objects and is not `gone`; but for what only proposals, waiting or rejected, were
/// made from those.
pub(crate) fn made_from(
    rows: &mut dyn Read,
    ids: &[ObjectId],
    gone: &BTreeSet<ObjectId>,
) -> Result<Vec<ObjectId>, Error> {
    let mut children = rows.children(ids)?;
    children.retain(|child| !gone.contains(child));
    let proposed = only_proposed_from(rows, &children, gone)?;
    children.retain(|child| !proposed.contains_key(child));
    Ok(children)
}
