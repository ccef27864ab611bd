//! Candidates and the compiler's own texts as pieces, each made at most once per world.
//!
//! Not a stage: the plan asks what a corpus would cost, and `contain` makes what then stands.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::compile::ladder::{self, Climb};
use crate::compile::trace::Note;
use crate::condense::code::{self, Elidable};
use crate::condense::pointer::{pointer_id, pointer_line};
use crate::condense::{Goal, Method, condense};
use crate::input::candidates::{Normalized, Row};
use crate::input::facts::Facts;
use crate::input::outlines::{self, Outline};
use crate::input::policy::{Order, Policy};
use crate::input::request::Request;
use crate::input::served::Form;
use crate::input::task::TaskState;
use crate::object::section::Section;
use crate::object::{Authority, ContextObject, ObjectDocument, ObjectType, Protection, TaskType};
use crate::provider::target::Target;
use crate::write::frame::{
    self, ACCUMULATE, LAST_WRITER, PRECEDENCE, PRECEDENCE_OF_BLOCKS, Placement,
};
use crate::write::piece::{Condensation, Piece, Seam};
use crate::write::render::chat;
use crate::write::world::World;

/// The words of the user that the compiler adds where no others end the messages.
const CLOSING: &str = "Continue with the task.\n";

/// The tool by which a model reaches what is left to retrieval.
pub(crate) const ARCHIVE: &str = "query_archive";
/// The name of its piece.
pub(crate) const ARCHIVE_PIECE: &str = "@query_archive";

/// The least that a long content is condensed to, in tokens.
const LEAST: u32 = 1024;

/// To which parts of itself a content of so many tokens is condensed: to one, without loss; to a
/// half and a sixth; and of a long one to a quarter of the last as long as that is long, too. Parts
/// beyond the limit of one item are of no use.
fn parts(tokens: u32, limit: u32) -> impl Iterator<Item = u32> {
    let further = std::iter::successors(Some(24u32), |part| part.checked_mul(4))
        .take_while(move |part| tokens / part >= LEAST);
    let lossy = [2, 6].into_iter().chain(further).filter(move |part| tokens / part <= limit);
    std::iter::once(1).chain(lossy)
}

/// A piece that the compiler adds.
#[derive(Clone)]
pub(crate) struct Added {
    pub(crate) name: &'static str,
    pub(crate) section: Section,
    pub(crate) piece: Piece,
}

impl Added {
    /// The authority under whose mark it stands: the task and the request are the user's.
    pub(crate) fn voice(&self) -> Option<Authority> {
        matches!(self.section, Section::Task | Section::Query).then_some(Authority::User)
    }
}

/// The marks under which the words of each authority stand in a section.
#[derive(Clone)]
pub(crate) struct Marks([Option<Piece>; Marks::COUNT]);

impl Marks {
    const COUNT: usize = 4;

    /// Returns whether there are any.
    pub(crate) fn any(&self) -> bool {
        self.0[0].is_some()
    }

    /// The mark of an authority.
    pub(crate) fn of(&self, voice: Authority) -> Option<&Piece> {
        self.0.get(usize::from(voice.level()))?.as_ref()
    }

    /// Returns the tokens of the mark of an authority.
    pub(crate) fn tokens(&self, voice: Authority) -> u32 {
        self.of(voice).map_or(0, |piece| piece.tokens)
    }
}

/// Returns the authority under whose mark a row stands in this section; none of data, of tools and of the conversation.
/// What somebody prefers or is never speaks as more than the user, what was concluded never as more than memory.
pub(crate) fn voice(row: &Row, section: Section) -> Option<Authority> {
    if matches!(
        section,
        Section::Tools | Section::History | Section::Evidence
    ) {
        return None;
    }
    let least = match row.object_type {
        ObjectType::Preference | ObjectType::IdentityFact | ObjectType::TaskState => {
            Authority::User
        }
        ObjectType::InferredBelief | ObjectType::Checkpoint => Authority::Memory,
        _ => Authority::Platform,
    };
    Some(row.authority.max(least)).filter(|voice| *voice != Authority::Data)
}

/// The ways up of observations, by their rows.
pub(crate) type Climbs = BTreeMap<u32, Climb>;

/// The inputs of prices besides the candidates.
#[derive(Clone, Copy)]
pub(crate) struct Pricing<'w> {
    pub(crate) world: &'w World,
    pub(crate) policy: &'w Policy,
    pub(crate) target: Target,
    /// The type of the task, which says what follows from a fact.
    pub(crate) task_type: Option<TaskType>,
}

impl Pricing<'_> {
    /// The pieces of these rows in these sections.
    pub(crate) fn of_rows(
        &self,
        set: &Normalized,
        rows: &[(u32, Section)],
        undecided: &BTreeSet<u32>,
    ) -> Vec<Piece> {
        self.converted(set, rows, &self.climbs(set, rows, undecided))
    }

    /// The pieces of these rows in these sections, the observations among them as what follows from them.
    pub(crate) fn converted(
        &self,
        set: &Normalized,
        rows: &[(u32, Section)],
        climbs: &Climbs,
    ) -> Vec<Piece> {
        let words = |at: usize| climbs.get(&rows[at].0)?.words.as_deref();
        let keys = rows.iter().enumerate().map(|(at, (row, section))| {
            let own = words(at).map_or(0, |words| Digest::of(words.as_bytes()).key());
            self.key(set, *row, *section) ^ own
        });
        self.world.pieces(keys, |at| {
            let (row, section) = rows[at];
            let place = self.place(set, row, section);
            let piece = match words(at) {
                Some(words) => frame::guided(self.world, set.object(row), place, words),
                None => frame::frame(self.world, set.object(row), place),
            };
            if self.is_alone(set, row, section) {
                frame::alone(self.world, piece)
            } else {
                piece
            }
        })
    }

    /// The ways up of the observations among these rows, which do not stand in their own words; of none where the
    /// policy converts none. Of what is `undecided`, the claims alone stand.
    pub(crate) fn climbs(
        &self,
        set: &Normalized,
        rows: &[(u32, Section)],
        undecided: &BTreeSet<u32>,
    ) -> Climbs {
        if !self.policy.document().guidance.ladder {
            return Climbs::new();
        }
        let observed = rows.iter().filter(|(row, _)| {
            let facts = set.row(*row);
            ladder::is_observation(facts.object_type, facts.authority)
        });
        let climb = |row: u32| {
            let object = set.object(row);
            if undecided.contains(&row) {
                ladder::undecided(object, self.policy)
            } else {
                ladder::convert(object, self.policy, self.task_type)
            }
        };
        observed.map(|(row, _)| (*row, climb(*row))).collect()
    }

    /// The forms that the authors of these rows made and that cost less than the next longer one,
    /// the shortest first, under the rows' numbers; nothing where no one made any. What is protected to
    /// the letter has none.
    pub(crate) fn shorter_forms(
        &self,
        set: &Normalized,
        rows: &[(u32, Section)],
        full: &[Piece],
    ) -> Vec<Vec<(Form, Piece)>> {
        let mut made: Vec<(usize, Form, &str)> = Vec::new();
        for (at, (row, _)) in rows.iter().enumerate() {
            let facts = set.row(*row);
            // A shorter form of what somebody said is no less raw.
            let is_raw = self.policy.document().guidance.ladder
                && ladder::is_observation(facts.object_type, facts.authority);
            if !facts.rare || facts.protection == Protection::Verbatim || is_raw {
                continue;
            }
            let rare = set.object(*row).revision().rare();
            let forms = [
                (Form::Overview, &rare.overview),
                (Form::Abstract, &rare.abstract_text),
            ];
            let texts = forms.into_iter();
            made.extend(texts.filter_map(|(form, text)| Some((at, form, text.as_deref()?))));
        }
        let keys = made.iter().map(|(at, form, _)| {
            let (row, section) = rows[*at];
            self.key(set, row, section) ^ ((*form as u128 + 1) << 32)
        });
        let pieces = self.world.pieces(keys, |at| {
            let (at, form, text) = made[at];
            let (row, section) = rows[at];
            let place = self.place(set, row, section);
            let piece = frame::short_form(self.world, set.object(row), place, form, text);
            if self.is_alone(set, row, section) {
                frame::alone(self.world, piece)
            } else {
                piece
            }
        });
        let mut forms = Vec::new();
        if !made.is_empty() {
            forms.resize_with(set.rows.len(), Vec::new);
        }
        for ((at, form, _), piece) in made.into_iter().zip(pieces) {
            let forms: &mut Vec<(Form, Piece)> = &mut forms[rows[at].0 as usize];
            let next = forms.first().map_or(&full[at], |(_, piece)| piece);
            if piece.tokens < next.tokens {
                forms.insert(0, (form, piece));
            }
        }
        forms
    }

    /// Adds to the shorter forms of these rows what condensing their contents makes of them, for data
    /// that may change with the call, to several [`parts`] of itself. What it would take a fact for
    /// that is missing is noted.
    pub(crate) fn condensed_forms(
        &self,
        set: &Normalized,
        rows: &[(u32, Section)],
        full: &[Piece],
        task: &str,
        facts: &Facts,
        forms: &mut Vec<Vec<(Form, Piece)>>,
    ) -> Vec<Note> {
        let above = self.policy.document().condense_above;
        let may = |at: &usize| {
            let (row, section) = rows[*at];
            let facts = set.row(row);
            let is_result = facts.object_type == ObjectType::ToolResult;
            above > 0
                && full[*at].tokens > above
                && facts.text
                && facts.protection != Protection::Verbatim
                && !self.policy.freezes(section)
                && match section {
                    Section::History => is_result,
                    _ => facts.authority == Authority::Data,
                }
        };
        // What was said stays as it was said: it must not change with each request.
        let task_of = |section: Section| match section {
            Section::History => "",
            _ => task,
        };
        let mut missing = Vec::new();
        let mut outlines: BTreeMap<usize, (&[Elidable], u128)> = BTreeMap::new();
        for at in (0..rows.len()).filter(may) {
            let (row, _) = rows[at];
            match outlines::known(set, row, self.policy, facts) {
                Outline::None => {}
                Outline::Missing => missing.push(Note::FactMissing {
                    name: set.name(row),
                    fallback: "source code whose outline is not known is not condensed".to_owned(),
                }),
                Outline::Known { parts, key } => {
                    outlines.insert(at, (parts, key));
                }
            }
        }
        let made: Vec<(usize, u32)> = (0..rows.len())
            .filter(may)
            .flat_map(|at| {
                let limit = self.policy.limit(set.row(rows[at].0).authority);
                parts(full[at].tokens, limit).map(move |part| (at, part))
            })
            .collect();
        if made.is_empty() {
            return missing;
        }
        let task_key = Digest::of(task.as_bytes()).key();
        let keys = made.iter().map(|(at, part)| {
            let (row, section) = rows[*at];
            let task = match task_of(section) {
                "" => 0,
                _ => task_key,
            };
            let outline = outlines.get(at).map_or(0, |(_, key)| *key);
            let key = self.key(set, row, section) ^ (u128::from(*part) << 40);
            key.wrapping_add(task).wrapping_add(outline)
        });
        let pieces = self.world.pieces(keys, |at| {
            let (at, part) = made[at];
            let (row, section) = rows[at];
            let goal = (task_of(section), part, full[at].tokens);
            let outline = outlines.get(&at).map(|(parts, _)| *parts);
            self.condensed(set, row, section, goal, outline)
        });
        forms.resize_with(set.rows.len(), Vec::new);
        for ((at, _), piece) in made.into_iter().zip(pieces) {
            if piece.tokens < full[at].tokens {
                forms[rows[at].0 as usize].push((Form::Condensed, piece));
            }
        }
        for forms in forms.iter_mut() {
            forms.sort_by_key(|(form, piece)| (piece.tokens, *form as u8));
            forms.dedup_by_key(|(_, piece)| piece.tokens);
        }
        missing
    }

    /// A content condensed for a task to a part of what it costs, with a pointer to what was left out; costlier
    /// than anything where that cannot be done.
    fn condensed(
        &self,
        set: &Normalized,
        row: u32,
        section: Section,
        (task, part, full): (&str, u32, u32),
        outline: Option<&[Elidable]>,
    ) -> Piece {
        let object = set.object(row);
        let content = object.revision().content();
        let id = pointer_id(self.world.frame_key(), &object.revision().content_digest());
        let count = |text: &str| self.world.price(text) as usize;
        let goal = Goal {
            tokens: full / part,
            task,
            count: &count,
            lossless_only: part == 1,
        };
        let condensed = match outline {
            Some(parts) => code::condense(content, parts, &goal),
            None => condense(content, None, &goal),
        };
        let how = Condensation {
            method: condensed.method,
            fidelity: condensed.fidelity(content),
            pointer: (!condensed.lossless).then_some(id),
        };
        let mut text = condensed.text;
        if let Some(id) = how.pointer {
            let left_out: Vec<String> = condensed
                .left_out
                .iter()
                .map(|left| format!("{} {}", left.count, left.unit))
                .collect();
            text.truncate(text.trim_end().len());
            text.push('\n');
            text.push_str(&pointer_line(&left_out.join(", "), id));
        }
        let place = self.place(set, row, section);
        let piece = frame::short_form(self.world, object, place, Form::Condensed, &text);
        let tokens = match condensed.method {
            Method::Unchanged => u32::MAX,
            _ => piece.tokens,
        };
        Piece {
            tokens,
            how: Some(Arc::new(how)),
            ..piece
        }
    }

    /// Returns the place of a row in this section.
    fn place(&self, set: &Normalized, row: u32, section: Section) -> Placement {
        Placement {
            alone: self.is_alone(set, row, section),
            ..self.place_of(section)
        }
    }

    /// Returns the place of a text of this section that the compiler adds.
    fn place_of(&self, section: Section) -> Placement {
        let document = self.policy.document();
        Placement {
            target: self.target,
            section,
            headings: document.headings && document.order != Order::Registry,
            alone: false,
        }
    }

    /// Text of a section that stands between turns is a message of its own.
    fn is_alone(&self, set: &Normalized, row: u32, section: Section) -> bool {
        self.target.is_chat() && chat::is_alone(section) && !set.row(row).is_message()
    }

    fn key(&self, set: &Normalized, row: u32, section: Section) -> u128 {
        let id = set.row(row).revision;
        let revision = if !set.row(row).renamed {
            id.key()
        } else {
            // The name may stand in the bytes.
            Digest::of_parts([id.bytes().as_slice(), set.object(row).name().as_bytes()]).key()
        };
        let place = self.place(set, row, section);
        let alone = u128::from(place.alone) << 4 | u128::from(place.headings) << 5;
        revision ^ ((section.index() as u128) << 8 | alone | self.target as u128 | 0x100_0000)
    }

    /// The precedence, the task's state and the query. Of a state that the model has before it, what is new
    /// since it was said.
    pub(crate) fn added(&self, request: &Request, said: Option<&TaskState>) -> Vec<Added> {
        let cached =
            |name: &'static str, section: Section, text: &[u8], make: &dyn Fn() -> Piece| {
                let place = self.place_of(section);
                let form = [self.target as u8, u8::from(place.headings)];
                let key = Digest::of_parts([name.as_bytes(), &form, text]).key();
                let piece = self
                    .world
                    .pieces(std::iter::once(key), |_| self.cleared(make()))
                    .into_iter()
                    .next();
                piece.map(|piece| Added {
                    name,
                    section,
                    piece,
                })
            };
        let precedence = self
            .policy
            .document()
            .precedence
            .then(|| {
                let text = self.precedence();
                cached("@precedence", Section::Identity, text.as_bytes(), &|| {
                    Piece::added(self.world, &*text)
                })
            })
            .flatten();
        let state = serde_json::to_vec(&(&request.task, said)).unwrap_or_default();
        let task = cached("@task", Section::Task, &state, &|| {
            frame::task_state(self.world, &request.task, said).0
        });
        let has_data = !request.task.results.is_empty() || !request.task.errors.is_empty();
        let data = has_data
            .then(|| frame::task_state(self.world, &request.task, said).1)
            .flatten()
            .map(|piece| Added {
                name: "@task-data",
                section: Section::Task,
                piece: self.cleared(piece),
            });
        let query = request.query.as_deref().and_then(|query| {
            cached("@query", Section::Query, query.as_bytes(), &|| {
                frame::query(self.world, query, self.place_of(Section::Query))
            })
        });
        precedence.into_iter().chain(task).chain(data).chain(query).collect()
    }

    /// The precedence of instructions, in words.
    fn precedence(&self) -> Cow<'static, str> {
        let guidance = &self.policy.document().guidance;
        if !self.has_marks() {
            return PRECEDENCE.into();
        }
        let [before, behind] = PRECEDENCE_OF_BLOCKS;
        let equals = if guidance.last_writer() {
            LAST_WRITER
        } else {
            ACCUMULATE
        };
        [before, equals, behind].concat().into()
    }

    /// Returns whether the words of each authority stand under a mark of their own, which is a heading. One flow in
    /// registry order has no sections for them to stand in.
    fn has_marks(&self) -> bool {
        let document = self.policy.document();
        document.guidance.blocks && document.headings && document.order != Order::Registry
    }

    /// The marks under which the words of each authority stand in a section; none where the policy has none.
    pub(crate) fn marks(&self) -> Marks {
        let mut table = [const { None }; Marks::COUNT];
        if !self.has_marks() {
            return Marks(table);
        }
        let known: Vec<&str> = Authority::ALL.iter().filter_map(|of| of.mark()).collect();
        let pieces = self.world.pieces(
            (0..known.len()).map(|at| (u128::MAX << 64) | (1 << 32) | at as u128),
            |at| Piece::added(self.world, known[at]),
        );
        for (slot, piece) in table.iter_mut().zip(pieces) {
            *slot = Some(piece);
        }
        Marks(table)
    }

    /// At most what the marks cost where these rows may stand, and what the compiler adds.
    pub(crate) fn most_marks(
        &self,
        set: &Normalized,
        rows: impl Iterator<Item = (u32, Section)>,
    ) -> u64 {
        let marks = self.marks();
        if !marks.any() {
            return 0;
        }
        let mut opened = [0u8; Section::COUNT];
        let own = [Section::Task, Section::Query].map(|section| (section, Authority::User));
        let rows = rows.filter_map(|(row, section)| Some((section, voice(set.row(row), section)?)));
        let mut sum = 0;
        for (section, voice) in own.into_iter().chain(rows) {
            let bit = 1 << voice.level();
            if opened[section.index()] & bit == 0 {
                opened[section.index()] |= bit;
                sum += u64::from(marks.tokens(voice));
            }
        }
        sum
    }

    /// A text that the compiler adds, without control tokens: the words in it are the user's at most.
    fn cleared(&self, piece: Piece) -> Piece {
        frame::without_marks(self.world, piece, "", Authority::User, self.target)
    }

    /// The sections' headings: one flow in registry order has none, and neither have tools and turns
    /// in a provider's body.
    pub(crate) fn headings(&self) -> [Option<Piece>; Section::COUNT] {
        let mut table = [const { None }; Section::COUNT];
        let document = self.policy.document();
        if !document.headings || document.order == Order::Registry {
            return table;
        }
        let pieces = self.world.pieces(
            Section::ALL.iter().map(|section| (u128::MAX << 64) | section.index() as u128),
            |at| Piece::added(self.world, Section::ALL[at].heading()),
        );
        for (section, piece) in Section::ALL.iter().zip(pieces) {
            let own_channel =
                self.target.is_chat() && matches!(section, Section::Tools | Section::History);
            table[section.index()] = (!own_channel).then_some(piece);
        }
        table
    }

    /// At most what stands in a payload without tools besides the candidates: the compiler's own texts, and what the
    /// provider adds.
    pub(crate) fn most_around(&self, request: &Request) -> u64 {
        let added = self.added(request, None);
        let headings = self.headings();
        let texts: u64 = added
            .iter()
            .map(|added| &added.piece)
            .chain(headings.iter().flatten())
            .map(|piece| u64::from(piece.tokens))
            .sum();
        if !self.target.is_chat() {
            return texts;
        }
        let chat = self.world.model().chat;
        let all = [true; Section::COUNT];
        let late = chat::LateParts {
            texts: true,
            tools: true,
        };
        let messages = chat::SharedMessages::new(self.policy, self.target, &all).count(&all, late);
        let messages = u64::from(messages);
        let ends: u64 = [self.opening(), self.closing()]
            .iter()
            .map(|piece| u64::from(piece.tokens))
            .sum();
        let each = u64::from(chat.per_message) + 1;
        texts + ends + messages * each + u64::from(chat.reply)
    }

    /// The tokens that the provider adds where any tool is offered.
    pub(crate) fn around_tools(&self) -> u64 {
        if self.target.is_chat() {
            u64::from(self.world.model().chat.tools)
        } else {
            0
        }
    }

    /// Returns the piece that opens the history where its first words must be the user's.
    pub(crate) fn opening(&self) -> Piece {
        self.says(Section::History.heading())
    }

    /// Returns the piece that ends the messages where none of the user's does.
    pub(crate) fn closing(&self) -> Piece {
        self.says(CLOSING)
    }

    fn says(&self, text: &'static str) -> Piece {
        frame::alone(self.world, Piece::added(self.world, text))
    }

    /// The tool that reaches what is left to retrieval.
    ///
    /// # Errors
    ///
    /// None: its schema is constant, and tested.
    pub(crate) fn archive(&self) -> Result<Added, Error> {
        let schema = serde_json::json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "description": "What to look for, in words." },
                "limit": { "type": "integer", "minimum": 1, "description": "The most passages to return." },
            },
            "required": ["query"],
        });
        let text = "Search the archive for passages of the documents that are not shown here. Use it \
                    before answering from memory about them.";
        let tool: Arc<ContextObject> = ObjectDocument {
            object_type: Some(ObjectType::ToolSchema),
            input_schema: Some(schema),
            ..ObjectDocument::named(ARCHIVE, text)
        }
        .seal()?;
        Ok(Added {
            name: ARCHIVE_PIECE,
            section: Section::Tools,
            piece: frame::frame(self.world, &tool, self.place_of(Section::Tools)),
        })
    }
}

/// Returns the notes on a piece.
pub(crate) fn notes(name: Arc<str>, piece: &Piece) -> Vec<Note> {
    let mut notes = Vec::new();
    if piece.escaped > 0 {
        notes.push(Note::ImitationEscaped {
            name: Arc::clone(&name),
            times: u32::from(piece.escaped),
        });
    }
    if piece.passed > 0 {
        notes.push(Note::ImitationPassed {
            name: Arc::clone(&name),
            times: u32::from(piece.passed),
        });
    }
    if piece.disguised {
        notes.push(Note::DisguisedImitation {
            name: Arc::clone(&name),
        });
    }
    match piece.seam {
        Seam::Whole => {}
        Seam::Trimmed => notes.push(Note::SeamTrimmed { name }),
        Seam::Labelled => notes.push(Note::SeamLabelled { name }),
    }
    notes
}
