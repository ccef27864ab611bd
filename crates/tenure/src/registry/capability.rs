//! The authority to act as a registry.

use std::fmt;
use std::sync::Arc;

use super::op::{Address, BlockId};
use crate::base::digest::mac;
use crate::base::error::{Error, ErrorKind};
use crate::base::key::FrameKey;
use crate::base::text::clip;

/// The secrets that the outside supplies: the core has no random source.
///
/// The first must be fresh and random each time registries are made or restored: addresses follow
/// from it. The second signs the tokens of capabilities and lasts as long as these should.
#[derive(Clone)]
pub struct Secrets {
    session: [u8; 32],
    signing: [u8; 32],
}

impl Secrets {
    /// These secrets.
    pub const fn new(session: [u8; 32], signing: [u8; 32]) -> Secrets {
        Secrets { session, signing }
    }

    /// A fresh secret for the session, and a workspace's lasting key for the tokens.
    pub fn of_workspace(session: [u8; 32], key: &FrameKey) -> Secrets {
        Secrets::new(session, key.mac(&[b"capability tokens"]))
    }

    /// An id for a fresh set of registries.
    pub(super) fn set_id(&self) -> u128 {
        head(&mac(&self.session, &[b"set"]))
    }

    /// The address of a block: its number, hidden in nothing, and 90 bits that follow from the
    /// session's secret, in the places that a UUID of version 8 leaves free (RFC 9562).
    pub(super) fn address(&self, set: u128, label: &str, block: BlockId) -> Address {
        let number = block.0.to_be_bytes();
        let tag = head(&mac(
            &self.session,
            &[b"address", &set.to_be_bytes(), label.as_bytes(), &number],
        ));
        let bits = (tag >> 32) & !(0xf << 76) & !(0x3 << 62);
        Address(u128::from(block.0) << 96 | bits | (0x8 << 76) | (0x2 << 62))
    }

    fn signature(&self, set: u128, label: &str) -> [u8; 32] {
        mac(
            &self.signing,
            &[b"capability", &set.to_be_bytes(), label.as_bytes()],
        )
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets")
    }
}

fn head(bytes: &[u8; 32]) -> u128 {
    let mut head = [0; 16];
    head.copy_from_slice(&bytes[..16]);
    u128::from_be_bytes(head)
}

/// The block number that an address claims to be of.
pub(super) fn claimed(address: Address) -> BlockId {
    BlockId((address.0 >> 96) as u32)
}

/// The authority to act as one registry. Only [`Registries`](super::Registries) makes one: when it
/// creates the registry, when it is shown a token that it signed, or for the holder of the secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capability {
    set: u128,
    label: Arc<str>,
    /// True if the holder of the registries made it for itself.
    host: bool,
}

impl Capability {
    pub(super) fn new(set: u128, label: Arc<str>, host: bool) -> Capability {
        Capability { set, label, host }
    }

    /// The registry that it acts as.
    pub fn label(&self) -> &str {
        &self.label
    }

    pub(super) fn is_host(&self) -> bool {
        self.host
    }

    pub(super) fn is_of(&self, set: u128) -> bool {
        self.set == set
    }
}

const PREFIX: &str = "tenure-capability-1.";

/// The token of a capability, for another process or a later restore.
pub(super) fn token(secrets: &Secrets, set: u128, label: &str) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let signature = hex(&secrets.signature(set, label));
    format!("{PREFIX}{}.{signature}", hex(label.as_bytes()))
}

/// The label in a token of this set, if it was signed with these secrets.
pub(super) fn verified(secrets: &Secrets, set: u128, token: &str) -> Result<String, Error> {
    let unhex = |text: &str| -> Option<Vec<u8>> {
        let pairs = text.as_bytes().chunks(2);
        text.len().is_multiple_of(2).then(|| {
            pairs
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
                .collect()
        })?
    };
    let parts = token.strip_prefix(PREFIX).and_then(|rest| rest.split_once('.')).and_then(
        |(label, signature)| {
            let label = String::from_utf8(unhex(label)?).ok()?;
            Some((label, unhex(signature)?))
        },
    );
    let Some((label, signature)) = parts else {
        return Err(Error::input(format!(
            "`{}` is not the token of a capability",
            clip(token)
        ))
        .expected(format!("`{PREFIX}`, a label and a signature")));
    };
    // Compared in constant time, so that a forger learns nothing from a refusal.
    let expected = secrets.signature(set, &label);
    let differs = expected
        .iter()
        .zip(&signature)
        .fold(expected.len() ^ signature.len(), |found, (a, b)| {
            found | usize::from(a ^ b)
        });
    if differs != 0 {
        return Err(Error::new(
            ErrorKind::Policy,
            format!("the token for `{}` was not signed here", clip(&label)),
        )
        .expected("a token of these registries, signed with this workspace's key"));
    }
    Ok(label)
}
