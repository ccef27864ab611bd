//! The passages of a session that answer a question, the answer before the question: what a model said when it asked
//! is nearest to it, and says nothing.

use std::collections::BTreeSet;
use std::ops::Range;

use tenure::condense::turns::Speaker;
use tenure::{Error, Tokenizer};

use super::Session;
use super::own_calls::OwnCalls;
use super::recall::{Page, Passage, Passages, questions, together};
use super::rehydrate::{Original, original};

/// The least nearness of a passage that answers a question, as a share of that of the nearest.
const FLOOR: f64 = 0.3;
/// The user's own words stand before what is nearer to a question by less than this.
const OWN_WORDS: f64 = 0.1;
/// The bytes of a word's beginning by which two words are one: what follows is mostly its form.
const STEM: usize = 5;

/// The passages of a message that were chosen.
struct Chosen {
    page: usize,
    score: f64,
    ranges: Vec<Range<usize>>,
}

impl Session {
    /// The passages that answer a question, the best first, and the number of those that did not fit.
    pub(super) fn about(
        &self,
        query: &str,
        tokens: u32,
        tokenizer: &dyn Tokenizer,
    ) -> Result<(Vec<Original>, usize), Error> {
        if query.trim().is_empty() {
            return Err(Error::input("the query is empty").expected("some words"));
        }
        let all = self.searched()?;
        let dates: Vec<String> = all.iter().map(|found| found.at.to_string()).collect();
        let messages = all.iter().zip(&dates).map(|(found, date)| Page {
            speaker: &found.speaker,
            date,
            text: &found.text,
        });
        let pages = Passages::of(messages.collect());
        let asked = questions(query);
        let mut found = pages.about(&asked, FLOOR);
        let question = Question::of(query, &asked);
        found.sort_by_cached_key(|passage| question.rank(passage, &all[passage.page]));
        let mut chosen: Vec<Chosen> = Vec::new();
        let (mut spent, mut left_out) = (0u64, 0);
        for passage in found {
            let text = &all[passage.page].text;
            let mut ranges = pages.narrowed(&passage, query);
            let said = ranges.iter().map(|range| &text[range.clone()]);
            // A line between passages costs something, too.
            let cost: u64 = said.map(|said| tokenizer.count(said) as u64 + 2).sum();
            if spent + cost > u64::from(tokens) {
                left_out += 1;
                continue;
            }
            spent += cost;
            match chosen.iter_mut().find(|chosen| chosen.page == passage.page) {
                Some(chosen) => chosen.ranges.append(&mut ranges),
                None => chosen.push(Chosen {
                    page: passage.page,
                    score: passage.score,
                    ranges,
                }),
            }
        }
        let found = chosen.into_iter().map(|chosen| {
            let whole = &all[chosen.page];
            let text = together(&whole.text, chosen.ranges);
            Original {
                partial: text != whole.text.trim(),
                score: Some(chosen.score),
                text,
                objects: Vec::new(),
                ..whole.clone()
            }
        });
        Ok((found.collect(), left_out))
    }

    /// The messages that are looked through: not what is judged, nor what Tenure's tools were asked and said.
    fn searched(&self) -> Result<Vec<Original>, Error> {
        let (mut all, mut own) = (Vec::new(), OwnCalls::default());
        self.each_message(&mut |number, mut message| {
            own.leave_out(&mut message);
            if !self.is_judged(number) && !message.objects.is_empty() {
                all.push(original(number, message));
            }
            Ok(())
        })?;
        Ok(all)
    }
}

/// A query, with what an answer to it should hold.
struct Question {
    /// For each of its questions what stands in it word for word: phrases in quotes, numbers, names with signs in them.
    exact: Vec<Vec<String>>,
    /// The beginnings of all of its words.
    words: BTreeSet<String>,
}

impl Question {
    fn of(query: &str, asked: &[&str]) -> Question {
        Question {
            exact: asked.iter().map(|asked| exact(asked)).collect(),
            words: words(query).collect(),
        }
    }

    /// The place of a passage among the others, the first the least: what only asks again comes last; else what holds
    /// all that the question names word for word, then the user's own words, then the nearest.
    fn rank(&self, passage: &Passage, page: &Original) -> (bool, usize, u64) {
        let text = &page.text[passage.range.clone()];
        let exact = self.exact[passage.question].iter();
        let missing = exact.filter(|exact| !holds(text, exact)).count();
        let own = if page.speaker == Speaker::User.term() {
            OWN_WORDS
        } else {
            0.0
        };
        // Scores are 0 to 1: of non-negative numbers, the bits are in the order of the numbers.
        let far = (2.0 - passage.score - own).max(0.0).to_bits();
        (!self.is_answered_by(text), missing, far)
    }

    /// Returns whether a text says something that the question does not: a word or a number, in a sentence that asks
    /// nothing.
    fn is_answered_by(&self, text: &str) -> bool {
        let mut sentences = text.split_inclusive(['.', '!', '?', '？', '؟', '。', '\n']);
        sentences.any(|sentence| {
            !sentence.ends_with(['?', '？', '؟'])
                && words(sentence).any(|word| !self.words.contains(&word))
        })
    }
}

/// The beginnings of the words of a text that may say something: of four bytes or more, or with a digit.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| {
            word.len() > 3 || word.bytes().any(|byte| byte.is_ascii_digit()) || !word.is_ascii()
        })
        .map(|word| {
            let word = word.to_lowercase();
            // A number is one only whole.
            if word.bytes().any(|byte| byte.is_ascii_digit()) {
                return word;
            }
            word[..word.floor_char_boundary(STEM)].to_owned()
        })
}

/// The words that an answer must hold as they are: phrases in quotes, and words with a digit or a sign in them.
fn exact(question: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (open, close) in [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('`', '`')] {
        let mut rest = question;
        while let Some((_, after)) = rest.split_once(open)
            && let Some((phrase, behind)) = after.split_once(close)
        {
            found.push(phrase.trim().to_lowercase());
            rest = behind;
        }
    }
    let words = question
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase())
        .filter(|word| {
            word.chars().any(char::is_numeric) || word.contains(['_', '/', '.', ':', '@'])
        });
    found.extend(words);
    found.retain(|exact| !exact.is_empty());
    found
}

/// Returns whether a text holds a phrase, not as part of a longer word.
fn holds(text: &str, phrase: &str) -> bool {
    let text = text.to_lowercase();
    let is_apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(phrase).any(|(at, _)| {
        is_apart(text[..at].chars().next_back())
            && is_apart(text[at + phrase.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_question_names_is_found_whole() {
        let named = exact("What did \"the crane\" of dock 7 report for src/app.rs (v2.1)?");
        assert_eq!(named, ["the crane", "7", "src/app.rs", "v2.1"]);
        assert!(holds("Dock 7: The crane stands.", "7"));
        assert!(!holds("Dock 17 and 70", "7"));
        assert!(exact("Where is the crane?").is_empty());
    }

    #[test]
    fn what_only_asks_again_answers_nothing() {
        let query = "Which port does the relay listen on?";
        let question = Question::of(query, &[query]);
        for asked in [
            query,
            "which PORT, relay listens",
            "Tell me something: on what port does that relay of ours listen?",
        ] {
            assert!(!question.is_answered_by(asked), "{asked}");
        }
        for said in [
            "The relay listens on port 8443.",
            "On what port? The relay listens at 8443.",
            "Der Relay lauscht nirgends.",
        ] {
            assert!(question.is_answered_by(said), "{said}");
        }
    }
}
