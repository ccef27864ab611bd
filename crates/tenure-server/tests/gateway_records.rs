//! What records say of relayed requests: what was done, why, and that it can be done again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Bench, Reply, Upstream, answer, compiling};
use serde_json::{Value, json};
use tenure::trace::EpochCause;
use tenure::{Catalogue, Digest};
use tenure_server::Mode;
use tenure_workspace::Workspace;
use tenure_workspace::records::{Bill, CountedBy, ExchangeRecord, RequestItems};
use tenure_workspace::sessions::{ItemForm, RequestItem};

const HEAD: [&str; 2] = [
    "content-type: application/json",
    "user-agent: agent/2.1 (test)",
];
const PATH: &str = "/v1/messages";

fn said(usage: &Value) -> String {
    json!({
        "role": "assistant", "stop_reason": "end_turn", "usage": usage,
        "content": [{ "type": "text", "text": "Noted." }],
    })
    .to_string()
}

fn saying(usage: Value) -> Upstream {
    Upstream::new(move |_, to| {
        let _ = std::io::Write::write_all(
            to,
            &answer("200 OK", "application/json", said(&usage).as_bytes()),
        );
    })
}

fn usage() -> Value {
    json!({ "input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 3 })
}

fn ask(bench: &Bench, body: &Value) -> (Reply, ExchangeRecord) {
    let reply = bench.ask("POST", PATH, &HEAD, body.to_string().as_bytes());
    let record = bench.record("local", &reply.record());
    (reply, record)
}

/// A conversation of so many turns, of which each is about 100 tokens.
fn talk(turns: usize) -> Value {
    let turn = |at: usize| {
        let role = if at.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let text =
            format!("Turn {at}: ") + &format!("pump {at} runs at {at} kW and is warm. ").repeat(8);
        json!({ "role": role, "content": text })
    };
    let turns: Vec<Value> = (0..turns).map(turn).collect();
    json!({ "model": "claude-small", "max_tokens": 200, "messages": turns, "system": "Be brief." })
}

fn know(bench: &Bench, name: &str, content: &str) {
    let object = json!({ "name": name, "content": content, "object_type": "rule" });
    let path = format!("/api/v1/objects/{name}");
    let reply = bench.ask("PUT", &path, &HEAD, object.to_string().as_bytes());
    assert!(
        reply.status < 300,
        "{}",
        String::from_utf8_lossy(&reply.body)
    );
}

fn replayed(bench: &Bench, id: &str) -> Value {
    let asked = json!({ "record_id": id }).to_string();
    let reply = bench.post("/api/v1/replay", asked.as_bytes());
    assert_eq!(
        reply.status,
        200,
        "{}",
        String::from_utf8_lossy(&reply.body)
    );
    reply.json()
}

#[test]
fn what_fits_goes_on_as_it_came_and_the_record_says_so() {
    let upstream = saying(usage());
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let (_, record) = ask(&bench, &talk(3));
    let came = Digest::of(&upstream.only().body);
    assert_eq!(
        (record.sent_digest, record.request_digest),
        (Some(came), Some(came))
    );
    assert_eq!(record.sent_bytes, Some(record.request_bytes));
    assert_eq!(record.sent_tokens, record.request_tokens);
    assert_eq!((record.saved, record.added), (0, 0));
    assert_eq!(record.client.as_deref(), Some("agent/2.1 (test)"));
    assert_eq!(record.compile, None);
    assert_eq!(replayed(&bench, &record.record_id)["proof"], "as_it_came");
}

#[test]
fn a_request_that_was_cut_is_made_again_to_the_byte() {
    for mode in [Mode::Fit, Mode::Full] {
        let upstream = saying(usage());
        let bench = compiling(&upstream, mode, |options| options);
        know(&bench, "limits", "Pump 7 runs at 10 kW at most.");
        let mut body = talk(60);
        // An agent that marks its own cache.
        body["messages"][58]["content"] = json!([
            { "type": "text", "text": "Look at pump 7.", "cache_control": { "type": "ephemeral" } },
        ]);
        let mut ids = Vec::new();
        for more in 0..3 {
            let messages = body["messages"].as_array_mut().unwrap();
            if more > 0 {
                messages.push(json!({ "role": "assistant", "content": "Noted." }));
                messages.push(json!({ "role": "user", "content": format!("And pump {more}, how warm is it?") }));
            } else {
                messages.pop();
            }
            let (_, record) = ask(&bench, &body);
            let seen = upstream.seen();
            let sent = &seen.last().unwrap().body;
            assert_eq!(record.sent_digest, Some(Digest::of(sent)));
            assert_eq!(record.sent_bytes, Some(sent.len() as u64));
            assert_ne!(record.sent_digest, record.request_digest);
            assert!(record.saved > 1_000, "{record:?}");
            assert!(record.sent_tokens < record.request_tokens);
            let compile = record.compile.as_deref().unwrap();
            assert!(compile.cut && !compile.summaries.is_empty());
            assert!(compile.included.len() > 1);
            let beside: Vec<&str> =
                compile.included.beside().map(|chosen| chosen.name.as_str()).collect();
            match mode {
                Mode::Full => assert_eq!(beside, ["limits"]),
                _ => assert!(beside.is_empty()),
            }
            assert_eq!(record.usage.unwrap().cache_read, 90);
            // No contents.
            let shown = serde_json::to_string(&record).unwrap();
            assert!(!shown.contains("kW"), "{shown}");
            ids.push(record.record_id);
        }
        // Later turns and later knowledge are no part of earlier requests.
        know(&bench, "later", "Pump 9 is new.");
        for (id, seen) in ids.iter().zip(upstream.seen()) {
            let again = replayed(&bench, id);
            assert_eq!(again["proof"], "whole", "{mode:?} {id}: {again}");
            assert_eq!(again["body"], String::from_utf8(seen.body).unwrap());
            assert_eq!(again["sent_digest"], again["recorded_digest"]);
        }
        // What was erased since is not shown to be what it was.
        let session = bench.record("local", &ids[0]).session.unwrap();
        let tenant = bench.store.tenant("local").unwrap();
        tenure_workspace::sessions::Session::erase(&tenant, &session, &Default::default()).unwrap();
        let again = replayed(&bench, &ids[0]);
        assert_eq!(
            (&again["proof"], &again["body"]),
            (&json!("erased"), &Value::Null)
        );
    }
}

#[test]
fn the_first_cut_of_a_conversation_that_went_on_as_it_came_is_made_again() {
    let upstream = saying(usage());
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let mut body = talk(1);
    let mut cut = None;
    for more in 0..80 {
        let (_, record) = ask(&bench, &body);
        if record.compile.is_some() {
            cut = Some(record);
            break;
        }
        let messages = body["messages"].as_array_mut().unwrap();
        messages.push(json!({ "role": "assistant", "content": "Noted. ".repeat(30) }));
        messages.push(
            json!({ "role": "user", "content": format!("And pump {more}, how warm is it?") }),
        );
    }
    let cut = cut.expect("a cut");
    assert!(cut.compile.as_deref().unwrap().goes_on);
    assert_eq!(replayed(&bench, &cut.record_id)["proof"], "whole");
}

#[test]
fn the_trace_of_the_principle_says_what_happened() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let upstream = Upstream::new(move |_, to| {
        let (status, body) = match counted.fetch_add(1, Ordering::SeqCst) {
            // The second request is too long for its provider, once.
            1 => (
                "400 Bad Request",
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 1300 tokens > 1200 maximum"}}"#.to_owned(),
            ),
            0 => ("200 OK", said(&json!({ "input_tokens": 10, "output_tokens": 3 }))),
            _ => ("200 OK", said(&usage())),
        };
        let _ = std::io::Write::write_all(to, &answer(status, "application/json", body.as_bytes()));
    });
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let principle = |id: &str| bench.get(&format!("/api/v1/records/{id}?form=principle")).json();
    let (_, first) = ask(&bench, &talk(3));
    let shown = principle(&first.record_id);
    assert_eq!(shown["cache_hit_status"], "MISS");
    assert_eq!(shown["cached_tokens_read"], 0);
    assert_eq!(shown["downstream_retries_triggered"], 0);
    assert_eq!(shown["validation_status"], "CLEAN");
    let keys = "/state_compilation_metadata/cache_metadata/prompt_cache_key";
    assert_eq!(shown.pointer(keys), Some(&Value::Null));

    let mut long = talk(21);
    long["prompt_cache_key"] = json!("acme-pumps");
    let (reply, second) = ask(&bench, &long);
    assert_eq!(reply.header("x-tenure-retried"), Some("too-long"));
    assert_eq!(second.retries, 1);
    assert_eq!(replayed(&bench, &second.record_id)["proof"], "whole");
    let shown = principle(&second.record_id);
    assert_eq!(shown["cache_hit_status"], "PARTIAL_HIT");
    assert_eq!(shown["cached_tokens_read"], 90);
    assert_eq!(shown["downstream_retries_triggered"], 1);
    assert_eq!(shown.pointer(keys), Some(&json!("acme-pumps")));

    let mut own = talk(3);
    own["context_management"] = json!({ "edits": [{ "type": "clear_tool_uses_20250919" }] });
    let (_, kept) = ask(&bench, &own);
    assert_eq!(principle(&kept.record_id)["validation_status"], "UNMANAGED");
}

#[test]
fn the_metrics_say_what_was_done() {
    let upstream = saying(usage());
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    ask(&bench, &talk(3));
    let (_, cut) = ask(&bench, &talk(60));
    let mut own = talk(3);
    own["context_management"] = json!({ "edits": [{ "type": "clear_tool_uses_20250919" }] });
    ask(&bench, &own);
    let requests = |cut: &str, fault: &str| {
        let line = format!(
            "tenure_gateway_requests_total{{mode=\"fit\",cut=\"{cut}\",fault=\"{fault}\"}}"
        );
        bench.metric(&line)
    };
    assert_eq!(requests("no", "none"), Some(1.0));
    assert_eq!(requests("yes", "none"), Some(1.0));
    assert_eq!(requests("no", "provider_edits_history"), Some(1.0));
    let saved = bench.metric("tenure_gateway_changed_tokens_total{mode=\"fit\",what=\"saved\"}");
    let expected = cut.tokens().saved().unwrap();
    assert_eq!(saved, Some(expected.tokens as f64));
    assert!(expected.tokens > 0);
}

/// An upstream whose counts are four sevenths of our bound's: what its model's own vocabulary would say.
fn counting_less() -> Upstream {
    Upstream::new(|request, to| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let letters = body["messages"].to_string().len() as u64;
        let usage = json!({
            "input_tokens": letters / 8, "cache_creation_input_tokens": letters / 8, "output_tokens": 5,
        });
        let body = said(&usage);
        let _ =
            std::io::Write::write_all(to, &answer("200 OK", "application/json", body.as_bytes()));
    })
}

#[test]
fn what_a_cut_saves_is_told_in_the_providers_tokens_and_in_money() {
    let upstream = counting_less();
    let bench = compiling(&upstream, Mode::Fit, |options| options);
    let (_, first) = ask(&bench, &talk(3));
    let (reply, cut) = ask(&bench, &talk(60));
    // The header went before the provider's count was known.
    let header: u64 = reply.header("x-tenure-saved-tokens").unwrap().parse().unwrap();
    assert_eq!(header, cut.saved);
    let reported = cut.usage.unwrap().input;
    let (ours, tokens) = (cut.sent_tokens.unwrap(), cut.tokens());
    assert!(reported < ours, "{reported} of {ours}");
    let (came, sent) = (tokens.came.unwrap(), tokens.sent.unwrap());
    assert_eq!((sent.tokens, sent.by), (reported, CountedBy::Provider));
    assert_eq!(came.by, CountedBy::Calibrated);
    assert_eq!(came.tokens, cut.request_tokens.unwrap() * reported / ours);
    // The cause of a first cut is the length, by how much, in the same unit.
    let compile = cut.compile.as_deref().unwrap();
    assert_eq!(compile.cause, EpochCause::First);
    let passed = compile.passed.unwrap();
    assert!(passed.history > passed.most, "{passed:?}");
    let told = cut.epoch_in_words().unwrap();
    let over = cut.in_its_unit(passed.history - passed.most);
    assert!(
        told.starts_with("the history is too long to stand whole"),
        "{told}"
    );
    assert!(told.ends_with(&format!("({over} too many)")), "{told}");
    // Both are within what the model could have taken, or the tokens are no saving.
    let net = Bill::of(&Catalogue::builtin().unwrap(), [&first, &cut]);
    assert_eq!(
        cut.room.is_some_and(|room| came.tokens > room),
        cut.is_too_long()
    );
    assert_eq!(net.too_long, u64::from(cut.is_too_long()));
}

#[test]
fn a_claim_that_was_left_out_as_unresolved_is_quarantined_in_the_trace_of_the_principle() {
    let upstream = saying(usage());
    let bench = compiling(&upstream, Mode::Full, |options| options);
    let tenant = bench.store.tenant("local").unwrap();
    let claims = |name: &str, port: u16, level: u8| {
        let object = json!({
            "name": name, "content": format!("The port is {port}."), "object_type": "rule", "authority_level": level,
            "normalized_claim": format!("{} == {port}", if level == 2 { "port" } else { "limit" }),
            "canonical_entity_ids": ["desk"], "source_authority": if name == "worse" { 0.2 } else { 0.6 },
        });
        tenure_store::Put::new(serde_json::from_value(object).unwrap())
    };
    let objects = vec![
        claims("one", 80, 2),
        claims("other", 443, 2),
        claims("worse", 5, 1),
        claims("better", 6, 1),
    ];
    let written = tenant.put(objects, &Default::default()).unwrap().objects;
    let id = |at: usize| json!(written[at].object_id);
    let (_, record) = ask(&bench, &talk(3));
    let lists = |shown: &Value| {
        let lists = &shown["state_compilation_metadata"];
        (
            lists["quarantined_objects"].as_array().unwrap().clone(),
            lists["omitted_objects"].as_array().unwrap().clone(),
        )
    };
    let path = format!("/api/v1/records/{}?form=principle", record.record_id);
    let shown = bench.get(&path).json();
    let (mut quarantined, omitted) = lists(&shown);
    quarantined.sort_by_key(|one| one["object_id"] != id(0));
    let unresolved = |at: usize, status: Value| json!({ "object_id": id(at), "reason": "conflicting_claim_unresolved", "contradiction_status": status });
    let both = [0, 1].map(|at| unresolved(at, json!("disputed")));
    assert_eq!(quarantined, both, "{shown}");
    // What loses by its source is disputed, and was left out for what others say better.
    let lost =
        json!({ "object_id": id(2), "reason": "overridden", "contradiction_status": "disputed" });
    assert!(omitted.contains(&lost), "{shown}");
    assert!(!omitted.iter().any(|one| one["object_id"] == id(0)));
    let count =
        |shown: &Value| shown["observability_metrics"]["entity_resolution_conflicts"].clone();
    assert_eq!(count(&shown), 0);

    // What waits for a person to say which entity it is about is counted.
    let create = |id: &str, pending: bool| {
        let op =
            json!({ "op": "create", "id": id, "name": format!("the {id}"), "pending": pending });
        (serde_json::from_value(op).unwrap(), None)
    };
    let two = vec![create("sam", false), create("sam-2", true)];
    tenant.change_entities(two, &Default::default()).unwrap();
    let about = json!({
        "name": "about", "content": "Ask Sam of the pump.", "object_type": "rule", "authority_level": 2,
        "canonical_entity_ids": ["sam-2"],
    });
    let about = tenure_store::Put::new(serde_json::from_value(about).unwrap());
    tenant.put(vec![about], &Default::default()).unwrap();
    let (_, record) = ask(&bench, &talk(5));
    let path = format!("/api/v1/records/{}?form=principle", record.record_id);
    assert_eq!(count(&bench.get(&path).json()), 1);

    // An older record says less, and says so.
    let mut older = serde_json::to_value(&record).unwrap();
    let compile = older["compile"].as_object_mut().unwrap();
    assert!(compile.remove("entity_conflicts").is_some());
    for named in compile["omitted"]["named"].as_array_mut().unwrap() {
        named.as_object_mut().unwrap().remove("contradiction_status");
    }
    let older: ExchangeRecord = serde_json::from_value(older).unwrap();
    let shown = older.principle(&tenant);
    assert_eq!(count(&shown), Value::Null);
    let (mut quarantined, omitted) = lists(&shown);
    quarantined.sort_by_key(|one| one["object_id"] != id(0));
    assert_eq!(quarantined, [0, 1].map(|at| unresolved(at, Value::Null)));
    assert!(omitted.contains(&json!({ "object_id": id(2), "reason": "overridden" })));
}

/// The record of a request, item by item.
fn items(bench: &Bench, record: &ExchangeRecord) -> RequestItems {
    let workspace = Workspace::new(tenure::FrameKey::new("test", [7; 32])).unwrap();
    let catalogue = "models.small = { extends = \"gpt-4o\", window = 3000, reserve = 500 }\n\
        models.claude-small = { extends = \"claude-opus-4-5\", window = 3000, reserve = 500 }\n";
    let models = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(models.path(), catalogue).unwrap();
    let workspace = workspace.load_catalogue(models.path()).unwrap();
    let tenant = bench.store.tenant("local").unwrap();
    workspace.records(&tenant).items(record).unwrap()
}

/// The long conversation in a format that has the system's text among its messages.
fn chat(turns: usize) -> Value {
    let mut body = talk(turns);
    let system = json!({ "role": "system", "content": "Be brief." });
    body["messages"].as_array_mut().unwrap().insert(0, system);
    body.as_object_mut().unwrap().remove("system");
    body["model"] = "small".into();
    body
}

#[test]
fn a_record_tells_each_item_of_a_request_that_was_cut() {
    for (path, mut body) in [
        ("/v1/messages", talk(60)),
        ("/v1/chat/completions", chat(60)),
    ] {
        let upstream = saying(usage());
        let bench = compiling(&upstream, Mode::Fit, |options| options);
        body["messages"].as_array_mut().unwrap().pop();
        let reply = bench.ask("POST", path, &HEAD, body.to_string().as_bytes());
        let record = bench.record("local", &reply.record());
        let told = items(&bench, &record);
        assert_eq!(told.unknown, None);
        // The system's text is among them, in its place.
        let system = &told.items[0];
        let is_chat = path.ends_with("completions");
        let (at, first) = if is_chat {
            ("messages[0]", 1)
        } else {
            ("system", 0)
        };
        assert_eq!(
            (&*system.id, system.came_at.as_deref()),
            ("system", Some(at))
        );
        assert_eq!(
            (&*system.begins, system.form),
            ("Be brief.", ItemForm::Whole)
        );
        // Each message has the place at which it came, and its text.
        let came: Vec<&RequestItem> =
            told.items.iter().filter(|item| item.id.starts_with('t')).collect();
        assert_eq!(came.len(), 59);
        for (at, item) in came.iter().enumerate() {
            let place = format!("messages[{}]", at + first);
            assert_eq!(item.came_at.as_ref(), Some(&place));
            assert!(item.begins.starts_with(&format!("Turn {at}: ")), "{item:?}");
            assert!(item.came > 50 && item.pointer.as_ref() == Some(&item.id));
        }
        // Most of them left; what was sent and what came are all accounted for.
        let of = |form: ItemForm| told.forms.get(&form).copied().unwrap_or_default();
        let left = of(ItemForm::Summarised).items
            + of(ItemForm::Quoted).items
            + of(ItemForm::LeftOut).items;
        assert!(
            left > 30 && of(ItemForm::Summarised).sent == 0,
            "{:?}",
            told.forms
        );
        assert!(of(ItemForm::Added).items >= 1 && of(ItemForm::Whole).items >= 2);
        let sum = |of: fn(&RequestItem) -> u64| told.items.iter().map(of).sum::<u64>();
        assert_eq!(Some(sum(|item| item.came)), record.request_tokens);
        let sent = record.sent_tokens.unwrap();
        let told_sent = sum(|item| item.sent);
        assert!(
            told_sent >= sent && told_sent < sent + sent / 10,
            "{told_sent} of {sent}"
        );
        // What is told to stand whole stands in what was sent, and nothing else does.
        let sent: Value = serde_json::from_slice(&upstream.only().body).unwrap();
        let sent: Vec<&Value> = sent["messages"].as_array().unwrap().iter().collect();
        for (at, item) in came.iter().enumerate() {
            let stands = sent.contains(&&body["messages"][at + first]);
            assert_eq!(stands, item.form == ItemForm::Whole, "{item:?}");
        }
        let summary = told.items.iter().find(|item| item.why == "summary").unwrap();
        let by = came.iter().find(|item| item.form == ItemForm::Summarised).unwrap();
        assert!(
            by.says.contains(&format!("{} stands for it", summary.id)),
            "{by:?}"
        );
        // The body as it was sent, with its instructions, and each item at its place in it.
        let again = replayed(&bench, &record.record_id);
        assert_eq!(again["proof"], "whole");
        let page = |path: &str| {
            let reply = bench.get(&format!("/inspect{path}"));
            let text = String::from_utf8(reply.body).unwrap();
            assert_eq!(reply.status, 200, "{path}: {text}");
            text
        };
        let of = |part: &str| page(&format!("/records/{}{part}", record.record_id));
        // The system's text stands at its place, and the messages behind it.
        let shown = of("/payload");
        assert!(shown.contains("Be brief."), "{shown}");
        for (at, message) in sent.iter().enumerate() {
            let text = message["content"].as_str();
            let text = text.or(message["content"][0]["text"].as_str()).unwrap();
            let begins = &text[..text.len().min(30)].lines().next().unwrap();
            let place = format!("aria-label=\"messages[{at}].content");
            let there = shown.split(&place).nth(1).unwrap_or_else(|| panic!("{place}: {shown}"));
            let there = there.split("</section>").next().unwrap();
            // Frames are marked up as such.
            let is_frame = begins.starts_with('<');
            assert!(
                is_frame || there.contains(begins),
                "{begins} is not in {there}"
            );
        }
        let overview = of("");
        assert!(
            overview.contains("summarised") && overview.contains("/items?form=summarised"),
            "{overview}"
        );
        let summarised = of("/items?form=summarised");
        assert!(
            summarised.contains(&format!("{} stands for it", summary.id)),
            "{summarised}"
        );
        assert!(!summarised.contains("Be brief."));
        // A text of one message alone.
        let found = of("/items?q=PUMP%2017%20runs");
        assert!(
            found.contains("Turn 17: ") && found.contains("1 to 1 of 1"),
            "{found}"
        );
        let whole = of(&format!("/message?id={}", by.id));
        assert!(whole.contains("stands for it") && whole.matches(" kW and is warm.").count() >= 8);
        assert_eq!(
            bench
                .get(&format!(
                    "/inspect/records/{}/message?id=t9999",
                    record.record_id
                ))
                .status,
            404
        );
        assert!(of("/candidates").contains("mandatory"));
        // The list has the totals, and finds a conversation by its words, its time and its user.
        let day = &record.at.to_string()[..10];
        let id = &record.record_id;
        assert!(page("?text=pump%2017%20RUNS").contains(id));
        assert!(!page("?text=no-such-words").contains(id));
        assert!(page(&format!("?since={day}&until={day}")).contains(id));
        assert!(!page("?since=2999-01-01").contains(id) && !page("?until=1999-12-31").contains(id));
        assert!(!page("?user=nobody").contains(id));
        assert!(page("").contains("aria-label=\"Totals\""));
        // It is read from the session, so another compiler does not take it away.
        let mut older = record.clone();
        older.compile.as_mut().unwrap().compiler = 1;
        assert_eq!(items(&bench, &older), told);
    }
}

#[test]
fn a_request_that_went_as_it_came_is_put_together_again() {
    let spaced = |value: &Value| serde_json::to_string_pretty(value).unwrap();
    for (path, body) in [
        ("/v1/messages", talk(5).to_string()),
        ("/v1/chat/completions", chat(5).to_string()),
        ("/v1/chat/completions", spaced(&chat(5))),
        (
            "/v1/chat/completions",
            chat(1).to_string().replace("\",\"", "\" , \""),
        ),
    ] {
        let upstream = saying(usage());
        let bench = compiling(&upstream, Mode::Fit, |options| options);
        let reply = bench.ask("POST", path, &HEAD, body.as_bytes());
        let record = bench.record("local", &reply.record());
        assert!(record.is_as_it_came() && record.compile.is_none());
        let told = items(&bench, &record);
        assert!(told.items.len() >= 2 && told.unknown.is_none(), "{told:?}");
        assert!(
            told.items
                .iter()
                .all(|item| item.form == ItemForm::Whole && item.came == item.sent)
        );
        let sum: u64 = told.items.iter().map(|item| item.came).sum();
        assert_eq!(Some(sum), record.request_tokens);
        // No contents are in the record; a conversation needs few parts, however it is laid out.
        let shown = serde_json::to_string(&record).unwrap();
        assert!(!shown.contains("kW"), "{shown}");
        assert!(record.body.as_ref().unwrap().pieces.len() <= 3, "{shown}");
        let again = replayed(&bench, &record.record_id);
        assert_eq!(
            (&again["proof"], &again["body"]),
            (&json!("as_it_came"), &json!(body))
        );
        let page = bench.get(&format!("/inspect/records/{}/payload", record.record_id));
        let page = String::from_utf8(page.body).unwrap();
        assert!(
            page.contains("proven: it went on as it came") && page.contains("Turn 0: "),
            "{page}"
        );
        // Later messages are no part of it.
        let mut more: Value = serde_json::from_str(&body).unwrap();
        let messages = more["messages"].as_array_mut().unwrap();
        messages.push(json!({ "role": "assistant", "content": "Noted." }));
        messages.push(json!({ "role": "user", "content": "And now?" }));
        bench.ask("POST", path, &HEAD, more.to_string().as_bytes());
        assert_eq!(replayed(&bench, &record.record_id)["body"], json!(body));
        assert_eq!(items(&bench, &record), told);
        // What was erased is not shown to be what it was.
        let tenant = bench.store.tenant("local").unwrap();
        let session = record.session.as_deref().unwrap();
        tenure_workspace::sessions::Session::erase(&tenant, session, &Default::default()).unwrap();
        let again = replayed(&bench, &record.record_id);
        assert_eq!(
            (&again["proof"], &again["body"]),
            (&json!("as_it_came"), &Value::Null)
        );
        let told = items(&bench, &record);
        assert!(told.unknown.is_some() && told.items.len() == 1);
    }
}

#[test]
fn what_was_only_looked_at_is_one_item() {
    let upstream = saying(usage());
    let bench = compiling(&upstream, Mode::Observe, |options| options);
    let (_, record) = ask(&bench, &talk(3));
    let told = items(&bench, &record);
    assert!(told.unknown.is_some());
    assert_eq!(
        (&*told.items[0].id, told.items[0].form),
        ("request", ItemForm::Whole)
    );
    assert_eq!(Some(told.items[0].sent), record.sent_tokens);
}
