//! The summaries that enter a request: as few as the digits of how many there
//! are.

use super::{Checkpoint, Summarizing};

/// The newest checkpoint of every run of turns, oldest first. Whenever `fan_in` of one level stand at its
/// end, one of the next takes their place, so of each level fewer than `fan_in` stand:
/// O(log N) for N turns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frontier(Vec<(u64, Checkpoint)>);

impl Frontier {
    /// These checkpoints, each under its number.
    pub fn new(checkpoints: Vec<(u64, Checkpoint)>) -> Frontier {
        Frontier(checkpoints)
    }

    /// The checkpoints, oldest first.
    pub fn checkpoints(&self) -> &[(u64, Checkpoint)] {
        &self.0
    }

    /// Adds a checkpoint of the turns that follow. What is made is given to `keep`, which gives it its
    /// number.
    pub fn add(
        &mut self,
        checkpoint: Checkpoint,
        how: &Summarizing<'_>,
        keep: &mut dyn FnMut(&Checkpoint) -> u64,
    ) {
        let number = keep(&checkpoint);
        self.0.push((number, checkpoint));
        let fan_in = how.policy.fan_in as usize;
        while let Some(start) = self.0.len().checked_sub(fan_in) {
            let run = &self.0[start..];
            let level = run[0].1.level;
            if run.iter().any(|(_, found)| found.level != level) {
                break;
            }
            let Some(merged) = Checkpoint::of_checkpoints(run, how) else {
                break;
            };
            let number = keep(&merged);
            self.0.truncate(start);
            self.0.push((number, merged));
        }
    }

    /// Marks what a later correction speaks of: each checkpoint that says it is made anew.
    pub fn correct(
        &mut self,
        correction: &super::Said<'_>,
        keep: &mut dyn FnMut(&Checkpoint) -> u64,
    ) {
        for (number, checkpoint) in &mut self.0 {
            if let Some(mut corrected) = checkpoint.corrected(correction) {
                corrected.replaces = Some(*number);
                *number = keep(&corrected);
                *checkpoint = corrected;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condense::turns::Speaker;
    use crate::session::{Said, SessionPolicy, Shown};

    #[test]
    fn the_frontier_grows_with_the_logarithm() {
        let policy = SessionPolicy::default();
        let count = |text: &str| text.len() / 4;
        let how = Summarizing {
            policy: &policy,
            task: "x",
            count: &count,
            at: None,
            shown: &Shown::NOTHING,
        };
        let mut frontier = Frontier::default();
        let mut made = 0;
        let mut longest = 0;
        for block in 0..1_250u64 {
            let text = format!("Block {block} found {} errors in the file.", block * 7);
            let said = Said {
                turn: block * 8,
                speaker: Speaker::Tool,
                text: &text,
                pinned: false,
                call: None,
            };
            let checkpoint = Checkpoint::of_turns(&[said], 4_000, &how).unwrap();
            frontier.add(checkpoint, &how, &mut |_| {
                made += 1;
                made
            });
            longest = longest.max(frontier.checkpoints().len());
            let levels = 1 + (block + 1).ilog(4) as usize;
            assert!(frontier.checkpoints().len() <= 3 * levels, "{block}");
        }
        // 1,250 in base 4 is 103202: as many stand as its digits sum to.
        assert_eq!(frontier.checkpoints().len(), 1 + 3 + 2 + 2);
        assert!((13..=18).contains(&longest), "{longest}");
        let spans = frontier.checkpoints();
        assert_eq!(
            (spans[0].1.first, spans.last().unwrap().1.last),
            (0, 1_249 * 8)
        );
        let turns: u64 = spans.iter().map(|(_, found)| found.turns).sum();
        assert_eq!(turns, 1_250);
    }

    #[test]
    fn a_correction_makes_its_checkpoint_anew_and_no_other() {
        let policy = SessionPolicy::default();
        let count = |text: &str| text.len() / 4;
        let how = Summarizing {
            policy: &policy,
            task: "x",
            count: &count,
            at: None,
            shown: &Shown::NOTHING,
        };
        let mut next = 10;
        let mut keep = |_: &Checkpoint| {
            next += 1;
            next
        };
        let mut frontier = Frontier::default();
        for (turn, text) in [
            (1, "We use port 8080 for the listener."),
            (2, "It must be green."),
        ] {
            let said = Said {
                turn,
                speaker: Speaker::User,
                text,
                pinned: false,
                call: None,
            };
            let checkpoint = Checkpoint::of_turns(&[said], 20, &how).unwrap();
            frontier.add(checkpoint, &how, &mut keep);
        }
        let correction = Said {
            turn: 9,
            speaker: Speaker::User,
            text: "No, the listener uses port 8443.",
            pinned: false,
            call: None,
        };
        frontier.correct(&correction, &mut keep);
        let numbers: Vec<u64> = frontier.checkpoints().iter().map(|(at, _)| *at).collect();
        assert_eq!(numbers, [13, 12]);
        assert_eq!(frontier.checkpoints()[0].1.replaces, Some(11));
    }
}
