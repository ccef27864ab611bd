//! The source of an issuer's keys: a file, or an address of the issuer's. What was read is kept; a
//! token that names a key that is not known makes it be read again, no more often than a bound allows.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant as Clock};

use axum::http::uri::{Scheme, Uri};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use tenure::object::clip;
use tenure::{Error, ErrorKind};
use tenure_store::tls;
use tokio::sync::Mutex;

use super::key_set::{Algorithm, KeySet};

/// The largest key set, in bytes.
const MAX_SET: usize = 512 << 10;
/// The longest that an issuer may take to give its keys.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest that a token waits for keys that would do, and are old, to be read again.
const MOMENT: Duration = Duration::from_secs(1);

/// The place that keys are read from.
enum Place {
    File(PathBuf),
    Url(Box<Address>),
}

/// An address, and the client that asks it.
struct Address {
    uri: Uri,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// Keys that were read, and when.
#[derive(Clone)]
struct Known {
    keys: Arc<KeySet>,
    at: Clock,
}

/// The keys of an issuer, as far as they are known.
pub(super) struct Source {
    place: Place,
    /// The time for which keys are used before they are read again.
    keep: Duration,
    /// The least time between two readings.
    pause: Duration,
    known: RwLock<Option<Known>>,
    /// The instant at which they were last asked for, and it ended. The task that holds the lock asks.
    asked: Mutex<Option<Clock>>,
    /// The reason why they could not be had, the last time; none where they could.
    trouble: RwLock<Option<Error>>,
}

/// The reason why there is no key for a token.
pub(super) enum Missing {
    /// The issuer has none like it.
    Unknown,
    /// The issuer's keys were never had.
    Unavailable(Error),
}

impl Source {
    /// Keys of an `https` address, or of an `http` address of this machine; nothing is asked yet.
    pub(super) fn url(
        text: &str,
        authorities: &[CertificateDer<'static>],
        keep: Duration,
        pause: Duration,
    ) -> Result<Source, Error> {
        let wrong = || {
            Error::input(format!("`{}` is no address of keys", clip(text))).expected(
                "an https URL without user or fragment, an http URL of this machine, or a file",
            )
        };
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let authority = uri.authority().ok_or_else(wrong)?;
        let host = authority.host().trim_matches(['[', ']']);
        let secure = uri.scheme() == Some(&Scheme::HTTPS);
        let local = uri.scheme() == Some(&Scheme::HTTP)
            && (host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()));
        if authority.as_str().contains('@') || text.contains('#') || !(secure || local) {
            return Err(wrong());
        }
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_connect_timeout(Some(PATIENCE));
        let builder = HttpsConnectorBuilder::new().with_tls_config(tls::client(authorities)?);
        let schemes = if secure {
            builder.https_only()
        } else {
            builder.https_or_http()
        };
        let connector = schemes.enable_http1().wrap_connector(tcp);
        let client =
            Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(connector);
        let address = Box::new(Address { uri, client });
        Ok(Source::of(Place::Url(address), keep, pause))
    }

    /// Keys of a file, which is read now.
    pub(super) fn file(path: PathBuf, keep: Duration, pause: Duration) -> Result<Source, Error> {
        let keys = KeySet::read(&file(&path)?)
            .map_err(|error| error.or_at(path.display().to_string(), None))?;
        let source = Source::of(Place::File(path), keep, pause);
        source.keep(keys);
        Ok(source)
    }

    fn of(place: Place, keep: Duration, pause: Duration) -> Source {
        Source {
            place,
            keep,
            pause,
            known: RwLock::default(),
            asked: Mutex::default(),
            trouble: RwLock::default(),
        }
    }

    fn keep(&self, keys: KeySet) {
        let known = Known {
            keys: Arc::new(keys),
            at: Clock::now(),
        };
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
        self.note(None);
    }

    fn note(&self, trouble: Option<Error>) {
        *self.trouble.write().unwrap_or_else(PoisonError::into_inner) = trouble;
    }

    fn trouble(&self) -> Option<Error> {
        let trouble = self.trouble.read().unwrap_or_else(PoisonError::into_inner);
        trouble.clone()
    }

    fn known(&self) -> Option<Known> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    /// The keys, among them one for this. They are read first where none is known, or they are old. Old ones
    /// that cannot be read again stay: an issuer that is away shuts no one out who was let in, and holds
    /// no one up for longer than it takes to find that out.
    pub(super) async fn with(
        self: &Arc<Self>,
        kid: Option<&str>,
        algorithm: Algorithm,
    ) -> Result<Arc<KeySet>, Missing> {
        let fits = |known: &Known| known.keys.has(kid, algorithm);
        // A task of its own: who goes away while it waits leaves nothing half done.
        let read_again = || {
            let source = Arc::clone(self);
            tokio::spawn(async move { source.read_again().await })
        };
        match self.known().filter(fits) {
            Some(known) if known.at.elapsed() < self.keep => return Ok(known.keys),
            Some(old) if self.trouble().is_some() && !self.is_due() => return Ok(old.keys),
            // What left the set is to be let in no more, where that can be known soon.
            Some(_) => drop(tokio::time::timeout(MOMENT, read_again()).await),
            None => drop(read_again().await),
        }
        match self.known() {
            Some(known) if fits(&known) => Ok(known.keys),
            Some(_) => Err(Missing::Unknown),
            None => Err(Missing::Unavailable(self.trouble().unwrap_or_else(|| {
                Error::new(ErrorKind::Unavailable, "they were not asked for yet")
            }))),
        }
    }

    /// Returns whether no task asks, nor did so just now.
    fn is_due(&self) -> bool {
        let asked = self.asked.try_lock();
        asked.is_ok_and(|asked| self.may_ask(*asked))
    }

    fn may_ask(&self, asked: Option<Clock>) -> bool {
        asked.is_none_or(|at| at.elapsed() >= self.pause)
    }

    /// Reads the keys, unless another task just did.
    async fn read_again(&self) {
        let mut asked = self.asked.lock().await;
        if !self.may_ask(*asked) {
            return;
        }
        match self.read().await.and_then(|json| KeySet::read(&json)) {
            Ok(keys) => self.keep(keys),
            Err(error) => self.note(Some(error)),
        }
        // Who waited meanwhile does not ask once more, however long it took.
        *asked = Some(Clock::now());
    }

    async fn read(&self) -> Result<Vec<u8>, Error> {
        let failed = |what: String| Error::new(ErrorKind::Unavailable, what);
        match &self.place {
            Place::File(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || file(&path)).await;
                read.unwrap_or_else(|_| Err(failed("the file was not read".into())))
            }
            Place::Url(address) => {
                let read = tokio::time::timeout(PATIENCE, fetch(address)).await;
                read.map_err(|_| failed(format!("no answer within {} s", PATIENCE.as_secs())))?
                    .map_err(failed)
            }
        }
    }
}

/// A file that holds a key set.
fn file(path: &std::path::Path) -> Result<Vec<u8>, Error> {
    let bytes = tenure_workspace::read_bytes(path)?;
    match bytes.len() {
        0..=MAX_SET => Ok(bytes),
        _ => Err(Error::input(too_large())),
    }
}

fn too_large() -> String {
    format!("the key set is larger than {} KiB", MAX_SET >> 10)
}

async fn fetch(address: &Address) -> Result<Vec<u8>, String> {
    let request = hyper::Request::get(address.uri.clone())
        .header("accept", "application/jwk-set+json, application/json")
        .body(Full::new(Bytes::new()))
        .map_err(|error| error.to_string())?;
    let answer = address.client.request(request).await.map_err(|error| {
        let mut cause: &dyn std::error::Error = &error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        format!("the address cannot be reached: {cause}")
    })?;
    if answer.status() != hyper::StatusCode::OK {
        return Err(format!("the address answers {}", answer.status().as_u16()));
    }
    let body = Limited::new(answer.into_body(), MAX_SET).collect().await.map_err(|error| {
        if error.is::<http_body_util::LengthLimitError>() {
            too_large()
        } else {
            format!("the answer breaks off: {error}")
        }
    })?;
    Ok(body.to_bytes().to_vec())
}
