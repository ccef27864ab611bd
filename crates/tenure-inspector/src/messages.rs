//! A request item by item: what came, what was sent of it, in which form, and why.

use maud::{Markup, html};
use serde::Deserialize;
use tenure_workspace::records::RequestItems;
use tenure_workspace::sessions::{ItemForm, RequestItem};

use crate::items::options;
use crate::links::{Links, View, encode};
use crate::shell::table;
use crate::text::{SENTENCE, clipped, grouped, name};

/// The rows of a page.
const ROWS: usize = 100;
/// The most bytes of an item's text on its page.
const MOST_TEXT: usize = 200_000;

/// The items that are asked for. Every field may be missing or empty.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct MessageFilter {
    /// A form, as JSON has it.
    pub form: String,
    /// A part of a text, in any case.
    pub q: String,
    /// The page, from 1.
    pub page: String,
}

impl MessageFilter {
    fn of<'i>(&self, items: &'i RequestItems) -> Vec<&'i RequestItem> {
        let wanted = self.q.to_lowercase();
        items
            .items
            .iter()
            .filter(|item| {
                (self.form.is_empty() || item.form.term() == self.form)
                    && (wanted.is_empty()
                        || item.id.to_lowercase().contains(&wanted)
                        || item.text.to_lowercase().contains(&wanted))
            })
            .collect()
    }

    fn query(&self, page: usize) -> String {
        let page = (page + 1).to_string();
        let fields = [("form", &self.form), ("q", &self.q), ("page", &page)];
        let set: Vec<String> = fields
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(field, value)| format!("{field}={}", encode(value)))
            .collect();
        format!("?{}", set.join("&"))
    }
}

/// A form, in words.
fn in_words(form: ItemForm) -> &'static str {
    match form {
        ItemForm::Whole => "whole",
        ItemForm::Condensed => "condensed",
        ItemForm::Quoted => "the user's words, quoted",
        ItemForm::Replaced => "replaced by a newer one",
        ItemForm::Summarised => "summarised",
        ItemForm::LeftOut => "left out",
        ItemForm::Added => "added",
    }
}

/// The number of items of each form, with their tokens.
pub(crate) fn forms(items: &RequestItems, link: impl Fn(ItemForm) -> Option<String>) -> Markup {
    let head = html! { th scope="col" { "Form" } th.n scope="col" { "Items" } th.n scope="col" { "Tokens that came" } th.n scope="col" { "Tokens that were sent" } };
    let rows = html! {
        @for (form, tally) in &items.forms {
            tr {
                th scope="row" { @match link(*form) { Some(href) => { a href=(href) { (in_words(*form)) } } None => { (in_words(*form)) } } }
                td.n { (grouped(tally.items)) } td.n { (grouped(tally.came)) } td.n { (grouped(tally.sent)) }
            }
        }
    };
    html! {
        @if let Some(unknown) = items.unknown { p.hint { "More is not known item by item: " (unknown) "." } }
        @if !items.forms.is_empty() { (table("Items by form", head, rows)) }
    }
}

/// The rows of items. `href` leads to the whole of one.
fn rows(items: &[&RequestItem], href: &impl Fn(&RequestItem) -> Option<String>) -> Markup {
    let head = html! {
        th scope="col" { "Item" } th scope="col" { "Came as" } th scope="col" { "Speaker" } th.n scope="col" { "Came" } th.n scope="col" { "Sent" }
        th scope="col" { "Form" } th scope="col" { "Why, and how it begins" }
    };
    let rows = html! {
        @for item in items {
            tr id=(format!("m-{}", encode(&item.id))) {
                th.name scope="row" { @match href(item) { Some(href) => { a href=(href) { (name(&item.id)) } } None => { (name(&item.id)) } } }
                td.mono { (item.came_at.as_deref().unwrap_or("–")) }
                td { (item.speaker) }
                td.n { (grouped(item.came)) } td.n { (grouped(item.sent)) }
                td { span class=(match item.form { ItemForm::Whole | ItemForm::Added => "in", _ => "out" }) { (in_words(item.form)) } }
                td.why {
                    (clipped(&item.says, SENTENCE)) " " span.hint { "(" (name(&item.why)) @if item.form != ItemForm::Whole { @if let Some(pointer) = &item.pointer { "; its original is " code { (name(pointer)) } } } ")" }
                    @if !item.begins.is_empty() { br; span.hint { (clipped(&item.begins, 160)) } }
                }
            }
        }
    };
    table("Items", head, rows)
}

/// The items of a request in a file: at most `most` of them, those that did not stay whole first where there are more.
pub(crate) fn all(items: &RequestItems, most: usize) -> Markup {
    let mut shown: Vec<(usize, &RequestItem)> = items.items.iter().enumerate().collect();
    if shown.len() > most {
        shown.sort_by_key(|(at, item)| (item.form == ItemForm::Whole && item.id != "system", *at));
        shown.truncate(most);
        shown.sort_by_key(|(at, _)| *at);
    }
    let shown: Vec<&RequestItem> = shown.into_iter().map(|(_, item)| item).collect();
    html! {
        (forms(items, |_| None))
        @if !shown.is_empty() { (rows(&shown, &|_| None)) }
        (crate::text::left_out(items.items.len(), shown.len()))
    }
}

/// The place of an item of a request on a server.
fn href(record: &str, item: &RequestItem) -> Option<String> {
    let part = Links::Server.to(View::Part(record, "message"))?;
    (!item.text.is_empty()).then(|| format!("{part}?id={}", encode(&item.id)))
}

/// A page of the items of a request, with the form that filters them.
pub(crate) fn paged(record: &str, items: &RequestItems, filter: &MessageFilter) -> Markup {
    let found = filter.of(items);
    let pages = found.len().div_ceil(ROWS).max(1);
    let page = filter.page.parse::<usize>().unwrap_or(1).max(1).min(pages) - 1;
    let from = page * ROWS;
    let shown = &found[from..found.len().min(from + ROWS)];
    let terms = ItemForm::ALL.iter().map(|form| (form.term(), in_words(*form)));
    let by_form = |form: ItemForm| {
        let filter = MessageFilter {
            form: form.term().into(),
            ..filter.clone()
        };
        Some(filter.query(0))
    };
    html! {
        (forms(items, by_form))
        form.filter method="get" role="search" {
            label { "Text" input type="search" name="q" value=(filter.q); }
            label { "Form" select name="form" { (options(std::iter::once(("", "any")).chain(terms), &filter.form)) } }
            button type="submit" { "Show" }
        }
        p.lead role="status" {
            @if found.is_empty() { "No item is so." } @else {
                (grouped(from as u64 + 1)) " to " (grouped((from + shown.len()) as u64)) " of " (grouped(found.len() as u64))
                @if found.len() < items.items.len() { " (of " (grouped(items.items.len() as u64)) " in all)" }
            }
        }
        @if !shown.is_empty() { (rows(shown, &|item| href(record, item))) }
        @if pages > 1 {
            nav.pages aria-label="Pages" {
                @if page > 0 { a href=(filter.query(page - 1)) rel="prev" { "Before" } }
                span { "Page " (grouped(page as u64 + 1)) " of " (grouped(pages as u64)) }
                @if page + 1 < pages { a href=(filter.query(page + 1)) rel="next" { "After" } }
            }
        }
    }
}

/// One item, with the whole of its text.
pub(crate) fn one(record: &str, item: &RequestItem) -> Markup {
    html! {
        h1 { "Item " span.mono { (name(&item.id)) } }
        p { "Of " a href=[Links::Server.to(View::Record(record))] { "request " span.mono { (name(record)) } } }
        dl.facts {
            dt { "Speaker" } dd { (item.speaker) }
            @if let Some(place) = &item.came_at { dt { "Came as" } dd.mono { (place) } }
            dt { "Tokens" } dd { (grouped(item.came)) " came, " (grouped(item.sent)) " were sent" }
            dt { "Form" } dd { (in_words(item.form)) }
            dt { "Why" } dd { (clipped(&item.says, 1_000)) " (" (name(&item.why)) ")" }
            @if let Some(pointer) = &item.pointer { dt { "Original" } dd.mono { (name(pointer)) } }
        }
        h2 { @if item.came_at.is_some() { "As it came" } @else { "As it was sent" } }
        (crate::payload::body(&item.text, MOST_TEXT))
    }
}
