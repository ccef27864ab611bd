//! The draft of a request from a session: the summaries, the turns that stay, what was sent between them.

use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use tenure::condense::turns::Speaker;
use tenure::num::Score;
use tenure::object::{Authority, ObjectType, Protection, Provenance, Role, ToolCall};
use tenure::request::ServedLedger;
use tenure::session::{
    Frontier, Group, Said, SessionPolicy, Step, Summarizing, Superseded, leaving, superseded,
};
use tenure::time::Instant;
use tenure::trace::EpochCause;
use tenure::wire::read_message;
use tenure::{ContextObject, Error, ObjectDocument, Target, Unfetched, World, wire};

use super::AROUND;
use super::draft_inputs::{DraftInputs, READS, Shortened};
use super::entry::{Entry, Mark, Recalled, Served};
use super::instructions::{Instruction, newest};
use super::remake::Keep;
use super::{PricedObject, Session, Turn};

/// The description of a tool that was called and is no longer offered.
const GONE: &str =
    "It was used earlier in this conversation. It is not offered now: do not call it.";

/// The suffix of the name of a turn's original, where it stands in the tail.
pub(super) const AGAIN: &str = " again";

/// The divisor of the turns' cost that limits a summary, where the policy does not allow more.
const SUMMARIES: u64 = 16;

/// An epoch that ends now.
#[derive(Clone, Copy)]
pub(super) struct Ending {
    pub(super) cause: EpochCause,
    /// The tokens that the turns that stay may have, where the history is cut.
    pub(super) low: Option<u64>,
}

/// The part of a session that a compile takes.
pub(super) struct Draft {
    /// The entries to append to the log for it.
    pub(super) entries: Vec<Entry>,
    pub(super) objects: Vec<Arc<ContextObject>>,
    pub(super) unfetched: Vec<Unfetched>,
    pub(super) ledger: Option<ServedLedger>,
    /// The cost of the history in tokens, about.
    pub(super) tokens: u64,
    /// Whether the history became shorter.
    pub(super) cut: bool,
}

/// The longest name of a tool that a pointer names as it is.
const LONGEST_NAME: usize = 128;

/// Returns whether a tool reads originals.
pub(super) fn reads_originals(tool: &str) -> bool {
    let before = tool.strip_suffix(READS);
    before.is_some_and(|before| !before.ends_with(|last: char| last.is_ascii_alphanumeric()))
}

/// Returns the name of a tool that reads originals as a pointer has it: one that providers would not take is no part of
/// a text.
fn as_named(tool: &str) -> &str {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if tool.len() <= LONGEST_NAME && tool.chars().all(is_plain) {
        tool
    } else {
        READS
    }
}

/// Returns the first of these tools that reads originals, as a pointer names it.
pub(super) fn reading_tool<'t>(mut tools: impl Iterator<Item = &'t str>) -> Option<&'t str> {
    tools.find(|tool| reads_originals(tool)).map(as_named)
}

/// Returns the tool of a namespace that reads originals: Codex offers those of an MCP server as one.
pub(super) fn reading_tool_of(namespace: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Namespace {
        r#type: String,
        name: String,
        tools: Vec<Named>,
    }
    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }
    // Nearly all others are no namespaces, and are not read.
    if !namespace.contains(READS) {
        return None;
    }
    let read: Namespace = serde_json::from_str(namespace).ok()?;
    let mut tools = read.tools.iter().filter(|_| read.r#type == "namespace");
    let tool = tools.find(|tool| reads_originals(&tool.name))?;
    let whole = format!("{}.{}", read.name, tool.name);
    Some(as_named(&whole).to_owned())
}

impl DraftInputs<'_> {
    /// Returns whether the model takes a message of the system only between the user and the model.
    fn takes_system_between(&self) -> bool {
        let rules = self.world.model().messages.unwrap_or_default();
        self.target == Target::AnthropicMessages && rules.mid_conversation_system == Some(true)
    }

    /// Returns whether the model's reasoning is refused where anything before it changed.
    fn binds_reasoning(&self) -> bool {
        let rules = self.world.model().messages.unwrap_or_default();
        self.target == Target::AnthropicMessages && rules.bound_reasoning == Some(true)
    }
}

impl Session {
    pub(super) fn draft(
        &self,
        how: &DraftInputs<'_>,
        ending: Option<Ending>,
    ) -> Result<Draft, Error> {
        let mut entries = Vec::new();
        let mut shortened = self.forms(ending);
        // What was sent keeps its form until the epoch ends, also where a later budget is smaller.
        let sent = self.served.last().map_or(0, |(at, _)| *at);
        let sent = if ending.is_some() { 0 } else { sent };
        for turn in self.turns.iter().filter(|turn| turn.number > sent) {
            for part in turn.too_long(how) {
                if let Slot::Vacant(slot) = shortened.entry((turn.number, part)) {
                    let text = slot.insert(turn.shorter(part, how)).clone();
                    let turn = turn.number;
                    entries.push(Entry::Shortened { turn, part, text });
                }
            }
        }
        let (mut start, mut replaced) = (0, false);
        let reasons_from = self.reasons_from(how, ending);
        let low = ending.and_then(|ending| ending.low);
        if let Some(low) = low {
            // What a later call of the same tool with the same arguments returned stands for it, and what
            // was changed since is no longer so.
            for ((turn, part), later, changed) in self.superseded() {
                if self.pinned.contains(&turn) {
                    continue;
                }
                let why = if changed { "changed it" } else { "is newer" };
                let text = format!("[omitted: t{later} {why}{}]", how.found_with(turn));
                let shown = shortened.get(&(turn, part)).map(String::as_str);
                let said = || self.content(turn, part);
                if how.world.price(shown.unwrap_or_else(said)) > 2 * how.world.price(&text) {
                    shortened.insert((turn, part), text.clone());
                    entries.push(Entry::Shortened { turn, part, text });
                    replaced = true;
                }
            }
            start = self.leaving(how, &shortened, (low, reasons_from));
        }
        // What stands before the window stands there until the epoch ends, whatever the user says since.
        let mut request = self.request.as_ref().filter(|turn| !self.is_judged(turn.number));
        let asked = self.turns.iter().rposition(Turn::is_request);
        if let Some(last) = asked.filter(|_| ending.is_some()) {
            request = self.turns[..start].get(last);
        }
        let words = match ending {
            Some(_) => self.words(start, request, how)?,
            None => self.mark.words.clone().unwrap_or_default(),
        };
        let mut frontier = self.frontier.clone();
        if let Some(low) = low {
            // A summary may be the longer, the more of the history stays.
            let most = u32::try_from(low / SUMMARIES).unwrap_or(u32::MAX);
            let policy = SessionPolicy {
                most: how.policy.most.max(most) >> how.halved,
                least: how.policy.least >> how.halved,
                kept_most: how.policy.kept_most >> how.halved,
                ..*how.policy
            };
            let longer = DraftInputs {
                policy: &policy,
                ..*how
            };
            let stays = self.stays(start, request, (&shortened, &words));
            self.remake(&stays, &longer, &mut frontier, &mut entries)?;
            self.summarizing(&stays, &longer, &mut entries, |how, keep| {
                self.summarize(start, &longer, how, &mut frontier, keep);
            });
        } else if ending.is_some() {
            let stays = self.stays(0, request, (&shortened, &words));
            self.remake(&stays, how, &mut frontier, &mut entries)?;
        }
        let standing = self.turns.get(start).map_or(u64::MAX, |turn| turn.number);
        let left = |recalled: &&Recalled| {
            recalled.turn < standing && request.is_none_or(|turn| turn.number != recalled.turn)
        };
        let mut recalled: Vec<Recalled> = match ending {
            Some(_) => how.recalled.iter().filter(left).cloned().collect(),
            None => self.mark.recalled.clone(),
        };
        recalled.retain(|recalled| !self.is_judged(recalled.turn));
        let mut draft = Draft {
            entries: Vec::new(),
            objects: Vec::new(),
            unfetched: self.unsent_turns(),
            ledger: self.ledger(ending),
            tokens: 0,
            cut: start > 0 || replaced,
        };
        let mut standing = None;
        if let Some(ending) = ending {
            let from = self.first_from(start);
            let stands = newest(self.instructions()?);
            if let Some(request) = request {
                request.leave_out_replaced(&stands, &mut shortened);
                request.leave_out_results(&mut shortened);
            }
            let before = stands.into_iter().filter(|one| one.place.turn < from);
            let before = standing.insert(before.collect::<Vec<Instruction>>());
            entries.push(Entry::Epoch(Box::new(Mark {
                cause: ending.cause,
                rewritten: self.served.last().map_or(0, |(_, served)| u64::from(served.tokens)),
                from,
                frontier: frontier.checkpoints().iter().map(|(at, _)| *at).collect(),
                request: request.map(|turn| turn.number),
                opening: self.opening_at,
                pinned: self.pinned.clone(),
                learned: self.learned,
                messages: self.messages,
                ledger: draft.ledger.clone(),
                names_no_tool: how.reads.is_none(),
                names_tool: how.reads.filter(|tool| *tool != READS).map(str::to_owned),
                recalled: recalled.clone(),
                words: Some(words.clone()),
                shortened: shortened
                    .iter()
                    .filter(|((turn, _), _)| {
                        *turn >= from || request.is_some_and(|kept| kept.number == *turn)
                    })
                    .map(|((turn, part), text)| (*turn, *part, text.clone()))
                    .collect(),
                compiler: tenure::COMPILER,
                standing: Some(before.iter().map(|one| one.place.clone()).collect()),
                judged: self.judged_turns(),
            })));
        }
        // What stands in the request stands there.
        let standing = standing
            .as_ref()
            .unwrap_or(&self.standing)
            .iter()
            .filter(|one| request.is_none_or(|kept| kept.number != one.place.turn));
        let (mut late, early): (Vec<&Instruction>, Vec<&Instruction>) =
            standing.partition(|one| one.is_systems() && how.takes_system_between());
        self.stand_before(how, &mut draft)?;
        for one in early {
            self.add(one.document.clone(), how, &mut draft)?;
        }
        // What stands for turns keeps its words until the epoch ends.
        let names_tool = match ending {
            Some(_) => how.reads,
            None if self.mark.names_no_tool => None,
            None => Some(self.mark.names_tool.as_deref().unwrap_or(READS)),
        };
        self.stand_for(&frontier, names_tool, how, &mut draft)?;
        // An epoch of a time when summaries alone said what the user did keeps what was sent.
        let is_of_words = ending.is_some() || self.mark.words.is_some();
        let asked = request.filter(|_| is_of_words).map(|turn| turn.number);
        self.quote((&words, asked), &frontier, (names_tool, how), &mut draft)?;
        for Recalled { turn, text } in &recalled {
            let mut document = ObjectDocument::named(format!("t{turn} recalled"), text.as_str());
            document.object_type = Some(ObjectType::Checkpoint);
            document.authority_level = Some(Authority::Data);
            self.add(document, how, &mut draft)?;
        }
        if let Some(turn) = request {
            self.stand(turn, &shortened, how, &mut draft)?;
        }
        let mut followed = self.followed().filter(|_| ending.is_none()).peekable();
        for turn in &self.turns[start..] {
            while let Some((at, served)) = followed.next_if(|(at, _)| *at < turn.number) {
                self.repeat(at, served, how, &mut draft)?;
            }
            if turn.is_by_model() {
                for one in late.drain(..) {
                    self.add(one.document.clone(), how, &mut draft)?;
                }
            }
            self.stand(
                turn.reasoning_from(reasons_from),
                &shortened,
                how,
                &mut draft,
            )?;
        }
        for one in late {
            self.add(one.document.clone(), how, &mut draft)?;
        }
        if ending.is_none() {
            let stands = self.carried.iter();
            for (number, passages) in stands.filter(|(turn, _)| !self.is_judged(*turn)) {
                self.carry(*number, passages.as_deref(), &mut draft)?;
            }
        }
        draft.entries = entries;
        self.mend(how, ending.is_some(), &mut draft)?;
        self.offer_gone(how, &mut draft)?;
        Ok(draft)
    }

    /// The results that no longer say how things are, by message and part, each with the later message and
    /// whether that changed what had been read.
    pub(super) fn superseded(&self) -> Vec<((u64, u32), u64, bool)> {
        let parts: Vec<((u64, u32), &ObjectDocument)> = self
            .turns
            .iter()
            .flat_map(|turn| {
                (0u32..)
                    .zip(&turn.entry.objects)
                    .map(|(part, object)| ((turn.number, part), object))
            })
            .collect();
        let steps = parts.iter().map(|(_, object)| {
            let result = object.object_type == Some(ObjectType::ToolResult);
            Step {
                calls: &object.tool_calls,
                answers: object.tool_call_id.as_deref().filter(|_| result),
            }
        });
        let found = superseded(steps);
        parts
            .iter()
            .zip(found)
            .filter_map(|((place, _), superseded)| {
                let Superseded { by, changed } = superseded?;
                let ((later, _), _) = parts.get(by)?;
                Some((*place, *later, changed))
            })
            .collect()
    }

    fn content(&self, turn: u64, part: u32) -> &str {
        self.turns
            .iter()
            .find(|found| found.number == turn)
            .and_then(|turn| turn.entry.objects.get(part as usize))
            .map_or("", |object| &object.content)
    }

    /// The first message whose reasoning stands. A model that binds its reasoning takes none that it gave before
    /// this epoch: the epoch's first request changed what stands before it.
    fn reasons_from(&self, how: &DraftInputs<'_>, ending: Option<Ending>) -> u64 {
        let first = self.served.first().filter(|_| ending.is_none());
        match first {
            _ if !how.binds_reasoning() => 0,
            Some((at, _)) => *at,
            None => u64::MAX,
        }
    }

    /// The number of oldest turns that leave, in whole groups.
    fn leaving(
        &self,
        how: &DraftInputs<'_>,
        shortened: &Shortened,
        (low, reasons_from): (u64, u64),
    ) -> usize {
        let ranges = wire::groups(self.turns.iter().map(|turn| &turn.entry));
        let groups: Vec<Group> = ranges
            .iter()
            .map(|range| {
                let turns = &self.turns[range.clone()];
                Group {
                    first: turns.first().map_or(0, |turn| turn.number),
                    last: turns.last().map_or(0, |turn| turn.number),
                    tokens: turns
                        .iter()
                        .map(|turn| {
                            turn.reasoning_from(reasons_from).stands_at(how.world, shortened)
                        })
                        .sum(),
                }
            })
            .collect();
        if groups.is_empty() {
            return 0;
        }
        let first = ranges.get(leaving(&groups, low));
        // What the model waits for stays with its calls, whatever the system said behind it.
        let calls = self
            .turns
            .iter()
            .rposition(Turn::is_by_model)
            .filter(|at| self.turns[*at..].iter().any(Turn::has_results));
        let waits = ranges.iter().find(|range| calls.is_some_and(|at| range.contains(&at)));
        let starts = first.into_iter().chain(waits).map(|range| range.start);
        starts.min().unwrap_or(0)
    }

    /// Makes summaries of the turns before `start`, and marks what later corrections speak of.
    fn summarize(
        &self,
        start: usize,
        how: &DraftInputs<'_>,
        summarizing: &Summarizing<'_>,
        frontier: &mut Frontier,
        keep: &mut Keep<'_>,
    ) {
        let calls: BTreeMap<&str, &ToolCall> = self
            .turns
            .iter()
            .flat_map(|turn| &turn.entry.objects)
            .flat_map(|object| &object.tool_calls)
            .map(|call| (call.id.as_str(), call))
            .collect();
        let groups = wire::groups(self.turns[..start].iter().map(|turn| &turn.entry));
        let mut until = 0;
        for block in groups.chunks(how.policy.checkpoint_every as usize) {
            let (Some(first), Some(last)) = (block.first(), block.last()) else {
                continue;
            };
            let turns = &self.turns[first.start..last.end];
            let made = self.summary_of(turns, &calls, how, summarizing);
            if let Some(mut checkpoint) = made {
                let next = self.turns.get(last.end).map_or(u64::MAX, |turn| turn.number);
                until = self.cover(&mut checkpoint, until..next);
                frontier.add(checkpoint, summarizing, keep);
            }
        }
        for turn in &self.turns {
            for (number, speaker, text) in turn.spoken() {
                if speaker == Speaker::User {
                    for correction in tenure::condense::turns::corrections(&text) {
                        let said = Said {
                            turn: number,
                            speaker,
                            text: correction,
                            pinned: false,
                            call: None,
                        };
                        frontier.correct(&said, keep);
                    }
                }
            }
        }
    }

    /// The requests of this epoch that a message follows: their tails are history. Of several before
    /// one message, the last was answered.
    fn followed(&self) -> impl Iterator<Item = (u64, &Served)> {
        let next_of = |at: u64| self.turns.iter().map(|turn| turn.number).find(|next| *next > at);
        self.served
            .iter()
            .enumerate()
            .filter(move |(place, (at, _))| {
                let next = next_of(*at);
                let superseded = self.served.get(place + 1).map(|(at, _)| next_of(*at));
                next.is_some() && superseded != Some(next)
            })
            .map(|(_, (at, served))| (*at, served))
    }

    /// The ledger of what the model has been sent, for the next request.
    fn ledger(&self, ending: Option<Ending>) -> Option<ServedLedger> {
        let last = self.served.last().map(|(_, served)| &served.ledger);
        let mut ledger = last.or(self.mark.ledger.as_ref())?.clone();
        (ledger.said, ledger.task, ledger.state) = Default::default();
        (ledger.chosen_for, ledger.known) = (None, None);
        match ending {
            Some(ending) => ledger.ends = Some(ending.cause),
            None => {
                if self.is_of_old_form() {
                    ledger.ends = Some(EpochCause::SettingsChanged);
                }
                // Something of what was sent is erased: no more is built on it.
                if self.erased {
                    ledger.ends = Some(EpochCause::FrozenGone);
                }
                // Where no tail is repeated, as in plain text, nothing of it was said for good.
                let followed = self.followed();
                for (at, served) in followed {
                    let stands = !self.late(at, served).is_empty();
                    let has_tail = !served.tail.is_empty();
                    ledger.said.extend(served.said.iter().filter(|revision| {
                        if served.late_said.contains(revision) {
                            stands
                        } else {
                            has_tail
                        }
                    }));
                    (ledger.chosen_for, ledger.known) = (Some(served.task), served.known);
                    if has_tail {
                        ledger.task = Some(served.task);
                        ledger.state = served.state.clone().or(ledger.state);
                    }
                }
            }
        }
        Some(ledger)
    }

    /// The cost of its tools, at most, by this vocabulary.
    pub(crate) fn tools_cost(&self, world: &World) -> u64 {
        self.tools_cost.by(world, || {
            let each = self.opening.tools.iter().map(|tool| {
                let schema = tool.input_schema.as_ref().map(ToString::to_string);
                let texts: u64 = [&tool.name, &tool.content, &schema.unwrap_or_default()]
                    .iter()
                    .map(|text| u64::from(world.price(text)))
                    .sum();
                texts + 2 * AROUND
            });
            each.sum()
        })
    }

    /// The cost of the instructions that stand before the messages, about.
    pub(super) fn instructions_cost(&self, world: &World) -> u64 {
        self.instructions_cost.by(world, || {
            let texts = self.opening.instructions.iter();
            texts.map(|object| u64::from(world.price(&object.content)) + AROUND).sum()
        })
    }

    /// Adds to the draft what stands before the history.
    pub(super) fn stand_before(
        &self,
        how: &DraftInputs<'_>,
        draft: &mut Draft,
    ) -> Result<(), Error> {
        let instructions = self.opening.instructions.iter().filter(|_| how.instructions);
        for document in instructions.chain(&self.opening.tools) {
            let mut document = document.clone();
            // Pointers to originals name it, so it is offered.
            if how.gated && reads_originals(&document.name) {
                document.removable = Some(false);
            }
            draft.objects.push(document.seal()?);
        }
        Ok(())
    }

    /// Offers the tools that were called and are offered no more: the API takes no calls of tools that it knows nothing of.
    pub(super) fn offer_gone(&self, how: &DraftInputs<'_>, draft: &mut Draft) -> Result<(), Error> {
        if how.target != Target::AnthropicMessages {
            return Ok(());
        }
        let offered: BTreeSet<&str> = self
            .opening
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .chain(how.offered.iter().copied())
            .collect();
        let objects = self.turns.iter().flat_map(|turn| &turn.entry.objects);
        let calls = objects.flat_map(|object| &object.tool_calls);
        let made = draft.objects.iter().flat_map(|object| object.revision().tool_calls());
        let called: BTreeSet<&str> = calls.chain(made).map(|call| call.name.as_str()).collect();
        let gone = called
            .difference(&offered)
            .map(|name| {
                let mut document = ObjectDocument::named(*name, GONE);
                document.object_type = Some(ObjectType::ToolSchema);
                self.own(&mut document);
                document.seal()
            })
            .collect::<Result<Vec<_>, Error>>()?;
        draft.objects.extend(gone);
        Ok(())
    }

    /// The summaries.
    fn stand_for(
        &self,
        frontier: &Frontier,
        names_tool: Option<&str>,
        how: &DraftInputs<'_>,
        draft: &mut Draft,
    ) -> Result<(), Error> {
        for (number, checkpoint) in frontier.checkpoints() {
            let text = checkpoint.text(names_tool.map(|tool| (tool, *number)));
            let mut document = ObjectDocument::named(format!("c{number}"), text);
            document.object_type = Some(ObjectType::Checkpoint);
            document.authority_level = Some(Authority::Data);
            self.add(document, how, draft)?;
            let media = match checkpoint.media {
                0 => String::new(),
                media => format!(", with {media} pictures and files"),
            };
            draft.unfetched.push(Unfetched::new(
                format!(
                    "{} messages, t{} to t{}{media}",
                    checkpoint.turns, checkpoint.first, checkpoint.last
                ),
                format!("c{number} stands for them"),
            ));
        }
        Ok(())
    }

    /// A turn as it was said, or a long result of it in its shorter form.
    fn stand(
        &self,
        turn: &Turn,
        shortened: &Shortened,
        how: &DraftInputs<'_>,
        draft: &mut Draft,
    ) -> Result<(), Error> {
        draft.tokens += turn.stands_at(how.world, shortened);
        draft.objects.extend(turn.sealed(shortened)?.iter().cloned());
        Ok(())
    }

    /// The tail of an earlier request, as it was sent.
    fn repeat(
        &self,
        at: u64,
        served: &Served,
        how: &DraftInputs<'_>,
        draft: &mut Draft,
    ) -> Result<(), Error> {
        for (place, text) in served.tail.iter().enumerate() {
            let mut document = ObjectDocument::named(format!("s{at}.{place}"), text.as_str());
            document.object_type = Some(ObjectType::Turn);
            document.role = Some(Role::User);
            document.protection = Some(Protection::Verbatim);
            self.add(document, how, draft)?;
        }
        let Some(format) = served.target.format().filter(|_| !self.erased) else {
            return Ok(());
        };
        for (place, message) in self.late(at, served).iter().enumerate() {
            for (part, mut document) in
                read_message(format, message)?.objects.into_iter().enumerate()
            {
                document.name = format!("s{at}.late.{place}.{part}");
                self.add(document, how, draft)?;
            }
        }
        Ok(())
    }

    /// The parts of an earlier request's end in the provider's own channels that may stay there. A message of the
    /// system leads to one of the model, or ends the messages (Anthropic): an unanswered one is sent once more.
    pub(super) fn late<'s>(&self, at: u64, served: &'s Served) -> &'s [String] {
        let next = self.turns.iter().find(|turn| turn.number > at);
        let stays = served.target != Target::AnthropicMessages
            || next.is_some_and(|turn| {
                turn.entry.objects.iter().any(|object| object.role == Some(Role::Assistant))
            });
        if stays { &served.late } else { &[] }
    }

    /// A turn's original, or these passages of it, for the tail.
    fn carry(&self, number: u64, passages: Option<&str>, draft: &mut Draft) -> Result<(), Error> {
        let message = self.message(number)?;
        for (part, object) in message.objects.iter().enumerate() {
            // What was erased held at no time.
            let erased = object.valid_until == Some(Instant::from_micros(0));
            let text = match passages {
                Some(passages) if part == 0 => passages,
                Some(_) => break,
                None => object.content.as_str(),
            };
            if erased || text.trim().is_empty() {
                continue;
            }
            let name = format!("t{number}.{part}{AGAIN}");
            let mut document = ObjectDocument::named(name, text);
            document.object_type = Some(ObjectType::RetrievedPassage);
            document.authority_level = Some(Authority::Data);
            // It was asked for, however near to the task it is.
            document.removable = Some(false);
            document.provenance = Some(Provenance {
                authority: Some(object.trust()),
                lineage: Some("rehydrated".into()),
                relevance: Some(Score::ONE),
                retrieved_at: Some(message.at),
                source_id: Some(format!("session {} t{number}", self.id())),
                ..Provenance::default()
            });
            self.own(&mut document);
            draft.objects.push(document.seal()?);
        }
        Ok(())
    }

    /// Adds what stands in the history whatever else does.
    pub(super) fn add(
        &self,
        mut document: ObjectDocument,
        how: &DraftInputs<'_>,
        draft: &mut Draft,
    ) -> Result<(), Error> {
        self.own(&mut document);
        document.removable = Some(false);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let known = made.get(&document.name).filter(|known| {
            let same = known.object.revision().content() == document.content;
            same && known.model == how.world.model_name()
        });
        let (tokens, object) = match known {
            Some(known) => (known.tokens, Arc::clone(&known.object)),
            None => {
                let name = document.name.clone();
                let wire = document.wire.as_ref();
                let besides = wire.map_or(0, |wire| how.world.price_besides(wire));
                let tokens = how.world.price(&document.content).saturating_add(besides);
                let tokens = u64::from(tokens) + AROUND;
                let known = PricedObject {
                    object: document.seal()?,
                    model: how.world.model_name().to_owned(),
                    tokens,
                };
                let object = Arc::clone(&known.object);
                made.insert(name, known);
                (tokens, object)
            }
        };
        draft.tokens += tokens;
        draft.objects.push(object);
        Ok(())
    }
}
