//! Two views of a trace: the operator sees everything, the caller sees what they were admitted to.

use std::sync::Arc;

use crate::candidates::{Candidates, digest_of};
use crate::trace::{Ruling, Stage, Trace, Verdict, View};

impl Trace {
    /// The caller's view: nothing in it depends on an object that the caller may not see. The
    /// candidates are those that the trace was made from.
    #[must_use]
    pub fn caller_view(&self, candidates: &Candidates) -> Trace {
        let mut view = self.clone();
        let visible = self
            .verdicts
            .iter()
            .map(|verdict| verdict.verdict != Ruling::Denied);
        let objects = candidates.objects().iter().map(Arc::as_ref);
        let objects = objects.zip(candidates.which_are_said());
        let objects = objects.zip(visible).filter(|(_, visible)| *visible);
        view.inputs.candidates =
            digest_of(objects.map(|(object, _)| object), candidates.unfetched());
        view.input_digest = view.inputs.root();
        // Places are counted among what the caller sees.
        let is_hidden = |verdict: &Verdict| u32::from(verdict.verdict == Ruling::Denied);
        let hidden = self.verdicts.iter().scan(0, |before, verdict| {
            let here = *before;
            *before += is_hidden(verdict);
            Some(here)
        });
        let hidden: Vec<u32> = hidden.collect();
        let before = |candidate: u32| hidden.get(candidate as usize).copied().unwrap_or(0);
        for condensed in &mut view.condensed {
            condensed.candidate -= before(condensed.candidate);
        }
        let brought = view.retrieval.iter_mut().flat_map(|of| &mut of.subqueries);
        for one in brought.flat_map(|subquery| &mut subquery.brought) {
            one.candidate -= before(one.candidate);
        }
        view.verdicts
            .retain(|verdict| verdict.verdict != Ruling::Denied);
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
