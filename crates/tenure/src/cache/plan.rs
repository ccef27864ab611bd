//! The places of a request's marks, and the costs of writing and reading each prefix.

use schemars::JsonSchema;
use serde::Serialize;

use super::body::{Body, Part};
use super::weigh::{Weighed, weigh};
use super::{CacheZone, Held, Position, Sent, cost, holds, in_steps, lasting, write_price};
use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::base::tokenizer::CountKind;
use crate::object::Format;
use crate::object::vocabulary::vocabulary;
use crate::provider::catalogue::{CacheKind, CacheMark, CacheRules, Cost};
use crate::write::world::World;

/// The number of blocks between the marks of a long history: fewer than Anthropic looks back.
const STRIDE: usize = 15;

/// Options of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The lifetime of prefixes, in seconds. Default: the shortest that the model has.
    pub ttl: Option<u32>,
    /// The lifetime of the floor, which is all before the history. Default: that of the rest.
    pub floor_ttl: Option<u32>,
    /// Let the provider mark the last block itself, where it can.
    pub automatic: bool,
    /// True if the turn stays where it is in the next request, as it does in a chat. Default: only where no one says
    /// what the turn is, that is for bodies that no compile gave.
    pub turn_stays: Option<bool>,
    /// Set the author's marks on messages anew. Those on tools, on the system's text and on the last block that takes
    /// one stay as they are, and count towards the provider's limit.
    pub renew: bool,
}

vocabulary! {
    /// The reason for a breakpoint's place.
    Why ("reason of a breakpoint") {
        /// A zone ends.
        ZoneEnd = "zone_end",
        /// The part ends that the next request repeats.
        End = "end",
        /// The request before ended here, further back than a cache looks.
        LastRequest = "last_request",
        /// The history is long, and a cache looks back a bounded number of blocks.
        LookBack = "look_back",
        /// The provider marks the last block itself.
        Automatic = "automatic",
        /// The author of the body marked it.
        Author = "author",
    }
}

vocabulary! {
    /// The reason why a wanted breakpoint is not set.
    OmittedBecause ("reason against a breakpoint") {
        /// The prefix is shorter than the shortest that is held.
        BelowMinimum = "below_minimum",
        /// The provider takes no more.
        NoSlot = "no_slot",
    }
}

/// The end of a prefix that a cache holds or is asked to hold.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Breakpoint {
    /// The block that it stands behind: `messages[3].content[0]`.
    pub at: String,
    /// The place of the block in numbers.
    #[serde(flatten)]
    pub position: Position,
    /// The most changeable zone in the prefix.
    pub zone: CacheZone,
    /// The reason for its place.
    pub why: Why,
    /// True if the block is marked: not where the provider decides by itself.
    pub marks: bool,
    /// The least time for which the prefix is kept unread, in seconds.
    pub ttl_seconds: Option<u32>,
    /// The tokens of the prefix, counted as the plan's `count` says.
    pub tokens: u32,
    /// As many of them as the cache holds.
    pub held_tokens: u32,
    /// The state of the prefix in the cache.
    pub held: Held,
    /// The cost of writing the part that is new since the breakpoint before.
    pub write: Option<Cost>,
    /// The cost of reading the whole prefix.
    pub read: Option<Cost>,
}

/// A breakpoint that was wanted.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct OmittedBreakpoint {
    /// The block.
    pub at: String,
    /// The reason why it was wanted.
    pub why: Why,
    /// The tokens of the prefix.
    pub tokens: u32,
    /// The reason against it.
    pub because: OmittedBecause,
}

/// The cost of a request's input.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct Costs {
    /// Without a cache.
    pub uncached: Cost,
    /// The cost when no part of it is held yet.
    pub first: Cost,
    /// The cost when all that can be held is held.
    pub again: Cost,
}

/// The effect of a cache on a request.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[non_exhaustive]
pub struct CachePlan {
    /// The form of the body; none for a text.
    pub target: Option<Format>,
    /// The model.
    pub model: String,
    /// The party that decides what is held; none where it is not known.
    pub kind: Option<CacheKind>,
    /// The field that marks a block.
    pub mark: Option<CacheMark>,
    /// The precision of the counts.
    pub count: CountKind,
    /// The tokens of the request.
    pub total_tokens: u32,
    /// The number of its blocks.
    pub blocks: u32,
    /// The shortest prefix that is held, where it is known.
    pub min_tokens: Option<u32>,
    /// True if the body has marks of its author, which stay as they are.
    pub by_author: bool,
    /// The breakpoints, in the order of the body.
    pub breakpoints: Vec<Breakpoint>,
    /// Those that were wanted and are none.
    pub left_out: Vec<OmittedBreakpoint>,
    /// The key by which requests with this floor reach one machine.
    pub prompt_cache_key: Option<String>,
    /// The cost of the input, where prices are known.
    pub cost: Option<Costs>,
    /// Other findings.
    pub notes: Vec<String>,
    /// The blocks whose marks stay, where the others are set anew.
    #[serde(skip)]
    pub(super) kept: Option<Vec<usize>>,
}

/// Plans what the model's cache does with this request; with the one before, so that marks keep their
/// places.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) when the model has no such lifetime, or the floor would be
/// kept for shorter than the rest.
pub fn plan(
    world: &World,
    sent: &Sent<'_>,
    options: &Options,
    previous: Option<&Sent<'_>>,
) -> Result<CachePlan, Error> {
    plan_weighed(world, sent, &weigh(world, sent), options, previous)
}

pub(super) fn plan_weighed(
    world: &World,
    sent: &Sent<'_>,
    weighed: &Weighed,
    options: &Options,
    previous: Option<&Sent<'_>>,
) -> Result<CachePlan, Error> {
    let body = &sent.body;
    let rules = world.model().cache.as_ref();
    let mut plan = CachePlan {
        target: body.format,
        model: world.model_name().to_owned(),
        kind: rules.map(|rules| rules.kind),
        mark: None,
        count: weighed.count,
        total_tokens: weighed.total,
        blocks: body.blocks.len() as u32,
        min_tokens: rules.and_then(|rules| rules.min_tokens),
        by_author: body.is_marked && !options.renew,
        breakpoints: Vec::new(),
        left_out: Vec::new(),
        prompt_cache_key: None,
        cost: None,
        notes: Vec::new(),
        kept: options.renew.then(|| kept(body, rules)),
    };
    let Some(rules) = rules.filter(|rules| rules.kind != CacheKind::None) else {
        plan.notes.push(match plan.kind {
            Some(_) => "the model's provider holds nothing".to_owned(),
            None => "how this model's input is cached is not known".to_owned(),
        });
        plan.cost = costs(world, &plan);
        return Ok(plan);
    };
    plan.mark = rules.mark.filter(|mark| body.takes_mark(*mark));
    let planner = Planner {
        world,
        rules,
        body,
        weighed,
        options,
        lives: lives(rules, options)?,
        mark: plan.mark,
    };
    if options.automatic && plan.mark != Some(CacheMark::CacheControl) {
        return Err(Error::input("this request has no automatic mark")
            .expected("an Anthropic body, and a model that takes `cache_control`"));
    }
    if rules.kind == CacheKind::Explicit && plan.mark.is_none() {
        plan.notes.push(match rules.mark {
            Some(mark) => {
                format!("this body takes no `{mark}`: nothing is marked, and nothing held")
            }
            None => "the catalogue names no mark for this model".to_owned(),
        });
    } else if plan.by_author {
        planner.by_author(&mut plan);
    } else {
        planner.choose(&mut plan, previous);
    }
    planner.price(&mut plan);
    planner.say(&mut plan);
    plan.cost = costs(world, &plan);
    Ok(plan)
}

/// The blocks whose marks stay where others are set anew: the author's own before the messages, and the one on the last
/// block that takes any, where the provider takes one more.
fn kept(body: &Body<'_>, rules: Option<&CacheRules>) -> Vec<usize> {
    let blocks = body.blocks.iter().enumerate();
    let mut kept: Vec<usize> = blocks
        .filter(|(_, block)| block.part != Part::Messages && block.mark.is_some())
        .map(|(at, _)| at)
        .collect();
    let most = rules.and_then(|rules| rules.breakpoints);
    let has_room = most.is_none_or(|most| marks_of(body, &kept) < most as usize);
    // A mark within a block's own content stays with none: it would be one more.
    let last = body.blocks.iter().rposition(|block| block.takes.is_some()).filter(|at| {
        let block = &body.blocks[*at];
        has_room && block.mark.is_some() && block.cuts.len() == 1 && !kept.contains(at)
    });
    kept.extend(last);
    kept
}

/// Returns the number of marks of a body where only these blocks keep theirs.
fn marks_of(body: &Body<'_>, kept: &[usize]) -> usize {
    let within: usize = kept.iter().map(|at| body.blocks[*at].cuts.len()).sum();
    within + body.marks_aside + usize::from(body.automatic.is_some())
}

/// Returns the lifetimes of the floor and the rest.
fn lives(rules: &CacheRules, options: &Options) -> Result<(Option<u32>, Option<u32>), Error> {
    let known = |ttl: Option<u32>| match ttl {
        Some(ttl) if !rules.ttl_seconds.contains(&ttl) => {
            let all: Vec<String> = rules.ttl_seconds.iter().map(|ttl| lasting(*ttl)).collect();
            let error = Error::input(format!("the model keeps nothing for {}", lasting(ttl)));
            Err(if all.is_empty() {
                error.expected("no lifetime: its cache has none to choose")
            } else {
                error.expected(all.join(" or "))
            })
        }
        ttl => Ok(ttl.or(rules.ttl_seconds.first().copied())),
    };
    let rest = known(options.ttl)?;
    let floor = known(options.floor_ttl.or(options.ttl))?;
    if floor < rest {
        return Err(
            Error::input("the floor would be kept for shorter than the rest").expected(
                "a lifetime of the floor of at least the rest's: longer ones stand first",
            ),
        );
    }
    Ok((floor, rest))
}

struct Planner<'p, 'a> {
    world: &'p World,
    rules: &'p CacheRules,
    body: &'p Body<'a>,
    weighed: &'p Weighed,
    options: &'p Options,
    lives: (Option<u32>, Option<u32>),
    mark: Option<CacheMark>,
}

impl Planner<'_, '_> {
    /// The last block up to this one, itself included, that may carry a mark.
    fn eligible(&self, upto: usize) -> Option<usize> {
        if self.mark.is_none() {
            return Some(upto);
        }
        let blocks = self.body.blocks.get(..=upto)?;
        blocks.iter().rposition(|block| block.takes.is_some())
    }

    /// The most breakpoints.
    fn most(&self) -> usize {
        match self.mark {
            Some(_) => self.rules.breakpoints.unwrap_or(1) as usize,
            None => usize::MAX,
        }
    }

    /// The breakpoints that are there.
    fn by_author(&self, plan: &mut CachePlan) {
        let blocks = self.body.blocks.iter().enumerate();
        let marked = blocks.filter_map(|(at, block)| Some((at, block.mark?)));
        for (at, ttl) in marked {
            // OpenAI's have one lifetime, beside the messages.
            let ttl = match self.mark {
                Some(CacheMark::CacheControl) => Some(ttl),
                _ => self.lives.1,
            };
            let point = self.breakpoint(at, Why::Author, ttl);
            plan.breakpoints.push(point);
        }
        if let Some(ttl) = self.body.automatic
            && let Some(at) = self.eligible(self.body.blocks.len().saturating_sub(1))
        {
            let point = self.breakpoint(at, Why::Automatic, Some(ttl));
            plan.breakpoints.push(point);
        }
    }

    /// The breakpoints that are worth most, within the provider's limits.
    fn choose(&self, plan: &mut CachePlan, previous: Option<&Sent<'_>>) {
        let mut wanted = self.wanted(previous);
        let kept = plan.kept.clone().unwrap_or_default();
        let is_theirs = plan.kept.is_some() && self.body.automatic.is_some();
        let automatic = self.options.automatic || is_theirs;
        let mut slots = match &plan.kept {
            // A mark of the provider's own takes its place below.
            Some(kept) => {
                let taken = marks_of(self.body, kept) - usize::from(is_theirs);
                self.most().saturating_sub(taken)
            }
            None => self.most(),
        };
        wanted.retain(|(at, _)| !kept.contains(at));
        let last = self
            .body
            .blocks
            .len()
            .checked_sub(1)
            .filter(|_| automatic)
            .and_then(|last| self.eligible(last));
        if let Some(last) = last {
            slots = slots.saturating_sub(1);
            wanted.retain(|(at, why)| *at != last && *why != Why::End);
        }
        let mut chosen: Vec<(usize, Why)> = Vec::new();
        for (at, why) in wanted {
            if chosen.iter().any(|(known, _)| *known == at) {
                continue;
            }
            let tokens = self.weighed.upto[at];
            let least = self.weighed.least(self.world, tokens);
            let because = if holds(self.rules, least, tokens) == Held::No {
                OmittedBecause::BelowMinimum
            } else if chosen.len() >= slots {
                OmittedBecause::NoSlot
            } else {
                chosen.push((at, why));
                continue;
            };
            // What is only nice to have is not missed.
            let left_out = OmittedBreakpoint {
                at: self.body.blocks[at].at.clone(),
                why,
                tokens,
                because,
            };
            if why != Why::LookBack && !plan.left_out.contains(&left_out) {
                plan.left_out.push(left_out);
            }
        }
        chosen.extend(last.map(|last| (last, Why::Automatic)));
        chosen.extend(kept.iter().map(|at| (*at, Why::Author)));
        chosen.sort_unstable();
        for (at, why) in chosen {
            let ttl = match why {
                Why::Author => self.body.blocks[at].mark,
                Why::Automatic if is_theirs => self.body.automatic,
                _ => self.lifetime(at, &kept),
            };
            plan.breakpoints.push(self.breakpoint(at, why, ttl));
        }
    }

    /// Returns the lifetime of a prefix up to here: never for longer than one that ends before it, nor for shorter
    /// than one that ends behind it.
    fn lifetime(&self, at: usize, kept: &[usize]) -> Option<u32> {
        let (floor, rest) = self.lives;
        let own = if at < self.weighed.floor { floor } else { rest };
        let marks = kept.iter().map(|at| (*at, self.body.blocks[*at].mark));
        let automatic = self.body.automatic.filter(|_| self.options.renew);
        marks.chain(automatic.map(|ttl| (self.body.blocks.len(), Some(ttl)))).fold(
            own,
            |ttl, (place, mark)| {
                if place < at {
                    ttl.min(mark)
                } else {
                    ttl.max(mark)
                }
            },
        )
    }

    /// Returns the places where breakpoints would help, the best first.
    fn wanted(&self, previous: Option<&Sent<'_>>) -> Vec<(usize, Why)> {
        let (blocks, weighed) = (&self.body.blocks, self.weighed);
        let first_of = |zone: CacheZone| {
            let found = weighed.zones.iter().position(|known| *known >= zone);
            found.unwrap_or(blocks.len())
        };
        let turn = first_of(CacheZone::Turn);
        let stays = self.options.turn_stays.unwrap_or(!weighed.has_sections);
        let stable = if stays { blocks.len() } else { turn };
        let before = |upto: usize| upto.checked_sub(1).and_then(|last| self.eligible(last));
        let mut wanted = Vec::new();
        let Some(end) = before(stable) else {
            return wanted;
        };
        wanted.push((end, Why::End));
        let lasts = self.last_requests(stable, previous);
        let far_last = lasts.first().copied().filter(|at| match self.rules.lookback_blocks {
            Some(blocks) => end.saturating_sub(*at) >= blocks as usize,
            // A prefix is found at a mark only.
            None => self.mark.is_some(),
        });
        wanted.extend(far_last.map(|at| (at, Why::LastRequest)));
        let floor = before(weighed.floor.min(stable));
        let project = before(first_of(CacheZone::Memory).min(stable));
        let platform = before(first_of(CacheZone::Project).min(stable));
        for zone in [project, floor, platform].into_iter().flatten() {
            wanted.push((zone, Why::ZoneEnd));
        }
        match (self.mark, self.rules.lookback_blocks) {
            (None, _) => {}
            (Some(_), None) => wanted.extend(lasts.into_iter().map(|at| (at, Why::LastRequest))),
            (Some(_), Some(_)) => {
                // The same places whatever the history grows to.
                let mut places: Vec<usize> =
                    (weighed.floor..end).skip(STRIDE - 1).step_by(STRIDE).collect();
                places.reverse();
                let places = places.into_iter().filter_map(|at| self.eligible(at));
                wanted
                    .extend(places.filter(|at| *at >= weighed.floor).map(|at| (at, Why::LookBack)));
            }
        }
        wanted
    }

    /// Returns the places where earlier requests ended, the last first: at the marks that the one before had, as far
    /// as it stands here unchanged; else before each answer of the model.
    fn last_requests(&self, stable: usize, previous: Option<&Sent<'_>>) -> Vec<usize> {
        let blocks = &self.body.blocks;
        if let Some(previous) = previous {
            let shared = self.body.shared(&previous.body).min(stable);
            let mut marked: Vec<usize> = previous.body.blocks[..shared]
                .iter()
                .enumerate()
                .filter(|(at, block)| {
                    block.mark.is_some() && blocks[*at].takes.is_some() && *at >= self.weighed.floor
                })
                .map(|(at, _)| at)
                .collect();
            marked.reverse();
            return marked;
        }
        let mut ends: Vec<usize> = (1..stable)
            .rev()
            .filter(|at| blocks[*at].by_model && !blocks[at - 1].by_model)
            .filter_map(|at| self.eligible(at - 1))
            .collect();
        ends.retain(|at| *at >= self.weighed.floor);
        ends.dedup();
        ends
    }

    fn breakpoint(&self, at: usize, why: Why, ttl: Option<u32>) -> Breakpoint {
        let block = &self.body.blocks[at];
        let tokens = self.weighed.upto[at];
        let zone = self.weighed.zones[..=at].iter().max();
        let is_held = holds(self.rules, self.weighed.least(self.world, tokens), tokens);
        Breakpoint {
            at: block.at.clone(),
            position: Position {
                message: block.message,
                block: block.block,
                tool: block.tool,
            },
            zone: zone.copied().unwrap_or(CacheZone::Platform),
            why,
            marks: self.mark.is_some(),
            ttl_seconds: ttl,
            tokens,
            held_tokens: match is_held {
                Held::No => 0,
                _ => in_steps(self.rules, tokens),
            },
            held: is_held,
            write: None,
            read: None,
        }
    }

    fn price(&self, plan: &mut CachePlan) {
        let Some(tier) = self.world.model().price_of(plan.total_tokens) else {
            return;
        };
        let mut before = 0;
        for point in &mut plan.breakpoints {
            let new = point.held_tokens.saturating_sub(before);
            before = before.max(point.held_tokens);
            point.write = cost(write_price(tier, point.ttl_seconds), new);
            point.read = cost(tier.cache_read, point.held_tokens);
        }
    }

    fn say(&self, plan: &mut CachePlan) {
        let openai = [Some(Format::OpenAiChat), Some(Format::OpenAiResponses)];
        let routes = self.rules.kind == CacheKind::Automatic
            || self.rules.mark == Some(CacheMark::PromptCacheBreakpoint);
        if routes && openai.contains(&self.body.format) && !self.body.has_key && !plan.by_author {
            let floor: Vec<_> = self
                .body
                .blocks
                .iter()
                .take(self.weighed.floor)
                .map(|block| block.bare())
                .collect();
            let digest = Digest::of_parts(floor.iter().map(|text| text.as_bytes())).to_string();
            let hex = digest.trim_start_matches("sha256:").get(..16);
            plan.prompt_cache_key = hex.map(|hex| format!("{KEY}{hex}"));
        }
        match self.rules.kind {
            CacheKind::Implicit => plan.notes.push(
                "the provider holds prefixes as it sees fit and promises nothing; a cache resource of its \
                 own (cachedContents) can hold up to the end of the zone `memory`, for a fee while it lasts"
                    .to_owned(),
            ),
            CacheKind::Prefix => plan.notes.push(
                "the engine holds every prefix in whole blocks of tokens, as long as memory lasts; its chat \
                 template may render the system's text before the tools"
                    .to_owned(),
            ),
            _ => {}
        }
        if plan.by_author {
            plan.notes.push("the body has marks, which stay as they are".to_owned());
            let most = self.most();
            let marks = plan.breakpoints.len();
            if self.mark == Some(CacheMark::CacheControl) && marks > most {
                plan.notes.push(format!("it has {marks} marks; the provider takes {most}"));
            }
        }
        let unsure = plan.breakpoints.iter().any(|point| point.held == Held::Unsure);
        if unsure && self.rules.min_tokens.is_none() {
            plan.notes
                .push("the shortest prefix that is held is not known of this model".to_owned());
        } else if unsure {
            plan.notes.push(
                "counts are upper bounds: a prefix near the minimum may be too short".to_owned(),
            );
        }
        let is_in_body = plan.breakpoints.iter().any(|point| point.why == Why::End);
        if self.mark.is_some()
            && !plan.by_author
            && !is_in_body
            && plan.left_out.is_empty()
            && !self.options.automatic
        {
            plan.notes.push("no block before the turn can carry a mark".to_owned());
        }
    }
}

/// The prefix of keys that are made here.
pub(super) const KEY: &str = "tenure-";

/// Returns the cost of the input uncached, at first, and again.
fn costs(world: &World, plan: &CachePlan) -> Option<Costs> {
    let total = plan.total_tokens;
    let tier = world.model().price_of(total)?;
    let input = tier.input?;
    let points = plan.breakpoints.iter();
    let held = points.clone().map(|point| point.held_tokens).max().unwrap_or(0);
    let rest = input.of(total.saturating_sub(held));
    let written = points
        .filter_map(|point| point.write)
        .fold(Cost::default(), |sum, cost| sum + cost);
    Some(Costs {
        uncached: input.of(total),
        first: written + rest,
        again: tier.cache_read.unwrap_or(input).of(held) + rest,
    })
}
