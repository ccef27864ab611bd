//! Stage 11: the payload, and the proof that every promise was kept. A failed assertion is a bug
//! report, never a silent repair.

mod response;
mod told;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::base::digest::{Digest, DigestMap};
use crate::base::error::{Error, ErrorKind};
use crate::base::num::Score;
use crate::base::tokenizer::CountKind;
use crate::compile::envelope::{
    Compiled, ENVELOPE_VERSION, Envelope, Item, Payload, SectionReport,
};
use crate::compile::ladder;
use crate::compile::measure;
use crate::compile::stages::fit::Room;
use crate::compile::stages::order::{Entry, Ordered};
use crate::compile::stages::plan::EpochPlan;
use crate::compile::trace::{
    Condensed, InputDigests, Note, PolicyReport, Reason, Ruling, Stage, TRACE_VERSION,
    TokenizerReport, Trace, Verdict, View,
};
use crate::condense::Method;
use crate::input::policy::Policy;
use crate::input::policy::Strategy;
use crate::input::request::Request;
use crate::input::served::ServedLedger;
use crate::input::served::{EpochCause, Form};
use crate::object::section::Section;
use crate::object::{Authority, Revision, Role, TaskType};
use crate::provider::conform;
use crate::provider::target::Target;
use crate::provider::wire::Outgoing;
use crate::write::piece::{Mechanism, Piece};
use crate::write::render::Applied;
use crate::write::render::chat::{self, Joint};
use crate::write::render::plain::Stands;
use crate::write::span::Span;
use crate::write::world::World;

/// Over how many turns of the system the model's next one is looked for.
const MOST_BETWEEN: usize = 64;

/// Writes the payload, seals it, and gives every candidate its verdict.
pub(crate) fn emit(
    mut ordered: Ordered<'_>,
    world: &World,
    policy: &Policy,
    request: &Request,
) -> Result<Compiled, Error> {
    let mut written = write(&ordered, world, policy, request)?;
    let count = {
        let late = &ordered.epoch.late.rows;
        let set = ordered.live.set;
        let is_bounded = |entry: &Entry| match entry {
            // How providers write out tools that are added late is not known.
            Entry::Row(row) if late.contains(row) && set.row(*row).is_tool() => true,
            Entry::Row(row) => {
                let piece = ordered.pieces.row(*row);
                piece.is_some_and(|piece| piece.bounded)
            }
            _ => false,
        };
        match ordered.entries.iter().any(is_bounded) {
            true => CountKind::Bounded,
            // Control tokens are counted as the text that they are written with, which is more.
            false if world.template().is_some() => CountKind::Bounded,
            false if request.target.is_chat() => world.chat_count_kind(),
            false => world.tokenizer().kind(),
        }
    };
    let total = total_tokens(&written, world);
    let budget = ordered.room.budget;
    if world.template().is_some() && total > budget {
        let what = format!("the chat template makes {total} tokens of what fits into {budget}");
        return Err(Error::new(ErrorKind::Budget, what)
            .expected(format!("at most {budget}"))
            .hint(format!("raise the budget by {} or more", total - budget)));
    }
    if request.dry_run {
        written.payload = None;
    }
    let payload_digest = written.payload.as_ref().map(|payload| Digest::of(payload.bytes()));
    let overhead = written.overhead(total);
    let seal = Seal {
        total,
        count,
        payload_digest,
        injection_surface: injection_surface(&ordered, policy, total),
        applied: std::mem::take(&mut written.applied),
        changes_tools: written.changes_tools,
    };
    let inputs = InputDigests {
        policy: policy.digest(),
        request: request.digest(),
        candidates: ordered.live.set.digest(),
        facts: ordered.ranking.facts,
        world: world.digest(),
    };
    let left_out = told::rules_left_out(&ordered);
    // The trace takes them over: there are as many as candidates.
    let live = &mut ordered.live;
    live.notes.extend(left_out);
    let verdicts = std::mem::take(&mut live.verdicts);
    let task_type = request.task.task_type;
    let mut trace = trace(
        &ordered,
        world,
        (policy, task_type),
        inputs,
        &seal,
        verdicts,
    );
    trace.quality = told::measured(&trace, &ordered, policy, request);
    trace.forecast = told::forecast(&trace, &ordered, policy, request);
    let is_kept = trace.plan.cause == EpochCause::Kept;
    let kept = request.served.as_ref().filter(|_| is_kept);
    let (response_schema, relaxed) = match response::schema(&ordered, policy, request, kept)? {
        Some(asked) => (Some(asked.schema), asked.relaxed),
        // What was chosen stays so until the epoch ends, also where one request asks for no schema.
        None => (None, kept.and_then(|ledger| ledger.relaxed.clone())),
    };
    let envelope = Envelope {
        version: ENVELOPE_VERSION,
        target: request.target,
        payload: written.payload,
        payload_digest,
        total_tokens: total,
        count,
        budget: ordered.room.budget,
        part: ordered.room.part,
        overhead_tokens: overhead,
        sections: written.sections,
        injection_surface: seal.injection_surface,
        served: ServedLedger {
            epoch: trace.plan.epoch,
            floor: written.floor,
            forms: written.forms,
            settings: Some(ordered.epoch.settings),
            // Without a corpus there is nothing to remember.
            strategy: served_strategy(&ordered.epoch, request),
            archive: ordered.epoch.offers_archive && policy.freezes(Section::Tools),
            // Whoever keeps the history knows what new stands in it.
            said: kept.map(|ledger| ledger.said.clone()).unwrap_or_default(),
            task: kept.and_then(|ledger| ledger.task),
            state: kept.and_then(|ledger| ledger.state.clone()),
            chosen_for: kept.and_then(|ledger| ledger.chosen_for),
            known: None,
            relaxed,
            floor_for: match kept {
                Some(ledger) => ledger.floor_for,
                None => Some(request.asked()),
            },
            ends: None,
        },
        response_schema,
    };
    let compiled = Compiled { envelope, trace };
    let has_task = ordered.epoch.has_task(request);
    required(&compiled.envelope, policy, has_task)?;
    measure::refuse(&compiled.trace.quality, policy, request.task.class())?;
    assert_promises(&compiled, &ordered)?;
    Ok(compiled)
}

struct Written {
    payload: Option<Payload>,
    sections: Vec<SectionReport>,
    floor: Vec<crate::object::RevisionId>,
    /// The places in the floor that hold a shorter form.
    forms: BTreeMap<u32, Form>,
    /// The tokens of all pieces together.
    pieces: u64,
    /// The tokens that were priced around the pieces.
    overhead: u32,
    applied: Applied,
    /// True if tools are offered, or taken away, in the middle of the conversation.
    changes_tools: bool,
}

impl Written {
    /// Returns the tokens around the pieces: more than was priced where a template adds more.
    fn overhead(&self, total: u32) -> u32 {
        let over = u64::from(total).saturating_sub(self.pieces);
        self.overhead.max(u32::try_from(over).unwrap_or(u32::MAX))
    }
}

/// The strategy that the next call goes by: none where there was no corpus to choose it for.
fn served_strategy(epoch: &EpochPlan<'_>, request: &Request) -> Option<Strategy> {
    let chosen = epoch.report.context.is_some() || epoch.strategy != Strategy::Full;
    chosen
        .then_some(epoch.strategy)
        .or_else(|| request.served.as_ref().and_then(|ledger| ledger.strategy))
}

/// One entry with what the writer needs of it.
struct Part<'o> {
    section: Section,
    piece: &'o Piece,
    row: Option<u32>,
    content: &'o str,
    name: &'static str,
}

fn part<'o>(ordered: &'o Ordered<'_>, entry: Entry) -> Result<Part<'o>, Error> {
    let Ordered {
        live,
        epoch,
        pieces,
        ..
    } = ordered;
    match entry {
        Entry::Heading(section) => {
            let piece = pieces.headings[section.index()]
                .as_ref()
                .ok_or_else(|| Error::assertion("a heading has its piece"))?;
            Ok(Part {
                section,
                piece,
                row: None,
                content: "",
                name: "@heading",
            })
        }
        Entry::Mark(section, voice) => {
            let piece =
                pieces.marks.of(voice).ok_or_else(|| Error::assertion("a mark has its piece"))?;
            Ok(Part {
                section,
                piece,
                row: None,
                content: "",
                name: "@heading",
            })
        }
        Entry::Added(at) => {
            let added = &pieces.added[at];
            Ok(Part {
                section: added.section,
                piece: &added.piece,
                row: None,
                content: "",
                name: added.name,
            })
        }
        Entry::Closing => {
            let piece = pieces
                .closing
                .as_ref()
                .ok_or_else(|| Error::assertion("the closing has its piece"))?;
            Ok(Part {
                section: Section::History,
                piece,
                row: None,
                content: "",
                name: "@closing",
            })
        }
        Entry::Row(row) => {
            let piece = pieces
                .row(row)
                .ok_or_else(|| Error::assertion("an ordered candidate has its piece"))?;
            let content = live.set.object(row).revision().content();
            Ok(Part {
                section: epoch.section(row),
                piece,
                row: Some(row),
                content,
                name: "",
            })
        }
    }
}

fn write(
    ordered: &Ordered<'_>,
    world: &World,
    policy: &Policy,
    request: &Request,
) -> Result<Written, Error> {
    let set = ordered.live.set;
    let mut places = Section::ALL.to_vec();
    places.sort_by_key(|section| policy.place(*section));
    let mut counts = [0usize; Section::COUNT];
    let mut sums = [0u64; Section::COUNT];
    let mut bytes = 0;
    for entry in &ordered.entries {
        let part = part(ordered, *entry)?;
        counts[part.section.index()] += 1;
        bytes += part.piece.text.as_ref().map_or(part.content.len() + 1, |text| text.len());
    }
    let mut items: [Vec<Item>; Section::COUNT] = Default::default();
    for (items, count) in items.iter_mut().zip(counts) {
        items.reserve_exact(count);
    }
    let mut floor = Vec::new();
    let mut forms = BTreeMap::new();
    let mut out = Writer::new(
        world,
        request,
        bytes,
        speaks(ordered, policy, request.target)?,
    );
    // The entries up to here stand in a message that went back as it came.
    let mut sent: (usize, Option<Span>) = (0, None);
    for (at, entry) in ordered.entries.iter().enumerate() {
        let part = part(ordered, *entry)?;
        if at >= sent.0
            && let Some((raw, parts)) = untouched(ordered, at)
        {
            sent.1 = out.raw(raw, &parts, leads(ordered, at + parts.len()));
            sent.0 = at + sent.1.map_or(0, |_| parts.len());
        }
        let written = if at < sent.0 {
            sent.1
        } else {
            let leads = leads(ordered, at + 1);
            out.push(ordered, policy, request.target, &part, leads)
        };
        let span = written.filter(|_| !request.dry_run);
        let (name, revision) = match part.row {
            Some(row) => (set.name(row), Some(set.row(row).revision)),
            None => (part.name.into(), None),
        };
        let shown = &ordered.pieces.shown;
        let shown = part.row.and_then(|row| shown.get(&row));
        let late = part.row.is_some_and(|row| ordered.epoch.late.rows.contains(&row));
        if let Some(id) = revision
            && policy.freezes(part.section)
            && !late
        {
            if let Some(shown) = shown {
                forms.insert(floor.len() as u32, shown.form);
            }
            floor.push(id);
        }
        sums[part.section.index()] += u64::from(part.piece.tokens);
        items[part.section.index()].push(Item {
            name,
            revision,
            tokens: part.piece.tokens,
            form: shown.map(|shown| shown.form),
            late,
            span,
        });
    }
    let sections = places
        .into_iter()
        .filter(|section| counts[section.index()] > 0)
        .map(|section| SectionReport {
            name: section,
            zone: policy.zone(section),
            tokens: u32::try_from(sums[section.index()]).unwrap_or(u32::MAX),
            items: std::mem::take(&mut items[section.index()]),
        })
        .collect();
    let mut written = Written {
        payload: None,
        sections,
        floor,
        forms,
        pieces: sums.iter().sum(),
        overhead: ordered.room.overhead,
        applied: Applied::new(),
        changes_tools: false,
    };
    match (out, world.template()) {
        (Writer::Chat(body), Some(template)) => {
            priced(&body, world, &ordered.room)?;
            written.applied = body.applied().clone();
            let plain = body.through(template)?;
            written.applied.extend(plain.applied);
            relocate(&mut written.sections, &plain.places);
            written.payload = Some(Payload::Text(plain.text));
        }
        (Writer::Chat(body), None) => {
            priced(&body, world, &ordered.room)?;
            written.applied = body.applied().clone();
            written.changes_tools = body.changes_tools();
            if !request.dry_run {
                written.payload = Some(as_body(*body, world, &ordered.room, request.target)?);
            }
        }
        (Writer::Text(text), _) => written.payload = Some(Payload::Text(text)),
        (Writer::Dry, _) => {}
    }
    Ok(written)
}

/// Says where in the text the items stand that were said to stand in messages.
fn relocate(sections: &mut [SectionReport], places: &[Option<Stands>]) {
    for item in sections.iter_mut().flat_map(|section| &mut section.items) {
        item.span = item.span.and_then(|span| {
            let place = (*places.get(span.message? as usize)?)?;
            let at = |at: u32| {
                (place.at + ((at as usize).clamp(place.from, place.to) - place.from)) as u32
            };
            let (start, end) = (at(span.start), at(span.end));
            (start < end).then_some(Span {
                message: None,
                block: None,
                tool: None,
                start,
                end,
            })
        });
    }
}

/// Asserts that the price that was set before the messages existed is that of the messages.
fn priced(body: &chat::Body<'_>, world: &World, room: &Room) -> Result<(), Error> {
    let (texts, offers) = body.around();
    let chat = world.model().chat;
    let tools = if offers { chat.tools } else { 0 };
    let around = texts * (chat.per_message + 1) + chat.reply + tools;
    if around == room.overhead {
        Ok(())
    } else {
        Err(Error::assertion("the provider's overhead is as priced"))
    }
}

/// The message that the entries from here on came in, with its parts, where all stand together and in
/// full.
fn untouched<'o>(ordered: &'o Ordered<'_>, at: usize) -> Option<(&'o Outgoing, Vec<&'o Revision>)> {
    let Ordered { epoch, pieces, .. } = ordered;
    let set = ordered.live.set;
    let row = |at: usize| match ordered.entries.get(at) {
        Some(Entry::Row(row)) if epoch.section(*row) == Section::History => Some(*row),
        _ => None,
    };
    let first = row(at)?;
    let raw = pieces.row(first)?.raw.as_deref()?;
    let digest = set.object(first).revision().wire()?.digest;
    let mut parts = Vec::with_capacity(raw.texts.len());
    for (part, (text, answers)) in raw.texts.iter().enumerate() {
        let row = row(at + part)?;
        let revision = set.object(row).revision();
        let wire = revision.wire()?;
        let is_full = !pieces.shown.contains_key(&row);
        let is_next = wire.digest == digest && wire.part as usize == part;
        let is_same = revision.content_digest() == *text
            && answers.as_deref().is_none_or(|id| revision.tool_call_id() == Some(id));
        if !is_full || !is_next || !is_same {
            return None;
        }
        parts.push(revision);
    }
    Some((raw, parts))
}

/// Returns whether anyone but the system speaks.
fn speaks(ordered: &Ordered<'_>, policy: &Policy, target: Target) -> Result<bool, Error> {
    let set = ordered.live.set;
    for entry in &ordered.entries {
        let part = part(ordered, *entry)?;
        let revision = part.row.map(|row| set.object(row).revision());
        let is_tool =
            part.section == Section::Tools && revision.is_none_or(|tool| tool.tool().is_some());
        let by = match revision {
            Some(revision) if part.section == Section::History && revision.is_message() => {
                revision.speaker().unwrap_or(Role::User)
            }
            None if part.section == Section::History => Role::User,
            _ => Joint::of(policy, target, part.section, part.row.is_some()).role,
        };
        if !is_tool && by != Role::System {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether a message of the system may stand before the entry at this place: the model speaks there or
/// nothing follows, whatever else the system says in between.
fn leads(ordered: &Ordered<'_>, at: usize) -> bool {
    for entry in ordered.entries.iter().skip(at).take(MOST_BETWEEN) {
        let Entry::Row(row) = entry else {
            return false;
        };
        let revision = ordered.live.set.object(*row).revision();
        if ordered.epoch.section(*row) != Section::History || !revision.is_message() {
            return false;
        }
        match revision.speaker() {
            Some(Role::System) => {}
            Some(Role::Assistant) => {
                return !revision.tool_calls().is_empty() || !revision.content().trim().is_empty();
            }
            _ => return false,
        }
    }
    ordered.entries.len().saturating_sub(at) < MOST_BETWEEN
}

/// Gathers the bytes for one target.
enum Writer<'o> {
    /// Prices only.
    Dry,
    Text(String),
    Chat(Box<chat::Body<'o>>),
}

impl<'o> Writer<'o> {
    fn new(world: &World, request: &Request, bytes: usize, speaks: bool) -> Writer<'o> {
        // Where counts do not add up, even a dry run needs the whole text to count it. What rules a body
        // keeps to, a dry run says, too.
        let is_dry = request.dry_run && world.tokenizer().is_additive();
        match (request.target.is_chat(), is_dry) {
            (true, _) => Writer::Chat(Box::new(chat::Body::new(
                request.target,
                world.model(),
                speaks,
            ))),
            (false, true) => Writer::Dry,
            (false, false) => Writer::Text(String::with_capacity(bytes)),
        }
    }

    /// Adds a message as it came, if it may stand here.
    fn raw(&mut self, raw: &'o Outgoing, parts: &[&'o Revision], leads: bool) -> Option<Span> {
        match self {
            Writer::Chat(body) => body.raw(raw, parts.to_vec(), leads),
            Writer::Dry | Writer::Text(_) => None,
        }
    }

    fn push(
        &mut self,
        ordered: &'o Ordered<'_>,
        policy: &Policy,
        target: Target,
        part: &Part<'o>,
        leads: bool,
    ) -> Option<Span> {
        match self {
            Writer::Dry => None,
            Writer::Text(text) => {
                let start = text.len() as u32;
                part.piece.write(part.content, text);
                Some(Span {
                    message: None,
                    block: None,
                    tool: None,
                    start,
                    end: text.len() as u32,
                })
            }
            Writer::Chat(body) => {
                let set = ordered.live.set;
                let revision = part.row.map(|row| set.object(row).revision());
                let is_tool = match revision {
                    Some(revision) => revision.tool().is_some(),
                    // All that the compiler adds to the tools is tools.
                    None => part.section == Section::Tools,
                };
                let late = &ordered.epoch.late.rows;
                let late = part.row.is_some_and(|row| late.contains(&row));
                if is_tool && let Some(json) = part.piece.text.as_deref() {
                    return Some(if late {
                        body.late_tool(json)
                    } else {
                        body.tool(json)
                    });
                }
                if late {
                    return Some(body.text(Joint::LATE, false, part.piece, part.content));
                }
                let in_history = part.section == Section::History;
                if let Some(revision) = revision
                    && in_history
                    && revision.is_message()
                {
                    return Some(body.turn(revision, part.piece, leads));
                }
                // What the compiler adds to the history is said as the user.
                let (joint, alone) = if in_history && revision.is_none() {
                    body.apply(match part.name {
                        "@closing" => "last_message_is_users",
                        _ => "first_message_is_users",
                    });
                    (Joint::USER, true)
                } else {
                    let of = |target| Joint::of(policy, target, part.section, part.row.is_some());
                    let joint = of(target);
                    // Where the provider has such a role, it is the system's.
                    if joint.role == Role::User && of(Target::OpenAiChat).role == Role::System {
                        body.apply("system_position");
                    }
                    (joint, chat::is_alone(part.section))
                };
                Some(body.text(joint, alone, part.piece, part.content))
            }
        }
    }
}

/// The body as it is sent.
fn as_body(
    body: chat::Body<'_>,
    world: &World,
    room: &Room,
    target: Target,
) -> Result<Payload, Error> {
    let has_raw = body.has_raw();
    let body = body.finish(world.model_name(), room.answer);
    conforms(&body, world, target, has_raw)?;
    let body = RawValue::from_string(body)
        .map_err(|error| Error::assertion(format!("the body is JSON: {error}")))?;
    Ok(Payload::Body(body))
}

/// Asserts the provider's rules on what is about to be sent, with code that wrote none of it. What a
/// message brings that goes back as it came is the caller's; all else is ours.
fn conforms(body: &str, world: &World, target: Target, has_raw: bool) -> Result<(), Error> {
    let Some(format) = target.format() else {
        return Ok(());
    };
    let found = conform::check(format, body, Some(world.model()))?;
    let Some(first) = found.first() else {
        return Ok(());
    };
    let what = format!("`{}` at {}: {}", first.rule, first.at, first.what);
    Err(if has_raw {
        Error::input(format!(
            "the conversation breaks a rule of {format}: {what}"
        ))
        .expected("messages that the provider takes")
        .hint("`tenure check` names every rule that a body breaks")
    } else {
        Error::assertion(what)
    })
}

/// The tokens of the payload: the sum of its pieces, which is the count of the whole where counts
/// add up; elsewhere the whole text is counted and the margin stays unspent.
fn total_tokens(written: &Written, world: &World) -> u32 {
    let whole = match &written.payload {
        Some(Payload::Text(text))
            if !world.tokenizer().is_additive() || world.template().is_some() =>
        {
            world.tokenizer().count(text) as u64
        }
        _ => written.pieces + u64::from(written.overhead),
    };
    u32::try_from(whole).unwrap_or(u32::MAX)
}

/// V = Σ share(s)·(1 − isolation(s)) over the pieces that hold data.
fn injection_surface(ordered: &Ordered<'_>, policy: &Policy, total: u32) -> Score {
    let isolation = &policy.document().isolation;
    let Ordered { live, pieces, .. } = ordered;
    let mut open = 0u64;
    for entry in &ordered.entries {
        let (piece, is_data) = match entry {
            Entry::Heading(_) | Entry::Mark(..) | Entry::Closing => continue,
            Entry::Added(at) => (Some(&pieces.added[*at].piece), false),
            Entry::Row(row) => (
                pieces.row(*row),
                live.set.row(*row).authority == Authority::Data,
            ),
        };
        let Some(piece) = piece else { continue };
        // What poses as the compiler's own words is as open as data without a frame, whatever became of it.
        let poses = piece.escaped > 0 || piece.passed > 0 || piece.disguised;
        let isolated = match piece.mechanism {
            Mechanism::KeyedFrame => isolation.keyed_frame,
            Mechanism::ToolMessage if !poses => isolation.tool_message,
            Mechanism::Instruction if !is_data && !poses => continue,
            Mechanism::ToolMessage | Mechanism::Instruction => isolation.none,
        };
        open += u64::from(piece.tokens) * u64::from(isolated.complement().millionths());
    }
    Score::from_millionths(open.checked_div(u64::from(total)).unwrap_or(0) as u32)
}

/// Facts that are known once the payload is written.
struct Seal {
    total: u32,
    count: CountKind,
    payload_digest: Option<Digest>,
    injection_surface: Score,
    applied: Applied,
    changes_tools: bool,
}

fn trace(
    ordered: &Ordered<'_>,
    world: &World,
    (policy, task_type): (&Policy, Option<TaskType>),
    inputs: InputDigests,
    seal: &Seal,
    verdicts: Vec<Option<Reason>>,
) -> Trace {
    let Ordered {
        live,
        epoch,
        ranking,
        pieces,
        room,
        ..
    } = ordered;
    let set = live.set;
    let verdict = |(row, (reason, name)): (usize, (Option<Reason>, &Arc<str>))| {
        // A candidate without a verdict is caught by `assert_promises`.
        let reason = reason?;
        let row = row as u32;
        let (rung, held_by) =
            ladder::reached(&reason, set.row(row), || match pieces.climbs.get(&row) {
                Some(climb) => (climb.rung, climb.held_by),
                None => {
                    let object = set.object(row);
                    let climb = if live.meanings.undecided.contains(&row) {
                        ladder::undecided(object, policy)
                    } else {
                        ladder::convert(object, policy, task_type)
                    };
                    (climb.rung, climb.held_by)
                }
            });
        Some(Verdict {
            rung: Some(rung),
            held_by,
            name: Arc::clone(name),
            verdict: reason.ruling(),
            section: epoch.section(row),
            tokens: pieces.tokens(row),
            score: reason.shows_score().then(|| ranking.scores[row as usize]),
            canonical_entity_ids: live.canonical_ids(row, &reason),
            speaks_of: live.meanings.spoken.get(&row).cloned(),
            mentions: live.mentions(row, &reason),
            reason,
        })
    };
    let applied = seal.applied.iter().map(|(rule, times)| Note::RuleApplied {
        rule: (*rule).to_owned(),
        times: *times,
    });
    let model = world.model().late_tools.as_ref();
    let beta = model
        .and_then(|late| late.beta.clone())
        .filter(|_| seal.changes_tools)
        .map(|beta| Note::BetaNeeded { beta });
    let mut stages = live.stages.clone();
    let left = live.rows.len() as u32;
    for stage in [Stage::Order, Stage::Emit] {
        stages.push(crate::compile::trace::StageReport {
            stage,
            entered: left,
            left,
        });
    }
    let condensed = pieces.shown.iter().map(|(row, shown)| {
        let piece = pieces.row(*row);
        let how = piece.and_then(|piece| piece.how.as_deref());
        Condensed {
            candidate: *row,
            name: set.name(*row),
            from: shown.full,
            to: piece.map_or(0, |piece| piece.tokens),
            form: shown.form,
            method: how.map_or(Method::Author, |how| how.method),
            fidelity: how.map(|how| how.fidelity),
            pointer: how.and_then(|how| how.pointer),
        }
    });
    let evicted = told::evicted(ordered, world, policy, &verdicts);
    Trace {
        version: TRACE_VERSION,
        input_digest: inputs.root(),
        inputs,
        payload_digest: seal.payload_digest,
        policy: PolicyReport {
            name: policy.document().name.clone(),
            version: policy.document().version.clone(),
            digest: policy.digest(),
        },
        model: world.model_name().to_owned(),
        tokenizer: TokenizerReport {
            name: world.tokenizer().name().to_owned(),
            count: seal.count,
        },
        budget: room.budget,
        total_tokens: seal.total,
        strategy: Some(epoch.strategy),
        plan: epoch.report.clone(),
        stages,
        condensed: condensed.collect(),
        evicted,
        allocations: room.shares.reports.clone(),
        lambda: ordered.room.shares.certificate.map(|proof| proof.lambda.unwrap_or(0.0)),
        certificate: room.shares.certificate,
        verdicts: verdicts.into_iter().zip(set.names()).enumerate().filter_map(verdict).collect(),
        retrieval: ranking.retrieval.as_ref().map(|(report, _)| report.clone()),
        unfetched: match &ranking.retrieval {
            Some((_, unfetched)) => [&set.unfetched[..], unfetched].concat(),
            None => set.unfetched.clone(),
        },
        notes: live.notes.iter().cloned().chain(applied).chain(beta).collect(),
        injection_surface: seal.injection_surface,
        quality: Vec::new(),
        forecast: None,
        view: View::Operator,
        rest: None,
    }
}

/// Refuses a payload without what the policy requires. What the caller may see decides, so this is
/// no bug.
fn required(envelope: &Envelope, policy: &Policy, has_task: bool) -> Result<(), Error> {
    // What only keeps the messages legal is nothing that a policy can want.
    let stands = |report: &SectionReport| report.items.iter().any(|item| &*item.name != "@closing");
    for section in &policy.document().required {
        // The model has before it what it was sent.
        let sent = has_task && matches!(section, Section::Task | Section::Query);
        if !sent && !envelope.section(*section).is_some_and(stands) {
            let what = format!("nothing stands in `{section}`, which the policy requires");
            return Err(Error::new(ErrorKind::Policy, what)
                .expected(format!("an object for `{section}` that the caller may see"))
                .hint("or leave the section out of the policy's `required`"));
        }
    }
    Ok(())
}

/// Asserts what the compiler promises of a payload.
fn assert_promises(compiled: &Compiled, ordered: &Ordered<'_>) -> Result<(), Error> {
    let Compiled { envelope, trace } = compiled;
    let Ordered { live, epoch, .. } = ordered;
    let set = live.set;
    let check = |holds: bool, promise: &str| {
        if holds {
            Ok(())
        } else {
            Err(Error::assertion(promise))
        }
    };

    check(
        envelope.total_tokens <= envelope.budget,
        "the payload keeps the budget",
    )?;
    let sections = envelope.sections.iter().map(|section| u64::from(section.tokens));
    let sum = sections.sum::<u64>() + u64::from(envelope.overhead_tokens);
    check(
        u64::from(envelope.total_tokens) <= sum,
        "the total is the sum of the sections and the overhead",
    )?;
    check(
        trace.verdicts.len() == set.rows.len(),
        "every candidate has one verdict",
    )?;
    let standing = trace
        .verdicts
        .iter()
        .filter(|verdict| verdict.verdict == Ruling::Included)
        .count();
    let rows = ordered.entries.iter().filter(|entry| matches!(entry, Entry::Row(_))).count();
    check(
        standing == rows && rows == live.rows.len(),
        "what is included stands in the payload, once",
    )?;
    check(
        trace.certificate.is_none_or(|certificate| certificate.holds()),
        "no exchange of a token between sections is worth more",
    )?;
    for report in &trace.allocations {
        check(
            report.used - report.flow_back <= report.allocated,
            "no section exceeds its allocation",
        )?;
        check(
            report.max == 0 || report.used <= report.max,
            "no section exceeds its maximum",
        )?;
    }
    let mut evidence: DigestMap<()> = DigestMap::default();
    for &row in &live.rows {
        let facts = set.row(row);
        if facts.authority == Authority::Data {
            let piece = ordered.pieces.row(row);
            let contained = piece.is_some_and(|piece| piece.mechanism != Mechanism::Instruction);
            check(contained, "no data stands outside a frame")?;
        }
        if facts.section == Section::Evidence {
            check(!facts.anonymous, "evidence has its provenance")?;
            // What must stand stands beside a copy; no two others say the same.
            let must = matches!(
                trace.verdicts[row as usize].reason,
                Reason::Mandatory { .. } | Reason::KeptWith { .. }
            );
            let key = set.row(row).content.key();
            check(
                must || evidence.insert(key, ()).is_none(),
                "no evidence stands twice",
            )?;
        }
    }
    let frozen = epoch.frozen.len();
    let kept = frozen == 0 || {
        let ledger: Vec<_> = envelope.served.floor.iter().take(frozen).collect();
        let mut places: Vec<(u32, u32)> =
            epoch.frozen.iter().map(|(row, place)| (*place, *row)).collect();
        places.sort_unstable();
        let ids = places.iter().map(|(_, row)| set.row(*row).revision);
        ledger.len() == frozen && ids.eq(ledger.into_iter().copied())
    };
    check(kept, "what was served stays where it was")
}
