//! Texts that the model reads in full: a summary need not repeat them.

use std::collections::BTreeSet;

use crate::base::digest::Digest;
use crate::condense::gutter;
use crate::condense::sentences::sentences;

/// The lines and sentences of texts that stand in full.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shown(BTreeSet<u128>);

impl Shown {
    /// Nothing stands.
    pub const NOTHING: Shown = Shown(BTreeSet::new());

    /// Returns the words of these texts. The numbers that a tool prints before lines play no part.
    ///
    /// ```
    /// use tenure::session::Shown;
    /// let shown = Shown::of(["  7: The port  is 8443.\n  8: It is open.\n  9: Done.\n"]);
    /// assert!(shown.says("The port is 8443.") && !shown.says("The port is 8080."));
    /// ```
    pub fn of<'t>(texts: impl IntoIterator<Item = &'t str>) -> Shown {
        let mut shown = Shown::default();
        for text in texts {
            let bare = gutter::strip(text);
            let text = bare.as_ref().map_or(text, |bare| &bare.text);
            for part in text.lines().chain(sentences(text)) {
                shown.0.insert(mark(part));
            }
        }
        shown
    }

    /// Returns whether this is a line or a sentence of them.
    pub fn says(&self, text: &str) -> bool {
        !self.0.is_empty() && self.0.contains(&mark(text))
    }
}

/// The words of a text, however they are spaced, as a number.
fn mark(text: &str) -> u128 {
    Digest::of_parts(text.split_whitespace().map(str::as_bytes)).key()
}
