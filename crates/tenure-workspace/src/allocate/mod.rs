//! The verb **allocate**: how a budget is shared among sections or claims, and how another would be.

mod claims;
mod request;

use serde::Serialize;
use tenure::allocate::Certificate;
use tenure::policy::Order;
use tenure::{Error, ErrorKind, Policy};

pub use claims::{Claims, NamedClaim};

/// The inputs and answers of a study.
#[derive(Debug)]
pub struct Study {
    /// μ: how much worth a cost of 1 takes from a token.
    pub sensitivity: f64,
    /// The owner of the weights that are the unit of worth.
    pub whose: &'static str,
    /// The shares of the budget.
    pub shares: Shares,
    /// The shares of other budgets.
    pub what_if: Vec<WhatIf>,
}

/// The shares of one budget.
#[derive(Clone, Debug)]
pub struct Shares {
    /// The budget, in tokens.
    pub budget: u32,
    /// The tokens that are mandatory before anything is shared; `None` for numbers.
    pub mandatory: Option<u32>,
    /// The worth of one more token.
    pub lambda: f64,
    /// The proof that no other allocation is worth more.
    pub certificate: Certificate,
    /// The share of each section.
    pub rows: Vec<Row>,
}

/// The share of a section.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The section, or the claim's name.
    pub section: String,
    /// The least tokens that it gets, if it asks for so many.
    pub min: u32,
    /// The most tokens that it gets; 0 for no limit.
    pub max: u32,
    /// The tokens that it asks for.
    pub demand: u32,
    /// The cost of a token.
    pub cost: f64,
    /// The tokens that it gets.
    pub allocated: u32,
    /// The tokens that it used, after a compile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used: Option<u32>,
    /// The tokens of other sections that it used, after a compile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_back: Option<u32>,
    /// The worth of one more token here.
    pub marginal: f64,
}

/// The shares of another budget, or the error.
#[derive(Debug)]
pub struct WhatIf {
    /// The budget, in tokens.
    pub budget: u32,
    /// The shares.
    pub shares: Result<Shares, Error>,
}

/// The other budgets: those that are asked for, or some around this one; each once, in order.
fn budgets(budget: u32, asked: &[u32]) -> Vec<u32> {
    let mut budgets = asked.to_vec();
    if asked.is_empty() {
        let whole = u64::from(budget);
        let around = [whole / 2, whole * 3 / 4, whole, whole * 3 / 2, whole * 2];
        budgets = around.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX).max(1)).to_vec();
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
    if asked.contains(&0) {
        let error = Error::input("the budget is 0 tokens").at("what_if", None);
        return Err(error.expected("at least 1"));
    }
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
///
/// # Errors
///
/// [`ErrorKind::Policy`], naming it.
pub fn must_share(policy: &Policy) -> Result<(), Error> {
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
#[derive(Debug, Serialize)]
pub struct StudyJson<'s> {
    budget: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    mandatory: Option<u32>,
    lambda: f64,
    sensitivity: f64,
    certificate: Certificate,
    allocations: &'s [Row],
    what_if: Vec<WhatIfJson<'s>>,
}

#[derive(Debug, Serialize)]
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

#[derive(Debug, Serialize)]
struct ShareJson<'s> {
    section: &'s str,
    allocated: u32,
}

impl Study {
    /// The answer as the faces print it.
    pub fn json(&self) -> StudyJson<'_> {
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

impl Shares {
    /// The tokens of all shares together.
    pub fn allocated(&self) -> u32 {
        self.rows.iter().map(|row| row.allocated).sum()
    }

    /// The share of a section; 0 where it has none.
    pub fn of(&self, section: &str) -> u32 {
        self.rows
            .iter()
            .find(|row| row.section == section)
            .map_or(0, |row| row.allocated)
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
    pub fn cap(&self) -> u32 {
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
