//! The candidates of a compile with their verdicts: a table with filters, a page at a time.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Deserialize;
use tenure::inspect::remedy_in_words;
use tenure::score::ScoreCard;
use tenure::section::Section;
use tenure::trace::Condensed;
use tenure::{Ruling, Trace, Verdict};

use crate::links::encode;
use crate::shell::table;
use crate::svg::class;
use crate::text::{SENTENCE, clipped, grouped, name, percent};

/// The rows of a page.
pub const ROWS: usize = 100;

/// The candidates that are asked for. Every field may be missing or empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Filter {
    /// `included`, `omitted` or `denied`.
    pub verdict: String,
    /// A section.
    pub section: String,
    /// The code of a reason.
    pub reason: String,
    /// A part of a name, in any case.
    pub q: String,
    /// `place` (as the compile has them), `tokens` or `score`, the greatest first.
    pub sort: String,
    /// The page, from 1.
    pub page: String,
    /// Set where every candidate is asked for, also of a record with a brief account: the compile is made again.
    pub whole: String,
}

impl Filter {
    /// The page, from 0.
    fn page(&self) -> usize {
        self.page.parse::<usize>().unwrap_or(1).max(1) - 1
    }

    /// The places of the verdicts that are asked for, in their order.
    pub(crate) fn of(&self, trace: &Trace) -> Vec<usize> {
        let wanted = self.q.to_lowercase();
        let verdicts = trace.verdicts.iter().enumerate();
        let mut found: Vec<usize> = verdicts
            .filter(|(_, verdict)| {
                (self.verdict.is_empty() || ruling(verdict.verdict) == self.verdict)
                    && (self.section.is_empty() || verdict.section.term() == self.section)
                    && (self.reason.is_empty() || verdict.reason.code() == self.reason)
                    && (wanted.is_empty() || verdict.name.to_lowercase().contains(&wanted))
            })
            .map(|(at, _)| at)
            .collect();
        let verdict = |at: &usize| &trace.verdicts[*at];
        match self.sort.as_str() {
            "tokens" => found.sort_by_key(|at| std::cmp::Reverse(verdict(at).tokens)),
            "score" => found.sort_by_key(|at| {
                std::cmp::Reverse(verdict(at).score.map(|score| score.composite))
            }),
            _ => {}
        }
        found
    }

    /// The query that asks for every candidate.
    fn with_all(&self) -> String {
        let whole = Filter {
            whole: "1".into(),
            ..self.clone()
        };
        whole.query(0)
    }

    /// The query that asks for another page of the same.
    fn query(&self, page: usize) -> String {
        let page = (page + 1).to_string();
        let fields = [
            ("verdict", &self.verdict),
            ("section", &self.section),
            ("reason", &self.reason),
            ("q", &self.q),
            ("sort", &self.sort),
            ("page", &page),
            ("whole", &self.whole),
        ];
        let set: Vec<String> = fields
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(field, value)| format!("{field}={}", encode(value)))
            .collect();
        format!("?{}", set.join("&"))
    }
}

/// A ruling as its word.
pub(crate) fn ruling(ruling: Ruling) -> &'static str {
    ruling.term()
}

/// The rest of a row, beside its verdict.
#[derive(Default)]
pub(crate) struct Beside<'b> {
    /// The forms that are not whole, by the place of their candidate.
    condensed: BTreeMap<u32, &'b Condensed>,
    /// The remedies that were found by compiling, by the place of their verdict.
    remedies: Option<&'b BTreeMap<usize, String>>,
}

impl<'b> Beside<'b> {
    pub(crate) fn of(trace: &'b Trace, remedies: &'b BTreeMap<usize, String>) -> Beside<'b> {
        let condensed = trace.condensed.iter().map(|one| (one.candidate, one));
        Beside {
            condensed: condensed.collect(),
            remedies: Some(remedies),
        }
    }

    /// The change that would have let a candidate in, where it is not in.
    pub(crate) fn remedy(&self, at: usize, verdict: &Verdict) -> Option<String> {
        if verdict.verdict == Ruling::Included {
            return None;
        }
        let found = self.remedies.and_then(|remedies| remedies.get(&at).cloned());
        Some(found.unwrap_or_else(|| remedy_in_words(verdict, None)))
    }
}

/// The rows of these verdicts. `href` leads to all that is known of one.
pub(crate) fn rows(
    trace: &Trace,
    places: &[usize],
    beside: &Beside<'_>,
    href: &impl Fn(usize) -> Option<String>,
) -> Markup {
    let head = html! {
        th scope="col" { "Object" } th scope="col" { "Verdict and reason" } th scope="col" { "Section" }
        th.n scope="col" { "Tokens" } th scope="col" { "Rung" } th scope="col" { "Score" }
    };
    let rows = html! {
        @for at in places {
            @if let Some(verdict) = trace.verdicts.get(*at) { (row(*at, verdict, beside, href)) }
        }
    };
    table("Candidates with their verdicts", head, rows)
}

fn row(
    at: usize,
    verdict: &Verdict,
    beside: &Beside<'_>,
    href: &impl Fn(usize) -> Option<String>,
) -> Markup {
    let condensed = u32::try_from(at).ok().and_then(|at| beside.condensed.get(&at));
    html! {
        tr id=(format!("i{at}")) {
            td.name {
                @match href(at) {
                    Some(href) => { a href=(href) { (name(&verdict.name)) } }
                    None => { (name(&verdict.name)) }
                }
            }
            td.why {
                (verdict_word(verdict)) " " (clipped(&verdict.reason.sentence(), SENTENCE))
                @if let Some(remedy) = beside.remedy(at, verdict) {
                    br; span.hint { "Would let it in: " (clipped(&remedy, SENTENCE)) "." }
                }
                @if let Some(condensed) = condensed {
                    br; span.hint { (shorter(condensed)) }
                }
            }
            td { span class=(format!("chip {}", class(verdict.section))) { (verdict.section) } }
            td.n { (grouped(u64::from(verdict.tokens))) }
            td { (rung(verdict)) }
            td { (score(verdict.score.as_ref())) }
        }
    }
}

/// The verdict in a word, which does not stand on its colour alone.
pub(crate) fn verdict_word(verdict: &Verdict) -> Markup {
    match verdict.verdict {
        Ruling::Included => html! { span.in { "in:" } },
        Ruling::Denied => html! { span.denied { "denied:" } },
        _ => html! { span.out { "out:" } },
    }
}

/// The shorter form in which something stands.
pub(crate) fn shorter(condensed: &Condensed) -> Markup {
    html! {
        "Stands as " (condensed.form) " by " (condensed.method) ": " (grouped(u64::from(condensed.from))) " → "
        (grouped(u64::from(condensed.to))) " tokens"
        @if let Some(fidelity) = condensed.fidelity { ", fidelity " (fidelity) }
        @if let Some(pointer) = condensed.pointer { ", original " code { (pointer) } }
    }
}

/// The step of the ladder.
pub(crate) fn rung(verdict: &Verdict) -> Markup {
    html! {
        @match verdict.rung {
            Some(rung) => {
                span title=(rung.term()) { (rung.number()) " " span.hint { (rung.term().replace('_', " ")) } }
                @if let Some(hold) = verdict.held_by { br; span.hint { "held by " (hold.term().replace('_', " ")) } }
            }
            None => { span.hint { "–" } }
        }
    }
}

/// The score with its factors.
pub(crate) fn score(score: Option<&ScoreCard>) -> Markup {
    let Some(score) = score else {
        return html! { span.hint { "not scored" } };
    };
    html! {
        details {
            summary { (score.composite) " " span.hint { (score.grade) } }
            (factors(score))
        }
    }
}

/// The factors of a score.
pub(crate) fn factors(score: &ScoreCard) -> Markup {
    let factors = [
        ("relevance", score.relevance),
        ("authority", score.authority),
        ("freshness", score.freshness),
        ("currency", score.currency),
        ("utility", score.utility),
        ("economy", score.economy),
        ("confidence", score.confidence),
    ];
    html! {
        dl.facts {
            @for (factor, value) in factors { dt { (factor) } dd { (value) } }
        }
    }
}

/// The reasons with the number of candidates that each has, those with most first.
pub(crate) fn reasons(trace: &Trace, link: impl Fn(&str) -> Option<String>) -> Markup {
    let mut counted: BTreeMap<&str, (Ruling, u64, u64)> = BTreeMap::new();
    for verdict in &trace.verdicts {
        let entry = counted.entry(verdict.reason.code()).or_insert((verdict.verdict, 0, 0));
        entry.1 += 1;
        entry.2 += u64::from(verdict.tokens);
    }
    for (code, left) in trace.rest.iter().flat_map(|rest| &rest.reasons) {
        let entry = counted.entry(code).or_insert((left.verdict, 0, 0));
        entry.1 += u64::from(left.candidates);
        entry.2 += left.tokens;
    }
    let mut counted: Vec<_> = counted.into_iter().collect();
    counted.sort_by_key(|(code, (_, count, _))| (std::cmp::Reverse(*count), *code));
    let all = trace.candidates() as u64;
    let head = html! {
        th scope="col" { "Reason" } th scope="col" { "Verdict" } th.n scope="col" { "Candidates" } th.n scope="col" { "Share" }
        th.n scope="col" { "Tokens" }
    };
    let rows = html! {
        @for (code, (of, count, tokens)) in counted {
            tr {
                th scope="row" { @match link(code) { Some(href) => { a href=(href) { (code) } } None => { (code) } } }
                td { (ruling(of)) }
                td.n { (grouped(count)) }
                td.n { (percent(count, all)) }
                td.n { (grouped(tokens)) }
            }
        }
    };
    table("Reasons", head, rows)
}

/// A page of the candidates, with the form that filters them.
pub(crate) fn paged(
    trace: &Trace,
    filter: &Filter,
    beside: &Beside<'_>,
    href: &impl Fn(usize) -> Option<String>,
) -> Markup {
    let found = filter.of(trace);
    let pages = found.len().div_ceil(ROWS).max(1);
    let page = filter.page().min(pages - 1);
    let from = page * ROWS;
    let places = &found[from..found.len().min(from + ROWS)];
    html! {
        (form(filter))
        p.lead role="status" {
            @if found.is_empty() { "No candidate is so." } @else {
                (grouped(from as u64 + 1)) " to " (grouped((from + places.len()) as u64)) " of " (grouped(found.len() as u64))
                @if found.len() < trace.verdicts.len() { " (of " (grouped(trace.verdicts.len() as u64)) " in all)" }
            }
        }
        @if trace.rest.is_some() {
            p.hint {
                "The record has the verdicts on what went in, on what was near and on some others. The other "
                (grouped((trace.candidates() - trace.verdicts.len()) as u64)) " are counted by their reasons"
                @if filter.whole.is_empty() { "; " a href=(filter.with_all()) { "make the compile again to see them all" } }
                "."
            }
        }
        (rows(trace, places, beside, href))
        @if pages > 1 {
            nav.pages aria-label="Pages" {
                @if page > 0 { a href=(filter.query(page - 1)) rel="prev" { "Before" } }
                span { "Page " (page + 1) " of " (grouped(pages as u64)) }
                @if page + 1 < pages { a href=(filter.query(page + 1)) rel="next" { "After" } }
            }
        }
    }
}

fn form(filter: &Filter) -> Markup {
    let verdicts = [
        ("", "any"),
        ("included", "in"),
        ("omitted", "out"),
        ("denied", "denied"),
    ];
    let orders = [
        ("", "as compiled"),
        ("tokens", "tokens"),
        ("score", "score"),
    ];
    let sections = std::iter::once("").chain(Section::ALL.iter().map(|section| section.term()));
    html! {
        form.filter method="get" role="search" {
            @if !filter.whole.is_empty() { input type="hidden" name="whole" value="1"; }
            label { "Name" input type="search" name="q" value=(filter.q); }
            label { "Verdict" select name="verdict" { (options(verdicts.into_iter(), &filter.verdict)) } }
            label { "Section" select name="section" {
                (options(sections.map(|term| (term, if term.is_empty() { "any" } else { term })), &filter.section))
            } }
            label { "Reason" input name="reason" value=(filter.reason) placeholder="no_room"; }
            label { "Order" select name="sort" { (options(orders.into_iter(), &filter.sort)) } }
            button type="submit" { "Show" }
        }
    }
}

/// The options of a choice.
pub(crate) fn options<'o>(all: impl Iterator<Item = (&'o str, &'o str)>, chosen: &str) -> Markup {
    html! {
        @for (value, shown) in all {
            option value=(value) selected[value == chosen] { (shown) }
        }
    }
}
