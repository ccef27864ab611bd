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
//! | the path of a write | `write.rs` |
//! | what a write does to beliefs | `rows/settle.rs` |
//! | what a write does to claims that cannot both hold | `belief/claims.rs` |
//! | rows and transactions, the wall to an engine | [`engine`] |
//! | the engines | `rows/sqlite/`, `rows/postgres/` |
//!
//! Each folder is a room, and imports from those below it only: `rows`, `entity`, `tenant`, `belief`, `read`, `write`,
//! `pending`, `copy`, `erase`.

mod belief;
mod copy;
mod entity;
mod erase;
mod pending;
mod read;
mod rows;
mod tenant;
mod write;

pub use belief::claims::MOST_OPPONENTS;
pub use belief::conflicts::{
    Conflict, ConflictPage, ConflictQuery, Held, PairMark, Party, ResolverAction,
};
pub use belief::evidence::{BeliefWithEvidence, Link, Silence, Weakening};
pub use belief::expiry::Weakened;
pub use belief::sweep::{Awaiting, HardDelete, Retention, Retired, Sweep};
pub use copy::export::{ExportLine, NotExported};
pub use copy::export_rows::{CarriedLine, ConflictLine, MentionLine, UsageLine};
pub use copy::import::Import;
pub use entity::session_mentions::SpokenLine;
pub use erase::{
    ERASED, Mention, Person, PersonObject, PersonRecord, PersonSession, Place, Relation, Subject,
};
pub use pending::outcomes::{OutcomeEntry, OutcomeLine, OutcomeStep, Proposal};
pub use pending::proposals::{Choice, Waiting};
pub use read::beliefs::true_at;
pub use read::resident::Resident;
pub use read::search::{SearchPage, Start};
pub use rows::blobs::TextLine;
pub use rows::engine;
pub use rows::idempotency::check_key;
pub use rows::labels::Sees;
pub use rows::mark::{FileMark, Header};
pub use rows::notes::{FlaggedText, WriteNote};
#[cfg(feature = "postgres")]
#[doc(hidden)]
pub use rows::postgres::asked::ASKED as POSTGRES_LOOKUPS;
pub use rows::sqlite::Outside;
pub use rows::stored::{Line, StoredObject};
#[cfg(feature = "tls")]
pub use rows::tls;
pub use rows::tree_index::{
    FileEntry, FoundPart, IndexCounts, IndexedFile, IndexedPart, TreeIndex,
};
pub use rows::vector_cache::VectorCache;
pub use tenant::alongside::believed_first;
pub use tenant::handle::Tenant;
pub use tenant::logs::{Append, WriteKey};
pub use tenant::records::KeptRecord;
pub use tenant::store::Store;
pub use tenant::writing::{Expect, Outcome, Put, Writing, Written, WrittenObject};
pub use tenure::belief::entity::ResolvedMention;
pub use tenure::object::WaitingKind;
pub use write::MAX_BATCH;
