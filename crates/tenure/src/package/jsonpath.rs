//! JSONPath as RFC 9535 has it: a query, and the nodes of a value that it finds, each with its place.

mod parser;

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use self::parser::Parser;
use crate::base::error::Error;

/// The most nodes that a query looks at. Queries whose filters ask whole documents for each node could go on for ever.
const FUEL: u32 = 500_000;
/// The most memory of a compiled pattern, in bytes.
const PATTERN: usize = 1 << 20;
/// The most patterns of one query that are kept compiled.
const PATTERNS: usize = 64;

/// A step from a value to one in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// The member of this name.
    Name(String),
    /// The element at this place, from 0.
    Index(usize),
}

/// A node: the steps to it, and its value.
pub type Located<'v> = (Vec<Step>, &'v Value);

/// A query that was read.
///
/// ```
/// use tenure::package::JsonPath;
/// let query = JsonPath::new("$.pumps[?@.flow > 2].name")?;
/// let value = serde_json::json!({"pumps": [{"name": "a", "flow": 1}, {"name": "b", "flow": 3}]});
/// let found = query.find(&value)?;
/// assert_eq!((found.len(), found[0].1.as_str()), (1, Some("b")));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct JsonPath {
    segments: Vec<Segment>,
}

#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) is_descendant: bool,
    pub(super) selectors: Vec<Selected>,
}

#[derive(Clone, Debug)]
pub(super) enum Selected {
    Name(String),
    Wildcard,
    Index(i64),
    Slice(Option<i64>, Option<i64>, i64),
    Filter(Logical),
}

#[derive(Clone, Debug)]
pub(super) enum Logical {
    Or(Vec<Logical>),
    And(Vec<Logical>),
    Not(Box<Logical>),
    Exists(Query),
    Call(Call),
    Compare(Operand, Operator, Operand),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) is_absolute: bool,
    pub(super) segments: Vec<Segment>,
}

impl Query {
    /// Returns whether it finds one node at most.
    pub(super) fn is_singular(&self) -> bool {
        self.segments.iter().all(|segment| {
            let one = matches!(
                segment.selectors.as_slice(),
                [Selected::Name(_) | Selected::Index(_)]
            );
            one && !segment.is_descendant
        })
    }
}

#[derive(Clone, Debug)]
pub(super) enum Operand {
    Literal(Value),
    Singular(Query),
    Call(Box<Call>),
}

#[derive(Clone, Debug)]
pub(super) enum Call {
    Length(Operand),
    Count(Query),
    Value(Query),
    Match(Operand, Operand),
    Search(Operand, Operand),
}

impl JsonPath {
    /// Reads a query.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with the place of the mistake and what was expected there.
    pub fn new(text: &str) -> Result<JsonPath, Error> {
        let segments = Parser::new(text).query()?;
        Ok(JsonPath { segments })
    }

    /// The nodes that it finds in a value, in the order of the RFC; members of objects by their names.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it would look at too many nodes.
    pub fn find<'v>(&self, root: &'v Value) -> Result<Vec<Located<'v>>, Error> {
        let mut search = Search {
            root,
            fuel: FUEL,
            patterns: BTreeMap::new(),
        };
        search.follow(&self.segments, root)
    }
}

/// A value in a filter: nothing, one of the document's or a literal, or one that was counted.
enum Worth<'v> {
    Nothing,
    Known(&'v Value),
    Made(Value),
}

impl Worth<'_> {
    fn get(&self) -> Option<&Value> {
        match self {
            Worth::Nothing => None,
            Worth::Known(value) => Some(value),
            Worth::Made(value) => Some(value),
        }
    }
}

struct Search<'v> {
    root: &'v Value,
    fuel: u32,
    /// Patterns by their text and whether they match whole texts; none of one that is no pattern.
    patterns: BTreeMap<(String, bool), Option<Regex>>,
}

impl<'v> Search<'v> {
    fn spend(&mut self) -> Result<(), Error> {
        let left = self.fuel.checked_sub(1);
        self.fuel = left.ok_or_else(|| {
            Error::input(format!("the JSONPath looks at more than {FUEL} nodes"))
                .expected("a query that asks for less")
        })?;
        Ok(())
    }

    fn follow(&mut self, segments: &[Segment], from: &'v Value) -> Result<Vec<Located<'v>>, Error> {
        let mut nodes: Vec<Located<'v>> = vec![(Vec::new(), from)];
        for segment in segments {
            let mut next = Vec::new();
            for node in nodes {
                if segment.is_descendant {
                    self.below(node, segment, &mut next)?;
                } else {
                    self.select(&node, segment, &mut next)?;
                }
            }
            nodes = next;
        }
        Ok(nodes)
    }

    /// Selects in a node and in all below it, each before what is in it.
    fn below(
        &mut self,
        node: Located<'v>,
        segment: &Segment,
        found: &mut Vec<Located<'v>>,
    ) -> Result<(), Error> {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            self.select(&node, segment, found)?;
            let mut inner = Vec::new();
            self.children(&node, &mut inner)?;
            open.extend(inner.into_iter().rev());
        }
        Ok(())
    }

    fn children(&mut self, node: &Located<'v>, found: &mut Vec<Located<'v>>) -> Result<(), Error> {
        let (path, value) = (&node.0, node.1);
        match value {
            Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    self.spend()?;
                    found.push((with(path, Step::Index(at)), value));
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.spend()?;
                    found.push((with(path, Step::Name(name.clone())), value));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn select(
        &mut self,
        node: &Located<'v>,
        segment: &Segment,
        found: &mut Vec<Located<'v>>,
    ) -> Result<(), Error> {
        let (path, value) = (&node.0, node.1);
        for selector in &segment.selectors {
            self.spend()?;
            match (selector, value) {
                (Selected::Name(name), Value::Object(fields)) => {
                    if let Some(value) = fields.get(name) {
                        found.push((with(path, Step::Name(name.clone())), value));
                    }
                }
                (Selected::Wildcard, _) => self.children(node, found)?,
                (Selected::Index(index), Value::Array(values)) => {
                    let at = if *index < 0 {
                        values.len() as i64 + index
                    } else {
                        *index
                    };
                    if let Some(at) = usize::try_from(at).ok().filter(|at| *at < values.len()) {
                        found.push((with(path, Step::Index(at)), &values[at]));
                    }
                }
                (Selected::Slice(start, end, step), Value::Array(values)) => {
                    for at in slice(*start, *end, *step, values.len() as i64) {
                        self.spend()?;
                        found.push((with(path, Step::Index(at)), &values[at]));
                    }
                }
                (Selected::Filter(test), _) => {
                    let mut inner = Vec::new();
                    self.children(node, &mut inner)?;
                    for node in inner {
                        if self.holds(test, node.1)? {
                            found.push(node);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn holds(&mut self, test: &Logical, current: &'v Value) -> Result<bool, Error> {
        Ok(match test {
            Logical::Or(any) => {
                for test in any {
                    if self.holds(test, current)? {
                        return Ok(true);
                    }
                }
                false
            }
            Logical::And(all) => {
                for test in all {
                    if !self.holds(test, current)? {
                        return Ok(false);
                    }
                }
                true
            }
            Logical::Not(test) => !self.holds(test, current)?,
            Logical::Exists(query) => !self.ask(query, current)?.is_empty(),
            Logical::Call(call) => match self.call(call, current)? {
                Worth::Made(Value::Bool(holds)) => holds,
                _ => false,
            },
            Logical::Compare(left, operator, right) => {
                let (left, right) = (self.worth(left, current)?, self.worth(right, current)?);
                compare(left.get(), *operator, right.get())
            }
        })
    }

    fn ask(&mut self, query: &Query, current: &'v Value) -> Result<Vec<Located<'v>>, Error> {
        let from = if query.is_absolute {
            self.root
        } else {
            current
        };
        self.follow(&query.segments, from)
    }

    fn worth(&mut self, operand: &Operand, current: &'v Value) -> Result<Worth<'v>, Error> {
        Ok(match operand {
            Operand::Literal(value) => Worth::Made(value.clone()),
            Operand::Singular(query) => match self.ask(query, current)?.first() {
                Some(&(_, value)) => Worth::Known(value),
                None => Worth::Nothing,
            },
            Operand::Call(call) => self.call(call, current)?,
        })
    }

    fn call(&mut self, call: &Call, current: &'v Value) -> Result<Worth<'v>, Error> {
        Ok(match call {
            Call::Length(operand) => {
                let length = match self.worth(operand, current)?.get() {
                    Some(Value::String(text)) => Some(text.chars().count()),
                    Some(Value::Array(values)) => Some(values.len()),
                    Some(Value::Object(fields)) => Some(fields.len()),
                    _ => None,
                };
                length.map_or(Worth::Nothing, |length| Worth::Made(Value::from(length)))
            }
            Call::Count(query) => Worth::Made(Value::from(self.ask(query, current)?.len())),
            Call::Value(query) => match self.ask(query, current)?.as_slice() {
                &[(_, value)] => Worth::Known(value),
                _ => Worth::Nothing,
            },
            Call::Match(text, pattern) => self.matches(text, pattern, true, current)?,
            Call::Search(text, pattern) => self.matches(text, pattern, false, current)?,
        })
    }

    fn matches(
        &mut self,
        text: &Operand,
        pattern: &Operand,
        is_whole: bool,
        current: &'v Value,
    ) -> Result<Worth<'v>, Error> {
        let (text, pattern) = (self.worth(text, current)?, self.worth(pattern, current)?);
        let (Some(Value::String(text)), Some(Value::String(pattern))) = (text.get(), pattern.get())
        else {
            return Ok(Worth::Made(Value::Bool(false)));
        };
        let key = (pattern.clone(), is_whole);
        if self.patterns.len() >= PATTERNS && !self.patterns.contains_key(&key) {
            self.patterns.clear();
        }
        let built = self
            .patterns
            .entry(key)
            .or_insert_with(|| built(pattern, is_whole));
        let holds = built.as_ref().is_some_and(|built| built.is_match(text));
        Ok(Worth::Made(Value::Bool(holds)))
    }
}

fn with(path: &[Step], step: Step) -> Vec<Step> {
    let mut path = path.to_vec();
    path.push(step);
    path
}

/// The places that a slice takes of so many, as the RFC counts them.
fn slice(start: Option<i64>, end: Option<i64>, step: i64, length: i64) -> Vec<usize> {
    let normal = |at: i64| {
        if at >= 0 {
            at
        } else {
            length.saturating_add(at)
        }
    };
    let mut places = Vec::new();
    if step > 0 {
        let mut at = normal(start.unwrap_or(0)).clamp(0, length);
        let end = normal(end.unwrap_or(length)).clamp(0, length);
        while at < end {
            places.push(at as usize);
            at = at.saturating_add(step);
        }
    } else if step < 0 {
        let mut at = start.map_or(length - 1, normal).clamp(-1, length - 1);
        let end = end.map_or(-1, normal).clamp(-1, length - 1);
        while at > end {
            places.push(at as usize);
            at = at.saturating_add(step);
        }
    }
    places
}

/// A pattern of RFC 9485 as one of ours: `.` is neither line feed nor carriage return.
fn built(pattern: &str, is_whole: bool) -> Option<Regex> {
    let mut ours = String::with_capacity(pattern.len() + 16);
    let mut in_class = false;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                ours.push(c);
                ours.extend(chars.next());
            }
            '.' if !in_class => ours.push_str("[^\\n\\r]"),
            '[' => {
                in_class = true;
                ours.push(c);
            }
            ']' => {
                in_class = false;
                ours.push(c);
            }
            // Anchors are no part of such patterns.
            _ => ours.push(c),
        }
    }
    let ours = if is_whole {
        format!("\\A(?:{ours})\\z")
    } else {
        ours
    };
    RegexBuilder::new(&ours).size_limit(PATTERN).build().ok()
}

fn compare(left: Option<&Value>, operator: Operator, right: Option<&Value>) -> bool {
    match operator {
        Operator::Equal => equal(left, right),
        Operator::NotEqual => !equal(left, right),
        Operator::Less => less(left, right),
        Operator::Greater => less(right, left),
        Operator::LessOrEqual => less(left, right) || equal(left, right),
        Operator::GreaterOrEqual => less(right, left) || equal(left, right),
    }
}

fn equal(left: Option<&Value>, right: Option<&Value>) -> bool {
    match (left, right) {
        (None, None) => true,
        (Some(left), Some(right)) => same(left, right),
        _ => false,
    }
}

/// Returns whether two values are the same; numbers are by their worth, not by how they are written.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || left.as_f64() == right.as_f64()
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let held = |(name, value): (&String, &Value)| {
                right.get(name).is_some_and(|other| same(value, other))
            };
            left.len() == right.len() && left.iter().all(held)
        }
        (left, right) => left == right,
    }
}

fn less(left: Option<&Value>, right: Option<&Value>) -> bool {
    match (left, right) {
        (Some(Value::Number(left)), Some(Value::Number(right))) => {
            match (left.as_i64(), right.as_i64()) {
                (Some(left), Some(right)) => left < right,
                _ => left.as_f64() < right.as_f64(),
            }
        }
        (Some(Value::String(left)), Some(Value::String(right))) => left < right,
        _ => false,
    }
}
