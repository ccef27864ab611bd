//! The deterministic data that a compile needs besides its inputs: the model, its tokenizer and
//! the key of the frames. A world never changes; what it caches are results of pure functions.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use serde::{Deserialize, Serialize};

use crate::digest::{Digest, DigestMap};
use crate::error::{Error, ErrorKind, nearest, parse_error};
use crate::frame::{FrameKey, Piece};
use crate::tokenizer::{Bounded, Bpe, CountKind, Tokenizer, Vocabulary};

const CATALOGUE: &str = include_str!("catalogue.toml");

/// What is known of a model, dated (`catalogue.toml`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Tokens that input and output share.
    pub window: u32,
    /// Tokens kept for the answer unless the request says otherwise.
    pub reserve: u32,
    /// A built-in vocabulary, whose counts are exact or the base of the bound.
    pub tokenizer: String,
    /// What is added to each count where the model has no vocabulary of its own.
    #[serde(default)]
    pub margin_percent: u32,
    /// What the provider adds to a chat.
    #[serde(default)]
    pub chat: ChatOverhead,
}

/// What a provider adds to the text of a chat request, in tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChatOverhead {
    /// For each message.
    pub per_message: u32,
    /// For the answer's opening.
    pub reply: u32,
    /// For each tool offered.
    pub per_tool: u32,
    /// Once, when any tool is offered.
    pub tools: u32,
    /// For each tool call in an assistant's message.
    pub per_call: u32,
}

impl Default for ChatOverhead {
    fn default() -> ChatOverhead {
        ChatOverhead {
            per_message: 3,
            reply: 3,
            per_tool: 8,
            tools: 12,
            per_call: 4,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogueFile {
    #[allow(dead_code)] // read by people and by the catalogue's test
    dated: String,
    models: BTreeMap<String, Model>,
}

/// The models that are known, with what is known of them.
#[derive(Clone, Debug)]
pub struct Catalogue {
    models: BTreeMap<String, Model>,
}

impl Catalogue {
    /// The catalogue that is built in.
    ///
    /// # Errors
    ///
    /// None in a released build: a test reads it.
    pub fn builtin() -> Result<Catalogue, Error> {
        Catalogue::parse(CATALOGUE)
    }

    /// A catalogue from TOML.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when it does not have the catalogue's form.
    pub fn parse(text: &str) -> Result<Catalogue, Error> {
        let file: CatalogueFile = toml::from_str(text)
            .map_err(|error| parse_error(error.message()).or_at("catalogue", None))?;
        Ok(Catalogue {
            models: file.models,
        })
    }

    /// The model of this name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when there is none; the nearest known name is offered.
    pub fn model(&self, name: &str) -> Result<&Model, Error> {
        self.models.get(name).ok_or_else(|| {
            let error = Error::input(format!("unknown model `{}`", crate::object::clip(name)))
                .expected("a model of the catalogue, or a path to a tokenizer.json");
            match nearest(name, self.models.keys().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint(format!(
                    "known models: {}",
                    self.names().collect::<Vec<_>>().join(", ")
                )),
            }
        })
    }

    /// The names of all models, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }
}

/// How many prices a world remembers before it starts afresh.
const MAX_PRICES: usize = 1 << 20;

/// The deterministic data that a compile needs: model, tokenizer, frame key.
///
/// ```
/// use tenure::{FrameKey, World};
/// let world = World::for_model("gpt-4o", FrameKey::new("demo", [7; 32])).unwrap();
/// assert_eq!(world.tokenizer().count("hello world"), 2);
/// ```
pub struct World {
    name: String,
    model: Model,
    tokenizer: Arc<dyn Tokenizer>,
    frame_key: FrameKey,
    digest: Digest,
    prices: RwLock<DigestMap<Piece>>,
}

impl World {
    /// A world for a model of the built-in catalogue.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the model is unknown.
    pub fn for_model(name: &str, frame_key: FrameKey) -> Result<World, Error> {
        let model = Catalogue::builtin()?.model(name)?.clone();
        let vocabulary = Vocabulary::named(&model.tokenizer).ok_or_else(|| {
            Error::new(
                ErrorKind::Input,
                format!("unknown tokenizer `{}` of model `{name}`", model.tokenizer),
            )
            .expected("o200k_base or cl100k_base")
        })?;
        let exact: Arc<dyn Tokenizer> = Arc::new(Bpe::new(vocabulary));
        let tokenizer = match model.margin_percent {
            0 => exact,
            percent => Arc::new(Bounded::new(exact, percent)),
        };
        Ok(World::new(name, model, tokenizer, frame_key))
    }

    /// A world for any model and tokenizer.
    pub fn new(
        name: impl Into<String>,
        model: Model,
        tokenizer: Arc<dyn Tokenizer>,
        frame_key: FrameKey,
    ) -> World {
        let name = name.into();
        let ChatOverhead {
            per_message,
            reply,
            per_tool,
            tools,
            per_call,
        } = model.chat;
        let numbers = [
            model.window,
            model.reserve,
            per_message,
            reply,
            per_tool,
            tools,
            per_call,
        ];
        let numbers: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        let digest = Digest::of_parts([
            name.as_bytes(),
            tokenizer.name().as_bytes(),
            frame_key.id().as_bytes(),
            frame_key.digest().bytes(),
            &numbers,
        ]);
        World {
            name,
            model,
            tokenizer,
            frame_key,
            digest,
            prices: RwLock::default(),
        }
    }

    /// The model's name.
    pub fn model_name(&self) -> &str {
        &self.name
    }

    /// What is known of the model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The tokenizer.
    pub fn tokenizer(&self) -> &dyn Tokenizer {
        &*self.tokenizer
    }

    /// The key of the frames.
    pub fn frame_key(&self) -> &FrameKey {
        &self.frame_key
    }

    /// The digest of all of it.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// What a count in this world is worth for a payload that a provider wraps in messages.
    pub fn chat_count_kind(&self) -> CountKind {
        self.tokenizer.kind().max(CountKind::Published)
    }

    /// What a text costs as a piece of its own: its count, and the margin for its joint where
    /// counts are not proven to add up.
    pub fn price(&self, text: &str) -> u32 {
        let count = u32::try_from(self.tokenizer.count(text)).unwrap_or(u32::MAX);
        if self.tokenizer.is_additive() {
            count
        } else {
            count.saturating_add(crate::tokenizer::JOINT_MARGIN)
        }
    }

    /// The pieces under these keys, each made at most once per world: `make(i)` is a pure function
    /// of the world and of what `keys[i]` identifies. One lock serves the whole batch.
    pub(crate) fn pieces(
        &self,
        keys: impl Iterator<Item = u128> + Clone,
        make: impl Fn(usize) -> Piece,
    ) -> Vec<Piece> {
        let mut pieces: Vec<Option<Piece>> = match self.prices.read() {
            Ok(known) => keys.clone().map(|key| known.get(&key).cloned()).collect(),
            Err(_) => keys.clone().map(|_| None).collect(),
        };
        if pieces.iter().any(Option::is_none) {
            let mut fresh = Vec::new();
            for (at, (piece, key)) in pieces.iter_mut().zip(keys).enumerate() {
                if piece.is_none() {
                    let made = make(at);
                    fresh.push((key, made.clone()));
                    *piece = Some(made);
                }
            }
            if let Ok(mut known) = self.prices.write() {
                if known.len() + fresh.len() > MAX_PRICES {
                    known.clear();
                }
                known.extend(fresh);
            }
        }
        pieces.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_catalogue_is_sound() {
        let catalogue = Catalogue::builtin().unwrap();
        for name in catalogue.names() {
            let model = catalogue.model(name).unwrap();
            assert!(model.reserve < model.window, "{name}");
            assert!(Vocabulary::named(&model.tokenizer).is_some(), "{name}");
        }
        let error = catalogue.model("gpt-4p").unwrap_err();
        assert!(error.hint.unwrap().contains("did you mean"));
    }
}
