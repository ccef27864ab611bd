//! A tokenizer as Hugging Face's library runs it.

use std::path::Path;

use tenure::{CountKind, Error, Tokenizer};

/// A tokenizer from a `tokenizer.json`. Its counts are exact for a whole text; that they add up
/// over pieces is not proven, so pieces are priced with a margin.
pub struct TokenizerJson {
    name: String,
    inner: tokenizers::Tokenizer,
    control_tokens: Vec<String>,
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
        let mut control_tokens: Vec<String> = inner
            .get_added_tokens_decoder()
            .into_values()
            .filter(|token| token.special || is_tag(&token.content))
            .map(|token| token.content)
            .collect();
        control_tokens.sort_unstable();
        let digest = tenure::digest::Digest::of(text.as_bytes()).to_string();
        Ok(TokenizerJson {
            name: format!("tokenizer.json:{}", &digest["sha256:".len()..][..16]),
            inner,
            control_tokens,
        })
    }
}

/// Returns whether an added token has the form of a tag: models read it as one, special or not.
fn is_tag(token: &str) -> bool {
    token
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
        .is_some_and(|inner| {
            inner.contains(char::is_alphabetic) && !inner.contains(char::is_whitespace)
        })
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

    fn control_tokens(&self) -> &[String] {
        &self.control_tokens
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
        // In data it is escaped: the rest has the same count with and without control tokens.
        assert_eq!(tokenizer.control_tokens(), ["<s>"]);
        assert_eq!(tokenizer.kind_of("a<s>b"), CountKind::Bounded);
        assert_eq!(tokenizer.kind_of("a &lt;s>b"), CountKind::Exact);
        assert!(is_tag("<tool_call>") && !is_tag("< >") && !is_tag("a"));
        std::fs::write(&path, "{}").unwrap();
        assert!(TokenizerJson::load(&path).is_err());
    }

    #[test]
    fn what_is_exact_is_what_hugging_face_counts() {
        use tenure::object::ObjectDocument;
        use tenure::{Budget, Candidates, Facts, FrameKey, Policy, Request, World, compile};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        std::fs::write(&path, TINY).unwrap();
        // Memory stands as data only where it stands raw.
        let policy = Policy::preset("ordered").unwrap();
        let request = Request::new("a", Budget::tokens(900));
        let mut hugging_face = tokenizers::Tokenizer::from_bytes(TINY).unwrap();
        hugging_face.set_encode_special_tokens(false);
        for (object_type, kind) in [
            ("inferred_belief", CountKind::Exact),
            ("rule", CountKind::Bounded),
        ] {
            let tokenizer = std::sync::Arc::new(TokenizerJson::load(&path).unwrap());
            let key = FrameKey::new("test", [7; 32]);
            let model = tenure::catalogue::Model::new(9_000, 100, "tiny");
            let world = World::new("tiny", model, tokenizer, key);
            let object = ObjectDocument {
                object_type: Some(object_type.parse().unwrap()),
                ..ObjectDocument::named("x", "a<s>b")
            };
            let candidates = Candidates::new(vec![object.seal().unwrap()]);
            let outcome = compile(&world, &policy, &request, &candidates, &Facts::none()).unwrap();
            let envelope = &outcome.single().unwrap().envelope;
            let payload = envelope.payload.as_ref().unwrap().as_str();
            let counted = hugging_face.encode_fast(payload, false).unwrap().len();
            assert_eq!(envelope.count, kind, "{payload}");
            let same = counted == envelope.total_tokens as usize;
            assert_eq!(
                same,
                kind == CountKind::Exact,
                "{counted} {}",
                envelope.total_tokens
            );
        }
    }
}
