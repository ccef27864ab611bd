//! The digest of candidates: what a compile may depend on in each of them, and what was not fetched.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::time::{Instant, Interval};
use crate::object::{ContextObject, Overrides};

/// Something that collecting did not fetch, and why: nothing is lost unseen.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unfetched {
    /// The source, as the user would name it.
    pub what: String,
    /// The reason why it was not fetched.
    pub why: String,
    /// An object with the labels of what is not shown to every caller. Only who may see it is told of it
    /// ([`Trace::caller_view`](crate::Trace::caller_view)).
    #[serde(skip)]
    pub labels: Option<Arc<ContextObject>>,
}

impl Unfetched {
    /// Something of which every caller may be told.
    pub fn new(what: impl Into<String>, why: impl Into<String>) -> Unfetched {
        Unfetched {
            what: what.into(),
            why: why.into(),
            labels: None,
        }
    }
}

impl PartialEq for Unfetched {
    fn eq(&self, other: &Unfetched) -> bool {
        (&self.what, &self.why) == (&other.what, &other.why)
    }
}

impl Eq for Unfetched {}

/// The digest of these objects in this order, each with whether the caller says it: what a compile may depend on
/// in each of them, and what was not fetched.
pub(crate) fn digest_of<'a>(
    objects: impl Iterator<Item = (&'a ContextObject, bool)>,
    unfetched: &[Unfetched],
) -> Digest {
    let leaves: Vec<Vec<u8>> =
        objects.map(|(object, said)| leaves_of(std::iter::once(object), said)).collect();
    digest_of_leaves(leaves.iter().map(Vec::as_slice), unfetched)
}

/// Like `digest_of`, from what [`leaves_of`] gave for runs of the objects.
pub(crate) fn digest_of_leaves<'l>(
    runs: impl IntoIterator<Item = &'l [u8]>,
    unfetched: &[Unfetched],
) -> Digest {
    let reports: Vec<u8> = unfetched
        .iter()
        .flat_map(|Unfetched { what, why, .. }| {
            *Digest::of_parts([what.as_bytes(), why.as_bytes()]).bytes()
        })
        .collect();
    let runs: Vec<&[u8]> = runs.into_iter().collect();
    Digest::of_joined([&[reports.as_slice()], runs.as_slice()].concat())
}

/// Returns the leaves of these objects: all that a compile may depend on, each said by the caller or not.
pub(crate) fn leaves_of<'a>(
    objects: impl Iterator<Item = &'a ContextObject>,
    said: bool,
) -> Vec<u8> {
    let mut leaves = Vec::new();
    for object in objects {
        let status = object.status();
        leaves.extend_from_slice(object.revision().id().bytes());
        leaves.push(status.contradiction as u8);
        leaves.push(object.usage().bucket());
        let mut instants = |interval: Interval| {
            for instant in [interval.from, interval.until] {
                let micros = instant.map_or(i64::MIN, Instant::micros);
                leaves.extend_from_slice(&micros.to_le_bytes());
            }
        };
        instants(status.transaction);
        if let Some(valid) = status.valid {
            instants(valid);
            leaves.push(b'v');
        }
        // How old it is.
        for (at, mark) in [
            (status.written, b'w'),
            (object.usage().last_confirmed, b'c'),
        ] {
            if let Some(at) = at {
                leaves.extend_from_slice(&at.micros().to_le_bytes());
                leaves.push(mark);
            }
        }
        if let Some(recorded) = status.recorded {
            leaves.extend_from_slice(&recorded.micros().to_le_bytes());
            leaves.push(b'r');
        }
        if let Some(access) = &status.access {
            leaves.extend_from_slice(access.digest().bytes());
        }
        let overrides = object.overrides();
        if *overrides != Overrides::default() {
            leaves.extend_from_slice(overrides.digest().bytes());
        }
        match status.superseded_by {
            Some(id) => leaves.extend_from_slice(id.to_string().as_bytes()),
            None => leaves.push(0),
        }
        if let Some(revision) = status.damaged {
            leaves.extend_from_slice(revision.bytes());
            leaves.push(b'd');
        }
        for decided in status.decisions.iter().flat_map(|all| all.iter()) {
            leaves.extend_from_slice(&decided.other.bits().to_le_bytes());
            leaves.extend_from_slice(&[decided.stands as u8, b'j']);
            for id in decided.merged.iter().flat_map(|ids| ids.iter()) {
                leaves.extend_from_slice(Digest::of(id.as_bytes()).bytes());
                leaves.push(b'm');
            }
        }
        if said {
            leaves.push(b's');
        }
    }
    leaves
}
