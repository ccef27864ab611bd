//! The messages that a caller brings to a session, in the shapes in which SDKs give and take them, and agents keep them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;
use tenure::object::clip;
use tenure::wire::{self, Conversation, Format};
use tenure::{Error, ObjectDocument};

use crate::transcripts::{
    self, EXPECTED, Finding, Form, Items, MessageForm, Placed, Remark, Remarks,
};

/// A conversation that was brought.
#[derive(Clone, PartialEq, Debug)]
pub struct Brought {
    /// Its messages.
    pub conversation: Conversation,
    /// The form of the transcript that it was read from; none for messages of a provider.
    pub form: Option<Form>,
    /// What of the text is not in it, or not as it was.
    pub remarks: Vec<Remark>,
}

impl Brought {
    /// Returns the conversation, where nothing of it is lost: for a face that has no place for remarks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) naming what was not understood.
    pub fn whole(self) -> Result<Conversation, Error> {
        match self.remarks.iter().find(|remark| remark.what.is_lost()) {
            None => Ok(self.conversation),
            Some(lost) => Err(Error::input(lost.to_string()).expected(EXPECTED)),
        }
    }
}

/// Reads the messages of a text: the body of a request, or messages and whole answers of a provider, one or many, in a
/// list or one after the other (JSON Lines); or the transcript of an agent or library ([`transcripts::FORMS`]). `said` is
/// what the caller says of them, `own` the format that they have where they show no sign of any.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) naming the place: what is none of these, an answer that is not at its
/// end or offers several messages, and answers of different formats.
///
/// ```
/// use tenure::wire::Format;
/// use tenure_workspace::sessions::read_messages;
/// let answer = r#"{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Hi."}}]}"#;
/// let read = read_messages(answer, None, Format::OpenAiChat, &[])?.conversation;
/// assert_eq!(read.entries[0].message, r#"{"role":"assistant","content":"Hi."}"#);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn read_messages(
    text: &str,
    said: Option<MessageForm>,
    own: Format,
    earlier: &[&ObjectDocument],
) -> Result<Brought, Error> {
    let (format, form) = match said {
        Some(MessageForm::Provider(format)) => (Some(format), None),
        Some(MessageForm::Transcript(Form::OpenaiAgents)) => (Some(Format::OpenAiResponses), None),
        Some(MessageForm::Transcript(form)) => (None, Some(form)),
        None => (None, None),
    };
    let form = match form {
        None if format.is_none() => transcripts::recognise(text),
        form => form,
    };
    match form {
        Some(Form::Aider) => transcribed(Form::Aider, transcripts::read_aider(text), None, earlier),
        Some(form) => {
            let items = Items::of(transcripts::values(text, EXPECTED)?, text);
            let read = transcripts::read(form, &items)?
                .ok_or_else(|| Error::assertion("a transcript has a reader"))?;
            transcribed(form, read, items.all.first(), earlier)
        }
        None => provided(text, format, own, earlier),
    }
}

/// The conversation of a transcript.
fn transcribed(
    form: Form,
    read: transcripts::Read,
    first: Option<&Placed<'_>>,
    earlier: &[&ObjectDocument],
) -> Result<Brought, Error> {
    if read.messages.is_empty() {
        let name = form.name();
        let sign = transcripts::FORMS
            .iter()
            .find(|known| known.form == form)
            .map_or("", |known| known.sign);
        return Err(nothing(&format!("no message of {name} is in it"), first)
            .expected(format!("a transcript of {name}: {sign}")));
    }
    let conversation = wire::read_after(read.format, &read.body(), earlier).map_err(|error| {
        let lines: Vec<usize> = read.messages.iter().map(|(line, _)| *line).collect();
        in_line(error, &lines)
    })?;
    Ok(Brought {
        conversation,
        form: Some(form),
        remarks: read.remarks.all(),
    })
}

/// The conversation of a request, or of a provider's messages.
fn provided(
    text: &str,
    format: Option<Format>,
    own: Format,
    earlier: &[&ObjectDocument],
) -> Result<Brought, Error> {
    let values = transcripts::values(text, EXPECTED)?;
    let mut remarks = Remarks::default();
    if let [(_, one)] = values.all.as_slice()
        && is_request(one)
    {
        let format = format.or_else(|| Format::detect(one.get()));
        let conversation = wire::read_after(format.unwrap_or(own), one.get(), earlier)?;
        return Ok(Brought {
            conversation,
            form: None,
            remarks: Vec::new(),
        });
    }
    let last = text.lines().count();
    for line in &values.broken {
        let cut = text.lines().nth(line - 1).unwrap_or_default();
        if *line < last || !cut.starts_with('{') {
            return Err(Error::input("not JSON").at("", Some(*line)).expected(EXPECTED));
        }
        remarks.add(*line, "line", Finding::Broken);
    }
    let items = Items::of(values, text);
    if !items.all.is_empty() && !items.all.iter().any(|(_, value)| is_known(value)) {
        return Err(nothing("no message was understood", items.all.first()).expected(EXPECTED));
    }
    let mut gathered = Gathered {
        format,
        ..Gathered::default()
    };
    for (line, value) in &items.all {
        gathered.one(value).map_err(|error| {
            let place = error.at.as_ref().map(|at| at.source.clone());
            error.at(place.unwrap_or_default(), Some(*line))
        })?;
    }
    if gathered.messages.is_empty() {
        return Err(Error::input("there are no messages").expected(EXPECTED));
    }
    let list = format!("[{}]", gathered.messages.join(","));
    let format = format.or(gathered.answered).or_else(|| Format::detect(&list)).unwrap_or(own);
    let lines: Vec<usize> = items.all.iter().map(|(line, _)| *line).collect();
    let conversation =
        wire::read_after(format, &list, earlier).map_err(|error| in_line(error, &lines))?;
    if format == Format::OpenAiResponses {
        for (line, value) in &items.all {
            let kind = fields(value).and_then(|fields| kind_of(&fields));
            if let Some(kind) = kind.filter(|kind| !wire::is_item(kind)) {
                remarks.add(*line, &kind, Finding::KeptUnread);
            }
        }
    }
    Ok(Brought {
        conversation,
        form: None,
        remarks: remarks.all(),
    })
}

/// An error that shows the first item of what was not understood.
fn nothing(what: &str, first: Option<&Placed<'_>>) -> Error {
    match first {
        None => Error::input(what),
        Some((line, value)) => {
            let item = value.get().split_whitespace().collect::<Vec<_>>().join(" ");
            Error::input(format!("{what}: its first item is `{}`", clip(&item)))
                .at("", Some(*line))
                .hint("`--from` says what it is")
        }
    }
}

/// An error with the line of the message that it counts: `messages[3]`.
fn in_line(error: Error, lines: &[usize]) -> Error {
    let counted = error.at.as_ref().and_then(|at| {
        let (_, rest) = at.source.split_once('[')?;
        let (number, _) = rest.split_once(']')?;
        let line = lines.get(number.parse::<usize>().ok()?)?;
        Some((at.source.clone(), *line))
    });
    match counted {
        Some((place, line)) => error.at(place, Some(line)),
        None => error,
    }
}

type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

fn fields(value: &RawValue) -> Option<Fields<'_>> {
    serde_json::from_str(value.get()).ok()
}

fn kind_of(fields: &Fields<'_>) -> Option<String> {
    serde_json::from_str(fields.get("type")?.get()).ok()
}

/// Returns whether a value has a sign of a message, an answer or a request.
fn is_known(value: &RawValue) -> bool {
    let Some(fields) = fields(value) else {
        return false;
    };
    let has = |key: &str| fields.contains_key(key);
    has("role")
        || has("candidates")
        || is_request(value)
        || answer_of(&fields).is_some()
        || kind_of(&fields).is_some_and(|kind| wire::is_item(&kind))
        || has("parts") && !has("kind")
}

/// Returns whether a value is the body of a request: it has its messages in a field.
fn is_request(value: &RawValue) -> bool {
    let Some(fields) = fields(value) else {
        return false;
    };
    let has = |key: &str| fields.get(key).is_some_and(|value| value.get() != "null");
    has("messages") || has("contents") || (has("input") && !has("type"))
}

/// Messages on their way into a session.
#[derive(Default)]
struct Gathered {
    /// What the caller says of them.
    format: Option<Format>,
    messages: Vec<String>,
    /// The format of the answers among them.
    answered: Option<Format>,
}

impl Gathered {
    /// Takes a message, or the message in an answer.
    fn one(&mut self, value: &RawValue) -> Result<(), Error> {
        let Some(fields) = fields(value) else {
            return Err(Error::input("this is no message").expected(EXPECTED));
        };
        if is_request(value) {
            return Err(Error::input("a whole request stands among messages").expected("it alone"));
        }
        if fields.contains_key("candidates") {
            return Err(Error::unsupported("answers of Gemini")
                .hint("bring the `content` of the candidate, which is a message"));
        }
        let Some(format) = answer_of(&fields) else {
            self.messages.push(message(value, &fields)?);
            return Ok(());
        };
        let answered = *self.answered.get_or_insert(format);
        if answered != format {
            return Err(Error::input(format!(
                "an answer of {format} stands among those of {answered}"
            ))
            .expected("messages of one format"));
        }
        let format = self.format.unwrap_or(format);
        self.messages.push(wire::reply(format, value.get())?);
        Ok(())
    }
}

/// The format of a whole answer; none for a message.
fn answer_of(fields: &Fields<'_>) -> Option<Format> {
    let has = |key: &str| fields.contains_key(key);
    if has("choices") {
        Some(Format::OpenAiChat)
    } else if has("output") && !has("type") {
        Some(Format::OpenAiResponses)
    } else if has("stop_reason") && has("content") {
        Some(Format::Anthropic)
    } else {
        None
    }
}

/// A message as its client sends it. Chat messages of an SDK have fields for what they do not say, which no request
/// takes.
fn message(value: &RawValue, fields: &Fields<'_>) -> Result<String, Error> {
    let is = |key: &str, empty: &[&str]| {
        fields
            .get(key)
            .map(|value| value.get())
            .is_some_and(|value| empty.contains(&value))
    };
    let is_padded = ["refusal", "function_call", "audio", "tool_calls"]
        .iter()
        .any(|key| is(key, &["null"]))
        || is("annotations", &["[]", "null"]);
    if is_padded && is("role", &["\"assistant\""]) {
        let answer = format!("{{\"choices\":[{{\"message\":{}}}]}}", value.get());
        return wire::reply(Format::OpenAiChat, &answer);
    }
    Ok(value.get().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: &str = r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hot.","refusal":null,"annotations":[]}}],"usage":{}}"#;
    const RESPONSE: &str = r#"{"id":"r","object":"response","status":"completed","output":[{"type":"message","id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hot.","annotations":[]}]}]}"#;
    const MESSAGE: &str = r#"{"id":"m","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"Hot."}],"stop_reason":"end_turn","usage":{}}"#;
    const PLAIN: &str = r#"{"role": "user", "content": "How is pump 7?"}"#;

    fn read(text: &str) -> Result<Conversation, Error> {
        read_messages(text, None, Format::OpenAiChat, &[]).map(|brought| brought.conversation)
    }

    fn said(text: &str) -> (Format, Vec<String>) {
        let read = read(text).unwrap();
        let messages = read.entries.iter().map(|entry| entry.message.clone());
        (read.format, messages.collect())
    }

    #[test]
    fn an_answer_is_the_message_in_it() {
        let answered = |text: &str| {
            let read = read(text).unwrap();
            let content = read.objects().map(|object| object.content.clone());
            (read.format, content.collect::<Vec<_>>())
        };
        let hot = vec!["Hot.".to_owned()];
        assert_eq!(answered(CHAT), (Format::OpenAiChat, hot.clone()));
        assert_eq!(answered(RESPONSE), (Format::OpenAiResponses, hot.clone()));
        assert_eq!(answered(MESSAGE), (Format::Anthropic, hot));
        assert_eq!(
            said(CHAT).1,
            [r#"{"role":"assistant","content":"Hot."}"#],
            "what an SDK pads is left out"
        );
    }

    #[test]
    fn one_a_list_and_lines_are_the_same() {
        let one = (Format::OpenAiChat, vec![PLAIN.to_owned()]);
        assert_eq!(said(PLAIN), one);
        assert_eq!(said(&format!("[{PLAIN}]")), one);
        let two = (
            Format::OpenAiChat,
            vec![PLAIN.to_owned(), said(CHAT).1[0].clone()],
        );
        assert_eq!(said(&format!("[{PLAIN},\n{CHAT}]")), two);
        assert_eq!(said(&format!("{PLAIN}\n\n{CHAT}\n")), two);
        assert_eq!(said(&format!("[{PLAIN}]\n[{CHAT}]")), two);
        // A message as an SDK prints it, and a request, as before.
        let dumped = r#"{"content":"Hot.","refusal":null,"role":"assistant","annotations":null,"audio":null,"function_call":null,"tool_calls":null}"#;
        assert_eq!(said(dumped).1, [r#"{"role":"assistant","content":"Hot."}"#]);
        let body = format!(r#"{{"model":"m","system":"Be brief.","messages":[{PLAIN}]}}"#);
        let request = read(&body).unwrap();
        assert_eq!(request.format, Format::Anthropic);
        assert_eq!((request.instructions.len(), request.entries.len()), (1, 1));
    }

    #[test]
    fn plain_messages_have_the_format_of_their_session() {
        let read = |said| {
            let brought = read_messages(PLAIN, said, Format::Anthropic, &[]).unwrap();
            brought.conversation.format
        };
        assert_eq!(read(None), Format::Anthropic);
        let chat = MessageForm::Provider(Format::OpenAiChat);
        assert_eq!(read(Some(chat)), Format::OpenAiChat);
        // An answer says what stands around it.
        let text = format!("{PLAIN}\n{CHAT}");
        let mixed = read_messages(&text, None, Format::Anthropic, &[]).unwrap();
        assert_eq!(mixed.conversation.format, Format::OpenAiChat);
    }

    #[test]
    fn what_is_no_message_is_refused_by_its_line() {
        let request = format!(r#"{{"messages":[{PLAIN}]}}"#);
        let unfinished = MESSAGE.replace("\"end_turn\"", "null");
        for (text, line, what) in [
            (String::new(), None, "there are no messages"),
            ("[]".to_owned(), None, "there are no messages"),
            (format!("{PLAIN}\n7"), Some(2), "this is no message"),
            (format!("{PLAIN}\nHello."), Some(2), "not JSON"),
            ("Hello.".to_owned(), Some(1), "not JSON"),
            (format!("{PLAIN}\n\n{request}"), Some(3), "a whole request"),
            (
                format!("{CHAT}\n{MESSAGE}"),
                Some(2),
                "an answer of anthropic",
            ),
            (unfinished, Some(1), ""),
            (
                r#"{"candidates":[]}"#.to_owned(),
                Some(1),
                "answers of Gemini",
            ),
            (
                r#"{"choices":[]}"#.to_owned(),
                Some(1),
                "there is no message",
            ),
        ] {
            let error = read(&text).unwrap_err();
            let at = error.at.as_ref().and_then(|at| at.line);
            assert_eq!(at, line, "{text}: {error}");
            assert!(error.to_string().contains(what), "{text}: {error}");
        }
    }
}
