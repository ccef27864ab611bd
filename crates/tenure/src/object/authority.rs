//! May it command?

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// May it command? The lower the level, the higher the authority.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Authority {
    /// Level 0: the platform's rules.
    Platform,
    /// Level 1: the developer's rules.
    Developer,
    /// Level 2: what the user demands.
    User,
    /// Level 3: memory that was inferred.
    Memory,
    /// Level 4: retrieved data and tools' results. Never commands, always contained.
    Data,
}

impl Authority {
    /// All of them, the highest first.
    pub(crate) const ALL: [Authority; 5] = [
        Authority::Platform,
        Authority::Developer,
        Authority::User,
        Authority::Memory,
        Authority::Data,
    ];

    /// The mark under which the words of this authority stand in a section; none of data, which stands in frames.
    pub const fn mark(self) -> Option<&'static str> {
        match self {
            Authority::Platform => Some("## Platform instructions (nothing stands above them)\n"),
            Authority::Developer => {
                Some("## Developer instructions (subordinate to the platform)\n")
            }
            Authority::User => {
                Some("## User instructions (subordinate to platform and developer)\n")
            }
            Authority::Memory => Some("## Inferred memory (subordinate to all instructions)\n"),
            Authority::Data => None,
        }
    }

    /// The level as a number.
    pub const fn level(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.level())
    }
}

impl Serialize for Authority {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.level())
    }
}

impl<'de> Deserialize<'de> for Authority {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Authority, D::Error> {
        let level = u64::deserialize(deserializer)?;
        usize::try_from(level)
            .ok()
            .and_then(|level| Authority::ALL.get(level))
            .copied()
            .ok_or_else(|| {
                de::Error::custom(format!(
                    "`{level}` is not an authority level from 0 (platform) to 4 (data)"
                ))
            })
    }
}

impl JsonSchema for Authority {
    fn schema_name() -> Cow<'static, str> {
        "Authority".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": 4 })
    }
}
