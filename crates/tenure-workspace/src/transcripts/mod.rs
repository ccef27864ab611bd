//! Transcripts: conversations as agents and libraries keep them for themselves, which no provider takes as they are.
//!
//! ```text
//! values.rs   the JSON of a text, each value with its line
//! mod.rs      the forms that are known, and which of them a text has
//! turns.rs    what is said, in the words of no provider, and the request that says it
//! find.rs     where agents keep the transcripts of a project
//! ```
//!
//! Each other file reads one form. What the form took from a provider (the lines of Claude Code, the items of Codex) stays byte
//! for byte; the rest is written as a provider's messages. A reader leaves nothing out in silence: it makes a [`Remark`].

mod ai_sdk;
mod aider;
mod claude_code;
mod codex;
mod find;
mod gemini_cli;
mod langchain;
mod opencode;
mod pydantic_ai;
mod sharegpt;
mod turns;
mod values;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use tenure::error::unknown_name;
use tenure::object::clip;
use tenure::wire::Format;
use tenure::{Error, ErrorKind};

pub use find::Found;
pub(crate) use values::{Object, Placed, Values, list, values};

/// The source of a conversation.
pub(crate) const EXPECTED: &str = "a request, a message, a list of messages, a provider's answer, JSON Lines of these, or \
    the transcript of an agent or library that `tenure session import --help` lists";

/// The most kinds of things that are told apart in remarks.
const MAX_REMARKS: usize = 64;

/// A form that transcripts have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Claude Code's.
    ClaudeCode,
    /// Codex's.
    Codex,
    /// opencode's.
    Opencode,
    /// Gemini CLI's.
    GeminiCli,
    /// aider's.
    Aider,
    /// LangChain's.
    Langchain,
    /// pydantic-ai's.
    PydanticAi,
    /// The OpenAI Agents SDK's, which are items of OpenAI's responses.
    OpenaiAgents,
    /// The AI SDK's.
    AiSdk,
    /// ShareGPT's.
    Sharegpt,
}

/// A form, as help and documentation name it.
#[derive(Clone, Copy, Debug)]
pub struct KnownForm {
    /// The form.
    pub form: Form,
    /// The name of the agent or library.
    pub name: &'static str,
    /// The place that it comes from.
    pub from: &'static str,
    /// The signs by which it is known.
    pub sign: &'static str,
}

/// The forms that are read, in the order in which they are listed.
pub const FORMS: [KnownForm; 10] = [
    KnownForm {
        form: Form::ClaudeCode,
        name: "Claude Code",
        from: "`~/.claude/projects/PROJECT/*.jsonl`",
        sign: "lines with `type` and a provider's `message`",
    },
    KnownForm {
        form: Form::Codex,
        name: "Codex",
        from: "`~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl`",
        sign: "lines with `type` and `payload`",
    },
    KnownForm {
        form: Form::Opencode,
        name: "opencode",
        from: "`opencode export`",
        sign: "`messages`, each with `info` and `parts`",
    },
    KnownForm {
        form: Form::GeminiCli,
        name: "Gemini CLI",
        from: "`~/.gemini/tmp/PROJECT/chats/session-*.json` and `.jsonl`, `/chat save`",
        sign: "messages of the type `user` or `gemini`",
    },
    KnownForm {
        form: Form::Aider,
        name: "aider",
        from: "`.aider.chat.history.md`",
        sign: "a heading `# aider chat started at`, or lines that begin with `####`",
    },
    KnownForm {
        form: Form::Langchain,
        name: "LangChain",
        from: "`messages_to_dict`, `model_dump`, `dumps`",
        sign: "`type: human`, `ai`, `tool`, `system`; or `lc` with `kwargs`",
    },
    KnownForm {
        form: Form::PydanticAi,
        name: "pydantic-ai",
        from: "`all_messages_json()`",
        sign: "`kind: request` or `response`, `parts` with a `part_kind`",
    },
    KnownForm {
        form: Form::OpenaiAgents,
        name: "OpenAI Agents SDK",
        from: "`to_input_list()`",
        sign: "items of OpenAI's responses, read as `openai-responses`",
    },
    KnownForm {
        form: Form::AiSdk,
        name: "AI SDK",
        from: "`UIMessage[]`, `ModelMessage[]`",
        sign: "`parts` with a `type`; or `content` with `tool-call` and `tool-result`",
    },
    KnownForm {
        form: Form::Sharegpt,
        name: "ShareGPT",
        from: "a data set of one conversation",
        sign: "`conversations`, each turn with `from` and `value`",
    },
];

impl Form {
    /// Returns its name, as `--from` takes it.
    pub fn term(self) -> &'static str {
        match self {
            Form::ClaudeCode => "claude-code",
            Form::Codex => "codex",
            Form::Opencode => "opencode",
            Form::GeminiCli => "gemini-cli",
            Form::Aider => "aider",
            Form::Langchain => "langchain",
            Form::PydanticAi => "pydantic-ai",
            Form::OpenaiAgents => "openai-agents",
            Form::AiSdk => "ai-sdk",
            Form::Sharegpt => "sharegpt",
        }
    }

    /// Returns the name of the agent or library.
    pub fn name(self) -> &'static str {
        FORMS.iter().find(|known| known.form == self).map_or("", |known| known.name)
    }

    /// Returns whether its transcripts of a project can be found.
    pub fn is_found(self) -> bool {
        matches!(self, Form::ClaudeCode | Form::Codex)
    }
}

/// What a text of messages is said to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageForm {
    /// Messages of a provider.
    Provider(Format),
    /// A transcript.
    Transcript(Form),
}

impl FromStr for MessageForm {
    type Err = Error;

    fn from_str(term: &str) -> Result<MessageForm, Error> {
        let known = FORMS.iter().find(|known| known.form.term() == term);
        if let Some(known) = known {
            return Ok(MessageForm::Transcript(known.form));
        }
        let format = match term {
            "anthropic" => Ok(Format::Anthropic),
            term => term.parse(),
        };
        format.map(MessageForm::Provider).map_err(|_: Error| {
            let providers = ["openai-chat", "openai-responses", "anthropic", "gemini"];
            let terms = providers.into_iter().chain(FORMS.iter().map(|known| known.form.term()));
            Error {
                kind: ErrorKind::Usage,
                ..unknown_name("format", term, terms)
            }
        })
    }
}

/// What became of something in a transcript that is no message, or not one as it was.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// Its kind is not known: it was left out.
    NotUnderstood,
    /// Its kind is not known: it is kept as it came.
    KeptUnread,
    /// It is cut off or no JSON, as after a power loss: it was left out.
    Broken,
    /// It is of an agent that the agent started: it was left out.
    SideChain,
    /// The user went back and said something else: it was left out.
    Abandoned,
    /// The client shows it to its user, and no model saw it: it was left out.
    ShownOnly,
    /// The client compacted its history here. The messages before it stand, too.
    Compacted,
    /// It is thinking without a signature among messages of Anthropic's, which takes none: it was left out.
    ThinkingLeftOut,
    /// A file, a sound or a picture that has no place where it stands: a line stands for it.
    MediaLeftOut,
}

impl Finding {
    /// Returns whether something of the conversation may be missing.
    pub fn is_lost(self) -> bool {
        matches!(
            self,
            Finding::NotUnderstood | Finding::KeptUnread | Finding::Broken | Finding::MediaLeftOut
        )
    }

    /// Returns what it says, in words.
    pub fn says(self) -> &'static str {
        match self {
            Finding::NotUnderstood => "is not understood, and was left out",
            Finding::KeptUnread => "is not understood, and is kept as it came",
            Finding::Broken => "is cut off or no JSON, and was left out",
            Finding::SideChain => "is of another agent that this one started, and was left out",
            Finding::Abandoned => "is of a branch that the user left, and was left out",
            Finding::ShownOnly => "was shown to the user alone, and was left out",
            Finding::Compacted => "compacts the history: what was said before it is imported, too",
            Finding::ThinkingLeftOut => {
                "has no signature, without which Anthropic takes none, and was left out"
            }
            Finding::MediaLeftOut => "has no place there: a line stands for it",
        }
    }
}

/// A finding in a transcript, with its first line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Remark {
    /// The line of the text that it begins on, counted from one.
    pub line: usize,
    /// The kind of what is there.
    pub kind: String,
    /// The fate of it.
    pub what: Finding,
    /// The number of this kind.
    pub count: usize,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Remark {
            line,
            kind,
            what,
            count,
        } = self;
        write!(f, "line {line}: `{kind}` {}", what.says())?;
        match count {
            1 => Ok(()),
            2 => f.write_str(" (and one more)"),
            _ => write!(f, " (and {} more)", count - 1),
        }
    }
}

/// Remarks in the making: one for each kind of thing and what became of it.
#[derive(Default)]
pub(crate) struct Remarks(Vec<Remark>);

impl Remarks {
    pub(crate) fn add(&mut self, line: usize, kind: &str, what: Finding) {
        let kind = if self.0.len() < MAX_REMARKS {
            clip(kind)
        } else {
            "of many kinds".to_owned()
        };
        let mut known = self.0.iter_mut();
        match known.find(|one| one.kind == kind && one.what == what) {
            Some(known) => known.count += 1,
            None => self.0.push(Remark {
                line,
                kind,
                what,
                count: 1,
            }),
        }
    }

    pub(crate) fn all(mut self) -> Vec<Remark> {
        self.0.sort_by_key(|one| one.line);
        self.0
    }
}

/// The result of reading a transcript: the request of a provider.
pub(crate) struct Read {
    pub(crate) format: Format,
    /// Its fields besides the messages, as JSON.
    pub(crate) fields: Vec<(&'static str, String)>,
    /// Its messages, or items, each with its line.
    pub(crate) messages: Vec<(usize, String)>,
    pub(crate) remarks: Remarks,
}

impl Read {
    /// Returns the body of the request.
    pub(crate) fn body(&self) -> String {
        let key = match self.format {
            Format::OpenAiResponses => "input",
            Format::Gemini => "contents",
            _ => "messages",
        };
        let fields: String =
            self.fields.iter().map(|(name, json)| format!("\"{name}\":{json},")).collect();
        let messages: Vec<&str> =
            self.messages.iter().map(|(_, message)| message.as_str()).collect();
        format!("{{{fields}\"{key}\":[{}]}}", messages.join(","))
    }
}

/// The values of a transcript, taken out of the lists and objects around them.
pub(crate) struct Items<'a> {
    /// The object that holds them, where one does.
    pub(crate) around: Option<Object<'a>>,
    pub(crate) all: Vec<Placed<'a>>,
    /// Lines that hold no whole value.
    pub(crate) broken: Vec<usize>,
}

impl<'a> Items<'a> {
    /// Takes the items of a text's values: those of one list or of several, or of the list in an object.
    pub(crate) fn of(values: Values<'a>, text: &str) -> Items<'a> {
        let mut items = Items {
            around: None,
            all: Vec::new(),
            broken: values.broken,
        };
        let holder = match values.all.as_slice() {
            [(_, only)] => Object::of(only),
            _ => None,
        };
        let held = holder.as_ref().and_then(|holder| {
            let keys = ["messages", "history", "conversations", "conversation"];
            keys.iter().find_map(|key| holder.list(key))
        });
        if let Some(held) = held {
            items.all = placed(held, text);
            items.around = holder;
            return items;
        }
        for (line, value) in values.all {
            match list(value) {
                Some(held) => items.all.extend(placed(held, text)),
                None => items.all.push((line, value)),
            }
        }
        items
    }
}

/// Values with the lines of the text that they begin on.
fn placed<'a>(values: Vec<&'a RawValue>, text: &str) -> Vec<Placed<'a>> {
    let (mut line, mut counted) = (1, 0);
    let mut placed = Vec::with_capacity(values.len());
    for value in values {
        let offset = (value.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let between = text.get(counted..offset).unwrap_or_default();
        line += between.matches('\n').count();
        counted = offset.max(counted);
        placed.push((line, value));
    }
    placed
}

/// The form that a text has, where it is a transcript of a form that is known.
pub fn recognise(text: &str) -> Option<Form> {
    match values(text, EXPECTED) {
        Ok(found) => form_of(&Items::of(found, text)),
        Err(_) => aider::is_history(text).then_some(Form::Aider),
    }
}

/// The form that most of these items have; none where more of them are of a provider.
pub(crate) fn form_of(items: &Items<'_>) -> Option<Form> {
    let found = items.all.iter().filter_map(|(_, value)| form_of_item(value));
    let mut counts: Vec<(Form, usize)> = Vec::new();
    for form in found {
        match counts.iter_mut().find(|(known, _)| *known == form) {
            Some((_, count)) => *count += 1,
            None => counts.push((form, 1)),
        }
    }
    // Of as many the first is meant.
    let most = counts.iter().map(|(_, count)| *count).max()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(form, _)| form)
}

/// The form of one item; none where it has no sign of any.
fn form_of_item(value: &RawValue) -> Option<Form> {
    type Sign = fn(&Object<'_>) -> bool;
    let item = Object::of(value)?;
    let signs: [(Form, Sign); 8] = [
        (Form::ClaudeCode, claude_code::is_line),
        (Form::Codex, codex::is_line),
        (Form::Opencode, opencode::is_message),
        (Form::Langchain, langchain::is_message),
        (Form::PydanticAi, pydantic_ai::is_message),
        (Form::AiSdk, ai_sdk::is_message),
        (Form::Sharegpt, sharegpt::is_turn),
        (Form::GeminiCli, gemini_cli::is_message),
    ];
    signs.into_iter().find(|(_, is_of)| is_of(&item)).map(|(form, _)| form)
}

/// Reads a transcript of this form; none where the form is a provider's own.
///
/// # Errors
///
/// [`ErrorKind::Input`] when it holds no message.
pub(crate) fn read(form: Form, items: &Items<'_>) -> Result<Option<Read>, Error> {
    let read = match form {
        Form::ClaudeCode => claude_code::read(items),
        Form::Codex => codex::read(items),
        Form::Opencode => opencode::read(items),
        Form::GeminiCli => gemini_cli::read(items),
        Form::Langchain => langchain::read(items),
        Form::PydanticAi => pydantic_ai::read(items),
        Form::AiSdk => ai_sdk::read(items),
        Form::Sharegpt => sharegpt::read(items)?,
        Form::OpenaiAgents | Form::Aider => return Ok(None),
    };
    Ok(Some(read))
}

/// Reads aider's history, which is Markdown.
pub(crate) fn read_aider(text: &str) -> Read {
    aider::read(text)
}
