//! Stage 1: candidates become rows that the other stages read fast. They depend on the candidates alone, so they are made
//! once and kept with them.

use crate::input::candidates::{Candidates, Normalized};

/// The rows of these candidates.
pub(crate) fn normalize(candidates: &Candidates) -> &Normalized {
    candidates.normalized()
}
