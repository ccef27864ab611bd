//! What names cost in a whole compile: a small request over a store whose registry knows so many entities.
//!
//! `cargo bench -p tenure-workspace --bench names`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use std::hint::black_box;
use std::sync::Arc;

use divan::Bencher;
use tenure::belief::entity::EntityOp;
use tenure::trace::View;
use tenure::{Budget, Candidates, Error, FrameKey, ObjectDocument, Policy, Request, World};
use tenure_store::{Put, Resident, Store, Tenant, Writing};
use tenure_workspace::{Ask, Choice, Reach, Reader, StoreAsk, Workspace};

/// No entity, and more and more of them.
const SIZES: [usize; 5] = [0, 100, 1_000, 10_000, 100_000];
/// The number of objects that a compile chooses from.
const OBJECTS: usize = 100;

fn main() {
    divan::main();
}

/// What a server holds in memory.
struct Held<'a>(&'a Workspace, Arc<Resident>);

impl Reader for Held<'_> {
    fn world(&self, model: &str) -> Result<Arc<World>, Error> {
        Reader::world(self.0, model)
    }

    fn objects(&self, _: &Tenant, _: Reach) -> Result<Arc<Resident>, Error> {
        Ok(Arc::clone(&self.1))
    }
}

/// The name of an entity: no two have the same.
fn name(number: usize) -> String {
    const WORDS: [&str; 10] = [
        "Amber", "Basalt", "Cobalt", "Dune", "Ember", "Fjord", "Garnet", "Heron", "Indigo",
        "Juniper",
    ];
    let digit = |place: usize| WORDS[(number / 10usize.pow(place as u32)) % 10];
    format!(
        "Project {} {} {} {} {}",
        digit(0),
        digit(1),
        digit(2),
        digit(3),
        digit(4)
    )
}

/// A tenant whose registry knows so many entities, and 100 objects, each about one and with another in its text.
fn tenant(folder: &std::path::Path, entities: usize) -> Tenant {
    let store = Store::sqlite(&folder.join("store.db")).expect("a store");
    let tenant = store.tenant("local").expect("a tenant");
    let operations = (0..entities).map(|number| {
        let create = serde_json::json!({
            "op": "create", "id": format!("e{number}"), "name": name(number), "kind": "project",
        });
        (
            serde_json::from_value::<EntityOp>(create).expect("an operation"),
            None,
        )
    });
    let operations: Vec<_> = operations.collect();
    if !operations.is_empty() {
        tenant.change_entities(operations, &Writing::default()).expect("entities");
    }
    let objects = (0..OBJECTS).map(|number| {
        let text = format!(
            "Note {number}: the port of {} is {}, as {} says.",
            name(number * 7),
            1_000 + number,
            name(number * 11 + 1)
        );
        Put::new(ObjectDocument {
            canonical_entity_ids: vec![format!("e{}", number * 7)],
            ..ObjectDocument::rule(format!("note-{number}"), text)
        })
    });
    tenant.put(objects.collect(), &Writing::default()).expect("objects");
    tenant
}

/// The whole way of a request that names two entities: prepared from the store in memory, and compiled.
#[divan::bench(args = SIZES, sample_count = 31, sample_size = 1)]
fn compile(bencher: Bencher<'_, '_>, entities: usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let tenant = tenant(folder.path(), entities);
    let workspace = Workspace::new(FrameKey::new("bench", [7; 32])).expect("a workspace");
    let held = Held(&workspace, Arc::new(tenant.load().expect("beliefs")));
    let task = format!("Which port has {}, and which {}?", name(7), name(14));
    let run = || {
        let ask = Ask {
            request: Request::new(&*task, Budget::tokens(4_000)),
            policy: Choice::Given(Box::new(Policy::preset("standard").expect("a policy"))),
            sources: Box::new(|| Ok(Candidates::default())),
            store: Some(StoreAsk {
                tenant: tenant.clone(),
                objects: Some(Reach::Resident),
                version: 0,
                registry: None,
                names_registries: true,
                record: false,
            }),
            originals: None,
            view: View::Caller,
        };
        let job = workspace.prepare(ask, &held).expect("a job");
        workspace.run(&job).expect("a compile").outcome
    };
    run();
    bencher.bench_local(|| black_box(run()));
}
