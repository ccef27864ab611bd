//! Registries in a store: each is the fold of its log of operations, and one more log says which there
//! are and who may write to whom.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure::object::{Access, ObjectId, Status, clip};
use tenure::registry::{
    Actor, Applied, BlockId, Entry, Kind, Op, Registries, RegistryView, Secrets, State,
};
use tenure::{ContextObject, Error, ErrorKind};
use tenure_store::{Append, Tenant, WriteKey};

/// The log that says which registries there are.
const HEAD: &str = "registries";

/// An entry of that log.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum HeadEntry {
    /// The id of this set of registries.
    Set(String),
    /// There is a registry.
    Registry { label: Arc<str>, kind: Kind },
    /// One may write to another.
    Refer { from: Arc<str>, to: Arc<str> },
    /// One no longer may.
    Unrefer { from: Arc<str>, to: Arc<str> },
}

type References = BTreeSet<(Arc<str>, Arc<str>)>;

/// The state of the logs as read, so that changes can be appended.
#[derive(Debug)]
pub(crate) struct Logs {
    tenant: Tenant,
    /// The number of the last entry of each log.
    last: BTreeMap<String, u64>,
    labels: BTreeSet<Arc<str>>,
    references: References,
}

fn log_of(label: &str) -> String {
    format!("registry/{label}")
}

/// The labels of a tenant's registries.
pub(crate) fn labels(tenant: &Tenant) -> Result<Vec<Arc<str>>, Error> {
    let mut labels = Vec::new();
    for (number, body) in tenant.entries(HEAD, 0)? {
        if let HeadEntry::Registry { label, .. } = parsed(HEAD, number, &body)? {
            labels.push(label);
        }
    }
    Ok(labels)
}

/// The objects of one registry of a tenant, in order, as it stood at an entry of its log or stands now; and
/// which entry that is. Who may see one then must be able to see it now: its status says who that is.
pub(crate) fn blocks_at(
    tenant: &Tenant,
    label: &str,
    entry: Option<u64>,
) -> Result<(Vec<Arc<ContextObject>>, u64), Error> {
    let log = log_of(label);
    let mut entries = tenant.entries(&log, 0)?;
    let last = entries.last().map_or(0, |(number, _)| *number);
    let entry = entry.unwrap_or(last);
    if entry > last {
        let what = format!("the log of `{}` has no entry {entry} yet", clip(label));
        return Err(Error::input(what).expected(format!("at most {last}")));
    }
    let later = entries.split_off(entries.partition_point(|(number, _)| *number <= entry));
    let mut state = State::empty(label.into());
    // What was written last of each object, whether or not it still stands.
    let mut written: BTreeMap<ObjectId, Access> = BTreeMap::new();
    let mut fold = |state: &mut State, entries: Vec<(u64, String)>| {
        for (number, body) in entries {
            let Entry { by, op, .. } = parsed(&log, number, &body)?;
            let accesses =
                op.objects().map(|object| (object.revision().object_id(), object.access()));
            written.extend(accesses);
            applied(state, label, number, &by, op)?;
        }
        Ok::<(), Error>(())
    };
    fold(&mut state, entries)?;
    // Of which kind the registry is says nothing about its objects.
    let then = RegistryView::new(Kind::Agent, state.clone());
    if later.is_empty() {
        return Ok((then.objects().cloned().collect(), entry));
    }
    fold(&mut state, later)?;
    let now = RegistryView::new(Kind::Agent, state);
    let standing: BTreeMap<BlockId, Access> =
        now.blocks().map(|block| (block.id(), block.object().access())).collect();
    let objects = then.objects().map(|object| {
        let block = then
            .named(object.name())
            .ok()
            .filter(|block| Arc::ptr_eq(block.object(), object));
        let access = block
            .and_then(|block| standing.get(&block.id()))
            .or_else(|| written.get(&object.revision().object_id()));
        match access.filter(|access| **access != object.access()) {
            None => Arc::clone(object),
            Some(access) => {
                let status = Status {
                    access: Some(Arc::new(access.clone())),
                    ..object.status().clone()
                };
                Arc::new(object.judged(status, *object.usage()))
            }
        }
    });
    Ok((objects.collect(), entry))
}

/// The effect of the operation in an entry of the log of a tenant's registry.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when the log has no such entry, or cannot be read.
pub fn applied_at(tenant: &Tenant, label: &str, entry: u64) -> Result<Applied<BlockId>, Error> {
    let log = log_of(label);
    let mut state = State::empty(label.into());
    let mut last = None;
    for (number, body) in tenant.entries_in(&log, 1..entry.saturating_add(1))? {
        let Entry { by, op, .. } = parsed(&log, number, &body)?;
        last = Some(applied(&mut state, label, number, &by, op)?);
    }
    last.filter(|last| last.number == entry)
        .ok_or_else(|| Error::input(format!("the log of `{}` has no entry {entry}", clip(label))))
}

fn parsed<T: for<'de> Deserialize<'de>>(log: &str, number: u64, body: &str) -> Result<T, Error> {
    serde_json::from_str(body).map_err(|error| {
        Error::damaged(format!(
            "entry {number} of the log `{}` cannot be read: {error}",
            clip(log)
        ))
    })
}

fn applied(
    state: &mut State,
    label: &str,
    number: u64,
    by: &Actor,
    op: Op<BlockId>,
) -> Result<Applied<BlockId>, Error> {
    state.apply(by, op).map_err(|error| {
        Error::input(format!(
            "entry {number} of the log of `{}` does not apply: {}",
            clip(label),
            error.what
        ))
    })
}

impl Logs {
    /// The registries of a tenant, which from now on log what is done to them.
    pub(crate) fn fold(tenant: Tenant, secrets: Secrets) -> Result<(Registries, Logs), Error> {
        let mut logs = Logs {
            tenant,
            last: BTreeMap::new(),
            labels: BTreeSet::new(),
            references: References::new(),
        };
        let mut set = None;
        let mut kinds = BTreeMap::new();
        for made in logs.read(HEAD)? {
            match made {
                HeadEntry::Set(id) => set = u128::from_str_radix(&id, 16).ok(),
                HeadEntry::Registry { label, kind } => {
                    logs.labels.insert(Arc::clone(&label));
                    kinds.insert(label, kind);
                }
                HeadEntry::Refer { from, to } => drop(logs.references.insert((from, to))),
                HeadEntry::Unrefer { from, to } => drop(logs.references.remove(&(from, to))),
            }
        }
        let mut registries = match set {
            Some(set) => Registries::of_set(set, secrets),
            None => Registries::new(secrets),
        };
        for (label, kind) in kinds {
            let mut state = State::empty(Arc::clone(&label));
            for Entry { number, by, op, .. } in logs.read(&log_of(&label))? {
                applied(&mut state, &label, number, &by, op)?;
            }
            let own = logs.references.iter().filter(|(from, _)| *from == label);
            let references: Vec<Arc<str>> = own.map(|(_, to)| Arc::clone(to)).collect();
            registries.adopt(kind, state, references)?;
        }
        Ok((registries.with_log(), logs))
    }

    /// The entries of a log.
    fn read<T: for<'de> Deserialize<'de>>(&mut self, log: &str) -> Result<Vec<T>, Error> {
        let entries = self.tenant.entries(log, 0)?;
        self.last.insert(
            log.to_owned(),
            entries.last().map_or(0, |(number, _)| *number),
        );
        entries.into_iter().map(|(number, body)| parsed(log, number, &body)).collect()
    }

    /// Appends what was done since, to all logs at once. What no compile of the tenant could take is refused:
    /// objects of another.
    pub(crate) fn append(&self, registries: &mut Registries) -> Result<(), Error> {
        let appends = self.appends(registries)?;
        self.tenant.append_all(appends)
    }

    /// Like `append`, once: where it was done under this key before, what was answered then.
    pub(crate) fn append_once(
        &self,
        registries: &mut Registries,
        key: &WriteKey,
        answer: &str,
    ) -> Result<Option<String>, Error> {
        let appends = self.appends(registries)?;
        self.tenant.append_once(appends, key, answer)
    }

    fn appends(&self, registries: &mut Registries) -> Result<Vec<Append>, Error> {
        let labels: Vec<Arc<str>> = registries.labels().map(Arc::from).collect();
        let mut made = Vec::new();
        if self.labels.is_empty() {
            made.push(HeadEntry::Set(format!("{:032x}", registries.set())));
        }
        let mut references = References::new();
        for label in &labels {
            if !self.labels.contains(label) {
                let kind = registries.kind(label)?;
                made.push(HeadEntry::Registry {
                    label: Arc::clone(label),
                    kind,
                });
            }
            let own = registries.references(label)?;
            references.extend(own.map(|to| (Arc::clone(label), Arc::from(to))));
        }
        let added = references.difference(&self.references);
        made.extend(added.cloned().map(|(from, to)| HeadEntry::Refer { from, to }));
        let removed = self.references.difference(&references);
        made.extend(removed.cloned().map(|(from, to)| HeadEntry::Unrefer { from, to }));
        let mut appends = vec![self.appended(HEAD, &made)?];
        for label in &labels {
            let entries = registries.take_log(label)?;
            self.own(entries.iter().flat_map(|entry| entry.op.objects()))?;
            appends.push(self.appended(&log_of(label), &entries)?);
        }
        appends.retain(|append| !append.entries.is_empty());
        Ok(appends)
    }

    fn own<'o>(&self, objects: impl Iterator<Item = &'o Arc<ContextObject>>) -> Result<(), Error> {
        let mut objects = objects.map(|object| object.revision());
        let tenant = self.tenant.name();
        match objects.find(|revision| *revision.scope().tenant != *tenant) {
            None => Ok(()),
            Some(revision) => Err(Error::new(
                ErrorKind::Policy,
                format!("`{}` belongs to another tenant", clip(revision.name())),
            )
            .expected(format!(
                "`{}`, the tenant of these registries",
                clip(tenant)
            ))),
        }
    }

    fn appended(&self, log: &str, entries: &[impl Serialize]) -> Result<Append, Error> {
        let written = entries.iter().map(serde_json::to_string).collect::<Result<_, _>>();
        Ok(Append {
            log: log.to_owned(),
            after: self.last.get(log).copied().unwrap_or(0),
            entries: written.map_err(|error| {
                Error::input(format!("an operation cannot be written as JSON: {error}"))
            })?,
        })
    }
}
