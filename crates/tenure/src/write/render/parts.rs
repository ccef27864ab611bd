//! Helpers of the writers of bodies: JSON of what is JSON already, and the place of a piece.

use crate::write::span::Span;

/// The place of a piece in a body.
#[derive(Clone, Copy)]
pub(crate) struct BodyPosition {
    pub(crate) message: Option<u32>,
    pub(crate) block: Option<u32>,
}

impl BodyPosition {
    pub(super) fn span(self, start: usize, end: usize) -> Span {
        Span {
            message: self.message,
            block: self.block,
            tool: None,
            start: start as u32,
            end: end as u32,
        }
    }
}

/// A JSON array of what is JSON already.
pub(crate) fn array(items: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let mut out = String::from("[");
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(item.as_ref());
    }
    out.push(']');
    out
}

/// The fields of an object whose values are JSON already; those without a value are left out.
pub(crate) fn object(fields: &[(&str, Option<String>)]) -> String {
    let fields = fields.iter().filter_map(|(key, value)| {
        let value = value.as_ref()?;
        Some(format!("\"{key}\":{value}"))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// A list that is left out when it is empty.
pub(crate) fn list(items: &[impl AsRef<str>]) -> Option<String> {
    (!items.is_empty()).then(|| array(items))
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
