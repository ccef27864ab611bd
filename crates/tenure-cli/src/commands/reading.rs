//! Options for reading sources, from the arguments, and the warnings for their owner.

use std::path::PathBuf;

use tenure::{Candidates, Error, ErrorKind};
use tenure_workspace::sources::markdown::Split;
use tenure_workspace::sources::skill::Disclosure;
use tenure_workspace::trust::Trust;
use tenure_workspace::{Collect, Collected, Encoder, ReadAs, Warning, WarningKind, Workspace};

use crate::args::{ReadingArgs, Skills};
use crate::failure;
use crate::progress::Working;

/// The most warnings of a kind that are printed one by one.
const MAX_LINES: usize = 5;
/// The most names in a line.
const MAX_NAMES: usize = 5;

/// The options that the arguments name.
pub(crate) fn options(args: &ReadingArgs) -> Result<Collect<'static>, Error> {
    let split = match args.split.as_str() {
        "never" => Split::Never,
        text => Split::Above(text.parse().map_err(|_| {
            Error::new(
                ErrorKind::Usage,
                format!("--split: `{text}` is not a number of bytes"),
            )
            .expected("a whole number, or `never`")
        })?),
    };
    let encoder = match args.encoder.as_str() {
        "none" => None,
        name => Some(Encoder::named(name).map_err(|error| Error {
            kind: ErrorKind::Usage,
            ..error
        })?),
    };
    let mut declared = Vec::with_capacity(args.read_as.len() / 2);
    for pair in args.read_as.chunks_exact(2) {
        let kind = pair[0].to_string_lossy().parse::<ReadAs>().map_err(|error| Error {
            kind: ErrorKind::Usage,
            ..error
        })?;
        declared.push((pair[1].clone(), kind));
    }
    Ok(Collect {
        declared,
        include_ignored: args.no_ignore,
        split,
        skills: match args.skills {
            Skills::Catalogue => Disclosure::Catalogue,
            Skills::Body => Disclosure::Body,
            Skills::Resources => Disclosure::Resources,
        },
        near: args.near.clone(),
        code: args.code.clone(),
        strict: args.strict,
        encoder,
        trust: Trust::of_user(),
        ..Collect::default()
    })
}

/// Reads sources, says how far it is, and prints the warnings.
pub(crate) fn collect(
    workspace: &Workspace,
    sources: &[PathBuf],
    options: &Collect<'_>,
) -> Result<Candidates, Error> {
    let collected = gather(workspace, sources, options)?;
    warn(&collected.warnings);
    Ok(collected.candidates)
}

/// Collects for a write, whose answer says itself what it notes on each object.
pub(crate) fn collect_to_write(
    workspace: &Workspace,
    sources: &[PathBuf],
    options: &Collect<'_>,
) -> Result<Candidates, Error> {
    let whole = Collect {
        whole: true,
        ..options.clone()
    };
    let mut collected = gather(workspace, sources, &whole)?;
    collected.warnings.retain(|one| one.kind != WarningKind::ClaimNotParsed);
    warn(&collected.warnings);
    Ok(collected.candidates)
}

fn gather(
    workspace: &Workspace,
    sources: &[PathBuf],
    options: &Collect<'_>,
) -> Result<Collected, Error> {
    let working = Working::on("reading files");
    let collected = workspace.collect(
        sources,
        &Collect {
            progress: Some(&|progress| working.count(progress.files, progress.of)),
            ..options.clone()
        },
    );
    drop(working);
    collected
}

/// Prints warnings, a few lines however many there are: first what was lost.
pub(crate) fn warn(warnings: &[Warning]) {
    for is_loss in [true, false] {
        for (kind, whose) in [
            (WarningKind::Skill, "skills"),
            (WarningKind::Instructions, "instruction files"),
            (WarningKind::Code, "source code"),
            (
                WarningKind::File,
                "files that cannot be read (--strict fails at the first)",
            ),
            (
                WarningKind::AuthorityLowered,
                "rules with less authority than they ask for",
            ),
            (
                WarningKind::ClaimNotParsed,
                "claims that cannot be compared with others",
            ),
            (
                WarningKind::UpdatePath,
                "update paths of data that are left out",
            ),
        ] {
            let of = || warnings.iter().filter(|one| one.kind == kind && one.is_loss() == is_loss);
            for warning in of().take(MAX_LINES) {
                failure::warning(&warning.to_string());
            }
            let more = of().count().saturating_sub(MAX_LINES);
            let left_out = if is_loss {
                "; the trace's `unfetched` names what was left out"
            } else {
                ""
            };
            if more > 0 {
                failure::warning(&format!("{more} more about {whose}{left_out}"));
            }
        }
    }
    let of = |kind: WarningKind| warnings.iter().filter(move |one| one.kind == kind);
    let commanding: Vec<&Warning> = of(WarningKind::ReadAsData).collect();
    if let Some(first) = commanding.first() {
        let more = match commanding.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let source = first.at.as_ref().map_or("PATH", |at| at.source.as_str());
        anstream::eprintln!(
            "note: {}{more}: looks like rules, and is read as data; `--as guidance {}` makes it guidance",
            failure::printable(source),
            failure::printable(source),
        );
    }
    let long: Vec<&Warning> = of(WarningKind::Encoder).collect();
    match long.as_slice() {
        [] => {}
        [one] => failure::warning(&format!("`{}` is long: {}", one.name, one.what)),
        [first, ..] => {
            let names: Vec<String> =
                long.iter().take(MAX_NAMES).map(|one| format!("`{}`", one.name)).collect();
            let more = match long.len() - names.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let limit = first.what.split_once("; ").map_or("", |(_, limit)| limit);
            failure::warning(&format!(
                "{} objects are long, {limit} tokens: {}{more}",
                long.len(),
                names.join(", ")
            ));
        }
    }
}
