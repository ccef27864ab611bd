//! The content of an answer, in the words of no provider.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The content of a message, in the words of no provider.
#[derive(Default)]
pub(crate) struct Answer<'m> {
    pub(crate) texts: Vec<&'m str>,
    /// The index of the first text of the last part.
    pub(crate) last: usize,
    /// The calls of functions, with their arguments where they are JSON.
    pub(crate) calls: Vec<(&'m str, Value)>,
    /// The names of all tools that it calls; empty where a call has none.
    pub(crate) called: Vec<&'m str>,
    /// The arguments that it passes to tools otherwise.
    passed: Vec<&'m Value>,
    /// The values of JSON texts that it passes.
    parsed: Vec<Value>,
    /// True if the client is to run anything.
    pub(crate) asks: bool,
    /// True if it refuses to answer.
    pub(crate) refuses: bool,
}

/// Fields of calls that hold what is passed to the tool.
const PASSED: [&str; 8] = [
    "arguments",
    "input",
    "action",
    "actions",
    "operation",
    "code",
    "queries",
    "revised_prompt",
];

impl<'m> Answer<'m> {
    /// Reads a list of messages, or of items, each by `read`.
    pub(crate) fn read(messages: &'m Value, read: fn(&'m Value, &mut Answer<'m>)) -> Answer<'m> {
        let mut answer = Answer::default();
        for item in messages.as_array().into_iter().flatten() {
            read(item, &mut answer);
        }
        answer
    }

    /// Adds the texts of a message's content.
    pub(crate) fn add_content(&mut self, content: &'m Value) {
        self.texts.extend(content.as_str());
        for part in content.as_array().into_iter().flatten() {
            match part["type"].as_str() {
                Some("text" | "output_text") => self.texts.extend(part["text"].as_str()),
                Some("refusal") => self.refuses = true,
                _ => {}
            }
        }
    }

    /// Adds the call of a function.
    pub(crate) fn add_call(&mut self, name: &'m Value, written: &'m Value) {
        let arguments = match written {
            // No arguments may be written as an empty text, or not at all.
            Value::Null => Value::Object(Map::new()),
            Value::String(text) if text.trim().is_empty() => Value::Object(Map::new()),
            Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| {
                // The client that runs it may read it in another way.
                self.passed.push(written);
                Value::Null
            }),
            arguments => arguments.clone(),
        };
        let name = name.as_str().unwrap_or_default();
        self.asks = true;
        self.called.push(name);
        self.calls.push((name, arguments));
    }

    /// Adds a call of another kind.
    pub(crate) fn add_other_call(&mut self, call: &'m Value) {
        self.called.push(call["name"].as_str().unwrap_or_default());
        self.passed.extend(PASSED.iter().filter_map(|name| call.get(name)));
        let arguments = call["arguments"].as_str();
        self.parsed.extend(arguments.and_then(|text| serde_json::from_str(text).ok()));
    }

    /// Returns whether the client is to do nothing more.
    pub(crate) fn is_final(&self) -> bool {
        !self.asks
    }

    /// Returns the text of the last part.
    pub(crate) fn last_text(&self) -> String {
        self.texts[self.last..].concat()
    }

    /// Returns all that it says and passes to tools, up to `most` bytes.
    pub(crate) fn excerpt(&self, most: usize) -> Excerpt<'_> {
        let mut excerpt = Excerpt {
            texts: Vec::new(),
            said: 0,
            left: most,
            is_whole: true,
        };
        for text in &self.texts {
            excerpt.add(text);
        }
        // Several pieces are one text to the reader.
        if excerpt.texts.len() > 1 {
            excerpt.texts.push(Cow::Owned(excerpt.texts.concat()));
        }
        excerpt.said = excerpt.texts.len();
        for value in self.passed.iter().copied().chain(&self.parsed) {
            excerpt.add_all(value);
        }
        for (_, arguments) in &self.calls {
            excerpt.add_all(arguments);
        }
        excerpt
    }
}

/// The texts of an answer, as far as they are worth looking at.
pub(crate) struct Excerpt<'v> {
    /// The texts that it says, then the arguments that it passes to tools.
    pub(crate) texts: Vec<Cow<'v, str>>,
    /// The number of texts that it says.
    pub(crate) said: usize,
    /// The bytes that may still be added.
    left: usize,
    /// True if nothing was cut off.
    pub(crate) is_whole: bool,
}

impl<'v> Excerpt<'v> {
    fn add(&mut self, text: &'v str) {
        let end = text.floor_char_boundary(self.left);
        self.is_whole &= end == text.len();
        self.left -= end;
        if end > 0 {
            self.texts.push(Cow::Borrowed(&text[..end]));
        }
    }

    /// Adds every text in a value, names of fields included.
    fn add_all(&mut self, value: &'v Value) {
        match value {
            Value::String(text) => self.add(text),
            Value::Array(items) => items.iter().for_each(|item| self.add_all(item)),
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.add(name);
                    self.add_all(value);
                }
            }
            _ => {}
        }
    }
}
