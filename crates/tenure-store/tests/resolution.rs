//! Mentions in what is written are resolved in the same write.

use tenure::ObjectDocument;
use tenure::belief::entity::{EntityOp, RelationType};
use tenure::object::ObjectId;
use tenure_store::{Expect, Outcome, Tenant, WriteNote, Writing};

use crate::common::{Home, document, put};

on_both_engines!(
    a_tenant_without_entities_gets_none,
    what_is_written_is_bound_waits_or_is_new,
    what_a_document_calls_an_entity_is_a_name_of_it,
    what_came_from_an_erased_object_is_gone,
    a_write_that_fails_adds_nothing,
    a_text_full_of_mentions_adds_few,
);

fn operation(op: &str) -> (EntityOp, Option<ObjectId>) {
    (serde_json::from_str(op).unwrap(), None)
}

fn change(tenant: &Tenant, operations: &[&str]) {
    let operations = operations.iter().map(|op| operation(op)).collect();
    tenant
        .change_entities(operations, &Writing::default())
        .unwrap();
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
    let nova = seen
        .iter()
        .flat_map(|one| one.relations.iter().map(move |to| (&one.id, to)));
    let related: Vec<_> = nova.collect();
    assert_eq!(related.len(), 3, "{related:?}");
    assert!(
        related
            .iter()
            .all(|(_, to)| to.0 == RelationType::CrossReference)
    );
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
    acme.erase(vec![written.objects[0].object_id], &Writing::default())
        .unwrap();
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

fn a_text_full_of_mentions_adds_few(home: &Home) {
    let acme = home.tenant("acme");
    change(
        &acme,
        &[r#"{"op": "create", "id": "nova", "name": "Project Nova"}"#],
    );
    let text: String = (0..20_000).map(|at| format!("OPS-{at} ")).collect();
    put(&acme, vec![document("a", &text)]);
    assert_eq!(entities(&acme).len(), 1 + 64);
}
