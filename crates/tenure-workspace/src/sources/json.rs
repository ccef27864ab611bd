//! JSON: one object in its published form, an array of them, `{"objects": […]}` as the API takes it, or one in each line.
//! What holds an object is objects or an error (`super::shape`); any other JSON is data.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use tenure::request::from_json;
use tenure::{Error, ObjectDocument};

use super::{Sourced, shape};

/// Objects as the API takes them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body<'t> {
    #[serde(borrow)]
    objects: Vec<&'t RawValue>,
}

/// Reads one document, an array of documents, or the same in `{"objects": […]}`.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line.
pub fn parse(text: &str, stem: &str) -> Result<Vec<Sourced>, Error> {
    if text.trim_start().starts_with('[') {
        return each(from_json(text, stem)?, text, stem);
    }
    if has_objects(text) {
        let body: Body<'_> = from_json(text, stem)?;
        return each(body.objects, text, stem);
    }
    let document: ObjectDocument = from_json(text, stem)?;
    Ok(vec![Sourced::new(named(document, stem), 1)])
}

/// Reads what [`parse`] does; none of JSON that is data, and of what is no JSON.
///
/// # Errors
///
/// As [`parse`], for a text that holds an object: none of it is read where one cannot be.
pub(super) fn parse_or_data(text: &str, stem: &str) -> Result<Option<Vec<Sourced>>, Error> {
    let error = match parse(text, stem) {
        Ok(read) => return Ok(Some(read)),
        Err(error) => error,
    };
    shape::in_json(text).map_or(Ok(None), |sign| Err(sign.explain(error)))
}

/// Reads a document in each line; none of lines that are data.
///
/// # Errors
///
/// As [`parse_or_data`].
pub(super) fn parse_lines_or_data(text: &str, stem: &str) -> Result<Option<Vec<Sourced>>, Error> {
    let Some(sign) = shape::in_lines(text) else {
        return Ok(None);
    };
    let read = parse_lines(text, stem).map_err(|error| sign.explain(error))?;
    Ok(Some(read))
}

fn has_objects(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Mark {
        #[serde(rename = "objects")]
        _objects: IgnoredAny,
    }
    serde_json::from_str::<Mark>(text).is_ok()
}

/// Reads the documents of a list, each with its line in the whole text.
fn each(parts: Vec<&RawValue>, text: &str, stem: &str) -> Result<Vec<Sourced>, Error> {
    let (mut line, mut counted) = (1, 0);
    parts
        .into_iter()
        .map(|part| {
            let offset = part.get().as_ptr() as usize - text.as_ptr() as usize;
            line += text[counted..offset].matches('\n').count();
            counted = offset;
            let read = from_json(part.get(), stem);
            let mut document: ObjectDocument = read.map_err(|mut error: Error| {
                if let Some(at) = &mut error.at {
                    at.line = at.line.map(|inner| inner + line - 1);
                }
                error
            })?;
            document.complete().map_err(|error| error.or_at(stem, Some(line)))?;
            Ok(Sourced::new(document, line))
        })
        .collect()
}

/// Returns whether the first line of JSON Lines is an object in its published form: it has a name or an id, and a
/// content.
pub(super) fn begins_with_object(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Mark {
        name: Option<String>,
        object_id: Option<String>,
        #[serde(rename = "content")]
        _content: String,
    }
    text.lines()
        .find(|line| !line.trim().is_empty())
        .and_then(|line| serde_json::from_str::<Mark>(line).ok())
        .is_some_and(|mark| mark.name.is_some() || mark.object_id.is_some())
}

/// Reads a document in each line.
///
/// # Errors
///
/// As [`parse`].
pub(super) fn parse_lines(text: &str, stem: &str) -> Result<Vec<Sourced>, Error> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let read = from_json(line, stem);
            let mut document: ObjectDocument =
                read.map_err(|error: Error| error.at(stem, Some(at + 1)))?;
            document.complete().map_err(|error| error.or_at(stem, Some(at + 1)))?;
            Ok(Sourced::new(document, at + 1))
        })
        .collect()
}

fn named(mut document: ObjectDocument, stem: &str) -> ObjectDocument {
    if document.name.is_empty() {
        document.name = stem.to_owned();
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_or_many() {
        assert_eq!(
            parse(r#"{"content": "x"}"#, "stem").unwrap()[0].document.name,
            "stem"
        );
        let many = parse(
            "[\n{\"name\": \"a\", \"content\": \"x\"},\n{\"name\": \"b\", \"content\": \"y\"}]",
            "stem",
        )
        .unwrap();
        assert_eq!(many.iter().map(|one| one.line).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn lines_hold_one_each() {
        let text =
            "{\"name\": \"a\", \"content\": \"x\"}\n\n{\"name\": \"b\", \"content\": \"y\"}\n";
        assert!(begins_with_object(text));
        let lines = parse_lines(text, "stem").unwrap();
        assert_eq!(lines.iter().map(|one| one.line).collect::<Vec<_>>(), [1, 3]);
        let wrong = parse_lines(&text.replace("\"b\"", "7"), "stem").unwrap_err();
        assert_eq!(wrong.at.and_then(|at| at.line), Some(3));
        assert_eq!(wrong.what, "`name`: wrong kind of value: integer `7`");
        for rows in [
            "",
            "x",
            "{\"role\": \"user\", \"content\": \"x\"}",
            "{\"text\": \"x\"}",
        ] {
            assert!(!begins_with_object(rows), "{rows}");
        }
    }

    #[test]
    fn mistakes_name_their_field() {
        for (text, expected) in [
            (
                r#"{"object_type": 3}"#,
                "`object_type`: wrong kind of value: integer `3`",
            ),
            (r#"{"priority": "high"}"#, "`priority`: "),
            (
                r#"{"tags": ["a", 7]}"#,
                "`tags[1]`: wrong kind of value: integer `7`",
            ),
            (
                r#"{"provenance": {"source_id": "a", "x": 1}}"#,
                "`provenance.x`: unknown field `x`",
            ),
            (r#"{"nickname": "a"}"#, "unknown field `nickname`"),
            (
                r#"{"object_type": "rul"}"#,
                "`object_type`: unknown term `rul`",
            ),
            (r#"{"name": }"#, "this is not JSON"),
            (r#"{"name": "a", "content": "b"} x"#, "trailing characters"),
        ] {
            let what = parse(text, "stem").unwrap_err().what;
            assert!(what.starts_with(expected), "{text}: {what}");
        }
    }

    #[test]
    fn mistakes_name_their_line() {
        let line = |text: &str| parse(text, "stem").unwrap_err().at.and_then(|at| at.line);
        assert_eq!(line("[\n{\"name\": \"a\",\n\"contens\": \"x\"}]"), Some(3));
        assert_eq!(line("{\"priority\": 2}"), Some(1));
        assert_eq!(line(&"[".repeat(500)), Some(1));
        assert_eq!(line("{\"content\": \"\\ud800\"}"), Some(1));
    }
}
