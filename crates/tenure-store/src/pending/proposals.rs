//! Work that waits for a person, of all kinds, each with the command that decides it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use tenure::Error;
use tenure::belief::GateRefusal;
use tenure::object::{
    ContradictionStatus, ObjectId, ObjectType, OutcomeState, RetirementRule, RevisionId, Sealer,
};
use tenure::time::Instant;

use crate::belief::conflicts::{Conflict, ConflictQuery};
use crate::belief::expiry::weakened;
use crate::belief::stale::{AT_ONCE, Stale, stale};
use crate::belief::sweep::{Awaiting, HardDelete};
use crate::rows::engine::BeliefRow;
use crate::rows::labels::{Sees, open, open_objects};
use crate::rows::stored::read_revision;
use crate::tenant::handle::Tenant;

/// The tenant that a command means which names none.
const DEFAULT: &str = "local";

/// The kind of a proposal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, JsonSchema)]
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
    /// An object that was judged along with what it was made from, which is clean again.
    Judged,
    /// A belief of which evidence is over: the next sweep lowers it, or ends it.
    Weakened,
}

/// Something that waits for a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Waiting {
    /// Its kind.
    pub kind: WaitingKind,
    /// The object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object_id: Option<ObjectId>,
    /// The other object, of a conflict; of what is stale, the one that has changed; of what was judged along with another, that one; of
    /// what was inferred, a preference that says otherwise, which it would take the place of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_id: Option<ObjectId>,
    /// The id of the entity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entity: Option<String>,
    /// The name of that preference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_name: Option<String>,
    /// The reason for which what was inferred, or was made from something that waits, waits as things stand now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<GateRefusal>,
    /// The revisions of an object that wait: each can be decided on by itself, and without a word on it all of them are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<RevisionId>,
    /// The text of each of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
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
    /// A command that decides it. Where it names `FILE.json`, that is the object as it is to read now, with its `object_id`; `"$USER"` is who decides.
    pub decide: String,
    /// The commands that decide it otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub otherwise: Vec<String>,
}

impl Waiting {
    /// Something that waits, of which no more is known than its kind and name, and the command that decides it.
    fn new(kind: WaitingKind, name: String, decide: String) -> Waiting {
        Waiting {
            kind,
            object_id: None,
            other_id: None,
            entity: None,
            other_name: None,
            why: None,
            revisions: Vec::new(),
            texts: Vec::new(),
            name,
            object_type: None,
            rule: None,
            since: None,
            decide,
            otherwise: Vec::new(),
        }
    }

    /// Adds an option at the end of each command, such as `--store` where another store is meant.
    #[must_use]
    pub fn with_option(mut self, option: &str, value: &str) -> Waiting {
        for command in self.otherwise.iter_mut().chain([&mut self.decide]) {
            command.push_str(&format!(" {option} {}", word(value)));
        }
        self
    }
}

impl Tenant {
    /// Everything that waits for a person at this instant: what awaits confirmation, entities, conflicts that nothing
    /// decides, what is stale, beliefs of which evidence is over, and what was judged along with something that is clean again. A caller is told of what may be seen.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn proposals(&self, now: Instant, sees: Option<&Sees<'_>>) -> Result<Vec<Waiting>, Error> {
        let outcomes = self.outcomes(sees)?.into_iter();
        let proposed: BTreeSet<ObjectId> = outcomes
            .filter(|one| one.state == OutcomeState::Proposed)
            .map(|one| one.object_id)
            .collect();
        let waits = self.awaiting(now, sees)?;
        let erased: Vec<ObjectId> = waits
            .iter()
            .filter(|one| one.rule == RetirementRule::HardDelete)
            .map(|one| one.object_id)
            .collect();
        let old: BTreeSet<ObjectId> = self
            .too_old_of(Some(&erased), now, HardDelete::Done)?
            .into_iter()
            .map(|old| old.retired.object_id)
            .collect();
        let waits = waits.into_iter();
        let mut all: Vec<Waiting> = waits.map(|one| awaiting(&proposed, &old, one)).collect();
        let entities = self.entities(sees)?.into_iter().filter(|one| one.pending);
        all.extend(entities.map(|one| {
            let id = word(&one.id);
            let same = one
                .candidates
                .iter()
                .map(|other| format!("tenure entity review {id} --same-as {}", word(other)));
            let decide = format!("tenure entity review {id} --new");
            Waiting {
                otherwise: same.collect(),
                entity: Some(one.id),
                ..Waiting::new(WaitingKind::Entity, one.profile.name, decide)
            }
        }));
        let unresolved = ConflictQuery {
            sees,
            waiting: true,
            ..ConflictQuery::default()
        };
        let unresolved = self.conflict_page(&unresolved, usize::MAX)?;
        all.extend(unresolved.conflicts.into_iter().map(conflict));
        let stale = self.stale(now, sees)?;
        let told: BTreeSet<ObjectId> = stale.iter().filter_map(|one| one.object_id).collect();
        all.extend(stale);
        let weakened = self.weakened_seen(now, sees)?.into_iter();
        all.extend(weakened.filter(|one| one.object_id.is_none_or(|id| !told.contains(&id))));
        all.extend(self.judged_along(sees)?);
        if *self.name != *DEFAULT {
            let all_of = all.into_iter();
            all = all_of.map(|one| one.with_option("--tenant", &self.name)).collect();
        }
        Ok(all)
    }

    /// The objects that are left out of compiles because something that they were made from was written or judged since,
    /// does not stand or is over.
    fn stale(&self, now: Instant, sees: Option<&Sees<'_>>) -> Result<Vec<Waiting>, Error> {
        let found = self.read(|rows| stale(rows, &self.name, now, sees))?;
        found.into_iter().map(remake).collect()
    }
}

impl Tenant {
    /// The beliefs that the next sweep lowers or ends, since evidence for them is over.
    fn weakened_seen(&self, now: Instant, sees: Option<&Sees<'_>>) -> Result<Vec<Waiting>, Error> {
        let (found, shown) = self.read(|rows| {
            let found = weakened(rows, now)?;
            let ids: BTreeSet<ObjectId> =
                found.iter().flat_map(|one| [one.object_id, one.over]).collect();
            let shown = open_objects(rows, &self.name, ids.into_iter().collect(), sees)?;
            Ok((found, shown.into_iter().collect::<BTreeSet<_>>()))
        })?;
        let found = found.into_iter().filter(|one| shown.contains(&one.object_id));
        let each = found.map(|one| Waiting {
            object_id: Some(one.object_id),
            other_id: Some(one.over).filter(|over| shown.contains(over)),
            object_type: Some(ObjectType::InferredBelief),
            otherwise: vec![format!("tenure store retract {}", one.object_id)],
            ..Waiting::new(WaitingKind::Weakened, one.name, "tenure store sweep".into())
        });
        Ok(each.collect())
    }

    /// The objects that were judged in the same write as something that they were made from, of which nothing is judged any
    /// more.
    fn judged_along(&self, sees: Option<&Sees<'_>>) -> Result<Vec<Waiting>, Error> {
        self.read(|rows| {
            let mut sealer = Sealer::default();
            let mut found: Vec<(BeliefRow, String, ObjectType, Vec<ObjectId>)> = Vec::new();
            let made = rows.made()?;
            for ids in made.chunks(AT_ONCE) {
                let standing = rows.standing(ids)?.into_values();
                let mut held: Vec<BeliefRow> = standing.flat_map(|one| one.beliefs).collect();
                held.retain(|row| row.contradiction != ContradictionStatus::Clean);
                let held = open(&self.name, held, None, sees)?;
                let bodies = rows.bodies(&held.iter().collect::<Vec<_>>())?;
                for row in held {
                    let body = bodies.get(&row.revision).map_or("", String::as_str);
                    // What is damaged is reported by the check.
                    let Ok(object) = read_revision(&mut sealer, row.revision, body) else {
                        continue;
                    };
                    let revision = object.revision();
                    let (name, of) = (object.name().to_owned(), revision.object_type());
                    let parents = revision.derived_from().to_vec();
                    if !parents.is_empty() {
                        found.push((row, name, of, parents));
                    }
                }
            }
            let parents: BTreeSet<ObjectId> =
                found.iter().flat_map(|(_, _, _, parents)| parents).copied().collect();
            let standing = rows.standing(&parents.into_iter().collect::<Vec<_>>())?;
            let is_clean = |row: &BeliefRow| row.contradiction == ContradictionStatus::Clean;
            let stands = |id: &ObjectId| {
                standing
                    .get(id)
                    .map(|one| &one.beliefs)
                    .is_some_and(|held| !held.is_empty() && held.iter().all(is_clean))
            };
            found.retain(|(_, _, _, parents)| parents.iter().all(stands));
            let parents: BTreeSet<ObjectId> =
                found.iter().flat_map(|(_, _, _, parents)| parents).copied().collect();
            let shown: BTreeSet<ObjectId> =
                open_objects(rows, &self.name, parents.into_iter().collect(), sees)?
                    .into_iter()
                    .collect();
            let mut all: BTreeMap<ObjectId, Waiting> = BTreeMap::new();
            for (row, name, object_type, parents) in found {
                for parent in parents.into_iter().filter(|id| shown.contains(id)) {
                    let history = rows.history(parent)?;
                    let was_judged = history.iter().any(|before| {
                        before.opened.version == row.opened.version
                            && before.contradiction != ContradictionStatus::Clean
                    });
                    if was_judged {
                        let id = row.object;
                        let decide = format!("tenure store judge {id} --status clean");
                        all.entry(id).or_insert_with(|| Waiting {
                            object_id: Some(id),
                            other_id: Some(parent),
                            object_type: Some(object_type),
                            since: Some(row.opened.at),
                            otherwise: vec![format!("tenure store retract {id}")],
                            ..Waiting::new(WaitingKind::Judged, name.clone(), decide)
                        });
                    }
                }
            }
            Ok(all.into_values().collect())
        })
    }
}

/// Proposes to make anew what is stale.
fn remake(Stale { object, of }: Stale) -> Result<Waiting, Error> {
    let document = object.to_document()?;
    let id = object.revision().object_id();
    let from = document.derived_from.iter().map(|parent| format!(" --derived-from {parent}"));
    let put = format!("tenure store put FILE.json{}", from.collect::<String>());
    let retract = format!("tenure store retract {id}");
    let (decide, otherwise) = if document.update_path.is_some() {
        (format!("tenure store refresh {id}"), vec![put, retract])
    } else {
        (put, vec![retract])
    };
    Ok(Waiting {
        object_id: Some(id),
        other_id: Some(of),
        object_type: Some(object.revision().object_type()),
        otherwise,
        ..Waiting::new(WaitingKind::Stale, object.name().to_owned(), decide)
    })
}

/// An object that awaits a person, as a proposal. What is too `old` is to be erased where its own rule says so, whatever it
/// is; what was inferred may wait for another reason, and be young.
fn awaiting(proposed: &BTreeSet<ObjectId>, old: &BTreeSet<ObjectId>, one: Awaiting) -> Waiting {
    let id = one.object_id;
    let (kind, decide, otherwise) = match one.rule {
        _ if proposed.contains(&id) => (
            WaitingKind::Outcome,
            format!("tenure outcome accept {id} --by \"$USER\""),
            format!("tenure outcome reject {id} --by \"$USER\""),
        ),
        RetirementRule::HardDelete if old.contains(&id) => (
            WaitingKind::Erasure,
            format!("tenure store erase {id}"),
            format!("tenure store confirm {id}"),
        ),
        _ => (
            if one.inferred {
                WaitingKind::Inferred
            } else {
                WaitingKind::Confirmation
            },
            format!("tenure store confirm {id}"),
            // What is believed of it stays.
            format!("tenure store retract {id} --waiting"),
        ),
    };
    let over = one.over.into_iter().next();
    Waiting {
        object_id: Some(id),
        other_id: over.as_ref().map(|(other, _)| *other),
        other_name: over.map(|(_, name)| name),
        why: one.why,
        revisions: one.revisions,
        texts: one.texts,
        object_type: Some(one.object_type),
        rule: Some(one.rule),
        since: Some(one.since),
        otherwise: vec![otherwise],
        ..Waiting::new(kind, one.name, decide)
    }
}

/// A conflict, as a proposal.
fn conflict(one: Conflict) -> Waiting {
    let (first, second) = (one.first.object_id, one.second.object_id);
    let stands = |which| format!("tenure conflicts resolve {first} {second} --stands {which}");
    let name = format!("{} and {}", one.first.name, one.second.name);
    Waiting {
        object_id: Some(first),
        other_id: Some(second),
        entity: Some(one.entity),
        since: Some(one.tx_start),
        otherwise: vec![stands("second"), stands("neither")],
        ..Waiting::new(WaitingKind::Conflict, name, stands("first"))
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
