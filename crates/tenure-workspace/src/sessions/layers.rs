//! A session's objects in layers: objects that were there at the last compile are not read again.
//!
//! They come from callers who may compile the session, so none of them is denied to such a caller
//! ([`Candidates::said`]).

use std::sync::Arc;

use tenure::{Candidates, ContextObject};

/// The number of neighbours of about one size that become one layer.
const MANY: usize = 8;
/// The most objects of a layer that was put together from others.
const MOST: usize = 512;

/// The layers of the last compile.
#[derive(Debug, Default)]
pub(super) struct Layers(Vec<Arc<Candidates>>);

impl Layers {
    /// These objects in layers: as many of the last layers as hold what still stands there, and one for the
    /// others. Many neighbours of about one size become one, so that there are few, and each object is read
    /// again only so often as its layer has grown to a size of its own.
    pub(super) fn over(&mut self, objects: &[Arc<ContextObject>]) -> Vec<Arc<Candidates>> {
        let mut rest = objects;
        let stands = self
            .0
            .iter()
            .take_while(|layer| {
                let same = rest.len() >= layer.len()
                    && layer.objects().iter().zip(rest).all(|(old, new)| same(old, new));
                if same {
                    rest = &rest[layer.len()..];
                }
                same
            })
            .count();
        self.0.truncate(stands);
        if !rest.is_empty() {
            self.0.push(Arc::new(Candidates::new(rest.to_vec()).said()));
        }
        while let Some(few) = self.0.len().checked_sub(MANY) {
            let all = &self.0[few..];
            let newest = size(&all[MANY - 1]);
            let count: usize = all.iter().map(|layer| layer.len()).sum();
            if count > MOST || all.iter().any(|layer| size(layer) > newest) {
                break;
            }
            let objects: Vec<_> = all.iter().map(|layer| layer.objects()).collect();
            let one = Arc::new(Candidates::new(objects.concat()).said());
            self.0.truncate(few);
            self.0.push(one);
        }
        self.0.clone()
    }
}

/// About what size a layer has.
fn size(layer: &Candidates) -> u32 {
    layer.len().max(1).ilog(MANY)
}

/// Returns whether the two are the same revision of an object of a session, which has neither status nor overrides.
fn same(old: &Arc<ContextObject>, new: &Arc<ContextObject>) -> bool {
    Arc::ptr_eq(old, new) || old.revision().id() == new.revision().id()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::ObjectDocument;

    fn names(layers: &[Arc<Candidates>]) -> Vec<Vec<String>> {
        layers
            .iter()
            .map(|layer| layer.objects().iter().map(|object| object.name().to_owned()).collect())
            .collect()
    }

    #[test]
    fn what_stands_keeps_its_layer_and_few_are_left() {
        let all: Vec<_> = (0..1_000)
            .map(|at| ObjectDocument::named(format!("t{at}"), "Said.").seal().unwrap())
            .collect();
        let mut layers = Layers::default();
        let (mut read, mut most) = (0, 0);
        let mut before: Vec<Arc<Candidates>> = Vec::new();
        for end in 1..=all.len() {
            let now = layers.over(&all[..end]);
            assert_eq!(
                names(&now).concat(),
                names(&[Arc::new(Candidates::new(all[..end].to_vec()))]).concat()
            );
            let fresh =
                now.iter().filter(|layer| !before.iter().any(|old| Arc::ptr_eq(old, layer)));
            read += fresh.map(|layer| layer.len()).sum::<usize>();
            most = most.max(now.len());
            before = now;
        }
        assert!(read < 10 * all.len(), "{read}");
        assert!(most < 24, "{most}");
        // The end of an epoch: everything after a gap is read again.
        let later = layers.over(&all[900..]);
        assert_eq!(names(&later).concat().len(), 100);
        assert!(layers.over(&[]).is_empty());
    }
}
