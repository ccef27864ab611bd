//! The confidence that evidence gives a claim, from all of it at once.
//!
//! Each origin has one vote: its best source for the claim, less its best against it. A vote counts by the logarithm of
//! the odds that a source of its quality is right, ln((1 + q) / (1 - q)), and votes add up; the sum σ gives
//! 1 / (1 + e^−σ). All sums are of integers (millionths), so that no order changes anything, and evidence that is named
//! twice counts once.

use std::collections::BTreeMap;

use crate::base::num::{Score, exp, ln};
use crate::object::ObjectId;
use crate::object::vocabulary::vocabulary;

vocabulary! {
    /// The side of evidence.
    Direction ("direction") {
        /// It speaks for the claim.
        For = "for",
        /// It speaks against it.
        Against = "against",
    }
}

/// The best that a source counts as: none is always right.
const BEST: f64 = 0.98;

/// A link from a claim to what speaks for it or against it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Evidence {
    /// The object.
    pub object: ObjectId,
    /// Its origin. Everything from one origin has one vote.
    pub origin: String,
    /// The side.
    pub direction: Direction,
    /// The quality of the source.
    pub source_authority: Score,
}

/// The sum of the votes for a claim, in millionths of the logarithm of the odds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Weight(i64);

impl Weight {
    /// The sum of these votes, on top of what is held without them.
    pub fn of(evidence: &[Evidence]) -> Weight {
        let mut votes: BTreeMap<&str, [Score; 2]> = BTreeMap::new();
        for link in evidence {
            let best = &mut votes.entry(&link.origin).or_default()[link.direction as usize];
            *best = (*best).max(link.source_authority);
        }
        let sum = votes
            .values()
            .map(|[pro, contra]| log_odds(*pro) - log_odds(*contra));
        Weight(sum.sum())
    }

    /// The confidence that it gives.
    pub fn confidence(self) -> Score {
        Score::clamped(1.0 / (1.0 + exp(-(self.0 as f64) / 1e6)))
    }
}

/// The vote of a source of this quality, in millionths.
fn log_odds(quality: Score) -> i64 {
    let quality = quality.to_f64() * BEST;
    (ln((1.0 + quality) / (1.0 - quality)) * 1e6) as i64
}

/// The confidence that this evidence gives a claim; one half where there is none.
///
/// ```
/// use tenure::belief::{Direction, Evidence, confidence};
/// use tenure::num::Score;
/// use tenure::object::ObjectId;
/// let link = |origin: &str, direction| Evidence {
///     object: ObjectId::from_bits(1),
///     origin: origin.into(),
///     direction,
///     source_authority: Score::HALF,
/// };
/// let one = confidence(&[link("a", Direction::For)]);
/// assert!(one > Score::HALF);
/// assert_eq!(confidence(&[link("a", Direction::For), link("a", Direction::For)]), one);
/// assert!(confidence(&[link("a", Direction::For), link("b", Direction::For)]) > one);
/// assert_eq!(confidence(&[link("a", Direction::For), link("b", Direction::Against)]), Score::HALF);
/// ```
pub fn confidence(evidence: &[Evidence]) -> Score {
    Weight::of(evidence).confidence()
}

vocabulary! {
    /// The reason for which something inferred must not persist.
    GateRefusal ("refusal") {
        /// Too few independent origins speak for it.
        TooLittleEvidence = "too_little_evidence",
        /// Something that it was made from is not verified.
        UnverifiedParent = "unverified_parent",
        /// Hidden characters were found in it, or in its evidence.
        Flagged = "flagged",
    }
}

/// Returns whether something inferred may persist: at least `origins` independent ones speak for it, all that it was
/// made from is verified, and nothing in it is flagged.
///
/// # Errors
///
/// The first reason for which it must not.
pub fn may_persist(
    evidence: &[Evidence],
    origins: usize,
    all_verified: bool,
    any_flagged: bool,
) -> Result<(), GateRefusal> {
    let votes = evidence
        .iter()
        .filter(|link| link.direction == Direction::For && link.source_authority > Score::ZERO);
    let distinct: std::collections::BTreeSet<&str> =
        votes.map(|link| link.origin.as_str()).collect();
    if any_flagged {
        Err(GateRefusal::Flagged)
    } else if !all_verified {
        Err(GateRefusal::UnverifiedParent)
    } else if distinct.len() < origins {
        Err(GateRefusal::TooLittleEvidence)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn link() -> impl Strategy<Value = Evidence> {
        (0u128..4, 0u8..4, any::<bool>(), 0u32..=1_000_000).prop_map(
            |(object, origin, pro, quality)| Evidence {
                object: ObjectId::from_bits(object),
                origin: format!("o{origin}"),
                direction: if pro {
                    Direction::For
                } else {
                    Direction::Against
                },
                source_authority: Score::from_millionths(quality),
            },
        )
    }

    proptest! {
        #[test]
        fn no_order_and_no_repetition_changes_the_confidence(
            links in prop::collection::vec(link(), 0..12),
            repeated in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let once = Weight::of(&links);
            let mut all = links.clone();
            if !links.is_empty() {
                all.extend(repeated.iter().map(|index| index.get(&links).clone()));
            }
            all.reverse();
            prop_assert_eq!(Weight::of(&all), once);
            prop_assert_eq!(confidence(&all), confidence(&links));
        }

        #[test]
        fn more_for_a_claim_never_lowers_it(links in prop::collection::vec(link(), 0..8), more in link()) {
            let before = confidence(&links);
            let mut all = links;
            all.push(Evidence { direction: Direction::For, ..more });
            prop_assert!(confidence(&all) >= before);
        }

        #[test]
        fn sides_mirror_each_other(links in prop::collection::vec(link(), 0..8)) {
            let turned: Vec<Evidence> = links.iter().cloned().map(|link| Evidence {
                direction: match link.direction {
                    Direction::For => Direction::Against,
                    Direction::Against => Direction::For,
                },
                ..link
            }).collect();
            prop_assert_eq!(Weight::of(&turned).0, -Weight::of(&links).0);
        }
    }

    #[test]
    fn what_is_inferred_needs_independent_evidence() {
        let link = |origin: &str| Evidence {
            object: ObjectId::from_bits(1),
            origin: origin.into(),
            direction: Direction::For,
            source_authority: Score::HALF,
        };
        let (one, two) = ([link("a"), link("a")], [link("a"), link("b")]);
        assert_eq!(
            may_persist(&one, 2, true, false),
            Err(GateRefusal::TooLittleEvidence)
        );
        assert_eq!(
            may_persist(&two, 2, false, false),
            Err(GateRefusal::UnverifiedParent)
        );
        assert_eq!(may_persist(&two, 2, true, true), Err(GateRefusal::Flagged));
        assert_eq!(may_persist(&two, 2, true, false), Ok(()));
    }
}
