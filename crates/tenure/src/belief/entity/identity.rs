//! The meanings of entities' ids, as a compile is told of them: ids alone, and none that its caller may not know.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::error::Error;
use crate::base::text::clip;

/// The meaning of an id, by the registry of entities: another id, or one that nobody has decided yet.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
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
}

/// The meanings of ids, ready to be asked for. What is not among them means itself.
#[derive(Clone, Default, Debug)]
pub struct Identities {
    canonical: BTreeMap<String, String>,
    pending: BTreeSet<String>,
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
        all
    }

    /// Checks that each id is named once and means one that means itself.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with the id that does not.
    pub fn check(identities: &[Identity]) -> Result<(), Error> {
        if identities.is_empty() {
            return Ok(());
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

    fn means(id: &str, means: &str) -> Identity {
        Identity {
            id: id.into(),
            means: Some(means.into()),
            pending: false,
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
    fn ids_that_mean_one_are_one() {
        let all = Identities::of(&[means("a", "c"), means("b", "c")]);
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        assert_eq!(all.changed(&ids(&["b", "x", "a"])), Some(ids(&["c", "x"])));
        assert_eq!(all.changed(&ids(&["c", "x"])), None);
    }
}
