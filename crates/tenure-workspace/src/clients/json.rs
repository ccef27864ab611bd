//! Entries of JSON with comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};
use tenure::Error;

use super::faults::{broken, no_object};

/// The JSON of clients: comments and trailing commas, and nothing else beyond the standard.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn parsed(text: &str) -> Result<CstRootNode, Error> {
    CstRootNode::parse(text, &OPTIONS)
        .map_err(|error| broken(&error.kind().to_string(), error.line_display()))
}

pub(super) fn value(text: &str) -> Result<Value, Error> {
    let root = parsed(text)?;
    match root.value() {
        None => Ok(Value::Object(Map::new())),
        Some(_) => root.to_serde_value().filter(Value::is_object).ok_or_else(|| no_object(&[])),
    }
}

pub(super) fn set(text: &str, path: &[String], value: &Value) -> Result<String, Error> {
    let root = parsed(text)?;
    let mut object = root.object_value_or_create().ok_or_else(|| no_object(&[]))?;
    let Some((last, above)) = path.split_last() else {
        return Err(no_object(&[]));
    };
    for (depth, name) in above.iter().enumerate() {
        once(&object, name)?;
        let inner = object.object_value_or_create(name);
        object = inner.ok_or_else(|| no_object(&path[..=depth]))?;
    }
    once(&object, last)?;
    match object.get(last) {
        Some(entry) => entry.set_value(written(value)),
        None => drop(object.append(last, written(value))),
    }
    Ok(root.to_string())
}

pub(super) fn take(text: &str, path: &[String], stays: usize) -> Result<String, Error> {
    let root = parsed(text)?;
    for depth in (stays.min(path.len().saturating_sub(1))..path.len()).rev() {
        let (above, name) = (&path[..depth], &path[depth]);
        let object = above.iter().try_fold(root.object_value(), |object, name| {
            object.map(|object| object.object_value(name))
        });
        let Some(object) = object.flatten() else {
            break;
        };
        let Some(entry) = object.get(name) else {
            continue;
        };
        if depth + 1 == path.len() || entry.object_value().is_some_and(|value| is_bare(&value)) {
            entry.remove();
        }
    }
    Ok(root.to_string())
}

/// Returns whether an object holds nothing, not even a comment.
fn is_bare(object: &CstObject) -> bool {
    let children = object.children();
    object.properties().is_empty() && !children.iter().any(jsonc_parser::cst::CstNode::is_comment)
}

/// Refuses a name that stands twice: readers do not agree which of the two counts.
fn once(object: &CstObject, name: &str) -> Result<(), Error> {
    match object
        .properties()
        .iter()
        .filter(|entry| entry.decoded_name().is_some_and(|found| found == name))
        .count()
    {
        0 | 1 => Ok(()),
        _ => {
            Err(Error::input(format!("`{name}` stands twice in one object"))
                .expected("each name once"))
        }
    }
}

fn written(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(value) => CstInputValue::Number(value.to_string()),
        Value::String(value) => CstInputValue::String(value.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(written).collect()),
        Value::Object(values) => {
            let values = values.iter().map(|(name, value)| (name.clone(), written(value)));
            CstInputValue::Object(values.collect())
        }
    }
}
