//! Whom to trust at the other end of a connection: what the system trusts, and whom one names.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tenure::{Error, ErrorKind};

/// The settings of a client that trusts the system's authorities and these.
///
/// # Errors
///
/// [`ErrorKind::Unavailable`] when no certificate authority is known.
pub fn client(authorities: &[CertificateDer<'static>]) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    let (known, _) = roots.add_parsable_certificates(system.certs);
    let (added, _) = roots.add_parsable_certificates(authorities.iter().cloned());
    if known + added == 0 {
        let why = system.errors.first().map(|error| format!(": {error}"));
        let what = format!(
            "the system has no trusted certificates{}",
            why.unwrap_or_default()
        );
        return Err(Error::new(ErrorKind::Unavailable, what)
            .hint("on Debian, the package ca-certificates has them"));
    }
    trusting(roots)
}

/// The settings of a client that trusts these authorities and no others.
///
/// # Errors
///
/// [`ErrorKind::Internal`] when TLS cannot be set up.
pub fn client_of(authorities: &[CertificateDer<'static>]) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities.iter().cloned());
    trusting(roots)
}

fn trusting(roots: RootCertStore) -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| {
            let what = format!("TLS cannot be set up: {error}");
            Error::new(ErrorKind::Internal, what)
        })?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// The authorities whose certificates a PEM text holds.
///
/// # Errors
///
/// [`ErrorKind::Input`] when it holds no certificate, or one that cannot be read or be an authority's.
pub fn authorities(pem: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let wrong = |what: String| Error::input(what).expected("certificates in PEM");
    let authorities = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| wrong(format!("the certificates cannot be read: {error}")))?;
    if authorities.is_empty() {
        return Err(wrong("there is no certificate".into()));
    }
    let mut roots = RootCertStore::empty();
    for authority in &authorities {
        roots
            .add(authority.clone())
            .map_err(|error| wrong(format!("a certificate cannot be an authority's: {error}")))?;
    }
    Ok(authorities)
}
