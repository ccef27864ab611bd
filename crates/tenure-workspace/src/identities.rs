//! The registry of entities as one compile may know it: of the ids that its caller may see, those that mean others and those
//! that wait for a person; those that the task names; and what these are next to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::belief::about;
use tenure::belief::entity::{
    Entities, Identity, NameHit, NamedEntities, Neighbour, RelationType, SeesObject,
};
use tenure::object::{ObjectId, RevisionId};
use tenure::{Candidates, ContextObject, Policy, Request};
use tenure_store::Resident;

/// The most neighbours that a compile is told of: those of the entities of the task first.
const MOST_NEAR: usize = 4_096;

/// The ids that an object names.
fn ids(object: &ContextObject) -> impl Iterator<Item = &str> {
    let (named, _) = object.revision().names();
    named.iter().map(String::as_str).chain(about(object))
}

/// The subjects of an object beside the ids that it names: it waits with them, and speaks of nothing else for them.
fn subjects(object: &ContextObject) -> impl Iterator<Item = &str> {
    object.revision().subjects().iter().map(String::as_str)
}

/// The part of the registry that is about the ids that the caller's objects and the request name, by id. A name, a relation,
/// a merge and an entity act only where the caller may see all that is held of the object that they came from. What the
/// caller may not see is asked for nothing. Where no entity was merged and none waits, where none is called what the task
/// says and none has kin, nothing is looked at.
pub(crate) fn identities(
    resident: &Resident,
    candidates: &Candidates,
    policy: &Policy,
    request: &Request,
) -> Vec<Identity> {
    if resident.entities().is_empty() {
        return Vec::new();
    }
    let mut all = moved(resident, candidates, policy, request);
    mentioned(&mut all, resident, candidates, policy, request);
    all.into_values().collect()
}

/// Adds which objects of the caller mention which entities in their texts, as that was bound when they were stored: what the
/// caller may know of these, by canonical ids. What waits for a person is none.
fn mentioned(
    all: &mut BTreeMap<String, Identity>,
    resident: &Resident,
    candidates: &Candidates,
    policy: &Policy,
    request: &Request,
) {
    if resident.mentions_none() {
        return;
    }
    let entities = resident.entities();
    let mentions = |object: &ContextObject| resident.mentions(object);
    let mut open: Vec<bool> = candidates.which_are_said().collect();
    for at in tenure::admitted(policy, &request.principal, candidates) {
        open[at] = true;
    }
    let speakers: Vec<&ContextObject> = candidates
        .objects()
        .iter()
        .zip(open)
        .filter(|(object, open)| *open && !mentions(object).is_empty())
        .map(|(object, _)| &**object)
        .collect();
    let ids: BTreeSet<&str> = speakers
        .iter()
        .flat_map(|object| mentions(object))
        .map(String::as_str)
        .collect();
    let mut sources = BTreeSet::new();
    entities.sources_of_all(ids.iter().copied(), &mut sources);
    let view = View::of(resident, policy, request, Vec::new(), sources);
    let sees = |source: ObjectId| view.seen.contains(&source);
    let known = entities.seen_by(&sees);
    let mut by: BTreeMap<&str, BTreeSet<RevisionId>> = BTreeMap::new();
    for object in speakers {
        for id in mentions(object).iter().filter_map(|id| known.decided(id)) {
            let revisions = by.entry(id).or_default();
            revisions.insert(object.revision().id());
        }
    }
    for (id, revisions) in by {
        entry(all, id).mentioned_by = revisions.into_iter().collect();
    }
}

/// A caller's view of the objects that are asked for, and of those that entries of the registry came from.
struct View {
    /// The places of the first that may be seen.
    open: BTreeSet<usize>,
    /// The second of which all that is held may be seen, and something is.
    seen: BTreeSet<ObjectId>,
}

impl View {
    fn of(
        resident: &Resident,
        policy: &Policy,
        request: &Request,
        mut asked: Vec<Arc<ContextObject>>,
        sources: BTreeSet<ObjectId>,
    ) -> View {
        let mut held = Vec::with_capacity(sources.len());
        for source in sources {
            let from = asked.len();
            asked.extend(resident.held(source).map(Arc::clone));
            held.push((source, from..asked.len()));
        }
        let open: BTreeSet<usize> =
            tenure::admitted(policy, &request.principal, &Candidates::new(asked))
                .into_iter()
                .collect();
        let held = held
            .iter()
            .filter(|(_, parts)| !parts.is_empty() && parts.clone().all(|at| open.contains(&at)));
        let seen = held.map(|(source, _)| *source).collect();
        View { open, seen }
    }
}

/// The ids that mean others or wait, and those that the task names with what they are next to.
fn moved(
    resident: &Resident,
    candidates: &Candidates,
    policy: &Policy,
    request: &Request,
) -> BTreeMap<String, Identity> {
    let entities = resident.entities();
    let hits = entities.names_in(&request.query_text(), request.as_of.valid);
    let joins = !hits.is_empty() || entities.has_kin();
    if !joins && !entities.moves_any() {
        return BTreeMap::new();
    }
    let around = if joins {
        entities.around(&hits)
    } else {
        BTreeSet::new()
    };
    let counts = |id: &&str| entities.moves(id) || around.contains(id);
    let said = candidates.which_are_said();
    let speakers: Vec<(&Arc<ContextObject>, bool)> = candidates
        .objects()
        .iter()
        .zip(said)
        .filter(|(object, _)| {
            ids(object).any(|id| counts(&id)) || subjects(object).any(|id| entities.moves(id))
        })
        .collect();
    let named: BTreeSet<&str> = request
        .entities
        .iter()
        .map(|entity| entity.id.as_str())
        .filter(|id| entities.moves(id))
        .collect();

    // Who may see what an id came from is judged as who may see what names it.
    let spoken: BTreeSet<&str> =
        speakers.iter().flat_map(|(object, _)| ids(object)).filter(counts).collect();
    let mut sources = sources(entities, &spoken, &named, &hits);
    let about = speakers
        .iter()
        .flat_map(|(object, _)| subjects(object))
        .filter(|id| entities.moves(id));
    entities.sources_of_all(about, &mut sources);
    let speaking = speakers.iter().map(|(object, _)| Arc::clone(object));
    let view = View::of(resident, policy, request, speaking.collect(), sources);
    let sees = |source: ObjectId| view.seen.contains(&source);

    let speakers: Vec<&ContextObject> = speakers
        .iter()
        .enumerate()
        .filter(|(at, (_, said))| *said || view.open.contains(at))
        .map(|(_, (object, _))| &***object)
        .collect();
    let spoken: BTreeSet<&str> =
        speakers.iter().flat_map(|object| ids(object)).filter(counts).collect();
    let subjects: BTreeSet<&str> = speakers
        .iter()
        .flat_map(|object| subjects(object))
        .filter(|id| entities.moves(id))
        .collect();
    let about = subjects
        .difference(&spoken)
        .filter_map(|id| entities.identity(id, &sees))
        .filter(|one| one.pending);
    let moved = spoken
        .iter()
        .copied()
        .filter(|id| entities.moves(id))
        .chain(named)
        .collect::<BTreeSet<&str>>()
        .into_iter()
        .filter_map(|id| entities.identity(id, &sees));
    let mut all: BTreeMap<String, Identity> =
        about.chain(moved).map(|one| (one.id.clone(), one)).collect();
    if joins {
        let names = entities.named(&hits, &sees);
        join(&mut all, entities, &spoken, names, &sees);
    }
    all
}

/// The objects that everything came from that is known of these ids and names.
fn sources(
    entities: &Entities,
    spoken: &BTreeSet<&str>,
    named: &BTreeSet<&str>,
    hits: &[NameHit],
) -> BTreeSet<ObjectId> {
    let mut sources = BTreeSet::new();
    entities.sources_of_all(spoken.iter().chain(named).copied(), &mut sources);
    if spoken.is_empty() && hits.is_empty() {
        return sources;
    }
    entities.sources_of_names(hits, &mut sources);
    let all = entities.seen_by(&|_| true);
    let ids = spoken.iter().copied().chain(hits.iter().map(NameHit::id));
    let trees = ids.filter_map(|id| all.meant(id)).collect();
    entities.sources_of_relations(&trees, &mut sources);
    sources
}

/// Adds the entities that the task names, as far as an object speaks of one that a name means or of a neighbour of it; and what
/// those are next to that objects speak of.
fn join(
    all: &mut BTreeMap<String, Identity>,
    entities: &Entities,
    spoken: &BTreeSet<&str>,
    names: Vec<NamedEntities>,
    sees: &SeesObject<'_>,
) {
    let view = entities.seen_by(sees);
    let spoken: BTreeSet<&str> = spoken.iter().filter_map(|id| view.meant(id)).collect();
    let called: BTreeSet<&str> =
        names.iter().flat_map(|named| named.ids.iter().map(String::as_str)).collect();
    // Between an entity of the task and one that is spoken of, whatever joins them; between the others, what is more than a mention.
    let mut near: BTreeMap<&str, Vec<Neighbour>> = BTreeMap::new();
    let mut touched: BTreeSet<&str> = BTreeSet::new();
    let ends = called.iter().chain(spoken.difference(&called));
    let mut room = MOST_NEAR;
    for id in ends {
        let mut found = view.neighbours(id, &|relation, to| {
            let is_kin = relation != RelationType::CrossReference;
            let is_spoken = (spoken.contains(id), spoken.contains(to));
            let is_called = (called.contains(id), called.contains(to));
            (is_kin && is_spoken.0 && is_spoken.1)
                || (is_called.0 && is_spoken.1)
                || (is_called.1 && is_spoken.0)
        });
        found.truncate(room);
        room -= found.len();
        if !found.is_empty() {
            let ends = found.iter().filter_map(|one| called.get(one.id.as_str()));
            touched.extend(ends.copied().chain([*id]));
            near.insert(id, found);
        }
    }
    let is_of_use = |id: &String| spoken.contains(id.as_str()) || touched.contains(id.as_str());
    for named in names.iter().filter(|named| named.ids.iter().any(is_of_use)) {
        for id in &named.ids {
            let one = entry(all, id);
            one.named.push(named.name.clone());
        }
    }
    for (id, found) in near {
        entry(all, id).near = found;
    }
}

fn entry<'i>(all: &'i mut BTreeMap<String, Identity>, id: &str) -> &'i mut Identity {
    let one = all.entry(id.to_owned()).or_default();
    id.clone_into(&mut one.id);
    one
}
