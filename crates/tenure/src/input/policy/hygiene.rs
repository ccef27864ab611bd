//! The settings by which what stands grows stale, and from when on it leaves before the rest.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::num::{Score, exp};
use crate::object::{ObjectType, vocabulary::vocabulary};

vocabulary! {
    /// The unit of an age.
    AgeUnit ("unit of age") {
        /// Requests of the user since it was said; for a step, since it was last referred to.
        Turns = "turns",
        /// Days since it became true, or was retrieved.
        Days = "days",
    }
}

/// The form in which relevance falls with age.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "form", rename_all = "snake_case", deny_unknown_fields)]
pub enum Decay {
    /// e^(−γ · age) is left.
    Exponential {
        /// The rate γ.
        gamma: f64,
        /// The unit of age. Default: turns.
        #[serde(default = "turns")]
        unit: AgeUnit,
    },
    /// All is left while it was referred to within so many turns, a share of it from then on.
    Step {
        /// The number of turns.
        turns: u32,
        /// The share.
        delta: Score,
    },
    /// 1 / (1 + e^(κ · (age − half-life))) is left.
    Sigmoid {
        /// The age at which one half is left.
        half_life: f64,
        /// The steepness κ.
        kappa: f64,
        /// The unit of age. Default: turns.
        #[serde(default = "turns")]
        unit: AgeUnit,
    },
}

fn turns() -> AgeUnit {
    AgeUnit::Turns
}

/// The age of something, as far as it is known.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Age {
    /// The number of turns since it was said; for a step, since it was last referred to.
    pub turns: Option<u32>,
    /// The number of days since it became true, or was retrieved.
    pub days: Option<f64>,
}

impl Decay {
    /// Returns the share of the relevance that is left at an age; all of it where the age is not known.
    ///
    /// ```
    /// use tenure::policy::{Age, AgeUnit, Decay};
    /// let at = |turns| Age { turns: Some(turns), days: None };
    /// let output = Decay::Exponential { gamma: 0.3, unit: AgeUnit::Turns };
    /// assert_eq!(output.left(&at(4)).to_string(), "0.301194");
    /// let sigmoid = Decay::Sigmoid { half_life: 6.0, kappa: 1.0, unit: AgeUnit::Turns };
    /// assert_eq!(sigmoid.left(&at(6)).to_string(), "0.5");
    /// ```
    pub fn left(&self, age: &Age) -> Score {
        let of = |unit: AgeUnit| match unit {
            AgeUnit::Turns => age.turns.map(f64::from),
            AgeUnit::Days => age.days.map(|days| days.max(0.0)),
        };
        match *self {
            Decay::Exponential { gamma, unit } => {
                of(unit).map_or(Score::ONE, |age| Score::clamped(exp(-gamma * age)))
            }
            Decay::Step { turns, delta } => match age.turns {
                Some(age) if age > turns => delta,
                Some(_) | None => Score::ONE,
            },
            Decay::Sigmoid {
                half_life,
                kappa,
                unit,
            } => of(unit).map_or(Score::ONE, |age| {
                Score::clamped(1.0 / (1.0 + exp(kappa * (age - half_life))))
            }),
        }
    }

    /// Returns the fault of its numbers.
    fn fault(&self) -> Option<&'static str> {
        let is_rate = |rate: f64| rate.is_finite() && rate >= 0.0;
        match *self {
            Decay::Exponential { gamma, .. } if !is_rate(gamma) => Some("gamma must be at least 0"),
            Decay::Sigmoid {
                half_life, kappa, ..
            } if !(is_rate(half_life) && is_rate(kappa)) => {
                Some("half_life and kappa must be at least 0")
            }
            _ => None,
        }
    }
}

/// The settings by which what stands grows stale.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HygienePolicy {
    /// True if staleness is looked for.
    pub watch: bool,
    /// The share of its relevance below which a turn of the history leaves before those that are not stale.
    pub stale_below: Score,
    /// The share that is left of what was inserted in another step of the task.
    pub other_step: Score,
    /// The share that is left of what a later error or correction invalidates.
    pub invalidated: Score,
    /// The decay of a turn in which the user corrects something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<Decay>,
    /// The decay of each type of object. A type that is not listed does not decay.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub decay: BTreeMap<ObjectType, Decay>,
}

impl HygienePolicy {
    /// Returns whether it says nothing. A policy that was written before there was hygiene has the digest that it had.
    pub(super) fn is_off(&self) -> bool {
        !self.watch
    }

    /// Returns the first fault of its decays, with its place.
    pub(super) fn fault(&self) -> Option<String> {
        let own = self.correction.iter().map(|decay| ("correction", decay));
        let by_type = self.decay.iter().map(|(object_type, decay)| (object_type.term(), decay));
        own.chain(by_type)
            .find_map(|(place, decay)| Some(format!("`hygiene`, {place}: {}", decay.fault()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(turns: u32) -> Age {
        Age {
            turns: Some(turns),
            days: None,
        }
    }

    #[test]
    fn relevance_falls_in_turns_and_in_days() {
        let of = |gamma, unit| Decay::Exponential { gamma, unit };
        let output = of(0.3, AgeUnit::Turns);
        let correction = of(0.05, AgeUnit::Turns);
        assert_eq!(output.left(&said(0)), Score::ONE);
        assert!(output.left(&said(5)) < Score::new(0.25).unwrap());
        assert!(correction.left(&said(5)) > Score::new(0.75).unwrap());
        let daily = of(core::f64::consts::LN_2 / 30.0, AgeUnit::Days);
        let days = |days| Age {
            days: Some(days),
            ..Age::default()
        };
        assert_eq!(daily.left(&days(30.0)), Score::HALF);
        // What lies ahead is as new as can be; of what is not known nothing is lost.
        assert_eq!(daily.left(&days(-5.0)), Score::ONE);
        assert_eq!(daily.left(&said(900)), Score::ONE);
        assert_eq!(of(1e300, AgeUnit::Turns).left(&said(u32::MAX)), Score::ZERO);
    }

    #[test]
    fn a_step_is_taken_back_by_a_reference() {
        let delta = Score::new(0.1).unwrap();
        let step = Decay::Step { turns: 3, delta };
        assert_eq!(step.left(&said(3)), Score::ONE);
        assert_eq!(step.left(&said(4)), delta);
        assert_eq!(step.left(&said(0)), Score::ONE);
    }

    #[test]
    fn a_sigmoid_falls_around_its_half_life() {
        let of = |kappa| Decay::Sigmoid {
            half_life: 10.0,
            kappa,
            unit: AgeUnit::Turns,
        };
        assert_eq!(of(2.0).left(&said(10)), Score::HALF);
        assert!(of(2.0).left(&said(7)) > Score::new(0.99).unwrap());
        assert!(of(2.0).left(&said(13)) < Score::new(0.01).unwrap());
        assert!(of(0.1).left(&said(13)) > of(2.0).left(&said(13)));
        assert_eq!(of(1e300).left(&said(9)), Score::ONE);
    }
}
