//! Texts with `'ſ`, which the library (tiktoken 4.1.2) does not cut as the vocabularies' own patterns do. These take
//! contractions in any case (`(?i:'s|…)`), and by Unicode's simple case folding `ſ` is an `s`, alone of all letters
//! beyond ASCII: `I'ſ` is one piece as `I's` is. The library knows a contraction by its ASCII letters only.
//!
//! Such texts are cut here, by the published patterns (openai/tiktoken, `tiktoken_ext/openai_public.py`), and each
//! piece is counted by the library. A piece that ends with this contraction is one that it never counts as such: but
//! no token of o200k spans `'` and `V`, nor `'` and `ſ`, so that what stands before costs as much before either
//! ending, and the library knows `'VE`.

use std::sync::OnceLock;

use regex::Regex;
use tiktoken::CoreBpe;

use super::Vocabulary;

const LONG_S: &str = "'ſ";

const CONTRACTION: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";

/// Whether a text has what the library cuts otherwise.
pub(super) fn stands_in(text: &str) -> bool {
    text.contains(LONG_S)
}

/// How many tokens such a text is.
pub(super) fn count(bpe: &CoreBpe, vocabulary: Vocabulary, text: &str) -> usize {
    let of_piece = |piece: &str| match (vocabulary, piece.strip_suffix(LONG_S)) {
        // With a word before it, it is a contraction.
        (Vocabulary::O200k, Some(word)) if !word.is_empty() => {
            let known = bpe.count(&format!("{word}'VE"));
            (known + bpe.count("ſ")).saturating_sub(bpe.count("VE"))
        }
        // By itself it is the same piece to the library.
        _ => bpe.count(piece),
    };
    pieces(pattern(vocabulary), text).map(of_piece).sum()
}

/// The pieces of a text. The patterns' `\s+(?!\S)` is no part of these: white space leaves its last character to
/// what follows it, unless it ends with a line.
fn pieces<'t>(pattern: Option<&'static Regex>, text: &'t str) -> impl Iterator<Item = &'t str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = match pattern.and_then(|pattern| pattern.find(rest)) {
            Some(found) => found.end(),
            None => rest.len(),
        };
        let (piece, behind) = rest.split_at(end);
        let last = piece.char_indices().next_back();
        let leaves = !behind.is_empty()
            && piece.chars().all(char::is_whitespace)
            && !piece.ends_with(['\r', '\n']);
        let end = match last {
            Some((at, _)) if leaves && at > 0 => at,
            _ => end,
        };
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

fn pattern(vocabulary: Vocabulary) -> Option<&'static Regex> {
    static O200K: OnceLock<Option<Regex>> = OnceLock::new();
    static CL100K: OnceLock<Option<Regex>> = OnceLock::new();
    let (made, alternatives) = match vocabulary {
        Vocabulary::O200k => {
            let (upper, lower) = (
                r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]",
                r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]",
            );
            let word = r"[^\r\n\p{L}\p{N}]?";
            let alternatives = [
                format!("{word}{upper}*{lower}+{CONTRACTION}?"),
                format!("{word}{upper}+{lower}*{CONTRACTION}?"),
                r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*".to_owned(),
            ];
            (&O200K, alternatives.join("|"))
        }
        Vocabulary::Cl100k => {
            let others = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*";
            (&CL100K, format!("{CONTRACTION}|{others}"))
        }
    };
    let made =
        made.get_or_init(|| Regex::new(&format!(r"^(?:{alternatives}|\s*[\r\n]+|\s+)")).ok());
    made.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_token_spans_an_apostrophe_and_what_stands_behind_it_here() {
        let bpe = tiktoken::get_encoding(Vocabulary::O200k.name()).unwrap();
        let long_s = LONG_S.as_bytes();
        let spans = |token: &[u8]| {
            let holds = |bytes: &[u8]| token.windows(bytes.len()).any(|part| part == bytes);
            holds(b"'V") || holds(long_s) || token.ends_with(&long_s[..2])
        };
        let tokens = 0..bpe.vocab_size() as u32;
        assert!(tokens.len() > 190_000);
        let found: Vec<u32> = tokens.filter(|id| spans(&bpe.decode(&[*id]))).collect();
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn texts_are_cut_as_the_patterns_say() {
        let cut = |vocabulary, text| {
            let pieces: Vec<&str> = pieces(pattern(vocabulary), text).collect();
            assert_eq!(pieces.concat(), text);
            pieces
        };
        assert_eq!(
            cut(Vocabulary::O200k, "I'ſay 'ſo  1'ſ \n\n x"),
            ["I'ſ", "ay", " '", "ſo", " ", " ", "1", "'ſ", " \n\n", " x"]
        );
        assert_eq!(
            cut(Vocabulary::Cl100k, "I'ſay 'ſo\t'ſx!'ſ"),
            ["I", "'ſ", "ay", " '", "ſo", "\t", "'ſ", "x", "!'", "ſ"]
        );
        assert!(cut(Vocabulary::O200k, "").is_empty());
    }
}
