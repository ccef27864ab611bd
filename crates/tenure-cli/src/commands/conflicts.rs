//! `tenure conflicts`: claims that cannot both hold, and what is decided between them.

use tenure::belief::Loser;
use tenure_operations::conflict::{Conflicts, ListConflicts};
use tenure_store::{Conflict, Held, Party};

use super::operation::{asked, print_answer, write};
use super::stores::tenant_store;
use super::written::text_of_written;
use crate::args::{Call, ConflictsArgs, ConflictsCommand, ShowConflictArgs, TenantArgs};
use crate::failure::{Failure, cell};

/// Does what the subcommand says.
pub(crate) fn run(args: &ConflictsArgs) -> Result<(), Failure> {
    match &args.command {
        ConflictsCommand::List(call) => list(call),
        ConflictsCommand::Show(args) => show(args),
        ConflictsCommand::Resolve(call) => {
            let store = tenant_store(&call.tenant)?;
            write(call.form.clone(), call, store, text_of_written)
        }
    }
}

fn list(call: &Call<ListConflicts>) -> Result<(), Failure> {
    let found = asked(call.form.clone(), &call.tenant)?;
    print_conflicts(&found, &call.tenant, &nothing_of(&call.form))?;
    if let Some(next) = found.next {
        anstream::eprintln!(
            "note: there are more pairs: --limit N shows more, --after {next} the next ones"
        );
    }
    Ok(())
}

/// The words for a list that has nothing, with what was asked for.
fn nothing_of(form: &ListConflicts) -> String {
    let asked: Vec<String> = [
        form.entity.as_deref().map(|id| format!("of the entity `{}`", cell(id))),
        form.slot.as_deref().map(|slot| format!("on the slot `{}`", cell(slot))),
        (form.unresolved == Some(true)).then(|| "waiting for a decision".to_owned()),
        form.as_of.map(|at| format!("as of {at}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    match (form.after.is_some(), asked.is_empty()) {
        (true, _) => "no more pairs come after that one\n".to_owned(),
        (false, true) => "no two claims contradict each other\n".to_owned(),
        (false, false) => format!("no conflict matches: {}\n", asked.join(", ")),
    }
}

fn show(args: &ShowConflictArgs) -> Result<(), Failure> {
    let pair = ListConflicts {
        first: Some(args.first.clone()),
        second: Some(args.second.clone()),
        ..ListConflicts::default()
    };
    let found = asked(pair, &args.tenant)?;
    print_conflicts(
        &found,
        &args.tenant,
        "their claims never contradicted each other\n",
    )
}

fn print_conflicts(found: &Conflicts, args: &TenantArgs, none: &str) -> Result<(), Failure> {
    print_answer(found, args.format, |found| {
        match found.conflicts.as_slice() {
            [] => none.to_owned(),
            conflicts => conflicts.iter().map(text_of).collect(),
        }
    })
}

/// A conflict, for people.
pub(crate) fn text_of(conflict: &Conflict) -> String {
    let mut text = format!("{} of {}\n", cell(&conflict.slot), cell(&conflict.entity));
    let stands = |lost: [Loser; 2]| {
        if lost.contains(&conflict.loser) {
            "out"
        } else {
            "stands"
        }
    };
    let mut side = |party: &Party, stands: &str| {
        let claims = party
            .claims
            .iter()
            .zip(&party.valid)
            .map(|(claim, held)| format!("{claim}{}", time_of(*held)))
            .collect::<Vec<String>>()
            .join(", ");
        text.push_str(&format!(
            "  {stands:<6}  {}  {}\n",
            cell(&party.name),
            cell(&claims)
        ));
    };
    side(&conflict.first, stands([Loser::First, Loser::Both]));
    side(&conflict.second, stands([Loser::Second, Loser::Both]));
    let both = Held {
        from: conflict.from,
        until: conflict.until,
    };
    if both.from.is_some() || both.until.is_some() {
        text.push_str(&format!("  both{}\n", time_of(both)));
    }
    let since = conflict.tx_start;
    let until = conflict.tx_end.map_or(String::new(), |end| format!(" to {end}"));
    text.push_str(&format!("  by {}, since {since}{until}\n", conflict.ground));
    if let Some(at) = conflict.claimed_at {
        text.push_str(&format!("  as claimed at {at}\n"));
    }
    if let Some([first, second]) = &conflict.merged {
        let (first, second) = (cell(first), cell(second));
        text.push_str(&format!("  one by a merge: {first}, {second}\n"));
    }
    if let Some(note) = &conflict.note {
        text.push_str(&format!("  {}\n", cell(note)));
    }
    let actions: Vec<String> = conflict
        .actions
        .iter()
        .map(|action| serde_json::to_value(action).unwrap_or_default())
        .filter_map(|action| action.as_str().map(|term| term.replace('_', " ")))
        .collect();
    if !actions.is_empty() {
        text.push_str(&format!("  ask: {}\n", actions.join(", ")));
    }
    text
}

/// A time, behind what it is the time of.
fn time_of(held: Held) -> String {
    match (held.from, held.until) {
        (None, None) => String::new(),
        (Some(from), None) => format!(" from {from}"),
        (None, Some(until)) => format!(" until {until}"),
        (Some(from), Some(until)) => format!(" from {from} until {until}"),
    }
}
