//! Vectors as facts: each text is embedded once, by the built-in table or by whatever stands in for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tenure::object::ObjectType;
use tenure::ranker::Question;
use tenure::vectors::{VectorModel, Vectors};
use tenure::{Candidates, Digest, Error, Facts, Needs, PassageLayer, Passages, Without};

use super::{DIMENSIONS, NearWords, StaticTable};
use crate::encoder::Encoder;

/// A sentence encoder of one's own: a model, an endpoint, any function. It is asked only for texts that
/// the caller may see, and for each once.
pub trait Embedder: Send + Sync {
    /// The model that makes the vectors. Another digest is another model: its vectors are never compared with these.
    fn model(&self) -> VectorModel;

    /// The vector of each text, in their order.
    ///
    /// # Errors
    ///
    /// Whatever went wrong; the compile that asked then fails with it.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error>;

    /// The vector of each text as a query, where the model tells queries from what they search.
    ///
    /// # Errors
    ///
    /// As [`Embedder::embed`].
    fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        self.embed(texts)
    }
}

impl<E: Embedder + ?Sized> Embedder for Box<E> {
    fn model(&self) -> VectorModel {
        (**self).model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        (**self).embed(texts)
    }

    fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        (**self).embed_queries(texts)
    }
}

/// Roles of texts: some models put them in different places.
#[derive(Clone, Copy, PartialEq)]
enum Role {
    Passage,
    Query,
}

/// Most layers of candidates that are remembered besides those that were used last: of some sessions, and of
/// what stands beside them.
const REMEMBERED: usize = 512;
/// The most texts in them: some 400 bytes each.
const MOST_TEXTS: usize = 1 << 18;
/// The texts by which layers are known to be versions of one: this many of the older one, of which so many stand in the newer.
const LOOKED_AT: usize = 16;
const SAME: usize = 12;
/// Below this many texts, threads cost more than they save.
const WORTH_THREADS: usize = 512;

/// The source of vectors, and those that were made for what was compiled last.
#[derive(Default)]
pub struct Vectorizer {
    source: Source,
    recent: Mutex<Vec<Remembered>>,
    /// The built-in table, where the source is an encoder of one's own.
    beside: Option<Box<Vectorizer>>,
}

#[derive(Default)]
enum Source {
    #[default]
    Builtin,
    Own(Box<dyn Embedder>),
    Nothing,
}

#[derive(Clone)]
struct Remembered {
    /// The digest of the candidates.
    of: Digest,
    vectors: Arc<Vectors>,
}

impl Vectorizer {
    /// Vectors of this embedder. Those of the built-in table come with them where a policy weighs both.
    pub fn own(embedder: impl Embedder + 'static) -> Vectorizer {
        Vectorizer {
            source: Source::Own(Box::new(embedder)),
            beside: Some(Box::default()),
            ..Vectorizer::default()
        }
    }

    /// No vectors.
    pub fn nothing() -> Vectorizer {
        Vectorizer {
            source: Source::Nothing,
            ..Vectorizer::default()
        }
    }

    /// Returns whether it must be told which texts the caller may see: the built-in table keeps to itself what it
    /// is asked about.
    pub fn asks_outside(&self) -> bool {
        matches!(self.source, Source::Own(_))
    }

    /// Adds the built-in table's vectors of these texts and candidates to facts that are without them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Internal`](tenure::ErrorKind::Internal) when the table was altered.
    pub fn answer_again(
        &self,
        facts: &mut Facts,
        without: Without,
        texts: &[&str],
        candidates: &Candidates,
    ) -> Result<(), Error> {
        let made = match (&self.source, &self.beside) {
            (Source::Builtin, _) => return self.add_again(facts, without, texts, candidates),
            (_, Some(table)) => return table.add_again(facts, without, texts, candidates),
            _ => Vectorizer::default(),
        };
        made.add_again(facts, without, texts, candidates)
    }

    fn add_again(
        &self,
        facts: &mut Facts,
        without: Without,
        texts: &[&str],
        candidates: &Candidates,
    ) -> Result<(), Error> {
        let mut made = Facts::none();
        self.answer(&mut made, texts, candidates, None)?;
        for vectors in made.vectors() {
            let vectors = Arc::clone(vectors);
            match without {
                Without::Vectors => facts.add_vectors(vectors)?,
                Without::Beside => facts.add_beside(vectors)?,
            }
        }
        Ok(())
    }

    /// Adds the vectors of these texts, of which the query is one, and of these candidates; of one's own
    /// embedder, of what it may be asked about alone.
    ///
    /// # Errors
    ///
    /// The embedder's own; [`ErrorKind::Input`](tenure::ErrorKind::Input) when its vectors are not as its model says.
    pub fn answer(
        &self,
        facts: &mut Facts,
        texts: &[&str],
        candidates: &Candidates,
        needs: Option<&Needs>,
    ) -> Result<(), Error> {
        let model = match &self.source {
            Source::Nothing => return Ok(()),
            Source::Builtin => builtin_model()?,
            Source::Own(own) => own.model(),
        };
        let mut recent = self.remembered();
        let mut used = Vec::new();
        match needs {
            // Each layer once, however often it stands below others.
            None => {
                let by_digest: BTreeMap<&Digest, &Remembered> =
                    recent.iter().map(|known| (&known.of, known)).collect();
                for layer in candidates.layers() {
                    let of = layer.digest();
                    let vectors = match by_digest.get(&of) {
                        Some(known) => Arc::clone(&known.vectors),
                        None => {
                            let texts = texts_of(layer);
                            let role = Role::Passage;
                            Arc::new(self.vectors(model.clone(), role, &texts, &recent)?)
                        }
                    };
                    used.push(Remembered { of, vectors });
                }
            }
            Some(needs) => {
                let wanted: Vec<(Digest, &str)> = needs.vectors(candidates).collect();
                let made = self.vectors(model.clone(), Role::Passage, &wanted, &recent);
                let vectors = Arc::new(made?);
                let of = candidates.digest();
                used.push(Remembered { of, vectors });
            }
        }
        for Remembered { vectors, .. } in &used {
            facts.add_vectors(Arc::clone(vectors))?;
        }
        if needs.is_some() {
            recent.splice(..0, used.iter().cloned());
        }
        self.remember(used);
        let asked: Vec<(Digest, &str)> =
            texts.iter().map(|text| (Digest::of(text.as_bytes()), *text)).collect();
        let queries = self.vectors(model, Role::Query, &asked, &recent)?;
        facts.add_vectors(Arc::new(queries))?;
        if matches!(self.source, Source::Builtin) {
            NearWords::builtin()?.answer(facts, texts);
        }
        Ok(())
    }

    /// Adds the built-in table's vectors of these texts and candidates, where the other vectors are a user's embedder's;
    /// otherwise does nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Internal`](tenure::ErrorKind::Internal) when the table was altered.
    pub fn answer_beside(
        &self,
        facts: &mut Facts,
        texts: &[&str],
        candidates: &Candidates,
    ) -> Result<(), Error> {
        let Some(table) = &self.beside else {
            return Ok(());
        };
        let mut beside = Facts::none();
        table.answer(&mut beside, texts, candidates, None)?;
        for vectors in beside.vectors() {
            facts.add_beside(Arc::clone(vectors))?;
        }
        NearWords::builtin()?.answer(facts, texts);
        Ok(())
    }

    /// Reads a query, with the words that the built-in table has near to its own where that table is used.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Internal`](tenure::ErrorKind::Internal) when the table was altered.
    pub fn question(&self, query: &str) -> Result<Question, Error> {
        let question = Question::of(query);
        if matches!(self.source, Source::Builtin) || self.beside.is_some() {
            return Ok(question.with_near(NearWords::builtin()?.of(query)));
        }
        Ok(question)
    }

    /// The similarity of each of these texts to the query, zero where it is less than unrelated texts are;
    /// none where there are no vectors.
    ///
    /// # Errors
    ///
    /// As [`Vectorizer::answer`].
    pub fn similarities(
        &self,
        query: &str,
        texts: &[(Digest, &str)],
    ) -> Result<Option<Vec<f64>>, Error> {
        let model = match &self.source {
            Source::Nothing => return Ok(None),
            Source::Builtin => builtin_model()?,
            Source::Own(own) => own.model(),
        };
        let unrelated = model.unrelated;
        let recent = self.remembered();
        let of = Digest::of_parts(texts.iter().map(|(text, _)| text.bytes().as_slice()));
        let known = recent.iter().find(|known| known.of == of && *known.vectors.model() == model);
        let vectors = match known {
            Some(known) => Arc::clone(&known.vectors),
            None => {
                let made = self.vectors(model.clone(), Role::Passage, texts, &recent);
                let vectors = Arc::new(made?);
                let made = Arc::clone(&vectors);
                self.remember(vec![Remembered { of, vectors }]);
                made
            }
        };
        let asked = Digest::of(query.as_bytes());
        let mut both = Facts::none();
        let query = self.vectors(model, Role::Query, &[(asked, query)], &recent)?;
        both.add_vectors(vectors)?;
        both.add_vectors(Arc::new(query))?;
        Ok(Some(
            texts
                .iter()
                .map(|(text, _)| match both.similarity(text, &asked) {
                    Some(score) if score >= unrelated => score.to_f64(),
                    _ => 0.0,
                })
                .collect(),
        ))
    }

    /// Returns the similarity of each passage to the query, as [`Vectorizer::similarities`] does; 0 for those that are not
    /// `seen`. Vectors by the built-in table are kept with the passages; a user's embedder is asked about seen passages
    /// only.
    ///
    /// # Errors
    ///
    /// As [`Vectorizer::answer`].
    pub fn passage_similarities(
        &self,
        query: &str,
        passages: &Passages,
        seen: &[bool],
    ) -> Result<Option<Vec<f64>>, Error> {
        let layers = passages.layers();
        let mut similarities = Vec::with_capacity(seen.len());
        match &self.source {
            Source::Nothing => return Ok(None),
            Source::Own(_) => {
                let texts = layers
                    .flat_map(PassageLayer::texts)
                    .zip(seen)
                    .filter(|(_, seen)| **seen)
                    .map(|(text, _)| text);
                let mut known = self
                    .similarities(query, &texts.collect::<Vec<_>>())?
                    .unwrap_or_default()
                    .into_iter();
                similarities.extend(seen.iter().map(|seen| {
                    if *seen {
                        known.next().unwrap_or_default()
                    } else {
                        0.0
                    }
                }));
            }
            Source::Builtin => {
                let model = builtin_model()?;
                let unrelated = model.unrelated;
                let asked = Digest::of(query.as_bytes());
                let query = self.vectors(model.clone(), Role::Query, &[(asked, query)], &[])?;
                for layer in layers {
                    let vectors = self.kept_with(layer, &model)?;
                    let found = vectors.similarities(layer.digests(), (&query, &asked));
                    let seen = &seen[similarities.len()..];
                    similarities.extend(found.into_iter().zip(seen).map(
                        |(score, seen)| match score {
                            Some(score) if *seen && score >= unrelated => score.to_f64(),
                            _ => 0.0,
                        },
                    ));
                }
            }
        }
        Ok(Some(similarities))
    }

    /// The vectors of passages by the built-in table.
    fn kept_with(&self, layer: &PassageLayer, model: &VectorModel) -> Result<Arc<Vectors>, Error> {
        if let Some(kept) = layer.vectors().filter(|kept| kept.model() == model) {
            return Ok(Arc::clone(kept));
        }
        let texts: Vec<(Digest, &str)> = layer.texts().collect();
        let known = layer.known_vectors().map(|vectors| Remembered {
            of: vectors.model().digest,
            vectors: Arc::clone(vectors),
        });
        let made = self.vectors(model.clone(), Role::Passage, &texts, known.as_slice())?;
        let made = Arc::new(made);
        layer.keep_vectors(Arc::clone(&made));
        Ok(made)
    }

    /// The vectors of these texts: those that are remembered, and the others made now.
    fn vectors(
        &self,
        model: VectorModel,
        role: Role,
        texts: &[(Digest, &str)],
        recent: &[Remembered],
    ) -> Result<Vectors, Error> {
        // What is remembered are passages: a query that says the same may point elsewhere.
        let recent = match (&self.source, role) {
            (Source::Own(_), Role::Query) => &[],
            _ => recent,
        };
        let same: Vec<&Vectors> = recent
            .iter()
            .filter(|known| *known.vectors.model() == model)
            .map(|known| &*known.vectors)
            .collect();
        let held: Vec<Option<&[i8]>> = texts
            .iter()
            .map(|(text, _)| same.iter().find_map(|vectors| vectors.get(text)))
            .collect();
        let fresh: Vec<&str> = texts
            .iter()
            .zip(&held)
            .filter(|(_, held)| held.is_none())
            .map(|((_, text), _)| *text)
            .collect();
        let mut vectors = Vectors::new(model);
        match &self.source {
            Source::Nothing => {}
            Source::Builtin => {
                let mut made = embed_all(StaticTable::builtin()?, &fresh).into_iter();
                for ((text, _), held) in texts.iter().zip(held) {
                    match held {
                        Some(held) => vectors.add_rounded(*text, held)?,
                        None => {
                            vectors.add_rounded(*text, &made.next().unwrap_or([0; DIMENSIONS]))?
                        }
                    }
                }
            }
            Source::Own(own) => {
                let made = match fresh.is_empty() {
                    true => Vec::new(),
                    false if role == Role::Query => own.embed_queries(&fresh)?,
                    false => own.embed(&fresh)?,
                };
                if made.len() != fresh.len() {
                    let name = &vectors.model().name;
                    return Err(Error::input(format!(
                        "`{name}` answered {} texts with {} vectors",
                        fresh.len(),
                        made.len()
                    ))
                    .expected("a vector for each text"));
                }
                let mut made = made.into_iter();
                for ((text, _), held) in texts.iter().zip(held) {
                    match held {
                        Some(held) => vectors.add_rounded(*text, held)?,
                        None => vectors.add(*text, &made.next().unwrap_or_default())?,
                    }
                }
            }
        }
        Ok(vectors)
    }

    fn remembered(&self) -> Vec<Remembered> {
        // A list of shared pointers is whole, whoever panicked while holding it.
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        recent.clone()
    }

    /// Remembers what was used last, and of the others as much as there is room for.
    fn remember(&self, used: Vec<Remembered>) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let others = std::mem::replace(&mut *recent, used);
        let known: BTreeSet<Digest> = recent.iter().map(|known| known.of).collect();
        let before: BTreeSet<Digest> = others.iter().map(|other| other.of).collect();
        let mut fresh: Vec<(Arc<Vectors>, usize)> = recent
            .iter()
            .filter(|used| !before.contains(&used.of))
            .map(|used| (Arc::clone(&used.vectors), 0))
            .collect();
        let mut texts: usize = recent.iter().map(|known| known.vectors.len()).sum();
        for other in others
            .into_iter()
            .filter(|other| !known.contains(&other.of))
            // A layer in which a text has changed takes the place of what it was, or each write would leave a layer behind. Two
            // may be in use by turns: with an agent's tools and without.
            .filter(|other| {
                let mut newer = fresh.iter_mut().filter(|(new, _)| is_older(&other.vectors, new));
                newer.next().is_none_or(|(_, older)| {
                    *older += 1;
                    *older <= 1
                })
            })
        {
            texts += other.vectors.len();
            if recent.len() >= REMEMBERED || texts > MOST_TEXTS {
                break;
            }
            recent.push(other);
        }
    }
}

/// Returns whether most of what a layer says stands in another, by a few of its texts.
fn is_older(old: &Vectors, new: &Vectors) -> bool {
    if old.len() < LOOKED_AT || old.model() != new.model() {
        return false;
    }
    let step = old.len() / LOOKED_AT;
    let looked_at = old.texts().step_by(step).take(LOOKED_AT);
    looked_at.filter(|text| new.get(text).is_some()).count() >= SAME
}

/// The texts of these objects whose vectors a compile may use: what they say, and why a preference matters.
fn texts_of(layer: &Candidates) -> Vec<(Digest, &str)> {
    let revisions = layer.objects().iter().map(|object| object.revision());
    let said = revisions
        .clone()
        .map(|revision| (revision.content_digest(), revision.content()));
    let reasons = revisions
        .filter(|revision| revision.object_type() == ObjectType::Preference)
        .filter_map(|revision| revision.why_it_matters());
    said.chain(reasons.map(|why| (Digest::of(why.as_bytes()), why))).collect()
}

/// The name of the vectors of the built-in table, with the thresholds that were found for it.
///
/// # Errors
///
/// [`ErrorKind::Internal`](tenure::ErrorKind::Internal) when the table was altered.
pub fn builtin_model() -> Result<VectorModel, Error> {
    let table = StaticTable::builtin()?;
    let encoder = Encoder::builtin()?;
    Ok(VectorModel {
        name: encoder.name,
        digest: table.digest(),
        dimensions: DIMENSIONS as u32,
        unrelated: encoder.unrelated,
        related: encoder.related,
    })
}

/// The vectors of these texts, by as many threads as are of use. Who makes which changes nothing.
fn embed_all(table: &StaticTable, texts: &[&str]) -> Vec<[i8; DIMENSIONS]> {
    let embed = |texts: &[&str]| -> Vec<[i8; DIMENSIONS]> {
        let vectors = texts.iter().map(|text| table.embed(text));
        vectors.map(|vector| *vector.components()).collect()
    };
    if texts.len() < WORTH_THREADS {
        return embed(texts);
    }
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let share = texts.len().div_ceil(threads);
    thread::scope(|scope| {
        let parts: Vec<_> = texts
            .chunks(share)
            .map(|part| (part, scope.spawn(move || embed(part))))
            .collect();
        // What a thread could not do is done here.
        parts
            .into_iter()
            .flat_map(|(part, made)| made.join().unwrap_or_else(|_| embed(part)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::ObjectDocument;

    fn candidates(texts: &[&str]) -> Candidates {
        let seal = |text: &&str| ObjectDocument::named(*text, *text).seal().unwrap();
        Candidates::new(texts.iter().map(seal).collect())
    }

    #[test]
    fn each_text_is_embedded_once() {
        let vectorizer = Vectorizer::default();
        let facts = |texts: &[&str]| {
            let mut facts = Facts::none();
            let candidates = candidates(texts);
            vectorizer.answer(&mut facts, &["x"], &candidates, None).unwrap();
            facts
        };
        let first = facts(&["a dog", "a cat"]);
        let again = facts(&["a dog", "a cat"]);
        assert!(Arc::ptr_eq(&first.vectors()[0], &again.vectors()[0]));
        let more = facts(&["a dog", "a fish", "a dog "]);
        let table = StaticTable::builtin().unwrap();
        for text in ["a dog", "a fish", "a dog "] {
            let vector = more.vectors()[0].get(&Digest::of(text.as_bytes()));
            let expected = table.embed(text);
            assert_eq!(vector, Some(expected.components().as_slice()));
        }
    }

    #[test]
    fn vectors_stay_with_the_passages_and_say_the_same() {
        let vectorizer = Vectorizer::default();
        let texts = ["a dog", "a cat", "a dog", "a pump that leaks"];
        let both = texts.split_at(2);
        let layers = [both.0, both.1].map(|texts| Arc::new(candidates(texts)));
        let all = Candidates::layered(layers);
        let passages = all.passages();
        let seen = passages.of_candidates([0, 2, 3]);
        let similar = |seen: &[bool]| {
            let similar = vectorizer.passage_similarities("my dog", passages, seen);
            similar.unwrap().unwrap()
        };
        let digests = texts.map(|text| (Digest::of(text.as_bytes()), text));
        let expected = vectorizer.similarities("my dog", &digests).unwrap().unwrap();
        assert!(expected[0] > 0.0 && expected[1] > 0.0);
        assert_eq!(similar(&[true; 4]), expected);
        assert_eq!(similar(&seen), [expected[0], 0.0, expected[2], expected[3]]);
        let kept = passages.layers().filter(|layer| layer.vectors().is_some());
        assert_eq!(kept.count(), 2);
        // What follows them asks for what is new alone, and says the same as if it asked for all.
        let more = ["a dog", "a new pump"];
        let [layer, _] = [0, 1].map(|at| all.layers().nth(at).unwrap());
        let next = candidates(&more).following(layer);
        let fresh = candidates(&more);
        let [next, fresh] = [&next, &fresh].map(|candidates| {
            let similar =
                vectorizer.passage_similarities("my dog", candidates.passages(), &[true; 2]);
            similar.unwrap().unwrap()
        });
        assert_eq!(next, fresh);
    }

    #[test]
    fn many_texts_are_as_one_by_one() {
        let numbered: Vec<String> = (0..WORTH_THREADS + 7).map(|at| format!("text {at}")).collect();
        let texts: Vec<&str> = numbered.iter().map(String::as_str).collect();
        let table = StaticTable::builtin().unwrap();
        let all = embed_all(table, &texts);
        assert_eq!(all.len(), texts.len());
        for at in [
            0,
            1,
            WORTH_THREADS / 2,
            WORTH_THREADS / 2 + 4,
            WORTH_THREADS + 6,
        ] {
            assert_eq!(&all[at], table.embed(texts[at]).components());
        }
    }

    #[test]
    fn old_versions_of_a_layer_are_let_go() {
        let vectorizer = Vectorizer::default();
        let layer = |changed: usize| {
            let text = |at: usize| match at {
                0 => format!("Note 0, for the {changed}th time."),
                at => format!("Note {at} is about pump {at}."),
            };
            let objects = (0..40)
                .map(|at| ObjectDocument::named(format!("note-{at}"), text(at)))
                .map(|object| object.seal().unwrap());
            Arc::new(Candidates::new(objects.collect()))
        };
        let other = Candidates::new(vec![ObjectDocument::named("a", "Apart.").seal().unwrap()]);
        let other = Arc::new(other);
        for changed in 0..20 {
            let candidates = Candidates::layered([Arc::clone(&other), layer(changed)]);
            let mut facts = Facts::none();
            vectorizer.answer(&mut facts, &["pump"], &candidates, None).unwrap();
            assert_eq!(facts.vectors().len(), 3);
        }
        let held: Vec<usize> =
            vectorizer.remembered().iter().map(|known| known.vectors.len()).collect();
        assert_eq!(held, [1, 40, 40]);
    }
}
