//! One compile: what the model saw, what it did not, why, and what that costs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use maud::{Markup, html};
use tenure::cache::CachePlan;
use tenure::inspect::QualityMetric;
use tenure::object::Authority;
use tenure::score::Grade;
use tenure::section::Section;
use tenure::trace::{Measured, View as Seen};
use tenure::{CompileRecord, ContextObject, Envelope, Reason, Request, Ruling, Trace, Verdict};

use tenure_workspace::records::EXCHANGE_PREFIX;

use crate::attention;
use crate::items::{self, Beside, Filter};
use crate::links::{Links, View, encode};
use crate::payload;
use crate::shell::table;
use crate::svg::{self, Area, Tile, class};
use crate::text::{NAME, clipped, grouped, name, percent, second};
use crate::weights::Attention;

/// A compile that is to be shown.
#[derive(Clone, Debug)]
pub struct Compile<'c> {
    /// The id of its record, or the file that it was read from.
    pub named: String,
    /// Its account.
    pub trace: &'c Trace,
    /// Its result, with the payload where there is one.
    pub envelope: Option<&'c Envelope>,
    /// Its record.
    pub record: Option<&'c CompileRecord>,
    /// Its request.
    pub request: Option<&'c Request>,
    /// The sentence that says what making it again proved.
    pub proof: Option<String>,
    /// The objects that were its candidates, by the place of their verdict, as far as they are known.
    pub objects: BTreeMap<usize, Arc<ContextObject>>,
    /// The remedies that were found by compiling, by the place of their verdict.
    pub remedies: BTreeMap<usize, String>,
    /// The effect of the provider's cache on it.
    pub cache: Option<&'c CachePlan>,
    /// The attention that it got, where somebody measured it.
    pub attention: Option<&'c Attention>,
}

impl Compile<'_> {
    /// A compile of which only its account is known.
    pub fn of(named: impl Into<String>, trace: &Trace) -> Compile<'_> {
        Compile {
            named: named.into(),
            trace,
            envelope: None,
            record: None,
            request: None,
            proof: None,
            objects: BTreeMap::new(),
            remedies: BTreeMap::new(),
            cache: None,
            attention: None,
        }
    }

    pub(crate) fn beside(&self) -> Beside<'_> {
        Beside::of(self.trace, &self.remedies)
    }

    /// The place of the verdict on each item of the envelope; of several that share a name, in their order.
    pub(crate) fn verdicts_of_items(&self) -> Vec<Option<usize>> {
        let Some(envelope) = self.envelope else {
            return Vec::new();
        };
        let mut standing: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, verdict) in self.trace.verdicts.iter().enumerate().rev() {
            if verdict.verdict == Ruling::Included {
                standing.entry(&verdict.name).or_default().push(at);
            }
        }
        payload::items(envelope)
            .into_iter()
            .map(|(_, item)| standing.get_mut(&*item.name)?.pop())
            .collect()
    }

    /// The sections with what stands in them: of the envelope, or else of the verdicts. `href` leads to a verdict.
    fn areas(&self, href: &impl Fn(usize) -> Option<String>) -> Vec<Area> {
        let Some(envelope) = self.envelope else {
            let mut areas: BTreeMap<Section, Area> = BTreeMap::new();
            for (at, verdict) in self.trace.verdicts.iter().enumerate() {
                if verdict.verdict != Ruling::Included {
                    continue;
                }
                let area = areas.entry(verdict.section).or_insert_with(|| Area {
                    section: verdict.section,
                    tokens: 0,
                    items: Vec::new(),
                });
                area.tokens += u64::from(verdict.tokens);
                area.items.push(tile(&verdict.name, verdict.tokens, href(at)));
            }
            return areas.into_values().collect();
        };
        let mut places = self.verdicts_of_items().into_iter();
        let sections = envelope.sections.iter().map(|section| Area {
            section: section.name,
            tokens: u64::from(section.tokens),
            items: section
                .items
                .iter()
                .zip(&mut places)
                .map(|(item, at)| tile(&item.name, item.tokens, at.and_then(href)))
                .collect(),
        });
        sections.collect()
    }
}

fn tile(name: &str, tokens: u32, href: Option<String>) -> Tile {
    Tile {
        name: crate::text::plain(name, NAME),
        tokens: u64::from(tokens),
        href,
    }
}

/// The head of a compile: its name and its figures.
pub(crate) fn head(compile: &Compile<'_>) -> Markup {
    let trace = compile.trace;
    let count = |ruling: Ruling| {
        let verdicts = trace.verdicts.iter();
        let here = verdicts.filter(|verdict| verdict.verdict == ruling).count() as u64;
        let rest = trace
            .rest
            .iter()
            .flat_map(|rest| rest.reasons.values())
            .filter(|left| left.verdict == ruling);
        here + rest.map(|left| u64::from(left.candidates)).sum::<u64>()
    };
    let missed = trace
        .quality
        .iter()
        .filter(|measured| measured.missed && is_alarm(measured))
        .count();
    html! {
        ul.figures aria-label="Figures" {
            li { b { (grouped(u64::from(trace.total_tokens))) } span { "tokens of " (grouped(u64::from(trace.budget))) " (" (percent(u64::from(trace.total_tokens), u64::from(trace.budget))) ")" } }
            li { b { (grouped(count(Ruling::Included))) } span { "of " (grouped(trace.candidates() as u64)) " candidates are in" } }
            li { b { (grouped(count(Ruling::Omitted))) } span { "stayed out" } }
            @if trace.view == Seen::Operator { li { b { (grouped(count(Ruling::Denied))) } span { "were denied to the caller" } } }
            @if !trace.quality.is_empty() {
                li { b class=[(missed > 0).then_some("bad")] { (missed) } span { "of " (trace.quality.len()) " quality limits missed" } }
            }
            li { b { (trace.plan.epoch) } span { "epoch, " (trace.plan.cause.term().replace('_', " ")) } }
        }
        @if trace.view == Seen::Caller {
            p.hint { "This is the caller's view: what they were not admitted to is not in it." }
        }
    }
}

/// The facts of a compile as a whole.
pub(crate) fn facts(compile: &Compile<'_>) -> Markup {
    let trace = compile.trace;
    let task = compile.request.map(|request| &request.task);
    html! {
        dl.facts {
            @if let Some(task) = task { dt { "Task" } dd { (clipped(&task.objective, 1_000)) } }
            dt { "Model" } dd { (name(&trace.model)) ", counted by " (name(&trace.tokenizer.name)) " (" (trace.tokenizer.count.term()) ")" }
            dt { "Policy" } dd { (name(&trace.policy.name)) " " (name(&trace.policy.version)) }
            @if let Some(envelope) = compile.envelope { dt { "Form" } dd { (envelope.target) @if let Some(part) = envelope.part { ", page " (part.number) " of " (part.of) } } }
            @if let Some(strategy) = trace.strategy { dt { "Corpus" } dd { (strategy.term().replace('_', " ")) } }
            @if let Some(record) = compile.record {
                dt { "Compiled" } dd { (second(record.compiled_at)) ", in " (grouped(record.compilation_latency_us)) " µs, by compiler " (record.compiler) }
                @if let Some(usage) = record.usage {
                    dt { "Provider" } dd { (grouped(usage.input)) " tokens in, " (grouped(usage.cache_read)) " of them read from the cache, " (grouped(usage.output)) " out" }
                }
            }
            @if let Some(proof) = &compile.proof { dt { "Made again" } dd { (clipped(proof, 1_000)) } }
            dt { "Input" } dd.mono { (trace.input_digest) }
            @if let Some(digest) = trace.payload_digest { dt { "Payload" } dd.mono { (digest) } }
            dt { "Injection surface" } dd { (trace.injection_surface) }
            @if let Some(lambda) = trace.lambda { dt { "Price of a token" } dd { "λ = " (format!("{lambda:.6}")) } }
        }
    }
}

/// The budget: a bar, a treemap, and the same in a table.
pub(crate) fn budget(compile: &Compile<'_>, href: &impl Fn(usize) -> Option<String>) -> Markup {
    let trace = compile.trace;
    let areas = compile.areas(href);
    let overhead = compile.envelope.map_or(0, |envelope| u64::from(envelope.overhead_tokens));
    let head = html! {
        th scope="col" { "Section" } th.n scope="col" { "Tokens" } th.n scope="col" { "Share" } th.n scope="col" { "Items" }
        th.n scope="col" { "Demand" } th.n scope="col" { "Minimum" } th.n scope="col" { "Maximum" } th.n scope="col" { "Allocated" }
        th.n scope="col" { "Used" } th.n scope="col" { "Flowed back" }
    };
    let standing: BTreeSet<Section> = areas.iter().map(|area| area.section).collect();
    let others: BTreeSet<Section> = trace
        .allocations
        .iter()
        .map(|share| share.section)
        .filter(|section| !standing.contains(section))
        .collect();
    let found = |section: Section| areas.iter().find(|area| area.section == section);
    let rows = html! {
        @for section in areas.iter().map(|area| area.section).chain(others) {
            @let share = trace.allocations.iter().find(|share| share.section == section);
            @let tokens = found(section).map_or(0, |area| area.tokens);
            tr {
                th scope="row" { span class=(format!("chip {}", class(section))) { (section) } }
                td.n { (grouped(tokens)) }
                td.n { (percent(tokens, u64::from(trace.budget))) }
                td.n { (grouped(found(section).map_or(0, |area| area.items.len()) as u64)) }
                @match share {
                    Some(share) => {
                        td.n { (grouped(u64::from(share.demand))) } td.n { (grouped(u64::from(share.min))) }
                        td.n { @if share.max == 0 { "none" } @else { (grouped(u64::from(share.max))) } }
                        td.n { (grouped(u64::from(share.allocated))) } td.n { (grouped(u64::from(share.used))) }
                        td.n { (grouped(u64::from(share.flow_back))) }
                    }
                    None => { td colspan="6" { span.hint { "must stand, at what it costs" } } }
                }
            }
        }
        @if overhead > 0 {
            tr { th scope="row" { "around the text" } td.n { (grouped(overhead)) } td.n { (percent(overhead, u64::from(trace.budget))) } td colspan="7" { span.hint { "what the provider adds" } } }
        }
    };
    html! {
        (svg::bar(&areas, overhead, u64::from(trace.budget)))
        ul.legend {
            @for area in &areas { li { span class=(format!("chip {}", class(area.section))) { (area.section) } " " (percent(area.tokens, u64::from(trace.budget))) } }
        }
        (svg::treemap(&areas))
        (table("Tokens by section", head, rows))
    }
}

/// Returns whether it is a fault to miss a limit: how full a budget is follows from how much material there is.
fn is_alarm(measured: &Measured) -> bool {
    measured.metric != QualityMetric::Utilization
}

/// The quality metrics with what the policy wants of them.
pub(crate) fn quality(trace: &Trace) -> Markup {
    if trace.quality.is_empty() {
        return html! { p.none { "The trace is from before quality was measured." } };
    }
    let wanted = |measured: &Measured| match (measured.least, measured.most) {
        (Some(least), Some(most)) => format!("{least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, Some(most)) => format!("at most {most}"),
        (None, None) => "anything".to_owned(),
    };
    let head = html! {
        th scope="col" { "Metric" } th.n scope="col" { "Value" } th scope="col" { "Wanted" } th scope="col" { "" } th scope="col" { "Definition" }
    };
    let rows = html! {
        @for measured in &trace.quality {
            tr {
                th scope="row" { (measured.metric.term().replace('_', " ")) }
                td.n { (measured.value) }
                td { (wanted(measured)) }
                td { @if measured.missed && is_alarm(measured) { span.bad { "missed" } } @else if measured.missed { span.hint { "not kept, which is no fault: there was more material than room, or less than the budget" } } @else { span.in { "kept" } } }
                td.why { span.hint { (clipped(&measured.definition, 400)) } }
            }
        }
    };
    table("Quality", head, rows)
}

/// The number of candidates through the stages, and the plan.
pub(crate) fn stages(trace: &Trace) -> Markup {
    let head = html! { th scope="col" { "Stage" } th.n scope="col" { "Entered" } th.n scope="col" { "Left for the next" } th.n scope="col" { "Stopped here" } };
    let rows = html! {
        @for report in &trace.stages {
            tr {
                th scope="row" { (report.stage) } td.n { (grouped(u64::from(report.entered))) } td.n { (grouped(u64::from(report.left))) }
                td.n { (grouped(u64::from(report.entered.saturating_sub(report.left)))) }
            }
        }
    };
    table("Stages", head, rows)
}

/// The effect of the provider's cache, with prices.
pub(crate) fn cache(plan: &CachePlan) -> Markup {
    let head = html! {
        th scope="col" { "Prefix ends behind" } th scope="col" { "Zone" } th scope="col" { "Because" } th.n scope="col" { "Tokens" } th.n scope="col" { "Held" }
        th.n scope="col" { "Write, $" } th.n scope="col" { "Read, $" }
    };
    let money = |cost: Option<tenure::catalogue::Cost>| {
        cost.map_or_else(|| "–".to_owned(), |cost| cost.to_string())
    };
    let rows = html! {
        @for point in &plan.breakpoints {
            tr {
                th scope="row" { code { (name(&point.at)) } } td { (point.zone) } td { (point.why.term().replace('_', " ")) }
                td.n { (grouped(u64::from(point.tokens))) } td.n { (grouped(u64::from(point.held_tokens))) }
                td.n { (money(point.write)) } td.n { (money(point.read)) }
            }
        }
    };
    html! {
        @if let Some(cost) = plan.cost {
            ul.figures {
                li { b { "$" (cost.uncached) } span { "input without a cache" } }
                li { b { "$" (cost.first) } span { "when nothing is held yet" } }
                li { b { "$" (cost.again) } span { "when all that can be held is" } }
            }
        } @else { p.none { "The price of this model's input is not known." } }
        @if plan.breakpoints.is_empty() { p.none { "No prefix of it is held." } } @else { (table("Prefixes that a cache holds", head, rows)) }
        @if !plan.notes.is_empty() { ul { @for note in &plan.notes { li { (clipped(note, 400)) } } } }
    }
}

/// Findings, sources that were not fetched, and what each subquery found.
pub(crate) fn findings(trace: &Trace, most: usize) -> Markup {
    html! {
        @if trace.notes.is_empty() && trace.unfetched.is_empty() && trace.retrieval.is_none() { p.none { "Nothing else was found." } }
        @if !trace.notes.is_empty() {
            ul { @for note in trace.notes.iter().take(most) { li { (clipped(&note.sentence(), 600)) } } }
            (crate::text::left_out(trace.notes.len(), most))
        }
        @if !trace.unfetched.is_empty() {
            h3 { "Known and not fetched" }
            ul { @for one in trace.unfetched.iter().take(most) { li { (name(&one.what)) ": " (clipped(&one.why, 400)) } } }
            (crate::text::left_out(trace.unfetched.len(), most))
        }
        @if let Some(retrieval) = &trace.retrieval {
            h3 { "Subqueries" }
            ul {
                @for subquery in retrieval.subqueries.iter().take(most) {
                    li { (name(&subquery.name)) ": " (grouped(subquery.brought.len() as u64)) " found" }
                }
            }
        }
    }
}

/// All that is known of one candidate.
pub(crate) fn one(compile: &Compile<'_>, at: usize, verdict: &Verdict, links: Links) -> Markup {
    let object = compile.objects.get(&at);
    let beside = compile.beside();
    let remedy = beside.remedy(at, verdict);
    let condensed = compile.trace.condensed.iter().find(|one| one.candidate as usize == at);
    let stages = verdict.reason.stages();
    html! {
        dl.facts {
            dt { "Verdict" } dd { (items::verdict_word(verdict)) " " (clipped(&verdict.reason.sentence(), 2_000)) " " code { (verdict.reason.code()) } }
            @if let Some(remedy) = remedy {
                dt { "Would let it in" }
                dd {
                    (clipped(&remedy, 2_000))
                    @if wants_room(verdict) && !compile.remedies.contains_key(&at) && let Some(href) = compile.record.and_then(|_| item_href(links, &compile.named, at)).filter(|_| links == Links::Server) {
                        " " a href=(format!("{href}&remedy=1")) { "Find the least budget that would" } span.hint { " (some twenty compiles)" }
                    }
                }
            }
            @if !stages.is_empty() { dt { "Decided in" } dd { @for (number, stage) in stages.iter().enumerate() { @if number > 0 { ", " } (stage) } } }
            dt { "Section" } dd { span class=(format!("chip {}", class(verdict.section))) { (verdict.section) } }
            dt { "Tokens" } dd { (grouped(u64::from(verdict.tokens))) }
            dt { "Rung" } dd { (items::rung(verdict)) }
            @if let Some(condensed) = condensed { dt { "Form" } dd { (items::shorter(condensed)) } }
        }
        @if let Some(score) = &verdict.score {
            h2 { "Score " (score.composite) ", " (score.grade) }
            (items::factors(score))
        }
        h2 { "Lineage" }
        @match object {
            Some(object) => { (lineage(compile, at, object, links)) }
            None => { p.none { "The object is not known here: the trace alone names it, or it was erased." } }
        }
        @if let Some(envelope) = compile.envelope && let Some(places) = payload::places(envelope) {
            h2 { "As it stands in the payload" }
            @let owners = compile.verdicts_of_items();
            @let pieces: Vec<_> = places.iter().flat_map(|place| place.pieces.iter().map(move |piece| (place, piece))).filter(|(_, piece)| piece.item.and_then(|item| owners.get(item).copied().flatten()) == Some(at)).collect();
            @if pieces.is_empty() { p.none { "It does not stand there." } }
            @for (place, piece) in pieces {
                div class=(format!("piece {}", class(verdict.section))) { p.origin { code { (place.at) } } (payload::body(&piece.text, 200_000)) }
            }
        }
    }
}

/// Returns whether there was no room for it.
fn wants_room(verdict: &Verdict) -> bool {
    matches!(
        verdict.reason,
        Reason::NoRoom { .. } | Reason::OverShare { .. }
    )
}

/// From an object to its source, its subquery, its layer and its parents.
fn lineage(compile: &Compile<'_>, at: usize, object: &ContextObject, links: Links) -> Markup {
    let revision = object.revision();
    let found_by: Vec<&str> = compile
        .trace
        .retrieval
        .iter()
        .flat_map(|retrieval| &retrieval.subqueries)
        .filter(|subquery| subquery.brought.iter().any(|one| one.candidate as usize == at))
        .map(|subquery| &*subquery.name)
        .collect();
    let id = revision.object_id().to_string();
    // What a store does not hold has no page.
    let is_stored = object.status().transaction.from.is_some();
    html! {
        dl.facts {
            dt { "Object" } dd.mono { @match links.to(View::Object(&id)).filter(|_| is_stored) { Some(href) => { a href=(href) { (id) } } None => { (id) } } }
            dt { "Revision" } dd.mono { (revision.id()) }
            dt { "Type" } dd { (revision.object_type()) ", authority " (revision.authority_level()) }
            dt { "Layer" } dd { (revision.layer()) }
            dt { "Source kind" } dd { (revision.source_kind()) }
            @if let Some(origin) = revision.source_origin() { dt { "Origin" } dd { (name(origin)) } }
            @if !found_by.is_empty() { dt { "Found by" } dd { @for subquery in &found_by { code { (name(subquery)) } " " } } }
            @if let Some(provenance) = revision.provenance() {
                @if let Some(source) = &provenance.source_id { dt { "Source" } dd { (clipped(source, 600)) } }
                @if let Some(at) = provenance.retrieved_at { dt { "Retrieved" } dd { (second(at)) } }
                @if let Some(lineage) = &provenance.lineage { dt { "Strategy" } dd { (clipped(lineage, 400)) } }
                @if let Some(chunk) = provenance.chunk { dt { "Bytes" } dd { (grouped(chunk.start)) " to " (grouped(chunk.end)) } }
            }
            @if !revision.derived_from().is_empty() {
                dt { "Made from" }
                dd {
                    @for parent in revision.derived_from() {
                        @let parent = parent.to_string();
                        @match links.to(View::Object(&parent)) { Some(href) => { a.mono href=(href) { (parent) } } None => { span.mono { (parent) } } } " "
                    }
                }
            }
        }
        h3 { "Its own words" }
        div.piece { (payload::body(revision.content(), 20_000)) }
    }
}

/// The link from a row to all that is known of a candidate.
pub(crate) fn item_href(links: Links, record: &str, at: usize) -> Option<String> {
    match links {
        Links::File => Some(format!("#i{at}")),
        Links::Server => links.to(View::Part(record, "item")).map(|url| format!("{url}?at={at}")),
    }
}

/// The compile on the server: figures, budget, quality, reasons, cache; its candidates and its payload have pages of
/// their own.
pub(crate) fn overview(compile: &Compile<'_>) -> Markup {
    let href = |at: usize| item_href(Links::Server, &compile.named, at);
    let of = |part| Links::Server.to(View::Part(&compile.named, part));
    let by_reason = |code: &str| Some(format!("{}?reason={}", of("items")?, encode(code)));
    html! {
        h1 { "Compile " span.mono { (name(&compile.named)) } }
        nav.toc aria-label="Of this compile" { (parts(&compile.named, "", true)) }
        (head(compile))
        (facts(compile))
        h2 { "Budget" } (budget(compile, &href))
        h2 { "Why" } (items::reasons(compile.trace, by_reason))
        h2 { "Quality" } (quality(compile.trace))
        @if let Some(plan) = compile.cache { h2 { "Cache" } (cache(plan)) }
        h2 { "Stages" } (stages(compile.trace))
        h2 { "Findings" } (findings(compile.trace, 100))
        h2 { "Compare" } (compare(&compile.named))
    }
}

/// The form that asks for the difference to another compile.
fn compare(record: &str) -> Markup {
    html! {
        form.filter method="get" action=[Links::Server.to(View::Part(record, "diff"))] {
            label { "Compile before" input name="before" required placeholder="the id of a record"; }
            button type="submit" { "Show the difference" }
        }
    }
}

/// The pages of a compile, or of a request; `compiled` says whether that has a compile that can be looked into.
pub(crate) fn parts(record: &str, current: &str, compiled: bool) -> Markup {
    let of_compile = [
        ("", "Overview"),
        ("items", "Candidates"),
        ("payload", "Payload"),
    ];
    let of_request = [
        ("", "Overview"),
        ("items", "Items"),
        ("payload", "Body"),
        ("candidates", "Candidates of its compile"),
    ];
    let is_request = record.starts_with(EXCHANGE_PREFIX);
    let pages: &[(&str, &str)] = if is_request { &of_request } else { &of_compile };
    let all = if compiled { pages } else { &pages[..3] };
    html! {
        ul {
            @for (part, name) in all.iter().copied() {
                @let href = match part { "" => Links::Server.to(View::Record(record)), part => Links::Server.to(View::Part(record, part)) };
                li { a href=[href] aria-current=[(part == current).then_some("page")] { (name) } }
            }
        }
    }
}

/// A page of the candidates of a compile.
pub(crate) fn candidates(compile: &Compile<'_>, filter: &Filter) -> Markup {
    let whole = if filter.whole.is_empty() {
        ""
    } else {
        "&whole=1"
    };
    let href = |at: usize| {
        let href = item_href(Links::Server, &compile.named, at);
        href.map(|href| format!("{href}{whole}"))
    };
    html! {
        h1 { "Candidates of " span.mono { (name(&compile.named)) } }
        @let part = if compile.named.starts_with(EXCHANGE_PREFIX) { "candidates" } else { "items" };
        nav.toc aria-label="Of this compile" { (parts(&compile.named, part, true)) }
        (items::paged(compile.trace, filter, &compile.beside(), &href))
    }
}

/// The payload of a compile.
pub(crate) fn payload_page(compile: &Compile<'_>, most: usize, token: &str) -> Markup {
    let digest = compile.envelope.and_then(|envelope| envelope.payload_digest);
    let action = Links::Server.to(View::Part(&compile.named, "attention"));
    html! {
        h1 { "Payload of " span.mono { (name(&compile.named)) } }
        nav.toc aria-label="Of this compile" { (parts(&compile.named, "payload", true)) }
        @if let Some(proof) = &compile.proof { p.hint { (clipped(proof, 1_000)) } }
        @if let Some(plan) = compile.cache.filter(|_| compile.attention.is_none()) { h2 { "Cache" } (cache(plan)) h2 { "Texts" } }
        @if digest.is_some() { (attention::form(action, digest, token)) }
        (payload_of(compile, Links::Server, most))
    }
}

/// Tells what the weights of a payload say, where there are some.
pub(crate) fn attended(
    compile: &Compile<'_>,
    envelope: &Envelope,
    href: &impl Fn(usize) -> Option<String>,
) -> Markup {
    let Some(weights) = compile.attention else {
        return html! {};
    };
    let owners = compile.verdicts_of_items();
    let sections: Vec<Section> =
        payload::items(envelope).iter().map(|(section, _)| *section).collect();
    let why = |item: usize| {
        important(
            compile,
            owners.get(item).copied().flatten()?,
            *sections.get(item)?,
        )
    };
    html! { h2 { "Attention" } (attention::summary(envelope, weights, why, href)) h2 { "Texts" } }
}

/// The reason why an item is important, where it is.
fn important(compile: &Compile<'_>, at: usize, section: Section) -> Option<String> {
    let verdict = compile.trace.verdicts.get(at)?;
    let mut why = Vec::new();
    if matches!(verdict.reason, Reason::Mandatory { .. }) {
        why.push("required".to_owned());
    }
    match compile.objects.get(&at) {
        Some(object) if object.revision().authority_level() <= Authority::Developer => {
            why.push(format!("authority {}", object.revision().authority_level()));
        }
        None if matches!(section, Section::Identity | Section::Policy) => {
            why.push(format!("in the section {section}"));
        }
        _ => {}
    }
    let grade = verdict.score.map(|score| score.grade);
    if let Some(grade @ (Grade::Critical | Grade::Important)) = grade {
        why.push(format!("{grade} for the task"));
    }
    (!why.is_empty()).then(|| why.join(", "))
}

/// The payload with links from its pieces to their verdicts.
pub(crate) fn payload_of(compile: &Compile<'_>, links: Links, most: usize) -> Markup {
    let owners = compile.verdicts_of_items();
    let href = |item: usize| {
        let at = owners.get(item).copied().flatten()?;
        item_href(links, &compile.named, at)
    };
    match compile.envelope {
        Some(envelope) => html! {
            (attended(compile, envelope, &href))
            (payload::shown(envelope, most, compile.attention, href))
        },
        None => html! { p.none { "There is no payload here: a trace alone keeps none." } },
    }
}

/// A candidate of a compile.
pub(crate) fn candidate(compile: &Compile<'_>, at: usize) -> Option<Markup> {
    let verdict = compile.trace.verdicts.get(at)?;
    Some(html! {
        h1 { (name(&verdict.name)) }
        p { "A candidate of " a href=[Links::Server.to(View::Record(&compile.named))] { "compile " span.mono { (name(&compile.named)) } } }
        (one(compile, at, verdict, Links::Server))
    })
}
