//! One file for each command.

pub(crate) mod allocate;
pub(crate) mod compile;
pub(crate) mod diff;
pub(crate) mod explain;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod models;
pub(crate) mod reading;
pub(crate) mod registry;
pub(crate) mod schema;
pub(crate) mod skills;
pub(crate) mod tokens;

use std::io::{self, Write};

use tenure::{Error, FrameKey};
use tenure_workspace::{Workspace, default_catalogue_path};

use crate::args::CatalogueArgs;
use crate::failure::Failure;

/// The workspace with the models that the arguments name, or else the user's own.
fn with_models(workspace: Workspace, args: &CatalogueArgs) -> Result<Workspace, Error> {
    match args.catalogue.clone().or_else(default_catalogue_path) {
        Some(path) => workspace.load_catalogue(&path),
        None => Ok(workspace),
    }
}

/// A workspace for what frames nothing, and so needs no key.
fn without_key(args: &CatalogueArgs) -> Result<Workspace, Error> {
    with_models(Workspace::new(FrameKey::new("none", [0; 32]))?, args)
}

/// Writes data to standard output.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes a value as pretty JSON.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}
