//! The mandatory part of what is collected: the instructions that an agent would have read, and the list of its skills.

use super::Mandatory;
use crate::walk::{Source, Standing};

/// The most tokens of instructions that are mandatory.
const MOST: u64 = 20_000;
/// The divisor of the window that gives the share which they may take.
const OF_WINDOW: u64 = 5;

impl Mandatory<'_> {
    /// Marks what is mandatory: it is not removable.
    pub(super) fn mark(&self, sources: &mut [Source]) {
        if sources.iter().all(|source| source.standing == Standing::Document) {
            return;
        }
        let mut left = match (self.window)() {
            0 => MOST,
            window => MOST.min(window / OF_WINDOW),
        };
        let distance = |source: &Source| match source.standing {
            Standing::Instructions { distance } => Some(distance),
            Standing::Skill | Standing::Document => None,
        };
        let mut nearest: Vec<(usize, usize)> = sources
            .iter()
            .enumerate()
            .filter_map(|(at, source)| Some((distance(source)?, at)))
            .collect();
        nearest.sort_unstable();
        for (_, at) in nearest {
            for sourced in sources[at].documents.iter_mut().flatten() {
                if !self.takes(&sourced.document.content, &mut left) {
                    return;
                }
                sourced.document.removable = Some(false);
            }
        }
        let skills = sources.iter_mut().filter(|source| source.standing == Standing::Skill);
        for source in skills {
            // A skill without a description has no entry.
            let mut documents = source.documents.iter_mut().flatten();
            let entry = documents.find(|sourced| sourced.document.memory_kind.is_none());
            if let Some(entry) = entry {
                if !self.takes(&entry.document.content, &mut left) {
                    return;
                }
                entry.document.removable = Some(false);
            }
        }
    }

    fn takes(&self, text: &str, left: &mut u64) -> bool {
        let tokens = (self.count)(text) as u64;
        let fits = tokens <= *left;
        *left = left.saturating_sub(tokens);
        fits
    }
}
