//! Text to word pieces, as the uncased BERT vocabulary expects.
//!
//! Words are split at white space, around punctuation and around each CJK ideograph; letters become
//! small and lose their accents; then the longest known piece is taken from the left, again and
//! again. A word that cannot be written in known pieces gives none.

use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Words with more characters than this are unknown.
pub const LONGEST_WORD: usize = 100;

/// The pieces of a vocabulary, found by what they say.
///
/// Open addressing over 32-bit tags of a rolling hash: one pass over a word hashes all its
/// beginnings, so that the longest match costs one look per length tried.
#[derive(Debug)]
pub(super) struct Pieces {
    /// A tag and a piece's number plus one; nought is an empty slot.
    slots: Vec<(u32, u32)>,
    /// Starts of the pieces in `text`; one more than there are pieces.
    starts: Vec<u32>,
    text: Box<[u8]>,
    /// The longest piece, in bytes.
    longest: usize,
}

/// Pieces that continue a word are hashed from another seed than those that start one.
const SEEDS: [u64; 2] = [0xcbf2_9ce4_8422_2325, 0x9e37_79b9_7f4a_7c15];

const fn step(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(0x0000_0100_0000_01b3)
}

/// The tag and the first slot.
fn place(hash: u64, slots: usize) -> (u32, usize) {
    let mixed = hash ^ (hash >> 29);
    ((mixed >> 32) as u32, mixed as usize & (slots - 1))
}

impl Pieces {
    /// The pieces of these lengths, one after another in `text`; the top bit of a length marks a
    /// piece that continues a word. `None` when lengths and text do not agree.
    pub(super) fn new(lengths: &[u8], text: &[u8]) -> Option<Pieces> {
        let size = (lengths.len() * 2).next_power_of_two();
        let mut pieces = Pieces {
            slots: vec![(0, 0); size],
            starts: Vec::with_capacity(lengths.len() + 1),
            text: text.into(),
            longest: 0,
        };
        let mut start = 0;
        for (id, length) in lengths.iter().enumerate() {
            pieces.starts.push(start as u32);
            let end = start + usize::from(length & 0x7f);
            let bytes = text.get(start..end)?;
            let seed = SEEDS[usize::from(length >> 7)];
            let hash = bytes.iter().fold(seed, |hash, byte| step(hash, *byte));
            let (tag, mut at) = place(hash, size);
            while pieces.slots[at].1 != 0 {
                at = (at + 1) & (size - 1);
            }
            pieces.slots[at] = (tag, id as u32 + 1);
            pieces.longest = pieces.longest.max(bytes.len());
            start = end;
        }
        pieces.starts.push(start as u32);
        (start == text.len()).then_some(pieces)
    }

    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The letters of a piece; empty where they are no text.
    pub(super) fn text(&self, piece: u32) -> &str {
        let piece = piece as usize;
        let [from, until] = [piece, piece + 1].map(|at| self.starts[at] as usize);
        std::str::from_utf8(&self.text[from..until]).unwrap_or_default()
    }

    fn find(&self, hash: u64, bytes: &[u8]) -> Option<u32> {
        let (tag, mut at) = place(hash, self.slots.len());
        loop {
            match self.slots[at] {
                (_, 0) => return None,
                (held, id) if held == tag => {
                    let (from, to) = (self.starts[id as usize - 1], self.starts[id as usize]);
                    if &self.text[from as usize..to as usize] == bytes {
                        return Some(id - 1);
                    }
                }
                _ => {}
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    /// The pieces of one word; nothing when some part of it is unknown.
    fn split(&self, word: &[u8], found: &mut Vec<u32>) {
        let before = found.len();
        let mut hashes = [0; 4 * LONGEST_WORD];
        let mut start = 0;
        while start < word.len() {
            let rest = &word[start..];
            let most = rest.len().min(self.longest).min(hashes.len());
            let mut hash = SEEDS[usize::from(start > 0)];
            for (held, byte) in hashes.iter_mut().zip(&rest[..most]) {
                hash = step(hash, *byte);
                *held = hash;
            }
            let longest = (1..=most)
                .rev()
                .find_map(|end| Some((end, self.find(hashes[end - 1], &rest[..end])?)));
            match longest {
                Some((end, id)) => {
                    found.push(id);
                    start += end;
                }
                None => return found.truncate(before),
            }
        }
    }

    /// Hands the pieces of each word of `text` to `each`, with what is known of the word; no pieces where some part of it
    /// is unknown.
    pub(super) fn each(&self, text: &str, mut each: impl FnMut(&[u32], Of)) {
        let mut word = Word {
            bytes: Vec::with_capacity(64),
            characters: 0,
            foreign: 0,
        };
        let mut found = Vec::with_capacity(16);
        let mut close = |word: &mut Word| {
            if !word.bytes.is_empty() {
                if word.characters <= LONGEST_WORD {
                    self.split(&word.bytes, &mut found);
                }
                each(&found, word.of());
                found.clear();
            }
            word.bytes.clear();
            (word.characters, word.foreign) = (0, 0);
        };
        for c in text.chars() {
            match kind(c) {
                Kind::Letter => word.push_folded(c),
                Kind::Gone => {}
                Kind::Space => close(&mut word),
                Kind::Alone => {
                    close(&mut word);
                    word.push_folded(c);
                    close(&mut word);
                }
            }
        }
        close(&mut word);
    }
}

struct Word {
    bytes: Vec<u8>,
    characters: usize,
    /// The bytes of its letters that are not Latin.
    foreign: usize,
}

/// The letters of a word.
#[derive(Clone, Copy)]
pub(super) struct Of {
    /// Its characters.
    pub(super) characters: usize,
    /// True if all of it is letters of ASCII, once accents are gone.
    pub(super) is_latin: bool,
    /// The bytes of its letters that are not Latin.
    pub(super) foreign: usize,
}

impl Word {
    fn of(&self) -> Of {
        Of {
            characters: self.characters,
            is_latin: self.bytes.iter().all(u8::is_ascii_lowercase),
            foreign: self.foreign,
        }
    }

    fn push(&mut self, c: char) {
        self.characters += 1;
        if !c.is_ascii() && c.is_alphabetic() && !is_latin(c) {
            self.foreign += c.len_utf8();
        }
        // One character too many marks the word as unknown; keeping more would only cost memory.
        if self.characters <= LONGEST_WORD {
            self.bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    /// The character in small letters and without accents.
    fn push_folded(&mut self, c: char) {
        if c.is_ascii() {
            return self.push(c.to_ascii_lowercase());
        }
        decompose_canonical(c, |part| {
            if part.general_category() != GeneralCategory::NonspacingMark {
                part.to_lowercase().for_each(|small| self.push(small));
            }
        });
    }
}

/// Returns whether a letter that is not ASCII is a Latin one.
fn is_latin(c: char) -> bool {
    matches!(u32::from(c), 0xAA..=0x24F | 0x1E00..=0x1EFF | 0x2C60..=0x2C7F | 0xA720..=0xA7FF | 0xFB00..=0xFB06 | 0xFF21..=0xFF5A)
}

/// Effects of a character on the word it stands in.
enum Kind {
    Letter,
    /// Controls and the like: as if they were not there.
    Gone,
    Space,
    /// Punctuation and ideographs: a word of their own.
    Alone,
}

fn kind(c: char) -> Kind {
    if c.is_ascii() {
        return match c {
            ' ' | '\t' | '\n' | '\r' => Kind::Space,
            c if c.is_ascii_alphanumeric() => Kind::Letter,
            c if c.is_ascii_control() => Kind::Gone,
            _ => Kind::Alone,
        };
    }
    if c.is_whitespace() {
        return Kind::Space;
    }
    if c == char::REPLACEMENT_CHARACTER {
        return Kind::Gone;
    }
    if is_ideograph(c) {
        return Kind::Alone;
    }
    match c.general_category_group() {
        GeneralCategoryGroup::Punctuation => Kind::Alone,
        GeneralCategoryGroup::Other => Kind::Gone,
        _ => Kind::Letter,
    }
}

/// The blocks that BERT calls CJK: written without spaces between words.
fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '\u{20000}'..='\u{2A6DF}' | '\u{2A700}'..='\u{2B73F}'
        | '\u{2B740}'..='\u{2B81F}' | '\u{2B920}'..='\u{2CEAF}' | '\u{F900}'..='\u{FAFF}' | '\u{2F800}'..='\u{2FA1F}')
}
