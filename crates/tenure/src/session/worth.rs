//! The gain of ending an epoch: the cost of the history as it stands, call after call, against that of writing it
//! again; and of how much of it is cut.

use serde::Serialize;

use crate::provider::catalogue::{Cost, Model, Price, PriceTier};

/// The cost of an epoch's calls as they were, and that of as many if it ended now.
///
/// No one knows how many calls follow. So as many are expected as the epoch has had, and what is read in vain
/// may cost as much as laying the history anew: with that rule both together cost at most twice the least, and the
/// least where the history grows evenly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Worth {
    /// The number of calls.
    pub calls: u32,
    /// The cost of their prefixes, read from the cache.
    pub keeping: Cost,
    /// The cost of shorter ones: written once, read from then on.
    pub ending: Cost,
}

impl Worth {
    /// Of requests of so many tokens each, where those that follow would have `after`. Nothing where the
    /// catalogue does not say what reading from the cache costs.
    ///
    /// ```
    /// use tenure::Catalogue;
    /// use tenure::session::Worth;
    /// let catalogue = Catalogue::builtin()?;
    /// let model = catalogue.model("claude-haiku-5-5")?;
    /// let of = |calls: usize| Worth::of(model, &vec![60_000; calls], 30_000).unwrap();
    /// assert!(!of(5).pays() && of(50).pays());
    /// // Beyond the tier's limit all of a request is dearer.
    /// assert!(Worth::of(model, &[120_000; 5], 60_000).unwrap().pays());
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn of(model: &Model, before: &[u32], after: u32) -> Option<Worth> {
        let read = |tokens: u32| Some(model.price_of(tokens)?.cache_read?.of(tokens));
        let all = |of: &dyn Fn(u32) -> u32| {
            let mut costs = before.iter().map(|tokens| read(of(*tokens)));
            costs.try_fold(Cost::default(), |sum, cost| Some(sum + cost?))
        };
        let anew = written(model.price_of(after)?)?.of(after);
        Some(Worth {
            calls: u32::try_from(before.len()).unwrap_or(u32::MAX),
            keeping: all(&|tokens| tokens)?,
            ending: all(&|tokens| tokens.min(after))? + anew.less(read(after)?),
        })
    }

    /// Returns whether ending the epoch is cheaper.
    pub fn pays(&self) -> bool {
        self.ending < self.keeping
    }
}

/// The price of what is written to the cache.
fn written(tier: &PriceTier) -> Option<Price> {
    tier.cache_write_5m.or(tier.cache_write).or(tier.input)
}

/// The epochs of a conversation that grows evenly: each request adds `step` tokens, and at `full` the history is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epochs {
    /// The tokens of a request that is full.
    pub full: u32,
    /// The tokens that a request adds to the one before.
    pub step: u32,
}

/// A deeper cut saves at least one part of so many.
const SAVES: u128 = 20;

impl Epochs {
    /// Returns whether a request costs at least a twentieth less, on average, where each cut leaves `deep` tokens
    /// instead of `shallow`: what is left is read by each request of the epoch and written by the first. Without
    /// prices it does not.
    ///
    /// ```
    /// use tenure::Catalogue;
    /// use tenure::session::Epochs;
    /// let catalogue = Catalogue::builtin()?;
    /// let epochs = Epochs { full: 150_000, step: 3_000 };
    /// // Written at 1.25 of the input's price, read at a tenth of it.
    /// assert!(epochs.pays(catalogue.model("claude-haiku-5-5")?, 60_000, 50_000));
    /// assert!(!epochs.pays(catalogue.model("claude-haiku-5-5")?, 60_000, 58_000));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn pays(self, model: &Model, shallow: u32, deep: u32) -> bool {
        self.cost(model, deep).zip(self.cost(model, shallow)).is_some_and(
            |((deep, of_deep), (shallow, of_shallow))| {
                let deep = deep.saturating_mul(of_shallow).saturating_mul(SAVES);
                deep <= shallow.saturating_mul(of_deep).saturating_mul(SAVES - 1)
            },
        )
    }

    /// The cost of an epoch whose first request has so many tokens, in picodollars, and the number of its requests.
    fn cost(self, model: &Model, first: u32) -> Option<(u128, u128)> {
        let tier = model.price_of(self.full)?;
        let read = tier.cache_read.or(tier.input)?;
        let requests = u128::from(self.full.saturating_sub(first) / self.step.max(1)).max(1);
        let average = read.of(self.full.midpoint(first)).picos();
        let anew = written(tier)?.of(first).less(read.of(first)).picos();
        Some((
            average.saturating_mul(requests).saturating_add(anew),
            requests,
        ))
    }
}
