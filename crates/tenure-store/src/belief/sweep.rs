//! Decay and retirement: what has become too old by its own rule is archived, demoted, put before the
//! user, or erased.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::belief::{Ageing, GateRefusal, TypeAges, aged};
use tenure::num::Score;
use tenure::object::{
    ContradictionStatus, Lifecycle, ObjectId, ObjectType, RetirementRule, RevisionId, Sealer, Usage,
};
use tenure::time::{Instant, Interval};
use tenure::{ContextObject, Digest, Error};

use crate::belief::evidence::why_waits;
use crate::belief::expiry::Weakened;
use crate::belief::judge::age_all;
use crate::belief::user_stated::{in_place_of, is_inferred};
use crate::rows::engine::{BeliefRow, Read, Standing, Write};
use crate::rows::labels::{Sees, open, open_objects};
use crate::rows::settle::overlap;
use crate::rows::stored::{believed, read_revision, unwritable};
use crate::tenant::alongside::any_believed;
use crate::tenant::current::Fresh;
use crate::tenant::handle::Tenant;
use crate::tenant::since::written;
use crate::tenant::writing::Writing;

/// An object whose freshness is below its threshold.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Retired {
    /// Its id.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// Its freshness, from 0 to 1.
    pub freshness: Score,
    /// The threshold of its own rule.
    pub threshold: Score,
    /// The rule that applies to it.
    pub rule: RetirementRule,
}

/// The place of hard deletion in a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum HardDelete {
    /// A proposal: the object is not compiled, and waits for somebody to erase or confirm it.
    #[default]
    Proposed,
    /// Done by the sweep.
    Done,
}

/// An object that waits for a person to confirm it, and what else may become of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Awaiting {
    /// Its id.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// Its type.
    pub object_type: ObjectType,
    /// True if it was inferred.
    pub inferred: bool,
    /// The reason for which it waits, as things stand now: of what was inferred, or was made from something that waits. None where
    /// it is too old, or where nothing would keep it from being believed any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<GateRefusal>,
    /// The preferences that somebody stated and that it would take the place of, by their names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub over: BTreeMap<ObjectId, String>,
    /// The revisions that wait, each of which can be decided on by itself.
    pub revisions: Vec<RevisionId>,
    /// The text of each of them.
    pub texts: Vec<String>,
    /// The rule for when it is of no more use: `hard_delete` proposes that it is erased.
    pub rule: RetirementRule,
    /// The instant since which it waits as it does now: of several parts, the latest.
    pub since: Instant,
}

/// The findings of a sweep, and how much it dropped.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Sweep {
    /// The objects that are too old, in the order in which they came.
    pub retired: Vec<Retired>,
    /// Those that were confirmed, judged or written between the look at them and the write: they stay as they are, and
    /// the next sweep looks again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<Retired>,
    /// The beliefs of which evidence is over: they are lowered, or end with it. By id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weakened: Vec<Weakened>,
    /// The number of compile records that were dropped.
    pub records: u64,
}

/// An object that is too old, and the state in which it is.
pub(crate) struct Old {
    pub(crate) retired: Retired,
    state: State,
}

/// The beliefs about an object, as when each was opened, and its last confirmation: whatever is done with an object
/// changes one of them.
#[derive(Clone, PartialEq, Eq, Debug)]
struct State {
    opened: BTreeSet<(u64, Instant, u32)>,
    confirmed: Option<Instant>,
}

impl State {
    fn of<'r>(rows: impl IntoIterator<Item = &'r BeliefRow>, usage: Usage) -> State {
        let opened = rows.into_iter().map(|row| (row.opened.version, row.opened.at, row.part));
        State {
            opened: opened.collect(),
            confirmed: usage.last_confirmed,
        }
    }
}

/// A belief about an object, as far as its age goes.
struct Part {
    row: BeliefRow,
    object: Arc<ContextObject>,
    /// True if something already waits to take its place: then this part is not put to a person as well.
    is_disputed: bool,
}

/// Leaves what waits beside what is believed aside: it makes the object no younger or older.
fn set_beside(parts: &mut Vec<Part>) {
    if !any_believed(parts.iter().map(|part| &part.row)) {
        return;
    }
    let waiting: Vec<Interval> = parts
        .iter()
        .filter(|part| part.row.waits())
        .map(|part| part.row.valid)
        .collect();
    parts.retain(|part| !part.row.waits());
    for part in parts {
        let valid = part.row.valid;
        part.is_disputed = waiting.iter().any(|time| overlap(*time, valid));
    }
}

/// The log of the scheduled sweeps that did something.
const LOG: &str = "sweeps";

/// A scheduled sweep.
#[derive(Serialize, Deserialize)]
struct Swept {
    at: Instant,
}

/// The retention of compile records.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Retention {
    /// Records of compiles before this instant are dropped.
    pub before: Option<Instant>,
    /// The number of newest records that are kept.
    pub most: Option<u64>,
}

impl Tenant {
    /// Finds what has become too old at this instant by its own decay rule, or that of its type in the policy that the tenant
    /// keeps under the name `retirement`, and does what its
    /// retirement rule says, but for those to be erased: these await confirmation. Beliefs of which evidence is over by then are lowered, or
    /// end with it. With `dry_run` it is only found. Age counts from the last confirmation,
    /// else from the start of its validity, else from when it was written.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn sweep(
        &self,
        now: Instant,
        retention: Retention,
        dry_run: bool,
        writing: &Writing,
    ) -> Result<Sweep, Error> {
        self.sweep_with(now, retention, HardDelete::Proposed, dry_run, writing)
    }

    /// Like `sweep`, and says what becomes of those whose rule is to be erased.
    ///
    /// # Errors
    ///
    /// As [`Tenant::sweep`].
    pub fn sweep_with(
        &self,
        now: Instant,
        retention: Retention,
        hard_delete: HardDelete,
        dry_run: bool,
        writing: &Writing,
    ) -> Result<Sweep, Error> {
        let old = self.too_old(now, hard_delete)?;
        if dry_run {
            return Ok(Sweep {
                retired: old.into_iter().map(|old| old.retired).collect(),
                weakened: self.weakened(now)?,
                ..Sweep::default()
            });
        }
        let (retired, left) = self.retire(old, hard_delete, writing)?;
        let weakened = self.weaken(now, writing)?;
        let records = match retention {
            Retention {
                before: None,
                most: None,
            } => 0,
            Retention { before, most } => self.drop_records(before, most)?,
        };
        Ok(Sweep {
            retired,
            left,
            weakened,
            records,
        })
    }

    /// Does with each of these what its rule says, where it is still in the state in which it was found; returns which
    /// it did so with, and which not.
    fn retire(
        &self,
        old: Vec<Old>,
        hard_delete: HardDelete,
        writing: &Writing,
    ) -> Result<(Vec<Retired>, Vec<Retired>), Error> {
        let with = |rules: &[RetirementRule]| -> Vec<(ObjectId, State)> {
            old.iter()
                .filter(|old| rules.contains(&old.retired.rule))
                .map(|old| (old.retired.object_id, old.state.clone()))
                .collect()
        };
        let waits: &[RetirementRule] = match hard_delete {
            HardDelete::Proposed => &[
                RetirementRule::TriggerUserConfirmation,
                RetirementRule::HardDelete,
            ],
            HardDelete::Done => &[RetirementRule::TriggerUserConfirmation],
        };
        let mut done: BTreeSet<ObjectId> = BTreeSet::new();
        for (rules, lifecycle) in [
            (&[RetirementRule::Archive][..], Lifecycle::Archived),
            (&[RetirementRule::DemoteToArchival], Lifecycle::Demoted),
            (waits, Lifecycle::AwaitingConfirmation),
        ] {
            let found = with(rules);
            if found.is_empty() {
                continue;
            }
            let asked = asked(lifecycle.term(), &found);
            let written = self.once(writing, lifecycle.term(), asked, move |rows| {
                let ids = unchanged(rows, &found)?;
                age_all(rows, &ids, lifecycle)
            })?;
            done.extend(written.objects.iter().map(|one| one.object_id));
        }
        let found = with(&[RetirementRule::HardDelete]);
        if !found.is_empty() && hard_delete == HardDelete::Done {
            let asked = asked("erase", &found);
            let written = self.erase_chosen(asked, writing, move |rows| unchanged(rows, &found))?;
            done.extend(written.objects.iter().map(|one| one.object_id));
        }
        Ok(old
            .into_iter()
            .map(|old| old.retired)
            .partition(|retired| done.contains(&retired.object_id)))
    }

    /// Sweeps as [`Tenant::sweep_with`], on a schedule that several nodes keep: where something is too old, one of them does it, and
    /// none again before so much time has passed. What there is nothing to do for writes nothing; `None` where
    /// another did it.
    ///
    /// # Errors
    ///
    /// As [`Tenant::sweep`].
    pub fn sweep_in_turn(
        &self,
        now: Instant,
        every: Duration,
        hard_delete: HardDelete,
        writing: &Writing,
    ) -> Result<Option<Sweep>, Error> {
        if self.too_old(now, hard_delete)?.is_empty() && self.weakened(now)?.is_empty() {
            return Ok(Some(Sweep::default()));
        }
        let every = i64::try_from(every.as_micros()).unwrap_or(i64::MAX);
        let is_ours = self.write(move |rows| {
            let last = rows.last(LOG)?;
            let entry = match last {
                0 => None,
                last => rows.entries(LOG, last..last + 1)?.pop(),
            };
            // A node whose clock was ahead keeps nobody from it.
            let before = entry
                .and_then(|(_, body)| serde_json::from_str::<Swept>(&body).ok())
                .filter(|swept| swept.at <= now);
            if before.is_some_and(|swept| now.micros() < swept.at.micros().saturating_add(every)) {
                return Ok(false);
            }
            rows.stamp()?;
            let body =
                serde_json::to_string(&Swept { at: now }).map_err(|error| unwritable(&error))?;
            rows.append(LOG, last, &[body])?;
            rows.note("append", Some(LOG), 0)?;
            Ok(true)
        })?;
        if !is_ours {
            return Ok(None);
        }
        let swept = self.sweep_with(now, Retention::default(), hard_delete, false, writing);
        if swept.is_err() {
            // Another may try before the time is over.
            let turn = Swept {
                at: Instant::from_micros(0),
            };
            let body = serde_json::to_string(&turn).map_err(|error| unwritable(&error))?;
            let given_back = self.write(move |rows| {
                let last = rows.last(LOG)?;
                rows.stamp()?;
                rows.append(LOG, last, std::slice::from_ref(&body))?;
                rows.note("append", Some(LOG), 0)
            });
            given_back.ok();
        }
        swept.map(Some)
    }

    /// The objects that are too old, in the order in which they came. Of an object, the parts speak that are of now or of
    /// later: what it said of a time that is over makes it no older.
    pub(crate) fn too_old(&self, now: Instant, hard_delete: HardDelete) -> Result<Vec<Old>, Error> {
        self.too_old_of(None, now, hard_delete)
    }

    /// Like `too_old`, of these objects, or of all.
    pub(crate) fn too_old_of(
        &self,
        of: Option<&[ObjectId]>,
        now: Instant,
        hard_delete: HardDelete,
    ) -> Result<Vec<Old>, Error> {
        self.read(|rows| {
            let usage = rows.usage(of)?;
            let kept = type_ages(rows)?;
            let types = kept.ages();
            let mut sealer = Sealer::default();
            let mut found: Vec<Vec<Part>> = Vec::new();
            let mut parts: Vec<Part> = Vec::new();
            let mut unread: BTreeSet<ObjectId> = BTreeSet::new();
            each_of(rows, of, &mut |row, body| {
                // How old it may become is lost with what is damaged.
                let Ok(object) = read_revision(&mut sealer, row.revision, body) else {
                    unread.insert(row.object);
                    return Ok(());
                };
                if parts.first().is_some_and(|part| part.row.object != row.object) {
                    let whole = std::mem::take(&mut parts);
                    if whole.iter().any(|part| part.may_age(types)) {
                        found.push(whole);
                    }
                }
                let usage = usage.get(&row.object).copied().unwrap_or_default();
                let object = believed(&object, &row, usage, None);
                parts.push(Part {
                    row,
                    object,
                    is_disputed: false,
                });
                Ok(())
            })?;
            found.push(parts);
            let is_over = |part: &Part| part.row.valid.until.is_some_and(|end| end <= now);
            let mut states = Vec::with_capacity(found.len());
            for parts in &mut found {
                parts.retain(|part| !unread.contains(&part.row.object));
                let usage = parts
                    .first()
                    .and_then(|part| usage.get(&part.row.object))
                    .copied()
                    .unwrap_or_default();
                states.push(State::of(parts.iter().map(|part| &part.row), usage));
                set_beside(parts);
                if !parts.iter().all(is_over) {
                    parts.retain(|part| !is_over(part));
                }
            }
            let ages: Vec<_> = found
                .iter()
                .flatten()
                .filter(|part| part.ages(types, hard_delete))
                .map(|part| (&part.row, &*part.object))
                .collect();
            let mut written = written(rows, &ages)?.into_iter();
            let mut old = Vec::new();
            for (parts, state) in found.iter().zip(states) {
                let Some(first) = parts.first() else { continue };
                let (id, name) = (first.row.object, first.object.name().to_owned());
                let ages: Vec<Option<Ageing>> = parts
                    .iter()
                    .map(|part| {
                        part.ages(types, hard_delete)
                            .then(|| written.next())
                            .flatten()
                            .and_then(|written| Ageing::of(&part.object, Some(written), types))
                    })
                    .collect();
                old.extend(aged(ages, now).map(|aged| Old {
                    retired: Retired {
                        object_id: id,
                        name,
                        freshness: aged.freshness,
                        threshold: aged.threshold,
                        rule: aged.rule,
                    },
                    state,
                }));
            }
            Ok(old)
        })
    }

    /// The objects that await a person's confirmation, in the order in which they came: proposed outcomes, and what a
    /// sweep found too old. A caller is told of those that may be seen.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn awaiting(&self, now: Instant, sees: Option<&Sees<'_>>) -> Result<Vec<Awaiting>, Error> {
        self.read(|rows| {
            let mut sealer = Sealer::default();
            let mut found: Vec<Awaiting> = Vec::new();
            let waits = rows.at_stage(Lifecycle::AwaitingConfirmation)?;
            // Of an object, some parts may be seen and others not.
            let waits = open(&self.name, waits, None, sees)?;
            let bodies = rows.bodies(&waits.iter().collect::<Vec<_>>())?;
            for row in &waits {
                let body = bodies.get(&row.revision).map_or("", String::as_str);
                // What is damaged is reported by the check.
                let Ok(object) = read_revision(&mut sealer, row.revision, body) else {
                    continue;
                };
                let object = believed(&object, row, Usage::default(), None);
                let is_unverified = is_unverified(rows, &object)?;
                let why = why_waits(rows, &object, is_unverified, &Fresh::default(), now)?
                    .map(|withheld| withheld.why);
                let is_clean = row.contradiction == ContradictionStatus::Clean;
                let over = in_place_of(rows, &object, now)?
                    .into_iter()
                    .filter(|one| one.stands && is_clean)
                    .map(|one| one.object);
                let over = open_objects(rows, &self.name, over.collect(), sees)?;
                let names =
                    rows.standing(&over)?.into_iter().map(|(id, standing)| (id, standing.name));
                let text = object.revision().content().to_owned();
                if let Some(known) = found.last_mut().filter(|one| one.object_id == row.object) {
                    known.since = known.since.max(row.opened.at);
                    known.why = known.why.or(why);
                    known.over.extend(names);
                    if !known.revisions.contains(&row.revision) {
                        known.revisions.push(row.revision);
                        known.texts.push(text);
                    }
                    continue;
                }
                let rule = object.revision().retirement_rule();
                found.push(Awaiting {
                    why,
                    over: names.collect(),
                    revisions: vec![row.revision],
                    texts: vec![text],
                    object_id: row.object,
                    name: object.name().to_owned(),
                    object_type: object.revision().object_type(),
                    inferred: is_inferred(&object),
                    rule: rule.unwrap_or(RetirementRule::Archive),
                    since: row.opened.at,
                });
            }
            Ok(found)
        })
    }
}

/// Returns whether an object was made from something of which nothing is believed, but that waits.
fn is_unverified(rows: &mut dyn Read, own: &ContextObject) -> Result<bool, Error> {
    let parents = rows.standing(own.revision().derived_from())?;
    Ok(parents
        .values()
        .any(|standing| !standing.beliefs.is_empty() && !any_believed(&standing.beliefs)))
}

/// Calls `each` with every belief held now about these objects, or about all, and its body: by place, then valid time.
fn each_of(
    rows: &mut dyn Read,
    of: Option<&[ObjectId]>,
    each: &mut dyn FnMut(BeliefRow, &str) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(ids) = of else {
        return rows.each_held(None, &mut |_, row, body| each(row, body));
    };
    let mut standing: Vec<Standing> = rows.standing(ids)?.into_values().collect();
    standing.sort_by_key(|one| one.place);
    let held: Vec<BeliefRow> = standing.into_iter().flat_map(|one| one.beliefs).collect();
    let bodies = rows.bodies(&held.iter().collect::<Vec<_>>())?;
    for row in held {
        let revision = row.revision;
        each(row, bodies.get(&revision).map_or("", String::as_str))?;
    }
    Ok(())
}

impl Part {
    /// Returns whether it may become too old.
    fn may_age(&self, types: TypeAges<'_>) -> bool {
        let any = self.row.opened.at;
        Ageing::of(&self.object, Some(any), types).is_some()
    }

    /// Returns whether it ages, and its rule was not applied yet.
    fn ages(&self, types: TypeAges<'_>, hard_delete: HardDelete) -> bool {
        let rule = self.object.revision().retirement_rule().unwrap_or(RetirementRule::Archive);
        let would_wait = match rule {
            RetirementRule::TriggerUserConfirmation => true,
            RetirementRule::HardDelete => hard_delete == HardDelete::Proposed,
            _ => false,
        };
        self.may_age(types)
            && !(would_wait && self.is_disputed)
            && !retirement_done(rule, self.row.lifecycle, hard_delete)
    }
}

/// The ages of types that a tenant keeps.
#[derive(Default, Deserialize)]
#[serde(default)]
struct KeptAges {
    half_life_days: BTreeMap<ObjectType, f64>,
    retire_below: BTreeMap<ObjectType, Score>,
}

impl KeptAges {
    fn ages(&self) -> TypeAges<'_> {
        TypeAges {
            half_life_days: &self.half_life_days,
            retire_below: &self.retire_below,
        }
    }
}

/// The log of the policy whose ages of types a tenant's sweeps take.
const AGES: &str = "policy/retirement";

/// The ages of types in the policy that a tenant keeps under the name `retirement`; none where it keeps none, or what it keeps
/// cannot be read.
fn type_ages(rows: &mut dyn Read) -> Result<KeptAges, Error> {
    #[derive(Deserialize)]
    struct Kept {
        value: KeptAges,
    }
    let last = rows.last(AGES)?;
    let entry = match last {
        0 => None,
        last => rows.entries(AGES, last..last + 1)?.pop(),
    };
    Ok(entry
        .and_then(|(_, body)| serde_json::from_str::<Kept>(&body).ok())
        .map(|kept| kept.value)
        .filter(|ages| ages.half_life_days.values().all(|days| days.is_finite() && *days > 0.0))
        .unwrap_or_default())
}

/// Those of these objects that are still in the state in which they were found.
fn unchanged(rows: &mut dyn Write, found: &[(ObjectId, State)]) -> Result<Vec<ObjectId>, Error> {
    // From here on no other writer comes between.
    rows.stamp()?;
    let ids: Vec<ObjectId> = found.iter().map(|(id, _)| *id).collect();
    let standing = rows.standing(&ids)?;
    let usage = rows.usage(Some(&ids))?;
    let same = found.iter().filter(|(id, state)| {
        let usage = usage.get(id).copied().unwrap_or_default();
        standing
            .get(id)
            .is_some_and(|standing| State::of(&standing.beliefs, usage) == *state)
    });
    Ok(same.map(|(id, _)| *id).collect())
}

/// The digest of what is asked for.
fn asked(what: &str, found: &[(ObjectId, State)]) -> Digest {
    let named: Vec<String> = found.iter().map(|(id, _)| id.to_string()).collect();
    Digest::of(format!("{what} {}", named.join(" ")).as_bytes())
}

/// Returns whether the rule has been applied already.
fn retirement_done(rule: RetirementRule, lifecycle: Lifecycle, hard_delete: HardDelete) -> bool {
    match rule {
        RetirementRule::HardDelete => {
            hard_delete == HardDelete::Proposed && lifecycle != Lifecycle::Active
        }
        RetirementRule::DemoteToArchival => {
            matches!(lifecycle, Lifecycle::Demoted | Lifecycle::Archived)
        }
        RetirementRule::TriggerUserConfirmation => lifecycle != Lifecycle::Active,
        _ => lifecycle == Lifecycle::Archived,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tenure::ObjectDocument;

    use super::*;
    use crate::tenant::store::Store;
    use crate::tenant::writing::Put;

    /// A sweep that finds these objects, each too old for its rule; then something happens; then it does what it would.
    fn between(
        store: &Store,
        rule: RetirementRule,
        happens: impl Fn(&Tenant, ObjectId),
    ) -> (Tenant, ObjectId, Vec<Retired>, Vec<Retired>) {
        let tenant = store.tenant(&format!("of-{rule:?}")).unwrap();
        let document = |name: &str| ObjectDocument {
            decay_rule: Some(
                serde_json::from_str(r#"{"half_life_days": 10.0, "minimum_threshold": 0.5}"#)
                    .unwrap(),
            ),
            retirement_rule: Some(rule),
            valid_from: Some("2020-01-01".parse().unwrap()),
            ..ObjectDocument::named(name, name)
        };
        let puts = vec![Put::new(document("one")), Put::new(document("other"))];
        let written = tenant.put(puts, &Writing::default()).unwrap();
        let one = written.objects[0].object_id;
        let at = "2026-06-06".parse().unwrap();
        let old = tenant.too_old(at, HardDelete::Done).unwrap();
        assert_eq!(old.len(), 2);
        happens(&tenant, one);
        let (done, left) = tenant.retire(old, HardDelete::Done, &Writing::default()).unwrap();
        (tenant, one, done, left)
    }

    #[test]
    fn what_changes_between_the_look_and_the_write_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let at: Instant = "2026-06-06".parse().unwrap();
        for (number, rule) in [
            RetirementRule::HardDelete,
            RetirementRule::Archive,
            RetirementRule::DemoteToArchival,
            RetirementRule::TriggerUserConfirmation,
        ]
        .into_iter()
        .enumerate()
        {
            let url = format!(
                "sqlite://{}",
                folder.path().join(format!("{number}.db")).display()
            );
            let names = |all: &[Retired]| -> Vec<String> {
                all.iter().map(|one| one.name.clone()).collect()
            };
            let store = Store::open(&url).unwrap();
            // A confirmation.
            let (tenant, one, done, left) = between(&store, rule, |tenant, one| {
                tenant.confirm(vec![one], at, &Writing::default()).unwrap();
            });
            assert_eq!(
                (names(&done), names(&left)),
                (vec!["other".into()], vec!["one".into()])
            );
            let held = tenant.get(one).unwrap();
            assert_eq!(held[0].lifecycle, Lifecycle::Active);
        }
        for (number, happens) in [
            // A newer revision.
            (&|tenant: &Tenant, _| {
                let document = ObjectDocument::named("one", "It is otherwise.");
                tenant.put(vec![Put::new(document)], &Writing::default()).unwrap();
            }) as &dyn Fn(&Tenant, ObjectId),
            // A judgement.
            &|tenant, one| {
                let status = tenure::object::ContradictionStatus::Disputed;
                tenant.judge(one, status, None, &Writing::default()).unwrap();
            },
            // It is gone: the others are retired all the same.
            &|tenant, one| {
                tenant.erase(vec![one], &Writing::default()).unwrap();
            },
        ]
        .into_iter()
        .enumerate()
        {
            let url = format!(
                "sqlite://{}",
                folder.path().join(format!("b{number}.db")).display()
            );
            let store = Store::open(&url).unwrap();
            let (tenant, one, done, left) = between(&store, RetirementRule::HardDelete, happens);
            assert_eq!((&*done[0].name, &*left[0].name), ("other", "one"));
            assert_eq!(tenant.get(one).unwrap().is_empty(), number == 2);
            assert!(tenant.named("other").unwrap().is_empty());
        }
    }
}
