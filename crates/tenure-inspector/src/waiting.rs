//! Decisions that wait for a person: claims that cannot both hold, and entities under review.

use maud::{Markup, html};
use tenure::belief::entity::SeenEntity;
use tenure_store::{Conflict, Party};

use crate::links::{Links, View};
use crate::shell::Frame;
use crate::text::{clipped, name, second};

/// The most of each that a page shows.
const MOST: usize = 200;

/// The page of what waits. `done` says what was decided just now.
pub(crate) fn page(
    conflicts: &[Conflict],
    entities: &[SeenEntity],
    done: Option<&str>,
    frame: &Frame,
) -> Markup {
    let pending: Vec<&SeenEntity> = entities.iter().filter(|entity| entity.pending).collect();
    html! {
        h1 { "Decisions" }
        @if let Some(done) = done { p.notice role="status" { (clipped(done, 400)) } }
        @if !frame.writes { p.hint { "Your key only reads, or is no operator's: decisions are shown, and made by others." } }
        h2 { "Claims that cannot both hold" }
        @if conflicts.is_empty() { p.none { "There are none." } }
        @for conflict in conflicts.iter().take(MOST) { (one(conflict, frame)) }
        (crate::compile::left_out(conflicts.len(), MOST))
        h2 { "Entities under review" }
        @if pending.is_empty() { p.none { "There are none." } }
        @for entity in pending.iter().take(MOST) { (review(entity, frame)) }
        (crate::compile::left_out(pending.len(), MOST))
    }
}

fn party(party: &Party) -> Markup {
    let id = party.object_id.to_string();
    html! { a href=[Links::Server.to(View::Object(&id))] { (name(&party.name)) } ": " code { (clipped(&party.claims.join("; "), 400)) } }
}

fn one(conflict: &Conflict, frame: &Frame) -> Markup {
    let (first, second_id) = (
        conflict.first.object_id.to_string(),
        conflict.second.object_id.to_string(),
    );
    let waits = conflict.by.is_none() && !conflict.actions.is_empty();
    html! {
        section.part aria-label=(format!("{} of {}", crate::text::plain(&conflict.slot, 80), crate::text::plain(&conflict.entity, 80))) {
            h3 { code { (name(&conflict.slot)) } " of " (name(&conflict.entity)) @if waits { " " span.out { "waits" } } }
            dl.facts {
                dt { "First" } dd { (party(&conflict.first)) }
                dt { "Second" } dd { (party(&conflict.second)) }
                dt { "Judged" } dd { (conflict.status) " since " (second(conflict.tx_start)) ", by " (conflict.ground) @if let Some(by) = &conflict.by { ", " (name(by)) } }
                @if let Some(note) = &conflict.note { dt { "Note" } dd { (clipped(note, 600)) } }
            }
            @if frame.writes {
                details {
                    summary { "Decide" }
                    form.filter method="post" action="/inspect/waiting/conflict" {
                        input type="hidden" name="token" value=(frame.token);
                        input type="hidden" name="first" value=(first);
                        input type="hidden" name="second" value=(second_id);
                        input type="hidden" name="since" value=(conflict.tx_start);
                        label { "Stands" select name="stands" {
                            option value="first" { "the first" } option value="second" { "the second" } option value="both" { "both" } option value="neither" { "neither" }
                        } }
                        label { "Note" input name="note" maxlength="4000"; }
                        label.row { input type="checkbox" name="sure" value="yes" required; "I am sure: every compile follows this from now on" }
                        button.act type="submit" { "Decide" }
                    }
                }
            }
        }
    }
}

fn review(entity: &SeenEntity, frame: &Frame) -> Markup {
    html! {
        section.part aria-label=(crate::text::plain(&entity.id, 80)) {
            h3 { (name(&entity.profile.name)) " " span.hint.mono { (name(&entity.id)) } }
            @if !entity.candidates.is_empty() { p { "It may be " @for (number, candidate) in entity.candidates.iter().enumerate() { @if number > 0 { ", " } span.mono { (name(candidate)) } } "." } }
            @if frame.writes {
                details {
                    summary { "Decide" }
                    form.filter method="post" action="/inspect/waiting/entity" {
                        input type="hidden" name="token" value=(frame.token);
                        input type="hidden" name="id" value=(entity.id);
                        label { "It is" select name="into" {
                            option value="" { "one of its own" }
                            @for candidate in &entity.candidates { option value=(candidate) { (crate::text::plain(candidate, 80)) } }
                        } }
                        label.row { input type="checkbox" name="sure" value="yes" required; "I am sure" }
                        button.act type="submit" { "Decide" }
                    }
                }
            }
        }
    }
}
