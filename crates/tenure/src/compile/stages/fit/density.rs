//! The density of constraints: where they take more of a payload than the policy lets them, soft ones leave, the least
//! important first. Hard ones never do; that they are too many is told.

use crate::base::num::Score;
use crate::compile::pieces::voice;
use crate::compile::stages::contain::Contained;
use crate::compile::stages::fit::Choice;
use crate::compile::stages::fit::account::Opened;
use crate::compile::trace::{Note, Reason};
use crate::input::policy::{Policy, TaskClass};
use crate::object::section::Section;
use crate::object::{Authority, Rigidity};

/// The constraints of a choice, in tokens, against the policy's limit.
pub(super) struct Density {
    /// The tokens of the constraints.
    constraints: u64,
    /// The tokens of the payload.
    total: u64,
    limit: Score,
}

impl Density {
    /// Measures a choice; none where the policy sets no limit, or the payload is too small for it.
    pub(super) fn of(
        contained: &Contained<'_>,
        choice: &Choice,
        policy: &Policy,
        class: TaskClass,
    ) -> Option<Density> {
        let limits = policy.document().quality.as_ref()?;
        let set = contained.live.set;
        let constraints: u64 = contained
            .live
            .rows
            .iter()
            .filter(|row| choice.has(**row))
            .map(|&row| {
                let profile = set.profile(row);
                profile.constraint_tokens(choice.tokens(contained, row))
            })
            .sum();
        if constraints == 0 {
            return None;
        }
        let total = total(contained, choice);
        (total > u64::from(limits.constraints_above)).then(|| Density {
            constraints,
            total,
            limit: limits.most_constraints(class),
        })
    }

    /// Returns the share of the payload that constraints take.
    fn share(&self) -> Score {
        let millionths = (self.constraints * 1_000_000).checked_div(self.total);
        Score::from_millionths(u32::try_from(millionths.unwrap_or(0)).unwrap_or(u32::MAX))
    }

    fn is_kept(&self) -> bool {
        self.share() <= self.limit
    }

    /// Returns the soft constraints that leave, so that the limit is kept or none is left: of those that nothing
    /// demands, the lowest priority first.
    pub(super) fn leaving(&self, contained: &Contained<'_>, choice: &Choice) -> Vec<(u32, Reason)> {
        if self.is_kept() {
            return Vec::new();
        }
        let (set, ranking) = (contained.live.set, &contained.ranking);
        let is_soft = |row: u32| {
            let constraint = set.object(row).revision().constraint();
            constraint.is_some_and(|constraint| constraint.rigidity == Rigidity::Soft)
        };
        let mut rows: Vec<u32> = contained
            .live
            .rows
            .iter()
            .copied()
            .filter(|row| {
                set.row(*row).rare
                    && set.row(*row).authority != Authority::Data
                    && ranking.obligations[*row as usize].is_none()
                    && is_soft(*row)
            })
            .collect();
        if rows.is_empty() {
            return Vec::new();
        }
        let needed = contained.links.needed(contained.live.rows.iter().copied());
        rows.retain(|row| !needed.contains(row));
        rows.sort_by(|a, b| {
            let key = |row: u32| {
                let score = ranking.scores[row as usize].composite;
                (set.row(row).priority, score)
            };
            key(*a).cmp(&key(*b)).then_with(|| set.tie_break(*b, *a))
        });
        let reason = Reason::TooManyConstraints {
            density: self.share(),
            limit: self.limit,
        };
        let mut left = Density { ..*self };
        let mut leaving = Vec::new();
        for row in rows {
            if left.is_kept() {
                break;
            }
            // What did not fit takes no place of what is more important.
            if choice.has(row) {
                let tokens = choice.tokens(contained, row);
                let constraints = set.profile(row).constraint_tokens(tokens);
                left.constraints = left.constraints.saturating_sub(constraints);
                left.total = left.total.saturating_sub(u64::from(tokens));
            }
            leaving.push((row, reason.clone()));
        }
        leaving
    }

    /// Returns what is to be said where the constraints that must stand are too many.
    pub(super) fn note(&self) -> Option<Note> {
        (!self.is_kept()).then(|| Note::DenseConstraints {
            density: self.share(),
            limit: self.limit,
        })
    }
}

/// Returns the tokens of a choice, with the headings and marks that it opens and what stands in every payload.
fn total(contained: &Contained<'_>, choice: &Choice) -> u64 {
    let (set, pieces) = (contained.live.set, &contained.pieces);
    let mut opened = Opened::default();
    let mut open = |section: Section, voice: Option<Authority>| {
        let heading = pieces.headings[section.index()].as_ref().filter(|_| opened.heading(section));
        let mark = voice.filter(|voice| opened.mark(section, *voice));
        heading.map_or(0, |piece| u64::from(piece.tokens))
            + mark.map_or(0, |voice| u64::from(pieces.marks.tokens(voice)))
    };
    let mut total = u64::from(choice.overhead);
    for &row in contained.live.rows.iter().filter(|row| choice.has(**row)) {
        total += u64::from(choice.tokens(contained, row));
        if !contained.epoch.late.rows.contains(&row) {
            let section = contained.epoch.section(row);
            total += open(section, voice(set.row(row), section));
        }
    }
    for added in &pieces.added {
        total += u64::from(added.piece.tokens) + open(added.section, added.voice());
    }
    let closing = pieces.closing.as_ref();
    total + closing.map_or(0, |piece| u64::from(piece.tokens))
}
