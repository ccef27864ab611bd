//! The verb **compile** over a session.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tenure::error::ErrorKind;
use tenure::gate::Gate;
use tenure::num::Score;
use tenure::object::{ObjectType, RevisionId};
use tenure::section::Zone;
use tenure::session::{Epochs, SessionPolicy, UserWordsKept, Worth};
use tenure::time::Instant;
use tenure::trace::EpochCause;
use tenure::{
    Budget, Candidates, Compiled, Envelope, Error, Facts, ObjectDocument, Outcome, Payload, Policy,
    Request, Span, Target, World,
};

use super::draft::{AGAIN, Draft, Ending, reading_tool, reading_tool_of};
use super::draft_inputs::DraftInputs;
use super::entry::{Entry, Recalled, Served};
use super::{Keeping, Session};
use crate::stored::Gathered;
use crate::workspace::Workspace;

/// The divisor of the high-water mark that gives the room left to the next turns where a history is cut before any of
/// it was sent.
const FIRST_ROOM: u64 = 10;

/// The divisor of the room of a later cut that gives the part for passages of turns that leave.
const RECALLED: u64 = 4;

/// The sixths of the share that a cut leaves, where the prices of the model make a deeper one cheaper.
const DEEPER: u64 = 5;

/// The most times that the limits of summaries are halved, for passages to have their part.
const HALVED: u32 = 4;

/// The share of the window, in hundredths, within which what the user said in messages that left stands whole.
const WORDS: u64 = 4;

/// The number of tries to end an epoch, each with a lower mark, before the error is returned.
const TRIES: u32 = 6;

/// The number of these tries in which a first cut is filled again, a tenth less.
const REFILLS: u32 = 3;

/// The notice to the model that the epoch is about to end.
const HANDOFF: &str = "This conversation is nearly as long as the context allows. Soon its oldest turns will be \
summarised. Say now, in a sentence each, which facts and decisions must stay.";

/// One compile of a session.
#[derive(Clone, Copy)]
pub struct SessionJob<'j> {
    /// The model.
    pub world: &'j World,
    /// The policy.
    pub policy: &'j Policy,
    /// The request. The session itself adds what was served.
    pub request: &'j Request,
    /// The side context: candidates beyond the session's own.
    pub beside: &'j Gathered,
    /// Whether the session's instructions stand in the payload, not so where they go to the provider unchanged.
    pub instructions: bool,
    /// The instant of the compile.
    pub now: Instant,
}

/// The outcome of a session's compile.
#[derive(Debug, Serialize)]
pub struct SessionCompiled {
    /// The payload and its trace.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The state of the session.
    pub session: SessionReport,
    /// The request, with what was served.
    #[serde(skip)]
    pub request: Request,
    /// The candidates: the session's objects first.
    #[serde(skip)]
    pub gathered: Gathered,
    /// The external answers that it used.
    #[serde(skip)]
    pub facts: Facts,
}

/// A history that is longer than it may be, by the count of a compile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passed {
    /// The tokens of the history.
    pub history: u64,
    /// The most that it may have.
    pub most: u64,
}

/// The state of a session in a payload.
#[derive(Clone, Debug, Serialize)]
pub struct SessionReport {
    /// Its id.
    pub id: String,
    /// The number of its messages.
    pub messages: u64,
    /// The epoch's number.
    pub epoch: u32,
    /// The cause of this epoch.
    pub cause: EpochCause,
    /// The first message that stands as it was said.
    pub from: Option<u64>,
    /// The summaries that stand for those before it.
    pub checkpoints: Vec<u64>,
    /// How the user's words in messages that left stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<UserWordsKept>,
    /// The number of pictures, documents and recordings in messages that left.
    #[serde(skip_serializing_if = "is_nought")]
    pub media_left_out: u64,
    /// The cost of the history in tokens, about.
    pub history_tokens: u64,
    /// The number of tokens from which the epoch ends.
    pub high_water: u64,
    /// The tokens that stood in a prefix and are sent again, where the epoch has just ended.
    pub rewritten: u64,
    /// The length for which the history was cut, where the epoch has just begun with that: the first epoch, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<Passed>,
    /// Whether the model is told that the epoch is about to end.
    pub handoff: bool,
    /// The cost comparison, where the epoch has just ended because that is cheaper.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worth: Option<Worth>,
}

fn at_most(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

fn is_nought(count: &u64) -> bool {
    *count == 0
}

impl Workspace {
    /// Compiles the next request of a session: its history within the budget, what was sent before byte
    /// for byte until an epoch ends. Unless it is a dry run, notes in the session what was sent.
    ///
    /// The same request to the same session always gives the same bytes.
    ///
    /// # Errors
    ///
    /// As [`Workspace::compile`]; [`ErrorKind::Conflict`] when another writer wrote to the session meanwhile:
    /// nothing is noted then.
    pub fn compile_session(
        &self,
        session: &mut Session,
        job: &SessionJob<'_>,
    ) -> Result<SessionCompiled, Error> {
        let gate = job.policy.document().session.tools();
        self.compile_unnoted(session, job, gate)?.note(session, job.now)
    }

    /// As [`Workspace::compile_session`], with this gate for tools in the place of the policy's, without noting it in
    /// the session: the caller may decide not to send it.
    pub(crate) fn compile_unnoted(
        &self,
        session: &mut Session,
        job: &SessionJob<'_>,
        gate: Option<Gate>,
    ) -> Result<Unnoted, Error> {
        let mut request = job.request.clone();
        if !session.is_once() {
            request.principal.session = Some(session.id().to_owned());
        }
        request.turns = Some(session.len());
        // What was made ready before the session was known did not see its own objects.
        if let Some(identities) = job.beside.identities_for(job.policy, &request) {
            request.identities = identities;
        }
        let model = job.world.model();
        if let Some(learned) = session.learned {
            let window = request.budget.window.unwrap_or(model.window).min(learned);
            let reserve = request.budget.reserve.unwrap_or(0);
            request.budget.window = Some(window);
            let room = window.saturating_sub(reserve);
            request.budget.tokens = request.budget.tokens.map(|tokens| tokens.min(room));
        }
        let (budget, answer) = request.budget.resolve(model, request.target)?;
        // Who names a budget and no window means that as the window.
        let window = match job.request.budget {
            Budget {
                tokens: Some(_),
                window: None,
                ..
            } => budget,
            _ => budget.saturating_add(answer),
        };
        let settings = &job.policy.document().session;
        request.tools = request.tools.or(gate);
        let limit = job.policy.document().limits.data_tokens;
        let tools = job.beside.candidates.tools().iter();
        let offered: Vec<&str> = tools.map(|tool| tool.name()).collect();
        let own = session.reading_tool();
        let reads = own.as_deref().or_else(|| reading_tool(offered.iter().copied()));
        let recalled = OnceCell::new();
        let mut how = DraftInputs {
            world: job.world,
            target: request.target,
            instructions: job.instructions,
            offered: &offered,
            policy: settings,
            task: &request.task.objective,
            most: limit.min(budget / 4).max(64),
            gated: request.tools.is_some(),
            // There is nothing to read of what no log keeps.
            reads: reads.filter(|_| !session.is_once()),
            words: u64::from(window) * WORDS / 100,
            halved: 0,
            recalled: &[],
        };
        let gated = request.tools.is_some();
        let when_cut = |session: &Session| session.marks((window, budget), gated, job);
        let as_it_came = Marks::whole(u64::from(budget), settings);
        let beside = &job.beside.candidates;
        let mut whole = session.is_once() && session.may_fit(&how, as_it_came, beside);
        let mut marks = if whole { as_it_came } else { when_cut(session) };
        // Nothing is built on what was judged since it was sent or summarised.
        let judged = session.judged_anew().then_some(Ending {
            cause: EpochCause::Judged,
            low: None,
        });
        let (mut draft, mut ending, mut passed) = if whole {
            (session.as_it_came(&how)?, None, None)
        } else {
            session.within(&mut how, &recalled, judged, marks)?
        };
        let worth = match ending {
            None if session.is_once() => None,
            None => session.worth(&how, draft.tokens, marks.low),
            Some(_) => None,
        }
        .filter(Worth::pays);
        if worth.is_some() {
            let cheaper = Ending {
                cause: EpochCause::Cheaper,
                low: Some(marks.low),
            };
            let shorter = session.draft(&how, Some(cheaper))?;
            if shorter.cut {
                (draft, ending) = (shorter, Some(cheaper));
            }
        }
        let mut tries = 0;
        let (outcome, gathered, facts, handoff) = loop {
            // What was served behind the last message that stands is this request, asked again: it says the same.
            let answered = session.turns.last().map_or(0, |turn| turn.number);
            let mut before = session.served.iter().filter(|(at, _)| *at < answered);
            let told = before.any(|(at, served)| {
                let stands = served.late.is_empty() || !session.late(*at, served).is_empty();
                served.handoff && stands
            });
            // The first request of an epoch, asked again, is told no more than it was.
            let is_first = session.served.iter().all(|(at, _)| *at > answered);
            let goes_on = ending.is_none() && draft.ledger.is_some() && !is_first;
            let handoff = goes_on && draft.tokens > share(marks.room, settings.handoff) && !told;
            if !session.is_once() {
                request.served.clone_from(&draft.ledger);
            }
            let layers = session.layers.over(&draft.objects);
            let notice = handoff.then(|| notice(session));
            let gathered = gathered(&draft, layers, job.beside, notice)?;
            let candidates = &gathered.candidates;
            let facts = self.answer(job.world, job.policy, &request, candidates)?;
            match tenure::compile(job.world, job.policy, &request, candidates, &facts) {
                Ok(outcome) if session.is_once() => break (outcome, gathered, facts, handoff),
                Ok(outcome) => {
                    let cause = outcome.single()?.trace.plan.cause;
                    let expected = ending.map_or(EpochCause::Kept, |ending: Ending| ending.cause);
                    if cause == expected || request.served.is_none() {
                        break (outcome, gathered, facts, handoff);
                    }
                    // The core ended the epoch: what was sent of earlier tails goes with it.
                    ending = Some(Ending { cause, low: None });
                    draft = session.draft(&how, ending)?;
                }
                Err(error) if error.kind == ErrorKind::Budget && whole => {
                    (whole, marks) = (false, when_cut(session));
                    (draft, ending, passed) = session.within(&mut how, &recalled, judged, marks)?;
                }
                Err(error)
                    if error.kind == ErrorKind::Budget
                        && tries < REFILLS
                        && ending.is_some()
                        && session.is_unsent() =>
                {
                    tries += 1;
                    let less = Marks {
                        high: marks.high - marks.high / FIRST_ROOM * u64::from(tries),
                        ..marks
                    };
                    (draft, ending, _) = session.within(&mut how, &recalled, judged, less)?;
                }
                Err(error) if error.kind == ErrorKind::Budget && tries < TRIES => {
                    tries += 1;
                    // It was nearly full, and is cut as if it had been; then less of all.
                    if tries == 1 && ending.is_none() {
                        let passages = session.recall(&how, marks.low / RECALLED)?;
                        how.recalled = recalled.get_or_init(|| passages);
                    } else {
                        how.recalled = &[];
                    }
                    if tries > 1 {
                        marks.low /= 2;
                    }
                    if tries > 2 {
                        how.words /= 2;
                        how.halved += u32::from(session.is_once());
                    }
                    // What is frozen may leave at an epoch's end, also where no turn does.
                    let frozen = ending.is_none() && draft.ledger.is_some();
                    let cause = ending.map_or(EpochCause::OverBudget, |ending| ending.cause);
                    let cut = Ending {
                        cause,
                        low: Some(marks.low),
                    };
                    ending = Some(cut);
                    draft = session.lowered(&how, cut, marks.low)?;
                    if !draft.cut && !frozen {
                        // There is nothing left that could go.
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        };
        let Some(compiled) = outcome.compiled().next() else {
            return Err(Error::assertion("a compile gives a payload"));
        };
        let report = SessionReport {
            id: session.id().to_owned(),
            messages: session.len(),
            epoch: compiled.trace.plan.epoch,
            cause: compiled.trace.plan.cause,
            from: None,
            checkpoints: Vec::new(),
            words: None,
            media_left_out: 0,
            history_tokens: draft.tokens,
            high_water: marks.high,
            rewritten: ending.map_or(0, |_| {
                session.served.last().map_or(0, |(_, served)| u64::from(served.tokens))
            }),
            passed,
            handoff,
            worth: worth.filter(|_| compiled.trace.plan.cause == EpochCause::Cheaper),
        };
        let compiled = SessionCompiled {
            outcome,
            session: report,
            request,
            gathered,
            facts,
        };
        Ok(Unnoted { compiled, draft })
    }
}

/// The result of a compile that is not yet noted in the session.
pub(crate) struct Unnoted {
    compiled: SessionCompiled,
    draft: Draft,
}

impl Unnoted {
    /// Its outcome.
    pub(crate) fn compiled(&self) -> &SessionCompiled {
        &self.compiled
    }

    /// Returns whether it begins an epoch.
    pub(crate) fn begins(&self) -> bool {
        self.compiled.session.cause != EpochCause::Kept
    }

    /// Notes in the session, which is as it was compiled, that it was sent. A dry run is not noted.
    pub(crate) fn note(
        self,
        session: &mut Session,
        now: Instant,
    ) -> Result<SessionCompiled, Error> {
        let Unnoted {
            mut compiled,
            draft,
        } = self;
        let request = &compiled.request;
        if !request.dry_run && session.keeping == Keeping::Logged {
            let handoff = compiled.session.handoff;
            session.note(draft, compiled.outcome.single()?, request, now, handoff)?;
        }
        let report = &mut compiled.session;
        report.from = session.turns.first().map(|turn| turn.number);
        report.checkpoints = session.checkpoints().iter().map(|(at, _)| *at).collect();
        report.words = session.words_kept();
        report.media_left_out = session.checkpoints().iter().map(|(_, left)| left.media).sum();
        Ok(compiled)
    }
}

/// The marks of a history, in tokens.
#[derive(Clone, Copy)]
pub(super) struct Marks {
    /// The room that it has.
    pub(super) room: u64,
    /// From here on it is cut,
    pub(super) high: u64,
    /// and to about here.
    low: u64,
}

impl Marks {
    /// Those of a history that stands whole or not at all.
    fn whole(room: u64, settings: &SessionPolicy) -> Marks {
        let high = share(room, settings.high_water);
        Marks { room, high, low: 0 }
    }
}

/// A share of a room, in tokens.
fn share(room: u64, share: Score) -> u64 {
    room * u64::from(share.millionths()) / 1_000_000
}

impl Session {
    /// The marks of a history in a window of which this is the budget of what is compiled.
    fn marks(&self, (window, budget): (u32, u32), gated: bool, job: &SessionJob<'_>) -> Marks {
        let (world, settings) = (job.world, &job.policy.document().session);
        // Tools and instructions stand in every request: the history shares what they leave. A gate may leave out most tools.
        let tools = if gated { 0 } else { self.tools_cost(world) };
        let opening = job.instructions.then(|| self.instructions_cost(world));
        let before = tools + opening.unwrap_or(0);
        let room = u64::from(budget).saturating_sub(before);
        let high = share(room, settings.high_water);
        let requests = self.turns.len().div_ceil(2).max(1) as u64;
        let epochs = Epochs {
            full: at_most(before + high),
            step: at_most(self.cost(world) / requests),
        };
        let aim = share(u64::from(window), settings.low_water);
        let deeper = aim * DEEPER / 6;
        let pays = epochs.pays(world.model(), at_most(aim), at_most(deeper));
        // Instructions stand on at every epoch's end, too: the turns that stay share what they leave.
        let among = self.instructions_about();
        let most = share(room.saturating_sub(among), settings.low_water);
        let low = if pays { deeper } else { aim }
            .saturating_sub(before + among)
            .clamp(most / 2, most);
        Marks { room, high, low }
    }

    /// The draft of a request whose history is not above its high mark, about, and where it had to be cut for that, the
    /// epoch's end and the length that it had.
    fn within<'r>(
        &self,
        how: &mut DraftInputs<'r>,
        recalled: &'r OnceCell<Vec<Recalled>>,
        judged: Option<Ending>,
        Marks { high, low, .. }: Marks,
    ) -> Result<(Draft, Option<Ending>, Option<Passed>), Error> {
        let draft = self.draft(how, judged)?;
        if draft.tokens <= high {
            return Ok((draft, judged, None));
        }
        let passed = Some(Passed {
            history: draft.tokens,
            most: high,
        });
        let cut = Ending {
            cause: judged.map_or(EpochCause::HighWater, |judged| judged.cause),
            low: Some(low),
        };
        if !self.is_unsent() {
            let found = self.recall(how, low / RECALLED)?;
            how.recalled = recalled.get_or_init(|| found);
            return Ok((self.lowered(how, cut, low)?, Some(cut), passed));
        }
        // There is no prefix to keep: what the last message asks for and more turns stand where nothing would.
        let next_turns = if self.is_once() { 0 } else { high / FIRST_ROOM };
        let fill = high - next_turns;
        let mut draft = self.draft(how, Some(cut))?;
        // In a small room summaries would leave none to what is asked for.
        while self.is_once() && how.halved < HALVED && draft.tokens > fill - fill / RECALLED {
            how.halved += 1;
            draft = self.draft(how, Some(cut))?;
        }
        let found = self.recall(how, fill.saturating_sub(draft.tokens) / 2)?;
        how.recalled = recalled.get_or_init(|| found);
        Ok((self.filled(how, cut, fill)?, Some(cut), passed))
    }

    /// Returns the tool of its own that reads originals, as its model calls it.
    pub(crate) fn reading_tool(&self) -> Option<String> {
        let own = self.opening.tools.iter().map(|tool| &*tool.name);
        let own = reading_tool(own).map(str::to_owned);
        let mut servers = self.opening.server_tools.iter();
        own.or_else(|| servers.find_map(|json| reading_tool_of(json)))
    }

    /// Ends the epoch: summaries take the place of the oldest messages, until those that stay cost no more than
    /// `keep` tokens. Returns the numbers of the summaries made. The next request begins the new epoch.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub fn checkpoint(
        &mut self,
        world: &World,
        policy: &Policy,
        task: &str,
        keep: u64,
    ) -> Result<Vec<u64>, Error> {
        let document = policy.document();
        let own = self.reading_tool();
        let how = DraftInputs {
            world,
            policy: &document.session,
            task,
            target: Target::OpenAiChat,
            instructions: false,
            offered: &[],
            most: document.limits.data_tokens,
            gated: false,
            reads: own.as_deref(),
            words: u64::from(world.model().window) * WORDS / 100,
            halved: 0,
            recalled: &[],
        };
        let ending = Ending {
            cause: EpochCause::Asked,
            low: Some(keep),
        };
        let draft = self.draft(&how, Some(ending))?;
        if !draft.cut {
            return Ok(Vec::new());
        }
        let first = self.last + 1;
        let made = (first..)
            .zip(&draft.entries)
            .filter(|(_, entry)| matches!(entry, Entry::Checkpoint(_)))
            .map(|(number, _)| number)
            .collect();
        self.push(draft.entries)?;
        Ok(made)
    }

    /// The cost of this epoch's requests, and their cost with a history that is cut to `low` tokens. `None` where the
    /// policy does not ask, or no request was sent.
    fn worth(&self, how: &DraftInputs<'_>, history: u64, low: u64) -> Option<Worth> {
        // What was served behind the last message is this request, asked again.
        let answered = self.last_turn();
        let sent: Vec<u32> = self
            .served
            .iter()
            .filter(|(at, _)| *at < answered)
            .map(|(_, served)| served.tokens)
            .collect();
        let last = sent.last().filter(|_| how.policy.ends_when_cheaper)?;
        // What leaves is summarised at a share of what it cost.
        let leaves = history.checked_sub(low)?;
        let summed = leaves * u64::from(how.policy.ratio.millionths()) / 1_000_000;
        let after = u64::from(*last).saturating_sub(leaves - summed);
        Worth::of(how.world.model(), &sent, at_most(after))
    }

    /// Notes what was sent, unless it is what was noted last.
    fn note(
        &mut self,
        draft: Draft,
        compiled: &Compiled,
        request: &Request,
        now: Instant,
        handoff: bool,
    ) -> Result<(), Error> {
        let Tail {
            texts: tail,
            late,
            late_said,
            mut said,
        } = tail(&compiled.envelope)?;
        if handoff {
            // It is said once, and need not be there to be seen again.
            let notice = notice(self).seal()?.revision().id();
            said.retain(|revision| *revision != notice);
        }
        let again: Vec<&str> = draft
            .objects
            .iter()
            .filter(|object| {
                object.name().ends_with(AGAIN) && said.contains(&object.revision().id())
            })
            .map(|object| object.name())
            .collect();
        let carried = self
            .carried
            .iter()
            .map(|(turn, _)| turn)
            .filter(|turn| {
                let of_it = format!("t{turn}.");
                again.iter().any(|name| name.starts_with(&of_it))
            })
            .copied()
            .collect();
        let served = Served {
            at: now,
            known: request.as_of.known,
            target: request.target,
            ledger: compiled.envelope.served.clone(),
            task: request.asked(),
            state: (!request.task_said).then(|| Box::new(request.task.clone())),
            tail,
            late,
            late_said,
            said,
            carried,
            payload: compiled.envelope.payload_digest,
            tokens: compiled.envelope.total_tokens,
            calibrated: self.calibrated,
            handoff,
            forecast: compiled.trace.forecast,
        };
        let mut entries = draft.entries;
        let answered = self.last_turn();
        let noted = self.served.last().filter(|(at, _)| *at > answered);
        let again = noted.is_some_and(|(_, noted)| noted.payload == served.payload);
        if !again || !entries.is_empty() {
            entries.push(Entry::Served(Box::new(served)));
            self.push(entries)?;
        }
        Ok(())
    }
}

/// The session's objects, then those of the side context.
fn gathered(
    draft: &Draft,
    mut layers: Vec<Arc<Candidates>>,
    beside: &Gathered,
    notice: Option<ObjectDocument>,
) -> Result<Gathered, Error> {
    if let Some(notice) = notice {
        layers.push(Arc::new(Candidates::new(vec![notice.seal()?]).said()));
    }
    let own: usize = layers.iter().map(|layer| layer.len()).sum();
    layers.push(Arc::clone(&beside.candidates));
    let unfetched = [draft.unfetched.as_slice(), beside.candidates.unfetched()].concat();
    Ok(Gathered {
        candidates: Arc::new(Candidates::layered(layers).with_unfetched(unfetched)),
        sources: own + beside.sources,
        unfetched: [draft.unfetched.as_slice(), &beside.unfetched].concat(),
        registry: beside.registry.clone(),
        stored: beside.stored.clone(),
    })
}

/// The notice to the model that the epoch is about to end.
fn notice(session: &Session) -> ObjectDocument {
    let mut document = ObjectDocument::named("handoff", HANDOFF);
    document.object_type = Some(ObjectType::Rule);
    document.optional = Some(true);
    session.own(&mut document);
    document
}

/// The end of a request, as it stands in the payload.
#[derive(Default)]
struct Tail {
    texts: Vec<String>,
    /// The messages behind them that went by the provider's channels for what comes late.
    late: Vec<String>,
    late_said: Vec<RevisionId>,
    /// The revisions in both.
    said: Vec<RevisionId>,
}

fn tail(envelope: &Envelope) -> Result<Tail, Error> {
    let mut places = Vec::new();
    let mut spans = Vec::new();
    let mut late_said = Vec::new();
    let mut behind = BTreeSet::new();
    let tail = envelope
        .sections
        .iter()
        .filter(|section| section.zone == Zone::Tail)
        .flat_map(|section| &section.items);
    let all = || envelope.sections.iter().flat_map(|section| &section.items);
    for item in all().filter(|item| item.late) {
        late_said.extend(item.revision);
        behind.extend(item.span.and_then(|span| span.message));
    }
    let mut said = late_said.clone();
    // What ends the messages where nothing else of the user's does was sent, too.
    for item in tail.chain(all().filter(|item| &*item.name == "@closing")) {
        said.extend(item.revision);
        spans.push(item.span);
        if let Some(span) = item.span {
            let place = (span.message, span.block);
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
    if envelope.target == Target::ChatTemplate {
        return Ok(Tail {
            texts: said_through(envelope, &spans),
            said,
            ..Tail::default()
        });
    }
    let Some(payload) = envelope.payload.as_ref().filter(|_| envelope.target != Target::Text)
    else {
        return Ok(Tail {
            said,
            ..Tail::default()
        });
    };
    let body: Body<'_> = serde_json::from_str(payload.as_str())
        .map_err(|error| Error::assertion(format!("the payload is a body: {error}")))?;
    let mut texts = Vec::new();
    for (message, block) in places {
        let message = message.and_then(|at| body.messages.get(at as usize));
        let text = message.and_then(|message| text_of(message.get(), block));
        texts.push(
            text.ok_or_else(|| Error::assertion("the tail's texts are where they are said to be"))?,
        );
    }
    let behind = behind.into_iter().filter_map(|at| body.messages.get(at as usize));
    let late = behind.map(|message| message.get().to_owned()).collect();
    Ok(Tail {
        texts,
        late,
        late_said,
        said,
    })
}

/// The texts of the tail that a chat template wrote: what stands together is one message. Nothing where it
/// is not known where all of them stand.
fn said_through(envelope: &Envelope, spans: &[Option<Span>]) -> Vec<String> {
    let text = envelope
        .payload
        .as_ref()
        .map(Payload::bytes)
        .and_then(|bytes| std::str::from_utf8(bytes).ok());
    let known: Option<Vec<Span>> = spans.iter().copied().collect();
    let (Some(text), Some(mut known)) = (text, known) else {
        return Vec::new();
    };
    known.sort_by_key(|span| span.start);
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for span in known {
        let (start, end) = (span.start as usize, span.end as usize);
        match ranges.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => ranges.push(start..end),
        }
    }
    let texts = ranges.into_iter().filter_map(|range| text.get(range));
    texts.map(str::to_owned).collect()
}

#[derive(serde::Deserialize)]
struct Body<'b> {
    #[serde(borrow, alias = "input", alias = "contents")]
    messages: Vec<&'b serde_json::value::RawValue>,
}

/// The text of a message, or of one of its blocks.
fn text_of(message: &str, block: Option<u32>) -> Option<String> {
    let message: serde_json::Value = serde_json::from_str(message).ok()?;
    let content = message.get("content").or(message.get("parts"))?;
    match content {
        serde_json::Value::String(text) => Some(text.clone()),
        blocks => {
            let block = blocks.get(block.unwrap_or(0) as usize)?;
            Some(block.get("text")?.as_str()?.to_owned())
        }
    }
}
