//! The files of a memory tool (Anthropic's `memory_20250818`), kept as objects of a store: six commands, answered in the
//! words that the provider's own implementation has.
//!
//! A file is an object whose name is its path below `/memories`; a folder is what paths have in common. Each user has files
//! of their own, and each project of a user. What a command changes is a new revision, and what it deletes is believed no
//! more: the history of both stays.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::object::{
    AuthorKind, Authority, MAX_NAME, ObjectId, ObjectType, Provenance, RevisionId, clip,
    default_trust,
};
use tenure::time::Instant;
use tenure::{Candidates, ContextObject, Error, ErrorKind, ObjectDocument, Principal};
use tenure_store::{Expect, Put, Tenant, Writing};

/// The folder that all files are in.
const ROOT: &str = "/memories";
/// The most levels that a view of a folder shows.
const LEVELS: usize = 2;
/// The most files that one command moves or takes away.
const MOST_AT_ONCE: usize = 1_000;
/// The lines around a change that its answer shows, on either side.
const AROUND: usize = 2;

/// A command of the tool, as a model gives it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum MemoryCommand {
    /// Shows a folder, or a file with the numbers of its lines.
    View {
        /// The path.
        path: String,
        /// The first and the last line; -1 is the end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        view_range: Option<(i64, i64)>,
    },
    /// Makes a file that is not there yet.
    Create {
        /// The path.
        path: String,
        /// The text.
        file_text: String,
    },
    /// Replaces a text that stands once in a file.
    StrReplace {
        /// The path.
        path: String,
        /// The text that stands there.
        old_str: String,
        /// The text in its place.
        #[serde(default)]
        new_str: String,
    },
    /// Puts text behind a line of a file.
    Insert {
        /// The path.
        path: String,
        /// The number of the line; 0 is the beginning.
        insert_line: i64,
        /// The text.
        insert_text: String,
    },
    /// Takes away a file, or a folder with all that is in it.
    Delete {
        /// The path.
        path: String,
    },
    /// Gives a file or a folder another path.
    Rename {
        /// The path that it has.
        old_path: String,
        /// The path that it gets.
        new_path: String,
    },
}

/// The files of a user, in a project where one is named.
pub struct MemoryFiles<'t> {
    tenant: &'t Tenant,
    principal: &'t Principal,
    author: Option<String>,
    now: Instant,
    files: BTreeMap<String, Arc<ContextObject>>,
}

impl<'t> MemoryFiles<'t> {
    /// The files among the objects of a tenant's store that are the principal's; who writes, and when.
    pub fn of(
        tenant: &'t Tenant,
        objects: &Candidates,
        principal: &'t Principal,
        (author, now): (Option<String>, Instant),
    ) -> MemoryFiles<'t> {
        let mut found = MemoryFiles {
            tenant,
            principal,
            author,
            now,
            files: BTreeMap::new(),
        };
        for object in objects.objects() {
            let revision = object.revision();
            let name = revision.name();
            // The id follows from whose the file is, so that no other object is taken for one.
            if name.starts_with(ROOT) && revision.object_id() == found.id(name) {
                found.files.insert(name.to_owned(), Arc::clone(object));
            }
        }
        found
    }

    fn id(&self, path: &str) -> ObjectId {
        let whose = |name: &Option<String>| match name {
            Some(name) => format!("of {name}"),
            None => "of all".to_owned(),
        };
        let (user, project) = (whose(&self.principal.user), whose(&self.principal.project));
        ObjectId::derived(&["memory file", self.tenant.name(), &user, &project, path])
    }

    /// Does what a command says, and gives the answer for the model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] and [`ErrorKind::NotFound`] for what cannot be done, in words for the model;
    /// [`ErrorKind::Conflict`] when somebody else changed the file meanwhile; [`ErrorKind::Unavailable`] when the store
    /// cannot be reached.
    pub fn run(&self, command: &MemoryCommand) -> Result<String, Error> {
        match command {
            MemoryCommand::View { path, view_range } => self.view(path, *view_range),
            MemoryCommand::Create { path, file_text } => self.create(path, file_text),
            MemoryCommand::StrReplace {
                path,
                old_str,
                new_str,
            } => self.replace(path, old_str, new_str),
            MemoryCommand::Insert {
                path,
                insert_line,
                insert_text,
            } => self.insert(path, *insert_line, insert_text),
            MemoryCommand::Delete { path } => self.delete(path),
            MemoryCommand::Rename { old_path, new_path } => self.rename(old_path, new_path),
        }
    }

    fn view(&self, asked: &str, range: Option<(i64, i64)>) -> Result<String, Error> {
        let path = checked(asked)?;
        if let Some(file) = self.files.get(&path) {
            return Ok(numbered(asked, text_of(file), range));
        }
        if path != ROOT && !self.is_folder(&path) {
            return Err(missing(asked));
        }
        Ok(self.listed(asked, &path))
    }

    /// The files and folders below a folder, with their sizes.
    fn listed(&self, asked: &str, folder: &str) -> String {
        // By their parts: what is in a folder follows it.
        let mut below: BTreeMap<Vec<&str>, (bool, usize)> = BTreeMap::new();
        let mut whole = 0;
        for (path, rest) in self.below(folder) {
            let size = text_of(&self.files[path]).len();
            let parts: Vec<&str> = rest.split('/').collect();
            whole += size;
            if parts.iter().any(|part| part.starts_with('.')) {
                continue;
            }
            for level in 1..=parts.len().min(LEVELS) {
                let is_folder = level < parts.len();
                let entry = below.entry(parts[..level].to_vec());
                let (_, sum) = entry.or_insert((is_folder, 0));
                *sum += size;
            }
        }
        let mut shown = format!(
            "Here're the files and directories up to 2 levels deep in {asked}, excluding hidden items:\n{}\t{asked}",
            size(whole)
        );
        for (parts, (is_folder, bytes)) in below {
            let end = if is_folder { "/" } else { "" };
            let name = parts.join("/");
            let _ = write!(shown, "\n{}\t{asked}/{name}{end}", size(bytes));
        }
        shown
    }

    fn create(&self, asked: &str, text: &str) -> Result<String, Error> {
        let path = checked(asked)?;
        if self.is_there(&path) {
            return Err(Error::input(format!("File {asked} already exists")));
        }
        self.may_stand(&path)?;
        self.keep(&path, text.to_owned(), self.head(&path)?)?;
        Ok(format!("File created successfully at: {asked}"))
    }

    fn replace(&self, asked: &str, old: &str, new: &str) -> Result<String, Error> {
        let (path, file) = self.file(asked)?;
        let text = text_of(file);
        let places: Vec<usize> = if old.is_empty() {
            Vec::new()
        } else {
            text.match_indices(old).map(|(at, _)| at).collect()
        };
        let line_at = |at: &usize| text[..*at].matches('\n').count();
        let [place] = &places[..] else {
            if places.is_empty() {
                let what = "No replacement was performed, old_str";
                let what = format!("{what} `{old}` did not appear verbatim in {asked}.");
                return Err(Error::input(what));
            }
            let lines: Vec<String> =
                places.iter().map(|at| (line_at(at) + 1).to_string()).collect();
            let what = "No replacement was performed. Multiple occurrences of old_str";
            let what = format!(
                "{what} `{old}` in lines: {}. Please ensure it is unique",
                lines.join(", ")
            );
            return Err(Error::input(what));
        };
        let line = line_at(place);
        let changed = text.replacen(old, new, 1);
        let lines: Vec<&str> = changed.split('\n').collect();
        let from = line.saturating_sub(AROUND);
        let until = (line + AROUND + 1).min(lines.len());
        let mut shown =
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):".to_owned();
        for (number, line) in lines.iter().enumerate().take(until).skip(from) {
            let _ = write!(shown, "\n{:>6}\t{line}", number + 1);
        }
        let head = Expect::Revision(file.revision().id());
        self.keep(&path, changed.clone(), head)?;
        Ok(shown)
    }

    fn insert(&self, asked: &str, line: i64, text: &str) -> Result<String, Error> {
        let (path, file) = self.file(asked)?;
        let before = text_of(file);
        let mut lines: Vec<&str> = before.split('\n').collect();
        lines.pop_if(|last| last.is_empty());
        let at = usize::try_from(line).ok().filter(|at| *at <= lines.len());
        let Some(at) = at else {
            let what = format!(
                "Invalid `insert_line` parameter: {line}. It should be within the range [0, {}].",
                lines.len()
            );
            return Err(Error::input(what));
        };
        lines.insert(at, text.trim_end_matches('\n'));
        let mut changed = lines.join("\n");
        if !changed.ends_with('\n') {
            changed.push('\n');
        }
        self.keep(&path, changed, Expect::Revision(file.revision().id()))?;
        Ok(format!("The file {asked} has been edited."))
    }

    fn delete(&self, asked: &str) -> Result<String, Error> {
        let path = checked(asked)?;
        if path == ROOT {
            return Err(Error::input("Cannot delete the /memories directory itself"));
        }
        let gone = self.within(&path);
        if gone.is_empty() {
            return Err(Error::not_found(format!("The path {asked} does not exist")));
        }
        check_count(gone.len())?;
        for path in gone {
            self.retract(path)?;
        }
        Ok(format!("Successfully deleted {asked}"))
    }

    fn rename(&self, asked: &str, new: &str) -> Result<String, Error> {
        let (old_path, new_path) = (checked(asked)?, checked(new)?);
        if old_path == ROOT {
            return Err(Error::input("Cannot rename the /memories directory itself"));
        }
        if new_path == ROOT || self.is_there(&new_path) {
            return Err(Error::input(format!(
                "The destination {new} already exists"
            )));
        }
        let moved = self.within(&old_path);
        if moved.is_empty() {
            return Err(Error::not_found(format!("The path {asked} does not exist")));
        }
        check_count(moved.len())?;
        if new_path.starts_with(&format!("{old_path}/")) {
            let what = format!("The destination {new} is inside {asked}");
            return Err(Error::input(what));
        }
        self.may_stand(&new_path)?;
        let mut puts = Vec::with_capacity(moved.len());
        for path in &moved {
            let to = format!("{new_path}{}", &path[old_path.len()..]);
            let text = text_of(&self.files[*path]).to_owned();
            puts.push(self.put(&to, path, text, self.head(&to)?)?);
        }
        // First the new, so that nothing is lost where the store goes away between them.
        self.tenant.put(puts, &self.writing())?;
        for path in moved {
            self.retract(path)?;
        }
        Ok(format!("Successfully renamed {asked} to {new}"))
    }

    /// A file that is there.
    fn file(&self, asked: &str) -> Result<(String, &Arc<ContextObject>), Error> {
        let path = checked(asked)?;
        if let Some(file) = self.files.get(&path) {
            return Ok((path, file));
        }
        if path == ROOT || self.is_folder(&path) {
            return Err(Error::input(format!("The path {asked} is not a file.")));
        }
        Err(missing(asked))
    }

    /// The files below a folder, with the rest of their paths.
    fn below<'f>(&'f self, folder: &str) -> impl Iterator<Item = (&'f str, &'f str)> {
        let folder = format!("{folder}/");
        let from = self.files.range(folder.clone()..);
        from.map(|(path, _)| path.as_str())
            .map_while(move |path| Some((path, path.strip_prefix(folder.as_str())?)))
    }

    fn is_folder(&self, path: &str) -> bool {
        self.below(path).next().is_some()
    }

    fn is_there(&self, path: &str) -> bool {
        path == ROOT || self.files.contains_key(path) || self.is_folder(path)
    }

    /// A file, or all files below a folder.
    fn within(&self, path: &str) -> Vec<&str> {
        if let Some((path, _)) = self.files.get_key_value(path) {
            return vec![path];
        }
        self.below(path).map(|(path, _)| path).collect()
    }

    /// Refuses a path below a file, which is no folder.
    fn may_stand(&self, path: &str) -> Result<(), Error> {
        let mut above = path;
        while let Some((folder, _)) = above.rsplit_once('/') {
            if self.files.contains_key(folder) {
                let what = format!("The path {folder} is a file, not a directory");
                return Err(Error::input(what));
            }
            above = folder;
        }
        Ok(())
    }

    /// The state in which a path is expected where no file is: never written, or taken away.
    fn head(&self, path: &str) -> Result<Expect, Error> {
        let history = self.tenant.history(self.id(path))?;
        let last = history.last().map(|stored| stored.object.revision().id());
        Ok(last.map_or(Expect::Absent, Expect::Revision))
    }

    /// Writes a file, in the place of what was at a path before: its class does not fall by that.
    fn put(&self, path: &str, before: &str, text: String, expect: Expect) -> Result<Put, Error> {
        if text.trim().is_empty() {
            let what = format!("The file {path} would be empty");
            return Err(Error::input(what).hint("delete it, or give it some text"));
        }
        let mut document = ObjectDocument::named(path, text);
        document.object_id = Some(self.id(path));
        document.object_type = Some(ObjectType::Artifact);
        // A model wrote it, and may have been talked into it.
        document.authority_level = Some(Authority::Data);
        document.provenance = Some(Provenance {
            authority: Some(default_trust(Authority::Data)),
            lineage: Some("memory tool".into()),
            retrieved_at: Some(self.now),
            source_id: Some(path.to_owned()),
            ..Provenance::default()
        });
        document.author = Some(AuthorKind::Agent);
        document.tenant_id = Some(self.tenant.name().to_owned());
        document.user_id.clone_from(&self.principal.user);
        document.project_id.clone_from(&self.principal.project);
        document.classify_within(self.principal.clearance)?;
        let before = self.files.get(before).map(|file| file.revision().classification());
        if before.is_some_and(|class| class > self.principal.clearance) {
            document.security_classification = before;
        }
        Ok(Put { document, expect })
    }

    fn keep(&self, path: &str, text: String, expect: Expect) -> Result<(), Error> {
        let put = self.put(path, path, text, expect)?;
        self.tenant.put(vec![put], &self.writing()).map(drop)
    }

    fn retract(&self, path: &str) -> Result<(), Error> {
        let head: RevisionId = self.files[path].revision().id();
        let expect = Expect::Revision(head);
        let done = self.tenant.retract(self.id(path), expect, &self.writing());
        done.map(drop)
    }

    fn writing(&self) -> Writing {
        Writing {
            idempotency_key: None,
            author: self.author.clone(),
        }
    }
}

fn text_of(file: &ContextObject) -> &str {
    file.revision().content()
}

fn missing(path: &str) -> Error {
    let what = format!("The path {path} does not exist. Please provide a valid path.");
    Error::not_found(what)
}

fn check_count(files: usize) -> Result<(), Error> {
    if files <= MOST_AT_ONCE {
        return Ok(());
    }
    let what = format!("{files} files are too many for one command");
    Err(Error::new(ErrorKind::Input, what).expected(format!("at most {MOST_AT_ONCE}")))
}

/// A path below the root, without a slash at its end.
fn checked(asked: &str) -> Result<String, Error> {
    let escapes = || {
        Error::input(format!(
            "Path {} would escape /memories directory",
            clip(asked)
        ))
    };
    let below = asked.strip_prefix(ROOT).filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let Some(below) = below else {
        let what = format!("Path must start with /memories, got: {}", clip(asked));
        return Err(Error::input(what));
    };
    let path = format!("{ROOT}{}", below.trim_end_matches('/'));
    let mut parts = path[ROOT.len()..].split('/').skip(1);
    if parts.any(|part| matches!(part, "" | "." | "..") || part.contains('\\')) {
        return Err(escapes());
    }
    if path.len() > MAX_NAME || path.contains(char::is_control) {
        let error = Error::input(format!("`{}` is no path", clip(asked)));
        let expected = format!("at most {MAX_NAME} bytes without control characters");
        return Err(error.expected(expected));
    }
    Ok(path)
}

/// A file with the numbers of its lines, or some of them.
fn numbered(asked: &str, text: &str, range: Option<(i64, i64)>) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let (from, until) = match range {
        None => (0, lines.len()),
        Some((first, last)) => {
            let first = usize::try_from(first.max(1)).unwrap_or(1) - 1;
            let last = match last {
                -1 => lines.len(),
                last => usize::try_from(last).unwrap_or(0),
            };
            (first, last.min(lines.len()))
        }
    };
    let shown: Vec<String> = lines
        .iter()
        .enumerate()
        .take(until)
        .skip(from)
        .map(|(number, line)| format!("{:>6}\t{line}", number + 1))
        .collect();
    format!(
        "Here's the content of {asked} with line numbers:\n{}",
        shown.join("\n")
    )
}

/// A size in bytes, as the tool writes it.
fn size(bytes: usize) -> String {
    let steps = [("G", 1_usize << 30), ("M", 1 << 20), ("K", 1 << 10)];
    let step = steps.into_iter().find(|(_, step)| bytes >= *step);
    match step {
        None => format!("{bytes}B"),
        Some((unit, step)) if bytes.is_multiple_of(step) => format!("{}{unit}", bytes / step),
        Some((unit, step)) => {
            let tenths = (bytes * 10 + step / 2) / step;
            format!("{}.{}{unit}", tenths / 10, tenths % 10)
        }
    }
}
