//! The only arithmetic that leaves the integers: fixed-point scores and two pinned functions.
//!
//! Scores are integers in millionths, so that sums, comparisons and ties are the same on every
//! platform. `exp` and `ln` come from `libm` (pure Rust, no processor intrinsics); the standard
//! library's versions call the platform's and are banned by lint (`clippy.toml`). The basic
//! operations `+ - * /` are exact IEEE 754 everywhere and need no pinning.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number in `[0, 1]`, held in millionths.
///
/// ```
/// use tenure::num::Score;
/// let half = Score::new(0.5).unwrap();
/// assert_eq!(half.times(half).to_string(), "0.25");
/// assert!(Score::new(f64::NAN).is_none());
/// assert!(Score::new(1.5).is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Score(u32);

const SCALE: u32 = 1_000_000;

impl Score {
    /// Zero.
    pub const ZERO: Score = Score(0);
    /// One.
    pub const ONE: Score = Score(SCALE);
    /// One half: what an unknown factor counts as.
    pub const HALF: Score = Score(SCALE / 2);

    /// The score nearest to `value`, or `None` when it is not a number in `[0, 1]`.
    pub fn new(value: f64) -> Option<Score> {
        (0.0..=1.0)
            .contains(&value)
            .then(|| Score((value * f64::from(SCALE) + 0.5) as u32))
    }

    /// The score nearest to `value`, which is cut to `[0, 1]`; not-a-number counts as 0.
    pub fn clamped(value: f64) -> Score {
        if value.is_nan() {
            Score::ZERO
        } else {
            Score::new(value.clamp(0.0, 1.0)).unwrap_or(Score::ZERO)
        }
    }

    /// Returns a score of this many millionths, at most one.
    pub const fn from_millionths(millionths: u32) -> Score {
        Score(if millionths > SCALE {
            SCALE
        } else {
            millionths
        })
    }

    /// This score in millionths.
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// This score as a float.
    pub fn to_f64(self) -> f64 {
        f64::from(self.0) / f64::from(SCALE)
    }

    /// The product, rounded down.
    #[must_use]
    pub fn times(self, other: Score) -> Score {
        Score((u64::from(self.0) * u64::from(other.0) / u64::from(SCALE)) as u32)
    }

    /// Returns one less this.
    #[must_use]
    pub fn complement(self) -> Score {
        Score(SCALE - self.0)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.to_f64())
    }
}

impl fmt::Debug for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Score {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.to_f64())
    }
}

impl<'de> Deserialize<'de> for Score {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Score, D::Error> {
        let value = f64::deserialize(deserializer)?;
        Score::new(value)
            .ok_or_else(|| de::Error::custom(format!("`{value}` is not a number from 0 to 1")))
    }
}

impl JsonSchema for Score {
    fn schema_name() -> Cow<'static, str> {
        "Score".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0.0, "maximum": 1.0 })
    }
}

/// e to the power of `x`, the same on every platform.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// The natural logarithm of `x`, the same on every platform.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// The natural logarithm of `1 + x`, exact for small `x`, the same on every platform.
pub fn ln_1p(x: f64) -> f64 {
    libm::log1p(x)
}

/// e to the power of `x`, less one, exact for small `x`, the same on every platform.
pub fn exp_m1(x: f64) -> f64 {
    libm::expm1(x)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn exp_and_ln_are_pinned_to_the_bit() {
        assert_eq!(exp(1.0).to_bits(), 0x4005_bf0a_8b14_576a);
        assert_eq!(ln(10.0).to_bits(), 0x4002_6bb1_bbb5_5516);
        assert_eq!(exp(-core::f64::consts::LN_2), 0.5);
    }

    proptest! {
        #[test]
        fn a_score_survives_its_text_form(millionths in 0u32..=SCALE) {
            let score = Score::from_millionths(millionths);
            let json = serde_json::to_string(&score).unwrap();
            prop_assert_eq!(serde_json::from_str::<Score>(&json).unwrap(), score);
            prop_assert_eq!(Score::new(score.to_f64()), Some(score));
        }

        #[test]
        fn only_numbers_from_nought_to_one_are_scores(value in proptest::num::f64::ANY) {
            prop_assert_eq!(Score::new(value).is_some(), (0.0..=1.0).contains(&value));
        }
    }
}
