//! Stages 2 and 3 for a text: which entities its mentions may mean, without a look at all of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::mention::{Mention, MentionFinder, Sign};
use super::partial::{NameWords, partial_names};
use super::registry::SeenEntity;
use super::similarity::{PartWeights, Profile, Resolved, resolve};
use super::{MAX_MENTIONS, Resolution};
use crate::base::error::Error;
use crate::belief::claim::folded;

/// The most entities that share a word for which that word makes them candidates: a word that many share says nothing.
const MOST_OF_A_WORD: usize = 64;

/// A mention in a text, and what it may mean.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ResolvedMention {
    /// The name, folded.
    pub name: String,
    /// The sign by which it is known.
    pub sign: Sign,
    /// The mention as it was compared.
    pub mention: Profile,
    /// The outcome, with the candidates and each part of their similarity.
    pub resolved: Resolved,
}

/// Entities that are looked among.
#[derive(Debug)]
struct Layer {
    entities: Vec<SeenEntity>,
    finder: MentionFinder,
    /// Places by a whole name, or by a mark.
    whole: BTreeMap<String, Vec<u32>>,
    /// Places by a word of a name, or by its initials.
    words: BTreeMap<String, Vec<u32>>,
    /// The words that give a part of a name away.
    parts: NameWords,
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    let words = name.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty())
}

impl Layer {
    fn of(entities: Vec<SeenEntity>) -> Result<Layer, Error> {
        let mut whole: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut parts: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut telling = NameWords::default();
        let mut searched = Vec::new();
        let add = |to: &mut BTreeMap<String, Vec<u32>>, key: String, place: u32| {
            let places = to.entry(key).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        };
        for (place, entity) in (0u32..).zip(&entities) {
            let profile = &entity.profile;
            telling.add(profile);
            let roles = profile.roles.iter().map(|(role, _)| role);
            let names = std::iter::once(&profile.name).chain(&profile.aliases);
            for name in names.chain(roles) {
                let name = folded(name);
                for word in words(&name) {
                    add(&mut parts, word.to_owned(), place);
                }
                let initials: String = words(&name)
                    .filter_map(|word| word.chars().next())
                    .collect();
                add(&mut parts, initials, place);
                searched.push(name.clone());
                add(&mut whole, name, place);
            }
            let marks = &profile.metadata;
            let marks = [
                &marks.mail,
                &marks.path,
                &marks.document_id,
                &marks.record_id,
            ];
            for mark in marks.into_iter().flatten() {
                add(&mut whole, folded(mark), place);
            }
        }
        Ok(Layer {
            finder: MentionFinder::new(searched)?,
            entities,
            whole,
            words: parts,
            parts: telling,
        })
    }

    fn candidates(&self, mention: &Profile) -> BTreeSet<u32> {
        let name = folded(&mention.name);
        let mut found: BTreeSet<u32> = BTreeSet::new();
        let marks = &mention.metadata;
        let marks = [
            &marks.mail,
            &marks.path,
            &marks.document_id,
            &marks.record_id,
        ];
        let marks = marks.into_iter().flatten().map(|mark| folded(mark));
        for key in marks.chain([name.clone()]) {
            found.extend(self.whole.get(&key).into_iter().flatten());
        }
        for word in words(&name) {
            let places = self.words.get(word).map_or(&[][..], Vec::as_slice);
            if places.len() <= MOST_OF_A_WORD {
                found.extend(places);
            }
        }
        let earlier = mention.earlier.iter();
        found.extend(earlier.filter_map(|id| self.place(id)));
        found
    }

    fn place(&self, id: &str) -> Option<u32> {
        let at = self
            .entities
            .binary_search_by(|one| one.id.as_str().cmp(id));
        at.ok().and_then(|at| u32::try_from(at).ok())
    }
}

/// The entities of a view, ready to be looked among: those that it was made of, and those that were changed since.
///
/// ```
/// use tenure::belief::entity::{Entities, EntityEntry, PartWeights, Profile, Resolution, Resolver};
/// let mut entities = Entities::default();
/// entities.apply(&serde_json::from_str(
///     r#"{"at": "2026-06-06", "does": {"op": "create", "id": "nova", "name": "Project Nova"}}"#,
/// ).unwrap())?;
/// let resolver = Resolver::new(entities.seen("acme", &|_| true))?;
/// let around = Profile { tenant: "acme".into(), ..Profile::default() };
/// let (found, is_cut) = resolver.text("Who owns Project Nova?", &around, &PartWeights::default());
/// assert_eq!(found[0].resolved.outcome, Resolution::Bind);
/// assert_eq!(found[0].resolved.candidates[0].0, "nova");
/// assert!(!is_cut);
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug)]
pub struct Resolver {
    base: Layer,
    changed: Layer,
    /// The ids of the base that do not count any more.
    replaced: BTreeSet<String>,
}

impl Resolver {
    /// A resolver among these, which are in the order of their ids.
    ///
    /// # Errors
    ///
    /// As [`MentionFinder::new`].
    pub fn new(entities: Vec<SeenEntity>) -> Result<Resolver, Error> {
        Ok(Resolver {
            base: Layer::of(entities)?,
            changed: Layer::of(Vec::new())?,
            replaced: BTreeSet::new(),
        })
    }

    /// Puts these entities, in the order of their ids, in the place of the ones with the `replaced` ids.
    ///
    /// # Errors
    ///
    /// As [`MentionFinder::new`].
    pub fn replace(
        &mut self,
        replaced: BTreeSet<String>,
        entities: Vec<SeenEntity>,
    ) -> Result<(), Error> {
        self.changed = Layer::of(entities)?;
        self.replaced = replaced;
        Ok(())
    }

    /// The entity with this id.
    pub fn entity(&self, id: &str) -> Option<&SeenEntity> {
        let in_base = || {
            let place = self
                .base
                .place(id)
                .filter(|_| !self.replaced.contains(id))?;
            self.base.entities.get(place as usize)
        };
        let changed = self.changed.place(id);
        let changed = changed.and_then(|place| self.changed.entities.get(place as usize));
        changed.or_else(in_base)
    }

    /// Returns whether an entity has this name or mark, folded.
    pub fn knows(&self, name: &str) -> bool {
        let mut base = self.base.whole.get(name).into_iter().flatten();
        let in_base = base.any(|place| {
            let one = self.base.entities.get(*place as usize);
            one.is_some_and(|one| !self.replaced.contains(&one.id))
        });
        in_base || self.changed.whole.contains_key(name)
    }

    /// Resolves a mention among those that share a whole name, a word, initials or a mark with it, and those that its
    /// session spoke of.
    pub fn resolve(&self, mention: &Profile, weights: &PartWeights) -> Resolved {
        let of = |layer: &'_ Layer| layer.candidates(mention);
        let base = of(&self.base).into_iter();
        let base = base.filter_map(|place| self.base.entities.get(place as usize));
        let base = base.filter(|one| !self.replaced.contains(&one.id));
        let changed = of(&self.changed).into_iter();
        let changed = changed.filter_map(|place| self.changed.entities.get(place as usize));
        let candidates: Vec<&SeenEntity> = base.chain(changed).collect();
        let candidates = candidates.iter().map(|one| (one.id.as_str(), &one.profile));
        resolve(mention, candidates, weights)
    }

    /// The mentions of a text, each name once, and whether there are more than are given. What is bound at once is what
    /// stands around the others.
    pub fn text(
        &self,
        text: &str,
        around: &Profile,
        weights: &PartWeights,
    ) -> (Vec<ResolvedMention>, bool) {
        let (mentions, is_cut) = self.mentions(text);
        let mut named = BTreeSet::new();
        let distinct = mentions
            .into_iter()
            .filter(|mention| named.insert(mention.name.clone()));
        let mut resolved: Vec<ResolvedMention> = distinct
            .map(|mention| {
                let profile = mention.profile(around.clone());
                ResolvedMention {
                    resolved: self.resolve(&profile, weights),
                    name: mention.name,
                    sign: mention.sign,
                    mention: profile,
                }
            })
            .collect();
        let bound = resolved
            .iter()
            .filter(|one| one.resolved.outcome == Resolution::Bind);
        let bound: BTreeSet<String> = bound
            .filter_map(|one| Some(one.resolved.candidates.first()?.0.clone()))
            .collect();
        let waits = |one: &&mut ResolvedMention| one.resolved.outcome == Resolution::Review;
        for mention in resolved.iter_mut().filter(waits) {
            mention.mention.neighbours.extend(bound.iter().cloned());
            mention.resolved = self.resolve(&mention.mention, weights);
        }
        (resolved, is_cut)
    }

    /// The mentions of a text: whole names and marks, and outside of them parts of names.
    fn mentions(&self, text: &str) -> (Vec<Mention>, bool) {
        let (mut whole, is_cut) = self.whole(text);
        if self.base.parts.is_empty() && self.changed.parts.is_empty() {
            return (whole, is_cut);
        }
        let is_name = |word: &str| self.base.parts.holds(word) || self.changed.parts.holds(word);
        let parts = partial_names(text, &whole, &is_name);
        let room = MAX_MENTIONS - whole.len();
        let is_cut = is_cut || parts.len() > room;
        whole.extend(parts.into_iter().take(room));
        whole.sort_by_key(|one| one.at.start);
        (whole, is_cut)
    }

    /// The whole names and the marks of both layers; of two that overlap, the longer one.
    fn whole(&self, text: &str) -> (Vec<Mention>, bool) {
        let base = self.base.finder.find(text);
        if self.changed.entities.is_empty() {
            return (base.mentions, base.is_cut);
        }
        let changed = self.changed.finder.find(text);
        let is_cut = base.is_cut || changed.is_cut;
        let mut all = base.mentions;
        all.extend(changed.mentions);
        // The earlier first; of those that begin together the longer, and a known name before a pattern.
        all.sort_by_key(|one| {
            let is_pattern = one.sign != Sign::Alias;
            (one.at.start, std::cmp::Reverse(one.at.end), is_pattern)
        });
        let mut end = 0;
        all.retain(|one| {
            let is_apart = one.at.start >= end;
            end = end.max(one.at.end);
            is_apart
        });
        let is_cut = is_cut || all.len() > MAX_MENTIONS;
        all.truncate(MAX_MENTIONS);
        (all, is_cut)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Entities, EntityEntry, EntityOp};
    use super::*;

    fn applied(entities: &mut Entities, op: &str) {
        let entry = EntityEntry {
            at: "2026-06-06".parse().unwrap(),
            by: None,
            source: None,
            does: serde_json::from_str::<EntityOp>(op).unwrap(),
        };
        entities.apply(&entry).unwrap();
    }

    fn outcomes(resolver: &Resolver, text: &str) -> Vec<(String, Resolution, Vec<String>)> {
        let around = Profile {
            tenant: "acme".into(),
            ..Profile::default()
        };
        let (found, _) = resolver.text(text, &around, &PartWeights::default());
        let told = found.into_iter().map(|one| {
            let candidates = one.resolved.candidates.into_iter();
            (
                one.name,
                one.resolved.outcome,
                candidates.map(|(id, _)| id).collect(),
            )
        });
        told.collect()
    }

    #[test]
    fn what_was_changed_counts_in_the_place_of_what_was() {
        let mut entities = Entities::default();
        applied(
            &mut entities,
            r#"{"op": "create", "id": "nova", "name": "Nova"}"#,
        );
        applied(
            &mut entities,
            r#"{"op": "create", "id": "helix", "name": "Helix"}"#,
        );
        let mut resolver = Resolver::new(entities.seen("acme", &|_| true)).unwrap();
        assert_eq!(outcomes(&resolver, "Nova Prime").len(), 1);
        applied(
            &mut entities,
            r#"{"op": "alias", "id": "nova", "alias": "Nova Prime"}"#,
        );
        let touched = BTreeSet::from(["nova".to_owned()]);
        let seen = entities.seen_of(&touched, "acme", &|_| true);
        resolver.replace(touched, seen).unwrap();
        let whole = Resolver::new(entities.seen("acme", &|_| true)).unwrap();
        for text in ["Nova Prime", "nova, Helix and NOVA PRIME", "none"] {
            assert_eq!(outcomes(&resolver, text), outcomes(&whole, text), "{text}");
        }
        assert_eq!(
            outcomes(&resolver, "Nova Prime"),
            [(
                "nova prime".to_owned(),
                Resolution::Bind,
                vec!["nova".to_owned()]
            )]
        );
        // A merge takes one of two away.
        applied(
            &mut entities,
            r#"{"op": "merge", "id": "helix", "into": "nova"}"#,
        );
        let touched: BTreeSet<String> = ["helix", "nova"].map(str::to_owned).into();
        let seen = entities.seen_of(&touched, "acme", &|_| true);
        resolver.replace(touched, seen).unwrap();
        assert_eq!(outcomes(&resolver, "Helix")[0].2, ["nova"]);
        assert_eq!(resolver.entity("helix"), None);
    }

    #[test]
    fn candidates_are_what_a_look_at_all_finds() {
        let mut entities = Entities::default();
        for (id, name) in [
            ("a", "Mei Chen"),
            ("b", "Mei Chan"),
            ("c", "Project Nova"),
            ("d", "Ada"),
        ] {
            let op = format!(r#"{{"op": "create", "id": "{id}", "name": "{name}"}}"#);
            applied(&mut entities, &op);
        }
        let seen = entities.seen("acme", &|_| true);
        let resolver = Resolver::new(seen.clone()).unwrap();
        for name in ["Mei Chen", "Chen", "PN", "nova", "Ada", "Bob"] {
            let mention = Profile {
                name: name.into(),
                tenant: "acme".into(),
                ..Profile::default()
            };
            let weights = PartWeights::default();
            let all = resolve(
                &mention,
                seen.iter().map(|one| (one.id.as_str(), &one.profile)),
                &weights,
            );
            let near = resolver.resolve(&mention, &weights);
            assert_eq!(near.outcome, all.outcome, "{name}");
        }
    }
}
