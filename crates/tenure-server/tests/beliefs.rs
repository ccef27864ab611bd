//! Beliefs, entities, conflicts and outcomes over HTTP: each answer is, whole, what the library says of the same store.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use tenure::belief::entity::{EntityOp, PartWeights, Profile};
use tenure::object::{Classification, ObjectId};
use tenure::time::Instant;
use tenure::{Candidates, ContextObject, ObjectDocument, Policy, Principal, admitted};
use tenure_store::{Expect, Put, Store, Tenant, Writing, Written};
use tenure_workspace::Belief;
use tenure_workspace::keys::{Grant, Keys};

use crate::support::{Bench, Reply};

const JSON: &str = "content-type: application/json";

/// A server over the store of a tenant, with keys of an operator and of two users.
struct Scene {
    bench: Bench,
    acme: Tenant,
    operator: String,
    /// A user who decides on outcomes and between claims.
    ada: String,
    /// A user without a role.
    bob: String,
}

fn grant(user: &str, roles: &[&str]) -> Grant {
    Grant {
        operator: false,
        user: Some(user.into()),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        clearance: Some(Classification::Restricted),
        ..Grant::owner("acme")
    }
}

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        let acme = store.tenant("acme").unwrap();
        let keys = Keys::of(&store).unwrap();
        let key = |grant| {
            let made = keys.create(grant, Instant::from_micros(1_000));
            format!("x-api-key: {}", made.unwrap().1)
        };
        let [operator, ada, bob] = [
            key(Grant::owner("acme")),
            key(grant("ada", &["reviewer", "arbiter"])),
            key(grant("bob", &[])),
        ];
        let bench = Bench::over(folder, store, &[], |options| tenure_server::Options {
            resolvers: ["arbiter".to_owned()].into(),
            ..options
        });
        Scene {
            bench,
            acme,
            operator,
            ada,
            bob,
        }
    }

    fn ask(&self, method: &str, path: &str, key: &str, body: Option<Value>) -> Reply {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let headers: &[&str] = if body.is_empty() {
            &[key]
        } else {
            &[JSON, key]
        };
        let path = format!("/api/v1/{path}");
        self.bench.ask(method, &path, headers, body.as_bytes())
    }

    /// What is read by a call that succeeds.
    fn get(&self, path: &str, key: &str) -> Value {
        let reply = self.ask("GET", path, key, None);
        assert_eq!(reply.status, 200, "{path}: {}", reply.json());
        reply.json()
    }

    /// What is answered to a write that succeeds.
    fn post(&self, path: &str, key: &str, body: Value) -> Value {
        let reply = self.ask("POST", path, key, Some(body));
        assert_eq!(reply.status, 200, "{path}: {}", reply.json());
        reply.json()
    }

    fn refused(&self, status: u16, path: &str, key: &str, body: Value) -> Value {
        let reply = self.ask("POST", path, key, Some(body));
        assert_eq!(reply.status, status, "{path}: {}", reply.json());
        reply.json()
    }

    fn put(&self, objects: Vec<Value>) -> Vec<ObjectId> {
        let puts = objects.into_iter().map(|object| {
            let document: ObjectDocument = serde_json::from_value(object).unwrap();
            Put::new(document)
        });
        let written = self.acme.put(puts.collect(), &Writing::default()).unwrap();
        written.objects.iter().map(|one| one.object_id).collect()
    }

    /// The last write, as it was answered: the store's version and instant, and these objects.
    fn is_last(&self, written: &Value) {
        let version = self.acme.version().unwrap();
        let at = self.acme.written(version).unwrap().unwrap().at;
        let of = [&written["version"], &written["at"]];
        assert_eq!(of, [&json!(version), &whole(&at)], "{written}");
    }
}

fn whole(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

/// What a user may see.
fn seen_by(user: &str) -> impl Fn(&[Arc<ContextObject>]) -> Vec<bool> {
    let principal = Principal {
        tenant: "acme".into(),
        user: Some(user.into()),
        clearance: Classification::Restricted,
        ..Principal::default()
    };
    let policy = Policy::preset("standard").unwrap();
    move |objects| {
        let open = admitted(&policy, &principal, &Candidates::new(objects.to_vec()));
        (0..objects.len()).map(|at| open.contains(&at)).collect()
    }
}

/// A principal as a query names it.
fn as_user(user: &str) -> String {
    let named = json!({ "tenant": "acme", "user": user, "clearance": "restricted" }).to_string();
    let bytes = named.bytes().map(|byte| format!("%{byte:02X}"));
    bytes.collect()
}

fn claims(name: &str, value: &str, more: Value) -> Value {
    let mut object = json!({
        "name": name, "content": format!("{name} says {value}."), "object_type": "project_decision",
        "security_classification": "restricted", "source_origin": format!("notes/{name}"), "source_authority": 0.6,
        "normalized_claim": format!("office == {value}"), "canonical_entity_ids": ["ada"],
    });
    let fields = more.as_object().unwrap().clone();
    object.as_object_mut().unwrap().extend(fields);
    object
}

#[test]
fn a_belief_is_shown_revised_and_has_a_log() {
    let scene = Scene::new();
    let inferred = json!({ "object_type": "inferred_belief" });
    let ids = scene.put(vec![
        claims("lease", "Denver", json!({})),
        claims("badge", "Denver", json!({})),
        claims("guess", "Denver", inferred),
        claims("diary", "Chicago", json!({ "user_id": "ada" })),
    ]);
    let (guess, diary) = (ids[2], ids[3]);
    let now = || Instant::from_micros(4_000_000_000_000_000);
    let shown = |sees: Option<&tenure_store::Sees<'_>>| {
        let belief = scene.acme.belief(guess, now(), sees).unwrap();
        json!({ "belief": whole(&belief) })
    };
    // What an operator sees is all, and what a user may see where the request names one.
    let (of_ada, of_bob) = (shown(Some(&seen_by("ada"))), shown(Some(&seen_by("bob"))));
    let asked = "beliefs?object=guess";
    assert_eq!(scene.get(asked, &scene.operator), shown(None));
    for (user, expected) in [("ada", &of_ada), ("bob", &of_bob)] {
        let asked = format!("beliefs?object={guess}&principal={}", as_user(user));
        assert_eq!(scene.get(&asked, &scene.operator), *expected);
    }
    assert_ne!(of_ada, of_bob);
    assert!(!of_bob.to_string().contains("diary"), "{of_bob}");
    // A user asks nothing here.
    let refused = scene.ask("GET", asked, &scene.ada, None);
    assert_eq!(refused.status, 403, "{}", refused.json());
    // What is hidden is as what is not there.
    let told = |object: &str| {
        let asked = format!("beliefs?object={object}&principal={}", as_user("bob"));
        let reply = scene.ask("GET", &asked, &scene.operator, None);
        (reply.status, reply.json().to_string().replace(object, "it"))
    };
    assert_eq!(told("diary"), told("nobody"));
    assert_eq!(told("diary").0, 404);
    let asked = format!("beliefs?object=diary&principal={}", as_user("ada"));
    let of_diary = scene.get(&asked, &scene.operator);
    assert_eq!(of_diary["belief"]["object_id"], whole(&diary));

    // A user revises nothing; what an operator revises is answered as it is stored.
    let asked = json!({ "object": "guess" });
    scene.refused(403, "beliefs", &scene.bob, asked.clone());
    scene.refused(
        400,
        "beliefs",
        &scene.operator,
        json!({ "object": "nobody" }),
    );
    let before = shown(None)["belief"].clone();
    let done = scene.post("beliefs", &scene.operator, asked.clone());
    assert_eq!(done["belief"]["confidence"], before["confidence"]);
    scene.is_last(&done["written"]);
    assert_eq!(done["written"]["objects"][0]["object_id"], whole(&guess));
    let after = scene.get("beliefs?object=guess", &scene.operator);
    assert_eq!(after, shown(None));
    assert_eq!(after["belief"]["stated"], before["confidence"]);
    assert_ne!(after["belief"]["stated"], before["stated"]);
    // Once more it changes nothing, and says so.
    let again = scene.post("beliefs", &scene.operator, asked);
    let (belief, written) =
        scene.acme.revise_belief(guess, now(), None, &Writing::default()).unwrap();
    assert!(written.nothing_changed);
    assert_eq!(
        again,
        json!({ "belief": whole(&belief), "written": whole(&written) })
    );

    // Its log is the history of its object: the confidence that it had, and when.
    let log = scene.get("objects/guess/history", &scene.operator);
    let history = scene.acme.history(guess).unwrap();
    assert_eq!(history.len(), 2);
    let each = history.iter().map(|belief| whole(&Belief::of(belief).unwrap()));
    assert_eq!(log, json!({ "beliefs": each.collect::<Vec<Value>>() }));
    let had = [0, 1].map(|at| log["beliefs"][at]["object"]["confidence_score"].clone());
    assert_eq!(had, [Value::Null, after["belief"]["stated"].clone()]);
}

#[test]
fn entities_are_changed_listed_resolved_and_have_a_history() {
    let scene = Scene::new();
    // The same operations on another tenant by the library leave the same.
    let twin = scene.bench.store.tenant("twin").unwrap();
    let change = |operations: Value| {
        let done = scene.post(
            "entities",
            &scene.operator,
            json!({ "operations": operations }),
        );
        scene.is_last(&done);
        let operations: Vec<EntityOp> = serde_json::from_value(operations).unwrap();
        let operations = operations.into_iter().map(|op| (op, None)).collect();
        let own = twin.change_entities(operations, &Writing::default()).unwrap();
        assert_eq!(done["objects"], whole(&own.objects));
        let is_same = Written::clone(&own).nothing_changed;
        assert_eq!(done["nothing_changed"] == true, is_same, "{done}");
        let listed = scene.get("entities", &scene.operator);
        assert_eq!(
            listed,
            json!({ "entities": whole(&scene.acme.entities(None).unwrap()) })
        );
        let of_twin = whole(&twin.entities(None).unwrap()).to_string();
        let listed = listed["entities"].to_string();
        assert_eq!(listed.replace("\"acme\"", "\"twin\""), of_twin);
        listed
    };
    change(json!([
        { "op": "create", "id": "ada", "name": "Ada Lovelace", "kind": "person", "metadata": { "mail": "ada@acme.example" } },
        { "op": "create", "id": "grace", "name": "Grace Hopper", "kind": "person" },
        { "op": "create", "id": "nova", "name": "Project Nova", "kind": "project" },
    ]));
    change(json!([
        { "op": "alias", "id": "nova", "alias": "Helix" },
        { "op": "role", "id": "ada", "role": "the CFO", "held": { "from": "2026-01-01" } },
        { "op": "relate", "id": "ada", "relation": "parent", "to": "nova" },
        { "op": "mark", "id": "nova", "mark": "path", "value": "docs/nova.md" },
    ]));
    let before = change(json!([{ "op": "alias", "id": "nova", "alias": "Helix" }]));
    // A merge, and back.
    let merged = change(json!([{ "op": "merge", "id": "grace", "into": "ada" }]));
    assert_ne!(merged, before);
    scene.refused(
        409,
        "entities",
        &scene.operator,
        json!({ "operations": [{ "op": "merge", "id": "ada", "into": "grace" }] }),
    );
    let split = change(json!([{ "op": "split", "id": "grace" }]));
    assert_eq!(split, before);
    change(json!([
        { "op": "remove_alias", "id": "nova", "alias": "HELIX" },
        { "op": "remove_role", "id": "ada", "role": "the CFO" },
        { "op": "remove_relation", "id": "ada", "relation": "parent", "to": "nova" },
        { "op": "mark", "id": "nova", "mark": "path" },
    ]));
    // Nobody but an operator changes it, and nothing of a change that cannot be is done.
    let alias = json!({ "operations": [{ "op": "alias", "id": "nova", "alias": "Nova" }] });
    scene.refused(403, "entities", &scene.ada, alias);
    let half = json!({ "operations": [
        { "op": "alias", "id": "nova", "alias": "Nova" },
        { "op": "alias", "id": "nobody", "alias": "No" },
    ] });
    let version = scene.acme.version().unwrap();
    let refused = scene.refused(404, "entities", &scene.operator, half);
    assert_eq!(scene.acme.version().unwrap(), version, "{refused}");
    for id in ["grace", "ada"] {
        let history = scene.get(&format!("entities/history?id={id}"), &scene.operator);
        let entries = scene.acme.entity_history(id).unwrap();
        assert_eq!(history, json!({ "entries": whole(&entries) }));
    }
    let history = scene.get("entities/history?id=grace", &scene.operator);
    let entries = history["entries"].as_array().unwrap().iter();
    let done: Vec<&Value> = entries.map(|entry| &entry["does"]["op"]).collect();
    assert_eq!(done, ["create", "merge", "split"]);
}

#[test]
fn a_name_is_resolved_and_what_waits_is_reviewed() {
    let scene = Scene::new();
    let change = |operations: Value| {
        let asked = json!({ "operations": operations });
        scene.post("entities", &scene.operator, asked)
    };
    change(json!([
        { "op": "create", "id": "chen-1", "name": "Mei Chen", "kind": "person" },
        { "op": "create", "id": "chen-2", "name": "Mei Chen", "kind": "person", "metadata": { "mail": "mei@acme.example" } },
        { "op": "mark", "id": "chen-1", "mark": "mail", "value": "mei@globex.example" },
        { "op": "create", "id": "nova", "name": "Project Nova", "kind": "project" },
        { "op": "create", "id": "kim", "name": "Kim Lee", "kind": "person", "metadata": { "mail": "kim@acme.example" } },
    ]));
    let note = |name: &str, content: &str, user: Option<&str>| json!({ "name": name, "content": content, "user_id": user, "security_classification": "restricted" });
    // A name that only Ada may know: it comes from what only she sees.
    let secret = scene.put(vec![note("secret", "It has another name.", Some("ada"))])[0];
    let alias = json!({ "operations": [{ "op": "alias", "id": "nova", "alias": "Helix" }], "source": "secret" });
    scene.post("entities", &scene.operator, alias);
    let history = scene.acme.entity_history("nova").unwrap();
    assert_eq!(history.last().unwrap().source, Some(secret));
    let weights = json!({ "lexical": 1.0, "kind": 0.0, "scope": 0.0, "metadata": 0.0, "neighbourhood": 0.0, "source": 0.0 });
    let mentions = [
        json!({ "name": "Mei Chen" }),
        json!({ "name": "Mei Chen", "metadata": { "mail": "mei@acme.example" } }),
        json!({ "name": "Helix" }),
        json!({ "name": "Project Nova", "project": "pumps" }),
        json!({ "name": "Grace Hopper" }),
    ];
    for mention in &mentions {
        let profile: Profile = serde_json::from_value(mention_of(mention)).unwrap();
        for weights in [None, Some(&weights)] {
            let mut asked = json!({ "mention": mention_of(mention) });
            if let Some(weights) = weights {
                asked["weights"] = weights.clone();
            }
            let own: PartWeights = match weights {
                None => scene.acme.entity_weights().unwrap(),
                Some(weights) => serde_json::from_value(weights.clone()).unwrap(),
            };
            let views: [(&str, Option<&tenure_store::Sees<'_>>); 3] = [
                (&scene.operator, None),
                (&scene.ada, Some(&seen_by("ada"))),
                (&scene.bob, Some(&seen_by("bob"))),
            ];
            for (key, sees) in views {
                let resolved = scene.acme.resolve_entity(&profile, &own, sees).unwrap();
                let told = scene.post("entities/resolve", key, asked.clone());
                assert_eq!(told, json!({ "resolved": whole(&resolved) }), "{asked}");
            }
        }
    }
    let outcome = |key: &str, mention: &Value| {
        let asked = json!({ "mention": mention_of(mention) });
        scene.post("entities/resolve", key, asked)["resolved"]["outcome"].clone()
    };
    let of_all = |key: &str| mentions.each_ref().map(|mention| outcome(key, mention));
    assert_eq!(
        of_all(&scene.ada),
        ["review", "bind", "bind", "review", "new"].map(|one| json!(one))
    );
    // By the usual weights a whole name in another project is a question, and by its letters alone it is bound.
    let asked = json!({ "mention": mention_of(&mentions[3]), "weights": weights });
    let kim = json!({ "name": "K. Lee", "metadata": { "mail": "kim@acme.example" } });
    let told = scene.post(
        "entities/resolve",
        &scene.ada,
        json!({ "mention": mention_of(&kim) }),
    );
    assert_eq!(told["resolved"]["alias"], "K. Lee", "{told}");
    let told = scene.post("entities/resolve", &scene.ada, asked);
    assert_eq!(told["resolved"]["outcome"], "bind");
    assert_eq!(outcome(&scene.bob, &mentions[2]), "new");

    // What a write leaves to a person is listed, and decided on: it is one of them, or one of its own.
    scene.put(vec![note("a", "Mei Chen asked for it.", None)]);
    let pending = |key: &str| {
        let listed = scene.get("entities?pending=true", key);
        listed["entities"].as_array().unwrap().clone()
    };
    let all = scene.acme.entities(None).unwrap().into_iter();
    let waits: Vec<_> = all.filter(|one| one.pending).collect();
    assert_eq!(pending(&scene.operator), *whole(&waits).as_array().unwrap());
    assert_eq!(waits[0].candidates, ["chen-1", "chen-2"]);
    let proposals = scene.get("proposals", &scene.operator);
    let own = scene.acme.proposals(Instant::from_micros(4_000_000_000_000_000), None).unwrap();
    assert_eq!(proposals, json!({ "proposals": whole(&own) }));
    change(json!([{ "op": "merge", "id": waits[0].id, "into": "chen-2" }]));
    assert_eq!(pending(&scene.operator), [] as [Value; 0]);
    let people = scene.get("entities?kind=person", &scene.bob);
    let people: Vec<&Value> =
        people["entities"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(people, ["chen-1", "chen-2", "kim"]);
    change(
        json!([{ "op": "create", "id": "third", "name": "M. Chen", "pending": true, "candidates": ["chen-1"] }]),
    );
    assert_eq!(pending(&scene.ada).len(), 1);
    change(json!([{ "op": "confirm", "id": "third" }]));
    assert_eq!(pending(&scene.ada), [] as [Value; 0]);
    scene.refused(
        409,
        "entities",
        &scene.operator,
        json!({ "operations": [{ "op": "confirm", "id": "third" }] }),
    );
}

/// A mention with the field that every one of the library's has.
fn mention_of(mention: &Value) -> Value {
    let mut mention = mention.clone();
    mention["tenant"] = json!("acme");
    mention
}

#[test]
fn conflicts_are_listed_shown_and_resolved() {
    let scene = Scene::new();
    let ids = scene.put(vec![
        claims("badge", "Chicago", json!({})),
        claims("lease", "Denver", json!({})),
        claims("diary", "Boston", json!({ "user_id": "ada" })),
    ]);
    let listed = |known: Option<Instant>, sees: Option<&tenure_store::Sees<'_>>| json!({ "conflicts": whole(&scene.acme.conflicts(known, sees).unwrap()) });
    let bob = seen_by("bob");
    let (before, of_bob) = (listed(None, None), listed(None, Some(&bob)));
    assert_eq!(scene.get("conflicts", &scene.operator), before);
    assert_eq!(
        scene.get("conflicts", &scene.ada),
        listed(None, Some(&seen_by("ada")))
    );
    assert_eq!(scene.get("conflicts", &scene.bob), of_bob);
    let count = |told: &Value| told["conflicts"].as_array().unwrap().len();
    assert_eq!((count(&before), count(&of_bob)), (3, 1));
    let history = |sees: Option<&tenure_store::Sees<'_>>| json!({ "conflicts": whole(&scene.acme.conflict_history(ids[0], ids[1], sees).unwrap()) });
    let pair = "conflicts?first=badge&second=lease";
    assert_eq!(scene.get(pair, &scene.bob), history(Some(&bob)));
    let hidden = scene.get("conflicts?first=badge&second=diary", &scene.bob);
    assert_eq!(hidden, json!({ "conflicts": [] }));

    // Who has the role decides; the list as it was stays as it was.
    let at = scene.acme.written(scene.acme.version().unwrap()).unwrap().unwrap().at;
    let decide = |stands: &str| json!({ "first": "badge", "second": "lease", "stands": stands, "note": "asked the owner" });
    scene.refused(403, "conflicts", &scene.bob, decide("first"));
    for stands in ["second", "first"] {
        let done = scene.post("conflicts", &scene.ada, decide(stands));
        scene.is_last(&done);
        let now = scene.get("conflicts", &scene.operator);
        assert_eq!(now, listed(None, None));
        let found = now["conflicts"].as_array().unwrap().iter();
        let mut found = found.filter(|one| one["ground"] == "person");
        let person = found.next().unwrap();
        assert_eq!(person["note"], "asked the owner");
        let loser = if stands == "first" { "lease" } else { "badge" };
        let is_first = person["first"]["name"] == loser;
        assert_eq!(person["loser"], if is_first { "first" } else { "second" });
    }
    let told = scene.get(&format!("conflicts?as_of={at}"), &scene.operator);
    assert_eq!(told, listed(Some(at), None));
    assert_eq!(count(&told), 3);
    let grounds = told["conflicts"].as_array().unwrap().iter();
    assert!(grounds.into_iter().all(|one| one["ground"] == "tie"));
    let told = scene.get(pair, &scene.operator);
    assert_eq!(told, history(None));
    assert_eq!(count(&told), 3);
    // A decision that comes after the pair is gone is none.
    scene.acme.retract(ids[1], Expect::Any, &Writing::default()).unwrap();
    let refused = scene.refused(409, "conflicts", &scene.operator, decide("first"));
    let said = refused["detail"].as_str().unwrap();
    let named = "there is no open conflict between `badge` and `lease`";
    assert!(said.starts_with(named), "{said}");
    assert_eq!(scene.get("conflicts", &scene.operator), listed(None, None));
}

#[test]
fn outcomes_are_accepted_rejected_withdrawn_and_listed() {
    let scene = Scene::new();
    let propose = |name: &str, content: &str| {
        let object =
            json!({ "name": name, "content": content, "security_classification": "restricted" });
        let asked = json!({ "kind": "correction", "mistake": name, "object": object });
        let done = scene.post("outcomes", &scene.operator, asked);
        scene.is_last(&done);
    };
    let listed = || {
        let own = json!({ "outcomes": whole(&scene.acme.outcomes(None).unwrap()) });
        assert_eq!(scene.get("outcomes", &scene.operator), own);
        let of_bob =
            json!({ "outcomes": whole(&scene.acme.outcomes(Some(&seen_by("bob"))).unwrap()) });
        assert_eq!(scene.get("outcomes", &scene.bob), of_bob);
        let all = own["outcomes"].as_array().unwrap().iter();
        let mut all: Vec<(String, String, u64)> = all
            .map(|one| {
                let text = |field: &str| one[field].as_str().unwrap().to_owned();
                (
                    text("name"),
                    text("state"),
                    one["repeats"].as_u64().unwrap_or(0),
                )
            })
            .collect();
        all.sort();
        all
    };
    let decide = |decision: &str, outcome: &str| {
        let asked = json!({ "outcome": outcome, "decision": decision });
        let done = scene.post("outcomes/decision", &scene.ada, asked);
        scene.is_last(&done);
    };
    let again = |decision: &str, outcome: &str| {
        let asked = json!({ "outcome": outcome, "decision": decision });
        scene.refused(409, "outcomes/decision", &scene.ada, asked);
    };
    let state = |bars: &str, pumps: &str, repeats: u64| {
        [("bars", bars, repeats), ("pumps", pumps, 0)]
            .map(|(name, state, repeats)| (name.to_owned(), state.to_owned(), repeats))
    };
    propose("bars", "Valves are listed in bar.");
    propose("pumps", "Pumps are slow.");
    let proposed = listed();
    assert_eq!(proposed, state("proposed", "proposed", proposed[0].2));
    decide("accept", "bars");
    decide("reject", "pumps");
    let decided = listed();
    assert_eq!(decided, state("accepted", "rejected", decided[0].2));
    again("accept", "bars");
    again("accept", "pumps");
    again("withdraw", "pumps");
    let repeat = json!({ "outcome": "bars" });
    scene.refused(403, "outcomes/repeat", &scene.bob, repeat.clone());
    let counted = scene.post("outcomes/repeat", &scene.operator, repeat);
    scene.is_last(&counted);
    assert_eq!(listed(), state("accepted", "rejected", decided[0].2 + 1));
    decide("withdraw", "bars");
    assert_eq!(listed()[0].1, "withdrawn");
    again("withdraw", "bars");
    // Nothing of it compiles any more.
    let asked = json!({ "request": { "task": { "objective": "List the valves in bar." }, "budget": { "tokens": 900 } } });
    let told = scene.post("compile", &scene.operator, asked);
    assert!(
        !told["envelope"]["payload"].to_string().contains("Valves are listed"),
        "{told}"
    );
}
