//! Instants and half-open intervals. Nothing here reads a clock.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::Pieces;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::base::error::Error;
use crate::base::text::clip;

/// A point in time in microseconds since 1970-01-01T00:00:00Z.
///
/// Written as RFC 3339 with a zone, or as a plain date, which means midnight UTC. A time of day
/// without a zone is refused: it would mean another instant on another machine. The last day is 9999-12-31, in UTC.
///
/// ```
/// use tenure::time::Instant;
/// let instant: Instant = "2026-06-06T14:00:00+02:00".parse().unwrap();
/// assert_eq!(instant.to_string(), "2026-06-06T12:00:00Z");
/// assert_eq!("2026-06-06".parse::<Instant>().unwrap().to_string(), "2026-06-06T00:00:00Z");
/// assert!("2026-06-06T12:00:00".parse::<Instant>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(
    // Counted from the least 64-bit number, which no instant is, so that an optional instant takes
    // no more room than an instant.
    NonZeroU64,
);

const SIGN: u64 = 1 << 63;

impl Instant {
    /// Returns the instant this many microseconds after the epoch; the least number counts as the next.
    pub const fn from_micros(micros: i64) -> Instant {
        match NonZeroU64::new(micros as u64 ^ SIGN) {
            Some(offset) => Instant(offset),
            None => Instant(NonZeroU64::MIN),
        }
    }

    /// Microseconds since the epoch.
    pub const fn micros(self) -> i64 {
        (self.0.get() ^ SIGN) as i64
    }

    /// The start of the second that it is in.
    #[must_use]
    pub const fn second(self) -> Instant {
        let micros = self.micros();
        Instant::from_micros(micros.saturating_sub(micros.rem_euclid(1_000_000)))
    }

    /// Days from `earlier` to here; negative when it is later.
    pub fn days_since(self, earlier: Instant) -> f64 {
        (self.micros() as f64 - earlier.micros() as f64) / 86_400e6
    }
}

impl FromStr for Instant {
    type Err = Error;

    fn from_str(text: &str) -> Result<Instant, Error> {
        let stamp = if text.len() == 10 {
            format!("{text}T00:00:00Z").parse::<jiff::Timestamp>()
        } else {
            text.parse::<jiff::Timestamp>()
        };
        let instant = stamp.map(|stamp| Instant::from_micros(stamp.as_microsecond()));
        instant.ok().or_else(|| of_last_day(text)).ok_or_else(|| {
            let error = Error::input(format!("`{}` is not an instant", clip(text)));
            // A year of more digits is nobody's typing error.
            let year = text.trim_start_matches('+').split('-').next();
            let is_late = year.is_some_and(|year| {
                year.len() > 4 && year.bytes().all(|digit| digit.is_ascii_digit())
            });
            error.expected(if is_late {
                "an instant before 10000-01-01, in UTC; leave an end out that is open"
            } else {
                "RFC 3339 with a zone, such as 2026-06-06T12:00:00Z, or a date"
            })
        })
    }
}

/// The beginning of the time that is counted.
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The instant that a text names, where it is after the last one that the parser takes, 22 hours into 9999-12-30, and before
/// the year 10000: many write 9999-12-31 for what is open.
fn of_last_day(text: &str) -> Option<Instant> {
    let (date, time, ahead) = if text.len() == 10 {
        (text.parse::<Date>().ok()?, Time::midnight(), 0)
    } else {
        let pieces = Pieces::parse(text).ok()?;
        let ahead = pieces.to_numeric_offset()?.seconds();
        (pieces.date(), pieces.time()?, ahead)
    };
    let local = date.to_datetime(time).duration_since(EPOCH);
    let micros = local.checked_sub(SignedDuration::from_secs(ahead.into()))?;
    let micros = i64::try_from(micros.as_micros()).ok()?;
    written_late(micros).map(|_| Instant::from_micros(micros))
}

/// The time of an instant that is after the last one that is written as a timestamp.
fn written_late(micros: i64) -> Option<DateTime> {
    let is_late = micros > jiff::Timestamp::MAX.as_microsecond();
    is_late
        .then(|| EPOCH.checked_add(SignedDuration::from_micros(micros)).ok())
        .flatten()
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let stamp = jiff::Timestamp::from_microsecond(self.micros());
        match (stamp, written_late(self.micros())) {
            (Ok(stamp), _) => write!(f, "{stamp}"),
            (Err(_), Some(late)) => write!(f, "{late}Z"),
            (Err(_), None) => write!(f, "{} µs", self.micros()),
        }
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Instant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Instant, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(|error: Error| {
            let expected = error.expected.unwrap_or_default();
            de::Error::custom(format!("{}; expected {expected}", error.what))
        })
    }
}

impl JsonSchema for Instant {
    fn schema_name() -> Cow<'static, str> {
        "Instant".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// A half-open interval `[from, until)`. An end that is missing is *unknown* at the start and
/// *open* at the end; an unknown start is not the beginning of time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Interval {
    /// The first instant inside, when it is known.
    pub from: Option<Instant>,
    /// The first instant after, when there is one.
    pub until: Option<Instant>,
}

/// The position of an instant relative to an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// Before a known start.
    Before,
    /// Inside, as far as is known.
    Inside,
    /// At or after the end.
    After,
}

impl Interval {
    /// The interval of which nothing is known.
    pub const UNKNOWN: Interval = Interval {
        from: None,
        until: None,
    };

    /// Returns the position of `instant`.
    pub fn locate(&self, instant: Instant) -> Position {
        if self.from.is_some_and(|from| instant < from) {
            Position::Before
        } else if self.until.is_some_and(|until| instant >= until) {
            Position::After
        } else {
            Position::Inside
        }
    }

    /// Returns whether the interval holds no instant.
    pub fn is_empty(&self) -> bool {
        matches!((self.from, self.until), (Some(from), Some(until)) if from >= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_keep_their_order_in_little_room() {
        let micros = [i64::MIN + 1, -1, 0, 1, i64::MAX];
        let instants = micros.map(Instant::from_micros);
        assert!(instants.is_sorted());
        assert_eq!(instants.map(Instant::micros), micros);
        assert_eq!(size_of::<Interval>(), 16);
    }

    #[test]
    fn the_last_day_is_taken_and_written_again() {
        let at = |text: &str| text.parse::<Instant>();
        let before = at("9999-12-30T21:59:59.5Z").unwrap();
        let mut last = before;
        for (text, written) in [
            ("9999-12-30T22:00:01Z", "9999-12-30T22:00:01Z"),
            ("9999-12-31", "9999-12-31T00:00:00Z"),
            ("9999-12-31T02:00:01+01:00", "9999-12-31T01:00:01Z"),
            ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        ] {
            let instant = at(text).unwrap();
            assert_eq!(instant.to_string(), written);
            assert_eq!(at(written).unwrap(), instant);
            assert!(instant > last, "{text}");
            last = instant;
        }
        let days = at("9999-12-31").unwrap().days_since(at("9999-12-29").unwrap());
        assert_eq!(days, 2.0);
        for text in [
            "10000-01-01",
            "+010000-01-01T00:00:00Z",
            "99999-01-01T00:00:00Z",
        ] {
            let expected = at(text).unwrap_err().expected.unwrap();
            assert!(
                expected.contains("before 10000-01-01"),
                "{text}: {expected}"
            );
        }
        for text in [
            "9999-12-31T23:59:59-00:01",
            "9999-12-31T12:00:00",
            "9999-12-32",
            "9999-13-01",
            "2026-02-30",
        ] {
            let expected = at(text).unwrap_err().expected.unwrap();
            assert!(expected.starts_with("RFC 3339"), "{text}: {expected}");
        }
    }

    #[test]
    fn a_second_starts_at_or_before_its_instants() {
        let second = |micros| Instant::from_micros(micros).second().micros();
        let given = [0, 1, 999_999, 1_000_000, -1, -1_000_000];
        assert_eq!(
            given.map(second),
            [0, 0, 0, 1_000_000, -1_000_000, -1_000_000]
        );
        assert!(second(i64::MIN + 1) <= i64::MIN + 1);
    }

    #[test]
    fn intervals_are_half_open() {
        let at = |text: &str| text.parse::<Instant>().unwrap();
        let june = Interval {
            from: Some(at("2026-06-01")),
            until: Some(at("2026-07-01")),
        };
        assert_eq!(
            june.locate(at("2026-05-31T23:59:59.999999Z")),
            Position::Before
        );
        assert_eq!(june.locate(at("2026-06-01")), Position::Inside);
        assert_eq!(
            june.locate(at("2026-06-30T23:59:59.999999Z")),
            Position::Inside
        );
        assert_eq!(june.locate(at("2026-07-01")), Position::After);
        assert_eq!(
            Interval::default().locate(at("1900-01-01")),
            Position::Inside
        );
    }
}
