//! The operations of the table on the command line: the owner of the store calls them.

use clap::{Args, Command};
use tenure::Error;
use tenure_operations::{Caller, Context, Deciders, Operation, done};
use tenure_store::{Store, Writing};
use tenure_workspace::Workspace;

use super::stores::{tenant_store, writing};
use super::{print, print_json};
use crate::args::{Call, Format, TenantArgs, Write};
use crate::failure::Failure;

/// Calls an operation that reads, and prints its answer for people or for programs.
pub(crate) fn read<O: Operation + Args + Clone>(
    call: &Call<O>,
    show: impl FnOnce(&O::Answer) -> String,
) -> Result<(), Failure> {
    let answer = asked(call.form.clone(), &call.tenant)?;
    print_answer(&answer, call.tenant.format, show)
}

/// Returns the answer of an operation that reads.
pub(crate) fn asked<O: Operation + Args>(form: O, args: &TenantArgs) -> Result<O::Answer, Error> {
    answer(form, &tenant_store(args)?, args, Writing::default()).map_err(at_argument::<O>)
}

/// Calls an operation that writes, with this form, and prints its answer for people or for programs.
pub(crate) fn write<O: Operation + Args>(
    form: O,
    call: &Write<O>,
    store: Store,
    show: impl FnOnce(&O::Answer) -> String,
) -> Result<(), Failure> {
    let answer =
        answer(form, &store, &call.tenant, writing(&call.writing)).map_err(at_argument::<O>)?;
    print_answer(&answer, call.tenant.format, show)
}

/// Returns the answer of an operation that the owner of a store calls.
pub(crate) fn answer<O: Operation>(
    form: O,
    store: &Store,
    args: &TenantArgs,
    writing: Writing,
) -> Result<O::Answer, Error> {
    let context = Context {
        store: Some(store),
        caller: &Caller::owner(&args.tenant),
        workspace: &Workspace::without_key()?,
        writing,
        expected: None,
        deciders: Deciders::Named,
    };
    done(form, &context)
}

/// Prints an answer for people or for programs.
pub(crate) fn print_answer<A: serde::Serialize>(
    answer: &A,
    format: Format,
    show: impl FnOnce(&A) -> String,
) -> Result<(), Failure> {
    match format {
        Format::Json => print_json(answer),
        Format::Text => print(&show(answer)),
    }
}

/// Names the argument that gives a field, where an error names the field.
fn at_argument<O: Args>(error: Error) -> Error {
    let Some(at) = &error.at else {
        return error;
    };
    let command = O::augment_args(Command::new("operation"));
    let given = command.get_arguments().find(|arg| arg.get_id() == at.source.as_str());
    let name = given.and_then(|arg| match (arg.get_long(), arg.get_value_names()) {
        (Some(flag), _) => Some(format!("--{flag}")),
        (None, Some([name, ..])) => Some(format!("<{name}>")),
        (None, _) => None,
    });
    match name {
        Some(name) => error.at(name, None),
        None => error,
    }
}
