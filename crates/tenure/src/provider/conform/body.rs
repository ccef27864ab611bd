//! Bodies as the rules read them, whatever their format: who says what in which order. It reads what
//! any client might send, and shares nothing with what writes bodies.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::base::error::Error;
use crate::object::Format;

/// A message, or in the responses format an item.
#[derive(Debug)]
pub(super) struct Message {
    /// The place: `messages[3]`.
    pub(super) at: String,
    pub(super) speaker: Speaker,
    pub(super) blocks: Vec<Block>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Speaker {
    System,
    User,
    Model,
    /// A message of its own with a result.
    Tool,
    Unknown,
}

#[derive(Debug)]
pub(super) enum Block {
    Text {
        blank: bool,
    },
    Call {
        id: Option<String>,
        name: String,
        is_object: bool,
        signed: bool,
    },
    Result {
        id: Option<String>,
        name: Option<String>,
    },
    Reasoning,
    /// A tool that is offered from here on: its name, and whether it is defined here or only named.
    Added {
        name: Option<String>,
        defined: bool,
    },
    /// A tool that is offered no more.
    Removed {
        name: Option<String>,
    },
    Other,
}

/// The facts of a body that the rules look at.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) messages: Vec<Message>,
    pub(super) tools: Vec<String>,
    /// True if any tool is offered, the provider's own included.
    pub(super) offers: bool,
    /// The lives of the marks, in the order in which the provider reads them, in seconds.
    pub(super) marks: Vec<u32>,
    /// The marks that stand where none may: the place, and what it is.
    pub(super) misplaced: Vec<(String, &'static str)>,
    /// True if the provider keeps messages that stand before these.
    pub(super) continues: bool,
    pub(super) max_tokens: Option<i64>,
}

type Raw<'a> = &'a RawValue;
type Object<'a> = BTreeMap<String, Raw<'a>>;

fn list<'a>(json: Option<&Raw<'a>>) -> Option<Vec<Raw<'a>>> {
    serde_json::from_str(json?.get()).ok()
}

fn object<'a>(json: Raw<'a>) -> Option<Object<'a>> {
    serde_json::from_str(json.get()).ok()
}

fn text(json: Option<&Raw<'_>>) -> Option<String> {
    serde_json::from_str(json?.get()).ok()
}

fn is_object(json: Option<&Raw<'_>>) -> bool {
    json.is_none_or(|json| json.get().starts_with('{'))
}

fn either<'m, 'a>(object: &'m Object<'a>, keys: [&str; 2]) -> Option<&'m Raw<'a>> {
    keys.iter().find_map(|key| object.get(*key))
}

fn said(text: &str) -> Block {
    Block::Text {
        blank: text.trim().is_empty(),
    }
}

impl Body {
    pub(super) fn read(format: Format, json: &str) -> Result<Body, Error> {
        let wrong = |what: String| {
            Error::input(what)
                .expected(format!("the body of a request, or its messages ({format})"))
        };
        let whole: Raw<'_> =
            serde_json::from_str(json).map_err(|error| wrong(format!("not JSON: {error}")))?;
        let key = match format {
            Format::OpenAiResponses => "input",
            Format::Gemini => "contents",
            _ => "messages",
        };
        let mut fields = Object::new();
        if whole.get().starts_with('[') {
            fields.insert(key.to_owned(), whole);
        } else {
            fields = object(whole).ok_or_else(|| wrong("not an object".to_owned()))?;
        }
        let messages = fields.get(key);
        let mut body = Body {
            messages: Vec::new(),
            tools: Vec::new(),
            offers: false,
            marks: Vec::new(),
            misplaced: Vec::new(),
            continues: format == Format::OpenAiResponses
                && ["previous_response_id", "conversation"]
                    .iter()
                    .filter_map(|key| fields.get(*key))
                    .any(|value| value.get() != "null"),
            max_tokens: None,
        };
        body.read_tools(format, &fields);
        let system: Vec<Raw<'_>> = list(fields.get("system")).unwrap_or_default();
        for (place, block) in system.iter().enumerate() {
            body.mark(|| format!("system[{place}]"), block);
        }
        if format == Format::OpenAiResponses
            && messages.is_some_and(|text| text.get().starts_with('"'))
        {
            body.messages.push(Message {
                at: key.to_owned(),
                speaker: Speaker::User,
                blocks: vec![said(&text(messages).unwrap_or_default())],
            });
        } else {
            let list =
                list(messages).ok_or_else(|| wrong(format!("`{key}` is missing, or no list")))?;
            for (at, message) in list.into_iter().enumerate() {
                let at = format!("{key}[{at}]");
                let fields = object(message).ok_or_else(|| wrong(format!("{at} is no object")))?;
                let message = match format {
                    Format::OpenAiChat => chat(at, &fields),
                    Format::OpenAiResponses => item(at, &fields),
                    Format::Anthropic => body.blocks(at, &fields),
                    Format::Gemini => content(at, &fields),
                };
                body.messages.push(message);
            }
        }
        // The automatic mark stands behind all others.
        if format == Format::Anthropic {
            body.mark(|| "body".to_owned(), whole);
        }
        let tokens = fields.get("max_tokens");
        body.max_tokens = tokens.and_then(|tokens| tokens.get().parse().ok());
        Ok(body)
    }

    fn read_tools(&mut self, format: Format, fields: &Object<'_>) {
        let tools = list(fields.get("tools")).unwrap_or_default();
        for (place, tool) in tools.into_iter().enumerate() {
            self.offers = true;
            self.mark(|| format!("tools[{place}]"), tool);
            let Some(tool) = object(tool) else { continue };
            let declared = either(&tool, ["functionDeclarations", "function_declarations"]);
            let declared = list(declared).unwrap_or_default().into_iter().filter_map(object);
            let function = tool.get("function").and_then(|function| object(function));
            let tools: Vec<Object<'_>> = match format {
                Format::Gemini => declared.collect(),
                Format::OpenAiChat => function.into_iter().collect(),
                _ => vec![tool],
            };
            self.tools.extend(tools.iter().filter_map(|tool| text(tool.get("name"))));
        }
    }

    /// Notes the mark of a cache on this block.
    fn mark(&mut self, at: impl FnOnce() -> String, block: Raw<'_>) {
        #[derive(Deserialize)]
        struct Marked {
            cache_control: Option<Mark>,
            r#type: Option<String>,
            text: Option<String>,
            #[serde(default)]
            defer_loading: bool,
        }
        #[derive(Deserialize)]
        struct Mark {
            ttl: Option<String>,
        }
        let marked: Option<Marked> = serde_json::from_str(block.get()).ok();
        let Some(marked) = marked else { return };
        let Some(mark) = marked.cache_control else {
            return;
        };
        let hour = mark.ttl.as_deref() == Some("1h");
        self.marks.push(if hour { 3_600 } else { 300 });
        let what = match marked.r#type.as_deref() {
            _ if marked.defer_loading => "a mark on a tool whose loading is deferred",
            Some("thinking" | "redacted_thinking") => "a mark on reasoning",
            Some("text") if marked.text.as_deref().is_none_or(str::is_empty) => {
                "a mark on an empty text"
            }
            _ => return,
        };
        self.misplaced.push((at(), what));
    }

    fn blocks(&mut self, at: String, fields: &Object<'_>) -> Message {
        let speaker = match text(fields.get("role")).as_deref() {
            Some("user") => Speaker::User,
            Some("assistant") => Speaker::Model,
            Some("system") => Speaker::System,
            _ => Speaker::Unknown,
        };
        let mut blocks = Vec::new();
        if let Some(text) = text(fields.get("content")) {
            blocks.push(said(&text));
        }
        let content = list(fields.get("content")).unwrap_or_default();
        for (place, raw) in content.into_iter().enumerate() {
            let at = format!("{at}.content[{place}]");
            self.mark(|| at.clone(), raw);
            let Some(block) = object(raw) else { continue };
            let inner = list(block.get("content")).unwrap_or_default();
            for (place, inner) in inner.into_iter().enumerate() {
                self.mark(|| format!("{at}.content[{place}]"), inner);
            }
            blocks.push(match text(block.get("type")).as_deref() {
                Some("text") => said(&text(block.get("text")).unwrap_or_default()),
                Some("tool_use") => Block::Call {
                    id: text(block.get("id")),
                    name: text(block.get("name")).unwrap_or_default(),
                    is_object: is_object(block.get("input")),
                    signed: false,
                },
                Some("tool_result") => Block::Result {
                    id: text(block.get("tool_use_id")),
                    name: None,
                },
                Some("tool_addition") => {
                    self.offers = true;
                    changed(&block, true)
                }
                Some("tool_removal") => changed(&block, false),
                _ => Block::Other,
            });
        }
        Message {
            at,
            speaker,
            blocks,
        }
    }
}

/// A tool that a block adds or takes away. A definition or reference without a name is of a whole set of them.
fn changed(block: &Object<'_>, adds: bool) -> Block {
    let tool = block.get("tool").and_then(|tool| object(tool)).unwrap_or_default();
    let kind = text(tool.get("type"));
    let definition = tool.get("definition").and_then(|definition| object(definition));
    let name = match (kind.as_deref(), &definition) {
        (Some("tool_definition"), Some(definition)) => text(definition.get("name")),
        (Some("tool_reference"), _) => text(tool.get("name")),
        _ => None,
    };
    if adds {
        Block::Added {
            name,
            defined: definition.is_some(),
        }
    } else {
        Block::Removed { name }
    }
}

fn chat(at: String, fields: &Object<'_>) -> Message {
    let speaker = match text(fields.get("role")).as_deref() {
        Some("system" | "developer") => Speaker::System,
        Some("user") => Speaker::User,
        Some("assistant") => Speaker::Model,
        Some("tool") => Speaker::Tool,
        _ => Speaker::Unknown,
    };
    let mut blocks = Vec::new();
    if speaker == Speaker::Tool {
        blocks.push(Block::Result {
            id: text(fields.get("tool_call_id")),
            name: None,
        });
    } else if let Some(text) = text(fields.get("content")) {
        blocks.push(said(&text));
    } else {
        let parts = list(fields.get("content")).unwrap_or_default();
        blocks.extend(parts.iter().map(|_| Block::Other));
    }
    for call in list(fields.get("tool_calls")).unwrap_or_default() {
        let Some(call) = object(call) else { continue };
        let inner = either(&call, ["function", "custom"]).and_then(|inner| object(inner));
        blocks.push(Block::Call {
            id: text(call.get("id")),
            name: inner.and_then(|inner| text(inner.get("name"))).unwrap_or_default(),
            is_object: true,
            signed: false,
        });
    }
    let more = ["refusal", "audio", "function_call"];
    if more
        .iter()
        .any(|key| fields.get(*key).is_some_and(|value| value.get() != "null"))
    {
        blocks.push(Block::Other);
    }
    Message {
        at,
        speaker,
        blocks,
    }
}

fn item(at: String, fields: &Object<'_>) -> Message {
    let named = text(fields.get("type"));
    let kind = named.as_deref().unwrap_or("message");
    if kind == "additional_tools" {
        let by_developer = text(fields.get("role")).as_deref() == Some("developer");
        let tools = list(fields.get("tools")).unwrap_or_default();
        // The provider's own have no name.
        return Message {
            at,
            speaker: if by_developer {
                Speaker::System
            } else {
                Speaker::Unknown
            },
            blocks: tools
                .into_iter()
                .map(|tool| Block::Added {
                    name: object(tool).and_then(|tool| text(tool.get("name"))),
                    defined: true,
                })
                .collect(),
        };
    }
    let id = text(fields.get("call_id"));
    let (speaker, block) = if kind == "message" {
        let speaker = match text(fields.get("role")).as_deref() {
            Some("system" | "developer") => Speaker::System,
            Some("user") => Speaker::User,
            Some("assistant") => Speaker::Model,
            _ => Speaker::Unknown,
        };
        let block = match (text(fields.get("content")), list(fields.get("content"))) {
            (Some(text), _) => Some(said(&text)),
            (None, Some(parts)) => (!parts.is_empty()).then_some(Block::Other),
            (None, None) => None,
        };
        (speaker, block)
    } else if kind.ends_with("_call_output") {
        (Speaker::Tool, Some(Block::Result { id, name: None }))
    } else if kind.ends_with("_call") && id.is_some() {
        let name = text(fields.get("name")).unwrap_or_else(|| "own".to_owned());
        let call = Block::Call {
            id,
            name,
            is_object: true,
            signed: false,
        };
        (Speaker::Model, Some(call))
    } else if kind == "reasoning" {
        (Speaker::Model, Some(Block::Reasoning))
    } else if kind.ends_with("_call") {
        (Speaker::Model, Some(Block::Other))
    } else {
        (Speaker::User, Some(Block::Other))
    };
    Message {
        at,
        speaker,
        blocks: block.into_iter().collect(),
    }
}

fn content(at: String, fields: &Object<'_>) -> Message {
    let speaker = match text(fields.get("role")).as_deref() {
        None | Some("user" | "function") => Speaker::User,
        Some("model") => Speaker::Model,
        _ => Speaker::Unknown,
    };
    let mut blocks = Vec::new();
    for part in list(fields.get("parts")).unwrap_or_default() {
        let Some(part) = object(part) else { continue };
        let call = either(&part, ["functionCall", "function_call"]).and_then(|call| object(call));
        let answer = either(&part, ["functionResponse", "function_response"]);
        blocks.push(if let Some(call) = call {
            Block::Call {
                id: text(call.get("id")),
                name: text(call.get("name")).unwrap_or_default(),
                is_object: is_object(call.get("args")),
                signed: either(&part, ["thoughtSignature", "thought_signature"]).is_some(),
            }
        } else if let Some(answer) = answer.and_then(|answer| object(answer)) {
            Block::Result {
                id: text(answer.get("id")),
                name: text(answer.get("name")),
            }
        } else if let Some(text) = text(part.get("text")) {
            said(&text)
        } else {
            Block::Other
        });
    }
    Message {
        at,
        speaker,
        blocks,
    }
}
