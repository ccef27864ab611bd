//! Records of requests by their session, which the store's index finds.

use tenure::time::Instant;
use tenure_store::Tenant;
use tenure_store::engine::RecordRow;

use crate::common::Home;

on_both_engines!(the_records_of_a_session_are_found_without_the_others);

fn keep(acme: &Tenant, id: &str, at: i64, body: &str) {
    let row = RecordRow {
        id: id.to_owned(),
        compiled_at: Instant::from_micros(at),
        body: body.to_owned(),
        objects: Vec::new(),
    };
    acme.put_records(vec![row]).unwrap();
}

fn found(acme: &Tenant, session: &str, after: Option<(&str, i64)>, most: u32) -> Vec<String> {
    let after = after.map(|(id, at)| (id, Instant::from_micros(at)));
    let found = acme.records_of_session(session, after, most).unwrap();
    let found = found.unwrap().into_iter();
    found.map(|(id, _)| id).collect()
}

fn the_records_of_a_session_are_found_without_the_others(home: &Home) {
    let acme = home.tenant("acme");
    // A text that a cast to JSON would refuse on one engine is legal in a record.
    keep(
        &acme,
        "gw-1",
        1,
        r#"{"model":"\u0000","session":"talk","x":1}"#,
    );
    keep(&acme, "gw-2", 2, r#"{"session":"other"}"#);
    keep(&acme, "gw-3", 2, r#"{"session":"talk"}"#);
    keep(&acme, "gw-4", 3, r#"{"model":"\"session\":\"talk\""}"#);
    keep(&acme, "gw-5", 3, "cut off {\"sess");
    keep(&acme, "r-6", 4, r#"{"session":"talk"}"#);
    keep(&acme, "gw-7", 5, r#"{"session":"talk"}"#);
    let long = "ä".repeat(4_000);
    keep(&acme, "gw-8", 6, &format!(r#"{{"session":"{long}"}}"#));
    let other = home.tenant("other");
    keep(&other, "gw-9", 7, r#"{"session":"talk"}"#);

    assert_eq!(found(&acme, "talk", None, 9), ["gw-7", "gw-3", "gw-1"]);
    assert_eq!(found(&acme, "talk", None, 2), ["gw-7", "gw-3"]);
    assert_eq!(found(&acme, "talk", Some(("gw-3", 2)), 9), ["gw-1"]);
    assert_eq!(found(&acme, "talk", Some(("gw-2", 2)), 9), ["gw-3", "gw-1"]);
    assert_eq!(found(&acme, &long, None, 9), ["gw-8"]);
    // Names are compared whole, however much two of them share.
    for (id, end) in [("gw-a", "1"), ("gw-b", "2")] {
        keep(&acme, id, 6, &format!(r#"{{"session":"{long}{end}"}}"#));
    }
    assert_eq!(found(&acme, &long, None, 9), ["gw-8"]);
    assert_eq!(found(&acme, &format!("{long}2"), None, 9), ["gw-b"]);
    assert!(found(&acme, "nobody", None, 9).is_empty() && found(&acme, "", None, 9).is_empty());
    // What JSON writes with escapes has no index.
    for session in ["a\"b", "a\\b", "a\nb"] {
        assert_eq!(acme.records_of_session(session, None, 9).unwrap(), None);
    }
    // A record that says something else now is found by that.
    keep(&acme, "gw-3", 2, r#"{"session":"other"}"#);
    assert_eq!(found(&acme, "talk", None, 9), ["gw-7", "gw-1"]);
    assert_eq!(found(&acme, "other", None, 9), ["gw-2", "gw-3"]);
}
