//! The table of vectors, and sums over it.
//!
//! The file, little-endian: `TENURE-T`; version, pieces, dimensions and bytes of vocabulary text as
//! 32-bit numbers; the SHA-256 of all that follows; for each piece a scale (16 bits), a weight
//! (16 bits) and a length (8 bits, the top one marks a continuation); the vocabulary text; for each
//! piece its vector in signed bytes.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use tenure::num::Score;
use tenure::{Digest, Error, ErrorKind};

use super::wordpiece::Pieces;

/// The length of every vector.
pub const DIMENSIONS: usize = 256;

const MAGIC: &[u8; 8] = b"TENURE-T";
const VERSION: u32 = 1;
/// Says in a table's digest how it weighs its pieces.
const RARITY: &[u8] = b"rarity of pieces";
/// Says in a table's digest which texts it knows.
const KNOWN: &[u8] = b"words of Latin letters; faint where fewer than half are whole";
/// The greatest component of a vector, and of a faint one.
const GREATEST: i8 = 127;
const FAINT: i8 = 63;
/// The letters of a word from which on it tells whether the table knows the language: shorter ones are said in many.
const LONG: usize = 4;
const HEADER: usize = 8 + 4 * 4 + 32;
/// Pieces whose sum is sure to fit 32 bits: each adds at most 127 · 65,535.
const IN_32_BITS: usize = 256;

static BUILTIN: &[u8] = include_bytes!("../../../../models/static/table.bin");

/// One vector for each word piece.
pub struct StaticTable {
    digest: Digest,
    /// The digest that the file carries, of all that follows it.
    carried: Digest,
    pieces: Pieces,
    /// Factor of each piece's vector: its scale, the weight it was fitted with, and its rarity.
    factors: Vec<u16>,
    rows: Cow<'static, [u8]>,
}

impl StaticTable {
    /// The table that is shipped inside, read and verified when first asked for.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Internal`] when its bytes are not those it was built with.
    pub fn builtin() -> Result<&'static StaticTable, Error> {
        static TABLE: OnceLock<Result<StaticTable, Error>> = OnceLock::new();
        TABLE
            .get_or_init(|| {
                StaticTable::from_bytes(BUILTIN).map_err(|mut error| {
                    error.kind = ErrorKind::Internal;
                    error.hint("the program file is damaged; install it again")
                })
            })
            .as_ref()
            .map_err(Clone::clone)
    }

    /// A table from a file's bytes, verified against the digest that it carries.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the bytes are not such a table, have another number of dimensions,
    /// or were changed.
    pub fn from_bytes(bytes: impl Into<Cow<'static, [u8]>>) -> Result<StaticTable, Error> {
        match bytes.into() {
            Cow::Borrowed(bytes) => StaticTable::read(bytes, Cow::Borrowed),
            Cow::Owned(bytes) => StaticTable::read(&bytes, |rows| Cow::Owned(rows.to_vec())),
        }
    }

    fn read<'a>(
        bytes: &'a [u8],
        keep: impl FnOnce(&'a [u8]) -> Cow<'static, [u8]>,
    ) -> Result<StaticTable, Error> {
        let malformed = |what: &str| {
            Error::input(format!("this is no table of vectors: {what}"))
                .expected("the bytes of models/static/table.bin, or of one made by its train.py")
        };
        let (head, body) =
            bytes.split_at_checked(HEADER).ok_or_else(|| malformed("it is too short"))?;
        if !head.starts_with(MAGIC) {
            return Err(malformed("its first bytes are others"));
        }
        let number = |at: usize| {
            let at = 8 + 4 * at;
            head.get(at..at + 4)
                .and_then(|four| four.try_into().ok())
                .map_or(0, u32::from_le_bytes)
        };
        if number(0) != VERSION {
            return Err(malformed(&format!("version {}", number(0))).expected("version 1"));
        }
        let (count, text) = (number(1) as usize, number(3) as usize);
        if number(2) as usize != DIMENSIONS {
            return Err(malformed(&format!("{} dimensions", number(2)))
                .expected(format!("{DIMENSIONS} dimensions")));
        }
        let carried = head.last_chunk::<32>().copied().unwrap_or_default();
        let digest = Digest::of(body);
        if digest != Digest::from_bytes(carried) {
            return Err(malformed("its digest does not match its contents")
                .expected(Digest::from_bytes(carried).to_string()));
        }
        // Sixty-four bits hold any sum of these products, on a 32-bit machine too.
        let wanted = count as u64 * (5 + DIMENSIONS as u64) + text as u64;
        if body.len() as u64 != wanted || count == 0 {
            return Err(malformed("its length does not match its header"));
        }
        let (scales, body) = body.split_at(2 * count);
        let (weights, body) = body.split_at(2 * count);
        let (lengths, body) = body.split_at(count);
        let (text, rows) = body.split_at(text);
        let numbers = |bytes: &[u8]| -> Vec<u16> {
            let pairs = bytes.chunks_exact(2);
            pairs.map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
        };
        let (scales, weights) = (numbers(scales), numbers(weights));
        let factors = scales.iter().zip(&weights).map(|(s, w)| factor(*s, *w));
        Ok(StaticTable {
            // The same file gives other vectors than before rarity counted in full.
            digest: Digest::of_parts([digest.bytes().as_slice(), RARITY, KNOWN]),
            carried: digest,
            pieces: Pieces::new(lengths, text)
                .ok_or_else(|| malformed("its vocabulary is malformed"))?,
            factors: factors.collect(),
            rows: keep(rows),
        })
    }

    /// Returns the digest that identifies the table: vectors of two tables cannot be compared.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The digest that the file carries.
    pub(super) fn carried(&self) -> Digest {
        self.carried
    }

    /// The letters of a piece.
    pub(super) fn piece(&self, number: u32) -> &str {
        self.pieces.text(number)
    }

    /// Calls `found` with the pieces of each word of a text.
    pub(super) fn each_piece(&self, text: &str, mut found: impl FnMut(&[u32])) {
        self.pieces.each(text, |word, _| found(word));
    }

    /// The components of a piece.
    #[cfg(test)]
    pub(super) fn row(&self, piece: u32) -> &[u8] {
        &self.rows[piece as usize * DIMENSIONS..][..DIMENSIONS]
    }

    /// Returns whether a piece begins a word.
    #[cfg(test)]
    pub(super) fn begins_word(&self, piece: u32) -> bool {
        self.piece_numbers(self.piece(piece)) == [piece]
    }

    /// Counts its pieces.
    pub fn pieces(&self) -> usize {
        self.pieces.count()
    }

    /// The numbers of a text's pieces, in order. Unknown words give none.
    pub fn piece_numbers(&self, text: &str) -> Vec<u32> {
        let mut numbers = Vec::new();
        self.pieces.each(text, |word, _| numbers.extend_from_slice(word));
        numbers
    }

    /// The vector of a text, its pieces weighed by their rarity. The table was fitted to English: a text that is mostly of
    /// letters other than Latin ones has the zero vector, which resembles nothing, and so has one without words. That of a
    /// text of whose longer words fewer than half are whole in the table is faint
    /// ([`Vectors::add_rounded`](tenure::vectors::Vectors::add_rounded)).
    pub fn embed(&self, text: &str) -> Vector {
        let mut sums = Sums {
            near: [0; DIMENSIONS],
            far: [0; DIMENSIONS],
            added: 0,
        };
        let (mut latin, mut foreign, mut long, mut whole) = (0, 0, 0, 0);
        self.pieces.each(text, |word, of| {
            if of.foreign > 0 {
                foreign += of.foreign;
                return;
            }
            latin += of.characters;
            if of.is_latin && of.characters >= LONG {
                long += 1;
                whole += usize::from(word.len() == 1);
            }
            for piece in word {
                let piece = *piece as usize;
                let row = &self.rows[piece * DIMENSIONS..][..DIMENSIONS];
                sums.add(row, self.factors[piece]);
            }
        });
        if foreign > latin {
            return Vector::new([0; DIMENSIONS]);
        }
        sums.vector(if 2 * whole < long { FAINT } else { GREATEST })
    }
}

impl fmt::Debug for StaticTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("StaticTable");
        shown.field("digest", &self.digest);
        shown.field("pieces", &self.pieces()).finish()
    }
}

/// Scale times weight, in sixteen bits again, and that times the weight once more: it is the root of the piece's rarity in
/// the texts that the table was fitted to, and what a text is found by is its rare words.
fn factor(scale: u16, weight: u16) -> u16 {
    let times = |one: u16, other: u16| ((u32::from(one) * u32::from(other) + 0x7fff) >> 16) as u16;
    times(times(scale, weight), weight)
}

/// Sums of 32 bits, which are quick, emptied into sums of 64 bits before they can overflow.
struct Sums {
    near: [i32; DIMENSIONS],
    far: [i64; DIMENSIONS],
    added: usize,
}

impl Sums {
    fn add(&mut self, row: &[u8], factor: u16) {
        if self.added == IN_32_BITS {
            self.empty();
        }
        self.added += 1;
        let factor = i32::from(factor);
        for (sum, value) in self.near.iter_mut().zip(row) {
            *sum += i32::from(*value as i8) * factor;
        }
    }

    fn empty(&mut self) {
        for (far, near) in self.far.iter_mut().zip(&mut self.near) {
            *far += i64::from(std::mem::take(near));
        }
        self.added = 0;
    }

    /// The largest component becomes this or its opposite and the others follow, rounded to the nearest.
    fn vector(mut self, greatest: i8) -> Vector {
        self.empty();
        let largest = self.far.iter().map(|sum| sum.unsigned_abs()).max().unwrap_or(0);
        let mut components = [0; DIMENSIONS];
        if largest > 0 {
            let scale = f64::from(greatest) / largest as f64;
            for (component, sum) in components.iter_mut().zip(self.far) {
                let scaled = sum as f64 * scale;
                *component = (scaled + 0.5_f64.copysign(scaled)) as i8;
            }
        }
        Vector::new(components)
    }
}

/// The vector of a text: a direction in signed bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Vector {
    components: [i8; DIMENSIONS],
    /// The square of its length.
    square: u32,
}

impl Vector {
    /// A vector of these components.
    pub fn new(components: [i8; DIMENSIONS]) -> Vector {
        let square = components.iter().map(|c| i32::from(*c) * i32::from(*c));
        Vector {
            square: square.sum::<i32>() as u32,
            components,
        }
    }

    /// The components.
    pub fn components(&self) -> &[i8; DIMENSIONS] {
        &self.components
    }

    /// Returns whether the text had no known word.
    pub fn is_zero(&self) -> bool {
        self.square == 0
    }

    /// The cosine of the angle between two vectors, in millionths; those that point apart, and the zero vector, have
    /// nothing in common.
    pub fn similarity(&self, other: &Vector) -> Score {
        let pairs = self.components.iter().zip(&other.components);
        let dot: i32 = pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        let length = (u64::from(self.square) * u64::from(other.square)).isqrt();
        match (u64::try_from(dot), length) {
            (Ok(dot), 1..) => {
                Score::from_millionths((dot * 1_000_000 / length).min(1_000_000) as u32)
            }
            _ => Score::ZERO,
        }
    }
}

impl fmt::Debug for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vector({:?}…)", &self.components[..4])
    }
}
