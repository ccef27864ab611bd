//! Models in the ONNX format, run by ONNX Runtime: a library that the user has, loaded when a model is opened.
//! Nothing is downloaded and nothing is linked.
//!
//! A text is run by itself, on one thread: what it gives depends on no other text. (Runs of many at once are padded
//! or grouped, which changes the last bits, and models in 8-bit integers take their scale from all that is in a run.)
//! More workers are more copies of the model, which changes nothing but the time. The same library on the same
//! kind of processor gives the same bits; another one may round otherwise.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;

use ort::environment::Environment;
use ort::session::{Session, SessionInputValue};
use ort::value::{Tensor, TensorElementType, ValueType};
use tenure::object::clip;
use tenure::{Digest, Error, ErrorKind};
use tokenizers::{PostProcessor, Tokenizer, TruncationParams};

use crate::read::{read_bytes, read_up_to};

/// The largest model: more does not fit in one file of this format.
const MAX_MODEL: u64 = 2 << 30;
/// Most bytes for each token that a model sees that are cut into tokens at all.
const BYTES_A_TOKEN: usize = 64;
/// The most copies of a model.
pub(crate) const MAX_WORKERS: usize = 64;
/// The most tokens that a model may be said to see.
pub(crate) const MAX_TOKENS: u32 = 1 << 17;

/// The setting of ONNX Runtime that names the folder of weights that stand in files of their own.
const EXTERNAL_WEIGHTS: &str = "session.model_external_initializers_file_folder_path";

/// The library, of which a process has one.
static RUNTIME: Mutex<Option<(PathBuf, Environment)>> = Mutex::new(None);

/// Place of a model, and the way it is run.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The folder of `tokenizer.json` and the model.
    pub(crate) folder: PathBuf,
    /// The model's file in it, unless it is `model.onnx` or `onnx/model.onnx`.
    pub(crate) file: Option<PathBuf>,
    /// The library.
    pub(crate) library: Option<PathBuf>,
    /// The output that is read, unless it has one of the usual names or is the first.
    pub(crate) output: Option<String>,
    /// Most tokens of a text that it sees.
    pub(crate) max_tokens: u32,
    /// Number of copies of it that work at the same time.
    pub(crate) workers: usize,
}

/// Inputs that a model may ask for, in its order.
#[derive(Clone, Copy)]
enum Input {
    Ids,
    Mask,
    Types,
}

/// A model and its tokenizer.
pub(crate) struct Model {
    shown: String,
    sessions: Vec<Mutex<Session>>,
    inputs: Vec<(String, Input)>,
    output: String,
    tokenizer: Tokenizer,
    longest: usize,
    digest: Digest,
}

/// Output of a model for one text: one row, or one for each token.
pub(crate) struct Output<'o> {
    /// Size of each dimension; the first is the batch, of one.
    pub(crate) shape: &'o [i64],
    /// The numbers.
    pub(crate) values: &'o [f32],
}

impl Model {
    /// Opens a model; `outputs` are the usual names of what is wanted, the most usual first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is no library or no model, or when the model is not of the kind that takes
    /// tokens and gives numbers.
    pub(crate) fn open(source: &Source, outputs: &[&str]) -> Result<Model, Error> {
        if !(1..=MAX_WORKERS).contains(&source.workers) {
            let what = format!("`workers = {}`", source.workers);
            return Err(Error::input(what).expected(format!("from 1 to {MAX_WORKERS}")));
        }
        if !(3..=MAX_TOKENS).contains(&source.max_tokens) {
            let what = format!("`max_tokens = {}`", source.max_tokens);
            return Err(Error::input(what).expected(format!("from 3 to {MAX_TOKENS}")));
        }
        let path = model_path(source)?;
        let shown = path.display().to_string();
        let (tokenizer, words) = tokenizer(source)?;
        let environment = environment(source.library.as_deref())?;
        let bytes = read_up_to(&path, MAX_MODEL)?;
        let digest = Digest::of_parts([Digest::of(&bytes).bytes().as_slice(), words.bytes()]);
        let session = || -> Result<Session, Error> {
            // Each step has an error of its own type.
            fn refused<R>(error: ort::Error<R>) -> Error {
                Error::input(format!("ONNX Runtime takes no such model: {error}"))
                    .expected("a model in the ONNX format, with its weights in the same file")
            }
            let builder = Session::builder(&environment)
                .map_err(refused)?
                .with_intra_threads(1)
                .map_err(refused)?
                .with_inter_threads(1)
                .map_err(refused)?
                .with_deterministic_compute(true);
            // Weights elsewhere are in no digest: they are looked for where nothing can be, not in the folder at hand.
            let nowhere = path.to_string_lossy();
            let mut builder = builder
                .map_err(refused)?
                .with_config_entry(EXTERNAL_WEIGHTS, nowhere)
                .map_err(refused)?;
            builder.commit_from_memory(&bytes).map_err(refused)
        };
        let sessions = (0..source.workers)
            .map(|_| session())
            .collect::<Result<Vec<Session>, Error>>()
            .map_err(|error| error.or_at(&*shown, None))?;
        let first = sessions.first().ok_or_else(|| Error::assertion("a model without a worker"))?;
        let inputs = inputs_of(first).map_err(|error| error.or_at(&*shown, None))?;
        let wanted = source.output.as_deref();
        let output =
            output_of(first, wanted, outputs).map_err(|error| error.or_at(&*shown, None))?;
        Ok(Model {
            inputs,
            output,
            tokenizer,
            longest: source.max_tokens as usize * BYTES_A_TOKEN,
            digest,
            shown,
            sessions: sessions.into_iter().map(Mutex::new).collect(),
        })
    }

    /// The digest of the model's file, its tokenizer and the output that is read.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of_parts([self.digest.bytes().as_slice(), self.output.as_bytes()])
    }

    /// An error of this model, which stops being usable for what was asked.
    pub(crate) fn failed(&self, what: impl std::fmt::Display) -> Error {
        let what = format!("the model `{}`: {what}", self.shown);
        Error::new(ErrorKind::Unavailable, what)
    }

    /// Returns what `read` makes of the model's answer to each text, or pair of texts, in their order.
    pub(crate) fn each<R: Send>(
        &self,
        texts: &[(&str, Option<&str>)],
        read: impl Fn(Output<'_>) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        let share = texts.len().div_ceil(self.sessions.len()).max(1);
        let some = |texts: &[(&str, Option<&str>)]| -> Result<Vec<R>, Error> {
            let mut session = self.session();
            texts.iter().map(|text| self.run(&mut session, text, &read)).collect()
        };
        if texts.len() <= share {
            return some(texts);
        }
        let some = &some;
        thread::scope(|scope| {
            let parts: Vec<_> =
                texts.chunks(share).map(|part| scope.spawn(move || some(part))).collect();
            let mut all = Vec::with_capacity(texts.len());
            for part in parts {
                let answers = part.join();
                all.extend(answers.map_err(|_| self.failed("the thread that ran it ended"))??);
            }
            Ok(all)
        })
    }

    /// A copy of the model that nobody uses, or the next one to become free.
    fn session(&self) -> MutexGuard<'_, Session> {
        for session in &self.sessions {
            match session.try_lock() {
                Ok(session) => return session,
                // A session that somebody's panic left is as good as before: a run keeps nothing in it.
                Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        self.sessions[0].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run<R>(
        &self,
        session: &mut Session,
        (first, second): &(&str, Option<&str>),
        read: impl Fn(Output<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let cut = |text: &'_ str| text.floor_char_boundary(self.longest.min(text.len()));
        let first = &first[..cut(first)];
        let encoded = match second {
            None => self.tokenizer.encode(first, true),
            Some(second) => self.tokenizer.encode((first, &second[..cut(second)]), true),
        };
        let encoding = encoded.map_err(|error| self.failed(format!("its tokenizer: {error}")))?;
        let mut values: Vec<(Cow<'_, str>, SessionInputValue<'_>)> = Vec::new();
        for (name, input) in &self.inputs {
            let column = match input {
                Input::Ids => encoding.get_ids(),
                Input::Mask => encoding.get_attention_mask(),
                Input::Types => encoding.get_type_ids(),
            };
            let numbers: Vec<i64> = column.iter().map(|number| i64::from(*number)).collect();
            let tensor = Tensor::from_array(([1, numbers.len()], numbers))
                .map_err(|error| self.failed(error))?;
            values.push((Cow::Borrowed(name), tensor.into()));
        }
        let outputs = session.run(values).map_err(|error| {
            self.failed(error)
                .hint("is `tokenizer.json` this model's, and does it see `max_tokens` tokens?")
        })?;
        let output = outputs.get(&*self.output).ok_or_else(|| self.failed("it gave no answer"))?;
        let (shape, values) =
            output.try_extract_tensor::<f32>().map_err(|error| self.failed(error))?;
        read(Output { shape, values })
    }
}

/// An error of a model that was just opened: whoever chose it is told, and no one is to try again.
pub(crate) fn refused(error: Error) -> Error {
    Error {
        kind: ErrorKind::Input,
        ..error
    }
}

/// The model's file.
fn model_path(source: &Source) -> Result<PathBuf, Error> {
    let folder = &source.folder;
    let shown = folder.display();
    if !folder.is_dir() {
        return Err(Error::input(format!("there is no folder `{shown}`"))
            .expected("a folder with `model.onnx` and `tokenizer.json`"));
    }
    if let Some(file) = &source.file {
        return Ok(folder.join(file));
    }
    ["model.onnx", "onnx/model.onnx"]
        .map(|file| folder.join(file))
        .into_iter()
        .find(|path| path.exists()).ok_or_else(|| {
        Error::input(format!("there is no `model.onnx` in `{shown}`"))
            .expected("the model as `model.onnx` or `onnx/model.onnx`")
            .hint("where it has another name: a TOML file with `onnx = \"FOLDER\"` and `file = \"NAME\"`")
    })
}

/// The tokenizer, and the digest of its file.
fn tokenizer(source: &Source) -> Result<(Tokenizer, Digest), Error> {
    let path = source.folder.join("tokenizer.json");
    let bytes = read_bytes(&path)?;
    let refused = |error: tokenizers::Error| {
        Error::input(format!("the file is not a tokenizer: {error}"))
            .at(path.display().to_string(), None)
            .expected("a tokenizer.json in the Hugging Face format")
    };
    let mut tokenizer = Tokenizer::from_bytes(&bytes).map_err(refused)?;
    let processor = tokenizer.get_post_processor();
    let added = processor.map_or(0, |processor| {
        let of = |pair| processor.added_tokens(pair);
        of(false).max(of(true))
    });
    // What it adds to two texts must leave some room for both of them.
    if source.max_tokens as usize <= added + 2 {
        let what = format!("`max_tokens = {}`", source.max_tokens);
        let error = Error::input(what).expected(format!("{} at least", added + 3));
        return Err(error.hint(format!(
            "`{}` adds {added} tokens of its own to two texts",
            path.display()
        )));
    }
    let truncation = TruncationParams {
        max_length: source.max_tokens as usize,
        ..TruncationParams::default()
    };
    tokenizer.with_truncation(Some(truncation)).map_err(refused)?;
    tokenizer.with_padding(None);
    // Text that looks like a special token is ordinary text: no passage ends where it says that it does.
    tokenizer.set_encode_special_tokens(true);
    Ok((tokenizer, Digest::of(&bytes)))
}

/// The library, loaded when it is first asked for.
fn environment(library: Option<&Path>) -> Result<Environment, Error> {
    let Some(library) = library else {
        return Err(Error::input("no ONNX Runtime library is named")
            .expected("`--onnxruntime FILE`, the variable ORT_DYLIB_PATH, or `library` in the TOML file")
            .hint("the wheel `onnxruntime` from PyPI holds one, `onnxruntime/capi/libonnxruntime.so.*`"));
    };
    let shown = library.display();
    // The loader would look for a path that is not absolute beside the program first.
    let path = library.canonicalize().map_err(|error| {
        Error::input(format!(
            "the ONNX Runtime library `{shown}` cannot be read: {error}"
        ))
        .expected("the file of the library, such as `libonnxruntime.so`")
    })?;
    let mut loaded = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((held, environment)) = &*loaded {
        if *held == path {
            return Ok(environment.clone());
        }
        let what = format!(
            "another ONNX Runtime library is loaded, `{}`",
            held.display()
        );
        return Err(Error::input(what).expected(format!("one for all models, not `{shown}`, too")));
    }
    let refused = |error: String| {
        Error::input(format!(
            "`{shown}` is not the library that is needed: {error}"
        ))
        .expected(format!(
            "ONNX Runtime 1.{} or newer, for this kind of machine",
            ort::MINOR_VERSION
        ))
    };
    let builder = ort::init_from(&path).map_err(|error| refused(error.to_string()))?;
    // What it would log comes back as an error where it matters.
    let environment = builder
        .with_name("tenure")
        .with_telemetry(false)
        .with_logger(Arc::new(|_, _, _, _, _| {}))
        .build()
        .map_err(|error| refused(error.to_string()))?;
    *loaded = Some((path, environment.clone()));
    Ok(environment)
}

fn inputs_of(session: &Session) -> Result<Vec<(String, Input)>, Error> {
    let mut inputs = Vec::new();
    for input in session.inputs() {
        let kind = match input.name() {
            "input_ids" => Input::Ids,
            "attention_mask" => Input::Mask,
            "token_type_ids" => Input::Types,
            other => {
                return Err(
                    Error::input(format!("it asks for `{}`", clip(other))).expected(
                        "a model of texts: `input_ids`, `attention_mask`, `token_type_ids`",
                    ),
                );
            }
        };
        let taken = matches!(
            input.dtype(),
            ValueType::Tensor { ty: TensorElementType::Int64, shape, .. } if shape.len() == 2
        );
        if !taken {
            let what = format!("its input `{}` is {}", input.name(), input.dtype());
            return Err(Error::input(what).expected("texts by tokens, as 64-bit integers"));
        }
        inputs.push((input.name().to_owned(), kind));
    }
    if inputs.iter().any(|(_, kind)| matches!(kind, Input::Ids)) {
        Ok(inputs)
    } else {
        Err(Error::input("it takes no tokens").expected("an input `input_ids`"))
    }
}

fn output_of(session: &Session, wanted: Option<&str>, usual: &[&str]) -> Result<String, Error> {
    let all = session.outputs();
    let named = |name: &str| all.iter().find(|output| output.name() == name);
    let found = match wanted {
        Some(name) => named(name),
        None => usual.iter().find_map(|name| named(name)).or(all.first()),
    };
    let names: Vec<String> = all.iter().map(|output| clip(output.name())).collect();
    let Some(output) = found else {
        let what = format!("it has no output `{}`", clip(wanted.unwrap_or_default()));
        return Err(Error::input(what).expected(format!("one of: {}", names.join(", "))));
    };
    if output.dtype().tensor_type() != Some(TensorElementType::Float32) {
        let what = format!("its output `{}` is {}", clip(output.name()), output.dtype());
        return Err(
            Error::input(what).expected("32-bit floating-point numbers").hint(format!(
                "its outputs are: {}; `output` names another",
                names.join(", ")
            )),
        );
    }
    Ok(output.name().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_sees_more_than_the_tokens_that_its_tokenizer_adds() {
        let folder = tempfile::tempdir().unwrap();
        let words = serde_json::json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
            "normalizer": null, "pre_tokenizer": { "type": "Whitespace" }, "decoder": null,
            "post_processor": { "type": "BertProcessing", "sep": ["[SEP]", 1], "cls": ["[CLS]", 0] },
            "model": { "type": "WordLevel", "vocab": { "[CLS]": 0, "[SEP]": 1, "[UNK]": 2, "a": 3, "b": 4 }, "unk_token": "[UNK]" },
        });
        let path = folder.path().join("tokenizer.json");
        std::fs::write(path, words.to_string()).unwrap();
        let of = |max_tokens| {
            tokenizer(&Source {
                folder: folder.path().to_owned(),
                file: None,
                library: None,
                output: None,
                max_tokens,
                workers: 1,
            })
        };
        for few in [1, 3, 5] {
            let said = of(few).unwrap_err().to_string();
            assert!(
                said.contains("6 at least") && said.contains("adds 3"),
                "{said}"
            );
        }
        let (enough, _) = of(6).unwrap();
        let cut = enough.encode(("a a a a", "b b b b"), true).unwrap();
        assert_eq!(cut.get_ids(), [0, 3, 1, 4, 4, 1]);
    }
}
