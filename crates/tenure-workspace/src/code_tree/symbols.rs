//! Names in source code that a task speaks of. A function that the task names is near to it, however many other words
//! the task has.

use std::collections::BTreeSet;

use tenure::request::Entity;

/// The most names of one task.
const MOST: usize = 64;
/// The shortest and the longest name, in bytes.
const LENGTH: std::ops::RangeInclusive<usize> = 3..=64;

/// The id of a name in the entities of a request, and of the objects that declare it.
pub(super) fn id_of(name: &str) -> String {
    format!("symbol:{name}")
}

/// Returns the names in a text that are no plain words: `read_header`, `readHeader`, `f2`, and whatever stands in
/// backticks or before `()`. As entities of a request they raise the parts of a large file of source code that declare
/// them ([`Collect::code`](crate::Collect::code)).
///
/// ```
/// let found = tenure_workspace::symbols_in("Why does parse_header fail in `read`? Ask Anna.");
/// let names: Vec<&str> = found.iter().map(|entity| entity.name.as_str()).collect();
/// assert_eq!(names, ["parse_header", "read"]);
/// ```
pub fn symbols_in(text: &str) -> Vec<Entity> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let mut rest = text;
    let mut before = None;
    while found.len() < MOST
        && let Some(start) = rest.find(is_part)
    {
        let opens = rest[..start].chars().next_back().or(before);
        let word = &rest[start..];
        let (word, behind) = word.split_at(word.find(|c| !is_part(c)).unwrap_or(word.len()));
        let is_marked = opens == Some('`') && behind.starts_with(['`', '(']);
        let is_symbol = is_marked || behind.starts_with("()") || is_composed(word);
        // Names of entities are compared without regard to capitals.
        if is_symbol && LENGTH.contains(&word.len()) && seen.insert(word.to_lowercase()) {
            found.push(Entity {
                id: id_of(word),
                name: word.to_owned(),
                aliases: Vec::new(),
            });
        }
        before = word.chars().next_back();
        rest = behind;
    }
    found
}

/// Returns whether a word is put together as names are: of letters with `_`, digits, or capitals behind small letters.
fn is_composed(word: &str) -> bool {
    let has_letters = word.contains(char::is_alphabetic);
    let trimmed = word.trim_matches('_');
    let humps = word
        .chars()
        .zip(word.chars().skip(1))
        .any(|(one, next)| one.is_lowercase() && next.is_uppercase());
    has_letters && (trimmed.contains('_') || humps || word.contains(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_code_are_told_from_words() {
        let names = |text: &str| -> Vec<String> {
            let found = symbols_in(text);
            found.into_iter().map(|entity| entity.name).collect()
        };
        assert_eq!(
            names(
                "In app.readHeader2, Reader::parse_it and sqrt() the file(s) of `open(path)` fail."
            ),
            ["readHeader2", "parse_it", "sqrt", "open"]
        );
        assert_eq!(
            names("Read 2 files by 12:30, please; ask NASA. __"),
            [""; 0]
        );
        assert_eq!(names("f0617 F0617 é_é `a` x2"), ["f0617", "é_é"]);
        assert_eq!(names(&"ab_".repeat(40)), [""; 0]);
        let many: String = (0..100).map(|at| format!("name_{at} ")).collect();
        assert_eq!(names(&many).len(), MOST);
    }
}
