//! TLS to a server: its identity as the URL demands it, and the stream.
//!
//! | `sslmode` | |
//! |---|---|
//! | none, `disable` | plain text |
//! | `require`, `verify-full` | TLS; the certificate must be of an authority that is trusted, for the name that the URL says |
//!
//! Nothing in between: a mode that may end in plain text, or with an unauthenticated server, is refused. Authorities
//! are those of the file `sslrootcert`, else the system's.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use percent_encoding::percent_decode_str;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::ClientConfig;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use tenure::error::unknown_name;
use tenure::object::clip;
use tenure::{Error, ErrorKind};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::TlsConnector;

use crate::rows::tls;

/// The most bytes of a file of authorities.
const MAX_AUTHORITIES: u64 = 16 << 20;

/// A maker of connections over TLS.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// The settings that `sslmode` and `sslrootcert` of a URL ask for; `None` for plain text.
    pub(super) fn asked(
        mode: Option<&str>,
        authorities: Option<&str>,
    ) -> Result<Option<Tls>, Error> {
        let usage = |what: String, expected: &str| {
            Err(Error::new(ErrorKind::Usage, what).expected(expected))
        };
        match mode {
            Some("require" | "verify-full") => {}
            None | Some("disable") => {
                return match authorities {
                    None => Ok(None),
                    Some(_) => usage(
                        "the URL of the store has `sslrootcert`, and asks for no TLS".into(),
                        "`sslmode=verify-full`",
                    ),
                };
            }
            Some("allow" | "prefer" | "verify-ca") => {
                let mode = mode.unwrap_or_default();
                let what = format!(
                    "`sslmode={mode}` could end in plain text, or with a server that is not the one you mean"
                );
                return usage(what, "`sslmode=verify-full`, or `sslmode=disable`");
            }
            Some(other) => {
                let known = ["disable", "require", "verify-full"].into_iter();
                return Err(Error {
                    kind: ErrorKind::Usage,
                    ..unknown_name("`sslmode`", other, known)
                });
            }
        }
        let mut config = match authorities {
            None | Some("system") => tls::client(&[])?,
            Some(path) => {
                let path = percent_decode_str(path).decode_utf8_lossy();
                let wrong = |error: Error| error.or_at(clip(&path), None);
                let pem = read(&path).map_err(|error| {
                    wrong(Error::input(format!(
                        "`sslrootcert` cannot be read: {error}"
                    )))
                })?;
                tls::client_of(&tls::authorities(&pem).map_err(wrong)?)?
            }
        };
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Some(Tls(Arc::new(config))))
    }
}

fn read(path: &str) -> io::Result<String> {
    let mut pem = String::new();
    // A pipe might wait for ever.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a file",
        ));
    }
    let file = std::fs::File::open(path)?;
    io::Read::read_to_string(&mut io::Read::take(file, MAX_AUTHORITIES), &mut pem)?;
    Ok(pem)
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, InvalidDnsNameError> {
        Ok(Handshake {
            server: ServerName::try_from(host)?.to_owned(),
            connector: TlsConnector::from(Arc::clone(&self.0)),
        })
    }
}

/// A connection that is about to be encrypted.
pub(super) struct Handshake {
    server: ServerName<'static>,
    connector: TlsConnector,
}

impl<S> TlsConnect<S> for Handshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        let Handshake { server, connector } = self;
        Box::pin(async move { connector.connect(server, stream).await.map(Encrypted) })
    }
}

/// An encrypted connection.
pub(super) struct Encrypted<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    /// None: the certificate and the name were checked.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}
