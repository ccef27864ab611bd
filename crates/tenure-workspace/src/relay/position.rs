//! The position at which a request ends in its session, for its answer.

use std::borrow::Cow;

use tenure::wire::Format;
use tenure::{Digest, Error};

use tenure_store::Tenant;

use super::calibration::Counted;
use super::{Relay, prefill};

/// The position at which a request ends in its session, and its cost: all that is needed to add the answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// The session.
    pub session: String,
    pub(super) format: Format,
    /// The log of its model's window.
    pub(super) model: String,
    /// The chain of the request's messages.
    pub(super) chain: Digest,
    /// The number of the last of them in the session.
    pub(super) last: u64,
    /// The tokens that were sent, about, and the room that is kept for the answer.
    pub(super) sent: u32,
    pub(super) answer: u32,
    /// The message that the answer is begun with.
    pub(super) prefill: Option<String>,
    /// Its count, where a report of the provider can be compared with it.
    pub(super) counted: Option<Counted>,
}

impl Position {
    /// The tokens that were sent, about.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// A provider's reply as one message with what it goes on from, where the provider joins both.
    pub fn finished<'m>(&self, reply: &'m str) -> Cow<'m, str> {
        self.joined(reply).map_or(Cow::Borrowed(reply), Cow::Owned)
    }

    /// The messages by which a reply makes the history longer: with what it goes on from, as one or before it.
    pub(super) fn adds(&self, reply: &str) -> String {
        match (self.joined(reply), &self.prefill) {
            (Some(joined), _) => format!("[{joined}]"),
            (None, Some(prefill)) => format!("[{prefill},{reply}]"),
            (None, None) => format!("[{reply}]"),
        }
    }

    fn joined(&self, reply: &str) -> Option<String> {
        let prefill = self.prefill.as_deref().filter(|_| self.format == Format::Anthropic)?;
        prefill::joined(prefill, reply)
    }
}

impl Relay {
    /// Notes how many tokens of input a provider reports for a request that it answered whole, all that its cache read
    /// and wrote included.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached: the next report
    /// tries again.
    pub fn reported(&self, tenant: &Tenant, position: &Position, input: u64) -> Result<(), Error> {
        position
            .counted
            .as_ref()
            .map_or(Ok(()), |counted| self.calibrate(tenant, counted, input))
    }
}
