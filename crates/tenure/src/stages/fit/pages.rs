//! The evidence spread over several payloads (Prefill Compiler, 6.4.3, *Paginate*): each fits, together
//! they hold all of it, and everything else stands the same on each.

use std::collections::BTreeMap;

use crate::envelope::Part;
use crate::error::{Error, ErrorKind, MandatoryItem};
use crate::frame::Piece;
use crate::pieces::Pricing;
use crate::section::Section;
use crate::stages::fit::Choice;
use crate::stages::fit::account::Account;
use crate::stages::fit::elastic::{Elastic, rank_order};
use crate::trace::Reason;

/// One page while it is filled.
struct Page<'c, 'a> {
    account: Account<'c, 'a>,
    verdicts: Vec<(u32, Reason)>,
    /// What the evidence on it costs.
    used: u32,
}

/// What is chosen for each page. Every page keeps room for the line that says which one it is.
pub(super) fn paginate(
    account: &Account<'_, '_>,
    elastic: Elastic<'_>,
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
    let mut elastic = elastic;
    let mut evidence = std::mem::take(&mut elastic.queues[Section::Evidence.index()]);
    evidence.sort_unstable_by(|a, b| rank_order(account, *a, *b));
    let mut reserve = piece(Part { number: 1, of: 1 }).tokens;
    loop {
        let split = Split {
            account,
            elastic: elastic.clone(),
            mandatory,
            evidence: &evidence,
            max_pages: pricing.policy.document().max_pages,
            max: pricing.policy.section(Section::Evidence).max,
        };
        let choices = split.pages(reserve)?;
        if choices.len() < 2 {
            return Ok(choices);
        }
        let pieces: Vec<(Part, Piece)> = parts(choices.len() as u32)
            .map(|part| (part, piece(part)))
            .collect();
        let widest = pieces.iter().map(|(_, piece)| piece.tokens).max();
        match widest {
            Some(widest) if widest > reserve => reserve = widest,
            _ => {
                let with_part = |(choice, part)| Choice {
                    part: Some(part),
                    ..choice
                };
                return Ok(choices.into_iter().zip(pieces).map(with_part).collect());
            }
        }
    }
}

struct Split<'s, 'c, 'a, 'p> {
    account: &'s Account<'c, 'a>,
    elastic: Elastic<'p>,
    mandatory: &'s [(u32, Reason)],
    evidence: &'s [u32],
    max_pages: u32,
    /// The most that the evidence of a page may cost, or 0 for no limit.
    max: u32,
}

impl Split<'_, '_, '_, '_> {
    /// The pages, each with `reserve` tokens to spare.
    fn pages(mut self, reserve: u32) -> Result<Vec<Choice>, Error> {
        let mut base = Page {
            account: self.account.clone(),
            verdicts: self.mandatory.to_vec(),
            used: 0,
        };
        base.account.left = base.account.left.saturating_sub(reserve);
        for section in Section::ALL.iter().filter(|at| **at != Section::Evidence) {
            self.elastic
                .fill(&mut base.account, *section, &mut base.verdicts);
        }
        let mut pages: Vec<Page<'_, '_>> = Vec::new();
        let mut placed: BTreeMap<u32, u32> = BTreeMap::new();
        let mut too_long = Vec::new();
        let most = match self.max {
            0 => u32::MAX,
            max => max,
        };
        for &row in self.evidence {
            if placed.contains_key(&row) || base.account.chosen[row as usize] {
                continue;
            }
            let fits = |page: &Page<'_, '_>| {
                let left = page.account.left.min(most.saturating_sub(page.used));
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
            let room = base.account.left.min(most);
            return Err(do_not_fit(&base.account, room, &too_long));
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

    /// Gives what every page has left to what still waits: the same on each.
    fn flow_back(&mut self, pages: &mut [Page<'_, '_>]) {
        for section in Section::ALL.iter().filter(|at| **at != Section::Evidence) {
            for row in std::mem::take(&mut self.elastic.queues[section.index()]) {
                let full = pages.iter().find(|page| {
                    let account = &page.account;
                    account.cost(row) > self.elastic.room(account, *section)
                });
                let reason = full.map(|page| self.elastic.why(&page.account, *section, row));
                let mut spent = 0;
                for Page {
                    account, verdicts, ..
                } in pages.iter_mut()
                {
                    if account.chosen[row as usize] {
                        continue;
                    }
                    match &reason {
                        Some(reason) => verdicts.push((row, reason.clone())),
                        None => {
                            let cost = account.cost(row);
                            account.let_in(row, cost, verdicts);
                            spent = spent.max(cost);
                        }
                    }
                }
                self.elastic.used[section.index()] += spent;
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
        for row in self.evidence {
            if let Some(page) = placed.get(row)
                && !account.chosen[*row as usize]
            {
                verdicts.push((*row, Reason::OnPage { page: *page }));
            }
        }
        let shares = elastic.shares();
        Choice::new(account, verdicts, shares)
    }
}

fn do_not_fit(base: &Account<'_, '_>, room: u32, rows: &[u32]) -> Error {
    let what = format!("evidence is longer than the {room} tokens that a page has for it");
    let mut error = Error::new(ErrorKind::Budget, what)
        .hint("raise the budget, or split them into smaller objects");
    let item = |row: &u32| MandatoryItem {
        name: base.set().object(*row).name().to_owned(),
        section: base.section(*row),
        tokens: base.cost(*row),
    };
    error.mandatory = rows.iter().map(item).collect();
    error
}
