//! Stage 3: which known entities do the objects and the task speak of? Exact aliases only, over
//! admitted objects: a hidden object's aliases change nothing. Ids that mean one entity are one; what is about an entity
//! that nobody has decided yet stands no higher than its claim.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;

use crate::belief::about;
use crate::belief::entity::Identities;
use crate::compile::ladder;
use crate::compile::stages::Live;
use crate::compile::stages::admit::Admitted;
use crate::compile::stages::live::Meanings;
use crate::compile::trace::{Note, Reason, Stage};
use crate::input::request::{Entity, Request};

/// Admitted objects, and which of them speak of an entity that the task speaks of.
#[derive(Clone)]
pub(crate) struct Resolved<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) related: BTreeSet<u32>,
}

/// Matches aliases against the entities that the request supplies.
pub(crate) fn resolve<'a>(Admitted(mut live): Admitted<'a>, request: &Request) -> Resolved<'a> {
    live.pass(Stage::Resolve);
    hold_undecided(&mut live, request);
    if request.entities.is_empty() {
        return Resolved {
            live,
            related: BTreeSet::new(),
        };
    }
    let names = alias_table(&request.entities, &mut live.notes);
    let query = folded(&request.query_text());
    let meanings = Arc::clone(&live.meanings);
    let canonical = |id| meanings.of.canonical(id);
    let asked: BTreeSet<&str> = names
        .iter()
        .filter(|(alias, _)| mentions(&query, alias))
        .map(|(_, id)| canonical(id))
        .collect();
    let set = live.set;
    let related = live.rows.iter().copied().filter(|row| {
        let rare = set.object(*row).revision().rare();
        let by_id = || {
            let mut ids = rare.entities.iter();
            ids.any(|id| asked.contains(canonical(id)))
        };
        let by_alias = || {
            rare.aliases
                .iter()
                .filter_map(|alias| names.get(&folded(alias)))
                .any(|id| asked.contains(canonical(id)))
        };
        set.row(*row).rare && (by_id() || by_alias())
    });
    let related = related.collect();
    Resolved { live, related }
}

/// Takes over what the registry says of ids; of the rows that speak of an entity that a person has yet to decide, omits
/// those that would be more than context, and marks the others.
fn hold_undecided(live: &mut Live<'_>, request: &Request) {
    let of = Identities::of(&request.identities);
    if of.is_empty() {
        return;
    }
    let set = live.set;
    let pending = |row: u32| {
        let mut ids = about(set.object(row));
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
    let notes = speakers.into_iter();
    let notes = notes.map(|(entity, names)| Note::EntityUndecided { entity, names });
    live.notes.extend(notes);
    live.meanings = Arc::new(Meanings { of, undecided });
}

/// Folded alias to entity id. An alias of two entities resolves to neither.
fn alias_table<'a>(entities: &'a [Entity], notes: &mut Vec<Note>) -> BTreeMap<String, &'a str> {
    let mut holders: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for entity in entities {
        for alias in std::iter::once(&entity.name).chain(&entity.aliases) {
            holders.entry(folded(alias)).or_default().insert(&entity.id);
        }
    }
    let mut names = BTreeMap::new();
    for (alias, ids) in holders {
        match ids.iter().next() {
            Some(id) if ids.len() == 1 => {
                names.insert(alias, *id);
            }
            _ => notes.push(Note::AmbiguousAlias {
                alias,
                entities: ids.iter().map(|id| (*id).to_owned()).collect(),
            }),
        }
    }
    names.remove("");
    names
}

/// A name as it is compared: NFKC, lower case, single spaces.
fn folded(text: &str) -> String {
    let lower: String = text.nfkc().flat_map(char::to_lowercase).collect();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether `text` holds `alias` as whole words.
fn mentions(text: &str, alias: &str) -> bool {
    let part_of_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    text.match_indices(alias).any(|(at, found)| {
        !part_of_word(text[..at].chars().next_back())
            && !part_of_word(text[at + found.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let entities = [entity("e1"), entity("e2")];
        let names = alias_table(&entities, &mut notes);
        assert_eq!(names.keys().collect::<Vec<_>>(), ["e1", "e2"]);
        assert_eq!(notes.len(), 1);
    }
}
