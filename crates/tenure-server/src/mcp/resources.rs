//! What clients read by address: conversations, records of compiles, packages. Each is shown as far as its caller may see
//! it in the API; what they may not see is not there.

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use tenure::Error;
use tenure::object::clip;

use super::{Bound, packages};
use crate::api::{records, sessions};
use crate::error::Refusal;

const SESSIONS: &str = "tenure://sessions/";
const RECORDS: &str = "tenure://records/";
const PACKAGES: &str = "tenure://packages/";
const JSON: &str = "application/json";
const MARKDOWN: &str = "text/markdown";
/// The most messages of a conversation at once.
const MESSAGES: usize = 100;

/// Something that an address names.
enum Named {
    /// A conversation, from behind this message on.
    Session {
        id: String,
        after: u64,
    },
    Record(String),
    Package(String),
}

impl Named {
    fn by(address: &str) -> Option<Named> {
        let text = |part: &str| {
            let text = percent_decode_str(part).decode_utf8().ok()?;
            (!text.is_empty()).then(|| text.into_owned())
        };
        if let Some(rest) = address.strip_prefix(SESSIONS) {
            let (id, after) = match rest.split_once("?after=") {
                None => (rest, 0),
                Some((id, after)) => (id, after.strip_prefix('t')?.parse().ok()?),
            };
            return Some(Named::Session {
                id: text(id)?,
                after,
            });
        }
        let record = address.strip_prefix(RECORDS).and_then(text);
        record
            .map(Named::Record)
            .or_else(|| address.strip_prefix(PACKAGES).and_then(text).map(Named::Package))
    }
}

fn address(of: &str, name: &str) -> String {
    format!("{of}{}", utf8_percent_encode(name, NON_ALPHANUMERIC))
}

/// Something that can be read, or a form of addresses.
pub(super) struct Entry {
    pub(super) address: String,
    pub(super) name: String,
    pub(super) description: &'static str,
    pub(super) mime: &'static str,
}

/// The text of a resource.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) mime: &'static str,
}

/// The resources of a caller that have a name already, in one order: the conversation that is bound, and the packages.
pub(super) fn list(bound: &Bound) -> Result<Vec<Entry>, Refusal> {
    let mut entries = Vec::new();
    if let Some(id) = &bound.principal.session
        && sessions::open(&bound.app, &bound.caller, id, None).is_ok()
    {
        entries.push(Entry {
            address: address(SESSIONS, id),
            name: id.clone(),
            description: "This conversation, its oldest messages first",
            mime: JSON,
        });
    }
    let mut names = packages::names(bound)?;
    names.sort_unstable();
    entries.extend(names.into_iter().map(|name| Entry {
        address: address(PACKAGES, &name),
        name,
        description: "A package: what its reader may see of it",
        mime: MARKDOWN,
    }));
    Ok(entries)
}

/// The forms of addresses that lead somewhere for a caller.
pub(super) fn templates(bound: &Bound) -> Vec<Entry> {
    let entry = |form: &str, name: &str, description, mime| Entry {
        address: form.to_owned(),
        name: name.to_owned(),
        description,
        mime,
    };
    let mut entries = vec![entry(
        "tenure://sessions/{session}{?after}",
        "session",
        "Messages of a conversation: `after` the id of one, such as t17",
        JSON,
    )];
    let description = "A record of what the caller asked: its request, and its trace with verdicts";
    let form = "tenure://records/{record}";
    entries.push(entry(form, "record", description, JSON));
    if bound.packages.is_some() {
        let description = "A package by name or id: what its reader may see of it";
        let form = "tenure://packages/{package}";
        entries.push(entry(form, "package", description, MARKDOWN));
    }
    entries
}

/// Reads a resource.
///
/// # Errors
///
/// [`ErrorKind::NotFound`](tenure::ErrorKind::NotFound) where there is none for this caller.
pub(super) fn read(bound: &Bound, address: &str) -> Result<Text, Refusal> {
    let unknown = || Error::not_found(format!("there is no resource `{}`", clip(address)));
    match Named::by(address).ok_or_else(unknown)? {
        Named::Session { id, after } => {
            let session = sessions::open(&bound.app, &bound.caller, &id, None)?;
            let page = sessions::page_of(&session, after, MESSAGES)?;
            Ok(Text {
                text: page.to_string(),
                mime: JSON,
            })
        }
        Named::Record(id) => {
            let record = records::read(&bound.app, &bound.caller, &id)?;
            Ok(Text {
                text: record.to_string(),
                mime: JSON,
            })
        }
        Named::Package(name) => {
            let activation = packages::read(bound, &name, "")?;
            Ok(Text {
                text: activation.content,
                mime: MARKDOWN,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leads_back_to_its_name() {
        for name in ["talk", "a/b?c=d#e", "<script>", "ä%2f", "..", "t 1"] {
            let is_same = |found: Option<Named>| match found {
                Some(Named::Session { id, after }) => id == name && after == 0,
                Some(Named::Record(id) | Named::Package(id)) => id == name,
                None => false,
            };
            for of in [SESSIONS, RECORDS, PACKAGES] {
                assert!(is_same(Named::by(&address(of, name))), "{of}{name}");
            }
        }
        let later = Named::by("tenure://sessions/talk?after=t17");
        assert!(matches!(later, Some(Named::Session { after: 17, .. })));
        for none in [
            "",
            "tenure://",
            "tenure://sessions/",
            "tenure://sessions/%ff",
            "tenure://sessions/talk?after=17",
            "file:///etc/passwd",
        ] {
            assert!(Named::by(none).is_none(), "{none}");
        }
    }
}
