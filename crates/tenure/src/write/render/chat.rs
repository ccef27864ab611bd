//! The common part of the bodies of chat requests: whose words a piece is, which pieces share a message, and the
//! gathering of a body.

use std::borrow::Cow;

use crate::base::error::Error;
use crate::input::policy::{Order, Policy, TaskPosition};
use crate::object::section::{Section, Zone};
use crate::object::{ContextObject, Format, ObjectType, Revision, Role, Tool};
use crate::provider::catalogue::{MessageRules, Model};
use crate::provider::formats::dialect;
use crate::provider::target::Target;
use crate::provider::template::ChatTemplate;
use crate::provider::wire::Outgoing;
use crate::provider::wire::call_ids::CallIds;
use crate::write::piece::Piece;
use crate::write::render::Applied;
use crate::write::render::openai_chat::Turn;
use crate::write::render::parts::BodyPosition;
use crate::write::render::plain::{self, Plain};
use crate::write::render::{anthropic, gemini, openai_chat, openai_responses};
use crate::write::span::Span;

/// A tool as canonical JSON: keys sorted, no white space.
pub(crate) fn tool_json(object: &ContextObject, tool: &Tool, target: Target) -> String {
    let format = target.format().unwrap_or(Format::OpenAiChat);
    let description = object.revision().content().trim();
    let json = (dialect(format).write_tool)(object.name(), description, &tool.input_schema);
    json.to_string()
}

/// The place of a text among the messages. Texts of one joint that follow each other share their message, or their
/// content block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Joint {
    pub(crate) role: Role,
    /// The section, where each section's text is a block of its own.
    section: Option<Section>,
    /// True if it stands behind all else, by the provider's channel for what the system says late.
    late: bool,
}

/// The parts of a body that stand in the provider's channels for what comes late.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LateParts {
    pub(crate) texts: bool,
    pub(crate) tools: bool,
}

impl Joint {
    /// The words of the user that the compiler adds, so that the messages are legal.
    pub(crate) const USER: Joint = Joint {
        role: Role::User,
        section: None,
        late: false,
    };

    /// The words of the system in the middle of the conversation.
    pub(crate) const LATE: Joint = Joint {
        role: Role::System,
        section: None,
        late: true,
    };

    /// Of a piece of this section: the tail, the task and what stands for turns are the user's, the rest the
    /// system's. In registry order only the task that the compiler adds leaves the one flow.
    ///
    /// A summary holds words of the user and of tools, so it never stands as the system's, whatever the order.
    ///
    /// Messages of blocks have no system role. What stands before the history is the system's, beside
    /// them, what stands after it becomes the user's: it keeps its place and loses rank, never gains it.
    pub(crate) fn of(
        policy: &Policy,
        target: Target,
        section: Section,
        is_candidate: bool,
    ) -> Joint {
        let is_task = matches!(section, Section::Task | Section::Query) && !is_candidate;
        let by_section = policy.document().order == Order::Sections;
        let has_system = !target.has_blocks();
        let is_users = if by_section {
            let before_history = policy.place(section) < policy.place(Section::History);
            policy.zone(section) == Zone::Tail
                || section == Section::History
                || !(has_system || before_history)
        } else {
            is_task || section == Section::History
        };
        Joint {
            role: if is_users { Role::User } else { Role::System },
            section: (by_section && !has_system).then_some(section),
            late: false,
        }
    }
}

/// Returns whether text of this section is a message of its own: it stands between turns, so how many messages there
/// are would otherwise depend on which of its neighbours fit.
pub(crate) fn is_alone(section: Section) -> bool {
    section == Section::History
}

/// The places where texts stand in a body, in their order: from what stands there follows how many messages, or content
/// blocks, the texts share. Pieces of one joint that stand together make one.
pub(crate) struct SharedMessages {
    places: Vec<TextPlace>,
}

struct TextPlace {
    /// True if the compiler's own text stands there.
    is_added: bool,
    /// The sections whose candidates stand there, a bit each.
    candidates: u32,
    /// None where messages of the history part the texts.
    joint: Option<Joint>,
}

impl SharedMessages {
    pub(crate) fn new(policy: &Policy, target: Target, added: &[bool; Section::COUNT]) -> Self {
        let is_added = |section: Section| added[section.index()];
        let joint = |section, is_candidate| Some(Joint::of(policy, target, section, is_candidate));
        if policy.document().order == Order::Registry {
            let own = |is_added, section| TextPlace {
                is_added,
                candidates: 0,
                joint: joint(section, false),
            };
            let task = own(
                is_added(Section::Task) || is_added(Section::Query),
                Section::Task,
            );
            let together = Section::ALL.iter().filter(|section| !is_alone(**section));
            let candidates = TextPlace {
                is_added: false,
                candidates: together.map(|section| 1 << section.index()).sum(),
                joint: joint(Section::Identity, true),
            };
            let identity = own(is_added(Section::Identity), Section::Identity);
            let places = match policy.document().task_position {
                TaskPosition::Before => vec![identity, task, candidates],
                TaskPosition::After => vec![identity, candidates, task],
            };
            return SharedMessages { places };
        }
        let mut sections = Section::ALL.to_vec();
        sections.sort_by_key(|section| policy.place(*section));
        let places = sections.into_iter().map(|section| {
            let is_history = section == Section::History;
            TextPlace {
                is_added: is_added(section) && !is_history,
                candidates: 1 << section.index(),
                joint: (!is_history).then(|| Joint::of(policy, target, section, false)),
            }
        });
        SharedMessages {
            places: places.collect(),
        }
    }

    /// Returns their number where candidates of these sections stand. More sections never make fewer, so the count
    /// for all candidates is a bound for any choice.
    pub(crate) fn count(&self, candidates: &[bool; Section::COUNT], late: LateParts) -> u32 {
        let stand: u32 = Section::ALL
            .iter()
            .filter(|section| candidates[section.index()])
            .map(|section| 1 << section.index())
            .sum();
        let places = self.places.iter();
        let present = places
            .filter(|place| place.is_added || place.candidates & stand != 0)
            .map(|place| place.joint);
        let mut before = None;
        let mut count = u32::from(late.tools);
        for joint in present.chain(late.texts.then_some(Some(Joint::LATE))) {
            if joint.is_some() && joint != before {
                count += 1;
            }
            before = joint;
        }
        count
    }
}

/// Returns whether the history must open with words of the user: the first message of blocks is the user's, and the
/// first that stands of the history may be the assistant's when the assistant is `unled`, that is speaks before the
/// user's first turn.
pub(crate) fn needs_opening(policy: &Policy, target: Target, unled: bool) -> bool {
    let document = policy.document();
    let after_task =
        document.order == Order::Registry && document.task_position == TaskPosition::Before;
    target.by_turns() && unled && !after_task
}

/// Returns whether words of the user must end the messages: the last message of blocks is the user's, and a layout
/// may end with the history. `added` are the sections that the compiler adds pieces to.
pub(crate) fn needs_closing(
    policy: &Policy,
    target: Target,
    mut added: impl Iterator<Item = Section>,
    has_turns: bool,
) -> bool {
    let document = policy.document();
    let after_task = document.task_position == TaskPosition::Before;
    let history = policy.place(Section::History);
    target.by_turns()
        && match document.order {
            Order::Registry => has_turns && after_task,
            Order::Sections => !added.any(|section| policy.place(section) > history),
        }
}

/// A body in the making.
pub(crate) struct Body<'a> {
    target: Target,
    rules: MessageRules,
    form: Form<'a>,
    /// The texts, which the messages name by their place here.
    texts: Vec<String>,
    tools: Vec<&'a str>,
    /// The last text, where more may follow it.
    last: Option<(Joint, BodyPosition)>,
    shared: u32,
    late_tools: bool,
    changes_tools: bool,
    has_raw: bool,
    ids: CallIds<'a>,
    applied: Applied,
}

enum Form<'a> {
    /// Messages of their own.
    Flat(openai_chat::Messages<'a>),
    /// Messages of blocks, by turns.
    Blocks(anthropic::Messages<'a>),
}

impl<'a> Body<'a> {
    /// A body; `speaks`: anyone but the system will speak in it.
    pub(crate) fn new(target: Target, model: &Model, speaks: bool) -> Body<'a> {
        let rules = model.messages.unwrap_or_default();
        Body {
            target,
            rules,
            form: if target.has_blocks() {
                Form::Blocks(anthropic::Messages::new(target))
            } else {
                Form::Flat(openai_chat::Messages::new(target, speaks))
            },
            texts: Vec::new(),
            tools: Vec::new(),
            last: None,
            shared: 0,
            late_tools: false,
            changes_tools: false,
            has_raw: false,
            ids: CallIds::new(target.call_ids()),
            applied: Applied::new(),
        }
    }

    /// Offers a tool.
    pub(crate) fn tool(&mut self, json: &'a str) -> Span {
        self.tools.push(json);
        Span {
            message: None,
            block: None,
            tool: Some(self.tools.len() as u32 - 1),
            start: 0,
            end: json.len() as u32,
        }
    }

    /// Offers a tool in the middle of the conversation, by the provider's own channel.
    pub(crate) fn late_tool(&mut self, json: &'a str) -> Span {
        // What stands around all of them is counted once.
        self.shared += u32::from(!std::mem::replace(&mut self.late_tools, true));
        self.changes_tools = true;
        self.last = None;
        let (rule, place, tool) = match &mut self.form {
            Form::Flat(messages) => {
                let (place, tool) = messages.late_tool(json);
                ("additional_tools", place, Some(tool))
            }
            Form::Blocks(messages) => ("tool_addition", messages.late_tool(json), None),
        };
        self.apply(rule);
        Span {
            tool,
            ..place.span(0, json.len())
        }
    }

    /// Writes a piece of text: `alone`, or after the last text where it has the same joint.
    pub(crate) fn text(&mut self, joint: Joint, alone: bool, piece: &Piece, content: &str) -> Span {
        let open = self.last.filter(|(last, _)| *last == joint && !alone);
        let place = match open {
            Some((_, place)) => place,
            None => {
                self.shared += u32::from(!alone);
                self.texts.push(String::new());
                let text = self.texts.len() - 1;
                let before = self.messages();
                let place = match &mut self.form {
                    Form::Flat(messages) => messages.text(joint.role, text),
                    Form::Blocks(messages) if joint.late => messages.late_text(text),
                    Form::Blocks(messages) => messages.text(joint.role, text),
                };
                if joint.late {
                    self.apply("mid_conversation_system");
                }
                if joint.role != Role::System && self.messages() == before {
                    self.apply("roles_alternate");
                }
                place
            }
        };
        self.last = (!alone).then_some((joint, place));
        let at = self.texts.len() - 1;
        let text = &mut self.texts[at];
        let start = text.len();
        piece.write(content, text);
        place.span(start, text.len())
    }

    /// Adds a turn or a tool's result; before one of the assistant, `leads`.
    pub(crate) fn turn(&mut self, revision: &'a Revision, piece: &'a Piece, leads: bool) -> Span {
        self.last = None;
        // A piece with a text of its own is a turn that could not stay as it is.
        let said = piece.text.as_deref().or(revision.spoken());
        let is_silent = said.is_none_or(|said| said.trim().is_empty());
        let is_result = revision.object_type() == ObjectType::ToolResult;
        let calls = !revision.tool_calls().is_empty();
        if is_silent && !is_result && !calls {
            self.apply("empty_content");
        }
        let is_system = revision.speaker() == Some(Role::System) && !is_silent;
        let before = self.messages();
        let turn = Turn {
            revision,
            said,
            ids: self.ids(revision),
        };
        let place = match &mut self.form {
            Form::Flat(messages) => messages.turn(turn),
            Form::Blocks(messages) => {
                let takes = self.rules.mid_conversation_system == Some(true);
                let late = takes && leads && said.is_some_and(|said| !said.trim().is_empty());
                let late = late && self.target == Target::AnthropicMessages;
                if late && is_system && messages.takes_system() {
                    let place = messages.late(revision);
                    self.apply("mid_conversation_system");
                    return place.span(0, revision.content().len());
                }
                messages.turn(turn)
            }
        };
        if matches!(self.form, Form::Blocks(_)) {
            if self.messages() == before && (calls || is_result || !is_silent) {
                self.apply("roles_alternate");
            }
            if is_system {
                self.apply("system_position");
            }
            if calls && self.target == Target::Gemini && self.rules.signed_calls == Some(true) {
                self.apply("thought_signature_missing");
            }
        }
        place.span(0, said.map_or(0, str::len))
    }

    /// The ids that the calls of a turn have in this body, or the call that a result answers.
    fn ids(&mut self, revision: &'a Revision) -> Vec<Cow<'a, str>> {
        if revision.object_type() == ObjectType::ToolResult {
            let id = revision.tool_call_id().unwrap_or_default();
            return vec![self.ids.answered(id)];
        }
        let calls = revision.tool_calls().iter();
        calls.map(|call| self.ids.call(&call.id)).collect()
    }

    /// Adds the message that these parts came in, byte for byte, if it may stand here.
    pub(crate) fn raw(
        &mut self,
        raw: &'a Outgoing,
        parts: Vec<&'a Revision>,
        leads: bool,
    ) -> Option<Span> {
        let leaves = |part: &&Revision| {
            let mut calls = part.tool_calls().iter();
            let mut answers = part.tool_call_id().into_iter();
            calls.all(|call| self.ids.leaves(&call.id, false))
                && answers.all(|id| self.ids.leaves(id, true))
        };
        if raw.is_plain() && !parts.iter().all(leaves) {
            return None;
        }
        let place = match &mut self.form {
            Form::Flat(messages) => messages.raw(raw, parts.len()),
            Form::Blocks(messages) => {
                let takes = self.rules.mid_conversation_system == Some(true);
                if raw.role == Role::System && !(takes && leads && messages.takes_system()) {
                    return None;
                }
                messages.raw(raw, &parts)
            }
        };
        parts
            .iter()
            .flat_map(|part| part.tool_calls())
            .for_each(|call| self.ids.keep(&call.id));
        self.last = None;
        self.has_raw = true;
        self.changes_tools |= raw.changes_tools;
        Some(place.span(0, raw.message.len()))
    }

    /// Notes that what stands here stands so because of a rule.
    pub(crate) fn apply(&mut self, rule: &'static str) {
        *self.applied.entry(rule).or_default() += 1;
    }

    /// The rules that were applied.
    pub(crate) fn applied(&self) -> &Applied {
        &self.applied
    }

    /// Returns the number of messages.
    fn messages(&self) -> usize {
        match &self.form {
            Form::Flat(messages) => messages.messages.len(),
            Form::Blocks(messages) => messages.messages.len(),
        }
    }

    /// Returns whether any message goes back as it came.
    pub(crate) fn has_raw(&self) -> bool {
        self.has_raw
    }

    /// Returns whether tools are offered, or taken away, in the middle of the conversation.
    pub(crate) fn changes_tools(&self) -> bool {
        self.changes_tools
    }

    /// Returns the number of messages, or blocks, that texts share, and whether tools are offered: what the overhead
    /// follows from.
    pub(crate) fn around(&self) -> (u32, bool) {
        (self.shared, !self.tools.is_empty())
    }

    /// The text through a chat template.
    ///
    /// # Errors
    ///
    /// When the template refuses the messages.
    pub(crate) fn through(self, template: &ChatTemplate) -> Result<Plain, Error> {
        match &self.form {
            Form::Flat(messages) => plain::text(messages, &self.texts, &self.tools, template),
            Form::Blocks(_) => Err(Error::assertion("a template takes messages of its own")),
        }
    }

    /// The bytes. What does not change from one request to the next stands first. `answer` is the
    /// room for the answer.
    pub(crate) fn finish(self, model: &str, answer: u32) -> String {
        let (texts, tools) = (&self.texts, &self.tools);
        match (self.target, self.form) {
            (Target::OpenAiResponses, Form::Flat(messages)) => {
                openai_responses::body(&messages, model, texts, tools)
            }
            (_, Form::Flat(messages)) => messages.body(model, texts, tools),
            (Target::Gemini, Form::Blocks(messages)) => {
                let signs = self.rules.signed_calls == Some(true);
                gemini::body(&messages, texts, tools, signs)
            }
            (_, Form::Blocks(messages)) => messages.body(model, answer, texts, tools),
        }
    }
}
