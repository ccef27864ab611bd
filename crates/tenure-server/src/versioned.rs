//! What was read of tenants, as long as nothing was written to them since.

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LruCache;
use tenure::Error;

/// What was read of tenants, as long as nothing was written to them since.
pub(crate) struct Versioned<K, T>(Mutex<LruCache<K, (u64, Arc<T>)>>);

impl<K: Hash + Eq, T> Versioned<K, T> {
    pub(crate) fn of(most: usize) -> Versioned<K, T> {
        Versioned(Mutex::new(LruCache::new(most)))
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, LruCache<K, (u64, Arc<T>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was read at this version of the tenant or, if it was not, is read now. What is written meanwhile may
    /// be in it already; then it is read once more at the next version.
    pub(crate) fn get(
        &self,
        key: K,
        version: u64,
        read: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        if let Some((known, value)) = self.kept().get(&key)
            && *known == version
        {
            return Ok(Arc::clone(value));
        }
        let value = Arc::new(read()?);
        self.kept().insert(key, (version, Arc::clone(&value)));
        Ok(value)
    }

    /// Calls `each` with what is kept, and the version that it was read at.
    pub(crate) fn each(&self, mut each: impl FnMut(&K, u64)) {
        let kept = self.kept();
        kept.iter()
            .for_each(|(key, (version, _))| each(key, *version));
    }

    /// Lets go of what this says is gone.
    pub(crate) fn forget(&self, is_gone: impl Fn(&K) -> bool) {
        self.kept().retain(|key, _| !is_gone(key));
    }
}
