//! The passages and records of messages that say something about a question: what **rehydrate** answers with,
//! and what a long history that is cut for the first time brings along.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::value::RawValue;
use tenure::Error;
use tenure::condense::turns::Speaker;
use tenure::condense::{ContentType, detect};
use tenure::ranker::{Ranker, Unit, Weights};

use super::draft::{Draft, Ending};
use super::draft_inputs::DraftInputs;
use super::entry::{Entry, Recalled};
use super::own_calls::OwnCalls;
use super::{CHUNK, Message, Session, Turn, parsed};
use tenure::passages::split;

/// A message that is looked through.
pub(super) struct Page<'p> {
    pub(super) speaker: &'p str,
    pub(super) date: &'p str,
    pub(super) text: &'p str,
}

/// A part of a message that says something about a question.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Passage {
    /// The index of the message.
    pub(super) page: usize,
    /// The range in its text.
    pub(super) range: Range<usize>,
    /// Its nearness, from 0 to 1.
    pub(super) score: f64,
    /// To which of the questions.
    pub(super) question: usize,
}

/// So much of what has left the window is looked through, in bytes: the newest of it.
const LOOKED_AT: usize = 16 << 20;
/// The number of passages in a row without room that ends the search.
const MISSES: usize = 64;
/// A longer record is cut like a text, in bytes.
const RECORD: usize = 1_600;
/// The number of sentences of a question that are asked for one by one, the last ones.
const QUESTIONS: usize = 24;
/// The longest of them, in bytes.
const LONGEST: usize = 2_000;
/// A line of a passage of records stays if it is so near to the question as the nearest one, in hundredths.
const NEAR: f64 = 0.5;

/// Messages cut into passages, ready to be asked.
pub(super) struct Passages<'p> {
    pages: Vec<Page<'p>>,
    places: Vec<(usize, Range<usize>)>,
}

impl<'p> Passages<'p> {
    pub(super) fn of(pages: Vec<Page<'p>>) -> Passages<'p> {
        let mut places = Vec::new();
        for (at, page) in pages.iter().enumerate() {
            places.extend(pieces(page.text).into_iter().map(|range| (at, range)));
        }
        Passages { pages, places }
    }

    fn units(&self) -> Vec<Unit<'_>> {
        let units = (0u64..).zip(&self.places).map(|(order, (page, range))| {
            let Page {
                speaker,
                date,
                text,
            } = &self.pages[*page];
            Unit {
                speaker,
                date,
                text: &text[range.clone()],
                order: Some(order),
                ..Unit::default()
            }
        });
        units.collect()
    }

    /// The passages that say something about any of these questions, the nearest to each before the second
    /// nearest to any. What is less near to a question than `floor` of the nearest is left out.
    pub(super) fn about(&self, questions: &[&str], floor: f64) -> Vec<Passage> {
        let units = self.units();
        let ranker = Ranker::new(&units, Weights::default());
        let mut lists: Vec<_> = (0..questions.len())
            .map(|question| {
                let ranked = ranker.rank(questions[question], None);
                let most = ranked.first().map_or(0.0, |(_, score)| *score);
                let near = move |(_, score): &(usize, f64)| *score > 0.0 && *score >= floor * most;
                (question, ranked.into_iter().take_while(near))
            })
            .collect();
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        while !lists.is_empty() {
            let mut left = Vec::new();
            for (question, mut list) in lists {
                if let Some((at, score)) = list.find(|(at, _)| !seen.contains(at)) {
                    seen.insert(at);
                    let (page, range) = self.places[at].clone();
                    found.push(Passage {
                        page,
                        range,
                        score,
                        question,
                    });
                    left.push((question, list));
                }
            }
            lists = left;
        }
        found
    }

    /// The same passage without the records in it that say nothing about the question.
    pub(super) fn narrowed(&self, passage: &Passage, question: &str) -> Vec<Range<usize>> {
        let text = self.pages[passage.page].text;
        let range = passage.range.clone();
        let within = &text[range.clone()];
        let is_lines = matches!(
            detect(within),
            ContentType::Log | ContentType::Table | ContentType::Search
        );
        if !is_lines {
            return vec![range];
        }
        let mut lines = Vec::new();
        let mut at = range.start;
        for line in within.split_inclusive('\n') {
            lines.push(at..at + line.trim_end().len());
            at += line.len();
        }
        let units: Vec<Unit<'_>> = lines
            .iter()
            .map(|line| Unit {
                text: &text[line.clone()],
                ..Unit::default()
            })
            .collect();
        let ranked = Ranker::new(&units, Weights::default()).rank(question, None);
        let most = ranked.first().map_or(0.0, |(_, score)| *score);
        let mut near: Vec<usize> = ranked
            .into_iter()
            .take_while(|(_, score)| *score > 0.0 && *score >= NEAR * most)
            .map(|(line, _)| line)
            .collect();
        if near.is_empty() {
            return vec![range];
        }
        near.sort_unstable();
        // Rows say little without the names of their columns.
        if detect(within) == ContentType::Table && near[0] != 0 {
            near.insert(0, 0);
        }
        near.into_iter().map(|line| lines[line].clone()).collect()
    }
}

/// The least nearness of a passage, as a share of that of the nearest: below it, a newer turn is worth more.
const FLOOR: f64 = 0.2;
/// So often a draft is made longer, or shorter.
const TRIES: u32 = 6;
/// The number of entries of the log before the window that are searched, the newest.
const LOOKED_THROUGH: u64 = 4_096;
/// The cost of a passage besides its text, at most, in tokens: its frame.
const FRAME: u64 = 64;

impl Session {
    /// Returns whether none of its history was ever sent: there is no prefix that a cut would change.
    pub(crate) fn is_unsent(&self) -> bool {
        !self.goes_on && self.served.is_empty() && self.mark.ledger.is_none()
    }

    /// Takes over what stands in the tail again: messages, or these passages of them.
    pub(super) fn take_over(&mut self, turns: Vec<u64>, passages: Vec<Recalled>) {
        self.carried.retain(|(known, _)| !turns.contains(known));
        let mut of: BTreeMap<u64, String> =
            passages.into_iter().map(|passage| (passage.turn, passage.text)).collect();
        let turns = turns.into_iter().map(|turn| (turn, of.remove(&turn)));
        self.carried.extend(turns);
    }

    /// The passages of messages that say something about the task and about the user's last words, within `tokens`
    /// tokens.
    pub(super) fn recall(
        &self,
        how: &DraftInputs<'_>,
        tokens: u64,
    ) -> Result<Vec<Recalled>, Error> {
        let asked = self.last_request().unwrap_or_default();
        let asked = if asked.contains(how.task) {
            asked
        } else {
            format!("{}\n{asked}", how.task)
        };
        let last = self
            .turns
            .iter()
            .rev()
            .find(|turn| turn.is_request())
            .map_or(u64::MAX, |turn| turn.number);
        // What a later call changed is no answer.
        let mut passed_over: BTreeSet<(u64, u32)> =
            self.superseded().into_iter().map(|(place, ..)| place).collect();
        let mut own = OwnCalls::default();
        for turn in &self.turns {
            own.see(&turn.entry.objects);
            let answers =
                (0u32..).zip(&turn.entry.objects).filter(|(_, object)| own.answers(object));
            passed_over.extend(answers.map(|(part, _)| (turn.number, part)));
        }
        let whole = self.said_whole(how)?;
        let others = self.turns.iter().filter(|turn| turn.number != last);
        let said: Vec<(u64, Speaker, String)> = others
            .flat_map(|turn| (0u32..).zip(turn.words()))
            .filter(|(part, (turn, ..))| !passed_over.contains(&(*turn, *part)))
            // What the system says stands whole.
            .filter(|(_, (_, speaker, _))| *speaker != Speaker::System)
            .map(|(_, said)| said)
            .chain(self.left()?)
            .filter(|(turn, ..)| *turn != last)
            .filter(|(turn, speaker, text)| !whole.needs_no_passage(*turn, *speaker, text))
            .collect();
        let pages = said.iter().map(|(_, speaker, text)| Page {
            speaker: speaker.term(),
            date: "",
            text,
        });
        let pages = Passages::of(pages.collect());
        let mut chosen: BTreeMap<u64, (usize, Vec<Range<usize>>)> = BTreeMap::new();
        let (mut spent, mut misses) = (0, 0);
        let asked = questions(&asked);
        for passage in pages.about(&asked, FLOOR) {
            if misses == MISSES {
                break;
            }
            let page = passage.page;
            let (turn, _, text) = &said[page];
            let known = chosen.get(turn);
            // Of a message of several parts one is told.
            if known.is_some_and(|(other, _)| *other != page) {
                continue;
            }
            let ranges = pages.narrowed(&passage, asked[passage.question]);
            let frame = if known.is_none() { FRAME } else { 0 };
            let cost = ranges
                .iter()
                .map(|range| u64::from(how.world.price(&text[range.clone()])) + 2)
                .sum::<u64>()
                + frame;
            if spent + cost > tokens {
                misses += 1;
                continue;
            }
            (spent, misses) = (spent + cost, 0);
            let (_, told) = chosen.entry(*turn).or_insert((page, Vec::new()));
            told.extend(ranges);
        }
        let recalled = chosen.into_iter().map(|(turn, (page, ranges))| {
            let (_, speaker, text) = &said[page];
            Recalled::of(turn, *speaker, &together(text, ranges))
        });
        Ok(recalled.collect())
    }

    /// The texts that are no longer in the window and may be recalled: those before this epoch, or, where the user
    /// has asked for something since then, the messages before it.
    fn left(&self) -> Result<Vec<(u64, Speaker, String)>, Error> {
        let began = self.served.first().map_or(u64::MAX, |(at, _)| *at);
        let asked = self.turns.iter().rev().find(|turn| turn.is_request());
        if asked.is_none_or(|asked| asked.number < began) {
            let recalled =
                self.mark.recalled.iter().filter(|recalled| !self.is_judged(recalled.turn));
            return Ok(recalled.filter_map(Recalled::said).collect());
        }
        let first = self.turns.first().map_or(0, |turn| turn.number);
        let oldest = first.saturating_sub(LOOKED_THROUGH).max(2);
        let mut left: Vec<(u64, Message)> = Vec::new();
        let (mut end, mut bytes, mut withdrawn) = (first, 0, u64::MAX);
        while end > oldest && bytes < LOOKED_AT {
            let start = end.saturating_sub(CHUNK).max(oldest);
            for (number, body) in self.tenant.entries_in(&self.log, start..end)?.into_iter().rev() {
                match parsed(&self.log, number, &body)? {
                    Entry::Said(_) if self.is_judged(number) => {}
                    Entry::Said(message) if number <= withdrawn && bytes < LOOKED_AT => {
                        bytes += body.len();
                        left.push((number, message));
                    }
                    // It takes back what stands between that entry and itself.
                    Entry::Withdrawn { after } => withdrawn = withdrawn.min(after),
                    _ => {}
                }
            }
            end = start;
        }
        let mut own = OwnCalls::default();
        let said = left.into_iter().rev().flat_map(|(number, mut message)| {
            own.leave_out(&mut message);
            Turn::new(number, message).words()
        });
        Ok(said.filter(|(_, speaker, _)| *speaker != Speaker::System).collect())
    }

    /// The draft that begins an epoch with about `low` tokens, standing instructions not counted. Passages and summaries take
    /// their room from the turns that stay.
    pub(super) fn lowered(
        &self,
        how: &DraftInputs<'_>,
        ending: Ending,
        low: u64,
    ) -> Result<Draft, Error> {
        let most = low.saturating_add(self.instructions_about());
        let mut turns = low;
        let mut draft = self.draft(how, Some(ending))?;
        for _ in 0..TRIES {
            let over = draft.tokens.saturating_sub(most);
            if over == 0 || turns == 0 {
                break;
            }
            // With fewer turns there is more to summarise.
            turns = turns.saturating_sub(over);
            let ending = Ending {
                low: Some(turns),
                ..ending
            };
            draft = self.draft(how, Some(ending))?;
        }
        Ok(draft)
    }

    /// The draft that begins an epoch, with as many turns as fill about `tokens` tokens.
    pub(super) fn filled(
        &self,
        how: &DraftInputs<'_>,
        mut ending: Ending,
        fill: u64,
    ) -> Result<Draft, Error> {
        let mut best = self.draft(how, Some(ending))?;
        let mut low = ending.low.unwrap_or(0);
        let (mut tokens, mut fits, mut overfills) = (best.tokens, 0, u64::MAX);
        for _ in 0..TRIES {
            let slack = fill / 100;
            if fill.abs_diff(tokens) <= 2 * slack && tokens <= fill {
                break;
            }
            if tokens <= fill {
                fits = low.max(fits);
            } else {
                overfills = low.min(overfills);
            }
            // With more turns the summaries are others, and cost more or less.
            let aimed = (low + fill).saturating_sub(tokens + slack);
            low = if (fits..overfills).contains(&aimed) && aimed != low {
                aimed
            } else {
                fits.midpoint(overfills.min(fill))
            };
            ending.low = Some(low);
            let other = self.draft(how, Some(ending))?;
            tokens = other.tokens;
            if tokens <= fill && tokens > best.tokens {
                best = other;
            }
        }
        Ok(best)
    }
}

impl Recalled {
    /// A passage as it stands: with its message, and whose it is.
    fn of(turn: u64, speaker: Speaker, passage: &str) -> Recalled {
        Recalled {
            turn,
            text: format!("[{turn} {speaker}] {passage}"),
        }
    }

    /// The passage as it was said.
    fn said(&self) -> Option<(u64, Speaker, String)> {
        let (head, passage) = self.text.split_once("] ")?;
        let (_, speaker) = head.split_once(' ')?;
        let speakers = [Speaker::User, Speaker::Assistant, Speaker::Tool];
        let speaker = speakers.into_iter().find(|one| one.term() == speaker)?;
        Some((self.turn, speaker, passage.to_owned()))
    }
}

/// The questions of a text: all of it, then sentence by sentence.
pub(super) fn questions(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = text
        .split(['\n', '?', '!', ';'])
        .flat_map(|line| line.split(". "))
        .map(str::trim)
        .filter(|part| part.split_whitespace().count() > 1 && part.len() <= LONGEST)
        .collect();
    let first = parts.len().saturating_sub(QUESTIONS);
    parts.drain(..first);
    if parts.len() != 1 && !text.trim().is_empty() {
        parts.push(&text[text.ceil_char_boundary(text.len().saturating_sub(2 * LONGEST))..]);
    }
    parts
}

/// The ranges of the passages of a text; of a list of records in JSON each record.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let Some(records) = records(text) else {
        return split(text);
    };
    let mut ranges = Vec::new();
    for record in records {
        let start = record.as_ptr() as usize - text.as_ptr() as usize;
        if record.len() <= RECORD {
            ranges.push(start..start + record.len());
        } else {
            let parts = split(record).into_iter();
            ranges.extend(parts.map(|part| start + part.start..start + part.end));
        }
    }
    ranges
}

/// The records of a JSON text: those of a list, alone or under a key.
fn records(text: &str) -> Option<Vec<&str>> {
    let start = text.trim_start();
    let raws = |text: &'_ str| -> Option<Vec<Range<usize>>> {
        let list: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let base = text.as_ptr() as usize;
        let places = list.iter().map(|raw| {
            let from = raw.get().as_ptr() as usize - base;
            from..from + raw.get().len()
        });
        Some(places.collect())
    };
    let list = match start.as_bytes().first()? {
        b'[' => start,
        b'{' => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(start).ok()?;
            // The fields next to the list would be lost.
            let longest = fields
                .values()
                .map(|raw| raw.get())
                .max_by_key(|raw| raw.len())
                .filter(|raw| raw.starts_with('['))?;
            (longest.len() * 10 >= start.len() * 9).then_some(longest)?
        }
        _ => return None,
    };
    let places = raws(list).filter(|places| places.len() > 1)?;
    Some(places.into_iter().map(|place| &list[place]).collect())
}

/// Passages of a text in order, with a mark where something between them is left out.
pub(super) fn together(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_by_key(|range| range.start);
    let mut said = String::new();
    let mut end = None;
    for range in ranges {
        let start = end.map_or(range.start, |end: usize| range.start.max(end));
        if let Some(end) = end {
            let between = text.get(end..start).unwrap_or_default();
            if between.trim().is_empty() {
                said.push_str(between)
            } else {
                said.push_str("\n…\n")
            }
        }
        said.push_str(text.get(start..range.end).unwrap_or_default());
        end = end.max(Some(range.end));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pages<'p>(texts: &[&'p str]) -> Passages<'p> {
        let page = |text: &&'p str| Page {
            speaker: "tool",
            date: "",
            text,
        };
        Passages::of(texts.iter().map(page).collect())
    }

    #[test]
    fn the_record_comes_back_and_not_the_list() {
        let records: Vec<String> = (0..200)
            .map(|id| format!(r#"{{"id": {id}, "owner": "team {}"}}"#, id * 7))
            .collect();
        for list in [
            format!("[{}]", records.join(",\n")),
            format!(r#"{{"items": [{}], "next": null}}"#, records.join(", ")),
        ] {
            let all = pages(&[&list]);
            let best = &all.about(&["Who owns the record of team 917?"], 0.0)[0];
            assert_eq!(
                &list[best.range.clone()],
                r#"{"id": 131, "owner": "team 917"}"#
            );
        }
    }

    #[test]
    fn lines_of_a_log_come_back_alone() {
        let log: String = (0..60)
            .map(|at| {
                format!(
                    "2026-06-06T12:00:{at:02}Z INFO pump {at} runs at {} bar\n",
                    at * 3
                )
            })
            .collect();
        let all = pages(&[&log]);
        let question = "How many bar has pump 41?";
        let best = &all.about(&[question], 0.0)[0];
        let lines = all.narrowed(best, question);
        let said: Vec<&str> = lines.into_iter().map(|line| &log[line]).collect();
        assert!(
            said.iter().any(|line| line.contains("pump 41 runs")),
            "{said:?}"
        );
        assert!(said.len() < 6, "{said:?}");
    }

    #[test]
    fn each_question_has_its_turn() {
        let noise = "The gateway is healthy, the port of the gateway is open.\n\n".repeat(40);
        let all = pages(&[&noise, "The colour of the door is teal."]);
        let asked =
            questions("Say of the gateway: what is its port? And what colour has the door?");
        assert_eq!(asked.len(), 3);
        let found = all.about(&asked, 0.0);
        let teal = found.iter().position(|passage| passage.page == 1);
        assert!(teal.is_some_and(|at| at < 3), "{teal:?}");
    }

    proptest! {
        #[test]
        fn any_text_is_cut_where_it_may_be(text in "[\\[\\]{}\",:a-c0-9 \né漢]{0,60}", question in "[a-c0-9?. \n漢]{0,30}") {
            let all = pages(&[&text]);
            for passage in all.about(&questions(&question), 0.3) {
                for range in all.narrowed(&passage, &question) {
                    prop_assert!(text.get(range).is_some());
                }
            }
        }
    }
}
