//! The formats that objects are read from, by file extension, and the instruction files that agents
//! already have.

pub(crate) mod agent_files;
pub mod agents;
pub mod claude;
pub(crate) mod code;
pub(crate) mod comments;
pub(crate) mod foreign;
pub(crate) mod frontmatter;
mod html;
pub mod json;
pub mod markdown;
pub(crate) mod names;
mod notebook;
pub(crate) mod parts;
pub mod seed;
pub(crate) mod shape;
pub mod skill;
mod text;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tenure::object::{Authority, clip};
use tenure::{Error, ObjectDocument};
use tenure_adapters::read::MAX_FILE;

use crate::collect::ReadAs;
use agent_files::Kind;
use markdown::Split;
use shape::{Blocks, check_page};
use text::Markup;

/// The most sections of one file.
pub const MAX_SECTIONS: usize = 100_000;

/// The authority of instruction files and skills: that of their project's developer, never the platform's, whatever
/// they claim.
pub const GUIDANCE: Authority = Authority::Developer;

/// A document with the line of its source that it begins on.
#[derive(Clone, PartialEq, Debug)]
pub struct Sourced {
    /// The document.
    pub document: ObjectDocument,
    /// The line, counted from one.
    pub line: usize,
    /// Its last line, where its provenance names its lines.
    pub until: Option<usize>,
    /// Set where its name is made from its file's, since its author gave none.
    pub is_named_by_file: bool,
}

impl Sourced {
    /// A document that has a name of its own.
    pub fn new(document: ObjectDocument, line: usize) -> Sourced {
        Sourced {
            document,
            line,
            until: None,
            is_named_by_file: false,
        }
    }
}

/// Reads the documents of a text: its arguments are the text and the file's stem, which names an
/// object that has no name of its own.
pub type Parser = Arc<dyn Fn(&str, &str) -> Result<Vec<Sourced>, Error> + Send + Sync>;

/// The parsers, by file extension. The standard ones are Markdown (`md`, `markdown`, `mdc`, `mdx`), objects in JSON
/// (`json`), what is read as text: `txt`, `rst`, `adoc`, `html`, `ipynb`, `csv`, `jsonl` and the like, and source code. A
/// user registers others before loading.
///
/// ```
/// use tenure::ObjectDocument;
/// use tenure_workspace::sources::{Formats, Sourced};
///
/// let mut formats = Formats::standard();
/// formats.register("org", |text: &str, stem: &str| {
///     Ok(vec![Sourced::new(ObjectDocument::rule(stem, text.trim()), 1)])
/// })?;
/// assert!(formats.extensions().any(|known| known == "org"));
/// assert!(formats.register("md", |_: &str, _: &str| Ok(Vec::new())).is_err());
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone)]
pub struct Formats {
    known: BTreeMap<String, Format>,
}

/// The reader of one extension.
#[derive(Clone)]
enum Format {
    /// Seed files and plain Markdown, which is split.
    Markdown,
    /// Objects in their published form, or any other JSON.
    Json,
    /// A page in HTML.
    Html,
    /// A notebook of Jupyter.
    Notebook,
    /// Text in another markup, or in none.
    Text(Markup),
    /// Source code, by its parts.
    Code,
    /// A user's own.
    Registered(Parser),
}

impl Formats {
    /// Those that are read without a user's own parser.
    pub fn standard() -> Formats {
        let known = [
            ("adoc", Format::Text(Markup::Asciidoc)),
            ("asciidoc", Format::Text(Markup::Asciidoc)),
            ("csv", Format::Text(Markup::Table)),
            ("htm", Format::Html),
            ("html", Format::Html),
            ("ipynb", Format::Notebook),
            ("json", Format::Json),
            ("jsonl", Format::Text(Markup::Lines)),
            ("markdown", Format::Markdown),
            ("md", Format::Markdown),
            ("mdc", Format::Markdown),
            ("mdx", Format::Markdown),
            ("ndjson", Format::Text(Markup::Lines)),
            ("rst", Format::Text(Markup::Rst)),
            ("text", Format::Text(Markup::Plain)),
            ("tsv", Format::Text(Markup::Table)),
            ("txt", Format::Text(Markup::Plain)),
        ];
        let code = code::ENDINGS.map(|ending| (ending, Format::Code));
        Formats {
            known: code
                .into_iter()
                .chain(known)
                .map(|(name, format)| (name.to_owned(), format))
                .collect(),
        }
    }

    /// Adds a parser for an extension without a parser, or of source code. Folders are walked for it from then on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when the extension is none or has a parser.
    pub fn register(
        &mut self,
        extension: &str,
        parser: impl Fn(&str, &str) -> Result<Vec<Sourced>, Error> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let extension = normal(extension)?;
        if self.known.get(&extension).is_some_and(|known| !matches!(known, Format::Code)) {
            return Err(
                Error::input(format!("the extension `{extension}` already has a parser"))
                    .expected("an extension without a parser")
                    .hint("use `replace` to replace it"),
            );
        }
        self.replace(&extension, parser)
    }

    /// Puts a parser in the place of the one that the extension has, or adds it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when the extension is none.
    pub fn replace(
        &mut self,
        extension: &str,
        parser: impl Fn(&str, &str) -> Result<Vec<Sourced>, Error> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        let format = Format::Registered(Arc::new(parser));
        self.known.insert(normal(extension)?, format);
        Ok(())
    }

    /// The extensions that have a parser, in order.
    pub fn extensions(&self) -> impl Iterator<Item = &str> {
        self.known.keys().map(String::as_str)
    }

    /// Returns whether there is a parser for this file.
    pub fn knows(&self, path: &Path) -> bool {
        self.of(path).is_some()
    }

    /// The most bytes that such a file may have. What is large in a notebook is its images, which are left out.
    pub(crate) fn limit(&self, path: &Path) -> u64 {
        match self.of(path) {
            Some(Format::Notebook) => notebook::MAX_NOTEBOOK,
            _ => MAX_FILE,
        }
    }

    /// Returns whether a walk takes this file. In a folder of guidance only `.md` and the formats that the user
    /// registered are: other files beside the rules are rarely rules.
    pub(crate) fn walks(&self, path: &Path, read_as: ReadAs) -> bool {
        match self.of(path) {
            Some(Format::Registered(_)) => true,
            Some(_) if read_as != ReadAs::Guidance => !is_made(path),
            Some(Format::Markdown) => matches!(extension(path).as_deref(), Some("md" | "mdc")),
            Some(_) | None => false,
        }
    }

    /// The documents of a file's text. What has no name of its own is named `name`, or `name/…` for a part.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line, and without one when the file
    /// has no known format.
    pub fn parse(
        &self,
        path: &Path,
        name: &str,
        text: &str,
        split: Split,
    ) -> Result<Vec<Sourced>, Error> {
        match self.of(path) {
            Some(Format::Markdown) => seed::parse_split(text, name, split),
            Some(Format::Json) => {
                json::parse(text, name).map_err(|error| match shape::in_json(text) {
                    Some(sign) => sign.explain(error),
                    None => error,
                })
            }
            Some(Format::Html) => {
                check_page(text, Blocks::Plain)?;
                let read = html::to_markdown(text);
                converted(&read, name, split)
            }
            Some(Format::Notebook) => {
                shape::in_json(text).map_or(Ok(()), |sign| Err(sign.error()))?;
                let read = notebook::to_markdown(text, name)?;
                converted(&read, name, split)
            }
            Some(Format::Text(Markup::Lines)) => match json::parse_lines_or_data(text, name)? {
                Some(read) => Ok(read),
                None => text::documents(text, name, split, Markup::Lines),
            },
            Some(Format::Text(Markup::Table)) => {
                shape::in_columns(text).map_or(Ok(()), |sign| Err(sign.error()))?;
                text::documents(text, name, split, Markup::Table)
            }
            Some(Format::Text(markup)) => {
                check_page(text, Blocks::Plain)?;
                text::documents(text, name, split, *markup)
            }
            Some(Format::Code) => {
                check_text(path, text)?;
                Ok(code::documents(text, name, split))
            }
            Some(Format::Registered(parser)) => parser(text, stem_of(path)),
            None => Err(self.unknown(path)),
        }
    }

    /// Returns the documents of a file that is data: as [`parse`](Self::parse) does, but JSON that holds no objects is text.
    pub(crate) fn parse_data(
        &self,
        path: &Path,
        name: &str,
        text: &str,
        split: Split,
    ) -> Result<Vec<Sourced>, Error> {
        if !matches!(self.of(path), Some(Format::Json)) {
            return self.parse(path, name, text, split);
        }
        match json::parse_or_data(text, name)? {
            Some(read) => Ok(read),
            None => text::documents(text, name, split, Markup::Lines),
        }
    }

    /// Returns the documents of a file that is taken at its word: as [`parse`](Self::parse) does, and JSON Lines may hold
    /// an object in each line.
    pub(crate) fn parse_typed(
        &self,
        path: &Path,
        name: &str,
        text: &str,
        split: Split,
    ) -> Result<Vec<Sourced>, Error> {
        match self.of(path) {
            Some(Format::Text(Markup::Lines)) if json::begins_with_object(text) => {
                json::parse_lines(text, name)
            }
            _ => self.parse(path, name, text, split),
        }
    }

    /// The error for a file that no parser reads.
    pub(crate) fn unknown(&self, path: &Path) -> Error {
        let documents = self.known.iter().filter(|(_, format)| !matches!(format, Format::Code));
        let known: Vec<String> = documents.map(|(name, _)| format!(".{name}")).collect();
        Error::input(format!("`{}` has no known format", path.display())).expected(format!(
            "a file that ends in {}, source code, or a folder",
            known.join(", ")
        ))
    }

    /// Returns whether a file is read as source code.
    pub(crate) fn is_code(&self, path: &Path) -> bool {
        matches!(self.of(path), Some(Format::Code))
    }

    fn of(&self, path: &Path) -> Option<&Format> {
        if code::is_named(path) {
            return Some(&Format::Code);
        }
        match extension(path) {
            Some(extension) => self.known.get(&extension),
            None => is_plain_page(path).then_some(&Format::Text(Markup::Plain)),
        }
    }
}

impl Default for Formats {
    fn default() -> Formats {
        Formats::standard()
    }
}

impl fmt::Debug for Formats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.extensions()).finish()
    }
}

/// Refuses a text that is about to be read as words, whatever its file is named, where it says who may see it: an object in JSON or in
/// lines of it, a page with such a frontmatter. Of source code, only what stands in a document is looked at.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line and the field that is meant.
pub(crate) fn check_text(path: &Path, text: &str) -> Result<(), Error> {
    let sign = match extension(path).as_deref() {
        Some("json" | "json5" | "jsonc" | "ipynb") => shape::in_json(text),
        Some("jsonl" | "ndjson") => shape::in_lines(text),
        Some("csv" | "tsv") => shape::in_columns(text),
        Some("md" | "markdown" | "mdc" | "mdown" | "mdx") => {
            return check_page(text, Blocks::Fenced);
        }
        Some(
            "adoc" | "asciidoc" | "cfg" | "htm" | "html" | "ini" | "rst" | "text" | "toml" | "txt"
            | "yaml" | "yml",
        ) => {
            return check_page(text, Blocks::Plain);
        }
        _ => None,
    };
    sign.map_or(Ok(()), |sign| Err(sign.error()))
}

/// Refuses an instruction file, a skill, or what these bring along, as [`check_text`] does, but where it only says what it is.
///
/// # Errors
///
/// As [`check_text`].
pub(crate) fn check_guidance(path: &Path, text: &str) -> Result<(), Error> {
    match extension(path).as_deref() {
        Some("md" | "markdown" | "mdc" | "mdx") => shape::check_instructions(text),
        _ if Kind::of(path).is_some() => shape::check_instructions(text),
        _ => check_text(path, text),
    }
}

/// The documents of Markdown that another form was converted to: its lines are not the file's.
fn converted(markdown: &str, name: &str, split: Split) -> Result<Vec<Sourced>, Error> {
    let mut documents = markdown::documents(markdown, name, split)?;
    for sourced in &mut documents {
        sourced.line = 1;
    }
    Ok(documents)
}

/// Returns whether a file is a licence or a list of licences, by its name. It has many words, and no task is about them.
pub(crate) fn is_licence(path: &Path) -> bool {
    let stem = stem_of(path).replace('-', "_");
    let first = stem.split('.').next().unwrap_or_default();
    let lower = first.to_ascii_lowercase();
    let words = ["copying", "licence", "licences", "license", "licenses"];
    words.contains(&&*lower)
        || ["licence_", "license_"].iter().any(|word| lower.starts_with(word))
        // Other words begin so, too, but not in capitals.
        || ["NOTICE", "NOTICES", "THIRD_PARTY_NOTICES"].contains(&first)
}

/// Returns whether a file without an ending is a text for people, by its name.
fn is_plain_page(path: &Path) -> bool {
    const PAGES: [&str; 8] = [
        "CHANGELOG",
        "CHANGES",
        "CONTRIBUTING",
        "HISTORY",
        "INSTALL",
        "NEWS",
        "README",
        "TODO",
    ];
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| PAGES.contains(&name))
}

/// Returns whether a file is written by a program for a program, by its name.
fn is_made(path: &Path) -> bool {
    let name = path
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    ["package-lock.json", "npm-shrinkwrap.json"].contains(&&*name)
        || name.ends_with(".min.json")
        || name.ends_with(".map.json")
}

/// Returns whether a file is JSON, by its name.
pub(crate) fn is_json(path: &Path) -> bool {
    extension(path).as_deref() == Some("json")
}

/// Returns whether a file is JSON Lines, by its name.
pub(crate) fn is_json_lines(path: &Path) -> bool {
    matches!(extension(path).as_deref(), Some("jsonl" | "ndjson"))
}

/// A file's name without its extension.
pub(crate) fn stem_of(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("unnamed")
}

fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_ascii_lowercase())
}

/// An extension as it is looked up: without a dot, in lower case.
fn normal(given: &str) -> Result<String, Error> {
    let extension = given.strip_prefix('.').unwrap_or(given);
    let legal = |c: char| c.is_alphanumeric() || "-_+".contains(c);
    if extension.is_empty() || !extension.chars().all(legal) {
        return Err(
            Error::input(format!("`{}` is not a file extension", clip(given)))
                .expected("the letters after a file name's last dot"),
        );
    }
    Ok(extension.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, stem: &str) -> Result<Vec<Sourced>, Error> {
        Ok(text
            .lines()
            .enumerate()
            .map(|(at, line)| {
                Sourced::new(ObjectDocument::named(format!("{stem}-{at}"), line), at + 1)
            })
            .collect())
    }

    #[test]
    fn licences_are_known_by_their_names() {
        for name in [
            "LICENSE.txt",
            "license-apache.md",
            "THIRD_PARTY_NOTICES.md",
            "Copying.txt",
        ] {
            assert!(is_licence(Path::new(name)), "{name}");
        }
        for name in ["notice.md", "licensing.md", "docs/index.md"] {
            assert!(!is_licence(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn an_extension_is_registered_once_and_replaced_on_purpose() {
        let mut formats = Formats::standard();
        formats.register(".ORG", lines).unwrap();
        let walks = |path: &str, read_as| formats.walks(Path::new(path), read_as);
        assert!(walks("a.org", ReadAs::Guidance) && walks("a.json", ReadAs::Evidence));
        assert!(!walks("a.json", ReadAs::Guidance) && !walks("a.markdown", ReadAs::Guidance));
        assert!(!walks("package-lock.json", ReadAs::Evidence));
        let error = formats.register("org", lines).unwrap_err().to_string();
        assert_eq!(
            error,
            "the extension `org` already has a parser\nexpected: an extension without a parser\n\
             hint: use `replace` to replace it"
        );
        assert!(formats.register("tar.gz", lines).is_err());
        assert!(formats.register("", lines).is_err());
        formats.replace("md", lines).unwrap();
        let read = formats.parse(Path::new("a/b.md"), "a/b", "x\ny", Split::default());
        assert_eq!(read.unwrap()[1].document.name, "b-1");
        let error = formats.parse(Path::new("a.xyz"), "a", "", Split::Never);
        assert!(error.unwrap_err().to_string().contains(".org"));
    }
}
