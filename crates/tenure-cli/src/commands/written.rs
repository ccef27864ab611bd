//! Writes as they are printed.

use tenure_store::{FlaggedText, WriteNote, Written};

use super::{print, print_json};
use crate::args::Format;
use crate::failure::{Failure, cell};

/// Prints the result of a write, for people or for programs.
pub(crate) fn print_written(written: &Written, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print_json(written);
    }
    print(&text_of_written(written))
}

/// A write, for people.
pub(crate) fn text_of_written(written: &Written) -> String {
    let mut text = String::new();
    for object in &written.objects {
        let outcome = serde_json::to_value(object.outcome)
            .unwrap_or_default()
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let name = object.name.as_deref().unwrap_or("");
        text.push_str(&format!(
            "{outcome:<10}  {}  {}\n",
            object.object_id,
            cell(name)
        ));
        if let Some(note) = note_of(object.note.as_ref()) {
            text.push_str(&format!("  {note}\n"));
        }
    }
    text.push_str(&version_of(written));
    text
}

/// The version after a write, for people, and that it changed nothing where it did not.
pub(crate) fn version_of(written: &Written) -> String {
    let same = if written.nothing_changed {
        "nothing changed: it was so already\n"
    } else {
        ""
    };
    format!("{same}version {} at {}\n", written.version, written.at)
}

/// A note on what was written, for people.
pub(crate) fn note_of(note: Option<&WriteNote>) -> Option<String> {
    match note? {
        WriteNote::ClaimNotParsed { why } => Some(format!("claim_not_parsed: {}", cell(why))),
        WriteNote::ClaimAboutNobody => Some(
            "claim_about_nobody: it contradicts no other until `canonical_entity_ids` say what it is about"
                .to_owned(),
        ),
        WriteNote::EntityPending => {
            Some("entity_pending: `tenure review list` shows which it may be".to_owned())
        }
        WriteNote::MentionsCut => Some(
            "mentions_cut: it names more than one write adds to the registry; parts of it as objects of their own name all"
                .to_owned(),
        ),
        WriteNote::AwaitsConfirmation { why, flagged } => Some(format!(
            "awaits_confirmation: {}{}; it is not compiled until `tenure review accept` makes it believed",
            cell(why),
            FlaggedText::in_brackets(flagged)
        )),
        WriteNote::AuthorityLowered {
            declared,
            authority,
        } => Some(format!(
            "authority_lowered: it has {authority} and not {declared}, as what it comes from has no more"
        )),
        WriteNote::Overruled { authority, by } => Some(format!(
            "overruled: it has authority {authority}, and falls to authority {by} by this decision"
        )),
        WriteNote::MadeFromItself => Some(
            "made_from_itself: what it was made from leads back to it; write it with `derived_from` of what came first"
                .to_owned(),
        ),
        WriteNote::Renewed => Some("renewed: it did not wait, and counts as confirmed now".to_owned()),
        WriteNote::MistakeRepeated { repeats } => Some(format!(
            "mistake_repeated: counted; the mistake that it corrects was repeated {repeats} times so far"
        )),
        WriteNote::NothingSpeaks => Some(
            "nothing_speaks: for it or against it; its confidence stays as it is stated".to_owned(),
        ),
        WriteNote::AtMost { confidence } => Some(format!(
            "at_most: it has {confidence}, as what it was made from is no surer"
        )),
        _ => None,
    }
}
