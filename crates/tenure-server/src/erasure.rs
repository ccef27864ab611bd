//! Erased objects: what the server holds of them in memory is let go.

use std::collections::BTreeMap;

use tenure::Error;

use crate::gateway::Gateway;

/// Lets go of what was erased, of tenants of whom something is held. `seen` has the version of each up to which its writes
/// were looked at. Blocks.
///
/// # Errors
///
/// Those of the store.
pub(crate) fn forget_erased(
    gateway: &Gateway,
    seen: &mut BTreeMap<String, u64>,
) -> Result<(), Error> {
    let app = &gateway.app;
    let Some(store) = &app.store else {
        return Ok(());
    };
    let held = app.held();
    seen.retain(|tenant, _| held.contains_key(tenant));
    for (name, since) in held {
        let tenant = store.tenant(&name)?;
        let known = seen.get(&name).copied().unwrap_or(since);
        let version = tenant.version()?;
        if version != known {
            let writes = tenant.log(known, u32::MAX)?;
            if writes.iter().any(|write| write.verb == "erase") {
                app.forget(&tenant)?;
                gateway.forget(&name);
            }
        }
        seen.insert(name, version);
    }
    Ok(())
}
