//! Tokens of an identity provider (JSON Web Tokens, RFC 7519), besides the keys of the store.
//!
//! ```toml
//! issuer = "https://id.example.com/"
//! audience = "tenure"                        # or several: any of them will do
//! jwks = "https://id.example.com/keys"       # or a file, from this file's folder
//! ca = "company.pem"                         # authorities to trust for that address beside the system's
//! algorithms = ["RS256", "ES256", "EdDSA"]   # what is accepted; these, unless it is said
//! leeway_s = 30                              # how far clocks may be apart
//! keep_s = 3600                              # after which keys are read again
//! pause_s = 60                               # the least time between two readings
//! name = "staff"                             # where there are several issuers: what its callers are told apart by
//! tenants = ["acme"]                         # which tenants its tokens may claim; any, unless it is said
//!
//! [claims]                                   # a name, or a path such as "/realm_access/roles"
//! tenant = "org"                             # instead: `tenant = "acme"` above, where all are of one
//! subject = "sub"
//! roles = "roles"
//! project = "project"                        # where it is named, each token must have it
//!
//! [grants.tenure-admin]                      # what a role grants beyond itself
//! operator = true
//! ```
//!
//! Deny by default: what a token does not claim, or a role does not grant, is not given. A token without a claim that is
//! named here is refused, but for roles, of which it has none then.

mod issuers;
mod key_set;
mod source;
#[cfg(test)]
mod tests;
mod token;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::Value;
use tenure::object::{Classification, clip};
use tenure::time::Instant;
use tenure::{Error, ErrorKind};
use tenure_store::tls;
use tenure_workspace::keys::{Grant, KEYS_TENANT};
use tenure_workspace::read_text;

use self::key_set::Algorithm;
use self::source::{Missing, Source};
use self::token::{Claims, Unverified};
use crate::error::Refusal;
pub(crate) use issuers::Issuers;
use tenure_operations::Caller;

/// The beginning of the id of a caller who shows a token, in logs and records.
const PREFIX: &str = "jwt:";
/// The longest name in a claim, in bytes.
const MAX_NAME: usize = 256;
/// The most roles of a token.
const MAX_ROLES: usize = 256;

/// An issuer whose tokens are accepted, and what they grant.
pub struct Jwt {
    settings: Settings,
    source: Arc<Source>,
}

/// The configuration, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    issuer: String,
    name: Option<String>,
    audience: OneOrMore,
    jwks: String,
    ca: Option<String>,
    #[serde(default = "usual_algorithms")]
    algorithms: Vec<Algorithm>,
    #[serde(default = "half_a_minute")]
    leeway_s: u32,
    #[serde(default = "an_hour")]
    keep_s: u32,
    #[serde(default = "a_minute")]
    pause_s: u32,
    tenant: Option<String>,
    /// The tenants that tokens may claim; `*` is any of them.
    #[serde(default)]
    tenants: Vec<String>,
    #[serde(default)]
    claims: Names,
    #[serde(default)]
    grants: BTreeMap<String, Extra>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// The names of the claims that are read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Names {
    tenant: Option<String>,
    subject: String,
    roles: Option<String>,
    project: Option<String>,
}

impl Default for Names {
    fn default() -> Names {
        Names {
            tenant: None,
            subject: "sub".into(),
            roles: None,
            project: None,
        }
    }
}

/// The grants of a role beyond itself.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Extra {
    operator: bool,
    pii: bool,
    /// True if it speaks for any user of its tenant, and not for its subject alone.
    any_user: bool,
    /// True if it speaks for any project of its tenant, and not for the one that is claimed alone.
    any_project: bool,
    clearance: Option<Classification>,
    origins: Vec<String>,
}

fn usual_algorithms() -> Vec<Algorithm> {
    vec![Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa]
}

fn half_a_minute() -> u32 {
    30
}

fn a_minute() -> u32 {
    60
}

fn an_hour() -> u32 {
    3_600
}

impl Jwt {
    /// As this TOML file says; files that it names are looked for in its folder. A file of keys is read now, an
    /// address is asked when a token first needs it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when it makes no sense, or a file cannot be read.
    pub fn open(path: &Path) -> Result<Jwt, Error> {
        let shown = path.display().to_string();
        let text = read_text(path)?;
        let settings: Settings = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map(|before| before.matches('\n').count() + 1);
            tenure::error::parse_error(error.message()).at(&shown, line)
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let source = settings.check().and_then(|()| settings.source(folder));
        Ok(Jwt {
            source: Arc::new(source.map_err(|error| error.or_at(shown, None))?),
            settings,
        })
    }

    /// Returns the caller who shows this token.
    pub(crate) async fn caller(&self, token: &str, now: Instant) -> Result<Caller, Refusal> {
        let settings = &self.settings;
        let refused = |what: String| {
            Refusal::new(StatusCode::UNAUTHORIZED, what)
                .expected(format!("a token of `{}`", clip(&settings.issuer)))
        };
        let token = Unverified::read(token, &settings.algorithms).map_err(refused)?;
        let keys =
            self.source
                .with(token.kid.as_deref(), token.algorithm)
                .await
                .map_err(|missing| match missing {
                    Missing::Unknown => {
                        refused("the token is signed with a key that is not known".into())
                    }
                    Missing::Unavailable(error) => {
                        let what = format!("the keys of the issuer cannot be had: {}", error.what);
                        Error::new(ErrorKind::Unavailable, what).into()
                    }
                })?;
        let claims = token.verified(&keys).map_err(refused)?;
        let seconds = now.micros().div_euclid(1_000_000);
        let audiences = settings.audience.names();
        claims
            .check(
                &settings.issuer,
                audiences,
                seconds,
                settings.leeway_s.into(),
            )
            .map_err(refused)?;
        let (subject, grant) = settings.grant(&claims)?;
        Ok(Caller {
            tenant: grant.tenant.as_str().into(),
            key: Some(match &settings.name {
                Some(issuer) => format!("{PREFIX}{issuer}:{subject}").into(),
                None => format!("{PREFIX}{subject}").into(),
            }),
            grant: Arc::new(grant),
        })
    }
}

impl OneOrMore {
    fn names(&self) -> &[String] {
        match self {
            OneOrMore::One(name) => std::slice::from_ref(name),
            OneOrMore::More(names) => names,
        }
    }
}

impl Settings {
    fn check(&self) -> Result<(), Error> {
        let wrong = |what: &str, expected: &str| Err(Error::input(what).expected(expected));
        let audiences = self.audience.names();
        if self.issuer.trim().is_empty()
            || audiences.is_empty()
            || audiences.iter().any(|name| name.trim().is_empty())
        {
            return wrong(
                "an `issuer` or `audience` is empty",
                "what `iss` and `aud` of a token must be",
            );
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if let Some(name) = &self.name
            && (!(1..=32).contains(&name.len()) || !name.chars().all(plain))
        {
            return wrong(
                "`name` cannot be the name of an issuer",
                "1 to 32 letters, digits, `_`, `-` or `.`",
            );
        }
        if self.tenant.is_some() && !self.tenants.is_empty() {
            return wrong(
                "`tenants` are those that tokens may claim, and `tenant` is that of all",
                "one without the other",
            );
        }
        if self.algorithms.is_empty() {
            return wrong("`algorithms` is empty", "at least one");
        }
        if self.leeway_s > 300 || self.pause_s == 0 || self.keep_s < self.pause_s {
            return wrong(
                "`leeway_s`, `keep_s` and `pause_s` make no sense",
                "a leeway of at most 300 s, a pause of at least 1 s, and keys kept for no less",
            );
        }
        match (&self.tenant, &self.claims.tenant) {
            (Some(tenant), None) => {
                let named = name(&Value::String(tenant.clone())).is_some();
                if !named || tenant == KEYS_TENANT {
                    return wrong("`tenant` is no name of a tenant", "1 to 256 bytes");
                }
            }
            (None, Some(_)) => {}
            _ => {
                return wrong(
                    "which tenant a token is of is not said once",
                    "`tenant`, or `claims.tenant`",
                );
            }
        }
        if self.claims.roles.is_none() && !self.grants.is_empty() {
            return wrong(
                "`grants` are of roles, and no claim says which a token has",
                "`claims.roles`",
            );
        }
        Ok(())
    }

    /// Returns the place of the keys.
    fn source(&self, folder: &Path) -> Result<Source, Error> {
        let keep = Duration::from_secs(self.keep_s.into());
        let pause = Duration::from_secs(self.pause_s.into());
        if !self.jwks.contains("://") {
            if self.ca.is_some() {
                let error = Error::input("`ca` is of addresses, and `jwks` is a file");
                return Err(error.expected("one without the other"));
            }
            return Source::file(folder.join(&self.jwks), keep, pause);
        }
        let authorities = match &self.ca {
            None => Vec::new(),
            Some(path) => tls::authorities(&read_text(&folder.join(path))?)?,
        };
        Source::url(&self.jwks, &authorities, keep, pause)
    }

    /// Returns the caller that the subject is, with what is granted to it.
    fn grant(&self, claims: &Claims) -> Result<(String, Grant), Refusal> {
        let refused = |claim: &str, expected: &str| {
            let what = format!("the token's claim `{}` is missing or no name", clip(claim));
            Refusal::new(StatusCode::FORBIDDEN, what).expected(expected)
        };
        let claimed = |claim: &str, expected: &str| {
            claims.get(claim).and_then(name).ok_or_else(|| refused(claim, expected))
        };
        let tenant = match (&self.tenant, &self.claims.tenant) {
            (Some(tenant), _) => tenant.clone(),
            (None, claim) => claimed(claim.as_deref().unwrap_or_default(), "the tenant")?,
        };
        let may_be = |name: &String| *name == tenant || name == "*";
        if !self.tenants.is_empty() && !self.tenants.iter().any(may_be) {
            let what = "the token is of a tenant that its issuer may not claim";
            return Err(Refusal::new(StatusCode::FORBIDDEN, what));
        }
        if tenant == KEYS_TENANT {
            let what = "the token is of a tenant that there cannot be";
            return Err(Refusal::new(StatusCode::FORBIDDEN, what));
        }
        let subject = claimed(&self.claims.subject, "the subject")?;
        let roles = match &self.claims.roles {
            Some(claim) => match claims.get(claim) {
                None => Vec::new(),
                Some(value) => roles(value)
                    .ok_or_else(|| refused(claim, "the roles, as a list or with spaces between"))?,
            },
            None => Vec::new(),
        };
        let extras = || roles.iter().filter_map(|role| self.grants.get(role));
        let project = match &self.claims.project {
            // Without a project a grant is of them all: that is to be granted, not left out of a token.
            Some(claim) if !extras().any(|extra| extra.any_project) => {
                Some(claimed(claim, "the project")?)
            }
            _ => None,
        };
        let mut grant = Grant {
            tenant,
            user: Some(subject.clone()),
            project,
            ..Grant::default()
        };
        for extra in extras() {
            grant.operator |= extra.operator;
            grant.pii |= extra.pii;
            grant.clearance = grant.clearance.max(extra.clearance);
            grant.origins.extend(extra.origins.iter().cloned());
            if extra.any_user {
                grant.user = None;
            }
        }
        // In a token silence is never a yes.
        grant.clearance.get_or_insert(Classification::Public);
        grant.roles = roles;
        Ok((subject, grant))
    }
}

/// A claim that names something.
fn name(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let fits = !text.trim().is_empty() && text.len() <= MAX_NAME;
    (fits && !text.contains(char::is_control)).then(|| text.to_owned())
}

/// A claim that names roles: a list, or one text with spaces between.
fn roles(value: &Value) -> Option<Vec<String>> {
    let names: Vec<String> = match value {
        Value::Array(all) => all.iter().map(name).collect::<Option<_>>()?,
        Value::String(text) => text
            .split(' ')
            .filter(|role| !role.is_empty())
            .map(|role| name(&role.into()))
            .collect::<Option<_>>()?,
        _ => return None,
    };
    (names.len() <= MAX_ROLES).then_some(names)
}
