//! The eleven stages, each in its own file, some with a folder, each with its own type. They meet only in
//! `compile.rs`: no stage calls another, none knows of registries, packages or stores, and none parses what a provider
//! writes. `live` is no stage, but what travels through all of them.

pub(crate) mod admit;
pub(crate) mod contain;
pub(crate) mod emit;
pub(crate) mod fit;
mod live;
pub(crate) mod normalize;
pub(crate) mod order;
pub(crate) mod plan;
pub(crate) mod rank;
pub(crate) mod rescue;
pub(crate) mod resolve;
pub(crate) mod settle;

pub(crate) use admit::admit;
pub(crate) use contain::contain;
pub(crate) use emit::emit;
pub(crate) use fit::fit;
pub(crate) use live::Live;
pub(crate) use normalize::normalize;
pub(crate) use order::order;
pub(crate) use plan::plan;
pub(crate) use rank::rank;
pub(crate) use rescue::rescue;
pub(crate) use resolve::resolve;
pub(crate) use settle::settle;
