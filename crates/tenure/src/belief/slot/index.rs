//! The claims on one slot, so that the strongest that defeats another is found without a look at each.
//!
//! Claims of one class (policy, authority, preference and how narrow, roles) defeat what they defeat by strength alone: those
//! that defeat another claim are the first of the class. Within a class, claims whose scopes have the same labels stand in
//! one tree for each set of labels that another scope may share with them, so that nobody is looked at whom the scope
//! excludes. A node of a tree knows between which instants its claims hold and what they say at most; one that holds nothing
//! that could collide is passed over whole.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use super::SlotClaim;
use crate::base::time::{Instant, Interval, Position};
use crate::belief::claim::Claim;
use crate::belief::protocol::{Loser, Standing, judge};
use crate::belief::scope::{Narrowness, exclude};
use crate::object::claim::Op;
use crate::object::{Authority, ConflictPolicy, Scope};

/// The most different claims of a node that are looked at one by one.
const FEW: usize = 4;

/// The facts that all claims of a class share.
type Class<'c> = (
    ConflictPolicy,
    Authority,
    Option<Narrowness>,
    &'c str,
    &'c [Box<str>],
    &'c [Box<str>],
);

/// The user, the project, the session and the task of a scope.
type Labels<'c> = [Option<&'c str>; 4];

fn labels(scope: &Scope) -> Labels<'_> {
    [&scope.user, &scope.project, &scope.session, &scope.task].map(Option::as_deref)
}

/// The labels that a scope has, a bit each.
fn mask(labels: &Labels<'_>) -> u8 {
    labels
        .iter()
        .enumerate()
        .map(|(at, label)| u8::from(label.is_some()) << at)
        .sum()
}

/// The labels among these that a mask has.
fn within<'c>(labels: &Labels<'c>, mask: u8) -> Labels<'c> {
    let mut kept = *labels;
    for (at, label) in kept.iter_mut().enumerate() {
        *label = label.filter(|_| mask >> at & 1 == 1);
    }
    kept
}

/// A scope without its labels.
fn bare(scope: &Scope) -> Scope {
    Scope {
        user: None,
        project: None,
        session: None,
        task: None,
        ..scope.clone()
    }
}

/// The ends of an interval; what is open reaches beyond every instant.
fn ends(interval: Interval) -> (i128, i128) {
    (
        interval.from.map_or(i128::MIN, |at| at.micros().into()),
        interval.until.map_or(i128::MAX, |at| at.micros().into()),
    )
}

/// Returns whether a claim falls to another, or both do, should they collide.
fn falls_to(one: &Standing, other: &Standing) -> bool {
    let always = |one: &Standing| Standing {
        valid: Interval::UNKNOWN,
        ..*one
    };
    let judgement = judge(&always(one), &always(other));
    judgement.is_some_and(|judgement| matches!(judgement.loser, Loser::First | Loser::Both))
}

/// The claims of one class.
struct Members<'c> {
    /// The scope of all, without labels.
    bare: Scope,
    /// By the labels that they have: all of them, by what those are that another scope may share.
    pools: BTreeMap<(u8, u8), BTreeMap<Labels<'c>, Tree>>,
}

/// The claims on one slot in their order.
pub(super) struct Index<'c, C> {
    claims: &'c [C],
    /// The places of the claims, the strongest first.
    order: &'c [usize],
    at: Option<Instant>,
    classes: BTreeMap<Class<'c>, Members<'c>>,
    /// The number of nodes that were looked at.
    #[cfg(test)]
    pub(super) looks: std::cell::Cell<usize>,
}

impl<'c, C: Borrow<SlotClaim>> Index<'c, C> {
    /// An index of claims, for an instant or for any. What holds beside every other claim is not in it.
    pub(super) fn of(claims: &'c [C], order: &'c [usize], at: Option<Instant>) -> Index<'c, C> {
        let mut masks = BTreeSet::new();
        let mut classes: BTreeMap<Class<'c>, BTreeMap<u8, Vec<usize>>> = BTreeMap::new();
        for (rank, place) in order.iter().enumerate() {
            let claim: &SlotClaim = claims[*place].borrow();
            if claim.multiple {
                continue;
            }
            let own = mask(&labels(&claim.scope));
            masks.insert(own);
            let by_mask = classes.entry(class(claim)).or_default();
            by_mask.entry(own).or_default().push(rank);
        }
        let mut kinds: BTreeMap<&Claim, usize> = BTreeMap::new();
        for place in order {
            kinds.entry(&claims[*place].borrow().claim).or_insert(*place);
        }
        let kind = |rank: usize| {
            let claim: &SlotClaim = claims[order[rank]].borrow();
            kinds.get(&claim.claim).copied().unwrap_or(order[rank])
        };
        let mut index = Index {
            claims,
            order,
            at,
            classes: BTreeMap::new(),
            #[cfg(test)]
            looks: std::cell::Cell::new(0),
        };
        for (class, by_mask) in classes {
            let Some(first) = by_mask.values().flatten().next() else {
                continue;
            };
            let mut pools = BTreeMap::new();
            for (own, ranks) in &by_mask {
                let shared: BTreeSet<u8> = masks.iter().map(|other| other & own).collect();
                for shared in shared {
                    let mut by_labels: BTreeMap<Labels<'c>, Vec<usize>> = BTreeMap::new();
                    for rank in ranks {
                        let labels = within(&labels(&index.claim(*rank).scope), shared);
                        by_labels.entry(labels).or_default().push(*rank);
                    }
                    let trees = by_labels.into_iter().map(|(labels, ranks)| {
                        let tree = Tree::of(
                            ranks,
                            |rank| index.summary(rank, kind(rank)),
                            |a, b| index.joined(a, b),
                        );
                        (labels, tree)
                    });
                    pools.insert((*own, shared), trees.collect());
                }
            }
            let bare = bare(&index.claim(*first).scope);
            index.classes.insert(class, Members { bare, pools });
        }
        index
    }

    fn claim(&self, rank: usize) -> &'c SlotClaim {
        self.claims[self.order[rank]].borrow()
    }

    /// The rank of the strongest that defeats the claim of this rank by its standing, but for those that are left out.
    pub(super) fn strongest(&self, rank: usize, left_out: &BTreeSet<usize>) -> Option<usize> {
        let ours = self.claim(rank);
        if ours.multiple {
            return None;
        }
        let (own, bare) = (labels(&ours.scope), bare(&ours.scope));
        let mut best: Option<usize> = None;
        for members in self.classes.values() {
            if exclude(&bare, &members.bare) {
                continue;
            }
            let shares = |place: &(u8, u8)| place.0 & mask(&own) == place.1;
            for ((_, shared), trees) in members.pools.iter().filter(|(place, _)| shares(place)) {
                let Some(tree) = trees.get(&within(&own, *shared)) else {
                    continue;
                };
                let most = best.unwrap_or(usize::MAX);
                let end = tree.ranks.partition_point(|other| {
                    *other < most && falls_to(&ours.standing, &self.claim(*other).standing)
                });
                best = tree
                    .first(end, &|node| self.may_collide(ours, node), &|other| {
                        let judgement = ours.against(self.claim(other));
                        let inside = judgement.is_some_and(|judgement| {
                            let at = self.at;
                            at.is_none_or(|at| judgement.window.locate(at) == Position::Inside)
                        });
                        other != rank && inside && !left_out.contains(&other)
                    })
                    .or(best);
            }
        }
        best
    }

    fn summary(&self, rank: usize, kind: usize) -> Summary {
        let claim = self.claim(rank);
        let (from, until) = ends(claim.standing.valid);
        let mut summary = Summary {
            from,
            until,
            few: Some(vec![kind]),
            says: [None; 4],
            leaves_out: false,
            others: false,
        };
        match claim.claim.op() {
            Op::Is => (summary.says[LEAST], summary.says[MOST]) = (Some(kind), Some(kind)),
            Op::Above | Op::AtLeast => summary.says[FROM] = Some(kind),
            Op::Below | Op::AtMost => summary.says[UNTIL] = Some(kind),
            Op::IsNot => summary.leaves_out = true,
            Op::In => summary.others = true,
        }
        summary
    }

    fn joined(&self, one: &Summary, other: &Summary) -> Summary {
        let few = one.few.as_ref().zip(other.few.as_ref()).map(|(one, other)| {
            let mut all: Vec<usize> = one.iter().chain(other).copied().collect();
            all.sort_unstable();
            all.dedup();
            all
        });
        let value = |place: usize| {
            let claim: &SlotClaim = self.claims[place].borrow();
            (claim.claim.values().first(), claim.claim.op())
        };
        // Of two bounds at one value, the one that leaves the value out is the narrower.
        let low = |place: &usize| {
            let (value, op) = value(*place);
            (value, op == Op::Above)
        };
        let both = |says: usize| one.says[says].into_iter().chain(other.says[says]);
        // What numbers and instants say of each other, no bound of one of them shows.
        let is_mixed = |says: usize| {
            let kind = |place: usize| value(place).0.map(std::mem::discriminant);
            one.says[says]
                .map(kind)
                .zip(other.says[says].map(kind))
                .is_some_and(|(one, other)| one != other)
        };
        Summary {
            from: one.from.min(other.from),
            until: one.until.max(other.until),
            few: few.filter(|all| all.len() <= FEW),
            says: [
                both(LEAST).min_by_key(|place| value(*place)),
                both(MOST).max_by_key(|place| value(*place)),
                both(FROM).max_by_key(low),
                both(UNTIL).min_by_key(|place| {
                    let (value, op) = value(*place);
                    (value, op != Op::Below)
                }),
            ],
            leaves_out: one.leaves_out || other.leaves_out,
            others: one.others || other.others || is_mixed(FROM) || is_mixed(UNTIL),
        }
    }

    /// Returns whether a node may have a claim that this one collides with.
    fn may_collide(&self, ours: &SlotClaim, node: &Summary) -> bool {
        #[cfg(test)]
        self.looks.set(self.looks.get() + 1);
        let (from, until) = match self.at {
            Some(at) => (i128::from(at.micros()), i128::from(at.micros()) + 1),
            None => ends(ours.standing.valid),
        };
        if node.from >= until || node.until <= from {
            return false;
        }
        let claim = |place: usize| -> &Claim { &self.claims[place].borrow().claim };
        if let Some(few) = &node.few {
            return few.iter().any(|kind| !ours.claim.agrees_with(claim(*kind)));
        }
        let agrees = |place: usize| ours.claim.agrees_with(claim(place));
        // What agrees with the narrowest of bounds to one side agrees with all of them.
        let bounds = [FROM, UNTIL].iter().filter_map(|says| node.says[*says]);
        let sides = |says: usize| node.says[says].map(|place| claim(place).values());
        let points = match ours.claim.op() {
            // Nothing is between one value and itself.
            _ if node.says[LEAST].is_none() => true,
            // A half-line that has two values has all between them.
            Op::Above | Op::AtLeast | Op::Below | Op::AtMost => {
                let mut ends = [LEAST, MOST].iter().filter_map(|says| node.says[*says]);
                ends.all(agrees)
            }
            Op::IsNot => {
                let own = Some(ours.claim.values());
                own < sides(LEAST) || own > sides(MOST)
            }
            Op::Is | Op::In => false,
        };
        // Whoever leaves out a value agrees with all that do not name it alone.
        let is_named = matches!(ours.claim.op(), Op::Is | Op::In) && node.leaves_out;
        node.others || is_named || !points || !bounds.into_iter().all(agrees)
    }
}

fn class(claim: &SlotClaim) -> Class<'_> {
    let standing = &claim.standing;
    (
        standing.policy,
        standing.authority,
        standing.preference.then_some(standing.narrowness),
        &claim.scope.tenant,
        &claim.scope.allow_roles,
        &claim.scope.deny_roles,
    )
}

const LEAST: usize = 0;
const MOST: usize = 1;
const FROM: usize = 2;
const UNTIL: usize = 3;

/// The bounds of what some claims say, and when they hold.
struct Summary {
    /// None holds before.
    from: i128,
    /// None holds from then on.
    until: i128,
    /// The places of one of each claim, where they are few.
    few: Option<Vec<usize>>,
    /// The places of the claims with the least and the most of all values that are given, and with the narrowest bounds.
    says: [Option<usize>; 4],
    /// True if some claims leave out a value.
    leaves_out: bool,
    /// True if there are claims of other kinds, which no bound shows.
    others: bool,
}

/// Claims by rank, the strongest first, with a summary of each run of them whose length is a power of two.
struct Tree {
    ranks: Vec<usize>,
    /// The leaves behind the nodes above them; the root is the second.
    nodes: Vec<Option<Summary>>,
}

impl Tree {
    fn of(
        ranks: Vec<usize>,
        leaf: impl Fn(usize) -> Summary,
        join: impl Fn(&Summary, &Summary) -> Summary,
    ) -> Tree {
        let width = ranks.len().next_power_of_two();
        let mut nodes: Vec<Option<Summary>> = (0..width).map(|_| None).collect();
        nodes.extend(ranks.iter().map(|rank| Some(leaf(*rank))));
        nodes.resize_with(2 * width, || None);
        for at in (1..width).rev() {
            nodes[at] = match (&nodes[2 * at], &nodes[2 * at + 1]) {
                (Some(one), Some(other)) => Some(join(one, other)),
                (Some(one), None) => Some(Summary {
                    few: one.few.clone(),
                    ..*one
                }),
                _ => None,
            };
        }
        Tree { ranks, nodes }
    }

    /// The first of the first `end` ranks that is wanted; nodes that may have none are passed over.
    fn first(
        &self,
        end: usize,
        may: &dyn Fn(&Summary) -> bool,
        wanted: &dyn Fn(usize) -> bool,
    ) -> Option<usize> {
        let width = self.nodes.len() / 2;
        // Each with the first leaf below it and the number of leaves.
        let mut open = vec![(1, 0, width)];
        while let Some((node, first, length)) = open.pop() {
            let summary = self.nodes.get(node).and_then(Option::as_ref);
            if first >= end || !summary.is_some_and(may) {
                continue;
            }
            if length > 1 {
                let half = length / 2;
                open.push((2 * node + 1, first + half, half));
                open.push((2 * node, first, half));
            } else if wanted(self.ranks[first]) {
                return Some(self.ranks[first]);
            }
        }
        None
    }
}
