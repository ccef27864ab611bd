//! Whom to trust at the other end of a connection: what the system trusts, and whom one names beside it.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tenure::{Error, ErrorKind};

/// The settings of a client that trusts the system's authorities and these.
///
/// # Errors
///
/// [`ErrorKind::Unavailable`] when there is nobody to trust.
pub fn client(authorities: &[CertificateDer<'static>]) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    let (known, _) = roots.add_parsable_certificates(system.certs);
    let (added, _) = roots.add_parsable_certificates(authorities.iter().cloned());
    if known + added == 0 {
        let why = system.errors.first().map(|error| format!(": {error}"));
        let what = format!(
            "the system has no certificates to trust{}",
            why.unwrap_or_default()
        );
        return Err(Error::new(ErrorKind::Unavailable, what)
            .hint("on Debian, the package ca-certificates has them"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| {
        let what = format!("TLS cannot be set up: {error}");
        Error::new(ErrorKind::Internal, what)
    })?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}
