//! The integration tests of the crate, as one program: it is linked once, and all tests share the processors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)] // they are tests

mod common;
mod support;

mod activation;
mod additivity;
mod cache;
mod compat;
mod entities;
mod examples;
mod fidelity;
mod house;
mod hygiene;
mod imitations;
mod jsonpath;
mod ladder;
mod late;
mod mandatory;
mod near;
mod objects;
mod overflow;
mod package;
mod properties;
mod quality;
mod reasons;
mod registry;
mod retrieval;
mod roundtrip;
mod schemas;
mod summaries;
mod tidy;
mod tools;
mod walls;
mod why_not;
mod wire;
mod wire_arrays;
