//! Parts of messages that agents' clients renew with each request, each time elsewhere: files as they are now,
//! examples, rules at the end of the newest message.
//!
//! It is the request's and not the history's: as part of the history it would make each request another conversation, and
//! leave with the oldest messages. So it is taken out of the messages, and stands in what is sent as it came. Which
//! messages these are is dated data (`clients.toml`); nothing in a tool's result is one.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::value::RawValue;

use super::clients::{RenewedForm, file};
use super::json::with_fields;
use super::{Conversation, Entry, Format, meaning, read_message};
use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::object::{ObjectType, Role};

/// The messages that a client renews with a request, taken out of the others.
#[derive(Clone, PartialEq, Debug)]
pub struct Renewed {
    format: Format,
    runs: Vec<Run>,
    closing: Option<Closing>,
}

/// Messages that stood one behind the other.
#[derive(Clone, PartialEq, Debug)]
struct Run {
    messages: Vec<String>,
    next: Option<Next>,
}

/// The message before which a run stood.
#[derive(Clone, PartialEq, Debug)]
struct Next {
    /// The meaning of its first item: a client that writes a message again may write its characters otherwise.
    meaning: Digest,
    /// The number of items like it from it on, itself included.
    like_it: usize,
}

/// The end of the newest message.
#[derive(Clone, PartialEq, Debug)]
struct Closing {
    text: String,
    /// The message without it, and as it came.
    without: String,
    whole: String,
}

impl Renewed {
    /// Takes what a client renews out of a conversation. Nothing where it renews nothing, or says nothing else.
    ///
    /// ```
    /// use tenure::wire::{Format, Renewed, read};
    /// let files = r#"{"role":"user","content":"I have *added these files to the chat* so you see them.\n\nx.py"}"#;
    /// let answer = r#"{"role":"assistant","content":"Ok, any changes I propose will be to those files."}"#;
    /// let asked = r#"{"role":"user","content":"Set the limit.\n\nReply in English.\n"}"#;
    /// let mut conversation = read(Format::OpenAiChat, &format!("[{files},{answer},{asked}]"))?;
    /// let renewed = Renewed::take(&mut conversation).expect("files");
    /// let kept = conversation.entries[0].message.as_str();
    /// assert_eq!(kept, r#"{"role":"user","content":"Set the limit."}"#);
    /// // Other messages took the place of the older ones.
    /// let sent = renewed.put_back(&format!(r#"[{{"role":"user","content":"In short."}},{kept}]"#))?;
    /// assert_eq!(sent, format!(r#"[{{"role":"user","content":"In short."}},{files},{answer},{asked}]"#));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn take(conversation: &mut Conversation) -> Option<Renewed> {
        let format = conversation.format;
        if format == Format::Gemini {
            return None;
        }
        let (client, mut ranges) = ranges(&conversation.entries)?;
        let is_last = conversation.entries.last().is_some_and(|last| {
            said_by(last, Role::System).is_some_and(|text| begins_closing(client, text))
        });
        if is_last {
            let last = conversation.entries.len() - 1;
            ranges.push(last..last + 1);
        }
        let all = std::mem::take(&mut conversation.entries);
        let mut stays: Vec<usize> = Vec::new();
        let mut from = 0;
        for range in &ranges {
            stays.extend(from..range.start);
            from = range.end;
        }
        stays.extend(from..all.len());
        if stays.is_empty() {
            conversation.entries = all;
            return None;
        }
        let mut kept: Vec<Entry> = stays.iter().map(|at| all[*at].clone()).collect();
        let closing = kept.last_mut().and_then(|last| Closing::take(client, last));
        let before = ranges.iter().map(|range| stays.partition_point(|at| *at < range.end));
        let before = Next::of(format, &kept, &before.collect::<Vec<_>>());
        let runs = ranges
            .into_iter()
            .zip(before)
            .map(|(range, next)| Run {
                messages: all[range].iter().map(|one| one.message.clone()).collect(),
                next,
            })
            .collect();
        conversation.entries = kept;
        Some(Renewed {
            format,
            runs,
            closing,
        })
    }

    /// Its texts, as they stand in messages.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let runs = self.runs.iter().flat_map(|run| &run.messages);
        let closing = self.closing.iter().map(|closing| &closing.text);
        runs.chain(closing).map(String::as_str)
    }

    /// Returns whether the newest message has an end that it will not have in the next request.
    pub fn closes(&self) -> bool {
        self.closing.is_some() || self.runs.iter().any(|run| run.next.is_none())
    }

    /// A list of messages with what was taken out: each run before the message that followed it or, where that stands
    /// here no more, behind the messages of the system that the list begins with.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is no list.
    pub fn put_back(&self, messages: &str) -> Result<String, Error> {
        let values: Vec<&RawValue> = serde_json::from_str(messages)
            .map_err(|error| Error::input(format!("not a list of messages: {error}")))?;
        let list: Vec<&str> = values.iter().map(|message| message.get()).collect();
        let front = list.iter().take_while(|message| is_systems(message)).count();
        let mut places: BTreeMap<Digest, Vec<usize>> = BTreeMap::new();
        for (at, message) in list.iter().enumerate() {
            let like_it = places.entry(meaning(self.format, message)).or_default();
            like_it.push(at);
        }
        let mut runs: Vec<(usize, &Run)> = self
            .runs
            .iter()
            .map(|run| {
                let at = match &run.next {
                    Some(next) => next.place(&places).unwrap_or(front),
                    None => list.len(),
                };
                (at, run)
            })
            .collect();
        runs.sort_by_key(|(at, _)| *at);
        let mut runs = runs.into_iter().peekable();
        let closed = self.closing.as_ref();
        let closed_at = closed.and_then(|closing| {
            let like_it = places.get(&meaning(self.format, &closing.without))?;
            like_it.last().copied()
        });
        let mut all: Vec<String> = Vec::with_capacity(list.len());
        for at in 0..=list.len() {
            if at == list.len()
                && closed_at.is_none()
                && let Some(closing) = closed
            {
                // The message is written otherwise now: its end stands by itself.
                let text = serde_json::Value::from(closing.text.trim());
                all.push(format!("{{\"role\":\"user\",\"content\":{text}}}"));
            }
            while let Some((_, run)) = runs.next_if(|(place, _)| *place == at) {
                all.extend_from_slice(&run.messages);
            }
            match (list.get(at), closed) {
                (Some(_), Some(closing)) if closed_at == Some(at) => {
                    all.push(closing.whole.clone());
                }
                (Some(message), _) => all.push((*message).to_owned()),
                (None, _) => {}
            }
        }
        Ok(format!("[{}]", all.join(",")))
    }
}

impl Next {
    /// The messages at these places, which ascend. Those like each are counted, from the last message on, as they are
    /// looked for when it is put back.
    fn of(format: Format, kept: &[Entry], places: &[usize]) -> Vec<Option<Next>> {
        let mut found = vec![None; places.len()];
        let mut counts: BTreeMap<Digest, usize> = BTreeMap::new();
        let mut wanted = places.iter().zip(&mut found).rev().peekable();
        // Behind the last message there is no next one.
        while wanted.next_if(|(place, _)| **place >= kept.len()).is_some() {}
        for (at, entry) in kept.iter().enumerate().rev() {
            let mut first = None;
            for item in items_of(&entry.message) {
                let meaning = meaning(format, &item);
                *counts.entry(meaning).or_default() += 1;
                first.get_or_insert(meaning);
            }
            while let Some((_, next)) = wanted.next_if(|(place, _)| **place == at) {
                *next = first.and_then(|meaning| {
                    let like_it = *counts.get(&meaning)?;
                    Some(Next { meaning, like_it })
                });
            }
        }
        found
    }

    /// Returns its place among the places of messages, which ascend, if it has one.
    fn place(&self, places: &BTreeMap<Digest, Vec<usize>>) -> Option<usize> {
        let like_it = places.get(&self.meaning)?;
        like_it.get(like_it.len().checked_sub(self.like_it)?).copied()
    }
}

impl Closing {
    /// Takes it from the end of a message of the user.
    fn take(client: &str, entry: &mut Entry) -> Option<Closing> {
        let text = said_by(entry, Role::User)?;
        let end = closing_of(client, text)?;
        let (kept, closing) = (text.get(..end)?, text.get(end..)?.to_owned());
        let without = with_text(&entry.message, kept)?;
        let read = read_message(entry.format, &without).ok()?;
        let whole = std::mem::replace(entry, read).message;
        Some(Closing {
            text: closing,
            without,
            whole,
        })
    }
}

/// The items of a message, which is one but for a turn of the model in the form of responses.
fn items_of(message: &str) -> Vec<String> {
    let list = format!("[{message}]");
    let items: Vec<&RawValue> = serde_json::from_str(&list).unwrap_or_default();
    items.iter().map(|item| item.get().to_owned()).collect()
}

/// Returns the places of the messages that a client renews, and the client's name.
fn ranges(entries: &[Entry]) -> Option<(&'static str, Vec<Range<usize>>)> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut client = None;
    for (at, pair) in entries.windows(2).enumerate() {
        let [asks, answers] = pair else { continue };
        let Some(form) = form_of(asks, answers) else {
            continue;
        };
        if found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        client.get_or_insert(form.client.as_str());
        if form.ends_opening {
            found.clear();
        }
        let start = if form.ends_opening { 0 } else { at };
        match found.last_mut() {
            Some(last) if last.end == start => last.end = at + 2,
            _ => found.push(start..at + 2),
        }
    }
    Some((client?, found))
}

fn form_of(asks: &Entry, answers: &Entry) -> Option<&'static RenewedForm> {
    let says = said_by(asks, Role::User)?;
    let mut forms = file().renewed.iter();
    forms.find(|form| {
        let is_said = form.says.iter().any(|begin| says.starts_with(begin));
        is_said
            && form
                .answers
                .iter()
                .any(|known| known == said_by(answers, Role::Assistant).map_or("", str::trim))
    })
}

/// Returns the text of a message that is one text of this role.
fn said_by(entry: &Entry, role: Role) -> Option<&str> {
    match entry.objects.as_slice() {
        [one]
            if one.object_type == Some(ObjectType::Turn)
                && one.role.unwrap_or(Role::User) == role
                && one.tool_calls.is_empty()
                && entry.opaque.is_empty()
                && !entry.signed =>
        {
            Some(&one.content)
        }
        _ => None,
    }
}

fn closings(client: &str) -> impl Iterator<Item = &'static str> + use<'_> {
    file()
        .closings
        .iter()
        .filter(move |form| form.client == client)
        .flat_map(|form| form.says.iter().map(String::as_str))
}

fn begins_closing(client: &str, text: &str) -> bool {
    closings(client).any(|says| text.trim_start().starts_with(says.trim_start()))
}

/// Returns the place at which the end of a text begins that its client added.
fn closing_of(client: &str, text: &str) -> Option<usize> {
    closings(client).find_map(|says| text.rfind(&format!("\n\n{says}")))
}

/// A message whose only text, or whose last block's, is this.
fn with_text(message: &str, text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Says<'m> {
        #[serde(borrow)]
        content: &'m RawValue,
    }
    let says: Says<'_> = serde_json::from_str(message).ok()?;
    let text = serde_json::Value::from(text).to_string();
    let content = match says.content.get().as_bytes().first()? {
        b'"' => text,
        _ => {
            let blocks: Vec<&RawValue> = serde_json::from_str(says.content.get()).ok()?;
            let [block] = blocks.as_slice() else {
                return None;
            };
            let block = with_fields(block.get(), &[("text", &text)]).ok()?;
            format!("[{block}]")
        }
    };
    with_fields(message, &[("content", &content)]).ok()
}

/// Returns whether a message of a list is the system's.
fn is_systems(message: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct By {
        role: Option<String>,
    }
    serde_json::from_str::<By>(message)
        .ok()
        .and_then(|by| by.role)
        .is_some_and(|role| role == "system" || role == "developer")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::provider::wire::read;

    const RULES: &str = "# File editing rules:\n\nSend whole hunks.\n\nReply in English.\n";

    fn user(text: &str) -> Value {
        json!({ "role": "user", "content": text })
    }

    fn model(text: &str) -> Value {
        json!({ "role": "assistant", "content": text })
    }

    fn files(text: &str) -> [Value; 2] {
        [
            user(&format!(
                "I have *added these files to the chat* so you can edit them.\n\n{text}"
            )),
            model("Ok, any changes I propose will be to those files."),
        ]
    }

    fn asked(text: &str) -> Value {
        user(&format!("{text}\n\n{RULES}"))
    }

    fn list(messages: &[Value]) -> String {
        Value::from(messages.to_vec()).to_string()
    }

    fn taken(messages: &[Value]) -> (Option<Renewed>, Vec<Value>) {
        let mut conversation = read(Format::OpenAiChat, &list(messages)).unwrap();
        let shown = Renewed::take(&mut conversation);
        let kept = conversation
            .entries
            .iter()
            .map(|entry| serde_json::from_str(&entry.message).unwrap());
        (shown, kept.collect())
    }

    #[test]
    fn what_is_shown_is_taken_out_and_put_back_as_it_came() {
        let [shows, answers] = files("x.py\n```\nLIMIT = 1\n```");
        let talk = [user("One."), model("Done."), asked("Two.")];
        let plain = [user("One."), model("Done."), user("Two.")];
        let all = |shown_at: usize| {
            let mut all = talk.to_vec();
            all.splice(shown_at..shown_at, [shows.clone(), answers.clone()]);
            all
        };
        for at in [0, 2] {
            let (shown, kept) = taken(&all(at));
            assert_eq!(kept, plain);
            let shown = shown.unwrap();
            assert!(shown.closes());
            assert_eq!(shown.put_back(&list(&kept)).unwrap(), list(&all(at)));
            // A summary took the place of the oldest messages: behind the system's it stands first.
            let cut = [
                json!({ "role": "system", "content": "Be brief." }),
                user("In short."),
                user("Two."),
            ];
            let sent: Vec<Value> =
                serde_json::from_str(&shown.put_back(&list(&cut)).unwrap()).unwrap();
            let front = if at == 0 { 1 } else { 2 };
            assert_eq!(sent[front..front + 2], [shows.clone(), answers.clone()]);
            assert_eq!(sent.last(), Some(&asked("Two.")));
            assert_eq!(sent.len(), 5);
        }
        // The newest message was written otherwise: its rules stand behind it.
        let shown = taken(&all(0)).0.unwrap();
        let sent = shown.put_back(&list(&[user("Two, and more.")])).unwrap();
        let sent: Vec<Value> = serde_json::from_str(&sent).unwrap();
        assert_eq!(sent[3], user(RULES.trim()));
    }

    #[test]
    fn examples_and_rules_of_the_system_belong_to_it() {
        let examples = [
            user("Rename it."),
            model("So."),
            user(
                "I switched to a new code base. Please don't consider the above files or try to edit them any longer.",
            ),
            model("Ok."),
        ];
        let rules = json!({ "role": "system", "content": RULES });
        let talk = [user("Go on."), model("Yes."), user("Go on.")];
        let shown = files("x.py");
        let all = [&examples[..], &shown, &talk, std::slice::from_ref(&rules)].concat();
        let (taken, kept) = taken(&all);
        assert_eq!(kept, talk);
        let taken = taken.unwrap();
        assert!(taken.closes());
        assert_eq!(taken.put_back(&list(&kept)).unwrap(), list(&all));
        // Of two messages that are alike the first one left.
        let sent = taken.put_back(&list(&[user("In short."), user("Go on.")])).unwrap();
        let expected = [
            &examples[..],
            &shown,
            &[user("In short."), user("Go on."), rules],
        ]
        .concat();
        assert_eq!(sent, list(&expected));
    }

    #[test]
    fn messages_written_otherwise_are_counted_as_they_are_found() {
        let [shows, answers] = files("x.py");
        // The end of the newest message leaves, and what is left of it is written without escapes.
        let talk = [shows, answers, user("é"), model("é"), asked("é")];
        let body = list(&talk).replace('é', "\\u00e9");
        let mut conversation = read(Format::OpenAiChat, &body).unwrap();
        let shown = Renewed::take(&mut conversation).unwrap();
        let kept: Vec<&str> =
            conversation.entries.iter().map(|entry| entry.message.as_str()).collect();
        let sent = shown.put_back(&format!("[{}]", kept.join(","))).unwrap();
        assert_eq!(sent, body);
    }

    #[test]
    fn what_has_not_the_structure_stays() {
        let [shows, answers] = files("x.py");
        for messages in [
            vec![],
            vec![asked("One.")],
            vec![shows.clone()],
            vec![shows.clone(), answers.clone()],
            vec![shows.clone(), model("I see."), asked("One.")],
            vec![answers.clone(), shows.clone(), asked("One.")],
            vec![
                json!({ "role": "tool", "tool_call_id": "c", "content": shows["content"] }),
                answers.clone(),
                asked("One."),
            ],
        ] {
            assert_eq!(taken(&messages), (None, messages.clone()), "{messages:?}");
        }
        // The end of an older message, or of the model's, is none.
        let talk = [
            shows,
            answers,
            asked("One."),
            model(&format!("So.\n\n{RULES}")),
            user("Two."),
        ];
        let (shown, kept) = taken(&talk);
        assert_eq!(kept, talk[2..]);
        assert!(!shown.unwrap().closes());
    }

    #[test]
    fn however_much_a_client_renews_is_taken_out_and_put_back_in_time_that_grows_as_the_list_does()
    {
        let triple = [
            user("I am not sharing any files that you can edit yet."),
            model("Ok."),
            user("a\n<i>"),
        ];
        let escaped = list(&triple).replace('<', "\\u003c");
        let items = escaped.trim_matches(['[', ']']);
        let body = format!("[{}]", vec![items; 100_000].join(","));
        let mut conversation = read(Format::OpenAiChat, &body).unwrap();
        let renewed = Renewed::take(&mut conversation).unwrap();
        assert_eq!(renewed.runs.len(), 100_000);
        let kept: Vec<&str> =
            conversation.entries.iter().map(|entry| entry.message.as_str()).collect();
        let sent = renewed.put_back(&format!("[{}]", kept.join(",")));
        assert!(sent.unwrap() == body);
        // A debug build takes a few seconds; where each run looks through the list, this does not end.
    }

    proptest! {
        #[test]
        fn whatever_is_taken_out_comes_back(
            parts in proptest::collection::vec(0usize..8, 0..12), escaped in any::<bool>(),
        ) {
            let [shows, answers] = files("é");
            let of = |part: &usize| match part {
                0 => shows.clone(),
                1 => answers.clone(),
                2 => user("Go \"on\" é."),
                3 => model("Ok."),
                4 => asked("Go \"on\" é."),
                5 => user("I switched to a new code base. Please don't consider the above files or try to edit them any longer."),
                6 => json!({ "role": "system", "content": RULES }),
                _ => user(RULES),
            };
            let messages: Vec<Value> = parts.iter().map(of).collect();
            let mut body = list(&messages);
            if escaped {
                body = body.replace('é', "\\u00e9");
            }
            let mut conversation = read(Format::OpenAiChat, &body).unwrap();
            let before = conversation.clone();
            let Some(shown) = Renewed::take(&mut conversation) else {
                prop_assert_eq!(conversation, before);
                return Ok(());
            };
            let kept: Vec<&str> = conversation.entries.iter().map(|entry| entry.message.as_str()).collect();
            prop_assert!(!kept.is_empty());
            let system: Vec<&str> = before.instructions.iter().map(|entry| entry.message.as_str()).collect();
            let sent = shown.put_back(&format!("[{}]", [system, kept].concat().join(","))).unwrap();
            prop_assert_eq!(sent, body);
        }
    }
}
