//! A text cut into the pieces that are merged each by itself, as the vocabularies' published patterns cut it
//! (openai/tiktoken, `tiktoken_ext/openai_public.py`), in time in proportion to its length.
//!
//! A pattern is a list of alternatives, of which the first that matches counts, and each takes as much as it can. Written
//! out by hand they need no engine that is compiled at start, and plain text is cut twice as fast. The classes of characters
//! are those of the crate `regex`; `tests/same.rs` compares the pieces with those of the patterns.

use std::sync::OnceLock;

use regex_syntax::hir::{Class, HirKind};

use crate::Vocabulary;

/// `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
const UPPER: u8 = 1;
/// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
const LOWER: u8 = 1 << 1;
/// `\p{L}`
const LETTER: u8 = 1 << 2;
/// `\p{N}`
const NUMBER: u8 = 1 << 3;
/// `\s`
const SPACE: u8 = 1 << 4;
/// `[\r\n]`
const LINE: u8 = 1 << 5;

const CLASSES: [(u8, &str); 5] = [
    (UPPER, r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"),
    (LOWER, r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"),
    (LETTER, r"\p{L}"),
    (NUMBER, r"\p{N}"),
    (SPACE, r"\s"),
];

/// Marks a byte that is no character by itself.
const BEYOND_ASCII: u8 = 1 << 6;

/// The classes of bytes.
const OF_BYTES: [u8; 256] = {
    let mut classes = [BEYOND_ASCII; 256];
    let mut at = 0;
    while at < 128 {
        classes[at] = match at as u8 {
            b'A'..=b'Z' => UPPER | LETTER,
            b'a'..=b'z' => LOWER | LETTER,
            b'0'..=b'9' => NUMBER,
            b'\r' | b'\n' => SPACE | LINE,
            b' ' | b'\t' | 0x0b | 0x0c => SPACE,
            _ => 0,
        };
        at += 1;
    }
    classes
};

/// The classes of all characters, each at its number.
fn classes() -> &'static [u8] {
    static ALL: OnceLock<Vec<u8>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut all = vec![0; char::MAX as usize + 1];
        for (class, pattern) in CLASSES {
            let parsed = regex_syntax::parse(pattern).ok().map(|hir| hir.into_kind());
            let Some(HirKind::Class(Class::Unicode(set))) = parsed else {
                continue;
            };
            for range in set.ranges() {
                let range = range.start() as usize..=range.end() as usize;
                all[range].iter_mut().for_each(|classes| *classes |= class);
            }
        }
        all
    })
}

/// The pieces of a text, which together are the text.
pub(super) struct Pieces<'t> {
    vocabulary: Vocabulary,
    text: &'t str,
    at: usize,
}

impl<'t> Pieces<'t> {
    pub(super) fn of(vocabulary: Vocabulary, text: &'t str) -> Pieces<'t> {
        Pieces {
            vocabulary,
            text,
            at: 0,
        }
    }

    /// The classes of the character at a place, and its length; nothing at the end.
    #[inline(always)]
    fn class(&self, at: usize) -> Option<(u8, usize)> {
        match OF_BYTES[usize::from(*self.text.as_bytes().get(at)?)] {
            BEYOND_ASCII => self.class_beyond_ascii(at),
            class => Some((class, 1)),
        }
    }

    #[cold]
    fn class_beyond_ascii(&self, at: usize) -> Option<(u8, usize)> {
        let c = self.text[at..].chars().next()?;
        Some((classes()[c as usize], c.len_utf8()))
    }

    /// Returns the end of a run of characters whose classes are of this kind.
    #[inline(always)]
    fn run(&self, mut at: usize, is: impl Fn(u8) -> bool) -> usize {
        while let Some((class, length)) = self.class(at)
            && is(class)
        {
            at += length;
        }
        at
    }

    fn run_of(&self, at: usize, wanted: u8) -> usize {
        self.run(at, |class| class & wanted != 0)
    }

    /// `[UPPER]*[LOWER]+`, of which the first part gives back what the second one needs.
    fn capitalized(&self, from: usize) -> Option<usize> {
        let upper = self.run_of(from, UPPER);
        let end = self.run_of(upper, LOWER);
        if end > upper {
            return Some(end);
        }
        let mut given_back = self.text[from..upper].char_indices().rev();
        let (at, c) = given_back.find(|(at, _)| {
            let class = self.class(from + at);
            class.is_some_and(|(class, _)| class & LOWER != 0)
        })?;
        Some(from + at + c.len_utf8())
    }

    /// A word of o200k with what may stand before it; `behind` is where it begins if that does.
    fn cased_word(&self, at: usize, behind: Option<usize>) -> Option<usize> {
        let upper = |from: usize| Some(self.run_of(from, UPPER)).filter(|end| *end > from);
        let end = behind
            .and_then(|from| self.capitalized(from))
            .or_else(|| self.capitalized(at))
            .or_else(|| behind.and_then(upper))
            .or_else(|| upper(at))?;
        Some(self.contraction(end).unwrap_or(end))
    }

    /// Like `cased_word`, of cl100k, where a contraction is a piece of its own.
    fn word(&self, at: usize, behind: Option<usize>) -> Option<usize> {
        let letters = |from: usize| Some(self.run_of(from, LETTER)).filter(|end| *end > from);
        let end = self.contraction(at).or_else(|| behind.and_then(letters));
        end.or_else(|| letters(at))
    }

    /// `(?i:'s|'t|'re|'ve|'m|'ll|'d)`. Without case, `ſ` is an `s`, alone of all letters beyond ASCII.
    fn contraction(&self, at: usize) -> Option<usize> {
        let rest = self.text.as_bytes()[at..].strip_prefix(b"'")?;
        let length = match rest {
            [b's' | b'S' | b't' | b'T' | b'm' | b'M' | b'd' | b'D', ..] => 1,
            [b'r' | b'R' | b'v' | b'V', b'e' | b'E', ..] | [b'l' | b'L', b'l' | b'L', ..] => 2,
            _ if rest.starts_with("ſ".as_bytes()) => 2,
            _ => return None,
        };
        Some(at + 1 + length)
    }

    /// ` ?[^\s\p{L}\p{N}]+[\r\n]*`, where o200k takes a `/` with the newlines.
    fn marks(&self, at: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let from = at + usize::from(bytes.get(at) == Some(&b' '));
        let end = self.run(from, |class| class & (SPACE | LETTER | NUMBER) == 0);
        let takes = |byte: &&u8| match byte {
            b'\r' | b'\n' => true,
            b'/' => self.vocabulary == Vocabulary::O200k,
            _ => false,
        };
        (end > from).then(|| end + bytes[end..].iter().take_while(takes).count())
    }

    /// `\s*[\r\n]+|\s+(?!\S)|\s+`: up to the last newline; where there is none, all but the last character, which
    /// belongs to what follows.
    fn space(&self, at: usize) -> usize {
        let (mut end, mut last, mut line) = (at, at, None);
        while let Some((class, length)) = self.class(end)
            && class & SPACE != 0
        {
            last = end;
            end += length;
            if class & LINE != 0 {
                line = Some(end);
            }
        }
        match line {
            Some(line) => line,
            None if last > at && end < self.text.len() => last,
            None => end,
        }
    }

    /// Returns the end of the piece that begins at `at`.
    #[inline]
    fn end(&self, at: usize) -> Option<usize> {
        let (class, length) = self.class(at)?;
        if class & NUMBER != 0 {
            return Some(self.number(at + length));
        }
        let behind = (class & (LINE | LETTER) == 0).then_some(at + length);
        let word = match self.vocabulary {
            Vocabulary::O200k => self.cased_word(at, behind),
            Vocabulary::Cl100k => self.word(at, behind),
        };
        let end = word.or_else(|| self.marks(at));
        Some(end.unwrap_or_else(|| self.space(at)))
    }

    /// `\p{N}{1,3}`, behind the first.
    fn number(&self, mut end: usize) -> usize {
        for _ in 0..2 {
            match self.class(end) {
                Some((class, length)) if class & NUMBER != 0 => end += length,
                _ => break,
            }
        }
        end
    }
}

impl<'t> Iterator for Pieces<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        let end = self.end(self.at)?;
        let piece = &self.text[self.at..end];
        self.at = end;
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;
    use regex::Regex;

    use super::*;

    /// The published patterns, but for `\s+(?!\S)`, which the crate `regex` does not know: `pieces` does it.
    fn pattern(vocabulary: Vocabulary) -> Regex {
        let contraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
        let (upper, lower) = (CLASSES[0].1, CLASSES[1].1);
        let word = r"[^\r\n\p{L}\p{N}]?";
        let alternatives = match vocabulary {
            Vocabulary::O200k => format!(
                r"{word}{upper}*{lower}+{contraction}?|{word}{upper}+{lower}*{contraction}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*"
            ),
            Vocabulary::Cl100k => format!(
                r"{contraction}|{word}\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*"
            ),
        };
        Regex::new(&format!(r"^(?:{alternatives}|\s*[\r\n]+|\s+)")).unwrap()
    }

    fn by_pattern<'t>(pattern: &Regex, text: &'t str) -> Vec<&'t str> {
        let (mut rest, mut pieces) = (text, Vec::new());
        while let Some(found) = pattern.find(rest) {
            let (piece, behind) = rest.split_at(found.end());
            let last = piece.char_indices().next_back().map_or(0, |(at, _)| at);
            let is_space = piece.chars().all(char::is_whitespace);
            let leaves = is_space && !behind.is_empty() && !piece.ends_with(['\r', '\n']);
            let end = if leaves && last > 0 {
                last
            } else {
                piece.len()
            };
            pieces.push(&rest[..end]);
            rest = &rest[end..];
        }
        assert_eq!(rest, "");
        pieces
    }

    /// Characters of every class, at the ends of every alternative.
    #[rustfmt::skip]
    const PARTS: [&str; 58] = [
        " ", "  ", "\t", "\n", "\r", "\r\n", "\u{a0}", "\u{2003}", "\u{2028}", "\u{85}", "\u{3000}", "/", "!", "=", "'", "’", "_", ".",
        "a", "b", "word", "A", "WORD", "Aa", "aA", "ſ", "'ſ", "K", "'s", "'S", "'T", "'re", "'vE", "'m", "'LL", "'l", "'d", "'x",
        "ǅ", "ʰ", "漢", "漢字", "한", "é", "É", "\u{301}", "\u{94d}", "\u{20e3}", "\u{200d}", "\u{feff}", "1", "12345", "½", "٣", "Ⅷ", "😀", "\u{1}", "𝕏",
    ];

    fn text() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            8 => select(&PARTS[..]).prop_map(str::to_owned),
            1 => (select(&PARTS[..]), 2..30_usize).prop_map(|(part, times)| part.repeat(times)),
            1 => any::<char>().prop_map(String::from),
        ];
        prop::collection::vec(part, 0..20).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]
        #[test]
        fn pieces_are_those_of_the_patterns(text in text()) {
            thread_local!(static PATTERNS: [Regex; 2] = Vocabulary::ALL.map(pattern));
            PATTERNS.with(|patterns| {
                for (vocabulary, pattern) in Vocabulary::ALL.into_iter().zip(patterns) {
                    let pieces: Vec<&str> = Pieces::of(vocabulary, &text).collect();
                    prop_assert_eq!(pieces, by_pattern(pattern, &text), "{:?} {:?}", vocabulary, text);
                }
                Ok(())
            })?;
        }
    }

    #[test]
    fn every_character_is_cut_as_the_patterns_cut_it() {
        let patterns = Vocabulary::ALL.map(pattern);
        for c in '\0'..=char::MAX {
            let text = format!("a{c}B{c}c{c}{c}1 {c}");
            for (vocabulary, pattern) in Vocabulary::ALL.into_iter().zip(&patterns) {
                // All of the first two planes, and of the others some: an unassigned one is like the next.
                if (c as u32) < 0x2_0000 || (c as u32).is_multiple_of(997) {
                    let pieces: Vec<&str> = Pieces::of(vocabulary, &text).collect();
                    assert_eq!(pieces, by_pattern(pattern, &text), "{vocabulary:?} {c:?}");
                }
            }
        }
    }
}
