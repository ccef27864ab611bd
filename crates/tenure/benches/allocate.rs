//! What sharing a budget costs as the number of sections grows, beside the water-filling loop that
//! gives one token at a time to the highest marginal utility.
//!
//! `cargo bench -p tenure --bench allocate`; figures in `docs/internals/benchmarks.md`.

#![allow(clippy::expect_used)] // a benchmark that cannot start should say so

use divan::Bencher;
use tenure::allocate::{Claim, Problem};
use tenure::num::ln;

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];

/// Sections of many shapes that want about twice of what there is.
fn problem(sections: usize) -> (Vec<Claim>, u32) {
    let claim = |at: usize| Claim {
        weight: 0.2 + (at % 9) as f64 / 10.0,
        alpha: 0.25 + (at % 5) as f64,
        beta: 64.0 + (at * 37 % 4096) as f64,
        min: (at % 3 * 16) as u32,
        max: if at.is_multiple_of(4) { 900 } else { 0 },
        demand: 200 + (at * 91 % 1800) as u32,
        cost: 0.0,
    };
    let claims: Vec<Claim> = (0..sections).map(claim).collect();
    let wanted: u32 = claims.iter().map(Claim::cap).sum();
    (claims, wanted / 2)
}

#[divan::bench(args = SIZES)]
fn solve(bencher: Bencher<'_, '_>, sections: usize) {
    let (claims, budget) = problem(sections);
    bencher.bench_local(|| Problem::new(&claims, budget).expect("legal claims").solve());
}

#[divan::bench(args = [10, 100], sample_count = 5, sample_size = 1)]
fn one_token_at_a_time(bencher: Bencher<'_, '_>, sections: usize) {
    let (claims, budget) = problem(sections);
    bencher.bench_local(|| {
        let mut given: Vec<u32> = claims.iter().map(|claim| claim.min).collect();
        let mut left = budget.saturating_sub(given.iter().sum());
        while left > 0 {
            let worth = |(claim, given): (&Claim, &u32)| {
                let above = f64::from(given - claim.min);
                let utility = |t: f64| ln(1.0 + t / claim.beta);
                claim.weight * claim.alpha * (utility(above + 1.0) - utility(above))
            };
            let best =
                (0..claims.len()).filter(|at| given[*at] < claims[*at].cap()).max_by(|a, b| {
                    let worth = |at: usize| worth((&claims[at], &given[at]));
                    worth(*a).total_cmp(&worth(*b))
                });
            let Some(at) = best else { break };
            given[at] += 1;
            left -= 1;
        }
        given
    });
}

fn main() {
    divan::main();
}
