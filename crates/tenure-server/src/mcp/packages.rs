//! Packages of the folder that a process works in. A server that listens has none: it reads no file for its callers.

use std::collections::BTreeMap;

use tenure::object::clip;
use tenure::package::{
    ContextActivation, ContextBudget, Engine, LabelTable, PackageEnvelope, Plan, RetrievalRecipe,
    Shown,
};
use tenure::{Error, ErrorKind, ObjectDocument};
use tenure_workspace::DEFAULT_MODEL;
use tenure_workspace::packages::{Bearing, Packages, Sent};

use super::forms::{Activate, ActivatedForm, Pack, PackedForm};
use super::{Bound, McpTool};
use tenure_operations::fields::InField;

fn all(bound: &Bound) -> Result<&Packages, Error> {
    bound.packages.as_deref().ok_or_else(|| {
        let what = "there are no packages here: this server reads no files";
        Error::new(ErrorKind::Unavailable, what)
    })
}

/// The names of the packages; none where there are no packages.
pub(super) fn names(bound: &Bound) -> Result<Vec<String>, Error> {
    match &bound.packages {
        Some(packages) => Ok(packages.list()?.into_iter().map(|one| one.name).collect()),
        None => Ok(Vec::new()),
    }
}

/// A package by its name or id. A path is neither.
fn find(bound: &Bound, reference: &str) -> Result<PackageEnvelope, Error> {
    let packages = all(bound)?;
    let is_path = reference.ends_with(".json") || reference.contains(['/', '\\']);
    if is_path {
        let what = format!("there is no package `{}`", clip(reference));
        return Err(Error::not_found(what).expected("the name or the id of a package"));
    }
    packages.find(reference)
}

/// Calls `done` with what packing and activating go by, for a model.
fn with_bearing<T>(
    bound: &Bound,
    model: &str,
    done: impl FnOnce(&Bearing<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let world = bound.app.world(model)?;
    done(&Bearing {
        caller: &bound.principal,
        labels: &bound.app.settings.labels,
        decider: None,
        tokenizer: world.tokenizer(),
        now: bound.app.now(),
        summaries: &BTreeMap::new(),
        embedder: None,
    })
}

/// Reads what the caller may see of a package. Nothing is recorded.
pub(super) fn read(
    bound: &Bound,
    reference: &str,
    target: &str,
) -> Result<ContextActivation, Error> {
    let envelope = find(bound, reference)?;
    let model = envelope.package.budget.model.clone();
    let sent = Sent::new(envelope, &[&bound.app.settings.labels as &LabelTable]);
    with_bearing(bound, &model, |bearing| {
        Ok(sent.activate(target, Shown::Framed, bearing)?.activation)
    })
}

/// The items of the packages that are active, as far as the caller may see them, where activating is among the tools.
pub(super) fn active(bound: &Bound) -> Result<Vec<ObjectDocument>, Error> {
    let Some(packages) = &bound.packages else {
        return Ok(Vec::new());
    };
    if !bound.tools.contains(&McpTool::Activate) {
        return Ok(Vec::new());
    }
    with_bearing(bound, DEFAULT_MODEL, |bearing| {
        let mut documents = Vec::new();
        for activation in packages.activations(false)? {
            match packages.candidates(&activation.id, bearing) {
                Ok(items) => documents.extend(items),
                // One that has expired, or that is not for this caller, has none.
                Err(error) if error.kind == ErrorKind::Policy => {}
                Err(error) => return Err(error),
            }
        }
        Ok(documents)
    })
}

/// Activates a package: its items stand in the compiles of its target from now on.
pub(super) fn activate(bound: &Bound, asked: &Activate) -> Result<ActivatedForm, Error> {
    let envelope = find(bound, &asked.package).in_field("package")?;
    let packages = all(bound)?;
    let model = &envelope.package.budget.model;
    let target = asked.target.as_deref().unwrap_or_default();
    let (activation, _) = with_bearing(bound, model, |bearing| {
        let done = packages.activate(&envelope, target, Shown::Framed, bearing);
        done.in_field("target")
    })?;
    Ok(ActivatedForm {
        id: activation.id,
        content: activation.content,
        tokens: activation.tokens,
        withheld: activation.policy_results.withheld,
    })
}

/// Packs what a query finds in files of the folder.
pub(super) fn pack(bound: &Bound, asked: Pack) -> Result<PackedForm, Error> {
    let packages = all(bound)?;
    let sources = asked.sources.iter().map(|path| {
        let below = packages.root().join(path);
        packages.name_of(&below).in_field("sources")
    });
    let kind = match (asked.search, asked.query.starts_with('$')) {
        (true, _) => Engine::Search,
        (false, true) => Engine::Jsonpath,
        (false, false) => Engine::Selector,
    };
    let plan = Plan {
        name: asked.name.clone(),
        title: asked.name,
        recipes: vec![RetrievalRecipe {
            engine: None,
            kind,
            limit: None,
            paths: Vec::new(),
            query: asked.query,
            sources: sources.collect::<Result<_, _>>()?,
            vectors: None,
        }],
        budget: ContextBudget {
            max_tokens: asked.tokens,
            ..ContextBudget::default()
        },
        ..Plan::default()
    };
    let model = plan.budget.model.clone();
    let packed = with_bearing(bound, &model, |bearing| {
        packages.pack(plan, bearing).in_field("query")
    })?;
    Ok(PackedForm {
        id: packed.id,
        name: packed.name,
        version: packed.version,
        is_proposal: packed.is_proposal,
        items: packed.package.items.len(),
        tokens: packed.package.tokens(),
        withheld: packed.filtered.len(),
    })
}
