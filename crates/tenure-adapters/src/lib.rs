//! Answers to the questions that a compile asks of the outside ([`tenure::Needs`]), by means that are heavy to build.
//!
//! | module | gives | Cargo feature |
//! |---|---|---|
//! | [`embed`] | vectors from the built-in table | |
//! | [`embed`], [`relevance`] | vectors and scores of models in the ONNX format | `onnx` |
//! | [`embed`], [`relevance`] | vectors and scores of OpenAI-compatible endpoints | `http` |
//! | [`decide`] | what an external point allows to be packed and read | `http` |
//! | [`code`] | outlines of source code | `code` |
//! | [`tokenizer_json`] | counts by a `tokenizer.json` | `tokenizer-json` |
//!
//! `full` turns all of them on; none is on by default. The functions are there in every build: without its feature, one
//! returns [`tenure::Error::without_feature`].

// A feature that is off leaves helpers without a caller; the lints hold for all of them on.
#![cfg_attr(
    not(all(feature = "http", feature = "onnx")),
    allow(dead_code, unused_imports, unused_variables)
)]

#[cfg(feature = "http")]
mod chat;
pub mod code;
pub mod decide;
pub mod decompose;
pub mod embed;
mod encoder;
#[cfg(feature = "onnx")]
mod onnx;
#[cfg(feature = "http")]
mod openai;
pub mod read;
pub mod relevance;
pub mod settings;
pub mod tokenizer_json;

pub use decompose::Decomposer;
pub use encoder::{Encoder, Pooling};
pub use relevance::RelevanceScorer;

#[cfg(not(feature = "onnx"))]
fn without_onnx() -> tenure::Error {
    tenure::Error::without_feature("models in the ONNX format", "onnx")
}

#[cfg(not(feature = "http"))]
fn without_http() -> tenure::Error {
    tenure::Error::without_feature("models behind endpoints", "http")
}
