//! `tenure diff`.

use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;
use tenure::inspect::diff;
use tenure::{Error, Trace};
use tenure_workspace::read_text;

use super::{print, print_json};
use crate::args::{DiffArgs, Format};
use crate::failure::{Failure, printable};

/// Compares and prints.
pub(crate) fn run(args: &DiffArgs) -> Result<(), Failure> {
    let difference = diff(&trace(&args.before)?, &trace(&args.after)?);
    match args.format {
        Format::Json => print_json(&difference),
        Format::Text => print(&printable(&difference.to_string())),
    }
}

/// A trace, alone or in the output of a compile.
pub(super) fn trace(path: &Path) -> Result<Trace, Error> {
    #[derive(Deserialize)]
    struct Output<'a> {
        #[serde(borrow)]
        trace: Option<&'a RawValue>,
    }
    let text = read_text(path)?;
    let inner = serde_json::from_str::<Output<'_>>(&text).ok().and_then(|output| output.trace);
    Trace::from_json(inner.map_or(text.as_str(), RawValue::get)).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        error
            .at(path.display().to_string(), line)
            .hint("a trace is what `tenure compile --trace FILE` or `--format json` writes")
    })
}
