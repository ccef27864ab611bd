//! Some lines, rows or sentences stand for all: what the types of text that are cut into such
//! parts have in common.

use super::select::{Choice, cut, excerpt, price, settle, write_kept};
use super::{Draft, GAP, Goal, LeftOut, Map, Method, Omission, Unit};

/// Parts and the order in which they are offered a place.
pub(super) struct Kept<'k> {
    /// The text before them, with its newline.
    pub(super) head: &'k str,
    /// The parts without the newlines that end them.
    pub(super) parts: &'k [&'k str],
    /// The end of a part.
    pub(super) end: &'k str,
    pub(super) order: &'k [u32],
    pub(super) unit: Unit,
    pub(super) method: Method,
    /// The class of a part that may go.
    pub(super) class: &'k dyn Fn(usize) -> Omission,
}

/// The parts that fit, in the order of the text, with a line for each gap.
pub(super) fn keep(kept: &Kept<'_>, goal: &Goal<'_>) -> Option<Draft> {
    Some(keep_which(kept, goal)?.0)
}

/// Like `keep`, and which parts they are.
pub(super) fn keep_which(kept: &Kept<'_>, goal: &Goal<'_>) -> Option<(Draft, Vec<bool>)> {
    let mut which = Vec::new();
    let fixed = price(kept.head, goal);
    let gap = |count: usize| format!("{GAP} {count} {} left out{}", kept.unit, kept.end);
    let gap_price = goal.count(&gap(1_000_000));
    let draft = settle(goal, |budget| {
        // A part that would take more than a quarter of all is cut.
        let longest = (budget as usize).max(40);
        let mut written: Map<usize, String> = Map::default();
        let choice = Choice {
            order: kept.order,
            ends: &[kept.parts.len()],
            budget: budget.checked_sub(fixed)?,
            gap: gap_price,
        };
        let stays = choice.make(|part| {
            let text = as_line(kept.parts[part], longest) + kept.end;
            let price = price(&text, goal);
            written.insert(part, text);
            price
        });
        if !stays.contains(&true) {
            return None;
        }
        let mut text = kept.head.to_owned();
        write_kept(
            &stays,
            &mut text,
            |gone| gap(gone.len()),
            |part, text| text.push_str(&written[&part]),
        );
        text.truncate(text.trim_end().len());
        let mut left_out = count(&stays, kept.unit, kept.class);
        let staying = kept.parts.iter().zip(&stays).filter(|(_, stays)| **stays);
        left_out.extend(shortened(staying.map(|(part, _)| *part), longest));
        which = stays;
        Some(Draft {
            text,
            method: kept.method,
            left_out,
        })
    })?;
    Some((draft, which))
}

/// Returns the text without these parts, each written [`as_line`].
pub(super) fn shortened<'t>(
    parts: impl Iterator<Item = &'t str>,
    longest: usize,
) -> Option<LeftOut> {
    some(
        Unit::Bytes,
        parts.map(|part| cut(part, longest).len()).sum(),
    )
}

/// So much of which nothing else is known than that the task seems not to need it; none for 0.
pub(super) fn some(unit: Unit, count: usize) -> Option<LeftOut> {
    (count > 0).then_some(LeftOut {
        class: Omission::LowRelevance,
        unit,
        count: u32::try_from(count).unwrap_or(u32::MAX),
    })
}

/// Counts the parts that do not stay, by class.
pub(super) fn count(stays: &[bool], unit: Unit, class: &dyn Fn(usize) -> Omission) -> Vec<LeftOut> {
    let mut left_out: Vec<LeftOut> = Vec::new();
    for &wanted in Omission::ALL {
        let count =
            (0..stays.len()).filter(|at| !stays[*at] && class(*at) == wanted).count() as u32;
        if count > 0 {
            left_out.push(LeftOut {
                class: wanted,
                unit,
                count,
            });
        }
    }
    left_out
}

/// Returns the class of parts of which nothing else is known: the task seems not to need them.
pub(super) fn irrelevant(_: usize) -> Omission {
    Omission::LowRelevance
}

/// A part that cannot be taken for a gap.
pub(super) fn as_line(part: &str, longest: usize) -> String {
    let mark = if part.starts_with(GAP) { "=" } else { "" };
    format!("{mark}{}", excerpt(part, longest))
}
