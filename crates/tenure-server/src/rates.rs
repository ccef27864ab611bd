//! Rates: a bucket for each tenant that fills steadily says how often it may ask. Off unless it is set.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The most tenants that are told apart; beyond, full buckets are forgotten.
const MAX_BUCKETS: usize = 10_000;

/// The buckets of one node.
pub(crate) struct Rates {
    per_minute: Option<u32>,
    buckets: Mutex<BTreeMap<Arc<str>, Bucket>>,
}

struct Bucket {
    /// The rest in it, as the time that it took to fill.
    left: Duration,
    at: Instant,
}

impl Rates {
    pub(crate) fn new(per_minute: Option<u32>) -> Rates {
        Rates {
            per_minute: per_minute.filter(|rate| *rate > 0),
            buckets: Mutex::default(),
        }
    }

    /// Takes one request of a tenant, or returns the time after which it may ask again. A tenant that was quiet
    /// may ask for a minute's worth at once.
    pub(crate) fn take(&self, tenant: &Arc<str>, now: Instant) -> Result<(), Duration> {
        let Some(rate) = self.per_minute else {
            return Ok(());
        };
        let whole = Duration::from_secs(60);
        let one = whole / rate;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(tenant) {
            buckets.retain(|_, bucket| bucket.left + now.duration_since(bucket.at) < whole);
        }
        let bucket = buckets.entry(Arc::clone(tenant)).or_insert(Bucket {
            left: whole,
            at: now,
        });
        let left = whole.min(bucket.left + now.duration_since(bucket.at));
        bucket.at = now;
        match left.checked_sub(one) {
            Some(rest) => {
                bucket.left = rest;
                Ok(())
            }
            None => {
                bucket.left = left;
                Err(one - left)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_fills_steadily_and_is_its_tenants_own() {
        let rates = Rates::new(Some(60));
        let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
        let start = Instant::now();
        for _ in 0..60 {
            assert!(rates.take(&a, start).is_ok());
        }
        assert_eq!(rates.take(&a, start), Err(Duration::from_secs(1)));
        assert!(rates.take(&b, start).is_ok());
        let later = start + Duration::from_secs(2);
        assert!(rates.take(&a, later).is_ok() && rates.take(&a, later).is_ok());
        assert!(rates.take(&a, later).is_err());
    }

    #[test]
    fn nothing_is_limited_unless_it_is_set() {
        let rates = Rates::new(None);
        let tenant = "a".into();
        let now = Instant::now();
        assert!((0..10_000).all(|_| rates.take(&tenant, now).is_ok()));
    }
}
