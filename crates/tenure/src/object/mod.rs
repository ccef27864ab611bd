//! Context objects: content plus its tenure.
//!
//! An object has three parts, so that identity, counters and judgement never mix: an immutable [`Revision`], a
//! [`Usage`] that only counts, and a [`Status`] that only the store writes. Outside the process an object is one flat
//! document, [`ObjectDocument`]; [`ObjectDocument::seal`] checks it and makes it an object. A registry may give the
//! object another name, priority or protection: [`Overrides`].

mod authority;
mod canonical;
mod check;
pub(crate) mod claim;
mod complete;
mod constraint;
mod document;
mod flow;
mod identity;
mod inherit;
mod message;
mod origin;
mod questions;
mod revision;
mod seal;
pub mod section;
mod source;
mod texts;
pub mod vocabulary;

pub use crate::base::text::clip;
pub use authority::Authority;
pub(crate) use canonical::Canonical;
pub(crate) use check::check_name;
pub use check::{MAX_CALLS, MAX_CONTENT, MAX_ENTRIES, MAX_FIELD, MAX_KEEP_WITH, MAX_NAME};
pub use constraint::{AnswerCheck, MAX_PATTERN, MAX_PATTERNS, MAX_SCHEMA};
pub use document::default_trust;
pub use document::{
    ChunkBounds, ConstraintDocument, DecayRule, LOCAL_TENANT, ObjectDocument, PermissionScope,
    Provenance, ToolCall,
};
pub(crate) use document::{
    canonical as canonical_schema, default_authority, empty_schema, without_lines,
};
pub use identity::{ObjectId, RevisionId};
pub use inherit::inherit;
pub use message::{Format, Wire};
pub(crate) use origin::web_origin;
pub use origin::{is_web, kind_of_origin};
pub use questions::{Answer, Audited};
pub use revision::{
    Access, ContextObject, Decided, Overrides, Revision, Scope, Status, Tool, Usage,
};
pub use seal::Sealer;
pub use texts::TextField;
pub use vocabulary::*;
