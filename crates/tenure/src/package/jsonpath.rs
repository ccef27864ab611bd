//! JSONPath as RFC 9535 has it: a query, and the nodes of a value that it finds, each with its place.

mod parser;

use std::collections::BTreeMap;
use std::rc::Rc;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use self::parser::Parser;
use crate::base::error::Error;

/// The most nodes that a query looks at. Queries whose filters ask whole documents for each node could go on for ever.
const FUEL: u32 = 500_000;
/// The bytes of text that count as one node, where a pattern looks through them.
const BYTES: usize = 64;
/// The most steps that the places of all found nodes have together.
const STEPS: usize = 4_000_000;
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
        let found = search.follow(&self.segments, root)?;
        let steps: usize = found.iter().map(|node| depth(&node.trail)).sum();
        if steps > STEPS {
            return Err(too_much());
        }
        Ok(found.into_iter().map(|node| (steps_to(&node.trail), node.value)).collect())
    }
}

fn too_much() -> Error {
    Error::input(format!("the JSONPath looks at more than {FUEL} nodes"))
        .expected("a query that asks for less")
}

/// A value on the way, whose place is shared with those that it stands in.
#[derive(Clone)]
struct Node<'v> {
    trail: Option<Rc<Trail<'v>>>,
    value: &'v Value,
}

/// The last step to a value, and the way to what it stands in.
struct Trail<'v> {
    before: Option<Rc<Trail<'v>>>,
    last: Last<'v>,
    depth: usize,
}

#[derive(Clone, Copy)]
enum Last<'v> {
    Name(&'v str),
    Index(usize),
}

impl<'v> Node<'v> {
    fn at(&self, last: Last<'v>, value: &'v Value) -> Node<'v> {
        let trail = Trail {
            before: self.trail.clone(),
            last,
            depth: depth(&self.trail) + 1,
        };
        Node {
            trail: Some(Rc::new(trail)),
            value,
        }
    }
}

fn depth(trail: &Option<Rc<Trail<'_>>>) -> usize {
    trail.as_ref().map_or(0, |trail| trail.depth)
}

fn steps_to(trail: &Option<Rc<Trail<'_>>>) -> Vec<Step> {
    let mut steps: Vec<Step> = std::iter::successors(trail.as_ref(), |trail| trail.before.as_ref())
        .map(|trail| match trail.last {
            Last::Name(name) => Step::Name(name.to_owned()),
            Last::Index(at) => Step::Index(at),
        })
        .collect();
    steps.reverse();
    steps
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
    fn spend(&mut self, nodes: usize) -> Result<(), Error> {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX);
        self.fuel = self.fuel.checked_sub(nodes).ok_or_else(too_much)?;
        Ok(())
    }

    fn follow(&mut self, segments: &[Segment], from: &'v Value) -> Result<Vec<Node<'v>>, Error> {
        let mut nodes = vec![Node {
            trail: None,
            value: from,
        }];
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
        node: Node<'v>,
        segment: &Segment,
        found: &mut Vec<Node<'v>>,
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

    fn children(&mut self, node: &Node<'v>, found: &mut Vec<Node<'v>>) -> Result<(), Error> {
        match node.value {
            Value::Array(values) => {
                self.spend(values.len())?;
                let inner = values.iter().enumerate();
                found.extend(inner.map(|(at, value)| node.at(Last::Index(at), value)));
            }
            Value::Object(fields) => {
                self.spend(fields.len())?;
                let inner = fields.iter();
                found.extend(inner.map(|(name, value)| node.at(Last::Name(name), value)));
            }
            _ => {}
        }
        Ok(())
    }

    fn select(
        &mut self,
        node: &Node<'v>,
        segment: &Segment,
        found: &mut Vec<Node<'v>>,
    ) -> Result<(), Error> {
        for selector in &segment.selectors {
            self.spend(1)?;
            match (selector, node.value) {
                (Selected::Name(name), Value::Object(fields)) => {
                    if let Some((name, value)) = fields.get_key_value(name) {
                        found.push(node.at(Last::Name(name), value));
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
                        found.push(node.at(Last::Index(at), &values[at]));
                    }
                }
                (Selected::Slice(start, end, step), Value::Array(values)) => {
                    for at in slice(*start, *end, *step, values.len() as i64) {
                        self.spend(1)?;
                        found.push(node.at(Last::Index(at), &values[at]));
                    }
                }
                (Selected::Filter(test), _) => {
                    let mut inner = Vec::new();
                    self.children(node, &mut inner)?;
                    for node in inner {
                        if self.holds(test, node.value)? {
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
                if let (Some(left), Some(right)) = (left.get(), right.get()) {
                    self.spend(compared(left, right))?;
                }
                compare(left.get(), *operator, right.get())
            }
        })
    }

    fn ask(&mut self, query: &Query, current: &'v Value) -> Result<Vec<Node<'v>>, Error> {
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
                Some(node) => Worth::Known(node.value),
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
                [node] => Worth::Known(node.value),
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
        self.spend(1 + (text.len() + pattern.len()) / BYTES)?;
        let key = (pattern.clone(), is_whole);
        if self.patterns.len() >= PATTERNS && !self.patterns.contains_key(&key) {
            self.patterns.clear();
        }
        let built = self.patterns.entry(key).or_insert_with(|| built(pattern, is_whole));
        let holds = built.as_ref().is_some_and(|built| built.is_match(text));
        Ok(Worth::Made(Value::Bool(holds)))
    }
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

/// Returns about how many nodes a comparison looks at: none of values that are not of one kind and size.
fn compared(left: &Value, right: &Value) -> usize {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            left.iter().zip(right).map(|(left, right)| 1 + compared(left, right)).sum()
        }
        (Value::Object(left), Value::Object(right)) if left.len() == right.len() => left
            .iter()
            .filter_map(|(name, value)| Some((value, right.get(name)?)))
            .map(|(left, right)| 1 + compared(left, right))
            .sum(),
        (Value::String(left), Value::String(right)) => left.len().min(right.len()) / BYTES,
        _ => 0,
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
                && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, value)| right.get(name).is_some_and(|other| same(value, other)))
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
