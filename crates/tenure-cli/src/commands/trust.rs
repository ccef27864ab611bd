//! `tenure trust`: what is found and believed.

use std::path::Path;

use serde::Serialize;
use tenure::Error;
use tenure_workspace::trust::{Kind, Listed, Thing, Trust};

use super::{print, print_json};
use crate::args::{Format, TrustArgs};
use crate::failure::{Failure, cell, warning};

/// Something that is believed from now on, or no longer.
#[derive(Serialize)]
struct Told {
    path: String,
    kind: Kind,
    trusted: bool,
    /// Faults that speak against it, and were accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    despite: Vec<String>,
}

/// Does what the arguments say.
pub(crate) fn run(args: &TrustArgs) -> Result<(), Failure> {
    let trust = Trust::of_user();
    if args.list {
        return list(&trust.list()?, args.format);
    }
    // A mistake in one path is told before another is accepted.
    let each: Vec<(_, Vec<Thing>)> = args
        .paths
        .iter()
        .map(|path| Ok((path, Thing::at(path)?)))
        .collect::<Result<_, Error>>()?;
    let mut told = Vec::new();
    for (path, things) in each {
        let before = told.len();
        for thing in &things {
            told.extend(if args.untrust {
                forgotten(&trust, thing)?
            } else {
                accepted(&trust, thing)?
            });
        }
        if told.len() == before {
            return Err(nothing(path, args.untrust).into());
        }
    }
    if args.format == Format::Json {
        return print_json(&told);
    }
    let mut text = String::new();
    for one in &told {
        for flaw in &one.despite {
            warning(flaw);
        }
        let word = if one.trusted { "trusted" } else { "untrusted" };
        text += &format!("{word:<9}  {:<8}  {}\n", one.kind.term(), cell(&one.path));
    }
    print(&text)
}

fn accepted(trust: &Trust, thing: &Thing) -> Result<Option<Told>, Error> {
    let despite = trust.accept(thing)?;
    Ok(despite.map(|despite| told(thing, true, despite)))
}

fn forgotten(trust: &Trust, thing: &Thing) -> Result<Option<Told>, Error> {
    let was_known = trust.forget(thing)?;
    Ok(was_known.then(|| told(thing, false, Vec::new())))
}

fn told(thing: &Thing, trusted: bool, despite: Vec<String>) -> Told {
    Told {
        path: thing.path().display().to_string(),
        kind: thing.kind(),
        trusted,
        despite,
    }
}

fn nothing(path: &Path, untrust: bool) -> Error {
    let shown = path.display();
    if untrust {
        return Error::not_found(format!("you have accepted nothing at `{shown}`"))
            .hint("`tenure trust --list` shows what you made or accepted");
    }
    Error::not_found(format!("at `{shown}` there is nothing to trust"))
        .expected("a folder with a `.tenure` or a `tenure.toml`, or what is found in one")
}

fn list(listed: &[Listed], format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print_json(&listed);
    }
    let mut text = String::new();
    for one in listed {
        let word = match one.trusted {
            Some(true) => "trusted",
            Some(false) => "REFUSED",
            None => "gone",
        };
        text += &format!("{word:<9}  {:<8}  {}\n", one.kind.term(), cell(&one.path));
        if let Some(note) = &one.note {
            text += &format!("{:<21}→ {}\n", "", cell(note));
        }
    }
    print(&text)
}
