//! The number of tokens of each section: the exact integer optimum of a concave problem.
//!
//! ```text
//! max Σ wᵢ·αᵢ·ln(1 + (tᵢ − minᵢ)/βᵢ) − μ·Σ cᵢ·tᵢ
//! subject to  Σ tᵢ ≤ B,  minᵢ ≤ tᵢ ≤ min(maxᵢ, demandᵢ)
//! ```
//!
//! The utility is concave, so the optimum takes single tokens in the order of their marginal worth
//! as long as it is above 0. The threshold λ of the continuous problem is found by Newton's
//! method within a bracket; the tokens that are surely above it are taken at once, the few that are
//! left one by one, from a heap. Rounding the continuous optimum instead would be neither optimal nor
//! monotone in B.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::Error;
use crate::base::num::{exp_m1, ln_1p};

/// One section's part of the problem.
///
/// ```
/// use tenure::allocate::{Claim, Problem};
/// let claims = [Claim { demand: 900, ..Claim::default() }, Claim { demand: 900, weight: 2.0, ..Claim::default() }];
/// let allocation = Problem::new(&claims, 1_000)?.solve();
/// assert_eq!(allocation.tokens.iter().sum::<u32>(), 1_000);
/// assert!(allocation.tokens[1] > allocation.tokens[0]);
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Claim {
    /// Relative importance, w.
    pub weight: f64,
    /// Scale of the utility, α.
    pub alpha: f64,
    /// Saturation of the utility in tokens, β.
    pub beta: f64,
    /// Tokens granted before anything is weighed.
    pub min: u32,
    /// The most tokens, or 0 for no limit.
    pub max: u32,
    /// The number of tokens that it can use.
    pub demand: u32,
    /// The cost of a token, c.
    pub cost: f64,
}

impl Default for Claim {
    fn default() -> Claim {
        Claim {
            weight: 1.0,
            alpha: 1.0,
            beta: 1024.0,
            min: 0,
            max: 0,
            demand: 0,
            cost: 0.0,
        }
    }
}

impl Claim {
    /// The most tokens that are of use.
    pub fn cap(&self) -> u32 {
        match self.max {
            0 => self.demand,
            max => self.demand.min(max),
        }
    }

    fn floor(&self) -> u32 {
        self.min.min(self.cap())
    }

    fn check(&self, at: usize) -> Result<(), Error> {
        let bad = |what: String, expected: &str| {
            Err(Error::input(format!("section {}: {what}", at + 1)).expected(expected))
        };
        let not_below = |number: f64| number.is_finite() && number >= 0.0;
        let above = |number: f64| number.is_finite() && number > 0.0;
        let numbers = [
            (
                "weight",
                self.weight,
                not_below(self.weight),
                "a number of at least 0",
            ),
            ("alpha", self.alpha, above(self.alpha), "a number above 0"),
            ("beta", self.beta, above(self.beta), "a number above 0"),
            (
                "cost",
                self.cost,
                not_below(self.cost),
                "a number of at least 0",
            ),
        ];
        for (name, number, fine, expected) in numbers {
            if !fine {
                return bad(format!("`{name}` is {number}"), expected);
            }
        }
        let scale = self.weight * self.alpha;
        if !scale.is_finite() {
            let what = format!("`weight`·`alpha` is {scale}");
            return bad(what, "a finite product");
        }
        if self.max != 0 && self.min > self.max {
            let what = format!("`min` is {}, above `max`, which is {}", self.min, self.max);
            return bad(what, "a minimum of at most the maximum");
        }
        Ok(())
    }
}

/// Claims on a budget.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'c> {
    claims: &'c [Claim],
    budget: u32,
    sensitivity: f64,
}

/// The optimum, with what proves it.
#[derive(Clone, PartialEq, Debug)]
pub struct Allocation {
    /// Tokens for each claim.
    pub tokens: Vec<u32>,
    /// The most tokens that would be worth their price to each claim, were the budget unlimited.
    pub ceilings: Vec<u32>,
    /// The worth of one more token to each claim: 0 or less when it has enough.
    pub marginals: Vec<f64>,
    /// The proof.
    pub certificate: Certificate,
}

/// The proof that no other allocation is worth more: no token that was given is worth less where it is than
/// elsewhere. By concavity, what no exchange of one token improves, nothing improves.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The worth of the least token that was given beyond the minimums, if any was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_given: Option<f64>,
    /// The worth of the best token that was not given: the shadow price λ of the budget. None when
    /// every section has all that it can use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lambda: Option<f64>,
    /// The number of tokens of the budget that are worth less than their price to all.
    pub unspent: u32,
}

impl Certificate {
    /// Returns whether it proves the optimum.
    pub fn holds(&self) -> bool {
        let best = self.lambda.unwrap_or(0.0);
        let no_exchange = self.least_given.is_none_or(|least| least >= best.max(0.0));
        no_exchange && (self.unspent == 0 || self.lambda.is_none_or(|lambda| lambda < 0.0))
    }
}

/// The worth of the token after `above` tokens beyond the minimum.
fn worth(claim: &Claim, above: u32, sensitivity: f64) -> f64 {
    let scale = claim.weight * claim.alpha;
    let utility = if scale > 0.0 {
        scale * ln_1p(1.0 / (claim.beta + f64::from(above)))
    } else {
        // However small its beta: zero times infinity is no number.
        0.0
    };
    utility - sensitivity * claim.cost
}

impl<'c> Problem<'c> {
    /// Claims on a budget, where tokens cost nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when a number is no number, below what it may
    /// be, or a minimum above its maximum; with the claim's place.
    pub fn new(claims: &'c [Claim], budget: u32) -> Result<Problem<'c>, Error> {
        for (at, claim) in claims.iter().enumerate() {
            claim.check(at)?;
        }
        if !claims.is_empty() && claims.iter().all(|claim| claim.weight == 0.0) {
            return Err(Error::input("the weights sum to nothing")
                .expected("at least one section with a weight above 0"));
        }
        Ok(Problem {
            claims,
            budget,
            sensitivity: 0.0,
        })
    }

    /// Returns the problem where a token costs `sensitivity` (μ) times its section's cost.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is no number of at least 0.
    pub fn with_sensitivity(self, sensitivity: f64) -> Result<Problem<'c>, Error> {
        if !(sensitivity.is_finite() && sensitivity >= 0.0) {
            return Err(
                Error::input(format!("the cost sensitivity is {sensitivity}"))
                    .expected("a number of at least 0"),
            );
        }
        for (at, claim) in self.claims.iter().enumerate() {
            let price = sensitivity * claim.cost;
            if !price.is_finite() {
                let what = format!("section {}: sensitivity·`cost` is {price}", at + 1);
                return Err(Error::input(what).expected("a finite product"));
            }
        }
        Ok(Problem {
            sensitivity,
            ..self
        })
    }

    /// The optimum. Minimums are granted in order; tokens of equal worth go to the section that
    /// stands first, so the result is the same every time.
    pub fn solve(&self) -> Allocation {
        let mut left = self.budget;
        let floors: Vec<u32> = self
            .claims
            .iter()
            .map(|claim| {
                let grant = claim.floor().min(left);
                left -= grant;
                grant
            })
            .collect();
        let rooms: Vec<u32> = self.claims.iter().map(|claim| self.room(claim)).collect();
        let wanted: u64 = rooms.iter().map(|room| u64::from(*room)).sum();
        let mut above = vec![0; self.claims.len()];
        if wanted <= u64::from(left) {
            above.clone_from(&rooms);
        } else if left > 0 {
            self.share(left, &rooms, &mut above);
        }
        let ceilings = self.claims.iter().zip(&rooms).map(|(claim, room)| claim.floor() + room);
        Allocation {
            ceilings: ceilings.collect(),
            ..self.proven(&floors, &above)
        }
    }

    /// Returns the number of tokens beyond the minimum that are worth having: worth falls, so they come first.
    fn room(&self, claim: &Claim) -> u32 {
        let most = claim.cap() - claim.floor();
        let price = self.sensitivity * claim.cost;
        if price == 0.0 {
            return most;
        }
        let (mut room, mut end) = (0, most);
        while room < end {
            let middle = room + (end - room) / 2;
            if worth(claim, middle, self.sensitivity) >= 0.0 {
                room = middle + 1;
            } else {
                end = middle;
            }
        }
        room
    }

    /// About how many tokens beyond the minimum are worth at least `lambda`; not a whole number.
    fn count(&self, claim: &Claim, lambda: f64) -> f64 {
        let scale = claim.weight * claim.alpha;
        let price = lambda + self.sensitivity * claim.cost;
        match (scale > 0.0, price > 0.0) {
            (true, true) => (1.0 / exp_m1(price / scale) - claim.beta + 1.0).max(0.0),
            (true, false) => f64::INFINITY,
            (false, _) => 0.0,
        }
    }

    /// Shares out `left` tokens, fewer than are wanted.
    fn share(&self, left: u32, rooms: &[u32], above: &mut [u32]) {
        let lambda = self.threshold(left, rooms);
        // Tokens that are surely above the threshold, if they all fit; a little higher it is certain
        // that they do.
        let mut raised = lambda;
        let mut step = 1e-9;
        loop {
            let mut taken = 0u64;
            for ((claim, room), above) in self.claims.iter().zip(rooms).zip(above.iter_mut()) {
                let count = self.count(claim, raised).min(f64::from(*room));
                // So near to a whole number the last token may be on either side.
                let whole = count as u32;
                let near = count - f64::from(whole) < 1e-6 && whole > 0;
                *above = whole - u32::from(near);
                taken += u64::from(*above);
            }
            if taken <= u64::from(left) {
                break;
            }
            raised = raised * (1.0 + step) + f64::MIN_POSITIVE;
            step *= 2.0;
        }
        let taken: u32 = above.iter().sum();
        let mut heap: BinaryHeap<Next> = BinaryHeap::with_capacity(self.claims.len());
        let next = |at: usize, above: u32| Next {
            worth: worth(&self.claims[at], above, self.sensitivity),
            at,
        };
        for (at, room) in rooms.iter().enumerate() {
            if above[at] < *room {
                heap.push(next(at, above[at]));
            }
        }
        for _ in taken..left {
            let Some(mut best) = heap.peek_mut() else {
                break;
            };
            let at = best.at;
            if best.worth <= 0.0 {
                break;
            }
            above[at] += 1;
            if above[at] < rooms[at] {
                *best = next(at, above[at]);
            } else {
                std::collections::binary_heap::PeekMut::pop(best);
            }
        }
        // What is worth nothing stays so, however much there is of it: the first comes first.
        let mut rest = left - above.iter().sum::<u32>();
        for (at, room) in rooms.iter().enumerate() {
            let more = (room - above[at]).min(rest);
            above[at] += more;
            rest -= more;
        }
    }

    /// A λ at which about `left` tokens are worth it, by Newton's method within a bracket. The half
    /// is the first correction of 1/(eʸ − 1) ≈ 1/y − ½.
    fn threshold(&self, left: u32, rooms: &[u32]) -> f64 {
        let terms: Vec<(f64, f64, f64, f64)> = self
            .claims
            .iter()
            .zip(rooms)
            .filter(|(claim, room)| **room > 0 && claim.weight > 0.0)
            .map(|(claim, room)| {
                let scale = claim.weight * claim.alpha;
                let price = self.sensitivity * claim.cost;
                (scale, price, claim.beta - 0.5, f64::from(*room))
            })
            .collect();
        let left = f64::from(left);
        let total = |lambda: f64| {
            let (mut sum, mut slope) = (0.0, 0.0);
            for (scale, price, shift, room) in &terms {
                let inverse = 1.0 / (lambda + price);
                let count = scale * inverse - shift;
                if count >= *room {
                    sum += room;
                } else if count > 0.0 {
                    sum += count;
                    slope += scale * inverse * inverse;
                }
            }
            (sum - left, slope)
        };
        // Numbers at the end of the range may sum to more than there is.
        let most = |sum: f64| sum.min(f64::MAX);
        let scales = most(terms.iter().map(|term| term.0).sum());
        let shifts = most(terms.iter().map(|term| term.2.max(0.0)).sum());
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut lambda = scales / (left + shifts + 1.0);
        for _ in 0..60 {
            let (over, slope) = total(lambda);
            if over > 0.0 {
                low = lambda;
            } else {
                high = lambda;
            }
            if over.abs() < 0.25 {
                break;
            }
            let newton = if slope > 0.0 {
                lambda + over / slope
            } else {
                f64::NAN
            };
            lambda = if newton > low && newton < high {
                newton
            } else if high.is_finite() {
                (low + high) / 2.0
            } else {
                lambda * 2.0
            };
        }
        lambda
    }

    /// The allocation, with the worth of the tokens at its edges.
    fn proven(&self, floors: &[u32], above: &[u32]) -> Allocation {
        let mut certificate = Certificate::default();
        let mut marginals = Vec::with_capacity(self.claims.len());
        let mut tokens = Vec::with_capacity(self.claims.len());
        for ((claim, floor), above) in self.claims.iter().zip(floors).zip(above) {
            let given = floor + above;
            tokens.push(given);
            if *above > 0 {
                let last = worth(claim, above - 1, self.sensitivity);
                let least = certificate.least_given.get_or_insert(last);
                *least = least.min(last);
            }
            if given >= claim.cap() {
                marginals.push(0.0);
                continue;
            }
            let next = worth(claim, *above, self.sensitivity);
            marginals.push(next);
            let lambda = certificate.lambda.get_or_insert(next);
            *lambda = lambda.max(next);
        }
        let spent: u32 = tokens.iter().sum();
        certificate.unspent = self.budget - spent;
        Allocation {
            tokens,
            ceilings: Vec::new(),
            marginals,
            certificate,
        }
    }
}

/// The next token of a claim, by its worth; of equal ones the first claim's.
struct Next {
    worth: f64,
    at: usize,
}

impl Ord for Next {
    fn cmp(&self, other: &Next) -> Ordering {
        let by_worth = self.worth.total_cmp(&other.worth);
        by_worth.then(other.at.cmp(&self.at))
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Next) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next {
    fn eq(&self, other: &Next) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Next {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One token at a time to the highest worth, as long as it is not below 0.
    fn one_by_one(claims: &[Claim], budget: u32, sensitivity: f64) -> Vec<u32> {
        let mut left = budget;
        let mut given: Vec<u32> = Vec::new();
        for claim in claims {
            given.push(claim.floor().min(left));
            left -= given[given.len() - 1];
        }
        while left > 0 {
            let mut best: Option<(f64, usize)> = None;
            for (at, claim) in claims.iter().enumerate() {
                if given[at] >= claim.cap() {
                    continue;
                }
                let worth = worth(claim, given[at] - claim.floor(), sensitivity);
                if worth >= 0.0 && best.is_none_or(|(most, _)| worth > most) {
                    best = Some((worth, at));
                }
            }
            let Some((_, at)) = best else { break };
            given[at] += 1;
            left -= 1;
        }
        given
    }

    fn claim() -> impl Strategy<Value = Claim> {
        let numbers = (0u32..40, 1u32..30, 1u32..6000, 0u32..5);
        let bounds = (0u32..60, prop_oneof![Just(0u32), 60u32..300], 0u32..400);
        (numbers, bounds).prop_map(|((weight, alpha, beta, cost), (min, max, demand))| Claim {
            weight: f64::from(weight) / 10.0,
            alpha: f64::from(alpha) / 10.0,
            beta: f64::from(beta) / 10.0,
            cost: f64::from(cost) / 4.0,
            min,
            max,
            demand,
        })
    }

    fn claims() -> impl Strategy<Value = Vec<Claim>> {
        prop::collection::vec(claim(), 1..8).prop_filter("weights", |claims| {
            claims.iter().any(|claim| claim.weight > 0.0)
        })
    }

    fn sensitivity() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), (0u32..100).prop_map(|n| f64::from(n) / 2000.0)]
    }

    fn solve(claims: &[Claim], budget: u32, sensitivity: f64) -> Allocation {
        let problem = Problem::new(claims, budget).unwrap();
        problem.with_sensitivity(sensitivity).unwrap().solve()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 8, ..ProptestConfig::default() })]

        #[test]
        fn it_is_the_one_by_one_optimum(claims in claims(), budget in 0u32..1500, mu in sensitivity()) {
            let allocation = solve(&claims, budget, mu);
            prop_assert_eq!(&allocation.tokens, &one_by_one(&claims, budget, mu));
            prop_assert!(allocation.certificate.holds(), "{:?}", allocation);
            prop_assert_eq!(&allocation.ceilings, &solve(&claims, u32::MAX, mu).tokens);
        }

        #[test]
        fn equal_claims_are_settled_in_order(
            one in claim(), count in 1usize..8, budget in 0u32..1500, mu in sensitivity(),
        ) {
            let claims = vec![Claim { weight: one.weight + 0.1, ..one }; count];
            prop_assert_eq!(solve(&claims, budget, mu).tokens, one_by_one(&claims, budget, mu));
        }

        #[test]
        fn a_larger_budget_never_lowers_an_allocation(
            claims in claims(), budget in 0u32..1500, more in 0u32..200, mu in sensitivity(),
        ) {
            let less = solve(&claims, budget, mu).tokens;
            for (less, more) in less.into_iter().zip(solve(&claims, budget + more, mu).tokens) {
                prop_assert!(less <= more);
            }
        }
    }

    #[test]
    fn a_certificate_that_proves_nothing_is_known_for_one() {
        let claims = [Claim {
            demand: 900,
            ..Claim::default()
        }; 2];
        let proven = solve(&claims, 1_000, 0.0).certificate;
        assert!(proven.holds());
        let least = proven.least_given.unwrap();
        assert!(
            !Certificate {
                lambda: Some(least * 1.01),
                ..proven
            }
            .holds()
        );
        assert!(
            !Certificate {
                unspent: 1,
                ..proven
            }
            .holds()
        );
    }

    #[test]
    fn extremes_are_solved() {
        let huge = Claim {
            demand: u32::MAX,
            beta: 1e-9,
            weight: 1e300,
            ..Claim::default()
        };
        let tiny = Claim {
            demand: u32::MAX,
            beta: 1e18,
            weight: 1e-300,
            ..Claim::default()
        };
        let idle = Claim {
            demand: u32::MAX,
            weight: 0.0,
            ..Claim::default()
        };
        // What is worth nothing is not counted out one by one.
        let last = Claim {
            demand: 7,
            ..Claim::default()
        };
        assert_eq!(
            solve(&[idle, idle, last], 4_000_000_000, 0.0).tokens,
            [3_999_999_993, 0, 7]
        );
        for budget in [0, 1, 1 << 20, u32::MAX] {
            let allocation = solve(&[huge, tiny], budget, 0.0);
            assert_eq!(
                allocation.tokens.iter().map(|t| u64::from(*t)).sum::<u64>(),
                u64::from(budget)
            );
        }
        assert_eq!(solve(&[], 10, 0.0).certificate.unspent, 10);
        // Sums beyond all numbers, worth that does not fall, a beta next to nothing.
        let end = Claim {
            weight: 1.7e308,
            beta: 1.7e308,
            demand: 1_000,
            ..Claim::default()
        };
        let spent = solve(&[end; 2], 1_000, 0.0).tokens;
        assert_eq!(spent.iter().sum::<u32>(), 1_000);
        let flat = Claim {
            beta: 1e20,
            demand: u32::MAX,
            cost: 1.0,
            ..Claim::default()
        };
        assert_eq!(solve(&[flat], u32::MAX, 0.9e-20).tokens, [u32::MAX]);
        let point = Claim {
            weight: 0.0,
            beta: 1e-320,
            demand: 10,
            ..Claim::default()
        };
        assert_eq!(solve(&[point, last], 1, 0.0).tokens, [0, 1]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let refused = |claim: Claim, part: &str| {
            let error = Problem::new(&[claim], 10).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        let base = Claim::default();
        refused(
            Claim {
                alpha: -1.0,
                ..base
            },
            "`alpha` is -1",
        );
        refused(Claim { beta: 0.0, ..base }, "`beta` is 0");
        refused(
            Claim {
                weight: f64::NAN,
                ..base
            },
            "`weight` is NaN",
        );
        refused(
            Claim {
                weight: 1e200,
                alpha: 1e200,
                ..base
            },
            "`weight`·`alpha` is inf",
        );
        refused(
            Claim {
                cost: f64::INFINITY,
                ..base
            },
            "`cost` is inf",
        );
        refused(
            Claim {
                min: 5,
                max: 4,
                ..base
            },
            "above `max`",
        );
        refused(
            Claim {
                weight: 0.0,
                ..base
            },
            "sum to nothing",
        );
        let problem = Problem::new(&[], 10).unwrap();
        assert!(problem.with_sensitivity(f64::NAN).is_err());
    }
}
