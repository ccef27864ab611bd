//! Exact counts for other models: a `tokenizer.json` in the Hugging Face format.

use std::path::Path;

use tenure::{CountKind, Error, Tokenizer};

/// A tokenizer from a `tokenizer.json`. Its counts are exact for a whole text; that they add up
/// over pieces is not proven, so pieces are priced with a margin.
pub struct TokenizerJson {
    name: String,
    inner: tokenizers::Tokenizer,
}

impl TokenizerJson {
    /// Reads the file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it is not a tokenizer.
    pub fn load(path: &Path) -> Result<TokenizerJson, Error> {
        let text = crate::read::read_text(path)?;
        let shown = path.display().to_string();
        let refused = |error: tokenizers::Error| {
            Error::input(format!("the file is not a tokenizer: {error}"))
                .at(&shown, None)
                .expected("a tokenizer.json in the Hugging Face format")
        };
        let mut inner = tokenizers::Tokenizer::from_bytes(text.as_bytes()).map_err(refused)?;
        inner.with_truncation(None).map_err(refused)?;
        inner.with_padding(None);
        // Text that looks like a special token is ordinary text.
        inner.set_encode_special_tokens(true);
        let digest = tenure::digest::Digest::of(text.as_bytes()).to_string();
        Ok(TokenizerJson {
            name: format!("tokenizer.json:{}", &digest["sha256:".len()..][..16]),
            inner,
        })
    }
}

impl Tokenizer for TokenizerJson {
    fn name(&self) -> &str {
        &self.name
    }

    fn count(&self, text: &str) -> usize {
        // A text that the tokenizer cannot take is counted at its most: a token a byte.
        self.inner
            .encode_fast(text, false)
            .map_or(text.len(), |encoding| encoding.len())
    }

    fn kind(&self) -> CountKind {
        CountKind::Exact
    }

    fn is_additive(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word-level tokenizer small enough to count by hand.
    const TINY: &str = r#"{"version":"1.0","truncation":null,"padding":null,
        "added_tokens":[{"id":3,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
        "normalizer":null,"pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,
        "model":{"type":"WordLevel","vocab":{"a":0,"b":1,"[UNK]":2,"<s>":3},"unk_token":"[UNK]"}}"#;

    #[test]
    fn it_counts_with_the_files_own_rules() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        std::fs::write(&path, TINY).unwrap();
        let tokenizer = TokenizerJson::load(&path).unwrap();
        assert_eq!(tokenizer.count("a b a\n"), 3);
        assert_eq!(
            tokenizer.count("<s>"),
            3,
            "special-token text is ordinary text"
        );
        std::fs::write(&path, "{}").unwrap();
        assert!(TokenizerJson::load(&path).is_err());
    }
}
