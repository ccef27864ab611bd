//! The profile of a text: what the measures of a payload's quality need of it, found once.

use std::hash::{DefaultHasher, Hasher};

use crate::input::stance::directives;
use crate::object::section::{Section, section_of};
use crate::object::{Authority, ContextObject, Modality, ObjectType};

/// Lines shorter than this say nothing about repetition.
const LINE: usize = 20;

/// The profile of a text.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    /// The longer lines, each once: a digest, and its bytes.
    lines: Box<[(u64, u32)]>,
    /// The bytes of the text.
    bytes: u32,
    /// The bytes of it that demand or forbid.
    directive: u32,
}

/// The parts of a text that are constraints.
#[derive(Clone, Copy, PartialEq)]
enum Constraints {
    /// All of it.
    Whole,
    /// The sentences that demand or forbid.
    Sentences,
    /// None of it.
    Nothing,
}

impl Profile {
    /// The profile of an object, or of a form of it.
    pub(crate) fn of(object: &ContextObject, text: &str) -> Profile {
        let directive = match constraints_of(object) {
            Constraints::Whole => text.len(),
            Constraints::Sentences => directives(text).map(|(sentence, _)| sentence.len()).sum(),
            Constraints::Nothing => 0,
        };
        let mut lines: Vec<(u64, u32)> = text
            .lines()
            .map(str::trim)
            .filter(|line| line.len() >= LINE)
            .map(|line| {
                let mut hasher = DefaultHasher::new();
                hasher.write(line.as_bytes());
                (hasher.finish(), line.len() as u32)
            })
            .collect();
        lines.sort_unstable();
        lines.dedup();
        Profile {
            lines: lines.into(),
            bytes: text.len() as u32,
            directive: directive.min(text.len()) as u32,
        }
    }

    /// The longer lines, each once: a digest, and its bytes.
    pub(crate) fn lines(&self) -> &[(u64, u32)] {
        &self.lines
    }

    /// The bytes of the text.
    pub(crate) fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Returns how many of the text's tokens are constraints.
    pub(crate) fn constraint_tokens(&self, tokens: u32) -> u64 {
        let part = u64::from(tokens) * u64::from(self.directive);
        part.checked_div(u64::from(self.bytes)).unwrap_or(0)
    }
}

/// Returns which parts of an object are constraints: all of one that says it is one; of other guidance, what demands or
/// forbids.
fn constraints_of(object: &ContextObject) -> Constraints {
    let revision = object.revision();
    let guides = matches!(
        section_of(revision),
        Section::Identity | Section::Policy | Section::Memory | Section::Karma
    );
    let text = matches!(revision.modality(), Modality::Text | Modality::Structured);
    let states = revision.constraint().is_some()
        || revision.object_type() == ObjectType::ActionableConstraint;
    match revision.authority_level() {
        Authority::Data => Constraints::Nothing,
        _ if states => Constraints::Whole,
        _ if guides && text => Constraints::Sentences,
        _ => Constraints::Nothing,
    }
}
