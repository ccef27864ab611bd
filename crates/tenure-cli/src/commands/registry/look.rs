//! The parts of `tenure registry` that look and change nothing.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use tenure::Error;
use tenure::gate::Gated;
use tenure::object::Protection;
use tenure::registry::{Lineage, Registries, RegistryView};
use tenure_operations::registry::RegistryShown;
use tenure_workspace::only_label;

use super::{count, workspace};
use crate::args::{Format, GateArgs, ShowArgs, TargetArgs};
use crate::commands::{gate, print, print_json};
use crate::failure::{Failure, cell, printable};

/// The registry of a snapshot, to look at.
fn view(args: &TargetArgs) -> Result<(Registries, Arc<RegistryView>), Error> {
    let mut registries = workspace(&args.output)?.read_snapshot(&args.snapshot)?;
    let label = only_label(&registries, args.registry.as_deref())?;
    let view = registries.view(&label)?;
    Ok((registries, view))
}

/// Lists the blocks, or prints one.
pub(super) fn show(args: &ShowArgs) -> Result<(), Failure> {
    let (_, view) = view(&args.target)?;
    let format = args.target.output.format;
    if let Some(name) = &args.name {
        let block = view.named(name)?;
        return match format {
            Format::Json => print_json(&json!({
                "object": **block.object(),
                "overrides": block.object().overrides(),
            })),
            Format::Text => {
                let content = printable(block.object().revision().content());
                print(&format!("{}\n", content.trim_end_matches('\n')))
            }
        };
    }
    let lines: Vec<Lineage> = view
        .provenance()
        .filter(|line| args.tag.as_ref().is_none_or(|tag| line.tags.contains(tag)))
        .collect();
    match format {
        Format::Json => print_json(&lines),
        Format::Text => {
            let width = lines
                .iter()
                .map(|line| cell(&line.name).chars().count())
                .max()
                .unwrap_or(0)
                .clamp(4, 48);
            let mut out = format!(
                "{:>5}  {:<width$}  {:<12}  {:>8}  {:>7}  NOTES\n",
                "AT", "NAME", "AUTHOR", "PRIORITY", "BYTES"
            );
            for line in &lines {
                let _ = writeln!(
                    out,
                    "{:>5}  {:<width$}  {:<12}  {:>8}  {:>7}  {}",
                    line.position,
                    cell(&line.name),
                    line.author,
                    line.priority.to_string(),
                    line.bytes,
                    notes(line).join(", ")
                );
            }
            print(&trimmed(&out))
        }
    }
}

/// The unusual properties of a block.
fn notes(line: &Lineage) -> Vec<String> {
    let mut notes = Vec::new();
    if !line.removable {
        notes.push("not removable".to_owned());
    }
    if line.protection != Protection::None {
        notes.push(line.protection.to_string());
    }
    if let Some(run) = &line.trajectory {
        notes.push(format!("run {}", cell(run)));
    }
    notes.extend(line.tags.iter().map(|tag| format!("#{}", cell(tag))));
    notes
}

/// Returns the lines without white space at their ends.
fn trimmed(text: &str) -> String {
    text.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// Prints where every block comes from.
pub(super) fn report(args: &TargetArgs) -> Result<(), Failure> {
    let (mut registries, view) = view(args)?;
    let report = RegistryShown::of(&mut registries, view.label())?;
    if args.output.format == Format::Json {
        return print_json(&report);
    }
    let summary = &report.summary;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {}, {}, {} bytes, {} removable, {}",
        cell(&summary.label),
        summary.kind,
        count(summary.blocks, "block"),
        summary.bytes,
        summary.removable,
        count(summary.operations as usize, "operation")
    );
    if let Some(limit) = summary.limit {
        let over = summary.over_limit.map_or(String::new(), |over| format!(", {over} above it"));
        let _ = writeln!(out, "soft limit {limit} bytes{over}");
    }
    for (name, text) in [("prefix", &summary.prefix), ("suffix", &summary.suffix)] {
        if let Some(text) = text {
            let _ = writeln!(out, "{name} {}", cell(text));
        }
    }
    if !report.references.is_empty() {
        let _ = writeln!(out, "writes to {}", cell(&report.references.join(", ")));
    }
    let mut by_source: BTreeMap<String, Vec<&Lineage>> = Default::default();
    for line in &report.blocks {
        let source = match (&line.trajectory, &line.source) {
            (Some(run), _) => format!("run {run}, written by {} ({})", line.writer, line.author),
            (None, Some(source)) => format!("{source} ({})", line.author),
            (None, None) => format!("written by {} ({})", line.writer, line.author),
        };
        by_source.entry(source).or_default().push(line);
    }
    for (source, lines) in by_source {
        let _ = writeln!(out, "\n{}", cell(&source));
        for line in lines {
            let was = line.written_as.as_ref().map_or(String::new(), |was| format!(" (was {was})"));
            let revision = line.revision.to_string();
            let _ = writeln!(
                out,
                "  {:>4}  {}{}  {}  used {}",
                line.position,
                cell(&line.name),
                cell(&was),
                &revision["sha256:".len()..][..12],
                line.uses
            );
        }
    }
    print(&out)
}

/// The verdict on a block, with its name.
#[derive(Serialize)]
struct Named<'v> {
    #[serde(flatten)]
    gated: Gated,
    name: &'v str,
}

/// Prints how the blocks stand before a gate.
pub(super) fn gate(args: &GateArgs) -> Result<(), Failure> {
    let (_, view) = view(&args.target)?;
    let workspace = gate::workspace(&args.relevance)?;
    let gating = gate::gating(
        &workspace,
        &args.query,
        &args.limits,
        &args.relevance,
        view.candidates(),
    )?;
    let objects = view.candidates().objects();
    let named = gating.gated.into_iter().filter_map(|gated| {
        let name = objects.get(gated.candidate)?.name();
        Some(Named { gated, name })
    });
    let standings: Vec<Named<'_>> = named.collect();
    if args.target.output.format == Format::Json {
        return print_json(&standings);
    }
    let mut out = format!("{:>5}  {:<6}  {:>9}  NAME\n", "RANK", "PASSES", "RELEVANCE");
    for Named { gated, name } in &standings {
        let passes = if gated.standing.passes { "yes" } else { "no" };
        let _ = writeln!(
            out,
            "{:>5}  {passes:<6}  {:>9}  {}",
            gated.standing.rank,
            gated.standing.relevance.to_string(),
            cell(name)
        );
    }
    let spared = view.len() - standings.len().min(view.len());
    if spared > 0 {
        let _ = writeln!(
            out,
            "{} not gated: not removable, needed by one that is not, or not in force",
            count(spared, "block")
        );
    }
    print(&out)
}
