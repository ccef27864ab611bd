//! Options of collecting, and its warnings.

use std::fmt;
use std::path::PathBuf;

use tenure::error::Location;

use super::ReadAs;
use crate::sources::Formats;
use crate::sources::markdown::Split;
use crate::sources::skill::Disclosure;
use crate::trust::Trust;
use tenure_adapters::Encoder;

/// Options of collecting.
///
/// ```
/// use tenure_workspace::{Collect, sources::{markdown::Split, skill::Disclosure}};
/// let collect = Collect {
///     skills: Disclosure::Catalogue,
///     split: Split::Never,
///     near: Some("packages/api/src/main.rs".into()),
///     ..Collect::default()
/// };
/// # assert!(collect.encoder.is_none());
/// ```
#[derive(Clone, Default)]
pub struct Collect<'a> {
    /// The tenant of objects that name none. Default: the local tenant.
    pub tenant: Option<String>,
    /// The parsers, by file extension. Default: Markdown and JSON.
    pub formats: Formats,
    /// The rule by which plain Markdown becomes one object for each section. Default: above 4 KiB.
    pub split: Split,
    /// Leaves source code out, and keeps each document whole, as what is stored is kept. Default: source code is read, and
    /// long documents are parts that compete by themselves.
    pub whole: bool,
    /// The parts of each skill that are loaded. Default: its entry and its body.
    pub skills: Disclosure,
    /// The file or folder that is worked on. With it, only the instruction files in the folders above
    /// it are loaded, those nearest with the highest priority, and only the rules whose `paths` mean
    /// it. Default: none; all of them are loaded.
    pub near: Option<PathBuf>,
    /// Paths that the task names. Instruction files below the folder that was named are mandatory where they speak for
    /// one of these; without `near`. Default: none.
    pub worked_on: Vec<PathBuf>,
    /// The registry of a snapshot whose blocks are taken. Default: the only one.
    pub registry: Option<String>,
    /// Trees of source code, each file of which becomes an artifact: what is ignored
    /// in them is left out. Default: none.
    pub code: Vec<PathBuf>,
    /// The kind of the sources' documents. Instruction files and skills are guidance all the same. Default: evidence.
    pub read_as: ReadAs,
    /// The kind of the documents of these files and folders, where it is another. The `tenure.toml` of a folder that is
    /// named says it, too: guidance where the user accepted it. Default: none.
    pub declared: Vec<(PathBuf, ReadAs)>,
    /// The choice of instructions that are mandatory in a compile. Default: none; all of them are ranked.
    pub mandatory: Option<Mandatory<'a>>,
    /// Things that the user accepted. Default: nothing.
    pub trust: Trust,
    /// Takes objects of a JSON file that is named, or of its lines, at their word where they state their type, as the API
    /// does. Default: they are documents.
    pub typed_objects: bool,
    /// Walks what ignore files name, and folders of dependencies, too. Default: neither.
    pub include_ignored: bool,
    /// Fails on a file that a walk comes upon and that cannot be read. Default: it is left out, with a warning.
    pub strict: bool,
    /// The encoder whose limit objects are warned about. Default: none.
    pub encoder: Option<Encoder>,
    /// Called as work goes on.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

/// The choice of instructions that are mandatory: of those that an agent would have read at its start, whole sections,
/// the nearest first, while they take no more than 20,000 tokens, a fifth of the window and half of the budget. Then the entries of skills.
/// What is beyond ranks before other guidance, and leaves for want of room alone.
#[derive(Clone, Copy)]
pub struct Mandatory<'a> {
    /// Counts the tokens of a text.
    pub count: &'a dyn Fn(&str) -> usize,
    /// Returns the model's window in tokens, 0 where it is not known. Called only where there are instructions.
    pub window: &'a dyn Fn() -> u64,
    /// The tokens that the payload may have, where the caller says so.
    pub budget: Option<u32>,
}

/// The kind of a warning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum WarningKind {
    /// A skill that breaks the specification, or was left out.
    Skill,
    /// An instruction file: an import that was not followed, a frontmatter that cannot be read.
    Instructions,
    /// An instruction file of which not all sections are mandatory, since they take too much.
    BeyondLimit,
    /// A file of a tree of source code that is no text, or too large.
    Code,
    /// A file that a walk came upon and left out, since it cannot be read.
    File,
    /// A document that says it is guidance, or looks like it, and was read as data.
    ReadAsData,
    /// A rule that has less authority than it asks for, for where it comes from.
    AuthorityLowered,
    /// A `normalized_claim` that cannot be compared with others.
    ClaimNotParsed,
    /// An `update_path` of data that names something else than its own file, and is left out.
    UpdatePath,
    /// An object is longer than the encoder sees.
    Encoder,
}

/// Something that is not wrong enough to stop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// Its kind.
    pub kind: WarningKind,
    /// The skill, the import or the object.
    pub name: String,
    /// Its text.
    pub what: String,
    /// The place in the sources.
    pub at: Option<Location>,
}

impl Warning {
    /// Returns whether something was left out, not only read with a fault.
    pub fn is_loss(&self) -> bool {
        ["left out", "not ", "nothing"].iter().any(|start| self.what.starts_with(start))
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)?;
        self.at.as_ref().map_or(Ok(()), |at| write!(f, " ({at})"))
    }
}

/// The progress of collecting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Files read.
    pub files: usize,
    /// Files found.
    pub of: usize,
}
