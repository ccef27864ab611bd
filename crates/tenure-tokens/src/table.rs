//! The tokens of the built-in vocabularies, and the tables that find them.
//!
//! A file has the tokens in the order of their ids, which is the order in which they merge, each behind a byte that is its
//! length. The build script writes the tables beside it (`build.rs`); all are used where they are in the program, so that a
//! process that counts one sentence reads a few pages. `tests/same.rs` compares the files with the vocabularies of two
//! independent crates.

use crate::Vocabulary;
use crate::place::{
    ID_MASK, NONE, SHORT, first_slot, hash, hash_of_word, hint, id_and_length, pair, tag, word,
};

/// The longest token of either vocabulary, in bytes.
const LONGEST: usize = 128;

/// A vocabulary that is ready to be asked.
pub(super) struct Table {
    file: &'static [u8],
    /// The number of tokens in the file.
    count: usize,
    /// The ids of tokens of two bytes.
    pairs: &'static [[u8; 4]],
    /// Tokens of three to eight bytes, by their hash, compared where they are found: three quarters of all are such.
    short: &'static [[u8; 12]],
    /// A bit for each hash of such a token. It stays where it is near, so that what is no token, as most neighbours are, is
    /// seldom looked for in the table.
    hints: &'static [u8],
    /// Longer tokens, by their hash: an id with a part of the hash, and where they start in the file.
    long: &'static [[u8; 8]],
}

/// Includes what the build script wrote.
macro_rules! built {
    ($name:literal, $what:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".", $what)).as_chunks().0
    };
}

/// The table of the vocabulary of this name, which has so many tokens.
macro_rules! table {
    ($name:literal, $count:literal) => {
        Table {
            file: include_bytes!(concat!($name, ".tokens")),
            count: $count,
            pairs: built!($name, "pairs"),
            short: built!($name, "short"),
            hints: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".hints")),
            long: built!($name, "long"),
        }
    };
}

static O200K: Table = table!("o200k_base", 199_998);
static CL100K: Table = table!("cl100k_base", 100_256);

impl Table {
    /// The table of a vocabulary.
    pub(super) fn of(vocabulary: Vocabulary) -> &'static Table {
        match vocabulary {
            Vocabulary::O200k => &O200K,
            Vocabulary::Cl100k => &CL100K,
        }
    }

    /// The token that starts here in the file.
    fn token(&self, start: usize) -> &'static [u8] {
        &self.file[start..start + usize::from(self.file[start - 1])]
    }

    /// The tokens in the order of their ids.
    pub(super) fn tokens(&'static self) -> impl ExactSizeIterator<Item = &'static [u8]> {
        let mut start = 1;
        (0..self.count).map(move |_| {
            let token = self.token(start);
            start += token.len() + 1;
            token
        })
    }

    /// The id of the token that two bytes make.
    #[inline]
    pub(super) fn id_of_pair(&self, first: u8, second: u8) -> Option<u32> {
        let id = u32::from_le_bytes(self.pairs[pair(first, second)]);
        (id != NONE).then_some(id)
    }

    /// The id of the token that two or more bytes make.
    #[inline]
    pub(super) fn id(&self, bytes: &[u8]) -> Option<u32> {
        match *bytes {
            [first, second] => self.id_of_pair(first, second),
            _ if bytes.len() <= SHORT => {
                let word = word(bytes);
                self.find_short(word, bytes.len(), hash_of_word(word, bytes.len()))
            }
            _ if bytes.len() <= LONGEST => self.find_long(bytes),
            _ => None,
        }
    }

    /// Like `id`, where it is likely that they make none.
    #[inline]
    pub(super) fn id_of_neighbours(&self, bytes: &[u8]) -> Option<u32> {
        if !(3..=SHORT).contains(&bytes.len()) {
            return self.id(bytes);
        }
        let word = word(bytes);
        let hash = hash_of_word(word, bytes.len());
        let (at, bit) = hint(hash);
        if self.hints[at] & bit == 0 {
            return None;
        }
        self.find_short(word, bytes.len(), hash)
    }

    /// The id of a token of three to eight bytes.
    #[inline]
    fn find_short(&self, word: u64, length: usize, hash: u64) -> Option<u32> {
        let mut slot = first_slot(hash, self.short.len());
        loop {
            let [a, b, c, d, e, f, g, h, rest @ ..] = self.short[slot];
            let rest = u32::from_le_bytes(rest);
            if rest == NONE {
                return None;
            }
            let id = rest & ID_MASK;
            if u64::from_le_bytes([a, b, c, d, e, f, g, h]) == word
                && rest == id_and_length(id, length)
            {
                return Some(id);
            }
            slot += 1;
            if slot == self.short.len() {
                slot = 0;
            }
        }
    }

    /// The id of a longer token.
    fn find_long(&self, bytes: &[u8]) -> Option<u32> {
        let hash = hash(bytes);
        let mut slot = first_slot(hash, self.long.len());
        loop {
            let [a, b, c, d, start @ ..] = self.long[slot];
            let found = u32::from_le_bytes([a, b, c, d]);
            if found == NONE {
                return None;
            }
            if found & !ID_MASK == tag(hash)
                && self.token(u32::from_le_bytes(start) as usize) == bytes
            {
                return Some(found & ID_MASK);
            }
            slot += 1;
            if slot == self.long.len() {
                slot = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_found_and_nothing_else() {
        for vocabulary in Vocabulary::ALL {
            let table = Table::of(vocabulary);
            let mut bytes = [false; 256];
            let mut length = 0;
            for (id, token) in (0..).zip(table.tokens()) {
                assert!((1..=LONGEST).contains(&token.len()), "{id}");
                length += token.len() + 1;
                match token {
                    [byte] => bytes[usize::from(*byte)] = true,
                    _ => assert_eq!(table.id(token), Some(id)),
                }
            }
            assert_eq!(length, table.file.len());
            assert_eq!(bytes, [true; 256]);
            for none in [&b"qqqqzz"[..], &[0xff; 3], &[b'q'; LONGEST + 1]] {
                assert_eq!(table.id(none), None);
            }
        }
    }
}
