//! Logs of sessions: what earlier programs wrote, what an erasure leaves of them, and results that nothing answers for any more.

use serde_json::{Value, json};
use tenure::trace::EpochCause;
use tenure::wire::{self, Format};
use tenure::{Budget, Request, Target};
use tenure_store::Writing;
use tenure_workspace::sessions::{Session, SessionCompiled};

use crate::support::bench::{SessionBench, at};
use crate::support::recorded::recording;

fn session(bench: &SessionBench, format: Format, messages: &[Value]) -> Session {
    let none = (None, None);
    let mut session = Session::create(bench.tenant.clone(), None, at(0), none, None).unwrap();
    append(&mut session, format, messages);
    session
}

fn compile(
    bench: &SessionBench,
    session: &mut Session,
    target: Target,
    budget: u32,
) -> SessionCompiled {
    let mut request = Request::new("Keep the fleet healthy.", Budget::tokens(budget));
    request.target = target;
    bench.compile(session, &request)
}

fn append(session: &mut Session, format: Format, messages: &[Value]) {
    let body = json!({ "messages": messages, "tools": crate::support::recorded::tools() });
    let conversation = wire::read(format, &body.to_string()).unwrap();
    session.append(conversation, at(60)).unwrap();
}

fn body(compiled: &SessionCompiled) -> String {
    let envelope = &compiled.outcome.single().unwrap().envelope;
    String::from_utf8(envelope.payload.as_ref().unwrap().bytes().to_vec()).unwrap()
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

const RULES: &str = "# AGENTS.md instructions for /app\n\n<INSTRUCTIONS>\nNever drain the northern pump.\n</INSTRUCTIONS>";

/// What an earlier program wrote: marks of epochs did not say which instructions stand on.
#[test]
fn a_log_without_standing_instructions_works_and_they_stand_again() {
    let bench = SessionBench::new();
    let mut messages = vec![user(RULES)];
    messages.extend(recording(60, 200).messages);
    messages.push(user("Go on."));
    let mut session = session(&bench, Format::OpenAiChat, &messages);
    let cut = compile(&bench, &mut session, Target::OpenAiChat, 6_000);
    assert!(session.is_cut() && body(&cut).contains("northern pump"));
    let mut marks = 0;
    let mut older = Vec::new();
    for mut entry in bench.entries(session.id()) {
        if let Some(mark) = entry.get_mut("epoch").and_then(Value::as_object_mut) {
            marks += 1;
            assert!(mark.remove("standing").is_some());
            mark.remove("compiler");
        }
        older.push(entry.to_string().replace(session.id(), "older"));
    }
    assert!(marks > 0);
    bench.tenant.append("session/older", 0, older).unwrap();

    let mut session = Session::open(bench.tenant.clone(), "older").unwrap();
    assert!(session.is_cut());
    append(
        &mut session,
        Format::OpenAiChat,
        &[
            json!({ "role": "assistant", "content": "Yes." }),
            user("And now?"),
        ],
    );
    let next = compile(&bench, &mut session, Target::OpenAiChat, 6_000);
    assert_ne!(next.session.cause, EpochCause::Kept);
    let sent = body(&next);
    assert_eq!(sent.matches("northern pump").count(), 1, "{sent}");
    assert!(sent.contains("And now?") && sent.contains("Summary of turns"));
    // From now on it is as any other.
    append(
        &mut session,
        Format::OpenAiChat,
        &[
            json!({ "role": "assistant", "content": "Yes." }),
            user("Good."),
        ],
    );
    let again = compile(&bench, &mut session, Target::OpenAiChat, 6_000);
    assert_eq!(again.session.cause, EpochCause::Kept);
    let mut anew = Session::open(bench.tenant.clone(), "older").unwrap();
    assert_eq!(
        body(&compile(&bench, &mut anew, Target::OpenAiChat, 6_000)),
        body(&again)
    );
}

/// What a mark of an epoch recalls of messages that left is theirs, and goes with them.
#[test]
fn passages_that_were_recalled_are_erased_with_their_message() {
    let bench = SessionBench::new();
    let mut messages = recording(40, 300).messages;
    let secret = "The vault of the harbour office opens with the code QX-7342-19.";
    messages.insert(
        0,
        user(&format!(
            "{}\n\n{secret}\n\n{}",
            "We looked at cranes. ".repeat(40),
            "They are tall. ".repeat(40)
        )),
    );
    messages.insert(1, json!({ "role": "assistant", "content": "Noted." }));
    messages.push(user(
        "With which code does the vault of the harbour office open?",
    ));
    let mut session = session(&bench, Format::OpenAiChat, &messages);
    compile(&bench, &mut session, Target::OpenAiChat, 12_000);
    let recalls = |entries: &[Value]| {
        let marks = entries.iter().filter_map(|entry| entry["epoch"]["recalled"].as_array());
        let mut texts = marks.flatten().map(Value::to_string);
        texts.any(|text| text.contains("QX-7342-19"))
    };
    assert!(
        recalls(&bench.entries(session.id())),
        "nothing of it was recalled"
    );
    let mut number = None;
    let mut each = |turn: u64, message: tenure_workspace::sessions::Message| {
        if message.objects[0].content.contains(secret) {
            number = Some(turn);
        }
        Ok(())
    };
    session.each_message(&mut each).unwrap();
    let ids = session.objects_of(&format!("t{}", number.unwrap())).unwrap();
    bench.tenant.erase(ids, &Writing::default()).unwrap();
    let left = Value::from(bench.entries(session.id())).to_string();
    assert!(!left.contains("QX-7342-19"), "{left}");
    let mut session = Session::open(bench.tenant.clone(), session.id()).unwrap();
    let sent = body(&compile(&bench, &mut session, Target::OpenAiChat, 12_000));
    assert!(
        !sent.contains("QX-7342-19") && sent.contains("With which code"),
        "{sent}"
    );
}

/// A summary holds words of tools: it stands in no channel above theirs.
#[test]
fn a_summary_is_never_the_systems() {
    for target in [
        Target::OpenAiChat,
        Target::OpenAiResponses,
        Target::AnthropicMessages,
    ] {
        let bench = SessionBench::new();
        let mut messages = recording(60, 200).messages;
        messages.push(user("Go on."));
        let mut session = session(&bench, Format::OpenAiChat, &messages);
        let compiled = compile(&bench, &mut session, target, 6_000);
        let sent: Value = serde_json::from_str(&body(&compiled)).unwrap();
        let list = sent.get("messages").or(sent.get("input")).unwrap();
        let holds = |message: &&Value| message["content"].to_string().contains("Summary of turns");
        let summaries: Vec<&Value> = list.as_array().unwrap().iter().filter(holds).collect();
        assert!(!summaries.is_empty(), "{target:?}");
        for message in summaries {
            assert_eq!(message["role"], "user", "{target:?}: {message}");
        }
        for before in [&sent["system"], &sent["instructions"]] {
            assert!(
                !before.to_string().contains("Summary of turns"),
                "{target:?}"
            );
        }
    }
}
