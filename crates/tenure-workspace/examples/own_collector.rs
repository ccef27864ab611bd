//! Files and a source of one's own: a parser for a format that Tenure does not read, and objects from elsewhere
//! beside those of a folder.
//!
//! `cargo run -p tenure-workspace --example own_collector -- FOLDER`

use std::path::PathBuf;

use tenure::{Budget, Candidates, Error, FrameKey, ObjectDocument, Policy, Request};
use tenure_workspace::sources::{Formats, Sourced};
use tenure_workspace::{Collect, Workspace};

/// Reads headings of Org mode as objects: the line behind `* ` is the name, what follows the text.
fn org(text: &str, stem: &str) -> Result<Vec<Sourced>, Error> {
    let mut found: Vec<Sourced> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        match (text.strip_prefix("* "), found.last_mut()) {
            (Some(heading), _) => {
                let name = format!("{stem}/{}", heading.trim());
                found.push(Sourced::new(ObjectDocument::rule(name, ""), line));
            }
            (None, Some(last)) => {
                last.document.content.push_str(text);
                last.document.content.push('\n');
            }
            (None, None) => {}
        }
    }
    found.retain(|found| !found.document.content.trim().is_empty());
    Ok(found)
}

/// Returns what a retriever of one's own has found: anything that can be asked.
fn retrieved(query: &str) -> Result<Vec<ObjectDocument>, Error> {
    let read = "2026-06-06T12:00:00Z".parse()?;
    let text = format!("Nothing in the wiki speaks of \"{query}\" but the valve.");
    Ok(vec![ObjectDocument::evidence(
        "https://wiki.example/valve",
        read,
        text,
    )])
}

/// Compiles a folder and what was retrieved, and returns the payload.
pub(crate) fn context(folder: PathBuf, task: &str) -> Result<String, Error> {
    let workspace = Workspace::new(FrameKey::new("demo", [7; 32]))?;
    let mut formats = Formats::standard();
    formats.register("org", org)?;
    let options = Collect {
        formats,
        ..Collect::default()
    };
    // Without more said, files are data: framed, with their path as their source.
    let collected = workspace.collect(&[folder], &options)?;
    for warning in &collected.warnings {
        eprintln!("{}: {}", warning.name, warning.what);
    }

    let mut objects = collected.candidates.objects().to_vec();
    for passage in retrieved(task)? {
        objects.push(passage.seal()?);
    }
    let candidates =
        Candidates::new(objects).with_unfetched(collected.candidates.unfetched().to_vec());
    let world = workspace.world("gpt-4o")?;
    let policy = Policy::preset("standard")?;
    let request = Request::new(task, Budget::tokens(1_000));
    let outcome = workspace.compile(&world, &policy, &request, &candidates)?;
    let payload = outcome.single()?.envelope.payload.as_ref();
    Ok(payload.map(ToString::to_string).unwrap_or_default())
}

/// Prints the context of a folder for a task.
#[allow(dead_code)] // the tests call what it calls
pub(crate) fn main() -> Result<(), Error> {
    let folder = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    println!("{}", context(folder.into(), "When does the valve open?")?);
    Ok(())
}
