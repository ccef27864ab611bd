//! The agent's tools that are offered. Where the policy has a gate for them, the epoch's choice replaces the agent's
//! list, in its order and byte for byte.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use serde_json::value::RawValue;
use tenure::trace::{Reason, Ruling};
use tenure::wire::Conversation;
use tenure::{Error, ObjectDocument};

use crate::sessions::SessionCompiled;

/// Tools that are not offered, each with the code of the reason.
pub(super) type OmittedTools = BTreeMap<String, &'static str>;

/// Takes tools out of the gate's reach that the provider itself keeps from the model until it looks for them.
pub(super) fn spare_deferred(conversation: &mut Conversation) {
    for tool in &mut conversation.tools {
        if is_deferred(tool) {
            tool.removable = Some(false);
        }
    }
}

fn is_deferred(tool: &ObjectDocument) -> bool {
    tool.wire
        .as_ref()
        .and_then(|wire| wire.message.as_deref())
        .and_then(|json| serde_json::from_str::<Value>(json).ok())
        .is_some_and(|fields| fields["defer_loading"] == true)
}

/// Returns whether tools are kept from the model until it searches for them, and a tool of the agent's own may be the
/// one that finds them: without it they would never be found, and a list of only such tools would be refused.
pub(super) fn are_looked_for(conversation: &Conversation) -> bool {
    let servers: Vec<Value> = conversation
        .server_tools
        .iter()
        .filter_map(|json| serde_json::from_str::<Value>(json).ok())
        .collect();
    let deferred = conversation.tools.iter().any(is_deferred) || servers.iter().any(defers);
    deferred
        && !servers.iter().any(|tool| {
            let kind = tool["type"].as_str();
            kind.is_some_and(|kind| kind.starts_with("tool_search"))
        })
}

/// Returns whether this or anything in it is deferred, as a provider's sets of tools have it.
fn defers(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(defers),
        Value::Object(fields) => {
            fields.get("defer_loading") == Some(&Value::Bool(true)) || fields.values().any(defers)
        }
        _ => false,
    }
}

/// The tools that the request's `tool_choice` names: without them it would be refused.
pub(super) fn named(conversation: &Conversation) -> BTreeSet<String> {
    let mut rest = conversation.rest.iter();
    let choice = rest
        .find(|(key, _)| key == "tool_choice")
        .and_then(|(_, json)| serde_json::from_str(json).ok());
    let mut names = BTreeSet::new();
    collect(&choice.unwrap_or(Value::Null), &mut names);
    names
}

fn collect(choice: &Value, names: &mut BTreeSet<String>) {
    match choice {
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Value::Object(fields) => {
            let name = fields.get("name").and_then(Value::as_str);
            names.extend(name.map(str::to_owned));
            fields.values().for_each(|value| collect(value, names));
        }
        _ => {}
    }
}

/// The agent's tools that a compile does not offer. The last `beside` verdicts of its trace are those of the side
/// context.
pub(super) fn left_out(compiled: &SessionCompiled, beside: usize) -> Result<OmittedTools, Error> {
    let verdicts = &compiled.outcome.single()?.trace.verdicts;
    let objects = compiled.gathered.candidates.objects();
    let own = verdicts.len().saturating_sub(beside);
    let mut left = OmittedTools::new();
    let mut stand = BTreeSet::new();
    for (object, verdict) in objects.iter().zip(verdicts).take(own) {
        match &verdict.reason {
            _ if object.revision().tool().is_none() => {}
            _ if verdict.verdict == Ruling::Included => drop(stand.insert(object.name())),
            reason @ (Reason::GatedOut { .. } | Reason::NextEpoch) => {
                left.insert(object.name().to_owned(), reason.code());
            }
            _ => {}
        }
    }
    left.retain(|name, _| !stand.contains(name.as_str()));
    Ok(left)
}

/// Returns whether the agent's list would be empty without these: such a list is refused.
pub(super) fn is_none_left(conversation: &Conversation, left: &OmittedTools) -> bool {
    let mut own = conversation.tools.iter();
    conversation.server_tools.is_empty() && own.all(|tool| left.contains_key(&tool.name))
}

/// The agent's list of tools without those that are left out.
pub(super) fn offered(conversation: &Conversation, list: &RawValue, left: &OmittedTools) -> String {
    let gone: BTreeSet<&str> = conversation
        .tools
        .iter()
        .filter(|tool| left.contains_key(&tool.name))
        .filter_map(|tool| tool.wire.as_ref()?.message.as_deref())
        .collect();
    let items: Vec<&RawValue> = serde_json::from_str(list.get()).unwrap_or_default();
    let stand: Vec<&str> = items
        .iter()
        .map(|item| item.get())
        .filter(|item| !gone.contains(item))
        .collect();
    format!("[{}]", stand.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::wire::{self, Format};

    fn read(format: Format, body: &Value) -> Conversation {
        wire::read(format, &body.to_string()).unwrap()
    }

    #[test]
    fn a_choice_names_tools_in_every_form() {
        let said = serde_json::json!([{ "role": "user", "content": "Hi." }]);
        let tool =
            |name: &str| serde_json::json!({ "type": "function", "function": { "name": name } });
        let named = |choice: Value| {
            let body = serde_json::json!({ "model": "m", "messages": said, "tool_choice": choice });
            let names = named(&read(Format::OpenAiChat, &body));
            names.into_iter().collect::<Vec<_>>()
        };
        for none in [
            serde_json::json!("auto"),
            serde_json::json!({ "type": "any" }),
        ] {
            assert!(named(none).is_empty());
        }
        assert_eq!(named(tool("a")), ["a"]);
        assert_eq!(
            named(serde_json::json!({ "type": "tool", "name": "a" })),
            ["a"]
        );
        let some = serde_json::json!({ "mode": "auto", "tools": [tool("b"), tool("a")] });
        let some = serde_json::json!({ "type": "allowed_tools", "allowed_tools": some });
        assert_eq!(named(some), ["a", "b"]);
    }

    #[test]
    fn what_stays_keeps_its_order_and_bytes() {
        let body = r#"{"model":"m","messages":[{"role":"user","content":"Hi."}],"tools":[ {"name": "a", "input_schema":{"type":"object"}}, {"type":"web_search_20250305","name":"web_search"},{"name":"b","input_schema":{"type":"object"} } ]}"#;
        let conversation = wire::read(Format::Anthropic, body).unwrap();
        let list = &body[body.find("[ {").unwrap()..body.len() - 1];
        let list = RawValue::from_string(list.to_owned()).unwrap();
        let left: OmittedTools = [("a".to_owned(), "gated_out")].into();
        let stand = r#"[{"type":"web_search_20250305","name":"web_search"},{"name":"b","input_schema":{"type":"object"} }]"#;
        assert_eq!(offered(&conversation, &list, &left), stand);
    }

    #[test]
    fn what_the_provider_defers_is_not_gated() {
        let mut conversation = read(
            Format::Anthropic,
            &serde_json::json!({
                "model": "m",
                "messages": [{ "role": "user", "content": "Hi." }],
                "tools": [
                    { "name": "a", "input_schema": {}, "defer_loading": true },
                    { "name": "b", "input_schema": {} },
                ],
            }),
        );
        spare_deferred(&mut conversation);
        let spared = conversation.tools.iter().map(|tool| tool.removable);
        assert_eq!(spared.collect::<Vec<_>>(), [Some(false), None]);
    }

    #[test]
    fn what_finds_deferred_tools_is_the_providers_or_anyones() {
        let looked_for = |tools: Value| {
            let said = serde_json::json!([{ "role": "user", "content": "Hi." }]);
            let body = serde_json::json!({ "model": "m", "messages": said, "tools": tools });
            are_looked_for(&read(Format::Anthropic, &body))
        };
        let plain = serde_json::json!({ "name": "find_tools", "input_schema": {} });
        let mut deferred = serde_json::json!({ "name": "a", "input_schema": {} });
        assert!(!looked_for(serde_json::json!([plain, deferred])));
        deferred["defer_loading"] = false.into();
        assert!(!looked_for(serde_json::json!([plain, deferred])));
        deferred["defer_loading"] = true.into();
        assert!(looked_for(serde_json::json!([plain, deferred])));
        let other = serde_json::json!({ "type": "web_search_20250305", "name": "web_search" });
        assert!(looked_for(serde_json::json!([plain, deferred, other])));
        let own = "tool_search_tool_bm25_20251119";
        let own = serde_json::json!({ "type": own, "name": "tool_search_tool_bm25" });
        assert!(!looked_for(serde_json::json!([plain, deferred, own])));
        let set = serde_json::json!({ "defer_loading": true });
        let set = serde_json::json!({ "type": "mcp_toolset", "mcp_server_name": "x", "default_config": set });
        assert!(looked_for(serde_json::json!([plain, set])));
        assert!(!looked_for(serde_json::json!([plain, set, own])));
    }
}
