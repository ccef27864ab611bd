//! Two persistent collections: a copy shares everything with its original, and a change copies only
//! the chunk that it touches, and only while someone else holds it.
//!
//! Both are two levels deep: chunks of a bounded size under one directory. At 10⁵ entries a directory
//! has a few hundred places, so that a change copies a few kilobytes. The well-kept libraries of
//! persistent collections cost more than a hundred bytes for each entry; these cost the entry.

use std::sync::Arc;

/// A vector that grows at its end. `N` is the size of a chunk.
#[derive(Clone, Debug)]
pub(super) struct CowVec<T, const N: usize> {
    chunks: Arc<Vec<Arc<Vec<T>>>>,
    len: usize,
}

impl<T, const N: usize> Default for CowVec<T, N> {
    fn default() -> CowVec<T, N> {
        CowVec {
            chunks: Arc::default(),
            len: 0,
        }
    }
}

impl<T: Clone, const N: usize> CowVec<T, N> {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, at: u32) -> Option<&T> {
        let at = at as usize;
        self.chunks.get(at / N)?.get(at % N)
    }

    pub(super) fn push(&mut self, value: T) {
        let chunks = Arc::make_mut(&mut self.chunks);
        match chunks.last_mut() {
            Some(last) if last.len() < N => Arc::make_mut(last).push(value),
            _ => chunks.push(Arc::new(vec![value])),
        }
        self.len += 1;
    }

    /// Replaces an entry. An entry that is not there is left alone.
    pub(super) fn set(&mut self, at: u32, value: T) {
        let at = at as usize;
        let chunk = Arc::make_mut(&mut self.chunks).get_mut(at / N);
        if let Some(entry) = chunk.and_then(|chunk| Arc::make_mut(chunk).get_mut(at % N)) {
            *entry = value;
        }
    }

    pub(super) fn from_iter(values: impl Iterator<Item = T>) -> CowVec<T, N> {
        let mut chunks: Vec<Arc<Vec<T>>> = Vec::new();
        let mut chunk = Vec::with_capacity(N);
        let mut len = 0;
        for value in values {
            chunk.push(value);
            len += 1;
            if chunk.len() == N {
                chunks.push(Arc::new(std::mem::replace(
                    &mut chunk,
                    Vec::with_capacity(N),
                )));
            }
        }
        if !chunk.is_empty() {
            chunk.shrink_to_fit();
            chunks.push(Arc::new(chunk));
        }
        CowVec {
            chunks: Arc::new(chunks),
            len,
        }
    }
}

/// The most keys of a chunk of a set.
const KEYS: usize = 512;

/// A sorted set.
#[derive(Clone, Debug)]
pub(super) struct CowSet<K> {
    /// None is empty, and each begins above the end of the one before.
    chunks: Arc<Vec<Arc<Vec<K>>>>,
}

impl<K> Default for CowSet<K> {
    fn default() -> CowSet<K> {
        CowSet {
            chunks: Arc::default(),
        }
    }
}

impl<K: Ord + Copy> CowSet<K> {
    /// The chunk in which `key` is, or belongs.
    fn chunk_of(&self, key: &K) -> usize {
        self.chunks.partition_point(|chunk| chunk[0] <= *key).saturating_sub(1)
    }

    pub(super) fn insert(&mut self, key: K) {
        let at = self.chunk_of(&key);
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(chunk) = chunks.get_mut(at) else {
            chunks.push(Arc::new(vec![key]));
            return;
        };
        let chunk = Arc::make_mut(chunk);
        if let Err(place) = chunk.binary_search(&key) {
            chunk.insert(place, key);
        }
        if chunk.len() > KEYS {
            let upper = chunk.split_off(KEYS / 2);
            chunks.insert(at + 1, Arc::new(upper));
        }
    }

    pub(super) fn remove(&mut self, key: &K) {
        let at = self.chunk_of(key);
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(chunk) = chunks.get_mut(at) else {
            return;
        };
        let chunk = Arc::make_mut(chunk);
        if let Ok(place) = chunk.binary_search(key) {
            chunk.remove(place);
        }
        if chunk.is_empty() {
            chunks.remove(at);
        } else if chunk.len() < KEYS / 8 && at + 1 < chunks.len() {
            // Little is left: it joins the next, which is split again should it be too long.
            let mut joined = std::mem::take(Arc::make_mut(&mut chunks[at]));
            joined.extend_from_slice(&chunks[at + 1]);
            chunks.remove(at + 1);
            if joined.len() > KEYS {
                let upper = joined.split_off(joined.len() / 2);
                chunks.insert(at + 1, Arc::new(upper));
            }
            chunks[at] = Arc::new(joined);
        }
    }

    /// The keys from `first` on.
    pub(super) fn from(&self, first: K) -> impl Iterator<Item = K> + '_ {
        let at = self.chunk_of(&first);
        let chunks = self.chunks.get(at..).unwrap_or_default();
        let skipped = chunks.first().map_or(0, |chunk| chunk.partition_point(|key| *key < first));
        chunks.iter().flat_map(|chunk| chunk.iter().copied()).skip(skipped)
    }

    pub(super) fn from_sorted(keys: &[K]) -> CowSet<K> {
        let chunks = keys.chunks(KEYS * 3 / 4);
        CowSet {
            chunks: Arc::new(chunks.map(|chunk| Arc::new(chunk.to_vec())).collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_set_is_a_set(steps in proptest::collection::vec((any::<bool>(), 0u32..3000), 0..6000)) {
            let mut ours = CowSet::from_sorted(&(0..1500).collect::<Vec<u32>>());
            let mut model: BTreeSet<u32> = (0..1500).collect();
            let before = ours.clone();
            for (add, key) in steps {
                if add {
                    ours.insert(key);
                    model.insert(key);
                } else {
                    ours.remove(&key);
                    model.remove(&key);
                }
            }
            prop_assert!(ours.from(0).eq(model.iter().copied()));
            prop_assert!(ours.from(1000).eq(model.range(1000..).copied()));
            prop_assert!(before.from(0).eq(0..1500));
        }
    }

    #[test]
    fn a_set_can_be_emptied() {
        let mut set = CowSet::default();
        assert_eq!(set.from(0).next(), None);
        (0..2000u32).for_each(|key| set.insert(key));
        (0..2000u32).rev().for_each(|key| set.remove(&key));
        assert_eq!(set.from(0).next(), None);
        set.insert(7);
        assert_eq!(set.from(0).collect::<Vec<_>>(), [7]);
    }

    #[test]
    fn a_vector_is_shared_until_it_is_changed() {
        let mut vector = CowVec::<u32, 4>::from_iter(0..10);
        let before = vector.clone();
        vector.push(10);
        vector.set(3, 33);
        vector.set(99, 0);
        assert_eq!(vector.len(), 11);
        assert_eq!((vector.get(3), vector.get(10)), (Some(&33), Some(&10)));
        assert_eq!((before.get(3), before.get(10)), (Some(&3), None));
    }
}
