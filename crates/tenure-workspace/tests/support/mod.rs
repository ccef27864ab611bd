//! Helpers that several tests share.

use tenure_workspace::{Collect, ReadAs};

/// Options that read documents as seeds.
pub(crate) fn seeds() -> Collect<'static> {
    Collect {
        read_as: ReadAs::Guidance,
        ..Collect::default()
    }
}

pub(crate) mod bench;
pub(crate) mod onnx;
pub(crate) mod provider_cache;
pub(crate) mod recorded;
