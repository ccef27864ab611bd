//! The registry of a tenant's entities: what its log of operations says, for who may see what each came from.
//!
//! An alias, a relation and a merge come from an object, or from somebody's hand; they act only for who may see that
//! object. A merge leaves both entities as they are and says that the one means the other; a split takes that back.

mod change;
mod graph;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identity::Identity;
use super::profile::{Bound, Mark, Metadata, Profile};
use super::{EntityType, MAX_ALIAS, RelationType};
use crate::base::error::{Error, ErrorKind};
use crate::base::num::Score;
use crate::base::text::clip;
use crate::base::time::Instant;
use crate::belief::claim::folded;
use crate::object::ObjectId;

use self::graph::NameIndex;
pub(crate) use self::graph::mentions;
pub use self::graph::{KnownEntities, NameHit, NamedEntities};

/// The longest id of an entity, in bytes.
const MAX_ID: usize = 256;

/// An operation on the registry, as its log has it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum EntityOp {
    /// A new entity.
    Create {
        /// Its id.
        id: String,
        /// Its canonical name.
        name: String,
        /// Its type.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<EntityType>,
        /// The project that it is of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
        /// Ids and marks.
        #[serde(default)]
        metadata: Metadata,
        /// The confidence that it is one of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        confidence: Option<Score>,
        /// True if it waits for a person to say whether it is one of the candidates.
        #[serde(default)]
        pending: bool,
        /// The entities that it may be.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        candidates: Vec<String>,
    },
    /// Another name.
    Alias {
        /// The entity.
        id: String,
        /// The name.
        alias: String,
    },
    /// A role for a time.
    Role {
        /// The entity.
        id: String,
        /// The role description, as `the CFO`.
        role: String,
        /// The time.
        #[serde(default)]
        held: Bound,
    },
    /// A relation to another entity.
    Relate {
        /// The entity.
        id: String,
        /// The relation.
        relation: RelationType,
        /// The other one.
        to: String,
    },
    /// One entity means another.
    Merge {
        /// The one.
        id: String,
        /// The other.
        into: String,
    },
    /// It does not, after all.
    Split {
        /// The one.
        id: String,
    },
    /// A pending entity is one of its own.
    Confirm {
        /// The entity.
        id: String,
    },
    /// A mark: from now on this one, or none.
    Mark {
        /// The entity.
        id: String,
        /// The mark.
        mark: Mark,
        /// The value; none takes it away.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
    },
    /// Another name is none of its names, whoever gave it.
    RemoveAlias {
        /// The entity.
        id: String,
        /// The name, in any case.
        alias: String,
    },
    /// It has not a role, at any time.
    RemoveRole {
        /// The entity.
        id: String,
        /// The role, in any case.
        role: String,
    },
    /// It has not a relation to another entity, whoever said so.
    RemoveRelation {
        /// The entity.
        id: String,
        /// The relation.
        relation: RelationType,
        /// The other one.
        to: String,
    },
}

impl EntityOp {
    /// The entity that it is about.
    pub fn id(&self) -> &str {
        match self {
            EntityOp::Create { id, .. }
            | EntityOp::Alias { id, .. }
            | EntityOp::Role { id, .. }
            | EntityOp::Relate { id, .. }
            | EntityOp::Merge { id, .. }
            | EntityOp::Split { id }
            | EntityOp::Confirm { id }
            | EntityOp::Mark { id, .. }
            | EntityOp::RemoveAlias { id, .. }
            | EntityOp::RemoveRole { id, .. }
            | EntityOp::RemoveRelation { id, .. } => id,
        }
    }
}

/// An entry of the log.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntityEntry {
    /// The instant.
    pub at: Instant,
    /// The author of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The object that it came from; missing where somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<ObjectId>,
    /// The operation.
    pub does: EntityOp,
}

/// Something that came from an object, or from somebody's hand.
#[derive(Clone, PartialEq, Debug)]
struct Sourced<T> {
    value: T,
    source: Option<ObjectId>,
}

/// Relations to other entities, each with all that it came from: many objects say the same one.
type Relations = BTreeMap<(RelationType, String), BTreeSet<Option<ObjectId>>>;

/// An entity as the log has it.
#[derive(Clone, PartialEq, Debug)]
struct Entity {
    name: String,
    kind: Option<EntityType>,
    project: Option<String>,
    metadata: Metadata,
    confidence: Option<Score>,
    pending: bool,
    candidates: Vec<String>,
    source: Option<ObjectId>,
    aliases: Vec<Sourced<String>>,
    roles: Vec<Sourced<(String, Bound)>>,
    relations: Relations,
    /// The entity that it means.
    means: Option<Sourced<String>>,
}

/// Says of an object whether it may be seen.
pub type SeesObject<'s> = dyn Fn(ObjectId) -> bool + 's;

/// The entities of a tenant.
///
/// ```
/// use tenure::belief::entity::{Entities, EntityEntry, EntityOp};
/// let entry = |op: &str| EntityEntry {
///     at: "2026-06-06".parse().unwrap(),
///     by: Some("ada".into()),
///     source: None,
///     does: serde_json::from_str::<EntityOp>(op).unwrap(),
/// };
/// let mut entities = Entities::default();
/// entities.apply(&entry(r#"{"op": "create", "id": "nova", "name": "Project Nova"}"#))?;
/// entities.apply(&entry(r#"{"op": "create", "id": "helix", "name": "Helix"}"#))?;
/// entities.apply(&entry(r#"{"op": "merge", "id": "helix", "into": "nova"}"#))?;
/// assert_eq!(entities.meant("helix", &|_| true), Some("nova"));
/// assert!(entities.apply(&entry(r#"{"op": "merge", "id": "nova", "into": "helix"}"#)).is_err());
/// entities.apply(&entry(r#"{"op": "split", "id": "helix"}"#))?;
/// assert_eq!(entities.meant("helix", &|_| true), Some("helix"));
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Entities {
    all: BTreeMap<String, Entity>,
    /// The ids of those that mean another.
    merged: BTreeSet<String>,
    /// The ids of those that wait for a person, merged or not.
    waiting: BTreeSet<String>,
    names: NameIndex,
    /// The ids that each was related to, in both directions.
    edges: Arc<BTreeMap<String, BTreeSet<String>>>,
    /// The ids of those that are related by more than a mention.
    kin: BTreeSet<String>,
    /// The ids that were merged into each, and are not split.
    members: BTreeMap<String, BTreeSet<String>>,
}

/// An entity as somebody may see it.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct SeenEntity {
    /// Its id.
    pub id: String,
    /// Everything that is known of it.
    pub profile: Profile,
    /// Its relations, each with the other entity.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<(RelationType, String)>,
    /// The entities that were merged into it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
    /// True if it waits for a person.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
    /// The entities that it may be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<String>,
}

fn conflict(what: String) -> Error {
    Error::new(ErrorKind::Conflict, what)
}

impl Entities {
    /// Applies an entry of the log.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when a name is none; [`ErrorKind::NotFound`] when it speaks of an entity that there is not, or
    /// takes back what was not said;
    /// [`ErrorKind::Conflict`] when the entity is there already, is merged already, or would be merged in a ring. Then
    /// nothing has changed.
    pub fn apply(&mut self, entry: &EntityEntry) -> Result<(), Error> {
        let source = entry.source;
        let id = entry.does.id();
        match &entry.does {
            EntityOp::Create {
                name,
                kind,
                project,
                metadata,
                confidence,
                pending,
                candidates,
                ..
            } => {
                if id.trim().is_empty() || id.len() > MAX_ID {
                    let expected = format!("1 to {MAX_ID} bytes");
                    return Err(
                        Error::input("the id of an entity is empty or too long").expected(expected)
                    );
                }
                check_alias(name)?;
                if self.all.contains_key(id) {
                    return Err(
                        conflict(format!("the entity `{}` is there already", clip(id)))
                            .hint("give it another id, or an alias"),
                    );
                }
                for candidate in candidates {
                    self.known(candidate)?;
                }
                if *pending {
                    self.waiting.insert(id.to_owned());
                }
                self.bear(name, id);
                self.all.insert(
                    id.to_owned(),
                    Entity {
                        name: name.clone(),
                        kind: *kind,
                        project: project.clone(),
                        metadata: metadata.clone(),
                        confidence: *confidence,
                        pending: *pending,
                        candidates: candidates.clone(),
                        source,
                        aliases: Vec::new(),
                        roles: Vec::new(),
                        relations: Relations::new(),
                        means: None,
                    },
                );
            }
            EntityOp::Alias { alias, .. } => {
                check_alias(alias)?;
                let value = alias.clone();
                let entity = self.known_mut(id)?;
                let same = Sourced { value, source };
                if !entity.aliases.contains(&same) {
                    entity.aliases.push(same);
                    self.bear(alias, id);
                }
            }
            EntityOp::Role { role, held, .. } => {
                check_alias(role)?;
                let value = (role.clone(), *held);
                self.known_mut(id)?.roles.push(Sourced { value, source });
                self.bear(role, id);
            }
            EntityOp::Relate { relation, to, .. } => {
                self.known(to)?;
                if to == id {
                    return Err(Error::input("an entity has no relation to itself"));
                }
                let value = (*relation, to.clone());
                let relations = &mut self.known_mut(id)?.relations;
                let is_new = !relations.contains_key(&value);
                relations.entry(value).or_default().insert(source);
                if is_new {
                    self.link(id, *relation, to);
                }
            }
            EntityOp::Merge { into, .. } => {
                self.known(into)?;
                if let Some(means) = &self.known(id)?.means {
                    let means = clip(&means.value);
                    return Err(conflict(format!("`{}` is merged into `{means}`", clip(id)))
                        .hint("split it first"));
                }
                if self.meant(into, &|_| true) == Some(id) {
                    let what = format!("`{}` would be merged into itself", clip(id));
                    return Err(conflict(what).hint("split the other one first"));
                }
                let value = into.clone();
                self.known_mut(id)?.means = Some(Sourced { value, source });
                self.merged.insert(id.to_owned());
                let members = self.members.entry(into.clone()).or_default();
                members.insert(id.to_owned());
            }
            EntityOp::Split { .. } => {
                let entity = self.known_mut(id)?;
                let Some(means) = entity.means.take() else {
                    return Err(conflict(format!("`{}` is not merged", clip(id))));
                };
                self.merged.remove(id);
                if let Some(members) = self.members.get_mut(&means.value) {
                    members.remove(id);
                }
            }
            EntityOp::Confirm { .. } => {
                let entity = self.known_mut(id)?;
                if !entity.pending {
                    let what = format!("`{}` does not wait for anybody", clip(id));
                    return Err(conflict(what));
                }
                entity.pending = false;
                entity.candidates.clear();
                self.waiting.remove(id);
            }
            EntityOp::Mark { mark, value, .. } => {
                let known = self.known_mut(id)?.metadata.mark_mut(*mark);
                if known.is_none() && value.is_none() {
                    let what = format!("`{}` has no {mark}", clip(id));
                    return Err(Error::not_found(what));
                }
                known.clone_from(value);
            }
            EntityOp::RemoveAlias { .. }
            | EntityOp::RemoveRole { .. }
            | EntityOp::RemoveRelation { .. } => self.take_back(&entry.does)?,
        }
        Ok(())
    }

    fn known(&self, id: &str) -> Result<&Entity, Error> {
        self.all.get(id).ok_or_else(|| missing(id))
    }

    fn known_mut(&mut self, id: &str) -> Result<&mut Entity, Error> {
        let found = self.all.get_mut(id);
        found.ok_or_else(|| missing(id))
    }

    /// The entity that an id means for somebody who may see these objects; none where the entity came from an object that
    /// they may not see.
    pub fn meant<'e>(&'e self, id: &'e str, sees: &SeesObject<'_>) -> Option<&'e str> {
        self.walk(id, sees, &mut |_| None)
    }

    /// The entity that this one was merged into, for somebody who may see these objects.
    fn next(&self, entity: &Entity, sees: &SeesObject<'_>) -> Option<(&str, &Entity)> {
        let means = entity.means.as_ref().filter(|means| means.source.is_none_or(sees))?;
        let (id, other) = self.all.get_key_value(&means.value)?;
        other.source.is_none_or(sees).then_some((id, other))
    }

    /// Returns whether there is an id that means another or waits for a person, in whosever view.
    pub fn moves_any(&self) -> bool {
        !self.merged.is_empty() || !self.waiting.is_empty()
    }

    /// Returns whether this id means another or waits for a person, in whosever view.
    pub fn moves(&self, id: &str) -> bool {
        self.merged.contains(id) || self.waiting.contains(id)
    }

    /// The object that an entity came from, which nothing was merged with; none where somebody said so.
    pub fn source_alone(&self, id: &str) -> Option<ObjectId> {
        self.all.get(id)?.source.filter(|_| !self.is_merged(id))
    }

    /// Adds the objects that the meaning of an id came from, whoever may see them.
    pub fn sources_of(&self, id: &str, sources: &mut BTreeSet<ObjectId>) {
        self.sources_of_all([id], sources);
    }

    /// The ids of the entities that mean this one by all that is known, itself among them.
    pub fn members(&self, id: &str) -> BTreeSet<String> {
        self.meaning(id, &|_| true).into_iter().map(str::to_owned).collect()
    }

    /// Adds the objects that anything came from that is known of these ids, and what they are related to, whoever may see
    /// them.
    pub fn sources_about(&self, ids: &BTreeSet<String>, sources: &mut BTreeSet<ObjectId>) {
        for entity in ids.iter().filter_map(|id| self.all.get(id)) {
            sources.extend(entity.source);
            sources.extend(entity.means.iter().filter_map(|means| means.source));
            sources.extend(entity.aliases.iter().filter_map(|alias| alias.source));
            sources.extend(entity.roles.iter().filter_map(|role| role.source));
            for ((_, to), said_by) in &entity.relations {
                sources.extend(said_by.iter().flatten());
                self.sources_of(to, sources);
            }
        }
    }

    /// The entity that an id means to somebody; none where nobody has decided it.
    pub fn decided<'e>(&'e self, id: &'e str, sees: &SeesObject<'_>) -> Option<&'e str> {
        let meant = self.meant(id, sees)?;
        (!self.waiting.contains(meant)).then_some(meant)
    }

    /// The meaning of an id for somebody who may see these objects; none where it means itself.
    pub fn identity(&self, id: &str, sees: &SeesObject<'_>) -> Option<Identity> {
        let meant = self.meant(id, sees)?;
        let pending = self.waiting.contains(meant);
        let means = (meant != id).then(|| meant.to_owned());
        (pending || means.is_some()).then(|| Identity {
            id: id.to_owned(),
            means,
            pending,
            ..Identity::default()
        })
    }

    /// The entities that somebody may see who may see these objects, by id: what was merged stands with the entity that
    /// it means.
    pub fn seen(&self, tenant: &str, sees: &SeesObject<'_>) -> Vec<SeenEntity> {
        let mut members: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for id in self.all.keys() {
            if let Some(meant) = self.meant(id, sees) {
                members.entry(meant).or_default().push(id);
            }
        }
        members
            .into_iter()
            .filter_map(|(id, members)| self.shown(id, &members, tenant, sees))
            .collect()
    }

    /// Those of the entities that these ids mean, as [`Entities::seen`] has them.
    pub fn seen_of(
        &self,
        ids: &BTreeSet<String>,
        tenant: &str,
        sees: &SeesObject<'_>,
    ) -> Vec<SeenEntity> {
        let meant: BTreeSet<&str> = ids.iter().filter_map(|id| self.meant(id, sees)).collect();
        meant
            .into_iter()
            .filter_map(|id| {
                let merged = self.merged.iter().map(String::as_str);
                let mut members: Vec<&str> = merged
                    .filter(|member| *member != id && self.meant(member, sees) == Some(id))
                    .collect();
                members.push(id);
                members.sort_unstable();
                self.shown(id, &members, tenant, sees)
            })
            .collect()
    }

    /// An entity with those that mean it, itself among them.
    fn shown(
        &self,
        id: &str,
        members: &[&str],
        tenant: &str,
        sees: &SeesObject<'_>,
    ) -> Option<SeenEntity> {
        let open = |source: &Option<ObjectId>| source.is_none_or(sees);
        let own = self.all.get(id)?;
        let own_mail = own.metadata.mail.as_ref();
        let mut aliases = BTreeSet::new();
        let mut roles = Vec::new();
        let mut relations = BTreeSet::new();
        for member in members {
            let entity = self.all.get(*member)?;
            if *member != id {
                aliases.insert(entity.name.clone());
                // Whoever was merged with somebody brings an address.
                let mail = entity.metadata.mail.iter();
                aliases.extend(mail.filter(|mail| Some(*mail) != own_mail).cloned());
            }
            let known = entity.aliases.iter().filter(|alias| open(&alias.source));
            aliases.extend(known.map(|alias| alias.value.clone()));
            let known = entity.roles.iter().filter(|role| open(&role.source));
            roles.extend(known.map(|role| role.value.clone()));
            let known = entity.relations.iter();
            for ((kind, to), _) in known.filter(|(_, said_by)| said_by.iter().any(open)) {
                if let Some(to) = self.meant(to, sees).filter(|to| *to != id) {
                    relations.insert((*kind, to.to_owned()));
                }
            }
        }
        aliases.remove(&own.name);
        let candidates = own.candidates.iter().filter_map(|id| self.meant(id, sees));
        Some(SeenEntity {
            id: id.to_owned(),
            profile: Profile {
                name: own.name.clone(),
                aliases: aliases.into_iter().collect(),
                kind: own.kind,
                tenant: tenant.to_owned(),
                project: own.project.clone(),
                roles,
                metadata: own.metadata.clone(),
                neighbours: relations.iter().map(|(_, to)| to.clone()).collect(),
                confidence: own.confidence,
                ..Profile::default()
            },
            relations: relations.into_iter().collect(),
            merged: members
                .iter()
                .filter(|member| **member != id)
                .map(|member| (*member).to_owned())
                .collect(),
            pending: own.pending,
            candidates: candidates.map(str::to_owned).collect(),
        })
    }

    /// Returns whether there is an entity with this id, merged or not.
    pub fn holds(&self, id: &str) -> bool {
        self.all.contains_key(id)
    }

    /// The number of entities.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// Checks that a text can be a name.
pub(super) fn check_alias(name: &str) -> Result<(), Error> {
    let letters = folded(name).chars().take(MAX_ALIAS + 1).count();
    let visible = name.chars().all(|c| !c.is_control());
    if !(1..=MAX_ALIAS).contains(&letters) || !visible {
        let what = if letters == 0 {
            "a name of an entity is empty".to_owned()
        } else {
            format!("`{}` is no name of an entity", clip(name))
        };
        return Err(Error::input(what).expected(format!("1 to {MAX_ALIAS} printable characters")));
    }
    Ok(())
}

/// The error for an id that no entity has.
fn missing(id: &str) -> Error {
    Error::not_found(format!("there is no entity `{}`", clip(id)))
        .hint("`tenure entity list` shows those that there are")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(source: Option<u128>, does: EntityOp) -> EntityEntry {
        EntityEntry {
            at: Instant::from_micros(0),
            by: None,
            source: source.map(ObjectId::from_bits),
            does,
        }
    }

    fn create(id: &str) -> EntityOp {
        EntityOp::Create {
            id: id.into(),
            name: format!("the {id}"),
            kind: None,
            project: None,
            metadata: Metadata::default(),
            confidence: None,
            pending: false,
            candidates: Vec::new(),
        }
    }

    fn merge(id: &str, into: &str) -> EntityOp {
        EntityOp::Merge {
            id: id.into(),
            into: into.into(),
        }
    }

    fn made(ids: &[&str]) -> Entities {
        let mut entities = Entities::default();
        for id in ids {
            entities.apply(&entry(None, create(id))).unwrap();
        }
        entities
    }

    #[test]
    fn merges_in_a_ring_are_refused_and_what_was_merged_twice_is_split_step_by_step() {
        let mut entities = made(&["a", "b", "c"]);
        entities.apply(&entry(None, merge("a", "b"))).unwrap();
        entities.apply(&entry(None, merge("b", "c"))).unwrap();
        for (id, into) in [("c", "a"), ("c", "b"), ("c", "c"), ("a", "c")] {
            let refused = entities.apply(&entry(None, merge(id, into))).unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Conflict, "{id} {into}");
        }
        assert_eq!(entities.meant("a", &|_| true), Some("c"));
        let split = |id: &str| entry(None, EntityOp::Split { id: id.into() });
        entities.apply(&split("b")).unwrap();
        assert_eq!(entities.meant("a", &|_| true), Some("b"));
        assert!(entities.apply(&split("b")).is_err());
        entities.apply(&split("a")).unwrap();
        assert_eq!(entities.meant("a", &|_| true), Some("a"));
        assert_eq!(entities.seen("acme", &|_| true).len(), 3);
    }

    #[test]
    fn what_came_from_a_hidden_object_acts_for_nobody_else() {
        let mut entities = made(&["a", "b"]);
        let alias = EntityOp::Alias {
            id: "a".into(),
            alias: "secret name".into(),
        };
        entities.apply(&entry(Some(7), alias)).unwrap();
        entities.apply(&entry(Some(7), merge("b", "a"))).unwrap();
        entities.apply(&entry(Some(7), create("hidden"))).unwrap();
        let all = entities.seen("acme", &|_| true);
        assert_eq!(
            all.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(),
            ["a", "hidden"]
        );
        assert_eq!(all[0].profile.aliases, ["secret name", "the b"]);
        let narrow = entities.seen("acme", &|_| false);
        assert_eq!(narrow, made(&["a", "b"]).seen("acme", &|_| false));
    }

    #[test]
    fn names_are_bounded() {
        let mut entities = made(&["a"]);
        let long = "x".repeat(100_000);
        for alias in ["", " ", "a\nb", long.as_str()] {
            let op = EntityOp::Alias {
                id: "a".into(),
                alias: alias.into(),
            };
            assert_eq!(
                entities.apply(&entry(None, op)).unwrap_err().kind,
                ErrorKind::Input
            );
        }
        assert_eq!(
            entities.apply(&entry(None, create("a"))).unwrap_err().kind,
            ErrorKind::Conflict
        );
        let missing = entities.apply(&entry(None, merge("a", "nobody"))).unwrap_err();
        assert_eq!(missing.kind, ErrorKind::NotFound);
    }

    #[test]
    fn a_hidden_merge_decides_nothing_for_others() {
        let mut entities = made(&["ada"]);
        let EntityOp::Create { name, .. } = create("lovelace") else {
            unreachable!("it creates")
        };
        let waiting = EntityOp::Create {
            id: "lovelace".into(),
            name,
            kind: None,
            project: None,
            metadata: Metadata::default(),
            confidence: None,
            pending: true,
            candidates: vec!["ada".into()],
        };
        entities.apply(&entry(None, waiting)).unwrap();
        let before = entities.clone();
        entities.apply(&entry(Some(7), merge("lovelace", "ada"))).unwrap();
        assert_eq!(
            entities.seen("acme", &|_| false),
            before.seen("acme", &|_| false)
        );
        let pending = |entities: &Entities| {
            let one = entities.identity("lovelace", &|_| false);
            one.map(|one| (one.means, one.pending))
        };
        assert_eq!(pending(&entities), Some((None, true)));
        let all = entities.identity("lovelace", &|_| true).unwrap();
        assert_eq!((all.means.as_deref(), all.pending), (Some("ada"), false));
        assert_eq!(entities.identity("ada", &|_| true), None);
        // What acts for everybody comes from no object.
        for op in [
            EntityOp::Split {
                id: "lovelace".into(),
            },
            EntityOp::Confirm {
                id: "lovelace".into(),
            },
        ] {
            let refused = entry(Some(7), op.clone()).check().unwrap_err();
            assert_eq!(refused.kind, ErrorKind::Input);
            assert!(entry(None, op).check().is_ok());
        }
    }

    // What comes from objects that somebody may not see changes nothing for them, whatever it is.
    fn any_step() -> impl Strategy<Value = (Option<u128>, EntityOp)> {
        let id = || prop::sample::select(vec!["a", "b", "c", "d"]);
        let source = prop::option::of(0u128..4);
        let op = prop_oneof![
            3 => (id(), id()).prop_map(|(id, into)| merge(id, into)),
            1 => (id(), id()).prop_map(|(id, to)| EntityOp::Relate {
                id: id.into(), relation: RelationType::CrossReference, to: to.into() }),
            1 => (id(), id()).prop_map(|(id, to)| EntityOp::Relate {
                id: id.into(), relation: RelationType::Parent, to: to.into() }),
            1 => (id(), id()).prop_map(|(id, other)| EntityOp::Alias { id: id.into(), alias: format!("the {other}, too") }),
        ];
        (source, op)
    }

    proptest! {
        #[test]
        fn nobody_is_told_of_what_they_may_not_see(steps in prop::collection::vec(any_step(), 0..12), hidden in 0u128..4) {
            let ids = ["a", "b", "c", "d"];
            let sees = |id: ObjectId| id != ObjectId::from_bits(hidden);
            let (mut all, mut open) = (made(&ids), made(&ids));
            for (source, op) in steps {
                let source = source.map(ObjectId::from_bits);
                let entry = EntityEntry { source, ..entry(None, op) };
                // What was refused changed nothing, whyever.
                if all.apply(&entry).is_ok() && source.is_none_or(sees) {
                    open.apply(&entry).unwrap();
                }
            }
            prop_assert_eq!(all.seen("acme", &sees), open.seen("acme", &sees));
            let text = "Ask the b, too, of the a, the c.";
            let (hits, fewer) = (all.names_in(text, None), open.names_in(text, None));
            prop_assert_eq!(all.named(&hits, &sees), open.named(&fewer, &sees));
            let mut found = BTreeSet::new();
            all.sources_of_names(&hits, &mut found);
            all.sources_of_relations(&ids.into_iter().collect(), &mut found);
            let (view, fewer) = (all.seen_by(&sees), open.seen_by(&sees));
            for id in ids {
                let near = |view: &KnownEntities<'_>| view.neighbours(id, &|_, _| true);
                prop_assert_eq!(near(&view), near(&fewer));
                prop_assert_eq!(view.meant(id), all.meant(id, &sees));
            }
            // Whoever may see what these came from knows them all.
            if found.iter().all(|id| sees(*id)) {
                prop_assert_eq!(all.named(&hits, &sees), all.named(&hits, &|_| true));
            }
            for id in ids {
                prop_assert_eq!(all.identity(id, &sees), open.identity(id, &sees));
                let mut sources = BTreeSet::new();
                all.sources_of(id, &mut sources);
                // Whoever may see the sources of an id knows what it means.
                if sources.iter().all(|id| sees(*id)) {
                    prop_assert_eq!(all.identity(id, &sees), all.identity(id, &|_| true));
                }
            }
        }

        // Whatever is merged and split, every entity means exactly one that means itself.
        #[test]
        fn no_history_makes_a_ring(steps in prop::collection::vec((0usize..5, 0usize..5, any::<bool>()), 0..30)) {
            let ids = ["a", "b", "c", "d", "e"];
            let mut entities = made(&ids);
            for (id, into, split) in steps {
                let op = if split {
                    EntityOp::Split { id: ids[id].into() }
                } else {
                    merge(ids[id], ids[into])
                };
                let before = entities.all.clone();
                if entities.apply(&entry(None, op)).is_err() {
                    prop_assert_eq!(&entities.all, &before);
                }
                for id in ids {
                    let meant = entities.meant(id, &|_| true).unwrap();
                    prop_assert_eq!(entities.meant(meant, &|_| true), Some(meant));
                }
                let members: usize = entities.seen("t", &|_| true).iter().map(|one| 1 + one.merged.len()).sum();
                prop_assert_eq!(members, ids.len());
            }
        }
    }
}
