//! Registries in a store.
//!
//! A registry is the fold of its log, so its state has a number, which is its `ETag`. A write that names it
//! (`If-Match`) is done on that state or not at all; one under an `Idempotency-Key` is done once.

use std::path::Path;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tenure::object::clip;
use tenure::registry::{Applied, Capability, Kind, LoweredAuthority, Op, Registries};
use tenure::request::json_error;
use tenure::{ContextObject, Error, ErrorKind, ObjectDocument};
use tenure_store::{Tenant, WriteKey};
use tenure_workspace::KeptRegistries;
use tenure_workspace::registries::{self, Imported};
use tenure_workspace::sources::Formats;
use tenure_workspace::sources::markdown::Split;

use super::call::{
    Json, Named, Said, conditional, expectation, names, own, tag, tenant, unless_known, writing,
};
use crate::app::App;
use crate::error::Refusal;
use tenure_operations::Caller;
use tenure_operations::fields::{InField, read_field};

/// A registry that there is.
#[derive(Serialize, JsonSchema)]
pub(super) struct ListedRegistry {
    /// Its label.
    registry: String,
    /// Whose it is.
    kind: Kind,
    /// The number of its blocks.
    blocks: usize,
}

/// A registry that was made.
#[derive(Serialize, JsonSchema)]
pub(super) struct MadeRegistry {
    /// Its label.
    registry: String,
    /// Whose it is.
    kind: Kind,
    /// The registries that it may write to.
    writes_to: Vec<String>,
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
) -> Result<Said<Vec<ListedRegistry>>, Refusal> {
    let shown = crate::blocking(move || {
        let mut kept = app.workspace.registries_of(&tenant(&app, &caller)?)?.registries;
        let labels: Vec<String> = kept.labels().map(str::to_owned).collect();
        labels
            .iter()
            .map(|label| {
                let (kind, blocks) = (kept.kind(label)?, kept.view(label)?.len());
                Ok(ListedRegistry {
                    registry: label.clone(),
                    kind,
                    blocks,
                })
            })
            .collect()
    });
    Ok(Said(shown.await?))
}

/// A registry to make.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    /// Its label.
    label: String,
    /// Whose it is.
    kind: Kind,
    /// The registries that it may write to.
    #[serde(default)]
    writes_to: Vec<String>,
}

/// The write that a request is, where it comes under a key.
fn key(headers: &HeaderMap, caller: &Caller, asked: &Value) -> Result<Option<WriteKey>, Refusal> {
    let key = writing(headers, caller)?
        .idempotency_key
        .map(|key| WriteKey::new(&key, asked.to_string().as_bytes()));
    Ok(key.transpose()?)
}

/// The number that a write had, where it was done already under its key. What was read before this is asked holds
/// nothing of a write that was not.
fn done_before(tenant: &Tenant, key: Option<&WriteKey>) -> Result<Option<u64>, Error> {
    let answer = key.map(|key| tenant.answered(key)).transpose()?;
    answer.flatten().map(|answer| number(&answer)).transpose()
}

/// Keeps what was done as this number or, where it was done under its key meanwhile, gives the number that it had.
fn save(kept: KeptRegistries, key: Option<&WriteKey>, done: u64) -> Result<Option<u64>, Error> {
    let Some(key) = key else {
        return kept.save().map(|()| None);
    };
    let before = kept.save_once(key, &done.to_string())?;
    before.map(|answer| number(&answer)).transpose()
}

fn number(answer: &str) -> Result<u64, Error> {
    answer
        .parse()
        .map_err(|_| Error::assertion("what was answered under a key is a number"))
}

pub(super) async fn create(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Json(new): Json<New>,
) -> Result<Response, Refusal> {
    let asked = json!(["create", new.label, new.kind, new.writes_to]);
    let key = key(&headers, &caller, &asked)?;
    let made = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let mut kept = app.workspace.registries_of(&tenant)?;
        if done_before(&tenant, key.as_ref())?.is_none() {
            let fresh = kept.registries.create(&new.label, new.kind).in_field("label")?;
            for label in &new.writes_to {
                let to = kept.registries.issue(label).in_field("writes_to")?;
                let refer = kept.registries.refer(&fresh, &to);
                refer.in_field("writes_to")?;
            }
            save(kept, key.as_ref(), 0)?;
        }
        Ok(MadeRegistry {
            registry: new.label,
            kind: new.kind,
            writes_to: new.writes_to,
        })
    });
    let made = made.await?;
    Ok((StatusCode::CREATED, [tag(0)], Said(made)).into_response())
}

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(label): Named,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let known = headers.get(header::IF_NONE_MATCH).cloned();
    let shown = crate::blocking(move || {
        let mut kept = app.workspace.registries_of(&tenant(&app, &caller)?)?.registries;
        if !has(&kept, &label) {
            return Err(unknown(&label));
        }
        let references: Vec<String> = kept.references(&label)?.map(str::to_owned).collect();
        let view = kept.view(&label)?;
        let summary = view.summary();
        let number = summary.operations;
        if known.is_some_and(|known| names(&known, &tag(number).1)) {
            return Ok((number, None));
        }
        let blocks: Vec<_> = view.provenance().collect();
        let shown = json!({ "summary": summary, "references": references, "blocks": blocks });
        Ok((number, Some(shown)))
    });
    let (number, shown) = shown.await?;
    Ok(unless_known(number, shown))
}

/// A change of a registry.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Change {
    /// The operation. Its blocks are named by their names; its objects are the tenant's.
    #[schemars(with = "Op<String>")]
    operation: Value,
    /// The registry on whose behalf it is done. Default: the one that is changed.
    #[serde(default)]
    actor: Option<String>,
}

pub(super) async fn apply(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(label): Named,
    headers: HeaderMap,
    Json(change): Json<Change>,
) -> Result<Response, Refusal> {
    let expected = expectation(&headers)?;
    let asked = json!(["apply", label, change.operation, change.actor]);
    let key = key(&headers, &caller, &asked)?;
    let done = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let kept = app.workspace.registries_of(&tenant)?;
        // What was done under the key was done on the state that was named then.
        let (number, lowered) = match done_before(&tenant, key.as_ref())? {
            Some(number) => (number, lowered_by(kept, &caller, &label, change)?),
            None => {
                let (kept, done) = changed(kept, &caller, &label, change, expected)?;
                match save(kept, key.as_ref(), done.number) {
                    Ok(None) => return Ok((done.number, said(&label, &done))),
                    Ok(Some(number)) => (number, done.lowered),
                    Err(error) => return Err(conditional(expected, error)),
                }
            }
        };
        let done = Applied {
            lowered,
            ..registries::applied_at(&tenant, &label, number)?
        };
        Ok((number, said(&label, &done)))
    });
    let (number, said) = done.await?;
    Ok(([tag(number)], Said(said)).into_response())
}

/// Objects and texts to put into a registry.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Import {
    /// Objects, which are the tenant's.
    #[serde(default)]
    objects: Vec<ObjectDocument>,
    /// Texts of seed files, behind the objects.
    #[serde(default)]
    documents: Vec<Document>,
    /// The names of the blocks that are wanted. Default: all.
    #[serde(default)]
    blocks: Vec<String>,
}

/// The text of a file.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Document {
    /// The file's path: its end says the format, and the rest is the name of a block that has none of its own.
    path: String,
    /// The text.
    text: String,
}

impl Import {
    fn objects(self, caller: &Caller) -> Result<Vec<Arc<ContextObject>>, Error> {
        let mut sealed = Vec::with_capacity(self.objects.len());
        let mut seal = |mut document: ObjectDocument, field: String| {
            own(&mut document, caller)?;
            document.distrust(caller.grant.authority());
            sealed.push(document.seal().in_field(&field)?);
            Ok::<(), Error>(())
        };
        for (at, document) in self.objects.into_iter().enumerate() {
            seal(document, format!("objects[{at}]"))?;
        }
        let formats = Formats::standard();
        for (at, Document { path, text }) in self.documents.iter().enumerate() {
            let stem = Path::new(path).with_extension("");
            let name = stem.to_string_lossy();
            let read =
                formats.parse(Path::new(path), &name, text, Split::default()).map_err(|error| {
                    let line = error.at.as_ref().and_then(|at| at.line);
                    error.at(format!("documents[{at}]"), line)
                })?;
            for sourced in read {
                seal(sourced.document, format!("documents[{at}]"))?;
            }
        }
        Ok(sealed)
    }
}

pub(super) async fn import(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Named(label): Named,
    headers: HeaderMap,
    Json(import): Json<Import>,
) -> Result<Response, Refusal> {
    let expected = expectation(&headers)?;
    let asked = json!([
        "import",
        label,
        import.objects,
        import.documents,
        import.blocks
    ]);
    let key = key(&headers, &caller, &asked)?;
    let done = crate::blocking(move || {
        let tenant = tenant(&app, &caller)?;
        let mut kept = app.workspace.registries_of(&tenant)?;
        let mut count = done_before(&tenant, key.as_ref())?;
        if count.is_none() {
            as_expected(&mut kept, &label, expected)?;
            let wanted = import.blocks.clone();
            let objects = import.objects(&caller)?;
            let field = if wanted.is_empty() {
                "objects"
            } else {
                "blocks"
            };
            let done = registries::import(&mut kept.registries, &label, &objects, &wanted)
                .in_field(field)?;
            match save(kept, key.as_ref(), done.imported as u64) {
                Ok(None) => return Ok(done),
                Ok(before) => count = before,
                Err(error) => return Err(conditional(expected, error)),
            }
            kept = app.workspace.registries_of(&tenant)?;
        }
        Ok(Imported {
            lowered: Vec::new(),
            imported: usize::try_from(count.unwrap_or(0)).unwrap_or(usize::MAX),
            registry: kept.registries.view(&label)?.summary(),
        })
    });
    let done = done.await?;
    Ok(([tag(done.registry.operations)], Said(done)).into_response())
}

/// Refuses a state of a registry that is not the one that a write names.
fn as_expected(
    kept: &mut KeptRegistries,
    label: &str,
    expected: Option<u64>,
) -> Result<(), Refusal> {
    let Some(expected) = expected else {
        return Ok(());
    };
    if !has(&kept.registries, label) {
        return Err(unknown(label));
    }
    let stands = kept.registries.view(label)?.summary().operations;
    if expected == stands {
        return Ok(());
    }
    let what = format!("somebody else changed the registry `{}`", clip(label));
    let refusal = Refusal::new(StatusCode::PRECONDITION_FAILED, what);
    Err(refusal.expected(format!("the ETag \"{stands}\"")))
}

/// What a change that was done already has of less authority than it asked for.
fn lowered_by(
    kept: KeptRegistries,
    caller: &Caller,
    label: &str,
    change: Change,
) -> Result<Vec<LoweredAuthority>, Refusal> {
    let actor = change.actor.as_deref().unwrap_or(label);
    let by = kept.registries.issue(actor).in_field("actor")?;
    Ok(operation(change.operation, caller, &kept.registries, &by)?.1)
}

/// Changes a registry that is as it is expected.
fn changed(
    mut kept: KeptRegistries,
    caller: &Caller,
    label: &str,
    change: Change,
    expected: Option<u64>,
) -> Result<(KeptRegistries, Applied), Refusal> {
    if !has(&kept.registries, label) {
        return Err(unknown(label));
    }
    let by = kept
        .registries
        .issue(change.actor.as_deref().unwrap_or(label))
        .in_field("actor")?;
    let (operation, lowered) = operation(change.operation, caller, &kept.registries, &by)?;
    as_expected(&mut kept, label, expected)?;
    let view = kept.registries.view(label)?;
    let operation = operation.try_map(|name| {
        let block = view.named(&name).in_field("operation")?;
        Ok::<_, Error>(view.address(&kept.registries, block))
    })?;
    let applied = kept.registries.apply(&by, label, operation);
    let applied = Applied {
        lowered,
        ..applied.in_field("operation")?
    };
    Ok((kept, applied))
}

/// How often a change is tried while others change the registry, too.
const TRIES: usize = 8;

/// A change of the caller's own registry, and the names of its blocks after it.
pub(crate) struct OwnChange {
    pub(crate) applied: Applied,
    pub(crate) blocks: Vec<String>,
}

/// Changes a registry on its own behalf, by an operation that is made for the names of its blocks. Where there is none,
/// `or_create` makes it.
pub(crate) fn change_own(
    app: &App,
    caller: &Caller,
    (label, or_create): (&str, bool),
    operation: impl Fn(&[String]) -> Value,
) -> Result<OwnChange, Refusal> {
    let tenant = tenant(app, caller)?;
    let mut tries = 0;
    loop {
        tries += 1;
        let mut kept = app.workspace.registries_of(&tenant)?;
        if or_create && !has(&kept.registries, label) {
            kept.registries.create(label, Kind::Agent)?;
        }
        let names = names_in(&mut kept, label)?;
        let change = Change {
            operation: operation(&names),
            actor: None,
        };
        let (mut kept, applied) = changed(kept, caller, label, change, None)?;
        let blocks = names_in(&mut kept, label)?;
        match kept.save() {
            Ok(()) => return Ok(OwnChange { applied, blocks }),
            Err(error) if error.kind == ErrorKind::Conflict && tries < TRIES => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The names of the blocks of a registry, in order; none where there is no registry.
fn names_in(kept: &mut KeptRegistries, label: &str) -> Result<Vec<String>, Error> {
    if !has(&kept.registries, label) {
        return Ok(Vec::new());
    }
    let view = kept.registries.view(label)?;
    Ok(view.blocks().map(|block| block.name().to_owned()).collect())
}

/// What a change did, as it is answered.
fn said<Block>(label: &str, done: &Applied<Block>) -> Value {
    let held = done.kept.iter().map(|kept| json!({ "name": kept.name, "writer": kept.writer }));
    json!({
        "registry": label,
        "number": done.number,
        "removed": done.removed,
        "kept": held.collect::<Vec<_>>(),
        "lowered": done.lowered,
    })
}

/// The operation, whose objects are of the caller's tenant, and by the registry that acts; and those of them that have
/// less authority than they asked for.
fn operation(
    mut said: Value,
    caller: &Caller,
    registries: &Registries,
    by: &Capability,
) -> Result<(Op<String>, Vec<LoweredAuthority>), Error> {
    let mut lowered = Vec::new();
    for field in ["object", "prefix", "suffix"] {
        if let Some(object) = said.get_mut(field).filter(|object| object.is_object()) {
            let within = format!("operation.{field}");
            let mut document: ObjectDocument = read_field(object.take(), &within)?;
            own(&mut document, caller)?;
            document.complete().in_field(&within)?;
            let asked = document.asked_authority();
            let mut document = registries.authored(by, document)?;
            document.distrust(caller.grant.authority());
            document.check_provenance().in_field(&within)?;
            let sealed = document.clone().seal().in_field(&within)?;
            lowered.extend(LoweredAuthority::of(asked, &sealed));
            *object =
                serde_json::to_value(document).map_err(|error| json_error(&error, &within))?;
        }
    }
    Ok((read_field(said, "operation")?, lowered))
}

pub(crate) fn has(registries: &Registries, label: &str) -> bool {
    registries.labels().any(|known| known == label)
}

fn unknown(label: &str) -> Refusal {
    Error::not_found(format!("there is no registry `{}`", clip(label))).into()
}
