//! Trust in what is found and not named: a store, packages, an index, tables of labels and manifests that lie in a folder
//! are believed where this user made or accepted them, and where nobody else may write them.
//!
//! Each has a file in the user's state directory, which holds what it is known by: a store and an index by the mark in
//! their header, packages by an id in their folder, a text by its digest. The place counts, too, so that a copy is none.

mod git;
mod way;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tenure::{Digest, Error, ErrorKind};
use tenure_adapters::read::open_file;
use tenure_store::{FileMark, Header};

use crate::files::{Over, put};
use crate::read::user_folder;
use way::{Blocked, Opened, make_folder, other_owner, writable};

/// The folder of the list, and the file that one process at a time makes things under.
const LIST: &str = "trusted";
const LOCK: &str = "lock";
/// The file with the id of a folder of packages.
const ID: &str = "id";
/// The most bytes of a text.
const LONGEST: u64 = 1 << 20;
/// The files that SQLite would take for unfinished writes of another.
const BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];

/// Something that is found in a folder.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// The store of a project.
    Store,
    /// Its table of labels.
    Labels,
    /// Its packages.
    Packages,
    /// The index of a tree.
    Index,
    /// The statement that the documents of a folder are guidance.
    Manifest,
}

tenure::terms! {
    Kind ("kind of thing that is found") {
        Store = "store",
        Labels = "labels",
        Packages = "packages",
        Index = "index",
        Manifest = "manifest",
    }
}

impl Kind {
    /// The steps from the folder that it is of.
    fn steps(self) -> &'static [&'static str] {
        match self {
            Kind::Store => &[".tenure", "store.db"],
            Kind::Labels => &[".tenure", "labels.toml"],
            Kind::Packages => &[".tenure", "context"],
            Kind::Index => &[".tenure", "index.db"],
            Kind::Manifest => &["tenure.toml"],
        }
    }

    /// The thing that is believed, and the reason why another is not.
    fn wanted(self) -> (&'static str, &'static str) {
        const MADE: &str = "you have neither made nor accepted it";
        const ACCEPTED: &str = "you have not accepted it";
        match self {
            Kind::Store => ("a store that you made with this program, or accepted", MADE),
            Kind::Packages => (
                "packages that you made with this program, or accepted",
                MADE,
            ),
            Kind::Index => (
                "an index that you made with this program, or accepted",
                MADE,
            ),
            Kind::Labels => ("a table of labels that you accepted", ACCEPTED),
            Kind::Manifest => ("a manifest that you accepted", ACCEPTED),
        }
    }

    /// The other ways to say that it is meant.
    fn otherwise(self) -> &'static str {
        match self {
            Kind::Store => "; or name the store that you mean with --store",
            Kind::Labels => "; or name the table with --labels",
            Kind::Packages => "",
            Kind::Index => "; or remove it, and `tenure index` makes another",
            Kind::Manifest => "; or say it yourself: `--as guidance FOLDER`",
        }
    }
}

/// Something that may lie in a folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Thing {
    base: PathBuf,
    kind: Kind,
}

impl Thing {
    /// The thing of this kind of a folder, whose links are resolved.
    pub fn of(base: &Path, kind: Kind) -> Thing {
        Thing {
            base: base.to_owned(),
            kind,
        }
    }

    /// The thing of this kind of the nearest folder above that has one, or else of this folder.
    pub fn near(folder: &Path, kind: Kind) -> Thing {
        let is_there = |above: &&Path| Thing::of(above, kind).is_there();
        Thing::of(folder.ancestors().find(is_there).unwrap_or(folder), kind)
    }

    /// The things that a path means: one that is named by itself, or all kinds of a folder.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the path is none of a thing that is found.
    pub fn at(path: &Path) -> Result<Vec<Thing>, Error> {
        let shown = path.display();
        let path = std::path::absolute(path)
            .map_err(|error| Error::input(format!("cannot read `{shown}`: {error}")))?;
        let real = |base: &Path| fs::canonicalize(base).unwrap_or_else(|_| base.to_owned());
        let named = Kind::ALL.iter().find_map(|&kind| {
            let steps: PathBuf = kind.steps().iter().collect();
            let base = path.ancestors().nth(kind.steps().len())?;
            path.ends_with(&steps).then(|| Thing::of(&real(base), kind))
        });
        if let Some(named) = named {
            return Ok(vec![named]);
        }
        let folder = match path.parent() {
            Some(above) if path.ends_with(".tenure") => above,
            _ => &path,
        };
        if folder.is_dir() {
            let base = real(folder);
            let all = Kind::ALL.iter().map(|kind| Thing::of(&base, *kind));
            return Ok(all.collect());
        }
        Err(
            Error::input(format!("`{shown}` is nothing that is found by itself")).expected(
                "a folder, or in one: `.tenure/store.db`, `.tenure/labels.toml`, `.tenure/context`, \
                 `.tenure/index.db` or `tenure.toml`",
            ),
        )
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The folder that it is of.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Its path.
    pub fn path(&self) -> PathBuf {
        self.kind.steps().iter().fold(self.base.clone(), |path, step| path.join(step))
    }

    /// Returns whether something lies there, be it a link that leads nowhere.
    pub fn is_there(&self) -> bool {
        self.path().symlink_metadata().is_ok()
    }

    /// Checks that no link leads to it, whoever made it.
    pub(crate) fn follows_no_link(&self) -> Result<(), Error> {
        match way::open(&self.base, self.kind.steps()) {
            Err(Blocked::Link(path)) => Err(self.link(&path)),
            _ => Ok(()),
        }
    }

    fn link(&self, path: &Path) -> Error {
        let why = format!("`{}` is a link", path.display());
        let hint = format!("put in its place what it leads to{}", self.kind.otherwise());
        self.refused(&why).hint(hint)
    }

    fn open(&self) -> Result<Option<Opened>, Error> {
        way::open(&self.base, self.kind.steps()).map_err(|blocked| match blocked {
            Blocked::Link(path) => self.link(&path),
            Blocked::Closed(why) => self.refused(&why),
            Blocked::Failed(path, error) => {
                let what = format!("cannot open `{}`: {error}", path.display());
                Error::new(ErrorKind::Unavailable, what).caused_by(error)
            }
        })
    }

    fn refused(&self, why: &str) -> Error {
        let path = self.path();
        let what = format!("`{}` was found and is not trusted: {why}", path.display());
        Error::new(ErrorKind::Policy, what).expected(self.kind.wanted().0).hint(format!(
            "look at it; `tenure trust {}` accepts it{}",
            quoted(&path),
            self.kind.otherwise()
        ))
    }

    /// The files that git tracks of it, or next to it.
    fn tracked(&self) -> Vec<String> {
        let name = self.kind.steps().join("/");
        let kept = match self.kind {
            Kind::Labels | Kind::Manifest => return Vec::new(),
            Kind::Packages => vec![format!("{name}/")],
            Kind::Store | Kind::Index => {
                let beside = BESIDE.map(|ending| format!("{name}{ending}"));
                [vec![name], beside.into()].concat()
            }
        };
        let names: Vec<&str> = kept.iter().map(String::as_str).collect();
        let found = git::tracked(&self.base, &names);
        found.into_iter().map(str::to_owned).collect()
    }
}

/// The argument that names a path in a shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%".contains(c);
    if text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Knowledge of something that was made or accepted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    path: String,
    kind: Kind,
    /// The mark, id or digest that it is known by.
    mark: String,
    /// The sentences that spoke against it when it was accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    despite: Vec<String>,
}

/// Something that was found and is believed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Believed {
    /// The mark that a store or an index has to have when it is opened.
    pub mark: Option<FileMark>,
    /// The text that was judged.
    pub text: Option<String>,
    /// Something that its user should know.
    pub note: Option<String>,
}

/// A thing that is known, and how it stands.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Listed {
    /// The path.
    pub path: String,
    /// The kind.
    pub kind: Kind,
    /// True if it is believed; `None` where nothing lies there.
    pub trusted: Option<bool>,
    /// The reason where it is not, or what its user should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The right to make something, until it is dropped.
pub struct Making {
    /// The mark that it gets.
    pub mark: FileMark,
    _lock: File,
}

/// The list of what this user made or accepted. By default it is empty: nothing that is found is believed.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    folder: Option<PathBuf>,
}

impl Trust {
    /// The list of this user: in `$XDG_STATE_HOME/tenure/trusted`, or below `~/.local/state`.
    pub fn of_user() -> Trust {
        let state = user_folder("XDG_STATE_HOME", ".local/state");
        Trust {
            folder: state.map(|state| state.join("tenure").join(LIST)),
        }
    }

    /// The list in this folder.
    pub fn at(folder: impl Into<PathBuf>) -> Trust {
        Trust {
            folder: Some(folder.into()),
        }
    }

    /// Returns what is found at a thing's place and believed; `None` where nothing is. Nothing is written.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when it is not believed; [`ErrorKind::Unavailable`] when it cannot be read.
    pub fn check(&self, thing: &Thing) -> Result<Option<Believed>, Error> {
        match self.judge(thing) {
            // It is on the list before it is whole.
            Err(error) if error.kind == ErrorKind::Policy && self.is_made_by_now(thing) => {
                self.judge(thing)
            }
            judged => judged,
        }
    }

    /// Waits until no process makes anything; false where the thing is not on the list.
    fn is_made_by_now(&self, thing: &Thing) -> bool {
        let is_known = matches!(self.entry(thing), Ok(Some(_)));
        self.folder
            .as_ref()
            .filter(|_| is_known)
            .and_then(|folder| open_file(&folder.join(LOCK)).ok())
            .is_some_and(|lock| lock.lock_shared().is_ok())
    }

    fn judge(&self, thing: &Thing) -> Result<Option<Believed>, Error> {
        let Some(opened) = thing.open()? else {
            return Ok(None);
        };
        let seen = see(thing, &opened)?;
        if seen == Seen::Nothing {
            return Ok(None);
        }
        let Some(entry) = self.entry(thing)? else {
            let why = [opened.flaws, vec![thing.kind.wanted().1.to_owned()]].concat();
            return Err(thing.refused(&why.join("; ")));
        };
        let mut why = opened.flaws;
        why.retain(|flaw| !entry.despite.contains(flaw));
        let (is_it, text) = match &seen {
            Seen::Nothing => (false, None),
            Seen::Header(Header::Unreadable) => (true, None),
            Seen::Header(header) => (
                is_marked(*header, &entry.mark) || later(thing, &entry.mark)?,
                None,
            ),
            Seen::Id(id) => (id.as_ref() == Some(&entry.mark), None),
            Seen::Text(text) => (digest_of(text) == entry.mark, Some(text.clone())),
        };
        if !is_it {
            why.push(match thing.kind {
                Kind::Labels | Kind::Manifest => "it was changed since you accepted it".to_owned(),
                _ => "it is not the one that you made or accepted there".to_owned(),
            });
        }
        let tracked = thing.tracked();
        let beside = tracked.iter().find(|name| BESIDE.iter().any(|ending| name.ends_with(ending)));
        if let Some(beside) = beside {
            why.push(format!(
                "git tracks `{beside}`, which would be taken for unfinished writes of it"
            ));
        }
        if !why.is_empty() {
            return Err(thing.refused(&why.join("; ")));
        }
        Ok(Some(Believed {
            mark: entry.mark.parse().ok(),
            text,
            note: tracked.first().map(|name| said_of_tracked(thing, name)),
        }))
    }

    /// Accepts what lies at a thing's place, and returns what speaks against it; `None` where nothing lies there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when a link leads there; [`ErrorKind::Unavailable`] when it cannot be marked;
    /// [`ErrorKind::Input`] when the list cannot be written.
    pub fn accept(&self, thing: &Thing) -> Result<Option<Vec<String>>, Error> {
        let Some(opened) = thing.open()? else {
            return Ok(None);
        };
        let _lock = self.lock(thing)?;
        let path = thing.path();
        let mark = match see(thing, &opened)? {
            Seen::Nothing => return Ok(None),
            Seen::Text(text) => digest_of(&text),
            Seen::Header(Header::Marked(Some(mark))) => mark.to_string(),
            Seen::Header(_) => FileMark::put(&path)?.to_string(),
            Seen::Id(Some(id)) => id,
            Seen::Id(None) => {
                let id = drawn()?;
                put(&path.join(ID), format!("{id}\n").as_bytes(), Over::Nothing)
                    .map_err(|error| unwritten(&path, &error))?;
                id
            }
        };
        self.keep(thing, mark, opened.flaws.clone())?;
        let tracked = thing.tracked();
        let of_tracked = tracked.iter().map(|name| said_of_tracked(thing, name));
        Ok(Some(opened.flaws.into_iter().chain(of_tracked).collect()))
    }

    /// Takes a thing from the list, and returns whether it was on it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the list cannot be written.
    pub fn forget(&self, thing: &Thing) -> Result<bool, Error> {
        let Some(path) = self.entry_path(thing) else {
            return Ok(false);
        };
        match fs::remove_file(&path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(unwritten(&path, &error)),
        }
    }

    /// Everything that is known, by its path.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when others may write the list; [`ErrorKind::Damaged`] when it cannot be read.
    pub fn list(&self) -> Result<Vec<Listed>, Error> {
        let folder = self.folder.as_deref().filter(|folder| folder.is_dir());
        let Some(folder) = folder else {
            return Ok(Vec::new());
        };
        let failed = |error| unread(folder, &error);
        let mut listed = Vec::new();
        for file in fs::read_dir(folder).map_err(failed)? {
            let path = file.map_err(failed)?.path();
            if path.extension().is_none_or(|ending| ending != "json") {
                continue;
            }
            let Some(entry) = read_entry(&path)? else {
                continue;
            };
            let things = Thing::at(Path::new(&entry.path)).unwrap_or_default();
            let checked = things.first().map_or(Ok(None), |thing| self.check(thing));
            let (trusted, note) = match checked {
                Ok(None) => (None, None),
                Ok(Some(believed)) => (Some(true), believed.note),
                Err(error) => (Some(false), Some(error.what)),
            };
            listed.push(Listed {
                path: entry.path,
                kind: entry.kind,
                trusted,
                note,
            });
        }
        listed.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(listed)
    }

    /// Gives the right to make a store or an index where there is none, with the mark that it is to have: it is on the list
    /// before it is there. Where another process was quicker, it is the mark of what is there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Policy`] when others could put another one in its place, [`ErrorKind::Input`] when the list cannot be
    /// written. Then nothing is made.
    pub fn making(&self, thing: &Thing) -> Result<Making, Error> {
        let lock = self.lock(thing)?;
        let there = self.judge(thing)?.and_then(|believed| believed.mark);
        let mark = match there {
            Some(mark) => mark,
            None => {
                make_way(thing)?;
                let path = thing.path();
                if thing.is_there() {
                    // An empty file, which others may be able to read.
                    fs::remove_file(&path).map_err(|error| unwritten(&path, &error))?;
                }
                let mark = FileMark::draw()?;
                self.keep(thing, mark.to_string(), Vec::new())?;
                mark
            }
        };
        Ok(Making { mark, _lock: lock })
    }

    /// Makes a folder of packages with its id, where there is none.
    ///
    /// # Errors
    ///
    /// As [`Trust::making`].
    pub(crate) fn make_packages(&self, thing: &Thing) -> Result<(), Error> {
        let _lock = self.lock(thing)?;
        if self.judge(thing)?.is_some() {
            return Ok(());
        }
        make_way(thing)?;
        let (id, path) = (drawn()?, thing.path());
        self.keep(thing, id.clone(), Vec::new())?;
        make_folder(&path, false)
            .and_then(|()| put(&path.join(ID), format!("{id}\n").as_bytes(), Over::Nothing))
            .map_err(|error| unwritten(&path, &error))
    }

    /// The file of a thing in the list: named after its path, so that one look finds it.
    fn entry_path(&self, thing: &Thing) -> Option<PathBuf> {
        let path = thing.path();
        let digest = Digest::of(path.as_os_str().as_encoded_bytes()).to_string();
        let name = format!("{}.json", &digest["sha256:".len()..]);
        Some(self.folder.as_ref()?.join(name))
    }

    fn entry(&self, thing: &Thing) -> Result<Option<Entry>, Error> {
        let Some(path) = self.entry_path(thing) else {
            return Ok(None);
        };
        let entry = read_entry(&path)?;
        let shown = thing.path().display().to_string();
        Ok(entry.filter(|entry| entry.kind == thing.kind && entry.path == shown))
    }

    fn keep(&self, thing: &Thing, mark: String, despite: Vec<String>) -> Result<(), Error> {
        let path = self.entry_path(thing).ok_or_else(homeless)?;
        let entry = Entry {
            path: thing.path().display().to_string(),
            kind: thing.kind,
            mark,
            despite,
        };
        let text = format!("{}\n", serde_json::json!(entry));
        let written = match open_file(&path) {
            Ok(there) => put(&path, text.as_bytes(), Over::Private(&there)),
            Err(_) => put(&path, text.as_bytes(), Over::Nothing),
        };
        written.map_err(|error| unwritten(&path, &error))
    }

    /// Waits until no other process makes or accepts anything.
    fn lock(&self, thing: &Thing) -> Result<File, Error> {
        let folder = self.folder.as_deref().ok_or_else(homeless)?;
        let made = folder
            .parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| make_folder(folder, true));
        let failed = |error: io::Error| {
            let hint = format!(
                "set XDG_STATE_HOME to a folder that can be written{}",
                thing.kind.otherwise()
            );
            let what = format!("`{}` could not be remembered", thing.path().display());
            let what = format!("{what}: `{}`: {error}", folder.display());
            Error::input(what).hint(hint).caused_by(error)
        };
        made.map_err(failed)?;
        is_own(folder, &folder.symlink_metadata().map_err(failed)?)?;
        let lock = File::options().create(true).append(true).open(folder.join(LOCK));
        lock.and_then(|lock| lock.lock().map(|()| lock)).map_err(failed)
    }
}

/// Has Git pass a folder by: an agent that adds all files would commit whole conversations.
fn keep_out_of_git(folder: &Path) -> io::Result<()> {
    match put(&folder.join(".gitignore"), b"*\n", Over::Nothing) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written,
    }
}

/// Makes the folder in which a thing is to be, and refuses a place where others could put another one.
fn make_way(thing: &Thing) -> Result<(), Error> {
    let folder = thing.base.join(thing.kind.steps()[0]);
    let mut flaws = way::above(&thing.base);
    if flaws.is_empty() {
        let is_new = folder.symlink_metadata().is_err();
        make_folder(&folder, false).map_err(|error| unwritten(&folder, &error))?;
        if is_new {
            keep_out_of_git(&folder).map_err(|error| unwritten(&folder, &error))?;
        }
        let there = thing.open()?;
        let there = match there {
            // Whoever began to make it was stopped.
            Some(there) => Some(there),
            None => way::open(&thing.base, &thing.kind.steps()[..1]).unwrap_or_default(),
        };
        flaws.extend(there.into_iter().flat_map(|there| there.flaws));
    }
    if flaws.is_empty() {
        return Ok(());
    }
    let what = format!(
        "nothing is made in `{}`: {}",
        folder.display(),
        flaws.join("; ")
    );
    Err(Error::new(ErrorKind::Policy, what)
        .expected("a folder that nobody else may write")
        .hint(format!("`chmod go-w` it{}", thing.kind.otherwise())))
}

/// Findings about a thing.
#[derive(PartialEq, Eq, Debug)]
enum Seen {
    /// Nothing that anything could be read of.
    Nothing,
    Header(Header),
    Id(Option<String>),
    Text(String),
}

fn see(thing: &Thing, opened: &Opened) -> Result<Seen, Error> {
    let path = thing.path();
    let failed = |error: io::Error| unread(&path, &error);
    if thing.kind == Kind::Packages {
        if !opened.metadata.is_dir() {
            return Err(thing.refused("it is not a folder"));
        }
        let mut id = String::new();
        let Some(file) = opened.file_within(ID).map_err(failed)? else {
            return Ok(Seen::Id(None));
        };
        file.take(LONGEST).read_to_string(&mut id).map_err(failed)?;
        return Ok(Seen::Id(Some(id.trim().to_owned())));
    }
    let Some(file) = opened.file.as_ref().filter(|_| opened.metadata.is_file()) else {
        return Err(thing.refused("it is not a file"));
    };
    match thing.kind {
        Kind::Store | Kind::Index => match FileMark::in_header(file).map_err(failed)? {
            Header::Empty if !beside(&path, "-wal").is_file() => Ok(Seen::Nothing),
            header => Ok(Seen::Header(header)),
        },
        _ if opened.metadata.len() > LONGEST => {
            let what = format!("`{}` has more than {LONGEST} bytes", path.display());
            Err(Error::input(what).expected(thing.kind.wanted().0))
        }
        _ => {
            let mut text = String::new();
            file.take(LONGEST).read_to_string(&mut text).map_err(failed)?;
            Ok(Seen::Text(text))
        }
    }
}

fn is_marked(header: Header, mark: &str) -> bool {
    matches!(header, Header::Marked(Some(own)) if own.to_string() == mark)
}

/// Returns whether a file has this mark in what SQLite has not written to its place yet.
fn later(thing: &Thing, mark: &str) -> Result<bool, Error> {
    let path = thing.path();
    if !matches!(beside(&path, "-wal").metadata(), Ok(found) if found.len() > 0) {
        return Ok(false);
    }
    let own = FileMark::of_file(&path)?;
    Ok(own.is_some_and(|own| own.to_string() == mark))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn digest_of(text: &str) -> String {
    Digest::of(text.as_bytes()).to_string()
}

fn drawn() -> Result<String, Error> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| {
        let what = format!("the system's random number generator failed: {error}");
        Error::new(ErrorKind::Unavailable, what)
    })?;
    Ok(id.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Reads a file of the list, which must be the user's own.
fn read_entry(path: &Path) -> Result<Option<Entry>, Error> {
    let failed = |error: io::Error| unread(path, &error);
    let mut file = match open_file(path) {
        Ok(file) => file,
        Err(error) if is_none(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    is_own(path, &file.metadata().map_err(failed)?)?;
    if let Some(folder) = path.parent() {
        is_own(folder, &folder.symlink_metadata().map_err(failed)?)?;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed)?;
    serde_json::from_str(&text).map(Some).map_err(|error| {
        let what = format!("`{}` is not as it was written: {error}", path.display());
        Error::new(ErrorKind::Damaged, what).hint("remove it, and accept again what it was for")
    })
}

/// Returns whether an error says that there is no such file, nor a folder for it.
fn is_none(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Checks that nobody else could have written a part of the list.
fn is_own(path: &Path, found: &fs::Metadata) -> Result<(), Error> {
    match other_owner(path, found).or_else(|| writable(path, found)) {
        None => Ok(()),
        Some(flaw) => Err(Error::new(
            ErrorKind::Policy,
            format!("the list of what you trust is not yours alone: {flaw}"),
        )
        .hint("mend that, or set XDG_STATE_HOME to a folder of your own")),
    }
}

fn said_of_tracked(thing: &Thing, name: &str) -> String {
    let path = thing.base.join(name);
    format!(
        "git tracks `{}`: whoever changes the repository changes it",
        path.display()
    )
}

/// Says what somebody who names a file should know: that it is another user's, or that others may write it.
pub fn said_of_named(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    other_owner(path, &found).or_else(|| writable(path, &found))
}

fn homeless() -> Error {
    Error::input("no path for the list of what you trust: neither XDG_STATE_HOME nor HOME is set")
        .hint("set one of them, or name the store with --store")
}

fn unread(path: &Path, error: &io::Error) -> Error {
    let what = format!("cannot read `{}`: {error}", path.display());
    Error::new(ErrorKind::Unavailable, what)
}

fn unwritten(path: &Path, error: &io::Error) -> Error {
    Error::input(format!("cannot write `{}`: {error}", path.display()))
}
