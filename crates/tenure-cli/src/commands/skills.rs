//! `tenure skills check`.

use std::fmt::Write;

use tenure::Error;
use tenure_workspace::skills::{Report, Severity, check};

use super::{print, print_json};
use crate::args::{Format, SkillsArgs, SkillsCheckArgs, SkillsCommand};
use crate::failure::{Failure, printable};

/// Runs the part that is asked for.
pub(crate) fn run(args: &SkillsArgs) -> Result<(), Failure> {
    match &args.command {
        SkillsCommand::Check(args) => run_check(args),
    }
}

/// Prints the report, and fails when it holds errors.
fn run_check(args: &SkillsCheckArgs) -> Result<(), Failure> {
    let report = check(&args.path)?;
    match args.format {
        Format::Json => print_json(&report)?,
        Format::Text => print(&text(&report))?,
    }
    if report.errors == 0 {
        return Ok(());
    }
    Err(Error::input(format!(
        "{} the Agent Skills specification in {}",
        if report.skills == 1 {
            "the skill breaks"
        } else {
            "skills break"
        },
        count(report.errors, "place")
    ))
    .into())
}

fn text(report: &Report) -> String {
    let mut out = String::new();
    for found in &report.violations {
        let word = match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{word}: {}", printable(&found.what));
        let _ = writeln!(out, "  --> {}", printable(&found.at.to_string()));
        let _ = writeln!(out, "expected: {}\n", printable(&found.expected));
    }
    let _ = writeln!(
        out,
        "{}: {}, {}",
        count(report.skills, "skill"),
        count(report.errors, "error"),
        count(report.warnings, "warning")
    );
    out
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
