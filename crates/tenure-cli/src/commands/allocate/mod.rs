//! `tenure allocate`: how a budget is shared among the sections, and how another would be.

mod from_numbers;
mod from_request;
mod table;

use serde::Serialize;
use tenure::allocate::Certificate;
use tenure::policy::Order;
use tenure::{Error, ErrorKind, Policy};

use super::print_json;
use crate::args::{AllocateArgs, Format};
use crate::failure::Failure;
use crate::report;

/// The inputs and answers of a study.
struct Study {
    /// μ: how much worth a cost of 1 takes from a token.
    sensitivity: f64,
    /// The owner of the weights that are the unit of worth.
    whose: &'static str,
    shares: Shares,
    what_if: Vec<WhatIf>,
}

/// The shares of one budget.
#[derive(Clone)]
struct Shares {
    budget: u32,
    /// The tokens that are mandatory before anything is shared; `None` for numbers.
    mandatory: Option<u32>,
    /// The worth of one more token.
    lambda: f64,
    certificate: Certificate,
    rows: Vec<Row>,
}

/// The share of a section.
#[derive(Clone, Serialize)]
struct Row {
    section: String,
    min: u32,
    max: u32,
    demand: u32,
    cost: f64,
    allocated: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow_back: Option<u32>,
    marginal: f64,
}

/// The shares of another budget, or the error.
struct WhatIf {
    budget: u32,
    shares: Result<Shares, Error>,
}

/// Shares and prints.
pub(crate) fn run(args: &AllocateArgs) -> Result<(), Failure> {
    let compile = &args.compile;
    if args.what_if.contains(&0) {
        let error = Error::new(ErrorKind::Usage, "--what-if: the budget is 0 tokens");
        return Err(error.expected("at least 1").into());
    }
    let study = if args.claims.is_some() || !args.demands.is_empty() {
        from_numbers::study(args)?
    } else if compile.sources.is_empty()
        && compile.reading.read_as.is_empty()
        && compile.task.is_none()
        && compile.task_file.is_none()
        && compile.request.is_none()
    {
        let error = Error::new(
            ErrorKind::Usage,
            "there is no section or claim to share the budget among",
        );
        let expected = "--demand SECTION=TOKENS, --claims FILE, or sources and a --task";
        return Err(error.expected(expected).into());
    } else {
        from_request::study(args)?
    };
    match compile.format {
        Format::Json => print_json(&study.json()),
        Format::Text => report::put(&study.text()),
    }
}

/// The other budgets: those that are asked for, or some around this one; each once, in order.
fn budgets(budget: u32, asked: &[u32]) -> Vec<u32> {
    let mut budgets = asked.to_vec();
    if asked.is_empty() {
        let whole = u64::from(budget);
        let around = [whole / 2, whole * 3 / 4, whole, whole * 3 / 2, whole * 2];
        let fits = |tokens: u64| u32::try_from(tokens).unwrap_or(u32::MAX).max(1);
        budgets = around.map(fits).to_vec();
    }
    budgets.sort_unstable();
    budgets.dedup();
    budgets
}

/// Answers for the other budgets. What one does not allow is its own row's answer; only a bug ends
/// them all.
fn what_if(
    shares: &Shares,
    asked: &[u32],
    mut share: impl FnMut(u32) -> Result<Shares, Error>,
) -> Result<Vec<WhatIf>, Error> {
    let mut rows = Vec::new();
    for budget in budgets(shares.budget, asked) {
        let shares = if budget == shares.budget {
            Ok(shares.clone())
        } else {
            share(budget)
        };
        match shares {
            Err(error) if error.kind == ErrorKind::Internal => return Err(error),
            shares => rows.push(WhatIf { budget, shares }),
        }
    }
    Ok(rows)
}

/// Refuses a policy whose sections share nothing.
fn must_share(policy: &Policy) -> Result<(), Error> {
    let document = policy.document();
    if document.order == Order::Sections {
        return Ok(());
    }
    let what = format!(
        "the policy `{}` shares no budget: its sections are one flow",
        document.name
    );
    Err(Error::new(ErrorKind::Policy, what).expected("a policy with `order = \"sections\"`"))
}

/// The answer as JSON.
#[derive(Serialize)]
struct StudyJson<'s> {
    budget: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    mandatory: Option<u32>,
    lambda: f64,
    sensitivity: f64,
    certificate: Certificate,
    allocations: &'s [Row],
    what_if: Vec<WhatIfJson<'s>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WhatIfJson<'s> {
    Shared {
        budget: u32,
        lambda: f64,
        allocations: Vec<ShareJson<'s>>,
    },
    Refused {
        budget: u32,
        error: &'s str,
    },
}

#[derive(Serialize)]
struct ShareJson<'s> {
    section: &'s str,
    allocated: u32,
}

impl Study {
    fn json(&self) -> StudyJson<'_> {
        StudyJson {
            budget: self.shares.budget,
            mandatory: self.shares.mandatory,
            lambda: self.shares.lambda,
            sensitivity: self.sensitivity,
            certificate: self.shares.certificate,
            allocations: &self.shares.rows,
            what_if: self.what_if.iter().map(WhatIf::json).collect(),
        }
    }
}

impl WhatIf {
    fn json(&self) -> WhatIfJson<'_> {
        let budget = self.budget;
        match &self.shares {
            Err(error) => WhatIfJson::Refused {
                budget,
                error: &error.what,
            },
            Ok(shares) => WhatIfJson::Shared {
                budget,
                lambda: shares.lambda,
                allocations: shares.rows.iter().map(Row::share).collect(),
            },
        }
    }
}

impl Row {
    fn share(&self) -> ShareJson<'_> {
        ShareJson {
            section: &self.section,
            allocated: self.allocated,
        }
    }

    /// The most tokens that are of use.
    fn cap(&self) -> u32 {
        match self.max {
            0 => self.demand,
            max => self.demand.min(max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::budgets;

    #[test]
    fn other_budgets_stand_in_order_and_once() {
        assert_eq!(budgets(1_000, &[]), [500, 750, 1_000, 1_500, 2_000]);
        assert_eq!(budgets(1_000, &[9, 3, 9]), [3, 9]);
        assert_eq!(budgets(1, &[]), [1, 2]);
        assert_eq!(budgets(u32::MAX, &[]).last(), Some(&u32::MAX));
    }
}
