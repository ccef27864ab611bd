//! `tenure review`: what waits for a person, and decisions on it.

use tenure::object::{ReviewDecision, clip};
use tenure_operations::pending::{DecideProposal, GetProposal, ListProposals, ProposalShown};
use tenure_store::{Tenant, Waiting, WaitingKind};
use tenure_workspace::{Clock, object_id};

use super::stores::tenant_store;
use super::written::text_of_written;
use super::{belief, conflicts, entity, operation, outcome};
use crate::args::{Call, ReviewArgs, ReviewCommand, StoreUrl, Write};
use crate::failure::{Failure, cell};

/// Does what the subcommand says.
pub(crate) fn run(args: &ReviewArgs) -> Result<(), Failure> {
    match &args.command {
        ReviewCommand::List(call) => list(call),
        ReviewCommand::Show(call) => show(call),
        ReviewCommand::Accept(call) => decide(call, ReviewDecision::Accept),
        ReviewCommand::Reject(call) => decide(call, ReviewDecision::Reject),
        ReviewCommand::Hold(call) => decide(call, ReviewDecision::Hold),
    }
}

/// Lists what waits.
pub(crate) fn list(call: &Call<ListProposals>) -> Result<(), Failure> {
    let mut answer = operation::asked(call.form.clone(), &call.tenant)?;
    answer.proposals = in_store(answer.proposals, &call.tenant.url);
    operation::print_answer(&answer, call.tenant.format, |answer| {
        if answer.proposals.is_empty() {
            return "nothing waits for a person\n".to_owned();
        }
        answer.proposals.iter().map(text_of).collect()
    })
}

fn show(call: &Call<GetProposal>) -> Result<(), Failure> {
    let mut answer = operation::asked(call.form.clone(), &call.tenant)?;
    for one in in_store(vec![answer.proposal.clone()], &call.tenant.url) {
        answer.choices.clone_from(&one.choices);
        answer.proposal = one;
    }
    operation::print_answer(&answer, call.tenant.format, text_of_shown)
}

fn decide(call: &Write<DecideProposal>, decision: ReviewDecision) -> Result<(), Failure> {
    let form = DecideProposal {
        decision,
        ..call.form.clone()
    };
    operation::write(form, call, tenant_store(&call.tenant)?, text_of_written)
}

/// An entry with all that a decision needs, for people.
fn text_of_shown(shown: &ProposalShown) -> String {
    let one = &shown.proposal;
    let says = shown.says.iter().map(|said| {
        let (name, text) = (cell(&said.name), cell(&said.text));
        format!("  {}  {name}\n    {text}\n", said.lifecycle)
    });
    let choices = shown
        .choices
        .iter()
        .map(|choice| format!("  {}\n    {}\n", cell(&choice.command), cell(&choice.does)));
    [
        heading(one),
        says.collect(),
        shown.evidence.as_ref().map_or(String::new(), belief::text_of),
        shown.conflict.as_ref().map_or(String::new(), conflicts::text_of),
        shown.entity.as_ref().map_or(String::new(), entity::line_of),
        shown.outcome.as_ref().map_or(String::new(), outcome::text_of),
        choices.collect(),
    ]
    .concat()
}

/// Finds what waits of the object of this id or name, and the conflicts that it is in; nothing where there is none, or
/// several.
pub(crate) fn waiting_of(
    tenant: &Tenant,
    named: &str,
    url: &StoreUrl,
) -> Result<Vec<Waiting>, Failure> {
    let Ok(id) = object_id(tenant, named) else {
        return Ok(Vec::new());
    };
    let mut waiting = tenant.proposals(Clock::machine().now(), None)?;
    waiting.retain(|one| {
        let is_other = one.kind == WaitingKind::Conflict && one.other_id == Some(id);
        one.object_id == Some(id) || is_other
    });
    Ok(in_store(waiting, url))
}

/// Adds the store to each command: what is pasted is to go to the store that was looked at. The address of a server may
/// hold a secret.
fn in_store(waiting: Vec<Waiting>, url: &StoreUrl) -> Vec<Waiting> {
    let named = url
        .store
        .as_ref()
        .filter(|url| std::env::var("TENURE_STORE").as_ref() != Ok(*url));
    match named {
        Some(url) if url.starts_with("sqlite:") => {
            waiting.into_iter().map(|one| one.with_option("--store", url)).collect()
        }
        Some(_) if !waiting.is_empty() => {
            anstream::eprintln!("note: add the --store of this command to those that it shows");
            waiting
        }
        _ => waiting,
    }
}

/// The first line of an entry: what is asked, of what, since when and why.
fn heading(one: &Waiting) -> String {
    let asks = match one.kind {
        WaitingKind::Outcome => "accept or reject",
        WaitingKind::Erasure => "erase it?",
        WaitingKind::Entity => "one of its own?",
        WaitingKind::Conflict => "which one stands?",
        WaitingKind::Stale => "make it anew",
        WaitingKind::Judged => "clean again?",
        WaitingKind::Weakened => "evidence is over",
        _ => "does it hold?",
    };
    let since = one.since.map_or(String::new(), |since| format!("  since {since}"));
    let why = one.why.map_or(String::new(), |why| format!("  {why}"));
    let stated = one.other_name.as_ref().map_or(String::new(), |name| {
        format!("  in the place of {}", cell(name))
    });
    format!("{asks:<18}  {}{since}{why}{stated}\n", cell(&one.name))
}

/// Something that waits, for people.
pub(crate) fn text_of(one: &Waiting) -> String {
    let texts = one.texts.iter().enumerate().map(|(at, text)| {
        // One that is alone needs no name.
        let own = one.revisions.get(at).filter(|_| one.revisions.len() > 1);
        let flag = own.map(|own| format!("--revision {own}  ")).unwrap_or_default();
        format!("  {flag}{}\n", cell(&clip(text)))
    });
    let ways = one.choices.iter().map(|choice| format!("  {}\n", cell(&choice.command)));
    [heading(one), texts.collect(), ways.collect()].concat()
}
