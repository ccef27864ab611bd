//! Requests that end with the model's own words: its answer is begun already (a prefill, a turn that was paused) and
//! goes on from there. The prefill belongs to the request and joins the history together with the answer, so nothing
//! stands behind it. Earlier words of the model are history like any other.

use serde::Deserialize;
use serde_json::value::RawValue;
use tenure::object::Role;
use tenure::wire::{self, Conversation, Entry};
use tenure::{Error, World, cache};

use super::{Relaying, compose};

/// The message, or the items of one turn, that an answer is begun with.
#[derive(Debug)]
pub(super) struct Prefill(Entry);

impl Prefill {
    /// Takes the last message out of a conversation, where it is the model's.
    pub(super) fn take(conversation: &mut Conversation) -> Option<Prefill> {
        conversation.entries.pop_if(|last| is_models(last)).map(Prefill)
    }

    /// The message, as it came.
    pub(super) fn message(&self) -> &str {
        &self.0.message
    }

    /// Its cost, at most, in tokens.
    pub(super) fn price(&self, world: &World) -> u32 {
        world.price(self.message())
    }

    /// A body with it behind its messages; without cache marks, where the agent's were replaced.
    pub(super) fn behind(
        &self,
        asked: &Relaying<'_>,
        conversation: &Conversation,
        body: &str,
    ) -> Result<String, Error> {
        let mut prefill = format!("[{}]", self.message());
        if compose::marks_anew(asked, conversation) {
            prefill = cache::strip(asked.format, &prefill)?;
        }
        let list = compose::messages(body)?.get();
        let before = list.trim_end().strip_suffix(']').unwrap_or(list);
        let is_first = before.trim_end().ends_with('[');
        let comma = if is_first { "" } else { "," };
        let messages = format!("{before}{comma}{}", prefill.trim_start_matches('['));
        wire::with_fields(body, &[(compose::field(asked.format), &messages)])
    }
}

/// A message of Anthropic's and the reply that goes on from it, as one message. None where they cannot be read.
pub(super) fn joined(prefill: &str, reply: &str) -> Option<String> {
    let [prefill, answer] =
        [prefill, reply].map(|json| serde_json::from_str::<ModelMessage<'_>>(json).ok());
    let (mut blocks, mut answer) = (prefill?.blocks()?, answer?.blocks()?);
    if let (Some(last), Some(first)) = (blocks.last_mut(), answer.first())
        && let (Some(said), Some(more)) = (text_of(last), text_of(first))
    {
        let text = serde_json::Value::from(said + &more).to_string();
        *last = wire::with_fields(last, &[("text", &text)]).ok()?;
        answer.remove(0);
    }
    blocks.append(&mut answer);
    let content = format!("[{}]", blocks.join(","));
    wire::with_fields(reply, &[("content", &content)]).ok()
}

/// Returns whether the model says it.
fn is_models(entry: &Entry) -> bool {
    let mut said = entry.objects.iter();
    said.any(|object| object.role == Some(Role::Assistant))
}

/// A message of Anthropic's.
#[derive(Deserialize)]
struct ModelMessage<'m> {
    #[serde(borrow)]
    content: &'m RawValue,
}

impl ModelMessage<'_> {
    /// Its blocks: one where it is a bare text.
    fn blocks(&self) -> Option<Vec<String>> {
        let json = self.content.get();
        if json.starts_with('"') {
            return Some(vec![format!("{{\"type\":\"text\",\"text\":{json}}}")]);
        }
        let blocks: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        Some(blocks.iter().map(|block| block.get().to_owned()).collect())
    }
}

/// The text of a block that is nothing else.
fn text_of(block: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Block {
        r#type: String,
        text: String,
    }
    let block: Block = serde_json::from_str(block).ok()?;
    (block.r#type == "text").then_some(block.text)
}

#[cfg(test)]
mod tests {
    use tenure::wire::Format;

    use super::*;

    #[test]
    fn what_the_model_says_last_is_no_part_of_the_history() {
        let user = r#"{"role":"user","content":"Name it."}"#;
        let said = r#"{"role": "assistant",  "content":"It is "}"#;
        let take = |format, messages: &[&str]| {
            let body = format!("[{}]", messages.join(","));
            let mut conversation = wire::read(format, &body).unwrap();
            let prefill =
                Prefill::take(&mut conversation).map(|prefill| prefill.message().to_owned());
            (conversation.entries.len(), prefill)
        };
        let chat = |messages: &[&str]| take(Format::OpenAiChat, messages);
        let prefill = |stay: usize| (stay, Some(said.to_owned()));
        assert_eq!(chat(&[user, said]), prefill(1));
        // What the model said before is history.
        assert_eq!(chat(&[user, said, said, said]), prefill(3));
        assert_eq!(chat(&[said]), prefill(0));
        assert_eq!(chat(&[said, user]), (2, None));
        assert_eq!(chat(&[]), (0, None));
        // The items of one turn.
        let items = [
            r#"{"type":"reasoning","id":"r","summary":[]}"#,
            r#"{"role":"assistant","content":"It is "}"#,
        ];
        let found = take(Format::OpenAiResponses, &[user, items[0], items[1]]);
        assert_eq!(found, (1, Some(items.join(","))));
    }

    #[test]
    fn a_reply_is_joined_to_what_it_goes_on_from() {
        let prefill = |content: &str| format!(r#"{{"role":"assistant","content":{content}}}"#);
        let call = r#"{"type":"tool_use","id":"c","name":"n","input":{"n":1.50}}"#;
        let text = |text: &str| format!(r#"{{"type":"text","text":{text}}}"#);
        let reply = prefill(&format!("[{},{call}]", text(r#""é 1""#)));
        let all = |blocks: &[&str]| Some(prefill(&format!("[{}]", blocks.join(","))));
        let both = text(r#""It \"is\" é 1""#);
        for bare in [r#""It \"is\" ""#, &format!("[{}]", text(r#""It \"is\" ""#))] {
            assert_eq!(joined(&prefill(bare), &reply), all(&[&both, call]));
        }
        // A turn that was paused: nothing of it is lost.
        let thought = r#"{"type":"thinking","thinking":"hm","signature":"s"}"#;
        let paused = prefill(&format!("[{thought},{call}]"));
        let after = text(r#""é 1""#);
        assert_eq!(joined(&paused, &reply), all(&[thought, call, &after, call]));
        let spoke = prefill(&format!("[{thought},{}]", text(r#""It \"is\" ""#)));
        assert_eq!(joined(&spoke, &reply), all(&[thought, &both, call]));
        assert_eq!(joined(&prefill("[]"), &reply), Some(reply.clone()));
        for other in ["no JSON", r#"{"content":7}"#, "{}"] {
            assert_eq!(joined(other, &reply), None);
            assert_eq!(joined(&paused, other), None);
        }
    }
}
