//! Vectors from a sentence encoder of one's own, in the ONNX format.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use tenure::num::Score;
use tenure::object::clip;
use tenure::vectors::VectorModel;
use tenure::{Digest, Error};

use super::Embedder;
use crate::encoder::{Encoder, Pooling};
use crate::onnx::{Model, Output, Source, refused};
use crate::read::read_text;
use crate::settings::from_toml;

/// The outputs that exported encoders have: a vector of the text, or one of each token.
const OUTPUTS: [&str; 3] = [
    "sentence_embedding",
    "last_hidden_state",
    "token_embeddings",
];
/// Tokens that encoders see of which nothing is known.
const MAX_TOKENS: u32 = 512;

/// A sentence encoder in a folder: `model.onnx`, `tokenizer.json`, and what else sentence-transformers keeps there.
///
/// How the vectors of the tokens become one, how much of a text is seen and what stands before a query is, first to
/// last, what the settings say, what the catalogue of encoders knows of the name, what the folder's own files say, and
/// else the mean of 512 tokens after nothing. Vectors are compared by their angle, so none is cut to unit length.
pub struct OnnxEncoder {
    model: Model,
    described: VectorModel,
    pooling: Pooling,
    query_prefix: String,
    passage_prefix: String,
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
    /// The entry of the catalogue of encoders. Default: the folder's name, where it has one.
    encoder: Option<String>,
    max_tokens: Option<u32>,
    dimensions: Option<u32>,
    pooling: Option<Pooling>,
    query_prefix: Option<String>,
    passage_prefix: Option<String>,
    unrelated: Option<Score>,
    related: Option<Score>,
}

fn one() -> usize {
    1
}

/// Settings of the model in the folder's own files.
#[derive(Default)]
struct Own {
    pooling: Option<Pooling>,
    max_tokens: Option<u32>,
    query_prefix: Option<String>,
    passage_prefix: Option<String>,
}

impl OnnxEncoder {
    /// The encoder in this folder, run by this library.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is no library or no model, or the model is no sentence
    /// encoder.
    pub fn open(folder: &Path, library: Option<&Path>) -> Result<OnnxEncoder, Error> {
        let settings = Settings {
            onnx: PathBuf::new(),
            file: None,
            library: None,
            output: None,
            workers: one(),
            encoder: None,
            max_tokens: None,
            dimensions: None,
            pooling: None,
            query_prefix: None,
            passage_prefix: None,
            unrelated: None,
            related: None,
        };
        OnnxEncoder::of(settings, folder, library)
    }

    /// An encoder as this TOML says; its paths start from `base`, and its `library` comes before `library`.
    ///
    /// # Errors
    ///
    /// As [`OnnxEncoder::open`], and with the line when it makes no sense.
    pub fn from_toml(
        text: &str,
        base: &Path,
        library: Option<&Path>,
    ) -> Result<OnnxEncoder, Error> {
        OnnxEncoder::of(from_toml(text, super::WHAT)?, base, library)
    }

    fn of(settings: Settings, base: &Path, library: Option<&Path>) -> Result<OnnxEncoder, Error> {
        let folder = base.join(&settings.onnx);
        let (name, known) = match settings.encoder {
            Some(name) => (name.clone(), Some(Encoder::named(&name)?)),
            None => {
                let resolved = folder.canonicalize().unwrap_or_else(|_| folder.clone());
                let name = resolved.file_name().unwrap_or_default().to_string_lossy();
                (name.to_string(), Encoder::named(&name).ok())
            }
        };
        let own = Own::read(&folder)?;
        let known = known.as_ref();
        let prefix = |set: Option<String>, of: fn(&Encoder) -> &String, own: Option<String>| {
            set.or_else(|| known.map(|known| of(known).clone())).or(own).unwrap_or_default()
        };
        let query_prefix = prefix(
            settings.query_prefix,
            |known| &known.query_prefix,
            own.query_prefix,
        );
        let passage_prefix = prefix(
            settings.passage_prefix,
            |known| &known.passage_prefix,
            own.passage_prefix,
        );
        let pooling = settings
            .pooling
            .or(known.map(|known| known.pooling))
            .or(own.pooling)
            .unwrap_or_default();
        let max_tokens = settings
            .max_tokens
            .or(known.map(|known| known.max_tokens))
            .or(own.max_tokens)
            .unwrap_or(MAX_TOKENS);
        let source = Source {
            library: match &settings.library {
                Some(path) => Some(base.join(path)),
                None => library.map(Path::to_owned),
            },
            folder,
            file: settings.file,
            output: settings.output,
            max_tokens,
            workers: settings.workers,
        };
        let model = Model::open(&source, &OUTPUTS)?;
        let digest = Digest::of_parts([
            b"onnx-encoder".as_slice(),
            model.digest().bytes(),
            &[pooling as u8],
            &max_tokens.to_le_bytes(),
            query_prefix.as_bytes(),
            passage_prefix.as_bytes(),
        ]);
        let unrelated = settings.unrelated.or(known.map(|known| known.unrelated));
        let related = settings.related.or(known.map(|known| known.related));
        let mut encoder = OnnxEncoder {
            model,
            described: VectorModel {
                unrelated: unrelated.unwrap_or(Score::ZERO),
                related: related.unwrap_or(Score::ONE),
                ..VectorModel::new(name, digest)
            },
            pooling,
            query_prefix,
            passage_prefix,
        };
        // What its vectors are like is asked once, so that a model that cannot be used is refused now.
        let first = encoder.of_text("A first text.").map_err(refused)?;
        let dimensions = first.len() as u32;
        let promised = [
            (settings.dimensions, "the configuration says"),
            (known.map(|known| known.dimensions), "the catalogue knows"),
        ]
        .into_iter()
        .find_map(|(n, who)| Some((n?, who)));
        if let Some((wanted, who)) = promised.filter(|(wanted, _)| *wanted != dimensions) {
            let what = format!(
                "`{}` gives vectors of {dimensions} dimensions",
                clip(&encoder.described.name)
            );
            return Err(Error::input(what)
                .expected(format!("{wanted}, as {who}"))
                .hint("is it another model, or a folder with another model's name?"));
        }
        encoder.described.dimensions = dimensions;
        Ok(encoder)
    }

    /// The vector of one text, which is not empty.
    fn of_text(&self, text: &str) -> Result<Vec<f32>, Error> {
        let mut made = self.model.each(&[(text, None)], |output| self.pool(&output))?;
        made.pop().ok_or_else(|| Error::assertion("a text without an answer"))
    }

    /// One vector of what the model gave: its own, or the vectors of the tokens together.
    fn pool(&self, output: &Output<'_>) -> Result<Vec<f32>, Error> {
        let (tokens, dimensions) = match *output.shape {
            [1, dimensions] => (1, dimensions),
            [1, tokens, dimensions] => (tokens, dimensions),
            _ => (0, 0),
        };
        if tokens < 1 || dimensions < 1 || output.values.len() as i64 != tokens * dimensions {
            let what = format!("an answer of the shape {:?}", output.shape);
            return Err(self.model.failed(what).expected(
                "a vector of each text, [1, dimensions], or of each token, [1, tokens, dimensions]",
            ));
        }
        let mut rows = output.values.chunks_exact(dimensions as usize);
        let first = rows.next().unwrap_or_default().to_vec();
        let pooled = match self.pooling {
            Pooling::Cls => first,
            Pooling::Mean => {
                let sum = rows.fold(first, |mut sum, row| {
                    sum.iter_mut().zip(row).for_each(|(sum, c)| *sum += c);
                    sum
                });
                sum.into_iter().map(|sum| sum / tokens as f32).collect()
            }
        };
        match pooled.iter().find(|component| !component.is_finite()) {
            None => Ok(pooled),
            Some(bad) => Err(self
                .model
                .failed(format!("a component of a vector is {bad}"))
                .expected("finite numbers")),
        }
    }

    fn all(&self, prefix: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        // What says nothing points nowhere.
        let said: Vec<&str> = texts.iter().copied().filter(|t| !t.trim().is_empty()).collect();
        let prefixed: Vec<String> = if prefix.is_empty() {
            Vec::new()
        } else {
            said.iter().map(|text| format!("{prefix}{text}")).collect()
        };
        let asked: Vec<(&str, Option<&str>)> = if prefix.is_empty() {
            said.iter().map(|text| (*text, None)).collect()
        } else {
            prefixed.iter().map(|text| (text.as_str(), None)).collect()
        };
        let wanted = self.described.dimensions as usize;
        let mut made = self
            .model
            .each(&asked, |output| {
                let vector = self.pool(&output)?;
                if vector.len() == wanted {
                    Ok(vector)
                } else {
                    Err(self
                        .model
                        .failed(format!("a vector of {} dimensions", vector.len()))
                        .expected(format!("{wanted}, as its first one has")))
                }
            })?
            .into_iter();
        Ok(texts
            .iter()
            .map(|text| {
                if text.trim().is_empty() {
                    vec![0.0; self.described.dimensions as usize]
                } else {
                    made.next().unwrap_or_default()
                }
            })
            .collect())
    }
}

impl fmt::Debug for OnnxEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OnnxEncoder({})", self.described.name)
    }
}

impl Embedder for OnnxEncoder {
    fn model(&self) -> VectorModel {
        self.described.clone()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        self.all(&self.passage_prefix, texts)
    }

    fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        self.all(&self.query_prefix, texts)
    }
}

#[derive(Deserialize)]
struct PoolingFile {
    /// Name of the pooling as newer versions write it.
    pooling_mode: Option<String>,
    #[serde(default)]
    pooling_mode_cls_token: bool,
    #[serde(default)]
    pooling_mode_mean_tokens: bool,
}

#[derive(Deserialize)]
struct LengthFile {
    max_seq_length: Option<u32>,
}

#[derive(Deserialize)]
struct PromptsFile {
    #[serde(default)]
    prompts: Prompts,
}

#[derive(Deserialize, Default)]
struct Prompts {
    query: Option<String>,
    #[serde(alias = "passage")]
    document: Option<String>,
}

impl Own {
    fn read(folder: &Path) -> Result<Own, Error> {
        let mut own = Own::default();
        let path = folder.join("1_Pooling/config.json");
        if let Some(file) = json::<PoolingFile>(&path)? {
            let modes = (file.pooling_mode_mean_tokens, file.pooling_mode_cls_token);
            own.pooling = Some(match (file.pooling_mode.as_deref(), modes) {
                (Some("mean"), _) | (None, (true, false)) => Pooling::Mean,
                (Some("cls"), _) | (None, (false, true)) => Pooling::Cls,
                _ => {
                    return Err(Error::input(
                        "the vectors of the tokens are pooled in another way",
                    )
                    .at(path.display().to_string(), None)
                    .expected("by their mean, or by the first one (cls)"));
                }
            });
        }
        if let Some(file) = json::<LengthFile>(&folder.join("sentence_bert_config.json"))? {
            own.max_tokens = file.max_seq_length;
        }
        let path = folder.join("config_sentence_transformers.json");
        if let Some(PromptsFile { prompts }) = json(&path)? {
            own.query_prefix = prompts.query;
            own.passage_prefix = prompts.document;
        }
        Ok(own)
    }
}

/// A JSON file, where there is one.
fn json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    if !path.exists() {
        return Ok(None);
    }
    let read = serde_json::from_str(&read_text(path)?);
    read.map(Some).map_err(|error| {
        Error::input(format!("the file cannot be read: {error}"))
            .at(path.display().to_string(), Some(error.line()))
    })
}
