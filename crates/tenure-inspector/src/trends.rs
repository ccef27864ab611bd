//! Figures over time: requests, tokens, the share that a cache had, spend by model, how full budgets are, missed limits.

use std::collections::BTreeMap;

use maud::{Markup, html};
use tenure::Catalogue;
use tenure::catalogue::Cost;
use tenure_workspace::records::{Line, Listed};

use crate::drift::{self, Versions};
use crate::exchange;
use crate::links::{Links, View};
use crate::money;
use crate::overview;
use crate::shell::table;
use crate::text::{grouped, name, percent, second};

/// The most alerts that are listed.
const ALERTS: usize = 50;

#[derive(Default)]
struct Day {
    requests: u64,
    came: u64,
    sent: u64,
    input: u64,
    cached: u64,
    compiles: u64,
    used: u64,
    budget: u64,
    missed: u64,
    faults: u64,
    cost: Cost,
}

#[derive(Default)]
struct Model {
    requests: u64,
    input: u64,
    output: u64,
    cached: u64,
    cost: Option<Cost>,
}

/// The page over these records, the newest first; `more` is set where there are older ones.
pub(crate) fn page(tenant: &str, lines: &[Line], more: bool, catalogue: &Catalogue) -> Markup {
    let mut days: BTreeMap<String, Day> = BTreeMap::new();
    let mut models: BTreeMap<String, Model> = BTreeMap::new();
    let mut policies: BTreeMap<String, Versions> = BTreeMap::new();
    for line in lines {
        let at = line.at.to_string();
        let day = days.entry(at.get(..10).unwrap_or(&at).to_owned()).or_default();
        let (model, usage) = match &line.what {
            Listed::Exchange(record) => {
                day.requests += 1;
                let tokens = record.tokens();
                day.came += tokens.came.map_or(0, |came| came.tokens);
                day.sent += tokens.sent.map_or(0, |sent| sent.tokens);
                day.faults += u64::from(exchange::fault(record).is_some());
                (
                    record.resolved_model.clone().or(record.model.clone()),
                    record.usage,
                )
            }
            Listed::Compile(compile) => {
                day.compiles += 1;
                day.used += u64::from(compile.total_tokens);
                day.budget += u64::from(compile.budget);
                day.missed += u64::from(compile.missed > 0);
                let versions = policies.entry(compile.by.name.clone()).or_default();
                versions.add(line.at, compile);
                (Some(compile.model.clone()), compile.usage)
            }
            Listed::Unreadable(_) => continue,
        };
        let (Some(model), Some(usage)) = (model, usage) else {
            continue;
        };
        day.input += usage.input;
        day.cached += usage.cache_read;
        let cost = money::spent(catalogue, &model, &usage);
        day.cost = day.cost + cost.unwrap_or_default();
        let of = models.entry(model).or_default();
        of.requests += 1;
        of.input += usage.input;
        of.output += usage.output;
        of.cached += usage.cache_read;
        of.cost = cost.map(|cost| cost + of.cost.unwrap_or_default()).or(of.cost);
    }
    html! {
        h1 { "Over time" }
        p.lead { "Of the newest " (grouped(lines.len() as u64)) " records" @if more { "; older ones are not counted" } "." }
        @if days.is_empty() { p.none { "Nothing is recorded yet." } } @else {
            h2 { "Requests a day" } (bars(&days, "requests and compiles", |day| day.requests + day.compiles))
            h2 { "By day" } (by_day(&days))
            h2 { "Spend by model" } (by_model(tenant, &models))
            h2 { "Drift between versions of a policy" } (drift::shown(&policies))
            h2 { "Alerts" } (alerts(lines))
        }
    }
}

/// A bar for each day.
fn bars(days: &BTreeMap<String, Day>, what: &str, of: impl Fn(&Day) -> u64) -> Markup {
    let most = days.values().map(&of).max().unwrap_or(0).max(1);
    // A single day is no wall.
    let wide = 100.0 / days.len().max(14) as f64;
    html! {
        svg.line viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label=(format!("{what} a day, at most {}", grouped(most))) {
            line x1="0" x2="100" y1="40" y2="40" {}
            @for (number, (day, figures)) in days.iter().enumerate() {
                @let high = 40.0 * of(figures) as f64 / most as f64;
                rect x=(format!("{:.2}", number as f64 * wide)) y=(format!("{:.2}", 40.0 - high)) width=(format!("{:.2}", wide * 0.85)) height=(format!("{high:.2}")) { title { (day) ": " (grouped(of(figures))) } }
            }
        }
    }
}

fn by_day(days: &BTreeMap<String, Day>) -> Markup {
    let head = html! {
        th scope="col" { "Day" } th.n scope="col" { "Requests" } th.n scope="col" { "Came" } th.n scope="col" { "Sent" } th.n scope="col" { "Cached" } th.n scope="col" { "Spend, $" } th.n scope="col" { "Faults" }
        th.n scope="col" { "Compiles" } th.n scope="col" { "Budget used" } th.n scope="col" { "Missed a limit" }
    };
    let rows = html! {
        @for (day, of) in days.iter().rev() {
            tr {
                th scope="row" { (day) } td.n { (grouped(of.requests)) } td.n { (grouped(of.came)) } td.n { (grouped(of.sent)) } td.n { (percent(of.cached, of.input)) } td.n { (of.cost) } td.n { (grouped(of.faults)) }
                td.n { (grouped(of.compiles)) } td.n { (percent(of.used, of.budget)) } td.n { (grouped(of.missed)) }
            }
        }
    };
    table("By day", head, rows)
}

fn by_model(tenant: &str, models: &BTreeMap<String, Model>) -> Markup {
    if models.is_empty() {
        return html! { p.none { "No provider has reported its use yet." } };
    }
    let head = html! { th scope="col" { "Model" } th.n scope="col" { "Requests" } th.n scope="col" { "Input" } th.n scope="col" { "Cached" } th.n scope="col" { "Output" } th.n scope="col" { "Spend, $" } };
    let mut whole = Model::default();
    for of in models.values() {
        whole.requests += of.requests;
        whole.input += of.input;
        whole.output += of.output;
        whole.cached += of.cached;
        let sum = whole.cost.unwrap_or_default();
        whole.cost = of.cost.map(|cost| cost + sum).or(whole.cost);
    }
    let all = format!("all of tenant {tenant}");
    let rows = html! {
        @for (model, of) in std::iter::once((&all, &whole)).chain(models) {
            tr { th scope="row" { (name(model)) } td.n { (grouped(of.requests)) } td.n { (grouped(of.input)) } td.n { (percent(of.cached, of.input)) } td.n { (grouped(of.output)) } td.n { @match of.cost { Some(cost) => { (cost) } None => { "–" } } } }
        }
    };
    table("Spend by model", head, rows)
}

fn alerts(lines: &[Line]) -> Markup {
    let told: Vec<_> = lines
        .iter()
        .filter_map(|line| match &line.what {
            Listed::Exchange(record) => {
                exchange::fault(record).map(|fault| (line, fault.to_owned()))
            }
            Listed::Compile(compile) => {
                (compile.missed > 0).then(|| (line, overview::missed(compile.missed)))
            }
            Listed::Unreadable(_) => Some((line, "the record cannot be read".to_owned())),
        })
        .collect();
    html! {
        @if told.is_empty() { p.none { "There are none." } }
        ul { @for (line, what) in told.iter().take(ALERTS) { li { (second(line.at)) " " a.mono href=[Links::Server.to(View::Record(&line.id))] { (name(&line.id)) } ": " (what) } } }
        (crate::text::left_out(told.len(), ALERTS))
    }
}
