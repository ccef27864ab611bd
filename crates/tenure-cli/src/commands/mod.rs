//! One file for each command.

pub(crate) mod allocate;
pub(crate) mod belief;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod condense;
pub(crate) mod conflicts;
pub(crate) mod context;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod entity;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod gate;
mod gates;
pub(crate) mod generate;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod models;
mod operation;
pub(crate) mod outcome;
mod prepare;
pub(crate) mod query;
pub(crate) mod reading;
pub(crate) mod registry;
pub(crate) mod rehydrate;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod run;
pub(crate) mod schema;
#[cfg_attr(not(feature = "server"), allow(unused_imports))]
pub(crate) mod serve;
pub(crate) mod session;
pub(crate) mod setup;
pub(crate) mod skills;
pub(crate) mod store;
mod stores;
pub(crate) mod tokens;
pub(crate) mod trust;
mod written;

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tenure::policy::{PolicyDocument, Scorer};
use tenure::time::Instant;
use tenure::{Error, ErrorKind, Policy, Principal};
use tenure_store::Store;
use tenure_workspace::decompose::Decomposer;
use tenure_workspace::embed::Embedder;
use tenure_workspace::{
    Originals, RelevanceScorer, Workspace, default_catalogue_path, default_frame_key_path,
    default_originals_path, read_text,
};

use crate::args::{
    CallerArgs, CatalogueArgs, EmbedderArgs, OriginalsArgs, RelevanceArgs, SearchEmbedderArgs,
    StoreUrl,
};
use crate::failure::{Failure, printable, warning};

/// Prints what somebody should know, once however often it is come upon.
fn note(text: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.insert(text.to_owned()) {
        warning(text);
    }
}

/// The workspace with the models that the arguments name, or else the user's own.
fn with_models(workspace: Workspace, args: &CatalogueArgs) -> Result<Workspace, Error> {
    match args.catalogue.clone().or_else(default_catalogue_path) {
        Some(path) => workspace.load_catalogue(&path),
        None => Ok(workspace),
    }
}

/// Speaks for the caller that the arguments name, as far as they name one.
fn speak(principal: &mut Principal, args: &CallerArgs) -> Result<(), Error> {
    if let Some(class) = &args.clearance {
        principal.clearance = flagged("--clearance", class.parse())?;
    }
    principal.user = args.user.clone().or(principal.user.take());
    principal.project = args.project.clone().or(principal.project.take());
    principal.roles.extend(args.roles.iter().cloned());
    principal.session = args.session.clone().or(principal.session.take());
    principal.task = args.task_id.clone().or(principal.task.take());
    principal.origins.extend(args.origins.iter().cloned());
    principal.pii_authorized = args.pii.unwrap_or(principal.pii_authorized);
    Ok(())
}

/// The workspace with the encoder that the arguments name.
fn with_embedder(workspace: Workspace, args: &EmbedderArgs) -> Result<Workspace, Error> {
    Ok(match embedder(args)? {
        Some(embedder) => workspace.with_embedder(embedder),
        None => workspace,
    })
}

/// The workspace with the encoder and the scorer that the arguments name.
fn with_relevance(workspace: Workspace, args: &RelevanceArgs) -> Result<Workspace, Error> {
    let workspace = with_embedder(workspace, &args.embedder)?;
    let workspace = match scorer(args)? {
        Some(scorer) => workspace.with_scorer(scorer),
        None => workspace,
    };
    Ok(match decomposer(args)? {
        Some(decomposer) => workspace.with_decomposer(decomposer),
        None => workspace,
    })
}

/// Returns the decomposer of queries that the arguments name.
fn decomposer(args: &RelevanceArgs) -> Result<Option<Box<dyn Decomposer>>, Error> {
    args.decomposer
        .as_ref()
        .map(|path| tenure_workspace::decompose::open(path))
        .transpose()
}

/// The encoder that the arguments name.
fn embedder(args: &EmbedderArgs) -> Result<Option<Box<dyn Embedder>>, Error> {
    opened(args.embedder.as_deref(), args.onnxruntime.as_deref())
}

/// The encoder that the arguments of a search name.
fn search_embedder(args: &SearchEmbedderArgs) -> Result<Option<Box<dyn Embedder>>, Error> {
    opened(args.embedder.as_deref(), args.onnxruntime.as_deref())
}

fn opened(
    encoder: Option<&Path>,
    library: Option<&Path>,
) -> Result<Option<Box<dyn Embedder>>, Error> {
    encoder.map(|path| tenure_workspace::embed::open(path, library)).transpose()
}

/// The scorer that the arguments name.
fn scorer(args: &RelevanceArgs) -> Result<Option<Box<dyn RelevanceScorer>>, Error> {
    let library = args.embedder.onnxruntime.as_deref();
    args.scorer
        .as_ref()
        .map(|path| tenure_workspace::relevance::open(path, library))
        .transpose()
}

/// The policy that asks the scorer which the arguments name, or as it is where they name none.
fn asking_scorer(policy: Policy, args: &RelevanceArgs) -> Result<Policy, Error> {
    match &args.scorer {
        None => Ok(policy),
        Some(_) => Policy::seal(PolicyDocument {
            scorer: Scorer::Supplied,
            ..policy.document().clone()
        }),
    }
}

/// A workspace for what frames nothing, and so needs no key.
fn without_key(args: &CatalogueArgs) -> Result<Workspace, Error> {
    with_models(Workspace::without_key()?, args)
}

/// The text of a file, or of standard input where it is `-`.
fn read_or_stdin(path: &Path) -> Result<String, Error> {
    if path != Path::new("-") {
        return read_text(path);
    }
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(|error| {
        Error::input(format!("cannot read standard input: {error}")).expected("UTF-8 text")
    })?;
    Ok(text)
}

/// A workspace with the places where its originals may be, with the store as it is opened: that to which they go comes
/// first.
fn with_originals(
    args: &OriginalsArgs,
    store: fn(&StoreUrl) -> Result<Option<Store>, Error>,
) -> Result<(Workspace, Vec<Originals>), Error> {
    let frame_key = match &args.frame_key {
        Some(path) => path.clone(),
        None => default_frame_key_path()?,
    };
    let workspace = Workspace::open(&frame_key)?;
    if let Some(folder) = &args.originals {
        return Ok((workspace, vec![Originals::at(folder)]));
    }
    let store = store(&args.url)?;
    let tenant = store.map(|store| store.tenant(&args.tenant)).transpose()?;
    let folder = default_originals_path().map(Originals::at);
    Ok(match tenant {
        Some(tenant) => {
            let kept = std::iter::once(Originals::in_store(tenant));
            (workspace, kept.chain(folder.ok()).collect())
        }
        None => (workspace, vec![folder?]),
    })
}

/// Returns the error as a mistake in the call.
fn usage<T>(result: Result<T, Error>) -> Result<T, Error> {
    result.map_err(|error| Error {
        kind: ErrorKind::Usage,
        ..error
    })
}

/// Returns the error as a mistake in the value of a flag.
fn flagged<T>(flag: &str, result: Result<T, Error>) -> Result<T, Error> {
    usage(result).map_err(|error| Error {
        what: format!("{flag}: {}", error.what),
        ..error
    })
}

/// The instant that a flag names.
fn instant(text: &str, flag: &str) -> Result<Instant, Error> {
    flagged(flag, text.parse())
}

/// Writes data to standard output as it is; on a terminal, without what could steer it.
fn print_bytes(content: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    if out.is_terminal() {
        let text = printable(&String::from_utf8_lossy(content));
        out.write_all(text.as_bytes())?;
        if !text.is_empty() && !text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
    } else {
        out.write_all(content)?;
    }
    out.flush()?;
    Ok(())
}

/// Writes data to standard output.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes a value as pretty JSON.
fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// The name of a target or format, of which `anthropic` is short for one.
fn whole_name(name: &str) -> &str {
    match name {
        "anthropic" => "anthropic-messages",
        name => name,
    }
}
