//! Collects sources and runs the verbs of Tenure over the pure core.
//!
//! ```text
//! collect ──► needs ──► answer ──► compile ──► record
//! (here)      (core)    (here)     (core)      (here)
//! ```
//!
//! Every stateful face (command line, server, Python) calls a [`Workspace`] and adds only words:
//!
//! ```no_run
//! use tenure::{Budget, Policy, Request};
//! use tenure_workspace::{Collect, ReadAs, Workspace};
//!
//! let workspace = Workspace::open_default()?;
//! let world = workspace.world("gpt-4o")?;
//! let collect = Collect { read_as: ReadAs::Guidance, ..Collect::default() };
//! let collected = workspace.collect(&["examples/firmware".into()], &collect)?;
//! let request = Request::new("Set up 500 Hz PWM on PB7.", Budget::tokens(4_000));
//! let outcome = workspace.compile(&world, &Policy::preset("standard")?, &request, &collected.candidates)?;
//! # Ok::<(), tenure::Error>(())
//! ```

/// The examples of the documentation compile.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/registry.md")]
struct RegistryGuide;

/// So do those on the store.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/reference/store.md")]
struct StoreGuide;

pub mod allocate;
mod answers;
pub mod archive;
mod bodies;
pub mod clients;
mod clock;
mod code_tree;
mod collect;
mod condense;
pub mod doctor;
pub mod embedded;
mod erase;
pub mod eval;
mod files;
mod frame_key;
mod gates;
mod identities;
pub mod index;
mod job;
mod json_schema;
pub mod keys;
mod logs;
pub mod memory_files;
mod originals;
pub mod packages;
mod policies;
mod prepare;
mod read;
pub mod records;
mod refresh;
pub mod registries;
pub mod relay;
pub mod sessions;
pub mod skills;
mod snapshot;
pub mod sources;
mod stored;
mod template;
pub mod transcripts;
pub mod trust;
mod units;
mod views;
mod walk;
mod workspace;

pub use answers::{BrokenConstraint, HeldAnswer, check_answer, cited_by};
pub use bodies::{CheckedBody, NAME_THE_TARGET, RequestBody, check_body};
pub use clock::Clock;
pub use code_tree::symbols_in;
pub use collect::{
    Collect, Collected, MANIFEST, Mandatory, Progress, ReadAs, Warning, WarningKind,
};
pub use condense::{Condensation, CondensationReport, Condensing, counted};
pub use erase::{Erase, Erased};
pub use files::{open_to_append, write_whole};
pub use frame_key::{default_frame_key_path, load_frame_key};
pub use gates::{GateReport, GatedBlock};
pub use job::{Done, Job};
pub use originals::{Originals, Pointer, default_originals_path};
pub use policies::Policies;
pub use prepare::{Ask, Choice, DEFAULT_MODEL, Reach, Reader, StoreAsk};
pub use refresh::{Refresh, RefreshOutcome, Refreshed};
pub use snapshot::{KeptRegistries, only_label};
pub use stored::{Gathered, ReadRegistry, RegistryRef, existing_store};
pub use template::load_template;
pub use tenure_adapters::read::{open_file, read_bytes, read_bytes_from, read_text, text_of};
pub use tenure_adapters::{
    Encoder, Pooling, RelevanceScorer, code, decide, decompose, embed, relevance, tokenizer_json,
};
pub use views::{Belief, KnownModel, as_named, object_id};
pub use walk::{HIDDEN, NO_FORMAT};
pub use workspace::{Workspace, default_catalogue_path, is_policy_file};
