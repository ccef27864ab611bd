//! Retirement: whether something has become too old by its own rule, and what that rule is.
//!
//! A sweep of a store and a compile decide by the same function, so that nothing is compiled that a sweep would retire.

use std::collections::BTreeMap;

use crate::base::num::{Score, exp};
use crate::base::time::Instant;
use crate::object::{ContextObject, ObjectType, RetirementRule};

/// Freshness that halves every `half_life_days`; unknown times count one half.
pub fn freshness(
    since: Option<Instant>,
    now: Option<Instant>,
    half_life_days: Option<f64>,
) -> Score {
    let Some(half_life) = half_life_days else {
        return Score::ONE;
    };
    let (Some(since), Some(now)) = (since, now) else {
        return Score::HALF;
    };
    let age = now.days_since(since).max(0.0);
    Score::clamped(exp(-core::f64::consts::LN_2 * age / half_life))
}

/// The ages of types, for what has no rule of its own: days in which freshness halves, and the freshness below which an
/// object is retired. A type with no threshold is not.
#[derive(Clone, Copy, Debug)]
pub struct TypeAges<'p> {
    /// The half-lives.
    pub half_life_days: &'p BTreeMap<ObjectType, f64>,
    /// The thresholds.
    pub retire_below: &'p BTreeMap<ObjectType, Score>,
}

/// The way in which something ages.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ageing {
    /// The instant from which its age counts.
    pub since: Instant,
    /// The days in which its freshness halves.
    pub half_life_days: f64,
    /// The freshness below which it is retired.
    pub threshold: Score,
    /// The rule that applies to it then.
    pub rule: RetirementRule,
}

impl Ageing {
    /// The ageing of an object; `None` where it is never retired for its age, or nobody knows how old it is. Age counts from
    /// the last confirmation, else from the start of its validity as its author says, else from when it was `written`.
    /// Half-life and threshold are its own, or else those of its type; a threshold of 0 is none.
    pub fn of(
        object: &ContextObject,
        written: Option<Instant>,
        types: TypeAges<'_>,
    ) -> Option<Ageing> {
        let revision = object.revision();
        let object_type = revision.object_type();
        let own = revision.decay_rule();
        let threshold = own
            .map(|rule| rule.minimum_threshold)
            .filter(|own| *own > Score::ZERO)
            .or_else(|| types.retire_below.get(&object_type).copied())?;
        let half_life = own
            .and_then(|rule| rule.half_life_days)
            .or_else(|| types.half_life_days.get(&object_type).copied())?;
        let confirmed = object.usage().last_confirmed;
        Some(Ageing {
            since: confirmed.or(revision.valid().from).or(written)?,
            half_life_days: half_life,
            threshold,
            rule: revision.retirement_rule().unwrap_or(RetirementRule::Archive),
        })
    }
}

/// Something that is too old.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aged {
    /// Its freshness.
    pub freshness: Score,
    /// The threshold that it is below.
    pub threshold: Score,
    /// The rule that applies to it.
    pub rule: RetirementRule,
}

/// Returns whether an object is too old at an instant, by how each of its parts ages that is of then or of later: as the
/// freshest of them. One that does not age, keeps it.
///
/// ```
/// use tenure::belief::{Ageing, aged};
/// use tenure::num::Score;
/// use tenure::object::RetirementRule;
/// let since = |day: &str| Ageing {
///     since: day.parse().unwrap(),
///     half_life_days: 30.0,
///     threshold: Score::HALF,
///     rule: RetirementRule::Archive,
/// };
/// let now = "2026-07-02".parse().unwrap();
/// assert!(aged([Some(since("2026-06-01"))], now).is_some());
/// assert!(aged([Some(since("2026-06-02"))], now).is_none());
/// assert!(aged([Some(since("2026-06-01")), Some(since("2026-06-02"))], now).is_none());
/// assert!(aged([Some(since("2026-06-01")), None], now).is_none());
/// ```
pub fn aged(parts: impl IntoIterator<Item = Option<Ageing>>, now: Instant) -> Option<Aged> {
    let mut freshest: Option<Aged> = None;
    for part in parts {
        let part = part?;
        let left = freshness(Some(part.since), Some(now), Some(part.half_life_days));
        if left >= part.threshold {
            return None;
        }
        if freshest.is_none_or(|other| other.freshness < left) {
            freshest = Some(Aged {
                freshness: left,
                threshold: part.threshold,
                rule: part.rule,
            });
        }
    }
    freshest
}
