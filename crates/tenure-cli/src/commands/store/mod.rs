//! `tenure store`: the verbs over a tenant's part of a store.

mod check;
mod memory;
mod read;
mod records;
mod subject;
mod write;

use serde_json::json;
use tenure::Error;
use tenure::object::{Lifecycle, ObjectId};
use tenure::time::Instant;
use tenure_store::{StoredObject, Subject, Tenant};
use tenure_workspace::keys::Keys;
use tenure_workspace::{Belief, object_id};

use super::{print, print_json};
use crate::args::{Format, MigrateArgs, StoreArgs, StoreCommand, TenantArgs};
use crate::commands::{review, stores};
use crate::failure::{Failure, cell};

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
        StoreCommand::Proposals(args) => review::list(args),
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
