//! Two views of a trace: the operator sees everything, the caller sees what they were admitted to.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::admitted;
use crate::compile::trace::{Ruling, Stage, Trace, View};
use crate::input::candidates::{Candidates, Unfetched, digest_of};
use crate::input::policy::Policy;
use crate::input::request::Principal;
use crate::object::ContextObject;

impl Trace {
    /// The caller's view: nothing in it depends on an object that the caller may not see. The
    /// candidates are those that the trace was made from, for this caller under this policy.
    #[must_use]
    pub fn caller_view(
        &self,
        policy: &Policy,
        principal: &Principal,
        candidates: &Candidates,
    ) -> Trace {
        let mut view = self.clone();
        let visible = self.verdicts.iter().map(|verdict| verdict.verdict != Ruling::Denied);
        let objects = candidates
            .objects()
            .iter()
            .map(Arc::as_ref)
            .zip(candidates.which_are_said())
            .zip(visible)
            .filter(|(_, visible)| *visible);
        let told = told(policy, principal, candidates.unfetched());
        view.inputs.candidates = digest_of(objects.map(|(object, _)| object), &told);
        view.unfetched = [
            told.as_slice(),
            view.unfetched.get(candidates.unfetched().len()..).unwrap_or_default(),
        ]
        .concat();
        view.input_digest = view.inputs.root();
        // Places are counted among what the caller sees.
        let hidden: Vec<u32> = self
            .verdicts
            .iter()
            .scan(0, |before, verdict| {
                let here = *before;
                *before += u32::from(verdict.verdict == Ruling::Denied);
                Some(here)
            })
            .collect();
        let before = |candidate: u32| hidden.get(candidate as usize).copied().unwrap_or(0);
        for condensed in &mut view.condensed {
            condensed.candidate -= before(condensed.candidate);
        }
        for evicted in &mut view.evicted {
            evicted.candidate -= before(evicted.candidate);
        }
        let brought = view.retrieval.iter_mut().flat_map(|of| &mut of.subqueries);
        for one in brought.flat_map(|subquery| &mut subquery.brought) {
            one.candidate -= before(one.candidate);
        }
        view.verdicts.retain(|verdict| verdict.verdict != Ruling::Denied);
        let count = view.verdicts.len() as u32;
        for report in &mut view.stages {
            match report.stage {
                Stage::Normalize => (report.entered, report.left) = (count, count),
                Stage::Admit => report.entered = count,
                _ => {}
            }
        }
        view.view = View::Caller;
        view
    }
}

/// Returns the unfetched sources that the caller may be told of.
fn told(policy: &Policy, principal: &Principal, unfetched: &[Unfetched]) -> Vec<Unfetched> {
    // Few labels are shared by many objects, so each is judged once.
    let key = |object: &Arc<ContextObject>| Arc::as_ptr(object) as usize;
    let labels: BTreeMap<usize, &Arc<ContextObject>> = unfetched
        .iter()
        .filter_map(|one| one.labels.as_ref())
        .map(|object| (key(object), object))
        .collect();
    let judged = Candidates::new(labels.values().map(|object| Arc::clone(object)).collect());
    let open: Vec<usize> = admitted(policy, principal, &judged)
        .into_iter()
        .filter_map(|at| judged.objects().get(at).map(key))
        .collect();
    unfetched
        .iter()
        .filter(|one| one.labels.as_ref().map(key).is_none_or(|labels| open.contains(&labels)))
        .cloned()
        .collect()
}
