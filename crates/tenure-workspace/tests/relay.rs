//! Requests on their way: what fits goes on as it came, what does not is cut, and sessions are found again.

use std::sync::Arc;

use serde_json::{Value, json};
use tenure::object::ObjectType;
use tenure::time::Instant;
use tenure::wire::Format;
use tenure::{Candidates, ObjectDocument, Policy, Principal, World, conform};
use tenure_store::Tenant;
use tenure_workspace::relay::{
    Lesson, PendingWrites, Relay, Relayed, Relaying, SideInput, Unmanaged,
};
use tenure_workspace::sessions::{Session, Wanted};
use tenure_workspace::{Gathered, Workspace};

use crate::support::bench::{self, NOW, relaying, workspace_like};
use crate::support::recorded::recording;

struct Bench {
    folder: tempfile::TempDir,
    workspace: Workspace,
    world: World,
    relay: Relay,
}

impl Bench {
    /// A model with a window of so many tokens.
    fn new(window: u32) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let workspace = workspace_like(folder.path(), "gpt-4o", window);
        Bench {
            world: workspace.world("mine").unwrap(),
            workspace,
            folder,
            relay: Relay::default(),
        }
    }

    fn tenant(&self) -> Tenant {
        bench::tenant(self.folder.path(), "local")
    }

    fn relay(&self, body: &str, key: &str) -> Relayed {
        self.relay
            .relay(
                &self.workspace,
                &self.tenant(),
                &self.world,
                &asked(body, key),
            )
            .unwrap()
    }
}

fn asked<'a>(body: &'a str, key: &'a str) -> Relaying<'a> {
    Relaying {
        key,
        ..relaying(Format::OpenAiChat, "mine", body)
    }
}

fn session(relayed: &Relayed) -> String {
    relayed.position.as_ref().unwrap().session.clone()
}

/// A request with odd bytes around these messages.
fn request(messages: &[Value]) -> String {
    let system = json!({ "role": "system", "content": "You watch over a fleet." });
    let all: Vec<String> = std::iter::once(&system).chain(messages).map(Value::to_string).collect();
    format!(
        "{{\"stream\": true,  \"messages\": [{}], \"temperature\": 0.50, \"seed\": 12345678901234567890, \"max_tokens\": 400, \"tools\": {}}}",
        all.join(", "),
        crate::support::recorded::tools()
    )
}

/// The bytes around the messages.
fn around(body: &str) -> (String, String) {
    let (before, rest) = body.split_once("\"messages\":").unwrap();
    let (_, after) = rest.split_once("], \"temperature\"").unwrap();
    (before.to_owned(), after.to_owned())
}

#[test]
fn what_fits_goes_on_as_it_came_and_its_session_is_found_again() {
    let bench = Bench::new(60_000);
    let messages = recording(4, 100).messages;
    let mut sessions = Vec::new();
    for end in [1, 4, messages.len() - 1] {
        let relayed = bench.relay(&request(&messages[..end]), "key");
        assert_eq!((&relayed.body, relayed.saved), (&None, 0));
        sessions.push(session(&relayed));
    }
    sessions.dedup();
    assert_eq!(sessions.len(), 1);
    // A retry is the same session; another key, another beginning and another way on are not.
    let retried = bench.relay(&request(&messages[..messages.len() - 1]), "key");
    assert_eq!(session(&retried), sessions[0]);
    let elsewhere = [
        bench.relay(&request(&messages[..4]), "other key"),
        bench.relay(&request(&messages[1..4]), "key"),
        bench.relay(
            &request(&[
                messages[0].clone(),
                json!({ "role": "user", "content": "No." }),
            ]),
            "key",
        ),
    ];
    for relayed in elsewhere {
        assert_ne!(session(&relayed), sessions[0]);
    }
    // A process that knows nothing finds it in the store.
    let anew = Bench {
        relay: Relay::default(),
        ..bench
    };
    let again = anew.relay(&request(&messages[..messages.len() - 1]), "key");
    assert_eq!(session(&again), sessions[0]);
}

#[test]
fn what_does_not_fit_is_cut_and_nothing_else_changes() {
    let bench = Bench::new(6_000);
    let messages = recording(30, 300).messages;
    let mut cut = 0;
    let mut before: Option<Vec<Value>> = None;
    for (at, message) in messages.iter().enumerate() {
        let asks = message["role"] == "user"
            || (message["role"] == "tool" && messages[at + 1]["role"] != "tool");
        if !asks {
            continue;
        }
        let body = request(&messages[..=at]);
        let relayed = bench.relay(&body, "key");
        let Some(sent) = relayed.body else {
            assert_eq!(cut, 0, "once cut, it stays cut");
            continue;
        };
        cut += 1;
        assert_eq!(around(&sent), around(&body));
        assert!(bench.world.tokenizer().count(&sent) < 6_000 + 400);
        let broken = conform::check(Format::OpenAiChat, &sent, None).unwrap();
        assert!(broken.is_empty(), "{broken:?}\n{sent}");
        let parsed: Value = serde_json::from_str(&sent).unwrap();
        let list = parsed["messages"].as_array().unwrap().clone();
        assert_eq!(list[0]["content"], "You watch over a fleet.");
        assert_eq!(list.last().unwrap(), message, "what was asked last stands");
        if let Some(before) = before.replace(list.clone()) {
            let same = before.iter().zip(&list).take_while(|(a, b)| a == b).count();
            // Either it goes on, or an epoch ended.
            assert!(same == before.len() || same >= 1);
        }
    }
    assert!(cut > 10, "{cut}");
}

#[test]
fn a_provider_that_keeps_the_history_is_left_alone() {
    let bench = Bench::new(2_000);
    let long = "word ".repeat(5_000);
    let body = json!({ "model": "m", "input": long, "previous_response_id": "r1" }).to_string();
    let asked = Relaying {
        format: Format::OpenAiResponses,
        model: "m",
        body: &body,
        key: "key",
        owner: (None, None),
        session: None,
        now: Instant::from_micros(0),
        side: None,
        window: None,
        counted: false,
        max_answer: None,
    };
    let relayed = bench
        .relay
        .relay(&bench.workspace, &bench.tenant(), &bench.world, &asked)
        .unwrap();
    assert_eq!(relayed.unmanaged, Some(Unmanaged::ProviderKeepsHistory));
    assert!(relayed.body.is_none() && relayed.position.is_none());
}

#[test]
fn an_error_teaches_the_window() {
    let bench = Bench::new(60_000);
    let messages = recording(20, 300).messages;
    let body = request(&messages[..messages.len() - 1]);
    let relayed = bench.relay(&body, "key");
    assert_eq!(relayed.body, None);
    let place = relayed.position.unwrap();
    let error = "This model's maximum context length is 5000 tokens.";
    let learn = |error: &str| bench.relay.learn(&bench.tenant(), &place, error).unwrap();
    assert_eq!(learn("overloaded"), None);
    assert_eq!(learn(error), Some(Lesson::Window(5_000)));
    let again = bench.relay(&body, "key");
    assert!(again.saved > 1_000 && bench.world.tokenizer().count(&again.body.unwrap()) < 5_400);
    // Other sessions do not know yet: what one provider said once may be wrong.
    assert_eq!(bench.relay(&body, "other").body, None);
    bench.relay.confirm(&bench.tenant(), &place, 5_000, NOW).unwrap();
    let cut = |bench: &Bench, key: &str, now: Instant, model: &str| {
        let asked = Relaying {
            now,
            model,
            ..asked(&body, key)
        };
        let relay = &bench.relay;
        let relayed = relay.relay(&bench.workspace, &bench.tenant(), &bench.world, &asked);
        relayed.unwrap().body.is_some()
    };
    assert!(cut(&bench, "third", NOW, "mine"));
    assert!(!cut(&bench, "fourth", NOW, "another"));
    // A process that knows nothing knows it from the store, for a day.
    let anew = Bench {
        relay: Relay::default(),
        ..bench
    };
    assert!(cut(&anew, "fifth", NOW, "mine"));
    let tomorrow = Instant::from_micros(NOW.micros() + 86_400_000_000);
    assert!(!cut(&anew, "sixth", tomorrow, "mine"));
}

#[test]
fn what_waits_is_written_once_and_nothing_of_it_is_lost() {
    let bench = Bench::new(6_000);
    let messages = recording(30, 300).messages;
    let ends: Vec<usize> =
        (0..messages.len()).filter(|at| messages[*at]["role"] == "user").collect();
    let ahead = |bench: &Bench, end: usize| {
        let body = request(&messages[..=end]);
        let (relay, tenant) = (&bench.relay, bench.tenant());
        relay
            .relay_ahead(
                &bench.workspace,
                &tenant,
                &bench.world,
                &asked(&body, "key"),
            )
            .unwrap()
    };
    let tenant = bench.tenant();
    let stored = |id: &str| tenant.last(&format!("session/{id}")).unwrap();
    let (first, pending) = ahead(&bench, ends[0]);
    let id = session(&first);
    assert_eq!(stored(&id), 0);
    pending.write().unwrap();
    assert!(stored(&id) > 0);
    // In whatever order it is settled, or not at all until the next request: the same session, each message once.
    let mut waiting = Vec::new();
    for (at, end) in ends.iter().enumerate().skip(1) {
        let (relayed, pending) = ahead(&bench, *end);
        assert_eq!(session(&relayed), id, "{at}");
        match at % 3 {
            0 => pending.write().unwrap(),
            1 => waiting.push(pending),
            _ => drop(pending),
        }
    }
    for pending in waiting {
        pending.write().unwrap();
    }
    let last = *ends.last().unwrap();
    let (_, pending) = ahead(&bench, last);
    pending.write().unwrap();
    let kept = tenure_workspace::sessions::Session::open(bench.tenant(), &id).unwrap();
    let kept = kept.export(Format::OpenAiChat).unwrap().messages;
    let kept: Vec<Value> = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept, messages[..=last]);
}

#[test]
fn of_two_that_write_at_once_one_is_told_and_goes_on_with_the_next_request() {
    let bench = Bench::new(60_000);
    let asks = |texts: &[&str]| {
        let said = texts.iter().enumerate().map(|(at, text)| match at % 2 {
            0 => json!({ "role": "user", "content": text }),
            _ => json!({ "role": "assistant", "content": text }),
        });
        request(&said.collect::<Vec<_>>())
    };
    let id = session(&bench.relay(&asks(&["How warm?"]), "key"));
    let other = Relay::default();
    let ahead = |relay: &Relay, body: &str| {
        relay
            .relay_ahead(
                &bench.workspace,
                &bench.tenant(),
                &bench.world,
                &asked(body, "key"),
            )
            .unwrap()
    };
    let (mine, theirs) = (
        ["How warm?", "Warm.", "Stop."],
        ["How warm?", "Warm.", "Go on."],
    );
    let (here, pending) = ahead(&bench.relay, &asks(&mine));
    let (there, settled_first) = ahead(&other, &asks(&theirs));
    assert_eq!((session(&here), session(&there)), (id.clone(), id.clone()));
    settled_first.write().unwrap();
    assert_eq!(
        pending.write().unwrap_err().kind,
        tenure::ErrorKind::Conflict
    );
    // It is no part of the session, whose other way stands; what comes next is one of its own, whole.
    let on = ["How warm?", "Warm.", "Stop.", "Stopped.", "Good."];
    let next = session(&bench.relay(&asks(&on), "key"));
    let export = |id: &str| {
        let session = tenure_workspace::sessions::Session::open(bench.tenant(), id).unwrap();
        session.export(Format::OpenAiChat).unwrap().messages
    };
    assert!(export(&id).contains("Go on.") && !export(&id).contains("Stop."));
    assert!(next != id && on.iter().all(|text| export(&next).contains(text)));
}

#[test]
fn sessions_are_held_in_bounds_and_found_all_the_same() {
    let bound = 300_000;
    let bench = Bench {
        relay: Relay::holding(bound),
        ..Bench::new(60_000)
    };
    let messages = recording(4, 300).messages;
    let body = request(&messages[..messages.len() - 1]);
    let ids: Vec<String> =
        (0..12).map(|key| session(&bench.relay(&body, &format!("key {key}")))).collect();
    let held = bench.relay.bytes();
    assert!(held <= bound && held > bound / 4, "{held}");
    for (key, id) in ids.iter().enumerate().rev() {
        assert_eq!(&session(&bench.relay(&body, &format!("key {key}"))), id);
        assert!(bench.relay.bytes() <= bound);
    }
    let tenants = bench.relay.tenants();
    assert!(tenants.len() == 1 && tenants["local"] <= bench.tenant().version().unwrap());
    bench.relay.forget("nobody");
    assert!(bench.relay.bytes() > 0);
    bench.relay.forget("local");
    assert_eq!((bench.relay.bytes(), bench.relay.tenants().len()), (0, 0));
    assert_eq!(session(&bench.relay(&body, "key 3")), ids[3]);
}

#[test]
fn replies_change_nothing_in_what_is_sent() {
    let (without, with) = (Bench::new(6_000), Bench::new(6_000));
    let messages = recording(30, 300).messages;
    let (mut cut, mut added) = (0, 0);
    for (at, message) in messages.iter().enumerate() {
        let next = messages.get(at + 1);
        let asks = message["role"] == "user"
            || (message["role"] == "tool" && next.is_some_and(|next| next["role"] != "tool"));
        if !asks {
            continue;
        }
        let body = request(&messages[..=at]);
        let (expected, found) = (without.relay(&body, "key"), with.relay(&body, "key"));
        assert_eq!(found.body, expected.body, "message {at}");
        cut += u32::from(found.body.is_some());
        let Some(reply) = next.filter(|next| next["role"] == "assistant") else {
            continue;
        };
        let place = found.position.unwrap();
        // Of three, one does not come in time.
        if at % 3 == 2 {
            continue;
        }
        let reply = reply.to_string();
        let add = || with.relay.reply(&with.tenant(), &place, &reply, NOW);
        assert!(add().unwrap());
        assert!(!add().unwrap(), "only once");
        added += 1;
    }
    assert!(cut > 10 && added > 10, "{cut} {added}");
    // In both it is one session, with each message once.
    let whole = request(&messages);
    let tenants = [(without.tenant(), &without), (with.tenant(), &with)];
    let exported = tenants.map(|(tenant, bench)| {
        let id = session(&bench.relay(&whole, "key"));
        let session = tenure_workspace::sessions::Session::open(tenant, &id).unwrap();
        session.export(Format::OpenAiChat).unwrap().messages
    });
    assert_eq!(exported[0], exported[1]);
}

#[test]
fn the_reply_that_the_agent_took_counts_also_where_it_was_taken_back() {
    let bench = Bench::new(60_000);
    let asked = [json!({ "role": "user", "content": "How warm is it?" })];
    let reply = |relayed: &Relayed, text: &str| {
        let place = relayed.position.as_ref().unwrap();
        let message = json!({ "role": "assistant", "content": text }).to_string();
        bench.relay.reply(&bench.tenant(), place, &message, NOW).unwrap()
    };
    // Asked twice, answered twice: the later answer stands in the session.
    let first = bench.relay(&request(&asked), "key");
    assert!(reply(&first, "Quite warm."));
    let second = bench.relay(&request(&asked), "key");
    assert!(reply(&second, "Rather cold."));
    assert_eq!(session(&first), session(&second));
    // The agent goes on with the first.
    let mut all = asked.to_vec();
    all.push(json!({ "role": "assistant", "content": "Quite warm." }));
    all.push(json!({ "role": "user", "content": "Then stop the pump." }));
    let third = bench.relay(&request(&all), "key");
    assert_eq!(session(&third), session(&first));
    let kept = tenure_workspace::sessions::Session::open(bench.tenant(), &session(&third)).unwrap();
    let messages = kept.export(Format::OpenAiChat).unwrap().messages;
    assert!(
        messages.contains("Quite warm.") && !messages.contains("Rather cold."),
        "{messages}"
    );
    // What was taken back is no message, on no page and in no range; by its number it can be had.
    let (page, more) = kept.messages_after(0, 10).unwrap();
    assert_eq!((page.len(), more), (3, false));
    for most in 1..=3 {
        let (page, more) = kept.messages_after(0, most).unwrap();
        assert_eq!((page.len(), more), (most, most < 3), "{most}");
        let text = serde_json::to_string(&page).unwrap();
        assert!(!text.contains("Rather cold."), "{text}");
    }
    let range = Wanted::Id(format!("t1-t{}", kept.last_turn()));
    let found = kept.rehydrate(&range, bench.world.tokenizer()).unwrap();
    let said: Vec<&str> = found.originals.iter().map(|said| said.text.as_str()).collect();
    assert_eq!(
        said,
        ["How warm is it?", "Quite warm.", "Then stop the pump."]
    );
}

#[test]
fn tools_take_room_too() {
    let bench = Bench::new(60_000);
    let messages = recording(4, 100).messages;
    let sent = |body: &str| bench.relay(body, "key").position.unwrap().sent();
    let with = sent(&request(&messages[..1]));
    let without = sent(&request(&messages[..1]).replace("\"tools\"", "\"other\""));
    let tools =
        bench.world.tokenizer().count(&crate::support::recorded::tools().to_string()) as u32;
    assert!(with >= without + tools / 2, "{with} {without} {tools}");
}

#[test]
fn what_is_counted_is_what_is_sent_and_part_of_no_session() {
    let bench = Bench::new(6_000);
    let messages = recording(30, 300).messages;
    let tenant = bench.tenant();
    let mut cut = 0;
    for (at, message) in messages.iter().enumerate() {
        if message["role"] != "user" {
            continue;
        }
        let body = request(&messages[..=at]);
        let before = tenant.logs().unwrap();
        let counted = Relaying {
            counted: true,
            ..asked(&body, "key")
        };
        let count = || {
            let relay = &bench.relay;
            let relayed = relay.relay(&bench.workspace, &tenant, &bench.world, &counted);
            let relayed = relayed.unwrap();
            assert_eq!(relayed.position, None);
            relayed.body
        };
        let (first, again) = (count(), count());
        assert_eq!(tenant.logs().unwrap(), before);
        let sent = bench.relay(&body, "key").body;
        assert_eq!((&first, &again), (&sent, &sent), "message {at}");
        cut += u32::from(sent.is_some());
    }
    assert!(cut > 5, "{cut}");
    // Another end of the conversation was counted, too: the session did not go that way.
    let last = messages.iter().rposition(|message| message["role"] == "user");
    let mut other = messages[..last.unwrap()].to_vec();
    other.push(json!({ "role": "user", "content": "What else?" }));
    let body = request(&other);
    let counted = Relaying {
        counted: true,
        ..asked(&body, "key")
    };
    let relay = &bench.relay;
    let relayed = relay.relay(&bench.workspace, &tenant, &bench.world, &counted);
    relayed.unwrap();
    let sessions = tenure_workspace::sessions::Session::list(&tenant).unwrap();
    assert_eq!(sessions.len(), 1);
}

#[test]
fn a_conversation_that_is_held_again_has_one_session_of_its_own() {
    let bench = Bench::new(6_000);
    let messages = recording(20, 300).messages;
    let asks: Vec<String> = (0..messages.len())
        .filter(|at| messages[*at]["role"] == "user")
        .map(|at| request(&messages[..=at]))
        .collect();
    assert!(asks.len() > 3);
    let mut runs = Vec::new();
    for run in 0..3_usize {
        // Also by a process that knows nothing.
        let relay = Relay::default();
        let relay = if run == 2 { &relay } else { &bench.relay };
        // The last one of a run may be taken for the same asked again.
        let asks = &asks[..asks.len() - run];
        let ids = asks.iter().map(|body| {
            let asked = asked(body, "key");
            let relayed = relay.relay(&bench.workspace, &bench.tenant(), &bench.world, &asked);
            session(&relayed.unwrap())
        });
        let mut ids: Vec<String> = ids.collect();
        ids.dedup();
        assert_eq!(ids.len(), 1, "run {run}");
        runs.extend(ids);
    }
    runs.dedup();
    assert_eq!(runs.len(), 3);
}

/// What a client asks that said every other of these.
fn asks(texts: &[&str]) -> String {
    let said = texts.iter().enumerate().map(|(at, text)| match at % 2 {
        0 => json!({ "role": "user", "content": text }),
        _ => json!({ "role": "assistant", "content": text }),
    });
    request(&said.collect::<Vec<_>>())
}

fn ahead(bench: &Bench, relay: &Relay, body: &str) -> (Relayed, PendingWrites) {
    let (workspace, tenant, world) = (&bench.workspace, bench.tenant(), &bench.world);
    let asked = asked(body, "key");
    relay.relay_ahead(workspace, &tenant, world, &asked).unwrap()
}

fn logs_of(tenant: &Tenant, prefix: &str) -> usize {
    let logs = tenant.logs().unwrap();
    logs.iter().filter(|(log, _)| log.starts_with(prefix)).count()
}

#[test]
fn what_was_lost_leaves_no_chain_whoever_finds_it_out() {
    let bench = Bench::new(60_000);
    let tenant = bench.tenant();
    session(&bench.relay(&asks(&["How warm?"]), "key"));
    let other = Relay::default();
    let mine = asks(&["How warm?", "Warm.", "Stop."]);
    let theirs = asks(&["How warm?", "Warm.", "Go on."]);
    let (here, pending) = ahead(&bench, &bench.relay, &mine);
    let (there, first) = ahead(&bench, &other, &theirs);
    assert_eq!(session(&here), session(&there));
    first.write().unwrap();
    let chains = logs_of(&tenant, "chain/");
    // Another request of the session finds out that the first one's message is lost.
    let (_, another) = ahead(
        &bench,
        &bench.relay,
        &asks(&["How warm?", "Warm.", "Go on."]),
    );
    let conflict = pending.write().unwrap_err();
    assert_eq!(conflict.kind, tenure::ErrorKind::Conflict);
    another.write().unwrap();
    assert_eq!(
        logs_of(&tenant, "chain/"),
        chains,
        "nobody leads to what is not there"
    );
    // Neither this process nor one that knows nothing takes the other's message for the lost one.
    for relay in [&bench.relay, &Relay::default()] {
        let (next, pending) = ahead(&bench, relay, &mine);
        pending.write().unwrap();
        assert_ne!(session(&next), session(&there));
        let next = Session::open(bench.tenant(), &session(&next)).unwrap();
        let said = next.export(Format::OpenAiChat).unwrap().messages;
        assert!(said.contains("Stop.") && !said.contains("Go on."), "{said}");
    }
}

#[test]
fn a_client_that_leaves_leaves_its_chain_or_nothing() {
    // So little room that nothing stays that may leave.
    let bench = Bench {
        relay: Relay::holding(1),
        ..Bench::new(60_000)
    };
    let tenant = bench.tenant();
    let body = asks(&["How warm?"]);
    let (left, pending) = ahead(&bench, &bench.relay, &body);
    drop(pending);
    assert_eq!(
        (logs_of(&tenant, "session/"), logs_of(&tenant, "chain/")),
        (0, 0)
    );
    bench.relay(&asks(&["Another."]), "another key");
    assert_eq!(
        (logs_of(&tenant, "session/"), logs_of(&tenant, "chain/")),
        (1, 1)
    );
    // It asks again: what waited is written, whole.
    let (again, pending) = ahead(&bench, &bench.relay, &body);
    assert_eq!(session(&again), session(&left));
    pending.write().unwrap();
    assert_eq!(
        (logs_of(&tenant, "session/"), logs_of(&tenant, "chain/")),
        (2, 2)
    );
    // A process that knows nothing goes on with it.
    let (on, pending) = ahead(
        &bench,
        &Relay::default(),
        &asks(&["How warm?", "Warm.", "Stop."]),
    );
    pending.write().unwrap();
    assert_eq!(session(&on), session(&left));
}

#[test]
fn what_is_counted_without_the_answers_room_is_what_is_sent() {
    let bench = Bench::new(6_000);
    let messages = recording(30, 300).messages;
    let mut cut = 0;
    let asks = (0..messages.len()).filter(|at| messages[*at]["role"] == "user");
    for at in asks {
        let room = "\"max_tokens\": 2000, ";
        let body = request(&messages[..=at]).replace("\"max_tokens\": 400, ", room);
        let without = body.replace(room, "");
        let counted = Relaying {
            counted: true,
            ..asked(&without, "key")
        };
        let (relay, tenant) = (&bench.relay, bench.tenant());
        let counted = relay.relay(&bench.workspace, &tenant, &bench.world, &counted);
        let sent = bench.relay(&body, "key").body;
        // Where a request has not been sent yet, nothing is known.
        if cut > 0 {
            let sent = sent.as_ref().map(|sent| sent.replace(room, ""));
            assert_eq!(counted.unwrap().body, sent, "message {at}");
        }
        cut += u32::from(sent.is_some());
    }
    assert!(cut > 5, "{cut}");
}

#[test]
fn a_reply_takes_room() {
    let bench = Bench::new(60_000);
    let place = bench.relay(&asks(&["How warm?"]), "key").position.unwrap();
    let (before, text) = (bench.relay.bytes(), "warm ".repeat(10_000));
    let reply = json!({ "role": "assistant", "content": text }).to_string();
    let added = bench.relay.reply(&bench.tenant(), &place, &reply, NOW);
    assert!(added.unwrap() && bench.relay.bytes() > before + text.len());
}

/// What an answer is begun with stands last, behind what is beside the conversation; the next request finds the
/// finished answer in the session.
#[test]
fn a_begun_answer_stands_last_and_its_session_goes_on() {
    let bench = Bench::new(60_000);
    let world = bench.workspace.world("claude-opus-4-5").unwrap();
    let text =
        "name = \"beside\"\nextends = \"standard\"\nrequired = []\nguidance = { near = 0.0 }\n";
    let policy = Policy::from_toml(text).unwrap();
    let fact = |name: &str, text: &str| {
        let mut document = ObjectDocument::named(name, text);
        document.object_type = Some(ObjectType::Preference);
        document.tenant_id = Some("local".to_owned());
        document.seal().unwrap()
    };
    let pressure = fact("pressure", "Report every pressure in hectopascal.");
    let mut gathered = Gathered::of_sources(Candidates::new(vec![Arc::clone(&pressure)]));
    let principal = Principal {
        tenant: "local".to_owned(),
        ..Principal::owner()
    };
    let relay = |gathered: &Gathered, messages: &[Value]| {
        let body = json!({ "model": "claude-opus-4-5", "max_tokens": 400, "messages": messages });
        let body = body.to_string();
        let asked = Relaying {
            format: Format::Anthropic,
            side: Some(SideInput {
                policy: &policy,
                gathered,
                watched: &[0],
                known: NOW,
                principal: &principal,
                identities: &[],
            }),
            ..asked(&body, "key")
        };
        let relayed = bench.relay.relay(&bench.workspace, &bench.tenant(), &world, &asked);
        let relayed = relayed.unwrap();
        assert_eq!(relayed.stand, [0]);
        let sent = relayed.body.clone().unwrap();
        let found = conform::check(Format::Anthropic, &sent, Some(world.model())).unwrap();
        assert!(found.is_empty(), "{found:?}\n{sent}");
        (relayed, serde_json::from_str::<Value>(&sent).unwrap())
    };
    let user = |text: &str| json!({ "role": "user", "content": text });
    let model = |text: &str| json!({ "role": "assistant", "content": text });
    let mut messages = vec![
        user("What is the pressure?"),
        model("It is 990 hPa."),
        user("And now?"),
    ];
    let (first, before) = relay(&gathered, &messages);
    assert!(before.to_string().contains("hectopascal"));

    // Something new is known meanwhile, which joins the tail.
    let valve = fact(
        "valve",
        "The valve of the pressure line was closed at noon.",
    );
    gathered = Gathered::of_sources(Candidates::new(vec![pressure, valve]));
    let mut begun = messages.clone();
    begun.push(model("Now it is "));
    let (second, sent) = relay(&gathered, &begun);
    assert_eq!(session(&second), session(&first));
    let list = sent["messages"].as_array().unwrap();
    assert_eq!(list.last(), begun.last());
    let tail = sent.to_string();
    assert!(tail.contains("closed at noon"), "{tail}");
    // The epoch goes on: what was sent before stands as it was.
    assert_eq!(sent["system"], before["system"]);
    assert_eq!(list[..2], before["messages"].as_array().unwrap()[..2]);

    let reply = json!({ "role": "assistant", "content": [{ "type": "text", "text": "991 hPa." }] });
    let place = second.position.as_ref().unwrap();
    let added = bench.relay.reply(&bench.tenant(), place, &reply.to_string(), NOW);
    assert!(added.unwrap());
    messages.push(model("Now it is 991 hPa."));
    messages.push(user("Thank you. Is that much?"));
    let (third, _) = relay(&gathered, &messages);
    assert_eq!(session(&third), session(&first));
    let kept = Session::open(bench.tenant(), &session(&third)).unwrap();
    assert_eq!(kept.len(), 5);
    let log = bench.tenant().entries(&format!("session/{}", session(&third)), 0).unwrap();
    let withdrawn = log.iter().filter(|(_, body)| body.contains("withdrawn"));
    assert_eq!(withdrawn.count(), 0, "the reply was the agent's");

    // What else the agent's body has marked is marked anew; what the answer is begun with, not at all.
    let mark = json!({ "type": "ephemeral", "ttl": "1h" });
    let mut marked = begun.clone();
    marked[0]["content"] = "What of it? ".repeat(3_000).into();
    for message in &mut marked {
        let text = message["content"].clone();
        message["content"] = json!([{ "type": "text", "text": text, "cache_control": mark }]);
    }
    let (_, sent) = relay(&gathered, &marked);
    let last = sent["messages"].as_array().unwrap().last().unwrap();
    assert!(!last.to_string().contains("cache_control"), "{last}");
    assert!(sent.to_string().contains("cache_control"));

    // Where nobody asks anything, nothing is done.
    let body = json!({ "model": "m", "max_tokens": 9, "messages": [model("It is ")] }).to_string();
    let asked = Relaying {
        format: Format::Anthropic,
        ..asked(&body, "key")
    };
    let relayed = bench.relay.relay(&bench.workspace, &bench.tenant(), &world, &asked).unwrap();
    assert!(relayed.body.is_none() && relayed.position.is_none());
}

/// An agent whose model speaks turn after turn: all of it is kept, and cut where it is too long.
#[test]
fn what_the_model_says_by_itself_is_history_too() {
    let bench = Bench::new(6_000);
    let step = |at: usize| json!({ "role": "assistant", "content": format!("Step {at}: {}", "so many words ".repeat(60)) });
    let mut messages = vec![json!({ "role": "user", "content": "Go on until you are done." })];
    let mut last = None;
    for at in 0..50 {
        let body = request(&messages);
        let relayed = bench.relay(&body, "key");
        let sent = relayed.body.clone().unwrap_or(body);
        let sent: Value = serde_json::from_str(&sent).unwrap();
        let sent = sent["messages"].as_array().unwrap();
        assert_eq!(sent.last(), messages.last());
        let place = relayed.position.as_ref().unwrap();
        let reply = step(at).to_string();
        assert!(bench.relay.reply(&bench.tenant(), place, &reply, NOW).unwrap());
        messages.push(step(at));
        last = Some((session(&relayed), sent.len()));
    }
    let (id, sent) = last.unwrap();
    assert!(sent < 30, "{sent} of {}", messages.len());
    let kept = Session::open(bench.tenant(), &id).unwrap();
    let all = kept.export(Format::OpenAiChat).unwrap().messages;
    let all: Vec<Value> = serde_json::from_str(&all).unwrap();
    assert_eq!(all, messages);
}

/// Others go on with the same conversation while it is compiled: nothing goes on as it came for that.
#[test]
fn who_comes_at_once_with_others_is_compiled_as_if_alone() {
    let bench = Bench::new(60_000);
    let text = "name = \"beside\"\nextends = \"standard\"\nrequired = []\nguidance = { near = 0.0 }\nsession.tools_top_k = 1\n";
    let policy = Policy::from_toml(text).unwrap();
    let rule = ObjectDocument {
        tenant_id: Some("local".to_owned()),
        ..ObjectDocument::named("rule", "Report every pressure in hectopascal.")
    };
    let gathered = Gathered::of_sources(Candidates::new(vec![rule.seal().unwrap()]));
    let tenant = bench.tenant();
    let principal = Principal {
        tenant: "local".to_owned(),
        ..Principal::owner()
    };
    let tools = |of: &str| {
        let tool = |at| json!({ "type": "function", "function": { "name": format!("{of}_{at}"), "parameters": { "type": "object" } } });
        (0..4).map(tool).collect::<Vec<_>>()
    };
    let body = |round: usize, more: bool, of: &str| {
        let mut messages = vec![json!({ "role": "user", "content": format!("Round {round}.") })];
        if more {
            messages.push(json!({ "role": "assistant", "content": "Yes." }));
            messages.push(json!({ "role": "user", "content": "And then?" }));
        }
        json!({ "model": "mine", "messages": messages, "tools": tools(of) }).to_string()
    };
    let ask = |body: &str, of: &str| {
        let asked = Relaying {
            side: Some(SideInput {
                policy: &policy,
                gathered: &gathered,
                watched: &[0],
                known: NOW,
                principal: &principal,
                identities: &[],
            }),
            ..asked(body, "key")
        };
        let relayed = bench.relay.relay(&bench.workspace, &tenant, &bench.world, &asked);
        let relayed = relayed.unwrap();
        assert!(relayed.body.unwrap().contains("hectopascal"));
        let foreign = relayed.left_out.keys().find(|name| !name.starts_with(of));
        assert_eq!(foreign, None);
        assert_eq!(relayed.left_out.len(), 3);
    };
    for round in 0..100 {
        std::thread::scope(|scope| {
            for (more, of) in [
                (false, "a"),
                (true, "a"),
                (false, "b"),
                (false, "a"),
                (true, "b"),
                (false, "b"),
            ] {
                scope.spawn(move || ask(&body(round, more, of), of));
            }
        });
    }
}

/// Whatever hid it: here the session belongs to another tenant than the principal, which nothing overrides.
#[test]
fn a_body_without_what_is_asked_is_not_sent() {
    let bench = Bench::new(60_000);
    let text = "name = \"beside\"\nextends = \"standard\"\nrequired = []\n";
    let policy = Policy::from_toml(text).unwrap();
    let demands = Policy::from_toml(&text.replace("[]", "[\"karma\"]")).unwrap();
    let rule = |tenant: &str| {
        let rule = ObjectDocument {
            tenant_id: Some(tenant.to_owned()),
            ..ObjectDocument::named("rule", "Report every pressure in hectopascal.")
        };
        Gathered::of_sources(Candidates::new(vec![rule.seal().unwrap()]))
    };
    let principal = |tenant: &str| Principal {
        tenant: tenant.to_owned(),
        ..Principal::default()
    };
    let body = request(&recording(2, 50).messages[..1]);
    let relay = |tenant: &str, policy: &Policy, counted| {
        let (gathered, principal) = (rule(tenant), principal(tenant));
        let asked = Relaying {
            side: Some(SideInput {
                policy,
                gathered: &gathered,
                watched: &[],
                known: NOW,
                principal: &principal,
                identities: &[],
            }),
            counted,
            ..asked(&body, "key")
        };
        bench.relay.relay(&bench.workspace, &bench.tenant(), &bench.world, &asked)
    };
    for counted in [false, true] {
        let relayed = relay("other", &policy, counted).unwrap();
        let unmanaged = Some(Unmanaged::RequestMissing);
        assert_eq!((relayed.body, relayed.unmanaged), (None, unmanaged));
        assert_eq!((relayed.saved, relayed.added), (0, 0));
        // Their own words are seen by those who are cleared for nothing.
        let relayed = relay("local", &policy, counted).unwrap();
        assert_eq!(relayed.unmanaged, None);
        let error = relay("local", &demands, counted).unwrap_err();
        assert_eq!(Unmanaged::of(&error), Unmanaged::RequiredMissing, "{error}");
    }
}

/// Both bodies are counted whole by another way: what is told is their difference.
#[test]
fn what_is_saved_and_added_is_what_the_bodies_differ_by() {
    let bench = Bench::new(6_000);
    let messages = recording(30, 300).messages;
    let text = |body: &str| {
        let body: Value = serde_json::from_str(body).unwrap();
        let mut text = String::new();
        for message in body["messages"].as_array().unwrap() {
            text.push_str(message["content"].as_str().unwrap_or_default());
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                text.push_str(call["function"]["name"].as_str().unwrap());
                text.push_str(call["function"]["arguments"].as_str().unwrap());
            }
        }
        bench.world.tokenizer().count(&text) as f64
    };
    let mut cut = 0;
    for end in (1..messages.len()).filter(|end| messages[end - 1]["role"] == "user") {
        let body = request(&messages[..end]);
        let relayed = bench.relay(&body, "key");
        let Some(sent) = relayed.body else {
            assert_eq!((relayed.saved, relayed.added), (0, 0));
            continue;
        };
        cut += 1;
        let differs = text(&body) - text(&sent);
        let told = relayed.saved as f64 - relayed.added as f64;
        let near = (told - differs).abs() <= 40.0 + 0.1 * differs.abs();
        assert!(near, "{told} is not near {differs}");
    }
    assert!(cut > 3, "{cut}");
}

#[test]
fn a_call_that_was_broken_off_is_mended_before_the_provider_sees_it() {
    let bench = Bench::new(60_000);
    let call = |id: &str| json!({ "id": id, "type": "function", "function": { "name": "read", "arguments": "{}" } });
    let user = |said: &str| json!({ "role": "user", "content": said });
    let result =
        |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "Pump 4 runs." });
    let called =
        json!({ "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] });
    let mut messages = vec![user("Look at the pumps."), called, result("b")];
    let mut before: Option<String> = None;
    for said in ["Are you there?", "And now?"] {
        for end in [messages.len(), messages.len() + 1] {
            messages.truncate(end);
            if end == messages.len() + 1 {
                messages.push(user(said));
            }
            let body = bench.relay(&request(&messages), "key").body.unwrap();
            assert_eq!(conform::check(Format::OpenAiChat, &body, None).unwrap(), []);
            assert_eq!(body.matches("[no result: broken off]").count(), 1, "{body}");
            // What was sent stays.
            let sent = body.split_once("], \"temperature\"").unwrap().0.to_owned();
            if let Some(before) = before.replace(sent.clone()) {
                assert!(sent.starts_with(&before), "{before}\n{sent}");
            }
        }
        messages.push(json!({ "role": "assistant", "content": "Yes." }));
    }
    // The result comes late: at its end, or where a client puts it in.
    messages.push(json!({ "role": "tool", "tool_call_id": "a", "content": "Pump 5 stands." }));
    let body = bench.relay(&request(&messages), "key").body.unwrap();
    assert_eq!(conform::check(Format::OpenAiChat, &body, None).unwrap(), []);
    assert!(body.starts_with(before.as_ref().unwrap()), "{body}");
    assert_eq!(body.matches("its result came late").count(), 1, "{body}");
    assert_eq!(body.matches("Pump 5 stands.").count(), 1, "{body}");
    // What is whole goes on as it came.
    let whole = [
        user("Look."),
        json!({ "role": "assistant", "content": null, "tool_calls": [call("a")] }),
        result("a"),
    ];
    assert_eq!(bench.relay(&request(&whole), "other").body, None);
}
