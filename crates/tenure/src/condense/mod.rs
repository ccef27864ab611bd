//! Condensation: a large text becomes a smaller one by the least harmful means.
//!
//! 1. **Lossless**: formatting and repetition go, all content stays, and an inverse gives it back
//!    ([`json::expand`], [`log::expand`], [`search::expand`], [`table::expand`]).
//! 2. **Lossy**, when that is not enough: what the task names, what went wrong, what is unlike the
//!    rest, the first and the last stay; what is left out is counted where it was, of prose at the
//!    end, and in [`Condensed::left_out`].
//! 3. **Unchanged**, when neither fits: a no-op says that it was one.
//!
//! Prose is [distilled](distill) to its propositions, [`turns`] of a conversation to a summary.
//! How much of a text is still said is its [`fidelity`], how that falls as a text shrinks, a
//! [`curve`].
//!
//! Each content type has a file of its own. All are pure functions of their arguments, take time
//! near-linear in the length of the text, and never fail: what cannot be read as its type is
//! treated as lines. Nothing here points to the original: who keeps it says where it is.

mod clauses;
pub mod code;
pub mod curve;
mod declared;
mod detect;
mod diff;
pub mod distill;
pub(crate) mod duplicates;
pub mod fidelity;
mod fill;
pub(crate) mod gutter;
pub mod json;
mod lines;
pub mod log;
mod markdown;
pub(crate) mod pointer;
mod prose;
pub mod search;
mod select;
pub(crate) mod sentences;
mod signal;
pub mod table;
pub(crate) mod telling;
mod trace;
pub mod turns;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use crate::base::num::Score;
use crate::object::vocabulary::vocabulary;

pub use detect::detect;
pub use duplicates::{Near, near_duplicates};
pub(crate) use select::excerpt;

vocabulary! {
    /// The kind of a text, which decides how it is condensed.
    ContentType ("content type") {
        /// Sentences.
        Prose = "prose",
        /// Headings, lists and fenced blocks.
        Markdown = "markdown",
        /// One JSON value, or one on each line.
        Json = "json",
        /// Lines that a program wrote as it went.
        Log = "log",
        /// The output of a search: paths, line numbers, lines.
        Search = "search",
        /// An exception with the frames it came through.
        StackTrace = "stack_trace",
        /// A unified difference.
        Diff = "diff",
        /// Source code.
        Code = "code",
        /// Values separated by commas, tabs or semicolons.
        Table = "table",
        /// Messages of a conversation as JSON. Never detected: it is JSON unless someone says that
        /// its words count ([`turns::messages`]).
        Turns = "turns",
    }
}

vocabulary! {
    /// The method of a condensation.
    Method ("condensation method") {
        /// It was not.
        Unchanged = "unchanged",
        /// White space between the tokens is gone. Lossless.
        Minified = "minified",
        /// Like records stand in tables. Lossless.
        Tabulated = "tabulated",
        /// Lines stand as a template and what differs. Lossless.
        Folded = "folded",
        /// Text that many lines share is said once. Lossless.
        Grouped = "grouped",
        /// Some records, lines or rows stand for all.
        Selected = "selected",
        /// Long values are cut and deep ones counted.
        Outlined = "outlined",
        /// Some sentences or blocks stand for all, as they were.
        Extracted = "extracted",
        /// Some sentences of a conversation stand for all ([`turns`]).
        Summarized = "summarized",
        /// Some propositions stand for all, in compact form ([`distill`]).
        Distilled = "distilled",
        /// Declarations stand, some bodies do not ([`code`]).
        Elided = "elided",
        /// Its author wrote the shorter form.
        Author = "author",
    }
}

vocabulary! {
    /// The class of an omission, in the order of the loss that it risks.
    Omission ("omission class") {
        /// White space and decoration.
        Formatting = "formatting",
        /// Words that acknowledge and say nothing.
        Acknowledgement = "acknowledgement",
        /// Text that is said elsewhere in the result.
        Repeat = "repeat",
        /// Results that a later call of the same tool with the same arguments repeats.
        SupersededOutput = "superseded_output",
        /// Text that the task seems not to need.
        LowRelevance = "low_relevance",
        /// The steps of a subtask that is done.
        CompletedSubtask = "completed_subtask",
        /// Requests for a tone or style, where no one waits for the answer.
        NuancedPreference = "nuanced_preference",
        /// Turns of which age, errors or another step of the task have left little.
        Stale = "stale",
    }
}

vocabulary! {
    /// The unit in which omissions are counted.
    Unit ("unit") {
        /// Bytes.
        Bytes = "bytes",
        /// Lines.
        Lines = "lines",
        /// Records of an array, rows of a table.
        Records = "records",
        /// Elements and entries of JSON values.
        Values = "values",
        /// Matches of a search.
        Matches = "matches",
        /// Frames of a stack.
        Frames = "frames",
        /// Sentences.
        Sentences = "sentences",
        /// Turns of a conversation.
        Turns = "turns",
        /// Sentences, or clauses that stand on their own.
        Propositions = "propositions",
        /// Paragraphs, lists and fenced blocks.
        Blocks = "blocks",
    }
}

/// The goal of a condensation.
#[derive(Clone, Copy)]
pub struct Goal<'g> {
    /// The most tokens that the result may have. A ceiling: what fits already is made smaller
    /// only where nothing is lost.
    pub tokens: u32,
    /// The reader's next task. Words that it names are kept.
    pub task: &'g str,
    /// Counts the tokens of a text.
    pub count: &'g dyn Fn(&str) -> usize,
    /// True if nothing may be lost.
    pub lossless_only: bool,
}

impl Goal<'_> {
    fn count(&self, text: &str) -> u32 {
        u32::try_from((self.count)(text)).unwrap_or(u32::MAX)
    }
}

/// Something of one kind that is not in the result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// The class of the omission.
    pub class: Omission,
    /// The unit of the count.
    pub unit: Unit,
    /// The number.
    pub count: u32,
}

/// A condensed text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condensed {
    /// The text.
    pub text: String,
    /// The type that it was taken for.
    pub content_type: ContentType,
    /// The method.
    pub method: Method,
    /// True if all content is still there.
    pub lossless: bool,
    /// True if it is within the goal; when not, the text is the original.
    pub fits: bool,
    /// The tokens of the original.
    pub from: u32,
    /// The tokens of the result.
    pub to: u32,
    /// The parts that were left out.
    pub left_out: Vec<LeftOut>,
}

/// SipHash with fixed keys: looked up, never iterated.
type Map<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

impl Condensed {
    /// Returns the share of the original that is still in the text.
    pub fn fidelity(&self, original: &str) -> Score {
        if self.lossless {
            return Score::ONE;
        }
        let spoken = (self.method == Method::Summarized).then(|| turns::spoken(original));
        let original = spoken.as_deref().unwrap_or(original);
        fidelity::fidelity(original, &self.text).score()
    }

    /// The text that a lossless condensation was made of; of JSON the same tokens without white
    /// space between them. An error where something was left out.
    pub fn expand(&self) -> Result<String, Malformed> {
        match (self.method, self.content_type) {
            (Method::Unchanged, _) => Ok(self.text.clone()),
            (Method::Tabulated, ContentType::Table) => table::expand(&self.text),
            (Method::Minified | Method::Tabulated, _) => json::expand(&self.text),
            (Method::Folded, _) => log::expand(&self.text),
            (Method::Grouped, _) => search::expand(&self.text),
            (
                Method::Selected
                | Method::Outlined
                | Method::Extracted
                | Method::Summarized
                | Method::Distilled
                | Method::Elided
                | Method::Author,
                _,
            ) => Err(Malformed {
                what: "something was left out",
                line: 1,
            }),
        }
    }
}

/// Stands where something was left out. Content that starts a line with it is quoted.
const GAP: char = '…';

/// A form that a text can take, not yet counted.
struct Draft {
    text: String,
    method: Method,
    left_out: Vec<LeftOut>,
}

/// A text read as its type.
trait Reading {
    /// The form with all the content, when there is one.
    fn lossless(&self) -> Option<Draft>;

    /// Returns the form of about the tokens that the goal names.
    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft>;
}

/// Condenses `text` by the least harmful means that brings it within the goal. The type is
/// detected when none is given.
///
/// ```
/// use tenure::condense::{Goal, Method, condense};
/// let users: Vec<String> = (0..20).map(|id| format!(r#"{{ "id": {id}, "plan": "basic" }}"#)).collect();
/// let goal = Goal { tokens: 4_000, task: "", count: &|text| text.len() / 4, lossless_only: true };
/// let condensed = condense(&format!("[{}]", users.join(", ")), None, &goal);
/// assert_eq!(condensed.method, Method::Tabulated);
/// assert!(condensed.text.starts_with("@1\n@1: 20 rows\nid,plan=basic\n0\n1\n2\n"));
/// assert!(condensed.to * 4 < condensed.from);
/// ```
pub fn condense(text: &str, content_type: Option<ContentType>, goal: &Goal<'_>) -> Condensed {
    let content_type = content_type.unwrap_or_else(|| detect(text));
    settled(
        text,
        content_type,
        read(text, content_type).as_deref(),
        goal,
    )
}

/// The least harmful form of a text, as it was read, that is within the goal.
fn settled(
    text: &str,
    content_type: ContentType,
    reading: Option<&dyn Reading>,
    goal: &Goal<'_>,
) -> Condensed {
    let from = goal.count(text);
    let result = |draft: Draft, lossless: bool, to: u32| Condensed {
        text: draft.text,
        content_type,
        method: draft.method,
        lossless,
        fits: to <= goal.tokens,
        from,
        to,
        left_out: draft.left_out,
    };
    if let Some(reading) = reading {
        // A form that is far too long is not counted to the end.
        let within = |draft: &Draft| from <= goal.tokens || select::may_fit(&draft.text, goal);
        if let Some(draft) = reading.lossless().filter(within) {
            let to = goal.count(&draft.text);
            if to < from && to <= goal.tokens {
                return result(draft, true, to);
            }
        }
        if from > goal.tokens
            && !goal.lossless_only
            && let Some(draft) = reading.lossy(goal)
        {
            let to = goal.count(&draft.text);
            if to < from && to <= goal.tokens {
                return result(draft, false, to);
            }
        }
    }
    let unchanged = Draft {
        text: text.to_owned(),
        method: Method::Unchanged,
        left_out: Vec::new(),
    };
    result(unchanged, true, from)
}

fn read<'t>(text: &'t str, content_type: ContentType) -> Option<Box<dyn Reading + 't>> {
    match content_type {
        // Only a parser can read it: [`code::condense`].
        ContentType::Code => None,
        ContentType::Json => match json::Json::read(text) {
            Some(json) => Some(Box::new(json)),
            None => Some(Box::new(log::Log::read(text)?)),
        },
        ContentType::Diff => Some(Box::new(diff::Diff::read(text))),
        ContentType::Log => Some(Box::new(log::Log::read(text)?)),
        ContentType::Markdown => Some(Box::new(markdown::Markdown::read(text))),
        ContentType::Prose => Some(Box::new(prose::Prose(text))),
        ContentType::Search => Some(Box::new(search::Search::read(text))),
        ContentType::StackTrace => Some(Box::new(trace::Trace::read(text)?)),
        ContentType::Table => Some(Box::new(table::Csv::read(text)?)),
        ContentType::Turns => match turns::Talk::read(text) {
            Some(talk) => Some(Box::new(talk)),
            None => read(text, ContentType::Json),
        },
    }
}

/// A condensed text that cannot be expanded: a condensation did not write it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// The fault.
    pub what: &'static str,
    /// The line, from one.
    pub line: usize,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Malformed {}

#[cfg(test)]
mod tests;
