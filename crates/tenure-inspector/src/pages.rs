//! The pages of a server.

use maud::html;
use tenure::Catalogue;
use tenure::cache::Explanation;
use tenure::inspect::Diff;
use tenure::registry::{RegistryView, Summary};
use tenure_workspace::Belief;
use tenure_workspace::records::{ExchangeRecord, Line, RequestItems};

use crate::compile::{self, Compile};
use crate::difference::{self, Bodies};
use crate::exchange;
use crate::items::Filter;
use crate::links::{Links, View};
use crate::messages::{self, MessageFilter};
use crate::object::{self, AsOf, Then};
use crate::overview::{self, ListFilter, Totals};
use crate::payload;
use crate::registry;
use crate::session::{self, SessionView};
use crate::shell::{Frame, served};
use crate::text::{clipped, name, plain};
use crate::trends;
use crate::waiting::{self, Asking, Waiting};

/// The most bytes of a payload on a page.
const MOST_PAYLOAD: usize = 200_000;

/// The list of requests and compiles, with the sums over all that the filter takes.
pub fn overview(
    (lines, totals): (&[Line], Option<&Totals>),
    filter: &ListFilter,
    next: Option<&str>,
    catalogue: &Catalogue,
    frame: &Frame,
) -> String {
    served(
        "Requests",
        frame,
        Some(View::Overview),
        overview::list((lines, totals), filter, next, catalogue),
    )
}

/// A compile.
pub fn compile(of: &Compile<'_>, frame: &Frame) -> String {
    served(
        &format!("Compile {}", of.named),
        frame,
        None,
        compile::overview(of),
    )
}

/// A page of the candidates of a compile.
pub fn candidates(of: &Compile<'_>, filter: &Filter, frame: &Frame) -> String {
    served(
        &format!("Candidates of {}", of.named),
        frame,
        None,
        compile::candidates(of, filter),
    )
}

/// The payload of a compile.
pub fn payload(of: &Compile<'_>, frame: &Frame) -> String {
    served(
        &format!("Payload of {}", of.named),
        frame,
        None,
        compile::payload_page(of, MOST_PAYLOAD, &frame.token),
    )
}

/// One candidate of a compile, by the place of its verdict; none where there is no such place.
pub fn candidate(of: &Compile<'_>, at: usize, frame: &Frame) -> Option<String> {
    let title = plain(&of.trace.verdicts.get(at)?.name, 80);
    Some(served(&title, frame, None, compile::candidate(of, at)?))
}

/// A request of the gateway, item by item. `compiled` says whether its compile can be looked into.
pub fn exchange(
    (record, items): (&ExchangeRecord, &RequestItems),
    before: Option<&ExchangeRecord>,
    number: Option<usize>,
    compiled: bool,
    catalogue: &Catalogue,
    frame: &Frame,
) -> String {
    let id = &record.record_id;
    served(
        &format!("Request {id}"),
        frame,
        None,
        html! {
            h1 { "Request " span.mono { (name(id)) } }
            nav.toc aria-label="Of this request" { (compile::parts(id, "", compiled)) }
            (exchange::one((record, items), before, number, catalogue, Links::Server))
            @if let Some(before) = before {
                h2 { "Compare" }
                p { a href=(format!("{}?before={}", Links::Server.to(View::Part(id, "diff")).unwrap_or_default(), crate::links::encode(&before.record_id))) { "The difference to the request before" } }
            }
        },
    )
}

/// A page of the items of a request.
pub fn messages(
    record: &str,
    items: &RequestItems,
    filter: &MessageFilter,
    compiled: bool,
    frame: &Frame,
) -> String {
    served(
        &format!("Items of {record}"),
        frame,
        None,
        html! {
            h1 { "Items of " span.mono { (name(record)) } }
            nav.toc aria-label="Of this request" { (compile::parts(record, "items", compiled)) }
            (messages::paged(record, items, filter))
        },
    )
}

/// One item of a request, with the whole of its text; none where there is no such item.
pub fn message(record: &str, items: &RequestItems, id: &str, frame: &Frame) -> Option<String> {
    let item = items.items.iter().find(|item| item.id == id)?;
    Some(served(
        &format!("Item {} of {record}", plain(id, 80)),
        frame,
        None,
        messages::one(record, item),
    ))
}

/// The body of a request as it was sent; `proof` says what putting it together again proved.
pub fn body(
    record: &str,
    body: Option<&[u8]>,
    proof: &str,
    compiled: bool,
    frame: &Frame,
) -> String {
    served(
        &format!("Body of {record}"),
        frame,
        None,
        html! {
            h1 { "Body of " span.mono { (name(record)) } }
            nav.toc aria-label="Of this request" { (compile::parts(record, "payload", compiled)) }
            p.hint { (clipped(proof, 1_000)) }
            @if let Some(body) = body { (payload::of_body(body, MOST_PAYLOAD)) }
        },
    )
}

/// The difference of two compiles.
pub fn difference(
    before: &str,
    after: &str,
    diff: &Diff,
    bodies: Option<Bodies<'_>>,
    cache: Result<&Explanation, &str>,
    frame: &Frame,
) -> String {
    served(
        "Difference",
        frame,
        None,
        difference::page(before, after, diff, bodies, cache),
    )
}

/// A session.
pub fn session(of: &SessionView, catalogue: &Catalogue, frame: &Frame) -> String {
    served(
        &format!("Conversation {}", plain(&of.id, 80)),
        frame,
        None,
        session::page(of, catalogue),
    )
}

/// An object on both axes of time.
pub fn object(
    id: &str,
    beliefs: &[Belief],
    more: bool,
    asked: &AsOf,
    then: &Then,
    frame: &Frame,
) -> String {
    let title = beliefs.last().map_or(id, |belief| belief.object.name.as_str());
    let title = plain(title, 80);
    let body = object::page(id, beliefs, more, asked, then);
    served(&title, frame, Some(View::Object(id)), body)
}

/// The registries.
pub fn registries(all: &[Summary], frame: &Frame) -> String {
    served(
        "Registries",
        frame,
        Some(View::Registries),
        registry::list(all),
    )
}

/// A registry.
pub fn registry(view: &RegistryView, frame: &Frame) -> String {
    let label = view.summary().label;
    served(
        &format!("Registry {}", plain(&label, 80)),
        frame,
        None,
        registry::one(view),
    )
}

/// The decisions that wait.
pub fn waiting(of: &Waiting, done: Option<&str>, frame: &Frame) -> String {
    served(
        "Decisions",
        frame,
        Some(View::Waiting),
        waiting::page(of, done, frame),
    )
}

/// The second step of a decision.
pub fn sure(asking: &Asking<'_>, frame: &Frame) -> String {
    served("Are you sure?", frame, None, waiting::sure(asking, frame))
}

/// The answer to who decides what was decided meanwhile.
pub fn meanwhile(frame: &Frame) -> String {
    served("Decided already", frame, None, waiting::meanwhile())
}

/// The figures over time.
pub fn trends(
    tenant: &str,
    lines: &[Line],
    more: bool,
    catalogue: &Catalogue,
    frame: &Frame,
) -> String {
    served(
        "Over time",
        frame,
        Some(View::Trends),
        trends::page(tenant, lines, more, catalogue),
    )
}

/// Something that cannot be shown, in words.
pub fn fault(title: &str, what: &str, frame: &Frame) -> String {
    served(
        title,
        frame,
        None,
        html! { h1 { (plain(title, 200)) } p.notice { (clipped(what, 2_000)) } },
    )
}
