//! Prices, exactly: whole micro-dollars, so that no sum of them ever drifts.

use std::borrow::Cow;
use std::fmt;
use std::ops::Add;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::base::error::Error;
use crate::base::text::clip;

/// Micro-dollars in a dollar.
const MICROS: u64 = 1_000_000;
/// The most dollars that a million tokens may cost. What costs more is a slip of the pen.
const MAX_DOLLARS: u64 = 1_000_000;
const FORM: &str = "US dollars with at most six decimals, as a text: \"0.10\"";

/// A price in US dollars per million tokens, held in whole micro-dollars. It is written as a decimal
/// text, because a binary fraction cannot hold a tenth.
///
/// ```
/// use tenure::catalogue::Price;
/// let price: Price = "0.10".parse()?;
/// assert_eq!(price.micros(), 100_000);
/// assert_eq!(price.to_string(), "0.10");
/// assert!("-1".parse::<Price>().is_err());
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Price(u64);

impl Price {
    /// Returns a price in micro-dollars per million tokens.
    pub const fn from_micros(micros: u64) -> Price {
        Price(micros)
    }

    /// This price in micro-dollars per million tokens.
    pub const fn micros(self) -> u64 {
        self.0
    }

    /// Returns the cost of this many tokens.
    ///
    /// ```
    /// use tenure::catalogue::Price;
    /// let price: Price = "0.20".parse()?;
    /// assert_eq!(price.of(12_408).to_string(), "0.0024816");
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn of(self, tokens: u32) -> Cost {
        Cost(u128::from(self.0) * u128::from(tokens))
    }
}

/// An amount in US dollars, exactly: a whole number of picodollars, of which a price of a million
/// tokens in micro-dollars makes one for each token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Cost(u128);

/// Picodollars in a dollar.
const PICOS: u128 = 1_000_000_000_000;

impl Cost {
    /// This amount in picodollars.
    pub const fn picos(self) -> u128 {
        self.0
    }

    /// Returns the excess over the other; 0 where it is less.
    #[must_use]
    pub fn less(self, other: Cost) -> Cost {
        Cost(self.0.saturating_sub(other.0))
    }
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:012}", self.0 % PICOS);
        // Cents are always shown, what is finer only when it is there.
        let finer = decimals[2..].trim_end_matches('0');
        f.pad(&format!("{}.{}{finer}", self.0 / PICOS, &decimals[..2]))
    }
}

impl JsonSchema for Cost {
    fn schema_name() -> Cow<'static, str> {
        "Cost".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "description": "An amount in US dollars, exactly.", "pattern": "^[0-9]+\\.[0-9]{2,12}$"
        })
    }
}

impl Serialize for Cost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:06}", self.0 % MICROS);
        // Cents are always shown, what is finer only when it is there.
        let finer = decimals[2..].trim_end_matches('0');
        f.pad(&format!("{}.{}{finer}", self.0 / MICROS, &decimals[..2]))
    }
}

impl FromStr for Price {
    type Err = Error;

    fn from_str(text: &str) -> Result<Price, Error> {
        let bad = |what: &str| {
            Error::input(format!("the price `{}` {what}", clip(text)))
                .expected(format!("a price in {FORM}"))
        };
        let (dollars, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(dollars) || !digits(decimals) {
            return Err(bad("is not an amount"));
        }
        if decimals.len() > 6 {
            return Err(bad("is finer than a millionth of a dollar"));
        }
        let too_much = || bad(&format!("is above {MAX_DOLLARS} dollars"));
        let dollars: u64 = dollars.parse().map_err(|_| too_much())?;
        let rest: u64 = format!("{decimals:0<6}").parse().map_err(|_| too_much())?;
        if dollars >= MAX_DOLLARS {
            return Err(too_much());
        }
        Ok(Price(dollars * MICROS + rest))
    }
}

impl Serialize for Price {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Price {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Price, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Price;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(FORM)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Price, E> {
                text.parse().map_err(|error: Error| {
                    E::custom(format!(
                        "{}, expected {}",
                        error.what,
                        error.expected.unwrap_or_default()
                    ))
                })
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

/// The prices of tokens from a length of the input on. Unknown ones are missing.
///
/// A tier applies to the whole request, not to what is above its limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct PriceTier {
    /// The tier applies to requests with more input tokens than this. The first tier has 0 and
    /// applies to all.
    pub above_tokens: u32,
    /// Input that no cache holds.
    pub input: Option<Price>,
    /// Output.
    pub output: Option<Price>,
    /// Input that a cache holds.
    pub cache_read: Option<Price>,
    /// Input that is put into a cache, where there is one price for that.
    pub cache_write: Option<Price>,
    /// Input that is put into a cache for five minutes.
    pub cache_write_5m: Option<Price>,
    /// Input that is put into a cache for an hour.
    pub cache_write_1h: Option<Price>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_exact_and_read_what_they_write() {
        for (text, micros, shown) in [
            ("0", 0, "0.00"),
            ("0.1", 100_000, "0.10"),
            ("0.025", 25_000, "0.025"),
            ("4", 4_000_000, "4.00"),
            ("0.000001", 1, "0.000001"),
            ("999999.999999", 999_999_999_999, "999999.999999"),
        ] {
            let price: Price = text.parse().unwrap();
            assert_eq!(
                (price.micros(), price.to_string().as_str()),
                (micros, shown)
            );
            assert_eq!(shown.parse::<Price>().unwrap(), price);
        }
    }

    #[test]
    fn costs_are_exact_to_the_last_token() {
        let price: Price = "0.000001".parse().unwrap();
        assert_eq!(price.of(1).to_string(), "0.000000000001");
        assert_eq!(price.of(0).to_string(), "0.00");
        let most: Price = "999999.999999".parse().unwrap();
        assert_eq!(most.of(u32::MAX).to_string(), "4294967294.995705032705");
        assert_eq!(most.of(1).less(most.of(2)), Cost::default());
        assert_eq!(price.of(2) + price.of(3), price.of(5));
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for text in [
            "",
            ".",
            "1.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "NaN",
            "inf",
            "1,5",
            "0.0000001",
            "1000000",
            "99999999999999999999999",
            "１",
            "$1",
            " 1",
        ] {
            let error = text.parse::<Price>().unwrap_err();
            assert!(error.expected.is_some(), "{text}");
        }
    }
}
