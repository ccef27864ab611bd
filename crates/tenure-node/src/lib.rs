//! Tenure in Node: what the package `tenure` loads.
//!
//! The package (under `ts/`) has the names, types and documents that a user sees. This library has what they are made of,
//! over `tenure_workspace::embedded` and `tenure_operations`, so that behaviour is the command line's. Values are exchanged
//! as JSON, which Node writes and reads fastest itself. What takes long runs in Node's pool of threads and gives a promise.

mod errors;
mod objects;
mod scorer;
mod work;
mod workspace;

use napi_derive::napi;

/// The version of the package.
#[napi]
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
