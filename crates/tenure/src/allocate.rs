//! How many tokens each section gets: the exact integer optimum of the Prefill Compiler's problem.
//!
//! ```text
//! max Σ wᵢ·αᵢ·ln(1 + (tᵢ − minᵢ)/βᵢ)   subject to  Σ tᵢ ≤ B,  minᵢ ≤ tᵢ ≤ capᵢ
//! ```
//!
//! The utility is concave, so the optimum takes single tokens in the order of their marginal
//! utility. A threshold λ on the continuous problem is found by bisection; the tokens that are
//! surely above it are taken at once and the few that are left one by one. Rounding the continuous
//! optimum instead would be neither optimal nor monotone in B.

use crate::num::ln;

/// One section's part of the problem.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Claim {
    /// w·α.
    pub weight: f64,
    /// β, in tokens.
    pub beta: f64,
    /// Tokens granted before anything is weighed.
    pub min: u32,
    /// The most tokens that are of use.
    pub cap: u32,
}

impl Claim {
    fn min(&self) -> u32 {
        self.min.min(self.cap)
    }

    /// The utility of the token after `t`.
    fn marginal(&self, t: u32) -> f64 {
        let above = f64::from(t - self.min());
        self.weight * (ln(1.0 + (above + 1.0) / self.beta) - ln(1.0 + above / self.beta))
    }

    /// Tokens above the minimum whose continuous marginal utility is at least `lambda`.
    fn continuous(&self, lambda: f64) -> f64 {
        let room = f64::from(self.cap - self.min());
        if lambda <= 0.0 {
            room
        } else {
            (self.weight / lambda - self.beta).clamp(0.0, room)
        }
    }
}

/// Tokens for each claim, at most `budget` in all. Minimums are granted in order; equal marginal
/// utilities are settled in order too, so the result is the same every time.
pub fn allocate(claims: &[Claim], budget: u32) -> Vec<u32> {
    let wanted: u64 = claims.iter().map(|claim| u64::from(claim.cap)).sum();
    if wanted <= u64::from(budget) {
        return claims.iter().map(|claim| claim.cap).collect();
    }
    let mut left = budget;
    let mut given: Vec<u32> = claims
        .iter()
        .map(|claim| {
            let grant = claim.min().min(left);
            left -= grant;
            grant
        })
        .collect();
    if left == 0 {
        return given;
    }
    // The smallest λ at which even the tokens rounded up fit: everything above it is in the optimum.
    let mut low = 0.0;
    let mut high = claims
        .iter()
        .map(|claim| claim.weight / claim.beta)
        .fold(f64::MIN_POSITIVE, f64::max);
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        let taken: f64 = claims
            .iter()
            .map(|claim| ceil(claim.continuous(middle)))
            .sum();
        if taken <= f64::from(left) {
            high = middle
        } else {
            low = middle
        }
    }
    for (claim, given) in claims.iter().zip(&mut given) {
        let sure = (claim.continuous(high) as u32).min(left);
        *given += sure;
        left -= sure;
    }
    while left > 0 {
        let next = claims
            .iter()
            .zip(&given)
            .enumerate()
            .filter(|(_, (claim, given))| **given < claim.cap)
            .map(|(at, (claim, given))| (claim.marginal(*given), at))
            .max_by(|(a, i), (b, j)| a.total_cmp(b).then(j.cmp(i)));
        let Some((_, at)) = next else { break };
        given[at] += 1;
        left -= 1;
    }
    given
}

/// The least whole number that is not below a small positive one.
fn ceil(x: f64) -> f64 {
    let whole = (x as u64) as f64;
    if whole < x { whole + 1.0 } else { whole }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One token at a time to the highest marginal utility.
    fn one_by_one(claims: &[Claim], budget: u32) -> Vec<u32> {
        let mut left = budget;
        let mut given: Vec<u32> = Vec::new();
        for claim in claims {
            given.push(claim.min().min(left));
            left -= given[given.len() - 1];
        }
        while left > 0 {
            let mut best: Option<(f64, usize)> = None;
            for (at, claim) in claims.iter().enumerate() {
                if given[at] < claim.cap
                    && best.is_none_or(|(most, _)| claim.marginal(given[at]) > most)
                {
                    best = Some((claim.marginal(given[at]), at));
                }
            }
            let Some((_, at)) = best else { break };
            given[at] += 1;
            left -= 1;
        }
        given
    }

    fn claim() -> impl Strategy<Value = Claim> {
        (1u32..40, 1u32..600, 0u32..60, 0u32..400).prop_map(|(weight, beta, min, cap)| Claim {
            weight: f64::from(weight) / 10.0,
            beta: f64::from(beta),
            min,
            cap,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases * 4, ..ProptestConfig::default() })]

        #[test]
        fn it_is_the_one_by_one_optimum(claims in prop::collection::vec(claim(), 1..8), budget in 0u32..1500) {
            prop_assert_eq!(allocate(&claims, budget), one_by_one(&claims, budget));
        }

        #[test]
        fn equal_claims_are_settled_in_order(one in claim(), count in 1usize..8, budget in 0u32..1500) {
            let claims = vec![one; count];
            prop_assert_eq!(allocate(&claims, budget), one_by_one(&claims, budget));
        }

        #[test]
        fn a_larger_budget_never_lowers_an_allocation(
            claims in prop::collection::vec(claim(), 1..8), budget in 0u32..1500, more in 0u32..200,
        ) {
            let less = allocate(&claims, budget);
            for (less, more) in less.into_iter().zip(allocate(&claims, budget + more)) {
                prop_assert!(less <= more);
            }
        }
    }
}
