//! The handle on one tenant, and what its verbs share: what a write says and gives back, what is believed now, the index
//! of terms; and the verbs that need no judgement of claims: logs, records, the registry of entities, check and repair.

pub(crate) mod alongside;
pub(crate) mod check;
pub(crate) mod current;
pub(crate) mod cycles;
pub(crate) mod damage;
pub(crate) mod entities;
pub(crate) mod handle;
pub(crate) mod index;
pub(crate) mod lineage;
pub(crate) mod logs;
pub(crate) mod nowhere;
pub(crate) mod records;
pub(crate) mod since;
pub(crate) mod store;
pub(crate) mod writing;
