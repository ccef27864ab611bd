//! The parts of attention that the items of a payload got.

use tenure::Error;

use crate::text::grouped;

/// The part of its share below which important text got little.
pub(crate) const LITTLE: f64 = 0.5;

/// The weights of one payload.
#[derive(Clone, PartialEq, Debug)]
pub struct Attention {
    /// The part of all weights that each item of the envelope got, in the order of the items.
    pub(crate) parts: Vec<f64>,
    /// The part that nothing claims.
    pub(crate) unclaimed: f64,
}

impl Attention {
    /// The parts of the whole.
    pub(crate) fn shares(mut parts: Vec<f64>, mut unclaimed: f64) -> Result<Attention, Error> {
        // Divided first, so that no sum of great numbers is infinite.
        let most = parts.iter().copied().fold(unclaimed, f64::max);
        if most <= 0.0 {
            return Err(Error::input("all weights are 0").at("attention", None));
        }
        parts.iter_mut().for_each(|part| *part /= most);
        unclaimed /= most;
        let whole = parts.iter().sum::<f64>() + unclaimed;
        parts.iter_mut().for_each(|part| *part /= whole);
        Ok(Attention {
            parts,
            unclaimed: unclaimed / whole,
        })
    }

    /// The weight of an item in parts of its share: 1 where it got as much of the weights as it has of the tokens.
    pub(crate) fn ratio(&self, item: usize, tokens: u32, whole: u32) -> Option<f64> {
        let part = *self.parts.get(item)?;
        (tokens > 0).then(|| part * f64::from(whole.max(1)) / f64::from(tokens))
    }
}

/// The class of a piece that got so much of its share: from 0, ignored, to 4.
pub(crate) fn heat(ratio: f64) -> usize {
    let steps = [0.1, LITTLE, 1.5, 4.0];
    steps.iter().filter(|step| ratio >= **step).count()
}

/// A ratio in words.
pub(crate) fn times(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.005 {
        "<0.01× its share".to_owned()
    } else if ratio >= 100.0 {
        format!("{}× its share", grouped(ratio as u64))
    } else {
        format!("{ratio:.2}× its share")
    }
}
