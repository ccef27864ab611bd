//! `tenure store`: the verbs over a tenant's part of a store.

mod check;
mod memory;
mod proposals;
mod read;
mod records;
mod subject;
mod write;

use serde_json::json;
use tenure::Error;
use tenure::object::{Lifecycle, ObjectId};
use tenure::time::Instant;
use tenure_store::{FlaggedText, StoredObject, Subject, Tenant, WriteNote, Written};
use tenure_workspace::keys::Keys;
use tenure_workspace::{Belief, object_id};

use super::{print, print_json};
use crate::args::{Format, MigrateArgs, StoreArgs, StoreCommand, TenantArgs};
use crate::commands::stores;
use crate::failure::{Failure, cell};

pub(crate) use proposals::{text_of, waiting_of};
pub(crate) use records::replay;

/// Does what the subcommand says.
pub(crate) fn run(args: &StoreArgs) -> Result<(), Failure> {
    match &args.command {
        StoreCommand::Put(args) => write::put(args),
        StoreCommand::Get(args) => read::get(args),
        StoreCommand::List(args) => read::list(args),
        StoreCommand::Audit(args) => read::audit(args),
        StoreCommand::History(args) => read::history(args),
        StoreCommand::AsOf(args) => read::as_of(args),
        StoreCommand::Search(args) => read::search(args),
        StoreCommand::Log(args) => read::log(args),
        StoreCommand::Memory(args) => memory::run(args),
        StoreCommand::Retract(args) => write::retract(args),
        StoreCommand::Judge(args) => write::judge(args),
        StoreCommand::Refresh(args) => write::refresh(args),
        StoreCommand::Proposals(args) => proposals::proposals(args),
        StoreCommand::Confirm(args) => write::confirm(args),
        StoreCommand::Export(args) => read::export(args),
        StoreCommand::Import(args) => write::import(args),
        StoreCommand::Erase(args) => write::erase(args),
        StoreCommand::Subject(args) => subject::subject(args),
        StoreCommand::Sweep(args) => write::sweep(args),
        StoreCommand::Records(args) => records::records(args),
        StoreCommand::Policy(args) => write::policy(args),
        StoreCommand::Migrate(args) => migrate(args),
        StoreCommand::Check(args) => check::check(args),
    }
}

/// A person, with the keys of the store that speak for them.
pub(super) fn person(args: &TenantArgs, name: &str) -> Result<Subject, Error> {
    let store = stores::existing(&args.url, "tenure store put")?;
    Keys::subject(&store, &args.tenant, name)
}

pub(crate) fn objects(tenant: &Tenant, named: &[String]) -> Result<Vec<ObjectId>, Error> {
    named.iter().map(|named| object_id(tenant, named)).collect()
}

/// Prints the result of a write, for people or for programs.
pub(crate) fn print_written(written: &Written, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print_json(written);
    }
    print(&text_of_written(written))
}

/// A write, for people.
pub(crate) fn text_of_written(written: &Written) -> String {
    let mut text = String::new();
    for object in &written.objects {
        let outcome = serde_json::to_value(object.outcome)
            .unwrap_or_default()
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let name = object.name.as_deref().unwrap_or("");
        text.push_str(&format!(
            "{outcome:<10}  {}  {}\n",
            object.object_id,
            cell(name)
        ));
        if let Some(note) = note_of(object.note.as_ref()) {
            text.push_str(&format!("  {note}\n"));
        }
    }
    text.push_str(&version_of(written));
    text
}

/// The version after a write, for people, and that it changed nothing where it did not.
pub(crate) fn version_of(written: &Written) -> String {
    let same = if written.nothing_changed {
        "nothing changed: it was so already\n"
    } else {
        ""
    };
    format!("{same}version {} at {}\n", written.version, written.at)
}

/// A note on what was written, for people.
pub(crate) fn note_of(note: Option<&WriteNote>) -> Option<String> {
    match note? {
        WriteNote::ClaimNotParsed { why } => Some(format!("claim_not_parsed: {}", cell(why))),
        WriteNote::ClaimAboutNobody => Some(
            "claim_about_nobody: it contradicts no other until `canonical_entity_ids` say what it is about"
                .to_owned(),
        ),
        WriteNote::EntityPending => {
            Some("entity_pending: `tenure entity review` shows which it may be".to_owned())
        }
        WriteNote::MentionsCut => Some(
            "mentions_cut: it names more than one write adds to the registry; parts of it as objects of their own name all"
                .to_owned(),
        ),
        WriteNote::AwaitsConfirmation { why, flagged } => Some(format!(
            "awaits_confirmation: {}{}; it is not compiled until `tenure store confirm` makes it believed",
            cell(why),
            FlaggedText::in_brackets(flagged)
        )),
        WriteNote::AuthorityLowered {
            declared,
            authority,
        } => Some(format!(
            "authority_lowered: it has {authority} and not {declared}, as what it comes from has no more"
        )),
        WriteNote::Overruled { authority, by } => Some(format!(
            "overruled: it has authority {authority}, and falls to authority {by} by this decision"
        )),
        WriteNote::MadeFromItself => Some(
            "made_from_itself: what it was made from leads back to it; write it with `derived_from` of what came first"
                .to_owned(),
        ),
        WriteNote::Renewed => Some("renewed: it did not wait, and counts as confirmed now".to_owned()),
        WriteNote::MistakeRepeated { repeats } => Some(format!(
            "mistake_repeated: counted; the mistake that it corrects was repeated {repeats} times so far"
        )),
        WriteNote::NothingSpeaks => Some(
            "nothing_speaks: for it or against it; its confidence stays as it is stated".to_owned(),
        ),
        WriteNote::AtMost { confidence } => Some(format!(
            "at_most: it has {confidence}, as what it was made from is no surer"
        )),
        _ => None,
    }
}

/// Beliefs, for people or for programs.
fn print_beliefs(beliefs: &[StoredObject], format: Format, contents: bool) -> Result<(), Failure> {
    if format == Format::Json {
        let shown: Result<Vec<Belief>, Error> = beliefs.iter().map(Belief::of).collect();
        return print_json(&shown?);
    }
    let mut text = String::new();
    for stored in beliefs {
        let object = &stored.object;
        let (valid, held) = (object.valid(), object.status().transaction);
        let end = |instant: Option<Instant>, missing: &str| {
            instant.map_or_else(|| missing.to_owned(), |instant| instant.to_string())
        };
        text.push_str(&format!(
            "{}  {}\n  valid     {} to {}\n  {}  {} to {}\n",
            object.revision().object_id(),
            cell(object.name()),
            end(valid.from, "unknown"),
            end(valid.until, "open"),
            if stored.lifecycle == Lifecycle::AwaitingConfirmation {
                "waiting "
            } else {
                "believed"
            },
            end(held.from, "unknown"),
            end(held.until, "now"),
        ));
        let status = object.status().contradiction;
        text.push_str(&format!("  status    {status}, {}\n", stored.lifecycle));
        let revision = object.revision();
        let found = revision.provenance();
        let id = found
            .and_then(|found| found.source_id.as_deref())
            .map_or_else(String::new, |id| format!(", {}", cell(id)));
        text.push_str(&format!("  source    {}{id}\n", revision.source_kind()));
        if contents {
            let content = crate::failure::printable(object.revision().content());
            text.push_str(&format!("\n{}\n\n", content.trim_end()));
        }
    }
    print(&text)
}

fn migrate(args: &MigrateArgs) -> Result<(), Failure> {
    let store = stores::to_write(&args.url)?;
    let applied = store.migrate()?;
    if args.format == Format::Json {
        return print_json(&json!({ "store": store.shown(), "applied": applied }));
    }
    print(&match applied.len() {
        0 => format!("{}: up to date\n", store.shown()),
        _ => {
            let versions: Vec<String> = applied.iter().map(u32::to_string).collect();
            format!("{}: applied {}\n", store.shown(), versions.join(", "))
        }
    })
}
