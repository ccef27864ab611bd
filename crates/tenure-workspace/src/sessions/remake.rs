//! Summaries made anew from their originals, where they speak of messages that were judged since they were made.

use std::collections::{BTreeMap, BTreeSet};

use tenure::Error;
use tenure::condense::turns::{Speaker, Standing, corrections};
use tenure::object::ToolCall;
use tenure::session::{Checkpoint, Frontier, Said, Shown, Summarizing, UserWords};

use super::draft_inputs::{DraftInputs, Shortened};
use super::entry::Entry;
use super::exchanges::with_exchanges;
use super::turn::Statement;
use super::{Session, Turn, unreadable};

/// Keeps a summary, and gives its number.
pub(super) type Keep<'k> = dyn FnMut(&Checkpoint) -> u64 + 'k;

/// A correction by the user: the message and the words.
type Correction = (u64, String);

/// The making of summaries anew.
struct Remaking<'r> {
    session: &'r Session,
    how: &'r DraftInputs<'r>,
    summarizing: &'r Summarizing<'r>,
    /// The messages whose judgement has changed.
    rejudged: &'r BTreeSet<u64>,
}

impl Session {
    /// What the model reads where the turns from `start` on stay as they are shown, with this request before them and these
    /// words of the user.
    pub(super) fn stays(
        &self,
        start: usize,
        request: Option<&Turn>,
        (shortened, words): (&Shortened, &UserWords),
    ) -> Shown {
        let stays = request
            .into_iter()
            .chain(&self.turns[start..])
            .flat_map(|turn| turn.stands_as(shortened));
        let quoted = words.stand.iter().map(|words| words.text.as_str());
        Shown::of(stays.chain(quoted))
    }

    /// Calls `make` with the way in which summaries are made where the model reads this anyway, and with what keeps a summary
    /// in the log and gives its number.
    pub(super) fn summarizing<T>(
        &self,
        shown: &Shown,
        how: &DraftInputs<'_>,
        entries: &mut Vec<Entry>,
        make: impl FnOnce(&Summarizing<'_>, &mut Keep<'_>) -> T,
    ) -> T {
        let count = |text: &str| how.world.tokenizer().count(text);
        let summarizing = Summarizing {
            policy: how.policy,
            task: how.task,
            count: &count,
            at: self.latest,
            shown,
        };
        let base = self.last;
        make(&summarizing, &mut |checkpoint| {
            entries.push(Entry::Checkpoint(checkpoint.clone()));
            base + entries.len() as u64
        })
    }

    /// A summary of turns; none where they say nothing. What the system says stands on as it was said.
    pub(super) fn summary_of<'t>(
        &self,
        turns: &'t [Turn],
        calls: &BTreeMap<&'t str, &'t ToolCall>,
        how: &DraftInputs<'_>,
        summarizing: &Summarizing<'_>,
    ) -> Option<Checkpoint> {
        let told: Vec<Statement<'_>> = turns
            .iter()
            .flat_map(|turn| turn.told(calls, self.pinned.contains(&turn.number)))
            .filter(|told| told.speaker != Speaker::System)
            .collect();
        let said: Vec<Said<'_>> = told.iter().map(Statement::as_said).collect();
        let from = turns.iter().map(|turn| turn.cost(how.world)).sum();
        let media = turns.iter().map(Turn::media).sum();
        Checkpoint::of_turns(&said, from, summarizing).map(|made| Checkpoint { media, ..made })
    }

    /// Makes those summaries anew that speak of messages whose judgement has changed since, of the turns as they are judged
    /// now. Summaries of summaries keep what has not changed.
    pub(super) fn remake(
        &self,
        shown: &Shown,
        how: &DraftInputs<'_>,
        frontier: &mut Frontier,
        entries: &mut Vec<Entry>,
    ) -> Result<(), Error> {
        let rejudged = self.rejudged();
        if rejudged.is_empty() {
            return Ok(());
        }
        self.summarizing(shown, how, entries, |summarizing, keep| {
            let remaking = Remaking {
                session: self,
                how,
                summarizing,
                rejudged: &rejudged,
            };
            *frontier = remaking.frontier(frontier, keep)?;
            Ok(())
        })
    }

    /// The corrections of the user that stand: in summaries and in the window.
    fn corrections(&self, frontier: &Frontier) -> Vec<Correction> {
        let kept =
            frontier
                .checkpoints()
                .iter()
                .flat_map(|(_, summary)| &summary.kept)
                .filter(|said| {
                    let is_correction = said.standing == Standing::Correction;
                    is_correction && said.speaker == Speaker::User && !self.is_judged(said.turn)
                });
        let mut found: Vec<Correction> = kept.map(|said| (said.turn, said.text.clone())).collect();
        for (turn, speaker, text) in self.turns.iter().flat_map(Turn::spoken) {
            if speaker == Speaker::User {
                let own = corrections(&text).into_iter();
                found.extend(own.map(|text| (turn, text.to_owned())));
            }
        }
        found
    }
}

impl Remaking<'_> {
    /// The frontier with the summaries that it concerns made anew.
    fn frontier(&self, frontier: &Frontier, keep: &mut Keep<'_>) -> Result<Frontier, Error> {
        let corrections = self.session.corrections(frontier);
        let mut made = Vec::with_capacity(frontier.checkpoints().len());
        for (number, summary) in frontier.checkpoints() {
            if !summary.speaks_of(self.rejudged) {
                made.push((*number, summary.clone()));
                continue;
            }
            let mut summary = self.made(*number, summary, keep)?;
            for (turn, text) in &corrections {
                let said = Said {
                    turn: *turn,
                    speaker: Speaker::User,
                    text,
                    pinned: false,
                    call: None,
                };
                if let Some(corrected) = summary.corrected(&said) {
                    summary = corrected;
                }
            }
            made.push((keep(&summary), summary));
        }
        Ok(Frontier::new(made))
    }

    /// The same summary of the turns as they are judged now. It stands for the same part of the log, so that a judgement
    /// which is taken back finds it again.
    fn made(
        &self,
        number: u64,
        old: &Checkpoint,
        keep: &mut Keep<'_>,
    ) -> Result<Checkpoint, Error> {
        let made = if old.of.is_empty() {
            self.of_turns(old)?
        } else {
            self.of_summaries(old, keep)?
        };
        let mut made = made.unwrap_or_else(|| Checkpoint {
            turns: 0,
            from: 0,
            media: 0,
            of: Vec::new(),
            kept: Vec::new(),
            said: Vec::new(),
            demoted: 0,
            source_ids: Vec::new(),
            at: self.summarizing.at,
            compression_ratio: None,
            ..old.clone()
        });
        (made.first, made.last, made.level) = (old.first, old.last, old.level);
        made.replaces = Some(number);
        let before = old.kept.iter().chain(&old.said).filter_map(|said| {
            let turn = said.corrected_in?;
            let stands = !self.session.is_judged(turn);
            stands.then_some(((said.turn, said.text.as_str()), turn))
        });
        let marks: BTreeMap<(u64, &str), u64> = before.collect();
        for said in made.kept.iter_mut().chain(&mut made.said) {
            let mark = marks.get(&(said.turn, said.text.as_str()));
            said.corrected_in = said.corrected_in.or(mark.copied());
        }
        Ok(made)
    }

    fn of_turns(&self, old: &Checkpoint) -> Result<Option<Checkpoint>, Error> {
        let session = self.session;
        let turns = session.turns_in(old.first, old.last)?;
        let mut out: BTreeSet<u64> = session.judged.keys().copied().collect();
        let unanswering = with_exchanges(&turns, &mut out);
        let turns: Vec<Turn> = turns
            .into_iter()
            .filter(|turn| !out.contains(&turn.number))
            .map(|turn| {
                if unanswering.contains(&turn.number) {
                    turn.without_answers()
                } else {
                    turn
                }
            })
            .collect();
        let calls: BTreeMap<&str, &ToolCall> = turns
            .iter()
            .flat_map(|turn| &turn.entry.objects)
            .flat_map(|object| &object.tool_calls)
            .map(|call| (call.id.as_str(), call))
            .collect();
        Ok(session.summary_of(&turns, &calls, self.how, self.summarizing))
    }

    fn of_summaries(
        &self,
        old: &Checkpoint,
        keep: &mut Keep<'_>,
    ) -> Result<Option<Checkpoint>, Error> {
        let mut children = Vec::with_capacity(old.of.len());
        for number in &old.of {
            let Entry::Checkpoint(child) = self.session.one(*number)? else {
                let log = &self.session.log;
                return Err(unreadable(log, *number, "a summary is expected there"));
            };
            children.push(if child.speaks_of(self.rejudged) {
                let made = self.made(*number, &child, keep)?;
                (keep(&made), made)
            } else {
                (*number, child)
            });
        }
        Ok(Checkpoint::of_checkpoints(&children, self.summarizing))
    }
}
