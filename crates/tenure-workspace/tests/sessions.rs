//! Sessions over a real store (those that write much, or erase, over both engines): what was sent stays, what leaves can be read back, two writers do not
//! overwrite each other.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use tenure::object::ObjectType;
use tenure::request::{Progress, Subtask};
use tenure::time::Instant;
use tenure::trace::EpochCause;
use tenure::wire::{self, Format};
use tenure::{
    Budget, Candidates, ChatTemplate, ErrorKind, FrameKey, ObjectDocument, Policy, Request, Target,
    World,
};
use tenure_store::{Store, Tenant, Writing};
use tenure_workspace::records::{self, Proof, Replay};
use tenure_workspace::sessions::{PASSAGES, Session, SessionCompiled, SessionJob, Wanted};
use tenure_workspace::{Gathered, Workspace};

use crate::support::recorded::{Recording, recording};

const CHATS: [Target; 4] = [
    Target::OpenAiChat,
    Target::OpenAiResponses,
    Target::AnthropicMessages,
    Target::Gemini,
];

/// Makes a test of each function for each engine.
macro_rules! on_both_engines {
    ($($test:ident),* $(,)?) => {$(
        mod $test {
            #[test]
            fn sqlite() {
                super::$test(super::Engine::Sqlite);
            }
            #[test]
            fn postgresql() {
                super::$test(super::Engine::Postgresql);
            }
        }
    )*};
}

on_both_engines!(
    what_was_sent_stays_while_the_epoch_lasts,
    two_writers_do_not_overwrite_each_other,
    what_is_rehydrated_stands_in_the_tail_until_the_epoch_ends,
    what_is_erased_leaves_the_session_and_what_was_sent_of_it,
);

#[derive(Clone, Copy)]
enum Engine {
    Sqlite,
    Postgresql,
}

struct Bench {
    _folder: Option<tempfile::TempDir>,
    workspace: Workspace,
    world: World,
    policy: Policy,
    tenant: Tenant,
    beside: Gathered,
}

impl Bench {
    fn new() -> Bench {
        Bench::with_policy("")
    }

    fn with_policy(policy: &str) -> Bench {
        Bench::on(Engine::Sqlite, policy)
    }

    fn on(engine: Engine, policy: &str) -> Bench {
        let (store, folder) = match engine {
            Engine::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
                (store, Some(folder))
            }
            Engine::Postgresql => {
                static NEXT: AtomicU32 = AtomicU32::new(0);
                let database = format!("bench{}", NEXT.fetch_add(1, Ordering::Relaxed));
                let server = crate::server::Server::shared();
                server.create(&database);
                let store = Store::open(&server.url(&database)).unwrap();
                store.migrate().unwrap();
                (store, None)
            }
        };
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let rule = ObjectDocument::named("units", "Report times in milliseconds.");
        Bench {
            tenant: store.tenant("local").unwrap(),
            world: workspace.world("gpt-4o").unwrap(),
            policy: Policy::from_toml(policy).unwrap(),
            workspace,
            beside: Gathered::of_sources(Candidates::new(vec![rule.seal().unwrap()])),
            _folder: folder,
        }
    }

    fn session(&self) -> Session {
        let none = (None, None);
        Session::create(self.tenant.clone(), None, at(0), none, None).unwrap()
    }

    fn compile(&self, session: &mut Session, target: Target, budget: u32) -> SessionCompiled {
        self.try_compile(session, target, budget).unwrap()
    }

    /// Keeps a record of a compile.
    fn record(&self, compiled: &SessionCompiled) -> String {
        let recording = records::Recording {
            outcome: &compiled.outcome,
            request: &compiled.request,
            policy: &self.policy,
            template: self.world.template(),
            gathered: &compiled.gathered,
            facts: &compiled.facts,
            compiled_at: at(9_000),
            latency: std::time::Duration::ZERO,
        };
        let kept = self.workspace.records(&self.tenant).keep(&recording);
        kept.unwrap().remove(0)
    }

    fn try_compile(
        &self,
        session: &mut Session,
        target: Target,
        budget: u32,
    ) -> Result<SessionCompiled, tenure::Error> {
        let mut request = Request::new("Keep the fleet healthy.", Budget::tokens(budget));
        request.target = target;
        self.ask(session, request)
    }

    fn ask(
        &self,
        session: &mut Session,
        request: Request,
    ) -> Result<SessionCompiled, tenure::Error> {
        let job = SessionJob {
            world: &self.world,
            policy: &self.policy,
            request: &request,
            beside: &self.beside,
            instructions: true,
            now: at(9_000),
        };
        self.workspace.compile_session(session, &job)
    }
}

fn at(seconds: i64) -> Instant {
    Instant::from_micros(1_790_000_000_000_000 + seconds * 1_000_000)
}

fn append(session: &mut Session, messages: &[Value]) -> Vec<u64> {
    let recent: Vec<ObjectDocument> = session.recent().into_iter().cloned().collect();
    let recent: Vec<&ObjectDocument> = recent.iter().collect();
    let json =
        json!({ "messages": messages, "tools": crate::support::recorded::tools() }).to_string();
    let conversation = wire::read_after(Format::OpenAiChat, &json, &recent).unwrap();
    session.append(conversation, at(60)).unwrap()
}

fn body(compiled: &SessionCompiled) -> String {
    let envelope = &compiled.outcome.single().unwrap().envelope;
    envelope.payload.as_ref().unwrap().to_string()
}

/// The blocks of a body's messages in order, each with its role.
fn blocks(body: &str) -> Vec<String> {
    let body: Value = serde_json::from_str(body).unwrap();
    let keys = ["messages", "input", "contents"];
    let list = keys.iter().find_map(|key| body.get(*key)).unwrap();
    let mut blocks = Vec::new();
    for message in list.as_array().unwrap() {
        let content = message.get("content").or(message.get("parts"));
        match content.and_then(Value::as_array) {
            Some(parts) => {
                blocks.extend(parts.iter().map(|part| format!("{} {part}", message["role"])));
            }
            None => blocks.push(message.to_string()),
        }
    }
    blocks
}

fn what_was_sent_stays_while_the_epoch_lasts(engine: Engine) {
    for target in CHATS {
        let bench = Bench::on(engine, "");
        let Recording { messages, .. } = recording(6, 120);
        let mut session = bench.session();
        let mut before: Option<String> = None;
        for (at, message) in messages.iter().enumerate() {
            append(&mut session, std::slice::from_ref(message));
            let waits = message["role"] == "user"
                || (message["role"] == "tool" && messages[at + 1]["role"] != "tool");
            if !waits {
                continue;
            }
            let compiled = bench.compile(&mut session, target, 30_000);
            let cause = compiled.session.cause;
            let sent = body(&compiled);
            if let Some(before) = &before {
                assert_eq!(cause, EpochCause::Kept, "{target}");
                assert!(
                    blocks(&sent).starts_with(&blocks(before)),
                    "{before}\n{sent}"
                );
            } else {
                assert_eq!(cause, EpochCause::First);
            }
            // Asked again, it says the same, and so it does to somebody who reads the session anew.
            let again = bench.compile(&mut session, target, 30_000);
            assert_eq!(body(&again), sent);
            let mut anew = Session::open(bench.tenant.clone(), session.id()).unwrap();
            assert_eq!(body(&bench.compile(&mut anew, target, 30_000)), sent);
            before = Some(sent);
        }
    }
}

#[test]
fn a_long_session_fits_and_nothing_of_it_is_lost() {
    for target in CHATS {
        let bench = Bench::new();
        let Recording { messages, planted } = recording(40, 300);
        let mut session = bench.session();
        let (mut epochs, mut handoffs) = (0, 0);
        for (at, message) in messages.iter().enumerate() {
            append(&mut session, std::slice::from_ref(message));
            let waits = message["role"] == "user"
                || (message["role"] == "tool" && messages[at + 1]["role"] != "tool");
            if !waits {
                continue;
            }
            let compiled = bench.compile(&mut session, target, 5_000);
            let envelope = &compiled.outcome.single().unwrap().envelope;
            assert!(envelope.total_tokens <= 5_000);
            let cause = compiled.session.cause;
            epochs += u32::from(cause != EpochCause::Kept);
            let cut = matches!(cause, EpochCause::HighWater | EpochCause::OverBudget);
            assert!(
                cut || matches!(cause, EpochCause::Kept | EpochCause::First),
                "{cause}"
            );
            handoffs += u32::from(compiled.session.handoff);
            let newest = if message["role"] == "user" {
                &message["content"]
            } else {
                &Value::Null
            };
            if let Some(text) = newest.as_str() {
                assert!(
                    body(&compiled).contains(text.lines().next().unwrap()),
                    "the request stands"
                );
            }
        }
        assert!(epochs > 3 && handoffs > 3, "{epochs} {handoffs}");
        let compiled = bench.compile(&mut session, target, 5_000);
        assert!(compiled.session.checkpoints.len() <= 12);
        let sent = body(&compiled);
        // What the user demanded stands after every compaction.
        assert!(sent.contains("You must never restart"));
        for fact in &planted {
            let wanted = Wanted::Query {
                text: fact.query.clone(),
                tokens: 4_000,
            };
            let found = session.rehydrate(&wanted, bench.world.tokenizer()).unwrap();
            let there = sent.contains(&fact.answer)
                || found.originals.iter().any(|original| original.text.contains(&fact.answer));
            assert!(there, "{}", fact.query);
        }
        // Every original is as it was.
        let exported = session.export(Format::OpenAiChat).unwrap().messages;
        let kept: Vec<Value> = serde_json::from_str(&exported).unwrap();
        assert_eq!(kept, messages);
        // Through its number, and through the summary that stands for it.
        let id = format!("c{}", compiled.session.checkpoints[0]);
        let found = session.rehydrate(&Wanted::Id(id), bench.world.tokenizer()).unwrap();
        assert_eq!(
            found.originals[0].objects[0].content,
            messages[0]["content"].as_str().unwrap()
        );
    }
}

fn two_writers_do_not_overwrite_each_other(engine: Engine) {
    let bench = Bench::on(engine, "");
    let mut one = bench.session();
    let mut other = Session::open(bench.tenant.clone(), one.id()).unwrap();
    append(&mut one, &[json!({ "role": "user", "content": "One." })]);
    let json = r#"[{"role": "user", "content": "Other."}]"#;
    let conversation = wire::read(Format::OpenAiChat, json).unwrap();
    let error = other.append(conversation.clone(), at(1)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
    other.refresh().unwrap();
    other.append(conversation, at(1)).unwrap();
    one.refresh().unwrap();
    assert_eq!((one.len(), other.len()), (2, 2));
    let taken = Session::create(
        bench.tenant.clone(),
        Some(one.id()),
        at(0),
        (None, None),
        None,
    );
    assert_eq!(taken.unwrap_err().kind, ErrorKind::Conflict);
}

#[test]
fn a_revoked_passage_ends_the_epoch() {
    let mut bench = Bench::new();
    let passage: ObjectDocument = serde_json::from_value(json!({
        "name": "page", "object_type": "retrieved_passage", "content": "The fleet has 400 nodes.",
        "provenance": { "source_id": "wiki", "retrieved_at": "2026-11-20T00:00:00Z", "authority": 0.9,
            "relevance": 0.9, "lineage": "q", "chunk": { "start": 0, "end": 24 } },
    }))
    .unwrap();
    bench.beside = Gathered::of_sources(Candidates::new(vec![passage.seal().unwrap()]));
    let mut session = bench.session();
    append(
        &mut session,
        &[json!({ "role": "user", "content": "How large is the fleet?" })],
    );
    let first = bench.compile(&mut session, Target::OpenAiChat, 4_000);
    assert!(body(&first).contains("400 nodes"));
    append(
        &mut session,
        &[json!({ "role": "assistant", "content": "It has that many." })],
    );
    append(
        &mut session,
        &[json!({ "role": "user", "content": "Thanks. Is it healthy?" })],
    );
    let second = bench.compile(&mut session, Target::OpenAiChat, 4_000);
    assert_eq!(second.session.cause, EpochCause::Kept);
    assert_eq!(
        body(&second).matches("400 nodes").count(),
        1,
        "it stands where it was sent"
    );
    bench.beside = Gathered::of_sources(Candidates::default());
    append(
        &mut session,
        &[json!({ "role": "assistant", "content": "It is." })],
    );
    let third = bench.compile(&mut session, Target::OpenAiChat, 4_000);
    assert_eq!(third.session.cause, EpochCause::FrozenGone);
    assert!(!body(&third).contains("400 nodes"));
    assert!(body(&third).contains("It has that many."));
}

#[test]
fn a_result_longer_than_the_window_stands_in_a_shorter_form_that_does_not_change() {
    let bench = Bench::new();
    let mut session = bench.session();
    append(
        &mut session,
        &[json!({ "role": "user", "content": "Read the log." })],
    );
    let call = json!({ "id": "c1", "type": "function", "function": { "name": "inspect", "arguments": "{}" } });
    append(
        &mut session,
        &[json!({ "role": "assistant", "content": null, "tool_calls": [call] })],
    );
    let lines: Vec<String> =
        (0..20_000).map(|at| format!("{at} ok {}", at * 7919 % 1_000)).collect();
    let log = lines.join("\n");
    append(
        &mut session,
        &[json!({ "role": "tool", "tool_call_id": "c1", "content": log })],
    );
    let first = bench.compile(&mut session, Target::OpenAiChat, 8_000);
    let sent = body(&first);
    assert!(sent.contains("[omitted: "), "{}", &sent[..800]);
    assert!(!sent.contains("rehydrate"), "nobody offers the tool");
    append(
        &mut session,
        &[json!({ "role": "assistant", "content": "All is well." })],
    );
    append(
        &mut session,
        &[json!({ "role": "user", "content": "Good." })],
    );
    let second = bench.compile(&mut session, Target::OpenAiChat, 8_000);
    assert_eq!(second.session.cause, EpochCause::Kept);
    assert!(blocks(&body(&second)).starts_with(&blocks(&sent)));
    let whole = session.rehydrate(&Wanted::Id("t5".into()), bench.world.tokenizer()).unwrap();
    assert_eq!(whole.originals[0].text, log);
}

#[test]
fn a_smaller_budget_does_not_change_what_was_sent() {
    let bench = Bench::new();
    let mut session = bench.session();
    let messages = recording(1, 700).messages;
    let (answer, asked) = messages.split_last().unwrap();
    append(&mut session, asked);
    let first = body(&bench.compile(&mut session, Target::OpenAiChat, 30_000));
    append(&mut session, std::slice::from_ref(answer));
    append(
        &mut session,
        &[json!({ "role": "user", "content": "And now?" })],
    );
    let second = bench.compile(&mut session, Target::OpenAiChat, 4_000);
    assert_eq!(second.session.cause, EpochCause::Kept);
    assert!(blocks(&body(&second)).starts_with(&blocks(&first)));
}

#[test]
fn at_an_epochs_end_a_result_that_a_newer_one_replaces_goes_first() {
    let bench = Bench::new();
    let mut session = bench.session();
    let mut read = |key: &str, arguments: &str, log: &str| {
        let function = json!({ "name": "inspect", "arguments": arguments });
        let call = json!({ "id": key, "type": "function", "function": function });
        append(
            &mut session,
            &[json!({ "role": "user", "content": "Look." })],
        );
        append(
            &mut session,
            &[json!({ "role": "assistant", "content": null, "tool_calls": [call] })],
        );
        append(
            &mut session,
            &[json!({ "role": "tool", "tool_call_id": key, "content": log.repeat(60) })],
        );
        append(
            &mut session,
            &[json!({ "role": "assistant", "content": "I see." })],
        );
    };
    read(
        "c1",
        r#"{"service": "cache", "lines": 9}"#,
        "stale words of the cache ",
    );
    read(
        "c2",
        r#"{"service": "mailer"}"#,
        "other words of the mailer ",
    );
    read(
        "c3",
        r#"{"lines": 9, "service": "cache"}"#,
        "fresh words of the cache ",
    );
    append(
        &mut session,
        &[json!({ "role": "user", "content": "Well?" })],
    );
    bench.compile(&mut session, Target::OpenAiChat, 30_000);
    // Room for all of it but one result.
    session.checkpoint(&bench.world, &bench.policy, "Health.", 900).unwrap();
    let sent = body(&bench.compile(&mut session, Target::OpenAiChat, 30_000));
    assert!(!sent.contains("stale words"), "{sent}");
    assert!(
        sent.contains("is newer]") && !sent.contains("rehydrate"),
        "{sent}"
    );
    assert!(
        sent.contains("other words") && sent.contains("fresh words"),
        "{sent}"
    );
    let whole = session.rehydrate(&Wanted::Id("t5".into()), bench.world.tokenizer()).unwrap();
    assert!(whole.originals[0].text.starts_with("stale words"));
}

#[test]
fn what_is_frozen_makes_room_for_a_history_that_grows() {
    let mut bench = Bench::with_policy("guidance = { near = 0.0 }");
    let belief = |at: usize| {
        let text = format!("Pump {at} was checked by the north crew. ").repeat(4);
        let mut document = ObjectDocument::named(format!("pump-{at}"), text.trim());
        document.object_type = Some(ObjectType::ProjectDecision);
        document.seal().unwrap()
    };
    bench.beside = Gathered::of_sources(Candidates::new((0..200).map(belief).collect()));
    let mut session = bench.session();
    let mut ends = 0;
    for at in 0..12 {
        let said = format!("Is the fleet well on day {at}? ").repeat(12);
        append(&mut session, &[json!({ "role": "user", "content": said })]);
        let compiled = bench.compile(&mut session, Target::OpenAiChat, 4_000);
        ends += u32::from(compiled.session.cause == EpochCause::OverBudget);
        append(
            &mut session,
            &[json!({ "role": "assistant", "content": "It is." })],
        );
    }
    assert!(ends > 0, "the floor never made room");
}

#[test]
fn through_a_chat_template_what_was_sent_stays() {
    const OPENS: &str = "<|im_start|>assistant\n";
    let template = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}\
        {% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content | trim }}\
        {% for c in m.tool_calls %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n{% endfor %}\
        {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    let mut bench = Bench::new();
    bench.world = bench.world.with_template(ChatTemplate::read(template, None).unwrap());
    let Recording { messages, .. } = recording(6, 120);
    let mut session = bench.session();
    let mut before = String::new();
    for (at, message) in messages.iter().enumerate() {
        append(&mut session, std::slice::from_ref(message));
        let waits = message["role"] == "user"
            || (message["role"] == "tool" && messages[at + 1]["role"] != "tool");
        if !waits {
            continue;
        }
        let compiled = bench.compile(&mut session, Target::ChatTemplate, 30_000);
        let sent = body(&compiled);
        let stays = sent.strip_suffix(OPENS).unwrap();
        assert!(stays.starts_with(&before), "{before}\n----\n{sent}");
        assert!(stays.contains("objective: Keep the fleet healthy."));
        assert_eq!(
            body(&bench.compile(&mut session, Target::ChatTemplate, 30_000)),
            sent
        );
        before = stays.to_owned();
    }
    assert!(before.contains("\"name\": \"inspect\"") && before.contains("<|im_start|>tool\n"));
    let again = before.matches("objective: Keep the fleet healthy.").count();
    assert_eq!(again, 1, "the task is said once");
}

#[test]
fn an_epoch_ends_early_where_that_is_cheaper_and_the_policy_says_so() {
    let mut causes = Vec::new();
    for policy in ["", "[session]\nends_when_cheaper = true\n"] {
        let mut bench = Bench::with_policy(policy);
        bench.world = bench.workspace.world("claude-haiku-5-5").unwrap();
        let Recording { messages, .. } = recording(60, 300);
        let mut session = bench.session();
        let mut seen = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            append(&mut session, std::slice::from_ref(message));
            if message["role"] != "user"
                && messages.get(at + 1).is_none_or(|next| next["role"] == "tool")
            {
                continue;
            }
            let compiled = bench.compile(&mut session, Target::AnthropicMessages, 60_000);
            let report = compiled.session;
            assert_eq!(report.worth.is_some(), report.cause == EpochCause::Cheaper);
            if let Some(worth) = report.worth {
                assert!(worth.ending < worth.keeping && worth.calls > 1);
                assert!(report.history_tokens < report.high_water);
            }
            // Asked again, it is the same, however often.
            for _ in 0..2 {
                let again = bench.compile(&mut session, Target::AnthropicMessages, 60_000);
                assert_eq!(again.session.epoch, report.epoch, "message {at}");
            }
            seen.push(report.cause);
        }
        causes.push(seen);
    }
    let cheaper =
        |seen: &[EpochCause]| seen.iter().filter(|cause| **cause == EpochCause::Cheaper).count();
    assert_eq!(cheaper(&causes[0]), 0);
    let ends = cheaper(&causes[1]);
    assert!((1..20).contains(&ends), "{ends} of {}", causes[1].len());
    // It never ends twice in a row: what was just laid anew has cost nothing in vain yet.
    assert!(!causes[1].windows(2).any(|two| two == [EpochCause::Cheaper; 2]));
}

#[test]
fn in_plain_text_nothing_is_said_for_good() {
    let bench = Bench::new();
    let mut session = bench.session();
    for (role, text) in [
        ("user", "Begin."),
        ("assistant", "I did."),
        ("user", "Go on."),
    ] {
        append(&mut session, &[json!({ "role": role, "content": text })]);
        if role == "user" {
            let compiled = bench.compile(&mut session, Target::Text, 4_000);
            let sent = body(&compiled);
            assert!(
                sent.contains("objective: Keep the fleet healthy."),
                "{sent}"
            );
        }
    }
}

#[test]
fn what_is_pinned_stays_though_it_is_out_of_date() {
    let bench = Bench::new();
    let mut session = bench.session();
    let mut call = |key: &str, name: &str, text: &str| {
        let function = json!({ "name": name, "arguments": "{\"path\": \"pump.rs\"}" });
        let call = json!({ "id": key, "type": "function", "function": function });
        append(
            &mut session,
            &[json!({ "role": "user", "content": "Go on." })],
        );
        append(
            &mut session,
            &[json!({ "role": "assistant", "content": null, "tool_calls": [call] })],
        );
        append(
            &mut session,
            &[json!({ "role": "tool", "tool_call_id": key, "content": text.repeat(60) })],
        )[0]
    };
    let old = call("c1", "read_file", "the pump as it was ");
    let other = call("c2", "read_file", "the pump as it was then ");
    call("c3", "edit_file", "the pump was changed ");
    session.pin(old).unwrap();
    session.checkpoint(&bench.world, &bench.policy, "Go on.", 100_000).unwrap();
    let sent = body(&bench.compile(&mut session, Target::OpenAiChat, 30_000));
    assert!(sent.contains("the pump as it was the pump"), "{sent}");
    assert!(!sent.contains("as it was then the"), "{sent}");
    let found = session.rehydrate(&Wanted::Id(format!("t{other}")), bench.world.tokenizer());
    assert!(found.unwrap().originals.len() == 1);
    assert!(sent.contains("changed it]"), "{sent}");
}

#[test]
fn the_state_of_the_task_is_said_whole_once_in_an_epoch() {
    let bench = Bench::new();
    let mut session = bench.session();
    let since = |before: &str, after: &str| blocks(after)[blocks(before).len()..].concat();
    let say = |session: &mut Session, role: &str, text: &str| {
        append(session, &[json!({ "role": role, "content": text })]);
    };
    let ask = |session: &mut Session, done: usize| {
        let mut request = Request::new("Keep the fleet healthy.", Budget::tokens(20_000));
        request.target = Target::OpenAiChat;
        let step = |at: usize| Subtask {
            title: format!("Look at pump {at} and write down how hot it is"),
            status: if at < done {
                Progress::Done
            } else {
                Progress::Pending
            },
        };
        request.task.subtasks = (0..8).map(step).collect();
        bench.ask(session, request).unwrap()
    };
    say(&mut session, "user", "Begin.");
    let first = body(&ask(&mut session, 0));
    assert_eq!(first.matches("[pending] Look at pump").count(), 8);
    say(&mut session, "assistant", "Done with the first.");
    say(&mut session, "user", "Go on.");
    let second = ask(&mut session, 1);
    assert_eq!(second.session.cause, EpochCause::Kept);
    let second = body(&second);
    assert!(blocks(&second).starts_with(&blocks(&first)));
    let new = since(&first, &second);
    assert!(new.contains("new: subtask: [done] Look at pump 0"), "{new}");
    assert_eq!(new.matches("Look at pump").count(), 2, "{new}");
    // What is new is new since it was said last, by whoever reads the session, too.
    say(&mut session, "assistant", "Done with the second.");
    say(&mut session, "user", "Go on.");
    let mut anew = Session::open(bench.tenant.clone(), session.id()).unwrap();
    let third = body(&ask(&mut anew, 2));
    let new = since(&second, &third);
    assert!(
        new.contains("[done] Look at pump 1") && !new.contains("pump 0"),
        "{new}"
    );
    // A new epoch begins with the whole.
    session.refresh().unwrap();
    session.checkpoint(&bench.world, &bench.policy, "Health.", 1).unwrap();
    let fourth = body(&ask(&mut session, 2));
    assert_eq!(
        fourth.matches("[pending] Look at pump").count(),
        6,
        "{fourth}"
    );
}

fn what_is_rehydrated_stands_in_the_tail_until_the_epoch_ends(engine: Engine) {
    let bench = Bench::on(engine, "");
    let mut session = bench.session();
    let Recording { messages, planted } = recording(20, 400);
    append(&mut session, &messages[..messages.len() - 1]);
    let first = bench.compile(&mut session, Target::OpenAiChat, 9_000);
    let fact = planted.iter().find(|fact| !body(&first).contains(&fact.answer)).unwrap();
    let wanted = Wanted::Query {
        text: fact.query.clone(),
        tokens: 300,
    };
    let found = session.rehydrate(&wanted, bench.world.tokenizer()).unwrap();
    session.carry_over(&found).unwrap();
    let second = bench.compile(&mut session, Target::OpenAiChat, 9_000);
    assert!(body(&second).contains(&fact.answer));
    append(
        &mut session,
        &[json!({ "role": "assistant", "content": "I see." })],
    );
    append(
        &mut session,
        &[json!({ "role": "user", "content": "Go on." })],
    );
    let third = bench.compile(&mut session, Target::OpenAiChat, 9_000);
    assert_eq!(third.session.cause, EpochCause::Kept);
    assert!(blocks(&body(&third)).starts_with(&blocks(&body(&second))));
    assert_eq!(body(&third).matches(&fact.answer).count(), 1);
}

/// Also one that stands in a line of a long log, whatever other logs say of the same service and number.
#[test]
fn facts_in_long_logs_are_one_rehydration_away() {
    let bench = Bench::new();
    let Recording { messages, planted } = recording(200, 1_250);
    let mut session = bench.session();
    append(&mut session, &messages);
    assert_eq!(planted.len(), 80);
    // Every tenth, of those that stand in logs: each search reads the whole session.
    let missing = planted.iter().skip(1).step_by(10).filter(|fact| {
        let wanted = Wanted::Query {
            text: fact.query.clone(),
            tokens: 8_000,
        };
        let found = session.rehydrate(&wanted, bench.world.tokenizer()).unwrap();
        !found.originals.iter().any(|original| original.text.contains(&fact.answer))
    });
    let missing: Vec<&str> = missing.map(|fact| fact.query.as_str()).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_checkpoint_that_is_asked_for_ends_the_epoch() {
    let bench = Bench::new();
    let mut session = bench.session();
    let Recording { messages, .. } = recording(8, 100);
    append(&mut session, &messages[..messages.len() - 1]);
    bench.compile(&mut session, Target::OpenAiChat, 30_000);
    let made = session.checkpoint(&bench.world, &bench.policy, "Health.", 0).unwrap();
    assert!(!made.is_empty());
    // There is nothing left to summarise.
    assert!(
        session
            .checkpoint(&bench.world, &bench.policy, "Health.", 0)
            .unwrap()
            .is_empty()
    );
    let compiled = bench.compile(&mut session, Target::OpenAiChat, 30_000);
    assert_eq!(compiled.session.cause, EpochCause::Asked);
    assert_eq!(compiled.session.epoch, 1);
    assert!(body(&compiled).contains("Summary of turns"));
    assert!(
        !body(&compiled).contains("rehydrate"),
        "nobody offers the tool"
    );
    let again = bench.compile(&mut session, Target::OpenAiChat, 30_000);
    assert_eq!(
        (again.session.cause, body(&again)),
        (EpochCause::Kept, body(&compiled))
    );
}

#[test]
fn a_request_older_than_the_window_stays_until_the_epoch_ends() {
    for target in CHATS {
        let bench = Bench::new();
        let mut session = bench.session();
        let messages = recording(1, 100).messages;
        let (answer, asked) = messages.split_last().unwrap();
        append(&mut session, asked);
        session.checkpoint(&bench.world, &bench.policy, "Health.", 0).unwrap();
        let first = body(&bench.compile(&mut session, target, 30_000));
        assert!(first.contains(asked[0]["content"].as_str().unwrap()));
        append(&mut session, std::slice::from_ref(answer));
        append(
            &mut session,
            &[json!({ "role": "user", "content": "And now?" })],
        );
        let second = bench.compile(&mut session, target, 30_000);
        assert_eq!(second.session.cause, EpochCause::Kept);
        assert!(
            blocks(&body(&second)).starts_with(&blocks(&first)),
            "{target}"
        );
    }
}

#[test]
fn a_providers_error_teaches_the_window() {
    let bench = Bench::new();
    let mut session = bench.session();
    let Recording { messages, .. } = recording(20, 400);
    append(&mut session, &messages[..messages.len() - 1]);
    let learned = session.learn("This model's maximum context length is 5000 tokens.").unwrap();
    assert_eq!(learned, Some(5_000));
    let compiled = bench.compile(&mut session, Target::OpenAiChat, 30_000);
    assert!(compiled.outcome.single().unwrap().envelope.total_tokens <= 5_000);
}

#[test]
fn a_session_that_cannot_be_cut_any_further_fails_and_writes_nothing() {
    let bench = Bench::new();
    let mut session = bench.session();
    append(
        &mut session,
        &[json!({ "role": "user", "content": "word ".repeat(3_000) })],
    );
    let error = bench.try_compile(&mut session, Target::OpenAiChat, 500).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Budget);
    assert_eq!(Session::list(&bench.tenant).unwrap()[0].entries, 3);
}

mod random {
    use proptest::prelude::*;
    use tenure::conform;

    use super::*;

    /// One to four messages, not all of which providers would take.
    fn exchange() -> impl Strategy<Value = Vec<Value>> {
        let text = prop_oneof![
            Just("Actually, that is wrong. Use port 8443.".to_owned()),
            Just("You must never do that. We decided on blue.".to_owned()),
            Just(String::new()),
            "[a-z .?\\n]{0,80}",
            "[a-z ]{5}".prop_map(|text| text.repeat(120)),
        ];
        (text, 0usize..4, 0usize..5, any::<bool>(), 0u32..1_000, 0usize..9).prop_map(
            |(text, calls, results, answers, key, instructs)| {
                let mut messages = Vec::new();
                messages.extend(instruction(instructs, key));
                if answers {
                    messages.push(json!({ "role": "user", "content": text }));
                }
                let call = |at: usize| {
                    let function = json!({ "name": "inspect", "arguments": "{}" });
                    json!({ "id": format!("c{key}_{at}"), "type": "function", "function": function })
                };
                let calls: Vec<Value> = (0..calls).map(call).collect();
                if calls.is_empty() { messages.push(json!({ "role": "assistant", "content": text })) } else { messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls })) }
                for at in 0..results {
                    let id = format!("c{key}_{at}");
                    messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
                }
                messages
            },
        )
    }

    /// A message of instructions, at times: of the system, or the file of one of three folders in one of the user.
    fn instruction(kind: usize, key: u32) -> Option<Value> {
        let rule = format!("Rule {key} of folder {kind} holds.");
        let block = format!(
            "# AGENTS.md instructions for /{kind}\n\n<INSTRUCTIONS>\n{rule}\n</INSTRUCTIONS>"
        );
        match kind {
            0..3 => Some(json!({ "role": "user", "content": format!("Look.\n{block}\nGo on.") })),
            3 => Some(json!({ "role": "system", "content": rule })),
            4 => Some(json!({ "role": "user", "content": block })),
            _ => None,
        }
    }

    /// Of what messages instruct: the newest rule of each folder, and all that the system says.
    fn standing(messages: &[Value]) -> Vec<(String, &'static str)> {
        let mut newest = std::collections::BTreeMap::new();
        for message in messages {
            let text = message["content"].as_str().unwrap_or_default();
            let rule = text.lines().find(|line| line.starts_with("Rule "));
            if let Some(rule) = rule {
                let folder = rule.split("of folder").nth(1).unwrap();
                if message["role"] == "system" {
                    newest.insert(rule.to_owned(), (rule.to_owned(), "system"))
                } else {
                    newest.insert(folder.to_owned(), (rule.to_owned(), "user"))
                };
            }
        }
        newest.into_values().collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        /// Whatever is said, in whatever order: a request is legal and fits, or is refused with a reason; and
        /// nothing that was said is lost.
        #[test]
        fn every_request_is_legal_or_refused(
            exchanges in prop::collection::vec(exchange(), 1..14),
            budgets in prop::collection::vec(200u32..4_000, 14),
            target in 0usize..4,
        ) {
            let bench = Bench::new();
            let target = CHATS[target];
            let mut session = bench.session();
            let mut all = Vec::new();
            let mut before: Option<Vec<String>> = None;
            for (messages, budget) in exchanges.iter().zip(budgets) {
                let recent: Vec<ObjectDocument> = session.recent().into_iter().cloned().collect();
                let recent: Vec<&ObjectDocument> = recent.iter().collect();
                // What the system says before all others stands before the history.
                let leads = |message: &&Value| all.is_empty() && message["role"] == "system";
                let messages: Vec<Value> = messages.iter().skip_while(leads).cloned().collect();
                let json = json!({ "messages": messages, "tools": crate::support::recorded::tools() }).to_string();
                let Ok(conversation) = wire::read_after(Format::OpenAiChat, &json, &recent) else { continue };
                if session.append(conversation, at(60)).is_ok() {
                    all.extend(messages.clone());
                }
                match bench.try_compile(&mut session, target, budget) {
                    Ok(compiled) => {
                        let envelope = &compiled.outcome.single().unwrap().envelope;
                        prop_assert!(envelope.total_tokens <= budget);
                        let sent = body(&compiled);
                        let broken = conform::check(target.format().unwrap(), &sent, None).unwrap();
                        prop_assert!(broken.is_empty(), "{broken:?}\n{sent}");
                        prop_assert!(!sent.contains("What I said"), "{}", sent);
                        let sent = blocks(&sent);
                        // What instructs stands, in whatever was cut, and no lower than it was said.
                        for (rule, role) in standing(&all) {
                            let mut holds = sent.iter().filter(|block| block.contains(&rule));
                            let as_system = |block: &String| {
                                block.starts_with("\"system\"") || block.contains("\"role\":\"system\"") || block.contains("[system]")
                            };
                            prop_assert!(
                                holds.any(|block| (role == "system") == as_system(block)),
                                "{rule} {role} {sent:#?}"
                            );
                        }
                        if let (EpochCause::Kept, Some(before)) = (compiled.session.cause, &before) {
                            prop_assert!(sent.starts_with(before), "{before:#?}\n{sent:#?}");
                        }
                        before = Some(sent);
                    }
                    Err(error) => {
                        prop_assert!(error.kind != ErrorKind::Internal, "{error}");
                        before = None;
                    }
                }
            }
            let kept: Vec<Value> =
                serde_json::from_str(&session.export(Format::OpenAiChat).unwrap().messages).unwrap();
            prop_assert_eq!(kept, all);
        }
    }
}

/// A result that comes after its call was sent without it changes nothing of what was sent, until the next epoch.
#[test]
fn a_late_result_stands_where_it_came_until_the_epoch_ends() {
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "look", "arguments": "{\"at\":7}" } });
    let called =
        json!({ "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] });
    let result =
        |id: &str, said: &str| json!({ "role": "tool", "tool_call_id": id, "content": said });
    let user = |said: &str| json!({ "role": "user", "content": said });
    for target in CHATS {
        let bench = Bench::new();
        let mut session = bench.session();
        append(
            &mut session,
            &[
                user("Look at the pumps."),
                called.clone(),
                result("a", "Pump 4 runs."),
            ],
        );
        let mut before = blocks(&body(&bench.compile(&mut session, target, 30_000)));
        let late = result("b", "Pump 5 stands.");
        for said in [user("Are you there?"), late, user("And now?")] {
            append(&mut session, &[said]);
            let compiled = bench.compile(&mut session, target, 30_000);
            assert_eq!(compiled.session.cause, EpochCause::Kept, "{target:?}");
            let sent = body(&compiled);
            let broken = tenure::conform::check(target.format().unwrap(), &sent, None).unwrap();
            assert!(broken.is_empty(), "{broken:?}\n{sent}");
            let sent = blocks(&sent);
            assert!(sent.starts_with(&before), "{before:#?}\n{sent:#?}");
            before = sent;
        }
        let holds = |sent: &[String], text: &str| sent.concat().matches(text).count();
        assert_eq!(holds(&before, "[no result: broken off]"), 1, "{target:?}");
        assert_eq!(holds(&before, "its result came late"), 1, "{target:?}");
        assert_eq!(holds(&before, "Pump 5 stands."), 1, "{target:?}");

        // The next epoch has it at its call.
        let other = CHATS.into_iter().find(|other| *other != target).unwrap();
        let compiled = bench.compile(&mut session, other, 30_000);
        assert_ne!(compiled.session.cause, EpochCause::Kept, "{target:?}");
        let sent = blocks(&body(&compiled));
        assert_eq!(holds(&sent, "[no result: broken off]"), 0, "{target:?}");
        assert_eq!(holds(&sent, "its result came late"), 0, "{target:?}");
        assert_eq!(holds(&sent, "Pump 5 stands."), 1, "{target:?}");
    }
}

/// Everything that a store holds, as text.
fn all_of(tenant: &Tenant) -> String {
    let mut all = String::new();
    for (log, _) in tenant.logs().unwrap() {
        all.push_str(&format!("{log} {:?}\n", tenant.entries(&log, 0).unwrap()));
    }
    for (id, _) in tenant.records(1_000).unwrap() {
        all.push_str(&format!("{:?}\n", tenant.record(&id).unwrap()));
    }
    all
}

fn what_is_erased_leaves_the_session_and_what_was_sent_of_it(engine: Engine) {
    for target in CHATS {
        let mut bench = Bench::on(engine, "");
        let secret = "The door of the archive opens with the code QX7342.";
        let note = ObjectDocument {
            tenant_id: Some("local".into()),
            protection: Some(tenure::object::Protection::Pinned),
            ..ObjectDocument::named("door", secret)
        };
        let put = tenure_store::Put::new(note);
        let written = bench.tenant.put(vec![put], &Writing::default()).unwrap();
        let resident = bench.tenant.load().unwrap();
        bench.beside = Gathered::over(Candidates::default(), &bench.tenant, &resident, None);
        let mut session = bench.session();
        let say = |session: &mut Session, role: &str, text: &str| {
            append(session, &[json!({ "role": role, "content": text })])[0]
        };
        say(&mut session, "user", "What opens the archive?");
        let first = bench.compile(&mut session, target, 8_000);
        assert!(body(&first).contains("QX7342"), "{target:?}");
        let record = bench.record(&first);
        let answer = format!("I found this:\n{secret}\nUse it with care.");
        say(&mut session, "assistant", &answer);
        let own = say(&mut session, "user", "My own code is 99-31-07, by the way.");
        bench.compile(&mut session, target, 8_000);
        say(&mut session, "assistant", "I will not repeat it.");
        say(&mut session, "user", "And the cellar?");
        let mut other = Session::open(bench.tenant.clone(), session.id()).unwrap();

        let ids = vec![written.objects[0].object_id];
        bench.tenant.erase(ids, &Writing::default()).unwrap();
        let left = all_of(&bench.tenant);
        assert!(!left.contains("QX7342"), "{left}");
        let replay = bench.workspace.records(&bench.tenant).replay(&record).unwrap();
        let Replay {
            erased, unproven, ..
        } = &replay;
        assert_eq!((*erased, unproven.as_slice()), (1, &[][..]), "{target:?}");
        assert_eq!(replay.proof, Proof::Rest);
        let asked = replay.record.inputs.sources[0].object;
        assert!(bench.tenant.blob(asked).unwrap().is_some());
        let ids = session.objects_of(&format!("t{own}")).unwrap();
        bench.tenant.erase(ids, &Writing::default()).unwrap();
        let left = all_of(&bench.tenant);
        assert!(!left.contains("99-31-07"), "{left}");
        assert!(left.contains("I will not repeat it."));

        // Who held the session in memory cannot write what was erased again, and learns of it.
        let late = bench.try_compile(&mut other, target, 8_000).unwrap_err();
        assert_eq!(late.kind, ErrorKind::Conflict);
        other.refresh().unwrap();
        let resident = bench.tenant.load().unwrap();
        bench.beside = Gathered::over(Candidates::default(), &bench.tenant, &resident, None);
        let next = bench.compile(&mut other, target, 8_000);
        let sent = body(&next);
        assert!(
            !sent.contains("QX7342") && !sent.contains("99-31-07"),
            "{sent}"
        );
        assert!(sent.contains("I found this:") && sent.contains("And the cellar?"));
        assert_ne!(next.session.cause, EpochCause::Kept);
        // And the session goes on from there.
        say(&mut other, "assistant", "It has no door.");
        say(&mut other, "user", "Thank you.");
        let last = bench.compile(&mut other, target, 8_000);
        assert_eq!(last.session.cause, EpochCause::Kept, "{target:?}");
        assert_eq!(other.len(), session.len() + 2);
        other.export(Format::OpenAiChat).unwrap();

        let id = other.id().to_owned();
        Session::erase(&bench.tenant, &id, &Writing::default()).unwrap();
        assert_eq!(bench.tenant.blob(asked).unwrap(), None);
        let replay = bench.workspace.records(&bench.tenant).replay(&record).unwrap();
        assert_eq!(replay.proof, Proof::Rest);
        assert!(!all_of(&bench.tenant).contains("cellar"));
        assert_eq!(Session::list(&bench.tenant).unwrap().len(), 0);
        assert_eq!(other.refresh().unwrap_err().kind, ErrorKind::NotFound);
        let none = (None, None);
        let again = Session::create(bench.tenant.clone(), Some(&id), at(0), none, None);
        assert_eq!(again.unwrap_err().kind, ErrorKind::Policy);
    }
}

fn erase(bench: &Bench, session: &Session, turn: u64) {
    let ids = session.objects_of(&format!("t{turn}")).unwrap();
    bench.tenant.erase(ids, &Writing::default()).unwrap();
}

fn entries(session: &Session, bench: &Bench) -> Vec<(u64, String)> {
    let log = format!("session/{}", session.id());
    bench.tenant.entries(&log, 0).unwrap()
}

#[test]
fn a_session_that_is_erased_leaves_others_their_instructions_and_tools() {
    let bench = Bench::new();
    let begin = |said: &str| {
        let mut session = bench.session();
        let rules = "You are the keeper of the fleet. Never restart a node that is not drained.";
        append(
            &mut session,
            &[
                json!({ "role": "system", "content": rules }),
                json!({ "role": "user", "content": said }),
            ],
        );
        let first = bench.compile(&mut session, Target::OpenAiChat, 8_000);
        let record = bench.record(&first);
        (session, record)
    };
    let (gone, of_gone) = begin("My own code is 99-31-07, by the way.");
    let (mut stays, of_stays) = begin("Which node is the slowest?");
    let before = entries(&stays, &bench);
    assert!(before.iter().any(|(_, body)| body.contains("not drained")));
    Session::erase(&bench.tenant, gone.id(), &Writing::default()).unwrap();
    assert_eq!(entries(&stays, &bench), before);
    stays.refresh().unwrap();
    let next = bench.compile(&mut stays, Target::OpenAiChat, 8_000);
    assert!(body(&next).contains("not drained"));
    assert_eq!(next.session.cause, EpochCause::Kept);
    let replayed =
        |record: &str| bench.workspace.records(&bench.tenant).replay(record).unwrap().proof;
    assert_eq!(replayed(&of_stays), Proof::Whole);
    assert_eq!(replayed(&of_gone), Proof::Rest);
}

/// Somebody asks, the model calls the tool, the tool answers, the model says so.
fn with_a_call(session: &mut Session, arguments: &str, answer: &str) -> Vec<u64> {
    let function = json!({ "name": "inspect", "arguments": arguments });
    append(
        session,
        &[
            json!({ "role": "user", "content": "How is it?" }),
            json!({ "role": "assistant", "content": "I look.",
                "tool_calls": [{ "id": "call_1", "type": "function", "function": function }] }),
            json!({ "role": "tool", "tool_call_id": "call_1", "content": answer }),
            json!({ "role": "assistant", "content": "It is well." }),
            json!({ "role": "user", "content": "And the others?" }),
        ],
    )
}

#[test]
fn a_call_and_its_result_are_erased_together() {
    for target in CHATS {
        for erased in [1, 2] {
            let bench = Bench::new();
            let (mut session, mut other) = (bench.session(), bench.session());
            let arguments = r#"{"service":"ledger"}"#;
            let answer = "The ledger is at node 17, said Ada, who knows it best of all of us.";
            let said = with_a_call(&mut session, arguments, answer);
            with_a_call(
                &mut other,
                r#"{"service":"x"}"#,
                "Nothing was written there.",
            );
            let before = entries(&other, &bench);
            let first = bench.compile(&mut session, target, 8_000);
            let record = bench.record(&first);
            erase(&bench, &session, said[erased]);
            session.refresh().unwrap();
            let next = bench.compile(&mut session, target, 8_000);
            let sent = body(&next);
            for word in ["I look.", "node 17", "call_1"] {
                assert!(!sent.contains(word), "{word} is in {sent}");
            }
            assert!(sent.contains("It is well."), "{sent}");
            session.export(Format::OpenAiChat).unwrap();
            let replay = bench.workspace.records(&bench.tenant).replay(&record).unwrap();
            assert_eq!(replay.proof, Proof::Rest);
            // Nobody asked for what is said beside it to go elsewhere: others say the same.
            assert_eq!(entries(&other, &bench), before);
        }
    }
}

#[test]
fn an_equal_call_of_another_session_stays_legal() {
    for target in CHATS {
        let bench = Bench::new();
        let (mut gone, mut stays) = (bench.session(), bench.session());
        let long = "the ledger of the archive that Ada keeps";
        let call = json!({ "service": "ledger", "lines": 20 }).to_string();
        let said = with_a_call(&mut gone, &call, &format!("{{\"found\":\"{long}\"}}"));
        with_a_call(&mut stays, &call, "Nothing.");
        let before = entries(&stays, &bench);
        erase(&bench, &gone, said[1]);
        assert_eq!(entries(&stays, &bench), before);
        // What is quoted in a call goes from it, and the call stays one.
        let mut quotes = bench.session();
        let call = json!({ "service": format!("{long}, please") }).to_string();
        with_a_call(&mut quotes, &call, "Nothing.");
        let mut gone = bench.session();
        let said = append(&mut gone, &[json!({ "role": "user", "content": long })]);
        erase(&bench, &gone, said[0]);
        quotes.refresh().unwrap();
        let sent = body(&bench.compile(&mut quotes, target, 8_000));
        assert!(
            !sent.contains(long) && sent.contains("[erased], please"),
            "{sent}"
        );
    }
}

/// The strings in a value.
fn strings(value: &Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        Value::String(text) => drop(found.insert(text.clone())),
        Value::Array(values) => values.iter().for_each(|value| strings(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, found)),
        _ => {}
    }
}

#[test]
fn a_text_that_is_a_word_of_an_entry_or_a_record_takes_that_word_from_nobody() {
    let mut bench = Bench::new();
    let mut session = bench.session();
    with_a_call(&mut session, r#"{"service":"ledger"}"#, "Nothing.");
    let first = bench.compile(&mut session, Target::OpenAiChat, 20_000);
    let old = bench.record(&first);
    let mut words = std::collections::BTreeSet::new();
    for (_, entry) in entries(&session, &bench) {
        strings(&serde_json::from_str(&entry).unwrap(), &mut words);
    }
    let record = bench.tenant.record(&old).unwrap().unwrap();
    strings(&serde_json::from_str(&record.body).unwrap(), &mut words);
    words.extend(["identity".to_owned(), "history".to_owned()]);
    let puts = words
        .iter()
        .filter(|word| !word.contains([' ', '"', '.']) && (3..200).contains(&word.len()));
    let puts = puts.map(|word| {
        tenure_store::Put::new(ObjectDocument {
            tenant_id: Some("local".into()),
            ..ObjectDocument::named(word, word.as_str())
        })
    });
    let puts: Vec<_> = puts.collect();
    assert!(puts.len() > 40, "{words:?}");
    let written = bench.tenant.put(puts, &Writing::default()).unwrap();
    let resident = bench.tenant.load().unwrap();
    let beside = Gathered::over(Candidates::default(), &bench.tenant, &resident, None);
    let before = std::mem::replace(&mut bench.beside, beside);
    let mut other = bench.session();
    append(
        &mut other,
        &[json!({ "role": "user", "content": "Go on." })],
    );
    let new = bench.record(&bench.compile(&mut other, Target::OpenAiChat, 20_000));
    let ids = written.objects.iter().map(|written| written.object_id);
    bench.tenant.erase(ids.collect(), &Writing::default()).unwrap();
    bench.beside = before;
    for record in [old, new] {
        bench.workspace.records(&bench.tenant).replay(&record).unwrap();
    }
    for session in [session, other] {
        let mut session = Session::open(bench.tenant.clone(), session.id()).unwrap();
        bench.compile(&mut session, Target::OpenAiChat, 20_000);
    }
}

#[test]
fn what_was_carried_leaves_the_tail_that_it_was_sent_in() {
    for target in CHATS {
        let bench = Bench::new();
        let mut session = bench.session();
        let short = append(
            &mut session,
            &[json!({ "role": "user", "content": "PIN XQ-4711" })],
        )[0];
        with_a_call(&mut session, "{}", "Nothing.");
        bench.compile(&mut session, target, 8_000);
        session.checkpoint(&bench.world, &bench.policy, "Go on.", 0).unwrap();
        bench.compile(&mut session, target, 8_000);
        let wanted = Wanted::Id(format!("t{short}"));
        let found = session.rehydrate(&wanted, bench.world.tokenizer()).unwrap();
        session.carry_over(&found).unwrap();
        bench.compile(&mut session, target, 8_000);
        append(
            &mut session,
            &[json!({ "role": "assistant", "content": "I see." })],
        );
        append(
            &mut session,
            &[json!({ "role": "user", "content": "Go on." })],
        );
        let log = |bench: &Bench| format!("{:?}", entries(&session, bench));
        let sent = entries(&session, &bench).into_iter().map(|(_, body)| body);
        let mut sent = sent.filter(|body| body.starts_with("{\"served\""));
        assert!(sent.any(|body| body.contains("XQ-4711")), "{target}");
        erase(&bench, &session, short);
        assert!(!log(&bench).contains("XQ-4711"), "{}", log(&bench));
        let mut session = Session::open(bench.tenant.clone(), session.id()).unwrap();
        let sent = body(&bench.compile(&mut session, target, 8_000));
        assert!(
            !sent.contains("XQ-4711") && !sent.contains("again"),
            "{sent}"
        );
    }
}

#[test]
fn nothing_erased_is_carried() {
    let bench = Bench::new();
    let mut session = bench.session();
    let said = with_a_call(&mut session, "{}", "Nothing.");
    let wanted = Wanted::Id(format!("t{}", said[3]));
    let found = session.rehydrate(&wanted, bench.world.tokenizer()).unwrap();
    session.carry_over(&found).unwrap();
    erase(&bench, &session, said[3]);
    session.refresh().unwrap();
    let compiled = bench.compile(&mut session, Target::OpenAiChat, 8_000);
    let envelope = &compiled.outcome.single().unwrap().envelope;
    let items = envelope.sections.iter().flat_map(|section| &section.items);
    let mut names = items.map(|item| item.name.as_ref());
    assert!(!names.any(|name| name.ends_with(" again")));
}

#[test]
fn the_epoch_ends_where_only_a_message_is_erased() {
    for target in CHATS {
        let bench = Bench::new();
        let mut session = bench.session();
        let said = with_a_call(&mut session, "{}", "Nothing.");
        // What was never sent ends no epoch.
        erase(&bench, &session, said[0]);
        session.refresh().unwrap();
        let first = bench.compile(&mut session, target, 8_000);
        assert_eq!(first.session.cause, EpochCause::First);
        append(
            &mut session,
            &[json!({ "role": "assistant", "content": "They too." })],
        );
        append(
            &mut session,
            &[json!({ "role": "user", "content": "Good." })],
        );
        let second = bench.compile(&mut session, target, 8_000);
        assert_eq!(second.session.cause, EpochCause::Kept);
        erase(&bench, &session, said[3]);
        let mut anew = Session::open(bench.tenant.clone(), session.id()).unwrap();
        session.refresh().unwrap();
        let third = bench.compile(&mut session, target, 8_000);
        assert_eq!(third.session.cause, EpochCause::FrozenGone);
        assert_eq!(third.session.epoch, second.session.epoch + 1);
        assert!(!body(&third).contains("It is well."));
        anew.refresh().unwrap();
        for session in [&mut session, &mut anew] {
            let again = bench.compile(session, target, 8_000);
            assert_eq!(body(&again), body(&third));
        }
        append(
            &mut session,
            &[json!({ "role": "assistant", "content": "Indeed." })],
        );
        append(
            &mut session,
            &[json!({ "role": "user", "content": "Thanks." })],
        );
        let last = bench.compile(&mut session, target, 8_000);
        assert_eq!(last.session.cause, EpochCause::Kept);
    }
}

#[test]
fn a_reply_can_be_taken_back_until_something_follows_it() {
    let bench = Bench::new();
    let mut session = bench.session();
    let reply = |session: &mut Session, text: &str| {
        let json = json!([{ "role": "assistant", "content": text }]).to_string();
        let reply = wire::read(Format::OpenAiChat, &json).unwrap();
        session.append_reply(reply, at(70)).unwrap()
    };
    let asked = append(
        &mut session,
        &[json!({ "role": "user", "content": "How warm?" })],
    )[0];
    let before = body(&bench.compile(&mut session, Target::OpenAiChat, 4_000));
    reply(&mut session, "Very.");
    assert_eq!(session.len(), 2);
    assert!(session.withdraw(asked).unwrap());
    assert_eq!((session.len(), session.last_turn()), (1, asked));
    // As if it had never been said: asked again, the request is the same.
    let again = body(&bench.compile(&mut session, Target::OpenAiChat, 4_000));
    assert_eq!(again, before);
    let kept = reply(&mut session, "Quite.")[0];
    let exported = |session: &Session| session.export(Format::OpenAiChat).unwrap().messages;
    let both = r#"[{"content":"How warm?","role":"user"},{"content":"Quite.","role":"assistant"}]"#;
    assert_eq!(exported(&session), both);
    append(
        &mut session,
        &[json!({ "role": "user", "content": "And now?" })],
    );
    // Now it is what was said.
    assert!(!session.withdraw(asked).unwrap());
    assert!(!session.withdraw(kept).unwrap());
    assert!(!session.withdraw(99).unwrap());
    assert_eq!(session.len(), 3);
    let opened = Session::open(bench.tenant.clone(), session.id()).unwrap();
    assert_eq!(
        (opened.len(), opened.last_turn(), exported(&opened)),
        (3, session.last_turn(), exported(&session))
    );

    // Nor does it come back where an epoch has begun behind it.
    let last = session.last_turn();
    reply(&mut session, &"It is quite warm by now. ".repeat(40));
    let how = (&bench.world, &bench.policy);
    session.checkpoint(how.0, how.1, "Go on.", 0).unwrap();
    session.withdraw(last).unwrap();
    let opened = Session::open(bench.tenant.clone(), session.id()).unwrap();
    assert_eq!(exported(&opened), exported(&session));
    assert_eq!(opened.last_turn(), session.last_turn());
}

fn sealed(document: Value) -> std::sync::Arc<tenure::ContextObject> {
    let document: ObjectDocument = serde_json::from_value(document).unwrap();
    document.seal().unwrap()
}

/// The roles of the messages, and of items that are none their types.
fn roles(sent: &str) -> Vec<String> {
    let sent: Value = serde_json::from_str(sent).unwrap();
    let list = sent.get("messages").or(sent.get("input")).unwrap();
    let role = |message: &Value| {
        let kind = message["type"].as_str().filter(|kind| *kind != "message");
        kind.or(message["role"].as_str()).unwrap().to_owned()
    };
    list.as_array().unwrap().iter().map(role).collect()
}

#[test]
fn what_comes_late_goes_by_the_providers_channels_and_stays() {
    for (model, target) in [
        ("gpt-4.1", Target::OpenAiChat),
        ("gpt-5", Target::OpenAiResponses),
        ("claude-opus-5-5", Target::AnthropicMessages),
    ] {
        let mut bench = Bench::new();
        bench.world = bench.workspace.world(model).unwrap();
        let mut session = bench.session();
        let ask = |bench: &Bench, session: &mut Session| {
            let mut request = Request::new("Keep the fleet healthy.", Budget::tokens(30_000));
            request.target = target;
            request.late_tools = true;
            let compiled = bench.ask(session, request.clone()).unwrap();
            let sent = body(&compiled);
            assert_eq!(body(&bench.ask(session, request.clone()).unwrap()), sent);
            let mut anew = Session::open(bench.tenant.clone(), session.id()).unwrap();
            assert_eq!(body(&bench.ask(&mut anew, request).unwrap()), sent);
            *session = anew;
            (compiled, sent)
        };
        let said = |role: &str, text: &str| json!({ "role": role, "content": text });
        append(&mut session, &[said("user", "How hot is pump 7?")]);
        let (_, first) = ask(&bench, &mut session);
        // A rule of the platform and a tool are found in the middle.
        let units = ObjectDocument::named("units", "Report times in milliseconds.").seal().unwrap();
        let stop = json!({ "name": "stop", "content": "Never restart a pump.", "object_type": "policy_rule" });
        let tool = json!({ "name": "ask_crew", "content": "Asks the crew.", "object_type": "tool_schema" });
        let mut late = vec![units, sealed(stop)];
        let takes_tools = target != Target::OpenAiChat;
        if takes_tools {
            late.push(sealed(tool));
        }
        bench.beside = Gathered::of_sources(Candidates::new(late));
        append(
            &mut session,
            &[said("assistant", "81 C."), said("user", "And pump 9?")],
        );
        let (compiled, second) = ask(&bench, &mut session);
        assert_eq!(compiled.session.cause, EpochCause::Kept, "{target}");
        assert!(
            blocks(&second).starts_with(&blocks(&first)),
            "{first}\n{second}"
        );
        let ends = match target {
            Target::OpenAiResponses => vec!["user", "system", "additional_tools"],
            _ => vec!["user", "system"],
        };
        assert!(
            roles(&second).ends_with(&ends.iter().map(|end| (*end).to_owned()).collect::<Vec<_>>()),
            "{second}"
        );
        assert_eq!(second.matches("Never restart a pump.").count(), 1);
        assert_eq!(
            second.matches("Asks the crew.").count(),
            usize::from(takes_tools)
        );
        // Once answered they stand where they stood; the tool may be called.
        let call = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "k1",
            "type": "function", "function": { "name": "ask_crew", "arguments": "{}" } }] });
        let answer = json!({ "role": "tool", "tool_call_id": "k1", "content": "Cold." });
        if takes_tools {
            append(&mut session, &[call, answer])
        } else {
            append(
                &mut session,
                &[said("assistant", "79 C."), said("user", "Thanks.")],
            )
        };
        let (compiled, third) = ask(&bench, &mut session);
        assert_eq!(compiled.session.cause, EpochCause::Kept, "{target}");
        assert!(
            blocks(&third).starts_with(&blocks(&second)),
            "{second}\n{third}"
        );
        assert_eq!(third.matches("Never restart a pump.").count(), 1);
        let offered = &compiled.outcome.single().unwrap().trace.plan.tools;
        assert_eq!(
            offered.iter().any(|name| &**name == "ask_crew"),
            takes_tools
        );
        // With the next epoch they join what stands before the history.
        let mark = session.checkpoint(&bench.world, &bench.policy, "Keep on.", 0).unwrap();
        assert!(!mark.is_empty());
        let (compiled, last) = ask(&bench, &mut session);
        assert_eq!(compiled.session.cause, EpochCause::Asked, "{target}");
        assert_eq!(last.matches("Never restart a pump.").count(), 1);
        assert!(!last.contains("tool_addition") && !last.contains("additional_tools"));
    }
}

#[test]
fn a_choice_of_tools_is_made_once_in_an_epoch() {
    for (model, target) in [
        ("gpt-5", Target::OpenAiResponses),
        ("claude-opus-5-5", Target::AnthropicMessages),
    ] {
        let mut bench = Bench::new();
        bench.world = bench.workspace.world(model).unwrap();
        let tool = |name: &str, says: &str| {
            sealed(json!({ "name": name, "content": says, "object_type": "tool_schema" }))
        };
        bench.beside = Gathered::of_sources(Candidates::new(vec![
            tool("t1", "Reads the temperature."),
            tool("t2", "Reads the pressure."),
            tool("t3", "Stops a pump."),
            tool("t4", "Asks the crew."),
        ]));
        let mut session = bench.session();
        let mut offered = Vec::new();
        for question in [
            "How hot is it?",
            "And the pressure?",
            "Stop the pump.",
            "Ask the crew.",
        ] {
            let said = |role: &str, text: &str| json!({ "role": role, "content": text });
            append(&mut session, &[said("user", question)]);
            let mut request = Request::new(question, Budget::tokens(30_000));
            request.target = target;
            request.late_tools = true;
            request.tools = Some(tenure::gate::Gate {
                top_k: Some(1),
                ..tenure::gate::Gate::default()
            });
            let compiled = bench.ask(&mut session, request).unwrap();
            offered.push(compiled.outcome.single().unwrap().trace.plan.tools.clone());
            append(&mut session, &[said("assistant", "Done.")]);
        }
        assert!(!offered[0].is_empty(), "{target}");
        assert!(
            offered.iter().all(|tools| *tools == offered[0]),
            "{target}: {offered:?}"
        );
    }
}

#[test]
fn a_gate_leaves_in_the_tool_that_pointers_name() {
    let bench = Bench::new();
    let mut session = bench.session();
    let tools: Vec<Value> = ["stop_pump", "ask_crew", "rehydrate"]
        .iter()
        .map(|name| {
            json!({ "type": "function", "function": { "name": name,
                "description": format!("Does {name}."), "parameters": { "type": "object" } } })
        })
        .collect();
    let turn = |at: usize| {
        let content = format!("Pump {at} was seen by the crew. ").repeat(40);
        let role = ["user", "assistant"][at % 2];
        json!({ "role": role, "content": content })
    };
    let messages: Vec<Value> = (0..31).map(turn).collect();
    let json = json!({ "messages": messages, "tools": tools }).to_string();
    let conversation = wire::read(Format::OpenAiChat, &json).unwrap();
    session.append(conversation, at(60)).unwrap();
    let mut request = Request::new("Stop the pump.", Budget::tokens(6_000));
    request.target = Target::OpenAiChat;
    request.tools = Some(tenure::gate::Gate {
        top_k: Some(1),
        ..tenure::gate::Gate::default()
    });
    let compiled = bench.ask(&mut session, request).unwrap();
    assert!(body(&compiled).contains("rehydrate c"), "a pointer");
    let offered = &compiled.outcome.single().unwrap().trace.plan.tools;
    assert!(
        offered.iter().any(|tool| &**tool == "rehydrate"),
        "{offered:?}"
    );
    assert!(offered.len() < tools.len(), "{offered:?}");
}

#[test]
fn what_stands_for_an_unknown_tool_is_not_offered_behind_its_call() {
    let mut bench = Bench::new();
    bench.world = bench.workspace.world("claude-opus-5-5").unwrap();
    let mut session = bench.session();
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let mut request = Request::new("Keep the fleet healthy.", Budget::tokens(30_000));
    request.target = Target::AnthropicMessages;
    request.late_tools = true;
    append(&mut session, &[said("user", "How hot is pump 7?")]);
    bench.ask(&mut session, request.clone()).unwrap();
    let call = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "k1",
        "type": "function", "function": { "name": "unheard_of", "arguments": "{}" } }] });
    let answer = json!({ "role": "tool", "tool_call_id": "k1", "content": "Cold." });
    append(&mut session, &[call, answer]);
    let compiled = bench.ask(&mut session, request).unwrap();
    assert_eq!(compiled.session.cause, EpochCause::FloorGrew);
    let sent: Value = serde_json::from_str(&body(&compiled)).unwrap();
    let names = sent["tools"].as_array().unwrap().iter();
    let names: Vec<&str> = names.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["inspect", "unheard_of"]);
    assert!(!sent["messages"].to_string().contains("tool_addition"));
}

#[test]
fn what_came_late_and_nobody_answered_goes_once_more_where_it_may_not_stand() {
    for (model, target) in [
        ("gpt-5", Target::OpenAiResponses),
        ("claude-opus-5-5", Target::AnthropicMessages),
    ] {
        let mut bench = Bench::new();
        bench.world = bench.workspace.world(model).unwrap();
        let mut session = bench.session();
        let said = |role: &str, text: &str| json!({ "role": role, "content": text });
        append(&mut session, &[said("user", "How hot is pump 7?")]);
        bench.compile(&mut session, target, 30_000);
        append(
            &mut session,
            &[said("assistant", "81 C."), said("user", "And pump 9?")],
        );
        let units = ObjectDocument::named("units", "Report times in milliseconds.").seal().unwrap();
        let stop = json!({ "name": "stop", "content": "Never restart a pump.", "object_type": "policy_rule" });
        bench.beside = Gathered::of_sources(Candidates::new(vec![units, sealed(stop)]));
        let late = body(&bench.compile(&mut session, target, 30_000));
        append(&mut session, &[said("user", "Are you there?")]);
        let next = bench.compile(&mut session, target, 30_000);
        assert_eq!(next.session.cause, EpochCause::Kept, "{target}");
        let next = body(&next);
        assert_eq!(
            next.matches("Never restart a pump.").count(),
            1,
            "{late}\n{next}"
        );
        let last = roles(&next).pop().unwrap();
        let again = target == Target::AnthropicMessages;
        assert_eq!(last == "system", again, "{next}");
    }
}

#[test]
fn the_notice_before_an_epochs_end_is_the_same_asked_again_and_said_once() {
    let mut bench = Bench::with_policy("session.handoff = 0.1\nsession.high_water = 0.9");
    let by_channel = [
        ("gpt-4.1", Target::OpenAiChat),
        ("claude-opus-5-5", Target::AnthropicMessages),
    ];
    let others = CHATS.map(|target| ("gpt-4o", target));
    for (model, target) in others.into_iter().chain(by_channel) {
        bench.world = bench.workspace.world(model).unwrap();
        let mut session = bench.session();
        let said = |role: &str, text: &str| json!({ "role": role, "content": text });
        append(&mut session, &[said("user", "How hot is pump 7?")]);
        bench.compile(&mut session, target, 8_000);
        let long = "Pump 7 stands at 81 degrees, as it did before. ".repeat(60);
        append(
            &mut session,
            &[said("assistant", &long), said("user", "And pump 9?")],
        );
        let first = bench.compile(&mut session, target, 8_000);
        assert!(first.session.handoff, "{target}");
        let sent = body(&first);
        assert_eq!(
            sent.matches("Soon its oldest turns").count(),
            1,
            "{target}: {sent}"
        );
        let late = by_channel.contains(&(model, target));
        assert!(
            !late || roles(&sent).ends_with(&["system".into()]),
            "{sent}"
        );
        for _ in 0..2 {
            let again = bench.compile(&mut session, target, 8_000);
            assert_eq!(body(&again), sent, "{target}");
        }
        append(
            &mut session,
            &[said("assistant", "79."), said("user", "Thanks.")],
        );
        let next = bench.compile(&mut session, target, 8_000);
        assert!(!next.session.handoff);
        assert_eq!(
            body(&next).matches("Soon its oldest turns").count(),
            1,
            "{target}"
        );
    }
}

/// Also where the same was asked before: by the user, and by the model through Tenure's own tools, whose answers say
/// the question again.
#[test]
fn the_first_passage_is_the_answer_and_not_the_question() {
    let bench = Bench::new();
    let Recording { messages, planted } = recording(100, 1_250);
    let mut session = bench.session();
    append(&mut session, &messages);
    for (at, fact) in planted.iter().enumerate() {
        let call = |tool: &str| {
            let arguments = json!({ "query": fact.query }).to_string();
            let function = json!({ "name": tool, "arguments": arguments });
            json!({ "id": format!("own_{at}_{tool}"), "type": "function", "function": function })
        };
        let tools = ["mcp__tenure__rehydrate", "mcp__tenure__search"];
        let mut asked = vec![
            json!({ "role": "user", "content": format!("By the way: {}", fact.query) }),
            json!({ "role": "assistant", "content": null, "tool_calls": tools.map(call) }),
        ];
        asked.extend(tools.map(|tool| {
            let said = format!("{}: nothing found, try t900.", fact.query);
            json!({ "role": "tool", "tool_call_id": format!("own_{at}_{tool}"), "content": said })
        }));
        asked.push(json!({ "role": "assistant", "content": "I do not know." }));
        append(&mut session, &asked);
    }
    let (mut first, mut most) = (0, 0);
    for fact in &planted {
        let wanted = Wanted::Query {
            text: fact.query.clone(),
            tokens: PASSAGES,
        };
        let found = session.rehydrate(&wanted, bench.world.tokenizer()).unwrap();
        let texts: Vec<&str> = found.originals.iter().map(|one| one.text.as_str()).collect();
        assert!(
            texts.iter().any(|text| text.contains(&fact.answer)),
            "{}: {texts:#?}",
            fact.query
        );
        first += usize::from(texts[0].contains(&fact.answer));
        most = most.max(bench.world.tokenizer().count(&texts.join("\n")));
    }
    assert!(
        first * 10 >= planted.len() * 9 && most <= PASSAGES as usize,
        "{first} {most}"
    );
}
