//! Limits of sizes and times.

use std::time::Duration;

/// The limits of sizes and times. No time is longer than [`Limits::LONGEST`], whatever stands here.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The largest body of a request, in bytes.
    pub body: usize,
    /// The most connections at once; more wait to be accepted.
    pub connections: usize,
    /// The longest wait for the head of a request, also of the next on a connection that stays open, and for a
    /// client to take anything of what it is sent.
    pub head: Duration,
    /// The longest silence within a request's body.
    pub silence: Duration,
    /// The longest that a request of the API may take.
    pub answer: Duration,
    /// The longest wait for a connection to an upstream.
    pub connect: Duration,
    /// The longest silence of an upstream, before its answer or within it.
    pub upstream: Duration,
    /// The longest that requests may go on once the server is told to stop.
    pub drain: Duration,
    /// The most requests of one tenant in a minute; any number, where it is not set.
    pub rate: Option<u32>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            body: 64 << 20,
            connections: 16_384,
            head: Duration::from_secs(60),
            silence: Duration::from_secs(30),
            answer: Duration::from_secs(60),
            connect: Duration::from_secs(10),
            upstream: Duration::from_secs(600),
            drain: Duration::from_secs(30),
            rate: None,
        }
    }
}

impl Limits {
    /// The longest that anything is waited for: a year.
    pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    /// Returns the limits with times that can be added to any instant.
    pub(crate) fn bounded(self) -> Limits {
        let bounded = |time: Duration| time.min(Limits::LONGEST);
        Limits {
            head: bounded(self.head),
            silence: bounded(self.silence),
            answer: bounded(self.answer),
            connect: bounded(self.connect),
            upstream: bounded(self.upstream),
            drain: bounded(self.drain),
            ..self
        }
    }

    /// Returns the limits with another largest body, in bytes.
    #[must_use]
    pub fn with_body(self, body: usize) -> Limits {
        Limits { body, ..self }
    }

    /// Returns the limits with another patience for upstreams.
    #[must_use]
    pub fn with_upstream(self, upstream: Duration) -> Limits {
        Limits { upstream, ..self }
    }

    /// Returns the limits with another patience for clients that do not send, or do not take what they are sent.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Limits {
        Limits {
            head: patience,
            silence: patience,
            ..self
        }
    }

    /// Returns the limits with another time to come to an end.
    #[must_use]
    pub fn with_drain(self, drain: Duration) -> Limits {
        Limits { drain, ..self }
    }

    /// Returns the limits with at most `rate` requests of a tenant in a minute.
    #[must_use]
    pub fn with_rate(self, rate: Option<u32>) -> Limits {
        Limits { rate, ..self }
    }
}
