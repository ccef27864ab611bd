//! The count of a piece's tokens: neighbours merge, the pair with the lowest id first and of equal ones the left one,
//! until no two are a token.
//!
//! A long piece is merged window by window, so that a run of millions of bytes takes time in proportion to its length and
//! the memory of one window. The next window starts where a token of this one starts. If both begin with the same token
//! there, the tokens of this window up to it and those of the next from it on are the tokens of both together:
//!
//! - Tokens that stand next to each other in a result are the result of their own bytes, since nothing merged across
//!   their ends.
//! - Take bytes `A`, `x`, `B`, where the result of `Ax` ends with the token `x` and that of `xB` begins with it. While all
//!   three are merged, no token crosses the ends of `x`: the first pair that did would be the first to merge within `Ax`
//!   or within `xB`, too, where it does not.
//!
//! Where the two tokens differ, what stands behind the window reaches back that far, and the piece is begun again with
//! windows of twice the size. How far that can be is a property of the vocabulary and not of the text: in a chain of pairs
//! that each lose to the next one on their right, the ids fall.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::place::hash;
use crate::table::Table;

/// Pieces up to this many bytes are merged without a heap.
const SHORT: usize = 32;
/// Number of short pieces that are remembered.
const KNOWN: usize = 512;
/// The bytes of a window, to begin with.
const WINDOW: usize = 2 << 10;
/// The part of a window that the next one covers again.
const COVERED_AGAIN: usize = 8;
/// A pair that is no token.
const NONE: u32 = u32::MAX;

/// Counts the tokens of pieces.
pub(super) struct Merger<'t> {
    table: &'static Table,
    /// Short pieces that came before, each at a place that its bytes say, and their tokens: texts repeat their words.
    known: Vec<(&'t [u8], usize)>,
    window: usize,
    /// The ends of the tokens of a window, and of the next.
    ends: Vec<u32>,
    next_ends: Vec<u32>,
    links: Vec<Link>,
    /// The pairs that merge next.
    queue: BinaryHeap<Reverse<u64>>,
}

/// A token of a window under work, by its first byte.
#[derive(Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
    /// The id of what it makes with the next; [`NONE`] for nothing, and where no token starts.
    pair: u32,
}

impl<'t> Merger<'t> {
    pub(super) fn new(table: &'static Table) -> Merger<'t> {
        Merger::with_window(table, WINDOW)
    }

    fn with_window(table: &'static Table, window: usize) -> Merger<'t> {
        Merger {
            table,
            known: Vec::new(),
            window,
            ends: Vec::new(),
            next_ends: Vec::new(),
            links: Vec::new(),
            queue: BinaryHeap::new(),
        }
    }

    /// Counts the tokens of a piece; none where `stopped` says so before that is known.
    pub(super) fn count(&mut self, piece: &'t [u8], stopped: &dyn Fn() -> bool) -> Option<usize> {
        if piece.len() < 2 {
            return Some(piece.len());
        }
        if self.table.id(piece).is_some() {
            return Some(1);
        }
        if piece.len() <= SHORT {
            return Some(self.short(piece));
        }
        self.long(piece, stopped)
    }

    /// The tokens of a short piece that is none itself.
    fn short(&mut self, piece: &'t [u8]) -> usize {
        self.known.resize(KNOWN, (&[], 0));
        let place = hash(piece) as usize % KNOWN;
        let (known, tokens) = self.known[place];
        if known == piece {
            return tokens;
        }
        let tokens = self.merge_short(piece);
        self.known[place] = (piece, tokens);
        tokens
    }

    fn merge_short(&self, piece: &[u8]) -> usize {
        let table = self.table;
        // Where each token starts, and behind them where the piece ends; what it makes with the next.
        let mut starts = [0_u8; SHORT + 1];
        let mut pairs = [NONE; SHORT + 1];
        for (at, start) in starts.iter_mut().enumerate().take(piece.len() + 1) {
            *start = at as u8;
        }
        for (two, pair) in piece.windows(2).zip(&mut pairs) {
            *pair = table.id_of_pair(two[0], two[1]).unwrap_or(NONE);
        }
        let mut tokens = piece.len();
        loop {
            let (mut at, mut lowest) = (0, NONE);
            for (place, pair) in pairs[..tokens].iter().enumerate() {
                if *pair < lowest {
                    (at, lowest) = (place, *pair);
                }
            }
            if lowest == NONE {
                return tokens;
            }
            starts.copy_within(at + 2..=tokens, at + 1);
            pairs.copy_within(at + 2..=tokens, at + 1);
            tokens -= 1;
            let id = |first: usize| {
                if first + 2 > tokens {
                    return NONE;
                }
                let bytes = &piece[usize::from(starts[first])..usize::from(starts[first + 2])];
                table.id_of_neighbours(bytes).unwrap_or(NONE)
            };
            pairs[at] = id(at);
            if at > 0 {
                pairs[at - 1] = id(at - 1);
            }
        }
    }

    fn long(&mut self, piece: &[u8], stopped: &dyn Fn() -> bool) -> Option<usize> {
        let mut size = self.window;
        loop {
            match self.by_windows(piece, size, stopped)? {
                Some(tokens) => return Some(tokens),
                None => size *= 2,
            }
        }
    }

    /// The tokens of a piece, by windows of this size; none where two windows do not go together.
    fn by_windows(
        &mut self,
        piece: &[u8],
        size: usize,
        stopped: &dyn Fn() -> bool,
    ) -> Option<Option<usize>> {
        let (mut from, mut tokens) = (0, 0);
        let mut ends = std::mem::take(&mut self.ends);
        let mut next_ends = std::mem::take(&mut self.next_ends);
        let window = |from: usize| &piece[from..piece.len().min(from + size)];
        self.merge(window(from), &mut ends);
        while piece.len() - from > size {
            if stopped() {
                return None;
            }
            let kept = (size - size / COVERED_AGAIN) as u32;
            let kept = ends.partition_point(|end| *end <= kept);
            let Some(start) = kept.checked_sub(1).map(|last| ends[last]) else {
                return Some(None);
            };
            from += start as usize;
            self.merge(window(from), &mut next_ends);
            if ends.get(kept).map(|end| end - start) != next_ends.first().copied() {
                return Some(None);
            }
            tokens += kept;
            std::mem::swap(&mut ends, &mut next_ends);
        }
        tokens += ends.len();
        (self.ends, self.next_ends) = (ends, next_ends);
        Some(Some(tokens))
    }

    /// Merges the bytes of a window; `ends` becomes the ends of its tokens.
    ///
    /// Only pairs that come before both their neighbours are queued: of the others, a neighbour merges first.
    fn merge(&mut self, bytes: &[u8], ends: &mut Vec<u32>) {
        let (table, links, queue) = (self.table, &mut self.links, &mut self.queue);
        let pairs = bytes.windows(2).map(|two| table.id_of_pair(two[0], two[1]));
        links.clear();
        links.extend(
            (0..).zip(pairs.chain([None])).map(|(at, pair): (u32, _)| Link {
                previous: at.wrapping_sub(1),
                next: at + 1,
                pair: pair.unwrap_or(NONE),
            }),
        );
        links.truncate(bytes.len());
        queue.clear();
        queue.extend((0..links.len() as u32).filter_map(|at| first_of_its_neighbours(links, at)));
        while let Some(Reverse(first)) = queue.pop() {
            let (pair, at) = ((first >> 32) as u32, first as u32);
            let Link { previous, next, .. } = links[at as usize];
            if links[at as usize].pair != pair {
                continue;
            }
            let end = links[next as usize].next;
            links[next as usize].pair = NONE;
            links[at as usize].next = end;
            if let Some(link) = links.get_mut(end as usize) {
                link.previous = at;
            }
            for start in [at, previous] {
                let Some(link) = links.get(start as usize) else {
                    continue;
                };
                let end = links.get(link.next as usize).map(|next| next.next);
                let pair = end
                    .and_then(|end| table.id_of_neighbours(&bytes[start as usize..end as usize]));
                links[start as usize].pair = pair.unwrap_or(NONE);
            }
            let before = links.get(previous as usize).map_or(NONE, |link| link.previous);
            let changed = [before, previous, at, end];
            queue.extend(changed.iter().filter_map(|at| first_of_its_neighbours(links, *at)));
        }
        ends.clear();
        let mut at = 0;
        while let Some(link) = links.get(at as usize) {
            at = link.next;
            ends.push(at);
        }
    }
}

/// A pair as it is queued, by its id and then by its place, if it merges before the pairs on both its sides.
fn first_of_its_neighbours(links: &[Link], at: u32) -> Option<Reverse<u64>> {
    let link = links.get(at as usize)?;
    let pair = |at: u32| links.get(at as usize).map_or(NONE, |link| link.pair);
    let is_first =
        link.pair != NONE && pair(link.previous) > link.pair && pair(link.next) >= link.pair;
    is_first.then(|| Reverse(u64::from(link.pair) << 32 | u64::from(at)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::Vocabulary;

    fn counted(vocabulary: Vocabulary, window: usize, piece: &[u8]) -> usize {
        let mut merger = Merger::with_window(Table::of(vocabulary), window);
        merger.count(piece, &|| false).unwrap()
    }

    /// Bytes that merge in many ways: few different ones, periods, tokens behind tokens, and any.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let token = any::<prop::sample::Index>().prop_map(|index| {
            let mut tokens = Vocabulary::O200k.tokens();
            let at = index.index(tokens.len());
            tokens.nth(at).unwrap_or_default().to_vec()
        });
        let part = prop_oneof![
            4 => token,
            2 => prop::collection::vec(select(&b"ab=- \n"[..]), 1..40),
            2 => (prop::collection::vec(any::<u8>(), 1..5), 1..60_usize).prop_map(|(part, times)| part.repeat(times)),
            1 => prop::collection::vec(any::<u8>(), 1..40),
            1 => "[a-z]{1,40}".prop_map(String::into_bytes),
        ];
        prop::collection::vec(part, 1..24).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn windows_change_nothing(piece in piece()) {
            for vocabulary in Vocabulary::ALL {
                let whole = counted(vocabulary, usize::MAX / 2, &piece);
                for window in [16, 33, 64, 256] {
                    prop_assert_eq!(counted(vocabulary, window, &piece), whole, "{:?} {}", vocabulary, window);
                }
            }
        }

        #[test]
        fn short_pieces_merge_as_long_ones_do(piece in prop::collection::vec(select(&b"abcdeht =-\xe6\xbc"[..]), 2..=SHORT)) {
            for vocabulary in Vocabulary::ALL {
                let mut merger = Merger::new(Table::of(vocabulary));
                prop_assert_eq!(merger.long(&piece, &|| false), Some(merger.merge_short(&piece)));
            }
        }
    }

    #[test]
    fn what_stands_behind_may_reach_back_beyond_a_window() {
        // One token of eleven letters; its first ones alone merge otherwise.
        let piece = "ประจำวันที่!".as_bytes();
        for window in [16, 24, 32, WINDOW] {
            assert_eq!(counted(Vocabulary::O200k, window, piece), 2, "{window}");
        }
    }

    #[test]
    fn a_long_piece_is_given_up_when_it_is_no_longer_wanted() {
        let piece = vec![b'='; 1 << 20];
        let asked = std::cell::Cell::new(0);
        let mut merger = Merger::new(Table::of(Vocabulary::O200k));
        let stopped = || {
            asked.set(asked.get() + 1);
            asked.get() > 3
        };
        assert_eq!(merger.count(&piece, &stopped), None);
        assert_eq!(asked.get(), 4);
    }
}
