//! The cost of requests as their providers count them, with an estimate of their cost as they came.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure::Catalogue;
use tenure::catalogue::{Cost, PriceTier};
use tenure::trace::ProviderUsage;

use super::{Ending, ExchangeRecord};

/// The most conversations whose last request is remembered.
const CONVERSATIONS: usize = 4_096;
/// Picodollars in a dollar.
const PICOS: f64 = 1e12;

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
    let costs = parts
        .map(|(price, tokens)| price.map(|price| price.of(small(tokens))))
        .into_iter()
        .flatten();
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

impl ExchangeRecord {
    /// The model whose prices count.
    fn priced(&self) -> Option<&str> {
        self.resolved_model.as_deref().or(self.model.as_deref())
    }

    /// True if earlier requests of its conversation went to the provider.
    fn goes_on(&self) -> bool {
        self.compile.as_ref().is_some_and(|compile| compile.goes_on)
    }

    /// The cost of the request and its answer by its provider's report, where its model's prices are known.
    pub fn cost(&self, catalogue: &Catalogue) -> Option<Cost> {
        spent(catalogue, self.priced()?, self.usage.as_ref()?)
    }
}

/// The cost of requests as they were sent, beside an estimate of what they would have cost as they came.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Net {
    /// The requests that could have been sent as they came, and whose prices are known.
    pub compared: u64,
    /// Their cost as they were sent, as the provider reports it.
    #[serde(skip_serializing_if = "is_nothing")]
    pub cost: Cost,
    /// The estimate of their cost as they came.
    #[serde(skip_serializing_if = "is_nothing")]
    pub estimate_as_they_came: Cost,
    /// Those of them whose tokens went on as they came.
    pub unchanged: u64,
    /// The requests that could not have been sent as they came: their history had passed the window.
    pub too_long: u64,
    /// The cost of these as they were sent.
    #[serde(skip_serializing_if = "is_nothing")]
    pub cost_of_too_long: Cost,
    /// The requests that were answered and of which a price, the usage or a count is not known.
    pub unknown: u64,
}

fn is_nothing(cost: &Cost) -> bool {
    *cost == Cost::default()
}

impl Net {
    /// The sentences that say what is known, without a full stop.
    pub fn sentences(&self) -> Vec<String> {
        let mut said = Vec::new();
        let requests = |count: u64| match count {
            1 => "1 request".to_owned(),
            count => format!("{count} requests"),
        };
        if self.compared > 0 && self.unchanged == self.compared {
            let all = requests(self.compared);
            let cost = dollars(self.cost);
            said.push(format!(
                "{all} cost {cost} as sent: they went on as they came"
            ));
        } else if self.compared > 0 {
            let (cost, came) = (self.cost, self.estimate_as_they_came);
            let saved = came.less(cost);
            let net = match cost.less(came) {
                more if !is_nothing(&more) => format!("{} more", dollars(more)),
                _ => format!("{} saved", dollars(saved)),
            };
            said.push(format!(
                "{} cost {} as sent; as they came, about {} (an estimate, with what stood in the request before read from the cache): {net}",
                requests(self.compared),
                dollars(cost),
                dollars(came),
            ));
        }
        if self.too_long > 0 {
            let cost = match self.cost_of_too_long {
                cost if is_nothing(&cost) => String::new(),
                cost => format!(", and cost {} as sent", dollars(cost)),
            };
            said.push(format!(
                "{} could not have been sent: the history as it came had passed the window{cost}",
                requests(self.too_long),
            ));
        }
        if self.unknown > 0 && self.compared + self.too_long > 0 {
            let all = requests(self.unknown);
            said.push(format!(
                "of {all} the price, the usage or the count is not known"
            ));
        }
        said
    }
}

/// An amount to a hundredth of a cent.
fn dollars(cost: Cost) -> String {
    format!("${:.4}", cost.picos() as f64 / PICOS)
}

/// A request that came before another of its conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Before {
    model: Option<String>,
    /// Its tokens as it came, in the provider's.
    came: u64,
    /// True if its provider reported anything of a cache so far.
    caches: bool,
}

/// Adds up requests, in the order in which they came.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bill {
    net: Net,
    /// The last request of each conversation.
    before: BTreeMap<String, Before>,
}

impl Bill {
    /// The cost of these requests, given in the order in which they came.
    pub fn of<'r>(
        catalogue: &Catalogue,
        records: impl IntoIterator<Item = &'r ExchangeRecord>,
    ) -> Net {
        let mut bill = Bill::default();
        for record in records {
            bill.add(catalogue, record);
        }
        bill.net
    }

    /// The cost of the requests so far.
    pub fn net(&self) -> Net {
        self.net
    }

    /// Adds the next request.
    pub fn add(&mut self, catalogue: &Catalogue, record: &ExchangeRecord) {
        let is_refused = record.status.is_none_or(|status| status >= 400);
        if record.ending == Ending::Refused || is_refused {
            return;
        }
        let tokens = record.tokens();
        let before = record.session.as_ref().and_then(|session| self.before.get(session)).cloned();
        let used = record.usage.unwrap_or_default();
        let caches = used.cache_read > 0
            || used.cache_write > 0
            || before.as_ref().is_some_and(|before| before.caches);
        let cost = record.cost(catalogue);
        let net = &mut self.net;
        match (tokens.came, cost) {
            (_, cost) if record.is_too_long() => {
                net.too_long += 1;
                net.cost_of_too_long = net.cost_of_too_long + cost.unwrap_or_default();
            }
            (came, Some(cost)) if came == tokens.sent => {
                net.compared += 1;
                net.unchanged += 1;
                net.cost = net.cost + cost;
                net.estimate_as_they_came = net.estimate_as_they_came + cost;
            }
            // What stood in the request before is not known here.
            _ if before.is_none() && record.goes_on() => net.unknown += 1,
            (Some(came), Some(cost)) => {
                let common = before
                    .filter(|before| before.model == record.model)
                    .map_or(0, |before| before.came.min(came.tokens));
                let (read, written) = if caches {
                    (common, came.tokens - common)
                } else {
                    (0, 0)
                };
                let as_it_came = ProviderUsage {
                    input: came.tokens,
                    cache_read: read,
                    cache_write: written,
                    output: used.output,
                };
                let priced = record.priced();
                let estimate = priced.and_then(|model| spent(catalogue, model, &as_it_came));
                net.compared += 1;
                net.cost = net.cost + cost;
                net.estimate_as_they_came =
                    net.estimate_as_they_came + estimate.unwrap_or_default();
            }
            _ => net.unknown += 1,
        }
        if let Some((session, came)) = record.session.clone().zip(tokens.came) {
            let last = Before {
                model: record.model.clone(),
                came: came.tokens,
                caches,
            };
            self.before.insert(session, last);
        }
        // A server adds up for as long as it runs.
        if self.before.len() > CONVERSATIONS {
            self.before.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_costs_what_its_parts_do() {
        let prices = r#"
            models.gpt-4o.prices = [{ above_tokens = 0, input = "2.00", output = "8.00", cache_read = "0.50" }]
        "#;
        let catalogue =
            Catalogue::builtin().unwrap().with_overrides(prices, "prices.toml").unwrap();
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

    /// A request of a session: as it came, as it was sent, both by a count that is exact, and its usage: input, read
    /// from the cache, written to it.
    fn request(tokens: (u64, u64), room: u64, usage: (u64, u64, u64)) -> ExchangeRecord {
        let (came, sent) = tokens;
        let (input, cache_read, cache_write) = usage;
        let record = serde_json::json!({
            "version": 1, "record_id": "gw-1", "at": "2026-01-01T00:00:00Z", "mode": "fit", "protocol": "anthropic",
            "path": "/v1/messages", "model": "gpt-4o", "session": "s", "request_bytes": 9, "sent_bytes": 3,
            "response_bytes": 1, "latency_us": 1, "ending": "whole", "status": 200, "count": "exact",
            "request_tokens": came, "sent_tokens": sent, "room": room,
            "usage": { "input": input, "cache_read": cache_read, "cache_write": cache_write, "output": 0 },
        });
        serde_json::from_value(record).unwrap()
    }

    fn priced() -> Catalogue {
        let prices = r#"
            models.gpt-4o.prices = [{ above_tokens = 0, input = "1.00", output = "8.00", cache_read = "0.10", cache_write = "1.25" }]
        "#;
        let catalogue = Catalogue::builtin().unwrap();
        catalogue.with_overrides(prices, "prices.toml").unwrap()
    }

    #[test]
    fn what_a_cut_saves_is_less_what_it_sends_again() {
        // 100,000 tokens were held; the cut sends 40,000 new ones, where 120,000 came, of which 100,000 stood before.
        let requests = [
            request((100_000, 100_000), 200_000, (100_000, 0, 100_000)),
            request((120_000, 40_000), 200_000, (40_000, 0, 40_000)),
        ];
        let net = Bill::of(&priced(), &requests);
        assert_eq!((net.compared, net.unchanged, net.too_long), (2, 1, 0));
        assert_eq!(net.cost.to_string(), "0.175");
        // 100,000 read for 1 cent, 20,000 written for 2.5: the cut cost 1.5 cents more.
        assert_eq!(net.estimate_as_they_came.to_string(), "0.16");
        let said = net.sentences();
        assert!(
            said[0].contains("$0.1750 as sent") && said[0].ends_with("$0.0150 more"),
            "{said:?}"
        );
        // Without a cache each token that is not sent is a saving.
        let uncached = requests.map(|record| {
            let input = record.sent_tokens.unwrap();
            request(
                (record.request_tokens.unwrap(), input),
                200_000,
                (input, 0, 0),
            )
        });
        let said = Bill::of(&priced(), &uncached).sentences();
        assert!(said[0].ends_with("$0.0800 saved"), "{said:?}");
    }

    #[test]
    fn what_could_not_have_been_sent_saves_nothing() {
        let requests = [
            request((190_000, 190_000), 200_000, (190_000, 0, 190_000)),
            request((400_000, 100_000), 200_000, (100_000, 0, 100_000)),
            request((410_000, 110_000), 200_000, (110_000, 100_000, 10_000)),
        ];
        let net = Bill::of(&priced(), &requests);
        assert_eq!((net.compared, net.unchanged, net.too_long), (1, 1, 2));
        assert_eq!(net.cost, net.estimate_as_they_came);
        let said = net.sentences();
        assert_eq!(
            said[1],
            "2 requests could not have been sent: the history as it came had passed the window, and cost $0.1475 as sent"
        );
        assert!(!said.concat().contains("saved"), "{said:?}");
    }

    #[test]
    fn no_money_is_named_where_prices_are_unknown() {
        let mut one = request((120_000, 40_000), 200_000, (40_000, 0, 40_000));
        one.model = Some("of nobody's family".into());
        let net = Bill::of(&priced(), &[one.clone()]);
        assert_eq!((net.unknown, net.sentences()), (1, Vec::new()));
        // What was refused, or never answered, cost nothing.
        for status in [None, Some(429)] {
            let failed = ExchangeRecord {
                status,
                ..one.clone()
            };
            assert_eq!(Bill::of(&priced(), &[failed]), Net::default());
        }
    }
}
