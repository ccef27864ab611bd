//! The instant from which the age of an object counts that says nothing of when it became true.

use std::collections::BTreeMap;

use tenure::num::Score;
use tenure::object::ObjectType;
use tenure::time::Instant;
use tenure::{ContextObject, Error};

use crate::engine::{BeliefRow, Read};

/// Returns whether an object's own rule may make it too old, and its age counts from when it was written.
pub(crate) fn ages_from_writing(object: &ContextObject) -> bool {
    let revision = object.revision();
    let rule = revision.decay_rule();
    rule.is_some_and(|rule| rule.minimum_threshold > Score::ZERO)
        && revision.valid().from.is_none()
        && object.usage().last_confirmed.is_none()
}

/// The instant at which what a belief says was written. Judgements, earlier sweeps and writes about other times open a
/// belief anew, and so does evidence that falls and lowers what was inferred from it: none of them makes it younger.
pub(crate) fn written_at(
    rows: &mut dyn Read,
    row: &BeliefRow,
    object: &ContextObject,
) -> Result<Instant, Error> {
    let revision = object.revision();
    if revision.valid().from.is_some() {
        // Its age counts from there.
        return Ok(row.opened.at);
    }
    let history = rows.history(row.object)?;
    let bodies = match revision.object_type() {
        ObjectType::InferredBelief => rows.bodies(&history.iter().collect::<Vec<_>>())?,
        _ => BTreeMap::new(),
    };
    let said = |revision| {
        let body = bodies.get(&revision)?;
        let mut body: serde_json::Value = serde_json::from_str(body).ok()?;
        body.as_object_mut()?.remove("confidence_score");
        Some(body)
    };
    let own = said(row.revision);
    let is_same = |other: &BeliefRow| {
        other.revision == row.revision || (own.is_some() && said(other.revision) == own)
    };
    let mut since = row.opened.at;
    for before in history.iter().rev() {
        if before.closed.is_some_and(|closed| closed.at == since) && is_same(before) {
            since = before.opened.at;
        }
    }
    Ok(since)
}
