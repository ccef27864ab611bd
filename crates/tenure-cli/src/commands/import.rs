//! `tenure import`.

use serde_json::json;
use tenure::registry::Kind;
use tenure_workspace::{Collect, SeedSource};

use super::{print, print_json, reading, registry};
use crate::args::{Format, ImportArgs};
use crate::failure::{Failure, printable};

/// Reads the sources and puts their blocks into a snapshot.
pub(crate) fn run(args: &ImportArgs) -> Result<(), Failure> {
    let workspace = registry::workspace(&args.output)?;
    let options = Collect {
        tenant: args.tenant.clone(),
        ..reading::options(&args.reading)?
    };
    let sources = args.paths.iter().map(|path| SeedSource {
        blocks: args.blocks.clone(),
        ..SeedSource::all(path)
    });
    let sources: Vec<SeedSource> = sources.collect();
    let loaded = workspace.library(&sources, &options)?;
    reading::warn(&loaded.warnings);
    let mut file = workspace.snapshot_or_begin(&args.snapshot)?;
    let registries = &mut file.registries;
    let label = args.registry.as_str();
    let capability = if registries.labels().any(|known| known == label) {
        registries.issue(label)?
    } else {
        registries.create(label, Kind::Agent)?
    };
    let drawn = workspace.draw_all(registries, &capability, label, &loaded.library)?;
    let summary = registries.view(label)?.summary();
    file.save()?;
    match args.output.format {
        Format::Json => print_json(&json!({
            "imported": drawn.len(),
            "registry": summary,
            "unfetched": loaded.unfetched,
        })),
        Format::Text => print(&format!(
            "{}: {} imported, {} in all, {} bytes\n",
            printable(label),
            registry::count(drawn.len(), "block"),
            summary.blocks,
            summary.bytes
        )),
    }
}
