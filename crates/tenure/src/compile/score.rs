//! The ranker's arithmetic: six factors, one composite, one grade. Fixed-point throughout.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::num::Score;
pub use crate::belief::freshness;
use crate::input::policy::{Factors, Grades};
use crate::object::vocabulary::vocabulary;

vocabulary! {
    /// An object's importance for the task.
    Grade ("grade") {
        /// It must not be missed.
        Critical = "critical",
        /// It should be there.
        Important = "important",
        /// It helps.
        Useful = "useful",
        /// It may help.
        Minimal = "minimal",
        /// It does not help.
        Irrelevant = "irrelevant",
    }
}

/// The composite score of an object and its parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreCard {
    /// Its nearness to the task.
    pub relevance: Score,
    /// The quality of its source.
    pub authority: Score,
    /// Its newness.
    pub freshness: Score,
    /// The share of its relevance that its age in turns, another step of the task, errors and corrections have left.
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub currency: Score,
    /// Its usefulness, as its author sees it.
    pub utility: Score,
    /// Its cheapness: 1 / (1 + bytes / 1024).
    pub economy: Score,
    /// The confidence in it, where the policy weighs that; else 0.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub confidence: Score,
    /// Their weighted mean.
    pub composite: Score,
    /// The grade of the composite.
    pub grade: Grade,
}

fn is_nothing(score: &Score) -> bool {
    *score == Score::ZERO
}

fn whole() -> Score {
    Score::ONE
}

fn is_whole(score: &Score) -> bool {
    *score == Score::ONE
}

impl ScoreCard {
    pub(crate) const NONE: ScoreCard = ScoreCard {
        relevance: Score::ZERO,
        authority: Score::ZERO,
        freshness: Score::ZERO,
        currency: Score::ONE,
        utility: Score::ZERO,
        economy: Score::ZERO,
        confidence: Score::ZERO,
        composite: Score::ZERO,
        grade: Grade::Irrelevant,
    };

    /// Returns its newness by days and by all that makes things stale: one less its staleness.
    pub fn current(&self) -> Score {
        self.freshness.times(self.currency)
    }

    /// Returns how much is won by its leaving: what of its relevance is gone, weighted with its tokens. The greatest
    /// leaves first.
    pub fn eviction(&self, tokens: u32) -> u64 {
        let gone = self.relevance.times(self.current()).complement();
        u64::from(gone.millionths()) * u64::from(tokens)
    }

    /// Fills in composite and grade.
    pub(crate) fn weighed(mut self, weights: &Factors, grades: &Grades) -> ScoreCard {
        let pairs = [
            (weights.relevance, self.relevance),
            (weights.authority, self.authority),
            (weights.freshness, self.current()),
            (weights.utility, self.utility),
            (weights.economy, self.economy),
            (weights.confidence, self.confidence),
        ];
        if weights.confidence == Score::ZERO {
            self.confidence = Score::ZERO;
        }
        let total: u64 = pairs.iter().map(|(weight, _)| u64::from(weight.millionths())).sum();
        let sum: u64 = pairs
            .iter()
            .map(|(weight, factor)| u64::from(weight.millionths()) * u64::from(factor.millionths()))
            .sum();
        self.composite = Score::from_millionths(sum.checked_div(total).unwrap_or(0) as u32);
        self.grade = match self.composite {
            score if score >= grades.critical => Grade::Critical,
            score if score >= grades.important => Grade::Important,
            score if score >= grades.useful => Grade::Useful,
            score if score >= grades.minimal => Grade::Minimal,
            _ => Grade::Irrelevant,
        };
        self
    }
}

/// The cheapness of a size in bytes, which stand in for tokens: those are known only after framing.
pub(crate) fn economy(bytes: u32) -> Score {
    Score::from_millionths((1_024_000_000 / (1024 + u64::from(bytes))) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::time::Instant;

    #[test]
    fn freshness_halves() {
        let day = |text: &str| Some(text.parse::<Instant>().unwrap());
        let now = day("2026-07-01");
        assert_eq!(freshness(day("2026-06-01"), now, Some(30.0)), Score::HALF);
        assert_eq!(freshness(day("2026-08-01"), now, Some(30.0)), Score::ONE);
        assert_eq!(freshness(None, now, Some(30.0)), Score::HALF);
        assert_eq!(freshness(None, now, None), Score::ONE);
    }

    #[test]
    fn economy_falls_with_size() {
        assert_eq!(economy(0), Score::ONE);
        assert_eq!(economy(1024), Score::HALF);
        assert!(economy(u32::MAX) < economy(4096));
    }
}
