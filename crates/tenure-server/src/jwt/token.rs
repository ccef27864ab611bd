//! A token: how it is written (RFC 7515, compact), and what it claims once its signature is verified.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Map, Value};
use tenure::object::clip;

use super::key_set::{Algorithm, KeySet, MAX_KID};

/// The longest token, in bytes.
pub(super) const MAX_TOKEN: usize = 16 << 10;

/// A token that is not verified yet: only what its keys are chosen by can be asked of it.
pub(super) struct Unverified<'t> {
    /// The signed part.
    message: &'t str,
    claims: &'t str,
    signature: Vec<u8>,
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<String>,
}

/// The header before the claims. Keys that it brings with it (`jwk`, `jku`, `x5c`) are not looked at.
#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    typ: Option<String>,
    crit: Option<Value>,
}

/// The parts of a token in its compact form: what is signed (header and claims), and the signature.
struct Parts<'t> {
    message: &'t str,
    header: &'t str,
    claims: &'t str,
    signature: &'t str,
}

fn form() -> String {
    "the token is no JSON Web Token in its compact form".to_owned()
}

fn parts(text: &str) -> Result<Parts<'_>, String> {
    if text.len() > MAX_TOKEN {
        return Err(format!("the token is longer than {MAX_TOKEN} bytes"));
    }
    let (message, signature) = text.rsplit_once('.').ok_or_else(form)?;
    let (header, claims) = message.split_once('.').ok_or_else(form)?;
    if claims.contains('.') {
        return Err(form());
    }
    Ok(Parts {
        message,
        header,
        claims,
        signature,
    })
}

fn decoded(part: &str) -> Result<Vec<u8>, String> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| form())
}

/// Returns the issuer that a token names, unverified: it chooses whose keys it is checked against.
pub(super) fn issuer(text: &str) -> Result<Option<String>, String> {
    let Parts { header, claims, .. } = parts(text)?;
    let _: Header = serde_json::from_slice(&decoded(header)?).map_err(|_| form())?;
    let claims = decoded(claims)?;
    let claims: Map<String, Value> = serde_json::from_slice(&claims).map_err(|_| no_claims())?;
    let issuer = claims.get("iss").and_then(Value::as_str);
    Ok(issuer.map(str::to_owned))
}

fn no_claims() -> String {
    "the token's claims are no JSON object".into()
}

impl<'t> Unverified<'t> {
    /// Reads a token whose algorithm is one of those that are allowed; else says why it is refused.
    pub(super) fn read(text: &'t str, allowed: &[Algorithm]) -> Result<Unverified<'t>, String> {
        let Parts {
            message,
            header,
            claims,
            signature,
        } = parts(text)?;
        let header: Header = serde_json::from_slice(&decoded(header)?).map_err(|_| form())?;
        let algorithm = serde_json::from_value(Value::String(header.alg.clone()))
            .ok()
            .filter(|algorithm| allowed.contains(algorithm))
            .ok_or_else(|| format!("tokens by `{}` are not accepted here", clip(&header.alg)))?;
        if header.crit.is_some() {
            return Err("the token demands what this server does not know (`crit`)".into());
        }
        // A token for another purpose, such as the notice of a logout, is no token of access.
        let lowered = header.typ.map(|kind| kind.to_ascii_lowercase());
        let kind = lowered.as_deref().map(|kind| kind.strip_prefix("application/").unwrap_or(kind));
        if !matches!(kind, None | Some("jwt" | "at+jwt")) {
            return Err("the token is of another kind (`typ`)".into());
        }
        if header.kid.as_ref().is_some_and(|kid| kid.len() > MAX_KID) {
            return Err("the token's `kid` is too long".into());
        }
        Ok(Unverified {
            message,
            claims,
            signature: decoded(signature)?,
            algorithm,
            kid: header.kid,
        })
    }

    /// Returns its claims, if one of these keys signed it.
    pub(super) fn verified(&self, keys: &KeySet) -> Result<Claims, String> {
        let kid = self.kid.as_deref();
        let message = self.message.as_bytes();
        if !keys.verify(kid, self.algorithm, message, &self.signature) {
            return Err("the token's signature is wrong".into());
        }
        URL_SAFE_NO_PAD
            .decode(self.claims)
            .ok()
            .and_then(|claims| serde_json::from_slice(&claims).ok())
            .ok_or_else(no_claims)
    }
}

/// The claims of a verified token.
#[derive(Deserialize)]
pub(super) struct Claims(Map<String, Value>);

impl Claims {
    /// A claim by its name, or by the path to it from `/` on (RFC 6901).
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let Some(path) = name.strip_prefix('/') else {
            return self.0.get(name);
        };
        let mut steps = path.split('/').map(|step| step.replace("~1", "/").replace("~0", "~"));
        let first = self.0.get(&steps.next()?)?;
        steps.try_fold(first, |value, step| value.as_object()?.get(&step))
    }

    /// Checks whom the token is from and for, and that it holds at this second, give or take.
    pub(super) fn check(
        &self,
        issuer: &str,
        audiences: &[String],
        now: i64,
        leeway: i64,
    ) -> Result<(), String> {
        if self.get("iss").and_then(Value::as_str) != Some(issuer) {
            return Err("the token is of another issuer".into());
        }
        let ours = |value: &Value| {
            let name = value.as_str();
            name.is_some_and(|name| audiences.iter().any(|known| known == name))
        };
        let is_for_us = match self.get("aud") {
            Some(Value::Array(all)) => all.iter().any(ours),
            Some(one) => ours(one),
            None => false,
        };
        if !is_for_us {
            return Err("the token is for another audience".into());
        }
        let expires = self.second("exp")?.ok_or("the token does not say when it ends (`exp`)")?;
        if expires + leeway as f64 <= now as f64 {
            return Err("the token has expired".into());
        }
        if let Some(begins) = self.second("nbf")?
            && begins - leeway as f64 > now as f64
        {
            return Err("the token is not valid yet".into());
        }
        Ok(())
    }

    /// A second of the clock, where there is one. Whole seconds are exact as far as any clock goes.
    fn second(&self, name: &str) -> Result<Option<f64>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => value
                .as_f64()
                .map(Some)
                .ok_or_else(|| format!("the token's `{name}` is no second")),
        }
    }
}
