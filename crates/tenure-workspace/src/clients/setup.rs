//! Setting a client up, and undoing it.

use std::fs;
use std::io::{ErrorKind as Io, Read as _};
use std::path::{Path, PathBuf};

use tenure::{Digest, Error, ErrorKind};
use tenure_adapters::read::open_file;

use super::diff::unified;
use super::document::{Form, LARGEST, at, depth};
use super::journal::{Journal, KeptFile, SetEntry, unwritten};
use super::known::{Client, Entry, KEY_HEADER, Places, Wanted, Way};
use crate::files::{Over, put};

/// A file that is to be changed.
#[derive(Clone, PartialEq, Debug)]
pub struct Change {
    /// The file, as the client looks for it.
    pub path: PathBuf,
    /// The file that a link leads to, where it is one.
    pub leads_to: Option<PathBuf>,
    /// Its bytes now; none where there is no file.
    pub before: Option<Vec<u8>>,
    /// Its bytes then; none where there is to be no file.
    pub after: Option<Vec<u8>>,
    /// The original that is kept.
    original: Option<Vec<u8>>,
    /// The mode that it gets back, where a setup took rights of others away.
    mode: Option<u32>,
    /// The folders that are made for it, or go with it; the uppermost first.
    folders: Vec<PathBuf>,
    entries: Vec<SetEntry>,
}

impl Change {
    /// Returns the change as lines, in the unified form. What may be secret is hidden.
    pub fn diff(&self) -> String {
        let text = |bytes: &Option<Vec<u8>>| {
            let bytes = bytes.as_deref().unwrap_or_default();
            String::from_utf8_lossy(bytes).into_owned()
        };
        let name = |bytes: &Option<Vec<u8>>| match bytes {
            Some(_) => self.path.display().to_string(),
            None => "/dev/null".to_owned(),
        };
        let lines = unified(&text(&self.before), &text(&self.after));
        format!(
            "--- {}\n+++ {}\n{lines}",
            name(&self.before),
            name(&self.after)
        )
    }
}

/// The changes of a setup or of its undo.
#[derive(Debug)]
pub struct Plan {
    client: Client,
    is_undo: bool,
    /// The files that are to be changed.
    pub changes: Vec<Change>,
    /// Notes on what stays although one might expect otherwise, in words.
    pub notes: Vec<String>,
    journal: Journal,
}

impl Plan {
    /// Plans to set a client up. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`] when the client cannot do it; [`ErrorKind::Input`] when a file is broken, is read-only,
    /// or is none.
    pub fn setup(
        places: &Places,
        client: Client,
        ways: &[Way],
        wanted: &Wanted,
    ) -> Result<Plan, Error> {
        let journal = Journal::read(places, client)?.unwrap_or_else(|| Journal::new(client));
        let mut files: Vec<(PathBuf, Vec<Entry>)> = Vec::new();
        for way in ways {
            let (path, entries) = (places.file(client, *way), client.entries(*way, wanted)?);
            match files.iter_mut().find(|(known, _)| *known == path) {
                Some((_, known)) => known.extend(entries),
                None => files.push((path, entries)),
            }
        }
        let mut plan = Plan {
            client,
            is_undo: false,
            changes: Vec::new(),
            notes: Vec::new(),
            journal,
        };
        for (path, entries) in files {
            let change = plan.set(&path, entries).map_err(|error| in_file(error, &path))?;
            plan.changes.extend(change);
        }
        Ok(plan)
    }

    /// Plans to undo what was set up of a client. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when nothing was set up; [`ErrorKind::Input`] when a file is broken or is read-only.
    pub fn undo(places: &Places, client: Client) -> Result<Plan, Error> {
        let journal = Journal::read(places, client)?.ok_or_else(|| {
            Error::not_found(format!(
                "`tenure setup` has set up nothing of {}",
                client.term()
            ))
        })?;
        let mut plan = Plan {
            client,
            is_undo: true,
            changes: Vec::new(),
            notes: Vec::new(),
            journal,
        };
        for kept in plan.journal.files.clone() {
            let change = plan.taken(&kept).map_err(|error| in_file(error, &kept.path))?;
            plan.changes.extend(change);
        }
        Ok(plan)
    }

    fn set(&mut self, path: &Path, entries: Vec<Entry>) -> Result<Option<Change>, Error> {
        let form = self.client.form();
        let before = read(path)?;
        let text = text_of(before.as_deref())?;
        let value = form.value(text)?;
        if before.is_some()
            && entries.iter().all(|entry| {
                let there = at(&value, &entry.path);
                there == Some(&entry.beside(there))
            })
        {
            return Ok(None);
        }
        // What was set before is set anew on what the file would be without it, so that there is one original.
        let kept = self.journal.of(path).cloned();
        let (original, earlier, made) = match &kept {
            None => (before.clone(), Vec::new(), Vec::new()),
            Some(kept) => {
                let original = undone(form, kept, before.as_deref(), &mut self.notes)?;
                (original, kept.entries.clone(), kept.folders.clone())
            }
        };
        let earlier = earlier
            .into_iter()
            .map(|set| set.entry)
            .filter(|old| entries.iter().all(|new| new.path != old.path));
        let all: Vec<Entry> = earlier.chain(entries.iter().cloned()).collect();
        let mut text = text_of(original.as_deref())?.to_owned();
        let mut set = Vec::new();
        for mut entry in all {
            let value = form.value(&text)?;
            entry.value = entry.beside(at(&value, &entry.path));
            text = form.set(&text, &entry.path, &entry.value)?;
            set.push(SetEntry {
                replaced: at(&value, &entry.path).cloned(),
                stays: depth(&value, &entry.path),
                entry,
            });
        }
        if !text.ends_with('\n') && original.is_none() {
            text.push('\n');
        }
        Ok(Some(Change {
            path: path.to_owned(),
            leads_to: target(path)?,
            after: Some(text.into_bytes()),
            folders: match before {
                None => missing(path),
                Some(_) => made,
            },
            before,
            original,
            mode: None,
            entries: set,
        }))
    }

    fn taken(&mut self, kept: &KeptFile) -> Result<Option<Change>, Error> {
        let Some(before) = read(&kept.path)? else {
            let gone = format!("{} is gone: nothing is left to undo", kept.path.display());
            self.notes.push(gone);
            return Ok(None);
        };
        let after = undone(self.client.form(), kept, Some(&before), &mut self.notes)?;
        if after.as_ref() == Some(&before) {
            return Ok(None);
        }
        Ok(Some(Change {
            path: kept.path.clone(),
            leads_to: target(&kept.path)?,
            before: Some(before),
            after,
            original: None,
            mode: kept.mode,
            folders: kept.folders.clone(),
            entries: Vec::new(),
        }))
    }

    /// Returns whether there is nothing to do.
    pub fn is_nothing(&self) -> bool {
        self.changes.is_empty() && (!self.is_undo || self.journal.files.is_empty())
    }

    /// Does what is planned, and returns where the originals are kept, one for each file that was there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when a file was changed since it was planned; [`ErrorKind::Input`] when one cannot be
    /// written.
    pub fn apply(mut self, places: &Places) -> Result<Vec<PathBuf>, Error> {
        for change in &self.changes {
            if read(&change.path)? != change.before {
                let what = format!("`{}` was changed meanwhile", change.path.display());
                return Err(Error::new(ErrorKind::Conflict, what).hint("run the command again"));
            }
        }
        if self.is_undo {
            return self.take_back(places).map(|()| Vec::new());
        }
        let mut copies = Vec::new();
        let old = self.journal.files.clone();
        for change in &self.changes {
            let copy = match &change.original {
                Some(original) => Some(Journal::copy(places, self.client, &change.path, original)?),
                None => None,
            };
            copies.extend(copy.clone());
            let earlier = old.iter().find(|file| file.path == change.path);
            let mode = earlier.and_then(|file| file.mode).or(narrowed(change));
            self.journal.files.retain(|file| file.path != change.path);
            self.journal.files.push(KeptFile {
                path: change.path.clone(),
                copy,
                before: change.original.as_deref().map(Digest::of),
                after: Digest::of(change.after.as_deref().unwrap_or_default()),
                mode,
                folders: change.folders.clone(),
                entries: change.entries.clone(),
            });
        }
        // What an undo needs is there before anything is changed.
        self.journal.write(places)?;
        for change in &self.changes {
            for folder in &change.folders {
                fs::create_dir_all(folder).map_err(|error| unwritten(folder, &error))?;
            }
            write(change)?;
        }
        drop_copies(&old, &self.journal.files);
        Ok(copies)
    }

    fn take_back(&mut self, places: &Places) -> Result<(), Error> {
        for change in &self.changes {
            write(change)?;
            if change.after.is_none() {
                // One that holds more by now stays.
                for folder in change.folders.iter().rev() {
                    let _ = fs::remove_dir(folder);
                }
            }
        }
        let old = std::mem::take(&mut self.journal.files);
        self.journal.write(places)?;
        drop_copies(&old, &[]);
        Ok(())
    }
}

/// Removes the copies that nothing goes by any more.
fn drop_copies(old: &[KeptFile], new: &[KeptFile]) {
    for file in old {
        let Some(copy) = &file.copy else { continue };
        if new.iter().all(|file| file.copy.as_ref() != Some(copy)) {
            let _ = fs::remove_file(copy);
        }
    }
}

/// Returns what a file is without what was set: its original bytes where nobody changed it since, else its bytes now
/// without the entries that are still as they were set.
fn undone(
    form: Form,
    kept: &KeptFile,
    now: Option<&[u8]>,
    notes: &mut Vec<String>,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(now) = now else { return Ok(None) };
    if Digest::of(now) == kept.after
        && let Some(original) = kept.original()
    {
        return Ok(original);
    }
    let mut text = text_of(Some(now))?.to_owned();
    for set in kept.entries.iter().rev() {
        let value = form.value(&text)?;
        let SetEntry {
            entry,
            replaced,
            stays,
        } = set;
        match at(&value, &entry.path) {
            Some(found) if *found == entry.value => {
                text = match replaced {
                    Some(replaced) => form.set(&text, &entry.path, replaced)?,
                    None => form.take(&text, &entry.path, *stays)?,
                };
            }
            Some(found) => match entry.taken_from(found) {
                Some(left) => text = form.set(&text, &entry.path, &left)?,
                None => notes.push(format!(
                    "`{}` in {} was changed since, and stays",
                    entry.name(),
                    kept.path.display()
                )),
            },
            None => {}
        }
    }
    // A file that was made for the entries goes with the last of them.
    let is_bare = text.chars().all(|c| c.is_whitespace() || "{}".contains(c));
    Ok(match kept.before {
        None if is_bare => None,
        _ => Some(text.into_bytes()),
    })
}

/// Reads a file that may not be there, and refuses one that could not be written.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == Io::NotFound => {
            if path.symlink_metadata().is_ok() {
                let leads = fs::read_link(path).unwrap_or_default();
                let what = format!(
                    "the file is a link to `{}`, which is not there",
                    leads.display()
                );
                return Err(Error::input(what).hint("make the file, or remove the link"));
            }
            return Ok(None);
        }
        Err(error) => return Err(Error::input(format!("the file cannot be read: {error}"))),
    };
    if !found.is_file() {
        return Err(Error::input("the file is none: it is a folder or a device"));
    }
    if found.permissions().readonly() {
        return Err(Error::input("the file is read-only").hint(
            "make it writable, or put the entries there where it comes from: docs/reference/setup.md has them",
        ));
    }
    if found.len() > LARGEST {
        let what = format!("the file has {} bytes", found.len());
        return Err(Error::input(what).expected(format!("at most {LARGEST}")));
    }
    let mut bytes = Vec::new();
    open_file(path)
        .and_then(|file| file.take(LARGEST).read_to_end(&mut bytes))
        .map_err(|error| Error::input(format!("the file cannot be read: {error}")))?;
    Ok(Some(bytes))
}

fn text_of(bytes: Option<&[u8]>) -> Result<&str, Error> {
    std::str::from_utf8(bytes.unwrap_or_default())
        .map_err(|_| Error::input("the file is no UTF-8 text"))
}

/// Returns where a link leads.
fn target(path: &Path) -> Result<Option<PathBuf>, Error> {
    if !path.is_symlink() {
        return Ok(None);
    }
    path.canonicalize()
        .map(Some)
        .map_err(|error| Error::input(format!("the link cannot be followed: {error}")))
}

/// Returns the folders above a path that are not there, the uppermost first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = path
        .ancestors()
        .skip(1)
        .take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists())
        .map(Path::to_owned)
        .collect();
    folders.reverse();
    folders
}

fn write(change: &Change) -> Result<(), Error> {
    let path = change.leads_to.as_deref().unwrap_or(&change.path);
    let written = match (&change.before, &change.after) {
        (_, None) => fs::remove_file(path),
        (Some(_), Some(after)) => open_file(path).and_then(|there| {
            if holds_key(after) {
                return put(path, after, Over::Private(&there));
            }
            put(path, after, Over::This(&there))?;
            change.mode.map_or(Ok(()), |mode| widen(path, mode))
        }),
        (None, Some(after)) => put(path, after, Over::Nothing),
    };
    written.map_err(|error| unwritten(&change.path, &error))
}

fn holds_key(content: &[u8]) -> bool {
    let mut parts = content.windows(KEY_HEADER.len());
    parts.any(|part| part == KEY_HEADER.as_bytes())
}

/// The mode of a file before a change that takes rights of others away, since it puts a key there.
fn narrowed(change: &Change) -> Option<u32> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        change.before.as_ref()?;
        let path = change.leads_to.as_deref().unwrap_or(&change.path);
        let mode = fs::metadata(path).ok()?.permissions().mode() & 0o7777;
        let after = change.after.as_deref().unwrap_or_default();
        (holds_key(after) && mode & 0o077 != 0).then_some(mode)
    }
    #[cfg(not(unix))]
    {
        let _ = change;
        None
    }
}

/// Gives a file the mode back that it had, unless somebody has given it another since.
fn widen(path: &Path, mode: u32) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let now = fs::metadata(path)?.permissions().mode() & 0o7777;
        if now == mode & 0o700 {
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        }
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}

/// Returns the error with the file that it is about.
pub(super) fn in_file(error: Error, path: &Path) -> Error {
    let line = error.at.as_ref().and_then(|at| at.line);
    match error.kind {
        ErrorKind::Usage => error,
        _ => error.at(path.display().to_string(), line),
    }
}
