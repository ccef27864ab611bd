//! From text to the terms that are compared: words in small letters, without those that say nothing, cut
//! to their stems.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::char::{compose, is_combining_mark};

use super::scripts;

/// The longest word, in bytes.
const MAX_WORD: usize = 64;

/// Calls `found` for each word of `text`: a run of letters and digits in lower case; an ideograph,
/// kana or hangul syllable is a word of its own. Marks belong to the letter that they stand on: where
/// there is a letter with the mark, it stands for both.
pub(crate) fn each_term(text: &str, mut found: impl FnMut(&str)) {
    each_word(text, |word, _| found(word));
}

/// As [`each_term`], with the places at which a word goes on with another: `getHTTPReply` is one word, and `get`, `http`
/// and `reply` as well.
fn each_word(text: &str, mut found: impl FnMut(&str, &[usize])) {
    let mut word = String::with_capacity(MAX_WORD);
    let mut humps = Humps::default();
    let mut rest = text;
    while !rest.is_empty() {
        // Most words stand in the text as they are found: nothing is copied.
        if word.is_empty()
            && let Some(plain) = plain_word(rest.as_bytes())
        {
            found(&rest[..plain], &[]);
            rest = rest.get(plain + 1..).unwrap_or_default();
            continue;
        }
        let Some(c) = rest.chars().next() else {
            break;
        };
        rest = &rest[c.len_utf8()..];
        if c.is_ascii() {
            if !c.is_ascii_alphanumeric() {
                close(&mut word, &mut humps, &mut found);
            } else if word.len() < MAX_WORD {
                humps.see(c, word.len());
                word.push(c.to_ascii_lowercase());
            } else {
                // What is over is no part of it.
                let over = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
                rest = &rest[over..];
            }
            continue;
        }
        humps.last = b' ';
        if stands_alone(c) {
            close(&mut word, &mut humps, &mut found);
            if c.is_alphanumeric() {
                found(c.encode_utf8(&mut [0; 4]), &[]);
            }
        } else if is_combining_mark(c) {
            add_mark(&mut word, c);
        } else if is_invisible(c) {
            // As if it were not there.
        } else if !c.is_alphanumeric() {
            close(&mut word, &mut humps, &mut found);
        } else if word.len() < MAX_WORD {
            word.extend(c.to_lowercase());
        }
    }
    close(&mut word, &mut humps, &mut found);
}

/// The length of the word at the beginning of a text, if it is all small letters and digits of ASCII and what ends it is ASCII, too.
fn plain_word(text: &[u8]) -> Option<usize> {
    let mut end = 0;
    while end <= MAX_WORD
        && let Some(b'a'..=b'z' | b'0'..=b'9') = text.get(end)
    {
        end += 1;
    }
    let ends = !matches!(text.get(end), Some(b'A'..=b'Z' | 0x80..));
    (ends && (1..=MAX_WORD).contains(&end)).then_some(end)
}

/// Returns whether a character is written without spaces around its word: ideographs, kana, hangul syllables.
fn stands_alone(c: char) -> bool {
    matches!(u32::from(c), 0x2E80..=0xD7FF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

fn close(word: &mut String, humps: &mut Humps, found: &mut impl FnMut(&str, &[usize])) {
    if !word.is_empty() {
        found(word, if humps.any { &humps.cuts } else { &[] });
        word.clear();
    }
    humps.clear();
}

/// The places in a word at which another begins: the humps of `camelCase`.
#[derive(Default)]
struct Humps {
    /// The places of capitals behind a small letter, and of the last of several before one.
    cuts: Vec<usize>,
    /// True if a capital stands behind a small letter: without one, `IDs` is one word.
    any: bool,
    last: u8,
}

impl Humps {
    /// Sees the next character of a word, at this place.
    fn see(&mut self, c: char, at: usize) {
        let c = c as u8;
        if c.is_ascii_uppercase() {
            if self.last.is_ascii_lowercase() || self.last.is_ascii_digit() && at > 0 {
                self.any |= self.last.is_ascii_lowercase();
                self.cuts.push(at);
            }
        } else if c.is_ascii_lowercase() && self.last.is_ascii_uppercase() && at > 1 {
            let before = at - 1;
            if self.cuts.last() != Some(&before) {
                self.cuts.push(before);
            }
        }
        self.last = c;
    }

    fn clear(&mut self) {
        self.cuts.clear();
        (self.any, self.last) = (false, 0);
    }
}

/// A mark on the last letter. One without a letter says nothing; the vowel points of Arabic and Hebrew
/// are left out in most writing, so they are left out here.
fn add_mark(word: &mut String, mark: char) {
    let point = matches!(u32::from(mark), 0x0591..=0x05C7 | 0x064B..=0x065F | 0x0670);
    let Some(letter) = word.chars().next_back().filter(|_| !point) else {
        return;
    };
    if let Some(both) = compose(letter, mark) {
        word.pop();
        word.push(both);
    } else if word.len() < MAX_WORD {
        word.push(mark);
    }
}

/// Returns whether a character joins or separates letters within a word without being seen: the joiners of Indic
/// scripts and of Persian, the soft hyphen, the Arabic line that stretches a word.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{AD}' | '\u{640}' | '\u{200C}' | '\u{200D}')
}

/// Words of English that say nothing by themselves, in the order of their letters.
#[rustfmt::skip]
const STOP_WORDS: [&str; 131] = [
    "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
    "because", "been", "before", "being", "between", "both", "but", "by", "can", "could", "d", "did", "do",
    "does", "doing", "don", "down", "during", "each", "even", "ever", "few", "for", "from", "further", "get",
    "got", "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how", "i", "if", "in",
    "into", "is", "it", "its", "just", "ll", "m", "many", "may", "me", "might", "more", "most", "much", "must",
    "my", "now", "o", "of", "off", "on", "once", "only", "or", "other", "our", "out", "over", "own", "re", "s",
    "same", "shall", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them",
    "then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "until", "up", "us",
    "ve", "very", "was", "we", "were", "what", "when", "where", "which", "while", "who", "whom", "whose", "why",
    "will", "with", "would", "you", "your",
];

/// The first of them with each letter, from `a` on, and the end of the last ones.
const STARTS: [u8; 27] = {
    let mut starts = [STOP_WORDS.len() as u8; 27];
    let mut at = STOP_WORDS.len();
    let mut letter = 26;
    while letter > 0 {
        letter -= 1;
        while at > 0 && STOP_WORDS[at - 1].as_bytes()[0] >= b'a' + letter as u8 {
            at -= 1;
        }
        starts[letter] = at as u8;
    }
    starts
};

fn says_nothing(word: &str) -> bool {
    let Some(letter @ b'a'..=b'z') = word.bytes().next() else {
        return false;
    };
    let letter = usize::from(letter - b'a');
    let [from, until] = [letter, letter + 1].map(|at| usize::from(STARTS[at]));
    STOP_WORDS[from..until].contains(&word)
}

/// Makes the terms of texts: what a text is found by. What was looked at once is remembered.
pub struct Terms {
    stemmer: Stemmer,
    /// The stem of each word.
    stems: HashMap<Box<str>, Stem, BuildHasherDefault<std::hash::DefaultHasher>>,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            stemmer: Stemmer::create(Algorithm::English),
            stems: HashMap::default(),
        }
    }
}

/// The term that a word is found by.
struct Stem {
    /// Nothing for a word of English that says nothing.
    text: Option<Box<str>>,
    /// True if it says nothing in another language.
    is_empty_elsewhere: bool,
}

impl Stem {
    /// The stem, where the word says something to who reads it.
    fn said(&self, reading: Reading) -> Option<&str> {
        let is_empty = self.is_empty_elsewhere && reading != Reading::Stored;
        self.text.as_deref().filter(|_| !is_empty)
    }
}

/// The purpose for which terms are made.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    Text,
    /// A question rarely says a word twice: nothing is remembered.
    Query,
    /// An index that is stored: its terms keep their meaning while the ranker learns.
    Stored,
}

impl Terms {
    /// Calls `found` for each term of a text, as often as it stands there.
    pub fn each(&mut self, text: &str, mut found: impl FnMut(&str)) {
        self.of_words(text, Reading::Text, &mut found);
        if !text.is_ascii() {
            runs(text).flat_map(pairs).for_each(&mut found);
            scripts::each_unspaced(text, found);
        }
    }

    /// Calls `found` for each term that a query asks for. Characters that stand side by side are asked for in pairs: what
    /// has both of them somewhere else says something else.
    pub fn each_asked(&mut self, query: &str, mut found: impl FnMut(&str)) {
        self.of_words(query, Reading::Query, &mut |term| {
            if !term.chars().next().is_some_and(stands_alone) {
                found(term);
            }
        });
        if query.is_ascii() {
            return;
        }
        let mut says = |term: &str| {
            if !scripts::says_nothing(term) {
                found(term);
            }
        };
        for run in runs(query) {
            if run.chars().nth(1).is_none() {
                says(run);
            }
            pairs(run).chain(scripts::words_of_one_character(run)).for_each(&mut says);
        }
        scripts::each_unspaced_asked(query, says);
    }

    /// Calls `found` for each term but those of several characters side by side.
    fn of_words(&mut self, text: &str, reading: Reading, found: &mut impl FnMut(&str)) {
        each_word(text, |word, cuts| {
            if word.is_ascii() || !word.contains(scripts::is_unspaced) {
                self.term(word, reading, found);
            } else {
                for part in word.split(scripts::is_unspaced).filter(|part| !part.is_empty()) {
                    self.term(part, reading, found);
                }
            }
            if !cuts.is_empty() && word.is_ascii() {
                let mut from = 0;
                for until in cuts.iter().copied().chain([word.len()]) {
                    self.term(&word[from..until], reading, found);
                    from = until;
                }
            }
        });
        // Its parts are words already.
        for name in snake_names(text) {
            found(&name.to_ascii_lowercase());
        }
    }

    /// Calls `found` for the term of each word of a text and for no name as a whole or in parts. Stored indexes are made of
    /// these: they keep their meaning while the ranker learns.
    pub fn each_word(&mut self, text: &str, mut found: impl FnMut(&str)) {
        each_term(text, |word| {
            if is_english(word) {
                self.term(word, Reading::Stored, &mut found);
            } else {
                found(word);
            }
        });
    }

    /// Calls `found` with the term of a word, if it says something.
    fn term(&mut self, word: &str, reading: Reading, found: &mut impl FnMut(&str)) {
        if !is_english(word) && (word.is_ascii() || word.chars().next().is_some_and(stands_alone)) {
            // Numbers, and characters that are words, have no endings, and all of them say something.
            return found(word);
        }
        if let Some(known) = self.stems.get(word) {
            return known.said(reading).into_iter().for_each(found);
        }
        let stem = self.stem(word);
        stem.said(reading).into_iter().for_each(found);
        if reading != Reading::Query {
            self.stems.insert(word.into(), stem);
        }
    }

    fn stem(&self, word: &str) -> Stem {
        let text = if !is_english(word) {
            Some(scripts::stem(word, &self.stemmer))
        } else if says_nothing(word) {
            None
        } else if word.len() < 3 {
            Some(Cow::Borrowed(word))
        } else {
            Some(self.stemmer.stem(word))
        };
        Stem {
            text: text.map(Into::into),
            is_empty_elsewhere: scripts::says_nothing(word),
        }
    }
}

fn is_english(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// The names of several words that a text joins with `_`: each is found as a whole as well, which is rare.
fn snake_names(text: &str) -> impl Iterator<Item = &str> {
    let has_any = text.as_bytes().contains(&b'_');
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .map(|name| name.trim_matches('_'))
        .take_while(move |_| has_any)
        .filter(move |name| has_any && name.len() <= MAX_WORD && name.contains('_'))
}

/// The runs of characters that stand alone, as [`stands_alone`] says.
fn runs(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !stands_alone(c) || !c.is_alphanumeric())
        .filter(|run| !run.is_empty())
}

/// The pairs of characters that stand side by side in a run.
fn pairs(run: &str) -> impl Iterator<Item = &str> {
    let starts = run.char_indices().map(|(at, _)| at);
    let ends = run.char_indices().skip(1).map(|(at, c)| at + c.len_utf8());
    starts.zip(ends).map(|(start, end)| &run[start..end])
}

/// The words of a name, or of a text that may hold one.
pub(super) fn words(text: &str) -> Vec<Box<str>> {
    let mut words: Vec<Box<str>> = Vec::new();
    each_term(text, |word| {
        if !says_nothing(word) {
            words.push(word.into());
        }
    });
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(text: &str) -> Vec<String> {
        let mut words = Vec::new();
        each_term(text, |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn stop_words_are_in_order() {
        assert!(STOP_WORDS.is_sorted());
        assert!(STOP_WORDS.iter().all(|word| says_nothing(word)));
        let others = [
            "",
            "aa",
            "zoo",
            "yours",
            "your\u{301}",
            "Z",
            "pump",
            "{",
            "q",
        ];
        assert!(!others.iter().any(|word| says_nothing(word)));
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        // Of a longer one its beginning is a word, and what follows it another.
        for long in ["a", "A", "7"] {
            let text = format!("{} pump", long.repeat(200));
            let begins = long.to_ascii_lowercase().repeat(MAX_WORD);
            assert_eq!(words_of(&text), [begins.as_str(), "pump"]);
        }
        let words = words_of("TIM4's init_gpio(PB7)");
        assert_eq!(words, ["tim4", "s", "init", "gpio", "pb7"]);
        assert_eq!(words_of("漢字 ÉTÉ"), ["漢", "字", "été"]);
        assert_eq!(words_of("… ---\u{0}\u{FEFF}"), [""; 0]);
    }

    #[test]
    fn a_name_of_several_words_is_found_by_them_and_as_a_whole() {
        let terms_of = |text: &str| {
            let mut terms = Vec::new();
            Terms::default().each(text, |term| terms.push(term.to_owned()));
            terms
        };
        assert_eq!(
            terms_of("sendHTTPReply"),
            ["sendhttprepli", "send", "http", "repli"]
        );
        assert_eq!(
            terms_of("readFile2Memory x"),
            ["readfile2memory", "read", "file2", "memori", "x"]
        );
        // No capital behind a small letter: one word.
        assert_eq!(
            terms_of("HTTP IDs Reply TIM4"),
            ["http", "id", "repli", "tim4"]
        );
        assert_eq!(
            terms_of("READ_file(__init__, x)"),
            ["read", "file", "init", "x", "read_file"]
        );
        // What a text is compared by elsewhere stays as it was.
        assert_eq!(words_of("getHTTPReply"), ["gethttpreply"]);
        let mut stored = Vec::new();
        Terms::default().each_word("getHTTPReplies read_files", |term| {
            stored.push(term.to_owned())
        });
        assert_eq!(stored, ["gethttprepli", "read", "file"]);
        // A character that is not ASCII ends the humps, not the word.
        assert_eq!(terms_of("aÉB")[0], "aeb");
    }

    #[test]
    fn scripts_without_spaces_are_asked_for_in_pairs() {
        let terms_of = |text: &str, is_asked: bool| {
            let (mut terms, mut all) = (Terms::default(), Vec::new());
            let found = |term: &str| all.push(term.to_owned());
            if is_asked {
                terms.each_asked(text, found);
            } else {
                terms.each(text, found);
            }
            all
        };
        assert_eq!(
            terms_of("东京都 v2，水", false),
            ["东", "京", "都", "v2", "水", "东京", "京都"]
        );
        assert_eq!(
            terms_of("东京都 v2，水", true),
            ["v2", "东京", "京都", "都", "水"]
        );
        assert_eq!(terms_of("펌프 running", true), ["run", "펌프"]);
        // Endings do not keep words apart that are written in Cyrillic.
        assert_eq!(terms_of("насосами", false), terms_of("Насосов", true));
        // What is stored knows neither.
        let mut stored = Vec::new();
        Terms::default().each_word("京都 насосами", |term| {
            stored.push(term.to_owned())
        });
        assert_eq!(stored, ["京", "都", "насосами"]);
    }

    #[test]
    fn marks_belong_to_their_letter() {
        // A composed letter and its parts are the same word.
        assert_eq!(words_of("e\u{301}te\u{301}"), words_of("été"));
        assert_eq!(words_of("विद्युत प्रवाह"), ["विद्युत", "प्रवाह"]);
        assert_eq!(words_of("ক্ষমতা"), ["ক্ষমতা"]);
        // With and without vowel points; the stretching line is a letter that says nothing.
        assert_eq!(words_of("كِتَاب"), words_of("كتاب"));
        assert_eq!(words_of("כָּתַב"), words_of("כתב"));
        assert_eq!(words_of("می\u{200C}رود"), ["میرود"]);
        assert_eq!(words_of("\u{301}"), [""; 0]);
    }

    #[test]
    fn scripts_without_spaces_are_cut_at_each_character() {
        assert_eq!(words_of("东京都"), ["东", "京", "都"]);
        assert_eq!(words_of("ポンプを2台"), ["ポ", "ン", "プ", "を", "2", "台"]);
        assert_eq!(words_of("펌프3호"), ["펌", "프", "3", "호"]);
    }
}
