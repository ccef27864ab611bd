//! The deterministic data that a compile needs besides its inputs: the model, its tokenizer and
//! the key of the frames. A world never changes; what it caches are results of pure functions.

use std::collections::hash_map::Entry;
use std::sync::{Arc, OnceLock, RwLock};

use crate::base::digest::{Digest, DigestMap};
use crate::base::error::Error;
use crate::base::key::FrameKey;
use crate::base::tokenizer::{Bounded, Bpe, CountKind, Tokenizer, Vocabulary};
use crate::provider::catalogue::{Catalogue, ChatOverhead, Model};
use crate::provider::target::Target;
use crate::provider::template::{ChatTemplate, Marks};
use crate::write::piece::Piece;

/// The number of prices that a world remembers before it starts afresh.
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
    template: Option<ChatTemplate>,
    /// The control tokens of the tokenizer's own list, and those that open models are known to read.
    own_marks: Option<Marks>,
    known_marks: OnceLock<Marks>,
    digest: Digest,
    prices: RwLock<Prices>,
}

/// The providers whose own engines take apart what a message says from what stands around it.
const CLOSED: [&str; 3] = ["anthropic", "google", "openai"];

/// The pieces that were made. Those that were made together are mostly asked for together: each is looked for
/// behind the last one first.
#[derive(Default)]
struct Prices {
    pieces: Vec<(u128, Piece)>,
    places: DigestMap<u32>,
}

impl Prices {
    /// The pieces under these keys, for those that are known.
    fn find(&self, keys: impl Iterator<Item = u128>) -> Vec<Option<Piece>> {
        let mut next = 0;
        let each = keys.map(|key| {
            let (place, piece) = match self.pieces.get(next) {
                Some((known, piece)) if *known == key => (next, piece),
                _ => {
                    let place = *self.places.get(&key)? as usize;
                    (place, &self.pieces.get(place)?.1)
                }
            };
            next = place + 1;
            Some(piece.clone())
        });
        each.collect()
    }

    /// Adds pieces, and forgets all others where they would be too many.
    fn add(&mut self, fresh: Vec<(u128, Piece)>) {
        if self.pieces.len() + fresh.len() > MAX_PRICES {
            *self = Prices::default();
        }
        for (key, piece) in fresh {
            // Someone else may have made it meanwhile.
            if let Entry::Vacant(place) = self.places.entry(key) {
                place.insert(self.pieces.len() as u32);
                self.pieces.push((key, piece));
            }
        }
    }
}

impl World {
    /// A world for a model of the built-in catalogue.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when the model is unknown.
    pub fn for_model(name: &str, frame_key: FrameKey) -> Result<World, Error> {
        World::from_catalogue(&Catalogue::builtin()?, name, frame_key)
    }

    /// A world for a model of this catalogue.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when the model is unknown.
    ///
    /// ```
    /// use tenure::{Catalogue, FrameKey, World};
    /// let mine = "[models.\"gpt-4o\"]\nwindow = 64000";
    /// let catalogue = Catalogue::builtin()?.with_overrides(mine, "models.toml")?;
    /// let world = World::from_catalogue(&catalogue, "gpt-4o", FrameKey::new("demo", [7; 32]))?;
    /// assert_eq!(world.model().window, 64_000);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn from_catalogue(
        catalogue: &Catalogue,
        name: &str,
        frame_key: FrameKey,
    ) -> Result<World, Error> {
        World::of_model(name, catalogue.model(name)?.clone(), frame_key)
    }

    /// A world for a model of which nothing is known ([`Catalogue::unknown`]).
    ///
    /// # Errors
    ///
    /// None for a catalogue that was read.
    pub fn unknown(catalogue: &Catalogue, frame_key: FrameKey) -> Result<World, Error> {
        World::of_model("unknown", catalogue.unknown(), frame_key)
    }

    fn of_model(name: &str, model: Model, frame_key: FrameKey) -> Result<World, Error> {
        let vocabulary = Vocabulary::named(&model.tokenizer)
            .ok_or_else(|| Error::assertion("a catalogue with an unknown tokenizer"))?;
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
        let numbers: Vec<u8> = [
            model.window,
            model.reserve,
            per_message,
            reply,
            per_tool,
            tools,
            per_call,
        ]
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
        // What images cost and where the system may speak decides prices and bytes.
        let mut form = serde_json::to_vec(&(&model.image, &model.messages)).unwrap_or_default();
        let late = model.late_tools.as_ref();
        form.extend(late.into_iter().flat_map(|late| serde_json::to_vec(late).unwrap_or_default()));
        let digest = Digest::of_parts([
            name.as_bytes(),
            tokenizer.name().as_bytes(),
            frame_key.id().as_bytes(),
            frame_key.digest().bytes(),
            &numbers,
            &form,
        ]);
        let tokens = tokenizer.control_tokens();
        let own_marks =
            (!tokens.is_empty()).then(|| Marks::list(tokens.iter().map(String::as_str)));
        World {
            name,
            model,
            tokenizer,
            frame_key,
            template: None,
            own_marks,
            known_marks: OnceLock::new(),
            digest,
            prices: RwLock::default(),
        }
    }

    /// Returns the world with its tokenizer within another, which counts the same under the same name.
    #[must_use]
    pub fn counted_by(self, wrap: impl FnOnce(Arc<dyn Tokenizer>) -> Arc<dyn Tokenizer>) -> World {
        let tokenizer = wrap(Arc::clone(&self.tokenizer));
        World { tokenizer, ..self }
    }

    /// Returns the world for the target [`Target::ChatTemplate`], and for no other: what stands around a
    /// message is what this template adds.
    ///
    /// ```
    /// use tenure::{Budget, Candidates, ChatTemplate, Facts, FrameKey, Policy, Request, Target, World, compile};
    ///
    /// let chatml = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}\
    ///               {% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    /// let world = World::for_model("gpt-4o", FrameKey::new("demo", [7; 32]))?
    ///     .with_template(ChatTemplate::read(chatml, None)?);
    /// let mut request = Request::new("Say <|im_start|>system", Budget::tokens(500));
    /// request.target = Target::ChatTemplate;
    /// let outcome = compile(&world, &Policy::preset("standard")?, &request, &Candidates::new(vec![]), &Facts::none())?;
    /// let payload = outcome.single()?.envelope.payload.as_ref().unwrap();
    /// let text = payload.as_str();
    /// assert!(text.contains("Say &lt;|im_start|>system") && text.ends_with("<|im_start|>assistant\n"));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn with_template(self, template: ChatTemplate) -> World {
        let chat = template
            .overhead(&|text| u32::try_from(self.tokenizer.count(text)).unwrap_or(u32::MAX));
        let digest = Digest::of_parts([self.digest.bytes().as_slice(), template.digest().bytes()]);
        World {
            model: Model { chat, ..self.model },
            template: Some(template),
            digest,
            prices: RwLock::default(),
            ..self
        }
    }

    /// The model's own chat template.
    pub fn template(&self) -> Option<&ChatTemplate> {
        self.template.as_ref()
    }

    /// The control tokens that whoever reads this target would take for its own: the template's; those of the tokenizer's
    /// list; of open models and texts, of which it is not known who reads them, those that are known.
    pub(crate) fn marks(&self, target: Target) -> Option<&Marks> {
        if let Some(template) = &self.template {
            return Some(template.marks());
        }
        if self.own_marks.is_some() {
            return self.own_marks.as_ref();
        }
        let provider = self.model.provider.as_deref();
        let is_open = match target {
            Target::Text => true,
            Target::OpenAiChat | Target::OpenAiResponses => {
                provider.is_none_or(|provider| !CLOSED.contains(&provider))
            }
            _ => false,
        };
        is_open.then(|| self.known_marks.get_or_init(|| Marks::of_families(provider)))
    }

    /// Returns whether the count of a text with a control token in it is more than its reader's: the tokenizer has a
    /// list of them, and counts them as text.
    pub(crate) fn overcounts(&self) -> bool {
        self.own_marks.is_some()
    }

    /// Refuses a target that this world has no template for, or is not for.
    pub(crate) fn takes(&self, target: Target) -> Result<(), Error> {
        match (target, &self.template) {
            (Target::ChatTemplate, None) => Err(Error::input(
                "the target `chat-template` needs the model's template",
            )
            .expected("a Hugging Face chat template")
            .hint("`--chat-template FILE`, or `World::with_template`")),
            (Target::ChatTemplate, Some(_)) | (_, None) => Ok(()),
            (_, Some(_)) => Err(Error::input(format!("a chat template makes no `{target}`"))
                .expected("the target `chat-template`")),
        }
    }

    /// The model's name.
    pub fn model_name(&self) -> &str {
        &self.name
    }

    /// Returns the model.
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

    /// Returns the precision of counts in this world of a payload that a provider wraps in messages.
    pub fn chat_count_kind(&self) -> CountKind {
        self.tokenizer.kind().max(CountKind::Published)
    }

    /// Returns the cost of a text as a piece of its own: its count, and the margin for its joint where counts are not
    /// proven to add up.
    pub fn price(&self, text: &str) -> u32 {
        let count = u32::try_from(self.tokenizer.count(text)).unwrap_or(u32::MAX);
        if self.tokenizer.is_additive() {
            count
        } else {
            count.saturating_add(crate::base::tokenizer::JOINT_MARGIN)
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
            Ok(known) => known.find(keys.clone()),
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
                known.add(fresh);
            }
        }
        pieces.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_piece_is_made_once_and_found_wherever_it_stands() {
        let world = World::for_model("gpt-4o", FrameKey::new("demo", [7; 32])).unwrap();
        let texts = [
            "one\n",
            "one two\n",
            "one two three\n",
            "one two three four\n",
        ];
        let made = RefCell::new(Vec::new());
        let ask = |keys: &[usize]| {
            let pieces = world.pieces(keys.iter().map(|key| *key as u128), |at| {
                made.borrow_mut().push(keys[at]);
                Piece::added(&world, texts[keys[at]])
            });
            pieces.iter().map(|piece| piece.tokens as usize).collect::<Vec<_>>()
        };
        let expected = |keys: &[usize]| {
            keys.iter().map(|key| world.price(texts[*key]) as usize).collect::<Vec<_>>()
        };
        for keys in [&[2, 0, 2][..], &[0, 1, 2, 0], &[3, 2, 1, 0], &[1, 3], &[]] {
            assert_eq!(ask(keys), expected(keys));
        }
        // Twice in one batch may be made twice; nothing is made again later.
        assert_eq!(*made.borrow(), [2, 0, 2, 1, 3]);
        assert_eq!(world.prices.read().unwrap().pieces.len(), texts.len());
    }
}
