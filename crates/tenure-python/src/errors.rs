//! Errors of Tenure as exceptions of Python.

use pyo3::prelude::*;
use tenure::Error;

use crate::values::term;

/// The error as the exception of its kind, with its fields. The classes are written in Python: `tenure/errors.py`.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let place = error.at.as_ref();
    let fields = (
        term(&error.kind),
        error.to_string(),
        error.what.clone(),
        place.map(|at| at.source.clone()),
        place.and_then(|at| at.line),
        error.expected.clone(),
        error.hint.clone(),
    );
    let made = py
        .import("tenure.errors")
        .and_then(|module| module.getattr("made"))
        .and_then(|made| made.call1(fields));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        // The package is broken: that is what there is to say.
        Err(error) => error,
    }
}

/// A result that raises.
pub(crate) trait Raise<T> {
    /// The value, or the exception of its error.
    fn raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> Raise<T> for Result<T, Error> {
    fn raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raised(py, &error))
    }
}
