//! Connections to a server, kept apart by the owners of the requests that went over them.
//!
//! What a server sends beyond the length that it named may arrive once the next request is on its way, and cannot be told
//! from the answer to that one. So the next request is always one of the same owner's.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::{Builder, Client, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use tenure::Digest;

use crate::cache::Cache;

/// The time for which an idle connection is kept.
const IDLE: Duration = Duration::from_secs(60);
/// The most owners whose connections are kept, and the most idle connections of one.
const OWNERS: usize = 1_024;
const IDLE_EACH: usize = 256;

/// The owner of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Owner(Digest);

impl Owner {
    /// Returns the owner of the server's own requests.
    pub(crate) fn server() -> Owner {
        Owner(Digest::of(b""))
    }

    /// Returns the owner that these parts identify, in their order.
    pub(crate) fn of<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Owner {
        Owner(Digest::of_parts(parts))
    }
}

/// Makes connections.
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
    /// Pools by owner. What is under way over the connections of a pool that is let go comes to its end.
    of: Cache<Owner, Arc<Pool>>,
}

impl Pools {
    /// Makes pools without connections; over TLS where its configuration is given.
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
            of: Cache::of(OWNERS),
        }
    }

    /// Sends a request over a connection of its owner.
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

    /// Returns the pool of an owner.
    fn of(&self, owner: Owner) -> Arc<Pool> {
        self.of.get_or_insert(owner, || {
            Arc::new(match &self.connector {
                Connector::Plain(connector) => Pool::Plain(self.builder.build(connector.clone())),
                Connector::Tls(connector) => Pool::Tls(self.builder.build(connector.clone())),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_that_was_asked_for_longest_ago_leaves() {
        let pools = Pools::new(IDLE, None);
        let of = |at: usize| pools.of(Owner(Digest::of(&at.to_le_bytes())));
        let (first, second) = (of(0), of(1));
        for at in 2..2 * OWNERS {
            of(at);
            assert!(Arc::ptr_eq(&of(0), &first));
            assert!(pools.of.lock().len() <= OWNERS);
        }
        assert!(!Arc::ptr_eq(&of(1), &second));
    }
}
