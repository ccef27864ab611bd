//! The days that a text names: dates, months, years, ranges of them, and days told from another day. What a question
//! asks about a day is answered by what was said or true on that day, or near it.

use std::borrow::Cow;

use jiff::civil::{Date, Weekday};

/// Days, counted from 1970-01-01, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Days {
    pub(crate) first: i32,
    pub(crate) last: i32,
}

/// The most dates that a text is read for.
const MOST: usize = 8;
/// The most words that are looked at: what is longer is no question.
const MAX_WORDS: usize = 4_096;
/// The most years that a date without one is looked for in.
const MAX_YEARS: i32 = 64;
/// The reach of an open end, in days.
const EVER: i32 = 10_000_000;

impl Days {
    fn day(date: Date) -> Days {
        let day = number(date);
        Days {
            first: day,
            last: day,
        }
    }

    /// All days from the first of both to the last.
    pub(crate) fn with(self, other: Days) -> Days {
        Days {
            first: self.first.min(other.first),
            last: self.last.max(other.last),
        }
    }

    fn around(day: i32, reach: i32) -> Days {
        Days {
            first: day - reach,
            last: day + reach,
        }
    }

    /// The nearness of other days to these, from 1, where they have one in common, falling with the days between them: a
    /// month is told less exactly than a day, so it falls more slowly.
    pub(crate) fn nearness(self, other: Days) -> f64 {
        let between = (self.first.saturating_sub(other.last))
            .max(other.first.saturating_sub(self.last))
            .max(0);
        let length = self.last.saturating_sub(self.first).min(3_660);
        let scale = 3.0 + f64::from(length) / 6.0;
        scale / (scale + f64::from(between))
    }
}

/// The day of an instant, by its microseconds.
pub(crate) fn day_of(micros: i64) -> i32 {
    micros.div_euclid(86_400_000_000) as i32
}

/// The days that a text names. `now` is the day on which it is said, where that is known: without it `yesterday` names no
/// day, and a month without a year is that of each of the years around `among`.
pub(crate) fn named(text: &str, now: Option<i32>, among: Option<Days>) -> Vec<Days> {
    let words = words_of(text);
    let reader = Reader {
        words: &words,
        now: now.and_then(date),
    };
    let mut found: Vec<Days> = Vec::new();
    let mut at = 0;
    while at < words.len() && found.len() < MOST {
        let begins = may_begin(&words[at].text);
        match begins.then(|| reader.span(at)).flatten() {
            Some((span, next)) => {
                span.resolve(reader.now, among, &mut found);
                at = next;
            }
            None => at += 1,
        }
    }
    found
}

/// The first day that a text names, which says its year: the day on which something was said.
pub(crate) fn day_named(text: &str) -> Option<Days> {
    named(text, None, None).first().copied()
}

/// One word or number, in small letters.
struct Word<'t> {
    text: Cow<'t, str>,
    /// The character between it and the word before, if that is one.
    before: Option<char>,
    capital: bool,
}

fn words_of(text: &str) -> Vec<Word<'_>> {
    let mut words = Vec::with_capacity(16);
    let mut between = (0usize, ' ');
    let mut rest = text.char_indices().peekable();
    while let Some((start, c)) = rest.next() {
        if !c.is_ascii_alphanumeric() {
            between = (between.0 + 1, c);
            continue;
        }
        let digits = c.is_ascii_digit();
        let mut end = start + 1;
        while let Some((at, next)) = rest.peek() {
            // `7th` is one word, `2023T` and `may7` are two.
            let goes_on = next.is_ascii_alphanumeric()
                && (next.is_ascii_digit() == digits || digits && !is_stamp(text, *at));
            if !goes_on {
                break;
            }
            end = at + 1;
            rest.next();
        }
        if words.len() == MAX_WORDS {
            break;
        }
        words.push(Word {
            text: in_small_letters(&text[start..end]),
            before: (between.0 == 1).then_some(between.1),
            capital: c.is_ascii_uppercase(),
        });
        between = (0, ' ');
    }
    words
}

fn in_small_letters(word: &str) -> Cow<'_, str> {
    if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(word.to_ascii_lowercase())
    } else {
        Cow::Borrowed(word)
    }
}

/// Returns whether a date may begin with this word: most words are looked at no further.
fn may_begin(word: &str) -> bool {
    let first = word.as_bytes().first();
    first.is_some_and(u8::is_ascii_digit)
        || month(word).is_some()
        || matches!(
            word,
            "since"
                | "after"
                | "until"
                | "till"
                | "before"
                | "from"
                | "between"
                | "today"
                | "tonight"
                | "yesterday"
                | "tomorrow"
                | "last"
                | "past"
                | "previous"
                | "this"
                | "current"
                | "next"
                | "on"
                | "a"
                | "an"
                | "couple"
                | "few"
                | "several"
        )
        || count_of(word).is_some()
}

/// The number that a word is.
fn count_of(word: &str) -> Option<i32> {
    Some(match word {
        "one" => 1,
        "two" => 2,
        "three" => 3,
        "four" => 4,
        "five" => 5,
        "six" => 6,
        "seven" => 7,
        "eight" => 8,
        "nine" => 9,
        "ten" => 10,
        "eleven" => 11,
        "twelve" => 12,
        _ => return None,
    })
}

/// Returns whether the time of day begins here, as in `2023-05-07T10:00`.
fn is_stamp(text: &str, at: usize) -> bool {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    matches!(rest, [b'T' | b't', b'0'..=b'9', ..])
}

/// A date as far as it is told.
#[derive(Clone, Copy)]
enum Told {
    Day(Date),
    Month(i16, i8),
    Year(i16),
    /// A month and a day, or a month alone, of no year.
    Yearly(i8, Option<i8>),
    Days(Days),
}

/// A date, or a range of them.
enum Span {
    One(Told),
    Between(Told, Told),
    Since(Told),
    After(Told),
    Until(Told),
    Before(Told),
}

impl Told {
    /// Its days; of one without a year those of the latest before this day.
    fn days(self, now: Option<Date>) -> Option<Days> {
        match self {
            Told::Day(date) => Some(Days::day(date)),
            Told::Month(year, month) => month_of(year, month),
            Told::Year(year) => Some(Days {
                first: number(Date::new(year, 1, 1).ok()?),
                last: number(Date::new(year, 12, 31).ok()?),
            }),
            Told::Yearly(month, day) => {
                let now = now?;
                let latest = [
                    now.year(),
                    now.year() - 1,
                    now.year() - 2,
                    now.year() - 3,
                    now.year() - 4,
                ];
                let mut found = latest
                    .into_iter()
                    .filter_map(|year| in_year(year, month, day))
                    .filter(|days| days.first <= number(now));
                found.next()
            }
            Told::Days(days) => Some(days),
        }
    }

    fn year(self) -> Option<i16> {
        match self {
            Told::Day(date) => Some(date.year()),
            Told::Month(year, _) | Told::Year(year) => Some(year),
            Told::Yearly(..) | Told::Days(_) => None,
        }
    }

    /// Returns it in this year, if it is told without one.
    fn of(self, year: Option<i16>) -> Told {
        match (self, year) {
            (Told::Yearly(month, None), Some(year)) => Told::Month(year, month),
            (Told::Yearly(month, Some(day)), Some(year)) => {
                Date::new(year, month, day).map_or(self, Told::Day)
            }
            _ => self,
        }
    }
}

impl Span {
    fn resolve(self, now: Option<Date>, among: Option<Days>, found: &mut Vec<Days>) {
        let one = |told: Told| told.days(now);
        let ever = |first: i32, last: i32| Some(Days { first, last });
        let days = match self {
            Span::One(Told::Yearly(month, day)) if now.is_none() => {
                return each_year(month, day, among, found);
            }
            Span::One(told) => one(told),
            Span::Between(from, until) => {
                let year = until.year();
                let (from, until) = (from.of(year), until.of(from.year()));
                one(from).zip(one(until)).map(|(from, until)| Days {
                    first: from.first.min(until.first),
                    last: from.last.max(until.last),
                })
            }
            Span::Since(told) => one(told).and_then(|days| ever(days.first, EVER)),
            Span::After(told) => one(told).and_then(|days| ever(days.last + 1, EVER)),
            Span::Until(told) => one(told).and_then(|days| ever(-EVER, days.last)),
            Span::Before(told) => one(told).and_then(|days| ever(-EVER, days.first - 1)),
        };
        found.extend(days);
    }
}

/// The days of this date in each year around these days.
fn each_year(month: i8, day: Option<i8>, among: Option<Days>, found: &mut Vec<Days>) {
    let year = |day: i32| date(day).map(|date| i32::from(date.year()));
    let Some((first, last)) = among.and_then(|days| year(days.first).zip(year(days.last))) else {
        return;
    };
    let years =
        (first - 1..=(last + 1).min(first + MAX_YEARS)).filter_map(|year| i16::try_from(year).ok());
    found.extend(years.filter_map(|year| in_year(year, month, day)));
}

/// Reads dates out of words.
struct Reader<'w> {
    words: &'w [Word<'w>],
    now: Option<Date>,
}

impl Reader<'_> {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| &word.text)
    }

    /// The character before a word, if it is one.
    fn before(&self, at: usize) -> Option<char> {
        self.words.get(at).and_then(|word| word.before)
    }

    /// The number that a word is, of at most so many digits.
    fn number(&self, at: usize, digits: usize) -> Option<i16> {
        let word = self.word(at);
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        (is_number && word.len() <= digits).then(|| word.parse().ok())?
    }

    /// A date or a range of dates that begins with this word, and the word behind it.
    fn span(&self, at: usize) -> Option<(Span, usize)> {
        let opening = self.word(at);
        let kind: Option<fn(Told) -> Span> = match opening {
            "since" => Some(Span::Since),
            "after" => Some(Span::After),
            "until" | "till" => Some(Span::Until),
            "before" => Some(Span::Before),
            _ => None,
        };
        if let Some(kind) = kind {
            let (told, next) = self.told(at + 1)?;
            return Some((kind(told), next));
        }
        let opens = matches!(opening, "from" | "between");
        let (from, next) = self.told(at + usize::from(opens))?;
        // `May 3-7`
        if let (Told::Day(_) | Told::Yearly(_, Some(_)), Some('-' | '–')) =
            (from, self.before(next))
            && let Some(last) = self.number(next, 2)
            && let Some(until) = self.same_month(from, last, next + 1)
        {
            return Some(until);
        }
        let joins = match self.word(next) {
            "to" | "until" | "till" | "through" => 1,
            "and" if opening == "between" => 1,
            _ if matches!(self.before(next), Some('–')) => 0,
            _ => return Some((Span::One(from), next)),
        };
        match self.told(next + joins) {
            Some((until, end)) => Some((Span::Between(from, until), end)),
            None => Some((Span::One(from), next)),
        }
    }

    /// A range of days in the month of the first.
    fn same_month(&self, from: Told, last: i16, next: usize) -> Option<(Span, usize)> {
        let last = i8::try_from(last).ok()?;
        let year = self.year(next);
        let next = next + usize::from(year.is_some());
        let (from, until) = match from.of(year) {
            Told::Day(date) => (
                Told::Day(date),
                Told::Day(Date::new(date.year(), date.month(), last).ok()?),
            ),
            Told::Yearly(month, day) => (
                Told::Yearly(month, day),
                Told::Yearly(month, Some(last).filter(|day| (1..=31).contains(day))),
            ),
            _ => return None,
        };
        Some((Span::Between(from, until), next))
    }

    /// A date that begins with this word.
    fn told(&self, at: usize) -> Option<(Told, usize)> {
        let at = at + usize::from(self.word(at) == "the");
        self.of_numbers(at)
            .or_else(|| self.of_month(at))
            .or_else(|| self.of_year(at))
            .or_else(|| self.relative(at))
    }

    /// `2023-05-07`, `2023/05/07`, `2023-05`, `07.05.2023`.
    fn of_numbers(&self, at: usize) -> Option<(Told, usize)> {
        let (first, second) = (self.number(at, 4)?, self.number(at + 1, 2)?);
        let join = self.before(at + 1)?;
        let small = |number: i16| i8::try_from(number).ok();
        let third = (self.before(at + 2) == Some(join)).then(|| self.number(at + 2, 4)).flatten();
        match (self.word(at).len(), join, third) {
            (4, '-' | '/' | '.', Some(day)) => {
                let date = Date::new(first, small(second)?, small(day)?).ok()?;
                Some((Told::Day(date), at + 3))
            }
            (4, '-' | '/', None) if self.word(at + 1).len() == 2 && is_year(first) => {
                let month = small(second).filter(|month| (1..=12).contains(month))?;
                Some((Told::Month(first, month), at + 2))
            }
            (1 | 2, '.', Some(year)) if self.word(at + 2).len() == 4 && is_year(year) => {
                let date = Date::new(year, small(second)?, small(first)?).ok()?;
                Some((Told::Day(date), at + 3))
            }
            _ => None,
        }
    }

    /// `May 7, 2023`, `7 May`, `the 7th of May 2023`, `May 2023`, `May`.
    fn of_month(&self, at: usize) -> Option<(Told, usize)> {
        if let Some(day) = self.day(at) {
            let of = at + 1 + usize::from(self.word(at + 1) == "of");
            let month = month(self.word(of))?;
            let year = self.year(of + 1);
            let told = match year {
                Some(year) => Told::Day(Date::new(year, month.number, day).ok()?),
                None => yearly(month.number, day)?,
            };
            return Some((told, of + 1 + usize::from(year.is_some())));
        }
        let month = month(self.word(at))?;
        if let Some(day) = self.day(at + 1) {
            let year = self.year(at + 2);
            // `may 3 of them` is no day.
            let is_sure = !month.is_word || self.words[at].capital || year.is_some();
            let told = match year {
                Some(year) => Told::Day(Date::new(year, month.number, day).ok()?),
                None => yearly(month.number, day)?,
            };
            return is_sure.then_some((told, at + 2 + usize::from(year.is_some())));
        }
        let year = at + 1 + usize::from(self.word(at + 1) == "of");
        if let Some(told) = self.year(year) {
            return Some((Told::Month(told, month.number), year + 1));
        }
        let is_sure = if month.is_word {
            self.words[at].capital && at > 0 && comes_before_dates(self.word(at - 1))
        } else {
            month.is_whole
        };
        is_sure.then_some((Told::Yearly(month.number, None), at + 1))
    }

    /// The day of a month: `7`, `7th`.
    fn day(&self, at: usize) -> Option<i8> {
        let word = self.word(at);
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let ending = &word[digits.len()..];
        let is_day =
            (1..=2).contains(&digits.len()) && matches!(ending, "" | "st" | "nd" | "rd" | "th");
        let day: i8 = is_day.then(|| digits.parse().ok())??;
        (1..=31).contains(&day).then_some(day)
    }

    fn year(&self, at: usize) -> Option<i16> {
        self.number(at, 4).filter(|year| self.word(at).len() == 4 && is_year(*year))
    }

    /// A year by itself, which any number of four digits might be: only behind a word that comes before dates.
    fn of_year(&self, at: usize) -> Option<(Told, usize)> {
        let year = self.year(at)?;
        let behind = at.checked_sub(1).map_or("", |before| self.word(before));
        // `2023.5` and `2023-A` are none.
        let ends = !matches!(self.before(at + 1), Some('.' | '-' | '/' | ':' | '_'));
        (ends && comes_before_dates(behind)).then_some((Told::Year(year), at + 1))
    }

    /// `yesterday`, `last week`, `three days ago`, `the past two months`.
    fn relative(&self, at: usize) -> Option<(Told, usize)> {
        let now = self.now?;
        let today = number(now);
        let days = |first: i32, last: i32| Told::Days(Days { first, last });
        let one = |day: i32| days(day, day);
        match self.word(at) {
            "today" | "tonight" => return Some((one(today), at + 1)),
            "yesterday" => return Some((one(today - 1), at + 1)),
            "tomorrow" => return Some((one(today + 1), at + 1)),
            _ => {}
        }
        // `three days ago`
        if let Some((count, unit)) = self.count(at)
            && let Some(length) = length(self.word(unit))
            && self.word(unit + 1) == "ago"
        {
            let day = today - count.checked_mul(length)?;
            return Some((Told::Days(Days::around(day, (length - 1) / 2)), unit + 2));
        }
        let towards = match self.word(at) {
            "last" | "past" | "previous" => -1,
            "this" | "current" => 0,
            "next" => 1,
            "on" => return self.weekday(at + 1, 0),
            _ => return None,
        };
        if let Some((count, unit)) = self.count(at + 1)
            && let Some(length) = length(self.word(unit))
        {
            let reach = count.checked_mul(length)?;
            let (first, last) = match towards {
                -1 => (today - reach, today),
                1 => (today, today + reach),
                _ => return None,
            };
            return Some((days(first, last), unit + 1));
        }
        let monday = today - i32::from(now.weekday().to_monday_zero_offset());
        let next = at + 2;
        match self.word(at + 1) {
            "week" => Some((days(monday + 7 * towards, monday + 7 * towards + 6), next)),
            "weekend" => Some((
                days(monday + 7 * towards + 5, monday + 7 * towards + 6),
                next,
            )),
            "month" => {
                let months = i32::from(now.year()) * 12 + i32::from(now.month()) - 1 + towards;
                let year = i16::try_from(months.div_euclid(12)).ok()?;
                let month = i8::try_from(months.rem_euclid(12) + 1).ok()?;
                Some((Told::Month(year, month), next))
            }
            "year" => {
                let year = i16::try_from(i32::from(now.year()) + towards).ok()?;
                Some((Told::Year(year), next))
            }
            word => match month(word) {
                Some(month) if month.is_whole && !(month.is_word && towards == 0) => {
                    let year = now.year();
                    let is_past = month.number < now.month();
                    let year = match towards {
                        -1 => year - i16::from(!is_past),
                        1 => year + i16::from(month.number <= now.month()),
                        _ => year,
                    };
                    Some((Told::Month(year, month.number), next))
                }
                _ => self.weekday(at + 1, towards),
            },
        }
    }

    /// The day of the week: the latest one before today, or with `towards` 1 the one after.
    fn weekday(&self, at: usize, towards: i32) -> Option<(Told, usize)> {
        let wanted = weekday(self.word(at))?;
        let now = self.now?;
        let back = i32::from(now.weekday().since(wanted));
        let day = match (towards, back) {
            (1, _) => number(now) - back + 7,
            (-1, 0) => number(now) - 7,
            _ => number(now) - back,
        };
        Some((
            Told::Days(Days {
                first: day,
                last: day,
            }),
            at + 1,
        ))
    }

    /// A number of things, and the word behind.
    fn count(&self, at: usize) -> Option<(i32, usize)> {
        if let Some(count) = self.number(at, 3) {
            return Some((i32::from(count), at + 1));
        }
        let (count, words) = match (self.word(at), self.word(at + 1)) {
            ("a", "couple") => (2, 2 + usize::from(self.word(at + 2) == "of")),
            ("a", "few") => (3, 2),
            ("couple", "of") => (2, 2),
            ("few" | "several", _) => (3, 1),
            ("a" | "an", _) => (1, 1),
            (word, _) => (count_of(word)?, 1),
        };
        Some((count, at + words))
    }
}

/// A month by its name.
struct Month {
    number: i8,
    /// False if it is shortened.
    is_whole: bool,
    /// True if the name is another word as well.
    is_word: bool,
}

fn month(word: &str) -> Option<Month> {
    let (number, name) = match word.get(..3)? {
        "jan" => (1, "january"),
        "feb" => (2, "february"),
        "mar" => (3, "march"),
        "apr" => (4, "april"),
        "may" => (5, "may"),
        "jun" => (6, "june"),
        "jul" => (7, "july"),
        "aug" => (8, "august"),
        "sep" => (9, "september"),
        "oct" => (10, "october"),
        "nov" => (11, "november"),
        "dec" => (12, "december"),
        _ => return None,
    };
    let is_whole = word == name;
    (is_whole || word.len() == 3 || word == "sept").then_some(Month {
        number,
        is_whole,
        is_word: matches!(number, 3 | 5),
    })
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

/// The days of a unit of time.
fn length(word: &str) -> Option<i32> {
    Some(match word {
        "day" | "days" => 1,
        "week" | "weeks" => 7,
        "month" | "months" => 30,
        "year" | "years" => 365,
        _ => return None,
    })
}

fn comes_before_dates(word: &str) -> bool {
    matches!(
        word,
        "in" | "since"
            | "during"
            | "of"
            | "by"
            | "until"
            | "till"
            | "before"
            | "after"
            | "from"
            | "to"
            | "between"
            | "and"
            | "through"
            | "early"
            | "late"
            | "mid"
            | "year"
            | "summer"
            | "winter"
            | "spring"
            | "autumn"
            | "fall"
            | "throughout"
    )
}

fn is_year(year: i16) -> bool {
    (1_900..2_100).contains(&year)
}

fn yearly(month: i8, day: i8) -> Option<Told> {
    // A year that has each day.
    Date::new(2_000, month, day).ok()?;
    Some(Told::Yearly(month, Some(day)))
}

fn in_year(year: i16, month: i8, day: Option<i8>) -> Option<Days> {
    match day {
        Some(day) => Date::new(year, month, day).ok().map(Days::day),
        None => month_of(year, month),
    }
}

fn month_of(year: i16, month: i8) -> Option<Days> {
    let first = Date::new(year, month, 1).ok()?;
    Some(Days {
        first: number(first),
        last: number(first.last_of_month()),
    })
}

const EPOCH: Date = Date::constant(1970, 1, 1);

fn number(date: Date) -> i32 {
    (date - EPOCH).get_days()
}

fn date(day: i32) -> Option<Date> {
    EPOCH.checked_add(jiff::Span::new().try_days(day).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The days that a text names, as dates; said on Wednesday, 2026-05-20.
    fn said(text: &str) -> Vec<String> {
        let now = number(Date::constant(2026, 5, 20));
        let shown = |day: i32| match date(day) {
            Some(date) if day.abs() < EVER => date.to_string(),
            _ => "…".to_owned(),
        };
        named(text, Some(now), None)
            .into_iter()
            .map(|days| match days {
                Days { first, last } if first == last => shown(first),
                Days { first, last } => format!("{}..{}", shown(first), shown(last)),
            })
            .collect()
    }

    #[test]
    fn dates_are_read_in_every_form() {
        for text in [
            "What broke on 2023-05-07?",
            "2023/05/07 (Sun) 02:21",
            "at 2023-05-07T10:00:00Z",
            "on 07.05.2023",
            "May 7, 2023",
            "the 7th of May 2023",
            "1:56 pm on 7 May, 2023",
            "Who came on May 7th 2023",
        ] {
            assert_eq!(said(text), ["2023-05-07"], "{text}");
        }
        assert_eq!(said("in May 2023"), ["2023-05-01..2023-05-31"]);
        assert_eq!(said("since 2024-02"), ["2024-02-01..…"]);
        assert_eq!(
            said("What was decided in 2024?"),
            ["2024-01-01..2024-12-31"]
        );
        // The latest that was, as no year is told.
        assert_eq!(said("in March"), ["2026-03-01..2026-03-31"]);
        assert_eq!(said("on October 3"), ["2025-10-03"]);
        assert_eq!(said("on 29 February"), ["2024-02-29"]);
    }

    #[test]
    fn ranges_and_open_ends_are_read() {
        assert_eq!(said("from March to May 2023"), ["2023-03-01..2023-05-31"]);
        assert_eq!(
            said("between 2023-01-05 and 2023-01-09"),
            ["2023-01-05..2023-01-09"]
        );
        assert_eq!(said("May 3-7, 2023"), ["2023-05-03..2023-05-07"]);
        assert_eq!(said("before June 2020"), ["…..2020-05-31"]);
        assert_eq!(said("after 2020-06-30"), ["2020-07-01..…"]);
        assert_eq!(
            said("2021-03-01 and 2022-04-01"),
            ["2021-03-01", "2022-04-01"]
        );
    }

    #[test]
    fn days_are_told_from_the_day_of_the_request() {
        assert_eq!(said("What did I say yesterday?"), ["2026-05-19"]);
        assert_eq!(said("three days ago"), ["2026-05-17"]);
        assert_eq!(said("2 weeks ago"), ["2026-05-03..2026-05-09"]);
        assert_eq!(said("last week"), ["2026-05-11..2026-05-17"]);
        assert_eq!(said("this month"), ["2026-05-01..2026-05-31"]);
        assert_eq!(said("last year"), ["2025-01-01..2025-12-31"]);
        assert_eq!(said("in the last 10 days"), ["2026-05-10..2026-05-20"]);
        assert_eq!(said("last Friday"), ["2026-05-15"]);
        assert_eq!(said("on Monday"), ["2026-05-18"]);
        assert_eq!(said("last December"), ["2025-12-01..2025-12-31"]);
        // Nobody knows when that is.
        assert!(named("yesterday, last week, in March", None, None).is_empty());
        let among = Some(Days::around(number(Date::constant(2023, 6, 1)), 3));
        assert_eq!(named("in March", None, among).len(), 3);
    }

    #[test]
    fn what_is_no_date_names_no_day() {
        for text in [
            "",
            "It may be that they march on",
            "2023-02-30 and 2023-13-01",
            "February 30",
            "port 2049, 2023 files",
            "version 1.2.3 of 10.20.30",
            "99999999999999999999-99-99",
            "may 5 of them fail?",
            "May I ask? March!",
            "a day, a week",
            "0000-00-00",
            "in 2023.5",
        ] {
            assert_eq!(said(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn nearness_falls_with_the_days_between() {
        let day = |first, last| Days { first, last };
        assert_eq!(day(0, 0).nearness(day(0, 0)), 1.0);
        assert_eq!(day(0, 30).nearness(day(30, 90)), 1.0);
        let [near, far] = [
            day(0, 0).nearness(day(2, 2)),
            day(0, 0).nearness(day(30, 30)),
        ];
        assert!(1.0 > near && near > far && far > 0.0);
        assert_eq!(day(-EVER, 0).nearness(day(-9, -9)), 1.0);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,40}", now in any::<i32>()) {
            named(&text, Some(now), Some(Days { first: now, last: now }));
        }

        #[test]
        fn words_of_dates_in_any_order_are_read(
            words in prop::collection::vec(prop::sample::select(vec![
                "may", "May", "march", "2023", "31", "7th", "-", "/", "to", "from", "between", "and", "last", "next", "3", "days",
                "weeks", "ago", "the", "of", "since", "before", "999", "years", "monday", "on", "–", "a", "couple", ".",
            ]), 0..12),
            join in prop::sample::select(vec![" ", "", "-"]),
            now in -800_000..3_000_000i32,
        ) {
            for days in named(&words.join(join), Some(now), None) {
                prop_assert!(days.first <= days.last);
            }
        }
    }
}
