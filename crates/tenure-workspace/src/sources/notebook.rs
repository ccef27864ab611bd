//! Notebooks of Jupyter: their texts, code and what the code printed. Images and widgets are left out.

use std::fmt::Write as _;

use serde::Deserialize;
use tenure::Error;

/// The largest notebook, in bytes.
pub(super) const MAX_NOTEBOOK: u64 = 256 << 20;
/// The most bytes of one cell's output: what is printed is often a log.
const MOST_OF_OUTPUT: usize = 4 << 10;

#[derive(Deserialize)]
struct Notebook {
    #[serde(default)]
    cells: Vec<Cell>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize, Default)]
struct Metadata {
    language_info: Option<Language>,
}

#[derive(Deserialize)]
struct Language {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct Cell {
    #[serde(default)]
    cell_type: String,
    #[serde(default)]
    source: Text,
    #[serde(default)]
    outputs: Vec<Output>,
}

#[derive(Deserialize)]
struct Output {
    #[serde(default)]
    text: Text,
    #[serde(default)]
    data: Data,
    #[serde(default)]
    ename: String,
    #[serde(default)]
    evalue: String,
}

#[derive(Deserialize, Default)]
struct Data {
    #[serde(default, rename = "text/plain")]
    plain: Text,
}

/// A text, whole or in lines.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Whole(String),
    Lines(Vec<String>),
}

impl Default for Text {
    fn default() -> Text {
        Text::Whole(String::new())
    }
}

impl Text {
    fn whole(self) -> String {
        match self {
            Text::Whole(text) => text,
            Text::Lines(lines) => lines.concat(),
        }
    }
}

/// The notebook as Markdown.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line when it is no notebook.
pub(super) fn to_markdown(text: &str, name: &str) -> Result<String, Error> {
    let notebook: Notebook =
        serde_json::from_str(text).map_err(|error| tenure::request::json_error(&error, name))?;
    let language = notebook
        .metadata
        .language_info
        .map(|info| info.name)
        .filter(|name| name.chars().all(char::is_alphanumeric))
        .unwrap_or_default();
    let mut markdown = String::new();
    for cell in notebook.cells {
        let source = cell.source.whole();
        if source.trim().is_empty() {
            continue;
        }
        if cell.cell_type != "code" {
            let _ = writeln!(markdown, "{}\n", source.trim());
            continue;
        }
        fenced(&mut markdown, &language, source.trim_end());
        for output in cell.outputs {
            let (printed, shown) = (output.text.whole(), output.data.plain.whole());
            let failed = match (&*output.ename, &*output.evalue) {
                ("", _) => String::new(),
                (name, what) => format!("{name}: {what}"),
            };
            let all = [printed, shown, failed].concat();
            let end = all.floor_char_boundary(MOST_OF_OUTPUT);
            if !all.trim().is_empty() {
                fenced(&mut markdown, "output", all[..end].trim_end());
            }
        }
    }
    Ok(markdown)
}

/// Adds a code block, whose fence is longer than any within.
fn fenced(markdown: &mut String, label: &str, text: &str) {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = writeln!(markdown, "{fence}{label}\n{text}\n{fence}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_told_without_images() {
        let notebook = r##"{"nbformat": 4, "metadata": {"language_info": {"name": "python"}}, "cells": [
            {"cell_type": "markdown", "source": ["# Pump\n", "Text."]},
            {"cell_type": "code", "source": "print('```')", "outputs": [
                {"output_type": "stream", "text": ["```\n"]},
                {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo=", "text/plain": "<Figure>"}},
                {"output_type": "error", "ename": "ValueError", "evalue": "no"}]},
            {"cell_type": "raw", "source": ""}]}"##;
        let markdown = to_markdown(notebook, "n").unwrap();
        assert_eq!(
            markdown,
            "# Pump\nText.\n\n````python\nprint('```')\n````\n\n````output\n```\n````\n\n```output\n<Figure>\n```\n\n```output\nValueError: no\n```\n\n"
        );
        assert!(to_markdown("[1]", "n").is_err());
        assert!(to_markdown("{\"cells\": [{\"source\": 7}]}", "n").is_err());
    }
}
