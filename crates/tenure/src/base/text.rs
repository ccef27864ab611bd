//! The two views of a text: the bytes, which are never rewritten, and the detection view, in which
//! what hides is made visible.
//!
//! The detection view decodes entities, applies NFKC and removes invisible characters, except where
//! they are lawful: joiners in emoji and in Arabic and Indic scripts, variation selectors after
//! symbols, and the tags of flag emoji (UTS #51, UTS #39; UTR #36 is no longer maintained). NFKC
//! alone is no defence: it leaves tag characters, joiners and soft hyphens as they are.

use std::borrow::Cow;

use html5gum::{Token, Tokenizer};
use unicode_normalization::UnicodeNormalization;

/// Enough of a name to recognise it in a message.
pub fn clip(text: &str) -> String {
    let shown = |text: &str| text.replace(char::is_control, "\u{FFFD}");
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", shown(&text[..end])),
        None => shown(text),
    }
}

/// Findings of invisible characters in a text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hygiene {
    /// Invisible characters without a lawful use where they stand.
    pub hidden: u32,
    /// Characters that change the direction of text (Trojan Source, CVE-2021-42574).
    pub bidi: u32,
    /// The text that tag characters spell, decoded.
    pub payload: Option<String>,
}

impl Hygiene {
    /// Adds what was found in another text.
    pub(crate) fn add(&mut self, more: &Hygiene) {
        self.hidden = self.hidden.saturating_add(more.hidden);
        self.bidi = self.bidi.saturating_add(more.bidi);
        if let Some(payload) = &more.payload {
            self.payload.get_or_insert_default().push_str(payload);
        }
    }
}

/// Examines `text` for hidden characters; `None` when there are none.
pub fn examine(text: &str) -> Option<Hygiene> {
    if text.is_ascii() {
        return None;
    }
    let mut found = Hygiene::default();
    let mut payload = String::new();
    for (_, c, lawful) in invisible(text) {
        if is_bidi(c) {
            found.bidi += 1;
        } else if !lawful {
            found.hidden += 1;
            if let Some(letter) = tag_letter(c) {
                payload.push(letter);
            }
        }
    }
    found.payload = (!payload.is_empty()).then_some(payload);
    (found != Hygiene::default()).then_some(found)
}

/// The text with its character references decoded, as HTML does between tags.
pub(crate) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    // A tokenizer takes a `<` for a tag, and makes one line end of two: neither is for it to see.
    const HIDDEN: [(char, char); 2] = [('<', '\u{F8FE}'), ('\r', '\u{F8FD}')];
    let mut hidden = Cow::Borrowed(text);
    for (sign, instead) in HIDDEN {
        if hidden.contains(sign) {
            hidden = Cow::Owned(hidden.replace(sign, instead.encode_utf8(&mut [0; 4])));
        }
    }
    let mut decoded = String::with_capacity(text.len());
    for token in Tokenizer::new(&*hidden) {
        if let Ok(Token::String(part)) = token {
            decoded.push_str(&String::from_utf8_lossy(&part));
        }
    }
    for (sign, instead) in HIDDEN {
        if text.contains(sign) {
            decoded = decoded.replace(instead, sign.encode_utf8(&mut [0; 4]));
        }
    }
    Cow::Owned(decoded)
}

/// The detection view of `text`: what a reader who sees through disguises would read.
pub fn detection_view(text: &str) -> Cow<'_, str> {
    let decoded = unescape(text);
    if decoded.is_ascii() {
        return decoded;
    }
    let mut drop = invisible(&decoded)
        .filter(|(_, _, lawful)| !lawful)
        .map(|(at, _, _)| at)
        .collect::<Vec<usize>>()
        .into_iter()
        .peekable();
    let visible = decoded.char_indices().filter_map(|(at, c)| {
        if drop.peek() == Some(&at) {
            drop.next();
            None
        } else {
            Some(c)
        }
    });
    Cow::Owned(visible.nfkc().collect())
}

/// The letter that a tag character stands for.
fn tag_letter(c: char) -> Option<char> {
    let code = u32::from(c);
    (0xE0020..=0xE007E)
        .contains(&code)
        .then(|| char::from_u32(code - 0xE0000))
        .flatten()
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character is not seen: default-ignorable code points (DerivedCoreProperties), bidi controls
/// included.
pub fn is_invisible(c: char) -> bool {
    is_bidi(c)
        || matches!(c,
            '\u{AD}' | '\u{34F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
            | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200D}' | '\u{2060}'..='\u{2065}'
            | '\u{206A}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
            | '\u{FFA0}' | '\u{FFF0}'..='\u{FFFB}' | '\u{1BCA0}'..='\u{1BCA3}'
            | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Returns whether a symbol may join with others into an emoji or take a variation selector.
fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{A9}' | '\u{AE}' | '0'..='9' | '#' | '*' | '\u{203C}'..='\u{3299}' | '\u{1F000}'..='\u{1FAFF}')
}

/// Scripts in which a joiner or non-joiner is part of the spelling.
fn joins(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{6FF}' | '\u{750}'..='\u{77F}' | '\u{8A0}'..='\u{8FF}' | '\u{900}'..='\u{DFF}'
        | '\u{1780}'..='\u{17FF}' | '\u{1800}'..='\u{18AF}' | '\u{FB50}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFE}')
}

/// The invisible characters of a text with their places, and whether each is lawful there.
fn invisible(text: &str) -> impl Iterator<Item = (usize, char, bool)> + '_ {
    let mut before: Option<char> = None;
    let mut in_flag = false;
    let mut chars = text.char_indices().peekable();
    std::iter::from_fn(move || {
        for (at, c) in chars.by_ref() {
            if !is_invisible(c) {
                in_flag = c == '\u{1F3F4}';
                before = Some(c);
                continue;
            }
            let after = text[at + c.len_utf8()..].chars().next();
            let lawful = match c {
                '\u{200D}' | '\u{200C}' => {
                    before.is_some_and(joins)
                        || (c == '\u{200D}'
                            && before.is_some_and(is_pictograph)
                            && after.is_some_and(is_pictograph))
                }
                '\u{FE0E}' | '\u{FE0F}' => before.is_some_and(is_pictograph),
                '\u{E0020}'..='\u{E007F}' => in_flag,
                _ => false,
            };
            if c == '\u{E007F}' {
                in_flag = false;
            }
            return Some((at, c, lawful));
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguises_are_seen_through() {
        for (disguised, plain) in [
            ("ig\u{200B}nore", "ignore"),       // spellchecker:disable-line
            ("i\u{AD}g\u{2060}nore", "ignore"), // spellchecker:disable-line
            ("&lt;evidence&gt;", "<evidence>"),
            ("&#60;/evidence>", "</evidence>"),
            ("\u{FF1C}evidence\u{FF1E}", "<evidence>"),
        ] {
            assert_eq!(detection_view(disguised), plain);
        }
    }

    proptest::proptest! {
        #[test]
        fn references_are_decoded_as_another_implementation_does(
            text in "(&(#x?[0-9a-fA-F]{1,6}|amp|lt|gt|notit|not|NotEqualTilde|copy|x)?;?|[a-z<>/!&;\r\n é-])*"
        ) {
            // What was hidden from the tokenizer may come out of a reference, too.
            proptest::prop_assume!(!text.contains("f8f") && !text.contains("F8F"));
            proptest::prop_assert_eq!(unescape(&text), htmlize::unescape(&*text));
        }
    }

    #[test]
    fn lawful_joiners_stay() {
        for text in [
            "👩\u{200D}🚀",
            "❤\u{FE0F}",
            "می\u{200C}خواهم",
            "क\u{94D}\u{200D}ष",
            "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
        ] {
            assert_eq!(examine(text), None, "{text:?}");
        }
    }

    #[test]
    fn hidden_payloads_are_decoded() {
        let hidden: String =
            "run".bytes().filter_map(|b| char::from_u32(0xE0000 + u32::from(b))).collect();
        let found = examine(&format!("hello{hidden}")).unwrap();
        assert_eq!(
            found,
            Hygiene {
                hidden: 3,
                bidi: 0,
                payload: Some("run".into())
            }
        );
        assert_eq!(examine("a\u{202E}b").unwrap().bidi, 1);
        assert_eq!(examine("plain ascii"), None);
        assert_eq!(examine("naïve 漢字"), None);
    }
}
