//! Outcomes and corrections: proposed by anyone, accepted by a person, and only then compiled, as `karma`.
//!
//! A proposal is an object that awaits confirmation, so nothing of it is compiled. What is done with it is a log that is
//! only appended to; it holds ids, names of people and keyed digests, and no text.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenure::error::ErrorKind;
use tenure::object::{
    Lifecycle, ObjectId, ObjectType, OutcomeDecision, OutcomeKind, OutcomeState, clip,
};
use tenure::time::Instant;
use tenure::{Digest, Error, ObjectDocument};

use crate::belief::judge::{activate, rejudge_all, retract_all};
use crate::rows::engine::{BeliefRow, Read, Standing, Write};
use crate::rows::labels::{Parts, Sees, open};
use crate::rows::notes::WriteNote;
use crate::rows::stored::{each_of, unwritable};
use crate::tenant::alongside::any_believed;
use crate::tenant::handle::Tenant;
use crate::tenant::writing::{Put, Writing, Written, WrittenObject};
use crate::write::{note, write};

/// The log of what is done with outcomes.
pub(crate) const LOG: &str = "outcomes";
/// The digits of a content's digest in a name that is made from it.
const DIGITS: usize = 12;
/// The longest name of a person, and the longest description of a mistake.
const MOST_NAME: usize = 256;
const MOST_MISTAKE: usize = 16 << 10;

/// An outcome to propose.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// The object. Its type is `outcome`; without a name it is named after its content.
    pub document: ObjectDocument,
    /// The kind.
    pub kind: OutcomeKind,
    /// The record of the compile that it is of.
    pub record: Option<String>,
    /// The mistake that a correction corrects, in words: the same words again are a repeat.
    pub mistake: Option<String>,
}

/// An outcome, and what was done with it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct OutcomeLine {
    /// The object.
    pub object_id: ObjectId,
    /// Its name.
    pub name: String,
    /// The kind.
    pub kind: OutcomeKind,
    /// The stage that it is in.
    pub state: OutcomeState,
    /// Its content.
    pub content: String,
    /// The record of the compile that it is of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// The author of the proposal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed_by: Option<String>,
    /// The instant of the proposal.
    pub proposed_at: Instant,
    /// The person who decided last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// The instant of that decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<Instant>,
    /// The number of times that the mistake was made again after the correction was accepted.
    pub repeats: u64,
}

/// A step in the life of an outcome.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutcomeEntry {
    /// The instant.
    pub at: Instant,
    /// The outcome's object.
    pub object_id: ObjectId,
    /// The step.
    pub does: OutcomeStep,
    /// The author of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The kind, of a proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<OutcomeKind>,
    /// The record of the compile that it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
}

/// A step that an outcome takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(
    rename_all = "snake_case",
    expecting = "no step of an outcome: `propose`, `accept`, `reject`, `withdraw` or `repeat`"
)]
#[non_exhaustive]
pub enum OutcomeStep {
    /// It is proposed.
    Propose,
    /// Its mistake was made again.
    Repeat,
    /// A person decides on it.
    #[serde(untagged)]
    Decide(OutcomeDecision),
}

/// An entry of the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    at: Instant,
    /// The outcome's object: when that is erased, the entry goes, too.
    source: ObjectId,
    does: Does,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<OutcomeKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record_id: Option<String>,
    /// The keyed digest of the mistake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mistake: Option<Digest>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Does {
    Propose,
    Decide(OutcomeDecision),
    Repeat,
}

/// State of one outcome by the log.
#[derive(Clone, Debug)]
struct Folded {
    state: OutcomeState,
    proposed: Entry,
    decided: Option<Entry>,
    repeats: u64,
}

impl Folded {
    /// The state of the outcome as its object stands: one that was retracted in another way than by a decision is withdrawn.
    fn state_of(&self, standing: Option<&Standing>) -> OutcomeState {
        let beliefs = standing.map_or(&[][..], |standing| &standing.beliefs);
        let is_there = match self.state {
            OutcomeState::Proposed => beliefs.iter().any(BeliefRow::waits),
            OutcomeState::Accepted => any_believed(beliefs),
            _ => true,
        };
        if is_there {
            self.state
        } else {
            OutcomeState::Withdrawn
        }
    }
}

fn folded(rows: &mut dyn Read) -> Result<BTreeMap<ObjectId, Folded>, Error> {
    let mut outcomes: BTreeMap<ObjectId, Folded> = BTreeMap::new();
    each_of(rows, LOG, &mut |entry: Entry| {
        let known = outcomes.get_mut(&entry.source);
        match (entry.does, known) {
            (Does::Propose, _) => {
                let fresh = Folded {
                    state: OutcomeState::Proposed,
                    proposed: entry.clone(),
                    decided: None,
                    repeats: 0,
                };
                outcomes.insert(entry.source, fresh);
            }
            (_, None) => {}
            (Does::Repeat, Some(known)) => known.repeats += 1,
            (Does::Decide(decision), Some(known)) => {
                (_, known.state) = decision.states();
                known.decided = Some(entry);
            }
        }
        Ok(())
    })?;
    Ok(outcomes)
}

/// The number of outcomes that correct a mistake of which the words are known by a digest under the tenant's key.
pub(crate) fn mistakes(rows: &mut dyn Read) -> Result<usize, Error> {
    let outcomes = folded(rows)?;
    Ok(outcomes.values().filter(|known| known.proposed.mistake.is_some()).count())
}

/// Calls `each` with every step of an outcome, in the order of the log.
pub(crate) fn each_entry(
    rows: &mut dyn Read,
    each: &mut dyn FnMut(OutcomeEntry) -> Result<(), Error>,
) -> Result<(), Error> {
    each_of(rows, LOG, &mut |entry: Entry| {
        each(OutcomeEntry {
            at: entry.at,
            object_id: entry.source,
            does: match entry.does {
                Does::Propose => OutcomeStep::Propose,
                Does::Decide(decision) => OutcomeStep::Decide(decision),
                Does::Repeat => OutcomeStep::Repeat,
            },
            by: entry.by,
            kind: entry.kind,
            record: entry.record_id,
        })
    })
}

/// Checks the steps of outcomes that were taken elsewhere, each with the number of its line: no step is taken from a state in
/// which an outcome cannot take it.
pub(crate) fn check_steps(steps: &[(usize, OutcomeEntry)]) -> Result<(), (usize, Error)> {
    let mut states: BTreeMap<ObjectId, (OutcomeState, Instant)> = BTreeMap::new();
    for (line, step) in steps {
        let broken = |error: Error| Err((*line, error));
        let before = states.get(&step.object_id).copied();
        if let Some((_, last)) = before.filter(|(_, last)| step.at < *last) {
            let what = format!(
                "the step is of {}, and the one before it of {last}",
                step.at
            );
            return broken(
                Error::input(what).expected("the steps of an outcome, the oldest first"),
            );
        }
        let decision = match step.does {
            OutcomeStep::Propose if step.kind.is_none() => {
                let error = Error::input("the proposal has no `kind`");
                return broken(error.expected("`correction` or `outcome`"));
            }
            OutcomeStep::Decide(decision) => Some(decision),
            OutcomeStep::Propose | OutcomeStep::Repeat => None,
        };
        let state = match (before, decision) {
            (None, _) if step.does != OutcomeStep::Propose => {
                return broken(
                    no_outcome(step.object_id)
                        .expected("its proposal on a line before")
                        .hint("take over all lines of the export"),
                );
            }
            (Some((state, _)), Some(decision)) if state != decision.states().0 => {
                return broken(in_state(state, decision).hint("take over all lines of the export"));
            }
            (_, Some(decision)) => {
                let by = step.by.as_deref().unwrap_or_default();
                person(by).map_err(|error| (*line, error))?;
                decision.states().1
            }
            (_, None) if step.does == OutcomeStep::Propose => OutcomeState::Proposed,
            (before, None) => before.map_or(OutcomeState::Proposed, |(state, _)| state),
        };
        states.insert(step.object_id, (state, step.at));
    }
    Ok(())
}

/// Adds steps that were taken elsewhere.
pub(crate) fn take(rows: &mut dyn Write, steps: &[(usize, OutcomeEntry)]) -> Result<(), Error> {
    let entries = steps.iter().map(|(_, step)| Entry {
        at: step.at,
        source: step.object_id,
        does: match step.does {
            OutcomeStep::Propose => Does::Propose,
            OutcomeStep::Decide(decision) => Does::Decide(decision),
            OutcomeStep::Repeat => Does::Repeat,
        },
        by: step.by.clone(),
        kind: step.kind,
        record_id: step.record.clone(),
        mistake: None,
    });
    append(rows, &entries.collect::<Vec<_>>())
}

fn append(rows: &mut dyn Write, entries: &[Entry]) -> Result<(), Error> {
    if entries.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = entries
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()
        .map_err(|error| unwritable(&error))?;
    let last = rows.last(LOG)?;
    if !rows.append(LOG, last, &lines)? {
        return Err(Error::assertion(
            "the log of outcomes has one writer at a time",
        ));
    }
    Ok(())
}

/// The keyed digest of a mistake: the same words in any case and spacing are the same.
fn mistake_digest(key: &[u8; 32], mistake: &str) -> Digest {
    let words: Vec<String> = mistake.split_whitespace().map(tenure::belief::folded).collect();
    Digest::keyed(key, &[b"mistake", words.join(" ").as_bytes()])
}

fn known_record(rows: &mut dyn Read, record: Option<&str>) -> Result<(), Error> {
    let Some(record) = record else {
        return Ok(());
    };
    if rows.record(record)?.is_some() {
        return Ok(());
    }
    Err(
        Error::not_found(format!("there is no record `{}`", clip(record)))
            .hint("`tenure store records` lists those that there are"),
    )
}

/// A person, by name.
fn person(by: &str) -> Result<String, Error> {
    let named = by.trim();
    if named.is_empty() || named.len() > MOST_NAME || named.chars().any(char::is_control) {
        return Err(
            Error::input("the person who decides has no name")
                .at("by", None)
                .expected(format!(
                    "1 to {MOST_NAME} bytes, without control characters"
                )),
        );
    }
    Ok(named.to_owned())
}

impl Tenant {
    /// Proposes an outcome: it is kept and not compiled until a person accepts it. A correction of a mistake that an
    /// accepted one corrects already is not kept: it is counted as a repeat of that mistake, and the answer names the
    /// correction that there is.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the document is no outcome; [`ErrorKind::NotFound`] when there is no such record;
    /// [`ErrorKind::Conflict`] when there is an object of this name already; otherwise as [`Tenant::put`].
    pub fn propose_outcome(&self, proposal: Proposal, writing: &Writing) -> Result<Written, Error> {
        let Proposal {
            mut document,
            kind,
            record,
            mistake,
        } = proposal;
        if document.object_type.is_some_and(|own| own != ObjectType::Outcome) {
            return Err(Error::input("what is proposed is no outcome")
                .at("object_type", None)
                .expected("`outcome`, or none"));
        }
        document.object_type = Some(ObjectType::Outcome);
        if document.name.is_empty() {
            let digest = Digest::of(document.content.as_bytes()).to_string();
            let digits = digest.rsplit(':').next().unwrap_or_default();
            document.name = format!("outcome-{}", digits.get(..DIGITS).unwrap_or(digits));
        }
        let mistake = mistake.filter(|text| !text.trim().is_empty());
        if mistake.as_ref().is_some_and(|text| text.len() > MOST_MISTAKE) {
            return Err(Error::input("the mistake is too long")
                .at("mistake", None)
                .expected(format!("at most {MOST_MISTAKE} bytes")));
        }
        if mistake.is_some() && kind == OutcomeKind::Outcome {
            return Err(Error::input("only a correction corrects a mistake")
                .at("mistake", None)
                .expected("the kind `correction` beside it"));
        }
        let mut drafts = self.draft(vec![Put::new(document)])?;
        for draft in &mut drafts.each {
            draft.lifecycle = Lifecycle::AwaitingConfirmation;
        }
        let outcome = drafts.each[0].object.revision();
        let id = outcome.object_id();
        let about = format!("{kind:?} {record:?} {mistake:?}");
        let asked = Digest::of_parts([outcome.id().bytes().as_slice(), about.as_bytes()]);
        let (tenant, author) = (self.name.clone(), writing.author.clone());
        self.once(writing, "propose", asked, move |rows| {
            known_record(rows, record.as_deref())?;
            let stamp = rows.stamp()?;
            let key = rows.key()?.unwrap_or_default();
            let mistake = mistake.as_deref().map(|text| mistake_digest(&key, text));
            let outcomes = folded(rows)?;
            let entry = |source, does| Entry {
                at: stamp.at,
                source,
                does,
                by: author.clone(),
                kind: Some(kind),
                record_id: record.clone(),
                mistake,
            };
            let same: Vec<ObjectId> = outcomes
                .iter()
                .filter(|(_, known)| {
                    known.state == OutcomeState::Accepted
                        && mistake.is_some()
                        && known.proposed.mistake == mistake
                })
                .map(|(id, _)| *id)
                .collect();
            let standing = rows.standing(&same)?;
            let stands = |id: &&ObjectId| {
                outcomes.get(*id).is_some_and(|known| {
                    known.state_of(standing.get(*id)) == OutcomeState::Accepted
                })
            };
            if let Some(known) = same.iter().find(stands) {
                append(rows, &[entry(*known, Does::Repeat)])?;
                let repeats = outcomes.get(known).map_or(0, |known| known.repeats);
                return counted(rows, *known, repeats + 1);
            }
            let open = rows.standing(&[id])?.remove(&id);
            if let Some(open) = open.filter(|open| !open.beliefs.is_empty()) {
                let state = outcomes.get(&id).map(|known| known.state);
                if state != Some(OutcomeState::Proposed) {
                    let what = format!("`{}` is there already", clip(&open.name));
                    return Err(Error::new(ErrorKind::Conflict, what)
                        .expected("a name that nothing goes by")
                        .hint("an accepted outcome is withdrawn first"));
                }
            }
            let compared = write(rows, &tenant, &drafts)?;
            append(rows, &[entry(id, Does::Propose)])?;
            // A proposal binds no names.
            Ok(note(compared, BTreeMap::new()))
        })
    }

    /// Decides on an outcome, as a person.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] when the object is no outcome that was proposed; [`ErrorKind::Conflict`] when it is in
    /// another state; [`ErrorKind::Input`] when the person has no name; [`ErrorKind::Unavailable`] when the store
    /// cannot be reached.
    pub fn decide_outcome(
        &self,
        id: ObjectId,
        decision: OutcomeDecision,
        by: &str,
        writing: &Writing,
    ) -> Result<Written, Error> {
        self.decide_proposal(id, None, decision, by, writing)
    }

    /// Decides on the proposal that was made at an instant, where the person saw that one: it may have been made
    /// anew, in other words.
    ///
    /// # Errors
    ///
    /// As [`Tenant::decide_outcome`]; [`ErrorKind::Conflict`] when it is another proposal.
    pub fn decide_proposal(
        &self,
        id: ObjectId,
        proposed_at: Option<Instant>,
        decision: OutcomeDecision,
        by: &str,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let by = person(by)?;
        let asked = Digest::of(format!("{id} {by}").as_bytes());
        self.once(writing, decision.term(), asked, move |rows| {
            let stamp = rows.stamp()?;
            let known = folded(rows)?.remove(&id).ok_or_else(|| no_outcome(id))?;
            let held = rows.standing(&[id])?.remove(&id);
            let state = known.state_of(held.as_ref());
            let (from, _) = decision.states();
            if state != from {
                return Err(in_state(state, decision));
            }
            if let Some(at) = proposed_at.filter(|at| *at != known.proposed.at) {
                let what = format!("the outcome was proposed anew at {}", known.proposed.at);
                return Err(Error::new(ErrorKind::Conflict, what)
                    .expected(format!("the proposal of {at}"))
                    .hint("read what it says now, and decide on that"));
            }
            let entry = Entry {
                at: stamp.at,
                source: id,
                does: Does::Decide(decision),
                by: Some(by.clone()),
                kind: None,
                record_id: None,
                mistake: None,
            };
            append(rows, &[entry])?;
            if decision == OutcomeDecision::Accept {
                return activate(rows, &[id], &Parts::default());
            }
            if decision == OutcomeDecision::Reject
                && held.is_some_and(|held| any_believed(&held.beliefs))
            {
                return rejudge_all(rows, &[id], |row| (!row.waits()).then(|| row.clone()));
            }
            retract_all(rows, id)
        })
    }

    /// Counts that the mistake of an accepted correction was made again.
    ///
    /// # Errors
    ///
    /// As [`Tenant::decide_outcome`]; [`ErrorKind::Input`] when it is no correction.
    pub fn repeat_mistake(
        &self,
        id: ObjectId,
        record: Option<&str>,
        writing: &Writing,
    ) -> Result<Written, Error> {
        let asked = Digest::of(format!("{id} {record:?}").as_bytes());
        let (record, by) = (record.map(str::to_owned), writing.author.clone());
        self.once(writing, "repeat_mistake", asked, move |rows| {
            known_record(rows, record.as_deref())?;
            let stamp = rows.stamp()?;
            let known = folded(rows)?.remove(&id).ok_or_else(|| no_outcome(id))?;
            if known.proposed.kind != Some(OutcomeKind::Correction) {
                return Err(
                    Error::input(format!("the outcome `{id}` corrects no mistake"))
                        .expected("a correction"),
                );
            }
            let state = known.state_of(rows.standing(&[id])?.get(&id));
            if state != OutcomeState::Accepted {
                let what = format!("the correction is {state}");
                return Err(Error::new(ErrorKind::Conflict, what)
                    .expected("one that was accepted: before that, a mistake is no repeat"));
            }
            let entry = Entry {
                at: stamp.at,
                source: id,
                does: Does::Repeat,
                by: by.clone(),
                kind: None,
                record_id: record.clone(),
                mistake: None,
            };
            append(rows, &[entry])?;
            counted(rows, id, known.repeats + 1)
        })
    }

    /// The outcomes, as far as a caller may see them, in the order of their proposals.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn outcomes(&self, sees: Option<&Sees<'_>>) -> Result<Vec<OutcomeLine>, Error> {
        self.read(|rows| {
            let known = folded(rows)?;
            let ids: Vec<ObjectId> = known.keys().copied().collect();
            let standing = rows.standing(&ids)?;
            // Each is shown as it stands, where a caller may see that.
            let mut told: Vec<BeliefRow> = Vec::new();
            for (id, one) in &standing {
                let state = known.get(id).map(|known| known.state);
                told.extend(tells(&one.beliefs, state == Some(OutcomeState::Proposed)));
            }
            let told = open(&self.name, told, None, sees)?;
            let bodies = rows.bodies(&told.iter().collect::<Vec<_>>())?;
            let gone = standing.iter().filter(|(_, one)| one.beliefs.is_empty());
            let heads = rows.heads(&gone.map(|(id, _)| *id).collect::<Vec<_>>())?;
            let mut rows_of: BTreeMap<ObjectId, Vec<BeliefRow>> = BTreeMap::new();
            for row in told {
                rows_of.entry(row.object).or_default().push(row);
            }
            let mut lines = Vec::with_capacity(known.len());
            for (id, known) in known {
                let Some(standing) = standing.get(&id) else {
                    continue;
                };
                let own = rows_of.get(&id).map_or(&[][..], Vec::as_slice);
                if own.is_empty() && sees.is_some() {
                    continue;
                }
                let head = own.iter().find(|row| row.revision == standing.head);
                let body = match head.or(own.last()) {
                    Some(row) => bodies.get(&row.revision),
                    None => heads.get(&id),
                };
                let document: serde_json::Value =
                    body.and_then(|body| serde_json::from_str(body).ok()).unwrap_or_default();
                let name = document.get("name").and_then(serde_json::Value::as_str);
                let content = document.get("content").and_then(serde_json::Value::as_str);
                let state = known.state_of(Some(standing));
                let decided = known.decided;
                lines.push(OutcomeLine {
                    object_id: id,
                    name: name.unwrap_or(&standing.name).to_owned(),
                    kind: known.proposed.kind.unwrap_or(OutcomeKind::Outcome),
                    state,
                    content: content.unwrap_or_default().to_owned(),
                    record: known.proposed.record_id,
                    proposed_by: known.proposed.by,
                    proposed_at: known.proposed.at,
                    decided_by: decided.as_ref().and_then(|entry| entry.by.clone()),
                    decided_at: decided.map(|entry| entry.at),
                    repeats: known.repeats,
                });
            }
            lines.sort_by_key(|line| (line.proposed_at, line.object_id));
            Ok(lines)
        })
    }
}

/// The beliefs about an outcome that say what it is: of what is only proposed, what waits; else what is believed, where anything is.
fn tells(beliefs: &[BeliefRow], proposed: bool) -> impl Iterator<Item = BeliefRow> {
    let any_waits = beliefs.iter().any(BeliefRow::waits);
    let waits = if proposed {
        any_waits
    } else {
        !any_believed(beliefs)
    };
    beliefs.iter().filter(move |row| row.waits() == waits).cloned()
}

/// The correction as it stays, with the number of times that its mistake was repeated.
fn counted(rows: &mut dyn Write, id: ObjectId, repeats: u64) -> Result<Vec<WrittenObject>, Error> {
    let mut written = rejudge_all(rows, &[id], |row| Some(row.clone()))?;
    for one in &mut written {
        one.note = Some(WriteNote::MistakeRepeated { repeats });
    }
    Ok(written)
}

/// Refuses to confirm an outcome past the decision of a person on it.
pub(crate) fn refuse_proposed(rows: &mut dyn Read, ids: &[ObjectId]) -> Result<(), Error> {
    let known = folded(rows)?;
    let proposed =
        |id: &&ObjectId| known.get(id).is_some_and(|known| known.state == OutcomeState::Proposed);
    let Some(id) = ids.iter().find(proposed) else {
        return Ok(());
    };
    let what = format!("the outcome `{id}` is proposed, and not accepted yet");
    Err(Error::new(ErrorKind::Conflict, what).hint("`tenure review accept` says who accepted it"))
}

fn no_outcome(id: ObjectId) -> Error {
    Error::not_found(format!("`{id}` is no outcome that was proposed"))
        .hint("`tenure outcome list` shows those that were")
}

fn in_state(state: OutcomeState, decision: OutcomeDecision) -> Error {
    let (from, _) = decision.states();
    let what = format!("the outcome is {} already", state);
    let what = if state == OutcomeState::Proposed {
        "the outcome is proposed, and not accepted yet".to_owned()
    } else {
        what
    };
    let hint = match state {
        OutcomeState::Proposed => "reject it instead",
        OutcomeState::Accepted => "withdraw it instead",
        _ => "propose it anew",
    };
    Error::new(ErrorKind::Conflict, what)
        .expected(format!("one that is {}", from))
        .hint(hint)
}
