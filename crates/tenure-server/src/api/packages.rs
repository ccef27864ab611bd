//! Packages of working memory: whole documents in the body of a call. None is kept, and no file is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure::object::Sealer;
use tenure::package::{
    Conflict, ContextActivation, ContextPackage, LabelTable, PackageDiff, PackageEnvelope, Shown,
    diff as difference, merge as merged,
};
use tenure::{Candidates, Error, ErrorKind, ObjectDocument, Principal};
use tenure_workspace::packages::{Bearing, Explained, Filtered, Sent, explain_sent};

use super::call::{Json, Said};
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::fields::{InField, read_field};

/// The most packages of a call.
const MOST: usize = 32;

/// A package that stands among the candidates of a compile.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Carried {
    /// The package, as `tenure context export` writes it.
    #[schemars(with = "PackageEnvelope")]
    package: Value,
    /// The target in whose scope alone its items are seen, as of `tenure context activate`: `thread:NAME`, `task:NAME`,
    /// `project:NAME`, `user:NAME`. Default: every caller that its labels allow.
    #[serde(default)]
    target: String,
    /// The meaning of labels now, as in `.tenure/labels.toml`. It only narrows.
    #[serde(default)]
    labels: LabelTable,
}

/// A package to activate.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Activated {
    /// The package, as `tenure context export` writes it.
    #[schemars(with = "PackageEnvelope")]
    package: Value,
    /// The target, as of `tenure context activate`: the scope of the objects.
    #[serde(default)]
    target: String,
    /// The meaning of labels now, as in `.tenure/labels.toml`. It only narrows.
    #[serde(default)]
    labels: LabelTable,
    /// On whose behalf: no more than the key grants. Default: what the key grants.
    #[serde(default)]
    #[schemars(with = "Option<Principal>")]
    principal: Option<Value>,
    /// Whether the items stand plain, for a person, instead of in frames that say that they are data.
    #[serde(default)]
    raw: bool,
}

/// A package that was activated. Nothing is recorded of it.
#[derive(Serialize, JsonSchema)]
pub(super) struct Activation {
    /// The Markdown, and how many items were withheld.
    activation: ContextActivation,
    /// The items as candidates of a compile.
    objects: Vec<ObjectDocument>,
    /// The items that were withheld, by name: for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Value>>")]
    filtered: Option<Vec<Filtered>>,
}

/// Two packages.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    /// The one.
    #[schemars(with = "PackageEnvelope")]
    before: Value,
    /// The other.
    #[schemars(with = "PackageEnvelope")]
    after: Value,
}

/// A package, and its sources.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Compared {
    /// The package.
    #[schemars(with = "PackageEnvelope")]
    package: Value,
    /// The texts of its sources now, by their paths. Of others, nothing is said.
    #[serde(default)]
    documents: BTreeMap<String, String>,
}

/// The items of a package, and what its refresh needs.
#[derive(Serialize)]
pub(super) struct Found {
    id: String,
    name: String,
    capabilities: tenure::package::Capabilities,
    retrieval_recipes: Vec<tenure::package::RetrievalRecipe>,
    diagnostics: Vec<String>,
    items: Vec<Explained>,
}

/// Packages to put together.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Merging {
    /// The name of the result.
    name: String,
    /// The packages, 2 to 32. Where two have one unit, the text of the first stands.
    #[schemars(with = "Vec<PackageEnvelope>")]
    packages: Vec<Value>,
}

/// Packages that were put together.
#[derive(Serialize, JsonSchema)]
pub(super) struct Merged {
    /// The result.
    merged: PackageEnvelope,
    /// Where they disagree.
    #[schemars(with = "Vec<Value>")]
    conflicts: Vec<Conflict>,
}

/// A package that stands in a field of a call, once all of it was checked.
fn envelope(value: Value, field: &str) -> Result<PackageEnvelope, Error> {
    PackageEnvelope::check_outline(&value, field)?;
    let read: PackageEnvelope = read_field(value, field)?;
    ContextPackage::check_name(&read.package.name).map_err(|error| error.at(field, None))?;
    // What is damaged is what was sent, and nothing of the server's.
    read.verified(field).map_err(|error| Error {
        kind: match error.kind {
            ErrorKind::Damaged => ErrorKind::Input,
            kind => kind,
        },
        ..error
    })
}

/// Refuses more packages than a call may have.
fn check_count(packages: usize) -> Result<(), Error> {
    if packages <= MOST {
        return Ok(());
    }
    Err(Error::input(format!("{packages} packages are too many"))
        .at("packages", None)
        .expected(format!("at most {MOST}")))
}

/// The objects that a compile is sent, and behind them the items of packages that its principal may read.
pub(super) fn candidates(
    app: &App,
    principal: &Principal,
    packages: Vec<Carried>,
    own: Candidates,
) -> Result<Candidates, Error> {
    if packages.is_empty() {
        return Ok(own);
    }
    check_count(packages.len())?;
    let mut sealer = Sealer::default();
    let mut objects = Vec::new();
    for (at, carried) in packages.into_iter().enumerate() {
        let within = format!("packages[{at}]");
        let envelope = envelope(carried.package, &format!("{within}.package"))?;
        let world = app
            .world(&envelope.package.budget.model)
            .in_field(&format!("{within}.package.package.budget.model"))?;
        let sent = Sent::new(envelope, &[&app.settings.labels, &carried.labels]);
        let found = sent.candidates(
            &carried.target,
            &Bearing {
                caller: principal,
                labels: &LabelTable::default(),
                decider: None,
                tokenizer: world.tokenizer(),
                now: app.now(),
                summaries: &BTreeMap::new(),
                embedder: None,
            },
        );
        for mut document in found.in_field(&format!("{within}.target"))? {
            document.tenant_id = Some(principal.tenant.clone());
            objects.push(sealer.seal(document).in_field(&within)?);
        }
    }
    Ok(Candidates::layered([
        Arc::new(own),
        Arc::new(Candidates::new(objects)),
    ]))
}

pub(super) async fn activate(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Json(asked): Json<Activated>,
) -> Result<Said<Activation>, Refusal> {
    let activated = crate::blocking(move || {
        let principal = match asked.principal {
            None => caller.grant.principal(),
            Some(said) => caller.grant.bind(read_field(said, "principal")?)?,
        };
        let envelope = envelope(asked.package, "package")?;
        let world = app
            .world(&envelope.package.budget.model)
            .in_field("package.package.budget.model")?;
        let shown = if asked.raw { Shown::Raw } else { Shown::Framed };
        let sent = Sent::new(envelope, &[&app.settings.labels, &asked.labels]);
        let activated = sent
            .activate(
                &asked.target,
                shown,
                &Bearing {
                    caller: &principal,
                    labels: &LabelTable::default(),
                    decider: None,
                    tokenizer: world.tokenizer(),
                    now: app.now(),
                    summaries: &BTreeMap::new(),
                    embedder: None,
                },
            )
            .in_field("target")?;
        Ok(Activation {
            activation: activated.activation,
            objects: activated.objects,
            filtered: caller.grant.operator.then_some(activated.filtered),
        })
    });
    Ok(Said(activated.await?))
}

pub(super) async fn diff(Json(pair): Json<Pair>) -> Result<Said<PackageDiff>, Refusal> {
    let compared = crate::blocking(move || {
        let before = envelope(pair.before, "before")?;
        let after = envelope(pair.after, "after")?;
        Ok(difference(&before.package, &after.package))
    });
    Ok(Said(compared.await?))
}

pub(super) async fn explain(Json(asked): Json<Compared>) -> Result<Said<Found>, Refusal> {
    let explained = crate::blocking(move || {
        let PackageEnvelope { id, package } = envelope(asked.package, "package")?;
        let items = explain_sent(&package, &asked.documents).in_field("documents")?;
        Ok(Found {
            id,
            name: package.name,
            capabilities: package.capabilities,
            retrieval_recipes: package.retrieval_recipes,
            diagnostics: package.diagnostics,
            items,
        })
    });
    Ok(Said(explained.await?))
}

pub(super) async fn merge(
    State(app): State<Arc<App>>,
    Json(asked): Json<Merging>,
) -> Result<Said<Merged>, Refusal> {
    let done = crate::blocking(move || {
        check_count(asked.packages.len())?;
        ContextPackage::check_name(&asked.name).map_err(|error| error.at("name", None))?;
        let mut found = Vec::with_capacity(asked.packages.len());
        for (at, package) in asked.packages.into_iter().enumerate() {
            let envelope = envelope(package, &format!("packages[{at}]"))?;
            found.push((envelope.id, envelope.package));
        }
        let model = found.first().map(|(_, package)| package.budget.model.clone());
        let world = app
            .world(&model.unwrap_or_default())
            .in_field("packages[0].package.budget.model");
        let (merged, conflicts) =
            merged(&asked.name, &found, world?.tokenizer()).in_field("packages")?;
        Ok(Merged {
            merged: PackageEnvelope::of(merged)?,
            conflicts,
        })
    });
    Ok(Said(done.await?))
}
