//! The words of the built-in table that say nearly what others do, by their vectors: `doctor`, `physician`.
//!
//! They were found once (`models/static/near.py`): to look for them at each question would cost a thousand times what the
//! question does. The file, little-endian: `TENURE-N`; version and number of pieces as 32-bit numbers; the digest that the
//! table carries; the SHA-256 of all that follows; for each piece how many words are near to it (8 bits); all of them, as
//! 16-bit numbers of pieces.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use tenure::ranker::Terms;
use tenure::{Digest, Error, ErrorKind, Fact, Facts, Need};

use super::StaticTable;

const MAGIC: &[u8; 8] = b"TENURE-N";
const VERSION: u32 = 1;
const HEADER: usize = 8 + 2 * 4 + 2 * 32;
/// The words of a query that are looked up: more say no more of what it is about.
const MOST_WORDS: usize = 80;

static BUILTIN: &[u8] = include_bytes!("../../../../models/static/near.bin");

/// The words near to each word of the built-in table.
#[derive(Debug)]
pub struct NearWords {
    table: &'static StaticTable,
    /// The place of each piece's first word in `near`; one more than there are pieces.
    starts: Vec<u32>,
    near: Vec<u16>,
}

impl NearWords {
    /// Those of the table that is shipped inside, read and verified when first asked for.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Internal`] when the bytes are not those that the program was built with.
    pub fn builtin() -> Result<&'static NearWords, Error> {
        static WORDS: OnceLock<Result<NearWords, Error>> = OnceLock::new();
        WORDS
            .get_or_init(|| {
                NearWords::read(StaticTable::builtin()?, BUILTIN).map_err(|mut error| {
                    error.kind = ErrorKind::Internal;
                    error.hint("the program file is damaged; install it again")
                })
            })
            .as_ref()
            .map_err(Clone::clone)
    }

    fn read(table: &'static StaticTable, bytes: &[u8]) -> Result<NearWords, Error> {
        let malformed = |what: &str| {
            Error::input(format!("these are no near words: {what}"))
                .expected("the bytes of models/static/near.bin")
        };
        let (head, body) =
            bytes.split_at_checked(HEADER).ok_or_else(|| malformed("they are too short"))?;
        let (magic, head) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(malformed("the first bytes are others"));
        }
        let (numbers, digests) = head.split_at(8);
        let (version, count) = numbers.split_at(4);
        let number = |four: &[u8]| four.try_into().map_or(0, u32::from_le_bytes);
        let (version, count) = (number(version), number(count) as usize);
        if version != VERSION {
            return Err(malformed(&format!("version {version}")).expected("version 1"));
        }
        let (of, sum) = digests.split_at(32);
        if of != table.carried().bytes() || count != table.pieces() {
            return Err(malformed("they are of another table"));
        }
        if sum != Digest::of(body).bytes() {
            return Err(malformed("their digest does not match"));
        }
        let (counts, near) =
            body.split_at_checked(count).ok_or_else(|| malformed("they are too short"))?;
        let mut starts = Vec::with_capacity(count + 1);
        let mut start = 0u32;
        starts.push(start);
        starts.extend(counts.iter().map(|count| {
            start += u32::from(*count);
            start
        }));
        let pairs = near.chunks_exact(2);
        let near: Vec<u16> = pairs.map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        if near.len() != start as usize || near.iter().any(|piece| usize::from(*piece) >= count) {
            return Err(malformed("their numbers do not match"));
        }
        Ok(NearWords {
            table,
            starts,
            near,
        })
    }

    /// The words near to those of a text, in alphabetical order. What has no term of its own (`the`) is passed over.
    pub fn of(&self, text: &str) -> Vec<&str> {
        let mut found = BTreeSet::new();
        let mut asked = BTreeSet::new();
        let mut terms = Terms::default();
        self.table.each_piece(text, |word| {
            let [piece] = word else {
                return; // Written in several pieces, it is no word of the table.
            };
            let near = self.near(*piece);
            if near.is_empty() || asked.len() == MOST_WORDS || !asked.insert(*piece) {
                return;
            }
            let mut says_something = false;
            terms.each_asked(self.table.piece(*piece), |_| says_something = true);
            if says_something {
                found.extend(near.iter().map(|near| self.table.piece(u32::from(*near))));
            }
        });
        found.into_iter().collect()
    }

    fn near(&self, piece: u32) -> &[u16] {
        let [from, until] = [piece, piece + 1].map(|at| self.starts[at as usize] as usize);
        &self.near[from..until]
    }

    /// Supplies the words near to those of these texts.
    pub(super) fn answer(&self, facts: &mut Facts, texts: &[&str]) {
        for text in texts {
            let words: Vec<String> = self.of(text).into_iter().map(str::to_owned).collect();
            if !words.is_empty() {
                let query = Digest::of(text.as_bytes());
                facts.insert(&Need::NearWords { query }, Fact::NearWords { words });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_words_neighbours_are_found() {
        let words = NearWords::builtin().unwrap();
        let near = words.of("The Doctor, and the doctor's assistant!");
        assert!(near.contains(&"physician"), "{near:?}");
        assert!(near.is_sorted());
        for nothing in ["", "the", "it is", "a", "zzxqj", "漢字", "12345 \u{0}"] {
            assert!(words.of(nothing).is_empty(), "{nothing}");
        }
        assert!(words.of(&"doctor research pump file ".repeat(50_000)).len() <= 20);
        let all: Vec<&str> =
            (0..words.table.pieces() as u32).map(|piece| words.table.piece(piece)).collect();
        assert!(words.of(&all.join(" ")).len() <= 5 * MOST_WORDS);
    }

    /// Against the vectors: all listed are near, the nearest first; of some words, no other one is nearer.
    #[test]
    fn the_file_says_what_the_table_does() {
        let words = NearWords::builtin().unwrap();
        let table = words.table;
        let all: Vec<u32> = (0..table.pieces() as u32)
            .filter(|piece| {
                let text = table.piece(*piece);
                table.begins_word(*piece)
                    && text.chars().count() > 2
                    && text.chars().all(char::is_alphabetic)
            })
            .collect();
        let dot = |one: u32, other: u32| -> i64 {
            let dot: i32 = table
                .row(one)
                .iter()
                .zip(table.row(other))
                .map(|(a, b)| i32::from(*a as i8) * i32::from(*b as i8))
                .sum();
            dot.into()
        };
        let cosine = |one: u32, other: u32| {
            let length = ((dot(one, one) * dot(other, other)) as f64).sqrt();
            dot(one, other) as f64 / length
        };
        let mut pairs = 0;
        for &word in &all {
            let near = words.near(word);
            let cosines: Vec<f64> =
                near.iter().map(|near| cosine(word, u32::from(*near))).collect();
            assert!(near.len() <= 5 && cosines.iter().all(|cosine| *cosine >= 0.5));
            assert!(cosines.is_sorted_by(|one, other| one >= other));
            assert!(near.iter().all(|near| u32::from(*near) != word));
            pairs += near.len();
        }
        assert_eq!(pairs, words.near.len());
        for &word in all.iter().step_by(4_000) {
            let near = words.near(word);
            let last = near.last().map_or(1.0, |near| cosine(word, u32::from(*near)));
            let least = if near.len() == 5 { last } else { 0.5 };
            let nearer = all.iter().filter(|other| {
                let is_listed = near.iter().any(|near| u32::from(*near) == **other);
                **other != word && !is_listed && cosine(word, **other) > least
            });
            assert_eq!(nearer.count(), 0, "{}", table.piece(word));
        }
    }

    #[test]
    fn what_is_no_such_file_is_refused() {
        let table = StaticTable::builtin().unwrap();
        let with = |at: usize, byte: u8| {
            let mut bytes = BUILTIN.to_vec();
            bytes[at] = byte;
            NearWords::read(table, &bytes).unwrap_err().what
        };
        assert!(with(0, b'X').contains("first bytes"));
        assert!(with(8, 9).contains("version 9"));
        assert!(with(12, 1).contains("another table"));
        assert!(with(16, !BUILTIN[16]).contains("another table"));
        assert!(with(BUILTIN.len() - 1, !BUILTIN[BUILTIN.len() - 1]).contains("digest"));
        for short in [0, 8, HEADER, HEADER + 100, BUILTIN.len() - 1] {
            assert!(NearWords::read(table, &BUILTIN[..short]).is_err());
        }
    }
}
