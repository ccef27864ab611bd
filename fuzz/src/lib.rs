//! The harness of the fuzz targets, as they use it.

pub mod harness;
