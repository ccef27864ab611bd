//! The sentences of a text, and what each weighs.

use super::signal::EMPTY;
use crate::rank::ranker::each_term;

/// The weight of each sign beside what the task names.
const DENSITY: f64 = 1.0;
const DECISION: f64 = 1.0;
const CORRECTION: f64 = 1.0;

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
/// The beginnings of sentences that only acknowledge.
#[rustfmt::skip]
const ACKNOWLEDGES: [&str; 14] = [
    "sure", "of course", "certainly", "great question", "thanks", "thank you", "let me ", "ok,",
    "okay", "you're welcome", "happy to help", "i hope this helps", "no problem", "got it",
];
/// Longer sentences say something besides.
const ACKNOWLEDGEMENT: usize = 80;

/// The sentences of a text: what ends with a full stop before white space, or with a line that
/// another one does not continue.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
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

/// Returns whether the full stop at the end is that of a short form: a letter, a title, "e.g.".
fn is_short(sentence: &str) -> bool {
    let Some(body) = sentence.strip_suffix('.') else {
        return false;
    };
    let from = body.char_indices().rev().take(8).find(|(_, c)| c.is_whitespace() || *c == '(');
    let word = match from {
        Some((at, c)) => &body[at + c.len_utf8()..],
        None => body,
    };
    // "4.2 K." ends with a unit.
    let measured = sentence.len() > word.len() + 1
        && body[..body.len() - word.len()]
            .trim_end()
            .ends_with(|c: char| c.is_ascii_digit());
    (word.chars().count() == 1 && !measured)
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
pub(super) fn density(sentence: &str) -> f64 {
    let (mut words, mut telling) = (0u32, 0u32);
    each_term(sentence, |term| {
        words += 1;
        telling += u32::from(EMPTY.binary_search(&term).is_err());
    });
    f64::from(telling) / f64::from(words.max(1))
}

pub(crate) fn acknowledges(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    // "Surely not" and "thanks to the valve" say something.
    sentence.len() <= ACKNOWLEDGEMENT
        && ACKNOWLEDGES.iter().any(|start| {
            lower.strip_prefix(start).is_some_and(|rest| {
                let whole = start.ends_with(|c: char| !c.is_alphanumeric());
                (whole || !rest.starts_with(char::is_alphanumeric)) && !rest.starts_with(" to ")
            })
        })
}

/// Words that speak of how something is said, not of what.
#[rustfmt::skip]
const STYLES: [&str; 26] = [
    "bullets", "casual", "chattier", "chatty", "concise", "concisely", "emoji", "emojis", "formal", "formally",
    "friendlier", "friendly", "informal", "jargon", "playful", "polite", "politely", "style", "terse", "tone",
    "verbose", "warmer", "wordier", "wordy", "brief", "briefly",
];
/// A longer sentence asks for something besides a style.
const STYLE: usize = 160;

/// Returns whether a sentence asks for nothing but a tone or a style, or acknowledges. One with a number says more.
pub(crate) fn asks_for_style(sentence: &str) -> bool {
    let says_more = sentence.len() > STYLE || sentence.contains(|c: char| c.is_ascii_digit());
    let lower = sentence.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    !says_more && (words.any(|word| STYLES.contains(&word)) || acknowledges(sentence))
}

/// Returns the worth of a sentence whatever the task: how much it says, whether it decides something, whether it
/// corrects something.
pub(super) fn weight(sentence: &str) -> f64 {
    if acknowledges(sentence) {
        return 0.0;
    }
    let lower = format!(" {} ", sentence.to_lowercase());
    let says = |words: &[&str]| f64::from(u8::from(words.iter().any(|word| lower.contains(word))));
    DENSITY * density(sentence) + DECISION * says(&DECIDES) + CORRECTION * says(&CORRECTS)
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
}
