//! The evidence spread over several payloads: each fits, together they hold all of it, and everything else stands the
//! same on each, but for what a page's evidence brings along and the others have no room for.

use std::collections::BTreeMap;

use crate::base::error::{Error, ErrorKind, MandatoryItem};
use crate::compile::envelope::Part;
use crate::compile::pieces::Pricing;
use crate::compile::stages::fit::Choice;
use crate::compile::stages::fit::account::Account;
use crate::compile::stages::fit::elastic::{Elastic, Waiting, by_rank};
use crate::compile::trace::Reason;
use crate::input::policy::Policy;
use crate::object::section::Section;
use crate::write::piece::Piece;

/// One page while it is filled.
struct Page<'c, 'a> {
    account: Account<'c, 'a>,
    verdicts: Vec<(u32, Reason)>,
    /// The tokens of the evidence on it.
    used: u32,
}

/// Returns the choice for each page. Every page keeps room for the line with its number.
pub(super) fn paginate(
    account: &Account<'_, '_>,
    mandatory: &[(u32, Reason)],
    pricing: Pricing<'_>,
) -> Result<Vec<Choice>, Error> {
    let piece = |part: Part| {
        let Part { number, of } = part;
        let text = format!(
            "part: {number} of {of}; the evidence is spread over {of} requests, answer from this part of it\n"
        );
        Piece::added(pricing.world, text)
    };
    let parts = |of: u32| (1..=of).map(move |number| Part { number, of });
    let mut reserve = piece(Part { number: 1, of: 1 }).tokens;
    loop {
        let mut account = account.clone();
        account.left = account.left.saturating_sub(reserve);
        let split = Split::new(account, mandatory, pricing.policy)?;
        let choices = split.pages(reserve)?;
        if choices.len() < 2 {
            return Ok(choices);
        }
        let pieces: Vec<(Part, Piece)> =
            parts(choices.len() as u32).map(|part| (part, piece(part))).collect();
        let widest = pieces.iter().map(|(_, piece)| piece.tokens).max();
        match widest {
            Some(widest) if widest > reserve => reserve = widest,
            _ => {
                return Ok(choices
                    .into_iter()
                    .zip(pieces)
                    .map(|(choice, part)| Choice {
                        part: Some(part),
                        ..choice
                    })
                    .collect());
            }
        }
    }
}

struct Split<'m, 'c, 'a, 'p> {
    /// With what must stand.
    account: Account<'c, 'a>,
    elastic: Elastic<'p>,
    mandatory: &'m [(u32, Reason)],
    /// By rank.
    evidence: Vec<u32>,
    max_pages: u32,
    /// The tokens that the evidence of a page may cost: its section's allocation, and at least the longest of it.
    /// Both grow with the budget, so a larger one never makes more pages.
    room: u32,
}

impl<'m, 'c, 'a, 'p> Split<'m, 'c, 'a, 'p> {
    fn new(
        account: Account<'c, 'a>,
        mandatory: &'m [(u32, Reason)],
        policy: &'p Policy,
    ) -> Result<Self, Error> {
        let mut elastic = Elastic::new(&account, policy, true)?;
        let at = Section::Evidence.index();
        let evidence = std::mem::take(&mut elastic.queues[at]);
        let evidence: Vec<u32> = by_rank(&account, Section::Evidence, evidence)
            .into_iter()
            .map(|entry| entry.row)
            .collect();
        let most = elastic.most[at];
        let longest = evidence.iter().map(|row| account.cost(*row)).max();
        // What other sections hold may part it from the texts that it would share a message with.
        let message = account.around.chat.map_or(0, |chat| chat.per_message + 1);
        let longest = longest.map_or(0, |longest| longest.saturating_add(message));
        let room = elastic.allocation.tokens[at].max(longest);
        Ok(Split {
            room: room.min(most).min(account.left),
            max_pages: policy.document().max_pages,
            account,
            elastic,
            mandatory,
            evidence,
        })
    }

    /// The pages; `reserve` tokens are set aside for the line that says which one it is.
    fn pages(mut self, reserve: u32) -> Result<Vec<Choice>, Error> {
        let mut base = Page {
            account: self.account.clone(),
            verdicts: self.mandatory.to_vec(),
            used: 0,
        };
        base.account.left -= self.room;
        for section in Section::ALL.iter().filter(|at| **at != Section::Evidence) {
            self.elastic.fill(&mut base.account, *section, &mut base.verdicts);
        }
        // What evidence brings along stands on every page, if there is room for it, so that the pages
        // differ in their evidence alone.
        for row in &self.evidence {
            for needed in base.account.needs(*row) {
                let elsewhere = base.account.section(needed) != Section::Evidence;
                let cost = base.account.cost(needed);
                if elsewhere && !base.account.chosen[needed as usize] && cost <= base.account.left {
                    base.account.let_in(needed, cost, &mut base.verdicts);
                }
            }
        }
        base.account.left += self.room;
        let mut pages: Vec<Page<'_, '_>> = Vec::new();
        let mut placed: BTreeMap<u32, u32> = BTreeMap::new();
        let mut too_long = Vec::new();
        for &row in &self.evidence {
            if placed.contains_key(&row) || base.account.chosen[row as usize] {
                continue;
            }
            let fits = |page: &Page<'_, '_>| {
                let left = self.room.saturating_sub(page.used).min(page.account.left);
                page.account.cost(row) <= left
            };
            if !pages.last().is_some_and(fits) {
                if !fits(&base) {
                    too_long.push(row);
                    continue;
                }
                if pages.len() as u32 == self.max_pages {
                    return Err(Error::new(
                        ErrorKind::Budget,
                        format!("the evidence needs more than {} pages", self.max_pages),
                    )
                    .hint("raise the budget, or `max_pages` in the policy"));
                }
                pages.push(Page {
                    account: base.account.clone(),
                    verdicts: base.verdicts.clone(),
                    used: 0,
                });
            }
            let number = pages.len() as u32;
            if let Some(page) = pages.last_mut() {
                let cost = page.account.cost(row);
                let before = page.verdicts.len();
                page.account.let_in(row, cost, &mut page.verdicts);
                page.used += cost;
                for (arrival, _) in &page.verdicts[before..] {
                    placed.entry(*arrival).or_insert(number);
                }
            }
        }
        if !too_long.is_empty() {
            return Err(do_not_fit(&base.account, self.room, &too_long));
        }
        if pages.is_empty() {
            pages.push(base);
        }
        if let [only] = pages.as_mut_slice() {
            only.account.left += reserve;
        }
        self.flow_back(&mut pages);
        let choices = pages.into_iter().map(|page| self.choice(page, &placed));
        Ok(choices.collect())
    }

    /// Gives what every page has left to what still waits, the same on each; what gets nothing has its
    /// reason, from a page that has no room for it.
    fn flow_back(&mut self, pages: &mut [Page<'_, '_>]) {
        let full = |elastic: &Elastic<'_>, pages: &[Page<'_, '_>], section: Section, row: u32| {
            pages
                .iter()
                .position(|page| page.account.cost(row) > elastic.room(&page.account, section))
        };
        let mut added = true;
        while added {
            added = false;
            for section in Section::ALL {
                let at = section.index();
                for place in 0..self.elastic.waiting[at].len() {
                    let row = self.elastic.waiting[at][place].row;
                    if full(&self.elastic, pages, *section, row).is_some() {
                        continue;
                    }
                    let waits = pages.iter_mut().filter(|page| !page.account.chosen[row as usize]);
                    let mut spent = 0;
                    for Page {
                        account, verdicts, ..
                    } in waits
                    {
                        let cost = account.cost(row);
                        account.let_in(row, cost, verdicts);
                        spent = spent.max(cost);
                        added = true;
                    }
                    self.elastic.used[at] += spent;
                }
                self.elastic.waiting[at].retain(|entry| {
                    !pages.iter().all(|page| page.account.chosen[entry.row as usize])
                });
            }
        }
        for section in Section::ALL {
            for Waiting { row, .. } in std::mem::take(&mut self.elastic.waiting[section.index()]) {
                let page = full(&self.elastic, pages, *section, row).unwrap_or(0);
                let account = &pages[page].account;
                let last = account.last_in(*section);
                let cost = account.cost(row);
                let reason = self.elastic.why(account, *section, (row, cost), last.as_ref());
                for page in pages.iter_mut() {
                    if !page.account.chosen[row as usize] {
                        page.verdicts.push((row, reason.clone()));
                    }
                }
            }
        }
    }

    /// A finished page: the evidence that it does not hold stands elsewhere.
    fn choice(&self, page: Page<'_, '_>, placed: &BTreeMap<u32, u32>) -> Choice {
        let Page {
            account,
            mut verdicts,
            used,
        } = page;
        let mut elastic = self.elastic.clone();
        elastic.spend(Section::Evidence, used);
        for row in &self.evidence {
            if let Some(page) = placed.get(row)
                && !account.chosen[*row as usize]
            {
                verdicts.push((*row, Reason::OnPage { page: *page }));
            }
        }
        elastic.judge_near(&account, &mut verdicts);
        let shares = elastic.shares(&account);
        Choice::new(account, verdicts, shares)
    }
}

fn do_not_fit(base: &Account<'_, '_>, room: u32, rows: &[u32]) -> Error {
    let what = format!("evidence is longer than the {room} tokens that a page has for it");
    let mut error = Error::new(ErrorKind::Budget, what)
        .hint("raise the budget, or split them into smaller objects");
    error.mandatory = rows
        .iter()
        .map(|row| MandatoryItem {
            name: base.set().object(*row).name().to_owned(),
            section: base.section(*row).term(),
            tokens: base.cost(*row),
        })
        .collect();
    error
}
