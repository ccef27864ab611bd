//! Marks of a cache in a message. They say where the request's prefixes end, so they are the request's:
//! kept in a message they would pile up, one for each turn, and the bytes would change when they move.

use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{JsonPath, is_list};

const MARKS: [&str; 2] = ["cache_control", "prompt_cache_breakpoint"];

/// The depth of blocks: in a message's content, and in a result's there.
const DEPTH: u32 = 3;

/// Returns the JSON without marks in it or its blocks; all else byte for byte.
pub(super) fn without(json: &str) -> String {
    let list = format!("[{json}]");
    let values: Vec<&RawValue> = serde_json::from_str(&list).unwrap_or_default();
    let stripped: Vec<String> = values.into_iter().map(|value| strip(value, DEPTH)).collect();
    stripped.join(",")
}

fn strip(value: &RawValue, depth: u32) -> String {
    let json = value.get();
    if depth == 0 || !MARKS.iter().any(|mark| json.contains(mark)) {
        return json.to_owned();
    }
    let place = JsonPath::new("message");
    if is_list(value) {
        let values: Vec<String> = place
            .list(value)
            .unwrap_or_default()
            .into_iter()
            .map(|value| strip(value, depth))
            .collect();
        return format!("[{}]", values.join(","));
    }
    let Ok(fields) = place.fields(value) else {
        return json.to_owned();
    };
    let kept = fields.iter().filter(|(key, _)| !MARKS.contains(key)).map(|(key, value)| {
        let value = match key {
            "content" | "output" => strip(value, depth - 1),
            _ => value.get().to_owned(),
        };
        format!("{}:{value}", Value::from(key))
    });
    format!("{{{}}}", kept.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_nothing_else_changes() {
        let json = r#"{"role":"user","content":[{"type":"text", "text":"cache_control 1.0","cache_control":{"type":"ephemeral"}},{"type":"text",  "text":"b"},{"type":"tool_result","content":[{"text":"x","cache_control":{}}]}]}"#;
        let bare = r#"{"role":"user","content":[{"type":"text","text":"cache_control 1.0"},{"type":"text",  "text":"b"},{"type":"tool_result","content":[{"text":"x"}]}]}"#;
        assert_eq!(without(json), bare);
        assert_eq!(
            without("{\"cache_control\": 1 , \"name\":7}"),
            "{\"name\":7}"
        );
        assert_eq!(without("{\"a\" : 1}, {\"b\":2}"), "{\"a\" : 1},{\"b\":2}");
    }
}
