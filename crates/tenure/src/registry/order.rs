//! The order of a registry's blocks: a persistent sequence with insertion, removal and lookup of a
//! place in both directions, none of which looks at more than a few kilobytes at 10⁵ blocks.

use std::sync::Arc;

use super::persistent::CowVec;

/// The most blocks of a run.
const RUN: usize = 1024;

/// Some neighbouring blocks.
#[derive(Clone, Debug)]
struct Run {
    id: u32,
    blocks: Arc<Vec<u32>>,
}

/// Blocks in order. A block knows its run, a run its blocks, and the list of runs is short.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    runs: Arc<Vec<Run>>,
    /// For each block that is in: the id of its run.
    run_of: CowVec<u32, 4096>,
    next_run: u32,
    len: usize,
}

impl Order {
    /// These blocks, a permutation of the numbers below their count.
    pub(super) fn of(blocks: &[u32]) -> Order {
        let mut run_of = vec![0; blocks.len()];
        let mut runs = Vec::new();
        for (id, blocks) in (0u32..).zip(blocks.chunks(RUN * 3 / 4)) {
            for block in blocks {
                run_of[*block as usize] = id;
            }
            runs.push(Run {
                id,
                blocks: Arc::new(blocks.to_vec()),
            });
        }
        Order {
            next_run: runs.len() as u32,
            runs: Arc::new(runs),
            run_of: CowVec::from_iter(run_of.into_iter()),
            len: blocks.len(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// All blocks, from the front.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.runs.iter().flat_map(|run| run.blocks.iter().copied())
    }

    /// Returns the position of a block, counted from 0. The block must be in.
    pub(super) fn position(&self, block: u32) -> usize {
        let (at, before) = self.run_at(block);
        let run = self.runs.get(at).map_or(&[][..], |run| &run.blocks);
        before + run.iter().position(|other| *other == block).unwrap_or(0)
    }

    /// The place of a block's run, and how many blocks stand before it.
    fn run_at(&self, block: u32) -> (usize, usize) {
        let id = self.run_of.get(block).copied();
        let mut before = 0;
        for (at, run) in self.runs.iter().enumerate() {
            if Some(run.id) == id {
                return (at, before);
            }
            before += run.blocks.len();
        }
        (self.runs.len(), before)
    }

    /// Puts blocks, as one, where the first of them then stands at `position`.
    pub(super) fn insert(&mut self, position: usize, blocks: &[u32]) {
        for block in blocks {
            while self.run_of.len() <= *block as usize {
                self.run_of.push(0);
            }
        }
        let runs = Arc::make_mut(&mut self.runs);
        let mut within = position;
        let mut at = 0;
        while at + 1 < runs.len() && within > runs[at].blocks.len() {
            within -= runs[at].blocks.len();
            at += 1;
        }
        if runs.is_empty() {
            runs.push(Run {
                id: self.next_run,
                blocks: Arc::default(),
            });
            self.next_run += 1;
        }
        let run = &mut runs[at];
        let list = Arc::make_mut(&mut run.blocks);
        let within = within.min(list.len());
        list.splice(within..within, blocks.iter().copied());
        for block in blocks {
            self.run_of.set(*block, run.id);
        }
        self.len += blocks.len();
        if self.runs[at].blocks.len() > RUN {
            self.split(at);
        }
    }

    /// Parts a run that is too long into runs of half the size.
    fn split(&mut self, at: usize) {
        let runs = Arc::make_mut(&mut self.runs);
        let rest = Arc::make_mut(&mut runs[at].blocks).split_off(RUN / 2);
        let mut fresh = Vec::new();
        for blocks in rest.chunks(RUN / 2) {
            for block in blocks {
                self.run_of.set(*block, self.next_run);
            }
            fresh.push(Run {
                id: self.next_run,
                blocks: Arc::new(blocks.to_vec()),
            });
            self.next_run += 1;
        }
        runs.splice(at + 1..at + 1, fresh);
    }

    /// Takes blocks out. They must be in.
    pub(super) fn remove(&mut self, blocks: &[u32]) {
        for block in blocks {
            let (at, _) = self.run_at(*block);
            let runs = Arc::make_mut(&mut self.runs);
            let Some(run) = runs.get_mut(at) else {
                continue;
            };
            let list = Arc::make_mut(&mut run.blocks);
            if let Some(place) = list.iter().position(|other| other == block) {
                list.remove(place);
                self.len -= 1;
            }
            if list.is_empty() {
                runs.remove(at);
            } else if list.len() < RUN / 8 {
                self.join(at);
            }
        }
    }

    /// Joins a short run with a neighbour where both fit well into one.
    fn join(&mut self, at: usize) {
        let len = |at: usize| self.runs.get(at).map(|run| run.blocks.len());
        let fits = |other: Option<usize>| other.is_some_and(|other| other < RUN / 2);
        let first = if fits(len(at + 1)) {
            at
        } else if at > 0 && fits(len(at - 1)) {
            at - 1
        } else {
            return;
        };
        let runs = Arc::make_mut(&mut self.runs);
        let gone = runs.remove(first + 1);
        let run = &mut runs[first];
        for block in gone.blocks.iter() {
            self.run_of.set(*block, run.id);
        }
        Arc::make_mut(&mut run.blocks).extend_from_slice(&gone.blocks);
    }

    /// Puts `blocks` on the places that they hold together, in the order given.
    pub(super) fn rearrange(&mut self, blocks: &[u32]) {
        let mut places: Vec<(usize, usize)> = blocks
            .iter()
            .map(|block| {
                let (at, _) = self.run_at(*block);
                let run = self.runs.get(at).map_or(&[][..], |run| &run.blocks);
                (at, run.iter().position(|other| other == block).unwrap_or(0))
            })
            .collect();
        places.sort_unstable();
        let runs = Arc::make_mut(&mut self.runs);
        for (block, (at, within)) in blocks.iter().zip(places) {
            if let Some(run) = runs.get_mut(at) {
                Arc::make_mut(&mut run.blocks)[within] = *block;
                self.run_of.set(*block, run.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Insert(usize, u32),
        Move(usize, usize, usize),
        Remove(usize),
        Rearrange(usize, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let at = 0usize..10_000;
        prop_oneof![
            (at.clone(), 1u32..700).prop_map(|(at, n)| Step::Insert(at, n)),
            (at.clone(), at.clone(), 1usize..9).prop_map(|(from, to, n)| Step::Move(from, to, n)),
            at.clone().prop_map(Step::Remove),
            (at.clone(), at).prop_map(|(a, b)| Step::Rearrange(a, b)),
        ]
    }

    fn check(order: &Order, model: &[u32]) {
        assert!(order.iter().eq(model.iter().copied()));
        assert_eq!(order.len(), model.len());
        for (at, block) in model.iter().enumerate().step_by(37) {
            assert_eq!(order.position(*block), at);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
        #[test]
        fn an_order_is_a_list(start in 0u32..4000, steps in proptest::collection::vec(step(), 0..60)) {
            let mut model: Vec<u32> = (0..start).rev().collect();
            let mut order = Order::of(&model);
            let mut next = start;
            for step in steps {
                let before = (order.clone(), model.clone());
                match step {
                    Step::Insert(at, n) => {
                        let blocks: Vec<u32> = (next..next + n).collect();
                        next += n;
                        let at = at % (model.len() + 1);
                        order.insert(at, &blocks);
                        model.splice(at..at, blocks);
                    }
                    Step::Move(from, to, n) if !model.is_empty() => {
                        let from = from % model.len();
                        let until = (from + n).min(model.len());
                        let moved: Vec<u32> = model.drain(from..until).collect();
                        order.remove(&moved);
                        let to = to % (model.len() + 1);
                        order.insert(to, &moved);
                        model.splice(to..to, moved);
                    }
                    Step::Remove(at) if !model.is_empty() => {
                        // A stretch, so that runs shrink and join.
                        let from = at % model.len();
                        let until = (from + 400).min(model.len());
                        let gone: Vec<u32> = model.drain(from..until).collect();
                        order.remove(&gone);
                    }
                    Step::Rearrange(a, b) if !model.is_empty() => {
                        let (a, b) = (a % model.len(), b % model.len());
                        if a != b {
                            order.rearrange(&[model[b], model[a]]);
                            let (first, second) = (a.min(b), a.max(b));
                            let pair = [model[b], model[a]];
                            model[first] = pair[0];
                            model[second] = pair[1];
                        }
                    }
                    _ => {}
                }
                check(&order, &model);
                check(&before.0, &before.1);
            }
        }
    }
}
