//! Tombstones: keyed digests that an erasure leaves behind, so that what was erased does not come back.

use std::collections::{BTreeMap, BTreeSet};

use tenure::belief::folded;
use tenure::object::{ObjectId, clip};
use tenure::{Digest, Error, ErrorKind};

use crate::rows::engine::Write;

/// The entry of a session's log, or of the entities', that says that entries before it were rewritten.
pub(crate) const NOTICE: &str = "{\"erased\":{}}";

/// The tombstone of an erased object: a keyed digest of its id.
pub(crate) fn tombstone_of(key: &[u8; 32], id: ObjectId) -> Digest {
    Digest::keyed(key, &[b"object", &id.bits().to_be_bytes()])
}

/// The ids among these that were erased: their tombstones keep them from coming back.
pub(crate) fn with_tombstones(
    rows: &mut dyn Write,
    ids: &[ObjectId],
) -> Result<BTreeSet<ObjectId>, Error> {
    let Some(key) = rows.key()?.filter(|_| !ids.is_empty()) else {
        return Ok(BTreeSet::new());
    };
    if !rows.any_tombstone()? {
        return Ok(BTreeSet::new());
    }
    let by_digest: BTreeMap<Digest, ObjectId> =
        ids.iter().map(|id| (tombstone_of(&key, *id), *id)).collect();
    let digests: Vec<Digest> = by_digest.keys().copied().collect();
    let tombstones = rows.tombstones(&digests)?;
    let found = tombstones.iter().filter_map(|tombstone| by_digest.get(&tombstone.digest));
    Ok(found.copied().collect())
}

/// The tombstone of an erased log: a keyed digest of its name.
pub(crate) fn log_tombstone(key: &[u8; 32], log: &str) -> Digest {
    Digest::keyed(key, &[b"log", log.as_bytes()])
}

/// The tombstone of an erased text: a keyed digest of its digest.
pub(crate) fn blob_tombstone(key: &[u8; 32], digest: Digest) -> Digest {
    Digest::keyed(key, &[b"blob", digest.bytes()])
}

/// The tombstone of an erased entity, or of a person: a keyed digest of an id or a mail address, in any case.
pub(crate) fn entity_tombstone(key: &[u8; 32], id: &str) -> Digest {
    Digest::keyed(key, &[b"entity", folded(id).as_bytes()])
}

/// Refuses to begin a log that was erased.
pub(crate) fn refuse_erased_log(rows: &mut dyn Write, log: &str) -> Result<(), Error> {
    let Some(key) = rows.key()? else {
        return Ok(());
    };
    if rows.tombstones(&[log_tombstone(&key, log)])?.is_empty() {
        return Ok(());
    }
    let what = format!("the log `{}` was erased", clip(log));
    Err(Error::new(ErrorKind::Policy, what).hint("use another name"))
}

/// Refuses texts of which one was erased.
pub(crate) fn refuse_erased_blobs(
    rows: &mut dyn Write,
    digests: impl Iterator<Item = Digest>,
) -> Result<(), Error> {
    let Some(key) = rows.key()? else {
        return Ok(());
    };
    let erased: BTreeMap<Digest, Digest> =
        digests.map(|digest| (blob_tombstone(&key, digest), digest)).collect();
    let labels: Vec<Digest> = erased.keys().copied().collect();
    let found = rows.tombstones(&labels)?.iter().find_map(|found| erased.get(&found.digest));
    found.map_or(Ok(()), |digest| {
        let what = format!("the text {digest} was erased");
        Err(Error::new(ErrorKind::Policy, what).hint("leave it out"))
    })
}
