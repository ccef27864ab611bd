//! A message without some of its blocks.

use serde_json::value::RawValue;

use super::json::{JsonPath, is_list, with_fields};
use super::read::parse_one;
use super::{Entry, Format, Wire};
use crate::base::digest::Digest;
use crate::object::{ObjectDocument, ObjectType, Protection};

/// The blocks of Anthropic's messages that hold reasoning.
const REASONING: [&str; 2] = ["thinking", "redacted_thinking"];

impl Entry {
    /// The message without the model's reasoning, every other block byte for byte; `None` where it has none. A message
    /// of reasoning alone keeps no objects: a provider takes no empty message.
    ///
    /// Anthropic binds reasoning to everything before it on some models
    /// ([`MessageRules::bound_reasoning`](crate::provider::catalogue::MessageRules::bound_reasoning)), and refuses a
    /// request in which that changed. Reasoning may be left out whole; edited, it is refused as well.
    #[must_use]
    pub fn without_reasoning(&self) -> Option<Entry> {
        let reasons = self.opaque.iter().any(|kind| REASONING.contains(&&**kind));
        reasons.then(|| self.without(&REASONING, self.objects.clone()))?
    }

    /// The message without the results of tools, every other block byte for byte; `None` where it has none, or its
    /// provider has messages of their own for them.
    #[must_use]
    pub fn without_results(&self) -> Option<Entry> {
        let (results, others): (Vec<_>, Vec<_>) = self
            .objects
            .iter()
            .cloned()
            .partition(|object| object.object_type == Some(ObjectType::ToolResult));
        (!results.is_empty()).then(|| self.without(&["tool_result"], others))?
    }

    /// The message without the blocks of these kinds, whose objects are these.
    fn without(&self, kinds: &[&str], mut objects: Vec<ObjectDocument>) -> Option<Entry> {
        let wire = self.objects.first()?.wire.as_ref()?;
        if wire.format != Format::Anthropic {
            return None;
        }
        let message = without_blocks(wire.message.as_deref()?, kinds)?;
        let parsed = parse_one(wire.format, &message).ok()?;
        let verbatim = parsed.signed || !parsed.opaque.is_empty();
        let digest = Digest::of(message.as_bytes());
        if parsed.faults.contains(&"empty_content") {
            objects.clear();
        }
        let parts = objects.len() as u32;
        for (part, object) in (0u32..).zip(&mut objects) {
            object.protection = verbatim.then_some(Protection::Verbatim);
            object.wire = Some(Wire {
                digest,
                format: wire.format,
                message: (part == 0).then(|| message.clone()),
                part,
                parts,
            });
        }
        Some(Entry {
            format: wire.format,
            message,
            objects,
            signed: parsed.signed,
            opaque: parsed.opaque,
            faults: parsed.faults,
        })
    }
}

/// A message of Anthropic's without its blocks of these kinds.
fn without_blocks(message: &str, kinds: &[&str]) -> Option<String> {
    let place = JsonPath::new("message");
    let raw: &RawValue = serde_json::from_str(message).ok()?;
    let fields = place.fields(raw).ok()?;
    let content = fields.get("content").filter(|content| is_list(content))?;
    let mut kept = Vec::new();
    for block in place.list(content).ok()? {
        let kind = place.needed(&place.fields(block).ok()?, "type").ok()?;
        if !kinds.contains(&&*kind) {
            kept.push(block.get());
        }
    }
    with_fields(message, &[("content", &format!("[{}]", kept.join(",")))]).ok()
}

#[cfg(test)]
mod tests {
    use super::super::read_message;
    use super::*;

    const THOUGHT: &str = r#"{"type":"thinking","thinking":"Hm.","signature":"s1"}"#;

    fn parse(blocks: &str) -> Entry {
        let message = format!(r#"{{"role": "assistant",  "content":[{blocks}]}}"#);
        read_message(Format::Anthropic, &message).unwrap()
    }

    #[test]
    fn reasoning_goes_and_nothing_else_changes() {
        let call = r#"{"type":"tool_use","id":"a","name":"look","input":{"n": 1.50}}"#;
        let text = r#"{"type":"text",  "text":"I look."}"#;
        let whole = parse(&format!("{THOUGHT},{text},{call}"));
        let bare = whole.without_reasoning().unwrap();
        assert_eq!(
            bare.message,
            format!(r#"{{"role": "assistant",  "content":[{text},{call}]}}"#)
        );
        assert!(whole.signed && !bare.signed && bare.opaque.is_empty());
        // What it says is the same, and its objects still agree with their message.
        let (was, is) = (&whole.objects[0], &bare.objects[0]);
        assert_eq!(
            (&was.content, &was.tool_calls),
            (&is.content, &is.tool_calls)
        );
        assert_eq!(is.protection, None);
        is.clone().seal().unwrap();
        assert_eq!(bare.without_reasoning(), None);
    }

    #[test]
    fn what_is_only_reasoning_is_left_out() {
        let hidden = r#"{"type":"redacted_thinking","data":"xx"}"#;
        let bare = parse(&format!("{THOUGHT},{hidden}")).without_reasoning();
        assert!(bare.unwrap().objects.is_empty());
        assert_eq!(
            parse(r#"{"type":"text","text":"Hm."}"#).without_reasoning(),
            None
        );
    }

    #[test]
    fn results_go_and_what_the_user_says_with_them_stays() {
        let result = r#"{"type":"tool_result","tool_use_id":"a","content":"x"}"#;
        let image =
            r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aa"}}"#;
        let text = r#"{"type":"text", "text":"Stop, and look at this."}"#;
        let read = |blocks: &str| {
            let message = format!(r#"{{"role":"user","content":[{blocks}]}}"#);
            read_message(Format::Anthropic, &message).unwrap()
        };
        let whole = read(&format!("{result},{text},{image}"));
        let kept = whole.without_results().unwrap();
        assert_eq!(
            kept.message,
            format!(r#"{{"role":"user","content":[{text},{image}]}}"#)
        );
        assert_eq!(kept.objects.len(), 1);
        kept.objects[0].clone().seal().unwrap();
        assert!(read(result).without_results().unwrap().objects.is_empty());
        assert_eq!(read(text).without_results(), None);
    }
}
