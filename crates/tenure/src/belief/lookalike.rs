//! Letters of other scripts that look like Latin ones.

use crate::base::text::is_invisible;

/// The characters of other scripts that look like Latin letters, each with the letter.
const LOOKALIKES: [(char, char); 44] = [
    ('а', 'a'),
    ('в', 'b'),
    ('е', 'e'),
    ('к', 'k'),
    ('м', 'm'),
    ('н', 'h'),
    ('о', 'o'),
    ('р', 'p'),
    ('с', 'c'),
    ('т', 't'),
    ('у', 'y'),
    ('х', 'x'),
    ('і', 'i'),
    ('ј', 'j'),
    ('ѕ', 's'),
    ('ԁ', 'd'),
    ('ӏ', 'l'),
    ('ԛ', 'q'),
    ('ԝ', 'w'),
    ('ɡ', 'g'),
    ('ո', 'n'),
    ('ս', 'u'),
    ('օ', 'o'),
    ('հ', 'h'),
    ('α', 'a'),
    ('β', 'b'),
    ('ε', 'e'),
    ('η', 'n'),
    ('ι', 'i'),
    ('κ', 'k'),
    ('ν', 'v'),
    ('ο', 'o'),
    ('ρ', 'p'),
    ('τ', 't'),
    ('υ', 'u'),
    ('χ', 'x'),
    ('ѵ', 'v'),
    ('ᴏ', 'o'),
    ('ı', 'i'),
    ('ɑ', 'a'),
    ('ʀ', 'r'),
    ('ᴡ', 'w'),
    ('ᴢ', 'z'),
    ('ꜱ', 's'),
];

/// A folded name with its look-alikes as the Latin letters that they look like, and whether there were any.
pub(super) fn skeleton(folded: &str) -> (String, bool) {
    if folded.is_ascii() {
        return (folded.to_owned(), false);
    }
    let mut any = false;
    let letters = folded.chars().filter(|c| !is_invisible(*c)).map(|c| {
        let known = LOOKALIKES.iter().find(|(other, _)| *other == c);
        any |= known.is_some();
        known.map_or(c, |(_, latin)| *latin)
    });
    let skeleton: String = letters.collect();
    let hidden = skeleton.chars().count() != folded.chars().count();
    (skeleton, any || hidden)
}
