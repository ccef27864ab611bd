//! Decisions that wait for a person: claims that cannot both hold, entities under review, outcomes that were proposed,
//! objects that await confirmation.
//!
//! A decision takes two steps. The first form says what is to be decided; the page that answers it says what that comes
//! to, and its form decides.

use maud::{Markup, html};
use tenure::belief::GateRefusal;
use tenure::belief::entity::SeenEntity;
use tenure::object::RetirementRule;
use tenure_store::{Awaiting, Conflict, OutcomeLine, PairMark, Party};

use crate::links::{Links, View};
use crate::shell::Frame;
use crate::text::{clipped, name, plain, second};

/// The most of each that a page shows.
const MOST: usize = 200;
/// The most texts of one object that a page shows.
const TEXTS: usize = 4;
/// The longest note, in bytes.
const NOTE: usize = 4_000;

/// Parts that wait, as far as the reader may see them.
#[derive(Debug, Default)]
pub struct Waiting {
    /// The claims that cannot both hold: a page of them.
    pub conflicts: Vec<Conflict>,
    /// The mark that they come after, where it is not the first page.
    pub after: Option<PairMark>,
    /// The mark behind which there are more of them.
    pub next: Option<PairMark>,
    /// The entities.
    pub entities: Vec<SeenEntity>,
    /// The outcomes that are proposed.
    pub outcomes: Vec<OutcomeLine>,
    /// The objects that await confirmation, without the outcomes.
    pub awaiting: Vec<Awaiting>,
}

impl Waiting {
    /// The number of conflicts on a page.
    pub const CONFLICTS: usize = MOST;
}

/// A decision that is to be confirmed.
#[derive(Clone, Debug)]
pub struct Asking<'a> {
    /// The decision, in words.
    pub what: String,
    /// Outcome of the rule.
    pub then: &'static str,
    /// The path of its form.
    pub action: &'static str,
    /// The fields of its form.
    pub fields: Vec<(&'static str, &'a str)>,
}

/// The page of what waits. `done` says what was decided just now.
pub(crate) fn page(waiting: &Waiting, done: Option<&str>, frame: &Frame) -> Markup {
    let Waiting {
        conflicts,
        after,
        next,
        entities,
        outcomes,
        awaiting,
    } = waiting;
    let pending: Vec<&SeenEntity> = entities.iter().filter(|entity| entity.pending).collect();
    let counts = [
        (
            "conflicts",
            "Claims that cannot both hold",
            conflicts.len(),
            next.is_some(),
        ),
        ("entities", "Entities under review", pending.len(), false),
        (
            "outcomes",
            "Outcomes that were proposed",
            outcomes.len(),
            false,
        ),
        (
            "awaiting",
            "What awaits confirmation",
            awaiting.len(),
            false,
        ),
    ];
    html! {
        h1 { "Decisions" }
        @if let Some(done) = done { p.notice role="status" { (clipped(done, 400)) } }
        @if frame.reads_only() { p.hint { "Your key only reads, or is no operator's: decisions are shown, and made by others." } }
        nav.toc aria-label="Kinds of decisions" { ul { @for (id, title, count, more) in counts { li { a href=(format!("#{id}")) { (title) } " " span.count { (count) @if more { " and more" } } } } } }
        h2 #conflicts { "Claims that cannot both hold" }
        @if after.is_some() && conflicts.is_empty() {
            p.none { "No more come after those. " a href="/inspect/waiting#conflicts" { "The first ones" } }
        } @else {
            (each(conflicts, |conflict| one(conflict, frame)))
        }
        @if let Some(next) = next { p { a href=(format!("/inspect/waiting?after={next}#conflicts")) { "The next ones" } } }
        h2 #entities { "Entities under review" }
        (each(&pending, |entity| review(entity, frame)))
        h2 #outcomes { "Outcomes that were proposed" }
        @if !outcomes.is_empty() && !frame.reviews {
            p.hint { "A person decides on them: a key of a user with the role " code { "reviewer" } ", or " code { "tenure review accept" } "." }
        }
        (each(outcomes, |outcome| proposed(outcome, frame)))
        h2 #awaiting { "What awaits confirmation" }
        @if !awaiting.is_empty() && !frame.reviews {
            p.hint { "A person decides on it: a key of a user with the role " code { "reviewer" } ", or " code { "tenure review accept" } "." }
        }
        (each(awaiting, |object| confirmation(object, frame)))
    }
}

fn each<T>(all: &[T], one: impl Fn(&T) -> Markup) -> Markup {
    html! {
        @if all.is_empty() { p.none { "There are none." } }
        @for found in all.iter().take(MOST) { (one(found)) }
        (crate::text::left_out(all.len(), MOST))
    }
}

/// The first step of a decision: a form that unfolds.
fn form(action: &'static str, hidden: &[(&str, &str)], frame: &Frame, asked: Markup) -> Markup {
    html! {
        details {
            summary { "Decide" }
            form.filter method="post" action=(action) {
                input type="hidden" name="token" value=(frame.token);
                @for (field, value) in hidden { input type="hidden" name=(field) value=(value); }
                (asked)
                button.act type="submit" { "Go on" }
            }
        }
    }
}

/// The second step: what the decision comes to, and the form that makes it.
pub(crate) fn sure(asking: &Asking<'_>, frame: &Frame) -> Markup {
    html! {
        h1 { "Are you sure?" }
        p { (clipped(&asking.what, 1_000)) }
        p.lead { (asking.then) }
        form.filter method="post" action=(asking.action) {
            input type="hidden" name="token" value=(frame.token);
            @for (field, value) in &asking.fields { input type="hidden" name=(field) value=(value); }
            input type="hidden" name="sure" value="yes";
            button.act type="submit" { "Yes, decide" }
        }
        p { a href=[Links::Server.to(View::Waiting)] { "No, back to the decisions" } }
    }
}

/// The answer to who decides what somebody decided meanwhile.
pub(crate) fn meanwhile() -> Markup {
    html! {
        h1 { "It is decided already" }
        p.notice role="alert" { "Somebody decided meanwhile, or what the page showed has changed. Nothing was done now." }
        p { a href=[Links::Server.to(View::Waiting)] { "To the decisions that wait" } }
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
    let since = conflict.tx_start.to_string();
    let waits = conflict.by.is_none() && !conflict.actions.is_empty();
    html! {
        section.part aria-label=(format!("{} of {}", plain(&conflict.slot, 80), plain(&conflict.entity, 80))) {
            h3 { code { (name(&conflict.slot)) } " of " (name(&conflict.entity)) @if waits { " " span.out { "waits" } } }
            dl.facts {
                dt { "First" } dd { (party(&conflict.first)) }
                dt { "Second" } dd { (party(&conflict.second)) }
                dt { "Judged" } dd { (conflict.status) " since " (second(conflict.tx_start)) ", by " (conflict.ground) @if let Some(by) = &conflict.by { ", " (name(by)) } }
                @if let Some(note) = &conflict.note { dt { "Note" } dd { (clipped(note, 600)) } }
            }
            @if frame.resolves {
                (form("/inspect/waiting/conflict", &[("first", &first), ("second", &second_id), ("since", &since)], frame, html! {
                    label { "Stands" select name="stands" {
                        option value="first" { "the first" } option value="second" { "the second" } option value="both" { "both" } option value="neither" { "neither" }
                    } }
                    label { "Note" input name="note" maxlength=(NOTE); }
                }))
            }
        }
    }
}

fn review(entity: &SeenEntity, frame: &Frame) -> Markup {
    html! {
        section.part aria-label=(plain(&entity.id, 80)) {
            h3 { (name(&entity.profile.name)) " " span.hint.mono { (name(&entity.id)) } }
            @if !entity.candidates.is_empty() { p { "It may be " @for (number, candidate) in entity.candidates.iter().enumerate() { @if number > 0 { ", " } span.mono { (name(candidate)) } } "." } }
            @if frame.writes {
                (form("/inspect/waiting/entity", &[("id", &entity.id)], frame, html! {
                    label { "It is" select name="into" {
                        option value="" { "one of its own" }
                        @for candidate in &entity.candidates { option value=(candidate) { (plain(candidate, 80)) } }
                    } }
                }))
            }
        }
    }
}

fn proposed(outcome: &OutcomeLine, frame: &Frame) -> Markup {
    let id = outcome.object_id.to_string();
    let since = outcome.proposed_at.to_string();
    html! {
        section.part aria-label=(plain(&outcome.name, 80)) {
            h3 { a href=[Links::Server.to(View::Object(&id))] { (name(&outcome.name)) } " " span.tag { (outcome.kind) } }
            p { (clipped(&outcome.content, 1_000)) }
            dl.facts {
                dt { "Proposed" } dd { (second(outcome.proposed_at)) @if let Some(by) = &outcome.proposed_by { ", by " (name(by)) } }
                @if let Some(record) = &outcome.record { dt { "Of" } dd { a.mono href=[Links::Server.to(View::Record(record))] { (name(record)) } } }
            }
            @if frame.reviews {
                (form("/inspect/waiting/outcome", &[("id", &id), ("since", &since)], frame, html! {
                    label { "Decision" select name="decision" { option value="accept" { "accept it" } option value="reject" { "reject it" } } }
                }))
            }
        }
    }
}

fn confirmation(object: &Awaiting, frame: &Frame) -> Markup {
    let id = object.object_id.to_string();
    let since = object.since.to_string();
    html! {
        section.part aria-label=(plain(&object.name, 80)) {
            h3 { a href=[Links::Server.to(View::Object(&id))] { (name(&object.name)) } " " span.chip { (object.object_type) } }
            @for text in object.texts.iter().take(TEXTS) { p { (clipped(text, 1_000)) } }
            @if object.texts.len() > TEXTS { p { "And " (object.texts.len() - TEXTS) " texts more." } }
            p {
                @match object.why {
                    Some(GateRefusal::UnverifiedParent) => { "It was made from something that waits itself, or is not believed," }
                    Some(GateRefusal::StatedOtherwise) => { "It was inferred, and somebody stated otherwise," }
                    Some(GateRefusal::TooLittleEvidence) => { "It was inferred, and too little speaks for it," }
                    Some(GateRefusal::Flagged) => { "It was inferred, and something in it, or in what it was made from, is not what it seems," }
                    Some(other) => { "It is not believed by itself, " code { (other) } "," }
                    None if object.inferred => { "It was inferred," }
                    None => { "It is too old by its own rule, " code { (object.rule) } "," }
                }
                " and waits since " (second(object.since)) "."
                @if !object.over.is_empty() {
                    " Confirmed, it takes the place of "
                    @for (at, (id, stated)) in object.over.iter().enumerate() {
                        @if at > 0 { ", " }
                        a href=[Links::Server.to(View::Object(&id.to_string()))] { (name(stated)) }
                    }
                    "."
                }
                @if object.rule == RetirementRule::HardDelete { " The rule proposes that it is erased, which " code { "tenure review accept" } " does." }
            }
            @if frame.reviews {
                (form("/inspect/waiting/confirmation", &[("id", &id), ("since", &since)], frame, html! {
                    label { "Decision" select name="decision" { option value="confirm" { "it still holds" } option value="retract" { "it holds no more" } } }
                }))
            }
        }
    }
}
