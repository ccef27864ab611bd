//! A long conversation that is cut before any of it was sent: the request is as full as it may be, and what the
//! last message asks for stands in it.
use serde_json::{Value, json};
use tenure::wire::{self, Format};
use tenure::{Budget, Request, Target};
use tenure_workspace::sessions::{Session, SessionCompiled};

use crate::support::bench::{SessionBench, at};

const BUDGET: u32 = 64_000;

fn compile(bench: &SessionBench, session: &mut Session) -> SessionCompiled {
    let mut request = Request::new("Answer the question.", Budget::tokens(BUDGET));
    request.target = Target::AnthropicMessages;
    bench.compile(session, &request)
}

/// What was said once, and how it is asked for.
const FACTS: [(&str, &str); 10] = [
    (
        "tk-81142",
        "What is the incident ticket of the billing outage?",
    ),
    (
        "9417 millibar",
        "At which pressure does the relief valve of boiler nine open?",
    ),
    ("Oksana Petrenko", "Who signed off the schema migration?"),
    (
        "quartz-lantern",
        "What is the code name of the winter release?",
    ),
    (
        "port 50613",
        "On which port does the audit collector listen?",
    ),
    (
        "eu-south-7",
        "In which region is the disaster recovery replica?",
    ),
    ("retention of 417 days", "What retention do invoices have?"),
    (
        "test_rollover_of_leap_second",
        "Which test of the calendar failed?",
    ),
    (
        "9.81.4-rc2",
        "Which version of the codec library is pinned?",
    ),
    (
        "Tuesday at 04:40",
        "When is the maintenance window of the ledger?",
    ),
];

/// A result of a tool of some 800 tokens, with a fact in its middle.
fn result(at: usize, fact: Option<usize>) -> (Value, String) {
    let planted = |texts: &[(usize, &str)]| {
        let found = texts.iter().find(|(which, _)| Some(*which) == fact);
        found.map(|(_, text)| format!("{text}\n")).unwrap_or_default()
    };
    let n = |line: usize| (at * 131 + line * 7_919) % 9_973;
    match at % 5 {
        0 => {
            let mut log = String::new();
            for line in 0..37 {
                log.push_str(&format!(
                    "2026-05-{:02}T10:{:02}:07Z INFO [http] GET /api/orders/{} 200 in {} ms\n",
                    1 + at % 28,
                    line,
                    n(line),
                    n(line) % 90
                ));
                if line == 14 {
                    log.push_str(&planted(&[
                        (0, "2026-05-09T10:14:08Z INFO [desk] the incident ticket of the billing outage is tk-81142"),
                        (4, "2026-05-09T10:14:08Z INFO [audit] the audit collector listens on port 50613"),
                    ]));
                }
            }
            (
                json!({ "name": "logs", "arguments": json!({ "service": format!("web-{at}") }).to_string() }),
                log,
            )
        }
        1 => {
            let mut file = String::from("//! Moves orders between queues.\n\n");
            for line in 0..48 {
                file.push_str(&format!(
                    "pub fn step_{}(input: u32) -> u32 {{\n    input + {}\n}}\n",
                    n(line),
                    line
                ));
                if line == 20 {
                    file.push_str(&planted(&[
                        (1, "// The relief valve of boiler nine opens at 9417 millibar, because its spring was replaced."),
                        (6, "// Invoices have a retention of 417 days."),
                    ]));
                }
            }
            let numbered = file.lines().enumerate();
            let numbered: String =
                numbered.map(|(at, line)| format!("{:6}→{line}\n", at + 1)).collect();
            (
                json!({ "name": "Read", "arguments": json!({ "file_path": format!("src/queue_{at}.rs") }).to_string() }),
                numbered,
            )
        }
        2 => {
            let mut table = String::from("id,owner,state,amount\n");
            for row in 0..80 {
                table.push_str(&format!(
                    "{},{},open,{}\n",
                    at * 100 + row,
                    ["ada", "grace", "edsger"][n(row) % 3],
                    n(row)
                ));
                if row == 30 {
                    table.push_str(&planted(&[
                        (
                            2,
                            "77,the schema migration was signed off by Oksana Petrenko,done,0",
                        ),
                        (
                            5,
                            "78,the disaster recovery replica is in region eu-south-7,done,0",
                        ),
                    ]));
                }
            }
            (
                json!({ "name": "query", "arguments": json!({ "sql": format!("select * from orders_{at}") }).to_string() }),
                table,
            )
        }
        3 => {
            let mut tests = String::from("running 84 tests\n");
            for line in 0..84 {
                tests.push_str(&format!("test queue::case_{} ... ok\n", n(line)));
                if line == 30 {
                    tests.push_str(&planted(&[(
                        7,
                        "test calendar::test_rollover_of_leap_second ... FAILED",
                    )]));
                }
            }
            tests.push_str("test result: finished in 1.2 s\n");
            (
                json!({ "name": "bash", "arguments": json!({ "command": "cargo test -p queue" }).to_string() }),
                tests,
            )
        }
        _ => {
            let mut records = Vec::new();
            for row in 0..32 {
                records.push(json!({ "name": format!("package-{}", n(row)), "version": format!("1.{}.{}", row, n(row) % 50), "licence": "MIT" }));
                if row == 12 && fact == Some(8) {
                    records.push(json!({ "name": "the codec library", "version": "9.81.4-rc2", "pinned": true }));
                }
            }
            (
                json!({ "name": "packages", "arguments": "{}" }),
                Value::Array(records).to_string(),
            )
        }
    }
}

/// 800 messages of some 400,000 tokens, and then the question.
fn conversation() -> Vec<Value> {
    let places = [
        (0, 20),
        (4, 145),
        (1, 61),
        (6, 251),
        (2, 92),
        (5, 312),
        (7, 173),
        (8, 204),
    ];
    let mut messages = vec![
        json!({ "role": "user", "content": "Look after the shop's services. You must never restart the ledger without asking me." }),
    ];
    let mut step = 0;
    while messages.len() < 799 {
        if step % 20 == 10 {
            let said = match step {
                150 => "By the way, the code name of the winter release is quartz-lantern. Go on."
                    .to_owned(),
                210 => "Note: the maintenance window of the ledger is on Tuesday at 04:40. Go on."
                    .to_owned(),
                _ => format!("Good. Look at part {step} next, and tell me what you see there."),
            };
            messages.push(json!({ "role": "assistant", "content": format!("Part {step} is in order, nothing has to be done there now.") }));
            messages.push(json!({ "role": "user", "content": said }));
        }
        let fact = places.iter().find(|(_, at)| *at == step).map(|(fact, _)| *fact);
        let (function, text) = result(step, fact);
        let call =
            json!({ "id": format!("call_{step}"), "type": "function", "function": function });
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": [call] }));
        messages.push(
            json!({ "role": "tool", "tool_call_id": format!("call_{step}"), "content": text }),
        );
        step += 1;
    }
    let asked: Vec<&str> = FACTS.iter().map(|(_, asked)| *asked).collect();
    messages.push(json!({ "role": "user", "content": asked.join("\n") }));
    messages
}

#[test]
fn the_first_cut_is_full_and_answers_the_last_message() {
    let bench = SessionBench::new();
    let mut session =
        Session::create(bench.tenant.clone(), None, at(0), (None, None), None).unwrap();
    let messages = conversation();
    let json = json!({ "messages": messages }).to_string();
    let conversation = wire::read(Format::OpenAiChat, &json).unwrap();
    session.append(conversation, at(60)).unwrap();
    let tokens = session.cost(&bench.world);
    let compiled = compile(&bench, &mut session);
    let envelope = &compiled.outcome.single().unwrap().envelope;
    let sent = envelope.payload.as_ref().unwrap().to_string();
    let there = FACTS.iter().filter(|(answer, _)| sent.contains(answer));
    let (there, high) = (there.count(), compiled.session.high_water);
    let share = u64::from(envelope.total_tokens) * 100 / high;
    println!(
        "{} messages, {tokens} tokens: {there} of 10 facts, {} tokens ({} of history), {share} % of the high-water mark",
        messages.len(),
        envelope.total_tokens,
        compiled.session.history_tokens
    );
    assert_eq!(
        there,
        10,
        "{:?}",
        FACTS.iter().filter(|(answer, _)| !sent.contains(answer)).collect::<Vec<_>>()
    );
    assert!((80..=100).contains(&share), "{share}");
    assert!(sent.contains("You must never restart the ledger"));
    // It says for what it was cut.
    let passed = compiled.session.passed.unwrap();
    assert_eq!(passed.most, high);
    assert!(
        passed.history > high && passed.history <= tokens * 11 / 10,
        "{passed:?} of {tokens}"
    );

    // Asked again, it says the same.
    let again = compile(&bench, &mut session);
    let digest =
        |compiled: &SessionCompiled| compiled.outcome.single().unwrap().envelope.payload_digest;
    assert_eq!(digest(&again), digest(&compiled));

    // What stands, stands until the epoch ends, also for somebody who reads the session anew.
    let again = json!({ "messages": [{ "role": "assistant", "content": "I know all ten." }, { "role": "user", "content": "Thanks, go on." }] }).to_string();
    session.append(wire::read(Format::OpenAiChat, &again).unwrap(), at(61)).unwrap();
    let next = compile(&bench, &mut session);
    assert_eq!(next.session.cause, tenure::trace::EpochCause::Kept);
    assert_eq!(next.session.passed, None);
    let of = |compiled: &SessionCompiled| {
        let envelope = &compiled.outcome.single().unwrap().envelope;
        envelope.payload.as_ref().unwrap().to_string()
    };
    let mut anew = Session::open(bench.tenant.clone(), session.id()).unwrap();
    assert_eq!(of(&compile(&bench, &mut anew)), of(&next));
    assert!(of(&next).contains("Oksana Petrenko"));
}
