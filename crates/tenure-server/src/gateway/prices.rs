//! The tokens of texts that came before: agents send their whole history with each request.

use hashlink::LruCache;
use tenure::answer::RequestBody;
use tenure::{Digest, World};

/// Texts of fewer bytes are counted sooner than found.
const SHORT: usize = 256;
/// The most prices that are remembered: a few MiB.
const PRICES: usize = 64 << 10;

/// The tokens of long texts, by the vocabulary and the digest of the text.
pub(super) struct Prices(LruCache<Digest, u32>);

impl Default for Prices {
    fn default() -> Prices {
        Prices(LruCache::new(PRICES))
    }
}

impl Prices {
    /// Returns the tokens of a request's texts, tools and calls.
    pub(super) fn tokens(&mut self, world: &World, body: &RequestBody) -> u64 {
        let texts = body.texts();
        texts.iter().map(|text| u64::from(self.of(world, text))).sum()
    }

    fn of(&mut self, world: &World, text: &str) -> u32 {
        if text.len() < SHORT {
            return world.price(text);
        }
        let key = Digest::of_parts([world.model_name().as_bytes(), text.as_bytes()]);
        if let Some(price) = self.0.get(&key) {
            return *price;
        }
        let price = world.price(text);
        self.0.insert(key, price);
        price
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_came_before_costs_what_it_did() {
        let workspace =
            tenure_workspace::Workspace::new(tenure::FrameKey::new("test", [7; 32])).unwrap();
        let worlds = ["gpt-4o", "gpt-4"].map(|model| workspace.world(model).unwrap());
        let long = |at: usize| format!("Pump {at} is warm, unlike the others. ").repeat(9);
        let mut prices = Prices::default();
        for world in worlds.iter().chain(&worlds) {
            for text in ["", "short", &long(1), &long(2)] {
                assert_eq!(prices.of(world, text), world.price(text), "{text}");
            }
        }
        assert_eq!(prices.0.len(), 4);
        // What is asked for again stays, however much comes between.
        for at in 0..3 * PRICES {
            prices.0.insert(Digest::of(&at.to_le_bytes()), 0);
            prices.of(&worlds[0], &long(1));
            assert!(prices.0.len() <= PRICES);
        }
        let first = &worlds[0];
        let key = Digest::of_parts([first.model_name().as_bytes(), long(1).as_bytes()]);
        assert!(prices.0.contains_key(&key));
    }

    #[test]
    fn a_request_costs_what_its_texts_do() {
        let world = World::for_model("gpt-4o", tenure::FrameKey::new("test", [7; 32])).unwrap();
        let body = RequestBody::read(
            br#"{"tools":[{"name":"look"}],"messages":[{"role":"system","content":"Be brief."}]}"#,
        );
        let expected = world.price("Be brief.") + world.price(r#"{"name":"look"}"#);
        let tokens = Prices::default().tokens(&world, &body);
        assert_eq!(tokens, u64::from(expected));
    }
}
