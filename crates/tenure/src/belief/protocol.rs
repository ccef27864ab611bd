//! The protocols that decide between two claims on one single-valued slot that cannot both hold.
//!
//! One that gives way by its own policy gives way to any that does not. Else, in the time that both share, in this
//! order: the higher authority; neither, where one of the two leaves it to a person; of two preferences, the one with the
//! narrower scope, which is an exception for those who see both; the one that begins to hold later; the better source; the
//! higher confidence; else neither. A preference that does not say since when it holds begins when it was said. The order carries out the table of actions: of two intervals that begin apart, the later one is what the
//! earlier ends at, or the exception inside it; those that begin together are decided by their sources.

use std::cmp::Ordering;

use crate::base::num::Score;
use crate::base::time::{Instant, Interval};
use crate::belief::interval::overlap;
use crate::belief::scope::Narrowness;
use crate::object::vocabulary::{ConflictPolicy, ContradictionStatus, ObjectType, vocabulary};
use crate::object::{Authority, ContextObject};

/// The facts of a claim that the protocols compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// May it command?
    pub authority: Authority,
    /// The time for which it is claimed, or what is left of that.
    pub valid: Interval,
    /// The instant from which on its author says that it holds: what is left of it may begin later.
    pub since: Option<Instant>,
    /// The quality of its source.
    pub source_authority: Score,
    /// The confidence in it.
    pub confidence: Score,
    /// True if it is a preference.
    pub preference: bool,
    /// The instant at which it was said, of a preference that does not say since when it holds, where a store says so.
    pub recorded: Option<Instant>,
    /// The narrowness of its scope: it counts between preferences alone.
    pub narrowness: Narrowness,
    /// Its own rule for contradictions.
    pub policy: ConflictPolicy,
}

impl Standing {
    /// The standing of an object, for the time in which it is held to be true.
    pub fn of(object: &ContextObject) -> Standing {
        let revision = object.revision();
        let status = object.status();
        let preference = revision.object_type() == ObjectType::Preference;
        let says_when = revision.valid().from.is_some();
        let recorded = status.recorded.or(status.transaction.from);
        let policy = match revision.conflict_policy() {
            // Data may give way. It takes nothing down by asking.
            Some(ConflictPolicy::Ask) if revision.authority_level() == Authority::Data => None,
            own => own,
        };
        Standing {
            authority: revision.authority_level(),
            valid: object.valid(),
            since: revision.valid().from,
            source_authority: revision.source_authority(),
            confidence: revision.confidence(),
            preference,
            recorded: recorded.filter(|_| preference && !says_when),
            narrowness: Narrowness::of(revision.scope()),
            policy: policy.unwrap_or(ConflictPolicy::Protocols),
        }
    }

    /// The instant from which on it is said to hold; none where nobody knows, which is before all others. A part that another
    /// write has cut off is no newer than the whole was.
    pub fn begin(&self) -> Option<Instant> {
        self.recorded.filter(|_| self.preference).or(self.since)
    }
}

vocabulary! {
    /// The ground on which one claim stands and another does not.
    Ground ("ground") {
        /// The loser's own policy: it gives way.
        GaveWay = "gave_way",
        /// The higher authority.
        Authority = "authority",
        /// The policy of one of the two, which leaves it to a person.
        Asks = "asks",
        /// The narrower scope of two preferences.
        Scope = "scope",
        /// The later begin of its time.
        ValidFrom = "valid_from",
        /// The later begin, of a preference that holds since it was said.
        Recorded = "recorded",
        /// The better source.
        SourceAuthority = "source_authority",
        /// The higher confidence.
        Confidence = "confidence",
        /// Nothing tells them apart.
        Tie = "tie",
        /// Somebody decided so.
        Person = "person",
    }
}

vocabulary! {
    /// The one of two that does not stand.
    Loser ("loser") {
        /// The first.
        First = "first",
        /// The second.
        Second = "second",
        /// Neither stands.
        Both = "both",
        /// Both stand.
        Neither = "neither",
    }
}

impl Ground {
    /// The standing of what loses on this ground: overridden by what goes before it, or disputed, as both are where neither stands.
    pub const fn status(self) -> ContradictionStatus {
        match self {
            Ground::Asks | Ground::SourceAuthority | Ground::Confidence | Ground::Tie => {
                ContradictionStatus::Disputed
            }
            _ => ContradictionStatus::Overridden,
        }
    }
}

impl Loser {
    /// Returns the loser of the pair the other way round.
    #[must_use]
    pub const fn swapped(self) -> Loser {
        match self {
            Loser::First => Loser::Second,
            Loser::Second => Loser::First,
            Loser::Both | Loser::Neither => self,
        }
    }
}

/// The judgement on a pair of claims: which does not stand, for which time, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// The one that does not stand.
    pub loser: Loser,
    /// The time for which it does not.
    pub window: Interval,
    /// The ground.
    pub ground: Ground,
}

impl Judgement {
    /// The standing of the loser. A policy that quarantines what higher authority overrides
    /// ([`Contradictions`](crate::policy::Contradictions)) acts in its own compiles alone, and changes no judgement.
    pub const fn status(&self) -> ContradictionStatus {
        self.ground.status()
    }

    /// Returns whether the one that stands replaced the other, as what is newer does.
    pub const fn is_supersession(&self) -> bool {
        matches!(self.ground, Ground::ValidFrom | Ground::Recorded)
    }

    /// Returns the judgement on the pair the other way round.
    #[must_use]
    pub const fn swapped(self) -> Judgement {
        Judgement {
            loser: self.loser.swapped(),
            ..self
        }
    }
}

/// Judges two claims on one slot that cannot both hold; none where they share no time.
pub fn judge(a: &Standing, b: &Standing) -> Option<Judgement> {
    let window = overlap(a.valid, b.valid)?;
    let narrower = if a.preference && b.preference {
        a.narrowness.cmp(&b.narrowness)
    } else {
        Ordering::Equal
    };
    let is_said = |one: &Standing| one.preference && one.recorded.is_some();
    let begins = if is_said(a) || is_said(b) {
        Ground::Recorded
    } else {
        Ground::ValidFrom
    };
    let yields = |one: &Standing| one.policy == ConflictPolicy::GiveWay;
    let asks = [a, b].iter().any(|one| one.policy == ConflictPolicy::Ask);
    let first = [
        (Ground::GaveWay, yields(b).cmp(&yields(a))),
        // The lower level is the higher authority.
        (Ground::Authority, b.authority.cmp(&a.authority)),
    ];
    let then = [
        (Ground::Scope, narrower),
        (begins, a.begin().cmp(&b.begin())),
        (
            Ground::SourceAuthority,
            a.source_authority.cmp(&b.source_authority),
        ),
        (Ground::Confidence, a.confidence.cmp(&b.confidence)),
    ];
    let decided = |compared: &[(Ground, Ordering)]| {
        let mut compared = compared.iter().copied();
        compared.find(|(_, order)| order.is_ne())
    };
    let decided = match decided(&first) {
        None if asks => {
            return Some(Judgement {
                loser: Loser::Both,
                window,
                ground: Ground::Asks,
            });
        }
        None => decided(&then),
        known => known,
    };
    let (ground, loser) = match decided {
        Some((ground, Ordering::Greater)) => (ground, Loser::Second),
        Some((ground, _)) => (ground, Loser::First),
        None => (Ground::Tie, Loser::Both),
    };
    Some(Judgement {
        loser,
        window,
        ground,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::belief::interval::{Action, action, relate};

    fn narrow() -> Narrowness {
        Narrowness::of(&crate::object::Scope {
            tenant: "t".into(),
            user: None,
            project: Some("x".into()),
            session: None,
            task: None,
            allow_roles: Box::default(),
            deny_roles: Box::default(),
        })
    }

    fn standing() -> impl Strategy<Value = Standing> {
        let end = || prop::option::of(0i64..6);
        let score = || (0u32..3).prop_map(|part| Score::from_millionths(part * 400_000));
        let level = prop_oneof![
            Just(Authority::Platform),
            Just(Authority::User),
            Just(Authority::Data)
        ];
        let policy = prop_oneof![
            6 => Just(ConflictPolicy::Protocols),
            1 => Just(ConflictPolicy::GiveWay),
            1 => Just(ConflictPolicy::Ask)
        ];
        let facts = (end(), end(), score(), score(), any::<bool>(), end());
        let cut = prop_oneof![3 => Just(None), 1 => Just(Some(None)), 1 => Just(Some(Some(-1)))];
        let scope = prop_oneof![Just(Narrowness::default()), Just(narrow())];
        (level, facts, policy, (scope, cut)).prop_map(
            |(
                authority,
                (from, until, source_authority, confidence, preference, recorded),
                policy,
                (narrowness, cut),
            )| {
                Standing {
                    authority,
                    valid: Interval {
                        from: from.map(Instant::from_micros),
                        until: until.map(Instant::from_micros),
                    },
                    since: cut.filter(|_| from.is_some()).unwrap_or(from).map(Instant::from_micros),
                    source_authority,
                    confidence,
                    preference,
                    recorded: recorded.map(Instant::from_micros),
                    narrowness,
                    policy,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn a_pair_is_judged_alike_from_both_sides(a in standing(), b in standing()) {
            prop_assert_eq!(judge(&a, &b).map(Judgement::swapped), judge(&b, &a));
        }

        // No claim of lower authority takes anything from one of higher authority, unless that gives way by itself.
        #[test]
        fn authority_is_never_overruled(a in standing(), b in standing()) {
            if let Some(judgement) = judge(&a, &b)
                && a.authority < b.authority
                && a.policy != ConflictPolicy::GiveWay
            {
                let ground = if b.policy == ConflictPolicy::GiveWay {
                    Ground::GaveWay
                } else {
                    Ground::Authority
                };
                prop_assert_eq!((judgement.loser, judgement.ground), (Loser::Second, ground));
            }
        }

        // Of equal authority, the table of actions holds.
        #[test]
        fn the_table_of_actions_holds(a in standing(), b in standing()) {
            // Preferences have a rule of their own for scopes, and for when they begin.
            let fact = |one: Standing| Standing {
                authority: a.authority,
                policy: ConflictPolicy::Protocols,
                preference: false,
                since: one.valid.from,
                ..one
            };
            let (a, b) = (fact(a), fact(b));
            let judgement = judge(&a, &b);
            let Some(relation) = relate(a.valid, b.valid) else {
                prop_assert_eq!(judgement, None);
                return Ok(());
            };
            let later = if a.valid.from > b.valid.from { Loser::Second } else { Loser::First };
            match action(relation) {
                Action::Sequence => prop_assert_eq!(judgement, None),
                Action::EarlierEnds | Action::Exception => {
                    let judgement = judgement.unwrap();
                    // The shorter of two, of which one holds the other, begins later.
                    prop_assert_eq!((judgement.loser, judgement.ground), (later, Ground::ValidFrom));
                    prop_assert_eq!(judgement.window.from, a.valid.from.max(b.valid.from));
                }
                Action::Protocols => {
                    let judgement = judgement.unwrap();
                    prop_assert!(!matches!(judgement.ground, Ground::Authority | Ground::ValidFrom));
                    prop_assert_eq!(judgement.loser == Loser::Both, judgement.ground == Ground::Tie);
                }
            }
        }
    }

    #[test]
    fn a_newer_preference_supersedes_and_an_inferred_one_does_not() {
        let standing = |level, recorded| Standing {
            authority: level,
            valid: Interval::UNKNOWN,
            since: None,
            source_authority: Score::ONE,
            confidence: Score::ONE,
            preference: true,
            recorded: Some(Instant::from_micros(recorded)),
            narrowness: Narrowness::default(),
            policy: ConflictPolicy::Protocols,
        };
        let old = standing(Authority::User, 1);
        let judgement = judge(&old, &standing(Authority::User, 2)).unwrap();
        assert_eq!(
            (judgement.loser, judgement.ground),
            (Loser::First, Ground::Recorded)
        );
        assert!(judgement.is_supersession());
        let judgement = judge(&old, &standing(Authority::Memory, 2)).unwrap();
        assert_eq!(
            (judgement.loser, judgement.ground),
            (Loser::Second, Ground::Authority)
        );
        // What is said now goes before what was said to hold since a day that is past; and a late word on the past does not
        // go before what was said since.
        let since = |from, recorded| Standing {
            valid: Interval {
                from: Some(Instant::from_micros(from)),
                until: None,
            },
            since: Some(Instant::from_micros(from)),
            recorded: None,
            ..standing(Authority::User, recorded)
        };
        for late in [3, 9] {
            let judgement = judge(&since(1, late), &standing(Authority::User, 2)).unwrap();
            assert_eq!(
                (judgement.loser, judgement.ground),
                (Loser::First, Ground::Recorded)
            );
        }
        let judgement = judge(&since(4, 1), &standing(Authority::User, 2)).unwrap();
        assert_eq!(judgement.loser, Loser::Second);
        // The narrower of two scopes is an exception, whichever came later.
        let exception = Standing {
            narrowness: narrow(),
            ..old
        };
        let judgement = judge(&standing(Authority::User, 2), &exception).unwrap();
        assert_eq!(
            (judgement.loser, judgement.ground),
            (Loser::First, Ground::Scope)
        );
        assert!(!judgement.is_supersession());
        let inferred = Standing {
            authority: Authority::Memory,
            ..exception
        };
        let judgement = judge(&old, &inferred).unwrap();
        assert_eq!(judgement.ground, Ground::Authority);
        let stated = Standing {
            preference: false,
            ..old
        };
        let other = Standing {
            preference: false,
            ..standing(Authority::User, 2)
        };
        let judgement = judge(&stated, &other).unwrap();
        assert_eq!(
            (judgement.loser, judgement.ground),
            (Loser::Both, Ground::Tie)
        );
        assert_eq!(judgement.status(), ContradictionStatus::Disputed);
    }

    // A part that was cut from what holds since ever begins where the cut ends, and is no newer for it.
    #[test]
    fn a_part_is_no_newer_than_the_whole() {
        let whole = |from: Option<i64>| Standing {
            authority: Authority::User,
            valid: Interval {
                from: from.map(Instant::from_micros),
                until: None,
            },
            since: from.map(Instant::from_micros),
            source_authority: Score::ONE,
            confidence: Score::ONE,
            preference: false,
            recorded: None,
            narrowness: Narrowness::default(),
            policy: ConflictPolicy::Protocols,
        };
        for since in [None, Some(1)] {
            let part = Standing {
                since: since.map(Instant::from_micros),
                ..whole(Some(5))
            };
            let judgement = judge(&part, &whole(Some(3))).unwrap();
            assert_eq!(
                (judgement.loser, judgement.ground, judgement.window.from),
                (Loser::First, Ground::ValidFrom, part.valid.from)
            );
        }
    }

    #[test]
    fn an_object_says_what_a_contradiction_does_to_it() {
        let claim = |authority, from: i64, policy| Standing {
            authority,
            valid: Interval {
                from: Some(Instant::from_micros(from)),
                until: None,
            },
            since: Some(Instant::from_micros(from)),
            source_authority: Score::ONE,
            confidence: Score::ONE,
            preference: false,
            recorded: None,
            narrowness: Narrowness::default(),
            policy,
        };
        let judged = |a, b| {
            let judgement = judge(&a, &b).unwrap();
            (judgement.loser, judgement.ground, judgement.status())
        };
        let (protocols, yields, asks) = (
            ConflictPolicy::Protocols,
            ConflictPolicy::GiveWay,
            ConflictPolicy::Ask,
        );
        let overridden = ContradictionStatus::Overridden;
        // A default of the platform gives way to what data says.
        assert_eq!(
            judged(
                claim(Authority::Platform, 2, yields),
                claim(Authority::Data, 1, protocols)
            ),
            (Loser::First, Ground::GaveWay, overridden)
        );
        assert_eq!(
            judged(
                claim(Authority::User, 2, yields),
                claim(Authority::User, 1, yields)
            ),
            (Loser::Second, Ground::ValidFrom, overridden)
        );
        // What asks takes nothing down that has more authority.
        assert_eq!(
            judged(
                claim(Authority::Platform, 1, protocols),
                claim(Authority::Data, 2, asks)
            ),
            (Loser::Second, Ground::Authority, overridden)
        );
        assert_eq!(
            judged(
                claim(Authority::User, 1, protocols),
                claim(Authority::User, 2, asks)
            ),
            (Loser::Both, Ground::Asks, ContradictionStatus::Disputed)
        );
    }
}
