//! Work that waits for a person.

use tenure::object::clip;
use tenure_operations::pending::ListProposals;
use tenure_store::{Tenant, Waiting, WaitingKind};
use tenure_workspace::{Clock, object_id};

use crate::args::{Call, StoreUrl};
use crate::commands::operation;
use crate::failure::{Failure, cell};

pub(super) fn proposals(call: &Call<ListProposals>) -> Result<(), Failure> {
    let mut answer = operation::asked(call.form.clone(), &call.tenant)?;
    answer.proposals = in_store(answer.proposals, &call.tenant.url);
    operation::print_answer(&answer, call.tenant.format, |answer| {
        if answer.proposals.is_empty() {
            return "nothing waits for a person\n".to_owned();
        }
        answer.proposals.iter().map(text_of).collect()
    })
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

/// Something that waits, for people.
pub(crate) fn text_of(one: &Waiting) -> String {
    let asks = match one.kind {
        WaitingKind::Outcome => "accept or reject",
        WaitingKind::Erasure => "erase or confirm",
        WaitingKind::Entity => "one of its own?",
        WaitingKind::Conflict => "which one stands?",
        WaitingKind::Stale => "make it anew",
        WaitingKind::Judged => "clean again?",
        WaitingKind::Weakened => "evidence is over",
        _ => "confirm or retract",
    };
    let since = one.since.map(|since| format!("  since {since}"));
    let why = one.why.map(|why| format!("  {why}"));
    let stated = one.other_name.as_ref().map(|name| format!("  in the place of {}", cell(name)));
    // One that is alone needs no name.
    let revision = |at: usize| match &one.revisions[..] {
        several @ [_, _, ..] => several.get(at).map(|own| format!("--revision {own}  ")),
        _ => None,
    };
    let texts = one.texts.iter().enumerate().map(|(at, text)| {
        let revision = revision(at).unwrap_or_default();
        format!("  {revision}{}\n", cell(&clip(text)))
    });
    let ways = [&one.decide]
        .into_iter()
        .chain(&one.otherwise)
        .map(|way| format!("  {}\n", cell(way)));
    format!(
        "{asks:<18}  {}{}{}{}\n{}{}",
        cell(&one.name),
        since.unwrap_or_default(),
        why.unwrap_or_default(),
        stated.unwrap_or_default(),
        texts.collect::<String>(),
        ways.collect::<String>()
    )
}
