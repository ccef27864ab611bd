//! Import: the lines of an export, or objects written by hand, in one write.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use tenure::error::ErrorKind;
use tenure::object::{ObjectId, RevisionId, Sealer, clip};
use tenure::request::from_json;
use tenure::time::Instant;
use tenure::{ContextObject, Digest, Error};

use crate::belief::claims::{settle_claims, settle_judged};
use crate::copy::export_rows::CarriedLine;
use crate::copy::import_rows::ImportRows;
use crate::entity::resolution::resolve_written;
use crate::rows::blobs::{Blobs, TextLine};
use crate::rows::engine::{BeliefRow, Change, IndexRow};
use crate::rows::notes::{WriteNote, note_on_claim};
use crate::rows::settle::overlap;
use crate::rows::stored::{Line, revision_row};
use crate::rows::tombstones::with_tombstones;
use crate::tenant::alongside::{head_of, is_alongside};
use crate::tenant::handle::Tenant;
use crate::tenant::index::{Wording, digests};
use crate::tenant::writing::{Outcome, Put, Writing, Written, WrittenObject};

/// The lines of an export, or of objects to write, as they are read.
#[derive(Default, Debug)]
pub struct Import {
    /// Each with its number.
    beliefs: Vec<(usize, Line)>,
    carried: Vec<(usize, CarriedLine)>,
    texts: Vec<TextLine>,
}

/// Tells lines by the fields that only one kind has.
#[derive(Deserialize)]
struct Kind {
    text_digest: Option<IgnoredAny>,
    usage: Option<IgnoredAny>,
    entity: Option<IgnoredAny>,
    mention: Option<IgnoredAny>,
    spoken: Option<IgnoredAny>,
    conflict: Option<IgnoredAny>,
    outcome: Option<IgnoredAny>,
}

impl Import {
    /// Adds a line: what it says, and its number, which errors name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when it is none of an export.
    pub fn read(&mut self, number: usize, line: &str) -> Result<(), Error> {
        let kind = serde_json::from_str::<Kind>(line).ok();
        let is_text = kind.as_ref().is_some_and(|kind| kind.text_digest.is_some());
        let is_carried = kind.is_some_and(|kind| {
            [&kind.usage, &kind.entity, &kind.mention, &kind.spoken]
                .into_iter()
                .chain([&kind.conflict, &kind.outcome])
                .into_iter()
                .any(Option::is_some)
        });
        let read = if is_text {
            from_json(line, "").map(|line| self.texts.push(line))
        } else if is_carried {
            from_json(line, "").map(|line| self.carried.push((number, line)))
        } else {
            from_json(line, "").map(|line| self.beliefs.push((number, line)))
        };
        let hint = "an object to write stands under `object`; `tenure store put` takes objects as they are";
        read.map_err(|error| {
            let error = match error.expected {
                Some(_) => error.hint(hint),
                None => error.expected("a line of `tenure store export`, or an `object` to write"),
            };
            error.at("the import", Some(number))
        })
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.beliefs.len() + self.carried.len() + self.texts.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of texts.
    pub fn texts(&self) -> usize {
        self.texts.len()
    }
}

impl Tenant {
    /// Takes over the history of objects, with the instants at which it was believed. All of it, or
    /// nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when one of the objects is there already; [`ErrorKind::Input`] when two
    /// beliefs overlap, when one was believed later than now, or when a revision is not what its digest
    /// says; otherwise as [`Tenant::put`].
    pub fn import(&self, lines: Vec<Line>, writing: &Writing) -> Result<Written, Error> {
        self.import_with_texts(lines, Vec::new(), writing)
    }

    /// Imports with the texts of an export, which are kept under their digests; what is kept already stays.
    /// All of it, or nothing.
    ///
    /// # Errors
    ///
    /// As [`Tenant::import`]; [`ErrorKind::Input`] when a text does not match its digest;
    /// [`ErrorKind::Policy`] when one was erased here.
    pub fn import_with_texts(
        &self,
        lines: Vec<Line>,
        texts: Vec<TextLine>,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let import = Import {
            beliefs: (1..).zip(lines).collect(),
            carried: Vec::new(),
            texts,
        };
        self.import_whole(import, writing)
    }

    /// Takes over all lines of an export: the tenant then compiles what the tenant did that was exported, at every instant up to
    /// the export. All of it, or nothing.
    ///
    /// # Errors
    ///
    /// As [`Tenant::import_with_texts`]; [`ErrorKind::Input`] when a line speaks of an object that is not among them, or says what
    /// another one contradicts; [`ErrorKind::Conflict`] when something else is known here of one of the entities;
    /// [`ErrorKind::Policy`] when one of them was erased here. The error names the line.
    pub fn import_whole(&self, import: Import, writing: &Writing) -> Result<Written, Error> {
        let Import {
            beliefs,
            carried,
            texts,
        } = import;
        let texts = Blobs::read(texts)?;
        let asked = asked(&beliefs, &carried)?;
        let is_new = beliefs.iter().all(|(_, line)| line.tx_start.is_none());
        if is_new && carried.is_empty() {
            let puts = beliefs.into_iter().map(|(_, line)| Put::new(line.object));
            return self.put_with(puts.collect(), texts, writing);
        }
        let mut sealer = Sealer::default();
        let mut wording = Wording::default();
        let mut sealed = Vec::with_capacity(beliefs.len());
        for (number, mut line) in beliefs {
            let broken = |what: String| Error::input(what).at("the import", Some(number));
            let Some(opened) = line.tx_start else {
                return Err(
                    broken("the line has no `tx_start`, though others have".into())
                        .expected("either a history or objects to write, not both"),
                );
            };
            if line.tx_end.is_some_and(|end| end <= opened) {
                return Err(broken("`tx_end` is not after `tx_start`".into()));
            }
            if line.object.tenant_id.as_deref().is_some_and(|tenant| *tenant != *self.name) {
                let what = format!("`{}` belongs to another tenant", clip(&line.object.name));
                return Err(Error::new(ErrorKind::Policy, what).at("the import", Some(number)));
            }
            line.object.tenant_id = Some(self.name.to_string());
            let object = sealer.seal(line.object.clone())?;
            if line.revision.is_some_and(|revision| revision != object.revision().id()) {
                return Err(broken(format!(
                    "the revision of `{}` does not match its digest",
                    clip(object.name())
                )));
            }
            // What is believed no more is found by nothing.
            let said = match line.tx_end {
                None => wording.of(&object),
                Some(_) => Vec::new(),
            };
            sealed.push((line, object, opened, said));
        }
        let taken = ImportRows::read(carried, sealed.iter().map(|(_, object, ..)| &**object))?;
        let asked = texts.asked_with(asked);
        let (tenant, known) = (Arc::clone(&self.name), Arc::clone(&self.known));
        self.once(writing, "import", asked, move |rows| {
            texts.keep(rows)?;
            let stamp = rows.stamp()?;
            let ids: Vec<ObjectId> =
                sealed.iter().map(|(_, object, ..)| object.revision().object_id()).collect();
            if let Some((id, standing)) = rows.standing(&ids)?.first_key_value() {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!("`{}` ({id}) already exists", clip(&standing.name)),
                )
                .expected("a history of objects that do not exist yet")
                .hint("leave out `tx_start` and `tx_end` to write them as new"));
            }
            if let Some(id) = with_tombstones(rows, &ids)?.first() {
                return Err(Error::new(
                    ErrorKind::Policy,
                    format!("the object `{id}` was erased"),
                ));
            }
            let distinct: BTreeSet<&ObjectId> = ids.iter().collect();
            let first = match distinct.len() as u64 {
                0 => 0,
                count => rows.take_places(count)?,
            };
            let mut free = first..;
            let mut change = Change::default();
            let mut places: BTreeMap<ObjectId, (u64, Vec<BeliefRow>)> = BTreeMap::new();
            let mut order = Vec::new();
            let keyed = wording.keyed(&rows.key()?.unwrap_or_default());
            let mut names: BTreeMap<(ObjectId, RevisionId), &str> = BTreeMap::new();
            let mut said_of: BTreeMap<ObjectId, Vec<&Vec<u32>>> = BTreeMap::new();
            for (line, object, opened, said) in &sealed {
                let id = object.revision().object_id();
                let latest = line.tx_end.unwrap_or(*opened);
                if latest >= stamp.at {
                    return Err(Error::input(format!(
                        "`{}` has a belief at {latest}, which is in the future",
                        clip(object.name())
                    ))
                    .expected(format!("instants before {}", stamp.at)));
                }
                let (_, beliefs) = match places.entry(id) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(unknown) => {
                        order.push(id);
                        let place = free.next().unwrap_or_default();
                        unknown.insert((place, Vec::new()))
                    }
                };
                let part = beliefs.iter().filter(|row| row.opened.at == *opened).count() as u32;
                let row = revision_row(object)?;
                let labels = Arc::clone(&row.labels);
                let belief = line.belief(object, *opened, stamp.version, part, labels);
                if let Some(other) = beliefs.iter().find(|other| collide(other, &belief)) {
                    return Err(Error::input(format!(
                        "two beliefs about `{}` overlap: from {} and from {}",
                        clip(object.name()),
                        other.opened.at,
                        belief.opened.at
                    )));
                }
                beliefs.push(belief);
                said_of.entry(id).or_default().push(said);
                let revision = object.revision();
                names.insert((id, revision.id()), object.name());
                change.revisions.push(row);
                change.links.extend(revision.derived_from().iter().map(|parent| (id, *parent)));
                change.subjects.extend(revision.subjects().iter().map(|who| (id, who.clone())));
            }
            let mut known_by: BTreeMap<ObjectId, String> = BTreeMap::new();
            let mut notes: BTreeMap<ObjectId, WriteNote> = BTreeMap::new();
            for (_, object, ..) in sealed.iter().filter(|(line, ..)| line.tx_end.is_none()) {
                let id = object.revision().object_id();
                notes.extend(note_on_claim(object).map(|note| (id, note)));
            }
            let mut indexed: Vec<IndexRow> = Vec::with_capacity(places.len());
            let mut beside: BTreeSet<(ObjectId, RevisionId)> = BTreeSet::new();
            for (id, (place, beliefs)) in &places {
                let open: Vec<BeliefRow> =
                    beliefs.iter().filter(|row| row.closed.is_none()).cloned().collect();
                // What only waited says nothing of an object about which something was believed.
                if let Some(head) = head_of(beliefs) {
                    let name = names.get(&(*id, head)).copied().unwrap_or_default();
                    change.objects.push((*id, *place, name.to_owned(), head));
                    if !open.is_empty() {
                        known_by.insert(*id, name.to_owned());
                    }
                }
                let mut terms: Vec<u32> = Vec::new();
                for (row, said) in beliefs.iter().zip(said_of.remove(id).unwrap_or_default()) {
                    if row.closed.is_none() && is_alongside(row, &open) {
                        beside.insert((*id, row.revision));
                    } else {
                        terms.extend(said);
                    }
                }
                indexed.push(IndexRow {
                    object: *id,
                    place: *place,
                    terms: digests(terms, &keyed),
                });
            }
            change.open = places.into_values().flat_map(|(_, beliefs)| beliefs).collect();
            rows.change(&change)?;
            rows.index(&indexed)?;
            taken.write(rows)?;
            let claims: Vec<ObjectId> = sealed
                .iter()
                .map(|(_, object, ..)| object.revision())
                .filter(|revision| revision.normalized_claim().is_some())
                .map(|revision| revision.object_id())
                .collect::<BTreeSet<ObjectId>>()
                .into_iter()
                .collect();
            if taken.is_judged() {
                settle_judged(rows, &claims)?;
            } else {
                settle_claims(rows, &claims)?;
            }
            let believed: Vec<&ContextObject> = sealed
                .iter()
                .filter(|(line, ..)| line.tx_end.is_none())
                .map(|(_, object, ..)| &**object)
                .filter(|object| {
                    let revision = object.revision();
                    !beside.contains(&(revision.object_id(), revision.id()))
                })
                .collect();
            if !taken.is_bound() {
                for (id, note) in resolve_written(rows, &tenant, &known, &believed)? {
                    notes.entry(id).or_insert(note);
                }
            }
            let written = order.into_iter().map(|object_id| WrittenObject {
                object_id,
                name: known_by.remove(&object_id),
                revision: None,
                outcome: Outcome::Created,
                note: notes.remove(&object_id),
            });
            Ok(written.collect())
        })
    }
}

/// The digest of what is asked for, but for the texts.
fn asked(beliefs: &[(usize, Line)], carried: &[(usize, CarriedLine)]) -> Result<Digest, Error> {
    let failed = |error| Error::input(format!("the lines cannot be written as JSON: {error}"));
    let lines: Vec<&Line> = beliefs.iter().map(|(_, line)| line).collect();
    let own = Digest::of(&serde_json::to_vec(&lines).map_err(failed)?);
    if carried.is_empty() {
        return Ok(own);
    }
    let lines: Vec<&CarriedLine> = carried.iter().map(|(_, line)| line).collect();
    let carried = serde_json::to_vec(&lines).map_err(failed)?;
    Ok(Digest::of_parts([&own.bytes()[..], &carried]))
}

/// Returns whether two beliefs about one object were held at once for one time, or waited at once for one.
fn collide(a: &BeliefRow, b: &BeliefRow) -> bool {
    let end = |row: &BeliefRow| row.closed.map_or(i64::MAX, |closed| closed.at.micros());
    let start = |row: &BeliefRow| Instant::micros(row.opened.at);
    let at_once = start(a) < end(b) && start(b) < end(a);
    at_once && a.waits() == b.waits() && overlap(a.valid, b.valid)
}
