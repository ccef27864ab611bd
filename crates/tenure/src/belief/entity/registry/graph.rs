//! The names of entities that a task has, and the typed graph between entities, as somebody may know them.
//!
//! Everything is found among all entities first, and judged then, each by itself, by what its reader sees: so neither a
//! longer name, nor another bearer, nor an edge that they may not see hides or joins anything for them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound as End;
use std::sync::Arc;

use super::{Entities, Entity};
use crate::base::time::Instant;
use crate::belief::claim::folded;
use crate::belief::entity::identity::Neighbour;
use crate::belief::entity::{MAX_ALIAS, MIN_ALIAS, RelationType, SeesObject};
use crate::object::ObjectId;

/// The most words of a name that is looked for in a task.
const MOST_WORDS: usize = 8;
/// The most bytes of a task in which names are looked for.
pub(super) const MOST_TASK: usize = 1 << 20;
/// The most different names that a task is said to have: those that stand first.
const MOST_NAMES: usize = 64;
/// The most entities of which one name is said to be: more than one is none.
const MOST_BEARERS: usize = 8;
/// The most neighbours of one entity.
const MOST_NEIGHBOURS: usize = 64;
/// The most names of one entity that begin with neither a letter nor a digit and are looked for in one task.
const MOST_LOOKS: usize = 16;

/// The names of all entities, each folded, without what stands before its first letter or digit; with the ids of those that
/// bear it.
pub(super) type NameIndex = Arc<BTreeMap<Box<str>, BTreeSet<Box<str>>>>;

/// A name of an entity that a text has, whoever may know of it.
#[derive(Clone, PartialEq, Debug)]
pub struct NameHit {
    /// The place of the first, in bytes of the folded text.
    at: usize,
    name: String,
    id: String,
    /// The object that it came from.
    source: Option<ObjectId>,
}

impl NameHit {
    /// The id of the entity.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// A name that a text has, and the entities that it means to somebody, by their canonical ids: at most 8 of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedEntities {
    /// The name, folded.
    pub name: String,
    /// The entities.
    pub ids: BTreeSet<String>,
}

/// The part of a name by which it is found.
fn key(folded: &str) -> Option<&str> {
    let key = folded.trim_start_matches(|c: char| !c.is_alphanumeric());
    let letters = folded.chars().take(MAX_ALIAS + 1).count();
    ((MIN_ALIAS..=MAX_ALIAS).contains(&letters) && !key.is_empty()).then_some(key)
}

fn in_word(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

/// Returns whether a folded text has a folded name as whole words.
pub(crate) fn mentions(text: &str, name: &str) -> bool {
    let mut from = 0;
    while let Some(at) = text[from..].find(name).map(|at| from + at) {
        let (before, behind) = (&text[..at], &text[at + name.len()..]);
        if !in_word(before.chars().next_back()) && !in_word(behind.chars().next()) {
            return true;
        }
        // The name may begin again within what was found.
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
    }
    false
}

/// The place of a relation among those of an entity: what says more goes first.
const fn rank(relation: RelationType) -> u8 {
    match relation {
        RelationType::SameAs => 0,
        RelationType::Parent | RelationType::Child => 1,
        RelationType::Sibling => 2,
        RelationType::CrossReference => 3,
    }
}

impl Entities {
    /// Adds a name to those that are looked for.
    pub(super) fn bear(&mut self, name: &str, id: &str) {
        let name = folded(name);
        if let Some(key) = key(&name) {
            let names = Arc::make_mut(&mut self.names);
            names.entry(key.into()).or_default().insert(id.into());
        }
    }

    /// Adds an edge to the graph of all.
    pub(super) fn link(&mut self, id: &str, relation: RelationType, to: &str) {
        for (one, other) in [(id, to), (to, id)] {
            let edges = Arc::make_mut(&mut self.edges).entry(one.to_owned()).or_default();
            edges.insert(other.to_owned());
        }
        if relation != RelationType::CrossReference {
            self.kin.extend([id.to_owned(), to.to_owned()]);
        }
    }

    /// The names of entities that the first MiB of a text has as whole words, whoever may know of them. A name has at least two
    /// characters, of which one is a letter or a digit, and at most eight words; a role counts for who has it at the instant.
    pub fn names_in(&self, text: &str, now: Option<Instant>) -> Vec<NameHit> {
        if self.names.is_empty() {
            return Vec::new();
        }
        let mut end = text.len().min(MOST_TASK);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = folded(&text[..end]);
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        let mut before = None;
        for (at, c) in text.char_indices() {
            if c.is_alphanumeric() && !in_word(before) {
                self.begins(&text, at, &mut found);
            }
            before = Some(c);
        }
        let mut bearers: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        for (key, at) in found {
            for id in self.names.get(key).into_iter().flatten() {
                bearers.entry(id).or_default().insert(key, at);
            }
        }
        let mut hits = Vec::new();
        for (id, keys) in bearers {
            self.borne((&text, now), id, &keys, &mut hits);
        }
        hits
    }

    /// Adds the names that begin at a place of a text, each with the first place of all.
    fn begins<'e>(&'e self, text: &str, at: usize, found: &mut BTreeMap<&'e str, usize>) {
        let behind = &text[at..];
        let mut words = 1;
        let mut was_word = true;
        let mut letters = behind.char_indices().take(MAX_ALIAS + 1);
        loop {
            let (end, is_word, is_last) = match letters.next() {
                Some((end, c)) => (end, c.is_alphanumeric(), false),
                None => (behind.len(), false, true),
            };
            if is_word {
                words += usize::from(!was_word);
                was_word = true;
                if words > MOST_WORDS {
                    return;
                }
                continue;
            }
            was_word = false;
            if end == 0 || (is_last && behind.chars().nth(MAX_ALIAS).is_some()) {
                return;
            }
            // A name ends here, or goes on, or there is none.
            let said = &behind[..end];
            let mut next = self.names.range::<str, _>((End::Included(said), End::Unbounded));
            let Some((key, _)) = next.next() else { return };
            if &**key == said {
                found.entry(key).or_insert(at);
            }
            if !key.starts_with(said) || is_last {
                return;
            }
        }
    }

    /// Adds the names of an entity that have these keys and stand in a text.
    fn borne(
        &self,
        (text, now): (&str, Option<Instant>),
        id: &str,
        keys: &BTreeMap<&str, usize>,
        hits: &mut Vec<NameHit>,
    ) {
        let Some(entity) = self.all.get(id) else {
            return;
        };
        let own = (&entity.name, entity.source);
        let aliases = entity.aliases.iter().map(|alias| (&alias.value, alias.source));
        let roles = entity
            .roles
            .iter()
            .filter(|role| {
                now.is_none_or(|now| {
                    role.value.1.from.is_none_or(|from| from <= now)
                        && role.value.1.until.is_none_or(|until| until > now)
                })
            })
            .map(|role| (&role.value.0, role.source));
        let mut known = BTreeSet::new();
        let mut looks = MOST_LOOKS;
        for (name, source) in std::iter::once(own).chain(aliases).chain(roles) {
            let name = folded(name);
            let at = key(&name).and_then(|key| Some((key.len(), *keys.get(key)?)));
            let Some((length, at)) = at else { continue };
            if length < name.len() {
                // What stands before its first letter is looked for in the whole text.
                looks -= usize::from(looks > 0);
                if looks == 0 || !mentions(text, &name) {
                    continue;
                }
            }
            if !known.insert((name.clone(), source)) {
                continue;
            }
            hits.push(NameHit {
                at,
                name,
                id: id.to_owned(),
                source,
            });
        }
    }

    /// Returns whether an entity has a parent, a child, a sibling or another that is the same, in whosever view.
    pub fn has_kin(&self) -> bool {
        !self.kin.is_empty()
    }

    /// The ids that an object may name to be of use here: those of these entities and of whatever is joined to them, and of all
    /// that have kin.
    pub fn around<'e>(&'e self, hits: &'e [NameHit]) -> BTreeSet<&'e str> {
        let mut around: BTreeSet<&str> = BTreeSet::new();
        let mut open: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
        let mut joined: BTreeSet<&str> = BTreeSet::new();
        // All that are merged with them, in whosever view.
        while let Some(id) = open.pop() {
            if !joined.insert(id) {
                continue;
            }
            let means = self.all.get(id).and_then(|entity| entity.means.as_ref());
            open.extend(means.map(|means| means.value.as_str()));
            let members = self.members.get(id).into_iter().flatten();
            open.extend(members.map(String::as_str));
        }
        let near: Vec<&str> = joined
            .iter()
            .filter_map(|id| self.edges.get(*id))
            .flatten()
            .map(String::as_str)
            .collect();
        let kin = self.kin.iter().map(String::as_str);
        for id in joined.into_iter().chain(near).chain(kin) {
            // What it means is found with what it is called.
            let mut next = Some(id);
            while let Some(id) = next.filter(|id| around.insert(id)) {
                let means = self.all.get(id).and_then(|entity| entity.means.as_ref());
                next = means.map(|means| means.value.as_str());
            }
        }
        around
    }

    /// Adds the objects that these names came from.
    pub fn sources_of_names(&self, hits: &[NameHit], sources: &mut BTreeSet<ObjectId>) {
        sources.extend(hits.iter().filter_map(|hit| hit.source));
        self.sources_of_all(hits.iter().map(|hit| hit.id.as_str()), sources);
    }

    /// Adds the objects that the meanings of these ids came from, whoever may see them: each way is gone once.
    pub fn sources_of_all<'e>(
        &'e self,
        ids: impl IntoIterator<Item = &'e str>,
        sources: &mut BTreeSet<ObjectId>,
    ) {
        let mut known = BTreeSet::new();
        for id in ids {
            self.sources_until(id, &mut known, sources);
        }
    }

    /// Adds the objects that the meaning of an id came from, as far as it is not known.
    fn sources_until<'e>(
        &'e self,
        id: &'e str,
        known: &mut BTreeSet<&'e str>,
        sources: &mut BTreeSet<ObjectId>,
    ) {
        let mut next = Some(id);
        while let Some(id) = next.filter(|id| known.insert(id)) {
            let entity = self.all.get(id);
            let means = entity.and_then(|entity| entity.means.as_ref());
            sources.extend(entity.and_then(|entity| entity.source));
            sources.extend(means.and_then(|means| means.source));
            next = means.map(|means| means.value.as_str());
        }
    }

    /// Adds the objects that the relations of these entities to each other came from, with those of all that are merged into
    /// them, as they mean something to who may see everything; and those that the meanings of both ends came from.
    pub fn sources_of_relations<'e>(
        &'e self,
        ids: &BTreeSet<&'e str>,
        sources: &mut BTreeSet<ObjectId>,
    ) {
        let all = self.seen_by(&|_| true);
        let mut known = BTreeSet::new();
        for member in ids.iter().flat_map(|id| self.meaning(id, &|_| true)) {
            let relations = self.all.get(member).into_iter();
            for ((_, to), said_by) in relations.flat_map(|entity| &entity.relations) {
                if all.meant(to).is_some_and(|to| ids.contains(to)) {
                    sources.extend(said_by.iter().flatten());
                    self.sources_until(member, &mut known, sources);
                    self.sources_until(to, &mut known, sources);
                }
            }
        }
    }

    /// The entities as they are to somebody who may see these objects, to ask about many.
    pub fn seen_by<'e>(&'e self, sees: &'e SeesObject<'e>) -> KnownEntities<'e> {
        KnownEntities {
            entities: self,
            sees,
            known: RefCell::default(),
        }
    }

    /// Returns whether an id is merged with another, in whosever view.
    pub fn is_merged(&self, id: &str) -> bool {
        let members = self.members.get(id);
        self.merged.contains(id) || members.is_some_and(|members| !members.is_empty())
    }

    /// The merges that make two ids mean one, each by the id that was merged; empty where they are one id, or mean different ones,
    /// to who may see these objects.
    pub fn joined_by(&self, one: &str, other: &str, sees: &SeesObject<'_>) -> BTreeSet<&str> {
        let meant = self.meant(one, sees);
        if meant.is_none() || meant != self.meant(other, sees) {
            return BTreeSet::new();
        }
        let way = |id: &str| {
            let mut way = BTreeSet::new();
            let mut next = self.all.get_key_value(id);
            while let Some((id, entity)) = next.filter(|(id, _)| Some(id.as_str()) != meant) {
                way.insert(id.as_str());
                let means = entity.means.as_ref();
                next = means.and_then(|means| self.all.get_key_value(&means.value));
            }
            way
        };
        // What is behind the first that both come to joins nothing.
        let (one, other) = (way(one), way(other));
        one.symmetric_difference(&other).copied().collect()
    }

    /// The way of an id to the entity that it means for somebody who may see these objects; `known` says what an id on it means, where
    /// that is known. None where the entity came from an object that they may not see.
    pub(super) fn walk<'e>(
        &'e self,
        id: &str,
        sees: &SeesObject<'_>,
        known: &mut dyn FnMut(&'e str) -> Option<&'e str>,
    ) -> Option<&'e str> {
        let (id, mut entity) = self.all.get_key_value(id)?;
        if !entity.source.is_none_or(sees) {
            return None;
        }
        let mut id = id.as_str();
        // The log holds no ring.
        loop {
            if let Some(meant) = known(id) {
                return Some(meant);
            }
            match self.next(entity, sees) {
                Some(next) => (id, entity) = next,
                None => return Some(id),
            }
        }
    }

    /// An id, and all that are merged into it, one way or another, over those that count.
    pub(super) fn meaning<'e>(
        &'e self,
        id: &'e str,
        counts: &dyn Fn(&Entity) -> bool,
    ) -> BTreeSet<&'e str> {
        let mut all = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            if all.insert(id) {
                let members = self
                    .members
                    .get(id)
                    .into_iter()
                    .flatten()
                    .filter_map(|member| self.all.get_key_value(member))
                    .filter(|(_, entity)| {
                        let means = entity.means.as_ref();
                        means.is_some_and(|means| means.value == id) && counts(entity)
                    });
                open.extend(members.map(|(member, _)| member.as_str()));
            }
        }
        all
    }

    /// These names, as they mean something to who may see these objects: the first of them. What waits for a person has none.
    pub fn named(&self, hits: &[NameHit], sees: &SeesObject<'_>) -> Vec<NamedEntities> {
        let mut names: BTreeMap<(usize, &str), BTreeSet<&str>> = BTreeMap::new();
        for hit in hits {
            let meant = self.meant(&hit.id, sees);
            if let Some(meant) = meant.filter(|_| hit.source.is_none_or(sees))
                && !self.waiting.contains(meant)
            {
                let ids = names.entry((hit.at, &hit.name)).or_default();
                ids.insert(meant);
            }
        }
        names
            .into_iter()
            .take(MOST_NAMES)
            .map(|((_, name), ids)| NamedEntities {
                name: name.to_owned(),
                ids: ids.into_iter().take(MOST_BEARERS).map(str::to_owned).collect(),
            })
            .collect()
    }
}

/// The entities as they are to somebody: what an id means is found once, however long the chain of merges.
pub struct KnownEntities<'e> {
    entities: &'e Entities,
    sees: &'e SeesObject<'e>,
    known: RefCell<BTreeMap<&'e str, &'e str>>,
}

impl<'e> KnownEntities<'e> {
    fn is_open(&self, source: Option<ObjectId>) -> bool {
        source.is_none_or(self.sees)
    }

    /// The entity that an id means; none where it came from an object that is not seen.
    pub fn meant(&self, id: &'e str) -> Option<&'e str> {
        let mut known = self.known.borrow_mut();
        let mut way: Vec<&str> = Vec::new();
        let meant = self.entities.walk(id, self.sees, &mut |id| {
            let meant = known.get(id).copied();
            if meant.is_none() {
                way.push(id);
            }
            meant
        })?;
        known.extend(way.into_iter().map(|id| (id, meant)));
        Some(meant)
    }

    /// The entity that an id means, where that waits for nobody.
    pub fn decided(&self, id: &'e str) -> Option<&'e str> {
        let meant = self.meant(id);
        meant.filter(|meant| !self.entities.waiting.contains(*meant))
    }

    /// The ids that mean this one, itself among them; none where it means another.
    fn meaning(&self, id: &'e str) -> BTreeSet<&'e str> {
        if self.meant(id) != Some(id) {
            return BTreeSet::new();
        }
        self.entities.meaning(id, &|member| {
            let means = member.means.as_ref();
            self.is_open(member.source) && means.is_some_and(|means| self.is_open(means.source))
        })
    }

    /// The entities that this one is next to, of those that count: by canonical ids, each with the relation of this one to it.
    pub fn neighbours(
        &self,
        id: &'e str,
        counts: &dyn Fn(RelationType, &str) -> bool,
    ) -> Vec<Neighbour> {
        let mut near: BTreeMap<&str, RelationType> = BTreeMap::new();
        for member in self.meaning(id) {
            let relations =
                self.entities.all.get(member).into_iter().flat_map(|entity| &entity.relations);
            for ((relation, to), said_by) in relations {
                let to = self.meant(to).filter(|to| *to != id);
                let is_open = || said_by.iter().any(|source| self.is_open(*source));
                let Some(to) = to.filter(|to| counts(*relation, to) && is_open()) else {
                    continue;
                };
                let known = near.entry(to).or_insert(*relation);
                if rank(*relation) < rank(*known) {
                    *known = *relation;
                }
            }
        }
        let mut near: Vec<Neighbour> = near
            .into_iter()
            .map(|(id, relation)| Neighbour {
                relation,
                id: id.to_owned(),
            })
            .collect();
        near.sort_by_key(|one| rank(one.relation));
        near.truncate(MOST_NEIGHBOURS);
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::entity::{EntityEntry, EntityOp};

    fn made(entries: &[(Option<u128>, &str)]) -> Entities {
        let mut entities = Entities::default();
        for (source, op) in entries {
            let entry = EntityEntry {
                at: Instant::from_micros(0),
                by: None,
                source: source.map(ObjectId::from_bits),
                does: serde_json::from_str::<EntityOp>(op).unwrap(),
            };
            entities.apply(&entry).unwrap();
        }
        entities
    }

    fn create(id: &str, name: &str) -> String {
        format!(r#"{{"op": "create", "id": "{id}", "name": "{name}"}}"#)
    }

    fn alias(id: &str, name: &str) -> String {
        format!(r#"{{"op": "alias", "id": "{id}", "alias": "{name}"}}"#)
    }

    /// Name and ids, as they mean something to who sees everything but one object.
    fn named(entities: &Entities, text: &str, hidden: u128) -> Vec<(String, Vec<String>)> {
        let hits = entities.names_in(text, Some(Instant::from_micros(50)));
        let mut sources = BTreeSet::new();
        entities.sources_of_names(&hits, &mut sources);
        entities
            .named(&hits, &|id| id != ObjectId::from_bits(hidden))
            .into_iter()
            .map(|one| (one.name, one.ids.into_iter().collect()))
            .collect()
    }

    fn plain(found: &[(String, Vec<String>)]) -> Vec<(&str, Vec<&str>)> {
        found
            .iter()
            .map(|(name, ids)| (name.as_str(), ids.iter().map(String::as_str).collect()))
            .collect()
    }

    #[test]
    fn a_name_is_found_as_whole_words_in_any_case() {
        let names = ["Nova", "C++", "@kim", "Zoë Ruiz", "x", "++"];
        let mut ops: Vec<String> = Vec::new();
        for (number, name) in names.iter().enumerate() {
            ops.push(create(&format!("e{number}"), name));
        }
        let ops: Vec<(Option<u128>, &str)> = ops.iter().map(|op| (None, op.as_str())).collect();
        let entities = made(&ops);
        for (text, expected) in [
            ("Who owns NOVA?", &["nova"][..]),
            ("innovation, novas and supernova", &[]),
            ("the c++\u{a0}code of nova, again nova", &["c++", "nova"]),
            ("c+ and c++x", &[]),
            ("ask @KIM", &["@kim"]),
            ("ask kim, or a@kim", &[]),
            ("for ZOE\u{308}\n  ruiz.", &["zoë ruiz"]),
            ("x ++ x", &[]),
            ("", &[]),
        ] {
            let hits = named(&entities, text, 0);
            let found: Vec<&str> = hits.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn the_hidden_masks_no_name_and_makes_none_unclear() {
        let entities = made(&[
            (None, &create("nova", "Nova")),
            (Some(7), &create("project", "Nova Project")),
            (Some(7), &create("other", "NOVA")),
            (Some(7), &alias("nova", "star")),
            (
                Some(7),
                r#"{"op": "merge", "id": "project", "into": "nova"}"#,
            ),
        ]);
        let text = "Ask the star of the Nova project.";
        let narrow = named(&entities, text, 7);
        assert_eq!(plain(&narrow), [("nova", vec!["nova"])]);
        let wide = named(&entities, text, 0);
        let expected = [
            ("star", vec!["nova"]),
            ("nova", vec!["nova", "other"]),
            ("nova project", vec!["nova"]),
        ];
        assert_eq!(plain(&wide), expected);
    }

    #[test]
    fn a_role_is_of_who_has_it_then_and_what_waits_has_no_name() {
        let role = |id: &str, held: &str| {
            format!(r#"{{"op": "role", "id": "{id}", "role": "the CFO", "held": {held}}}"#)
        };
        let at = |micros: i64| Instant::from_micros(micros);
        let entities = made(&[
            (None, &create("ada", "Ada")),
            (None, &create("bob", "Bob")),
            (None, &role("ada", &format!(r#"{{"until": "{}"}}"#, at(50)))),
            (None, &role("bob", &format!(r#"{{"from": "{}"}}"#, at(50)))),
            (
                None,
                r#"{"op": "create", "id": "waits", "name": "the CFO", "pending": true}"#,
            ),
        ]);
        let found = named(&entities, "What does the CFO want?", 0);
        assert_eq!(plain(&found), [("the cfo", vec!["bob"])]);
    }

    #[test]
    fn edges_run_both_ways_and_join_what_is_merged() {
        let relate = |id: &str, relation: &str, to: &str| {
            format!(r#"{{"op": "relate", "id": "{id}", "relation": "{relation}", "to": "{to}"}}"#)
        };
        let entities = made(&[
            (None, &create("house", "House")),
            (None, &create("home", "Home")),
            (None, &create("room", "Room")),
            (None, &create("shed", "Shed")),
            (Some(7), &relate("home", "parent", "room")),
            (None, &relate("room", "cross_reference", "shed")),
            (Some(7), r#"{"op": "merge", "id": "home", "into": "house"}"#),
        ]);
        let near = |id: &str, hidden: u128| {
            entities
                .seen_by(&|id| id != ObjectId::from_bits(hidden))
                .neighbours(id, &|_, _| true)
                .into_iter()
                .map(|one| format!("{} {}", one.relation, one.id))
                .collect::<Vec<_>>()
        };
        assert_eq!(near("house", 0), ["parent room"]);
        let joined = |hidden: u128| {
            entities
                .joined_by("house", "home", &|id| id != ObjectId::from_bits(hidden))
                .into_iter()
                .collect::<Vec<_>>()
        };
        assert_eq!((joined(0), joined(7)), (vec!["home"], vec![]));
        assert_eq!(near("house", 7), Vec::<String>::new());
        assert_eq!(near("home", 7), Vec::<String>::new());
        let hits = entities.names_in("the shed", None);
        let around: Vec<&str> = entities.around(&hits).into_iter().collect();
        assert_eq!(around, ["home", "house", "room", "shed"]);
    }

    #[test]
    fn long_chains_of_merges_are_walked_once() {
        let count = 20_000;
        let mut entities = Entities::default();
        let mut apply = |source: Option<u128>, op: String| {
            let entry = EntityEntry {
                at: Instant::from_micros(0),
                by: None,
                source: source.map(ObjectId::from_bits),
                does: serde_json::from_str::<EntityOp>(&op).unwrap(),
            };
            entities.apply(&entry).unwrap();
        };
        apply(None, create("hub", "Hub"));
        for at in 0..count {
            apply(None, create(&format!("e{at}"), "One"));
            apply(
                None,
                format!(r#"{{"op": "relate", "id": "hub", "relation": "sibling", "to": "e{at}"}}"#),
            );
        }
        for at in 1..count {
            let source = (at == count / 2).then_some(7);
            let (id, into) = (at - 1, at);
            apply(
                source,
                format!(r#"{{"op": "merge", "id": "e{id}", "into": "e{into}"}}"#),
            );
        }
        // A walk of each chain to its end would take minutes.
        for hidden in [0, 7] {
            let is_seen = |id: ObjectId| id != ObjectId::from_bits(hidden);
            let seen = entities.seen_by(&is_seen);
            let near: Vec<String> =
                seen.neighbours("hub", &|_, _| true).into_iter().map(|one| one.id).collect();
            let (end, middle) = (format!("e{}", count - 1), format!("e{}", count / 2 - 1));
            let last = seen.meant("e0").unwrap().to_owned();
            if hidden == 0 {
                assert_eq!((near, last), (vec![end.clone()], end));
            } else {
                assert_eq!((near, last), (vec![end, middle.clone()], middle));
            }
        }
        let mut sources = BTreeSet::new();
        let roots = ["hub", "e19999"].into_iter().collect();
        entities.sources_of_relations(&roots, &mut sources);
        let mut all = BTreeSet::new();
        entities.sources_of_all((0..count).map(|_| "e0"), &mut all);
        assert_eq!((sources.len(), all.len()), (1, 1));
    }

    #[test]
    fn large_tasks_and_many_names_cost_little() {
        let mut ops = vec![create("deep", "Deep")];
        ops.extend((0..10_000).map(|number| alias("deep", &format!("a a a {number}"))));
        ops.push(alias("deep", &"a ".repeat(128)));
        let ops: Vec<(Option<u128>, &str)> = ops.iter().map(|op| (None, op.as_str())).collect();
        let entities = made(&ops);
        let mut text = "a ".repeat(MOST_TASK / 2 - 8);
        text.push_str("deep a a a 9999");
        let hits = entities.names_in(&text, None);
        let found: Vec<&str> = hits.iter().map(|hit| hit.name.as_str()).collect();
        assert_eq!(found, ["deep", "a a a 9999"]);
        assert!(entities.names_in(&" ".repeat(MOST_TASK), None).is_empty());
        assert!(entities.names_in(&"é".repeat(MOST_TASK), None).is_empty());
    }
}
