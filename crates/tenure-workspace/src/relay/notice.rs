//! Notices for an operator about a request that was managed.

use std::fmt;

/// A change to a request beyond its messages, or the cost of its answer to them.
///
/// Each has one code, which stands in the header `x-tenure-notice`, in the record and in the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// The room for the answer takes more than a quarter of the window, and the provider refuses a request that keeps
    /// less: the messages were cut for it.
    AnswerRoom {
        /// The tokens that are kept.
        kept: u32,
        /// The window.
        window: u32,
    },
    /// The policy lowered the most tokens of the answer.
    AnswerLowered {
        /// The agent's own number.
        from: u32,
        /// The number that was forwarded.
        to: u32,
    },
}

impl Notice {
    /// Its code.
    pub fn code(self) -> &'static str {
        match self {
            Notice::AnswerRoom { .. } => "answer_room",
            Notice::AnswerLowered { .. } => "answer_lowered",
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::AnswerRoom { kept, window } => write!(
                formatter,
                "the answer keeps {kept} of the window's {window} tokens, and the messages were cut for it"
            ),
            Notice::AnswerLowered { from, to } => {
                write!(formatter, "the answer may have {to} tokens, not {from}")
            }
        }
    }
}
