//! A language model behind an OpenAI-compatible endpoint (`POST …/chat/completions`) that gets a task and data, and
//! answers in words.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tenure::Error;

use crate::openai::Api;

/// The most bytes of an answer; what a model thinks before it speaks may be in it.
const MAX_ANSWER: usize = 1 << 20;
/// Keys that a request's body has anyway.
const OWN_KEYS: [&str; 3] = ["model", "messages", "stream"];

/// A model, what it is told, and what else stands in a request.
pub(crate) struct Chat {
    pub(crate) api: Api,
    model: String,
    task: String,
    more: Map<String, Value>,
}

#[derive(Serialize)]
struct Body<'b> {
    model: &'b str,
    messages: [Message<'b>; 2],
    #[serde(flatten)]
    more: &'b Map<String, Value>,
}

#[derive(Serialize)]
struct Message<'m> {
    role: &'static str,
    content: &'m str,
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Said,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
}

impl Chat {
    /// The path of its endpoint, below the URL of an API.
    pub(crate) const PATH: &str = "chat/completions";

    /// A model of this name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) where the name is empty, or `more` sets what is always set.
    pub(crate) fn new(
        api: Api,
        model: String,
        task: String,
        more: Map<String, Value>,
    ) -> Result<Chat, Error> {
        if model.trim().is_empty() {
            return Err(
                Error::input("`model` is empty").expected("the name that the endpoint knows")
            );
        }
        if let Some(key) = OWN_KEYS.iter().find(|key| more.contains_key(**key)) {
            return Err(
                Error::input(format!("`body` has `{key}`, which is always set"))
                    .expected("other parts of a request, such as `temperature`"),
            );
        }
        Ok(Chat {
            api,
            model,
            task,
            more,
        })
    }

    /// Returns the request about this data, and the most bytes of its answer.
    pub(crate) fn body(&self, data: &Value) -> Result<(Vec<u8>, usize), Error> {
        let data = data.to_string();
        let message = |role, content| Message { role, content };
        let body = Body {
            model: &self.model,
            messages: [message("system", &self.task), message("user", &data)],
            more: &self.more,
        };
        let body = serde_json::to_vec(&body).map_err(|error| self.api.failed(error))?;
        Ok((body, MAX_ANSWER))
    }

    /// Returns the words of an answer.
    pub(crate) fn said(&self, answer: &[u8]) -> Result<String, Error> {
        let answer: Completion = serde_json::from_slice(answer).map_err(|error| {
            self.api
                .failed(format!("an answer that cannot be read: {error}"))
                .expected("`{\"choices\": [{\"message\": {\"content\": \"…\"}}]}`")
        })?;
        let said = answer.choices.into_iter().next();
        Ok(said.and_then(|choice| choice.message.content).unwrap_or_default())
    }
}

impl fmt::Debug for Chat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:?}", self.model, self.api)
    }
}
