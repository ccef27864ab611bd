//! Values between Python and the published forms: as JSON, which Python writes and reads fastest itself.

use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure::Error;

use crate::errors::Raise;

/// A value as one of these types. `name` is what an error calls it.
pub(crate) fn read<T: DeserializeOwned + Send>(
    py: Python<'_>,
    json: &str,
    name: &'static str,
) -> PyResult<T> {
    py.detach(|| parsed(json, name)).raise(py)
}

fn parsed<T: DeserializeOwned>(json: &str, name: &str) -> Result<T, Error> {
    let from = &mut serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(from).map_err(|error| {
        let path = error.path().to_string();
        let place = match path.as_str() {
            "." => name.to_owned(),
            inner if inner.starts_with('[') => format!("{name}{inner}"),
            inner if name.is_empty() => inner.to_owned(),
            inner => format!("{name}.{inner}"),
        };
        // Lines and columns are of a text that nobody has seen.
        let what = error.into_inner().to_string();
        let what = what.split(" at line ").next().unwrap_or(&what).to_owned();
        Error::input(what).at(place, None)
    })
}

/// A value as JSON.
pub(crate) fn written(py: Python<'_>, value: &(impl Serialize + ?Sized)) -> PyResult<String> {
    let json = serde_json::to_string(value);
    json.map_err(|error| Error::assertion(format!("a result is no JSON: {error}")))
        .raise(py)
}
