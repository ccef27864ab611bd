//! A provider's answer as the message that its client sends back: taken out of a whole answer, or put
//! together from the events of a stream.
//!
//! What was given whole keeps its bytes. An answer that is not at its end makes no message.

use super::Format;
use super::json::JsonPath;
use super::stream::json;
use crate::base::error::Error;
use crate::provider::formats::dialect;

/// The message in a whole answer: for the responses format the items of the turn, with commas between.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is no answer of this form, is not at its end, or
/// offers several messages to choose from.
///
/// ```
/// use tenure::wire::{Format, reply};
/// let answer = r#"{"id":"c","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"Hi.","refusal":null}}]}"#;
/// assert_eq!(reply(Format::OpenAiChat, answer)?, r#"{"role":"assistant","content":"Hi."}"#);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn reply(format: Format, answer: &str) -> Result<String, Error> {
    let place = JsonPath::new("answer");
    let whole = json(&place, answer)?;
    let fields = place.fields(whole)?;
    let replies = dialect(format).replies.as_ref().ok_or_else(unknown)?;
    (replies.whole)(&place, &fields)
}

/// The message that the events of a stream make: the text as it was sent, with `data:` lines.
///
/// # Errors
///
/// As [`reply`], and when the stream holds an event that says that the answer failed, or a piece of a
/// kind that is not known.
///
/// ```
/// use tenure::wire::{Format, streamed_reply};
/// let events = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"It \"}}]}\n\n\
///     data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"runs.\"},\"finish_reason\":\"stop\"}]}\n\n\
///     data: [DONE]\n\n";
/// assert_eq!(streamed_reply(Format::OpenAiChat, events)?, r#"{"role":"assistant","content":"It runs."}"#);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn streamed_reply(format: Format, events: &str) -> Result<String, Error> {
    let replies = dialect(format).replies.as_ref().ok_or_else(unknown)?;
    let mut stream = (replies.stream)();
    for (at, data) in data(events).enumerate() {
        if data.trim() == "[DONE]" {
            break;
        }
        let place = JsonPath::new("events").at(at);
        let event = json(&place, &data)?;
        let fields = place.fields(event)?;
        if fields.get("error").is_some() {
            return Err(place.wrong("the answer failed", "an answer that came to its end"));
        }
        stream.take(&place, &fields)?;
    }
    stream.end(&JsonPath::new("events"))
}

fn unknown() -> Error {
    Error::unsupported("answers of this format")
}

/// The data of the events, one after the other.
fn data(events: &str) -> impl Iterator<Item = String> {
    let mut lines = events.lines();
    std::iter::from_fn(move || {
        let mut data: Option<String> = None;
        for line in lines.by_ref() {
            match line.strip_prefix("data:") {
                Some(more) => {
                    let more = more.strip_prefix(' ').unwrap_or(more);
                    match &mut data {
                        Some(data) => {
                            data.push('\n');
                            data.push_str(more);
                        }
                        None => data = Some(more.to_owned()),
                    }
                }
                None if line.is_empty() && data.is_some() => break,
                None => {}
            }
        }
        data
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_answer_is_its_message() {
        let chat = r#"{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"content":null,"role":"assistant","annotations":[],
            "tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"n\": 12345678901234567890}"}}]}}]}"#;
        assert_eq!(
            reply(Format::OpenAiChat, chat).unwrap(),
            r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"n\": 12345678901234567890}"}}]}"#
        );
        let content =
            r#"[{"type":"thinking","thinking":"Hm.","signature":"c2ln"}, {"type":"new","x":1.50}]"#;
        let message = format!(r#"{{"content":{content},"stop_reason":"end_turn"}}"#);
        assert_eq!(
            reply(Format::Anthropic, &message).unwrap(),
            format!(r#"{{"role":"assistant","content":{content}}}"#)
        );
        let response = r#"{"status":"completed","output":[{"type":"reasoning","id":"r"}, {"type":"message","role":"assistant","content":[]}]}"#;
        assert_eq!(
            reply(Format::OpenAiResponses, response).unwrap(),
            r#"{"type":"reasoning","id":"r"},{"type":"message","role":"assistant","content":[]}"#
        );
    }

    #[test]
    fn what_is_no_whole_answer_makes_no_message() {
        let two =
            r#"{"choices":[{"message":{"role":"assistant"}},{"message":{"role":"assistant"}}]}"#;
        for (format, text) in [
            (Format::OpenAiChat, two),
            (Format::OpenAiChat, r#"{"error":{"message":"no"}}"#),
            (Format::OpenAiChat, "Bad gateway"),
            (Format::Anthropic, r#"{"content":[],"stop_reason":null}"#),
            (Format::Anthropic, r#"{"type":"error"}"#),
            (
                Format::OpenAiResponses,
                r#"{"status":"queued","output":[{}]}"#,
            ),
            (
                Format::OpenAiResponses,
                r#"{"status":"completed","output":[]}"#,
            ),
            (Format::Gemini, "{}"),
        ] {
            assert!(reply(format, text).is_err(), "{text}");
        }
    }

    fn sse(events: &[&str]) -> String {
        events.iter().map(|event| format!("data: {event}\n\n")).collect()
    }

    #[test]
    fn a_chat_message_grows() {
        let events = [
            r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"H"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"reasoning_content":"m","content":"He"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"llo é","tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"go","arguments":""}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"look","arguments":"{\"a\""}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"id":"b","function":{"arguments":"{}"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":1}}"#,
        ];
        let all = sse(&events) + "data: [DONE]\n\n";
        assert_eq!(
            streamed_reply(Format::OpenAiChat, &all).unwrap(),
            r#"{"role":"assistant","reasoning_content":"Hm","content":"Hello é","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"a\":1}"}},{"id":"b","type":"function","function":{"name":"go","arguments":"{}"}}]}"#
        );
        // Without its end it is none.
        assert!(streamed_reply(Format::OpenAiChat, &sse(&events[..5])).is_err());
        let failed = sse(&events[..2]) + "data: {\"error\":{\"message\":\"no\"}}\n\n";
        assert!(streamed_reply(Format::OpenAiChat, &failed).is_err());
        // However deep a piece is nested, it is refused and not followed.
        let deep = format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
        let deep = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{deep}}}]}}\n\n");
        let error = streamed_reply(Format::OpenAiChat, &deep).unwrap_err();
        assert!(error.to_string().contains("too deep"), "{error}");
    }

    #[test]
    fn calls_of_compatible_servers_are_told_apart() {
        let end = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#;
        let calls = |pieces: &[&str]| {
            let chunks: Vec<String> = pieces
                .iter()
                .map(|call| {
                    format!(r#"{{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}}}}]}}"#)
                })
                .collect();
            let mut events: Vec<&str> = chunks.iter().map(String::as_str).collect();
            events.push(end);
            streamed_reply(Format::OpenAiChat, &sse(&events)).unwrap()
        };
        // Id and name with each piece.
        let one = r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"look","arguments":"{\"q\":1}"}}]}"#;
        let begins = r#"{"index":0,"id":"a","function":{"name":"look","arguments":"{\"q\""}}"#;
        let goes_on = r#"{"index":0,"id":"a","function":{"name":"look","arguments":":1}"}}"#;
        assert_eq!(calls(&[begins, goes_on]), one);
        let nameless = r#"{"index":0,"id":"","function":{"name":"","arguments":":1}"}}"#;
        assert_eq!(calls(&[begins, nameless]), one);
        let bare = [begins, goes_on].map(|call| call.replace(r#""index":0,"#, ""));
        assert_eq!(calls(&[&bare[0], &bare[1]]), one);
        // Two calls of one index.
        let other = r#"{"index":0,"id":"b","function":{"name":"look","arguments":"{}"}}"#;
        let rest = r#"{"index":0,"function":{"arguments":":1}"}}"#;
        let two = one.replace(
            "]}",
            r#",{"id":"b","function":{"name":"look","arguments":"{}"}}]}"#,
        );
        assert_eq!(calls(&[begins, rest, other]), two);
        assert_eq!(calls(&[begins, other, goes_on]), two);
    }

    #[test]
    fn blocks_grow_and_keep_what_they_began_with() {
        let events = [
            r#"{"type":"message_start","message":{"id":"m","content":[]}}"#,
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"."}}"#,
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"ping"}"#,
            r#"{"type":"content_block_start","index":1,"content_block":{"type":"server_made","odd":1.50}}"#,
            r#"{"type":"content_block_stop","index":1}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"look","input":{}}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"n\": 123456789"}}"#,
            r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"01234567890}"}}"#,
            r#"{"type":"content_block_stop","index":2}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
            r#"{"type":"message_stop"}"#,
        ];
        assert_eq!(
            streamed_reply(Format::Anthropic, &sse(&events)).unwrap(),
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"server_made","odd":1.50},{"type":"tool_use","id":"t","name":"look","input":{"n": 12345678901234567890}}]}"#
        );
        for end in 1..events.len() {
            assert!(streamed_reply(Format::Anthropic, &sse(&events[..end])).is_err());
        }
        let strange = [
            events[1],
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"new_delta"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"message_stop"}"#,
        ];
        assert!(streamed_reply(Format::Anthropic, &sse(&strange)).is_err());
    }

    #[test]
    fn items_are_those_that_were_done() {
        let reasoning = r#"{"type":"reasoning","id":"r","encrypted_content":"xx","summary":[]}"#;
        let call =
            r#"{"type":"function_call","id":"f","call_id":"c","name":"look","arguments":"{}"}"#;
        let done = |at: u32, item: &str| {
            format!(r#"{{"type":"response.output_item.done","output_index":{at},"item":{item}}}"#)
        };
        let end = r#"{"type":"response.completed","response":{"status":"completed","output":[]}}"#;
        let all = sse(&[&done(1, call), &done(0, reasoning), end]);
        assert_eq!(
            streamed_reply(Format::OpenAiResponses, &all).unwrap(),
            format!("{reasoning},{call}")
        );
        let last = format!(
            r#"{{"type":"response.completed","response":{{"status":"completed","output":[{call}]}}}}"#
        );
        assert_eq!(
            streamed_reply(Format::OpenAiResponses, &sse(&[&last])).unwrap(),
            call
        );
        let cut = sse(&[&done(0, reasoning)]);
        assert!(streamed_reply(Format::OpenAiResponses, &cut).is_err());
        let failed = sse(&[
            &done(0, call),
            r#"{"type":"response.failed","response":{}}"#,
        ]);
        assert!(streamed_reply(Format::OpenAiResponses, &failed).is_err());
    }
}
