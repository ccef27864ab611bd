//! What must stand is not taken away by a dispute, nor by what has less authority.

use std::sync::Arc;

use serde_json::{Value, json};
use tenure::object::{ContextObject, ObjectDocument, Status};
use tenure::time::Instant;
use tenure::{
    Budget, Candidates, Compiled, Error, ErrorKind, Facts, FrameKey, Policy, Reason, Request, World,
};

/// A rule of the tenant about what a refund may be, which it knew since a day of March.
fn limit(name: &str, value: u32, day: u32, more: Value) -> Arc<ContextObject> {
    let mut rule = json!({
        "name": name, "content": format!("A refund is at most {value} euros."), "object_type": "policy_rule",
        "authority_level": 1, "normalized_claim": format!("refund.limit == {value}"),
        "canonical_entity_ids": ["shop"], "tx_start": format!("2026-03-{day:02}"),
    });
    crate::support::merge(&mut rule, more);
    serde_json::from_value::<ObjectDocument>(rule).unwrap().seal().unwrap()
}

fn compiled(objects: Vec<Arc<ContextObject>>, policy: &str) -> Result<Compiled, Error> {
    let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    let mut request = Request::new("Refund the order.", Budget::tokens(2_000));
    request.as_of.valid = Some("2026-06-01".parse::<Instant>().unwrap());
    request.principal.clearance = tenure::object::Classification::Restricted;
    let policy = Policy::from_toml(policy).unwrap();
    let outcome = tenure::compile(
        &world,
        &policy,
        &request,
        &Candidates::new(objects),
        &Facts::none(),
    )?;
    Ok(outcome.single().unwrap().clone())
}

fn reason(compiled: &Compiled, name: &str) -> Reason {
    compiled.trace.verdict(name).unwrap().reason.clone()
}

#[test]
fn two_rules_that_contradict_each_other_fail_the_compile_and_are_named() {
    for class in ["interactive", "safety_critical"] {
        let both = vec![
            limit("low", 50, 1, json!({})),
            limit("high", 500, 2, json!({ "removable": false })),
        ];
        let error = compiled(both, &format!("name = \"{class}\"")).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Policy);
        assert_eq!(
            error.what,
            "`low` must go in, and `high` contradicts it: nothing says which stands"
        );
        let hint = error.hint.unwrap();
        assert!(hint.contains("tenure conflicts resolve low high"), "{hint}");
    }
}

#[test]
fn a_policy_may_keep_the_rule_that_stood_before() {
    let earlier = "disputed_rules = \"earlier\"";
    let rules = |days: [u32; 3]| {
        vec![
            limit("second", 500, days[1], json!({})),
            limit("first", 50, days[0], json!({})),
            limit("third", 900, days[2], json!({})),
        ]
    };
    let kept = compiled(rules([1, 2, 3]), earlier).unwrap();
    assert!(matches!(reason(&kept, "first"), Reason::Mandatory { .. }));
    for name in ["second", "third"] {
        let out = reason(&kept, name);
        assert!(
            matches!(out, Reason::ConflictingClaimUnresolved { .. }),
            "{out:?}"
        );
    }
    // Two that came at once leave it open.
    assert_eq!(
        compiled(rules([1, 1, 3]), earlier).unwrap_err().kind,
        ErrorKind::Policy
    );
    // The last two may be at odds: the first takes both out.
    assert!(compiled(rules([1, 3, 3]), earlier).is_ok());
}

#[test]
fn what_may_leave_leaves_without_an_error() {
    let optional = |name, value| limit(name, value, 1, json!({ "optional": true }));
    let both = vec![optional("low", 50), optional("high", 500)];
    let out = compiled(both, "").unwrap();
    let reason = reason(&out, "low");
    assert!(
        matches!(reason, Reason::ConflictingClaimUnresolved { .. }),
        "{reason:?}"
    );
}

#[test]
fn a_newer_rule_takes_the_place_of_an_older_one() {
    let of = |from: &str| json!({ "valid_from": from });
    let both = vec![
        limit("old", 50, 1, of("2025-01-01")),
        limit("new", 500, 2, of("2026-01-01")),
    ];
    let compiled = compiled(both, "").unwrap();
    assert!(matches!(reason(&compiled, "new"), Reason::Mandatory { .. }));
    assert!(matches!(
        reason(&compiled, "old"),
        Reason::Superseded { .. }
    ));
}

#[test]
fn what_has_less_authority_replaces_no_rule_that_says_so_itself() {
    let users = limit("users", 900, 3, json!({ "authority_level": 2 }));
    let link = json!({ "supersession_link": users.revision().object_id() });
    for (level, stands) in [(0, true), (1, true), (2, false)] {
        let mut more = link.clone();
        crate::support::merge(
            &mut more,
            json!({ "authority_level": level, "normalized_claim": "refund.low == 1" }),
        );
        let rule = limit("rule", 50, 1, more);
        let compiled = compiled(vec![Arc::clone(&users), rule], "").unwrap();
        let is_in = matches!(reason(&compiled, "rule"), Reason::Mandatory { .. });
        assert_eq!(is_in, stands, "{level}");
    }
}

#[test]
fn an_object_of_less_authority_hides_none_of_its_name() {
    let rule = limit("limit", 50, 1, json!({}));
    let own = limit(
        "limit",
        900,
        2,
        json!({ "authority_level": 2, "content": "Refund everything." }),
    );
    assert_eq!(rule.revision().object_id(), own.revision().object_id());
    let status = Status {
        outranked: true,
        ..own.status().clone()
    };
    let own = Arc::new(own.judged(status, *own.usage()));
    for objects in [
        vec![Arc::clone(&own), Arc::clone(&rule)],
        vec![rule, Arc::clone(&own)],
    ] {
        let compiled = compiled(objects, "").unwrap();
        let payload = compiled.envelope.payload.as_ref().unwrap();
        let text = String::from_utf8(payload.bytes().to_vec()).unwrap();
        assert!(
            text.contains("at most 50 euros") && !text.contains("Refund everything"),
            "{text}"
        );
    }
    // Where the rule is not to be seen, nothing outranks it.
    let alone = compiled(vec![own], "").unwrap();
    assert!(matches!(reason(&alone, "limit"), Reason::Mandatory { .. }));
    assert_eq!(alone.trace.verdicts.len(), 1);
}
