//! Directions of texts in a space of meaning: vectors of small whole numbers, all by one model.
//!
//! A vector is known by the digest of its text, so a text is asked about once, whatever else changes.
//! Its components are rounded to signed bytes, so that it is the same on every platform and small enough
//! to be kept by the hundred thousand.
//!
//! ```
//! use tenure::num::Score;
//! use tenure::vectors::{VectorModel, Vectors};
//! use tenure::Digest;
//!
//! let model = VectorModel { dimensions: 3, ..VectorModel::new("mine", Digest::of(b"weights")) };
//! let mut vectors = Vectors::new(model);
//! let [cat, tax] = ["cat", "tax"].map(|text| Digest::of(text.as_bytes()));
//! vectors.add(cat, &[1.0, 0.5, 0.0])?;
//! vectors.add(tax, &[-0.25, 0.5, 1.0])?;
//! assert!(vectors.similarity(&cat, &tax).is_some_and(|similarity| similarity < Score::HALF));
//! assert!(vectors.add(cat, &[f32::NAN, 0.0, 0.0]).is_err());
//! assert!(vectors.add(cat, &[1.0]).is_err());
//! # Ok::<(), tenure::Error>(())
//! ```

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::digest::{Digest, DigestMap};
use crate::base::error::Error;
use crate::base::num::Score;

/// The most components of a vector.
pub const MAX_DIMENSIONS: u32 = 16_384;

/// The model of vectors.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VectorModel {
    /// Its name, for people.
    pub name: String,
    /// Its identity: vectors of two models cannot be compared.
    pub digest: Digest,
    /// The number of its vectors' components.
    pub dimensions: u32,
    /// The similarity that texts may have which have nothing to do with each other.
    pub unrelated: Score,
    /// The similarity above which two texts speak of the same.
    pub related: Score,
}

impl VectorModel {
    /// A model of 256 dimensions that nothing more is known of.
    pub fn new(name: impl Into<String>, digest: Digest) -> VectorModel {
        VectorModel {
            name: name.into(),
            digest,
            dimensions: 256,
            unrelated: Score::ZERO,
            related: Score::ONE,
        }
    }
}

/// Vectors by the digests of their texts.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "VectorsForm", into = "VectorsForm")]
pub struct Vectors {
    model: VectorModel,
    texts: Vec<Digest>,
    components: Vec<i8>,
    /// The length of each vector.
    lengths: Vec<f64>,
    /// For each, true if it is faint.
    faint: Vec<bool>,
    /// The mark of each vector: the digest of its text and its bytes.
    marks: Vec<u128>,
    by_text: DigestMap<u32>,
}

/// The greatest component of a faint vector.
const FAINT: u8 = 63;

impl Vectors {
    /// None yet.
    pub fn new(model: VectorModel) -> Vectors {
        Vectors {
            model,
            texts: Vec::new(),
            components: Vec::new(),
            lengths: Vec::new(),
            faint: Vec::new(),
            marks: Vec::new(),
            by_text: DigestMap::default(),
        }
    }

    /// Returns the model.
    pub fn model(&self) -> &VectorModel {
        &self.model
    }

    /// Returns their number.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Adds the vector of the text with this digest, rounded so that its largest component is 127 or −127.
    /// A text that has one already keeps it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it has not the model's dimensions, or a
    /// component is not a number or infinite.
    pub fn add(&mut self, text: Digest, vector: &[f32]) -> Result<(), Error> {
        if let Some(at) = vector.iter().position(|component| !component.is_finite()) {
            return Err(Error::input(format!(
                "a vector of `{}`: component {at} is {}",
                self.model.name, vector[at]
            ))
            .expected("finite numbers"));
        }
        let largest = vector.iter().fold(0.0f32, |most, c| most.max(c.abs()));
        let scale = if largest > 0.0 {
            127.0 / f64::from(largest)
        } else {
            0.0
        };
        let rounded = vector.iter().map(|component| {
            let scaled = f64::from(*component) * scale;
            (scaled + 0.5_f64.copysign(scaled)) as i8
        });
        self.add_rounded(text, &rounded.collect::<Vec<i8>>())
    }

    /// Adds a vector of signed bytes. A text that has one already keeps it. One whose components are all between −63 and 63
    /// is *faint*: its model hardly knows the language of the text. It ranks, and says nothing of what is related.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it has not the model's dimensions.
    pub fn add_rounded(&mut self, text: Digest, vector: &[i8]) -> Result<(), Error> {
        let wanted = self.model.dimensions;
        if !(1..=MAX_DIMENSIONS).contains(&wanted) {
            return Err(Error::input(format!(
                "the model `{}` has {wanted} dimensions",
                self.model.name
            ))
            .expected(format!("from 1 to {MAX_DIMENSIONS}")));
        }
        if vector.len() != wanted as usize {
            return Err(Error::input(format!(
                "a vector of `{}` has {} components",
                self.model.name,
                vector.len()
            ))
            .expected(format!("{wanted}, as its model says")));
        }
        if self.find(&text, self.len()).is_some() {
            return Ok(());
        }
        let square: i64 = vector.iter().map(|c| i64::from(*c) * i64::from(*c)).sum();
        let bytes: Vec<u8> = vector.iter().map(|component| *component as u8).collect();
        let place = self.len() as u32;
        self.by_text.insert(text.key(), place);
        self.texts.push(text);
        self.components.extend_from_slice(vector);
        self.lengths.push((square as f64).sqrt());
        self.faint
            .push(vector.iter().all(|component| component.unsigned_abs() <= FAINT));
        self.marks.push(Digest::of_parts([text.bytes().as_slice(), &bytes]).key());
        Ok(())
    }

    /// The place of a text's vector; `guess` is looked at first.
    pub(crate) fn find(&self, text: &Digest, guess: usize) -> Option<usize> {
        if self.texts.get(guess) == Some(text) {
            return Some(guess);
        }
        let place = *self.by_text.get(&text.key())? as usize;
        (self.texts[place] == *text).then_some(place)
    }

    /// The digests of the texts, in the order in which they were added.
    pub fn texts(&self) -> impl ExactSizeIterator<Item = &Digest> {
        self.texts.iter()
    }

    /// The components of a text's vector.
    pub fn get(&self, text: &Digest) -> Option<&[i8]> {
        Some(self.at(self.find(text, self.len())?).components)
    }

    /// The cosine of the angle between the vectors of two texts; 0 for those that point apart.
    pub fn similarity(&self, one: &Digest, other: &Digest) -> Option<Score> {
        let end = self.len();
        let [one, other] = [self.find(one, end)?, self.find(other, end)?].map(|at| self.at(at));
        Some(Score::clamped(one.cosine(other)))
    }

    /// The cosine of the angle between each of these texts and another of the same model, in their order; none for those
    /// that have no vector here.
    pub fn similarities<'t>(
        &self,
        texts: impl IntoIterator<Item = &'t Digest>,
        (others, other): (&Vectors, &Digest),
    ) -> Vec<Option<Score>> {
        let other = (self.model == others.model)
            .then(|| others.find(other, 0))
            .flatten()
            .map(|at| others.at(at));
        // Most are asked for in the order in which they were added.
        let mut next = 0;
        texts
            .into_iter()
            .map(|text| {
                let at = self.find(text, next)?;
                next = at + 1;
                Some(Score::clamped(self.at(at).cosine(other?)))
            })
            .collect()
    }

    pub(crate) fn at(&self, place: usize) -> Vector<'_> {
        let dimensions = self.model.dimensions as usize;
        Vector {
            components: &self.components[place * dimensions..][..dimensions],
            length: self.lengths[place],
            is_faint: self.faint[place],
            mark: self.marks[place],
        }
    }
}

impl PartialEq for Vectors {
    fn eq(&self, other: &Vectors) -> bool {
        (&self.model, &self.marks) == (&other.model, &other.marks)
    }
}

impl Eq for Vectors {}

impl fmt::Debug for Vectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Vectors({} of {})", self.len(), self.model.name)
    }
}

/// One vector.
#[derive(Clone, Copy)]
pub(crate) struct Vector<'v> {
    components: &'v [i8],
    length: f64,
    is_faint: bool,
    pub(crate) mark: u128,
}

impl Vector<'_> {
    /// Returns whether it has no direction: its model knows no word of the text.
    pub(crate) fn is_zero(self) -> bool {
        self.length == 0.0
    }

    /// Returns whether it says nothing of what is related: it is faint, or has no direction.
    pub(crate) fn is_unsure(self) -> bool {
        self.is_faint || self.is_zero()
    }

    /// The cosine of the angle to another vector of the same model, from −1 to 1; 0 where one has no
    /// direction. The sum is of integers, and `/` and `*` are exact everywhere.
    pub(crate) fn cosine(self, other: Vector<'_>) -> f64 {
        let length = self.length * other.length;
        if length <= 0.0 {
            return 0.0;
        }
        f64::from(dot(self.components, other.components)) / length
    }
}

/// The sum of the products, by steps that compilers turn into instructions which multiply and add at once; of
/// integers every order gives the same.
fn dot(one: &[i8], other: &[i8]) -> i32 {
    let product = |(a, b): (&i8, &i8)| i32::from(*a) * i32::from(*b);
    let ((steps, rest), (others, last)) = (one.as_chunks::<32>(), other.as_chunks::<32>());
    let steps = steps.iter().zip(others);
    let whole = steps.map(|(one, other)| one.iter().zip(other).map(product).sum::<i32>());
    whole.sum::<i32>() + rest.iter().zip(last).map(product).sum::<i32>()
}

/// The written form of vectors: each as the hexadecimal digits of its bytes.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Vectors")]
pub(crate) struct VectorsForm {
    /// The model.
    model: VectorModel,
    /// The digest of each text, and its vector.
    vectors: Vec<(Digest, String)>,
}

impl From<Vectors> for VectorsForm {
    fn from(vectors: Vectors) -> VectorsForm {
        let written = |(place, text): (usize, &Digest)| {
            let components = vectors.at(place).components.iter();
            let digits = components.flat_map(|component| {
                let byte = *component as u8;
                [byte >> 4, byte & 15].map(|half| char::from_digit(u32::from(half), 16))
            });
            (*text, digits.flatten().collect())
        };
        VectorsForm {
            vectors: vectors.texts.iter().enumerate().map(written).collect(),
            model: vectors.model,
        }
    }
}

impl TryFrom<VectorsForm> for Vectors {
    type Error = Error;

    fn try_from(form: VectorsForm) -> Result<Vectors, Error> {
        let mut vectors = Vectors::new(form.model);
        for (text, digits) in form.vectors {
            let halves = digits
                .chars()
                .map(|digit| digit.to_digit(16).map(|half| half as u8))
                .collect::<Option<Vec<u8>>>()
                .filter(|halves| halves.len() % 2 == 0)
                .ok_or_else(|| {
                    Error::input(format!("the vector of {text} cannot be read"))
                        .expected("hexadecimal digits, two for each component")
                })?;
            let components = halves.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as i8);
            vectors.add_rounded(text, &components.collect::<Vec<i8>>())?;
        }
        Ok(vectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(dimensions: u32) -> Vectors {
        Vectors::new(VectorModel {
            dimensions,
            ..VectorModel::new("test", Digest::of(b"test"))
        })
    }

    fn named(text: &str) -> Digest {
        Digest::of(text.as_bytes())
    }

    #[test]
    fn what_is_no_vector_is_refused() {
        let mut vectors = of(2);
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = vectors.add(named("a"), &[0.5, bad]).unwrap_err();
            assert!(error.what.contains("component 1"), "{error}");
        }
        for bad in [&[][..], &[1.0], &[1.0, 2.0, 3.0]] {
            let error = vectors.add(named("a"), bad).unwrap_err();
            assert_eq!(error.expected.as_deref(), Some("2, as its model says"));
        }
        assert!(of(0).add(named("a"), &[]).is_err());
        assert!(vectors.is_empty());
    }

    #[test]
    fn no_direction_resembles_nothing() {
        let mut vectors = of(2);
        vectors.add(named("zero"), &[0.0, -0.0]).unwrap();
        vectors.add(named("tiny"), &[f32::MIN_POSITIVE, 0.0]).unwrap();
        vectors.add(named("huge"), &[f32::MAX, 0.0]).unwrap();
        let alike = |one: &str, other: &str| vectors.similarity(&named(one), &named(other));
        assert_eq!(alike("zero", "tiny"), Some(Score::ZERO));
        assert_eq!(alike("huge", "tiny"), Some(Score::ONE));
        assert_eq!(alike("huge", "other"), None);
    }

    #[test]
    fn no_component_is_left_out_of_a_product() {
        for length in 0..100 {
            let component = |at: usize| [-128, 127, -1, 3, 0][at % 5];
            let one: Vec<i8> = (0..length).map(component).collect();
            let other: Vec<i8> = (0..length).map(|at| component(at / 2)).collect();
            let pairs = one.iter().zip(&other);
            let expected: i64 = pairs.map(|(a, b)| i64::from(*a) * i64::from(*b)).sum();
            assert_eq!(i64::from(dot(&one, &other)), expected, "{length}");
        }
        let most = vec![-128; MAX_DIMENSIONS as usize];
        assert_eq!(dot(&most, &most), 128 * 128 * MAX_DIMENSIONS as i32);
    }

    proptest! {
        #[test]
        fn vectors_survive_their_text_form(rows in proptest::collection::vec(any::<[i8; 4]>(), 0..8)) {
            let mut vectors = of(4);
            for (at, row) in rows.iter().enumerate() {
                vectors.add_rounded(named(&at.to_string()), row).unwrap();
            }
            let json = serde_json::to_string(&vectors).unwrap();
            let read: Vectors = serde_json::from_str(&json).unwrap();
            prop_assert_eq!(&read, &vectors);
            for (at, row) in rows.iter().enumerate() {
                prop_assert_eq!(read.get(&named(&at.to_string())), Some(row.as_slice()));
            }
        }

        #[test]
        fn any_numbers_are_rounded_or_refused(row in any::<[f32; 3]>()) {
            let mut vectors = of(3);
            let finite = row.iter().all(|component| component.is_finite());
            prop_assert_eq!(vectors.add(named("a"), &row).is_ok(), finite);
            if let Some(row) = vectors.get(&named("a")) {
                let most = row.iter().map(|component| component.unsigned_abs()).max();
                prop_assert!(matches!(most, Some(0 | 127)));
            }
        }
    }
}
