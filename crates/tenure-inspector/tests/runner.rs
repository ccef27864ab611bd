//! The integration tests of the crate, as one program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // they are tests

mod attention;
mod hostile;
mod waiting;
