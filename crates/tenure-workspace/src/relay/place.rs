//! Where a request ended, for its answer.

use std::borrow::Cow;

use tenure::wire::Format;
use tenure::{Digest, Error};

use tenure_store::Tenant;

use super::calibration::Counted;
use super::{Relay, begun};

/// Where a request ends in its session, and what it costs: enough to add what is answered to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The session.
    pub session: String,
    pub(super) format: Format,
    /// The log of its model's window.
    pub(super) model: String,
    /// The chain of the request's messages.
    pub(super) chain: Digest,
    /// The number of the last of them in the session.
    pub(super) last: u64,
    /// What was sent, about, in tokens, and the room that it keeps for the answer.
    pub(super) sent: u32,
    pub(super) answer: u32,
    /// The message that the answer is begun with.
    pub(super) begun: Option<String>,
    /// How it was counted, where that says how its provider counts.
    pub(super) counted: Option<Counted>,
}

impl Place {
    /// What was sent, about, in tokens.
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// A provider's reply as one message with what it goes on from, where the provider joins both.
    pub fn finished<'m>(&self, reply: &'m str) -> Cow<'m, str> {
        self.joined(reply).map_or(Cow::Borrowed(reply), Cow::Owned)
    }

    /// The messages by which a reply makes the history longer: with what it goes on from, as one or before it.
    pub(super) fn adds(&self, reply: &str) -> String {
        match (self.joined(reply), &self.begun) {
            (Some(joined), _) => format!("[{joined}]"),
            (None, Some(begun)) => format!("[{begun},{reply}]"),
            (None, None) => format!("[{reply}]"),
        }
    }

    fn joined(&self, reply: &str) -> Option<String> {
        let begun = self.begun.as_deref();
        let begun = begun.filter(|_| self.format == Format::Anthropic)?;
        begun::joined(begun, reply)
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
    pub fn reported(&self, tenant: &Tenant, place: &Place, input: u64) -> Result<(), Error> {
        let noted = place.counted.as_ref();
        noted.map_or(Ok(()), |counted| self.calibrate(tenant, counted, input))
    }
}
