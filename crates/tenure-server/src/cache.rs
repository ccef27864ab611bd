//! A cache in memory that lets go of what was asked for longest ago.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LruCache;
use tenure::Error;

/// A cache of at most so many values, shared by threads.
pub(crate) struct Cache<K, V>(Mutex<LruCache<K, V>>);

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    /// Makes one for at most so many values.
    pub(crate) fn of(most: usize) -> Cache<K, V> {
        Cache(Mutex::new(LruCache::new(most)))
    }

    /// Returns a value, which is asked for now.
    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.lock().get(key).cloned()
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        self.lock().insert(key, value);
    }

    /// Returns a value, made now where there is none. Others wait meanwhile.
    pub(crate) fn get_or_insert(&self, key: K, make: impl FnOnce() -> V) -> V {
        let mut all = self.lock();
        if let Some(known) = all.get(&key) {
            return known.clone();
        }
        let made = make();
        all.insert(key, made.clone());
        made
    }

    pub(crate) fn remove<Q: Hash + Eq + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.lock().remove(key);
    }

    /// Locks the cache, for what takes more than one step.
    pub(crate) fn lock(&self) -> MutexGuard<'_, LruCache<K, V>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cache of what was read of tenants, each for as long as nothing was written to its tenant.
pub(crate) struct VersionedCache<K, T>(Cache<K, (u64, Arc<T>)>);

impl<K: Hash + Eq, T> VersionedCache<K, T> {
    /// Makes one for at most so many values.
    pub(crate) fn of(most: usize) -> VersionedCache<K, T> {
        VersionedCache(Cache::of(most))
    }

    /// Returns what was read at this version of the tenant or, if it was not, is read now. What is written meanwhile may
    /// be in it already; then it is read once more at the next version.
    pub(crate) fn get(
        &self,
        key: K,
        version: u64,
        read: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Arc<T>, Error> {
        let known = self.0.get(&key).filter(|(known, _)| *known == version);
        if let Some((_, value)) = known {
            return Ok(value);
        }
        let value = Arc::new(read()?);
        self.0.insert(key, (version, Arc::clone(&value)));
        Ok(value)
    }

    /// Returns the keys with the versions that their values were read at.
    pub(crate) fn versions(&self) -> Vec<(K, u64)>
    where
        K: Clone,
    {
        let all = self.0.lock();
        let versions = all
            .iter()
            .map(|(key, (version, _))| (key.clone(), *version));
        versions.collect()
    }

    /// Lets go of the values whose keys are gone.
    pub(crate) fn forget(&self, is_gone: impl Fn(&K) -> bool) {
        self.0.lock().retain(|key, _| !is_gone(key));
    }
}
