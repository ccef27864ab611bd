//! Places of tokens in the table that the build script writes and the program reads.

/// The bits of a slot that are an id; the others are a part of the token's hash.
pub(crate) const ID_BITS: u32 = 18;
pub(crate) const ID_MASK: u32 = (1 << ID_BITS) - 1;
/// The bits of the place of a hint.
pub(crate) const HINT_BITS: u32 = 21;
/// The longest token that stands in its slot, as one word, in bytes.
pub(crate) const SHORT: usize = 8;
/// A slot, or a pair, without a token.
pub(crate) const NONE: u32 = u32::MAX;

/// The place of two bytes among all pairs.
pub(crate) fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

/// The slot at which a search among so many begins.
#[inline]
pub(crate) fn first_slot(hash: u64, slots: usize) -> usize {
    (((hash & 0xffff_ffff) * slots as u64) >> 32) as usize
}

/// Returns what the slot of a short token has beside its word: the id and the length.
#[inline]
pub(crate) fn id_and_length(id: u32, length: usize) -> u32 {
    (length as u32) << ID_BITS | id
}

/// Returns what the slot of a longer token has beside the id.
#[inline]
pub(crate) fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32 & !ID_MASK
}

/// The byte in which the bit of a hash is, and the bit.
#[inline]
pub(crate) fn hint(hash: u64) -> (usize, u8) {
    let place = (hash >> (64 - HINT_BITS)) as usize;
    (place >> 3, 1 << (place & 7))
}

/// The hash of up to eight bytes.
#[inline]
pub(crate) fn hash_of_word(word: u64, length: usize) -> u64 {
    mixed(word ^ (length as u64) << 59)
}

/// Up to eight bytes as a number.
#[inline]
pub(crate) fn word(bytes: &[u8]) -> u64 {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // They overlap where there are fewer than eight bytes, with the same bits.
        (Some(first), Some(last)) => {
            let shift = 8 * (bytes.len() - 4);
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << shift
        }
        _ => {
            let byte = |at: usize| u64::from(bytes.get(at).copied().unwrap_or(0));
            byte(0) | byte(1) << 8 | byte(2) << 16
        }
    }
}

/// A hash of bytes, the same everywhere. The keys of the table are fixed, so it need not withstand chosen ones.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hash = bytes.len() as u64;
    let mut rest = bytes;
    while let Some((word, behind)) = rest.split_first_chunk() {
        hash = mixed(hash ^ u64::from_le_bytes(*word));
        rest = behind;
    }
    mixed(hash ^ word(rest))
}

#[inline]
fn mixed(word: u64) -> u64 {
    let product = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 32
}
