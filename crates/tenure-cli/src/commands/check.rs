//! `tenure check`.

use std::fmt::Write;

use serde_json::json;
use tenure::Error;
use tenure::conform::Violation;
use tenure::wire::Format as Form;
use tenure_workspace::check_body;

use super::cache::named_by_target;
use super::whole_name;
use super::{flagged, print, print_json, read_or_stdin, without_key};
use crate::args::{CheckArgs, Format};
use crate::failure::{Failure, printable};

/// Prints the rules that a body breaks, and fails when it breaks any.
pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let text = read_or_stdin(&args.file)?;
    let format = args.target.as_deref();
    let format = format.map(|target| flagged("--target", whole_name(target).parse::<Form>()));
    let model = args.model.as_deref();
    let model = model
        .map(|name| without_key(&args.catalogue)?.world(name))
        .transpose()?;
    let shown = args.file.display().to_string();
    let (format, found) =
        check_body(&text, &shown, format.transpose()?, model.as_ref()).map_err(named_by_target)?;
    match args.format {
        Format::Json => print_json(&json!({ "target": format, "violations": found }))?,
        Format::Text => print(&lines(&found))?,
    }
    if found.is_empty() {
        return Ok(());
    }
    let times = match found.len() {
        1 => "a rule".to_owned(),
        count => format!("rules in {count} places"),
    };
    Err(Error::input(format!("the body breaks {times} of {format}"))
        .hint("docs/wire.md lists the rules and where they are stated")
        .into())
}

fn lines(found: &[Violation]) -> String {
    let mut out = String::new();
    for Violation { rule, at, what } in found {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{rule}  {}: {}", printable(at), printable(what));
    }
    out
}
