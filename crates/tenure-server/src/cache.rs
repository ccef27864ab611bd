//! A cache in memory that lets go of what was asked for longest ago.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LruCache;
use tenure::Error;

/// A cache of a bounded number of values, shared by threads.
pub(crate) struct Cache<K, V>(Mutex<LruCache<K, V>>);

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    /// Makes one for at most `most` values.
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
    /// Makes one for at most `most` values.
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
        all.iter().map(|(key, (version, _))| (key.clone(), *version)).collect()
    }

    /// Lets go of the values whose keys are gone.
    pub(crate) fn forget(&self, is_gone: impl Fn(&K) -> bool) {
        self.0.lock().retain(|key, _| !is_gone(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_that_was_asked_for_longest_ago_leaves() {
        let cache = Cache::of(2);
        cache.insert("a", 1);
        cache.insert("b", 2);
        assert_eq!(cache.get("a"), Some(1));
        assert_eq!(cache.get_or_insert("a", || 9), 1);
        assert_eq!(cache.get_or_insert("c", || 3), 3);
        assert_eq!(
            (cache.get("a"), cache.get("b"), cache.get("c")),
            (Some(1), None, Some(3))
        );
        cache.remove("a");
        assert_eq!(cache.get("a"), None);
    }

    #[test]
    fn a_value_is_read_again_once_its_tenant_was_written_to() {
        let cache = VersionedCache::of(2);
        let read = |version, value: u32| *cache.get("a", version, || Ok(value)).unwrap();
        assert_eq!(read(1, 10), 10);
        assert_eq!(read(1, 11), 10);
        assert_eq!(read(2, 12), 12);
        assert_eq!(cache.versions(), [("a", 2)]);
        cache.forget(|key| *key == "a");
        assert_eq!(read(2, 13), 13);
        let failed = cache.get("b", 1, || Err(Error::input("away")));
        assert!(failed.is_err() && cache.versions().len() == 1);
    }
}
