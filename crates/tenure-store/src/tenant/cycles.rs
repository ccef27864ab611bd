//! Objects that were made from themselves, directly or through others.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::object::ObjectId;
use tenure::{ContextObject, Error};

use crate::rows::engine::Read;
use crate::tenant::alongside::MadeFrom;

/// The most ancestors of one object that are looked at: a longer cycle is not found.
const MOST: usize = 1_000;

/// Those of these objects, which one write makes, that are made from themselves. What the write says of an object (`known`) goes
/// before what is stored. A chain ends at a parent without parents, so that most writes read nothing.
pub(crate) fn made_from_themselves(
    rows: &mut dyn Read,
    written: &[&ContextObject],
    known: &BTreeMap<ObjectId, Arc<ContextObject>>,
) -> Result<BTreeSet<ObjectId>, Error> {
    let of = |object: &ContextObject| object.revision().object_id();
    let named: BTreeSet<ObjectId> =
        written.iter().flat_map(|one| one.revision().derived_from()).copied().collect();
    let goes_on =
        |id: &ObjectId| known.get(id).is_none_or(|one| !one.revision().derived_from().is_empty());
    let mut open: Vec<&ContextObject> = written.to_vec();
    open.retain(|one| {
        let mut parents = one.revision().derived_from().iter();
        parents.any(|id| goes_on(id) || *id == of(one))
    });
    // Nothing leads to what no object was made from.
    let others: Vec<ObjectId> =
        open.iter().map(|one| of(one)).filter(|id| !named.contains(id)).collect();
    if !others.is_empty() && rows.children(&others)?.is_empty() {
        open.retain(|one| named.contains(&of(one)));
    }
    let mut ways = Ways {
        known,
        read: BTreeMap::new(),
        above: BTreeMap::new(),
    };
    let mut found = BTreeSet::new();
    for one in open {
        if ways.above(rows, one.revision().derived_from())?.contains(&of(one)) {
            found.insert(of(one));
        }
    }
    Ok(found)
}

/// The ways from objects to what they are made from, each read once.
struct Ways<'k> {
    known: &'k BTreeMap<ObjectId, Arc<ContextObject>>,
    /// The parents of what is in the store.
    read: BTreeMap<ObjectId, Vec<ObjectId>>,
    /// All that is above objects with these parents.
    above: BTreeMap<Vec<ObjectId>, BTreeSet<ObjectId>>,
}

impl Ways<'_> {
    /// These parents, and what they are made from.
    fn above(
        &mut self,
        rows: &mut dyn Read,
        parents: &[ObjectId],
    ) -> Result<&BTreeSet<ObjectId>, Error> {
        if !self.above.contains_key(parents) {
            let above = self.look(rows, parents)?;
            self.above.insert(parents.to_vec(), above);
        }
        Ok(&self.above[parents])
    }

    fn look(
        &mut self,
        rows: &mut dyn Read,
        parents: &[ObjectId],
    ) -> Result<BTreeSet<ObjectId>, Error> {
        let mut open = parents.to_vec();
        let mut seen = BTreeSet::new();
        while !open.is_empty() {
            open.retain(|one| seen.insert(*one));
            if seen.len() > MOST {
                break;
            }
            self.read(rows, &open)?;
            let mut next = Vec::new();
            for one in &open {
                let parents = match self.known.get(one) {
                    Some(known) => known.revision().derived_from(),
                    None => self.read.get(one).map_or(&[][..], Vec::as_slice),
                };
                next.extend_from_slice(parents);
            }
            open = next;
        }
        Ok(seen)
    }

    /// Reads the parents of those of these that are not known.
    fn read(&mut self, rows: &mut dyn Read, ids: &[ObjectId]) -> Result<(), Error> {
        let unread: Vec<ObjectId> = ids
            .iter()
            .copied()
            .filter(|id| !self.known.contains_key(id) && !self.read.contains_key(id))
            .collect();
        if unread.is_empty() {
            return Ok(());
        }
        let mut bodies = rows.heads(&unread)?;
        for id in unread {
            // What is damaged, or gone, names no parents.
            let body = bodies.remove(&id);
            let made = body.and_then(|body| serde_json::from_str::<MadeFrom>(&body).ok());
            self.read.insert(id, made.unwrap_or_default().derived_from);
        }
        Ok(())
    }
}
