//! The integration tests of the crate, as one program: it is linked once, and all tests share the processors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)] // they are tests

#[path = "../../tenure-adapters/src/embed/answering.rs"]
mod answering;
#[path = "../../../fuzz/src/harness.rs"]
mod harness;
#[allow(dead_code)] // helpers, of which not all are used here
#[path = "../../tenure-store/tests/common/server.rs"]
mod server;
mod support;
#[path = "../../tenure-tokens/tests/thread_time/mod.rs"]
mod thread_time;

mod activation;
mod adapters;
mod bad_input;
mod bound_reasoning;
mod cache_marks;
mod cases;
mod clients;
mod cut_pays;
mod evidence;
mod examples;
mod first_cut;
mod fuzz_seeds;
mod gate;
mod given_up;
mod history;
mod hostile;
mod identities;
mod import;
mod index;
mod instructions;
mod judged;
mod late_results;
mod memory_files;
mod misread;
mod onnx;
mod pictures;
mod prepare;
mod projects;
mod records;
mod registries;
mod relay;
mod renewed;
mod room;
mod session_logs;
mod sessions;
mod transcripts;
mod trees;
mod user_words;
