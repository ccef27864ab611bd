//! Turns of a conversation: sentences stay as they were said, in their order, chosen by five factors: information
//! density, task relevance, recency, whether they contain a decision, whether they contain a correction. Before them
//! go the last turn of the user, corrections, decisions and constraints.
//!
//! The source compares embeddings for relevance; here it is the cosine of vectors of words, a rare
//! one weighing more. What is told of words is told of English ones.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

use serde_json::Value;

use super::clauses::statements;
use super::fill::{Prices, fill};
use super::select::price;
use super::sentences::{acknowledges, density};
use super::signal::{EMPTY, rarity};
use super::{Draft, GAP, Goal, LeftOut, Map, Method, Omission, Reading, Unit};
use crate::base::num::{Score, exp};
use crate::object::vocabulary::vocabulary;
use crate::rank::ranker::each_term;

vocabulary! {
    /// The speaker of a turn in a conversation.
    Speaker ("speaker") {
        /// The platform or developer.
        System = "system",
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
        /// A tool, with what it returned.
        Tool = "tool",
    }
}

vocabulary! {
    /// The reason for which a sentence stays, in the order in which sentences are offered a place.
    Standing ("standing") {
        /// It is of the last turn of the user.
        LastRequest = "last_request",
        /// The user corrects in it, or says in it what is right instead.
        Correction = "correction",
        /// Someone makes a choice in it, or asks for the one that is made next.
        Decision = "decision",
        /// It says what must be or must not be.
        Constraint = "constraint",
        /// Its score.
        Scored = "scored",
    }
}

/// One turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn<'t> {
    /// The speaker.
    pub speaker: Speaker,
    /// The text.
    pub text: &'t str,
}

/// The turns of messages in JSON, as providers take them: an array, an object that has one under
/// `messages`, or a message on each line. Of a message what is said in it, called and returned.
///
/// ```
/// use tenure::condense::turns::{Speaker, messages};
/// let talk = r#"[{"role": "user", "content": "Which port?"},
///     {"role": "assistant", "content": [{"type": "text", "text": "8443."}]}]"#;
/// assert_eq!(messages(talk).unwrap()[1], (Speaker::Assistant, "8443.".to_owned()));
/// assert!(messages("[1, 2]").is_none());
/// ```
pub fn messages(text: &str) -> Option<Vec<(Speaker, String)>> {
    let values: Vec<Value> = serde_json::Deserializer::from_str(text)
        .into_iter::<Value>()
        .collect::<Result<_, _>>()
        .ok()?;
    let messages = match &values[..] {
        [one] => one.as_array().or(one["messages"].as_array()).cloned().unwrap_or(values),
        _ => values,
    };
    let turns: Option<Vec<_>> = messages.iter().map(turn).collect();
    turns.filter(|turns| !turns.is_empty())
}

fn turn(message: &Value) -> Option<(Speaker, String)> {
    let content = &message["content"];
    let mut said = Vec::new();
    say(content, &mut said);
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        said.push(called(
            &call["function"]["name"],
            &call["function"]["arguments"],
        ));
    }
    let parts = content.as_array();
    let returns = parts.is_some_and(|parts| parts.iter().any(|part| part["type"] == "tool_result"));
    let speaker = match message["role"].as_str()? {
        _ if returns => Speaker::Tool,
        "system" | "developer" => Speaker::System,
        "user" => Speaker::User,
        "assistant" => Speaker::Assistant,
        "tool" | "function" => Speaker::Tool,
        _ => return None,
    };
    Some((speaker, said.join("\n")))
}

/// Collects the texts of a message's content, part by part.
fn say(content: &Value, said: &mut Vec<String>) {
    match content {
        Value::String(text) => said.push(text.clone()),
        Value::Array(parts) => parts.iter().for_each(|part| say(part, said)),
        part if part["type"] == "tool_use" => said.push(called(&part["name"], &part["input"])),
        Value::Object(part) => {
            let inner = part.get("text").or(part.get("content"));
            inner.into_iter().for_each(|inner| say(inner, said));
        }
        _ => {}
    }
}

fn called(name: &Value, arguments: &Value) -> String {
    let bare = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
    format!("{} {}", bare(name), bare(arguments))
}

/// Returns the messages as text, each turn on a line with its speaker; the text itself, where it has none.
pub(super) fn spoken(text: &str) -> String {
    let Some(turns) = messages(text) else {
        return text.to_owned();
    };
    turns.iter().map(|(speaker, said)| format!("{speaker}: {said}\n")).collect()
}

/// Messages as a text that can be condensed.
pub(super) struct Talk(Vec<(Speaker, String)>);

impl Talk {
    pub(super) fn read(text: &str) -> Option<Talk> {
        messages(text).map(Talk)
    }
}

impl Reading for Talk {
    /// Returns nothing: speech has no parts that could go without loss.
    fn lossless(&self) -> Option<Draft> {
        None
    }

    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft> {
        let turns: Vec<Turn<'_>> = self
            .0
            .iter()
            .map(|(speaker, text)| Turn {
                speaker: *speaker,
                text,
            })
            .collect();
        let summary = summarize(&turns, &Weights::default(), goal);
        (!summary.text.is_empty()).then_some(Draft {
            text: summary.text,
            method: Method::Summarized,
            left_out: summary.left_out,
        })
    }
}

/// The longest word of speech, in bytes. In scripts without spaces a sentence may be one.
const LONGEST_WORD: usize = 16 * 1024;

/// The weight of each factor, and the decay of recency.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Weights {
    /// Of the share of words that name something.
    pub density: Score,
    /// Of the likeness to the task.
    pub relevance: Score,
    /// Of the nearness to the end.
    pub recency: Score,
    /// Of a choice.
    pub decision: Score,
    /// Of a correction.
    pub correction: Score,
    /// γ of `e^(−γ·Δt)`, where Δt is the age in turns.
    pub decay: f64,
}

impl Default for Weights {
    /// Relevance before the two indicators, these before density and recency; recency halves in
    /// about seven turns.
    fn default() -> Weights {
        Weights {
            density: Score::from_millionths(150_000),
            relevance: Score::from_millionths(300_000),
            recency: Score::from_millionths(150_000),
            decision: Score::from_millionths(200_000),
            correction: Score::from_millionths(200_000),
            decay: 0.1,
        }
    }
}

/// The five factors of a sentence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Factors {
    /// InformationDensity: the share of words that name something.
    pub density: Score,
    /// TaskRelevance: the cosine with the task.
    pub relevance: Score,
    /// RecencyWeight, by the age of the turn.
    pub recency: Score,
    /// ContainsDecision.
    pub decision: bool,
    /// ContainsCorrection, of the user alone.
    pub correction: bool,
}

impl Factors {
    /// The weighted sum, in millionths.
    pub fn score(&self, weights: &Weights) -> u32 {
        let flag = |is: bool| if is { Score::ONE } else { Score::ZERO };
        [
            weights.density.times(self.density),
            weights.relevance.times(self.relevance),
            weights.recency.times(self.recency),
            weights.decision.times(flag(self.decision)),
            weights.correction.times(flag(self.correction)),
        ]
        .iter()
        .map(|part| part.millionths())
        .sum()
    }
}

/// A sentence with what was found about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sentence {
    /// The turn, from 0.
    pub turn: usize,
    /// Its bytes in the text of the turn.
    pub bytes: Range<usize>,
    /// The reason for which it stays.
    pub standing: Standing,
    /// Its factors.
    pub factors: Factors,
    /// Their weighted sum, in millionths.
    pub score: u32,
    /// True if it is in the summary.
    pub kept: bool,
}

/// An extractive summary.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// The sentences that stay, in their order; empty where none fits.
    pub text: String,
    /// All sentences, in order.
    pub sentences: Vec<Sentence>,
    /// The tokens of the conversation, each turn on a line with its speaker.
    pub from: u32,
    /// The tokens of the summary.
    pub to: u32,
    /// The parts that were left out.
    pub left_out: Vec<LeftOut>,
}

impl Summary {
    /// The number of corrections, decisions, constraints and sentences of the user's last turn that did not fit.
    pub fn sacrificed(&self) -> usize {
        self.sentences
            .iter()
            .filter(|found| found.standing != Standing::Scored && !found.kept)
            .count()
    }
}

/// The first line of a summary.
const PREAMBLE: &str = "[Extracted from conversation history]";

#[rustfmt::skip]
const DECIDES: [&str; 22] = [
    " agreed", " approved", " choose ", " chose ", " chosen ", " conclude", " decide", " decision",
    " go ahead", " go with ", " i want ", " i'll take ", " let's ", " opted ", " picked ",
    " settle", " stick with ", " the plan is", " we use ", " we will ", " we'll ", " will use ",
];
#[rustfmt::skip]
const CORRECTS: [&str; 20] = [
    " actually", " but not ", " correction", " i didn't ", " i meant ", " i said ", " incorrect",
    " instead", " misread", " mistake", " misunderst", " no longer ", " not what ", " rather than ",
    " should be ", " should have been ", " that's not ", " undo ", " revert ", " wrong",
];
/// The words that demand wherever they stand in a sentence.
#[rustfmt::skip]
const CONSTRAINS: [&str; 15] = [
    " forbidden", " has to ", " have to ", " keep it ", " make sure", " may not ", " may only ", " must ",
    " must.", " must,", " mustn't ", " not allowed", " required", " requirement", " under no ",
];
/// The words that bound a number.
const BOUNDS: [&str; 5] = [
    "at least ",
    "at most ",
    "limit of ",
    "no more than ",
    "up to ",
];
/// Words that forbid at the beginning of a sentence or clause, or after a word that asks for it. Elsewhere they tell:
/// "they never met".
const FORBIDS: [&str; 4] = ["avoid ", "do not ", "don't ", "never "];
/// Words that demand at the beginning of a sentence, or after a word that asks for it: "it works without" tells.
const DEMANDS: [&str; 4] = ["always ", "limit ", "only ", "without "];
#[rustfmt::skip]
const ASKS: [&str; 9] = [
    "can", "may", "please", "shall", "should", "use", "want", "will", "you",
];
/// Words behind which an order goes on, unless the sentence is about someone or something.
const JOINS: [&str; 3] = ["and", "but", "so"];
#[rustfmt::skip]
const ABOUT: [&str; 10] = [
    "a", "he", "her", "his", "i", "it", "she", "the", "there", "they",
];
/// Words after which necessities are told, not demanded.
const TOLD: [&str; 4] = [" he must ", " she must ", " he has to ", " she has to "];

/// Returns whether a person who says this demands something. What is told, quoted, logged or written as code does
/// not.
fn demands(text: &str, lower: &str) -> bool {
    let is_quoted = text.starts_with(['"', '“', '>', '|', '`']) || text.contains("::");
    let is_code = text.ends_with([';', '{', '}']) || text.starts_with(['{', '[', '<']);
    if is_quoted || is_code || super::detect::is_logged(text) {
        return false;
    }
    if TOLD.iter().any(|words| lower.contains(words)) {
        return false;
    }
    let bounds = |words: &&str| {
        let mut after = lower.match_indices(*words).map(|(at, _)| &lower[at + words.len()..]);
        after.any(|after| after.starts_with(|c: char| c.is_ascii_digit()))
    };
    if CONSTRAINS.iter().any(|words| lower.contains(words)) || BOUNDS.iter().any(bounds) {
        return true;
    }
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let first = words.find(|word| !word.is_empty());
    let tells = first.is_some_and(|first| ABOUT.contains(&first));
    let begins = |order: &&str, forbids: bool| {
        let mut places = lower.match_indices(*order);
        places.any(|(at, _)| {
            let before = lower[..at].trim_end_matches(' ');
            let whole = lower[..at].ends_with(|c: char| !c.is_alphanumeric());
            let listed = before.is_empty() || before.ends_with([';', ':', '-', '*', '(', '.', '#']);
            let asked = before.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
            let joined = forbids && !tells && (before.ends_with(',') || JOINS.contains(&asked));
            whole && (listed || joined || ASKS.contains(&asked))
        })
    };
    FORBIDS.iter().any(|order| begins(order, true))
        || DEMANDS.iter().any(|order| begins(order, false))
}

/// With what a turn starts that corrects the one before it.
const OBJECTS: [&str; 4] = ["no,", "no.", "nope", "not quite"];
/// The bytes of a turn in which a correction is looked for: who corrects says so at once.
const HEAD: usize = 160;
/// Words that correct wherever they stand there.
const CORRECTIVE: [&str; 6] = [
    "actually",
    "correction",
    "instead",
    "misunderstood",
    "undo",
    "revert",
];
/// Words that say that something is wrong.
const WRONG: [&str; 4] = ["wrong", "incorrect", "mistake", "misread"];

/// Returns whether the user corrects in a text what was said before it.
pub(crate) fn corrects(text: &str) -> bool {
    objects(text) || has_word(text, &CORRECTIVE)
}

/// Returns whether the user says that what was just said is wrong.
pub(crate) fn objects(text: &str) -> bool {
    let text = text.trim_start();
    OBJECTS
        .iter()
        .any(|start| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)))
        || has_word(text, &WRONG)
}

/// Returns whether one of these, of more than three letters each, stands at the head of a text.
fn has_word(text: &str, words: &[&str]) -> bool {
    let head = &text.as_bytes()[..text.len().min(HEAD)];
    let mut start = 0;
    for at in 0..=head.len() {
        if head.get(at).is_some_and(u8::is_ascii_alphanumeric) {
            continue;
        }
        let word = &head[start..at];
        if word.len() > 3 && words.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(word)) {
            return true;
        }
        start = at + 1;
    }
    false
}

/// With what a turn starts that takes what the one before it offers.
const ACCEPTS: [&str; 6] = [
    "yes",
    "go ahead",
    "do it",
    "sounds good",
    "option",
    "the first",
];

/// The sentences of `turns` that fit into the goal's tokens, in their order.
///
/// ```
/// use tenure::condense::Goal;
/// use tenure::condense::turns::{Speaker, Standing, Turn, Weights, summarize};
/// let turn = |speaker, text| Turn { speaker, text };
/// let turns = [
///     turn(Speaker::User, "Set up the server. The weather is fine today, by the way."),
///     turn(Speaker::Assistant, "Sure! I set it to port 8080."),
///     turn(Speaker::User, "No, that is wrong. Use port 8443."),
///     turn(Speaker::Assistant, "Done. It listens on port 8443 now and answers."),
///     turn(Speaker::User, "How do I test it?"),
/// ];
/// let goal = Goal { tokens: 40, task: "Test the server", count: &|text| text.len() / 4, lossless_only: false };
/// let summary = summarize(&turns, &Weights::default(), &goal);
/// assert!(summary.to <= 40 && summary.text.contains("user: No, that is wrong. Use port 8443.\n"));
/// assert!(summary.text.ends_with("user: How do I test it?"));
/// assert_eq!((summary.sacrificed(), summary.sentences[5].standing), (0, Standing::Correction));
/// ```
pub fn summarize(turns: &[Turn<'_>], weights: &Weights, goal: &Goal<'_>) -> Summary {
    let last_request = turns.iter().rposition(|turn| turn.speaker == Speaker::User);
    let mut sentences = read(turns, weights, goal.task, last_request);
    let whole: Vec<String> =
        turns.iter().map(|turn| format!("{}: {}", turn.speaker, turn.text)).collect();
    let order = order(&sentences);
    let texts: Vec<String> = (0..sentences.len())
        .map(|at| {
            let found: &Sentence = &sentences[at];
            one_line(&turns[found.turn].text[found.bytes.clone()])
        })
        .collect();
    let gap = goal.count(&gap(1_000));
    let mut prices = Prices::new(sentences.len());
    let filled = {
        let mut pick = |budget: u32| {
            let mut opened = vec![false; turns.len()];
            let mut picked = Vec::new();
            let mut spent = goal.count(PREAMBLE).saturating_add(1);
            for &at in &order {
                let turn = sentences[at as usize].turn;
                let part = prices.of(at as usize, || {
                    price(&texts[at as usize], goal).saturating_add(1)
                });
                let opening = if opened[turn] { 0 } else { gap + 3 };
                let with = spent.saturating_add(part).saturating_add(opening);
                if with <= budget {
                    (spent, opened[turn]) = (with, true);
                    picked.push(at);
                }
            }
            picked
        };
        fill(sentences.len(), goal.tokens, goal, &mut pick, &|kept| {
            write(turns, &sentences, &texts, kept)
        })
    };
    for (sentence, kept) in sentences.iter_mut().zip(&filled.kept) {
        sentence.kept = *kept;
    }
    Summary {
        left_out: super::lines::count(&filled.kept, Unit::Sentences, &|at| {
            if acknowledges(&texts[at]) {
                Omission::Acknowledgement
            } else {
                Omission::LowRelevance
            }
        }),
        from: goal.count(&whole.join("\n")),
        to: filled.tokens,
        text: filled.text,
        sentences,
    }
}

/// A sentence cannot be taken for the start of a turn.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn gap(turns: usize) -> String {
    format!("{GAP} {turns} {} left out", Unit::Turns)
}

/// The order in which sentences are offered a place.
fn order(sentences: &[Sentence]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..sentences.len() as u32).collect();
    order.sort_by_key(|at| {
        let sentence = &sentences[*at as usize];
        (sentence.standing, Reverse(sentence.score), *at)
    });
    order
}

fn write(turns: &[Turn<'_>], sentences: &[Sentence], texts: &[String], kept: &[bool]) -> String {
    let mut text = PREAMBLE.to_owned();
    let mut next = 0;
    let mut at = 0;
    while at < sentences.len() {
        let turn = sentences[at].turn;
        let end = at + sentences[at..].iter().take_while(|found| found.turn == turn).count();
        if kept[at..end].contains(&true) {
            if next < turn {
                text.push_str(&format!("\n{}", gap(turn - next)));
            }
            next = turn + 1;
            text.push_str(&format!("\n{}:", turns[turn].speaker));
            let mut gone = false;
            for part in at..end {
                if kept[part] {
                    text.push(' ');
                    text.push_str(&texts[part]);
                } else if !gone {
                    text.push(' ');
                    text.push(GAP);
                }
                gone = !kept[part];
            }
        }
        at = end;
    }
    if next < turns.len() {
        text.push_str(&format!("\n{}", gap(turns.len() - next)));
    }
    text
}

/// The words of a text that somebody may have said: without those that are data by their length, in which nothing is to
/// be found.
fn sayable(text: &str) -> Cow<'_, str> {
    let is_word = |word: &&str| word.len() <= LONGEST_WORD;
    if text.len() <= LONGEST_WORD || text.split_whitespace().all(|word| is_word(&word)) {
        return Cow::Borrowed(text);
    }
    let words: Vec<&str> = text.split_whitespace().filter(is_word).collect();
    Cow::Owned(words.join(" "))
}

/// The sentences with their factors. Those of the turn `last_request` stay for that alone.
pub(crate) fn read(
    turns: &[Turn<'_>],
    weights: &Weights,
    task: &str,
    last_request: Option<usize>,
) -> Vec<Sentence> {
    let mut found: Vec<Sentence> = Vec::new();
    for (at, turn) in turns.iter().enumerate() {
        let age = (turns.len() - 1 - at) as f64;
        let recency = Score::clamped(exp(-weights.decay * age));
        // What follows a correction in its turn says what is right.
        let mut corrected = false;
        for (first, (place, _)) in statements(turn.text).into_iter().enumerate() {
            let text = &turn.text[place.clone()];
            let sayable = sayable(text);
            let lower = format!(" {} ", sayable.to_lowercase().replace('’', "'"));
            let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
            let starts = |words: &[&str]| words.iter().any(|word| lower[1..].starts_with(word));
            let answers = first == 0 && at > 0 && turns[at - 1].speaker == Speaker::Assistant;
            let is_user = turn.speaker == Speaker::User;
            let is_tool = turn.speaker == Speaker::Tool;
            // Whose words may bind: a tool or the model says how things are.
            let rules = matches!(turn.speaker, Speaker::User | Speaker::System);
            let corrects = is_user && (says(&CORRECTS) || (answers && starts(&OBJECTS)));
            let accepts = is_user && answers && starts(&ACCEPTS);
            let asks = text.ends_with('?');
            let follows = std::mem::replace(&mut corrected, corrects);
            let correction = corrects || follows;
            let decision = !is_tool && !asks && (says(&DECIDES) || accepts);
            if accepts && let Some(asked) = found.last_mut() {
                // A choice says little without what it was made from.
                asked.standing = asked.standing.min(Standing::Decision);
                asked.factors.decision = true;
                asked.score = asked.factors.score(weights);
            }
            let factors = Factors {
                density: Score::clamped(density(&sayable)),
                relevance: Score::ZERO,
                recency,
                decision,
                correction,
            };
            let standing = match () {
                () if last_request == Some(at) => Standing::LastRequest,
                () if correction => Standing::Correction,
                () if decision => Standing::Decision,
                () if rules && !asks && demands(&sayable, &lower) => Standing::Constraint,
                () => Standing::Scored,
            };
            found.push(Sentence {
                turn: at,
                bytes: place,
                standing,
                factors,
                score: 0,
                kept: false,
            });
        }
    }
    relate(turns, &mut found, task);
    for sentence in &mut found {
        sentence.score = sentence.factors.score(weights);
    }
    found
}

/// Beginnings of short words that only ask for what comes next.
#[rustfmt::skip]
const GOES_ON: [&str; 14] = [
    "and now", "carry on", "continue", "go ahead", "go on", "good", "great", "keep going", "next", "ok", "okay",
    "please continue", "please go on", "proceed",
];
/// Longer words ask for something besides, in bytes.
const FILLER: usize = 48;

/// Returns whether words only acknowledge or ask to go on, so that they answer no question.
///
/// ```
/// use tenure::condense::turns::is_filler;
/// assert!(is_filler("Go on with the next part.") && is_filler("ok") && is_filler("Thanks!"));
/// assert!(!is_filler("Write it in Danish.") && !is_filler("Good Hope is the name of the ship that sank in 1852."));
/// ```
pub fn is_filler(text: &str) -> bool {
    let text = text.trim();
    let lower = text.to_lowercase();
    text.len() <= FILLER
        && (GOES_ON.iter().any(|words| {
            let rest = lower.strip_prefix(*words);
            rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        }) || acknowledges(text))
}

/// The sentences of a turn of the user in which the user corrects what was said before.
///
/// ```
/// use tenure::condense::turns::corrections;
/// let said = "Thanks. No, that port is wrong. Use 8443.";
/// assert_eq!(corrections(said), ["No, that port is wrong.", "Use 8443."]);
/// ```
pub fn corrections(text: &str) -> Vec<&str> {
    // Most turns correct nothing, and finding that out need not read them.
    let lower = sayable(text).to_lowercase().replace('’', "'");
    if !CORRECTS.iter().any(|words| lower.contains(words.trim())) {
        return Vec::new();
    }
    read_corrections(text)
}

fn read_corrections(text: &str) -> Vec<&str> {
    let speaker = Speaker::User;
    read(&[Turn { speaker, text }], &Weights::default(), "", None)
        .into_iter()
        .filter(|sentence| sentence.standing == Standing::Correction)
        .map(|sentence| &text[sentence.bytes])
        .collect()
}

/// Finds the likeness of each sentence to the task.
fn relate(turns: &[Turn<'_>], sentences: &mut [Sentence], task: &str) {
    let terms = |text: &str| {
        let mut terms: Vec<String> = Vec::new();
        each_term(text, |term| {
            if EMPTY.binary_search(&term).is_err() {
                terms.push(term.to_owned());
            }
        });
        terms.sort_unstable();
        terms.dedup();
        terms
    };
    let task = terms(task);
    let mut holders: Map<String, usize> = Map::default();
    let said: Vec<Vec<String>> = sentences
        .iter()
        .map(|sentence| terms(&sayable(&turns[sentence.turn].text[sentence.bytes.clone()])))
        .collect();
    for term in said.iter().flatten() {
        match holders.get_mut(term) {
            Some(count) => *count += 1,
            None => {
                holders.insert(term.clone(), 1);
            }
        }
    }
    let weight = |term: &String| {
        let weight = rarity(sentences.len(), holders.get(term).copied().unwrap_or(0));
        weight * weight
    };
    let length = |terms: &[String]| terms.iter().map(weight).sum::<f64>().sqrt();
    let of_task = length(&task);
    let relevances: Vec<Score> = said
        .iter()
        .map(|terms| {
            let both = terms.iter().filter(|term| task.binary_search(term).is_ok());
            let shared: f64 = both.map(weight).sum();
            // Nothing over nothing counts as 0.
            Score::clamped(shared / (of_task * length(terms)))
        })
        .collect();
    for (sentence, relevance) in sentences.iter_mut().zip(relevances) {
        sentence.factors.relevance = relevance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_data_hides_no_words_beside_it() {
        let data = "nothing-is-wrong-never-".repeat(2_000);
        let said = format!("No, that port is wrong. Use 8443 {data} from now on.");
        assert_eq!(corrections(&said).len(), 2);
        assert_eq!(corrections(&data), Vec::<&str>::new());
        assert_eq!(
            sayable(&said),
            "No, that port is wrong. Use 8443 from now on."
        );
        assert_eq!(sayable(&said[..40]), &said[..40]);
    }
    use proptest::prelude::*;

    fn goal<'g>(tokens: u32, task: &'g str) -> Goal<'g> {
        Goal {
            tokens,
            task,
            count: &|text| text.len().div_ceil(4),
            lossless_only: false,
        }
    }

    fn conversation() -> Vec<Turn<'static>> {
        let turn = |speaker, text| Turn { speaker, text };
        let mut turns = vec![
            turn(
                Speaker::User,
                "I need a store for orders. It must never lose one.",
            ),
            turn(Speaker::Assistant, "Shall we use PostgreSQL or files?"),
            turn(Speaker::User, "Yes, the first one."),
        ];
        for _ in 0..20 {
            turns.push(turn(
                Speaker::Assistant,
                "Sure, let me look. It went on for a while with that.",
            ));
            turns.push(turn(
                Speaker::Tool,
                "row 1 of 9 was read and so was the rest of it",
            ));
        }
        turns.push(turn(
            Speaker::User,
            "No, that's wrong. The port is 5433. Thanks.",
        ));
        turns.push(turn(
            Speaker::Assistant,
            "It is set. Backups of orders run at night.",
        ));
        turns.push(turn(Speaker::User, "What next?"));
        turns
    }

    #[test]
    fn what_matters_survives_before_anything_else() {
        let summary = summarize(
            &conversation(),
            &Weights::default(),
            &goal(110, "backups of orders"),
        );
        let places: Vec<usize> = [
            "It must never lose one.",
            "assistant: Shall we use PostgreSQL or files?",
            "user: Yes, the first one.",
            "No, that's wrong. The port is 5433.",
            "Backups of orders run at night.",
            "user: What next?",
        ]
        .iter()
        .map(|part| summary.text.find(part).unwrap_or_else(|| panic!("{part} {}", summary.text)))
        .collect();
        assert!(places.is_sorted());
        assert_eq!(summary.sacrificed(), 0);
        assert!(summary.text.contains("turns left out"));
        assert!(summary.to <= 110);
        let last = summarize(&conversation(), &Weights::default(), &goal(24, ""));
        assert!(
            last.text.ends_with("user: What next?") && last.sacrificed() > 0,
            "{}",
            last.text
        );
    }

    #[test]
    fn messages_of_both_kinds_are_read() {
        let openai = r#"{"messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "function": {"name": "look", "arguments": "{\"at\": 3}"}}]},
            {"role": "tool", "tool_call_id": "a", "content": "Nothing there."}]}"#;
        let turns = messages(openai).unwrap();
        assert_eq!(turns[1], (Speaker::Assistant, "look {\"at\": 3}".into()));
        let anthropic = r#"{"role": "assistant", "content": [{"type": "text", "text": "One moment."}, {"type": "tool_use", "id": "a", "name": "look", "input": {"at": 3}}]}
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "Nothing there."}]}]}"#;
        let turns_here = messages(anthropic).unwrap();
        assert_eq!(turns_here[0].1, "One moment.\nlook {\"at\":3}");
        assert_eq!(turns_here[1], turns[2]);
        for other in [
            "",
            "[]",
            "text",
            r#"[{"role": "king", "content": "x"}]"#,
            r#"[{"content": "x"}]"#,
        ] {
            assert!(messages(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_constraint_is_what_a_person_demands() {
        let standing = |speaker, text| {
            let found = read(&[Turn { speaker, text }], &Weights::default(), "", None);
            found[0].standing
        };
        for text in [
            "It must never lose an order.",
            "Never restart the ledger without asking me.",
            "- Always run the tests first.",
            "You may only read files below src.",
            "Please never push to main.",
            "Count the rows, and never print them.",
            "Keep it under 3 MB, and avoid new packages.",
            "The reply has to be JSON.",
            "Use at most 3 threads.",
        ] {
            assert_eq!(
                standing(Speaker::User, text),
                Standing::Constraint,
                "{text}"
            );
            assert_eq!(
                standing(Speaker::System, text),
                Standing::Constraint,
                "{text}"
            );
            for other in [Speaker::Tool, Speaker::Assistant] {
                assert_ne!(standing(other, text), Standing::Constraint, "{text}");
            }
        }
        for text in [
            "He had never seen the sea.",
            "She must have slept in the only room.",
            "He had never seen the sea, and only the lamp knew it.",
            "The text: he had never seen the sea, and only the lamp knew it.",
            "I do not know him, at least by name.",
            "They walked without a word to the limit of the town.",
            "\"You must go,\" said the keeper.",
            "2026-06-06T12:00:07Z WARN you must never restart it by hand",
            "let limit = must_never(only);",
            "The lamp never went out, and the keeper always slept.",
        ] {
            assert_eq!(standing(Speaker::User, text), Standing::Scored, "{text}");
        }
    }

    #[test]
    fn relevance_is_the_likeness_to_the_task() {
        let turns = [Turn {
            speaker: Speaker::Assistant,
            text: "Valve 17 leaks. The boiler is fine.",
        }];
        let found = read(&turns, &Weights::default(), "valve 17 leaks", None);
        assert_eq!(found[0].factors.relevance, Score::ONE);
        assert_eq!(found[1].factors.relevance, Score::ZERO);
    }

    proptest! {
        #[test]
        fn a_turn_that_is_not_read_corrects_nothing(
            parts in proptest::collection::vec(
                prop_oneof![
                    proptest::sample::select(CORRECTS.to_vec()).prop_map(str::to_owned),
                    proptest::sample::select(CORRECTS.to_vec()).prop_map(|words| words.trim().to_uppercase()),
                    "[A-Za-z.’\n ]{0,20}",
                ],
                0..4,
            ),
        ) {
            let text = parts.concat();
            prop_assert_eq!(corrections(&text), read_corrections(&text));
        }

        #[test]
        fn never_more_than_the_budget(
            texts in proptest::collection::vec("[A-Za-z0-9 .?!,\\n…]{0,60}", 0..12),
            tokens in 0u32..120,
            first in 0usize..4,
        ) {
            let turns: Vec<Turn<'_>> = texts
                .iter()
                .enumerate()
                .map(|(at, text)| Turn { speaker: Speaker::ALL[(at + first) % 4], text })
                .collect();
            let goal = goal(tokens, "a b 1");
            let summary = summarize(&turns, &Weights::default(), &goal);
            prop_assert!(summary.to <= tokens);
            prop_assert_eq!(summary.to, goal.count(&summary.text));
            let kept: Vec<_> = summary.sentences.iter().filter(|found| found.kept).collect();
            prop_assert!(kept.iter().all(|found| summary.text.contains(&one_line(&turns[found.turn].text[found.bytes.clone()]))));
            prop_assert!(kept.is_sorted_by_key(|found| (found.turn, found.bytes.start)));
            prop_assert_eq!(&summary, &summarize(&turns, &Weights::default(), &goal));
        }
    }
}
