//! Stage 9: what goes in. Mandatory first; then the elastic budget is shared among the sections and
//! each section is filled in the order of its ranks. What does not fit is skipped with a reason and
//! never starves what stands behind it; what a section leaves over flows back. What happens when not
//! everything fits is the policy's choice.

mod account;
mod density;
mod elastic;
mod losses;
mod pages;

use std::collections::BTreeSet;

use crate::base::error::{Error, ErrorKind, MandatoryItem};
use crate::compile::envelope::Part;
use crate::compile::pieces::{self, Added, Pricing};
use crate::compile::stages::Live;
use crate::compile::stages::contain::{Contained, Pieces, Shown};
use crate::compile::stages::plan::EpochPlan;
use crate::compile::stages::rank::Ranking;
use crate::compile::trace::{Note, Obligation, Reason, Stage, StageReport};
use crate::input::policy::{Order, Overflow, Policy};
use crate::input::request::Request;
use crate::object::Authority;
use crate::object::section::Section;
use crate::write::piece::Piece;
use crate::write::world::World;
use account::{Account, Around, Opened, Present, Shortened};
use density::Density;
use elastic::{Elastic, Shares};

/// Contained pieces, chosen for one payload.
pub(crate) struct Fitted<'a> {
    pub(crate) live: Live<'a>,
    pub(crate) epoch: EpochPlan<'a>,
    pub(crate) ranking: Ranking,
    pub(crate) pieces: Pieces,
    pub(crate) room: Room,
}

/// The tokens of one payload, and how they were shared.
pub(crate) struct Room {
    /// The most tokens that the payload may have.
    pub(crate) budget: u32,
    /// The tokens for the answer.
    pub(crate) answer: u32,
    /// The tokens that the provider adds around the text.
    pub(crate) overhead: u32,
    pub(crate) shares: Shares,
    /// The number of this payload among several.
    pub(crate) part: Option<Part>,
}

/// The choice for one payload.
struct Choice {
    chosen: Vec<bool>,
    short: Shortened,
    verdicts: Vec<(u32, Reason)>,
    shares: Shares,
    overhead: u32,
    part: Option<(Part, Piece)>,
}

/// So often soft constraints may leave: each time all that must, and what comes in their place is looked at again.
const ROUNDS: usize = 4;

impl Choice {
    fn new(account: Account<'_, '_>, verdicts: Vec<(u32, Reason)>, shares: Shares) -> Choice {
        Choice {
            overhead: account.around.tokens(&account.present),
            chosen: account.chosen,
            short: account.short,
            verdicts,
            shares,
            part: None,
        }
    }

    fn has(&self, row: u32) -> bool {
        self.chosen[row as usize]
    }

    /// Returns a row's tokens in the form that was chosen for it.
    fn tokens(&self, contained: &Contained<'_>, row: u32) -> u32 {
        self.short
            .of(row)
            .and_then(|at| contained.forms.get(row as usize)?.get(at))
            .map_or_else(|| contained.pieces.tokens(row), |(_, piece)| piece.tokens)
    }
}

/// Chooses, for one payload or for each of several, which are handed out one by one.
pub(crate) fn fit<'a>(
    mut contained: Contained<'a>,
    world: &World,
    policy: &Policy,
    request: &Request,
) -> Result<impl Iterator<Item = Fitted<'a>> + use<'a>, Error> {
    let (budget, answer) = request.budget.resolve(world.model(), request.target)?;
    refused(&contained)?;
    let entered = contained.live.rows.len() as u32;
    let mut choices = choices(&contained, world, policy, request, budget)?;
    // What reaches the rest of a corpus is offered only where there is a rest.
    if let [choice] = &choices[..]
        && contained.epoch.archive_may_go
        && has_whole_corpus(&contained, choice)
    {
        let mut without = contained.clone();
        without.withdraw_archive();
        let anew = self::choices(&without, world, policy, request, budget)?;
        if anew.iter().all(|choice| has_whole_corpus(&without, choice)) {
            (contained, choices) = (without, anew);
        }
    }
    let mut gone = Vec::new();
    let class = request.task.class();
    let density = |contained: &Contained<'_>, choices: &[Choice]| -> Vec<Option<Density>> {
        choices
            .iter()
            .map(|choice| Density::of(contained, choice, policy, class))
            .collect()
    };
    let mut densities = density(&contained, &choices);
    for _ in 0..ROUNDS {
        let leaving = too_many(&contained, &choices, &densities);
        if leaving.is_empty() {
            break;
        }
        let left: BTreeSet<u32> = leaving.iter().map(|(row, _)| *row).collect();
        contained.live.rows.retain(|row| !left.contains(row));
        gone.extend(leaving);
        choices = self::choices(&contained, world, policy, request, budget)?;
        densities = density(&contained, &choices);
    }
    // Of several pages, one says it.
    let mut notes = densities.iter().flatten().filter_map(Density::note);
    contained.live.notes.extend(notes.next());
    let mut choices = choices.into_iter().peekable();
    let mut contained = Some(contained);
    Ok(std::iter::from_fn(move || {
        let choice = choices.next()?;
        let page = match choices.peek() {
            Some(_) => contained.clone(),
            None => contained.take(),
        };
        Some(Fitted::new(page?, choice, (budget, answer), entered, &gone))
    }))
}

/// Returns the soft constraints that leave, because in one of the payloads constraints are too dense.
fn too_many(
    contained: &Contained<'_>,
    choices: &[Choice],
    densities: &[Option<Density>],
) -> Vec<(u32, Reason)> {
    choices
        .iter()
        .zip(densities)
        .filter_map(|(choice, density)| {
            let leaving = density.as_ref()?.leaving(contained, choice);
            (!leaving.is_empty()).then_some(leaving)
        })
        .max_by_key(Vec::len)
        .unwrap_or_default()
}

/// Returns whether every document of the corpus stands whole.
fn has_whole_corpus(contained: &Contained<'_>, choice: &Choice) -> bool {
    let stands = |row: &u32| {
        contained.live.set.row(*row).section == Section::Codex
            && choice.chosen[*row as usize]
            && choice.short.of(*row).is_none()
            && !contained.pieces.shown.contains_key(row)
    };
    let standing = contained.live.rows.iter().filter(|row| stands(row)).count();
    standing == contained.epoch.corpus as usize
}

fn choices(
    contained: &Contained<'_>,
    world: &World,
    policy: &Policy,
    request: &Request,
    budget: u32,
) -> Result<Vec<Choice>, Error> {
    let around = Around::new(contained, world, policy, request.target);
    let losses = losses::losses(contained, policy, request);
    let rows = contained.live.rows.len();
    let mut verdicts: Vec<(u32, Reason)> = Vec::with_capacity(rows);
    let account = Account {
        chosen: vec![false; contained.live.set.rows.len()],
        short: Shortened::default(),
        opened: Opened::default(),
        present: Present::default(),
        left: budget,
        last_in: [None; Section::COUNT],
        contained,
        around: &around,
        losses: &losses,
    };
    let account = mandatory(account, &mut verdicts, budget)?;
    let overflow = policy.overflow(request.task.class());
    if policy.document().order != Order::Sections {
        let account = in_order(account, policy, &mut verdicts);
        if overflow == Overflow::FailLoud {
            loud(&account, &verdicts, budget)?;
        }
        return Ok(vec![Choice::new(account, verdicts, Shares::default())]);
    }
    let apart = matches!(overflow, Overflow::Paginate | Overflow::DeferRetrieval);
    let elastic = Elastic::new(&account, policy, apart)?;
    match overflow {
        Overflow::Paginate if elastic.is_cut() && elastic.wants(Section::Evidence) => {
            let pricing = Pricing {
                world,
                policy,
                target: request.target,
                task_type: request.task.task_type,
            };
            pages::paginate(&account, &verdicts, pricing)
        }
        Overflow::DeferRetrieval if elastic.is_cut() => {
            let (elastic, waits) = elastic.without(&account, Section::Evidence)?;
            let (account, shares) = elastic.choose(account, false, &mut verdicts);
            for row in waits.into_iter().filter(|row| !account.chosen[*row as usize]) {
                let needed = account.cost(row);
                verdicts.push((row, Reason::Deferred { needed }));
            }
            Ok(vec![Choice::new(account, verdicts, shares)])
        }
        _ => {
            let shorten = overflow == Overflow::CascadeCompress;
            let (account, shares) = elastic.choose(account, shorten, &mut verdicts);
            if overflow == Overflow::FailLoud {
                loud(&account, &verdicts, budget)?;
            }
            Ok(vec![Choice::new(account, verdicts, shares)])
        }
    }
}

impl<'a> Fitted<'a> {
    fn new(
        contained: Contained<'a>,
        choice: Choice,
        (budget, answer): (u32, u32),
        entered: u32,
        gone: &[(u32, Reason)],
    ) -> Fitted<'a> {
        let Contained {
            mut live,
            epoch,
            ranking,
            attached,
            mut pieces,
            forms,
            ..
        } = contained;
        for (row, forms) in (0u32..).zip(&forms) {
            if choice.chosen[row as usize]
                && let Some((form, piece)) = choice.short.of(row).and_then(|at| forms.get(at))
                && let Some(full) = pieces.rows[row as usize].replace(piece.clone())
            {
                let before = pieces.shown.get(&row);
                let shown = Shown {
                    form: *form,
                    full: before.map_or(full.tokens, |before| before.full),
                };
                pieces.shown.insert(row, shown);
                live.notes.extend(pieces::notes(live.set.name(row), piece));
            }
        }
        let part = choice.part.map(|(part, piece)| {
            pieces.added.push(Added {
                name: "@part",
                section: Section::Task,
                piece,
            });
            part
        });
        let stands = |row: u32| choice.chosen[row as usize];
        let opposed =
            ranking.opposed.iter().filter(|pair| stands(pair.asks) && stands(pair.forbids));
        // There may be thousands: their room is made once.
        live.notes.reserve(opposed.clone().count());
        live.notes.extend(opposed.map(|pair| Note::OpposedGuidance {
            name: live.set.name(pair.asks),
            forbids: live.set.name(pair.forbids),
            shared: pair.shared,
        }));
        for (row, reason) in gone {
            live.verdicts[*row as usize] = Some(reason.clone());
        }
        for (row, reason) in choice.verdicts {
            // What was attached stands for the sake of another.
            let reason = match (reason, attached.get(&row)) {
                (Reason::Fits, Some(attachment)) => Reason::Attached(Box::new(attachment.clone())),
                (reason, _) => reason,
            };
            live.verdicts[row as usize] = Some(reason);
        }
        live.rows.retain(|row| choice.chosen[*row as usize]);
        live.stages.push(StageReport {
            stage: Stage::Fit,
            entered,
            left: live.rows.len() as u32,
        });
        Fitted {
            live,
            epoch,
            ranking,
            pieces,
            room: Room {
                budget,
                answer,
                overhead: choice.overhead,
                shares: choice.shares,
                part,
            },
        }
    }
}

/// Fails when something that must be there may not: it is longer than the policy allows, or misses
/// what it needs.
fn refused(contained: &Contained<'_>) -> Result<(), Error> {
    let Contained { live, ranking, .. } = contained;
    let reason = |row: u32| match &live.verdicts[row as usize] {
        Some(
            reason @ (Reason::OverLimit { .. }
            | Reason::ClosureMissing { .. }
            | Reason::ClosureTooLong { .. }),
        ) => Some(reason),
        // A turn out of its exchange is no turn, unless its author says that it must go in.
        Some(reason @ (Reason::OrphanToolResult | Reason::UnansweredToolCall)) => {
            let obligation = ranking.obligations[row as usize];
            (obligation == Some(Obligation::NotRemovable)).then_some(reason)
        }
        _ => None,
    };
    let rows = 0..live.set.rows.len() as u32;
    let refused: Vec<(u32, &Reason)> = rows
        .filter(|row| ranking.obligations[*row as usize].is_some())
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
            section: contained.epoch.section(*row).term(),
            tokens: contained.pieces.tokens(*row),
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
    let Contained { live, ranking, .. } = contained;
    let mut items = Vec::new();
    let mut headings = Vec::new();
    let mut charge = |opened: &mut Opened, section: Section, voice: Option<Authority>| {
        let pieces = &contained.pieces;
        let heading = pieces.headings[section.index()].as_ref().filter(|_| opened.heading(section));
        let mark = voice
            .filter(|voice| opened.mark(section, *voice))
            .and_then(|voice| pieces.marks.of(voice));
        for piece in heading.into_iter().chain(mark) {
            headings.push(MandatoryItem {
                name: "@heading".into(),
                section: section.term(),
                tokens: piece.tokens,
            });
        }
    };
    for added in &contained.pieces.added {
        charge(&mut account.opened, added.section, added.voice());
        account.present.tools |= added.section == Section::Tools;
        items.push(MandatoryItem {
            name: added.name.into(),
            section: added.section.term(),
            tokens: added.piece.tokens,
        });
    }
    if let Some(closing) = &contained.pieces.closing {
        items.push(MandatoryItem {
            name: "@closing".into(),
            section: Section::History.term(),
            tokens: closing.tokens,
        });
    }
    for &row in live.rows.iter().filter(|row| ranking.obligations[**row as usize].is_some()) {
        let arrivals: Vec<u32> = account.arrivals(row).collect();
        for arrival in arrivals {
            let section = account.section(arrival);
            if !account.is_late(arrival) {
                let voice = account.voice(arrival);
                charge(&mut account.opened, section, voice);
            }
            account.stand(arrival);
            items.push(MandatoryItem {
                name: live.set.object(arrival).name().to_owned(),
                section: section.term(),
                tokens: account.tokens(arrival),
            });
            let reason = match ranking.obligations[arrival as usize] {
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
            section: Section::Identity.term(),
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

/// Walks the rows in the order of the sources, until the budget is spent.
fn in_order<'c, 'a>(
    mut account: Account<'c, 'a>,
    policy: &Policy,
    verdicts: &mut Vec<(u32, Reason)>,
) -> Account<'c, 'a> {
    let live = &account.contained.live;
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
                account.let_in(row, cost, verdicts);
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
                        class: None,
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
    let set = account.contained.live.set;
    let left_out: Vec<MandatoryItem> = verdicts
        .iter()
        .filter(|(_, reason)| {
            matches!(
                reason,
                Reason::NoRoom { .. } | Reason::OverShare { .. } | Reason::AfterStop { .. }
            )
        })
        .map(|(row, _)| MandatoryItem {
            name: set.object(*row).name().to_owned(),
            section: account.section(*row).term(),
            tokens: account.tokens(*row),
        })
        .collect();
    if left_out.is_empty() {
        return Ok(());
    }
    let mut error = Error::new(
        ErrorKind::Budget,
        format!(
            "{} not fit into {budget} tokens, and the policy says fail_loud",
            items_do(left_out.len())
        ),
    )
    .hint("raise the budget, or choose another `overflow` for this class of task");
    error.mandatory = left_out;
    Err(error)
}

/// So many items do something.
fn items_do(count: usize) -> String {
    match count {
        1 => "1 item does".to_owned(),
        _ => format!("{count} items do"),
    }
}
