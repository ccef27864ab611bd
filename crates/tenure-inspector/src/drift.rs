//! Drift: the same measures for each version of a policy, and how far the newest is from the one before.

use std::collections::BTreeMap;

use maud::{Markup, html};
use tenure::Digest;
use tenure::inspect::QualityMetric;
use tenure::time::Instant;
use tenure_workspace::records::CompileLine;

use crate::shell::table;
use crate::text::{grouped, name, plain, second};

/// The newest versions of a policy that stand beside each other.
const VERSIONS: usize = 4;
/// The change of a share below which nothing is said to be better or worse.
const STILL: f64 = 0.005;

/// The versions of a policy, by their digests: a policy that changed without another version is another one, too.
#[derive(Default)]
pub(crate) struct Versions(BTreeMap<Digest, Measures>);

/// Measures under one version.
struct Measures {
    version: String,
    first: Instant,
    last: Instant,
    compiles: u64,
    tokens: u64,
    budget: u64,
    missed: u64,
    micros: u64,
    /// The sums of the metrics, and of how many compiles each is.
    quality: BTreeMap<QualityMetric, (f64, u64)>,
}

impl Versions {
    pub(crate) fn add(&mut self, at: Instant, compile: &CompileLine) {
        let measures = self.0.entry(compile.by.digest).or_insert_with(|| Measures {
            version: compile.by.version.clone(),
            first: at,
            last: at,
            compiles: 0,
            tokens: 0,
            budget: 0,
            missed: 0,
            micros: 0,
            quality: BTreeMap::new(),
        });
        measures.first = measures.first.min(at);
        measures.last = measures.last.max(at);
        measures.compiles += 1;
        measures.tokens += u64::from(compile.total_tokens);
        measures.budget += u64::from(compile.budget);
        measures.missed += u64::from(compile.missed > 0);
        measures.micros = measures.micros.saturating_add(compile.latency_us);
        for (metric, value) in &compile.quality {
            let (sum, count) = measures.quality.entry(*metric).or_default();
            *sum += value.to_f64();
            *count += 1;
        }
    }
}

/// Directions in which a measure gets better.
#[derive(Clone, Copy)]
enum Better {
    More,
    Less,
    Neither,
}

/// A measure of a version: a mean, or a share.
struct Row {
    title: String,
    is_share: bool,
    better: Better,
    values: Vec<Option<f64>>,
}

impl Measures {
    fn mean(&self, sum: u64) -> Option<f64> {
        Some(sum as f64 / self.compiles.max(1) as f64)
    }
}

fn rows(versions: &[&Measures]) -> Vec<Row> {
    let row = |title: &str, is_share, better, of: &dyn Fn(&Measures) -> Option<f64>| Row {
        title: title.to_owned(),
        is_share,
        better,
        values: versions.iter().map(|measures| of(measures)).collect(),
    };
    let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let mut rows = vec![
        row("tokens of a payload", false, Better::Neither, &|of| {
            of.mean(of.tokens)
        }),
        row("time of a compile, ms", false, Better::Less, &|of| {
            of.mean(of.micros / 1_000)
        }),
        row("budget used", true, Better::Neither, &|of| {
            share(of.tokens, of.budget)
        }),
        row("missed a limit", true, Better::Less, &|of| {
            share(of.missed, of.compiles)
        }),
    ];
    for metric in QualityMetric::ALL {
        let better = match metric {
            QualityMetric::Utilization => Better::Neither,
            metric if metric.more_is_better() => Better::More,
            _ => Better::Less,
        };
        let title = metric.term().replace('_', " ");
        rows.push(row(&title, true, better, &|of| {
            let (sum, count) = of.quality.get(metric)?;
            Some(sum / (*count).max(1) as f64)
        }));
    }
    rows
}

/// The tables of all policies.
pub(crate) fn shown(policies: &BTreeMap<String, Versions>) -> Markup {
    html! {
        @if policies.is_empty() { p.none { "No compile is recorded." } }
        @for (policy, versions) in policies {
            h3 { (name(policy)) }
            (one(policy, versions))
        }
    }
}

fn one(policy: &str, versions: &Versions) -> Markup {
    let mut all: Vec<(&Digest, &Measures)> = versions.0.iter().collect();
    all.sort_by_key(|(_, measures)| (measures.last, measures.first));
    let left = all.len().saturating_sub(VERSIONS);
    let shown = &all[left..];
    let measures: Vec<&Measures> = shown.iter().map(|(_, measures)| *measures).collect();
    let head = html! {
        th scope="col" { "Mean" }
        @for (digest, measures) in shown {
            th.n scope="col" { (name(&measures.version)) " " span.hint.mono { (short(digest)) } }
        }
        @if shown.len() > 1 { th.n scope="col" { "Difference" } }
    };
    let body = html! {
        tr {
            th scope="row" { "compiles" }
            @for (_, measures) in shown { td.n { (grouped(measures.compiles)) } }
            @if shown.len() > 1 { td.n { "–" } }
        }
        tr {
            th scope="row" { "first and last" }
            @for (_, measures) in shown { td.n { (second(measures.first)) br; (second(measures.last)) } }
            @if shown.len() > 1 { td.n { "–" } }
        }
        @for row in rows(&measures) {
            tr {
                th scope="row" { (row.title) }
                @for value in &row.values { td.n { @match value { Some(value) => { (number(*value, row.is_share)) } None => { "–" } } } }
                @if shown.len() > 1 { td.n { (difference(&row)) } }
            }
        }
    };
    html! {
        @if shown.len() < 2 { p.hint { "There is one version alone: nothing to compare it with." } }
        @if left > 0 { p.more { (grouped(left as u64)) " older versions are left out." } }
        (table(&format!("Versions of {}", plain(policy, 80)), head, body))
    }
}

/// The begin of a digest, by which people tell one from another.
fn short(digest: &Digest) -> String {
    let text = digest.to_string();
    let hex = text.rsplit(':').next().unwrap_or_default();
    hex.chars().take(8).collect()
}

fn number(value: f64, is_share: bool) -> String {
    if is_share {
        format!("{:.1} %", 100.0 * value)
    } else {
        grouped(value.round() as u64)
    }
}

/// The newest less the one before, with its sign, and whether that is better.
fn difference(row: &Row) -> Markup {
    let [.., Some(before), Some(after)] = row.values[..] else {
        return html! { "–" };
    };
    let change = after - before;
    let text = if row.is_share {
        format!("{:+.1} points", 100.0 * change)
    } else {
        format!("{change:+.0}")
    };
    let is_still = change.abs() < if row.is_share { STILL } else { 1.0 };
    let is_better = match row.better {
        _ if is_still => None,
        Better::More => Some(change > 0.0),
        Better::Less => Some(change < 0.0),
        Better::Neither => None,
    };
    html! {
        @match is_better {
            Some(true) => { span.in { (text) } " better" }
            Some(false) => { span.bad { (text) } " worse" }
            None => { (text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_better_or_worse_by_what_its_measure_wants() {
        let said = |better, before, after| {
            let row = Row {
                title: "x".to_owned(),
                is_share: true,
                better,
                values: vec![Some(0.1), Some(before), Some(after)],
            };
            difference(&row).into_string()
        };
        assert!(said(Better::More, 0.5, 0.7).contains("+20.0 points</span> better"));
        assert!(said(Better::Less, 0.5, 0.7).contains("+20.0 points</span> worse"));
        assert!(said(Better::More, 0.7, 0.5).contains("-20.0 points</span> worse"));
        assert_eq!(said(Better::More, 0.5, 0.501), "+0.1 points");
        assert_eq!(said(Better::Neither, 0.5, 0.7), "+20.0 points");
        let missing = Row {
            title: "x".to_owned(),
            is_share: true,
            better: Better::More,
            values: vec![Some(0.1), None],
        };
        assert_eq!(difference(&missing).into_string(), "–");
    }
}
