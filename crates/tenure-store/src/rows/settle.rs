//! Settlement: the effect of a write on beliefs, as pure arithmetic on intervals.

use std::cmp::Reverse;

use tenure::object::RevisionId;
use tenure::time::{Instant, Interval};

use crate::rows::engine::{BeliefRow, Change, Stamp};

/// The new state of the beliefs about one object.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Settlement {
    /// The beliefs that end, as their places in what was given.
    pub(crate) close: Vec<usize>,
    /// The beliefs that begin.
    pub(crate) open: Vec<BeliefRow>,
}

impl Settlement {
    /// Returns whether nothing but this revision is believed from now on.
    pub(crate) fn leaves_only(&self, revision: RevisionId, current: &[BeliefRow]) -> bool {
        self.after(current).all(|row| row.revision == revision)
    }

    /// The beliefs that it leaves.
    pub(crate) fn after<'s>(
        &'s self,
        current: &'s [BeliefRow],
    ) -> impl Iterator<Item = &'s BeliefRow> {
        current
            .iter()
            .enumerate()
            .filter(|(at, _)| !self.close.contains(at))
            .map(|(_, row)| row)
            .chain(&self.open)
    }
}

/// Settles that `new` holds from now on, over what is believed now, and over what waits; where it waits for a person itself,
/// over what waits alone. Whatever an older belief says about times of which the new one does not speak stays, as a belief of
/// its own. An unknown start reaches back without end.
pub(crate) fn settle(current: &[BeliefRow], new: BeliefRow) -> Settlement {
    let mut settlement = Settlement::default();
    let mut rest = Vec::new();
    for (at, old) in current.iter().enumerate() {
        if !overlap(old.valid, new.valid) || (new.waits() && !old.waits()) {
            continue;
        }
        settlement.close.push(at);
        rest.extend(without(old.valid, new.valid).map(|valid| BeliefRow {
            valid,
            opened: new.opened,
            closed: None,
            ..old.clone()
        }));
    }
    settlement.open.push(new);
    settlement.open.append(&mut rest);
    number(&mut settlement.open);
    settlement
}

/// Adds what a settlement changes.
pub(crate) fn apply(change: &mut Change, current: &[BeliefRow], settlement: Settlement) {
    let close = settlement.close.into_iter().filter_map(|at| current.get(at));
    change.close.extend(close.map(|old| (old.object, old.opened, old.part)));
    change.open.extend(settlement.open);
}

/// Settles that everything believed now is so no more, or is judged otherwise.
pub(crate) fn rejudge(
    current: &[BeliefRow],
    stamp: Stamp,
    judge: impl Fn(&BeliefRow) -> Option<BeliefRow>,
) -> Settlement {
    let mut settlement = Settlement::default();
    for (at, old) in current.iter().enumerate() {
        let new = judge(old);
        if new.as_ref() == Some(old) {
            continue;
        }
        settlement.close.push(at);
        settlement.open.extend(new.map(|new| BeliefRow {
            opened: stamp,
            closed: None,
            ..new
        }));
    }
    number(&mut settlement.open);
    settlement
}

/// Settles what a person, or evidence, says of what is held: `believed` gives what becomes of a belief, and of what waits what is
/// believed of it from now on. That takes the place of what was believed until now, as if it were written now.
pub(crate) fn confirmed(
    current: &[BeliefRow],
    stamp: Stamp,
    believed: impl Fn(&BeliefRow) -> Option<BeliefRow>,
) -> Settlement {
    let mut close = Vec::new();
    let mut begun: Vec<(&BeliefRow, BeliefRow)> = Vec::new();
    for (at, old) in current.iter().enumerate().filter(|(_, row)| row.waits()) {
        if let Some(new) = believed(old) {
            close.push(at);
            begun.push((old, new));
        }
    }
    // The last written comes first, as of a write.
    begun.sort_by_key(|(old, _)| Reverse((old.opened, Reverse(old.part))));
    let mut open: Vec<BeliefRow> = begun.into_iter().map(|(_, new)| new).collect();
    let mut rest = Vec::new();
    for (at, old) in current.iter().enumerate().filter(|(_, row)| !row.waits()) {
        let new = believed(old).unwrap_or_else(|| old.clone());
        let mut parts = vec![old.valid];
        for over in &open {
            let left = parts.iter().flat_map(|part| cut(*part, over.valid));
            parts = left.collect();
        }
        if new == *old && parts == [old.valid] {
            continue;
        }
        close.push(at);
        let left = parts.into_iter();
        rest.extend(left.map(|valid| BeliefRow {
            valid,
            ..new.clone()
        }));
    }
    open.append(&mut rest);
    for row in &mut open {
        (row.opened, row.closed) = (stamp, None);
    }
    number(&mut open);
    Settlement { close, open }
}

fn number(open: &mut [BeliefRow]) {
    for (part, row) in open.iter_mut().enumerate() {
        row.part = part as u32;
    }
}

fn bounds(interval: Interval) -> (i64, i64) {
    (
        interval.from.map_or(i64::MIN, Instant::micros),
        interval.until.map_or(i64::MAX, Instant::micros),
    )
}

/// Returns whether two half-open intervals have an instant in common.
pub(crate) fn overlap(a: Interval, b: Interval) -> bool {
    let ((a_from, a_until), (b_from, b_until)) = (bounds(a), bounds(b));
    a_from < b_until && b_from < a_until
}

/// The rest of `whole` without `part`, which overlaps it.
fn without(whole: Interval, part: Interval) -> impl Iterator<Item = Interval> {
    let ((from, until), (part_from, part_until)) = (bounds(whole), bounds(part));
    let before = (from < part_from).then_some(Interval {
        from: whole.from,
        until: part.from,
    });
    let after = (part_until < until).then_some(Interval {
        from: part.until,
        until: whole.until,
    });
    before.into_iter().chain(after)
}

/// The rest of a time without another.
pub(crate) fn cut(whole: Interval, part: Interval) -> Vec<Interval> {
    if overlap(whole, part) {
        without(whole, part).collect()
    } else {
        vec![whole]
    }
}

/// The times of what is believed, of these, which do not overlap.
pub(crate) fn believed(rows: &[BeliefRow]) -> impl Iterator<Item = Interval> {
    rows.iter().filter(|row| !row.waits()).map(|row| row.valid)
}

/// The order of beliefs about one object: by valid time, and what waits after what it waits beside.
pub(crate) fn in_valid_time(row: &BeliefRow) -> (Option<i64>, bool) {
    (row.valid.from.map(Instant::micros), row.waits())
}

/// Returns whether these intervals, which do not overlap, leave out no instant.
pub(crate) fn covers_all(intervals: impl Iterator<Item = Interval>) -> bool {
    let mut bounds: Vec<(i64, i64)> = intervals.map(bounds).collect();
    bounds.sort_unstable();
    let ends = [(i64::MIN, i64::MIN), (i64::MAX, i64::MAX)];
    let starts = bounds.iter().map(|(from, _)| *from).chain([ends[1].0]);
    std::iter::once(ends[0].1)
        .chain(bounds.iter().map(|(_, until)| *until))
        .zip(starts)
        .all(|(until, from)| until == from)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tenure::Digest;
    use tenure::object::{ContradictionStatus, Lifecycle, ObjectId};

    use super::*;

    fn interval(from: Option<i64>, until: Option<i64>) -> Interval {
        Interval {
            from: from.map(Instant::from_micros),
            until: until.map(Instant::from_micros),
        }
    }

    fn row(version: u64, valid: Interval) -> BeliefRow {
        BeliefRow {
            object: ObjectId::from_bits(1),
            opened: Stamp {
                version,
                at: Instant::from_micros(version as i64),
            },
            part: 0,
            closed: None,
            revision: Digest::of(&version.to_le_bytes()),
            valid,
            contradiction: ContradictionStatus::Clean,
            superseded_by: None,
            lifecycle: Lifecycle::Active,
            labels: "{}".into(),
        }
    }

    fn ends() -> impl Strategy<Value = Interval> {
        let end = || prop::option::of(0i64..20);
        (end(), end()).prop_filter_map("empty", |(from, until)| {
            let interval = interval(from, until);
            let (from, until) = bounds(interval);
            (from < until).then_some(interval)
        })
    }

    proptest! {
        // What is believed after any writes is, at every instant of valid time, what the last write
        // that speaks of that instant said.
        #[test]
        fn the_last_word_on_each_instant_holds(writes in prop::collection::vec(ends(), 1..12)) {
            let mut current: Vec<BeliefRow> = Vec::new();
            for (version, valid) in (1..).zip(&writes) {
                let Settlement { close, open } = settle(&current, row(version, *valid));
                for at in close.into_iter().rev() {
                    current.remove(at);
                }
                let parts: std::collections::BTreeSet<u32> = open.iter().map(|row| row.part).collect();
                prop_assert_eq!(parts.len(), open.len());
                prop_assert!(open.iter().all(|row| row.opened.version == version));
                current.extend(open);
                for (at, one) in current.iter().enumerate() {
                    for other in &current[at + 1..] {
                        prop_assert!(!overlap(one.valid, other.valid));
                    }
                }
            }
            for instant in -1..21i64 {
                let says = |valid: Interval| {
                    let (from, until) = bounds(valid);
                    from <= instant && instant < until
                };
                let last = (1u64..).zip(&writes).filter(|(_, valid)| says(**valid)).last();
                let held: Vec<_> = current.iter().filter(|row| says(row.valid)).collect();
                prop_assert!(held.len() <= 1);
                let expected = last.map(|(version, _)| Digest::of(&version.to_le_bytes()));
                prop_assert_eq!(held.first().map(|row| row.revision), expected);
            }
        }
    }

    #[test]
    fn what_covers_all_leaves_nothing_out() {
        let all = |intervals: &[(Option<i64>, Option<i64>)]| {
            covers_all(intervals.iter().map(|(from, until)| interval(*from, *until)))
        };
        assert!(all(&[(None, None)]));
        assert!(all(&[(Some(3), None), (None, Some(3))]));
        assert!(!all(&[(Some(4), None), (None, Some(3))]));
        assert!(!all(&[(None, Some(3))]));
        assert!(!all(&[]));
    }
}
