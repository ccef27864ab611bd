//! Upstreams: their addresses, and what is asked of them.

use std::str::FromStr;
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::uri::{Authority, PathAndQuery, Scheme, Uri};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy::Error as ClientError;
use rustls::pki_types::CertificateDer;
use tenure::{Error, ErrorKind};
use tenure_store::tls;

use super::Protocol;
use super::pools::{Owner, Pools};
use crate::error::Refusal;
use crate::options::Limits;

/// Where requests are forwarded to: `openai=URL`, `anthropic=URL`, or a URL that takes every protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Upstream {
    protocol: Option<Protocol>,
    scheme: Scheme,
    authority: Authority,
    /// What stands before `/v1/` in its paths.
    base: String,
    /// The authorities whose certificates it may show, beside the system's.
    authorities: Vec<CertificateDer<'static>>,
}

impl Upstream {
    /// The same, which may show certificates of these authorities, too: the text of a PEM file. For
    /// upstreams within a company, or behind a proxy of its own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the text holds no certificate, or one that cannot be read.
    pub fn trusting(self, pem: &str) -> Result<Upstream, Error> {
        Ok(Upstream {
            authorities: tls::authorities(pem)?,
            ..self
        })
    }
}

impl FromStr for Upstream {
    type Err = Error;

    fn from_str(text: &str) -> Result<Upstream, Error> {
        let (protocol, url) = match text.split_once('=') {
            Some((name, url)) if !name.contains(':') => (Some(name), url),
            _ => (None, text),
        };
        let protocol = protocol
            .map(|name| match name {
                "openai" => Ok(Protocol::OpenAi),
                "anthropic" => Ok(Protocol::Anthropic),
                _ => {
                    let known = ["openai", "anthropic"].into_iter();
                    Err(tenure::error::unknown_name("protocol", name, known))
                }
            })
            .transpose()?;
        // It may hold a password: it is not shown.
        let wrong = |what: &str| {
            Err(
                Error::new(ErrorKind::Usage, format!("the upstream's URL {what}")).expected(
                    "openai=URL, anthropic=URL or URL, such as openai=https://api.openai.com",
                ),
            )
        };
        let Ok(uri) = url.parse::<Uri>() else {
            return wrong("cannot be read");
        };
        let parts = uri.into_parts();
        let (Some(scheme), Some(authority)) = (parts.scheme, parts.authority) else {
            return wrong("has no scheme or no host");
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return wrong("is neither http nor https");
        }
        if authority.as_str().contains('@') {
            return wrong("has a user; credentials come with each request");
        }
        let path = parts
            .path_and_query
            .unwrap_or(PathAndQuery::from_static("/"));
        if path.query().is_some() {
            return wrong("has a query");
        }
        let base = path.path().trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base).to_owned();
        Ok(Upstream {
            protocol,
            scheme,
            authority,
            base,
            authorities: Vec::new(),
        })
    }
}

/// An upstream with its connections.
pub(crate) struct Link {
    to: Upstream,
    pools: Pools,
}

impl Link {
    pub(crate) fn open(to: Upstream, connect: Duration) -> Result<Link, Error> {
        let tls = (to.scheme == Scheme::HTTPS).then(|| tls::client(&to.authorities));
        let pools = Pools::new(connect, tls.transpose()?);
        Ok(Link { to, pools })
    }

    /// Whose protocol it takes; any, where none is named.
    pub(super) fn protocol(&self) -> Option<Protocol> {
        self.to.protocol
    }

    /// Where it is.
    pub(super) fn shown(&self) -> String {
        format!("{}://{}{}", self.to.scheme, self.to.authority, self.to.base)
    }

    /// Where a request of ours goes there.
    pub(crate) fn uri(&self, asked: &Uri) -> Result<Uri, Refusal> {
        let path = asked.path_and_query().map_or("/", PathAndQuery::as_str);
        Uri::builder()
            .scheme(self.to.scheme.clone())
            .authority(self.to.authority.clone())
            .path_and_query(format!("{}{path}", self.to.base))
            .build()
            .map_err(|_| Refusal::new(StatusCode::BAD_REQUEST, "the path cannot be sent on"))
    }

    /// Sends a request over a connection that is its owner's alone.
    pub(crate) async fn request(
        &self,
        owner: Owner,
        request: hyper::Request<Full<Bytes>>,
    ) -> Result<hyper::Response<Incoming>, ClientError> {
        self.pools.request(owner, request).await
    }
}

/// What an upstream that gave no answer did.
pub(super) fn failure(link: &Link, error: &ClientError) -> Refusal {
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

/// What an upstream did that went over to another protocol, which nobody asked for.
pub(super) fn unasked(link: &Link, status: StatusCode) -> Refusal {
    let what = format!("the upstream `{}` answered {status}", link.shown());
    Refusal::new(StatusCode::BAD_GATEWAY, what).expected("an answer to the request")
}

/// The upstreams of all protocols.
pub(super) struct Upstreams {
    links: Vec<Link>,
}

impl Upstreams {
    pub(super) fn open(upstreams: Vec<Upstream>, limits: &Limits) -> Result<Upstreams, Error> {
        for (at, upstream) in upstreams.iter().enumerate() {
            if upstreams[..at]
                .iter()
                .any(|other| other.protocol == upstream.protocol)
            {
                let whose = upstream.protocol.map_or("every protocol", Protocol::term);
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("there are two upstreams for {whose}"),
                ));
            }
        }
        let open = |upstream| Link::open(upstream, limits.connect);
        Ok(Upstreams {
            links: upstreams.into_iter().map(open).collect::<Result<_, _>>()?,
        })
    }

    /// The upstream for a protocol: its own, else the one that takes every protocol. None of another provider's:
    /// it would be shown a key that is none of its.
    pub(super) fn of(&self, protocol: Protocol) -> Option<&Link> {
        let of = |wanted| self.links.iter().find(|link| link.to.protocol == wanted);
        of(Some(protocol)).or_else(|| of(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri_of(upstream: &str, path: &str) -> String {
        let link = Link::open(upstream.parse().unwrap(), Duration::ZERO).unwrap();
        link.uri(&path.parse().unwrap()).unwrap().to_string()
    }

    #[test]
    fn paths_are_those_of_the_upstream() {
        for (upstream, uri) in [
            ("openai=http://h:1", "http://h:1/v1/models?a=b%20c"),
            ("http://h:1/", "http://h:1/v1/models?a=b%20c"),
            ("http://h:1/v1", "http://h:1/v1/models?a=b%20c"),
            ("http://h/api/v1/", "http://h/api/v1/models?a=b%20c"),
            (
                "anthropic=http://h/proxy",
                "http://h/proxy/v1/models?a=b%20c",
            ),
        ] {
            assert_eq!(uri_of(upstream, "/v1/models?a=b%20c"), uri, "{upstream}");
        }
    }

    #[test]
    fn what_is_no_upstream_is_refused_without_showing_it() {
        for wrong in [
            "",
            "openai=",
            "h",
            "ftp://h",
            "http://user:secret@h",
            "http://h?key=secret",
            "gemini=http://h",
        ] {
            let error = wrong.parse::<Upstream>().unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn each_protocol_finds_its_upstream() {
        let open = |texts: &[&str]| {
            let upstreams = texts.iter().map(|text| text.parse().unwrap()).collect();
            Upstreams::open(upstreams, &Limits::default())
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
