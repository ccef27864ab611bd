//! Objects that have become too old by their own rule, or by that of their type.

use std::collections::BTreeMap;

use crate::base::time::Instant;
use crate::belief::{Aged, Ageing, TypeAges, aged};
use crate::compile::stages::Live;
use crate::compile::trace::Reason;
use crate::input::policy::Policy;
use crate::object::{ObjectId, RetirementRule};

/// The rows that are too old, each with the reason. Of an object all rows speak that are `current`: of now or of later.
pub(super) fn retired(
    live: &Live<'_>,
    policy: &Policy,
    now: Option<Instant>,
    current: impl Fn(u32) -> bool,
) -> BTreeMap<u32, Reason> {
    let Some(now) = now else {
        return BTreeMap::new();
    };
    let set = live.set;
    let types = TypeAges {
        half_life_days: &policy.document().half_life_days,
        retire_below: &policy.document().retire_below,
    };
    let ageing = |row: u32| {
        if !set.row(row).rare && types.retire_below.is_empty() {
            return None;
        }
        let object = set.object(row);
        let status = object.status();
        let written = status.written.or(status.transaction.from);
        Ageing::of(object, written, types)
    };
    let id = |row: u32| set.object(row).revision().object_id();
    let mut parts: BTreeMap<ObjectId, Vec<(u32, Option<Ageing>)>> = BTreeMap::new();
    for row in live.rows.iter().copied().filter(|row| current(*row)) {
        if aged([ageing(row)], now).is_some() {
            parts.insert(id(row), Vec::new());
        }
    }
    if parts.is_empty() {
        return BTreeMap::new();
    }
    for row in live.rows.iter().copied().filter(|row| current(*row)) {
        if let Some(parts) = parts.get_mut(&id(row)) {
            parts.push((row, ageing(row)));
        }
    }
    let each = parts.into_values().filter_map(|parts| {
        let aged = aged(parts.iter().map(|(_, ageing)| *ageing), now)?;
        Some(parts.into_iter().map(move |(row, _)| (row, reason(aged))))
    });
    each.flatten().collect()
}

fn reason(aged: Aged) -> Reason {
    let Aged {
        freshness,
        threshold,
        rule,
    } = aged;
    if rule == RetirementRule::TriggerUserConfirmation {
        return Reason::AwaitingConfirmation {
            freshness,
            threshold,
        };
    }
    Reason::Decayed {
        freshness,
        threshold,
        rule,
    }
}
