//! Answers only the outside can give. A compile never asks while it runs: `needs` lists the
//! questions, the caller answers them as [`Facts`], and a missing fact has a stated fallback.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::digest::{Digest, DigestMap};
use crate::base::error::Error;
use crate::base::num::Score;
use crate::condense::code::Elidable;
use crate::input::candidates::Candidates;
use crate::object::RevisionId;
use crate::rank::vectors::{Vector, VectorModel, Vectors, VectorsForm};

/// A question for the outside, about a settled object only: nothing hidden reaches an outside model.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Need {
    /// Asks for the relevance of this revision to this query. Fallback: the built-in ranker.
    Relevance {
        /// The revision.
        revision: RevisionId,
        /// The digest of the query's text.
        query: Digest,
    },
    /// Asks for the parts of this source text that can go without changing its declarations. Fallback: it stands
    /// whole or not at all.
    Outline {
        /// The digest of the text.
        content: Digest,
        /// The ending of the name of its file, where that says that it is source code; else empty.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        ending: String,
    },
    /// Asks for the questions that this query asks, each by itself. It is asked of the query alone, by who has a model for
    /// it. Fallback: the query as a whole.
    Subqueries {
        /// The digest of the query's text.
        query: Digest,
    },
    /// Asks for words that say nearly what those of this query do. It is asked of the query alone. Fallback: its own words.
    NearWords {
        /// The digest of the query's text.
        query: Digest,
    },
    /// Asks for the direction of this text in the space of the model that answers. The answer is not a [`Fact`] but
    /// one of many [`Vectors`], with which that of the query is asked for. Fallback: what its terms say.
    Vector {
        /// The digest of the text.
        text: Digest,
    },
}

impl Need {
    /// Returns the key that the answer is stored under.
    pub fn key(&self) -> Digest {
        match self {
            Need::Relevance { revision, query } => {
                Digest::of_parts([b"relevance".as_slice(), revision.bytes(), query.bytes()])
            }
            Need::Outline { content, ending } => {
                Digest::of_parts([b"outline".as_slice(), content.bytes(), ending.as_bytes()])
            }
            Need::Subqueries { query } => {
                Digest::of_parts([b"subqueries".as_slice(), query.bytes()])
            }
            Need::NearWords { query } => {
                Digest::of_parts([b"near words".as_slice(), query.bytes()])
            }
            Need::Vector { text } => Digest::of_parts([b"vector".as_slice(), text.bytes()]),
        }
    }
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fact {
    /// The relevance asked for.
    Relevance {
        /// From 0 to 1.
        score: Score,
    },
    /// The parts asked for, by where they start; none where no parser knows the text.
    Outline {
        /// The parts.
        parts: Vec<Elidable>,
    },
    /// The questions asked for; none where the query asks one.
    Subqueries {
        /// Their texts.
        texts: Vec<String>,
    },
    /// The words asked for.
    NearWords {
        /// The words.
        words: Vec<String>,
    },
}

/// The most questions that a query falls apart into.
const MAX_SUBQUERIES: usize = 8;
/// The longest of them, in bytes.
const MAX_SUBQUERY: usize = 2_000;
/// The most words near to a query that count.
const MAX_NEAR_WORDS: usize = 400;

impl Fact {
    /// The questions that a query asks: the first eight that say something and are no essays.
    pub fn subqueries(texts: Vec<String>) -> Fact {
        let texts = texts
            .into_iter()
            .map(|text| text.trim().to_owned())
            .filter(|text| (1..=MAX_SUBQUERY).contains(&text.len()));
        Fact::Subqueries {
            texts: texts.take(MAX_SUBQUERIES).collect(),
        }
    }
}

/// Questions with what their answerer needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// The text that relevance is asked about, and whose vector is wanted where any is.
    pub query: String,
    /// Further texts whose vectors are wanted where any is ([`Request::further_texts`](crate::Request::further_texts)).
    pub further: Vec<String>,
    /// The questions, in the order of the candidates.
    pub asked: Vec<Asked>,
}

/// One question about one object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// The question.
    pub need: Need,
    /// The candidate's place, to find its text by.
    pub candidate: usize,
}

impl Needs {
    /// The texts whose vectors are asked for, each once.
    pub fn vectors<'c>(
        &'c self,
        candidates: &'c Candidates,
    ) -> impl Iterator<Item = (Digest, &'c str)> {
        let mut seen = DigestMap::default();
        self.asked.iter().filter_map(move |asked| match asked.need {
            Need::Vector { text } => {
                let new = seen.insert(text.key(), ()).is_none();
                new.then(|| (text, asked.text(candidates)))
            }
            _ => None,
        })
    }
}

impl Asked {
    /// The text that the question is about, of the candidates that it was asked of.
    pub fn text<'c>(&self, candidates: &'c Candidates) -> &'c str {
        let Some(object) = candidates.object(self.candidate) else {
            return "";
        };
        let why = object.revision().rare().why_it_matters.as_deref();
        match (&self.need, why) {
            (Need::Vector { text }, Some(why)) if *text == Digest::of(why.as_bytes()) => why,
            _ => object.revision().content(),
        }
    }
}

/// Content-addressed answers: stored, they make a compile repeatable.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Facts {
    /// The vectors, all of one model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<VectorsForm>")]
    vectors: Vec<Arc<Vectors>>,
    /// The vectors of the built-in table, where the others are of an encoder of one's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<VectorsForm>")]
    beside: Vec<Arc<Vectors>>,
    #[serde(flatten)]
    answers: BTreeMap<Digest, Fact>,
}

impl Facts {
    /// No answers.
    pub fn none() -> Facts {
        Facts::default()
    }

    /// Adds an answer.
    pub fn insert(&mut self, need: &Need, fact: Fact) {
        self.answers.insert(need.key(), fact);
    }

    /// The answer to a question.
    pub fn get(&self, need: &Need) -> Option<&Fact> {
        self.answers.get(&need.key())
    }

    /// The questions that this query asks, as somebody took it apart; none where nobody did.
    pub fn subqueries(&self, query: &str) -> &[String] {
        let need = Need::Subqueries {
            query: Digest::of(query.as_bytes()),
        };
        match self.get(&need) {
            Some(Fact::Subqueries { texts }) => &texts[..texts.len().min(MAX_SUBQUERIES)],
            _ => &[],
        }
    }

    /// The words that say nearly what those of this query do, as far as somebody knows; none where nobody does.
    pub fn near_words(&self, query: &str) -> impl Iterator<Item = &str> {
        let need = Need::NearWords {
            query: Digest::of(query.as_bytes()),
        };
        let words = match self.get(&need) {
            Some(Fact::NearWords { words }) => &words[..words.len().min(MAX_NEAR_WORDS)],
            _ => &[],
        };
        words.iter().map(String::as_str)
    }

    /// Adds vectors: what many compiles use is made once and shared.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when the vectors that are there are of another
    /// model.
    pub fn add_vectors(&mut self, vectors: Arc<Vectors>) -> Result<(), Error> {
        are_of_one(&self.vectors, &vectors)?;
        self.vectors.push(vectors);
        Ok(())
    }

    /// Adds vectors of the built-in table that stand beside those of an encoder of one's own: the two are never compared
    /// with each other, and each has its part in the sum.
    ///
    /// # Errors
    ///
    /// As [`Facts::add_vectors`].
    pub fn add_beside(&mut self, vectors: Arc<Vectors>) -> Result<(), Error> {
        are_of_one(&self.beside, &vectors)?;
        self.beside.push(vectors);
        Ok(())
    }

    /// The facts without the vectors of a model, which anyone who has it can make again; and whether there were any among the
    /// vectors or beside them.
    pub fn without(&self, model: &VectorModel) -> (Facts, Option<Without>) {
        let are = |sets: &[Arc<Vectors>]| sets.first().is_some_and(|set| set.model() == model);
        let (vectors, beside) = (are(&self.vectors), are(&self.beside));
        let facts = Facts {
            vectors: if vectors {
                Vec::new()
            } else {
                self.vectors.clone()
            },
            beside: if beside {
                Vec::new()
            } else {
                self.beside.clone()
            },
            answers: self.answers.clone(),
        };
        let without = match (vectors, beside) {
            (true, _) => Some(Without::Vectors),
            (false, true) => Some(Without::Beside),
            (false, false) => None,
        };
        (facts, without)
    }

    /// The vectors of the built-in table that stand beside the others.
    pub fn beside(&self) -> &[Arc<Vectors>] {
        &self.beside
    }

    /// The vectors.
    pub fn vectors(&self) -> &[Arc<Vectors>] {
        &self.vectors
    }

    /// The cosine of the angle between the vectors of two texts; 0 for those that point apart.
    pub fn similarity(&self, one: &Digest, other: &Digest) -> Option<Score> {
        let anywhere = |text| self.vector(text, &mut Next::default());
        let (one, other) = (anywhere(one)?, anywhere(other)?);
        Some(Score::clamped(one.cosine(other)))
    }

    /// The vector of a text. Those that are asked for in the order in which they were added are found
    /// the soonest: `next` remembers where the last one was.
    pub(crate) fn vector(&self, text: &Digest, next: &mut Next) -> Option<Vector<'_>> {
        vector_among(&self.vectors, text, next)
    }

    /// The vector of a text by the built-in table, where that stands beside another model.
    pub(crate) fn vector_beside(&self, text: &Digest, next: &mut Next) -> Option<Vector<'_>> {
        vector_among(&self.beside, text, next)
    }

    /// The digest of all answers but the vectors, of which a compile uses those of what it may see.
    pub(crate) fn answers_digest(&self) -> Digest {
        if self.answers.is_empty() {
            return Digest::from_bytes([0; 32]);
        }
        Digest::of(&serde_json::to_vec(&self.answers).unwrap_or_default())
    }
}

/// The vectors that facts are without.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Without {
    /// All vectors.
    Vectors,
    /// Those that stand beside the others.
    Beside,
}

fn are_of_one(known: &[Arc<Vectors>], vectors: &Vectors) -> Result<(), Error> {
    match known.first() {
        Some(other) if other.model() != vectors.model() => {
            let (here, there) = (vectors.model(), other.model());
            Err(Error::input(format!(
                "vectors of `{}` ({}) cannot be compared with those of `{}` ({})",
                here.name, here.digest, there.name, there.digest
            ))
            .expected("all vectors of a compile by one model"))
        }
        _ => Ok(()),
    }
}

fn vector_among<'v>(
    vectors: &'v [Arc<Vectors>],
    text: &Digest,
    next: &mut Next,
) -> Option<Vector<'v>> {
    while vectors.get(next.set).is_some_and(|set| next.place >= set.len()) {
        *next = Next {
            set: next.set + 1,
            place: 0,
        };
    }
    let guessed = vectors.get(next.set).map(|set| (next.set, set));
    let (at, set, place) = guessed
        .into_iter()
        .chain(vectors.iter().enumerate())
        .into_iter()
        .find_map(|(at, set)| Some((at, set, set.find(text, next.place)?)))?;
    *next = Next {
        set: at,
        place: place + 1,
    };
    Some(set.at(place))
}

/// The likely place of the next vector.
#[derive(Clone, Copy, Default)]
pub(crate) struct Next {
    set: usize,
    place: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(model: &str) -> Arc<Vectors> {
        let model = VectorModel {
            dimensions: 1,
            ..VectorModel::new(model, Digest::of(model.as_bytes()))
        };
        let mut vectors = Vectors::new(model);
        vectors.add(Digest::of(b"text"), &[1.0]).unwrap();
        Arc::new(vectors)
    }

    #[test]
    fn vectors_of_two_models_never_mix() {
        let mut facts = Facts::none();
        facts.add_vectors(of("one")).unwrap();
        facts.add_vectors(of("one")).unwrap();
        let error = facts.add_vectors(of("other")).unwrap_err();
        assert!(error.what.contains("`other`") && error.what.contains("`one`"));
        assert_eq!(facts.vectors().len(), 2);
        // Beside them, and never compared with them.
        facts.add_beside(of("table")).unwrap();
        assert!(facts.add_beside(of("one")).is_err());
        let text = Digest::of(b"text");
        assert_eq!(facts.similarity(&text, &text), Some(Score::ONE));
        let written = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&written).unwrap(), facts);
    }

    #[test]
    fn facts_survive_their_text_form_and_those_of_old_are_read() {
        let mut facts = Facts::none();
        let need = Need::Vector {
            text: Digest::of(b"x"),
        };
        facts.insert(&need, Fact::Relevance { score: Score::HALF });
        let old = serde_json::to_string(&facts).unwrap();
        assert!(!old.contains("vectors"), "{old}");
        assert_eq!(serde_json::from_str::<Facts>(&old).unwrap(), facts);
        facts.add_vectors(of("one")).unwrap();
        let new = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&new).unwrap(), facts);
    }
}
