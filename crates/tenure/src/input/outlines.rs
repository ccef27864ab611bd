//! The contents that are source code, and the questions and facts about their parts.

use crate::base::digest::Digest;
use crate::condense::ContentType;
use crate::condense::code::{Elidable, ending};
use crate::input::candidates::Normalized;
use crate::input::facts::{Asked, Fact, Facts, Need};
use crate::input::policy::Policy;
use crate::object::{Authority, ContextObject, ObjectType, Protection, without_lines};

/// The knowledge about the parts of a content.
pub(crate) enum Outline<'f> {
    /// It is no source code that could be condensed.
    None,
    /// It is, and no one has said where its parts are.
    Missing,
    /// Its parts, and a key that no other parts of it have.
    Known { parts: &'f [Elidable], key: u128 },
}

/// The questions about the parts of what may have to be condensed.
pub(crate) fn needs<'s>(
    set: &'s Normalized,
    rows: &'s [u32],
    policy: &'s Policy,
) -> impl Iterator<Item = Asked> + 's {
    rows.iter().filter_map(|row| {
        Some(Asked {
            need: need(set, *row, policy)?,
            candidate: *row as usize,
        })
    })
}

/// Returns the facts about the parts of a row's content.
pub(crate) fn known<'f>(
    set: &Normalized,
    row: u32,
    policy: &Policy,
    facts: &'f Facts,
) -> Outline<'f> {
    let Some(need) = need(set, row, policy) else {
        return Outline::None;
    };
    match facts.get(&need) {
        Some(fact @ Fact::Outline { parts }) => Outline::Known {
            parts,
            key: Digest::of(&serde_json::to_vec(fact).unwrap_or_default()).key(),
        },
        _ => Outline::Missing,
    }
}

/// The question about a row's content, when it is data, source code, and may have more tokens than
/// the policy leaves alone: it never has more than bytes.
fn need(set: &Normalized, row: u32, policy: &Policy) -> Option<Need> {
    let above = policy.document().condense_above;
    let facts = set.row(row);
    let may = above > 0
        && facts.bytes > above
        && facts.text
        && facts.protection != Protection::Verbatim
        && (facts.authority == Authority::Data || facts.object_type == ObjectType::ToolResult);
    if !may {
        return None;
    }
    let object = set.object(row);
    if is_part(object) {
        return None;
    }
    let ending = ending_of(object);
    let is_code = ending.is_some() || set.content_type(row) == ContentType::Code;
    is_code.then(|| Need::Outline {
        content: object.revision().content_digest(),
        ending: ending.unwrap_or_default().to_owned(),
    })
}

/// Returns whether an object is some lines of a file, which no parser can read alone, and which are short.
fn is_part(object: &ContextObject) -> bool {
    object.revision().provenance().is_some_and(|found| {
        let source = found.source_id.as_deref().filter(|_| found.package.is_none());
        source.is_some_and(|source| without_lines(source) != source)
    })
}

/// Returns the file ending in the object's name, or in that of its source.
fn ending_of(object: &ContextObject) -> Option<&'static str> {
    let source = object
        .revision()
        .provenance()
        .and_then(|provenance| provenance.source_id.as_deref());
    ending(object.name()).or_else(|| ending(source?))
}
