//! Pages of what stands behind compiles: objects, registries, figures over time.

use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use tenure::registry::Summary;
use tenure_inspector::{AsOf, pages};

use super::access::{Fault, Visit, nothing};
use super::html;
use crate::api::tenant;
use tenure_operations::Reader;

/// The most beliefs of an object that a page shows.
const BELIEFS: u32 = 200;
/// The most records that figures over time are made of.
const TRENDS: usize = 2_000;

pub(super) async fn object(
    visit: Visit,
    Path(named): Path<String>,
    Query(asked): Query<AsOf>,
) -> Result<Response, Fault> {
    let page = crate::blocking(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let reader = Reader::of(&visit.caller.grant, None)?;
        let id = reader.existing(&tenant, &named)?.ok_or_else(nothing)?;
        let (history, next) = reader.history(&tenant, id, None, BELIEFS)?;
        if history.is_empty() {
            return Err(nothing());
        }
        let beliefs = reader.shown(&history)?;
        let then = asked.read(&beliefs);
        Ok(pages::object(
            &id.to_string(),
            &beliefs,
            next.is_some(),
            &asked,
            &then,
            &visit.frame,
        ))
    });
    Ok(html(StatusCode::OK, page.await?))
}

pub(super) async fn registries(visit: Visit) -> Result<Response, Fault> {
    let page = crate::blocking(move || {
        // Registries stand past access lists.
        if !visit.caller.grant.operator {
            return Ok(pages::registries(&[], &visit.frame));
        }
        let tenant = tenant(&visit.app, &visit.caller)?;
        let mut kept = visit.app.workspace.registries_of(&tenant)?.registries;
        let labels: Vec<String> = kept.labels().map(str::to_owned).collect();
        let mut all: Vec<Summary> = Vec::with_capacity(labels.len());
        for label in labels {
            all.push(kept.view(&label)?.summary());
        }
        Ok(pages::registries(&all, &visit.frame))
    });
    Ok(html(StatusCode::OK, page.await?))
}

pub(super) async fn registry(visit: Visit, Path(label): Path<String>) -> Result<Response, Fault> {
    let page = crate::blocking(move || {
        if !visit.caller.grant.operator {
            return Err(nothing());
        }
        let tenant = tenant(&visit.app, &visit.caller)?;
        let mut kept = visit.app.workspace.registries_of(&tenant)?.registries;
        if !kept.labels().any(|known| known == label) {
            return Err(nothing());
        }
        let view = kept.view(&label)?;
        Ok(pages::registry(&view, &visit.frame))
    });
    Ok(html(StatusCode::OK, page.await?))
}

pub(super) async fn trends(visit: Visit) -> Result<Response, Fault> {
    let page = crate::blocking(move || {
        let tenant = tenant(&visit.app, &visit.caller)?;
        let records = visit.app.workspace.records(&tenant);
        let (lines, next) = visit.caller.seen_records(&records, None, TRENDS, |_| true)?;
        Ok(pages::trends(
            &visit.caller.tenant,
            &lines,
            next.is_some(),
            visit.app.workspace.catalogue(),
            &visit.frame,
        ))
    });
    Ok(html(StatusCode::OK, page.await?))
}
