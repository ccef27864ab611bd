//! The form of each message of a session in a request, its reason, and the pointer to its original.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure::answer::RequestBody;
use tenure::object::{MessageStatus, ObjectType, Role, clip};
use tenure::wire::Format;
use tenure::{Error, ObjectDocument, World};

use super::entry::Recalled;
use super::instructions::is_erased;
use super::turn::Turn;
use super::{Message, Session};
use crate::records::epoch_in_words;

/// The longest beginning of a text that an item shows, in bytes.
const BEGINS: usize = 160;

/// The form in which an item of a request was sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemForm {
    /// As it came.
    Whole,
    /// A part of it, or a shorter form.
    Condensed,
    /// The user's words in it, quoted.
    Quoted,
    /// A pointer to what took its place.
    Replaced,
    /// A summary stands for it.
    Summarised,
    /// Nothing of it.
    LeftOut,
    /// It did not come with the request.
    Added,
}

impl ItemForm {
    /// Every form.
    pub const ALL: [ItemForm; 7] = [
        ItemForm::Whole,
        ItemForm::Condensed,
        ItemForm::Quoted,
        ItemForm::Replaced,
        ItemForm::Summarised,
        ItemForm::LeftOut,
        ItemForm::Added,
    ];

    /// The form as one word, as JSON has it.
    pub fn term(self) -> &'static str {
        match self {
            ItemForm::Whole => "whole",
            ItemForm::Condensed => "condensed",
            ItemForm::Quoted => "quoted",
            ItemForm::Replaced => "replaced",
            ItemForm::Summarised => "summarised",
            ItemForm::LeftOut => "left_out",
            ItemForm::Added => "added",
        }
    }
}

/// A part of a request, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RequestItem {
    /// Its id: `system`, `t12` for a message, `c40` for a summary, or the name of an object from outside.
    pub id: String,
    /// Its place in the body that came: `system`, `messages[3]`; of several items that are one turn, the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub came_at: Option<String>,
    /// Its speaker: a role, or `tool`.
    pub speaker: &'static str,
    /// Its tokens as it came, counted as those of the request are.
    pub came: u64,
    /// Its tokens as it was sent.
    pub sent: u64,
    /// The form in which it was sent.
    pub form: ItemForm,
    /// The code of the reason.
    pub why: String,
    /// The reason in words.
    pub says: String,
    /// The pointer to its original: `tenure session rehydrate SESSION POINTER`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The beginning of its text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub begins: String,
    /// Its text as it came: what it says and calls.
    #[serde(skip)]
    pub text: String,
}

/// The standing of a message: its form, the code of the reason and its words, and its tokens.
struct Standing {
    form: ItemForm,
    why: &'static str,
    says: String,
    sent: u64,
}

/// The way in which messages came, and what is known of how they were sent.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'s> {
    pub(crate) world: &'s World,
    pub(crate) format: Format,
    /// Set where a compile wrote the messages; else all went on as they came.
    pub(crate) compiled: bool,
}

impl Seen<'_> {
    /// The tokens of messages of a body, as the recorder counts those of a request.
    fn tokens(&self, messages: &str) -> u64 {
        let body = RequestBody::read(format!("{{\"messages\":[{messages}]}}").as_bytes());
        let texts = body.texts();
        texts.iter().map(|text| self.price(text)).sum()
    }

    fn price(&self, text: &str) -> u64 {
        if text.is_empty() {
            0
        } else {
            u64::from(self.world.price(text))
        }
    }

    /// The tokens of a message, and the number of items that it is in a body.
    fn came(&self, message: &Message) -> (u64, usize) {
        match as_it_came(&message.objects) {
            Some(text) if self.format != Format::Gemini => {
                let items = match self.format {
                    Format::OpenAiResponses => items_of(text),
                    _ => 1,
                };
                (self.tokens(text), items)
            }
            _ => (
                message.objects.iter().map(|object| self.object(object)).sum(),
                1,
            ),
        }
    }

    fn object(&self, object: &ObjectDocument) -> u64 {
        let calls = object
            .tool_calls
            .iter()
            .map(|call| self.price(&call.name) + self.price(&call.arguments.to_string()));
        self.price(&object.content) + calls.sum::<u64>()
    }
}

/// The bytes of a message as it came, where they are kept.
pub(crate) fn as_it_came(objects: &[ObjectDocument]) -> Option<&str> {
    objects.first()?.wire.as_ref()?.message.as_deref()
}

fn items_of(message: &str) -> usize {
    let list = format!("[{message}]");
    serde_json::from_str::<Vec<&serde_json::value::RawValue>>(&list).map_or(1, |list| list.len())
}

fn speaker(objects: &[ObjectDocument]) -> &'static str {
    let Some(first) = objects.first() else {
        return "none";
    };
    match (first.object_type, first.role) {
        (Some(ObjectType::ToolResult), _) => "tool",
        (_, Some(Role::Assistant)) => "assistant",
        (_, Some(Role::System)) => "system",
        _ => "user",
    }
}

/// The beginning of a text.
pub(crate) fn begins(text: &str) -> String {
    let text = text.trim_start();
    text[..text.floor_char_boundary(BEGINS)].to_owned()
}

/// The texts and calls of a message.
fn said(objects: &[ObjectDocument]) -> String {
    let each = objects.iter().flat_map(|object| {
        let calls = object.tool_calls.iter().map(super::turn::called);
        std::iter::once(object.content.clone()).chain(calls)
    });
    let texts: Vec<String> = each.filter(|text| !text.trim().is_empty()).collect();
    texts.join("\n")
}

/// The message that took the place of a result, and whether it changed what that showed, as the pointer in its place says.
fn replaced_by(text: &str) -> Option<(&str, bool)> {
    let (by, rest) = text.strip_prefix("[omitted: ")?.split_once(' ')?;
    let is_turn = by.strip_prefix('t').is_some_and(|number| number.parse::<u64>().is_ok());
    if !is_turn {
        None
    } else if rest.starts_with("is newer") {
        Some((by, false))
    } else if rest.starts_with("changed it") {
        Some((by, true))
    } else {
        None
    }
}

impl Session {
    /// Each message with its form, in the order in which they came; each summary before the first message that it stands for.
    pub(crate) fn items(&self, seen: &Seen<'_>) -> Result<Vec<RequestItem>, Error> {
        let mut items = Vec::new();
        let key = match seen.format {
            Format::OpenAiResponses => "input",
            Format::Gemini => "contents",
            _ => "messages",
        };
        let mut place = 0;
        for (message, object) in self.opening.messages.iter().zip(&self.opening.instructions) {
            let in_list = matches!(seen.format, Format::OpenAiChat | Format::OpenAiResponses)
                && serde_json::from_str::<serde_json::Value>(message)
                    .is_ok_and(|message| message.get("role").is_some());
            let came_at = if in_list {
                place += 1;
                format!("{key}[{}]", place - 1)
            } else {
                "system".to_owned()
            };
            let tokens = seen.tokens(message);
            items.push(RequestItem {
                id: "system".into(),
                came_at: Some(came_at),
                speaker: "system",
                came: tokens,
                sent: tokens,
                form: ItemForm::Whole,
                why: "instructions".into(),
                says: "what stands before the messages goes on as it came".into(),
                pointer: None,
                begins: begins(&object.content),
                text: object.content.clone(),
            });
        }
        let mut summaries = self.checkpoints().iter().peekable();
        let left = self.standing_on(seen);
        self.each_message(&mut |number, message| {
            let stands_for = |(_, summary): &&(u64, tenure::session::Checkpoint)| {
                seen.compiled && summary.first <= number
            };
            while let Some((at, summary)) = summaries.next_if(stands_for) {
                items.push(self.summary(*at, summary, seen));
            }
            let (came, count) = seen.came(&message);
            let came_at = format!("{key}[{place}]");
            place += count;
            let (speaker, text) = (speaker(&message.objects), said(&message.objects));
            let erased = message.objects.iter().all(is_erased) && !message.objects.is_empty();
            let turn = Turn::new(number, message);
            let Standing {
                form,
                why,
                says,
                sent,
            } = if seen.compiled {
                self.standing(&turn, came, &left, seen)
            } else {
                Standing::whole("as_it_came", "it went on as it came", came)
            };
            items.push(RequestItem {
                id: format!("t{number}"),
                came_at: Some(came_at),
                speaker,
                came,
                sent,
                form,
                why: why.to_owned(),
                says: if erased {
                    format!("{says}; it was erased since")
                } else {
                    says
                },
                pointer: Some(format!("t{number}")),
                begins: begins(&text),
                text,
            });
            Ok(())
        })?;
        Ok(items)
    }

    /// The tokens of what stands of messages that left, by message, with the code of the reason.
    fn standing_on(&self, seen: &Seen<'_>) -> BTreeMap<u64, Vec<(&'static str, u64)>> {
        let mut left: BTreeMap<u64, Vec<(&'static str, u64)>> = BTreeMap::new();
        let words = self.mark.words.iter().flat_map(|words| &words.stand);
        for words in words {
            let why = if words.cut.is_some() {
                "words_shortened"
            } else {
                "words"
            };
            let tokens = seen.price(&words.text);
            left.entry(words.turn).or_default().push((why, tokens));
        }
        for one in &self.standing {
            let tokens = seen.price(&one.document.content);
            let turn = left.entry(one.place.turn).or_default();
            turn.push(("instruction", tokens));
        }
        for Recalled { turn, text } in &self.mark.recalled {
            let passages = ("recalled", seen.price(text));
            left.entry(*turn).or_default().push(passages);
        }
        left
    }

    fn summary(
        &self,
        at: u64,
        summary: &tenure::session::Checkpoint,
        seen: &Seen<'_>,
    ) -> RequestItem {
        let text = summary.text(None);
        RequestItem {
            id: format!("c{at}"),
            came_at: None,
            speaker: "summary",
            came: 0,
            sent: seen.price(&text),
            form: ItemForm::Added,
            why: "summary".into(),
            says: format!(
                "it stands for {} messages, t{} to t{}",
                summary.turns, summary.first, summary.last
            ),
            pointer: Some(format!("c{at}")),
            begins: begins(&text),
            text,
        }
    }

    /// The standing of a message in what was sent.
    fn standing(
        &self,
        turn: &Turn,
        came: u64,
        left: &BTreeMap<u64, Vec<(&'static str, u64)>>,
        seen: &Seen<'_>,
    ) -> Standing {
        let number = turn.number;
        let is_it = |one: &Turn| one.number == number;
        if let Some((_, status)) = self.judged.get(&number) {
            let (why, says) = match status {
                MessageStatus::Quarantined => ("quarantined", "it is quarantined"),
                _ => ("retracted", "it is retracted"),
            };
            return Standing::out(why, says);
        }
        if self.unanswering.contains(&number) {
            let gone: u64 = turn
                .entry
                .objects
                .iter()
                .filter(|object| object.object_type == Some(ObjectType::ToolResult))
                .map(|object| seen.price(&object.content))
                .sum();
            return Standing {
                form: ItemForm::Condensed,
                why: "answers_judged",
                says: "its results answer calls that are judged, and leave with them".into(),
                sent: came.saturating_sub(gone),
            };
        }
        if self.aside.iter().any(is_it) {
            return Standing::out(
                "judged_with",
                "it cannot stand without a message that is judged",
            );
        }
        let is_request = self.request.as_ref().is_some_and(is_it);
        let turns = &self.turns;
        if is_request || turns.binary_search_by_key(&number, |turn| turn.number).is_ok() {
            return self.in_window(turn, (came, is_request), seen);
        }
        self.beyond_window(number, left)
    }

    /// The standing of a message of the window.
    fn in_window(&self, turn: &Turn, (came, is_request): (u64, bool), seen: &Seen<'_>) -> Standing {
        let forms = self.shortened.range((turn.number, 0)..=(turn.number, u32::MAX));
        let (mut sent, mut says, mut whys) = (came, Vec::new(), Vec::new());
        for ((_, part), form) in forms {
            let object = turn.entry.objects.get(*part as usize);
            let is_result =
                object.is_some_and(|object| object.object_type == Some(ObjectType::ToolResult));
            let was = object.map_or(0, |object| seen.price(&object.content));
            sent = (sent + seen.price(form)).saturating_sub(was);
            let (why, said) = match replaced_by(form) {
                Some((by, true)) => ("changed", format!("{by} changed what it shows")),
                Some((by, false)) => ("newer", format!("{by} is newer: the same call returned it")),
                None if is_result && form.is_empty() => (
                    "call_left",
                    "its call has left, and its result with it".to_owned(),
                ),
                None if is_result => (
                    "too_long",
                    "a result that is too long stands in a shorter form".to_owned(),
                ),
                None => (
                    "renewed",
                    "newer instructions of the client took the place of a part".to_owned(),
                ),
            };
            whys.push(why);
            if !says.contains(&said) {
                says.push(said);
            }
        }
        if turn.number < self.reasons_after(seen) && turn.entry.without_reasoning().is_some() {
            whys.push("reasoning");
            says.push("the model takes no reasoning from before this epoch".to_owned());
            let bare =
                as_it_came(&turn.bare().entry.objects).map_or(sent, |text| seen.tokens(text));
            sent = sent.min(bare);
        }
        let Some(first) = whys.first() else {
            return if is_request {
                Standing::whole(
                    "last_request",
                    "the user's last request always stands",
                    came,
                )
            } else {
                Standing::whole("stands", "it stands as it was said", came)
            };
        };
        let objects = turn.entry.objects.iter();
        let results = objects
            .filter(|object| object.object_type == Some(ObjectType::ToolResult))
            .count();
        let are_replaced = whys.iter().all(|why| matches!(*why, "newer" | "changed"));
        Standing {
            form: if are_replaced && whys.len() == results {
                ItemForm::Replaced
            } else {
                ItemForm::Condensed
            },
            why: first,
            says: says.join("; "),
            sent,
        }
    }

    /// The first message whose reasoning stands in what was sent.
    fn reasons_after(&self, seen: &Seen<'_>) -> u64 {
        let rules = seen.world.model().messages.unwrap_or_default();
        let binds = seen.format == Format::Anthropic && rules.bound_reasoning == Some(true);
        let first = self.served.first().map_or(u64::MAX, |(at, _)| *at);
        if binds { first } else { 0 }
    }

    /// The standing of a message that left the window.
    fn beyond_window(
        &self,
        number: u64,
        left: &BTreeMap<u64, Vec<(&'static str, u64)>>,
    ) -> Standing {
        let mut summaries = self.checkpoints().iter();
        let by = summaries.find(|(_, of)| (of.first..=of.last).contains(&number));
        let cause = epoch_in_words(self.mark.cause);
        let summary = match by {
            Some((at, _)) => format!("it left, since {cause}: c{at} stands for it"),
            None => format!("it left, since {cause}, and no summary stands for it"),
        };
        let Some(stands) = left.get(&number) else {
            let (form, why) = match by {
                Some(_) => (ItemForm::Summarised, "summarised"),
                None => (ItemForm::LeftOut, "left"),
            };
            return Standing {
                form,
                why,
                says: summary,
                sent: 0,
            };
        };
        let is_quoted = stands.iter().any(|(why, _)| why.starts_with("words"));
        let parts = stands.iter().map(|(why, _)| match *why {
            "words" => "the user's words in it stand, quoted",
            "words_shortened" => {
                "the beginning and the end of the user's words in it stand, quoted"
            }
            "instruction" => "the instruction in it stands on",
            _ => "passages of it stand, since the last message asks for them",
        });
        Standing {
            form: if is_quoted {
                ItemForm::Quoted
            } else {
                ItemForm::Condensed
            },
            why: stands.first().map_or("words", |(why, _)| *why),
            says: format!("{summary}; {}", parts.collect::<Vec<_>>().join("; ")),
            sent: stands.iter().map(|(_, tokens)| tokens).sum(),
        }
    }
}

impl Session {
    /// The messages as they came, in order; none where not all of them are held, or one is not kept so.
    pub(crate) fn as_they_came(&self) -> Option<Vec<String>> {
        let all = self.turns.len() as u64 == self.messages && self.aside.is_empty();
        self.turns
            .iter()
            .filter(|_| all)
            .map(|turn| as_it_came(&turn.entry.objects).map(str::to_owned))
            .collect::<Option<Vec<String>>>()
            .filter(|_| all)
    }

    /// Returns whether any of its messages says this, in any case.
    ///
    /// # Errors
    ///
    /// As [`Session::each_message`].
    pub fn says(&self, text: &str) -> Result<bool, Error> {
        let wanted = text.to_lowercase();
        let mut says = false;
        self.each_message(&mut |_, message| {
            says = says || said(&message.objects).to_lowercase().contains(&wanted);
            Ok(())
        })?;
        Ok(says)
    }

    /// The messages of its log, as they came.
    pub(crate) fn logged(&self) -> Result<Vec<String>, Error> {
        let mut messages = Vec::new();
        self.each_message(&mut |_, message| {
            messages.extend(as_it_came(&message.objects).map(str::to_owned));
            Ok(())
        })?;
        Ok(messages)
    }
}

impl Standing {
    fn whole(why: &'static str, says: &str, sent: u64) -> Standing {
        Standing {
            form: ItemForm::Whole,
            why,
            says: says.to_owned(),
            sent,
        }
    }

    fn out(why: &'static str, says: &str) -> Standing {
        Standing {
            form: ItemForm::LeftOut,
            why,
            says: says.to_owned(),
            sent: 0,
        }
    }
}

/// A name from outside, as an item has it.
pub(crate) fn outside(name: &str) -> String {
    clip(name)
}
