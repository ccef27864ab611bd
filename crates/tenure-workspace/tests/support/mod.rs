//! Helpers that several tests share.

pub(crate) mod bench;
pub(crate) mod onnx;
pub(crate) mod provider_cache;
pub(crate) mod recorded;
