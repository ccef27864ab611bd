//! Units: the parts that a document is made of, each with its place in the text.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::object::vocabulary::vocabulary;

vocabulary! {
    /// The kind of a unit.
    UnitKind ("unit") {
        /// A whole file.
        Document = "document",
        /// A heading and all below it, up to the next heading that is not deeper.
        Section = "section",
        /// A paragraph.
        Paragraph = "paragraph",
        /// An item of a list, with what is nested in it.
        ListItem = "list_item",
        /// A fenced or indented block of code.
        CodeBlock = "code_block",
        /// A table.
        Table = "table",
        /// A row of a table, the head included.
        TableRow = "table_row",
        /// The YAML at the head of a document.
        Frontmatter = "frontmatter",
        /// A function or method of source code.
        Function = "function",
        /// A class, struct, enum, trait, interface or type of source code.
        Class = "class",
        /// A value of JSON or YAML.
        Value = "value",
    }
}

impl UnitKind {
    /// The word for several of them, as selectors have it.
    pub const fn plural(self) -> &'static str {
        match self {
            UnitKind::Document => "documents",
            UnitKind::Section => "sections",
            UnitKind::Paragraph => "paragraphs",
            UnitKind::ListItem => "list_items",
            UnitKind::CodeBlock => "code_blocks",
            UnitKind::Table => "tables",
            UnitKind::TableRow => "table_rows",
            UnitKind::Frontmatter => "frontmatter",
            UnitKind::Function => "functions",
            UnitKind::Class => "classes",
            UnitKind::Value => "values",
        }
    }

    /// Returns whether an index holds units of this kind. Finer ones are cut from the file when they are asked for.
    pub const fn is_indexed(self) -> bool {
        matches!(
            self,
            UnitKind::Document | UnitKind::Section | UnitKind::Frontmatter
        )
    }
}

/// A part of a document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    /// Its kind.
    pub kind: UnitKind,
    /// Its number among the units of its kind in the document, from 0.
    pub index: u32,
    /// The place in [`DocumentUnits::units`] of the unit around it, which stands before it there.
    pub parent: Option<u32>,
    /// The words of a heading, or the name of a function or class; empty for others.
    pub name: String,
    /// The level of a heading, from 1; 0 for others.
    pub level: u8,
    /// The language of code or of a document; empty where none is known.
    pub language: String,
    /// Its bytes in the file.
    pub bytes: Range<u64>,
    /// Its first and its last line, counted from 1.
    pub lines: (u32, u32),
}

/// A document as its units.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DocumentUnits {
    /// Its path, relative to the root, with `/` between its parts.
    pub path: String,
    /// The fields of its frontmatter.
    pub frontmatter: Map<String, Value>,
    /// The labels that the frontmatter gives it.
    pub labels: Vec<String>,
    /// Its units in their order, the document itself first, each behind the one around it.
    pub units: Vec<Unit>,
}

impl DocumentUnits {
    /// The names of the headings above a unit, the outermost first.
    pub fn trail(&self, at: usize) -> Vec<&str> {
        let mut above = Vec::new();
        let mut open = self.units.get(at).and_then(|unit| unit.parent);
        while let Some(unit) = open.and_then(|at| self.units.get(at as usize)) {
            if unit.kind == UnitKind::Section {
                above.push(unit.name.as_str());
            }
            open = unit.parent;
        }
        above.reverse();
        above
    }

    /// Gives every unit its number among those of its kind, in their order.
    pub fn number(&mut self) {
        let mut next = [0_u32; UnitKind::ALL.len()];
        for unit in &mut self.units {
            if let Some(count) = next.get_mut(unit.kind as usize) {
                unit.index = *count;
                *count += 1;
            }
        }
    }
}
