//! Names beside mail addresses in a text: `Mei Chen <mei@acme.example>`, `"Chen, Mei" <mei@acme.example>`,
//! `Mei Chen (mei@acme.example)`.

use std::ops::Range;

use crate::belief::claim::folded;

/// The most words of a name.
const MOST_WORDS: usize = 6;
/// The most characters of a word of it.
const MOST_LETTERS: usize = 40;
/// The most characters of a name in quotation marks.
const MOST_QUOTED: usize = 128;

/// Words that stand before a name with a capital and are none of it, in order. None of them is a name: what is left without one
/// would be another's.
const BEFORE: [&str; 38] = [
    "also",
    "and",
    "ask",
    "asked",
    "bcc",
    "because",
    "by",
    "call",
    "cc",
    "contact",
    "dear",
    "dr",
    "email",
    "for",
    "from",
    "hello",
    "hey",
    "hi",
    "mail",
    "message",
    "miss",
    "mr",
    "mrs",
    "ms",
    "our",
    "please",
    "prof",
    "send",
    "tell",
    "thank",
    "thanks",
    "their",
    "today",
    "tomorrow",
    "via",
    "when",
    "with",
    "yesterday",
];

/// Small words within names, in order.
const WITHIN: [&str; 20] = [
    "al", "bin", "da", "de", "del", "della", "den", "der", "di", "dos", "du", "el", "la", "le",
    "ter", "van", "von", "y", "zu", "zur",
];

/// Words that end with a full stop within a name, in order; an initial does, too.
const SHORT: [&str; 8] = ["dr", "jr", "mr", "mrs", "ms", "prof", "sr", "st"];

/// A mail address in brackets, with the name before them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Addressed {
    /// The place of the name: empty, where there is none.
    pub(super) name: Range<usize>,
    /// The place of the address.
    pub(super) mail: Range<usize>,
    /// The place of all of it, from the name to the bracket.
    pub(super) at: Range<usize>,
}

/// The part of a mail address that is its owner's, where a name, folded, is one.
pub(super) fn before_the_at(name: &str) -> Option<&str> {
    let (own, domain) = name.split_once('@')?;
    let is_one = !own.is_empty()
        && domain.contains('.')
        && !domain.contains('@')
        && !name.contains(char::is_whitespace);
    is_one.then_some(own)
}

/// The addresses in brackets among the mail addresses of a text, which are in its order. They are apart from each other. What stands
/// before each is looked at up to the address before it, so that no text costs more than its length.
pub(super) fn addressed(text: &str, mails: &[Range<usize>]) -> Vec<Addressed> {
    let mut found = Vec::new();
    let mut from = 0;
    for mail in mails {
        let start = from;
        let all = &text[start..mail.start];
        let before = all.strip_suffix("mailto:").unwrap_or(all);
        from = mail.end;
        let mut opened = [('<', '>'), ('(', ')')].into_iter().filter_map(|(opens, closes)| {
            let before = before.strip_suffix(opens)?;
            text[mail.end..].starts_with(closes).then_some(before)
        });
        if let Some(before) = opened.next() {
            let name = name_at_end(before);
            let name = start + name.start..start + name.end;
            from = mail.end + 1;
            found.push(Addressed {
                at: name.start..from,
                name,
                mail: mail.clone(),
            });
        }
    }
    found
}

/// The place of the name at the end of a text: empty, where there is none.
fn name_at_end(text: &str) -> Range<usize> {
    let Some(trimmed) = without_gap(text) else {
        return text.len()..text.len();
    };
    let none = trimmed.len()..trimmed.len();
    let quoted = match trimmed.chars().next_back() {
        Some('"') => quoted(trimmed, '"'),
        Some('\'') => quoted(trimmed, '\''),
        Some('\u{201D}') => quoted(trimmed, '\u{201C}'),
        // A link in Markdown.
        Some(']') if trimmed.len() == text.len() => quoted(trimmed, '['),
        _ => return words_at_end(trimmed).unwrap_or(none),
    };
    quoted.unwrap_or(none)
}

/// A text without the white space at its end, where no more than one line ends there.
fn without_gap(text: &str) -> Option<&str> {
    let trimmed = text.trim_end_matches([' ', '\t', '\n']);
    let gap = &text[trimmed.len()..];
    (gap.len() < 2 || !gap.contains('\n')).then_some(trimmed)
}

/// The place of the words between an opening mark and the closing one at the end of a text.
fn quoted(text: &str, opens: char) -> Option<Range<usize>> {
    let mut back = text.char_indices().rev();
    let (end, _) = back.next()?;
    let (start, _) = back.take(MOST_QUOTED).find(|(_, c)| *c == opens)?;
    let start = start + opens.len_utf8();
    let inner = &text[start..end];
    let name = inner.trim();
    let has_words = name.contains(char::is_alphabetic)
        && name.split_whitespace().count() <= MOST_WORDS
        && !name.contains(['\n', '<', '>', '@']);
    let at = start + (inner.len() - inner.trim_start().len());
    has_words.then_some(at..at + name.len())
}

/// The place of the words with a capital at the end of a text.
fn words_at_end(text: &str) -> Option<Range<usize>> {
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut rest = text;
    while words.len() < MOST_WORDS
        && let Some(start) = word_at_end(rest)
    {
        words.push(start..rest.len());
        let Some(before) = without_gap(&text[..start]).filter(|before| before.len() < start) else {
            break;
        };
        rest = before;
    }
    let is_before = |word: &Range<usize>| {
        let word = &text[word.clone()];
        let lower = folded(word);
        word.starts_with(char::is_lowercase)
            || BEFORE.binary_search(&lower.trim_end_matches('.')).is_ok()
    };
    while words.last().is_some_and(is_before) {
        words.pop();
    }
    let (last, first) = (words.first()?, words.last()?);
    Some(first.start..last.end)
}

/// The beginning of the word of a name that ends a text. Letters without case count as capitals.
fn word_at_end(text: &str) -> Option<usize> {
    let is_part = |c: char| {
        c.is_alphabetic()
            || matches!(c, '\u{300}'..='\u{36F}')
            || matches!(c, '-' | '.' | '\'' | '\u{2019}')
    };
    let mut start = text.len();
    let mut letters = 0;
    for (at, _) in text.char_indices().rev().take_while(|(_, c)| is_part(*c)) {
        (start, letters) = (at, letters + 1);
        if letters > MOST_LETTERS {
            return None;
        }
    }
    let before = text[..start].chars().next_back();
    if before.is_some_and(|c| c.is_numeric() || matches!(c, '_' | '/' | '\\' | '@' | '&' | '#')) {
        return None;
    }
    let start = start + text[start..].find(char::is_alphabetic)?;
    let word = &text[start..];
    if word.ends_with(['-', '\'', '\u{2019}']) {
        return None;
    }
    let lower = folded(word);
    if let Some(short) = lower.strip_suffix('.') {
        let is_initial = short.chars().count() == 1;
        // A sentence ends here.
        if !is_initial && SHORT.binary_search(&short).is_err() {
            return None;
        }
    }
    let is_small = word.starts_with(char::is_lowercase);
    (!is_small || WITHIN.binary_search(&lower.as_str()).is_ok()).then_some(start)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The names of `a@b.c` in brackets in a text, in its order; an empty one for those without.
    fn names(text: &str) -> Vec<&str> {
        let mails: Vec<Range<usize>> =
            text.match_indices("a@b.c").map(|(at, found)| at..at + found.len()).collect();
        let found = addressed(text, &mails);
        found.into_iter().map(|one| &text[one.name]).collect()
    }

    #[test]
    fn lists_are_in_order() {
        for list in [&BEFORE[..], &WITHIN, &SHORT] {
            assert!(list.is_sorted_by(|a, b| a < b));
        }
    }

    #[test]
    fn a_name_ends_where_the_bracket_begins() {
        for (text, expected) in [
            ("Mei Chen <a@b.c>", vec!["Mei Chen"]),
            ("mail Mei Chen (a@b.c) or call", vec!["Mei Chen"]),
            ("\"Chen, Mei\" <a@b.c>", vec!["Chen, Mei"]),
            ("“mei chen” <a@b.c>", vec!["mei chen"]),
            ("[Mei Chen](mailto:a@b.c)", vec!["Mei Chen"]),
            ("From: M. Chen <a@b.c>", vec!["M. Chen"]),
            ("In Bern. Ask Dr. Mei Chen\n<a@b.c>", vec!["Mei Chen"]),
            (
                "with Seán O’Connor-Ng Jr. <a@b.c>",
                vec!["Seán O’Connor-Ng Jr."],
            ),
            ("Anna von der Heide <a@b.c>", vec!["Anna von der Heide"]),
            ("von <a@b.c>", vec![""]),
            ("mit van Dyk <a@b.c>", vec!["Dyk"]),
            ("Al Gore <a@b.c>", vec!["Al Gore"]),
            ("MEI CHEN<a@b.c>", vec!["MEI CHEN"]),
            ("请联系 陈美 <a@b.c>", vec!["请联系 陈美"]),
            (
                "Mei Chen <a@b.c>, Ann Lee <a@b.c>",
                vec!["Mei Chen", "Ann Lee"],
            ),
            ("<a@b.c><a@b.c>", vec!["", ""]),
            // No name, or none that is written as one.
            ("Contact <a@b.c>", vec![""]),
            ("write to <a@b.c>", vec![""]),
            ("It is done. <a@b.c>", vec![""]),
            ("Mei Chen\n\n<a@b.c>", vec![""]),
            ("src/Mei <a@b.c>", vec![""]),
            ("\"a b c d e f g\" <a@b.c>", vec![""]),
            // No brackets.
            ("Mei Chen a@b.c", vec![]),
            ("Mei Chen <a@b.c", vec![]),
            ("Mei Chen <a@b.c)", vec![]),
            // More words than a name has: the last ones, which no known name is.
            ("A B C D E F G <a@b.c>", vec!["B C D E F G"]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn an_address_is_one_word_with_a_domain() {
        assert_eq!(before_the_at("mei.chen@acme.example"), Some("mei.chen"));
        for name in [
            "mei",
            "@acme.example",
            "mei@acme",
            "a@b@c.d",
            "mei @acme.example",
            "",
        ] {
            assert_eq!(before_the_at(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn names_stand_where_they_say(text in "([A-Ca-c éÅ\u{301}陈.,'\"“”<>()\\[\\]\n-]|a@b.c){0,60}") {
            let mails: Vec<Range<usize>> =
                text.match_indices("a@b.c").map(|(at, found)| at..at + found.len()).collect();
            let mut last = 0;
            for one in addressed(&text, &mails) {
                prop_assert!(one.at.start >= last && one.name.start >= one.at.start);
                prop_assert!(one.name.end <= one.mail.start && one.mail.end < one.at.end);
                let name = &text[one.name];
                prop_assert_eq!(name.trim(), name);
                last = one.at.end;
            }
        }
    }
}
