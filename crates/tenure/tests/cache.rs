//! Random requests of every provider: a plan keeps to the provider's limits, its marks change nothing
//! else and can be taken back, and one changed byte is found wherever it is.

use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tenure::cache::{MissCause, Options, Sent, explain, plan, strip};
use tenure::conform::check;
use tenure::wire::Format;
use tenure::{Catalogue, FrameKey, World};

/// Worlds whose caches hold every prefix, however short.
fn world(format: Format) -> &'static World {
    static WORLDS: OnceLock<[World; 3]> = OnceLock::new();
    let worlds = WORLDS.get_or_init(|| {
        let over = "[models.claude]\nextends = \"claude-opus-5-5\"\nmargin_percent = 0\ncache = { min_tokens = 1 }\n\
                    [models.gpt]\nextends = \"gpt-5.6\"\ncache = { min_tokens = 1 }\n\
                    [models.gemini]\nextends = \"gemini-3-pro\"\ncache = { kind = \"prefix\", granularity = 1 }\n";
        let catalogue = Catalogue::builtin().unwrap().with_overrides(over, "test").unwrap();
        ["claude", "gpt", "gemini"].map(|name| {
            World::from_catalogue(&catalogue, name, FrameKey::new("test", [7; 32])).unwrap()
        })
    });
    match format {
        Format::Anthropic => &worlds[0],
        Format::Gemini => &worlds[2],
        _ => &worlds[1],
    }
}

/// The letter that only texts hold.
const LETTER: char = 'q';

fn text() -> impl Strategy<Value = String> {
    "[a-pr-z \\\\\"é\n😀]{0,8}q[a-pr-z ]{0,8}"
}

/// Something said, and how: by the user (0), the model (1), as a call with its result (2), as an image (3),
/// signed by the provider (4), by the system (5).
type Said = (u8, Vec<String>, bool);

fn said() -> impl Strategy<Value = Vec<Said>> {
    let one = (0..6u8, prop::collection::vec(text(), 1..24), any::<bool>());
    prop::collection::vec(one, 1..9)
}

fn anthropic(said: &[Said], tools: &[String], system: &[String], bare: bool) -> Value {
    let block = |text: &String| json!({ "type": "text", "text": text });
    let mut messages = vec![json!({ "role": "user", "content": "q" })];
    for (at, (kind, texts, bare)) in said.iter().enumerate() {
        let blocks: Vec<Value> = texts.iter().map(block).collect();
        let content = if *bare {
            json!(texts[0])
        } else {
            json!(blocks)
        };
        let call = |name: usize| format!("c{at}_{name}");
        match kind {
            0 | 5 => messages.push(json!({ "role": "user", "content": content })),
            1 => messages.push(json!({ "role": "assistant", "content": content })),
            2 => {
                let calls = texts.iter().enumerate().map(|(n, text)| {
                    json!({ "type": "tool_use", "id": call(n), "name": "t0", "input": { "a": text } })
                });
                let calls: Vec<Value> = calls.collect();
                let results = texts.iter().enumerate().map(|(n, text)| {
                    let content = if *bare { json!(text) } else { json!([block(text)]) };
                    json!({ "type": "tool_result", "tool_use_id": call(n), "content": content })
                });
                let results: Vec<Value> = results.collect();
                messages.push(json!({ "role": "assistant", "content": calls }));
                messages.push(json!({ "role": "user", "content": results }));
            }
            3 => messages.push(json!({ "role": "user", "content": [
                { "type": "image", "source": { "type": "url", "url": texts[0] } }, block(&texts[0])] })),
            _ => messages.push(json!({ "role": "assistant", "content": [
                { "type": "thinking", "thinking": texts[0], "signature": "aaa=" }, block(&texts[0])] })),
        }
    }
    let tool = |(at, text): (usize, &String)| json!({ "name": format!("t{at}"), "description": text, "input_schema": { "type": "object" } });
    let tools: Vec<Value> = tools.iter().enumerate().map(tool).collect();
    let blocks: Vec<Value> = system.iter().map(block).collect();
    let system = if bare {
        json!(system.concat())
    } else {
        json!(blocks)
    };
    json!({ "model": "claude", "max_tokens": 9, "tools": tools, "system": system, "messages": messages })
}

fn chat(said: &[Said], tools: &[String], system: &[String], responses: bool) -> Value {
    let kind = if responses { "input_text" } else { "text" };
    let part = |text: &String| json!({ "type": kind, "text": text });
    let say = |texts: &[String], bare: bool| {
        let parts: Vec<Value> = texts.iter().map(part).collect();
        if bare { json!(texts[0]) } else { json!(parts) }
    };
    let mut messages: Vec<Value> = system
        .iter()
        .map(|text| json!({ "role": "developer", "content": text }))
        .collect();
    messages.push(json!({ "role": "user", "content": "q" }));
    for (at, (kind, texts, bare)) in said.iter().enumerate() {
        let id = format!("c{at}");
        match kind {
            0 | 3 => messages.push(json!({ "role": "user", "content": say(texts, *bare) })),
            1 | 4 => messages.push(json!({ "role": "assistant", "content": texts[0] })),
            2 if responses => {
                messages.push(json!({ "type": "function_call", "call_id": id, "name": "t0", "arguments": texts[0] }));
                messages.push(json!({ "type": "function_call_output", "call_id": id, "output": say(texts, *bare) }));
            }
            2 => {
                let call = json!({ "id": id, "type": "function", "function": { "name": "t0", "arguments": texts[0] } });
                messages
                    .push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
                messages.push(
                    json!({ "role": "tool", "tool_call_id": id, "content": say(texts, *bare) }),
                );
            }
            _ => messages.push(json!({ "role": "system", "content": texts[0] })),
        }
    }
    let tool = |(at, text): (usize, &String)| {
        let mut tool = json!({ "name": format!("t{at}"), "description": text, "parameters": {} });
        if responses {
            tool["type"] = json!("function");
            tool
        } else {
            json!({ "type": "function", "function": tool })
        }
    };
    let tools: Vec<Value> = tools.iter().enumerate().map(tool).collect();
    if responses {
        json!({ "model": "gpt", "tools": tools, "instructions": "q", "input": messages })
    } else {
        json!({ "model": "gpt", "tools": tools, "messages": messages })
    }
}

fn gemini(said: &[Said], tools: &[String], system: &[String]) -> Value {
    let parts = |texts: &[String]| -> Vec<Value> {
        texts.iter().map(|text| json!({ "text": text })).collect()
    };
    let content = said.iter().map(|(kind, texts, _)| {
        let role = if kind % 2 == 0 { "user" } else { "model" };
        json!({ "role": role, "parts": parts(texts) })
    });
    let contents: Vec<Value> = content.collect();
    let tool =
        |(at, text): (usize, &String)| json!({ "name": format!("t{at}"), "description": text });
    let tools: Vec<Value> = tools.iter().enumerate().map(tool).collect();
    json!({ "tools": [{ "functionDeclarations": tools }], "systemInstruction": { "parts": parts(system) },
            "contents": contents })
}

/// A request of a random provider, written closely or with much white space.
fn request() -> impl Strategy<Value = (Format, String)> {
    let formats = select(Format::ALL);
    let texts = || prop::collection::vec(text(), 1..4);
    (
        formats,
        said(),
        texts(),
        texts(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(format, said, tools, system, bare, wide)| {
            let body = match format {
                Format::Anthropic => anthropic(&said, &tools, &system, bare),
                Format::Gemini => gemini(&said, &tools, &system),
                format => chat(&said, &tools, &system, format == Format::OpenAiResponses),
            };
            let json = if wide {
                serde_json::to_string_pretty(&body)
            } else {
                serde_json::to_string(&body)
            };
            (format, json.unwrap())
        })
}

fn options() -> impl Strategy<Value = (bool, bool, Option<bool>)> {
    (any::<bool>(), any::<bool>(), any::<Option<bool>>())
}

fn chosen(format: Format, (automatic, long, stays): (bool, bool, Option<bool>)) -> Options {
    let mut options = Options::default();
    options.automatic = automatic && format == Format::Anthropic;
    options.floor_ttl = (long && format == Format::Anthropic).then_some(3_600);
    options.turn_stays = stays;
    options
}

proptest! {
    #[test]
    fn plans_keep_to_the_limits_and_marks_can_be_taken_back(
        (format, body) in request(),
        wishes in options(),
    ) {
        let world = world(format);
        let sent = Sent::body(format, &body).unwrap();
        let planned = plan(world, &sent, &chosen(format, wishes), None).unwrap();
        let rules = world.model().cache.as_ref().unwrap();
        let marks: Vec<_> = planned.breakpoints.iter().filter(|point| point.marks).collect();
        prop_assert!(marks.len() <= rules.breakpoints.unwrap_or(0) as usize);
        prop_assert!(planned.breakpoints.is_sorted_by(|a, b| a.tokens <= b.tokens));
        prop_assert!(marks.is_sorted_by(|a, b| a.ttl_seconds >= b.ttl_seconds));
        prop_assert!(planned.breakpoints.iter().all(|point| point.tokens <= planned.total_tokens));

        let marked = planned.apply(&body).unwrap();
        let before = check(format, &body, Some(world.model())).unwrap();
        prop_assert_eq!(before, check(format, &marked, Some(world.model())).unwrap());
        prop_assert_eq!(&strip(format, &marked).unwrap(), &body);
        // Up to the first mark, not a byte differs.
        let sign = marked.find("cache_control").or(marked.find("prompt_cache_")).unwrap_or(marked.len());
        let same = body.bytes().zip(marked.bytes()).take_while(|(a, b)| a == b).count();
        prop_assert!(same + 4 >= sign.min(body.len()), "{} of {}", same, sign);
        // What is marked is left alone, and says the same.
        let again = Sent::body(format, &marked).unwrap();
        let again = plan(world, &again, &chosen(format, wishes), None).unwrap();
        prop_assert!(marks.is_empty() || again.by_author);
        prop_assert_eq!(again.total_tokens, planned.total_tokens);
        prop_assert!(!again.by_author || again.breakpoints.len() == marks.len());
        // Marks are no change.
        let same = explain(world, &sent, &Sent::body(format, &marked).unwrap()).unwrap();
        prop_assert_eq!(same.first, None);
    }

    #[test]
    fn one_changed_byte_is_found_wherever_it_is((format, body) in request(), which in any::<Index>()) {
        let world = world(format);
        let sent = Sent::body(format, &body).unwrap();
        let same = explain(world, &sent, &sent).unwrap();
        prop_assert_eq!((same.cause, same.missed_tokens), (MissCause::None, 0));
        prop_assert_eq!(same.same_blocks, same.blocks_after);

        let letters: Vec<usize> = body.match_indices(LETTER).map(|(at, _)| at).collect();
        let at = letters[which.index(letters.len())];
        let mut other = body.clone();
        other.replace_range(at..=at, "Q");
        let why = explain(world, &sent, &Sent::body(format, &other).unwrap()).unwrap();
        let first = why.first.unwrap();
        prop_assert_eq!((first.byte_before, first.byte_after), (at, at), "{}", &first.at);
        prop_assert_ne!(why.cause, MissCause::None);
        prop_assert!(why.cached_tokens + why.rewritten_tokens == why.total_tokens);
        prop_assert!(why.cached_tokens <= why.same_tokens);

        // Behind marks, too.
        let planned = plan(world, &sent, &Options::default(), None).unwrap();
        let (a, b) = (planned.apply(&body).unwrap(), planned.apply(&other).unwrap());
        let why = explain(world, &Sent::body(format, &a).unwrap(), &Sent::body(format, &b).unwrap()).unwrap();
        let first = why.first.unwrap();
        prop_assert_eq!(&a[first.byte_before..=first.byte_before], "q");
        prop_assert_eq!(&b[first.byte_after..=first.byte_after], "Q");
    }

    #[test]
    fn bytes_of_any_kind_make_no_panic(bytes in "\\PC{0,60}", format in select(Format::ALL)) {
        for body in [bytes.clone(), format!("{{\"messages\":[{bytes}]}}"), format!("{{\"input\":{bytes}}}")] {
            if let Ok(sent) = Sent::body(format, &body) {
                let planned = plan(world(format), &sent, &Options::default(), None).unwrap();
                planned.apply(&body).unwrap();
                explain(world(format), &sent, &sent).unwrap();
            }
        }
    }
}
