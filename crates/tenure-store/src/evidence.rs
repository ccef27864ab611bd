//! Beliefs: a claim with the evidence for it and against it, and the confidence that all of it gives at once.
//!
//! For a claim speak the objects that it was made from, and those that claim the same of its slot; against it those that
//! claim what cannot hold beside it. Only what is believed now speaks, so that a belief falls with its evidence.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tenure::belief::{Direction, Evidence, GateRefusal, SlotClaim, confidence, may_persist};
use tenure::num::Score;
use tenure::object::{
    ContradictionStatus, Lifecycle, ObjectId, ObjectType, RevisionId, Sealer, Usage, clip,
};
use tenure::text::examine;
use tenure::{ContextObject, Error, ObjectDocument};

use crate::claims::{MOST_OPPONENTS, slots_of};
use crate::engine::{BeliefRow, Change, Read, RevisionRow, Write};
use crate::lineage::with_descendants;
use crate::settle::{apply, rejudge};
use crate::stored::{believed, read_revision, revision_row};

/// The most objects on a slot whose claims are evidence: the strongest.
const MOST_EVIDENCE: u32 = 1_024;
/// The number of independent origins that something inferred needs.
const MOST_NEEDED: usize = 2;

/// A link from a belief to what speaks for it or against it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Link {
    /// The object.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// The origin, which has one vote.
    pub origin: String,
    /// The side.
    pub direction: Direction,
    /// The quality of its source.
    pub source_authority: Score,
    /// Its claim, where it makes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
}

/// A claim with its evidence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct BeliefWithEvidence {
    /// The object that claims it.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// The revision that was read.
    pub revision: RevisionId,
    /// The claim, as it is read.
    pub claim: String,
    /// The confidence that its author gave it.
    pub stated: Score,
    /// The confidence that the evidence gives it: one half where there is none.
    pub confidence: Score,
    /// The evidence for it and against it, by id.
    pub evidence: Vec<Link>,
    /// The reason for which something inferred must not persist on this evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<GateRefusal>,
}

/// The objects that are believed now, active and clean, each at the latest time for which it is.
pub(crate) fn held(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<BTreeMap<ObjectId, std::sync::Arc<ContextObject>>, Error> {
    let standing = rows.standing(ids)?;
    let beliefs = standing.values().flat_map(|standing| &standing.beliefs);
    let beliefs: Vec<_> = beliefs
        .filter(|row| {
            row.contradiction == ContradictionStatus::Clean && row.lifecycle == Lifecycle::Active
        })
        .collect();
    let bodies = rows.bodies(&beliefs)?;
    let mut sealer = Sealer::default();
    let mut held: BTreeMap<ObjectId, std::sync::Arc<ContextObject>> = BTreeMap::new();
    for row in beliefs {
        let body = bodies.get(&row.revision).map_or("", String::as_str);
        let object = read_revision(&mut sealer, row.revision, body)?;
        let object = believed(&object, row, Usage::default(), None);
        let later = held.get(&row.object);
        if later.is_none_or(|later| later.valid().from < object.valid().from) {
            held.insert(row.object, object);
        }
    }
    Ok(held)
}

/// The place that an object comes from: its origin, the source that it was found in, or else itself.
fn origin_of(document: &ObjectDocument, id: ObjectId) -> String {
    let found = document.provenance.as_ref();
    let found = found.and_then(|found| found.source_id.clone());
    let origin = document.source_origin.clone().or(found);
    origin.unwrap_or_else(|| id.to_string())
}

/// The object as it is believed, or waits for a person.
pub(crate) fn held_or_waiting(
    rows: &mut dyn Read,
    id: ObjectId,
) -> Result<Option<std::sync::Arc<ContextObject>>, Error> {
    if let Some(own) = held(rows, &[id])?.remove(&id) {
        return Ok(Some(own));
    }
    let standing = rows.standing(&[id])?.remove(&id);
    let beliefs = standing.map_or(Vec::new(), |standing| standing.beliefs);
    let waits = |row: &&BeliefRow| {
        row.contradiction == ContradictionStatus::Clean
            && row.lifecycle == Lifecycle::AwaitingConfirmation
    };
    let Some(row) = beliefs.iter().rev().find(waits) else {
        return Ok(None);
    };
    let bodies = rows.bodies(&[row])?;
    let body = bodies.get(&row.revision).map_or("", String::as_str);
    let object = read_revision(&mut Sealer::default(), row.revision, body)?;
    Ok(Some(believed(&object, row, Usage::default(), None)))
}

/// The claim of an object with its evidence, but for these objects and what was made from the object itself: nothing
/// speaks for what it was made from.
pub(crate) fn weigh(
    rows: &mut dyn Read,
    id: ObjectId,
    without: &BTreeSet<ObjectId>,
) -> Result<BeliefWithEvidence, Error> {
    let missing = || {
        Error::not_found(format!("there is no belief about `{id}` now"))
            .hint("`tenure store history` shows what was believed of it")
    };
    let own = held_or_waiting(rows, id)?.ok_or_else(missing)?;
    let (entities, claim) = SlotClaim::of(&own).ok_or_else(|| {
        Error::input(format!(
            "`{}` makes no claim that can be read",
            clip(own.name())
        ))
        .expected("a `normalized_claim` about `canonical_entity_ids`")
    })?;
    let (links, flagged) = links(
        rows,
        &own,
        Some((&entities, &claim)),
        without,
        &Fresh::new(),
    )?;
    let evidence = evidence_of(&links);
    Ok(BeliefWithEvidence {
        object_id: id,
        name: own.name().to_owned(),
        revision: own.revision().id(),
        claim: claim.claim.to_string(),
        stated: own.revision().confidence(),
        confidence: confidence(&evidence),
        refused: refusal(&own, &links, flagged, MOST_NEEDED),
        evidence: links,
    })
}

/// Objects that the same write makes, by id.
pub(crate) type Fresh = BTreeMap<ObjectId, std::sync::Arc<ContextObject>>;

/// The reason for which something inferred must not be believed by itself, where there is one. What makes no claim has no
/// evidence but what it was made from: of that, all must stand.
pub(crate) fn gate(
    rows: &mut dyn Read,
    own: &ContextObject,
    fresh: &Fresh,
) -> Result<Option<GateRefusal>, Error> {
    let claim = SlotClaim::of(own);
    let claim = claim
        .as_ref()
        .map(|(entities, claim)| (&entities[..], claim));
    let (links, flagged) = links(rows, own, claim, &BTreeSet::new(), fresh)?;
    let needed = if claim.is_some() { MOST_NEEDED } else { 0 };
    Ok(refusal(own, &links, flagged, needed))
}

fn evidence_of(links: &[Link]) -> Vec<Evidence> {
    let each = links.iter().map(|link| Evidence {
        object: link.object_id,
        origin: link.origin.clone(),
        direction: link.direction,
        source_authority: link.source_authority,
    });
    each.collect()
}

fn refusal(
    own: &ContextObject,
    links: &[Link],
    flagged: bool,
    needed: usize,
) -> Option<GateRefusal> {
    let mut parents = own.revision().derived_from().iter();
    let verified = parents.all(|parent| links.iter().any(|link| link.object_id == *parent));
    may_persist(&evidence_of(links), needed, verified, flagged).err()
}

/// What speaks for an object and against it, but for these objects and what was made from the object itself; and whether
/// hidden characters are in it, or in what it was made from.
fn links(
    rows: &mut dyn Read,
    own: &ContextObject,
    claim: Option<(&[String], &SlotClaim)>,
    without: &BTreeSet<ObjectId>,
    fresh: &Fresh,
) -> Result<(Vec<Link>, bool), Error> {
    let id = own.revision().object_id();
    let mut others: BTreeSet<ObjectId> = BTreeSet::new();
    if let Some((entities, claim)) = claim {
        for slot in slots_of(rows, entities, claim.claim.slot())? {
            others.extend(rows.on_slot(slot, MOST_EVIDENCE)?);
        }
        others.extend(fresh.keys());
    }
    let parents: BTreeSet<ObjectId> = own.revision().derived_from().iter().copied().collect();
    others.extend(&parents);
    for own in with_descendants(rows, &[id])? {
        others.remove(&own);
    }
    let others: Vec<ObjectId> = others.difference(without).copied().collect();
    let mut found = held(rows, &others)?;
    for other in &others {
        if let Some(object) = fresh.get(other) {
            found.insert(*other, std::sync::Arc::clone(object));
        }
    }
    let mut links = Vec::new();
    let mut flagged = examine(own.revision().content()).is_some();
    for (other, object) in found {
        let document = object.to_document()?;
        let theirs = claim.and_then(|(entities, claim)| {
            SlotClaim::of(&object).filter(|(about, theirs)| {
                theirs.claim.slot() == claim.claim.slot()
                    && about.iter().any(|entity| entities.contains(entity))
            })
        });
        let direction = match (&theirs, claim) {
            (Some((_, theirs)), Some((_, claim))) if claim.against(theirs).is_some() => {
                Direction::Against
            }
            (Some((_, theirs)), Some((_, claim))) if theirs.claim == claim.claim => Direction::For,
            _ if parents.contains(&other) => Direction::For,
            _ => continue,
        };
        flagged |= parents.contains(&other) && examine(object.revision().content()).is_some();
        links.push(Link {
            object_id: other,
            name: object.name().to_owned(),
            origin: origin_of(&document, other),
            direction,
            source_authority: object.revision().source_authority(),
            claim: theirs.map(|(_, theirs)| theirs.claim.to_string()),
        });
    }
    Ok((links, flagged))
}

/// The objects that were inferred, of these.
fn inferred(rows: &mut dyn Read, ids: &[ObjectId]) -> Result<BTreeSet<ObjectId>, Error> {
    let held = held(rows, ids)?.into_iter();
    let inferred =
        held.filter(|(_, object)| object.revision().object_type() == ObjectType::InferredBelief);
    Ok(inferred.map(|(id, _)| id).collect())
}

/// These objects, and what falls with them: everything made from them, but for what was inferred and has other evidence
/// for it that stands.
pub(crate) fn fallen(rows: &mut dyn Read, ids: &[ObjectId]) -> Result<Vec<ObjectId>, Error> {
    let mut gone: BTreeSet<ObjectId> = ids.iter().copied().collect();
    let mut stay: BTreeSet<ObjectId> = BTreeSet::new();
    let mut fresh: Vec<ObjectId> = ids.to_vec();
    while !fresh.is_empty() {
        let children: BTreeSet<ObjectId> = rows.children(&fresh)?.into_iter().collect();
        let children: Vec<ObjectId> = children.difference(&gone).copied().collect();
        stay.extend(inferred(rows, &children)?);
        fresh = children
            .into_iter()
            .filter(|child| !stay.contains(child) && gone.insert(*child))
            .collect();
        if !fresh.is_empty() {
            continue;
        }
        // What stays may stand on something that has fallen since.
        for id in stay.clone() {
            let stands = |link: &Link| link.direction == Direction::For;
            let has_more =
                weigh(rows, id, &gone).is_ok_and(|left| left.evidence.iter().any(stands));
            if !has_more {
                stay.remove(&id);
                gone.insert(id);
                fresh.push(id);
            }
        }
    }
    Ok(gone.into_iter().collect())
}

/// The objects that fall with these when they are judged, and not retracted: what was inferred from them alone. What else was
/// made from them is stale wherever they do not stand.
pub(crate) fn judged_with(rows: &mut dyn Read, ids: &[ObjectId]) -> Result<Vec<ObjectId>, Error> {
    let all = fallen(rows, ids)?;
    let inferred = inferred(rows, &all)?;
    let falls = |id: &ObjectId| ids.contains(id) || inferred.contains(id);
    Ok(all.into_iter().filter(falls).collect())
}

/// The inferred beliefs that these objects are evidence for, or against: what was made from them, and what claims
/// something of their slots.
pub(crate) fn leaning_on(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<BTreeSet<ObjectId>, Error> {
    let mut near: BTreeSet<ObjectId> = rows.children(ids)?.into_iter().collect();
    for slot in rows.slots(ids)? {
        near.extend(rows.on_slot(slot, MOST_OPPONENTS)?);
    }
    let near: Vec<ObjectId> = near.into_iter().filter(|id| !ids.contains(id)).collect();
    inferred(rows, &near)
}

/// A belief that was lowered.
pub(crate) struct Lowered {
    pub(crate) object: ObjectId,
    pub(crate) name: String,
    /// The revision that says so.
    pub(crate) revision: RevisionId,
}

/// Lowers the confidence of these beliefs to what the evidence that is left gives them, in this transaction; says which
/// were lowered. No belief is raised: that is for whoever revises it.
pub(crate) fn lower(rows: &mut dyn Write, ids: &BTreeSet<ObjectId>) -> Result<Vec<Lowered>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let stamp = rows.stamp()?;
    let (mut change, mut written) = (Change::default(), Vec::new());
    let mut sealer = Sealer::default();
    for id in ids {
        // What makes no claim has no evidence.
        let Ok(left) = weigh(rows, *id, &BTreeSet::new()) else {
            continue;
        };
        let Some(standing) = rows.standing(&[*id])?.remove(id) else {
            continue;
        };
        let beliefs: Vec<_> = standing.beliefs.iter().collect();
        let bodies = rows.bodies(&beliefs)?;
        let mut lowered: BTreeMap<RevisionId, RevisionRow> = BTreeMap::new();
        for (revision, body) in bodies {
            let object = read_revision(&mut sealer, revision, &body)?;
            if object.revision().confidence() <= left.confidence {
                continue;
            }
            let mut document = object.to_document()?;
            document.object_id = Some(*id);
            document.confidence_score = Some(left.confidence);
            lowered.insert(revision, revision_row(&*sealer.seal(document)?)?);
        }
        if lowered.is_empty() {
            continue;
        }
        let settlement = rejudge(&standing.beliefs, stamp, |row| {
            let new = lowered.get(&row.revision);
            Some(BeliefRow {
                revision: new.map_or(row.revision, |new| new.revision),
                ..row.clone()
            })
        });
        let head = lowered.get(&standing.head).map(|new| new.revision);
        let head = head.unwrap_or(standing.head);
        change
            .objects
            .push((*id, standing.place, standing.name.clone(), head));
        change.revisions.extend(lowered.into_values());
        apply(&mut change, &standing.beliefs, settlement);
        written.push(Lowered {
            object: *id,
            name: standing.name,
            revision: head,
        });
    }
    rows.change(&change)?;
    Ok(written)
}
