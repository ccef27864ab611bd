//! Search: the objects in which every word of a query stands, found by an index in the database.
//!
//! The index is derived: no write of objects pays for it. It knows up to which version of the tenant it goes, and a
//! search brings it up to date first. It holds no words but keyed digests of terms, under the tenant's own key: no
//! query can say more than which terms it wants, terms of two tenants are never the same, and no size or script of a
//! word is too much for a database. It ranks nothing, because scores over all texts would reveal something of texts
//! that the caller may not see.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use tenure::object::ObjectId;
use tenure::ranker::Terms;
use tenure::{Digest, Error};

use crate::damage::Reading;
use crate::engine::{BeliefRow, Read, Standing, Write};
use crate::labels::{Sees, open, open_objects};
use crate::resident::Resident;
use crate::stored::believed;
use crate::tenant::Tenant;

/// The longest query, in bytes, and the most terms of one.
const LONGEST: usize = 4 << 10;
const MOST_TERMS: usize = 64;

/// The number of objects that are indexed in one transaction, so that other writers get their turn.
const STEP: usize = 2_000;

impl Tenant {
    /// Finds the objects whose names and texts hold every word of the query, archived and demoted ones included.
    /// Words are compared by their stems, in any case; words that say nothing by themselves are left out. Filter the
    /// result by what its reader may see before showing it, as [`tenure::visible`] does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when the query has only stop words, or too
    /// many; [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached or
    /// written.
    pub fn search(&self, query: &str) -> Result<Resident, Error> {
        self.search_seen(query, None)
    }

    /// The same for a caller: nothing that `sees` refuses is read.
    ///
    /// # Errors
    ///
    /// As [`Tenant::search`].
    pub fn search_seen(&self, query: &str, sees: Option<&Sees<'_>>) -> Result<Resident, Error> {
        let wanted = wanted(query)?;
        let behind = self.read(|rows| {
            let version = rows.version()?;
            match rows.indexed()? {
                indexed if indexed == version => found(rows, &self.name, &wanted, sees).map(Ok),
                indexed => Ok(Err((version, rows.changed_since(indexed)?))),
            }
        })?;
        let (version, behind) = match behind {
            Ok(found) => return Ok(found),
            Err(behind) => behind,
        };
        if behind.len() > STEP {
            for ids in behind.chunks(STEP) {
                let ids = ids.to_vec();
                self.write(move |rows| {
                    rows.hold()?;
                    index(rows, &ids)
                })?;
            }
            self.write(move |rows| rows.set_indexed(version))?;
        }
        self.write(move |rows| {
            rows.hold()?;
            let indexed = rows.indexed()?;
            let changed = rows.changed_since(indexed)?;
            index(rows, &changed)?;
            let version = rows.version()?;
            rows.set_indexed(version)
        })?;
        // What is written from here on, the next search finds.
        self.read(|rows| found(rows, &self.name, &wanted, sees))
    }
}

/// The terms that a query asks for.
fn wanted(query: &str) -> Result<BTreeSet<Box<str>>, Error> {
    if query.len() > LONGEST {
        return Err(Error::input(format!("the query has {} bytes", query.len()))
            .expected(format!("at most {LONGEST}")));
    }
    let mut wanted: BTreeSet<Box<str>> = BTreeSet::new();
    Terms::default().each_word(query, |term| {
        wanted.insert(term.into());
    });
    match wanted.len() {
        0 => {
            Err(Error::input("the query has only stop words")
                .expected("words of the texts to find"))
        }
        1..=MOST_TERMS => Ok(wanted),
        many => Err(
            Error::input(format!("the query has {many} different words"))
                .expected(format!("at most {MOST_TERMS}")),
        ),
    }
}

/// The terms of texts, as an index keeps them; what was looked at once is remembered.
struct KeyedTerms {
    key: [u8; 32],
    terms: Terms,
    known: BTreeMap<Box<str>, i64>,
}

impl KeyedTerms {
    fn new(key: [u8; 32]) -> KeyedTerms {
        KeyedTerms {
            key,
            terms: Terms::default(),
            known: BTreeMap::new(),
        }
    }

    fn term(key: &[u8; 32], term: &str) -> i64 {
        let digest = Digest::keyed(key, &[b"term", term.as_bytes()]);
        (digest.key() >> 64) as i64
    }

    fn add(&mut self, text: &str, to: &mut BTreeSet<i64>) {
        let KeyedTerms { key, terms, known } = self;
        terms.each_word(text, |term| {
            let digest = known.get(term).copied().unwrap_or_else(|| {
                let digest = KeyedTerms::term(key, term);
                known.insert(term.into(), digest);
                digest
            });
            to.insert(digest);
        });
    }
}

/// The texts by which a revision is found.
#[derive(Deserialize)]
struct SearchedText<'b> {
    #[serde(borrow)]
    name: Cow<'b, str>,
    #[serde(borrow, default)]
    content: Cow<'b, str>,
}

/// Indexes what is believed of these objects now, in the place of what was.
fn index(rows: &mut dyn Write, ids: &[ObjectId]) -> Result<(), Error> {
    let Some(key) = rows.key()? else {
        return Ok(());
    };
    let mut keyed = KeyedTerms::new(key);
    for ids in ids.chunks(STEP) {
        let standing = rows.standing(ids)?;
        let bodies = rows.bodies(&beliefs(&standing))?;
        let mut indexed = Vec::with_capacity(ids.len());
        for id in ids {
            let mut terms = BTreeSet::new();
            let standing = standing.get(id);
            for row in standing.iter().flat_map(|standing| &standing.beliefs) {
                let body = bodies.get(&row.revision).map_or("", String::as_str);
                // What is damaged is found by nothing.
                let Ok(said) = serde_json::from_str::<SearchedText<'_>>(body) else {
                    continue;
                };
                keyed.add(&said.name, &mut terms);
                keyed.add(&said.content, &mut terms);
            }
            indexed.push((*id, terms.into_iter().collect()));
        }
        rows.index(&indexed)?;
    }
    Ok(())
}

/// Returns whether all these words stand in the beliefs about an object: an index may be damaged. A body that cannot
/// be read counts as a match, so that its reader reports it.
fn says_all<'b>(
    terms: &mut Terms,
    bodies: impl Iterator<Item = &'b String>,
    wanted: &BTreeSet<Box<str>>,
) -> bool {
    let mut missing: BTreeSet<&str> = wanted.iter().map(AsRef::as_ref).collect();
    for body in bodies {
        let Ok(said) = serde_json::from_str::<SearchedText<'_>>(body) else {
            return true;
        };
        for text in [&said.name, &said.content] {
            terms.each_word(text, |term| {
                missing.remove(term);
            });
        }
    }
    missing.is_empty()
}

/// The number of terms whose objects the index has wrong, up to the version that it covers.
pub(crate) fn misplaced<R: Read + ?Sized>(rows: &mut R) -> Result<u64, Error> {
    let (Some(key), indexed) = (rows.key()?, rows.indexed()?) else {
        return Ok(0);
    };
    if indexed == 0 {
        return Ok(0);
    }
    let behind: BTreeSet<ObjectId> = rows.changed_since(indexed)?.into_iter().collect();
    let mut keyed = KeyedTerms::new(key);
    // Of each term, how many objects have it, and a sum of their ids.
    let mut expected: BTreeMap<i64, (u64, u128)> = BTreeMap::new();
    let ids: Vec<ObjectId> = rows.objects()?.into_iter().map(|(_, id)| id).collect();
    for ids in ids.chunks(STEP) {
        let standing = rows.standing(ids)?;
        let bodies = rows.bodies(&beliefs(&standing))?;
        for (id, standing) in &standing {
            let mut terms = BTreeSet::new();
            for row in &standing.beliefs {
                let body = bodies.get(&row.revision).map_or("", String::as_str);
                if let Ok(said) = serde_json::from_str::<SearchedText<'_>>(body) {
                    keyed.add(&said.name, &mut terms);
                    keyed.add(&said.content, &mut terms);
                }
            }
            for term in terms {
                let (count, sum) = expected.entry(term).or_default();
                if !behind.contains(id) {
                    (*count, *sum) = (*count + 1, *sum ^ id.bits());
                }
            }
        }
    }
    let mut wrong = 0;
    for (term, expected) in expected {
        let found = rows.matching(&[term])?.into_iter();
        let found = found.filter(|id| !behind.contains(id));
        let found = found.fold((0, 0), |(count, sum), id| (count + 1, sum ^ id.bits()));
        wrong += u64::from(found != expected);
    }
    Ok(wrong)
}

fn beliefs(standing: &BTreeMap<ObjectId, Standing>) -> Vec<&BeliefRow> {
    let beliefs = standing.values().flat_map(|standing| &standing.beliefs);
    beliefs.collect()
}

/// The beliefs about the objects that have all these terms, by an index that is up to date.
fn found(
    rows: &mut dyn Read,
    tenant: &str,
    wanted: &BTreeSet<Box<str>>,
    sees: Option<&Sees<'_>>,
) -> Result<Resident, Error> {
    let version = rows.version()?;
    let mut resident = Resident::whole();
    let Some(key) = rows.key()? else {
        return Ok(resident.finish(version));
    };
    let terms: Vec<i64> = wanted
        .iter()
        .map(|term| KeyedTerms::term(&key, term))
        .collect();
    let ids = rows.matching(&terms)?;
    // Of what is hidden, nothing but its labels is read.
    let ids = open_objects(rows, tenant, ids, sees)?;
    let mut standing = rows.standing(&ids)?;
    let held = standing.values_mut();
    let held = held.flat_map(|standing| std::mem::take(&mut standing.beliefs));
    // Of one object, some of what is believed may be hidden.
    for row in open(tenant, held.collect(), None, sees)? {
        if let Some(standing) = standing.get_mut(&row.object) {
            standing.beliefs.push(row);
        }
    }
    standing.retain(|_, standing| !standing.beliefs.is_empty());
    let bodies = rows.bodies(&beliefs(&standing))?;
    let ids: Vec<ObjectId> = standing.keys().copied().collect();
    let usage = rows.usage(Some(&ids))?;
    let mut reading = Reading::of(rows)?;
    let mut said = Terms::default();
    for (id, standing) in &standing {
        let bodies_of = standing.beliefs.iter();
        let bodies_of = bodies_of.filter_map(|row| bodies.get(&row.revision));
        if !says_all(&mut said, bodies_of, wanted) {
            continue;
        }
        let usage = usage.get(id).copied().unwrap_or_default();
        for row in &standing.beliefs {
            let body = bodies.get(&row.revision).map_or("", String::as_str);
            if let Some(object) = reading.read(standing.place, row, body)? {
                resident.put(standing.place, row, believed(&object, row, usage, None));
            }
        }
    }
    resident.put_damaged(reading.stand_ins(rows, tenant)?);
    Ok(resident.finish(version))
}
