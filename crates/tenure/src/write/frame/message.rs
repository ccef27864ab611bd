//! Turns and results of tools as messages of their own: passed on as they came, written out, or said by a template.

use std::sync::Arc;

use super::{alone, data, turn, without_marks};
use crate::object::Wire;
use crate::object::section::Section;
use crate::object::{Authority, ContextObject, ObjectType, Revision, Role};
use crate::provider::target::Target;
use crate::provider::template::{ChatTemplate, Marks};
use crate::provider::wire::{self, Outgoing, Packed};
use crate::write::imitation::{self, Signs};
use crate::write::piece::{Mechanism, Piece};
use crate::write::render;
use crate::write::world::World;

/// A turn or a tool's result as a message that the template can say: what it has no words for is text, and
/// what a tool returned is data in a frame then.
pub(super) fn told(
    world: &World,
    object: &ContextObject,
    section: Section,
    template: &ChatTemplate,
) -> Piece {
    let revision = object.revision();
    let manners = template.manners();
    let is_result = revision.object_type() == ObjectType::ToolResult;
    let calls = !revision.tool_calls().is_empty();
    let is_blank = revision.content().trim().is_empty();
    let is_late = revision.speaker() == Some(Role::System) && !manners.late_system;
    let text = match (is_result, calls || is_late && !is_blank) {
        (true, _) if !manners.calls => Some(data(world, object, section, None)),
        (false, true) if is_late || !manners.calls => Some(turn(world, revision, None)),
        _ => None,
    };
    let authority = revision.authority_level();
    if let Some(piece) = text {
        let piece = without_marks(
            world,
            piece,
            revision.content(),
            authority,
            Target::ChatTemplate,
        );
        return alone(world, looked_at(piece, revision));
    }
    let said = revision.spoken();
    let (text, escaped) = template.marks().escape(said.unwrap_or_default());
    let mut tokens = world.price(&text).saturating_add(world.model().chat.per_message + 1);
    if calls {
        let turn = render::plain::turns(revision, said, template);
        let cost = template.calls_cost(turn, &|text| world.price(text));
        tokens = cost.unwrap_or_else(|| tokens.saturating_add(calls_at_most(world, revision)));
    }
    let mechanism = if is_result {
        Mechanism::ToolMessage
    } else {
        Mechanism::Instruction
    };
    let text = (escaped > 0).then(|| text.as_ref().into());
    let piece = Piece {
        escaped,
        ..Piece::made(tokens, mechanism, text)
    };
    looked_at(piece, revision)
}

/// The piece of a message, with what its words imitate: they stand as they came.
pub(super) fn looked_at(piece: Piece, revision: &Revision) -> Piece {
    if revision.authority_level() < Authority::User || piece.mechanism == Mechanism::KeyedFrame {
        return piece;
    }
    let (passed, disguised) = imitation::count(revision.content(), Signs::Headings);
    Piece {
        passed: piece.passed.saturating_add(passed),
        disguised: piece.disguised || disguised,
        ..piece
    }
}

/// Returns a bound on the cost of calls that no template could be asked about.
fn calls_at_most(world: &World, revision: &Revision) -> u32 {
    let calls = revision.tool_calls().iter().map(|call| {
        let text = world.price(&call.name).saturating_add(world.price(&call.arguments_text()));
        text.saturating_add(world.model().chat.per_call)
    });
    calls.fold(0, u32::saturating_add)
}

/// A turn or a tool's result as a message of its own: its content passes through untouched and is
/// counted whole. Where messages have no system role, a turn of the system is labelled.
pub(super) fn message(world: &World, revision: &Revision, target: Target) -> Piece {
    let blocks = target.has_blocks();
    let is_blank = revision.content().trim().is_empty();
    if blocks && revision.speaker() == Some(Role::System) && !is_blank {
        let labelled = alone(world, turn(world, revision, None));
        let labelled = as_it_came(world, labelled, revision, target);
        let labelled = looked_at(labelled, revision);
        let rules = world.model().messages.unwrap_or_default();
        // Where it may stand as the system's own, it has no label: which that is, only the order says.
        let may_stand =
            target == Target::AnthropicMessages && rules.mid_conversation_system == Some(true);
        return Piece {
            bounded: labelled.bounded || may_stand,
            ..labelled
        };
    }
    let chat = world.model().chat;
    let mut tokens = chat.per_message.saturating_add(1);
    if let Some(spoken) = revision.spoken() {
        tokens = tokens.saturating_add(world.price(spoken));
    }
    for call in revision.tool_calls() {
        let arguments = if blocks {
            wire::block::arguments(call)
        } else {
            call.arguments_text()
        };
        let text = world.price(&call.name).saturating_add(world.price(&arguments));
        tokens = tokens.saturating_add(text).saturating_add(chat.per_call);
    }
    let mechanism = match revision.object_type() {
        ObjectType::ToolResult => Mechanism::ToolMessage,
        _ => Mechanism::Instruction,
    };
    let piece = Piece::made(tokens, mechanism, None);
    let piece = as_it_came(world, piece, revision, target);
    let piece = looked_at(piece, revision);
    match world.marks(target) {
        Some(marks) => with_marks(world, piece, revision, marks),
        None => piece,
    }
}

/// The piece of a message for a reader that has these control tokens. What a tool returned and Tenure writes out loses
/// them; all else stands as it came, and its count is an upper one.
fn with_marks(world: &World, piece: Piece, revision: &Revision, marks: &Marks) -> Piece {
    let content = revision.content();
    let in_calls = revision
        .tool_calls()
        .iter()
        .map(|call| marks.count(&call.name).saturating_add(marks.count(&call.arguments_text())))
        .fold(0, u16::saturating_add);
    if revision.object_type() != ObjectType::ToolResult {
        let passed = marks.count(content).saturating_add(in_calls);
        return Piece {
            passed: piece.passed.saturating_add(passed),
            bounded: piece.bounded || passed > 0 && world.overcounts(),
            ..piece
        };
    }
    let (text, times) = marks.escape(content);
    if times == 0 {
        return piece;
    }
    let (own, came) = (world.price(&text), world.price(content));
    let stays = piece.raw.is_some();
    // Where its message cannot go back whole, its own text stands.
    let more = if stays { own.saturating_sub(came) } else { 0 };
    let tokens = if stays {
        piece.tokens.saturating_add(more)
    } else {
        piece.tokens.saturating_sub(came).saturating_add(own)
    };
    Piece {
        tokens,
        escaped: if stays { 0 } else { times },
        passed: piece.passed.saturating_add(if stays { times } else { 0 }),
        bounded: piece.bounded || stays,
        text: Some(text.as_ref().into()),
        ..piece
    }
}

/// The piece with the message that goes back to this target as it came, and with what that costs besides.
fn as_it_came(world: &World, piece: Piece, revision: &Revision, target: Target) -> Piece {
    let raw = raw(revision, target);
    let (more, bounded) = raw.as_ref().map_or((0, false), |raw| unread(world, raw));
    Piece {
        tokens: piece.tokens.saturating_add(more),
        raw: raw.map(Arc::new),
        bounded,
        ..piece
    }
}

/// The message that goes back to this target as it came, if it came from there.
fn raw(revision: &Revision, target: Target) -> Option<Outgoing> {
    revision
        .wire()
        .filter(|wire| target.format() == Some(wire.format))
        .and_then(wire::outgoing)
}

impl World {
    /// Returns at most what pictures, documents, sound and what is sealed cost.
    pub fn price_packed(&self, packed: &Packed) -> u32 {
        packed.tokens(self.model().image)
    }

    /// Returns at most what the message of a wire object costs besides the texts and calls of its parts. What a compile
    /// counts is this, too.
    pub fn price_besides(&self, wire: &Wire) -> u32 {
        let Some((text, packed)) = wire::besides(wire) else {
            return 0;
        };
        self.price_unread(&text).saturating_add(self.price_packed(&packed))
    }

    /// Returns at most what a JSON costs, of which a part may be packed.
    pub(crate) fn price_json(&self, json: &str) -> u32 {
        let mut packed = Packed::default();
        let text = packed.readable(json);
        self.price(text.as_deref().unwrap_or(json))
            .saturating_add(self.price_packed(&packed))
    }

    fn price_unread(&self, json: &str) -> u32 {
        if json.is_empty() { 0 } else { self.price(json) }
    }
}

/// At most what a message costs besides the texts and calls of its parts, and whether that is
/// anything.
fn unread(world: &World, raw: &Outgoing) -> (u32, bool) {
    let more = world
        .price_unread(&raw.unread)
        .saturating_add(world.price_packed(&raw.packed))
        .saturating_add(raw.joints);
    (more, more > 0)
}
