//! Erasures, and what is kept of a person.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::Deserialize;
use tenure::Error;
use tenure::object::{ObjectId, clip};
use tenure_store::{Person, Subject, Tenant};
use tenure_workspace::keys::Keys;
use tenure_workspace::{Erase, Erased};

use super::call::{Json, Named, Said, tenant, writing};
use super::objects::unknown;
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::existing;
use tenure_operations::fields::InField;

/// What is to be erased: one of `objects`, `subject` and `session`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Erasure {
    /// Ids or names of objects. What is repeated under an idempotency key names ids: names are erased, too.
    #[serde(default)]
    objects: Vec<String>,
    /// A person: everything that is about them. What is theirs and stays is answered as `left`.
    #[serde(default)]
    subject: Option<String>,
    /// With `subject`: also the person's own objects and sessions, and the records of what they asked.
    #[serde(default)]
    everything: bool,
    /// A session, whole unless `messages` says which.
    #[serde(default)]
    session: Option<String>,
    /// With `session`: a message (`t17`), several (`t17-t20`) or what a summary stands for (`c40`).
    #[serde(default)]
    messages: Option<String>,
}

impl Erasure {
    fn wanted(self, app: &App, tenant: &Tenant) -> Result<Erase, Refusal> {
        let only_with = |field: &str, with: &str| {
            let error = Error::input(format!("`{field}` goes with `{with}` alone"));
            Refusal::from(error.at(field, None).expected(format!("`{with}` beside it")))
        };
        if self.everything && self.subject.is_none() {
            return Err(only_with("everything", "subject"));
        }
        if self.messages.is_some() && self.session.is_none() {
            return Err(only_with("messages", "session"));
        }
        match (self.objects.as_slice(), self.subject, self.session) {
            ([], Some(subject), None) if self.everything => {
                Ok(Erase::Person(person(app, tenant, &subject)?))
            }
            ([], Some(subject), None) => Ok(Erase::Subject(person(app, tenant, &subject)?)),
            ([], None, Some(session)) => Ok(match self.messages {
                None => Erase::Session(session),
                Some(messages) => Erase::Messages { session, messages },
            }),
            ([_, ..], None, None) => self
                .objects
                .iter()
                .map(|named| object(tenant, named))
                .collect::<Result<_, _>>()
                .map(Erase::Objects),
            _ => Err(Error::input(
                "`objects`, `subject` and `session` exclude each other, and one is needed",
            )
            .at("objects", None)
            .expected("`objects`, `subject` or `session`")
            .into()),
        }
    }
}

/// A person, with the keys that speak for them.
fn person(app: &App, tenant: &Tenant, name: &str) -> Result<Subject, Error> {
    match &app.store {
        Some(store) => Keys::subject(store, tenant.name(), name),
        None => Ok(name.into()),
    }
}

fn object(tenant: &Tenant, named: &str) -> Result<ObjectId, Refusal> {
    // An id may be of an object that only a log holds.
    match named.parse() {
        Ok(id) => Ok(id),
        Err(_) => existing(tenant, named)?.ok_or_else(|| unknown(named)),
    }
}

pub(super) async fn erase(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(erasure): Json<Erasure>,
) -> Result<Said<Erased>, Refusal> {
    let writing = writing(&headers, &caller)?;
    let erased = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let wanted = erasure.wanted(&app, &tenant)?;
        let field = match &wanted {
            Erase::Objects(_) => "objects",
            Erase::Subject(_) | Erase::Person(_) => "subject",
            Erase::Session(_) => "session",
            Erase::Messages { .. } => "messages",
        };
        let erased = wanted.run(&tenant, &writing).in_field(field)?;
        app.forget(&tenant)?;
        Ok(erased)
    });
    Ok(Said(erased.await?))
}

pub(super) async fn subject(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(subject): Named,
) -> Result<Said<Person>, Refusal> {
    let known = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let person = tenant.person(person(&app, &tenant, &subject)?)?;
        if person.is_unknown() {
            return Err(
                Error::not_found(format!("nothing is known of `{}`", clip(&subject))).into(),
            );
        }
        Ok(person)
    });
    Ok(Said(known.await?))
}
