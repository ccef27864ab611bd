//! Rules among the candidates. Not a stage: the plan asks which of them stand for any task, the ranking and the fit what they are.

use crate::base::num::Score;
use crate::input::candidates::Normalized;
use crate::input::policy::Policy;
use crate::object::section::Section;

/// Returns whether memory and guidance stand in a section that nothing is in without a choice.
pub(crate) fn is_memory(section: Section) -> bool {
    matches!(section, Section::Karma | Section::Memory | Section::Recall)
}

/// Returns whether a row is a rule whose author gives it so high a priority that neither the task nor a gate turns it away.
pub(crate) fn is_critical(set: &Normalized, row: u32, policy: &Policy) -> bool {
    let critical = policy.document().guidance.critical;
    critical != Score::ZERO && set.row(row).priority >= critical && set.is_rule(row)
}
