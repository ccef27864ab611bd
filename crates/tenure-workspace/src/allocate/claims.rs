//! Shares from numbers: demands under a policy, or claims.

use std::collections::BTreeMap;

use serde::Deserialize;
use tenure::allocate::{Claim, Problem};
use tenure::section::Section;
use tenure::{Error, Policy};

use super::{Row, Shares, Study, must_share, what_if};

/// Claims with their names.
#[derive(Debug)]
pub struct Claims {
    names: Vec<String>,
    claims: Vec<Claim>,
    sensitivity: f64,
    whose: &'static str,
    /// The name in errors of what they come from.
    source: String,
}

/// A claim as it is written. What it leaves out is a claim's default.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NamedClaim {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: f64,
    /// The curvature of its worth.
    pub alpha: f64,
    /// The tokens from which on more is worth less.
    pub beta: f64,
    /// The least tokens that it gets, if it asks for so many.
    pub min: u32,
    /// The most tokens that it gets; 0 for no limit.
    pub max: u32,
    /// The tokens that it asks for.
    pub demand: u32,
    /// The cost of a token.
    pub cost: f64,
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

impl Claims {
    /// The demands of sections, with the rest as the policy says.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`](tenure::ErrorKind::Policy) when the policy's sections share nothing.
    pub fn from_demands(
        asked: &BTreeMap<Section, u32>,
        policy: &Policy,
        source: &str,
    ) -> Result<Claims, Error> {
        must_share(policy)?;
        Ok(Claims {
            names: asked.keys().map(Section::to_string).collect(),
            claims: asked
                .iter()
                .map(|(section, demand)| {
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
                })
                .collect(),
            sensitivity: policy.document().cost_sensitivity,
            whose: "the policy's",
            source: source.to_owned(),
        })
    }

    /// These claims, each with a name of its own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there are none, or a name is missing or stands twice.
    pub fn named(
        written: Vec<NamedClaim>,
        sensitivity: f64,
        source: &str,
    ) -> Result<Claims, Error> {
        let bad = |what: String| Error::input(what).at(source, None);
        if written.is_empty() {
            return Err(bad("there are no claims".to_owned())
                .expected("`claims`, each with a `name` and a `demand`"));
        }
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, claim) in written.iter().enumerate() {
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
            claims: written.iter().map(claim).collect(),
            names: written.into_iter().map(|claim| claim.name).collect(),
            sensitivity,
            whose: "the claims'",
            source: source.to_owned(),
        })
    }

    /// Returns the claims with another cost sensitivity (μ).
    #[must_use]
    pub fn with_sensitivity(self, sensitivity: Option<f64>) -> Claims {
        Claims {
            sensitivity: sensitivity.unwrap_or(self.sensitivity),
            ..self
        }
    }

    /// Shares a budget, and other budgets: those that are asked for, or some around this one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when a number makes no sense.
    pub fn study(&self, budget: u32, others: &[u32]) -> Result<Study, Error> {
        let shares = self.share(budget)?;
        let what_if = what_if(&shares, others, |budget| self.share(budget))?;
        Ok(Study {
            sensitivity: self.sensitivity,
            whose: self.whose,
            shares,
            what_if,
        })
    }

    fn share(&self, budget: u32) -> Result<Shares, Error> {
        let problem = Problem::new(&self.claims, budget)
            .and_then(|problem| problem.with_sensitivity(self.sensitivity))
            .map_err(|error| self.told(error))?;
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
    fn told(&self, error: Error) -> Error {
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
