//! Public keys as an identity provider publishes them: a JSON Web Key Set (RFC 7517).
//!
//! A key says by itself what it can verify, and the token's header only chooses among what is allowed: no
//! token is ever taken for one of another algorithm. Shared secrets (`oct`) are no keys here.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Deserialize;
use serde_json::Value;
use tenure::Error;

/// The most keys of a set.
const MAX_KEYS: usize = 100;
/// The longest id of a key, in bytes.
pub(super) const MAX_KID: usize = 512;

/// The algorithm of a signature. Those with a shared secret, and none at all, have no name here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Algorithm {
    Rs256,
    Rs384,
    Rs512,
    Ps256,
    Ps384,
    Ps512,
    Es256,
    Es384,
    #[serde(rename = "EdDSA", alias = "Ed25519")]
    EdDsa,
}

/// The parameters of a key.
#[derive(Debug)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A key that signatures are verified with.
#[derive(Debug)]
struct Key {
    kid: Option<String>,
    /// The only algorithm that it is for, where it says so.
    algorithm: Option<Algorithm>,
    material: Material,
}

/// The keys of an issuer that this server can use.
#[derive(Debug)]
pub(super) struct KeySet {
    keys: Vec<Key>,
}

/// A key as it is published; what else it says plays no part.
#[derive(Deserialize)]
struct Published {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl KeySet {
    /// Reads a set. Keys that are for something else, and keys that cannot be read, are left out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it is no key set, or none of its keys can be used.
    pub(super) fn read(json: &[u8]) -> Result<KeySet, Error> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let set: Set = serde_json::from_slice(json).map_err(|error| {
            Error::input(format!("this is no key set: {error}"))
                .expected("`{\"keys\": […]}` (RFC 7517)")
        })?;
        if set.keys.len() > MAX_KEYS {
            let what = format!("the key set has {} keys", set.keys.len());
            return Err(Error::input(what).expected(format!("at most {MAX_KEYS}")));
        }
        let keys: Vec<Key> = set.keys.into_iter().filter_map(key).collect();
        if keys.is_empty() {
            return Err(Error::input("the key set has no key that can be used").expected(
                "a key to verify signatures with: RSA of 2048 to 8192 bits, P-256, P-384 or Ed25519",
            ));
        }
        Ok(KeySet { keys })
    }

    /// Returns whether a key may have signed this. A token that names no key is that of the only one.
    pub(super) fn has(&self, kid: Option<&str>, algorithm: Algorithm) -> bool {
        self.of(kid, algorithm).next().is_some()
    }

    /// Returns whether one of the keys signed this.
    pub(super) fn verify(
        &self,
        kid: Option<&str>,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> bool {
        self.of(kid, algorithm).any(|key| key.verify(algorithm, message, signature))
    }

    fn of(&self, kid: Option<&str>, algorithm: Algorithm) -> impl Iterator<Item = &Key> {
        let only = self.keys.len() == 1;
        self.keys.iter().filter(move |key| {
            let named = match kid {
                Some(kid) => key.kid.as_deref() == Some(kid),
                None => only,
            };
            named
                && key.algorithm.is_none_or(|own| own == algorithm)
                && key.parameters(algorithm).is_some()
        })
    }
}

/// A verifier of signatures.
enum Parameters {
    Rsa(&'static signature::RsaParameters),
    Other(&'static dyn signature::VerificationAlgorithm),
}

impl Key {
    /// Returns the parameters by which it verifies signatures of an algorithm, if it does at all.
    fn parameters(&self, algorithm: Algorithm) -> Option<Parameters> {
        use Algorithm::*;
        Some(match (&self.material, algorithm) {
            (Material::Rsa { .. }, Rs256) => {
                Parameters::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256)
            }
            (Material::Rsa { .. }, Rs384) => {
                Parameters::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384)
            }
            (Material::Rsa { .. }, Rs512) => {
                Parameters::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512)
            }
            (Material::Rsa { .. }, Ps256) => Parameters::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
            (Material::Rsa { .. }, Ps384) => Parameters::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
            (Material::Rsa { .. }, Ps512) => Parameters::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
            (Material::P256(_), Es256) => Parameters::Other(&signature::ECDSA_P256_SHA256_FIXED),
            (Material::P384(_), Es384) => Parameters::Other(&signature::ECDSA_P384_SHA384_FIXED),
            (Material::Ed25519(_), EdDsa) => Parameters::Other(&signature::ED25519),
            _ => return None,
        })
    }

    fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        match (self.parameters(algorithm), &self.material) {
            (Some(Parameters::Rsa(parameters)), Material::Rsa { n, e }) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(parameters, message, signature).is_ok()
            }
            (
                Some(Parameters::Other(parameters)),
                Material::P256(point) | Material::P384(point) | Material::Ed25519(point),
            ) => UnparsedPublicKey::new(parameters, point).verify(message, signature).is_ok(),
            _ => false,
        }
    }
}

/// A published key, where it is one to verify signatures with.
fn key(published: Value) -> Option<Key> {
    let published: Published = serde_json::from_value(published).ok()?;
    let signs = published.purpose.is_none_or(|purpose| purpose == "sig");
    let verifies = |operations: Vec<String>| operations.iter().any(|name| name == "verify");
    if !signs || !published.key_ops.is_none_or(verifies) {
        return None;
    }
    let kid = published.kid;
    if kid.as_ref().is_some_and(|kid| kid.len() > MAX_KID) {
        return None;
    }
    let algorithm = published
        .alg
        .map(|name| serde_json::from_value(Value::String(name)))
        .transpose()
        .ok()?;
    let number = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
    // The coordinates of a point are as long as the curve's field, with their leading zeros.
    let point = |x: Vec<u8>, y: Vec<u8>, size: usize| {
        (x.len() == size && y.len() == size).then(|| [&[4], &x[..], &y[..]].concat())
    };
    let material = match (published.kty.as_str(), published.crv.as_deref()) {
        ("RSA", _) => {
            let trimmed = |number: Vec<u8>| {
                let zeros = number.iter().take_while(|byte| **byte == 0).count();
                number[zeros..].to_vec()
            };
            let (n, e) = (trimmed(number(published.n)?), trimmed(number(published.e)?));
            let bits = 8 * n.len() - n.first()?.leading_zeros() as usize;
            if !(2_048..=8_192).contains(&bits) {
                return None;
            }
            Material::Rsa { n, e }
        }
        ("EC", Some("P-256")) => {
            Material::P256(point(number(published.x)?, number(published.y)?, 32)?)
        }
        ("EC", Some("P-384")) => {
            Material::P384(point(number(published.x)?, number(published.y)?, 48)?)
        }
        ("OKP", Some("Ed25519")) => {
            Material::Ed25519(number(published.x).filter(|point| point.len() == 32)?)
        }
        _ => return None,
    };
    Some(Key {
        kid,
        algorithm,
        material,
    })
}
