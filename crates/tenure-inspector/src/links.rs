//! Links of a page. In a file there is nowhere to go but within it; a server has a URL for every view.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The root of the inspector's pages.
pub const ROOT: &str = "/inspect";

/// The characters that are encoded in a part of a path or a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The place that a page stands in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Links {
    /// A file by itself.
    File,
    /// A server, at [`ROOT`].
    Server,
}

/// A view that has a URL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum View<'v> {
    /// The list of conversations and compiles.
    Overview,
    /// A record of a compile, or of a request of the gateway.
    Record(&'v str),
    /// A part of it: `items`, `payload`, `item`.
    Part(&'v str, &'v str),
    /// A session.
    Session(&'v str),
    /// An object, by its id or name.
    Object(&'v str),
    /// The registries.
    Registries,
    /// A registry.
    Registry(&'v str),
    /// The decisions that wait.
    Waiting,
    /// The figures over time.
    Trends,
    /// The sign-in.
    SignIn,
    /// The end of being signed in.
    SignOut,
}

impl Links {
    /// The URL of a view; none in a file.
    pub fn to(self, view: View<'_>) -> Option<String> {
        if self == Links::File {
            return None;
        }
        let of = |parts: &[&str]| {
            let encoded = parts.iter().map(|part| encode(part));
            std::iter::once(ROOT.to_owned()).chain(encoded).collect::<Vec<_>>().join("/")
        };
        Some(match view {
            View::Overview => ROOT.to_owned(),
            View::Record(id) => of(&["records", id]),
            View::Part(id, part) => of(&["records", id, part]),
            View::Session(id) => of(&["sessions", id]),
            View::Object(id) => of(&["objects", id]),
            View::Registries => of(&["registries"]),
            View::Registry(label) => of(&["registries", label]),
            View::Waiting => of(&["waiting"]),
            View::Trends => of(&["trends"]),
            View::SignIn => of(&["sign-in"]),
            View::SignOut => of(&["sign-out"]),
        })
    }
}

/// A text as a part of a path, or a value of a query.
pub fn encode(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leaves_its_place_in_a_url() {
        let to = |name| Links::Server.to(View::Registry(name)).unwrap();
        assert_eq!(to("notes"), "/inspect/registries/notes");
        assert_eq!(
            to("../keys?a=b#c"),
            "/inspect/registries/..%2Fkeys%3Fa%3Db%23c"
        );
        assert_eq!(
            to("javascript:alert(1)"),
            "/inspect/registries/javascript%3Aalert%281%29"
        );
        assert_eq!(to("ä\u{202E}"), "/inspect/registries/%C3%A4%E2%80%AE");
        assert_eq!(Links::File.to(View::Waiting), None);
    }
}
