//! The result for people: a table of sections, a budget bar, the verdicts, the payload.

mod listing;

use std::fmt::Write as _;
use std::io::{IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use tenure::trace::{ContextReport, View};
use tenure::{Compiled, Envelope, Outcome, Part, Payload, Trace};

use crate::failure::{Failure, printable};

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default();

/// The most verdicts of one kind that are listed.
pub(crate) const LISTED: usize = 60;
/// The width of a bar, in characters.
const BAR: u64 = 40;

/// Prints an outcome, with its payloads if they are wanted.
pub(crate) fn outcome(outcome: &Outcome, with_payload: bool) -> Result<(), Failure> {
    for compiled in outcome.compiled() {
        let mut text = String::new();
        part(&mut text, compiled);
        summary(&mut text, compiled);
        retrieval(&mut text, &compiled.trace);
        listing::summaries(&mut text, &compiled.trace);
        pending(&mut text, outcome);
        notes(&mut text, &compiled.trace);
        let payload = compiled.envelope.payload.as_ref();
        if let Some(payload) = payload.filter(|_| with_payload) {
            let _ = writeln!(text, "{BOLD}PAYLOAD{BOLD:#}");
            put(&text)?;
            put_payload(payload)?;
        } else {
            put(&text)?;
        }
    }
    Ok(())
}

/// Prints how a compile came to its result.
pub(crate) fn explanation(outcome: &Outcome, stages: bool) -> Result<(), Failure> {
    for compiled in outcome.compiled() {
        let mut text = String::new();
        part(&mut text, compiled);
        explain(&mut text, compiled, stages);
        pending(&mut text, outcome);
        notes(&mut text, &compiled.trace);
        put(&text)?;
    }
    Ok(())
}

fn explain(text: &mut String, compiled: &Compiled, stages: bool) {
    let trace = &compiled.trace;
    summary(text, compiled);
    if stages {
        let _ = writeln!(
            text,
            "{BOLD}{:<10} {:>8} {:>8}{BOLD:#}",
            "STAGE", "ENTERED", "LEFT"
        );
        for report in &trace.stages {
            let _ = writeln!(
                text,
                "{:<10} {:>8} {:>8}",
                report.stage, report.entered, report.left
            );
        }
        text.push('\n');
    }
    let plan = &trace.plan;
    let _ = writeln!(
        text,
        "epoch {} ({}), {} frozen, {} tools offered",
        plan.epoch,
        plan.cause,
        plan.frozen,
        plan.tools.len()
    );
    let _ = writeln!(
        text,
        "policy {} {}, view {}",
        trace.policy.name,
        trace.policy.version,
        match trace.view {
            View::Operator => "operator",
            View::Caller => "caller",
        }
    );
    context(text, trace);
    let _ = writeln!(text, "input {}\n", trace.input_digest);
    quality(text, trace);
    if !trace.allocations.is_empty() {
        let _ = writeln!(
            text,
            "{BOLD}{:<10} {:>8} {:>9} {:>8} {:>9} {:>9}{BOLD:#}",
            "SECTION", "DEMAND", "ALLOCATED", "USED", "FLOW-BACK", "MARGINAL"
        );
        for row in &trace.allocations {
            let _ = writeln!(
                text,
                "{:<10} {:>8} {:>9} {:>8} {:>9} {:>9}",
                row.section,
                row.demand,
                row.allocated,
                row.used,
                row.flow_back,
                worth(row.marginal.unwrap_or(0.0))
            );
        }
        let price = shadow_price(trace.lambda.unwrap_or(0.0), "the policy's");
        let _ = writeln!(text, "{price}");
        text.push('\n');
    }
    retrieval(text, trace);
    listing::whole(text, trace);
}

/// Lists the quality metrics with the limits that the policy sets them, and when the conversation fills its window.
fn quality(text: &mut String, trace: &Trace) {
    if !trace.quality.is_empty() {
        let _ = writeln!(
            text,
            "{BOLD}{:<20} {:>8}  LIMIT{BOLD:#}",
            "QUALITY", "VALUE"
        );
    }
    for measured in &trace.quality {
        let limit = match (measured.least, measured.most) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, Some(most)) => format!("at most {most}"),
            (None, None) => String::new(),
        };
        let missed = if measured.missed { ", missed" } else { "" };
        let _ = writeln!(
            text,
            "{:<20} {:>8}  {limit}{missed}",
            measured.metric, measured.value
        );
    }
    if let Some(forecast) = &trace.forecast {
        let _ = writeln!(
            text,
            "the window is full at {} turns of {} tokens",
            forecast.full_at, forecast.turn_tokens
        );
    }
    if !trace.quality.is_empty() {
        text.push('\n');
    }
}

/// Names the payload, if there are several.
fn part(text: &mut String, compiled: &Compiled) {
    if let Some(Part { number, of }) = compiled.envelope.part {
        let _ = writeln!(text, "{BOLD}PAGE {number} OF {of}{BOLD:#}\n");
    }
}

/// Lists what a deferred compile leaves for a later turn.
fn pending(text: &mut String, outcome: &Outcome) {
    let Outcome::Deferred { pending, .. } = outcome else {
        return;
    };
    let _ = writeln!(text, "{BOLD}PENDING {}{BOLD:#}", pending.len());
    for item in pending.iter().take(LISTED) {
        let _ = writeln!(text, "  {} ({} tokens)", printable(&item.name), item.tokens);
    }
    listing::more(text, pending.len());
}

/// Says how the model gets the corpus, and why.
fn context(text: &mut String, trace: &Trace) {
    let Some(strategy) = trace.strategy else {
        return;
    };
    let _ = write!(text, "corpus: {strategy}");
    if let Some(report) = &trace.plan.context {
        let ContextReport {
            mode,
            documents,
            too_long,
            corpus,
            threshold,
            beside,
            budget,
        } = report;
        let _ = write!(
            text,
            " ({mode}: {documents} documents of {corpus} tokens, threshold {threshold}; at most \
             {beside} beside them, budget {budget}"
        );
        if *too_long > 0 {
            let _ = write!(text, "; {too_long} longer than the policy allows");
        }
        text.push(')');
    }
    text.push('\n');
}

/// The price λ of the last token, in words.
pub(crate) fn shadow_price(lambda: f64, whose: &str) -> String {
    if lambda > 0.0 {
        let worth = worth(lambda);
        format!("λ = {worth}: one token more would add that much, in {whose} weights")
    } else {
        "λ = 0: one token more would add nothing, the budget does not bind".to_owned()
    }
}

/// The worth of a token in few characters, however small or large.
pub(crate) fn worth(worth: f64) -> String {
    match worth.abs() {
        0.0 | 1e-4..10.0 => format!("{worth:.6}"),
        _ => format!("{worth:.2e}"),
    }
}

fn summary(text: &mut String, compiled: &Compiled) {
    let envelope = &compiled.envelope;
    let trace = &compiled.trace;
    let _ = writeln!(
        text,
        "{BOLD}{:<10} {:<8} {:>7} {:>6}{BOLD:#}",
        "SECTION", "ZONE", "TOKENS", "ITEMS"
    );
    for section in &envelope.sections {
        let items = section.items.iter().filter(|item| !item.name.starts_with('@')).count();
        let share = bar(section.tokens, envelope.total_tokens, 20);
        let _ = writeln!(
            text,
            "{:<10} {:<8} {:>7} {items:>6}  {DIM}{share}{DIM:#}",
            section.name, section.zone, section.tokens
        );
    }
    if envelope.overhead_tokens > 0 {
        let _ = writeln!(
            text,
            "{:<10} {:<8} {:>7}",
            "overhead", "", envelope.overhead_tokens
        );
    }
    let _ = writeln!(text, "\n{}", budget_bar(envelope));
    let _ = writeln!(
        text,
        "{DIM}counted {} with {}; injection surface {}{}{DIM:#}\n",
        trace.tokenizer.count.term(),
        printable(&trace.tokenizer.name),
        envelope.injection_surface,
        envelope.payload_digest.map_or_else(String::new, |digest| format!("; {digest}")),
    );
}

fn budget_bar(envelope: &Envelope) -> String {
    let (total, budget) = (
        u64::from(envelope.total_tokens),
        u64::from(envelope.budget.max(1)),
    );
    let filled = (total * BAR).div_ceil(budget).min(BAR) as usize;
    let percent = total * 100 / budget;
    let style = if percent >= 95 { YELLOW } else { GREEN };
    format!(
        "{style}{}{style:#}{DIM}{}{DIM:#} {total} of {budget} tokens ({percent} %)",
        "█".repeat(filled),
        "░".repeat(BAR as usize - filled)
    )
}

fn bar(part: u32, whole: u32, width: u64) -> String {
    let filled = (u64::from(part) * width).div_ceil(u64::from(whole.max(1)));
    "▇".repeat(filled as usize)
}

/// Lists what each subquery of the request's plan found.
fn retrieval(text: &mut String, trace: &Trace) {
    let Some(report) = &trace.retrieval else {
        return;
    };
    let _ = writeln!(
        text,
        "{BOLD}{:<24} {:<14} {:>7} {:>7}  BROUGHT{BOLD:#}",
        "SUBQUERY", "STRATEGY", "MATCHED", "OF"
    );
    for subquery in &report.subqueries {
        let mut names: Vec<_> = subquery
            .brought
            .iter()
            .take(LISTED)
            .map(|one| printable(&one.name).to_string())
            .collect();
        let more = subquery.brought.len() - names.len();
        names.extend((more > 0).then(|| format!("… and {more} more")));
        let fell_back = subquery
            .fell_back
            .map_or_else(String::new, |strategy| format!(" (no vectors: {strategy})"));
        let _ = writeln!(
            text,
            "{:<24} {:<14} {:>7} {:>7}  {}{fell_back}",
            printable(&subquery.name),
            subquery.strategy,
            subquery.matched,
            subquery.among,
            names.join(", "),
        );
    }
    text.push('\n');
}

fn notes(text: &mut String, trace: &Trace) {
    if trace.notes.is_empty() {
        return;
    }
    let _ = writeln!(text, "{BOLD}NOTES{BOLD:#}");
    for note in trace.notes.iter().take(LISTED) {
        let _ = writeln!(text, "  {}", printable(&note.sentence()));
    }
    listing::more(text, trace.notes.len());
}

pub(crate) fn put(text: &str) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Prints bytes as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()?;
    Ok(())
}

/// The payload as it is; on a terminal, without what could steer it.
fn put_payload(payload: &Payload) -> Result<(), Failure> {
    let text = String::from_utf8_lossy(payload.bytes());
    let mut out = std::io::stdout().lock();
    if out.is_terminal() {
        out.write_all(printable(&text).as_bytes())?;
    } else {
        out.write_all(text.as_bytes())?;
    }
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()?;
    Ok(())
}
