//! Stage 8: the bytes as they will stand, and their price. After this stage nothing changes a count.

use std::collections::BTreeMap;

use crate::base::error::Error;
use crate::compile::links::Links;
use crate::compile::pieces::{self, ARCHIVE, ARCHIVE_PIECE, Added, Climbs, Marks, Pricing};
use crate::compile::stages::Live;
use crate::compile::stages::plan::EpochPlan;
use crate::compile::stages::rank::Ranking;
use crate::compile::stages::rescue::Rescued;
use crate::compile::trace::{Attachment, Note, Reason, Stage};
use crate::input::facts::Facts;
use crate::input::policy::{Overflow, Policy, Strategy};
use crate::input::request::Request;
use crate::input::served::Form;
use crate::object::section::Section;
use crate::object::{ObjectType, Role, TaskType};
use crate::write::piece::{Piece, Seam};
use crate::write::render::{chat, legal};
use crate::write::world::World;

/// Rescued objects as pieces.
#[derive(Clone)]
pub(crate) struct Contained<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) epoch: EpochPlan<'a>,
    pub(crate) ranking: Ranking,
    /// As in [`Rescued`].
    pub(crate) links: Links<'a>,
    /// As in [`Rescued`].
    pub(crate) attached: BTreeMap<u32, Attachment>,
    pub(crate) pieces: Pieces,
    /// The shorter forms of each candidate, the shortest first; empty where none has any.
    pub(crate) forms: Vec<Vec<(Form, Piece)>>,
    /// The tokens of each section that were sent in the tails of this epoch, each object in full.
    pub(crate) stands: [u32; Section::COUNT],
    /// True of the sections that keep under the policy's share of the window.
    pub(crate) shares_window: [bool; Section::COUNT],
}

impl Contained<'_> {
    /// Takes back the offer of the tool that reaches what is left to retrieval.
    pub(crate) fn withdraw_archive(&mut self) {
        self.epoch.offers_archive = false;
        self.epoch.archive_may_go = false;
        self.epoch.report.tools.retain(|name| &**name != ARCHIVE);
        self.pieces.added.retain(|added| added.name != ARCHIVE_PIECE);
    }
}

/// The pieces of a payload, by what they are of.
#[derive(Clone)]
pub(crate) struct Pieces {
    /// The piece of each candidate, for those that were priced.
    pub(crate) rows: Vec<Option<Piece>>,
    /// The ways up of the observations that were priced.
    pub(crate) climbs: Climbs,
    /// The rows whose piece is not that of their full form, with the form that it is of.
    pub(crate) shown: BTreeMap<u32, Shown>,
    /// The pieces that every payload has.
    pub(crate) added: Vec<Added>,
    /// The headings, for policies that have them.
    pub(crate) headings: [Option<Piece>; Section::COUNT],
    /// The marks of authorities within sections, for policies that have them.
    pub(crate) marks: Marks,
    /// The piece that ends the messages, where the layout has no words of the user behind the history.
    pub(crate) closing: Option<Piece>,
}

impl Pieces {
    /// The piece of a candidate; none where it was not priced.
    pub(crate) fn row(&self, row: u32) -> Option<&Piece> {
        self.rows[row as usize].as_ref()
    }

    /// The tokens of a candidate as it would stand; 0 where it was not priced.
    pub(crate) fn tokens(&self, row: u32) -> u32 {
        self.row(row).map_or(0, |piece| piece.tokens)
    }
}

/// A shorter form that stands in the place of the full one.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    pub(crate) form: Form,
    /// The tokens that the full form would cost.
    pub(crate) full: u32,
}

/// Frames and prices what is left, and omits what is longer than the policy allows.
///
/// # Errors
///
/// When the target takes no object of this kind.
pub(crate) fn contain<'a>(
    rescued: Rescued<'a>,
    world: &World,
    policy: &Policy,
    request: &Request,
    facts: &Facts,
) -> Result<Contained<'a>, Error> {
    let Rescued {
        mut live,
        epoch,
        ranking,
        links,
        attached,
    } = rescued;
    let set = live.set;
    let pricing = Pricing {
        world,
        policy,
        target: request.target,
        task_type: request.task.task_type,
    };
    let placed: Vec<(u32, Section)> =
        live.rows.iter().map(|row| (*row, epoch.section(*row))).collect();
    let undecided = &live.meanings.undecided;
    let climbs = pricing.climbs(set, &placed, undecided);
    let framed = pricing.converted(set, &placed, &climbs);
    let mut stands = [0u32; Section::COUNT];
    let sent = &epoch.sent;
    for ((_, section), piece) in sent.iter().zip(pricing.of_rows(set, sent, undecided)) {
        let stands = &mut stands[section.index()];
        *stands = stands.saturating_add(piece.tokens);
    }
    let mut pieces: Vec<Option<Piece>> = vec![None; set.rows.len()];
    let mut forms = Vec::new();
    let limit = |row: u32| policy.limit(set.row(row).authority);
    let too_long = |(piece, (row, _)): (&Piece, &(u32, Section))| piece.tokens > limit(*row);
    let too_long = framed.iter().zip(&placed).any(too_long);
    let archive = if epoch.offers_archive {
        pricing.archive()?.piece.tokens
    } else {
        0
    };
    let marks = pricing.most_marks(set, placed.iter().copied());
    let beside = (stands, archive, marks);
    let shares_window = shares_window(&epoch, request);
    let most = |section: Section| {
        let max = policy.section(section).max;
        let max = if max > 0 { max } else { u32::MAX };
        if shares_window[section.index()] {
            max.min(epoch.share)
        } else {
            max
        }
    };
    if may_be_cut(&placed, &framed, beside, pricing, request, too_long, most)? {
        forms = pricing.shorter_forms(set, &placed, &framed);
        let query = request.query_text();
        let missing = pricing.condensed_forms(set, &placed, &framed, &query, facts, &mut forms);
        live.notes.extend(missing);
    }
    let mut shown = BTreeMap::new();
    for ((row, _), piece) in placed.into_iter().zip(framed) {
        // What is longer than one item may be has its longest form that is not.
        let forms = forms.get_mut(row as usize).filter(|_| piece.tokens > limit(row));
        let within = forms.and_then(|forms| {
            let at = forms.iter().rposition(|(_, piece)| piece.tokens <= limit(row))?;
            forms.truncate(at + 1);
            forms.pop()
        });
        let piece = match within {
            None => piece,
            Some((form, shorter)) => {
                let full = piece.tokens;
                shown.insert(row, Shown { form, full });
                shorter
            }
        };
        pieces[row as usize] = Some(piece);
    }
    // What was sent in a shorter form stays so.
    for &row in epoch.frozen.keys() {
        let Some(form) = epoch.frozen_form(row) else {
            continue;
        };
        let mut shorter = forms.get_mut(row as usize).map(std::mem::take).into_iter().flatten();
        if let Some((_, short)) = shorter.find(|(known, _)| *known == form)
            && let Some(full) = pieces[row as usize].replace(short)
        {
            let full = full.tokens;
            shown.insert(row, Shown { form, full });
        }
    }
    let entered = live.rows.len();
    live.judge(Stage::Contain, |row| {
        let tokens = pieces[row as usize].as_ref().map_or(0, |piece| piece.tokens);
        let limit = limit(row);
        (tokens > limit).then_some(Reason::OverLimit { limit })
    });
    if live.rows.len() < entered {
        break_closures(&mut live, &links);
    }
    for &row in &live.rows {
        if let Some(piece) = &pieces[row as usize]
            && (piece.escaped > 0
                || piece.passed > 0
                || piece.disguised
                || piece.seam != Seam::Whole)
        {
            live.notes.extend(pieces::notes(set.name(row), piece));
        }
    }
    let faults = faults(&live, policy, pricing.task_type, &climbs);
    live.notes.extend(faults);
    let said = epoch.said_task(request);
    let mut added = pricing.added(request, said);
    if epoch.offers_archive {
        added.push(pricing.archive()?);
    }
    if epoch.has_task(request) {
        added.retain(|added| !matches!(added.section, Section::Task | Section::Query));
    }
    for Added { name, piece, .. } in &added {
        live.notes.extend(pieces::notes((*name).into(), piece));
    }
    let mut contained = Contained {
        live,
        epoch,
        ranking,
        links,
        attached,
        pieces: Pieces {
            rows: pieces,
            climbs,
            shown,
            added,
            headings: pricing.headings(),
            marks: pricing.marks(),
            closing: None,
        },
        forms,
        stands,
        shares_window,
    };
    if request.target.is_chat() {
        as_messages(&mut contained, pricing)?;
    }
    Ok(contained)
}

/// The templates that failed, by what each was of.
fn faults(
    live: &Live<'_>,
    policy: &Policy,
    task_type: Option<TaskType>,
    climbs: &Climbs,
) -> Vec<Note> {
    let templates = &policy.document().guidance.templates;
    let Some(task_type) = task_type.filter(|of| templates.contains_key(of)) else {
        return Vec::new();
    };
    live.rows
        .iter()
        .filter_map(|row| {
            Some(Note::TemplateFailed {
                name: live.set.name(*row),
                task_type,
                why: climbs.get(row)?.fault.clone()?,
            })
        })
        .collect()
}

/// Returns the sections that keep under the policy's share of the window: documents of which the rest is left to
/// retrieval, and what a retrieval plan brings.
fn shares_window(epoch: &EpochPlan<'_>, request: &Request) -> [bool; Section::COUNT] {
    let mut shares = [false; Section::COUNT];
    shares[Section::Codex.index()] = epoch.strategy == Strategy::Documents;
    let plan = request.retrieval.as_ref();
    shares[Section::Evidence.index()] =
        plan.is_some_and(|plan| plan.sections.contains(&Section::Evidence));
    shares
}

/// Returns whether shorter forms may be wanted: something was sent in one, or is longer than one item may be, or
/// everything together is more than the budget, a section's maximum, or what is worth its cost.
fn may_be_cut(
    placed: &[(u32, Section)],
    pieces: &[Piece],
    (stands, archive, marks): ([u32; Section::COUNT], u32, u64),
    pricing: Pricing<'_>,
    request: &Request,
    too_long: bool,
    most: impl Fn(Section) -> u32,
) -> Result<bool, Error> {
    let Pricing { world, policy, .. } = pricing;
    if request.served.as_ref().is_some_and(|ledger| !ledger.forms.is_empty()) {
        return Ok(true);
    }
    if policy.overflow(request.task.class()) != Overflow::CascadeCompress {
        return Ok(false);
    }
    if too_long {
        return Ok(true);
    }
    let (budget, _) = request.budget.resolve(world.model(), request.target)?;
    let mut sums = [0u64; Section::COUNT];
    for ((_, section), piece) in placed.iter().zip(pieces) {
        sums[section.index()] += u64::from(piece.tokens);
    }
    let around = pricing.most_around(request) + pricing.around_tools() + u64::from(archive) + marks;
    Ok(sums.iter().sum::<u64>() + around > u64::from(budget)
        || policy.document().cost_sensitivity > 0.0
        || Section::ALL.iter().any(|section| {
            let (max, at) = (most(*section), section.index());
            max < u32::MAX && sums[at] + u64::from(stands[at]) + around > u64::from(max)
        }))
}

/// Refuses what the provider would, and adds what its messages must begin and end with. All of it
/// follows from what may stand, not from what fits.
fn as_messages(contained: &mut Contained<'_>, pricing: Pricing<'_>) -> Result<(), Error> {
    let Pricing { policy, target, .. } = pricing;
    let set = contained.live.set;
    let rows = || contained.live.rows.iter().copied();
    let history = || rows().filter(|row| contained.epoch.section(*row) == Section::History);
    let is_turn = |row: &u32| set.object(*row).revision().is_message();
    let tools = rows().filter(|row| set.row(*row).object_type == ObjectType::ToolSchema);
    let obligations = &contained.ranking.obligations;
    let objects = tools.chain(history().filter(is_turn));
    legal::check_objects(
        target,
        objects.map(|row| {
            let raw = contained.pieces.row(row).and_then(|piece| piece.raw.as_deref());
            legal::Stands {
                object: set.object(row),
                must: obligations[row as usize].is_some(),
                is_fixed: raw.is_some_and(|raw| !raw.is_plain()),
            }
        }),
    )?;
    // What follows a turn of the user stands only with it.
    let mut unled = history()
        .take_while(|row| !set.is_user_turn(*row))
        .map(|row| set.object(row).revision().speaker());
    let opens = chat::needs_opening(policy, target, unled.any(|by| by == Some(Role::Assistant)));
    let has_turns = history().any(|row| is_turn(&row));
    let added = contained.pieces.added.iter().map(|added| added.section);
    // Where the user, or what a tool returned, is sure to have the last word, nothing need be said.
    let last = history().next_back();
    let answered = last.is_some_and(|row| {
        let is_users = set.is_user_turn(row) || set.row(row).object_type == ObjectType::ToolResult;
        is_users && obligations[row as usize].is_some()
    });
    let closes = !answered && chat::needs_closing(policy, target, added, has_turns);
    if opens {
        contained.pieces.headings[Section::History.index()] = Some(pricing.opening());
    }
    if closes {
        contained.pieces.closing = Some(pricing.closing());
    }
    Ok(())
}

/// Omits the rows that need an omitted one.
fn break_closures(live: &mut Live<'_>, links: &Links<'_>) {
    let set = live.set;
    let gone = |row: &u32| live.verdicts[*row as usize].is_some();
    let broken: BTreeMap<u32, u32> = live
        .rows
        .iter()
        .filter_map(|row| Some((*row, links.of(*row).find(gone)?)))
        .collect();
    live.judge_further(|row| {
        let name = set.name(*broken.get(&row)?);
        Some(Reason::ClosureMissing { name })
    });
}
