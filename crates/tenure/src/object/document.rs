//! The published, flat form of an object, and how it is checked and sealed.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::revision::{Rare, RevisionParts};
use super::vocabulary::*;
use super::{Authority, ContextObject, ObjectId, Provenance, Revision, Scope, Status, Tool, Usage};
use crate::digest::Digest;
use crate::error::Error;
use crate::num::Score;
use crate::time::{Instant, Interval};

/// The name of the tenant that objects and callers without one belong to.
pub const LOCAL_TENANT: &str = "local";

/// A context object as it is published: flat, with the Tenure Principle's field names.
///
/// Only `content` is needed. What is left out has a stated default, so that a plain text is a valid
/// object. The rules are checked by [`ObjectDocument::seal`].
///
/// ```
/// use tenure::object::ObjectDocument;
/// let object = ObjectDocument::new("brevity", "Answer in one sentence.").seal().unwrap();
/// assert_eq!(object.revision().name(), "brevity");
/// ```
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "ContextObject")]
pub struct ObjectDocument {
    /// Stable across revisions. Default: derived from tenant, origin and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_id: Option<ObjectId>,
    /// The name by which people and other objects refer to it. Needed, unless the source gives one.
    pub name: String,
    /// The text. The only field that must not be empty (a tool call's turn may be).
    pub content: String,
    /// What it is. Default: `rule`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_type: Option<ObjectType>,
    /// The state layer. Default: by type; `project` for a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// May it command? 0 platform, 1 developer, 2 user, 3 inferred memory, 4 data. Default: by type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority_level: Option<Authority>,
    /// How much the author thinks it matters, from 0 to 1. Default: 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Score>,
    /// Words to find it by. The tag `pii` marks personal data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The claim in normal form: `slot op value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalized_claim: Option<String>,
    /// Whether the claim's slot holds one value or many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot_cardinality: Option<SlotCardinality>,
    /// The entities it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub canonical_entity_ids: Vec<String>,
    /// Other names of what it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Where it comes from, as a URI or a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_origin: Option<String>,
    /// How good the source is, from 0 to 1. Default: 1 above level 3, 0.5 for levels 3 and 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_authority: Option<Score>,
    /// How sure the claim is, from 0 to 1. Default: 1 above level 3, 0.5 for levels 3 and 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_score: Option<Score>,
    /// How sensitive it is. Default: `restricted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_classification: Option<Classification>,
    /// Which roles may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_scope: Option<PermissionScope>,
    /// Whose it is. Default: the tenant of the workspace that reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<String>,
    /// The one user who may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    /// The one project it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The one session it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The one task it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// When it became true in the world. Missing means unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<Instant>,
    /// The first instant at which it is no longer true. Missing means open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Instant>,
    /// When the system came to know it. Written by the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_start: Option<Instant>,
    /// When the system ceased to hold it. Written by the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_end: Option<Instant>,
    /// When somebody last confirmed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_confirmed: Option<Instant>,
    /// When a compile last used it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Instant>,
    /// How often a compile used it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_count: Option<u64>,
    /// Its real-world use: a preference counts only for tasks near this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_it_matters: Option<String>,
    /// The task types it applies to. Empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applicable_task_types: Vec<TaskType>,
    /// What the model should do because of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavioral_implication: Option<String>,
    /// The store's judgement. Default: `clean`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradiction_status: Option<ContradictionStatus>,
    /// The object that replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersession_link: Option<ObjectId>,
    /// How it ages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decay_rule: Option<DecayRule>,
    /// Where a newer version comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_path: Option<String>,
    /// What becomes of it when it is of no more use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retirement_rule: Option<RetirementRule>,
    /// Who wrote it. Default: `seed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<AuthorKind>,
    /// The run that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory_id: Option<String>,
    /// Whether anybody but its author may remove it. `false` also makes it mandatory. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removable: Option<bool>,
    /// Whether a budget may omit it although it is not removable or stands in a fixed tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// How its text is protected. Default: `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// What its content is made of. Default: `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modality: Option<Modality>,
    /// Names of the objects without which it must not stand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep_with: Vec<String>,
    /// The step of the task in which it was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inserted_in_step: Option<String>,
    /// What kind of constraint it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<ConstraintDocument>,
    /// What kind of memory it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_kind: Option<MemoryKind>,
    /// Where evidence was found. Mandatory for evidence and tool results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<ProvenanceDocument>,
    /// For a turn: who speaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// For a turn of the assistant: the tools it calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// For a tool result: the call that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// For a tool: JSON Schema of its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// For a tool: JSON Schema of its result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// For a tool: how it is called. Default: `function`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// For a tool: what it may touch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorization_scope: Option<String>,
    /// For a tool: how long it takes. Default: `medium`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_class: Option<TimeoutClass>,
}

/// Which roles may see an object.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionScope {
    /// The caller needs one of these. Empty means that any role will do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_roles: Vec<String>,
    /// The caller must have none of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_roles: Vec<String>,
}

/// How an object ages: its freshness halves every so many days.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecayRule {
    /// Days in which freshness halves.
    pub half_life_days: f64,
    /// The freshness below which the retirement rule applies.
    #[serde(default)]
    pub minimum_threshold: Score,
}

/// What kind of constraint an object is (Prefill Compiler, 6.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstraintDocument {
    /// Stated or shown. Default: `explicit`.
    #[serde(default = "explicit")]
    pub explicitness: Explicitness,
    /// Asks or forbids. Default: `positive`.
    #[serde(default = "positive")]
    pub polarity: Polarity,
    /// Whether it may be relaxed.
    pub rigidity: Rigidity,
}

fn explicit() -> Explicitness {
    Explicitness::Explicit
}

fn positive() -> Polarity {
    Polarity::Positive
}

/// Where evidence was found (Prefill Compiler, 6.3.3).
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProvenanceDocument {
    /// The document, record or endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// When it was fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieved_at: Option<Instant>,
    /// How good the source is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<Score>,
    /// How relevant the retriever found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<Score>,
    /// Where in the source it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<ChunkBounds>,
    /// Which query and strategy found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lineage: Option<String>,
}

/// Where in its source a chunk stands, in bytes, half-open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkBounds {
    /// The first byte.
    pub start: u64,
    /// The first byte after.
    pub end: u64,
}

/// A call of a tool in a turn of the assistant.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The id that the result refers to.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: a JSON value, or the provider's text kept as it is.
    #[serde(default)]
    pub arguments: Value,
}

impl ObjectDocument {
    /// An object of this name and content, with a default for everything else.
    pub fn new(name: impl Into<String>, content: impl Into<String>) -> ObjectDocument {
        ObjectDocument {
            name: name.into(),
            content: content.into(),
            ..ObjectDocument::default()
        }
    }

    /// Checks the document and makes it an object.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when a field breaks a rule; the message names
    /// the field and says what was expected.
    pub fn seal(self) -> Result<Arc<ContextObject>, Error> {
        self.check()?;
        let object_type = self.object_type.unwrap_or(ObjectType::Rule);
        let authority = self
            .authority_level
            .unwrap_or(default_authority(object_type, self.role));
        let trusted = if authority <= Authority::User {
            Score::ONE
        } else {
            Score::HALF
        };
        let tenant = self
            .tenant_id
            .clone()
            .unwrap_or_else(|| LOCAL_TENANT.to_owned());
        let object_id = self.object_id.unwrap_or_else(|| {
            let origin = self.source_origin.as_deref().unwrap_or_default();
            ObjectId::derived(&[&tenant, origin, &self.name])
        });
        let permissions = self.permission_scope.clone().unwrap_or_default();
        let scope = Arc::new(Scope {
            tenant: tenant.into(),
            user: self.user_id.clone().map(Into::into),
            project: self.project_id.clone().map(Into::into),
            session: self.session_id.clone().map(Into::into),
            task: self.task_id.clone().map(Into::into),
            allow_roles: permissions
                .allow_roles
                .into_iter()
                .map(Into::into)
                .collect(),
            deny_roles: permissions.deny_roles.into_iter().map(Into::into).collect(),
        });
        let status = Status {
            transaction: Interval {
                from: self.tx_start,
                until: self.tx_end,
            },
            contradiction: self
                .contradiction_status
                .unwrap_or(ContradictionStatus::Clean),
            superseded_by: self.supersession_link,
        };
        let usage = Usage {
            access_count: self.access_count.unwrap_or(0),
            last_used: self.last_used,
            last_confirmed: self.last_confirmed,
        };
        let id = self.revision_digest(object_id)?;
        let tool = (object_type == ObjectType::ToolSchema).then(|| Tool {
            input_schema: canonical(self.input_schema.clone().unwrap_or_else(empty_schema)),
            output_schema: self.output_schema.clone().map(canonical),
            protocol: self.protocol.unwrap_or(Protocol::Function),
            authorization_scope: self.authorization_scope.clone(),
            timeout_class: self.timeout_class.unwrap_or(TimeoutClass::Medium),
        });
        let rare = Rare {
            tags: self.tags,
            normalized_claim: self.normalized_claim,
            slot_cardinality: self.slot_cardinality,
            entities: self.canonical_entity_ids,
            aliases: self.aliases,
            source_origin: self.source_origin,
            why_it_matters: self.why_it_matters,
            task_types: self.applicable_task_types,
            behavioral_implication: self.behavioral_implication,
            decay_rule: self.decay_rule,
            update_path: self.update_path,
            retirement_rule: self.retirement_rule,
            trajectory_id: self.trajectory_id,
            keep_with: self.keep_with,
            inserted_in_step: self.inserted_in_step,
            constraint: self.constraint,
            memory_kind: self.memory_kind,
            provenance: self.provenance.map(Provenance::from_document),
            role: self.role,
            tool_calls: self.tool_calls,
            tool_call_id: self.tool_call_id,
            tool,
        };
        let revision = Revision::from_parts(RevisionParts {
            id,
            content_digest: Digest::of(self.content.as_bytes()),
            object_id,
            name: self.name.into(),
            content: self.content.into(),
            object_type,
            layer: self.layer.unwrap_or(default_layer(object_type)),
            authority,
            classification: self
                .security_classification
                .unwrap_or(Classification::Restricted),
            protection: self.protection.unwrap_or(Protection::None),
            modality: self.modality.unwrap_or(Modality::Text),
            author: self.author.unwrap_or(AuthorKind::Seed),
            priority: self.priority.unwrap_or(Score::HALF),
            source_authority: self.source_authority.unwrap_or(trusted),
            confidence: self.confidence_score.unwrap_or(trusted),
            removable: self.removable.unwrap_or(true),
            optional: self.optional.unwrap_or(false),
            valid: Interval {
                from: self.valid_from,
                until: self.valid_until,
            },
            scope,
            rare: rare.boxed(),
        });
        Ok(Arc::new(ContextObject::new(revision, status, usage)))
    }

    /// The digest of the revision's canonical JSON: sorted keys, no status and no usage.
    fn revision_digest(&self, object_id: ObjectId) -> Result<Digest, Error> {
        let json = serde_json::to_value(self).map_err(|error| {
            Error::input(format!("the object cannot be written as JSON: {error}"))
        })?;
        let Value::Object(fields) = json else {
            return Err(Error::assertion("an object's document is a JSON object"));
        };
        const NOT_HASHED: [&str; 8] = [
            "tx_start",
            "tx_end",
            "last_confirmed",
            "last_used",
            "access_count",
            "contradiction_status",
            "supersession_link",
            "object_id",
        ];
        let mut sorted: BTreeMap<String, Value> = fields
            .into_iter()
            .filter(|(key, _)| !NOT_HASHED.contains(&key.as_str()))
            .collect();
        sorted.insert("object_id".into(), Value::String(object_id.to_string()));
        let text = serde_json::to_string(&sorted).map_err(|error| {
            Error::input(format!("the object cannot be written as JSON: {error}"))
        })?;
        Ok(Digest::of(text.as_bytes()))
    }
}

/// The authority of an object that states none: what was found or returned is data, what the
/// model or the person said is the user's, what was concluded is memory, the rest is the
/// developer's.
fn default_authority(object_type: ObjectType, role: Option<Role>) -> Authority {
    match object_type {
        ObjectType::RetrievedPassage
        | ObjectType::ToolResult
        | ObjectType::Artifact
        | ObjectType::Media => Authority::Data,
        ObjectType::InferredBelief | ObjectType::Checkpoint => Authority::Memory,
        ObjectType::Preference
        | ObjectType::IdentityFact
        | ObjectType::TaskState
        | ObjectType::Outcome => Authority::User,
        ObjectType::Turn if role == Some(Role::System) => Authority::Developer,
        ObjectType::Turn => Authority::User,
        _ => Authority::Developer,
    }
}

fn default_layer(object_type: ObjectType) -> Layer {
    match object_type {
        ObjectType::Preference | ObjectType::IdentityFact => Layer::User,
        ObjectType::RetrievedPassage | ObjectType::Artifact | ObjectType::Media => Layer::Corpus,
        ObjectType::PolicyRule => Layer::Policy,
        ObjectType::ToolSchema => Layer::Tool,
        ObjectType::InferredBelief => Layer::Belief,
        ObjectType::Turn | ObjectType::ToolResult | ObjectType::Checkpoint => Layer::Session,
        ObjectType::TaskState => Layer::Task,
        _ => Layer::Project,
    }
}

fn empty_schema() -> Value {
    serde_json::json!({ "type": "object", "properties": {} })
}

/// A schema in canonical form: keys sorted (the map type sorts them), `required` sorted as the
/// set it is; `enum` and all else keep their order, which may carry meaning.
fn canonical(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                let taken = canonical(value.take());
                *value = match taken {
                    Value::Array(mut names)
                        if key == "required" && names.iter().all(Value::is_string) =>
                    {
                        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
                        names.dedup();
                        Value::Array(names)
                    }
                    other => other,
                };
            }
        }
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| *value = canonical(value.take())),
        _ => {}
    }
    schema
}

/// Enough of a name to recognise it in a message.
pub fn clip(text: &str) -> String {
    let shown = |text: &str| text.replace(char::is_control, "\u{FFFD}");
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", shown(&text[..end])),
        None => shown(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_text_is_a_developer_rule_of_the_local_tenant() {
        let object = ObjectDocument::new("a", "Do it.").seal().unwrap();
        let revision = object.revision();
        assert_eq!(revision.object_type(), ObjectType::Rule);
        assert_eq!(revision.authority_level(), Authority::Developer);
        assert_eq!(revision.classification(), Classification::Restricted);
        assert_eq!(&*revision.scope().tenant, LOCAL_TENANT);
        assert_eq!(revision.valid(), Interval::default());
    }

    #[test]
    fn status_and_usage_do_not_change_a_revision() {
        let base = ObjectDocument::new("a", "text");
        let judged = ObjectDocument {
            contradiction_status: Some(ContradictionStatus::Disputed),
            access_count: Some(7),
            ..base.clone()
        };
        let reworded = ObjectDocument::new("a", "text!");
        let id = |document: ObjectDocument| document.seal().unwrap().revision().id();
        assert_eq!(id(base.clone()), id(judged));
        assert_ne!(id(base), id(reworded));
    }

    #[test]
    fn schemas_are_canonical() {
        let schema = serde_json::json!({"required": ["b", "a"], "enum": ["z", "y"], "a": 1.0});
        assert_eq!(
            canonical(schema).to_string(),
            r#"{"a":1.0,"enum":["z","y"],"required":["a","b"]}"#
        );
    }
}
