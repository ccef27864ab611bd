//! Finding the files that were named, in folders as well: which are objects of a format, which are
//! skills and instruction files, and what is left out and why. No link is followed.

mod ignored;
mod instructions;
mod skills;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tenure::error::Location;
use tenure::{Digest, Error, Unfetched};

use crate::collect::{Collect, Declared, MANIFEST, ReadAs, Warning, WarningKind};
use crate::read::{KERNEL, is_of_the_kernel, name_of_file, name_of_path};
use crate::snapshot::may_be_snapshot;
use crate::sources::agent_files::{CLINE_RULES, DOTTED, FILES, Kind, project_of};
use crate::sources::agents::Near;
use crate::sources::skill::SKILL_FILE;
use crate::sources::{Sourced, is_licence};
pub(crate) use ignored::PassedBy;
use ignored::{Ignored, is_vendored, leads_through_vendored};
use instructions::Said;

/// The most entries that a walk looks at.
const MAX_ENTRIES: usize = 100_000;
/// The depth of a walk.
const MAX_DEPTH: usize = 16;

/// A file with objects.
pub(crate) struct Source {
    /// The file.
    pub(crate) path: PathBuf,
    /// Its name in objects: the path within the folder that was named, or the file's name.
    pub(crate) origin: String,
    /// Its objects, where finding it had to read it; a format's parser reads it otherwise.
    pub(crate) documents: Option<Vec<Sourced>>,
    /// Set where a walk came upon it: what is wrong with it ends nothing.
    pub(crate) is_come_upon: bool,
    /// The kind of its documents.
    pub(crate) read_as: ReadAs,
    /// Its standing with an agent.
    pub(crate) standing: Standing,
}

/// The standing of a file with an agent that works in the project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Instructions, which an agent reads before all else: so many folders above the path that is worked on.
    Instructions { distance: usize },
    /// A skill: its entry, then its body.
    Skill,
    /// Anything else, instructions for other folders and occasions too.
    Document,
}

/// The files that were found.
#[derive(Default)]
pub(crate) struct FoundFiles {
    pub(crate) sources: Vec<Source>,
    pub(crate) unfetched: Vec<Unfetched>,
    pub(crate) warnings: Vec<Warning>,
}

/// Finds what these paths name, in order.
pub(crate) fn find(paths: &[PathBuf], options: &Collect<'_>) -> Result<FoundFiles, Error> {
    let near = options.near.as_deref().map(Near::new).transpose()?;
    let mut finder = Finder {
        declared: Declared::new(&options.declared, options.read_as)?,
        ignored: Ignored::default(),
        options,
        near: near.as_ref(),
        found: FoundFiles::default(),
        is_named: false,
        entries: 0,
        read: BTreeMap::new(),
        said: BTreeMap::new(),
        skills: BTreeMap::new(),
    };
    let mut inside = paths.is_empty();
    let mut roots = Vec::new();
    for path in paths {
        let root = finder.name(path)?;
        inside |= near.as_ref().is_none_or(|near| near.distance(&root.real).is_some());
        roots.push((fs::canonicalize(path).unwrap_or(root.real.clone()), root));
    }
    for (path, _) in &options.declared {
        let real = fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
        match roots.iter().find(|(within, _)| real.starts_with(within)) {
            Some((_, root)) => finder.declared_within(root, path, &real)?,
            // What was said of a path outside of all of them names it.
            None => {
                let root = finder.name(path)?;
                roots.push((real, root));
            }
        }
    }
    for (path, _) in &options.declared {
        finder.check_declared(path);
    }
    match near {
        Some(near) if !inside => Err(Error::input(format!(
            "`{}` is outside all named folders",
            near.shown
        ))
        .expected("a path in one of them")),
        _ => Ok(finder.found),
    }
}

/// A folder within which names are made and imports stay.
struct Root {
    /// As the user named it.
    shown: PathBuf,
    /// With its links resolved.
    real: PathBuf,
    /// Set where it lies in a folder of dependencies of its repository.
    is_foreign: bool,
}

impl Root {
    fn new(shown: &Path) -> Result<Root, Error> {
        // The folder of a file that is named without one.
        let shown = if shown.as_os_str().is_empty() {
            Path::new(".")
        } else {
            shown
        };
        let real = fs::canonicalize(shown).map_err(|error| unreadable(shown, &error))?;
        // What lies above the repository, or above where the user is, is not the project's.
        let mut above = real.ancestors();
        let within = match above.find(|folder| folder.join(".git").exists()) {
            Some(repository) => real.strip_prefix(repository).unwrap_or(&real),
            None if shown.is_relative() => shown,
            None => Path::new(""),
        };
        Ok(Root {
            is_foreign: leads_through_vendored(within),
            shown: shown.to_owned(),
            real,
        })
    }

    /// The path within the root, as objects call it.
    fn relative(&self, real: &Path) -> String {
        name_of_path(real.strip_prefix(&self.real).unwrap_or(real))
    }

    /// Returns whether a path below leads through a folder of dependencies.
    fn is_foreign(&self, real: &Path) -> bool {
        let below = real.strip_prefix(&self.real).unwrap_or(real);
        self.is_foreign || leads_through_vendored(below)
    }

    /// The path as the user would write it.
    fn show(&self, real: &Path) -> PathBuf {
        let relative = real.strip_prefix(&self.real).unwrap_or(real);
        if self.shown == Path::new(".") {
            relative.to_owned()
        } else {
            self.shown.join(relative)
        }
    }
}

/// The way in which a file was read, so that it is read once.
struct Seen {
    /// Set for an instruction file; a format's file that is named twice is a mistake to report.
    instructions: bool,
    /// Set once its imports were followed.
    followed: bool,
}

struct Finder<'w> {
    options: &'w Collect<'w>,
    declared: Declared,
    ignored: Ignored,
    near: Option<&'w Near>,
    found: FoundFiles,
    /// Set where a file was named, and not a folder.
    is_named: bool,
    entries: usize,
    /// The files that were found, by their real path.
    read: BTreeMap<PathBuf, Seen>,
    /// The digests of what instruction files say, each with the files that say it.
    said: BTreeMap<Digest, Vec<Said>>,
    /// The place of each skill, by its name.
    skills: BTreeMap<String, String>,
}

/// The kind of something that is neither a file nor a folder.
fn kind_of(kind: fs::FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a FIFO";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    #[cfg(not(unix))]
    let _ = kind;
    "no file"
}

/// A name in a folder, its path and its kind.
type Entry = (String, PathBuf, fs::FileType);

/// The reason why what an ignore file names is left out.
const IGNORED: &str = "ignored; name it to include it, or use `--no-ignore`";

/// The reason why a file is left out that no parser reads.
pub const NO_FORMAT: &str = "of no format that is read here";
/// The reason why what begins with a dot is left out.
pub const HIDDEN: &str = "hidden";

/// The target of a search in a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// Every object.
    All,
    /// Skills alone: other files there belong to none.
    Skills,
    /// Instruction files alone, in a folder of rules.
    Rules,
}

impl Finder<'_> {
    /// Finds what one path names.
    fn name(&mut self, path: &Path) -> Result<Root, Error> {
        let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
        if !metadata.is_dir() && !metadata.is_file() {
            // To open one may wait for ever, and to read one may never end.
            let what = format!("`{}` is {}", path.display(), kind_of(metadata.file_type()));
            return Err(Error::input(what).expected("a file or a folder"));
        }
        let real = fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
        if is_of_the_kernel(&real) {
            let what = format!("`{}` lies in {KERNEL}", path.display());
            return Err(Error::input(what).expected("a file or a folder on a disk"));
        }
        self.is_named = !metadata.is_dir();
        if metadata.is_dir() {
            let root = Root::new(path)?;
            self.entries = 0;
            self.declared.read_manifest(path, &root.real, &self.options.trust)?;
            self.ignored = Ignored::of_named(&root.real);
            self.folder(&root, &root.real, 0, Search::All)?;
            return Ok(root);
        }
        let folder = Root::new(path.parent().unwrap_or(Path::new("")))?;
        let is_foreign = folder.is_foreign;
        if path.file_name().is_some_and(|name| name == SKILL_FILE) && !is_foreign {
            self.entries = 0;
            let entries = self.list(&folder, &folder.real)?;
            self.skill(&folder, &folder.real, &entries)?;
            return Ok(folder);
        }
        // A link is read as what it is named.
        let named = folder.real.join(path.file_name().unwrap_or_default());
        if let Some(kind) = Kind::of(&named).filter(|_| !is_foreign) {
            let project = project_of(&named);
            let steps = named.strip_prefix(&project).map_or(1, |rest| rest.components().count());
            let shown = path.ancestors().nth(steps);
            let root = Root::new(shown.unwrap_or(&project))?;
            self.instructions(&root, &named, kind, &mut Vec::new())?;
            return Ok(root);
        }
        let origin = path.file_name().map_or_else(|| path.display().to_string(), name_of_file);
        self.plain(path.to_owned(), real, origin, false);
        Ok(folder)
    }

    /// Finds what somebody said a word of in a folder that was named, where the walk passed it by: what is named is read.
    fn declared_within(&mut self, root: &Root, path: &Path, real: &Path) -> Result<(), Error> {
        let is_file = real.is_file();
        // What lies below a file is nothing.
        if *real == root.real || self.read.keys().any(|read| read.starts_with(real)) {
            return Ok(());
        }
        let inner = root.relative(real);
        self.found.unfetched.retain(|left| left.what != inner);
        if !is_file {
            self.entries = 0;
            self.is_named = false;
            self.ignored = Ignored::of_named(real);
            return self.folder(root, real, 0, Search::All);
        }
        let is_own = !root.is_foreign(real);
        self.is_named = true;
        match Kind::of(real).filter(|_| is_own) {
            Some(kind) => self.instructions(root, real, kind, &mut Vec::new()),
            None => {
                self.plain(path.to_owned(), real.to_owned(), inner, false);
                Ok(())
            }
        }
    }

    /// Warns where nothing was read of what somebody said a word of.
    fn check_declared(&mut self, path: &Path) {
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if self.read.keys().any(|read| read.starts_with(&real)) {
            return;
        }
        let shown = path.display().to_string();
        let what = "nothing in it is read; the trace's `unfetched` says why";
        self.warn(WarningKind::File, &shown, what.to_owned(), path, None);
    }

    /// A file of a format, unless it was read as an instruction file.
    fn plain(&mut self, path: PathBuf, real: PathBuf, origin: String, is_come_upon: bool) {
        if self.read.get(&real).is_some_and(|seen| seen.instructions) {
            return;
        }
        let read_as = self.declared.of(&real);
        self.read.insert(
            real,
            Seen {
                instructions: false,
                followed: false,
            },
        );
        self.found.sources.push(Source {
            path,
            origin,
            documents: None,
            is_come_upon,
            read_as,
            standing: Standing::Document,
        });
    }

    /// The entries of a folder, by name.
    fn list(&mut self, root: &Root, folder: &Path) -> Result<Vec<Entry>, Error> {
        let shown = root.show(folder);
        let failed = |error: std::io::Error| {
            Error::input(format!(
                "cannot read the folder `{}`: {error}",
                shown.display()
            ))
        };
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(Error::input(format!(
                    "`{}` holds more than {MAX_ENTRIES} entries",
                    root.shown.display()
                ))
                .hint(
                    "name the files or a smaller folder, or put what is generated into `.ignore`",
                ));
            }
            let entry = entry.map_err(failed)?;
            entries.push((entry.file_name(), entry));
        }
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.retain(|(name, _)| {
            let name = name.to_string_lossy();
            let is_plain = !name.contains(char::is_control);
            if !is_plain {
                let shown = folder.join(name.escape_debug().to_string());
                self.skip(root, &shown, "a control character in its name");
            }
            is_plain
        });
        entries
            .into_iter()
            .map(|(name, entry)| {
                let kind = entry.file_type().map_err(failed)?;
                Ok((
                    name.to_string_lossy().into_owned(),
                    folder.join(&name),
                    kind,
                ))
            })
            .collect()
    }

    fn folder(
        &mut self,
        root: &Root,
        folder: &Path,
        depth: usize,
        search: Search,
    ) -> Result<(), Error> {
        let entries = self.list(root, folder)?;
        // What others wrote into a project gives no orders there.
        let is_foreign = root.is_foreign(folder);
        let is_skill = |(name, _, kind): &Entry| name == SKILL_FILE && kind.is_file();
        if !is_foreign && entries.iter().any(is_skill) {
            return self.skill(root, folder, &entries);
        }
        if search == Search::All && !is_foreign {
            self.own(root, folder, &entries)?;
        }
        self.ignored.enter(folder);
        let found = self.entries_of(root, entries, depth, search, is_foreign);
        self.ignored.leave();
        found
    }

    fn entries_of(
        &mut self,
        root: &Root,
        entries: Vec<Entry>,
        depth: usize,
        search: Search,
        is_foreign: bool,
    ) -> Result<(), Error> {
        for (name, path, kind) in entries {
            let passes = !self.options.include_ignored;
            let instructions = Kind::of(&path)
                .filter(|_| kind.is_file() && !is_foreign && search != Search::Skills);
            if kind.is_symlink() {
                self.skip(root, &path, "a link; name its target to include it");
            } else if let Some(kind) = instructions {
                self.instructions(root, &path, kind, &mut Vec::new())?;
            } else if search == Search::All && kind.is_dir() && !is_foreign && is_dotted(&name) {
                self.dotted(root, &path, depth)?;
            } else if name.starts_with('.') {
                self.skip(root, &path, HIDDEN);
            } else if kind.is_dir() && passes && (is_vendored(&name) || is_environment(&path)) {
                self.skip(root, &path, "dependencies; name it to include it");
            } else if kind.is_dir() && passes && self.ignored.has(&path, true) {
                self.skip(root, &path, IGNORED);
            } else if kind.is_dir() && depth >= MAX_DEPTH {
                self.skip(root, &path, "too deep");
            } else if kind.is_dir() && is_of_the_kernel(&path) {
                self.skip(root, &path, KERNEL);
            } else if kind.is_dir() {
                self.folder(root, &path, depth + 1, search)?;
            } else if !kind.is_file() {
                self.skip(root, &path, "not a file");
            } else if search == Search::Skills {
                self.skip(root, &path, "no skill: a skill is a folder with a SKILL.md");
            } else if search == Search::Rules {
                self.skip(root, &path, "no rule of the agent whose folder it is in");
            } else if passes && self.ignored.has(&path, false) {
                self.skip(root, &path, IGNORED);
            } else if name == MANIFEST {
                self.manifest(root, &path, depth);
            } else if name.eq_ignore_ascii_case("readme.md")
                && self.declared.of(&path) == ReadAs::Guidance
            {
                self.skip(
                    root,
                    &path,
                    "a README speaks to people; name it to include it",
                );
            } else if !self.options.formats.walks(&path, self.declared.of(&path))
                || self.options.whole && self.options.formats.is_code(&path)
            {
                self.skip(root, &path, NO_FORMAT);
            } else if is_licence(&path) {
                self.skip(root, &path, "a licence; name it to include it");
            } else if may_be_snapshot(&path, &self.options.formats) {
                self.skip(
                    root,
                    &path,
                    "the snapshot of registries; name it to include it",
                );
            } else {
                self.plain(root.show(&path), path.clone(), root.relative(&path), true);
            }
        }
        Ok(())
    }

    /// Reports a manifest of a folder that was not named: it says nothing of its documents.
    fn manifest(&mut self, root: &Root, path: &Path, depth: usize) {
        if depth > 0 {
            let what = root.relative(path);
            let why =
                "not read: only the manifest of a folder that is named says what its documents are";
            self.warn(
                WarningKind::File,
                &what,
                why.to_owned(),
                &root.show(path),
                None,
            );
            self.unfetched(what, why.to_owned());
        }
    }

    /// The instruction files that speak for a folder, before whatever stands in it.
    fn own(&mut self, root: &Root, folder: &Path, entries: &[Entry]) -> Result<(), Error> {
        let (early, late) = FILES.split_at(EARLY);
        self.files_of(root, folder, entries, early)?;
        self.rules_in(root, folder, entries)?;
        self.files_of(root, folder, entries, late)?;
        if entries.iter().any(|(name, _, kind)| name == CLINE_RULES && kind.is_dir()) {
            self.folder(root, &folder.join(CLINE_RULES), 2, Search::Rules)?;
        }
        Ok(())
    }

    /// The instruction files of these names.
    fn files_of(
        &mut self,
        root: &Root,
        folder: &Path,
        entries: &[Entry],
        known: &[(&str, Kind)],
    ) -> Result<(), Error> {
        for (wanted, kind) in known {
            if entries.iter().any(|(name, _, found)| name == wanted && found.is_file()) {
                self.instructions(root, &folder.join(wanted), *kind, &mut Vec::new())?;
            }
        }
        Ok(())
    }

    /// The instruction files in the hidden folders of a folder.
    fn rules_in(&mut self, root: &Root, folder: &Path, entries: &[Entry]) -> Result<(), Error> {
        let folders = entries.iter().filter(|(_, _, kind)| kind.is_dir());
        for (dotted, read) in
            folders.filter_map(|(name, ..)| DOTTED.iter().find(|(dotted, _)| dotted == name))
        {
            for (name, path, kind) in self.list(root, &folder.join(dotted))? {
                let own = Kind::of(&path).filter(|_| read.contains(&&*name));
                if kind.is_dir() && read.contains(&&*name) {
                    self.folder(root, &path, 2, Search::Rules)?;
                } else if let Some(own) = own.filter(|_| kind.is_file()) {
                    self.instructions(root, &path, own, &mut Vec::new())?;
                }
            }
        }
        Ok(())
    }

    /// A hidden folder of an agent: its skills, once its instruction files are read.
    fn dotted(&mut self, root: &Root, folder: &Path, depth: usize) -> Result<(), Error> {
        let own = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if own == CLINE_RULES {
            return Ok(());
        }
        let read = DOTTED.iter().find(|(name, _)| *name == own).map_or(&[][..], |(_, read)| read);
        let has_skills = [".agents", ".claude"].contains(&own);
        let entries = self.list(root, folder)?;
        if !has_skills && !entries.iter().any(|(name, ..)| read.contains(&&**name)) {
            self.skip(root, folder, HIDDEN);
            return Ok(());
        }
        for (name, path, kind) in entries {
            if has_skills && name == "skills" && kind.is_dir() && depth < MAX_DEPTH {
                self.folder(root, &path, depth + 1, Search::Skills)?;
            } else if kind.is_symlink() {
                self.skip(root, &path, "a link; name its target to include it");
            } else if !read.contains(&&*name) {
                self.skip(root, &path, HIDDEN);
            }
        }
        Ok(())
    }

    fn skip(&mut self, root: &Root, path: &Path, why: &str) {
        let what = root.relative(path);
        self.unfetched(what, why.to_owned());
    }

    fn unfetched(&mut self, what: String, why: String) {
        self.found.unfetched.push(Unfetched::new(what, why));
    }

    fn warn(
        &mut self,
        kind: WarningKind,
        name: &str,
        what: String,
        path: &Path,
        line: Option<usize>,
    ) {
        self.found.warnings.push(Warning {
            kind,
            name: name.to_owned(),
            what,
            at: Some(Location {
                source: path.display().to_string(),
                line,
            }),
        });
    }
}

/// The number of [`FILES`] that are read before those of the hidden folders: `AGENTS.md` and `CLAUDE.md`.
const EARLY: usize = 3;

/// Returns whether a hidden folder of this name is an agent's.
fn is_dotted(name: &str) -> bool {
    name == ".agents" || name == CLINE_RULES || DOTTED.iter().any(|(dotted, _)| *dotted == name)
}

/// Returns whether a folder is an environment of Python: its packages and their documents.
fn is_environment(folder: &Path) -> bool {
    folder.join("pyvenv.cfg").is_file()
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    let shown = path.display();
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::input(format!("`{shown}` does not exist")).expected("a file or a folder")
        }
        _ => Error::input(format!("cannot read `{shown}`: {error}")),
    }
}
