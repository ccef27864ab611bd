//! Registries in a store: the working sets of agents.
//!
//! A registry is the fold of its log, so its state has a number. A write that expects one ([`Context::expected`]) is done on
//! that state or not at all; one under an idempotency key is done once.

mod apply;
mod change;
mod create;
mod import;
mod list;
mod show;

pub use apply::{AppliedOp, ApplyOp, KeptBlock};
pub use change::{OwnChange, change_own};
pub use create::{CreateRegistry, MadeRegistry};
pub use import::{ImportBlocks, SeedText};
pub use list::{ListRegistries, ListedRegistry};
pub use show::{GetRegistry, RegistryShown};

use serde_json::Value;
use tenure::object::clip;
use tenure::registry::Registries;
use tenure::{Error, ErrorKind};
use tenure_store::{Tenant, WriteKey};
use tenure_workspace::KeptRegistries;

use crate::context::{Context, IF_MATCH};
use crate::operation::Names;

/// Commands that there are instead.
const NO_COMMAND: Names =
    Names::None("`tenure registry` works on a snapshot: a file, or a store by its URL");

/// Returns whether there is a registry of this label.
pub fn has(registries: &Registries, label: &str) -> bool {
    registries.labels().any(|known| known == label)
}

/// Refuses a label of which there is no registry.
fn check_known(registries: &Registries, label: &str) -> Result<(), Error> {
    if has(registries, label) {
        return Ok(());
    }
    let what = format!("there is no registry `{}`", clip(label));
    Err(Error::not_found(what))
}

/// Refuses a state of a registry that is not the one that a write expects.
fn check_expected(
    kept: &mut KeptRegistries,
    label: &str,
    expected: Option<u64>,
) -> Result<(), Error> {
    let Some(expected) = expected else {
        return Ok(());
    };
    check_known(&kept.registries, label)?;
    let stands = kept.registries.view(label)?.summary().operations;
    if expected == stands {
        return Ok(());
    }
    let what = format!("somebody else changed the registry `{}`", clip(label));
    Err(Error::new(ErrorKind::Conflict, what)
        .at(IF_MATCH, None)
        .expected(format!("the ETag \"{stands}\"")))
}

/// A write that is done once, where it comes under a key: its answer is a number.
struct Once(Option<WriteKey>);

impl Once {
    fn new(context: &Context<'_>, asked: &Value) -> Result<Once, Error> {
        let key = context.writing.idempotency_key.as_ref();
        let write = key.map(|key| WriteKey::new(key, asked.to_string().as_bytes()));
        Ok(Once(write.transpose()?))
    }

    /// The number that the write had, where it was done already. What was read before this is asked holds nothing of a write
    /// that was not.
    fn before(&self, tenant: &Tenant) -> Result<Option<u64>, Error> {
        let answer = self.0.as_ref().map(|key| tenant.answered(key)).transpose()?;
        answer.flatten().map(|answer| number(&answer)).transpose()
    }

    /// Keeps what was done as this number or, where it was done meanwhile, returns the number that it had.
    fn save(&self, kept: KeptRegistries, done: u64) -> Result<Option<u64>, Error> {
        let Some(key) = &self.0 else {
            return kept.save().map(|()| None);
        };
        let before = kept.save_once(key, &done.to_string())?;
        before.map(|answer| number(&answer)).transpose()
    }
}

fn number(answer: &str) -> Result<u64, Error> {
    answer
        .parse()
        .map_err(|_| Error::assertion("what was answered under a key is a number"))
}
