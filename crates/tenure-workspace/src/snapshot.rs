//! Registries and where they are kept: a snapshot in a file, held by one at a time and written whole or
//! not at all, or logs in a store.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use tenure::registry::{Registries, Secrets, Snapshot};
use tenure::{Error, ErrorKind};
use tenure_adapters::read::open_file;
use tenure_store::{Tenant, WriteKey};

use crate::files::{Over, put};
use crate::logs::Logs;
use crate::sources::{Formats, is_json};

/// The largest snapshot, in bytes.
const MAX_SNAPSHOT: u64 = 2 << 30;

/// From this length on, several threads pay.
const PARTED: usize = 1 << 20;

/// The first bytes of a snapshot of any version.
const START: &[u8] = b"{\"tenure_snapshot\":";

/// Returns whether a file may be a snapshot, so that its start is read: it has no format's extension, or that of
/// JSON.
pub(crate) fn may_be_snapshot(path: &Path, formats: &Formats) -> bool {
    (is_json(path) || !formats.knows(path)) && is_snapshot(path)
}

/// Returns whether a file begins as a snapshot does.
pub(crate) fn is_snapshot(path: &Path) -> bool {
    let mut head = [0; START.len()];
    let read = open_file(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == START
}

/// The registries of a snapshot.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it cannot be read, or is no snapshot.
pub(crate) fn read_snapshot(path: &Path, secrets: Secrets) -> Result<Registries, Error> {
    let file = open_file(path).map_err(|error| cannot("read", path, &error))?;
    restore(file, path, secrets)
}

fn restore(file: File, path: &Path, secrets: Secrets) -> Result<Registries, Error> {
    let shown = path.display().to_string();
    let mut text = String::new();
    // One byte more than allowed tells a file that is too large from a full one.
    let read = file.take(MAX_SNAPSHOT + 1).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => {
            Error::input(format!("`{shown}` is not a snapshot")).expected("UTF-8 text")
        }
        _ => cannot("read", path, &error),
    })?;
    if text.len() as u64 > MAX_SNAPSHOT {
        return Err(Error::input(format!(
            "`{shown}` is larger than {} GiB",
            MAX_SNAPSHOT >> 30
        )));
    }
    in_parts(&text, secrets).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        error.at(shown, line)
    })
}

/// Reads the blocks of a long snapshot with all processors.
fn in_parts(text: &str, secrets: Secrets) -> Result<Registries, Error> {
    if text.len() < PARTED {
        return Registries::restore(text, secrets);
    }
    let snapshot = Snapshot::open(text)?;
    let most = std::thread::available_parallelism().map_or(1, |most| most.get().min(8));
    let blocks = std::thread::scope(|scope| {
        let parts = snapshot.parts(most).into_iter();
        let readers: Vec<_> = parts.map(|part| scope.spawn(|| part.read())).collect();
        readers
            .into_iter()
            .map(|reader| {
                reader.join().unwrap_or_else(|_| {
                    Err(Error::new(
                        ErrorKind::Internal,
                        "reading a snapshot panicked",
                    ))
                })
            })
            .collect::<Result<_, Error>>()
    })?;
    snapshot.restore(blocks, secrets)
}

fn cannot(verb: &str, path: &Path, error: &std::io::Error) -> Error {
    let reason = match error.kind() {
        std::io::ErrorKind::NotFound => "no such file".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    Error::input(format!("cannot {verb} `{}`: {reason}", path.display()))
}

/// Registries with the place that they are kept in. While a file is open, others who open it wait, so that no change
/// is lost between reading and saving; of two writers of a log in a store at once, the second gets an error.
///
/// ```no_run
/// # fn main() -> Result<(), tenure::Error> {
/// use tenure::registry::{Op, Place};
/// let workspace = tenure_workspace::Workspace::open_default()?;
/// let mut file = workspace.snapshot("agent.snapshot".as_ref())?;
/// let main = file.registries.issue("main")?;
/// let view = file.registries.view("main")?;
/// let seal = view.address(&file.registries, view.named("init-seal")?);
/// file.registries.apply(&main, "main", Op::Promote { blocks: vec![seal], to: Place::Front })?;
/// file.save()
/// # }
/// ```
#[derive(Debug)]
pub struct KeptRegistries {
    /// The registries.
    pub registries: Registries,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    File {
        path: PathBuf,
        /// The file as it was read, locked; none when there was none.
        held: Option<File>,
    },
    Store(Logs),
}

impl KeptRegistries {
    /// Opens a snapshot.
    pub(crate) fn open(path: &Path, secrets: Secrets) -> Result<KeptRegistries, Error> {
        let held = lock(path).map_err(|error| cannot("open", path, &error))?;
        let file = held.try_clone().map_err(|error| cannot("read", path, &error))?;
        Ok(KeptRegistries {
            registries: restore(file, path, secrets)?,
            backing: Backing::File {
                path: path.to_owned(),
                held: Some(held),
            },
        })
    }

    /// Opens a snapshot, or begins one where there is no file.
    pub(crate) fn open_or_begin(path: &Path, secrets: Secrets) -> Result<KeptRegistries, Error> {
        if path.exists() {
            return KeptRegistries::open(path, secrets);
        }
        if fs::symlink_metadata(path).is_ok() {
            return Err(
                Error::input(format!("`{}` is a broken link", path.display()))
                    .expected("a snapshot, or a path without a file"),
            );
        }
        Ok(KeptRegistries {
            registries: Registries::new(secrets),
            backing: Backing::File {
                path: path.to_owned(),
                held: None,
            },
        })
    }

    /// The registries whose logs a tenant's store holds.
    pub(crate) fn stored(tenant: Tenant, secrets: Secrets) -> Result<KeptRegistries, Error> {
        let (registries, logs) = Logs::fold(tenant, secrets)?;
        Ok(KeptRegistries {
            registries,
            backing: Backing::Store(logs),
        })
    }

    /// Replaces the file with a new one, readable by its owner alone, or appends the operations to the logs in the
    /// store.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it cannot be written, or when another process made the
    /// file meanwhile; [`ErrorKind::Conflict`] when another writer appended to a log meanwhile. What was kept is what
    /// it was.
    pub fn save(mut self) -> Result<(), Error> {
        let (path, held) = match self.backing {
            Backing::Store(logs) => return logs.append(&mut self.registries),
            Backing::File { path, held } => (path, held),
        };
        let text = self.registries.snapshot()?;
        let over = held.as_ref().map_or(Over::Nothing, Over::This);
        put(&path, text.as_bytes(), over).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Error::input(format!(
                "another process wrote `{}` meanwhile",
                path.display()
            ))
            .hint("run the command again"),
            _ => cannot("write", &path, &error),
        })
    }
}

impl KeptRegistries {
    /// As [`KeptRegistries::save`] in a store, but once: where the same was done under this key before, nothing is
    /// kept and what was answered then is given.
    ///
    /// # Errors
    ///
    /// As [`KeptRegistries::save`]; [`ErrorKind::Conflict`] when the key was used for something else;
    /// [`ErrorKind::Usage`] for a file, which keeps no keys.
    pub fn save_once(mut self, key: &WriteKey, answer: &str) -> Result<Option<String>, Error> {
        match self.backing {
            Backing::Store(logs) => logs.append_once(&mut self.registries, key, answer),
            Backing::File { .. } => {
                let what = "a snapshot in a file has no idempotency keys";
                Err(Error::new(ErrorKind::Usage, what).expected("registries in a store"))
            }
        }
    }
}

/// The file at this path, locked. After waiting for the lock, the file may have been replaced; then the new one is
/// locked.
fn lock(path: &Path) -> std::io::Result<File> {
    loop {
        let file = open_file(path)?;
        file.lock()?;
        if is_still(&file, path)? {
            return Ok(file);
        }
    }
}

#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (ours, now) = (file.metadata()?, fs::metadata(path)?);
    Ok((ours.dev(), ours.ino()) == (now.dev(), now.ino()))
}

#[cfg(not(unix))]
fn is_still(_: &File, _: &Path) -> std::io::Result<bool> {
    Ok(true)
}

/// The registry that is meant: the one named, else the only one.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is no such registry, or several of which
/// none is named.
pub fn only_label(registries: &Registries, named: Option<&str>) -> Result<String, Error> {
    let labels: Vec<&str> = registries.labels().collect();
    match (named, labels.as_slice()) {
        (Some(label), _) => Ok(registries.issue(label)?.label().to_owned()),
        (None, [only]) => Ok((*only).to_owned()),
        (None, []) => Err(Error::input("the snapshot holds no registry")),
        (None, several) => Err(Error::input(format!(
            "the snapshot holds {} registries",
            several.len()
        ))
        .expected(format!("`--registry` with one of {}", several.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use tenure::ObjectDocument;
    use tenure::registry::{Kind, Place};

    use super::*;

    fn secrets() -> Secrets {
        Secrets::new([1; 32], [2; 32])
    }

    #[test]
    fn changes_made_at_once_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.snapshot");
        let mut file = KeptRegistries::open_or_begin(&path, secrets()).unwrap();
        file.registries.create("main", Kind::Agent).unwrap();
        file.save().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    let mut file = KeptRegistries::open(path, secrets()).unwrap();
                    let main = file.registries.issue("main").unwrap();
                    let tip = ObjectDocument::named(format!("tip-{writer}"), "Be brief.");
                    file.registries.write(&main, "main", tip, Place::Back).unwrap();
                    file.save().unwrap();
                });
            }
        });
        let mut registries = read_snapshot(&path, secrets()).unwrap();
        assert_eq!(registries.view("main").unwrap().len(), 8);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_a_store_keeps_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.snapshot");
        let key = WriteKey::new("k", b"create").unwrap();
        let file = KeptRegistries::open_or_begin(&path, secrets()).unwrap();
        let error = file.save_once(&key, "0").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Usage);
        assert!(!path.exists());

        let store = tenure_store::Store::sqlite(&folder.path().join("store.db")).unwrap();
        let tenant = store.tenant("acme").unwrap();
        let make = || {
            let mut kept = KeptRegistries::stored(tenant.clone(), secrets()).unwrap();
            if kept.registries.labels().next().is_none() {
                kept.registries.create("main", Kind::Agent).unwrap();
            }
            kept.save_once(&key, "0").unwrap()
        };
        assert_eq!((make(), make().as_deref()), (None, Some("0")));
        let main = KeptRegistries::stored(tenant.clone(), secrets()).unwrap();
        assert_eq!(main.registries.labels().collect::<Vec<_>>(), ["main"]);
        let error = crate::logs::applied_at(&tenant, "main", 1).unwrap_err();
        assert_eq!(error.what, "the log of `main` has no entry 1");
    }

    #[test]
    fn what_somebody_made_meanwhile_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent.snapshot");
        let ours = KeptRegistries::open_or_begin(&path, secrets()).unwrap();
        fs::write(&path, "theirs").unwrap();
        let error = ours.save().unwrap_err();
        assert!(error.to_string().contains("meanwhile"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(!is_snapshot(&path) && !is_snapshot(folder.path()));
        let error = KeptRegistries::open(&path, secrets()).unwrap_err();
        assert!(error.to_string().contains("not a snapshot"), "{error}");
    }
}
