//! `tenure check` and `tenure lint`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use tenure::conform::Violation;
use tenure::inspect::{Flaw, LintReport};
use tenure::wire::Format as Form;
use tenure::{Candidates, Error};
use tenure_workspace::{Collect, HeldAnswer, ReadAs, Workspace, check_answer, check_body};

use super::cache::named_by_target;
use super::reading;
use super::whole_name;
use super::{flagged, print, print_json, read_or_stdin, without_key};
use crate::args::{CheckArgs, Format, LintArgs};
use crate::failure::{Failure, printable};

/// Prints the rules that a body breaks, and fails when it breaks any.
pub(crate) fn run(args: &CheckArgs) -> Result<(), Failure> {
    if let Some(answer) = &args.answer {
        return run_answer(args, answer);
    }
    let text = read_or_stdin(&args.file)?;
    let format = args
        .target
        .as_deref()
        .map(|target| flagged("--target", whole_name(target).parse::<Form>()));
    let model = args
        .model
        .as_deref()
        .map(|name| without_key(&args.catalogue)?.world(name))
        .transpose()?;
    let shown = args.file.display().to_string();
    let checked =
        check_body(&text, &shown, format.transpose()?, model.as_ref()).map_err(named_by_target)?;
    match args.format {
        Format::Json => print_json(&checked)?,
        Format::Text => print(&lines(&checked.violations))?,
    }
    for unread in &checked.unread {
        let (at, kind) = (printable(&unread.at), printable(&unread.kind));
        anstream::eprintln!("warning: {at}: of the kind `{kind}`, which no rule was held against");
    }
    let (format, found) = (checked.target, checked.violations);
    if found.is_empty() {
        return Ok(());
    }
    let times = match found.len() {
        1 => "a rule".to_owned(),
        count => format!("rules in {count} places"),
    };
    Err(Error::input(format!("the body breaks {times} of {format}"))
        .hint("docs/reference/wire.md lists the rules and where they are stated")
        .into())
}

/// Prints what an answer breaks, and fails when it breaks anything.
fn run_answer(args: &CheckArgs, answer: &Path) -> Result<(), Failure> {
    let text = read_or_stdin(answer)?;
    let is_given = args.file.as_os_str() != "-";
    let request = is_given.then(|| read_or_stdin(&args.file)).transpose()?;
    let format = args
        .target
        .as_deref()
        .map(|target| flagged("--target", whole_name(target).parse::<Form>()));
    let collected = collected(&args.constraints)?;
    let shown = answer.display().to_string();
    let held = check_answer(
        &text,
        &shown,
        format.transpose()?,
        request.as_deref(),
        &collected,
    )?;
    match args.format {
        Format::Json => print_json(&held)?,
        Format::Text => print(&told(&held))?,
    }
    if held.faults.is_empty() {
        return Ok(());
    }
    let what = match (held.broken.len(), held.faults.len()) {
        (0, 1) => "the answer has a fault".to_owned(),
        (0, faults) => format!("the answer has {faults} faults"),
        (1, _) => "the answer breaks a constraint".to_owned(),
        (broken, _) => format!("the answer breaks {broken} constraints"),
    };
    Err(Error::input(what).into())
}

fn told(held: &HeldAnswer) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    for broken in &held.broken {
        let _ = writeln!(
            out,
            "broken  {}: {}",
            printable(&broken.name),
            printable(&broken.what)
        );
    }
    for fault in held.faults.iter().filter(|fault| **fault != "constraint_broken") {
        let _ = writeln!(out, "fault  {fault}");
    }
    for name in &held.unchecked {
        let _ = writeln!(out, "unchecked  {}: no validator", printable(name));
    }
    let _ = writeln!(out, "held against {} constraints", held.constraints);
    out
}

/// Prints what is wrong with instructions, and fails when something contradicts something else, or is hard and only
/// shown.
pub(crate) fn lint(args: &LintArgs) -> Result<(), Failure> {
    let collected = collected(&args.sources)?;
    let report = tenure::inspect::lint(&collected);
    match args.format {
        Format::Json => print_json(&report)?,
        Format::Text => print(&findings(&report))?,
    }
    match report.errors() {
        0 => Ok(()),
        1 => Err(Error::input("a constraint cannot be kept as it is written").into()),
        count => Err(Error::input(format!(
            "{count} constraints cannot be kept as they are written"
        ))
        .into()),
    }
}

fn findings(report: &LintReport) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        let _ = writeln!(out, "{}", printable(&finding.to_string()));
    }
    let count = |flaw: &Flaw| report.findings.iter().filter(|found| found.flaw == *flaw).count();
    let counts: Vec<String> = Flaw::ALL
        .iter()
        .map(|flaw| (flaw, count(flaw)))
        .filter(|(_, count)| *count > 0)
        .map(|(flaw, count)| format!("{count} {flaw}"))
        .collect();
    let more = if report.more { "; there are more" } else { "" };
    let found = if counts.is_empty() {
        "nothing found".to_owned()
    } else {
        counts.join(", ")
    };
    let _ = writeln!(out, "{} constraints: {found}{more}", report.constraints);
    out
}

/// Reads the named sources as instructions.
fn collected(sources: &[PathBuf]) -> Result<Candidates, Error> {
    let options = Collect {
        read_as: ReadAs::Guidance,
        ..Collect::default()
    };
    reading::collect(&Workspace::without_key()?, sources, &options)
}

fn lines(found: &[Violation]) -> String {
    let mut out = String::new();
    for Violation { rule, at, what } in found {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{rule}  {}: {}", printable(at), printable(what));
    }
    out
}
