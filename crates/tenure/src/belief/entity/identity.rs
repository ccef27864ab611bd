//! The meanings of entities' ids, as a compile is told of them: ids alone, and none that its caller may not know.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_ALIAS, RelationType};
use crate::base::error::Error;
use crate::base::text::clip;
use crate::belief::claim::folded;
use crate::object::RevisionId;

/// The most names by which a task names entities.
const MOST_NAMED: usize = 4_096;

/// An entity that another is next to in the graph of entities.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    /// The relation of the one to it: `parent` where the one holds it.
    pub relation: RelationType,
    /// Its id, a canonical one.
    pub id: String,
}

/// The part of the registry of entities that is about one id: another that it means, or that nobody has decided yet; whether
/// the task names it, and what it is next to.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The id.
    pub id: String,
    /// The canonical id, where it was merged into another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<String>,
    /// True if it waits for a person, or what it means does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
    /// The names by which the task names it, in lower case. One that the task does not have as whole words counts for nothing,
    /// and one that means several entities means none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// The entities that it is next to. One that means another names none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<Neighbour>,
    /// The revisions whose texts mention it, as that was bound when they were stored. It changes nothing but what their verdicts
    /// say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mentioned_by: Vec<RevisionId>,
}

/// The meanings of ids, ready to be asked for. What is not among them means itself.
#[derive(Clone, Default, Debug)]
pub struct Identities {
    canonical: BTreeMap<String, String>,
    pending: BTreeSet<String>,
    /// The ids that a name of the task means.
    named: BTreeMap<String, BTreeSet<String>>,
    /// The relation of each id to each that it is next to, in both directions.
    near: BTreeMap<String, BTreeMap<String, RelationType>>,
    /// The ids that the text of a revision mentions.
    mentions: BTreeMap<RevisionId, BTreeSet<String>>,
}

impl Identities {
    /// These, ready.
    pub fn of(identities: &[Identity]) -> Identities {
        let mut all = Identities::default();
        for one in identities {
            if let Some(means) = &one.means {
                all.canonical.insert(one.id.clone(), means.clone());
            }
            if one.pending {
                all.pending.insert(one.id.clone());
            }
        }
        for one in identities {
            let id = all.canonical(&one.id).to_owned();
            for name in &one.named {
                let ids = all.named.entry(folded(name)).or_default();
                ids.insert(id.clone());
            }
            for other in &one.near {
                let to = all.canonical(&other.id).to_owned();
                if to == id {
                    continue;
                }
                let near = all.near.entry(id.clone()).or_default();
                near.insert(to.clone(), other.relation);
                let near = all.near.entry(to).or_default();
                near.entry(id.clone()).or_insert(other.relation.inverse());
            }
            for revision in &one.mentioned_by {
                let mentions = all.mentions.entry(*revision).or_default();
                mentions.insert(id.clone());
            }
        }
        all.named.remove("");
        all
    }

    /// The names of the task, folded, each with the ids that it means.
    pub fn named(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.named
    }

    /// The ids that this one is next to, each with the relation of this one to it.
    pub fn near(&self, id: &str) -> impl Iterator<Item = (&str, RelationType)> {
        let near = self.near.get(id).into_iter().flatten();
        near.map(|(id, relation)| (id.as_str(), *relation))
    }

    /// The canonical ids of the entities that the text of a revision mentions.
    pub fn mentions(&self, revision: RevisionId) -> impl Iterator<Item = &str> {
        let mentions = self.mentions.get(&revision).into_iter().flatten();
        mentions.map(String::as_str)
    }

    /// Returns whether any id is next to another.
    pub fn relates_any(&self) -> bool {
        !self.near.is_empty()
    }

    /// The relation of one id to another, both canonical; none where they are not next to each other.
    pub fn relation(&self, id: &str, to: &str) -> Option<RelationType> {
        self.near.get(id)?.get(to).copied()
    }

    /// Checks that each id is named once and means one that means itself, and that what is named by the task or is next to others
    /// means itself.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with the id that does not.
    pub fn check(identities: &[Identity]) -> Result<(), Error> {
        if identities.is_empty() {
            return Ok(());
        }
        let names: usize = identities.iter().map(|one| one.named.len()).sum();
        let longest = identities.iter().flat_map(|one| &one.named).map(String::len).max();
        if names > MOST_NAMED || longest.is_some_and(|length| length > 4 * MAX_ALIAS) {
            return Err(Error::input(
                "the entities of the request have too many or too long names in `named`",
            )
            .expected(format!(
                "at most {MOST_NAMED} names of {MAX_ALIAS} characters"
            )));
        }
        let mut known = BTreeSet::new();
        for one in identities {
            if !known.insert(one.id.as_str()) {
                let what = format!("the entity `{}` is named twice", clip(&one.id));
                return Err(Error::input(what).expected("each id once"));
            }
        }
        let all = Identities::of(identities);
        for (id, means) in &all.canonical {
            if means.trim().is_empty() || all.canonical.contains_key(means) {
                let what = format!(
                    "the entity `{}` means `{}`, which is no canonical id",
                    clip(id),
                    clip(means)
                );
                return Err(Error::input(what).expected("the id of an entity that means itself"));
            }
        }
        for one in identities {
            let mut named = std::iter::once(&one.id).chain(one.near.iter().map(|near| &near.id));
            let is_joined = !one.named.is_empty() || !one.near.is_empty();
            if is_joined && let Some(id) = named.find(|id| all.canonical.contains_key(*id)) {
                let what = format!("the entity `{}` means another", clip(id));
                return Err(Error::input(what)
                    .expected("`named` and `near` of entities that mean themselves")
                    .hint("name the entity that it means"));
            }
            if let Some(near) = one.near.iter().find(|near| near.id == one.id) {
                let what = format!("the entity `{}` is next to itself", clip(&near.id));
                return Err(Error::input(what).expected("another entity in `near`"));
            }
        }
        Ok(())
    }

    /// Returns whether every id means itself.
    pub fn is_empty(&self) -> bool {
        self.canonical.is_empty() && self.pending.is_empty()
    }

    /// The canonical id of an id.
    pub fn canonical<'i>(&'i self, id: &'i str) -> &'i str {
        self.canonical.get(id).map_or(id, String::as_str)
    }

    /// Returns whether a person has to say which entity an id is.
    pub fn is_pending(&self, id: &str) -> bool {
        self.pending.contains(id)
    }

    /// The canonical ids of these, each once, in their order; none where each of these means itself.
    pub fn changed(&self, ids: &[String]) -> Option<Vec<String>> {
        if !ids.iter().any(|id| self.canonical.contains_key(id)) {
            return None;
        }
        let mut canonical: Vec<String> = Vec::with_capacity(ids.len());
        for id in ids.iter().map(|id| self.canonical(id)) {
            if canonical.iter().all(|known| known != id) {
                canonical.push(id.to_owned());
            }
        }
        Some(canonical)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectDocument;

    fn means(id: &str, means: &str) -> Identity {
        Identity {
            id: id.into(),
            means: Some(means.into()),
            ..Identity::default()
        }
    }

    #[test]
    fn each_id_is_named_once_and_means_one_that_means_itself() {
        assert!(Identities::check(&[means("a", "c"), means("b", "c")]).is_ok());
        for wrong in [
            [means("a", "b"), means("a", "c")],
            [means("a", "b"), means("b", "c")],
            [means("a", "b"), means("b", "a")],
            [means("a", "a"), means("b", "c")],
            [means("a", " "), means("b", "c")],
        ] {
            assert!(Identities::check(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_texts_mention_is_known_by_its_canonical_id_and_moves_nothing() {
        let [revision, other] = ["a", "b"].map(|text| {
            let object = ObjectDocument::rule("note", text).seal().unwrap();
            object.revision().id()
        });
        let mentioned = |id: &str| Identity {
            id: id.into(),
            mentioned_by: vec![revision],
            ..Identity::default()
        };
        let mut all = vec![mentioned("c"), mentioned("x")];
        let of = Identities::of(&all);
        assert!(of.is_empty() && of.named().is_empty() && !of.relates_any());
        all.push(Identity {
            means: Some("c".into()),
            ..mentioned("a")
        });
        Identities::check(&all).unwrap();
        let of = Identities::of(&all);
        assert_eq!(of.mentions(revision).collect::<Vec<_>>(), ["c", "x"]);
        assert_eq!(of.mentions(other).count(), 0);
    }

    #[test]
    fn ids_that_mean_one_are_one() {
        let all = Identities::of(&[means("a", "c"), means("b", "c")]);
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        assert_eq!(all.changed(&ids(&["b", "x", "a"])), Some(ids(&["c", "x"])));
        assert_eq!(all.changed(&ids(&["c", "x"])), None);
    }
}
