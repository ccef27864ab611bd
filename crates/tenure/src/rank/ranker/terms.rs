//! From text to the terms that are compared: words in small letters, without those that say nothing, cut
//! to their stems.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use rust_stemmers::{Algorithm, Stemmer};

use unicode_normalization::char::{compose, is_combining_mark};

/// The longest word, in bytes.
const MAX_WORD: usize = 64;

/// Calls `found` for each word of `text`: a run of letters and digits in lower case; an ideograph,
/// kana or hangul syllable is a word of its own. Marks belong to the letter that they stand on: where
/// there is a letter with the mark, it stands for both.
pub(crate) fn each_term(text: &str, mut found: impl FnMut(&str)) {
    let mut word = String::with_capacity(MAX_WORD);
    for c in text.chars() {
        if c.is_ascii() {
            if !c.is_ascii_alphanumeric() {
                close(&mut word, &mut found);
            } else if word.len() < MAX_WORD {
                word.push(c.to_ascii_lowercase());
            }
            continue;
        }
        let alone = matches!(u32::from(c), 0x2E80..=0xD7FF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF);
        if alone {
            close(&mut word, &mut found);
            if c.is_alphanumeric() {
                found(c.encode_utf8(&mut [0; 4]));
            }
        } else if is_combining_mark(c) {
            add_mark(&mut word, c);
        } else if is_invisible(c) {
            // As if it were not there.
        } else if !c.is_alphanumeric() {
            close(&mut word, &mut found);
        } else if word.len() < MAX_WORD {
            word.extend(c.to_lowercase());
        }
    }
    close(&mut word, &mut found);
}

fn close(word: &mut String, found: &mut impl FnMut(&str)) {
    if !word.is_empty() {
        found(word);
        word.clear();
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

fn says_nothing(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

/// Makes the terms of texts: what a text is found by. What was looked at once is remembered.
pub struct Terms {
    stemmer: Stemmer,
    /// The stem of each word, nothing for those that say nothing.
    stems: HashMap<Box<str>, Option<Box<str>>, BuildHasherDefault<std::hash::DefaultHasher>>,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            stemmer: Stemmer::create(Algorithm::English),
            stems: HashMap::default(),
        }
    }
}

impl Terms {
    /// Calls `found` for each term of a text, as often as it stands there.
    pub fn each(&mut self, text: &str, mut found: impl FnMut(&str)) {
        each_term(text, |word| {
            // Numbers and other scripts have no English endings, and all of them say something.
            if !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
                return found(word);
            }
            if let Some(known) = self.stems.get(word) {
                return known.as_deref().into_iter().for_each(&mut found);
            }
            let stem = (!says_nothing(word)).then(|| match word.len() {
                0..3 => Cow::Borrowed(word),
                _ => self.stemmer.stem(word),
            });
            stem.as_deref().into_iter().for_each(&mut found);
            self.stems.insert(word.into(), stem.map(Into::into));
        });
    }
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
    }

    #[test]
    fn words_are_runs_of_letters_and_digits() {
        let words = words_of("TIM4's init_gpio(PB7)");
        assert_eq!(words, ["tim4", "s", "init", "gpio", "pb7"]);
        assert_eq!(words_of("漢字 ÉTÉ"), ["漢", "字", "été"]);
        assert_eq!(words_of("… ---\u{0}\u{FEFF}"), [""; 0]);
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
