//! The integration tests of the crate, as one program: it is linked once, and all tests share the processors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)] // they are tests

#[allow(dead_code)] // helpers, of which not all are used here
#[path = "../../tenure-store/tests/common/server.rs"]
mod server;
mod support;

mod api;
mod authority;
mod beliefs;
mod board;
mod conditions;
mod damage;
mod erasing;
mod fields;
mod gateway;
mod gateway_forms;
mod gateway_models;
mod gateway_records;
mod gateway_room;
mod gateway_sessions;
mod gateway_tools;
mod gateway_unmanaged;
mod gateway_words;
mod hostile;
mod inspect;
mod jwt;
mod mcp;
mod observe;
mod own_words;
mod ownership;
mod packages;
mod reading;
mod sessions;
mod tls;
mod verbs;
mod writers;
