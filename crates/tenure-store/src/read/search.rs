//! Search: the objects in which every word of a query stands, found by the index of terms.
//!
//! Who may see an object is judged by its labels before anything else of it is read, and no more objects are read than
//! are asked for.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure::object::ObjectId;
use tenure::ranker::Terms;
use tenure::{ContextObject, Error, ErrorKind};

use crate::read::resident::Resident;
use crate::rows::engine::{Order, Read, Run};
use crate::rows::labels::{Sees, open, open_objects};
use crate::rows::stored::believed;
use crate::tenant::alongside;
use crate::tenant::damage::Reading;
use crate::tenant::handle::Tenant;
use crate::tenant::index::{STEP, SearchedText, beliefs, index, keyed};

/// The longest query, in bytes, and the most terms of one.
const LONGEST: usize = 4 << 10;
const MOST_TERMS: usize = 64;

/// The part of what matches that is read.
#[derive(Clone, Copy)]
pub struct SearchPage<'s> {
    /// The caller: nothing that it refuses is read, or counts. `None` where there is no caller.
    pub sees: Option<&'s Sees<'s>>,
    /// The start.
    pub start: Start,
    /// The most objects; damaged ones are found besides.
    pub most: usize,
}

/// The start of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// With the object that came first.
    Oldest,
    /// With this one; those that came later follow. Nothing, where there is no such object.
    At(ObjectId),
    /// With the object that came last; those that came before follow.
    Newest,
}

impl SearchPage<'_> {
    /// Everything that matches.
    pub const ALL: SearchPage<'static> = SearchPage {
        sees: None,
        start: Start::Oldest,
        most: usize::MAX,
    };
}

impl Tenant {
    /// Finds the objects whose names and texts hold every word of the query, archived and demoted ones included.
    /// Words are compared by their stems, in any case; words that say nothing by themselves are left out. Filter the
    /// result by what its reader may see before showing it, as [`tenure::visible`] does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when the query has only stop words, or too
    /// many; [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn search(&self, query: &str) -> Result<Resident, Error> {
        self.search_page(query, &SearchPage::ALL)
    }

    /// Searches for a part of what matches, which is all that is read.
    ///
    /// # Errors
    ///
    /// As [`Tenant::search`].
    pub fn search_page(&self, query: &str, page: &SearchPage<'_>) -> Result<Resident, Error> {
        let wanted = wanted(query)?;
        let look = |rows: &mut dyn Read| found(rows, &self.name, &wanted, page);
        let ready = self.read(|rows| {
            if rows.is_unsearched()? {
                Ok(None)
            } else {
                look(rows).map(Some)
            }
        })?;
        match ready {
            Some(found) => Ok(found),
            // Whoever brought the store up to date was stopped before the index was made.
            None => {
                self.make_index()?;
                self.read(look)
            }
        }
    }

    /// Makes the index of terms where it is not there: of what was written before writes made it, or once it was
    /// found to be damaged. Other writers get their turn.
    pub(crate) fn make_index(&self) -> Result<(), Error> {
        let objects = self.read(|rows| {
            if rows.is_unsearched()? {
                rows.objects().map(Some)
            } else {
                Ok(None)
            }
        })?;
        let Some(objects) = objects else {
            return Ok(());
        };
        let ids: Vec<ObjectId> = objects.into_iter().map(|(_, id)| id).collect();
        for ids in ids.chunks(STEP) {
            let ids = ids.to_vec();
            self.write(move |rows| {
                rows.hold()?;
                index(rows, &ids)
            })?;
        }
        self.write(|rows| {
            rows.hold()?;
            rows.set_searched()
        })
    }

    /// Like `make_index`, where damaged rows are left to a check: the next search says so.
    pub(crate) fn make_index_unless_damaged(&self) -> Result<(), Error> {
        match self.make_index() {
            Err(error) if error.kind == ErrorKind::Damaged => Ok(()),
            made => made,
        }
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

/// The beliefs about the objects of a page that have all these terms.
fn found(
    rows: &mut dyn Read,
    tenant: &str,
    wanted: &BTreeSet<Box<str>>,
    page: &SearchPage<'_>,
) -> Result<Resident, Error> {
    let version = rows.version()?;
    let resident = Resident::whole();
    let (Some(key), Some(mut run)) = (rows.key()?, first_run(rows, page)?) else {
        return Ok(resident.finish(version));
    };
    let terms: Vec<i64> = wanted.iter().map(|term| keyed(&key, term)).collect();
    let mut reader = PageReader {
        tenant,
        wanted,
        sees: page.sees,
        reading: Reading::of(rows)?,
        said: Terms::default(),
        resident,
    };
    let mut left = page.most;
    loop {
        let places = rows.matching(&terms, &run)?;
        // Of what is hidden, nothing but its labels is read.
        let ids = rows.placed(&places)?;
        let open = open_objects(rows, tenant, ids, page.sees)?;
        let mut rest = &open[..];
        while left > 0 && !rest.is_empty() {
            let (next, further) = rest.split_at(left.min(STEP).min(rest.len()));
            left -= reader.read(rows, next)?.min(left);
            rest = further;
        }
        if places.len() < run.most || left == 0 || !run.go_on(places.last()) {
            break;
        }
        // Where much is hidden, it is passed in ever larger steps.
        run.most = left.max(run.most.saturating_mul(2)).min(STEP);
    }
    let PageReader {
        reading,
        mut resident,
        ..
    } = reader;
    resident.put_damaged(reading.stand_ins(rows, tenant)?);
    Ok(resident.finish(version))
}

/// The places that are looked at first; nothing where a page starts nowhere.
fn first_run(rows: &mut dyn Read, page: &SearchPage<'_>) -> Result<Option<Run>, Error> {
    let most = page.most.clamp(1, STEP);
    let run = Run { most, ..Run::ALL };
    Ok(match page.start {
        Start::Oldest => Some(run),
        Start::Newest => Some(Run {
            order: Order::Newest,
            ..run
        }),
        Start::At(id) => {
            let first = rows.standing(&[id])?.remove(&id);
            first.map(|standing| Run {
                first: standing.place,
                ..run
            })
        }
    })
}

/// Reads the objects of a page.
struct PageReader<'p> {
    tenant: &'p str,
    wanted: &'p BTreeSet<Box<str>>,
    sees: Option<&'p Sees<'p>>,
    reading: Reading,
    said: Terms,
    resident: Resident,
}

impl PageReader<'_> {
    /// Reads these objects, as far as they may be seen; returns how many may.
    fn read(&mut self, rows: &mut dyn Read, ids: &[ObjectId]) -> Result<usize, Error> {
        let mut standing = rows.standing(ids)?;
        for standing in standing.values_mut() {
            standing.beliefs = alongside::found(&standing.beliefs).cloned().collect();
        }
        let held = standing.values_mut().flat_map(|standing| std::mem::take(&mut standing.beliefs));
        // Of one object, some of what is believed may be hidden.
        for row in open(self.tenant, held.collect(), None, self.sees)? {
            if let Some(standing) = standing.get_mut(&row.object) {
                standing.beliefs.push(row);
            }
        }
        standing.retain(|_, standing| !standing.beliefs.is_empty());
        let bodies = rows.bodies(&beliefs(&standing))?;
        let ids: Vec<ObjectId> = standing.keys().copied().collect();
        let usage = rows.usage(Some(&ids))?;
        let mut found = Vec::new();
        for (id, standing) in &standing {
            let bodies_of = standing.beliefs.iter().filter_map(|row| bodies.get(&row.revision));
            if !says_all(&mut self.said, bodies_of, self.wanted) {
                continue;
            }
            let usage = usage.get(id).copied().unwrap_or_default();
            for row in &standing.beliefs {
                let body = bodies.get(&row.revision).map_or("", String::as_str);
                if let Some(object) = self.reading.read(standing.place, row, body)? {
                    found.push((standing.place, row, believed(&object, row, usage, None)));
                }
            }
        }
        // Labels do not tell all: some is hidden by what it is.
        let objects: Vec<Arc<ContextObject>> =
            found.iter().map(|(.., object)| Arc::clone(object)).collect();
        let mut seen = self.sees.map(|sees| sees(&objects).into_iter());
        let mut shown: BTreeSet<u64> = BTreeSet::new();
        for (place, row, object) in found {
            if seen.as_mut().is_none_or(|seen| seen.next() == Some(true)) {
                shown.insert(place);
                self.resident.put(place, row, object);
            }
        }
        Ok(shown.len())
    }
}
