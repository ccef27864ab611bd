//! Claims: what a write does to the judgements on pairs of claims that cannot both hold, in its own transaction.
//!
//! A judgement follows from the two claims alone, so that the order of writes changes nothing. Where many claims
//! contradict each other, each write judges its own against the strongest [`MOST_OPPONENTS`]; a compile judges the
//! other pairs that its caller sees by the same function. Somebody's decision stays as long as both claims stand, say what was
//! decided between, and cannot both hold.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure::belief::{Claim, Ground, Loser, SlotClaim};
use tenure::object::{Authority, Decided, Decision, ObjectId, RevisionId, Sealer, Usage};
use tenure::time::{Instant, Interval};
use tenure::{ContextObject, Digest, Error};

use crate::rows::engine::{BeliefRow, ClaimKey, PairRow, Read, Stamp, Write};
use crate::rows::labels::{Sees, head_access, open};
use crate::rows::stored::{believed, read_revision, unwritable};
use crate::tenant::since::{Placed, with_recorded};

/// The number of the strongest claims on a slot that a write judges its own against.
pub const MOST_OPPONENTS: u32 = 64;

/// The judgement on a pair, as it is kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) entity: String,
    pub(crate) slot: String,
    pub(crate) loser: Loser,
    pub(crate) ground: Ground,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// The authorities of the first and the second object, where somebody decided against the higher one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) authorities: Option<[Authority; 2]>,
    /// The ids that the first and the second object name, where only a merge makes them one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) merged: Option<[String; 2]>,
}

impl Kept {
    /// The ids of the entity that the first and the second object name.
    pub(crate) fn named(&self) -> [&str; 2] {
        let one = self.entity.as_str();
        self.merged.as_ref().map_or([one, one], |[first, second]| [first, second])
    }
}

/// The claims of one object that hold in the view of all, each with its entity.
pub(crate) type Claims = Vec<(String, SlotClaim)>;

/// Revisions that a write stores and so has at hand: it reads none of them back.
pub(crate) type AtHand = BTreeMap<RevisionId, Arc<ContextObject>>;

/// The claims of these objects that take part in settlement: those of beliefs that are active and clean.
pub(crate) fn claims_of(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<BTreeMap<ObjectId, Claims>, Error> {
    claims_with(rows, ids, &AtHand::new())
}

fn claims_with(
    rows: &mut dyn Read,
    ids: &[ObjectId],
    at_hand: &AtHand,
) -> Result<BTreeMap<ObjectId, Claims>, Error> {
    let standing = rows.standing(ids)?.into_values();
    let beliefs: Vec<BeliefRow> = standing.flat_map(|standing| standing.beliefs).collect();
    let mut held = claiming(rows, &beliefs, at_hand)?;
    for (at, row, object) in with_recorded(rows, held.clone())? {
        held[at as usize] = (at, row, object);
    }
    Ok(by_object(held))
}

/// The beliefs of these objects that make claims and took part at an instant, or do now, as far as a caller may see them.
pub(crate) fn claiming_seen(
    rows: &mut dyn Read,
    tenant: &str,
    ids: &[ObjectId],
    known: Option<Instant>,
    sees: Option<&Sees<'_>>,
) -> Result<Vec<Placed>, Error> {
    let mut beliefs = Vec::new();
    match known {
        None => {
            let standing = rows.standing(ids)?.into_values();
            let held = standing.flat_map(|standing| standing.beliefs).collect();
            beliefs = open(tenant, held, None, sees)?;
        }
        Some(known) => {
            for id in ids {
                let held = rows.held(*id, known)?;
                let access = match sees {
                    Some(_) => head_access(rows, tenant, *id)?,
                    None => None,
                };
                beliefs.extend(open(tenant, held, access.as_ref(), sees)?);
            }
        }
    }
    claiming(rows, &beliefs, &AtHand::new())
}

/// Those of these beliefs that make a claim and take part in settlement, as they are believed.
fn claiming(
    rows: &mut dyn Read,
    beliefs: &[BeliefRow],
    at_hand: &AtHand,
) -> Result<Vec<Placed>, Error> {
    let beliefs: Vec<&BeliefRow> = beliefs.iter().filter(|row| row.speaks()).collect();
    let stored = beliefs.iter().copied().filter(|row| !at_hand.contains_key(&row.revision));
    let bodies = rows.bodies(&stored.collect::<Vec<_>>())?;
    let mut sealer = Sealer::default();
    // What is damaged claims nothing; a compile says of it that it is.
    let mut read = |revision| {
        let body = bodies.get(&revision)?;
        let claims = body.contains("\"normalized_claim\"");
        claims.then(|| read_revision(&mut sealer, revision, body).ok()).flatten()
    };
    let mut held: Vec<Placed> = Vec::new();
    for row in beliefs {
        let at_hand = at_hand.get(&row.revision).cloned();
        let Some(object) = at_hand.or_else(|| read(row.revision)) else {
            continue;
        };
        if object.revision().normalized_claim().is_some() {
            let object = believed(&object, row, Usage::default(), None);
            held.push((held.len() as u64, row.clone(), object));
        }
    }
    Ok(held)
}

pub(crate) fn by_object(held: Vec<Placed>) -> BTreeMap<ObjectId, Claims> {
    let mut claims: BTreeMap<ObjectId, Claims> = BTreeMap::new();
    for (_, row, object) in held {
        if let Some((entities, claim)) = SlotClaim::of(&object) {
            let own = claims.entry(row.object).or_default();
            own.extend(entities.into_iter().map(|entity| (entity, claim.clone())));
        }
    }
    claims
}

/// The words of an object's claims on one slot of one entity: each with the time for which it is claimed without a gap.
fn words<'c>(claims: &'c Claims, entity: &str, slot: &str) -> Vec<(&'c Claim, bool, Interval)> {
    let mut own: Vec<(&Claim, bool, Interval)> = claims
        .iter()
        .filter(|(of, claim)| of == entity && claim.claim.slot() == slot)
        .map(|(_, one)| (&one.claim, one.multiple, one.standing.valid))
        .collect();
    own.sort_by_key(|(_, _, valid)| valid.from);
    // A revision of a part of the time, in the same words, parts what is one.
    own.dedup_by(|(claim, multiple, valid), (before, was_multiple, until)| {
        let goes_on = until.until.is_some() && until.until == valid.from;
        let is_one = goes_on && claim == before && multiple == was_multiple;
        if is_one {
            until.until = valid.until;
        }
        is_one
    });
    own
}

pub(crate) fn slot_key(key: &[u8; 32], entity: &str, slot: &str) -> i64 {
    let digest = Digest::keyed(key, &[b"slot", entity.as_bytes(), slot.as_bytes()]);
    (digest.key() >> 64) as i64
}

/// The keys of the slots of this name of these entities.
pub(crate) fn slots_of(
    rows: &mut dyn Read,
    entities: &[String],
    slot: &str,
) -> Result<Vec<i64>, Error> {
    let Some(key) = rows.key()? else {
        return Ok(Vec::new());
    };
    let slots = entities.iter().map(|entity| slot_key(&key, entity, slot));
    Ok(slots.collect())
}

/// Judges the claims of these objects, which this transaction has changed, against all others on their slots.
pub(crate) fn settle_claims(rows: &mut dyn Write, touched: &[ObjectId]) -> Result<(), Error> {
    settle_written(rows, touched, &AtHand::new())
}

/// Like `settle_claims`, of a write that has at hand what it stores.
pub(crate) fn settle_written(
    rows: &mut dyn Write,
    touched: &[ObjectId],
    at_hand: &AtHand,
) -> Result<(), Error> {
    settle_against(rows, touched, at_hand, Crowd::Strongest)
}

/// Like `settle_written`, of objects that came with the judgements that were made on them elsewhere: those stay that
/// their claims give.
pub(crate) fn settle_judged(rows: &mut dyn Write, touched: &[ObjectId]) -> Result<(), Error> {
    settle_against(rows, touched, &AtHand::new(), Crowd::AsJudged)
}

/// The opponents of a claim where more than [`MOST_OPPONENTS`] claims stand on its slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Crowd {
    /// The strongest.
    Strongest,
    /// Those with which it was judged already, if any was: which were the strongest changes with each write.
    AsJudged,
}

fn settle_against(
    rows: &mut dyn Write,
    touched: &[ObjectId],
    at_hand: &AtHand,
    crowd: Crowd,
) -> Result<(), Error> {
    if touched.is_empty() {
        return Ok(());
    }
    let Some(key) = rows.key()? else {
        return Ok(());
    };
    let own = claims_with(rows, touched, at_hand)?;
    let index: Vec<(ObjectId, Vec<ClaimKey>)> = touched
        .iter()
        .map(|id| {
            let claims = own.get(id).map_or(&[][..], Vec::as_slice);
            let keys: BTreeSet<ClaimKey> = claims
                .iter()
                .map(|(entity, claim)| ClaimKey {
                    slot: slot_key(&key, entity, claim.claim.slot()),
                    level: claim.standing.authority.level(),
                    behind: claim
                        .standing
                        .begin()
                        .map_or(i64::MAX, |from| from.micros().saturating_neg()),
                })
                .collect();
            (*id, keys.into_iter().collect())
        })
        .collect();
    rows.set_claims(&index)?;
    let changed: BTreeSet<ObjectId> = touched.iter().copied().collect();
    let slots: BTreeSet<i64> =
        index.iter().flat_map(|(_, keys)| keys).map(|claim| claim.slot).collect();
    let known = rows.pairs(Some(touched), None)?;
    let mut opponents: BTreeMap<i64, BTreeSet<ObjectId>> = BTreeMap::new();
    let judged_on: BTreeSet<i64> = known.iter().map(|row| row.slot).collect();
    for slot in &slots {
        let strongest = rows.on_slot(*slot, MOST_OPPONENTS)?;
        let is_crowded = strongest.len() >= MOST_OPPONENTS as usize;
        if crowd == Crowd::AsJudged && is_crowded && judged_on.contains(slot) {
            continue;
        }
        opponents.insert(*slot, strongest.into_iter().collect());
    }
    let mut others: BTreeSet<ObjectId> = opponents.values().flatten().copied().collect();
    others.extend(known.iter().flat_map(|row| [row.first, row.second]));
    let others: Vec<ObjectId> = others.into_iter().filter(|id| !changed.contains(id)).collect();
    let mut all = claims_of(rows, &others)?;
    all.extend(own);
    let on_slot = by_slot(&all, &key);
    let on = |id, slot| on_slot.get(&(id, slot)).map_or(&[][..], Vec::as_slice);
    let mut wanted: BTreeMap<(ObjectId, ObjectId, i64), Kept> = BTreeMap::new();
    let mut judge = |one: ObjectId, other: ObjectId, slot: i64| {
        let (first, second) = (one.min(other), one.max(other));
        if first == second || wanted.contains_key(&(first, second, slot)) {
            return;
        }
        if let Some(kept) = judged(on(first, slot), on(second, slot)) {
            wanted.insert((first, second, slot), kept);
        }
    };
    for (id, keys) in &index {
        for slot in keys.iter().map(|claim| claim.slot) {
            for other in opponents.get(&slot).into_iter().flatten() {
                judge(*id, *other, slot);
            }
        }
    }
    for row in &known {
        judge(row.first, row.second, row.slot);
    }
    let (mut close, mut open) = (Vec::new(), Vec::new());
    for row in known {
        let place = (row.first, row.second, row.slot);
        let before: Option<Kept> = serde_json::from_str(&row.body).ok();
        let decided = match &before {
            Some(kept) if kept.ground == Ground::Person => {
                as_decided(rows, &row, kept, &all, &changed)?
            }
            _ => false,
        };
        let claims = |id| all.get(&id).map_or(&[][..], Vec::as_slice);
        let is_kept = |kept: &Kept| still_collide(kept, claims(row.first), claims(row.second));
        match wanted.remove(&place) {
            Some(_) if decided => {}
            None if decided && before.as_ref().is_some_and(is_kept) => {}
            Some(now) if before.as_ref() == Some(&now) => {}
            Some(now) => {
                open.push(pair_row(&row, &now)?);
                close.push(row);
            }
            None => close.push(row),
        }
    }
    let stamp = rows.stamp()?;
    for ((first, second, slot), kept) in wanted {
        let row = PairRow {
            first,
            second,
            slot,
            opened: stamp,
            closed: None,
            body: String::new(),
        };
        open.push(pair_row(&row, &kept)?);
    }
    if close.is_empty() && open.is_empty() {
        return Ok(());
    }
    rows.change_pairs(&close, &open)
}

/// The claims of objects, by the object and the key of the slot: each key is made once, however many pairs there are.
fn by_slot<'c>(
    all: &'c BTreeMap<ObjectId, Claims>,
    key: &[u8; 32],
) -> BTreeMap<(ObjectId, i64), Vec<(&'c str, &'c SlotClaim)>> {
    let mut by_slot: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (id, claims) in all {
        for (entity, claim) in claims {
            let slot = slot_key(key, entity, claim.claim.slot());
            let own = by_slot.entry((*id, slot)).or_default();
            own.push((entity.as_str(), claim));
        }
    }
    by_slot
}

/// The judgement on the claims of two objects on one slot; the latest, where they collide at several times.
pub(crate) fn judged(first: &[(&str, &SlotClaim)], second: &[(&str, &SlotClaim)]) -> Option<Kept> {
    let latest = first
        .iter()
        .flat_map(|(entity, ours)| {
            second
                .iter()
                .filter_map(move |(_, theirs)| Some((*entity, *ours, ours.against(theirs)?)))
        })
        .max_by_key(|(_, _, judgement)| judgement.window.from);
    latest.map(|(entity, ours, judgement)| Kept {
        entity: entity.to_owned(),
        slot: ours.claim.slot().to_owned(),
        loser: judgement.loser,
        ground: judgement.ground,
        from: judgement.window.from,
        until: judgement.window.until,
        by: None,
        note: None,
        authorities: None,
        merged: None,
    })
}

/// Returns whether two objects still say what a person decided between. Those that this write left alone do: each write looks
/// at what it changes.
fn as_decided(
    rows: &mut dyn Write,
    row: &PairRow,
    kept: &Kept,
    all: &BTreeMap<ObjectId, Claims>,
    changed: &BTreeSet<ObjectId>,
) -> Result<bool, Error> {
    let none = Claims::new();
    for (id, entity) in [row.first, row.second].into_iter().zip(kept.named()) {
        let now = words(all.get(&id).unwrap_or(&none), entity, &kept.slot);
        if now.is_empty() {
            return Ok(false);
        }
        if !changed.contains(&id) {
            continue;
        }
        let held = rows.held(id, row.opened.at)?;
        let then = by_object(claiming(rows, &held, &AtHand::new())?);
        if words(then.get(&id).unwrap_or(&none), entity, &kept.slot) != now {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns whether the claims of two objects still collide that a person has decided between, where a merge makes them a pair.
fn still_collide(
    kept: &Kept,
    first: &[(String, SlotClaim)],
    second: &[(String, SlotClaim)],
) -> bool {
    let Some([own, their]) = &kept.merged else {
        return false;
    };
    fn of<'c>(
        id: &str,
        slot: &str,
        claims: &'c [(String, SlotClaim)],
    ) -> Vec<(&'c str, &'c SlotClaim)> {
        claims
            .iter()
            .filter(|(entity, claim)| entity == id && claim.claim.slot() == slot)
            .map(|(entity, claim)| (entity.as_str(), claim))
            .collect()
    }
    let (first, second) = (of(own, &kept.slot, first), of(their, &kept.slot, second));
    judged(&first, &second).is_some()
}

pub(crate) fn pair_row(row: &PairRow, kept: &Kept) -> Result<PairRow, Error> {
    Ok(PairRow {
        closed: None,
        body: serde_json::to_string(kept).map_err(|error| unwritable(&error))?,
        ..row.clone()
    })
}

pub(crate) fn kept(row: &PairRow) -> Result<Kept, Error> {
    serde_json::from_str(&row.body).map_err(|error| unwritable(&error))
}

/// The decisions on pairs, by object: what a compile is told.
#[derive(Default)]
pub(crate) struct Decisions(BTreeMap<ObjectId, Vec<OnClaim>>);

/// A decision, as it is about the claim of one of its two objects.
struct OnClaim {
    entity: String,
    slot: String,
    opened: Stamp,
    decided: Decided,
}

impl Decisions {
    /// The decisions that were held at an instant, or are now: those that one of these objects is in, or all.
    pub(crate) fn read(
        rows: &mut dyn Read,
        of: Option<&[ObjectId]>,
        known: Option<Instant>,
    ) -> Result<Decisions, Error> {
        let mut decisions: BTreeMap<ObjectId, Vec<OnClaim>> = BTreeMap::new();
        for row in rows.decided(of, known)? {
            let kept = kept(&row)?;
            if kept.ground != Ground::Person {
                continue;
            }
            let [own, their] = kept.named();
            let first = stands(kept.loser);
            let mut add = |id, [own, their]: [&str; 2], other, stands| {
                let merged =
                    kept.merged.is_some().then(|| Arc::new([own.to_owned(), their.to_owned()]));
                decisions.entry(id).or_default().push(OnClaim {
                    entity: own.to_owned(),
                    slot: kept.slot.clone(),
                    opened: row.opened,
                    decided: Decided {
                        other,
                        stands,
                        merged,
                    },
                });
            };
            add(row.first, [own, their], row.second, first);
            add(row.second, [their, own], row.first, swapped(first));
        }
        for own in decisions.values_mut() {
            // Of one pair, what needs no merge comes first, and then what was decided last.
            own.sort_by_key(|one| {
                let of = (one.decided.other, one.decided.merged.is_some());
                (of, Reverse(one.opened))
            });
        }
        Ok(Decisions(decisions))
    }

    /// An object with the decisions that its claim is in.
    pub(crate) fn on(&self, object: Arc<ContextObject>) -> Arc<ContextObject> {
        let Some(own) = self.0.get(&object.revision().object_id()) else {
            return object;
        };
        // Of another time, it may claim something else.
        let Some((entities, claim)) = SlotClaim::of(&object) else {
            return object;
        };
        let own: Vec<Decided> = own
            .iter()
            .filter(|one| one.slot == claim.claim.slot() && entities.contains(&one.entity))
            .map(|one| one.decided.clone())
            .collect();
        if own.is_empty() {
            return object;
        }
        let mut status = object.status().clone();
        status.decisions = Some(own.into());
        Arc::new(object.judged(status, *object.usage()))
    }
}

/// The decision that leaves this loser.
const fn stands(loser: Loser) -> Decision {
    match loser {
        Loser::Second => Decision::First,
        Loser::Both => Decision::Neither,
        Loser::Neither => Decision::Both,
        _ => Decision::Second,
    }
}

/// The loser that a decision leaves.
pub(crate) const fn loser(stands: Decision) -> Loser {
    match stands {
        Decision::First => Loser::Second,
        Decision::Neither => Loser::Both,
        Decision::Both => Loser::Neither,
        _ => Loser::First,
    }
}

pub(crate) const fn swapped(stands: Decision) -> Decision {
    match stands {
        Decision::First => Decision::Second,
        Decision::Second => Decision::First,
        other => other,
    }
}
