//! Shares from a request: dry runs at this budget and at the others.

use tenure::Error;
use tenure_workspace::allocate::{Study, must_share};

use crate::args::AllocateArgs;
use crate::commands::prepare::{prepare, without_payload};
use crate::progress::Working;

/// Compiles at each budget.
pub(super) fn study(args: &AllocateArgs) -> Result<Study, Error> {
    without_payload(&args.compile)?;
    let mut prepared = prepare(&args.compile)?;
    prepared.note_if_empty();
    must_share(&prepared.job.policy)?;
    prepared.job.request.dry_run = true;
    let outcome = prepared.compile_as(&args.compile)?.outcome;
    let (workspace, job) = (&prepared.workspace, &prepared.job);
    let _working = Working::on("compiling at other budgets");
    workspace.allocate(job, &outcome, &args.what_if)
}
