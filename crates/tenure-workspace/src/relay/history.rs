//! Detection of requests whose provider manages the history itself, by the dated data of `history.toml`.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;
use tenure::Error;

use super::Unmanaged;

/// The fields by which providers keep or edit histories.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "dated")]
    _dated: String,
    fields: BTreeMap<String, Field>,
}

/// A field of a request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    does: Does,
    /// The values, or the edits of a list, that remove nothing.
    #[serde(default)]
    harmless: Vec<Value>,
    /// The key under which an object holds a list of edits.
    list: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Does {
    Keeps,
    Edits,
}

impl Table {
    fn builtin() -> Result<&'static Table, Error> {
        static BUILTIN: OnceLock<Table> = OnceLock::new();
        if let Some(table) = BUILTIN.get() {
            return Ok(table);
        }
        let table = toml::from_str(include_str!("history.toml")).map_err(|error| {
            Error::assertion(format!("the fields of histories: {}", error.message()))
        })?;
        Ok(BUILTIN.get_or_init(|| table))
    }
}

impl Field {
    fn is_harmless(&self, value: &Value) -> bool {
        if value.is_null() || self.harmless.contains(value) {
            return true;
        }
        let Some(list) = &self.list else {
            return false;
        };
        match value {
            Value::Array(edits) => self.removes_nothing(edits),
            Value::Object(fields) => fields.iter().all(|(key, value)| match value {
                _ if key != list => false,
                Value::Null => true,
                Value::Array(edits) => self.removes_nothing(edits),
                _ => false,
            }),
            _ => false,
        }
    }

    fn removes_nothing(&self, edits: &[Value]) -> bool {
        edits.iter().all(|edit| self.harmless.contains(edit))
    }
}

/// The reason why a request's provider manages its history, if it does, by the fields next to its messages.
pub(super) fn provider_owns(rest: &[(String, String)]) -> Result<Option<Unmanaged>, Error> {
    let table = Table::builtin()?;
    let mut found = None;
    for (key, json) in rest {
        let Some(field) = table.fields.get(key) else {
            continue;
        };
        let value = serde_json::from_str(json).ok();
        if value.is_some_and(|value| field.is_harmless(&value)) {
            continue;
        }
        match field.does {
            // What is not in the request at all weighs more than what will be taken out of it.
            Does::Keeps => return Ok(Some(Unmanaged::ProviderKeepsHistory)),
            Does::Edits => found = Some(Unmanaged::ProviderEditsHistory),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owns(key: &str, json: &str) -> Option<Unmanaged> {
        provider_owns(&[(key.to_owned(), json.to_owned())]).unwrap()
    }

    #[test]
    fn edits_that_remove_nothing_leave_the_history_to_the_gateway() {
        for json in [
            r#"{"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}"#,
            r#"{"edits": [{"keep": {"type": "all"}, "type": "clear_thinking_20251015"}]}"#,
            r#"{"edits": []}"#,
            r#"{"edits": null}"#,
            "{}",
            "[]",
            "null",
        ] {
            assert_eq!(owns("context_management", json), None, "{json}");
        }
        assert_eq!(owns("truncation", "\"disabled\""), None);
        assert_eq!(owns("previous_response_id", "null"), None);
        assert_eq!(owns("metadata", "{}"), None);
    }

    #[test]
    fn all_other_edits_leave_it_to_the_provider() {
        let keep = r#"{"type": "clear_thinking_20251015", "keep": "all"}"#;
        for json in [
            r#"{"edits": [{"type": "clear_tool_uses_20250919"}]}"#.to_owned(),
            r#"{"edits": [{"type": "compact_20260112"}]}"#.to_owned(),
            r#"{"edits": [{"type": "clear_thinking_20251015", "keep": {"type": "thinking_turns", "value": 2}}]}"#.to_owned(),
            r#"{"edits": [{"type": "clear_thinking_20251015", "keep": {"type": "all", "value": 2}}]}"#.to_owned(),
            // How much it keeps where it does not say so is up to the model.
            r#"{"edits": [{"type": "clear_thinking_20251015"}]}"#.to_owned(),
            r#"{"edits": [{"type": "clear_thinking_20270101", "keep": "all"}]}"#.to_owned(),
            format!(r#"{{"edits": [{keep}, {{"type": "clear_tool_uses_20250919"}}]}}"#),
            format!(r#"{{"edits": [{keep}], "more": 1}}"#),
            format!(r#"{{"edits": {keep}}}"#),
            r#"{"edits": [null]}"#.to_owned(),
            r#"{"edits": [7]}"#.to_owned(),
            r#"{"edits": "none"}"#.to_owned(),
            r#"[{"type": "compaction", "compact_threshold": 1000}]"#.to_owned(),
            "[[]]".to_owned(),
            "false".to_owned(),
            "0".to_owned(),
            "\"all\"".to_owned(),
            format!("{}{}", "[".repeat(500), "]".repeat(500)),
        ] {
            let found = owns("context_management", &json);
            assert_eq!(found, Some(Unmanaged::ProviderEditsHistory), "{json}");
        }
        let edits = Some(Unmanaged::ProviderEditsHistory);
        assert_eq!(owns("truncation", "\"auto\""), edits);
        assert_eq!(owns("truncation", "7"), edits);
    }

    #[test]
    fn a_history_that_the_provider_keeps_is_not_here_at_all() {
        let keeps = Some(Unmanaged::ProviderKeepsHistory);
        assert_eq!(owns("previous_response_id", "\"resp_1\""), keeps);
        assert_eq!(owns("conversation", r#"{"id": "conv_1"}"#), keeps);
        let both = [("truncation", "\"auto\""), ("conversation", "\"conv_1\"")]
            .map(|(key, json)| (key.to_owned(), json.to_owned()));
        assert_eq!(provider_owns(&both).unwrap(), keeps);
    }
}
