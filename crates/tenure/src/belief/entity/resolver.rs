//! Stages 2 and 3 for a text: which entities its mentions may mean, without a look at all of them.

use std::borrow::Cow;
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

/// The entities that one of the resolver's is to somebody who does not know all of it: none where they know none of it. `None`
/// says that they know all of it.
pub type EntityView<'v> = dyn FnMut(&SeenEntity) -> Option<Vec<SeenEntity>> + 'v;

/// Returns whether an entity has this name or mark, folded.
fn bears(entity: &SeenEntity, name: &str) -> bool {
    let profile = &entity.profile;
    let roles = profile.roles.iter().map(|(role, _)| role);
    let names = std::iter::once(&profile.name).chain(&profile.aliases);
    let marks = &profile.metadata;
    let marks = [
        &marks.mail,
        &marks.path,
        &marks.document_id,
        &marks.record_id,
    ];
    let mut all = names.chain(roles).chain(marks.into_iter().flatten());
    all.any(|known| folded(known) == name)
}

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

    /// The entities of both layers at these places of each.
    fn at<'r>(
        &'r self,
        base: impl IntoIterator<Item = u32>,
        changed: impl IntoIterator<Item = u32>,
        view: &mut EntityView<'_>,
    ) -> Vec<Cow<'r, SeenEntity>> {
        let base = base.into_iter();
        let base = base.filter_map(|place| self.base.entities.get(place as usize));
        let base = base.filter(|one| !self.replaced.contains(&one.id));
        let changed = changed.into_iter();
        let changed = changed.filter_map(|place| self.changed.entities.get(place as usize));
        let mut all = Vec::new();
        for entity in base.chain(changed) {
            match view(entity) {
                None => all.push(Cow::Borrowed(entity)),
                Some(seen) => all.extend(seen.into_iter().map(Cow::Owned)),
            }
        }
        all
    }

    /// Returns whether an entity of a view has this name or mark, folded.
    pub fn knows(&self, name: &str, view: &mut EntityView<'_>) -> bool {
        let of = |layer: &Layer| layer.whole.get(name).cloned().unwrap_or_default();
        let all = self.at(of(&self.base), of(&self.changed), view);
        all.iter().any(|entity| bears(entity, name))
    }

    /// Resolves a mention among those that share a whole name, a word, initials or a mark with it, and those that its
    /// session spoke of.
    pub fn resolve(&self, mention: &Profile, weights: &PartWeights) -> Resolved {
        self.resolve_in(mention, weights, &mut |_| None)
    }

    fn resolve_in(
        &self,
        mention: &Profile,
        weights: &PartWeights,
        view: &mut EntityView<'_>,
    ) -> Resolved {
        let (base, changed) = (
            self.base.candidates(mention),
            self.changed.candidates(mention),
        );
        let candidates = self.at(base, changed, view);
        let decided = candidates.iter().filter(|one| !one.pending);
        let candidates = decided.map(|one| (one.id.as_str(), &one.profile));
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
        self.text_in(text, around, weights, &mut |_| None)
    }

    /// The same, as somebody resolves them who knows the entities of a view. What they do not know changes nothing.
    pub fn text_in(
        &self,
        text: &str,
        around: &Profile,
        weights: &PartWeights,
        view: &mut EntityView<'_>,
    ) -> (Vec<ResolvedMention>, bool) {
        let (mentions, is_cut) = self.mentions(text, view);
        let mut named = BTreeSet::new();
        let distinct = mentions
            .into_iter()
            .filter(|mention| named.insert(mention.name.clone()));
        let mut resolved: Vec<ResolvedMention> = distinct
            .map(|mention| {
                let profile = mention.profile(around.clone());
                ResolvedMention {
                    resolved: self.resolve_in(&profile, weights, view),
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
            mention.resolved = self.resolve_in(&mention.mention, weights, view);
        }
        (resolved, is_cut)
    }

    /// The mentions of a text: whole names and marks, and outside of them parts of names.
    fn mentions(&self, text: &str, view: &mut EntityView<'_>) -> (Vec<Mention>, bool) {
        let (found, is_cut) = self.aliases(text);
        let mut whole = Vec::with_capacity(found.len());
        for mention in found {
            if self.knows(&mention.name, view) {
                whole.push(mention);
            } else {
                self.within(text, &mention, &mut whole, view);
            }
        }
        let is_cut = self.base.finder.add_patterns(text, &mut whole) || is_cut;
        if self.base.parts.is_empty() && self.changed.parts.is_empty() {
            return (whole, is_cut);
        }
        let mut is_name = |word: &str| {
            let is_part = self.base.parts.holds(word) || self.changed.parts.holds(word);
            is_part && self.is_part_of_name(word, view)
        };
        let parts = partial_names(text, &whole, &mut is_name);
        let room = MAX_MENTIONS.saturating_sub(whole.len());
        let is_cut = is_cut || parts.len() > room;
        whole.extend(parts.into_iter().take(room));
        whole.sort_by_key(|one| one.at.start);
        (whole, is_cut)
    }

    /// Returns whether a word, folded, is one of a name of an entity of a view.
    fn is_part_of_name(&self, word: &str, view: &mut EntityView<'_>) -> bool {
        let of = |layer: &Layer| layer.words.get(word).cloned().unwrap_or_default();
        let (base, changed) = (of(&self.base), of(&self.changed));
        // A word that many share means none of them.
        if base.len() + changed.len() > MOST_OF_A_WORD {
            return false;
        }
        let all = self.at(base, changed, view);
        all.iter().any(|entity| {
            let mut words = NameWords::default();
            words.add(&entity.profile);
            words.holds(word)
        })
    }

    /// Adds the names that stand where a name does that a view does not know: of those that overlap, the earlier one, then
    /// the longer.
    fn within(
        &self,
        text: &str,
        hidden: &Mention,
        found: &mut Vec<Mention>,
        view: &mut EntityView<'_>,
    ) {
        let part = &text[hidden.at.clone()];
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let bounds: Vec<usize> = part
            .char_indices()
            .map(|(at, _)| at)
            .chain([part.len()])
            .filter(|at| {
                let (before, behind) = (&part[..*at], &part[*at..]);
                is_word(before.chars().next_back()) != is_word(behind.chars().next())
            })
            .collect();
        let mut from = 0;
        for start in &bounds {
            if *start < from {
                continue;
            }
            let ends = bounds.iter().rev().take_while(|end| *end > start);
            for end in ends {
                let name = folded(&part[*start..*end]);
                if name != hidden.name && self.knows(&name, view) {
                    found.push(Mention {
                        at: hidden.at.start + start..hidden.at.start + end,
                        name,
                        sign: Sign::Alias,
                        kind: None,
                    });
                    from = *end;
                    break;
                }
            }
        }
    }

    /// The known aliases of both layers; of two that overlap, the longer one.
    fn aliases(&self, text: &str) -> (Vec<Mention>, bool) {
        let base = self.base.finder.aliases(text);
        if self.changed.entities.is_empty() {
            return (base.mentions, base.is_cut);
        }
        let changed = self.changed.finder.aliases(text);
        let is_cut = base.is_cut || changed.is_cut;
        let mut all = base.mentions;
        all.extend(changed.mentions);
        // The earlier first; of those that begin together the longer.
        all.sort_by_key(|one| (one.at.start, std::cmp::Reverse(one.at.end)));
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
