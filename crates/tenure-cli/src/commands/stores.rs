//! The store that the arguments mean: one that is named, or the project's, which is found and so has to be trusted.

use std::path::{Path, PathBuf};

use tenure::{Error, ErrorKind};
use tenure_store::{Store, Tenant, Writing};
use tenure_workspace::existing_store;
use tenure_workspace::trust::{Kind, Thing, Trust, said_of_named};

use super::note;
use crate::args::{StoreUrl, TenantArgs, WritingArgs};

/// The store that is meant.
enum Meant {
    Named(String),
    Project(Thing),
}

fn meant(url: &StoreUrl) -> Result<Meant, Error> {
    Ok(match &url.store {
        Some(url) => Meant::Named(url.clone()),
        None => Meant::Project(project()?),
    })
}

/// The store of the nearest folder above that has one, or else where one would be made.
pub(super) fn project() -> Result<Thing, Error> {
    let here = std::env::current_dir()
        .map_err(|error| Error::input(format!("there is no current folder: {error}")))?;
    Ok(Thing::near(&here, Kind::Store))
}

fn url_of(thing: &Thing) -> String {
    format!("sqlite://{}", thing.path().display())
}

/// The file that a URL names.
fn file_of(url: &str) -> Option<PathBuf> {
    let path = url.strip_prefix("sqlite://")?;
    (!path.is_empty()).then(|| Path::new(path).to_owned())
}

/// Says what the user of a store that is named should know.
fn look_at(url: &str) {
    let said = file_of(url).and_then(|path| said_of_named(&path));
    if let Some(said) = said {
        note(&format!("the store: {said}"));
    }
}

/// The project's store, where there is one.
fn found(thing: &Thing) -> Result<Option<Store>, Error> {
    let Some(believed) = Trust::of_user().check(thing)? else {
        return Ok(None);
    };
    believed.note.iter().for_each(|said| note(said));
    let path = thing.path();
    let store = match believed.mark {
        Some(mark) => Store::sqlite_marked(&path, mark)?,
        None => Store::sqlite(&path)?,
    };
    Ok(Some(store))
}

/// The store that is meant, the one named, else the project's: it is made where there is none.
pub(crate) fn to_write(url: &StoreUrl) -> Result<Store, Error> {
    let trust = Trust::of_user();
    match meant(url)? {
        Meant::Named(url) => {
            look_at(&url);
            // One that is made where it would be found is found from then on.
            if let Some(path) = file_of(&url).filter(|path| !path.exists())
                && let Some(thing) = Thing::at(&path).unwrap_or_default().first()
                && thing.kind() == Kind::Store
                && thing.path().ends_with(&path)
                && let Ok(making) = trust.making(thing)
            {
                return Store::sqlite_marked(&path, making.mark);
            }
            Store::open(&url)
        }
        Meant::Project(thing) => match found(&thing)? {
            Some(store) => Ok(store),
            None => {
                let making = trust.making(&thing)?;
                Store::sqlite_marked(&thing.path(), making.mark)
            }
        },
    }
}

/// The store that is meant, where there is one. `maker` is the command that makes one.
pub(crate) fn existing(url: &StoreUrl, maker: &str) -> Result<Store, Error> {
    let store = match meant(url)? {
        Meant::Named(url) => {
            look_at(&url);
            existing_store(&url)
        }
        Meant::Project(thing) => match found(&thing)? {
            Some(store) => Ok(store),
            None => Err(Error::not_found(format!(
                "there is no store `{}`",
                thing.path().display()
            ))),
        },
    };
    store.map_err(|error| match error.kind {
        ErrorKind::NotFound => error.hint(format!("`{maker}` makes one; or name one with --store")),
        _ => error,
    })
}

/// The store that is meant, to read it: it is neither made nor brought up to date nor written.
pub(super) fn to_read(url: &StoreUrl) -> Result<Store, Error> {
    match meant(url)? {
        Meant::Named(url) => {
            look_at(&url);
            Store::open_to_read(&url)
        }
        Meant::Project(thing) => {
            let believed = Trust::of_user().check(&thing)?;
            let note_of = believed.as_ref().and_then(|believed| believed.note.as_ref());
            note_of.into_iter().for_each(|said| note(said));
            match believed.and_then(|believed| believed.mark) {
                Some(mark) => Store::marked_to_read(&thing.path(), mark),
                None => Store::open_to_read(&url_of(&thing)),
            }
        }
    }
}

/// The store that a compile reads: the one named, or the project's where there is one.
pub(crate) fn opened(url: &StoreUrl) -> Result<Option<Store>, Error> {
    if url.store.is_some() {
        return existing(url, "tenure store migrate").map(Some);
    }
    // Where there is no current folder, there is no project.
    project().map_or(Ok(None), |thing| found(&thing))
}

/// The store that originals go to: the one named, which is made where there is none, or the project's where there is one.
pub(crate) fn opened_to_keep(url: &StoreUrl) -> Result<Option<Store>, Error> {
    if url.store.is_some() {
        return to_write(url).map(Some);
    }
    opened(url)
}

/// The tenant that is meant, in a store that must be there.
pub(crate) fn tenant(args: &TenantArgs) -> Result<Tenant, Error> {
    tenant_store(args)?.tenant(&args.tenant)
}

/// The store that a tenant is of, which must be there.
pub(crate) fn tenant_store(args: &TenantArgs) -> Result<Store, Error> {
    existing(&args.url, "tenure store put")
}

/// The tenant that is meant, in a store that is made where there is none.
pub(crate) fn tenant_to_write(args: &TenantArgs) -> Result<Tenant, Error> {
    to_write(&args.url)?.tenant(&args.tenant)
}

/// The options of a write.
pub(crate) fn writing(args: &WritingArgs) -> Writing {
    Writing {
        idempotency_key: args.idempotency_key.clone(),
        author: args.author.clone(),
    }
}
