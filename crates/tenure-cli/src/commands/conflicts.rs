//! `tenure conflicts`: claims that cannot both hold, and what is decided between them.

use tenure::Error;
use tenure::belief::{Ground, Loser};
use tenure::object::{Decision, ObjectId};
use tenure_store::{Conflict, Party};
use tenure_workspace::object_id;

use super::store::{print_written, tenant, writing};
use super::{instant, print, print_json};
use crate::args::{
    ConflictsArgs, ConflictsCommand, Format, ListConflictsArgs, ResolveConflictArgs,
    ShowConflictArgs, Stands,
};
use crate::failure::{Failure, cell};

/// Does what the subcommand says.
pub(crate) fn run(args: &ConflictsArgs) -> Result<(), Failure> {
    match &args.command {
        ConflictsCommand::List(args) => list(args),
        ConflictsCommand::Show(args) => show(args),
        ConflictsCommand::Resolve(args) => resolve(args),
    }
}

/// The most pairs that are shown to people who name no number.
const SHOWN: u32 = 50;

fn list(args: &ListConflictsArgs) -> Result<(), Failure> {
    let known = args.as_of.as_deref();
    let known = known.map(|at| instant(at, "--as-of")).transpose()?;
    let mut found = tenant(&args.tenant)?.conflicts(known, None)?;
    if args.unresolved {
        found.retain(|conflict| conflict.loser == Loser::Both && conflict.ground != Ground::Person);
    }
    let limit = match (args.limit, args.tenant.format) {
        (Some(limit), _) => limit as usize,
        (None, Format::Text) => SHOWN as usize,
        (None, Format::Json) => found.len(),
    };
    let more = found.len().saturating_sub(limit);
    found.truncate(limit);
    print_conflicts(
        &found,
        args.tenant.format,
        "no two claims contradict each other\n",
    )?;
    if more > 0 {
        anstream::eprintln!("note: {more} more pairs: --limit shows more");
    }
    Ok(())
}

fn show(args: &ShowConflictArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let first = object_id(&tenant, &args.first)?;
    let second = object_id(&tenant, &args.second)?;
    refuse_itself(first, second)?;
    let found = tenant.conflict_history(first, second, None)?;
    print_conflicts(
        &found,
        args.tenant.format,
        "their claims never contradicted each other\n",
    )
}

fn resolve(args: &ResolveConflictArgs) -> Result<(), Failure> {
    let tenant = tenant(&args.tenant)?;
    let first = object_id(&tenant, &args.first)?;
    let second = object_id(&tenant, &args.second)?;
    refuse_itself(first, second)?;
    let stands = match args.stands {
        Stands::First => Decision::First,
        Stands::Second => Decision::Second,
        Stands::Both => Decision::Both,
        Stands::Neither => Decision::Neither,
    };
    let note = args.note.as_deref();
    let written = tenant.resolve_conflict(first, second, stands, note, &writing(&args.writing))?;
    print_written(&written, args.tenant.format)
}

/// Refuses one object in the place of two.
fn refuse_itself(first: ObjectId, second: ObjectId) -> Result<(), Error> {
    if first != second {
        return Ok(());
    }
    Err(Error::input("both names are of one object")
        .expected("two objects whose claims contradict each other")
        .hint("`tenure conflicts list` shows which there are"))
}

fn print_conflicts(found: &[Conflict], format: Format, none: &str) -> Result<(), Failure> {
    if format == Format::Json {
        return print_json(&found);
    }
    if found.is_empty() {
        return print(none);
    }
    print(&found.iter().map(text_of).collect::<String>())
}

/// A conflict, for people.
fn text_of(conflict: &Conflict) -> String {
    let mut text = format!("{} of {}\n", cell(&conflict.slot), cell(&conflict.entity));
    let stands = |lost: [Loser; 2]| {
        if lost.contains(&conflict.loser) {
            "out"
        } else {
            "stands"
        }
    };
    let mut side = |party: &Party, stands: &str| {
        let claims = party.claims.join(", ");
        text.push_str(&format!(
            "  {stands:<6}  {}  {}\n",
            cell(&party.name),
            cell(&claims)
        ));
    };
    side(&conflict.first, stands([Loser::First, Loser::Both]));
    side(&conflict.second, stands([Loser::Second, Loser::Both]));
    let since = conflict.tx_start;
    let until = conflict
        .tx_end
        .map_or(String::new(), |end| format!(" to {end}"));
    text.push_str(&format!("  by {}, since {since}{until}\n", conflict.ground));
    if let Some([first, second]) = &conflict.merged {
        let (first, second) = (cell(first), cell(second));
        text.push_str(&format!("  one by a merge: {first}, {second}\n"));
    }
    if let Some(note) = &conflict.note {
        text.push_str(&format!("  {}\n", cell(note)));
    }
    let actions = conflict.actions.iter();
    let actions: Vec<String> = actions
        .map(|action| serde_json::to_value(action).unwrap_or_default())
        .filter_map(|action| action.as_str().map(|term| term.replace('_', " ")))
        .collect();
    if !actions.is_empty() {
        text.push_str(&format!("  ask: {}\n", actions.join(", ")));
    }
    text
}
