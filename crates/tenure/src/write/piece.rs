//! Bytes as they will stand, priced.

use std::sync::Arc;

use crate::base::num::Score;
use crate::condense::Method;
use crate::condense::pointer::PointerId;
use crate::provider::wire::Outgoing;

/// The mechanism that keeps a piece from being read as instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mechanism {
    /// It may be read as instructions.
    Instruction,
    /// A frame with an unpredictable boundary.
    KeyedFrame,
    /// The provider's own tool message.
    ToolMessage,
}

/// Bytes as they will stand, priced: the only thing that the budget sees.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) tokens: u32,
    pub(crate) mechanism: Mechanism,
    /// The number of imitations of frames, headings, labels and control tokens that were escaped.
    pub(crate) escaped: u16,
    /// The number of those that stand as they came, in a message that is passed on byte for byte.
    pub(crate) passed: u16,
    /// True if an imitation in disguise remains.
    pub(crate) disguised: bool,
    pub(crate) seam: Seam,
    /// The bytes, unless they are the content's own with one newline.
    pub(crate) text: Option<Arc<str>>,
    /// Its condensation, if it was condensed.
    pub(crate) how: Option<Arc<Condensation>>,
    /// The message that goes back to its provider as it came, with the piece of its first part.
    pub(crate) raw: Option<Arc<Outgoing>>,
    /// True if the price is an upper estimate, whatever the tokenizer.
    pub(crate) bounded: bool,
}

/// The condensation that made a piece shorter than its content.
#[derive(Debug)]
pub(crate) struct Condensation {
    pub(crate) method: Method,
    pub(crate) fidelity: Score,
    /// By what the original can be read back, where something was left out.
    pub(crate) pointer: Option<PointerId>,
}

/// The change at the ends of a content so that counts add up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seam {
    /// Nothing but the newline.
    Whole,
    /// White space at the end was left out.
    Trimmed,
    /// A label was put before it.
    Labelled,
}

impl Piece {
    /// Writes the bytes.
    pub(crate) fn write(&self, content: &str, out: &mut String) {
        match &self.text {
            Some(text) => out.push_str(text),
            None => {
                out.push_str(content.trim_end());
                out.push('\n');
            }
        }
    }

    /// A piece of this text at this price.
    pub(crate) fn made(tokens: u32, mechanism: Mechanism, text: Option<Arc<str>>) -> Piece {
        Piece {
            tokens,
            mechanism,
            escaped: 0,
            passed: 0,
            disguised: false,
            seam: Seam::Whole,
            text,
            how: None,
            raw: None,
            bounded: false,
        }
    }
}
