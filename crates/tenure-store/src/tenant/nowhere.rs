//! A tenant of no store: for what takes a tenant's name and keeps nothing.

use std::sync::Arc;

use tenure::{Error, ErrorKind};

use crate::rows::engine::{Engine, Read, WriteJob};
use crate::tenant::handle::Tenant;

/// The engine of no store.
struct Nowhere;

impl Tenant {
    /// Returns a handle on a tenant of no store: whatever reads or writes by it fails with
    /// [`ErrorKind::Unavailable`].
    pub fn nowhere(name: &str) -> Tenant {
        Tenant::new(Arc::new(Nowhere), Arc::default(), name)
    }
}

fn nothing<T>() -> Result<T, Error> {
    Err(Error::new(
        ErrorKind::Unavailable,
        "there is no store: this is kept nowhere",
    ))
}

impl Engine for Nowhere {
    fn shown(&self) -> String {
        "no store".to_owned()
    }

    fn migrate(&self) -> Result<Vec<u32>, Error> {
        nothing()
    }

    fn read(
        &self,
        _: &str,
        _: &mut dyn FnMut(&mut dyn Read) -> Result<(), Error>,
    ) -> Result<(), Error> {
        nothing()
    }

    fn write(&self, _: &str, _: WriteJob) -> Result<(), Error> {
        nothing()
    }

    fn version(&self, _: &str) -> Result<u64, Error> {
        nothing()
    }

    fn tenants(&self) -> Result<Vec<String>, Error> {
        nothing()
    }
}
