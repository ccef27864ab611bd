//! Scheduled sweeps: what has become too old by its own rule is archived, demoted, put before a person, or, where the operator
//! says so, erased; one tenant after the other, by one node at a time.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tenure::object::RetirementRule;
use tenure::time::Instant;
use tenure::{Error, ErrorKind};
use tenure_store::{HardDelete, Sweep, Weakening, Writing};
use tokio::sync::oneshot::Receiver;

use crate::app::App;
use crate::options::Sweeping;
use crate::telemetry::log::LogLevel;

/// The longest time from the start to the first sweep: a server that is started each day sweeps, too.
const FIRST: Duration = Duration::from_secs(60);
/// The longest time to the next attempt where another node had its turn, or something failed.
const AGAIN: Duration = Duration::from_secs(60 * 60);
/// The author of what sweeps change.
const AUTHOR: &str = "sweep";

/// Sweeps until the other end of `stopped` is gone. `tenant` is swept where the store does not say which there are.
pub(crate) async fn run(
    app: Arc<App>,
    schedule: Sweeping,
    tenant: String,
    mut stopped: Receiver<()>,
) {
    let every = schedule.every.max(Duration::from_secs(1));
    let mut wait = every.min(FIRST);
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            () = tokio::time::sleep(wait) => {}
        }
        let (app, tenant) = (Arc::clone(&app), tenant.clone());
        let swept = tokio::task::spawn_blocking(move || sweep(&app, schedule, tenant));
        let is_done = swept.await.unwrap_or_default();
        wait = if is_done { every } else { every.min(AGAIN) };
    }
}

/// Drops the records that are older than this, now and each hour, until the other end of `stopped` is gone.
pub(crate) async fn keep_records(
    app: Arc<App>,
    time: Duration,
    tenant: String,
    mut stopped: Receiver<()>,
) {
    let mut wait = AGAIN.min(FIRST);
    loop {
        tokio::select! {
            _ = &mut stopped => return,
            () = tokio::time::sleep(wait) => {}
        }
        let (app, tenant) = (Arc::clone(&app), tenant.clone());
        // Where it panicked, the next one tries again.
        let _ = tokio::task::spawn_blocking(move || drop_records(&app, time, tenant)).await;
        wait = AGAIN;
    }
}

/// Drops the records of all tenants that are older than this, some with each write, until the server is told to stop.
fn drop_records(app: &App, time: Duration, tenant: String) {
    let Some(store) = &app.store else { return };
    let log = &app.telemetry.log;
    let age = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let before = Instant::from_micros(app.now().micros().saturating_sub(age));
    let failed = |tenant: Option<&str>, error: &Error| {
        let fields = json!({ "tenant": tenant, "error": error.what });
        log.note(LogLevel::Error, "drop_records_failed", fields);
    };
    let tenants = match store.tenants() {
        Ok(tenants) => tenants,
        Err(error) if error.kind == ErrorKind::Policy => vec![tenant],
        Err(error) => return failed(None, &error),
    };
    for name in tenants {
        if app.is_stopping() {
            return;
        }
        let dropped = store.tenant(&name);
        match dropped.and_then(|tenant| tenant.drop_records(Some(before), None)) {
            Ok(0) => {}
            Ok(records) => {
                let fields = json!({ "tenant": name, "records": records, "before": before });
                log.note(LogLevel::Info, "records_dropped", fields);
            }
            Err(error) => failed(Some(&name), &error),
        }
    }
}

/// Sweeps all tenants, until the server is told to stop: each change is a write of its own, so none is left half. Returns
/// whether all of them were.
fn sweep(app: &App, schedule: Sweeping, tenant: String) -> bool {
    let Some(store) = &app.store else { return true };
    let mut is_done = true;
    let log = &app.telemetry.log;
    let tenants = match store.tenants() {
        Ok(tenants) => tenants,
        Err(error) if error.kind == ErrorKind::Policy => vec![tenant],
        Err(error) => {
            let fields = json!({ "error": error.what });
            log.note(LogLevel::Error, "sweep_failed", fields);
            return false;
        }
    };
    let writing = Writing {
        author: Some(AUTHOR.to_owned()),
        ..Writing::default()
    };
    for name in tenants {
        if app.is_stopping() {
            return false;
        }
        let swept = || -> Result<Option<Sweep>, Error> {
            let tenant = store.tenant(&name)?;
            tenant.sweep_in_turn(app.now(), schedule.every, schedule.hard_delete, &writing)
        };
        match swept() {
            Ok(Some(sweep))
                if !(sweep.retired.is_empty()
                    && sweep.left.is_empty()
                    && sweep.weakened.is_empty()) =>
            {
                let weakened = sweep.weakened.iter();
                let ended =
                    weakened.filter(|one| matches!(one.becomes, Weakening::Ends(_))).count();
                let of = |rule: RetirementRule| {
                    sweep.retired.iter().filter(|one| one.rule == rule).count()
                };
                let erased = of(RetirementRule::HardDelete);
                let (erased, proposed) = match schedule.hard_delete {
                    HardDelete::Done => (erased, 0),
                    HardDelete::Proposed => (0, erased),
                };
                let fields = json!({
                    "tenant": name,
                    "archived": of(RetirementRule::Archive),
                    "demoted": of(RetirementRule::DemoteToArchival),
                    "awaiting_confirmation": of(RetirementRule::TriggerUserConfirmation) + proposed,
                    "erased": erased,
                    "lowered": sweep.weakened.len() - ended,
                    "ended": ended,
                    "changed_meanwhile": sweep.left.len(),
                });
                log.note(LogLevel::Info, "swept", fields);
            }
            Ok(swept) => is_done &= swept.is_some(),
            Err(error) => {
                is_done = false;
                let fields = json!({ "tenant": name, "error": error.what });
                log.note(LogLevel::Error, "sweep_failed", fields);
            }
        }
    }
    is_done
}

#[cfg(test)]
mod tests {
    use tenure::FrameKey;
    use tenure_store::Store;
    use tenure_store::engine::RecordRow;
    use tenure_workspace::Workspace;

    use super::*;
    use crate::options::Options;

    #[test]
    fn records_are_kept_for_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        let tenant = store.tenant("local").unwrap();
        // A tenant is listed once it has written.
        tenant.append("log", 0, vec!["{}".into()]).unwrap();
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let options = Options {
            store: Some(store),
            ..Options::new(workspace)
        };
        let app = App::new(options).unwrap();
        let day = Duration::from_secs(24 * 60 * 60);
        let record = |days: i64| RecordRow {
            id: format!("gw-{days:04}"),
            compiled_at: Instant::from_micros(app.now().micros() - days * day.as_micros() as i64),
            body: "{}".into(),
            objects: Vec::new(),
        };
        tenant.put_records((0..600).map(record).collect()).unwrap();
        drop_records(&app, 30 * day, "local".into());
        let left = tenant.records(1_000).unwrap();
        assert_eq!(left.len(), 30);
        assert_eq!(left[29].0, "gw-0029");
        drop_records(&app, 30 * day, "local".into());
        assert_eq!(tenant.records(1_000).unwrap(), left);
    }
}
