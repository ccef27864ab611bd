//! Shares from numbers: demands under a policy, or claims in a file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use tenure::error::parse_error;
use tenure::section::Section;
use tenure::{Error, ErrorKind};
use tenure_workspace::allocate::{Claims, NamedClaim, Study};
use tenure_workspace::{Workspace, read_text};

use crate::args::AllocateArgs;

/// Shares each budget.
pub(super) fn study(args: &AllocateArgs) -> Result<Study, Error> {
    let Some(budget) = args.compile.budget else {
        return Err(Error::new(ErrorKind::Usage, "there is no budget").expected("--budget N"));
    };
    if budget == 0 {
        return Err(Error::new(ErrorKind::Usage, "the budget is 0 tokens").expected("at least 1"));
    }
    let claims = match &args.claims {
        Some(path) => from_file(path)?,
        None => from_demands(&args.demands, &args.compile.policy)?,
    };
    claims.with_sensitivity(args.sensitivity).study(budget, &args.what_if)
}

/// The demands of the arguments, with the rest as the policy says.
fn from_demands(demands: &[String], policy: &str) -> Result<Claims, Error> {
    let mut asked: BTreeMap<Section, u32> = BTreeMap::new();
    for text in demands {
        let (section, tokens) = demand(text)?;
        if asked.insert(section, tokens).is_some() {
            let what = format!("--demand: `{section}` is given twice");
            return Err(Error::new(ErrorKind::Usage, what).expected("each section once"));
        }
    }
    // Sharing frames nothing, so no key is needed.
    let sealed = Workspace::without_key()?.policy(policy)?;
    Claims::from_demands(&asked, &sealed, &format!("policy {policy}"))
}

/// A section and how many tokens it asks for.
fn demand(text: &str) -> Result<(Section, u32), Error> {
    let usage = |what: String| Error::new(ErrorKind::Usage, format!("--demand: {what}"));
    let Some((section, tokens)) = text.split_once('=') else {
        return Err(usage(format!("`{text}` says no number of tokens"))
            .expected("SECTION=TOKENS, such as evidence=40000"));
    };
    let section = section.trim().parse::<Section>().map_err(|error| Error {
        kind: ErrorKind::Usage,
        what: format!("--demand: {}", error.what),
        ..error
    })?;
    let tokens = tokens.trim().parse::<u32>().map_err(|_| {
        usage(format!("`{tokens}` is not a number of tokens"))
            .expected(format!("a whole number from 0 to {}", u32::MAX))
    })?;
    Ok((section, tokens))
}

/// A file of claims.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    claims: Vec<NamedClaim>,
    #[serde(default)]
    sensitivity: f64,
}

/// The claims of a file: JSON where it begins like it, else TOML.
fn from_file(path: &Path) -> Result<Claims, Error> {
    let source = path.display().to_string();
    let text = read_text(path)?;
    let is_json = path.extension().is_some_and(|ending| ending == "json")
        || text.trim_start().starts_with('{');
    let file: File = if is_json {
        serde_json::from_str(&text).map_err(|error| tenure::request::json_error(&error, &source))?
    } else {
        toml::from_str(&text).map_err(|error| {
            parse_error(error.message()).at(&source, error.span().map(|span| line(&text, span)))
        })?
    };
    Claims::named(file.claims, file.sensitivity, &source)
}

/// The line where a span begins, counted from one.
fn line(text: &str, span: Range<usize>) -> usize {
    1 + text.as_bytes()[..span.start.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}
