//! Selectors: a small language that says which units of documents are meant.
//!
//! ```text
//! selector   = chain *( "or" chain )
//! chain      = step *( [ ">" ] step )          a step without `>` lies anywhere below the one before it
//! step       = unit *( "[" tests "]" ) [ ":nth(" number ")" | ":first" | ":last" ]
//! unit       = "sections" | "paragraphs" | … | "*"
//! tests      = all *( "or" all )
//! all        = test *( "and" test )
//! test       = [ "not" ] key [ operator value ]
//! operator   = "=" | "!=" | "~=" | "<=" | ">="
//! value      = word | "'" text "'" | '"' text '"' | "/" pattern "/"      a pattern behind `~=` alone
//! ```

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::unit::{DocumentUnits, Unit, UnitKind};
use crate::base::error::{Error, nearest};
use crate::base::text::clip;

/// The longest selector, in bytes.
const LONGEST: usize = 4 << 10;
/// The most steps of all chains together, and the most tests.
const MOST: usize = 64;
/// The most memory of a compiled pattern, in bytes.
const PATTERN: usize = 1 << 20;

/// A selector that was read.
///
/// ```
/// use tenure::package::Selector;
/// assert!(Selector::new("sections[heading=Decision] > paragraphs:first").is_ok());
/// let error = Selector::new("sektions[heading=Decision]").unwrap_err();
/// assert!(error.hint.unwrap().contains("sections"));
/// ```
#[derive(Clone, Debug)]
pub struct Selector {
    text: String,
    chains: Vec<Vec<Step>>,
}

#[derive(Clone, Debug)]
struct Step {
    is_child: bool,
    kind: Option<UnitKind>,
    /// All of these hold. Each is a list of alternatives, each of which is a list of tests that all hold.
    tests: Vec<Vec<Vec<Test>>>,
    /// From 1, or from −1 for the last.
    nth: Option<i32>,
}

#[derive(Clone, Debug)]
struct Test {
    is_negated: bool,
    key: String,
    check: Check,
}

#[derive(Clone, Debug)]
enum Check {
    Has,
    Equals(String),
    Differs(String),
    Holds(String),
    Matches(Regex),
    AtMost(String),
    AtLeast(String),
}

/// A condition on a heading that whatever a chain finds needs.
#[derive(Clone, Copy, Debug)]
pub enum HeadingTest<'s> {
    /// The heading is this.
    Is(&'s str),
    /// The heading holds this, in small letters.
    Holds(&'s str),
    /// The heading matches this.
    Matches(&'s Regex),
}

/// The part of documents that a chain of a selector needs to be answered.
#[derive(Clone, Debug)]
pub struct Reach<'s> {
    /// A condition on a heading without which nothing is found.
    pub heading: Option<HeadingTest<'s>>,
    /// True if it asks for units that an index does not hold.
    pub is_finer: bool,
}

impl Selector {
    /// Reads a selector.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with the place of the mistake and what was expected there.
    pub fn new(text: &str) -> Result<Selector, Error> {
        if text.len() > LONGEST {
            return Err(
                Error::input(format!("the selector has {} bytes", text.len()))
                    .expected(format!("at most {LONGEST}")),
            );
        }
        let mut parser = Parser {
            text,
            at: 0,
            parts: 0,
        };
        let chains = parser.selector()?;
        Ok(Selector {
            text: text.trim().to_owned(),
            chains,
        })
    }

    /// The selector as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The parts of documents that each chain needs.
    pub fn reaches(&self) -> Vec<Reach<'_>> {
        self.chains
            .iter()
            .map(|chain| Reach {
                heading: chain.iter().find_map(Step::heading),
                is_finer: chain.iter().any(|step| step.kind.is_none_or(|kind| !kind.is_indexed())),
            })
            .collect()
    }

    /// Returns whether a chain may find something in a file at this path, as far as its tests of the path say.
    pub fn may_be_at(&self, path: &str) -> bool {
        let step = |step: &Step| {
            step.tests
                .iter()
                .filter(|any| any.len() == 1)
                .all(|any| any[0].iter().all(|test| test.key != "path" || test.passes(Some(path))))
        };
        self.chains.iter().any(|chain| chain.iter().all(step))
    }

    /// The kinds of units that it names.
    pub fn kinds(&self) -> Vec<UnitKind> {
        let steps = self.chains.iter().flatten();
        let mut kinds: Vec<UnitKind> = steps.filter_map(|step| step.kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    /// The places of the units that are meant in a document, in their order.
    pub fn find(&self, document: &DocumentUnits) -> Vec<usize> {
        let mut is_found = vec![false; document.units.len()];
        for chain in &self.chains {
            let last = follow(chain, document);
            for (found, is_last) in is_found.iter_mut().zip(last) {
                *found |= is_last;
            }
        }
        places(&is_found)
    }

    /// Says what is nearest to a selector that found nothing in these documents.
    pub fn miss<'d>(&self, documents: impl IntoIterator<Item = &'d DocumentUnits>) -> String {
        let wanted = self.chains.iter().flatten().find_map(|step| {
            let mut tests = step
                .tests
                .iter()
                .flatten()
                .flatten()
                .filter(|test| matches!(&*test.key, "heading" | "name"));
            let value = tests.find_map(|test| match &test.check {
                Check::Equals(value) | Check::Holds(value) => Some(value.as_str()),
                _ => None,
            });
            value.map(|value| (step.kind, value))
        });
        let mut counts = [0_usize; UnitKind::ALL.len()];
        let mut names: Vec<&str> = Vec::new();
        for unit in documents.into_iter().flat_map(|document| &document.units) {
            if let Some(count) = counts.get_mut(unit.kind as usize) {
                *count += 1;
            }
            let is_asked =
                wanted.is_some_and(|(kind, _)| kind.is_none_or(|kind| kind == unit.kind));
            if is_asked && !unit.name.is_empty() {
                names.push(&unit.name);
            }
        }
        if let Some((_, wanted)) = wanted {
            return nearest_name(wanted, &names);
        }
        let there: Vec<String> = UnitKind::ALL
            .iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| format!("{count} {}", kind.plural()))
            .collect();
        if there.is_empty() {
            "there are no documents".to_owned()
        } else {
            format!("there are {}", there.join(", "))
        }
    }
}

/// Says which of these names is nearest to one that none of them is.
pub fn nearest_name(wanted: &str, names: &[&str]) -> String {
    let small = wanted.to_lowercase();
    let lowered: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let found = nearest(&small, lowered.iter().map(String::as_str)).and_then(|found| {
        let at = lowered.iter().position(|name| name == found)?;
        names.get(at).copied()
    });
    match (found, names.len()) {
        (Some(found), _) => format!("the nearest is `{}`", clip(found)),
        (None, 0) => "there is no unit with a name".to_owned(),
        (None, _) => {
            let mut known: Vec<&str> = names.to_vec();
            known.sort_unstable();
            known.dedup();
            let many = known.len();
            known.truncate(5);
            let known: Vec<String> = known.iter().map(|name| format!("`{}`", clip(name))).collect();
            let more = if many > known.len() { ", …" } else { "" };
            format!("there are {}{more}", known.join(", "))
        }
    }
}

fn places(is_found: &[bool]) -> Vec<usize> {
    let found = is_found.iter().enumerate().filter(|(_, found)| **found);
    found.map(|(at, _)| at).collect()
}

/// The units that the last step of a chain finds. Each step takes one pass, so the time is that of the units times
/// the steps, whatever the nesting.
fn follow(chain: &[Step], document: &DocumentUnits) -> Vec<bool> {
    let units = &document.units;
    let mut before: Option<Vec<bool>> = None;
    for step in chain {
        let mut found = vec![false; units.len()];
        // The nearest unit around each that the step before found.
        let mut scopes: Vec<Option<u32>> = vec![None; units.len()];
        for (at, unit) in units.iter().enumerate() {
            let parent = unit.parent.map(|parent| parent as usize);
            let scope = match (&before, parent) {
                (None, _) => Some(0),
                (Some(before), Some(parent)) if before.get(parent) == Some(&true) => {
                    Some(parent as u32)
                }
                (Some(_), Some(parent)) => scopes.get(parent).copied().flatten(),
                (Some(_), None) => None,
            };
            scopes[at] = scope;
            let in_place = match (&before, parent) {
                (Some(before), Some(parent)) if step.is_child => before.get(parent) == Some(&true),
                (Some(_), None) if step.is_child => false,
                _ => scope.is_some(),
            };
            found[at] = in_place && step.passes(unit, document);
        }
        if let Some(nth) = step.nth {
            keep_nth(&mut found, &scopes, nth);
        }
        before = Some(found);
    }
    before.unwrap_or_default()
}

/// Of those found within one unit of the step before, keeps the one of this number.
fn keep_nth(found: &mut [bool], scopes: &[Option<u32>], nth: i32) {
    let mut counts = vec![0_i32; found.len() + 1];
    let mut order: Vec<usize> = places(found);
    if nth < 0 {
        order.reverse();
    }
    for at in order {
        let scope = scopes[at].map_or(found.len(), |scope| scope as usize);
        counts[scope] += 1;
        found[at] = counts[scope] == nth.abs();
    }
}

impl Step {
    fn passes(&self, unit: &Unit, document: &DocumentUnits) -> bool {
        self.kind.is_none_or(|kind| kind == unit.kind)
            && self.tests.iter().all(|any| {
                any.iter().any(|tests| tests.iter().all(|test| test.holds(unit, document)))
            })
    }

    /// The condition on a heading that it needs, if it has one.
    fn heading(&self) -> Option<HeadingTest<'_>> {
        let mut sole = self.tests.iter().filter(|any| any.len() == 1).flat_map(|any| &any[0]);
        if self.kind != Some(UnitKind::Section) {
            return None;
        }
        sole.find_map(|test| match &test.check {
            _ if test.is_negated || !matches!(&*test.key, "heading" | "name") => None,
            Check::Equals(value) => Some(HeadingTest::Is(value)),
            Check::Holds(value) => Some(HeadingTest::Holds(value)),
            Check::Matches(pattern) => Some(HeadingTest::Matches(pattern)),
            _ => None,
        })
    }
}

impl Test {
    fn holds(&self, unit: &Unit, document: &DocumentUnits) -> bool {
        let number: String;
        let value = match &*self.key {
            "heading" => (unit.kind == UnitKind::Section).then_some(unit.name.as_str()),
            "name" => Some(unit.name.as_str()).filter(|name| !name.is_empty()),
            "level" => {
                number = unit.level.to_string();
                (unit.level > 0).then_some(number.as_str())
            }
            "language" => Some(unit.language.as_str()).filter(|language| !language.is_empty()),
            "kind" => Some(unit.kind.term()),
            "path" => Some(document.path.as_str()),
            "label" | "labels" => {
                let any = document.labels.iter().any(|label| self.check.accepts(label));
                let any = match self.check {
                    Check::Has => !document.labels.is_empty(),
                    Check::Differs(ref value) => !document.labels.contains(value),
                    _ => any,
                };
                return any != self.is_negated;
            }
            key => {
                let key = key.strip_prefix("frontmatter.").unwrap_or(key);
                let found = field(document, key);
                if let Some(Value::Array(values)) = found {
                    let any = values.iter().any(|value| self.check.accepts(&word(value)));
                    let any = match &self.check {
                        Check::Differs(wanted) => {
                            !values.iter().any(|value| word(value) == *wanted)
                        }
                        _ => any,
                    };
                    return any != self.is_negated;
                }
                number = found.map(word).unwrap_or_default();
                found.map(|_| number.as_str())
            }
        };
        self.passes(value)
    }

    fn passes(&self, value: Option<&str>) -> bool {
        let passes = match (value, &self.check) {
            (Some(value), check) => check.accepts(value),
            // What a unit does not have differs from everything.
            (None, check) => matches!(check, Check::Differs(_)),
        };
        passes != self.is_negated
    }
}

/// The field of a document's frontmatter at a path of names with `.` between them.
fn field<'d>(document: &'d DocumentUnits, key: &str) -> Option<&'d Value> {
    if let Some(found) = document.frontmatter.get(key) {
        return Some(found);
    }
    let mut parts = key.split('.');
    let mut found = document.frontmatter.get(parts.next()?)?;
    for part in parts {
        found = found.get(part)?;
    }
    Some(found)
}

fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Check {
    fn accepts(&self, value: &str) -> bool {
        let order = |wanted: &str| match (value.parse::<f64>(), wanted.parse::<f64>()) {
            (Ok(value), Ok(wanted)) => value.total_cmp(&wanted),
            _ => value.cmp(wanted),
        };
        match self {
            Check::Has => true,
            Check::Equals(wanted) => value == wanted,
            Check::Differs(wanted) => value != wanted,
            Check::Holds(wanted) => value.to_lowercase().contains(wanted),
            Check::Matches(pattern) => pattern.is_match(value),
            Check::AtMost(wanted) => order(wanted).is_le(),
            Check::AtLeast(wanted) => order(wanted).is_ge(),
        }
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    parts: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.rest().starts_with(sign);
        if is_next {
            self.at += sign.len();
        }
        is_next
    }

    /// Takes a word that ends where it should.
    fn takes_word(&mut self, word: &str) -> bool {
        let Some(behind) = self.rest().strip_prefix(word) else {
            return false;
        };
        let ends = !behind.starts_with(|c: char| c.is_alphanumeric() || "_-.=!~<>".contains(c));
        if ends {
            self.at += word.len();
        }
        ends
    }

    fn wrong(&self, expected: &str) -> Error {
        let found = match self.rest().chars().next() {
            Some(found) => format!("`{}`", found.escape_debug()),
            None => "its end".to_owned(),
        };
        let at = self.text[..self.at].chars().count() + 1;
        Error::input(format!("the selector has {found} at character {at}"))
            .at(clip(self.text), None)
            .expected(expected)
    }

    fn part(&mut self) -> Result<(), Error> {
        self.parts += 1;
        if self.parts > MOST {
            Err(Error::input("the selector has too many steps and tests")
                .expected(format!("at most {MOST}")))
        } else {
            Ok(())
        }
    }

    fn selector(&mut self) -> Result<Vec<Vec<Step>>, Error> {
        let mut chains = Vec::new();
        loop {
            chains.push(self.chain()?);
            self.space();
            if self.rest().is_empty() {
                return Ok(chains);
            }
            if !(self.takes_word("or") || self.takes(",")) {
                return Err(self.wrong("`>`, a further unit, `or`, or the end"));
            }
        }
    }

    fn chain(&mut self) -> Result<Vec<Step>, Error> {
        let mut steps = Vec::new();
        loop {
            self.space();
            let is_child = !steps.is_empty() && self.takes(">");
            self.space();
            let ends = |rest: &str| rest.is_empty() || rest.starts_with(',');
            let is_or = {
                let at = self.at;
                let is_or = self.takes_word("or");
                self.at = at;
                is_or
            };
            if !steps.is_empty() && !is_child && (ends(self.rest()) || is_or) {
                return Ok(steps);
            }
            steps.push(self.step(is_child)?);
        }
    }

    fn step(&mut self, is_child: bool) -> Result<Step, Error> {
        self.part()?;
        let kind = if self.takes("*") {
            None
        } else {
            Some(self.kind()?)
        };
        let mut step = Step {
            is_child,
            kind,
            tests: Vec::new(),
            nth: None,
        };
        while self.takes("[") {
            step.tests.push(self.tests()?);
        }
        if self.takes(":first") {
            step.nth = Some(1);
        } else if self.takes(":last") {
            step.nth = Some(-1);
        } else if self.takes(":nth(") {
            let end = self.rest().find(')');
            let number = end
                .and_then(|end| self.rest()[..end].trim().parse().ok())
                .filter(|number: &i32| *number != 0 && *number != i32::MIN);
            let (Some(end), Some(number)) = (end, number) else {
                return Err(self.wrong("a number from 1, or from -1 for the last, and `)`"));
            };
            self.at += end + 1;
            step.nth = Some(number);
        } else if self.rest().starts_with(':') {
            return Err(self.wrong("`:nth(N)`, `:first` or `:last`"));
        }
        if self.rest().starts_with(['[', ':']) {
            return Err(self.wrong("`[…]` before one `:nth(N)`"));
        }
        Ok(step)
    }

    fn word(&mut self, also: &str) -> &'t str {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || also.contains(c)))
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn kind(&mut self) -> Result<UnitKind, Error> {
        let start = self.at;
        let word = self.word("_-");
        let plain = word.replace('-', "_");
        let short = match &*plain {
            "items" | "list" => "list_items",
            "code" | "codeblocks" => "code_blocks",
            "rows" => "table_rows",
            other => other,
        };
        let known = UnitKind::ALL.iter().filter(|kind| **kind != UnitKind::Value);
        let found = known.clone().find(|kind| kind.plural() == short || kind.term() == short);
        if let Some(kind) = found {
            return Ok(*kind);
        }
        self.at = start;
        let names: Vec<&str> = known.map(|kind| kind.plural()).collect();
        let expected = format!("`*` or one of {}", names.join(", "));
        if word.is_empty() {
            return Err(self.wrong(&expected));
        }
        let error = Error::input(format!("unknown unit `{}`", clip(word))).expected(expected);
        Err(match nearest(short, names) {
            Some(name) => error.hint(format!("did you mean `{name}`?")),
            None => error.hint("to find words in texts, search: `--search`"),
        })
    }

    fn tests(&mut self) -> Result<Vec<Vec<Test>>, Error> {
        let mut any = vec![vec![self.test()?]];
        loop {
            self.space();
            if self.takes("]") {
                return Ok(any);
            }
            if self.takes_word("or") {
                any.push(vec![self.test()?]);
            } else if self.takes_word("and") {
                let test = self.test()?;
                any.last_mut().into_iter().for_each(|all| all.push(test.clone()));
            } else {
                return Err(self
                    .wrong("`]`, `and` or `or`")
                    .hint("quote a value that has spaces: [heading='Open questions']"));
            }
        }
    }

    fn test(&mut self) -> Result<Test, Error> {
        self.part()?;
        self.space();
        let is_negated = self.takes_word("not");
        self.space();
        let key = self.word("_-.").to_lowercase();
        if key.is_empty() {
            return Err(self.wrong(
                "a key such as heading, level, language, path, label or a key of frontmatter",
            ));
        }
        let key = match &*key {
            "lang" => "language".to_owned(),
            _ => key,
        };
        self.space();
        const OPERATORS: [&str; 5] = ["~=", "!=", "<=", ">=", "="];
        let operator = OPERATORS.into_iter().find(|sign| self.takes(sign));
        let Some(operator) = operator else {
            return Ok(Test {
                is_negated,
                key,
                check: Check::Has,
            });
        };
        self.space();
        let check = match operator {
            "~=" if self.rest().starts_with('/') => Check::Matches(self.pattern()?),
            "~=" => Check::Holds(self.value()?.to_lowercase()),
            "!=" => Check::Differs(self.value()?),
            "<=" => Check::AtMost(self.value()?),
            ">=" => Check::AtLeast(self.value()?),
            _ => Check::Equals(self.value()?),
        };
        Ok(Test {
            is_negated,
            key,
            check,
        })
    }

    /// A pattern between two `/`. A `/` in it stands behind a `\`.
    fn pattern(&mut self) -> Result<Regex, Error> {
        let start = self.at + 1;
        let mut is_escaped = false;
        let end = self.text[start..].char_indices().find(|(_, c)| {
            let ends = *c == '/' && !is_escaped;
            is_escaped = *c == '\\' && !is_escaped;
            ends
        });
        let Some((length, _)) = end else {
            return Err(self.wrong("a pattern between two `/`"));
        };
        let pattern = self.text[start..start + length].replace("\\/", "/");
        self.at = start + length + 1;
        let built = RegexBuilder::new(&pattern).size_limit(PATTERN).build();
        built.map_err(|error| {
            let message = error.to_string();
            let last = message.lines().last().unwrap_or_default();
            let told = last.strip_prefix("error: ").unwrap_or(last);
            Error::input(format!(
                "the pattern `{}` cannot be used: {told}",
                clip(&pattern)
            ))
            .expected(
                "a regular expression without look-around or back-references, of moderate size",
            )
        })
    }

    fn value(&mut self) -> Result<String, Error> {
        for quote in ['\'', '"'] {
            if !self.rest().starts_with(quote) {
                continue;
            }
            let start = self.at + 1;
            let Some(length) = self.text[start..].find(quote) else {
                return Err(self.wrong("a closing quote"));
            };
            self.at = start + length + 1;
            return Ok(self.text[start..start + length].to_owned());
        }
        let rest = self.rest();
        let end = rest
            .find(|c: char| c.is_whitespace() || "[]'\"".contains(c))
            .unwrap_or(rest.len());
        if end == 0 {
            return Err(self.wrong("a value; quote one that is empty or has spaces"));
        }
        self.at += end;
        Ok(rest[..end].to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A document from lines `kind level name`, nested by their indent.
    fn document(text: &str) -> DocumentUnits {
        let mut document = DocumentUnits {
            path: "docs/a.md".into(),
            labels: vec!["internal".into(), "pilot".into()],
            ..DocumentUnits::default()
        };
        document.frontmatter.insert("status".into(), "draft".into());
        document.frontmatter.insert(
            "owner".into(),
            serde_json::json!({"team": "core", "since": 2024}),
        );
        document
            .frontmatter
            .insert("topics".into(), serde_json::json!(["access", "audit"]));
        let mut open: Vec<(usize, u32)> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let indent = line.len() - line.trim_start().len();
            open.retain(|(above, _)| *above < indent);
            let mut words = line.trim().splitn(3, ' ');
            let kind: UnitKind = words.next().unwrap().parse().unwrap();
            let level = words.next().unwrap_or("0").parse().unwrap();
            document.units.push(Unit {
                kind,
                index: 0,
                parent: open.last().map(|(_, at)| *at),
                name: words.next().unwrap_or_default().to_owned(),
                level,
                language: if kind == UnitKind::CodeBlock {
                    "rust".into()
                } else {
                    String::new()
                },
                bytes: 0..0,
                lines: (1, 1),
            });
            open.push((indent, document.units.len() as u32 - 1));
        }
        document.number();
        document
    }

    fn sample() -> DocumentUnits {
        document(
            "document\n section 1 Access Policy\n  paragraph\n  section 2 Decision\n   paragraph\n   paragraph\n   list_item\n    list_item\n     paragraph\n  section 2 Notes\n   code_block\n section 1 Decision\n  paragraph\n",
        )
    }

    fn found(selector: &str) -> Vec<usize> {
        Selector::new(selector).unwrap().find(&sample())
    }

    #[test]
    fn units_are_found_by_what_they_are() {
        assert_eq!(found("sections[heading=Decision]"), [3, 11]);
        assert_eq!(found("sections[heading=decision]"), [0; 0]);
        assert_eq!(found("sections[heading~=POLICY]"), [1]);
        assert_eq!(found("sections[heading~=/^(?i)dec/]"), [3, 11]);
        assert_eq!(found("sections[heading='Access Policy']"), [1]);
        assert_eq!(found("section[level=2]"), [3, 9]);
        assert_eq!(found("sections[level>=2]"), [3, 9]);
        assert_eq!(found("code_blocks[language=rust]"), [10]);
        assert_eq!(found("code[lang!=go]"), [10]);
        assert_eq!(found("sections[heading]:last"), [11]);
        assert_eq!(found("*[name=Notes] or documents"), [0, 9]);
    }

    #[test]
    fn nesting_is_asked_for() {
        assert_eq!(
            found("sections[heading=Decision] paragraphs"),
            [4, 5, 8, 12]
        );
        assert_eq!(found("sections[heading=Decision] > paragraphs"), [4, 5, 12]);
        assert_eq!(
            found("sections[heading=Decision] > paragraphs:first"),
            [4, 12]
        );
        assert_eq!(found("sections[heading=Decision] > paragraphs:nth(2)"), [5]);
        assert_eq!(
            found("sections[heading=Decision] > paragraphs:nth(-1)"),
            [5, 12]
        );
        assert_eq!(found("sections[level=1] > sections"), [3, 9]);
        assert_eq!(found("list_items > list_items"), [7]);
        assert_eq!(found("paragraphs:nth(2)"), [4]);
    }

    #[test]
    fn tests_are_joined() {
        assert_eq!(found("sections[heading=Decision and level=1]"), [11]);
        assert_eq!(found("sections[heading=Decision][level=1]"), [11]);
        assert_eq!(
            found("sections[heading=Notes or heading=Decision and level=2]"),
            [3, 9]
        );
        assert_eq!(found("sections[not heading=Decision]"), [1, 9]);
        assert_eq!(found("documents[status=draft]"), [0]);
        assert_eq!(
            found("documents[owner.team=core and owner.since>=2020]"),
            [0]
        );
        assert_eq!(found("documents[frontmatter.topics=audit]"), [0]);
        assert_eq!(found("documents[label=pilot][label!=secret]"), [0]);
        assert_eq!(found("documents[missing]"), [0; 0]);
        assert_eq!(found("documents[path~=docs/][not missing]"), [0]);
    }

    #[test]
    fn mistakes_say_where_they_are() {
        for (selector, told) in [
            ("", "its end at character 1"),
            ("sektions", "did you mean `sections`?"),
            ("sections[", "a key such as heading"),
            ("sections[heading=", "a value"),
            (
                "sections[heading=Open questions]",
                "quote a value that has spaces",
            ),
            ("sections[heading=a] >", "`*` or one of"),
            ("sections:nth(0)", "a number from 1"),
            ("sections:odd", "`:nth(N)`"),
            ("sections[heading~=/(/]", "cannot be used"),
            (
                "sections[heading~=/(a{1000}){1000}{1000}/]",
                "cannot be used",
            ),
            ("sections[heading~=/x]", "between two `/`"),
            ("sections[heading='x]", "a closing quote"),
            ("policy gateway", "--search"),
        ] {
            let error = Selector::new(selector).unwrap_err().to_string();
            assert!(error.contains(told), "{selector}: {error}");
        }
        assert!(Selector::new(&"sections ".repeat(400)).is_err());
        assert!(Selector::new(&"sections>".repeat(64)).is_err());
        assert!(Selector::new(&"x".repeat(1 << 20)).is_err());
        assert!(Selector::new(&format!("sections[{}]", "not ".repeat(900))).is_err());
    }

    #[test]
    fn what_is_nearest_is_said() {
        let miss = |selector: &str| Selector::new(selector).unwrap().miss([&sample()]);
        assert_eq!(
            miss("sections[heading=Decisions]"),
            "the nearest is `Decision`"
        );
        assert_eq!(
            miss("sections[heading=Zebra]"),
            "there are `Access Policy`, `Decision`, `Notes`"
        );
        assert!(miss("tables").contains("4 sections"), "{}", miss("tables"));
        assert_eq!(
            Selector::new("tables").unwrap().miss([]),
            "there are no documents"
        );
    }

    #[test]
    fn the_reach_of_a_selector_is_known() {
        let selector =
            Selector::new("sections[heading~=Policy] > paragraphs or sections[level=1]").unwrap();
        let reaches = selector.reaches();
        assert!(matches!(
            reaches[0].heading,
            Some(HeadingTest::Holds("policy"))
        ));
        assert!(reaches[0].is_finer && reaches[1].heading.is_none() && !reaches[1].is_finer);
        let selector = Selector::new("sections[heading=A or heading=B][path~=docs]").unwrap();
        assert!(selector.reaches()[0].heading.is_none());
        assert!(selector.may_be_at("docs/a.md") && !selector.may_be_at("src/a.md"));
    }

    #[test]
    fn deep_nesting_takes_one_pass() {
        let mut deep = DocumentUnits::default();
        for at in 0..20_000_u32 {
            deep.units.push(Unit {
                kind: UnitKind::ListItem,
                index: at,
                parent: at.checked_sub(1),
                name: String::new(),
                level: 0,
                language: String::new(),
                bytes: 0..0,
                lines: (1, 1),
            });
        }
        let selector = "items ".repeat(40);
        assert_eq!(
            Selector::new(&selector).unwrap().find(&deep).len(),
            20_000 - 39
        );
    }
}
