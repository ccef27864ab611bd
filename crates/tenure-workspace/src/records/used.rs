//! Uses of each object of a store at the time it was compiled: one letter for each place, and a number where it
//! stands for several places in a row.

/// The greatest bucket that has a letter: 2⁵⁰ uses.
const MOST: u8 = 51;

/// Writes the bucket of each place, from place 0; places in between have none.
pub(super) fn written(mut buckets: Vec<(u64, u8)>) -> String {
    buckets.sort_unstable();
    let mut text = String::new();
    let mut next = 0;
    let mut run: Option<(u8, u64)> = None;
    let mut add = |bucket: u8, count: u64| {
        run = match run {
            Some((open, length)) if open == bucket => Some((bucket, length + count)),
            other => {
                push(&mut text, other);
                Some((bucket, count))
            }
        };
    };
    for (place, bucket) in buckets {
        if place > next {
            add(0, place - next);
        }
        add(bucket.min(MOST), 1);
        next = place + 1;
    }
    push(&mut text, run);
    text
}

fn push(text: &mut String, run: Option<(u8, u64)>) {
    let Some((bucket, length)) = run else { return };
    let first = if bucket < 26 { b'A' } else { b'a' - 26 };
    text.push(char::from(first + bucket));
    if length > 1 {
        text.push_str(&length.to_string());
    }
}

/// Reads the buckets that are not 0, each with its place; none where the text says no such thing.
pub(super) fn read(text: &str) -> Option<Vec<(u64, u8)>> {
    let mut found = Vec::new();
    let mut place: u64 = 0;
    let mut rest = text;
    while let Some(letter) = rest.bytes().next() {
        let bucket = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            _ => return None,
        };
        rest = &rest[1..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (length, after) = rest.split_at(digits);
        let length = if digits == 0 { 1 } else { length.parse().ok()? };
        let end = place.checked_add(length)?;
        // What is altered does not fill the memory.
        if bucket > 0 && found.len() as u64 + length > 1 << 28 {
            return None;
        }
        if bucket > 0 {
            found.extend((place..end).map(|place| (place, bucket)));
        }
        (place, rest) = (end, after);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_read_as_they_were_written() {
        for buckets in [
            vec![],
            vec![(0, 1)],
            vec![(3, 2), (4, 2), (5, 2), (9, 30)],
            (0..300).map(|place| (place * 2, (place % 7) as u8 + 1)).collect(),
        ] {
            let text = written(buckets.clone());
            assert_eq!(read(&text), Some(buckets), "{text}");
        }
        assert_eq!(written(vec![(3, 2), (4, 2)]), "A3C2");
        assert_eq!(read("A3C2?"), None);
        assert_eq!(read("B99999999999999999999"), None);
    }
}
