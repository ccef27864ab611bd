//! Objects that are made from themselves, at once or in a ring.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use tenure::object::ObjectId;
use tenure::{ContextObject, Error};

use crate::engine::Read;

/// The most objects that are looked at above one: a ring that is longer is not found.
const MOST: usize = 1_000;

/// What a revision was made from.
#[derive(Deserialize)]
struct Parents {
    #[serde(default)]
    derived_from: Vec<ObjectId>,
}

/// Returns whether what an object is made from leads back to it. Of `known` objects that is as they are written now; a parent
/// without parents ends the way, so that most objects cost no look at the store.
pub(crate) fn is_made_from_itself(
    rows: &mut dyn Read,
    object: &ContextObject,
    known: &BTreeMap<ObjectId, Arc<ContextObject>>,
) -> Result<bool, Error> {
    let id = object.revision().object_id();
    let mut open = object.revision().derived_from().to_vec();
    let mut seen = BTreeSet::new();
    while !open.is_empty() {
        if open.contains(&id) {
            return Ok(true);
        }
        open.retain(|one| seen.insert(*one));
        if seen.len() > MOST {
            return Ok(false);
        }
        let (mut next, mut unread) = (Vec::new(), Vec::new());
        for one in open {
            match known.get(&one) {
                Some(known) => next.extend_from_slice(known.revision().derived_from()),
                None => unread.push(one),
            }
        }
        if !unread.is_empty() {
            for body in rows.heads(&unread)?.into_values() {
                // What is damaged names no parents.
                let parents =
                    serde_json::from_str(&body).map(|Parents { derived_from }| derived_from);
                next.extend(parents.unwrap_or_default());
            }
        }
        open = next;
    }
    Ok(false)
}
