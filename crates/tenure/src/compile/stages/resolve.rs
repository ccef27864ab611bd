//! Stage 3: which known entities do the objects and the task speak of? Exact names only, over
//! admitted objects: a hidden object's aliases change nothing. Ids that mean one entity are one; what is about an entity
//! that nobody has decided yet stands no higher than its claim; what is about a neighbour of an entity of the task is
//! near to it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use crate::belief::entity::{Identities, RelationType, mentions};
use crate::belief::{about, folded as folded_name};
use crate::compile::ladder;
use crate::compile::stages::Live;
use crate::compile::stages::admit::Admitted;
use crate::compile::stages::live::Meanings;
use crate::compile::trace::{EntityLink, Note, Reason, Stage};
use crate::input::request::Request;

/// Admitted objects, and which of them speak of an entity that the task speaks of.
#[derive(Clone)]
pub(crate) struct Resolved<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) related: BTreeSet<u32>,
}

/// Matches names against the entities that the request supplies, and against those of the registry.
pub(crate) fn resolve<'a>(Admitted(mut live): Admitted<'a>, request: &Request) -> Resolved<'a> {
    live.pass(Stage::Resolve);
    hold_undecided(&mut live, request);
    let mut related = BTreeSet::new();
    let meanings = Arc::clone(&live.meanings);
    let of = &meanings.of;
    if request.entities.is_empty() && of.named().is_empty() {
        return Resolved { live, related };
    }
    let names = names(request, of, &mut live.notes);
    let mut asked: BTreeSet<&str> = names.asked.iter().map(|id| of.canonical(id)).collect();
    let close = closest(of, &mut asked);
    let set = live.set;
    let mut spoken = BTreeMap::new();
    for row in live.rows.iter().copied().filter(|row| set.row(*row).rare) {
        let rare = set.object(row).revision().rare();
        let mut ids = rare.entities.iter().map(|id| of.canonical(id));
        let own = ids.clone().find(|id| asked.contains(id)).or_else(|| {
            let mut known = rare.aliases.iter();
            known.find_map(|alias| {
                let id = of.canonical(names.table.get(&folded(alias))?);
                asked.contains(id).then_some(id)
            })
        });
        if own.is_some() {
            related.insert(row);
        }
        // What the request supplies itself needs no word of it.
        let own = own.filter(|id| names.registered.contains(id) || close.contains_key(id));
        if let Some(entity) = own.or_else(|| ids.find(|id| close.contains_key(id))) {
            let found = close.get(entity);
            let link = EntityLink {
                entity: entity.to_owned(),
                relation: found.map(|(relation, _)| *relation),
                of: found.map(|(_, of)| (*of).to_owned()),
            };
            spoken.insert(row, link);
        }
    }
    if !spoken.is_empty() {
        live.meanings = Arc::new(Meanings {
            spoken,
            ..Meanings::clone(&meanings)
        });
    }
    Resolved { live, related }
}

/// Adds to the entities of the task those that are the same. Returns these and their neighbours, each with its relation to the
/// entity of the task that it is closest to.
fn closest<'i>(
    of: &'i Identities,
    asked: &mut BTreeSet<&'i str>,
) -> BTreeMap<&'i str, (RelationType, &'i str)> {
    let mut close: BTreeMap<&str, (RelationType, &str)> = BTreeMap::new();
    if !of.relates_any() {
        return close;
    }
    let mut open: Vec<(&str, &str)> = asked.iter().map(|id| (*id, *id)).collect();
    while let Some((id, first)) = open.pop() {
        for (to, relation) in of.near(id) {
            if relation == RelationType::SameAs && asked.insert(to) {
                close.insert(to, (relation, first));
                open.push((to, first));
            }
        }
    }
    for id in &*asked {
        for (to, relation) in of.near(id).filter(|(to, _)| !asked.contains(to)) {
            let relation = relation.inverse();
            let known = close.entry(to).or_insert((relation, id));
            if relation < known.0 {
                *known = (relation, id);
            }
        }
    }
    close
}

/// Takes over what the registry says of ids; of the rows that speak of an entity that a person has yet to decide, omits
/// those that would be more than context, and marks the others.
fn hold_undecided(live: &mut Live<'_>, request: &Request) {
    if request.identities.is_empty() {
        return;
    }
    let of = Identities::of(&request.identities);
    if of.is_empty() {
        // No id means another, and none waits.
        live.meanings = Arc::new(Meanings {
            of,
            ..Meanings::default()
        });
        return;
    }
    let set = live.set;
    // It is about its subjects, too, whatever else it names.
    let pending = |row: u32| {
        let object = set.object(row);
        let subjects = object.revision().subjects().iter().map(String::as_str);
        let mut ids = about(object).chain(subjects);
        ids.find(|id| of.is_pending(id))
    };
    let mut undecided = BTreeSet::new();
    let mut speakers: BTreeMap<String, Vec<Arc<str>>> = BTreeMap::new();
    live.judge_further(|row| {
        let id = pending(row)?;
        let entity = of.canonical(id).to_owned();
        let names = speakers.entry(entity.clone()).or_default();
        names.push(set.name(row));
        if ladder::needs_decided(set.row(row)) {
            let entity = entity.into_boxed_str();
            return Some(Reason::EntityPending { entity });
        }
        undecided.insert(row);
        None
    });
    let notes = speakers
        .into_iter()
        .map(|(entity, names)| Note::EntityUndecided { entity, names });
    live.notes.extend(notes);
    live.meanings = Arc::new(Meanings {
        of,
        undecided,
        ..Meanings::default()
    });
}

/// The names of entities.
struct Names<'i> {
    /// Folded name to entity id.
    table: BTreeMap<String, &'i str>,
    /// The ids that the task names.
    asked: BTreeSet<&'i str>,
    /// Those of them that the registry found there.
    registered: BTreeSet<&'i str>,
}

/// The names that the request supplies, and those that the registry found in the task. A name of two entities is of neither.
fn names<'i>(request: &'i Request, of: &'i Identities, notes: &mut Vec<Note>) -> Names<'i> {
    let mut holders: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for entity in &request.entities {
        for alias in std::iter::once(&entity.name).chain(&entity.aliases) {
            holders.entry(folded(alias)).or_default().insert(&entity.id);
        }
    }
    let query = request.query_text();
    let mut found = BTreeSet::new();
    if !of.named().is_empty() {
        let text = folded_name(&query);
        let standing = of.named().iter();
        for (name, ids) in standing.filter(|(name, _)| mentions(&text, name)) {
            let name = folded(name);
            let ids = ids.iter().map(String::as_str);
            let supplied = holders.entry(name.clone()).or_default();
            let fresh: Vec<&str> = ids
                .filter(|id| supplied.iter().all(|known| of.canonical(known) != *id))
                .collect();
            supplied.extend(fresh);
            found.insert(name);
        }
    }
    let query = folded(&query);
    let mut names = Names {
        table: BTreeMap::new(),
        asked: BTreeSet::new(),
        registered: BTreeSet::new(),
    };
    for (alias, ids) in holders {
        let id = ids.iter().next().filter(|_| ids.len() == 1);
        let Some(id) = id.copied() else {
            notes.push(Note::AmbiguousAlias {
                alias,
                entities: ids.iter().map(|id| (*id).to_owned()).collect(),
            });
            continue;
        };
        let is_found = found.contains(&alias);
        if is_found {
            names.registered.insert(of.canonical(id));
        }
        if !alias.is_empty() {
            if is_found || mentions(&query, &alias) {
                names.asked.insert(id);
            }
            names.table.insert(alias, id);
        }
    }
    names
}

/// A name as it is compared: NFKC, lower case, single spaces.
fn folded(text: &str) -> String {
    let lower: String = text.nfkc().flat_map(char::to_lowercase).collect();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::request::Entity;

    #[test]
    fn aliases_match_whole_words_only() {
        assert!(mentions("ask nova today", "nova"));
        assert!(!mentions("innovation", "nova"));
        assert_eq!(folded("  The Prompt\u{A0}Repo "), "the prompt repo");
    }

    #[test]
    fn an_alias_of_two_entities_resolves_to_neither() {
        let entity = |id: &str| Entity {
            id: id.into(),
            name: id.into(),
            aliases: vec!["Sam".into()],
        };
        let mut notes = Vec::new();
        let request = Request {
            entities: vec![entity("e1"), entity("e2")],
            ..Request::default()
        };
        let of = Identities::default();
        let names = names(&request, &of, &mut notes);
        assert_eq!(names.table.keys().collect::<Vec<_>>(), ["e1", "e2"]);
        assert_eq!(notes.len(), 1);
    }
}
