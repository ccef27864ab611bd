//! Work that waits for a person, of all kinds, each with the command that decides it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use tenure::Error;
use tenure::belief::GateRefusal;
use tenure::belief::entity::SeenEntity;
use tenure::object::{
    ContradictionStatus, ObjectId, ObjectType, OutcomeState, RetirementRule, ReviewDecision,
    RevisionId, Sealer, WaitingKind,
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

/// Something that waits for a person.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Waiting {
    /// Its id: the object's, the entity's, or of a conflict those of both objects (`FIRST/SECOND`).
    pub id: String,
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
    /// The decisions that there are, each with what it does.
    #[serde(skip)]
    pub choices: Vec<Choice>,
}

/// A decision that a person may make on something that waits.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Choice {
    /// The decision; none where a command alone makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<ReviewDecision>,
    /// Its effect.
    pub does: String,
    /// The command that makes it.
    pub command: String,
}

impl Choice {
    /// A decision on the entry of an id, with these options.
    fn new(decision: ReviewDecision, id: &str, options: &str, does: impl Into<String>) -> Choice {
        Choice {
            decision: Some(decision),
            does: does.into(),
            command: format!("tenure review {decision} {}{options}", word(id)),
        }
    }

    fn accept(id: &str, does: &str) -> Choice {
        Choice::new(ReviewDecision::Accept, id, "", does)
    }

    fn reject(id: &str, does: &str) -> Choice {
        Choice::new(ReviewDecision::Reject, id, "", does)
    }
}

/// The effect of a retraction.
const RETRACTED: &str = "it is retracted, with what was made from it alone; its history stays";

impl Waiting {
    /// Something that waits, of which no more is known than its kind, its id and name, and the decisions that there are.
    fn new(kind: WaitingKind, id: String, name: String, choices: Vec<Choice>) -> Waiting {
        Waiting {
            id,
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
            decide: String::new(),
            otherwise: Vec::new(),
            choices,
        }
        .with_commands()
    }

    /// Something that waits about an object.
    fn of_object(
        kind: WaitingKind,
        id: ObjectId,
        (name, object_type): (String, ObjectType),
        choices: Vec<Choice>,
    ) -> Waiting {
        Waiting {
            object_id: Some(id),
            object_type: Some(object_type),
            ..Waiting::new(kind, id.to_string(), name, choices)
        }
    }

    fn with_commands(mut self) -> Waiting {
        let mut commands = self.choices.iter().map(|choice| choice.command.clone());
        self.decide = commands.next().unwrap_or_default();
        self.otherwise = commands.collect();
        self
    }

    /// Adds an option at the end of each command, such as `--store` where another store is meant.
    #[must_use]
    pub fn with_option(mut self, option: &str, value: &str) -> Waiting {
        for choice in &mut self.choices {
            choice.command.push_str(&format!(" {option} {}", word(value)));
        }
        self.with_commands()
    }

    /// Says the kind in each decision, where another entry has the id, too.
    fn with_kind(mut self) -> Waiting {
        let kind = self.kind;
        for choice in self.choices.iter_mut().filter(|choice| choice.decision.is_some()) {
            choice.command.push_str(&format!(" --kind {kind}"));
        }
        self.with_commands()
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
        all.extend(entities.map(entity));
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
        let mut entries: BTreeMap<String, usize> = BTreeMap::new();
        for one in &all {
            *entries.entry(one.id.clone()).or_default() += 1;
        }
        let all_of = all.into_iter();
        all = all_of
            .map(|one| {
                if entries[&one.id] > 1 {
                    one.with_kind()
                } else {
                    one
                }
            })
            .collect();
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
        let each = found.map(|one| {
            let id = one.object_id.to_string();
            let choices = vec![
                Choice::accept(&id, "it is lowered, or ends, as the next sweep would do it"),
                Choice::reject(&id, RETRACTED),
            ];
            let of = (one.name, ObjectType::InferredBelief);
            Waiting {
                other_id: Some(one.over).filter(|over| shown.contains(over)),
                ..Waiting::of_object(WaitingKind::Weakened, one.object_id, of, choices)
            }
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
                        all.entry(row.object).or_insert_with(|| Waiting {
                            other_id: Some(parent),
                            since: Some(row.opened.at),
                            ..judged(row.object, name.clone(), object_type)
                        });
                    }
                }
            }
            Ok(all.into_values().collect())
        })
    }
}

/// An object that was judged along with another, as a proposal.
fn judged(id: ObjectId, name: String, object_type: ObjectType) -> Waiting {
    let own = id.to_string();
    let choices = vec![
        Choice::accept(&own, "it is clean again, and compiled"),
        Choice::reject(&own, RETRACTED),
    ];
    Waiting::of_object(WaitingKind::Judged, id, (name, object_type), choices)
}

/// An entity, as a proposal.
fn entity(one: SeenEntity) -> Waiting {
    let same = one.candidates.iter().map(|other| {
        let options = format!(" --same-as {}", word(other));
        let does = format!("it is `{other}`: the two are merged, which can be split again");
        Choice::new(ReviewDecision::Accept, &one.id, &options, does)
    });
    let own = Choice::accept(&one.id, "it is one of its own");
    let choices = std::iter::once(own).chain(same).collect();
    Waiting {
        entity: Some(one.id.clone()),
        ..Waiting::new(WaitingKind::Entity, one.id, one.profile.name, choices)
    }
}

/// Proposes to make anew what is stale.
fn remake(Stale { object, of }: Stale) -> Result<Waiting, Error> {
    let document = object.to_document()?;
    let id = object.revision().object_id();
    let from = document.derived_from.iter().map(|parent| format!(" --derived-from {parent}"));
    let put = Choice {
        decision: None,
        does: "it reads as the file says, from what stands now".into(),
        command: format!("tenure store put FILE.json{}", from.collect::<String>()),
    };
    let refresh = document.update_path.is_some().then(|| Choice {
        decision: None,
        does: "it is read again from where it comes from".into(),
        command: format!("tenure store refresh {id}"),
    });
    let reject = Choice::reject(&id.to_string(), RETRACTED);
    let of_object = (object.name().to_owned(), object.revision().object_type());
    let choices = refresh.into_iter().chain([put, reject]).collect();
    Ok(Waiting {
        other_id: Some(of),
        ..Waiting::of_object(WaitingKind::Stale, id, of_object, choices)
    })
}

/// An object that awaits a person, as a proposal. What is too `old` is to be erased where its own rule says so, whatever it
/// is; what was inferred may wait for another reason, and be young.
fn awaiting(proposed: &BTreeSet<ObjectId>, old: &BTreeSet<ObjectId>, one: Awaiting) -> Waiting {
    let id = one.object_id.to_string();
    let over = one.over.into_iter().next();
    let kind = match one.rule {
        _ if proposed.contains(&one.object_id) => WaitingKind::Outcome,
        RetirementRule::HardDelete if old.contains(&one.object_id) => WaitingKind::Erasure,
        _ if one.inferred => WaitingKind::Inferred,
        _ => WaitingKind::Confirmation,
    };
    let choices = match kind {
        WaitingKind::Outcome => [
            (
                ReviewDecision::Accept,
                "it is compiled from the next request on",
            ),
            (
                ReviewDecision::Reject,
                "it is not compiled; it can be proposed anew",
            ),
        ]
        .map(|(decision, does)| Choice::new(decision, &id, " --by \"$USER\"", does)),
        WaitingKind::Erasure => [
            Choice::accept(
                &id,
                "it is erased, with what was made from it: nothing brings it back",
            ),
            Choice::reject(&id, "it stays, and counts as confirmed now"),
        ],
        _ => [
            Choice::accept(&id, &believed(over.as_ref())),
            Choice::reject(&id, "it is retracted; what is believed of the object stays"),
        ],
    };
    Waiting {
        other_id: over.as_ref().map(|(other, _)| *other),
        other_name: over.map(|(_, name)| name),
        why: one.why,
        revisions: one.revisions,
        texts: one.texts,
        rule: Some(one.rule),
        since: Some(one.since),
        ..Waiting::of_object(
            kind,
            one.object_id,
            (one.name, one.object_type),
            choices.into(),
        )
    }
}

/// The effect of a confirmation.
fn believed(over: Option<&(ObjectId, String)>) -> String {
    let place = over.map(|(_, name)| format!(", in the place of `{name}`"));
    format!(
        "it counts as confirmed, and is believed from now on{}",
        place.unwrap_or_default()
    )
}

/// A conflict, as a proposal.
fn conflict(one: Conflict) -> Waiting {
    let id = format!("{}/{}", one.first.object_id, one.second.object_id);
    let (first, second) = (&one.first.name, &one.second.name);
    let stands = |which: &str, does| {
        let options = format!(" --stands {which}");
        Choice::new(ReviewDecision::Accept, &id, &options, does)
    };
    let choices = vec![
        stands(
            "first",
            format!("`{first}` stands, and `{second}` does not"),
        ),
        stands(
            "second",
            format!("`{second}` stands, and `{first}` does not"),
        ),
        stands("both", "both stand".to_owned()),
        Choice::new(
            ReviewDecision::Hold,
            &id,
            "",
            "neither is compiled, until somebody decides again",
        ),
    ];
    let name = format!("{first} and {second}");
    Waiting {
        object_id: Some(one.first.object_id),
        other_id: Some(one.second.object_id),
        entity: Some(one.entity),
        since: Some(one.tx_start),
        ..Waiting::new(WaitingKind::Conflict, id, name, choices)
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
