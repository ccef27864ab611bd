//! SHA-256 digests: the identity of everything that a compile depends on.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, written as `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// Digests runs of bytes, one after the other.
    pub(crate) fn of_joined<'a>(runs: impl IntoIterator<Item = &'a [u8]>) -> Digest {
        let mut hasher = Sha256::new();
        runs.into_iter().for_each(|run| hasher.update(run));
        Digest(hasher.finalize().into())
    }

    /// The digest of several parts, each preceded by its length so that no two lists of parts
    /// share a digest.
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Digest {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Digest(hasher.finalize().into())
    }

    /// The keyed digest (HMAC-SHA-256) of several parts: who lacks the key cannot guess them from it.
    pub fn keyed(key: &[u8; 32], parts: &[&[u8]]) -> Digest {
        Digest(mac(key, parts))
    }

    /// The 32 bytes.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A digest made elsewhere.
    pub const fn from_bytes(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }

    /// The first sixteen bytes as a number: enough to key a table.
    pub fn key(&self) -> u128 {
        let mut head = [0; 16];
        head.copy_from_slice(&self.0[..16]);
        u128::from_be_bytes(head)
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            pair[0] = HEX[usize::from(byte >> 4)];
            pair[1] = HEX[usize::from(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&hex).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Digest, String> {
        let bad =
            || format!("`{text}` is not a digest; expected `sha256:` and 64 hexadecimal digits");
        let hex = text.strip_prefix("sha256:").filter(|hex| hex.len() == 64).ok_or_else(bad)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(hex.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| bad())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| bad())?;
        }
        Ok(Digest(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Digest {
    fn schema_name() -> Cow<'static, str> {
        "Digest".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^sha256:[0-9a-f]{64}$" })
    }
}

/// A table keyed by digests. The keys are uniform already, so hashing them again would be waste,
/// and a hostile writer cannot aim for a bucket. Never iterated.
pub type DigestMap<V> = HashMap<u128, V, BuildHasherDefault<KeyHasher>>;

/// Takes the low half of a digest key as its hash.
#[derive(Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

/// HMAC-SHA256 of several parts, each preceded by its length.
pub(crate) fn mac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes a key of any length: the error is for other algorithms.
    let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(key) else {
        return [0; 32];
    };
    for part in parts {
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_survive_their_text_form() {
        let digest = Digest::of(b"abc");
        assert_eq!(
            digest.to_string(),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for bad in ["", "sha256:", "sha256:zz", &"sha256:é".repeat(9)] {
            assert!(bad.parse::<Digest>().is_err());
        }
    }

    #[test]
    fn parts_cannot_run_into_each_other() {
        let join = |parts: &[&str]| Digest::of_parts(parts.iter().map(|part| part.as_bytes()));
        assert_ne!(join(&["ab", "c"]), join(&["a", "bc"]));
        assert_ne!(join(&["ab"]), join(&["ab", ""]));
    }
}
