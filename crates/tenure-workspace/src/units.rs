//! A file as its units: sections, paragraphs, list items, blocks of code, tables, functions, each with its bytes and lines
//! in the file as it lies on the disk.

mod markdown;
mod values;

use serde_json::{Map, Value};
use tenure::package::{DocumentUnits, Unit, UnitKind};

use crate::sources::frontmatter;
use crate::sources::seed::opens_section;

pub(crate) use values::values_in;

/// The most units of one file. What has more is no document that somebody reads.
const MOST: usize = 250_000;
/// The longest name of a unit, in bytes.
const LONGEST_NAME: usize = 512;

/// The way in which a file is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    Markdown,
    Text,
    Json,
    Yaml,
    Code,
}

impl Reading {
    /// The way for a file of this name, with its language; none of one that is not read.
    pub(crate) fn of(path: &str) -> Option<(Reading, &'static str)> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_lowercase();
        Some(match &*ending {
            "md" | "markdown" | "mdown" => (Reading::Markdown, "markdown"),
            "txt" | "text" | "rst" | "adoc" => (Reading::Text, "text"),
            "json" => (Reading::Json, "json"),
            "yaml" | "yml" => (Reading::Yaml, "yaml"),
            "toml" | "ini" | "cfg" => (Reading::Text, "toml"),
            "rs" => (Reading::Code, "rust"),
            "cs" => (Reading::Code, "csharp"),
            "php" => (Reading::Code, "php"),
            "kts" => (Reading::Code, "kotlin"),
            "cxx" | "hh" | "hxx" => (Reading::Code, "cpp"),
            "py" | "pyi" => (Reading::Code, "python"),
            "go" => (Reading::Code, "go"),
            "ts" | "mts" | "cts" | "tsx" => (Reading::Code, "typescript"),
            "js" | "jsx" | "mjs" | "cjs" => (Reading::Code, "javascript"),
            "c" | "h" => (Reading::Code, "c"),
            "cc" | "cpp" | "hpp" => (Reading::Code, "cpp"),
            "java" => (Reading::Code, "java"),
            "kt" => (Reading::Code, "kotlin"),
            "rb" => (Reading::Code, "ruby"),
            "sh" | "bash" => (Reading::Code, "shell"),
            "sql" => (Reading::Code, "sql"),
            "swift" => (Reading::Code, "swift"),
            _ => return None,
        })
    }

    pub(crate) const fn term(self) -> &'static str {
        match self {
            Reading::Markdown => "markdown",
            Reading::Text => "text",
            Reading::Json => "json",
            Reading::Yaml => "yaml",
            Reading::Code => "code",
        }
    }
}

/// The fineness of a cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fineness {
    /// The document, its frontmatter and its sections.
    Sections,
    /// Everything.
    All,
}

/// A file as its units, with what its reader should know.
pub(crate) struct Cut {
    pub(crate) document: DocumentUnits,
    /// The byte behind the frontmatter.
    pub(crate) front: u64,
    /// Something that is wrong with it and ends nothing; empty where nothing is.
    pub(crate) note: String,
}

/// Starts of the lines of a text.
pub(crate) struct Lines(Vec<u64>);

impl Lines {
    pub(crate) fn of(text: &str) -> Lines {
        let ends = text.bytes().zip(1_u64..).filter(|(byte, _)| *byte == b'\n');
        Lines(ends.map(|(_, at)| at).collect())
    }

    /// The line that a byte is on, counted from 1.
    pub(crate) fn at(&self, byte: u64) -> u32 {
        self.0.partition_point(|start| *start <= byte) as u32 + 1
    }

    /// The first and the last line of a range.
    pub(crate) fn span(&self, bytes: &std::ops::Range<u64>) -> (u32, u32) {
        let last = bytes.end.saturating_sub(1).max(bytes.start);
        (self.at(bytes.start), self.at(last))
    }
}

/// Cuts a text, which may begin with a byte order mark, into its units.
pub(crate) fn cut(
    path: &str,
    text: &str,
    reading: Reading,
    language: &str,
    fineness: Fineness,
) -> Cut {
    let lines = Lines::of(text);
    let mut cutter = Cutter {
        lines,
        text,
        units: Vec::new(),
        is_full: false,
    };
    let whole = cutter.trimmed(mark(text), text.len());
    cutter.push(UnitKind::Document, None, String::new(), 0, language, whole);
    let mut cut = Cut {
        document: DocumentUnits {
            path: path.to_owned(),
            ..DocumentUnits::default()
        },
        front: 0,
        note: String::new(),
    };
    match reading {
        Reading::Markdown => {
            let start = cutter.frontmatter(&mut cut);
            markdown::cut(&mut cutter, start, fineness);
        }
        Reading::Text if fineness == Fineness::All => cutter.paragraphs(),
        Reading::Code if fineness == Fineness::All => {
            cutter.declarations(path, language, &mut cut.note)
        }
        _ => {}
    }
    if cutter.is_full && cut.note.is_empty() {
        cut.note = format!("more than {MOST} units: the rest are left out");
    }
    cut.document.units = cutter.units;
    cut.document.number();
    cut
}

/// The bytes of a byte order mark.
fn mark(text: &str) -> usize {
    if text.starts_with('\u{FEFF}') { 3 } else { 0 }
}

/// The labels that fields give: `labels`, `label`, and `trust_zone` as `zone:…`. A key that may mean one of these is a label
/// that no table has, so that a slip opens nothing.
pub(crate) fn labels_of(fields: &Map<String, Value>) -> Vec<String> {
    let mut labels = Vec::new();
    for key in ["labels", "label"] {
        match fields.get(key) {
            Some(Value::Array(values)) => labels.extend(values.iter().map(frontmatter::word)),
            Some(Value::Null) | None => {}
            Some(value) => labels
                .extend(frontmatter::word(value).split(',').map(|label| label.trim().to_owned())),
        }
    }
    if let Some(zone) = fields.get("trust_zone").filter(|zone| !zone.is_null()) {
        labels.push(format!("zone:{}", frontmatter::word(zone)));
    }
    let slips = fields.keys().filter(|key| is_slip(key));
    labels.extend(slips.map(|key| format!("{key}?")));
    labels.retain(|label| !label.is_empty());
    labels.sort();
    labels.dedup();
    labels
}

/// Returns whether somebody who wrote a key may have meant one of the three of labels.
fn is_slip(key: &str) -> bool {
    const KEYS: [&str; 3] = ["label", "labels", "trust_zone"];
    let plain = |key: &str| key.to_lowercase().replace(['_', '-', ' '], "");
    !KEYS.contains(&key)
        && key.len() < 20
        && KEYS.iter().any(|known| strsim::osa_distance(&plain(known), &plain(key)) <= 1)
}

/// The label of a document whose frontmatter cannot be read: no table has it.
const UNREAD: &str = "frontmatter?";

/// The units of a text while it is cut.
struct Cutter<'t> {
    text: &'t str,
    lines: Lines,
    units: Vec<Unit>,
    is_full: bool,
}

impl Cutter<'_> {
    /// Adds a unit and returns its place; where there are too many, that of the one around it.
    fn push(
        &mut self,
        kind: UnitKind,
        parent: Option<u32>,
        mut name: String,
        level: u8,
        language: &str,
        bytes: std::ops::Range<u64>,
    ) -> u32 {
        if self.units.len() >= MOST {
            self.is_full = true;
            return parent.unwrap_or_default();
        }
        name.truncate(name.floor_char_boundary(LONGEST_NAME));
        self.units.push(Unit {
            kind,
            index: 0,
            parent,
            name,
            level,
            language: language.to_owned(),
            lines: self.lines.span(&bytes),
            bytes,
        });
        self.units.len() as u32 - 1
    }

    /// A range without the white space at its end.
    fn trimmed(&self, start: usize, end: usize) -> std::ops::Range<u64> {
        let length = self.text[start..end].trim_end().len();
        start as u64..(start + length) as u64
    }

    /// Reads the frontmatter, if there is one, and returns where the rest begins.
    fn frontmatter(&mut self, cut: &mut Cut) -> usize {
        let start = mark(self.text);
        let text = &self.text[start..];
        if !text.trim_start().starts_with("---") {
            return start;
        }
        let found = match frontmatter::cut(text) {
            Ok(Some(found)) => found,
            Ok(None) => return start,
            Err(error) => {
                cut.note = error.what;
                let lines: Vec<&str> = text.trim_start().lines().take(64).collect();
                if opens_section(&lines, 0) {
                    cut.document.labels = vec![UNREAD.to_owned()];
                }
                return start;
            }
        };
        let body = self.text.len() - found.body.len();
        match frontmatter::mapping(found.yaml) {
            Ok(mapping) => {
                cut.document.labels = labels_of(&mapping.fields);
                cut.document.frontmatter = mapping.fields;
            }
            Err(error) => {
                cut.note = error.what;
                cut.document.labels = vec![UNREAD.to_owned()];
            }
        }
        cut.front = body as u64;
        let blank = text.len() - text.trim_start().len();
        let bytes = self.trimmed(start + blank, body);
        self.push(
            UnitKind::Frontmatter,
            Some(0),
            String::new(),
            0,
            "yaml",
            bytes,
        );
        body
    }

    /// The runs of lines that are not blank.
    fn paragraphs(&mut self) {
        let mut start = None;
        let mut at = mark(self.text);
        let text = self.text;
        for line in text[at..].split_inclusive('\n') {
            match (line.trim().is_empty(), start) {
                (false, None) => start = Some(at),
                (true, Some(from)) => {
                    let bytes = self.trimmed(from, at);
                    self.push(UnitKind::Paragraph, Some(0), String::new(), 0, "", bytes);
                    start = None;
                }
                _ => {}
            }
            at += line.len();
        }
        if let Some(from) = start {
            let bytes = self.trimmed(from, at);
            self.push(UnitKind::Paragraph, Some(0), String::new(), 0, "", bytes);
        }
    }

    /// The functions and classes of source code, within each other as they stand.
    #[cfg(feature = "code")]
    fn declarations(&mut self, path: &str, language: &str, _note: &mut String) {
        use tenure_adapters::code::{Declares, declarations};
        let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending).to_lowercase();
        let start = mark(self.text);
        let mut open: Vec<(u64, u32)> = Vec::new();
        for found in declarations(&self.text[start..], &ending) {
            let bytes = (found.bytes.start + start) as u64..(found.bytes.end + start) as u64;
            while open.last().is_some_and(|(end, _)| *end <= bytes.start) {
                open.pop();
            }
            let kind = match found.declares {
                Declares::Function => UnitKind::Function,
                Declares::Class => UnitKind::Class,
            };
            let parent = open.last().map_or(0, |(_, at)| *at);
            let end = bytes.end;
            let at = self.push(kind, Some(parent), found.name, 0, language, bytes);
            open.push((end, at));
        }
    }

    #[cfg(not(feature = "code"))]
    fn declarations(&mut self, _path: &str, _language: &str, note: &mut String) {
        *note = "this build reads no functions and classes: it was made without the feature `code`"
            .to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Cut {
        cut("a.md", text, Reading::Markdown, "markdown", Fineness::All)
    }

    /// The units as `kind: text`, without the document.
    fn shown(text: &str) -> Vec<String> {
        let cut = of(text);
        cut.document
            .units
            .iter()
            .skip(1)
            .map(|unit| {
                let bytes = unit.bytes.start as usize..unit.bytes.end as usize;
                format!("{}: {}", unit.kind, &text[bytes])
            })
            .collect()
    }

    #[test]
    fn markdown_is_cut_into_what_it_is_made_of() {
        let text = "---\nlabels: [internal]\n---\nLead.\n\n# One\n\nA *b*\nc.\n\n- x\n  - y\n- z\n\n## Two\n\n```rust\n# no heading\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nSetext\n------\nEnd.\n";
        assert_eq!(
            shown(text),
            [
                "frontmatter: ---\nlabels: [internal]\n---",
                "paragraph: Lead.",
                "section: # One\n\nA *b*\nc.\n\n- x\n  - y\n- z\n\n## Two\n\n```rust\n# no heading\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nSetext\n------\nEnd.",
                "paragraph: A *b*\nc.",
                "list_item: - x\n  - y",
                "list_item: - y",
                "list_item: - z",
                "section: ## Two\n\n```rust\n# no heading\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |",
                "code_block: ```rust\n# no heading\n```",
                "table: | a | b |\n|---|---|\n| 1 | 2 |",
                "table_row: | a | b |",
                "table_row: | 1 | 2 |",
                "section: Setext\n------\nEnd.",
                "paragraph: End.",
            ]
        );
        let cut = of(text);
        assert_eq!(cut.document.labels, ["internal"]);
        let section = &cut.document.units[3];
        assert_eq!(
            (section.name.as_str(), section.level, section.lines),
            ("One", 1, (6, 27))
        );
        let two = &cut.document.units[8];
        assert_eq!(
            (two.name.as_str(), two.parent, two.lines),
            ("Two", Some(3), (15, 23))
        );
        let setext = &cut.document.units[13];
        assert_eq!((setext.name.as_str(), setext.level), ("Setext", 2));
        assert_eq!(cut.document.units[9].language, "rust");
    }

    #[test]
    fn odd_texts_keep_their_places() {
        let marked = "\u{FEFF}---\r\na: 1\r\n---\r\n# T\r\n\r\nx\r\n";
        let cut = of(marked);
        let kinds: Vec<UnitKind> = cut.document.units.iter().map(|unit| unit.kind).collect();
        let wanted = [
            UnitKind::Document,
            UnitKind::Frontmatter,
            UnitKind::Section,
            UnitKind::Paragraph,
        ];
        assert_eq!(kinds, wanted);
        assert_eq!(cut.document.frontmatter["a"], 1);
        let units = &cut.document.units;
        let at = |at: usize| &marked[units[at].bytes.start as usize..units[at].bytes.end as usize];
        assert_eq!(
            (at(2), at(3), units[3].lines),
            ("# T\r\n\r\nx", "x", (6, 6))
        );
        for text in [
            "",
            "\u{FEFF}",
            "#",
            "# \n\n#\n",
            "---",
            "---\nx: [",
            "> # quoted\n> x\n",
            "\r\r\r",
        ] {
            let cut = of(text);
            for unit in &cut.document.units {
                assert!(unit.bytes.start <= unit.bytes.end && unit.bytes.end <= text.len() as u64);
                assert!(text.get(unit.bytes.start as usize..unit.bytes.end as usize).is_some());
            }
        }
        let twice = of("# A\nx\n# A\ny\n");
        let sections = twice.document.units.iter().filter(|unit| unit.kind == UnitKind::Section);
        assert_eq!(sections.map(|unit| unit.index).collect::<Vec<_>>(), [0, 1]);
        let headless = of("# \n\nx\n");
        assert_eq!(headless.document.units[1].name, "");
    }

    #[test]
    fn bombs_are_no_frontmatter_and_deep_lists_are_cut() {
        let bomb = "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n---\n# T\n";
        let cut = of(bomb);
        // Whatever stands for an alias is text, once or not at all.
        let read = Value::Object(cut.document.frontmatter.clone()).to_string();
        assert!(read.len() < 2 * bomb.len(), "{} bytes", read.len());
        assert_eq!(cut.document.units.last().unwrap().name, "T");
        let deep = format!("{}x\n", "- ".repeat(10_000));
        let cut = of(&deep);
        let items = cut.document.units.iter().filter(|unit| unit.kind == UnitKind::ListItem);
        assert!(items.count() > 10);
        let long = "x".repeat(4 << 20);
        assert_eq!(of(&long).document.units.len(), 2);
    }

    #[test]
    fn text_and_code_have_units_of_their_own() {
        let text = "One\ntwo\n\n\nthree\n";
        let cut = super::cut("a.txt", text, Reading::Text, "text", Fineness::All);
        assert_eq!(cut.document.units.len(), 3);
        assert_eq!(cut.document.units[1].lines, (1, 2));
        let code = "class A:\n    def b(self):\n        pass\n\ndef c():\n    pass\n";
        let cut = super::cut("a.py", code, Reading::Code, "python", Fineness::All);
        let names: Vec<(UnitKind, &str, Option<u32>)> = cut
            .document
            .units
            .iter()
            .skip(1)
            .map(|unit| (unit.kind, unit.name.as_str(), unit.parent))
            .collect();
        assert_eq!(
            names,
            [
                (UnitKind::Class, "A", Some(0)),
                (UnitKind::Function, "b", Some(1)),
                (UnitKind::Function, "c", Some(0)),
            ]
        );
    }
}
