//! Registries: their blocks in order, with protection and authors.

use maud::{Markup, html};
use tenure::registry::{RegistryView, Summary};

use crate::links::{Links, View};
use crate::shell::table;
use crate::text::{grouped, name};

/// The most blocks of a registry that a page shows.
const MOST: usize = 500;

/// The list of registries.
pub(crate) fn list(all: &[Summary]) -> Markup {
    let head = html! { th scope="col" { "Registry" } th scope="col" { "Kind" } th.n scope="col" { "Blocks" } th.n scope="col" { "Bytes" } th.n scope="col" { "Operations" } };
    let rows = html! {
        @for summary in all {
            tr {
                th scope="row" { a href=[Links::Server.to(View::Registry(&summary.label))] { (name(&summary.label)) } }
                td { (format!("{:?}", summary.kind).to_lowercase()) } td.n { (grouped(summary.blocks as u64)) } td.n { (grouped(summary.bytes)) } td.n { (grouped(summary.operations)) }
            }
        }
    };
    html! {
        h1 { "Registries" }
        @if all.is_empty() { p.none { "There is no registry." } } @else { (table("Registries", head, rows)) }
    }
}

/// A registry with its blocks.
pub(crate) fn one(view: &RegistryView) -> Markup {
    let summary = view.summary();
    let head = html! {
        th.n scope="col" { "#" } th scope="col" { "Block" } th scope="col" { "Type" } th scope="col" { "Authority" } th scope="col" { "Protection" } th scope="col" { "Removable" } th scope="col" { "Author" }
        th scope="col" { "Written by" } th.n scope="col" { "Bytes" }
    };
    let rows = html! {
        @for (at, block) in view.blocks().take(MOST).enumerate() {
            @let object = block.object();
            @let revision = object.revision();
            @let id = revision.object_id().to_string();
            tr {
                td.n { (at + 1) }
                th.name scope="row" { @if object.status().transaction.from.is_some() { a href=[Links::Server.to(View::Object(&id))] { (name(block.name())) } } @else { (name(block.name())) } }
                td { (revision.object_type()) } td { (revision.authority_level()) }
                td { (object.protection()) } td { @if object.is_removable() { "yes" } @else { "no" } }
                td { (revision.author()) } td { (name(block.writer())) } td.n { (grouped(revision.content().len() as u64)) }
            }
        }
    };
    html! {
        h1 { "Registry " span.mono { (name(&summary.label)) } }
        ul.figures {
            li { b { (grouped(summary.blocks as u64)) } span { "blocks, in this order" } }
            li { b { (grouped(summary.bytes)) } span { "bytes" @if let Some(limit) = summary.limit { " of " (grouped(limit)) } } }
            li { b { (grouped(summary.removable as u64)) } span { "may be removed by everyone" } }
            li { b { (grouped(summary.operations)) } span { "operations made it" } }
        }
        @if summary.blocks == 0 { p.none { "It has no block." } } @else { (table("Blocks", head, rows)) }
        (crate::text::left_out(summary.blocks, MOST))
    }
}
