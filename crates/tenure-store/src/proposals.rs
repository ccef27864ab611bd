//! What waits for a person, of all kinds, each with the command that decides it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tenure::Error;
use tenure::object::{
    ContradictionStatus, Lifecycle, ObjectId, ObjectType, RetirementRule, Sealer,
};
use tenure::time::Instant;

use crate::conflicts::Conflict;
use crate::labels::{Sees, open_objects};
use crate::stored::read_revision;
use crate::sweep::Awaiting;
use crate::tenant::Tenant;

/// The kind of a proposal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WaitingKind {
    /// An outcome or a correction, which a person accepts or rejects.
    Outcome,
    /// Something that was inferred, which a person confirms or retracts.
    Inferred,
    /// An object that is too old by its own rule, which a person confirms or retracts.
    Confirmation,
    /// An object that its own rule would have erased.
    Erasure,
    /// An entity of which a person says which one it is.
    Entity,
    /// Two claims of which a person says which one stands.
    Conflict,
    /// An object that was made from something that has changed since: it is to be made anew.
    Stale,
}

/// Something that waits for a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Waiting {
    /// Its kind.
    pub kind: WaitingKind,
    /// The object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_id: Option<ObjectId>,
    /// The other object, of a conflict; of what is stale, the one that has changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_id: Option<ObjectId>,
    /// The id of the entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// The name.
    pub name: String,
    /// The type of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_type: Option<ObjectType>,
    /// The rule for when the object is of no more use: `hard_delete` proposes that it is erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<RetirementRule>,
    /// The instant since which it waits, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Instant>,
    /// The command that decides it.
    pub decide: String,
}

impl Tenant {
    /// Everything that waits for a person: what awaits confirmation, entities, conflicts that nothing decides, and what
    /// is stale. A caller is told of what may be seen.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn proposals(&self, sees: Option<&Sees<'_>>) -> Result<Vec<Waiting>, Error> {
        let mut all: Vec<Waiting> = self.awaiting(sees)?.into_iter().map(awaiting).collect();
        let entities = self.entities(sees)?.into_iter().filter(|one| one.pending);
        all.extend(entities.map(|one| Waiting {
            kind: WaitingKind::Entity,
            object_id: None,
            other_id: None,
            decide: format!(
                "tenure entity review {} --same-as ID (or --new)",
                word(&one.id)
            ),
            entity: Some(one.id),
            name: one.profile.name,
            object_type: None,
            rule: None,
            since: None,
        }));
        let conflicts = self.conflicts(None, sees)?.into_iter();
        let waiting = conflicts.filter(|one| !one.actions.is_empty());
        all.extend(waiting.map(conflict));
        all.extend(self.stale(sees)?);
        Ok(all)
    }

    /// The objects that are left out of compiles because something that they were made from was written or judged since, or does
    /// not stand: as a compile has it, of what is believed now.
    fn stale(&self, sees: Option<&Sees<'_>>) -> Result<Vec<Waiting>, Error> {
        self.read(|rows| {
            let mut sealer = Sealer::default();
            let mut opened: BTreeMap<ObjectId, Instant> = BTreeMap::new();
            let mut fell: BTreeSet<ObjectId> = BTreeSet::new();
            let mut made: Vec<Made> = Vec::new();
            rows.each_held(None, &mut |_, row, body| {
                if row.lifecycle != Lifecycle::Active {
                    return Ok(());
                }
                let latest = opened.entry(row.object).or_insert(row.opened.at);
                *latest = (*latest).max(row.opened.at);
                if row.contradiction != ContradictionStatus::Clean {
                    fell.insert(row.object);
                }
                // What is damaged is reported by the check.
                let Ok(object) = read_revision(&mut sealer, row.revision, body) else {
                    return Ok(());
                };
                let revision = object.revision();
                if !revision.derived_from().is_empty() {
                    made.push(Made {
                        id: row.object,
                        name: object.name().to_owned(),
                        object_type: revision.object_type(),
                        at: row.opened.at,
                        parents: revision.derived_from().to_vec(),
                        has_path: serde_json::from_str::<Kept>(body)
                            .is_ok_and(|kept| kept.update_path.is_some()),
                    });
                }
                Ok(())
            })?;
            // What may not be seen changes nothing in what is told of the rest.
            let parents = made.iter().flat_map(|one| &one.parents);
            let ids: BTreeSet<ObjectId> = made
                .iter()
                .map(|one| one.id)
                .chain(parents.copied())
                .collect();
            let open = open_objects(rows, &self.name, ids.into_iter().collect(), sees)?;
            let open: BTreeSet<ObjectId> = open.into_iter().collect();
            made.retain(|one| open.contains(&one.id));
            opened.retain(|id, _| open.contains(id));
            fell.retain(|id| open.contains(id));
            let mut stale: BTreeMap<ObjectId, Waiting> = BTreeMap::new();
            // What was made from something stale is stale, so it is looked for until nothing more is.
            loop {
                let before = stale.len();
                for one in &made {
                    if stale.contains_key(&one.id) || fell.contains(&one.id) {
                        continue;
                    }
                    if let Some(of) = one.changed(&opened, &fell, &stale) {
                        stale.insert(one.id, one.proposal(of));
                    }
                }
                if stale.len() == before {
                    break;
                }
            }
            Ok(stale.into_values().collect())
        })
    }
}

/// The field of a revision's body that says where newer versions come from.
#[derive(Deserialize)]
struct Kept {
    update_path: Option<String>,
}

/// An object that was made from others.
struct Made {
    id: ObjectId,
    name: String,
    object_type: ObjectType,
    at: Instant,
    parents: Vec<ObjectId>,
    /// True if it says where newer versions of it come from.
    has_path: bool,
}

impl Made {
    /// The parent that has changed since, or does not stand.
    fn changed(
        &self,
        opened: &BTreeMap<ObjectId, Instant>,
        fell: &BTreeSet<ObjectId>,
        stale: &BTreeMap<ObjectId, Waiting>,
    ) -> Option<ObjectId> {
        let is_down = |id: &ObjectId| fell.contains(id) || stale.contains_key(id);
        let known = || self.parents.iter().filter(|id| **id != self.id);
        let known = || known().filter(|id| opened.contains_key(id));
        // What was inferred stands on what is left.
        let is_held =
            self.object_type == ObjectType::InferredBelief && known().any(|id| !is_down(id));
        let changed = known().find(|id| {
            if is_down(id) {
                !is_held
            } else {
                opened.get(id).is_some_and(|at| self.at < *at)
            }
        });
        changed.copied()
    }

    fn proposal(&self, of: ObjectId) -> Waiting {
        let decide = if self.has_path {
            format!("tenure store refresh {}", self.id)
        } else {
            format!("tenure store put FILE --derived-from {of}")
        };
        Waiting {
            kind: WaitingKind::Stale,
            object_id: Some(self.id),
            other_id: Some(of),
            entity: None,
            name: self.name.clone(),
            object_type: Some(self.object_type),
            rule: None,
            since: None,
            decide,
        }
    }
}

/// An object that awaits a person, as a proposal.
fn awaiting(one: Awaiting) -> Waiting {
    let id = one.object_id;
    let (kind, decide) = match (one.object_type, one.rule) {
        (ObjectType::Outcome, _) => (
            WaitingKind::Outcome,
            format!("tenure outcome accept {id} --by WHO"),
        ),
        (_, RetirementRule::HardDelete) => {
            (WaitingKind::Erasure, format!("tenure store erase {id}"))
        }
        (ObjectType::InferredBelief, _) => {
            (WaitingKind::Inferred, format!("tenure store confirm {id}"))
        }
        _ => (
            WaitingKind::Confirmation,
            format!("tenure store confirm {id}"),
        ),
    };
    Waiting {
        kind,
        object_id: Some(id),
        other_id: None,
        entity: None,
        name: one.name,
        object_type: Some(one.object_type),
        rule: Some(one.rule),
        since: Some(one.since),
        decide,
    }
}

/// A conflict, as a proposal.
fn conflict(one: Conflict) -> Waiting {
    let (first, second) = (one.first.object_id, one.second.object_id);
    Waiting {
        kind: WaitingKind::Conflict,
        object_id: Some(first),
        other_id: Some(second),
        entity: Some(one.entity),
        name: format!("{} and {}", one.first.name, one.second.name),
        object_type: None,
        rule: None,
        since: Some(one.tx_start),
        decide: format!("tenure conflicts resolve {first} {second} --stands first|second"),
    }
}

/// A word for a shell.
fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._:/@-".contains(c);
    if !text.starts_with('-') && !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
