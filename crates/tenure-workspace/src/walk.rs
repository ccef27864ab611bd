//! Finding the files that were named, in folders as well: which are objects of a format, which are
//! skills and instruction files, and what is left out and why. No link is followed.

mod ignored;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tenure::error::Location;
use tenure::object::{MAX_NAME, clip};
use tenure::{Error, Unfetched};

use crate::collect::{Collect, Declared, MANIFEST, ReadAs, Warning, WarningKind};
use crate::read::{KERNEL, is_of_the_kernel};
use crate::snapshot::may_be_snapshot;
use crate::sources::agents::{Near, priority};
use crate::sources::claude::{self, Kind, MAX_HOPS, MAX_IMPORT, Mention, Target};
use crate::sources::frontmatter::{cut, mapping, tags};
use crate::sources::seed::opens_section;
use crate::sources::skill::{self, Disclosure, MAX_FOLDERS, SKILL_FILE, Skill};
use crate::sources::{GUIDANCE, Sourced, is_licence, markdown};
use ignored::{Ignored, is_vendored, leads_through_vendored};
use tenure_adapters::read::read_text;

/// The most entries that a walk looks at.
const MAX_ENTRIES: usize = 100_000;
/// The depth of a walk.
const MAX_DEPTH: usize = 16;
/// The most different `@` mentions of one file that are looked up.
const MAX_MENTIONS: usize = 10_000;
/// The longest path of an imported file, so that its sections still have names.
const MAX_IMPORTED_NAME: usize = MAX_NAME - 80;

/// A file with objects.
pub(crate) struct Source {
    /// The file.
    pub(crate) path: PathBuf,
    /// Its name in objects: the path within the folder that was named, or the file's name.
    pub(crate) origin: String,
    /// Its objects, where finding it had to read it; a format's parser reads it otherwise.
    pub(crate) documents: Option<Vec<Sourced>>,
    /// Whether a walk came upon it: what is wrong with it ends nothing.
    pub(crate) is_come_upon: bool,
    /// What its documents are.
    pub(crate) read_as: ReadAs,
    /// What it is to an agent.
    pub(crate) standing: Standing,
}

/// What a file is to an agent that works in the project.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Instructions, which an agent reads before all else: so many folders above the path that is worked on, or below
    /// the folder that was named.
    Instructions { distance: usize },
    /// A skill: its entry, then its body.
    Skill,
    /// Anything else.
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
        entries: 0,
        read: BTreeMap::new(),
        skills: BTreeMap::new(),
    };
    let mut inside = paths.is_empty();
    let mut roots = Vec::new();
    for path in paths {
        let root = finder.name(path)?;
        inside |= near
            .as_ref()
            .is_none_or(|near| near.distance(&root.real).is_some());
        roots.push(fs::canonicalize(path).unwrap_or(root.real));
    }
    // What was said of a path outside of all of them names it.
    for (path, _) in &options.declared {
        let real = fs::canonicalize(path).map_err(|error| unreadable(path, &error))?;
        if !roots.iter().any(|root| real.starts_with(root)) {
            finder.name(path)?;
            roots.push(real);
        }
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
    /// Whether it lies in a folder of dependencies of its repository.
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
        let relative = real.strip_prefix(&self.real).unwrap_or(real);
        let parts = relative
            .components()
            .map(|part| part.as_os_str().to_string_lossy());
        parts.collect::<Vec<_>>().join("/")
    }

    /// Whether a path below leads through a folder of dependencies.
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
    /// Whether its imports were followed.
    followed: bool,
}

struct Finder<'w> {
    options: &'w Collect<'w>,
    declared: Declared,
    ignored: Ignored,
    near: Option<&'w Near>,
    found: FoundFiles,
    entries: usize,
    /// The files that were found, by their real path.
    read: BTreeMap<PathBuf, Seen>,
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

/// The target of a search in a folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// Every object.
    All,
    /// Skills alone: other files there belong to none.
    Skills,
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
        if metadata.is_dir() {
            let root = Root::new(path)?;
            self.entries = 0;
            self.declared.read_manifest(path, &root.real)?;
            self.ignored = Ignored::above(&root.real);
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
            let steps = named
                .strip_prefix(claude::project_of(&named))
                .map_or(1, |rest| rest.components().count());
            let shown = path.ancestors().nth(steps);
            let root = match shown {
                Some(shown) => Root::new(shown)?,
                None => Root::new(&claude::project_of(&named))?,
            };
            self.instructions(&root, &named, kind, &mut Vec::new())?;
            return Ok(root);
        }
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let origin = name.unwrap_or_else(|| path.display().to_string());
        self.plain(path.to_owned(), real, origin, false);
        Ok(folder)
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
                .hint("name the files or a smaller folder"));
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
        let named = entries.into_iter().map(|(name, entry)| {
            let kind = entry.file_type().map_err(failed)?;
            Ok((
                name.to_string_lossy().into_owned(),
                folder.join(&name),
                kind,
            ))
        });
        named.collect()
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
            if kind.is_symlink() {
                self.skip(root, &path, "a link; name its target to include it");
            } else if search == Search::All
                && kind.is_dir()
                && (name == ".claude" || name == ".agents")
                && !is_foreign
            {
                self.dotted(root, &path, depth)?;
            } else if name.starts_with('.') {
                self.skip(root, &path, "hidden");
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
            } else if let Some(kind) = Kind::of(&path).filter(|_| !is_foreign) {
                self.instructions(root, &path, kind, &mut Vec::new())?;
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
            } else if !self.options.formats.walks(&path, self.declared.of(&path)) {
                self.skip(root, &path, "of no format that is read here");
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

    /// A manifest: that of the folder that was named was read, and no other says what anything is.
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
        let has = |wanted: &str, file: bool| {
            let is = |kind: &fs::FileType| if file { kind.is_file() } else { kind.is_dir() };
            entries
                .iter()
                .any(|(name, _, kind)| name == wanted && is(kind))
        };
        for (name, kind) in [("AGENTS.md", Kind::Agents), ("CLAUDE.md", Kind::Claude)] {
            if has(name, true) {
                self.instructions(root, &folder.join(name), kind, &mut Vec::new())?;
            }
        }
        if has(".claude", false) {
            let dotted = folder.join(".claude");
            for (name, path, kind) in self.list(root, &dotted)? {
                if name == "CLAUDE.md" && kind.is_file() {
                    self.instructions(root, &path, Kind::Claude, &mut Vec::new())?;
                } else if name == "rules" && kind.is_dir() {
                    self.folder(root, &path, 2, Search::All)?;
                }
            }
        }
        if has("CLAUDE.local.md", true) {
            self.instructions(
                root,
                &folder.join("CLAUDE.local.md"),
                Kind::Claude,
                &mut Vec::new(),
            )?;
        }
        Ok(())
    }

    /// A `.claude` or `.agents`: its skills, once its instruction files are read.
    fn dotted(&mut self, root: &Root, folder: &Path, depth: usize) -> Result<(), Error> {
        for (name, path, kind) in self.list(root, folder)? {
            let read = folder.ends_with(".claude")
                && (name == "CLAUDE.md" && kind.is_file() || name == "rules" && kind.is_dir());
            if name == "skills" && kind.is_dir() && depth < MAX_DEPTH {
                self.folder(root, &path, depth + 1, Search::Skills)?;
            } else if kind.is_symlink() {
                self.skip(root, &path, "a link; name its target to include it");
            } else if !read {
                self.skip(root, &path, "hidden");
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

/// Instruction files.
impl Finder<'_> {
    /// Reads an instruction file and what it imports. `trail` holds the files that lead to it.
    fn instructions(
        &mut self,
        root: &Root,
        real: &Path,
        kind: Kind,
        trail: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        let imported = !trail.is_empty();
        let imports = imported || kind != Kind::Agents;
        let seen = self.read.get(real);
        if seen.is_some_and(|seen| seen.followed || !imports) {
            return Ok(());
        }
        let is_new = seen.is_none();
        let shown = root.show(real);
        if is_new && !imported && !self.applies(root, real) {
            return Ok(());
        }
        let text = match read_text(&shown) {
            Ok(text) => text,
            Err(error) if imported => {
                let name = root.relative(real);
                let line = error.at.as_ref().and_then(|at| at.line);
                let what = format!("not imported: {}", error.what);
                self.warn(WarningKind::Instructions, &name, what, &shown, line);
                self.unfetched(name, error.what);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let head = self.head(&text, &shown);
        if let (Kind::Rule, Some(near), false) = (kind, self.near, imported)
            && !head.globs.is_empty()
            && near.is_meant(&head.globs, &claude::project_of(real)) == Some(false)
        {
            let why = format!("its `paths` do not mean {}", near.shown);
            self.unfetched(root.relative(real), why);
            return Ok(());
        }
        self.read.insert(
            real.to_owned(),
            Seen {
                instructions: true,
                followed: imports,
            },
        );
        if is_new {
            self.guidance(root, real, &head, trail)?;
        }
        if imports {
            trail.push(real.to_owned());
            let followed = self.imports(root, real, &head, trail);
            trail.pop();
            followed?;
        }
        Ok(())
    }

    /// Returns whether an instruction file applies to the path that is worked on.
    fn applies(&mut self, root: &Root, real: &Path) -> bool {
        let Some(near) = self.near else { return true };
        if near.distance(&claude::project_of(real)).is_some() {
            return true;
        }
        let why = format!(
            "it speaks for its own folder, which does not hold {}",
            near.shown
        );
        self.unfetched(root.relative(real), why);
        false
    }

    /// Cuts the frontmatter off; one that cannot be read stays text.
    fn head<'t>(&mut self, text: &'t str, shown: &Path) -> Head<'t> {
        let whole = Head {
            body: text,
            line: 1,
            globs: Vec::new(),
            tags: Vec::new(),
        };
        let lines: Vec<&str> = text.trim_start().lines().take(64).collect();
        if !claude::is_markdown(shown) || !opens_section(&lines, 0) {
            return whole;
        }
        let read = cut(text).and_then(|cut| match cut {
            Some(cut) => Ok(Some((mapping(cut.yaml)?, cut))),
            None => Ok(None),
        });
        match read {
            Ok(Some((read, cut))) => {
                let (tags, left) = tags(&read.fields, &["paths"]);
                let name = shown.display().to_string();
                for key in left {
                    self.unfetched(format!("{name}: {key}"), "too long for a tag".to_owned());
                }
                Head {
                    body: cut.body,
                    line: cut.body_line,
                    globs: claude::globs(&read.fields),
                    tags,
                }
            }
            Ok(None) => whole,
            Err(error) => {
                let name = shown.display().to_string();
                let what = format!("{}; the frontmatter is read as text", error.what);
                self.warn(WarningKind::Instructions, &name, what, shown, Some(1));
                whole
            }
        }
    }

    /// Makes an instruction file's objects. What is imported speaks for the folder of the file that
    /// leads to it.
    fn guidance(
        &mut self,
        root: &Root,
        real: &Path,
        head: &Head<'_>,
        trail: &[PathBuf],
    ) -> Result<(), Error> {
        let shown = root.show(real);
        let origin = root.relative(real);
        let is_markdown = claude::is_markdown(real);
        let name = origin.strip_suffix(".md").unwrap_or(&origin);
        if head.body.trim().is_empty() {
            self.unfetched(origin, "empty".to_owned());
            return Ok(());
        }
        let mut documents = if is_markdown {
            markdown::documents(head.body, name, self.options.split).map_err(|error| {
                let line = error.at.as_ref().and_then(|at| at.line);
                error.at(
                    shown.display().to_string(),
                    line.map(|line| line + head.line - 1),
                )
            })?
        } else {
            let document = skill::file(name.to_owned(), &origin, head.body);
            vec![Sourced::new(document, 1)]
        };
        let speaker = match Kind::of(real) {
            Some(_) => real,
            None => trail.first().map_or(real, PathBuf::as_path),
        };
        let folder = claude::project_of(speaker);
        let is_below = folder != root.real && folder.starts_with(&root.real);
        let globs = if head.globs.is_empty() && is_below {
            vec![format!("{}/**", root.relative(&folder))]
        } else {
            head.globs.clone()
        };
        let distance = self.near.and_then(|near| near.distance(&folder));
        let ranks = distance.and_then(priority);
        let depth = folder
            .strip_prefix(&root.real)
            .map_or(0, |below| below.iter().count());
        for Sourced { document, line, .. } in &mut documents {
            *line += head.line - 1;
            if is_markdown {
                document.authority_level = Some(GUIDANCE);
                document.priority = document.priority.or(ranks);
            }
            let scopes = globs.iter().map(|glob| format!("paths:{glob}"));
            document
                .tags
                .extend(head.tags.iter().cloned().chain(scopes));
        }
        self.found.sources.push(Source {
            path: shown,
            origin,
            documents: Some(documents),
            is_come_upon: false,
            read_as: ReadAs::Guidance,
            standing: Standing::Instructions {
                distance: distance.unwrap_or(depth),
            },
        });
        Ok(())
    }

    /// Follows the imports of a file.
    fn imports(
        &mut self,
        root: &Root,
        real: &Path,
        head: &Head<'_>,
        trail: &mut Vec<PathBuf>,
    ) -> Result<(), Error> {
        if !claude::is_markdown(real) {
            return Ok(());
        }
        let shown = root.show(real);
        let from = real.parent().unwrap_or(&root.real);
        let mut tried = BTreeSet::new();
        for Mention { target, line } in claude::mentions(head.body) {
            let line = line + head.line - 1;
            if !tried.insert(target.clone()) {
                continue;
            }
            if tried.len() > MAX_MENTIONS {
                return Err(Error::input(format!(
                    "more than {MAX_MENTIONS} different `@` mentions"
                ))
                .at(shown.display().to_string(), Some(line))
                .hint("an `@` in a code span imports nothing"));
            }
            let refused = match claude::resolve(&root.real, from, &target) {
                Target::None => continue,
                Target::Refused(why) => why.to_owned(),
                Target::File(path) if trail.contains(&path) => {
                    let why = "already read: the import closes a circle";
                    self.unimported(&target, why, &shown, line);
                    continue;
                }
                Target::File(path) if trail.len() > MAX_HOPS => {
                    if self.read.contains_key(&path) {
                        continue;
                    }
                    format!("more than {MAX_HOPS} imports deep")
                }
                Target::File(path) if root.relative(&path).len() > MAX_IMPORTED_NAME => {
                    "its path is too long for a name".to_owned()
                }
                Target::File(path) => {
                    let kind = Kind::of(&path).unwrap_or(Kind::Claude);
                    self.instructions(root, &path, kind, trail)?;
                    continue;
                }
            };
            self.unimported(&target, &refused, &shown, line);
            let name = format!("@{}", clip(&target));
            self.warn(
                WarningKind::Instructions,
                &name,
                format!("not imported: {refused}"),
                &shown,
                Some(line),
            );
        }
        Ok(())
    }

    fn unimported(&mut self, target: &str, why: &str, shown: &Path, line: usize) {
        let what = format!("@{}", clip(target));
        self.unfetched(
            what,
            format!("{why} (imported by {}:{line})", shown.display()),
        );
    }
}

/// An instruction file without its frontmatter.
struct Head<'t> {
    body: &'t str,
    /// The line that the body begins on.
    line: usize,
    globs: Vec<String>,
    tags: Vec<String>,
}

/// A skill whose resources are looked for, and its folder.
#[derive(Clone, Copy)]
struct Home<'s> {
    skill: &'s Skill,
    folder: &'s Path,
}

/// Skills.
impl Finder<'_> {
    fn skill(&mut self, root: &Root, folder: &Path, entries: &[Entry]) -> Result<(), Error> {
        let real = folder.join(SKILL_FILE);
        let shown = root.show(&real);
        let origin = root.relative(&real);
        if self.read.contains_key(&real) {
            return Ok(());
        }
        let name = folder
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let read = read_text(&shown).and_then(|text| Skill::parse(&text, &name));
        let skill = match read {
            Ok(skill) => skill,
            Err(error) => {
                let line = error.at.as_ref().and_then(|at| at.line);
                let what = format!("not loaded: {}", error.what);
                self.warn(WarningKind::Skill, &name, what, &shown, line);
                self.unfetched(origin, error.what);
                return Ok(());
            }
        };
        self.read.insert(
            real,
            Seen {
                instructions: true,
                followed: true,
            },
        );
        if let Some(first) = self.skills.get(&skill.name) {
            let why = format!("a skill of this name is already loaded, from {first}");
            self.warn(
                WarningKind::Skill,
                &skill.name,
                format!("not loaded: {why}"),
                &shown,
                None,
            );
            self.unfetched(origin, why);
            return Ok(());
        }
        self.skills
            .insert(skill.name.clone(), shown.display().to_string());
        for error in &skill.forgiven {
            let line = error.at.as_ref().and_then(|at| at.line);
            self.warn(
                WarningKind::Skill,
                &skill.name,
                error.what.clone(),
                &shown,
                line,
            );
        }
        let (entry, left) = skill.entry();
        for key in left {
            self.unfetched(format!("{origin}: {key}"), "too long for a tag".to_owned());
        }
        let mut documents: Vec<Sourced> = entry
            .map(|document| Sourced::new(document, 1))
            .into_iter()
            .collect();
        match skill.instructions() {
            Some(document) if self.options.skills >= Disclosure::Body || documents.is_empty() => {
                documents.push(Sourced::new(document, skill.body_line));
            }
            Some(_) => {
                let why = format!(
                    "the body of skill `{}`; its entry alone was asked for",
                    clip(&skill.name)
                );
                self.unfetched(origin.clone(), why);
            }
            None => {}
        }
        if documents.is_empty() {
            self.unfetched(origin, "empty".to_owned());
            return Ok(());
        }
        self.found.sources.push(Source {
            path: shown,
            origin,
            documents: Some(documents),
            is_come_upon: false,
            read_as: ReadAs::Guidance,
            standing: Standing::Skill,
        });
        let mut folders = 0;
        let home = Home {
            skill: &skill,
            folder,
        };
        self.resources(root, home, folder, entries, (0, &mut folders))
    }

    /// The other files of a skill's folder: objects when they are asked for, reported otherwise.
    fn resources(
        &mut self,
        root: &Root,
        home: Home<'_>,
        folder: &Path,
        entries: &[Entry],
        (depth, folders): (usize, &mut usize),
    ) -> Result<(), Error> {
        for (name, path, kind) in entries {
            if kind.is_symlink() {
                self.skip(root, path, "a link; name its target to include it");
            } else if name.starts_with('.') {
                self.skip(root, path, "hidden");
            } else if kind.is_dir() && depth == skill::MAX_DEPTH {
                self.skip(root, path, "too deep");
            } else if kind.is_dir() {
                *folders += 1;
                if *folders > MAX_FOLDERS {
                    return Err(Error::input(format!(
                        "the skill `{}` holds more than {MAX_FOLDERS} folders",
                        clip(&home.skill.name)
                    ))
                    .at(root.show(folder).display().to_string(), None));
                }
                let inner = self.list(root, path)?;
                if inner
                    .iter()
                    .any(|(name, _, kind)| name == SKILL_FILE && kind.is_file())
                {
                    self.skill(root, path, &inner)?;
                } else {
                    self.resources(root, home, path, &inner, (depth + 1, &mut *folders))?;
                }
            } else if !kind.is_file() {
                self.skip(root, path, "not a file");
            } else if depth > 0 || name != SKILL_FILE {
                self.resource(root, home, path);
            }
        }
        Ok(())
    }

    fn resource(&mut self, root: &Root, home: Home<'_>, path: &Path) {
        let skill = home.skill;
        let whose = clip(&skill.name);
        if self.options.skills < Disclosure::Resources {
            let why = format!("a resource of skill `{whose}`; resources were not asked for");
            self.skip(root, path, &why);
            return;
        }
        // Its name is its path in the skill's folder.
        let inner = path.strip_prefix(home.folder).unwrap_or(path);
        let inner: Vec<_> = inner
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        let inner = inner.join("/");
        let shown = root.show(path);
        let why = match fs::metadata(path) {
            Ok(metadata) if metadata.len() > MAX_IMPORT => "larger than 1 MiB".to_owned(),
            _ if skill.name.len() + inner.len() + 16 > MAX_NAME => {
                "its path is too long for a name".to_owned()
            }
            _ if inner.chars().any(char::is_control) => {
                "its name holds a control character".to_owned()
            }
            _ => match read_text(&shown) {
                Ok(text) if text.trim().is_empty() => "empty".to_owned(),
                Ok(text) => {
                    self.found.sources.push(Source {
                        path: shown,
                        origin: root.relative(path),
                        documents: Some(vec![Sourced::new(skill.resource(&inner, &text), 1)]),
                        is_come_upon: false,
                        read_as: ReadAs::Guidance,
                        standing: Standing::Document,
                    });
                    return;
                }
                Err(error) => error.what,
            },
        };
        self.skip(root, path, &why);
    }
}

/// Whether a folder is an environment of Python: its packages and their documents.
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
