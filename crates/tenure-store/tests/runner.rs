//! The integration tests of the crate, as one program: it is linked once, and all tests share the processors.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)] // they are tests

#[macro_use]
mod common;

mod asked;
mod called;
mod claims;
mod copies;
mod crashes;
mod damage;
mod decisions;
mod encrypted;
mod evidence;
mod expiring;
mod histories;
mod migration;
mod mutations;
mod people;
mod postgresql;
mod preferences;
mod resolution;
mod retirement;
mod search;
mod stated;
mod talks;
mod tied;
mod verbs;
mod waiting;
mod walls;
