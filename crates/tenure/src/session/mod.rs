//! Conversations of any length in a window: which turns stay as they were said, which stand as
//! summaries, and when that changes.
//!
//! Turns only ever join at the end, so what was sent stays byte-identical. When the history passes its
//! high-water mark the epoch ends: the oldest groups leave ([`leaving`]) down to the low-water mark, in one
//! batch, and a [`Checkpoint`] stands for each block of them. Checkpoints are summarised in turn
//! ([`Frontier`]), so that a request holds O(log N) of them. Nothing here forgets anything: a checkpoint
//! names its turns, and who keeps the session gives them back. What a person typed stands whole
//! within a share of its own ([`UserWords`]).

mod broken;
mod checkpoint;
mod forecast;
mod frontier;
mod result;
mod shown;
mod stale;
mod window;
mod words;
mod worth;

pub use crate::input::policy::SessionPolicy;
pub use broken::{Mended, mended};
pub use checkpoint::{CHECKPOINT_VERSION, Checkpoint, Said, Statement, Summarizing};
pub use forecast::{Forecast, Pyramid};
pub use frontier::Frontier;
pub use shown::Shown;
pub use stale::{Step, Superseded, superseded};
pub use window::{Group, Limit, learned_limit, learned_window, leaving, says_too_long};
pub use words::{Cut, UserWords, UserWordsKept, Words};
pub use worth::{Epochs, Worth};
