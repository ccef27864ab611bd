//! The result of a compile.

use std::sync::Arc;

use pyo3::prelude::*;
use tenure::Error;
use tenure_workspace::embedded::{Embedded, Ran};

use crate::errors::Raise;
use crate::values::written;

/// Result of a compile, and what it was made of.
#[pyclass(frozen)]
pub(crate) struct Compiled {
    embedded: Arc<Embedded>,
    ran: Ran,
}

impl Compiled {
    pub(crate) fn new(embedded: Arc<Embedded>, ran: Ran) -> Compiled {
        Compiled { embedded, ran }
    }

    fn page(&self, page: usize) -> Result<&tenure::Compiled, Error> {
        self.ran.page(page)
    }
}

#[pymethods]
impl Compiled {
    /// The number of payloads.
    fn pages(&self) -> usize {
        self.ran.done.outcome.compiled().count()
    }

    /// A payload as it is sent; nothing of a dry run.
    fn payload(&self, py: Python<'_>, page: usize) -> PyResult<Option<String>> {
        let payload = self.page(page).raise(py)?.envelope.payload.as_ref();
        Ok(payload.map(|payload| payload.as_str().to_owned()))
    }

    /// The tokens of a payload.
    fn tokens(&self, py: Python<'_>, page: usize) -> PyResult<u32> {
        Ok(self.page(page).raise(py)?.envelope.total_tokens)
    }

    /// An envelope but for its payload, as its JSON form.
    fn envelope(&self, py: Python<'_>, page: usize) -> PyResult<String> {
        let envelope = tenure::Envelope {
            payload: None,
            ..self.page(page).raise(py)?.envelope.clone()
        };
        written(py, &envelope)
    }

    /// A trace, as its JSON form.
    fn trace(&self, py: Python<'_>, page: usize) -> PyResult<String> {
        written(py, &self.page(page).raise(py)?.trace)
    }

    /// The names with verdict, the code of the reason, tokens and relevance, in the candidates' order.
    #[allow(clippy::type_complexity)] // a row of a table
    fn verdicts(
        &self,
        py: Python<'_>,
        page: usize,
    ) -> PyResult<Vec<(String, &'static str, String, &'static str, u32, Option<f64>)>> {
        let verdicts = &self.page(page).raise(py)?.trace.verdicts;
        let rows = verdicts.iter().map(|verdict| {
            (
                verdict.name.to_string(),
                verdict.verdict.term(),
                verdict.reason.code().to_owned(),
                verdict.section.term(),
                verdict.tokens,
                verdict.score.map(|score| score.relevance.to_f64()),
            )
        });
        Ok(rows.collect())
    }

    /// The places of the call's messages that stand in a payload, message by message.
    fn places(&self, py: Python<'_>, page: usize) -> PyResult<Vec<Option<usize>>> {
        self.ran.places(page).raise(py)
    }

    /// Plans what the provider's prompt cache does with a payload.
    fn cache_plan(&self, py: Python<'_>, page: usize) -> PyResult<String> {
        let plan = py.detach(|| self.ran.cache_plan(page)).raise(py)?;
        written(py, &plan)
    }

    /// Tells why an object is in or out, and what would have let it in.
    fn why(&self, py: Python<'_>, name: &str, page: usize) -> PyResult<String> {
        let why = || {
            let trace = &self.page(page)?.trace;
            self.embedded.workspace().why_not(&self.ran.job, trace, name)
        };
        let why = py.detach(why).raise(py)?;
        written(py, &why)
    }

    /// The ids of the records that were kept.
    fn records(&self) -> Vec<String> {
        self.ran.done.record_ids.clone()
    }

    /// The state of the session that was compiled.
    fn session(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let report = self.ran.done.session.as_ref();
        report.map(|report| written(py, report)).transpose()
    }
}
