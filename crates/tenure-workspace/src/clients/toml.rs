//! Entries of TOML.

use serde_json::Value;
use tenure::Error;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::faults::{broken, no_object};

pub(super) fn value(text: &str) -> Result<Value, Error> {
    toml::from_str(text).map_err(|error| broken(error.message(), line_of(text, error.span())))
}

fn line_of(text: &str, span: Option<std::ops::Range<usize>>) -> usize {
    let at = span.map_or(0, |span| span.start.min(text.len()));
    let before = text.as_bytes()[..at].iter();
    before.filter(|&&byte| byte == b'\n').count() + 1
}

/// Edits a text. The library writes all ends of lines as one newline, so a text with others is edited with these and gets
/// its own back.
fn edited(
    text: &str,
    edit: impl FnOnce(&mut DocumentMut) -> Result<(), Error>,
) -> Result<String, Error> {
    let plain = text.replace("\r\n", "\n");
    let has_others = plain.len() < text.len();
    if has_others && plain.replace('\n', "\r\n") != text {
        return Err(
            Error::input("the lines of the file end in two ways, \\n and \\r\\n")
                .expected("one way"),
        );
    }
    let mut document: DocumentMut = plain.parse().map_err(|error: toml_edit::TomlError| {
        broken(error.message(), line_of(&plain, error.span()))
    })?;
    edit(&mut document)?;
    let after = document.to_string();
    Ok(if has_others {
        after.replace('\n', "\r\n")
    } else {
        after
    })
}

pub(super) fn set(text: &str, path: &[String], new: &Value) -> Result<String, Error> {
    edited(text, |document| {
        let Some((last, above)) = path.split_last() else {
            return Err(no_object(&[]));
        };
        let mut table: &mut dyn TableLike = document.as_table_mut();
        let mut is_inline = false;
        for (depth, name) in above.iter().enumerate() {
            if !table.contains_key(name) {
                let mut made = Table::new();
                made.set_implicit(true);
                let item = if is_inline {
                    Item::Value(InlineTable::new().into())
                } else {
                    Item::Table(made)
                };
                table.insert(name, item);
            }
            let inner = table.get_mut(name).ok_or_else(|| no_object(&[]))?;
            is_inline = is_inline || inner.is_inline_table();
            table = inner.as_table_like_mut().ok_or_else(|| no_object(&path[..=depth]))?;
        }
        let mut item = written(new, is_inline);
        // The comment behind a value stays.
        if let (Some(old), Some(new)) = (
            table.get(last).and_then(Item::as_value),
            item.as_value_mut(),
        ) {
            *new.decor_mut() = old.decor().clone();
        }
        match table.get_mut(last) {
            Some(old) => *old = item,
            None => drop(table.insert(last, item)),
        }
        Ok(())
    })
}

pub(super) fn take(text: &str, path: &[String], stays: usize) -> Result<String, Error> {
    edited(text, |document| {
        for depth in (stays.min(path.len().saturating_sub(1))..path.len()).rev() {
            let (above, name) = (&path[..depth], &path[depth]);
            let mut table: Option<&mut dyn TableLike> = Some(document.as_table_mut());
            for name in above {
                table =
                    table.and_then(|table| table.get_mut(name)).and_then(Item::as_table_like_mut);
            }
            let Some(table) = table else { break };
            let is_empty =
                table.get(name).and_then(Item::as_table_like).is_some_and(TableLike::is_empty);
            if depth + 1 == path.len() || is_empty {
                table.remove(name);
            }
        }
        Ok(())
    })
}

/// Returns a value as a table of its own, or within a line.
fn written(new: &Value, is_inline: bool) -> Item {
    match new {
        Value::Object(entries) if !is_inline => {
            let mut table = Table::new();
            for (name, entry) in entries {
                table.insert(name, written(entry, true));
            }
            Item::Table(table)
        }
        other => Item::Value(in_line(other)),
    }
}

fn in_line(new: &Value) -> toml_edit::Value {
    match new {
        Value::Null => "".into(),
        Value::Bool(new) => (*new).into(),
        Value::Number(new) => match new.as_i64() {
            Some(whole) => whole.into(),
            None => new.as_f64().unwrap_or_default().into(),
        },
        Value::String(new) => new.as_str().into(),
        Value::Array(new) => new.iter().map(in_line).collect::<Array>().into(),
        Value::Object(new) => new
            .iter()
            .map(|(name, entry)| (name.as_str(), in_line(entry)))
            .collect::<InlineTable>()
            .into(),
    }
}
