//! The five signs of what is stale: age in turns; whether later turns refer to it; whether a later call repeats it or
//! changes what it read; whether it is of another step of the task; whether a later error or correction invalidates it.
//!
//! Age, references and supersession are told in a conversation alone, where one thing is after another.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::num::Score;
use crate::base::time::Instant;
use crate::compile::stages::plan::Planned;
use crate::condense::turns::{corrects, objects};
use crate::input::candidates::{Normalized, UNKNOWN};
use crate::input::policy::{Age, Decay, HygienePolicy, Policy};
use crate::input::request::{Request, Step as TaskStep};
use crate::object::section::Section;
use crate::object::{ObjectType, Role};
use crate::session::{Step, superseded};

/// The most words of one turn that are looked for in later ones.
const MAX_WORDS: usize = 512;
/// The least length of a word that is taken for a reference: shorter ones are said anyway.
const WORD: usize = 6;
/// The least length of a line that is taken for a quotation.
const LINE: usize = 40;
/// The beginning of a result that is looked through for an error.
const HEAD: usize = 64;
/// The words with which results begin that report a failure.
const FAILS: [&str; 7] = [
    "error",
    "failed",
    "failure",
    "fatal",
    "traceback",
    "exception",
    "{\"error\"",
];

/// The share of its relevance that is left of each row.
#[derive(Default)]
pub(super) struct Stale(BTreeMap<u32, Score>);

impl Stale {
    /// Returns the share that is left of a row.
    pub(super) fn left(&self, row: u32) -> Score {
        self.0.get(&row).copied().unwrap_or(Score::ONE)
    }

    fn lower(&mut self, row: u32, share: Score) {
        if share < Score::ONE {
            let left = self.0.entry(row).or_insert(Score::ONE);
            *left = left.times(share);
        }
    }
}

/// Looks for what is stale, where the policy says so.
pub(super) fn stale(planned: &Planned<'_>, policy: &Policy, request: &Request) -> Stale {
    let hygiene = &policy.document().hygiene;
    let mut stale = Stale::default();
    if !hygiene.watch {
        return stale;
    }
    let live = &planned.live;
    let set = live.set;
    let errors: BTreeSet<&str> =
        request.task.errors.iter().flat_map(|error| words(&error.message)).collect();
    let mut history = Vec::new();
    for &at in &live.rows {
        let row = set.row(at);
        if row.section == Section::History {
            history.push(at);
        }
        if row.rare
            && let Some(now) = request.task.step
            && let Some(then) = set.object(at).revision().rare().inserted_in_step.as_deref()
            && then.parse::<TaskStep>().is_ok_and(|then| then != now)
        {
            stale.lower(at, hygiene.other_step);
        }
        if !errors.is_empty() && errors.contains(set.object(at).name()) {
            stale.lower(at, hygiene.invalidated);
        }
    }
    if !history.is_empty() {
        conversation(set, &history, hygiene, request, &mut stale);
    }
    stale
}

/// A part of a conversation.
struct Part<'s> {
    row: u32,
    /// The number of requests of the user up to it.
    turn: u32,
    text: &'s str,
    /// The arguments of its calls.
    arguments: Vec<String>,
}

/// Looks for what is stale in a conversation.
fn conversation(
    set: &Normalized,
    history: &[u32],
    hygiene: &HygienePolicy,
    request: &Request,
    stale: &mut Stale,
) {
    // Only a step is taken back by a reference, and looking for references reads every word.
    let reactivates = hygiene
        .decay
        .values()
        .chain(&hygiene.correction)
        .into_iter()
        .any(|decay| matches!(decay, Decay::Step { .. }));
    let mut turn = 0;
    let part = |row: &u32| {
        turn += u32::from(set.is_user_turn(*row));
        let revision = set.object(*row).revision();
        let calls = revision.tool_calls().iter().filter(|_| reactivates);
        Part {
            row: *row,
            turn,
            text: revision.content(),
            arguments: calls.map(|call| call.arguments_text()).collect(),
        }
    };
    let parts: Vec<Part<'_>> = history.iter().map(part).collect();
    let last = parts.last().map_or(0, |part| part.turn);
    let referred = if reactivates {
        references(set, &parts)
    } else {
        vec![0; parts.len()]
    };
    let invalid = invalidated(set, &parts);
    let steps = parts.iter().map(|part| {
        let revision = set.object(part.row).revision();
        let is_result = set.row(part.row).object_type == ObjectType::ToolResult;
        Step {
            calls: revision.tool_calls(),
            answers: revision.tool_call_id().filter(|_| is_result),
        }
    });
    let superseded = superseded(steps);
    for (at, part) in parts.iter().enumerate() {
        let row = set.row(part.row);
        let revision = set.object(part.row).revision();
        let is_corrective = revision.role() == Some(Role::User)
            && hygiene.correction.is_some()
            && corrects(part.text);
        let decay = hygiene
            .correction
            .as_ref()
            .filter(|_| is_corrective)
            .or_else(|| hygiene.decay.get(&row.object_type));
        if let Some(decay) = decay {
            let now = request.as_of.valid;
            let since = (row.since != UNKNOWN).then(|| Instant::from_micros(row.since));
            let age = Age {
                turns: Some(match decay {
                    Decay::Step { .. } => last - part.turn.max(referred[at]),
                    _ => last - part.turn,
                }),
                days: since.zip(now).map(|(since, now)| now.days_since(since)),
            };
            stale.lower(part.row, decay.left(&age));
        }
        if superseded[at].is_some() {
            stale.lower(part.row, Score::ZERO);
        }
        if invalid.contains(&at) {
            stale.lower(part.row, hygiene.invalidated);
        }
    }
    // Calls that say nothing themselves are worth what their results are.
    let results: BTreeMap<&str, u32> = parts
        .iter()
        .filter_map(|part| {
            let answers = set.object(part.row).revision().tool_call_id()?;
            Some((answers, part.row))
        })
        .collect();
    for part in &parts {
        let calls = set.object(part.row).revision().tool_calls();
        if calls.is_empty() || !part.text.trim().is_empty() {
            continue;
        }
        let left = calls
            .iter()
            .map(|call| results.get(call.id.as_str()).map_or(Score::ONE, |row| stale.left(*row)));
        let most = left.max().unwrap_or(Score::ONE);
        stale.lower(part.row, most);
    }
}

/// Returns the last turn that refers to each part: by its name or the id of its call, by a word of it in the arguments
/// of a call or in what is said, or by a line that is quoted.
fn references(set: &Normalized, parts: &[Part<'_>]) -> Vec<u32> {
    let names: BTreeSet<&str> = parts
        .iter()
        .flat_map(|part| {
            let object = set.object(part.row);
            [Some(object.name()), object.revision().tool_call_id()]
        })
        .flatten()
        .collect();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut referred = vec![0; parts.len()];
    for (at, part) in parts.iter().enumerate().rev() {
        let object = set.object(part.row);
        let named = [Some(object.name()), object.revision().tool_call_id()];
        let own = named.into_iter().flatten().chain(told(part.text));
        let last = own.filter_map(|word| seen.get(word)).max();
        referred[at] = last.copied().unwrap_or(0);
        let said = part.arguments.iter().map(String::as_str);
        for text in said.chain([part.text]) {
            let named = words(text).filter(|word| names.contains(word));
            for word in told(text).chain(named) {
                // From the last on: the first that is met is the latest.
                seen.entry(word).or_insert(part.turn);
            }
        }
    }
    referred
}

/// The words and lines of a text by which it can be known again: those with a digit or a mark inside, and long lines.
fn told(text: &str) -> impl Iterator<Item = &str> {
    let marked = |word: &&str| {
        word.len() >= WORD && word.contains(|c: char| c.is_ascii_digit() || "_/.-:".contains(c))
    };
    let lines = text.lines().map(str::trim).filter(|line| line.len() >= LINE);
    words(text).filter(marked).take(MAX_WORDS).chain(lines.take(MAX_WORDS))
}

/// The words of a text, with the marks that names, paths and numbers have inside.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || "_/.-:".contains(c)))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .filter(|word| !word.is_empty())
}

/// Returns the parts that something later makes invalid: words of the assistant that the user corrects at once, and
/// failures of a tool that worked later.
fn invalidated(set: &Normalized, parts: &[Part<'_>]) -> BTreeSet<usize> {
    let mut invalid = BTreeSet::new();
    for (at, pair) in parts.windows(2).enumerate() {
        let [said, answer] = pair else { continue };
        let (before, after) = (
            set.object(said.row).revision(),
            set.object(answer.row).revision(),
        );
        if before.role() == Some(Role::Assistant)
            && before.tool_calls().is_empty()
            && after.role() == Some(Role::User)
            && objects(answer.text)
        {
            invalid.insert(at);
        }
    }
    let mut tools: BTreeMap<&str, &str> = BTreeMap::new();
    for part in parts {
        let calls = set.object(part.row).revision().tool_calls().iter();
        tools.extend(calls.map(|call| (call.id.as_str(), call.name.as_str())));
    }
    let mut works = BTreeSet::new();
    for (at, part) in parts.iter().enumerate().rev() {
        let answers = set.object(part.row).revision().tool_call_id();
        let Some(tool) = answers.and_then(|id| tools.get(id)) else {
            continue;
        };
        if !fails(part.text) {
            works.insert(*tool);
        } else if works.contains(tool) {
            invalid.insert(at);
        }
    }
    invalid
}

/// Returns whether a result begins by reporting a failure.
fn fails(text: &str) -> bool {
    let head = text.trim_start().chars().take(HEAD).collect::<String>().to_lowercase();
    FAILS.iter().any(|word| head.starts_with(word))
}
