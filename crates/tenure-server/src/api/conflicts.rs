//! Claims that cannot both hold, and decisions between them.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::Error;
use tenure::object::{Decision, ObjectId, clip};
use tenure_store::{Conflict, ConflictQuery, PairMark, Written};
use tenure_workspace::as_named;

use super::call::{Asked, Json, Said, instant, limit, tenant, writing};
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::Reader;
use tenure_operations::fields::InField;

/// The conflicts that are asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    limit: Option<u32>,
    after: Option<String>,
    as_of: Option<String>,
    entity: Option<String>,
    slot: Option<String>,
    unresolved: Option<bool>,
    first: Option<String>,
    second: Option<String>,
    principal: Option<String>,
}

/// A page of pairs of claims that cannot both hold.
#[derive(Serialize, JsonSchema)]
pub(super) struct Conflicts {
    /// Each with both objects, their claims, the one that does not stand, and the ground.
    conflicts: Vec<Value>,
    /// The mark to ask for what comes after, where there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl Listing {
    /// Refuses the filters of a list where the request names a pair of objects.
    fn check_pair(&self) -> Result<(), Error> {
        let given = [
            ("entity", self.entity.is_some()),
            ("slot", self.slot.is_some()),
            ("unresolved", self.unresolved.is_some()),
            ("as_of", self.as_of.is_some()),
            ("limit", self.limit.is_some()),
            ("after", self.after.is_some()),
        ];
        match given.into_iter().find(|(_, is_given)| *is_given) {
            None => Ok(()),
            Some((field, _)) => {
                let what = format!("`{field}` does not go with a pair of objects");
                Err(Error::input(what).at(field, None).expected(
                    "`first` and `second` alone, which list all that was judged of the pair",
                ))
            }
        }
    }
}

/// Refuses a pair whose two objects are the same.
fn refuse_itself(first: ObjectId, second: ObjectId) -> Result<(), Error> {
    if first != second {
        return Ok(());
    }
    Err(Error::input("both names are of one object")
        .at("second", None)
        .expected("two objects whose claims contradict each other"))
}

impl Conflicts {
    fn of(found: &[Conflict], next: Option<PairMark>) -> Result<Conflicts, Error> {
        let conflicts = found.iter().map(serde_json::to_value);
        let conflicts = conflicts
            .collect::<Result<_, _>>()
            .map_err(|error| Error::assertion(format!("a conflict is written as JSON: {error}")))?;
        Ok(Conflicts {
            conflicts,
            next: next.map(|next| next.to_string()),
        })
    }
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(asked): Asked<Listing>,
) -> Result<Said<Conflicts>, Refusal> {
    let most = limit(asked.limit)? as usize;
    let known = instant(asked.as_of.as_deref(), "as_of")?;
    let after = asked.after.as_deref().map(str::parse::<PairMark>);
    let after = after.transpose().in_field("after")?;
    let found = crate::blocking(move || {
        let reader = Reader::of(&caller.grant, asked.principal.as_deref())?;
        let tenant = tenant(&app, &caller)?;
        let sees = reader.sees();
        let (Some(first), Some(second)) = (&asked.first, &asked.second) else {
            if asked.first.is_some() || asked.second.is_some() {
                return Err(Error::input("a pair has two objects")
                    .at("second", None)
                    .expected("`first` and `second`, or neither")
                    .into());
            }
            let query = ConflictQuery {
                known,
                sees: sees.as_deref(),
                entity: asked.entity.as_deref(),
                slot: asked.slot.as_deref(),
                waiting: asked.unresolved == Some(true),
                after,
            };
            let page = tenant.conflict_page(&query, most)?;
            return Ok(Conflicts::of(&page.conflicts, page.next)?);
        };
        asked.check_pair()?;
        // What is not there, or hidden, has no conflicts.
        let found = match (
            reader.existing(&tenant, first)?,
            reader.existing(&tenant, second)?,
        ) {
            (Some(first), Some(second)) => {
                refuse_itself(first, second)?;
                tenant.conflict_history(first, second, sees.as_deref())?
            }
            _ => Vec::new(),
        };
        Ok(Conflicts::of(&found, None)?)
    });
    Ok(Said(found.await?))
}

/// A decision between the claims of two objects.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Deciding {
    /// The id or the name of the one object.
    first: String,
    /// The id or the name of the other.
    second: String,
    /// The one that stands.
    stands: Decision,
    /// A note on the decision.
    #[serde(default)]
    note: Option<String>,
}

/// Refuses who may not decide between claims: a user decides by a role that the server was told of, and by no other.
pub(crate) fn check_decides(app: &App, caller: &Caller) -> Result<(), Refusal> {
    let grant = &caller.grant;
    let mut roles = grant.roles.iter();
    let has_role = roles.any(|role| app.settings.resolvers.contains(role));
    if grant.operator || (grant.user.is_some() && has_role) {
        return Ok(());
    }
    Err(Refusal::new(
        StatusCode::FORBIDDEN,
        "the key may not decide between claims",
    )
    .expected(
        "an operator's key, or that of a user with a role that `tenure serve --resolver` names",
    ))
}

pub(super) async fn resolve(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(deciding): Json<Deciding>,
) -> Result<Said<Written>, Refusal> {
    check_decides(&app, &caller)?;
    let writing = writing(&headers, &caller)?;
    let written = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        // Only what one may see is decided on.
        let reader = Reader::of(&caller.grant, None)?;
        let sees = reader.sees();
        let named = |named: &str, field: &str| {
            let found = reader.existing(&tenant, named).in_field(field)?;
            let missing = || Error::input(format!("there is no object `{}`", clip(named)));
            found.ok_or_else(|| missing().at(field, None))
        };
        let first = named(&deciding.first, "first")?;
        let second = named(&deciding.second, "second")?;
        refuse_itself(first, second)?;
        let note = deciding.note.as_deref();
        let done = tenant.resolve_conflict(
            first,
            second,
            deciding.stands,
            note,
            sees.as_deref(),
            &writing,
        );
        let named = [(first, &*deciding.first), (second, &*deciding.second)];
        Ok(done.map_err(|error| as_named(error, &named))?)
    });
    Ok(Said(written.await?))
}
