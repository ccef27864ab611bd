//! ShareGPT's conversations: turns with `from` and `value`, as data sets have them.

use serde_json::value::RawValue;
use tenure::Error;
use tenure::object::Role;

use super::turns::{Block, Turns, arguments, said};
use super::{Finding, Items, Object, Placed, Read, Remarks, list};

/// Returns whether an item is such a turn, or a conversation of them.
pub(super) fn is_turn(item: &Object<'_>) -> bool {
    let is_held = |turns: Vec<&RawValue>| {
        let first = turns.into_iter().next().and_then(Object::of);
        first.is_some_and(|turn| turn.has("from"))
    };
    item.has("from") && item.has("value")
        || ["conversations", "conversation"]
            .iter()
            .any(|key| item.list(key).is_some_and(is_held))
}

/// Reads the turns.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there are several conversations.
pub(super) fn read(items: &Items<'_>) -> Result<Read, Error> {
    let (mut turns, mut remarks) = (Turns::default(), Remarks::default());
    for line in &items.broken {
        remarks.add(*line, "line", Finding::Broken);
    }
    let several: Vec<&Placed<'_>> = items
        .all
        .iter()
        .filter(|(_, value)| {
            Object::of(value)
                .as_ref()
                .is_some_and(|item| item.has("conversations") || item.has("conversation"))
        })
        .collect();
    let (around, all) = match several.as_slice() {
        [] => (None, items.all.clone()),
        [(line, only)] => {
            let around = Object::of(only);
            let turns = around
                .as_ref()
                .and_then(|around| around.list("conversations").or(around.list("conversation")));
            (
                around,
                turns.unwrap_or_default().into_iter().map(|turn| (*line, turn)).collect(),
            )
        }
        several => {
            return Err(
                Error::input(format!("there are {} conversations", several.len()))
                    .at("", several.get(1).map(|(line, _)| *line))
                    .expected("one, which becomes a session")
                    .hint("write each into a file of its own"),
            );
        }
    };
    let around = around.as_ref().or(items.around.as_ref());
    if let Some(system) = around.and_then(|around| around.text_of(&["system", "system_prompt"])) {
        let line = all.first().map_or(1, |(line, _)| *line);
        turns.add(line, Role::System, said(Some(system)).into_iter().collect());
    }
    let mut calls = Calls::default();
    for (line, value) in all {
        let turn = Object::of(value);
        let from = turn.as_ref().and_then(|turn| turn.text("from"));
        let words = turn.as_ref().and_then(|turn| turn.text("value"));
        let (Some(from), Some(words)) = (from, words) else {
            remarks.add(line, "no `from` and `value`", Finding::NotUnderstood);
            continue;
        };
        match from.as_str() {
            "system" => turns.add(line, Role::System, said(Some(words)).into_iter().collect()),
            "human" | "user" => {
                turns.add(line, Role::User, said(Some(words)).into_iter().collect())
            }
            "gpt" | "assistant" | "model" | "bot" | "chatgpt" | "bing" | "bard" => {
                turns.add(
                    line,
                    Role::Assistant,
                    said(Some(words)).into_iter().collect(),
                );
            }
            "function_call" | "tool_call" => {
                let made = calls.made(&words);
                if made.is_empty() {
                    remarks.add(line, &from, Finding::NotUnderstood);
                }
                turns.add(line, Role::Assistant, made);
            }
            "observation" | "tool" | "function_response" | "function" | "tool_response" => {
                let result = calls.answered(words);
                turns.add(line, Role::User, vec![result]);
            }
            _ => remarks.add(line, &from, Finding::NotUnderstood),
        }
    }
    Ok(turns.read(remarks))
}

/// The calls so far: they have no ids, and are answered in order.
#[derive(Default)]
struct Calls {
    count: usize,
    answered: usize,
}

impl Calls {
    /// The calls that a text makes: the JSON of one, or of a list.
    fn made(&mut self, words: &str) -> Vec<Block> {
        let Ok(value) = serde_json::from_str::<&RawValue>(words) else {
            return Vec::new();
        };
        let all = list(value).unwrap_or_else(|| vec![value]);
        all.into_iter()
            .filter_map(|value| {
                let call = Object::of(value)?;
                let name = call.text("name")?;
                self.count += 1;
                Some(Block::Call {
                    id: format!("call_{}", self.count),
                    name,
                    arguments: arguments(call.get("arguments").or(call.get("parameters"))),
                })
            })
            .collect()
    }

    fn answered(&mut self, words: String) -> Block {
        self.answered = (self.answered + 1).min(self.count.max(1));
        Block::Result {
            id: format!("call_{}", self.answered),
            content: said(Some(words)).into_iter().collect(),
            failed: false,
        }
    }
}
