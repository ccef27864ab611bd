//! The verbs over conflicts: pairs of claims that cannot both hold, and what was ever judged of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;
use tenure::belief::{Ground, Judgement, Loser, slot_name};
use tenure::object::{Authority, ContradictionStatus, ObjectId, SourceKind, clip};
use tenure::time::{Instant, Interval};
use tenure::{ContextObject, Error};

use crate::belief::claims::{Claims, Kept, by_object, claiming_seen, kept};
use crate::belief::merges::{Merges, pair_on_slot};
use crate::rows::engine::{PairRow, PairRun, Read};
use crate::rows::labels::{Sees, open_objects};
use crate::rows::stored::unwritable;
use crate::tenant::handle::Tenant;

/// The most pairs that are read at once: a page of a thousand, the pair after it, and one that more may follow of.
const AT_ONCE: usize = 1_002;
/// The fewest.
const AT_LEAST: usize = 64;
/// The most objects that are kept while further pairs are read.
const MOST_SPEAKERS: usize = 4_096;

/// One of the two objects of a conflict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Party {
    /// Its id.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// Its claims on the slot, as they are read: those of the instant that the conflict names, or of now.
    pub claims: Vec<String>,
    /// The time of each of them, in the same order.
    pub valid: Vec<Held>,
}

/// The time for which something is claimed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Held {
    /// Its begin; missing means unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Instant>,
    /// Its end; missing means open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
}

impl Held {
    const fn of(valid: Interval) -> Held {
        Held {
            from: valid.from,
            until: valid.until,
        }
    }
}

/// A way in which a conflict can be resolved without asking the model: what knows best goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResolverAction {
    /// A look at the system of record that one of them comes from (`provenance.source_kind`), or at the place that it is kept up to
    /// date from (`update_path`).
    SystemOfRecord,
    /// Another look by the tool that one of them comes from: a result of it, or what `provenance.source_kind` says so of.
    ToolLookup,
    /// A question to the user.
    UserQuestion,
}

/// A judgement on the claims of two objects on one slot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Conflict {
    /// The object with the lower id.
    pub first: Party,
    /// The other one.
    pub second: Party,
    /// The entity.
    pub entity: String,
    /// The slot.
    pub slot: String,
    /// The one that does not stand.
    pub loser: Loser,
    /// The ground.
    pub ground: Ground,
    /// The judgement on the loser.
    pub status: ContradictionStatus,
    /// Since when both hold; missing means unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Instant>,
    /// Until when both hold; missing means open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
    /// The instant since which it is so judged.
    pub tx_start: Instant,
    /// The instant since which it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_end: Option<Instant>,
    /// The instant of which the claims of both are: of a judgement that has ended, that at which it was made; of a list of an
    /// instant, that one. Missing where they are those of now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<Instant>,
    /// The ids that the two objects name, where they are one entity only by a merge, as the caller may know of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<[String; 2]>,
    /// The author of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The note on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The authorities of the first and the second object, where an operator decided against the higher one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorities: Option<[Authority; 2]>,
    /// The ways to resolve it, where nothing tells the two apart or the loser is an inferred preference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ResolverAction>,
}

/// The place of a pair in the list: the ids of both objects, as `FIRST/SECOND`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PairMark(pub ObjectId, pub ObjectId);

impl fmt::Display for PairMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, self.1)
    }
}

impl FromStr for PairMark {
    type Err = Error;

    fn from_str(text: &str) -> Result<PairMark, Error> {
        let ids = text.split_once('/');
        ids.and_then(|(first, second)| Some(PairMark(first.parse().ok()?, second.parse().ok()?)))
            .ok_or_else(|| {
                Error::input(format!("`{}` is no place in the list", clip(text)))
                    .expected("FIRST/SECOND, two ids: where the page before ended")
            })
    }
}

impl Serialize for PairMark {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The conflicts that are asked for: all of them now, unless it says less.
#[derive(Clone, Copy, Default)]
pub struct ConflictQuery<'q> {
    /// The instant at which they were held.
    pub known: Option<Instant>,
    /// The caller.
    pub sees: Option<&'q Sees<'q>>,
    /// The id of the entity, or of one that is merged with it.
    pub entity: Option<&'q str>,
    /// The slot.
    pub slot: Option<&'q str>,
    /// Those alone that wait for a decision.
    pub waiting: bool,
    /// The pair behind which a page begins.
    pub after: Option<PairMark>,
}

/// A page of conflicts, by the ids of both objects.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ConflictPage {
    /// The conflicts.
    pub conflicts: Vec<Conflict>,
    /// The mark behind which the next page begins, where there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<PairMark>,
}

impl Tenant {
    /// All judgements on pairs of claims that cannot both hold, now or at an instant: the pages of
    /// [`Tenant::conflict_page`] in one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn conflicts(
        &self,
        known: Option<Instant>,
        sees: Option<&Sees<'_>>,
    ) -> Result<Vec<Conflict>, Error> {
        let query = ConflictQuery {
            known,
            sees,
            ..ConflictQuery::default()
        };
        Ok(self.conflict_page(&query, usize::MAX)?.conflicts)
    }

    /// The judgements on pairs of claims that cannot both hold: the first `most`, and what else there is of the last two
    /// objects. A caller is told of those of which both claims may be seen; of pairs that only a merge of entities makes, those
    /// that do so in the caller's view: they are judged as this is asked, over all claims, which a tenant without merges
    /// does not pay for. Memory holds what is shown.
    ///
    /// # Errors
    ///
    /// As [`Tenant::conflicts`].
    pub fn conflict_page(
        &self,
        query: &ConflictQuery<'_>,
        most: usize,
    ) -> Result<ConflictPage, Error> {
        self.read(|rows| page(rows, &self.name, query, most))
    }

    /// Every judgement on the claims of two objects, the oldest first, each with what both claimed when it was made, or do now
    /// where it holds; empty for a caller who may not see both.
    ///
    /// # Errors
    ///
    /// As [`Tenant::conflicts`].
    pub fn conflict_history(
        &self,
        one: ObjectId,
        other: ObjectId,
        sees: Option<&Sees<'_>>,
    ) -> Result<Vec<Conflict>, Error> {
        self.read(|rows| {
            let (first, second) = (one.min(other), one.max(other));
            let merges = Merges::read(rows, &self.name, None, sees)?;
            let mut judged = rows.pair_history(first, second)?;
            if let Some(merges) = &merges {
                judged = merges.with_made(rows, &self.name, sees, (first, second), judged)?;
            }
            let mut view = Told::new(&self.name, merges, sees);
            let mut history = Vec::with_capacity(judged.len());
            for row in judged {
                let then = row.closed.map(|_| row.opened.at);
                let kept = kept(&row)?;
                if view.joins(&kept) {
                    history.extend(view.shown(rows, then, vec![(row, kept)])?);
                }
            }
            Ok(history)
        })
    }
}

fn page(
    rows: &mut dyn Read,
    tenant: &str,
    query: &ConflictQuery<'_>,
    most: usize,
) -> Result<ConflictPage, Error> {
    let slot = query.slot.map(slot_name);
    let query = &ConflictQuery {
        slot: slot.as_deref(),
        ..*query
    };
    let merges = Merges::read(rows, tenant, query.known, query.sees)?;
    let mut made = match &merges {
        Some(merges) => made(rows, tenant, merges, query, most)?.into_iter(),
        None => Vec::new().into_iter(),
    }
    .peekable();
    let having = query.having(merges.is_some())?;
    let mut view = Told::new(tenant, merges, query.sees);
    let mut found = ConflictPage {
        conflicts: Vec::new(),
        next: None,
    };
    // One more than the page says whether there is another; the last may have more behind it, and is left for the next look.
    let mut at_once = most.saturating_add(2).clamp(AT_LEAST, AT_ONCE);
    let mut after = query.after;
    loop {
        let mut run = rows.pair_run(&PairRun {
            known: query.known,
            after: after.map(|PairMark(first, second)| (first, second)),
            most: at_once as u32,
            having: having.each_ref().map(String::as_str),
        })?;
        let is_last = run.len() < at_once;
        if !is_last {
            // More of the last two may follow, which stay together.
            let end = run.last().map(pair);
            let kept = run.iter().take_while(|row| Some(pair(row)) != end).count();
            if kept == 0 {
                at_once *= 2;
                continue;
            }
            run.truncate(kept);
        }
        let end = run.last().map(pair);
        while let Some(row) = made.next_if(|row| is_last || Some(pair(row)) <= end) {
            run.push(row);
        }
        run.sort_by_key(|row| (row.first, row.second, row.slot));
        let mut wanted = Vec::with_capacity(run.len());
        for row in run {
            let kept = kept(&row)?;
            if view.joins(&kept) && query.wants(view.merges.as_ref(), &kept) {
                wanted.push((row, kept));
            }
        }
        for conflict in view.shown(rows, query.known, wanted)? {
            let of = PairMark(conflict.first.object_id, conflict.second.object_id);
            let last = found
                .conflicts
                .last()
                .map(|last| PairMark(last.first.object_id, last.second.object_id));
            if found.conflicts.len() >= most && last != Some(of) {
                found.next = last;
                return Ok(found);
            }
            found.conflicts.push(conflict);
        }
        if is_last {
            return Ok(found);
        }
        after = end;
    }
}

fn pair(row: &PairRow) -> PairMark {
    PairMark(row.first, row.second)
}

/// The undecided judgements that only a merge makes, after the mark of a page: at most one more than the page shows.
fn made(
    rows: &mut dyn Read,
    tenant: &str,
    merges: &Merges,
    query: &ConflictQuery<'_>,
    most: usize,
) -> Result<Vec<PairRow>, Error> {
    let decided = merges.acting(rows.decided(None, query.known)?)?;
    let most = most.saturating_add(1);
    merges.pairs(rows, tenant, (query.known, query.sees), most, &|row| {
        query.after.is_none_or(|after| after < pair(row))
            && !decided.contains(&pair_on_slot(row))
            && kept(row).is_ok_and(|kept| query.wants(Some(merges), &kept))
    })
}

impl ConflictQuery<'_> {
    /// The parts of judgements that are wanted, as they are written.
    fn having(&self, merges: bool) -> Result<[String; 3], Error> {
        let part = |name: &str, value: Option<&str>| match value {
            Some(value) => {
                let value = serde_json::to_string(value).map_err(|error| unwritable(&error))?;
                Ok(format!("\"{name}\":{value}"))
            }
            None => Ok(String::new()),
        };
        // What is merged goes by other ids, too.
        let entity = self.entity.filter(|_| !merges);
        let loser = self.waiting.then_some("both");
        Ok([
            part("entity", entity)?,
            part("slot", self.slot)?,
            part("loser", loser)?,
        ])
    }

    fn wants(&self, merges: Option<&Merges>, kept: &Kept) -> bool {
        let is_entity = |wanted: &str| {
            let is_one = |id: &str| {
                id == wanted
                    || merges.is_some_and(|merges| merges.join(&[id.to_owned(), wanted.to_owned()]))
            };
            is_one(&kept.entity) || kept.named().into_iter().any(is_one)
        };
        self.slot.is_none_or(|slot| kept.slot == slot)
            && self.entity.is_none_or(is_entity)
            && (!self.waiting || waits(kept))
    }
}

/// Returns whether nothing says which of the two stands.
fn waits(kept: &Kept) -> bool {
    kept.loser == Loser::Both && kept.ground != Ground::Person
}

/// Those of these judgements that hold now which a caller is told of.
pub(crate) fn told_of<K>(
    rows: &mut dyn Read,
    tenant: &str,
    (merges, sees): (Option<Merges>, Option<&Sees<'_>>),
    judged: Vec<(PairRow, Kept, K)>,
) -> Result<Vec<(PairRow, Kept, K)>, Error> {
    let mut view = Told::new(tenant, merges, sees);
    let mut told = Vec::with_capacity(judged.len());
    for (row, kept, of) in judged {
        let one = vec![(row.clone(), kept.clone())];
        if view.joins(&kept) && !view.shown(rows, None, one)?.is_empty() {
            told.push((row, kept, of));
        }
    }
    Ok(told)
}

/// Conflicts as a caller is told of them.
struct Told<'v> {
    tenant: &'v str,
    merges: Option<Merges>,
    sees: Option<&'v Sees<'v>>,
    /// The objects that were looked at, and whether they may be seen.
    seen: BTreeMap<ObjectId, bool>,
    /// Claims of objects at `known`, or now: of the many pairs of a slot, each object is read once.
    speakers: BTreeMap<ObjectId, Speaker>,
    known: Option<Instant>,
}

/// Claims of an object at an instant.
#[derive(Default)]
struct Speaker {
    name: String,
    claims: Claims,
    actions: BTreeSet<ResolverAction>,
}

impl<'v> Told<'v> {
    fn new(tenant: &'v str, merges: Option<Merges>, sees: Option<&'v Sees<'v>>) -> Told<'v> {
        Told {
            tenant,
            merges,
            sees,
            seen: BTreeMap::new(),
            speakers: BTreeMap::new(),
            known: None,
        }
    }

    /// Returns whether a judgement is one in this view: what only a merge makes a pair is one where it does so there.
    fn joins(&self, kept: &Kept) -> bool {
        kept.merged
            .as_ref()
            .is_none_or(|ids| self.merges.as_ref().is_some_and(|merges| merges.join(ids)))
    }

    /// Those of these judgements of which both objects may be seen.
    fn open(
        &mut self,
        rows: &mut dyn Read,
        mut judged: Vec<(PairRow, Kept)>,
    ) -> Result<Vec<(PairRow, Kept)>, Error> {
        if self.sees.is_none() {
            return Ok(judged);
        }
        let ids: BTreeSet<ObjectId> = judged
            .iter()
            .flat_map(|(row, _)| [row.first, row.second])
            .filter(|id| !self.seen.contains_key(id))
            .collect();
        self.seen.extend(ids.iter().map(|id| (*id, false)));
        let open = open_objects(rows, self.tenant, ids.into_iter().collect(), self.sees)?;
        self.seen.extend(open.into_iter().map(|id| (id, true)));
        let is_open = |id: ObjectId| self.seen.get(&id) == Some(&true);
        judged.retain(|(row, _)| is_open(row.first) && is_open(row.second));
        Ok(judged)
    }

    /// Reads what these objects say at an instant, or now, where that is not known yet.
    fn hear(
        &mut self,
        rows: &mut dyn Read,
        ids: BTreeSet<ObjectId>,
        known: Option<Instant>,
    ) -> Result<(), Error> {
        if self.known != known || self.speakers.len() + ids.len() > MOST_SPEAKERS {
            self.speakers.clear();
            self.known = known;
        }
        let ids: Vec<ObjectId> =
            ids.into_iter().filter(|id| !self.speakers.contains_key(id)).collect();
        let speakers = &mut self.speakers;
        speakers.extend(ids.iter().map(|id| (*id, Speaker::default())));
        if self.sees.is_none() {
            for (id, standing) in rows.standing(&ids)? {
                speakers.entry(id).or_default().name = standing.name;
            }
        }
        let held = claiming_seen(rows, self.tenant, &ids, known, self.sees)?;
        for (_, row, object) in &held {
            let speaker = speakers.entry(row.object).or_default();
            if self.sees.is_some() {
                object.name().clone_into(&mut speaker.name);
            }
            speaker.actions.extend(actions(object));
        }
        for (id, claims) in by_object(held) {
            speakers.entry(id).or_default().claims = claims;
        }
        Ok(())
    }

    /// These judgements, as they are shown: with what both claim now, or did at an instant.
    fn shown(
        &mut self,
        rows: &mut dyn Read,
        known: Option<Instant>,
        judged: Vec<(PairRow, Kept)>,
    ) -> Result<Vec<Conflict>, Error> {
        let judged = self.open(rows, judged)?;
        let ids = judged.iter().flat_map(|(row, _)| [row.first, row.second]);
        self.hear(rows, ids.collect(), known)?;
        let none = Speaker::default();
        let mut conflicts = Vec::with_capacity(judged.len());
        for (row, kept) in judged {
            let both =
                [row.first, row.second].map(|id| (id, self.speakers.get(&id).unwrap_or(&none)));
            let [first, second] = kept.named();
            let (first, second) = (
                party(both[0], first, &kept.slot),
                party(both[1], second, &kept.slot),
            );
            // Of an object, a caller may see what it says of another time alone.
            let is_seen = |party: &Party| self.sees.is_none() || !party.claims.is_empty();
            if !is_seen(&first) || !is_seen(&second) {
                continue;
            }
            let merges = self.merges.as_ref().filter(|_| kept.merged.is_some());
            let entity = merges
                .and_then(|merges| merges.meant(kept.named()[0]))
                .unwrap_or(&kept.entity)
                .to_owned();
            let judgement = Judgement {
                loser: kept.loser,
                window: Interval::UNKNOWN,
                ground: kept.ground,
            };
            let mut ways = BTreeSet::new();
            if waits(&kept) {
                ways.extend(both.iter().flat_map(|(_, speaker)| &speaker.actions).copied());
                ways.insert(ResolverAction::UserQuestion);
            }
            conflicts.push(Conflict {
                first,
                second,
                status: if kept.loser == Loser::Neither {
                    ContradictionStatus::Clean
                } else {
                    judgement.status()
                },
                entity,
                slot: kept.slot,
                loser: kept.loser,
                ground: kept.ground,
                from: kept.from,
                until: kept.until,
                tx_start: row.opened.at,
                tx_end: row.closed.map(|closed| closed.at),
                claimed_at: known,
                merged: kept.merged,
                by: kept.by,
                note: kept.note,
                authorities: kept.authorities,
                actions: ways.into_iter().collect(),
            });
        }
        Ok(conflicts)
    }
}

/// An object with its claims on a slot, as it is shown.
fn party((id, speaker): (ObjectId, &Speaker), entity: &str, slot: &str) -> Party {
    let own: Vec<_> = speaker
        .claims
        .iter()
        .filter(|(of, claim)| of == entity && claim.claim.slot() == slot)
        .map(|(_, claim)| claim)
        .collect();
    Party {
        object_id: id,
        name: clip(&speaker.name),
        claims: own.iter().map(|claim| claim.claim.to_string()).collect(),
        valid: own.iter().map(|claim| Held::of(claim.standing.valid)).collect(),
    }
}

/// The ways to resolve a conflict that an object in it tells of, by where it comes from and by what it is kept up to date from.
fn actions(object: &ContextObject) -> impl Iterator<Item = ResolverAction> {
    let revision = object.revision();
    let kind = match revision.source_kind() {
        SourceKind::SystemOfRecord => Some(ResolverAction::SystemOfRecord),
        SourceKind::Tool => Some(ResolverAction::ToolLookup),
        _ => None,
    };
    revision
        .update_path()
        .map(|_| ResolverAction::SystemOfRecord)
        .into_iter()
        .chain(kind)
}
