//! The tokens of a request, in its provider's unit as far as that is known: as it came, and as it was sent.
//!
//! A count made here may be a bound, which a provider's own count is far below. So every face asks this file alone,
//! and a number never stands without how sure it is.

use std::fmt;

use serde::Serialize;
use tenure::CountKind;

use super::ExchangeRecord;

/// Without a margin.
const WHOLE: u64 = 100;

/// The party that a number of tokens is of, from the surest on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CountedBy {
    /// The provider, in its report of this request.
    Provider,
    /// The model's own vocabulary, over the texts.
    Vocabulary,
    /// Our count, scaled by what the provider reported of this request or of earlier ones.
    Calibrated,
    /// Our upper bound.
    AtMost,
}

/// A number of tokens, and how sure it is. It is written with that: `about 1,200`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Count {
    /// The number.
    pub tokens: u64,
    /// Its origin.
    pub by: CountedBy,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.by {
            CountedBy::Provider | CountedBy::Vocabulary => "",
            CountedBy::Calibrated => "about ",
            CountedBy::AtMost => "at most ",
        })?;
        f.pad(&grouped(self.tokens))
    }
}

/// The digits of a number in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The tokens of a request. What is not known is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Tokens {
    /// As it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub came: Option<Count>,
    /// As it was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<Count>,
}

impl Tokens {
    /// The tokens that were taken out, less those that were put in; 0 where more were put in.
    pub fn saved(&self) -> Option<Count> {
        self.apart(|came, sent| came.saturating_sub(sent))
    }

    /// The tokens that were put in, less those that were taken out; 0 where more were taken out.
    pub fn added(&self) -> Option<Count> {
        self.apart(|came, sent| sent.saturating_sub(came))
    }

    /// A difference is no surer than either side.
    fn apart(&self, of: fn(u64, u64) -> u64) -> Option<Count> {
        let (came, sent) = self.came.zip(self.sent)?;
        Some(Count {
            tokens: of(came.tokens, sent.tokens),
            by: came.by.max(sent.by),
        })
    }
}

/// Our tokens, a margin of `margin_percent` included, where the provider counts at most `percent` for a hundred of the
/// vocabulary's.
pub(crate) fn calibrated(tokens: u64, margin_percent: u32, percent: Option<u32>) -> u64 {
    let ours = WHOLE + u64::from(margin_percent);
    percent.map_or(tokens, |percent| scaled(tokens, u64::from(percent), ours))
}

fn scaled(tokens: u64, by: u64, of: u64) -> u64 {
    let scaled = u128::from(tokens) * u128::from(by) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

impl ExchangeRecord {
    /// The tokens of the request as it came and as it was sent: as its provider counts them where it said so, else by
    /// what it reported of earlier requests, else at most so many.
    ///
    /// Where the provider counted what was sent, what came is our count of it, scaled as the provider's count of what
    /// was sent is to ours.
    pub fn tokens(&self) -> Tokens {
        let reported =
            self.usage
                .map(|usage| usage.input)
                .filter(|input| *input > 0)
                .map(|tokens| Count {
                    tokens,
                    by: CountedBy::Provider,
                });
        let sent = reported.or_else(|| Some(self.in_its_unit(self.sent_tokens?)));
        let is_as_long = self.sent_tokens.is_some() && self.sent_tokens == self.request_tokens;
        let came = if is_as_long || self.is_as_it_came() {
            sent
        } else if reported.is_some() && self.sent_tokens.is_none_or(|sent| sent == 0) {
            // Two numbers of different units have no difference.
            None
        } else {
            self.request_tokens.map(|came| self.in_its_unit(came))
        };
        Tokens { came, sent }
    }

    /// Returns whether its provider would not have taken it as it came: its history had passed the window.
    pub fn is_too_long(&self) -> bool {
        let tokens = self.tokens();
        tokens
            .came
            .filter(|_| tokens.came != tokens.sent)
            .zip(self.room)
            .is_some_and(|(came, room)| came.tokens > room)
    }

    /// A number of tokens that were counted here for this request, as its provider would count them, as far as that is known.
    pub fn in_its_unit(&self, tokens: u64) -> Count {
        let reported = self.usage.map_or(0, |usage| usage.input);
        let (tokens, by) = match (self.sent_tokens, self.calibrated_percent, self.count) {
            (Some(sent), _, _) if sent > 0 && reported > 0 => {
                (scaled(tokens, reported, sent), CountedBy::Calibrated)
            }
            (_, percent @ Some(_), _) if self.margin_percent.is_some() => {
                let margin = self.margin_percent.unwrap_or(0);
                (calibrated(tokens, margin, percent), CountedBy::Calibrated)
            }
            (_, _, Some(CountKind::Exact | CountKind::Published)) => {
                (tokens, CountedBy::Vocabulary)
            }
            _ => (tokens, CountedBy::AtMost),
        };
        Count { tokens, by }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A record of a request that was cut from 472,877 of our tokens to 156,222, with these fields besides.
    fn cut(more: Value) -> ExchangeRecord {
        let mut record = json!({
            "version": 1, "record_id": "gw-1", "at": "2026-01-01T00:00:00Z", "mode": "fit", "protocol": "anthropic",
            "path": "/v1/messages", "request_bytes": 9, "sent_bytes": 3, "response_bytes": 1, "latency_us": 1,
            "ending": "whole", "request_tokens": 472_877, "sent_tokens": 156_222, "count": "bounded", "saved": 316_418,
        });
        let fields = record.as_object_mut().unwrap();
        fields.extend(more.as_object().cloned().unwrap());
        serde_json::from_value(record).unwrap()
    }

    fn shown(record: &ExchangeRecord) -> [String; 3] {
        let tokens = record.tokens();
        [tokens.came, tokens.sent, tokens.saved()]
            .map(|count| count.map_or_else(String::new, |count| count.to_string()))
    }

    #[test]
    fn a_number_says_how_sure_it_is_and_the_surest_is_taken() {
        let usage = json!({ "input": 96_574, "cache_read": 0, "cache_write": 0, "output": 10 });
        let known = cut(json!({ "usage": usage, "calibrated_percent": 125, "margin_percent": 70 }));
        assert_eq!(
            shown(&known),
            ["about 292,325", "96,574", "about 195,751"],
            "the provider's count of what was sent is the unit of all three"
        );
        let learned = cut(json!({ "calibrated_percent": 110, "margin_percent": 70 }));
        assert_eq!(
            shown(&learned),
            ["about 305,979", "about 101,084", "about 204,895"]
        );
        // Older records do not say what margin they count with.
        let older = cut(json!({ "calibrated_percent": 110 }));
        assert_eq!(
            shown(&older),
            ["at most 472,877", "at most 156,222", "at most 316,655"]
        );
        let own = cut(json!({ "count": "published" }));
        assert_eq!(shown(&own), ["472,877", "156,222", "316,655"]);
    }

    #[test]
    fn numbers_of_two_units_have_no_difference() {
        let usage = json!({ "input": 96_574, "cache_read": 0, "cache_write": 0, "output": 10 });
        for sent in [Value::Null, json!(0)] {
            let record = cut(json!({ "usage": usage, "sent_tokens": sent }));
            assert_eq!(shown(&record), ["", "96,574", ""]);
        }
        // A provider that reports nothing counts nothing.
        let silent = json!({ "input": 0, "cache_read": 0, "cache_write": 0, "output": 10 });
        assert_eq!(
            shown(&cut(json!({ "usage": silent })))[1],
            "at most 156,222"
        );
    }

    #[test]
    fn a_request_that_was_not_changed_came_as_its_provider_counts_it() {
        let digest = tenure::Digest::of(b"x");
        let usage = json!({ "input": 7, "cache_read": 0, "cache_write": 0, "output": 1 });
        let record = cut(json!({
            "usage": usage, "sent_tokens": 12, "request_tokens": 12, "sent_digest": digest, "request_digest": digest,
        }));
        assert_eq!(shown(&record), ["7", "7", "0"]);
        let added = record.tokens().added().unwrap();
        assert_eq!((added.tokens, added.by), (0, CountedBy::Provider));
    }

    #[test]
    fn no_report_is_too_large_to_be_scaled() {
        let usage = json!({ "input": u64::MAX, "cache_read": 0, "cache_write": 0, "output": 1 });
        let tokens = cut(json!({ "usage": usage })).tokens();
        assert_eq!(tokens.came.unwrap().tokens, u64::MAX);
    }
}
