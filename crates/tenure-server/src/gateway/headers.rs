//! Headers: those that go through (RFC 9110, 7.6.1), those that are for this server alone, and the credentials in them.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use tenure::Digest;

use crate::http::Owner;
use crate::protocol::Protocol;
use tenure_operations::Caller;

/// Headers of one connection.
const HOP_BY_HOP: [HeaderName; 9] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];
/// The beginning of this server's own headers; none of them leaves.
const OWN: &str = "x-tenure-";
const VIA: HeaderValue = HeaderValue::from_static("1.1 tenure");

/// Returns the headers of a request as they go to the upstream. Its host and the length of its body are written
/// again with it; that there is nothing in a body is only said where the client said that there is one.
pub(super) fn request(mut headers: HeaderMap, is_empty: bool) -> HeaderMap {
    let has_body = [header::CONTENT_LENGTH, header::TRANSFER_ENCODING]
        .iter()
        .any(|name| headers.contains_key(name));
    drop_hops(&mut headers);
    for name in [header::HOST, header::CONTENT_LENGTH, header::EXPECT] {
        headers.remove(name);
    }
    if is_empty && has_body {
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(0));
    }
    drop_own(&mut headers);
    headers.append(header::VIA, VIA);
    headers
}

/// Returns the headers of an answer as they go to the client. A length stays: it is the upstream's promise, unless
/// the answer came in another framing, which overrides it (RFC 9112, 6.3).
pub(super) fn answer(mut headers: HeaderMap) -> HeaderMap {
    if headers.contains_key(header::TRANSFER_ENCODING) {
        headers.remove(header::CONTENT_LENGTH);
    }
    drop_hops(&mut headers);
    // Only we say what we did.
    drop_own(&mut headers);
    headers
}

/// Returns the owner of the connections of a caller with these credentials of the provider.
pub(super) fn owner(caller: &Caller, headers: &HeaderMap) -> Owner {
    let key = caller.key.as_deref().unwrap_or_default();
    let own = [caller.tenant.as_bytes(), key.as_bytes()];
    Owner::of(own.into_iter().chain(credentials(headers)))
}

/// Returns the key of a caller's conversations: those of the same key of this server, and of the same credentials with
/// the provider, are their own.
pub(super) fn conversations_key(
    caller: &Caller,
    headers: &HeaderMap,
    protocol: Protocol,
) -> String {
    let id = caller.key.as_deref().unwrap_or_default();
    let own = [id.as_bytes(), protocol.term().as_bytes()];
    let parts = own.into_iter().chain(credentials(headers));
    Digest::of_parts(parts).to_string()
}

/// Returns the credentials that a request shows its provider; `api-key` as Azure has it.
fn credentials(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    let shown = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    ["authorization", "x-api-key"]
        .map(|name| shown(name).unwrap_or_default())
        .into_iter()
        .chain(shown("api-key"))
}

fn drop_hops(headers: &mut HeaderMap) {
    if headers.contains_key(header::CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(header::CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| name.trim().parse().ok())
            .collect();
        for name in named {
            headers.remove(name);
        }
    }
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

fn drop_own(headers: &mut HeaderMap) {
    let own: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with(OWN)).cloned().collect();
    for name in own {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn map(headers: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::try_from(*name).unwrap(),
                HeaderValue::try_from(*value).unwrap(),
            );
        }
        map
    }

    #[test]
    fn what_is_for_one_connection_ends_here() {
        let came = map(&[
            ("connection", "close, X-Private"),
            ("x-private", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("upgrade", "websocket"),
            ("proxy-authorization", "Basic x"),
            ("host", "127.0.0.1:7878"),
            ("content-length", "12"),
            ("expect", "100-continue"),
            ("x-tenure-key", "tnr_a_b"),
            ("x-tenure-session", "s"),
            ("authorization", "Bearer sk-1"),
            ("anthropic-beta", "a"),
            ("anthropic-beta", "b"),
        ]);
        let sent = request(came, false);
        let names: Vec<&str> = sent.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["authorization", "anthropic-beta", "via"]);
        assert_eq!(sent.get_all("anthropic-beta").iter().count(), 2);
    }

    #[test]
    fn an_answer_keeps_what_is_the_providers() {
        let got = answer(map(&[
            ("content-type", "text/event-stream"),
            ("content-length", "7"),
            ("connection", "keep-alive"),
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("x-request-id", "req_1"),
            ("retry-after", "3"),
            ("x-tenure-record", "forged"),
        ]));
        assert_eq!(got.get_all("set-cookie").iter().count(), 2);
        for name in [
            "content-type",
            "content-length",
            "x-request-id",
            "retry-after",
        ] {
            assert!(got.contains_key(name), "{name}");
        }
        for name in ["connection", "x-tenure-record"] {
            assert!(!got.contains_key(name), "{name}");
        }
    }

    #[test]
    fn a_framing_overrides_a_length() {
        for coding in ["chunked", "gzip, chunked", "identity"] {
            let lengths = [("content-length", "7"), ("transfer-encoding", coding)];
            assert!(answer(map(&lengths)).is_empty(), "{coding}");
        }
    }

    #[test]
    fn an_empty_body_is_said_where_it_was_said() {
        let length = |headers: &[(&str, &str)], is_empty| {
            let sent = request(map(headers), is_empty);
            sent.get("content-length").cloned()
        };
        let zero = Some(HeaderValue::from(0));
        assert_eq!(length(&[("content-length", "0")], true), zero);
        let listed = [("connection", "content-length"), ("content-length", "0")];
        assert_eq!(length(&listed, true), zero);
        assert_eq!(length(&[("transfer-encoding", "chunked")], true), zero);
        assert_eq!(length(&[], true), None);
        assert_eq!(length(&[("content-length", "7")], false), None);
    }

    #[test]
    fn a_connection_is_of_one_tenant_key_and_credentials() {
        let of = |tenant: &str, key: Option<&str>, headers: &[(&'static str, &str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, value.parse().unwrap());
            }
            let caller = Caller {
                tenant: tenant.into(),
                key: key.map(Into::into),
                grant: Arc::default(),
            };
            owner(&caller, &map)
        };
        let owners = [
            Owner::server(),
            of("a", None, &[]),
            of("b", None, &[]),
            of("a", Some("b"), &[]),
            of("a", Some("c"), &[]),
            of("a", None, &[("authorization", "b")]),
            of("a", None, &[("authorization", "c")]),
            of("a", None, &[("x-api-key", "b")]),
            of("a", None, &[("api-key", "b")]),
        ];
        for (at, owner) in owners.iter().enumerate() {
            assert!(!owners[..at].contains(owner), "{at}");
        }
        let again = [("authorization", "b"), ("x-request-id", "1")];
        assert_eq!(of("a", None, &again), owners[5]);
    }
}
