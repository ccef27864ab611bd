//! Calls that were broken off. A provider refuses a conversation in which a call has no result, or a result no call:
//! what is missing is put in, marked, so that the conversation can go on.

use std::collections::{BTreeMap, VecDeque};

use super::stale::Step;
use crate::object::ToolCall;

/// A place of a conversation that was mended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mended<'s> {
    /// The step of this number.
    Step(usize),
    /// A result for a call of this step, which nothing answers.
    NoResult {
        /// The step that calls.
        step: usize,
        /// The call.
        call: &'s ToolCall,
    },
    /// The call of the result of this step once more: the call was sent before the result came, and stays as it was sent,
    /// with a result that was put in.
    Late {
        /// The step of the result.
        step: usize,
        /// The call.
        call: &'s ToolCall,
    },
    /// A call for the result of this step, which answers none.
    NoCall {
        /// The step of the result.
        step: usize,
        /// The tool, where an earlier call has the id.
        tool: Option<&'s str>,
    },
}

/// Mends a conversation: the results of a step's calls stand right behind it, but where the target `pairs_by_id`; none
/// where nothing is broken. A request was sent of the steps before each of the numbers in `sent`, and stays as it was
/// sent: a result that came after its call was sent without it stands where it came.
///
/// ```
/// use tenure::object::ToolCall;
/// use tenure::session::{Mended, Step, mended};
///
/// let calls: [ToolCall; 1] = [serde_json::from_str(r#"{"id": "c1", "name": "look"}"#)?];
/// let says = Step { calls: &[], answers: None };
/// let called = Step { calls: &calls, answers: None };
/// let answers = Step { calls: &[], answers: Some("c1") };
/// assert_eq!(mended(&[says, called, answers], &[], false), None);
/// assert_eq!(
///     mended(&[called, says], &[], false),
///     Some(vec![Mended::Step(0), Mended::NoResult { step: 0, call: &calls[0] }, Mended::Step(1)])
/// );
/// assert_eq!(
///     mended(&[called, answers], &[1], true),
///     Some(vec![
///         Mended::Step(0),
///         Mended::NoResult { step: 0, call: &calls[0] },
///         Mended::Late { step: 1, call: &calls[0] },
///         Mended::Step(1),
///     ])
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn mended<'s>(
    steps: &[Step<'s>],
    sent: &[usize],
    pairs_by_id: bool,
) -> Option<Vec<Mended<'s>>> {
    let before = |step: usize| sent.partition_point(|sent| *sent <= step);
    let mut results: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
    let mut callers: BTreeMap<&str, VecDeque<usize>> = BTreeMap::new();
    for (at, step) in steps.iter().enumerate() {
        if let Some(id) = step.answers {
            results.entry(id).or_default().push_back(at);
        }
        for call in step.calls {
            callers.entry(&call.id).or_default().push_back(at);
        }
    }
    let mut tools: BTreeMap<&str, &str> = BTreeMap::new();
    let mut answers = vec![false; steps.len()];
    let mut late: Vec<Option<&ToolCall>> = vec![None; steps.len()];
    let mut places = Vec::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        if let Some(id) = step.answers {
            if let Some(call) = late[at] {
                places.push(Mended::Late { step: at, call });
            } else if !answers[at] {
                let tool = tools.get(id).copied();
                places.push(Mended::NoCall { step: at, tool });
            }
            if !answers[at] || pairs_by_id {
                places.push(Mended::Step(at));
            }
            continue;
        }
        places.push(Mended::Step(at));
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for call in step.calls {
            tools.insert(&call.id, &call.name);
            let callers = callers.entry(&call.id).or_default();
            callers.pop_front();
            let next = callers.front().copied().unwrap_or(steps.len());
            let results = results.entry(&call.id).or_default();
            while results.pop_front_if(|result| *result < at).is_some() {}
            match results.pop_front_if(|result| *result < next) {
                Some(result) if before(result) == before(at) => {
                    answers[result] = true;
                    found.push(result);
                }
                result => {
                    if let Some(result) = result {
                        late[result] = Some(call);
                    }
                    missing.push(Mended::NoResult { step: at, call });
                }
            }
        }
        if !pairs_by_id {
            found.sort_unstable();
            places.extend(found.into_iter().map(Mended::Step));
        }
        places.extend(missing);
    }
    let is_whole = places.iter().enumerate().all(|(at, place)| *place == Mended::Step(at));
    (!is_whole).then_some(places)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn call(id: usize) -> ToolCall {
        let json = format!(r#"{{"id": "c{id}", "name": "look"}}"#);
        serde_json::from_str(&json).unwrap()
    }

    proptest! {
        #[test]
        fn each_call_has_one_result_behind_it_and_nothing_is_lost(
            said in prop::collection::vec((0usize..4, 0usize..3, any::<bool>()), 0..24),
            pairs_by_id: bool,
        ) {
            let ids = ["c0", "c1", "c2"];
            let calls = [call(0), call(1), call(2)];
            let steps: Vec<Step<'_>> = said
                .iter()
                .map(|(kind, id, _)| match kind {
                    0 => Step { calls: &[], answers: None },
                    1 => Step { calls: &calls[*id..=*id], answers: None },
                    2 => Step { calls: &calls[..=*id], answers: None },
                    _ => Step { calls: &[], answers: Some(ids[*id]) },
                })
                .collect();
            let sent: Vec<usize> = (0..said.len()).filter(|at| said[*at].2).collect();
            let whole: Vec<_> = (0..steps.len()).map(Mended::Step).collect();
            let places = mended(&steps, &sent, pairs_by_id).unwrap_or(whole);
            let mut stand: Vec<usize> = Vec::new();
            let mut open: Vec<&str> = Vec::new();
            for place in &places {
                let (calls, answers) = match place {
                    Mended::Step(at) => {
                        stand.push(*at);
                        (steps[*at].calls, steps[*at].answers)
                    }
                    Mended::NoResult { call, .. } => (&[][..], Some(&*call.id)),
                    Mended::Late { step, call } => {
                        prop_assert_eq!(steps[*step].answers, Some(&*call.id));
                        prop_assert!(pairs_by_id || open.is_empty());
                        open.push(&call.id);
                        continue;
                    }
                    Mended::NoCall { step, .. } => {
                        prop_assert!(pairs_by_id || open.is_empty());
                        open.push(steps[*step].answers.unwrap());
                        continue;
                    }
                };
                match answers {
                    Some(id) => {
                        let at = open.iter().position(|open| *open == id);
                        prop_assert!(at.is_some(), "{places:?}");
                        open.remove(at.unwrap());
                    }
                    None => prop_assert!(pairs_by_id || open.is_empty(), "{places:?}"),
                }
                open.extend(calls.iter().map(|call| &*call.id));
            }
            prop_assert!(open.is_empty(), "{places:?}");
            stand.sort_unstable();
            prop_assert!(stand.into_iter().eq(0..steps.len()));
        }

        // What was sent stays, whatever comes after it.
        #[test]
        fn what_was_sent_is_the_beginning_of_what_is_sent_next(
            said in prop::collection::vec((0usize..3, 0usize..3), 0..24),
            sent in prop::collection::btree_set(0usize..24, 0..5),
            pairs_by_id: bool,
        ) {
            let ids = ["c0", "c1", "c2"];
            let calls = [call(0), call(1), call(2)];
            let steps: Vec<Step<'_>> = said
                .iter()
                .map(|(kind, id)| Step {
                    calls: if *kind == 1 { &calls[..=*id] } else { &[] },
                    answers: (*kind == 2).then_some(ids[*id]),
                })
                .collect();
            let sent: Vec<usize> = sent.into_iter().filter(|sent| *sent <= steps.len()).collect();
            let mut before = Vec::new();
            for until in sent.iter().copied().chain([steps.len()]) {
                let whole: Vec<_> = (0..until).map(Mended::Step).collect();
                let places = mended(&steps[..until], &sent, pairs_by_id).unwrap_or(whole);
                prop_assert!(places.starts_with(&before), "{before:?}\n{places:?}");
                before = places;
            }
        }
    }
}
