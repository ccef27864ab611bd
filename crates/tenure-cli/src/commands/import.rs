//! `tenure import`.

use serde_json::json;
use tenure_workspace::registries::{self, Imported};
use tenure_workspace::{Collect, ReadAs};

use super::{print, print_json, reading, registry};
use crate::args::{Format, ImportArgs};
use crate::failure::{Failure, cell};

/// Reads the sources and puts their blocks into a snapshot.
pub(crate) fn run(args: &ImportArgs) -> Result<(), Failure> {
    let workspace = registry::workspace(&args.output)?;
    let options = Collect {
        tenant: args.tenant.clone(),
        // What a registry is filled with is its owner's.
        read_as: ReadAs::Guidance,
        ..reading::options(&args.reading)?
    };
    let candidates = reading::collect(&workspace, &args.paths, &options)?;
    let (objects, unfetched) = (candidates.objects(), candidates.unfetched());
    let mut file = workspace.snapshot_or_begin(&args.snapshot)?;
    let label = args.registry.as_str();
    let Imported {
        imported,
        registry: summary,
        lowered,
    } = registries::import(&mut file.registries, label, objects, &args.blocks)?;
    file.save()?;
    match args.output.format {
        Format::Json => print_json(&json!({
            "imported": imported,
            "registry": summary,
            "lowered": lowered,
            "unfetched": unfetched,
        })),
        Format::Text => {
            if !unfetched.is_empty() {
                anstream::eprintln!(
                    "note: {} not imported; `--format json` names each, with its reason",
                    registry::count(unfetched.len(), "file")
                );
            }
            print(&format!(
                "{}: {} imported, {} in all, {} bytes\n",
                cell(label),
                registry::count(imported, "block"),
                summary.blocks,
                summary.bytes
            ))
        }
    }
}
