//! A text of chosen parts that is as long as it may be, counted as a whole.

use super::Goal;

/// A text is made again, with what the last count leaves or lacks, at most so often.
const TRIES: usize = 6;
/// Less than this share of the budget is not worth another try, in hundredths.
const SLACK: u32 = 2;

/// Parts that stay, and their text.
#[derive(Clone, Default)]
pub(super) struct Filled {
    pub(super) kept: Vec<bool>,
    pub(super) text: String,
    pub(super) tokens: u32,
}

/// The fullest text within `tokens`. `pick` says which parts it takes for an estimated budget,
/// in the order in which it took them; `write` makes the text of those that stay. Without any
/// part the text is empty.
pub(super) fn fill(
    parts: usize,
    tokens: u32,
    goal: &Goal<'_>,
    pick: &mut dyn FnMut(u32) -> Vec<u32>,
    write: &dyn Fn(&[bool]) -> String,
) -> Filled {
    let make = |picked: &[u32]| {
        let mut kept = vec![false; parts];
        for part in picked {
            kept[*part as usize] = true;
        }
        let text = if picked.is_empty() {
            String::new()
        } else {
            write(&kept)
        };
        let tokens = if picked.is_empty() {
            0
        } else {
            goal.count(&text)
        };
        Filled { kept, text, tokens }
    };
    let mut best = make(&[]);
    let mut budget = tokens;
    let mut last: Vec<u32> = Vec::new();
    for _ in 0..TRIES {
        let picked = pick(budget);
        if picked == last {
            break;
        }
        let made = make(&picked);
        let all = picked.len() == parts;
        last = picked;
        if made.tokens > tokens {
            let over = (made.tokens - tokens).max(budget / 50 + 1);
            budget = budget.saturating_sub(over);
            continue;
        }
        let slack = tokens - made.tokens;
        if made.tokens >= best.tokens {
            best = made;
        }
        if all || slack <= tokens / 100 * SLACK {
            break;
        }
        budget = budget.saturating_add(slack);
    }
    if best.text.is_empty() && !last.is_empty() {
        // A count that is not near the sum of its parts: the longest beginning that fits.
        let (mut fits, mut misses) = (0, last.len());
        while misses - fits > 1 {
            let middle = fits + (misses - fits) / 2;
            let made = make(&last[..middle]);
            if made.tokens <= tokens {
                (fits, best) = (middle, made);
            } else {
                misses = middle;
            }
        }
    }
    best
}

/// The prices of parts, each counted at most once.
pub(super) struct Prices(Vec<Option<u32>>);

impl Prices {
    pub(super) fn new(parts: usize) -> Prices {
        Prices(vec![None; parts])
    }

    pub(super) fn of(&mut self, part: usize, count: impl FnOnce() -> u32) -> u32 {
        *self.0[part].get_or_insert_with(count)
    }
}
