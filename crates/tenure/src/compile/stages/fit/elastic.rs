//! The elastic budget: shared among the sections as their utilities say, and
//! spent within each in the order of the ranks.
//!
//! Within a section breadth goes before depth: who is in, by rank; then who stands at least in the
//! next longer form, by rank; and so on. Compared in that order, a larger allocation never makes a
//! worse choice. With the full forms alone this is the plain order of ranks.
//!
//! In the evidence depth goes before breadth: the line that answers stands in what is nearest, and a
//! short form loses it. Whoever is next stands in the longest form for which there is room.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::base::error::Error;
use crate::base::num::Score;
use crate::compile::rules::is_memory;
use crate::compile::stages::fit::account::{Account, Present, Shortened};
use crate::compile::stages::rank::Near;
use crate::compile::trace::{AllocationReport, Reason};
use crate::condense::Omission;
use crate::input::policy::Policy;
use crate::object::section::Section;
use crate::object::{Authority, Protection};
use crate::rank::allocate::{Allocation, Certificate, Claim, Problem};

/// The shares of the elastic budget, by section. Empty where the sections are one flow.
#[derive(Clone, Default)]
pub(crate) struct Shares {
    pub(crate) reports: Vec<AllocationReport>,
    /// The proof that no other allocation is worth more.
    pub(crate) certificate: Option<Certificate>,
}

/// The elastic sections while they are filled.
#[derive(Clone)]
pub(super) struct Elastic<'p> {
    policy: &'p Policy,
    /// The rows to be shared out in each section, in registry order, until it is filled.
    pub(super) queues: [Vec<u32>; Section::COUNT],
    /// The rows that claim nothing and may have what is left over when all others had their turn.
    left_over: Vec<u32>,
    /// The rows that other objects stand for, while those stand.
    near: BTreeMap<u32, Near>,
    /// The rows that then still wait, by rank.
    pub(super) waiting: [Vec<Waiting>; Section::COUNT],
    /// The rows in a shorter form, by rank.
    growing: [Vec<u32>; Section::COUNT],
    demands: Vec<u32>,
    /// True if a section waits that others may bring along objects from.
    parted: bool,
    /// The most that each section may spend: its maximum, net of what stands of it in this epoch.
    pub(super) most: [u32; Section::COUNT],
    pub(super) allocation: Allocation,
    /// The tokens that each section has spent, flow-back included, and those of its own allocation.
    pub(super) used: [u32; Section::COUNT],
    own: [u32; Section::COUNT],
    /// The rows that were passed over as longer than an item's share, with that share.
    over_share: BTreeMap<u32, u32>,
    /// The most forms that any object has besides the full one.
    steps: usize,
    gaps: [Option<Score>; Section::COUNT],
}

impl<'p> Elastic<'p> {
    /// Collects the rows that are not chosen yet, and what they may spend. What is near to something else claims
    /// nothing. `apart`: the evidence is not chosen with the rest, so only evidence and what stands already may stand
    /// for others.
    pub(super) fn new(
        account: &Account<'_, '_>,
        policy: &'p Policy,
        apart: bool,
    ) -> Result<Self, Error> {
        let live = &account.contained.live;
        let mut near = account.contained.ranking.near.clone();
        near.retain(|row, Near { of, .. }| {
            let may_stand =
                !apart || account.chosen[*of as usize] || account.section(*of) == Section::Evidence;
            live.is_in(*row) && live.is_in(*of) && may_stand && !account.chosen[*row as usize]
        });
        let mut queues: [Vec<u32>; Section::COUNT] = Default::default();
        let mut left_over = Vec::new();
        for &row in &live.rows {
            if account.chosen[row as usize] || near.contains_key(&row) {
                continue;
            }
            if !apart && account.contained.epoch.is_left_over(row) {
                left_over.push(row);
            } else {
                queues[account.section(row).index()].push(row);
            }
        }
        let elastic = Elastic::over(account, policy, queues, near)?;
        Ok(Elastic {
            left_over,
            ..elastic
        })
    }

    fn over(
        account: &Account<'_, '_>,
        policy: &'p Policy,
        queues: [Vec<u32>; Section::COUNT],
        near: BTreeMap<u32, Near>,
    ) -> Result<Self, Error> {
        let around = most_around(account, &queues);
        let stands = &account.contained.stands;
        let mut most = [u32::MAX; Section::COUNT];
        for section in Section::ALL {
            let at = section.index();
            let max = policy.section(*section).max;
            if max > 0 {
                most[at] = max.saturating_sub(stands[at]);
            }
            if account.contained.shares_window[at] {
                let share = account.contained.epoch.share;
                most[at] = most[at].min(share.saturating_sub(stands[at]));
            }
        }
        let claim = |section: &Section| {
            let at = section.index();
            let rows: u64 = queues[at].iter().map(|row| u64::from(account.full_tokens(*row))).sum();
            let heading = match &account.contained.pieces.headings[at] {
                Some(piece) if account.opened.is_closed(*section) && rows > 0 => piece.tokens,
                _ => 0,
            };
            let marks = most_marks(account, *section, &queues[at]);
            let demand = rows + u64::from(heading + marks) + u64::from(around[at]);
            let settings = policy.section(*section);
            let stands = stands[at];
            Claim {
                // A maximum of zero would be no maximum: a section that has all it may have gains nothing by more.
                weight: if most[at] == 0 { 0.0 } else { settings.weight },
                alpha: settings.alpha,
                // The next token is worth what it is worth behind those that stand.
                beta: settings.beta + f64::from(stands),
                min: settings.min.saturating_sub(stands).min(most[at]),
                max: if most[at] == u32::MAX { 0 } else { most[at] },
                demand: u32::try_from(demand).unwrap_or(u32::MAX),
                cost: settings.cost,
            }
        };
        let mut claims: Vec<Claim> = Section::ALL.iter().map(claim).collect();
        let demands = claims.iter().map(|claim| claim.demand).collect();
        // Of what is left over, too, a section that has all it may have takes nothing.
        for (claim, _) in claims.iter_mut().zip(most).filter(|(_, most)| *most == 0) {
            claim.demand = 0;
        }
        let allocation = Problem::new(&claims, account.left)?
            .with_sensitivity(policy.document().cost_sensitivity)?
            .solve();
        Ok(Elastic {
            policy,
            queues,
            left_over: Vec::new(),
            near,
            waiting: Default::default(),
            growing: Default::default(),
            demands,
            parted: false,
            most,
            allocation,
            used: [0; Section::COUNT],
            own: [0; Section::COUNT],
            over_share: BTreeMap::new(),
            steps: account.contained.forms.iter().map(Vec::len).max().unwrap_or(0),
            gaps: [None; Section::COUNT],
        })
    }

    /// Returns whether the budget keeps some section from what it could use.
    pub(super) fn is_cut(&self) -> bool {
        self.allocation.tokens != self.allocation.ceilings
    }

    pub(super) fn wants(&self, section: Section) -> bool {
        self.demands[section.index()] > 0
    }

    /// Returns it without a section, and what waited in it.
    pub(super) fn without(
        mut self,
        account: &Account<'_, '_>,
        section: Section,
    ) -> Result<(Self, Vec<u32>), Error> {
        let mut left_out = std::mem::take(&mut self.queues[section.index()]);
        self.near.retain(|row, Near { of, .. }| {
            let waits = account.section(*row) == section && !account.chosen[*of as usize];
            if waits {
                left_out.push(*row);
            }
            !waits
        });
        let mut elastic = Elastic::over(account, self.policy, self.queues, self.near)?;
        elastic.parted = true;
        Ok((elastic, left_out))
    }

    /// Fills the sections and lets what is left over flow back. `shorten`: with the shorter forms
    /// first.
    pub(super) fn choose<'c, 'a>(
        mut self,
        mut account: Account<'c, 'a>,
        shorten: bool,
        verdicts: &mut Vec<(u32, Reason)>,
    ) -> (Account<'c, 'a>, Shares) {
        // When everything fits, the order of ranks decides nothing, and all that anything brings along stands anyway.
        if self.allocation.tokens == self.demands && !self.parted {
            // A demand has the most that opening its section may cost. Where more waits for what is left, that is counted.
            let counts = !self.left_over.is_empty();
            let (before, mut opened) = (account.present, account.opened);
            let mut spent = 0u32;
            for row in std::mem::take(&mut self.queues).into_iter().flatten() {
                if !account.chosen[row as usize] {
                    if counts {
                        spent = spent
                            .saturating_add(account.tokens(row))
                            .saturating_add(account.open(row, &mut opened));
                    }
                    account.stand(row);
                    verdicts.push((row, Reason::Fits));
                }
            }
            for section in Section::ALL {
                self.used[section.index()] = self.demands[section.index()];
            }
            self.own = self.used;
            spent = if counts {
                spent.saturating_add(account.around.more(&before, &account.present))
            } else {
                self.used.iter().fold(0u32, |sum, used| sum.saturating_add(*used))
            };
            account.left = account.left.saturating_sub(spent);
            self.leave_over(&mut account, verdicts);
            self.judge_near(&account, verdicts);
            self.judge_rest(&account, verdicts);
            let shares = self.shares(&account);
            return (account, shares);
        }
        if shorten {
            let forms = account.contained.forms.iter();
            let rows = (0..)
                .zip(forms)
                .zip(&account.chosen)
                .filter(|((_, forms), chosen)| !forms.is_empty() && !**chosen)
                .map(|((row, _), _)| row);
            account.short = Shortened::all(account.contained.forms.len(), rows);
        }
        for section in Section::ALL {
            self.fill(&mut account, *section, verdicts);
        }
        self.flow_back(&mut account, verdicts);
        if self.next_in_line(&account) {
            self.flow_back(&mut account, verdicts);
        }
        self.grow(&mut account);
        self.leave_over(&mut account, verdicts);
        self.judge_near(&account, verdicts);
        self.judge_rest(&account, verdicts);
        let shares = self.shares(&account);
        (account, shares)
    }

    /// Gives what nobody else wants to what claims nothing.
    fn leave_over(&mut self, account: &mut Account<'_, '_>, verdicts: &mut Vec<(u32, Reason)>) {
        if self.left_over.is_empty() {
            return;
        }
        // It is known that there were some, whatever they get.
        let rows = self.left_over.clone();
        let waiting = by_rank(account, Section::Recall, rows);
        self.waiting[Section::Recall.index()].extend(waiting);
        self.flow_back(account, verdicts);
    }

    /// Queues the next of near-duplicates whose representative got no room: it waits for what is left, and stands for
    /// the rest. Whether there is any.
    fn next_in_line(&mut self, account: &Account<'_, '_>) -> bool {
        let chosen = |row: u32| account.chosen[row as usize];
        let mut alone: Vec<u32> = self
            .near
            .iter()
            .map(|(row, near)| (*row, near.of))
            .filter(|(row, of)| !chosen(*row) && !chosen(*of))
            .map(|(row, _)| row)
            .collect();
        alone.sort_by_cached_key(|row| {
            let score = account.contained.ranking.scores[*row as usize].composite;
            (
                Reverse((account.set().row(*row).source_authority, score)),
                *row,
            )
        });
        for row in &alone {
            self.near.remove(row);
        }
        let threshold = self.policy.document().near_duplicates;
        let order = alone.iter().map(|row| (*row, false));
        for (row, of, similarity) in account.set().prints(threshold).near(order, threshold) {
            self.near.insert(row, Near { of, similarity });
        }
        let mut queues: [Vec<u32>; Section::COUNT] = Default::default();
        for &row in alone.iter().filter(|row| !self.near.contains_key(row)) {
            queues[account.section(row).index()].push(row);
        }
        for (section, queue) in Section::ALL.iter().zip(queues) {
            self.waiting[section.index()].extend(by_rank(account, *section, queue));
        }
        !alone.is_empty()
    }

    /// Says of everything that is near to something else to what.
    pub(super) fn judge_near(&self, account: &Account<'_, '_>, verdicts: &mut Vec<(u32, Reason)>) {
        for (row, Near { of, similarity }) in &self.near {
            if !account.chosen[*row as usize] {
                let (of, similarity) = (account.set().name(*of), *similarity);
                verdicts.push((*row, Reason::NearDuplicate { of, similarity }));
            }
        }
    }

    /// Spends a section's own allocation.
    pub(super) fn fill(
        &mut self,
        account: &mut Account<'_, '_>,
        section: Section,
        verdicts: &mut Vec<(u32, Reason)>,
    ) {
        let at = section.index();
        let queue = by_rank(account, section, std::mem::take(&mut self.queues[at]));
        let granted = self.allocation.tokens[at];
        let item_share = u64::from(self.policy.section(section).item_share.millionths());
        let share = (u64::from(granted) * item_share / 1_000_000) as u32;
        let is_enough = granted >= self.demands[at];
        let most = |account: &Account<'_, '_>, row: u32| match standing(account, row, false) {
            0 => u32::MAX,
            _ if is_enough => u32::MAX,
            _ => share,
        };
        let room = |used: u32, left: u32| granted.saturating_sub(used).min(left);
        for entry in &queue {
            let Waiting { row, least, .. } = *entry;
            let room = room(self.used[at], account.left);
            if least > room && !account.chosen[row as usize] {
                self.waiting[at].push(*entry);
                continue;
            }
            if account.chosen[row as usize] {
                self.growing[at].push(row);
                continue;
            }
            let cost = entry.cost(account, section);
            if cost > room {
                self.waiting[at].push(*entry);
            } else if least > most(account, row) {
                self.over_share.insert(row, share);
                self.waiting[at].push(*entry);
            } else {
                self.used[at] += cost;
                account.let_in(row, cost, verdicts);
                self.growing[at].push(row);
                let most = most(account, row);
                self.deepen(account, section, row, granted, most);
            }
        }
        self.growing[at].retain(|row| account.short.of(*row).is_some());
        for _ in 0..self.steps {
            for &row in &self.growing[at] {
                if let Some((form, more)) = account.longer(row)
                    && more <= room(self.used[at], account.left)
                    && account.tokens(row) + more <= most(account, row)
                {
                    self.used[at] += more;
                    account.lengthen(row, form, more);
                }
            }
        }
        self.own[at] = self.used[at];
        self.gaps[at] = (section != Section::History)
            .then(|| gap(account, &queue, granted.max(self.used[at])))
            .flatten();
    }

    /// Gives a row of the evidence that has just come in its longest form: within what its section may spend, and of no
    /// more tokens than `most`.
    fn deepen(
        &mut self,
        account: &mut Account<'_, '_>,
        section: Section,
        row: u32,
        limit: u32,
        most: u32,
    ) {
        let used = &mut self.used[section.index()];
        while section == Section::Evidence
            && let Some((form, more)) = account.longer(row)
            && more <= limit.saturating_sub(*used).min(account.left)
            && account.tokens(row) + more <= most
        {
            *used += more;
            account.lengthen(row, form, more);
        }
    }

    /// Gives what was left over to who waits, by section, within their limits.
    fn flow_back(&mut self, account: &mut Account<'_, '_>, verdicts: &mut Vec<(u32, Reason)>) {
        let mut added = true;
        while added {
            added = false;
            for section in Section::ALL {
                let at = section.index();
                let mut waiting = std::mem::take(&mut self.waiting[at]);
                waiting.retain(|entry| {
                    let Waiting { row, least, .. } = entry;
                    if account.chosen[*row as usize] {
                        self.growing[at].push(*row);
                        return false;
                    }
                    let room = self.room(account, *section);
                    if *least > room {
                        return true;
                    }
                    let cost = entry.cost(account, *section);
                    if cost <= room {
                        self.used[at] += cost;
                        account.let_in(*row, cost, verdicts);
                        self.growing[at].push(*row);
                        let limit = self.limit(*section);
                        self.deepen(account, *section, *row, limit, u32::MAX);
                        added = true;
                    }
                    cost > room
                });
                self.waiting[at] = waiting;
            }
        }
    }

    /// Gives what is then still left to longer forms.
    fn grow(&mut self, account: &mut Account<'_, '_>) {
        for _ in 0..self.steps {
            for section in Section::ALL {
                let at = section.index();
                for place in 0..self.growing[at].len() {
                    let row = self.growing[at][place];
                    if let Some((form, more)) = account.longer(row)
                        && more <= self.room(account, *section)
                    {
                        self.used[at] += more;
                        account.lengthen(row, form, more);
                    }
                }
            }
        }
    }

    /// Returns the tokens that a section may still spend: of what is left, within its maximum and what is worth its
    /// cost.
    pub(super) fn room(&self, account: &Account<'_, '_>, section: Section) -> u32 {
        let at = section.index();
        account.left.min(self.limit(section).saturating_sub(self.used[at]))
    }

    /// The most that a section may spend, however large the budget.
    fn limit(&self, section: Section) -> u32 {
        let max = self.most[section.index()];
        if self.has_price(section) {
            max.min(self.allocation.ceilings[section.index()])
        } else {
            max
        }
    }

    fn has_price(&self, section: Section) -> bool {
        self.policy.document().cost_sensitivity > 0.0 && self.policy.section(section).cost > 0.0
    }

    /// Says of everything that still waits why.
    fn judge_rest(&self, account: &Account<'_, '_>, verdicts: &mut Vec<(u32, Reason)>) {
        for section in Section::ALL {
            let last = account.last_in(*section);
            for entry in &self.waiting[section.index()] {
                if !account.chosen[entry.row as usize] {
                    let needed = entry.cost(account, *section);
                    let why = self.why(account, *section, (entry.row, needed), last.as_ref());
                    verdicts.push((entry.row, why));
                }
            }
        }
    }

    /// Returns the reason why a row that waits in this section gets none of what is left, after `last`, and needs so
    /// much.
    pub(super) fn why(
        &self,
        account: &Account<'_, '_>,
        section: Section,
        (row, needed): (u32, u32),
        last: Option<&Arc<str>>,
    ) -> Reason {
        let at = section.index();
        let left = account.left.min(self.most[at].saturating_sub(self.used[at]));
        if needed <= left && self.has_price(section) {
            let worth = self.allocation.ceilings[at];
            Reason::NotWorthItsCost { needed, worth }
        } else if let Some(share) = self.over_share.get(&row) {
            let share = *share;
            Reason::OverShare { needed, share }
        } else {
            Reason::NoRoom {
                needed,
                left,
                displaced_by: last.cloned(),
                class: account.losses.get(&row).copied(),
            }
        }
    }

    /// Notes what a section spent that was filled elsewhere: up to its allocation its own.
    pub(super) fn spend(&mut self, section: Section, tokens: u32) {
        let at = section.index();
        self.used[at] = tokens;
        self.own[at] = tokens.min(self.allocation.tokens[at]);
    }

    /// Returns the report of each section: its allocation and its use.
    pub(super) fn shares(&self, account: &Account<'_, '_>) -> Shares {
        // Where all is near to something, whatever comes in for it after all has its report, too.
        let near = |section: Section| {
            let rows = account.contained.ranking.near.keys();
            rows.copied().any(|row| account.section(row) == section)
        };
        let report = |section: &Section| {
            let at = section.index();
            let settings = self.policy.section(*section);
            let is_left_over = *section == Section::Recall && !self.left_over.is_empty();
            (self.demands[at] > 0 || is_left_over || near(*section)).then_some(AllocationReport {
                section: *section,
                min: settings.min,
                max: settings.max,
                demand: self.demands[at],
                stands: account.contained.stands[at],
                allocated: self.allocation.tokens[at],
                used: self.used[at],
                flow_back: self.used[at] - self.own[at],
                marginal: Some(self.allocation.marginals[at]),
                gap: self.gaps[at],
            })
        };
        Shares {
            reports: Section::ALL.iter().filter_map(report).collect(),
            certificate: Some(self.allocation.certificate),
        }
    }
}

/// The most that opening each section can add around the text: nothing where all the candidates
/// together add nothing, else one message, and once what offering tools costs.
fn most_around(
    account: &Account<'_, '_>,
    queues: &[Vec<u32>; Section::COUNT],
) -> [u32; Section::COUNT] {
    let mut most = [0; Section::COUNT];
    let Some(chat) = account.around.chat else {
        return most;
    };
    let mut all = account.present;
    for row in queues.iter().flatten() {
        account.place(*row, &mut all);
    }
    let mut tools = account.present;
    tools.tools = all.tools;
    tools.late.tools = all.late.tools;
    let for_tools = account.around.more(&account.present, &tools);
    let for_texts = account.around.more(&tools, &all).min(chat.per_message + 1);
    for (section, queue) in Section::ALL.iter().zip(queues) {
        if queue.is_empty() {
            continue;
        }
        let most = &mut most[section.index()];
        if !account.present.texts[section.index()] || all.late != account.present.late {
            *most += for_texts;
        }
        if *section == Section::Tools {
            *most += for_tools;
        }
    }
    most
}

/// The tokens of the marks that these rows of a section open together.
fn most_marks(account: &Account<'_, '_>, section: Section, rows: &[u32]) -> u32 {
    let marks = &account.contained.pieces.marks;
    if !marks.any() {
        return 0;
    }
    let mut opened = account.opened;
    rows.iter()
        .filter_map(|row| account.voice(*row))
        .filter(|voice| opened.mark(section, *voice))
        .map(|voice| marks.tokens(voice))
        .sum()
}

/// So many are put in order at once.
const SORTED: usize = 512;

/// By how much of its score the choice among these rows falls short of the fractional knapsack: the
/// best by score per token in `room` tokens, the last one cut. None where nothing can be gained.
fn gap(account: &Account<'_, '_>, queue: &[Waiting], room: u32) -> Option<Score> {
    let mut items: Vec<(u64, u64)> = queue
        .iter()
        .map(|entry| (u64::from(entry.score), u64::from(entry.least.max(1))))
        .collect();
    let better = |(score, cost): &(u64, u64), (other, price): &(u64, u64)| {
        (other * cost).cmp(&(score * price)).then(cost.cmp(price))
    };
    let chosen: u64 = queue
        .iter()
        .filter(|entry| account.chosen[entry.row as usize])
        .map(|entry| u64::from(entry.score))
        .sum();
    let mut room = u64::from(room);
    let mut best = 0u64;
    // The room ends among the best: the others need no order.
    let mut rest = items.as_mut_slice();
    'full: while !rest.is_empty() {
        let some = rest.len().min(SORTED);
        if some < rest.len() {
            rest.select_nth_unstable_by(some, better);
        }
        let (first, others) = rest.split_at_mut(some);
        first.sort_unstable_by(better);
        for (score, cost) in first {
            if *cost > room {
                best += *score * room / *cost;
                break 'full;
            }
            room -= *cost;
            best += *score;
        }
        rest = others;
    }
    let short = best.saturating_sub(chosen);
    (best > 0).then(|| Score::from_millionths((short * 1_000_000 / best) as u32))
}

/// A row that waits, with all that deciding on it mostly takes: rows are met by rank, which is no
/// order in memory.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) row: u32,
    /// The least that it may cost: its own tokens, in the form that it begins with.
    least: u32,
    /// Its composite score in millionths.
    score: u32,
    /// Pinned first, then verbatim, then rules by their priority and nearness, then the higher grade, then the higher score.
    rank: u64,
    /// The content's own key.
    tie: u64,
    /// True if it is a tool, and whether it is a text, of those that make the provider add something.
    tool: bool,
    text: bool,
    /// True if it brings others along.
    tied: bool,
    /// The authority under whose mark it stands.
    voice: Option<Authority>,
}

impl Waiting {
    /// Returns the cost of letting it in: as [`Account::cost`], and from the fields here where it brings nothing
    /// along.
    fn cost(&self, account: &Account<'_, '_>, section: Section) -> u32 {
        if self.tied || account.chosen[self.row as usize] {
            return account.cost(self.row);
        }
        let mut present = account.present;
        present.tools |= self.tool;
        present.texts[section.index()] |= self.text;
        let heading = match &account.contained.pieces.headings[section.index()] {
            Some(piece) if account.opened.is_closed(section) => piece.tokens,
            _ => 0,
        };
        let marks = &account.contained.pieces.marks;
        let mark = self
            .voice
            .filter(|voice| account.opened.is_unmarked(section, *voice))
            .map_or(0, |voice| marks.tokens(voice));
        let heading = heading + mark;
        let more = account.around.more(&account.present, &present);
        let cost = self.least.saturating_add(heading).saturating_add(more);
        debug_assert_eq!(cost, account.cost(self.row));
        cost
    }
}

/// Returns how long a row is kept for its own sake: what is pinned, by its author or by the task, before what stands
/// only word by word, which is the last to leave of the rest; of that, rules before what informs.
fn standing(account: &Account<'_, '_>, row: u32, is_rule: bool) -> u64 {
    match account.set().row(row).protection {
        Protection::Pinned => 0,
        _ if account.contained.ranking.pins.contains(&row) => 0,
        Protection::Verbatim => 1,
        Protection::None if is_rule => 2,
        Protection::None => 3,
    }
}

/// Returns whether a row stands by its priority and then by its nearness to the task, and not by its score.
fn is_ranked_as_rule(account: &Account<'_, '_>, row: u32) -> bool {
    let epoch = &account.contained.epoch;
    epoch.ranks_rules() && is_memory(account.section(row)) && account.set().is_rule(row)
}

/// These rows by rank: in the history the latest first, but those behind all others that it can do without,
/// the greater loss before the lesser; elsewhere the higher grade, the higher score, the content's own key. What is
/// pinned comes first everywhere, then what is verbatim, then rules: the higher priority, then the nearer.
pub(super) fn by_rank(account: &Account<'_, '_>, section: Section, rows: Vec<u32>) -> Vec<Waiting> {
    let ranking = &account.contained.ranking;
    let set = account.set();
    let links = &account.contained.links;
    let entry = |row: u32| {
        let facts = set.row(row);
        let card = &ranking.scores[row as usize];
        let score = card.composite.millionths();
        let is_rule = is_ranked_as_rule(account, row);
        let protected = standing(account, row, is_rule);
        let (first, then) = if is_rule {
            let less = |score: Score| u64::from(1_000_000 - score.millionths());
            (less(facts.priority), less(card.relevance))
        } else {
            (card.grade as u64, u64::from(1_000_000 - score))
        };
        let mut present = Present::default();
        account.place(row, &mut present);
        Waiting {
            row,
            least: account.tokens(row),
            score,
            rank: protected << 40 | first << 20 | then,
            tie: facts.tie,
            tool: present.tools,
            text: present.texts[section.index()],
            // What stands behind all else opens no section.
            tied: links.ties(row) || account.is_late(row),
            voice: account.voice(row),
        }
    };
    let mut queue: Vec<Waiting> = rows.into_iter().map(entry).collect();
    if section == Section::History {
        queue.reverse();
        queue.sort_by_key(|entry| {
            let loss = account.losses.get(&entry.row).copied();
            let card = &ranking.scores[entry.row as usize];
            // Of what is stale the least worth its tokens leaves first.
            let eviction = match loss {
                Some(Omission::Stale) => card.eviction(account.whole_tokens(entry.row)),
                _ => 0,
            };
            (entry.rank >> 40, loss.map(Reverse), eviction)
        });
    } else {
        queue.sort_unstable_by(|a, b| {
            let key = |entry: &Waiting| (entry.rank, entry.tie);
            key(a).cmp(&key(b)).then_with(|| set.tie_break(a.row, b.row))
        });
    }
    queue
}
