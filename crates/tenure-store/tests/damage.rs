//! What is done about a store that is not what was written: rows that were altered or lost, files that are gone.

use std::collections::BTreeSet;

use crate::common::{Home, contents, document, exported, put, put_one};
use tenure::object::ObjectId;
use tenure::{
    Budget, Candidates, Error, ErrorKind, Facts, FrameKey, ObjectDocument, Policy, Reason, Request,
    World, compile,
};
use tenure_store::engine::Damage;
use tenure_store::{Put, Store, Tenant, Writing, Written};

on_both_engines!(
    an_export_names_the_revision_that_is_damaged,
    what_is_damaged_is_asked_for_by_itself_in_vain,
    a_compile_leaves_it_out_with_a_reason_or_fails,
    what_is_no_text_any_more_is_known_by_what_it_was,
    of_what_nothing_is_left_every_compile_says_so,
    who_may_see_what_is_damaged_is_what_its_labels_say,
    what_was_secret_stays_so_when_nothing_is_left_of_it,
    a_search_passes_over_it,
    a_lost_tenant_is_no_empty_one,
    a_kept_text_that_was_altered_is_damaged,
    a_check_finds_it_and_a_repair_sets_it_aside,
    a_repair_makes_derived_tables_anew,
    what_is_damaged_can_be_erased,
    a_repair_keeps_what_was_made_from_an_object,
    a_repair_keeps_whom_an_object_is_about,
);

/// Alters what is stored past all that refuses it.
pub(crate) fn alter(home: &Home, sql: &str) {
    if home.is_postgresql() {
        home.sql(&format!(
            "ALTER TABLE revisions DISABLE TRIGGER USER; ALTER TABLE beliefs DISABLE TRIGGER USER; {sql}; \
             ALTER TABLE revisions ENABLE TRIGGER USER; ALTER TABLE beliefs ENABLE TRIGGER USER"
        ))
        .unwrap();
        return;
    }
    let connection = rusqlite::Connection::open(home.file()).unwrap();
    let mut triggers = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap();
    let triggers: Vec<(String, String)> = triggers
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (name, _) in &triggers {
        connection.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
    }
    connection.execute_batch(sql).unwrap();
    for (_, sql) in &triggers {
        connection.execute_batch(sql).unwrap();
    }
}

const LOUDER: &str = "UPDATE revisions SET body = replace(body, 'At most', 'At least')";

fn limit(more: ObjectDocument) -> ObjectDocument {
    ObjectDocument {
        name: "limit".into(),
        content: "At most 10 kW.".into(),
        ..more
    }
}

/// A limit and a note, of which the limit is damaged.
fn damaged(home: &Home, more: ObjectDocument, sql: &str) -> (Tenant, ObjectId) {
    let acme = home.tenant("acme");
    let id = put(&acme, vec![limit(more)]).objects[0].object_id;
    put_one(&acme, "note", "The pump is blue.");
    alter(home, sql);
    // What was read before is of no use.
    (Store::open(&home.url).unwrap().tenant("acme").unwrap(), id)
}

fn an_export_names_the_revision_that_is_damaged(home: &Home) {
    let acme = home.tenant("acme");
    let written = put(&acme, vec![limit(document("", ""))]);
    let revision = written.objects[0].revision.unwrap().to_string();
    alter(home, LOUDER);
    let mut lines = 0;
    let error = acme
        .export(&mut |_| {
            lines += 1;
            Ok(())
        })
        .unwrap_err();
    assert_eq!((error.kind, lines), (ErrorKind::Damaged, 0));
    assert!(error.what.contains(&revision), "{error}");
    // Nothing of what stands there now is told.
    assert!(!error.to_string().contains("At least"), "{error}");
    let error = acme.export_with_texts(1 << 20, &mut |_| Ok(())).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Damaged);
}

fn what_is_damaged_is_asked_for_by_itself_in_vain(home: &Home) {
    let (acme, id) = damaged(home, document("", ""), LOUDER);
    let at = acme.written(1).unwrap().unwrap().at;
    for error in [
        acme.get(id).unwrap_err(),
        acme.history(id).unwrap_err(),
        acme.as_of(id, at).unwrap_err(),
    ] {
        assert_eq!(error.kind, ErrorKind::Damaged, "{error}");
    }
    // The rest is what it was.
    let note = acme.named("note").unwrap()[0];
    assert_eq!(contents(&acme, note), ["The pump is blue."]);
    // A revision of its own is written over it as ever.
    put_one(&acme, "limit", "At most 11 kW.");
    assert_eq!(contents(&acme, id), ["At most 11 kW."]);
}

fn compiled(candidates: &Candidates) -> Result<tenure::Compiled, Error> {
    compiled_for(tenure::Principal::owner(), candidates)
}

fn compiled_for(
    principal: tenure::Principal,
    candidates: &Candidates,
) -> Result<tenure::Compiled, Error> {
    let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32]))?;
    let policy = Policy::preset("standard")?;
    let mut request = Request::new("Report on the pump.", Budget::tokens(1_000));
    request.principal = tenure::Principal {
        tenant: "acme".into(),
        ..principal
    };
    let outcome = compile(&world, &policy, &request, candidates, &Facts::none())?;
    Ok(outcome.single()?.clone())
}

fn a_compile_leaves_it_out_with_a_reason_or_fails(home: &Home) {
    let (acme, _) = damaged(home, document("", ""), LOUDER);
    for resident in [
        acme.load().unwrap(),
        acme.load_as_of(acme.written(9).unwrap().unwrap().at).unwrap(),
    ] {
        assert_eq!(resident.damaged().count(), 1);
        let compiled = compiled(resident.candidates()).unwrap();
        let verdict = compiled.trace.verdict("limit").unwrap();
        assert!(
            matches!(verdict.reason, Reason::Damaged { .. }),
            "{verdict:?}"
        );
        let note = compiled.trace.verdict("note").unwrap();
        assert_eq!(note.reason, Reason::Fits);
        let payload = compiled.envelope.payload.unwrap();
        let text = String::from_utf8_lossy(payload.bytes()).into_owned();
        assert!(
            !text.contains("At least") && !text.contains("damaged"),
            "{text}"
        );
    }
    // What must go in fails the compile, by its name.
    let must = ObjectDocument {
        removable: Some(false),
        ..document("must", "At most 3 bar.")
    };
    put(&acme, vec![must]);
    let known = std::sync::Arc::new(acme.load().unwrap());
    alter(
        home,
        "UPDATE revisions SET body = replace(body, '3 bar', '9 bar')",
    );
    let error = compiled(acme.load().unwrap().candidates()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Damaged, "{error}");
    assert!(error.what.contains("`must`"), "{error}");
    // A refresh takes what was read before for what it was, and what is new for what it is.
    let fresh = acme.refresh(&known).unwrap();
    assert_eq!(fresh.damaged().count(), 1);
}

fn what_is_no_text_any_more_is_known_by_what_it_was(home: &Home) {
    // Where the row says nothing any more, an earlier revision says who might see it.
    let acme = home.tenant("acme");
    put(&acme, vec![limit(document("", ""))]);
    let later = ObjectDocument {
        content: "At most 12 kW, from now on.".into(),
        ..limit(document("", ""))
    };
    put(
        &acme,
        vec![ObjectDocument {
            name: "limit".into(),
            ..later
        }],
    );
    alter(
        home,
        "UPDATE revisions SET body = 'gone' WHERE body LIKE '%12 kW%'",
    );
    let compiled = compiled(acme.load().unwrap().candidates()).unwrap();
    let verdict = compiled.trace.verdict("limit").unwrap();
    assert!(
        matches!(verdict.reason, Reason::Damaged { .. }),
        "{verdict:?}"
    );
}

fn of_what_nothing_is_left_every_compile_says_so(home: &Home) {
    let (acme, id) = damaged(
        home,
        document("", ""),
        "UPDATE revisions SET body = 'gone' WHERE body LIKE '%10 kW%'",
    );
    let error = compiled(acme.load().unwrap().candidates()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Damaged);
    assert!(error.what.contains("`limit`"), "{error}");
    assert!(!error.what.contains(&id.to_string()), "{error}");
}

/// Somebody who sees little.
fn user(name: &str) -> tenure::Principal {
    tenure::Principal {
        user: Some(name.into()),
        clearance: tenure::object::Classification::Restricted,
        pii_authorized: false,
        ..tenure::Principal::owner()
    }
}

/// The names of what somebody may see.
fn seen(resident: &tenure_store::Resident, mut principal: tenure::Principal) -> Vec<String> {
    principal.tenant = "acme".into();
    let candidates = resident.candidates();
    let policy = Policy::preset("standard").unwrap();
    let open = tenure::admitted(&policy, &principal, candidates);
    let names = open.into_iter().map(|at| candidates.objects()[at].name());
    names.map(str::to_owned).collect()
}

fn who_may_see_what_is_damaged_is_what_its_labels_say(home: &Home) {
    let of_alice = ObjectDocument {
        user_id: Some("alice".into()),
        ..document("", "")
    };
    let (acme, _) = damaged(
        home,
        of_alice,
        r#"UPDATE revisions SET body = replace(body, '"user_id":"alice"', '"user_id":"blice"')"#,
    );
    let resident = acme.load().unwrap();
    assert_eq!(resident.damaged().count(), 1);
    assert_eq!(seen(&resident, user("alice")), ["limit", "note"]);
    assert_eq!(seen(&resident, user("blice")), ["note"]);
}

fn what_was_secret_stays_so_when_nothing_is_left_of_it(home: &Home) {
    let secret = ObjectDocument {
        security_classification: Some(tenure::object::Classification::HighlyRestricted),
        ..document("", "")
    };
    let gone = "UPDATE revisions SET body = 'gone' WHERE body LIKE '%10 kW%'";
    let (acme, id) = damaged(home, secret, gone);
    let all = |resident: &tenure_store::Resident| seen(resident, tenure::Principal::owner());
    let check = |name: &str| {
        let resident = acme.load().unwrap();
        assert_eq!(seen(&resident, user("ana")), ["note"]);
        compiled_for(user("ana"), resident.candidates()).unwrap();
        assert_eq!(all(&resident), [name, "note"]);
        let error = compiled(resident.candidates()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Damaged);
    };
    check("limit");
    // A row of a file whose sum is another is not read at all.
    if home.is_postgresql() {
        let gone = "SELECT revision FROM revisions WHERE body = 'gone'";
        let sql = format!("UPDATE beliefs SET labels = 'gone' WHERE revision IN ({gone})");
        alter(home, &sql);
        check(&id.to_string());
    }
}

fn a_search_passes_over_it(home: &Home) {
    let acme = home.tenant("acme");
    put(&acme, vec![limit(document("", ""))]);
    put_one(&acme, "other", "At most 3 kW.");
    assert_eq!(acme.search("kW").unwrap().candidates().len(), 2);
    alter(
        home,
        "UPDATE revisions SET body = replace(body, '10 kW', '99 kW')",
    );
    let found = acme.search("kW").unwrap();
    assert_eq!(found.damaged().count(), 1);
    let shown = found.candidates().objects().iter();
    let shown: Vec<&str> = shown.map(|object| object.revision().content()).collect();
    assert_eq!(shown, ["[damaged]", "At most 3 kW."]);
}

#[test]
fn what_says_no_more_who_may_see_it_is_in_no_list() {
    // A row of a file whose sum is another is not read at all.
    let home = Home::postgresql();
    let acme = home.tenant("acme");
    let lost = put_one(&acme, "lost", "At most 10 kW.");
    put_one(&acme, "other", "At most 3 kW.");
    acme.search("kW").unwrap();
    for table in ["beliefs", "objects"] {
        let sql = format!("UPDATE {table} SET labels = 'gone' WHERE object = '{lost}'");
        alter(&home, &sql);
    }
    let principal = tenure::Principal {
        tenant: "acme".into(),
        ..user("ana")
    };
    let policy = Policy::preset("standard").unwrap();
    let sees = |objects: &[std::sync::Arc<tenure::ContextObject>]| {
        let open = tenure::admitted(&policy, &principal, &Candidates::new(objects.to_vec()));
        (0..objects.len()).map(|at| open.contains(&at)).collect()
    };
    let page = tenure_store::SearchPage {
        sees: Some(&sees),
        ..tenure_store::SearchPage::ALL
    };
    let found = acme.search_page("kW", &page).unwrap();
    let names = found.candidates().objects().iter();
    let names: Vec<&str> = names.map(|object| object.name()).collect();
    assert_eq!(names, ["other"]);
    assert!(acme.get_seen(lost, Some(&sees)).unwrap().is_empty());
    let labels: Vec<_> = acme.labels("lost").unwrap().into_iter().map(|(_, of)| of).collect();
    assert_eq!(sees(&labels), [false]);
    // Without a caller, all of it is found, and a check tells of it.
    assert_eq!(acme.search("kW").unwrap().candidates().len(), 2);
    assert_eq!(findings(&acme), [("rows".to_owned(), false)]);
}

fn a_lost_tenant_is_no_empty_one(home: &Home) {
    let acme = home.tenant("acme");
    let id = put_one(&acme, "limit", "At most 10 kW.");
    home.store.probe().unwrap();
    alter(home, "DELETE FROM tenants WHERE tenant = 'acme'");
    let lost = Store::open(&home.url).unwrap().tenant("acme").unwrap();
    for error in [
        lost.version().unwrap_err(),
        lost.load().map(drop).unwrap_err(),
        lost.history(id).map(drop).and_then(|()| lost.version()).unwrap_err(),
        lost.put(vec![Put::new(document("limit", "1"))], &Writing::default())
            .map(drop)
            .unwrap_err(),
    ] {
        assert_eq!(error.kind, ErrorKind::Damaged, "{error}");
        assert!(error.what.contains("`acme`"), "{error}");
    }
    // One that never wrote is none.
    assert_eq!(home.tenant("nobody").version().unwrap(), 0);
    if !home.is_postgresql() {
        assert_eq!(home.store.probe().unwrap_err().kind, ErrorKind::Damaged);
    }
}

fn a_kept_text_that_was_altered_is_damaged(home: &Home) {
    let acme = home.tenant("acme");
    let digest = acme.put_blobs(vec![b"a long text".to_vec()]).unwrap()[0];
    let other = if home.is_postgresql() {
        "'\\x00'::bytea"
    } else {
        "x'00'"
    };
    alter(home, &format!("UPDATE blobs SET bytes = {other}"));
    assert_eq!(acme.blob(digest).unwrap_err().kind, ErrorKind::Damaged);
}

fn findings(tenant: &Tenant) -> Vec<(String, bool)> {
    let found = tenant.check().unwrap().into_iter();
    found
        .map(
            |Damage {
                 what, repairable, ..
             }| (what, repairable),
        )
        .collect()
}

fn a_check_finds_it_and_a_repair_sets_it_aside(home: &Home) {
    let (acme, id) = damaged(home, document("", ""), LOUDER);
    let bodies = |home: &Home| {
        if home.is_postgresql() {
            String::new()
        } else {
            let connection = rusqlite::Connection::open(home.file()).unwrap();
            let sql = "SELECT group_concat(body) FROM revisions";
            connection.query_row(sql, [], |row| row.get(0)).unwrap()
        }
    };
    let before = bodies(home);
    assert_eq!(findings(&acme), [("revision".to_owned(), true)]);
    assert_eq!(findings(&acme).len(), 1, "a check changes nothing");
    acme.repair(&Writing::default()).unwrap();
    assert!(findings(&acme).is_empty());
    // The row stays as it is; the rest is exported.
    assert_eq!(bodies(home), before);
    let names: Vec<String> = exported(&acme).into_iter().map(|line| line.object.name).collect();
    assert_eq!(names, ["note"]);
    // It is left out, and still no answer by itself.
    let resident = acme.load().unwrap();
    let left = resident.candidates().unfetched();
    assert_eq!(left[0].why, "damaged and set aside");
    assert!(compiled(resident.candidates()).is_ok());
    assert_eq!(acme.get(id).unwrap_err().kind, ErrorKind::Damaged);
    let log = acme.log(2, 9).unwrap();
    assert_eq!(log[0].verb, "repair");
}

fn what_is_damaged_can_be_erased(home: &Home) {
    const SAID: &str = "The main valve of the northern plant was rebuilt by Ada Lovelace in May.";
    let acme = home.tenant("acme");
    let content = format!("Of the lost first line nothing is left.\n{SAID}");
    let id = put_one(&acme, "limit", &content);
    let quoting = acme.put_blobs(vec![format!("He said: {SAID}").into_bytes()]);
    let quoting = quoting.unwrap()[0];
    // Neither JSON any more, nor the text that it was.
    alter(
        home,
        "UPDATE revisions SET body = replace(replace(body, ':', '\"'), 'lost first', 'l')",
    );
    let acme = Store::open(&home.url).unwrap().tenant("acme").unwrap();
    assert_eq!(acme.get(id).unwrap_err().kind, ErrorKind::Damaged);
    let erased = acme.erase(vec![id], &Writing::default()).unwrap();
    assert_eq!(erased.objects[0].object_id, id);
    assert!(acme.get(id).unwrap().is_empty());
    assert!(acme.named("limit").unwrap().is_empty());
    assert_eq!(
        acme.blob(quoting).unwrap(),
        None,
        "what can still be read is looked for"
    );
    assert!(findings(&acme).is_empty());
}

fn a_repair_makes_derived_tables_anew(home: &Home) {
    let acme = home.tenant("acme");
    let parent = put_one(&acme, "parent", "At most 10 kW.");
    let child = ObjectDocument {
        derived_from: vec![parent],
        subjects: vec!["ada".into()],
        ..document("child", "10 kW.")
    };
    put(&acme, vec![child]);
    assert!(findings(&acme).is_empty());
    alter(home, "DELETE FROM links; DELETE FROM subjects");
    let found: BTreeSet<(String, bool)> = findings(&acme).into_iter().collect();
    assert_eq!(found, BTreeSet::from([("derived".to_owned(), true)]));
    home.store.rebuild().unwrap();
    acme.repair(&Writing::default()).unwrap();
    assert!(findings(&acme).is_empty());
    assert!(home.store.check().unwrap().is_empty());
    let gone = acme.erase_subject("ada", &Writing::default()).unwrap();
    assert_eq!(gone.objects.len(), 1);
    assert_eq!(acme.search("kw").unwrap().candidates().len(), 1);
}

/// A parent, and what was made from it about a person.
fn family(home: &Home) -> (Tenant, ObjectId, ObjectId) {
    let acme = home.tenant("acme");
    let parent = put_one(&acme, "parent", "At most 10 kW.");
    let child = ObjectDocument {
        derived_from: vec![parent],
        subjects: vec!["ada".into()],
        ..document("child", "Ada said 10 kW.")
    };
    let child = put(&acme, vec![child]).objects[0].object_id;
    (acme, parent, child)
}

fn erased(written: &Written) -> BTreeSet<ObjectId> {
    let gone = written.objects.iter().map(|object| object.object_id);
    gone.collect()
}

fn a_repair_keeps_what_was_made_from_an_object(home: &Home) {
    let (acme, parent, child) = family(home);
    alter(
        home,
        "UPDATE revisions SET body = 'gone' WHERE body LIKE '%Ada said%'",
    );
    // Once to set it aside, once with it set aside.
    for _ in 0..2 {
        acme.repair(&Writing::default()).unwrap();
        assert!(findings(&acme).is_empty());
    }
    let gone = acme.erase(vec![parent], &Writing::default()).unwrap();
    assert_eq!(erased(&gone), BTreeSet::from([parent, child]));
}

fn a_repair_keeps_whom_an_object_is_about(home: &Home) {
    let (acme, _, child) = family(home);
    alter(
        home,
        "UPDATE revisions SET body = 'gone' WHERE body LIKE '%Ada said%'",
    );
    acme.repair(&Writing::default()).unwrap();
    let gone = acme.erase_subject("ada", &Writing::default()).unwrap();
    assert_eq!(erased(&gone), BTreeSet::from([child]));
}

#[test]
fn a_repair_that_cannot_read_to_the_end_deletes_nothing() {
    let home = Home::sqlite();
    put_one(&home.tenant("acme"), "first", "The pump is blue.");
    let (acme, parent, child) = family(&home);
    let first = "SELECT place FROM objects WHERE name = 'first'";
    alter(
        &home,
        &format!("UPDATE beliefs SET valid_from = 7 WHERE place = ({first})"),
    );
    acme.repair(&Writing::default()).unwrap();
    let gone = acme.erase(vec![parent], &Writing::default()).unwrap();
    assert_eq!(erased(&gone), BTreeSet::from([parent, child]));
}

#[test]
fn a_row_that_no_digest_holds_has_a_sum() {
    let alterations = [
        "UPDATE beliefs SET valid_from = 7",
        "UPDATE beliefs SET lifecycle = 'archived'",
        "UPDATE beliefs SET tx_start = tx_start - 1",
        "UPDATE objects SET name = 'limits'",
        "UPDATE usage SET access_count = 9",
        "UPDATE writes SET author = 'nobody'",
        "UPDATE tenants SET version = version + 1",
        "UPDATE changes SET places = '0-0'",
        "UPDATE records SET body = '{}'",
        "UPDATE entries SET body = '{}'",
        "UPDATE answers SET answer = replace(answer, 'limit', 'timil')",
    ];
    for sql in alterations {
        let home = Home::sqlite();
        let acme = home.tenant("acme");
        let ask = |tenant: &Tenant| -> Result<String, Error> {
            let id = tenant.named("limit")?;
            let history = tenant.history(*id.first().unwrap_or(&ObjectId::from_bits(1)))?;
            let said = (
                tenant.version()?,
                history.len(),
                tenant.log(0, 9)?,
                tenant.record("rec")?,
                tenant.entries("log", 0)?,
                tenant.load()?.candidates().digest(),
                tenant.put(
                    vec![Put::new(document("limit", "1"))],
                    &Writing {
                        idempotency_key: Some("key".into()),
                        author: Some("anna".into()),
                    },
                )?,
                tenant.refresh(&std::sync::Arc::default())?.version(),
            );
            Ok(format!("{said:?}"))
        };
        let first = Writing {
            idempotency_key: Some("key".into()),
            author: Some("anna".into()),
        };
        let put = vec![Put::new(document("limit", "1"))];
        let id = acme.put(put, &first).unwrap().objects[0].object_id;
        acme.put(vec![Put::new(document("other", "2"))], &Writing::default()).unwrap();
        acme.append("log", 0, vec!["{\"a\":1}".into()]).unwrap();
        acme.record_use(vec![(id, tenure::object::Usage::default())]).unwrap();
        acme.put_records(vec![tenure_store::engine::RecordRow {
            id: "rec".into(),
            compiled_at: tenure::time::Instant::from_micros(1),
            body: "{\"b\":1}".into(),
            objects: vec![],
        }])
        .unwrap();
        let before = ask(&acme).unwrap();
        assert_eq!(ask(&acme).unwrap(), before);
        alter(&home, sql);
        let error = ask(&Store::open(&home.url).unwrap().tenant("acme").unwrap()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Damaged, "{sql}: {error}");
        let found = home.store.check().unwrap();
        assert!(
            found.iter().any(|found| found.what == "rows"),
            "{sql}: {found:?}"
        );
    }
}

#[test]
fn a_file_that_is_replaced_or_removed_is_noticed() {
    let home = Home::sqlite();
    let acme = home.tenant("acme");
    let id = put_one(&acme, "limit", "At most 10 kW.");
    let away = home.file().with_extension("away");
    let tried = |acme: &Tenant| {
        let put = vec![Put::new(document("limit", "2"))];
        [
            acme.put(put, &Writing::default()).map(drop),
            acme.get(id).map(drop),
            acme.version().map(drop),
            home.store.probe(),
        ]
    };
    std::fs::rename(home.file(), &away).unwrap();
    for tried in tried(&acme) {
        let error = tried.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable);
        assert!(error.what.contains("is gone"), "{error}");
    }
    // Another file, the same to the byte.
    std::fs::copy(&away, home.file()).unwrap();
    for tried in tried(&acme) {
        let error = tried.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unavailable);
        assert!(error.what.contains("was replaced"), "{error}");
    }
    std::fs::rename(&away, home.file()).unwrap();
    assert_eq!(contents(&acme, id), ["At most 10 kW."]);
}

#[test]
fn a_check_writes_nothing() {
    let home = Home::sqlite();
    let acme = home.tenant("acme");
    put_one(&acme, "limit", "At most 10 kW.");
    let file = home.file();
    // Nobody has it open.
    let copy = tempfile::tempdir().unwrap();
    let path = copy.path().join("store.db");
    let sql = format!("VACUUM INTO '{}'", path.display());
    home.sql(&sql).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let url = format!("sqlite://{}", path.display());
    let store = Store::open_to_read(&url).unwrap();
    assert!(store.check().unwrap().is_empty());
    assert!(store.tenant("acme").unwrap().check().unwrap().is_empty());
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let found = std::fs::read_dir(copy.path()).unwrap();
    assert_eq!(found.count(), 1);
    let put = vec![Put::new(document("limit", "2"))];
    let error = store.tenant("acme").unwrap().put(put, &Writing::default()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unavailable);
    assert_eq!(store.rebuild().unwrap_err().kind, ErrorKind::Unavailable);
    assert!(file.exists());
}

#[test]
fn a_store_opened_to_be_read_follows_what_is_written_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let url = format!("sqlite://{}", path.display());
    let files = || std::fs::read_dir(folder.path()).unwrap().count();
    let write =
        |store: &Store, content: &str| put_one(&store.tenant("acme").unwrap(), "limit", content);
    let id = write(&Store::open(&url).unwrap(), "At most 10 kW.");
    assert_eq!(files(), 1, "it is closed");
    let reading = Store::open_to_read(&url).unwrap();
    let acme = reading.tenant("acme").unwrap();
    assert_eq!(contents(&acme, id), ["At most 10 kW."]);
    let writing = Store::open(&url).unwrap();
    write(&writing, "At most 11 kW.");
    assert_eq!(contents(&acme, id), ["At most 11 kW."]);
    let gone = writing.tenant("acme").unwrap().erase(vec![id], &Writing::default());
    gone.unwrap();
    assert!(acme.get(id).unwrap().is_empty());
    drop((writing, acme, reading));
    assert_eq!(files(), 1, "nothing is left next to it");
}
