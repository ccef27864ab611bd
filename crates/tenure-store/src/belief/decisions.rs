//! Decisions by hand between claims: what may be decided, and what is refused because it would leave nothing.
//!
//! Who loses to another is out, on whatever slot. So decisions never go round in a circle: all in it would be out, and nothing
//! would wait for anyone. For the same reason a decision waits for another one, where all that is left of a slot
//! would fall to each other by decisions and protocols together.

use std::collections::{BTreeMap, VecDeque};

use tenure::belief::{Ground, Loser};
use tenure::object::{Authority, Decision, ObjectId, clip};
use tenure::{Digest, Error, ErrorKind};

use crate::belief::claims::{Kept, kept, loser, pair_row, swapped};
use crate::belief::conflicts::told_of;
use crate::belief::empty_slots::{OnSlot, is_empty_slot, nothing_would_stand};
use crate::belief::judge::{left_alone, touched};
use crate::belief::merges::Merges;
use crate::entity::resolution::LOG;
use crate::rows::engine::{PairRow, Read, Standing, Write};
use crate::rows::labels::Sees;
use crate::rows::notes::WriteNote;
use crate::tenant::handle::Tenant;
use crate::tenant::writing::{Effect, Writing, Written};

/// The longest note of a decision, in bytes.
pub(crate) const MOST_NOTE: usize = 8 << 10;
/// The most objects of a circle that an error names.
const MOST_NAMED: usize = 8;
/// The most looks at what a caller may see of two objects that are written meanwhile.
const MOST_LOOKS: usize = 8;

/// The reason for which a decision is refused.
enum Refused {
    /// It closes a circle: from the one that loses to the one that wins, each was decided for over the next.
    Circle(Vec<ObjectId>),
    /// Nothing of the slot would stand: the first of these would fall to the second, on this ground.
    Bare(ObjectId, ObjectId, Ground, String),
}

impl Tenant {
    /// Decides between the claims of two objects, of which the first is `one`, in the view of a caller. The decision stays as
    /// long as both say what was decided between and cannot both hold. What is decided so already is left as it is, but for
    /// another note.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when there is no open conflict between them that the caller may see, as where one of them is gone
    /// meanwhile, when decisions would go round in a circle, and when nothing of the slot would stand;
    /// [`ErrorKind::Policy`] when a caller who is no operator takes away what has the authority of the platform or the
    /// developer; [`ErrorKind::Input`] when the note is too long; [`ErrorKind::Unavailable`] when the store cannot be reached.
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
        let asked = Digest::of(format!("{one} {other} {stands} {note:?}").as_bytes());
        let (first, second) = (one.min(other), one.max(other));
        let stands = if first == one {
            stands
        } else {
            swapped(stands)
        };
        let overrules = self.overrules(first, second, stands)?;
        // Who is no operator sees as somebody.
        if let Some(overrules) = overrules.filter(|_| sees.is_some()) {
            return Err(overrules.refusal());
        }
        let author = writing.author.clone();
        let note = note.map(str::to_owned);
        let made = move |before: &Kept| Kept {
            authorities: overrules.map(|overrules| overrules.authorities),
            loser: loser(stands),
            ground: Ground::Person,
            by: author.clone(),
            note: note.clone(),
            ..before.clone()
        };
        for _ in 0..MOST_LOOKS {
            // A caller decides what they see: what that is, is found outside of the write, which sees no caller.
            let shown = sees.map(|_| self.shown((first, second), sees)).transpose()?;
            if shown.as_ref().is_some_and(|shown| shown.open.is_empty()) {
                return Err(not_open(one, other));
            }
            match self.decide((first, second), shown, made.clone(), asked, writing)? {
                Done::Written(mut written) => {
                    if let Some(overrules) = overrules {
                        overrules.note(&mut written, [first, second]);
                    }
                    return Ok(written);
                }
                Done::Refused(refused) => return Err(self.told(&refused, sees)?),
                Done::Gone => return Err(not_open(one, other)),
                Done::Changed => {}
            }
        }
        let what = format!("`{one}` and `{other}` are written all the time");
        Err(Error::new(ErrorKind::Conflict, what).hint("try again"))
    }

    /// The objects that a decision takes away although they have the authority of the platform or the developer, where it takes
    /// any for less.
    fn overrules(
        &self,
        first: ObjectId,
        second: ObjectId,
        stands: Decision,
    ) -> Result<Option<Overrules>, Error> {
        let authority = |id: ObjectId| -> Result<Option<Authority>, Error> {
            let beliefs = self.get(id)?;
            let levels = beliefs.iter().map(|belief| belief.object.revision().authority_level());
            Ok(levels.min())
        };
        let Some(authorities) = authority(first)?.zip(authority(second)?) else {
            return Ok(None);
        };
        let authorities = <[Authority; 2]>::from(authorities);
        let [one, other] = authorities;
        let falls = match stands {
            Decision::First => [false, one > other],
            Decision::Second => [other > one, false],
            Decision::Neither => [true, true],
            _ => [false, false],
        };
        let falls = [0, 1].map(|at| falls[at] && authorities[at] <= Authority::Developer);
        Ok(falls.contains(&true).then_some(Overrules { authorities, falls }))
    }

    /// Decides the open judgements on two objects: those that were shown, or all.
    fn decide(
        &self,
        both: (ObjectId, ObjectId),
        shown: Option<Shown>,
        made: impl Fn(&Kept) -> Kept + Send + 'static,
        asked: Digest,
        writing: &Writing,
    ) -> Result<Done, Error> {
        let tenant = self.name.to_string();
        let done = self.once_unless(writing, "resolve", asked, move |rows| {
            let stamp = rows.stamp()?;
            let mut decided = match &shown {
                Some(shown) if shown.state != State::read(rows, both)? => {
                    return Ok(Err(Done::Changed));
                }
                Some(shown) => shown.open.clone(),
                None => open_between(rows, &tenant, both, None)?,
            };
            if decided.is_empty() {
                return Ok(Err(Done::Gone));
            }
            decided.retain(|(_, before, _)| !is_so(before, &made(before)));
            if decided.is_empty() {
                return left_alone(rows, &[both.0, both.1]).map(|same| Ok(Effect::on(same)));
            }
            let (close, mut open) = (stored(&decided), Vec::with_capacity(decided.len()));
            for (row, before, _) in &decided {
                let now = made(before);
                let row = PairRow {
                    opened: stamp,
                    ..row.clone()
                };
                open.push((pair_row(&row, &now)?, now));
            }
            if let Some(found) = refusal(rows, &open)? {
                return Ok(Err(Done::Refused(found)));
            }
            let open: Vec<PairRow> = open.into_iter().map(|(row, _)| row).collect();
            rows.change_pairs(&close, &open)?;
            touched(rows, &[both.0, both.1]).map(|changed| Ok(Effect::from(changed)))
        })?;
        Ok(done.map_or_else(|stopped| stopped, Done::Written))
    }

    /// The open judgements on two objects that a caller is told of.
    fn shown(&self, both: (ObjectId, ObjectId), sees: Option<&Sees<'_>>) -> Result<Shown, Error> {
        self.read(|rows| {
            let state = State::read(rows, both)?;
            let open = open_between(rows, &self.name, both, sees)?;
            let merges = Merges::read(rows, &self.name, None, sees)?;
            let open = told_of(rows, &self.name, (merges, sees), open)?;
            Ok(Shown { state, open })
        })
    }

    /// The error of a refused decision, which names what the caller may see.
    fn told(&self, refused: &Refused, sees: Option<&Sees<'_>>) -> Result<Error, Error> {
        let ids = match refused {
            Refused::Circle(chain) => chain.clone(),
            Refused::Bare(falls, by, ..) => vec![*falls, *by],
        };
        let names = self.names_seen(&ids, sees)?;
        let shown = ids.iter().map(|id| Some(format!("`{}`", names.get(id)?)));
        let Some(shown) = shown.collect::<Option<Vec<String>>>() else {
            return Ok(nothing_would_stand("decision"));
        };
        Ok(match refused {
            Refused::Circle(_) => {
                // From the one that is to win, back to it.
                let chain = if shown.len() <= MOST_NAMED {
                    let last = shown.last().cloned();
                    let all: Vec<String> = last.into_iter().chain(shown).collect();
                    format!(": {}", all.join(" over "))
                } else {
                    format!(" of {} objects", shown.len())
                };
                let what = format!("decisions would go round in a circle{chain}");
                Error::new(ErrorKind::Conflict, what)
                    .expected("decisions of which one, at least, stands over all others")
                    .hint("decide one of the others anew first, such as `--stands both`; `tenure conflicts list` shows them")
            }
            Refused::Bare(_, _, ground, slot) => {
                let (slot, both) = (clip(slot), shown.join(" and "));
                let falls = shown.join(" falls to ");
                let what = format!(
                    "after this decision no claim on `{slot}` would stand: {falls} by {ground}"
                );
                Error::new(ErrorKind::Conflict, what)
                    .expected("a claim that stands, or one that waits for a decision")
                    .hint(format!("decide between {both} first"))
            }
        })
    }
}

/// A decision that takes away what has the authority of the platform or the developer, for something that has less or for nothing.
#[derive(Clone, Copy)]
struct Overrules {
    /// The authorities of both.
    authorities: [Authority; 2],
    /// Those of both that are taken away.
    falls: [bool; 2],
}

impl Overrules {
    fn refusal(self) -> Error {
        let [one, other] = self.authorities;
        let what = format!(
            "one of the two has authority {}, the other {}: what has 0 or 1 falls to nothing of less",
            one.min(other).level(),
            one.max(other).level()
        );
        Error::new(ErrorKind::Policy, what).expected("an operator, who may decide so")
    }

    /// Says of what falls what it falls to.
    fn note(self, written: &mut Written, both: [ObjectId; 2]) {
        for at in [0, 1].into_iter().filter(|at| self.falls[*at]) {
            let mut objects = written.objects.iter_mut();
            if let Some(object) = objects.find(|object| object.object_id == both[at]) {
                object.note = Some(WriteNote::Overruled {
                    authority: self.authorities[at],
                    by: self.authorities[1 - at],
                });
            }
        }
    }
}

/// The end of a try to decide.
enum Done {
    Written(Written),
    Refused(Refused),
    /// There is nothing to decide.
    Gone,
    /// State that differs from what was shown.
    Changed,
}

/// Two objects as a caller is shown them, and the state that they were read in.
struct Shown {
    state: State,
    open: Vec<Judged>,
}

/// State that the judgements on two objects, and who sees them, follow from.
#[derive(PartialEq, Eq)]
struct State {
    standing: BTreeMap<ObjectId, Standing>,
    pairs: Vec<PairRow>,
    merges: u64,
}

impl State {
    fn read(rows: &mut dyn Read, both: (ObjectId, ObjectId)) -> Result<State, Error> {
        Ok(State {
            standing: rows.standing(&[both.0, both.1])?,
            pairs: pairs_of(rows, both)?,
            merges: rows.last(LOG)?,
        })
    }
}

/// Returns whether a decision is made already; a note that is not said again stays.
fn is_so(before: &Kept, made: &Kept) -> bool {
    let is_decided = before.ground == Ground::Person && before.loser == made.loser;
    is_decided && (made.note.is_none() || made.note == before.note)
}

/// The open judgements on two objects; none where both are the same object.
fn pairs_of(rows: &mut dyn Read, both: (ObjectId, ObjectId)) -> Result<Vec<PairRow>, Error> {
    let mut pairs = rows.pair_history(both.0, both.1)?;
    pairs.retain(|row| row.closed.is_none());
    pairs.sort_by_key(|row| (row.slot, row.opened));
    Ok(pairs)
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
    let mut known = pairs_of(rows, both)?;
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

/// The refusal of a decision after which nothing of its slot would stand and nothing would wait, at an instant at which something
/// did: of the claims that the store compares, whoever may see them.
fn left_bare(
    rows: &mut dyn Write,
    row: &PairRow,
    made: &Kept,
    (wins, loses): (ObjectId, ObjectId),
) -> Result<Option<Refused>, Error> {
    let named: Vec<String> = made.named().map(str::to_owned).to_vec();
    let on_slot = OnSlot::read(rows, &named, &made.slot, [wins, loses].into())?;
    let mut after = on_slot.decisions.clone();
    after.insert((row.first, row.second), made.loser);
    for at in on_slot.instants(&[wins, loses]) {
        let held = on_slot.at(at);
        let lost = on_slot.defeats(&held, at, &after);
        let before = || on_slot.defeats(&held, at, &on_slot.decisions);
        if !is_empty_slot(held.len(), &lost) || is_empty_slot(held.len(), &before()) {
            continue;
        }
        // From the one that wins, by what somebody decided, to the first that falls to something else; else what it falls to itself.
        let id = |place: usize| on_slot.ids[held[place]];
        let mut place = (0..held.len()).find(|place| id(*place) == wins).unwrap_or(0);
        let mut found = None;
        for _ in 0..held.len() {
            let Some(defeat) = lost.get(&place) else {
                break;
            };
            let ground = defeat.judgement.ground;
            let is_last = ground != Ground::Person;
            if is_last || found.is_none() {
                found = Some((id(place), id(defeat.by), ground));
            }
            if is_last {
                break;
            }
            place = defeat.by;
        }
        // Nothing stands: the one that wins falls to something.
        let (falls, by, ground) = found.unwrap_or((wins, loses, made.ground));
        return Ok(Some(Refused::Bare(falls, by, ground, made.slot.clone())));
    }
    Ok(None)
}
