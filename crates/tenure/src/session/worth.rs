//! The gain of ending an epoch: the cost of the history as it stands, call after call, against that of writing it
//! again.

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
        let write = |tier: &PriceTier| -> Option<Price> {
            tier.cache_write_5m.or(tier.cache_write).or(tier.input)
        };
        let all = |of: &dyn Fn(u32) -> u32| {
            let mut costs = before.iter().map(|tokens| read(of(*tokens)));
            costs.try_fold(Cost::default(), |sum, cost| Some(sum + cost?))
        };
        let anew = write(model.price_of(after)?)?.of(after);
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
