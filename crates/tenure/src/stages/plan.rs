//! Stage 5: which epoch is this, and what does it freeze? What was sent stays as it is until an
//! epoch ends; what is new meanwhile joins the tail.

use std::collections::{BTreeMap, VecDeque};

use crate::digest::Digest;
use crate::links::Links;
use crate::object::ObjectType;
use crate::policy::Policy;
use crate::request::{Request, ServedLedger};
use crate::section::Section;
use crate::stages::Live;
use crate::stages::resolve::Resolved;
use crate::stages::settle::Settled;
use crate::trace::{EpochCause, PlanReport, Reason, Stage};
use crate::world::World;

/// Settled objects, and what the epoch decides about them.
pub(crate) struct Planned<'a> {
    pub(crate) resolved: Resolved<'a>,
    pub(crate) report: PlanReport,
    /// Each frozen row's place in the floor.
    pub(crate) frozen: BTreeMap<u32, u32>,
    /// Rows that stand in another section than their own.
    moved: BTreeMap<u32, Section>,
    /// The digest of what the floor's bytes depend on besides its objects.
    pub(crate) settings: Digest,
}

impl Planned<'_> {
    /// The section that a row stands in.
    pub(crate) fn section(&self, row: u32) -> Section {
        let own = self.resolved.live.set.row(row).section;
        if self.moved.is_empty() {
            own
        } else {
            self.moved.get(&row).copied().unwrap_or(own)
        }
    }
}

/// Keeps the epoch while everything served is still there and nothing new must join the floor.
pub(crate) fn plan<'a>(
    Settled(mut resolved): Settled<'a>,
    world: &World,
    policy: &Policy,
    request: &Request,
) -> Planned<'a> {
    let live = &mut resolved.live;
    let set = live.set;
    let settings = Digest::of_parts([
        policy.digest().bytes().as_slice(),
        world.digest().bytes(),
        request.target.term().as_bytes(),
    ]);
    let mut frozen = BTreeMap::new();
    let mut moved = BTreeMap::new();
    let (epoch, cause) = match &request.served {
        None => (0, EpochCause::First),
        Some(ledger) => match keep(ledger, live, policy, request, settings) {
            Ok(kept) => {
                frozen = kept;
                (ledger.epoch, EpochCause::Kept)
            }
            Err(cause) => (ledger.epoch.saturating_add(1), cause),
        },
    };
    let is_fresh = |row: u32| cause == EpochCause::Kept && !frozen.contains_key(&row);
    live.judge(Stage::Plan, |row| {
        let section = set.row(row).section;
        let waits = is_fresh(row) && section == Section::Tools && policy.freezes(section);
        waits.then_some(Reason::NextEpoch)
    });
    if cause == EpochCause::Kept {
        let fresh = live
            .rows
            .iter()
            .copied()
            .filter(|row| is_fresh(*row) && policy.freezes(set.row(*row).section));
        moved = fresh.map(|row| (row, Section::Recall)).collect();
    }
    let offered = live
        .rows
        .iter()
        .filter(|row| set.row(**row).object_type == ObjectType::ToolSchema);
    let mut tools: Vec<_> = offered.map(|row| set.name(*row)).collect();
    tools.sort();
    let report = PlanReport {
        epoch,
        cause,
        frozen: frozen.len() as u32,
        tools,
    };
    Planned {
        resolved,
        report,
        frozen,
        moved,
        settings,
    }
}

/// Each served row's place, or why the epoch ends.
fn keep(
    ledger: &ServedLedger,
    live: &Live<'_>,
    policy: &Policy,
    request: &Request,
    settings: Digest,
) -> Result<BTreeMap<u32, u32>, EpochCause> {
    if ledger.settings.is_some_and(|served| served != settings) {
        return Err(EpochCause::SettingsChanged);
    }
    let set = live.set;
    // The same revision may be there, and have been served, more than once.
    let mut present: BTreeMap<_, VecDeque<u32>> = BTreeMap::new();
    for row in &live.rows {
        let id = set.object(*row).revision().id();
        present.entry(id).or_default().push_back(*row);
    }
    let mut frozen = BTreeMap::new();
    for (place, id) in ledger.floor.iter().enumerate() {
        let row = present.get_mut(id).and_then(VecDeque::pop_front);
        frozen.insert(row.ok_or(EpochCause::FrozenGone)?, place as u32);
    }
    // What cannot stand any more is gone, too. New tools wait, so nothing can lean on them.
    let waits = |row: &u32| {
        let section = set.row(*row).section;
        section == Section::Tools && policy.freezes(section) && !frozen.contains_key(row)
    };
    let standing = live.rows.iter().copied().filter(|row| !waits(row));
    let standing: Vec<u32> = standing.collect();
    let broken = Links::over(set, &standing).break_off(set);
    if frozen.keys().any(|row| broken.contains_key(row)) {
        return Err(EpochCause::FrozenGone);
    }
    let must_join = |row: &u32| {
        let section = set.row(*row).section;
        let fixed = matches!(
            section,
            Section::Identity | Section::Tools | Section::Policy
        );
        // A tool that a gate may turn away need not join: the gate chose when the epoch began.
        let gated = request.gate.is_some() && section == Section::Tools && set.row(*row).removable;
        let may_wait = gated || set.row(*row).optional;
        fixed && policy.freezes(section) && !may_wait && !frozen.contains_key(row)
    };
    if live.rows.iter().any(must_join) {
        Err(EpochCause::FloorGrew)
    } else {
        Ok(frozen)
    }
}
