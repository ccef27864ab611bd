//! Relevance from a cross-encoder in the ONNX format, which reads query and text together.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use tenure::Error;
use tenure::num::Score;

use super::{RelevanceScorer, WHAT};
use crate::onnx::{Model, Output, Source, refused};
use crate::settings::from_toml;

/// The usual name of a classifier's output.
const OUTPUTS: [&str; 1] = ["logits"];
/// Tokens of query and text together that cross-encoders see.
const MAX_TOKENS: u32 = 512;

/// A cross-encoder in a folder: `model.onnx`, which gives one number for a query with a text, and `tokenizer.json`.
pub struct CrossEncoder {
    model: Model,
    shown: String,
    activation: Activation,
}

/// Functions that make a relevance of the model's number.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Activation {
    /// 1 / (1 + e⁻ˣ), for any number.
    #[default]
    Sigmoid,
    /// Nothing: it is from 0 to 1 already.
    None,
}

/// The configuration, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    onnx: PathBuf,
    file: Option<PathBuf>,
    library: Option<PathBuf>,
    output: Option<String>,
    #[serde(default = "one")]
    workers: usize,
    #[serde(default = "most")]
    max_tokens: u32,
    #[serde(default)]
    activation: Activation,
}

fn one() -> usize {
    1
}

fn most() -> u32 {
    MAX_TOKENS
}

impl CrossEncoder {
    /// The cross-encoder in this folder, run by this library.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is no library or no model, or the model gives
    /// anything but one number.
    pub fn open(folder: &Path, library: Option<&Path>) -> Result<CrossEncoder, Error> {
        let settings = Settings {
            onnx: PathBuf::new(),
            file: None,
            library: None,
            output: None,
            workers: one(),
            max_tokens: most(),
            activation: Activation::default(),
        };
        CrossEncoder::of(settings, folder, library)
    }

    /// A cross-encoder as this TOML says; its paths start from `base`, and its `library` comes before `library`.
    ///
    /// # Errors
    ///
    /// As [`CrossEncoder::open`], and with the line when it makes no sense.
    pub fn from_toml(
        text: &str,
        base: &Path,
        library: Option<&Path>,
    ) -> Result<CrossEncoder, Error> {
        CrossEncoder::of(from_toml(text, WHAT)?, base, library)
    }

    fn of(settings: Settings, base: &Path, library: Option<&Path>) -> Result<CrossEncoder, Error> {
        let folder = base.join(&settings.onnx);
        let shown = folder.display().to_string();
        let source = Source {
            library: match &settings.library {
                Some(path) => Some(base.join(path)),
                None => library.map(Path::to_owned),
            },
            folder,
            file: settings.file,
            output: settings.output,
            max_tokens: settings.max_tokens,
            workers: settings.workers,
        };
        let scorer = CrossEncoder {
            model: Model::open(&source, &OUTPUTS)?,
            shown,
            activation: settings.activation,
        };
        // A model that cannot be used is refused now.
        let tried = scorer.relevance("A question.", &["A text."]);
        tried.map_err(refused)?;
        Ok(scorer)
    }

    fn score(&self, output: &Output<'_>) -> Result<Score, Error> {
        let &[value] = output.values else {
            let what = format!("an answer of the shape {:?}", output.shape);
            return Err(self
                .model
                .failed(what)
                .expected("one number for a query with a text")
                .hint("a classifier of several labels is no cross-encoder for relevance"));
        };
        let value = f64::from(value);
        if !value.is_finite() {
            let what = format!("its answer is {value}");
            return Err(self.model.failed(what).expected("a finite number"));
        }
        match self.activation {
            Activation::Sigmoid => Ok(Score::clamped(1.0 / (1.0 + (-value).exp()))),
            Activation::None => Score::new(value).ok_or_else(|| {
                let what = format!("its answer is {value}");
                let error = self.model.failed(what).expected("from 0 to 1");
                error.hint("`activation = \"sigmoid\"` takes any number")
            }),
        }
    }
}

impl fmt::Debug for CrossEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CrossEncoder({})", self.shown)
    }
}

impl RelevanceScorer for CrossEncoder {
    fn relevance(&self, query: &str, texts: &[&str]) -> Result<Vec<Option<Score>>, Error> {
        let pairs: Vec<_> = texts.iter().map(|text| (query, Some(*text))).collect();
        let scores = self.model.each(&pairs, |output| self.score(&output))?;
        Ok(scores.into_iter().map(Some).collect())
    }
}
