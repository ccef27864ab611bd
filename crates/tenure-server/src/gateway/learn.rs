//! Windows learned from providers: what one says of a request that is too long, and what its list of models states.

use std::sync::Arc;

use tenure_workspace::relay::{Lesson, Position, said_window, stated};

use super::fitted::Learner;
use super::unpack::Packed;
use crate::app::App;
use crate::protocol::Protocol;
use tenure_operations::Caller;

/// The most that is read of an error, in bytes.
const MAX_ERROR: u64 = 1 << 20;
/// The most that is read of a list of models, in bytes.
const MAX_LIST: u64 = 8 << 20;

/// Notes that a provider found a request too long; returns what it said where a shorter one may help. The error is read
/// on a thread for what blocks.
pub(super) async fn learn(
    app: &Arc<App>,
    caller: &Caller,
    learner: Learner,
    error: Packed,
) -> Option<Lesson> {
    let (app, caller) = (Arc::clone(app), caller.clone());
    let learned = tokio::task::spawn_blocking(move || {
        let store = app.store.as_ref();
        let tenant = store.map(|store| store.tenant(&caller.tenant)).transpose();
        let Ok(Some(tenant)) = tenant else {
            return Ok(None);
        };
        let error = error.text(MAX_ERROR);
        match learner {
            Learner::Session(position) => app.relay.learn(&tenant, &position, &error),
            Learner::Model => Ok(said_window(&error).map(Lesson::Window)),
        }
    });
    learned.await.ok()?.ok()?
}

/// Notes that a provider's window is what it said, so that the next request finds it.
pub(super) async fn confirm(app: &Arc<App>, caller: &Caller, position: &Position, window: u32) {
    let (app, caller, position) = (Arc::clone(app), caller.clone(), position.clone());
    let confirmed = tokio::task::spawn_blocking(move || {
        let Some(store) = &app.store else { return };
        let tenant = store.tenant(&caller.tenant);
        let confirmed = tenant.and_then(|tenant| {
            let now = app.now();
            app.relay.confirm(&tenant, &position, window, now)
        });
        // It is learned again then.
        drop(confirmed);
    });
    let _ = confirmed.await;
}

/// Notes the windows that a provider's list of models states, while the list goes on.
pub(super) fn teach(app: &Arc<App>, caller: &Caller, protocol: Protocol, list: Packed) {
    let (app, caller) = (Arc::clone(app), caller.clone());
    tokio::task::spawn_blocking(move || {
        let Some(store) = &app.store else { return };
        let stated = stated(&list.text(MAX_LIST));
        if stated.is_empty() {
            return;
        }
        let tenant = store.tenant(&caller.tenant);
        let taught = tenant.and_then(|tenant| {
            let now = app.now();
            app.relay.teach(&tenant, protocol.format(), &stated, now)
        });
        // The next list says it again.
        drop(taught);
    });
}
