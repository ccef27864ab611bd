//! The messages that a caller brings to a session, in the shapes in which SDKs give and take them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;
use tenure::wire::{self, Conversation, Format};
use tenure::{Error, ObjectDocument};

/// What was expected of something else.
const EXPECTED: &str =
    "a request, a message, a list of messages, a provider's answer, or JSON Lines of these";

/// Reads the messages of a text: the body of a request, or messages and whole answers of a provider, one or many, in a
/// list or one after the other (JSON Lines). `format` is what the caller says of them, `own` what they have where they
/// show no sign of any.
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
/// let read = read_messages(answer, None, Format::OpenAiChat, &[])?;
/// assert_eq!(read.entries[0].message, r#"{"role":"assistant","content":"Hi."}"#);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn read_messages(
    text: &str,
    format: Option<Format>,
    own: Format,
    earlier: &[&ObjectDocument],
) -> Result<Conversation, Error> {
    let values = values(text)?;
    if let [(_, one)] = values.as_slice()
        && is_request(one)
    {
        let format = format.or_else(|| Format::detect(one.get()));
        return wire::read_after(format.unwrap_or(own), one.get(), earlier);
    }
    let mut brought = Brought {
        format,
        ..Brought::default()
    };
    for (line, value) in &values {
        brought.take(value).map_err(|error| {
            let place = error.at.as_ref().map(|at| at.source.clone());
            error.at(place.unwrap_or_default(), Some(*line))
        })?;
    }
    if brought.messages.is_empty() {
        return Err(Error::input("there are no messages").expected(EXPECTED));
    }
    let list = format!("[{}]", brought.messages.join(","));
    let format = format
        .or(brought.answered)
        .or_else(|| Format::detect(&list));
    wire::read_after(format.unwrap_or(own), &list, earlier)
}

/// The JSON values of a text, each with its line.
fn values(text: &str) -> Result<Vec<(usize, &RawValue)>, Error> {
    let mut found = Vec::new();
    let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let (mut line, mut counted) = (1, 0);
    for value in values {
        let value = value.map_err(|error| {
            let at = line + error.line().saturating_sub(1);
            Error::input(format!("not JSON: {error}"))
                .at("", Some(if found.is_empty() { error.line() } else { at }))
                .expected(EXPECTED)
        })?;
        let offset = value.get().as_ptr() as usize - text.as_ptr() as usize;
        line += text[counted..offset].matches('\n').count();
        counted = offset;
        found.push((line, value));
    }
    Ok(found)
}

type Fields<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

fn fields(value: &RawValue) -> Option<Fields<'_>> {
    serde_json::from_str(value.get()).ok()
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
struct Brought {
    /// What the caller says of them.
    format: Option<Format>,
    messages: Vec<String>,
    /// The format of the answers among them.
    answered: Option<Format>,
}

impl Brought {
    fn take(&mut self, value: &RawValue) -> Result<(), Error> {
        if value.get().starts_with('[') {
            let list: Vec<&RawValue> = serde_json::from_str(value.get())
                .map_err(|error| Error::input(format!("not a list: {error}")))?;
            return list.into_iter().try_for_each(|item| self.one(item));
        }
        self.one(value)
    }

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
        let value = fields.get(key).map(|value| value.get());
        value.is_some_and(|value| empty.contains(&value))
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
        read_messages(text, None, Format::OpenAiChat, &[])
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
        let read = |format| read_messages(PLAIN, format, Format::Anthropic, &[]).unwrap();
        assert_eq!(read(None).format, Format::Anthropic);
        assert_eq!(read(Some(Format::OpenAiChat)).format, Format::OpenAiChat);
        // An answer says what stands around it.
        let text = format!("{PLAIN}\n{CHAT}");
        let mixed = read_messages(&text, None, Format::Anthropic, &[]).unwrap();
        assert_eq!(mixed.format, Format::OpenAiChat);
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
