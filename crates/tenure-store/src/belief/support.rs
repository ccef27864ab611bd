//! Fall of beliefs when evidence for them falls: what stood on it alone falls, too, and the rest is lowered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::belief::{Direction, SlotClaim};
use tenure::num::Score;
use tenure::object::{LOCAL_TENANT, ObjectId, ObjectType, RevisionId, Sealer, Status};
use tenure::time::Instant;
use tenure::{ContextObject, Error};

use crate::belief::claims::MOST_OPPONENTS;
use crate::belief::evidence::{View, weigh};
use crate::rows::engine::{Change, Read, RevisionRow, Stamp, Standing, Write};
use crate::rows::labels::labelled_or_hidden;
use crate::rows::settle::{apply, rejudge};
use crate::rows::stored::{read_revision, revision_row};
use crate::tenant::alongside::any_believed;
use crate::tenant::current::{current, current_whole};
use crate::tenant::lineage::{made_from, with_descendants};
use crate::tenant::writing::{Outcome, WrittenObject};

/// The objects that were inferred, of these.
fn inferred(rows: &mut dyn Read, ids: &[ObjectId]) -> Result<BTreeSet<ObjectId>, Error> {
    let held = current(rows, ids)?.into_iter();
    let inferred =
        held.filter(|(_, object)| object.revision().object_type() == ObjectType::InferredBelief);
    Ok(inferred.map(|(id, _)| id).collect())
}

/// The objects of these that a person ever confirmed.
pub(crate) fn ever_confirmed(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<BTreeSet<ObjectId>, Error> {
    let usage = rows.usage(Some(ids))?.into_iter();
    let confirmed = usage.filter(|(_, usage)| usage.last_confirmed.is_some());
    Ok(confirmed.map(|(id, _)| id).collect())
}

/// The inferred beliefs whose claims these make, too, so that they are evidence for them. What a person confirmed does not stand on
/// evidence alone.
fn supported_by(
    rows: &mut dyn Read,
    ids: &[ObjectId],
    gone: &BTreeSet<ObjectId>,
) -> Result<Vec<ObjectId>, Error> {
    let claims = |object: &ContextObject| SlotClaim::of(object);
    // Of what is damaged nobody knows what it spoke for.
    let fell = current_whole(rows, ids)?.into_iter();
    let mut near: BTreeMap<ObjectId, Vec<Arc<ContextObject>>> = BTreeMap::new();
    for (id, object) in fell.filter(|(_, object)| claims(object).is_some()) {
        for slot in rows.slots(&[id])? {
            for other in rows.on_slot(slot, MOST_OPPONENTS)? {
                if !gone.contains(&other) {
                    near.entry(other).or_default().push(Arc::clone(&object));
                }
            }
        }
    }
    let ids: Vec<ObjectId> = near.keys().copied().collect();
    let confirmed = ever_confirmed(rows, &ids)?;
    let mut supported = Vec::new();
    for (id, own) in current_whole(rows, &ids)? {
        let is_inferred = own.revision().object_type() == ObjectType::InferredBelief;
        let Some((entities, claim)) =
            claims(&own).filter(|_| is_inferred && !confirmed.contains(&id))
        else {
            continue;
        };
        let speaks = |object: &Arc<ContextObject>| {
            let theirs = claims(object);
            let is_same = theirs.is_some_and(|(about, theirs)| {
                theirs.claim == claim.claim && about.iter().any(|one| entities.contains(one))
            });
            is_same && object.flows_to(&own)
        };
        // Nothing speaks for what it was made from.
        let own = with_descendants(rows, &[id])?;
        let mut spoke = near
            .get(&id)
            .into_iter()
            .flatten()
            .filter(|object| !own.contains(&object.revision().object_id()));
        if spoke.any(speaks) {
            supported.push(id);
        }
    }
    Ok(supported)
}

/// These objects, and what falls with them: everything made from them, and what was inferred since they claim the same; but for
/// what was inferred and has other evidence for it that stands.
pub(crate) fn with_unsupported(
    rows: &mut dyn Read,
    ids: &[ObjectId],
    at: Instant,
) -> Result<Vec<ObjectId>, Error> {
    let mut gone: BTreeSet<ObjectId> = ids.iter().copied().collect();
    let mut stay: BTreeSet<ObjectId> = BTreeSet::new();
    let mut fresh: Vec<ObjectId> = ids.to_vec();
    while !fresh.is_empty() {
        let children = made_from(rows, &fresh, &gone)?;
        stay.extend(inferred(rows, &children)?);
        stay.extend(supported_by(rows, &fresh, &gone)?);
        fresh = children
            .into_iter()
            .filter(|child| !stay.contains(child) && gone.insert(*child))
            .collect();
        if !fresh.is_empty() {
            continue;
        }
        // What stays may stand on something that lost its support since.
        for id in stay.clone() {
            let left = weigh(rows, id, &gone, at, View::Everyone);
            let has_more = left.is_ok_and(|left| {
                left.evidence
                    .iter()
                    .any(|link| link.direction == Direction::For && link.silent.is_none())
            });
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
pub(crate) fn judged_with(
    rows: &mut dyn Read,
    ids: &[ObjectId],
    at: Instant,
) -> Result<Vec<ObjectId>, Error> {
    let all = with_unsupported(rows, ids, at)?;
    let inferred = inferred(rows, &all)?;
    Ok(all.into_iter().filter(|id| ids.contains(id) || inferred.contains(id)).collect())
}

/// The inferred beliefs that these objects are evidence for, or against: what was made from them, and what claims
/// something of their slots, where everyone may see the one who may see the other.
pub(crate) fn evidenced_by(
    rows: &mut dyn Read,
    ids: &[ObjectId],
) -> Result<BTreeSet<ObjectId>, Error> {
    let of = ids.iter().copied().collect::<BTreeSet<_>>();
    let mut near: BTreeSet<ObjectId> = made_from(rows, ids, &of)?.into_iter().collect();
    let mut seen: BTreeMap<i64, Vec<ObjectId>> = BTreeMap::new();
    for id in &of {
        for slot in rows.slots(&[*id])? {
            seen.entry(slot).or_default().push(*id);
        }
    }
    let mut sealer = Sealer::default();
    for (slot, fell) in seen {
        let mut labels = Vec::new();
        for id in fell {
            for (id, text) in rows.head_labels(Ok(id))? {
                labels.push(labelled_or_hidden(
                    &mut sealer,
                    LOCAL_TENANT,
                    id,
                    &text,
                    None,
                )?);
            }
        }
        let on_slot = rows.on_slot(slot, MOST_OPPONENTS)?;
        for (id, text) in rows.held_labels(&on_slot)? {
            let own = labelled_or_hidden(&mut sealer, LOCAL_TENANT, id, &text, None)?;
            let reaches = |label: &Arc<ContextObject>| label.access().flows_to(&own.access());
            if labels.iter().any(reaches) {
                near.insert(id);
            }
        }
    }
    let near: Vec<ObjectId> = near.into_iter().filter(|id| !of.contains(id)).collect();
    inferred(rows, &near)
}

/// A belief that was lowered.
pub(crate) struct Lowered {
    pub(crate) object: ObjectId,
    pub(crate) name: String,
    /// The revision that says so.
    pub(crate) revision: RevisionId,
}

impl From<Lowered> for WrittenObject {
    fn from(lowered: Lowered) -> WrittenObject {
        WrittenObject {
            object_id: lowered.object,
            name: Some(lowered.name),
            revision: Some(lowered.revision),
            outcome: Outcome::Revised,
            note: None,
        }
    }
}

/// Lowers the confidence of these beliefs to what the evidence that is left gives them, in this transaction; says which
/// were lowered. No belief is raised: that is for whoever revises it.
pub(crate) fn lower(rows: &mut dyn Write, ids: &BTreeSet<ObjectId>) -> Result<Vec<Lowered>, Error> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let at = rows.stamp()?.at;
    let mut most = BTreeMap::new();
    for id in ids {
        // What makes no claim has no evidence.
        if let Ok(left) = weigh(rows, *id, &BTreeSet::new(), at, View::Everyone) {
            most.insert(*id, left.confidence);
        }
    }
    lower_to(rows, &most, &BTreeMap::new())
}

/// Lowers the confidence of these beliefs to so much, where it is more; and ends what is believed of these revisions then.
pub(crate) fn lower_to(
    rows: &mut dyn Write,
    most: &BTreeMap<ObjectId, Score>,
    ends: &BTreeMap<ObjectId, (RevisionId, Instant)>,
) -> Result<Vec<Lowered>, Error> {
    let stamp = rows.stamp()?;
    let (mut change, mut written) = (Change::default(), Vec::new());
    let mut sealer = Sealer::default();
    let ids: BTreeSet<ObjectId> = most.keys().chain(ends.keys()).copied().collect();
    for id in ids {
        let Some(standing) = rows.standing(&[id])?.remove(&id) else {
            continue;
        };
        // What waits beside it has evidence of its own.
        let is_believed = any_believed(&standing.beliefs);
        let beliefs: Vec<_> =
            standing.beliefs.iter().filter(|row| !is_believed || !row.waits()).collect();
        let bodies = rows.bodies(&beliefs)?;
        let mut lowered: BTreeMap<RevisionId, RevisionRow> = BTreeMap::new();
        for (revision, body) in bodies {
            let object = read_revision(&mut sealer, revision, &body)?;
            let most = most.get(&id).copied();
            if let Some(most) = most.filter(|most| object.revision().confidence() > *most) {
                lowered.insert(revision, with_confidence(&mut sealer, &object, most)?);
            }
        }
        let end = ends.get(&id).copied();
        if lowered.is_empty() && end.is_none() {
            continue;
        }
        let name = standing.name.clone();
        let revision = restate(&mut change, id, standing, stamp, lowered, end);
        written.push(Lowered {
            object: id,
            name,
            revision,
        });
    }
    rows.change(&change)?;
    Ok(written)
}

/// A revision with another confidence.
pub(crate) fn with_confidence(
    sealer: &mut Sealer,
    object: &ContextObject,
    confidence: Score,
) -> Result<RevisionRow, Error> {
    // What the store says of it, it says anew.
    let bare = object.judged(Status::default(), *object.usage());
    let mut document = bare.to_document()?;
    document.object_id = Some(object.revision().object_id());
    document.confidence_score = Some(confidence);
    revision_row(&*sealer.seal(document)?)
}

/// Puts revisions in the place of others in all that is believed of an object, for the same times; returns the revision that was
/// written last. What is believed of the revision that `end` names ends then.
pub(crate) fn restate(
    change: &mut Change,
    id: ObjectId,
    standing: Standing,
    stamp: Stamp,
    new: BTreeMap<RevisionId, RevisionRow>,
    end: Option<(RevisionId, Instant)>,
) -> RevisionId {
    let settlement = rejudge(&standing.beliefs, stamp, |row| {
        let mut row = row.clone();
        let end = end.filter(|(of, _)| row.speaks() && row.revision == *of);
        if let Some((_, end)) = end {
            if row.valid.from.is_some_and(|from| end <= from) {
                return None;
            }
            row.valid.until = row.valid.until.into_iter().chain([end]).min();
        }
        if let Some(new) = new.get(&row.revision) {
            row.revision = new.revision;
        }
        Some(row)
    });
    let head = new.get(&standing.head).map(|new| new.revision).unwrap_or(standing.head);
    change.objects.push((id, standing.place, standing.name, head));
    change.revisions.extend(new.into_values());
    apply(change, &standing.beliefs, settlement);
    head
}
