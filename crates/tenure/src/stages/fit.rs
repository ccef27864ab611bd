//! Stage 9: what goes in. Mandatory first; then the elastic budget is shared among the sections and
//! each section is filled in the order of its ranks. What does not fit is skipped with a reason and
//! never starves what stands behind it; what a section leaves over flows back.

mod account;

use std::cmp::Ordering;
use std::sync::Arc;

use crate::allocate::{Allocation, Certificate, Claim, Problem};
use crate::error::{Error, ErrorKind, MandatoryItem};
use crate::object::Protection;
use crate::policy::{Order, Overflow, Policy};
use crate::request::{Budget, Request, Target};
use crate::section::Section;
use crate::stages::contain::Contained;
use crate::trace::{AllocationReport, Obligation, Reason, Stage, StageReport};
use crate::world::{Model, World};
use account::{Account, Around, Present};

/// How the elastic budget was shared among the sections. Empty where they are one flow.
#[derive(Default)]
pub(crate) struct Shares {
    pub(crate) reports: Vec<AllocationReport>,
    /// Why no other allocation is worth more.
    pub(crate) certificate: Option<Certificate>,
}

/// Contained pieces, chosen.
pub(crate) struct Fitted<'a> {
    pub(crate) contained: Contained<'a>,
    pub(crate) budget: u32,
    pub(crate) shares: Shares,
    /// What the provider adds around the text.
    pub(crate) overhead: u32,
    /// The room for the answer.
    pub(crate) answer: u32,
}

/// The most tokens that the payload may have, and the room for the answer: the reserve of the
/// request, or as much of the model's as the payload leaves of the window.
fn budget_of(budget: &Budget, model: &Model, target: Target) -> Result<(u32, u32), Error> {
    let window = budget.window.unwrap_or(model.window);
    let reserve = match (budget.reserve, budget.window) {
        (Some(reserve), _) => reserve,
        (None, None) if budget.tokens.is_none() => model.reserve,
        (None, _) => 0,
    };
    let room = window
        .checked_sub(reserve)
        .filter(|room| *room > 0)
        .ok_or_else(|| {
            Error::input(format!(
                "the reserve of {reserve} tokens leaves nothing of the window of {window}"
            ))
            .expected("a reserve below the window")
        })?;
    if let Some(tokens) = budget.tokens
        && tokens > room
    {
        return Err(Error::input(format!("the budget of {tokens} tokens exceeds the window of {window} less the reserve of {reserve}"))
            .expected(format!("at most {room}"))
            .hint("name the window with --window (or `budget.window`) if the model has a larger one"));
    }
    let tokens = budget.tokens.unwrap_or(room);
    let answer = budget.reserve.unwrap_or(model.reserve.min(window - tokens));
    if answer == 0 && target == Target::AnthropicMessages {
        return Err(Error::input(format!(
            "the budget of {tokens} tokens leaves none of the window of {window} for the answer"
        ))
        .expected("at least 1: the target names the room for the answer, `max_tokens`")
        .hint("name the tokens to keep with --reserve (or `budget.reserve`)"));
    }
    Ok((tokens, answer))
}

/// Chooses.
pub(crate) fn fit<'a>(
    mut contained: Contained<'a>,
    world: &World,
    policy: &Policy,
    request: &Request,
) -> Result<Fitted<'a>, Error> {
    let (budget, answer) = budget_of(&request.budget, world.model(), request.target)?;
    refused(&contained)?;
    let around = Around::new(&contained, world, policy, request.target);
    let live = contained.live();
    let entered = live.rows.len() as u32;
    let mut verdicts: Vec<(u32, Reason)> = Vec::with_capacity(live.rows.len());
    let account = Account {
        chosen: vec![false; live.set.rows.len()],
        opened: [false; Section::COUNT],
        present: Present::default(),
        left: budget,
        last_in: [None; Section::COUNT],
        contained: &contained,
        around: &around,
    };
    let account = mandatory(account, &mut verdicts, budget)?;
    let (account, shares) = match policy.document().order {
        Order::Sections => by_rank(account, policy, &mut verdicts)?,
        _ => (in_order(account, policy, &mut verdicts), Shares::default()),
    };
    if policy.document().overflow == Overflow::FailLoud {
        loud(&account, &verdicts, budget)?;
    }
    let overhead = around.tokens(&account.present);
    let chosen = account.chosen;
    let live = &mut contained.rescued.ranked.planned.resolved.live;
    for (row, reason) in verdicts {
        live.verdicts[row as usize] = Some(reason);
    }
    live.rows.retain(|row| chosen[*row as usize]);
    live.stages.push(StageReport {
        stage: Stage::Fit,
        entered,
        left: live.rows.len() as u32,
    });
    Ok(Fitted {
        contained,
        budget,
        shares,
        overhead,
        answer,
    })
}

/// Fails when something that must be there may not: it is longer than the policy allows, or misses
/// what it needs.
fn refused(contained: &Contained<'_>) -> Result<(), Error> {
    let ranked = contained.ranked();
    let live = &ranked.planned.resolved.live;
    let reason = |row: u32| match &live.verdicts[row as usize] {
        Some(
            reason @ (Reason::OverLimit { .. }
            | Reason::ClosureMissing { .. }
            | Reason::ClosureTooLong { .. }),
        ) => Some(reason),
        // A turn out of its exchange is no turn, unless its author says that it must go in.
        Some(reason @ (Reason::OrphanToolResult | Reason::UnansweredToolCall)) => {
            let obligation = ranked.obligations[row as usize];
            (obligation == Some(Obligation::NotRemovable)).then_some(reason)
        }
        _ => None,
    };
    let rows = 0..live.set.rows.len() as u32;
    let refused = rows.filter(|row| ranked.obligations[*row as usize].is_some());
    let refused: Vec<(u32, &Reason)> = refused
        .filter_map(|row| Some((row, reason(row)?)))
        .collect();
    let Some((first, reason)) = refused.first() else {
        return Ok(());
    };
    let hint = match reason {
        Reason::OverLimit { .. } => "shorten it, or raise `limits` in the policy",
        Reason::OrphanToolResult | Reason::UnansweredToolCall => {
            "keep a call and its results together, one right after the other"
        }
        _ => "add what it needs, or take it out of `keep_with`",
    };
    let name = live.set.name(*first);
    let what = format!("`{name}` must go in and cannot: {}", reason.sentence());
    let mut error = Error::new(ErrorKind::Policy, what).hint(hint);
    error.mandatory = refused
        .iter()
        .map(|(row, _)| MandatoryItem {
            name: live.set.name(*row).to_string(),
            section: ranked.planned.section(*row),
            tokens: contained.pieces[*row as usize]
                .as_ref()
                .map_or(0, |piece| piece.tokens),
        })
        .collect();
    Err(error)
}

/// Lets in what must be there, or fails naming each with its cost.
fn mandatory<'c, 'a>(
    mut account: Account<'c, 'a>,
    verdicts: &mut Vec<(u32, Reason)>,
    budget: u32,
) -> Result<Account<'c, 'a>, Error> {
    let contained = account.contained;
    let ranked = contained.ranked();
    let live = &ranked.planned.resolved.live;
    let mut items = Vec::new();
    let mut headings = Vec::new();
    let mut charge = |opened: &mut [bool; Section::COUNT], section: Section| {
        if !std::mem::replace(&mut opened[section.index()], true)
            && let Some(piece) = &contained.headings[section.index()]
        {
            headings.push(MandatoryItem {
                name: "@heading".into(),
                section,
                tokens: piece.tokens,
            });
        }
    };
    for added in &contained.added {
        charge(&mut account.opened, added.section);
        items.push(MandatoryItem {
            name: added.name.into(),
            section: added.section,
            tokens: added.piece.tokens,
        });
    }
    if let Some(closing) = &contained.closing {
        items.push(MandatoryItem {
            name: "@closing".into(),
            section: Section::History,
            tokens: closing.tokens,
        });
    }
    for &row in live
        .rows
        .iter()
        .filter(|row| ranked.obligations[**row as usize].is_some())
    {
        let arrivals: Vec<u32> = account.arrivals(row).collect();
        for arrival in arrivals {
            let section = account.section(arrival);
            charge(&mut account.opened, section);
            account.stand(arrival);
            items.push(MandatoryItem {
                name: live.set.object(arrival).name().to_owned(),
                section,
                tokens: account.tokens(arrival),
            });
            let reason = match ranked.obligations[arrival as usize] {
                Some(because) => Reason::Mandatory { because },
                None => Reason::KeptWith {
                    name: live.set.name(row),
                },
            };
            verdicts.push((arrival, reason));
        }
    }
    items.extend(headings);
    let overhead = account.around.tokens(&account.present);
    if overhead > 0 {
        items.push(MandatoryItem {
            name: "@overhead".into(),
            section: Section::Identity,
            tokens: overhead,
        });
    }
    let needed: u64 = items.iter().map(|item| u64::from(item.tokens)).sum();
    if needed > u64::from(budget) {
        items.sort_by(|a, b| b.tokens.cmp(&a.tokens).then_with(|| a.name.cmp(&b.name)));
        let mut error = Error::new(
            ErrorKind::Budget,
            format!("{needed} tokens must go in, but the budget is {budget}"),
        )
        .hint("raise the budget, or mark items `optional: true`");
        error.mandatory = items;
        return Err(error);
    }
    account.left = budget - needed as u32;
    Ok(account)
}

/// Shares what is left among the sections and fills each in the order of its ranks.
fn by_rank<'c, 'a>(
    mut account: Account<'c, 'a>,
    policy: &Policy,
    verdicts: &mut Vec<(u32, Reason)>,
) -> Result<(Account<'c, 'a>, Shares), Error> {
    let ranked = account.contained.ranked();
    let live = &ranked.planned.resolved.live;
    let mut queues: [Vec<u32>; Section::COUNT] = Default::default();
    for &row in &live.rows {
        if !account.chosen[row as usize] {
            queues[account.section(row).index()].push(row);
        }
    }
    let set = live.set;
    let around = most_around(&account, &queues);
    let mut claims = Vec::new();
    let mut demands = Vec::new();
    for section in Section::ALL {
        let queue = &mut queues[section.index()];
        let demand: u64 = queue
            .iter()
            .map(|row| u64::from(account.tokens(*row)))
            .sum();
        let heading = match &account.contained.headings[section.index()] {
            Some(piece) if !account.opened[section.index()] && demand > 0 => piece.tokens,
            _ => 0,
        };
        let around = around[section.index()];
        let demand = demand + u64::from(heading) + u64::from(around);
        let demand = u32::try_from(demand).unwrap_or(u32::MAX);
        let settings = policy.section(*section);
        demands.push(demand);
        claims.push(Claim {
            weight: settings.weight,
            alpha: settings.alpha,
            beta: settings.beta,
            min: settings.min,
            max: settings.max,
            demand,
            cost: 0.0,
        });
    }
    let allocation = Problem::new(&claims, account.left)?.solve();
    let granted = &allocation.tokens;

    // When everything fits, the order of ranks decides nothing.
    let plenty = granted
        .iter()
        .zip(&demands)
        .all(|(granted, demand)| granted == demand);
    if plenty {
        for row in queues.into_iter().flatten() {
            account.stand(row);
            verdicts.push((row, Reason::Fits));
        }
        let shares = Shares::new(policy, &demands, &allocation, granted, granted);
        return Ok((account, shares));
    }

    let mut used = vec![0u32; Section::COUNT];
    let mut waiting: Vec<(Section, Vec<u32>)> = Vec::new();
    for section in Section::ALL {
        let mut queue = std::mem::take(&mut queues[section.index()]);
        if *section == Section::History {
            queue.reverse();
        } else {
            queue.sort_unstable_by(|a, b| rank_order(&account, *a, *b));
        }
        let mut rest = Vec::new();
        for row in queue {
            if account.chosen[row as usize] {
                continue;
            }
            let cost = account.cost(row);
            let room = granted[section.index()]
                .saturating_sub(used[section.index()])
                .min(account.left);
            if cost <= room {
                used[section.index()] += cost;
                let_in(&mut account, row, cost, verdicts);
            } else {
                rest.push(row);
            }
        }
        waiting.push((*section, rest));
    }
    let own = used.clone();
    // What was left over flows back, to the sections in order, within their maximums.
    let mut added = true;
    while added {
        added = false;
        for (section, rest) in &mut waiting {
            let max = policy.section(*section).max;
            rest.retain(|row| {
                if account.chosen[*row as usize] {
                    return false;
                }
                let cost = account.cost(*row);
                let within = max == 0 || used[section.index()].saturating_add(cost) <= max;
                if cost > account.left || !within {
                    return true;
                }
                used[section.index()] += cost;
                let_in(&mut account, *row, cost, verdicts);
                added = true;
                false
            });
        }
    }
    for (section, rest) in waiting {
        let displaced_by = account.last_in[section.index()].map(|row| set.name(row));
        for row in rest {
            let room = match policy.section(section).max {
                0 => account.left,
                max => account.left.min(max.saturating_sub(used[section.index()])),
            };
            let reason = Reason::NoRoom {
                needed: account.cost(row),
                left: room,
                displaced_by: displaced_by.clone(),
            };
            verdicts.push((row, reason));
        }
    }
    let shares = Shares::new(policy, &demands, &allocation, &own, &used);
    Ok((account, shares))
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
    let tools = Present {
        tools: all.tools,
        ..account.present
    };
    let for_tools = account.around.more(&account.present, &tools);
    let for_texts = account.around.more(&tools, &all).min(chat.per_message + 1);
    for (section, queue) in Section::ALL.iter().zip(queues) {
        if queue.is_empty() {
            continue;
        }
        let most = &mut most[section.index()];
        if !account.present.texts[section.index()] {
            *most += for_texts;
        }
        if *section == Section::Tools {
            *most += for_tools;
        }
    }
    most
}

impl Shares {
    /// `own` is what each section used of its own share, `used` that and what flowed back.
    fn new(
        policy: &Policy,
        demands: &[u32],
        allocation: &Allocation,
        own: &[u32],
        used: &[u32],
    ) -> Shares {
        let report = |section: &Section| {
            let at = section.index();
            let settings = policy.section(*section);
            (demands[at] > 0).then_some(AllocationReport {
                section: *section,
                min: settings.min,
                max: settings.max,
                demand: demands[at],
                allocated: allocation.tokens[at],
                used: used[at],
                flow_back: used[at] - own[at],
                marginal: Some(allocation.marginals[at]),
            })
        };
        Shares {
            reports: Section::ALL.iter().filter_map(report).collect(),
            certificate: Some(allocation.certificate),
        }
    }
}

/// Pinned first, then the higher grade, the higher score, the content's own key.
fn rank_order(account: &Account<'_, '_>, a: u32, b: u32) -> Ordering {
    let ranked = account.contained.ranked();
    let set = ranked.planned.resolved.live.set;
    let pinned = |row: u32| set.row(row).protection == Protection::Pinned;
    let score = |row: u32| &ranked.scores[row as usize];
    pinned(b)
        .cmp(&pinned(a))
        .then_with(|| score(a).grade.cmp(&score(b).grade))
        .then_with(|| score(b).composite.cmp(&score(a).composite))
        .then_with(|| set.tie_break(a, b))
}

fn let_in(account: &mut Account<'_, '_>, row: u32, cost: u32, verdicts: &mut Vec<(u32, Reason)>) {
    let name = account.contained.set().name(row);
    account.admit(row, cost, |arrival| {
        let reason = if arrival == row {
            Reason::Fits
        } else {
            Reason::KeptWith {
                name: Arc::clone(&name),
            }
        };
        verdicts.push((arrival, reason));
    });
}

/// RAMPART's ordered walk: in the order of the sources, until the budget is spent.
fn in_order<'c, 'a>(
    mut account: Account<'c, 'a>,
    policy: &Policy,
    verdicts: &mut Vec<(u32, Reason)>,
) -> Account<'c, 'a> {
    let live = account.contained.live();
    let set = live.set;
    let mut stopped_at: Option<u32> = None;
    let mut last: Option<u32> = None;
    for &row in &live.rows {
        if account.chosen[row as usize] {
            last = Some(row);
            continue;
        }
        let cost = account.cost(row);
        match stopped_at {
            Some(block) => verdicts.push((
                row,
                Reason::AfterStop {
                    stopped_at: set.name(block),
                },
            )),
            None if cost <= account.left => {
                let_in(&mut account, row, cost, verdicts);
                last = Some(row);
            }
            None => {
                let displaced_by = last.map(|row| set.name(row));
                verdicts.push((
                    row,
                    Reason::NoRoom {
                        needed: cost,
                        left: account.left,
                        displaced_by,
                    },
                ));
                stopped_at = policy.document().strict_stop.then_some(row);
            }
        }
    }
    account
}

/// Under `fail_loud`, anything that was to go in and does not fit fails the compile.
fn loud(account: &Account<'_, '_>, verdicts: &[(u32, Reason)], budget: u32) -> Result<(), Error> {
    let set = account.contained.set();
    let left_out: Vec<MandatoryItem> = verdicts
        .iter()
        .filter(|(_, reason)| matches!(reason, Reason::NoRoom { .. } | Reason::AfterStop { .. }))
        .map(|(row, _)| MandatoryItem {
            name: set.object(*row).name().to_owned(),
            section: account.section(*row),
            tokens: account.tokens(*row),
        })
        .collect();
    if left_out.is_empty() {
        return Ok(());
    }
    let mut error = Error::new(
        ErrorKind::Budget,
        format!(
            "{} items do not fit into {budget} tokens, and the policy says fail_loud",
            left_out.len()
        ),
    )
    .hint("raise the budget, or choose `overflow = \"truncate_lowest\"`");
    error.mandatory = left_out;
    Err(error)
}
