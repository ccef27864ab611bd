//! From text to the terms that are compared: words in small letters, without those that say nothing, cut
//! to their stems.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use rust_stemmers::{Algorithm, Stemmer};

use crate::lexical::each_term;

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

/// Makes terms; what was cut once is remembered.
pub(super) struct Terms {
    stemmer: Stemmer,
    stems: HashMap<Box<str>, Box<str>, BuildHasherDefault<std::hash::DefaultHasher>>,
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
    /// Calls `found` for each term of a unit.
    pub(super) fn each(&mut self, text: &str, mut found: impl FnMut(&str)) {
        each_term(text, |word| {
            if !says_nothing(word) {
                self.stem(word, &mut found);
            }
        });
    }

    fn stem(&mut self, word: &str, found: &mut impl FnMut(&str)) {
        // Numbers and other scripts have no English endings.
        if word.len() < 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            return found(word);
        }
        if let Some(stem) = self.stems.get(word) {
            return found(stem);
        }
        let stem = self.stemmer.stem(word);
        found(&stem);
        self.stems.insert(word.into(), stem.as_ref().into());
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

    #[test]
    fn stop_words_are_in_order() {
        assert!(STOP_WORDS.is_sorted());
    }
}
