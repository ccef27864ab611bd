//! Calls and results that cannot stand without a message that is judged.

use std::collections::BTreeSet;

use tenure::wire;

use super::Turn;

impl Turn {
    /// Returns whether it calls tools or holds their results.
    pub(super) fn is_linked(&self) -> bool {
        let mut objects = self.entry.objects.iter();
        objects.any(|object| !object.tool_calls.is_empty()) || self.has_results()
    }
}

/// Adds to `judged` the calls and results that cannot stand without them. A message in which the user says something of
/// their own stays without its results: returns these messages.
pub(super) fn with_exchanges(turns: &[Turn], judged: &mut BTreeSet<u64>) -> BTreeSet<u64> {
    let mut unanswering = BTreeSet::new();
    for range in wire::groups(turns.iter().map(|turn| &turn.entry)) {
        let group = &turns[range];
        let leaves = |turn: &Turn| judged.contains(&turn.number) && turn.is_linked();
        if !group.iter().any(leaves) {
            continue;
        }
        let others = group.iter().filter(|turn| turn.is_linked());
        let (asks, others): (Vec<&Turn>, Vec<&Turn>) = others
            .filter(|turn| !judged.contains(&turn.number))
            .partition(|turn| turn.is_request());
        unanswering.extend(asks.iter().map(|turn| turn.number));
        judged.extend(others.iter().map(|turn| turn.number));
    }
    unanswering
}
