//! Chains of messages: their digests, and the session that each leads to.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tenure::wire::{self, Conversation, Format};
use tenure::{Digest, Error};
use tenure_store::Tenant;

use super::byte_lru::ByteLru;
use super::{CHAIN, LONG, Relay, Relaying, held_as};
use crate::sessions::Session;

/// The end of a chain of messages: a session and a message in it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Chain {
    pub(super) session: String,
    /// The number of its last message there.
    pub(super) last: u64,
}

impl Chain {
    fn body(&self) -> Result<String, Error> {
        serde_json::to_string(self)
            .map_err(|error| Error::assertion(format!("a chain is plain data: {error}")))
    }
}

impl Relay {
    /// The digests of the chains that a request begins with, the empty one first.
    pub(super) fn chains(
        &self,
        asked: &Relaying<'_>,
        session: Option<&str>,
        conversation: &Conversation,
    ) -> Vec<Digest> {
        let scope = [asked.key, asked.format.term(), session.unwrap_or_default()];
        let chain = Digest::of_parts(scope.map(str::as_bytes));
        let mut chains = vec![chain];
        chains.extend(self.extended(chain, conversation));
        chains
    }

    /// The chains that messages make behind this one: by what they say, however they are written.
    pub(super) fn extended(&self, mut chain: Digest, conversation: &Conversation) -> Vec<Digest> {
        conversation
            .entries
            .iter()
            .map(|entry| {
                let says = self.says(entry.format, &entry.message);
                chain = Digest::of_parts([chain.bytes().as_slice(), says.bytes()]);
                chain
            })
            .collect()
    }

    /// A digest of the meaning of a message.
    fn says(&self, format: Format, message: &str) -> Digest {
        if message.len() < LONG {
            return wire::meaning(format, message);
        }
        let known = || self.meanings.lock().unwrap_or_else(PoisonError::into_inner);
        let key = Digest::of_parts([format.term().as_bytes(), message.as_bytes()]);
        if let Some(says) = known().get(&key) {
            return *says;
        }
        let says = wire::meaning(format, message);
        let mut known = known();
        known.put(key, says, CHAIN);
        known.shrink(|_| true);
        says
    }

    /// Looks a chain up in memory, else in the store.
    pub(super) fn chain(&self, tenant: &Tenant, digest: &Digest) -> Result<Option<Chain>, Error> {
        let log = log_of(digest);
        let key = held_as(tenant, &log);
        let mut known = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(chain) = known.get(&key) {
            return Ok(Some(chain.clone()));
        }
        drop(known);
        self.stored(tenant, &log)
    }

    pub(super) fn stored(&self, tenant: &Tenant, log: &str) -> Result<Option<Chain>, Error> {
        let stored = tenant.entries(log, 0)?;
        let last = stored.last();
        Ok(last.and_then(|(_, body)| serde_json::from_str(body).ok()))
    }

    /// Remembers that a chain leads to the end of a session; it is written with what waits there.
    pub(super) fn note(
        &self,
        tenant: &Tenant,
        digest: &Digest,
        session: &mut Session,
    ) -> Result<(), Error> {
        let chain = Chain {
            session: session.id().to_owned(),
            last: session.last_turn(),
        };
        let log = log_of(digest);
        session.defer_to(log.clone(), chain.body()?);
        let key = held_as(tenant, &log);
        let size = CHAIN + key.len();
        let mut chains = self.chains.lock().unwrap_or_else(PoisonError::into_inner);
        chains.put(key, chain, size);
        chains.shrink(|_| true);
        Ok(())
    }
}

/// Forgets the chains that lead to a session which is not what its log says.
pub(super) fn forget_chains(chains: &Mutex<ByteLru<Chain>>, session: &str) {
    let mut chains = chains.lock().unwrap_or_else(PoisonError::into_inner);
    chains.retain(|_, chain| chain.session != session);
}

pub(super) fn log_of(digest: &Digest) -> String {
    format!("chain/{}", digest.to_string().trim_start_matches("sha256:"))
}
