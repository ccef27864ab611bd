//! `tenure belief`: claims with their evidence.

use serde_json::json;
use tenure::time::Instant;
use tenure::{Error, Principal};
use tenure_operations::belief::{GetBelief, ReviseBelief};
use tenure_store::{BeliefWithEvidence, Silence, Weakening};
use tenure_workspace::object_id;

use super::operation::{asked, print_answer, write};
use super::stores::{tenant, tenant_store};
use super::written::text_of_written;
use super::{print, print_json, speak};
use crate::args::{
    BeliefArgs, BeliefCommand, CallerArgs, Format, ObjectArgs, ReviseBeliefArgs, ShowBeliefArgs,
    TenantArgs,
};
use crate::failure::{Failure, cell};

/// Does what the subcommand says.
pub(crate) fn run(args: &BeliefArgs) -> Result<(), Failure> {
    match &args.command {
        BeliefCommand::Show(args) => show(args),
        BeliefCommand::Revise(args) => revise(args),
        BeliefCommand::Log(args) => log(args),
    }
}

/// The caller that the arguments name. Without one, everything is shown.
fn seen_by(tenant: &TenantArgs, caller: &CallerArgs) -> Result<Option<Principal>, Error> {
    if !caller.names_somebody() {
        return Ok(None);
    }
    let mut principal = Principal {
        tenant: tenant.tenant.clone(),
        ..Principal::owner()
    };
    speak(&mut principal, caller)?;
    Ok(Some(principal))
}

fn show(args: &ShowBeliefArgs) -> Result<(), Failure> {
    let ShowBeliefArgs { call, caller } = args;
    let form = GetBelief {
        principal: seen_by(&call.tenant, caller)?,
        ..call.form.clone()
    };
    let answer = asked(form, &call.tenant)?;
    print_answer(&answer, call.tenant.format, |shown| text_of(&shown.belief))
}

pub(crate) fn text_of(belief: &BeliefWithEvidence) -> String {
    let mut text = format!("{}  {}\n", cell(&belief.name), cell(&belief.claim));
    let counts = belief.evidence.iter().any(|link| link.silent.is_none());
    let confidence = if counts {
        belief.confidence.to_string()
    } else {
        "of no evidence".to_owned()
    };
    let most = belief
        .at_most
        .filter(|most| counts && *most < belief.confidence)
        .map_or(String::new(), |most| {
            format!(", at most {most} as what it was made from")
        });
    text.push_str(&format!(
        "  confidence  {confidence}{most}, stated {}\n",
        belief.stated
    ));
    let next = belief.weakened.map(|next| match next {
        Weakening::LoweredTo(confidence) => format!("lowers it to {confidence}"),
        Weakening::Ends(at) => format!("ends it as of {at}"),
    });
    if let Some(next) = next {
        text.push_str(&format!(
            "  evidence for it is over since it was written: the next `tenure store sweep` {next}\n"
        ));
    }
    for link in &belief.evidence {
        let claim = link
            .claim
            .as_deref()
            .map_or(String::new(), |claim| format!("  {}", cell(claim)));
        let name = cell(&link.name);
        let origins: Vec<String> = link.origins.iter().map(|one| cell(one).to_string()).collect();
        let vote = match (link.vote, link.silent) {
            (_, Some(Silence::Over)) => "does not count: it is over".to_owned(),
            (_, Some(Silence::NotForAll)) => {
                "does not count: not everyone may see it who may see the claim".to_owned()
            }
            (_, Some(Silence::OneSided)) => {
                "does not count: the claim does not count against it, and nothing else tells them apart"
                    .to_owned()
            }
            (Some(vote), None) => format!("vote {vote}"),
            _ => "does not count".to_owned(),
        };
        text.push_str(&format!(
            "  {:<7}  {}  {name}{claim}  from {}  ({vote})\n",
            link.direction,
            link.source_authority,
            origins.join(", ")
        ));
    }
    if let Some(refused) = belief.refused {
        text.push_str(&format!("  not enough for something inferred: {refused}\n"));
    }
    for flagged in &belief.flagged {
        text.push_str(&format!("  flagged  {flagged}\n"));
    }
    text
}

fn revise(args: &ReviseBeliefArgs) -> Result<(), Failure> {
    let ReviseBeliefArgs { call, caller } = args;
    let form = ReviseBelief {
        principal: seen_by(&call.tenant, caller)?,
        ..call.form.clone()
    };
    write(form, call, tenant_store(&call.tenant)?, |revised| {
        text_of(&revised.belief) + &text_of_written(&revised.written)
    })
}

fn log(args: &ObjectArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let history = tenant.history(object_id(&tenant, &args.object)?)?;
    let line = |stored: &tenure_store::StoredObject| {
        let held = stored.object.status().transaction;
        json!({
            "tx_start": held.from,
            "tx_end": held.until,
            "confidence": stored.object.revision().confidence(),
            "claim": stored.object.revision().normalized_claim(),
            "status": stored.object.status().contradiction,
        })
    };
    if args.tenant.format == Format::Json {
        return print_json(&history.iter().map(line).collect::<Vec<_>>());
    }
    let shown = |instant: Option<Instant>, missing: &str| {
        instant.map_or(missing.to_owned(), |instant| instant.to_string())
    };
    let text = history.iter().map(|stored| {
        let held = stored.object.status().transaction;
        let revision = stored.object.revision();
        format!(
            "{} to {}  {}  {}  {}\n",
            shown(held.from, "unknown"),
            shown(held.until, "now"),
            revision.confidence(),
            stored.object.status().contradiction,
            cell(revision.normalized_claim().unwrap_or("-")),
        )
    });
    print(&text.collect::<String>())
}
