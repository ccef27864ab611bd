//! `tenure conflicts`: claims that cannot both hold, and what is decided between them.

use tenure::Error;
use tenure::belief::Loser;
use tenure::object::{Decision, ObjectId};
use tenure_store::{Conflict, ConflictQuery, Held, PairMark, Party, Tenant};
use tenure_workspace::{as_named, object_id};

use super::store::print_written;
use super::stores::{tenant, writing};
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
/// The pairs that are read at once where all are printed.
const AT_ONCE: usize = 1_000;

fn list(args: &ListConflictsArgs) -> Result<(), Failure> {
    let known = args
        .as_of
        .as_deref()
        .map(|at| instant(at, "--as-of"))
        .transpose()?;
    let after = args
        .after
        .as_deref()
        .map(str::parse::<PairMark>)
        .transpose()
        .map_err(|error| error.at("--after", None))?;
    let tenant = tenant(&args.tenant)?;
    let query = ConflictQuery {
        known,
        entity: args.entity.as_deref(),
        slot: args.slot.as_deref(),
        waiting: args.unresolved,
        after,
        ..ConflictQuery::default()
    };
    if args.limit.is_none() && args.tenant.format == Format::Json {
        return print_all(&tenant, query);
    }
    let page = tenant.conflict_page(&query, args.limit.unwrap_or(SHOWN) as usize)?;
    let mut asked = Vec::new();
    asked.extend(
        args.entity
            .as_deref()
            .map(|id| format!("of the entity `{}`", cell(id))),
    );
    asked.extend(
        args.slot
            .as_deref()
            .map(|slot| format!("on the slot `{}`", cell(slot))),
    );
    asked.extend(args.unresolved.then(|| "waiting for a decision".to_owned()));
    asked.extend(
        args.as_of
            .as_deref()
            .map(|at| format!("as of {}", cell(at))),
    );
    let none = match (args.after.is_some(), asked.is_empty()) {
        (true, _) => "no more pairs come after that one\n".to_owned(),
        (false, true) => "no two claims contradict each other\n".to_owned(),
        (false, false) => format!("no conflict matches: {}\n", asked.join(", ")),
    };
    print_conflicts(&page.conflicts, args.tenant.format, &none)?;
    if let Some(next) = page.next {
        anstream::eprintln!(
            "note: there are more pairs: --limit N shows more, --after {next} the next ones"
        );
    }
    Ok(())
}

/// Prints all of them as one JSON array, a page at a time.
fn print_all(tenant: &Tenant, mut query: ConflictQuery<'_>) -> Result<(), Failure> {
    let mut begun = false;
    loop {
        let page = tenant.conflict_page(&query, AT_ONCE)?;
        for conflict in &page.conflicts {
            let line = serde_json::to_string_pretty(conflict)
                .map_err(|error| {
                    Error::assertion(format!("a conflict is written as JSON: {error}"))
                })?
                .replace('\n', "\n  ");
            print(&format!("{}\n  {line}", if begun { "," } else { "[" }))?;
            begun = true;
        }
        query.after = page.next;
        if query.after.is_none() {
            return print(if begun { "\n]\n" } else { "[]\n" });
        }
    }
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
    let written =
        tenant.resolve_conflict(first, second, stands, note, None, &writing(&args.writing));
    let named = [(first, &*args.first), (second, &*args.second)];
    let written = written.map_err(|error| as_named(error, &named))?;
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
    let until = conflict
        .tx_end
        .map_or(String::new(), |end| format!(" to {end}"));
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
