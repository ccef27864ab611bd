//! Pages of records: the list, one compile, one request, a difference, a conversation.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Form, Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use tenure::cache::{Sent, explain};
use tenure::inspect::diff;
use tenure::object::clip;
use tenure::time::Instant;
use tenure::{Envelope, Error, Ruling, Trace};
use tenure_inspector::{
    Attention, Bodies, Compile, Depth, Filter, Gathered, ListFilter, MessageFilter, SessionView,
    Totals, before, compile_of, pages,
};
use tenure_store::Tenant;
use tenure_workspace::records::{ExchangeRecord, Line, Listed, Records, RequestItems, Talk};
use tenure_workspace::sessions::Session;

use super::access::{Fault, Visit, nothing};
use super::html;
use super::kept::{Drawn, Key, Part};
use crate::api::tenant;
use crate::error::Refusal;

/// The records of a page of the list.
const LINES: usize = 50;
/// The most records that the totals of the first page are made of.
const COUNTED: usize = 2_000;
/// The most conversations that are looked through for a text.
const CONVERSATIONS: usize = 200;

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
        let is_first = after.is_none();
        let said = Said::default();
        let most = if is_first { COUNTED } else { LINES };
        let (mut lines, mut next) = visit.caller.seen_records(&records, after, most, |line| {
            filter.takes(line) && said.has(&visit, &tenant, &filter.text, line)
        })?;
        let catalogue = visit.app.workspace.catalogue();
        let mut totals = Totals::of(&lines, &filter, catalogue);
        totals.looked = (is_first && next.is_some()).then_some(lines.len());
        if lines.len() > LINES {
            lines.truncate(LINES);
            next = lines.last().map(|last| format!("{}/{}", last.at, last.id));
        }
        Ok(pages::overview(
            (&lines, is_first.then_some(&totals)),
            &filter,
            next.as_deref(),
            catalogue,
            &visit.frame,
        ))
    })
    .await
}

/// The conversations that say something, each looked through once.
#[derive(Default)]
struct Said(RefCell<BTreeMap<String, bool>>);

impl Said {
    /// Returns whether the conversation of a record says this, and the reader may read it.
    fn has(&self, visit: &Visit, tenant: &Tenant, text: &str, line: &Line) -> bool {
        if text.is_empty() {
            return true;
        }
        let session = match &line.what {
            Listed::Exchange(record) => record.session.as_deref(),
            Listed::Compile(compile) => compile.principal.session.as_deref(),
            Listed::Unreadable(_) => None,
        };
        let Some(session) = session else {
            return false;
        };
        let mut known = self.0.borrow_mut();
        if let Some(said) = known.get(session) {
            return *said;
        }
        if known.len() >= CONVERSATIONS {
            return false;
        }
        let found = crate::api::sessions::find(tenant, &visit.caller, session);
        let said = found
            .is_ok_and(|found| found.is_some_and(|session| session.says(text).unwrap_or(false)));
        known.insert(session.to_owned(), said);
        said
    }
}

/// A place in the list.
fn place(mark: &str) -> Result<Option<(String, Instant)>, Error> {
    if mark.is_empty() {
        return Ok(None);
    }
    let parts = mark.split_once('/');
    parts
        .and_then(|(at, id)| Some((id.to_owned(), at.parse().ok()?)))
        .map(Some)
        .ok_or_else(|| Error::input(format!("`{}` is no place in the list", clip(mark))))
}

/// A record that the reader may see. What is hidden is not there.
fn seen(visit: &Visit, records: &Records<'_>, id: &str) -> Result<Listed, Refusal> {
    let found = records.listed(id)?;
    found.filter(|found| visit.caller.sees_record(found)).ok_or_else(nothing)
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
                    (&record, items.items()?),
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

/// Returns what a page of a record is drawn from.
fn drawn(
    visit: &Visit,
    records: &Records<'_>,
    (id, part): (&str, Part),
    make: impl FnOnce(&Records<'_>) -> Result<Drawn, Refusal>,
) -> Result<Arc<Drawn>, Refusal> {
    let tenant = tenant(&visit.app, &visit.caller)?;
    let key = Key {
        tenant: tenant.name().into(),
        record: id.to_owned(),
        operator: visit.caller.grant.operator,
        part,
    };
    visit.app.pages.get(&tenant, key, || make(records))
}

/// Returns the compile of which a page is made, whichever record it is of.
fn find(
    visit: &Visit,
    records: &Records<'_>,
    id: &str,
    depth: Depth,
) -> Result<Arc<Drawn>, Refusal> {
    match seen(visit, records, id)? {
        // Its trace is an operator's: whom the request was for is not known apart from its conversation.
        Listed::Exchange(_) if !visit.caller.grant.operator => Err(nothing()),
        Listed::Exchange(_) => drawn(visit, records, (id, Part::Exchange), |records| {
            Ok(Drawn::Exchange(Box::new(records.replay_exchange(id)?)))
        }),
        Listed::Compile(_) => drawn(visit, records, (id, depth.into()), |records| {
            let gathered = Gathered::of(&visit.app.workspace, records, id, visit.view(), depth)?;
            Ok(Drawn::Compile(Box::new(gathered)))
        }),
        Listed::Unreadable(why) => Err(Error::damaged(why).into()),
    }
}

impl Drawn {
    fn items(&self) -> Result<&RequestItems, Refusal> {
        match self {
            Drawn::Items(items) => Ok(items),
            _ => Err(nothing()),
        }
    }

    fn page<T>(&self, of: impl FnOnce(&tenure_inspector::Compile<'_>) -> T) -> Result<T, Refusal> {
        match self {
            Drawn::Compile(gathered) => Ok(of(&gathered.compile())),
            Drawn::Exchange(replay) => {
                let compile = compile_of(replay).ok_or_else(|| {
                    Error::input(format!(
                        "the request cannot be looked into: {}",
                        replay.sentence()
                    ))
                })?;
                Ok(of(&compile))
            }
            Drawn::Items(_) => Err(nothing()),
        }
    }

    fn trace(&self) -> Option<&Trace> {
        match self {
            Drawn::Compile(gathered) => Some(gathered.trace()),
            Drawn::Exchange(replay) => replay.trace.as_ref(),
            Drawn::Items(_) => None,
        }
    }

    fn envelope(&self) -> Option<&Envelope> {
        match self {
            Drawn::Compile(gathered) => gathered.envelope(),
            Drawn::Exchange(replay) => replay.envelope.as_ref(),
            Drawn::Items(_) => None,
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
) -> Result<Arc<Drawn>, Refusal> {
    let tenant = tenant(&visit.app, &visit.caller)?;
    let readable = match record.session.as_deref() {
        Some(session) if !visit.caller.grant.operator => {
            let opened = Session::opening(&tenant, session);
            opened
                .is_ok_and(|opened| opened.is_some_and(|opened| visit.caller.sees_session(&opened)))
        }
        _ => true,
    };
    if !readable {
        let without = ExchangeRecord {
            session: None,
            ..record.clone()
        };
        return Ok(Arc::new(Drawn::Items(records.items(&without)?)));
    }
    drawn(
        visit,
        records,
        (&record.record_id, Part::Items),
        |records| Ok(Drawn::Items(records.items(record)?)),
    )
}

/// A request that the reader may see, as they see it, with its items.
fn request(
    visit: &Visit,
    records: &Records<'_>,
    id: &str,
) -> Result<Option<(ExchangeRecord, Arc<Drawn>)>, Refusal> {
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
        pages::message(&id, items.items()?, &asked.id, &visit.frame).ok_or_else(nothing)
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
            return Ok(pages::messages(
                &id,
                items.items()?,
                &asked,
                compiled,
                &visit.frame,
            ));
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
    let of = find(visit, records, id, depth)?;
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
            if items.items()?.unknown.is_some() && !visit.caller.grant.operator {
                return Err(nothing());
            }
            let replay = records.replay_exchange(&id)?;
            let (body, proof) = (replay.body.as_deref(), replay.sentence());
            return Ok(pages::body(&id, body, &proof, false, &visit.frame));
        }
        let of = find(&visit, &records, &id, Depth::Payload)?;
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
        let of = find(&visit, &records, &id, Depth::Payload)?;
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
    /// Set where the budget that would have let it in is to be found by compiling.
    #[serde(default)]
    remedy: String,
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
            let account = find(&visit, &records, &id, Depth::Account)?;
            let verdict = account.trace().and_then(|trace| trace.verdicts.get(at.at));
            // Only what is in stands in the payload, for which the compile is made again.
            match verdict.map(|verdict| verdict.verdict) {
                Some(Ruling::Included) => Depth::Payload,
                _ => Depth::Objects,
            }
        } else {
            Depth::Whole
        };
        let of = find(&visit, &records, &id, depth)?;
        // The budget that would have let it in takes some twenty compiles, for an operator: what would be compiled is all
        // there is.
        let remedy = match &*of {
            Drawn::Compile(gathered) if visit.caller.grant.operator && !at.remedy.is_empty() => {
                gathered.remedy(&records, at.at)
            }
            _ => None,
        };
        let page = of.page(|compile| {
            let mut compile = compile.clone();
            compile.remedies.extend(remedy.map(|found| (at.at, found)));
            pages::candidate(&compile, at.at, &visit.frame)
        })?;
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
        let one = find(&visit, &records, asked.before.trim(), Depth::Payload)?;
        let other = find(&visit, &records, &id, Depth::Payload)?;
        let (Some(before), Some(after)) = (one.trace(), other.trace()) else {
            let what = "one of the two was not compiled, or cannot be made again";
            return Err(Error::input(what).into());
        };
        let difference = diff(before, after);
        let payloads = one.envelope().zip(other.envelope());
        let made = payloads.ok_or_else(|| {
            "The payloads could not be made again, so nothing is said of bytes and of a cache."
                .to_owned()
        });
        let explained = made.and_then(|(first, second)| {
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
                requests: seen.map(|record| visit.caller.exchange_as_seen(record)).collect(),
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
            checkpoints: kept.map(|session| session.checkpoints().to_vec()).unwrap_or_default(),
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
