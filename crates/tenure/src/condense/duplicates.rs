//! Near-duplicates among many texts: the one that stands highest stays, and the others point to it.
//!
//! Two texts are as similar as their *shingles*, all runs of four words, are the same: the size
//! of the intersection over the size of the union (Jaccard). A word stands between white space, less
//! the marks around it; a character of a script that puts no spaces between words is a word, and so is
//! each character of a run longer than 64 bytes. Texts in which the words with a digit differ are
//! never near: another value is another fact, however long the text around it.
//!
//! Only pairs that are likely are compared. A signature of `rows · bands` least hashes (MinHash) is cut
//! into bands, and texts that share a band meet: at a similarity of `s` they do with probability
//! `1 − (1 − s^rows)^bands`, which is at least 0.99 at the threshold. What meets is then compared
//! exactly, on digests of the words, which no one can aim at, so that a pair is never near by accident or
//! by attack.
//!
//! Texts with fewer words than a shingle, and texts above 1 MiB, are near only to their equals.

use std::sync::{Arc, OnceLock};

use super::Map;
use super::fidelity::negates;
use crate::base::digest::Digest;
use crate::base::num::Score;

/// The number of words in a shingle.
const SHINGLE: usize = 4;

/// A longer run is taken character by character, in bytes.
const LONGEST_WORD: usize = 64;
/// A longer text is compared whole, in bytes.
const LONGEST_TEXT: usize = 1 << 20;
/// A threshold below this counts as this.
const LEAST: Score = Score::from_millionths(50_000);
/// The share of the pairs at the threshold that may fail to meet: half of what is promised, because the hashes of one
/// signature are not quite independent.
const MISSED: f64 = 0.005;
/// The most hashes of a signature, while more than one row a band is a choice.
const MOST_HASHES: usize = 48;
/// So many standing texts may be met in one band; further ones are not met there. Thousands of texts
/// made to share a band cost no more than this for each.
const MOST_MET: usize = 64;

/// The text that another is near to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Near {
    /// Its place among the texts. It stands itself: it is near to none that stands before it.
    pub of: usize,
    /// The similarity of the two, rounded down; one for equal texts and for equal sets of shingles.
    pub similarity: Score,
}

/// For each text the one that it repeats: of those that stand before it by `key`, are near to none
/// themselves and are at least as similar as `threshold`, the first. Texts of equal keys stand in
/// their own order. A threshold below 0.05 counts as 0.05.
///
/// What is found is exact; of the pairs at the threshold at least 99 % are found, of more similar
/// ones more, and of equal texts all.
///
/// ```
/// use tenure::condense::near_duplicates;
/// use tenure::num::Score;
/// let text = "The pump starts at 3 bar and stops at 6 bar, it needs 20 seconds to cool down";
/// let texts = [
///     text.to_owned(),
///     format!("{text} between two starts."),
///     text.replace("20", "30"),
/// ];
/// let authority = [1, 2, 1];
/// let near = near_duplicates(
///     texts.iter().map(String::as_str),
///     Score::new(0.8).unwrap(),
///     |at| std::cmp::Reverse(authority[at]),
/// );
/// assert_eq!(near[0].unwrap().of, 1);
/// assert_eq!(near[0].unwrap().similarity, Score::from_millionths(833_333));
/// assert!(near[1].is_none() && near[2].is_none());
/// ```
pub fn near_duplicates<'t, K: Ord>(
    texts: impl IntoIterator<Item = &'t str>,
    threshold: Score,
    key: impl Fn(usize) -> K,
) -> Vec<Option<Near>> {
    let texts: Vec<&str> = texts.into_iter().collect();
    let keyed = |text: &&'t str| Some((Digest::of(text.as_bytes()).key(), *text));
    let signed = Signed::of(texts.iter().map(keyed), threshold);
    let prints = Prints::of(&[Arc::new(signed)], |at| texts[at as usize]);
    let mut order: Vec<u32> = (0..texts.len() as u32).collect();
    order.retain(|text| prints.has(*text));
    order.sort_by_cached_key(|text| (key(*text as usize), *text));
    let mut near = vec![None; texts.len()];
    for (text, of, similarity) in
        prints.near(order.into_iter().map(|text| (text, false)), threshold)
    {
        near[text as usize] = Some(Near {
            of: of as usize,
            similarity,
        });
    }
    near
}

/// The signatures of texts before they meet others. The texts are known by their places.
#[derive(Debug, Default)]
pub(crate) struct Signed {
    /// The number of texts, with those that do not count.
    count: usize,
    /// Those that count by their digests, sorted: equal ones are one group.
    texts: Vec<(u128, u32)>,
    /// The places at which the groups begin among them, and the end.
    groups: Vec<u32>,
    /// The key of each band of each group, sorted.
    keys: Vec<(u64, u32)>,
    /// The shape of each group, when it was needed.
    shapes: Vec<OnceLock<Arc<Shape>>>,
}

impl Signed {
    /// Signs these texts, each with its digest; those that count. Near is what is at least as similar as
    /// `threshold`.
    pub(crate) fn of<'t>(
        texts: impl IntoIterator<Item = Option<(u128, &'t str)>>,
        threshold: Score,
    ) -> Signed {
        Signed::banded(texts, Banding::at(threshold))
    }

    fn banded<'t>(
        texts: impl IntoIterator<Item = Option<(u128, &'t str)>>,
        banding: Banding,
    ) -> Signed {
        let texts: Vec<_> = texts.into_iter().collect();
        let mut equal: Vec<(u128, u32)> = texts
            .iter()
            .enumerate()
            .filter_map(|(at, text)| Some((text.as_ref()?.0, at as u32)))
            .collect();
        equal.sort_unstable();
        let mut signature = Signature::new(banding);
        let (mut keys, mut groups) = (Vec::new(), vec![0]);
        for (at, group) in equal.chunk_by(|a, b| a.0 == b.0).enumerate() {
            let text = texts[group[0].1 as usize].map_or("", |(_, text)| text);
            signature.each_band(text, |key| keys.push((key, at as u32)));
            groups.push(groups[at] + group.len() as u32);
        }
        keys.sort_unstable();
        Signed {
            count: texts.len(),
            texts: equal,
            keys,
            shapes: (1..groups.len()).map(|_| OnceLock::new()).collect(),
            groups,
        }
    }

    /// The texts of a group.
    fn group(&self, group: u32) -> &[(u128, u32)] {
        &self.texts[self.groups[group as usize] as usize..self.groups[group as usize + 1] as usize]
    }

    /// The groups with the digests of their texts.
    fn digests(&self) -> impl Iterator<Item = (u128, u32)> {
        let firsts = self.groups.iter().zip(&self.groups[1.min(self.groups.len())..]);
        (0u32..)
            .zip(firsts)
            .map(|(group, (first, _))| (self.texts[*first as usize].0, group))
    }
}

/// The index of near texts. It is made once for all texts and asked for any of them: what one answer does not ask
/// about changes nothing in it.
#[derive(Debug, Default)]
pub(crate) struct Prints {
    /// The body of each text that shares a band or all its bytes with another; [`NONE`] for others.
    bodies_of: Vec<u32>,
    bodies: Vec<Body>,
    /// The places at which the standing texts of each band begin among all, and the end.
    starts: Vec<u32>,
}

const NONE: u32 = u32::MAX;

/// Facts that equal texts share.
#[derive(Debug)]
struct Body {
    /// The bands that other texts have, too.
    bands: Box<[u32]>,
    shape: Arc<Shape>,
}

/// The sets that are compared exactly.
#[derive(Default, PartialEq, Eq, Debug)]
struct Shape {
    /// The words with a digit.
    figures: u128,
    /// The shingles, each once, sorted.
    shingles: Box<[u64]>,
}

impl Prints {
    /// The prints of texts that were signed for one threshold: the places of each run follow those of the
    /// one before it. Where the runs are cut changes nothing.
    pub(crate) fn of<'t>(runs: &[Arc<Signed>], text_of: impl Fn(u32) -> &'t str) -> Prints {
        let firsts: Vec<u32> = runs
            .iter()
            .scan(0, |next, run| {
                let first = *next;
                *next += run.count as u32;
                Some(first)
            })
            .collect();
        // Equal texts are one from here on. What is in order already is merged.
        let mut equal: Vec<(u128, u32, u32)> = Vec::new();
        for (at, run) in (0u32..).zip(runs) {
            equal.extend(run.digests().map(|(digest, group)| (digest, at, group)));
        }
        equal.sort();
        let mut groups_of: Vec<Vec<u32>> =
            runs.iter().map(|run| vec![0; run.shapes.len()]).collect();
        let groups: Vec<&[(u128, u32, u32)]> = equal.chunk_by(|a, b| a.0 == b.0).collect();
        for (at, group) in (0u32..).zip(&groups) {
            for (_, run, own) in *group {
                groups_of[*run as usize][*own as usize] = at;
            }
        }
        let mut keys: Vec<(u64, u32)> = Vec::new();
        for (run, groups) in runs.iter().zip(&groups_of) {
            let known = run.keys.iter();
            keys.extend(known.map(|(key, group)| (*key, groups[*group as usize])));
        }
        keys.sort();
        keys.dedup();
        let mut starts = vec![0];
        let mut shared: Vec<(u32, u32)> = Vec::new();
        for met in keys.chunk_by(|a, b| a.0 == b.0).filter(|met| met.len() > 1) {
            let band = starts.len() as u32 - 1;
            shared.extend(met.iter().map(|(_, group)| (*group, band)));
            starts.push(starts[band as usize] + met.len().min(MOST_MET) as u32);
        }
        shared.sort_unstable();

        let mut prints = Prints {
            bodies_of: vec![NONE; runs.iter().map(|run| run.count).sum()],
            bodies: Vec::new(),
            starts,
        };
        let mut shared = shared.as_slice();
        let mut shaping = Shaping::default();
        for (at, group) in (0u32..).zip(&groups) {
            let own = shared.partition_point(|(group, _)| *group == at);
            let (bands, rest) = shared.split_at(own);
            shared = rest;
            let texts = group.iter().flat_map(|(_, run, own)| {
                runs[*run as usize]
                    .group(*own)
                    .iter()
                    .map(|(_, text)| firsts[*run as usize] + text)
            });
            if bands.is_empty() && texts.clone().nth(1).is_none() {
                continue;
            }
            for text in texts.clone() {
                prints.bodies_of[text as usize] = prints.bodies.len() as u32;
            }
            let shape = match (bands.is_empty(), texts.clone().next()) {
                (false, Some(text)) => {
                    let (_, run, own) = group[0];
                    let known = &runs[run as usize].shapes[own as usize];
                    Arc::clone(known.get_or_init(|| Arc::new(shaping.of(text_of(text)))))
                }
                _ => Arc::default(),
            };
            prints.bodies.push(Body {
                bands: bands.iter().map(|(_, band)| *band).collect(),
                shape,
            });
        }
        prints
    }

    /// Returns whether no text has any that it could be near to.
    pub(crate) fn is_empty(&self) -> bool {
        self.bodies.is_empty()
    }

    /// Returns whether there is a text that this one could be near to.
    pub(crate) fn has(&self, text: u32) -> bool {
        self.bodies_of.get(text as usize).is_some_and(|body| *body != NONE)
    }

    /// Each text of `order` that is near to one before it, with the first such that stands and how
    /// similar they are. A text that must stay stands, whatever it is near to.
    pub(crate) fn near(
        &self,
        order: impl Iterator<Item = (u32, bool)>,
        threshold: Score,
    ) -> Vec<(u32, u32, Score)> {
        let threshold = threshold.max(LEAST);
        let mut found = Vec::new();
        // What the texts of each body point to, from the first one on.
        let mut known: Vec<Option<(u32, Score)>> = vec![None; self.bodies.len()];
        // The texts that stand, with their bodies, and by band their places in that list.
        let mut standing: Vec<(u32, &Shape)> = Vec::new();
        let mut slots = vec![0; self.starts.last().map_or(0, |end| *end as usize)];
        let mut filled = self.starts.clone();
        let mut met: Vec<u32> = Vec::new();
        for (text, stays) in order {
            let at = *self.bodies_of.get(text as usize).unwrap_or(&NONE);
            let Some(body) = self.bodies.get(at as usize) else {
                continue;
            };
            let known = &mut known[at as usize];
            if known.is_none() && !stays {
                met.clear();
                for &band in &body.bands {
                    let of_band = self.starts[band as usize]..filled[band as usize];
                    met.extend(&slots[of_band.start as usize..of_band.end as usize]);
                }
                met.sort_unstable();
                met.dedup();
                *known = met.iter().find_map(|place| {
                    let (of, shape) = standing[*place as usize];
                    Some((of, body.shape.near(shape, threshold)?))
                });
            }
            if let Some((of, similarity)) = known
                && !stays
            {
                found.push((text, *of, *similarity));
            } else if known.is_none_or(|(_, similarity)| similarity < Score::ONE) {
                *known = Some((text, Score::ONE));
                let place = standing.len() as u32;
                standing.push((text, &body.shape));
                for &band in &body.bands {
                    let next = &mut filled[band as usize];
                    if *next < self.starts[band as usize + 1] {
                        slots[*next as usize] = place;
                        *next += 1;
                    }
                }
            }
        }
        found
    }
}

impl Shape {
    /// Returns the similarity of the two, where that is at least `threshold`.
    fn near(&self, other: &Shape, threshold: Score) -> Option<Score> {
        let (a, b) = (&*self.shingles, &*other.shingles);
        let (one, least) = (
            u64::from(Score::ONE.millionths()),
            u64::from(threshold.millionths()),
        );
        // So many must be shared: c / (a + b − c) ≥ least / one.
        let both = (a.len() + b.len()) as u64;
        let needed = (both * least).div_ceil(one + least);
        if self.figures != other.figures || (a.len().min(b.len()) as u64) < needed {
            return None;
        }
        let (mut i, mut j, mut common) = (0, 0, 0u64);
        while i < a.len() && j < b.len() {
            match a[i].cmp(&b[j]) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    common += 1;
                    i += 1;
                    j += 1;
                    continue;
                }
            }
            if common + ((a.len() - i).min(b.len() - j) as u64) < needed {
                return None;
            }
        }
        let similarity = common * one / (both - common).max(1);
        (common >= needed.max(1)).then(|| Score::from_millionths(similarity as u32))
    }
}

/// The cut of a signature into bands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Banding {
    /// Hashes in a band.
    rows: usize,
    bands: usize,
}

impl Banding {
    /// The longest bands in which all but [`MISSED`] of the pairs at the threshold meet.
    fn at(threshold: Score) -> Banding {
        let similarity = threshold.max(LEAST).to_f64();
        let mut meets = 1.0;
        let mut best = Banding { rows: 0, bands: 0 };
        for rows in 1..=8 {
            meets *= similarity;
            let (mut bands, mut missed) = (0, 1.0);
            while missed > MISSED {
                missed *= 1.0 - meets;
                bands += 1;
            }
            if rows > 1 && rows * bands > MOST_HASHES {
                break;
            }
            best = Banding { rows, bands };
        }
        best
    }
}

/// Finds the bands of texts, one after the other. The hashes only propose, so fast ones will do.
struct Signature {
    banding: Banding,
    /// The least of each hash so far, with the sign bit turned: signed numbers compare faster.
    least: Vec<i32>,
}

impl Signature {
    fn new(banding: Banding) -> Signature {
        Signature {
            banding,
            least: vec![0; banding.rows * banding.bands],
        }
    }

    /// Calls `found` with a key for each band of `text`; with none where it has no shingle. Texts with
    /// other figures share no key.
    fn each_band(&mut self, text: &str, mut found: impl FnMut(u64)) {
        if text.len() > LONGEST_TEXT {
            return;
        }
        self.least.fill(i32::MAX);
        let mut figures = 0;
        let mut words = [0u64; SHINGLE];
        let mut count = 0usize;
        each_part(text, |part| match part {
            Part::Figure(figure) => figures = mix(figures ^ hash(figure.as_bytes())),
            Part::Word(word) => {
                words = pushed(words, hash(word.as_bytes()));
                count += 1;
                if count >= SHINGLE {
                    let shingle = words
                        .iter()
                        .zip([0, 16, 32, 48])
                        .fold(0, |all, (word, by)| all ^ word.rotate_left(by));
                    let shingle = mix(shingle);
                    self.add(shingle);
                }
            }
        });
        if count < SHINGLE {
            return;
        }
        for (band, rows) in self.least.chunks_exact(self.banding.rows).enumerate() {
            let key = rows.iter().fold(figures ^ band as u64, |all, row| {
                mix(all.wrapping_add(*row as u32 as u64))
            });
            found(key);
        }
    }

    /// The hashes of a shingle are `a + i · b` for the halves `a` and `b` of one.
    fn add(&mut self, shingle: u64) {
        let (mut value, step) = (shingle as i32, (shingle >> 32) as i32 | 1);
        for least in &mut self.least {
            *least = value.min(*least);
            value = value.wrapping_add(step);
        }
    }
}

/// Finds the shapes of texts, one after the other.
#[derive(Default)]
struct Shaping<'t> {
    /// The head of each word's digest.
    digests: Map<&'t str, u64>,
    figures: Vec<u8>,
    shingles: Vec<u64>,
}

impl<'t> Shaping<'t> {
    fn of(&mut self, text: &'t str) -> Shape {
        let Shaping {
            digests,
            figures,
            shingles,
        } = self;
        figures.clear();
        shingles.clear();
        let mut words = [0; SHINGLE];
        let mut count = 0usize;
        each_part(text, |part| match part {
            // Figures hold no white space, so nothing can be read in two ways.
            Part::Figure(figure) => {
                figures.extend(figure.as_bytes());
                figures.push(b' ');
            }
            Part::Word(word) => {
                let digest = |word: &str| Digest::of(word.as_bytes()).key() as u64;
                words = pushed(words, *digests.entry(word).or_insert_with(|| digest(word)));
                count += 1;
                if count >= SHINGLE {
                    shingles.push(words.iter().fold(0, |all, word| mix(all ^ word)));
                }
            }
        });
        shingles.sort_unstable();
        shingles.dedup();
        Shape {
            figures: Digest::of(figures).key(),
            shingles: shingles.as_slice().into(),
        }
    }
}

/// The last words, with one more.
fn pushed([_, b, c, d]: [u64; SHINGLE], word: u64) -> [u64; SHINGLE] {
    [b, c, d, word]
}

/// A part of a text.
enum Part<'t> {
    Word(&'t str),
    /// A run with a digit; its words follow.
    Figure(&'t str),
}

/// Calls `found` for each part of `text`.
fn each_part<'t>(text: &'t str, mut found: impl FnMut(Part<'t>)) {
    if text.is_ascii() {
        let runs = text.split_ascii_whitespace();
        runs.for_each(|run| each_of_run(run, &mut found));
        return;
    }
    for word in text.split_whitespace() {
        let mut start = 0;
        for (at, c) in word.char_indices().filter(|(_, c)| is_alone(*c)) {
            let end = at + c.len_utf8();
            each_of_run(&word[start..at], &mut found);
            found(Part::Word(&word[at..end]));
            start = end;
        }
        each_of_run(&word[start..], &mut found);
    }
}

/// Calls `found` for each part of a run without white space or characters that stand alone.
fn each_of_run<'t>(run: &'t str, found: &mut impl FnMut(Part<'t>)) {
    // Most runs begin and end with a letter.
    let bare = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let mut run = run;
    if !bare(run.as_bytes().first()) {
        run = run.trim_start_matches(opens);
    }
    if !bare(run.as_bytes().last()) {
        run = run.trim_end_matches(closes);
    }
    if run.is_empty() {
        return;
    }
    let has_digit = |byte: u8| byte.is_ascii_digit();
    if run.bytes().any(has_digit) || (!run.is_ascii() && run.chars().any(char::is_numeric)) {
        found(Part::Figure(run));
    } else if denies(run) {
        found(Part::Figure(DENIAL));
    }
    if run.len() <= LONGEST_WORD {
        found(Part::Word(run));
    } else {
        for (at, c) in run.char_indices() {
            found(Part::Word(&run[at..at + c.len_utf8()]));
        }
    }
}

/// The mark for every word that denies something.
const DENIAL: &str = "\u{AC}";

/// Returns whether a run denies something. Few begin like a word that does, or end like one.
fn denies(run: &str) -> bool {
    let bytes = run.as_bytes();
    let begins = bytes.first().is_some_and(|byte| b"cdnwCDNW".contains(byte));
    let ends = matches!(bytes, [.., b't' | b'T']);
    (begins || ends) && run.len() <= 16 && negates(&run.to_lowercase())
}

/// The marks that may stand before a word. Signs and operators are no marks.
fn opens(c: char) -> bool {
    !c.is_ascii_alphanumeric()
        && matches!(
            c,
            '(' | '[' | '{' | '"' | '\'' | '`' | '“' | '‘' | '«' | '„'
        )
}

/// The marks that may stand behind a word.
fn closes(c: char) -> bool {
    let mark = || {
        matches!(
            c,
            ')' | ']' | '}' | '"' | '\'' | '`' | '”' | '’' | '»' | '“'
        )
    };
    let stop = || matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '…');
    !c.is_ascii_alphanumeric() && (stop() || mark())
}

/// Returns whether a character belongs to a script without spaces between words: Thai to Burmese, Khmer, ideographs,
/// kana, syllables.
fn is_alone(c: char) -> bool {
    let code = u32::from(c);
    code >= 0x0E00
        && matches!(code, 0x0E00..=0x109F | 0x1780..=0x17FF | 0x2E80..=0xD7FF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

/// The hash of a word, the same on every platform.
fn hash(bytes: &[u8]) -> u64 {
    let mut all = 0x9E37_79B9_7F4A_7C15 ^ bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        all = mix(all ^ u64::from_le_bytes(word));
    }
    all
}

/// Every bit of the result depends on every bit (the finish of MurmurHash3).
fn mix(mut x: u64) -> u64 {
    x ^= x >> 33;
    x = x.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    x ^= x >> 33;
    x = x.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^ (x >> 33)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn score(value: f64) -> Score {
        Score::new(value).unwrap()
    }

    fn near(texts: &[&str], threshold: f64) -> Vec<Option<(usize, f64)>> {
        near_duplicates(texts.iter().copied(), score(threshold), |at| at)
            .into_iter()
            .map(|near| near.map(|near| (near.of, near.similarity.to_f64())))
            .collect()
    }

    /// The prints of texts in two runs.
    fn banded(texts: &[&str], cut: usize, banding: Banding) -> Prints {
        let (one, other) = texts.split_at(cut);
        let runs = [one, other].map(|run| {
            let run: Vec<_> = run
                .iter()
                .map(|text| Some((Digest::of(text.as_bytes()).key(), *text)))
                .collect();
            Arc::new(Signed::banded(run, banding))
        });
        Prints::of(&runs, |at| texts[at as usize])
    }

    /// Words of one letter.
    fn text(words: &[u8]) -> String {
        words
            .iter()
            .map(|word| char::from(b'a' + word % 26).to_string())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The similarity as the definition has it, in millionths.
    fn defined(a: &str, b: &str) -> u64 {
        let shingles = |text: &str| -> BTreeSet<Vec<String>> {
            let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
            words.windows(SHINGLE).map(<[String]>::to_vec).collect()
        };
        if a == b {
            return 1_000_000;
        }
        let (a, b) = (shingles(a), shingles(b));
        let union = a.union(&b).count() as u64;
        let common = a.intersection(&b).count() as u64;
        (common * 1_000_000).checked_div(union).unwrap_or(0)
    }

    /// Returns the pairs that comparing all of them finds.
    fn by_pairs(texts: &[String], order: &[usize], threshold: Score) -> Vec<Option<Near>> {
        let mut near = vec![None; texts.len()];
        let mut standing: Vec<usize> = Vec::new();
        for &at in order {
            near[at] = standing.iter().find_map(|&of| {
                let similarity = Score::from_millionths(defined(&texts[at], &texts[of]) as u32);
                (similarity >= threshold).then_some(Near { of, similarity })
            });
            if near[at].is_none() {
                standing.push(at);
            }
        }
        near
    }

    #[test]
    fn nearly_all_pairs_at_a_threshold_meet() {
        let at = |threshold: f64| {
            let Banding { rows, bands } = Banding::at(score(threshold));
            (rows, bands)
        };
        assert_eq!(at(0.9), (6, 7));
        assert_eq!(at(0.7), (3, 13));
        assert_eq!(at(0.5), (2, 19));
        assert_eq!(at(1.0), (8, 1));
        assert_eq!(at(0.0), (1, 104));
    }

    #[test]
    fn what_differs_in_a_value_is_another_fact() {
        let long =
            "the inlet of the pump in the north hall was read by the operator on duty at noon";
        let readings = ["3.5 bar", "3.6 bar", "3.5 bar,", "about 3.5 bar"]
            .map(|value| format!("{long} and showed {value} as the manual of the pump asks for"));
        let texts: Vec<&str> = readings.iter().map(String::as_str).collect();
        let near = near(&texts, 0.5);
        assert_eq!(near[..3], [None, None, Some((0, 1.0))]);
        assert!(matches!(near[3], Some((0, similarity)) if similarity > 0.7 && similarity < 1.0));
    }

    #[test]
    fn what_is_denied_is_another_fact() {
        let text = |verb: &str| {
            format!(
                "when the inlet of the pump in the north hall was read by the operator on duty at noon the valve \
                 {verb} be closed before the pressure falls as the manual of the pump asks for"
            )
        };
        let written = ["must", "must not", "mustn't", "must also", "Must"].map(text);
        let texts: Vec<&str> = written.iter().map(String::as_str).collect();
        let of: Vec<Option<usize>> =
            near(&texts, 0.5).into_iter().map(|near| near.map(|(of, _)| of)).collect();
        assert_eq!(of, [None, None, Some(1), Some(0), Some(0)]);
    }

    #[test]
    fn short_texts_are_near_to_their_equals_only() {
        let texts = [
            "Close the valve.",
            "Close the valve",
            "",
            "Close the valve.",
            "",
        ];
        let equal = |of| Some((of, 1.0));
        assert_eq!(near(&texts, 0.5), [None, None, None, equal(0), equal(2)]);
    }

    #[test]
    fn scripts_without_spaces_have_shingles() {
        let han = "泵在三巴时启动并且在六巴时停止然后需要冷却一会儿才能再次启动";
        let thai = "ปั๊มเริ่มทำงานที่สามบาร์และหยุดที่หกบาร์";
        let close = [han.replace("一会儿", "一阵子"), format!("{thai}ครับ")];
        let near = near(&[han, thai, &close[0], &close[1]], 0.5);
        assert_eq!(near[..2], [None, None]);
        assert!(near[2].is_some_and(|(of, similarity)| of == 0 && similarity < 1.0));
        assert!(near[3].is_some_and(|(of, similarity)| of == 1 && similarity < 1.0));
    }

    #[test]
    fn chains_end_at_one_that_stands() {
        // Each is near to the next, and the last is not near to the first.
        let words: Vec<u8> = (0..26).collect();
        let chain = [0, 2, 4].map(|by| text(&words[by..by + 16]));
        let texts: Vec<&str> = chain.iter().map(String::as_str).collect();
        let of = |near: Vec<Option<Near>>| -> Vec<Option<usize>> {
            near.iter().map(|near| near.map(|near| near.of)).collect()
        };
        let first = near_duplicates(texts.iter().copied(), score(0.7), |at| at);
        assert_eq!(of(first), [None, Some(0), None]);
        // The key decides which stand.
        let keyed = near_duplicates(texts, score(0.7), |at| at != 1);
        assert_eq!(of(keyed), [Some(1), None, Some(1)]);
    }

    #[test]
    fn what_must_stay_stands_and_stands_for_others() {
        let texts = [
            "a b c d e f",
            "a b c d e f g",
            "a b c d e f g",
            "a b c d e f g h",
        ];
        let prints = banded(&texts, 2, Banding { rows: 1, bands: 64 });
        let order = [(0, true), (1, true), (2, false), (3, false)];
        let found = prints.near(order.into_iter(), score(0.7));
        assert_eq!(found, [(2, 1, Score::ONE), (3, 1, score(0.8))]);
    }

    #[test]
    fn odd_texts_do_no_harm() {
        let token = "ab1".repeat(10_000_000 / 3);
        let mixed: String = (0..40_000u32).filter_map(|code| char::from_u32(code * 25)).collect();
        let texts = [
            &*token,
            &*token,
            "\u{0}\u{0} \u{0} \u{0}",
            "e\u{301} 👩\u{200D}🚀 \u{202E}x \u{FEFF}",
            "((((",
            "… … … …",
            &*mixed,
            "",
            " \u{3000} ",
            "\r\n",
        ];
        let near = near(&texts, 0.9);
        assert_eq!(near[..3], [None, Some((0, 1.0)), None]);
    }

    #[test]
    fn the_stated_share_of_planted_pairs_is_found() {
        let mut state = 7u64;
        let mut word = || -> String {
            state = mix(state.wrapping_add(0x9E37_79B9_7F4A_7C15));
            let letters = state.to_le_bytes().map(|byte| char::from(b'a' + byte % 26));
            letters.iter().collect()
        };
        for (threshold, swapped) in [(0.9, 1), (0.7, 4), (0.5, 8)] {
            let mut texts = Vec::new();
            for _ in 0..2_000 {
                let mut words: Vec<String> = (0..100).map(|_| word()).collect();
                texts.push(words.join(" "));
                (0..swapped).for_each(|at| words[7 + at * 10] = word());
                texts.push(words.join(" "));
            }
            let near = near_duplicates(texts.iter().map(String::as_str), score(threshold), |at| at);
            let planted = defined(&texts[0], &texts[1]);
            let found = (0..2_000).filter(|pair| near[pair * 2 + 1].is_some()).count();
            assert!(
                planted >= u64::from(score(threshold).millionths()),
                "{planted}"
            );
            assert!(found >= 1_980, "{found} of 2000 at {threshold}, {planted}");
        }
    }

    fn texts() -> impl Strategy<Value = Vec<String>> {
        let base = prop::collection::vec(0u8..6, 0..30);
        let edits = prop::collection::vec((0usize..30, 0u8..26), 0..4);
        prop::collection::vec(
            (base, edits).prop_map(|(base, edits)| {
                let mut words = base.clone();
                for (at, word) in edits {
                    if let Some(slot) = words.get_mut(at) {
                        *slot = word;
                    }
                }
                [text(&base), text(&words)]
            }),
            0..12,
        )
        .prop_map(|pairs| pairs.into_iter().flatten().collect())
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_all_pairs_give(
            texts in texts(),
            millionths in 500_000u32..=1_000_000,
            turned: bool,
            cut in 0usize..24,
        ) {
            let threshold = Score::from_millionths(millionths);
            let mut order: Vec<usize> = (0..texts.len()).collect();
            if turned {
                order.reverse();
            }
            // Bands of one row: all pairs of this similarity meet.
            let all: Vec<&str> = texts.iter().map(String::as_str).collect();
            let prints = banded(&all, cut.min(all.len()), Banding { rows: 1, bands: 96 });
            let mut found = vec![None; texts.len()];
            for (text, of, similarity) in
                prints.near(order.iter().map(|at| (*at as u32, false)), threshold)
            {
                found[text as usize] = Some(Near { of: of as usize, similarity });
            }
            prop_assert_eq!(found, by_pairs(&texts, &order, threshold));

            // With the bands of the threshold nothing is found that is not so.
            let place = |at: usize| order.iter().position(|other| *other == at);
            let near = near_duplicates(texts.iter().map(String::as_str), threshold, place);
            let stands: Vec<bool> = near.iter().map(Option::is_none).collect();
            for (at, near) in near.iter().enumerate() {
                let Some(Near { of, similarity }) = *near else { continue };
                let defined = defined(&texts[at], &texts[of]);
                prop_assert_eq!(u64::from(similarity.millionths()), defined);
                prop_assert!(similarity >= threshold && stands[of]);
                prop_assert!(place(of) < place(at));
            }
        }

        #[test]
        fn equal_texts_may_change_places(texts in texts(), one in 0usize..24) {
            let near = |texts: &[String]| -> Vec<Option<(String, Score)>> {
                let near = near_duplicates(texts.iter().map(String::as_str), Score::HALF, |_| ());
                let named = |near: Near| (texts[near.of].clone(), near.similarity);
                near.into_iter().map(|near| near.map(named)).collect()
            };
            let mut twice = texts.clone();
            twice.extend(texts.iter().cloned());
            let before = near(&twice);
            if !texts.is_empty() {
                twice.swap(one % texts.len(), one % texts.len() + texts.len());
            }
            prop_assert_eq!(near(&twice), before);
        }

        #[test]
        fn no_text_is_too_odd(
            texts in prop::collection::vec(".{0,40}", 0..8),
            millionths in 0u32..=1_000_000,
        ) {
            let threshold = Score::from_millionths(millionths);
            let near = near_duplicates(texts.iter().map(String::as_str), threshold, |at| at);
            prop_assert_eq!(near.len(), texts.len());
        }
    }
}
