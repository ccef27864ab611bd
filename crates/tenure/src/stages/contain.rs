//! Stage 8: the bytes as they will stand, and their price. After this stage nothing changes a count.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::digest::Digest;
use crate::error::Error;
use crate::frame::{self, PRECEDENCE, Piece, Seam};
use crate::object::{ObjectType, Role};
use crate::policy::{Order, Policy};
use crate::render::{chat, legal};
use crate::request::{Request, Target};
use crate::section::Section;
use crate::stages::Live;
use crate::stages::normalize::Normalized;
use crate::stages::plan::Planned;
use crate::stages::rank::Ranked;
use crate::stages::rescue::Rescued;
use crate::trace::{Note, Reason, Stage};
use crate::world::World;

/// A piece that the compiler adds.
pub(crate) struct Added {
    pub(crate) name: &'static str,
    pub(crate) section: Section,
    pub(crate) piece: Piece,
}

/// Rescued objects as pieces.
pub(crate) struct Contained<'a> {
    pub(crate) rescued: Rescued<'a>,
    /// The piece of each candidate, for those that got here.
    pub(crate) pieces: Vec<Option<Piece>>,
    /// The pieces that every payload has.
    pub(crate) added: Vec<Added>,
    /// The headings, for policies that have them.
    pub(crate) headings: [Option<Piece>; Section::COUNT],
    /// What ends the messages, where the layout has nothing of the user's behind the history.
    pub(crate) closing: Option<Piece>,
}

impl<'a> Contained<'a> {
    pub(crate) fn ranked(&self) -> &Ranked<'a> {
        &self.rescued.ranked
    }

    pub(crate) fn planned(&self) -> &Planned<'a> {
        &self.ranked().planned
    }

    pub(crate) fn live(&self) -> &Live<'a> {
        &self.planned().resolved.live
    }

    pub(crate) fn set(&self) -> &'a Normalized {
        self.live().set
    }
}

/// What the compiler says as the user where nothing else of the user's ends the messages.
const CLOSING: &str = "Continue with the task.\n";

/// Frames and prices what is left, and omits what is longer than the policy allows.
///
/// # Errors
///
/// When the target takes no object of this kind.
pub(crate) fn contain<'a>(
    mut rescued: Rescued<'a>,
    world: &World,
    policy: &Policy,
    request: &Request,
) -> Result<Contained<'a>, Error> {
    let planned = &mut rescued.ranked.planned;
    let set = planned.resolved.live.set;
    let rows = planned.resolved.live.rows.clone();
    let target = request.target;
    let salt = target as u128;
    let sections: Vec<Section> = rows.iter().map(|row| planned.section(*row)).collect();
    let alone = |row: u32, section: Section| {
        target.is_chat()
            && chat::is_alone(policy, section)
            && !set.object(row).revision().is_message()
    };
    let keys = rows.iter().zip(&sections).map(|(row, section)| {
        let object = set.object(*row);
        let revision = match &object.overrides().name {
            None => object.revision().id().key(),
            // The name may stand in the bytes.
            Some(name) => {
                let id = object.revision().id();
                Digest::of_parts([id.bytes().as_slice(), name.as_bytes()]).key()
            }
        };
        let alone = u128::from(alone(*row, *section)) << 4;
        revision ^ ((section.index() as u128) << 8 | alone | salt | 0x100_0000)
    });
    let framed = world.pieces(keys, |at| {
        let piece = frame::frame(world, set.object(rows[at]), sections[at], target);
        if alone(rows[at], sections[at]) {
            frame::alone(world, piece)
        } else {
            piece
        }
    });
    let mut pieces: Vec<Option<Piece>> = vec![None; set.rows.len()];
    for (row, piece) in rows.iter().zip(framed) {
        pieces[*row as usize] = Some(piece);
    }
    let live = &mut planned.resolved.live;
    let entered = live.rows.len();
    live.judge(Stage::Contain, |row| {
        let tokens = pieces[row as usize]
            .as_ref()
            .map_or(0, |piece| piece.tokens);
        let limit = policy.limit(set.row(row).authority);
        (tokens > limit).then_some(Reason::OverLimit { limit })
    });
    if rescued.ranked.planned.resolved.live.rows.len() < entered {
        break_closures(&mut rescued);
    }
    let live = &mut rescued.ranked.planned.resolved.live;
    for &row in &live.rows {
        if let Some(piece) = &pieces[row as usize]
            && (piece.escaped > 0 || piece.disguised || piece.seam != Seam::Whole)
        {
            live.notes.extend(notes(set.name(row), piece));
        }
    }
    let added = added(world, policy, request);
    for Added { name, piece, .. } in &added {
        live.notes.extend(notes((*name).into(), piece));
    }
    let mut contained = Contained {
        rescued,
        pieces,
        added,
        headings: headings(world, policy, target),
        closing: None,
    };
    if target.is_chat() {
        as_messages(&mut contained, world, policy, target)?;
    }
    Ok(contained)
}

/// Refuses what the provider would, and adds what its messages must begin and end with. All of it
/// follows from what may stand, not from what fits.
fn as_messages(
    contained: &mut Contained<'_>,
    world: &World,
    policy: &Policy,
    target: Target,
) -> Result<(), Error> {
    let planned = contained.planned();
    let set = contained.set();
    let rows = || contained.live().rows.iter().copied();
    let history = || rows().filter(|row| planned.section(*row) == Section::History);
    let is_turn = |row: &u32| set.object(*row).revision().is_message();
    let tools = rows().filter(|row| set.row(*row).object_type == ObjectType::ToolSchema);
    let obligations = &contained.ranked().obligations;
    let objects = tools.chain(history().filter(is_turn));
    legal::check_objects(
        target,
        objects.map(|row| (set.object(row), obligations[row as usize].is_some())),
    )?;
    // What follows a turn of the user stands only with it.
    let unled = history().take_while(|row| !set.is_user_turn(*row));
    let mut unled = unled.map(|row| chat::speaker(set.object(row).revision()));
    let opens = chat::needs_opening(policy, target, unled.any(|by| by == Some(Role::Assistant)));
    let has_turns = history().any(|row| is_turn(&row));
    let added = contained.added.iter().map(|added| added.section);
    let closes = chat::needs_closing(policy, target, added, has_turns);
    let says = |text| frame::alone(world, Piece::added(world, text));
    if opens {
        contained.headings[Section::History.index()] = Some(says(Section::History.heading()));
    }
    if closes {
        contained.closing = Some(says(CLOSING));
    }
    Ok(())
}

/// What needs an omitted object is omitted with it.
fn break_closures(rescued: &mut Rescued<'_>) {
    let live = &mut rescued.ranked.planned.resolved.live;
    let links = &rescued.links;
    let set = live.set;
    let gone = |row: &u32| live.verdicts[*row as usize].is_some();
    let missing = |row: &u32| Some((*row, links.of(*row).find(gone)?));
    let broken: BTreeMap<u32, u32> = live.rows.iter().filter_map(missing).collect();
    live.judge_further(|row| {
        let name = set.name(*broken.get(&row)?);
        Some(Reason::ClosureMissing { name })
    });
}

fn notes(name: Arc<str>, piece: &Piece) -> Vec<Note> {
    let mut notes = Vec::new();
    if piece.escaped > 0 {
        notes.push(Note::ImitationEscaped {
            name: Arc::clone(&name),
            times: u32::from(piece.escaped),
        });
    }
    if piece.disguised {
        notes.push(Note::DisguisedImitation {
            name: Arc::clone(&name),
        });
    }
    match piece.seam {
        Seam::Whole => {}
        Seam::Trimmed => notes.push(Note::SeamTrimmed { name }),
        Seam::Labelled => notes.push(Note::SeamLabelled { name }),
    }
    notes
}

/// The precedence, the task's state and the query.
fn added(world: &World, policy: &Policy, request: &Request) -> Vec<Added> {
    let cached = |name: &'static str, section: Section, text: &[u8], make: &dyn Fn() -> Piece| {
        let key = Digest::of_parts([name.as_bytes(), text]).key();
        let piece = world
            .pieces(std::iter::once(key), |_| make())
            .into_iter()
            .next();
        piece.map(|piece| Added {
            name,
            section,
            piece,
        })
    };
    let precedence = policy
        .document()
        .precedence
        .then(|| {
            cached("@precedence", Section::Identity, &[], &|| {
                Piece::added(world, PRECEDENCE)
            })
        })
        .flatten();
    let state = serde_json::to_vec(&request.task).unwrap_or_default();
    let task = cached("@task", Section::Task, &state, &|| {
        frame::task_state(world, &request.task).0
    });
    let has_data = !request.task.results.is_empty() || !request.task.errors.is_empty();
    let data = has_data.then(|| {
        cached("@task-data", Section::Task, &state, &|| {
            let (state, data) = frame::task_state(world, &request.task);
            data.unwrap_or(state)
        })
    });
    let query = request.query.as_deref().and_then(|query| {
        cached("@query", Section::Query, query.as_bytes(), &|| {
            frame::query(world, query)
        })
    });
    precedence
        .into_iter()
        .chain(task)
        .chain(data.flatten())
        .chain(query)
        .collect()
}

/// The sections' headings: one flow in registry order has none, and neither have tools and turns in
/// a provider's body.
fn headings(world: &World, policy: &Policy, target: Target) -> [Option<Piece>; Section::COUNT] {
    let mut table = [const { None }; Section::COUNT];
    let document = policy.document();
    if !document.headings || document.order == Order::Registry {
        return table;
    }
    let key = |section: &Section| (u128::MAX << 64) | section.index() as u128;
    let pieces = world.pieces(Section::ALL.iter().map(key), |at| {
        Piece::added(world, Section::ALL[at].heading())
    });
    for (section, piece) in Section::ALL.iter().zip(pieces) {
        let own_channel = target.is_chat() && matches!(section, Section::Tools | Section::History);
        table[section.index()] = (!own_channel).then_some(piece);
    }
    table
}
