//! Several issuers at once. A token's `iss` chooses among them before anything else of it is believed, and
//! from then on nothing but that issuer's own settings and keys is looked at.

use axum::http::StatusCode;
use tenure::Error;
use tenure::object::clip;
use tenure::time::Instant;

use super::{Jwt, token};
use crate::error::Refusal;
use tenure_operations::Caller;

/// The issuers whose tokens a server accepts.
pub(crate) struct Issuers(Vec<Jwt>);

impl Issuers {
    /// These, which must be told apart: by their addresses, and by the names that their callers get.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when two are one, or one of several does not say what is its own.
    pub(crate) fn new(all: Vec<Jwt>) -> Result<Issuers, Error> {
        for (at, jwt) in all.iter().enumerate() {
            let settings = &jwt.settings;
            let wrong = |what: &str, expected: &str| {
                let what = format!("the issuer `{}` {what}", clip(&settings.issuer));
                Err(Error::input(what).expected(expected))
            };
            let others = || all[..at].iter().map(|other| &other.settings);
            if others().any(|other| other.issuer == settings.issuer) {
                return wrong("is there twice", "one file for each issuer");
            }
            if all.len() == 1 {
                continue;
            }
            if settings.name.is_none() || others().any(|other| other.name == settings.name) {
                return wrong(
                    "is one of several, and has no name of its own",
                    "a `name` in each file, which its callers are told apart by",
                );
            }
            if settings.tenant.is_none() && settings.tenants.is_empty() {
                return wrong(
                    "is one of several, and may claim any tenant",
                    "`tenants`, the names of those that it may; [\"*\"] for any",
                );
            }
        }
        Ok(Issuers(all))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns their addresses, which are their names.
    #[cfg(feature = "mcp")]
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|jwt| &*jwt.settings.issuer)
    }

    /// Returns the caller who shows this token.
    pub(crate) async fn caller(&self, shown: &str, now: Instant) -> Result<Caller, Refusal> {
        let refused = |what: String| {
            let names: Vec<String> = self.0.iter().map(|jwt| clip(&jwt.settings.issuer)).collect();
            let expected = format!("a token of `{}`", names.join("` or `"));
            Refusal::new(StatusCode::UNAUTHORIZED, what).expected(expected)
        };
        let issuer = token::issuer(shown).map_err(refused)?;
        let mut known = self.0.iter();
        let jwt = known
            .find(|jwt| Some(&jwt.settings.issuer) == issuer.as_ref())
            .ok_or_else(|| refused("the token is of another issuer".into()))?;
        jwt.caller(shown, now).await
    }
}
