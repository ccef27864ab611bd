//! JSON as it was written: checked, stripped of white space, and cut into nodes.
//!
//! Nothing is decoded: a number or a string is a slice of the text, so `1e400`, `1.10`, lone
//! surrogates and duplicate keys survive. The nodes stand in the order of the text (a *tape*), each
//! with the place after its subtree, so that a tree a million levels deep is walked without
//! recursion.

/// A value or a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The byte of the tape's text at which it starts.
    pub(super) start: u32,
    /// The byte at which it ends.
    pub(super) end: u32,
    /// The node after its subtree.
    pub(super) next: u32,
}

/// One or more JSON values; several stand one a line (JSON Lines).
#[derive(Clone, Debug)]
pub(in crate::condense) struct Tape {
    /// The values without white space.
    pub(super) text: String,
    nodes: Vec<Node>,
    /// The end that could not be read, when the source breaks off.
    pub(super) torn: Option<Torn>,
}

/// The end of a source that breaks off inside a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Torn {
    /// The number of brackets that were added to close open ones.
    pub(super) closed: usize,
    /// The byte of the source at which the unread part starts.
    pub(super) rest: usize,
}

/// The extent of JSON in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::condense) enum Extent {
    /// All of it.
    Whole,
    /// It breaks off inside a value.
    Torn,
    /// It is something else.
    Not,
}

/// An open array or object.
struct Open {
    node: usize,
    /// The ends of tape, text and source when its last child was whole.
    whole: Option<(usize, usize, usize)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Expect {
    Value,
    ValueOrEnd,
    Key,
    KeyOrEnd,
    CommaOrEnd,
}

/// The reason why reading stopped.
enum Stop {
    /// The source ended.
    End,
    /// Here is no JSON.
    Wrong,
}

struct Reader<'s> {
    source: &'s str,
    at: usize,
    text: String,
    nodes: Vec<Node>,
    open: Vec<Open>,
    /// The ends after the last whole root.
    root: Option<(usize, usize, usize)>,
}

impl Tape {
    /// The values of `source`, or `None` when it is not JSON. A source that breaks off is read as
    /// far as the last whole element of its outermost array (or its last whole line).
    pub(super) fn read(source: &str) -> Option<Tape> {
        // Places are 32 bits wide.
        if source.len() > (u32::MAX / 2) as usize {
            return None;
        }
        let mut reader = Reader::new(source);
        let torn = match reader.values() {
            Ok(()) => None,
            Err(Stop::End) => Some(reader.mend()?),
            Err(Stop::Wrong) => return None,
        };
        (!reader.nodes.is_empty()).then_some(Tape {
            text: reader.text,
            nodes: reader.nodes,
            torn,
        })
    }

    /// Returns the extent of JSON in `source`.
    pub(in crate::condense) fn extent(source: &str) -> Extent {
        let mut reader = Reader::new(source);
        match reader.values() {
            Ok(()) if reader.nodes.is_empty() => Extent::Not,
            Ok(()) => Extent::Whole,
            Err(Stop::End) => Extent::Torn,
            Err(Stop::Wrong) => Extent::Not,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node(&self, at: usize) -> Node {
        self.nodes[at]
    }

    /// The bytes of the node at `at`.
    pub(super) fn slice(&self, at: usize) -> &str {
        let node = self.nodes[at];
        &self.text[node.start as usize..node.end as usize]
    }

    /// The first byte of the node at `at`, which tells its kind.
    pub(super) fn kind(&self, at: usize) -> u8 {
        self.text.as_bytes()[self.nodes[at].start as usize]
    }

    /// Returns whether the node at `at` is a key: a colon follows it.
    pub(super) fn is_key(&self, at: usize) -> bool {
        self.text.as_bytes().get(self.nodes[at].end as usize) == Some(&b':')
    }

    /// The children of an array, keys and values in turn of an object.
    pub(super) fn children(&self, at: usize) -> Siblings<'_> {
        Siblings {
            tape: self,
            at: at + 1,
            end: self.nodes[at].next as usize,
        }
    }

    /// The values on their lines.
    pub(super) fn roots(&self) -> Siblings<'_> {
        Siblings {
            tape: self,
            at: 0,
            end: self.nodes.len(),
        }
    }
}

/// Nodes with one parent.
#[derive(Clone)]
pub(super) struct Siblings<'t> {
    tape: &'t Tape,
    at: usize,
    end: usize,
}

impl Iterator for Siblings<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        (self.at < self.end).then(|| {
            let at = self.at;
            self.at = self.tape.nodes[at].next as usize;
            at
        })
    }
}

impl<'s> Reader<'s> {
    fn new(source: &'s str) -> Reader<'s> {
        Reader {
            source,
            at: 0,
            text: String::with_capacity(source.len()),
            nodes: Vec::with_capacity(source.len() / 16),
            open: Vec::new(),
            root: None,
        }
    }

    fn values(&mut self) -> Result<(), Stop> {
        let bytes = self.source.as_bytes();
        let mut expect = Expect::Value;
        loop {
            let line = self.at;
            while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
                self.at += 1;
            }
            let Some(&byte) = bytes.get(self.at) else {
                return if self.open.is_empty() {
                    Ok(())
                } else {
                    Err(Stop::End)
                };
            };
            if self.open.is_empty() && !self.nodes.is_empty() {
                // Another value needs a line of its own.
                if !self.source[line..self.at].contains('\n') {
                    return Err(Stop::Wrong);
                }
                self.text.push('\n');
            }
            match (expect, byte) {
                (Expect::CommaOrEnd, b',') => {
                    self.push(",");
                    let object = self.in_object();
                    expect = if object { Expect::Key } else { Expect::Value };
                }
                (Expect::CommaOrEnd | Expect::KeyOrEnd, b'}') if self.in_object() => {
                    self.close("}");
                    expect = self.after();
                }
                (Expect::CommaOrEnd | Expect::ValueOrEnd, b']') if !self.in_object() => {
                    self.close("]");
                    expect = self.after();
                }
                (Expect::Key | Expect::KeyOrEnd, b'"') => {
                    self.scalar()?;
                    while let Some(b' ' | b'\n' | b'\r' | b'\t') = bytes.get(self.at) {
                        self.at += 1;
                    }
                    match bytes.get(self.at) {
                        None => return Err(Stop::End),
                        Some(b':') => self.push(":"),
                        Some(_) => return Err(Stop::Wrong),
                    }
                    expect = Expect::Value;
                }
                (Expect::Value | Expect::ValueOrEnd, b'{' | b'[') => {
                    self.open.push(Open {
                        node: self.nodes.len(),
                        whole: None,
                    });
                    let start = self.text.len() as u32;
                    self.nodes.push(Node {
                        start,
                        end: start,
                        next: 0,
                    });
                    let object = byte == b'{';
                    self.push(if object { "{" } else { "[" });
                    expect = if object {
                        Expect::KeyOrEnd
                    } else {
                        Expect::ValueOrEnd
                    };
                }
                (Expect::Value | Expect::ValueOrEnd, _) => {
                    self.scalar()?;
                    expect = self.after();
                }
                _ => return Err(Stop::Wrong),
            }
        }
    }

    /// Returns the tokens that may follow a whole value.
    fn after(&mut self) -> Expect {
        let here = (self.nodes.len(), self.text.len(), self.at);
        match self.open.last_mut() {
            Some(open) => {
                open.whole = Some(here);
                Expect::CommaOrEnd
            }
            None => {
                self.root = Some(here);
                Expect::Value
            }
        }
    }

    fn in_object(&self) -> bool {
        self.open.last().is_some_and(|open| {
            let start = self.nodes[open.node].start as usize;
            self.text.as_bytes()[start] == b'{'
        })
    }

    /// Takes one byte of punctuation.
    fn push(&mut self, mark: &str) {
        self.text.push_str(mark);
        self.at += 1;
    }

    fn close(&mut self, mark: &str) {
        self.push(mark);
        if let Some(open) = self.open.pop() {
            let next = self.nodes.len() as u32;
            let node = &mut self.nodes[open.node];
            node.end = self.text.len() as u32;
            node.next = next;
        }
    }

    /// Takes a string, a number or a word.
    fn scalar(&mut self) -> Result<(), Stop> {
        let rest = &self.source.as_bytes()[self.at..];
        let length = match rest[0] {
            b'"' => string(rest)?,
            b't' => word(rest, b"true")?,
            b'f' => word(rest, b"false")?,
            b'n' => word(rest, b"null")?,
            _ => match number(rest) {
                // A number at the end of an open array may have been cut in two.
                Some(length) if length == rest.len() && !self.open.is_empty() => {
                    return Err(Stop::End);
                }
                Some(length) => length,
                None if rest.len() < 3 && rest.iter().all(|b| b"-.eE0123456789".contains(b)) => {
                    return Err(Stop::End);
                }
                None => return Err(Stop::Wrong),
            },
        };
        let start = self.text.len() as u32;
        self.text.push_str(&self.source[self.at..self.at + length]);
        self.at += length;
        self.nodes.push(Node {
            start,
            end: self.text.len() as u32,
            next: self.nodes.len() as u32 + 1,
        });
        Ok(())
    }

    /// Goes back to the last whole element of the outermost array, or of the outermost object when
    /// no array is open, or to the last whole line, and closes what is open.
    fn mend(&mut self) -> Option<Torn> {
        let array = |open: &Open| {
            let start = self.nodes[open.node].start as usize;
            self.text.as_bytes()[start] == b'['
        };
        let whole = |open: &Open| open.whole.is_some();
        let level = self
            .open
            .iter()
            .position(|open| whole(open) && array(open))
            .or_else(|| self.open.iter().position(whole));
        let (kept, whole) = match level {
            Some(level) => (level + 1, self.open[level].whole?),
            None => (0, self.root?),
        };
        let (nodes, text, rest) = whole;
        self.open.truncate(kept);
        self.nodes.truncate(nodes);
        self.text.truncate(text);
        while !self.open.is_empty() {
            let object = self.in_object();
            self.close(if object { "}" } else { "]" });
        }
        Some(Torn { closed: kept, rest })
    }
}

/// The length of the string that `rest` starts with.
fn string(rest: &[u8]) -> Result<usize, Stop> {
    let mut at = 1;
    loop {
        match rest.get(at) {
            None => return Err(Stop::End),
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => match rest.get(at + 1) {
                None => return Err(Stop::End),
                Some(b'u') => {
                    let digits = rest.get(at + 2..at + 6).ok_or(Stop::End)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return Err(Stop::Wrong);
                    }
                    at += 6;
                }
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
                Some(_) => return Err(Stop::Wrong),
            },
            Some(0..=0x1F) => return Err(Stop::Wrong),
            Some(_) => at += 1,
        }
    }
}

fn word(rest: &[u8], word: &[u8]) -> Result<usize, Stop> {
    if rest.starts_with(word) {
        Ok(word.len())
    } else if word.starts_with(rest) {
        Err(Stop::End)
    } else {
        Err(Stop::Wrong)
    }
}

/// The length of the number that `rest` starts with.
fn number(rest: &[u8]) -> Option<usize> {
    let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = usize::from(rest.first() == Some(&b'-'));
    let whole = digits(at);
    if whole == 0 || (whole > 1 && rest[at] == b'0') {
        return None;
    }
    at += whole;
    if rest.get(at) == Some(&b'.') {
        let part = digits(at + 1);
        if part == 0 {
            return None;
        }
        at += 1 + part;
    }
    if let Some(b'e' | b'E') = rest.get(at) {
        let sign = usize::from(matches!(rest.get(at + 1), Some(b'+' | b'-')));
        let power = digits(at + 1 + sign);
        if power == 0 {
            return None;
        }
        at += 1 + sign + power;
    }
    Some(at)
}

/// Returns whether `text` is a number as JSON writes it.
pub(super) fn is_number(text: &str) -> bool {
    number(text.as_bytes()) == Some(text.len())
}

/// The length of the value that `text` starts with, when it is a string, an array or an object.
/// Only brackets and quotes are matched: for text that was checked before.
pub(super) fn value_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut depth = 0usize;
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'"' => at += string(&bytes[at..]).ok()?,
            b'[' | b'{' => {
                depth += 1;
                at += 1;
            }
            b']' | b'}' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ if depth == 0 => return None,
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_goes_and_everything_else_stays_as_written() {
        let tape = Tape::read(" { \"a\" : [ 1e400 , -0.10, \"\\ud800 \\u00e9\" ],\n\"a\":null } ")
            .unwrap();
        assert_eq!(tape.text, r#"{"a":[1e400,-0.10,"\ud800 \u00e9"],"a":null}"#);
        let array = tape.children(0).nth(1).unwrap();
        let elements: Vec<&str> = tape.children(array).map(|at| tape.slice(at)).collect();
        assert_eq!(elements, ["1e400", "-0.10", r#""\ud800 \u00e9""#]);
        assert_eq!(tape.children(0).count(), 4);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in [
            "",
            "  ",
            "[1,]",
            "{\"a\"}",
            "[01]",
            "[1.]",
            "{a:1}",
            "'a'",
            "[1] [2]",
            "[\"\u{1}\"]",
            "[}",
            "nul1",
            "\"\\x\"",
            "{\"a\":1,}",
            "[+1]",
            "]",
        ] {
            assert!(Tape::read(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_source_that_breaks_off_is_read_to_its_last_whole_element() {
        for (source, text, closed, rest) in [
            (
                r#"{"n":2,"items":[{"a":1}, {"a":"#,
                r#"{"n":2,"items":[{"a":1}]}"#,
                2,
                r#", {"a":"#,
            ),
            (r#"[1,2,31"#, "[1,2]", 1, ",31"),
            (r#"{"a":[1],"b":{"c"#, r#"{"a":[1]}"#, 1, r#","b":{"c"#),
            ("{\"a\":1}\n{\"a\":", "{\"a\":1}", 0, "\n{\"a\":"),
            (r#"[[1,[2,"x"#, "[[1]]", 2, r#",[2,"x"#),
        ] {
            let tape = Tape::read(source).unwrap();
            assert_eq!(tape.text, text);
            let torn = tape.torn.unwrap();
            assert_eq!((torn.closed, &source[torn.rest..]), (closed, rest));
            assert_eq!(Tape::extent(source), Extent::Torn);
        }
        assert!(Tape::read(r#"{"a":"#).is_none());
    }

    #[test]
    fn a_million_levels_are_no_deeper_than_one() {
        let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
        let tape = Tape::read(&deep).unwrap();
        assert_eq!((tape.len(), tape.text.len()), (1_000_000, 2_000_000));
        assert!(Tape::read(&"[".repeat(1_000_000)).is_none());
    }
}
