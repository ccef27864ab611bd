//! `tenure outcome`: verified outcomes and corrections, which a person accepts before they are compiled.

use tenure::object::OutcomeDecision;
use tenure_operations::outcome::{DecideOutcome, ListOutcomes, Outcomes, ProposeOutcome};
use tenure_store::OutcomeLine;

use super::stores::tenant_store;
use super::written::text_of_written;
use super::{operation, read_or_stdin, stores};
use crate::args::{Call, OutcomeArgs, OutcomeCommand, ProposeArgs, Write};
use crate::failure::{Failure, cell};

/// Does what the subcommand says.
pub(crate) fn run(args: &OutcomeArgs) -> Result<(), Failure> {
    match &args.command {
        OutcomeCommand::Propose(args) => propose(args),
        OutcomeCommand::Accept(call) => decide(call, OutcomeDecision::Accept),
        OutcomeCommand::Reject(call) => decide(call, OutcomeDecision::Reject),
        OutcomeCommand::Withdraw(call) => decide(call, OutcomeDecision::Withdraw),
        OutcomeCommand::Repeat(call) => {
            let store = tenant_store(&call.tenant)?;
            operation::write(call.form.clone(), call, store, text_of_written)
        }
        OutcomeCommand::List(call) => list(call),
    }
}

fn propose(args: &ProposeArgs) -> Result<(), Failure> {
    let call = &args.call;
    let content = args.file.as_deref().map(read_or_stdin).transpose()?;
    let form = ProposeOutcome {
        content: content.or_else(|| call.form.content.clone()),
        ..call.form.clone()
    };
    let store = stores::to_write(&call.tenant.url)?;
    operation::write(form, call, store, text_of_written)
}

fn decide(call: &Write<DecideOutcome>, decision: OutcomeDecision) -> Result<(), Failure> {
    let form = DecideOutcome {
        decision,
        ..call.form.clone()
    };
    operation::write(form, call, tenant_store(&call.tenant)?, text_of_written)
}

fn list(call: &Call<ListOutcomes>) -> Result<(), Failure> {
    let nothing = match call.form.state {
        Some(state) => format!("no outcome is {state}\n"),
        None => "no outcome was proposed\n".to_owned(),
    };
    operation::read(call, |found: &Outcomes| match found.outcomes.as_slice() {
        [] => nothing,
        outcomes => outcomes.iter().map(text_of).collect(),
    })
}

/// An outcome, for people.
pub(crate) fn text_of(line: &OutcomeLine) -> String {
    let who =
        |by: &Option<String>| by.as_deref().map_or(String::new(), |by| format!(" by {}", cell(by)));
    let mut text = format!("{}  {}  {}\n", line.state, line.kind, cell(&line.name));
    text.push_str(&format!("  {}\n", cell(&line.content)));
    let record = line
        .record
        .as_deref()
        .map_or(String::new(), |record| format!(" for {}", cell(record)));
    text.push_str(&format!(
        "  proposed {}{}{record}\n",
        line.proposed_at,
        who(&line.proposed_by)
    ));
    if let Some(at) = line.decided_at {
        text.push_str(&format!("  {} {at}{}\n", line.state, who(&line.decided_by)));
    }
    if line.repeats > 0 {
        text.push_str(&format!("  the mistake was made again: {}\n", line.repeats));
    }
    text
}
