//! Traffic through the gateway, added up: for whoever started it for one client and wants to know in the end.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure::Catalogue;
use tenure_workspace::records::{Bill, Ending, ExchangeRecord, Net};

/// The requests to models that went through a gateway, and what came of them.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Tally {
    /// The requests.
    pub requests: u64,
    /// The tokens that were taken out of them, as their providers count as far as that is known. What could not have
    /// been sent as it came is not among them.
    pub saved: u64,
    /// The tokens that were put into them.
    pub added: u64,
    /// The tokens of the input, as providers report them.
    pub input: u64,
    /// Those of them that were read from a cache.
    pub cache_read: u64,
    /// The tokens of answers.
    pub output: u64,
    /// The faults, by what they are.
    pub faults: BTreeMap<String, u64>,
    #[serde(skip)]
    bill: Bill,
}

impl Tally {
    /// Returns the share of the input that was read from a cache, where any was reported.
    pub fn cached_share(&self) -> Option<f64> {
        (self.input > 0).then(|| self.cache_read as f64 / self.input as f64)
    }

    /// Returns the cost of the requests, with an estimate of their cost as they came.
    pub fn net(&self) -> Net {
        self.bill.net()
    }

    pub(crate) fn add(&mut self, catalogue: &Catalogue, record: &ExchangeRecord) {
        self.requests += 1;
        let tokens = record.tokens();
        let saved = tokens.saved().filter(|_| !record.is_too_long());
        self.saved += saved.map_or(0, |saved| saved.tokens);
        self.bill.add(catalogue, record);
        self.added += tokens.added().map_or(0, |added| added.tokens);
        if let Some(usage) = record.usage {
            self.input += usage.input;
            self.cache_read += usage.cache_read;
            self.output += usage.output;
        }
        let refused = record.status.filter(|status| *status >= 400);
        let ended = match record.ending {
            Ending::Whole => refused.map(|status| format!("answered {status}")),
            Ending::ClientLeft => Some("left by the client".to_owned()),
            Ending::UpstreamBroke => Some("broken off by the provider".to_owned()),
            Ending::UpstreamFailed => Some("the provider was not reached".to_owned()),
            Ending::UpstreamSilent => Some("the provider was silent".to_owned()),
            Ending::Rejected => Some("answer rejected".to_owned()),
            Ending::Refused => Some("refused here".to_owned()),
        };
        let unmanaged = record
            .unmanaged
            .iter()
            .filter(|_| record.mode != "observe")
            .map(|why| format!("not managed: {why}"));
        let output = record.output.iter().map(|fault| format!("answer: {fault}"));
        for fault in ended.into_iter().chain(unmanaged).chain(output) {
            *self.faults.entry(fault).or_default() += 1;
        }
    }
}
