//! Values between Python and the published forms: as JSON, which Python writes and reads fastest itself.

use pyo3::prelude::*;
use serde_json::Value;
use tenure::Error;
use tenure_workspace::embedded::parsed;

use crate::errors::Raise;

/// A value as one of these types. `name` is what an error calls it.
pub(crate) fn read<T>(py: Python<'_>, json: &str, name: &'static str) -> PyResult<T>
where
    T: serde::de::DeserializeOwned + Send,
{
    py.detach(|| parsed(json, name)).raise(py)
}

/// A value as JSON.
pub(crate) fn written(
    py: Python<'_>,
    value: &(impl serde::Serialize + ?Sized),
) -> PyResult<String> {
    let json = serde_json::to_string(value);
    json.map_err(|error| Error::assertion(format!("a result is no JSON: {error}")))
        .raise(py)
}

/// The term of a value that is published as a text.
pub(crate) fn term(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
