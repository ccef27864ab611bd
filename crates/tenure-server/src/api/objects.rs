//! Objects of a store: what is believed of them, and writes.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::object::{Audited, ContradictionStatus, ObjectId, RevisionId, SourceKind, clip};
use tenure::time::Instant;
use tenure::{ContextObject, Digest, Error, ErrorKind, ObjectDocument};
use tenure_store::{Expect, Put, SearchPage, Start, Written, true_at};
use tenure_workspace::{Belief, object_id};

use super::call::{Asked, Json, Named, Said, instant, page, tenant, writing};
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::fields::{BODY, InField};
use tenure_operations::{Caller, limit};
use tenure_operations::{Reader, existing};

/// What a list is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    limit: Option<u32>,
    after: Option<ObjectId>,
    as_of: Option<String>,
    search: Option<String>,
    source_kind: Option<String>,
    principal: Option<String>,
}

/// A page of a list.
#[derive(Serialize, JsonSchema)]
pub(super) struct Page {
    /// The tenant's version that was read.
    version: u64,
    /// The objects, in the order in which they came.
    objects: Vec<Line>,
    /// How many more there would be, whose revisions are damaged.
    #[serde(skip_serializing_if = "is_none")]
    #[schemars(default)]
    damaged: usize,
    /// What to ask for after, where there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<ObjectId>,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// An object in a list.
#[derive(Serialize, JsonSchema)]
struct Line {
    object_id: ObjectId,
    name: String,
    object_type: tenure::object::ObjectType,
    source_kind: SourceKind,
    revision: RevisionId,
    /// Since when it is held to be true.
    held_from: Option<Instant>,
    /// Until when.
    held_until: Option<Instant>,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(asked): Asked<Listing>,
) -> Result<Said<Page>, Refusal> {
    let most = limit(asked.limit)? as usize;
    let known = instant(asked.as_of.as_deref(), "as_of")?;
    let kind = asked
        .source_kind
        .as_deref()
        .map(str::parse::<SourceKind>)
        .transpose()
        .in_field("source_kind")?;
    if kind.is_some() && asked.search.is_some() {
        return Err(Error::input("a search takes no kind of source")
            .at("source_kind", None)
            .expected("no `search` beside it")
            .into());
    }
    let listed = crate::blocking(move || {
        let reader = Reader::of(&caller.grant, asked.principal.as_deref())?;
        let tenant = tenant(&app, &caller)?;
        let resident = match (&asked.search, known) {
            (Some(_), Some(_)) => {
                return Err(Error::input("`search` looks into what is believed now")
                    .at("search", None)
                    .expected("no `as_of` beside it")
                    .into());
            }
            (Some(words), None) => {
                let sees = reader.sees();
                // One more tells whether there is another page, and the one that it starts after is found again.
                let page = SearchPage {
                    sees: sees.as_deref(),
                    start: asked.after.map_or(Start::Oldest, Start::At),
                    most: most + 2,
                };
                Arc::new(tenant.search_page(words, &page)?)
            }
            (None, Some(known)) => Arc::new(tenant.load_as_of(known)?),
            (None, None) => app.resident(&tenant)?,
        };
        let mut objects = reader.among(resident.candidates());
        let open = objects.len();
        objects.retain(|object| object.status().damaged.is_none());
        let damaged = open - objects.len();
        objects.retain(|object| kind.is_none_or(|kind| object.revision().source_kind() == kind));
        let start = behind(&objects, asked.after)?;
        // Of one object there may be several, for several times.
        let (objects, next) = page(objects[start..].iter(), most, |object| {
            object.revision().object_id()
        });
        let lines = objects.iter().map(|object| Line {
            object_id: object.revision().object_id(),
            name: object.name().to_owned(),
            object_type: object.revision().object_type(),
            source_kind: object.revision().source_kind(),
            revision: object.revision().id(),
            held_from: object.valid().from,
            held_until: object.valid().until,
        });
        Ok(Page {
            version: resident.version(),
            objects: lines.collect(),
            damaged,
            next,
        })
    });
    Ok(Said(listed.await?))
}

/// A page of an audit.
#[derive(Serialize, JsonSchema)]
pub(super) struct Audit {
    /// The tenant's version that was read.
    version: u64,
    /// The objects, in the order in which they came, with what each leaves to its type.
    objects: Vec<Audited>,
    /// What to ask for after, where there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<ObjectId>,
}

/// What an audit is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Auditing {
    limit: Option<u32>,
    after: Option<ObjectId>,
    principal: Option<String>,
}

pub(super) async fn audit(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(asked): Asked<Auditing>,
) -> Result<Said<Audit>, Refusal> {
    let most = limit(asked.limit)? as usize;
    let audited = crate::blocking(move || {
        let reader = Reader::of(&caller.grant, asked.principal.as_deref())?;
        let tenant = tenant(&app, &caller)?;
        let resident = app.resident(&tenant)?;
        let mut objects = reader.among(resident.candidates());
        objects.retain(|object| object.status().damaged.is_none());
        let start = behind(&objects, asked.after)?;
        let (objects, next) = page(objects[start..].iter(), most, |object| {
            object.revision().object_id()
        });
        Ok(Audit {
            version: resident.version(),
            objects: objects.iter().map(|object| Audited::of(object)).collect(),
            next,
        })
    });
    Ok(Said(audited.await?))
}

/// The place from which a page goes on.
fn behind(objects: &[&Arc<ContextObject>], after: Option<ObjectId>) -> Result<usize, Error> {
    let Some(after) = after else {
        return Ok(0);
    };
    let mut places = objects.iter();
    let at = places.rposition(|object| object.revision().object_id() == after);
    at.map(|at| at + 1).ok_or_else(|| {
        Error::input(format!("the list has no object `{after}`"))
            .at("after", None)
            .expected("`next` of the page before")
    })
}

/// What of an object is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    as_of: Option<String>,
    valid_at: Option<String>,
    principal: Option<String>,
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(named): Named,
    Asked(when): Asked<When>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let known = instant(when.as_of.as_deref(), "as_of")?;
    let valid = instant(when.valid_at.as_deref(), "valid_at")?;
    let past = known.is_some() || valid.is_some();
    let found = crate::blocking(move || {
        let reader = Reader::of(&caller.grant, when.principal.as_deref())?;
        let tenant = tenant(&app, &caller)?;
        let Some(id) = reader.existing(&tenant, &named)? else {
            return Err(unknown(&named));
        };
        let sees = reader.sees();
        let mut beliefs = reader.of_beliefs(match known {
            Some(known) => tenant.as_of_seen(id, known, sees.as_deref())?,
            None => tenant.get_seen(id, sees.as_deref())?,
        });
        if let Some(valid) = valid {
            beliefs = true_at(beliefs, valid);
        }
        if beliefs.is_empty() {
            return Err(match reader {
                Reader::Operator => {
                    let what = format!("nothing is believed of `{}` there", clip(&named));
                    Error::not_found(what).into()
                }
                // What is hidden is no other than what does not exist.
                Reader::Somebody(_) => unknown(&named),
            });
        }
        Ok(reader.shown(&beliefs)?)
    });
    let beliefs = found.await?;
    let tag = if past { None } else { tag(&beliefs)? };
    if let (Some(tag), Some(known)) = (&tag, headers.get(header::IF_NONE_MATCH))
        && tags(known).any(|known| known.as_bytes() == tag.as_bytes())
    {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag.clone())]).into_response());
    }
    let mut response = Said(beliefs).into_response();
    if let Some(tag) = tag {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

/// The tag of what is shown: the revision that was written last, which has the last say and is what a write must
/// know, and a digest of all of it, since judgements and counters change without a revision.
fn tag(beliefs: &[Belief]) -> Result<Option<HeaderValue>, Refusal> {
    let Some(last) = beliefs.iter().max_by_key(|belief| belief.opened) else {
        return Ok(None);
    };
    let shown = serde_json::to_vec(beliefs).map_err(|error| {
        let what = format!("the answer cannot be written as JSON: {error}");
        Error::new(ErrorKind::Internal, what)
    })?;
    let shown = Digest::of(&shown).to_string();
    let hex = shown.trim_start_matches("sha256:");
    let tag = format!("\"{}.{}\"", last.revision, hex.get(..16).unwrap_or(hex));
    Ok(HeaderValue::try_from(tag).ok())
}

/// What of a history is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Past {
    limit: Option<u32>,
    after: Option<String>,
    principal: Option<String>,
}

/// A page of a history.
#[derive(Serialize, JsonSchema)]
pub(super) struct History {
    /// What was believed, the oldest first.
    #[schemars(with = "Vec<serde_json::Value>")]
    beliefs: Vec<Belief>,
    /// What to ask for after, where there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Instant>,
}

pub(super) async fn history(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(named): Named,
    Asked(past): Asked<Past>,
) -> Result<Response, Refusal> {
    let most = limit(past.limit)?;
    let after = instant(past.after.as_deref(), "after")?;
    let found = crate::blocking(move || {
        let reader = Reader::of(&caller.grant, past.principal.as_deref())?;
        let tenant = tenant(&app, &caller)?;
        let Some(id) = reader.existing(&tenant, &named)? else {
            return Err(unknown(&named));
        };
        let (history, next) = reader.history(&tenant, id, after, most)?;
        if history.is_empty() && after.is_none() {
            return Err(unknown(&named));
        }
        let beliefs = reader.shown(&history)?;
        Ok(History { beliefs, next })
    });
    Ok(Said(found.await?).into_response())
}

/// Objects to write.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Writes {
    /// The objects.
    objects: Vec<ObjectDocument>,
}

pub(super) async fn put_all(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(writes): Json<Writes>,
) -> Result<Said<Written>, Refusal> {
    let writing = writing(&headers, &caller)?;
    if writes.objects.is_empty() {
        let error = Error::input("there is nothing to write").at("objects", None);
        return Err(error.expected("at least one object").into());
    }
    let written = crate::blocking(move || {
        let mut puts = Vec::with_capacity(writes.objects.len());
        for (at, mut document) in writes.objects.into_iter().enumerate() {
            document.untyped_is_data();
            let classified = document.classify_within(caller.grant.clears());
            let field = format!("objects[{at}].security_classification");
            classified.map_err(|error| error.at(field, None))?;
            puts.push(Put::new(document));
        }
        let written = tenant(&app, &caller)?.put(puts, &writing);
        Ok(written.in_field("objects")?)
    });
    Ok(Said(written.await?))
}

pub(super) async fn put(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(named): Named,
    headers: HeaderMap,
    Json(mut document): Json<ObjectDocument>,
) -> Result<Response, Refusal> {
    document.complete()?;
    document.untyped_is_data();
    document.classify_within(caller.grant.clears())?;
    let id = document.object_id.map(|id| id.to_string());
    if document.name != named && id.as_deref() != Some(&named) {
        return Err(Error::input(format!(
            "the object is `{}`, and the path says `{}`",
            clip(&document.name),
            clip(&named)
        ))
        .at("name", None)
        .expected("the object's own name or id in the path")
        .into());
    }
    let expect = expectation(&headers)?;
    let writing = writing(&headers, &caller)?;
    let written = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        // The body is the one object.
        let written = tenant.put(vec![Put { document, expect }], &writing).map_err(|error| {
            match error.kind {
                ErrorKind::Input => error.at(BODY, None),
                _ => error,
            }
        });
        conditional(expect, written)
    })
    .await?;
    let created = written
        .objects
        .iter()
        .any(|object| object.outcome == tenure_store::Outcome::Created);
    let revision = written.objects.first().and_then(|object| object.revision);
    let mut response = Said(written).into_response();
    if created {
        *response.status_mut() = StatusCode::CREATED;
    }
    let tag = revision.and_then(|revision| HeaderValue::try_from(format!("\"{revision}\"")).ok());
    if let Some(tag) = tag {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

pub(super) async fn retract(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(named): Named,
    headers: HeaderMap,
) -> Result<Said<Written>, Refusal> {
    let expect = expectation(&headers)?;
    let writing = writing(&headers, &caller)?;
    let written = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let Some(id) = existing(&tenant, &named)? else {
            return Err(unknown(&named));
        };
        conditional(expect, tenant.retract(id, expect, &writing))
    });
    Ok(Said(written.await?))
}

/// How an object is judged.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Judgement {
    /// Whether anything contradicts it.
    contradiction_status: ContradictionStatus,
    /// The id or the name of the object that replaces it. Default: none does.
    #[serde(default)]
    superseded_by: Option<String>,
}

pub(super) async fn judge(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(named): Named,
    headers: HeaderMap,
    Json(judgement): Json<Judgement>,
) -> Result<Said<Written>, Refusal> {
    let writing = writing(&headers, &caller)?;
    let written = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let Some(id) = existing(&tenant, &named)? else {
            return Err(unknown(&named));
        };
        let by = match &judgement.superseded_by {
            None => None,
            Some(named) => Some(object_id(&tenant, named).in_field("superseded_by")?),
        };
        let status = judgement.contradiction_status;
        let judged = tenant.judge(id, status, by, &writing);
        Ok(judged.in_field("contradiction_status")?)
    });
    Ok(Said(written.await?))
}

pub(super) fn unknown(named: &str) -> Refusal {
    Error::not_found(format!("there is no object `{}`", clip(named))).into()
}

/// What a write expects to find, by its headers.
fn expectation(headers: &HeaderMap) -> Result<Expect, Refusal> {
    let wrong = |field: &str, what: &str| {
        Refusal::new(StatusCode::BAD_REQUEST, what.to_owned()).at_field(field)
    };
    match (
        headers.get(header::IF_MATCH),
        headers.get(header::IF_NONE_MATCH),
    ) {
        (None, None) => Ok(Expect::Any),
        (Some(_), Some(_)) => Err(wrong(
            "If-None-Match",
            "`If-Match` and `If-None-Match` exclude each other",
        )),
        (None, Some(none)) if none == "*" => Ok(Expect::Absent),
        (None, Some(_)) => Err(wrong(
            "If-None-Match",
            "`If-None-Match` of a write must be `*`",
        )),
        (Some(tag), None) => {
            let text = tag
                .to_str()
                .unwrap_or_default()
                .trim()
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'));
            // A read's tag has a second part, of what else was shown; it is not what a write is over.
            text.map(|text| text.split_once('.').map_or(text, |(own, _)| own))
                .and_then(|revision| revision.parse().ok())
                .map(Expect::Revision)
                .ok_or_else(|| {
                    wrong("If-Match", "`If-Match` is not the ETag of a revision")
                        .expected("\"sha256:…\"")
                })
        }
    }
}

/// A conflict with what was expected is a precondition that failed.
fn conditional<T>(expect: Expect, done: Result<T, Error>) -> Result<T, Refusal> {
    done.map_err(|error| {
        if expect == Expect::Any || error.kind != ErrorKind::Conflict {
            return error.into();
        }
        let refusal = Refusal::new(StatusCode::PRECONDITION_FAILED, error.what);
        match error.expected {
            Some(expected) => refusal.expected(expected),
            None => refusal,
        }
    })
}

/// The tags of a header.
fn tags(value: &HeaderValue) -> impl Iterator<Item = &str> {
    let text = value.to_str().unwrap_or_default();
    text.split(',').map(|tag| tag.trim().trim_start_matches("W/"))
}
