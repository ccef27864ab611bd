//! Beliefs: a claim with the evidence for it and against it, and the confidence that all of it gives at once.
//!
//! For a claim speak the objects that it was made from, and those that claim the same of its slot; against it those that
//! claim what cannot hold beside it. Only what is believed now speaks, so that a belief falls with its evidence; and in what
//! is written into an object only what everyone may see who may see the object.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::belief::{
    Direction, Evidence, GateRefusal, SlotClaim, confidence, disguises, may_persist, origin_site,
    votes,
};
use tenure::num::Score;
use tenure::object::{ObjectId, ObjectType, Provenance, RevisionId, Sealer, clip};
use tenure::time::Instant;
use tenure::{ContextObject, Error};

use crate::belief::claims::slots_of;
use crate::belief::user_stated::{
    in_place_of, is_inferred, is_over_user_stated, user_stated_otherwise,
};
use crate::rows::engine::Read;
use crate::rows::labels::{Sees, open_objects};
use crate::rows::notes::{FlaggedText, Withheld};
use crate::rows::stored::read_revision;
use crate::tenant::current::{Fresh, MOST_EVIDENCE, current, current_or_pending};
use crate::tenant::lineage::with_descendants;

/// The number of independent origins that something inferred needs.
const MOST_NEEDED: usize = 2;

/// The most objects that are looked at for what evidence was made from.
const MOST_ANCESTORS: usize = 4_096;
/// The origin of what was inferred from nothing that is named.
const UNFOUNDED: &str = "inferred, from nothing that is named";

/// The reason for which a piece of evidence does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Silence {
    /// It is over, and the claim is not.
    Over,
    /// Not everyone may see it who may see the claim.
    NotForAll,
    /// Nothing but their confidence tells it and the claim apart, and the claim does not count against it.
    OneSided,
}

/// Those to whom evidence counts.
#[derive(Clone, Copy)]
pub(crate) enum View<'v> {
    /// Everyone who may see the claim: what is written into it.
    Everyone,
    /// A caller of this tenant, who may see so much.
    Caller(&'v str, &'v Sees<'v>),
}

/// A link from a belief to what speaks for it or against it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Link {
    /// The object.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// The origins that it comes from, an address by its site; of what was inferred or derived, those of its roots.
    pub origins: BTreeSet<String>,
    /// The number of its vote: evidence that shares an origin has one together. None where it does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vote: Option<usize>,
    /// The reason for which it does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silent: Option<Silence>,
    /// The side.
    pub direction: Direction,
    /// The quality of its source.
    pub source_authority: Score,
    /// Its claim, where it makes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
}

/// A claim with its evidence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct BeliefWithEvidence {
    /// The object that claims it.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// Its type.
    pub object_type: ObjectType,
    /// The revision that was read.
    pub revision: RevisionId,
    /// The claim, as it is read.
    pub claim: String,
    /// The confidence that its author gave it.
    pub stated: Score,
    /// The confidence that the evidence gives it: one half where there is none.
    pub confidence: Score,
    /// The most that it may have: what was made from other objects is at most as sure as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_most: Option<Score>,
    /// The evidence for it and against it, by id.
    pub evidence: Vec<Link>,
    /// The reason for which something inferred must not persist on this evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<GateRefusal>,
    /// The texts in disguise, of the object and of what it was made from: something inferred must not persist on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flagged: Vec<FlaggedText>,
    /// Fate of it at the next sweep, where evidence is over that spoke for it when it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weakened: Option<Weakening>,
}

/// Remains of a belief once evidence for it is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weakening {
    /// The confidence to which it is lowered.
    LoweredTo(Score),
    /// The instant at which it ends: nothing is left that speaks for it.
    Ends(Instant),
}

/// The claim of an object with its evidence at an instant, but for these objects and what was made from the object itself:
/// nothing speaks for what it was made from.
pub(crate) fn weigh(
    rows: &mut dyn Read,
    id: ObjectId,
    without: &BTreeSet<ObjectId>,
    at: Instant,
    view: View<'_>,
) -> Result<BeliefWithEvidence, Error> {
    let own = current_or_pending(rows, id)?.ok_or_else(|| no_belief(id))?;
    weigh_own(rows, own, without, at, view)
}

pub(crate) fn no_belief(id: ObjectId) -> Error {
    Error::not_found(format!("there is no belief about `{id}` now"))
        .hint("`tenure store history` shows what was believed of it")
}

/// Weighs an object as it is believed, or as it waits.
pub(crate) fn weigh_own(
    rows: &mut dyn Read,
    own: Arc<ContextObject>,
    without: &BTreeSet<ObjectId>,
    at: Instant,
    view: View<'_>,
) -> Result<BeliefWithEvidence, Error> {
    weigh_with(rows, own, without, &Fresh::default(), at, view)
}

/// Like `weigh_own`, with what the write makes besides.
pub(crate) fn weigh_with(
    rows: &mut dyn Read,
    own: Arc<ContextObject>,
    without: &BTreeSet<ObjectId>,
    fresh: &Fresh,
    at: Instant,
    view: View<'_>,
) -> Result<BeliefWithEvidence, Error> {
    let id = own.revision().object_id();
    if let View::Caller(_, sees) = view
        && !sees(std::slice::from_ref(&own)).iter().all(|seen| *seen)
    {
        return Err(no_belief(id));
    }
    let (entities, claim) = SlotClaim::of(&own).ok_or_else(|| no_claim(&own))?;
    let asked = Asked {
        claim: Some((&entities[..], &claim)),
        without,
        fresh,
        at,
        view,
    };
    let found = links(rows, &own, &asked)?;
    let evidence = evidence_of(&found.links);
    // As the gate asks of a write: a preference needs no evidence.
    let is_belief = own.revision().object_type() == ObjectType::InferredBelief;
    let refused = match refusal(&own, &found, MOST_NEEDED).filter(|_| is_belief) {
        None if is_over_user_stated(rows, &own)?
            || in_place_of(rows, &own, at)?.iter().any(|one| one.stands) =>
        {
            Some(GateRefusal::StatedOtherwise)
        }
        refused => refused,
    };
    Ok(BeliefWithEvidence {
        object_id: id,
        name: own.name().to_owned(),
        object_type: own.revision().object_type(),
        revision: own.revision().id(),
        claim: claim.claim.to_string(),
        stated: own.revision().confidence(),
        confidence: confidence(&evidence),
        at_most: least_of(rows, own.revision().derived_from())?,
        refused,
        flagged: found.flagged,
        evidence: found.links,
        weakened: None,
    })
}

/// The error for an object without a claim about something: what of it is missing.
fn no_claim(own: &ContextObject) -> Error {
    let name = clip(own.name());
    let said = own.revision().normalized_claim();
    match said.map(str::parse::<tenure::belief::Claim>) {
        None => Error::input(format!("`{name}` makes no claim"))
            .expected("a `normalized_claim`, such as `port == 443`"),
        Some(Err(error)) => {
            let expected = error.expected.clone();
            let error = Error::input(format!(
                "`{name}` makes no claim that can be read: {}",
                error.what
            ));
            match expected {
                Some(expected) => error.expected(expected),
                None => error,
            }
        }
        Some(Ok(_)) => Error::input(format!("`{name}` makes a claim about nobody that is named"))
            .expected("`canonical_entity_ids`, or `subjects`")
            .hint("write it again with the id of whom or what it is about"),
    }
}

/// The least confidence of these objects, as they were written last; none where none of them is believed.
pub(crate) fn least_of(rows: &mut dyn Read, parents: &[ObjectId]) -> Result<Option<Score>, Error> {
    let standing = rows.standing(parents)?;
    let heads = rows.heads(parents)?;
    let mut sealer = Sealer::default();
    let mut least: Option<Score> = None;
    for (id, standing) in standing {
        if standing.beliefs.is_empty() {
            continue;
        }
        let body = heads.get(&id).map_or("", String::as_str);
        let own = read_revision(&mut sealer, standing.head, body)?.revision().confidence();
        least = Some(least.map_or(own, |least| least.min(own)));
    }
    Ok(least)
}

/// The reason for which something waits for a person, where there is one: it was made from something that waits
/// (`is_unverified`), or was inferred and must not be believed by itself, by its evidence or else by a preference that says
/// otherwise.
pub(crate) fn why_waits(
    rows: &mut dyn Read,
    own: &ContextObject,
    is_unverified: bool,
    fresh: &Fresh,
    at: Instant,
) -> Result<Option<Withheld>, Error> {
    let because = |why| Withheld {
        why,
        flagged: Vec::new(),
    };
    if is_unverified {
        return Ok(Some(because(GateRefusal::UnverifiedParent)));
    }
    if !is_inferred(own) {
        return Ok(None);
    }
    if own.revision().object_type() == ObjectType::InferredBelief
        && let Some(withheld) = unfounded(rows, own, fresh, at)?
    {
        return Ok(Some(withheld));
    }
    let stated = user_stated_otherwise(rows, own, fresh, at)?;
    let stands = stated.iter().any(|one| one.stands) || is_over_user_stated(rows, own)?;
    Ok(stands.then(|| because(GateRefusal::StatedOtherwise)))
}

/// The reason for which the evidence of something inferred is not enough, where it is not. What makes no claim has no
/// evidence but what it was made from: of that, all must stand. A claim that cannot be compared needs as much as one that can.
fn unfounded(
    rows: &mut dyn Read,
    own: &ContextObject,
    fresh: &Fresh,
    at: Instant,
) -> Result<Option<Withheld>, Error> {
    let found = gather_for_all(rows, own, fresh, at)?.spoken(at);
    let needed = match own.revision().normalized_claim() {
        Some(_) => MOST_NEEDED,
        None => 0,
    };
    Ok(refusal(own, &found, needed).map(|why| Withheld {
        why,
        // Of several reasons it is the one that is told.
        flagged: Some(found.flagged).filter(|_| why == GateRefusal::Flagged).unwrap_or_default(),
    }))
}

/// The evidence that counts.
fn evidence_of(links: &[Link]) -> Vec<Evidence> {
    links
        .iter()
        .filter(|link| link.silent.is_none())
        .map(|link| Evidence {
            object: link.object_id,
            origins: link.origins.clone(),
            direction: link.direction,
            source_authority: link.source_authority,
        })
        .collect()
}

fn refusal(own: &ContextObject, found: &Spoken, needed: usize) -> Option<GateRefusal> {
    let links = &found.links;
    let mut parents = own.revision().derived_from().iter();
    let verified = parents
        .all(|parent| links.iter().any(|link| link.object_id == *parent && link.silent.is_none()));
    may_persist(&evidence_of(links), needed, verified, found.any_flagged).err()
}

/// The question for what speaks for an object and against it.
struct Asked<'q> {
    claim: Option<(&'q [String], &'q SlotClaim)>,
    /// The objects that do not speak.
    without: &'q BTreeSet<ObjectId>,
    fresh: &'q Fresh,
    at: Instant,
    view: View<'q>,
}

/// Returns whether what ends then is over at an instant for a claim that ends so. Evidence that covers the end of a claim's time
/// speaks for it also afterwards.
fn is_over(until: Option<Instant>, at: Instant, end: Option<Instant>) -> bool {
    until.is_some_and(|until| until <= at && end.is_none_or(|end| until < end))
}

/// The reason for which an object does not count for another, where there is one. Evidence that covers the end of a claim's
/// time speaks for it also afterwards.
pub(crate) fn silence(
    object: &ContextObject,
    own: &ContextObject,
    at: Instant,
    view: View<'_>,
) -> Option<Silence> {
    if is_over(object.valid().until, at, own.valid().until) {
        return Some(Silence::Over);
    }
    (!is_open(object, own, view)).then_some(Silence::NotForAll)
}

/// Returns whether all those may see an object to whom another one is told.
fn is_open(object: &ContextObject, own: &ContextObject, view: View<'_>) -> bool {
    match view {
        View::Everyone => object.flows_to(own),
        View::Caller(..) => true,
    }
}

/// Evidence for an object and against it, and the texts in disguise of the object and of what it was made from.
struct Spoken {
    links: Vec<Link>,
    any_flagged: bool,
    /// Those of them that everyone may see who may see the object.
    flagged: Vec<FlaggedText>,
}

/// Finds what speaks for an object and against it, but for what was made from the object itself.
fn links(rows: &mut dyn Read, own: &ContextObject, asked: &Asked<'_>) -> Result<Spoken, Error> {
    Ok(gather(rows, own, asked)?.spoken(asked.at))
}

/// An object that may speak for another or against it.
struct Found {
    source: Source,
    /// The end of the time for which it is believed.
    until: Option<Instant>,
    /// The link, but for its vote and whether it is over.
    link: Link,
}

/// Evidence that may speak for an object and against it, at any instant.
pub(crate) struct Gathered {
    /// The end of the time of the object itself.
    end: Option<Instant>,
    found: Vec<Found>,
    known: Sources,
    any_flagged: bool,
    flagged: Vec<FlaggedText>,
}

impl Gathered {
    /// Returns the evidence that speaks at an instant.
    fn spoken(self, at: Instant) -> Spoken {
        Spoken {
            links: self.links(at, &BTreeMap::new()),
            any_flagged: self.any_flagged,
            flagged: self.flagged,
        }
    }

    /// The links at an instant, where these objects ended then.
    pub(crate) fn links(&self, at: Instant, ended: &BTreeMap<ObjectId, Instant>) -> Vec<Link> {
        let over = |id: ObjectId, until: Option<Instant>| {
            let ended = ended.get(&id).copied();
            let until = until.into_iter().chain(ended).min();
            is_over(until, at, self.end)
        };
        let each = self.found.iter().map(|found| {
            let id = found.link.object_id;
            let is_over = over(id, found.until) || self.known.over(&found.source, &over);
            Link {
                silent: is_over.then_some(Silence::Over).or(found.link.silent),
                ..found.link.clone()
            }
        });
        let mut links: Vec<Link> = each.collect();
        let cast = votes(&evidence_of(&links));
        let counted = links.iter_mut().filter(|link| link.silent.is_none());
        for (link, vote) in counted.zip(cast) {
            link.vote = Some(vote + 1);
        }
        links
    }

    /// The objects that may speak.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ObjectId> {
        self.found.iter().map(|found| found.link.object_id)
    }

    /// The instants at which any of it ends, or something that it was made from, where these objects ended then.
    pub(crate) fn ends(&self, ended: &BTreeMap<ObjectId, Instant>) -> BTreeSet<Instant> {
        let own = self
            .found
            .iter()
            .filter(|found| found.link.direction == Direction::For)
            .map(|found| (found.link.object_id, found.until));
        let roots = self.known.until.iter().map(|(id, until)| (*id, *until));
        own.chain(roots)
            .flat_map(|(id, until)| until.into_iter().chain(ended.get(&id).copied()))
            .collect()
    }
}

/// Gathers what may speak for an object and against it, but for what was made from the object itself.
fn gather(rows: &mut dyn Read, own: &ContextObject, asked: &Asked<'_>) -> Result<Gathered, Error> {
    let id = own.revision().object_id();
    let mut others: BTreeSet<ObjectId> = BTreeSet::new();
    if let Some((entities, claim)) = asked.claim {
        for slot in slots_of(rows, entities, claim.claim.slot())? {
            others.extend(rows.on_slot(slot, MOST_EVIDENCE)?);
        }
        others.extend(asked.fresh.on_slot(entities, claim.claim.slot()));
    }
    let parents: BTreeSet<ObjectId> = own.revision().derived_from().iter().copied().collect();
    others.extend(&parents);
    for own in with_descendants(rows, &[id])? {
        others.remove(&own);
    }
    let mut others: Vec<ObjectId> = others.difference(asked.without).copied().collect();
    if let View::Caller(tenant, sees) = asked.view {
        others = open_objects(rows, tenant, others, Some(sees))?;
    }
    let mut found = current(rows, &others)?;
    for other in &others {
        if let Some(object) = asked.fresh.get(other) {
            found.insert(*other, Arc::clone(object));
        }
    }
    if let View::Caller(_, sees) = asked.view {
        // Labels do not tell all: some memory is hidden by where it comes from.
        let objects: Vec<_> = found.values().cloned().collect();
        let mut seen = sees(&objects).into_iter();
        found.retain(|_, _| seen.next() == Some(true));
    }
    let mut links = Vec::new();
    let mut flagged = flagged_in(own, None);
    let mut any_flagged = !flagged.is_empty();
    for (other, object) in found {
        let theirs = asked.claim.and_then(|(entities, claim)| {
            SlotClaim::of(&object).filter(|(about, theirs)| {
                theirs.claim.slot() == claim.claim.slot()
                    && about.iter().any(|entity| entities.contains(entity))
            })
        });
        let direction = match (&theirs, asked.claim) {
            (Some((_, theirs)), Some((_, claim))) if claim.against(theirs).is_some() => {
                Direction::Against
            }
            (Some((_, theirs)), Some((_, claim))) if theirs.claim == claim.claim => Direction::For,
            _ if parents.contains(&other) => Direction::For,
            _ => continue,
        };
        if parents.contains(&other) {
            let theirs = flagged_in(&object, Some(other));
            any_flagged |= !theirs.is_empty();
            if is_open(&object, own, asked.view) {
                flagged.extend(theirs);
            }
        }
        let is_rival = match (&theirs, asked.claim) {
            (Some((_, theirs)), Some((_, claim))) => claim.is_rival_of(theirs),
            _ => false,
        };
        let one_sided = || {
            is_rival
                && !parents.contains(&other)
                && silence(own, &object, asked.at, asked.view).is_some()
        };
        let silent = if !is_open(&object, own, asked.view) {
            Some(Silence::NotForAll)
        } else {
            one_sided().then_some(Silence::OneSided)
        };
        links.push(Found {
            source: Source::of(&object),
            until: object.valid().until,
            link: Link {
                object_id: other,
                name: object.name().to_owned(),
                origins: BTreeSet::new(),
                vote: None,
                silent,
                direction,
                source_authority: object.revision().source_authority(),
                claim: theirs.map(|(_, theirs)| theirs.claim.to_string()),
            },
        });
    }
    let known = Sources::of(rows, &links, asked.fresh)?;
    for found in &mut links {
        found.link.origins = known.origins(&found.source, found.link.object_id);
    }
    Ok(Gathered {
        end: own.valid().until,
        found: links,
        known,
        any_flagged,
        flagged,
    })
}

/// Gathers what may speak for an object and against it, as everyone counts it who may see it.
pub(crate) fn gather_for_all(
    rows: &mut dyn Read,
    own: &ContextObject,
    fresh: &Fresh,
    at: Instant,
) -> Result<Gathered, Error> {
    let claim = SlotClaim::of(own);
    let asked = Asked {
        claim: claim.as_ref().map(|(entities, claim)| (&entities[..], claim)),
        without: &BTreeSet::new(),
        fresh,
        at,
        view: View::Everyone,
    };
    gather(rows, own, &asked)
}

/// The confidence that this evidence gives.
pub(crate) fn confidence_of(links: &[Link]) -> Score {
    confidence(&evidence_of(links))
}

/// The texts in disguise of an object, which is the one that something was made from where it has an id.
fn flagged_in(object: &ContextObject, id: Option<ObjectId>) -> Vec<FlaggedText> {
    disguises(object)
        .into_iter()
        .map(|(field, disguise)| FlaggedText {
            object_id: id,
            field,
            disguise,
        })
        .collect()
}

/// Says of an object where it comes from.
#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Source {
    object_type: Option<ObjectType>,
    derived_from: Vec<ObjectId>,
    source_origin: Option<String>,
    origins: Vec<String>,
    provenance: Option<Provenance>,
}

impl Source {
    fn of(object: &ContextObject) -> Source {
        let revision = object.revision();
        let own = revision.source_origin();
        let origins = revision.origins().filter(|origin| own != Some(*origin));
        Source {
            object_type: Some(revision.object_type()),
            derived_from: revision.derived_from().to_vec(),
            source_origin: own.map(str::to_owned),
            origins: origins.map(str::to_owned).collect(),
            provenance: revision.provenance().cloned(),
        }
    }

    /// The origins of what was made from nothing else.
    fn own(&self, id: ObjectId) -> BTreeSet<String> {
        let stated = self.source_origin.iter().chain(&self.origins);
        let sites = stated.map(|origin| (origin, origin_site(origin)));
        if self.object_type == Some(ObjectType::InferredBelief) {
            // The file that it was put from says nothing.
            let web: BTreeSet<String> =
                sites.filter(|(origin, site)| site != *origin).map(|(_, site)| site).collect();
            return if web.is_empty() {
                [UNFOUNDED.to_owned()].into()
            } else {
                web
            };
        }
        let sites: BTreeSet<String> = sites.map(|(_, site)| site).collect();
        if !sites.is_empty() {
            return sites;
        }
        let found = self.provenance.as_ref().and_then(|found| found.source_id.as_deref());
        [found.map_or_else(|| id.to_string(), origin_site)].into()
    }
}

/// The objects that evidence was made from.
struct Sources {
    made: BTreeMap<ObjectId, Source>,
    /// The last end of each of them that is believed now.
    until: BTreeMap<ObjectId, Option<Instant>>,
    /// True where there are more of them than are looked at.
    is_cut: bool,
}

impl Sources {
    /// Reads what this evidence was made from, and what that was, as far as it is there.
    fn of(rows: &mut dyn Read, found: &[Found], fresh: &Fresh) -> Result<Sources, Error> {
        let mut made: BTreeMap<ObjectId, Source> = BTreeMap::new();
        let parents = found.iter().flat_map(|found| &found.source.derived_from);
        let mut wanted: BTreeSet<ObjectId> = parents.copied().collect();
        let mut until = BTreeMap::new();
        while !wanted.is_empty() && made.len() < MOST_ANCESTORS {
            let ids: Vec<ObjectId> = wanted.iter().copied().collect();
            let bodies = rows.heads(&ids)?;
            for (id, standing) in rows.standing(&ids)? {
                let speaking = standing.beliefs.iter().filter(|row| row.speaks());
                // The greatest is what has no end.
                let last = speaking.map(|row| (row.valid.until.is_none(), row.valid.until));
                until.extend(last.max().map(|(_, end)| (id, end)));
            }
            let mut next = BTreeSet::new();
            for id in ids {
                let source = match fresh.get(&id) {
                    Some(object) => {
                        until.insert(id, object.valid().until);
                        Some(Source::of(object))
                    }
                    None => bodies.get(&id).and_then(|body| serde_json::from_str(body).ok()),
                };
                if let Some(source) = source {
                    next.extend(source.derived_from.iter().copied());
                    made.insert(id, source);
                }
            }
            next.retain(|id| !made.contains_key(id));
            // What is gone is asked for once.
            wanted = next.difference(&wanted).copied().collect();
        }
        Ok(Sources {
            made,
            until,
            is_cut: !wanted.is_empty(),
        })
    }

    /// Returns whether all that an object was made from, and that is believed, is over, itself or by what it was made from: a
    /// compile leaves the object out as stale then.
    fn over(&self, source: &Source, over: &dyn Fn(ObjectId, Option<Instant>) -> bool) -> bool {
        let is_believed = |id: &ObjectId| self.until.contains_key(id);
        let mut any_over = false;
        let mut seen: BTreeSet<ObjectId> = BTreeSet::new();
        let mut open: Vec<ObjectId> = source.derived_from.clone();
        while let Some(id) = open.pop() {
            let Some(until) = self.until.get(&id).filter(|_| seen.insert(id)) else {
                continue;
            };
            if over(id, *until) {
                any_over = true;
                continue;
            }
            match self.made.get(&id) {
                Some(made) if made.derived_from.iter().any(is_believed) => {
                    open.extend(&made.derived_from);
                }
                _ => return false,
            }
        }
        any_over && !self.is_cut
    }

    /// The origins of an object: of what was made from others, those of its roots. Where one of these is gone, those that it
    /// has inherited count, too.
    fn origins(&self, source: &Source, id: ObjectId) -> BTreeSet<String> {
        if source.derived_from.is_empty() {
            return source.own(id);
        }
        let mut origins = BTreeSet::new();
        let mut seen: BTreeSet<ObjectId> = [id].into();
        let mut open: Vec<ObjectId> = source.derived_from.clone();
        while let Some(id) = open.pop() {
            if !seen.insert(id) {
                continue;
            }
            match self.made.get(&id) {
                Some(root) if root.derived_from.is_empty() => origins.extend(root.own(id)),
                Some(made) => open.extend(&made.derived_from),
                None => {
                    origins.insert(id.to_string());
                    origins.extend(source.origins.iter().map(|origin| origin_site(origin)));
                }
            }
        }
        if origins.is_empty() {
            origins.insert(UNFOUNDED.to_owned());
        }
        origins
    }
}
