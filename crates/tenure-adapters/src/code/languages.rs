//! The languages whose parsers are built in, and how a text shows which one it is in.

/// A programming language. TSX reads JavaScript, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Language {
    /// Go.
    Go,
    /// JavaScript, with JSX.
    JavaScript,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
}

/// So much of a text is looked at.
const SAMPLE: usize = 16 * 1024;

/// Words that lines of a language start with, each worth so much.
#[rustfmt::skip]
const SIGNS: [(Language, &[(&str, u32)]); 4] = [
    (Language::Rust, &[
        ("fn ", 3), ("pub fn ", 5), ("pub(crate) ", 5), ("impl ", 4), ("impl<", 4), ("use ", 2), ("let ", 1),
        ("let mut ", 4), ("mod ", 3), ("pub struct ", 5), ("pub enum ", 5), ("#[", 3), ("//! ", 3), ("match ", 2),
    ]),
    (Language::Python, &[
        ("def ", 4), ("async def ", 5), ("from ", 2), ("import ", 1), ("elif ", 4), ("@", 1), ("class ", 1),
        ("if __name__", 5), ("\"\"\"", 2), ("# ", 1), ("except ", 3), ("self.", 2),
    ]),
    (Language::Go, &[
        ("package ", 3), ("func ", 5), ("type ", 1), ("import (", 4), ("defer ", 4), ("if err != nil", 5),
        ("go func", 5), ("var ", 1),
    ]),
    (Language::Tsx, &[
        ("export ", 4), ("const ", 2), ("let ", 1), ("function ", 4), ("import {", 4), ("import * as", 4),
        ("async function ", 5), ("interface ", 2), ("var ", 1), ("module.exports", 5), ("});", 3), ("'use strict'", 5),
        ("describe(", 4), ("type ", 1), ("class ", 1), ("constructor(", 4),
    ]),
];

impl Language {
    /// The language of files whose names end so.
    pub fn of_ending(ending: &str) -> Option<Language> {
        Some(match ending {
            "go" => Language::Go,
            "js" | "jsx" | "mjs" | "cjs" => Language::JavaScript,
            "py" | "pyi" => Language::Python,
            "rs" => Language::Rust,
            "ts" | "mts" | "cts" => Language::TypeScript,
            "tsx" => Language::Tsx,
            _ => return None,
        })
    }

    /// The language that a text seems to be in. Only its beginning is read.
    pub fn of_text(text: &str) -> Option<Language> {
        let sample = &text[..text.floor_char_boundary(SAMPLE)];
        let worth = |signs: &[(&str, u32)]| -> u32 {
            let of = |line: &str| {
                let found = signs.iter().filter(|(sign, _)| line.starts_with(sign));
                found.map(|(_, worth)| *worth).max().unwrap_or(0)
            };
            sample.lines().map(|line| of(line.trim_start())).sum()
        };
        let (found, worth) = SIGNS
            .iter()
            .map(|(language, signs)| (*language, worth(signs)))
            .reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        (worth > 0).then_some(found)
    }
}
