//! All tests of the operations in one program.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod generated;
mod rights;
mod table;
