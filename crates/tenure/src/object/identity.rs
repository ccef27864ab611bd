//! The identity of an object, and that of a revision.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::base::digest::Digest;
use crate::base::text::clip;

/// The identity of an object across its revisions: 128 bits, written as a UUID.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(u128);

impl ObjectId {
    /// The id that follows from these parts: the same object read again has the same id.
    pub fn derived(parts: &[&str]) -> ObjectId {
        let digest = Digest::of_parts(parts.iter().map(|part| part.as_bytes()));
        // A version 8 UUID (RFC 9562): our own bits with the version and variant set.
        let bits = digest.key() & !(0xf << 76) & !(0x3 << 62);
        ObjectId(bits | (0x8 << 76) | (0x2 << 62))
    }

    /// The id with these 128 bits.
    pub const fn from_bits(bits: u128) -> ObjectId {
        ObjectId(bits)
    }

    /// The 128 bits.
    pub const fn bits(self) -> u128 {
        self.0
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let group = |from: u32, bits: u32| (self.0 >> from) & ((1 << bits) - 1);
        let (a, b, c) = (group(96, 32), group(80, 16), group(64, 16));
        write!(
            f,
            "{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}",
            group(48, 16),
            group(0, 48)
        )
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ObjectId {
    type Err = String;

    fn from_str(text: &str) -> Result<ObjectId, String> {
        let bad = || format!("`{}` is not a UUID", clip(text));
        let groups: Vec<&str> = text.split('-').collect();
        let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
        if lengths != [8, 4, 4, 4, 12] || !text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
        {
            return Err(bad());
        }
        u128::from_str_radix(&groups.concat(), 16).map(ObjectId).map_err(|_| bad())
    }
}

impl Serialize for ObjectId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ObjectId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ObjectId, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for ObjectId {
    fn schema_name() -> Cow<'static, str> {
        "ObjectId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "uuid" })
    }
}

/// The identity of one revision: the digest of its canonical JSON.
pub type RevisionId = Digest;
