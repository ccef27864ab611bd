//! Money: what a request cost, and what beginning an epoch costs.

use tenure::Catalogue;
use tenure::catalogue::Cost;
use tenure_workspace::records::{ExchangeRecord, tier};

pub(crate) use tenure_workspace::records::spent;

/// The cost of a request of the gateway.
pub(crate) fn of_exchange(catalogue: &Catalogue, record: &ExchangeRecord) -> Option<Cost> {
    record.cost(catalogue)
}

/// The excess that sending these tokens again costs over reading them from the cache.
pub(crate) fn rewritten(
    catalogue: &Catalogue,
    record: &ExchangeRecord,
    tokens: u64,
) -> Option<Cost> {
    let sent = record.tokens().sent.map_or(0, |sent| sent.tokens);
    let tier = tier(catalogue, model(record)?, sent)?;
    let tokens = record.in_its_unit(tokens).tokens;
    let input = tier.cache_write_5m.or(tier.cache_write).or(tier.input)?;
    let read = tier.cache_read.or(tier.input)?;
    Some(input.of(small(tokens)).less(read.of(small(tokens))))
}

fn model(record: &ExchangeRecord) -> Option<&str> {
    record.resolved_model.as_deref().or(record.model.as_deref())
}

fn small(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}
