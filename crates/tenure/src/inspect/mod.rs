//! Looking into a compile: two views, differences, and what would have let something in.

mod brief;
mod diff;
mod lint;
mod quality;
mod view;
mod why_not;

pub use diff::{Change, Diff, SectionDiff, diff};
pub use lint::{Flaw, LintFinding, LintReport, MAX_FINDINGS, lint};
pub use quality::{Quality, QualityMetric};
pub use why_not::{Remedy, WhyNot, remedy_in_words, why_not};
