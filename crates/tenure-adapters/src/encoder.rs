//! Sentence encoders: how much of a text each of them sees, and how a vector is made of what it says.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use tenure::error::unknown_name;
use tenure::num::Score;
use tenure::{Digest, Error};

/// The name of the built-in table.
const BUILTIN: &str = "tenure-static-256";

/// Ways to make a text's vector of those of its tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// Their mean.
    #[default]
    Mean,
    /// The first one stands for all.
    Cls,
}

/// An encoder that a relevance index is made with, as far as loading must know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Encoder {
    /// Its name.
    pub name: String,
    /// Most tokens of a text that it sees.
    pub max_tokens: u32,
    /// Number of components of its vectors.
    pub dimensions: u32,
    /// Way in which the vectors of the tokens become one.
    pub pooling: Pooling,
    /// Text that it expects before a query.
    pub query_prefix: String,
    /// Text that it expects before what is searched.
    pub passage_prefix: String,
    /// The similarity that texts may have which have nothing to do with each other. Nought: not known.
    pub unrelated: Score,
    /// The similarity above which two texts speak of the same. One: not known.
    pub related: Score,
}

impl Default for Encoder {
    /// `all-MiniLM-L6-v2`, which sees 256 tokens.
    fn default() -> Encoder {
        Encoder {
            name: "all-MiniLM-L6-v2".to_owned(),
            max_tokens: 256,
            dimensions: 384,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            unrelated: Score::from_millionths(60_000),
            related: Score::HALF,
        }
    }
}

impl Encoder {
    /// An encoder of the table, which is dated data (`encoders.toml`).
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is none of this name; the nearest is
    /// offered.
    ///
    /// ```
    /// use tenure_adapters::Encoder;
    /// assert_eq!(Encoder::named("e5-base-v2")?.max_tokens, 512);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Encoder, Error> {
        let table = Table::builtin()?;
        match table.encoders.get(name) {
            Some(row) => Ok(Encoder {
                name: name.to_owned(),
                max_tokens: row.max_tokens,
                dimensions: row.dimensions,
                pooling: row.pooling,
                query_prefix: row.query_prefix.clone(),
                passage_prefix: row.passage_prefix.clone(),
                unrelated: row.unrelated.unwrap_or(Score::ZERO),
                related: row.related.unwrap_or(Score::ONE),
            }),
            None => Err(unknown_name(
                "encoder",
                name,
                table.encoders.keys().map(String::as_str),
            )),
        }
    }

    /// An encoder that nothing is known of but its name.
    pub(crate) fn unknown(name: &str) -> Encoder {
        Encoder {
            name: name.to_owned(),
            max_tokens: u32::MAX,
            unrelated: Score::ZERO,
            related: Score::ONE,
            ..Encoder::default()
        }
    }

    /// The built-in table of vectors, which sees all of a text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) in no released build.
    pub(crate) fn builtin() -> Result<Encoder, Error> {
        // Read once: every compile with vectors asks for it.
        static READ: OnceLock<Encoder> = OnceLock::new();
        if let Some(encoder) = READ.get() {
            return Ok(encoder.clone());
        }
        let encoder = Encoder::named(BUILTIN)?;
        Ok(READ.get_or_init(|| encoder).clone())
    }

    /// Returns about how many tokens a text has that is longer than the encoder sees; none for others.
    pub fn overrun(&self, text: &str) -> Option<usize> {
        let tokens = estimate(text);
        (tokens > self.max_tokens as usize).then_some(tokens)
    }
}

/// About how many tokens an encoder makes of a text. None of them is asked: each word, mark and
/// ideograph is one at least, and 200 words of prose are about 256.
fn estimate(text: &str) -> usize {
    let (mut words, mut single, mut inside) = (0, 0, false);
    for c in text.chars() {
        let ideograph = matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}');
        if c.is_alphanumeric() && !ideograph {
            words += usize::from(!inside);
            inside = true;
        } else {
            single += usize::from(!c.is_whitespace() && !c.is_control());
            inside = false;
        }
    }
    // The encoder's two marks, at the start and the end, are tokens as well.
    2 + (words + single).max(words * 256 / 200)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Day on which the figures were gathered.
    #[serde(rename = "dated")]
    _dated: String,
    encoders: BTreeMap<String, Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    max_tokens: u32,
    dimensions: u32,
    #[serde(default)]
    pooling: Pooling,
    #[serde(default)]
    query_prefix: String,
    #[serde(default)]
    passage_prefix: String,
    unrelated: Option<Score>,
    related: Option<Score>,
    /// Of which weights the thresholds are.
    #[serde(rename = "digest")]
    _digest: Option<Digest>,
    #[serde(rename = "size_mb")]
    _size_mb: Option<u32>,
}

impl Table {
    fn builtin() -> Result<Table, Error> {
        toml::from_str(include_str!("encoders.toml"))
            .map_err(|error| Error::input(format!("the table of encoders: {}", error.message())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_tables() {
        let default = Encoder::default();
        assert_eq!(Encoder::named(&default.name).unwrap(), default);
        let error = Encoder::named("all-MiniLM-L6").unwrap_err();
        assert_eq!(
            error.hint.as_deref(),
            Some("did you mean `all-MiniLM-L6-v2`?")
        );
    }

    #[test]
    fn two_hundred_words_are_what_it_sees() {
        let encoder = Encoder::default();
        assert_eq!(encoder.overrun(&"word ".repeat(190)), None);
        assert_eq!(encoder.overrun(&"word ".repeat(250)), Some(322));
        assert_eq!(encoder.overrun(&"字".repeat(300)), Some(302));
        assert_eq!(encoder.overrun(""), None);
    }

    #[test]
    fn the_thresholds_are_of_the_table_that_is_shipped() {
        let table = Table::builtin().unwrap();
        let row = &table.encoders[BUILTIN];
        let shipped = crate::embed::StaticTable::builtin().unwrap();
        assert_eq!(row._digest, Some(shipped.digest()));
        assert_eq!(row.dimensions as usize, crate::embed::DIMENSIONS);
        let encoder = Encoder::builtin().unwrap();
        assert!(encoder.unrelated > Score::ZERO && encoder.related > encoder.unrelated);
    }
}
