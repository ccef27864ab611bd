//! The passages of a text: the parts that are found and told by themselves.

use std::ops::Range;

/// The least length at which a passage ends with its paragraph, and the most length of one, in bytes.
const ENOUGH: usize = 600;
const MOST: usize = 1_600;

/// Returns the byte ranges of the passages of a text: paragraphs, short ones together, long ones cut at the end of a line,
/// else of a word. Nothing but white space stands between them.
///
/// ```
/// let text = format!("{}\n\nThe lamp is green.", "The valve opens at two bar. ".repeat(30));
/// let passages = tenure::passages::split(&text);
/// assert_eq!(passages.len(), 2);
/// assert_eq!(&text[passages[1].clone()], "The lamp is green.");
/// ```
pub fn split(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let rest = &text[start..];
        let skipped = rest.len() - rest.trim_start().len();
        start += skipped;
        let rest = &text[start..];
        if rest.is_empty() {
            break;
        }
        let length = first(rest);
        ranges.push(start..start + rest[..length].trim_end().len());
        start += length;
    }
    ranges
}

/// The length of the first passage.
fn first(text: &str) -> usize {
    let most = text.floor_char_boundary(MOST);
    let enough = text.floor_char_boundary(ENOUGH);
    let after = |mark: &str| text[enough..most].find(mark).map(|at| enough + at);
    if let Some(end) = after("\n\n").or_else(|| after("\n#")) {
        return end;
    }
    if text.len() <= MOST {
        return text.len();
    }
    let window = &text[..most];
    let cut = window[enough..]
        .rfind('\n')
        .or_else(|| window[enough..].rfind(char::is_whitespace));
    cut.map_or(most, |at| enough + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn passages_hold_all_of_a_text_but_white_space(text in "([a-zé字 ]{0,40}\n{0,3}){0,90}") {
            let ranges = split(&text);
            let mut end = 0;
            for range in &ranges {
                prop_assert!(text[end..range.start].trim().is_empty());
                prop_assert!(!range.is_empty() && range.len() <= MOST);
                end = range.end;
            }
            prop_assert!(text[end..].trim().is_empty());
        }
    }
}
