//! Stage 5: which epoch is this, and what does it freeze? What was sent stays as it is until an
//! epoch ends; what is new meanwhile joins the tail. Does the corpus stand whole, or is it left to
//! retrieval? And what must be there?

mod context;
mod late;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::base::time::Instant;
use crate::compile::ladder::is_observation;
use crate::compile::rules::is_critical;
use crate::compile::stages::Live;
use crate::compile::stages::settle::Settled;
use crate::compile::trace::{Obligation, PlanReport, Reason, Stage};
use crate::input::candidates::Normalized;
use crate::input::policy::{Policy, Strategy};
use crate::input::request::Request;
use crate::input::served::{EpochCause, Form, ServedLedger};
use crate::input::task::TaskState;
use crate::object::section::Section;
use crate::object::{ObjectType, RevisionId};
use crate::write::world::World;

pub(crate) use late::Late;

use late::Channels;

/// No row.
const NO_ROW: u32 = u32::MAX;

/// The reason for which a row stands in `recall` instead of its own section.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Moved {
    #[default]
    No,
    /// It is new, or the task is another than that for which the floor was chosen.
    Anew,
    /// It was left out of the floor for this very task.
    LeftOver,
}

/// Settled objects, what the epoch decides about them, and which of them must stand.
pub(crate) struct Planned<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) related: BTreeSet<u32>,
    pub(crate) epoch: EpochPlan<'a>,
    /// The reason why each row must be in the payload, for those that must. A corpus that stands whole is added by
    /// the ranking, after the gate.
    pub(crate) obligations: Vec<Option<Obligation>>,
}

/// The plan's decisions, which hold to the end of the path.
#[derive(Clone)]
pub(crate) struct EpochPlan<'a> {
    set: &'a Normalized,
    pub(crate) report: PlanReport,
    /// Each frozen row's place in the floor.
    pub(crate) frozen: BTreeMap<u32, u32>,
    /// The places in the floor whose objects stand in a shorter form.
    short: BTreeMap<u32, Form>,
    /// The rows that stand in `recall` instead of their own section; empty where none does.
    moved: Vec<Moved>,
    /// The rows behind all that was sent, by the provider's own channels.
    pub(crate) late: Late,
    /// The rows that were sent in a tail of this epoch, each with the section that its cost counts against.
    pub(crate) sent: Vec<(u32, Section)>,
    /// The digest of what the floor's bytes depend on besides its objects.
    pub(crate) settings: Digest,
    /// The model's way to the corpus.
    pub(crate) strategy: Strategy,
    /// True if the compiler offers the tool that reaches what is left to retrieval.
    pub(crate) offers_archive: bool,
    /// True if it need not be offered where nothing is missing: no epoch holds it.
    pub(crate) archive_may_go: bool,
    /// The number of documents in the corpus.
    pub(crate) corpus: u32,
    /// The most tokens that documents and retrieved passages may have, each together: the policy's share of the window.
    pub(crate) share: u32,
}

impl EpochPlan<'_> {
    /// The shorter form in which a frozen row was sent.
    pub(crate) fn frozen_form(&self, row: u32) -> Option<Form> {
        let place = self.frozen.get(&row)?;
        self.short.get(place).copied()
    }

    /// Returns whether the model has this task and query before it without their being said again.
    pub(crate) fn has_task(&self, request: &Request) -> bool {
        let served = request.served.as_ref().and_then(|ledger| ledger.task);
        let kept = self.report.cause == EpochCause::Kept;
        request.task_said || (kept && served == Some(request.asked()))
    }

    /// The state of the task that the model has before it, where it has another than this one.
    pub(crate) fn said_task<'r>(&self, request: &'r Request) -> Option<&'r TaskState> {
        let served = request.served.as_ref()?;
        let kept = self.report.cause == EpochCause::Kept;
        served.state.as_deref().filter(|_| kept)
    }

    /// Returns whether rules stand before what informs, by their priority: where the policy says how much of the budget is theirs.
    pub(crate) fn ranks_rules(&self) -> bool {
        self.report.rules.is_some()
    }

    /// Returns whether a row is a rule that stands whatever the task is about.
    pub(crate) fn holds_for_any_task(&self, row: u32, policy: &Policy) -> bool {
        self.report.rules.is_some_and(|rules| {
            if rules.near_alone {
                is_critical(self.set, row, policy)
            } else {
                self.set.is_rule(row)
            }
        })
    }

    /// The section that a row stands in.
    pub(crate) fn section(&self, row: u32) -> Section {
        match self.moved.get(row as usize) {
            Some(Moved::Anew | Moved::LeftOver) => Section::Recall,
            _ => self.set.row(row).section,
        }
    }

    /// Returns whether a row was left out when the floor was chosen for this very task: it may have what nobody else
    /// wants, and claims nothing.
    pub(crate) fn is_left_over(&self, row: u32) -> bool {
        self.moved.get(row as usize) == Some(&Moved::LeftOver)
    }
}

/// Keeps the epoch while everything served is still there and nothing new must join the floor.
pub(crate) fn plan<'a>(
    settled: Settled<'a>,
    world: &World,
    policy: &Policy,
    request: &Request,
) -> Result<Planned<'a>, Error> {
    let Settled {
        mut live, related, ..
    } = settled;
    let set = live.set;
    let (policy_digest, world_digest) = (policy.digest(), world.digest());
    let settings = [
        policy_digest.bytes().as_slice(),
        world_digest.bytes(),
        request.target.term().as_bytes(),
    ];
    let mode = request.context.map(|mode| mode.term().as_bytes());
    // Without the beta's header, what went by it is refused.
    let late_tools = request.late_tools.then_some(b"late_tools".as_slice());
    // What follows from a fact in one type of task does not follow in another.
    let guidance = &policy.document().guidance;
    let guided = guidance.ladder && !guidance.templates.is_empty();
    let task_type = request
        .task
        .task_type
        .filter(|_| guided)
        .map(|task_type| task_type.term().as_bytes());
    let settings = settings.into_iter().chain(mode).chain(late_tools);
    // Nor does anything follow from one about an entity that a person has yet to decide.
    let mut undecided: Vec<[u8; 16]> = live
        .meanings
        .undecided
        .iter()
        .copied()
        .filter(|row| {
            let found = set.row(*row);
            policy.freezes(found.section) && is_observation(found.object_type, found.authority)
        })
        .map(|row| set.row(row).revision.key().to_le_bytes())
        .collect();
    undecided.sort_unstable();
    let undecided = undecided.iter().map(<[u8; 16]>::as_slice);
    let settings = Digest::of_parts(settings.chain(task_type).chain(undecided));
    let mut channels = Channels::of(world, policy, request);
    let mut frozen = BTreeMap::new();
    let mut moved = Vec::new();
    let (epoch, cause) = match &request.served {
        None => (0, EpochCause::First),
        Some(ledger) => match keep(ledger, &live, policy, request, settings, channels.clone()) {
            Ok(kept) => {
                (frozen, channels) = kept;
                (ledger.epoch, EpochCause::Kept)
            }
            Err(cause) => (ledger.epoch.saturating_add(1), cause),
        },
    };
    let mut holds = vec![false; set.rows.len()];
    frozen.keys().for_each(|row| holds[*row as usize] = true);
    let is_fresh = |row: u32| cause == EpochCause::Kept && !holds[row as usize];
    let kept = request.served.as_ref().filter(|_| cause == EpochCause::Kept);
    let mut late = Late::default();
    let mut sent = Vec::new();
    match kept {
        None => live.pass(Stage::Plan),
        Some(ledger) => {
            // All of them are there, or the epoch would have ended.
            let said = Wanted::of(&ledger.said);
            let chosen = ledger.chosen_for == Some(request.asked());
            let tail_section = |row: u32| match set.row(row).section {
                section if policy.freezes(section) => Section::Recall,
                section => section,
            };
            // What must stand is no choice, as its obligations say.
            let is_choice = |row: u32| {
                let found = set.row(row);
                found.optional || (!found.section.tier().is_fixed() && found.removable)
            };
            // What belongs to this conversation alone was not there to be chosen before.
            let waits_for_choice = |row: u32| {
                is_choice(row)
                    && set.scopes[set.row(row).scope as usize].session.is_none()
                    && !is_just_accepted(set, row, ledger)
            };
            // Of what is there twice one was sent.
            let mut counted = BTreeSet::new();
            live.judge(Stage::Plan, |row| {
                if !is_fresh(row) {
                    return None;
                }
                let section = set.row(row).section;
                let key = set.row(row).revision.key();
                if !said.find(key).is_empty() {
                    if set.row(row).is_tool() {
                        late.sent_tools.push(set.name(row));
                    } else if is_choice(row) && counted.insert(key) {
                        sent.push((row, tail_section(row)));
                    }
                    return Some(Reason::AlreadySent);
                }
                if policy.freezes(section) && channels.take(set, row) {
                    late.rows.insert(row);
                    return None;
                }
                let waits = section == Section::Tools && policy.freezes(section);
                if waits {
                    return Some(Reason::NextEpoch);
                }
                let is_tail = matches!(tail_section(row), Section::Evidence | Section::Recall);
                (chosen && is_tail && waits_for_choice(row)).then_some(Reason::NextRequest)
            });
        }
    }
    if cause == EpochCause::Kept {
        let fresh = live
            .rows
            .iter()
            .copied()
            .filter(|row| is_fresh(*row) && policy.freezes(set.row(*row).section))
            .filter(|row| !late.rows.contains(row));
        let same_task = kept.is_some_and(|ledger| ledger.floor_for == Some(request.asked()));
        for row in fresh {
            moved.resize(set.rows.len(), Moved::No);
            let of_session = set.scopes[set.row(row).scope as usize].session.is_some();
            let is_new = kept.is_some_and(|ledger| is_just_accepted(set, row, ledger));
            moved[row as usize] = if same_task && !of_session && !is_new {
                Moved::LeftOver
            } else {
                Moved::Anew
            };
        }
    }
    let offered = live.rows.iter().filter(|row| set.row(**row).is_tool());
    let mut tools: Vec<_> = offered.map(|row| set.name(*row)).collect();
    tools.extend(late.sent_tools.iter().cloned());
    tools.sort();
    let report = PlanReport {
        epoch,
        cause,
        frozen: frozen.len() as u32,
        tools,
        context: None,
        rules: None,
    };
    let short = match &request.served {
        Some(ledger) if cause == EpochCause::Kept => ledger.forms.clone(),
        _ => BTreeMap::new(),
    };
    let epoch = EpochPlan {
        set,
        report,
        frozen,
        short,
        moved,
        late,
        sent,
        settings,
        strategy: Strategy::Full,
        offers_archive: false,
        archive_may_go: false,
        corpus: 0,
        share: u32::MAX,
    };
    let mut planned = Planned {
        obligations: obligations(&live, &epoch),
        live,
        related,
        epoch,
    };
    planned.epoch.report.rules = rules::choose(&planned, world, policy, request)?;
    context::choose(&mut planned, world, policy, request)?;
    Ok(planned)
}

/// Returns whether a row is an outcome that was accepted after the last request knew what there was: no choice has left it
/// out.
fn is_just_accepted(set: &Normalized, row: u32, ledger: &ServedLedger) -> bool {
    let row = set.row(row);
    let since = ledger.known.map(Instant::micros);
    row.object_type == ObjectType::Outcome && since.is_some_and(|since| since < row.tx_from)
}

/// Returns the obligation of each row that must be in the payload.
fn obligations(live: &Live<'_>, epoch: &EpochPlan<'_>) -> Vec<Option<Obligation>> {
    let set = live.set;
    let mut obligations = vec![None; set.rows.len()];
    for &at in &live.rows {
        let row = set.row(at);
        obligations[at as usize] = if row.optional {
            None
        } else if epoch.section(at).tier().is_fixed() {
            Some(Obligation::FixedTier)
        } else if !row.removable {
            Some(Obligation::NotRemovable)
        } else {
            None
        };
    }
    for at in epoch.frozen.keys() {
        obligations[*at as usize] = Some(Obligation::Frozen);
    }
    for at in open_exchange(live) {
        obligations[at as usize].get_or_insert(Obligation::OpenExchange);
    }
    obligations
}

/// The rows of the exchange that is not finished: from the last turn of the user on, when the last
/// row of the history is a tool's result, which waits for the model to read it.
fn open_exchange(live: &Live<'_>) -> Vec<u32> {
    let set = live.set;
    let history: Vec<u32> = live
        .rows
        .iter()
        .copied()
        .filter(|row| set.row(*row).section == Section::History)
        .collect();
    let waits = history
        .last()
        .is_some_and(|row| set.row(*row).object_type == ObjectType::ToolResult);
    if !waits {
        return Vec::new();
    }
    let start = history.iter().rposition(|row| set.is_user_turn(*row)).unwrap_or(0);
    history[start..].to_vec()
}

/// The rows that no gate turns away whatever their relevance: the tools that the conversation calls, and what
/// something that must go in needs.
fn spared(live: &Live<'_>) -> BTreeSet<u32> {
    let set = live.set;
    let called = live.called();
    let tools = live
        .rows
        .iter()
        .copied()
        .filter(|row| set.row(*row).is_tool())
        .filter(|row| called.contains(set.object(*row).name()));
    let must = |row: &u32| {
        let row = set.row(*row);
        !row.optional && !row.removable
    };
    let must = live.rows.iter().copied().filter(must).chain(tools.clone());
    let mut spared = live.standing_links().needed(must);
    spared.extend(tools);
    spared
}

/// Ids that are looked for among many rows. They are a caller's: they are sorted, and no entries of a table.
struct Wanted {
    /// Each id with its place, in order.
    places: Vec<(u128, u32)>,
    /// A bit for the lowest bits of each id: most rows are none of them, and are told so at once.
    marked: Vec<u64>,
}

impl Wanted {
    fn of<'i>(ids: impl IntoIterator<Item = &'i RevisionId>) -> Wanted {
        let mut places: Vec<(u128, u32)> = ids.into_iter().map(RevisionId::key).zip(0..).collect();
        places.sort_unstable();
        let mut marked = vec![0; (places.len() / 4).next_power_of_two().clamp(1, 1 << 14)];
        for (key, _) in &places {
            let (word, bit) = Wanted::mark(*key, marked.len());
            marked[word] |= bit;
        }
        Wanted { places, marked }
    }

    fn mark(key: u128, words: usize) -> (usize, u64) {
        ((key as usize >> 6) & (words - 1), 1 << (key & 63))
    }

    /// The places of an id among the sorted ones.
    fn find(&self, key: u128) -> Range<usize> {
        let (word, bit) = Wanted::mark(key, self.marked.len());
        if self.marked[word] & bit == 0 {
            return 0..0;
        }
        let start = self.places.partition_point(|(known, _)| *known < key);
        let same = self.places[start..].partition_point(|(known, _)| *known == key);
        start..start + same
    }
}

/// Each served row's place, and the channels for what is new; or why the epoch ends.
fn keep(
    ledger: &ServedLedger,
    live: &Live<'_>,
    policy: &Policy,
    request: &Request,
    settings: Digest,
    channels: Channels,
) -> Result<(BTreeMap<u32, u32>, Channels), EpochCause> {
    if let Some(cause) = ledger.ends {
        return Err(cause);
    }
    let set = live.set;
    if ledger.settings.is_some_and(|served| served != settings) {
        // Some facts count among the settings. What was served and is gone is gone, whatever else changed.
        let there: BTreeSet<u128> =
            live.rows.iter().map(|row| set.row(*row).revision.key()).collect();
        let is_gone = |served: &RevisionId| !there.contains(&served.key());
        return Err(if ledger.floor.iter().any(is_gone) {
            EpochCause::FrozenGone
        } else {
            EpochCause::SettingsChanged
        });
    }
    // The same revision may be there, and have been served, more than once: each takes the next row of it.
    let floor = Wanted::of(&ledger.floor);
    let said = Wanted::of(&ledger.said);
    let mut places = vec![NO_ROW; ledger.floor.len()];
    let mut taken = vec![0u32; ledger.floor.len()];
    let mut there = vec![false; ledger.said.len()];
    for &row in &live.rows {
        let key = set.row(row).revision.key();
        let asked = floor.find(key);
        if let Some(next) = taken.get_mut(asked.start)
            && (*next as usize) < asked.len()
        {
            places[floor.places[asked.start + *next as usize].1 as usize] = row;
            *next += 1;
        }
        let asked = said.find(key);
        if !asked.is_empty() && !there[asked.start] {
            there[asked].fill(true);
        }
    }
    let mut frozen = BTreeMap::new();
    let mut reached = 0;
    for (place, row) in (0u32..).zip(places) {
        if row == NO_ROW {
            return Err(EpochCause::FrozenGone);
        }
        // A ledger without a digest may be of another layout.
        let section = set.row(row).section;
        if !policy.freezes(section) || policy.place(section) < reached {
            return Err(EpochCause::SettingsChanged);
        }
        reached = policy.place(section);
        frozen.insert(row, place);
    }
    if there.contains(&false) {
        return Err(EpochCause::FrozenGone);
    }
    let channels = channels.beside(live, request, ledger, &said, &frozen);
    let stands =
        |row: &u32| frozen.contains_key(row) || !said.find(set.row(*row).revision.key()).is_empty();
    // What cannot stand any more is gone, too. New tools wait where they have no channel, so nothing can lean on
    // them.
    let waits = |row: &u32| {
        let section = set.row(*row).section;
        let is_new = section == Section::Tools && !stands(row);
        is_new && policy.freezes(section) && !channels.take(set, *row)
    };
    let standing: Vec<u32> = live.rows.iter().copied().filter(|row| !waits(row)).collect();
    let broken = live.links(&standing).break_off(set);
    if frozen.keys().any(|row| broken.contains_key(row)) {
        return Err(EpochCause::FrozenGone);
    }
    let must_join = |row: &u32| {
        let section = set.row(*row).section;
        let fixed = matches!(
            section,
            Section::Identity | Section::Tools | Section::Policy
        );
        // A tool that a gate may turn away need not join: the gate chose when the epoch began.
        let may_wait = channels.gated.contains(row) || set.row(*row).optional;
        let may_wait = may_wait || channels.take(set, *row);
        fixed && policy.freezes(section) && !may_wait && !stands(row)
    };
    if live.rows.iter().any(must_join) {
        Err(EpochCause::FloorGrew)
    } else {
        Ok((frozen, channels))
    }
}
