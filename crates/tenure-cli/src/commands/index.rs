//! `tenure index`.

use std::fmt::Write as _;

use serde::Serialize;
use tenure::package::{JsonPath, Selector};
use tenure::{Error, ErrorKind};
use tenure_workspace::index::{FoundUnit, FoundUnits, Index, Indexing, Skipped};
use tenure_workspace::trust::Trust;

use super::models::grouped;
use super::{print, print_json, search_embedder};
use crate::args::{
    Format, IndexArgs, IndexCommand, IndexListArgs, IndexQueryArgs, IndexStatusArgs,
};
use crate::failure::{Failure, cell, printable, warning};
use crate::progress::Working;

/// The most lines about what was left out.
const MAX_LINES: usize = 5;

/// Does what the subcommand says; without one, brings the index up to date.
pub(crate) fn run(args: &IndexArgs) -> Result<(), Failure> {
    match &args.command {
        None => update(args),
        Some(IndexCommand::Query(args)) => query(args),
        Some(IndexCommand::List(args)) => list(args),
        Some(IndexCommand::Status(args)) => status(args),
    }
}

fn update(args: &IndexArgs) -> Result<(), Failure> {
    let working = Working::on("indexing");
    let run = Index::update(
        &args.root.root,
        &args.paths,
        Indexing {
            include_ignored: args.no_ignore,
            trust: Some(&Trust::of_user()),
            progress: Some(&|done, of| working.count(done, of)),
        },
    );
    drop(working);
    let run = run?;
    if args.format == Format::Json {
        return print_json(&run);
    }
    warn(&run.skipped);
    print(&format!(
        "{} files: {} read, {} unchanged, {} gone; {} sections\n{}\n",
        number(run.files),
        number(run.read),
        number(run.unchanged),
        number(run.removed),
        number(run.sections as usize),
        run.snapshot_id
    ))
}

/// Says what was left out, a few lines however much it is.
fn warn(skipped: &[Skipped]) {
    for one in skipped.iter().take(MAX_LINES) {
        warning(&format!("{}: {}", one.path, one.why));
    }
    let more = skipped.len().saturating_sub(MAX_LINES);
    if more > 0 {
        warning(&format!(
            "{more} more were left out; `--format json` names all"
        ));
    }
}

fn number(count: usize) -> String {
    grouped(u32::try_from(count).unwrap_or(u32::MAX))
}

/// A unit with its text.
#[derive(Serialize)]
struct WithText {
    #[serde(flatten)]
    unit: FoundUnit,
    text: String,
}

fn query(args: &IndexQueryArgs) -> Result<(), Failure> {
    let index = Index::found(&args.root.root, &Trust::of_user())?;
    let embedder = search_embedder(&args.embedder)?;
    if embedder.is_some() && !args.search {
        let error = Error::new(
            ErrorKind::Usage,
            "`--embedder` ranks a search, and this is none",
        );
        return Err(error.hint("add `--search`").into());
    }
    let found = if args.search {
        index.search(&args.query, &args.paths, args.limit, embedder.as_deref())?
    } else if args.query.starts_with('$') {
        index.values(&JsonPath::new(&args.query)?, &args.paths, args.limit)?
    } else {
        index.select(&Selector::new(&args.query)?, &args.paths, args.limit)?
    };
    let texts = if args.text {
        found
            .units
            .iter()
            .map(|unit| index.text(unit))
            .collect::<Result<Vec<_>, Error>>()?
    } else {
        Vec::new()
    };
    if args.format == Format::Json {
        if !args.text {
            return print_json(&found);
        }
        let units: Vec<WithText> = found
            .units
            .into_iter()
            .zip(texts)
            .map(|(unit, text)| WithText { unit, text })
            .collect();
        return print_json(
            &serde_json::json!({"units": units, "left_out": found.left_out, "files_left": found.files_left}),
        );
    }
    told(&found);
    let mut out = String::new();
    for (at, unit) in found.units.iter().enumerate() {
        let _ = writeln!(out, "{}", line(unit));
        if let Some(text) = texts.get(at) {
            let _ = writeln!(out, "{}\n", printable(text));
        }
    }
    print(&out)
}

/// Says what a search or a selector did not find.
pub(super) fn told(found: &FoundUnits) {
    if let Some(nearest) = &found.nearest {
        anstream::eprintln!("nothing was found; {}", printable(nearest));
    }
    let more = match (found.left_out, found.files_left) {
        (0, 0) => String::new(),
        (out, 0) => format!("{} more are", number(out)),
        (0, left) => format!("{} files that may have more are", number(left)),
        (out, left) => format!(
            "{} more, and {} files that may have more, are",
            number(out),
            number(left)
        ),
    };
    if !more.is_empty() {
        anstream::eprintln!("{more} left out by --limit");
    }
    for path in found.changed.iter().take(MAX_LINES) {
        warning(&format!(
            "{path} is not what was indexed; `tenure index` reads it again"
        ));
    }
}

fn line(unit: &FoundUnit) -> String {
    let names: Vec<String> = unit
        .trail
        .iter()
        .chain([&unit.name])
        .filter(|name| !name.is_empty())
        .map(|name| cell(name))
        .collect();
    let score = unit.score.map_or(String::new(), |score| format!("  {:.2}", score.to_f64()));
    format!(
        "{}:{}-{}  {}{score}  {}",
        cell(&unit.path),
        unit.lines.0,
        unit.lines.1,
        unit.kind,
        names.join(" > ")
    )
    .trim_end()
    .to_owned()
}

fn list(args: &IndexListArgs) -> Result<(), Failure> {
    let files = Index::found(&args.root.root, &Trust::of_user())?.list()?;
    if args.format == Format::Json {
        let files: Vec<_> = files
            .iter()
            .map(|file| {
                serde_json::json!({
                    "path": file.path, "kind": file.kind, "language": file.language, "bytes": file.size,
                    "lines": file.lines, "labels": file.labels, "note": file.note,
                    "digest": file.digest,
                })
            })
            .collect();
        return print_json(&files);
    }
    let mut out = String::new();
    for file in &files {
        let mut line = format!("{}  {}  {} lines", cell(&file.path), file.kind, file.lines);
        if !file.labels.is_empty() {
            let _ = write!(line, "  [{}]", cell(&file.labels.join(", ")));
        }
        if !file.note.is_empty() {
            let _ = write!(line, "  {}", cell(&file.note));
        }
        let _ = writeln!(out, "{line}");
    }
    print(&out)
}

fn status(args: &IndexStatusArgs) -> Result<(), Failure> {
    let status = Index::found(&args.root.root, &Trust::of_user())?.status()?;
    if args.format == Format::Json {
        return print_json(&status);
    }
    let mut out = format!(
        "{} files, {} sections, {} KiB\n{}\n",
        number(status.files as usize),
        number(status.sections as usize),
        number((status.bytes >> 10) as usize),
        status.snapshot_id
    );
    let lists = [
        ("changed", &status.changed),
        ("new", &status.new),
        ("gone", &status.gone),
    ];
    for (word, paths) in lists {
        for path in paths {
            let _ = writeln!(out, "{word}  {}", cell(path));
        }
    }
    for note in &status.notes {
        let _ = writeln!(out, "note  {}: {}", cell(&note.path), cell(&note.why));
    }
    print(&out)
}
