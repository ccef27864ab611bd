//! Records of relayed requests as others read them: a compile trace, and whole conversations.

use serde_json::{Value, json};
use tenure::Error;
use tenure::object::ObjectId;
use tenure_store::Tenant;

use super::forms::cache_hit;
use super::{Choices, EXCHANGE_PREFIX, Ending, ExchangeRecord, Records};

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
    /// Whether there may be older ones that were not looked for.
    pub more: bool,
}

impl Records<'_> {
    /// The records of a conversation: that of this session, or else that of the newest request. Requests without a
    /// session are one conversation if the same key and client sent them. `None` if nothing is recorded.
    ///
    /// # Errors
    ///
    /// As [`Records::exchange`].
    pub fn conversation(&self, session: Option<&str>) -> Result<Option<Talk>, Error> {
        let mut talk: Option<Talk> = None;
        let mut listed = self.tenant.records(CHUNK)?;
        let mut seen = 0;
        while let Some(last) = listed.last().cloned() {
            for (id, _) in listed
                .iter()
                .filter(|(id, _)| id.starts_with(EXCHANGE_PREFIX))
            {
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
        let Some(first) = self.requests.first() else {
            return false;
        };
        match &self.session {
            Some(_) => record.session == self.session,
            None => {
                record.session.is_none()
                    && (&record.key, &record.client) == (&first.key, &first.client)
            }
        }
    }
}

impl ExchangeRecord {
    /// The record as a compile trace, with fixed field names. Unknown values are null.
    pub fn principle(&self, tenant: &Tenant) -> Value {
        let compile = self.compile.as_deref();
        let principal = compile.map(|compile| &compile.request.principal);
        let usage = self.usage.as_ref();
        let named = |choices: Option<&Choices>| -> Vec<Value> {
            let named = choices.into_iter().flat_map(|choices| &choices.named);
            let shown =
                named.map(|chosen| json!({ "object_id": chosen.object_id, "reason": chosen.code }));
            shown.collect()
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
                "compiled_objects": named(compile.map(|compile| &compile.included)),
                "omitted_objects": named(compile.map(|compile| &compile.omitted)),
                "quarantined_objects": [],
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
                "entity_resolution_conflicts": null,
                "compilation_latency_ms": null,
            },
        })
    }

    /// The record as the trace of a prefill, with fixed field names. What a record of an exchange does not keep (scores,
    /// sections) is null.
    pub fn prefill(&self) -> Value {
        let compile = self.compile.as_deref();
        let omitted = compile
            .into_iter()
            .flat_map(|compile| &compile.omitted.named);
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
