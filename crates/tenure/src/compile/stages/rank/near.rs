//! Of what says nearly the same, wherever it stands, the highest stands for the others. Which of them has room only
//! the fit knows, so nothing is omitted here.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::base::num::Score;
use crate::compile::score::ScoreCard;
use crate::compile::stages::plan::Planned;
use crate::compile::stages::rank::Near;
use crate::input::policy::{Order, Policy};
use crate::object::{Authority, Protection};

/// The data that is near to something that must stand or else has the higher authority, the better
/// source, the higher score, or the earlier place. What must stand, what anything needs and what is
/// protected is near to nothing.
pub(super) fn find(
    planned: &Planned<'_>,
    policy: &Policy,
    scores: &[ScoreCard],
    must: impl Fn(u32) -> bool,
) -> BTreeMap<u32, Near> {
    let document = policy.document();
    let threshold = document.near_duplicates;
    let mut near = BTreeMap::new();
    if threshold == Score::ZERO || document.order != Order::Sections {
        return near;
    }
    let live = &planned.live;
    let set = live.set;
    let prints = set.prints(threshold);
    if prints.is_empty() {
        return near;
    }
    let mut crowded: Vec<u32> = live.rows.iter().copied().filter(|row| prints.has(*row)).collect();
    if crowded.len() < 2 {
        return near;
    }
    let mut links = live.links(&live.rows);
    // What will not stand can stand for nothing.
    let broken = links.break_off(set);
    let overlong = links.overlong(set);
    let falls = |row: &u32| broken.contains_key(row) || overlong.contains(row);
    crowded.retain(|row| !falls(row));
    let held = links.needed(live.rows.iter().copied().filter(|row| !falls(row)));
    let stays = |at: u32| {
        let row = set.row(at);
        row.authority != Authority::Data
            || must(at)
            || held.contains(&at)
            || !row.removable
            || row.protection != Protection::None
    };
    let mut order: Vec<(u32, bool)> = crowded.into_iter().map(|row| (row, stays(row))).collect();
    order.sort_by_cached_key(|&(at, stays)| {
        let row = set.row(at);
        let score = scores[at as usize].composite;
        let standing = Reverse((row.source_authority, score));
        (!must(at), !stays, row.authority, standing, at)
    });
    for (row, of, similarity) in prints.near(order.into_iter(), threshold) {
        // Nothing elsewhere stands for what a section must not be without.
        let section = planned.epoch.section(row);
        if section == planned.epoch.section(of) || !document.required.contains(&section) {
            near.insert(row, Near { of, similarity });
        }
    }
    near
}
