//! Judgements on messages. A message that is quarantined or retracted stands in no request, in no summary and in no answer
//! of **rehydrate**, until that is taken back. The log keeps it, and a session as it was sees it as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Serialize;
use tenure::object::{ContradictionStatus, MessageStatus, clip};
use tenure::session::Checkpoint;
use tenure::time::Instant;
use tenure::{Error, ErrorKind, Unfetched};
use tenure_store::{Append, Writing, WrittenObject};

use super::draft::Ending;
use super::draft_inputs::Shortened;
use super::entry::{Entry, JudgedTurn, Judgement};
use super::exchanges::with_exchanges;
use super::{CHUNK, Session, Turn, parsed, written};

/// The most messages of a session that are quarantined or retracted at once.
const MOST: usize = 10_000;
/// The longest name, role or reason, in bytes.
const LONGEST: usize = 2_000;

/// A judgement on messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judging {
    /// The judgement; `clean` takes an earlier one back.
    pub status: MessageStatus,
    /// The person or key that judges.
    pub by: Option<String>,
    /// The role in which they do.
    pub role: Option<String>,
    /// The reason, in words.
    pub reason: Option<String>,
}

/// A message that is quarantined or retracted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct JudgedMessage {
    /// The message: `t17`.
    pub id: String,
    /// The judgement.
    pub status: MessageStatus,
    /// The instant at which it was judged.
    pub at: Instant,
    /// The person or key that judged it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The role in which they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The effect of a judgement.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct JudgedMessages {
    /// The session.
    pub session: String,
    /// The judgement.
    pub status: MessageStatus,
    /// The messages that it changed.
    pub messages: Vec<String>,
    /// Those of them that were not named: calls and results, which stand together or not at all.
    pub also: Vec<String>,
    /// The objects of the store that were found in them, and what fell with those.
    pub objects: Vec<WrittenObject>,
}

impl Judging {
    fn check(&self) -> Result<(), Error> {
        let texts = [
            ("by", &self.by),
            ("role", &self.role),
            ("reason", &self.reason),
        ];
        for (field, text) in texts {
            let Some(text) = text else {
                continue;
            };
            if text.trim().is_empty() || text.len() > LONGEST {
                let what = if text.trim().is_empty() {
                    format!("`{field}` is empty")
                } else {
                    format!("`{field}` has {} bytes", text.len())
                };
                return Err(Error::input(what)
                    .at(field, None)
                    .expected(format!("1 to {LONGEST} bytes, or none")));
            }
        }
        Ok(())
    }
}

impl Session {
    /// Judges the messages that an id names, as [`Session::rehydrate`] takes it, or takes that back. A call and its results
    /// are judged together. What the store holds of them as found there (`provenance.source_id`: `session ID t17`) is
    /// quarantined in the same transaction, with what was inferred from it alone; taking the judgement back leaves that to
    /// whoever judges it otherwise.
    ///
    /// # Errors
    ///
    /// As [`Session::rehydrate`]; [`ErrorKind::Input`] when one of them is the user's last request, which no compile can do
    /// without; [`ErrorKind::Conflict`] when another writer wrote meanwhile. Nothing is written then.
    pub fn judge(
        &mut self,
        id: &str,
        judging: &Judging,
        now: Instant,
    ) -> Result<JudgedMessages, Error> {
        judging.check()?;
        self.flush()?;
        let named: BTreeSet<u64> = self.said_as(id)?.into_iter().map(|(at, _)| at).collect();
        let mut all = named.clone();
        with_exchanges(&self.around(&named)?, &mut all);
        let sets_aside = judging.status != MessageStatus::Clean;
        if sets_aside {
            self.refuse_request(&all, &named)?;
        }
        let status_of =
            |turn: &u64| self.judged.get(turn).map_or(MessageStatus::Clean, |(_, status)| *status);
        let changed: Vec<u64> =
            all.iter().copied().filter(|turn| status_of(turn) != judging.status).collect();
        let mut judged = JudgedMessages {
            session: self.id().to_owned(),
            status: judging.status,
            messages: changed.iter().map(|turn| format!("t{turn}")).collect(),
            also: Vec::new(),
            objects: Vec::new(),
        };
        let unnamed = changed.iter().filter(|turn| !named.contains(turn));
        judged.also = unnamed.map(|turn| format!("t{turn}")).collect();
        if changed.is_empty() {
            return Ok(judged);
        }
        let fresh = changed.iter().filter(|turn| !self.judged.contains_key(turn));
        let count = self.judged.len() + fresh.count();
        if sets_aside && count > MOST {
            return Err(Error::input(format!("{count} messages would be judged"))
                .expected(format!("at most {MOST} of a session"))
                .hint("erase what is never to stand again, or begin a new session"));
        }
        let entry = Entry::Judged(Judgement {
            turns: changed.clone(),
            status: judging.status,
            at: self.latest.map_or(now, |latest| latest.max(now)),
            by: judging.by.clone(),
            role: judging.role.clone(),
            reason: judging.reason.clone(),
        });
        if !sets_aside {
            self.push(vec![entry])?;
            return Ok(judged);
        }
        self.check()?;
        let sources = changed.iter().map(|turn| format!("session {} t{turn}", self.id()));
        let append = Append {
            log: self.log.clone(),
            after: self.last,
            entries: vec![written(&entry)?],
        };
        let writing = Writing {
            author: judging.by.clone(),
            ..Writing::default()
        };
        let done = self.tenant.judge_found_in(
            append,
            sources.collect(),
            ContradictionStatus::Quarantined,
            &writing,
        );
        judged.objects = done.map_err(|error| self.written_meanwhile(error))?.objects;
        self.fold(self.last + 1, entry)?;
        self.set_aside();
        Ok(judged)
    }

    /// The messages that are quarantined or retracted, in order.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn judged(&self) -> Result<Vec<JudgedMessage>, Error> {
        let mut known: BTreeMap<u64, Judgement> = BTreeMap::new();
        let mut judged = Vec::with_capacity(self.judged.len());
        for (turn, (entry, status)) in &self.judged {
            if !known.contains_key(entry)
                && let Entry::Judged(found) = self.one(*entry)?
            {
                known.insert(*entry, found);
            }
            let Some(found) = known.get(entry) else {
                continue;
            };
            judged.push(JudgedMessage {
                id: format!("t{turn}"),
                status: *status,
                at: found.at,
                by: found.by.clone(),
                role: found.role.clone(),
                reason: found.reason.clone(),
            });
        }
        Ok(judged)
    }

    /// Refuses a judgement by which the user's last request would be in no request any more.
    fn refuse_request(&self, all: &BTreeSet<u64>, named: &BTreeSet<u64>) -> Result<(), Error> {
        let turns = self.request.iter().chain(&self.turns);
        let asked = turns.filter(|turn| turn.is_request()).map(|turn| turn.number).max();
        let Some(asked) = asked.filter(|asked| all.contains(asked)) else {
            return Ok(());
        };
        let what = if named.contains(&asked) {
            format!("t{asked} is the user's last request")
        } else {
            format!("t{asked}, the user's last request, could not stand without it")
        };
        Err(Error::input(what)
            .expected("a message before it, or after it")
            .hint("every compile needs it: judge it once the user has asked for something else, or erase it"))
    }

    /// The messages around these, as far as calls and results lie apart.
    fn around(&self, named: &BTreeSet<u64>) -> Result<Vec<Turn>, Error> {
        let (Some(first), Some(last)) = (named.first(), named.last()) else {
            return Ok(Vec::new());
        };
        let first = first.saturating_sub(CHUNK).max(2);
        let last = last.saturating_add(CHUNK).min(self.last);
        self.turns_in(first, last)
    }

    /// The messages of this part of the log, but for those that were taken back.
    pub(super) fn turns_in(&self, first: u64, last: u64) -> Result<Vec<Turn>, Error> {
        let mut turns: Vec<Turn> = Vec::new();
        let end = last.saturating_add(1);
        for (number, body) in self.tenant.entries_in(&self.log, first..end)? {
            match parsed(&self.log, number, &body)? {
                Entry::Said(message) => turns.push(Turn::new(number, message)),
                Entry::Withdrawn { after } => turns.retain(|turn| turn.number <= after),
                _ => {}
            }
        }
        Ok(turns)
    }

    /// The messages of the window behind this one, judged or not, in order.
    pub(super) fn turns_after(&self, after: u64) -> Vec<&Turn> {
        // What stands without its results is there, too.
        let aside = self.aside.iter().filter(|turn| !self.unanswering.contains(&turn.number));
        let mut turns: Vec<&Turn> =
            self.turns.iter().chain(aside).filter(|turn| turn.number > after).collect();
        turns.sort_by_key(|turn| turn.number);
        turns
    }

    pub(super) fn take_judgement(&mut self, entry: u64, judgement: &Judgement) {
        for turn in &judgement.turns {
            match judgement.status {
                MessageStatus::Clean => self.judged.remove(turn),
                status => self.judged.insert(*turn, (entry, status)),
            };
        }
        self.unsorted = true;
    }

    /// Moves what is judged out of the window, and back what is so no more.
    pub(super) fn set_aside(&mut self) {
        if !std::mem::take(&mut self.unsorted) {
            return;
        }
        let copies = std::mem::take(&mut self.unanswering);
        let mut all = std::mem::take(&mut self.turns);
        all.retain(|turn| !copies.contains(&turn.number));
        all.append(&mut self.aside);
        all.sort_by_key(|turn| turn.number);
        let mut out: BTreeSet<u64> = self.judged.keys().copied().collect();
        self.unanswering = with_exchanges(&all, &mut out);
        for turn in all {
            if out.contains(&turn.number) {
                self.aside.push(turn);
            } else if self.unanswering.contains(&turn.number) {
                self.turns.push(turn.without_answers());
                self.aside.push(turn);
            } else {
                self.turns.push(turn);
            }
        }
    }

    /// Returns whether a message is quarantined or retracted.
    pub(super) fn is_judged(&self, turn: u64) -> bool {
        self.judged.contains_key(&turn)
    }

    /// Returns whether its window lacks a message that its client sends, or anything was judged since it was compiled.
    pub(crate) fn leaves_out(&self) -> bool {
        !self.aside.is_empty() || self.judged_anew()
    }

    /// The messages whose judgement is not what it was when this epoch's summaries were made.
    pub(super) fn rejudged(&self) -> BTreeSet<u64> {
        let before: BTreeSet<u64> = self.mark.judged.iter().map(|one| one.turn).collect();
        let now: BTreeSet<u64> = self.judged.keys().copied().collect();
        before.symmetric_difference(&now).copied().collect()
    }

    /// Returns whether the judgement on anything that was sent, or that a summary speaks of, is another than it was then:
    /// the epoch ends.
    pub(super) fn judged_anew(&self) -> bool {
        let now: BTreeSet<u64> = self.judged.keys().copied().collect();
        if now == self.judged_before {
            return false;
        }
        let sent = self.served.last().map_or(0, |(at, _)| *at);
        let changed: BTreeSet<u64> =
            self.judged_before.symmetric_difference(&now).copied().collect();
        let mut summaries = self.frontier.checkpoints().iter();
        changed.iter().any(|turn| *turn < self.mark.from || *turn < sent)
            || summaries.any(|(_, summary)| summary.speaks_of(&changed))
    }

    /// Extends what a summary stands for to the judged messages beside its own, between the summary before it and what
    /// follows it: a judgement that is taken back finds it. Returns its end.
    pub(super) fn cover(&self, summary: &mut Checkpoint, between: Range<u64>) -> u64 {
        let aside = self.aside.iter().map(|turn| turn.number);
        for turn in aside.filter(|turn| between.contains(turn)) {
            summary.first = summary.first.min(turn);
            summary.last = summary.last.max(turn);
        }
        summary.last + 1
    }

    /// The first message that no summary replaces where so many of the window leave.
    pub(super) fn first_from(&self, start: usize) -> u64 {
        let first = self.turns.get(start).map(|turn| turn.number).unwrap_or(self.last + 1);
        self.aside
            .first()
            .filter(|_| start == 0)
            .map_or(first, |aside| aside.number.min(first))
    }

    /// The shorter forms of results. Where an epoch ends, none points to a message that is judged.
    pub(super) fn forms(&self, ending: Option<Ending>) -> Shortened {
        let mut forms = self.shortened.clone();
        if ending.is_some() {
            forms.retain(|(turn, _), text| {
                let is_left_out =
                    text.is_empty() && self.turns.iter().any(|known| known.number == *turn);
                !is_left_out
                    && !self
                        .judged
                        .keys()
                        .any(|judged| text.starts_with(&format!("[omitted: t{judged} ")))
            });
        }
        let left = self.turns.iter();
        for turn in left.filter(|turn| self.unanswering.contains(&turn.number)) {
            turn.leave_out_results(&mut forms);
        }
        forms
    }

    /// The judgements for the mark of an epoch.
    pub(super) fn judged_turns(&self) -> Vec<JudgedTurn> {
        self.judged
            .iter()
            .map(|(turn, (entry, status))| JudgedTurn {
                turn: *turn,
                entry: *entry,
                status: *status,
            })
            .collect()
    }

    /// The messages of the window that no request has, for its trace.
    pub(super) fn unsent_turns(&self) -> Vec<Unfetched> {
        self.aside
            .iter()
            .map(|turn| {
                let number = turn.number;
                let known = self.judged.get(&number).map(|(_, status)| status.term());
                let why = known.unwrap_or("the call that it answers was judged");
                if self.unanswering.contains(&number) {
                    Unfetched::new(format!("the results in message t{number}"), why)
                } else {
                    Unfetched::new(format!("message t{number}"), why)
                }
            })
            .collect()
    }

    /// Says of a message that it is judged: nothing is answered with it.
    pub(super) fn withheld(&self, turn: u64) -> Error {
        let status = self.judged.get(&turn).map(|(_, status)| status.term());
        let what = format!(
            "the message t{turn} of `{}` is {}",
            clip(self.id()),
            status.unwrap_or("judged")
        );
        Error::new(ErrorKind::Policy, what).hint(
            "`tenure session show` says by whom and why; `tenure session judge` takes it back",
        )
    }

    /// Says of a write that another one came before it.
    pub(super) fn written_meanwhile(&self, error: Error) -> Error {
        if error.kind != ErrorKind::Conflict {
            return error;
        }
        Error::new(
            ErrorKind::Conflict,
            format!("another writer wrote to the session `{}`", clip(self.id())),
        )
        .hint("nothing was written; read the session again, and retry")
    }
}
