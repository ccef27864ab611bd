//! Everything one compile may depend on besides the candidates, the facts and the world.
//!
//! Instants come in here: nothing in this crate reads a clock.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::digest::Digest;
use crate::base::error::{Error, ErrorKind};
use crate::base::time::Instant;
use crate::belief::entity::{Identities, Identity};
use crate::input::gate::Gate;
use crate::input::policy::ContextMode;
use crate::input::retrieval::RetrievalPlan;
use crate::object::Classification;
use crate::provider::catalogue::Model;

pub use crate::base::error::{NOT_JSON, json_error};
pub use crate::base::json::from_json;
pub use crate::input::policy::{Strategy, TaskClass};
pub use crate::input::served::ServedLedger;
pub use crate::input::task::{
    Approval, IntermediateResult, PendingAction, Progress, Step, Subtask, TaskError, TaskState,
};
pub use crate::provider::target::Target;

/// On whose behalf a compile runs. What is not granted here is denied.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Principal {
    /// The tenant. Default: `local`.
    pub tenant: String,
    /// The user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The roles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The most sensitive class that may be seen. Default: `public`.
    pub clearance: Classification,
    /// The web origins whose memory may be read (scheme, host and port).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// True if objects tagged `pii` may be seen.
    pub pii_authorized: bool,
}

impl Default for Principal {
    fn default() -> Principal {
        Principal {
            tenant: crate::object::LOCAL_TENANT.to_owned(),
            user: None,
            project: None,
            session: None,
            task: None,
            roles: Vec::new(),
            clearance: Classification::Public,
            origins: Vec::new(),
            pii_authorized: false,
        }
    }
}

impl Principal {
    /// The owner of a local workspace, who may see everything in it.
    pub fn owner() -> Principal {
        Principal {
            clearance: Classification::HighlyRestricted,
            pii_authorized: true,
            ..Principal::default()
        }
    }
}

/// The instants a compile looks from. Without one, intervals on that axis are not checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AsOf {
    /// The instant whose truths hold: facts of the world at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid: Option<Instant>,
    /// As known to the system at this instant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Instant>,
}

impl AsOf {
    /// Returns one instant on both axes.
    pub fn both(instant: Instant) -> AsOf {
        AsOf {
            valid: Some(instant),
            known: Some(instant),
        }
    }
}

/// The tokens that the payload may have: `tokens`, or else `window − reserve`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// The most tokens the payload may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u32>,
    /// The model's window. Default: the catalogue's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u32>,
    /// Tokens kept for the answer (tier 5, inviolable). Default: the catalogue's, or none when
    /// `tokens` or `window` is given. A target that must name the answer's room (`max_tokens` of
    /// `anthropic-messages`) names this, or else as much of the catalogue's as the budget leaves of
    /// the window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u32>,
}

impl Budget {
    /// So many tokens for the payload.
    pub fn tokens(tokens: u32) -> Budget {
        Budget {
            tokens: Some(tokens),
            ..Budget::default()
        }
    }

    /// The most tokens that the payload may have, and the room for the answer: the reserve, or as
    /// much of the model's as the payload leaves of the window.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when one leaves nothing for the other.
    pub fn resolve(&self, model: &Model, target: Target) -> Result<(u32, u32), Error> {
        let window = self.window.unwrap_or(model.window);
        let reserve = match (self.reserve, self.window) {
            (Some(reserve), _) => reserve,
            (None, None) if self.tokens.is_none() => model.reserve,
            (None, _) => 0,
        };
        let room = window.checked_sub(reserve).filter(|room| *room > 0).ok_or_else(|| {
            Error::input(format!(
                "the reserve of {reserve} tokens leaves nothing of the window of {window}"
            ))
            .expected("a reserve below the window")
        })?;
        if let Some(tokens) = self.tokens
            && tokens > room
        {
            return Err(Error::input(format!("the budget of {tokens} tokens exceeds the window of {window} less the reserve of {reserve}"))
                .expected(format!("at most {room}"))
                .hint("name the window with --window (or `budget.window`) if the model has a larger one"));
        }
        let tokens = self.tokens.unwrap_or(room);
        let answer = self.reserve.unwrap_or(model.reserve.min(window - tokens));
        if answer < target.least_answer() {
            return Err(Error::input(format!(
                "the budget of {tokens} tokens leaves none of the window of {window} for the answer"
            ))
            .expected("at least 1: the target names the room for the answer, `max_tokens`")
            .hint("name the tokens to keep with --reserve (or `budget.reserve`)"));
        }
        Ok((tokens, answer))
    }
}

/// An entity whose names are known beforehand.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entity {
    /// Its canonical id.
    pub id: String,
    /// Its canonical name.
    pub name: String,
    /// Its other names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
}

/// One request to compile: the task and all that the outcome may depend on.
///
/// ```
/// use tenure::{Budget, Request};
/// let request = Request::new("Summarise the incident.", Budget::tokens(2_000));
/// assert_eq!(request.principal.tenant, "local");
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Request {
    /// The version of this form.
    pub version: u32,
    /// The task.
    pub task: TaskState,
    /// The current request, when it differs from the objective.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// True if the history says the task and the query already: they rank what stands beside it, and are not said
    /// again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub task_said: bool,
    /// On whose behalf.
    pub principal: Principal,
    /// The instants to look from.
    pub as_of: AsOf,
    /// The budget.
    pub budget: Budget,
    /// The model. Default: the world's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The form of the payload. Default: `text`.
    pub target: Target,
    /// The way in which the model gets the corpus. Default: the policy's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextMode>,
    /// Entities whose names are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<Entity>,
    /// The ids of entities that mean others, or that wait for a person to say which one they are, as the caller may know
    /// of it. Where a store is read, its registry says so, whatever stands here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub identities: Vec<Identity>,
    /// The nearness to the task that a block must have. Default: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// The nearness to the task and its current step (objective, query, subtasks in progress, pending actions) that a
    /// tool must be to be offered, compared with the other tools alone. Default: as the gate says, or else all are
    /// offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Gate>,
    /// True if a tool that is new in the middle of an epoch is offered by the provider's own channel, where the
    /// catalogue knows one (`late_tools`). Who asks for it sends the beta's header that the trace names, and does not
    /// take the tools from `tools` of the body alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub late_tools: bool,
    /// The retrieval plan of the task. Default: everything is a candidate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retrieval: Option<RetrievalPlan>,
    /// The JSON Schema that the answer is to be of. It is not written into the payload: the envelope gives it back as
    /// the policy's `answers` have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Value>,
    /// The number of turns that the session has, those that no longer stand included: for the trace's forecast alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// The ledger of what the model has already been sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served: Option<ServedLedger>,
    /// The id of the key that frames are made with. Default: the world's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_key: Option<String>,
    /// True for prices alone: the same numbers, no payload.
    pub dry_run: bool,
}

/// The version of the request's form.
pub const REQUEST_VERSION: u32 = 1;

/// The longest schema of an answer, in bytes of JSON.
pub const MAX_SCHEMA: usize = 1 << 18;

/// The longest text of a task or a query, in bytes.
const MAX_TEXT: usize = 4 << 20;

impl Default for Request {
    fn default() -> Request {
        Request {
            version: REQUEST_VERSION,
            task: TaskState::default(),
            query: None,
            task_said: false,
            principal: Principal::default(),
            as_of: AsOf::default(),
            budget: Budget::default(),
            model: None,
            target: Target::Text,
            context: None,
            entities: Vec::new(),
            identities: Vec::new(),
            gate: None,
            tools: None,
            late_tools: false,
            retrieval: None,
            response_schema: None,
            turns: None,
            served: None,
            frame_key: None,
            dry_run: false,
        }
    }
}

impl Request {
    /// A request for this objective within this budget, on behalf of the local owner.
    pub fn new(objective: impl Into<String>, budget: Budget) -> Request {
        Request {
            task: TaskState::new(objective),
            principal: Principal::owner(),
            budget,
            ..Request::default()
        }
    }

    /// Returns the request with a query: what is asked now, where it differs from the objective.
    #[must_use]
    pub fn with_query(self, query: impl Into<String>) -> Request {
        Request {
            query: Some(query.into()),
            ..self
        }
    }

    /// Returns the request on behalf of this principal, who sees no more than their labels allow.
    ///
    /// ```
    /// use tenure::{AsOf, Budget, Principal, Request, Target};
    /// use tenure::object::Classification;
    /// let anna = Principal {
    ///     user: Some("anna".into()),
    ///     clearance: Classification::Confidential,
    ///     ..Principal::default()
    /// };
    /// let request = Request::new("Plan the release.", Budget::tokens(8_000))
    ///     .with_principal(anna)
    ///     .with_query("What is left to do?")
    ///     .with_target(Target::AnthropicMessages)
    ///     .with_as_of(AsOf::both("2026-06-06T12:00:00Z".parse()?));
    /// assert_eq!(request.query_text(), "Plan the release.\nWhat is left to do?");
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn with_principal(self, principal: Principal) -> Request {
        Request { principal, ..self }
    }

    /// Returns the request in this form of the payload.
    #[must_use]
    pub fn with_target(self, target: Target) -> Request {
        Request { target, ..self }
    }

    /// Returns the request as seen from these instants.
    #[must_use]
    pub fn with_as_of(self, as_of: AsOf) -> Request {
        Request { as_of, ..self }
    }

    /// A request from JSON.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] with the line when the text is not a request.
    pub fn from_json(text: &str) -> Result<Request, Error> {
        if !text.trim_start().starts_with('{') {
            return Err(Error::input("the text is not a request")
                .at("request", Some(1))
                .expected("a JSON object"));
        }
        serde_json::from_str(text).map_err(|error| json_error(&error, "request"))
    }

    /// The digest of all of it but whether it is a dry run, which changes no number.
    pub fn digest(&self) -> Digest {
        if self.dry_run {
            let wet = Request {
                dry_run: false,
                ..self.clone()
            };
            return wet.digest();
        }
        // A request is plain data with text keys: writing it as JSON cannot fail.
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// The digest of the task and the query, as [`ServedLedger::task`] holds it.
    pub fn asked(&self) -> Digest {
        let task = serde_json::to_vec(&self.task).unwrap_or_default();
        let query = self.query.as_deref().unwrap_or_default();
        Digest::of_parts([task.as_slice(), query.as_bytes()])
    }

    /// The query that relevance is measured against: objective and query, each on its own line.
    pub fn query_text(&self) -> String {
        match &self.query {
            Some(query) => format!("{}\n{query}", self.task.objective),
            None => self.task.objective.clone(),
        }
    }

    /// Returns the text that a tool must be near to: objective and query, and of the task's state what is being done
    /// now (the subtasks in progress) and what waits to be done, each on its own line.
    ///
    /// ```
    /// use tenure::{Budget, Request, request::{Progress, Subtask}};
    /// let mut request = Request::new("Release 2.0.", Budget::default());
    /// let subtask = |title: &str, status| Subtask { title: title.into(), status };
    /// request.task.subtasks = vec![
    ///     subtask("run the tests", Progress::Done),
    ///     subtask("tag the commit", Progress::InProgress),
    /// ];
    /// assert_eq!(request.step_text(), "Release 2.0.\ntag the commit");
    /// ```
    pub fn step_text(&self) -> String {
        let mut text = self.query_text();
        let doing = self
            .task
            .subtasks
            .iter()
            .filter(|subtask| subtask.status == Progress::InProgress)
            .map(|subtask| &subtask.title);
        let waiting = self.task.pending.iter().map(|pending| &pending.action);
        for line in doing.chain(waiting) {
            text.push('\n');
            text.push_str(line);
        }
        text
    }

    /// The texts besides the query that relevance is measured against: those of the subqueries that ask for
    /// something else, and that of the step, where tools are chosen by it.
    pub fn further_texts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let subqueries = self
            .retrieval
            .iter()
            .flat_map(|plan| &plan.subqueries)
            .filter_map(|subquery| subquery.text.as_deref());
        let step = self.tools.map(|_| self.step_text());
        subqueries.map(Cow::Borrowed).chain(step.map(Cow::Owned))
    }

    /// Checks what a request must say to make sense. A compile does this first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] or, for a caller without a tenant, [`ErrorKind::Policy`].
    pub fn validate(&self) -> Result<(), Error> {
        if self.version != REQUEST_VERSION {
            return Err(
                Error::input(format!("request version {} is unknown", self.version))
                    .at("version", None)
                    .expected(format!("version {REQUEST_VERSION}")),
            );
        }
        if self.task.objective.trim().is_empty() {
            return Err(Error::input("the task has no objective")
                .at("task.objective", None)
                .expected("a text that says what to reach"));
        }
        if let Some(schema) = &self.response_schema {
            let size = schema.to_string().len();
            if !schema.is_object() || size > MAX_SCHEMA {
                let what =
                    format!("`response_schema` is no JSON Schema of at most {MAX_SCHEMA} bytes");
                return Err(Error::input(what)
                    .at("response_schema", None)
                    .expected("a mapping, as small as that"));
            }
        }
        for (field, text) in [
            ("task.objective", Some(&self.task.objective)),
            ("query", self.query.as_ref()),
        ] {
            let Some(text) = text else { continue };
            if text.trim().is_empty() {
                return Err(Error::input(format!("`{field}` is empty"))
                    .at(field, None)
                    .expected("some text, or leave it out"));
            }
            if text.len() > MAX_TEXT {
                return Err(Error::input(format!("`{field}` has {} bytes", text.len()))
                    .at(field, None)
                    .expected(format!("at most {MAX_TEXT}")));
            }
            if text.contains('\0') {
                return Err(Error::input(format!("`{field}` holds a NUL character"))
                    .at(field, None)
                    .expected("text"));
            }
        }
        if self.principal.tenant.trim().is_empty() {
            return Err(Error::new(ErrorKind::Policy, "the caller has no tenant")
                .expected("a tenant id")
                .hint("an unknown scope matches nothing"));
        }
        if self.budget.tokens == Some(0) {
            return Err(Error::input("the budget is 0 tokens")
                .at("budget.tokens", None)
                .expected("at least 1"));
        }
        for (field, gate) in [("gate", &self.gate), ("tools", &self.tools)] {
            let valid = gate.as_ref().map_or(Ok(()), |gate| gate.validate(field));
            valid.map_err(|error| error.or_at(field, None))?;
        }
        let valid = self.retrieval.as_ref().map_or(Ok(()), RetrievalPlan::validate);
        valid.map_err(|error| error.or_at("retrieval", None))?;
        Identities::check(&self.identities).map_err(|error| error.or_at("identities", None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_requests_say_where() {
        let error = Request::from_json("{\n  \"task\": {\"objectiv\": \"x\"}\n}").unwrap_err();
        assert_eq!(error.at.unwrap().line, Some(2));
        assert_eq!(error.hint.as_deref(), Some("did you mean `objective`?"));
        let lone = Request::from_json(r#"{"query": "\ud800"}"#).unwrap_err();
        assert!(lone.hint.unwrap().contains("pair"));
        let deep = format!("{{\"task\": {}", "[".repeat(200));
        assert!(Request::from_json(&deep).is_err());
        for budget in ["-1", "1e300", "99999999999", "\"many\""] {
            assert!(
                Request::from_json(&format!("{{\"budget\": {{\"tokens\": {budget}}}}}")).is_err()
            );
        }
    }
}
