//! The verbs over registries: a library from sources, and snapshots in files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use tenure::error::nearest;
use tenure::object::{LOCAL_TENANT, clip};
use tenure::registry::{
    Applied, Capability, Kind, Library, LoweredAuthority, Place, Registries, Secrets, Summary,
};
use tenure::{ContextObject, Error, ErrorKind, Unfetched};
use tenure_store::{Store, Tenant};

use crate::collect::{Collect, ReadAs, Warning};
use crate::snapshot::{KeptRegistries, read_snapshot};
use crate::stored::existing_store;
use crate::workspace::Workspace;

pub use crate::logs::applied_at;

/// A source of seeds: a file or folder, and the blocks to load of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeedSource {
    /// The namespace of its seeds.
    pub namespace: String,
    /// The file or folder.
    pub path: PathBuf,
    /// The names of the blocks to load; none loads all.
    pub blocks: Vec<String>,
}

impl SeedSource {
    /// All blocks of a file or folder, in a namespace named after it.
    pub fn all(path: impl Into<PathBuf>) -> SeedSource {
        let path = path.into();
        let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
        let stem = whole.file_stem().unwrap_or_default().to_string_lossy();
        let namespace = stem
            .chars()
            .map(|c| {
                if c.is_whitespace() || c.is_control() || c == '/' {
                    '-'
                } else {
                    c
                }
            })
            .collect::<String>();
        SeedSource {
            namespace: if namespace.is_empty() {
                "seeds".into()
            } else {
                namespace
            },
            path,
            blocks: Vec::new(),
        }
    }
}

/// The result of an import into a registry.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Imported {
    /// The number of blocks that came.
    pub imported: usize,
    /// The registry after it.
    pub registry: Summary,
    /// The blocks that have less authority than they asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lowered: Vec<LoweredAuthority>,
}

/// A library with what its owner should know of its sources.
#[derive(Debug)]
pub struct Loaded {
    /// The seeds, in the order of the sources.
    pub library: Library,
    /// Objects that were known and not fetched.
    pub unfetched: Vec<Unfetched>,
    /// Warnings.
    pub warnings: Vec<Warning>,
}

/// The local tenant of the store that a path is the URL of, opened so.
fn store_at(path: &Path, open: fn(&str) -> Result<Store, Error>) -> Result<Option<Tenant>, Error> {
    path.to_str()
        .filter(|path| {
            let schemes = ["sqlite://", "postgres://", "postgresql://"];
            schemes.iter().any(|scheme| path.starts_with(scheme))
        })
        .map(|url| open(url)?.tenant(LOCAL_TENANT))
        .transpose()
}

/// A store that is there, with the command that makes one.
fn opened(url: &str) -> Result<Store, Error> {
    existing_store(url).map_err(|error| match error.kind {
        ErrorKind::NotFound => error.hint("`tenure registry create` makes one"),
        _ => error,
    })
}

fn random() -> Result<[u8; 32], Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::input(format!(
            "the system's random number generator failed: {error}"
        ))
    })?;
    Ok(bytes)
}

impl Workspace {
    /// **collect** into a library: the seeds of these sources, read once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the file and line, or the block that a
    /// source does not have.
    pub fn library(&self, sources: &[SeedSource], options: &Collect<'_>) -> Result<Loaded, Error> {
        // What a registry is filled with is its owner's.
        let options = &Collect {
            read_as: ReadAs::Guidance,
            ..options.clone()
        };
        let mut seeds = Vec::new();
        let mut unfetched = Vec::new();
        let mut warnings = Vec::new();
        for source in sources {
            let collected = self.collect(std::slice::from_ref(&source.path), options)?;
            unfetched.extend_from_slice(collected.candidates.unfetched());
            let objects = collected.candidates.objects();
            let names = || objects.iter().map(|object| object.name());
            for wanted in &source.blocks {
                if !names().any(|name| name == wanted) {
                    let error = Error::input(format!(
                        "`{}` has no block named `{}`",
                        source.path.display(),
                        clip(wanted)
                    ));
                    return Err(match nearest(wanted, names()) {
                        Some(near) => error.hint(format!("did you mean `{near}`?")),
                        None => error.expected("the name of one of its blocks"),
                    });
                }
            }
            let wanted = |name: &str| {
                source.blocks.is_empty() || source.blocks.iter().any(|wanted| wanted == name)
            };
            let chosen = objects.iter().filter(|object| wanted(object.name()));
            seeds.extend(chosen.map(|object| (source.namespace.as_str(), object.clone())));
            let warned = collected.warnings.into_iter();
            warnings
                .extend(warned.filter(|warning| wanted(&warning.name) || source.blocks.is_empty()));
        }
        Ok(Loaded {
            library: Library::new(seeds)?,
            unfetched,
            warnings,
        })
    }

    fn secrets(&self) -> Result<Secrets, Error> {
        Ok(Secrets::of_workspace(random()?, &self.frame_key()?))
    }

    /// Registries for a new session. Tokens of their capabilities are signed with this workspace's
    /// key.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when the key cannot be read or made.
    pub fn registries(&self) -> Result<Registries, Error> {
        Ok(Registries::new(self.secrets()?))
    }

    /// The registries of a snapshot, to look at; [`Workspace::snapshot`] opens one for changes. Tokens
    /// are not valid here.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when it cannot be read, or is no snapshot.
    pub fn read_snapshot(&self, path: &Path) -> Result<Registries, Error> {
        // Looking signs and redeems no token, so it needs no key.
        let secrets = Secrets::new(random()?, random()?);
        match store_at(path, opened)? {
            Some(tenant) => Ok(KeptRegistries::stored(tenant, secrets)?.registries),
            None => read_snapshot(path, secrets),
        }
    }

    /// Opens a snapshot for changes. A path that is the URL of a store means the registries that the
    /// local tenant keeps there.
    ///
    /// # Errors
    ///
    /// As [`Workspace::read_snapshot`].
    pub fn snapshot(&self, path: &Path) -> Result<KeptRegistries, Error> {
        match store_at(path, opened)? {
            Some(tenant) => KeptRegistries::stored(tenant, self.secrets()?),
            None => KeptRegistries::open(path, self.secrets()?),
        }
    }

    /// The registries that a tenant keeps in its store.
    ///
    /// # Errors
    ///
    /// As [`Workspace::read_snapshot`].
    pub fn registries_of(&self, tenant: &Tenant) -> Result<KeptRegistries, Error> {
        KeptRegistries::stored(tenant.clone(), self.secrets()?)
    }

    /// Opens a snapshot for changes, or begins one where there is no file.
    ///
    /// # Errors
    ///
    /// As [`Workspace::read_snapshot`].
    pub fn snapshot_or_begin(&self, path: &Path) -> Result<KeptRegistries, Error> {
        match store_at(path, Store::open)? {
            Some(tenant) => KeptRegistries::stored(tenant, self.secrets()?),
            None => KeptRegistries::open_or_begin(path, self.secrets()?),
        }
    }
}

/// Draws every seed of a library into a registry, behind its blocks, in the library's order; all
/// of them or, where one cannot be drawn, none.
///
/// # Errors
///
/// As [`Registries::draw`].
pub fn draw_all(
    registries: &mut Registries,
    by: &Capability,
    label: &str,
    library: &Library,
) -> Result<Vec<Applied>, Error> {
    let view = registries.view(label)?;
    for (key, object) in library.iter() {
        // Two seeds of one name cannot stand in one registry: the error lists them.
        library.get(object.name())?;
        if let Ok(block) = view.named(object.name()) {
            return Err(Error::input(format!(
                "`{}` already has a block named `{}`",
                clip(label),
                clip(object.name())
            ))
            .expected("a different name for each block")
            .hint(format!(
                "the existing block is at position {}; the new one is the seed `{}`",
                view.position(block),
                clip(key)
            )));
        }
    }
    library
        .iter()
        .map(|(key, _)| registries.draw(by, label, library, key, Place::Back))
        .collect()
}

/// Draws objects into a registry, which is made where there is none: those of the names that are wanted, or all
/// where none is named.
///
/// # Errors
///
/// [`ErrorKind::Input`] when no object has a name that is wanted; as
/// [`draw_all`].
pub fn import(
    registries: &mut Registries,
    label: &str,
    objects: &[Arc<ContextObject>],
    wanted: &[String],
) -> Result<Imported, Error> {
    let chosen = chosen(objects, wanted)?;
    let library = Library::new(chosen.map(|object| ("import", Arc::clone(object))))?;
    let by = if registries.labels().any(|known| known == label) {
        registries.issue(label)?
    } else {
        registries.create(label, Kind::Agent)?
    };
    let drawn = draw_all(registries, &by, label, &library)?;
    Ok(Imported {
        imported: drawn.len(),
        lowered: drawn.into_iter().flat_map(|done| done.lowered).collect(),
        registry: registries.view(label)?.summary(),
    })
}

/// The objects of these names, or all where none is named.
fn chosen<'o>(
    objects: &'o [Arc<ContextObject>],
    wanted: &'o [String],
) -> Result<impl Iterator<Item = &'o Arc<ContextObject>>, Error> {
    let names = || objects.iter().map(|object| object.name());
    if let Some(missing) = wanted.iter().find(|wanted| !names().any(|name| name == **wanted)) {
        let error = Error::input(format!("no source has a block named `{}`", clip(missing)));
        return Err(match nearest(missing, names()) {
            Some(near) => error.hint(format!("did you mean `{near}`?")),
            None => error.expected("the name of one of their blocks"),
        });
    }
    Ok(objects
        .iter()
        .filter(|object| wanted.is_empty() || wanted.iter().any(|wanted| wanted == object.name())))
}
