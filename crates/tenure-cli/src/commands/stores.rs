//! The store that the arguments mean.

use tenure::{Error, ErrorKind};
use tenure_store::Store;
use tenure_workspace::{existing_store, project_store};

use crate::args::StoreUrl;

/// The store that is meant, the one named, else the project's: it is made where there is none.
pub(crate) fn to_write(url: &StoreUrl) -> Result<Store, Error> {
    Store::open(&meant(url)?)
}

/// The store that is meant, where there is one. `maker` is the command that makes one.
pub(crate) fn existing(url: &StoreUrl, maker: &str) -> Result<Store, Error> {
    existing_store(&meant(url)?).map_err(|error| match error.kind {
        ErrorKind::NotFound => error.hint(format!("`{maker}` makes one; or name one with --store")),
        _ => error,
    })
}

/// The URL of the store that is meant.
pub(super) fn meant(url: &StoreUrl) -> Result<String, Error> {
    if let Some(url) = &url.store {
        return Ok(url.clone());
    }
    let here = std::env::current_dir()
        .map_err(|error| Error::input(format!("there is no current folder: {error}")))?;
    Ok(format!("sqlite://{}", project_store(&here).display()))
}

/// The store that a compile reads: the one named, or the project's where there is one.
pub(crate) fn opened(url: &StoreUrl) -> Result<Option<Store>, Error> {
    if url.store.is_some() {
        return existing(url, "tenure store migrate").map(Some);
    }
    let Ok(here) = std::env::current_dir() else {
        return Ok(None);
    };
    let path = project_store(&here);
    path.is_file().then(|| Store::sqlite(&path)).transpose()
}

/// The store that originals go to: the one named, which is made where there is none, or the project's where there is one.
pub(crate) fn opened_to_keep(url: &StoreUrl) -> Result<Option<Store>, Error> {
    if url.store.is_some() {
        return to_write(url).map(Some);
    }
    opened(url)
}
