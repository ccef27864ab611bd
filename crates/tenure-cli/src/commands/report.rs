//! `tenure report`: a compile, a request or a conversation as one page that opens offline.

// A build without the pages has no use for the rest.
#![cfg_attr(not(feature = "inspector"), allow(unused_imports))]

use std::path::Path;

use tenure::{Error, ErrorKind};
use tenure_workspace::{Workspace, default_frame_key_path, write_whole};

use super::{print_bytes, read_or_stdin, with_models};
use crate::args::ReportArgs;
use crate::failure::{Failure, printable};

#[cfg(not(feature = "inspector"))]
pub(crate) fn run(_: &ReportArgs) -> Result<(), Failure> {
    Err(Error::without_feature("pages", "inspector").into())
}

/// Writes the page.
#[cfg(feature = "inspector")]
pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    let path = Path::new(&args.what);
    let weights = weights(args)?;
    let made = if args.what == "-" || path.exists() {
        of_file(args, path, weights.as_deref())
    } else {
        of_store(args, weights.as_deref())
    };
    let page = made.map_err(|error| in_weights(args, error))?;
    let Some(out) = &args.out else {
        return print_bytes(page.as_bytes());
    };
    write_whole(out, page.as_bytes())?;
    let shown = printable(&out.display().to_string());
    anstream::eprintln!(
        "{shown}: {} bytes",
        super::models::grouped(page.len() as u64)
    );
    Ok(())
}

/// The text of the weights that are to be laid over the payload.
#[cfg(feature = "inspector")]
fn weights(args: &ReportArgs) -> Result<Option<String>, Error> {
    let Some(path) = &args.attention else {
        return Ok(None);
    };
    if args.what == "-" && path.as_os_str() == "-" {
        let what = "standard input cannot be both the trace and the weights";
        return Err(Error::input(what).hint("write one of them to a file"));
    }
    read_or_stdin(path).map(Some)
}

/// A fault of the weights, with the name of their file.
#[cfg(feature = "inspector")]
fn in_weights(args: &ReportArgs, error: Error) -> Error {
    let (Some(path), Some(at)) = (&args.attention, error.at.clone()) else {
        return error;
    };
    match at.source.strip_prefix("attention") {
        Some(place) => error.at(format!("{}{place}", path.display()), at.line),
        None => error,
    }
}

/// The page of a trace, or of the output of a compile.
#[cfg(feature = "inspector")]
fn of_file(args: &ReportArgs, path: &Path, weights: Option<&str>) -> Result<String, Error> {
    let text = read_or_stdin(path)?;
    let workspace = super::without_key(&args.catalogue)?;
    let named = match path.file_name() {
        Some(name) if args.what != "-" => name.to_string_lossy().into_owned(),
        _ => "from standard input".to_owned(),
    };
    tenure_inspector::report_text(&workspace, &named, &text, weights).map_err(|error| {
        let at = error.at.as_ref();
        if at.is_some_and(|at| at.source.starts_with("attention")) {
            return error;
        }
        let line = at.and_then(|at| at.line);
        error.at(path.display().to_string(), line)
    })
}

/// The page of a record, or of a session.
#[cfg(feature = "inspector")]
fn of_store(args: &ReportArgs, weights: Option<&str>) -> Result<String, Error> {
    let no_file = |error: Error| match error.kind {
        ErrorKind::NotFound => {
            error.expected("a file with a trace, or the id of a record or of a session")
        }
        _ => error,
    };
    let store = super::stores::existing(&args.url, "tenure serve").map_err(|error| match error.kind {
        ErrorKind::NotFound => {
            let what = format!("there is no file `{}`, and no store that could hold a record or a session of that id", tenure::object::clip(&args.what));
            no_file(Error::not_found(what)).hint("`tenure compile … --trace FILE` writes a trace; --store names a store")
        }
        _ => error,
    })?;
    let tenant = store.tenant(&args.tenant)?;
    let frame_key = match &args.frame_key {
        Some(path) => path.clone(),
        None => default_frame_key_path()?,
    };
    let workspace = with_models(Workspace::open(&frame_key)?, &args.catalogue)?;
    tenure_inspector::report_stored(&workspace, &tenant, &args.what, weights).map_err(no_file)
}
