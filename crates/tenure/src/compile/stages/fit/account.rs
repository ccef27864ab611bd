//! The running account of a fit: what stands, what is left, and what letting in more would cost.

use std::sync::Arc;

use crate::compile::pieces;
use crate::compile::stages::contain::Contained;
use crate::compile::stages::fit::losses::Losses;
use crate::compile::trace::Reason;
use crate::input::candidates::Normalized;
use crate::input::policy::{Order, Policy};
use crate::input::served::Form;
use crate::object::Authority;
use crate::object::section::Section;
use crate::provider::catalogue::ChatOverhead;
use crate::provider::target::Target;
use crate::write::piece::Piece;
use crate::write::render::chat::{LateParts, SharedMessages};
use crate::write::world::World;

/// The overhead that a provider adds around the text, as it follows from the contents of the body.
pub(super) struct Around<'p> {
    pub(super) policy: &'p Policy,
    messages: SharedMessages,
    /// None for a target that adds nothing.
    pub(super) chat: Option<ChatOverhead>,
}

/// The contents of a body, as far as the provider's overhead depends on them.
#[derive(Clone, Copy, PartialEq, Default)]
pub(super) struct Present {
    pub(super) texts: [bool; Section::COUNT],
    pub(super) tools: bool,
    pub(super) late: LateParts,
}

impl<'p> Around<'p> {
    pub(super) fn new(
        contained: &Contained<'_>,
        world: &World,
        policy: &'p Policy,
        target: Target,
    ) -> Self {
        let mut added = [false; Section::COUNT];
        for piece in &contained.pieces.added {
            // In a body, tools are no texts.
            added[piece.section.index()] = !(target.is_chat() && piece.section == Section::Tools);
        }
        let chat = target.is_chat().then_some(world.model().chat);
        Around {
            policy,
            messages: SharedMessages::new(policy, target, &added),
            chat,
        }
    }

    pub(super) fn tokens(&self, present: &Present) -> u32 {
        let Some(chat) = self.chat else { return 0 };
        let messages = self.messages.count(&present.texts, present.late);
        let tools = if present.tools { chat.tools } else { 0 };
        messages * (chat.per_message + 1) + chat.reply + tools
    }

    /// Returns the overhead that letting in more adds.
    pub(super) fn more(&self, before: &Present, after: &Present) -> u32 {
        if before == after {
            0
        } else {
            self.tokens(after).saturating_sub(self.tokens(before))
        }
    }
}

/// The form that each row stands in, or would: a place among its shorter forms, or the full one.
#[derive(Clone, Default)]
pub(super) struct Shortened(Vec<u8>);

impl Shortened {
    /// These rows in their shortest form, the others in full.
    pub(super) fn all(count: usize, rows: impl Iterator<Item = u32>) -> Shortened {
        let mut places = vec![0; count];
        rows.for_each(|row| places[row as usize] = 1);
        Shortened(places)
    }

    /// The place of a row's form among its shorter ones; none for the full one.
    pub(super) fn of(&self, row: u32) -> Option<usize> {
        let place = self.0.get(row as usize)?;
        usize::from(*place).checked_sub(1)
    }

    fn set(&mut self, row: u32, at: Option<usize>) {
        if let Some(place) = self.0.get_mut(row as usize) {
            *place = at.map_or(0, |at| at as u8 + 1);
        }
    }
}

/// The sections that something stands in, and the marks under which it does.
#[derive(Clone, Copy, Default)]
pub(super) struct Opened([u8; Section::COUNT]);

impl Opened {
    const HEADING: u8 = 1 << 7;

    /// Returns whether nothing stands in the section yet.
    pub(super) fn is_closed(&self, section: Section) -> bool {
        self.0[section.index()] & Opened::HEADING == 0
    }

    /// Returns whether nothing stands under this mark yet.
    pub(super) fn is_unmarked(&self, section: Section, voice: Authority) -> bool {
        self.0[section.index()] & (1 << voice.level()) == 0
    }

    /// Opens the section, and returns whether that is new.
    pub(super) fn heading(&mut self, section: Section) -> bool {
        let is_new = self.is_closed(section);
        self.0[section.index()] |= Opened::HEADING;
        is_new
    }

    /// Opens the mark, and returns whether that is new.
    pub(super) fn mark(&mut self, section: Section, voice: Authority) -> bool {
        let is_new = self.is_unmarked(section, voice);
        self.0[section.index()] |= 1 << voice.level();
        is_new
    }
}

/// The running account while pieces are chosen.
#[derive(Clone)]
pub(super) struct Account<'c, 'a> {
    pub(super) contained: &'c Contained<'a>,
    pub(super) around: &'c Around<'c>,
    /// The turns that the history can do without before others.
    pub(super) losses: &'c Losses,
    pub(super) chosen: Vec<bool>,
    pub(super) short: Shortened,
    pub(super) opened: Opened,
    pub(super) present: Present,
    pub(super) left: u32,
    pub(super) last_in: [Option<u32>; Section::COUNT],
}

impl Account<'_, '_> {
    /// Returns the rows that a row cannot stand without.
    pub(super) fn needs(&self, row: u32) -> Vec<u32> {
        self.contained.links.of(row).collect()
    }

    /// Returns the row that was let into a section last.
    pub(super) fn last_in(&self, section: Section) -> Option<Arc<str>> {
        self.last_in[section.index()].map(|row| self.set().name(row))
    }

    /// The section that a row stands in.
    pub(super) fn section(&self, row: u32) -> Section {
        self.contained.epoch.section(row)
    }

    /// Returns the row's tokens in the form that it has now.
    pub(super) fn tokens(&self, row: u32) -> u32 {
        if let Some(at) = self.short.of(row)
            && let Some((_, piece)) = self.forms(row).get(at)
        {
            return piece.tokens;
        }
        self.full_tokens(row)
    }

    /// Returns the row's tokens in full.
    pub(super) fn full_tokens(&self, row: u32) -> u32 {
        self.contained.pieces.tokens(row)
    }

    /// Returns the tokens of all that a row says, where it may stand in its full form or not.
    pub(super) fn whole_tokens(&self, row: u32) -> u32 {
        let shown = self.contained.pieces.shown.get(&row);
        shown.map_or(self.full_tokens(row), |shown| shown.full)
    }

    /// The shorter forms of a row, the shortest first.
    pub(super) fn forms(&self, row: u32) -> &[(Form, Piece)] {
        self.contained.forms.get(row as usize).map_or(&[], Vec::as_slice)
    }

    /// The form after the one that the row has now, and what it costs more; none after the full one.
    pub(super) fn longer(&self, row: u32) -> Option<(Option<usize>, u32)> {
        let next = self.short.of(row)? + 1;
        let (at, tokens) = match self.forms(row).get(next) {
            Some((_, piece)) => (Some(next), piece.tokens),
            None => (None, self.full_tokens(row)),
        };
        Some((at, tokens.saturating_sub(self.tokens(row))))
    }

    /// Gives a row the form that [`Account::longer`] named.
    pub(super) fn lengthen(&mut self, row: u32, at: Option<usize>, more: u32) {
        self.short.set(row, at);
        self.left -= more;
    }

    /// The rows that come in with `row`, itself first, less those that are in already.
    pub(super) fn arrivals(&self, row: u32) -> impl Iterator<Item = u32> + '_ {
        let closure = self.contained.links.of(row);
        std::iter::once(row).chain(closure).filter(|row| !self.chosen[*row as usize])
    }

    /// Returns the cost of letting `row` in: its closure, the headings of sections that it opens, and what the
    /// provider adds around them.
    pub(super) fn cost(&self, row: u32) -> u32 {
        let mut opens = self.opened;
        let mut present = self.present;
        let mut cost = 0u32;
        for row in self.arrivals(row) {
            cost = cost.saturating_add(self.tokens(row)).saturating_add(self.open(row, &mut opens));
            self.place(row, &mut present);
        }
        cost.saturating_add(self.around.more(&self.present, &present))
    }

    /// Adds the properties of `row` that the provider's overhead depends on.
    pub(super) fn place(&self, row: u32, present: &mut Present) {
        if self.around.chat.is_none() {
            return;
        }
        let found = self.set().row(row);
        let in_history = found.section == Section::History;
        // In registry order turns come after all texts and part none of them.
        let apart = self.around.policy.document().order == Order::Registry;
        if self.is_late(row) {
            present.late.tools |= found.is_tool();
            present.late.texts |= !found.is_tool();
        } else if found.is_tool() {
            present.tools = true;
        } else if !(apart && in_history && found.is_message()) {
            present.texts[self.section(row).index()] = true;
        }
    }

    /// Returns whether the row stands behind all that was sent, and so under no heading.
    pub(super) fn is_late(&self, row: u32) -> bool {
        self.contained.epoch.late.rows.contains(&row)
    }

    pub(super) fn set(&self) -> &Normalized {
        self.contained.live.set
    }

    /// Returns the cost of opening the row's section and its mark, and notes that they are open.
    pub(super) fn open(&self, row: u32, opened: &mut Opened) -> u32 {
        if self.is_late(row) {
            return 0;
        }
        let section = self.section(row);
        let pieces = &self.contained.pieces;
        let mut cost = 0;
        if opened.heading(section)
            && let Some(piece) = &pieces.headings[section.index()]
        {
            cost += piece.tokens;
        }
        if let Some(voice) = self.voice(row)
            && opened.mark(section, voice)
        {
            cost += pieces.marks.tokens(voice);
        }
        cost
    }

    /// Returns the authority under whose mark a row stands, where the policy has marks.
    pub(super) fn voice(&self, row: u32) -> Option<Authority> {
        let has_marks = self.contained.pieces.marks.any() && !self.is_late(row);
        has_marks
            .then(|| pieces::voice(self.set().row(row), self.section(row)))
            .flatten()
    }

    pub(super) fn admit(&mut self, row: u32, cost: u32, mut each: impl FnMut(u32)) {
        let arrivals: Vec<u32> = self.arrivals(row).collect();
        for row in arrivals {
            self.stand(row);
            each(row);
        }
        self.left -= cost;
        self.last_in[self.section(row).index()] = Some(row);
    }

    /// Lets a row in with all that it brings along, and gives each its verdict.
    pub(super) fn let_in(&mut self, row: u32, cost: u32, verdicts: &mut Vec<(u32, Reason)>) {
        let name = self.set().name(row);
        self.admit(row, cost, |arrival| {
            let reason = if arrival == row {
                Reason::Fits
            } else {
                let name = Arc::clone(&name);
                Reason::KeptWith { name }
            };
            verdicts.push((arrival, reason));
        });
    }

    /// Notes that `row` stands.
    pub(super) fn stand(&mut self, row: u32) {
        let mut present = self.present;
        self.place(row, &mut present);
        self.present = present;
        let mut opened = self.opened;
        self.open(row, &mut opened);
        self.opened = opened;
        self.chosen[row as usize] = true;
    }
}
