//! A compile reads the registry of entities as its caller may know it: what the hidden says of entities changes nothing.

use proptest::prelude::*;
use tenure::belief::entity::{EntityOp, Identity, Neighbour, RelationType};
use tenure::object::{Authority, Classification, ObjectId, ObjectType};
use tenure::trace::View;
use tenure::{Budget, Candidates, FrameKey, ObjectDocument, Policy, Principal, Request, Ruling};
use tenure_store::{Put, Store, Tenant, Writing};
use tenure_workspace::sessions::Session;
use tenure_workspace::{Ask, Choice, Clock, Done, Job, Reach, StoreAsk, Workspace};

/// A store in a folder that lives as long as it is held, and a workspace at an instant.
struct Bench {
    _folder: tempfile::TempDir,
    tenant: Tenant,
    workspace: Workspace,
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        Bench {
            tenant: store.tenant("local").unwrap(),
            workspace: workspace.with_clock(Clock::at("2031-01-01".parse().unwrap())),
            _folder: folder,
        }
    }

    fn put(&self, document: ObjectDocument) {
        let put = vec![Put::new(document)];
        self.tenant.put(put, &Writing::default()).unwrap();
    }

    fn id(&self, name: &str) -> ObjectId {
        self.tenant.named(name).unwrap()[0]
    }

    fn change(&self, op: EntityOp, source: Option<&str>) {
        let source = source.map(|name| self.id(name));
        self.tenant.change_entities(vec![(op, source)], &Writing::default()).unwrap();
    }

    fn job(&self, clearance: Classification, record: bool) -> Job {
        let mut request = Request::new("Which port does the desk use?", Budget::tokens(4_000));
        request.principal = Principal {
            clearance,
            ..Principal::owner()
        };
        let ask = Ask {
            request,
            policy: Choice::Given(Box::new(Policy::preset("standard").unwrap())),
            sources: Box::new(|| Ok(Candidates::default())),
            store: Some(StoreAsk {
                tenant: self.tenant.clone(),
                objects: Some(Reach::Resident),
                version: 0,
                registry: None,
                names_registries: true,
                record,
            }),
            originals: None,
            view: View::Caller,
        };
        self.workspace.prepare(ask, &self.workspace).unwrap()
    }

    fn run(&self, clearance: Classification) -> (Job, Done) {
        let job = self.job(clearance, true);
        let done = self.workspace.run(&job).unwrap();
        (job, done)
    }
}

fn create(id: &str, pending: bool) -> EntityOp {
    let op = serde_json::json!({ "op": "create", "id": id, "name": format!("the {id}"), "pending": pending });
    serde_json::from_value(op).unwrap()
}

fn merge(id: &str, into: &str) -> EntityOp {
    EntityOp::Merge {
        id: id.into(),
        into: into.into(),
    }
}

fn alias(id: &str, alias: &str) -> EntityOp {
    EntityOp::Alias {
        id: id.into(),
        alias: alias.into(),
    }
}

fn relate(id: &str, relation: RelationType, to: &str) -> EntityOp {
    EntityOp::Relate {
        id: id.into(),
        relation,
        to: to.into(),
    }
}

fn claims(name: &str, entity: &str, port: u32, class: Classification) -> ObjectDocument {
    ObjectDocument {
        canonical_entity_ids: vec![entity.into()],
        normalized_claim: Some(format!("port == {port}")),
        security_classification: Some(class),
        object_type: Some(ObjectType::ProjectDecision),
        authority_level: Some(Authority::User),
        ..ObjectDocument::named(name, format!("The {entity} uses port {port}."))
    }
}

const OPEN: Classification = Classification::Restricted;
const SECRET: Classification = Classification::HighlyRestricted;

fn standing(done: &Done) -> Vec<String> {
    let trace = &done.outcome.single().unwrap().trace;
    let verdicts = trace.verdicts.iter();
    let included = verdicts.filter(|verdict| verdict.verdict == Ruling::Included);
    included.map(|verdict| verdict.name.to_string()).collect()
}

#[test]
fn claims_of_merged_entities_are_one_for_who_may_see_why() {
    let bench = Bench::new();
    bench.put(claims("manual", "desk", 443, OPEN));
    bench.put(claims("label", "table", 80, OPEN));
    bench.put(claims("memo", "memo", 1, SECRET));
    let both = ["manual", "label"];
    assert!(bench.job(OPEN, false).request.identities.is_empty());
    bench.change(create("desk", false), None);
    bench.change(create("table", false), None);
    // The task names the desk, which an object speaks of.
    let desk = Identity {
        id: "desk".into(),
        named: vec!["the desk".into()],
        ..Identity::default()
    };
    assert_eq!(
        bench.job(OPEN, false).request.identities,
        std::slice::from_ref(&desk)
    );
    assert_eq!(standing(&bench.run(OPEN).1), both);

    // A merge that came from a secret memo acts for who may see that alone.
    bench.change(merge("table", "desk"), Some("memo"));
    let (narrow, done) = bench.run(OPEN);
    assert_eq!(narrow.request.identities, std::slice::from_ref(&desk));
    assert_eq!(standing(&done), both);
    let (wide, done) = bench.run(SECRET);
    let told = Identity {
        id: "table".into(),
        means: Some("desk".into()),
        ..Identity::default()
    };
    assert_eq!(wide.request.identities, [desk, told]);
    assert_eq!(standing(&done), ["memo"]);
    let compiled = done.outcome.single().unwrap();
    let verdict = compiled.trace.verdict("label").unwrap();
    assert_eq!(verdict.reason.code(), "conflicting_claim_unresolved");
    assert_eq!(verdict.canonical_entity_ids, ["desk"]);

    // What was compiled is compiled again, whatever became of the merge.
    let record = done.record_ids[0].clone();
    bench.change(EntityOp::Split { id: "table".into() }, None);
    let (_, after) = bench.run(SECRET);
    assert_eq!(standing(&after), ["manual", "label", "memo"]);
    let replay = bench.workspace.records(&bench.tenant).replay(&record);
    let replay = replay.unwrap();
    assert_eq!(replay.proof, tenure_workspace::records::Proof::Whole);
    let again = replay.compiled.unwrap();
    assert_eq!(
        again.trace.verdict("label").unwrap().reason.code(),
        "conflicting_claim_unresolved"
    );
}

#[test]
fn what_waits_for_a_person_stands_no_higher_than_its_claim() {
    let bench = Bench::new();
    let rule = ObjectDocument {
        canonical_entity_ids: vec!["sam-2".into()],
        ..ObjectDocument::rule("rule", "Send the port of the desk to Sam.")
    };
    bench.put(rule);
    bench.change(create("sam", false), None);
    bench.change(create("sam-2", true), None);
    let (_, done) = bench.run(SECRET);
    assert_eq!(standing(&done), Vec::<String>::new());
    let records = bench.workspace.records(&bench.tenant);
    let record = records.get(&done.record_ids[0]).unwrap();
    let shown = records.principle(&record).unwrap();
    let conflicts = &shown["observability_metrics"]["entity_resolution_conflicts"];
    assert_eq!(*conflicts, 1);
    // So does what is about somebody who waits beside what it names.
    let of_both = ObjectDocument {
        canonical_entity_ids: vec!["sam".into()],
        subjects: vec!["sam-2".into()],
        ..ObjectDocument::rule("both", "Tell Sam of the port of the desk.")
    };
    bench.put(of_both);
    let (_, done) = bench.run(SECRET);
    assert_eq!(standing(&done), Vec::<String>::new());
    let compiled = done.outcome.single().unwrap();
    let verdict = compiled.trace.verdict("both").unwrap();
    assert_eq!(verdict.reason.code(), "entity_pending");
    bench.change(merge("sam-2", "sam"), None);
    let (_, done) = bench.run(SECRET);
    let mut stand = standing(&done);
    stand.sort();
    assert_eq!(stand, ["both", "rule"]);
    let id = bench.tenant.named("both").unwrap()[0];
    bench
        .tenant
        .retract(
            id,
            tenure_store::Expect::Any,
            &tenure_store::Writing::default(),
        )
        .unwrap();
    let (_, done) = bench.run(SECRET);
    let record = records.get(&done.record_ids[0]).unwrap();
    let shown = records.principle(&record).unwrap();
    let compiled = &shown["state_compilation_metadata"]["compiled_objects"][0];
    assert_eq!(compiled["canonical_entity_ids"], serde_json::json!(["sam"]));
}

/// The task of the benches is about the desk.
fn about(name: &str, entity: &str, content: &str, class: Classification) -> ObjectDocument {
    ObjectDocument {
        canonical_entity_ids: vec![entity.into()],
        security_classification: Some(class),
        ..ObjectDocument::rule(name, content)
    }
}

#[test]
fn a_note_about_a_child_is_found_by_the_name_of_its_parent() {
    let bench = Bench::new();
    let memory = |name: &str, entity: &str, content: &str| ObjectDocument {
        object_type: Some(ObjectType::ProjectDecision),
        authority_level: Some(Authority::User),
        ..about(name, entity, content, OPEN)
    };
    bench.put(memory("drawer-note", "drawer", "Keys hang inside."));
    bench.put(memory("lamp-note", "lamp", "Bulbs are warm."));
    bench.put(ObjectDocument {
        security_classification: Some(SECRET),
        ..memory("memo", "memo", "Secret.")
    });
    for id in ["table", "drawer", "lamp"] {
        bench.change(create(id, false), None);
    }
    let task = "Which port does the desk use?";
    assert!(task.contains("the desk"));
    // Nobody calls the table a desk.
    assert_eq!(standing(&bench.run(OPEN).1), Vec::<String>::new());
    bench.change(relate("table", RelationType::Parent, "drawer"), None);
    assert_eq!(bench.job(OPEN, false).request.identities, []);
    bench.change(alias("table", "the Desk"), None);
    let (job, done) = bench.run(OPEN);
    let told = Identity {
        id: "table".into(),
        named: vec!["the desk".into()],
        near: vec![Neighbour {
            relation: RelationType::Parent,
            id: "drawer".into(),
        }],
        ..Identity::default()
    };
    assert_eq!(job.request.identities, [told]);
    assert_eq!(standing(&done), ["drawer-note"]);
    let compiled = done.outcome.single().unwrap();
    let link = compiled.trace.verdict("drawer-note").unwrap();
    let link = link.speaks_of.clone().unwrap();
    assert_eq!(link.to_string(), "`drawer`, child of `table`");
    let record = done.record_ids[0].clone();

    // A second bearer makes the name unclear, for who may know of it.
    bench.change(create("bureau", false), None);
    bench.change(alias("bureau", "the desk"), Some("memo"));
    assert_eq!(standing(&bench.run(OPEN).1), ["drawer-note"]);
    let (_, wide) = bench.run(SECRET);
    assert_eq!(standing(&wide), Vec::<String>::new());
    let notes = &wide.outcome.single().unwrap().trace.notes;
    let note = tenure::trace::Note::AmbiguousAlias {
        alias: "the desk".into(),
        entities: vec!["bureau".into(), "table".into()],
    };
    assert!(notes.contains(&note), "{notes:?}");

    // What was compiled is compiled again, whatever became of the registry.
    let replay = bench.workspace.records(&bench.tenant).replay(&record);
    let replay = replay.unwrap();
    assert_eq!(replay.proof, tenure_workspace::records::Proof::Whole);
    let again = replay.compiled.unwrap();
    let again = again.trace.verdict("drawer-note").unwrap();
    assert_eq!(again.speaks_of.as_ref(), Some(&link));
}

#[test]
fn who_is_called_by_a_role_is_who_has_it_at_the_instant() {
    let bench = Bench::new();
    bench.put(about("old", "ada", "Ada likes tables.", OPEN));
    bench.put(about("new", "bob", "Bob likes charts.", OPEN));
    for (id, held) in [
        ("ada", serde_json::json!({ "until": "2030-06-01" })),
        ("bob", serde_json::json!({ "from": "2030-06-01" })),
    ] {
        bench.change(create(id, false), None);
        let op = serde_json::json!({ "op": "role", "id": id, "role": "the desk", "held": held });
        bench.change(serde_json::from_value(op).unwrap(), None);
    }
    let (job, _) = bench.run(OPEN);
    let named: Vec<&str> = job.request.identities.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(named, ["bob"]);
}

/// The ids that mean others, each with what it means.
fn merged(identities: &[Identity]) -> Vec<(String, String)> {
    let means = |one: &Identity| Some((one.id.clone(), one.means.clone()?));
    identities.iter().filter_map(means).collect()
}

#[test]
fn a_session_sees_its_own_objects_and_what_they_say_of_entities_and_no_others() {
    let bench = Bench::new();
    let of = |session: &str, name: &str, entity: &str, port: u32| ObjectDocument {
        session_id: Some(session.into()),
        ..claims(name, entity, port, OPEN)
    };
    bench.put(claims("manual", "desk", 443, OPEN));
    bench.put(claims("label", "table", 80, OPEN));
    bench.put(of("ours", "ours", "lamp", 1));
    bench.put(of("theirs", "theirs", "lamp", 1));
    bench.change(create("desk", false), None);
    bench.change(create("table", false), None);
    // Only what was said in the one session knows that they are one.
    bench.change(merge("table", "desk"), Some("ours"));
    let run = |id: &str| {
        let (at, none) = ("2030-01-01".parse().unwrap(), (None, None));
        let mut session = Session::create(bench.tenant.clone(), Some(id), at, none, None).unwrap();
        let body = r#"[{"role": "user", "content": "Which port does the desk use?"}]"#;
        let said = tenure::wire::read(tenure::wire::Format::OpenAiChat, body).unwrap();
        session.append(said, at).unwrap();
        let mut job = bench.job(OPEN, false);
        let done = bench.workspace.run_session(&mut session, &mut job).unwrap();
        (standing(&done), merged(&job.request.identities))
    };
    assert!(merged(&bench.job(OPEN, false).request.identities).is_empty());
    let (stand, identities) = run("ours");
    assert_eq!(identities, [("table".to_owned(), "desk".to_owned())]);
    // The two claims of what is one entity cannot both hold, for this session alone.
    assert_eq!(stand, ["t2.0", "ours"]);
    let (stand, identities) = run("theirs");
    assert!(identities.is_empty());
    assert_eq!(stand, ["t2.0", "manual", "label", "theirs"]);
}

#[derive(Clone, Debug)]
enum Step {
    Create(&'static str, bool),
    Merge(&'static str, &'static str),
    Split(&'static str),
    Alias(&'static str, &'static str),
    Relate(&'static str, RelationType, &'static str),
}

impl Step {
    fn op(&self) -> EntityOp {
        match self {
            Step::Create(id, pending) => create(id, *pending),
            Step::Merge(id, into) => merge(id, into),
            Step::Split(id) => EntityOp::Split { id: (*id).into() },
            Step::Alias(id, name) => alias(id, name),
            Step::Relate(id, relation, to) => relate(id, *relation, to),
        }
    }
}

fn relation() -> impl Strategy<Value = RelationType> {
    prop::sample::select(vec![
        RelationType::Parent,
        RelationType::Child,
        RelationType::Sibling,
        RelationType::CrossReference,
        RelationType::SameAs,
    ])
}

fn steps() -> impl Strategy<Value = Vec<(Step, Option<bool>)>> {
    let id = || prop::sample::select(vec!["desk", "table", "bench"]);
    let step = prop_oneof![
        3 => (id(), any::<bool>()).prop_map(|(id, pending)| Step::Create(id, pending)),
        3 => (id(), id()).prop_map(|(id, into)| Step::Merge(id, into)),
        1 => id().prop_map(Step::Split),
        2 => (id(), prop::sample::select(vec!["port", "the port", "which port does"]))
            .prop_map(|(id, name)| Step::Alias(id, name)),
        2 => (id(), relation(), id()).prop_map(|(id, relation, to)| Step::Relate(id, relation, to)),
    ];
    // By hand, from what is open, or from what is hidden.
    prop::collection::vec((step, prop::option::of(any::<bool>())), 0..14)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    // Two stores, one of them without anything that is hidden: the caller gets the same bytes, and the same trace.
    #[test]
    fn the_hidden_says_nothing_of_entities(steps in steps()) {
        let (all, open) = (Bench::new(), Bench::new());
        for (bench, is_all) in [(&all, true), (&open, false)] {
            bench.put(claims("note", "desk", 443, OPEN));
            bench.put(claims("label", "table", 80, OPEN));
            bench.put(claims("page", "bench", 80, OPEN));
            bench.put(about("wish", "bench", "Benches are painted green.", OPEN));
            if is_all {
                bench.put(claims("memo", "table", 7, SECRET));
            }
        }
        for (step, source) in steps {
            let source = source.filter(|_| !matches!(step, Step::Split(_)));
            let named = source.map(|open| if open { "note" } else { "memo" });
            let id = named.map(|name| all.id(name));
            let done = all.tenant.change_entities(vec![(step.op(), id)], &Writing::default());
            // What was refused changed nothing, whyever; what is hidden is not there for the other.
            if done.is_ok() && source != Some(false) {
                let id = named.map(|name| open.id(name));
                let done = open.tenant.change_entities(vec![(step.op(), id)], &Writing::default());
                // It may speak of what only the hidden made, which is not there.
                if done.is_err() {
                    return Ok(());
                }
            }
        }
        let (wide, told) = all.run(OPEN);
        let (narrow, alone) = open.run(OPEN);
        prop_assert_eq!(&wide.request.identities, &narrow.request.identities);
        let (told, alone) = (told.outcome.single().unwrap(), alone.outcome.single().unwrap());
        prop_assert_eq!(&told.envelope.payload, &alone.envelope.payload);
        let verdicts = |compiled: &tenure::Compiled| {
            let verdicts = compiled.trace.verdicts.iter();
            verdicts.map(|one| (one.name.clone(), one.reason.clone(), one.canonical_entity_ids.clone(), one.speaks_of.clone(), one.score)).collect::<Vec<_>>()
        };
        prop_assert_eq!(verdicts(told), verdicts(alone));
        prop_assert_eq!(&told.trace.notes, &alone.trace.notes);
    }
}

#[test]
fn what_a_text_mentions_is_told_to_who_may_know_it_and_changes_nothing_else() {
    let bench = Bench::new();
    let before = Bench::new();
    let note = ObjectDocument {
        security_classification: Some(OPEN),
        ..ObjectDocument::rule(
            "note",
            "The port that the desk has is of Project Nova and not of Operation Helix.",
        )
    };
    before.put(note.clone());
    let open = ObjectDocument {
        security_classification: Some(OPEN),
        object_type: Some(ObjectType::ProjectDecision),
        ..ObjectDocument::rule("memo", "A plan.")
    };
    for bench in [&bench, &before] {
        bench.put(open.clone());
    }
    let named = |id: &str, name: &str| {
        let op = serde_json::json!({ "op": "create", "id": id, "name": name, "kind": "project" });
        serde_json::from_value::<EntityOp>(op).unwrap()
    };
    bench.change(named("nova", "Project Nova"), None);
    bench.change(named("helix", "Operation Helix"), Some("memo"));
    bench.put(note);
    let mentions = |done: &Done| {
        let compiled = done.outcome.single().unwrap();
        compiled.trace.verdict("note").unwrap().mentions.clone()
    };
    let (_, done) = bench.run(OPEN);
    assert_eq!(mentions(&done), ["helix", "nova"]);
    assert!(standing(&done).contains(&"note".to_owned()));
    let text = |done: &Done| {
        serde_json::to_value(&done.outcome.single().unwrap().envelope.sections).unwrap()
    };
    assert_eq!(standing(&done).len(), standing(&before.run(OPEN).1).len());
    let record = done.record_ids[0].clone();
    let records = bench.workspace.records(&bench.tenant);
    let shown = records.principle(&records.get(&record).unwrap()).unwrap();
    let compiled = &shown["state_compilation_metadata"]["compiled_objects"];
    let compiled = compiled.as_array().unwrap().iter();
    let mut told = compiled.filter_map(|one| one.get("mentions"));
    assert_eq!(told.next(), Some(&serde_json::json!(["helix", "nova"])));

    // What one of them came from is a secret by now; the other means a third.
    bench.put(ObjectDocument {
        security_classification: Some(SECRET),
        object_type: Some(ObjectType::ProjectDecision),
        ..ObjectDocument::rule("memo", "A plan.")
    });
    bench.change(named("star", "Star"), None);
    bench.change(merge("nova", "star"), None);
    let (_, narrow) = bench.run(OPEN);
    assert_eq!(mentions(&narrow), ["star"]);
    assert!(
        !serde_json::to_string(&narrow.outcome.single().unwrap().trace)
            .unwrap()
            .contains("helix")
    );
    let (_, wide) = bench.run(SECRET);
    assert_eq!(mentions(&wide), ["helix", "star"]);
    assert_eq!(text(&narrow), text(&done));

    // What was compiled is compiled again as it was.
    let replay = bench.workspace.records(&bench.tenant).replay(&record);
    let replay = replay.unwrap();
    assert_eq!(replay.proof, tenure_workspace::records::Proof::Whole);
    let again = replay.compiled.unwrap();
    assert_eq!(
        again.trace.verdict("note").unwrap().mentions,
        ["helix", "nova"]
    );
}
