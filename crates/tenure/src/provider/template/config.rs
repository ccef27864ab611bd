//! The source of a template and its tokens: a Jinja file, or a `tokenizer_config.json` that holds one.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::marks::{Marks, tag};
use crate::base::error::Error;
use crate::base::error::json_error;

/// The name of the file, for errors.
const CONFIG: &str = "tokenizer_config.json";

/// The tokens of a tokenizer's configuration.
#[derive(Debug, Default)]
pub(super) struct Config {
    /// The tokens that templates name: `bos_token`, `eos_token` and the like.
    pub(super) tokens: BTreeMap<String, String>,
    pub(super) marks: Marks,
}

/// Returns whether the text is JSON rather than Jinja, whose blocks open with a brace, too.
pub(super) fn is_json(text: &str) -> bool {
    let rest = text.trim_start().strip_prefix('{');
    rest.is_some_and(|rest| rest.trim_start().starts_with(['"', '}']))
}

/// Reads a `tokenizer_config.json`; gives the template that stands in it, if one does.
pub(super) fn read(text: &str) -> Result<(Option<String>, Config), Error> {
    let fields: Map<String, Value> =
        serde_json::from_str(text).map_err(|error| json_error(&error, CONFIG))?;
    let mut config = Config::default();
    for (name, value) in &fields {
        if name.ends_with("_token")
            && let Some(token) = token(value)
        {
            config.marks.add(&token);
            config.tokens.insert(name.clone(), token);
        } else if name.ends_with("_token") && value.is_null() {
            // The tokenizer has none, and says so.
            config.tokens.insert(name.clone(), String::new());
        }
    }
    for name in ["additional_special_tokens", "extra_special_tokens"] {
        match fields.get(name) {
            Some(Value::Array(more)) => {
                let more = more.iter().filter_map(token);
                more.for_each(|token| config.marks.add(&token));
            }
            // Each with the name that templates know it by.
            Some(Value::Object(more)) => {
                for (name, value) in more {
                    if let Some(token) = token(value) {
                        config.marks.add(&token);
                        config.tokens.entry(name.clone()).or_insert(token);
                    }
                }
            }
            _ => {}
        }
    }
    let added = fields.get("added_tokens_decoder").and_then(Value::as_object);
    for entry in added.into_iter().flat_map(Map::values) {
        if let Some(content) = token(entry) {
            // Whatever has the form of a tag is read as one, special or not.
            let is_special = entry.get("special").and_then(Value::as_bool) == Some(true);
            if is_special || tag(&content) == Some(content.as_str()) {
                config.marks.add(&content);
            }
        }
    }
    Ok((template(fields.get("chat_template"))?, config))
}

/// A token: its text, or an object that holds it.
fn token(value: &Value) -> Option<String> {
    let text = value.as_str().or_else(|| value.get("content")?.as_str())?;
    Some(text.to_owned())
}

/// The template: a text, or of several the one named `default`.
fn template(field: Option<&Value>) -> Result<Option<String>, Error> {
    match field {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(source)) => Ok(Some(source.clone())),
        Some(Value::Array(several)) => {
            let source = several
                .iter()
                .find(|entry| entry.get("name").and_then(Value::as_str) == Some("default"))
                .and_then(|entry| entry.get("template")?.as_str())
                .ok_or_else(|| {
                    Error::input("none of the chat templates is named `default`")
                        .at(CONFIG, None)
                        .hint("give the one that you want as a file of its own")
                })?;
            Ok(Some(source.to_owned()))
        }
        Some(_) => Err(Error::input("`chat_template` is not a template")
            .at(CONFIG, None)
            .expected("a text, or a list of templates with names")),
    }
}
