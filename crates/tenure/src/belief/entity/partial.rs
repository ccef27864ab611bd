//! Parts of names in a text: "Sam" where Sam Young is known, "A. Lovelace", "Nova" for Project Nova. No alias finds them,
//! and by itself none of them says whom it means: each is a question, unless its session has answered it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::mention::{MAX_ALIAS, MAX_MENTIONS, Mention, Sign};
use crate::belief::claim::folded;

/// The most words of a part of a name.
const MOST_WORDS: usize = 4;
/// The fewest letters of a word that gives a name away.
const FEWEST_LETTERS: usize = 3;

/// Words that many names share, in order: they give none away.
const SHARED: [&str; 48] = [
    "and",
    "app",
    "board",
    "business",
    "center",
    "centre",
    "client",
    "committee",
    "company",
    "corp",
    "corporation",
    "data",
    "department",
    "division",
    "engineering",
    "finance",
    "for",
    "gmbh",
    "group",
    "inc",
    "international",
    "legal",
    "limited",
    "llc",
    "ltd",
    "management",
    "marketing",
    "new",
    "office",
    "operations",
    "plan",
    "platform",
    "product",
    "program",
    "project",
    "report",
    "sales",
    "security",
    "server",
    "service",
    "services",
    "support",
    "system",
    "systems",
    "team",
    "the",
    "tool",
    "university",
];

/// Names that are plain words, too, in order: the first word of a sentence has a capital whatever it means.
const PLAIN: [&str; 38] = [
    "angel", "april", "art", "august", "bill", "chance", "chase", "chip", "dawn", "drew", "faith",
    "frank", "grace", "grant", "guy", "hope", "jack", "joy", "june", "major", "mark", "max", "may",
    "miles", "olive", "pat", "pearl", "penny", "ray", "rich", "rob", "rose", "sandy", "skip",
    "sue", "wade", "ward", "will",
];

/// The words that give the names of an entity away. A name of one word is found whole, and marks are no names.
pub(super) fn telling_words<'n>(names: impl IntoIterator<Item = &'n String>) -> BTreeSet<String> {
    let names = names.into_iter().filter(|name| !name.contains(['@', '/', '\\']));
    let mut telling = BTreeSet::new();
    for name in names {
        let name = folded(name);
        let words = || name.split(|c: char| !c.is_alphanumeric());
        if words().filter(|word| !word.is_empty()).count() < 2 {
            continue;
        }
        let tells = words().filter(|word| {
            let is_long = word.chars().nth(FEWEST_LETTERS - 1).is_some();
            is_long && word.chars().all(char::is_alphabetic) && !is_among(&SHARED, word)
        });
        telling.extend(tells.map(str::to_owned));
    }
    telling
}

fn is_among(words: &[&str], word: &str) -> bool {
    words.binary_search(&word).is_ok()
}

/// The parts of names in a text, in its order and each once, outside of the places that are `taken` (in the order of the text,
/// apart from each other): up to four words with a capital in a row, of which one is a word of a name.
pub(super) fn partial_names(
    text: &str,
    taken: &[Range<usize>],
    is_name: &mut dyn FnMut(&str) -> bool,
) -> Vec<Mention> {
    let mut found = Vec::new();
    let mut named = BTreeSet::new();
    let mut runs = Runs { text, at: 0 };
    let mut next = 0;
    while let Some(run) = runs.next_run() {
        let Some((first, last)) = run.words.first().zip(run.words.last()) else {
            continue;
        };
        while taken.get(next).is_some_and(|one| one.end <= first.start) {
            next += 1;
        }
        let is_taken = taken.get(next).is_some_and(|one| one.start < last.end);
        if is_taken {
            continue;
        }
        let Some(at) = run.name(text, is_name) else {
            continue;
        };
        let name = folded(&text[at.clone()]);
        if named.contains(&name) {
            continue;
        }
        if found.len() > MAX_MENTIONS {
            break;
        }
        named.insert(name.clone());
        found.push(Mention {
            name,
            at,
            sign: Sign::PartialName,
            kind: None,
            beside: None,
        });
    }
    found
}

/// Words with a capital, one behind the other.
struct Run {
    words: Vec<Range<usize>>,
    /// True if a sentence, or a line, begins with it.
    begins: bool,
}

impl Run {
    /// The place of the name in it.
    fn name(&self, text: &str, is_name: &mut dyn FnMut(&str) -> bool) -> Option<Range<usize>> {
        let of = |word: &Range<usize>| folded(&text[word.clone()]);
        let mut telling = |word: &Range<usize>| is_name(of(word).trim_end_matches('.'));
        let mut words = self.words.as_slice();
        let mut begins = self.begins;
        if begins && words.len() > 1 && !telling(&words[0]) && !is_initial(text, &words[0]) {
            words = &words[1..];
            begins = false;
        }
        if let [title, rest @ ..] = words
            && !rest.is_empty()
            && matches!(
                of(title).trim_end_matches('.'),
                "mr" | "mrs" | "ms" | "dr" | "prof"
            )
        {
            words = rest;
        }
        let (first, last) = words.first().zip(words.last())?;
        let is_plain = begins && words.len() == 1 && is_among(&PLAIN, &of(first));
        let at = first.start..last.end;
        let is_one = !is_plain && at.len() <= MAX_ALIAS && words.iter().any(&mut telling);
        is_one.then_some(at)
    }
}

/// Returns whether a word is one letter with or without a full stop.
fn is_initial(text: &str, word: &Range<usize>) -> bool {
    text[word.clone()].trim_end_matches('.').chars().count() == 1
}

/// The runs of a text.
struct Runs<'t> {
    text: &'t str,
    at: usize,
}

impl Runs<'_> {
    fn next_run(&mut self) -> Option<Run> {
        let first = self.next_capital()?;
        let mut run = Run {
            begins: begins_sentence(&self.text[..first.start]),
            words: vec![first],
        };
        while run.words.len() < MOST_WORDS {
            let Some(last) = run.words.last() else { break };
            let rest = &self.text[last.end..];
            let gap = rest.len() - rest.trim_start_matches([' ', '\n', '\t']).len();
            let is_gap = gap == 1 || (gap > 1 && !rest[..gap].contains('\n'));
            let Some(word) = is_gap.then(|| word_at(self.text, last.end + gap)).flatten() else {
                break;
            };
            run.words.push(word);
        }
        self.at = run.words.last().map_or(self.text.len(), |last| last.end);
        Some(run)
    }

    /// The next word with a capital. Most bytes are none: they are looked at alone.
    fn next_capital(&mut self) -> Option<Range<usize>> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            let may_begin = byte.is_ascii_uppercase() || *byte >= 0xC0;
            if may_begin {
                let before = self.text[..self.at].chars().next_back();
                if !before
                    .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))
                    && let Some(word) = word_at(self.text, self.at)
                {
                    return Some(word);
                }
            }
            self.at += 1;
        }
        None
    }
}

/// The word that begins here, where it begins with a capital and goes on with small letters; or an initial with its full
/// stop.
fn word_at(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let mut chars = rest.chars();
    let first = chars.next().filter(|c| c.is_uppercase())?;
    let small = chars.as_str();
    let end = small
        .char_indices()
        .find(|(_, c)| !c.is_alphabetic() && !matches!(c, '\u{300}'..='\u{36F}'))
        .map_or(small.len(), |(end, _)| end);
    let (letters, behind) = small.split_at(end);
    let begin = at + first.len_utf8();
    if letters.is_empty() {
        return behind.starts_with('.').then_some(at..begin + 1);
    }
    // All capitals are an acronym or a shout, digits and underlines a name of something else.
    let is_word = letters.chars().any(char::is_lowercase)
        && !behind.starts_with(['_', '(', '@', '/'])
        && !behind.starts_with(|c: char| c.is_numeric());
    is_word.then_some(at..begin + end)
}

/// Returns whether what follows this text begins a sentence or a line.
fn begins_sentence(before: &str) -> bool {
    let trimmed = before.trim_end_matches([
        ' ', '\t', '"', '\'', '(', '*', '#', '>', '-', '\u{201C}', '\u{2018}',
    ]);
    match trimmed.chars().next_back() {
        None | Some('\n') => true,
        Some(c) => matches!(c, '.' | '!' | '?' | ':' | '\u{2026}' | '|'),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(names: &[&str]) -> BTreeSet<String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        telling_words(&names)
    }

    fn found(names: &[&str], text: &str) -> Vec<String> {
        let words = words(names);
        let found = partial_names(text, &[], &mut |word| words.contains(word));
        found.into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn lists_are_in_order() {
        for list in [&SHARED[..], &PLAIN[..]] {
            assert!(list.is_sorted());
        }
    }

    #[test]
    fn parts_of_known_names_are_found() {
        let names = ["Sam Young", "Ada Lovelace", "Project Nova", "Zoë Ångström"];
        for (text, expected) in [
            (
                "Yesterday Sam asked A. Lovelace.",
                vec!["sam", "a. lovelace"],
            ),
            ("Ask Sam's deputy about Nova", vec!["sam", "nova"]),
            ("Then Dr. Lovelace left", vec!["lovelace"]),
            ("for Zoë and\nÅngström", vec!["zoë", "ångström"]),
            ("- Sam: yes", vec!["sam"]),
            // Another name holds the word: it is compared whole.
            ("with Sam Brown", vec!["sam brown"]),
            // What is no word with a capital, and what many names share.
            (
                "sam, SAM, Sam_Young(), sam.Sam, Sam2, innoNova; Project work; the Project",
                vec![],
            ),
            ("", vec![]),
        ] {
            assert_eq!(found(&names, text), expected, "{text}");
        }
    }

    #[test]
    fn a_plain_word_that_begins_a_sentence_is_no_name() {
        assert_eq!(
            found(&["Mark Young"], "Mark the valve. Ask Mark."),
            ["mark"]
        );
        assert_eq!(found(&["Will Hunt"], "Done. Will it hold?"), [""; 0]);
    }

    #[test]
    fn marks_and_names_of_one_word_have_no_parts() {
        let names = ["legal@acme.example", "docs/Plan.md", "Nova"];
        assert_eq!(
            found(&names, "Ask Acme, see Docs and Plan of Nova"),
            [""; 0]
        );
    }

    #[test]
    fn what_is_a_mention_already_is_left_alone() {
        let words = words(&["Ada Lovelace"]);
        let text = "for Ada Lovelace and Ada";
        let found = partial_names(text, std::slice::from_ref(&(4..16)), &mut |word| {
            words.contains(word)
        });
        let places: Vec<_> = found.iter().map(|one| (one.at.start, one.at.end)).collect();
        assert_eq!(places, [(21, 24)]);
    }

    proptest! {
        #[test]
        fn parts_stand_where_they_say(text in "[A-Ca-c ÉéÅ\u{301}ﬁ\n.'_2-]{0,60}") {
            let mut last = 0;
            for mention in partial_names(&text, &[], &mut |_| true) {
                prop_assert!(mention.at.start >= last && mention.at.start < mention.at.end);
                prop_assert_eq!(folded(&text[mention.at.clone()]), mention.name);
                last = mention.at.end;
            }
        }
    }
}
