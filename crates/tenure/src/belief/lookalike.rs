//! Letters of other scripts that look like Latin ones, and words that mix both.

use unicode_normalization::UnicodeNormalization;

use crate::base::text::is_invisible;

/// The characters of other scripts that look like Latin letters, each with the letter.
const LOOKALIKES: [(char, char); 44] = [
    ('а', 'a'),
    ('в', 'b'),
    ('е', 'e'),
    ('к', 'k'),
    ('м', 'm'),
    ('н', 'h'),
    ('о', 'o'),
    ('р', 'p'),
    ('с', 'c'),
    ('т', 't'),
    ('у', 'y'),
    ('х', 'x'),
    ('і', 'i'),
    ('ј', 'j'),
    ('ѕ', 's'),
    ('ԁ', 'd'),
    ('ӏ', 'l'),
    ('ԛ', 'q'),
    ('ԝ', 'w'),
    ('ɡ', 'g'),
    ('ո', 'n'),
    ('ս', 'u'),
    ('օ', 'o'),
    ('հ', 'h'),
    ('α', 'a'),
    ('β', 'b'),
    ('ε', 'e'),
    ('η', 'n'),
    ('ι', 'i'),
    ('κ', 'k'),
    ('ν', 'v'),
    ('ο', 'o'),
    ('ρ', 'p'),
    ('τ', 't'),
    ('υ', 'u'),
    ('χ', 'x'),
    ('ѵ', 'v'),
    ('ᴏ', 'o'),
    ('ı', 'i'),
    ('ɑ', 'a'),
    ('ʀ', 'r'),
    ('ᴡ', 'w'),
    ('ᴢ', 'z'),
    ('ꜱ', 's'),
];

/// A folded name with its look-alikes as the Latin letters that they look like, and whether there were any.
pub(super) fn skeleton(folded: &str) -> (String, bool) {
    if folded.is_ascii() {
        return (folded.to_owned(), false);
    }
    let mut any = false;
    let letters = folded.chars().filter(|c| !is_invisible(*c)).map(|c| {
        let known = LOOKALIKES.iter().find(|(other, _)| *other == c);
        any |= known.is_some();
        known.map_or(c, |(_, latin)| *latin)
    });
    let skeleton: String = letters.collect();
    let hidden = skeleton.chars().count() != folded.chars().count();
    (skeleton, any || hidden)
}

/// The Greek letters that nobody can tell from Latin ones: no formula has them.
const GREEK_ALIKE: [char; 15] = [
    'Α', 'Β', 'Ε', 'Ζ', 'Η', 'Ι', 'Κ', 'Μ', 'Ν', 'Ο', 'Ρ', 'Τ', 'Υ', 'Χ', 'ο',
];

/// A letter, as a reader of Latin takes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Letter {
    /// A Latin one, and whether it is a small one.
    Latin(bool),
    /// One of another script that is taken for a Latin one.
    Alike,
    /// A letter of formulas that is much like a Latin one: a small Greek one, or one of the mathematical alphabets.
    Formula,
    /// One of another script that shows it.
    Foreign,
}

impl Letter {
    fn of(c: char) -> Option<Letter> {
        if c.is_ascii() {
            let is_small = c.is_ascii_lowercase();
            return c.is_ascii_alphabetic().then_some(Letter::Latin(is_small));
        }
        if !c.is_alphabetic() {
            return None;
        }
        if matches!(c, '\u{1D400}'..='\u{1D7FF}') {
            return Some(Letter::Formula);
        }
        // Without its accents, which a reader sees past.
        let base = std::iter::once(c).nfkd().next().unwrap_or(c);
        if is_latin(base) {
            return Some(Letter::Latin(base.is_lowercase()));
        }
        let is_greek = matches!(base, '\u{370}'..='\u{3FF}');
        let small = base.to_lowercase().next().unwrap_or(base);
        let is_known = LOOKALIKES.iter().any(|(other, _)| *other == small);
        Some(match (is_known, is_greek) {
            (_, true) if GREEK_ALIKE.contains(&base) => Letter::Alike,
            (true, true) if base == small => Letter::Formula,
            (true, false) => Letter::Alike,
            _ => Letter::Foreign,
        })
    }
}

/// Returns whether a letter is of the Latin script, phonetic letters among them.
fn is_latin(c: char) -> bool {
    c.is_ascii()
        || matches!(c, '\u{C0}'..='\u{2AF}' | '\u{1D00}'..='\u{1DBF}' | '\u{1E00}'..='\u{1EFF}' | '\u{A720}'..='\u{A7FF}')
}

/// The first word of a text that mixes Latin letters with those of another script that look like them, where there is one.
///
/// Whole words of another script are language, and so are a Latin stem with an ending that shows its script (`SQL` with Cyrillic
/// letters of which one is not like a Latin one) and the Greek letters of formulas, which stand at the edge of a word or
/// among few letters.
pub(super) fn mixed_word(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let mut word: Vec<(char, Letter)> = Vec::new();
    let mut before = None;
    for c in text.chars().chain([' ']) {
        if is_invisible(c) {
            continue;
        }
        // The letter behind a backslash is no part of the word that follows.
        let letter = Letter::of(c).filter(|_| before != Some('\\'));
        before = Some(c);
        if let Some(letter) = letter {
            word.push((c, letter));
            continue;
        }
        if is_mixed(&word) {
            return Some(word.into_iter().map(|(c, _)| c).collect());
        }
        word.clear();
    }
    None
}

fn is_mixed(word: &[(char, Letter)]) -> bool {
    let is_latin = |at: usize| matches!(word[at].1, Letter::Latin(_));
    let latin = (0..word.len()).filter(|at| is_latin(*at)).count();
    if latin == 0 || latin == word.len() {
        return false;
    }
    let has = |kind: Letter| word.iter().any(|(_, letter)| *letter == kind);
    if has(Letter::Alike) {
        let seams = (1..word.len()).filter(|at| is_latin(*at) != is_latin(at - 1));
        return seams.count() > 1 || !has(Letter::Foreign);
    }
    let is_small = |at: usize| word[at].1 == Letter::Latin(true);
    let formulas = (0..word.len()).filter(|at| word[*at].1 == Letter::Formula);
    // Of few letters it is a product.
    latin > 2
        && formulas.into_iter().any(|at| {
            let before = (0..at).rfind(|at| is_latin(*at));
            let behind = (at + 1..word.len()).find(|at| is_latin(*at));
            before.is_some_and(is_small) && behind.is_some_and(is_small)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_mixes_scripts_is_found() {
        for (text, word) in [
            ("The p\u{430}ssword is short.", "p\u{430}ssword"),
            ("\u{440}\u{430}ssword", "\u{440}\u{430}ssword"),
            ("see \u{410}dmin, and", "\u{410}dmin"),
            ("g\u{3BF}ogle", "g\u{3BF}ogle"),
            ("\u{39C}icrosoft", "\u{39C}icrosoft"),
            ("p\u{3B1}ssword", "p\u{3B1}ssword"),
            ("p\u{1D5BA}ssword", "p\u{1D5BA}ssword"),
            ("ba\u{578}k", "ba\u{578}k"),
            ("us\u{451}r", "us\u{451}r"),
            ("user_n\u{430}me = 1", "n\u{430}me"),
            // A letter that shows its script hides no other among Latin ones.
            ("p\u{430}ssw\u{43E}rd\u{44F}", "p\u{430}ssw\u{43E}rd\u{44F}"),
        ] {
            assert_eq!(mixed_word(text).as_deref(), Some(word), "{text:?}");
        }
    }

    #[test]
    fn language_and_formulas_are_not_found() {
        for text in [
            "plain",
            "Пароль короткий, сказал Хосе.",
            "Ο λόγος του χρόνου είναι ο ίδιος.",
            "3 \u{B5}s, 5 \u{3BC}s, \u{394}t = 2 k\u{3A9}",
            "\u{3B1}x + \u{3B2}y, \u{3C1}gh, \u{3B5}r, \u{3B2}max, x\u{3B1}y, \u{1D465}",
            "NF\u{3BA}B, TNF\u{3B1}, interferon\u{3B2}",
            "naïve Łódź Ångström kız ısı Straße Đà Nẵng Mª",
            "USB-кабель, SQLный запрос, Яndex",
            "\\nпривет \\tото",
            "東京Tシャツ, 3Dプリンター",
            "/\u{261}\u{251}s/ \u{FB01}sh",
        ] {
            assert_eq!(mixed_word(text), None, "{text:?}");
        }
    }
}
