//! What leaves first when a window fills: what can be done without, what is stale, what is not pinned.

use crate::support::{Case, STANDARD, merge, passage, rule};
use serde_json::{Value, json};
use tenure::num::Score;
use tenure::request::Strategy;
use tenure::section::Section;
use tenure::{Compiled, Reason, Ruling};

fn turn(name: &str, role: &str, text: &str) -> Value {
    json!({ "name": name, "object_type": "turn", "role": role, "content": text })
}

fn compile(objects: &Value, request: Value, policy: &str) -> Compiled {
    Case::new(objects, request, policy).compile().unwrap()
}

/// The classes of what had no room.
fn classes(compiled: &Compiled) -> Vec<(String, Option<String>)> {
    let verdicts = compiled.trace.verdicts.iter();
    let waiting = verdicts.filter_map(|verdict| match &verdict.reason {
        Reason::NoRoom { class, .. } => {
            let class = class.map(|class| class.to_string());
            Some((verdict.name.to_string(), class))
        }
        _ => None,
    });
    waiting.collect()
}

#[test]
fn what_only_asks_for_a_style_leaves_where_no_one_waits() {
    let long = "The seal of the northern pump was taken out, weighed and put back in. ".repeat(4);
    let objects = json!([
        turn("ask", "user", "Look after the northern pump."),
        turn("step", "assistant", &long),
        turn(
            "style",
            "user",
            "Please be less formal, with a friendlier tone and without jargon."
        ),
        turn(
            "facts",
            "user",
            "The pump must stay below three bar, in a friendly style."
        ),
        turn(
            "number",
            "user",
            "A friendlier tone in at most 3 sentences."
        ),
        turn("now", "user", "What should I do about the pump?"),
    ]);
    let of = |class: &str| {
        let request = json!({ "task": { "task_class": class }, "budget": { "tokens": 20_000 } });
        let policy = "overflow = \"truncate_lowest\"";
        let all = compile(&objects, request.clone(), policy).envelope.total_tokens;
        let mut tight = request;
        merge(&mut tight, json!({ "budget": { "tokens": all - 1 } }));
        classes(&compile(&objects, tight, policy))
    };
    let style = vec![("style".to_owned(), Some("nuanced_preference".to_owned()))];
    assert_eq!(of("batch"), style);
    assert_eq!(of("safety_critical"), style);
    // Whoever waits for the answer reads how it is said: there it is a turn like others.
    let waiting = of("interactive");
    assert!(
        waiting.iter().all(|(name, class)| name != "style" && class.is_none()),
        "{waiting:?}"
    );
}

/// The tokens of a section.
fn tokens(compiled: &Compiled, section: Section) -> u32 {
    let section = compiled.envelope.section(section);
    section.map_or(0, |section| section.tokens)
}

fn is_in(compiled: &Compiled, name: &str) -> bool {
    compiled.trace.verdict(name).unwrap().verdict == Ruling::Included
}

/// The share of its relevance that is left of an object.
fn currency(compiled: &Compiled, name: &str) -> f64 {
    let verdict = compiled.trace.verdict(name).unwrap();
    verdict.score.unwrap().currency.to_f64()
}

fn call(name: &str, id: &str, arguments: Value) -> Value {
    let mut called = turn(name, "assistant", "");
    let call = json!({ "id": id, "name": "read", "arguments": arguments });
    merge(&mut called, json!({ "tool_calls": [call] }));
    called
}

fn result(name: &str, id: &str, text: &str) -> Value {
    json!({
        "name": name, "object_type": "tool_result", "tool_call_id": id, "content": text,
        "provenance": { "source_id": "plc", "retrieved_at": "2026-06-01T00:00:00Z" },
    })
}

#[test]
fn memory_that_was_left_out_takes_nothing_from_the_conversation() {
    let note = |at: usize| {
        let text =
            format!("Note {at}: report the pressure of pump {at} in pascal, rounded to {at}. ");
        rule(json!({ "name": format!("m{at}"), "content": text.repeat(3) }))
    };
    let said = |at: usize| {
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        turn(
            &format!("t{at}"),
            role,
            &format!("Of pump {at} the pressure was read {at} times. ").repeat(2),
        )
    };
    let mut objects: Vec<Value> = (0..40).map(note).collect();
    objects.extend((0..41).map(said));
    let mut objects = Value::from(objects);
    let request = json!({ "budget": { "tokens": 1_200 } });
    let first = compile(&objects, request.clone(), STANDARD);
    let next = |objects: &Value, more: Value| {
        let mut request = request.clone();
        merge(&mut request, json!({ "served": first.envelope.served }));
        merge(&mut request, more);
        compile(objects, request, STANDARD)
    };
    let again = next(&objects, json!({}));
    assert_eq!(again.trace.plan.cause.to_string(), "kept");
    let before = tokens(&first, Section::History);
    assert!(before > 100, "{before}");
    assert!(
        tokens(&again, Section::History) >= before,
        "{before} before, {} now",
        tokens(&again, Section::History)
    );
    // Another question asks the memory anew.
    let other = next(&objects, json!({ "query": "And pump 39, rounded to 39?" }));
    assert!(tokens(&other, Section::Recall) > 0);
    // Where there is room, nothing is kept out.
    objects.as_array_mut().unwrap().truncate(41);
    let few = next(&objects, json!({ "budget": { "tokens": 9_000 } }));
    assert!(few.trace.verdicts.iter().all(|verdict| verdict.verdict == Ruling::Included));
}

/// A corpus of so many documents of some 60 tokens.
fn corpus(count: usize) -> Value {
    let document = |at: usize| {
        let text = format!("Document {at} speaks of the pressure at pump {at}. ").repeat(5);
        json!({
            "name": format!("d{at}"), "content": text, "object_type": "artifact",
            "provenance": { "source_id": format!("d{at}.md"), "retrieved_at": "2026-05-01" },
        })
    };
    (0..count).map(document).collect::<Vec<_>>().into()
}

#[test]
fn documents_keep_under_the_share_and_the_archive_is_offered_for_what_is_missing() {
    let window = |share: &str| {
        let request = json!({ "budget": { "tokens": 4_000, "window": 4_000 } });
        let policy = format!("near_duplicates = 0.0\n[context]\nshare = {share}\n");
        compile(&corpus(10), request, &policy)
    };
    let offers = |compiled: &Compiled| {
        let tools = compiled.envelope.section(Section::Tools);
        let mut names = tools.into_iter().flat_map(|section| &section.items);
        names.any(|item| &*item.name == "@query_archive")
    };
    let whole = window("0.7");
    assert_eq!(whole.trace.strategy, Some(Strategy::Full));
    assert!(!offers(&whole));
    let all = whole.trace.plan.context.unwrap().corpus;
    // There is room for all of it, but the share says how much of the window documents may have.
    let some = window("0.1");
    assert_eq!(some.trace.strategy, Some(Strategy::Documents));
    let standing = tokens(&some, Section::Codex);
    assert!(
        standing > 0 && standing <= 400 && u64::from(standing) < all,
        "{standing} of {all}"
    );
    assert!(offers(&some));
    // Just at the share all of it stands after all, and nothing is missing.
    let share = |tokens: u64| format!("{:.6}", tokens as f64 / 4_000.0);
    let edge = window(&share(all + 20));
    let just = window(&share(all));
    assert_eq!(edge.trace.strategy, Some(Strategy::Full));
    assert_eq!(just.trace.strategy, Some(Strategy::Documents));
    let missing = just.trace.verdicts.iter().any(|verdict| verdict.verdict != Ruling::Included);
    assert_eq!(offers(&just), missing);
    assert_eq!(
        just.trace.plan.tools.iter().any(|tool| &**tool == "query_archive"),
        missing
    );
}

#[test]
fn what_a_retrieval_plan_brings_keeps_under_the_share() {
    let page = |at: usize| {
        let text = format!("Reading {at}: the pressure at the inlet was {at}01 pascal. ").repeat(4);
        passage(&format!("p{at}"), &text)
    };
    let objects: Vec<Value> = (0..20).map(page).collect();
    let objects = Value::from(objects);
    let policy = "near_duplicates = 0.0\n[context]\nshare = 0.1\n";
    let mut request = json!({ "budget": { "tokens": 4_000, "window": 4_000 },
        "query": "What was the pressure at the inlet?" });
    let given = compile(&objects, request.clone(), policy);
    assert!(tokens(&given, Section::Evidence) > 800);
    let plan = json!({ "subqueries": [{ "name": "all", "text": "pressure at the inlet" }] });
    merge(&mut request, json!({ "retrieval": plan }));
    let brought = compile(&objects, request, policy);
    let evidence = tokens(&brought, Section::Evidence);
    assert!(evidence > 0 && evidence <= 420, "{evidence}");
}

#[test]
fn five_signs_make_a_turn_stale() {
    let quoted = "The relief valve of the northern pump opens at three bar.";
    let objects = json!([
        turn("u1", "user", "Look after the pump."),
        turn("calm", "assistant", "Nothing stirs."),
        turn("far", "assistant", "Nothing stirs there."),
        call("c1", "id1", json!({ "path": "plc/valve_7.st" })),
        result("reused", "id1", "unit northern_relief_7 opens"),
        call("c2", "id2", json!({ "path": "log" })),
        result("failed", "id2", "error: the log is locked"),
        call("c3", "id3", json!({ "path": "log2" })),
        result("worked", "id3", "calm"),
        call("c4", "id4", json!({ "path": "level" })),
        result("repeated", "id4", "41 per cent"),
        turn("said", "assistant", quoted),
        turn("wrong", "assistant", "The pump is the southern one."),
        turn("u2", "user", "No, that is wrong: it is the northern pump."),
        turn("u3", "user", "Go on."),
        call("c5", "id5", json!({ "path": "level" })),
        result("again", "id5", "44 per cent"),
        turn("u4", "user", "And then?"),
        call("c6", "id6", json!({ "unit": "northern_relief_7" })),
        result("last", "id6", "shut"),
        turn("u5", "user", &format!("You said: \"\n{quoted}\n\"")),
        turn("plan", "assistant", "The seal is weighed first."),
        turn("u6", "user", "What should I do about what `calm` says?"),
    ]);
    let of = |request: Value, policy: &str| {
        let mut whole = json!({ "budget": { "tokens": 8_000 } });
        merge(&mut whole, request);
        compile(&objects, whole, policy)
    };
    let policy = "[hygiene]\nother_step = 0.5\n[hygiene.decay]\n\
        tool_result = { form = \"step\", turns = 3, delta = 0.1 }\n\
        turn = { form = \"step\", turns = 3, delta = 0.1 }\n";
    let found = of(json!({}), policy);
    // Age in turns, unless a later turn refers to it: by its name, by a word in a call, by a quoted line.
    assert_eq!(currency(&found, "far"), 0.1);
    assert_eq!(currency(&found, "calm"), 1.0);
    assert_eq!(currency(&found, "worked"), 0.1);
    assert_eq!(currency(&found, "reused"), 1.0);
    assert_eq!(currency(&found, "said"), 1.0);
    // Supersession, and the call that says nothing itself goes with its result.
    assert_eq!(currency(&found, "repeated"), 0.0);
    assert_eq!(currency(&found, "c4"), 0.0);
    assert_eq!(currency(&found, "again"), 1.0);
    // A failure of what worked later, and words that the user corrects.
    assert_eq!(currency(&found, "failed"), 0.0);
    assert_eq!(currency(&found, "wrong"), 0.0);
    // An error that names it.
    let error =
        json!({ "task": { "errors": [{ "message": "The reading `last` was not true." }] } });
    assert_eq!(currency(&of(error, policy), "last"), 0.0);
    // Exponentially, a correction slower than what tools return.
    let found = of(json!({}), STANDARD);
    assert_eq!(currency(&found, "worked"), 0.22313);
    assert_eq!(currency(&found, "u2"), 0.818731);
    assert_eq!(currency(&found, "u6"), 1.0);
    // Nothing is looked for where the policy does not say so.
    let off = of(json!({}), "[hygiene]\nwatch = false\n");
    assert!(
        off.trace
            .verdicts
            .iter()
            .all(|verdict| verdict.score.unwrap().currency == Score::ONE)
    );
}

#[test]
fn what_is_of_another_step_counts_less() {
    let step = |name: &str, step: &str| {
        rule(
            json!({ "name": name, "content": format!("Write pressure with unit {name}."), "inserted_in_step": step }),
        )
    };
    let objects = json!([
        step("a", "plan"),
        step("b", "act"),
        step("c", "commit"),
        step("d", "once upon")
    ]);
    let of = |task: Value| compile(&objects, json!({ "task": task }), STANDARD);
    // Whether the other step comes before or after.
    let act = of(json!({ "step": "act" }));
    let shares = ["a", "b", "c", "d"].map(|name| currency(&act, name));
    assert_eq!(shares, [0.5, 1.0, 0.5, 1.0]);
    let none = of(json!({}));
    assert_eq!(
        ["a", "b", "c", "d"].map(|name| currency(&none, name)),
        [1.0; 4]
    );
    let score = |compiled: &Compiled| compiled.trace.verdict("a").unwrap().score.unwrap();
    assert!(score(&act).composite < score(&none).composite);
    assert_eq!(score(&act).freshness, score(&none).freshness);
}

#[test]
fn what_is_stale_leaves_before_what_is_old_and_the_trace_points_to_it() {
    let long = |text: &str| text.repeat(8);
    let objects = json!([
        turn("u1", "user", "Look after the pump."),
        turn("old", "assistant", &long("The seal was taken out. ")),
        turn(
            "wrong",
            "assistant",
            &long("The pump is the southern one. ")
        ),
        turn("u2", "user", "No, it is the northern one."),
        turn(
            "big",
            "assistant",
            &long("The valve was then opened by hand. ")
        ),
        turn("u3", "user", "That is wrong, it was shut."),
        turn("u4", "user", "What should I do?"),
    ]);
    let mut tight = json!({ "budget": { "tokens": 20_000 } });
    let policy = "overflow = \"truncate_lowest\"";
    let all = compile(&objects, tight.clone(), policy).envelope.total_tokens;
    let left = |tokens: u32, tight: &mut Value| {
        merge(tight, json!({ "budget": { "tokens": tokens } }));
        compile(&objects, tight.clone(), policy)
    };
    let one = left(all - 1, &mut tight);
    // Of both that were corrected, the one whose leaving wins more.
    assert_eq!(
        classes(&one),
        [("big".to_owned(), Some("stale".to_owned()))]
    );
    let [evicted] = &one.trace.evicted[..] else {
        panic!("{:?}", one.trace.evicted)
    };
    assert_eq!((&*evicted.name, evicted.current), ("big", Score::ZERO));
    assert_eq!(evicted.tokens, one.trace.verdict("big").unwrap().tokens);
    let world = Case::new(&objects, json!({}), policy).world;
    let digest = tenure::Digest::of(objects[4]["content"].as_str().unwrap().as_bytes());
    assert_eq!(
        evicted.pointer,
        tenure::pointer_id(world.frame_key(), &digest)
    );
    let two = left(one.envelope.total_tokens - 1, &mut tight);
    assert!(!is_in(&two, "big") && !is_in(&two, "wrong") && is_in(&two, "old"));
    let names: Vec<&str> = two.trace.evicted.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["big", "wrong"]);
    // A pin of the task spares what is stale; so does its author's.
    merge(&mut tight, json!({ "task": { "pins": ["big", "nobody"] } }));
    let pinned = compile(&objects, tight.clone(), policy);
    assert!(is_in(&pinned, "big") && !is_in(&pinned, "wrong"));
    let whole = format!("{:?}", pinned.envelope.payload);
    assert!(!whole.contains("nobody"));
}

#[test]
fn verbatim_text_is_the_last_of_its_section_to_leave() {
    let page = |name: &str, more: Value| {
        let mut page = passage(
            name,
            &format!("Reading {name}: the inlet stood at {name} pascal. ").repeat(3),
        );
        merge(&mut page, more);
        page
    };
    let objects = json!([
        page(
            "near",
            json!({ "priority": 1.0, "content": "Report the pressure: report the pressure of the inlet. Pressure! ".repeat(3) })
        ),
        page(
            "exact",
            json!({ "priority": 0.0, "protection": "verbatim" })
        ),
        page("first", json!({ "priority": 0.0, "protection": "pinned" })),
    ]);
    let policy = "overflow = \"truncate_lowest\"\nnear_duplicates = 0.0";
    let all = compile(&objects, json!({}), policy).envelope.total_tokens;
    let mut left = Vec::new();
    for tokens in (60..all).rev() {
        let request = json!({ "budget": { "tokens": tokens } });
        let Ok(compiled) = Case::new(&objects, request, policy).compile() else {
            break;
        };
        for name in ["near", "exact", "first"] {
            if !is_in(&compiled, name) && !left.contains(&name) {
                left.push(name);
            }
        }
    }
    assert_eq!(left, ["near", "exact", "first"]);
}

#[test]
fn a_pin_spares_what_is_far_from_the_task() {
    let objects = json!([
        rule(
            json!({ "name": "cakes", "content": "Bake at two hundred degrees.", "priority": 0.0, "object_type": "project_decision" })
        ),
        rule(json!({ "name": "units", "content": "Report the pressure in pascal." })),
    ]);
    let policy = "[sections.memory]\nauthority_floor = 0.0\nfactors = { relevance = 1.0, authority = 0.0, \
        freshness = 0.0, utility = 0.0, economy = 0.0 }\n";
    let of = |pins: Value| compile(&objects, json!({ "task": { "pins": pins } }), policy);
    assert!(!is_in(&of(json!([])), "cakes"));
    assert!(is_in(&of(json!(["cakes"])), "cakes"));
}

#[test]
fn the_index_of_staleness_weighs_all_that_is_stale() {
    let objects = json!([
        turn("u1", "user", "Look after the pump."),
        turn(
            "wrong",
            "assistant",
            "The pump is the southern one, on the far side of the hall."
        ),
        turn("u2", "user", "No, it is the northern one."),
        turn("u3", "user", "What should I do?"),
    ]);
    let index = |policy: &str| {
        let case = Case::new(&objects, json!({}), policy);
        let compiled = case.compile().unwrap();
        tenure::inspect::Quality::of(&compiled, &case.candidates).staleness
    };
    assert_eq!(index("[hygiene]\nwatch = false\n"), Score::ZERO);
    let stale = index(STANDARD);
    assert!(
        stale > Score::new(0.2).unwrap() && stale < Score::new(0.8).unwrap(),
        "{stale}"
    );
}
