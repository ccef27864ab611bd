//! Lines that an import takes over besides beliefs and texts: checked line by line, and written as they were elsewhere.
//!
//! It is about objects of the same import, as they are new: what the tenant has, no line changes. The registry of entities is
//! added to where the tenant knows nothing of the same entities, or the very same.

use std::collections::{BTreeMap, BTreeSet};

use tenure::belief::entity::{EntityEntry, EntityOp, Mark};
use tenure::belief::{Ground, Loser};
use tenure::object::{ObjectId, ObjectType, RevisionId, Usage, clip};
use tenure::time::Instant;
use tenure::{ContextObject, Digest, Error, ErrorKind};

use crate::belief::claims::pair_row;
use crate::belief::decisions::MOST_NOTE;
use crate::belief::merges::pair_key;
use crate::copy::export_rows::{CarriedLine, ConflictLine, MentionLine, UsageLine};
use crate::entity::mentions;
use crate::entity::resolution::{LOG, entries, folded, ids_in, take_up};
use crate::entity::session_mentions::{Session, SpokenLine, place};
use crate::pending::outcomes::{self, OutcomeEntry};
use crate::rows::engine::{PairRow, Stamp, Write};
use crate::rows::stored::unwritable;
use crate::rows::tombstones::{entity_tombstone, with_tombstones};

/// Lines with their numbers.
type Numbered<T> = Vec<(usize, T)>;

/// Lines that an import takes over besides beliefs and texts, as far as they could be checked without the tenant.
pub(crate) struct ImportRows {
    usage: Vec<(ObjectId, Usage)>,
    entities: Numbered<EntityEntry>,
    mentions: Numbered<MentionLine>,
    /// Each with the session that the revision belongs to.
    spoken: Numbered<(SpokenLine, Vec<u8>)>,
    conflicts: Numbered<ConflictLine>,
    outcomes: Numbered<OutcomeEntry>,
}

/// The objects of an import, by their revisions.
type Objects<'o> = BTreeMap<ObjectId, BTreeMap<RevisionId, &'o ContextObject>>;

/// An error, at a line of the import.
fn at(line: usize, error: Error) -> Error {
    error.at("the import", Some(line))
}

impl ImportRows {
    /// Checks lines against the objects of the same import.
    pub(crate) fn read<'o>(
        lines: Numbered<CarriedLine>,
        objects: impl Iterator<Item = &'o ContextObject>,
    ) -> Result<ImportRows, Error> {
        let mut known: Objects<'_> = BTreeMap::new();
        for object in objects {
            let revision = object.revision();
            let own = known.entry(revision.object_id()).or_default();
            own.insert(revision.id(), object);
        }
        let mut taken = ImportRows {
            usage: Vec::new(),
            entities: Vec::new(),
            mentions: Vec::new(),
            spoken: Vec::new(),
            conflicts: Vec::new(),
            outcomes: Vec::new(),
        };
        let mut counted = BTreeSet::new();
        for (line, carried) in lines {
            let is_there = |id: ObjectId| {
                let found = known.get(&id).ok_or_else(|| missing(id));
                found.map_err(|error| at(line, error))
            };
            match carried {
                CarriedLine::Usage(usage) => {
                    is_there(usage.object_id)?;
                    if !counted.insert(usage.object_id) {
                        let what =
                            format!("a line before counts the uses of `{}`", usage.object_id);
                        return Err(at(line, Error::input(what).expected("one for each object")));
                    }
                    taken.usage.push(counters(usage));
                }
                CarriedLine::Entity(entry) => {
                    let last = taken.entities.last();
                    if let Some((_, last)) = last.filter(|(_, last)| entry.at < last.at) {
                        let what = format!(
                            "the entry is of {}, and the one before it of {}",
                            entry.at, last.at
                        );
                        let error = Error::input(what);
                        return Err(at(
                            line,
                            error.expected("the entries of the registry, the oldest first"),
                        ));
                    }
                    entry.check_source().map_err(|error| at(line, error))?;
                    if entry.source.is_none() {
                        entry.check().map_err(|error| at(line, error))?;
                    }
                    taken.entities.push((line, *entry));
                }
                CarriedLine::Mention(mention) => {
                    is_there(mention.object_id)?;
                    taken.mentions.push((line, mention));
                }
                CarriedLine::Spoken(spoken) => {
                    let revisions = is_there(spoken.object_id)?;
                    let of = revisions
                        .get(&spoken.revision)
                        .map(|object| place(object))
                        .transpose()?
                        .flatten();
                    let Some(of) = of else {
                        let what = format!(
                            "`{}` has no revision {} that belongs to a session",
                            spoken.object_id, spoken.revision
                        );
                        return Err(at(line, Error::input(what)));
                    };
                    taken.spoken.push((line, (spoken, of)));
                }
                CarriedLine::Conflict(conflict) => {
                    is_there(conflict.first)?;
                    is_there(conflict.second)?;
                    check_conflict(&conflict).map_err(|error| at(line, error))?;
                    taken.conflicts.push((line, *conflict));
                }
                CarriedLine::Outcome(outcome) => {
                    let revisions = is_there(outcome.object_id)?;
                    let is_outcome = |object: &&ContextObject| {
                        object.revision().object_type() == ObjectType::Outcome
                    };
                    if !revisions.values().any(is_outcome) {
                        let what = format!("`{}` is no outcome", outcome.object_id);
                        return Err(at(line, Error::input(what)));
                    }
                    taken.outcomes.push((line, outcome));
                }
            }
        }
        outcomes::check_steps(&taken.outcomes).map_err(|(line, error)| at(line, error))?;
        refuse_circle(&taken.conflicts)?;
        Ok(taken)
    }

    /// Returns whether the names in the texts were bound where the objects come from.
    pub(crate) fn is_bound(&self) -> bool {
        !(self.entities.is_empty() && self.mentions.is_empty() && self.spoken.is_empty())
    }

    /// Returns whether the claims were judged where the objects come from.
    pub(crate) fn is_judged(&self) -> bool {
        !self.conflicts.is_empty()
    }

    /// Writes it, in the transaction that has written the objects.
    pub(crate) fn write(&self, rows: &mut dyn Write) -> Result<(), Error> {
        let stamp = rows.stamp()?;
        self.refuse_future(stamp)?;
        self.refuse_erased(rows)?;
        if !self.usage.is_empty() {
            rows.count(&self.usage)?;
        }
        self.write_entities(rows)?;
        let mentions = self.mentions.iter().map(|(_, line)| mentions::Line {
            at: line.at,
            source: line.object_id,
            text: line.text_digest,
            mentions: line.entities.clone(),
        });
        mentions::append(rows, &mentions.collect::<Vec<_>>())?;
        let key = rows.key()?.unwrap_or_default();
        let mut sessions: BTreeMap<&[u8], Session> = BTreeMap::new();
        for (_, (line, place)) in &self.spoken {
            if !sessions.contains_key(&**place) {
                sessions.insert(place, Session::read(rows, &key, place)?);
            }
            if let Some(session) = sessions.get_mut(&**place) {
                session.speaks(line.object_id, line.entities.clone())?;
            }
        }
        sessions.values().try_for_each(|one| one.append(rows))?;
        self.write_conflicts(rows, stamp, &key)?;
        outcomes::take(rows, &self.outcomes)
    }

    /// Refuses what was done later than now.
    fn refuse_future(&self, stamp: Stamp) -> Result<(), Error> {
        let entities = self.entities.iter().map(|(line, entry)| (line, entry.at));
        let mentions = self.mentions.iter().map(|(line, one)| (line, one.at));
        let outcomes = self.outcomes.iter().map(|(line, one)| (line, one.at));
        let conflicts = self
            .conflicts
            .iter()
            .map(|(line, one)| (line, one.tx_end.unwrap_or(one.tx_start)));
        let mut all = entities.chain(mentions).chain(outcomes).chain(conflicts);
        let Some((line, late)) = all.find(|(_, at)| *at >= stamp.at) else {
            return Ok(());
        };
        let error = Error::input(format!("{late} is in the future"));
        Err(at(
            *line,
            error.expected(format!("instants before {}", stamp.at)),
        ))
    }

    /// Refuses what speaks of what was erased here.
    fn refuse_erased(&self, rows: &mut dyn Write) -> Result<(), Error> {
        let Some(key) = rows.key()? else {
            return Ok(());
        };
        if !rows.any_tombstone()? {
            return Ok(());
        }
        let sources: BTreeSet<ObjectId> =
            self.entities.iter().filter_map(|(_, entry)| entry.source).collect();
        let sources = with_tombstones(rows, &sources.into_iter().collect::<Vec<_>>())?;
        for (line, entry) in &self.entities {
            if let Some(id) = entry.source.filter(|id| sources.contains(id)) {
                return Err(at(*line, erased(&format!("the object `{id}`"))));
            }
        }
        let mut named: BTreeMap<Digest, (usize, &str)> = BTreeMap::new();
        let mut names = |line: usize, text| {
            let digest = entity_tombstone(&key, text);
            named.entry(digest).or_insert((line, text));
        };
        for (line, entry) in &self.entities {
            ids_in(&entry.does).into_iter().for_each(|id| names(*line, id));
            let mail = match &entry.does {
                EntityOp::Create { metadata, .. } => metadata.mail.as_deref(),
                EntityOp::Mark {
                    mark: Mark::Mail,
                    value,
                    ..
                } => value.as_deref(),
                _ => None,
            };
            mail.into_iter().for_each(|mail| names(*line, mail));
        }
        for (line, ids) in self.mentions.iter().map(|(line, one)| (line, &one.entities)) {
            ids.iter().for_each(|id| names(*line, id));
        }
        for (line, (spoken, _)) in &self.spoken {
            spoken.entities.iter().for_each(|id| names(*line, id));
        }
        let digests: Vec<Digest> = named.keys().copied().collect();
        let found =
            rows.tombstones(&digests)?.iter().filter_map(|one| named.get(&one.digest)).min();
        found.map_or(Ok(()), |(line, text)| {
            Err(at(*line, erased(&format!("the entity `{}`", clip(text)))))
        })
    }

    /// Adds what is said of entities of which the tenant knows nothing, or this.
    fn write_entities(&self, rows: &mut dyn Write) -> Result<(), Error> {
        if self.entities.is_empty() {
            return Ok(());
        }
        let before = entries(rows)?;
        let json =
            |entry: &EntityEntry| serde_json::to_string(entry).map_err(|error| unwritable(&error));
        let said: BTreeSet<String> = before.iter().map(json).collect::<Result<_, _>>()?;
        let mut all = folded(&before);
        let made: BTreeSet<&str> = self
            .entities
            .iter()
            .filter_map(|(_, entry)| match &entry.does {
                EntityOp::Create { id, .. } => Some(&**id),
                _ => None,
            })
            .collect();
        let mut fresh: BTreeSet<&str> = BTreeSet::new();
        let mut lines = Vec::with_capacity(self.entities.len());
        for (line, entry) in &self.entities {
            let text = json(entry)?;
            if said.contains(&text) {
                continue;
            }
            let is_known = |id: &&str| all.holds(id) && !fresh.contains(id);
            if let Some(id) = ids_in(&entry.does).into_iter().find(is_known) {
                let what = format!("the tenant has the entity `{}` already", clip(id));
                let error = Error::new(ErrorKind::Conflict, what)
                    .expected(
                        "an entity that is not there, or of which the very same was said there",
                    )
                    .hint("import into a tenant of its own, or remove the lines that are about it");
                return Err(at(*line, error));
            }
            take_up(&mut all, entry, &|id| made.contains(id)).map_err(|error| at(*line, error))?;
            if let EntityOp::Create { id, .. } = &entry.does {
                fresh.insert(id);
            }
            lines.push(text);
        }
        let last = rows.last(LOG)?;
        if !rows.append(LOG, last, &lines)? {
            return Err(Error::assertion(
                "the log of entities has one writer at a time",
            ));
        }
        Ok(())
    }

    /// Puts in the judgements on pairs, as long as they were held.
    fn write_conflicts(
        &self,
        rows: &mut dyn Write,
        stamp: Stamp,
        key: &[u8; 32],
    ) -> Result<(), Error> {
        if self.conflicts.is_empty() {
            return Ok(());
        }
        let mut held: BTreeMap<_, Vec<(Instant, Option<Instant>, usize)>> = BTreeMap::new();
        let mut pairs = Vec::with_capacity(self.conflicts.len());
        for (line, conflict) in &self.conflicts {
            let kept = conflict.kept();
            let stamped = |at| Stamp {
                version: stamp.version,
                at,
            };
            let row = PairRow {
                first: conflict.first,
                second: conflict.second,
                slot: pair_key(key, &kept),
                opened: stamped(conflict.tx_start),
                closed: None,
                body: String::new(),
            };
            let row = PairRow {
                closed: conflict.tx_end.map(stamped),
                ..pair_row(&row, &kept)?
            };
            let of = held.entry((row.first, row.second, row.slot)).or_default();
            of.push((conflict.tx_start, conflict.tx_end, *line));
            pairs.push(row);
        }
        for times in held.values_mut() {
            times.sort_unstable_by_key(|(from, ..)| *from);
            for both in times.windows(2) {
                let ((from, until, _), (next, _, line)) = (both[0], both[1]);
                if until.is_none_or(|until| next < until) {
                    let what =
                        format!("two judgements on one pair overlap: from {from} and from {next}");
                    return Err(at(line, Error::input(what)));
                }
            }
        }
        rows.put_pairs(&pairs)
    }
}

fn missing(id: ObjectId) -> Error {
    Error::input(format!("no line before has the object `{id}`"))
        .expected("an object of the same import, with its `tx_start`")
        .hint("take over all lines of the export, in their order")
}

fn erased(what: &str) -> Error {
    Error::new(ErrorKind::Policy, format!("{what} was erased")).hint("remove this line")
}

fn counters(line: UsageLine) -> (ObjectId, Usage) {
    let UsageLine {
        object_id,
        access_count,
        last_used,
        last_confirmed,
    } = line;
    let usage = Usage {
        // A store counts so far.
        access_count: access_count.min(i64::MAX as u64),
        last_used,
        last_confirmed,
    };
    (object_id, usage)
}

/// Checks a judgement by itself.
fn check_conflict(line: &ConflictLine) -> Result<(), Error> {
    if line.first >= line.second {
        let what = format!("`first` ({}) is not the lower id", line.first);
        return Err(Error::input(what).expected("two objects, the one with the lower id first"));
    }
    if line.tx_end.is_some_and(|end| end <= line.tx_start) {
        return Err(Error::input("`tx_end` is not after `tx_start`"));
    }
    let is_decision = line.ground == Ground::Person;
    if !is_decision && (line.by.is_some() || line.note.is_some()) {
        let what = "`by` and `note` are of what somebody decided";
        return Err(Error::input(what).expected("the ground `person` beside them"));
    }
    if line.note.as_ref().is_some_and(|note| note.len() > MOST_NOTE) {
        return Err(Error::input("the note of a decision is too long")
            .expected(format!("at most {MOST_NOTE} bytes")));
    }
    Ok(())
}

/// Refuses decisions that hold and go round in a circle: all in it would be out.
fn refuse_circle(conflicts: &[(usize, ConflictLine)]) -> Result<(), Error> {
    let mut over: BTreeMap<ObjectId, Vec<(ObjectId, usize)>> = BTreeMap::new();
    let mut won: BTreeMap<ObjectId, usize> = BTreeMap::new();
    for (line, one) in conflicts {
        let (winner, loser) = match one.loser {
            _ if one.ground != Ground::Person || one.tx_end.is_some() => continue,
            Loser::First => (one.second, one.first),
            Loser::Second => (one.first, one.second),
            _ => continue,
        };
        over.entry(winner).or_default().push((loser, *line));
        *won.entry(loser).or_default() += 1;
    }
    // Whoever loses to nobody is taken out, until nothing is left but circles.
    let mut free: Vec<ObjectId> = over.keys().copied().collect();
    free.retain(|id| !won.contains_key(id));
    while let Some(id) = free.pop() {
        for (loser, _) in over.remove(&id).unwrap_or_default() {
            if let Some(left) = won.get_mut(&loser) {
                *left -= 1;
                if *left == 0 {
                    free.push(loser);
                }
            }
        }
    }
    let Some((winner, (loser, line))) = over
        .iter()
        .filter_map(|(id, all)| Some((id, all.iter().max_by_key(|(_, line)| line)?)))
        .max_by_key(|(_, (_, line))| line)
    else {
        return Ok(());
    };
    let what = format!("decisions go round in a circle, with `{winner}` over `{loser}`");
    let error = Error::new(ErrorKind::Conflict, what)
        .expected("decisions of which one, at least, stands over all others")
        .hint("remove one of them");
    Err(at(*line, error))
}
