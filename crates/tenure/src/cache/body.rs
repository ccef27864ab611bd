//! A body as a provider's cache sees it: its blocks in the order in which the provider renders them,
//! tools, then the system's text, then the messages. Marks of a cache are no part of a block.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use serde_json::value::RawValue;

use super::marks;
use super::settings::{self, Setting};
use crate::base::error::Error;
use crate::object::Format;
use crate::object::vocabulary::vocabulary;
use crate::provider::catalogue::CacheMark;
use crate::provider::dialect::{CacheRules, Dialect};
use crate::provider::formats::dialect;
use crate::provider::wire::json::{Fields, JsonPath, is_list, is_string};

vocabulary! {
    /// A part of what a provider renders, in its order.
    Part ("part of a request") {
        /// The definitions of the tools.
        Tools = "tools",
        /// The system's text before the messages.
        System = "system",
        /// The messages.
        Messages = "messages",
    }
}

/// A request as blocks.
pub(crate) struct Body<'a> {
    pub(crate) json: &'a str,
    /// None for a text.
    pub(crate) format: Option<Format>,
    /// The model's name and where it stands.
    pub(crate) model: Option<(String, usize)>,
    pub(crate) blocks: Vec<Block<'a>>,
    /// The settings that decide what is found again, as canonical text.
    pub(crate) settings: BTreeMap<&'static str, String>,
    /// The lifetime of the mark beside the messages, in seconds.
    pub(crate) automatic: Option<u32>,
    /// True if it has marks.
    pub(crate) is_marked: bool,
    /// The number of marks outside of its blocks.
    pub(crate) marks_aside: usize,
    pub(crate) has_key: bool,
    /// True if the author says how the provider's own marks are set.
    pub(crate) has_options: bool,
    /// The byte at which fields are added to it.
    pub(crate) end: Option<usize>,
}

/// A block: the least that a mark can stand behind.
pub(crate) struct Block<'a> {
    pub(crate) part: Part,
    /// Its path: `messages[3].content[0]`.
    pub(crate) at: String,
    pub(crate) message: Option<u32>,
    pub(crate) block: Option<u32>,
    pub(crate) tool: Option<u32>,
    /// The fields of its message besides the blocks, and their place; with the first block.
    pub(crate) head: Option<(String, usize)>,
    pub(crate) said: Content<'a>,
    pub(crate) kind: Kind,
    pub(crate) by_model: bool,
    /// The way in which it takes a mark, if it may carry one.
    pub(crate) takes: Option<Takes>,
    /// The lifetime of the mark that it carries, in seconds.
    pub(crate) mark: Option<u32>,
    /// Its bytes.
    pub(crate) range: Range<usize>,
    /// The bytes of the marks in it.
    pub(crate) cuts: Vec<Range<usize>>,
}

/// The content of a block.
pub(crate) enum Content<'a> {
    /// A text, and the JSON string that it stands in.
    Text {
        text: Cow<'a, str>,
        raw: &'a str,
        at: usize,
    },
    /// Anything else as it came.
    Json { raw: &'a str, at: usize },
}

/// The kind as which a block is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Text,
    Image,
    Call,
    Tool,
    Other,
}

/// The place for a mark.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Takes {
    /// Behind the last field.
    Field(usize),
    /// A bare text, which becomes a block of this type.
    Text(Range<usize>, &'static str),
}

impl Block<'_> {
    /// Returns the text to compare: the text, or the JSON without marks.
    pub(crate) fn bare(&self) -> Cow<'_, str> {
        match &self.said {
            Content::Text { text, .. } => Cow::Borrowed(text),
            Content::Json { raw, at } => marks::cut(raw, *at, &self.cuts),
        }
    }

    /// Returns the place in the body of a byte of the compared text.
    pub(crate) fn place(&self, byte: usize) -> usize {
        match &self.said {
            Content::Text { raw, at, .. } => at + marks::raw_place(raw, byte),
            Content::Json { at, .. } => self.cuts.iter().fold(at + byte, |place, cut| {
                place + if cut.start <= place { cut.len() } else { 0 }
            }),
        }
    }

    /// Returns whether two blocks are rendered alike.
    pub(crate) fn same(&self, other: &Block<'_>) -> bool {
        let head = |block: &Block<'_>| block.head.as_ref().map(|(head, _)| head.clone());
        let is_text = |block: &Block<'_>| matches!(block.said, Content::Text { .. });
        self.part == other.part
            && is_text(self) == is_text(other)
            && head(self) == head(other)
            && self.bare() == other.bare()
    }
}

/// The place of a value in the JSON that it was taken from.
fn offset(json: &str, value: &RawValue) -> usize {
    value.get().as_ptr().addr() - json.as_ptr().addr()
}

/// Properties that the blocks of one message share.
struct Around {
    part: Part,
    message: Option<u32>,
    by_model: bool,
    /// True if no mark may stand here.
    closed: bool,
    head: Option<(String, usize)>,
}

impl Around {
    fn new(part: Part) -> Around {
        Around {
            part,
            message: None,
            by_model: false,
            closed: false,
            head: None,
        }
    }
}

impl<'a> Body<'a> {
    /// A text, in pieces that end at these places.
    pub(crate) fn text(text: &'a str, ends: &[usize]) -> Body<'a> {
        let mut body = Body::empty(text, None);
        let mut start = 0;
        for end in ends.iter().copied().chain([text.len()]) {
            let Some(piece) = text.get(start..end).filter(|piece| !piece.is_empty()) else {
                continue;
            };
            body.blocks.push(Block {
                part: Part::Messages,
                at: format!("bytes {start} to {end}"),
                message: None,
                block: None,
                tool: None,
                head: None,
                said: Content::Json {
                    raw: piece,
                    at: start,
                },
                kind: Kind::Text,
                by_model: false,
                takes: None,
                mark: None,
                range: start..end,
                cuts: Vec::new(),
            });
            start = end;
        }
        body
    }

    fn empty(json: &'a str, format: Option<Format>) -> Body<'a> {
        Body {
            json,
            format,
            model: None,
            blocks: Vec::new(),
            settings: BTreeMap::new(),
            automatic: None,
            is_marked: false,
            marks_aside: 0,
            has_key: false,
            has_options: false,
            end: None,
        }
    }

    /// The body of a request, or its bare array of messages.
    pub(crate) fn read(format: Format, json: &'a str) -> Result<Body<'a>, Error> {
        let whole: &'a RawValue = serde_json::from_str(json).map_err(|error| {
            Error::input(format!("not JSON: {error}"))
                .expected(format!("the body of a request, or its messages ({format})"))
        })?;
        let mut body = Body::empty(json, Some(format));
        let dialect = dialect(format);
        let key = dialect.messages;
        if is_list(whole) {
            body.messages(dialect, whole)?;
            return Ok(body);
        }
        let place = JsonPath::new("body");
        let fields = place.fields(whole)?;
        let last = fields.iter().last();
        body.end = last.map(|(_, value)| offset(json, value) + value.get().len());
        if let Some(model) = fields.get("model") {
            let at = offset(json, model);
            body.model = place.maybe(&fields, "model")?.map(|name| (name, at));
        }
        body.has_key = fields.get("prompt_cache_key").is_some();
        body.has_options = fields.get("prompt_cache_options").is_some();
        body.is_marked = body.has_options;
        body.automatic = fields.get("cache_control").map(marks::lifetime);
        body.is_marked |= body.automatic.is_some();
        if let Some(tools) = fields.get("tools") {
            body.tools(&dialect.cache, tools)?;
        }
        let system = dialect.system.iter().find_map(|key| Some((*key, fields.get(key)?)));
        if let Some((key, system)) = system {
            body.system(&dialect.cache, key, system)?;
        }
        let messages = fields.get(key).ok_or_else(|| {
            place.wrong(
                format!("`{key}` is missing"),
                &format!("the messages under `{key}`"),
            )
        })?;
        body.messages(dialect, messages)?;
        for Setting { format, name, .. } in settings::all()? {
            if Some(*format) == body.format {
                let value = body.setting(&fields, name);
                body.settings.extend(value.map(|value| (name.as_str(), value)));
            }
        }
        Ok(body)
    }

    fn setting(&self, fields: &Fields<'_>, name: &str) -> Option<String> {
        let any = |test: &dyn Fn(&Block<'_>) -> bool| {
            self.blocks.iter().any(test).then(|| "present".to_owned())
        };
        match name {
            "images" => any(&|block| block.kind == Kind::Image),
            "citations" => any(&|block| match &block.said {
                Content::Json { raw, .. } if raw.contains("citations") => cites(raw),
                _ => false,
            }),
            // Noted where the tools are read.
            "web_search" => self.settings.get(name).cloned(),
            _ => {
                let (key, inner) = name.split_once('.').unwrap_or((name, ""));
                let value: Value = serde_json::from_str(fields.get(key)?.get()).ok()?;
                let value = match inner {
                    "" => &value,
                    inner => value.get(inner)?,
                };
                Some(value.to_string())
            }
        }
    }

    /// Adds a block that stands as it is.
    fn json(
        &mut self,
        around: &mut Around,
        at: JsonPath,
        value: &'a RawValue,
        kind: Kind,
    ) -> &mut Block<'a> {
        let start = offset(self.json, value);
        let found = marks::find(value, start);
        self.is_marked |= found.any;
        let said = Content::Json {
            raw: value.get(),
            at: start,
        };
        self.push(
            around,
            at,
            said,
            kind,
            start..start + value.get().len(),
            found,
        )
    }

    fn push(
        &mut self,
        around: &mut Around,
        at: JsonPath,
        said: Content<'a>,
        kind: Kind,
        range: Range<usize>,
        marks: marks::Found,
    ) -> &mut Block<'a> {
        self.blocks.push(Block {
            part: around.part,
            at: at.to_string(),
            message: around.message,
            block: None,
            tool: None,
            head: around.head.take(),
            said,
            kind,
            by_model: around.by_model,
            takes: None,
            mark: marks.own,
            range,
            cuts: marks.cuts,
        });
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    /// Adds a bare text, which takes a mark as a block of this type.
    fn bare(
        &mut self,
        around: &mut Around,
        at: JsonPath,
        value: &'a RawValue,
        becomes: Option<&'static str>,
    ) -> Result<(), Error> {
        let text = at.text(value)?;
        let start = offset(self.json, value);
        let end = start + value.get().len();
        let takes = becomes.filter(|_| !around.closed && !text.trim().is_empty());
        let said = Content::Text {
            text: text.into(),
            raw: value.get(),
            at: start,
        };
        let none = marks::Found::default();
        let block = self.push(around, at, said, Kind::Text, start..end, none);
        block.takes = takes.map(|becomes| Takes::Text(start..end, becomes));
        Ok(())
    }

    /// Adds a block of a list: text as text, where it says nothing else.
    fn block(
        &mut self,
        around: &mut Around,
        at: JsonPath,
        index: usize,
        value: &'a RawValue,
        takes: &[&str],
    ) -> Result<(), Error> {
        let fields = at.fields(value)?;
        let kind = at.maybe(&fields, "type")?.unwrap_or_default();
        let start = offset(self.json, value);
        let end = start + value.get().len();
        let found = marks::find(value, start);
        self.is_marked |= found.any;
        let text = fields.get("text").filter(|text| is_string(text)).filter(|_| {
            fields
                .iter()
                .all(|(key, _)| ["type", "text"].contains(&key) || marks::is_mark(key))
        });
        let counted = match kind.as_str() {
            "image" | "image_url" | "input_image" => Kind::Image,
            "tool_use" => Kind::Call,
            "" if holds_image(&fields) => Kind::Image,
            "" if fields.any(&["functionCall", "function_call"]).is_some() => Kind::Call,
            _ if text.is_some() => Kind::Text,
            _ => Kind::Other,
        };
        let mut is_blank = false;
        let said = match text {
            Some(raw) => {
                let text = at.key("text").text(raw)?;
                is_blank = text.trim().is_empty();
                Content::Text {
                    text: text.into(),
                    raw: raw.get(),
                    at: offset(self.json, raw),
                }
            }
            None => Content::Json {
                raw: value.get(),
                at: start,
            },
        };
        let may = !around.closed && !is_blank && takes.contains(&kind.as_str());
        let last = fields
            .iter()
            .last()
            .filter(|_| may)
            .map(|(_, value)| offset(self.json, value) + value.get().len());
        let block = self.push(around, at, said, counted, start..end, found);
        block.block = Some(index as u32);
        block.takes = last.map(Takes::Field);
        Ok(())
    }

    fn tools(&mut self, rules: &CacheRules, tools: &'a RawValue) -> Result<(), Error> {
        let root = JsonPath::new("tools");
        let mut around = Around::new(Part::Tools);
        let mut count = 0;
        for (at, tool) in root.list(tools)?.into_iter().enumerate() {
            let place = root.at(at);
            let fields = place.fields(tool)?;
            let declared = ["functionDeclarations", "function_declarations"]
                .iter()
                .find_map(|key| Some((*key, fields.get(key)?)));
            if let Some((key, declared)) = declared {
                let place = place.key(key);
                for (at, tool) in place.list(declared)?.into_iter().enumerate() {
                    self.json(&mut around, place.at(at), tool, Kind::Tool).tool = Some(count);
                    count += 1;
                }
                continue;
            }
            let kind = place.maybe(&fields, "type").ok().flatten();
            let is_apart = rules.apart.zip(kind.as_deref());
            if is_apart.is_some_and(|(prefix, kind)| kind.starts_with(prefix)) {
                // It is not among the tools that are rendered first.
                let found = marks::find(tool, 0);
                self.is_marked |= found.any;
                self.marks_aside += usize::from(found.own.is_some());
                let bare = marks::cut(tool.get(), 0, &found.cuts).into_owned();
                self.settings.insert("web_search", bare);
                count += 1;
                continue;
            }
            let last = fields
                .iter()
                .last()
                .filter(|_| rules.before_messages)
                .map(|(_, value)| offset(self.json, value) + value.get().len());
            let block = self.json(&mut around, place, tool, Kind::Tool);
            block.tool = Some(count);
            block.takes = last.map(Takes::Field);
            count += 1;
        }
        Ok(())
    }

    fn system(&mut self, rules: &CacheRules, key: &str, system: &'a RawValue) -> Result<(), Error> {
        let place = JsonPath::new(key);
        let mut around = Around::new(Part::System);
        if is_string(system) {
            let becomes = rules.before_messages.then_some(rules.text);
            return self.bare(&mut around, place, system, becomes);
        }
        let (place, list) = match rules.system_blocks {
            Some(key) => match place.fields(system)?.get(key) {
                Some(parts) => (place.key(key), parts),
                None => return Ok(()),
            },
            None => (place, system),
        };
        let takes: &[&str] = if rules.before_messages {
            &["text"]
        } else {
            &[]
        };
        for (at, block) in place.list(list)?.into_iter().enumerate() {
            self.block(&mut around, place.at(at), at, block, takes)?;
        }
        Ok(())
    }

    fn messages(&mut self, dialect: &Dialect, messages: &'a RawValue) -> Result<(), Error> {
        let (rules, root) = (&dialect.cache, JsonPath::new(dialect.messages));
        if dialect.bare_text && is_string(messages) {
            let mut around = Around::new(Part::Messages);
            around.message = Some(0);
            return self.bare(&mut around, root, messages, None);
        }
        let mut leads = true;
        for (at, message) in root.list(messages)?.into_iter().enumerate() {
            let place = root.at(at);
            let fields = place.fields(message)?;
            let role = place.maybe(&fields, "role")?.unwrap_or_default();
            let is_system = ["system", "developer"].contains(&role.as_str());
            leads &= is_system && dialect.system_messages;
            let kind = place.maybe(&fields, "type")?.unwrap_or_default();
            let blocks = (rules.content)(&kind);
            let mut around = Around {
                part: if leads { Part::System } else { Part::Messages },
                message: Some(at as u32),
                by_model: role == "assistant" || role == "model" || kind.ends_with("_call"),
                closed: false,
                head: Some((head(&fields, blocks), offset(self.json, message))),
            };
            around.closed = (rules.closed)(&place, &fields, &role);
            let before = self.blocks.len();
            for key in blocks {
                let Some(value) = fields.get(key) else {
                    continue;
                };
                self.content(rules, &mut around, place.key(key), key, value)?;
            }
            if self.blocks.len() == before {
                // An item, or a message that says nothing, is a block by itself.
                around.head = None;
                let counted = if kind.ends_with("_call") {
                    Kind::Call
                } else {
                    Kind::Other
                };
                self.json(&mut around, place, message, counted);
            }
        }
        Ok(())
    }

    fn content(
        &mut self,
        rules: &CacheRules,
        around: &mut Around,
        place: JsonPath,
        key: &str,
        value: &'a RawValue,
    ) -> Result<(), Error> {
        if is_string(value) {
            return self.bare(around, place, value, Some(rules.text));
        }
        if !is_list(value) {
            self.json(around, place, value, Kind::Other);
            return Ok(());
        }
        let list = place.list(value)?;
        if key == "tool_calls" {
            for (at, call) in list.into_iter().enumerate() {
                self.json(around, place.at(at), call, Kind::Call);
            }
            return Ok(());
        }
        for (at, block) in list.into_iter().enumerate() {
            self.block(around, place.at(at), at, block, rules.blocks)?;
        }
        Ok(())
    }

    /// The field that marks a block in this format.
    pub(crate) fn takes_mark(&self, mark: CacheMark) -> bool {
        self.format
            .map(|format| &dialect(format).cache)
            .is_some_and(|rules| rules.mark == Some(mark))
    }

    /// Returns the number of blocks at the beginning that are the same in both.
    pub(crate) fn shared(&self, other: &Body<'_>) -> usize {
        let pairs = self.blocks.iter().zip(&other.blocks);
        pairs.take_while(|(a, b)| a.same(b)).count()
    }
}

/// Returns the fields of a message besides its blocks, by their names.
fn head(fields: &Fields<'_>, blocks: &[&str]) -> String {
    let rest = fields
        .iter()
        .filter(|(key, _)| !blocks.contains(key))
        .map(|(key, value)| (key, value.get()))
        .collect::<BTreeMap<&str, &str>>()
        .into_iter()
        .map(|(key, value)| format!("{}:{value}", Value::from(key)));
    rest.collect::<Vec<_>>().join(",")
}

/// Returns whether a part of Gemini's is an image.
fn holds_image(fields: &Fields<'_>) -> bool {
    let data = fields.any(&["inlineData", "inline_data", "fileData", "file_data"]);
    data.is_some_and(|data| data.get().contains("\"image/"))
}

fn cites(raw: &str) -> bool {
    let block: Option<Value> = serde_json::from_str(raw).ok();
    block.is_some_and(|block| block["citations"]["enabled"] == Value::Bool(true))
}
