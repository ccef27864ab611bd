//! The registry of a tenant's entities, as a log that is only appended to: its history is its audit.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure::belief::entity::{
    EntityEntry, EntityOp, PartWeights, Profile, Resolved, ResolvedMention, SeenEntity, resolve,
};
use tenure::object::{ObjectId, Sealer, Usage, clip};
use tenure::{ContextObject, Digest, Error};

use crate::entity::resolution::{
    LOG, Occasion, decided, entries, folded, mentions_of, resolve_on, weights,
};
use crate::rows::engine::{BeliefRow, Read};
use crate::rows::labels::{Sees, open_objects};
use crate::rows::stored::{believed, read_revision, unwritable};
use crate::tenant::handle::Tenant;
use crate::tenant::writing::{Effect, Outcome, Writing, Written, WrittenObject};

/// The entities that may be seen.
fn seen(
    rows: &mut dyn Read,
    tenant: &str,
    sees: Option<&Sees<'_>>,
) -> Result<Vec<SeenEntity>, Error> {
    let entries = entries(rows)?;
    let sources: BTreeSet<ObjectId> = entries.iter().filter_map(|entry| entry.source).collect();
    let entities = folded(&entries);
    let sources: Vec<ObjectId> = sources.into_iter().collect();
    // What is not believed any more gives nothing.
    let open: BTreeSet<ObjectId> = match sees {
        None => rows.held_labels(&sources)?.into_iter().map(|(id, _)| id).collect(),
        Some(_) => open_objects(rows, tenant, sources, sees)?.into_iter().collect(),
    };
    Ok(entities.seen(tenant, &|id| open.contains(&id)))
}

/// The error for an id that no entity has.
fn missing(id: &str) -> Error {
    Error::not_found(format!("there is no entity `{}`", clip(id)))
        .hint("`tenure entity list` shows those that there are")
}

impl Tenant {
    /// The entities, as a caller may see them: an alias, a relation or a merge acts only for who may see the object that
    /// it came from.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn entities(&self, sees: Option<&Sees<'_>>) -> Result<Vec<SeenEntity>, Error> {
        self.read(|rows| seen(rows, &self.name, sees))
    }

    /// Everything that was ever done to an entity, and to what was merged into it, the oldest first.
    ///
    /// # Errors
    ///
    /// As [`Tenant::entities`]; [`ErrorKind::NotFound`](tenure::ErrorKind::NotFound) when there is no such entity.
    pub fn entity_history(&self, id: &str) -> Result<Vec<EntityEntry>, Error> {
        self.read(|rows| {
            let entries = entries(rows)?;
            let entities = folded(&entries);
            if !entities.holds(id) {
                return Err(missing(id));
            }
            Ok(entries
                .into_iter()
                .filter(|entry| {
                    let about = entry.does.id();
                    about == id || entities.meant(about, &|_| true) == Some(id)
                })
                .collect())
        })
    }

    /// Changes the registry: all of it, or nothing. Each operation names the object that it comes from, or none where
    /// somebody says so. What was said already is not said again.
    ///
    /// # Errors
    ///
    /// As [`tenure::belief::entity::Entities::apply`]; [`ErrorKind::Input`](tenure::ErrorKind::Input) without an operation; [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be
    /// reached.
    pub fn change_entities(
        &self,
        operations: Vec<(EntityOp, Option<ObjectId>)>,
        writing: &Writing,
    ) -> Result<Written, Error> {
        if operations.is_empty() {
            return Err(
                Error::input("there is nothing to change").expected("at least one operation")
            );
        }
        let asked = serde_json::to_vec(&operations).map_err(|error| unwritable(&error))?;
        let author = writing.author.clone();
        self.once_with_effect(writing, "entity", Digest::of(&asked), move |rows| {
            let stamp = rows.stamp()?;
            let mut entities = folded(&entries(rows)?);
            let mut lines = Vec::with_capacity(operations.len());
            for (does, source) in &operations {
                let entry = EntityEntry {
                    at: stamp.at,
                    by: author.clone(),
                    source: *source,
                    does: does.clone(),
                };
                entry.check()?;
                entities.check(does)?;
                let is_said = entities.says(&entry);
                entities.apply(&entry)?;
                if is_said {
                    continue;
                }
                lines.push(serde_json::to_string(&entry).map_err(|error| unwritable(&error))?);
            }
            let last = rows.last(LOG)?;
            if !rows.append(LOG, last, &lines)? {
                return Err(Error::assertion(
                    "the log of entities has one writer at a time",
                ));
            }
            Ok(Effect {
                objects: Vec::new(),
                nothing_changed: lines.is_empty(),
            })
        })
    }

    /// The weights of the parts of a similarity that its writes take: those of the policy that it keeps under the name
    /// `entities`, else those that hold where nothing is said.
    ///
    /// # Errors
    ///
    /// As [`Tenant::entities`].
    pub fn entity_weights(&self) -> Result<PartWeights, Error> {
        self.read(|rows| weights(rows))
    }

    /// Resolves a mention among the entities that a caller may see.
    ///
    /// # Errors
    ///
    /// As [`Tenant::entities`]; [`ErrorKind::Input`](tenure::ErrorKind::Input) when the mention has no name.
    pub fn resolve_entity(
        &self,
        mention: &Profile,
        weights: &PartWeights,
        sees: Option<&Sees<'_>>,
    ) -> Result<Resolved, Error> {
        if mention.name.trim().is_empty() {
            return Err(
                Error::input("the mention is empty").expected("a name, such as `Ada Lovelace`")
            );
        }
        let entities = decided(self.entities(sees)?);
        let mention = Profile {
            tenant: self.name.to_string(),
            ..mention.clone()
        };
        let candidates = entities.iter().map(|one| (one.id.as_str(), &one.profile));
        Ok(resolve(&mention, candidates, weights))
    }

    /// The mentions of an object, each resolved as a write of it would do it now: among the entities that everyone knows who may
    /// see the object, with what it says of its project, its time, its source and its session. Returns whether there are more, too.
    ///
    /// # Errors
    ///
    /// As [`Tenant::entities`]; [`ErrorKind::NotFound`](tenure::ErrorKind::NotFound) when there is no such object.
    pub fn resolve_object(&self, id: ObjectId) -> Result<(Vec<ResolvedMention>, bool), Error> {
        self.read(|rows| {
            let (mut all, mut is_cut) = (Vec::new(), false);
            for object in believed_or_waiting(rows, id)? {
                let (found, more) = mentions_of(rows, &self.name, &object)?;
                is_cut |= more;
                all.extend(found);
            }
            Ok((all, is_cut))
        })
    }

    /// Adds to the registry what a write of this object would add to it now, and says of which entities it speaks: for an object
    /// that was written before they were known.
    ///
    /// # Errors
    ///
    /// As [`Tenant::resolve_object`], and as [`Tenant::change_entities`].
    pub fn resolve_again(&self, id: ObjectId, writing: &Writing) -> Result<Written, Error> {
        let asked = Digest::of(format!("resolve {id}").as_bytes());
        let (tenant, known) = (Arc::clone(&self.name), Arc::clone(&self.known));
        let by = writing.author.clone();
        self.once_with_effect(writing, "entity", asked, move |rows| {
            let own = believed_or_waiting(rows, id)?;
            let objects: Vec<&ContextObject> = own.iter().map(|one| &**one).collect();
            let again = Occasion::Again { by: by.as_deref() };
            let named = resolve_on(again, rows, (&tenant, &known), &objects)?;
            let written = objects.first().map(|object| WrittenObject {
                object_id: id,
                name: Some(object.name().to_owned()),
                revision: Some(object.revision().id()),
                outcome: Outcome::Unchanged,
                note: named.notes.get(&id).cloned(),
            });
            Ok(Effect {
                objects: written.into_iter().collect(),
                nothing_changed: !named.is_new,
            })
        })
    }
}

/// An object as it is believed, or as it waits where nothing is believed of it: of each time for which it is.
fn believed_or_waiting(
    rows: &mut dyn Read,
    id: ObjectId,
) -> Result<Vec<Arc<ContextObject>>, Error> {
    let standing = rows
        .standing(&[id])?
        .remove(&id)
        .ok_or_else(|| Error::not_found(format!("there is no object `{id}`")))?;
    let is_believed = standing.beliefs.iter().any(|row| !row.waits());
    let beliefs: Vec<&BeliefRow> =
        standing.beliefs.iter().filter(|row| row.waits() != is_believed).collect();
    let bodies = rows.bodies(&beliefs)?;
    let mut sealer = Sealer::default();
    beliefs
        .into_iter()
        .map(|row| {
            let body = bodies.get(&row.revision).map_or("", String::as_str);
            let object = read_revision(&mut sealer, row.revision, body)?;
            Ok(believed(&object, row, Usage::default(), None))
        })
        .collect()
}
