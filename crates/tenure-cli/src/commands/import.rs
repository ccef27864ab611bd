//! `tenure import`.

use std::sync::Arc;

use serde_json::json;
use tenure::error::nearest;
use tenure::object::clip;
use tenure::registry::{Kind, Library};
use tenure::{ContextObject, Error};
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
    let collected = workspace.collect(&args.paths, &options)?;
    reading::warn(&collected.warnings);
    let objects = collected.candidates.objects();
    let chosen = chosen(objects, &args.blocks)?;
    let library = Library::new(chosen.map(|object| ("import", Arc::clone(object))))?;
    let unfetched = collected.candidates.unfetched();
    let mut file = workspace.snapshot_or_begin(&args.snapshot)?;
    let registries = &mut file.registries;
    let label = args.registry.as_str();
    let capability = if registries.labels().any(|known| known == label) {
        registries.issue(label)?
    } else {
        registries.create(label, Kind::Agent)?
    };
    let drawn = workspace.draw_all(registries, &capability, label, &library)?;
    let summary = registries.view(label)?.summary();
    file.save()?;
    match args.output.format {
        Format::Json => print_json(&json!({
            "imported": drawn.len(),
            "registry": summary,
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
                registry::count(drawn.len(), "block"),
                summary.blocks,
                summary.bytes
            ))
        }
    }
}

/// The objects of these names, or all where none is named.
fn chosen<'o>(
    objects: &'o [Arc<ContextObject>],
    wanted: &'o [String],
) -> Result<impl Iterator<Item = &'o Arc<ContextObject>>, Error> {
    let names = || objects.iter().map(|object| object.name());
    if let Some(missing) = wanted
        .iter()
        .find(|wanted| !names().any(|name| name == **wanted))
    {
        let error = Error::input(format!("no source has a block named `{}`", clip(missing)));
        return Err(match nearest(missing, names()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.expected("the name of one of their blocks"),
        });
    }
    let is_wanted = |object: &&Arc<ContextObject>| {
        wanted.is_empty() || wanted.iter().any(|wanted| wanted == object.name())
    };
    Ok(objects.iter().filter(is_wanted))
}
