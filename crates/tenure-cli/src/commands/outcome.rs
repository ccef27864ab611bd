//! `tenure outcome`: verified outcomes and corrections, which a person accepts before they are compiled.

use tenure::object::{OutcomeDecision, OutcomeKind, OutcomeState};
use tenure::{Error, ObjectDocument};
use tenure_store::{OutcomeLine, Proposal};
use tenure_workspace::{as_named, object_id};

use super::store::{objects, print_written, tenant, tenant_to_write, writing};
use super::{flagged, print, print_json, read_or_stdin};
use crate::args::{
    DecideArgs, Format, ListOutcomesArgs, OutcomeArgs, OutcomeCommand, ProposeArgs, RepeatArgs,
};
use crate::failure::{Failure, cell};

/// Does what the subcommand says.
pub(crate) fn run(args: &OutcomeArgs) -> Result<(), Failure> {
    match &args.command {
        OutcomeCommand::Propose(args) => propose(args),
        OutcomeCommand::Accept(args) => decide(args, OutcomeDecision::Accept),
        OutcomeCommand::Reject(args) => decide(args, OutcomeDecision::Reject),
        OutcomeCommand::Withdraw(args) => decide(args, OutcomeDecision::Withdraw),
        OutcomeCommand::Repeat(args) => repeat(args),
        OutcomeCommand::List(args) => list(args),
    }
}

fn propose(args: &ProposeArgs) -> Result<(), Failure> {
    let content = match (&args.text, &args.file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => read_or_stdin(file)?,
        (None, None) => return Err(Error::input("there is no text to propose").into()),
    };
    if content.trim().is_empty() {
        let flag = if args.text.is_some() {
            "--text"
        } else {
            "--file"
        };
        return Err(Error::input("the content is empty")
            .at(flag, None)
            .expected("the outcome, as the model is to read it")
            .into());
    }
    let tenant = tenant_to_write(&args.tenant)?;
    let derived_from = objects(&tenant, &args.derived_from)?;
    let document = ObjectDocument {
        derived_from,
        user_id: args.user.clone(),
        project_id: args.project.clone(),
        ..ObjectDocument::named(args.name.clone().unwrap_or_default(), content)
    };
    let kind = if args.mistake.is_some() {
        OutcomeKind::Correction
    } else {
        OutcomeKind::Outcome
    };
    let proposal = Proposal {
        document,
        kind,
        record: args.record.clone(),
        mistake: args.mistake.clone(),
    };
    let written = tenant.propose_outcome(proposal, &writing(&args.writing))?;
    print_written(&written, args.tenant.format)
}

fn decide(args: &DecideArgs, decision: OutcomeDecision) -> Result<(), Failure> {
    let tenant = tenant(&args.object.tenant)?;
    let id = object_id(&tenant, &args.object.object)?;
    let written = tenant.decide_outcome(id, decision, &args.by, &writing(&args.writing));
    let written = written.map_err(|error| as_named(error, &[(id, &args.object.object)]))?;
    print_written(&written, args.object.tenant.format)
}

fn repeat(args: &RepeatArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.object.tenant)?;
    let id = object_id(&tenant, &args.object.object)?;
    let written = tenant.repeat_mistake(id, args.record.as_deref(), &writing(&args.writing));
    let written = written.map_err(|error| as_named(error, &[(id, &args.object.object)]))?;
    print_written(&written, args.object.tenant.format)
}

fn list(args: &ListOutcomesArgs) -> Result<(), Failure> {
    let state = args.state.as_deref().map(str::parse::<OutcomeState>);
    let state = flagged("--state", state.transpose())?;
    let mut found = tenant(&args.tenant)?.outcomes(None)?;
    let all = found.len();
    found.retain(|line| state.is_none_or(|state| line.state == state));
    if args.tenant.format == Format::Json {
        return print_json(&found);
    }
    if found.is_empty() {
        return print(&if all > 0 {
            format!("none of the {all} outcomes is in that state\n")
        } else {
            "no outcome was proposed\n".to_owned()
        });
    }
    print(&found.iter().map(text_of).collect::<String>())
}

/// An outcome, for people.
fn text_of(line: &OutcomeLine) -> String {
    let who = |by: &Option<String>| {
        by.as_deref()
            .map_or(String::new(), |by| format!(" by {}", cell(by)))
    };
    let mut text = format!("{}  {}  {}\n", line.state, line.kind, cell(&line.name));
    text.push_str(&format!("  {}\n", cell(&line.content)));
    let record = line.record.as_deref();
    let record = record.map_or(String::new(), |record| format!(" for {}", cell(record)));
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
