//! How much of a window a request may fill: the room for its answer, and what providers report of their counts.
use serde_json::{Value, json};
use tenure::World;
use tenure::wire::Format;
use tenure_store::Tenant;
use tenure_workspace::Workspace;
use tenure_workspace::relay::{Notice, Relay, Relayed, Relaying};

use crate::support::bench::{self, relaying, workspace_with};

struct Bench {
    folder: tempfile::TempDir,
    workspace: Workspace,
    world: World,
    relay: Relay,
}

impl Bench {
    /// A model whose vocabulary is not built in, with a window of so many tokens.
    fn new(window: u32, refuses: bool) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let models = format!(
            "[models.mine]\nextends = \"claude-opus-5-5\"\nwindow = {window}\nreserve = 1000\n\
             refuses_above_window = {refuses}\n"
        );
        let workspace = workspace_with(folder.path(), &models);
        Bench {
            world: workspace.world("mine").unwrap(),
            workspace,
            folder,
            relay: Relay::default(),
        }
    }

    fn tenant(&self, name: &str) -> Tenant {
        bench::tenant(self.folder.path(), name)
    }

    fn ask(&self, tenant: &str, body: &Value, max_answer: Option<u32>) -> Relayed {
        let body = body.to_string();
        let asked = Relaying {
            max_answer,
            ..relaying(Format::Anthropic, "mine", &body)
        };
        let tenant = self.tenant(tenant);
        let relayed = self.relay.relay(&self.workspace, &tenant, &self.world, &asked);
        relayed.unwrap()
    }

    /// Sends a conversation of its own, and gives what was counted of it without the margin.
    fn exchange(&self, tenant: &str, name: &str, report: impl Fn(u64) -> u64) {
        self.exchange_of(tenant, &conversation(name, 6, 900), report);
    }

    fn exchange_of(&self, tenant: &str, body: &Value, report: impl Fn(u64) -> u64) {
        let relayed = self.ask(tenant, body, None);
        let place = relayed.position.unwrap();
        let exact = u64::from(place.sent()) * 100 / 170;
        let tenant = self.tenant(tenant);
        self.relay.reported(&tenant, &place, report(exact)).unwrap();
    }
}

/// A conversation of so many turns, each of about so many tokens.
fn conversation(name: &str, turns: usize, tokens: usize) -> Value {
    let said = (0..turns * 2 + 1).map(|at| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let text = format!(
            "Turn {at} of {name}. {}",
            "so many words ".repeat(tokens / 6)
        );
        json!({ "role": role, "content": text })
    });
    json!({ "model": "mine", "max_tokens": 1_000, "messages": said.collect::<Vec<_>>() })
}

#[test]
fn what_providers_report_says_how_much_a_window_holds() {
    let bench = Bench::new(20_000, true);
    // More than the window with the catalogue's margin, and less with 25 percent.
    let long = |name: &str| conversation(name, 14, 900);
    let cut = |bench: &Bench, tenant: &str, name: &str| {
        let relayed = bench.ask(tenant, &long(name), None);
        (relayed.body.is_some(), relayed.calibrated)
    };
    let begun = bench.ask("local", &long("begun"), None);
    assert!(begun.body.is_some() && begun.calibrated.is_none());
    let report = |bench: &Bench, range: std::ops::Range<u32>| {
        for at in range {
            bench.exchange("local", &format!("of {at}"), |exact| exact * 121 / 100);
        }
    };
    report(&bench, 0..2);
    assert_eq!(cut(&bench, "local", "two"), (true, None));
    // A tenth above the largest ratio, then a twentieth.
    report(&bench, 2..3);
    assert_eq!(cut(&bench, "local", "three"), (false, Some(140)));
    report(&bench, 3..10);
    assert_eq!(cut(&bench, "local", "ten"), (false, Some(135)));
    // Another process goes on counting where this one stopped.
    let bench = Bench {
        relay: Relay::default(),
        ..bench
    };
    report(&bench, 10..19);
    // What nobody could believe says nothing.
    for (at, report) in [0, 1, u64::from(u32::MAX), u64::MAX].into_iter().enumerate() {
        bench.exchange("local", &format!("odd {at}"), |_| report);
    }
    assert_eq!(cut(&bench, "local", "nineteen"), (false, Some(135)));
    bench.exchange("local", "the twentieth", |exact| exact);
    assert_eq!(cut(&bench, "local", "twenty"), (false, Some(125)));
    // What was cut before is what it was; another tenant knows nothing.
    let again = bench.ask("local", &long("begun"), None);
    assert_eq!((again.body, again.calibrated), (begun.body, None));
    assert_eq!(cut(&bench, "other", "twenty"), (true, None));
    // Another node knows, and the largest ratio counts, at once.
    let node = Bench {
        relay: Relay::default(),
        ..bench
    };
    assert_eq!(cut(&node, "local", "elsewhere"), (false, Some(125)));
    node.exchange("local", "dearer", |exact| exact * 158 / 100);
    assert_eq!(cut(&node, "local", "dearest"), (true, Some(160)));
}

#[test]
fn what_a_provider_adds_to_a_request_does_not_calibrate_counts() {
    let bench = Bench::new(20_000, true);
    let adds = |at: usize| {
        let mut body = conversation(&format!("of {at}"), 6, 900);
        let opaque = |block: Value| json!([{ "type": "text", "text": "See." }, block]);
        match at % 4 {
            0 => body["tools"] = json!([{ "type": "web_search_20250305", "name": "web_search" }]),
            1 => {
                body["mcp_servers"] =
                    json!([{ "type": "url", "url": "https://a.example", "name": "a" }])
            }
            2 => {
                let image = json!({ "type": "image", "source": { "type": "url", "url": "https://a.example/a.png" } });
                body["messages"][0]["content"] = opaque(image);
            }
            _ => body["messages"][0]["content"] = opaque(json!({ "type": "of_later", "x": 1 })),
        }
        body
    };
    for at in 0..40 {
        bench.exchange_of("local", &adds(at), |exact| exact * 2);
    }
    let long = bench.ask("local", &conversation("long", 14, 900), None);
    assert_eq!(long.calibrated, None);
    // A model's reasoning stands in the request, and is counted; a message's settings add nothing.
    for at in 0..20 {
        let mut body = conversation(&format!("thought {at}"), 6, 900);
        let thought = json!({ "type": "thinking", "thinking": "Hm.", "signature": "c2ln" });
        body["messages"][1]["content"] = json!([thought, { "type": "text", "text": "So." }]);
        body["messages"][1]["output_config"] = json!({ "effort": "medium" });
        bench.exchange_of("local", &body, |exact| exact * 121 / 100);
    }
    let other = bench.ask("local", &conversation("other", 14, 900), None);
    assert_eq!(other.calibrated, Some(125));
}

#[test]
fn a_pointer_names_the_tool_only_where_it_is_offered() {
    let bench = Bench::new(20_000, true);
    let offered = |name: &str| {
        let mut body = conversation(name, 14, 900);
        body["tools"] = json!([{ "name": name, "input_schema": { "type": "object" } }]);
        bench.ask("local", &body, None).body.unwrap()
    };
    for tool in ["rehydrate", "mcp__tenure__rehydrate", "tenure_rehydrate"] {
        let named = format!("The originals: {tool} c");
        assert!(offered(tool).contains(&named), "{tool}");
    }
    for tool in ["run", "dehydrate", "unrehydrate"] {
        let sent = offered(tool);
        assert!(sent.contains("Summary of turns"), "{sent}");
        assert!(!sent.contains("The originals"), "{tool}");
    }
}

#[test]
fn a_pointer_names_the_tool_of_a_namespace_as_codex_offers_it() {
    let bench = Bench::new(20_000, true);
    let offered = |name: &str, kind: &str, inner: &str| {
        let said = (0..29).map(|at| {
            let (role, part) = [("user", "input_text"), ("assistant", "output_text")][at % 2];
            let text = format!("Turn {at} of {name}. {}", "so many words ".repeat(150));
            json!({ "type": "message", "role": role, "content": [{ "type": part, "text": text }] })
        });
        let tool = json!({ "type": "function", "name": inner, "parameters": { "type": "object" } });
        let body = json!({
            "model": "mine", "max_output_tokens": 1_000, "input": said.collect::<Vec<_>>(),
            "tools": [{ "type": kind, "name": "mcp__tenure", "description": "Tools.", "tools": [tool] }],
        });
        let text = body.to_string();
        let asked = relaying(Format::OpenAiResponses, "mine", &text);
        let tenant = bench.tenant("local");
        let relayed = bench.relay.relay(&bench.workspace, &tenant, &bench.world, &asked);
        let relayed = relayed.unwrap();
        (relayed.reads_originals, relayed.body.unwrap())
    };
    let (reads, sent) = offered("one", "namespace", "rehydrate");
    assert!(
        reads && sent.contains("The originals: mcp__tenure.rehydrate c"),
        "{sent}"
    );
    for (name, kind, inner) in [
        ("two", "namespace", "search"),
        ("three", "mcp", "rehydrate"),
    ] {
        let (reads, sent) = offered(name, kind, inner);
        assert!(sent.contains("Summary of turns"), "{sent}");
        assert!(!reads && !sent.contains("The originals"), "{name}");
    }
}

#[test]
fn another_node_names_the_tool_as_the_epoch_began() {
    let bench = Bench::new(20_000, true);
    let ask = |bench: &Bench, turns: usize| {
        let mut body = conversation("one", turns, 900);
        body["tools"] =
            json!([{ "name": "mcp__tenure__rehydrate", "input_schema": { "type": "object" } }]);
        bench.ask("local", &body, None).body.unwrap()
    };
    let named = "The originals: mcp__tenure__rehydrate c";
    assert!(ask(&bench, 14).contains(named));
    let bench = Bench {
        relay: Relay::default(),
        ..bench
    };
    assert!(ask(&bench, 15).contains(named));
}

#[test]
fn an_epoch_that_would_end_takes_what_is_known_by_then() {
    let bench = Bench::new(20_000, true);
    let cut = bench.ask("local", &conversation("long", 14, 900), None);
    assert!(cut.body.is_some() && cut.calibrated.is_none());
    for at in 0..20 {
        bench.exchange("local", &format!("of {at}"), |exact| exact * 11 / 10);
    }
    let (mut known, mut turns) = (Vec::new(), Vec::new());
    for more in 15..40 {
        let relayed = bench.ask("local", &conversation("long", more, 900), None);
        known.push(relayed.calibrated);
        turns.push(relayed.position.unwrap().sent());
    }
    let first = known.iter().position(Option::is_some).unwrap();
    assert!(first > 0, "an epoch keeps what it began with: {known:?}");
    assert!(
        known[first..].iter().all(|known| *known == Some(110)),
        "{known:?}"
    );
    // Then it holds more of our tokens than the window has of the provider's.
    assert!(
        turns[first..].iter().any(|sent| *sent > 20_000),
        "{turns:?}"
    );
}

#[test]
fn room_for_an_answer_is_kept_where_its_lack_would_be_refused() {
    let mut body = conversation("talk", 8, 900);
    body["max_tokens"] = 14_000.into();
    let refusing = Bench::new(20_000, true);
    let cut = refusing.ask("local", &body, None);
    let told = Notice::AnswerRoom {
        kept: 14_000,
        window: 20_000,
    };
    assert_eq!(cut.notices, [told]);
    assert!(cut.body.unwrap().contains("\"max_tokens\":14000"));
    // A provider that takes it anyway, and a policy that asks for less.
    let taking = Bench::new(20_000, false);
    let whole = taking.ask("local", &body, None);
    assert!(whole.body.is_none() && whole.notices.is_empty());
    let lowered = refusing.ask("other", &body, Some(2_000));
    let told = Notice::AnswerLowered {
        from: 14_000,
        to: 2_000,
    };
    assert_eq!(lowered.notices, [told]);
    let expected = body.to_string().replace("14000", "2000");
    assert_eq!(lowered.body.as_deref(), Some(expected.as_str()));
    assert!(refusing.ask("third", &conversation("t", 1, 90), Some(2_000)).body.is_none());
}
