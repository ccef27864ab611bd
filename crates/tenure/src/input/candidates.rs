//! The candidates of a compile: objects in their registry order, and the sources that were not fetched.

mod leaves;
mod passages;
mod rows;

use std::sync::{Arc, OnceLock};

use crate::base::digest::Digest;
use crate::object::{Authority, ContextObject, ObjectType, Revision};
use crate::rank::vectors::Vectors;

pub use leaves::Unfetched;
pub(crate) use leaves::digest_of;
pub use passages::{Nearest, Passage, PassageLayer, Passages};
pub(crate) use rows::{Normalized, OPEN, Row, UNKNOWN};

/// An immutable set of candidates. What depends on them alone (rows, postings, digest) is made
/// once, at the first compile, and kept with them.
///
/// ```
/// use tenure::{Candidates, ObjectDocument};
/// let rule = ObjectDocument::rule("brevity", "Answer in one sentence.").seal().unwrap();
/// assert_eq!(Candidates::new(vec![rule]).len(), 1);
/// ```
#[derive(Debug, Default)]
pub struct Candidates {
    /// All of them; where they are made of several sets, put together when someone asks.
    objects: OnceLock<Arc<[Arc<ContextObject>]>>,
    count: usize,
    unfetched: Vec<Unfetched>,
    /// True if the caller says all of them in the request itself.
    said: bool,
    /// The sets that these are made of; none where they are made of one.
    layers: Vec<Arc<Candidates>>,
    normalized: OnceLock<Normalized>,
    passages: OnceLock<Passages>,
    /// Those of its own objects, where it is made of one set.
    passage_layer: OnceLock<Arc<PassageLayer>>,
    /// The vectors of passages of what these follow.
    known_vectors: Option<Arc<Vectors>>,
    longest_data: OnceLock<usize>,
    tools: OnceLock<Vec<Arc<ContextObject>>>,
}

impl Candidates {
    /// These objects, in registry order.
    pub fn new(objects: Vec<Arc<ContextObject>>) -> Candidates {
        Candidates {
            count: objects.len(),
            objects: OnceLock::from(Arc::from(objects)),
            ..Candidates::default()
        }
    }

    /// Returns the candidates, most of whose texts stand in these others: what was found out about a text is not found
    /// out again.
    #[must_use]
    pub fn following(self, others: &Candidates) -> Candidates {
        let vectors = others.passage_layer.get().and_then(|layer| layer.vectors().cloned());
        Candidates {
            known_vectors: vectors.or_else(|| others.known_vectors.clone()),
            ..self
        }
    }

    /// The objects of these sets, one set after the other. It is the same as all of them in one set, but
    /// what was made for each set is not made again: what stays goes into one layer, what changes into
    /// another.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Candidates, ObjectDocument};
    /// let set = |name: &str| Candidates::new(vec![ObjectDocument::rule(name, "A rule.").seal().unwrap()]);
    /// let both = Candidates::layered([Arc::new(set("one")), Arc::new(set("two"))]);
    /// let names: Vec<&str> = both.objects().iter().map(|object| object.name()).collect();
    /// assert_eq!(names, ["one", "two"]);
    /// ```
    pub fn layered(layers: impl IntoIterator<Item = Arc<Candidates>>) -> Candidates {
        let mut sets: Vec<Arc<Candidates>> = Vec::new();
        let mut unfetched = Vec::new();
        for layer in layers {
            unfetched.extend_from_slice(&layer.unfetched);
            if !layer.layers.is_empty() {
                sets.extend(layer.layers.iter().cloned());
            } else if !layer.is_empty() {
                sets.push(layer);
            }
        }
        Candidates {
            count: sets.iter().map(|set| set.count).sum(),
            unfetched,
            said: !sets.is_empty() && sets.iter().all(|set| set.said),
            layers: sets,
            ..Candidates::default()
        }
    }

    /// Returns the candidates with a report of what was not fetched.
    #[must_use]
    pub fn with_unfetched(self, unfetched: Vec<Unfetched>) -> Candidates {
        Candidates {
            objects: self.objects,
            count: self.count,
            unfetched,
            said: self.said,
            layers: self.layers,
            passages: self.passages,
            passage_layer: self.passage_layer,
            known_vectors: self.known_vectors,
            longest_data: self.longest_data,
            tools: self.tools,
            ..Candidates::default()
        }
    }

    /// Returns the candidates as words that the caller says in the request itself. They are no secret from the caller:
    /// whatever labels they have, only those of another tenant are denied.
    ///
    /// Nothing in an object can say this of it, so whatever was stored stays behind its labels. Only who gathers
    /// candidates knows what came with the request.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tenure::{Candidates, ObjectDocument, Policy, Principal};
    /// let set = |name: &str| Candidates::new(vec![ObjectDocument::rule(name, "A word.").seal().unwrap()]);
    /// let both = Candidates::layered([Arc::new(set("stored")), Arc::new(set("said").said())]);
    /// let policy = Policy::preset("standard")?;
    /// // An object without a label is restricted, and this principal is cleared for what is public.
    /// assert_eq!(tenure::admitted(&policy, &Principal::default(), &both), [1]);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn said(self) -> Candidates {
        let layers = self.layers.into_iter().map(|layer| {
            if layer.said {
                layer
            } else {
                Arc::new(Candidates::new(layer.objects().to_vec()).said())
            }
        });
        Candidates {
            objects: self.objects,
            count: self.count,
            unfetched: self.unfetched,
            said: true,
            layers: layers.collect(),
            longest_data: self.longest_data,
            tools: self.tools,
            ..Candidates::default()
        }
    }

    /// Of each of them in order, whether the caller says it in the request itself ([`Candidates::said`]).
    pub fn which_are_said(&self) -> impl Iterator<Item = bool> {
        self.layers().flat_map(|layer| std::iter::repeat_n(layer.said, layer.len()))
    }

    /// Replaces each of them with what `change` gives for its place: another form of it, or nothing where it leaves.
    /// What the caller says stays so.
    #[must_use]
    pub fn filter_map(
        &self,
        mut change: impl FnMut(usize, &Arc<ContextObject>) -> Option<Arc<ContextObject>>,
    ) -> Candidates {
        let mut at = 0;
        let layers: Vec<_> = self
            .layers()
            .map(|layer| {
                let objects = layer.objects().iter().filter_map(|object| {
                    at += 1;
                    change(at - 1, object)
                });
                Arc::new(Candidates {
                    said: layer.said,
                    ..Candidates::new(objects.collect())
                })
            })
            .collect();
        Candidates::layered(layers).with_unfetched(self.unfetched.clone())
    }

    /// The sets that these are made of, in their order: themselves, where they are made of one.
    pub fn layers(&self) -> impl Iterator<Item = &Candidates> {
        let own = self.layers.is_empty().then_some(self);
        own.into_iter().chain(self.layers.iter().map(Arc::as_ref))
    }

    /// Returns their number.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The objects, in registry order.
    pub fn objects(&self) -> &[Arc<ContextObject>] {
        self.shared_objects()
    }

    pub(crate) fn shared_objects(&self) -> &Arc<[Arc<ContextObject>]> {
        self.objects.get_or_init(|| {
            let all = self.layers.iter().flat_map(|layer| layer.objects());
            all.cloned().collect()
        })
    }

    /// The object at this place, found without putting all together.
    pub(crate) fn object(&self, at: usize) -> Option<&Arc<ContextObject>> {
        let mut rest = at;
        for layer in self.layers() {
            match layer.objects().get(rest) {
                Some(object) => return Some(object),
                None => rest -= layer.len(),
            }
        }
        None
    }

    /// The bytes of the longest content that may be condensed: of results of tools, and of data other than what
    /// was said in a conversation.
    pub fn longest_data(&self) -> usize {
        *self.longest_data.get_or_init(|| {
            if self.layers.is_empty() {
                let revisions = self.objects().iter().map(|object| object.revision());
                let data = revisions.filter(|revision| may_be_condensed(revision));
                data.map(|data| data.content().len()).max().unwrap_or(0)
            } else {
                let layers = self.layers.iter();
                layers.map(|layer| layer.longest_data()).max().unwrap_or(0)
            }
        })
    }

    /// The tools among them, in registry order.
    pub fn tools(&self) -> &[Arc<ContextObject>] {
        self.tools.get_or_init(|| {
            if self.layers.is_empty() {
                self.objects()
                    .iter()
                    .filter(|object| object.revision().tool().is_some())
                    .cloned()
                    .collect()
            } else {
                self.layers.iter().flat_map(|layer| layer.tools()).cloned().collect()
            }
        })
    }

    /// Returns the sources that were not fetched.
    pub fn unfetched(&self) -> &[Unfetched] {
        &self.unfetched
    }

    /// The digest of everything in them that a compile may depend on.
    pub fn digest(&self) -> Digest {
        self.normalized().digest()
    }

    /// The passages of their texts, made when they are first asked for.
    pub fn passages(&self) -> &Passages {
        self.passages.get_or_init(|| Passages::of(self))
    }

    fn passage_layer(&self) -> &Arc<PassageLayer> {
        self.passage_layer.get_or_init(|| {
            let known = self.known_vectors.clone();
            Arc::new(PassageLayer::of(self.shared_objects(), known))
        })
    }

    /// These candidates as rows, made when they are first asked for.
    pub(crate) fn normalized(&self) -> &Normalized {
        self.normalized.get_or_init(|| {
            let unfetched = self.unfetched.clone();
            if self.layers.len() > 1 {
                let layers = self.layers.iter().map(|layer| layer.normalized());
                Normalized::joined(layers, unfetched)
            } else {
                Normalized::of(Arc::clone(self.shared_objects()), self.said, unfetched)
            }
        })
    }
}

/// Returns whether it is what a tool returned, or data that no one said: its content may be made shorter.
fn may_be_condensed(revision: &Revision) -> bool {
    match revision.object_type() {
        ObjectType::ToolResult => true,
        ObjectType::Turn => false,
        _ => revision.authority_level() == Authority::Data,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{ObjectDocument, Role};

    #[test]
    fn what_was_said_is_never_condensed_and_so_is_not_the_longest() {
        let object = |object_type, content: &str| {
            let mut document = ObjectDocument::named(content, content);
            document.object_type = Some(object_type);
            match object_type {
                ObjectType::Turn => document.role = Some(Role::User),
                ObjectType::ToolResult => document.tool_call_id = Some("call-1".to_owned()),
                _ => {}
            }
            document.seal_stored().unwrap()
        };
        let turn = object(ObjectType::Turn, "a long request");
        let result = object(ObjectType::ToolResult, "a result");
        let data = object(ObjectType::RetrievedPassage, "a passage");
        let longest = |objects: &[&Arc<ContextObject>]| {
            let objects = objects.iter().map(|object| Arc::clone(object)).collect();
            Candidates::new(objects).longest_data()
        };
        assert_eq!(longest(&[&turn]), 0);
        assert_eq!(longest(&[&turn, &result]), "a result".len());
        assert_eq!(longest(&[&turn, &result, &data]), "a passage".len());
    }
}
