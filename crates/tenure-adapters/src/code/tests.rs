//! One golden case for each language, and what must hold of any text.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tenure::condense::code::{Filler, condense, outline as elide};
use tenure::condense::{ContentType, Goal, Method, detect};

use super::*;

fn outline(text: &str, ending: &str) -> Vec<Elidable> {
    super::outline(text, ending).unwrap()
}

const FILLING: usize = 8;

/// A text with `$` for what makes a body long enough to go.
fn filled(text: &str, statement: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let indent = &line[..line.len() - line.trim_start().len()];
        match line.trim() {
            "$" => out.extend((0..FILLING).map(|_| format!("{indent}{statement}\n"))),
            _ => out.extend([line, "\n"]),
        }
    }
    out
}

#[track_caller]
fn check(ending: &str, text: &str, expected: &str) {
    let parts = outline(text, ending);
    assert_eq!(elide(text, &parts), expected);
    holds(text, &parts);
    // With other line ends the same goes.
    let text = text.replace('\n', "\r\n");
    let parts = outline(&text, ending);
    assert_eq!(elide(&text, &parts), expected.replace('\n', "\r\n"));
    holds(&text, &parts);
}

/// Checks that what stays and what goes are the text; what is within what goes as well.
#[track_caller]
fn holds(text: &str, parts: &[Elidable]) {
    let outlined = elide(text, parts);
    let mut rest = outlined.as_str();
    let mut at = 0;
    let mut again = String::new();
    for part in parts {
        let (start, end) = (part.start as usize, part.end as usize);
        if start < at {
            assert!(end <= at);
            continue;
        }
        let stays = &text[at..start];
        rest = rest.strip_prefix(stays).unwrap();
        let filler = rest.find("left out").unwrap() + "left out".len();
        assert!(rest[..filler].contains(&part.lines.to_string()));
        rest = &rest[filler..];
        if part.filler == Filler::Inside
            && !text[end..].starts_with(['\r', '\n'])
            && end < text.len()
        {
            rest = rest.strip_prefix(' ').unwrap();
        }
        again.push_str(stays);
        again.push_str(&text[start..end]);
        at = end;
    }
    assert_eq!(rest, &text[at..]);
    again.push_str(rest);
    assert_eq!(again, text);
    assert_eq!(parts, outline_again(text, parts));
}

/// Checks that one text gives the same parts each time, and that they survive being written.
fn outline_again(text: &str, parts: &[Elidable]) -> Vec<Elidable> {
    let json = serde_json::to_string(parts).unwrap();
    let read: Vec<Elidable> = serde_json::from_str(&json).unwrap();
    assert_eq!(elide(text, &read), elide(text, parts));
    read
}

#[test]
fn rust() {
    let text = "\
//! A module.
//!
//! It does things, and of the things that it does there is much to say.

use std::fmt;

/// Reads a thing.
///
/// # Errors
///
/// When there is none, which is so more often than one would think.
#[inline]
pub fn lies<'a>(größe: &'a str) -> Result<&'a str, Error>
where
    Self: Sized,
{
    $
}

pub(crate) const SIZES: [u32; 9] = [
    $
];

pub trait Thing {
    const ID: u32;
    fn name(&self) -> String;
    fn size(&self) -> usize {
        $
    }
}

impl Thing for Box {
    fn name(&self) -> String { String::new() }

    fn 数(&self) {
        fn inner() {
            $
        }
    }
}

macro_rules! twice {
    ($a:expr) => {
        $
    };
}

mod tests {
    #[test]
    fn works() {
        $
    }
}
";
    let expected = "\
//! A module. … 1 line left out

use std::fmt;

/// Reads a thing. … 2 lines left out
#[inline]
pub fn lies<'a>(größe: &'a str) -> Result<&'a str, Error>
where
    Self: Sized,
{ … 8 lines left out }

pub(crate) const SIZES: [u32; 9] = [ … 8 lines left out ];

pub trait Thing {
    const ID: u32;
    fn name(&self) -> String;
    fn size(&self) -> usize { … 8 lines left out }
}

impl Thing for Box {
    fn name(&self) -> String { String::new() }

    fn 数(&self) { … 10 lines left out }
}

macro_rules! twice {
    ($a:expr) => { … 8 lines left out };
}

mod tests {
    #[test]
    fn works() { … 8 lines left out }
}
";
    let text = filled(text, "f(1, 2);")
        .replace("    f(1, 2);\n];", "    1, 2, 34,\n];")
        .replace("[u32; 9] = [\n    f(1, 2);", "[u32; 9] = [\n    1, 2, 34,")
        .replace(
            "    1, 2, 34,\n    f(1, 2);\n",
            &"    1, 2, 34,\n".repeat(2),
        );
    let array = text.find("[u32; 9]").unwrap();
    let end = array + text[array..].find("];").unwrap();
    let text = format!(
        "{}{}{}",
        &text[..array],
        text[array..end].replace("f(1, 2);", "1, 2, 34,"),
        &text[end..]
    );
    check("rs", &text, expected);
    let names: Vec<String> = outline(&text, "rs").into_iter().map(|part| part.name).collect();
    assert_eq!(
        names,
        [
            "",
            "",
            "lies",
            "SIZES",
            "size",
            "数",
            "inner",
            "($a:expr)",
            "works"
        ]
    );
}

#[test]
fn python() {
    let text = "\
\"\"\"A module.

It does things, and of the things it does there is much to say.
\"\"\"
import os
from typing import (
    Any,
)

LIMIT = 10
TABLE = {
    $
}


@decorated(with_=1)
class Thing(Base):
    '''One line.'''

    kind: str = \"a\"

    # A comment that goes on,
    # and on, and on, and on, and on, and on, and on.
    async def read(self, größe: int = 3) -> Any:
        \"\"\"Reads a thing.

        Args:
            größe: how much of it there is to be read by whoever reads.
        \"\"\"
\t\t# tabs
        $

    def short(self): return 1


def last():
    $
";
    let expected = "\
\"\"\"A module. … 1 line left out \"\"\"
import os
from typing import (
    Any,
)

LIMIT = 10
TABLE = { … 8 lines left out }


@decorated(with_=1)
class Thing(Base):
    '''One line.'''

    kind: str = \"a\"

    # A comment that goes on, … 1 line left out
    async def read(self, größe: int = 3) -> Any:
        \"\"\"Reads a thing. … 2 lines left out \"\"\"
        ...  # 8 lines left out

    def short(self): return 1


def last():
    ...  # 8 lines left out
";
    let text = filled(text, "x = (1, 2, 3)").replace("\t\t# tabs\n", "");
    let table = text.find("TABLE = {").unwrap();
    let end = table + text[table..].find('}').unwrap();
    let text = format!(
        "{}{}{}",
        &text[..table],
        text[table..end].replace("x = (1, 2, 3)", "'x': (1, 2, 3),"),
        &text[end..]
    );
    check("py", &text, expected);
}

#[test]
fn typescript_and_javascript() {
    let text = "\
import { a } from './a';

/**
 * Reads a thing.
 * @param size how much of it there is to be read by whoever reads it
 */
export async function read<T extends object>(size: number): Promise<T> {
  $
}

export interface Options {
  größe: number;
}

export default class Reader<T> extends Base<T> {
  private readonly cache = new Map<string, T>();

  constructor(private options: Options) {
    $
  }

  handle = (event: Event): void => {
    $
  };
}

const short = (x: number) => x + 1;

describe('reader', () => {
  it('reads', async () => {
    $
  });
});
";
    let expected = "\
import { a } from './a';

/**
 * Reads a thing. … 1 line left out */
export async function read<T extends object>(size: number): Promise<T> { … 8 lines left out }

export interface Options {
  größe: number;
}

export default class Reader<T> extends Base<T> {
  private readonly cache = new Map<string, T>();

  constructor(private options: Options) { … 8 lines left out }

  handle = (event: Event): void => { … 8 lines left out };
}

const short = (x: number) => x + 1;

describe('reader', () => { … 10 lines left out });
";
    let text = filled(text, "step(1, 2);");
    for ending in ["ts", "tsx", ""] {
        check(ending, &text, expected);
    }
    let names: Vec<String> = outline(&text, "ts").into_iter().map(|part| part.name).collect();
    assert_eq!(
        names,
        [
            "",
            "read",
            "constructor",
            "handle",
            "describe('reader', () =>",
            "it('reads', async () =>"
        ]
    );
    let text = filled(
        "const App = () => {\n  $\n  return <a href={b}>c</a>;\n};\nmodule.exports = { f: function () {\n  $\n} };\n",
        "step(1, 2);",
    );
    check(
        "js",
        &text,
        "const App = () => { … 9 lines left out };\nmodule.exports = { f: function () { … 8 lines left out } };\n",
    );
}

#[test]
fn go() {
    let text = "\
// Package read reads.
package read

import (
\t\"fmt\"
)

type Reader struct {
\tsize int // how much
}

var table = map[string]int{
\t$
}

// Read reads a thing,
// and of the things that it reads there is much to say.
func (r *Reader) Read(größe int) (n int, err error) {
\t$
}

func main() {
\tgo func() {
\t\t$
\t}()
}
";
    let expected = "\
// Package read reads.
package read

import (
\t\"fmt\"
)

type Reader struct {
\tsize int // how much
}

var table = map[string]int{ … 8 lines left out }

// Read reads a thing, … 1 line left out
func (r *Reader) Read(größe int) (n int, err error) { … 8 lines left out }

func main() { … 10 lines left out }
";
    let text = filled(text, "\"a\": 1 + 2,");
    let body = text.find("func (r").unwrap();
    let text = format!(
        "{}{}",
        &text[..body],
        text[body..].replace("\"a\": 1 + 2,", "fmt.Println(1)")
    );
    check("go", &text, expected);
}

#[test]
fn what_the_parser_cannot_read_stays() {
    let good = filled("fn good() {\n    $\n}\n", "step(1, 2);");
    // The brace that is missing would make one function of all that follow.
    let text = format!("fn torn() {{\n    if a {{\n        b();\n}}\n\n{good}\n{good}");
    let parts = outline(&text, "rs");
    let outlined = elide(&text, &parts);
    assert!(
        outlined.starts_with("fn torn() {\n    if a {\n        b();\n}\n"),
        "{outlined}"
    );
    assert_eq!(outlined.matches("fn good() {").count(), 2, "{outlined}");
    holds(&text, &parts);
    for text in [
        "",
        "\u{FEFF}",
        "{",
        "}}}}}}",
        "fn",
        "def f(:\n",
        "\0\0\0",
        "/*",
        "'''",
    ] {
        for ending in ["rs", "py", "ts", "tsx", "js", "go", "", "xyz"] {
            let parts = outline(text, ending);
            assert_eq!(elide(text, &parts), text);
        }
    }
}

#[test]
fn odd_texts_take_no_time_and_no_stack() {
    let started = std::time::Instant::now();
    let texts = [
        "x".repeat(10 << 20),
        "f(".repeat(10_000),
        "{".repeat(50_000),
        "fn f() { fn g() {".repeat(2_000),
        format!("{}{}", "fn f() {\n".repeat(5_000), "}\n".repeat(5_000)),
        format!("def f():\n{}", "  if a:\n".repeat(5_000)),
        "a ".repeat(50_000),
        "\"".repeat(20_001),
        "// comment\n".repeat(10_000),
        "<".repeat(20_000),
        "( ".repeat(20_000),
    ];
    for text in &texts {
        for ending in ["rs", "py", "ts", "tsx", "go", ""] {
            let parts = outline(text, ending);
            let count = |text: &str| text.len() / 4;
            let goal = Goal {
                tokens: 500,
                task: "find f",
                count: &count,
                lossless_only: false,
            };
            let done = condense(text, &parts, &goal);
            assert!(done.to <= 500 || done.method == Method::Unchanged);
        }
    }
    assert!(started.elapsed().as_secs() < 120, "{:?}", started.elapsed());
}

#[test]
fn a_language_is_told_from_its_lines() {
    for (text, language) in [
        (
            "use std::io;\npub fn main() {\n    let mut a = 1;\n}\n",
            Language::Rust,
        ),
        ("import os\ndef f():\n    pass\n", Language::Python),
        ("package main\nfunc main() {\n}\n", Language::Go),
        (
            "import { a } from 'b';\nexport const c = 1;\n",
            Language::Tsx,
        ),
    ] {
        assert_eq!(Language::of_text(text), Some(language), "{text}");
    }
    assert_eq!(Language::of_text("Only words.\n"), None);
    assert_eq!(
        detect("use std::io;\npub fn main() {\n    let mut a = 1;\n}\n"),
        ContentType::Code
    );
}

/// Pieces of sources, in any order: most of what they make is broken.
fn any_source() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("fn alpha(a: u32) -> u32 {\n".to_owned()),
        Just("def beta(a, b):\n".to_owned()),
        Just("class Gamma {\n".to_owned()),
        Just("  method(größe) {\r\n".to_owned()),
        Just("func (d *Delta) Run() error {\n".to_owned()),
        Just("    return compute(1, 2, 3, 4, 5)\n".to_owned()),
        Just("\tlet x = error();\n".to_owned()),
        Just("}\n".to_owned()),
        Just("/// A comment\n/// that goes on for rather longer than it would have to.\n".to_owned()),
        Just("/* A comment\n that goes on for rather longer than it would have to. */\n".to_owned()),
        Just("    \"\"\"Words.\n\n    And further words that say what the first did.\"\"\"\n".to_owned()),
        Just("const T = [\n 1,\n 2,\n 3,\n 4,\n 5,\n 6,\n 7,\n 8,\n 9,\n 10,\n 11, 12, 13, 14,\n];\n".to_owned()),
        "[ -~é漢\t\r\n]{0,30}",
    ];
    prop::collection::vec((piece, 1usize..4), 0..30)
        .prop_map(|pieces| pieces.iter().map(|(piece, times)| piece.repeat(*times)).collect())
}

proptest! {
    #[test]
    fn any_source_keeps_the_promises(
        text in any_source(),
        ending in prop::sample::select(&["rs", "py", "ts", "tsx", "js", "go", ""][..]),
        tokens in 0u32..400,
    ) {
        let parts = outline(&text, ending);
        holds(&text, &parts);
        let count = |text: &str| text.len().div_ceil(3) + text.matches("é").count();
        let goal = Goal { tokens, task: "fix alpha and the error in Delta", count: &count, lossless_only: false };
        let done = condense(&text, &parts, &goal);
        prop_assert_eq!(done.to as usize, count(&done.text));
        match done.method {
            Method::Unchanged => prop_assert_eq!(&done.text, &text),
            _ => prop_assert!(done.to <= tokens && done.to < done.from && !done.lossless),
        }
        prop_assert_eq!(&done, &condense(&text, &parts, &goal));
    }
}
