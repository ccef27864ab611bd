//! The published, flat form of an object, and how it is checked and sealed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Wire;
use super::vocabulary::*;
use super::{Authority, ObjectId, clip, kind_of_origin};
use crate::base::digest::Digest;
use crate::base::error::{Error, ErrorKind};
use crate::base::num::Score;
use crate::base::time::Instant;

/// The name of the tenant that objects and callers without one belong to.
pub const LOCAL_TENANT: &str = "local";

/// A context object as it is published: flat, one field for each property.
///
/// Only `content` is needed. What is left out has a stated default, so that a plain text is a valid
/// object. The rules are checked by [`ObjectDocument::seal`].
///
/// ```
/// use tenure::object::ObjectDocument;
/// let object = ObjectDocument::rule("brevity", "Answer in one sentence.").seal().unwrap();
/// assert_eq!(object.revision().name(), "brevity");
/// ```
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "ContextObject")]
pub struct ObjectDocument {
    /// Stable across revisions. Default: derived from tenant, origin and name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_id: Option<ObjectId>,
    /// The name by which people and other objects refer to it. Needed, unless the source gives one or there is an
    /// `object_id` (see [`ObjectDocument::complete`]).
    pub name: String,
    /// The text. The only field that must not be empty (a tool call's turn may be).
    pub content: String,
    /// The content in a sentence or two, by its author: stands where the content does not fit.
    #[serde(rename = "abstract", skip_serializing_if = "Option::is_none")]
    pub abstract_text: Option<String>,
    /// The content in a paragraph or two, by its author: between the abstract and the content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overview: Option<String>,
    /// Its type. Default: `rule`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_type: Option<ObjectType>,
    /// The state layer. Default: by type; `project` for a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<Layer>,
    /// May it command? 0 platform, 1 developer, 2 user, 3 inferred memory, 4 data. Default: by type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority_level: Option<Authority>,
    /// The authority that it asked for, where [`ObjectDocument::distrust`] gave it less. No part of the published form.
    #[serde(skip)]
    pub asked: Option<Authority>,
    /// The importance that its author gives it, from 0 to 1. Default: 0.5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Score>,
    /// Words to find it by. The tag `pii` marks personal data, as `subjects` do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The claim in normal form: `slot op value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub normalized_claim: Option<String>,
    /// The number of values that the claim's slot holds: one or many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot_cardinality: Option<SlotCardinality>,
    /// The entities it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub canonical_entity_ids: Vec<String>,
    /// Other names of what it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// The origin, as a URI or a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_origin: Option<String>,
    /// Further sources that it was made from. A derived object has those of its parents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// The objects that it was made from: what becomes of them becomes of it (see
    /// [`inherit`](super::inherit)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub derived_from: Vec<ObjectId>,
    /// The people whom it is about, by the ids that the tenant gives them. What has a subject is
    /// personal data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<String>,
    /// The name of whoever says it, such as a message's `name`. Questions that name them find it more easily.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said_by: Option<String>,
    /// The quality of the source, from 0 to 1. Default: 1 for authority 0 to 2, 0.5 for 3 and 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_authority: Option<Score>,
    /// The confidence in the claim, from 0 to 1. Default: 1 for authority 0 to 2, 0.5 for 3 and 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence_score: Option<Score>,
    /// The sensitivity. Default: `restricted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_classification: Option<Classification>,
    /// The roles that may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission_scope: Option<PermissionScope>,
    /// The tenant that owns it. Default: the tenant of the workspace that reads it.
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
    /// The instant at which it became true in the world. Missing means unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<Instant>,
    /// The first instant at which it is no longer true. Missing means open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Instant>,
    /// The instant at which the system came to know it. Written by the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_start: Option<Instant>,
    /// The instant at which the system ceased to hold it. Written by the store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_end: Option<Instant>,
    /// The instant of the last confirmation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_confirmed: Option<Instant>,
    /// The instant at which a compile last used it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used: Option<Instant>,
    /// The number of compiles that used it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_count: Option<u64>,
    /// Its real-world use: a preference counts only for tasks near this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_it_matters: Option<String>,
    /// The task types it applies to. Empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub applicable_task_types: Vec<TaskType>,
    /// The behaviour that follows from it for the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavioral_implication: Option<String>,
    /// The store's judgement. Default: `clean`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contradiction_status: Option<ContradictionStatus>,
    /// The object that replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersession_link: Option<ObjectId>,
    /// The rule for when another claim contradicts its own. Default: `protocols`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflict_policy: Option<ConflictPolicy>,
    /// The rule by which it ages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decay_rule: Option<DecayRule>,
    /// The source of newer versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_path: Option<String>,
    /// The rule for when it is of no more use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retirement_rule: Option<RetirementRule>,
    /// The kind of author. Default: `seed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<AuthorKind>,
    /// The run that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trajectory_id: Option<String>,
    /// False if only its author may remove it, which also makes it mandatory. Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removable: Option<bool>,
    /// True if a budget may omit it although it is not removable or stands in a fixed tier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// The protection of its text. Default: `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protection: Option<Protection>,
    /// The modality of its content. Default: `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modality: Option<Modality>,
    /// Names of the objects without which it must not stand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keep_with: Vec<String>,
    /// The step of the task in which it was added. Who brings an object names one of the steps; what was stored with
    /// another word is of no step.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Step>")]
    pub inserted_in_step: Option<String>,
    /// The kind of constraint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<ConstraintDocument>,
    /// The kind of memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_kind: Option<MemoryKind>,
    /// The provenance of evidence. Mandatory for evidence and tool results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
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
    /// For a turn, a result or a tool: the provider's own JSON that it came in, which goes back to that
    /// provider byte for byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
}

/// The roles that may see an object.
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

/// The aging of an object: its freshness halves every `half_life_days`. Neither field is needed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecayRule {
    /// Days in which freshness halves. Default: as the policy says of its type; a sweep of a store, which has no
    /// policy, leaves it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_life_days: Option<f64>,
    /// The freshness below which the retirement rule applies.
    #[serde(default)]
    pub minimum_threshold: Score,
}

/// The kind of a constraint.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstraintDocument {
    /// Stated or shown. Default: `explicit`.
    #[serde(default = "explicit")]
    pub explicitness: Explicitness,
    /// The number of sources that a final answer must name at least, of the evidence and documents that stand in the
    /// request: by their name or `source_id`. Fewer suffice where fewer stand. Default: 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub must_cite: u32,
    /// Regular expressions that answers are held against: of a `negative` constraint none may match, of a
    /// `positive` one each must. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub patterns: Vec<String>,
    /// Asks or forbids. Default: `positive`.
    #[serde(default = "positive")]
    pub polarity: Polarity,
    /// The rigidity: soft constraints may be relaxed.
    pub rigidity: Rigidity,
    /// A JSON Schema that a final answer must be an instance of. Default: none. A constraint without a validator
    /// (`must_cite`, `patterns`, `schema`) is one that no machine can check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn explicit() -> Explicitness {
    Explicitness::Explicit
}

fn positive() -> Polarity {
    Polarity::Positive
}

/// The provenance of evidence. The fields stand in the order of their names, as canonical JSON has them; so do those
/// of every part of an object.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ProvenanceDocument")]
pub struct Provenance {
    /// The quality of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<Score>,
    /// The place in the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<ChunkBounds>,
    /// The digest of the source's bytes: what says which state of a file was read, as an instant does elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
    /// The query and strategy that found it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lineage: Option<String>,
    /// The package that somebody chose it with: the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// The relevance that the retriever gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relevance: Option<Score>,
    /// The instant at which it was fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieved_at: Option<Instant>,
    /// The document, record or endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_id: Option<String>,
    /// The kind of source. It gives no authority; `web` and `tool` make what states none data, `agent` memory. Default:
    /// by what is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_kind: Option<SourceKind>,
    /// The parts of these that nobody knows: who says so leaves nothing open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<ProvenancePart>,
}

/// A source without the lines that it ends in: of `pump.rs:10-42` the file.
pub(crate) fn without_lines(source: &str) -> &str {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    source
        .rsplit_once(':')
        .filter(|(_, lines)| {
            lines
                .split_once('-')
                .is_some_and(|(first, last)| is_number(first) && is_number(last))
        })
        .map_or(source, |(file, _)| file)
}

/// The place of a chunk in its source, in bytes, half-open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChunkBounds {
    /// The first byte after.
    pub end: u64,
    /// The first byte.
    pub start: u64,
}

/// A call of a tool in a turn of the assistant.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The arguments: a JSON value, or the provider's text kept as it is.
    #[serde(default)]
    pub arguments: Value,
    /// The id that the result refers to.
    pub id: String,
    /// The tool.
    pub name: String,
}

impl ToolCall {
    /// The arguments as text: a text stays as it is, anything else is compact JSON.
    pub(crate) fn arguments_text(&self) -> String {
        match &self.arguments {
            Value::String(text) => text.clone(),
            Value::Null => "{}".to_owned(),
            other => other.to_string(),
        }
    }
}

impl ObjectDocument {
    /// A rule of the developer: text that the model is to follow.
    ///
    /// ```
    /// use tenure::object::{Authority, ObjectDocument};
    /// let rule = ObjectDocument::rule("units", "Report pressure in pascal.").seal()?;
    /// assert_eq!(rule.revision().authority_level(), Authority::Developer);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn rule(name: impl Into<String>, content: impl Into<String>) -> ObjectDocument {
        ObjectDocument {
            object_type: Some(ObjectType::Rule),
            ..ObjectDocument::named(name, content)
        }
    }

    /// A passage that was found in a source at an instant: data, framed, and never followed. It is named after its
    /// source; several of one source get names of their own (`name`) and places in it (`provenance.chunk`).
    ///
    /// ```
    /// use tenure::object::{Authority, ObjectDocument};
    /// let found = ObjectDocument::evidence("manual.pdf", "2026-06-06".parse()?, "The valve opens at two bar.");
    /// let found = found.seal()?;
    /// assert_eq!((found.name(), found.revision().authority_level()), ("manual.pdf", Authority::Data));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn evidence(
        source: impl Into<String>,
        retrieved_at: Instant,
        content: impl Into<String>,
    ) -> ObjectDocument {
        let source = source.into();
        ObjectDocument {
            object_type: Some(ObjectType::RetrievedPassage),
            authority_level: Some(Authority::Data),
            provenance: Some(Provenance {
                source_id: Some(source.clone()),
                retrieved_at: Some(retrieved_at),
                ..Provenance::default()
            }),
            ..ObjectDocument::named(source, content)
        }
    }

    /// An object of this name and content, of which whoever reads or makes it says the rest: without an
    /// `object_type` it is a rule.
    #[doc(hidden)]
    pub fn named(name: impl Into<String>, content: impl Into<String>) -> ObjectDocument {
        ObjectDocument {
            name: name.into(),
            content: content.into(),
            ..ObjectDocument::default()
        }
    }

    /// States that it is an artifact that came with a request, where it says no type: who brings an object without one
    /// has not said that it may command. What writes objects over a network does so.
    ///
    /// ```
    /// use tenure::object::{ObjectDocument, ObjectType};
    /// let mut page: ObjectDocument = serde_json::from_str(r#"{"name": "page", "content": "Obey."}"#).unwrap();
    /// page.untyped_is_data();
    /// assert_eq!(page.object_type, Some(ObjectType::Artifact));
    /// ```
    pub fn untyped_is_data(&mut self) {
        if self.object_type.is_none() {
            self.object_type = Some(ObjectType::Artifact);
            self.authority_level = Some(Authority::Data);
            let provenance = self.provenance.get_or_insert_default();
            provenance.source_id.get_or_insert_with(|| "request".to_owned());
        }
    }

    /// Lowers the authority to the most that its source, its author and its writer give it, whatever it states. What comes from
    /// the web, from mail or from a tool, by its own address, one of its `origins` or the kind of its source, is data; memory of it (3)
    /// stays memory. What an agent
    /// wrote, by its `author` or the kind of its source, is no more than memory; a rule or a constraint of an agent, which would
    /// have to be there, is data. Turns and tools, which cannot be data, have that of their type. What asked for more says so to
    /// whoever compiles or writes it ([`Status::asked`](crate::object::Status)). What writes or collects objects does so; what was
    /// written before keeps the authority that it had.
    ///
    /// ```
    /// use tenure::object::{AuthorKind, Authority, ObjectDocument, ObjectType};
    /// let mut page = ObjectDocument {
    ///     source_origin: Some("https://a.example/rules".into()),
    ///     authority_level: Some(Authority::Developer),
    ///     ..ObjectDocument::rule("page", "Obey.")
    /// };
    /// page.distrust(Authority::Platform);
    /// assert_eq!(page.authority_level, Some(Authority::Data));
    /// let mut guess = ObjectDocument {
    ///     object_type: Some(ObjectType::Preference),
    ///     author: Some(AuthorKind::Agent),
    ///     ..ObjectDocument::rule("style", "She likes short answers.")
    /// };
    /// guess.distrust(Authority::Platform);
    /// assert_eq!(guess.authority_level, Some(Authority::Memory));
    /// let mut users = ObjectDocument::rule("units", "Report pascal.");
    /// users.distrust(Authority::User);
    /// assert_eq!(users.authority_level, Some(Authority::User));
    /// ```
    pub fn distrust(&mut self, writer: Authority) {
        let object_type = self.object_type.unwrap_or(ObjectType::Rule);
        let default = default_authority(object_type, self.role);
        let stated = self.authority_level;
        if matches!(object_type, ObjectType::Turn | ObjectType::ToolSchema) {
            if writer > Authority::Platform {
                self.lower(stated.map(|stated| stated.max(default)), stated);
            }
            return;
        }
        let mut origins = self.source_origin.iter().chain(&self.origins);
        let outside = origins.find(|origin| kind_of_origin(origin).is_some()).cloned();
        let kind = self.provenance.as_ref().and_then(|found| found.source_kind);
        let is_data = outside.is_some()
            || matches!(
                kind,
                Some(SourceKind::Web | SourceKind::Mail | SourceKind::Tool)
            );
        let is_agents = self.author == Some(AuthorKind::Agent) || kind == Some(SourceKind::Agent);
        let must_stand = matches!(
            object_type,
            ObjectType::PolicyRule | ObjectType::ActionableConstraint
        );
        let most = match object_type {
            // Memory of a site commands nothing, and is read for that site alone.
            _ if is_data && !must_stand && stated == Some(Authority::Memory) => Authority::Memory,
            _ if is_data => Authority::Data,
            _ if must_stand && is_agents => Authority::Data,
            _ if is_agents => writer.max(Authority::Memory),
            _ => writer,
        };
        if most == Authority::Platform {
            return;
        }
        // A rule without a word on its authority asks to command, too.
        let commands = must_stand || object_type == ObjectType::Rule;
        let asked = stated.or_else(|| commands.then_some(default));
        self.lower(Some(stated.unwrap_or(default).max(most)), asked);
        if let Some(outside) = outside.filter(|_| is_data) {
            // Data says where it was found; when, only its author knows.
            let provenance = self.provenance.get_or_insert_default();
            provenance.source_id.get_or_insert(outside);
        }
    }

    /// Returns the authority that it asks for: what it states, and the developer's for what commands by its type and
    /// states none.
    pub fn asked_authority(&self) -> Option<Authority> {
        let commands = matches!(
            self.object_type,
            Some(ObjectType::PolicyRule | ObjectType::ActionableConstraint | ObjectType::Rule)
        );
        let stated = self.asked.or(self.authority_level);
        stated.or_else(|| commands.then_some(Authority::Developer))
    }

    /// States the authority that it has, and what it asked for where that was more.
    fn lower(&mut self, has: Option<Authority>, asked: Option<Authority>) {
        if let (Some(has), Some(asked)) = (has, asked)
            && asked < has
        {
            self.asked.get_or_insert(asked);
        }
        self.authority_level = has;
    }
}

impl ObjectDocument {
    /// Keeps the object within the classes that its writer may see: one without a class of its own gets at most this class.
    ///
    /// ```
    /// use tenure::object::{Classification, ObjectDocument};
    /// let mut note = ObjectDocument::rule("note", "The port is 443.");
    /// note.classify_within(Classification::Public).unwrap();
    /// assert_eq!(note.security_classification, Some(Classification::Public));
    /// note.security_classification = Some(Classification::Confidential);
    /// assert!(note.classify_within(Classification::Restricted).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`](crate::ErrorKind::Policy) when it states a higher one: a label is not lowered.
    pub fn classify_within(&mut self, most: Classification) -> Result<(), Error> {
        let class = self.security_classification;
        if let Some(class) = class.filter(|class| *class > most) {
            let what = format!(
                "`{}` is `{}`, above what its writer may see",
                clip(&self.name),
                class.term()
            );
            return Err(Error::new(ErrorKind::Policy, what)
                .at("security_classification", None)
                .expected(format!("at most `{}`", most.term()))
                .hint("a key with a higher clearance writes it"));
        }
        if class.is_none() && most < Classification::Restricted {
            self.security_classification = Some(most);
        }
        Ok(())
    }

    /// Returns the trust that its content has, as a frame says it: what its provenance states of it, or else what follows from
    /// its authority. The model's own words have no more than memory.
    pub fn trust(&self) -> Score {
        let stated = self.provenance.as_ref().and_then(|found| found.authority);
        let object_type = self.object_type.unwrap_or(ObjectType::Rule);
        let own = self
            .authority_level
            .unwrap_or_else(|| default_authority(object_type, self.role));
        let spoken = match self.role {
            Some(Role::Assistant) => own.max(Authority::Memory),
            _ => own,
        };
        stated.unwrap_or_else(|| default_trust(spoken))
    }
}

/// The authority of an object that states none: what was found or returned is data, what the
/// model or the person said is the user's, what was concluded is memory, the rest is the
/// developer's.
pub(crate) fn default_authority(object_type: ObjectType, role: Option<Role>) -> Authority {
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

pub(super) fn default_layer(object_type: ObjectType) -> Layer {
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

pub(crate) fn empty_schema() -> Value {
    serde_json::json!({ "type": "object", "properties": {} })
}

/// A schema in canonical form: keys sorted (the map type sorts them), `required` sorted as the
/// set it is; `enum` and all else keep their order, which may carry meaning.
pub(crate) fn canonical(mut schema: Value) -> Value {
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
        Value::Array(values) => {
            values.iter_mut().for_each(|value| *value = canonical(value.take()))
        }
        _ => {}
    }
    schema
}

/// Returns the default quality of a source and confidence in a claim: the commanding levels are believed, memory and
/// data by half.
pub fn default_trust(authority: Authority) -> Score {
    if authority <= Authority::User {
        Score::ONE
    } else {
        Score::HALF
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::Interval;

    #[test]
    fn a_plain_text_is_a_developer_rule_of_the_local_tenant() {
        let object = ObjectDocument::named("a", "Do it.").seal().unwrap();
        let revision = object.revision();
        assert_eq!(revision.object_type(), ObjectType::Rule);
        assert_eq!(revision.authority_level(), Authority::Developer);
        assert_eq!(revision.classification(), Classification::Restricted);
        assert_eq!(&*revision.scope().tenant, LOCAL_TENANT);
        assert_eq!(revision.valid(), Interval::default());
    }

    #[test]
    fn status_and_usage_do_not_change_a_revision() {
        let base = ObjectDocument::named("a", "text");
        let judged = ObjectDocument {
            contradiction_status: Some(ContradictionStatus::Disputed),
            access_count: Some(7),
            ..base.clone()
        };
        let reworded = ObjectDocument::named("a", "text!");
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
