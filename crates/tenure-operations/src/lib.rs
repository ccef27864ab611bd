//! The operations of Tenure: each is one file, which every face calls.
//!
//! ```text
//! operation.rs  what an operation is, and its entry in the table
//! table.rs      all operations
//! context.rs    the store, the caller and the clock that one is called with
//! reader.rs     on whose behalf a store is read: what of it may be shown; owned.rs the same of sessions and records
//! input.rs      JSON, a path and a query as a form; fields.rs names the field that is wrong
//! belief/       claims with their evidence; conflict/ claims that cannot both hold
//! entity/       who and what objects speak of
//! outcome/      outcomes and corrections
//! pending/      all that a person has to decide on
//! registry/     the working sets of agents
//! ```
//!
//! A face reads an input, finds the entry, and writes the answer as JSON:
//!
//! ```
//! use tenure_operations::{Caller, Context, Deciders, call};
//! use tenure_store::Store;
//! use tenure_workspace::Workspace;
//!
//! let folder = tempfile::tempdir().unwrap();
//! let store = Store::sqlite(&folder.path().join("store.db"))?;
//! let workspace = Workspace::without_key()?;
//! let context = Context {
//!     store: Some(&store),
//!     caller: &Caller::owner("local"),
//!     workspace: &workspace,
//!     writing: Default::default(),
//!     expected: None,
//!     deciders: Deciders::Named,
//! };
//! call("proposeOutcome", br#"{"content": "Valves are listed in bar."}"#, &context)?;
//! let answer = call("listOutcomes", b"", &context)?;
//! let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
//! assert_eq!(answer["outcomes"][0]["state"], "proposed");
//! # Ok::<(), tenure::Error>(())
//! ```

pub mod belief;
pub mod conflict;
mod context;
pub mod entity;
pub mod fields;
mod input;
mod operation;
pub mod outcome;
mod owned;
mod page;
pub mod pending;
mod reader;
pub mod registry;
mod table;

pub use context::{Access, Caller, Context, Deciders, IF_MATCH, reviewer};
pub use input::Input;
pub use operation::{Answered, Effect, Entry, Example, Names, Numbering, Operation, Route, done};
pub use page::limit;
pub use reader::{Reader, existing, unknown};
pub use table::{call, call_as_owner, entry, table};
