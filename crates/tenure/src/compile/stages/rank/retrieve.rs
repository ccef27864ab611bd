//! The rows that the request's retrieval plan fetches, and those that it leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::base::digest::Digest;
use crate::base::num::Score;
use crate::base::time::Instant;
use crate::belief::entity::Identities;
use crate::compile::stages::Live;
use crate::compile::trace::Reason;
use crate::input::candidates::Normalized;
use crate::input::candidates::Unfetched;
use crate::input::facts::Facts;
use crate::input::policy::{Policy, Scorer};
use crate::input::request::Request;
use crate::input::retrieval::{
    Brought, RetrievalPlan, RetrievalReport, RetrievalStrategy, Subquery, SubqueryReport,
};
use crate::object::section::Section;
use crate::rank::ranker::Question;

use super::affinity::{self, cosines};

/// The number of nearest rows at which a neighbourhood begins that names nothing.
const SEEDS: usize = 3;

/// The result of a plan.
pub(super) struct Retrieved {
    pub(super) report: RetrievalReport,
    /// The reason why each row stays away that the plan might have brought.
    pub(super) left: BTreeMap<u32, Reason>,
    /// The nearness of each row that was brought to its nearest subquery.
    pub(super) nearness: BTreeMap<u32, f64>,
    /// The beginnings of neighbourhoods that are not among the candidates.
    pub(super) unfetched: Vec<Unfetched>,
    /// The digest of the vectors that were used.
    pub(super) used: Digest,
}

/// One row that a subquery finds.
struct Found {
    row: u32,
    /// The score that is shown.
    score: Option<Score>,
    hops: Option<u32>,
    /// The nearness, where the nearest has 1.
    near: f64,
}

/// Asks the subqueries about these rows, which are in and which nothing obliges to stand.
pub(super) fn retrieve(
    plan: &RetrievalPlan,
    request: &Request,
    live: &Live<'_>,
    eligible: &[u32],
    policy: &Policy,
    facts: &Facts,
) -> Retrieved {
    let query = request.query_text();
    let search = Search {
        now: request.as_of.valid,
        set: live.set,
        rows: &live.rows,
        identities: &live.meanings.of,
        policy,
        facts,
    };
    let mut marks: Vec<u8> = Vec::new();
    let mut reports = Vec::new();
    let mut unfetched = Vec::new();
    let mut nearness: BTreeMap<u32, f64> = BTreeMap::new();
    // By which subquery each row was missed by the least, and its rank there.
    let mut missed: BTreeMap<u32, (u32, usize, u32)> = BTreeMap::new();
    for (at, subquery) in plan.subqueries.iter().enumerate() {
        let among: Vec<u32> =
            eligible.iter().copied().filter(|row| search.suits(subquery, *row)).collect();
        let text = subquery.text.as_deref().unwrap_or(&query);
        let (mut found, fell_back) = match subquery.strategy {
            RetrievalStrategy::Memory => (search.latest(&among), None),
            RetrievalStrategy::Neighbourhood => {
                search.neighbourhood(subquery, text, &among, &mut marks, &mut unfetched)
            }
            strategy => search.near(strategy, text, &among, &mut marks),
        };
        found.retain(|one| subquery.threshold.is_none_or(|least| one.score >= Some(least)));
        for (rank, one) in (1u32..).zip(&found) {
            if rank <= subquery.limit {
                let nearest = nearness.entry(one.row).or_insert(one.near);
                *nearest = nearest.max(one.near);
            } else {
                let over = (rank - subquery.limit, at, rank);
                let least = missed.entry(one.row).or_insert(over);
                *least = over.min(*least);
            }
        }
        let matched = found.len() as u32;
        found.truncate(subquery.limit as usize);
        let brought = found.iter().map(|one| Brought {
            candidate: one.row,
            name: live.set.name(one.row),
            score: one.score,
            hops: one.hops,
        });
        reports.push(SubqueryReport {
            name: subquery.name.as_str().into(),
            strategy: subquery.strategy,
            fell_back,
            among: among.len() as u32,
            matched,
            brought: brought.collect(),
        });
    }
    let mut left = BTreeMap::new();
    for row in eligible {
        if !nearness.contains_key(row) {
            let nearest = missed.get(row).map(|(_, at, rank)| (*at, *rank));
            let reason = Reason::NotRetrieved {
                subquery: nearest.map(|(at, _)| Arc::clone(&reports[at].name)),
                rank: nearest.map_or(0, |(_, rank)| rank),
            };
            left.insert(*row, reason);
        }
    }
    Retrieved {
        report: RetrievalReport {
            subqueries: reports,
        },
        left,
        nearness,
        unfetched,
        used: Digest::of(&marks),
    }
}

/// The rows that all subqueries search.
struct Search<'s> {
    set: &'s Normalized,
    /// The instant of the request.
    now: Option<Instant>,
    /// Everything that is in.
    rows: &'s [u32],
    identities: &'s Identities,
    policy: &'s Policy,
    facts: &'s Facts,
}

impl Search<'_> {
    fn suits(&self, subquery: &Subquery, row: u32) -> bool {
        subquery.section.is_none_or(|section| self.set.row(row).section == section)
            && subquery.memory_kind.is_none_or(|wanted| {
                self.set.row(row).rare
                    && self.set.object(row).revision().rare().memory_kind == Some(wanted)
            })
    }

    /// The latest first; what has no date last.
    fn latest(&self, among: &[u32]) -> Vec<Found> {
        let mut rows = among.to_vec();
        rows.sort_by(|a, b| {
            let (one, other) = (self.set.row(*a), self.set.row(*b));
            let newer =
                other.valid_from.cmp(&one.valid_from).then(other.priority.cmp(&one.priority));
            newer.then_with(|| self.set.tie_break(*a, *b))
        });
        rows.into_iter()
            .map(|row| Found {
                row,
                score: None,
                hops: None,
                near: 0.0,
            })
            .collect()
    }

    /// By terms, vectors, or both; the strategy that stood in where vectors are missing.
    fn near(
        &self,
        strategy: RetrievalStrategy,
        text: &str,
        among: &[u32],
        marks: &mut Vec<u8>,
    ) -> (Vec<Found>, Option<RetrievalStrategy>) {
        let wants = strategy != RetrievalStrategy::Lexical;
        let supplied = self.policy.document().scorer == Scorer::Hybrid;
        let cosines = if wants && supplied {
            cosines(self.set, among, self.policy, self.facts, text, marks)
        } else {
            None
        };
        let fell_back = (wants && cosines.is_none()).then_some(RetrievalStrategy::Lexical);
        let scores = match (&cosines, strategy) {
            (Some(cosines), RetrievalStrategy::Dense) => {
                let unlike = |score: &f64| *score < cosines.unrelated;
                cosines
                    .of
                    .iter()
                    .map(|score| if unlike(score) { 0.0 } else { *score })
                    .collect()
            }
            _ => {
                let (set, policy) = (self.set, self.policy);
                let asked = match strategy {
                    RetrievalStrategy::Lexical => Question::of(text),
                    _ => affinity::question(policy, self.facts, text),
                };
                affinity::among(set, among, policy, &asked, self.now, cosines.as_ref())
            }
        };
        let greatest = among.iter().map(|row| scores[*row as usize]).fold(0.0, f64::max);
        let mut found: Vec<Found> = among
            .iter()
            .filter_map(|&row| {
                let score = scores[row as usize];
                (score > 0.0).then(|| Found {
                    row,
                    score: Some(Score::clamped(score)),
                    hops: None,
                    near: score / greatest,
                })
            })
            .collect();
        found.sort_by(|a, b| {
            let nearer = b.near.total_cmp(&a.near);
            nearer.then_with(|| self.set.tie_break(a.row, b.row))
        });
        (found, fell_back)
    }

    /// Returns the rows linked to the beginning, the nearest links first, then those nearest to the text.
    fn neighbourhood(
        &self,
        subquery: &Subquery,
        text: &str,
        among: &[u32],
        marks: &mut Vec<u8>,
        unfetched: &mut Vec<Unfetched>,
    ) -> (Vec<Found>, Option<RetrievalStrategy>) {
        let (nearest, _) = self.near(RetrievalStrategy::Hybrid, text, among, marks);
        let graph = Graph::over(self.set, self.rows, self.identities);
        let mut reached: BTreeMap<u32, u32> = BTreeMap::new();
        for name in &subquery.from {
            match graph.named.get(name.as_str()) {
                Some(rows) => reached.extend(rows.iter().map(|row| (*row, 0))),
                None => unfetched.push(Unfetched::new(
                    name,
                    format!(
                        "subquery `{}` begins there, and it is not among the candidates",
                        subquery.name
                    ),
                )),
            }
        }
        if subquery.from.is_empty() {
            let seeds = nearest.iter().take(SEEDS);
            reached.extend(seeds.map(|found| (found.row, 0)));
        }
        graph.spread(self.set, &mut reached, subquery.hops);
        let place: BTreeMap<u32, usize> =
            nearest.iter().enumerate().map(|(at, found)| (found.row, at)).collect();
        let mut found: Vec<Found> = among
            .iter()
            .filter_map(|row| {
                let hops = *reached.get(row)?;
                let near = 1.0 / f64::from(hops + 1);
                Some(Found {
                    row: *row,
                    score: Some(Score::clamped(near)),
                    hops: Some(hops),
                    near,
                })
            })
            .collect();
        let key = |found: &Found| {
            let place = place.get(&found.row).copied().unwrap_or(usize::MAX);
            (found.hops, place)
        };
        found.sort_by(|a, b| {
            let order = key(a).cmp(&key(b));
            order.then_with(|| self.set.tie_break(a.row, b.row))
        });
        (found, None)
    }
}

/// The links between rows: by `keep_with`, in both directions, and by the entities they speak of.
struct Graph<'s> {
    named: BTreeMap<&'s str, Vec<u32>>,
    /// The rows that are kept with a name.
    holders: BTreeMap<&'s str, Vec<u32>>,
    /// The rows that speak of an entity, by its canonical id.
    speakers: BTreeMap<&'s str, Vec<u32>>,
    identities: &'s Identities,
}

impl<'s> Graph<'s> {
    fn over(set: &'s Normalized, rows: &[u32], identities: &'s Identities) -> Graph<'s> {
        let mut graph = Graph {
            named: BTreeMap::new(),
            holders: BTreeMap::new(),
            speakers: BTreeMap::new(),
            identities,
        };
        for &row in rows {
            if set.row(row).section == Section::History {
                continue;
            }
            let object = set.object(row);
            graph.named.entry(object.name()).or_default().push(row);
            if !set.row(row).rare {
                continue;
            }
            for name in object.revision().keep_with() {
                graph.holders.entry(name).or_default().push(row);
            }
            for entity in &object.revision().rare().entities {
                let entity = identities.canonical(entity);
                graph.speakers.entry(entity).or_default().push(row);
            }
        }
        graph
    }

    /// Follows up to `hops` links from what is reached already.
    fn spread(&self, set: &Normalized, reached: &mut BTreeMap<u32, u32>, hops: u32) {
        let mut spent: BTreeSet<&str> = BTreeSet::new();
        // The names that were followed: to those who bear them, and to those who are kept with them.
        let (mut borne, mut kept): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
        let mut edge: Vec<u32> = reached.keys().copied().collect();
        for hop in 1..=hops {
            let mut next = Vec::new();
            for row in edge {
                let object = set.object(row);
                let revision = object.revision();
                let mut linked: Vec<u32> = Vec::new();
                for name in revision.keep_with() {
                    if borne.insert(name) {
                        linked.extend(self.named.get(name.as_str()).into_iter().flatten());
                    }
                }
                if kept.insert(object.name()) {
                    linked.extend(self.holders.get(object.name()).into_iter().flatten());
                }
                for entity in &revision.rare().entities {
                    // Everybody who speaks of it is reached the first time.
                    if let Some((name, speakers)) =
                        self.speakers.get_key_value(self.identities.canonical(entity))
                        && spent.insert(name)
                    {
                        linked.extend(speakers);
                    }
                }
                for row in linked {
                    reached.entry(row).or_insert_with(|| {
                        next.push(row);
                        hop
                    });
                }
            }
            edge = next;
        }
    }
}
