//! The cost of requests, as their providers count them.

use tenure::Catalogue;
use tenure::catalogue::{Cost, PriceTier};
use tenure::trace::ProviderUsage;

/// The cost of a request as its provider counts it, where the model's prices are known.
pub fn spent(catalogue: &Catalogue, model: &str, usage: &ProviderUsage) -> Option<Cost> {
    let tier = tier(catalogue, model, usage.input)?;
    let input = tier.input?;
    let cached = usage.cache_read.saturating_add(usage.cache_write);
    let fresh = usage.input.saturating_sub(cached);
    let write = tier.cache_write_5m.or(tier.cache_write).unwrap_or(input);
    let parts = [
        (Some(input), fresh),
        (Some(tier.cache_read.unwrap_or(input)), usage.cache_read),
        (Some(write), usage.cache_write),
        (tier.output, usage.output),
    ];
    let costs = parts.map(|(price, tokens)| price.map(|price| price.of(small(tokens))));
    let costs = costs.into_iter().flatten();
    Some(costs.fold(Cost::default(), |sum, cost| sum + cost))
}

/// The prices of a model for an input of so many tokens, where they are known.
pub fn tier<'c>(catalogue: &'c Catalogue, model: &str, input: u64) -> Option<&'c PriceTier> {
    let name = catalogue.resolve(model)?.name;
    catalogue.model(name).ok()?.price_of(small(input))
}

fn small(tokens: u64) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_costs_what_its_parts_do() {
        let prices = r#"
            models.gpt-4o.prices = [{ above_tokens = 0, input = "2.00", output = "8.00", cache_read = "0.50" }]
        "#;
        let catalogue = Catalogue::builtin()
            .unwrap()
            .with_overrides(prices, "prices.toml")
            .unwrap();
        let usage = ProviderUsage {
            input: 1_000_000,
            cache_read: 400_000,
            cache_write: 0,
            output: 100_000,
        };
        let cost = spent(&catalogue, "gpt-4o", &usage).unwrap();
        assert_eq!(cost.to_string(), "2.20");
        assert_eq!(spent(&catalogue, "of nobody's family", &usage), None);
    }
}
