//! Decisions by hand between claims: what may be decided, and what is refused because it would leave nothing.
//!
//! Who loses to another is out, on whatever slot. So decisions never go round in a circle: all in it would be out, and nothing
//! would wait for anyone. For the same reason a decision waits for another one, where all that is left of a slot
//! would fall to each other by decisions and protocols together.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use tenure::belief::{Defeat, Ground, Judgement, Loser, SlotClaim, defeats};
use tenure::object::{Decision, ObjectId, clip};
use tenure::time::{Instant, Position};
use tenure::{Digest, Error, ErrorKind};

use crate::claims::{Kept, MOST_OPPONENTS, claims_of, kept, loser, pair_row, slots_of, swapped};
use crate::engine::{Change, PairRow, Read, Write};
use crate::labels::{Sees, open_objects};
use crate::merged::Merges;
use crate::tenant::{Outcome, Tenant, Writing, Written, WrittenObject};

/// The longest note of a decision, in bytes.
const MOST_NOTE: usize = 8 << 10;
/// The most objects of a circle that an error names.
const MOST_NAMED: usize = 8;

/// The reason for which a decision is refused.
enum Refused {
    /// It closes a circle: from the one that loses to the one that wins, each was decided for over the next.
    Circle(Vec<ObjectId>),
    /// Nothing of the slot would stand: the first of these would fall to the second, on this ground.
    Bare(ObjectId, ObjectId, Ground, String),
}

impl Tenant {
    /// Decides between the claims of two objects, of which the first is `one`, in the view of a caller. The decision stays as
    /// long as both say what was decided between and cannot both hold.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when there is no open conflict between them that the caller may see, as where one of them is gone
    /// meanwhile, when decisions would go round in a circle, and when nothing of the slot would stand;
    /// [`ErrorKind::Input`] when the note is too long; [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn resolve_conflict(
        &self,
        one: ObjectId,
        other: ObjectId,
        stands: Decision,
        note: Option<&str>,
        sees: Option<&Sees<'_>>,
        writing: &Writing,
    ) -> Result<Written, Error> {
        if note.is_some_and(|note| note.len() > MOST_NOTE) {
            return Err(Error::input("the note of a decision is too long")
                .expected(format!("at most {MOST_NOTE} bytes")));
        }
        // In the view of a caller there may be less.
        if sees.is_some() && self.open_pairs(one, other, sees)?.is_empty() {
            return Err(not_open(one, other));
        }
        let asked = Digest::of(format!("{one} {other} {stands} {note:?}").as_bytes());
        let note = note.map(str::to_owned);
        let author = writing.author.clone();
        let tenant = self.name.to_string();
        let refused = Arc::new(Mutex::new(None));
        let tell = Arc::clone(&refused);
        let (first, second) = (one.min(other), one.max(other));
        let stands = if first == one {
            stands
        } else {
            swapped(stands)
        };
        let done = self.once(writing, "resolve", asked, move |rows| {
            let stamp = rows.stamp()?;
            let decided = open_between(rows, &tenant, (first, second), None)?;
            if decided.is_empty() {
                return Err(not_open(one, other));
            }
            let (close, mut open) = (stored(&decided), Vec::with_capacity(decided.len()));
            for (row, before, _) in &decided {
                let now = Kept {
                    loser: loser(stands),
                    ground: Ground::Person,
                    by: author.clone(),
                    note: note.clone(),
                    ..before.clone()
                };
                let row = PairRow {
                    opened: stamp,
                    ..row.clone()
                };
                open.push((pair_row(&row, &now)?, now));
            }
            if let Some(found) = refusal(rows, &open)? {
                *tell.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
                return Err(Error::new(ErrorKind::Conflict, "the decision is refused"));
            }
            let open: Vec<PairRow> = open.into_iter().map(|(row, _)| row).collect();
            rows.change_pairs(&close, &open)?;
            changed(rows, [first, second])
        });
        let refused = refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match (done, refused) {
            (Err(error), Some(refused)) if error.kind == ErrorKind::Conflict => {
                Err(self.told(&refused, sees)?)
            }
            (done, _) => done,
        }
    }

    /// The open judgements on two objects, in the view of a caller.
    fn open_pairs(
        &self,
        one: ObjectId,
        other: ObjectId,
        sees: Option<&Sees<'_>>,
    ) -> Result<Vec<Judged>, Error> {
        let both = (one.min(other), one.max(other));
        self.read(|rows| {
            let ids = vec![one, other];
            if open_objects(rows, &self.name, ids.clone(), sees)? != ids {
                return Ok(Vec::new());
            }
            open_between(rows, &self.name, both, sees)
        })
    }

    /// The error of a refused decision, which names what the caller may see.
    fn told(&self, refused: &Refused, sees: Option<&Sees<'_>>) -> Result<Error, Error> {
        let ids = match refused {
            Refused::Circle(chain) => chain.clone(),
            Refused::Bare(falls, by, ..) => vec![*falls, *by],
        };
        let names = self.read(|rows| {
            let open = open_objects(rows, &self.name, ids.clone(), sees)?;
            let standing = rows.standing(&open)?.into_iter();
            let names = standing.map(|(id, standing)| (id, clip(&standing.name)));
            Ok(names.collect::<BTreeMap<ObjectId, String>>())
        })?;
        let named = |id: &ObjectId| names.get(id).map(|name| format!("`{name}`"));
        Ok(match refused {
            Refused::Circle(chain) => {
                let shown: Option<Vec<String>> = chain.iter().map(named).collect();
                // From the one that is to win, back to it.
                let chain = match shown {
                    Some(shown) if shown.len() <= MOST_NAMED => {
                        let last = shown.last().cloned();
                        let all: Vec<String> = last.into_iter().chain(shown).collect();
                        format!(": {}", all.join(" over "))
                    }
                    _ => format!(" of {} objects", chain.len()),
                };
                let what = format!("decisions would go round in a circle{chain}");
                Error::new(ErrorKind::Conflict, what)
                    .expected("decisions of which one, at least, stands over all others")
                    .hint("decide one of the others anew first, such as `--stands both`; `tenure conflicts list` shows them")
            }
            Refused::Bare(falls, by, ground, slot) => {
                let slot = clip(slot);
                let (how, hint) = match (names.get(falls), names.get(by)) {
                    (Some(one), Some(other)) => (
                        format!(": `{one}` falls to `{other}` by {ground}"),
                        format!("decide between `{one}` and `{other}` first"),
                    ),
                    _ => (
                        String::new(),
                        "decide between others of them first".to_owned(),
                    ),
                };
                let what = format!("after this decision no claim on `{slot}` would stand{how}");
                Error::new(ErrorKind::Conflict, what)
                    .expected("a claim that stands, or one that waits for a decision")
                    .hint(hint)
            }
        })
    }
}

/// A judgement that can be decided, and whether the store keeps it.
type Judged = (PairRow, Kept, bool);

fn not_open(one: ObjectId, other: ObjectId) -> Error {
    let what = format!("there is no open conflict between `{one}` and `{other}`");
    Error::new(ErrorKind::Conflict, what)
        .expected("two objects whose claims cannot both hold")
        .hint("`tenure conflicts list` shows those that there are")
}

/// The open judgements on two objects, but those that rest because the merge that makes them is undone.
fn open_between(
    rows: &mut dyn Read,
    tenant: &str,
    both: (ObjectId, ObjectId),
    sees: Option<&Sees<'_>>,
) -> Result<Vec<Judged>, Error> {
    let mut known = rows.pairs(Some(&[both.0]), None)?;
    known.retain(|row| row.second == both.1);
    let count = known.len();
    let merges = Merges::read(rows, tenant, None, sees)?;
    if let Some(merges) = &merges {
        known = merges.with_made(rows, tenant, sees, both, known)?;
    }
    let mut open = Vec::with_capacity(known.len());
    for (at, row) in known.into_iter().enumerate() {
        let kept = kept(&row)?;
        let joins = |ids| merges.as_ref().is_some_and(|merges| merges.join(ids));
        if kept.merged.as_ref().is_none_or(joins) {
            open.push((row, kept, at < count));
        }
    }
    Ok(open)
}

fn stored(judged: &[Judged]) -> Vec<PairRow> {
    let stored = judged.iter().filter(|(_, _, is_stored)| *is_stored);
    stored.map(|(row, ..)| row.clone()).collect()
}

/// Says of these objects that something was decided: whoever holds what is believed in memory reads them again.
fn changed(rows: &mut dyn Write, ids: [ObjectId; 2]) -> Result<Vec<WrittenObject>, Error> {
    let mut change = Change::default();
    let mut written = Vec::new();
    for (id, standing) in rows.standing(&ids)? {
        let name = standing.name;
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
}

/// The reason against these decisions on two objects, if there is one.
fn refusal(rows: &mut dyn Write, decided: &[(PairRow, Kept)]) -> Result<Option<Refused>, Error> {
    let Some((row, made)) = decided.first() else {
        return Ok(None);
    };
    let (wins, loses) = match made.loser {
        Loser::First => (row.second, row.first),
        Loser::Second => (row.first, row.second),
        // That neither stands, or both do, is what somebody wants.
        _ => return Ok(None),
    };
    if let Some(chain) = chain(rows, loses, wins)? {
        return Ok(Some(Refused::Circle(chain)));
    }
    for (row, made) in decided {
        if let Some(bare) = left_bare(rows, row, made, (wins, loses))? {
            return Ok(Some(bare));
        }
    }
    Ok(None)
}

/// The way from one object to another of which each was decided for over the next; each object is read once. What is decided
/// between the two themselves is about to change, and decisions that rest with an undone merge count: they come back with it.
fn chain(
    rows: &mut dyn Write,
    from: ObjectId,
    to: ObjectId,
) -> Result<Option<Vec<ObjectId>>, Error> {
    let mut before: BTreeMap<ObjectId, ObjectId> = BTreeMap::new();
    let mut open = VecDeque::from([from]);
    while let Some(at) = open.pop_front() {
        for row in rows.decided(Some(&[at]), None)? {
            let next = match kept(&row)?.loser {
                Loser::First if row.second == at => row.first,
                Loser::Second if row.first == at => row.second,
                _ => continue,
            };
            let is_asked = (at, next) == (from, to);
            if is_asked || next == from || before.contains_key(&next) {
                continue;
            }
            before.insert(next, at);
            if next == to {
                let mut chain = vec![to];
                while let Some(last) = chain.last().and_then(|last| before.get(last)) {
                    chain.push(*last);
                }
                chain.reverse();
                return Ok(Some(chain));
            }
            open.push_back(next);
        }
    }
    Ok(None)
}

/// The claims on one slot that are compared, by their objects.
struct OnSlot {
    ids: Vec<ObjectId>,
    claims: Vec<SlotClaim>,
}

impl OnSlot {
    /// The strongest claims on the slot of a judgement, and those of the two objects that it is on.
    fn read(rows: &mut dyn Write, row: &PairRow, made: &Kept) -> Result<OnSlot, Error> {
        let named: Vec<String> = made.named().map(str::to_owned).to_vec();
        let mut members = BTreeSet::from([row.first, row.second]);
        for slot in slots_of(rows, &named, &made.slot)? {
            members.extend(rows.on_slot(slot, MOST_OPPONENTS)?);
        }
        let members: Vec<ObjectId> = members.into_iter().collect();
        let (mut ids, mut claims) = (Vec::new(), Vec::new());
        for (id, own) in claims_of(rows, &members)? {
            let mut own: Vec<SlotClaim> = own
                .into_iter()
                .filter(|(entity, claim)| named.contains(entity) && claim.claim.slot() == made.slot)
                .map(|(_, claim)| claim)
                .collect();
            own.dedup();
            ids.extend(own.iter().map(|_| id));
            claims.extend(own);
        }
        Ok(OnSlot { ids, claims })
    }

    /// The instants at which something else may stand than before.
    fn instants(&self) -> BTreeSet<Instant> {
        let valid = self.claims.iter().map(|claim| claim.standing.valid);
        let ends: BTreeSet<Instant> = valid
            .flat_map(|valid| [valid.from, valid.until])
            .flatten()
            .collect();
        let first = ends.first().map_or(0, |first| first.micros());
        let before = Instant::from_micros(first.saturating_sub(1));
        ends.into_iter().chain([before]).collect()
    }

    /// The claims that are held at an instant, those of both objects among them; none where these are not.
    fn at(&self, at: Instant, both: [ObjectId; 2]) -> Option<OnSlot> {
        let held =
            |place: &usize| self.claims[*place].standing.valid.locate(at) == Position::Inside;
        let held: Vec<usize> = (0..self.ids.len()).filter(held).collect();
        let ids: Vec<ObjectId> = held.iter().map(|place| self.ids[*place]).collect();
        both.iter().all(|id| ids.contains(id)).then(|| OnSlot {
            ids,
            claims: held
                .iter()
                .map(|place| self.claims[*place].clone())
                .collect(),
        })
    }

    /// Those that do not stand under these decisions.
    fn defeats(
        &self,
        at: Instant,
        decisions: &BTreeMap<(ObjectId, ObjectId), Loser>,
    ) -> BTreeMap<usize, Defeat> {
        let mut judged = BTreeMap::new();
        for (place, first) in self.ids.iter().enumerate() {
            for (other, second) in self.ids.iter().enumerate().skip(place + 1) {
                if let Some(loser) = decisions.get(&(*first, *second)) {
                    judged.insert((place, other), Judgement::decided(*loser));
                }
            }
        }
        defeats(&self.claims, Some(at), &judged)
    }

    /// Returns whether none of these stands and none waits.
    fn is_bare(&self, lost: &BTreeMap<usize, Defeat>) -> bool {
        let waits = |defeat: &Defeat| {
            defeat.judgement.loser == Loser::Both && defeat.judgement.ground != Ground::Person
        };
        lost.len() == self.ids.len() && !lost.values().any(waits)
    }
}

/// The refusal of a decision after which nothing of its slot would stand and nothing would wait, at an instant at which something
/// did: of the claims that the store compares, whoever may see them.
fn left_bare(
    rows: &mut dyn Write,
    row: &PairRow,
    made: &Kept,
    (wins, loses): (ObjectId, ObjectId),
) -> Result<Option<Refused>, Error> {
    let on_slot = OnSlot::read(rows, row, made)?;
    let mut decisions = BTreeMap::new();
    for known in rows.decided(Some(&on_slot.ids), None)? {
        decisions.insert((known.first, known.second), kept(&known)?.loser);
    }
    let mut after = decisions.clone();
    after.insert((row.first, row.second), made.loser);
    for at in on_slot.instants() {
        let Some(held) = on_slot.at(at, [wins, loses]) else {
            continue;
        };
        let lost = held.defeats(at, &after);
        if !held.is_bare(&lost) || held.is_bare(&held.defeats(at, &decisions)) {
            continue;
        }
        // From the one that wins, by what somebody decided, to the first that falls to something else.
        let mut place = held.ids.iter().position(|id| *id == wins).unwrap_or(0);
        for _ in 0..held.ids.len() {
            let Some(defeat) = lost.get(&place) else {
                break;
            };
            let ground = defeat.judgement.ground;
            if ground != Ground::Person {
                let (falls, by) = (held.ids[place], held.ids[defeat.by]);
                return Ok(Some(Refused::Bare(falls, by, ground, made.slot.clone())));
            }
            place = defeat.by;
        }
    }
    Ok(None)
}
