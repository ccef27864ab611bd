//! What waits for a person, of all kinds, each with the command that decides it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use tenure::Error;
use tenure::belief::Loser;
use tenure::object::{
    ContradictionStatus, Lifecycle, ObjectId, ObjectType, OutcomeState, RetirementRule, Sealer,
};
use tenure::time::Instant;

use crate::claims::kept;
use crate::conflicts::{Conflict, ConflictQuery};
use crate::engine::{BeliefRow, PairRow};
use crate::held::waiting;
use crate::labels::{Sees, open_objects};
use crate::stated::in_place_of;
use crate::stored::read_revision;
use crate::sweep::{Awaiting, HardDelete};
use crate::tenant::Tenant;

/// The tenant that a command means which names none.
const DEFAULT: &str = "local";

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
    /// An object that was judged along with what it was made from, which is clean again.
    Judged,
}

/// Something that waits for a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
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
    /// The same, with an option at the end of each command, such as `--store` where another store is meant.
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
    /// decides, what is stale, and what was judged along with something that is clean again. A caller is told of what may be seen.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn proposals(&self, now: Instant, sees: Option<&Sees<'_>>) -> Result<Vec<Waiting>, Error> {
        let outcomes = self.outcomes(sees)?.into_iter();
        let proposed = outcomes.filter(|one| one.state == OutcomeState::Proposed);
        let proposed: BTreeSet<ObjectId> = proposed.map(|one| one.object_id).collect();
        let waits = self.awaiting(sees)?;
        let is_erased = |one: &Awaiting| one.rule == RetirementRule::HardDelete;
        let old: BTreeSet<ObjectId> = if waits.iter().any(is_erased) {
            let old = self.too_old(now, HardDelete::Done)?.into_iter();
            old.map(|old| old.retired.object_id).collect()
        } else {
            BTreeSet::new()
        };
        let waits = waits.into_iter();
        let mut all: Vec<Waiting> = waits.map(|one| awaiting(&proposed, &old, one)).collect();
        self.tell_stated(&mut all, now, sees)?;
        let entities = self.entities(sees)?.into_iter().filter(|one| one.pending);
        all.extend(entities.map(|one| {
            let id = word(&one.id);
            let same = one.candidates.iter();
            let same =
                same.map(|other| format!("tenure entity review {id} --same-as {}", word(other)));
            Waiting {
                kind: WaitingKind::Entity,
                object_id: None,
                other_id: None,
                decide: format!("tenure entity review {id} --new"),
                otherwise: same.collect(),
                entity: Some(one.id),
                name: one.profile.name,
                object_type: None,
                rule: None,
                since: None,
            }
        }));
        let unresolved = ConflictQuery {
            sees,
            waiting: true,
            ..ConflictQuery::default()
        };
        let unresolved = self.conflict_page(&unresolved, usize::MAX)?;
        all.extend(unresolved.conflicts.into_iter().map(conflict));
        all.extend(self.stale(now, sees)?);
        all.extend(self.judged_along(sees)?);
        if *self.name != *DEFAULT {
            let all_of = all.into_iter();
            all = all_of
                .map(|one| one.with_option("--tenant", &self.name))
                .collect();
        }
        Ok(all)
    }

    /// Tells of what was inferred which stated preference it would take the place of.
    fn tell_stated(
        &self,
        all: &mut [Waiting],
        now: Instant,
        sees: Option<&Sees<'_>>,
    ) -> Result<(), Error> {
        let inferred = all.iter().enumerate();
        let inferred = inferred.filter(|(_, one)| one.kind == WaitingKind::Inferred);
        let inferred = inferred.filter_map(|(at, one)| Some((at, one.object_id?)));
        let inferred: Vec<(usize, ObjectId)> = inferred.collect();
        if inferred.is_empty() {
            return Ok(());
        }
        let told = self.read(|rows| {
            let mut told = Vec::new();
            for (at, id) in &inferred {
                // Another part of it may be believed.
                let Some(own) = waiting(rows, *id)? else {
                    continue;
                };
                let stated = in_place_of(rows, &own, now)?.into_iter();
                let ids = stated.filter(|one| one.stands).map(|one| one.object);
                let ids = ids.collect();
                let open = open_objects(rows, &self.name, ids, sees)?;
                told.extend(open.into_iter().map(|other| (*at, other)));
            }
            Ok(told)
        })?;
        for (at, other) in told {
            all[at].other_id.get_or_insert(other);
        }
        Ok(())
    }

    /// The objects that are left out of compiles because something that they were made from was written or judged since,
    /// does not stand or is over: as a compile has it, of what is believed now.
    fn stale(&self, now: Instant, sees: Option<&Sees<'_>>) -> Result<Vec<Waiting>, Error> {
        self.read(|rows| {
            let mut sealer = Sealer::default();
            let mut parents = Parents::default();
            let mut made: Vec<Made> = Vec::new();
            rows.each_held(None, &mut |_, row, body| {
                if row.lifecycle != Lifecycle::Active {
                    return Ok(());
                }
                parents.add(&row, now);
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
            if made.is_empty() {
                return Ok(Vec::new());
            }
            let pairs = rows.pairs(None, None)?;
            // What may not be seen changes nothing in what is told of the rest.
            let ids = made.iter().flat_map(|one| &one.parents).copied();
            let ids = ids.chain(made.iter().map(|one| one.id));
            let ids = ids.chain(pairs.iter().flat_map(|pair| [pair.first, pair.second]));
            let ids: BTreeSet<ObjectId> = ids.collect();
            let open = open_objects(rows, &self.name, ids.into_iter().collect(), sees)?;
            let open: BTreeSet<ObjectId> = open.into_iter().collect();
            for pair in &pairs {
                if open.contains(&pair.first) && open.contains(&pair.second) {
                    parents.add_judgement(pair, now)?;
                }
            }
            made.retain(|one| open.contains(&one.id));
            parents.opened.retain(|id, _| open.contains(id));
            Ok(stale_of(&made, parents))
        })
    }
}

impl Tenant {
    /// The objects that were judged in the same write as something that they were made from, of which nothing is judged any
    /// more.
    fn judged_along(&self, sees: Option<&Sees<'_>>) -> Result<Vec<Waiting>, Error> {
        self.read(|rows| {
            let mut sealer = Sealer::default();
            let mut found: Vec<(BeliefRow, String, ObjectType, Vec<ObjectId>)> = Vec::new();
            let mut unclean = BTreeSet::new();
            let mut known = BTreeSet::new();
            rows.each_held(None, &mut |_, row, body| {
                known.insert(row.object);
                if row.contradiction == ContradictionStatus::Clean {
                    return Ok(());
                }
                unclean.insert(row.object);
                // What is damaged is reported by the check.
                let Ok(object) = read_revision(&mut sealer, row.revision, body) else {
                    return Ok(());
                };
                let revision = object.revision();
                let parents = revision.derived_from().to_vec();
                if !parents.is_empty() {
                    found.push((
                        row,
                        object.name().to_owned(),
                        revision.object_type(),
                        parents,
                    ));
                }
                Ok(())
            })?;
            found.retain(|(_, _, _, parents)| {
                let stands = |id: &ObjectId| known.contains(id) && !unclean.contains(id);
                parents.iter().all(stands)
            });
            let ids = found.iter().flat_map(|(row, _, _, parents)| {
                std::iter::once(row.object).chain(parents.iter().copied())
            });
            let ids: BTreeSet<ObjectId> = ids.collect();
            let open = open_objects(rows, &self.name, ids.into_iter().collect(), sees)?;
            let open: BTreeSet<ObjectId> = open.into_iter().collect();
            let mut all: BTreeMap<ObjectId, Waiting> = BTreeMap::new();
            for (row, name, object_type, parents) in found {
                if !open.contains(&row.object) {
                    continue;
                }
                for parent in parents.into_iter().filter(|id| open.contains(id)) {
                    let history = rows.history(parent)?;
                    let was_judged = history.iter().any(|before| {
                        before.opened.version == row.opened.version
                            && before.contradiction != ContradictionStatus::Clean
                    });
                    if was_judged {
                        let id = row.object;
                        all.entry(id).or_insert_with(|| Waiting {
                            kind: WaitingKind::Judged,
                            object_id: Some(id),
                            other_id: Some(parent),
                            entity: None,
                            name: name.clone(),
                            object_type: Some(object_type),
                            rule: None,
                            since: Some(row.opened.at),
                            decide: format!("tenure store judge {id} --status clean"),
                            otherwise: vec![format!("tenure store retract {id}")],
                        });
                    }
                }
            }
            Ok(all.into_values().collect())
        })
    }
}

/// What is known of the objects that others were made from.
#[derive(Default)]
struct Parents {
    /// The instant since which each is believed: the latest of its parts counts.
    opened: BTreeMap<ObjectId, Instant>,
    /// Those that something speaks against.
    fell: BTreeSet<ObjectId>,
    /// Those of which some part is not over.
    lasts: BTreeSet<ObjectId>,
}

impl Parents {
    fn add(&mut self, row: &BeliefRow, now: Instant) {
        let latest = self.opened.entry(row.object).or_insert(row.opened.at);
        *latest = (*latest).max(row.opened.at);
        if row.contradiction != ContradictionStatus::Clean {
            self.fell.insert(row.object);
        }
        if row.valid.until.is_none_or(|end| now < end) {
            self.lasts.insert(row.object);
        }
    }

    /// Adds what a judgement on two claims says of them now.
    fn add_judgement(&mut self, pair: &PairRow, now: Instant) -> Result<(), Error> {
        let judged = kept(pair)?;
        let is_now = judged.from.is_none_or(|from| from <= now)
            && judged.until.is_none_or(|until| now < until);
        if !is_now {
            return Ok(());
        }
        match judged.loser {
            Loser::First => self.fell.extend([pair.first]),
            Loser::Second => self.fell.extend([pair.second]),
            Loser::Both => self.fell.extend([pair.first, pair.second]),
            _ => {}
        }
        Ok(())
    }
}

/// What is stale of what was made from others. What was made from something stale is stale, too: each is looked at again only
/// when one of its own parents has become so.
fn stale_of(made: &[Made], parents: Parents) -> Vec<Waiting> {
    let mut children: BTreeMap<ObjectId, Vec<usize>> = BTreeMap::new();
    for (at, one) in made.iter().enumerate() {
        for parent in &one.parents {
            children.entry(*parent).or_default().push(at);
        }
    }
    let mut stale: BTreeMap<ObjectId, Waiting> = BTreeMap::new();
    let mut open: VecDeque<usize> = (0..made.len()).collect();
    while let Some(one) = open.pop_front().and_then(|at| made.get(at)) {
        if stale.contains_key(&one.id) || parents.fell.contains(&one.id) {
            continue;
        }
        if let Some(of) = one.changed(&parents, &stale) {
            stale.insert(one.id, one.proposal(of));
            open.extend(children.get(&one.id).into_iter().flatten());
        }
    }
    stale.into_values().collect()
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
    /// The parent that has changed since, does not stand or is over.
    fn changed(&self, parents: &Parents, stale: &BTreeMap<ObjectId, Waiting>) -> Option<ObjectId> {
        let is_down = |id: &ObjectId| parents.fell.contains(id) || stale.contains_key(id);
        let lasts = |id: &ObjectId| parents.lasts.contains(id);
        let known = || self.parents.iter().filter(|id| **id != self.id);
        let known = || known().filter(|id| parents.opened.contains_key(id));
        // What was inferred stands on what is left.
        let is_held = self.object_type == ObjectType::InferredBelief
            && known().any(|id| !is_down(id) && lasts(id));
        let changed = known().find(|id| {
            if is_down(id) {
                !is_held
            } else {
                parents.opened.get(id).is_some_and(|at| self.at < *at)
            }
        });
        let over = || known().next().filter(|_| !known().any(lasts));
        changed.or_else(over).copied()
    }

    fn proposal(&self, of: ObjectId) -> Waiting {
        let id = self.id;
        let from = self.parents.iter();
        let from = from.map(|parent| format!(" --derived-from {parent}"));
        let put = format!("tenure store put FILE.json{}", from.collect::<String>());
        let retract = format!("tenure store retract {id}");
        let (decide, otherwise) = if self.has_path {
            (format!("tenure store refresh {id}"), vec![put, retract])
        } else {
            (put, vec![retract])
        };
        Waiting {
            kind: WaitingKind::Stale,
            object_id: Some(id),
            other_id: Some(of),
            entity: None,
            name: self.name.clone(),
            object_type: Some(self.object_type),
            rule: None,
            since: None,
            decide,
            otherwise,
        }
    }
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
        otherwise: vec![otherwise],
    }
}

/// A conflict, as a proposal.
fn conflict(one: Conflict) -> Waiting {
    let (first, second) = (one.first.object_id, one.second.object_id);
    let stands = |which| format!("tenure conflicts resolve {first} {second} --stands {which}");
    Waiting {
        kind: WaitingKind::Conflict,
        object_id: Some(first),
        other_id: Some(second),
        entity: Some(one.entity),
        name: format!("{} and {}", one.first.name, one.second.name),
        object_type: None,
        rule: None,
        since: Some(one.tx_start),
        decide: stands("first"),
        otherwise: vec![stands("second"), stands("neither")],
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
