//! A record in the forms that others read: a compile trace as plain JSON, OpenTelemetry spans, PROV-JSON. Contents
//! stay out of all of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tenure::object::{ContradictionStatus, ObjectId};
use tenure::section::{Section, Zone};
use tenure::trace::{Note, ProviderUsage, Ruling};
use tenure::{ContextObject, Digest, Error, Trace, Verdict};

use super::look::objects_of;
use super::{Records, StoredRecord, entity_conflicts, is_quarantined};

/// The version of the GenAI attributes that the spans use: the registry as of 2026-07.
const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.37.0";

/// The outcome at the provider's cache.
pub(super) fn cache_hit(usage: Option<&ProviderUsage>) -> &'static str {
    match usage {
        None => "UNKNOWN",
        Some(usage) if usage.cache_read == 0 => "MISS",
        Some(usage) if usage.cache_read >= usage.input => "HIT",
        Some(_) => "PARTIAL_HIT",
    }
}

/// The verdict on the payload: whether it needs a review. Every promise was asserted before it left.
fn validation(trace: &Trace) -> &'static str {
    let is_doubtful = |note: &Note| {
        matches!(
            note,
            Note::HiddenText { .. }
                | Note::ImitationEscaped { .. }
                | Note::ImitationPassed { .. }
                | Note::DisguisedImitation { .. }
                | Note::OpposedGuidance { .. }
                | Note::DenseConstraints { .. }
        )
    };
    if trace.notes.iter().any(is_doubtful) {
        "FLAGGED"
    } else {
        "CLEAN"
    }
}

/// The number of candidates without a verdict of their own that left for their age.
fn left_of_age(trace: &Trace) -> usize {
    let rest = trace.rest.iter().flat_map(|rest| rest.reasons.values());
    rest.map(|left| left.aged as usize).sum()
}

/// The key that groups the requests of a tenant and project by their prefixes: the same for all that share the
/// floor's settings.
fn cache_key(record: &StoredRecord) -> String {
    let principal = &record.inputs.request.principal;
    let inputs = &record.record.trace.inputs;
    let project = principal.project.as_deref().unwrap_or_default();
    let key = Digest::of_parts([
        principal.tenant.as_bytes(),
        project.as_bytes(),
        inputs.policy.bytes(),
        inputs.world.bytes(),
    ]);
    key.to_string()["sha256:".len()..][..32].to_owned()
}

/// A candidate of a record: its verdict, and the object where it is still there.
struct Seen<'r> {
    verdict: &'r Verdict,
    object: Option<Arc<ContextObject>>,
}

impl Seen<'_> {
    fn id(&self) -> Value {
        self.object
            .as_ref()
            .map(|object| object.revision().object_id().to_string())
            .map_or_else(|| json!(self.verdict.name), Value::from)
    }

    fn is_in(&self) -> bool {
        self.verdict.verdict == Ruling::Included
    }
}

impl Records<'_> {
    /// The record as a compile trace, with fixed field names. Unknown values are null. Of many candidates, those that stayed
    /// out are listed as far as the record has its verdict on them.
    ///
    /// # Errors
    ///
    /// As [`Records::get`].
    pub fn principle(&self, record: &StoredRecord) -> Result<Value, Error> {
        let seen = self.seen(record)?;
        let trace = &record.record.trace;
        let request = &record.inputs.request;
        let floor: u32 = record
            .envelope
            .sections
            .iter()
            .filter(|section| section.zone == Zone::Floor)
            .map(|section| section.tokens)
            .sum();
        let choice = record.choice();
        let usage = record.record.usage;
        let disputed = |seen: &&Seen<'_>| is_quarantined(&seen.verdict.reason);
        let compiled = seen.iter().filter(|seen| seen.is_in());
        let left = seen.iter().filter(|seen| !seen.is_in() && !disputed(seen));
        let decayed =
            seen.iter().filter(|seen| seen.verdict.reason.is_age()).count() + left_of_age(trace);
        Ok(json!({
            "trace_id": hex(record, 16),
            "request_id": record.record.record_id,
            "session_id": request.principal.session,
            "tenant_id": request.principal.tenant,
            "user_id": request.principal.user,
            "project_id": request.principal.project,
            "active_task": request.task.objective,
            "compiled_prompt_tokens": trace.total_tokens,
            "cache_hit_status": cache_hit(usage.as_ref()),
            "cached_tokens_read": usage.map(|usage| usage.cache_read),
            "state_compilation_metadata": {
                "compiled_objects": compiled.clone().map(compiled_object).collect::<Vec<_>>(),
                "omitted_objects": left.map(omitted_object).collect::<Vec<_>>(),
                "quarantined_objects": seen.iter().filter(disputed).map(|seen| json!({
                    "object_id": seen.id(),
                    "reason": seen.verdict.reason.code(),
                    "contradiction_status": contradiction(seen),
                })).collect::<Vec<_>>(),
                "retrieval_metadata": {
                    "query_hash": trace.inputs.request,
                    "retrieved_candidate_count": trace.candidates(),
                    "compiled_candidate_count": compiled.count(),
                    "context_precision_estimate": choice.and_then(|choice| choice.context_precision),
                },
                "cache_metadata": {
                    "prompt_cache_key": cache_key(record),
                    "static_prefix_tokens": floor,
                    "dynamic_suffix_tokens": trace.total_tokens.saturating_sub(floor),
                },
            },
            "validation_status": validation(trace),
            "downstream_retries_triggered": record.record.downstream_retries,
            "observability_metrics": {
                "context_precision": choice.and_then(|choice| choice.context_precision),
                "context_recall": choice.and_then(|choice| choice.context_recall),
                "state_decay_evictions": decayed,
                "entity_resolution_conflicts": entity_conflicts(trace),
                "compilation_latency_ms": record.record.compilation_latency_us as f64 / 1000.0,
            },
        }))
    }

    /// The record as the trace of a prefill: for each section what it was allocated and used, whether more wanted to
    /// stand in it, and by how much what stands was made smaller; every item that stayed out and has a verdict, with its score.
    ///
    /// # Errors
    ///
    /// As [`Records::get`].
    pub fn prefill(&self, record: &StoredRecord) -> Result<Value, Error> {
        let seen = self.seen(record)?;
        let trace = &record.record.trace;
        let mut allocations = Map::new();
        let mut ratios = Map::new();
        let standing =
            record.envelope.sections.iter().map(|section| (section.name, section.tokens));
        let shared = trace.allocations.iter().map(|share| (share.section, 0));
        let sections: BTreeMap<Section, u32> = shared.chain(standing).collect();
        for (section, tokens) in sections {
            let share = trace.allocations.iter().into_iter().find(|share| share.section == section);
            let shown = match share {
                Some(share) => json!({
                    "allocated": share.allocated,
                    "used": share.used,
                    "overflow": share.demand > share.used,
                }),
                // What must stand is given what it costs.
                None => json!({ "allocated": tokens, "used": tokens, "overflow": false }),
            };
            allocations.insert(section.to_string(), shown);
            let condensed = trace.condensed.iter().filter(|condensed| {
                trace
                    .verdicts
                    .get(condensed.candidate as usize)
                    .is_some_and(|verdict| verdict.section == section)
            });
            let (from, to) = condensed.fold((0, 0), |(from, to), condensed| {
                (
                    from + u64::from(condensed.from),
                    to + u64::from(condensed.to),
                )
            });
            let saved = from.saturating_sub(to);
            let whole = u64::from(tokens) + saved;
            let ratio = if whole > 0 {
                saved as f64 / whole as f64
            } else {
                0.0
            };
            ratios.insert(section.to_string(), json!(ratio));
        }
        let excluded = seen.iter().filter(|seen| !seen.is_in()).map(|seen| {
            json!({
                "item_id": seen.id(),
                "section": seen.verdict.section,
                "reason": seen.verdict.reason.code(),
                "score": seen.verdict.score.map(|score| score.composite),
            })
        });
        Ok(json!({
            "trace_id": ObjectId::derived(&[&record.record.record_id]),
            "timestamp": record.record.compiled_at,
            "config_version": trace.policy.version,
            "input_hash": trace.input_digest,
            "output_hash": trace.payload_digest,
            "total_tokens": trace.total_tokens,
            "section_allocations": allocations,
            "excluded_items": excluded.collect::<Vec<_>>(),
            "compression_ratios": ratios,
            "latency_ms": record.record.compilation_latency_us as f64 / 1000.0,
        }))
    }

    /// The record as one OpenTelemetry span in OTLP JSON, with the GenAI attributes of a retrieval and
    /// our own under `tenure.`.
    ///
    /// # Errors
    ///
    /// As [`Records::get`].
    pub fn otlp(&self, record: &StoredRecord) -> Result<Value, Error> {
        let seen = self.seen(record)?;
        let trace = &record.record.trace;
        let request = &record.inputs.request;
        let documents = seen.iter().filter(|seen| seen.is_in()).map(|seen| {
            let score = seen
                .verdict
                .score
                .map(|score| score.composite.to_f64())
                .map(|score| json!({ "key": "score", "value": { "doubleValue": score } }));
            let id = json!({ "key": "id", "value": { "stringValue": seen.id() } });
            let values: Vec<Value> = std::iter::once(id).chain(score).collect();
            json!({ "kvlistValue": { "values": values } })
        });
        let mut attributes = vec![
            text("gen_ai.operation.name", "retrieval"),
            text("gen_ai.request.model", &trace.model),
            json!({
                "key": "gen_ai.retrieval.documents",
                "value": { "arrayValue": { "values": documents.collect::<Vec<_>>() } },
            }),
            text("tenure.record.id", &record.record.record_id),
            text("tenure.tenant", &request.principal.tenant),
            text("tenure.policy.name", &trace.policy.name),
            text("tenure.policy.version", &trace.policy.version),
            text("tenure.input.digest", &trace.input_digest.to_string()),
            number("tenure.budget.tokens", u64::from(trace.budget)),
            number("tenure.payload.tokens", u64::from(trace.total_tokens)),
            number("tenure.candidates", trace.candidates() as u64),
        ];
        if let Some(digest) = trace.payload_digest {
            attributes.push(text("tenure.payload.digest", &digest.to_string()));
        }
        if let Some(session) = &request.principal.session {
            attributes.push(text("gen_ai.conversation.id", session));
        }
        if let Some(usage) = record.record.usage {
            for (key, tokens) in [
                ("gen_ai.usage.input_tokens", usage.input),
                ("gen_ai.usage.output_tokens", usage.output),
                ("gen_ai.usage.cache_read.input_tokens", usage.cache_read),
                (
                    "gen_ai.usage.cache_creation.input_tokens",
                    usage.cache_write,
                ),
            ] {
                attributes.push(number(key, tokens));
            }
        }
        let end = i128::from(record.record.compiled_at.micros()) * 1000;
        let start = end - i128::from(record.record.compilation_latency_us) * 1000;
        Ok(json!({
            "resourceSpans": [{
                "resource": { "attributes": [text("service.name", "tenure")] },
                "scopeSpans": [{
                    "scope": { "name": "tenure", "version": env!("CARGO_PKG_VERSION") },
                    "schemaUrl": SCHEMA_URL,
                    "spans": [{
                        "traceId": hex(record, 16),
                        "spanId": hex(record, 8),
                        "name": "retrieval tenure.compile",
                        "kind": 1,
                        "startTimeUnixNano": start.to_string(),
                        "endTimeUnixNano": end.to_string(),
                        "attributes": attributes,
                        "status": {},
                    }],
                }],
            }],
        }))
    }

    /// The record as PROV-JSON (W3C Member Submission of 2013-04-24): the payload was generated by the
    /// compile, which used what stands in it.
    ///
    /// # Errors
    ///
    /// As [`Records::get`].
    pub fn prov(&self, record: &StoredRecord) -> Result<Value, Error> {
        let seen = self.seen(record)?;
        let trace = &record.record.trace;
        let principal = &record.inputs.request.principal;
        let activity = format!("tenure:compile/{}", record.record.record_id);
        let payload = match trace.payload_digest {
            Some(digest) => format!("tenure:payload/{digest}"),
            None => format!("tenure:payload/{}", record.record.record_id),
        };
        let ended = record.record.compiled_at;
        let latency = i64::try_from(record.record.compilation_latency_us).unwrap_or(i64::MAX);
        let started = tenure::time::Instant::from_micros(ended.micros().saturating_sub(latency));
        let person = format!("tenure:tenant/{}", principal.tenant);
        let model = format!("tenure:model/{}", trace.model);
        let mut entities = Map::new();
        let mut used = Map::new();
        let mut derived = Map::new();
        let mut attributed = Map::new();
        let mut revised = Map::new();
        entities.insert(
            payload.clone(),
            json!({ "prov:type": "tenure:Payload", "tenure:tokens": trace.total_tokens }),
        );
        for seen in seen.iter().filter(|seen| seen.is_in()) {
            let Some(object) = &seen.object else { continue };
            let revision = object.revision();
            let entity = format!("tenure:revision/{}", revision.id());
            let number = entities.len();
            let of = format!("tenure:object/{}", revision.object_id());
            entities.insert(
                entity.clone(),
                json!({
                    "prov:type": format!("tenure:{}", revision.object_type()),
                    "prov:label": object.name(),
                    "tenure:source": revision.source_origin(),
                }),
            );
            used.insert(
                format!("_:u{number}"),
                json!({ "prov:activity": activity, "prov:entity": entity }),
            );
            derived.insert(
                format!("_:d{number}"),
                json!({ "prov:generatedEntity": payload, "prov:usedEntity": entity }),
            );
            for (at, parent) in revision.derived_from().iter().enumerate() {
                let parent = format!("tenure:object/{parent}");
                entities.entry(parent.clone()).or_insert_with(|| json!({}));
                derived.insert(
                    format!("_:d{number}.{at}"),
                    json!({ "prov:generatedEntity": entity, "prov:usedEntity": parent }),
                );
            }
            attributed.insert(
                format!("_:a{number}"),
                json!({ "prov:entity": entity, "prov:agent": person }),
            );
            entities.entry(of.clone()).or_insert_with(|| json!({}));
            revised.insert(
                format!("_:s{number}"),
                json!({ "prov:specificEntity": entity, "prov:generalEntity": of }),
            );
        }
        let mut agents = Map::new();
        agents.insert(person.clone(), json!({ "prov:type": "prov:Organization" }));
        agents.insert(model.clone(), json!({ "prov:type": "prov:SoftwareAgent" }));
        let mut document = json!({
            "prefix": { "tenure": "urn:tenure:" },
            "agent": agents,
            "activity": { &activity: {
                "prov:startTime": started,
                "prov:endTime": ended,
                "prov:type": "tenure:Compile",
            } },
            "wasGeneratedBy": { "_:g": {
                "prov:entity": payload,
                "prov:activity": activity,
                "prov:time": ended,
            } },
            "wasAssociatedWith": {
                "_:w1": { "prov:activity": activity, "prov:agent": person },
                "_:w2": { "prov:activity": activity, "prov:agent": model },
            },
            "entity": entities,
        });
        for (relation, rows) in [
            ("used", used),
            ("wasDerivedFrom", derived),
            ("wasAttributedTo", attributed),
            ("specializationOf", revised),
        ] {
            if !rows.is_empty() {
                document[relation] = Value::Object(rows);
            }
        }
        Ok(document)
    }

    /// The candidates of a record with their verdicts. What was erased has no object.
    fn seen<'r>(&self, record: &'r StoredRecord) -> Result<Vec<Seen<'r>>, Error> {
        let candidates = self.candidates_of(record)?;
        let trace = &record.record.trace;
        let objects = objects_of(trace, &candidates).into_iter();
        let seen = trace.verdicts.iter().zip(objects);
        Ok(seen.map(|(verdict, object)| Seen { verdict, object }).collect())
    }
}

fn contradiction(seen: &Seen<'_>) -> Option<ContradictionStatus> {
    let own = seen.object.as_ref().map(|object| object.status().contradiction);
    seen.verdict.reason.contradiction().or(own)
}

fn compiled_object(seen: &Seen<'_>) -> Value {
    let mut shown = json!({
        "object_id": seen.id(),
        "priority_tier": seen.verdict.score.map(|score| score.grade),
    });
    let Some(object) = &seen.object else {
        return shown;
    };
    let revision = object.revision();
    let fields = json!({
        "object_type": revision.object_type(),
        "authority_level": revision.authority_level(),
        "source_origin": revision.source_origin(),
        "source_authority": revision.source_authority(),
        "confidence_score": revision.confidence(),
        "security_classification": revision.classification(),
        "contradiction_status": object.status().contradiction,
        "compiled_as": seen.verdict.rung,
    });
    if let (Value::Object(shown), Value::Object(fields)) = (&mut shown, fields) {
        shown.extend(fields);
        let (own, _) = revision.names();
        let canonical = match seen.verdict.canonical_entity_ids.as_slice() {
            [] => own,
            canonical => canonical,
        };
        if !canonical.is_empty() {
            shown.insert("canonical_entity_ids".into(), json!(canonical));
        }
        if !seen.verdict.mentions.is_empty() {
            shown.insert("mentions".into(), json!(seen.verdict.mentions));
        }
    }
    shown
}

fn omitted_object(seen: &Seen<'_>) -> Value {
    let mut shown = serde_json::to_value(&seen.verdict.reason).unwrap_or_default();
    if let Value::Object(fields) = &mut shown {
        let code = fields.remove("code").unwrap_or_default();
        fields.insert("reason".into(), code);
        fields.insert("object_id".into(), seen.id());
        let grade = seen.verdict.score.map(|score| score.grade);
        fields.insert("priority_tier".into(), json!(grade));
        if let Some(status) = seen.verdict.reason.contradiction() {
            fields.insert("contradiction_status".into(), json!(status));
        }
    }
    shown
}

/// An id of `bytes` bytes in hexadecimal, derived from the record's.
fn hex(record: &StoredRecord, bytes: usize) -> String {
    let digest = Digest::of(record.record.record_id.as_bytes()).to_string();
    digest["sha256:".len()..][..2 * bytes].to_owned()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}
