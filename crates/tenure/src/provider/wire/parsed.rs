//! A message as it was parsed, before its objects have names.

use std::collections::BTreeSet;

use std::ops::Range;

use serde_json::value::RawValue;

use super::call_ids::IdRule;
use super::json::JsonPath;
use super::media::Media;
use super::packed::Packed;
use crate::base::error::Error;
use crate::object::{Role, ToolCall};

/// The parts of a message, before its objects have names.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    pub(crate) parts: Vec<Part>,
    /// The name of whoever says it, where the provider has one.
    pub(crate) said_by: Option<String>,
    pub(crate) signed: bool,
    /// The kinds of what is kept unread.
    pub(crate) opaque: Vec<String>,
    /// The JSON of what is kept unread: what the parts' texts do not cover.
    pub(crate) unread: String,
    /// The parts of it that are no text and are not in `unread`.
    pub(crate) packed: Packed,
    /// The number of lines that the texts join and that stand apart in the message.
    pub(crate) joints: u32,
    /// The rules that the message breaks by itself.
    pub(crate) faults: Vec<&'static str>,
    /// True if it carries marks of a cache, which are the request's and not the message's.
    pub(crate) marked: bool,
    /// Images and the like, with the lines that stand for them in the texts.
    pub(crate) media: Vec<Found>,
}

/// Media, and where their line stands.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) part: usize,
    pub(crate) line: Range<usize>,
    pub(crate) media: Media,
}

/// One object in the making.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Part {
    Turn {
        role: Role,
        text: String,
        /// An empty id is one that the provider did not give.
        calls: Vec<ToolCall>,
    },
    Result {
        /// The call that it answers; none where the provider goes by names and order.
        id: Option<String>,
        /// The tool, where the provider names it.
        name: Option<String>,
        text: String,
    },
}

impl Parsed {
    /// A text of the system.
    pub(crate) fn system(text: String) -> Parsed {
        Parsed {
            parts: vec![Part::Turn {
                role: Role::System,
                text,
                calls: Vec::new(),
            }],
            ..Parsed::default()
        }
    }

    /// Returns whether parts and their texts are all that it says.
    pub(crate) fn is_plain(&self) -> bool {
        self.unread.is_empty() && self.opaque.is_empty()
    }

    /// Returns whether the ids of its calls are none that the provider takes, and it can be written anew.
    pub(crate) fn must_be_renamed(&self, rule: IdRule) -> bool {
        let mut called = BTreeSet::new();
        let mut ids = self.parts.iter().flat_map(|part| match part {
            Part::Turn { calls, .. } => {
                calls.iter().map(|call| (call.id.as_str(), true)).collect::<Vec<_>>()
            }
            Part::Result { id, .. } => id.iter().map(|id| (id.as_str(), false)).collect(),
        });
        self.is_plain()
            && !ids.all(|(id, calls)| {
                let is_new = !calls || called.insert(id.to_owned());
                rule.takes(id) && (is_new || rule == IdRule::ANY)
            })
    }

    /// Keeps something unread.
    pub(crate) fn keep(&mut self, kind: impl Into<String>, json: &RawValue) {
        self.opaque.push(kind.into());
        if !self.unread.is_empty() {
            self.unread.push('\n');
        }
        match self.packed.readable(json.get()) {
            Some(text) => self.unread.push_str(&text),
            None => self.unread.push_str(json.get()),
        }
    }

    /// Keeps media unread. They cost what they are, however long their JSON is.
    pub(crate) fn keep_media(&mut self, kind: &str, media: Option<&Media>, json: &RawValue) {
        match media {
            Some(media) if media.is_packed() => {
                self.opaque.push(kind.to_owned());
                self.packed.add(media);
            }
            _ => self.keep(kind, json),
        }
    }

    pub(crate) fn fault(&mut self, rule: &'static str) {
        if !self.faults.contains(&rule) {
            self.faults.push(rule);
        }
    }
}

/// Messages in order, each with its bytes.
pub(crate) type Messages = Vec<(String, Parsed)>;

/// Reads messages one by one.
pub(crate) fn each(
    root: &JsonPath,
    messages: &[&RawValue],
    read: fn(&JsonPath, &RawValue) -> Result<Parsed, Error>,
) -> Result<Messages, Error> {
    messages
        .iter()
        .enumerate()
        .map(|(at, message)| Ok((message.get().to_owned(), read(&root.at(at), message)?)))
        .collect()
}

/// A text in the making: lines, some of which stand for media.
#[derive(Default)]
pub(crate) struct Lines {
    pub(crate) text: String,
    media: Vec<(Range<usize>, Media)>,
    count: u32,
}

impl Lines {
    pub(crate) fn add(&mut self, line: &str) {
        if self.count > 0 {
            self.text.push('\n');
        }
        self.count += 1;
        self.text.push_str(line);
    }

    pub(crate) fn add_media(&mut self, media: Media) {
        let line = media.line();
        self.add(&line);
        let end = self.text.len();
        self.media.push((end - line.len()..end, media));
    }

    /// The text, whose media are of the part that will come next.
    pub(crate) fn end(self, parsed: &mut Parsed) -> String {
        let part = parsed.parts.len();
        parsed.joints += self.count.saturating_sub(1);
        let found = self.media.into_iter().map(|(line, media)| Found { part, line, media });
        parsed.media.extend(found);
        self.text
    }
}
