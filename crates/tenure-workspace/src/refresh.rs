//! Objects of a store made anew from the files that they came from, by their `update_path`.
//!
//! Only the content changes: who may see the object, how secret it is and how far it is trusted stay as they are, but
//! where the file now asks for less trust or more secrecy.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use tenure::object::{Authority, ObjectId};
use tenure::{ContextObject, Error, ObjectDocument};
use tenure_store::{Expect, Put, StoredObject, Tenant, Writing, Written, believed_first};

use crate::collect::{Collect, ReadAs, file_named, files_of, read_again};
use crate::trust::Trust;
use crate::walk::Source;
use crate::workspace::Workspace;

/// Fate of an object that was to be refreshed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefreshOutcome {
    /// Its file says something else: it has a new revision.
    Revised,
    /// Its file says the same.
    Unchanged,
    /// Its update path is no file: whoever reads that writes it anew.
    NotAFile,
    /// Its update path is another file than the one that it came from.
    NotItsSource,
    /// Its update path leads out of the project.
    OutsideTheProject,
    /// The file is not there.
    Missing,
    /// A walk of the project does not come upon the file: an ignore file names it, or it is hidden.
    Ignored,
    /// The file holds no object of this name any more.
    NotInTheFile,
    /// The file cannot be read.
    Unreadable,
}

impl RefreshOutcome {
    /// The term, as it is written.
    pub const fn term(self) -> &'static str {
        match self {
            RefreshOutcome::Revised => "revised",
            RefreshOutcome::Unchanged => "unchanged",
            RefreshOutcome::NotAFile => "not_a_file",
            RefreshOutcome::NotItsSource => "not_its_source",
            RefreshOutcome::OutsideTheProject => "outside_the_project",
            RefreshOutcome::Missing => "missing",
            RefreshOutcome::Ignored => "ignored",
            RefreshOutcome::NotInTheFile => "not_in_the_file",
            RefreshOutcome::Unreadable => "unreadable",
        }
    }
}

/// An object with an update path, and what became of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Refresh {
    /// Its id.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// Path that newer versions come from.
    pub update_path: String,
    /// Outcome for it.
    pub outcome: RefreshOutcome,
    /// The reason, where the file cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// All that a refresh did.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Refreshed {
    /// The objects with an update path.
    pub objects: Vec<Refresh>,
    /// The write; none where nothing has changed, or nothing was to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<Written>,
}

/// A file that an object may be made anew from.
enum Found {
    File(PathBuf),
    No(RefreshOutcome),
}

impl Workspace {
    /// Reads the files that objects of a store came from, where their `update_path` names them, and writes what they
    /// say now, in one write. Paths are those within the project's folder `root`, as far as a walk of it comes upon
    /// them. `only` are the objects to look at; all, where it is empty. Nothing is written where `dry_run` is set.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when `root` cannot be read, or an object of `only` has no update
    /// path; [`ErrorKind::Conflict`](tenure::ErrorKind::Conflict) when an object was written meanwhile; otherwise as
    /// [`Tenant::put`].
    pub fn refresh(
        &self,
        tenant: &Tenant,
        root: &Path,
        only: &[ObjectId],
        dry_run: bool,
        writing: &Writing,
    ) -> Result<Refreshed, Error> {
        let real = std::fs::canonicalize(root).map_err(|error| {
            let shown = root.display();
            let what = match error.kind() {
                std::io::ErrorKind::NotFound => format!("there is no folder `{shown}`"),
                _ => format!("cannot read `{shown}`: {error}"),
            };
            Error::input(what).expected("the folder of the project")
        })?;
        let options = Collect {
            tenant: Some(tenant.name().to_owned()),
            typed_objects: true,
            whole: true,
            trust: Trust::of_user(),
            ..Collect::default()
        };
        let files = files_of(&real, &options)?;
        let mut objects = Vec::new();
        let mut puts = Vec::new();
        for stored in with_update_path(tenant, only)? {
            let object = &stored.object;
            let path = object.revision().update_path().unwrap_or_default();
            let (outcome, why) = match file_of(object, path, &real) {
                Found::No(outcome) => (outcome, None),
                Found::File(file) => match files.get(&file) {
                    None => (RefreshOutcome::Ignored, None),
                    Some(source) => self.again(object, source, &options, &mut puts)?,
                },
            };
            objects.push(Refresh {
                object_id: object.revision().object_id(),
                name: object.name().to_owned(),
                update_path: path.to_owned(),
                outcome,
                why,
            });
        }
        let written = if puts.is_empty() || dry_run {
            None
        } else {
            Some(tenant.put(puts, writing)?)
        };
        Ok(Refreshed { objects, written })
    }

    /// Reads one file again, and adds what is to be written.
    fn again(
        &self,
        object: &ContextObject,
        source: &Source,
        options: &Collect<'_>,
        puts: &mut Vec<Put>,
    ) -> Result<(RefreshOutcome, Option<String>), Error> {
        let origin = object.revision().source_origin().unwrap_or_default();
        // What was trusted to command is read as guidance again, and what is data as data.
        let read_as = if object.revision().authority_level() == Authority::Data {
            ReadAs::Evidence
        } else {
            ReadAs::Guidance
        };
        let read = match read_again(source, origin, read_as, options) {
            Ok(read) => read,
            Err(error) => return Ok((RefreshOutcome::Unreadable, Some(error.what))),
        };
        let Some(fresh) = read.iter().find(|fresh| fresh.name() == object.name()) else {
            return Ok((RefreshOutcome::NotInTheFile, None));
        };
        let mut document = object.to_document()?;
        let before = document.clone();
        take_over(&mut document, object, fresh)?;
        if document == before {
            return Ok((RefreshOutcome::Unchanged, None));
        }
        if let Some(found) = &mut document.provenance {
            let now = self.clock().now();
            found.retrieved_at = found.retrieved_at.map(|_| now);
        }
        puts.push(Put {
            document,
            expect: Expect::Revision(object.revision().id()),
        });
        Ok((RefreshOutcome::Revised, None))
    }
}

/// The objects that have an update path, each as it was written last, in the order in which they came.
fn with_update_path(tenant: &Tenant, only: &[ObjectId]) -> Result<Vec<StoredObject>, Error> {
    let resident = tenant.load()?;
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for object in resident.candidates().objects() {
        let revision = object.revision();
        let id = revision.object_id();
        let is_wanted = only.is_empty() || only.contains(&id);
        if !is_wanted || known.contains(&id) || revision.update_path().is_none() {
            continue;
        }
        known.insert(id);
        let beliefs = believed_first(tenant.get(id)?);
        found.extend(beliefs.into_iter().max_by_key(|belief| belief.opened));
    }
    match only.iter().find(|id| !known.contains(id)) {
        None => Ok(found),
        Some(id) => Err(
            Error::input(format!("the object `{id}` has no `update_path`"))
                .expected("objects that say where newer versions come from")
                .hint("`tenure store audit --question update_path` lists those that do not"),
        ),
    }
}

/// The file that an update path names.
fn file_of(object: &ContextObject, path: &str, root: &Path) -> Found {
    let Some(within) = file_named(path) else {
        return Found::No(RefreshOutcome::NotAFile);
    };
    let origin = object.revision().source_origin().unwrap_or_default();
    if origin.is_empty() || !within.ends_with(origin) {
        return Found::No(RefreshOutcome::NotItsSource);
    }
    let climbs = within.components().any(|part| part == Component::ParentDir);
    if climbs {
        return Found::No(RefreshOutcome::OutsideTheProject);
    }
    match std::fs::canonicalize(root.join(&within)) {
        Err(_) => Found::No(RefreshOutcome::Missing),
        Ok(real) if !real.starts_with(root) => Found::No(RefreshOutcome::OutsideTheProject),
        Ok(real) if !real.is_file() => Found::No(RefreshOutcome::NotAFile),
        Ok(real) => Found::File(real),
    }
}

/// Takes over what a file says, and no more trust or less secrecy than there was.
fn take_over(
    document: &mut ObjectDocument,
    object: &ContextObject,
    fresh: &ContextObject,
) -> Result<(), Error> {
    let said = fresh.to_document()?;
    document.content = said.content;
    document.abstract_text = said.abstract_text;
    document.overview = said.overview;
    document.normalized_claim = said.normalized_claim;
    let (own, fresh) = (object.revision(), fresh.revision());
    if fresh.authority_level() > own.authority_level() {
        document.authority_level = Some(fresh.authority_level());
    }
    if fresh.classification() > own.classification() {
        document.security_classification = Some(fresh.classification());
    }
    if let (Some(own), Some(said)) = (&mut document.provenance, said.provenance) {
        own.digest = said.digest.or(own.digest);
    }
    Ok(())
}
