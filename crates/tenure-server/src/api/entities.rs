//! The registry of entities: who and what objects speak of.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::belief::entity::{EntityEntry, EntityOp, EntityType, PartWeights, Profile, SeenEntity};
use tenure::object::ObjectId;
use tenure_store::Written;

use super::call::{Asked, Json, Said, tenant, writing};
use super::objects::unknown;
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::fields::InField;
use tenure_operations::{Reader, existing};

/// On whose behalf entities are read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listing {
    pending: Option<bool>,
    kind: Option<String>,
    principal: Option<String>,
}

/// The entities that a reader may see.
#[derive(Serialize, JsonSchema)]
pub(super) struct Listed {
    /// The entities, by id.
    entities: Vec<SeenEntity>,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(asked): Asked<Listing>,
) -> Result<Said<Listed>, Refusal> {
    let kind = asked.kind.as_deref().map(str::parse::<EntityType>);
    let kind = kind.transpose().in_field("kind")?;
    let found = crate::blocking(move || {
        let reader = Reader::of(&caller.grant, asked.principal.as_deref())?;
        let tenant = tenant(&app, &caller)?;
        let sees = reader.sees();
        let mut entities = tenant.entities(sees.as_deref())?;
        entities.retain(|one| kind.is_none() || one.profile.kind == kind);
        entities.retain(|one| asked.pending.is_none_or(|pending| one.pending == pending));
        Ok(Listed { entities })
    });
    Ok(Said(found.await?))
}

/// The log of the registry about one entity.
#[derive(Serialize, JsonSchema)]
pub(super) struct EntityHistory {
    /// Everything that was done to it and to what was merged into it, the oldest first.
    entries: Vec<EntityEntry>,
}

/// The entity that is asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    id: String,
}

pub(super) async fn history(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Asked(asked): Asked<Wanted>,
) -> Result<Said<EntityHistory>, Refusal> {
    let found = crate::blocking(move || {
        let entries = tenant(&app, &caller)?.entity_history(&asked.id);
        let entries = entries.in_field("id")?;
        Ok(EntityHistory { entries })
    });
    Ok(Said(found.await?))
}

/// A change of the registry.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Changes {
    /// The operations, in order: all of it, or nothing.
    operations: Vec<EntityOp>,
    /// The id or the name of the object that it comes from: it acts only for who may see that. Default: somebody says so.
    #[serde(default)]
    source: Option<String>,
}

pub(super) async fn change(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(changes): Json<Changes>,
) -> Result<Said<Written>, Refusal> {
    let writing = writing(&headers, &caller)?;
    let written = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let source: Option<ObjectId> = match &changes.source {
            None => None,
            Some(named) => {
                let found = existing(&tenant, named).in_field("source")?;
                Some(found.ok_or_else(|| unknown(named))?)
            }
        };
        let operations = changes.operations.into_iter().map(|op| (op, source));
        Ok(tenant
            .change_entities(operations.collect(), &writing)
            .in_field("operations")?)
    });
    Ok(Said(written.await?))
}

/// A mention, where it stands.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Asking {
    /// Everything known of it. The tenant is the key's.
    mention: Profile,
    /// The weights of the parts. Default: those that the tenant's writes take.
    #[serde(default)]
    weights: Option<PartWeights>,
}

/// The meaning of a mention.
#[derive(Serialize, JsonSchema)]
pub(super) struct Meaning {
    /// The outcome; the candidates with each part of their similarity; and, where an object that says so would give it, the name that
    /// the bound one has from then on (`alias`).
    resolved: serde_json::Value,
}

pub(super) async fn resolve(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(asking): Json<Asking>,
) -> Result<Said<Meaning>, Refusal> {
    let found = crate::blocking(move || {
        if let Some(weights) = &asking.weights {
            weights.check().in_field("weights")?;
        }
        let reader = Reader::of(&caller.grant, None)?;
        let tenant = tenant(&app, &caller)?;
        let sees = reader.sees();
        let weights = match asking.weights {
            Some(weights) => weights,
            None => tenant.entity_weights()?,
        };
        let resolved = tenant.resolve_entity(&asking.mention, &weights, sees.as_deref());
        let resolved = resolved.in_field("mention.name")?;
        let resolved = serde_json::to_value(resolved).map_err(|error| {
            tenure::Error::assertion(format!("a resolution is written as JSON: {error}"))
        })?;
        Ok(Meaning { resolved })
    });
    Ok(Said(found.await?))
}
