//! Views of a store's objects and of models, the same on every face.

use crate::job::whole_name;
use serde::Serialize;
use tenure::catalogue::{Catalogue, Model, Origin};
use tenure::error::nearest;
use tenure::object::{Lifecycle, ObjectId, RevisionId, SourceKind, clip};
use tenure::time::Instant;
use tenure::{CountKind, Error, ObjectDocument};
use tenure_store::{StoredObject, Tenant};

/// A belief: the object as it is published, and what is believed of it.
#[derive(Debug, Serialize)]
pub struct Belief {
    /// The revision.
    pub revision: RevisionId,
    /// The stage of its life.
    pub lifecycle: Lifecycle,
    /// The version of the write that opened it.
    pub opened: u64,
    /// The version of the write that closed it.
    pub closed: Option<u64>,
    /// Since when it is believed.
    pub tx_start: Option<Instant>,
    /// Until when.
    pub tx_end: Option<Instant>,
    /// Since when it is held to be true.
    pub held_from: Option<Instant>,
    /// Until when.
    pub held_until: Option<Instant>,
    /// The kind of its source, as far as its authority bears that out; what it says itself stands in its provenance.
    #[serde(skip)]
    pub source_kind: SourceKind,
    /// The object.
    pub object: ObjectDocument,
}

impl Belief {
    /// The view of an object of a store.
    ///
    /// # Errors
    ///
    /// As [`ContextObject::to_document`](tenure::ContextObject::to_document).
    pub fn of(stored: &StoredObject) -> Result<Belief, Error> {
        let mut object = stored.object.to_document()?;
        object.tx_start = None;
        object.tx_end = None;
        let valid = stored.object.valid();
        let transaction = stored.object.status().transaction;
        Ok(Belief {
            revision: stored.object.revision().id(),
            lifecycle: stored.lifecycle,
            opened: stored.opened,
            closed: stored.closed,
            tx_start: transaction.from,
            tx_end: transaction.until,
            held_from: valid.from,
            held_until: valid.until,
            source_kind: stored.object.revision().source_kind(),
            object,
        })
    }
}

impl Belief {
    /// The view for a reader from whom other objects may be hidden: it names none of them by their ids.
    #[must_use]
    pub fn by_itself(mut self) -> Belief {
        self.object.derived_from.clear();
        self.object.supersession_link = None;
        self
    }
}

/// The object of this id, or the only one of this name.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is none, or when several have the name;
/// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
pub fn object_id(tenant: &Tenant, named: &str) -> Result<ObjectId, Error> {
    if let Ok(id) = named.parse() {
        return Ok(id);
    }
    let ids = tenant.named(named)?;
    match ids.as_slice() {
        [id] => Ok(*id),
        [] => {
            let resident = tenant.load()?;
            let objects = resident.candidates().objects();
            let names = || objects.iter().map(|object| object.name());
            let whole = whole_name(names(), named);
            if whole != named {
                return object_id(tenant, whole);
            }
            let error = Error::input(format!(
                "`{}` holds no object named `{}`",
                clip(tenant.name()),
                clip(named)
            ));
            Err(match nearest(named, names()) {
                Some(near) => error.hint(format!("did you mean `{near}`?")),
                None => error.hint("`tenure store list` shows what there is"),
            })
        }
        several => {
            let ids: Vec<String> = several.iter().map(ObjectId::to_string).collect();
            Err(Error::input(format!(
                "{} objects are named `{}`",
                several.len(),
                clip(named)
            ))
            .expected(format!("the id of one: {}", ids.join(", "))))
        }
    }
}

/// An error that calls objects as whoever asked did, where it has their ids.
#[must_use]
pub fn as_named(mut error: Error, named: &[(ObjectId, &str)]) -> Error {
    for (id, name) in named {
        error.what = error.what.replace(&id.to_string(), &clip(name));
    }
    error
}

/// The view of a model of the catalogue.
#[derive(Debug, Serialize)]
pub struct KnownModel<'c> {
    /// Its name.
    pub name: &'c str,
    /// The kind of a count of a plain text.
    pub counts: CountKind,
    /// The entry of the catalogue.
    #[serde(flatten)]
    pub model: &'c Model,
    /// The memory of the keys and values of a full window, in bytes.
    pub kv_window_bytes: Option<u128>,
    /// The origin of the entry.
    pub origin: &'c Origin,
}

impl<'c> KnownModel<'c> {
    /// Finds a model in a catalogue.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is no such model; the nearest is
    /// offered.
    pub fn of(catalogue: &'c Catalogue, name: &'c str) -> Result<KnownModel<'c>, Error> {
        let model = catalogue.model(name)?;
        Ok(KnownModel {
            name,
            counts: match model.margin_percent {
                0 => CountKind::Exact,
                _ => CountKind::Bounded,
            },
            model,
            kv_window_bytes: model.kv.map(|kv| kv.bytes_for(u64::from(model.window))),
            origin: catalogue.origin(name)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_by_itself_names_no_other_object() {
        let other: ObjectId = "0198a000-0000-7000-8000-000000000001".parse().unwrap();
        let mut object = ObjectDocument::named("made", "It was made of another.");
        let revision = object.clone().seal().unwrap().revision().id();
        object.derived_from = vec![other];
        object.supersession_link = Some(other);
        let belief = Belief {
            revision,
            lifecycle: Lifecycle::Active,
            opened: 1,
            closed: None,
            tx_start: None,
            tx_end: None,
            held_from: None,
            held_until: None,
            source_kind: SourceKind::Agent,
            object,
        };
        let json = |belief: &Belief| serde_json::to_string(belief).unwrap();
        assert_eq!(json(&belief).matches(&other.to_string()).count(), 2);
        assert!(!json(&belief.by_itself()).contains(&other.to_string()));
    }
}
