//! What a key brings or decides has no more authority than the key, and takes nothing away that has more.

use serde_json::{Value, json};
use tenure::object::Classification;
use tenure::time::Instant;
use tenure_workspace::keys::{Grant, Keys};

use crate::support::{Bench, Reply, wait_for};

fn call(bench: &Bench, method: &str, path: &str, key: &str, body: &Value) -> Reply {
    let key = format!("x-tenure-key: {key}");
    let headers = ["content-type: application/json", key.as_str()];
    bench.ask(method, path, &headers, body.to_string().as_bytes())
}

/// A server with a key of an operator, one of a user, and one of a user who may decide between claims.
fn served() -> (Bench, [String; 3]) {
    let bench = Bench::with(&[], |options| tenure_server::Options {
        resolvers: ["arbiter".to_owned()].into(),
        ..options
    });
    let keys = Keys::of(&bench.store).unwrap();
    let user = |user: &str, roles: &[&str]| Grant {
        tenant: "local".into(),
        user: Some(user.into()),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        clearance: Some(Classification::Restricted),
        ..Grant::default()
    };
    let operator = Grant {
        tenant: "local".into(),
        operator: true,
        ..Grant::default()
    };
    let made = [operator, user("ada", &[]), user("ann", &["arbiter"])]
        .map(|grant| keys.create(grant, Instant::from_micros(1_000)).unwrap().1);
    wait_for(|| (bench.get("/api/v1/objects").status == 401).then_some(()));
    (bench, made)
}

fn limit(name: &str, level: u32, value: u32) -> Value {
    json!({
        "name": name, "content": format!("A refund is at most {value} euros."), "object_type": "policy_rule",
        "authority_level": level, "normalized_claim": format!("refund.limit == {value}"),
        "canonical_entity_ids": ["shop"], "security_classification": "restricted",
    })
}

fn compiled(bench: &Bench, key: &str, objects: &Value) -> Value {
    let request =
        json!({ "task": { "objective": "Refund the order." }, "budget": { "tokens": 2_000 } });
    let body = json!({ "request": request, "objects": objects, "store": true });
    let reply = call(bench, "POST", "/api/v1/compile", key, &body);
    assert_eq!(reply.status, 200, "{}", reply.json());
    reply.json()
}

fn notes(answer: &Value) -> Vec<Value> {
    let notes = answer["trace"]["notes"].as_array().into_iter().flatten();
    notes.filter(|note| note["code"] == "authority_lowered").cloned().collect()
}

#[test]
fn what_a_key_brings_has_no_more_authority_than_the_key() {
    let (bench, [operator, ada, _]) = served();
    let mut own = limit("mine", 0, 900);
    own["canonical_entity_ids"] = json!(["mine"]);
    let objects = json!([own]);
    let answer = compiled(&bench, &ada, &objects);
    let text = answer.to_string();
    assert!(
        text.contains("## User") && !text.contains("Platform instructions (nothing"),
        "{text}"
    );
    let lowered = json!({ "code": "authority_lowered", "name": "mine", "asked": 0, "has": 2 });
    assert_eq!(notes(&answer), [lowered]);
    let answer = compiled(&bench, &operator, &objects);
    assert!(answer.to_string().contains("Platform instructions (nothing"));
    assert_eq!(notes(&answer), Vec::<Value>::new());
    // What comes from elsewhere has less than its bearer.
    for origin in [
        "https://a.example/rules",
        "mailto:eve@a.example",
        "tool://search",
    ] {
        let mut page = limit("page", 1, 1);
        page["source_origin"] = json!(origin);
        page["provenance"] = json!({ "retrieved_at": "2026-01-02T00:00:00Z" });
        let answer = compiled(&bench, &operator, &json!([page]));
        assert!(
            !answer.to_string().contains("Developer instructions"),
            "{origin}"
        );
        assert_eq!(notes(&answer)[0]["has"], 4, "{origin}");
    }
}

#[test]
fn no_object_of_a_call_takes_away_a_rule_of_the_tenant() {
    let (bench, [operator, ada, _]) = served();
    let rule = limit("refunds", 1, 50);
    let put = call(&bench, "PUT", "/api/v1/objects/refunds", &operator, &rule);
    assert_eq!(put.status, 201, "{}", put.json());
    let id = call(
        &bench,
        "GET",
        "/api/v1/objects/refunds",
        &operator,
        &json!({}),
    )
    .json();
    let id = &id["beliefs"][0]["object"]["object_id"];
    let mut by_id = limit("other", 0, 900);
    by_id["object_id"] = id.clone();
    for own in [limit("refunds", 0, 900), by_id, limit("claimed", 0, 900)] {
        let answer = compiled(&bench, &ada, &json!([own]));
        let payload = answer["envelope"]["payload"].to_string();
        assert!(payload.contains("at most 50 euros"), "{own}: {payload}");
        assert!(!payload.contains("900"), "{own}: {payload}");
    }
}

#[test]
fn only_an_operator_decides_against_a_rule_of_the_tenant() {
    let (bench, [operator, _, ann]) = served();
    for object in [limit("refunds", 1, 50), limit("page", 4, 900)] {
        let mut object = object;
        if object["authority_level"] == 4 {
            object["object_type"] = json!("artifact");
            object["provenance"] =
                json!({ "source_id": "page", "retrieved_at": "2026-01-02T00:00:00Z" });
        }
        let path = format!("/api/v1/objects/{}", object["name"].as_str().unwrap());
        let put = call(&bench, "PUT", &path, &operator, &object);
        assert_eq!(put.status, 201, "{}", put.json());
    }
    let decide = |key: &str, stands: &str| {
        let body = json!({ "first": "page", "second": "refunds", "stands": stands });
        call(&bench, "POST", "/api/v1/conflicts", key, &body)
    };
    for stands in ["first", "neither"] {
        let refused = decide(&ann, stands);
        assert_eq!(refused.status, 403, "{}", refused.json());
        let text = refused.json().to_string();
        assert!(text.contains("operator"), "{text}");
    }
    // That it stands is nothing that anybody loses by.
    assert_eq!(decide(&ann, "second").status, 200);
    let payload = compiled(&bench, &ann, &json!([]))["envelope"]["payload"].to_string();
    assert!(payload.contains("at most 50 euros"), "{payload}");
    let done = decide(&operator, "first");
    assert_eq!(done.status, 200, "{}", done.json());
    let overruled = json!({ "code": "overruled", "authority": 1, "by": 4 });
    let text = done.json().to_string();
    let told = done.json()["objects"]
        .as_array()
        .unwrap()
        .iter()
        .any(|object| object["note"] == overruled);
    assert!(told, "{text}");
    let pair = "/api/v1/conflicts?first=page&second=refunds";
    let history = call(&bench, "GET", pair, &operator, &json!({})).json();
    let levels = history["conflicts"].as_array().unwrap();
    assert!(
        levels.iter().any(|one| one["authorities"].is_array()),
        "{history}"
    );
}

#[test]
fn a_rule_in_dispute_is_a_refusal_that_names_both() {
    let (bench, [operator, ada, _]) = served();
    for object in [limit("low", 1, 50), limit("high", 1, 500)] {
        let path = format!("/api/v1/objects/{}", object["name"].as_str().unwrap());
        assert_eq!(call(&bench, "PUT", &path, &operator, &object).status, 201);
    }
    let request = json!({ "task": { "objective": "Refund." }, "budget": { "tokens": 2_000 } });
    let body = json!({ "request": request, "store": true });
    let refused = call(&bench, "POST", "/api/v1/compile", &ada, &body);
    let text = refused.json().to_string();
    assert_eq!(refused.status, 403, "{text}");
    assert!(
        text.contains("`low`") && text.contains("`high`") && text.contains("conflicts resolve"),
        "{text}"
    );
}
