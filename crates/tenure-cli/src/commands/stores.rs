//! The store that the arguments mean.

use tenure::Error;
use tenure_store::Store;
use tenure_workspace::project_store;

use crate::args::StoreUrl;

/// The store that is meant: the one named, else the project's.
pub(crate) fn open(url: &StoreUrl, make: bool) -> Result<Store, Error> {
    if let Some(url) = &url.store {
        return Store::open(url);
    }
    let here = std::env::current_dir()
        .map_err(|error| Error::input(format!("there is no current folder: {error}")))?;
    let path = project_store(&here);
    if !make && !path.is_file() {
        return Err(
            Error::input(format!("there is no store `{}`", path.display()))
                .hint("`tenure store put` creates one; or name one with --store"),
        );
    }
    Store::sqlite(&path)
}

/// The store that a compile reads: the one named, or the project's where there is one.
pub(crate) fn opened(url: &StoreUrl) -> Result<Option<Store>, Error> {
    if url.store.is_some() {
        return open(url, false).map(Some);
    }
    let Ok(here) = std::env::current_dir() else {
        return Ok(None);
    };
    let path = project_store(&here);
    path.is_file().then(|| Store::sqlite(&path)).transpose()
}
