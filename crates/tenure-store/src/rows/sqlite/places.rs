//! Places and terms as the index of terms has them.

use std::collections::BTreeSet;

use tenure::Error;

use crate::rows::engine::Run;

/// The number of bits of a row of the index of terms that hold the place.
const PLACE_BITS: u32 = 40;
pub(super) const MAX_PLACE: u64 = Run::END;

/// The row of an object in the index of terms.
pub(super) fn search_row(tenant: i64, place: u64) -> Result<i64, Error> {
    if tenant >= 1 << (63 - PLACE_BITS) || place > MAX_PLACE {
        let what = "the file holds too many tenants or objects to search them";
        return Err(Error::unsupported(what));
    }
    Ok(tenant << PLACE_BITS | place as i64)
}

/// Terms as the index has them: a word of 16 hexadecimal digits each.
pub(super) fn words(terms: &[i64]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut words = String::with_capacity(terms.len() * 17);
    for term in terms {
        if !words.is_empty() {
            words.push(' ');
        }
        let halves = (0..16).rev().map(|at| (*term >> (4 * at)) as usize & 15);
        words.extend(halves.map(|half| char::from(DIGITS[half])));
    }
    words
}

/// Places as ranges: `0-99,104-104`.
pub(super) fn ranges(places: &BTreeSet<u64>) -> String {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for place in places {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *place => *last = *place,
            _ => ranges.push((*place, *place)),
        }
    }
    let shown: Vec<String> = ranges.iter().map(|(first, last)| format!("{first}-{last}")).collect();
    shown.join(",")
}

pub(super) fn parse_ranges(text: &str) -> Option<Vec<(u64, u64)>> {
    text.split(',')
        .map(|range| {
            let (first, last) = range.split_once('-')?;
            Some((first.parse().ok()?, last.parse().ok()?))
        })
        .collect()
}
