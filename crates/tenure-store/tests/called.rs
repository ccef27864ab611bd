//! Names beside mail addresses in what is written: what an entity is called from then on.

use tenure::ObjectDocument;
use tenure::belief::entity::{EntityOp, Resolution, SeenEntity};
use tenure::object::{Authority, ObjectId};
use tenure_store::{Expect, Tenant, WriteNote, Writing, Written};

use crate::common::{Home, document, put};

on_both_engines!(
    a_name_beside_a_known_address_is_a_name,
    a_new_name_goes_with_its_source,
    a_new_name_acts_for_who_may_see_its_source,
    data_calls_nobody,
    an_address_is_an_id,
    a_shared_mailbox_gives_no_name,
    a_namesake_beside_another_address_is_asked_about_once,
    what_another_is_called_is_no_new_name,
    a_new_name_of_a_merged_one_stays_with_whom_it_was_given,
    what_was_written_before_is_resolved_again,
);

fn change(tenant: &Tenant, operations: &[&str]) {
    let operations = operations
        .iter()
        .map(|op| -> (EntityOp, Option<ObjectId>) { (serde_json::from_str(op).unwrap(), None) });
    tenant.change_entities(operations.collect(), &Writing::default()).unwrap();
}

const MEI: &str = r#"{"op": "create", "id": "mei", "name": "Mei Chen", "kind": "person", "metadata": {"mail": "mei@acme.example"}}"#;
const NOVA: &str = r#"{"op": "create", "id": "nova", "name": "Project Nova", "kind": "project"}"#;

fn entity(tenant: &Tenant, id: &str) -> SeenEntity {
    let mut all = tenant.entities(None).unwrap().into_iter();
    all.find(|one| one.id == id).unwrap()
}

fn aliases(tenant: &Tenant, id: &str) -> Vec<String> {
    entity(tenant, id).profile.aliases
}

/// The ids, or the names of what writes made, with whether it waits.
fn all(tenant: &Tenant) -> Vec<(String, bool)> {
    let all = tenant.entities(None).unwrap().into_iter();
    let told = all.map(|one| {
        let is_made = one.id.starts_with("e-");
        let called = if is_made { one.profile.name } else { one.id };
        (called, one.pending)
    });
    let mut told: Vec<_> = told.collect();
    told.sort();
    told
}

fn said(tenant: &Tenant, name: &str, text: &str) -> (Written, Option<WriteNote>) {
    let written = put(tenant, vec![document(name, text)]);
    let note = written.objects[0].note.clone();
    (written, note)
}

fn a_name_beside_a_known_address_is_a_name(home: &Home) {
    let acme = home.tenant("acme");
    change(&acme, &[MEI, NOVA]);
    // Before it is known, it is a question.
    let (_, note) = said(&acme, "a", "M. Chen asks for Project Nova.");
    assert_eq!(note, Some(WriteNote::EntityPending));
    let text = "M. Chen <mei@acme.example> leads Project Nova.";
    let (written, note) = said(&acme, "b", text);
    assert_eq!(note, None);
    assert_eq!(aliases(&acme, "mei"), ["M. Chen"]);
    assert_eq!(entity(&acme, "mei").relations[0].1, "nova");
    let history = acme.entity_history("mei").unwrap();
    let given = history.iter().find(|one| matches!(one.does, EntityOp::Alias { .. }));
    assert_eq!(given.unwrap().source, Some(written.objects[0].object_id));
    // Its address is no second mention of the same place, and nothing of its own.
    assert_eq!(all(&acme).len(), 3);
    // From then on it is bound, on other handles, too, and said once.
    let other = home.tenant("acme");
    let (_, note) = said(&other, "c", "M. Chen waits for Project Nova.");
    assert_eq!(note, None);
    let before = acme.entity_history("mei").unwrap().len();
    said(&other, "d", "m.  chen (mei@acme.example) again");
    assert_eq!(acme.entity_history("mei").unwrap().len(), before);
    let resident = acme.load().unwrap();
    let objects = resident.candidates().objects().iter();
    let mention = objects.filter(|one| resident.mentions(one).contains(&"mei".to_owned()));
    assert_eq!(mention.count(), 3);
    assert!(acme.check().unwrap().is_empty());
}

fn a_new_name_goes_with_its_source(home: &Home) {
    for how in 0..3 {
        let acme = home.tenant(&format!("acme{how}"));
        change(&acme, &[MEI]);
        let (written, _) = said(&acme, "a", "\"Chen, Mei\" <mei@acme.example> called.");
        assert_eq!(aliases(&acme, "mei"), ["Chen, Mei"]);
        let id = written.objects[0].object_id;
        let writing = Writing::default();
        match how {
            0 => acme.retract(id, Expect::Any, &writing).unwrap(),
            1 => acme.erase(vec![id], &writing).unwrap(),
            _ => acme.erase_subject("mei@acme.example", &writing).unwrap(),
        };
        if how < 2 {
            assert!(aliases(&acme, "mei").is_empty());
        }
        if how > 0 {
            let log = acme.entries_in("entities", 1..u64::MAX).unwrap();
            assert!(
                log.iter().all(|(_, line)| !line.contains("Chen, Mei")),
                "{log:?}"
            );
        }
        // Nothing of it is known from memory.
        let (_, note) = said(&acme, "b", "Chen, Mei called again.");
        assert_eq!(note.is_some(), how < 2);
        assert!(acme.check().unwrap().is_empty());
    }
}

fn a_new_name_acts_for_who_may_see_its_source(home: &Home) {
    let told = [true, false].map(|is_there| {
        let acme = home.tenant(if is_there { "with" } else { "without" });
        change(&acme, &[MEI, NOVA]);
        let of_boss = |name: &str, text: &str| ObjectDocument {
            user_id: Some("boss".into()),
            ..document(name, text)
        };
        if is_there {
            put(
                &acme,
                vec![
                    of_boss("h", "M. Chen <mei@acme.example> came."),
                    // Another one whom only the boss may know, who has her address and is called like her.
                    of_boss("i", "Mei-Lin Chen <mei.lin@globex.example> came."),
                ],
            );
        }
        let bob = |objects: &[std::sync::Arc<tenure::ContextObject>]| {
            let users = objects.iter().map(|one| one.revision().scope().user.clone());
            users.map(|user| user.is_none_or(|user| &*user == "bob")).collect()
        };
        let texts = [
            "M. Chen asks for Project Nova.",
            "Mei-Lin Chen <mei@acme.example> asks for Project Nova.",
            "Mei-Lin Chen waits.",
        ];
        for (at, text) in texts.iter().enumerate() {
            let user_id = Some("bob".to_owned());
            let said = ObjectDocument {
                user_id,
                ..document(&format!("t{at}"), text)
            };
            put(&acme, vec![said]);
        }
        let seen = acme.entities(Some(&bob)).unwrap().into_iter();
        let mut seen: Vec<_> = seen
            .map(|one| {
                (
                    one.profile.name,
                    one.profile.aliases,
                    one.pending,
                    one.candidates,
                )
            })
            .collect();
        seen.sort();
        seen
    });
    assert_eq!(told[0], told[1]);
    assert!(told[0].iter().any(|one| one.0 == "m. chen" && one.2));
    assert!(told[0].iter().any(|one| one.1 == ["Mei-Lin Chen"]));
}

fn data_calls_nobody(home: &Home) {
    let acme = home.tenant("acme");
    change(&acme, &[MEI, NOVA]);
    let page = ObjectDocument {
        authority_level: Some(Authority::Data),
        source_origin: Some("https://evil.example/p".into()),
        ..document("page", "M. Chen <mei@acme.example> leads Project Nova.")
    };
    let page = put(&acme, vec![page]).objects[0].object_id;
    let note = ObjectDocument {
        authority_level: Some(Authority::User),
        derived_from: vec![page],
        ..document("note", "M. Chen <mei@acme.example> leads Project Nova.")
    };
    put(&acme, vec![note]);
    // It is bound, and called nothing new.
    assert_eq!(entity(&acme, "mei").relations[0].1, "nova");
    assert!(aliases(&acme, "mei").is_empty());
    let (found, _) = acme.resolve_object(page).unwrap();
    assert!(found.iter().all(|one| one.resolved.alias.is_none()));
}

fn an_address_is_an_id(home: &Home) {
    let acme = home.tenant("acme");
    change(&acme, &[MEI, NOVA]);
    let (_, note) = said(&acme, "a", "Write to mei@acme.example about Project Nova.");
    assert_eq!(note, None);
    assert_eq!(entity(&acme, "mei").relations[0].1, "nova");
    assert!(aliases(&acme, "mei").is_empty());
    // Who is new is known by the address, in whatever form the first objects have it: one entity.
    let both = vec![
        document("b", "Ann Lee <ann.lee@acme.example> came."),
        document("c", "So says ann.lee@acme.example."),
    ];
    put(&acme, both);
    let made = |waits| ("ann.lee@acme.example".to_owned(), waits);
    let known = |id: &str| (id.to_owned(), false);
    assert_eq!(all(&acme), [made(false), known("mei"), known("nova")]);
    said(
        &acme,
        "d",
        "Ann Lee <ann.lee@acme.example> leads Project Nova.",
    );
    let seen = acme.entities(None).unwrap().into_iter();
    let mut named = seen.filter(|one| one.profile.name == made(false).0);
    assert_eq!(named.next().unwrap().profile.aliases, ["Ann Lee"]);
    // Two that have one address are a question.
    change(
        &acme,
        &[
            r#"{"op": "create", "id": "ann", "name": "Annabel Leigh", "kind": "person", "metadata": {"mail": "ann.lee@acme.example"}}"#,
        ],
    );
    let (_, note) = said(&acme, "e", "Write to ann.lee@acme.example.");
    assert_eq!(note, Some(WriteNote::EntityPending));
    let waits = acme.entities(None).unwrap().into_iter();
    let waits: Vec<SeenEntity> = waits.filter(|one| one.pending).collect();
    assert_eq!((waits.len(), waits[0].candidates.len()), (1, 2));
    assert!(acme.check().unwrap().is_empty());
}

fn a_shared_mailbox_gives_no_name(home: &Home) {
    let acme = home.tenant("acme");
    let liam = r#"{"op": "create", "id": "liam", "name": "Liam O'Connor", "kind": "person", "metadata": {"mail": "info@acme.example"}}"#;
    change(&acme, &[MEI, NOVA, liam]);
    let text = "Anna Kowalska <info@acme.example> leads Project Nova.";
    let (_, note) = said(&acme, "a", text);
    assert_eq!((note, all(&acme).len()), (None, 3));
    assert!(entity(&acme, "liam").relations.is_empty());
    // A known name beside the address of another one is asked about.
    let (_, note) = said(&acme, "b", "Mei Chen <info@acme.example> came.");
    assert_eq!(note, Some(WriteNote::EntityPending));
    // Letters that look like hers, too.
    let (_, note) = said(&acme, "c", "Mei Ch\u{435}n <mei@acme.example> came.");
    assert_eq!(note, Some(WriteNote::EntityPending));
    assert!(aliases(&acme, "mei").is_empty() && aliases(&acme, "liam").is_empty());
}

fn a_namesake_beside_another_address_is_asked_about_once(home: &Home) {
    let acme = home.tenant("acme");
    change(&acme, &[MEI, NOVA]);
    let of = |at: &str| format!("Mei Chen <mei@{at}.example> leads Project Nova.");
    for (name, at) in [("a", "globex"), ("b", "initech"), ("c", "globex")] {
        let (_, note) = said(&acme, name, &of(at));
        assert_eq!(note, Some(WriteNote::EntityPending), "{at}");
    }
    // Each address is a question of its own: an answer is about one of them.
    let waiting = |mail: &str| {
        let all = acme.entities(None).unwrap().into_iter();
        let mut all = all.filter(|one| one.pending);
        let found = all.find(|one| one.profile.metadata.mail.as_deref() == Some(mail));
        found.map(|one| (one.id, one.profile.name))
    };
    let (globex, name) = waiting("mei@globex.example").unwrap();
    let (initech, _) = waiting("mei@initech.example").unwrap();
    assert_eq!(name, "mei chen");
    assert_ne!(globex, initech);
    let confirm = format!(r#"{{"op": "confirm", "id": "{globex}"}}"#);
    let merge = format!(r#"{{"op": "merge", "id": "{initech}", "into": "mei"}}"#);
    change(&acme, &[&confirm, &merge]);
    assert_eq!(aliases(&acme, "mei"), ["mei chen", "mei@initech.example"]);
    // One is somebody else, and bound from now on; the other one is her, by both addresses.
    for (name, at, id) in [("d", "globex", &*globex), ("e", "initech", "mei")] {
        let (_, note) = said(&acme, name, &of(at));
        assert_eq!(note, None, "{at}");
        assert_eq!(entity(&acme, id).relations[0].1, "nova", "{at}");
    }
    assert!(aliases(&acme, &globex).is_empty());
}

fn what_another_is_called_is_no_new_name(home: &Home) {
    let acme = home.tenant("acme");
    let of = |id: &str, name: &str| {
        format!(
            r#"{{"op": "create", "id": "{id}", "name": "{name}", "kind": "person", "metadata": {{"mail": "{id}@acme.example"}}}}"#
        )
    };
    let said = |name: &str, id: &str| {
        let text = format!("M. Olsen <{id}@acme.example> came.");
        said(&acme, name, &text).1
    };
    change(&acme, &[&of("max", "Max Olsen")]);
    assert_eq!(
        (said("a", "max"), aliases(&acme, "max")),
        (None, vec!["M. Olsen".to_owned()])
    );
    change(&acme, &[&of("mia", "Mia Olsen")]);
    // Her address says who it is, and the name stays his.
    assert_eq!((said("b", "mia"), aliases(&acme, "mia")), (None, vec![]));
}

fn a_new_name_of_a_merged_one_stays_with_whom_it_was_given(home: &Home) {
    let acme = home.tenant("acme");
    let ada = r#"{"op": "create", "id": "ada", "name": "Ada Lovelace", "kind": "person"}"#;
    change(&acme, &[MEI, ada]);
    said(&acme, "a", "M. Chen <mei@acme.example> came.");
    change(&acme, &[r#"{"op": "merge", "id": "mei", "into": "ada"}"#]);
    let all = ["M. Chen", "Mei Chen", "mei@acme.example"];
    assert_eq!(aliases(&acme, "ada"), all);
    change(&acme, &[r#"{"op": "split", "id": "mei"}"#]);
    assert!(aliases(&acme, "ada").is_empty());
    assert_eq!(aliases(&acme, "mei"), ["M. Chen"]);
}

fn what_was_written_before_is_resolved_again(home: &Home) {
    let acme = home.tenant("acme");
    let of = |name: &str, text: &str| ObjectDocument {
        session_id: Some("s".into()),
        ..document(name, text)
    };
    let text = "M. Chen <mei@acme.example> leads Project Nova; see docs/plan.md and PLAN-7.";
    let id = put(&acme, vec![of("a", text)]).objects[0].object_id;
    change(&acme, &[MEI, NOVA]);
    let logs = || -> Vec<(String, u64)> {
        let logs = acme.logs().unwrap().into_iter();
        logs.filter(|(log, _)| log.starts_with("entities")).collect()
    };
    // What a write would find is told, and nothing is added.
    let before = logs();
    let (found, is_cut) = acme.resolve_object(id).unwrap();
    let told: Vec<(&str, Resolution, Option<&str>)> = found
        .iter()
        .map(|one| {
            (
                &*one.name,
                one.resolved.outcome,
                one.resolved.alias.as_deref(),
            )
        })
        .collect();
    let (bind, new) = (Resolution::Bind, Resolution::New);
    let expected = [
        ("m. chen", bind, Some("M. Chen")),
        ("project nova", bind, None),
        ("docs/plan.md", new, None),
        ("plan-7", new, None),
    ];
    assert_eq!((told.as_slice(), is_cut), (&expected[..], false));
    assert_eq!(logs(), before);
    let writing = Writing {
        author: Some("kim".into()),
        ..Writing::default()
    };
    let written = acme.resolve_again(id, &writing).unwrap();
    assert!(!written.nothing_changed);
    assert_eq!(aliases(&acme, "mei"), ["M. Chen"]);
    assert_eq!(entity(&acme, "mei").relations[0].1, "nova");
    let history = acme.entity_history("mei").unwrap();
    let last = history.last().unwrap();
    assert_eq!((last.by.as_deref(), last.source), (Some("kim"), Some(id)));
    let known: Vec<String> = all(&acme).into_iter().map(|one| one.0).collect();
    assert_eq!(known, ["mei", "nova", "plan-7"]);
    let resident = acme.load().unwrap();
    let object = &resident.candidates().objects()[0];
    assert_eq!(resident.mentions(object).len(), 3);
    // The session has spoken of her.
    let written = put(&acme, vec![of("b", "Ask Mei.")]);
    assert_eq!(written.objects[0].note, None);
    // What was new is known now, and stands beside the others. Then nothing changes any more.
    assert!(!acme.resolve_again(id, &writing).unwrap().nothing_changed);
    assert_eq!(entity(&acme, "mei").relations.len(), 1);
    let before = logs();
    assert!(acme.resolve_again(id, &writing).unwrap().nothing_changed);
    assert_eq!(logs(), before);
    put(&acme, vec![of("c", "Mei Chen came with Project Nova.")]);
    let before = logs();
    let id = acme.named("c").unwrap()[0];
    assert!(acme.resolve_again(id, &writing).unwrap().nothing_changed);
    assert_eq!(logs(), before);
    let missing = acme.resolve_again(ObjectId::from_bits(7), &writing);
    assert!(missing.unwrap_err().to_string().contains("there is no object"));
    // A tenant that knows nobody finds what it would make, and makes nothing.
    let empty = home.tenant("empty");
    let id = put(&empty, vec![document("a", text)]).objects[0].object_id;
    assert_eq!(empty.resolve_object(id).unwrap().0.len(), 3);
    assert!(empty.resolve_again(id, &writing).unwrap().nothing_changed);
    assert!(acme.check().unwrap().is_empty() && empty.check().unwrap().is_empty());
}
