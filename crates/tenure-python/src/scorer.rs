//! A callable of Python that says how near texts are to a task.

use std::cell::Cell;

use pyo3::prelude::*;
use tenure::num::Score;
use tenure::{Error, ErrorKind};
use tenure_workspace::RelevanceScorer;

thread_local! {
    /// True if this thread is within a callable.
    static IS_WITHIN: Cell<bool> = const { Cell::new(false) };
}

/// The callable. It may raise, block and compile by other means; a session that waits for it is not for it to use.
pub(crate) struct CallableScorer(pub(crate) Py<PyAny>);

impl RelevanceScorer for CallableScorer {
    fn relevance(&self, query: &str, texts: &[&str]) -> Result<Vec<Option<Score>>, Error> {
        let before = IS_WITHIN.replace(true);
        let scores = Python::attach(|py| {
            let called = self.0.call1(py, (query, texts.to_vec()));
            called.and_then(|scores| scores.extract::<Vec<Option<f64>>>(py))
        });
        IS_WITHIN.set(before);
        let scores = scores.map_err(|error| {
            Error::input(format!("the scorer failed: {error}"))
                .at("scorer", None)
                .expected("a number from 0 to 1, or None, for each text")
        })?;
        if scores.len() != texts.len() {
            let what = format!(
                "the scorer gave {} numbers for {} texts",
                scores.len(),
                texts.len()
            );
            return Err(Error::input(what)
                .at("scorer", None)
                .expected("a number from 0 to 1, or None, for each text"));
        }
        scores
            .into_iter()
            .map(|score| match score {
                None => Ok(None),
                Some(score) => Score::new(score).map(Some).ok_or_else(|| {
                    Error::input(format!("the scorer gave {score}"))
                        .at("scorer", None)
                        .expected("a number from 0 to 1, or None")
                }),
            })
            .collect()
    }
}

/// Refuses what would wait for itself.
///
/// # Errors
///
/// [`ErrorKind::Usage`] within a scorer.
pub(crate) fn not_within() -> Result<(), Error> {
    if IS_WITHIN.get() {
        let what = "a scorer may not use a session: the session may be waiting for it";
        return Err(Error::new(ErrorKind::Usage, what));
    }
    Ok(())
}
