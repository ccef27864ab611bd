//! A message of a session's window, with what was made of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tenure::condense::turns::Speaker;
use tenure::condense::{Condensed, Goal, condense};
use tenure::object::{ObjectType, Role, ToolCall};
use tenure::session::Said;
use tenure::wire::{self, ClientBlock, Format};
use tenure::{ContextObject, Error, ObjectDocument, World};

use super::AROUND;
use super::draft_inputs::{DraftInputs, Shortened};
use super::entry::Message;
use super::instructions::Instruction;

/// Words before a call that are shorter than this announce it, in bytes.
const ANNOUNCES: usize = 160;

/// A message of the window.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(super) number: u64,
    pub(super) entry: wire::Entry,
    /// Whether it may be taken back.
    pub(super) reply: bool,
    pub(super) sealed: Mutex<Option<Sealed>>,
    pub(super) tokens: Priced,
    /// The blocks that a client put into it, each with its part.
    pub(super) blocks: OnceLock<Vec<(u32, ClientBlock)>>,
    /// The number of pictures, documents and recordings in it.
    media: OnceLock<u64>,
    /// The same message without its reasoning, where it has any.
    bare: OnceLock<Option<Box<Turn>>>,
}

/// The objects of a message, with the shorter forms that some of its parts have there.
#[derive(Debug)]
pub(super) struct Sealed {
    pub(super) forms: Vec<(u32, String)>,
    pub(super) objects: Arc<[Arc<ContextObject>]>,
    /// Their cost, and the vocabulary of the count.
    pub(super) tokens: Option<(String, u64)>,
}

/// A summary, what the user demanded, or a tail that was sent; and what it costs by whose vocabulary.
#[derive(Debug)]
pub(super) struct PricedObject {
    pub(super) object: Arc<ContextObject>,
    pub(super) model: String,
    pub(super) tokens: u64,
}

/// A cost in tokens, kept for the vocabulary that asked first.
#[derive(Debug, Default)]
pub(super) struct Priced(OnceLock<(String, u64)>);

impl Priced {
    /// The cost by the vocabulary of this world.
    pub(super) fn by(&self, world: &World, count: impl Fn() -> u64) -> u64 {
        let (model, tokens) = self.0.get_or_init(|| (world.model_name().to_owned(), count()));
        if model == world.model_name() {
            *tokens
        } else {
            count()
        }
    }
}

impl Turn {
    pub(super) fn new(number: u64, message: Message) -> Turn {
        let wire = message.objects.first().and_then(|object| object.wire.as_ref());
        let entry = wire::Entry {
            format: wire.map_or(Format::OpenAiChat, |wire| wire.format),
            message: String::new(),
            objects: message.objects,
            signed: message.signed,
            opaque: message.opaque,
            faults: Vec::new(),
        };
        Turn::of(number, message.reply, entry)
    }

    fn of(number: u64, reply: bool, entry: wire::Entry) -> Turn {
        Turn {
            number,
            reply,
            entry,
            sealed: Mutex::default(),
            tokens: Priced::default(),
            blocks: OnceLock::new(),
            media: OnceLock::new(),
            bare: OnceLock::new(),
        }
    }

    /// The number of pictures, documents and recordings in it.
    pub(super) fn media(&self) -> u64 {
        *self.media.get_or_init(|| {
            self.entry
                .objects
                .iter()
                .filter_map(|object| object.wire.as_ref())
                .filter(|_| !self.entry.opaque.is_empty())
                .map(|wire| u64::from(wire.media()))
                .sum()
        })
    }

    /// The message without its reasoning.
    pub(super) fn bare(&self) -> &Turn {
        let made = self.bare.get_or_init(|| {
            let entry = self.entry.without_reasoning()?;
            Some(Box::new(Turn::of(self.number, self.reply, entry)))
        });
        made.as_deref().unwrap_or(self)
    }

    /// Its objects without the reasoning, where they were made.
    pub(super) fn made_bare(&self) -> impl Iterator<Item = &ObjectDocument> {
        let made = self.bare.get().and_then(Option::as_deref);
        made.into_iter().flat_map(|turn| &turn.entry.objects)
    }

    /// Returns whether another message begins with all of it and then says more.
    pub(super) fn is_begun_by(&self, other: &wire::Entry) -> bool {
        let says = |object: &ObjectDocument| {
            let ObjectDocument {
                object_type,
                role,
                content,
                tool_calls,
                tool_call_id,
                ..
            } = object.clone();
            (object_type, role, content, tool_calls, tool_call_id)
        };
        let own = &self.entry.objects;
        let is_more = other.objects.len() > own.len();
        is_more && own.iter().map(says).eq(other.objects.iter().take(own.len()).map(says))
    }

    /// Returns whether the user says something in it, besides what a client added.
    pub(super) fn is_request(&self) -> bool {
        let mut objects = (0u32..).zip(&self.entry.objects);
        objects.any(|(part, object)| {
            let is_users = object.object_type == Some(ObjectType::Turn)
                && object.role.unwrap_or(Role::User) == Role::User;
            is_users
                && (!self.blocks().iter().any(|(of, _)| *of == part)
                    || !self.without(part, &|_| true).trim().is_empty())
        })
    }
}

impl Sealed {
    /// Returns whether these are the shorter forms.
    fn are<'s>(&self, forms: impl Iterator<Item = (&'s (u64, u32), &'s String)>) -> bool {
        self.forms
            .iter()
            .map(|(part, text)| (*part, text))
            .eq(forms.map(|((_, part), text)| (*part, text)))
    }
}

/// The text or call in a part of a message.
pub(super) struct Statement<'t> {
    turn: u64,
    pub(super) speaker: Speaker,
    text: String,
    pinned: bool,
    call: Option<&'t ToolCall>,
}

impl Statement<'_> {
    pub(super) fn as_said(&self) -> Said<'_> {
        Said {
            turn: self.turn,
            speaker: self.speaker,
            text: &self.text,
            pinned: self.pinned,
            call: self.call,
        }
    }
}

fn speaker(object: &ObjectDocument) -> Speaker {
    match (object.object_type, object.role) {
        (Some(ObjectType::ToolResult), _) => Speaker::Tool,
        (_, Some(Role::Assistant)) => Speaker::Assistant,
        (_, Some(Role::System)) => Speaker::System,
        _ => Speaker::User,
    }
}

/// A call as it is read: a text of arguments stays as it is.
pub(super) fn called(call: &ToolCall) -> String {
    match call.arguments.as_str() {
        Some(text) => format!("{} {text}", call.name),
        None => format!("{} {}", call.name, call.arguments),
    }
}

impl Turn {
    /// The message as it stands where the reasoning of all before this one is left out.
    pub(super) fn reasoning_from(&self, first: u64) -> &Turn {
        if self.number < first {
            self.bare()
        } else {
            self
        }
    }

    /// The cost of the turn, about, as a compile counts it: never less than that of its texts.
    pub(super) fn cost(&self, world: &World) -> u64 {
        let count = || {
            let objects = self.entry.objects.iter();
            let each = objects.map(|object| {
                let wire = object.wire.as_ref().filter(|_| !self.entry.opaque.is_empty());
                let besides = wire.map_or(0, |wire| world.price_besides(wire));
                let calls = object.tool_calls.iter().map(|call| {
                    u64::from(world.price(&call.name))
                        + u64::from(world.price(&call.arguments.to_string()))
                        + AROUND
                });
                u64::from(world.price(&object.content))
                    + u64::from(besides)
                    + calls.sum::<u64>()
                    + AROUND
            });
            each.sum()
        };
        self.tokens.by(world, count)
    }

    /// Its cost as it stands.
    pub(super) fn stands_at(&self, world: &World, shortened: &Shortened) -> u64 {
        let mut forms = self.forms(shortened).peekable();
        if forms.peek().is_none() {
            return self.cost(world);
        }
        let mut texts: Vec<&str> = self
            .entry
            .objects
            .iter()
            .map(|object| &object.content)
            .map(String::as_str)
            .collect();
        for ((_, part), form) in forms {
            if let Some(text) = texts.get_mut(*part as usize) {
                *text = form;
            }
        }
        let count = || {
            let each = texts.iter().map(|text| u64::from(world.price(text)) + AROUND);
            (world.model_name().to_owned(), each.sum())
        };
        let mut sealed = self.sealed.lock().unwrap_or_else(PoisonError::into_inner);
        let known = sealed.as_mut();
        let Some(known) = known.filter(|known| known.are(self.forms(shortened))) else {
            return count().1;
        };
        match &known.tokens {
            Some((model, tokens)) if model == world.model_name() => *tokens,
            _ => known.tokens.insert(count()).1,
        }
    }

    /// Leaves out of its text what newer instructions took the place of, where the message can be rewritten.
    pub(super) fn leave_out_replaced(&self, stands: &[Instruction], shortened: &mut Shortened) {
        if self.entry.signed || !self.entry.opaque.is_empty() {
            return;
        }
        for (part, object) in (0u32..).zip(&self.entry.objects) {
            let text = self.without(part, &|block| {
                let bytes = Some((block.bytes.start, block.bytes.end));
                block.stands
                    && !stands.iter().any(|one| {
                        let place = (one.place.turn, one.place.part, one.place.bytes);
                        place == (self.number, part, bytes)
                    })
            });
            if text.len() < object.content.len() {
                shortened.insert((self.number, part), text.trim().to_owned());
            }
        }
    }

    /// Returns whether it holds results of tools.
    pub(super) fn has_results(&self) -> bool {
        let mut objects = self.entry.objects.iter();
        objects.any(|object| object.object_type == Some(ObjectType::ToolResult))
    }

    /// The message as if its results said nothing: they leave with the calls that they answer, which are judged.
    pub(super) fn without_answers(&self) -> Turn {
        let mut entry = self.entry.clone();
        let results = entry
            .objects
            .iter_mut()
            .filter(|object| object.object_type == Some(ObjectType::ToolResult));
        results.for_each(|object| object.content.clear());
        Turn::of(self.number, self.reply, entry)
    }

    /// Leaves its results out: the calls that they answer have left, and its summary tells of both.
    pub(super) fn leave_out_results(&self, shortened: &mut Shortened) {
        for (part, object) in (0u32..).zip(&self.entry.objects) {
            if object.object_type == Some(ObjectType::ToolResult) {
                shortened.insert((self.number, part), String::new());
            }
        }
    }

    fn forms<'s>(
        &self,
        shortened: &'s Shortened,
    ) -> impl Iterator<Item = (&'s (u64, u32), &'s String)> + use<'s> {
        shortened.range((self.number, 0)..=(self.number, u32::MAX))
    }

    /// Its objects as they stand, made once for the same shorter forms.
    pub(super) fn sealed(&self, shortened: &Shortened) -> Result<Arc<[Arc<ContextObject>]>, Error> {
        let mut sealed = self.sealed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = sealed.as_ref().filter(|known| known.are(self.forms(shortened))) {
            return Ok(Arc::clone(&known.objects));
        }
        let forms: Vec<(u32, String)> =
            self.forms(shortened).map(|((_, part), text)| (*part, text.clone())).collect();
        let mut documents = self.documents(&forms);
        for document in &mut documents {
            document.removable = Some(false);
        }
        let objects: Result<Arc<[_]>, Error> =
            documents.into_iter().map(ObjectDocument::seal).collect();
        let objects = objects?;
        *sealed = Some(Sealed {
            forms,
            objects: Arc::clone(&objects),
            tokens: None,
        });
        Ok(objects)
    }

    /// Its objects with these forms in the place of some; one whose form is empty is left out.
    fn documents(&self, forms: &[(u32, String)]) -> Vec<ObjectDocument> {
        let leaves = |(part, text): &(u32, String)| {
            let object = self.entry.objects.get(*part as usize);
            let is_result =
                object.is_some_and(|object| object.object_type == Some(ObjectType::ToolResult));
            is_result && text.is_empty()
        };
        let only_results_leave = !forms.is_empty() && forms.iter().all(leaves);
        if let Some(kept) = self.entry.without_results().filter(|_| only_results_leave) {
            return kept.objects;
        }
        let mut documents = self.entry.objects.clone();
        for (part, text) in forms {
            if let Some(document) = documents.get_mut(*part as usize) {
                document.content.clone_from(text);
            }
        }
        if !forms.is_empty() {
            // The message is no longer the one that came.
            documents.iter_mut().for_each(|document| document.wire = None);
        }
        let is_left_out = |part: u32| forms.iter().any(|(of, text)| *of == part && text.is_empty());
        (0u32..)
            .zip(documents)
            .filter(|(part, _)| !is_left_out(*part))
            .map(|(_, document)| document)
            .collect()
    }

    /// Its texts for a summary. A call stands with its result.
    pub(super) fn told<'t>(
        &'t self,
        calls: &BTreeMap<&str, &'t ToolCall>,
        pinned: bool,
    ) -> impl Iterator<Item = Statement<'t>> {
        let objects = (0u32..).zip(&self.entry.objects);
        objects.map(move |(part, object)| {
            let speaker = speaker(object);
            let answers = object.tool_call_id.as_deref().filter(|_| speaker == Speaker::Tool);
            Statement {
                turn: self.number,
                speaker,
                text: if pinned {
                    self.said_and_called(part, object)
                } else {
                    self.without(part, &|_| true)
                },
                pinned,
                call: answers.and_then(|id| calls.get(id).copied()),
            }
        })
    }

    /// The texts in it as they stand.
    pub(super) fn stands_as<'t>(
        &'t self,
        shortened: &'t Shortened,
    ) -> impl Iterator<Item = &'t str> {
        (0u32..).zip(&self.entry.objects).map(move |(part, object)| {
            shortened
                .get(&(self.number, part))
                .map_or(object.content.as_str(), String::as_str)
        })
    }

    /// The words in it, by whom, part by part. Calls are left out, and short words that only announce them: their
    /// results say more.
    pub(super) fn words(&self) -> Vec<(u64, Speaker, String)> {
        (0u32..)
            .zip(&self.entry.objects)
            .map(|(part, object)| {
                let mut text = self.without(part, &|_| true);
                if !object.tool_calls.is_empty() && text.len() < ANNOUNCES {
                    text.clear();
                }
                (self.number, speaker(object), text)
            })
            .collect()
    }

    /// Its texts, each with its speaker. Text that a client put into a message of the user is not the user's.
    pub(super) fn spoken(&self) -> Vec<(u64, Speaker, String)> {
        (0u32..)
            .zip(&self.entry.objects)
            .map(|(part, object)| {
                let text = self.said_and_called(part, object);
                (self.number, speaker(object), text)
            })
            .collect()
    }

    fn said_and_called(&self, part: u32, object: &ObjectDocument) -> String {
        let mut text = self.without(part, &|_| true);
        for call in &object.tool_calls {
            text.push_str(&format!("\n{}", called(call)));
        }
        text
    }

    /// The results in it that are too long to stand.
    pub(super) fn too_long(&self, how: &DraftInputs<'_>) -> Vec<u32> {
        let objects = (0u32..).zip(&self.entry.objects);
        // A byte makes at most one token.
        objects
            .filter(|(_, object)| {
                object.object_type == Some(ObjectType::ToolResult)
                    && object.content.len() > how.most as usize
                    && how.world.price(&object.content) > how.most
            })
            .map(|(part, _)| part)
            .collect()
    }

    /// A shorter form of a result, which ends with where its original is.
    pub(super) fn shorter(&self, part: u32, how: &DraftInputs<'_>) -> String {
        let content = match self.entry.objects.get(part as usize) {
            Some(object) => object.content.as_str(),
            None => "",
        };
        let number = self.number;
        let found = how.found_with(number);
        let pointer = |left_out: &str| format!("\n[omitted: {left_out}{found}]");
        let count = |text: &str| how.world.tokenizer().count(text);
        let goal = Goal {
            tokens: how.most.saturating_sub(64),
            task: how.task,
            count: &count,
            lossless_only: false,
        };
        let Condensed {
            text,
            fits,
            from,
            to,
            ..
        } = condense(content, None, &goal);
        if fits {
            let left_out = format!("{} of {from} tokens", from.saturating_sub(to));
            return text.trim_end().to_owned() + &pointer(&left_out);
        }
        // What cannot be made smaller in its own way is cut at the end of a line.
        let mut kept = String::new();
        for line in content.lines() {
            if kept.len() + line.len() > how.most as usize {
                break;
            }
            kept.push_str(line);
            kept.push('\n');
        }
        let left_out = format!(
            "all but the first {} of {} bytes",
            kept.len(),
            content.len()
        );
        let shown = kept.trim_end().to_owned() + &pointer(&left_out);
        shown.trim_start().to_owned()
    }
}
