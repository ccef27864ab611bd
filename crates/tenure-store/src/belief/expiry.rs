//! Evidence that is over: what becomes of the beliefs that it was evidence for.
//!
//! A time that ends is no write, so a sweep looks for what has ended since: what was inferred, and has nothing left for it, ends
//! when the last of its evidence did; the rest is lowered to the least that its evidence gave it at any such end. So one late
//! sweep comes to the same as many. What a person confirmed does not stand on what only claims the same, as where that falls
//! otherwise ([`crate::belief::support`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use tenure::belief::{Direction, SlotClaim};
use tenure::num::Score;
use tenure::object::{ObjectId, ObjectType, RevisionId};
use tenure::time::Instant;
use tenure::{ContextObject, Digest, Error, ErrorKind};

use crate::belief::claims::{MOST_OPPONENTS, settle_claims, slots_of};
use crate::belief::evidence::{Gathered, Link, Weakening, confidence_of, gather_for_all};
use crate::belief::support::{ever_confirmed, lower_to};
use crate::rows::engine::{BeliefRow, Read, Write};
use crate::tenant::alongside::only_proposed_from;
use crate::tenant::current::{Fresh, current_whole};
use crate::tenant::handle::Tenant;
use crate::tenant::index::index;
use crate::tenant::writing::{Writing, Written, WrittenObject};

/// The most objects that are read at once.
const AT_ONCE: usize = 1_024;
/// The most objects that are looked at around one belief.
const MOST_NEAR: usize = 4_096;

/// A belief of which evidence is over since it was written.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Weakened {
    /// The object.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// Evidence of it that is over: the last that ended.
    pub over: ObjectId,
    /// The confidence that it has.
    pub stated: Score,
    /// Remains of it.
    #[serde(flatten)]
    pub becomes: Weakening,
    /// The revision that was weighed, and the most that its confidence may be.
    #[serde(skip)]
    at_most: (RevisionId, Option<Score>),
}

impl Tenant {
    /// The beliefs of which evidence is over at this instant, and that no sweep has lowered or ended since: by id.
    pub(crate) fn weakened(&self, now: Instant) -> Result<Vec<Weakened>, Error> {
        self.read(|rows| weakened(rows, now))
    }

    /// Lowers and ends these beliefs, in one write; returns which.
    pub(crate) fn weaken(&self, now: Instant, writing: &Writing) -> Result<Vec<Weakened>, Error> {
        let found = self.weakened(now)?;
        if found.is_empty() {
            return Ok(found);
        }
        let named: Vec<String> = found.iter().map(|one| one.object_id.to_string()).collect();
        let asked = Digest::of(format!("{now} {}", named.join(" ")).as_bytes());
        // It writes what is not so yet, whatever was written under the same key.
        let writing = Writing {
            idempotency_key: None,
            ..writing.clone()
        };
        let written = self.once(&writing, "expire", asked, move |rows| {
            // From here on no other writer comes between.
            rows.stamp()?;
            let found = weakened(rows, now)?;
            apply(rows, &found)
        })?;
        let done: BTreeSet<ObjectId> = written.objects.iter().map(|one| one.object_id).collect();
        let found = found.into_iter();
        Ok(found.filter(|one| done.contains(&one.object_id)).collect())
    }

    /// Lowers or ends one belief of which evidence is over, as the next sweep would.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when nothing of its evidence is over that no sweep has written down yet;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn weaken_one(
        &self,
        id: ObjectId,
        now: Instant,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let asked = Digest::of(id.to_string().as_bytes());
        self.once(writing, "expire", asked, move |rows| {
            rows.stamp()?;
            let mut found = weakened(rows, now)?;
            found.retain(|one| one.object_id == id);
            if found.is_empty() {
                let what = format!("no evidence of `{id}` is over that is not written down");
                return Err(Error::new(ErrorKind::Conflict, what));
            }
            apply(rows, &found)
        })
    }
}

fn apply(rows: &mut dyn Write, found: &[Weakened]) -> Result<Vec<WrittenObject>, Error> {
    let (mut most, mut ends) = (BTreeMap::new(), BTreeMap::new());
    for one in found {
        let (revision, confidence) = one.at_most;
        most.extend(confidence.map(|most| (one.object_id, most)));
        if let Weakening::Ends(end) = one.becomes {
            ends.insert(one.object_id, (revision, end));
        }
    }
    let written = lower_to(rows, &most, &ends)?;
    let ended: Vec<ObjectId> = ends.into_keys().collect();
    index(rows, &ended)?;
    let changed: Vec<ObjectId> = written.iter().map(|one| one.object).collect();
    let claiming: Vec<ObjectId> = rows.claiming(&changed)?.into_iter().collect();
    settle_claims(rows, &claiming)?;
    Ok(written.into_iter().map(WrittenObject::from).collect())
}

/// The beliefs of which evidence is over at this instant, by id: those that were inferred, and that were believed as they are
/// before it ended.
pub(crate) fn weakened(rows: &mut dyn Read, now: Instant) -> Result<Vec<Weakened>, Error> {
    let over = rows.over(now)?;
    weakened_by(rows, over, now)
}

/// Finds what is left of one belief, where evidence of it is over; what is over elsewhere is not looked at.
pub(crate) fn weakening_of(
    rows: &mut dyn Read,
    id: ObjectId,
    now: Instant,
) -> Result<Option<Weakening>, Error> {
    let near: Vec<ObjectId> = evidence_near(rows, id, now)?.into_iter().collect();
    let mut over = Vec::new();
    for ids in near.chunks(AT_ONCE) {
        let standing = rows.standing(ids)?.into_values();
        let beliefs = standing.flat_map(|standing| standing.beliefs);
        over.extend(beliefs.filter(|row| row.valid.until.is_some_and(|until| until <= now)));
    }
    let mut all = weakened_by(rows, over, now)?.into_iter();
    Ok(all.find(|one| one.object_id == id).map(|one| one.becomes))
}

/// An object, its evidence, what that was made from, and the evidence of what of all this was inferred: at most
/// [`MOST_NEAR`] objects.
fn evidence_near(
    rows: &mut dyn Read,
    id: ObjectId,
    now: Instant,
) -> Result<BTreeSet<ObjectId>, Error> {
    let mut near = BTreeSet::from([id]);
    let mut open = vec![id];
    while let Some(id) = open.pop() {
        let Some(own) = current_whole(rows, &[id])?.remove(&id) else {
            continue;
        };
        let mut next: BTreeSet<ObjectId> = own.revision().derived_from().iter().copied().collect();
        if own.revision().object_type() == ObjectType::InferredBelief {
            match gather_for_all(rows, &own, &Fresh::default(), now) {
                Ok(gathered) => next.extend(gathered.ids()),
                Err(error) if error.kind == ErrorKind::Damaged => {}
                Err(error) => return Err(error),
            }
        }
        for id in next {
            if near.len() < MOST_NEAR && near.insert(id) {
                open.push(id);
            }
        }
    }
    Ok(near)
}

fn weakened_by(
    rows: &mut dyn Read,
    ended_rows: Vec<BeliefRow>,
    now: Instant,
) -> Result<Vec<Weakened>, Error> {
    let mut over: BTreeMap<ObjectId, Instant> = BTreeMap::new();
    for row in ended_rows.into_iter().filter(BeliefRow::speaks) {
        let until = row.valid.until.unwrap_or(now);
        let last = over.entry(row.object).or_insert(until);
        *last = until.max(*last);
    }
    let mut ended: BTreeMap<ObjectId, Instant> = BTreeMap::new();
    let mut found: BTreeMap<ObjectId, Weakened> = BTreeMap::new();
    while !over.is_empty() {
        let leaning = leaning(rows, &over)?;
        let mut fell = BTreeMap::new();
        for (id, own) in leaning {
            if ended.contains_key(&id) {
                continue;
            }
            let gathered = match gather_for_all(rows, &own.object, &Fresh::default(), now) {
                Ok(gathered) => gathered,
                // What the evidence says is lost with what is damaged.
                Err(error) if error.kind == ErrorKind::Damaged => continue,
                Err(error) => return Err(error),
            };
            found.remove(&id);
            if let Some(one) = own.weakened(&gathered, &ended, now) {
                if let Weakening::Ends(end) = one.becomes {
                    fell.insert(id, end);
                }
                found.insert(id, one);
            }
        }
        // What ends now is evidence that ends.
        ended.extend(&fell);
        over = fell;
    }
    Ok(found.into_values().collect())
}

/// Something inferred, and since when it is believed as it is.
struct Own {
    object: Arc<ContextObject>,
    since: Instant,
    is_confirmed: bool,
}

impl Own {
    /// Returns whether it stands although the last of its evidence fell: a person confirmed it, and that only claimed the same.
    fn stands_without(&self, fell: &BTreeSet<ObjectId>) -> bool {
        let mut parents = self.object.revision().derived_from().iter();
        self.is_confirmed && !parents.any(|parent| fell.contains(parent))
    }

    /// Returns what has become of it, where that is not what it was.
    fn weakened(
        &self,
        gathered: &Gathered,
        ended: &BTreeMap<ObjectId, Instant>,
        now: Instant,
    ) -> Option<Weakened> {
        let revision = self.object.revision();
        let (mut most, mut ends, mut over) = (None::<Score>, None, None);
        let speaking = |links: &[Link]| -> BTreeSet<ObjectId> {
            links
                .iter()
                .filter(|link| link.silent.is_none())
                .filter(|link| link.direction == Direction::For)
                .map(|link| link.object_id)
                .collect()
        };
        let mut before = speaking(&gathered.links(self.since, ended));
        let all = gathered.ends(ended).into_iter();
        for at in all.filter(|at| self.since < *at && *at <= now) {
            let links = gathered.links(at, ended);
            let left = speaking(&links);
            let fell: BTreeSet<ObjectId> = before.difference(&left).copied().collect();
            let Some(first) = fell.first() else {
                continue;
            };
            over = Some(*first);
            if left.is_empty() && !self.stands_without(&fell) {
                ends = Some(at);
                break;
            }
            if SlotClaim::of(&self.object).is_some() {
                let left = confidence_of(&links);
                most = Some(most.map_or(left, |most| most.min(left)));
            }
            before = left;
        }
        let most = most.filter(|most| *most < revision.confidence());
        let becomes = ends.map(Weakening::Ends).or(most.map(Weakening::LoweredTo))?;
        Some(Weakened {
            object_id: revision.object_id(),
            name: self.object.name().to_owned(),
            over: over?,
            stated: revision.confidence(),
            becomes,
            at_most: (revision.id(), most),
        })
    }
}

/// Finds what was inferred, and was believed as it is before any of these ended that it leans on: those that it was
/// made from, one way or another, and those that claim something of its slot.
fn leaning(
    rows: &mut dyn Read,
    over: &BTreeMap<ObjectId, Instant>,
) -> Result<BTreeMap<ObjectId, Own>, Error> {
    let mut last = over.clone();
    let mut inferred: BTreeMap<ObjectId, Arc<ContextObject>> = BTreeMap::new();
    let mut slots: BTreeMap<i64, Instant> = BTreeMap::new();
    let mut next: Vec<ObjectId> = over.keys().copied().collect();
    // Down from what is over to all that was made from it.
    while !next.is_empty() {
        let mut children = BTreeSet::new();
        for ids in next.chunks(AT_ONCE) {
            let parents: BTreeSet<ObjectId> = ids.iter().copied().collect();
            let mut made = rows.children(ids)?;
            let proposed = only_proposed_from(rows, &made, &parents)?;
            made.retain(|id| !proposed.contains_key(id));
            children.extend(made);
            for (id, object) in current_whole(rows, ids)? {
                let end = last.get(&id).copied();
                if let (Some(end), Some((about, claim))) = (end, SlotClaim::of(&object)) {
                    for slot in slots_of(rows, &about, claim.claim.slot())? {
                        let known = slots.entry(slot).or_insert(end);
                        *known = end.max(*known);
                    }
                }
            }
        }
        let children: Vec<ObjectId> = children.into_iter().collect();
        next = Vec::new();
        for ids in children.chunks(AT_ONCE) {
            for (id, object) in current_whole(rows, ids)? {
                let parents = object.revision().derived_from().iter();
                let end = parents.filter_map(|parent| last.get(parent)).max().copied();
                if end > last.get(&id).copied() {
                    last.extend(end.map(|end| (id, end)));
                    next.push(id);
                }
                inferred.insert(id, object);
            }
        }
    }
    let mut ends: BTreeMap<ObjectId, Instant> = BTreeMap::new();
    for id in inferred.keys() {
        ends.extend(last.get(id).map(|end| (*id, *end)));
    }
    for (slot, end) in slots {
        let on_slot = rows.on_slot(slot, MOST_OPPONENTS)?;
        for (id, object) in current_whole(rows, &on_slot)? {
            let known = ends.entry(id).or_insert(end);
            *known = end.max(*known);
            inferred.insert(id, object);
        }
    }
    inferred.retain(|_, object| object.revision().object_type() == ObjectType::InferredBelief);
    let since = since(rows, &inferred)?;
    let ids: Vec<ObjectId> = inferred.keys().copied().collect();
    let confirmed = ever_confirmed(rows, &ids)?;
    let own = inferred.into_iter().filter_map(|(id, object)| {
        let since = *since.get(&id)?;
        let own = Own {
            object,
            since,
            is_confirmed: confirmed.contains(&id),
        };
        (since < *ends.get(&id)?).then_some((id, own))
    });
    Ok(own.collect())
}

/// The instants since which these revisions are believed, whatever was judged of them since.
fn since(
    rows: &mut dyn Read,
    objects: &BTreeMap<ObjectId, Arc<ContextObject>>,
) -> Result<BTreeMap<ObjectId, Instant>, Error> {
    let mut histories: BTreeMap<ObjectId, Vec<BeliefRow>> = BTreeMap::new();
    let ids: Vec<ObjectId> = objects.keys().copied().collect();
    for ids in ids.chunks(AT_ONCE) {
        for row in rows.renewed(ids)? {
            histories.entry(row.object).or_default().push(row);
        }
    }
    let each = objects.iter().filter_map(|(id, object)| {
        let mut since = object.status().transaction.from?;
        let own = object.revision().id();
        let history = histories.get(id).map_or(&[][..], Vec::as_slice);
        let before = |since: Instant| {
            history
                .iter()
                .filter(|row| {
                    let is_own = row.revision == own && !row.waits();
                    is_own && row.closed.is_some_and(|closed| closed.at == since)
                })
                .map(|row| row.opened.at)
                .min()
                .filter(|at| *at < since)
        };
        while let Some(at) = before(since) {
            since = at;
        }
        Some((*id, since))
    });
    Ok(each.collect())
}
