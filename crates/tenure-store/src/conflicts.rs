//! The verbs over conflicts: pairs of claims that cannot both hold, and what was decided between them.

use std::collections::BTreeSet;

use serde::Serialize;
use tenure::belief::{Ground, Judgement, Loser};
use tenure::object::{ContradictionStatus, Decision, ObjectId, clip};
use tenure::time::{Instant, Interval};
use tenure::{Digest, Error, ErrorKind};

use crate::claims::{Kept, claims_of, kept, loser, pair_row, swapped};
use crate::engine::{Change, PairRow, Read};
use crate::labels::{Sees, open_objects};
use crate::merged::Merges;
use crate::tenant::{Outcome, Tenant, Writing, Written, WrittenObject};

/// The longest note of a decision, in bytes.
const MOST_NOTE: usize = 8 << 10;

/// One of the two objects of a conflict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Party {
    /// Its id.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// Its claims on the slot, as they are read.
    pub claims: Vec<String>,
}

/// A way in which a conflict can be resolved without asking the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResolverAction {
    /// A look at the place that one of them is kept up to date from.
    SystemOfRecord,
    /// Another look by the tool that one of them comes from.
    ToolLookup,
    /// A question to the user.
    UserQuestion,
}

/// A judgement on the claims of two objects on one slot.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Conflict {
    /// The object with the lower id.
    pub first: Party,
    /// The other one.
    pub second: Party,
    /// The entity.
    pub entity: String,
    /// The slot.
    pub slot: String,
    /// The one that does not stand.
    pub loser: Loser,
    /// The ground.
    pub ground: Ground,
    /// The judgement on the loser.
    pub status: ContradictionStatus,
    /// Since when both hold; missing means unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Instant>,
    /// Until when both hold; missing means open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
    /// The instant since which it is so judged.
    pub tx_start: Instant,
    /// The instant since which it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tx_end: Option<Instant>,
    /// The ids that the two objects name, where they are one entity only by a merge, as the caller may know of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<[String; 2]>,
    /// The author of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The note on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The ways to resolve it, where nothing tells the two apart or the loser is an inferred preference.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub actions: Vec<ResolverAction>,
}

impl Tenant {
    /// The judgements on pairs of claims that cannot both hold, now or at an instant. A caller is told of those of
    /// which both objects may be seen; of pairs that only a merge of entities makes, those that do so in the caller's view: they
    /// are judged as this is asked, over all claims, which a tenant without merges does not pay for.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn conflicts(
        &self,
        known: Option<Instant>,
        sees: Option<&Sees<'_>>,
    ) -> Result<Vec<Conflict>, Error> {
        self.read(|rows| {
            let merges = Merges::read(rows, &self.name, known, sees)?;
            let mut pairs = rows.pairs(None, known)?;
            if let Some(merges) = &merges {
                let made = merges.pairs(rows, &self.name, known, sees)?;
                merges.add(&mut pairs, None, made)?;
            }
            shown(rows, &self.name, pairs, merges.as_ref(), sees)
        })
    }

    /// Every judgement on the claims of two objects, the oldest first; empty for a caller who may not see both.
    ///
    /// # Errors
    ///
    /// As [`Tenant::conflicts`].
    pub fn conflict_history(
        &self,
        one: ObjectId,
        other: ObjectId,
        sees: Option<&Sees<'_>>,
    ) -> Result<Vec<Conflict>, Error> {
        self.read(|rows| {
            let (first, second) = (one.min(other), one.max(other));
            let merges = Merges::read(rows, &self.name, None, sees)?;
            let mut pairs = rows.pair_history(first, second)?;
            if let Some(merges) = &merges {
                let made = merges.pairs(rows, &self.name, None, sees)?;
                merges.add(&mut pairs, Some((first, second)), made)?;
            }
            shown(rows, &self.name, pairs, merges.as_ref(), sees)
        })
    }

    /// Decides between the claims of two objects, of which the first is `one`. The decision stays as long as both
    /// claims stand and cannot both hold.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when there is no open conflict between them, as where one of them is gone meanwhile;
    /// [`ErrorKind::Input`] when the note is too long; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn resolve_conflict(
        &self,
        one: ObjectId,
        other: ObjectId,
        stands: Decision,
        note: Option<&str>,
        writing: &Writing,
    ) -> Result<Written, Error> {
        if note.is_some_and(|note| note.len() > MOST_NOTE) {
            return Err(Error::input("the note of a decision is too long")
                .expected(format!("at most {MOST_NOTE} bytes")));
        }
        let asked = Digest::of(format!("{one} {other} {stands} {note:?}").as_bytes());
        let note = note.map(str::to_owned);
        let author = writing.author.clone();
        let tenant = self.name.to_string();
        self.once(writing, "resolve", asked, move |rows| {
            let (first, second) = (one.min(other), one.max(other));
            let stands = if first == one {
                stands
            } else {
                swapped(stands)
            };
            let stamp = rows.stamp()?;
            let known = rows.pairs(Some(&[first]), None)?;
            let known: Vec<PairRow> = known
                .into_iter()
                .filter(|row| row.second == second)
                .collect();
            let mut decided = known.clone();
            if let Some(merges) = Merges::read(rows, &tenant, None, None)? {
                let made = merges.pairs(rows, &tenant, None, None)?;
                merges.add(&mut decided, Some((first, second)), made)?;
            }
            if decided.is_empty() {
                let what = format!("there is no open conflict between `{one}` and `{other}`");
                return Err(Error::new(ErrorKind::Conflict, what)
                    .expected("two objects whose claims cannot both hold")
                    .hint("`tenure conflicts list` shows those that there are"));
            }
            let mut open = Vec::with_capacity(decided.len());
            for row in &decided {
                let decided = Kept {
                    loser: loser(stands),
                    ground: Ground::Person,
                    by: author.clone(),
                    note: note.clone(),
                    ..kept(row)?
                };
                let row = PairRow {
                    opened: stamp,
                    ..row.clone()
                };
                open.push(pair_row(&row, &decided)?);
            }
            rows.change_pairs(&known, &open)?;
            let mut change = Change::default();
            let mut written = Vec::new();
            for (id, standing) in rows.standing(&[first, second])? {
                let name = standing.name;
                // Whoever holds what is believed in memory reads both again.
                change
                    .objects
                    .push((id, standing.place, name.clone(), standing.head));
                written.push(WrittenObject {
                    object_id: id,
                    name: Some(name),
                    revision: Some(standing.head),
                    outcome: Outcome::Judged,
                    note: None,
                });
            }
            rows.change(&change)?;
            Ok(written)
        })
    }
}

/// These judgements, as they are shown. One that a merge makes is shown where it does so in the caller's view.
fn shown(
    rows: &mut dyn Read,
    tenant: &str,
    pairs: Vec<PairRow>,
    merges: Option<&Merges>,
    sees: Option<&Sees<'_>>,
) -> Result<Vec<Conflict>, Error> {
    let ids: BTreeSet<ObjectId> = pairs
        .iter()
        .flat_map(|row| [row.first, row.second])
        .collect();
    let ids: Vec<ObjectId> = ids.into_iter().collect();
    let open = open_objects(rows, tenant, ids.clone(), sees)?;
    let open: BTreeSet<ObjectId> = open.into_iter().collect();
    let standing = rows.standing(&ids)?;
    let claims = claims_of(rows, &ids)?;
    let heads = rows.heads(&ids)?;
    let mut conflicts = Vec::new();
    for row in pairs {
        if !open.contains(&row.first) || !open.contains(&row.second) {
            continue;
        }
        let kept = kept(&row)?;
        let is_one = |ids| merges.is_some_and(|merges| merges.join(ids));
        if !kept.merged.as_ref().is_none_or(is_one) {
            continue;
        }
        let named = kept.merged.clone();
        let named = named.unwrap_or_else(|| [kept.entity.clone(), kept.entity.clone()]);
        let entity = merges.filter(|_| kept.merged.is_some());
        let entity = entity.and_then(|merges| merges.meant(&named[0]));
        let entity = entity.unwrap_or(&kept.entity).to_owned();
        let party = |id: ObjectId, named: &String| {
            let own = claims.get(&id).into_iter().flatten();
            let own =
                own.filter(|(entity, claim)| entity == named && claim.claim.slot() == kept.slot);
            Party {
                object_id: id,
                name: standing
                    .get(&id)
                    .map_or(String::new(), |standing| clip(&standing.name)),
                claims: own.map(|(_, claim)| claim.claim.to_string()).collect(),
            }
        };
        let judgement = Judgement {
            loser: kept.loser,
            window: Interval::UNKNOWN,
            ground: kept.ground,
        };
        let open_question = kept.loser == Loser::Both && kept.ground != Ground::Person;
        conflicts.push(Conflict {
            first: party(row.first, &named[0]),
            second: party(row.second, &named[1]),
            status: if kept.loser == Loser::Neither {
                ContradictionStatus::Clean
            } else {
                judgement.status()
            },
            entity,
            slot: kept.slot,
            loser: kept.loser,
            ground: kept.ground,
            from: kept.from,
            until: kept.until,
            tx_start: row.opened.at,
            tx_end: row.closed.map(|closed| closed.at),
            merged: kept.merged,
            by: kept.by,
            note: kept.note,
            actions: if open_question {
                actions(
                    [row.first, row.second]
                        .into_iter()
                        .filter_map(|id| heads.get(&id)),
                )
            } else {
                Vec::new()
            },
        });
    }
    Ok(conflicts)
}

/// The ways to resolve a conflict between objects with these bodies: what knows best goes first.
fn actions<'b>(bodies: impl Iterator<Item = &'b String>) -> Vec<ResolverAction> {
    let mut actions = BTreeSet::new();
    for body in bodies {
        let document: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        if document.get("update_path").is_some() {
            actions.insert(0);
        }
        if document
            .get("object_type")
            .is_some_and(|kind| kind == "tool_result")
        {
            actions.insert(1);
        }
    }
    let mut actions: Vec<ResolverAction> = actions
        .into_iter()
        .map(|known| match known {
            0 => ResolverAction::SystemOfRecord,
            _ => ResolverAction::ToolLookup,
        })
        .collect();
    actions.push(ResolverAction::UserQuestion);
    actions
}
