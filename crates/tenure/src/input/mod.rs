//! The inputs of a compile: the request with its task, the policy, the candidates as rows, and facts from outside.

pub(crate) mod candidates;
pub mod facts;
pub(crate) mod following;
pub mod gate;
pub(crate) mod outlines;
pub mod policy;
pub(crate) mod profile;
pub mod request;
pub mod retrieval;
pub(crate) mod served;
pub(crate) mod stance;
pub(crate) mod task;
