//! Stages 2 and 3 for a text: which entities its mentions may mean, without a look at all of them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use serde::Serialize;

use super::mention::{Marks, Mention, MentionFinder, Sign};
use super::partial::{partial_names, telling_words};
use super::profile::Profile;
use super::registry::SeenEntity;
use super::similarity::{KnownNames, PartWeights, Resolved, resolve_known};
use super::{MAX_MENTIONS, Resolution};
use crate::base::error::Error;
use crate::belief::claim::folded;

/// The most entities that share a word for which that word makes them candidates: a word that many share says nothing.
const MOST_OF_A_WORD: usize = 64;

/// The most words, entities and mentions of each that a [`Looked`] holds.
const MOST_LOOKED: usize = 4_096;

/// The answers of a resolver to one view, kept for the next texts of that view: a resolver that changes, or another view, needs
/// new ones.
#[derive(Default)]
pub struct Looked<'r> {
    /// The entities of the view that share each word that was asked for; none where too many do.
    sharing: BTreeMap<String, Option<Vec<Cow<'r, SeenEntity>>>>,
    /// The names of entities, by their ids.
    names: HashMap<String, Arc<KnownNames>>,
    resolved: HashMap<Profile, Resolved>,
}

impl Looked<'_> {
    /// Makes room, where one of them is full.
    fn make_room(&mut self) {
        if self.sharing.len() > MOST_LOOKED {
            self.sharing.clear();
        }
        if self.names.len() > MOST_LOOKED {
            self.names.clear();
        }
        if self.resolved.len() > MOST_LOOKED {
            self.resolved.clear();
        }
    }
}

/// The number of entities that a view is told of at once.
const BATCH: usize = 256;

/// The entities of the resolver as somebody knows them who does not know all of them.
pub trait EntityView {
    /// The entities that one of the resolver's is to them: none where they know none of it. `None` says that they know all of
    /// it.
    fn view(&mut self, entity: &SeenEntity) -> Option<Arc<[SeenEntity]>>;

    /// Says that these are asked for next, or some of them.
    fn expect(&mut self, _: &[&SeenEntity]) {}
}

impl<F: FnMut(&SeenEntity) -> Option<Arc<[SeenEntity]>>> EntityView for F {
    fn view(&mut self, entity: &SeenEntity) -> Option<Arc<[SeenEntity]>> {
        self(entity)
    }
}

/// The view of who knows all of every entity.
fn whole(_: &SeenEntity) -> Option<Arc<[SeenEntity]>> {
    None
}

/// Returns whether an entity has this name, folded.
fn is_called(entity: &SeenEntity, name: &str) -> bool {
    let mut all = entity.profile.called();
    all.any(|known| folded(known) == name)
}

/// Returns whether an entity has this mark, folded.
fn has_mark(entity: &SeenEntity, mark: &str) -> bool {
    let mut all = entity.profile.metadata.marks();
    all.any(|known| folded(known) == mark)
}

/// Returns whether a word is one of an entity's names or roles, or the initials of one.
fn has_word(entity: &SeenEntity, word: &str) -> bool {
    entity.profile.called().any(|name| {
        let name = folded(name);
        initials(&name) == word || words(&name).any(|one| one == word)
    })
}

/// The first letters of the words of a name.
fn initials(name: &str) -> String {
    words(name).filter_map(|word| word.chars().next()).collect()
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

/// Takes back the new names by which one text calls several.
fn one_bearer(resolved: &mut [ResolvedMention]) {
    let bearer = |one: &ResolvedMention| {
        let candidates = &one.resolved.candidates;
        candidates
            .first()
            .filter(|_| one.resolved.outcome == Resolution::Bind)
            .map(|(id, _)| id.clone())
    };
    let mut bearers: BTreeMap<String, BTreeSet<Option<String>>> = BTreeMap::new();
    for one in resolved.iter().filter(|one| one.sign == Sign::DisplayName) {
        bearers.entry(one.name.clone()).or_default().insert(bearer(one));
    }
    for one in resolved {
        if bearers.get(&one.name).is_some_and(|all| all.len() > 1) {
            one.resolved.alias = None;
        }
    }
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
    /// The words that give a part of a name away, each with the places of those names.
    parts: BTreeMap<String, Vec<u32>>,
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

impl Layer {
    fn of(entities: Vec<SeenEntity>) -> Result<Layer, Error> {
        let mut whole: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut parts: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut telling: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let mut searched = Vec::new();
        let add = |to: &mut BTreeMap<String, Vec<u32>>, key: String, place: u32| {
            let places = to.entry(key).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        };
        for (place, entity) in (0u32..).zip(&entities) {
            let profile = &entity.profile;
            for word in telling_words(profile.names()) {
                add(&mut telling, word, place);
            }
            for name in profile.called() {
                let name = folded(name);
                for word in words(&name) {
                    add(&mut parts, word.to_owned(), place);
                }
                add(&mut parts, initials(&name), place);
                searched.push(name.clone());
                add(&mut whole, name, place);
            }
            for mark in profile.metadata.marks() {
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
        let marks = mention.metadata.marks();
        let mut found: BTreeSet<u32> = BTreeSet::new();
        for key in marks.chain([&mention.name]) {
            found.extend(self.whole.get(&folded(key)).into_iter().flatten());
        }
        let earlier = mention.earlier.iter();
        found.extend(earlier.filter_map(|id| self.place(id)));
        found
    }

    fn place(&self, id: &str) -> Option<u32> {
        let at = self.entities.binary_search_by(|one| one.id.as_str().cmp(id));
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
        self.changed
            .place(id)
            .and_then(|place| self.changed.entities.get(place as usize))
            .or_else(|| {
                let place = self.base.place(id).filter(|_| !self.replaced.contains(id))?;
                self.base.entities.get(place as usize)
            })
    }

    /// The entities of both layers at these places of each, as a view has them; as long as it `takes` them.
    fn at<'r>(
        &'r self,
        base: impl IntoIterator<Item = u32>,
        changed: impl IntoIterator<Item = u32>,
        view: &mut dyn EntityView,
        takes: &mut dyn FnMut(Cow<'r, SeenEntity>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let base = base
            .into_iter()
            .filter_map(|place| self.base.entities.get(place as usize))
            .filter(|one| !self.replaced.contains(&one.id));
        let changed = changed
            .into_iter()
            .filter_map(|place| self.changed.entities.get(place as usize));
        let mut all = base.chain(changed);
        loop {
            let next: Vec<&SeenEntity> = all.by_ref().take(BATCH).collect();
            if next.is_empty() {
                return ControlFlow::Continue(());
            }
            view.expect(&next);
            for entity in next {
                match view.view(entity) {
                    None => takes(Cow::Borrowed(entity))?,
                    Some(seen) => {
                        for one in seen.iter() {
                            takes(Cow::Owned(one.clone()))?;
                        }
                    }
                }
            }
        }
    }

    /// Returns whether an entity of a view has this name or mark, folded.
    pub fn knows(&self, name: &str, view: &mut dyn EntityView) -> bool {
        // All of what is seen whole was found by this name.
        self.finds(name, view, &|entity| {
            matches!(entity, Cow::Borrowed(_)) || has_mark(entity, name) || is_called(entity, name)
        })
    }

    /// Returns whether an entity of a view has this name, folded: a mark is found by its pattern, whoever has it for a name that
    /// the view does not know.
    fn knows_name(&self, name: &str, view: &mut dyn EntityView) -> bool {
        self.finds(name, view, &|entity| {
            let is_found = matches!(entity, Cow::Borrowed(_)) && !has_mark(entity, name);
            is_found || is_called(entity, name)
        })
    }

    fn finds(
        &self,
        name: &str,
        view: &mut dyn EntityView,
        counts: &dyn Fn(&Cow<'_, SeenEntity>) -> bool,
    ) -> bool {
        let of = |layer: &Layer| layer.whole.get(name).cloned().unwrap_or_default();
        let found = self.at(of(&self.base), of(&self.changed), view, &mut |entity| {
            if counts(&entity) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        found.is_break()
    }

    /// Resolves a mention among those that share a whole name, a word, initials or a mark with it, and those that its
    /// session spoke of.
    pub fn resolve(&self, mention: &Profile, weights: &PartWeights) -> Resolved {
        self.resolve_in(mention, weights, &mut whole, &mut Looked::default())
    }

    fn resolve_in<'r>(
        &'r self,
        mention: &Profile,
        weights: &PartWeights,
        view: &mut dyn EntityView,
        looked: &mut Looked<'r>,
    ) -> Resolved {
        if let Some(known) = looked.resolved.get(mention) {
            return known.clone();
        }
        looked.make_room();
        let (base, changed) = (
            self.base.candidates(mention),
            self.changed.candidates(mention),
        );
        let mut candidates = Vec::new();
        // No one of these is left out.
        let _ = self.at(base, changed, view, &mut |entity| {
            candidates.push(entity);
            ControlFlow::Continue(())
        });
        let mut is_crowded = false;
        for word in words(&folded(&mention.name)) {
            // Many names of a text have a word in common, which many that the view does not know may share.
            if !looked.sharing.contains_key(word) {
                looked.sharing.insert(word.to_owned(), self.sharing(word, view));
            }
            match looked.sharing.get(word) {
                Some(Some(all)) => candidates.extend(all.iter().cloned()),
                _ => is_crowded = true,
            }
        }
        candidates.sort_by(|one, other| one.id.cmp(&other.id));
        candidates.dedup_by(|one, other| one.id == other.id);
        let decided = candidates.iter().filter(|one| !one.pending);
        let candidates = decided.map(|one| {
            let names = match looked.names.get(&one.id) {
                Some(known) => Arc::clone(known),
                None => {
                    let names = Arc::new(KnownNames::of(&one.profile));
                    looked.names.insert(one.id.clone(), Arc::clone(&names));
                    names
                }
            };
            (one.id.as_str(), &one.profile, names)
        });
        let mut resolved = resolve_known(mention, candidates, weights);
        if is_crowded {
            // Among so many, another may be called so.
            resolved.alias = None;
        }
        looked.resolved.insert(mention.clone(), resolved.clone());
        resolved
    }

    /// The mentions of a text, each name once, and whether there are more than are given. What is bound at once is what
    /// stands around the others.
    pub fn text(
        &self,
        text: &str,
        around: &Profile,
        weights: &PartWeights,
    ) -> (Vec<ResolvedMention>, bool) {
        self.text_in(text, around, weights, (&mut whole, &mut Looked::default()))
    }

    /// Like `text`, as somebody resolves them who knows the entities of a view. What they do not know changes nothing.
    /// `looked` is of this view, and of these weights.
    pub fn text_in<'r>(
        &'r self,
        text: &str,
        around: &Profile,
        weights: &PartWeights,
        (view, looked): (&mut dyn EntityView, &mut Looked<'r>),
    ) -> (Vec<ResolvedMention>, bool) {
        let (mentions, is_cut) = self.mentions(text, view);
        let mut named = BTreeSet::new();
        let distinct = mentions
            .into_iter()
            .filter(|one| named.insert((one.name.clone(), one.mail().map(str::to_owned))));
        let mut resolved: Vec<ResolvedMention> = distinct
            .map(|mention| {
                let profile = mention.profile(around.clone());
                ResolvedMention {
                    resolved: self.resolve_in(&profile, weights, view, looked),
                    name: mention.name,
                    sign: mention.sign,
                    mention: profile,
                }
            })
            .collect();
        let bound: BTreeSet<String> = resolved
            .iter()
            .filter(|one| one.resolved.outcome == Resolution::Bind)
            .filter_map(|one| Some(one.resolved.candidates.first()?.0.clone()))
            .collect();
        let waits = |one: &&mut ResolvedMention| one.resolved.outcome == Resolution::Review;
        for mention in resolved.iter_mut().filter(waits) {
            mention.mention.neighbours.extend(bound.iter().cloned());
            mention.resolved = self.resolve_in(&mention.mention, weights, view, looked);
        }
        one_bearer(&mut resolved);
        (resolved, is_cut)
    }

    /// The mentions of a text: whole names and marks, and outside of them parts of names.
    fn mentions(&self, text: &str, view: &mut dyn EntityView) -> (Vec<Mention>, bool) {
        let mut names: BTreeMap<String, bool> = BTreeMap::new();
        let finders = [&self.base.finder, &self.changed.finder];
        let mut marks = MentionFinder::scan(&finders, text, &mut |name| match names.get(name) {
            Some(known) => *known,
            None => *names.entry(name.to_owned()).or_insert_with(|| self.knows_name(name, view)),
        });
        self.base.finder.add_patterns(text, &mut marks);
        let Marks {
            mut mentions,
            places,
            is_cut,
            ..
        } = marks;
        mentions.sort_by_key(|one| one.at.start);
        if self.base.parts.is_empty() && self.changed.parts.is_empty() {
            return (mentions, is_cut);
        }
        let mut words: BTreeMap<String, bool> = BTreeMap::new();
        let parts = partial_names(text, &places, &mut |word| {
            if !self.base.parts.contains_key(word) && !self.changed.parts.contains_key(word) {
                return false;
            }
            match words.get(word) {
                Some(known) => *known,
                None => *words
                    .entry(word.to_owned())
                    .or_insert_with(|| self.is_part_of_name(word, view)),
            }
        });
        let room = MAX_MENTIONS.saturating_sub(mentions.len());
        let is_cut = is_cut || parts.len() > room;
        mentions.extend(parts.into_iter().take(room));
        mentions.sort_by_key(|one| one.at.start);
        (mentions, is_cut)
    }

    /// The entities of a view with this word in a name; none where more of the view share it than a word can mean anything for.
    /// What the view does not know is looked at and counts for nothing.
    fn sharing<'r>(
        &'r self,
        word: &str,
        view: &mut dyn EntityView,
    ) -> Option<Vec<Cow<'r, SeenEntity>>> {
        let of = |layer: &'r Layer| layer.words.get(word).map_or(&[][..], Vec::as_slice);
        let mut all = Vec::new();
        let (base, changed) = (of(&self.base), of(&self.changed));
        let found = self.at(
            base.iter().copied(),
            changed.iter().copied(),
            view,
            &mut |entity| {
                // All of what is seen whole was found by this word.
                if matches!(entity, Cow::Borrowed(_)) || has_word(&entity, word) {
                    all.push(entity);
                }
                if all.len() > MOST_OF_A_WORD {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            },
        );
        found.is_continue().then_some(all)
    }

    /// Returns whether a word, folded, is one of a name of an entity of a view.
    fn is_part_of_name(&self, word: &str, view: &mut dyn EntityView) -> bool {
        let all = self.sharing(word, view).unwrap_or_default();
        let tells = |layer: &Layer, place: u32| {
            layer.parts.get(word).is_some_and(|places| places.binary_search(&place).is_ok())
        };
        all.iter().any(|entity| match entity {
            Cow::Borrowed(whole) => match self.changed.place(&whole.id) {
                Some(place) => tells(&self.changed, place),
                None => {
                    let place = self.base.place(&whole.id);
                    place.is_some_and(|place| tells(&self.base, place))
                }
            },
            Cow::Owned(part) => telling_words(part.profile.names()).iter().any(|one| one == word),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Entities, EntityEntry, EntityOp, resolve};
    use super::*;
    use crate::object::ObjectId;

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
        found
            .into_iter()
            .map(|one| {
                let candidates = one.resolved.candidates.into_iter();
                (
                    one.name,
                    one.resolved.outcome,
                    candidates.map(|(id, _)| id).collect(),
                )
            })
            .collect()
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

    #[test]
    fn a_word_that_many_hidden_ones_share_means_those_that_are_known() {
        let hidden = ObjectId::from_bits(7);
        let mut entities = Entities::default();
        let mut add = |source: Option<ObjectId>, op: String| {
            let entry = EntityEntry {
                at: "2026-06-06".parse().unwrap(),
                by: None,
                source,
                does: serde_json::from_str::<EntityOp>(&op).unwrap(),
            };
            entities.apply(&entry).unwrap();
        };
        let create =
            |id: &str, name: &str| format!(r#"{{"op": "create", "id": "{id}", "name": "{name}"}}"#);
        for at in 0..1_000 {
            add(
                Some(hidden),
                create(&format!("h{at:04}"), &format!("Sam Hidden{at}")),
            );
        }
        add(None, create("sam", "Sam Young"));
        let resolver = Resolver::new(entities.seen("acme", &|_| true)).unwrap();
        let around = Profile {
            tenant: "acme".into(),
            ..Profile::default()
        };
        let weights = PartWeights::default();
        let mut view = |one: &SeenEntity| -> Option<Arc<[SeenEntity]>> {
            let members = entities.members(&one.id);
            Some(entities.seen_of(&members, "acme", &|id| id != hidden).into())
        };
        let text = "Yesterday Sam called.";
        let looked = &mut Looked::default();
        let (narrow, _) = resolver.text_in(text, &around, &weights, (&mut view, looked));
        let named: Vec<&str> = narrow
            .iter()
            .flat_map(|one| &one.resolved.candidates)
            .map(|(id, _)| id.as_str())
            .collect();
        assert_eq!(named, ["sam"]);
        // Who knows them all is told nothing by such a word.
        assert!(resolver.text(text, &around, &weights).0.is_empty());
    }

    /// Names that overlap each other, of which some came from an object that not everyone may see.
    const NAMES: [&str; 12] = [
        "nova",
        "project nova",
        "nova prime",
        "a a",
        "a a a",
        "the a",
        "prime a",
        "sam young",
        "sam a",
        "doc-7",
        "young nova",
        "x@a.example",
    ];

    proptest! {
        #[test]
        fn what_a_view_does_not_know_changes_nothing(
            entities in prop::collection::vec((0usize..4, 0usize..12, any::<bool>(), any::<bool>()), 1..12),
            later in prop::collection::vec((0usize..4, 0usize..12, any::<bool>()), 0..4),
            spoken in prop::collection::vec(0usize..21, 0..8),
        ) {
            const WORDS: [&str; 21] = [
                "Nova", "Project", "Prime", "a", "the", "Sam", "Young", "young", "DOC-7", "x@a.example", "A", "a a",
                "nova prime", "Old", "Sam Young", "sam a", ".", "docs/a", "<x@a.example>", "(x@a.example)", "S. Young <x@a.example>",
            ];
            let hidden = ObjectId::from_bits(7);
            let sees = |id: ObjectId| id != hidden;
            let mut all = Entities::default();
            let add = |all: &mut Entities, source: Option<ObjectId>, op: String| {
                let entry = EntityEntry {
                    at: "2026-06-06".parse().unwrap(),
                    by: None,
                    source,
                    does: serde_json::from_str::<EntityOp>(&op).unwrap(),
                };
                all.apply(&entry).ok();
            };
            for (id, name, is_hidden, is_new) in entities {
                let source = is_hidden.then_some(hidden);
                let name = NAMES[name];
                if is_new {
                    let mail = if id % 2 == 0 { r#"{"mail": "x@a.example"}"# } else { "{}" };
                    let create = format!(r#"{{"op": "create", "id": "e{id}", "name": "{name}", "metadata": {mail}}}"#);
                    add(&mut all, source, create);
                }
                add(&mut all, source, format!(r#"{{"op": "alias", "id": "e{id}", "alias": "{name}"}}"#));
            }
            let mut resolver = Resolver::new(all.seen("acme", &|_| true)).unwrap();
            let mut touched = BTreeSet::new();
            for (id, name, is_hidden) in later {
                let source = is_hidden.then_some(hidden);
                let alias = format!(r#"{{"op": "alias", "id": "e{id}", "alias": "{}"}}"#, NAMES[name]);
                add(&mut all, source, alias);
                touched.insert(format!("e{id}"));
            }
            let changed = all.seen_of(&touched, "acme", &|_| true);
            resolver.replace(touched, changed).unwrap();
            let open = Resolver::new(all.seen("acme", &sees)).unwrap();
            let text: Vec<&str> = spoken.into_iter().map(|word| WORDS[word]).collect();
            // What a view was told of one text, it is told of the next.
            let (first, second) = text.split_at(text.len() / 2);
            let texts = [first.join(" "), text.join(" "), second.join(" "), first.join(" ")];
            let around = Profile { tenant: "acme".into(), ..Profile::default() };
            let weights = PartWeights::default();
            let mut view = |one: &SeenEntity| -> Option<Arc<[SeenEntity]>> {
                let members = all.members(&one.id);
                let seen = all.seen_of(&members, "acme", &sees);
                (seen != all.seen_of(&members, "acme", &|_| true)).then(|| seen.into())
            };
            let mut looked = Looked::default();
            for text in texts {
                let narrowed = resolver.text_in(&text, &around, &weights, (&mut view, &mut looked));
                prop_assert_eq!(narrowed, open.text(&text, &around, &weights), "{}", text);
            }
        }
    }
}
