//! The upstreams of the gateway, by protocol, and how a request is sent to one.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::request::Parts;
use bytes::Bytes;
use http_body_util::Full;
use tenure::{Error, ErrorKind};
use tenure_workspace::records::Ending;

use super::answer::{Answer, Failure};
use super::headers;
use crate::error::Refusal;
use crate::http::{ClientError, Link, Owner, Upstream};
use crate::protocol::Protocol;

/// The upstreams of all protocols.
pub(super) struct Upstreams {
    links: Vec<Arc<Link>>,
}

impl Upstreams {
    /// Makes the ways to upstreams; nothing is asked of them yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] where two take the same protocol.
    pub(super) fn open(upstreams: Vec<Upstream>, connect: Duration) -> Result<Upstreams, Error> {
        for (at, upstream) in upstreams.iter().enumerate() {
            if upstreams[..at].iter().any(|other| other.protocol == upstream.protocol) {
                let whose = upstream.protocol.map_or("every protocol", Protocol::term);
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("there are two upstreams for {whose}"),
                ));
            }
        }
        let links = upstreams
            .into_iter()
            .map(|upstream| Link::open(upstream, connect).map(Arc::new));
        Ok(Upstreams {
            links: links.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the upstream for a protocol: its own, else the one that takes every protocol. Never another provider's,
    /// which would be shown a key that is not for it.
    pub(super) fn of(&self, protocol: Protocol) -> Option<&Arc<Link>> {
        let mut links = self.links.iter();
        links
            .find(|link| link.protocol() == Some(protocol))
            .or_else(|| self.links.iter().find(|link| link.protocol().is_none()))
    }
}

/// Sends a request with this head to an upstream, and waits for the head of its answer.
pub(super) async fn send(
    link: &Link,
    owner: Owner,
    head: &Parts,
    body: Bytes,
    patience: Duration,
) -> Result<Answer, Failure> {
    let failed = |refusal| Failure {
        refusal,
        ending: Ending::UpstreamFailed,
    };
    let uri = link.uri(&head.uri).map_err(|error| failed(Refusal::from(error)))?;
    let mut headers = headers::request(head.headers.clone(), body.is_empty());
    if let Some(protocol) = link.protocol() {
        protocol.keep_keys(&mut headers);
    }
    let mut request = hyper::Request::new(Full::new(body));
    *request.method_mut() = head.method.clone();
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    match tokio::time::timeout(patience, link.request(owner, request)).await {
        Ok(Ok(answer)) if answer.status().is_informational() => {
            Err(failed(unasked(link, answer.status())))
        }
        Ok(Ok(answer)) => Ok(Answer::of(answer)),
        Ok(Err(error)) => Err(failed(unreadable(link, &error))),
        Err(_) => {
            let seconds = patience.as_secs_f32();
            let what = format!("the upstream `{}` was silent for {seconds} s", link.shown());
            Err(Failure {
                refusal: Refusal::new(StatusCode::GATEWAY_TIMEOUT, what),
                ending: Ending::UpstreamSilent,
            })
        }
    }
}

/// Returns the refusal of a request to which an upstream gave no answer.
fn unreadable(link: &Link, error: &ClientError) -> Refusal {
    let shown = link.shown();
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let what = if error.is_connect() {
        format!("the upstream `{shown}` cannot be reached: {cause}")
    } else {
        format!("the upstream `{shown}` gave no answer that can be read: {cause}")
    };
    Refusal::new(StatusCode::BAD_GATEWAY, what)
}

/// Returns the refusal of a request whose upstream went over to another protocol unasked.
fn unasked(link: &Link, status: StatusCode) -> Refusal {
    let what = format!("the upstream `{}` answered {status}", link.shown());
    Refusal::new(StatusCode::BAD_GATEWAY, what).expected("an answer to the request")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_finds_its_upstream() {
        let open = |texts: &[&str]| {
            let upstreams = texts.iter().map(|text| text.parse().unwrap()).collect();
            Upstreams::open(upstreams, Duration::ZERO)
        };
        let both = open(&["openai=http://o", "anthropic=http://a"]).unwrap();
        assert_eq!(both.of(Protocol::OpenAi).unwrap().shown(), "http://o");
        assert_eq!(both.of(Protocol::Anthropic).unwrap().shown(), "http://a");
        let one = open(&["openai=http://o"]).unwrap();
        assert!(one.of(Protocol::Anthropic).is_none());
        assert!(both.of(Protocol::Google).is_none());
        let any = open(&["http://r"]).unwrap();
        assert_eq!(any.of(Protocol::Google).unwrap().shown(), "http://r");
        let rest = open(&["http://r", "anthropic=http://a"]).unwrap();
        assert_eq!(rest.of(Protocol::OpenAi).unwrap().shown(), "http://r");
        assert!(open(&[]).unwrap().of(Protocol::OpenAi).is_none());
        assert!(open(&["http://a", "http://b"]).is_err());
    }
}
