//! The list of requests and compiles, the newest first.

use maud::{Markup, html};
use serde::Deserialize;
use tenure::Catalogue;
use tenure_workspace::records::{Bill, CompileLine, ExchangeRecord, Line, Listed, Net};

use crate::exchange;
use crate::items::options;
use crate::links::{Links, View, encode};
use crate::money;
use crate::shell::table;
use crate::text::{clipped, grouped, name, percent, second};

/// The records that are asked for. Every field may be missing or empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ListFilter {
    /// A part of an id, a model, a client, a session, a policy or a user, in any case.
    pub q: String,
    /// `requests`, `compiles`, `faults` or `epochs`.
    pub kind: String,
    /// The user whose records are asked for.
    pub user: String,
    /// The first day or instant, as RFC 3339 writes it or the beginning of that.
    pub since: String,
    /// The last one.
    pub until: String,
    /// A part of a text in the messages of the conversations, in any case.
    pub text: String,
    /// The record behind which a page begins, as the page before names it.
    pub after: String,
}

/// The sums over the records that a filter takes.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    requests: u64,
    compiles: u64,
    input: u64,
    cached: u64,
    faults: u64,
    /// The cost of the requests, where the filter leaves out none of a conversation.
    net: Net,
    /// The number of records that were looked through, where there are more.
    pub looked: Option<usize>,
}

impl Totals {
    /// The sums over these records, which a filter took, the newest first.
    pub fn of(lines: &[Line], filter: &ListFilter, catalogue: &Catalogue) -> Totals {
        let mut totals = Totals::default();
        lines.iter().for_each(|line| totals.add(line));
        let requests = lines.iter().rev().filter_map(|line| match &line.what {
            Listed::Exchange(record) => Some(&**record),
            _ => None,
        });
        // For a part of a conversation, the request before each one may be missing.
        if filter.takes_whole_conversations() {
            totals.net = Bill::of(catalogue, requests);
        }
        totals
    }

    fn add(&mut self, line: &Line) {
        let usage = match &line.what {
            Listed::Exchange(record) => {
                self.requests += 1;
                self.faults += u64::from(exchange::fault(record).is_some());
                record.usage
            }
            Listed::Compile(compile) => {
                self.compiles += 1;
                compile.usage
            }
            Listed::Unreadable(_) => None,
        };
        self.input += usage.map_or(0, |usage| usage.input);
        self.cached += usage.map_or(0, |usage| usage.cache_read);
    }

    fn shown(&self) -> Markup {
        html! {
            ul.figures aria-label="Totals" {
                li { b { (grouped(self.requests)) } span { "requests" } }
                li { b { (grouped(self.compiles)) } span { "compiles" } }
                li { b { (grouped(self.input)) } span { "tokens of input, as providers count" } }
                li { b { (percent(self.cached, self.input)) } span { "of the input read from the cache" } }
                li { b class=[(self.faults > 0).then_some("bad")] { (grouped(self.faults)) } span { "requests with faults" } }
            }
            (exchange::net(&self.net))
            @if let Some(looked) = self.looked { p.hint { "Of the newest " (grouped(looked as u64)) " records; older ones are not counted." } }
        }
    }
}

impl ListFilter {
    /// Returns whether a record is asked for.
    pub fn takes(&self, line: &Line) -> bool {
        let of_kind = match (self.kind.as_str(), &line.what) {
            ("requests", what) => matches!(what, Listed::Exchange(_)),
            ("compiles", what) => matches!(what, Listed::Compile(_)),
            ("faults", Listed::Exchange(record)) => exchange::fault(record).is_some(),
            ("faults", Listed::Compile(compile)) => compile.missed > 0,
            ("epochs", Listed::Exchange(record)) => {
                record.compile.as_ref().is_some_and(|compile| compile.rewritten > 0)
            }
            ("epochs", Listed::Compile(_)) => false,
            _ => true,
        };
        of_kind
            && self.is_theirs(line)
            && self.is_in_time(line)
            && (self.q.is_empty() || self.is_named(line))
    }

    fn takes_whole_conversations(&self) -> bool {
        self.q.is_empty()
            && self.text.is_empty()
            && matches!(self.kind.as_str(), "" | "requests" | "compiles")
    }

    fn is_theirs(&self, line: &Line) -> bool {
        let user = match &line.what {
            Listed::Exchange(record) => record.user.as_deref(),
            Listed::Compile(compile) => compile.principal.user.as_deref(),
            Listed::Unreadable(_) => None,
        };
        self.user.is_empty() || user == Some(self.user.as_str())
    }

    /// Returns whether a record is of the time that is asked for: a day includes all of it.
    fn is_in_time(&self, line: &Line) -> bool {
        let at = line.at.to_string();
        at.as_str() >= self.since.as_str()
            && (self.until.is_empty() || at <= self.until || at.starts_with(&self.until))
    }

    fn is_named(&self, line: &Line) -> bool {
        let wanted = self.q.to_lowercase();
        let texts = match &line.what {
            Listed::Exchange(record) => vec![
                Some(line.id.as_str()),
                record.model.as_deref(),
                record.client.as_deref(),
                record.session.as_deref(),
                record.unmanaged.as_deref(),
            ],
            Listed::Compile(compile) => vec![
                Some(line.id.as_str()),
                Some(compile.model.as_str()),
                Some(compile.policy.as_str()),
                compile.principal.session.as_deref(),
                compile.principal.user.as_deref(),
            ],
            Listed::Unreadable(_) => vec![Some(line.id.as_str())],
        };
        texts.into_iter().flatten().any(|text| text.to_lowercase().contains(&wanted))
    }

    fn query(&self, after: &str) -> String {
        let fields = [
            ("q", self.q.as_str()),
            ("kind", self.kind.as_str()),
            ("user", self.user.as_str()),
            ("since", self.since.as_str()),
            ("until", self.until.as_str()),
            ("text", self.text.as_str()),
            ("after", after),
        ];
        let set: Vec<String> = fields
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(field, value)| format!("{field}={}", encode(value)))
            .collect();
        format!("?{}", set.join("&"))
    }
}

/// A page of the list. `next` is where the next page begins, where there is one.
pub(crate) fn list(
    (lines, totals): (&[Line], Option<&Totals>),
    filter: &ListFilter,
    next: Option<&str>,
    catalogue: &Catalogue,
) -> Markup {
    let kinds = [
        ("", "everything"),
        ("requests", "requests of the gateway"),
        ("compiles", "compiles"),
        ("faults", "faults and missed limits"),
        ("epochs", "epochs that cost"),
    ];
    let head = html! {
        th scope="col" { "At" } th scope="col" { "Record" } th scope="col" { "Model" } th scope="col" { "Client or policy" } th scope="col" { "Conversation" }
        th.n scope="col" { "Tokens" } th.n scope="col" { "Saved" } th.n scope="col" { "Cached" } th.n scope="col" { "Cost, $" } th scope="col" { "Outcome" }
    };
    html! {
        h1 { "Requests and compiles" }
        form.filter method="get" role="search" {
            label { "Search" input type="search" name="q" value=(filter.q) placeholder="model, client, session"; }
            label { "Text of messages" input type="search" name="text" value=(filter.text); }
            label { "User" input name="user" value=(filter.user); }
            label { "From" input type="date" name="since" value=(filter.since); }
            label { "To" input type="date" name="until" value=(filter.until); }
            label { "Show" select name="kind" { (options(kinds.into_iter(), &filter.kind)) } }
            button type="submit" { "Show" }
        }
        @if let Some(totals) = totals { (totals.shown()) }
        p #live .notice role="status" hidden {}
        @if lines.is_empty() {
            p.none { "There is nothing that you may see here. What goes through the gateway is recorded, and compiles with " code { "record" } "." }
        } @else {
            (table("Requests and compiles", head, html! { @for line in lines { (row(line, catalogue)) } }))
        }
        @if let Some(next) = next { nav.pages aria-label="Pages" { a href=(filter.query(next)) rel="next" { "Older" } } }
    }
}

fn row(line: &Line, catalogue: &Catalogue) -> Markup {
    let href = Links::Server.to(View::Record(&line.id));
    html! {
        tr {
            td.at { (second(line.at)) }
            td.mono { a href=[href] { (name(&line.id)) } }
            @match &line.what {
                Listed::Exchange(record) => { (request(record, catalogue)) }
                Listed::Compile(compile) => { (compiled(compile, catalogue)) }
                Listed::Unreadable(why) => { td colspan="8" { span.bad { "unreadable: " } (clipped(why, 300)) } }
            }
        }
    }
}

fn session(session: Option<&str>) -> Markup {
    html! {
        @match session {
            Some(session) => { a href=[Links::Server.to(View::Session(session))] { (name(session)) } }
            None => { span.hint { "–" } }
        }
    }
}

fn request(record: &ExchangeRecord, catalogue: &Catalogue) -> Markup {
    let tokens = record.tokens();
    html! {
        td { (name(record.model.as_deref().unwrap_or("none"))) }
        td { (name(record.client.as_deref().unwrap_or("unnamed"))) }
        td { (session(record.session.as_deref())) }
        td.n { (exchange::counted(tokens.came)) " → " (exchange::counted(tokens.sent)) }
        td.n { (exchange::counted(tokens.saved().filter(|_| !record.is_too_long()))) }
        td.n { (exchange::cached(record)) }
        td.n { @match money::of_exchange(catalogue, record) { Some(cost) => { (cost) } None => { "–" } } }
        td { @match exchange::fault(record) {
            Some(fault) => { span.bad { (fault) } @if let Some(status) = record.status { " " (status) } }
            None => { @if record.unmanaged.is_some() { span.out { "unmanaged" } } @else { span.in { "ok" } } }
        } }
    }
}

fn compiled(compile: &CompileLine, catalogue: &Catalogue) -> Markup {
    let cost = compile.usage.and_then(|usage| money::spent(catalogue, &compile.model, &usage));
    html! {
        td { (name(&compile.model)) }
        td { (name(&compile.policy)) }
        td { (session(compile.principal.session.as_deref())) }
        td.n { (grouped(u64::from(compile.total_tokens))) " of " (grouped(u64::from(compile.budget))) }
        td.n { span.hint { "–" } }
        td.n { @match compile.usage { Some(usage) if usage.input > 0 => { (percent(usage.cache_read, usage.input)) } _ => { "–" } } }
        td.n { @match cost { Some(cost) => { (cost) } None => { "–" } } }
        td { @if compile.missed > 0 { span.out { (missed(compile.missed)) } } @else { span.in { "ok" } } }
    }
}

/// The number of quality limits that a compile misses, in words.
pub(crate) fn missed(limits: usize) -> String {
    match limits {
        1 => "1 quality limit missed".to_owned(),
        limits => format!("{limits} quality limits missed"),
    }
}
