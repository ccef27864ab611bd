//! Some lines, rows or sentences stand for all: what the types of text that are cut into such
//! parts have in common.

use super::select::{Choice, excerpt, price, settle, write_kept};
use super::{Draft, GAP, Goal, LeftOut, Map, Method, Omission, Unit};

/// Parts, one a line, and the order in which they are offered a place.
pub(super) struct Kept<'k> {
    /// What stands before them, with its newline.
    pub(super) head: &'k str,
    /// The parts without their newlines.
    pub(super) parts: &'k [&'k str],
    pub(super) order: &'k [u32],
    pub(super) unit: Unit,
}

/// The parts that fit, in their order, with a line for each gap.
pub(super) fn keep(kept: &Kept<'_>, goal: &Goal<'_>) -> Option<Draft> {
    let fixed = price(kept.head, goal);
    let gap = |count: usize| format!("{GAP} {count} {} left out\n", kept.unit);
    let gap_price = goal.count(&gap(1_000_000));
    settle(goal, |budget| {
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
            let text = as_line(kept.parts[part], longest);
            let price = price(&text, goal);
            written.insert(part, text);
            price
        });
        if !stays.contains(&true) {
            return None;
        }
        let mut text = kept.head.to_owned();
        write_kept(&stays, 0..stays.len(), &mut text, gap, |part| {
            &written[&part]
        });
        let left = stays.iter().filter(|stays| !**stays).count();
        text.truncate(text.trim_end().len());
        Some(Draft {
            text,
            method: Method::Selected,
            left_out: vec![LeftOut {
                class: Omission::LowRelevance,
                unit: kept.unit,
                count: left as u32,
            }],
        })
    })
}

/// A part as a line of its own that cannot be taken for a gap.
fn as_line(part: &str, longest: usize) -> String {
    let mark = if part.starts_with(GAP) { "=" } else { "" };
    format!("{mark}{}\n", excerpt(part, longest))
}
