//! Everything that is pending until a person decides on it.

mod decide;
mod list;
mod show;

pub use decide::DecideProposal;
pub use list::{ListProposals, Proposals};
pub use show::{GetProposal, PendingText, ProposalShown};

use std::collections::BTreeMap;

use tenure::object::{ObjectId, WaitingKind, clip};
use tenure::{Error, ErrorKind};
use tenure_store::{Tenant, Waiting};

use crate::context::Context;
use crate::fields::InField;
use crate::reader::Reader;

/// Returns what waits, as far as its reader may see it, in the order in which all of it stands. A reviewer also sees what
/// other users proposed.
fn waiting(
    context: &Context<'_>,
    tenant: &Tenant,
    reader: &Reader,
    is_own: bool,
) -> Result<Vec<Waiting>, Error> {
    let own = tenant.proposals(context.now(), reader.sees().as_deref())?;
    // An operator sees those of others among the rest.
    if matches!(reader, Reader::Operator) || !is_own || !context.is_reviewer() {
        return Ok(own);
    }
    let key = |one: &Waiting| (one.kind, one.id.clone());
    let mut seen: BTreeMap<_, _> = own.into_iter().map(|one| (key(&one), one)).collect();
    let all = tenant.proposals(context.now(), reader.sees_of_anyone().as_deref())?;
    Ok(all
        .into_iter()
        .filter_map(|one| match one.kind {
            WaitingKind::Outcome => Some(one),
            _ => seen.remove(&key(&one)),
        })
        .collect())
}

/// Returns the one of these entries that is named: by its id or its name, or by the id or the name of an object of it.
///
/// # Errors
///
/// [`ErrorKind::Input`] when several are.
fn named(
    all: Vec<Waiting>,
    tenant: &Tenant,
    reader: &Reader,
    (named, kind): (&str, Option<WaitingKind>),
) -> Result<Option<Waiting>, Error> {
    let all: Vec<Waiting> =
        all.into_iter().filter(|one| kind.is_none_or(|kind| one.kind == kind)).collect();
    let mut found = chosen(&all, |one| one.id == named);
    if found.is_empty() {
        found = chosen(&all, |one| one.name == named);
    }
    if found.is_empty()
        && let Some(id) = object(tenant, reader, named)?
    {
        found = chosen(&all, |one| one.object_id == Some(id) || is_other(one, id));
    }
    match found.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some((*one).clone())),
        several => {
            let ids: Vec<String> =
                several.iter().map(|one| format!("{} ({})", one.id, one.kind)).collect();
            let what = format!("{} entries are of `{}`", several.len(), clip(named));
            let error = Error::input(what).at("object", None);
            Err(error.expected(format!("`kind`, or the id of one: {}", ids.join(", "))))
        }
    }
}

fn chosen(all: &[Waiting], is_it: impl Fn(&Waiting) -> bool) -> Vec<&Waiting> {
    all.iter().filter(|one| is_it(one)).collect()
}

/// Returns whether an object is the other one of a conflict.
fn is_other(one: &Waiting, id: ObjectId) -> bool {
    one.kind == WaitingKind::Conflict && one.other_id == Some(id)
}

/// Returns the object of a name or an id, where there is one that the reader may see.
fn object(tenant: &Tenant, reader: &Reader, named: &str) -> Result<Option<ObjectId>, Error> {
    reader.existing_to_decide(tenant, named).in_field("object")
}

/// Returns the error of an entry that is not there: of an object that does not wait, or of what is not there either.
fn nothing(tenant: &Tenant, reader: &Reader, named: &str) -> Result<Error, Error> {
    let error = match object(tenant, reader, named)? {
        Some(_) => {
            let what = format!("nothing of `{}` waits for a decision", clip(named));
            Error::new(ErrorKind::Conflict, what)
        }
        None => Error::input(format!("nothing that waits is named `{}`", clip(named))),
    };
    Ok(error.at("object", None).expected("an entry of `tenure review list`"))
}
