//! The operations and their types, as both languages have them: what the schemas say, without JSON Schema's many ways to say it.

use serde_json::Value;

/// The type of a value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Type {
    Any,
    Null,
    Bool,
    Whole,
    Number,
    Text,
    /// This value alone: a text, a number, true or false.
    Word(Value),
    List(Box<Type>),
    /// A list with a type for each place.
    Places(Vec<Type>),
    /// An object with any keys.
    Map(Box<Type>),
    /// One of these.
    Choice(Vec<Type>),
    /// A definition.
    Named(String),
}

impl Type {
    /// Returns one type for several, each of which a value may be of.
    pub(crate) fn one_of(types: impl IntoIterator<Item = Type>) -> Type {
        let mut found: Vec<Type> = Vec::new();
        for kind in types {
            let inner = match kind {
                Type::Choice(inner) => inner,
                kind => vec![kind],
            };
            for kind in inner {
                if !found.contains(&kind) {
                    found.push(kind);
                }
            }
        }
        // Both languages say last that there may be nothing.
        found.sort_by_key(|kind| *kind == Type::Null);
        match found.as_slice() {
            _ if found.contains(&Type::Any) => Type::Any,
            [kind] => kind.clone(),
            _ => Type::Choice(found),
        }
    }

    /// Returns the type without nothing.
    pub(crate) fn some(&self) -> Type {
        match self {
            Type::Choice(all) => {
                Type::one_of(all.iter().filter(|kind| **kind != Type::Null).cloned())
            }
            kind => kind.clone(),
        }
    }
}

/// A field of an object or of a form.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) says: String,
    pub(crate) is_required: bool,
    pub(crate) kind: Type,
}

/// A type with a name.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) says: String,
    pub(crate) shape: Shape,
}

/// The shape of a definition.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Shape {
    Object { fields: Vec<Field>, is_open: bool },
    Other(Type),
}

/// An operation.
#[derive(Debug)]
pub(crate) struct Method {
    pub(crate) id: &'static str,
    pub(crate) summary: String,
    pub(crate) says: String,
    /// Those that are required first, otherwise in the order of the form.
    pub(crate) fields: Vec<Field>,
    pub(crate) answer: Type,
    pub(crate) writes: bool,
}

/// All operations, with the types that their fields and answers name.
#[derive(Debug)]
pub(crate) struct Operations {
    pub(crate) methods: Vec<Method>,
    /// By name.
    pub(crate) definitions: Vec<Definition>,
}

/// Returns a name in words that begin with a capital.
pub(crate) fn pascal(name: &str) -> String {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map_or(String::new(), |first| {
                first.to_ascii_uppercase().to_string() + letters.as_str()
            })
        })
        .collect()
}

/// Returns a text of doc comments in lines of at most so many characters: paragraphs with an empty line between them, and
/// lists. Code in it is left out.
pub(crate) fn lines(says: &str, width: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut paragraph = String::new();
    let mut is_code = false;
    for line in without_links(says).lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if is_code {
        } else if line.is_empty() {
            found.extend(wrapped(&std::mem::take(&mut paragraph), width));
            if found.last().is_some_and(|last| !last.is_empty()) {
                found.push(String::new());
            }
        } else {
            if line.starts_with("- ") {
                found.extend(wrapped(&std::mem::take(&mut paragraph), width));
            } else if !paragraph.is_empty() {
                paragraph.push(' ');
            }
            paragraph.push_str(line);
        }
    }
    found.extend(wrapped(&std::mem::take(&mut paragraph), width));
    while found.last().is_some_and(String::is_empty) {
        found.pop();
    }
    found
}

/// Returns a paragraph in lines, with a full stop at its end; further lines of an item are indented.
fn wrapped(paragraph: &str, width: usize) -> Vec<String> {
    if paragraph.is_empty() {
        return Vec::new();
    }
    let is_ended = paragraph.ends_with(['.', ':', '!', '?', '…']);
    let whole = format!("{paragraph}{}", if is_ended { "" } else { "." });
    let indent = if paragraph.starts_with("- ") {
        "  "
    } else {
        ""
    };
    let mut found = vec![String::new()];
    for word in whole.split_whitespace() {
        let line = found.last_mut().unwrap();
        if line.trim().is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            *line += " ";
            *line += word;
        } else {
            found.push(format!("{indent}{word}"));
        }
    }
    found
}

/// Returns a text without the targets of its links.
fn without_links(says: &str) -> String {
    let mut found = String::new();
    let mut rest = says;
    while let Some((before, after)) = rest.split_once("[`") {
        let Some((name, behind)) = after.split_once("`]") else {
            break;
        };
        found += &format!("{before}`{name}`");
        rest = match behind.strip_prefix('(').and_then(|link| link.split_once(')')) {
            Some((_, behind)) => behind,
            None => behind,
        };
    }
    found + rest
}
