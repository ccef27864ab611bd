//! Statements of a trace about the payload as a whole: its quality, when the window is full, what had to leave.

use std::collections::BTreeMap;

use crate::compile::measure::{self, Nearness, Standing};
use crate::compile::stages::order::Ordered;
use crate::compile::trace::{Evicted, MAX_EVICTED, Measured, Note, Reason, Trace};
use crate::condense::pointer::pointer_id;
use crate::input::policy::Policy;
use crate::input::profile::Profile;
use crate::input::request::Request;
use crate::object::section::Section;
use crate::session::Forecast;
use crate::write::world::World;

/// Measures the payload's quality, against the limits of the policy.
pub(super) fn measured(
    trace: &Trace,
    ordered: &Ordered<'_>,
    policy: &Policy,
    request: &Request,
) -> Vec<Measured> {
    let Ordered { live, pieces, .. } = ordered;
    let set = live.set;
    // What stands in a shorter form says less than its object.
    let shown: BTreeMap<u32, Profile> = pieces
        .shown
        .keys()
        .filter_map(|row| {
            let text = pieces.row(*row)?.text.as_deref()?;
            Some((*row, Profile::of(set.object(*row), text)))
        })
        .collect();
    let standing = live.rows.iter().map(|row| Standing {
        verdict: &trace.verdicts[*row as usize],
        said: Some((
            set.object(*row).revision(),
            shown.get(row).unwrap_or_else(|| set.profile(*row)),
        )),
    });
    let nearness = Nearness::of(policy, &request.query_text());
    let quality = measure::measure(trace, nearness, standing);
    measure::against(&quality, policy, request.task.class(), trace.total_tokens)
}

/// Returns at which turn the window is full, where turns stand.
pub(super) fn forecast(
    trace: &Trace,
    ordered: &Ordered<'_>,
    policy: &Policy,
    request: &Request,
) -> Option<Forecast> {
    let Ordered { live, room, .. } = ordered;
    let turns = live.rows.iter().filter(|row| live.set.row(**row).is_message());
    let (turns, tokens) = turns.fold((0u64, 0u64), |(turns, tokens), row| {
        let own = u64::from(trace.verdicts[*row as usize].tokens);
        (turns + 1, tokens + own)
    });
    let answer = u64::from(room.answer);
    let window = u64::from(room.budget) + answer;
    let fixed = u64::from(trace.total_tokens).saturating_sub(tokens) + answer;
    let forecast = Forecast::of(window, fixed, turns, tokens)?;
    Some(match request.turns {
        Some(turns) => forecast.with_summaries(&policy.document().session, turns),
        None => forecast,
    })
}

/// Returns the history and evidence that had no room, those first whose leaving won most.
pub(super) fn evicted(
    ordered: &Ordered<'_>,
    world: &World,
    policy: &Policy,
    verdicts: &[Option<Reason>],
) -> Vec<Evicted> {
    if !policy.document().hygiene.watch {
        return Vec::new();
    }
    let set = ordered.live.set;
    let without_room = (0u32..).zip(verdicts).filter(|(row, reason)| {
        let section = ordered.epoch.section(*row);
        matches!(section, Section::History | Section::Evidence)
            && matches!(
                reason,
                Some(Reason::NoRoom { .. } | Reason::OverShare { .. })
            )
    });
    let mut left: Vec<(u64, u32)> = without_room
        .map(|(row, _)| {
            let card = &ordered.ranking.scores[row as usize];
            (card.eviction(ordered.pieces.tokens(row)), row)
        })
        .collect();
    left.sort_unstable_by_key(|(won, row)| (std::cmp::Reverse(*won), *row));
    left.truncate(MAX_EVICTED);
    left.into_iter()
        .map(|(_, row)| {
            let card = &ordered.ranking.scores[row as usize];
            Evicted {
                candidate: row,
                name: set.name(row),
                tokens: ordered.pieces.tokens(row),
                current: card.relevance.times(card.current()),
                pointer: pointer_id(world.frame_key(), &set.row(row).content),
            }
        })
        .collect()
}

/// Returns how many rules stay out since they are not near to the task, where any do.
pub(super) fn rules_left_out(ordered: &Ordered<'_>) -> Option<Note> {
    let report = ordered.epoch.report.rules.filter(|rules| rules.near_alone)?;
    let set = ordered.live.set;
    let left = (0u32..)
        .zip(&ordered.live.verdicts)
        .filter(|(row, reason)| matches!(reason, Some(Reason::NotNearTask)) && set.is_rule(*row))
        .count() as u32;
    (left > 0).then_some(Note::RulesLeftOut {
        left,
        rules: report.rules,
        share: report.share,
    })
}
