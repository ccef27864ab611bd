//! The polarity of guidance: the first word that asks or forbids decides. English only.

use std::hash::{DefaultHasher, Hasher};

use crate::condense::fidelity::negates;
use crate::object::Polarity;
use crate::rank::ranker::each_term;

/// Longer texts say more than one thing.
const LONGEST: usize = 600;

/// Words that demand, in the order of their letters.
const DEMANDS: [&str; 6] = ["always", "ensure", "must", "require", "shall", "should"];

/// Returns the polarity of a text of guidance. A demand with a negation right behind it forbids.
pub(crate) fn stance(text: &str) -> Option<Polarity> {
    if text.len() > LONGEST {
        return None;
    }
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’');
    let mut words = words.filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        if negates(word) {
            return Some(Polarity::Negative);
        }
        if DEMANDS.binary_search(&word).is_ok() {
            return Some(if words.next().is_some_and(negates) {
                Polarity::Negative
            } else {
                Polarity::Positive
            });
        }
    }
    None
}

/// The topic of a text of guidance: its words of four bytes or more, without those that demand or forbid. They are
/// only compared, so a digest stands for each; in the order of the digests, each once.
#[derive(Debug)]
pub(crate) struct Topic(Box<[u64]>);

impl Topic {
    /// The topic of a text.
    pub(crate) fn of(text: &str) -> Topic {
        let mut words = Vec::new();
        each_term(text, |word| {
            if word.len() >= 4 && !says_how(word) {
                let mut hasher = DefaultHasher::new();
                hasher.write(word.as_bytes());
                words.push(hasher.finish());
            }
        });
        words.sort_unstable();
        words.dedup();
        Topic(words.into())
    }

    /// The digests of its words.
    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }
}

/// Returns whether a word, in small letters, says that something is asked or forbidden, and not what.
fn says_how(word: &str) -> bool {
    negates(word) || DEMANDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_decides() {
        assert!(DEMANDS.is_sorted());
        let asks = [
            "Always sign.",
            "You must sign, never initial.",
            "It should be signed, not initialled.",
        ];
        let forbids = [
            "Never sign.",
            "You must not sign.",
            "Don't sign.",
            "It shouldn’t be signed.",
        ];
        assert!(
            asks.iter()
                .all(|text| stance(text) == Some(Polarity::Positive))
        );
        assert!(
            forbids
                .iter()
                .all(|text| stance(text) == Some(Polarity::Negative))
        );
        assert_eq!(stance("The lamp is green."), None);
        assert_eq!(stance(&format!("Never {}", "x".repeat(700))), None);
    }
}
