//! The compiled result: the payload, what stands where in it, and its exact counts.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::base::digest::Digest;
use crate::base::num::Score;
use crate::base::tokenizer::CountKind;
use crate::compile::trace::{Reason, Ruling, Trace};
use crate::input::served::Form;
use crate::input::served::ServedLedger;
use crate::object::RevisionId;
use crate::object::section::{Section, Zone};
use crate::provider::target::Target;
pub use crate::write::span::Span;

/// The version of the envelope's form.
pub const ENVELOPE_VERSION: u32 = 1;

/// The text or body that a model is sent.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Payload {
    /// One text.
    Text(String),
    /// A provider's request body.
    Body(#[schemars(with = "serde_json::Value")] Box<RawValue>),
}

impl Payload {
    /// The bytes as they are sent. Their SHA-256 is the envelope's `payload_digest`.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Payload::Text(text) => text.as_bytes(),
            Payload::Body(body) => body.get().as_bytes(),
        }
    }

    /// The text as it is sent: the text itself, or the JSON of the body.
    pub fn as_str(&self) -> &str {
        match self {
            Payload::Text(text) => text,
            Payload::Body(body) => body.get(),
        }
    }

    /// The body as a value, for a client that takes one; nothing for a text. What writes it again may order and
    /// space it otherwise, which a provider's cache notices: [`Payload::as_str`] is what was counted and sealed.
    pub fn as_json(&self) -> Option<serde_json::Value> {
        match self {
            Payload::Text(_) => None,
            Payload::Body(body) => serde_json::from_str(body.get()).ok(),
        }
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Payload, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if raw.get().starts_with('"') {
            serde_json::from_str(raw.get()).map(Payload::Text).map_err(de::Error::custom)
        } else {
            Ok(Payload::Body(raw))
        }
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        matches!(self, Payload::Text(_)) == matches!(other, Payload::Text(_))
            && self.bytes() == other.bytes()
    }
}

/// One piece of the payload.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Item {
    /// The object's name. A name that starts with `@` is a piece that the compiler adds.
    pub name: Arc<str>,
    /// The object's revision; none for what the compiler adds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<RevisionId>,
    /// The tokens that it costs.
    pub tokens: u32,
    /// The form of it that stands, where it is not the full one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
    /// True if it stands behind all that was sent before, by the provider's own channel for what comes late.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// Its place: the source map from bytes back to objects. None after a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Span>,
}

/// A section of the payload.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SectionReport {
    /// The section.
    pub name: Section,
    /// The zone it stands in.
    pub zone: Zone,
    /// The tokens that it costs: the sum of its items.
    pub tokens: u32,
    /// Its items, in order.
    pub items: Vec<Item>,
}

/// The number of this payload among several.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Its number, counted from one.
    pub number: u32,
    /// The number of payloads.
    pub of: u32,
}

/// The compiled result.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// The version of this form.
    pub version: u32,
    /// The form of the payload.
    pub target: Target,
    /// The payload that the model is sent; none after a dry run.
    pub payload: Option<Payload>,
    /// The SHA-256 of the payload's bytes; none after a dry run.
    pub payload_digest: Option<Digest>,
    /// The tokens of the payload: the sum of the sections and the overhead.
    pub total_tokens: u32,
    /// The precision of the count.
    pub count: CountKind,
    /// The most tokens that the payload may have.
    pub budget: u32,
    /// The number of this payload among several; none where it is the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// The tokens that the provider adds around the text.
    pub overhead_tokens: u32,
    /// The sections with their items.
    pub sections: Vec<SectionReport>,
    /// The payload's openness to instructions in data, from 0 to 1.
    pub injection_surface: Score,
    /// The JSON Schema that the answer is to be asked for, where there is one: the request's, or a constraint's, with
    /// `null` where `served.relaxed` says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Value>,
    /// The ledger for the next request: what has now been served in this epoch.
    pub served: ServedLedger,
}

impl Envelope {
    /// The section of this name, when anything stands in it.
    pub fn section(&self, name: Section) -> Option<&SectionReport> {
        self.sections.iter().find(|section| section.name == name)
    }
}

/// An envelope and the account of how it came to be.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Compiled {
    /// The result.
    pub envelope: Envelope,
    /// The account.
    pub trace: Trace,
}

impl Compiled {
    /// Returns the proposals to the store, which alone decides: that these objects were used.
    pub fn proposals(&self) -> Vec<Proposal> {
        self.trace
            .verdicts
            .iter()
            .filter(|verdict| verdict.verdict == Ruling::Included)
            .map(|verdict| Proposal::Used {
                name: Arc::clone(&verdict.name),
            })
            .collect()
    }
}

/// Something the store may act on. A compile itself writes nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Proposal {
    /// The object was used.
    Used {
        /// Its name.
        name: Arc<str>,
    },
}

/// Something that a deferred compile leaves for a later turn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// The candidate's name.
    pub name: Arc<str>,
    /// The tokens that it would cost.
    pub tokens: u32,
}

/// The outcome of a compile.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// One payload with all that the policy wanted in it.
    Complete(Box<Compiled>),
    /// One payload, with evidence left for a later turn.
    Deferred {
        /// The payload that there is now.
        compiled: Box<Compiled>,
        /// The evidence that waits.
        pending: Vec<Pending>,
    },
    /// Several payloads that each fit and together cover the evidence.
    Pages {
        /// The payloads in order.
        pages: Vec<Compiled>,
    },
}

/// As JSON: `outcome`, then `envelope` and `trace`, with `pending` or `pages` where they apply.
impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut form = serializer.serialize_struct("Outcome", 4)?;
        match self {
            Outcome::Complete(compiled) => {
                form.serialize_field("outcome", "complete")?;
                form.serialize_field("envelope", &compiled.envelope)?;
                form.serialize_field("trace", &compiled.trace)?;
            }
            Outcome::Deferred { compiled, pending } => {
                form.serialize_field("outcome", "deferred")?;
                form.serialize_field("envelope", &compiled.envelope)?;
                form.serialize_field("trace", &compiled.trace)?;
                form.serialize_field("pending", pending)?;
            }
            Outcome::Pages { pages } => {
                form.serialize_field("outcome", "pages")?;
                form.serialize_field("pages", pages)?;
            }
        }
        form.end()
    }
}

impl Outcome {
    /// The outcome of a compile that ended in these payloads.
    pub(crate) fn of(mut payloads: Vec<Compiled>) -> Outcome {
        let only = if payloads.len() == 1 {
            payloads.pop()
        } else {
            None
        };
        let Some(compiled) = only else {
            return Outcome::Pages { pages: payloads };
        };
        let pending: Vec<Pending> = compiled
            .trace
            .verdicts
            .iter()
            .filter_map(|verdict| {
                let Reason::Deferred { needed } = verdict.reason else {
                    return None;
                };
                Some(Pending {
                    name: Arc::clone(&verdict.name),
                    tokens: needed,
                })
            })
            .collect();
        let compiled = Box::new(compiled);
        if pending.is_empty() {
            Outcome::Complete(compiled)
        } else {
            Outcome::Deferred { compiled, pending }
        }
    }

    /// The compiled payloads, one unless it ended in pages.
    pub fn compiled(&self) -> impl Iterator<Item = &Compiled> {
        let (one, many): (Option<&Compiled>, &[Compiled]) = match self {
            Outcome::Complete(compiled) => (Some(compiled), &[]),
            Outcome::Deferred { compiled, .. } => (Some(compiled), &[]),
            Outcome::Pages { pages } => (None, pages),
        };
        one.into_iter().chain(many)
    }

    /// Like `compiled`, to be changed.
    pub fn compiled_mut(&mut self) -> impl Iterator<Item = &mut Compiled> {
        let (one, many): (Option<&mut Compiled>, &mut [Compiled]) = match self {
            Outcome::Complete(compiled) => (Some(compiled), &mut []),
            Outcome::Deferred { compiled, .. } => (Some(compiled), &mut []),
            Outcome::Pages { pages } => (None, pages),
        };
        one.into_iter().chain(many)
    }

    /// The single payload.
    ///
    /// # Errors
    ///
    /// When the compile ended in pages.
    pub fn single(&self) -> Result<&Compiled, crate::Error> {
        match self {
            Outcome::Complete(compiled) | Outcome::Deferred { compiled, .. } => Ok(compiled),
            Outcome::Pages { pages } => Err(crate::Error::input(format!(
                "the compile ended in {} pages",
                pages.len()
            ))),
        }
    }
}
