//! Erasure: nothing is left of an object and of what was made from it but tombstones, which hold keyed
//! digests only. Compile records and logs that speak of it are rewritten.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use tenure::object::{Authority, ObjectId};
use tenure::time::Instant;
use tenure::{ContextObject, Digest, Error, ObjectDocument};

use crate::engine::{RecordRow, Write};
use crate::tenant::{
    Outcome, Tenant, Writing, Written, WrittenObject, buried_as, unwritable, with_descendants,
};

impl Tenant {
    /// Erases objects, everything that was made from them, and what records and logs say of them. In a
    /// file their bytes are overwritten; a server keeps them in dead rows until its next `VACUUM`, and in
    /// its archives and copies as long as these are kept.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when one of them is not there;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached. Then
    /// nothing was erased.
    pub fn erase(&self, ids: Vec<ObjectId>, writing: &Writing) -> Result<Written, Error> {
        let named: Vec<String> = ids.iter().map(ObjectId::to_string).collect();
        let asked = Digest::of(named.join(" ").as_bytes());
        self.once(writing, "erase", asked, move |rows| {
            let standing = rows.standing(&ids)?;
            let absent = |id: &&ObjectId| !standing.contains_key(id);
            let absent: Vec<ObjectId> = ids.iter().filter(absent).copied().collect();
            if !absent.is_empty() {
                // A block of a registry may stand in its log alone.
                let logged = logged(rows, &absent)?;
                let known = |id: &ObjectId| {
                    logged
                        .iter()
                        .any(|object| object.revision().object_id() == *id)
                };
                if let Some(missing) = absent.iter().find(|id| !known(id)) {
                    return Err(Error::input(format!("there is no object `{missing}`")));
                }
            }
            erase(rows, &ids)
        })
        .and_then(|written| self.engine.forget().map(|()| written))
    }

    /// Erases everything that is about a person.
    ///
    /// # Errors
    ///
    /// As [`Tenant::erase`], but that nobody is unknown.
    pub fn erase_subject(&self, subject: &str, writing: &Writing) -> Result<Written, Error> {
        let subject = subject.to_owned();
        let asked = Digest::of(subject.as_bytes());
        self.once(writing, "erase", asked, move |rows| {
            let ids = rows.about(&subject)?;
            erase(rows, &ids)
        })
        .and_then(|written| self.engine.forget().map(|()| written))
    }
}

fn erase(rows: &mut dyn Write, ids: &[ObjectId]) -> Result<Vec<WrittenObject>, Error> {
    rows.stamp()?;
    let Some(key) = rows.key()? else {
        return Ok(Vec::new());
    };
    let ids = with_descendants(rows, ids)?;
    let mut gone = Gone::default();
    let mut tombstones = Vec::new();
    for id in &ids {
        let label = buried_as(&key, *id);
        tombstones.push(label);
        gone.0.insert(id.to_string(), stand_in_id(label));
        let history = rows.history(*id)?;
        let revisions: Vec<Digest> = history.iter().map(|row| row.revision).collect();
        for (revision, body) in rows.bodies(&revisions)? {
            let keyed = Digest::keyed(&key, &[b"revision", revision.bytes()]);
            tombstones.push(keyed);
            gone.0.insert(revision.to_string(), keyed.to_string());
            let body: Value = serde_json::from_str(&body).map_err(|error| unwritable(&error))?;
            for field in ["content", "name"] {
                let text = body.get(field).and_then(Value::as_str).unwrap_or_default();
                gone.0.insert(text.to_owned(), stand_in(label));
                let digest = Digest::of(text.as_bytes());
                let keyed = Digest::keyed(&key, &[b"text", digest.bytes()]);
                gone.0.insert(digest.to_string(), keyed.to_string());
            }
        }
    }
    for object in logged(rows, &ids)? {
        let label = buried_as(&key, object.revision().object_id());
        let revision = object.revision().id();
        let keyed = Digest::keyed(&key, &[b"revision", revision.bytes()]);
        gone.0.insert(revision.to_string(), keyed.to_string());
        gone.0.insert(object.name().to_owned(), stand_in(label));
    }
    let records = rows.records_of(&ids)?;
    let mut rewritten = Vec::with_capacity(records.len());
    for record in records {
        let mut body: Value =
            serde_json::from_str(&record.body).map_err(|error| unwritable(&error))?;
        gone.scrub(&mut body);
        rewritten.push(RecordRow {
            body: body.to_string(),
            objects: record
                .objects
                .iter()
                .copied()
                .filter(|id| !ids.contains(id))
                .collect(),
            ..record
        });
    }
    rows.erase(&ids, &tombstones)?;
    rows.put_records(&rewritten)?;
    for (log, _) in rows.logs()? {
        let mut changed = Vec::new();
        for (number, entry) in rows.entries(&log, 1..u64::MAX)? {
            let mut body: Value =
                serde_json::from_str(&entry).map_err(|error| unwritable(&error))?;
            if gone.bury(&mut body) {
                changed.push((number, body.to_string()));
            }
        }
        rows.rewrite(&log, &changed)?;
    }
    let erased = ids.into_iter().map(|object_id| WrittenObject {
        object_id,
        name: None,
        revision: None,
        outcome: Outcome::Erased,
    });
    Ok(erased.collect())
}

/// The objects of these ids that entries of logs hold.
fn logged(rows: &mut dyn Write, ids: &[ObjectId]) -> Result<Vec<Arc<ContextObject>>, Error> {
    let mut found = Vec::new();
    for (log, _) in rows.logs()? {
        for (_, entry) in rows.entries(&log, 1..u64::MAX)? {
            let body: Value = serde_json::from_str(&entry).map_err(|error| unwritable(&error))?;
            objects_in(&body, ids, &mut found);
        }
    }
    Ok(found)
}

fn objects_in(value: &Value, ids: &[ObjectId], found: &mut Vec<Arc<ContextObject>>) {
    match value {
        Value::Array(values) => values
            .iter()
            .for_each(|value| objects_in(value, ids, found)),
        Value::Object(fields) => {
            let id = fields.get("object_id").and_then(Value::as_str);
            let id = id.and_then(|id| id.parse::<ObjectId>().ok());
            if id.is_some_and(|id| ids.contains(&id)) {
                let document = ObjectDocument::deserialize(value).ok();
                found.extend(document.and_then(|document| document.seal().ok()));
            } else {
                fields
                    .values()
                    .for_each(|value| objects_in(value, ids, found));
            }
        }
        _ => {}
    }
}

/// What stands in the place of a name or a text.
fn stand_in(label: Digest) -> String {
    format!("erased-{}", &label.to_string()["sha256:".len()..][..12])
}

fn stand_in_id(label: Digest) -> String {
    ObjectId::from_bits(label.key()).to_string()
}

/// What was erased, and what stands in its place.
#[derive(Default)]
struct Gone(BTreeMap<String, String>);

impl Gone {
    /// Replaces every text that is one of those erased. What hides in an erased text goes as well.
    fn scrub(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(stand_in) = self.0.get(text) {
                    text.clone_from(stand_in);
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.scrub(value)),
            Value::Object(fields) => {
                let name = fields.get("name").and_then(Value::as_str);
                if name.is_some_and(|name| self.0.contains_key(name)) {
                    fields.remove("payload");
                }
                fields.values_mut().for_each(|value| self.scrub(value));
            }
            _ => {}
        }
    }

    /// Replaces every object that was erased by one that says so; tells whether there was any.
    fn bury(&self, value: &mut Value) -> bool {
        match value {
            Value::Array(values) => values
                .iter_mut()
                .fold(false, |any, value| self.bury(value) | any),
            Value::Object(fields) => {
                let id = fields.get("object_id").and_then(Value::as_str);
                let buried = id.and_then(|id| self.0.get(id)).cloned();
                let Some(id) = buried else {
                    return fields
                        .values_mut()
                        .fold(false, |any, value| self.bury(value) | any);
                };
                let mut left = json!({
                    "authority_level": Authority::Data,
                    "content": "erased",
                    "name": format!("erased-{}", &id[..8]),
                    "object_id": id,
                    // It holds at no time anybody asks about, so no compile shows it.
                    "valid_until": Instant::from_micros(0),
                });
                // What a fold of the log needs to know of it.
                for field in ["author", "removable", "tenant_id", "trajectory_id"] {
                    if let Some(value) = fields.get(field) {
                        left[field] = value.clone();
                    }
                }
                *value = left;
                true
            }
            _ => false,
        }
    }
}
