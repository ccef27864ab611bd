//! The registry of packages in files, below `.tenure/context` of a root: packages by their ids, the versions of each name,
//! proposals, activations. A file is there whole or not at all; a lock keeps two processes from writing one at a time.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tenure::object::clip;
use tenure::package::{
    ACTIVATION_ID, ContextActivation, MemoryNamespace, PACKAGE_ID, PackageEnvelope,
};
use tenure::time::Instant;
use tenure::{Digest, Error, ErrorKind, Principal};
use tenure_adapters::read::{open_file, read_bytes, read_text};

use crate::files::{Over, put};
use crate::trust::{Kind, Thing, Trust};

/// The fewest digits of an id that stand for it.
const FEWEST: usize = 6;

/// A version of a name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// The package.
    pub id: String,
    /// The instant at which it was kept.
    pub at: Instant,
    /// Person who assented to it, where somebody had to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The versions of a name, and those that wait for assent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    pub(super) name: String,
    #[serde(default)]
    pub(super) versions: Vec<Version>,
    #[serde(default)]
    pub(super) proposals: Vec<Version>,
}

/// Something that happened to an activation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Happened {
    pub(super) at: Instant,
    pub(super) active: bool,
}

/// An activation as it is recorded: all but its text, which is made again.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recorded {
    pub(super) id: String,
    pub(super) package: String,
    pub(super) target: String,
    pub(super) namespace: MemoryNamespace,
    pub(super) caller: Principal,
    pub(super) history: Vec<Happened>,
}

impl Recorded {
    pub(super) fn is_active(&self) -> bool {
        self.history.last().is_some_and(|last| last.active)
    }

    /// The activation without its text.
    pub(super) fn bare(&self) -> ContextActivation {
        ContextActivation {
            active: self.is_active(),
            content: String::new(),
            id: self.id.clone(),
            namespace: self.namespace.clone(),
            package: self.package.clone(),
            policy_results: tenure::package::PolicyResults::default(),
            target: self.target.clone(),
            tokens: 0,
            diagnostics: Vec::new(),
        }
    }
}

/// The files of a registry.
pub(super) struct Files {
    thing: Thing,
    folder: PathBuf,
    /// Things that the user accepted; none where the registry was named, and so is believed.
    trust: Option<Trust>,
    /// Remark for its user on a registry that was looked at and is believed.
    believed: OnceLock<Option<String>>,
}

/// The right to change the registry, until it is dropped.
pub(super) struct Held(#[allow(dead_code, reason = "held, not read")] File);

impl Files {
    pub(super) fn of(root: &Path, trust: Option<Trust>) -> Files {
        let thing = Thing::of(root, Kind::Packages);
        Files {
            folder: thing.path(),
            thing,
            trust,
            believed: OnceLock::new(),
        }
    }

    pub(super) fn trust(&self) -> Option<&Trust> {
        self.trust.as_ref()
    }

    /// Checks that what lies there is believed, once; what its user should know.
    pub(super) fn believed(&self) -> Result<Option<&str>, Error> {
        match (&self.trust, self.believed.get()) {
            (_, Some(_)) => {}
            (None, None) => {
                self.thing.follows_no_link()?;
                self.believed.set(None).ok();
            }
            (Some(trust), None) => {
                if let Some(believed) = trust.check(&self.thing)? {
                    self.believed.set(believed.note).ok();
                }
            }
        }
        Ok(self.believed.get().and_then(Option::as_deref))
    }

    fn failed(&self, what: &str, error: io::Error) -> Error {
        let shown = self.folder.display();
        let kind = match error.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Unavailable,
        };
        Error::new(kind, format!("cannot {what} in `{shown}`: {error}")).caused_by(error)
    }

    /// Waits until no other process changes the registry.
    pub(super) fn hold(&self) -> Result<Held, Error> {
        self.believed()?;
        if let (Some(trust), None) = (&self.trust, self.believed.get()) {
            trust.make_packages(&self.thing)?;
        }
        for kind in ["packages", "names", "activations"] {
            let folder = self.folder.join(kind);
            fs::create_dir_all(folder).map_err(|error| self.failed("make folders", error))?;
        }
        let lock = File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("lock"))
            .and_then(|lock| lock.lock().map(|()| lock));
        lock.map(Held).map_err(|error| self.failed("take the lock", error))
    }

    fn path(&self, kind: &str, hex: &str) -> PathBuf {
        self.folder.join(kind).join(format!("{hex}.json"))
    }

    /// The file of a name, whose own characters may be anything.
    fn name_path(&self, name: &str) -> PathBuf {
        let digest = Digest::of(name.as_bytes()).to_string();
        self.path("names", digest.trim_start_matches("sha256:"))
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), Error> {
        let written = match open_file(path) {
            Ok(old) => put(path, text.as_bytes(), Over::This(&old)),
            Err(_) => put(path, text.as_bytes(), Over::Nothing),
        };
        written.map_err(|error| self.failed("write", error))
    }

    fn json<T: DeserializeOwned>(&self, path: &Path) -> Result<Option<T>, Error> {
        self.believed()?;
        if !path.exists() {
            return Ok(None);
        }
        let text = read_text(path)?;
        let read = serde_json::from_str(&text);
        read.map(Some).map_err(|error| {
            let what = format!("`{}` is not as it was written: {error}", path.display());
            Error::new(ErrorKind::Damaged, what).hint("remove the file, or restore it from a copy")
        })
    }

    /// Writes a package, unless it is there as it should be.
    pub(super) fn keep(&self, envelope: &PackageEnvelope) -> Result<(), Error> {
        let path = self.path("packages", hex_of(&envelope.id, PACKAGE_ID)?);
        let text = serde_json::to_value(envelope)
            .map_err(|error| Error::assertion(format!("a package is JSON: {error}")))?
            .to_string();
        match read_bytes(&path) {
            Ok(there) if there == text.as_bytes() => Ok(()),
            _ => self.write(&path, &text),
        }
    }

    /// Reads a package and checks it.
    pub(super) fn package(&self, id: &str) -> Result<PackageEnvelope, Error> {
        let path = self.path("packages", hex_of(id, PACKAGE_ID)?);
        self.believed()?;
        if !path.exists() {
            return Err(
                Error::not_found(format!("there is no package `{}`", clip(id)))
                    .hint("`tenure context list` names all"),
            );
        }
        let read = PackageEnvelope::read(&read_text(&path)?, &path.display().to_string())?;
        if read.id == id {
            Ok(read)
        } else {
            Err(Error::new(
                ErrorKind::Damaged,
                format!("`{}` holds another package", path.display()),
            ))
        }
    }

    pub(super) fn remove(&self, id: &str) -> Result<(), Error> {
        let path = self.path("packages", hex_of(id, PACKAGE_ID)?);
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.failed("remove", error))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn named(&self, name: &str) -> Result<Named, Error> {
        let found = self.json(&self.name_path(name))?;
        Ok(found.unwrap_or_else(|| Named {
            name: name.to_owned(),
            ..Named::default()
        }))
    }

    pub(super) fn set_named(&self, named: &Named) -> Result<(), Error> {
        let text = serde_json::json!(named).to_string();
        self.write(&self.name_path(&named.name), &text)
    }

    fn hexes(&self, kind: &str) -> Result<Vec<String>, Error> {
        self.believed()?;
        let entries = match fs::read_dir(self.folder.join(kind)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("look", error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.failed("look", error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            found.extend(name.strip_suffix(".json").map(str::to_owned));
        }
        found.retain(|hex| !hex.starts_with('.'));
        found.sort();
        Ok(found)
    }

    /// All names, sorted.
    pub(super) fn names(&self) -> Result<Vec<Named>, Error> {
        let mut named = Vec::new();
        for hex in self.hexes("names")? {
            named.extend(self.json::<Named>(&self.path("names", &hex))?);
        }
        named.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(named)
    }

    /// The whole id of a package that a name, an id or its beginning means.
    pub(super) fn resolve(&self, reference: &str) -> Result<String, Error> {
        if let Some(hex) = reference.strip_prefix(PACKAGE_ID) {
            return self.completed(hex, "packages", PACKAGE_ID, reference);
        }
        let named = self.named(reference)?;
        if let Some(last) = named.versions.last() {
            return Ok(last.id.clone());
        }
        let names: Vec<String> = self.names()?.into_iter().map(|named| named.name).collect();
        let error = Error::not_found(format!("there is no package `{}`", clip(reference)));
        Err(
            match tenure::error::nearest(reference, names.iter().map(String::as_str)) {
                Some(name) => error.hint(format!("did you mean `{name}`?")),
                None => {
                    error.hint("`tenure context list` names all; `tenure context pack` makes one")
                }
            },
        )
    }

    /// The whole id of an activation.
    pub(super) fn resolve_activation(&self, reference: &str) -> Result<String, Error> {
        let hex = reference.strip_prefix(ACTIVATION_ID).unwrap_or(reference);
        self.completed(hex, "activations", ACTIVATION_ID, reference)
    }

    fn completed(
        &self,
        hex: &str,
        kind: &str,
        prefix: &str,
        reference: &str,
    ) -> Result<String, Error> {
        let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        let missing = || Error::not_found(format!("there is no `{}`", clip(reference)));
        if !is_hex || hex.len() < FEWEST {
            return Err(missing().expected(format!(
                "`{prefix}` and at least {FEWEST} hexadecimal digits"
            )));
        }
        let all = self.hexes(kind)?;
        let mut found = all.iter().filter(|known| known.starts_with(hex));
        match (found.next(), found.next()) {
            (Some(only), None) => Ok(format!("{prefix}{only}")),
            (Some(_), Some(_)) => Err(Error::input(format!(
                "`{}` is the beginning of several ids",
                clip(reference)
            ))
            .expected("more digits")),
            (None, _) => Err(missing().hint("`tenure context list` names all")),
        }
    }

    pub(super) fn activation(&self, id: &str) -> Result<Option<Recorded>, Error> {
        self.json(&self.path("activations", hex_of(id, ACTIVATION_ID)?))
    }

    pub(super) fn activations(&self) -> Result<Vec<Recorded>, Error> {
        let mut found = Vec::new();
        for hex in self.hexes("activations")? {
            found.extend(self.json::<Recorded>(&self.path("activations", &hex))?);
        }
        Ok(found)
    }

    pub(super) fn set_activation(&self, recorded: &Recorded) -> Result<(), Error> {
        let path = self.path("activations", hex_of(&recorded.id, ACTIVATION_ID)?);
        self.write(&path, &serde_json::json!(recorded).to_string())
    }
}

/// The digits of an id, which are a name of a file and nothing else.
fn hex_of<'i>(id: &'i str, prefix: &str) -> Result<&'i str, Error> {
    id.strip_prefix(prefix)
        .filter(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .ok_or_else(|| {
            Error::input(format!("`{}` is no id", clip(id)))
                .expected(format!("`{prefix}` and 64 hexadecimal digits"))
        })
}
