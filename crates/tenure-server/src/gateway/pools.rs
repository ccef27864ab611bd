//! Connections to an upstream, kept apart by whose requests went over them.
//!
//! What an upstream sends beyond the length that it named may arrive once the next request is on its way; then
//! nobody can tell it from the answer to that one. So the next request is always one of the same caller's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tenure::Digest;

use super::headers::credentials;
use crate::caller::Caller;

/// How long a connection that nobody uses is kept.
const IDLE: Duration = Duration::from_secs(60);
/// The most callers whose connections are kept, and the most of one that nobody uses.
const OWNERS: usize = 1_024;
const IDLE_EACH: usize = 256;

/// Whose a connection is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Owner(Digest);

impl Owner {
    /// The server itself.
    pub(crate) fn server() -> Owner {
        Owner(Digest::of(b""))
    }

    /// Who asks with this key of a tenant and these credentials of the provider.
    pub(super) fn of(caller: &Caller, headers: &HeaderMap) -> Owner {
        let key = caller.key.as_deref().unwrap_or_default();
        let own = [caller.tenant.as_bytes(), key.as_bytes()];
        Owner(Digest::of_parts(
            own.into_iter().chain(credentials(headers)),
        ))
    }
}

/// How connections are made.
enum Connector {
    Plain(HttpConnector),
    Tls(HttpsConnector<HttpConnector>),
}

/// The connections of one owner.
enum Pool {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

/// The connections of all owners.
pub(super) struct Pools {
    connector: Connector,
    builder: Builder,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// Each with when it was asked for last.
    pools: BTreeMap<Owner, (Arc<Pool>, u64)>,
    asked: u64,
}

impl Pools {
    /// None yet; over TLS where it is said how.
    pub(super) fn new(connect: Duration, tls: Option<ClientConfig>) -> Pools {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(connect));
        let connector = match tls {
            Some(tls) => {
                let connector = HttpsConnectorBuilder::new().with_tls_config(tls);
                Connector::Tls(connector.https_only().enable_http1().wrap_connector(tcp))
            }
            None => Connector::Plain(tcp),
        };
        let mut builder = Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new());
        builder.pool_idle_timeout(IDLE);
        builder.pool_max_idle_per_host(IDLE_EACH);
        Pools {
            connector,
            builder,
            kept: Mutex::default(),
        }
    }

    /// Sends a request over a connection of its owner's.
    pub(super) fn request(
        &self,
        owner: Owner,
        request: hyper::Request<Full<Bytes>>,
    ) -> ResponseFuture {
        match &*self.of(owner) {
            Pool::Plain(client) => client.request(request),
            Pool::Tls(client) => client.request(request),
        }
    }

    /// The pool of an owner, in the place of the one that was asked for longest ago where they are too many.
    fn of(&self, owner: Owner) -> Arc<Pool> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.asked += 1;
        let now = kept.asked;
        if let Some((pool, asked)) = kept.pools.get_mut(&owner) {
            *asked = now;
            return Arc::clone(pool);
        }
        if kept.pools.len() >= OWNERS {
            let oldest = kept.pools.iter().min_by_key(|(_, (_, asked))| *asked);
            let oldest = oldest.map(|(owner, _)| *owner);
            // Whatever is under way over its connections comes to its end.
            oldest.and_then(|oldest| kept.pools.remove(&oldest));
        }
        let pool = Arc::new(match &self.connector {
            Connector::Plain(connector) => Pool::Plain(self.builder.build(connector.clone())),
            Connector::Tls(connector) => Pool::Tls(self.builder.build(connector.clone())),
        });
        kept.pools.insert(owner, (Arc::clone(&pool), now));
        pool
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            Owner::of(&caller, &map)
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

    #[test]
    fn the_pool_that_was_asked_for_longest_ago_leaves() {
        let pools = Pools::new(IDLE, None);
        let of = |at: usize| pools.of(Owner(Digest::of(&at.to_le_bytes())));
        let (first, second) = (of(0), of(1));
        for at in 2..2 * OWNERS {
            of(at);
            assert!(Arc::ptr_eq(&of(0), &first));
            assert!(pools.kept.lock().unwrap().pools.len() <= OWNERS);
        }
        assert!(!Arc::ptr_eq(&of(1), &second));
    }
}
