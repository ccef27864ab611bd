//! The share of a text that can still be found after a condensation: the share of its numbers, names, negations,
//! identifiers and claims, and of what says nothing in words. A measure of the surface, the same every time; it asks
//! no model. What it knows of words is English.

use std::collections::BTreeSet;

use rust_stemmers::{Algorithm, Stemmer};

use super::clauses::statements;
use super::signal::EMPTY;
use super::{GAP, Map};
use crate::base::num::Score;

/// The number of different ones in the original, and of those still there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Share {
    /// In the original.
    pub of: u32,
    /// Of these, in the condensed text.
    pub kept: u32,
}

impl Share {
    /// The share; one where there was nothing to keep.
    pub fn score(self) -> Score {
        match self.of {
            0 => Score::ONE,
            of => Score::clamped(f64::from(self.kept) / f64::from(of)),
        }
    }

    fn of(original: &BTreeSet<u32>, condensed: &BTreeSet<u32>) -> Share {
        Share {
            of: original.len() as u32,
            kept: original.intersection(condensed).count() as u32,
        }
    }
}

/// The parts of a text that can still be found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fidelity {
    /// Numbers, each with its sign, its fraction and its unit.
    pub numbers: Share,
    /// Capitalised words that do not start a sentence.
    pub names: Share,
    /// Words that negate, each with what it negates.
    pub negations: Share,
    /// Words with digits, underscores or capitals inside.
    pub identifiers: Share,
    /// Sentences, or clauses that stand on their own: most of the words of one are in one
    /// of the condensed text, with all its numbers at the words that they belong to, its
    /// names in their order, and nothing negated or turned into its opposite that was not.
    pub claims: Share,
    /// Words that stand alone, as the items of a list do, and sentences of scripts that part no words: nothing is claimed of
    /// them, and they can be left out all the same.
    pub alone: Share,
    /// Marks, such as brackets, beyond those that go with words: sixteen count as one.
    pub marks: Share,
    /// Numbers and negations that the original does not have.
    pub foreign: u32,
}

impl Fidelity {
    /// The share of all of them together. What is foreign counts as something else lost; a claim
    /// counts twice, since it says what the others are said of.
    pub fn score(&self) -> Score {
        let shares = [self.numbers, self.names, self.negations, self.identifiers];
        let twice = [self.claims, self.claims];
        let all = shares.iter().chain(&twice).chain([&self.alone, &self.marks]);
        let (of, kept) = all.fold((self.foreign, 0u32), |(of, kept), share| {
            (of.saturating_add(share.of), kept.saturating_add(share.kept))
        });
        Share { of, kept }.score()
    }
}

/// Returns the share of `original` that is in `condensed`.
///
/// A lossless form that splits words (folded lines, say) is expanded first:
/// [`Condensed::expand`](super::Condensed::expand). Of records that stand in a table, the keys
/// are looked for in its head.
///
/// ```
/// use tenure::condense::fidelity::fidelity;
/// let found = fidelity("Valve X12 must not exceed 3.5 bar, says Ada.", "Valve X12: 3.5 bar");
/// assert_eq!((found.numbers.kept, found.identifiers.kept, found.negations.kept), (1, 1, 0));
/// assert_eq!(found.names.score().to_string(), "0");
/// let altered = fidelity("The limit is 3 MB.", "The limit is 4 MB.");
/// assert_eq!((altered.numbers.kept, altered.claims.kept, altered.foreign), (0, 0, 1));
/// ```
pub fn fidelity(original: &str, condensed: &str) -> Fidelity {
    Original::read(original).compare(condensed)
}

/// The number of marks that go with a word.
const MARKS_OF_WORD: usize = 8;
/// The number of marks beyond these that count as one.
const MARKS_AT_ONCE: usize = 16;

/// Returns the number of a text's marks beyond those that go with its words.
fn marks(text: &str) -> u32 {
    let (mut marks, mut words, mut in_word) = (0usize, 0usize, false);
    for c in text.chars() {
        let is_word = c.is_alphanumeric();
        words += usize::from(is_word && !in_word);
        marks += usize::from(!is_word && !c.is_whitespace());
        in_word = is_word;
    }
    let beyond = marks.saturating_sub(words * MARKS_OF_WORD) / MARKS_AT_ONCE;
    u32::try_from(beyond).unwrap_or(u32::MAX)
}

/// A text read once, to be compared with several.
pub(super) struct Original<'t> {
    known: Known,
    said: Contents,
    text: &'t str,
}

impl<'t> Original<'t> {
    pub(super) fn read(text: &'t str) -> Original<'t> {
        let mut known = Known::new();
        let said = Contents::read(text, &mut known, false);
        Original { known, said, text }
    }

    pub(super) fn compare(&mut self, condensed: &str) -> Fidelity {
        let mut before = &self.said;
        let stored;
        // What the condensation wrote into gaps is not of the text.
        let after = Contents::read(condensed, &mut self.known, true);
        if condensed == self.text {
            stored = Contents::read(self.text, &mut self.known, true);
            before = &stored;
        }
        let windows = Windows::new(&after, before);
        let claims = distinct(before);
        let shared = shared(&claims);
        let kept = claims.iter().filter(|claim| windows.hold(claim, &shared, &self.known)).count();
        let negated = |from: &Contents, to: &Contents| {
            let lost = |stem: &&u32| !to.scopes.contains(stem);
            from.negations.iter().filter(lost).count() as u32
        };
        let numbers = after.numbers.difference(&before.numbers).count() as u32;
        Fidelity {
            numbers: Share::of(&before.numbers, &after.numbers),
            names: Share::of(&before.names, &after.words),
            negations: Share {
                of: before.negations.len() as u32,
                kept: before.negations.len() as u32 - negated(before, &after),
            },
            identifiers: Share::of(&before.identifiers, &after.identifiers),
            claims: Share {
                of: claims.len() as u32,
                kept: kept as u32,
            },
            alone: Share::of(&alone(before), &after.words),
            marks: {
                let (of, kept) = (marks(self.text), marks(condensed));
                Share {
                    of,
                    kept: kept.min(of),
                }
            },
            foreign: numbers + negated(&after, before),
        }
    }
}

/// The sort of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Number,
    Identifier,
    Name,
    /// A capitalised word that starts a sentence.
    Opener,
    Plain,
    /// A word that negates what comes after it.
    Negator,
    /// The word before who acts, in a passive clause.
    By,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Token {
    id: u32,
    sort: Sort,
}

impl Token {
    /// Returns whether nothing else can stand for it.
    fn is_exact(&self) -> bool {
        matches!(self.sort, Sort::Number | Sort::Identifier)
    }

    /// Returns whether it says something by itself.
    fn tells(&self) -> bool {
        !matches!(self.sort, Sort::Negator | Sort::By)
    }
}

/// Words that came up, with a number for each.
struct Known {
    ids: Map<Box<str>, u32>,
    meanings: Map<Box<str>, Meaning>,
    opposites: Map<u32, Vec<u32>>,
    stemmer: Stemmer,
}

/// The meaning of a word by itself.
#[derive(Clone, Copy)]
enum Meaning {
    /// It says something, by the number of its stem.
    Word(u32),
    /// A small number, in digits.
    Count(&'static str),
    /// It negates, or says who acts.
    Mark(Sort),
    Nothing,
}

/// Words that turn a claim around when one stands for the other.
#[rustfmt::skip]
const OPPOSITES: [(&str, &str); 40] = [
    ("above", "below"), ("accept", "reject"), ("add", "remove"), ("after", "before"),
    ("allow", "deny"), ("allow", "forbid"), ("allow", "forbidden"), ("always", "sometimes"),
    ("approve", "reject"), ("ascending", "descending"), ("early", "late"), ("enable", "disable"),
    ("encrypt", "decrypt"), ("fail", "finish"), ("fail", "pass"), ("fail", "serve"),
    ("fail", "succeed"), ("first", "last"), ("gain", "lose"), ("high", "low"),
    ("include", "exclude"), ("increase", "decrease"), ("internal", "external"),
    ("larger", "smaller"), ("least", "most"), ("locked", "unlocked"), ("maximum", "minimum"),
    ("max", "min"), ("on", "off"), ("open", "close"), ("open", "shut"), ("optional", "required"),
    ("private", "public"), ("rise", "fall"), ("rose", "fell"), ("start", "stop"), ("true", "false"),
    ("up", "down"), ("valid", "invalid"), ("with", "without"),
];

/// Words that say nothing of which claims are made, besides those of every task.
const MODALS: [&str; 12] = [
    "being", "may", "might", "must", "shall", "take", "takes", "took", "were", "will", "would",
    "your",
];

/// Units that have several names.
#[rustfmt::skip]
const UNITS: [(&str, &str); 30] = [
    ("%", "%"), ("d", "d"), ("day", "d"), ("days", "d"), ("gb", "gb"), ("gib", "gib"), ("h", "h"),
    ("hour", "h"), ("hours", "h"), ("hr", "h"), ("kb", "kb"), ("kib", "kib"), ("m", "m"),
    ("mb", "mb"), ("mib", "mib"), ("milliseconds", "ms"), ("min", "min"), ("minute", "min"),
    ("minutes", "min"), ("ms", "ms"), ("percent", "%"), ("s", "s"), ("sec", "s"), ("second", "s"),
    ("seconds", "s"), ("tb", "tb"), ("us", "us"), ("week", "week"), ("weeks", "week"),
    ("µs", "us"),
];

/// Small numbers as words.
#[rustfmt::skip]
const COUNTS: [(&str, &str); 11] = [
    ("eight", "8"), ("eleven", "11"), ("five", "5"), ("four", "4"), ("nine", "9"), ("seven", "7"),
    ("six", "6"), ("ten", "10"), ("three", "3"), ("twelve", "12"), ("two", "2"),
];

const NEGATIONS: [&str; 12] = [
    "cannot", "dont", "neither", "never", "no", "nobody", "none", "nor", "not", "nothing",
    "nowhere", "without",
];

/// The number of a word that says nothing by itself.
const SILENT: u32 = u32::MAX;

/// The number of words that a negation may be about.
const SCOPE: usize = 3;

fn looked_up(pairs: &[(&str, &'static str)], word: &str) -> Option<&'static str> {
    let at = pairs.binary_search_by(|(from, _)| (*from).cmp(word)).ok()?;
    Some(pairs[at].1)
}

impl Known {
    fn new() -> Known {
        let mut known = Known {
            ids: Map::default(),
            meanings: Map::default(),
            opposites: Map::default(),
            stemmer: Stemmer::create(Algorithm::English),
        };
        for (a, b) in OPPOSITES {
            let (a, b) = (known.stem(a), known.stem(b));
            known.opposites.entry(a).or_default().push(b);
            known.opposites.entry(b).or_default().push(a);
        }
        known
    }

    /// The id of a word without the ending that its place in a sentence gives it.
    fn stem(&mut self, word: &str) -> u32 {
        // The stemmer takes the square of a word's length: of 10 MB, two minutes.
        if word.len() > 64 {
            return self.id(word);
        }
        self.id(&self.stemmer.stem(word))
    }

    fn id(&mut self, word: &str) -> u32 {
        if let Some(id) = self.ids.get(word) {
            return *id;
        }
        let id = self.ids.len() as u32;
        self.ids.insert(word.into(), id);
        id
    }
}

/// The contents of a text.
#[derive(Default)]
struct Contents {
    tokens: Vec<Token>,
    /// The range of each clause in the tokens.
    clauses: Vec<(usize, usize)>,
    numbers: BTreeSet<u32>,
    names: BTreeSet<u32>,
    words: BTreeSet<u32>,
    identifiers: BTreeSet<u32>,
    /// The first word of what each negation is about.
    negations: BTreeSet<u32>,
    /// All of them.
    scopes: BTreeSet<u32>,
    /// The words of the heads of tables.
    heads: BTreeSet<u32>,
}

impl Contents {
    fn read(text: &str, known: &mut Known, is_condensed: bool) -> Contents {
        let mut said = Contents::default();
        let mut is_head = false;
        for (sentence, clauses) in statements(text) {
            let line = &text[sentence.clone()];
            if is_condensed && line.starts_with('@') && line.contains(" rows") {
                is_head = true;
                continue;
            }
            let from = said.tokens.len();
            let mut opens = true;
            let body = sentence.start + numbered(line);
            for clause in clauses {
                let start = said.tokens.len();
                let clause = &text[clause.start.max(body).min(clause.end)..clause.end];
                said.read_clause(clause, known, is_condensed, &mut opens);
                said.clauses.push((start, said.tokens.len()));
            }
            if is_head {
                said.heads.extend(said.tokens[from..].iter().map(|token| token.id));
            }
            is_head = false;
        }
        said.sort();
        said.negate();
        said
    }

    fn read_clause(&mut self, text: &str, known: &mut Known, is_condensed: bool, opens: &mut bool) {
        let mut lower = String::new();
        let mut last = String::new();
        let mut end = 0;
        for (start, word) in words(text) {
            let between = &text[end..start];
            end = start + word.len();
            *opens |= between.contains(['.', '!', '?', '\n', ':', '"', '。']);
            if is_condensed && between.trim_end().ends_with([GAP, '@']) && is_number(word) {
                continue;
            }
            lower.clear();
            lower.extend(word.chars().flat_map(char::to_lowercase));
            let opened = std::mem::replace(opens, false);
            let meaning = if is_number(word) {
                Meaning::Nothing
            } else {
                known.meaning(&lower)
            };
            if let Meaning::Mark(sort) = meaning {
                self.tokens.push(Token { id: SILENT, sort });
                continue;
            }
            let count = match meaning {
                Meaning::Count(digits) => Some(digits),
                _ => None,
            };
            if count.is_some() || is_number(word) {
                let signed = between.ends_with('-')
                    && !between[..between.len() - 1].ends_with(|c: char| !" =:([".contains(c))
                    && (between.len() > 1 || start == 1);
                let mut number = String::from(if signed { "-" } else { "" });
                number.extend(count.unwrap_or(word).chars().filter(|c| *c != ','));
                let id = known.id(&number);
                self.push(id, Sort::Number);
                last = number;
                continue;
            }
            if let Some(unit) = looked_up(&UNITS, &lower)
                && !last.is_empty()
                && matches!(between, "" | " ")
            {
                // The unit is part of the number.
                self.tokens.pop();
                last.push_str(unit);
                let id = known.id(&last);
                self.push(id, Sort::Number);
                last.clear();
                continue;
            }
            last.clear();
            if let Some((number, unit)) = split_unit(&lower) {
                let id = known.id(&format!("{number}{unit}"));
                self.push(id, Sort::Number);
                continue;
            }
            let mut chars = word.chars();
            let first = chars.next();
            let upper = chars.any(char::is_uppercase);
            let digit = word.contains(|c: char| c.is_ascii_digit());
            if digit || word.contains('_') || upper {
                let id = known.id(&lower);
                self.push(id, Sort::Identifier);
            } else if let Meaning::Word(id) = meaning {
                let sort = match first.is_some_and(char::is_uppercase) {
                    true if opened => Sort::Opener,
                    true => Sort::Name,
                    false => Sort::Plain,
                };
                self.push(id, sort);
            }
        }
    }

    fn push(&mut self, id: u32, sort: Sort) {
        self.tokens.push(Token { id, sort });
    }

    /// Sorts the words.
    fn sort(&mut self) {
        for &Token { id, sort } in &self.tokens {
            match sort {
                Sort::Number => self.numbers.insert(id),
                Sort::Identifier => self.identifiers.insert(id),
                Sort::Name => self.names.insert(id),
                Sort::Opener | Sort::Plain | Sort::Negator | Sort::By => false,
            };
            self.words.insert(id);
        }
    }

    /// Finds what is negated.
    fn negate(&mut self) {
        for &(from, to) in &self.clauses {
            let tokens = &self.tokens[from..to];
            for (at, token) in tokens.iter().enumerate() {
                if token.sort == Sort::Negator {
                    let mut about = scope(tokens, at).map(|token| token.id);
                    let first = about.next().unwrap_or(SILENT);
                    self.negations.insert(first);
                    self.scopes.insert(first);
                    self.scopes.extend(about);
                }
            }
        }
    }
}

impl Known {
    /// Each different word is looked up in the lists once.
    fn meaning(&mut self, lower: &str) -> Meaning {
        if let Some(meaning) = self.meanings.get(lower) {
            return *meaning;
        }
        let meaning = if negates(lower) {
            Meaning::Mark(Sort::Negator)
        } else if lower == "by" {
            Meaning::Mark(Sort::By)
        } else if let Some(digits) = looked_up(&COUNTS, lower) {
            Meaning::Count(digits)
        } else {
            let id = self.stem(lower);
            if says_nothing(lower) && !self.opposites.contains_key(&id) {
                Meaning::Nothing
            } else {
                Meaning::Word(id)
            }
        };
        self.meanings.insert(lower.into(), meaning);
        meaning
    }
}

/// Returns the words that the negation at this place is about: the words after it, or the one before it where it ends
/// the clause ("paper is not").
fn scope(tokens: &[Token], at: usize) -> impl Iterator<Item = &Token> {
    let tells = |token: &&Token| token.tells();
    let before = if tokens[at + 1..].iter().any(|token| token.tells()) {
        None
    } else {
        tokens[..at].iter().rev().find(tells)
    };
    tokens[at + 1..].iter().filter(tells).take(SCOPE).chain(before)
}

/// Returns whether a word, in small letters, denies something. English only.
pub(crate) fn negates(lower: &str) -> bool {
    NEGATIONS.binary_search(&lower).is_ok() || lower.ends_with("n't") || lower.ends_with("n’t")
}

fn says_nothing(lower: &str) -> bool {
    EMPTY.binary_search(&lower).is_ok() || MODALS.binary_search(&lower).is_ok()
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b',')
}

/// Returns the length of the number that an item of a list starts with: it is decoration.
fn numbered(line: &str) -> usize {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_item = (1..=3).contains(&digits) && line[digits..].starts_with([')', '.']);
    if is_item && line[digits + 1..].starts_with(' ') {
        digits + 2
    } else {
        0
    }
}

/// A number that its unit is written to.
fn split_unit(lower: &str) -> Option<(&str, &str)> {
    let at = lower.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = lower.split_at(at);
    Some((
        (!number.is_empty()).then_some(number)?,
        looked_up(&UNITS, unit)?,
    ))
}

/// The claims of a text, each once.
fn distinct(said: &Contents) -> Vec<&[Token]> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for &(from, to) in &said.clauses {
        let claim = &said.tokens[from..to];
        let telling = claim.iter().any(|token| token.tells());
        let key: Vec<u32> = claim.iter().map(|token| token.id).collect();
        // "Nothing was lost" is one, with one word that says something.
        let words = claim.iter().filter(|token| token.sort != Sort::By).count();
        if telling && words > 1 && seen.insert(key) {
            found.push(claim);
        }
    }
    found
}

/// The words of clauses that have no other.
fn alone(said: &Contents) -> BTreeSet<u32> {
    let clauses = said.clauses.iter().map(|&(from, to)| &said.tokens[from..to]);
    clauses
        .filter_map(|clause| match clause {
            [word] if word.sort == Sort::Plain || word.sort == Sort::Opener => Some(word.id),
            _ => None,
        })
        .collect()
}

/// The words that more than one of the claims have; all, where only one is made.
fn shared(claims: &[&[Token]]) -> BTreeSet<u32> {
    let mut once = BTreeSet::new();
    let mut shared = BTreeSet::new();
    for claim in claims {
        let ids: BTreeSet<u32> = claim.iter().map(|token| token.id).collect();
        for id in ids {
            if !once.insert(id) || claims.len() == 1 {
                shared.insert(id);
            }
        }
    }
    shared
}

/// Of the words of a claim so much has to be found, in hundredths.
const ENOUGH: u32 = 65;
/// The weight of a word that only one claim of several has: it tells them apart.
const OWN: u32 = 3;
/// So many words of a claim, the rarest, are looked up.
const RAREST: usize = 3;
/// The number of clauses in which a word is looked up: the first that hold it.
const HOLDERS: usize = 32;

/// The clauses of a condensed text by their words.
struct Windows<'s> {
    said: &'s Contents,
    holders: Map<u32, Vec<u32>>,
    /// The words that are a name in either text.
    names: BTreeSet<u32>,
}

impl<'s> Windows<'s> {
    fn new(said: &'s Contents, before: &Contents) -> Windows<'s> {
        let mut holders: Map<u32, Vec<u32>> = Map::default();
        for (at, &(from, to)) in said.clauses.iter().enumerate() {
            for token in &said.tokens[from..to] {
                let list = holders.entry(token.id).or_default();
                if list.last() != Some(&(at as u32)) {
                    list.push(at as u32);
                }
            }
        }
        Windows {
            said,
            holders,
            names: said.names.union(&before.names).copied().collect(),
        }
    }

    /// Returns whether some clause says what the claim says.
    fn hold(&self, claim: &[Token], shared: &BTreeSet<u32>, known: &Known) -> bool {
        // Whatever says the same has all its numbers and identifiers: looking at those that have the
        // rarest is enough.
        let exact = |token: &&Token| token.is_exact() && !self.said.heads.contains(&token.id);
        let exact = claim.iter().filter(exact).map(|token| self.holders.get(&token.id));
        let mut lists: Vec<&Vec<u32>> = match exact.collect::<Option<Vec<_>>>() {
            None => return false,
            Some(lists) if lists.is_empty() => claim
                .iter()
                .filter(|token| token.tells())
                .filter_map(|token| self.holders.get(&token.id))
                .collect(),
            Some(lists) => lists.into_iter().min_by_key(|list| list.len()).into_iter().collect(),
        };
        lists.sort_by_key(|list| list.len());
        lists.truncate(RAREST);
        let mut tried: Vec<u32> =
            lists.iter().flat_map(|list| list.iter().take(HOLDERS).copied()).collect();
        tried.sort_unstable();
        tried.dedup();
        tried.iter().any(|at| {
            let (from, to) = self.said.clauses[*at as usize];
            self.says(&self.said.tokens[from..to], claim, shared, known)
        })
    }

    fn says(
        &self,
        window: &[Token],
        claim: &[Token],
        shared: &BTreeSet<u32>,
        known: &Known,
    ) -> bool {
        let holds = |id: u32| window.iter().any(|token| token.id == id);
        let (mut all, mut found) = (0, 0);
        for token in claim.iter().filter(|token| token.tells()) {
            let exact = token.is_exact();
            let own = exact || !shared.contains(&token.id);
            let weight = if own { OWN } else { 1 };
            let turned = || known.opposites.get(&token.id);
            all += weight;
            if holds(token.id) || self.said.heads.contains(&token.id) {
                found += weight;
            } else if exact || turned().is_some_and(|ids| ids.iter().any(|id| holds(*id))) {
                return false;
            }
        }
        found * 100 >= all * ENOUGH
            && negated_alike(claim, window)
            && bound_alike(claim, window)
            && ordered_alike(claim, window)
            && !self.renamed(claim, window)
    }
}

impl Windows<'_> {
    /// Returns whether another name stands in the place of one.
    fn renamed(&self, claim: &[Token], window: &[Token]) -> bool {
        let lacks = |these: &[Token], those: &[Token]| {
            these.iter().any(|token| {
                self.names.contains(&token.id) && those.iter().all(|other| other.id != token.id)
            })
        };
        lacks(claim, window) && lacks(window, claim)
    }
}

/// Returns whether what one of them negates, of what both say, the other negates, too.
fn negated_alike(claim: &[Token], window: &[Token]) -> bool {
    let negations = |tokens: &[Token]| -> Vec<Vec<u32>> {
        let at = (0..tokens.len()).filter(|at| tokens[*at].sort == Sort::Negator);
        at.map(|at| scope(tokens, at).map(|token| token.id).collect()).collect()
    };
    let (ours, theirs) = (negations(claim), negations(window));
    let said = |id: &u32| claim.iter().any(|token| token.id == *id);
    let meets = |scope: &[u32], others: &[Vec<u32>]| {
        let shares = |other: &Vec<u32>| other.iter().any(|id| scope.contains(id));
        scope.is_empty() || others.iter().any(shares)
    };
    ours.iter().all(|scope| meets(scope, &theirs))
        && theirs
            .iter()
            .filter(|scope| scope.first().is_some_and(said))
            .all(|scope| meets(scope, &ours))
}

/// Returns whether each number stands at the word that it stood at, where that is still there. A number belongs to
/// the word before it ("limit: 3"), but to the one after it where the clause starts with a number ("3 retries and 5
/// attempts").
fn bound_alike(claim: &[Token], window: &[Token]) -> bool {
    let numbered = |token: &&Token| token.sort == Sort::Number;
    let opens = |tokens: &[Token]| {
        let first = tokens.iter().find(|token| token.tells());
        first.is_some_and(|token| numbered(&token))
    };
    let word = |token: &&Token| token.tells() && token.sort != Sort::Number;
    let (ours_open, theirs_open) = (opens(claim), opens(window));
    claim.iter().enumerate().all(|(at, number)| {
        let slot = if ours_open {
            claim[at + 1..].iter().take_while(|token| !numbered(token)).find(word)
        } else {
            claim[..at].iter().rev().find(|token| token.tells()).filter(word)
        };
        let Some(slot) = slot.filter(|_| numbered(&number)) else {
            return true;
        };
        let is_slot = |token: &Token| token.id == slot.id;
        if !window.iter().any(is_slot) {
            return true;
        }
        let mut places = (0..window.len()).filter(|at| window[*at].id == number.id);
        places.any(|at| {
            let reach = |token: &&Token| token.sort != Sort::Number;
            let before = window[..at].iter().rev().take_while(reach).take(SCOPE);
            let mut after = window[at + 1..].iter().take_while(reach).take(SCOPE);
            after.any(is_slot) || (!theirs_open && before.into_iter().any(is_slot))
        })
    })
}

/// Returns whether the names and identifiers that both have stand in the same order, or in the other where one says
/// "by".
fn ordered_alike(claim: &[Token], window: &[Token]) -> bool {
    let named = |token: &Token| matches!(token.sort, Sort::Name | Sort::Opener | Sort::Identifier);
    let places: Vec<usize> = claim
        .iter()
        .filter(|token| named(token))
        .filter_map(|token| {
            let same = |found: &Token| found.id == token.id && named(found);
            window.iter().position(same)
        })
        .collect();
    let passive = |tokens: &[Token]| tokens.iter().any(|token| token.sort == Sort::By);
    places.len() != 2 || places[0] <= places[1] || passive(claim) != passive(window)
}

/// The words of a text with their places: letters, digits and underscores, a point between digits,
/// a comma between groups of them, an apostrophe between letters, and a sign of percent.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let inner = |c: char| c.is_alphanumeric() || c == '_';
        let (start, first) = chars.by_ref().find(|(_, c)| inner(*c) || *c == '%')?;
        let (mut end, mut last) = (start + first.len_utf8(), first);
        while let Some(&(at, c)) = chars.peek() {
            let rest = &text[at + c.len_utf8()..];
            let after = rest.chars().next();
            let joins = match c {
                _ if first == '%' => false,
                '.' => last.is_ascii_digit() && after.is_some_and(|c| c.is_ascii_digit()),
                ',' => {
                    let digits = rest.bytes().take_while(u8::is_ascii_digit).take(4).count();
                    last.is_ascii_digit() && digits == 3 && is_number(&text[start..end])
                }
                '\'' | '’' => last.is_alphabetic() && after.is_some_and(char::is_alphabetic),
                c => inner(c),
            };
            if !joins {
                break;
            }
            (end, last) = (at + c.len_utf8(), c);
            chars.next();
        }
        Some((start, &text[start..end]))
    })
}

/// Reads what the parts of one text say that the measure looks for.
pub(super) struct Marks(Known);

impl Marks {
    pub(super) fn new() -> Marks {
        Marks(Known::new())
    }

    /// A number for each different number, name, negation and identifier of a part, in order.
    pub(super) fn of(&mut self, part: &str) -> Vec<u32> {
        let said = Contents::read(part, &mut self.0, false);
        let mut found: Vec<u32> = said.numbers.iter().chain(&said.names).copied().collect();
        found.extend(&said.identifiers);
        // What is negated is another mark than the word itself.
        found.extend(said.negations.iter().map(|id| id ^ NEGATED));
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Tells a negated word from the word.
const NEGATED: u32 = 1 << 31;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn score(original: &str, condensed: &str) -> Score {
        fidelity(original, condensed).score()
    }

    #[test]
    fn words_are_in_order() {
        assert!(
            UNITS.is_sorted() && COUNTS.is_sorted() && MODALS.is_sorted() && NEGATIONS.is_sorted()
        );
    }

    #[test]
    fn what_is_left_out_of_a_list_of_words_is_lost() {
        let list: String =
            ["alpha", "beta", "gamma", "delta"].map(|word| format!("- {word}\n")).concat();
        for (original, condensed, least) in [
            (list.as_str(), "- alpha\n", 0.25),
            (
                "水泵阀门电机。房子花园树木。窗户河流山林。",
                "水泵阀门电机。",
                0.34,
            ),
            (&"abcdefghij".repeat(50), "abc", 0.0),
        ] {
            let score = fidelity(original, condensed).score().to_f64();
            assert!(score <= least, "{score} {original}");
            assert_eq!(
                fidelity(original, original).score(),
                Score::ONE,
                "{original}"
            );
        }
    }

    #[test]
    fn what_has_no_words_is_covered_too() {
        let line = "[ { [ } ]\n";
        for text in [
            "[".repeat(200_000),
            line.repeat(20_000),
            "[".repeat(200_000) + " Ada says 3 bar.",
        ] {
            assert!(score(&text, "Ada says 3 bar.") < Score::from_millionths(10_000));
            assert_eq!(score(&text, &text), Score::ONE);
            let half = text.split_at(text.len() / 2).0.to_owned() + " Ada says 3 bar.";
            let half = score(&text, &half).to_f64();
            assert!((0.45..0.55).contains(&half), "{half}");
        }
        // Marks that go with words are no more than these.
        let code = "if (a[0] != b) { return Err(\"no\"); }\n".repeat(40);
        assert_eq!((marks(&code), marks("{\"a\": [1, 2], \"b\": {}}")), (0, 0));
    }

    #[test]
    fn marks_are_told_from_words() {
        let text = "The pump of Ada Lovelace didn't start. No flow, not 3.50 bar at max_flow or pumpSpeed, not";
        let mut known = Known::new();
        let said = Contents::read(text, &mut known, false);
        let list = |set: &BTreeSet<u32>| {
            let word = |id: &u32| known.ids.iter().find(|(_, known)| *known == id);
            let mut list: Vec<&str> =
                set.iter().filter_map(word).map(|(word, _)| &**word).collect();
            list.sort_unstable();
            list.join(" ")
        };
        assert_eq!(list(&said.numbers), "3.50");
        assert_eq!(list(&said.names), "ada lovelac");
        assert_eq!(list(&said.negations), "3.50 flow pumpspeed start");
        assert_eq!(list(&said.identifiers), "max_flow pumpspeed");
    }

    #[test]
    fn what_says_the_same_is_held_for_the_same() {
        for (original, condensed) in [
            ("The upload limit is 3 MB.", "upload limit = 3MB"),
            (
                "It never restarts automatically.",
                "It doesn't restart automatically.",
            ),
            (
                "Ada wrote the parser.",
                "The parser was written by Ada: she wrote it.",
            ),
            (
                "There were 1,200 users and three retries.",
                "There were 1200 users, 3 retries.",
            ),
            ("Wait for 30 seconds.", "wait 30 s"),
        ] {
            let found = fidelity(original, condensed);
            assert_eq!(found.score(), Score::ONE, "{original} {found:?}");
        }
    }

    #[test]
    fn what_says_something_else_is_noticed() {
        for (original, condensed) in [
            ("The valve must not be opened.", "The valve must be opened."),
            ("The valve is open.", "The valve is not open."),
            (
                "The pump is not hot and the valve is open.",
                "The pump is hot and the valve is not open.",
            ),
            ("Ada reports to Grace.", "Grace reports to Ada."),
            (
                "There are 3 retries and 5 attempts.",
                "There are 5 retries and 3 attempts.",
            ),
            ("Wait for 30 seconds.", "Wait for 30 minutes."),
            ("Use at least 4 threads.", "Use at most 4 threads."),
            ("It was -5 at night.", "It was 5 at night."),
            ("The limit is 3.5 bar.", "The limit is 35 bar."),
        ] {
            let found = fidelity(original, condensed);
            assert!(found.score() < Score::ONE, "{original} {found:?}");
        }
    }

    #[test]
    fn keys_are_found_in_the_head_of_a_table() {
        let found = fidelity(
            r#"[{"id": 40017, "plan": "basic"}]"#,
            "@1\n@1: 1 rows\nid,plan=basic\n40017",
        );
        assert_eq!(found.score(), Score::ONE, "{found:?}");
        assert_eq!(
            score(
                "The pump is 4 years old.",
                "The pump is 4 years old.\n… 12 sentences left out"
            ),
            Score::ONE
        );
    }

    proptest! {
        #[test]
        fn all_of_a_text_is_in_itself_and_nothing_is_in_none(text in "[A-Za-z0-9_. '’é…%,\n-]{0,80}") {
            prop_assert_eq!(score(&text, &text), Score::ONE);
            let none = fidelity(&text, "");
            prop_assert_eq!(none.numbers.kept + none.names.kept + none.negations.kept + none.identifiers.kept + none.claims.kept, 0);
        }

        #[test]
        fn an_altered_number_is_noticed(before in 13u32..100_000, after in 13u32..100_000, words in "[a-z]{2,9}( [a-z]{2,9}){0,6}") {
            prop_assume!(before != after);
            let text = |number: u32| format!("The {words} is {number} here.");
            prop_assert!(score(&text(before), &text(after)) < Score::ONE);
        }
    }
}
