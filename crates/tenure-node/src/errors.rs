//! Errors of Tenure as errors of JavaScript: the message is the JSON of the fields, which the package makes into an
//! instance of its own classes.

use tenure::Error;

/// The error as Node takes it.
pub(crate) fn thrown(error: &Error) -> napi::Error {
    let fields = serde_json::json!({
        "kind": error.kind,
        "message": error.to_string(),
        "what": error.what,
        "where": error.at.as_ref().map(|at| &at.source),
        "line": error.at.as_ref().and_then(|at| at.line),
        "expected": error.expected,
        "hint": error.hint,
    });
    napi::Error::from_reason(fields.to_string())
}

/// A result that is thrown.
pub(crate) trait Throw<T> {
    /// The value, or the error as Node takes it.
    fn throw(self) -> napi::Result<T>;
}

impl<T> Throw<T> for Result<T, Error> {
    fn throw(self) -> napi::Result<T> {
        self.map_err(|error| thrown(&error))
    }
}

/// A value as JSON.
pub(crate) fn written(value: &(impl serde::Serialize + ?Sized)) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|error| Error::assertion(format!("a result is no JSON: {error}")))
}
