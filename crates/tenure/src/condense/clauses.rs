//! Text as propositions: sentences, or the clauses of a sentence that stand on their own. What is told of English
//! words holds for English.

use std::ops::Range;

use super::sentences::sentences;

/// A line that goes on with the next one is at least so long.
const WRAPPED: usize = 50;

/// Words that make a clause of what they stand in.
#[rustfmt::skip]
const VERBS: [&str; 64] = [
    "are", "became", "becomes", "began", "begins", "calls", "can", "cannot", "closes", "comes",
    "contains", "costs", "could", "did", "does", "ends", "expires", "fails", "gave", "gets",
    "gives", "goes", "grew", "had", "has", "have", "holds", "is", "keeps", "kept", "left", "lists",
    "lives", "made", "may", "might", "must", "needs", "opens", "owns", "reads", "rejects",
    "returns", "rises", "runs", "sees", "sends", "shall", "should", "shows", "starts", "stays",
    "stops", "takes", "took", "uses", "waits", "was", "went", "were", "will", "won't", "would",
    "writes",
];

/// Words that open a sentence whose clauses hold only together.
#[rustfmt::skip]
const CONDITIONS: [&str; 14] = [
    "after", "although", "as", "because", "before", "either", "if", "once", "since", "though",
    "unless", "until", "when", "while",
];

/// Words with which something goes on that was begun before.
#[rustfmt::skip]
const LEANING: [&str; 30] = [
    "also", "and", "because", "both", "but", "consequently", "he", "hence", "however", "instead",
    "it", "its", "nor", "or", "otherwise", "she", "so", "such", "that", "their", "then",
    "therefore", "these", "they", "this", "those", "thus", "which", "who", "yet",
];

/// The marks that may stand between two clauses, the longest first.
const JOINTS: [&str; 6] = ["; ", ", whereas ", ", while ", ", and ", ", but ", " and "];

/// Returns whether the words of a text go on from what stands before it.
pub(super) fn leans(text: &str) -> bool {
    first_word(text).is_some_and(|word| LEANING.binary_search(&word.as_str()).is_ok())
}

fn first_word(text: &str) -> Option<String> {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word: String = text
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '\'')
        .take(24)
        .collect();
    (!word.is_empty()).then(|| word.to_lowercase())
}

/// The places of the sentences of a text whose lines may or may not be sentences, and of the
/// clauses of each.
pub(super) fn statements(text: &str) -> Vec<(Range<usize>, Vec<Range<usize>>)> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if !goes_on(line, &text[end..]) {
            for sentence in sentences(&text[start..end]) {
                let place = place_in(text, sentence);
                let clauses = clauses(sentence)
                    .into_iter()
                    .map(|clause| place.start + clause.start..place.start + clause.end)
                    .collect();
                found.push((place, clauses));
            }
            start = end;
        }
        at = end;
    }
    found
}

/// Returns the place of a part of a text in it.
pub(super) fn place_in(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}

/// Returns whether a sentence goes on after the end of a line.
fn goes_on(line: &str, rest: &str) -> bool {
    let opens = rest.chars().next();
    let ends = line.trim_end().chars().next_back();
    line.len() >= WRAPPED
        && opens.is_some_and(char::is_lowercase)
        && ends.is_some_and(|c| c.is_alphanumeric() || c == ',')
}

/// The clauses of a sentence that stand on their own; the sentence itself, where none do.
pub(super) fn clauses(sentence: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    if sentence.contains("\":") {
        // Keys with their values.
        for (at, c) in sentence.char_indices() {
            if matches!(c, ',' | '{' | '}' | '[' | ']') {
                push(&mut found, sentence, start..at);
                start = at + 1;
            }
        }
        push(&mut found, sentence, start..sentence.len());
        return found;
    }
    let conditional =
        first_word(sentence).is_some_and(|word| CONDITIONS.binary_search(&word.as_str()).is_ok());
    if !conditional {
        let mut depth = 0u32;
        let mut quoted = false;
        for (at, c) in sentence.char_indices() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                '"' | '`' => quoted = !quoted,
                ';' | ',' | ' ' if depth == 0 && !quoted && at >= start => {
                    let rest = &sentence[at..];
                    let joint = JOINTS.iter().find(|joint| rest.starts_with(**joint));
                    if let Some(joint) = joint
                        && stands(&sentence[start..at])
                        && stands_next(&rest[joint.len()..])
                    {
                        push(&mut found, sentence, start..at);
                        start = at + joint.len();
                    }
                }
                _ => {}
            }
        }
    }
    push(&mut found, sentence, start..sentence.len());
    found
}

fn push(found: &mut Vec<Range<usize>>, sentence: &str, range: Range<usize>) {
    let part = sentence[range.clone()].trim();
    if part.contains(char::is_alphanumeric) {
        let place = place_in(sentence, part);
        found.push(place);
    }
}

/// The number of bytes within which the verb of a clause is looked for.
const REACH: usize = 24;

fn is_verb(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    VERBS.binary_search(&word).is_ok() || (word.len() > 4 && word.ends_with("ed"))
}

/// Returns whether there is a verb in it.
fn stands(clause: &str) -> bool {
    clause.split_whitespace().rev().take(REACH).any(is_verb)
}

/// Returns whether it has a subject of its own and a verb, before anything else is joined to it.
fn stands_next(rest: &str) -> bool {
    // A look no further than this keeps the time linear.
    let rest = &rest[..rest.floor_char_boundary(400)];
    let end = JOINTS.iter().filter_map(|joint| rest.find(joint)).min();
    let clause = &rest[..end.unwrap_or(rest.len())];
    let mut words = clause.split_whitespace().take(REACH);
    words
        .next()
        .is_some_and(|word| !is_verb(word) && !leans(word) && !negates(word))
        && words.any(is_verb)
}

fn negates(word: &str) -> bool {
    matches!(word, "not" | "never" | "no" | "only" | "rather")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(sentence: &str) -> Vec<&str> {
        clauses(sentence).into_iter().map(|clause| &sentence[clause]).collect()
    }

    #[test]
    fn words_are_in_order() {
        assert!(VERBS.is_sorted() && CONDITIONS.is_sorted() && LEANING.is_sorted());
    }

    #[test]
    fn clauses_that_stand_alone_are_split() {
        assert_eq!(
            split("The pump is off, and the valve is open; nobody was hurt."),
            ["The pump is off", "the valve is open", "nobody was hurt."]
        );
        for whole in [
            "If the pump is off, and the valve is open, the tank was drained.",
            "The pump is off, and it was never on.",
            "Ada and Grace were there.",
            "The pump is old and leaks.",
            "The form (which is red, and the box is blue) was lost.",
        ] {
            assert_eq!(split(whole), [whole]);
        }
        assert_eq!(
            split(r#"{"id": 5, "state": "ok"}"#),
            [r#""id": 5"#, r#""state": "ok""#]
        );
    }

    #[test]
    fn lines_are_statements_unless_they_are_wrapped() {
        let text = "The pump in the northern basement was switched off\nlate. Then?\nlimit: 3\nretries: 5\n";
        let found: Vec<&str> = statements(text).into_iter().map(|(at, _)| &text[at]).collect();
        assert_eq!(
            found,
            [
                "The pump in the northern basement was switched off\nlate.",
                "Then?",
                "limit: 3",
                "retries: 5"
            ]
        );
    }
}
