//! Claims: `slot op value`, read from text, and whether two of them can hold together.
//!
//! A slot is a name without white space; letters that look like Latin ones are taken for them, so that what looks like
//! one slot is one. What is not seen has no place in a claim. An operator is one of `== != < <= > >= in`. A value is a number (exact, to
//! twelve decimals), a date or an instant, `true` or `false`, or a text, which is compared without regard to case,
//! compatibility forms and white space. Numbers and instants have an order and are taken as dense.

use std::fmt;

use unicode_normalization::UnicodeNormalization;

use crate::base::error::Error;
use crate::base::text::{clip, is_invisible};
use crate::base::time::Instant;
use crate::belief::lookalike::skeleton;
use crate::object::claim::{Op, parts};

/// The most values of one `in`.
pub const MAX_VALUES: usize = 1024;
/// The number of decimals that a number keeps.
const DECIMALS: u32 = 12;
/// The digits before the point that a number may have.
const MOST_DIGITS: usize = 24;

/// A value of a slot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Value {
    /// A number, in units of 10⁻¹².
    Number(i128),
    /// An instant; a date is its midnight, UTC.
    Instant(Instant),
    /// Yes or no.
    Flag(bool),
    /// A text, folded.
    Text(String),
}

/// A claim: what is said of a slot.
///
/// ```
/// use tenure::belief::Claim;
/// let old: Claim = "office == Chicago".parse()?;
/// let new: Claim = "office == Denver".parse()?;
/// assert!(!old.agrees_with(&new));
/// assert!("price < 5".parse::<Claim>()?.agrees_with(&"price >= 4".parse()?));
/// let error = "price == 5 kg".parse::<Claim>().unwrap_err();
/// assert!(error.what.contains("a unit"));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Claim {
    slot: String,
    op: Op,
    /// One value; of `in` all of them, sorted, each once.
    values: Vec<Value>,
}

impl Claim {
    /// The slot, folded, in Latin letters where it has others that look like them.
    pub fn slot(&self) -> &str {
        &self.slot
    }

    /// The operator.
    pub fn op(&self) -> Op {
        self.op
    }

    /// Its values: several of `in` alone.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Returns whether some value of the slot makes both true. It does not look at the slots' names.
    pub fn agrees_with(&self, other: &Claim) -> bool {
        let either = [(self, other), (other, self)];
        // What names its values agrees where one of them does.
        if let Some((names, other)) =
            either.into_iter().find(|(claim, _)| matches!(claim.op, Op::Is | Op::In))
        {
            return names.values.iter().any(|value| other.holds_for(value));
        }
        let (Some(ours), Some(theirs)) = (self.bound(), other.bound()) else {
            // What leaves out one value leaves infinitely many.
            return true;
        };
        let (ours_at, theirs_at) = (ours.at, theirs.at);
        if std::mem::discriminant(ours_at) != std::mem::discriminant(theirs_at) {
            return false;
        }
        if ours.side == theirs.side {
            return true;
        }
        let (low, high) = if ours.side == Side::From {
            (ours, theirs)
        } else {
            (theirs, ours)
        };
        low.at < high.at || (low.at == high.at && low.closed && high.closed)
    }

    /// Returns whether it is true of a slot that has this value.
    pub fn holds_for(&self, value: &Value) -> bool {
        match self.op {
            Op::Is | Op::In => self.values.binary_search(value).is_ok(),
            Op::IsNot => !self.values.contains(value),
            Op::Below | Op::AtMost | Op::Above | Op::AtLeast => {
                let Some(bound) = self.bound() else {
                    return true;
                };
                let same_kind = std::mem::discriminant(bound.at) == std::mem::discriminant(value);
                let inside = match bound.side {
                    Side::From => value > bound.at,
                    Side::Until => value < bound.at,
                };
                same_kind && (inside || (bound.closed && value == bound.at))
            }
        }
    }

    /// Says in words why a text is no claim; nothing where it is one.
    ///
    /// ```
    /// use tenure::belief::Claim;
    /// assert_eq!(Claim::flaw("office == Chicago"), None);
    /// assert!(Claim::flaw("price == 5 kg").is_some_and(|why| why.contains("a unit")));
    /// ```
    pub fn flaw(text: &str) -> Option<String> {
        let error = text.parse::<Claim>().err()?;
        let expected = error.expected.map(|one| format!("; expected {one}"));
        Some(error.what + &expected.unwrap_or_default())
    }

    fn bound(&self) -> Option<Bound<'_>> {
        let (side, closed) = match self.op {
            Op::Below => (Side::Until, false),
            Op::AtMost => (Side::Until, true),
            Op::Above => (Side::From, false),
            Op::AtLeast => (Side::From, true),
            Op::Is | Op::IsNot | Op::In => return None,
        };
        Some(Bound {
            at: self.values.first()?,
            side,
            closed,
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    From,
    Until,
}

/// A half-line of values.
#[derive(Clone, Copy)]
struct Bound<'c> {
    at: &'c Value,
    side: Side,
    closed: bool,
}

impl std::str::FromStr for Claim {
    type Err = Error;

    fn from_str(text: &str) -> Result<Claim, Error> {
        let text = text.trim();
        let refused = |what: String| Error::input(format!("`{}`: {what}", clip(text)));
        if let Some(what) = hidden(text) {
            return Err(refused(what)
                .expected("a claim of which every character is seen")
                .hint("write it again without that character"));
        }
        // `in` among the words of a sentence is no operator.
        let (slot, op, rest) = parts(text)
            .filter(|(slot, op, _)| *op != Op::In || !slot.contains(' '))
            .ok_or_else(|| {
                refused("this is no claim".into())
                    .expected("`slot op value` with one of == != < <= > >= in")
                    .hint("write `office == Chicago`, or leave `normalized_claim` out")
            })?;
        if slot.is_empty() || slot.contains(char::is_whitespace) {
            return Err(refused("the slot is no name".into())
                .expected("a name without white space, such as `office` or `billing.plan`"));
        }
        let slot = slot_name(slot);
        if slot.contains(['=', '!', '<', '>', '"']) {
            return Err(
                refused("the slot has a sign of an operator in its name".into())
                    .expected("a name, such as `office` or `billing.plan`"),
            );
        }
        let values = match op {
            Op::In => list(rest).map_err(&refused)?,
            _ => vec![value(rest).map_err(&refused)?],
        };
        let ordered =
            values.iter().all(|value| matches!(value, Value::Number(_) | Value::Instant(_)));
        if !matches!(op, Op::Is | Op::IsNot | Op::In) && !ordered {
            let what = format!("`{}` has no order", clip(rest));
            return Err(refused(what).expected(format!(
                "a number, a date or an instant behind `{}`",
                op.term()
            )));
        }
        Ok(Claim { slot, op, values })
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ", self.slot, self.op.term())?;
        if self.op != Op::In {
            return self.values.iter().try_for_each(|value| value.fmt(f));
        }
        f.write_str("[")?;
        for (at, value) in self.values.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{value}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(units) => {
                let one = 10i128.pow(DECIMALS);
                let sign = if *units < 0 { "-" } else { "" };
                let (whole, part) = ((units / one).abs(), (units % one).abs());
                if part == 0 {
                    return write!(f, "{sign}{whole}");
                }
                let part = format!("{part:0width$}", width = DECIMALS as usize);
                write!(f, "{sign}{whole}.{}", part.trim_end_matches('0'))
            }
            Value::Instant(at) => write!(f, "{at}"),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::Text(text) => write!(f, "{}", serde_json::Value::from(text.as_str())),
        }
    }
}

/// A name or a text as it is compared: compatibility forms, lower case, single spaces.
pub fn folded(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    let lower: String = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.nfkc().flat_map(char::to_lowercase).nfkc().collect()
    };
    for word in lower.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

/// The slot that a name means: in lower case, with the letters that it looks like.
pub fn slot_name(text: &str) -> String {
    folded(&skeleton(&folded(text)).0)
}

/// The first character of a claim that is not seen, and where it is.
fn hidden(text: &str) -> Option<String> {
    let (at, c) = (1..)
        .zip(text.chars())
        .find(|(_, c)| is_invisible(*c) || ((*c).is_control() && !(*c).is_whitespace()))?;
    let slot = text.find(['=', '!', '<', '>', '"', ' ']).map_or(text, |end| &text[..end]);
    let part = if at <= slot.chars().count() {
        "slot"
    } else {
        "value"
    };
    Some(format!(
        "the {part} has a character that is not seen (U+{:04X}, the {at}. of the claim)",
        u32::from(c)
    ))
}

/// The values of a list in brackets.
fn list(text: &str) -> Result<Vec<Value>, String> {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .ok_or("`in` has no list in brackets, such as `[red, green]`")?;
    let mut values = Vec::new();
    let mut rest = inner.trim();
    while !rest.is_empty() {
        let (item, after) = first_item(rest)?;
        values.push(value(item)?);
        if values.len() > MAX_VALUES {
            return Err(format!("`in` has more than {MAX_VALUES} values"));
        }
        rest = after;
    }
    if values.is_empty() {
        return Err("`in` has an empty list, which nothing can be in".into());
    }
    values.sort();
    values.dedup();
    Ok(values)
}

/// The first item of a list, and what follows its comma.
fn first_item(text: &str) -> Result<(&str, &str), String> {
    let end = if text.starts_with('"') {
        let mut escaped = false;
        let end = text.char_indices().skip(1).find(|(_, c)| {
            let ends = *c == '"' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        end.ok_or("a quoted text does not end")?.0 + 1
    } else {
        text.find(',').unwrap_or(text.len())
    };
    let (item, rest) = text.split_at(end);
    let rest = rest.trim_start();
    match rest.strip_prefix(',') {
        Some(after) => Ok((item.trim(), after.trim_start())),
        None if rest.is_empty() => Ok((item.trim(), "")),
        None => Err("a comma is missing in the list".into()),
    }
}

/// The names of numbers that are none.
const NO_NUMBERS: [&str; 6] = ["nan", "inf", "infinity", "-inf", "+inf", "-infinity"];
/// The months of other calendars: Hijri, Hebrew, Persian, Ethiopian, Coptic, Indian, French. One beside a number is a date.
const MONTHS: &[&str] = &[
    "muharram",
    "safar",
    "rabi",
    "jumada",
    "rajab",
    "shaban",
    "sha'ban",
    "ramadan",
    "ramadhan",
    "ramazan",
    "shawwal",
    "shawwāl",
    "dhulhijja",
    "dhulhijjah",
    "dhulqada",
    "zilhajj",
    "tishri",
    "tishrei",
    "heshvan",
    "cheshvan",
    "marheshvan",
    "kislev",
    "tevet",
    "shevat",
    "shvat",
    "adar",
    "nisan",
    "iyar",
    "iyyar",
    "sivan",
    "tammuz",
    "elul",
    "farvardin",
    "ordibehesht",
    "khordad",
    "mordad",
    "shahrivar",
    "esfand",
    "meskerem",
    "tikimt",
    "hidar",
    "tahsas",
    "yekatit",
    "megabit",
    "miyazya",
    "ginbot",
    "hamle",
    "nehase",
    "pagume",
    "thout",
    "paopi",
    "hathor",
    "koiak",
    "meshir",
    "paremhat",
    "parmouti",
    "pashons",
    "paoni",
    "epip",
    "mesori",
    "chaitra",
    "vaisakha",
    "vaishakha",
    "jyeshtha",
    "ashadha",
    "shravana",
    "bhadrapada",
    "ashvin",
    "kartika",
    "phalguna",
    "vendémiaire",
    "brumaire",
    "frimaire",
    "nivôse",
    "pluviôse",
    "ventôse",
    "germinal",
    "floréal",
    "prairial",
    "messidor",
    "thermidor",
    "fructidor",
];
/// The marks of dates by another calendar, or of another era.
const ERAS: [&str; 14] = [
    "ah", "am", "be", "bc", "bce", "ad", "ce", "sh", "reiwa", "heisei", "showa", "julian", "hijri",
    "anno",
];

fn value(text: &str) -> Result<Value, String> {
    if text.is_empty() {
        return Err("the value is missing".into());
    }
    if text.starts_with('"') {
        let text: String = serde_json::from_str(text)
            .map_err(|_| "the quoted text is not a JSON string".to_owned())?;
        // An escape is seen, and what it stands for is not.
        if let Some(c) = text.chars().find(|c| is_invisible(*c)) {
            return Err(format!(
                "the value has a character that is not seen (U+{:04X})",
                u32::from(c)
            ));
        }
        return Ok(Value::Text(folded(&text)));
    }
    let mut plain = folded(text);
    // The minus of typesetting is one before a number.
    if let Some(rest) = plain.strip_prefix('\u{2212}')
        && rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')
    {
        plain = format!("-{rest}");
    }
    if NO_NUMBERS.contains(&plain.as_str()) {
        return Err(format!(
            "`{}` is no number that can be compared (quote it if it is a text)",
            clip(text)
        ));
    }
    match plain.as_str() {
        "true" => return Ok(Value::Flag(true)),
        "false" => return Ok(Value::Flag(false)),
        _ => {}
    }
    let starts = plain.trim_start_matches(['-', '+']);
    let is_numeric = starts.starts_with(|c: char| c.is_ascii_digit())
        || (starts.starts_with('.') && starts[1..].starts_with(|c: char| c.is_ascii_digit()));
    if plain.contains("[u-ca=") || plain.contains(['年', '月']) {
        return Err(other_calendar(text));
    }
    let era_first = plain.split([' ', '.']).next().unwrap_or_default();
    let has_digit = plain.contains(|c: char| c.is_ascii_digit());
    if has_digit && (ERAS.contains(&era_first) || has_foreign_month(&plain)) {
        return Err(other_calendar(text));
    }
    if plain.starts_with(['$', '€', '£', '¥', '₹']) {
        return Err(with_unit(text));
    }
    if !is_numeric {
        return Ok(Value::Text(plain));
    }
    if is_dated(&plain) {
        let words = plain.split([' ', '.', '(', ')']).skip(1);
        if words.into_iter().any(|word| ERAS.contains(&word)) {
            return Err(other_calendar(text));
        }
        return text.trim().parse().map(Value::Instant).map_err(|_| {
            format!(
                "`{}` is no date of the Gregorian calendar and no instant with a zone, such as 2026-06-06 or \
                 2026-06-06T12:00:00Z",
                clip(text)
            )
        });
    }
    number(&plain).map(Value::Number).map_err(|fault| match fault {
        NoNumber::Other if is_era(&plain) => other_calendar(text),
        NoNumber::Other => no_number(text, &plain),
        NoNumber::Size => format!(
            "`{}` has more than {MOST_DIGITS} digits before or {DECIMALS} behind its point",
            clip(text)
        ),
    })
}

/// Returns whether the last word names an era.
fn is_era(text: &str) -> bool {
    text.split([' ', '.']).next_back().is_some_and(|word| ERAS.contains(&word))
}

/// Returns whether a text names a month of another calendar beside a number.
fn has_foreign_month(text: &str) -> bool {
    let mut words = text.split([' ', '.', ',', '-', '/']);
    let mut numbers = words.clone();
    words.any(|word| MONTHS.contains(&word.trim_matches(['\'', '’'])))
        && numbers.any(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

fn other_calendar(text: &str) -> String {
    format!(
        "`{}` is a date of another calendar or era; write it by the Gregorian one, as 2026-06-06, or quote the value \
         if it is a text",
        clip(text)
    )
}

fn with_unit(text: &str) -> String {
    format!(
        "`{}` is a number with a unit, which cannot be compared; name the unit in the slot (`weight_kg == 5`), or \
         quote the value if it is a text",
        clip(text)
    )
}

/// The words for what begins as a number does and is none.
fn no_number(text: &str, plain: &str) -> String {
    let between = |signs: &[char]| {
        let parts: Vec<&str> = plain.split(signs).collect();
        parts.len() > 1
            && parts.iter().all(|part| {
                let part = part.trim_start_matches(['-', '+']);
                part.starts_with(|c: char| c.is_ascii_digit())
            })
    };
    let shown = clip(text);
    if between(&[':']) {
        format!(
            "`{shown}` is a time of day without its date; write an instant with a zone, such as \
             2026-06-06T12:30:00Z, or quote the value if it is a text"
        )
    } else if between(&[',', '_', ' ', '\'']) {
        format!(
            "`{shown}` has signs between its digits; write the digits alone, with a point before decimals \
             (`1000`, `1.5`), or quote the value if it is a text"
        )
    } else if plain.split(' ').count() > 2 || plain.matches('.').count() > 1 {
        format!("`{shown}` is a text that begins with a number; quote it (`\"{shown}\"`)")
    } else {
        with_unit(text)
    }
}

/// Returns whether a text begins as a date does: four digits or more, a hyphen, two digits or a week.
fn is_dated(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let mut rest = digits.chars();
    text.len() - digits.len() >= 4
        && rest.next() == Some('-')
        && rest.next().is_some_and(|c| c.is_ascii_digit() || c == 'w')
}

enum NoNumber {
    Other,
    Size,
}

/// A decimal number in units of 10⁻¹².
fn number(text: &str) -> Result<i128, NoNumber> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match digits.split_once('e') {
        Some((mantissa, exponent)) => {
            let exponent: i32 = exponent.parse().map_err(|_| NoNumber::Other)?;
            (mantissa, exponent)
        }
        None => (digits, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    if !all_digits(whole) || !all_digits(part) {
        return Err(NoNumber::Other);
    }
    if exponent.unsigned_abs() > 64 || whole.len() + part.len() > 128 {
        return Err(NoNumber::Size);
    }
    let mantissa = format!("{whole}{part}");
    let digits = mantissa.trim_start_matches('0');
    let zeros = DECIMALS as i32 + exponent - part.len() as i32;
    let padded = if zeros >= 0 {
        if digits.is_empty() {
            String::from("0")
        } else {
            format!("{digits}{}", "0".repeat(zeros as usize))
        }
    } else {
        let cut = digits.len().saturating_sub(zeros.unsigned_abs() as usize);
        // What would be lost would make two different values the same.
        if digits[cut..].contains(|c| c != '0') {
            return Err(NoNumber::Size);
        }
        format!("0{}", &digits[..cut])
    };
    if padded.trim_start_matches('0').len() > MOST_DIGITS + DECIMALS as usize {
        return Err(NoNumber::Size);
    }
    let units: i128 = padded.parse().map_err(|_| NoNumber::Size)?;
    Ok(if negative { -units } else { units })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claim(text: &str) -> Claim {
        text.parse().unwrap()
    }

    fn refused(text: &str, part: &str) {
        let error = text.parse::<Claim>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }

    #[test]
    fn claims_are_read_and_written() {
        for (text, shown) in [
            ("Office  ==  New   York", "office == \"new york\""),
            ("office == \"New York\"", "office == \"new york\""),
            ("price<=1.50", "price <= 1.5"),
            ("price > -0.000001", "price > -0.000001"),
            ("price == \u{2212}5", "price == -5"),
            ("price == \u{2212}.5", "price == -0.5"),
            ("price == \u{2212}a", "price == \"\u{2212}a\""),
            ("n == 1e3", "n == 1000"),
            ("n == -12.5e-1", "n == -1.25"),
            ("n == .5", "n == 0.5"),
            ("since >= 2026-06-06", "since >= 2026-06-06T00:00:00Z"),
            (
                "at == 2026-06-06T14:00:00+02:00",
                "at == 2026-06-06T12:00:00Z",
            ),
            ("on == TRUE", "on == true"),
            (
                "color in [Red, green, \"a, b\", red]",
                "color in [\"a, b\", \"green\", \"red\"]",
            ),
            ("n in[2, 1]", "n in [1, 2]"),
            ("inside == yes", "inside == \"yes\""),
            // Cyrillic letters that look like Latin ones.
            ("оffice == Oslo", "office == \"oslo\""),
            ("сору == on", "copy == \"on\""),
            (
                "street == \"5 Denver Street\"",
                "street == \"5 denver street\"",
            ),
            ("month == Ramadan", "month == \"ramadan\""),
            ("month == \"Shawwal 3\"", "month == \"shawwal 3\""),
        ] {
            assert_eq!(claim(text).to_string(), shown, "{text}");
            assert_eq!(claim(shown), claim(text), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_compared_is_refused_by_name() {
        refused("", "no claim");
        refused("I live in Paris", "no claim");
        refused("a b == 5", "the slot is no name");
        refused("== 5", "the slot is no name");
        refused("x ==", "the value is missing");
        refused("x = 5", "no claim");
        refused("x == NaN", "no number");
        refused("x < -inf", "no number");
        refused("x == 5 kg", "with a unit");
        refused("x == 5%", "with a unit");
        refused("x == 1,000", "signs between its digits");
        refused("x == 1'000.50", "signs between its digits");
        refused("x == 1 000", "signs between its digits");
        refused("x == 1.2.3", "begins with a number; quote it");
        refused("x == 12:30", "a time of day without its date");
        refused("x == 5 Denver Street", "begins with a number; quote it");
        refused("x == Shawwal 3", "another calendar");
        refused("x == 3 Tishrei 5786", "another calendar");
        refused("x == 18 Brumaire", "another calendar");
        refused(
            "of\u{200B}fice == 1",
            "the slot has a character that is not seen (U+200B, the 3. of the claim)",
        );
        refused(
            "city == Ro\u{200B}me",
            "the value has a character that is not seen (U+200B, the 11. of the claim)",
        );
        refused(
            "city == \"Ro\\u200bme\"",
            "the value has a character that is not seen",
        );
        refused("city in [a, \"b\u{AD}\"]", "the value has a character");
        refused("\u{202E}city == x", "the slot has a character");
        refused("ci\u{3164}ty == x", "the slot has a character");
        refused("a\u{0}b == x", "the slot has a character");
        refused("x == $5", "with a unit");
        refused("x == 1447 AH", "another calendar");
        refused("x == 5786-03-01 AM", "another calendar");
        refused("x == 2569-06-06 BE", "another calendar");
        refused("x == AH 1447", "another calendar");
        refused("x == 令和8年6月6日", "another calendar");
        refused("x == 2026-06-06T12:00:00Z[u-ca=hebrew]", "another calendar");
        refused("x == 2026-W23-5", "no date of the Gregorian calendar");
        refused("x == 2026-02-30", "no date of the Gregorian calendar");
        refused(
            "x == 2026-06-06T12:00:00",
            "no date of the Gregorian calendar",
        );
        refused("x < red", "has no order");
        refused("x in []", "empty list");
        refused("x in red", "no list in brackets");
        refused("x in [\"a\" b]", "comma");
        refused("x in [\"a]", "does not end");
        refused(&format!("x == {}", "9".repeat(40)), "digits before");
        refused("x == 0.0000000000001", "digits before");
        refused(&format!("x in [{}]", "1, ".repeat(2000)), "more than 1024");
    }

    /// A value from a small world, with the points between: two times the number.
    fn half(twice: i128) -> Value {
        Value::Number(twice * 10i128.pow(DECIMALS) / 2)
    }

    fn any_claim() -> impl Strategy<Value = Claim> {
        let number = (0i128..6).prop_map(|n| n.to_string());
        let text = prop_oneof![Just("red".to_owned()), Just("true".to_owned())];
        let one = prop_oneof![3 => number.clone(), 1 => text];
        let named = (prop_oneof![Just("=="), Just("!=")], one.clone())
            .prop_map(|(op, value)| format!("s {op} {value}"));
        let bound = (
            prop_oneof![Just("<"), Just("<="), Just(">"), Just(">=")],
            number,
        )
            .prop_map(|(op, value)| format!("s {op} {value}"));
        let listed = prop::collection::vec(one, 1..4)
            .prop_map(|values| format!("s in [{}]", values.join(", ")));
        prop_oneof![named, bound, listed].prop_map(|text| text.parse().unwrap())
    }

    proptest! {
        // Two claims agree where a value of a small world, which has points between and beyond, makes both true.
        #[test]
        fn claims_agree_where_some_value_makes_both_true(a in any_claim(), b in any_claim()) {
            let mut world: Vec<Value> = (-4..16).map(half).collect();
            world.extend([Value::Text("red".into()), Value::Text("blue".into()), Value::Flag(true)]);
            let oracle = world.iter().any(|value| a.holds_for(value) && b.holds_for(value));
            prop_assert_eq!(a.agrees_with(&b), oracle, "{} with {}", a, b);
            prop_assert_eq!(b.agrees_with(&a), oracle);
            prop_assert!(a.agrees_with(&a));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,60}") {
            if let Ok(claim) = text.parse::<Claim>() {
                prop_assert_eq!(claim.to_string().parse::<Claim>().unwrap(), claim);
            }
        }

        #[test]
        fn what_looks_like_a_claim_is_read_or_refused(text in "[a-c.é]{1,3} ?(==|!=|<|<=|>|>=| in ) ?[-+.0-9eE\\[\\],\" TZ:年a-f]{0,24}") {
            if let Ok(claim) = text.parse::<Claim>() {
                prop_assert_eq!(claim.to_string().parse::<Claim>().unwrap(), claim);
            }
        }
    }
}
