//! Tools matched to the current step: which are offered, which always are, and what is said of the others.

use serde_json::{Value, json};
use tenure::gate::Gate;
use tenure::trace::EpochCause;
use tenure::{Catalogue, Compiled, Facts, FrameKey, Reason, Ruling, World};

use crate::support::{Case, STANDARD, merge, result, turn};

fn tool(name: &str, says: &str, parameters: &[&str]) -> Value {
    let properties = parameters.iter().map(|name| ((*name).into(), json!({})));
    let properties: serde_json::Map<String, Value> = properties.collect();
    json!({
        "name": name, "content": says, "object_type": "tool_schema",
        "input_schema": { "type": "object", "properties": properties },
    })
}

fn workshop() -> Value {
    json!([
        tool("tag_commit", "Gives a revision a name.", &["revision"]),
        tool("run_tests", "Runs the tests.", &[]),
        tool("send_mail", "Sends a letter.", &["to", "subject"]),
        tool("setSupply", "Changes an output.", &["maxVoltage"]),
    ])
}

fn chat(over: Value) -> Value {
    let mut request = json!({ "target": "openai-chat", "task": { "objective": "Release 2.0." } });
    merge(&mut request, over);
    request
}

/// Which tools the payload offers, in its order.
fn offered(compiled: &Compiled) -> Vec<String> {
    let payload = compiled.envelope.payload.as_ref().unwrap();
    let body: Value = serde_json::from_slice(payload.bytes()).unwrap();
    let tools = body["tools"].as_array().into_iter().flatten();
    let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
    tools.map(name).collect()
}

fn compiled(objects: &Value, over: Value) -> Compiled {
    Case::plain(objects, chat(over), STANDARD).compile().unwrap()
}

fn doing(title: &str) -> Value {
    json!({ "tools": { "top_k": 1 },
        "task": { "subtasks": [{ "title": title, "status": "in_progress" }] } })
}

#[test]
fn all_are_offered_unless_a_choice_is_asked_for() {
    let all = ["run_tests", "send_mail", "setSupply", "tag_commit"];
    assert_eq!(offered(&compiled(&workshop(), json!({}))), all);
}

#[test]
fn the_step_chooses_by_name_description_and_parameters() {
    for (step, wanted) in [
        ("name the revision", "tag_commit"),
        ("run what tests there are", "run_tests"),
        ("write the subject", "send_mail"),
        ("check the supply", "setSupply"),
        ("raise the voltage", "setSupply"),
    ] {
        let compiled = compiled(&workshop(), doing(step));
        assert_eq!(offered(&compiled), [wanted], "{step}");
        // The others are reported, each with how near it is and its rank.
        let mut ranks: Vec<u32> = compiled
            .trace
            .verdicts
            .iter()
            .filter_map(|verdict| match verdict.reason {
                Reason::GatedOut { rank, .. } => Some(rank),
                _ => None,
            })
            .collect();
        ranks.sort_unstable();
        assert_eq!(ranks, [2, 3, 4], "{step}");
        assert_eq!(compiled.trace.plan.tools, [wanted.into()], "{step}");
    }
}

#[test]
fn what_is_done_or_pending_is_no_step_and_what_waits_is() {
    let subtask = |title: &str, status: &str| json!({ "title": title, "status": status });
    let over = json!({ "tools": { "top_k": 1 }, "task": {
        "subtasks": [subtask("run the tests", "done"), subtask("raise the voltage", "pending")],
        "pending": [{ "action": "send a letter" }],
    } });
    assert_eq!(offered(&compiled(&workshop(), over)), ["send_mail"]);
}

#[test]
fn what_must_be_offered_is() {
    let mut objects = workshop();
    let list = objects.as_array_mut().unwrap();
    merge(&mut list[2], json!({ "removable": false }));
    let mut call = turn("ask", "assistant", "");
    let calls = json!([{ "id": "c1", "name": "setSupply", "arguments": {} }]);
    merge(&mut call, json!({ "tool_calls": calls }));
    list.extend([turn("do", "user", "Go on."), call, result("done", "c1")]);
    let mut rule = json!({ "name": "always", "content": "Test first.", "removable": false });
    merge(&mut rule, json!({ "keep_with": ["run_tests"] }));
    list.push(rule);
    // Not removable, called before, needed by what must stand; and the nearest of the others.
    let names = ["run_tests", "send_mail", "setSupply", "tag_commit"];
    let compiled = compiled(&objects, doing("name the revision"));
    assert_eq!(offered(&compiled), names);
    let none = json!({ "tools": { "top_k": 0 } });
    let compiled = self::compiled(&objects, none);
    assert_eq!(offered(&compiled), names[..3]);
    assert_eq!(
        compiled.trace.verdict("tag_commit").unwrap().verdict,
        Ruling::Omitted
    );
}

#[test]
fn a_choice_of_tools_chooses_nothing_else_and_takes_no_place_of_the_gate() {
    let mut objects = workshop();
    let list = objects.as_array_mut().unwrap();
    for (name, text) in [
        ("tags", "Revisions have names."),
        ("bees", "Bees dance."),
        ("ants", "Ants march."),
    ] {
        list.push(json!({ "name": name, "content": text }));
    }
    let mut over = doing("name the revision");
    let rules = |compiled: &Compiled| {
        let verdicts = compiled.trace.verdicts.iter();
        let rules = verdicts.filter(|verdict| verdict.verdict == Ruling::Included);
        let rules =
            rules.filter(|verdict| offered(compiled).iter().all(|tool| **tool != *verdict.name));
        rules.map(|verdict| verdict.name.to_string()).collect::<Vec<_>>()
    };
    let alone = compiled(&objects, over.clone());
    assert!(!alone.trace.verdicts.iter().any(|verdict| {
        &*verdict.name == "bees" && matches!(verdict.reason, Reason::GatedOut { .. })
    }));
    merge(
        &mut over,
        json!({ "gate": { "top_k": 1 }, "query": "Which names do revisions have?" }),
    );
    let both = compiled(&objects, over.clone());
    assert_eq!(
        (offered(&both), rules(&both)),
        (vec!["tag_commit".into()], vec!["tags".into()])
    );
    // The same standings without a compile.
    let case = Case::plain(&objects, chat(over), STANDARD);
    let gating = tenure::gate(
        &case.world,
        &case.policy,
        &case.request,
        &case.candidates,
        &Facts::none(),
    );
    let gating = gating.unwrap();
    let passing = gating.gated.iter().filter(|gated| gated.standing.passes);
    let passing: Vec<(usize, u32)> =
        passing.map(|gated| (gated.candidate, gated.standing.rank)).collect();
    assert_eq!(passing, [(4, 1), (0, 1)]);
    assert_eq!(
        gating.gated.len() + gating.spared.len(),
        objects.as_array().unwrap().len()
    );
}

#[test]
fn an_epoch_keeps_the_tools_that_it_began_with() {
    let first = compiled(&workshop(), doing("name the revision"));
    let mut over = doing("send a letter");
    merge(&mut over, json!({ "served": first.envelope.served }));
    let next = compiled(&workshop(), over);
    assert_eq!(next.trace.plan.cause, EpochCause::Kept);
    assert_eq!(offered(&next), ["tag_commit"]);
    let verdict = next.trace.verdict("send_mail").unwrap();
    assert_eq!(verdict.reason, Reason::NextEpoch);
    // Without a choice, the others have to join.
    let all = compiled(&workshop(), json!({ "served": first.envelope.served }));
    assert_eq!(all.trace.plan.cause, EpochCause::FloorGrew);
    assert_eq!(offered(&all).len(), 4);
}

#[test]
fn an_epoch_goes_on_without_a_rule_about_tools_that_its_gate_left_out() {
    let mut objects = workshop();
    let rule = json!({ "name": "about", "content": "Name revisions by date.", "layer": "tool" });
    objects.as_array_mut().unwrap().push(rule);
    let gated = json!({ "gate": { "top_k": 0 } });
    let first = compiled(&objects, gated.clone());
    let verdict = first.trace.verdict("about").unwrap();
    assert_eq!(verdict.verdict, Ruling::Omitted);
    let mut over = gated;
    merge(&mut over, json!({ "served": first.envelope.served }));
    let next = compiled(&objects, over);
    assert_eq!(next.trace.plan.cause, EpochCause::Kept);
}

#[test]
fn an_epoch_ends_for_a_tool_that_must_be_offered() {
    let first = compiled(&workshop(), doing("name the revision"));
    assert_eq!(offered(&first), ["tag_commit"]);
    let mut over = doing("name the revision");
    merge(&mut over, json!({ "served": first.envelope.served }));
    // Something that must go in needs one.
    let mut needs = workshop();
    let rule = json!({ "name": "always", "content": "Test first.", "removable": false,
        "keep_with": ["run_tests"] });
    needs.as_array_mut().unwrap().push(rule);
    // The conversation calls one.
    let mut calls = workshop();
    let mut call = turn("ask", "assistant", "");
    let made = json!([{ "id": "c1", "name": "setSupply", "arguments": {} }]);
    merge(&mut call, json!({ "tool_calls": made }));
    let list = calls.as_array_mut().unwrap();
    list.extend([turn("do", "user", "Go on."), call, result("done", "c1")]);
    for (objects, wanted) in [(needs, "run_tests"), (calls, "setSupply")] {
        let next = compiled(&objects, over.clone());
        assert_eq!(next.trace.plan.cause, EpochCause::FloorGrew);
        assert_eq!(offered(&next), [wanted, "tag_commit"]);
        // From then on it is kept.
        let mut over = over.clone();
        over["served"] = json!(next.envelope.served);
        let last = compiled(&objects, over);
        assert_eq!(last.trace.plan.cause, EpochCause::Kept);
        assert_eq!(offered(&last), [wanted, "tag_commit"]);
    }
}

#[test]
fn a_choice_that_chooses_nothing_is_refused() {
    let mut case = Case::plain(&workshop(), chat(json!({})), STANDARD);
    case.request.tools = Some(Gate::default());
    let error = case.compile().unwrap_err();
    assert!(error.to_string().contains("`tools`"), "{error}");
}

#[test]
fn what_says_the_same_ranks_by_name() {
    let says = "Does it.";
    let tools = json!([
        tool("beta", says, &[]),
        tool("alpha", says, &[]),
        tool("gamma", says, &[])
    ]);
    for (most, expected) in [(1, vec!["alpha"]), (2, vec!["alpha", "beta"])] {
        let over = json!({ "tools": { "top_k": most } });
        assert_eq!(offered(&compiled(&tools, over)), expected);
    }
}

#[test]
fn what_a_step_calls_a_thing_finds_the_tool_that_calls_it_otherwise() {
    let objects = json!([
        tool(
            "create_pull_request",
            "Asks for a branch to be merged.",
            &["head"]
        ),
        tool("get_repository", "Reads a repository.", &["owner"]),
        tool("list_tickets", "Shows what was reported.", &["label"]),
        tool("make_directory", "Makes one on the disk.", &["path"]),
        tool("send_message", "Writes to somebody.", &["to"]),
    ]);
    for (step, wanted) in [
        ("open a PR for the fix", "create_pull_request"),
        ("clone the repo", "get_repository"),
        ("look at the open issues", "list_tickets"),
        ("add a dir for the logs", "make_directory"),
        ("drop Anna a msg", "send_message"),
    ] {
        assert_eq!(
            offered(&compiled(&objects, doing(step))),
            [wanted],
            "{step}"
        );
    }
}

#[test]
fn what_a_tool_says_of_its_parameters_counts() {
    let mut objects = workshop();
    let described = json!({ "input_schema": { "properties": {
        "to": { "description": "The recipient, as in the address book." },
    } } });
    merge(&mut objects.as_array_mut().unwrap()[2], described);
    let compiled = compiled(&objects, doing("ask the recipient"));
    assert_eq!(offered(&compiled), ["send_mail"]);
}

/// The tool that reaches the rest of a corpus costs what the provider adds for tools, too: it does not take the room of a
/// document that needs neither.
#[test]
fn a_small_budget_holds_a_short_document_for_every_model() {
    let objects = json!([{
        "name": "note", "object_type": "artifact",
        "content": "The feed pump of line three is green.",
    }]);
    let catalogue = Catalogue::builtin().unwrap();
    for model in catalogue.names().filter(|name| name.starts_with("claude") || *name == "gpt-4o") {
        for target in ["openai-chat", "anthropic-messages", "text"] {
            for tokens in [300, 500, 880, 890, 2_000] {
                let request = json!({ "target": target, "budget": { "tokens": tokens } });
                let mut case = Case::plain(&objects, request, STANDARD);
                let key = FrameKey::new("test", [7; 32]);
                case.world = World::from_catalogue(&catalogue, model, key).unwrap();
                let compiled = case.compile().unwrap();
                let verdict = &compiled.trace.verdicts[0].verdict;
                assert_eq!(*verdict, Ruling::Included, "{model} {target} {tokens}");
                assert!(
                    compiled.trace.plan.tools.is_empty(),
                    "{model} {target} {tokens}"
                );
            }
        }
    }
}

/// Where not all documents fit, one that does is better than the tool alone.
#[test]
fn the_tool_for_the_rest_does_not_cost_the_documents_their_room() {
    let document = |at: usize| {
        let text = format!("Chapter {at}. {}", "The pump is blue. ".repeat(30));
        json!({ "name": format!("d{at}"), "content": text.trim(), "object_type": "artifact" })
    };
    let objects: Vec<Value> = (0..8).map(document).collect();
    let stands = |tokens: u32| {
        let request = json!({ "target": "anthropic-messages", "budget": { "tokens": tokens } });
        let mut case = Case::plain(&Value::Array(objects.clone()), request, STANDARD);
        case.world = World::for_model("claude-opus-4-5", FrameKey::new("test", [7; 32])).unwrap();
        let compiled = case.compile().unwrap();
        let verdicts = compiled.trace.verdicts.iter();
        let count = verdicts.filter(|of| of.verdict == Ruling::Included).count();
        (count, !compiled.trace.plan.tools.is_empty())
    };
    let (few, offers) = stands(700);
    assert!(few > 0 && !offers, "{few}");
    let (more, offers) = stands(1_500);
    assert!(more > 0 && offers, "{more}");
}
