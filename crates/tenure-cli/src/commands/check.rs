//! `tenure check`.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tenure::Error;
use tenure::conform::{Violation, check};
use tenure::wire::Format as Form;

use super::whole_name;
use super::{print, print_json, read_or_stdin, usage, without_key};
use crate::args::{CheckArgs, Format};
use crate::failure::{Failure, printable};

/// Prints the rules that a body breaks, and fails when it breaks any.
pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    let text = read_or_stdin(&args.file)?;
    let body = payload(&text).unwrap_or(&text);
    let format = match &args.target {
        Some(target) => usage(whole_name(target).parse::<Form>())?,
        None => Form::detect(body).ok_or_else(|| {
            Error::input("the format of the messages is unknown")
                .at(args.file.display().to_string(), None)
                .expected("the body of a request, or its messages")
                .hint("name the provider with --target")
        })?,
    };
    let model = args.model.as_deref();
    let model = model
        .map(|name| without_key(&args.catalogue)?.world(name))
        .transpose()?;
    let found = check(format, body, model.as_ref().map(|world| world.model()))
        .map_err(|error| error.or_at(args.file.display().to_string(), None))?;
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

/// The body in the output of `tenure compile --format json`.
fn payload(text: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct Outcome<'a> {
        #[serde(borrow)]
        envelope: Envelope<'a>,
    }
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow)]
        payload: &'a RawValue,
    }
    let outcome: Outcome<'_> = serde_json::from_str(text).ok()?;
    Some(outcome.envelope.payload.get())
}

fn lines(found: &[Violation]) -> String {
    let mut out = String::new();
    for Violation { rule, at, what } in found {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{rule}  {}: {}", printable(at), printable(what));
    }
    out
}
