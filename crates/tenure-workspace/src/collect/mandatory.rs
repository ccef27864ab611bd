//! The mandatory part of what is collected: the instructions that an agent would have read, and the list of its skills.

use tenure::error::Location;
use tenure::num::Score;

use super::{Mandatory, Warning, WarningKind};
use crate::walk::{Source, Standing};

/// The most tokens of instructions that are mandatory.
const MOST: u64 = 20_000;
/// The divisors of the window and of the budget that give the shares which they may take.
const OF_WINDOW: u64 = 5;
const OF_BUDGET: u64 = 2;
/// The priority of instructions beyond these, from which on the policies hold a rule for any task.
const BEYOND: f64 = 0.8;

impl Mandatory<'_> {
    /// Marks what is mandatory: it is not removable. Returns a warning for each file of which sections are left.
    pub(super) fn mark(&self, sources: &mut [Source]) -> Vec<Warning> {
        if sources.iter().all(|source| source.standing == Standing::Document) {
            return Vec::new();
        }
        let limit = match (self.window)() {
            0 => MOST,
            window => MOST.min(window / OF_WINDOW),
        };
        let wanted: u64 = sources
            .iter()
            .filter(|source| matches!(source.standing, Standing::Instructions { .. }))
            .flat_map(|source| source.documents.iter().flatten())
            .map(|sourced| (self.count)(&sourced.document.content) as u64)
            .sum();
        let most = match self.budget.map(u64::from) {
            // What would fit leaves room for what the task is about; what would not is an error to mend.
            Some(budget) if wanted.min(limit) <= budget => limit.min(budget / OF_BUDGET),
            _ => limit,
        };
        let mut left = most;
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
        let mut warnings = Vec::new();
        let mut is_full = false;
        for (_, at) in nearest {
            let source = &mut sources[at];
            let (mut of, mut beyond) = (0, 0);
            for sourced in source.documents.iter_mut().flatten() {
                of += 1;
                is_full = is_full || !self.takes(&sourced.document.content, &mut left);
                if is_full {
                    beyond += 1;
                    let own = sourced.document.priority;
                    sourced.document.priority = own.max(Score::new(BEYOND));
                } else {
                    sourced.document.removable = Some(false);
                }
            }
            if beyond > 0 {
                warnings.push(Warning {
                    kind: WarningKind::BeyondLimit,
                    name: source.origin.clone(),
                    what: format!("{beyond} of {of} sections are beyond the {most} tokens of instructions that are mandatory"),
                    at: Some(Location {
                        source: source.path.display().to_string(),
                        line: None,
                    }),
                });
            }
        }
        if is_full {
            return warnings;
        }
        let skills = sources.iter_mut().filter(|source| source.standing == Standing::Skill);
        for source in skills {
            // A skill without a description has no entry.
            let mut documents = source.documents.iter_mut().flatten();
            let entry = documents.find(|sourced| sourced.document.memory_kind.is_none());
            if let Some(entry) = entry {
                if !self.takes(&entry.document.content, &mut left) {
                    break;
                }
                entry.document.removable = Some(false);
            }
        }
        warnings
    }

    fn takes(&self, text: &str, left: &mut u64) -> bool {
        let tokens = (self.count)(text) as u64;
        let fits = tokens <= *left;
        *left = left.saturating_sub(tokens);
        fits
    }
}
