//! The thirteen relations of intervals, and what each means for two claims on one slot.

use crate::base::time::{Instant, Interval};
use crate::object::vocabulary::vocabulary;

vocabulary! {
    /// The relation of one interval to another: of two intervals that hold an instant, exactly one holds.
    Relation ("interval relation") {
        /// It ends before the other begins, with time between.
        Before = "before",
        /// It ends where the other begins.
        Meets = "meets",
        /// It begins first, and ends inside the other.
        Overlaps = "overlaps",
        /// Both begin together, and it ends first.
        Starts = "starts",
        /// It lies inside the other.
        During = "during",
        /// Both end together, and it begins later.
        Finishes = "finishes",
        /// Both are the same.
        Equals = "equals",
        /// Both end together, and it begins first.
        FinishedBy = "finished_by",
        /// The other lies inside it.
        Contains = "contains",
        /// Both begin together, and it ends later.
        StartedBy = "started_by",
        /// The other begins first, and ends inside it.
        OverlappedBy = "overlapped_by",
        /// It begins where the other ends.
        MetBy = "met_by",
        /// It begins after the other has ended, with time between.
        After = "after",
    }
}

vocabulary! {
    /// The effect of a relation on two claims of equal authority that cannot both hold.
    Action ("action") {
        /// No conflict: one follows the other.
        Sequence = "sequence",
        /// The earlier ends where the later begins.
        EarlierEnds = "earlier_ends",
        /// One slot for the same time: the protocols decide.
        Protocols = "protocols",
        /// The shorter is an exception inside the longer; both are kept for their times.
        Exception = "exception",
    }
}

impl Relation {
    /// The relation of the other to the one.
    #[must_use]
    pub const fn inverse(self) -> Relation {
        match self {
            Relation::Before => Relation::After,
            Relation::Meets => Relation::MetBy,
            Relation::Overlaps => Relation::OverlappedBy,
            Relation::Starts => Relation::StartedBy,
            Relation::During => Relation::Contains,
            Relation::Finishes => Relation::FinishedBy,
            Relation::Equals => Relation::Equals,
            Relation::FinishedBy => Relation::Finishes,
            Relation::Contains => Relation::During,
            Relation::StartedBy => Relation::Starts,
            Relation::OverlappedBy => Relation::Overlaps,
            Relation::MetBy => Relation::Meets,
            Relation::After => Relation::Before,
        }
    }
}

/// The action for a relation.
pub const fn action(relation: Relation) -> Action {
    match relation {
        Relation::Before | Relation::Meets | Relation::MetBy | Relation::After => Action::Sequence,
        Relation::Overlaps | Relation::OverlappedBy | Relation::Finishes | Relation::FinishedBy => {
            Action::EarlierEnds
        }
        Relation::Starts | Relation::StartedBy | Relation::Equals => Action::Protocols,
        Relation::During | Relation::Contains => Action::Exception,
    }
}

/// The ends of an interval: an unknown start reaches back without end, an open end forward.
fn ends(interval: Interval) -> (i64, i64) {
    (
        interval.from.map_or(i64::MIN, Instant::micros),
        interval.until.map_or(i64::MAX, Instant::micros),
    )
}

/// The relation of two half-open intervals; none where one of them holds no instant. Two unknown starts count as the
/// same, and so do two open ends.
///
/// ```
/// use tenure::belief::{Relation, relate};
/// use tenure::time::Interval;
/// let day = |text: &str| Some(text.parse().unwrap());
/// let chicago = Interval { from: day("2026-01-01"), until: None };
/// let denver = Interval { from: day("2026-06-06"), until: None };
/// assert_eq!(relate(denver, chicago), Some(Relation::Finishes));
/// assert_eq!(relate(chicago, Interval { from: None, until: day("2026-01-01") }), Some(Relation::MetBy));
/// ```
pub fn relate(a: Interval, b: Interval) -> Option<Relation> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let ((a_from, a_until), (b_from, b_until)) = (ends(a), ends(b));
    let apart = if a_until < b_from {
        Some(Relation::Before)
    } else if a_until == b_from {
        Some(Relation::Meets)
    } else if b_until < a_from {
        Some(Relation::After)
    } else if b_until == a_from {
        Some(Relation::MetBy)
    } else {
        None
    };
    Some(
        apart.unwrap_or_else(|| match (a_from.cmp(&b_from), a_until.cmp(&b_until)) {
            (Less, Less) => Relation::Overlaps,
            (Less, Equal) => Relation::FinishedBy,
            (Less, Greater) => Relation::Contains,
            (Equal, Less) => Relation::Starts,
            (Equal, Equal) => Relation::Equals,
            (Equal, Greater) => Relation::StartedBy,
            (Greater, Less) => Relation::During,
            (Greater, Equal) => Relation::Finishes,
            (Greater, Greater) => Relation::OverlappedBy,
        }),
    )
}

/// The time that two intervals have in common; none where they have none.
pub fn overlap(a: Interval, b: Interval) -> Option<Interval> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let common = Interval {
        from: a.from.max(b.from),
        until: match (a.until, b.until) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (one, other) => one.or(other),
        },
    };
    (!common.is_empty()).then_some(common)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn interval(from: Option<i64>, until: Option<i64>) -> Interval {
        Interval {
            from: from.map(Instant::from_micros),
            until: until.map(Instant::from_micros),
        }
    }

    fn any_interval() -> impl Strategy<Value = Interval> {
        let end = || prop::option::of(0i64..8);
        (end(), end()).prop_map(|(from, until)| interval(from, until))
    }

    /// Each relation as it is defined, from the ends alone.
    fn oracle(a: Interval, b: Interval) -> Vec<Relation> {
        let ((af, au), (bf, bu)) = (ends(a), ends(b));
        Relation::ALL
            .iter()
            .filter(|relation| match relation {
                Relation::Before => au < bf,
                Relation::Meets => au == bf,
                Relation::Overlaps => af < bf && bf < au && au < bu,
                Relation::Starts => af == bf && au < bu,
                Relation::During => bf < af && au < bu,
                Relation::Finishes => bf < af && au == bu,
                Relation::Equals => af == bf && au == bu,
                Relation::FinishedBy => af < bf && au == bu,
                Relation::Contains => af < bf && bu < au,
                Relation::StartedBy => af == bf && bu < au,
                Relation::OverlappedBy => bf < af && af < bu && bu < au,
                Relation::MetBy => bu == af,
                Relation::After => bu < af,
            })
            .copied()
            .collect()
    }

    proptest! {
        #[test]
        fn exactly_one_relation_holds_and_its_inverse_on_swap(a in any_interval(), b in any_interval()) {
            let relation = relate(a, b);
            if a.is_empty() || b.is_empty() {
                prop_assert_eq!(relation, None);
                prop_assert_eq!(overlap(a, b), None);
            } else {
                prop_assert_eq!(oracle(a, b), vec![relation.unwrap()]);
                prop_assert_eq!(relate(b, a), relation.map(Relation::inverse));
                let shared = action(relation.unwrap()) != Action::Sequence;
                prop_assert_eq!(overlap(a, b).is_some(), shared);
            }
            prop_assert_eq!(overlap(a, b), overlap(b, a));
        }

        #[test]
        fn an_overlap_holds_the_instants_of_both(a in any_interval(), b in any_interval(), at in -1i64..9) {
            let at = Instant::from_micros(at);
            let inside = |interval: Interval| {
                !interval.is_empty() && interval.locate(at) == crate::base::time::Position::Inside
            };
            prop_assert_eq!(overlap(a, b).is_some_and(inside), inside(a) && inside(b));
        }
    }

    #[test]
    fn an_inverse_of_an_inverse_is_the_relation_and_has_its_action() {
        for relation in Relation::ALL {
            assert_eq!(relation.inverse().inverse(), *relation);
            assert_eq!(action(relation.inverse()), action(*relation));
        }
    }
}
