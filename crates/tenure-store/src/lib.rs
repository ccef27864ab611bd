//! The bitemporal store of Tenure: what was believed, when, and by whom it may be read.
//!
//! An object's revisions are immutable. What changes is which revision is *believed* to hold in which
//! part of valid time, and even that never changes in place: a belief is opened by one write and closed
//! by another, so every earlier state can be asked for (transaction time). Three questions are one read
//! each: what is true now ([`Tenant::get`]), what was believed at an instant ([`Tenant::as_of`]), and
//! what was true at an instant as now known ([`Tenant::get`] with that instant).
//!
//! ```
//! use tenure::ObjectDocument;
//! use tenure_store::{Put, Store, Writing};
//!
//! let folder = tempfile::tempdir().unwrap();
//! let store = Store::open(&format!("sqlite://{}", folder.path().join("store.db").display()))?;
//! let acme = store.tenant("acme")?;
//! let limit = |text: &str| vec![Put::new(ObjectDocument::rule("limit", text))];
//! let first = acme.put(limit("At most 10 kW."), &Writing::default())?;
//! acme.put(limit("At most 12 kW."), &Writing::default())?;
//!
//! let id = first.objects[0].object_id;
//! assert_eq!(acme.get(id)?[0].object.revision().content(), "At most 12 kW.");
//! assert_eq!(acme.as_of(id, first.at)?[0].object.revision().content(), "At most 10 kW.");
//! assert!(store.tenant("other")?.get(id)?.is_empty());
//! # Ok::<(), tenure::Error>(())
//! ```
//!
//! The engine on PostgreSQL is the Cargo feature `postgres`, which is off by default.
//!
//! | what | where |
//! |---|---|
//! | the verbs | [`Tenant`] |
//! | what a write does to beliefs | `settle.rs` |
//! | what a write does to claims that cannot both hold | `claims.rs` |
//! | rows and transactions, the wall to an engine | [`engine`] |
//! | the engines | `sqlite/`, `postgres/` |

mod audience;
mod bare;
mod beliefs;
mod beside;
mod blobs;
mod buried;
mod carried;
mod check;
mod claims;
mod confirm;
mod conflicts;
mod damage;
mod decisions;
pub mod engine;
mod entities;
mod erase;
mod evidence;
mod expiry;
mod export;
mod falls;
mod held;
mod idempotency;
mod import;
mod index;
mod judge;
mod judged;
mod labels;
mod lineage;
mod logs;
mod mark;
mod mentioned;
mod merged;
mod notes;
mod nowhere;
mod outcomes;
#[cfg(feature = "postgres")]
mod postgres;
mod proposals;
mod put;
mod reading;
mod recorded;
mod records;
mod resident;
mod resolution;
mod rings;
mod search;
mod settle;
mod spoken;
mod sqlite;
mod stale;
mod stated;
mod store;
mod stored;
mod sweep;
mod taken;
mod tenant;
mod tied;
#[cfg(feature = "tls")]
pub mod tls;
mod tree_index;
mod vector_cache;
mod written;

pub use beside::believed_first;
pub use blobs::TextLine;
pub use carried::{
    CarriedLine, ConflictLine, MentionLine, OutcomeEntry, OutcomeStep, SpokenLine, UsageLine,
};
pub use claims::MOST_OPPONENTS;
pub use conflicts::{Conflict, ConflictPage, ConflictQuery, Held, PairMark, Party, ResolverAction};
pub use erase::{
    ERASED, Mention, Person, PersonObject, PersonRecord, PersonSession, Place, Relation, Subject,
};
pub use evidence::{BeliefWithEvidence, Link, Silence, Weakening};
pub use expiry::Weakened;
pub use export::{ExportLine, NotExported};
pub use idempotency::check_key;
pub use import::Import;
pub use labels::Sees;
pub use logs::{Append, WriteKey};
pub use mark::{FileMark, Header};
pub use notes::{FlaggedText, WriteNote};
pub use outcomes::{OutcomeLine, Proposal};
pub use proposals::{Waiting, WaitingKind};
pub use put::MAX_BATCH;
pub use reading::true_at;
pub use records::KeptRecord;
pub use resident::Resident;
pub use search::{SearchPage, Start};
pub use sqlite::Outside;
pub use store::Store;
pub use stored::{Line, StoredObject};
pub use sweep::{Awaiting, HardDelete, Retention, Retired, Sweep};
pub use tenant::Tenant;
pub use tenure::belief::entity::ResolvedMention;
pub use tree_index::{FileEntry, FoundPart, IndexCounts, IndexedFile, IndexedPart, TreeIndex};
pub use vector_cache::VectorCache;

#[cfg(feature = "postgres")]
#[doc(hidden)]
pub use postgres::asked::ASKED as POSTGRES_LOOKUPS;
pub use written::{Expect, Outcome, Put, Writing, Written, WrittenObject};
