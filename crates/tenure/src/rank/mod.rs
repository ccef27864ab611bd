//! The arithmetic of choosing: the ranker, vectors, and the exact allocation of a budget. It knows words, numbers and
//! costs, and nothing of objects or requests.

pub mod allocate;
pub(crate) mod dates;
pub mod passages;
pub mod ranker;
pub mod vectors;
