//! The index of terms: which objects say which words. Each write of objects makes it for what it changes.
//!
//! It holds no words but keyed digests of terms, under the tenant's own key: no query can say more than which terms it
//! wants, terms of two tenants are never the same, and no size or script of a word is too much for a database. It ranks
//! nothing, because scores over all texts would reveal something of texts that the caller may not see.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use serde::Deserialize;
use tenure::object::ObjectId;
use tenure::ranker::Terms;
use tenure::{ContextObject, Digest, Error};

use crate::rows::engine::{BeliefRow, IndexRow, Read, Run, Standing, Write};
use crate::tenant::alongside::found;

/// The number of objects that are indexed in one transaction, so that other writers get their turn.
pub(crate) const STEP: usize = 2_000;

/// The digest of a term, as an index holds it.
pub(crate) fn keyed(key: &[u8; 32], term: &str) -> i64 {
    let digest = Digest::keyed(key, &[b"term", term.as_bytes()]);
    (digest.key() >> 64) as i64
}

/// The terms of texts, each with a number: they are found before a write holds anybody up, and keyed within it.
#[derive(Default)]
pub(crate) struct Wording {
    terms: Terms,
    words: Vec<Arc<str>>,
    /// It is never iterated.
    numbers: HashMap<Arc<str>, u32, BuildHasherDefault<DefaultHasher>>,
}

impl Wording {
    /// The numbers of the terms that an object is found by, each once.
    pub(crate) fn of(&mut self, object: &ContextObject) -> Vec<u32> {
        let mut said = Vec::new();
        self.add(object.name(), &mut said);
        self.add(object.revision().content(), &mut said);
        distinct(said)
    }

    fn add(&mut self, text: &str, said: &mut Vec<u32>) {
        let Wording {
            terms,
            words,
            numbers,
        } = self;
        terms.each_word(text, |term| {
            let number = numbers.get(term).copied().unwrap_or_else(|| {
                let (word, number): (Arc<str>, _) = (term.into(), words.len() as u32);
                words.push(Arc::clone(&word));
                numbers.insert(word, number);
                number
            });
            said.push(number);
        });
    }

    /// The digest of each term, by its number.
    pub(crate) fn keyed(&self, key: &[u8; 32]) -> Vec<i64> {
        self.words.iter().map(|word| keyed(key, word)).collect()
    }
}

/// The digests of terms with these numbers.
pub(crate) fn digests(said: impl IntoIterator<Item = u32>, keyed: &[i64]) -> Vec<i64> {
    let digests = said.into_iter().map(|number| keyed[number as usize]);
    distinct(digests.collect())
}

fn distinct<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort_unstable();
    all.dedup();
    all
}

/// The texts by which a revision is found.
#[derive(Deserialize)]
pub(crate) struct SearchedText<'b> {
    #[serde(borrow)]
    pub(crate) name: Cow<'b, str>,
    #[serde(borrow, default)]
    pub(crate) content: Cow<'b, str>,
}

/// Indexes what is believed of these objects now, in the place of what was.
pub(crate) fn index(rows: &mut dyn Write, ids: &[ObjectId]) -> Result<(), Error> {
    let Some(key) = rows.key()? else {
        return Ok(());
    };
    for ids in ids.chunks(STEP) {
        let standing = rows.standing(ids)?;
        let (wording, said) = said(rows, &standing)?;
        let keyed = wording.keyed(&key);
        let indexed = said.into_iter().map(|(object, place, said)| IndexRow {
            object,
            place,
            terms: digests(said, &keyed),
        });
        rows.index(&indexed.collect::<Vec<_>>())?;
    }
    Ok(())
}

/// An object, its place, and the terms of what is believed of it, as places in a [`Wording`].
type Said = (ObjectId, u64, Vec<u32>);

/// The terms of each of these objects: of all that is held of it but proposals for a time at which something is believed. What is
/// damaged is found by nothing.
fn said<R: Read + ?Sized>(
    rows: &mut R,
    standing: &BTreeMap<ObjectId, Standing>,
) -> Result<(Wording, Vec<Said>), Error> {
    let bodies = rows.bodies(&beliefs(standing))?;
    let mut wording = Wording::default();
    let each = standing
        .iter()
        .map(|(id, standing)| {
            let mut said = Vec::new();
            for row in found(&standing.beliefs) {
                let body = bodies.get(&row.revision).map_or("", String::as_str);
                if let Ok(text) = serde_json::from_str::<SearchedText<'_>>(body) {
                    wording.add(&text.name, &mut said);
                    wording.add(&text.content, &mut said);
                }
            }
            (*id, standing.place, distinct(said))
        })
        .collect();
    Ok((wording, each))
}

pub(crate) fn beliefs(standing: &BTreeMap<ObjectId, Standing>) -> Vec<&BeliefRow> {
    standing.values().flat_map(|standing| &standing.beliefs).collect()
}

/// The number of terms whose objects the index has wrong. Of what is damaged, what it said is not known.
pub(crate) fn misplaced<R: Read + ?Sized>(
    rows: &mut R,
    damaged: &BTreeSet<ObjectId>,
) -> Result<u64, Error> {
    let Some(key) = rows.key()? else {
        return Ok(0);
    };
    if rows.is_unsearched()? {
        return Ok(0);
    }
    // Of each term, how many objects have it, and a sum of their places.
    let mut expected: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    let mut passed: BTreeSet<u64> = BTreeSet::new();
    let objects = rows.objects()?;
    for objects in objects.chunks(STEP) {
        let ids: Vec<ObjectId> = objects.iter().map(|(_, id)| *id).collect();
        let standing = rows.standing(&ids)?;
        let (wording, said) = said(rows, &standing)?;
        let keyed = wording.keyed(&key);
        for (id, place, said) in said {
            if damaged.contains(&id) {
                passed.insert(place);
                continue;
            }
            for term in digests(said, &keyed) {
                let (count, sum) = expected.entry(term).or_default();
                (*count, *sum) = (*count + 1, sum.wrapping_add(place));
            }
        }
    }
    let mut wrong = 0;
    for (term, expected) in expected {
        let found = rows
            .matching(&[term], &Run::ALL)?
            .into_iter()
            .filter(|place| !passed.contains(place))
            .fold((0, 0), |(count, sum): (u64, u64), place| {
                (count + 1, sum.wrapping_add(place))
            });
        wrong += u64::from(found != expected);
    }
    Ok(wrong)
}
