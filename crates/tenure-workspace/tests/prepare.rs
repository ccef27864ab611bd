//! What is asked becomes a job: the policy, the instants and the objects that it is compiled over.

use tenure::time::Instant;
use tenure::trace::View;
use tenure::{Budget, Candidates, Error, ErrorKind, FrameKey, ObjectDocument, Policy, Request};
use tenure_store::{Put, Store, Tenant, Writing};
use tenure_workspace::{
    Ask, Choice, Clock, DEFAULT_MODEL, Job, Policies, Reach, StoreAsk, Workspace,
};

fn at(text: &str) -> Instant {
    text.parse().unwrap()
}

/// A store in a folder that lives as long as it is held.
fn tenant() -> (tempfile::TempDir, Tenant) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
    let tenant = store.tenant("local").unwrap();
    (folder, tenant)
}

fn workspace(clock: &Clock) -> Workspace {
    let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
    workspace.with_clock(clock.clone())
}

fn of_store(tenant: &Tenant) -> StoreAsk<'static> {
    StoreAsk {
        tenant: tenant.clone(),
        objects: Some(Reach::Resident),
        version: 0,
        registry: None,
        names_registries: true,
        record: false,
    }
}

fn prepare(
    workspace: &Workspace,
    request: Request,
    policy: &str,
    store: Option<StoreAsk<'_>>,
) -> Result<Job, Error> {
    let rule = ObjectDocument {
        valid_until: Some(at("2026-07-01")),
        ..ObjectDocument::named("summer", "The office is closed.")
    };
    let ask = Ask {
        request,
        policy: Choice::Named(policy),
        sources: Box::new(|| Ok(Candidates::new(vec![rule.seal()?]))),
        store,
        originals: None,
        view: View::Operator,
    };
    workspace.prepare(ask, workspace)
}

fn request() -> Request {
    Request::new("Is the office open?", Budget::tokens(2_000))
}

#[test]
fn a_request_without_instants_looks_from_the_second_of_the_clock() {
    let clock = Clock::at(at("2026-06-30T23:59:59.7Z"));
    let workspace = workspace(&clock);
    let job = prepare(&workspace, request(), "standard", None).unwrap();
    let second = Some(at("2026-06-30T23:59:59Z"));
    assert_eq!(
        (job.request.as_of.valid, job.request.as_of.known),
        (second, second)
    );
    assert_eq!(job.request.model.as_deref(), Some(DEFAULT_MODEL));
    let payload = |job: &Job| {
        let done = workspace.run(job).unwrap();
        let payload = done.outcome.single().unwrap().envelope.payload.clone();
        payload.unwrap().to_string()
    };
    assert!(payload(&job).contains("closed"));
    clock.set(at("2026-07-01T00:00:00Z"));
    let job = prepare(&workspace, request(), "standard", None).unwrap();
    assert!(!payload(&job).contains("closed"));
}

#[test]
fn what_was_written_before_the_store_was_read_is_known_whatever_the_clock_says() {
    let (_folder, tenant) = tenant();
    let note = ObjectDocument::named("note", "The office is open on Sundays.");
    let written = tenant.put(vec![Put::new(note)], &Writing::default()).unwrap();
    // The store's clock is the machine's, and this one is behind.
    let clock = Clock::at(at("2020-01-01"));
    let workspace = workspace(&clock);
    let job = prepare(&workspace, request(), "standard", Some(of_store(&tenant))).unwrap();
    assert_eq!(job.candidates().len(), 2);
    assert!(job.request.as_of.known.unwrap() > at("2026-01-01"));
    // Who looks back sees what was known then.
    let mut past = request();
    past.as_of.known = Some(at("2020-01-01"));
    let job = prepare(&workspace, past, "standard", Some(of_store(&tenant))).unwrap();
    assert_eq!(job.candidates().len(), 1);
    let later = StoreAsk {
        version: written.version + 1,
        ..of_store(&tenant)
    };
    let error = prepare(&workspace, request(), "standard", Some(later)).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Unavailable);
}

#[test]
fn a_name_is_a_preset_or_a_policy_that_the_store_keeps() {
    let (_folder, tenant) = tenant();
    let workspace = workspace(&Clock::machine());
    let own = Policy::from_toml("name = \"ours\"\nextends = \"ordered\"").unwrap();
    let named = |store| {
        let job = prepare(&workspace, request(), "ours", store)?;
        Ok::<String, Error>(job.policy.document().name.clone())
    };
    assert_eq!(
        named(Some(of_store(&tenant))).unwrap_err().kind,
        ErrorKind::Input
    );
    Policies::of(&tenant).keep(&own).unwrap();
    assert_eq!(named(Some(of_store(&tenant))).unwrap(), "ours");
    // Without the store it is unknown, and what is near is offered.
    assert!(named(None).unwrap_err().what.contains("ours"));
}

#[test]
fn a_default_stands_where_the_store_keeps_none_of_its_name() {
    let (_folder, tenant) = tenant();
    let workspace = workspace(&Clock::machine());
    let policy = |text| Policy::from_toml(text).unwrap();
    let default = policy("name = \"ours\"\nextends = \"ordered\"");
    let chosen = |tenant| {
        let choice = Choice::Kept("ours", &default);
        let chosen = workspace.chosen_policy(choice, tenant, None);
        chosen.unwrap().document().precedence
    };
    assert_eq!(chosen(None), default.document().precedence);
    assert_eq!(chosen(Some(&tenant)), default.document().precedence);
    let other = !default.document().precedence;
    let own = policy(&format!("name = \"ours\"\nprecedence = {other}"));
    Policies::of(&tenant).keep(&own).unwrap();
    assert_eq!(chosen(Some(&tenant)), other);
    assert_eq!(chosen(None), !other);
}

#[test]
fn a_record_is_dated_by_the_clock() {
    let (_folder, tenant) = tenant();
    let workspace = workspace(&Clock::at(at("2031-05-04T03:02:01Z")));
    let store = StoreAsk {
        record: true,
        ..of_store(&tenant)
    };
    let job = prepare(&workspace, request(), "standard", Some(store)).unwrap();
    let done = workspace.run(&job).unwrap();
    let record = workspace.records(&tenant).get(&done.record_ids[0]);
    assert_eq!(
        record.unwrap().record.compiled_at,
        at("2031-05-04T03:02:01Z")
    );
}
