//! Stage 10: in which order. The zones and sections of the policy's layout, or the order of the
//! sources; within a section an order that does not change while its members stay.

use crate::compile::pieces::voice;
use crate::compile::stages::Live;
use crate::compile::stages::contain::Pieces;
use crate::compile::stages::fit::{Fitted, Room};
use crate::compile::stages::plan::EpochPlan;
use crate::compile::stages::rank::Ranking;
use crate::input::policy::{Order, Policy, TaskPosition};
use crate::object::Authority;
use crate::object::section::Section;

/// A piece of the payload.
#[derive(Clone, Copy)]
pub(crate) enum Entry {
    /// The heading of a section.
    Heading(Section),
    /// The mark of an authority within a section.
    Mark(Section, Authority),
    /// A piece that the compiler adds, by its place in the list.
    Added(usize),
    /// A candidate.
    Row(u32),
    /// The end of the messages.
    Closing,
}

/// Fitted pieces in their order.
pub(crate) struct Ordered<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) epoch: EpochPlan<'a>,
    pub(crate) ranking: Ranking,
    pub(crate) pieces: Pieces,
    pub(crate) room: Room,
    pub(crate) entries: Vec<Entry>,
}

/// Puts the chosen pieces in order.
pub(crate) fn order<'a>(fitted: Fitted<'a>, policy: &Policy) -> Ordered<'a> {
    let mut entries = match policy.document().order {
        Order::Sections => by_section(&fitted, policy),
        _ => by_registry(&fitted, policy),
    };
    if fitted.pieces.closing.is_some() {
        entries.push(Entry::Closing);
    }
    entries.extend(late(&fitted, policy).into_iter().map(Entry::Row));
    let Fitted {
        live,
        epoch,
        ranking,
        pieces,
        room,
    } = fitted;
    Ordered {
        live,
        epoch,
        ranking,
        pieces,
        room,
        entries,
    }
}

/// Returns the rows behind all else, by the provider's own channels: what the system says, then its tools.
fn late(fitted: &Fitted<'_>, policy: &Policy) -> Vec<u32> {
    let Fitted { live, epoch, .. } = fitted;
    let is_late = |row: &u32| epoch.late.rows.contains(row);
    let mut rows: Vec<u32> = live.rows.iter().copied().filter(is_late).collect();
    rows.sort_by_key(|row| {
        let (set, found) = (live.set, live.set.row(*row));
        let name = found.is_tool().then(|| set.object(*row).name());
        (name, policy.place(epoch.section(*row)), found.authority)
    });
    rows
}

fn by_section(fitted: &Fitted<'_>, policy: &Policy) -> Vec<Entry> {
    let Fitted {
        live,
        epoch,
        pieces,
        ..
    } = fitted;
    let mut members: [Vec<u32>; Section::COUNT] = Default::default();
    for &row in &live.rows {
        if !epoch.late.rows.contains(&row) {
            members[epoch.section(row).index()].push(row);
        }
    }
    let mut sections = Section::ALL.to_vec();
    sections.sort_by_key(|section| policy.place(*section));
    let mut entries = Vec::with_capacity(live.rows.len() + 2 * Section::COUNT);
    for section in sections {
        let mut rows = std::mem::take(&mut members[section.index()]);
        let added = added_to(fitted, section);
        if rows.is_empty() && added.is_empty() {
            continue;
        }
        if pieces.headings[section.index()].is_some() {
            entries.push(Entry::Heading(section));
        }
        arrange(fitted, section, &mut rows);
        if !pieces.marks.any() {
            entries.extend(added);
            entries.extend(rows.into_iter().map(Entry::Row));
            continue;
        }
        // Each authority's words stand together under its mark; what has none stands before all of them.
        let voice = |row: u32| voice(live.set.row(row), section);
        rows.sort_by_key(|row| voice(*row));
        let own = |entry: &Entry| match entry {
            Entry::Added(at) => pieces.added[*at].voice(),
            Entry::Row(row) => voice(*row),
            Entry::Heading(_) | Entry::Mark(..) | Entry::Closing => None,
        };
        let mut standing = added;
        standing.extend(rows.into_iter().map(Entry::Row));
        standing.sort_by_key(own);
        let mut under = None;
        for entry in standing {
            let own = own(&entry);
            if own != under
                && let Some(voice) = own
            {
                entries.push(Entry::Mark(section, voice));
            }
            under = own;
            entries.push(entry);
        }
    }
    entries
}

fn added_to(fitted: &Fitted<'_>, section: Section) -> Vec<Entry> {
    let added = fitted.pieces.added.iter().enumerate();
    added
        .filter(|(_, added)| added.section == section)
        .map(|(at, _)| Entry::Added(at))
        .collect()
}

/// The order within a section. Rows come in registry order.
fn arrange(fitted: &Fitted<'_>, section: Section, rows: &mut [u32]) {
    let Fitted { epoch, ranking, .. } = fitted;
    let set = fitted.live.set;
    match section {
        Section::Identity | Section::Policy => rows.sort_by_key(|row| set.row(*row).authority),
        Section::Tools => rows.sort_by(|a, b| {
            let name = |row: &u32| set.object(*row).name();
            name(a).cmp(name(b)).then(a.cmp(b))
        }),
        Section::Evidence | Section::Recall => rows.sort_by(|a, b| {
            let score = |row: &u32| ranking.scores[*row as usize].composite;
            score(b).cmp(&score(a)).then_with(|| set.tie_break(*a, *b))
        }),
        _ => {}
    }
    if !epoch.frozen.is_empty() {
        rows.sort_by_key(|row| epoch.frozen.get(row).copied().unwrap_or(u32::MAX));
    }
}

/// One flow in the order of the sources, the task before or after it. What belongs to the history follows the rest, in
/// its own order, so that a provider's body has one system message and no summary in it.
fn by_registry(fitted: &Fitted<'_>, policy: &Policy) -> Vec<Entry> {
    let epoch = &fitted.epoch;
    let (turns, blocks): (Vec<u32>, Vec<u32>) = fitted
        .live
        .rows
        .iter()
        .partition(|row| epoch.section(**row) == Section::History);
    let mut blocks = blocks;
    if !epoch.frozen.is_empty() {
        blocks.sort_by_key(|row| epoch.frozen.get(row).copied().unwrap_or(u32::MAX));
    }
    let task: Vec<Entry> = [Section::Task, Section::Query]
        .into_iter()
        .flat_map(|section| added_to(fitted, section))
        .collect();
    let mut entries = added_to(fitted, Section::Identity);
    entries.extend(added_to(fitted, Section::Tools));
    if policy.document().task_position == TaskPosition::Before {
        entries.extend(&task);
    }
    let opens = fitted.pieces.headings[Section::History.index()].is_some()
        && blocks.iter().chain(&turns).any(|row| epoch.section(*row) == Section::History);
    entries.extend(blocks.into_iter().map(Entry::Row));
    if opens {
        entries.push(Entry::Heading(Section::History));
    }
    entries.extend(turns.into_iter().map(Entry::Row));
    if policy.document().task_position != TaskPosition::Before {
        entries.extend(task);
    }
    entries
}
