//! Decay and retirement: what has become too old by its own rule is archived, demoted, put before the
//! user, or erased.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::num::Score;
use tenure::object::{Lifecycle, ObjectId, ObjectType, RetirementRule, Sealer, Usage};
use tenure::score::freshness;
use tenure::time::Instant;
use tenure::{Digest, Error};

use crate::engine::BeliefRow;
use crate::labels::{Sees, open_objects};
use crate::outcomes::refuse_proposed;
use crate::stored::{believed, read_revision, unwritable};
use crate::tenant::rejudge_all;
use crate::tenant::{Expect, Tenant, Writing, Written, expected};

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
    /// The rule for when it is of no more use: `hard_delete` proposes that it is erased.
    pub rule: RetirementRule,
    /// The instant since which it waits.
    pub since: Instant,
}

/// The findings of a sweep, and how much it dropped.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Sweep {
    /// The objects that are too old, in the order in which they came.
    pub retired: Vec<Retired>,
    /// The number of compile records that were dropped.
    pub records: u64,
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
    /// Finds what has become too old by its own decay rule at this instant, and does what its
    /// retirement rule says, but for those to be erased: these await confirmation. With `dry_run` it is only found. Age counts from the last confirmation,
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

    /// The same, and says what becomes of those whose rule is to be erased.
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
        let retired = self.too_old(now, hard_delete)?;
        if dry_run {
            return Ok(Sweep {
                retired,
                records: 0,
            });
        }
        let of = |rule: RetirementRule| -> Vec<ObjectId> {
            let of = retired.iter().filter(|retired| retired.rule == rule);
            of.map(|retired| retired.object_id).collect()
        };
        for (rule, lifecycle) in [
            (RetirementRule::Archive, Lifecycle::Archived),
            (RetirementRule::DemoteToArchival, Lifecycle::Demoted),
            (
                RetirementRule::TriggerUserConfirmation,
                Lifecycle::AwaitingConfirmation,
            ),
        ] {
            let mut ids = of(rule);
            if (lifecycle, hard_delete) == (Lifecycle::AwaitingConfirmation, HardDelete::Proposed) {
                ids.extend(of(RetirementRule::HardDelete));
            }
            if !ids.is_empty() {
                self.age(ids, lifecycle, writing)?;
            }
        }
        let ids = of(RetirementRule::HardDelete);
        if !ids.is_empty() && hard_delete == HardDelete::Done {
            self.erase(ids, writing)?;
        }
        let records = match retention {
            Retention {
                before: None,
                most: None,
            } => 0,
            Retention { before, most } => {
                self.write(move |rows| rows.drop_records(before, most))?
            }
        };
        Ok(Sweep { retired, records })
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
        if self.too_old(now, hard_delete)?.is_empty() {
            return Ok(Some(Sweep::default()));
        }
        let every = i64::try_from(every.as_micros()).unwrap_or(i64::MAX);
        let is_ours = self.write(move |rows| {
            let last = rows.last(LOG)?;
            let before = match last {
                0 => None,
                last => rows.entries(LOG, last..last + 1)?.pop(),
            };
            let before = before.and_then(|(_, body)| serde_json::from_str::<Swept>(&body).ok());
            // A node whose clock was ahead keeps nobody from it.
            let before = before.filter(|swept| swept.at <= now);
            let next = |swept: Swept| swept.at.micros().saturating_add(every);
            if before.is_some_and(|swept| now.micros() < next(swept)) {
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

    fn too_old(&self, now: Instant, hard_delete: HardDelete) -> Result<Vec<Retired>, Error> {
        self.read(|rows| {
            let usage = rows.usage(None)?;
            let mut sealer = Sealer::default();
            let mut retired: Vec<Retired> = Vec::new();
            let mut known = BTreeSet::new();
            rows.each_held(None, &mut |_, row, body| {
                // How old it may become is lost with what is damaged.
                let Ok(object) = read_revision(&mut sealer, row.revision, body) else {
                    return Ok(());
                };
                let usage = usage.get(&row.object).copied().unwrap_or_default();
                let object = believed(&object, &row, usage, None);
                let revision = object.revision();
                let Some(rule) = revision.decay_rule() else {
                    return Ok(());
                };
                let Some(half_life_days) = rule.half_life_days else {
                    return Ok(());
                };
                let since = usage
                    .last_confirmed
                    .or(object.valid().from)
                    .or(Some(row.opened.at));
                let freshness = freshness(since, Some(now), Some(half_life_days));
                let retirement = revision
                    .retirement_rule()
                    .unwrap_or(RetirementRule::Archive);
                let already = retirement_done(retirement, row.lifecycle, hard_delete);
                let is_old = freshness < rule.minimum_threshold && !already;
                if is_old && known.insert(row.object) {
                    retired.push(Retired {
                        object_id: row.object,
                        name: object.name().to_owned(),
                        freshness,
                        threshold: rule.minimum_threshold,
                        rule: retirement,
                    });
                }
                Ok(())
            })?;
            Ok(retired)
        })
    }

    /// The objects that await a person's confirmation, in the order in which they came: proposed outcomes, and what a
    /// sweep found too old. A caller is told of those that may be seen.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn awaiting(&self, sees: Option<&Sees<'_>>) -> Result<Vec<Awaiting>, Error> {
        self.read(|rows| {
            let mut sealer = Sealer::default();
            let mut found: Vec<Awaiting> = Vec::new();
            let mut known = BTreeSet::new();
            rows.each_held(None, &mut |_, row, body| {
                let waits = row.lifecycle == Lifecycle::AwaitingConfirmation;
                if !waits || !known.insert(row.object) {
                    return Ok(());
                }
                // What is damaged is reported by the check.
                let Ok(object) = read_revision(&mut sealer, row.revision, body) else {
                    return Ok(());
                };
                let rule = object.revision().retirement_rule();
                found.push(Awaiting {
                    object_id: row.object,
                    name: object.name().to_owned(),
                    object_type: object.revision().object_type(),
                    rule: rule.unwrap_or(RetirementRule::Archive),
                    since: row.opened.at,
                });
                Ok(())
            })?;
            let ids = found.iter().map(|one| one.object_id).collect();
            let open = open_objects(rows, &self.name, ids, sees)?;
            let open: BTreeSet<ObjectId> = open.into_iter().collect();
            found.retain(|one| open.contains(&one.object_id));
            Ok(found)
        })
    }

    /// Records that these objects were confirmed: they are young again, and none waits for confirmation.
    ///
    /// # Errors
    ///
    /// As [`Tenant::age`].
    pub fn confirm(
        &self,
        ids: Vec<ObjectId>,
        at: Instant,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let named: Vec<String> = ids.iter().map(ObjectId::to_string).collect();
        let usage = Usage {
            last_confirmed: Some(at),
            ..Usage::default()
        };
        self.once(
            writing,
            "confirm",
            Digest::of(named.join(" ").as_bytes()),
            move |rows| {
                for id in &ids {
                    expected(rows, *id, Expect::Any)?;
                }
                refuse_proposed(rows, &ids)?;
                let counted: Vec<(ObjectId, Usage)> = ids.iter().map(|id| (*id, usage)).collect();
                rows.count(&counted)?;
                rejudge_all(rows, &ids, |row| {
                    Some(BeliefRow {
                        lifecycle: Lifecycle::Active,
                        ..row.clone()
                    })
                })
            },
        )
    }
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
