//! Requests that end with the model's own words: its answer is begun already (a prefill) and goes on from there.
//! What it is begun with is the request's and no part of the history, which the finished answer joins; so nothing
//! stands behind it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use tenure::object::Role;
use tenure::wire::{self, Conversation, Entry, Format};
use tenure::{Error, World};

use super::compose;

/// What an answer is begun with.
#[derive(Debug)]
pub(super) struct Begun(Vec<Entry>);

impl Begun {
    /// Takes the last messages, as far as they are the model's, out of a conversation.
    pub(super) fn take(conversation: &mut Conversation) -> Option<Begun> {
        let entries = &mut conversation.entries;
        let others = entries.iter().rposition(|entry| !is_models(entry));
        let begun = entries.split_off(others.map_or(0, |last| last + 1));
        (!begun.is_empty()).then_some(Begun(begun))
    }

    /// What it costs, at most, in tokens.
    pub(super) fn price(&self, world: &World) -> u32 {
        let prices = self.0.iter().map(|entry| world.price(&entry.message));
        prices.fold(0, u32::saturating_add)
    }

    /// A body with it behind its messages.
    pub(super) fn behind(&self, format: Format, body: &str) -> Result<String, Error> {
        let begun: Vec<&str> = self.0.iter().map(|entry| entry.message.as_str()).collect();
        let begun = begun.join(",");
        let before = compose::messages(body)?.get();
        let before = before.trim_end().strip_suffix(']').unwrap_or(before);
        let comma = if before.trim_end().ends_with('[') {
            ""
        } else {
            ","
        };
        let messages = format!("{before}{comma}{begun}]");
        wire::with_fields(body, &[(compose::field(format), &messages)])
    }

    /// The text that the provider's reply goes on from, where agents then say both as one message.
    pub(super) fn text(&self) -> Option<String> {
        let [
            Entry {
                format: Format::Anthropic,
                message,
                ..
            },
        ] = self.0.as_slice()
        else {
            return None;
        };
        let said: Said<'_> = serde_json::from_str(message).ok()?;
        match said.blocks() {
            None => serde_json::from_str(said.content.get()).ok(),
            Some(blocks) => match blocks.as_slice() {
                [block] => text_of(block),
                _ => None,
            },
        }
    }
}

/// A provider's reply as agents say it: with what it goes on from. As it came where it does not begin with a text.
pub(super) fn finished<'m>(begun: &str, reply: &'m str) -> Cow<'m, str> {
    let joined = || -> Option<String> {
        let said: Said<'_> = serde_json::from_str(reply).ok()?;
        let blocks = said.blocks()?;
        let (first, rest) = blocks.split_first()?;
        let text = serde_json::Value::from(format!("{begun}{}", text_of(first)?)).to_string();
        let first = wire::with_fields(first.get(), &[("text", &text)]).ok()?;
        let rest = rest.iter().map(|block| block.get());
        let content: Vec<&str> = std::iter::once(first.as_str()).chain(rest).collect();
        let content = format!("[{}]", content.join(","));
        wire::with_fields(reply, &[("content", &content)]).ok()
    };
    joined().map_or(Cow::Borrowed(reply), Cow::Owned)
}

/// Whether the model says it.
fn is_models(entry: &Entry) -> bool {
    let mut said = entry.objects.iter();
    said.any(|object| object.role == Some(Role::Assistant))
}

/// A message of Anthropic's.
#[derive(Deserialize)]
struct Said<'m> {
    #[serde(borrow)]
    content: &'m RawValue,
}

impl<'m> Said<'m> {
    /// Its blocks; none where it is a bare text.
    fn blocks(&self) -> Option<Vec<&'m RawValue>> {
        serde_json::from_str(self.content.get()).ok()
    }
}

/// The text of a block that is nothing else.
fn text_of(block: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Block {
        r#type: String,
        text: String,
    }
    let block: Block = serde_json::from_str(block.get()).ok()?;
    (block.r#type == "text").then_some(block.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(format: Format, body: &str) -> (Conversation, Option<Begun>) {
        let mut conversation = wire::read(format, body).unwrap();
        let begun = Begun::take(&mut conversation);
        (conversation, begun)
    }

    #[test]
    fn what_the_model_says_last_is_no_part_of_the_history() {
        let user = r#"{"role":"user","content":"Name it."}"#;
        let said = r#"{"role": "assistant",  "content":"It is "}"#;
        let of =
            |messages: &[&str]| begun(Format::OpenAiChat, &format!("[{}]", messages.join(",")));
        for (messages, stay) in [
            (&[user, said][..], 1),
            (&[user, said, user, said, said], 3),
            (&[said], 0),
        ] {
            let (conversation, begun) = of(messages);
            let begun = begun.unwrap();
            assert_eq!(conversation.entries.len(), stay);
            let behind = begun.behind(Format::OpenAiChat, r#"{"n":1.50,"messages": [7 ] }"#);
            let begins = messages[stay..].join(",");
            let expected = format!(r#"{{"n":1.50,"messages": [7 ,{begins}] }}"#);
            assert_eq!(behind.unwrap(), expected);
            let alone = begun.behind(Format::OpenAiChat, r#"{"messages":[ ]}"#);
            assert_eq!(alone.unwrap(), format!(r#"{{"messages":[ {begins}]}}"#));
        }
        for messages in [&[][..], &[user], &[said, user]] {
            assert!(of(messages).1.is_none());
        }
        // The items of one turn.
        let items = r#"[{"role":"user","content":"x"},{"type":"reasoning","id":"r","summary":[]},{"role":"assistant","content":"It is "}]"#;
        let (conversation, begun) = begun(Format::OpenAiResponses, items);
        assert_eq!(conversation.entries.len(), 1);
        let body = begun
            .unwrap()
            .behind(Format::OpenAiResponses, r#"{"input":[1]}"#);
        let end = r#"[1,{"type":"reasoning","id":"r","summary":[]},{"role":"assistant","content":"It is "}]"#;
        assert!(body.unwrap().contains(end));
    }

    #[test]
    fn a_reply_is_joined_to_what_it_goes_on_from() {
        let text = |format, content: &str| {
            let body = format!(
                r#"[{{"role":"user","content":"x"}},{{"role":"assistant","content":{content}}}]"#
            );
            begun(format, &body).1.unwrap().text()
        };
        let bare = text(Format::Anthropic, r#""It \u00e9""#);
        assert_eq!(bare.as_deref(), Some("It é"));
        let block = text(Format::Anthropic, r#"[{"type":"text","text":"It"}]"#);
        assert_eq!(block.as_deref(), Some("It"));
        for content in [
            r#"[]"#,
            r#"[{"type":"text","text":"a"},{"type":"text","text":"b"}]"#,
            r#"[{"type":"tool_use","id":"c","name":"n","input":{}}]"#,
        ] {
            assert_eq!(text(Format::Anthropic, content), None, "{content}");
        }
        // Others answer in a message of its own.
        assert_eq!(text(Format::OpenAiChat, r#""It is ""#), None);

        let reply = r#"{"role":"assistant","content":[{"type":"text","text":"é 1"},{"type":"tool_use","id":"c","name":"n","input":{"n":1.50}}]}"#;
        assert_eq!(
            finished("It \"is\" ", reply),
            r#"{"role":"assistant","content":[{"type":"text","text":"It \"is\" é 1"},{"type":"tool_use","id":"c","name":"n","input":{"n":1.50}}]}"#
        );
        for other in [
            r#"{"role":"assistant","content":"1"}"#,
            r#"{"role":"assistant","content":[]}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":""}]}"#,
            "no JSON",
        ] {
            assert_eq!(finished("It is ", other), other);
        }
    }
}
