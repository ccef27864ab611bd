//! What was used last, as far as it is worth so many bytes.

use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Things by their keys; those that were used longest ago leave first.
#[derive(Debug)]
pub(super) struct Recent<T, K = String> {
    held: BTreeMap<K, Held<T>>,
    /// The keys by when they were used.
    used: BTreeMap<u64, K>,
    next: u64,
    bytes: usize,
    most: usize,
}

#[derive(Debug)]
struct Held<T> {
    value: T,
    used: u64,
    bytes: usize,
}

impl<T, K: Ord + Clone> Recent<T, K> {
    pub(super) fn new(most: usize) -> Recent<T, K> {
        Recent {
            held: BTreeMap::new(),
            used: BTreeMap::new(),
            next: 0,
            bytes: 0,
            most,
        }
    }

    pub(super) fn get<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&T>
    where
        K: Borrow<Q>,
    {
        let held = self.held.get_mut(key)?;
        let key = self.used.remove(&held.used)?;
        self.next += 1;
        held.used = self.next;
        self.used.insert(self.next, key);
        Some(&held.value)
    }

    /// Holds a thing that takes so many bytes.
    pub(super) fn put(&mut self, key: K, value: T, bytes: usize) {
        self.remove(&key);
        self.next += 1;
        let used = self.next;
        self.used.insert(used, key.clone());
        self.bytes += bytes;
        self.held.insert(key, Held { value, used, bytes });
    }

    /// Says what a thing takes now.
    pub(super) fn weigh<Q: Ord + ?Sized>(&mut self, key: &Q, bytes: usize)
    where
        K: Borrow<Q>,
    {
        if let Some(held) = self.held.get_mut(key) {
            self.bytes = self.bytes - held.bytes + bytes;
            held.bytes = bytes;
        }
    }

    /// Lets go of what was used longest ago and may leave, until the rest takes no more than it may.
    pub(super) fn shrink(&mut self, may_leave: impl Fn(&T) -> bool) {
        let mut after = 0;
        while self.bytes > self.most {
            let oldest = self.used.range(after..).find(|(_, key)| {
                let held = self.held.get(*key);
                held.is_none_or(|held| may_leave(&held.value))
            });
            let Some((used, key)) = oldest.map(|(used, key)| (*used, key.clone())) else {
                return;
            };
            self.remove(&key);
            after = used;
        }
    }

    fn remove(&mut self, key: &K) {
        if let Some(held) = self.held.remove(key) {
            self.used.remove(&held.used);
            self.bytes -= held.bytes;
        }
    }

    /// Lets go of all that is not so.
    pub(super) fn retain(&mut self, is_so: impl Fn(&K, &T) -> bool) {
        let others = self
            .held
            .iter()
            .filter(|(key, held)| !is_so(key, &held.value));
        let others: Vec<K> = others.map(|(key, _)| key.clone()).collect();
        others.iter().for_each(|key| self.remove(key));
    }

    /// The keys.
    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.held.keys()
    }

    /// What all of it takes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_stays() {
        let mut recent: Recent<u32> = Recent::new(100);
        let key = |at: u32| format!("a/{at}");
        for at in 0..10 {
            recent.put(key(at), at, 10);
        }
        recent.shrink(|_| true);
        assert_eq!(recent.bytes(), 100);
        assert_eq!(recent.get(&key(0)), Some(&0));
        recent.put("b/x".into(), 99, 25);
        // Of those that are longest unused, one may not leave.
        recent.shrink(|value| *value != 1);
        assert_eq!(recent.bytes(), 95);
        let held = (0..10).filter(|at| recent.get(&key(*at)).is_some());
        assert_eq!(held.collect::<Vec<_>>(), [0, 1, 5, 6, 7, 8, 9]);
        assert_eq!(recent.keys().count(), 8);
        recent.retain(|key, _| !key.starts_with("a/"));
        assert_eq!((recent.bytes(), recent.get("b/x")), (25, Some(&99)));
        // What has grown pushes others out, and itself where it is alone too large.
        recent.put("c".into(), 1, 10);
        recent.weigh("b/x", 95);
        recent.shrink(|value| *value == 1);
        assert_eq!(recent.bytes(), 95);
        recent.weigh("b/x", 300);
        recent.shrink(|_| true);
        assert_eq!(recent.bytes(), 0);
        // A thing takes the place of another of its name.
        recent.put("d".into(), 1, 10);
        recent.put("d".into(), 2, 20);
        assert_eq!((recent.bytes(), recent.get("d")), (20, Some(&2)));
    }
}
