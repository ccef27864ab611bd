//! API keys: who may speak for which tenant, kept in the store as a log that is only appended to.
//!
//! A key is an id and 256 random bits. The bits are shown once; their SHA-256 is kept, from which 256 random bits
//! cannot be guessed (a slow hash is for passwords, which people choose). A key is never changed: it is made, and it
//! may be revoked, and every node on the store reads both in the same log.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use tenure::error::nearest;
use tenure::object::{Authority, Classification, clip};
use tenure::time::Instant;
use tenure::{Digest, Error, ErrorKind, Principal};
use tenure_store::{Store, Subject, Tenant};

/// The part of a store that holds the keys. It belongs to no tenant that a key could be made for.
pub const KEYS_TENANT: &str = "tenure:keys";
/// The prefix of every key, by which scanners for leaked secrets find one.
const PREFIX: &str = "tnr_";
const LOG: &str = "keys";
/// The number of tries of an append while others append, too.
const TRIES: usize = 16;

/// The rights of a key.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grant {
    /// The tenant that it speaks for.
    pub tenant: String,
    /// The user that it speaks for; any, where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The project that it speaks for; any, where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The roles that it has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// The most sensitive class that it may see: without one, an operator sees every class, and any other what is
    /// public.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clearance: Option<Classification>,
    /// The web origins whose memory it may read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<String>,
    /// True if it may see objects tagged `pii`.
    #[serde(skip_serializing_if = "is_false")]
    pub pii: bool,
    /// True if it may read and write all that its tenant has, past every access list.
    #[serde(skip_serializing_if = "is_false")]
    pub operator: bool,
    /// True if it only reads: it writes nothing, records nothing, and sends nothing to a provider.
    #[serde(skip_serializing_if = "is_false")]
    pub read_only: bool,
    /// The instant at which it expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Instant>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Grant {
    /// The rights of a machine's owner over a tenant of their own.
    pub fn owner(tenant: impl Into<String>) -> Grant {
        Grant {
            tenant: tenant.into(),
            clearance: Some(Classification::HighlyRestricted),
            pii: true,
            operator: true,
            ..Grant::default()
        }
    }

    /// The most sensitive class that it may see.
    pub fn clears(&self) -> Classification {
        let silent = if self.operator {
            Classification::HighlyRestricted
        } else {
            Classification::Public
        };
        self.clearance.unwrap_or(silent)
    }

    /// The most authority that what it brings or writes has: an operator's speaks for the platform, any other for a user.
    pub fn authority(&self) -> Authority {
        if self.operator {
            Authority::Platform
        } else {
            Authority::User
        }
    }

    /// On whose behalf a request runs that does not say so.
    pub fn principal(&self) -> Principal {
        Principal {
            tenant: self.tenant.clone(),
            user: self.user.clone(),
            project: self.project.clone(),
            roles: self.roles.clone(),
            origins: self.origins.clone(),
            clearance: self.clears(),
            pii_authorized: self.pii,
            ..Principal::default()
        }
    }

    /// On whose behalf a request runs that says so, which must not be more than is granted. What is
    /// granted to one user or project stays with that one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] that names what is not granted.
    pub fn bind(&self, asked: Principal) -> Result<Principal, Error> {
        let mut asked = asked;
        if asked.tenant != self.tenant {
            return Err(refused("is of the tenant", &asked.tenant, &self.tenant));
        }
        for (own, given, what) in [
            (&self.user, &mut asked.user, "is of the user"),
            (&self.project, &mut asked.project, "is of the project"),
        ] {
            let Some(own) = own else { continue };
            match given {
                Some(given) if given != own => return Err(refused(what, given, own)),
                _ => *given = Some(own.clone()),
            }
        }
        if self.operator {
            return Ok(asked);
        }
        if let Some(role) = asked.roles.iter().find(|role| !self.roles.contains(role)) {
            return Err(refused("has the role", role, &self.roles.join(", ")));
        }
        // None can be left out either: some objects are closed to those who have a role.
        asked.roles.clone_from(&self.roles);
        let mut origins = asked.origins.iter();
        if let Some(origin) = origins.find(|origin| !self.origins.contains(origin)) {
            return Err(refused(
                "reads of the origin",
                origin,
                &self.origins.join(", "),
            ));
        }
        let most = self.clears();
        if asked.clearance > most {
            return Err(refused(
                "is cleared for",
                asked.clearance.term(),
                most.term(),
            ));
        }
        if asked.pii_authorized && !self.pii {
            return Err(refused("sees", "pii", "no personal data"));
        }
        Ok(asked)
    }
}

fn refused(what: &str, asked: &str, granted: &str) -> Error {
    Error::new(
        ErrorKind::Policy,
        format!("the request {what} `{}`, which is not granted", clip(asked)),
    )
    .expected(match granted {
        "" => "none".to_owned(),
        granted => clip(granted),
    })
}

/// A key that is in no store: whoever makes it says what it opens.
///
/// # Errors
///
/// [`ErrorKind::Unavailable`] when the system gives no random bits.
pub fn random_key() -> Result<String, Error> {
    Ok(format!("{PREFIX}run_{}", hexadecimal::<32>()?))
}

/// A key, without what makes it secret.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Its id.
    pub id: String,
    /// Its rights.
    pub grant: Grant,
    /// The instant at which it was made.
    pub created: Instant,
    /// The instant at which it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<Instant>,
    /// The digest of its random part.
    digest: Digest,
}

impl Key {
    /// Returns whether it is valid at an instant: neither expired nor revoked.
    pub fn is_valid(&self, now: Instant) -> bool {
        self.revoked.is_none() && self.grant.expires.is_none_or(|expires| now < expires)
    }
}

/// An entry of the log.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Entry {
    Created(Key),
    Revoked { id: String, at: Instant },
}

/// The keys as they stood at a version.
#[derive(Clone, Default, Debug)]
pub struct KeySet {
    keys: BTreeMap<String, Key>,
    version: u64,
}

impl KeySet {
    /// Returns whether no key was ever made.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The version of the log that they were read at.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The user whom the key of an id speaks for, revoked or not.
    pub fn user_of(&self, id: &str) -> Option<&str> {
        self.keys.get(id)?.grant.user.as_deref()
    }

    /// All of them, by id.
    pub fn iter(&self) -> impl Iterator<Item = &Key> {
        self.keys.values()
    }

    /// The key that a caller shows, where it is one and opens something now.
    pub fn open(&self, shown: &str, now: Instant) -> Option<&Key> {
        let (id, secret) = shown.strip_prefix(PREFIX)?.split_once('_')?;
        let key = self.keys.get(id)?;
        // Digests are compared, of which no prefix can be tried out.
        (Digest::of(secret.as_bytes()) == key.digest && key.is_valid(now)).then_some(key)
    }
}

/// The keys of a store.
#[derive(Clone, Debug)]
pub struct Keys {
    log: Tenant,
}

impl Keys {
    /// Those of this store.
    ///
    /// # Errors
    ///
    /// None for a store that is open.
    pub fn of(store: &Store) -> Result<Keys, Error> {
        Ok(Keys {
            log: store.tenant(KEYS_TENANT)?,
        })
    }

    /// A person by name, with the keys of this tenant that speak for them, revoked ones included.
    ///
    /// # Errors
    ///
    /// As [`Keys::load`].
    pub fn subject(store: &Store, tenant: &str, name: &str) -> Result<Subject, Error> {
        let known = Keys::of(store)?.load()?;
        let own = known
            .iter()
            .filter(|key| key.grant.tenant == tenant && key.grant.user.as_deref() == Some(name));
        Ok(Subject {
            name: name.to_owned(),
            keys: own.map(|key| key.id.clone()).collect(),
        })
    }

    /// Changes with every key that is made or revoked.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn version(&self) -> Result<u64, Error> {
        self.log.version()
    }

    /// The keys as they stand now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`] when an entry cannot be read or is lost; [`ErrorKind::Unavailable`] when the store
    /// cannot be reached.
    pub fn load(&self) -> Result<KeySet, Error> {
        // An entry that comes after the probe is read twice, never missed.
        let version = self.log.version()?;
        let mut keys: BTreeMap<String, Key> = BTreeMap::new();
        // Each append is of one entry: a key that was revoked is not valid because that was lost.
        let writes = self.log.log(0, u32::MAX)?;
        let appended = writes.iter().filter(|write| write.verb == "append").count();
        let entries = self.log.entries(LOG, 0)?;
        if entries.len() < appended {
            let what = format!(
                "the log of keys has {} of {appended} entries",
                entries.len()
            );
            return Err(Error::damaged(what));
        }
        for (number, body) in entries {
            let entry = serde_json::from_str(&body).map_err(|error| {
                Error::damaged(format!(
                    "entry {number} of the keys cannot be read: {error}"
                ))
            })?;
            match entry {
                Entry::Created(key) => drop(keys.insert(key.id.clone(), key)),
                Entry::Revoked { id, at } => {
                    if let Some(key) = keys.get_mut(&id) {
                        key.revoked.get_or_insert(at);
                    }
                }
            }
        }
        Ok(KeySet { keys, version })
    }

    /// Makes a key. The second value is its secret, which is shown once and kept nowhere.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when it names no tenant, or no clearance and is no operator's; [`ErrorKind::Unavailable`] when the store cannot be
    /// reached.
    pub fn create(&self, grant: Grant, now: Instant) -> Result<(Key, String), Error> {
        if grant.tenant.trim().is_empty() || grant.tenant == KEYS_TENANT {
            return Err(
                Error::input(format!("cannot create a key for `{}`", clip(&grant.tenant)))
                    .expected("the name of a tenant"),
            );
        }
        if grant.expires.is_some_and(|expires| expires <= now) {
            return Err(Error::input("the key would expire before it is created")
                .expected("an instant in the future"));
        }
        if grant.clearance.is_none() && !grant.operator {
            let classes: Vec<&str> = Classification::ALL.iter().map(|class| class.term()).collect();
            return Err(Error::input("the key has no clearance")
                .expected(format!(
                    "the most sensitive class that it may see: {}",
                    classes.join(", ")
                ))
                .hint("objects without a label are `restricted`; an operator sees every class"));
        }
        let id = hexadecimal::<6>()?;
        let secret = hexadecimal::<32>()?;
        let key = Key {
            id,
            grant,
            created: now,
            revoked: None,
            digest: Digest::of(secret.as_bytes()),
        };
        self.append(&Entry::Created(key.clone()))?;
        let shown = format!("{PREFIX}{}_{secret}", key.id);
        Ok((key, shown))
    }

    /// Revokes a key. One that is revoked stays so.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when there is no such key; [`ErrorKind::Unavailable`] when the store cannot
    /// be reached.
    pub fn revoke(&self, id: &str, now: Instant) -> Result<Key, Error> {
        let known = self.load()?;
        let Some(key) = known.keys.get(id) else {
            let error = Error::not_found(format!("there is no key `{}`", clip(id)));
            return Err(match nearest(id, known.keys.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("`tenure keys list` shows what there is"),
            });
        };
        if key.revoked.is_none() {
            self.append(&Entry::Revoked {
                id: id.to_owned(),
                at: now,
            })?;
        }
        Ok(Key {
            revoked: key.revoked.or(Some(now)),
            ..key.clone()
        })
    }

    fn append(&self, entry: &Entry) -> Result<(), Error> {
        let body = serde_json::to_string(entry)
            .map_err(|error| Error::input(format!("the key cannot be written: {error}")))?;
        let mut tries = 0;
        loop {
            let logs = self.log.logs()?;
            let last = logs.iter().find(|(log, _)| log == LOG).map_or(0, |(_, last)| *last);
            tries += 1;
            match self.log.append(LOG, last, vec![body.clone()]) {
                Err(error) if error.kind == ErrorKind::Conflict && tries < TRIES => {}
                done => return done.map(drop),
            }
        }
    }
}

/// `N` random bytes in hexadecimal.
fn hexadecimal<const N: usize>() -> Result<String, Error> {
    let mut bytes = [0u8; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(
            ErrorKind::Unavailable,
            format!("the system's random number generator failed: {error}"),
        )
    })?;
    let mut text = String::with_capacity(2 * N);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_micros(1_000_000);

    fn keys() -> (tempfile::TempDir, Keys) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::sqlite(&folder.path().join("store.db")).unwrap();
        (folder, Keys::of(&store).unwrap())
    }

    fn grant() -> Grant {
        Grant {
            tenant: "acme".into(),
            roles: vec!["reader".into()],
            clearance: Some(Classification::Public),
            ..Grant::default()
        }
    }

    #[test]
    fn an_operator_sees_every_class_and_any_other_key_says_which() {
        let (_folder, keys) = keys();
        let silent = Grant {
            clearance: None,
            ..grant()
        };
        let error = keys.create(silent.clone(), NOW).unwrap_err();
        assert!(error.to_string().contains("highly_restricted"), "{error}");
        let operator = Grant {
            operator: true,
            ..silent.clone()
        };
        // As keys that were made before say it.
        let stored = serde_json::to_string(&operator).unwrap();
        assert!(!stored.contains("clearance"), "{stored}");
        let stored: Grant = serde_json::from_str(&stored).unwrap();
        assert_eq!(
            stored.principal().clearance,
            Classification::HighlyRestricted
        );
        keys.create(operator.clone(), NOW).unwrap();
        let narrow = Grant {
            clearance: Some(Classification::Confidential),
            ..operator
        };
        assert_eq!(narrow.principal().clearance, Classification::Confidential);
        // Keys that were made without a clearance before see what they saw.
        assert_eq!(silent.principal().clearance, Classification::Public);
    }

    #[test]
    fn a_key_opens_until_it_ends_or_is_revoked() {
        let (_folder, keys) = keys();
        assert!(keys.load().unwrap().is_empty());
        let (key, shown) = keys.create(grant(), NOW).unwrap();
        let ends = Instant::from_micros(2_000_000);
        let short = Grant {
            expires: Some(ends),
            ..grant()
        };
        let (_, short) = keys.create(short, NOW).unwrap();
        let set = keys.load().unwrap();
        assert_eq!(set.open(&shown, NOW), Some(&key));
        assert!(set.open(&short, NOW).is_some() && set.open(&short, ends).is_none());
        let mut wrong = shown.clone();
        wrong.replace_range(
            shown.len() - 1..,
            if shown.ends_with('0') { "1" } else { "0" },
        );
        for bad in [&wrong, "", "tnr_", &shown[4..], &shown[..shown.len() - 1]] {
            assert!(set.open(bad, NOW).is_none(), "{bad}");
        }
        let before = keys.version().unwrap();
        keys.revoke(&key.id, NOW).unwrap();
        keys.revoke(&key.id, ends).unwrap();
        assert!(keys.version().unwrap() > before);
        let set = keys.load().unwrap();
        assert!(set.open(&shown, NOW).is_none());
        assert_eq!(
            set.iter().filter_map(|key| key.revoked).collect::<Vec<_>>(),
            [NOW]
        );
        let error = keys.revoke("nobody", NOW).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NotFound);
    }

    #[test]
    fn no_secret_is_kept() {
        let (folder, keys) = keys();
        let (_, shown) = keys.create(grant(), NOW).unwrap();
        let secret = shown.rsplit('_').next().unwrap();
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(secret));
        }
    }

    #[test]
    fn a_grant_is_never_exceeded() {
        let grant = Grant {
            user: Some("ana".into()),
            clearance: Some(Classification::Restricted),
            ..grant()
        };
        let own = grant.principal();
        assert_eq!(grant.bind(own.clone()).unwrap(), own);
        let unnamed = Principal {
            user: None,
            ..own.clone()
        };
        assert_eq!(grant.bind(unnamed).unwrap(), own);
        let fewer = Principal {
            roles: Vec::new(),
            ..own.clone()
        };
        assert_eq!(grant.bind(fewer).unwrap(), own);
        type Change = fn(&mut Principal);
        let more: [Change; 6] = [
            |principal| principal.origins.push("https://a.example".into()),
            |principal| principal.tenant = "other".into(),
            |principal| principal.user = Some("bob".into()),
            |principal| principal.roles.push("admin".into()),
            |principal| principal.clearance = Classification::Confidential,
            |principal| principal.pii_authorized = true,
        ];
        for change in more {
            let mut asked = own.clone();
            change(&mut asked);
            assert_eq!(grant.bind(asked).unwrap_err().kind, ErrorKind::Policy);
        }
        let owner = Grant::owner("acme");
        assert!(owner.bind(own).is_ok());
        let other = Principal {
            tenant: "other".into(),
            ..owner.principal()
        };
        assert!(owner.bind(other).is_err());
    }

    #[test]
    fn keys_for_nobody_are_refused() {
        let (_folder, keys) = keys();
        for tenant in ["", " ", KEYS_TENANT] {
            let grant = Grant {
                tenant: tenant.into(),
                ..Grant::default()
            };
            assert!(keys.create(grant, NOW).is_err());
        }
        let ended = Grant {
            expires: Some(NOW),
            ..grant()
        };
        assert!(keys.create(ended, NOW).is_err());
    }
}
