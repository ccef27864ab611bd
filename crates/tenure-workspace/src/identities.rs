//! The registry of entities as one compile may know it: of the ids that its caller may see, those that mean others and those
//! that wait for a person.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure::belief::about;
use tenure::belief::entity::Identity;
use tenure::object::ObjectId;
use tenure::{Candidates, ContextObject, Policy, Request};
use tenure_store::Resident;

/// The ids that an object names.
fn ids(object: &ContextObject) -> impl Iterator<Item = &str> {
    let (named, _) = object.revision().names();
    named.iter().map(String::as_str).chain(about(object))
}

/// The meanings of the ids that the caller's objects and the request name, by id. A merge and an entity act only where the
/// caller may see all that is held of the object that they came from. What the caller may not see is asked for nothing.
/// Where no entity was merged and none waits, nothing is looked at.
pub(crate) fn identities(
    resident: &Resident,
    candidates: &Candidates,
    policy: &Policy,
    request: &Request,
) -> Vec<Identity> {
    let entities = resident.entities();
    if !entities.moves_any() {
        return Vec::new();
    }
    let moves = |id: &&str| entities.moves(id);
    let said = candidates.which_are_said();
    let speakers = candidates.objects().iter().zip(said);
    let speakers = speakers.filter(|(object, _)| ids(object).any(|id| moves(&id)));
    let speakers: Vec<(&Arc<ContextObject>, bool)> = speakers.collect();
    let named = request.entities.iter().map(|entity| entity.id.as_str());
    let named: BTreeSet<&str> = named.filter(moves).collect();

    // Who may see what an id came from is judged as who may see what names it.
    let mut asked: Vec<Arc<ContextObject>> = Vec::new();
    asked.extend(speakers.iter().map(|(object, _)| Arc::clone(object)));
    let all = speakers.iter().flat_map(|(object, _)| ids(object));
    let mut sources = BTreeSet::new();
    for id in all.filter(moves).chain(named.iter().copied()) {
        entities.sources_of(id, &mut sources);
    }
    let mut held = Vec::with_capacity(sources.len());
    for source in sources {
        let from = asked.len();
        asked.extend(resident.held(source).map(Arc::clone));
        held.push((source, from..asked.len()));
    }
    let open = tenure::admitted(policy, &request.principal, &Candidates::new(asked));
    let open: BTreeSet<usize> = open.into_iter().collect();
    let is_seen = |parts: &std::ops::Range<usize>| {
        !parts.is_empty() && parts.clone().all(|at| open.contains(&at))
    };
    let held = held.iter().filter(|(_, parts)| is_seen(parts));
    let seen: BTreeSet<ObjectId> = held.map(|(source, _)| *source).collect();

    let speakers = speakers.iter().enumerate();
    let speakers = speakers.filter(|(at, (_, said))| *said || open.contains(at));
    let spoken = speakers.flat_map(|(_, (object, _))| ids(object));
    let wanted: BTreeSet<&str> = spoken.filter(moves).chain(named).collect();
    let meant = wanted.into_iter();
    meant
        .filter_map(|id| entities.identity(id, &|source| seen.contains(&source)))
        .collect()
}
