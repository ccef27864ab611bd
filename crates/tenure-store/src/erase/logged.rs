//! The objects in the logs of a tenant: registries, sessions and what belongs to them. Entries are read as plain
//! JSON, whichever version wrote them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use tenure::belief::folded;
use tenure::object::ObjectId;
use tenure::wire::{self, Format};
use tenure::{ContextObject, Error, ObjectDocument};

use super::fields::{id_of, sealed};
use super::gone::{ERASED, Gone, Within, is_stub};
use crate::entity::mentions::unmention;
use crate::rows::engine::{Read, Write};
use crate::rows::stored::unwritable;
use crate::rows::tombstones::NOTICE;

/// The number of entries that are read at once.
const CHUNK: u64 = 256;
/// The logs of sessions are named so.
const SESSION: &str = "session/";
/// The logs by which the session of a request is found are named so.
const CHAIN: &str = "chain/";

/// An object in a log.
struct LoggedObject {
    log: usize,
    entry: u64,
    id: ObjectId,
    parents: Vec<ObjectId>,
    subjects: Vec<String>,
    user: Option<String>,
    /// Set where it stands before a conversation: an instruction, a tool.
    opening: bool,
}

/// The objects in the logs of a tenant.
pub(super) struct Logged {
    logs: Vec<String>,
    held: Vec<LoggedObject>,
}

impl Logged {
    pub(super) fn read(rows: &mut dyn Read) -> Result<Logged, Error> {
        let logs: Vec<String> = rows.logs()?.into_iter().map(|(log, _)| log).collect();
        let mut held = Vec::new();
        for (at, log) in logs.iter().enumerate() {
            each_entry(rows, log, &mut |entry, value| {
                let opening = log.starts_with(SESSION) && value.get("opening").is_some();
                each_document(&value, &mut |id, fields| {
                    let list = |field: &str| {
                        let list = fields.get(field).and_then(Value::as_array);
                        list.into_iter().flatten().filter_map(Value::as_str)
                    };
                    held.push(LoggedObject {
                        log: at,
                        entry,
                        id,
                        parents: list("derived_from").filter_map(|id| id.parse().ok()).collect(),
                        subjects: list("subjects").map(str::to_owned).collect(),
                        // A stand-in keeps the user of what was erased, and says nothing of them.
                        user: fields
                            .get("user_id")
                            .and_then(Value::as_str)
                            .filter(|_| !is_stub(fields))
                            .map(str::to_owned),
                        opening,
                    });
                });
                Ok(())
            })?;
        }
        Ok(Logged { logs, held })
    }

    pub(super) fn holds(&self, id: ObjectId) -> bool {
        self.held.iter().any(|held| held.id == id)
    }

    fn ids(&self, wanted: impl Fn(&LoggedObject) -> bool) -> BTreeSet<ObjectId> {
        let held = self.held.iter().filter(|held| wanted(held));
        held.map(|held| held.id).collect()
    }

    /// The objects that are about a person.
    pub(super) fn about(&self, subject: &str) -> BTreeSet<ObjectId> {
        self.ids(|held| held.subjects.iter().any(|who| who == subject))
    }

    /// The objects whose user this is, but for the messages of sessions.
    pub(super) fn of_user(&self, user: &str) -> BTreeSet<ObjectId> {
        self.ids(|held| {
            held.user.as_deref() == Some(user) && !self.logs[held.log].starts_with(SESSION)
        })
    }

    /// The names of the logs.
    pub(super) fn names(&self) -> &[String] {
        &self.logs
    }

    /// The logs of sessions, each with the id of its session.
    pub(super) fn sessions(&self) -> impl Iterator<Item = (&String, &str)> {
        self.logs.iter().filter_map(|log| Some((log, log.strip_prefix(SESSION)?)))
    }

    /// The logs that hold any of these.
    pub(super) fn logs_with(&self, ids: &BTreeSet<ObjectId>) -> BTreeSet<&String> {
        let held = self.held.iter().filter(|held| ids.contains(&held.id));
        held.map(|held| &self.logs[held.log]).collect()
    }

    /// The entries that hold any of these, by log.
    pub(super) fn entries_with(&self, ids: &BTreeSet<ObjectId>) -> BTreeSet<(&str, u64)> {
        let held = self.held.iter().filter(|held| ids.contains(&held.id));
        held.map(|held| (self.logs[held.log].as_str(), held.entry)).collect()
    }

    /// The objects that were made from any of these.
    pub(super) fn made_from(&self, ids: &BTreeSet<ObjectId>) -> BTreeSet<ObjectId> {
        self.ids(|held| held.parents.iter().any(|parent| ids.contains(parent)))
    }

    /// The objects in one log, but for those before a conversation.
    pub(super) fn of_log(&self, log: &str) -> BTreeSet<ObjectId> {
        self.ids(|held| self.logs[held.log] == log && !held.opening)
    }

    /// The objects before the conversation of one log: other sessions begin with the same texts.
    pub(super) fn opening_of(&self, log: &str) -> BTreeSet<ObjectId> {
        self.ids(|held| self.logs[held.log] == log && held.opening)
    }

    /// The objects in messages of sessions that cannot stand without a message that holds any of these: a call goes
    /// with its results, and results with their call.
    pub(super) fn grouped_with(
        &self,
        rows: &mut dyn Read,
        ids: &BTreeSet<ObjectId>,
    ) -> Result<BTreeSet<ObjectId>, Error> {
        let mut wanted: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); self.logs.len()];
        for held in self.held.iter().filter(|held| ids.contains(&held.id)) {
            wanted[held.log].insert(held.entry);
        }
        let mut found = BTreeSet::new();
        for (log, wanted) in self.logs.iter().zip(&wanted) {
            if wanted.is_empty() || !log.starts_with(SESSION) {
                continue;
            }
            let said = conversation(rows, log)?;
            for group in wire::groups(said.iter().map(|said| &said.links)) {
                let group = &said[group];
                if group.len() > 1 && group.iter().any(|said| wanted.contains(&said.number)) {
                    found.extend(group.iter().flat_map(|said| &said.ids));
                }
            }
        }
        Ok(found)
    }

    /// The entries of a log that hold any of these.
    fn holders(&self, log: usize, gone: &Gone) -> BTreeSet<u64> {
        self.held
            .iter()
            .filter(|held| held.log == log && gone.is(held.id))
            .map(|held| held.entry)
            .collect()
    }

    /// The objects of these ids, every one that an entry holds.
    pub(super) fn documents(
        &self,
        rows: &mut dyn Read,
        ids: &BTreeSet<ObjectId>,
    ) -> Result<Vec<(ObjectId, Arc<ContextObject>)>, Error> {
        let wanted = self.held.iter().filter(|held| ids.contains(&held.id));
        let entries: BTreeSet<(usize, u64)> = wanted.map(|held| (held.log, held.entry)).collect();
        let mut found = Vec::new();
        for (log, entry) in entries {
            for (_, body) in rows.entries(&self.logs[log], entry..entry + 1)? {
                let body: Value =
                    serde_json::from_str(&body).map_err(|error| unwritable(&error))?;
                each_document(&body, &mut |id, fields| {
                    if ids.contains(&id) {
                        found.extend(sealed(fields).map(|object| (id, object)));
                    }
                });
            }
        }
        Ok(found)
    }

    /// Takes what is gone from all logs. A log that only helps to find a session which lost something is
    /// added to those that are forgotten.
    pub(super) fn rewrite(
        &self,
        rows: &mut dyn Write,
        gone: &Gone,
        forgotten: &mut Vec<String>,
    ) -> Result<(), Error> {
        let mut touched: BTreeSet<String> =
            forgotten.iter().filter_map(|log| session_of(log)).collect();
        // The entities that came from what is gone.
        let mut entities = BTreeSet::new();
        // The names that it gave to entities.
        let mut forgotten_names = BTreeSet::new();
        for (at, log) in self.logs.iter().enumerate() {
            if forgotten.contains(log) {
                continue;
            }
            let holders = self.holders(at, gone);
            let is_session = log.starts_with(SESSION);
            let mut changed = Vec::new();
            each_entry(rows, log, &mut |number, mut value| {
                let within = if holders.contains(&number) {
                    Within::Holder
                } else {
                    Within::Other
                };
                // A request that was sent with one of these is dropped without a search: it held it in some form.
                let unsent = is_session && unsend(&mut value, gone, &holders);
                // What an erased object says of entities goes whole, the names with it.
                let source =
                    value.get("source").and_then(Value::as_str).and_then(|id| id.parse().ok());
                let by_source = [
                    crate::entity::resolution::LOG,
                    crate::pending::outcomes::LOG,
                ]
                .contains(&log.as_str())
                    || log.starts_with(crate::entity::mentions::SESSION_MENTIONS);
                if by_source && source.is_some_and(|id| gone.is(id)) {
                    entities.extend(created(&value));
                    forgotten_names.extend(named(&value, &["alias", "role"]));
                    changed.push((number, NOTICE.to_owned()));
                    return Ok(());
                }
                let scrubbed = gone.scrub(&mut value, within);
                if scrubbed | unsent | (is_session && forget_forms(&mut value, &holders)) {
                    changed.push((number, value.to_string()));
                }
                Ok(())
            })?;
            rows.rewrite(log, &changed)?;
            if let Some(session) = session_of(log).filter(|_| !changed.is_empty()) {
                // A process that holds the session in memory learns of it before it adds the next message.
                let last = rows.last(log)?;
                rows.append(log, last, &[NOTICE.to_owned()])?;
                touched.insert(session);
            }
            // So does one that holds the entities.
            let is_held = [crate::entity::resolution::LOG, crate::entity::mentions::LOG]
                .contains(&log.as_str());
            if is_held && !changed.is_empty() {
                let last = rows.last(log)?;
                rows.append(log, last, &[NOTICE.to_owned()])?;
            }
        }
        if !entities.is_empty() {
            unmention(rows, &entities)?;
        }
        forget_removed(rows, forgotten_names)?;
        for log in self.logs.iter().filter(|log| log.starts_with(CHAIN)) {
            each_entry(rows, log, &mut |_, value| {
                let session = value.get("session").and_then(Value::as_str);
                if session.is_some_and(|session| touched.contains(session)) {
                    forgotten.push(log.clone());
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// The id of the entity that an entry of the registry makes.
fn created(entry: &Value) -> Option<String> {
    let does = entry.get("does")?;
    let is_new = does.get("op").and_then(Value::as_str) == Some("create");
    does.get("id").and_then(Value::as_str).filter(|_| is_new).map(str::to_owned)
}

/// The entity that an entry about a name is about, and the name.
fn named(entry: &Value, ops: &[&str]) -> Option<(String, String)> {
    let does = entry.get("does")?;
    let op = does.get("op").and_then(Value::as_str)?;
    if !ops.contains(&op) {
        return None;
    }
    let id = does.get("id").and_then(Value::as_str)?;
    let name = ["alias", "role"].iter().find_map(|field| does.get(*field));
    Some((id.to_owned(), folded(name?.as_str()?)))
}

/// Erases the entries by which these names were taken away again, but for those that another entry still gives.
fn forget_removed(
    rows: &mut dyn Write,
    mut names: BTreeSet<(String, String)>,
) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    let mut removed = Vec::new();
    each_entry(
        rows,
        crate::entity::resolution::LOG,
        &mut |number, entry| {
            if let Some(name) = named(&entry, &["alias", "role"]) {
                names.remove(&name);
            }
            if let Some(name) = named(&entry, &["remove_alias", "remove_role"]) {
                removed.push((number, name));
            }
            Ok(())
        },
    )?;
    let gone: Vec<(u64, String)> = removed
        .into_iter()
        .filter(|(_, name)| names.contains(name))
        .map(|(number, _)| (number, NOTICE.to_owned()))
        .collect();
    if !gone.is_empty() {
        rows.rewrite(crate::entity::resolution::LOG, &gone)?;
        let last = rows.last(crate::entity::resolution::LOG)?;
        rows.append(crate::entity::resolution::LOG, last, &[NOTICE.to_owned()])?;
    }
    Ok(())
}

/// A message of a session.
struct LoggedMessage {
    number: u64,
    ids: Vec<ObjectId>,
    /// Its calls and results, and nothing else of it.
    links: wire::Entry,
}

/// The messages of a session but those that were taken back.
fn conversation(rows: &mut dyn Read, log: &str) -> Result<Vec<LoggedMessage>, Error> {
    let mut said: Vec<LoggedMessage> = Vec::new();
    each_entry(rows, log, &mut |number, value| {
        let after = value.get("withdrawn").and_then(|gone| gone.get("after"));
        if let Some(after) = after.and_then(Value::as_u64) {
            said.retain(|said| said.number <= after);
        }
        let Some(message) = value.get("said") else {
            return Ok(());
        };
        let mut ids = Vec::new();
        let mut objects = Vec::new();
        let mut format = Format::OpenAiChat;
        each_document(message, &mut |id, fields| {
            ids.push(id);
            let came = fields.get("wire").and_then(|wire| wire.get("format"));
            if let Some(came) = came.and_then(|came| Format::deserialize(came).ok()) {
                format = came;
            }
            let links: Map<String, Value> = ["object_type", "tool_call_id", "tool_calls"]
                .into_iter()
                .filter_map(|field| {
                    let value = fields.get(field)?;
                    Some((field.to_owned(), value.clone()))
                })
                .collect();
            objects.extend(ObjectDocument::deserialize(Value::Object(links)));
        });
        said.push(LoggedMessage {
            number,
            ids,
            links: wire::Entry {
                format,
                message: String::new(),
                objects,
                signed: false,
                opaque: Vec::new(),
                faults: Vec::new(),
            },
        });
        Ok(())
    })?;
    Ok(said)
}

/// The log of a session.
pub(super) fn session_log(id: &str) -> String {
    format!("{SESSION}{id}")
}

fn session_of(log: &str) -> Option<String> {
    log.strip_prefix(SESSION).map(str::to_owned)
}

/// Calls `each` with the entries of a log.
pub(super) fn each_entry<R: Read + ?Sized>(
    rows: &mut R,
    log: &str,
    each: &mut dyn FnMut(u64, Value) -> Result<(), Error>,
) -> Result<(), Error> {
    each_body(rows, log, &mut |number, body| {
        each(
            number,
            serde_json::from_str(body).map_err(|error| unwritable(&error))?,
        )
    })
}

/// Calls `each` with the entries of a log as they are written.
pub(super) fn each_body<R: Read + ?Sized>(
    rows: &mut R,
    log: &str,
    each: &mut dyn FnMut(u64, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut next = 1;
    loop {
        let chunk = rows.entries(log, next..next + CHUNK)?;
        let Some((last, _)) = chunk.last() else {
            return Ok(());
        };
        next = last + 1;
        for (number, body) in chunk {
            each(number, &body)?;
        }
    }
}

/// Calls `each` with the objects in a value.
fn each_document(value: &Value, each: &mut dyn FnMut(ObjectId, &Map<String, Value>)) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| each_document(value, each)),
        Value::Object(fields) => match id_of(fields) {
            Some(id) => each(id, fields),
            None => fields.values().for_each(|value| each_document(value, each)),
        },
        _ => {}
    }
}

/// In a session, takes away a request's tail as it was sent, where one of these stood in it, or one of
/// these messages again.
fn unsend(value: &mut Value, gone: &Gone, messages: &BTreeSet<u64>) -> bool {
    let Some(served) = value.get_mut("served") else {
        return false;
    };
    let list = |field: &str| {
        let list = served.get(field).and_then(Value::as_array);
        list.into_iter().flatten()
    };
    let mut said = list("said").filter_map(Value::as_str);
    let mut carried = list("carried").filter_map(Value::as_u64);
    if !said.any(|revision| gone.knows(revision)) && !carried.any(|turn| messages.contains(&turn)) {
        return false;
    }
    let mut changed = false;
    for field in ["tail", "late"] {
        let sent = served.get_mut(field).and_then(Value::as_array_mut);
        changed |= sent.map(|sent| sent.fill(ERASED.into())).is_some();
    }
    changed
}

/// In a session, takes away what other entries say in the place of these messages: sentences of summaries,
/// shorter forms of results.
fn forget_forms(value: &mut Value, messages: &BTreeSet<u64>) -> bool {
    let of = |turn: Option<&Value>| {
        turn.and_then(Value::as_u64).is_some_and(|turn| messages.contains(&turn))
    };
    match value {
        Value::Array(values) => {
            if let [turn, Value::Number(_), Value::String(text)] = values.as_mut_slice()
                && of(Some(turn))
            {
                *text = ERASED.into();
                return true;
            }
            let mut changed = false;
            for value in values {
                changed |= forget_forms(value, messages);
            }
            changed
        }
        Value::Object(fields) => {
            let mut changed = false;
            if of(fields.get("turn"))
                && let Some(Value::String(text)) = fields.get_mut("text")
            {
                *text = ERASED.into();
                changed = true;
            }
            for value in fields.values_mut() {
                changed |= forget_forms(value, messages);
            }
            changed
        }
        _ => false,
    }
}
