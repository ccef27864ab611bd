//! Preparation of what the first query of a tenant would wait for: its objects, their passages, the vectors
//! and the index of these.

use serde_json::json;
use tenure::trace::View;
use tenure::{Budget, Candidates, Error, ErrorKind, Policy, Request};
use tenure_store::Store;
use tenure_workspace::archive;
use tenure_workspace::{Ask, Choice, Reach, StoreAsk};

use crate::app::App;
use crate::caches::MAX_ARCHIVES;
use crate::telemetry::log::LogLevel;

/// Reads what the tenants' queries need, of as many tenants as are kept. What fails is logged, and read when it is asked
/// for. Blocks.
pub(crate) fn warm(app: &App) {
    let log = &app.telemetry.log;
    let failed = |tenant: Option<&str>, error: &Error| {
        let why = json!({ "tenant": tenant, "error": error.what });
        log.note(LogLevel::Warn, "not_warmed", why);
    };
    let Some(store) = &app.store else { return };
    let own = || vec![app.access.owner().to_owned()];
    let tenants = match app.access.is_locked().then(|| store.tenants()) {
        None => own(),
        Some(Ok(tenants)) => tenants,
        // A login that may not look at all of them.
        Some(Err(error)) if error.kind == ErrorKind::Policy => own(),
        Some(Err(error)) => return failed(None, &error),
    };
    for tenant in tenants.iter().take(MAX_ARCHIVES) {
        if app.is_stopping() {
            return;
        }
        match ask(app, store, tenant) {
            Ok(()) => log.note(LogLevel::Info, "warmed", json!({ "tenant": tenant })),
            Err(error) => failed(Some(tenant), &error),
        }
    }
}

/// Asks what nothing answers.
fn ask(app: &App, store: &Store, tenant: &str) -> Result<(), Error> {
    let text = "warm";
    let ask = Ask {
        request: Request::new(text, Budget::default()),
        policy: Choice::Given(Box::new(Policy::preset("standard")?)),
        sources: Box::new(|| Ok(Candidates::new(Vec::new()))),
        store: Some(StoreAsk {
            tenant: store.tenant(tenant)?,
            objects: Some(Reach::Archive),
            version: 0,
            registry: None,
            names_registries: false,
            record: false,
        }),
        originals: None,
        view: View::Caller,
    };
    let job = app.workspace.prepare(ask, app)?;
    let asked = archive::Ask {
        limit: Some(1),
        ..archive::Ask::new(text)
    };
    let (world, policy, request) = (&job.world, &job.policy, &job.request);
    let found = app.workspace.query(world, policy, request, job.candidates(), &asked);
    found.map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use tenure::{FrameKey, ObjectDocument};
    use tenure_store::{Put, Writing};
    use tenure_workspace::{Reader, Workspace};

    #[test]
    fn what_the_first_query_would_make_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        let [own, other] = ["local", "other"].map(|tenant| {
            let tenant = store.tenant(tenant).unwrap();
            let document = ObjectDocument::named("units", "Report pressure in pascal.");
            let written = tenant.put(vec![Put::new(document)], &Writing::default());
            written.unwrap();
            tenant
        });
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let options = Options {
            store: Some(store),
            ..Options::new(workspace)
        };
        let app = App::new(options).unwrap();
        warm(&app);
        let has_vectors = |tenant| {
            let resident = app.objects(tenant, Reach::Archive).unwrap();
            let mut layers = resident.candidates().passages().layers();
            layers.all(|layer| layer.vectors().is_some_and(|vectors| !vectors.is_empty()))
        };
        assert!(has_vectors(&own));
        // While there are no keys, nobody speaks for another tenant.
        assert!(!has_vectors(&other));
    }
}
