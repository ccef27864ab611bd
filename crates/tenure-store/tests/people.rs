//! What is kept of a person, and what an erasure leaves of it, the same on both engines.

use crate::common::{Home, document, put, put_one};
use serde_json::{Value, json};
use tenure::object::ObjectId;
use tenure::time::Instant;
use tenure::{Digest, ErrorKind, ObjectDocument};
use tenure_store::engine::RecordRow;
use tenure_store::{Person, Place, Relation, Subject, Tenant, Writing};

on_both_engines!(
    everything_that_is_kept_of_a_person_is_listed,
    an_erasure_of_a_subject_leaves_what_is_theirs,
    an_erasure_of_a_person_leaves_nothing,
    a_person_leaves_the_registry_of_entities,
    nobody_is_not_erased,
    texts_that_others_name_stay,
    what_came_under_a_persons_key_is_theirs,
    a_session_that_others_spoke_in_is_nobodys,
    what_names_a_person_is_known_until_nothing_does,
);

fn quietly() -> Writing {
    Writing::default()
}

fn keep(tenant: &Tenant, id: &str, at: i64, body: &Value, objects: &[ObjectId]) {
    let record = RecordRow {
        id: id.into(),
        compiled_at: Instant::from_micros(at),
        body: body.to_string(),
        objects: objects.to_vec(),
    };
    tenant.put_records(vec![record]).unwrap();
}

fn asked_by(user: &str, says: &str) -> Value {
    json!({ "inputs": { "request": { "principal": { "user": user }, "task": says } } })
}

fn session(tenant: &Tenant, id: &str, user: Option<&str>, said: ObjectDocument) {
    let opened = json!({ "opened": { "id": id, "user": user } });
    let said = json!({ "said": { "objects": [said] } });
    let entries = vec![opened.to_string(), said.to_string()];
    let log = format!("session/{id}");
    tenant.append(&log, 0, entries).unwrap();
}

fn about(name: &str, content: &str, who: &str) -> ObjectDocument {
    ObjectDocument {
        subjects: vec![who.into()],
        ..document(name, content)
    }
}

fn of_user(name: &str, content: &str, who: &str) -> ObjectDocument {
    ObjectDocument {
        user_id: Some(who.into()),
        ..document(name, content)
    }
}

/// Ada in every place where a tenant may keep something of her, and Bob beside her.
fn peopled(home: &Home) -> (Tenant, ObjectId) {
    let acme = home.tenant("acme");
    let note = about("note", "Ada is allergic to penicillin.", "ada");
    let note = put(&acme, vec![note]).objects[0].object_id;
    let derived = ObjectDocument {
        derived_from: vec![note],
        ..document("summary", "Someone is allergic.")
    };
    let own = of_user("taste", "I like short answers, please.", "ada");
    let others = of_user("manner", "I like long answers, please.", "bob");
    put(&acme, vec![derived, own, others]);
    let block = of_user("scratch", "A thought of mine, for later.", "ada");
    let op = json!({ "op": "write", "object": block });
    let block = ObjectDocument {
        derived_from: vec![note],
        ..document("digest", "Of a note on an allergy.")
    };
    let made = json!({ "op": "write", "object": block });
    acme.append("registry/main", 0, vec![op.to_string(), made.to_string()]).unwrap();
    let ill = document("hers-2", "My knee hurts when it rains.");
    session(&acme, "hers", Some("ada"), ill);
    session(&acme, "his", Some("bob"), document("his-2", "Good day."));
    let told = about("nobodys-2", "Ada lives in the blue house.", "ada");
    session(&acme, "nobodys", None, told);
    keep(&acme, "asked", 5, &asked_by("ada", "my knee"), &[]);
    keep(&acme, "other", 6, &asked_by("bob", "the weather"), &[]);
    keep(&acme, "listed", 7, &asked_by("bob", "Ada"), &[note]);
    keep(&acme, "gw-1", 8, &json!({ "session": "hers" }), &[]);
    let relayed = json!({ "compile": { "request": { "principal": { "user": "ada" } } } });
    keep(&acme, "gw-2", 9, &relayed, &[]);
    (acme, note)
}

/// The names of the objects, and the ids of the sessions and the records, with their relations.
fn listed(person: &Person) -> Vec<(String, Relation)> {
    let objects = person.objects.iter();
    let objects = objects.map(|object| (object.name.clone().unwrap_or_default(), object.relation));
    let sessions = person.sessions.iter();
    let sessions = sessions.map(|session| (session.id.clone(), session.relation));
    let records = person.records.iter();
    let records = records.map(|record| (record.record_id.clone(), record.relation));
    let mut all: Vec<_> = objects.chain(sessions).chain(records).collect();
    all.sort();
    all
}

fn everything_that_is_kept_of_a_person_is_listed(home: &Home) {
    let (acme, note) = peopled(home);
    let known = acme.person("ada").unwrap();
    let expected = [
        ("asked", Relation::User),
        ("digest", Relation::Derived),
        ("gw-1", Relation::User),
        ("gw-2", Relation::User),
        ("hers", Relation::User),
        ("listed", Relation::Subject),
        ("nobodys", Relation::Subject),
        ("nobodys-2", Relation::Subject),
        ("note", Relation::Subject),
        ("scratch", Relation::User),
        ("summary", Relation::Subject),
        ("taste", Relation::User),
    ];
    let expected = expected.map(|(name, relation)| (name.to_owned(), relation));
    assert_eq!(listed(&known), expected);
    assert!(known.objects.iter().any(|object| object.object_id == note));
    assert!(acme.person("eve").unwrap().is_unknown());
    assert!(home.tenant("other").person("ada").unwrap().is_unknown());
}

fn an_erasure_of_a_subject_leaves_what_is_theirs(home: &Home) {
    let (acme, _) = peopled(home);
    let before = acme.person("ada").unwrap();
    let erased = acme.erase_subject("ada", &quietly()).unwrap();
    assert_eq!(erased.objects.len(), 4);
    let left = acme.person("ada").unwrap();
    assert_eq!(listed(&left), listed(&before.own()));
    // She is known still, by what is hers.
    assert!(acme.erase_subject("ada", &quietly()).is_ok());
}

fn a_person_leaves_the_registry_of_entities(home: &Home) {
    let acme = home.tenant("acme");
    let change = |operations: &[&str]| {
        let operations = operations.iter();
        let operations = operations.map(|op| (serde_json::from_str(op).unwrap(), None));
        acme.change_entities(operations.collect(), &quietly()).unwrap();
    };
    change(&[
        r#"{"op": "create", "id": "e-7", "name": "Ada Lovelace", "kind": "person", "metadata": {"mail": "Ada@acme.example"}}"#,
        r#"{"op": "create", "id": "nova", "name": "Project Nova", "kind": "project"}"#,
        r#"{"op": "create", "id": "ada@acme.example", "name": "ADA", "kind": "project"}"#,
        r#"{"op": "create", "id": "countess", "name": "The Countess"}"#,
        r#"{"op": "merge", "id": "countess", "into": "e-7"}"#,
        r#"{"op": "relate", "id": "nova", "relation": "cross_reference", "to": "e-7"}"#,
        r#"{"op": "alias", "id": "nova", "alias": "Nova"}"#,
    ]);
    put(&acme, vec![document("note", "Ask Lovelace.")]);
    let known = acme.person("ada@acme.example").unwrap();
    assert_eq!(known.entities, ["countess", "e-7"]);
    assert!(acme.person("nova").unwrap().is_unknown());
    acme.erase_subject("ada@acme.example", &quietly()).unwrap();
    assert!(acme.person("ada@acme.example").unwrap().is_unknown());
    let left = acme.entities(None).unwrap();
    let left: Vec<_> = left.iter().map(|one| (&*one.id, &*one.profile.aliases)).collect();
    assert_eq!(
        left,
        [
            ("ada@acme.example", &[][..]),
            ("nova", &["Nova".to_owned()][..])
        ]
    );
    for id in ["e-7", "countess"] {
        let gone = acme.entity_history(id).unwrap_err();
        assert_eq!(gone.kind, tenure::ErrorKind::NotFound, "{gone}");
    }
    // A write does not know them from memory, either.
    let written = put(
        &acme,
        vec![document("again", "Ask Lovelace for Ada Lovelace.")],
    );
    assert_eq!(written.objects[0].note, None);
    assert!(acme.check().unwrap().is_empty());
}

fn an_erasure_of_a_person_leaves_nothing(home: &Home) {
    let (acme, _) = peopled(home);
    let sent = json!({ "name": "sent", "content": "The knee of Ada, in her words." }).to_string();
    let original = b"The knee of Ada, in her words.".to_vec();
    let texts = vec![sent.into_bytes(), original, b"another".to_vec()];
    let texts = acme.put_blobs(texts).unwrap();
    let mut asked = asked_by("ada", "my knee");
    asked["inputs"]["sources"] = json!([{ "object": texts[0] }]);
    keep(&acme, "asked", 5, &asked, &[]);

    acme.erase_person("ada", &quietly()).unwrap();
    assert!(acme.person("ada").unwrap().is_unknown());
    let again = acme.erase_person("ada", &quietly()).unwrap_err();
    assert_eq!(again.kind, ErrorKind::NotFound);
    let logs: Vec<String> = acme.logs().unwrap().into_iter().map(|log| log.0).collect();
    assert_eq!(logs, ["registry/main", "session/his", "session/nobodys"]);
    let records = acme.records(9).unwrap().into_iter();
    let records: Vec<String> = records.map(|record| record.0).collect();
    assert_eq!(records, ["listed", "other"]);
    assert_eq!(acme.blobs().unwrap(), [Digest::of(b"another")]);
    let entries: Vec<_> = logs.iter().map(|log| acme.entries(log, 0).unwrap()).collect();
    let left = format!("{entries:?}");
    for word in [
        "penicillin",
        "knee",
        "blue house",
        "short answers",
        "thought of mine",
    ] {
        assert!(!left.contains(word), "{word}: {left}");
    }
    assert_eq!(acme.named("manner").unwrap().len(), 1);
    assert_eq!(listed(&acme.person("bob").unwrap()).len(), 4);
    // No session begins under that id again.
    let begun = acme.append("session/hers", 0, vec!["{}".into()]);
    assert_eq!(begun.unwrap_err().kind, ErrorKind::Policy);
}

fn nobody_is_not_erased(home: &Home) {
    let acme = home.tenant("acme");
    for _ in 0..2 {
        let version = acme.version().unwrap();
        for erased in [
            acme.erase_subject("eve", &quietly()),
            acme.erase_person("eve", &quietly()),
        ] {
            let error = erased.unwrap_err();
            assert_eq!(error.kind, ErrorKind::NotFound);
            assert!(error.what.contains("`eve`"), "{error}");
        }
        assert_eq!(acme.version().unwrap(), version);
        put_one(&acme, "limit", "At most 10 kW.");
    }
}

fn texts_that_others_name_stay(home: &Home) {
    let acme = home.tenant("acme");
    let policy = serde_json::to_vec(tenure::Policy::preset("standard").unwrap().document());
    let texts = vec![b"rules for all".to_vec(), b"hers".to_vec(), policy.unwrap()];
    let texts = acme.put_blobs(texts).unwrap();
    for user in ["ada", "bob"] {
        let mut asked = asked_by(user, "Why?");
        asked["inputs"]["sources"] = json!([{ "object": texts[0] }]);
        asked["inputs"]["policy"] = json!(texts[2]);
        if user == "ada" {
            asked["inputs"]["template"] = json!([texts[1], null]);
        }
        keep(&acme, user, 5, &asked, &[]);
    }
    put_one(&acme, "limit", "At most 10 kW.");
    acme.erase_person("ada", &quietly()).unwrap();
    let left = texts.iter().map(|text| acme.blob(*text).unwrap().is_some());
    assert_eq!(left.collect::<Vec<_>>(), [true, false, true]);
    acme.erase_person("bob", &quietly()).unwrap();
    let left = texts.iter().map(|text| acme.blob(*text).unwrap().is_some());
    assert_eq!(left.collect::<Vec<_>>(), [false, false, true]);
}

fn ada(keys: &[&str]) -> Subject {
    Subject {
        name: "ada".into(),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
    }
}

fn what_came_under_a_persons_key_is_theirs(home: &Home) {
    let acme = home.tenant("acme");
    session(
        &acme,
        "s1",
        None,
        document("s1-2", "My knee hurts when it rains."),
    );
    session(
        &acme,
        "s2",
        Some("ada"),
        document("s2-2", "It hurts still."),
    );
    // Records of a time when they said no user, and those that say one.
    keep(
        &acme,
        "gw-1",
        1,
        &json!({ "session": "s1", "key": "k1" }),
        &[],
    );
    keep(&acme, "gw-2", 2, &json!({ "key": "k1" }), &[]);
    keep(
        &acme,
        "gw-3",
        3,
        &json!({ "key": "gone", "user": "ada" }),
        &[],
    );
    keep(
        &acme,
        "gw-4",
        4,
        &json!({ "key": "k2", "user": "bob" }),
        &[],
    );
    // A key says less than the user that a record names.
    keep(
        &acme,
        "gw-5",
        5,
        &json!({ "key": "k1", "user": "bob" }),
        &[],
    );
    let without = acme.person("ada").unwrap();
    let expected = [("gw-3", Relation::User), ("s2", Relation::User)];
    let owned = |list: &[(&str, Relation)]| -> Vec<(String, Relation)> {
        list.iter().map(|(name, of)| ((*name).to_owned(), *of)).collect()
    };
    assert_eq!(listed(&without), owned(&expected));
    assert_eq!(without.ownerless_sessions, 1);
    let known = acme.person(ada(&["k1"])).unwrap();
    let expected = ["gw-1", "gw-2", "gw-3", "s1", "s2"].map(|name| (name, Relation::User));
    assert_eq!(listed(&known), owned(&expected));
    assert_eq!(known.ownerless_sessions, 0);
    assert_eq!(known.mentions.len(), 1);
    assert_eq!(
        (known.mentions[0].place, &*known.mentions[0].id),
        (Place::Key, "k1")
    );

    acme.erase_person(ada(&["k1"]), &quietly()).unwrap();
    let records = acme.records(9).unwrap().into_iter();
    let records: Vec<String> = records.map(|record| record.0).collect();
    assert_eq!(records, ["gw-5", "gw-4"]);
    assert!(acme.logs().unwrap().is_empty());
    // Her key speaks for her still, so she is not unknown.
    let left = acme.person(ada(&["k1"])).unwrap();
    assert!(left.has_nothing() && !left.is_unknown());
    assert!(acme.erase_person(ada(&["k1"]), &quietly()).is_ok());
    assert!(acme.person("ada").unwrap().is_unknown());
}

fn a_session_that_others_spoke_in_is_nobodys(home: &Home) {
    let acme = home.tenant("acme");
    session(
        &acme,
        "shared",
        None,
        document("said", "Good day to all of you."),
    );
    keep(
        &acme,
        "gw-1",
        1,
        &json!({ "session": "shared", "key": "k1" }),
        &[],
    );
    keep(
        &acme,
        "gw-2",
        2,
        &json!({ "session": "shared", "key": "k2" }),
        &[],
    );
    let known = acme.person(ada(&["k1"])).unwrap();
    assert!(known.sessions.is_empty());
    assert_eq!(known.ownerless_sessions, 1);
    acme.erase_person(ada(&["k1"]), &quietly()).unwrap();
    let left = acme.person(ada(&["k1"])).unwrap();
    assert_eq!((left.records.len(), left.ownerless_sessions), (0, 1));
    assert_eq!(acme.entries("session/shared", 0).unwrap().len(), 2);
}

fn what_names_a_person_is_known_until_nothing_does(home: &Home) {
    let acme = home.tenant("acme");
    let block = of_user("scratch", "A thought of mine, for later.", "ada");
    let wrote = json!({ "op": "write", "object": block });
    let decided = json!({ "op": "note", "by": "ada" });
    acme.append("registry/main", 0, vec![wrote.to_string()]).unwrap();
    acme.append("judged", 0, vec![decided.to_string()]).unwrap();
    let tagged = ObjectDocument {
        tags: vec!["ada".into()],
        ..document("team", "Those who keep the boiler warm.")
    };
    put(&acme, vec![tagged]);
    keep(&acme, "other", 6, &asked_by("bob", "ada"), &[]);
    let places = |person: &Person| -> Vec<Place> {
        person.mentions.iter().map(|mention| mention.place).collect()
    };
    let known = acme.person("ada").unwrap();
    assert_eq!(places(&known), [Place::Log, Place::Object, Place::Record]);
    assert_eq!(known.mentions[0].id, "judged");
    acme.erase_person("ada", &quietly()).unwrap();
    let left = acme.person("ada").unwrap();
    assert!(left.has_nothing() && !left.is_unknown());
    assert_eq!(places(&left), places(&known));
    // The stand-in for what was hers is a user's still, and does not say whose.
    let entries = acme.entries("registry/main", 0).unwrap();
    let entries = format!("{entries:?}");
    assert!(
        entries.contains("user_id") && !entries.contains("ada"),
        "{entries}"
    );
    assert!(acme.check().unwrap().is_empty());
}
