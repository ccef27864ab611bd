//! Pages of records: the list, one compile, one request, a difference, a conversation.

use axum::extract::{Form, Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use tenure::cache::{Sent, explain};
use tenure::inspect::diff;
use tenure::object::clip;
use tenure::time::Instant;
use tenure::{Envelope, Error, Trace};
use tenure_inspector::{
    Attention, Bodies, Compile, Depth, Filter, Gathered, ListFilter, MessageFilter, SessionView,
    before, compile_of, pages,
};
use tenure_workspace::records::{
    ExchangeRecord, ExchangeReplay, Line, Listed, Records, RequestItems, Talk,
};
use tenure_workspace::sessions::Session;

use super::access::{Fault, Visit, nothing};
use super::html;
use crate::api::tenant;
use crate::error::Refusal;

/// The records of a page of the list.
const LINES: usize = 50;

/// Makes a page on a thread for what blocks.
async fn made(
    job: impl FnOnce() -> Result<String, Refusal> + Send + 'static,
) -> Result<Response, Fault> {
    Ok(html(StatusCode::OK, crate::blocking(job).await?))
}

pub(super) async fn overview(
    visit: Visit,
    Query(filter): Query<ListFilter>,
) -> Result<Response, Fault> {
    made(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let records = visit.app.workspace.records(&tenant);
        let after = place(&filter.after)?;
        let (lines, next) = visit
            .caller
            .seen_records(&records, after, LINES, |line| filter.takes(line))?;
        let catalogue = visit.app.workspace.catalogue();
        Ok(pages::overview(
            &lines,
            &filter,
            next.as_deref(),
            catalogue,
            &visit.frame,
        ))
    })
    .await
}

/// A place in the list.
fn place(mark: &str) -> Result<Option<(String, Instant)>, Error> {
    if mark.is_empty() {
        return Ok(None);
    }
    let parts = mark.split_once('/');
    let place = parts.and_then(|(at, id)| Some((id.to_owned(), at.parse().ok()?)));
    place
        .map(Some)
        .ok_or_else(|| Error::input(format!("`{}` is no place in the list", clip(mark))))
}

/// A record that the reader may see. What is hidden is not there.
fn seen(visit: &Visit, records: &Records<'_>, id: &str) -> Result<Listed, Refusal> {
    let found = records.listed(id)?;
    found
        .filter(|found| visit.caller.sees_record(found))
        .ok_or_else(nothing)
}

pub(super) async fn record(visit: Visit, Path(id): Path<String>) -> Result<Response, Fault> {
    made(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let records = visit.app.workspace.records(&tenant);
        let catalogue = visit.app.workspace.catalogue();
        match seen(&visit, &records, &id)? {
            Listed::Exchange(record) => {
                let (number, before) = before(&records, &record)?;
                let before = before.filter(|before| visit.caller.sees_exchange(before));
                let compiled = has_compile(&visit, &record);
                let record = visit.caller.exchange_as_seen(*record);
                let items = items_of(&visit, &records, &record)?;
                Ok(pages::exchange(
                    (&record, &items),
                    before.as_ref(),
                    number,
                    compiled,
                    catalogue,
                    &visit.frame,
                ))
            }
            Listed::Compile(_) => {
                let gathered = Gathered::of(
                    &visit.app.workspace,
                    &records,
                    &id,
                    visit.view(),
                    Depth::Account,
                )?;
                Ok(pages::compile(&gathered.compile(), &visit.frame))
            }
            Listed::Unreadable(why) => Err(Error::damaged(why).into()),
        }
    })
    .await
}

/// A compile of which a page is made, whichever record it is of.
enum Of {
    Compile(Box<Gathered>),
    Exchange(Box<ExchangeReplay>),
}

impl Of {
    fn find(visit: &Visit, records: &Records<'_>, id: &str, depth: Depth) -> Result<Of, Refusal> {
        match seen(visit, records, id)? {
            // Its trace is an operator's: whom the request was for is not known apart from its conversation.
            Listed::Exchange(_) if !visit.caller.grant.operator => Err(nothing()),
            Listed::Exchange(_) => Ok(Of::Exchange(Box::new(records.replay_exchange(id)?))),
            Listed::Compile(_) => {
                let gathered =
                    Gathered::of(&visit.app.workspace, records, id, visit.view(), depth)?;
                Ok(Of::Compile(Box::new(gathered)))
            }
            Listed::Unreadable(why) => Err(Error::damaged(why).into()),
        }
    }

    fn page<T>(&self, of: impl FnOnce(&tenure_inspector::Compile<'_>) -> T) -> Result<T, Refusal> {
        match self {
            Of::Compile(gathered) => Ok(of(&gathered.compile())),
            Of::Exchange(replay) => {
                let compile = compile_of(replay).ok_or_else(|| {
                    Error::input(format!(
                        "the request cannot be looked into: {}",
                        replay.sentence()
                    ))
                })?;
                Ok(of(&compile))
            }
        }
    }

    fn trace(&self) -> Option<&Trace> {
        match self {
            Of::Compile(gathered) => Some(gathered.trace()),
            Of::Exchange(replay) => replay.trace.as_ref(),
        }
    }

    fn envelope(&self) -> Option<&Envelope> {
        match self {
            Of::Compile(gathered) => gathered.envelope(),
            Of::Exchange(replay) => replay.envelope.as_ref(),
        }
    }
}

/// Returns whether a request has a compile that the reader may look into.
fn has_compile(visit: &Visit, record: &ExchangeRecord) -> bool {
    record.compile.is_some() && !record.is_as_it_came() && visit.caller.grant.operator
}

/// The items of a request: they hold its messages, which the owner of its session and an operator may read.
fn items_of(
    visit: &Visit,
    records: &Records<'_>,
    record: &ExchangeRecord,
) -> Result<RequestItems, Refusal> {
    let tenant = tenant(&visit.app, &visit.caller)?;
    let readable = match record.session.as_deref() {
        Some(session) if !visit.caller.grant.operator => {
            let opened = Session::opening(&tenant, session);
            opened
                .is_ok_and(|opened| opened.is_some_and(|opened| visit.caller.sees_session(&opened)))
        }
        _ => true,
    };
    let without = ExchangeRecord {
        session: None,
        ..record.clone()
    };
    Ok(records.items(if readable { record } else { &without })?)
}

/// A request that the reader may see, as they see it, with its items.
fn request(
    visit: &Visit,
    records: &Records<'_>,
    id: &str,
) -> Result<Option<(ExchangeRecord, RequestItems)>, Refusal> {
    let Listed::Exchange(record) = seen(visit, records, id)? else {
        return Ok(None);
    };
    let record = visit.caller.exchange_as_seen(*record);
    let items = items_of(visit, records, &record)?;
    Ok(Some((record, items)))
}

pub(super) async fn message(
    visit: Visit,
    Path(id): Path<String>,
    Query(asked): Query<Named>,
) -> Result<Response, Fault> {
    made(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let records = visit.app.workspace.records(&tenant);
        let (_, items) = request(&visit, &records, &id)?.ok_or_else(nothing)?;
        pages::message(&id, &items, &asked.id, &visit.frame).ok_or_else(nothing)
    })
    .await
}

/// The item that is asked for.
#[derive(Deserialize)]
pub(super) struct Named {
    id: String,
}

pub(super) async fn items(
    visit: Visit,
    Path(id): Path<String>,
    Query(filter): Query<Filter>,
    Query(asked): Query<MessageFilter>,
) -> Result<Response, Fault> {
    made(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let records = visit.app.workspace.records(&tenant);
        if let Some((record, items)) = request(&visit, &records, &id)? {
            let compiled = has_compile(&visit, &record);
            return Ok(pages::messages(&id, &items, &asked, compiled, &visit.frame));
        }
        candidates_of(&visit, &records, &id, &filter)
    })
    .await
}

pub(super) async fn candidates(
    visit: Visit,
    Path(id): Path<String>,
    Query(filter): Query<Filter>,
) -> Result<Response, Fault> {
    made(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let records = visit.app.workspace.records(&tenant);
        candidates_of(&visit, &records, &id, &filter)
    })
    .await
}

fn candidates_of(
    visit: &Visit,
    records: &Records<'_>,
    id: &str,
    filter: &Filter,
) -> Result<String, Refusal> {
    let depth = if filter.whole.is_empty() {
        Depth::Account
    } else {
        Depth::Whole
    };
    let of = Of::find(visit, records, id, depth)?;
    of.page(|compile| pages::candidates(compile, filter, &visit.frame))
}

pub(super) async fn payload(visit: Visit, Path(id): Path<String>) -> Result<Response, Fault> {
    made(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let records = visit.app.workspace.records(&tenant);
        if let Listed::Exchange(record) = seen(&visit, &records, &id)?
            && record.compile.is_none()
        {
            // Whoever may read the messages may read the body.
            let items = items_of(&visit, &records, &record)?;
            if items.unknown.is_some() && !visit.caller.grant.operator {
                return Err(nothing());
            }
            let replay = records.replay_exchange(&id)?;
            let (body, proof) = (replay.body.as_deref(), replay.sentence());
            return Ok(pages::body(&id, body, &proof, false, &visit.frame));
        }
        let of = Of::find(&visit, &records, &id, Depth::Payload)?;
        of.page(|compile| pages::payload(compile, &visit.frame))
    })
    .await
}

/// Weights that are laid over a payload.
#[derive(Deserialize)]
pub(super) struct Weights {
    token: String,
    weights: String,
}

pub(super) async fn attention(
    visit: Visit,
    Path(id): Path<String>,
    Form(form): Form<Weights>,
) -> Result<Response, Fault> {
    visit.check_form(&form.token)?;
    made(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let records = visit.app.workspace.records(&tenant);
        let of = Of::find(&visit, &records, &id, Depth::Payload)?;
        let envelope = of.envelope().ok_or_else(|| {
            Error::input("the payload could not be made again, so no weights are laid over it")
        })?;
        let weights = Attention::read(&form.weights, envelope)?;
        of.page(|compile| {
            let compile = Compile {
                attention: Some(&weights),
                ..compile.clone()
            };
            pages::payload(&compile, &visit.frame)
        })
    })
    .await
}

#[derive(Deserialize)]
pub(super) struct At {
    at: usize,
    /// Set where the place is among all candidates.
    #[serde(default)]
    whole: String,
}

pub(super) async fn item(
    visit: Visit,
    Path(id): Path<String>,
    Query(at): Query<At>,
) -> Result<Response, Fault> {
    made(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let records = visit.app.workspace.records(&tenant);
        let depth = if at.whole.is_empty() {
            Depth::Payload
        } else {
            Depth::Whole
        };
        let mut of = Of::find(&visit, &records, &id, depth)?;
        // Budgets that would have let it in are found by compiling for an operator: what would be compiled is all there is.
        if let Of::Compile(gathered) = &mut of
            && visit.caller.grant.operator
        {
            gathered.find_remedies(&records, &[at.at]);
        }
        let page = of.page(|compile| pages::candidate(compile, at.at, &visit.frame))?;
        page.ok_or_else(nothing)
    })
    .await
}

#[derive(Deserialize)]
pub(super) struct Before {
    before: String,
}

pub(super) async fn difference(
    visit: Visit,
    Path(id): Path<String>,
    Query(asked): Query<Before>,
) -> Result<Response, Fault> {
    made(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let records = visit.app.workspace.records(&tenant);
        let one = Of::find(&visit, &records, asked.before.trim(), Depth::Payload)?;
        let other = Of::find(&visit, &records, &id, Depth::Payload)?;
        let (Some(before), Some(after)) = (one.trace(), other.trace()) else {
            let what = "one of the two was not compiled, or cannot be made again";
            return Err(Error::input(what).into());
        };
        let difference = diff(before, after);
        let payloads = one.envelope().zip(other.envelope());
        let explained = payloads.ok_or_else(|| {
            "The payloads could not be made again, so nothing is said of bytes and of a cache."
                .to_owned()
        });
        let explained = explained.and_then(|(first, second)| {
            let world = visit.app.world(&after.model).map_err(|error| error.what)?;
            let sent =
                |envelope, model| Sent::compiled(envelope, Some(model)).map_err(|error| error.what);
            explain(
                &world,
                &sent(first, &before.model)?,
                &sent(second, &after.model)?,
            )
            .map_err(|error| error.what)
        });
        let bodies = payloads.and_then(|(first, second)| {
            Some(Bodies {
                before: first.payload.as_ref()?.as_str(),
                after: second.payload.as_ref()?.as_str(),
            })
        });
        let cache = explained.as_ref().map_err(String::as_str);
        Ok(pages::difference(
            asked.before.trim(),
            &id,
            &difference,
            bodies,
            cache,
            &visit.frame,
        ))
    })
    .await
}

pub(super) async fn session(visit: Visit, Path(id): Path<String>) -> Result<Response, Fault> {
    made(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let records = visit.app.workspace.records(&tenant);
        let talk = records.conversation(Some(&id))?.map(|talk| {
            let requests = talk.requests.into_iter();
            let seen = requests.filter(|record| visit.caller.sees_exchange(record));
            Talk {
                requests: seen
                    .map(|record| visit.caller.exchange_as_seen(record))
                    .collect(),
                ..talk
            }
        });
        let of_it = |line: &Line| match &line.what {
            Listed::Compile(compile) => compile.principal.session.as_deref() == Some(id.as_str()),
            _ => false,
        };
        let (compiles, _) = visit.caller.seen_records(&records, None, LINES, of_it)?;
        // Summaries hold words of messages, which their owner and an operator may read.
        let kept = crate::api::sessions::find(&tenant, &visit.caller, &id)?;
        let talk = talk.filter(|talk| !talk.requests.is_empty());
        if talk.is_none() && compiles.is_empty() && kept.is_none() {
            return Err(nothing());
        }
        let view = SessionView {
            messages: kept.as_ref().map(Session::len),
            checkpoints: kept
                .map(|session| session.checkpoints().to_vec())
                .unwrap_or_default(),
            id,
            talk,
            compiles,
        };
        Ok(pages::session(
            &view,
            visit.app.workspace.catalogue(),
            &visit.frame,
        ))
    })
    .await
}
