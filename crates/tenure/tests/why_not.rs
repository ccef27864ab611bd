//! What `why_not` says would have let an object in does let it in: each remedy is applied.

use serde_json::{Value, json};
use tenure::inspect::{Remedy, why_not};
use tenure::{Facts, Ruling};

use crate::support::{Case, STANDARD, calls, merge, passage, result, rule, tool, turn};

/// Why `x` is in or out.
#[track_caller]
fn explained(case: &Case) -> (String, Remedy) {
    let Case {
        world,
        policy,
        request,
        candidates,
    } = case;
    let trace = case.compile().unwrap().trace;
    let found = why_not(
        world,
        policy,
        request,
        candidates,
        &Facts::none(),
        &trace,
        "x",
    )
    .unwrap();
    (found.verdict.reason.code().to_owned(), found.remedy)
}

#[track_caller]
fn is_in(case: &Case) -> bool {
    let trace = case.compile().unwrap().trace;
    trace.verdict("x").unwrap().verdict == Ruling::Included
}

/// `x` is out of `before` for the reason `code`, the remedy says `words`, and `after`, in which they
/// are heeded, has it in.
#[track_caller]
fn check(before: &Case, code: &str, words: &str, after: &Case) {
    let what = words.to_owned();
    assert_eq!(
        explained(before),
        (code.to_owned(), Remedy::Change { what })
    );
    assert!(is_in(after));
    assert_eq!(explained(after).1, Remedy::InAlready);
}

/// As [`check`], where only the request changes.
#[track_caller]
fn by_request(objects: Value, before: Value, code: &str, words: &str, after: Value) {
    let case = |request| Case::plain(&objects, request, STANDARD);
    check(&case(before), code, words, &case(after));
}

/// As [`check`], where only the objects change.
#[track_caller]
fn by_objects(before: Value, code: &str, words: &str, after: Value) {
    let case = |objects| Case::plain(&objects, json!({}), STANDARD);
    check(&case(before), code, words, &case(after));
}

/// As [`check`], where only the policy changes.
#[track_caller]
fn by_policy(objects: Value, before: &str, code: &str, words: &str, after: &str) {
    let case = |policy| Case::plain(&objects, json!({}), policy);
    check(&case(before), code, words, &case(after));
}

/// `x` needs the budget that is named, and not a token less.
#[track_caller]
fn by_budget(objects: Value, request: Value, code: &str, policy: &str) {
    let mut case = Case::plain(&objects, request, policy);
    let (found, remedy) = explained(&case);
    let Remedy::Budget { tokens } = remedy else {
        panic!("{remedy:?}")
    };
    assert_eq!(found, code);
    case.request.budget.tokens = Some(tokens);
    assert!(is_in(&case));
    case.request.budget.tokens = Some(tokens - 1);
    assert!(!is_in(&case));
}

const FACTS: &str = "The inlet is at 101325 and the outlet at 99000, as of this morning.";

#[test]
fn a_budget_is_exact() {
    let objects = json!([
        rule(json!({ "name": "first" })),
        rule(json!({ "content": FACTS }))
    ]);
    let tight = |tokens: u32| json!({ "budget": { "tokens": tokens } });
    by_budget(objects.clone(), tight(100), "no_room", STANDARD);
    let chat = json!({ "budget": { "tokens": 110 }, "target": "openai-chat" });
    by_budget(objects.clone(), chat, "no_room", STANDARD);
    let blocks = json!({ "budget": { "tokens": 110 }, "target": "anthropic-messages" });
    by_budget(objects.clone(), blocks, "no_room", STANDARD);
    by_budget(
        objects.clone(),
        tight(100),
        "no_room",
        "extends = \"ordered\"",
    );
    // What is kept for the answer is no room.
    let window = json!({ "budget": { "tokens": null, "window": 120, "reserve": 20 } });
    let (code, remedy) = explained(&Case::plain(&objects, window, STANDARD));
    assert_eq!(code, "no_room");
    assert!(matches!(remedy, Remedy::Change { what } if what.ends_with("room for 100")));
    // With what it needs.
    let needy = rule(json!({ "content": FACTS, "keep_with": ["glossary"] }));
    let glossary = rule(json!({ "name": "glossary", "content": FACTS }));
    by_budget(json!([needy, glossary]), tight(100), "no_room", STANDARD);
    let long = rule(json!({ "name": "long", "content": FACTS.repeat(3) }));
    let strict = "extends = \"ordered\"\nstrict_stop = true";
    by_budget(
        json!([long, rule(json!({}))]),
        tight(110),
        "after_stop",
        strict,
    );
}

#[test]
fn a_budget_beyond_the_window_asks_for_a_larger_window() {
    let objects = json!([rule(json!({ "content": FACTS }))]);
    let request = json!({ "budget": { "tokens": 90, "window": 100 } });
    let Remedy::Change { what } = explained(&Case::plain(&objects, request, STANDARD)).1 else {
        panic!("a budget that no window holds")
    };
    let needed = what.split_whitespace().find_map(|word| word.parse::<u32>().ok()).unwrap();
    assert!(what.ends_with("the window has room for 100"), "{what}");
    let larger = |window: u32| json!({ "budget": { "tokens": window, "window": window } });
    assert!(is_in(&Case::plain(&objects, larger(needed), STANDARD)));
    assert!(!is_in(&Case::plain(&objects, larger(needed - 1), STANDARD)));
}

#[test]
fn a_section_maximum() {
    let objects = json!([rule(json!({ "content": FACTS }))]);
    let max = |max: u32| format!("[sections.memory]\nmax = {max}");
    by_policy(
        objects,
        &max(5),
        "no_room",
        "a larger `sections.memory.max` in the policy",
        &max(50),
    );
}

#[test]
fn a_limit_is_exact() {
    let case = |limit: u32| {
        let objects = json!([rule(json!({ "content": FACTS }))]);
        Case::plain(
            &objects,
            json!({}),
            &format!("[limits]\nuser_tokens = {limit}"),
        )
    };
    let tokens = case(1).compile().unwrap().trace.verdict("x").unwrap().tokens;
    let words = format!(
        "a limit of at least {tokens} tokens in the policy's `limits`, or a text of at most 1"
    );
    check(&case(1), "over_limit", &words, &case(tokens));
    assert!(!is_in(&case(tokens - 1)));
}

#[test]
fn another_caller() {
    let by = |field: &str, value: &str| json!({ "principal": { field: value } });
    for (label, field, words) in [
        ("tenant_id", "tenant", "a caller of its tenant"),
        ("user_id", "user", "a caller who is its user"),
        ("project_id", "project", "a caller in its project"),
        ("session_id", "session", "a caller in its session"),
        ("task_id", "task", "a caller on its task"),
    ] {
        let objects = json!([rule(json!({ label: "ours" }))]);
        let code = format!("other_{field}");
        by_request(
            objects,
            by(field, "theirs"),
            &code,
            words,
            by(field, "ours"),
        );
    }
    let roles = |roles: &[&str]| json!({ "principal": { "roles": roles } });
    let allows = json!([rule(
        json!({ "permission_scope": { "allow_roles": ["owner"] } })
    )]);
    let words = "a caller with one of the roles that it allows";
    by_request(allows, roles(&[]), "role_missing", words, roles(&["owner"]));
    let denies = json!([rule(
        json!({ "permission_scope": { "deny_roles": ["guest"] } })
    )]);
    let words = "a caller without the roles that it denies";
    by_request(denies, roles(&["guest"]), "role_denied", words, roles(&[]));
    let secret = json!([rule(json!({ "security_classification": "confidential" }))]);
    let words = "a clearance of at least confidential";
    let cleared = |class: &str| by("clearance", class);
    by_request(
        secret,
        cleared("public"),
        "classified",
        words,
        cleared("confidential"),
    );
    let learnt =
        json!({ "object_type": "inferred_belief", "source_origin": "https://shop.example/a" });
    let words = "a caller whose `origins` list https://shop.example";
    let visits = json!({ "principal": { "origins": ["https://shop.example"] } });
    by_request(
        json!([rule(learnt)]),
        json!({}),
        "other_origin",
        words,
        visits,
    );
    let personal = json!([rule(json!({ "tags": ["pii"] }))]);
    let words = "a caller who is authorised for personal data";
    let authorized = |yes: bool| json!({ "principal": { "pii_authorized": yes } });
    by_request(
        personal,
        authorized(false),
        "personal_data",
        words,
        authorized(true),
    );
}

#[test]
fn another_instant() {
    let (start, before) = ("2026-06-01T00:00:00Z", "2026-05-31T23:59:59.999999Z");
    for (field, axis, code, words, out, inside) in [
        (
            "valid_from",
            "valid",
            "not_yet_valid",
            "at or after",
            before,
            start,
        ),
        (
            "valid_until",
            "valid",
            "expired_valid_time",
            "before",
            start,
            before,
        ),
        (
            "tx_start",
            "known",
            "not_yet_known",
            "at or after",
            before,
            start,
        ),
        ("tx_end", "known", "no_longer_held", "before", start, before),
    ] {
        let objects = json!([rule(json!({ field: start }))]);
        let words = format!("an `as_of.{axis}` {words} {start}");
        let at = |instant: &str| json!({ "as_of": { axis: instant } });
        by_request(objects, at(out), code, &words, at(inside));
    }
    let id = "11111111-1111-8111-8111-111111111111";
    let newer = rule(json!({ "name": "newer", "object_id": id, "valid_from": start }));
    let objects = json!([rule(json!({ "supersession_link": id })), newer]);
    let words = "an `as_of` at which `newer` does not hold";
    let at = |instant: &str| json!({ "as_of": { "valid": instant } });
    by_request(objects, at(start), "superseded", words, at(before));
}

#[test]
fn another_task() {
    let objects = json!([rule(
        json!({ "applicable_task_types": ["data_extraction"] })
    )]);
    let words = "a task of one of the types that it applies to";
    let typed = json!({ "task": { "task_type": "data_extraction" } });
    by_request(objects, json!({}), "not_applicable", words, typed);
    let far = rule(json!({ "object_type": "preference", "why_it_matters": "For flights." }));
    let words = "a task that is near its `why_it_matters`, or its text where it has none";
    let near = json!({ "query": "Also list the flights." });
    by_request(json!([far]), json!({}), "not_near_task", words, near);
}

#[test]
fn another_policy() {
    let idle = rule(json!({ "content": "Bees dance.", "priority": 0.0, "source_authority": 0.0 }));
    let score = {
        let case = Case::plain(&json!([idle]), json!({}), STANDARD);
        case.compile().unwrap().trace.verdict("x").unwrap().score.unwrap().composite
    };
    let words =
        format!("a composite score of at least 0.3 (it has {score}), or a lower `grades.minimal`");
    let minimal = |grade: &str| format!("[grades]\nminimal = {grade}");
    let at_score = minimal(&score.to_string());
    by_policy(
        json!([idle]),
        &minimal("0.3"),
        "irrelevant_to_active_task",
        &words,
        &at_score,
    );
    let objects = json!([
        passage("x", "Bees dance."),
        passage("near", "The pressure is 1.")
    ]);
    let words = "relevance of at least 0.02, or a lower `sections.evidence.relevance_floor`";
    let lower = "[sections.evidence]\nrelevance_floor = 0.0";
    by_policy(objects, STANDARD, "below_floor", words, lower);
    let weak = json!([rule(json!({ "source_authority": 0.2 }))]);
    let words = "authority of at least 0.5, or a lower `sections.memory.authority_floor`";
    let floor = |floor: &str| format!("[sections.memory]\nauthority_floor = {floor}");
    by_policy(weak, &floor("0.5"), "below_floor", words, &floor("0.2"));
}

#[test]
fn another_retrieval_plan() {
    let objects = json!([
        passage("y", "Bees sing, bees hum."),
        passage("x", "Bees dance.")
    ]);
    let plan = |text: &str, limit: u32| {
        let ask = json!({ "name": "ask", "text": text, "strategy": "lexical", "limit": limit });
        json!({ "retrieval": { "subqueries": [ask] } })
    };
    let words = "a `limit` of at least 2 in the subquery `ask`";
    let (before, after) = (plan("bees hum", 1), plan("bees hum", 2));
    by_request(objects.clone(), before, "not_retrieved", words, after);
    let words = "a subquery that asks for it, or no retrieval plan for its section";
    let (before, after) = (plan("zebra", 1), plan("dance", 1));
    by_request(objects, before, "not_retrieved", words, after);
}

#[test]
fn another_object() {
    let mut nameless = passage("x", "The pressure is 1.");
    merge(&mut nameless, json!({ "provenance": null }));
    let words = "a provenance with `source_id` and `retrieved_at`";
    by_objects(
        json!([nameless]),
        "anonymous_evidence",
        words,
        json!([passage("x", "The pressure is 1.")]),
    );
    let image = json!([rule(json!({ "modality": "image" }))]);
    by_objects(
        image,
        "unsupported_modality",
        "a text in its place",
        json!([rule(json!({}))]),
    );
    let disputed = json!([rule(json!({ "contradiction_status": "disputed" }))]);
    let words = "a judgement that it is clean: it is disputed";
    by_objects(disputed, "contradicted", words, json!([rule(json!({}))]));
    let needy = rule(json!({ "keep_with": ["glossary"] }));
    let words = "`glossary`, which it must not stand without";
    let glossary = rule(json!({ "name": "glossary" }));
    by_objects(
        json!([needy]),
        "closure_missing",
        words,
        json!([needy, glossary]),
    );
}

#[test]
fn another_history() {
    let ask = turn("ask", "user", "How high is it?");
    let words = "the call that it answers, before it";
    let orphan = json!([ask, result("x", "c1")]);
    by_objects(
        orphan,
        "orphan_tool_result",
        words,
        json!([ask, calls("call", &["c1"]), result("x", "c1")]),
    );
    let words = "a result for each of its calls, right after it";
    let unanswered = json!([ask, calls("x", &["c1"])]);
    by_objects(
        unanswered,
        "unanswered_tool_call",
        words,
        json!([ask, calls("x", &["c1"]), result("r", "c1")]),
    );
}

#[test]
fn another_epoch() {
    let first = Case::plain(&json!([]), json!({}), STANDARD).compile().unwrap();
    let mut late = tool("x");
    merge(&mut late, json!({ "optional": true }));
    let words = "the next epoch, which a request without `served` begins";
    let served = json!({ "served": first.envelope.served });
    by_request(json!([late]), served, "next_epoch", words, json!({}));
}

#[test]
fn a_duplicate_has_no_remedy() {
    let objects = json!([
        passage("first", "The pressure is 1."),
        passage("x", "The pressure is 1.")
    ]);
    let what = "nothing: `first` says the same".to_owned();
    let found = explained(&Case::plain(&objects, json!({}), STANDARD));
    assert_eq!(found, ("duplicate".to_owned(), Remedy::Change { what }));
}

#[test]
fn a_near_duplicate_stands_where_both_may() {
    let text = "The gauge at the inlet of the pump shows the pressure in pascal, and whoever is on duty reads it once an hour and writes it down";
    let objects = json!([
        passage("first", text),
        passage("x", &format!("{text} again"))
    ]);
    let words = "`near_duplicates = 0.0` in the policy: `first` says nearly the same";
    by_policy(
        objects,
        STANDARD,
        "near_duplicate",
        words,
        "near_duplicates = 0.0",
    );
}

#[test]
fn an_unknown_name_offers_the_nearest() {
    let case = Case::plain(
        &json!([rule(json!({ "name": "units" }))]),
        json!({}),
        STANDARD,
    );
    let Case {
        world,
        policy,
        request,
        candidates,
    } = &case;
    let trace = case.compile().unwrap().trace;
    let error = why_not(
        world,
        policy,
        request,
        candidates,
        &Facts::none(),
        &trace,
        "unit",
    )
    .unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean `units`?"));
}
