//! Rows: what the store keeps, and the engines that keep it.
//!
//! At the wall ([`engine`]) stand the rows of one tenant and a transaction over them; the engines keep them and decide
//! nothing. The rest of the room says what rows mean by themselves: their labels and tombstones, how beliefs settle over
//! each other in time, and the files beside a store.

pub(crate) mod blobs;
pub mod engine;
pub(crate) mod idempotency;
pub(crate) mod labels;
pub(crate) mod mark;
pub(crate) mod notes;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
pub(crate) mod settle;
pub(crate) mod sqlite;
pub(crate) mod stored;
#[cfg(feature = "tls")]
pub mod tls;
pub(crate) mod tombstones;
pub(crate) mod tree_index;
pub(crate) mod vector_cache;
