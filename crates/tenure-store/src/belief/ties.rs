//! Claims that nothing but their confidence tells apart: what one of them is revised to decides between all of them, so that
//! all are revised at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tenure::belief::SlotClaim;
use tenure::num::Score;
use tenure::object::{ObjectId, ObjectType, clip};
use tenure::time::Instant;
use tenure::{ContextObject, Error, ErrorKind};

use crate::belief::claims::{Claims, claims_of, slots_of};
use crate::belief::evidence::{BeliefWithEvidence, View, least_of, silence, weigh_with};
use crate::rows::engine::Read;
use crate::tenant::current::{Fresh, MOST_EVIDENCE, current};

/// The most claims that are revised at once.
pub(crate) const MOST_TIED: usize = 64;

/// An object with the confidence that the evidence gives its claim.
pub(crate) struct Revised {
    pub(crate) object: Arc<ContextObject>,
    pub(crate) confidence: Score,
}

impl Revised {
    /// Returns whether the confidence is another than the one that is written in it.
    pub(crate) fn is_changed(&self) -> bool {
        self.confidence != self.object.revision().confidence()
    }
}

/// The confidence of a claim that was weighed, and of all those that it is tied with: whichever of them is asked for, they
/// are the same, as none depends on what is written into another.
pub(crate) fn revised_together(
    rows: &mut dyn Read,
    own: &Arc<ContextObject>,
    belief: &BeliefWithEvidence,
    at: Instant,
) -> Result<BTreeMap<ObjectId, Revised>, Error> {
    let id = belief.object_id;
    let tied = tied_with(rows, own, at)?;
    let mut fresh = Fresh::default();
    // It may wait, and be believed from this write on.
    fresh.insert(id, Arc::clone(own));
    let mut all = BTreeMap::new();
    for (of, object) in tied {
        let confidence = if of == id {
            belief.confidence
        } else {
            let none = BTreeSet::new();
            let theirs = Arc::clone(&object);
            let weighed = weigh_with(rows, theirs, &none, &fresh, at, View::Everyone)?;
            let stated = weighed.stated;
            // What must not persist by itself is lowered, and not raised.
            let is_refused =
                weighed.refused.is_some() && weighed.object_type == ObjectType::InferredBelief;
            let most = if is_refused { stated } else { Score::ONE };
            weighed.confidence.min(most)
        };
        all.insert(of, Revised { object, confidence });
    }
    let mut most: BTreeMap<ObjectId, Score> = BTreeMap::new();
    for (of, one) in &all {
        let parents = one.object.revision().derived_from().iter();
        let others: Vec<ObjectId> = parents.filter(|id| !all.contains_key(id)).copied().collect();
        most.extend(least_of(rows, &others)?.map(|least| (*of, least)));
    }
    for (of, one) in &mut all {
        one.confidence = most.get(of).map_or(one.confidence, |most| one.confidence.min(*most));
    }
    // What was made from one of them is no surer than that is now.
    loop {
        let lower = |one: &Revised| {
            let parents = one.object.revision().derived_from().iter();
            parents
                .filter_map(|id| Some(all.get(id)?.confidence))
                .min()
                .filter(|least| *least < one.confidence)
        };
        let lowered: Vec<(ObjectId, Score)> =
            all.iter().filter_map(|(of, one)| Some((*of, lower(one)?))).collect();
        if lowered.is_empty() {
            return Ok(all);
        }
        for (of, confidence) in lowered {
            if let Some(one) = all.get_mut(&of) {
                one.confidence = confidence;
            }
        }
    }
}

/// An object and those whose claims it is tied with, at once or by way of others, as they are believed.
fn tied_with(
    rows: &mut dyn Read,
    own: &Arc<ContextObject>,
    at: Instant,
) -> Result<BTreeMap<ObjectId, Arc<ContextObject>>, Error> {
    let id = own.revision().object_id();
    let is_own = |believed: &Arc<ContextObject>| believed.revision().id() == own.revision().id();
    let mut claims: BTreeMap<ObjectId, Claims> =
        if current(rows, &[id])?.get(&id).is_some_and(is_own) {
            claims_of(rows, &[id])?
        } else {
            BTreeMap::new()
        };
    claims.entry(id).or_insert_with(|| {
        SlotClaim::of(own)
            .into_iter()
            .flat_map(|(entities, claim)| {
                entities.into_iter().map(|entity| (entity, claim.clone())).collect::<Claims>()
            })
            .collect()
    });
    let mut objects = BTreeMap::from([(id, Arc::clone(own))]);
    let mut tied = objects.clone();
    let (mut open, mut looked_at) = (vec![id], BTreeSet::new());
    while let Some(one) = open.pop() {
        let slots: BTreeSet<(String, String)> = claims
            .get(&one)
            .into_iter()
            .flatten()
            .map(|(entity, claim)| (entity.clone(), claim.claim.slot().to_owned()))
            .collect();
        for (entity, slot) in slots {
            for key in slots_of(rows, &[entity], &slot)? {
                if !looked_at.insert(key) {
                    continue;
                }
                let mut found = rows.on_slot(key, MOST_EVIDENCE)?;
                found.retain(|id| !objects.contains_key(id));
                objects.extend(current(rows, &found)?);
                claims.extend(claims_of(rows, &found)?);
            }
        }
        let Some((this, says)) = objects.get(&one).zip(claims.get(&one)) else {
            continue;
        };
        let more: Vec<(ObjectId, Arc<ContextObject>)> = objects
            .iter()
            .filter(|(other, object)| {
                let theirs = claims.get(*other).map_or(&[][..], Vec::as_slice);
                !tied.contains_key(*other)
                    && are_rivals(says, theirs)
                    && silence(this, object, at, View::Everyone).is_none()
                    && silence(object, this, at, View::Everyone).is_none()
            })
            .map(|(other, object)| (*other, Arc::clone(object)))
            .collect();
        open.extend(more.iter().map(|(other, _)| *other));
        tied.extend(more);
        if tied.len() > MOST_TIED {
            let what = format!(
                "`{}` is tied with more claims than can be revised at once",
                clip(own.name())
            );
            return Err(Error::new(ErrorKind::Policy, what)
                .expected(format!(
                    "at most {MOST_TIED} claims that only their confidence tells apart"
                ))
                .hint("decide between them (`tenure conflicts list`), or write what is so with a `valid_from`"));
        }
    }
    Ok(tied)
}

/// Returns whether nothing but their confidence could tell which of the claims of two objects stands.
fn are_rivals(one: &[(String, SlotClaim)], other: &[(String, SlotClaim)]) -> bool {
    one.iter().any(|(entity, claim)| {
        other.iter().any(|(of, theirs)| {
            of == entity && theirs.claim.slot() == claim.claim.slot() && claim.is_rival_of(theirs)
        })
    })
}
