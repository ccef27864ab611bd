//! Scopes of claims: whether anybody is in both of two, and which of two lies within the other.

use std::cmp::Reverse;

use crate::object::Scope;

/// Returns whether nobody is in both scopes: they are of two tenants, two users, two projects, two sessions or two tasks,
/// or the roles of one are those that the other shuts out.
pub fn exclude(a: &Scope, b: &Scope) -> bool {
    let differ =
        |a: &Option<Box<str>>, b: &Option<Box<str>>| matches!((a, b), (Some(a), Some(b)) if a != b);
    let shuts_out = |one: &Scope, other: &Scope| {
        let mut roles = other.allow_roles.iter();
        !other.allow_roles.is_empty() && roles.all(|role| one.deny_roles.contains(role))
    };
    a.tenant != b.tenant
        || differ(&a.user, &b.user)
        || differ(&a.project, &b.project)
        || differ(&a.session, &b.session)
        || differ(&a.task, &b.task)
        || shuts_out(a, b)
        || shuts_out(b, a)
}

/// A measure of how narrow a scope is. A scope that lies within another, and is not the same, is the narrower of the two; of
/// two that overlap, the one that says more is. So all scopes stand in one order, and no three can go in a ring.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Narrowness {
    labels: u32,
    shut_out: u32,
    roles: Reverse<u32>,
}

impl Narrowness {
    /// The narrowness of a scope.
    pub fn of(scope: &Scope) -> Narrowness {
        let labels = [&scope.user, &scope.project, &scope.session, &scope.task]
            .into_iter()
            .flatten()
            .count();
        let count = |roles: &[Box<str>]| {
            let roles: std::collections::BTreeSet<&str> =
                roles.iter().map(|role| &**role).collect();
            roles.len() as u32
        };
        Narrowness {
            labels: labels as u32 + u32::from(!scope.allow_roles.is_empty()),
            shut_out: count(&scope.deny_roles),
            roles: Reverse(count(&scope.allow_roles)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_scope() -> impl Strategy<Value = Scope> {
        let label = || prop::option::of(prop_oneof![Just("x"), Just("y")].prop_map(Box::from));
        let roles = || prop::collection::btree_set(0u8..3, 0..3);
        let named = |roles: std::collections::BTreeSet<u8>| -> Box<[Box<str>]> {
            roles.iter().map(|role| role.to_string().into()).collect()
        };
        (label(), label(), label(), label(), roles(), roles()).prop_map(
            move |(user, project, session, task, allow, deny)| Scope {
                tenant: "t".into(),
                user,
                project,
                session,
                task,
                allow_roles: named(allow),
                deny_roles: named(deny),
            },
        )
    }

    /// Everybody there can be in a small world: who they are, and what they are there for.
    fn everybody() -> impl Iterator<Item = ([Option<&'static str>; 4], Vec<String>)> {
        (0..81u32).flat_map(move |at| {
            let labels = [at % 3, at / 3 % 3, at / 9 % 3, at / 27 % 3]
                .map(|digit| [None, Some("x"), Some("y")][digit as usize]);
            (0..8u32).map(move |roles| {
                let roles =
                    (0..3).filter(|role| roles >> role & 1 == 1).map(|role| role.to_string());
                (labels, roles.collect())
            })
        })
    }

    fn lets_in(scope: &Scope, (labels, roles): &([Option<&str>; 4], Vec<String>)) -> bool {
        let own = [&scope.user, &scope.project, &scope.session, &scope.task];
        let mut fits = own.into_iter().zip(labels);
        let has = |role: &str| roles.iter().any(|own| own == role);
        fits.all(|(own, label)| own.is_none() || own.as_deref() == *label)
            && !scope.deny_roles.iter().any(|role| has(role))
            && (scope.allow_roles.is_empty() || scope.allow_roles.iter().any(|role| has(role)))
    }

    proptest! {
        #[test]
        fn scopes_exclude_each_other_where_nobody_is_in_both(a in any_scope(), b in any_scope()) {
            let both = everybody().any(|who| lets_in(&a, &who) && lets_in(&b, &who));
            let has_roles = [&a, &b].iter().any(|one| !one.allow_roles.is_empty() || !one.deny_roles.is_empty());
            prop_assert!(both || has_roles || exclude(&a, &b));
            prop_assert_eq!(exclude(&a, &b), exclude(&b, &a));
        }

        #[test]
        fn what_lies_within_another_is_narrower(a in any_scope(), b in any_scope()) {
            let labels = [(&a.user, &b.user), (&a.project, &b.project), (&a.session, &b.session), (&a.task, &b.task)];
            let inside = labels.into_iter().all(|(a, b)| b.is_none() || a == b)
                && (b.allow_roles.is_empty()
                    || (!a.allow_roles.is_empty() && a.allow_roles.iter().all(|role| b.allow_roles.contains(role))))
                && b.deny_roles.iter().all(|role| a.deny_roles.contains(role));
            if inside && a != b {
                prop_assert!(Narrowness::of(&a) > Narrowness::of(&b));
            }
        }
    }
}
