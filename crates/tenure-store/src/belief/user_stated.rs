//! Inferences that say otherwise than a preference that somebody stated: they wait, and take its place once a person
//! confirms it.

use std::collections::BTreeSet;

use tenure::belief::{Claim, Loser, SlotClaim, Standing};
use tenure::object::{Authority, Lifecycle, ObjectId, ObjectType, Sealer};
use tenure::time::Instant;
use tenure::{ContextObject, Error};

use crate::belief::claims::{MOST_OPPONENTS, claims_of, slots_of};
use crate::rows::engine::{BeliefRow, Read};
use crate::rows::settle::overlap;
use crate::rows::stored::read_revision;
use crate::tenant::current::{Fresh, current};

/// Returns whether an object was inferred: a belief that says so, or a preference with the authority of memory.
pub(crate) fn is_inferred(object: &ContextObject) -> bool {
    let revision = object.revision();
    match revision.object_type() {
        ObjectType::InferredBelief => true,
        ObjectType::Preference => revision.authority_level() == Authority::Memory,
        _ => false,
    }
}

/// A preference that somebody stated, and the claim of something inferred that says otherwise.
pub(crate) struct UserStated {
    pub(crate) object: ObjectId,
    /// The entity that both are about.
    pub(crate) entity: String,
    /// Its claim.
    pub(crate) their: SlotClaim,
    /// The claim of what was inferred, as if the user had said it.
    pub(crate) own: SlotClaim,
    /// False where the user took it back by another statement: then it is not what they prefer.
    pub(crate) stands: bool,
}

/// The preferences of a user, as they are believed now or `fresh` in the same write, that say otherwise than something
/// inferred, and that it would take the place of if the user had said it at this instant. Everyone who may see it may see
/// them.
pub(crate) fn user_stated_otherwise(
    rows: &mut dyn Read,
    own: &ContextObject,
    fresh: &Fresh,
    said: Instant,
) -> Result<Vec<UserStated>, Error> {
    // Data proposes nothing.
    if !is_inferred(own) || own.revision().authority_level() != Authority::Memory {
        return Ok(Vec::new());
    }
    let Some((entities, claim)) = SlotClaim::of(own) else {
        return Ok(Vec::new());
    };
    let says_when = own.revision().valid().from.is_some();
    let claim = SlotClaim {
        standing: Standing {
            authority: Authority::User,
            preference: true,
            recorded: (!says_when).then_some(said),
            ..claim.standing
        },
        ..claim
    };
    let slot = claim.claim.slot().to_owned();
    let mut ids: BTreeSet<ObjectId> = BTreeSet::new();
    for key in slots_of(rows, &entities, &slot)? {
        ids.extend(rows.on_slot(key, MOST_OPPONENTS)?);
    }
    ids.remove(&own.revision().object_id());
    let ids: Vec<ObjectId> = ids.into_iter().collect();
    let known = current(rows, &ids)?;
    let claims = claims_of(rows, &ids)?;
    let mut stated: Vec<(ObjectId, String, SlotClaim)> = Vec::new();
    let mut add = |object: &ContextObject, entity: &str, their: &SlotClaim| {
        let is_same = their.claim.slot() == slot && entities.iter().any(|own| own == entity);
        if !is_stated(object) || !is_same || !object.flows_to(own) {
            return;
        }
        let id = object.revision().object_id();
        stated.push((id, entity.to_owned(), their.clone()));
    };
    for (id, object) in &known {
        if fresh.get(id).is_none() {
            for (entity, their) in claims.get(id).into_iter().flatten() {
                add(object, entity, their);
            }
        }
    }
    for id in fresh.on_slot(&entities, &slot) {
        // What is made from others may have less authority than it says.
        let object = fresh
            .get(&id)
            .filter(|_| id != own.revision().object_id())
            .filter(|object| object.revision().derived_from().is_empty());
        if let Some(object) = object
            && let Some((theirs, their)) = SlotClaim::of(object)
        {
            for entity in &theirs {
                add(object, entity, &their);
            }
        }
    }
    let stands = |(id, entity, their): &(ObjectId, String, SlotClaim)| {
        !stated.iter().any(|(other, of, later)| {
            later
                .against(their)
                .filter(|_| other != id && of == entity)
                .is_some_and(|judgement| {
                    judgement.loser == Loser::Second && judgement.window.until.is_none()
                })
        })
    };
    let found = stated
        .iter()
        .filter(|(_, _, their)| {
            let judgement = claim.against(their);
            judgement.is_some_and(|judgement| judgement.loser == Loser::Second)
        })
        .map(|one| {
            let (object, entity, their) = one.clone();
            UserStated {
                object,
                entity,
                their,
                own: claim.clone(),
                stands: stands(one),
            }
        });
    Ok(found.collect())
}

/// Returns whether something inferred would take the place of what somebody prefers, of the same object and for a time of it, and
/// does not claim the same.
pub(crate) fn is_over_user_stated(rows: &mut dyn Read, own: &ContextObject) -> Result<bool, Error> {
    let revision = own.revision();
    if !is_inferred(own) || revision.authority_level() != Authority::Memory {
        return Ok(false);
    }
    let id = revision.object_id();
    let standing = rows.standing(&[id])?.remove(&id);
    let current = standing.map_or(Vec::new(), |standing| standing.beliefs);
    let beliefs: Vec<&BeliefRow> = current
        .iter()
        .filter(|row| {
            row.speaks() && row.revision != revision.id() && overlap(row.valid, own.valid())
        })
        .collect();
    let bodies = rows.bodies(&beliefs)?;
    let mut sealer = Sealer::default();
    let claim = |object: &ContextObject| {
        let claim = object.revision().normalized_claim()?;
        claim.parse::<Claim>().ok()
    };
    for row in beliefs {
        let body = bodies.get(&row.revision).map_or("", String::as_str);
        // What is damaged is reported by the check.
        let Ok(their) = read_revision(&mut sealer, row.revision, body) else {
            continue;
        };
        let is_same = claim(own).is_some_and(|own| claim(&their) == Some(own));
        if is_stated(&their) && !is_same {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether an object is a preference that somebody stated.
fn is_stated(object: &ContextObject) -> bool {
    let revision = object.revision();
    revision.object_type() == ObjectType::Preference
        && revision.authority_level() == Authority::User
}

/// The preferences that an object would take the place of, if a person confirmed it now: where it was inferred, waits, and was
/// never believed as it is.
pub(crate) fn in_place_of(
    rows: &mut dyn Read,
    own: &ContextObject,
    now: Instant,
) -> Result<Vec<UserStated>, Error> {
    let (id, revision) = (own.revision().object_id(), own.revision().id());
    let is_in = |row: &BeliefRow, lifecycle| row.revision == revision && row.lifecycle == lifecycle;
    let waits = |row: &BeliefRow| is_in(row, Lifecycle::AwaitingConfirmation);
    if !is_inferred(own) {
        return Ok(Vec::new());
    }
    let standing = rows.standing(&[id])?.remove(&id);
    if !standing.is_some_and(|standing| standing.beliefs.iter().any(waits)) {
        return Ok(Vec::new());
    }
    let was_believed = |row: &BeliefRow| is_in(row, Lifecycle::Active);
    if rows.history(id)?.iter().any(was_believed) {
        return Ok(Vec::new());
    }
    user_stated_otherwise(rows, own, &Fresh::default(), now)
}
