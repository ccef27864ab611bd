//! Callers who may ask: the keys of the store, the tokens of issuers, and the owner while there is neither.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tenure::time::Instant;
use tenure::{Digest, Error};
use tenure_store::Store;
use tenure_workspace::keys::{Grant, KeySet, Keys};

use crate::error::Refusal;
use crate::jwt::{Issuers, Jwt};
use tenure_operations::Caller;

/// The time between two looks at the keys: one that is revoked opens nothing after it.
pub(crate) const KEYS_EVERY: Duration = Duration::from_secs(1);

/// The keys and the issuers of a server.
pub(crate) struct Access {
    /// The caller while there are no keys and no issuers.
    owner: Caller,
    keys: Option<Keys>,
    known: RwLock<Arc<KeySet>>,
    issuers: Issuers,
    /// The digest of the key that opens this server alone, and who shows it.
    own: Option<(Digest, Caller)>,
}

/// The id of the key that opens one server alone, for records and logs.
const OWN: &str = "run";

impl Access {
    /// Reads the keys of a store.
    ///
    /// # Errors
    ///
    /// Those of the store, and of issuers that make no sense.
    pub(crate) fn open(
        store: Option<&Store>,
        issuers: Vec<Jwt>,
        owner: String,
        own: Option<&str>,
    ) -> Result<Access, Error> {
        let keys = store.map(Keys::of).transpose()?;
        let known = keys.as_ref().map(Keys::load).transpose()?;
        let owner = Caller {
            tenant: owner.as_str().into(),
            key: None,
            grant: Arc::new(Grant::owner(owner)),
        };
        let own = own.map(|key| {
            let caller = Caller {
                key: Some(OWN.into()),
                ..owner.clone()
            };
            (Digest::of(key.as_bytes()), caller)
        });
        Ok(Access {
            owner,
            own,
            keys,
            known: RwLock::new(Arc::new(known.unwrap_or_default())),
            issuers: Issuers::new(issuers)?,
        })
    }

    /// Returns the tenant of all requests while there are no keys and no issuers.
    pub(crate) fn owner(&self) -> &str {
        &self.owner.tenant
    }

    /// Returns whether tokens are accepted.
    pub(crate) fn takes_tokens(&self) -> bool {
        !self.issuers.is_empty()
    }

    /// Returns the issuers whose tokens are accepted.
    #[cfg(feature = "mcp")]
    pub(crate) fn issuers(&self) -> impl Iterator<Item = &str> {
        self.issuers.names()
    }

    /// Returns whether there are keys, as they were last read.
    pub(crate) fn has_keys(&self) -> bool {
        !self.known().is_empty()
    }

    /// Returns whether every caller must show a key or a token.
    pub(crate) fn is_locked(&self) -> bool {
        self.takes_tokens() || self.has_keys()
    }

    /// Returns whether this is a key that opens something now.
    pub(crate) fn knows(&self, shown: &str, now: Instant) -> bool {
        self.known().open(shown, now).is_some()
    }

    /// Returns the keys, as they were last read.
    pub(crate) fn known(&self) -> Arc<KeySet> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the keys again where there are new ones; blocks.
    pub(crate) fn refresh(&self) -> Result<(), Error> {
        let Some(keys) = &self.keys else {
            return Ok(());
        };
        if keys.version()? == self.known().version() {
            return Ok(());
        }
        let fresh = Arc::new(keys.load()?);
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// Reads the version of the keys, to see that they can be read; blocks.
    pub(crate) fn probe(&self) -> Result<(), Error> {
        self.keys.as_ref().map(Keys::version).transpose().map(drop)
    }

    /// Returns the caller who shows this key or token; none where it opens nothing. Once there is a key, or tokens are
    /// accepted, every caller must show one, and once the last key is revoked, no key opens anything.
    ///
    /// # Errors
    ///
    /// The refusal of a token.
    pub(crate) async fn caller(
        &self,
        shown: Option<&str>,
        now: Instant,
    ) -> Result<Option<Caller>, Refusal> {
        if !self.is_locked() {
            return Ok(Some(self.owner.clone()));
        }
        let Some(shown) = shown else {
            return Ok(None);
        };
        // Digests are compared, of which no prefix can be tried out.
        if let Some((digest, caller)) = &self.own
            && Digest::of(shown.as_bytes()) == *digest
        {
            return Ok(Some(caller.clone()));
        }
        if let Some(key) = self.known().open(shown, now) {
            return Ok(Some(Caller {
                tenant: key.grant.tenant.as_str().into(),
                key: Some(key.id.as_str().into()),
                grant: Arc::new(key.grant.clone()),
            }));
        }
        // No key has a dot.
        if self.takes_tokens() && shown.contains('.') {
            self.issuers.caller(shown, now).await.map(Some)
        } else {
            Ok(None)
        }
    }
}
