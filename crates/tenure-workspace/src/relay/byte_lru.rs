//! A cache limited by bytes, which evicts the least recently used entries.

use std::borrow::Borrow;
use std::hash::Hash;

use hashlink::LinkedHashMap;

/// Values by their keys; those that were used longest ago leave first.
#[derive(Debug)]
pub(super) struct ByteLru<T, K = String> {
    /// In the order in which they were used.
    values: LinkedHashMap<K, Weighed<T>>,
    bytes: usize,
    most: usize,
}

#[derive(Debug)]
struct Weighed<T> {
    value: T,
    bytes: usize,
}

impl<T, K: Hash + Eq + Clone> ByteLru<T, K> {
    pub(super) fn new(most: usize) -> ByteLru<T, K> {
        ByteLru {
            values: LinkedHashMap::new(),
            bytes: 0,
            most,
        }
    }

    pub(super) fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&T>
    where
        K: Borrow<Q>,
    {
        self.values.to_back(key).map(|held| &held.value)
    }

    /// Inserts a value that takes this many bytes.
    pub(super) fn put(&mut self, key: K, value: T, bytes: usize) {
        self.bytes += bytes;
        if let Some(replaced) = self.values.insert(key, Weighed { value, bytes }) {
            self.bytes -= replaced.bytes;
        }
    }

    /// Updates the size of a value.
    pub(super) fn weigh<Q: Hash + Eq + ?Sized>(&mut self, key: &Q, bytes: usize)
    where
        K: Borrow<Q>,
    {
        if let Some(held) = self.values.get_mut(key) {
            self.bytes = self.bytes - held.bytes + bytes;
            held.bytes = bytes;
        }
    }

    /// Evicts the values that were used longest ago and may leave, until the rest fits the limit.
    pub(super) fn shrink(&mut self, may_leave: impl Fn(&T) -> bool) {
        let mut over = self.bytes.saturating_sub(self.most);
        let mut leaving = Vec::new();
        for (key, held) in &self.values {
            if over == 0 {
                break;
            }
            if may_leave(&held.value) {
                over = over.saturating_sub(held.bytes);
                leaving.push(key.clone());
            }
        }
        for key in leaving {
            if let Some(held) = self.values.remove(&key) {
                self.bytes -= held.bytes;
            }
        }
    }

    /// Evicts all values that fail the test.
    pub(super) fn retain(&mut self, is_so: impl Fn(&K, &T) -> bool) {
        let bytes = &mut self.bytes;
        self.values.retain(|key, held| {
            let stays = is_so(key, &held.value);
            *bytes -= if stays { 0 } else { held.bytes };
            stays
        });
    }

    /// The keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.values.keys()
    }

    /// The size of all values, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays() {
        let mut lru: ByteLru<u32> = ByteLru::new(100);
        let key = |at: u32| format!("a/{at}");
        for at in 0..10 {
            lru.put(key(at), at, 10);
        }
        lru.shrink(|_| true);
        assert_eq!(lru.bytes(), 100);
        assert_eq!(lru.get(&key(0)), Some(&0));
        lru.put("b/x".into(), 99, 25);
        // Of those that are longest unused, one may not leave.
        lru.shrink(|value| *value != 1);
        assert_eq!(lru.bytes(), 95);
        let held = (0..10).filter(|at| lru.get(&key(*at)).is_some());
        assert_eq!(held.collect::<Vec<_>>(), [0, 1, 5, 6, 7, 8, 9]);
        assert_eq!(lru.keys().count(), 8);
        lru.retain(|key, _| !key.starts_with("a/"));
        assert_eq!((lru.bytes(), lru.get("b/x")), (25, Some(&99)));
        // What has grown pushes others out, and itself where it is alone too large.
        lru.put("c".into(), 1, 10);
        lru.weigh("b/x", 95);
        lru.shrink(|value| *value == 1);
        assert_eq!(lru.bytes(), 95);
        lru.weigh("b/x", 300);
        lru.shrink(|_| true);
        assert_eq!(lru.bytes(), 0);
        // A thing takes the place of another of its name.
        lru.put("d".into(), 1, 10);
        lru.put("d".into(), 2, 20);
        assert_eq!((lru.bytes(), lru.get("d")), (20, Some(&2)));
    }
}
