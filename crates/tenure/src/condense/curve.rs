//! The fidelity that a method gives up for compression: φ(r) ≈ 1 − α·r^β, where r is the share of the tokens that is
//! gone. Fitted by least squares between ln r and ln(1 − φ); the constants of each method are measured by
//! `tests/fidelity.rs`.
//!
//! The knee is the point farthest from the chord between no compression and all of it. On axes
//! scaled to the span of each, the slope there is −1: both definitions give r = β^(1/(1−β)),
//! whatever α is. It exists for β > 1 alone; otherwise the first tokens to go are the dearest.

use super::Method;
use crate::base::num::{Score, exp, ln};

/// A curve φ(r) = 1 − α·r^β.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Curve {
    /// The loss when all is gone.
    pub alpha: f64,
    /// The exponent of the loss: above one, little is lost at first.
    pub beta: f64,
}

/// Measured on the labelled pairs: the originals of `tests/fidelity/`, put together into documents
/// by kind (prose as paragraphs, too), condensed to nine tenths of their tokens, eight tenths, and
/// so on.
const MEASURED: [(Method, Curve); 4] = [
    (Method::Selected, curve(0.899, 0.445)),
    (Method::Extracted, curve(0.996, 1.029)),
    (Method::Summarized, curve(0.963, 0.841)),
    (Method::Distilled, curve(0.964, 1.516)),
];

const fn curve(alpha: f64, beta: f64) -> Curve {
    Curve { alpha, beta }
}

/// So near to 1, β counts as 1: there the loss is even, and no point is far from the chord.
const NEAR_ONE: f64 = 1e-6;

impl Curve {
    /// The measured curve of a method that loses something.
    pub fn of(method: Method) -> Option<Curve> {
        MEASURED
            .iter()
            .find(|(measured, _)| *measured == method)
            .map(|(_, curve)| *curve)
    }

    /// The curve through points `(r, φ)`, by least squares in log space. Points without compression
    /// or without loss say nothing of its shape and do not count; fewer than two others with
    /// different ratios give no curve.
    ///
    /// ```
    /// use tenure::condense::curve::Curve;
    /// let points: Vec<(f64, f64)> = (1..10).map(|tenth| f64::from(tenth) / 10.0).map(|r| (r, 1.0 - 0.5 * r * r)).collect();
    /// let curve = Curve::fit(&points).unwrap();
    /// assert!((curve.alpha - 0.5).abs() < 1e-9 && (curve.beta - 2.0).abs() < 1e-9);
    /// assert!((curve.knee().unwrap() - 0.5).abs() < 1e-9);
    /// assert!(Curve::fit(&points[..1]).is_none());
    /// ```
    pub fn fit(points: &[(f64, f64)]) -> Option<Curve> {
        let logs: Vec<(f64, f64)> = points
            .iter()
            .filter(|(ratio, fidelity)| {
                *ratio > 0.0 && *ratio <= 1.0 && (0.0..1.0).contains(fidelity)
            })
            .map(|(ratio, fidelity)| (ln(*ratio), ln(1.0 - fidelity)))
            .collect();
        let count = logs.len().max(1) as f64;
        let (x, y) = logs.iter().fold((0.0, 0.0), |(x, y), (a, b)| (x + a, y + b));
        let (x, y) = (x / count, y / count);
        let (mut square, mut product) = (0.0, 0.0);
        for (a, b) in &logs {
            square += (a - x) * (a - x);
            product += (a - x) * (b - y);
        }
        if square <= 1e-12 {
            return None;
        }
        let beta = product / square;
        Some(Curve {
            alpha: exp(y - beta * x),
            beta,
        })
    }

    /// φ(r), cut to what a share can be.
    pub fn fidelity(&self, ratio: f64) -> Score {
        if ratio <= 0.0 {
            return Score::ONE;
        }
        Score::clamped(1.0 - self.alpha * exp(self.beta * ln(ratio.min(1.0))))
    }

    /// The compression farthest from the chord; none unless the loss comes late.
    pub fn knee(&self) -> Option<f64> {
        (self.beta > 1.0 + NEAR_ONE).then(|| exp(ln(self.beta) / (1.0 - self.beta)))
    }

    /// The most compression with at least this fidelity.
    pub fn reach(&self, floor: Score) -> f64 {
        let loss = floor.complement().to_f64();
        if loss <= 0.0 {
            return 0.0;
        }
        let ratio = exp(ln(loss / self.alpha) / self.beta);
        if ratio.is_nan() {
            0.0
        } else {
            ratio.clamp(0.0, 1.0)
        }
    }

    /// The tokens that `from` tokens are best made: at the knee, or without one at the most
    /// compression that keeps to the floor.
    ///
    /// ```
    /// use tenure::condense::curve::Curve;
    /// use tenure::num::Score;
    /// let late = Curve { alpha: 0.5, beta: 2.0 };
    /// assert_eq!(late.target(1_000, Score::HALF), 500);
    /// let early = Curve { alpha: 1.0, beta: 1.0 };
    /// assert_eq!(early.target(1_000, Score::from_millionths(900_000)), 900);
    /// ```
    pub fn target(&self, from: u32, floor: Score) -> u32 {
        let ratio = self.knee().unwrap_or_else(|| self.reach(floor));
        (f64::from(from) * (1.0 - ratio) + 0.5) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_curve_is_found_again(alpha in 0.05f64..1.0, beta in 0.2f64..6.0) {
            let curve = Curve { alpha, beta };
            let points: Vec<(f64, f64)> = (1..10)
                .map(|tenth| f64::from(tenth) / 10.0)
                .map(|ratio| (ratio, 1.0 - alpha * exp(beta * ln(ratio))))
                .collect();
            let found = Curve::fit(&points).unwrap();
            prop_assert!((found.alpha - alpha).abs() < 1e-6 && (found.beta - beta).abs() < 1e-6);
            prop_assert!(curve.fidelity(0.2) >= curve.fidelity(0.7));
        }

        #[test]
        fn the_knee_is_farthest_from_the_chord(beta in 1.01f64..8.0) {
            let curve = Curve { alpha: 0.7, beta };
            let knee = curve.knee().unwrap();
            // Above the chord by so much of the span.
            let above = |ratio: f64| ratio - exp(beta * ln(ratio));
            for step in 1..100 {
                prop_assert!(above(knee) + 1e-12 >= above(f64::from(step) / 100.0));
            }
        }

        #[test]
        fn nothing_but_numbers_comes_of_any_curve(alpha: f64, beta: f64, ratio: f64, floor in 0u32..=1_000_000, from: u32) {
            let curve = Curve { alpha, beta };
            let floor = Score::from_millionths(floor);
            let _ = curve.fidelity(ratio);
            prop_assert!((0.0..=1.0).contains(&curve.reach(floor)));
            prop_assert!(curve.target(from, floor) <= from);
        }
    }
}
