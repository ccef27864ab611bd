//! Tenure in Python: what `import tenure` loads.
//!
//! The package `tenure` (under `python/`) has the names, types and documents that a user sees. This module has what
//! they are made of: `Workspace` and what it opens. Everything goes through
//! `tenure_workspace` and `tenure_operations`, so that behaviour is the command line's. Values are exchanged as the published JSON forms are,
//! without the JSON; Python's other threads run while one of these works.

mod compiled;
mod errors;
mod registries;
mod scorer;
mod sessions;
mod store;
mod values;
mod workspace;

use pyo3::prelude::*;

/// The compiled part of the package `tenure`.
#[pymodule]
fn _tenure(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
    module.add("COMPILER", tenure::COMPILER)?;
    module.add_class::<workspace::Workspace>()?;
    module.add_class::<workspace::Objects>()?;
    module.add_class::<compiled::Compiled>()?;
    module.add_class::<store::Store>()?;
    module.add_class::<sessions::Session>()?;
    module.add_class::<registries::Registries>()?;
    Ok(())
}
