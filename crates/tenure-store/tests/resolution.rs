//! Mentions in what is written are resolved in the same write.

use tenure::ObjectDocument;
use tenure::belief::entity::{EntityOp, Profile, RelationType, Resolution};
use tenure::num::Score;
use tenure::object::{Authority, Classification, ObjectId};
use tenure_store::{Expect, Outcome, Tenant, WriteNote, Writing};

use crate::common::{Home, document, put};

on_both_engines!(
    a_tenant_without_entities_gets_none,
    what_is_written_is_bound_waits_or_is_new,
    what_a_document_calls_an_entity_is_a_name_of_it,
    what_came_from_an_erased_object_is_gone,
    a_write_that_fails_adds_nothing,
    a_text_full_of_mentions_adds_few_and_says_so,
    the_registry_is_read_with_the_beliefs,
    what_a_session_spoke_of_is_a_candidate,
    the_weights_are_those_of_the_tenants_policy,
    a_write_decides_by_the_weights_of_the_policy,
    look_alike_letters_bind_nothing_by_themselves,
    the_hidden_changes_nothing_of_what_is_added,
    names_of_data_and_of_what_is_retracted_are_none,
    a_question_of_two_circles_is_asked_of_both,
    what_data_says_by_another_is_no_name,
    a_whole_name_of_several_words_is_bound_in_a_plain_note,
    memory_of_one_site_names_nothing_for_another,
    what_texts_mention_is_known_with_the_beliefs,
    an_erased_person_is_in_no_log_of_what_was_spoken,
);

fn operation(op: &str) -> (EntityOp, Option<ObjectId>) {
    (serde_json::from_str(op).unwrap(), None)
}

fn change(tenant: &Tenant, operations: &[&str]) {
    let operations = operations.iter().map(|op| operation(op)).collect();
    tenant.change_entities(operations, &Writing::default()).unwrap();
}

/// The entities: id, or name where it was made by a write, with the other names, and whether it waits.
fn entities(tenant: &Tenant) -> Vec<(String, Vec<String>, bool)> {
    let all = tenant.entities(None).unwrap().into_iter();
    let told = all.map(|one| {
        let is_made = one.id.starts_with("e-");
        let id = if is_made {
            one.profile.name.clone()
        } else {
            one.id
        };
        (id, one.profile.aliases, one.pending)
    });
    let mut told: Vec<_> = told.collect();
    told.sort();
    told
}

fn named(id: &str, aliases: &[&str], pending: bool) -> (String, Vec<String>, bool) {
    let aliases = aliases.iter().map(|alias| (*alias).to_owned());
    (id.into(), aliases.collect(), pending)
}

fn a_tenant_without_entities_gets_none(home: &Home) {
    let acme = home.tenant("acme");
    put(
        &acme,
        vec![document("a", "ann.lee@acme.example asked for OPS-12.")],
    );
    assert_eq!(entities(&acme), []);
}

fn what_is_written_is_bound_waits_or_is_new(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[
            r#"{"op": "create", "id": "nova", "name": "Project Nova", "kind": "project"}"#,
            r#"{"op": "create", "id": "chen-1", "name": "Mei Chen", "kind": "person"}"#,
            r#"{"op": "create", "id": "chen-2", "name": "Mei Chen", "kind": "person"}"#,
        ],
    );
    let text = "Mei Chen leads Project Nova; ask ann.lee@acme.example about OPS-12.";
    let written = put(&acme, vec![document("a", text)]);
    assert_eq!(written.objects[0].note, Some(WriteNote::EntityPending));
    let all = [
        named("ann.lee@acme.example", &[], false),
        named("chen-1", &[], false),
        named("chen-2", &[], false),
        named("mei chen", &[], true),
        named("nova", &[], false),
        named("ops-12", &[], false),
    ];
    assert_eq!(entities(&acme), all);
    // The same again, and by another handle, changes nothing.
    let again = put(&acme, vec![document("a", text)]);
    assert_eq!(again.objects[0].outcome, Outcome::Unchanged);
    put(&home.tenant("acme"), vec![document("b", text)]);
    assert_eq!(entities(&acme), all);
    // What is bound in one object belongs together.
    put(&acme, vec![document("c", "Project Nova waits for OPS-12.")]);
    let seen = acme.entities(None).unwrap();
    let nova = seen.iter().flat_map(|one| one.relations.iter().map(move |to| (&one.id, to)));
    let related: Vec<_> = nova.collect();
    assert_eq!(related.len(), 3, "{related:?}");
    assert!(related.iter().all(|(_, to)| to.0 == RelationType::CrossReference));
    assert!(acme.check().unwrap().is_empty());
}

fn what_a_document_calls_an_entity_is_a_name_of_it(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[r#"{"op": "create", "id": "nova", "name": "Project Nova"}"#],
    );
    let long = "x".repeat(8_000);
    let renamed = ObjectDocument {
        canonical_entity_ids: vec!["nova".into()],
        aliases: vec!["Helix".into(), "Project  NOVA".into(), "h".into(), long],
        ..document("renaming", "It has another name now.")
    };
    let source = put(&acme, vec![renamed]).objects[0].object_id;
    assert_eq!(entities(&acme), [named("nova", &["Helix"], false)]);
    // The name acts only for who may see the object that it came from.
    let nobody = |objects: &[std::sync::Arc<tenure::ContextObject>]| vec![false; objects.len()];
    let seen = acme.entities(Some(&nobody)).unwrap();
    assert!(seen[0].profile.aliases.is_empty());
    let history = acme.entity_history("nova").unwrap();
    assert_eq!(history[1].source, Some(source));
}

fn what_came_from_an_erased_object_is_gone(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[r#"{"op": "create", "id": "nova", "name": "Project Nova"}"#],
    );
    let written = put(
        &acme,
        vec![document("a", "Ask ann.lee@acme.example of Project Nova.")],
    );
    assert_eq!(entities(&acme).len(), 2);
    acme.erase(vec![written.objects[0].object_id], &Writing::default()).unwrap();
    assert_eq!(entities(&acme), [named("nova", &[], false)]);
    // A write does not know it from memory, either.
    put(
        &acme,
        vec![document("b", "Ask ann.lee@acme.example again.")],
    );
    assert_eq!(entities(&acme).len(), 2);
    assert!(acme.check().unwrap().is_empty());
}

fn a_write_that_fails_adds_nothing(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[r#"{"op": "create", "id": "nova", "name": "Project Nova"}"#],
    );
    let absent = |name: &str, text: &str| tenure_store::Put {
        document: document(name, text),
        expect: Expect::Absent,
    };
    put(&acme, vec![document("a", "Nothing.")]);
    let puts = vec![absent("b", "Ask ann.lee@acme.example."), absent("a", "x")];
    acme.put(puts, &Writing::default()).unwrap_err();
    assert_eq!(entities(&acme), [named("nova", &[], false)]);
    put(&acme, vec![document("b", "Ask ann.lee@acme.example.")]);
    assert_eq!(entities(&acme).len(), 2);
}

fn a_text_full_of_mentions_adds_few_and_says_so(home: &Home) {
    let acme = home.tenant("acme");
    let (nova, helix) = (
        r#"{"op": "create", "id": "nova", "name": "Project Nova"}"#,
        r#"{"op": "create", "id": "helix", "name": "Project Helix"}"#,
    );
    change(&acme, &[nova, helix]);
    let many = |count: u32| -> String { (0..count).map(|at| format!("OPS-{at} ")).collect() };
    let note = |name: &str, text: &str| {
        let written = put(&acme, vec![document(name, text)]);
        written.objects[0].note.clone()
    };
    // As many as there is room for: nothing is left out, and nothing said.
    assert_eq!(note("few", &many(64)), None);
    assert_eq!(entities(&acme).len(), 2 + 64);
    // Those that are known already need no room.
    assert_eq!(note("same", &many(64)), None);
    assert_eq!(note("more", &many(64 + 65)), Some(WriteNote::MentionsCut));
    assert_eq!(entities(&acme).len(), 2 + 128);
    // Written again in parts, nothing is lost.
    assert_eq!(note("rest", "OPS-128 is the last."), None);
    assert_eq!(entities(&acme).len(), 2 + 129);
    // However many there are, it takes a moment and adds few.
    let began = std::time::Instant::now();
    let text = many(20_000);
    let cut = note("all", &text);
    let took = began.elapsed();
    assert_eq!(cut, Some(WriteNote::MentionsCut));
    assert_eq!(entities(&acme).len(), 2 + 129 + 64);
    // The text of one that is longer than a write looks at is said, too, though all that it names is known.
    let long = format!("Project Helix {}", "-".repeat(1 << 20));
    assert_eq!(note("long", &long), Some(WriteNote::MentionsCut));
    assert!(took.as_secs() < 120, "{took:?}");
    assert!(acme.check().unwrap().is_empty());
}

fn the_registry_is_read_with_the_beliefs(home: &Home) {
    let acme = home.tenant("acme");
    put(&acme, vec![document("a", "It is there.")]);
    let before = std::sync::Arc::new(acme.load().unwrap());
    assert!(before.entities().is_empty());
    let desk = r#"{"op": "create", "id": "desk", "name": "Desk"}"#;
    let table = r#"{"op": "create", "id": "table", "name": "Table", "pending": true}"#;
    change(&acme, &[desk, table]);
    let made = acme.refresh(&before).unwrap();
    let all = |_| true;
    let of = |resident: &tenure_store::Resident| {
        let identity = resident.entities().identity("table", &all)?;
        Some((identity.means, identity.pending))
    };
    assert_eq!(of(&made), Some((None, true)));
    let at = acme.written(acme.version().unwrap()).unwrap().unwrap().at;
    change(
        &acme,
        &[r#"{"op": "merge", "id": "table", "into": "desk"}"#],
    );
    let merged = acme.refresh(&made).unwrap();
    assert_eq!(of(&merged), Some((Some("desk".into()), false)));
    assert_eq!(of(&acme.load().unwrap()), of(&merged));
    // Who looks back finds what was known then.
    assert_eq!(of(&acme.load_as_of(at).unwrap()), Some((None, true)));
    change(&acme, &[r#"{"op": "split", "id": "table"}"#]);
    let split = acme.refresh(&merged).unwrap();
    assert_eq!(of(&split), Some((None, true)));
    // What came from an erased object is gone from what is known, too.
    let written = put(&acme, vec![document("b", "Tables are desks.")]);
    let id = written.objects[0].object_id;
    let merge = operation(r#"{"op": "merge", "id": "table", "into": "desk"}"#);
    acme.change_entities(vec![(merge.0, Some(id))], &Writing::default()).unwrap();
    let merged = acme.refresh(&split).unwrap();
    assert_eq!(of(&merged), Some((Some("desk".into()), false)));
    acme.erase(vec![id], &Writing::default()).unwrap();
    let erased = acme.refresh(&merged).unwrap();
    assert_eq!(of(&erased), Some((None, true)));
}

fn bound(tenant: &Tenant, id: &str) -> Vec<String> {
    let seen = tenant.entities(None).unwrap();
    let one = seen.into_iter().find(|one| one.id == id).unwrap();
    one.relations.into_iter().map(|(_, to)| to).collect()
}

fn what_a_session_spoke_of_is_a_candidate(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[
            r#"{"op": "create", "id": "mei", "name": "Mei Chen", "kind": "person"}"#,
            r#"{"op": "alias", "id": "mei", "alias": "Mei"}"#,
            r#"{"op": "create", "id": "nova", "name": "Project Nova", "kind": "project"}"#,
        ],
    );
    let of = |name: &str, session: &str, text: &str| ObjectDocument {
        session_id: Some(session.into()),
        ..document(name, text)
    };
    // A first name alone waits, whatever else is said; behind the whole name in the same session it is bound.
    put(&acme, vec![of("a", "s1", "Mei asks for Project Nova.")]);
    let waiting = |tenant: &Tenant| {
        let all = tenant.entities(None).unwrap().into_iter();
        all.filter(|one| one.pending).count()
    };
    assert_eq!((waiting(&acme), bound(&acme, "mei")), (1, vec![]));
    put(&acme, vec![of("b", "s2", "Mei Chen has the floor.")]);
    // Another handle, as another node has one.
    let other = home.tenant("acme");
    let written = put(&other, vec![of("c", "s2", "Mei asks for Project Nova.")]);
    assert_eq!(written.objects[0].note, None);
    assert_eq!(bound(&acme, "mei"), ["nova"]);
    // So does what stands before it in one write; another session knows nothing of it.
    change(
        &acme,
        &[r#"{"op": "create", "id": "helix", "name": "Project Helix", "kind": "project"}"#],
    );
    let written = put(
        &acme,
        vec![
            of("d", "s3", "Mei Chen came back."),
            of("e", "s3", "Mei likes Project Helix."),
            of("f", "s4", "Mei likes Project Helix."),
        ],
    );
    let notes: Vec<_> = written.objects.iter().map(|one| one.note.clone()).collect();
    assert_eq!(notes[..2], [None, None]);
    assert_eq!(bound(&acme, "helix").len() + bound(&acme, "mei").len(), 2);
    // A part of a name that nothing else calls by is a question once, and none where its session has said who.
    change(
        &acme,
        &[r#"{"op": "create", "id": "ada", "name": "Ada Lovelace", "kind": "person"}"#],
    );
    let questions = waiting(&acme);
    let asked = put(
        &acme,
        vec![
            document("h", "Ask Ada for Project Nova."),
            document("i", "Ada owns Project Nova."),
            of("j", "s7", "Ada Lovelace has come."),
            of("k", "s7", "We ask Ada for Project Helix."),
        ],
    );
    let notes = asked.objects.iter().map(|one| one.note.is_some());
    assert_eq!(notes.collect::<Vec<_>>(), [true, true, false, false]);
    assert_eq!(waiting(&acme), questions + 1);
    assert_eq!(bound(&acme, "ada"), ["helix"]);
    // What a person has answered is no question again, where there is nobody else whom it may mean.
    let pending = |name: &str| {
        let all = acme.entities(None).unwrap().into_iter();
        let mut all = all.filter(|one| one.pending && one.profile.name == name);
        all.next().unwrap().id
    };
    let merge = format!(
        r#"{{"op": "merge", "id": "{}", "into": "ada"}}"#,
        pending("ada")
    );
    change(&acme, &[&merge]);
    put(&acme, vec![of("l", "s8", "Ask Ada for Project Nova.")]);
    let asked = put(
        &acme,
        vec![of("m", "s9", "Ask Ada for Project Nova again.")],
    );
    assert_eq!(asked.objects[0].note, None);
    assert_eq!(bound(&acme, "ada"), ["helix", "nova"]);
    // What was erased is no reference any more.
    acme.erase(
        written.objects.iter().map(|one| one.object_id).collect(),
        &Writing::default(),
    )
    .unwrap();
    let written = put(&acme, vec![of("g", "s3", "Mei likes Project Nova.")]);
    assert_ne!(written.objects[0].outcome, Outcome::Unchanged);
    assert!(acme.check().unwrap().is_empty());
}

fn the_weights_are_those_of_the_tenants_policy(home: &Home) {
    let acme = home.tenant("acme");
    assert_eq!(acme.entity_weights().unwrap(), Default::default());
    let own = r#"{"lexical": 0.1, "kind": 0.9, "scope": 0.0, "metadata": 0.0, "neighbourhood": 0.0, "source": 0.0}"#;
    let policy = format!(r#"{{"name": "entities", "entities": {{"weights": {own}}}}}"#);
    let policy: serde_json::Value = serde_json::from_str(&policy).unwrap();
    acme.append_dated("policy/entities", policy).unwrap();
    let weights = acme.entity_weights().unwrap();
    let parts = [weights.lexical, weights.kind, weights.source];
    assert_eq!(parts.map(|part| part.millionths()), [100_000, 900_000, 0]);
    // A policy that weighs nothing, or that cannot be read, changes nothing.
    let nothing = own.replace("0.1", "0").replace("0.9", "0");
    for entities in [format!(r#"{{"weights": {nothing}}}"#), "7".to_owned()] {
        let policy = format!(r#"{{"entities": {entities}}}"#);
        let policy: serde_json::Value = serde_json::from_str(&policy).unwrap();
        acme.append_dated("policy/entities", policy).unwrap();
        assert_eq!(acme.entity_weights().unwrap(), Default::default());
    }
}

fn a_write_decides_by_the_weights_of_the_policy(home: &Home) {
    // The whole name of one entity, the words of another's in another form, in a project that neither is of, from a source of
    // which little is known: lexical 1 and 0.94, scope 0.8, source 0.3.
    let note = ObjectDocument {
        project_id: Some("pumps".into()),
        source_authority: Some(Score::from_millionths(300_000)),
        ..document("note", "Project Nova waits for Project Helix: see OPS-12.")
    };
    let told = |tenant: &str, weights: Option<&str>| {
        let acme = home.tenant(tenant);
        change(
            &acme,
            &[
                r#"{"op": "create", "id": "nova", "name": "Project Nova"}"#,
                r#"{"op": "create", "id": "helix", "name": "Project Helix"}"#,
                r#"{"op": "create", "id": "ticket", "name": "OPS 12"}"#,
            ],
        );
        if let Some(weights) = weights {
            let policy = format!(r#"{{"name": "own", "entities": {{"weights": {weights}}}}}"#);
            let policy: serde_json::Value = serde_json::from_str(&policy).unwrap();
            acme.append_dated("policy/entities", policy).unwrap();
        }
        let written = put(&acme, vec![note.clone()]);
        let mut both = [bound(&acme, "nova"), bound(&acme, "helix")].concat();
        both.sort();
        let made = entities(&acme).into_iter();
        let made = made.filter(|(id, ..)| !["nova", "helix", "ticket"].contains(&id.as_str()));
        let made: Vec<(String, bool)> = made.map(|(name, _, waits)| (name, waits)).collect();
        assert!(acme.check().unwrap().is_empty());
        (both.len(), made, written.objects[0].note.clone())
    };
    let waits = |names: &[&str]| -> Vec<(String, bool)> {
        names.iter().map(|name| ((*name).to_owned(), true)).collect()
    };
    let zero = r#""kind": 0.0, "metadata": 0.0, "neighbourhood": 0.0"#;
    let pending = Some(WriteNote::EntityPending);
    // By the names alone both projects are bound, and related to each other; the ticket's name is not the whole one.
    let names = format!(r#"{{"lexical": 1.0, "scope": 0.0, "source": 0.0, {zero}}}"#);
    let found = told("names", Some(&names));
    assert_eq!(found, (1, waits(&["ops-12"]), pending.clone()));
    // By the weights that hold where nothing is said, each of them is a question.
    let all = waits(&["ops-12", "project helix", "project nova"]);
    let found = told("usual", None);
    assert_eq!(found, (0, all, pending));
    // By names and source in equal parts none is like enough: what has an id of its own is new, and nothing waits.
    let source = format!(r#"{{"lexical": 0.5, "scope": 0.0, "source": 0.5, {zero}}}"#);
    let found = told("source", Some(&source));
    assert_eq!(found, (0, vec![("ops-12".to_owned(), false)], None));
}

fn look_alike_letters_bind_nothing_by_themselves(home: &Home) {
    let [acme, plain] = ["acme", "plain"].map(|name| home.tenant(name));
    for tenant in [&acme, &plain] {
        change(
            tenant,
            &[
                r#"{"op": "create", "id": "nova", "name": "Project Nova", "kind": "project"}"#,
                r#"{"op": "create", "id": "helix", "name": "Project Helix", "kind": "project"}"#,
            ],
        );
    }
    // Written as it is, the name is bound: what is not bound below is not so because of its letters.
    let text = "Project Nova depends on Project Helix.";
    put(&plain, vec![document("plain", text)]);
    let edges = |tenant: &Tenant| [bound(tenant, "helix"), bound(tenant, "nova")].concat();
    assert_eq!(edges(&plain), ["nova"]);
    // Cyrillic o and e, Greek omicron and nu, a letter between that nobody sees.
    for (at, name) in [
        "Project N\u{43e}va",
        "Proj\u{435}ct Nova",
        "Project N\u{3bf}va",
        "Project No\u{3bd}a",
        "Project No\u{200b}va",
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("{name} depends on Project Helix.");
        put(&acme, vec![document(&format!("n{at}"), &text)]);
        assert_eq!(edges(&acme), Vec::<String>::new(), "{name:?}");
    }
    // An object may not give a name that looks like another's, either, without a person seeing both.
    let renamed = ObjectDocument {
        canonical_entity_ids: vec!["helix".into()],
        aliases: vec!["Project N\u{43e}va".into()],
        ..document("renaming", "It has another name now.")
    };
    put(&acme, vec![renamed]);
    let weights = acme.entity_weights().unwrap();
    let resolved = |name: &str| {
        let mention = Profile {
            name: name.into(),
            ..Profile::default()
        };
        let found = acme.resolve_entity(&mention, &weights, None).unwrap();
        let first = found.candidates.first().map(|(id, _)| id.clone());
        (found.outcome, first)
    };
    // The name stays the one's that had it, whoever would give one that looks like it to another.
    let name = || (Resolution::Bind, Some("nova".to_owned()));
    assert_eq!(resolved("Project Nova"), name());
    assert_eq!(resolved("Project N\u{43e}va").0, Resolution::Review);
}

/// The registry as the user `bob` may see it: name, other names, names of what it is related to and may be, and whether it
/// waits.
fn seen_by_bob(tenant: &Tenant) -> Vec<(String, Vec<String>, Vec<String>, bool)> {
    let sees = |objects: &[std::sync::Arc<tenure::ContextObject>]| {
        let open = objects.iter().map(|object| {
            let user = object.revision().scope().user.as_deref();
            user.is_none_or(|user| user == "bob")
                && object.revision().classification() <= Classification::Restricted
        });
        open.collect()
    };
    let all = tenant.entities(Some(&sees)).unwrap();
    let name = |id: &String| {
        let found = all.iter().find(|one| one.id == *id);
        found.map(|one| one.profile.name.clone()).unwrap_or_default()
    };
    let mut told: Vec<_> = all
        .iter()
        .map(|one| {
            // Which of two ids goes first is chance.
            let back =
                all.iter().filter(|other| other.relations.iter().any(|(_, to)| *to == one.id));
            let near = one.relations.iter().map(|(_, to)| to);
            let near = near.chain(back.map(|other| &other.id));
            let mut near: Vec<String> = near.chain(&one.candidates).map(name).collect();
            near.sort();
            (
                one.profile.name.clone(),
                one.profile.aliases.clone(),
                near,
                one.pending,
            )
        })
        .collect();
    told.sort();
    told
}

fn the_hidden_changes_nothing_of_what_is_added(home: &Home) {
    let told = [true, false].map(|is_there| {
        let acme = home.tenant(if is_there { "with" } else { "without" });
        change(
            &acme,
            &[
                r#"{"op": "create", "id": "ada", "name": "Ada Lovelace", "kind": "person"}"#,
                r#"{"op": "create", "id": "grace", "name": "Grace Hopper", "kind": "person"}"#,
                r#"{"op": "create", "id": "nova", "name": "Project Nova", "kind": "project"}"#,
                r#"{"op": "create", "id": "helix", "name": "Helix Engine", "kind": "system"}"#,
                r#"{"op": "create", "id": "engine", "name": "The Old Engine", "kind": "system"}"#,
            ],
        );
        let of_boss = |name: &str, text: &str, about: &str, aliases: &[&str]| ObjectDocument {
            user_id: Some("boss".into()),
            security_classification: Some(Classification::HighlyRestricted),
            authority_level: Some(Authority::User),
            canonical_entity_ids: vec![about.into()],
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            ..document(name, text)
        };
        if is_there {
            let text = "Codename Zebra wrote DOC-777 with Helix Engine; mail eve@acme.example.";
            let names = ["Codename Zebra", "Grace Hopper of Yale", "Zebra Hopper"];
            let written = put(
                &acme,
                vec![
                    of_boss("h1", text, "ada", &names),
                    of_boss(
                        "h2",
                        "It grows.",
                        "nova",
                        &["Project Nova depends on Helix"],
                    ),
                    of_boss("h3", "One and the same.", "engine", &[]),
                ],
            );
            let merge = operation(r#"{"op": "merge", "id": "engine", "into": "helix"}"#);
            let source = Some(written.objects[2].object_id);
            acme.change_entities(vec![(merge.0, source)], &Writing::default()).unwrap();
        }
        let texts = [
            "Codename Zebra met Grace Hopper.",
            "Zebra will call about DOC-777, says eve@acme.example.",
            "Project Nova depends on Helix Engine.",
            "The Old Engine drives Project Nova.",
            "With Grace Hopper of Yale and Ada Lovelace.",
            "Zebra Hopper asked Lovelace of Helix Engine.",
            "Codename Zebra wrote DOC-777 with Helix Engine; mail eve@acme.example.",
        ];
        for (at, text) in texts.iter().enumerate() {
            let user_id = at.is_multiple_of(2).then(|| "bob".to_owned());
            let said = ObjectDocument {
                user_id,
                ..document(&format!("t{at}"), text)
            };
            put(&acme, vec![said]);
        }
        assert!(acme.check().unwrap().is_empty());
        seen_by_bob(&acme)
    });
    assert_eq!(told[0], told[1]);
    let ada = told[0].iter().find(|one| one.0 == "Ada Lovelace").unwrap();
    assert_eq!(ada.2, ["Grace Hopper"]);
    assert!(told[0].iter().any(|one| one.0 == "doc-777" && !one.3));
}

fn a_question_of_two_circles_is_asked_of_both(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[r#"{"op": "create", "id": "ada", "name": "Ada Lovelace", "kind": "person"}"#],
    );
    let of = |name: &str, user: Option<&str>| ObjectDocument {
        user_id: user.map(str::to_owned),
        ..document(name, "Ask Lovelace.")
    };
    put(&acme, vec![of("a", Some("boss")), of("b", None)]);
    let mine = seen_by_bob(&acme).into_iter();
    let waits: Vec<String> = mine.filter(|one| one.3).map(|one| one.0).collect();
    assert_eq!(waits, ["lovelace"]);
}

fn what_data_says_by_another_is_no_name(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[r#"{"op": "create", "id": "ada", "name": "Ada Lovelace", "kind": "person"}"#],
    );
    let page = ObjectDocument {
        authority_level: Some(Authority::Data),
        source_origin: Some("https://evil.example/p".into()),
        ..document("page", "A page.")
    };
    let page = put(&acme, vec![page]).objects[0].object_id;
    let note = ObjectDocument {
        authority_level: Some(Authority::User),
        derived_from: vec![page],
        canonical_entity_ids: vec!["ada".into()],
        aliases: vec!["Kim Lee".into()],
        ..document("note", "Made of a page.")
    };
    put(&acme, vec![note]);
    assert_eq!(entities(&acme), [named("ada", &[], false)]);
}

fn names_of_data_and_of_what_is_retracted_are_none(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[r#"{"op": "create", "id": "ada", "name": "Ada Lovelace", "kind": "person"}"#],
    );
    let renamed = |name: &str, level: Authority, alias: &str| ObjectDocument {
        authority_level: Some(level),
        canonical_entity_ids: vec!["ada".into()],
        aliases: vec![alias.into(), "The".into(), "is".into()],
        ..document(name, "Another name.")
    };
    put(&acme, vec![renamed("page", Authority::Data, "Kim Lee")]);
    assert_eq!(entities(&acme), [named("ada", &[], false)]);
    let written = put(
        &acme,
        vec![renamed("note", Authority::User, "Countess of L")],
    );
    assert_eq!(entities(&acme), [named("ada", &["Countess of L"], false)]);
    let note = written.objects[0].object_id;
    acme.retract(note, Expect::Any, &Writing::default()).unwrap();
    assert_eq!(entities(&acme), [named("ada", &[], false)]);
    put(
        &acme,
        vec![document("n", "Countess of L asks bob@acme.example.")],
    );
    assert_eq!(bound(&acme, "ada"), Vec::<String>::new());
}

fn a_whole_name_of_several_words_is_bound_in_a_plain_note(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[
            r#"{"op": "create", "id": "ada", "name": "Ada Lovelace", "kind": "person"}"#,
            r#"{"op": "create", "id": "nova", "name": "Project Nova", "kind": "project"}"#,
        ],
    );
    let written = put(
        &acme,
        vec![document("n1", "Ada Lovelace leads Project Nova.")],
    );
    assert_eq!(written.objects[0].note, None);
    assert_eq!(bound(&acme, "ada"), ["nova"]);
    // What says that its source is a poor one is asked about.
    let poor = ObjectDocument {
        source_authority: Some(Score::from_millionths(100_000)),
        ..document("n2", "Ada Lovelace left.")
    };
    let written = put(&acme, vec![poor]);
    assert_eq!(written.objects[0].note, Some(WriteNote::EntityPending));
}

fn memory_of_one_site_names_nothing_for_another(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[
            r#"{"op": "create", "id": "nova", "name": "Project Nova", "kind": "project"}"#,
            r#"{"op": "create", "id": "helix", "name": "Project Helix", "kind": "project"}"#,
        ],
    );
    let memory = |name: &str, site: &str, text: &str| ObjectDocument {
        authority_level: Some(Authority::Memory),
        source_origin: Some(format!("https://{site}/page")),
        ..document(name, text)
    };
    let naming = ObjectDocument {
        canonical_entity_ids: vec!["nova".into()],
        aliases: vec!["Operation Star".into()],
        ..memory("a", "a.example", "A star.")
    };
    put(&acme, vec![naming]);
    let text = "Operation Star waits for Project Helix.";
    for (name, site) in [("b", "b.example"), ("c", "a.example.b.example")] {
        put(&acme, vec![memory(name, site, text)]);
        assert_eq!(
            bound(&acme, "helix").len() + bound(&acme, "nova").len(),
            0,
            "{site}"
        );
    }
    put(&acme, vec![document("d", text)]);
    assert_eq!(bound(&acme, "helix").len() + bound(&acme, "nova").len(), 0);
    put(&acme, vec![memory("e", "a.example", text)]);
    assert_eq!(bound(&acme, "helix").len() + bound(&acme, "nova").len(), 1);
    assert!(acme.check().unwrap().is_empty());
}

fn what_texts_mention_is_known_with_the_beliefs(home: &Home) {
    let acme = home.tenant("acme");
    let of = |resident: &tenure_store::Resident, name: &str| {
        let mut objects = resident.candidates().objects().iter();
        let object = objects.find(|object| object.name() == name).unwrap();
        resident.mentions(object).to_vec()
    };
    put(&acme, vec![document("old", "Project Nova was young.")]);
    let empty = std::sync::Arc::new(acme.load().unwrap());
    assert!(empty.mentions_none());
    change(
        &acme,
        &[
            r#"{"op": "create", "id": "nova", "name": "Project Nova", "kind": "project"}"#,
            r#"{"op": "create", "id": "ada", "name": "Ada Lovelace", "kind": "person"}"#,
        ],
    );
    let about_mail = document("mail", "Ask ann.lee@acme.example.");
    let both = document("both", "Ada Lovelace leads Project Nova.");
    let written = put(
        &acme,
        vec![both, about_mail, document("none", "Nothing at all.")],
    );
    let fresh = acme.refresh(&empty).unwrap();
    for resident in [&*fresh, &acme.load().unwrap()] {
        assert_eq!(of(resident, "both"), ["ada", "nova"]);
        // What is new with the text is mentioned by it.
        assert_eq!(of(resident, "mail").len(), 1);
        assert_eq!(of(resident, "none"), [""; 0]);
        // It was written before anything was known.
        assert_eq!(of(resident, "old"), [""; 0]);
    }
    // Another text is another revision: it mentions what it says.
    put(&acme, vec![document("both", "Project Nova is led.")]);
    let later = acme.refresh(&fresh).unwrap();
    assert_eq!(of(&later, "both"), ["nova"]);
    let then = acme.load_as_of(written.at).unwrap();
    assert_eq!(of(&then, "both"), ["ada", "nova"]);
    // Another confidence is another revision of the same text.
    let claims = |name: &str, text: &str| ObjectDocument {
        normalized_claim: Some("lead == ada".into()),
        canonical_entity_ids: vec!["nova".into()],
        ..document(name, text)
    };
    let lead = claims("lead", "Ada Lovelace leads.");
    let lead = put(&acme, vec![lead, claims("also", "She does.")]).objects[0].object_id;
    let now = "2026-07-01T00:00:00Z".parse().unwrap();
    acme.revise_belief(lead, now, None, &Writing::default()).unwrap();
    assert_eq!(acme.history(lead).unwrap().len(), 2);
    let revised = acme.refresh(&later).unwrap();
    assert_eq!(of(&revised, "lead"), ["ada"]);
    acme.erase(vec![lead], &Writing::default()).unwrap();
    // What is erased is mentioned by nothing, and mentions nothing.
    acme.erase(vec![written.objects[0].object_id], &Writing::default()).unwrap();
    let erased = acme.refresh(&later).unwrap();
    assert_eq!(of(&erased, "mail").len(), 1);
    let said = acme.entries_in("entities/mentions", 1..u64::MAX).unwrap();
    assert!(
        said.iter().all(|(_, line)| !line.contains("nova")),
        "{said:?}"
    );
    acme.erase(vec![written.objects[1].object_id], &Writing::default()).unwrap();
    assert!(acme.refresh(&erased).unwrap().mentions_none());
    assert!(acme.check().unwrap().is_empty());
}

fn an_erased_person_is_in_no_log_of_what_was_spoken(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[
            r#"{"op": "create", "id": "ada.lovelace", "name": "Ada Lovelace", "kind": "person"}"#,
            r#"{"op": "mark", "id": "ada.lovelace", "mark": "mail", "value": "ada@acme.example"}"#,
            r#"{"op": "create", "id": "nova", "name": "Project Nova", "kind": "project"}"#,
        ],
    );
    let of = |name: &str, text: &str| ObjectDocument {
        session_id: Some("s".into()),
        ..document(name, text)
    };
    put(&acme, vec![of("a", "Ada Lovelace asks for Project Nova.")]);
    put(&acme, vec![of("b", "Ada Lovelace waits.")]);
    let resident = std::sync::Arc::new(acme.load().unwrap());
    let lines = || -> Vec<(String, String)> {
        let logs = acme.logs().unwrap().into_iter().map(|(log, _)| log);
        let logs = logs.filter(|log| log.starts_with("entities"));
        let lines = logs.flat_map(|log| {
            let entries = acme.entries_in(&log, 1..u64::MAX).unwrap();
            entries.into_iter().map(move |(_, line)| (log.clone(), line))
        });
        lines.collect()
    };
    let logs = |word: &str| -> std::collections::BTreeSet<String> {
        let lines = lines().into_iter();
        let told = lines.filter(|(_, line)| line.to_lowercase().contains(word));
        told.map(|(log, _)| log).collect()
    };
    assert_eq!(logs("lovelace").len(), 3);
    // Her objects stay: they are not about her. What is said of her by her mail address goes with her.
    acme.erase_subject("ada@acme.example", &Writing::default()).unwrap();
    assert_eq!(logs("lovelace"), [].into());
    assert_eq!(logs("nova").len(), 3);
    let fresh = acme.refresh(&resident).unwrap();
    let all = fresh.candidates().objects().iter();
    let mentions = all.flat_map(|object| fresh.mentions(object));
    assert_eq!(mentions.collect::<Vec<_>>(), ["nova"]);
    // An entity that came from an object goes with it, and out of what others spoke of it.
    put(&acme, vec![of("c", "Ask ann.lee@acme.example.")]);
    put(&acme, vec![of("d", "So says ann.lee@acme.example.")]);
    let seen = acme.entities(None).unwrap().into_iter();
    let mut seen = seen.filter(|one| one.profile.name == "ann.lee@acme.example");
    let ann = seen.next().unwrap().id;
    assert_eq!(logs(&ann).len(), 3);
    let id = acme.named("c").unwrap()[0];
    acme.erase(vec![id], &Writing::default()).unwrap();
    assert_eq!(logs(&ann), [].into());
    // So do the words by which a name of it was taken away, but not those of a name that another one gives.
    let renames = |name: &str, aliases: &[&str]| ObjectDocument {
        canonical_entity_ids: vec!["nova".into()],
        aliases: aliases.iter().map(|one| (*one).to_owned()).collect(),
        ..document(name, "It has another name now.")
    };
    put(
        &acme,
        vec![renames("e", &["Helix", "Orbit"]), renames("f", &["Orbit"])],
    );
    change(
        &acme,
        &[
            r#"{"op": "remove_alias", "id": "nova", "alias": "HELIX"}"#,
            r#"{"op": "remove_alias", "id": "nova", "alias": "orbit"}"#,
        ],
    );
    let id = acme.named("e").unwrap()[0];
    acme.erase(vec![id], &Writing::default()).unwrap();
    assert_eq!(logs("helix"), [].into());
    let nova = |one: &tenure::belief::entity::SeenEntity| {
        one.id == "nova" && one.profile.aliases.is_empty()
    };
    assert!(acme.entities(None).unwrap().iter().any(nova));
    assert!(acme.check().unwrap().is_empty());
}
