//! Shares from numbers: demands under a policy, or claims in a file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use tenure::allocate::{Claim, Problem};
use tenure::error::parse_error;
use tenure::section::Section;
use tenure::{Error, ErrorKind};
use tenure_workspace::{Workspace, read_text};

use super::{Row, Shares, Study, must_share, what_if};
use crate::args::AllocateArgs;

/// Claims with their names.
struct Claims {
    names: Vec<String>,
    claims: Vec<Claim>,
    sensitivity: f64,
    whose: &'static str,
    /// The file that they come from.
    source: String,
}

/// Shares each budget.
pub(super) fn study(args: &AllocateArgs) -> Result<Study, Error> {
    let Some(budget) = args.compile.budget else {
        return Err(Error::new(ErrorKind::Usage, "there is no budget").expected("--budget N"));
    };
    if budget == 0 {
        return Err(Error::new(ErrorKind::Usage, "the budget is 0 tokens").expected("at least 1"));
    }
    let mut claims = match &args.claims {
        Some(path) => from_file(path)?,
        None => from_demands(&args.demands, &args.compile.policy)?,
    };
    claims.sensitivity = args.sensitivity.unwrap_or(claims.sensitivity);
    let shares = claims.share(budget)?;
    let what_if = what_if(&shares, &args.what_if, |budget| claims.share(budget))?;
    Ok(Study {
        sensitivity: claims.sensitivity,
        whose: claims.whose,
        shares,
        what_if,
    })
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
    let source = policy.to_owned();
    // Sharing frames nothing, so no key is needed.
    let policy = Workspace::without_key()?.policy(policy)?;
    must_share(&policy)?;
    let claim = |(section, demand): (&Section, &u32)| {
        let settings = policy.section(*section);
        Claim {
            weight: settings.weight,
            alpha: settings.alpha,
            beta: settings.beta,
            min: settings.min,
            max: settings.max,
            demand: *demand,
            cost: settings.cost,
        }
    };
    Ok(Claims {
        names: asked.keys().map(Section::to_string).collect(),
        claims: asked.iter().map(claim).collect(),
        sensitivity: policy.document().cost_sensitivity,
        whose: "the policy's",
        source: format!("policy {source}"),
    })
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

/// A claim as it stands in a file. What it leaves out is a claim's default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct NamedClaim {
    name: String,
    weight: f64,
    alpha: f64,
    beta: f64,
    min: u32,
    max: u32,
    demand: u32,
    cost: f64,
}

impl Default for NamedClaim {
    fn default() -> NamedClaim {
        let claim = Claim::default();
        NamedClaim {
            name: String::new(),
            weight: claim.weight,
            alpha: claim.alpha,
            beta: claim.beta,
            min: claim.min,
            max: claim.max,
            demand: claim.demand,
            cost: claim.cost,
        }
    }
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
    if file.claims.is_empty() {
        return Err(Error::input("there are no claims")
            .at(&source, None)
            .expected("`claims`, each with a `name` and a `demand`"));
    }
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, claim) in file.claims.iter().enumerate() {
        let bad = |what: String| Error::input(what).at(&source, None);
        if claim.name.trim().is_empty() {
            return Err(bad(format!("claim {} has no name", at + 1)).expected("a `name`"));
        }
        if let Some(first) = places.insert(&claim.name, at) {
            let (first, second) = (first + 1, at + 1);
            let what = format!(
                "claims {first} and {second} are both named `{}`",
                claim.name
            );
            return Err(bad(what).expected("a name for each claim"));
        }
    }
    let claim = |claim: &NamedClaim| Claim {
        weight: claim.weight,
        alpha: claim.alpha,
        beta: claim.beta,
        min: claim.min,
        max: claim.max,
        demand: claim.demand,
        cost: claim.cost,
    };
    Ok(Claims {
        claims: file.claims.iter().map(claim).collect(),
        names: file.claims.into_iter().map(|claim| claim.name).collect(),
        sensitivity: file.sensitivity,
        whose: "the claims'",
        source,
    })
}

/// The line where a span begins, counted from one.
fn line(text: &str, span: Range<usize>) -> usize {
    1 + text.as_bytes()[..span.start.min(text.len())]
        .iter()
        .filter(|byte| **byte == b'\n')
        .count()
}

impl Claims {
    fn share(&self, budget: u32) -> Result<Shares, Error> {
        let problem = Problem::new(&self.claims, budget)
            .and_then(|problem| problem.with_sensitivity(self.sensitivity))
            .map_err(|error| self.named(error))?;
        let allocation = problem.solve();
        let shares = allocation.tokens.iter().zip(&allocation.marginals);
        let rows = self.names.iter().zip(&self.claims).zip(shares).map(
            |((name, claim), (allocated, marginal))| Row {
                section: name.clone(),
                min: claim.min,
                max: claim.max,
                demand: claim.demand,
                cost: claim.cost,
                allocated: *allocated,
                used: None,
                flow_back: None,
                marginal: *marginal,
            },
        );
        Ok(Shares {
            budget,
            mandatory: None,
            lambda: allocation.certificate.lambda.unwrap_or(0.0),
            certificate: allocation.certificate,
            rows: rows.collect(),
        })
    }

    /// The library counts the claims; here they have names.
    fn named(&self, error: Error) -> Error {
        let what = self.names.iter().enumerate().find_map(|(at, name)| {
            let rest = error.what.strip_prefix(&format!("section {}: ", at + 1))?;
            Some(format!("claim `{name}`: {rest}"))
        });
        Error {
            what: what.unwrap_or_else(|| error.what.clone()),
            ..error
        }
        .or_at(&self.source, None)
    }
}
