//! Compile records: what a compile was made from, so that it can be made again and proven.

mod again;
mod compiled;
mod exchange;
mod forms;
mod items;
mod labels;
mod look;
mod money;
mod pieces;
mod relayed;
mod replay;
mod tokens;
mod used;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::object::{Access, Authority, ObjectId, Overrides, Status, Usage};
use tenure::time::Instant;
use tenure::trace::Ruling;
use tenure::{
    ChatTemplate, CompileRecord, ContextObject, Digest, Envelope, Error, Facts, Outcome, Policy,
    Request, Unfetched, Without,
};
use tenure_adapters::embed::builtin_model;
use tenure_store::engine::RecordRow;
use tenure_store::{KeptRecord, Tenant};

use crate::stored::{Gathered, RegistryRef};
use crate::workspace::Workspace;

pub use again::{Again, ExchangeReplay};
pub use compiled::{Choices, Chosen, ExchangeCompile};
pub(crate) use compiled::{choices, entity_conflicts, is_quarantined, summaries};
pub use exchange::{
    EXCHANGE_PREFIX, EXCHANGE_RECORD_VERSION, Ending, ExchangeRecord, Kept, KeptBody,
};
pub use items::{RequestItems, Tally};
pub use labels::{Choice, Labels};
pub use look::{CompileLine, Line, Listed, Look};
pub use money::{Bill, Net, spent, tier};
pub use relayed::{Conversed, Talk};
pub use replay::{Proof, Replay};
pub(crate) use tokens::calibrated;
pub use tokens::{Count, CountedBy, Tokens};
pub use words::{epoch_in_words, unmanaged_in_words};

/// The version of a stored record.
pub const STORED_RECORD_VERSION: u32 = 1;

/// A compile record with all that its compile depended on, as a store keeps it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredRecord {
    /// The version of this form.
    pub version: u32,
    /// The record.
    pub record: CompileRecord,
    /// The payload that was sent, without its bytes: they follow from the inputs.
    pub envelope: Envelope,
    /// Its index among several payloads, from 0.
    #[serde(default)]
    pub page: u32,
    /// The inputs of the compile.
    pub inputs: Inputs,
    /// The labels, if it was labelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Labels>,
}

/// The inputs of a compile.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inputs {
    /// The request.
    pub request: Request,
    /// The digest of the policy's document, which is stored with the record.
    pub policy: Digest,
    /// The digests of the texts that the chat template was read from, which are stored with the record: its own, and
    /// that of its configuration, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<(Digest, Option<Digest>)>,
    /// The answers of the outside.
    #[serde(default)]
    pub facts: Facts,
    /// The vectors of the built-in table that are not kept, since it gives them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without: Option<Without>,
    /// The objects that were not of the store: the digest of each one's published form, which is stored with the
    /// record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceRef>,
    /// Objects that were known and not fetched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfetched: Vec<Unfetched>,
    /// The registry of the store that some of them are of, at the entry of its log that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<RegistryRef>,
    /// The state of the store that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<StoreRef>,
}

/// An object that was not of the store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRef {
    /// The digest of its published form.
    pub object: Digest,
    /// The overrides of the registry that it stood in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrides: Option<Overrides>,
    /// The access to the object when it was read, where it is a revision of the past.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Arc<Access>>,
    /// The authority that it asked for, where it has less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Authority>,
    /// Set where the request itself brought it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub said: bool,
}

/// The state of the store that was read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreRef {
    /// The tenant's version.
    pub version: u64,
    /// The instant of that version.
    pub at: Instant,
    /// The instant that was looked from, where it was not that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<Instant>,
    /// The usage buckets by the places of their objects in the store: a letter for each place, `A` for bucket 0, and how often
    /// it is repeated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub used: String,
    /// The usage buckets that were not 0, in older records.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub buckets: BTreeMap<ObjectId, u8>,
    /// The store's objects that a source replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaced: Vec<ObjectId>,
}

impl StoreRef {
    /// Returns what was read of a store: nothing where these are of none.
    fn of(gathered: &Gathered, stored: &[Arc<ContextObject>]) -> Result<Option<StoreRef>, Error> {
        let Some(part) = &gathered.stored else {
            return Ok(None);
        };
        // Stores of earlier versions may lack the line of a version in which nothing changed.
        let Some(last) = part.tenant.written(part.version)? else {
            return Ok(None);
        };
        let mut placed = Vec::new();
        let mut buckets = BTreeMap::new();
        for object in stored.iter().filter(|object| object.usage().bucket() > 0) {
            let (id, bucket) = (object.revision().object_id(), object.usage().bucket());
            let resident = part.resident.as_ref();
            match resident.and_then(|resident| resident.place_of(id)) {
                Some(place) => placed.push((place, bucket)),
                None => {
                    buckets.insert(id, bucket);
                }
            }
        }
        // Of one object several revisions may hold, each for its time.
        placed.dedup();
        Ok(Some(StoreRef {
            version: part.version,
            at: last.at,
            known: part.known,
            used: used::written(placed),
            buckets,
            replaced: part.replaced.clone(),
        }))
    }
}

impl Workspace {
    /// The records that a tenant's store keeps.
    pub fn records<'w>(&'w self, tenant: &'w Tenant) -> Records<'w> {
        Records {
            workspace: self,
            tenant,
        }
    }
}

/// The records of a tenant: kept, read, labelled, repeated and printed in the forms that others read.
#[derive(Clone, Copy)]
pub struct Records<'w> {
    workspace: &'w Workspace,
    tenant: &'w Tenant,
}

impl Records<'_> {
    /// **record**: what an outcome was made from, kept in the tenant's store, with what it used. One record for each
    /// payload; returns their ids.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`](tenure::ErrorKind::Policy) when an object that was compiled has been erased meanwhile;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn keep(&self, job: &Recording<'_>) -> Result<Vec<String>, Error> {
        let mut blobs = Vec::new();
        let policy = serde_json::to_vec(job.policy.document()).map_err(unwritable)?;
        let policy_digest = Digest::of(&policy);
        blobs.push(policy);
        let template = job.template.map(|template| {
            let mut keep = |text: &str| {
                blobs.push(text.as_bytes().to_vec());
                Digest::of(text.as_bytes())
            };
            let (text, beside) = template.texts();
            (keep(text), beside.map(keep))
        });
        let objects = job.gathered.candidates.objects();
        let mut sources = Vec::new();
        let said = job.gathered.candidates.which_are_said();
        for (object, said) in objects[..job.gathered.sources].iter().zip(said) {
            let body = serde_json::to_vec(&**object).map_err(unwritable)?;
            sources.push(SourceRef {
                object: Digest::of(&body),
                overrides: Some(object.overrides().clone())
                    .filter(|overrides| *overrides != Overrides::default()),
                access: object.status().access.clone(),
                asked: object.status().asked,
                said,
            });
            blobs.push(body);
        }
        let stored = &objects[job.gathered.sources..];
        let (facts, without) = job.facts.without(&builtin_model()?);
        let inputs = Inputs {
            request: job.request.clone(),
            policy: policy_digest,
            template,
            facts,
            without,
            sources,
            unfetched: job.gathered.unfetched.clone(),
            registry: job.gathered.registry.clone(),
            store: StoreRef::of(job.gathered, stored)?,
        };
        let mut rows = Vec::new();
        let mut ids = Vec::new();
        for (page, compiled) in (0..).zip(job.outcome.compiled()) {
            let mut record = self.workspace.record(compiled, job.compiled_at, job.latency);
            if page > 0 {
                record.record_id = format!("{}-{page}", record.record_id);
            }
            record.trace = compiled.trace.brief();
            let kept = StoredRecord {
                version: STORED_RECORD_VERSION,
                envelope: Envelope {
                    payload: None,
                    ..compiled.envelope.clone()
                },
                page,
                inputs: inputs.clone(),
                record,
                labels: None,
            };
            ids.push(kept.record.record_id.clone());
            rows.push(KeptRecord {
                row: RecordRow {
                    id: kept.record.record_id.clone(),
                    compiled_at: job.compiled_at,
                    body: serde_json::to_string(&kept).map_err(unwritable)?,
                    objects: spoken_of(&kept, stored)?,
                },
                // Each page refers to the same texts.
                texts: std::mem::take(&mut blobs),
                log: None,
                after_erasure: None,
            });
        }
        self.tenant.keep_records(rows)?;
        self.tenant.record_use(used(job, stored))?;
        Ok(ids)
    }

    /// A record as it is stored. Its account is a brief one where there were many candidates ([`Records::whole`]).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is none;
    /// [`ErrorKind::Damaged`](tenure::ErrorKind::Damaged) when it cannot be read;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn get(&self, id: &str) -> Result<StoredRecord, Error> {
        let row = self.tenant.record(id)?.ok_or_else(|| unknown(id))?;
        StoredRecord::read(id, &row)
    }
}

impl StoredRecord {
    fn read(id: &str, row: &RecordRow) -> Result<StoredRecord, Error> {
        if id.starts_with(EXCHANGE_PREFIX) {
            return Err(Error::input(format!(
                "`{}` is the record of a gateway request",
                tenure::object::clip(id)
            ))
            .expected("the record of a compile"));
        }
        let record: StoredRecord = serde_json::from_str(&row.body).map_err(|error| {
            Error::damaged(format!("the record `{}` cannot be read: {error}", row.id))
        })?;
        if record.version != STORED_RECORD_VERSION {
            return Err(
                Error::input(format!("the record has version {}", record.version))
                    .expected(format!("version {STORED_RECORD_VERSION}")),
            );
        }
        Ok(record)
    }
}

fn unknown(id: &str) -> Error {
    Error::not_found(format!("there is no record `{}`", tenure::object::clip(id)))
        .hint("`tenure store records` lists the newest")
}

/// A compile that is to be recorded.
#[derive(Debug)]
pub struct Recording<'j> {
    /// Its outcome.
    pub outcome: &'j Outcome,
    /// Its request.
    pub request: &'j Request,
    /// Under which policy.
    pub policy: &'j Policy,
    /// Through which chat template, if any.
    pub template: Option<&'j ChatTemplate>,
    /// Over which candidates.
    pub gathered: &'j Gathered,
    /// With which answers of the outside.
    pub facts: &'j Facts,
    /// The instant of the compile.
    pub compiled_at: Instant,
    /// Its duration.
    pub latency: Duration,
}

/// The usage of the store's objects in the payloads.
fn used(job: &Recording<'_>, stored: &[Arc<ContextObject>]) -> Vec<(ObjectId, Usage)> {
    let usage = Usage {
        access_count: 1,
        last_used: Some(job.compiled_at),
        last_confirmed: None,
    };
    let mut used = BTreeSet::new();
    for compiled in job.outcome.compiled() {
        let verdicts = compiled.trace.verdicts.iter().skip(job.gathered.sources);
        for (verdict, object) in verdicts.zip(stored) {
            if verdict.verdict == Ruling::Included {
                used.insert(object.revision().object_id());
            }
        }
    }
    used.into_iter().map(|id| (id, usage)).collect()
}

/// The objects of the store that a record names.
fn spoken_of(record: &StoredRecord, stored: &[Arc<ContextObject>]) -> Result<Vec<ObjectId>, Error> {
    let mut said = BTreeSet::new();
    let account = serde_json::to_value((
        &record.record.trace,
        &record.envelope,
        &record.inputs.request,
    ));
    each_text(&account.map_err(unwritable)?, &mut |text| {
        said.insert(text.to_owned());
    });
    let of: BTreeSet<ObjectId> = stored
        .iter()
        .filter(|object| {
            let id = object.revision().object_id();
            said.contains(object.name()) || said.contains(&id.to_string())
        })
        .map(|object| object.revision().object_id())
        .collect();
    Ok(of.into_iter().collect())
}

fn each_text(value: &Value, each: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(values) => values.iter().for_each(|value| each_text(value, each)),
        Value::Object(fields) => fields.values().for_each(|value| each_text(value, each)),
        _ => {}
    }
}

/// The object with a usage bucket that was noted.
fn with_bucket(object: &Arc<ContextObject>, bucket: u8) -> Arc<ContextObject> {
    let access_count = 1u64.checked_shl(u32::from(bucket).saturating_sub(1)).unwrap_or(u64::MAX);
    let usage = Usage {
        access_count: if bucket == 0 { 0 } else { access_count },
        ..*object.usage()
    };
    let status: Status = object.status().clone();
    Arc::new(object.judged(status, usage))
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::input(format!("the record cannot be written as JSON: {error}"))
}
