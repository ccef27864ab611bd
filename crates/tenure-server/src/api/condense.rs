//! `condense`, and originals read back.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::condense::ContentType;
use tenure::num::Score;
use tenure::{Digest, Error, ErrorKind, PointerId};
use tenure_workspace::{CondensationReport, Condensing, DEFAULT_MODEL, Originals};

use super::call::{Json, Named, Said, tenant};
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::fields::InField;

/// A text to condense.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Long {
    /// The text.
    text: String,
    /// The most tokens that the result may have, its pointer included.
    tokens: u32,
    /// What the reader is about to do: everything that it names is kept.
    #[serde(default)]
    task: String,
    /// What the text is. Default: what it looks like.
    #[serde(default)]
    content_type: Option<ContentType>,
    /// The name of its file, which may say that it is source code.
    #[serde(default)]
    name: String,
    /// Whether nothing may be lost.
    #[serde(default)]
    lossless: bool,
    /// The share of its statements below which the answer warns. Default: as the method needs.
    #[serde(default)]
    floor: Option<Score>,
    /// Whether the original is kept where something is left out, with a pointer to it as the last line. Only for
    /// operators.
    #[serde(default)]
    keep: bool,
    /// By whose vocabulary tokens are counted.
    #[serde(default)]
    model: Option<String>,
}

pub(super) async fn condense(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(long): Json<Long>,
) -> Result<Said<CondensationReport>, Refusal> {
    let condensed = crate::blocking(move || {
        if long.tokens == 0 {
            let error = Error::input("a text has no form of 0 tokens").at("tokens", None);
            return Err(error.expected("at least 1").into());
        }
        if long.keep && !caller.grant.operator {
            let what = "`keep` keeps a text in the store, which is for operators";
            return Err(Error::new(ErrorKind::Policy, what)
                .expected("a key made with --operator")
                .into());
        }
        let world = app.world(long.model.as_deref().unwrap_or(DEFAULT_MODEL)).in_field("model")?;
        let originals = if long.keep {
            let own = app.store.as_ref().map(|_| tenant(&app, &caller)).transpose()?;
            Some(Originals::chosen(app.settings.originals.as_deref(), own)?)
        } else {
            None
        };
        let wanted = Condensing {
            tokens: long.tokens,
            task: &long.task,
            content_type: long.content_type,
            name: &long.name,
            lossless_only: long.lossless,
            originals: originals.as_ref(),
        };
        let done = app
            .workspace
            .condense(world.tokenizer(), long.text.as_bytes(), &wanted)
            .in_field("text")?;
        Ok(done.report(long.floor))
    });
    Ok(Said(condensed.await?))
}

/// An original.
#[derive(Serialize, JsonSchema)]
pub(super) struct Original {
    /// The id in its pointer.
    id: String,
    /// The SHA-256 of its bytes.
    digest: String,
    /// Its length in bytes.
    bytes: usize,
    /// The text.
    content: String,
}

pub(super) async fn original(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(named): Named,
) -> Result<Said<Original>, Refusal> {
    let id = PointerId::of(&named).in_field("pointer")?;
    let found = crate::blocking(move || {
        let content = read_original(&app, &caller, id).map_err(|error| match error.kind {
            ErrorKind::Input => error.at("pointer", None),
            _ => error,
        })?;
        Ok(Original {
            id: id.to_string(),
            digest: Digest::of(content.as_bytes()).to_string(),
            bytes: content.len(),
            content,
        })
    });
    Ok(Said(found.await?))
}

/// The text of an original of the caller's tenant.
pub(crate) fn read_original(app: &App, caller: &Caller, id: PointerId) -> Result<String, Error> {
    let mut places = Vec::new();
    if app.store.is_some() {
        places.push(Originals::in_store(tenant(app, caller)?));
    }
    // Where there are keys there are tenants, and a folder is of all of them.
    if caller.key.is_none() {
        places.extend(app.settings.originals.as_ref().map(Originals::at));
    }
    let read = app.workspace.rehydrate_from(&places, id).map_err(|error| match error.kind {
        ErrorKind::Input | ErrorKind::NotFound => {
            Error::not_found(format!("there is no original `{id}`"))
        }
        _ => error,
    })?;
    String::from_utf8(read).map_err(|_| Error::input(format!("the original `{id}` is not text")))
}
