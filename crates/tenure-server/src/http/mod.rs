//! A small HTTP client: addresses, and connections to them over TLS or without. Providers and the collector of traces are
//! asked with it.

mod pools;

use std::str::FromStr;
use std::time::Duration;

use axum::http::uri::{Authority, PathAndQuery, Scheme, Uri};
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use rustls::pki_types::CertificateDer;
use tenure::{Error, ErrorKind};
use tenure_store::tls;

use self::pools::Pools;
use crate::protocol::Protocol;

pub(crate) use self::pools::Owner;
pub(crate) use hyper_util::client::legacy::Error as ClientError;

/// The address that requests are forwarded to: `openai=URL`, `anthropic=URL`, or a URL that takes every protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Upstream {
    pub(crate) protocol: Option<Protocol>,
    scheme: Scheme,
    authority: Authority,
    /// The part of its paths before `/v1/`.
    base: String,
    /// The authorities whose certificates it may show, besides the system's.
    authorities: Vec<CertificateDer<'static>>,
}

impl Upstream {
    /// Returns the upstream, which may show certificates of these authorities, too: the text of a PEM file. For
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
        let path = parts.path_and_query.unwrap_or(PathAndQuery::from_static("/"));
        if path.query().is_some() {
            return wrong("has a query");
        }
        let whole = path.path().trim_end_matches('/');
        let base = whole.strip_suffix("/v1").unwrap_or(whole).to_owned();
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

    /// Returns the protocol that it takes; none where it takes any.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        self.to.protocol
    }

    /// Returns its address, for messages.
    pub(crate) fn shown(&self) -> String {
        format!("{}://{}{}", self.to.scheme, self.to.authority, self.to.base)
    }

    /// Returns the address there of a path that was asked for here.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when both make no address.
    pub(crate) fn uri(&self, asked: &Uri) -> Result<Uri, Error> {
        let path = asked.path_and_query().map_or("/", PathAndQuery::as_str);
        Uri::builder()
            .scheme(self.to.scheme.clone())
            .authority(self.to.authority.clone())
            .path_and_query(format!("{}{path}", self.to.base))
            .build()
            .map_err(|_| Error::input("the path cannot be sent on"))
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
}
