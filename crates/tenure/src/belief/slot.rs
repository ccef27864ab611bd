//! The claims on one slot of one entity, and which of them do not stand in one view.

mod index;

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::time::{Instant, Interval, Position};
use crate::belief::claim::Claim;
use crate::belief::protocol::{Ground, Judgement, Loser, Standing, judge};
use crate::belief::scope::exclude;
use crate::object::{Authority, ConflictPolicy, ContextObject, ObjectType, Scope, SlotCardinality};
use index::Index;

/// A claim on a slot, as one view has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlotClaim {
    /// The claim.
    pub claim: Claim,
    /// Its standing.
    pub standing: Standing,
    /// True if its slot holds any number of values.
    pub multiple: bool,
    /// The scope in which it is claimed.
    pub scope: Arc<Scope>,
}

/// The ids of the entities that an object is about: those that it names, else its subjects, else the user of a preference or
/// of a fact about a user.
pub fn about(object: &ContextObject) -> impl Iterator<Item = &str> {
    let revision = object.revision();
    let rare = revision.rare();
    let named = if rare.entities.is_empty() {
        &rare.subjects
    } else {
        &rare.entities
    };
    let of_user = matches!(
        revision.object_type(),
        ObjectType::Preference | ObjectType::IdentityFact
    );
    let user = revision.scope().user.as_deref().filter(|_| named.is_empty() && of_user);
    named.iter().map(String::as_str).chain(user)
}

impl SlotClaim {
    /// The claim of an object and the entities that it is about; none where it makes no claim that can be read, or is
    /// about nothing that is named. A preference or a fact about a user that names no entity is about its user.
    pub fn of(object: &ContextObject) -> Option<(Vec<String>, SlotClaim)> {
        let revision = object.revision();
        let rare = revision.rare();
        let claim = rare.normalized_claim.as_deref()?.parse().ok()?;
        let mut entities: Vec<String> = about(object).map(str::to_owned).collect();
        entities.sort_unstable();
        entities.dedup();
        let claim = SlotClaim {
            claim,
            standing: Standing::of(object),
            // Data exempts nothing, itself included.
            multiple: rare.slot_cardinality == Some(SlotCardinality::Multiple)
                && revision.authority_level() != Authority::Data,
            scope: Arc::clone(revision.scope()),
        };
        (!entities.is_empty()).then_some((entities, claim))
    }

    /// Returns whether both can hold at once: their values agree, one of them says that the slot holds several, or nobody
    /// is in the scope of both.
    pub fn agrees_with(&self, other: &SlotClaim) -> bool {
        self.multiple
            || other.multiple
            || self.claim.agrees_with(&other.claim)
            || exclude(&self.scope, &other.scope)
    }

    /// Returns whether nothing but their confidence could tell which of two claims on one slot stands: they cannot both hold, and
    /// all that goes before it is equal.
    pub fn is_rival_of(&self, other: &SlotClaim) -> bool {
        let as_sure = Standing {
            confidence: self.standing.confidence,
            ..other.standing
        };
        let judgement = judge(&self.standing, &as_sure);
        !self.agrees_with(other) && judgement.is_some_and(|one| one.ground == Ground::Tie)
    }

    /// The judgement on two claims on one slot; none where both stand.
    pub fn against(&self, other: &SlotClaim) -> Option<Judgement> {
        if self.agrees_with(other) {
            return None;
        }
        judge(&self.standing, &other.standing)
    }

    /// The coarse part of its standing, by which claims are gone through first. Where something goes before the begin, that
    /// `tells` nothing.
    fn coarse(&self, tells: bool) -> (bool, u8, Reverse<Option<Instant>>) {
        let from = tells.then(|| self.standing.begin()).flatten();
        (
            self.standing.policy == ConflictPolicy::GiveWay,
            self.standing.authority.level(),
            Reverse(from),
        )
    }
}

/// A claim that does not stand, and what it is defeated by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Defeat {
    /// The place of the one that defeats it.
    pub by: usize,
    /// The judgement on both, of which the defeated is the first.
    pub judgement: Judgement,
}

/// The claims on one slot that do not stand at an instant, or at any where none is asked for, each with the strongest
/// that defeats it; of equally strong ones, one by a judgement that was made before. `judged` are these judgements on pairs of
/// places, the lower place first; all other pairs are judged here. A claim is defeated by one that is itself defeated, too: of two
/// that cannot both hold, never both stand, unless a person decided that they do.
pub fn defeats<C: Borrow<SlotClaim>>(
    claims: &[C],
    at: Option<Instant>,
    judged: &BTreeMap<(usize, usize), Judgement>,
) -> BTreeMap<usize, Defeat> {
    let order = order(claims);
    if claims.len() <= ONE_BY_ONE {
        return defeats_one_by_one(claims, &order, at, judged);
    }
    defeats_by_index(claims, &order, at, judged)
}

/// The most claims of a slot that are compared pair by pair: for so few, an index costs more.
const ONE_BY_ONE: usize = 32;

/// The places of claims, the strongest first.
struct Order {
    places: Vec<usize>,
    /// Of each rank, the first one whose claim is as strong.
    first: Vec<usize>,
}

fn order<C: Borrow<SlotClaim>>(claims: &[C]) -> Order {
    let standing = |place: usize| &claims[place].borrow().standing;
    let places = 0..claims.len();
    let mut scopes = places
        .clone()
        .filter(|place| standing(*place).preference)
        .map(|place| standing(place).narrowness);
    let first = scopes.next();
    // One of the slot that leaves it to a person, and a narrower scope, go before the begin.
    let tells = !places.clone().any(|place| standing(place).policy == ConflictPolicy::Ask)
        && scopes.all(|other| Some(other) == first);
    let strength = |place: usize| {
        let standing = standing(place);
        let narrowness = standing.preference.then_some(standing.narrowness);
        let quality = (standing.source_authority, standing.confidence);
        (
            claims[place].borrow().coarse(tells),
            Reverse((narrowness, standing.begin(), quality)),
            // What leaves it to a person ties with others than what is as strong besides.
            standing.policy == ConflictPolicy::Ask,
        )
    };
    let mut order: Vec<usize> = places.collect();
    order.sort_by_key(|place| (strength(*place), *place));
    let mut first: Vec<usize> = Vec::with_capacity(order.len());
    for (rank, place) in order.iter().enumerate() {
        let before = rank.checked_sub(1);
        let equal = before.filter(|before| strength(order[*before]) == strength(*place));
        first.push(equal.map_or(rank, |before| first[before]));
    }
    Order {
        places: order,
        first,
    }
}

/// The strongest of defeats, given by their ranks in order. Which of equally strong claims has the lower place says nothing: what
/// was decided between two goes before a tie with a third, in every view.
fn strongest(
    mut each: impl Iterator<Item = (usize, Defeat)>,
    order: &Order,
    is_judged: impl Fn(usize) -> bool,
) -> Option<Defeat> {
    let (rank, defeat) = each.next()?;
    if is_judged(defeat.by) {
        return Some(defeat);
    }
    let mut judged = each
        .take_while(|(other, _)| order.first[*other] == order.first[rank])
        .filter(|(_, other)| is_judged(other.by));
    Some(judged.next().map_or(defeat, |(_, other)| other))
}

fn inside(window: Interval, at: Option<Instant>) -> bool {
    at.is_none_or(|at| window.locate(at) == Position::Inside)
}

/// The judgement on these two places, as of the first of them; none where both stand.
fn judgement<C: Borrow<SlotClaim>>(
    claims: &[C],
    judged: &BTreeMap<(usize, usize), Judgement>,
    (place, other): (usize, usize),
) -> Option<Judgement> {
    match judged.get(&(place.min(other), place.max(other))) {
        Some(known) if place < other => Some(*known),
        Some(known) => Some(known.swapped()),
        None => claims[place].borrow().against(claims[other].borrow()),
    }
}

fn defeats_one_by_one<C: Borrow<SlotClaim>>(
    claims: &[C],
    order: &Order,
    at: Option<Instant>,
    judged: &BTreeMap<(usize, usize), Judgement>,
) -> BTreeMap<usize, Defeat> {
    let defeat = |place: usize| {
        let others = order.places.iter().copied().enumerate();
        let each = others
            .filter(|(_, by)| *by != place)
            .filter_map(|(rank, by)| Some((rank, defeat_by(claims, judged, (place, by), at)?)));
        let is_judged = |by| judged.contains_key(&(place.min(by), place.max(by)));
        Some((place, strongest(each, order, is_judged)?))
    };
    (0..claims.len()).filter_map(defeat).collect()
}

/// The defeat of the first of two places by the other; none where it stands.
fn defeat_by<C: Borrow<SlotClaim>>(
    claims: &[C],
    judged: &BTreeMap<(usize, usize), Judgement>,
    (place, by): (usize, usize),
    at: Option<Instant>,
) -> Option<Defeat> {
    let judgement = judgement(claims, judged, (place, by))?;
    let loses = matches!(judgement.loser, Loser::First | Loser::Both);
    (loses && inside(judgement.window, at)).then_some(Defeat { by, judgement })
}

fn defeats_by_index<C: Borrow<SlotClaim>>(
    claims: &[C],
    order: &Order,
    at: Option<Instant>,
    judged: &BTreeMap<(usize, usize), Judgement>,
) -> BTreeMap<usize, Defeat> {
    let index = Index::of(claims, &order.places, at);
    let mut ranks = vec![0; claims.len()];
    for (rank, place) in order.places.iter().enumerate() {
        ranks[*place] = rank;
    }
    // Somebody may have decided for the weaker of two.
    let mut decided: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (a, b) in judged.keys() {
        for (one, other) in [(a, b), (b, a)] {
            decided.entry(*one).or_default().insert(ranks[*other]);
        }
    }
    let none = BTreeSet::new();
    let defeat = |(rank, place): (usize, &usize)| {
        let decided = decided.get(place).unwrap_or(&none);
        let by_standing = index.strongest(rank, decided);
        let mut others: BTreeSet<usize> = decided.clone();
        others.extend(by_standing);
        let each = others.into_iter().filter_map(|other| {
            let both = (*place, order.places[other]);
            Some((other, defeat_by(claims, judged, both, at)?))
        });
        Some((
            *place,
            strongest(each, order, |by| decided.contains(&ranks[by]))?,
        ))
    };
    order.places.iter().enumerate().filter_map(defeat).collect()
}

/// The judgement of somebody who decided between two: it holds for all the time that both share.
impl Judgement {
    /// The judgement that this one of two does not stand, by somebody's decision.
    pub const fn decided(loser: Loser) -> Judgement {
        Judgement {
            loser,
            window: Interval::UNKNOWN,
            ground: Ground::Person,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::num::Score;
    use crate::belief::scope::Narrowness;

    fn of_project(project: Option<&str>) -> Arc<Scope> {
        Arc::new(Scope {
            tenant: "t".into(),
            user: None,
            project: project.map(Into::into),
            session: None,
            task: None,
            allow_roles: Box::default(),
            deny_roles: Box::default(),
        })
    }

    fn any_claim() -> impl Strategy<Value = SlotClaim> {
        let end = || prop::option::of(0i64..6);
        let level = prop_oneof![Just(Authority::Developer), Just(Authority::User)];
        let text = prop_oneof![
            (0i64..3).prop_map(|value| format!("s == {value}")),
            (0i64..3).prop_map(|value| format!("s > {value}")),
            (0i64..3).prop_map(|value| format!("s != {value}")),
        ];
        let policy = prop_oneof![
            8 => Just(ConflictPolicy::Protocols),
            1 => Just(ConflictPolicy::GiveWay),
            1 => Just(ConflictPolicy::Ask)
        ];
        let facts = (end(), end(), any::<bool>(), end(), 0u32..2, policy);
        let project = prop_oneof![2 => Just(None), 1 => Just(Some("x")), 1 => Just(Some("y"))];
        (text, level, facts, prop::bool::weighted(0.1), project).prop_map(
            |(
                text,
                authority,
                (from, until, preference, recorded, source, policy),
                multiple,
                project,
            )| {
                let scope = of_project(project);
                SlotClaim {
                    claim: text.parse().unwrap(),
                    standing: Standing {
                        authority,
                        valid: Interval {
                            from: from.map(Instant::from_micros),
                            until: until.map(Instant::from_micros),
                        },
                        since: from.filter(|_| source == 0).map(Instant::from_micros),
                        source_authority: Score::from_millionths(source * 500_000),
                        confidence: Score::ONE,
                        preference,
                        recorded: recorded.map(Instant::from_micros),
                        narrowness: Narrowness::of(&scope),
                        policy,
                    },
                    multiple,
                    scope,
                }
            },
        )
    }

    /// Any claim, with all operators and kinds of values, for all kinds of scopes.
    fn any_claim_of_a_wide_world() -> impl Strategy<Value = SlotClaim> {
        let value = prop_oneof![
            6 => (0i64..5).prop_map(|value| value.to_string()),
            1 => (1i64..4).prop_map(|day| format!("2026-01-0{day}")),
            1 => Just("red".to_owned()),
        ];
        let ops = prop_oneof![
            4 => Just("=="), 2 => Just("!="), 2 => Just(">"), 1 => Just(">="), 2 => Just("<"), 1 => Just("<="), 2 => Just("in")
        ];
        let text = (ops, value.clone(), value).prop_map(|(op, one, other)| match op {
            "in" => format!("s in [{one}, {other}]"),
            _ if one == "red" && !matches!(op, "==" | "!=") => format!("s {op} 3"),
            _ => format!("s {op} {one}"),
        });
        let label = || prop_oneof![3 => Just(None), 1 => Just(Some("x")), 1 => Just(Some("y"))];
        let roles =
            || prop_oneof![5 => Just(&[][..]), 1 => Just(&["a"][..]), 1 => Just(&["a", "b"][..])];
        let scope = (label(), label(), label(), label(), roles(), roles());
        (any_claim(), text, scope).prop_map(
            |(claim, text, (user, project, session, task, allow, deny))| {
                let named = |roles: &[&str]| roles.iter().map(|role| Box::from(*role)).collect();
                let scope = Arc::new(Scope {
                    tenant: "t".into(),
                    user: user.map(Into::into),
                    project: project.map(Into::into),
                    session: session.map(Into::into),
                    task: task.map(Into::into),
                    allow_roles: named(allow),
                    deny_roles: named(deny),
                });
                SlotClaim {
                    claim: text.parse().unwrap(),
                    standing: Standing {
                        narrowness: Narrowness::of(&scope),
                        ..claim.standing
                    },
                    scope,
                    ..claim
                }
            },
        )
    }

    /// Each pair, one after the other.
    fn oracle(
        claims: &[SlotClaim],
        at: Option<Instant>,
        judged: &BTreeMap<(usize, usize), Judgement>,
    ) -> Vec<usize> {
        let loses = |a: usize| {
            (0..claims.len()).any(|b| {
                if a == b {
                    return false;
                }
                let judgement = match judged.get(&(a.min(b), a.max(b))) {
                    Some(known) if a < b => Some(*known),
                    Some(known) => Some(known.swapped()),
                    None => claims[a].against(&claims[b]),
                };
                judgement.is_some_and(|judgement| {
                    matches!(judgement.loser, Loser::First | Loser::Both)
                        && at.is_none_or(|at| judgement.window.locate(at) == Position::Inside)
                })
            })
        };
        (0..claims.len()).filter(|a| loses(*a)).collect()
    }

    fn any_decision() -> impl Strategy<Value = Loser> {
        prop_oneof![
            Just(Loser::First),
            Just(Loser::Second),
            Just(Loser::Both),
            Just(Loser::Neither)
        ]
    }

    /// The decisions between two of these claims, the lower place first.
    fn judged(
        claims: &[SlotClaim],
        decisions: BTreeMap<(usize, usize), Loser>,
    ) -> BTreeMap<(usize, usize), Judgement> {
        decisions
            .into_iter()
            .filter(|((a, b), _)| a < b && *b < claims.len())
            .map(|(pair, loser)| (pair, Judgement::decided(loser)))
            .collect()
    }

    proptest! {
        #[test]
        fn what_stands_is_what_no_pair_defeats(
            claims in prop::collection::vec(any_claim(), 0..9),
            at in prop::option::of(-1i64..7),
            decisions in prop::collection::btree_map((0usize..9, 0usize..9), any_decision(), 0..3),
        ) {
            let at = at.map(Instant::from_micros);
            let judged = judged(&claims, decisions);
            let found = defeats(&claims, at, &judged);
            prop_assert_eq!(found.keys().copied().collect::<Vec<_>>(), oracle(&claims, at, &judged));
        }

        // The index finds what a look at each pair finds, whoever is in whose scope and whatever is claimed.
        #[test]
        fn the_index_finds_what_each_pair_shows(
            claims in prop::collection::vec(any_claim_of_a_wide_world(), 0..40),
            at in prop::option::of(-1i64..7),
            decisions in prop::collection::btree_map((0usize..40, 0usize..40), any_decision(), 0..4),
        ) {
            let at = at.map(Instant::from_micros);
            let judged = judged(&claims, decisions);
            let order = order(&claims);
            prop_assert_eq!(
                defeats_by_index(&claims, &order, at, &judged),
                defeats_one_by_one(&claims, &order, at, &judged)
            );
        }

        // Whatever part of the claims a view has, no two stand in it that cannot both hold then.
        #[test]
        fn no_view_has_two_that_cannot_both_hold(
            claims in prop::collection::vec(any_claim(), 0..9),
            seen in prop::collection::vec(any::<bool>(), 9),
            at in -1i64..7,
        ) {
            let at = Instant::from_micros(at);
            let view: Vec<SlotClaim> = claims
                .into_iter()
                .zip(seen)
                .filter(|(claim, seen)| {
                    *seen && claim.standing.valid.locate(at) == Position::Inside
                })
                .map(|(claim, _)| claim)
                .collect();
            let lost = defeats(&view, Some(at), &BTreeMap::new());
            let live: Vec<&SlotClaim> = (0..view.len())
                .filter(|place| !lost.contains_key(place))
                .map(|place| &view[place])
                .collect();
            for (place, one) in live.iter().enumerate() {
                for other in &live[place + 1..] {
                    prop_assert!(one.agrees_with(other), "{:?} {:?}", one, other);
                }
            }
        }

        #[test]
        fn the_order_of_claims_changes_nothing(
            claims in prop::collection::vec(any_claim(), 0..8).prop_shuffle(),
            at in prop::option::of(0i64..6),
            decisions in prop::collection::btree_map((0usize..8, 0usize..8), any_decision(), 0..6),
        ) {
            let at = at.map(Instant::from_micros);
            let turned: Vec<SlotClaim> = claims.iter().rev().cloned().collect();
            let last = claims.len().saturating_sub(1);
            let judged = judged(&claims, decisions);
            let turn = |((a, b), judgement): (&(usize, usize), &Judgement)| {
                ((last - b, last - a), judgement.swapped())
            };
            // What waits for a decision does so in every order.
            let waits = |defeat: &Defeat| {
                defeat.judgement.loser == Loser::Both && defeat.judgement.ground != Ground::Person
            };
            let one: BTreeMap<usize, bool> = defeats(&claims, at, &judged)
                .iter()
                .map(|(place, defeat)| (*place, waits(defeat)))
                .collect();
            let other: BTreeMap<usize, bool> = defeats(&turned, at, &judged.iter().map(turn).collect())
                .iter()
                .map(|(place, defeat)| (last - place, waits(defeat)))
                .collect();
            prop_assert_eq!(one, other);
        }
    }

    /// The claim of a number, since its instant: of a rule, or of a preference of a project.
    fn numbered(number: i64, claim: &str, project: Option<&str>, preference: bool) -> SlotClaim {
        let scope = of_project(project);
        SlotClaim {
            claim: claim.parse().unwrap(),
            standing: Standing {
                authority: Authority::User,
                valid: Interval {
                    from: Some(Instant::from_micros(number)),
                    until: None,
                },
                since: Some(Instant::from_micros(number)),
                source_authority: Score::ONE,
                confidence: Score::ONE,
                preference,
                recorded: None,
                narrowness: Narrowness::of(&scope),
                policy: ConflictPolicy::Protocols,
            },
            multiple: false,
            scope,
        }
    }

    #[test]
    fn ten_thousand_claims_on_one_slot_are_settled_one_by_one() {
        let claims: Vec<SlotClaim> = (0..10_000)
            .map(|value| numbered(value, &format!("s == {value}"), None, false))
            .collect();
        let lost = defeats(&claims, None, &BTreeMap::new());
        assert_eq!(lost.len(), 9_999);
        assert!(!lost.contains_key(&9_999));
        assert!(lost.values().all(|defeat| defeat.by == 9_999));
    }

    // Whatever the claims are, what is looked at grows with their number and not with its square.
    #[test]
    fn many_claims_on_one_slot_cost_little_each() {
        let all: [fn(i64) -> SlotClaim; 9] = [
            |at| numbered(at, &format!("s == {at}"), None, false),
            // All agree, by value and by bound.
            |at| numbered(at, "s == 1", None, false),
            |at| numbered(at, &format!("s > {at}"), None, false),
            |at| numbered(at, &format!("s != {at}"), None, at % 2 == 0),
            |at| {
                numbered(
                    at,
                    ["s == 1", "s > 0", "s < 9"][at as usize % 3],
                    None,
                    false,
                )
            },
            // One preference of another scope, and as many scopes as claims.
            |at| {
                numbered(
                    at,
                    &format!("s == {}", at % 2),
                    Some("x").filter(|_| at == 0),
                    true,
                )
            },
            |at| numbered(at, "s == 1", Some("x").filter(|_| at == 0), true),
            |at| {
                let project = at.to_string();
                let project = Some(&*project).filter(|_| at % 2 == 0);
                numbered(at, &format!("s == {}", at % 3), project, true)
            },
            // One after the other.
            |at| {
                let claim = numbered(at, &format!("s == {at}"), None, false);
                let until = Some(Instant::from_micros(at + 1));
                SlotClaim {
                    standing: Standing {
                        valid: Interval {
                            until,
                            ..claim.standing.valid
                        },
                        ..claim.standing
                    },
                    ..claim
                }
            },
        ];
        for (mix, claim) in all.iter().enumerate() {
            for count in [100, 1_000, 10_000] {
                let claims: Vec<SlotClaim> = (0..count).map(claim).collect();
                let order = order(&claims);
                let index = Index::of(&claims, &order.places, None);
                let none = BTreeSet::new();
                let lost = (0..claims.len())
                    .filter(|rank| index.strongest(*rank, &none).is_some())
                    .count();
                let looks = index.looks.get() / claims.len();
                assert!(
                    looks <= 64,
                    "{mix}: {looks} looks at each of {count}, {lost} lost"
                );
            }
        }
    }
}
