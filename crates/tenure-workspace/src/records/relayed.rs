//! Records of relayed requests as others read them: a compile trace, and whole conversations.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use tenure::Error;
use tenure::object::ObjectId;
use tenure::time::Instant;
use tenure_store::Tenant;

use super::forms::cache_hit;
use super::{Choices, Chosen, EXCHANGE_PREFIX, Ending, ExchangeRecord, Listed, Records};
use crate::sessions::{ListedSession, Session, SessionSummary};

/// The most requests of a conversation that are read, and the most records that are looked through for them.
const MAX_REQUESTS: usize = 10_000;
const MAX_RECORDS: usize = 100_000;
/// The number of records that are listed at once.
const CHUNK: u32 = 500;

/// The requests of a conversation, in the order in which they came.
#[derive(Clone, PartialEq, Debug)]
pub struct Talk {
    /// Its session, where it has one.
    pub session: Option<String>,
    /// Its requests.
    pub requests: Vec<ExchangeRecord>,
    /// True if there may be older ones that were not looked for.
    pub more: bool,
}

/// The key of a conversation: its session, or else a key and a client.
type Whose = (Option<String>, Option<String>, Option<String>);

/// A conversation in a list.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Conversed {
    /// Its session, where it has one.
    pub session: Option<String>,
    /// The number of its requests that are recorded.
    pub requests: u64,
    /// The number of its messages, where no request of it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// The instant of its first request, or at which its session began.
    pub first: Option<Instant>,
    /// The instant of its last request.
    pub last: Option<Instant>,
    /// The client of the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The model of the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl Conversed {
    fn of(record: &ExchangeRecord) -> Conversed {
        Conversed {
            session: record.session.clone(),
            last: Some(record.at),
            client: record.client.clone(),
            model: record.model.clone(),
            ..Conversed::default()
        }
    }
}

impl Records<'_> {
    /// The records of a conversation: that of this session, or else that of the newest request. Requests without a
    /// session are one conversation if the same key and client sent them. `None` if nothing is recorded.
    ///
    /// # Errors
    ///
    /// As [`Records::exchange`].
    pub fn conversation(&self, session: Option<&str>) -> Result<Option<Talk>, Error> {
        // The newest request says which session is meant.
        let newest = match session {
            Some(_) => None,
            None => self.newest_request()?,
        };
        let named = session.map(str::to_owned).or(newest.and_then(|record| record.session));
        match named {
            Some(session) => self.of_session(&session),
            None => self.looked_through(session),
        }
    }

    /// The conversations of the newest records, the newest first, then the sessions of which no request is recorded.
    ///
    /// # Errors
    ///
    /// As [`Records::exchange`].
    pub fn conversations(&self) -> Result<Vec<Conversed>, Error> {
        let mut all: Vec<Conversed> = Vec::new();
        let mut known: BTreeMap<Whose, usize> = BTreeMap::new();
        let mut after: Option<(String, Instant)> = None;
        let mut seen = 0;
        while seen < MAX_RECORDS {
            let place = after.as_ref().map(|(id, at)| (id.as_str(), *at));
            let rows = self.lines(place, CHUNK)?;
            let Some(last) = rows.last() else {
                break;
            };
            after = Some((last.id.clone(), last.at));
            seen += rows.len();
            for line in rows {
                let Listed::Exchange(record) = line.what else {
                    continue;
                };
                let whose = match &record.session {
                    Some(session) => (Some(session.clone()), None, None),
                    None => (None, record.key.clone(), record.client.clone()),
                };
                let at = *known.entry(whose).or_insert_with(|| {
                    all.push(Conversed::of(&record));
                    all.len() - 1
                });
                all[at].requests += 1;
                all[at].first = Some(record.at);
            }
        }
        let recorded = all.len();
        for session in Session::list(self.tenant)? {
            if known.contains_key(&(Some(session.id.clone()), None, None)) {
                continue;
            }
            let found = Session::find(self.tenant.clone(), &session.id)?;
            all.push(Conversed {
                messages: found.as_ref().map(Session::len),
                first: found.map(|found| found.opened().at),
                session: Some(session.id),
                ..Conversed::default()
            });
        }
        all[recorded..].sort_by_key(|one| std::cmp::Reverse(one.first));
        Ok(all)
    }

    /// The sessions, each with when it last went on, its client and its model, the newest first.
    ///
    /// # Errors
    ///
    /// As [`Records::exchange`] and [`Session::find`].
    pub fn sessions(&self) -> Result<Vec<ListedSession>, Error> {
        let mut all: Vec<ListedSession> = Session::list(self.tenant)?
            .into_iter()
            .map(|SessionSummary { id, entries }| {
                let record = self
                    .tenant
                    .records_of_session(&id, None, 1)?
                    .and_then(|found| found.into_iter().next())
                    .map(|(id, _)| self.exchange(&id))
                    .transpose()?
                    .flatten();
                let opened = Session::opening(self.tenant, &id)?;
                let origin = opened.and_then(|opened| opened.origin);
                let (source, brought) =
                    origin.map(|origin| (Some(origin.source), origin.model)).unwrap_or_default();
                let (client, model) =
                    record.map(|record| (record.client, record.model)).unwrap_or_default();
                Ok(ListedSession {
                    last: Session::last_at(self.tenant, &id, entries)?,
                    client: client.or(source),
                    model: model.or(brought),
                    id,
                    entries,
                })
            })
            .collect::<Result<_, Error>>()?;
        all.sort_by(|one, other| (other.last, &one.id).cmp(&(one.last, &other.id)));
        Ok(all)
    }

    /// The newest record of a request.
    fn newest_request(&self) -> Result<Option<ExchangeRecord>, Error> {
        let mut listed = self.tenant.records(CHUNK)?;
        let mut seen = 0;
        while let Some(last) = listed.last().cloned() {
            let mut ids = listed.iter().map(|(id, _)| id);
            if let Some(id) = ids.find(|id| id.starts_with(EXCHANGE_PREFIX)) {
                return self.exchange(id);
            }
            seen += listed.len();
            if seen >= MAX_RECORDS {
                break;
            }
            listed = self.tenant.records_after((&last.0, last.1), CHUNK)?;
        }
        Ok(None)
    }

    /// The conversation of a session, by the store's index.
    fn of_session(&self, session: &str) -> Result<Option<Talk>, Error> {
        let mut talk = Talk {
            session: Some(session.to_owned()),
            requests: Vec::new(),
            more: false,
        };
        let mut last: Option<(String, Instant)> = None;
        let mut seen = 0;
        loop {
            let after = last.as_ref().map(|(id, at)| (id.as_str(), *at));
            let Some(listed) = self.tenant.records_of_session(session, after, CHUNK)? else {
                return self.looked_through(Some(session));
            };
            for (id, _) in &listed {
                let record = self.exchange(id)?;
                talk.requests.extend(record.filter(|record| talk.has(record)));
            }
            last = listed.last().cloned();
            seen += listed.len();
            talk.more = talk.requests.len() >= MAX_REQUESTS || seen >= MAX_RECORDS;
            if listed.len() < CHUNK as usize || talk.more {
                break;
            }
        }
        talk.requests.reverse();
        Ok((!talk.requests.is_empty()).then_some(talk))
    }

    /// A conversation that no index finds: all records are looked through for it.
    fn looked_through(&self, session: Option<&str>) -> Result<Option<Talk>, Error> {
        let mut talk: Option<Talk> = None;
        let mut listed = self.tenant.records(CHUNK)?;
        let mut seen = 0;
        while let Some(last) = listed.last().cloned() {
            for (id, _) in listed.iter().filter(|(id, _)| id.starts_with(EXCHANGE_PREFIX)) {
                let Some(record) = self.exchange(id)? else {
                    continue;
                };
                let is_of_it = match &talk {
                    Some(talk) => talk.has(&record),
                    None => session.is_none() || record.session.as_deref() == session,
                };
                if is_of_it {
                    let talk = talk.get_or_insert_with(|| Talk {
                        session: record.session.clone(),
                        requests: Vec::new(),
                        more: false,
                    });
                    talk.requests.push(record);
                }
            }
            seen += listed.len();
            let found = talk.as_ref().map_or(0, |talk| talk.requests.len());
            if seen >= MAX_RECORDS || found >= MAX_REQUESTS {
                talk.iter_mut().for_each(|talk| talk.more = true);
                break;
            }
            listed = self.tenant.records_after((&last.0, last.1), CHUNK)?;
        }
        Ok(talk.map(|mut talk| {
            talk.requests.reverse();
            talk
        }))
    }
}

impl Talk {
    fn has(&self, record: &ExchangeRecord) -> bool {
        if self.session.is_some() {
            return record.session == self.session;
        }
        self.requests.first().is_some_and(|first| {
            record.session.is_none() && (&record.key, &record.client) == (&first.key, &first.client)
        })
    }
}

impl ExchangeRecord {
    /// The record as a compile trace, with fixed field names. Unknown values are null.
    pub fn principle(&self, tenant: &Tenant) -> Value {
        let compile = self.compile.as_deref();
        let principal = compile.map(|compile| &compile.request.principal);
        let usage = self.usage.as_ref();
        let named = |choices: Option<&Choices>, quarantined: bool| -> Vec<Value> {
            choices
                .into_iter()
                .flat_map(|choices| &choices.named)
                .filter(|chosen| chosen.is_quarantined() == quarantined)
                .map(chosen_object)
                .collect()
        };
        let cached = usage.map(|usage| usage.cache_read);
        let input = usage.map(|usage| usage.input);
        json!({
            "trace_id": self.record_id,
            "request_id": self.record_id,
            "session_id": self.session,
            "tenant_id": tenant.name(),
            "user_id": principal.and_then(|principal| principal.user.as_deref()),
            "project_id": principal.and_then(|principal| principal.project.as_deref()),
            "active_task": null,
            "compiled_prompt_tokens": self.sent_tokens,
            "cache_hit_status": cache_hit(usage),
            "cached_tokens_read": cached,
            "state_compilation_metadata": {
                "compiled_objects": named(compile.map(|compile| &compile.included), false),
                "omitted_objects": named(compile.map(|compile| &compile.omitted), false),
                "quarantined_objects": named(compile.map(|compile| &compile.omitted), true),
                "retrieval_metadata": {
                    "query_hash": compile.map(|compile| compile.inputs.request),
                    "retrieved_candidate_count": compile.map(|compile| compile.included.len() + compile.omitted.len()),
                    "compiled_candidate_count": compile.map(|compile| compile.included.len()),
                    "context_precision_estimate": null,
                },
                "cache_metadata": {
                    "prompt_cache_key": self.prompt_cache_key,
                    "static_prefix_tokens": cached,
                    "dynamic_suffix_tokens": input.zip(cached).map(|(input, cached)| input.saturating_sub(cached)),
                },
            },
            "validation_status": self.validation(),
            "downstream_retries_triggered": self.retries,
            "observability_metrics": {
                "context_precision": null,
                "context_recall": null,
                "state_decay_evictions": compile.map(|compile| compile.decayed),
                "entity_resolution_conflicts": compile.map(|compile| compile.entity_conflicts),
                "compilation_latency_ms": null,
            },
        })
    }

    /// The record as the trace of a prefill, with fixed field names. What a record of an exchange does not keep (scores,
    /// sections) is null.
    pub fn prefill(&self) -> Value {
        let compile = self.compile.as_deref();
        let omitted = compile.into_iter().flat_map(|compile| &compile.omitted.named);
        let excluded = omitted.map(|chosen| {
            json!({
                "item_id": chosen.object_id, "section": null, "reason": chosen.code, "score": null,
            })
        });
        json!({
            "trace_id": ObjectId::derived(&[&self.record_id]),
            "timestamp": self.at,
            "config_version": null,
            "input_hash": compile.map(|compile| compile.inputs.root()),
            "output_hash": compile.and_then(|compile| compile.payload_digest),
            "total_tokens": compile.map(|compile| compile.payload_tokens),
            "section_allocations": {},
            "excluded_items": excluded.collect::<Vec<_>>(),
            "compression_ratios": {},
            "latency_ms": null,
        })
    }

    /// The verdict: whether the request was managed, and whether its answer had faults.
    fn validation(&self) -> &'static str {
        if self.ending == Ending::Rejected {
            "REJECTED"
        } else if self.ending == Ending::Refused {
            "REFUSED"
        } else if !self.output.is_empty() {
            "FLAGGED"
        } else if self.unmanaged.is_some() {
            "UNMANAGED"
        } else if self.mode == "observe" {
            "UNCHECKED"
        } else {
            "CLEAN"
        }
    }
}

/// An object that a record names, as others read it. What an older record does not say of a claim in question is null.
fn chosen_object(chosen: &Chosen) -> Value {
    let mut shown = json!({ "object_id": chosen.object_id, "reason": chosen.code });
    let status = chosen.contradiction_status;
    if status.is_some() || chosen.is_quarantined() {
        shown["contradiction_status"] = json!(status);
    }
    shown
}

#[cfg(test)]
mod tests {
    use tenure::FrameKey;
    use tenure_store::Store;
    use tenure_store::engine::RecordRow;

    use super::*;
    use crate::workspace::Workspace;

    /// The least record of a request that can be read.
    fn record(at: i64, session: Option<&str>) -> RecordRow {
        let id = format!("{EXCHANGE_PREFIX}{at:06}");
        let compiled_at = Instant::from_micros(at);
        let mut body = json!({
            "version": 1, "record_id": id, "at": compiled_at, "mode": "observe", "protocol": "openai", "path": "/v1/chat/completions",
            "streamed": false, "request_bytes": 1, "response_bytes": 1, "latency_us": 1, "ending": "whole",
        });
        if let Some(session) = session {
            body["session"] = session.into();
        }
        RecordRow {
            id,
            compiled_at,
            body: body.to_string(),
            objects: Vec::new(),
        }
    }

    /// The number of records, among which those of a session are looked for.
    const MANY: i64 = 1_200;

    #[test]
    fn the_index_finds_what_looking_through_all_finds() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        let tenant = store.tenant("acme").unwrap();
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let long = "x".repeat(300);
        let sessions = [
            "one",
            "two",
            "say \"x\"",
            &format!("{long}a"),
            &format!("{long}b"),
        ];
        let rows = (0..MANY).map(|at| record(at, sessions.get((at % 6) as usize).copied()));
        tenant.put_records(rows.collect()).unwrap();
        let records = workspace.records(&tenant);
        for session in sessions {
            let looked = records.looked_through(Some(session)).unwrap().unwrap();
            assert_eq!(looked.requests.len(), (MANY / 6) as usize, "{session}");
            let found = records.conversation(Some(session)).unwrap().unwrap();
            assert_eq!(found, looked, "{session}");
        }
        assert_eq!(records.conversation(Some("none")).unwrap(), None);
        // The newest request says which is meant: here those without a session.
        let talk = records.conversation(None).unwrap().unwrap();
        assert_eq!(
            (talk.session, talk.requests.len()),
            (None, (MANY / 6) as usize)
        );
        tenant.put_records(vec![record(MANY, Some("two"))]).unwrap();
        let talk = records.conversation(None).unwrap().unwrap();
        assert_eq!(talk.requests.len(), (MANY / 6) as usize + 1);
        assert_eq!(talk.session.as_deref(), Some("two"));
    }
}
