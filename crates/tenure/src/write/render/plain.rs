//! The payload as one text through a model's chat template: messages as the template can say them.
//!
//! What it cannot say keeps its place. Without a system message, the system's words open the first message
//! of the user; a late one becomes the user's; of two messages of one role one is made; tools that it
//! does not know stand as JSON where the system speaks, calls and results as text. Legality is built here: what a
//! template still refuses is refused by its own words.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::base::error::Error;
use crate::object::{ObjectType, Revision, Role, ToolCall};
use crate::provider::template::{Call, ChatTemplate, Function, Marks, Message, TOOLS, map_texts};
use crate::write::render::{Applied, openai_chat};

/// The place of a message's content in the text: what is at `from` of the content is at `at` of the text, and nothing
/// stands after `to` of the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stands {
    pub(crate) at: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The text of a payload, and where each of its messages stands, as far as that is known.
pub(crate) struct Plain {
    pub(crate) text: String,
    pub(crate) places: Vec<Option<Stands>>,
    /// The rules by which the template's text differs from the messages.
    pub(crate) applied: Applied,
}

/// A turn as the template takes it: control tokens in it are escaped. Where calls stand apart it is several
/// messages, the words first.
pub(crate) fn turns(
    revision: &Revision,
    said: Option<&str>,
    template: &ChatTemplate,
) -> Vec<Message> {
    let mut words = turn(revision, said, template);
    let is_silent = words.content.trim().is_empty();
    if !template.manners().apart || words.tool_calls.len() <= usize::from(is_silent) {
        return vec![words];
    }
    let role = words.role;
    let calls = std::mem::take(&mut words.tool_calls).into_iter().map(|call| Message {
        tool_calls: vec![call],
        ..Message::new(role, "")
    });
    let words = (!is_silent).then_some(words);
    words.into_iter().chain(calls).collect()
}

fn turn(revision: &Revision, said: Option<&str>, template: &ChatTemplate) -> Message {
    let (marks, manners) = (template.marks(), template.manners());
    let is_result = revision.object_type() == ObjectType::ToolResult;
    let role = match (is_result, revision.role().unwrap_or(Role::User)) {
        (true, _) if manners.calls => "tool",
        (true, _) => "user",
        (false, role) => name(role),
    };
    let content = marks.escape(said.unwrap_or_default()).0;
    let mut message = Message::new(role, content);
    if !manners.calls {
        return message;
    }
    message.tool_calls = revision.tool_calls().iter().map(|made| call(made, marks)).collect();
    if is_result {
        let id = revision.tool_call_id().unwrap_or_default();
        message.tool_call_id = Some(marks.escape(id).0.into_owned());
    }
    message
}

/// A call: its arguments as the object that they are the text of.
fn call(call: &ToolCall, marks: &Marks) -> Call {
    let text = call.arguments_text();
    let arguments = serde_json::from_str::<Value>(&text)
        .ok()
        .filter(Value::is_object)
        .unwrap_or(Value::String(text));
    Call {
        kind: "function",
        id: marks.escape(&call.id).0.into_owned(),
        function: Function {
            name: marks.escape(&call.name).0.into_owned(),
            arguments: marks.escape_value(&arguments).0,
        },
    }
}

fn name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::User => "user",
    }
}

/// Writes the text.
///
/// # Errors
///
/// When the template refuses the messages.
pub(crate) fn text(
    messages: &openai_chat::Messages<'_>,
    texts: &[String],
    tools: &[&str],
    template: &ChatTemplate,
) -> Result<Plain, Error> {
    let mut as_text = 0;
    let said = messages.messages.iter().filter_map(|message| match message {
        openai_chat::Message::Text(role, text) => {
            Some(vec![Message::new(name(*role), texts[*text].as_str())])
        }
        openai_chat::Message::Instructions(text) => {
            Some(vec![Message::new("system", texts[*text].as_str())])
        }
        openai_chat::Message::Turn(turn) => {
            let told = turn.is_result() || !turn.ids.is_empty();
            as_text += u32::from(told && !template.manners().calls);
            (told || turn.said.is_some()).then(|| turns(turn.revision, turn.said, template))
        }
        // Messages of this target come from no provider.
        // Templates take no tools late: none comes here.
        openai_chat::Message::Raw(_) | openai_chat::Message::Tools(_) => None,
    });
    let mut built = Built::default();
    if !tools.is_empty() && !template.manners().tools {
        built.preface(&format!("{TOOLS}{}\n", tools.join("\n")));
        built.apply("template_tools");
    }
    for mut messages in said {
        let more = messages.split_off(1.min(messages.len()));
        messages.into_iter().for_each(|message| built.add(message, template));
        built.follow(more, template);
    }
    if as_text > 0 {
        built.applied.insert("template_calls", as_text);
    }
    let tools = if template.manners().tools {
        tools.iter().filter_map(|tool| serde_json::from_str(tool).ok()).collect()
    } else {
        Vec::new()
    };
    built.finish();
    contained(&built.messages, &tools, template.marks())?;
    let text = template.render(&built.messages, &tools)?;
    unforged(&built.messages, &tools, template, &text)?;
    let (stand, elsewhere) = located(&built.messages, &tools, template, &text);
    whole(&built.messages, &stand, elsewhere, &text)?;
    let places = built.places.iter().map(|(at, start, len)| {
        let found = (*stand.get(*at)?)?;
        // The part of the message that this one of several is.
        let from = found.from.max(*start);
        let to = found.to.min(start + len);
        (from < to).then(|| Stands {
            at: found.at + (from - found.from),
            from: from - start,
            to: to - start,
        })
    });
    Ok(Plain {
        places: places.collect(),
        text,
        applied: built.applied,
    })
}

/// Messages in the making.
#[derive(Default)]
struct Built {
    messages: Vec<Message>,
    /// Of each message that was added: where it stands among these, from which byte on, how long.
    places: Vec<(usize, usize, usize)>,
    applied: Applied,
}

impl Built {
    /// Adds the system's words before all else.
    fn preface(&mut self, text: &str) {
        self.messages.push(Message::new("system", text));
    }

    fn apply(&mut self, rule: &'static str) {
        *self.applied.entry(rule).or_default() += 1;
    }

    /// Adds the other messages of a turn: the source map knows it by its first.
    fn follow(&mut self, more: Vec<Message>, template: &ChatTemplate) {
        if !more.is_empty() {
            self.apply("template_calls_apart");
        }
        for message in more {
            self.add(message, template);
            self.places.pop();
        }
    }

    fn add(&mut self, mut message: Message, template: &ChatTemplate) {
        let manners = template.manners();
        let leads = self.messages.iter().all(|before| before.role == "system");
        if message.role == "system" && !leads && !manners.late_system {
            message.role = "user";
            self.apply("system_position");
        }
        // The system speaks once before the others.
        let again = message.role == "system" && leads;
        let last = self.messages.last_mut().filter(|last| {
            let both = last.role == message.role && last.role != "tool";
            let stays = manners.apart && !message.tool_calls.is_empty();
            let spoken = last.tool_calls.is_empty() && !stays;
            both && spoken && (again || !manners.repeats)
        });
        let len = message.content.len();
        match last {
            Some(last) => {
                if !last.content.is_empty() && !last.content.ends_with('\n') {
                    last.content.push('\n');
                }
                let start = last.content.len();
                last.content.push_str(&message.content);
                last.tool_calls = message.tool_calls;
                if !again {
                    *self.applied.entry("roles_alternate").or_default() += 1;
                }
                self.places.push((self.messages.len() - 1, start, len));
            }
            None => {
                self.places.push((self.messages.len(), 0, len));
                self.messages.push(message);
            }
        }
        if !manners.system {
            self.fold();
        }
    }

    /// Moves the system's words into the first message of the user where the template knows no system message.
    fn fold(&mut self) {
        if let [first, second, ..] = self.messages.as_slice()
            && first.role == "system"
            && second.role == "user"
        {
            self.apply("template_system");
            let system = self.messages.remove(0);
            let first = &mut self.messages[0];
            let mut content = system.content;
            if !content.ends_with('\n') {
                content.push('\n');
            }
            let by = content.len();
            content.push_str(&first.content);
            first.content = content;
            for (at, start, _) in &mut self.places {
                match at {
                    0 => {}
                    1 => (*at, *start) = (0, *start + by),
                    _ => *at -= 1,
                }
            }
        } else if let [first, second, ..] = self.messages.as_mut_slice()
            && first.role == "system"
            && second.role != "system"
        {
            // No one of the user's speaks first: the system's words are the first of theirs.
            first.role = "user";
            self.apply("template_system");
        }
    }

    /// Gives each result the name of the tool that it came from; someone of the user's speaks.
    fn finish(&mut self) {
        let calls: BTreeMap<String, String> = self
            .messages
            .iter()
            .flat_map(|message| &message.tool_calls)
            .map(|call| (call.id.clone(), call.function.name.clone()))
            .collect();
        for message in &mut self.messages {
            if let Some(id) = &message.tool_call_id {
                message.name = calls.get(id).cloned();
            }
        }
        // The model answers the user.
        if let [only] = self.messages.as_mut_slice()
            && only.role == "system"
        {
            only.role = "user";
        }
    }
}

/// Refuses a control token in what the template is given: it was escaped in content, so Tenure's own words say it,
/// or escaping does not take it away.
fn contained(messages: &[Message], tools: &[Value], marks: &Marks) -> Result<(), Error> {
    let of_tool = |tool: &Value| {
        let function = tool.get("function")?.as_object()?;
        let mut values = function.values();
        values.find_map(|value| marks.find_in(value).map(str::to_owned))
    };
    let found = messages.iter().find_map(|message| {
        let mark = [&message.tool_call_id, &message.name]
            .into_iter()
            .flatten()
            .chain([&message.content])
            .find_map(|text| marks.find(text));
        let of_call = |call: &Call| {
            marks
                .find(&call.function.name)
                .or_else(|| marks.find(&call.id))
                .or_else(|| marks.find_in(&call.function.arguments))
                .map(str::to_owned)
        };
        mark.map(str::to_owned).or_else(|| message.tool_calls.iter().find_map(of_call))
    });
    match found.or_else(|| tools.iter().find_map(of_tool)) {
        None => Ok(()),
        Some(mark) => Err(Error::input(format!(
            "the control token `{mark}` stands in text that cannot be written without it"
        ))
        .expected("control tokens that no ordinary text holds")
        .hint("the special tokens stand in the tokenizer_config.json")),
    }
}

/// Refuses a text in which the template puts control tokens together from what is said. With a letter for each sign
/// that they are made of, what is said must leave the same tokens in the text.
fn unforged(
    messages: &[Message],
    tools: &[Value],
    template: &ChatTemplate,
    text: &str,
) -> Result<(), Error> {
    let marks = template.marks();
    let bare = |text: &str| marks.without_signs(text);
    let within = |value: &Value| map_texts(value, &mut |text| bare(text));
    let call = |call: &Call| Call {
        kind: call.kind,
        id: bare(&call.id),
        function: Function {
            name: bare(&call.function.name),
            arguments: within(&call.function.arguments),
        },
    };
    let messages: Vec<Message> = messages
        .iter()
        .map(|message| Message {
            role: message.role,
            content: bare(&message.content),
            tool_calls: message.tool_calls.iter().map(call).collect(),
            tool_call_id: message.tool_call_id.as_deref().map(bare),
            name: message.name.as_deref().map(bare),
        })
        .collect();
    let tools: Vec<Value> = tools.iter().map(within).collect();
    let own = template.render(&messages, &tools)?;
    let (mut own, mut all) = (marks.all(&own), marks.all(text));
    loop {
        match (all.next(), own.next()) {
            (None, None) => return Ok(()),
            (one, other) if one == other => {}
            (one, other) => {
                let mark = one.or(other).unwrap_or_default();
                let what =
                    format!("the chat template makes the control token `{mark}` of what is said");
                return Err(Error::input(what).expected("content as it is given")
                    .hint("whoever says it could speak as somebody else; a template of the model's own may do without"));
            }
        }
    }
}

/// Refuses a text without something that a message says: the envelope would report it as included.
fn whole(
    messages: &[Message],
    stand: &[Option<Stands>],
    elsewhere: Option<Vec<&str>>,
    text: &str,
) -> Result<(), Error> {
    let mut rest: BTreeMap<&str, usize> = BTreeMap::new();
    for text in elsewhere.iter().flatten() {
        *rest.entry(text).or_default() += 1;
    }
    for (message, stands) in messages.iter().zip(stand) {
        let said = message.content.trim();
        if stands.is_some() || said.is_empty() {
            continue;
        }
        // Some write results as JSON.
        let quoted = Value::from(said).to_string();
        let json = quoted.trim_matches('"');
        let mut take = |text: &str| match rest.get_mut(text) {
            Some(left @ 1..) => {
                *left -= 1;
                true
            }
            _ => false,
        };
        let stands = match elsewhere {
            Some(_) => take(said) || take(json),
            None => text.contains(said) || text.contains(json),
        };
        if !stands {
            let begin: String = said.chars().take(40).collect();
            let what = format!(
                "the chat template leaves out what a message of `{}` says, or changes it: {begin:?}",
                message.role
            );
            return Err(Error::input(what)
                .expected("the content of each message, as it is given")
                .hint("an object is reported as included only if the model sees it"));
        }
    }
    Ok(())
}

/// Two characters for private use that nothing here says.
fn enclosures(messages: &[Message], text: &str) -> Option<(char, char)> {
    let contents = messages.iter().map(|message| message.content.as_str());
    let said: BTreeSet<char> = contents
        .chain([text])
        .flat_map(str::chars)
        .filter(|c| ('\u{F_0000}'..='\u{F_FFFD}').contains(c))
        .collect();
    let mut free = ('\u{F_0000}'..='\u{F_FFFD}').rev().filter(|c| !said.contains(c));
    Some((free.next()?, free.next()?))
}

/// Returns the places of the contents in the text, and the rules that changed contents. The template is asked again,
/// with each content enclosed; where that does not give the same text but for the enclosures, nothing is said.
fn located<'t>(
    messages: &[Message],
    tools: &[Value],
    template: &ChatTemplate,
    text: &'t str,
) -> (Vec<Option<Stands>>, Option<Vec<&'t str>>) {
    let nowhere = (vec![None; messages.len()], None);
    let Some((opens, closes)) = enclosures(messages, text) else {
        return nowhere;
    };
    let enclosed: Vec<Message> = messages
        .iter()
        .map(|message| {
            let trimmed = message.content.trim();
            if trimmed.is_empty() {
                return message.clone();
            }
            let from = message.content.len() - message.content.trim_start().len();
            let (before, rest) = message.content.split_at(from);
            let after = &rest[trimmed.len()..];
            Message {
                content: format!("{before}{opens}{trimmed}{closes}{after}"),
                ..message.clone()
            }
        })
        .collect();
    let Ok(marked) = template.render(&enclosed, tools) else {
        return nowhere;
    };
    let mut plain = String::with_capacity(marked.len());
    let (mut opened, mut spans) = (None, Vec::new());
    for part in marked.split_inclusive([opens, closes]) {
        let (content, end) = match part.chars().next_back() {
            Some(end) if end == opens || end == closes => {
                (&part[..part.len() - end.len_utf8()], Some(end))
            }
            _ => (part, None),
        };
        plain.push_str(content);
        match end {
            Some(end) if end == opens => opened = Some(plain.len()),
            Some(_) => spans.extend(opened.take().map(|start| start..plain.len())),
            None => {}
        }
    }
    if plain != text {
        return nowhere;
    }
    let mut spans = spans.into_iter().peekable();
    let places = messages
        .iter()
        .map(|message| {
            let trimmed = message.content.trim();
            let span = spans
                .next_if(|span| text.get(span.clone()) == Some(trimmed) && !trimmed.is_empty())?;
            let from = message.content.len() - message.content.trim_start().len();
            Some(Stands {
                at: span.start,
                from,
                to: from + trimmed.len(),
            })
        })
        .collect();
    let elsewhere = spans.filter_map(|span| text.get(span)).collect();
    (places, Some(elsewhere))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_found_whatever_they_say() {
        let source = "{% for m in messages %}<{{ m.role }}>{{ m.content | trim }}</{{ m.role }}>{% endfor %}";
        let template = ChatTemplate::read(source, None).unwrap();
        let said = " a \u{F_FFF0} \u{F_FFF1} \u{F_FFFC} \u{F_FFFD}\n";
        let messages = [Message::new("user", said), Message::new("assistant", "b")];
        let text = template.render(&messages, &[]).unwrap();
        let (places, elsewhere) = located(&messages, &[], &template, &text);
        let stands = places[0].unwrap();
        assert_eq!((stands.at, stands.from, stands.to), (6, 1, said.len() - 1));
        assert!(places[1].is_some() && elsewhere.unwrap().is_empty());
        // Where everything is said, nothing is known.
        let all: String = ('\u{F_0000}'..='\u{F_FFFD}').collect();
        assert_eq!(enclosures(&[Message::new("user", all)], ""), None);
    }
}
