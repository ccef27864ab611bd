//! Beliefs: a claim with the evidence for it and against it, and the confidence that all of it gives at once.
//!
//! For a claim speak the objects that it was made from, and those that claim the same of its slot; against it those that
//! claim what cannot hold beside it. Only what is believed now speaks, so that a belief falls with its evidence.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tenure::belief::{Direction, Evidence, GateRefusal, SlotClaim, confidence, may_persist};
use tenure::num::Score;
use tenure::object::{ContradictionStatus, Lifecycle, ObjectId, RevisionId, Sealer, Usage};
use tenure::text::examine;
use tenure::{ContextObject, Error, ErrorKind, ObjectDocument};

use crate::claims::slots_of;
use crate::engine::Read;
use crate::stored::{believed, read_revision};
use crate::tenant::{Expect, Put, Tenant, Writing, Written};

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
    /// What speaks for it and against it, by id.
    pub evidence: Vec<Link>,
    /// The reason for which something inferred must not persist on this evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<GateRefusal>,
}

/// The objects that are believed now, active and clean, each at the latest time for which it is.
fn held(
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

/// Where an object comes from: its origin, the source that it was found in, or else itself.
fn origin_of(document: &ObjectDocument, id: ObjectId) -> String {
    let found = document.provenance.as_ref();
    let found = found.and_then(|found| found.source_id.clone());
    let origin = document.source_origin.clone().or(found);
    origin.unwrap_or_else(|| id.to_string())
}

fn read(rows: &mut dyn Read, id: ObjectId) -> Result<BeliefWithEvidence, Error> {
    let missing = || Error::not_found(format!("there is no belief about `{id}` now"));
    let own = held(rows, &[id])?.remove(&id).ok_or_else(missing)?;
    let (entities, claim) = SlotClaim::of(&own).ok_or_else(|| {
        Error::input(format!("`{}` makes no claim that can be read", own.name()))
            .expected("a `normalized_claim` about `canonical_entity_ids`")
    })?;
    let mut others: BTreeSet<ObjectId> = BTreeSet::new();
    for slot in slots_of(rows, &entities, claim.claim.slot())? {
        others.extend(rows.on_slot(slot, MOST_EVIDENCE)?);
    }
    let parents: BTreeSet<ObjectId> = own.revision().derived_from().iter().copied().collect();
    others.extend(&parents);
    others.remove(&id);
    let others: Vec<ObjectId> = others.into_iter().collect();
    let mut links = Vec::new();
    for (other, object) in held(rows, &others)? {
        let document = object.to_document()?;
        let theirs = SlotClaim::of(&object).filter(|(about, theirs)| {
            theirs.claim.slot() == claim.claim.slot()
                && about.iter().any(|entity| entities.contains(entity))
        });
        let direction = match &theirs {
            Some((_, theirs)) if claim.against(theirs).is_some() => Direction::Against,
            Some((_, theirs)) if theirs.claim == claim.claim => Direction::For,
            _ if parents.contains(&other) => Direction::For,
            _ => continue,
        };
        links.push(Link {
            object_id: other,
            name: object.name().to_owned(),
            origin: origin_of(&document, other),
            direction,
            source_authority: object.revision().source_authority(),
            claim: theirs.map(|(_, theirs)| theirs.claim.to_string()),
        });
    }
    let evidence = links.iter().map(|link| Evidence {
        object: link.object_id,
        origin: link.origin.clone(),
        direction: link.direction,
        source_authority: link.source_authority,
    });
    let evidence: Vec<Evidence> = evidence.collect();
    let verified = parents
        .iter()
        .all(|parent| links.iter().any(|link| link.object_id == *parent));
    let flagged = examine(own.revision().content()).is_some();
    Ok(BeliefWithEvidence {
        object_id: id,
        name: own.name().to_owned(),
        revision: own.revision().id(),
        claim: claim.claim.to_string(),
        stated: own.revision().confidence(),
        confidence: confidence(&evidence),
        refused: may_persist(&evidence, MOST_NEEDED, verified, flagged).err(),
        evidence: links,
    })
}

impl Tenant {
    /// The claim of an object, with the evidence for it and against it that is believed now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when nothing is believed of it now; [`ErrorKind::Input`] when it makes no claim;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn belief(&self, id: ObjectId) -> Result<BeliefWithEvidence, Error> {
        self.read(|rows| read(rows, id))
    }

    /// Writes the confidence that the evidence gives a claim into it. Doing so twice is doing so once. What was made from
    /// other objects is at most as sure as they are.
    ///
    /// # Errors
    ///
    /// As [`Tenant::belief`]; [`ErrorKind::Policy`] when it is inferred and its evidence is not enough for it to
    /// persist; [`ErrorKind::Conflict`] when it was written meanwhile.
    pub fn revise_belief(
        &self,
        id: ObjectId,
        writing: &Writing,
    ) -> Result<(BeliefWithEvidence, Written), Error> {
        let belief = self.belief(id)?;
        let found = self.read(|rows| Ok(held(rows, &[id])?.remove(&id)))?;
        let missing = || Error::not_found(format!("there is no belief about `{id}` now"));
        let mut document = found.ok_or_else(missing)?.to_document()?;
        let inferred = document.object_type == Some(tenure::object::ObjectType::InferredBelief);
        if let Some(refused) = belief.refused.filter(|_| inferred) {
            let what = format!(
                "`{}` was inferred, and must not persist: {refused}",
                belief.name
            );
            return Err(Error::new(ErrorKind::Policy, what)
                .expected("evidence of two origins, of which nothing is flagged or gone")
                .hint("`tenure belief show` lists what there is"));
        }
        document.object_id = Some(id);
        document.confidence_score = Some(belief.confidence);
        document.tx_start = None;
        document.tx_end = None;
        let put = Put {
            document,
            expect: Expect::Revision(belief.revision),
        };
        let written = self.put(vec![put], writing)?;
        Ok((belief, written))
    }
}
