//! The answer of an upstream before it goes on: its head, and as much of its body as was read ahead.

use std::fmt;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::ext::ReasonPhrase;
use tenure_workspace::records::Ending;

use super::headers;
use super::unpack::Packed;
use crate::error::Refusal;
use crate::http::Link;

/// The most that is read of an answer before it goes on, in bytes.
const AHEAD: usize = 1 << 20;

/// The answer of an upstream.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) reason: Option<ReasonPhrase>,
    /// As they go to the client.
    pub(super) headers: HeaderMap,
    pub(super) ahead: Ahead,
    /// The body behind what was read ahead.
    pub(super) body: Incoming,
}

impl Answer {
    /// Takes an answer whose head has come.
    pub(super) fn of(answer: hyper::Response<Incoming>) -> Answer {
        let (mut head, body) = answer.into_parts();
        Answer {
            status: head.status,
            reason: head.extensions.remove(),
            headers: headers::answer(head.headers),
            ahead: Ahead::default(),
            body,
        }
    }

    /// Returns whether it may say that the request is too long.
    pub(super) fn may_say_too_long(&self) -> bool {
        let statuses = [
            StatusCode::BAD_REQUEST,
            StatusCode::PAYLOAD_TOO_LARGE,
            StatusCode::UNPROCESSABLE_ENTITY,
        ];
        statuses.contains(&self.status)
    }

    /// Returns whether it is JSON that is not streamed.
    pub(super) fn is_whole_json(&self) -> bool {
        let kind = self
            .headers
            .get(header::CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .unwrap_or_default();
        self.status == StatusCode::OK && kind.starts_with("application/json")
    }

    /// Returns whether nothing more comes than what was read ahead.
    pub(super) fn is_at_end(&self) -> bool {
        self.ahead.whole || self.body.is_end_stream()
    }

    /// Reads it to its end, but no more of it than is worth looking at.
    pub(super) async fn read_ahead(&mut self, silence: Duration) {
        self.ahead = Ahead::read(&mut self.body, silence).await;
    }

    /// Returns what was read ahead.
    pub(super) fn packed(&self) -> Packed {
        Packed::of(&self.headers, self.ahead.bytes())
    }

    /// Returns the failure of an answer that broke off while it was read ahead, so that nothing of it has gone on.
    pub(super) fn failure(&self, link: &Link) -> Option<Failure> {
        self.ahead.broken.as_ref().map(|broken| broken.failure(link))
    }
}

/// A request that gets no answer of its upstream: what its client is told, and how its record ends.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) refusal: Refusal,
    pub(super) ending: Ending,
}

/// The beginning of a body that was read before it goes on.
#[derive(Default)]
pub(super) struct Ahead {
    pub(super) data: Option<Bytes>,
    /// Reason for which the answer broke off within it, where it did.
    pub(super) broken: Option<Broken>,
    /// True if it is the whole answer.
    pub(super) whole: bool,
}

impl Ahead {
    async fn read(body: &mut Incoming, silence: Duration) -> Ahead {
        let mut ahead = Ahead::default();
        let mut data = Vec::new();
        while data.len() < AHEAD {
            match tokio::time::timeout(silence, body.frame()).await {
                Ok(Some(Ok(frame))) => {
                    data.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
                }
                Ok(Some(Err(error))) => {
                    ahead.broken = Some(Broken::Upstream(error));
                    break;
                }
                Ok(None) => {
                    ahead.whole = true;
                    break;
                }
                Err(_) => {
                    ahead.broken = Some(Broken::Silent);
                    break;
                }
            }
        }
        ahead.data = (!data.is_empty()).then(|| Bytes::from(data));
        ahead
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.data.clone().unwrap_or_default()
    }
}

/// The reason why an answer breaks off.
#[derive(Debug)]
pub(super) enum Broken {
    Upstream(hyper::Error),
    Silent,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Upstream(error) => write!(f, "the upstream broke off: {error}"),
            Broken::Silent => f.write_str("the upstream fell silent"),
        }
    }
}

impl std::error::Error for Broken {}

impl Broken {
    /// Returns how the record of the answer ends.
    pub(super) fn ending(&self) -> Ending {
        match self {
            Broken::Upstream(_) => Ending::UpstreamBroke,
            Broken::Silent => Ending::UpstreamSilent,
        }
    }

    fn failure(&self, link: &Link) -> Failure {
        let status = match self {
            Broken::Upstream(_) => StatusCode::BAD_GATEWAY,
            Broken::Silent => StatusCode::GATEWAY_TIMEOUT,
        };
        let what = format!("{self} within its answer: `{}`", link.shown());
        Failure {
            refusal: Refusal::new(status, what),
            ending: self.ending(),
        }
    }
}
