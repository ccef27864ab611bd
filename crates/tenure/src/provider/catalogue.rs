//! The model catalogue: what is known of models, as one dated file (`catalogue.toml`) that the
//! user's own file overrides.
//!
//! A catalogue is a stack of texts in one form. An entry is laid over the entry of its name below,
//! key by key; `extends = "NAME"` lays it over another one instead. Lists are replaced as a whole,
//! and so are a `cache` that names its `kind` and an `image` that names its `formula`: a different
//! kind has no use for the old one's numbers.
//!
//! Prices, caches, images and message rules are for planning. What a compile depends on is the
//! window, the reserve, the overheads and the tokenizer alone ([`World`](crate::World)).

mod audit;
mod image;
mod layers;
mod model;
mod price;
mod resolve;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;

use self::layers::{File, Located, Stack, line};
use self::resolve::Stems;
use crate::base::error::{Error, nearest};
use crate::base::text::clip;

pub use audit::{Finding, Staleness};
pub use image::Image;
pub use model::{
    CacheKind, CacheMark, CacheRules, ChatOverhead, Kv, LateForm, LateTools, MessageRules, Model,
    SystemRole,
};
pub use price::{Cost, Price, PriceTier};
pub use resolve::{Resolved, Rule};

/// The name of the text that is built in.
const BUILTIN_FILE: &str = "built-in";
const BUILTIN: &str = include_str!("catalogue.toml");

/// The window of a model whose own no one has stated: more than any has.
const UNSTATED: u32 = 1 << 30;
/// The room for its answer, in tokens.
const UNKNOWN_RESERVE: u32 = 1_024;
/// The most names that a message lists.
const LISTED: usize = 40;

/// The models that are known, with what is known of them.
///
/// ```
/// use tenure::Catalogue;
/// let mine = r#"
///     models.gpt-4o.window = 64000
///     models.in-house.extends = "gpt-4o"
/// "#;
/// let catalogue = Catalogue::builtin()?.with_overrides(mine, "models.toml")?;
/// assert_eq!(catalogue.model("gpt-4o")?.window, 64_000);
/// assert_eq!(catalogue.model("in-house")?.reserve, catalogue.model("gpt-4o")?.reserve);
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Catalogue {
    layers: Vec<Layer>,
    entries: BTreeMap<String, Entry>,
    stems: Stems,
}

/// A text of a catalogue.
#[derive(Clone, Debug)]
struct Layer {
    shown: String,
    text: Cow<'static, str>,
}

#[derive(Clone, Debug)]
struct Entry {
    model: Model,
    origin: Origin,
}

/// The origin of an entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Origin {
    /// The text that holds the entry: `built-in`, or a file as it was named.
    pub file: String,
    /// The day on which the entry was right.
    pub dated: Option<String>,
    /// The entry that it was laid over, where it named one.
    pub extends: Option<String>,
    /// The text whose entry of the same name it took the place of, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// The changes by other texts since, in order.
    pub changed: Vec<Change>,
}

/// The change that a text makes to an entry of a text below it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// The text, as it was named.
    pub file: String,
    /// The keys that it sets.
    pub keys: Vec<String>,
}

impl Catalogue {
    /// The catalogue that is built in.
    ///
    /// # Errors
    ///
    /// None in a released build: a test reads it.
    pub fn builtin() -> Result<Catalogue, Error> {
        Catalogue::of(vec![Layer {
            shown: BUILTIN_FILE.to_owned(),
            text: Cow::Borrowed(BUILTIN),
        }])
    }

    /// A catalogue from TOML, of the models in this text alone.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with the line, when it does not have the
    /// catalogue's form, contradicts itself or holds no model.
    pub fn parse(text: &str) -> Result<Catalogue, Error> {
        let catalogue = Catalogue::of(vec![Layer {
            shown: "catalogue".to_owned(),
            text: Cow::Owned(text.to_owned()),
        }])?;
        if catalogue.entries.is_empty() {
            return Err(Error::input("the catalogue has no models")
                .at("catalogue", None)
                .expected("a table `[models.\"NAME\"]` for each"));
        }
        Ok(catalogue)
    }

    /// Returns the catalogue with the entries of this text laid over its own. Messages call the text
    /// `shown`.
    ///
    /// # Errors
    ///
    /// As [`Catalogue::parse`], except that a text may hold no model.
    pub fn with_overrides(
        mut self,
        text: impl Into<String>,
        shown: impl Into<String>,
    ) -> Result<Catalogue, Error> {
        self.layers.push(Layer {
            shown: shown.into(),
            text: Cow::Owned(text.into()),
        });
        Catalogue::of(self.layers)
    }

    /// The model of this name, or the one that it is a version of, as people write it: dated, behind a provider's name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when there is none; its family, or the nearest known name, is
    /// offered.
    ///
    /// ```
    /// use tenure::Catalogue;
    /// let catalogue = Catalogue::builtin()?;
    /// assert_eq!(catalogue.model("openai/gpt-4o-2024-08-06")?, catalogue.model("gpt-4o")?);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn model(&self, name: &str) -> Result<&Model, Error> {
        self.entry(name).map(|entry| &entry.model)
    }

    /// Returns the origin of this model's entry.
    ///
    /// # Errors
    ///
    /// As [`Catalogue::model`].
    pub fn origin(&self, name: &str) -> Result<&Origin, Error> {
        self.entry(name).map(|entry| &entry.origin)
    }

    /// The entry that the name of a request's model means: the one of this name; else the one whose name it is
    /// a version of, or whose family it is of, whichever says more; none where nothing is known of it.
    ///
    /// ```
    /// use tenure::Catalogue;
    /// use tenure::catalogue::Rule;
    /// let catalogue = Catalogue::builtin()?;
    /// let found = catalogue.resolve("us.anthropic.claude-opus-4-5-20251101-v1:0").unwrap();
    /// assert_eq!((found.name, found.rule), ("claude-opus-4-5", Rule::Version));
    /// let found = catalogue.resolve("anthropic/claude-opus-4.9").unwrap();
    /// assert_eq!((found.name, found.rule), ("claude+", Rule::Family));
    /// assert_eq!(catalogue.resolve("llama-claude-merge"), None);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn resolve(&self, name: &str) -> Option<Resolved<'_>> {
        match self.entries.get_key_value(name) {
            Some((name, _)) => Some(Resolved {
                name,
                rule: Rule::Exact,
            }),
            None => self.stems.find(name),
        }
    }

    /// A model of which nothing is known but what its upstream says: its window is for others to state, and its
    /// counts are bounded by the largest margin and the largest overheads of the catalogue.
    pub fn unknown(&self) -> Model {
        let mut unknown = Model::new(UNSTATED, UNKNOWN_RESERVE, "o200k_base");
        for Entry { model, .. } in self.entries.values() {
            unknown.margin_percent = unknown.margin_percent.max(model.margin_percent);
            unknown.chat = unknown.chat.max(model.chat);
        }
        unknown
    }

    fn entry(&self, name: &str) -> Result<&Entry, Error> {
        let found = self.resolve(name);
        // What is known of a family is for a request that goes on whatever its model is; a person may have slipped.
        let named = found.filter(|found| match found.rule {
            Rule::Exact => true,
            Rule::Version => self.stems.is_same(name, found.name),
            // Who writes all of a family's name means it: `claude-sonnet-4-6` is `claude-sonnet-4-6+`.
            Rule::Family => {
                let whole = found.name.trim_end_matches('+');
                let own = self.resolve(whole).filter(|own| own.name == found.name);
                own.is_some() && self.stems.is_same(name, whole)
            }
        });
        let entry = named.and_then(|named| self.entries.get(named.name));
        entry.ok_or_else(|| {
            let error = Error::input(format!("unknown model `{}`", clip(name)))
                .expected("a model of the catalogue, or a path to a tokenizer.json");
            if let Some(family) = found.filter(|found| found.rule == Rule::Family) {
                return error.hint(format!(
                    "`{}` stands for its family, with bounded counts",
                    family.name
                ));
            }
            match nearest(name, self.names()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => {
                    let more = if self.entries.len() > LISTED {
                        ", …"
                    } else {
                        ""
                    };
                    let names: Vec<&str> = self.names().take(LISTED).collect();
                    error.hint(format!("known models: {}{more}", names.join(", ")))
                }
            }
        })
    }

    /// The names of all models, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The catalogue of these texts, each laid over those before it.
    fn of(layers: Vec<Layer>) -> Result<Catalogue, Error> {
        let mut stack = Stack::default();
        for layer in &layers {
            let located = |(span, error): Located| {
                error.or_at(&layer.shown, span.map(|span| line(&layer.text, &span)))
            };
            let file = File::parse(&layer.text).map_err(located)?;
            stack.lay(file, &layer.shown).map_err(located)?;
        }
        let Stack {
            entries,
            families,
            routes,
            ..
        } = stack;
        let stems = Stems::of(&entries, families, routes);
        Ok(Catalogue {
            layers,
            entries,
            stems,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::key::FrameKey;
    use crate::base::tokenizer::Vocabulary;
    use crate::write::world::World;
    use proptest::prelude::*;

    fn over(text: &str) -> Result<Catalogue, Error> {
        Catalogue::builtin().unwrap().with_overrides(text, "mine.toml")
    }

    #[test]
    fn models_are_named_as_people_write_them() {
        let catalogue = Catalogue::builtin().unwrap();
        for (written, entry) in [
            ("gpt-4o-2024-08-06", "gpt-4o"),
            ("openai/gpt-4o", "gpt-4o"),
            ("azure/gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
            ("GPT-4o", "gpt-4o"),
            ("gpt-4-0613", "gpt-4"),
            ("anthropic/claude-opus-4.5", "claude-opus-4-5"),
            (
                "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
                "claude-sonnet-4-5",
            ),
            ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
            ("claude-opus-5-latest", "claude-opus-5"),
            ("claude-sonnet-4-6", "claude-sonnet-4-6+"),
            ("anthropic/claude-sonnet-4.6-20260212", "claude-sonnet-4-6+"),
        ] {
            assert_eq!(
                catalogue.model(written),
                catalogue.model(entry),
                "{written}"
            );
        }
        for (slip, hint) in [
            ("gpt-4o-min", "did you mean `gpt-4o-mini`?"),
            (
                "claude-opus-4-9",
                "`claude+` stands for its family, with bounded counts",
            ),
            ("claude-4", "`claude+` stands for its family"),
            (
                "claude-opus-4-7",
                "`claude-opus-4-6+` stands for its family",
            ),
            ("gpt-4o-2024-08-06-turbo", ""),
            ("llama-gpt-4o", ""),
        ] {
            let error = catalogue.model(slip).unwrap_err();
            assert!(error.hint.unwrap().contains(hint), "{slip}");
        }
    }

    #[test]
    fn the_built_in_catalogue_is_sound() {
        let catalogue = Catalogue::builtin().unwrap();
        assert!(catalogue.names().count() > 20);
        for name in catalogue.names() {
            let model = catalogue.model(name).unwrap();
            assert!(model.reserve < model.window, "{name}");
            assert!(Vocabulary::named(&model.tokenizer).is_some(), "{name}");
            let origin = catalogue.origin(name).unwrap();
            assert_eq!(origin.file, "built-in");
            assert!(origin.dated.is_some() && origin.changed.is_empty());
            // What is not a bare vocabulary says who offers it.
            let bare = model.tokenizer == name;
            assert_eq!(model.provider.is_some(), !bare, "{name}");
            for tier in &model.prices {
                assert!(tier.input.is_some() && tier.output.is_some(), "{name}");
            }
            assert_eq!(
                model.prices.is_empty(),
                model.prices_dated.is_none() || model.prices_source.is_none(),
                "{name}"
            );
        }
        let error = catalogue.model("gpt-4p").unwrap_err();
        assert!(error.hint.unwrap().contains("did you mean"));
        assert_eq!(
            catalogue.model("llama-3.1-8b").unwrap().kv,
            Some(Kv::new(32, 8, 128, 2))
        );
    }

    #[test]
    fn every_key_of_an_entry_is_known() {
        let model = serde_json::to_value(Model::new(2, 1, "o200k_base")).unwrap();
        let keys: Vec<&str> = model.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys.len(), layers::PARTS.len() + layers::PLAIN.len());
        for key in keys {
            assert!(
                layers::PARTS.contains(&key) || layers::PLAIN.contains(&key),
                "{key}"
            );
        }
    }

    #[test]
    fn a_dearer_tier_starts_above_its_limit() {
        let catalogue = Catalogue::builtin().unwrap();
        let model = catalogue.model("claude-haiku-5-5").unwrap();
        for (tokens, above) in [
            (0, 0),
            (1, 0),
            (100_000, 0),
            (100_001, 100_000),
            (u32::MAX, 100_000),
        ] {
            assert_eq!(model.price_of(tokens).unwrap().above_tokens, above);
        }
        assert_eq!(catalogue.model("claude+").unwrap().price_of(5), None);
    }

    #[test]
    fn keys_and_values_never_overflow() {
        let kv = Kv::new(28, 4, 128, 2);
        assert_eq!(kv.bytes_for(1), 57_344);
        let most = Kv::new(u32::MAX, u32::MAX, u32::MAX, u32::MAX);
        assert_eq!(most.bytes_for(u64::MAX), u128::MAX);
    }

    #[test]
    fn an_entry_changes_only_the_keys_that_it_names() {
        let catalogue = over(
            "dated = 2026-12-01\nmodels.\"gpt-4o\".window = 64_000\n\
             [models.claude-opus-5-5]\ncache = { min_tokens = 1024 }\nchat.reply = 9\n\
             [models.gpt-5]\ncache = { kind = \"none\" }\ndated = \"2026-12-02\"\n",
        )
        .unwrap();
        let builtin = Catalogue::builtin().unwrap();
        let (mine, theirs) = (
            catalogue.model("gpt-4o").unwrap(),
            builtin.model("gpt-4o").unwrap(),
        );
        assert_eq!(
            mine,
            &Model {
                window: 64_000,
                ..theirs.clone()
            }
        );
        let opus = catalogue.model("claude-opus-5-5").unwrap();
        let cache = opus.cache.as_ref().unwrap();
        assert_eq!(
            (cache.min_tokens, cache.breakpoints),
            (Some(1_024), Some(4))
        );
        assert_eq!((opus.chat.reply, opus.chat.tools), (9, 804));
        // Another kind of cache has no use for the old one's steps.
        let gpt = catalogue.model("gpt-5").unwrap();
        assert_eq!(gpt.cache.as_ref().unwrap().granularity, None);
        let origin = catalogue.origin("gpt-5").unwrap();
        assert_eq!(
            (origin.file.as_str(), origin.dated.as_deref()),
            ("built-in", Some("2026-12-02"))
        );
        assert_eq!(origin.changed[0].file, "mine.toml");
        assert_eq!(origin.changed[0].keys, ["cache", "dated"]);
        assert_eq!(
            catalogue.origin("o3").unwrap(),
            builtin.origin("o3").unwrap()
        );
    }

    #[test]
    fn a_new_entry_stands_alone_or_on_another() {
        let catalogue = over(
            "dated = \"2026-12-01\"\n\
             [models.mine]\nwindow = 1000\nreserve = 10\ntokenizer = \"cl100k_base\"\n\
             [models.a]\nextends = \"z\"\nreserve = 11\n\
             [models.z]\nextends = \"gpt-4o\"\nwindow = 20000\n\
             [models.gpt-4o]\nreserve = 12\n",
        )
        .unwrap();
        assert_eq!(
            catalogue.model("mine").unwrap(),
            &Model::new(1_000, 10, "cl100k_base")
        );
        let a = catalogue.model("a").unwrap();
        assert_eq!((a.window, a.reserve), (20_000, 11));
        assert_eq!(catalogue.model("z").unwrap().reserve, 12);
        assert_eq!(a.image, catalogue.model("gpt-4o").unwrap().image);
        let origin = catalogue.origin("a").unwrap();
        assert_eq!(
            (origin.file.as_str(), origin.extends.as_deref()),
            ("mine.toml", Some("z"))
        );
        // A text above this one changes what it finds, and nothing that was laid over that before.
        let above = catalogue.with_overrides("models.z.window = 30000", "b.toml").unwrap();
        assert_eq!(above.model("z").unwrap().window, 30_000);
        assert_eq!(above.model("a").unwrap().window, 20_000);
    }

    #[test]
    fn a_world_depends_on_what_is_compiled_with_alone() {
        let world = |catalogue: &Catalogue| {
            World::from_catalogue(catalogue, "gpt-4o", FrameKey::new("test", [7; 32]))
                .unwrap()
                .digest()
        };
        let builtin = world(&Catalogue::builtin().unwrap());
        assert_eq!(
            builtin,
            World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap().digest()
        );
        let dearer =
            "models.gpt-4o = { prices = [{ input = \"9.99\" }], cache = { kind = \"none\" } }";
        assert_eq!(builtin, world(&over(dearer).unwrap()));
        for change in [
            "window = 9",
            "reserve = 9",
            "chat.reply = 9",
            "margin_percent = 9",
            "tokenizer = \"cl100k_base\"",
        ] {
            let text = format!("[models.gpt-4o]\nreserve = 8\n{change}")
                .replace("reserve = 8\nreserve", "reserve");
            assert_ne!(builtin, world(&over(&text).unwrap()), "{change}");
        }
    }

    #[test]
    fn mistakes_name_what_is_wrong_where_and_what_was_expected() {
        let check = |text: &str, line: Option<usize>, what: &str, more: &str| {
            let error = over(text).unwrap_err();
            assert!(error.what.contains(what), "{text}\n{error}");
            assert!(error.to_string().contains(more), "{text}\n{error}");
            assert!(error.expected.is_some(), "{text}\n{error}");
            let at = error.at.unwrap();
            assert_eq!(
                (at.source.as_str(), at.line),
                ("mine.toml", line),
                "{text}\n{}",
                error.what
            );
        };
        let gpt = |keys: &str| format!("# mine\n[models.gpt-4o]\n{keys}");
        for (keys, what, more) in [
            (
                "extend = \"o3\"",
                "unknown field `extend`",
                "did you mean `extends`?",
            ),
            (
                "windoww = 5",
                "unknown field `windoww`",
                "did you mean `window`?",
            ),
            (
                "chat = { per_messagex = 3 }",
                "unknown field `per_messagex`",
                "did you mean `per_message`?",
            ),
            (
                "chat.rply = 3",
                "unknown field `rply`",
                "did you mean `reply`?",
            ),
            ("window = \"big\"", "wrong kind of value", "whole number"),
            ("window = -1", "value out of range", "whole number"),
            ("window = 4294967296", "value out of range", "whole number"),
            ("window = nan", "wrong kind of value", "whole number"),
            (
                "window = 16384",
                "reserve of 16384 tokens leaves nothing of the window of 16384",
                "",
            ),
            (
                "reserve = 128000",
                "leaves nothing",
                "a reserve below the window",
            ),
            (
                "tokenizer = \"p50k\"",
                "unknown tokenizer `p50k`",
                "cl100k_base",
            ),
            (
                "tokenizer = \"a/tokenizer.json\"",
                "unknown tokenizer",
                "in place of the model",
            ),
            (
                "margin_percent = 1001",
                "a margin of 1001 percent",
                "at most 1000",
            ),
            ("chat.reply = 10001", "overhead `reply`", "at most 10000"),
            (
                "prices = { input = \"1\" }",
                "wrong kind of value",
                "a list",
            ),
            (
                "prices = [{ input = 0.1 }]",
                "wrong kind of value",
                "as a text",
            ),
            (
                "prices = [{ input = nan }]",
                "wrong kind of value",
                "as a text",
            ),
            (
                "prices = [{ input = \"-1\" }]",
                "the price `-1` is not an amount",
                "at most six decimals",
            ),
            (
                "prices = [{ above_tokens = 5, input = \"1\" }]",
                "first tier of prices starts above 5",
                "above_tokens = 0",
            ),
            (
                "prices = [{ input = \"1\" }, { input = \"2\" }]",
                "above 0 tokens follows one above 0",
                "ascending",
            ),
            (
                "prices = [{ input = \"1\", cache_read = \"1.01\" }]",
                "costs 1.01, input itself only 1.00",
                "at most `input`",
            ),
            ("prices = [{}]", "a tier without a price", "cache_write_1h"),
            (
                "prices = [{ cache_write = \"1\", cache_write_5m = \"1\" }]",
                "for each lifetime",
                "alone",
            ),
            (
                "cache = { kind = \"explicit\", breakpoints = 0 }",
                "holds nothing",
                "at least 1",
            ),
            (
                "cache = { kind = \"explicitx\" }",
                "unknown term `explicitx`",
                "did you mean `explicit`?",
            ),
            (
                "cache = { kind = \"none\", min_tokens = 5 }",
                "has no rules",
                "no other key",
            ),
            ("cache.granularity = 0", "granularity", "at least 1"),
            ("cache.ttl_seconds = [5, 5]", "lifetimes", "shortest first"),
            (
                "image = { formula = \"patches\", patch = 0 }",
                "`image.patch` is 0",
                "at least 1",
            ),
            (
                "image = { formula = \"patches\", patch = 9, tile = 1 }",
                "unknown field `tile`",
                "",
            ),
            (
                "image = { formula = \"sum\" }",
                "unknown term `sum`",
                "one of patches, tiles, flat",
            ),
            ("image.tile = 0", "`image.tile` is 0", "at least 1"),
            (
                "kv = { layers = 0, kv_heads = 1, head_dim = 1, bytes = 1 }",
                "`kv.layers` is 0",
                "at least 1",
            ),
            (
                "messages.max_messages = 0",
                "no message is taken",
                "at least 1",
            ),
            (
                "messages.system_role = \"user\"",
                "unknown term `user`",
                "developer",
            ),
            ("provider = \"\"", "`provider` has 0 characters", "1 to 100"),
            (
                "dated = \"yesterday\"",
                "`yesterday` is not a day",
                "YYYY-MM-DD",
            ),
            ("dated = 2026-02-30", "", ""),
            ("extends = 5", "`extends` is not a text", "name of a model"),
            ("extends = \"gpt-4o\"", "`gpt-4o` extends itself", "another"),
            (
                "extends = \"gpt-5-min\"",
                "unknown model `gpt-5-min`",
                "did you mean `gpt-5-mini`?",
            ),
        ] {
            let error = over(&gpt(keys)).unwrap_err();
            check(
                &gpt(keys),
                Some(3),
                what,
                if error.expected.is_some() {
                    more
                } else {
                    panic!("{error}")
                },
            );
        }
        check(
            "[models.gpt-4p]\nwindow = 5",
            Some(1),
            "is new, and has no reserve, no tokenizer",
            "did you mean `gpt-4",
        );
        check(
            "[models.gpt-4.1]\nwindow = 9",
            Some(1),
            "unknown field `1`",
            "[models.\"gpt-4.1\"]",
        );
        check(
            "[models.gpt-3.5-turbo]",
            Some(1),
            "unknown field `5-turbo`",
            "stands in quotes",
        );
        check("models = 5", Some(1), "`models` is not a table", "");
        check("[models]\na = 5", Some(2), "model `a` is not a table", "");
        check(
            "modelz = {}",
            Some(1),
            "unknown key `modelz`",
            "did you mean `models`?",
        );
        check("dated = 5", Some(1), "`dated` is not a day", "YYYY-MM-DD");
        check("[models.\"\"]", Some(1), "cannot be named", "1 to 200");
        check(
            "[models.\"a.json\"]",
            Some(1),
            "path to a tokenizer.json",
            "",
        );
        check(
            "[models.a]\nextends = \"b\"\n[models.b]\nextends = \"a\"",
            Some(4),
            "extends itself",
            "",
        );
    }

    #[test]
    fn no_text_is_too_hostile() {
        let deep = format!("a = {}{}", "[".repeat(50_000), "]".repeat(50_000));
        let dotted = format!("{}a = 1", "a.".repeat(50_000));
        let chain: String = (0..100)
            .map(|at| format!("[models.m{at}]\nextends = \"m{}\"\n", at + 1))
            .collect();
        let many: String =
            (0..5_000).map(|at| format!("models.m{at}.extends = \"o3\"\n")).collect();
        let tiers = format!("models.o3.prices = [{}]", "{ input = \"1\" },".repeat(100));
        let long = format!("models.o3.provider = \"{}\"", "a".repeat(900_000));
        for (text, what) in [
            (deep, "recursion"),
            (dotted, "recursion"),
            (chain, "is too long"),
            (many, "5000 models"),
            (tiers, "100 tiers"),
            (long, "900000 characters"),
            ("#".repeat(layers::MAX_CATALOGUE + 1), "too large"),
            ("\0".to_owned(), ""),
            (
                "models.\"\\u0000\".window = 1".to_owned(),
                "cannot be named",
            ),
            ("[models.o3]\n[models.o3]".to_owned(), "duplicate"),
        ] {
            let error = over(&text).unwrap_err();
            assert!(error.what.contains(what), "{error}");
            assert!(error.to_string().len() < 2_000, "{what}");
        }
        assert!(Catalogue::parse("").unwrap_err().what.contains("no models"));
        assert!(Catalogue::parse("models.o3.window = 5").unwrap_err().what.contains("is new"));
        // A file that changes nothing is no mistake.
        for text in ["", "# later", "[models]", "models.o3 = {}"] {
            over(text).unwrap();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_mutation_of_a_catalogue_panics(
            start in 0usize..BUILTIN.len(),
            length in 0usize..200,
            put in prop_oneof![
                "[\\PC]{0,12}",
                Just("\n[models.a]\n".to_owned()), Just("= 0\n".to_owned()), Just("nan".to_owned()),
                Just("99999999999999999999".to_owned()), Just("\"\"".to_owned()), Just("{}".to_owned()),
                Just("extends = \"gpt-4o\"\n".to_owned()), Just("-1".to_owned()), Just("4294967295".to_owned()),
            ],
            over_builtin: bool,
        ) {
            let cut = |at: usize| (at..).find(|at| BUILTIN.is_char_boundary(*at)).unwrap_or(BUILTIN.len());
            let (from, to) = (cut(start), cut((start + length).min(BUILTIN.len())));
            let text = format!("{}{put}{}", &BUILTIN[..from], &BUILTIN[to..]);
            let read = if over_builtin { over(&text) } else { Catalogue::parse(&text) };
            match read {
                Err(error) => prop_assert!(!error.what.trim().is_empty() && error.at.is_some(), "{error:?}"),
                Ok(catalogue) => for name in catalogue.names() {
                    let model = catalogue.model(name).unwrap();
                    prop_assert!(model.reserve < model.window);
                    for number in [0, 1, 1_024, u32::MAX] {
                        let _ = model.price_of(number);
                        let _ = model.image.map(|image| image.tokens(number, u32::MAX));
                        let _ = model.kv.map(|kv| kv.bytes_for(u64::from(number)));
                    }
                },
            }
        }
    }
}
