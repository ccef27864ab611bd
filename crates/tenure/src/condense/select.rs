//! The choice of the parts that stay: the worthiest first, within the budget, gaps included.

use std::ops::Range;

use super::signal::NOTABLE;
use super::{Draft, Goal};

/// The number of parts that may fail to fit before the rest is not tried.
const MISFITS: usize = 32;
/// Fewer bytes than this for each token of the budget are counted; more are taken not to fit.
const DENSEST: usize = 16;
/// A form is made again, smaller, at most so often.
const TRIES: usize = 6;

/// The order in which parts are offered a place: the first and the last, the notable ones by
/// their worth, the rest evenly from all over.
pub(super) fn order(worth: &[f64]) -> Vec<u32> {
    let last = worth.len().saturating_sub(1);
    let ends = |at: &usize| *at == 0 || *at == last;
    let parts = 0..worth.len();
    let (notable, plain): (Vec<usize>, Vec<usize>) =
        parts.clone().filter(|at| !ends(at)).partition(|at| worth[*at] >= NOTABLE);
    let mut notable = notable;
    notable.sort_by(|a, b| worth[*b].total_cmp(&worth[*a]).then(a.cmp(b)));
    let ends = parts.filter(ends);
    let spread = evenly(plain.len()).map(|at| plain[at]);
    ends.chain(notable).chain(spread).map(|at| at as u32).collect()
}

/// The numbers below `count` such that each beginning of the sequence is spread evenly (van der
/// Corput's sequence).
fn evenly(count: usize) -> impl Iterator<Item = usize> {
    let bits = usize::BITS - count.leading_zeros();
    (0..1usize << bits)
        .map(move |at| at.reverse_bits() >> (usize::BITS - bits).min(usize::BITS - 1))
        .filter(move |at| *at < count)
}

/// The parts to choose from.
pub(super) struct Choice<'c> {
    /// The parts in the order in which they are offered a place.
    pub(super) order: &'c [u32],
    /// The part after the last of each sequence of parts: between sequences are no gaps.
    pub(super) ends: &'c [usize],
    /// The tokens that may be spent.
    pub(super) budget: u32,
    /// The cost of a line that says what is left out.
    pub(super) gap: u32,
}

impl Choice<'_> {
    /// Returns whether each part stays; `cost` counts one.
    pub(super) fn make(&self, mut cost: impl FnMut(usize) -> u32) -> Vec<bool> {
        let parts = self.ends.last().copied().unwrap_or(0);
        let mut kept = vec![false; parts];
        let mut first = vec![false; parts + 1];
        first[0] = true;
        for end in self.ends {
            first[*end] = true;
        }
        let mut spent = self.gap.saturating_mul(self.ends.len() as u32);
        let mut misfits = 0;
        for &part in self.order {
            let part = part as usize;
            let before = first[part] || kept[part - 1];
            let after = first[part + 1] || kept[part + 1];
            // Each costs something, so that the budget bounds how many stay.
            let price = cost(part).max(1);
            // A part amid what is left out makes two gaps of one; one between two that stay, none.
            let with_gaps = match (before, after) {
                (false, false) => spent.saturating_add(self.gap),
                (true, true) => spent.saturating_sub(self.gap),
                _ => spent,
            };
            let with = with_gaps.saturating_add(price);
            if with <= self.budget {
                kept[part] = true;
                spent = with;
            } else {
                misfits += 1;
                if misfits == MISFITS {
                    break;
                }
            }
        }
        kept
    }
}

/// Writes the parts that stay, and a line in the place of those that do not.
pub(super) fn write_kept(
    kept: &[bool],
    out: &mut String,
    gap: impl Fn(Range<usize>) -> String,
    mut part: impl FnMut(usize, &mut String),
) {
    let mut from = 0;
    for (at, kept) in kept.iter().enumerate() {
        if *kept {
            if from < at {
                out.push_str(&gap(from..at));
            }
            part(at, out);
            from = at + 1;
        }
    }
    if from < kept.len() {
        out.push_str(&gap(from..kept.len()));
    }
}

/// Returns the cost of a part, unless it is so long that it cannot fit.
pub(super) fn price(text: &str, goal: &Goal<'_>) -> u32 {
    if text.len() > (goal.tokens as usize).saturating_mul(DENSEST) {
        return u32::MAX;
    }
    goal.count(text)
}

/// The draft that `make` gives for the largest budget with which it fits.
pub(super) fn settle(goal: &Goal<'_>, mut make: impl FnMut(u32) -> Option<Draft>) -> Option<Draft> {
    let mut budget = goal.tokens;
    for _ in 0..TRIES {
        let draft = make(budget)?;
        let tokens = price(&draft.text, goal);
        if tokens <= goal.tokens {
            return Some(draft);
        }
        let over = (tokens - goal.tokens).min(budget / 2);
        budget = budget.checked_sub(over.max(budget / 50 + 1))?;
    }
    None
}

/// Returns whether a text may be within the goal, from a sample of it.
pub(super) fn may_fit(text: &str, goal: &Goal<'_>) -> bool {
    const SAMPLES: usize = 8;
    const SAMPLE: usize = 1024;
    if text.len() < SAMPLES * SAMPLE * 4 {
        return true;
    }
    let mut bytes = 0;
    let mut tokens = 0;
    for at in 0..SAMPLES {
        let start = text.floor_char_boundary(text.len() / SAMPLES * at);
        let end = text.floor_char_boundary(start + SAMPLE);
        bytes += end - start;
        tokens += u64::from(goal.count(&text[start..end]));
    }
    let estimate = tokens * text.len() as u64 / bytes.max(1) as u64;
    estimate <= u64::from(goal.tokens) * 5 / 4
}

/// Cuts `text` to about `limit` bytes, with what stands at its start and its end, never inside a
/// character that is seen as one.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    let gone = cut(text, limit);
    if gone.is_empty() {
        return text.to_owned();
    }
    let left = text[gone.clone()].chars().count();
    let head = text[..gone.start].trim_end_matches('\\');
    format!("{head}… {left} characters …{}", &text[gone.end..])
}

/// Returns the range of a text that [`excerpt`] leaves out.
pub(super) fn cut(text: &str, limit: usize) -> Range<usize> {
    if text.len() <= limit {
        return 0..0;
    }
    boundary(text, limit * 2 / 3)..boundary(text, text.len() - limit / 3)
}

/// The last place at or before `at` where a text may be cut: between characters, and not before
/// one that joins the one before it.
pub(super) fn boundary(text: &str, at: usize) -> usize {
    let mut at = text.floor_char_boundary(at);
    // Longer chains of joined characters are not written; a hostile one is cut.
    for _ in 0..32 {
        let before = text[..at].chars().next_back();
        let after = text[at..].chars().next();
        let (Some(before), Some(after)) = (before, after) else {
            break;
        };
        let regional = |c: char| matches!(c, '\u{1F1E6}'..='\u{1F1FF}');
        let joined = unicode_normalization::char::is_combining_mark(after)
            || crate::base::text::is_invisible(after)
            || matches!(after, '\u{1F3FB}'..='\u{1F3FF}')
            || before == '\u{200D}'
            || (before == '\r' && after == '\n')
            || (regional(before) && regional(after));
        if !joined {
            break;
        }
        at -= before.len_utf8();
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evenly_gives_each_number_once() {
        for count in [0, 1, 2, 3, 7, 8, 9, 100] {
            let mut all: Vec<usize> = evenly(count).collect();
            if count == 100 {
                assert_eq!(all[..4], [0, 64, 32, 96]);
            }
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_ends_then_the_notable_then_the_rest() {
        assert_eq!(order(&[0.0, 0.0, 2.0, 5.0, 0.0]), [0, 4, 3, 2, 1]);
        assert_eq!(order(&[]), [0u32; 0]);
    }

    #[test]
    fn gaps_are_paid_for() {
        let order = [0, 4, 2, 1, 3];
        let made = |budget, ends: &[usize]| {
            let choice = Choice {
                order: &order,
                ends,
                budget,
                gap: 3,
            };
            choice.make(|_| 10)
        };
        assert_eq!(made(32, &[5]), [true, false, false, false, true]);
        assert_eq!(made(36, &[5]), [true, false, true, false, true]);
        assert_eq!(made(50, &[5]), [true; 5]);
        assert_eq!(made(9, &[5]), [false; 5]);
        assert_eq!(made(23, &[2, 5]), [true, true, false, false, false]);
    }

    #[test]
    fn cuts_are_not_inside_what_is_seen_as_one_character() {
        let text = "ab👩\u{200D}🚀e\u{301}\r\n🇫🇷";
        for at in 0..=text.len() {
            let cut = boundary(text, at);
            assert!([0, 1, 2, 13, 16, 18, 26].contains(&cut), "{at} {cut}");
        }
        let cut = excerpt(&"x".repeat(1000), 90);
        assert!(
            cut.len() < 130 && cut.contains("… 910 characters …"),
            "{cut}"
        );
    }
}
