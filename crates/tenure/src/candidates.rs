//! What a compile chooses from: objects in their registry order, and what was not fetched.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::object::{ContextObject, Overrides};
use crate::stages::normalize::{Normalized, normalize};
use crate::time::{Instant, Interval};

/// Something that collecting did not fetch, and why: nothing is lost unseen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unfetched {
    /// What it is, as the user would name it.
    pub what: String,
    /// Why it was not fetched.
    pub why: String,
}

/// An immutable set of candidates. What depends on them alone (rows, postings, digest) is made
/// once, at the first compile, and kept with them.
///
/// ```
/// use tenure::{Candidates, ObjectDocument};
/// let rule = ObjectDocument::new("brevity", "Answer in one sentence.").seal().unwrap();
/// assert_eq!(Candidates::new(vec![rule]).len(), 1);
/// ```
#[derive(Debug, Default)]
pub struct Candidates {
    objects: Vec<Arc<ContextObject>>,
    unfetched: Vec<Unfetched>,
    normalized: OnceLock<Normalized>,
}

impl Candidates {
    /// These objects, in registry order.
    pub fn new(objects: Vec<Arc<ContextObject>>) -> Candidates {
        Candidates {
            objects,
            ..Candidates::default()
        }
    }

    /// The same candidates with a report of what was not fetched.
    #[must_use]
    pub fn with_unfetched(self, unfetched: Vec<Unfetched>) -> Candidates {
        Candidates {
            objects: self.objects,
            unfetched,
            ..Candidates::default()
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// The objects, in registry order.
    pub fn objects(&self) -> &[Arc<ContextObject>] {
        &self.objects
    }

    /// What was not fetched.
    pub fn unfetched(&self) -> &[Unfetched] {
        &self.unfetched
    }

    /// The digest of everything in them that a compile may depend on.
    pub fn digest(&self) -> Digest {
        normalize(self).digest()
    }

    pub(crate) fn normalized(&self, make: impl FnOnce() -> Normalized) -> &Normalized {
        self.normalized.get_or_init(make)
    }
}

/// The digest of these objects in this order: what a compile may depend on in each of them, and
/// what was not fetched.
pub(crate) fn digest_of<'a>(
    objects: impl Iterator<Item = &'a ContextObject>,
    unfetched: &[Unfetched],
) -> Digest {
    let mut leaves = Vec::new();
    for Unfetched { what, why } in unfetched {
        let report = Digest::of_parts([what.as_bytes(), why.as_bytes()]);
        leaves.extend_from_slice(report.bytes());
    }
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
    }
    Digest::of(&leaves)
}
