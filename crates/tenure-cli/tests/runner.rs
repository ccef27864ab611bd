//! The integration tests of the crate, as one program: it is linked once, and all tests share the processors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)] // they are tests

#[path = "../../tenure-workspace/tests/support/onnx.rs"]
mod onnx;
#[allow(dead_code)] // helpers, of which not all are used here
#[path = "../../tenure-store/tests/common/server.rs"]
mod server;
mod support;

mod allocate;
mod archive;
mod beliefs;
mod cache;
mod caller;
mod check;
mod code_tree;
mod condense;
mod conflicts;
mod context;
mod context_faults;
mod contract;
mod copies;
mod crowd;
mod damage;
mod entities;
mod eval;
mod faces;
mod failure_modes;
mod foreign_calls;
mod help;
mod interrupt;
mod least;
mod log;
mod mcp;
mod misread;
mod models;
mod nodes;
mod operations;
mod outcomes;
mod output;
mod overflow;
mod packages;
mod pipes;
mod projects;
mod proposals;
mod reads;
mod refresh;
mod registry;
mod relevance;
mod report;
mod retrieval;
mod serve;
mod session;
mod setup;
mod store;
mod template;
mod trust;
