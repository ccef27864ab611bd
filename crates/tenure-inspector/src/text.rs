//! Text of others as it may stand in a page: escaped, kept apart from what stands around it, with nothing in it hidden.

use std::fmt;

use maud::{Markup, html};
use tenure::text::is_invisible;

/// The most bytes of a name in a list.
pub(crate) const NAME: usize = 160;
/// The most bytes of a sentence in a list.
pub(crate) const SENTENCE: usize = 400;

/// A text of somebody else, whole. Characters that steer or hide are shown as what they are; its direction stays its own.
pub(crate) fn said(text: &str) -> Markup {
    html! { bdi { (shown(text)) } }
}

/// Like `said`, no longer than `most` bytes; what is left out is counted.
pub(crate) fn clipped(text: &str, most: usize) -> Markup {
    if text.len() <= most {
        return said(text);
    }
    let kept = &text[..text.floor_char_boundary(most)];
    html! { (said(kept)) span.more { "… (" (grouped((text.len() - kept.len()) as u64)) " more bytes)" } }
}

/// A name in a list.
pub(crate) fn name(text: &str) -> Markup {
    clipped(text, NAME)
}

/// The text with what cannot be seen shown by its number. Line breaks and tabs stay.
pub(crate) fn shown(text: &str) -> Markup {
    html! {
        @for (hidden, run) in runs(text) {
            @if hidden {
                @for character in run.chars() { span.hidden-char { (code(character)) } }
            } @else { (run) }
        }
    }
}

/// The text of an attribute or of an SVG title, where nothing can be marked: what cannot be seen stands by its number.
pub(crate) fn plain(text: &str, most: usize) -> String {
    let kept = &text[..text.floor_char_boundary(most)];
    let mut plain = String::with_capacity(kept.len());
    for (hidden, run) in runs(kept) {
        if hidden {
            plain.extend(run.chars().map(code));
        } else {
            plain.push_str(run);
        }
    }
    if kept.len() < text.len() {
        plain.push('…');
    }
    plain
}

fn code(character: char) -> String {
    format!("[U+{:04X}]", u32::from(character))
}

/// Returns whether a character is shown by its number.
fn is_hidden(character: char) -> bool {
    !matches!(character, '\n' | '\t') && (character.is_control() || is_invisible(character))
}

/// The runs of a text that are hidden or not.
fn runs(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let hidden = is_hidden(rest.chars().next()?);
        let end = rest.find(|character| is_hidden(character) != hidden);
        let (run, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some((hidden, run))
    })
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// The share of a whole in percent, with one decimal; `–` of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    match (u128::from(part) * 1000).checked_div(u128::from(whole)) {
        Some(thousandths) => format!("{}.{} %", thousandths / 10, thousandths % 10),
        None => "–".to_owned(),
    }
}

/// The number of lines that a list leaves out.
pub(crate) fn left_out(all: usize, shown: usize) -> Markup {
    html! { @if all > shown { p.more { (grouped((all - shown) as u64)) " more are left out." } } }
}

/// An instant to the second, as `2026-07-01 12:00:00`.
pub(crate) fn second(at: impl fmt::Display) -> String {
    let at = at.to_string();
    match at.get(..19) {
        Some(second) if at.contains('T') => second.replace('T', " "),
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_others_is_markup_or_hidden() {
        let shown = |text: &str| said(text).into_string();
        assert_eq!(
            shown("<script>alert(1)</script>"),
            "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>"
        );
        let hostile = "a\u{202E}b\u{200B}c\0d\n\te";
        let expected = "<bdi>a<span class=\"hidden-char\">[U+202E]</span>b<span class=\"hidden-char\">[U+200B]</span>c\
                        <span class=\"hidden-char\">[U+0000]</span>d\n\te</bdi>";
        assert_eq!(shown(hostile), expected);
        assert_eq!(plain(hostile, 99), "a[U+202E]b[U+200B]c[U+0000]d\n\te");
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters_and_counted() {
        let long = "é".repeat(1 << 19);
        let page = clipped(&long, 7).into_string();
        assert!(
            page.contains("ééé</bdi>") && page.contains("1,048,570 more bytes"),
            "{page}"
        );
        assert_eq!(plain(&long, 3), "é…");
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(percent(1, 3), "33.3 %");
        assert_eq!(percent(u64::MAX, u64::MAX), "100.0 %");
        assert_eq!(percent(1, 0), "–");
        assert_eq!(second("2026-07-01T12:00:00.5Z"), "2026-07-01 12:00:00");
    }
}
