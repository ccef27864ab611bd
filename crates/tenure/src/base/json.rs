//! JSON that others write, read with errors that name the field.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;

use crate::base::error::{Error, NOT_JSON, json_error};

/// Reads JSON from `source`, a file or what else it is called.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) with the line in it and, where a value is wrong, the path of its field.
///
/// ```
/// let text = r#"{"name": "a", "content": "x", "provenance": {"source_kind": 3}}"#;
/// let error = tenure::request::from_json::<tenure::ObjectDocument>(text, "a.json").unwrap_err();
/// assert_eq!(error.what, "`provenance.source_kind`: wrong kind of value: integer `3`");
/// ```
pub fn from_json<'de, T: Deserialize<'de>>(text: &'de str, source: &str) -> Result<T, Error> {
    // The path is looked for where there is something to say of it.
    serde_json::from_str(text).or_else(|_| {
        let mut json = serde_json::Deserializer::from_str(text);
        let read: T = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let path = error.path().to_string();
            let error = error.into_inner();
            let mut ours = json_error(&error, source);
            if error.classify() != Category::Data {
                // Where a word is expected, what is none is said to be no JSON.
                if ours.what != NOT_JSON || serde_json::from_str::<IgnoredAny>(text).is_err() {
                    return ours;
                }
                ours.what = "wrong kind of value".to_owned();
                ours = ours.expected("one of its terms, a text");
            }
            let is_said = !path.contains(['.', '[']) && ours.what.contains(&format!("`{path}`"));
            if path != "." && !is_said {
                ours.what = format!("`{path}`: {}", ours.what);
            }
            ours
        })?;
        json.end().map_err(|error| json_error(&error, source))?;
        Ok(read)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_field() {
        #[derive(Deserialize, Debug)]
        enum Own {
            Word,
        }
        #[derive(Deserialize, Debug)]
        struct Holder {
            #[serde(rename = "own")]
            _own: Own,
        }
        assert!(
            from_json::<Holder>(r#"{"own": "Word"}"#, "x")
                .is_ok_and(|read| matches!(read._own, Own::Word))
        );
        let own = from_json::<Holder>("{\"own\":\n 3}", "x").unwrap_err();
        assert_eq!(own.what, "`own`: wrong kind of value");
        assert_eq!(own.at.and_then(|at| at.line), Some(2));
        let what = |text| from_json::<Holder>(text, "x").unwrap_err().what;
        assert_eq!(what("{\"own\": }"), NOT_JSON);
        assert_eq!(
            what("{\"own\": \"\\ud800\"}"),
            "half of a surrogate pair stands alone"
        );
    }
}
