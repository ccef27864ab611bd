//! Source code as its parts: where the bodies of functions, the rest of long comments and long
//! values begin and end. The answer to [`Need::Outline`](tenure::Need::Outline).
//!
//! A parser reads the text (tree-sitter); what it cannot make sense of stays as it is, so that no
//! declaration is lost in a body that only seems to enclose it.

#[cfg(feature = "code")]
mod declared;
#[cfg(feature = "code")]
mod grammars;
mod languages;
#[cfg(feature = "code")]
mod parts;

use tenure::Error;
use tenure::condense::code::Elidable;

#[cfg(feature = "code")]
pub use declared::{Declaration, Declares};
pub use languages::Language;

/// The parts of a source text that can go without changing what it declares, by where they start.
/// `ending` is that of the name of its file, where it is known; else the text must say what it is.
/// None of a text that no parser knows.
///
/// # Errors
///
/// [`ErrorKind::Usage`](tenure::ErrorKind::Usage) for a text of a known language, in a build without the feature `code`.
pub fn outline(text: &str, ending: &str) -> Result<Vec<Elidable>, Error> {
    match Language::of_ending(ending).or_else(|| Language::of_text(text)) {
        #[cfg(feature = "code")]
        Some(language) => Ok(parts::parts(text, language)),
        #[cfg(not(feature = "code"))]
        Some(_) => Err(Error::without_feature("outlines of source code", "code")),
        None => Ok(Vec::new()),
    }
}

/// The functions and classes that a text declares, by where they start, those around others first. None of a file whose
/// ending no parser knows, or of a text that its parser gives up.
///
/// ```
/// # #[cfg(feature = "code")] {
/// use tenure_adapters::code::{Declares, declarations};
/// let found = declarations("struct Pump;\nimpl Pump { fn start(&self) {} }\n", "rs");
/// let names: Vec<(Declares, &str)> = found.iter().map(|one| (one.declares, &*one.name)).collect();
/// assert_eq!(names, [(Declares::Class, "Pump"), (Declares::Class, "Pump"), (Declares::Function, "start")]);
/// # }
/// ```
#[cfg(feature = "code")]
pub fn declarations(text: &str, ending: &str) -> Vec<Declaration> {
    Language::of_ending(ending).map_or_else(Vec::new, |language| declared::declared(text, language))
}

#[cfg(all(test, feature = "code"))]
mod tests;
