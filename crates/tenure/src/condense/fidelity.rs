//! How much of what a text says can still be found after a condensation: the share of its
//! numbers, names, negations and identifiers. A measure of the surface, the same every time; it
//! asks no model (Prefill Compiler, 6.7.4, asks one).

use std::collections::BTreeSet;

use crate::num::Score;

/// How many different ones there were, and how many are still there.
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

    fn of(original: &BTreeSet<&str>, condensed: &BTreeSet<&str>) -> Share {
        Share {
            of: original.len() as u32,
            kept: original.intersection(condensed).count() as u32,
        }
    }
}

/// What of a text can still be found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fidelity {
    /// Runs of digits, with the points between them.
    pub numbers: Share,
    /// Capitalised words that do not start a sentence.
    pub names: Share,
    /// Words that negate, each with the word after it.
    pub negations: Share,
    /// Words with digits, underscores or capitals inside.
    pub identifiers: Share,
}

impl Fidelity {
    /// The share of all of them together.
    pub fn score(&self) -> Score {
        let shares = [self.numbers, self.names, self.negations, self.identifiers];
        let sum = |part: fn(&Share) -> u32| shares.iter().map(part).fold(0u32, u32::saturating_add);
        Share {
            of: sum(|share| share.of),
            kept: sum(|share| share.kept),
        }
        .score()
    }
}

/// How much of what `original` says is in `condensed`.
///
/// A lossless form that splits words (folded lines, say) is expanded first:
/// [`Condensed::expand`](super::Condensed::expand).
///
/// ```
/// use tenure::condense::fidelity::fidelity;
/// let found = fidelity("Valve X12 must not exceed 3.5 bar, says Ada.", "Valve X12: 3.5 bar");
/// assert_eq!((found.numbers.kept, found.identifiers.kept, found.negations.kept), (1, 1, 0));
/// assert_eq!(found.names.score().to_string(), "0");
/// assert_eq!(found.score().to_string(), "0.5");
/// ```
pub fn fidelity(original: &str, condensed: &str) -> Fidelity {
    let (before, after) = (Marks::of(original), Marks::of(condensed));
    Fidelity {
        numbers: Share::of(&before.numbers, &after.numbers),
        // A name may start a sentence of the condensed text.
        names: Share::of(&before.names, &after.words),
        negations: Share::of(&before.negations, &after.negations),
        identifiers: Share::of(&before.identifiers, &after.identifiers),
    }
}

/// What is looked for.
#[derive(Default)]
struct Marks<'t> {
    numbers: BTreeSet<&'t str>,
    names: BTreeSet<&'t str>,
    words: BTreeSet<&'t str>,
    negations: BTreeSet<&'t str>,
    identifiers: BTreeSet<&'t str>,
}

const NEGATIONS: [&str; 10] = [
    "cannot", "neither", "never", "no", "none", "nor", "not", "nothing", "nowhere", "without",
];

impl<'t> Marks<'t> {
    fn of(text: &'t str) -> Marks<'t> {
        let mut marks = Marks::default();
        let mut opens = true;
        let mut negation: Option<usize> = None;
        let mut from = 0;
        for (start, word) in words(text) {
            // A sentence starts after what ends one, and on a line of its own.
            let between = &text[from..start];
            opens |= between.contains(['.', '!', '?', '\n', '。']);
            from = start + word.len();
            if let Some(at) = negation.take() {
                marks.negations.insert(&text[at..from]);
            }
            if negates(word) {
                negation = Some(start);
            }
            let mut chars = word.chars();
            let first = chars.next();
            let digit = word.contains(|c: char| c.is_ascii_digit());
            let letter = word.contains(char::is_alphabetic);
            if digit && !letter {
                marks.numbers.insert(word);
            } else if digit || word.contains('_') || chars.any(char::is_uppercase) {
                marks.identifiers.insert(word);
            } else if first.is_some_and(char::is_uppercase) {
                marks.words.insert(word);
                if !opens {
                    marks.names.insert(word);
                }
            }
            opens = false;
        }
        if let Some(at) = negation {
            marks.negations.insert(&text[at..from]);
        }
        marks
    }
}

fn negates(word: &str) -> bool {
    word.ends_with("n't")
        || word.ends_with("n’t")
        || NEGATIONS
            .iter()
            .any(|negation| word.eq_ignore_ascii_case(negation))
}

/// The words of a text with their places: letters, digits and underscores, a point between digits,
/// an apostrophe between letters.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let inner = |c: char| c.is_alphanumeric() || c == '_';
        let (start, first) = chars.by_ref().find(|(_, c)| inner(*c))?;
        let (mut end, mut last) = (start + first.len_utf8(), first);
        while let Some(&(at, c)) = chars.peek() {
            let after = text[at + c.len_utf8()..].chars().next();
            let joins = match c {
                '.' => last.is_ascii_digit() && after.is_some_and(|c| c.is_ascii_digit()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn marks_are_told_from_words() {
        let text = "The pump of Ada Lovelace didn't start. No flow, not 3.50 bar at max_flow or pumpSpeed, not";
        let marks = Marks::of(text);
        let list =
            |set: &BTreeSet<&str>| set.iter().copied().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(list(&marks.numbers), ["3.50"]);
        assert_eq!(list(&marks.names), ["Ada", "Lovelace"]);
        assert_eq!(
            list(&marks.negations),
            ["No flow", "didn't start", "not", "not 3.50"]
        );
        assert_eq!(list(&marks.identifiers), ["max_flow", "pumpSpeed"]);
    }

    proptest! {
        #[test]
        fn all_of_a_text_is_in_itself_and_nothing_is_in_none(text in "[A-Za-z0-9_. '’é\n]{0,80}") {
            prop_assert_eq!(fidelity(&text, &text).score(), Score::ONE);
            let none = fidelity(&text, "");
            prop_assert_eq!(none.numbers.kept + none.names.kept + none.negations.kept + none.identifiers.kept, 0);
        }
    }
}
