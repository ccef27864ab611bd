//! The parts together: golden plans, golden prices, golden misses.

use super::*;
use crate::base::key::FrameKey;
use crate::base::tokenizer::CountKind;
use crate::provider::catalogue::Catalogue;
use crate::provider::conform;
use crate::write::world::World;

fn world(model: &str) -> World {
    World::for_model(model, FrameKey::new("test", [7; 32])).unwrap()
}

/// A catalogue with a model whose counts are exact and whose prices are round.
fn round(cache: &str) -> World {
    let text = format!(
        "[models.round]\nwindow = 200000\nreserve = 10\ntokenizer = \"o200k_base\"\nprovider = \"anthropic\"\n\
         chat = {{ per_message = 0, reply = 0, per_tool = 0, tools = 0, per_call = 0 }}\n\
         prices = [{{ input = \"4.00\", cache_read = \"0.20\", cache_write_5m = \"5.00\", cache_write_1h = \"8.00\" }}]\n\
         cache = {cache}\n"
    );
    let catalogue = Catalogue::parse(&text).unwrap();
    World::from_catalogue(&catalogue, "round", FrameKey::new("test", [7; 32])).unwrap()
}

const EXPLICIT: &str = "{ kind = \"explicit\", mark = \"cache_control\", min_tokens = 100, breakpoints = 4, \
                        lookback_blocks = 20, ttl_seconds = [300, 3600] }";

/// A text of exactly so many tokens.
fn words(tokens: usize) -> String {
    " word".repeat(tokens)
}

/// A conversation of so many exchanges of this many blocks each.
fn conversation(exchanges: usize, blocks: usize) -> String {
    let mut messages = Vec::new();
    for exchange in 0..exchanges {
        let text = |at: usize| {
            format!(
                "{{\"type\":\"text\",\"text\":\"{exchange}.{at}{}\"}}",
                words(20)
            )
        };
        let content: Vec<String> = (0..blocks).map(text).collect();
        messages.push(format!(
            "{{\"role\":\"user\",\"content\":[{}]}}",
            content.join(",")
        ));
        messages.push(format!(
            "{{\"role\":\"assistant\",\"content\":[{}]}}",
            text(99)
        ));
    }
    messages.push("{\"role\":\"user\",\"content\":\"And now?\"}".to_owned());
    format!(
        "{{\"model\":\"round\",\"max_tokens\":9,\"tools\":[{{\"name\":\"t\",\"description\":\"{}\",\"input_schema\":{{}}}}],\
         \"system\":\"{}\",\"messages\":[{}]}}",
        words(200),
        words(300),
        messages.join(",")
    )
}

fn sent(body: &str) -> Sent<'_> {
    Sent::body(Format::Anthropic, body).unwrap()
}

fn places(plan: &CachePlan) -> Vec<(&str, Why)> {
    plan.breakpoints.iter().map(|point| (point.at.as_str(), point.why)).collect()
}

fn planned(world: &World, body: &str, options: &Options) -> CachePlan {
    plan(
        world,
        &Sent::body(Format::Anthropic, body).unwrap(),
        options,
        None,
    )
    .unwrap()
}

#[test]
fn zones_and_the_end_are_marked_first() {
    let world = round(EXPLICIT);
    let body = conversation(1, 1);
    let plan = planned(&world, &body, &Options::default());
    let expected = [
        ("tools[0]", Why::ZoneEnd),
        ("system", Why::ZoneEnd),
        ("messages[2].content", Why::End),
    ];
    assert_eq!(places(&plan), expected);
    let zones: Vec<CacheZone> = plan.breakpoints.iter().map(|point| point.zone).collect();
    assert_eq!(
        zones,
        [CacheZone::Platform, CacheZone::Project, CacheZone::Turn]
    );
    // What was planned is what stands there.
    let marked = plan.apply(&body).unwrap();
    assert!(conform::check(Format::Anthropic, &marked, None).unwrap().is_empty());
    assert!(marked.contains(
        "[{\"cache_control\":{\"type\":\"ephemeral\"},\"text\":\"And now?\",\"type\":\"text\"}]"
    ));
    let again = planned(&world, &marked, &Options::default());
    assert!(again.by_author);
    assert_eq!(again.apply(&marked).unwrap(), marked);
    let tokens =
        |plan: &CachePlan| plan.breakpoints.iter().map(|point| point.tokens).collect::<Vec<_>>();
    assert_eq!(tokens(&again), tokens(&plan));
}

#[test]
fn prices_are_those_of_the_catalogue() {
    let world = round(EXPLICIT);
    let body = format!(
        "{{\"max_tokens\":9,\"system\":\"{}\",\"messages\":[{{\"role\":\"user\",\"content\":\"{}\"}},\
         {{\"role\":\"assistant\",\"content\":\"ok\"}},{{\"role\":\"user\",\"content\":\"{}\"}}]}}",
        words(1_000),
        words(500),
        words(249)
    );
    let mut options = Options::default();
    (options.ttl, options.floor_ttl) = (Some(300), Some(3_600));
    let plan = planned(&world, &body, &options);
    assert_eq!(
        (plan.total_tokens, plan.count),
        (1_750, CountKind::Published)
    );
    let points: Vec<_> = plan
        .breakpoints
        .iter()
        .map(|point| {
            (
                point.tokens,
                point.ttl_seconds,
                point.write.unwrap().to_string(),
                point.read.unwrap().to_string(),
            )
        })
        .collect();
    assert_eq!(
        points,
        [
            // 1,000 tokens at 8.00, then 750 at 5.00 a million; each prefix is read at 0.20.
            (1_000, Some(3_600), "0.008".to_owned(), "0.0002".to_owned()),
            (1_750, Some(300), "0.00375".to_owned(), "0.00035".to_owned()),
        ]
    );
    let costs = plan.cost.unwrap();
    assert_eq!(costs.uncached.to_string(), "0.007");
    assert_eq!(costs.first.to_string(), "0.01175");
    assert_eq!(costs.again.to_string(), "0.00035");

    // The system changes: what was held, 1,750 tokens, is written again at 5.00 and not read at 0.20.
    let later = body.replacen(" word", " weird", 1);
    let why = explain(&world, &sent(&body), &sent(&later)).unwrap();
    assert_eq!(
        (why.cause, why.held_tokens, why.missed_tokens),
        (MissCause::SystemChanged, 1_750, 1_750)
    );
    assert_eq!(why.miss_cost.unwrap().to_string(), "0.0084");
    assert_eq!(why.input_cost.unwrap().to_string(), "0.00875");
}

#[test]
fn a_long_turn_is_bridged_by_a_mark_where_the_last_request_ended() {
    let world = round(EXPLICIT);
    // The model's one answer of 25 calls, and their 25 results.
    let calls: Vec<String> = (0..25)
        .map(|at| {
            format!("{{\"type\":\"tool_use\",\"id\":\"c{at}\",\"name\":\"t\",\"input\":{{}}}}")
        })
        .collect();
    let results: Vec<String> = (0..25)
        .map(|at| {
            format!(
                "{{\"type\":\"tool_result\",\"tool_use_id\":\"c{at}\",\"content\":\"{}\"}}",
                words(9)
            )
        })
        .collect();
    let head = format!(
        "{{\"max_tokens\":9,\"tools\":[{{\"name\":\"t\",\"input_schema\":{{}}}}],\"system\":\"{}\",\"messages\":[{{\"role\":\"user\",\"content\":\"Go.\"}}",
        words(200)
    );
    let before = format!("{head}]}}");
    let after = format!(
        "{head},{{\"role\":\"assistant\",\"content\":[{}]}},{{\"role\":\"user\",\"content\":[{}]}}]}}",
        calls.join(","),
        results.join(",")
    );
    let plan = planned(&world, &after, &Options::default());
    assert!(
        places(&plan).contains(&("messages[0].content", Why::LastRequest)),
        "{:?}",
        places(&plan)
    );
    let why = explain(&world, &sent(&before), &sent(&after)).unwrap();
    assert_eq!((why.cause, why.missed_tokens), (MissCause::None, 0));
    assert!(why.cached_tokens > 200);
    // With the end alone marked, nothing is found: it lies 50 blocks back.
    let end = |body: &str| {
        let at = body.rfind("}]}]}").or(body.rfind("\"}]}")).unwrap();
        let at = if body[at..].starts_with('"') {
            at + 1
        } else {
            at
        };
        format!(
            "{},\"cache_control\":{{\"type\":\"ephemeral\"}}{}",
            &body[..at],
            &body[at..]
        )
    };
    let blocks = before.replace("\"Go.\"", "[{\"type\":\"text\",\"text\":\"Go.\"}]");
    let later = after.replace("\"Go.\"", "[{\"type\":\"text\",\"text\":\"Go.\"}]");
    let (blocks, later) = (end(&blocks), end(&later));
    let why = explain(&world, &sent(&blocks), &sent(&later)).unwrap();
    assert_eq!((why.cause, why.cached_tokens), (MissCause::None, 0));
    assert!(why.missed_tokens > 200 && !why.planned_marks);
}

#[test]
fn a_long_history_is_marked_at_places_that_stay() {
    let world = round(EXPLICIT);
    // 40 blocks in one message, which no request before ended in.
    let body = conversation(1, 40).replace("\"tools\":[", "\"t\":[");
    let plan = planned(&world, &body, &Options::default());
    let found = places(&plan);
    assert!(
        found.contains(&("messages[0].content[29]", Why::LookBack)),
        "{found:?}"
    );
    let longer = conversation(1, 43).replace("\"tools\":[", "\"t\":[");
    let again = planned(&world, &longer, &Options::default());
    assert!(places(&again).contains(&("messages[0].content[29]", Why::LookBack)));
}

#[test]
fn marks_of_the_request_before_keep_their_places() {
    let world = round(EXPLICIT);
    let before = conversation(2, 3);
    let marked = planned(&world, &before, &Options::default()).apply(&before).unwrap();
    let more: Vec<String> = (0..30)
        .map(|at| format!("{{\"type\":\"text\",\"text\":\"more {at}\"}}"))
        .collect();
    let after = before.replace(
        "\"And now?\"}]",
        &format!("\"And now?\"}},{{\"role\":\"assistant\",\"content\":\"So.\"}},{{\"role\":\"user\",\"content\":[{}]}}]", more.join(",")),
    );
    let plan = super::plan(
        &world,
        &sent(&after),
        &Options::default(),
        Some(&sent(&marked)),
    )
    .unwrap();
    assert!(
        places(&plan).contains(&("messages[4].content", Why::LastRequest)),
        "{:?}",
        places(&plan)
    );
    let after = plan.apply(&after).unwrap();
    let why = explain(&world, &sent(&marked), &sent(&after)).unwrap();
    assert_eq!(
        (why.cause, why.missed_tokens, why.planned_marks),
        (MissCause::None, 0, false)
    );
}

#[test]
fn the_automatic_mark_takes_a_slot() {
    let world = round(EXPLICIT);
    let body = conversation(4, 16);
    let options = Options {
        automatic: true,
        ..Options::default()
    };
    let plan = planned(&world, &body, &options);
    assert_eq!(plan.breakpoints.len(), 4);
    assert_eq!(plan.breakpoints.last().unwrap().why, Why::Automatic);
    let marked = plan.apply(&body).unwrap();
    assert!(marked.ends_with("],\"cache_control\":{\"type\":\"ephemeral\"}}"));
    assert!(conform::check(Format::Anthropic, &marked, None).unwrap().is_empty());
    assert_eq!(strip(Format::Anthropic, &marked).unwrap(), body);
    let sent = Sent::body(Format::OpenAiChat, "[]").unwrap();
    let error = super::plan(&super::tests::world("gpt-5.6"), &sent, &options, None).unwrap_err();
    assert!(error.what.contains("automatic"));
}

#[test]
fn signed_messages_and_blank_texts_take_no_mark() {
    let world = round(
        "{ kind = \"explicit\", mark = \"cache_control\", breakpoints = 4, lookback_blocks = 20, ttl_seconds = [300] }",
    );
    let body = r#"{"max_tokens":9,"messages":[{"role":"user","content":"Go."},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"abc="},{"type":"text","text":"So."}]}, {"role":"user","content":[{"type":"text","text":" "}]}]}"#;
    let plan = planned(&world, body, &Options::default());
    assert_eq!(places(&plan), [("messages[0].content", Why::End)]);
}

#[test]
fn lifetimes_are_those_of_the_model_and_the_longer_stand_first() {
    let world = round(EXPLICIT);
    let body = conversation(1, 1);
    let sent = Sent::body(Format::Anthropic, &body).unwrap();
    let refused = |ttl, floor_ttl| {
        let mut options = Options::default();
        (options.ttl, options.floor_ttl) = (ttl, floor_ttl);
        super::plan(&world, &sent, &options, None).unwrap_err()
    };
    assert_eq!(refused(Some(60), None).expected.unwrap(), "5m or 1h");
    assert!(refused(Some(3_600), Some(300)).what.contains("shorter"));
    assert_eq!(seconds("1h").unwrap(), 3_600);
    for text in ["", "5", "m", "0m", "5 m", "99999999h", "ü"] {
        assert!(seconds(text).is_err(), "{text}");
    }
}

#[test]
fn openai_marks_text_of_the_user_the_system_and_tools_alone() {
    let world = world("gpt-5.6");
    let body = r#"{"model":"gpt-5.6","messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"Go."},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"t","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"ok"},{"role":"assistant","content":"Done."}]}"#;
    let sent = Sent::body(Format::OpenAiChat, body).unwrap();
    let plan = plan(&world, &sent, &Options::default(), None).unwrap();
    let expected = [
        ("messages[0].content", Why::ZoneEnd),
        ("messages[1].content", Why::LastRequest),
        ("messages[3].content", Why::End),
    ];
    assert_eq!(places(&plan), expected);
    let marked = plan.apply(body).unwrap();
    assert!(marked.contains(r#"{"role":"tool","tool_call_id":"c1","content":[{"prompt_cache_breakpoint":{"mode":"explicit"},"text":"ok","type":"text"}]}"#), "{marked}");
    assert!(marked.contains(
        r#","prompt_cache_options":{"mode":"explicit","ttl":"30m"},"prompt_cache_key":"tenure-"#
    ));
    assert!(conform::check(Format::OpenAiChat, &marked, None).unwrap().is_empty());
    assert_eq!(strip(Format::OpenAiChat, &marked).unwrap(), body);

    // The next request finds the prefix at the mark that the last one wrote, and nowhere else.
    let next = body.replace(
        "\"Done.\"}",
        "\"Done.\"},{\"role\":\"user\",\"content\":\"Thanks.\"}",
    );
    let next = Sent::body(Format::OpenAiChat, &next).unwrap();
    let why = explain(&world, &sent, &next).unwrap();
    assert_eq!((why.cause, why.missed_tokens), (MissCause::None, 0));
    assert!(why.cached_tokens > 0);
    let items = r#"{"model":"gpt-5.6","instructions":"Be brief.","input":[{"role":"user","content":[{"type":"input_text","text":"Go."}]},{"type":"function_call","call_id":"c1","name":"t","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"ok"}]}"#;
    let sent = Sent::body(Format::OpenAiResponses, items).unwrap();
    let plan = super::plan(&world, &sent, &Options::default(), None).unwrap();
    assert_eq!(
        places(&plan),
        [
            ("input[0].content[0]", Why::LastRequest),
            ("input[2].output", Why::End)
        ]
    );
    let marked = plan.apply(items).unwrap();
    assert!(marked.contains(r#""output":[{"prompt_cache_breakpoint":{"mode":"explicit"},"text":"ok","type":"input_text"}]"#));
    assert_eq!(strip(Format::OpenAiResponses, &marked).unwrap(), items);
}

#[test]
fn before_gpt_5_6_prefixes_are_held_in_steps() {
    let world = world("gpt-4o");
    let body = |words_of: usize, ask: &str| {
        format!(
            "{{\"model\":\"gpt-4o\",\"messages\":[{{\"role\":\"system\",\"content\":\"{}\"}},{{\"role\":\"user\",\"content\":\"{ask}\"}}]}}",
            words(words_of)
        )
    };
    let (a, b) = (body(1_500, "Go."), body(1_500, "Stay."));
    let sent = |body| Sent::body(Format::OpenAiChat, body).unwrap();
    let plan = plan(&world, &sent(&a), &Options::default(), None).unwrap();
    assert!(
        plan.breakpoints
            .iter()
            .all(|point| !point.marks && point.held_tokens % 128 == 0)
    );
    assert_eq!(plan.breakpoints[0].held_tokens, 1_408);
    let marked = plan.apply(&a).unwrap();
    assert!(marked.contains(",\"prompt_cache_key\":\"tenure-") && !marked.contains("breakpoint"));
    assert_eq!(strip(Format::OpenAiChat, &marked).unwrap(), a);
    let why = explain(&world, &sent(&a), &sent(&b)).unwrap();
    assert_eq!(
        (why.cause, why.cached_tokens),
        (MissCause::MessagesChanged, 1_408)
    );
    let (a, b) = (body(900, "Go."), body(900, "Stay."));
    assert_eq!(
        explain(&world, &sent(&a), &sent(&b)).unwrap().cached_tokens,
        0
    );
    // A change within a text keeps what stands before it.
    let (a, b) = (
        body(3_000, "Go."),
        body(3_000, "Go.").replacen(
            &words(3_000),
            &format!("{}!{}", words(2_000), words(999)),
            1,
        ),
    );
    let why = explain(&world, &sent(&a), &sent(&b)).unwrap();
    assert_eq!(
        (why.cause, why.cached_tokens),
        (MissCause::SystemChanged, 1_920)
    );
}

#[test]
fn settings_lose_what_the_table_says() {
    let world = round(EXPLICIT);
    let body = conversation(1, 1);
    let system = planned(&world, &body, &Options::default()).breakpoints[1].tokens;
    let tools = planned(&world, &body, &Options::default()).breakpoints[0].tokens;
    for (field, cause, setting, cached) in [
        (
            "\"tool_choice\":{\"type\":\"any\"}",
            MissCause::MessagesChanged,
            "tool_choice",
            system,
        ),
        (
            "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":9}",
            MissCause::MessagesChanged,
            "thinking",
            system,
        ),
        (
            "\"output_config\":{\"effort\":\"low\"}",
            MissCause::MessagesChanged,
            "output_config.effort",
            system,
        ),
        (
            "\"speed\":\"fast\"",
            MissCause::SystemChanged,
            "speed",
            tools,
        ),
    ] {
        let later = body.replacen("\"max_tokens\":9", &format!("\"max_tokens\":9,{field}"), 1);
        let why = explain(&world, &sent(&body), &sent(&later)).unwrap();
        assert_eq!((why.cause, why.cached_tokens), (cause, cached), "{field}");
        assert_eq!(why.settings[0].setting, setting);
        assert!(why.first.is_none() && why.missed_tokens > 0);
    }
    let other = body.replacen("\"model\":\"round\"", "\"model\":\"other\"", 1);
    let why = explain(&world, &sent(&body), &sent(&other)).unwrap();
    assert_eq!(
        (why.cause, why.cached_tokens, why.first.unwrap().byte_after),
        (MissCause::ModelChanged, 0, 9)
    );
    let image = body.replacen(
        "\"And now?\"",
        r#"[{"type":"image","source":{"type":"url","url":"u"}}]"#,
        1,
    );
    let why = explain(&world, &sent(&body), &sent(&image)).unwrap();
    assert_eq!(why.settings[0].setting, "images");
    let tool = body.replacen("word", "weird", 1);
    let why = explain(&world, &sent(&body), &sent(&tool)).unwrap();
    assert_eq!((why.cause, why.cached_tokens), (MissCause::ToolsChanged, 0));
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    for body in [
        "",
        "{",
        "7",
        "{\"messages\":{}}",
        "{}",
        "{\"messages\":[1]}",
        "{\"messages\":[{\"role\":7}]}",
    ] {
        let error = Sent::body(Format::Anthropic, body).err().unwrap();
        assert!(error.expected.is_some(), "{body}: {error}");
    }
    let a = Sent::body(Format::Anthropic, "[]").unwrap();
    let b = Sent::body(Format::Gemini, "[]").unwrap();
    assert!(explain(&world("gpt-4o"), &a, &b).is_err());
    // Nothing is there, and nothing is known: no panic.
    let plan = plan(&world("cl100k_base"), &a, &Options::default(), None).unwrap();
    assert!(plan.breakpoints.is_empty() && plan.notes[0].contains("not known"));
    assert_eq!(
        explain(&world("gpt-4o"), &a, &a).unwrap().cause,
        MissCause::None
    );
}

/// A body as an agent marks it: its tool, its system's text, and these blocks of three messages.
fn marked_by_author(floor: &str, blocks: [&str; 3]) -> String {
    let text = |at: usize, mark: &str| {
        format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{at}{}\"{mark}}}]}}",
            words(200)
        )
    };
    let messages: Vec<String> = (0..3).map(|at| text(at, blocks[at])).collect();
    let answer = r#",{"role":"assistant","content":"Yes."},"#;
    format!(
        "{{\"tools\":[{{\"name\":\"a\",\"input_schema\":{{}}}}],\"system\":[{{\"type\":\"text\",\"text\":\"{}\"{floor}}}],\"messages\":[{}]}}",
        words(200),
        messages.join(answer)
    )
}

#[test]
fn an_authors_marks_on_messages_are_set_anew_but_for_the_last() {
    let world = round(EXPLICIT);
    let mut options = Options {
        renew: true,
        ..Options::default()
    };
    let hour = r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#;
    let odd = r#" , "cache_control" : { "ttl":"5m", "type":"ephemeral" } "#;
    let short = r#","cache_control":{"type":"ephemeral"}"#;
    let renewed = |body: &str, options: &Options| {
        let marked = marked(&world, Format::Anthropic, body, options).unwrap();
        let again = super::marked(&world, Format::Anthropic, &marked, options).unwrap();
        assert_eq!(again, marked);
        marked
    };
    // The last one and the system's stay byte for byte; what stood between is gone.
    let body = marked_by_author(hour, [short, short, odd]);
    let marked = renewed(&body, &options);
    let expected = marked_by_author(hour, ["", "", odd]);
    assert_eq!(marked.matches("cache_control").count(), 2, "{marked}");
    assert_eq!(marked, expected);
    // Without one on the last block it is set, for as long as the author's others are kept.
    let body = marked_by_author(hour, [hour, "", ""]);
    let (floor, messages) = lifetimes(Format::Anthropic, &body).unwrap();
    assert_eq!((floor, messages), (Some(3_600), Some(3_600)));
    (options.ttl, options.floor_ttl) = (messages, floor);
    assert_eq!(
        renewed(&body, &options),
        marked_by_author(hour, ["", "", hour])
    );
    // A new mark lives no longer than one before it.
    let body = marked_by_author(short, [hour, "", ""]);
    assert_eq!(
        renewed(&body, &options),
        marked_by_author(short, ["", "", short])
    );
    // Nor shorter than the provider's own behind it.
    (options.ttl, options.floor_ttl) = (None, None);
    let own = |body: String| format!("{{{}{}", &hour[1..], body.replacen('{', ",", 1));
    let body = own(marked_by_author("", ["", short, ""]));
    let marked = renewed(&body, &options);
    assert!(!marked.contains("\"ephemeral\"}"), "{marked}");
    assert!(marked.matches("cache_control").count() <= 4, "{marked}");
}

#[test]
fn there_is_never_a_fifth_mark() {
    let world = round(EXPLICIT);
    let options = Options {
        renew: true,
        ..Options::default()
    };
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let body = marked_by_author(mark, [mark, mark, mark]);
    let marks = |body: &str| {
        let marked = marked(&world, Format::Anthropic, body, &options).unwrap();
        let last = marked[marked.len() - 100..].contains("cache_control");
        (marked.matches("cache_control").count(), last)
    };
    assert!(marks(&body).0 <= 4 && marks(&body).1);
    // All four stand before the messages, one of them on a tool that is none of its blocks.
    let tools = |count: usize| {
        let search = format!(r#"{{"type":"web_search_20250305","name":"web_search"{mark}}},"#);
        let tools: String = (0..count)
            .map(|at| format!(r#"{{"name":"t{at}","input_schema":{{}}{mark}}},"#))
            .collect();
        body.replacen("\"tools\":[", &format!("\"tools\":[{search}{tools}"), 1)
    };
    assert_eq!(marks(&tools(2)), (4, false));
    assert_eq!(marks(&tools(1)), (4, true));
    // A mark within a result is one, too.
    let result = format!(
        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c","content":[{{"type":"text","text":"x"{mark}}}]{mark}}}]}}]}}"#
    );
    let within = format!("{},{result}", &body[..body.len() - 2]);
    assert!(marks(&within).0 <= 4 && marks(&within).1);
}

#[test]
fn openais_own_breakpoints_are_set_anew_beside_its_options() {
    let world = world("gpt-5.6");
    let options = Options {
        renew: true,
        ..Options::default()
    };
    let mark = r#","prompt_cache_breakpoint":{"mode":"explicit"}"#;
    let body = |marks: [&str; 3]| {
        let [system, first, last] = marks;
        let text = |text: &str, mark: &str| format!(r#"[{{"type":"text","text":"{text}"{mark}}}]"#);
        format!(
            r#"{{"prompt_cache_options":{{"mode":"explicit"}},"messages":[{{"role":"developer","content":{}}},{{"role":"user","content":{}}},{{"role":"assistant","content":"Yes."}},{{"role":"user","content":{}}}],"prompt_cache_key":"k"}}"#,
            text(&words(2_000), system),
            text("One.", first),
            text("Two.", last)
        )
    };
    let renewed = |marks| marked(&world, Format::OpenAiChat, &body(marks), &options).unwrap();
    // The system's stays; a prefix is found at a mark only, so the end of the request before has one, too.
    let all = body([mark, mark, mark]);
    assert_eq!(renewed([mark, mark, ""]), all);
    assert_eq!(renewed([mark, "", mark]), all);
    assert_eq!(renewed([mark, mark, mark]), all);
}
