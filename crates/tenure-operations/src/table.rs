//! The table of operations.

use tenure::error::nearest;
use tenure::object::clip;
use tenure::{Error, ErrorKind};
use tenure_store::{Store, Writing};
use tenure_workspace::Workspace;

use crate::belief::{GetBelief, ReviseBelief};
use crate::conflict::{ListConflicts, ResolveConflict};
use crate::context::{Caller, Context, Deciders};
use crate::entity::{ChangeEntities, GetEntityHistory, ListEntities, ResolveEntity};
use crate::input::Input;
use crate::operation::Entry;
use crate::outcome::{DecideOutcome, ListOutcomes, ProposeOutcome, RepeatMistake};
use crate::pending::{DecideProposal, GetProposal, ListProposals};
use crate::registry::{ApplyOp, CreateRegistry, GetRegistry, ImportBlocks, ListRegistries};

static TABLE: [Entry; 20] = [
    Entry::of::<ListOutcomes>(),
    Entry::of::<ProposeOutcome>(),
    Entry::of::<DecideOutcome>(),
    Entry::of::<RepeatMistake>(),
    Entry::of::<ListProposals>(),
    Entry::of::<GetProposal>(),
    Entry::of::<DecideProposal>(),
    Entry::of::<ListConflicts>(),
    Entry::of::<ResolveConflict>(),
    Entry::of::<GetBelief>(),
    Entry::of::<ReviseBelief>(),
    Entry::of::<ListEntities>(),
    Entry::of::<ChangeEntities>(),
    Entry::of::<GetEntityHistory>(),
    Entry::of::<ResolveEntity>(),
    Entry::of::<ListRegistries>(),
    Entry::of::<CreateRegistry>(),
    Entry::of::<GetRegistry>(),
    Entry::of::<ApplyOp>(),
    Entry::of::<ImportBlocks>(),
];

/// Returns all operations, in the order in which they are described.
pub fn table() -> &'static [Entry] {
    &TABLE
}

/// Returns the operation of a name.
///
/// # Errors
///
/// [`ErrorKind::Usage`] when there is none.
pub fn entry(id: &str) -> Result<&'static Entry, Error> {
    TABLE.iter().find(|entry| entry.id == id).ok_or_else(|| {
        let error = Error::new(
            ErrorKind::Usage,
            format!("there is no operation `{}`", clip(id)),
        );
        match nearest(id, TABLE.iter().map(|entry| entry.id)) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error,
        }
    })
}

/// Calls the operation of a name with an input of JSON, and returns its answer as JSON. An empty input is a form without
/// fields.
///
/// # Errors
///
/// As [`entry`] and [`Entry::call`].
pub fn call(id: &str, input: &[u8], context: &Context<'_>) -> Result<Vec<u8>, Error> {
    entry(id)?.call(Input::json(input)?, context)
}

/// Calls the operation of a name with an input of JSON as the owner of this machine, for a tenant of theirs, and returns its
/// answer as JSON: what the packages for Python and Node call.
///
/// # Errors
///
/// As [`call`].
pub fn call_as_owner(
    (id, input): (&str, &str),
    store: &Store,
    workspace: &Workspace,
    tenant: &str,
    writing: Writing,
) -> Result<String, Error> {
    let context = Context {
        store: Some(store),
        caller: &Caller::owner(tenant),
        workspace,
        writing,
        expected: None,
        deciders: Deciders::Named,
    };
    String::from_utf8(call(id, input.as_bytes(), &context)?)
        .map_err(|_| Error::assertion("an answer is no UTF-8"))
}
