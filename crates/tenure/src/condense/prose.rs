//! Prose: sentences stay as they were written, in their order, chosen by five factors
//! (Prefill Compiler, Algorithm 6.3): how much they say, whether the task names it, how near the
//! end they are, whether they decide something, whether they correct something.

use super::lines::{Kept, keep};
use super::select::order;
use super::signal::{EMPTY, Signs, Task, worth};
use super::{Draft, Goal, Method, Omission, Reading, Unit};
use crate::lexical::each_term;
use crate::num::exp;

/// The weight of each factor beside what the task names.
const DENSITY: f64 = 2.0;
const RECENCY: f64 = 1.0;
const DECISION: f64 = 3.0;
const CORRECTION: f64 = 4.0;
/// How fast recency decays: by half in about fourteen sentences.
const DECAY: f64 = 0.05;

/// Words that decide and words that correct, as whole words.
#[rustfmt::skip]
const DECIDES: [&str; 16] = [
    " agreed", " choose ", " chose ", " chosen ", " conclude", " decide", " decision", " must ",
    " never ", " requires", " shall ", " should ", " therefore", " we will ", " we use ", " settled ",
];
#[rustfmt::skip]
const CORRECTS: [&str; 12] = [
    " actually", " but not ", " correction", " instead", " mistake", " no longer ", " not ",
    " rather than ", " sorry", " wrong", " however", " except ",
];
/// How sentences start that acknowledge and say nothing.
#[rustfmt::skip]
const ACKNOWLEDGES: [&str; 14] = [
    "sure", "of course", "certainly", "great question", "thanks", "thank you", "let me ", "ok,",
    "okay", "you're welcome", "happy to help", "i hope this helps", "no problem", "got it",
];
/// Longer sentences say something besides.
const ACKNOWLEDGEMENT: usize = 80;

/// A text read as sentences.
pub(super) struct Prose<'t> {
    sentences: Vec<&'t str>,
}

impl<'t> Prose<'t> {
    pub(super) fn read(text: &'t str) -> Prose<'t> {
        Prose {
            sentences: sentences(text),
        }
    }
}

/// The sentences of a text: what ends with a full stop before white space, or with a line that
/// another one does not continue.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut stop = false;
    let mut newline = false;
    for (at, c) in text.char_indices() {
        match c {
            '。' | '！' | '？' => {
                push(&mut found, &text[start..at + c.len_utf8()]);
                start = at + c.len_utf8();
                stop = false;
            }
            '.' | '!' | '?' => stop = true,
            '"' | '\'' | ')' | ']' | '”' | '’' => {}
            '\n' if stop || newline => {
                push(&mut found, &text[start..at]);
                start = at + 1;
                stop = false;
            }
            c if c.is_whitespace() => {
                if stop && !is_short(&text[start..at]) {
                    push(&mut found, &text[start..at]);
                    start = at;
                }
                stop = false;
            }
            _ => stop = false,
        }
        newline = c == '\n' || (newline && c.is_whitespace());
    }
    push(&mut found, &text[start..]);
    found
}

/// Whether the full stop at the end is that of a short form: a letter, a title, "e.g.".
fn is_short(sentence: &str) -> bool {
    let Some(body) = sentence.strip_suffix('.') else {
        return false;
    };
    let from = body
        .char_indices()
        .rev()
        .take(8)
        .find(|(_, c)| c.is_whitespace() || *c == '(');
    let word = match from {
        Some((at, c)) => &body[at + c.len_utf8()..],
        None => body,
    };
    word.chars().count() == 1
        || word.contains('.')
        || matches!(
            word,
            "Mr" | "Mrs" | "Ms" | "Dr" | "St" | "vs" | "cf" | "etc" | "No" | "Fig" | "approx"
        )
}

fn push<'t>(found: &mut Vec<&'t str>, sentence: &'t str) {
    let sentence = sentence.trim();
    if !sentence.is_empty() {
        found.push(sentence);
    }
}

/// The share of its words that name something.
fn density(sentence: &str) -> f64 {
    let (mut words, mut telling) = (0u32, 0u32);
    each_term(sentence, |term| {
        words += 1;
        telling += u32::from(EMPTY.binary_search(&term).is_err());
    });
    f64::from(telling) / f64::from(words.max(1))
}

fn acknowledges(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    sentence.len() <= ACKNOWLEDGEMENT && ACKNOWLEDGES.iter().any(|start| lower.starts_with(start))
}

impl Reading for Prose<'_> {
    /// Sentences have nothing that could go without loss.
    fn lossless(&self) -> Option<Draft> {
        None
    }

    fn lossy(&self, goal: &Goal<'_>) -> Option<Draft> {
        let task = Task::new(goal.task);
        let signs: Vec<Signs> = self
            .sentences
            .iter()
            .map(|sentence| task.read(sentence))
            .collect();
        let mut worth = worth(&task, &signs);
        let count = self.sentences.len();
        for (at, (sentence, worth)) in self.sentences.iter().zip(&mut worth).enumerate() {
            let lower = format!(" {} ", sentence.to_lowercase());
            let says =
                |words: &[&str]| f64::from(u8::from(words.iter().any(|word| lower.contains(word))));
            if acknowledges(sentence) {
                *worth = 0.0;
                continue;
            }
            *worth += DENSITY * density(sentence)
                + RECENCY * exp(-DECAY * (count - 1 - at) as f64)
                + DECISION * says(&DECIDES)
                + CORRECTION * says(&CORRECTS);
        }
        let class = |at: usize| match acknowledges(self.sentences[at]) {
            true => Omission::Acknowledgement,
            false => Omission::LowRelevance,
        };
        keep(
            &Kept {
                head: "",
                parts: &self.sentences,
                end: "\n",
                order: &order(&worth),
                unit: Unit::Sentences,
                method: Method::Extracted,
                class: &class,
            },
            goal,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_they_end() {
        let text = "Dr. Ada met J. Doe (e.g. at 3.5 km). \"Did she?\" Yes!\nA line\nthat goes on.\n\nA heading\n\n漢字。次の文。";
        assert_eq!(
            sentences(text),
            [
                "Dr. Ada met J. Doe (e.g. at 3.5 km).",
                "\"Did she?\"",
                "Yes!",
                "A line\nthat goes on.",
                "A heading",
                "漢字。",
                "次の文。"
            ]
        );
    }

    #[test]
    fn decisions_corrections_and_what_the_task_names_stay() {
        let filler =
            "It is so that one had been there and was with it for all of this. ".repeat(30);
        let text = format!(
            "The talk began. {filler}We decided to use PostgreSQL. {filler}Sure, let me look. The limit is not 30 but 50 requests. {filler}Valve 17 leaks. {filler}That was all."
        );
        let goal = Goal {
            tokens: 90,
            task: "What about valve 17?",
            count: &|text| text.len() / 4,
            lossless_only: false,
        };
        let draft = Prose::read(&text).lossy(&goal).unwrap();
        let places: Vec<usize> = ["began.", "decided", "not 30", "Valve 17", "all."]
            .iter()
            .map(|part| {
                draft
                    .text
                    .find(part)
                    .unwrap_or_else(|| panic!("{part} {}", draft.text))
            })
            .collect();
        assert!(places.is_sorted());
        assert!(!draft.text.contains("Sure"));
        assert_eq!(draft.left_out[0].class, Omission::Acknowledgement);
    }
}
