//! The facts of one model, and the contradictions that they may hold.

use serde::{Deserialize, Serialize};

use super::image::Image;
use super::price::{Price, PriceTier};
use crate::base::error::Error;
use crate::base::text::clip;
use crate::base::tokenizer::Vocabulary;
use crate::object::vocabulary::vocabulary;

/// The most percent that a count may be raised by.
pub(super) const MAX_MARGIN: u32 = 1_000;
/// The most tokens that a provider may add for one message, tool or call.
const MAX_OVERHEAD: u32 = 10_000;
/// The most tiers of prices.
const MAX_TIERS: usize = 16;
/// The most lifetimes of a cache entry.
const MAX_LIFETIMES: usize = 8;
/// The most beginnings of names of a family, and the most characters of each.
const MAX_FAMILY: usize = 64;
const MAX_STEM: usize = 100;
/// The most characters of a provider's name.
const MAX_PROVIDER: usize = 100;
/// The most characters of a source.
const MAX_SOURCE: usize = 1_000;

/// The facts of a model, dated (`catalogue.toml`). Unknown ones are missing.
///
/// ```
/// use tenure::Catalogue;
/// let catalogue = Catalogue::builtin()?;
/// let model = catalogue.model("claude-haiku-5-5")?;
/// assert!(model.reserve < model.window && model.margin_percent > 0);
/// // One token more moves the whole request into the dearer tier.
/// let input = |tokens| model.price_of(tokens).unwrap().input.unwrap().to_string();
/// assert_eq!((input(100_000), input(100_001)), ("0.10".into(), "0.50".into()));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Model {
    /// Tokens that input and output share.
    pub window: u32,
    /// Tokens kept for the answer unless the request says otherwise.
    pub reserve: u32,
    /// A built-in vocabulary, whose counts are exact or the base of the bound.
    pub tokenizer: String,
    /// The margin that is added to each count where the model's own vocabulary is not built in, in percent.
    #[serde(default)]
    pub margin_percent: u32,
    /// The tokens that the provider adds to a chat.
    #[serde(default)]
    pub chat: ChatOverhead,
    /// The party that offers or made the model.
    #[serde(default)]
    pub provider: Option<String>,
    /// The prices of its tokens, by the length of the input, in ascending order.
    #[serde(default)]
    pub prices: Vec<PriceTier>,
    /// The day on which the prices were right, `YYYY-MM-DD`. Default: that of the entry, or of the file, that states
    /// them.
    #[serde(default)]
    pub prices_dated: Option<String>,
    /// The source of the prices.
    #[serde(default)]
    pub prices_source: Option<String>,
    /// The rules by which prefixes of its input are cached.
    #[serde(default)]
    pub cache: Option<CacheRules>,
    /// The formula by which it counts images.
    #[serde(default)]
    pub image: Option<Image>,
    /// The shape of its keys and values, where it is public.
    #[serde(default)]
    pub kv: Option<Kv>,
    /// The rules of its provider on messages.
    #[serde(default)]
    pub messages: Option<MessageRules>,
    /// The channel by which a tool that is found late is offered in the middle of a conversation.
    #[serde(default)]
    pub late_tools: Option<LateTools>,
    /// True if a request is refused whose input and `max_tokens` together are above the window. Where it is not, an
    /// answer that reaches the window's end stops there.
    #[serde(default)]
    pub refuses_above_window: Option<bool>,
    /// The beginnings of its family's names, for models without an entry of their own: whole words, `*` for any text.
    #[serde(default)]
    pub family: Vec<String>,
    /// The day on which the entry was right, `YYYY-MM-DD`. Default: the file's.
    #[serde(default)]
    pub dated: Option<String>,
    /// The source of the facts.
    #[serde(default)]
    pub source: Option<String>,
}

/// The tokens that a provider adds to the text of a chat request.
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

impl ChatOverhead {
    /// The larger of each.
    #[must_use]
    pub fn max(self, other: ChatOverhead) -> ChatOverhead {
        ChatOverhead {
            per_message: self.per_message.max(other.per_message),
            reply: self.reply.max(other.reply),
            per_tool: self.per_tool.max(other.per_tool),
            tools: self.tools.max(other.tools),
            per_call: self.per_call.max(other.per_call),
        }
    }
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

vocabulary! {
    /// The party that decides what of the input a cache holds.
    CacheKind ("kind of cache") {
        /// The request marks the ends of prefixes.
        Explicit = "explicit",
        /// The provider holds every prefix, in steps of a number of tokens.
        Automatic = "automatic",
        /// The provider holds prefixes as it sees fit, and promises nothing.
        Implicit = "implicit",
        /// A local engine holds prefixes, in blocks of a number of tokens.
        Prefix = "prefix",
        /// Nothing is held.
        None = "none",
    }
}

vocabulary! {
    /// The field of a block by which a request marks the end of a prefix.
    CacheMark ("mark of a cache") {
        /// Anthropic's, with a lifetime of its own.
        CacheControl = "cache_control",
        /// OpenAI's from GPT-5.6 on. A message of the assistant takes none.
        PromptCacheBreakpoint = "prompt_cache_breakpoint",
    }
}

/// The rules by which prefixes of a model's input are cached. Unknown ones are missing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CacheRules {
    /// The party that decides.
    pub kind: CacheKind,
    /// The shortest prefix that is held, in tokens. A shorter one is left out without a word.
    #[serde(default)]
    pub min_tokens: Option<u32>,
    /// The field that marks the end of a prefix.
    #[serde(default)]
    pub mark: Option<CacheMark>,
    /// The most marks in a request that entries are written for.
    #[serde(default)]
    pub breakpoints: Option<u32>,
    /// The number of blocks of content before a mark within which an earlier entry is looked for.
    #[serde(default)]
    pub lookback_blocks: Option<u32>,
    /// The step in which prefixes are held, in tokens.
    #[serde(default)]
    pub granularity: Option<u32>,
    /// The least times for which an unread entry is kept, in seconds: each lifetime that can be had, shortest first.
    #[serde(default)]
    pub ttl_seconds: Vec<u32>,
}

/// The shape of a model's keys and values.
///
/// ```
/// use tenure::catalogue::Kv;
/// let kv = Kv::new(32, 8, 128, 2);
/// assert_eq!(kv.bytes_for(1), 131_072);
/// assert_eq!(kv.bytes_for(131_072), 16 << 30);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Kv {
    /// Layers.
    pub layers: u32,
    /// Heads of keys and values in each layer.
    pub kv_heads: u32,
    /// Numbers in each head.
    pub head_dim: u32,
    /// Bytes of each number.
    pub bytes: u32,
}

impl Kv {
    /// A shape.
    pub const fn new(layers: u32, kv_heads: u32, head_dim: u32, bytes: u32) -> Kv {
        Kv {
            layers,
            kv_heads,
            head_dim,
            bytes,
        }
    }

    /// Returns the bytes that the keys and values of this many tokens take.
    pub fn bytes_for(self, tokens: u64) -> u128 {
        [self.layers, self.kv_heads, self.head_dim, self.bytes]
            .into_iter()
            .fold(2 * u128::from(tokens), |bytes, factor| {
                bytes.saturating_mul(u128::from(factor))
            })
    }
}

vocabulary! {
    /// The place of the system's text in a request.
    SystemRole ("place of the system's text") {
        /// In a field of its own, beside the messages.
        TopLevel = "top_level",
        /// In a message of the role `system`.
        System = "system",
        /// In a message of the role `developer`.
        Developer = "developer",
    }
}

/// The rules of a provider on a model's messages. Unknown ones are missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct MessageRules {
    /// The place of the system's text.
    pub system_role: Option<SystemRole>,
    /// True if a message of the system may stand between others.
    pub mid_conversation_system: Option<bool>,
    /// True if the first message must be the user's.
    pub first_user: Option<bool>,
    /// True if neighbours of one role are taken, and made one.
    pub merges_same_role: Option<bool>,
    /// True if the last message may be the assistant's, which the answer then continues.
    pub prefill: Option<bool>,
    /// The most messages.
    pub max_messages: Option<u32>,
    /// True if signed reasoning is bound to everything before it: whoever changes that loses it.
    pub bound_reasoning: Option<bool>,
    /// True if tool calls must go back with their signatures.
    pub signed_calls: Option<bool>,
    /// True if sampling parameters are taken.
    pub sampling: Option<bool>,
    /// True if a tool call may be forced.
    pub forced_tool_choice: Option<bool>,
}

vocabulary! {
    /// The form in which a provider takes tools in the middle of a conversation.
    LateForm ("form of late tools") {
        /// It takes none.
        None = "none",
        /// An item of the developer with their definitions (OpenAI, responses).
        AdditionalTools = "additional_tools",
        /// A block with a definition in a message of the system (Anthropic).
        ToolAddition = "tool_addition",
    }
}

/// The channel by which a provider takes tools in the middle of a conversation, so that what was sent stays as it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct LateTools {
    /// In which form.
    pub form: LateForm,
    /// The beta that the request's headers must name for it.
    #[serde(default)]
    pub beta: Option<String>,
}

impl LateTools {
    /// Tools in this form, without a beta.
    pub const fn new(form: LateForm) -> LateTools {
        LateTools { form, beta: None }
    }
}

/// A contradiction, and the keys to blame, the likeliest first.
pub(super) struct Fault {
    pub(super) keys: Vec<String>,
    pub(super) error: Error,
}

fn fault(keys: &[&str], what: impl Into<String>, expected: impl Into<String>) -> Fault {
    Fault {
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
        error: Error::input(what).expected(expected),
    }
}

impl Model {
    /// A model of which nothing else is known.
    pub fn new(window: u32, reserve: u32, tokenizer: impl Into<String>) -> Model {
        Model {
            window,
            reserve,
            tokenizer: tokenizer.into(),
            margin_percent: 0,
            chat: ChatOverhead::default(),
            provider: None,
            prices: Vec::new(),
            prices_dated: None,
            prices_source: None,
            cache: None,
            image: None,
            kv: None,
            messages: None,
            late_tools: None,
            refuses_above_window: None,
            family: Vec::new(),
            dated: None,
            source: None,
        }
    }

    /// Returns the prices of a request with this much input, if they are known.
    pub fn price_of(&self, input_tokens: u32) -> Option<&PriceTier> {
        self.prices
            .iter()
            .rev()
            .find(|tier| tier.above_tokens == 0 || tier.above_tokens < input_tokens)
    }

    /// Checks what the form does not say.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.reserve >= self.window {
            let (reserve, window) = (self.reserve, self.window);
            return Err(fault(
                &["reserve", "window"],
                format!("the reserve of {reserve} tokens leaves nothing of the window of {window}"),
                "a reserve below the window",
            ));
        }
        self.check_counting()?;
        self.check_prices()?;
        if let Some(cache) = &self.cache {
            cache.check()?;
        }
        self.check_media()?;
        if self.messages.is_some_and(|rules| rules.max_messages == Some(0)) {
            return Err(fault(
                &["messages.max_messages", "messages"],
                "no message is taken",
                "`max_messages` of at least 1",
            ));
        }
        self.check_family()?;
        self.check_texts()
    }

    fn check_family(&self) -> Result<(), Fault> {
        if self.family.len() > MAX_FAMILY {
            return Err(fault(
                &["family"],
                format!("{} beginnings of names", self.family.len()),
                format!("at most {MAX_FAMILY}"),
            ));
        }
        let is_stem = |stem: &&String| {
            let letters = stem.chars().filter(|c| c.is_alphanumeric()).count();
            stem.starts_with(char::is_alphanumeric)
                && letters >= 2
                && stem.chars().count() <= MAX_STEM
                && !stem.contains(char::is_control)
                && stem.matches('*').count() <= 1
                && !stem.ends_with('*')
        };
        match self.family.iter().find(|stem| !is_stem(stem)) {
            Some(stem) => Err(fault(
                &["family"],
                format!("no name begins with `{}`", clip(stem)),
                format!(
                    "2 to {MAX_STEM} characters that begin with a letter, with one `*` in the middle at most"
                ),
            )),
            None => Ok(()),
        }
    }

    fn check_counting(&self) -> Result<(), Fault> {
        if Vocabulary::named(&self.tokenizer).is_none() {
            let mut found = fault(
                &["tokenizer"],
                format!("unknown tokenizer `{}`", clip(&self.tokenizer)),
                "o200k_base or cl100k_base",
            );
            found.error = found.error.hint(if self.tokenizer.ends_with(".json") {
                "name a tokenizer.json in place of the model; a catalogue holds built-in vocabularies"
            } else {
                "take the nearer of the two and set `margin_percent`: counts are then upper estimates"
            });
            return Err(found);
        }
        if self.margin_percent > MAX_MARGIN {
            return Err(fault(
                &["margin_percent"],
                format!("a margin of {} percent", self.margin_percent),
                format!("at most {MAX_MARGIN}"),
            ));
        }
        let ChatOverhead {
            per_message,
            reply,
            per_tool,
            tools,
            per_call,
        } = self.chat;
        let overheads = [
            ("per_message", per_message),
            ("reply", reply),
            ("per_tool", per_tool),
            ("tools", tools),
            ("per_call", per_call),
        ];
        match overheads.iter().find(|(_, tokens)| *tokens > MAX_OVERHEAD) {
            Some((key, tokens)) => Err(fault(
                &[&format!("chat.{key}"), "chat"],
                format!("an overhead `{key}` of {tokens} tokens"),
                format!("at most {MAX_OVERHEAD}"),
            )),
            None => Ok(()),
        }
    }

    fn check_prices(&self) -> Result<(), Fault> {
        if self.prices.len() > MAX_TIERS {
            return Err(fault(
                &["prices"],
                format!("{} tiers of prices", self.prices.len()),
                format!("at most {MAX_TIERS}"),
            ));
        }
        let mut before = None;
        for (at, tier) in self.prices.iter().enumerate() {
            let bad = |key: &str, what: String, expected: &str| {
                let at = format!("prices.{at}");
                Err(fault(
                    &[&format!("{at}.{key}"), &at, "prices"],
                    what,
                    expected,
                ))
            };
            let above = tier.above_tokens;
            match before {
                None if above > 0 => {
                    return bad(
                        "above_tokens",
                        format!("the first tier of prices starts above {above} tokens"),
                        "`above_tokens = 0` in the first tier, so that every request has a price",
                    );
                }
                Some(before) if above <= before => {
                    return bad(
                        "above_tokens",
                        format!("a tier above {above} tokens follows one above {before}"),
                        "tiers in ascending order of `above_tokens`",
                    );
                }
                _ => before = Some(above),
            }
            let prices = [
                ("input", tier.input),
                ("output", tier.output),
                ("cache_read", tier.cache_read),
                ("cache_write", tier.cache_write),
                ("cache_write_5m", tier.cache_write_5m),
                ("cache_write_1h", tier.cache_write_1h),
            ];
            if prices.iter().all(|(_, price)| price.is_none()) {
                return bad(
                    "above_tokens",
                    "a tier without a price".to_owned(),
                    "at least one of input, output, cache_read, cache_write, cache_write_5m, cache_write_1h",
                );
            }
            if let (Some(read), Some(input)) = (tier.cache_read, tier.input)
                && read > input
            {
                return bad(
                    "cache_read",
                    format!("reading from the cache costs {read}, input itself only {input}"),
                    "a `cache_read` of at most `input`",
                );
            }
            let one: Option<Price> = tier.cache_write;
            if one.is_some() && (tier.cache_write_5m.or(tier.cache_write_1h)).is_some() {
                return bad(
                    "cache_write",
                    "a price of writing to the cache, and others for each lifetime".to_owned(),
                    "`cache_write` alone, or `cache_write_5m` and `cache_write_1h`",
                );
            }
        }
        Ok(())
    }

    fn check_media(&self) -> Result<(), Fault> {
        let zero = |part: &str, numbers: &[(&str, u32)]| match numbers
            .iter()
            .find(|(_, number)| *number == 0)
        {
            Some((key, _)) => Err(fault(
                &[&format!("{part}.{key}"), part],
                format!("`{part}.{key}` is 0"),
                "at least 1",
            )),
            None => Ok(()),
        };
        match self.image {
            Some(Image::Patches {
                patch,
                max_patches,
                max_long_edge,
                multiplier_percent,
            }) => zero(
                "image",
                &[
                    ("patch", patch),
                    ("max_patches", max_patches.unwrap_or(1)),
                    ("max_long_edge", max_long_edge.unwrap_or(1)),
                    ("multiplier_percent", multiplier_percent),
                ],
            )?,
            Some(Image::Tiles {
                tile,
                fit,
                short_side,
                ..
            }) => zero(
                "image",
                &[("tile", tile), ("fit", fit), ("short_side", short_side)],
            )?,
            Some(Image::Flat { .. }) | None => {}
        }
        if let Some(Kv {
            layers,
            kv_heads,
            head_dim,
            bytes,
        }) = self.kv
        {
            zero(
                "kv",
                &[
                    ("layers", layers),
                    ("kv_heads", kv_heads),
                    ("head_dim", head_dim),
                    ("bytes", bytes),
                ],
            )?;
        }
        Ok(())
    }

    fn check_texts(&self) -> Result<(), Fault> {
        let beta = self.late_tools.as_ref().and_then(|late| late.beta.clone());
        let texts = [
            ("provider", &self.provider, MAX_PROVIDER),
            ("source", &self.source, MAX_SOURCE),
            ("prices_source", &self.prices_source, MAX_SOURCE),
            ("late_tools.beta", &beta, MAX_PROVIDER),
        ];
        for (key, text, most) in texts {
            let Some(text) = text else { continue };
            if text.trim().is_empty() || text.chars().count() > most {
                return Err(fault(
                    &[key, key.split('.').next().unwrap_or(key)],
                    format!("`{key}` has {} characters", text.trim().chars().count()),
                    format!("1 to {most}"),
                ));
            }
        }
        let days = [("dated", &self.dated), ("prices_dated", &self.prices_dated)];
        for (key, day) in days {
            let Some(day) = day else { continue };
            check_day(day).map_err(|error| Fault {
                keys: vec![key.to_owned()],
                error,
            })?;
        }
        Ok(())
    }
}

impl CacheRules {
    fn check(&self) -> Result<(), Fault> {
        let bad = |key: &str, what: &str, expected: &str| {
            Err(fault(&[&format!("cache.{key}"), "cache"], what, expected))
        };
        let numbers = [
            ("min_tokens", self.min_tokens),
            ("breakpoints", self.breakpoints),
            ("lookback_blocks", self.lookback_blocks),
            ("granularity", self.granularity),
        ];
        if self.kind == CacheKind::None {
            let said = numbers
                .iter()
                .find(|(_, number)| number.is_some())
                .map(|(key, _)| *key)
                .or(self.mark.map(|_| "mark"));
            if let Some(key) = said.or((!self.ttl_seconds.is_empty()).then_some("ttl_seconds")) {
                return bad(key, "a cache of kind `none` has no rules", "no other key");
            }
        }
        if self.breakpoints == Some(0) && self.kind == CacheKind::Explicit {
            return bad(
                "breakpoints",
                "an explicit cache without marks holds nothing",
                "`breakpoints` of at least 1, or `kind = \"none\"`",
            );
        }
        if self.granularity == Some(0) {
            return bad("granularity", "`cache.granularity` is 0", "at least 1");
        }
        let ascending = self.ttl_seconds.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending
            || self.ttl_seconds.first() == Some(&0)
            || self.ttl_seconds.len() > MAX_LIFETIMES
        {
            return bad(
                "ttl_seconds",
                "the lifetimes of the cache are not in order",
                &format!("at most {MAX_LIFETIMES} numbers of seconds above 0, the shortest first"),
            );
        }
        Ok(())
    }
}

/// Returns whether a text is a day as it is written here.
pub(super) fn check_day(day: &str) -> Result<(), Error> {
    if day.len() == 10 && day.parse::<jiff::civil::Date>().is_ok() {
        return Ok(());
    }
    Err(Error::input(format!("`{}` is not a day", clip(day))).expected("YYYY-MM-DD"))
}
