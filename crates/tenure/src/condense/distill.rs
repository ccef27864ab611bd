//! Distillation: a text as its propositions, the most useful and least known ones first, as many as fit. What comes
//! out is compact prose in the order of the original, under its headings, and says how much of the original it still
//! says.
//!
//! The source asks a model for similarity and entailment. Here novelty is 1 − the greatest similarity to a sentence of
//! the context or a proposition that was chosen, similarity the share of a proposition's pairs of neighbouring words
//! that the other has, and fidelity is [`fidelity`](super::fidelity::fidelity()).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ops::Range;
use std::rc::Rc;

use super::clauses::{leans, place_in, statements};
use super::curve::Curve;
use super::fidelity::{Fidelity, Marks, Original};
use super::fill::{Filled, Prices, fill};
use super::markdown::{Kind, Markdown};
use super::select::{price, settle};
use super::sentences::{acknowledges, sentences, weight};
use super::signal::{EMPTY, Signs, Task, worth};
use super::{Draft, GAP, Goal, LeftOut, Map, Method, Omission, Unit};
use crate::base::num::Score;
use crate::rank::ranker::each_term;

/// The aim of a distillation.
#[derive(Clone, Copy, Debug)]
pub struct Aim<'a> {
    /// The number of tokens that is enough, if the fidelity is; the knee of the measured curve when not given.
    pub target: Option<u32>,
    /// Below this fidelity more tokens are taken, up to the goal's, and a warning is given when
    /// they do not suffice.
    pub floor: Score,
    /// The texts that the reader sees besides.
    pub context: &'a [&'a str],
}

/// The least fidelity that a distillation should have.
pub const FLOOR: Score = Score::from_millionths(900_000);

impl Default for Aim<'_> {
    /// The knee, with the source's floor and no context.
    fn default() -> Self {
        Aim {
            target: None,
            floor: FLOOR,
            context: &[],
        }
    }
}

/// A claim of the original.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposition {
    /// Its bytes in the original.
    pub bytes: Range<usize>,
    /// Its worth for the task.
    pub utility: Score,
    /// 1 − its greatest similarity to a sentence of the context or an earlier proposition.
    pub novelty: Score,
    /// True if it is in the result.
    pub kept: bool,
}

/// That the fidelity is below the floor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BelowFloor {
    /// The fidelity that was reached.
    pub fidelity: Score,
    /// The fidelity that was asked for.
    pub floor: Score,
}

impl BelowFloor {
    /// The warning, where there is one to give.
    pub fn check(fidelity: Score, floor: Score) -> Option<BelowFloor> {
        (fidelity < floor).then_some(BelowFloor { fidelity, floor })
    }
}

impl std::fmt::Display for BelowFloor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BelowFloor { fidelity, floor } = self;
        write!(f, "fidelity {fidelity} is below {floor}")
    }
}

/// A distilled text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Distilled {
    /// The propositions that stay, in their order; empty where none fits.
    pub text: String,
    /// All propositions, in order.
    pub propositions: Vec<Proposition>,
    /// The tokens of the original.
    pub from: u32,
    /// The tokens of the result.
    pub to: u32,
    /// The tokens that were aimed at before the floor was looked at.
    pub target: u32,
    /// The share of the original that is still said.
    pub fidelity: Fidelity,
    /// Given when that is less than the floor.
    pub warning: Option<BelowFloor>,
    /// The parts that were left out.
    pub left_out: Vec<LeftOut>,
}

/// So many steps are taken between the target and the goal until the floor is reached.
const STEPS: u32 = 4;
/// Further parts than this that do not fit in a row are not tried.
const MISFITS: usize = 64;
/// The number of propositions that one brings with it that leans on them.
const LEANING: usize = 3;
/// The worth at which a proposition is half as useful as can be.
const HALFWAY: f64 = 2.0;
/// The worth that each number, name, negation and identifier adds to a proposition.
const MARK: f64 = 0.25;

/// The propositions of `text` that are the most use to the goal's task, within its tokens.
///
/// ```
/// use tenure::condense::Goal;
/// use tenure::condense::distill::{Aim, distill};
/// let text = "Please note that the upload limit is 3 MB. The weather was fine, and everybody was glad. \
///             The upload limit is 3 MB. Uploads are not retried.";
/// let goal = Goal { tokens: 14, task: "upload limit", count: &|text| text.len() / 4, lossless_only: false };
/// let distilled = distill(text, &Aim { target: Some(14), ..Aim::default() }, &goal);
/// assert_eq!(distilled.text, "The upload limit is 3 MB. Uploads are not retried.");
/// assert!(distilled.warning.is_some_and(|warning| warning.fidelity < warning.floor));
/// ```
pub fn distill(text: &str, aim: &Aim<'_>, goal: &Goal<'_>) -> Distilled {
    let from = goal.count(text);
    let mut source = Source::read(text, aim, goal);
    let target = aim
        .target
        .or_else(|| Curve::of(Method::Distilled).map(|curve| curve.target(from, aim.floor)))
        .unwrap_or(from)
        .min(goal.tokens);
    let mut original = Original::read(text);
    let mut best = source.fill(By::Worth, target, target, goal);
    let mut found = original.compare(&best.text);
    if found.score() < aim.floor && !goal.lossless_only {
        let room = goal.tokens.min(from).saturating_sub(target);
        for step in 1..=STEPS {
            let tokens = target + (u64::from(room) * u64::from(step) / u64::from(STEPS)) as u32;
            if tokens == target {
                continue;
            }
            let more = source.fill(By::Worth, target, tokens, goal);
            let reached = original.compare(&more.text);
            if reached.score() > found.score() {
                (best, found) = (more, reached);
            }
            if found.score() >= aim.floor {
                break;
            }
        }
        // What is most use may leave no room for what is most said.
        if found.score() < aim.floor {
            let other = source.fill(By::Marks, 0, goal.tokens.min(from), goal);
            let reached = original.compare(&other.text);
            if reached.score() >= aim.floor {
                (best, found) = (other, reached);
            }
        }
    }
    let (propositions, left_out) = source.told(&best.kept);
    let reached = found.score();
    Distilled {
        text: best.text,
        propositions,
        from,
        to: best.tokens,
        target,
        fidelity: found,
        warning: BelowFloor::check(reached, aim.floor),
        left_out,
    }
}

/// By what propositions are chosen.
#[derive(Clone, Copy, PartialEq)]
enum By {
    /// Utility and novelty up to the target, then by marks.
    Worth,
    /// By what the measure of fidelity finds, for each token.
    Marks,
}

/// The text of a proposition.
struct Part {
    place: Range<usize>,
    text: String,
    /// The heading that it stands under, as a place among the headings.
    heading: Option<usize>,
    /// True if a line starts with it.
    line: bool,
    /// True if it goes on from the part before it.
    leans: bool,
    pairs: Vec<u64>,
    marks: Vec<u32>,
    utility: Score,
}

struct Heading {
    text: String,
    level: usize,
    above: Option<usize>,
    price: u32,
}

/// A text as propositions.
struct Source {
    parts: Vec<Part>,
    headings: Vec<Heading>,
    nearest: Nearest,
    prices: Prices,
}

/// The parts by their pairs, and how similar each is to what is known already.
#[derive(Clone)]
struct Nearest {
    /// The parts that have a pair; of parts that have the same pairs, the first stands for all.
    holders: Rc<Map<u64, Vec<u32>>>,
    /// The part that stands for each, and the number of its pairs.
    stands: Rc<Vec<(u32, u32)>>,
    /// The greatest similarity so far: pairs that are known from one statement.
    shared: Vec<u32>,
    /// Scratch: how many pairs a part shares with the statement that is looked at.
    counts: Vec<u32>,
    touched: Vec<u32>,
}

/// A pair that more different propositions have says nothing about what two of them have in common.
const COMMON: usize = 1_024;

impl Nearest {
    fn of(parts: &[Part]) -> Nearest {
        let mut holders: Map<u64, Vec<u32>> = Map::default();
        let mut first: Map<&[u64], u32> = Map::default();
        let mut stands = Vec::with_capacity(parts.len());
        for (at, part) in (0u32..).zip(parts) {
            let by = *first.entry(&part.pairs).or_insert(at);
            stands.push((by, part.pairs.len() as u32));
            if by == at {
                for pair in &part.pairs {
                    holders.entry(*pair).or_default().push(at);
                }
            }
        }
        holders.retain(|_, parts| parts.len() <= COMMON);
        Nearest {
            holders: Rc::new(holders),
            stands: Rc::new(stands),
            shared: vec![0; parts.len()],
            counts: vec![0; parts.len()],
            touched: Vec::new(),
        }
    }

    /// From now on a statement with these pairs is known.
    fn learn(&mut self, pairs: &[u64]) {
        for pair in pairs {
            for &part in self.holders.get(pair).map_or(&[][..], Vec::as_slice) {
                let count = &mut self.counts[part as usize];
                if *count == 0 {
                    self.touched.push(part);
                }
                *count += 1;
            }
        }
        for part in self.touched.drain(..) {
            let count = std::mem::take(&mut self.counts[part as usize]);
            let shared = &mut self.shared[part as usize];
            *shared = count.max(*shared);
        }
    }

    /// From now on a part is known. What one that says nothing new is similar to, was so before.
    fn take(&mut self, at: usize, pairs: &[u64]) {
        let (by, count) = self.stands[at];
        if self.shared[by as usize] < count {
            self.learn(pairs);
            // Also where all of its pairs are common.
            self.shared[by as usize] = count;
        }
    }

    /// Returns 1 − the greatest similarity of a part to what is known.
    fn novelty(&self, at: usize) -> Score {
        let (by, count) = self.stands[at];
        let shared = self.shared[by as usize];
        Score::clamped(f64::from(count - shared) / f64::from(count.max(1)))
    }
}

impl Source {
    fn read(text: &str, aim: &Aim<'_>, goal: &Goal<'_>) -> Source {
        let mut parts: Vec<Part> = Vec::new();
        let mut headings: Vec<Heading> = Vec::new();
        let mut marks = Marks::new();
        for block in &Markdown::read(text).blocks {
            let start = place_in(text, block.text).start;
            let heading = headings.len().checked_sub(1);
            let part = |place: Range<usize>, written: String, line: bool| Part {
                text: written,
                heading,
                line,
                leans: false,
                pairs: pairs(&text[place.clone()]),
                marks: Vec::new(),
                utility: Score::ZERO,
                place,
            };
            if let Kind::Heading(level) = block.kind {
                let mut above = heading;
                while let Some(at) = above
                    && headings[at].level >= level
                {
                    above = headings[at].above;
                }
                let text = block.text.trim().to_owned();
                let price = price(&text, goal).saturating_add(1);
                headings.push(Heading {
                    text,
                    level,
                    above,
                    price,
                });
                continue;
            }
            let whole = block.kind == Kind::Fence || block.text.trim_start().starts_with('|');
            if whole {
                let place = start..start + block.text.len();
                parts.push(part(place, block.text.to_owned(), true));
                continue;
            }
            let mut first = true;
            for (sentence, clauses) in statements(block.text) {
                let opens =
                    first || block.text[..sentence.start].trim_end_matches(' ').ends_with('\n');
                let split = clauses.len() > 1;
                for (at, clause) in clauses.into_iter().enumerate() {
                    let said = &block.text[clause.clone()];
                    let place = start + clause.start..start + clause.end;
                    let mut made = part(place, compact(said, split), opens && at == 0);
                    // The first sentence of a block goes on from nothing.
                    made.leans = !first && leans(said);
                    first = false;
                    parts.push(made);
                }
            }
        }
        let task = Task::new(goal.task);
        let signs: Vec<Signs> = parts.iter().map(|part| task.read(&part.text)).collect();
        for (part, worth) in parts.iter_mut().zip(worth(&task, &signs)) {
            part.marks = marks.of(&text[part.place.clone()]);
            let raw = match weight(&part.text) {
                0.0 => 0.0,
                weight => worth + weight + MARK * part.marks.len().min(8) as f64,
            };
            part.utility = Score::clamped(raw / (raw + HALFWAY));
        }
        let mut nearest = Nearest::of(&parts);
        for sentence in aim.context.iter().flat_map(|text| sentences(text)) {
            nearest.learn(&pairs(sentence));
        }
        Source {
            prices: Prices::new(parts.len()),
            parts,
            headings,
            nearest,
        }
    }

    /// The fullest text within `tokens`, of which so many as `target` are chosen by worth.
    fn fill(&mut self, by: By, target: u32, tokens: u32, goal: &Goal<'_>) -> Filled {
        let (parts, headings, nearest) = (&self.parts, &self.headings, &self.nearest);
        let prices = &mut self.prices;
        let mut pick = |budget: u32| {
            let mut choice = Choice {
                parts,
                headings,
                prices,
                goal,
                kept: vec![false; parts.len()],
                written: vec![false; headings.len()],
                picked: Vec::new(),
                spent: 0,
            };
            if by == By::Worth {
                let share = u64::from(budget) * u64::from(target) / u64::from(tokens.max(1));
                choice.by_worth(nearest, share.min(u64::from(budget)) as u32);
            }
            if by == By::Marks || tokens > target {
                choice.by_marks(budget);
            }
            choice.picked
        };
        fill(parts.len(), tokens, goal, &mut pick, &|kept| {
            write(parts, headings, kept)
        })
    }

    /// Returns the propositions that stay, and the counts of the parts that do not.
    fn told(self, kept: &[bool]) -> (Vec<Proposition>, Vec<LeftOut>) {
        let mut nearest = self.nearest;
        let mut propositions = Vec::new();
        for (at, (part, kept)) in self.parts.iter().zip(kept).enumerate() {
            propositions.push(Proposition {
                bytes: part.place.clone(),
                utility: part.utility,
                novelty: nearest.novelty(at),
                kept: *kept,
            });
            nearest.take(at, &part.pairs);
        }
        let left_out = super::lines::count(kept, Unit::Propositions, &|at| match () {
            () if acknowledges(&self.parts[at].text) => Omission::Acknowledgement,
            () if propositions[at].novelty == Score::ZERO => Omission::Repeat,
            () => Omission::LowRelevance,
        });
        (propositions, left_out)
    }
}

/// A text distilled to as much as fits, with a line that says what does not.
pub(super) fn draft(text: &str, goal: &Goal<'_>) -> Option<Draft> {
    let gap = |count: u32| format!("\n{GAP} {count} {} left out", Unit::Propositions);
    let mut source = Source::read(text, &Aim::default(), goal);
    let gap_price = goal.count(&gap(1_000_000));
    let mut kept = Vec::new();
    let mut draft = settle(goal, |budget| {
        let budget = budget.checked_sub(gap_price)?;
        let filled = source.fill(By::Worth, budget, budget, goal);
        let gone = filled.kept.iter().filter(|kept| !**kept).count() as u32;
        kept = filled.kept;
        let mut text = filled.text;
        if gone > 0 {
            text.push_str(&gap(gone));
        }
        kept.contains(&true).then_some(Draft {
            text,
            method: Method::Distilled,
            left_out: Vec::new(),
        })
    })?;
    let (_, mut left_out) = source.told(&kept);
    if left_out.is_empty() {
        // White space and words that say nothing sufficed.
        left_out.push(LeftOut {
            class: Omission::Formatting,
            unit: Unit::Bytes,
            count: text.len().saturating_sub(draft.text.len()) as u32,
        });
    }
    draft.left_out = left_out;
    Some(draft)
}

/// A choice that is being made.
struct Choice<'c> {
    parts: &'c [Part],
    headings: &'c [Heading],
    prices: &'c mut Prices,
    goal: &'c Goal<'c>,
    kept: Vec<bool>,
    written: Vec<bool>,
    picked: Vec<u32>,
    spent: u32,
}

impl Choice<'_> {
    /// Takes a part with what it leans on and the headings above it, if they fit.
    fn take(&mut self, part: usize, budget: u32) -> bool {
        let mut from = part;
        while self.parts[from].leans && part - from < LEANING && from > 0 {
            from -= 1;
        }
        let mut cost = 0u32;
        let mut headings = Vec::new();
        for at in (from..=part).filter(|at| !self.kept[*at]) {
            let text = &self.parts[at].text;
            let goal = self.goal;
            let own = self.prices.of(at, || price(text, goal).max(1));
            cost = cost.saturating_add(own);
            let mut above = self.parts[at].heading;
            while let Some(heading) = above
                && !self.written[heading]
                && !headings.contains(&heading)
            {
                cost = cost.saturating_add(self.headings[heading].price);
                headings.push(heading);
                above = self.headings[heading].above;
            }
        }
        let with = self.spent.saturating_add(cost);
        if with > budget {
            return false;
        }
        self.spent = with;
        for at in from..=part {
            if !std::mem::replace(&mut self.kept[at], true) {
                self.picked.push(at as u32);
            }
        }
        for heading in headings {
            self.written[heading] = true;
        }
        true
    }

    /// Utility times novelty, the highest first. Novelty only falls while parts are taken, so that
    /// a part whose value still holds when it is looked at is the best.
    fn by_worth(&mut self, known: &Nearest, budget: u32) {
        let mut nearest = known.clone();
        let parts = self.parts;
        self.greedily(budget, &mut |at, taken| {
            if taken {
                nearest.take(at, &parts[at].pairs);
            }
            parts[at].utility.times(nearest.novelty(at)).millionths()
        });
    }

    /// Adds parts by the marks of fidelity that each newly brings, for each token.
    fn by_marks(&mut self, budget: u32) {
        let parts = self.parts;
        let mut seen: Map<u32, ()> = Map::default();
        for at in &self.picked {
            seen.extend(parts[*at as usize].marks.iter().map(|mark| (*mark, ())));
        }
        self.greedily(budget, &mut |at, taken| {
            let part = &parts[at];
            if taken {
                seen.extend(part.marks.iter().map(|mark| (*mark, ())));
            }
            let fresh = part.marks.iter().filter(|mark| !seen.contains_key(mark));
            // A claim counts twice.
            let gain = fresh.count() as u64 + 2;
            (gain * 1_000_000 / part.text.len().max(1) as u64) as u32
        });
    }

    /// Takes the part of the highest value again and again. `value` is told when a part is taken.
    fn greedily(&mut self, budget: u32, value: &mut dyn FnMut(usize, bool) -> u32) {
        let mut heap: BinaryHeap<(u32, Reverse<usize>)> = (0..self.parts.len())
            .filter(|at| !self.kept[*at])
            .map(|at| (value(at, false), Reverse(at)))
            .collect();
        let mut misfits = 0;
        while let Some((stored, Reverse(at))) = heap.pop() {
            if self.kept[at] || stored == 0 {
                continue;
            }
            let now = value(at, false);
            if now < stored {
                heap.push((now, Reverse(at)));
                continue;
            }
            let before = self.picked.len();
            if self.take(at, budget) {
                misfits = 0;
                for taken in before..self.picked.len() {
                    value(self.picked[taken] as usize, true);
                }
            } else {
                misfits += 1;
                if misfits == MISFITS {
                    break;
                }
            }
        }
    }
}

/// The pairs of neighbouring words that name something, and one for each word that stands alone.
fn pairs(text: &str) -> Vec<u64> {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut found = Vec::new();
    let mut last: Option<u64> = None;
    // A negated proposition says something else.
    each_term(text, |term| {
        if EMPTY.binary_search(&term).is_err() || term == "not" || term == "t" {
            let word = hasher.hash_one(term);
            found.extend(last.map(|last| last.rotate_left(17) ^ word));
            last = Some(word);
        }
    });
    if found.is_empty() {
        found.extend(last);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// With what sentences start that say the same without it.
#[rustfmt::skip]
const OPENERS: [&str; 14] = [
    "as a matter of fact, ", "as mentioned above, ", "as you can see, ", "basically, ",
    "in fact, ", "in general, ", "in other words, ", "it is important to note that ",
    "it is worth noting that ", "it should be noted that ", "note that ", "of course, ",
    "please note that ", "remember that ",
];

/// A proposition without the words that say nothing, as a sentence where it was part of one.
fn compact(said: &str, split: bool) -> String {
    let mut said = said.trim();
    let opener = OPENERS.iter().find(|opener| {
        said.get(..opener.len()).is_some_and(|start| start.eq_ignore_ascii_case(opener))
    });
    if let Some(opener) = opener {
        said = &said[opener.len()..];
    }
    let mut text = String::with_capacity(said.len() + 1);
    let mut chars = said.chars();
    match chars.next() {
        Some(first) if split || opener.is_some() => text.extend(first.to_uppercase()),
        first => text.extend(first),
    }
    text.push_str(chars.as_str());
    let bare = text.trim_end_matches([',', ';', ' ']).len();
    if split && !said.contains("\":") {
        text.truncate(bare);
        if text.ends_with(char::is_alphanumeric) {
            text.push('.');
        }
    }
    text
}

fn write(parts: &[Part], headings: &[Heading], kept: &[bool]) -> String {
    let mut text = String::new();
    let mut written = vec![false; headings.len()];
    // Whether a kept part stands on the line already: a paragraph's later sentences follow on its
    // line, though its first one be gone.
    let mut in_sentence = false;
    for (part, kept) in parts.iter().zip(kept) {
        in_sentence &= !part.line;
        if !kept {
            continue;
        }
        let mut above = Vec::new();
        let mut next = part.heading;
        while let Some(heading) = next
            && !written[heading]
        {
            above.push(heading);
            written[heading] = true;
            next = headings[heading].above;
        }
        for heading in above.iter().rev() {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&headings[*heading].text);
        }
        if !text.is_empty() {
            let follows = in_sentence && above.is_empty();
            text.push(if follows { ' ' } else { '\n' });
        }
        in_sentence = true;
        text.push_str(&part.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn goal<'g>(tokens: u32, task: &'g str) -> Goal<'g> {
        Goal {
            tokens,
            task,
            count: &|text| text.len().div_ceil(4),
            lossless_only: false,
        }
    }

    fn aim(target: u32, floor: u32) -> Aim<'static> {
        Aim {
            target: Some(target),
            floor: Score::from_millionths(floor),
            context: &[],
        }
    }

    const PAGE: &str = "# Pumps\n\nPumps move water. They were blue.\n\n## Limits\n\n- Pump X1 is rated for 40 bar.\n- Pump X2 is not rated.\n\n## History\n\nThe first pump was sold in 1911, and nobody knows why.\n\n```sh\nrun x1\n```\n";

    #[test]
    fn headings_stand_above_what_is_kept_and_antecedents_before_what_leans() {
        let found = distill(PAGE, &aim(15, 0), &goal(15, "rating of pump X1"));
        assert_eq!(
            found.text,
            "# Pumps\n## Limits\n- Pump X1 is rated for 40 bar."
        );
        let found = distill(
            "Pumps move water. They were blue.",
            &aim(9, 0),
            &goal(9, "blue"),
        );
        assert_eq!(found.text, "Pumps move water. They were blue.");
        let all = distill(PAGE, &aim(900, 0), &goal(900, ""));
        assert_eq!(all.text.lines().count(), 10, "{}", all.text);
        assert_eq!(all.fidelity.score(), Score::ONE, "{:?}", all.fidelity);
    }

    #[test]
    fn what_is_known_is_not_said_again() {
        let text = "The limit is 3 MB. The limit is 3 MB. The port is 8443.";
        let context = ["We heard that the port is 8443."];
        let aim = Aim {
            context: &context,
            ..aim(100, 0)
        };
        let found = distill(text, &aim, &goal(100, ""));
        assert_eq!(found.text, "The limit is 3 MB.");
        assert_eq!(found.left_out[0].class, Omission::Repeat);
    }

    #[test]
    fn novelty_is_one_less_the_greatest_similarity() {
        // Of the four pairs of the first sentence one sentence of the context has two, another has another two.
        let text = "Red pumps move clean water. Green lamps burn.";
        let context =
            ["Red pumps move dirty oil. The clean water is cold, and it can move clean water."];
        let of = |context: &[&str]| {
            let aim = Aim {
                context,
                ..aim(100, 0)
            };
            let found = distill(text, &aim, &goal(100, "")).propositions;
            found.iter().map(|one| one.novelty).collect::<Vec<_>>()
        };
        assert_eq!(of(&context), [Score::HALF, Score::ONE]);
        assert_eq!(of(&[]), [Score::ONE, Score::ONE]);
        assert_eq!(of(&[text]), [Score::ZERO, Score::ZERO]);
    }

    #[test]
    fn more_is_taken_until_the_floor_is_met_and_a_warning_says_when_it_is_not() {
        let text: String = (0..40)
            .map(|at| format!("Station {at} reads {} bar. ", at * 37 + 100))
            .collect();
        let met = distill(&text, &aim(60, 700_000), &goal(400, ""));
        assert!(
            met.warning.is_none() && met.to > 60,
            "{} {:?}",
            met.to,
            met.fidelity
        );
        let unmet = distill(&text, &aim(60, 700_000), &goal(80, ""));
        assert!(unmet.warning.is_some() && unmet.to <= 80);
        assert!(unmet.warning.unwrap().to_string().contains("is below 0.7"));
    }

    proptest! {
        #[test]
        fn never_more_than_the_budget(text in "[A-Za-z0-9 .,;#`|\\n-]{0,300}", tokens in 0u32..90, target in 0u32..90) {
            let goal = goal(tokens, "a b 1");
            let found = distill(&text, &aim(target, 900_000), &goal);
            prop_assert!(found.to <= tokens);
            prop_assert_eq!(found.to, goal.count(&found.text));
            prop_assert_eq!(found.warning.is_some(), found.fidelity.score() < Score::from_millionths(900_000));
            prop_assert_eq!(&found, &distill(&text, &aim(target, 900_000), &goal));
        }
    }
}
