//! The handling of a request, as the metrics and the log tell it.

use axum::http::{HeaderMap, header};
use serde_json::{Value, json};

use super::fitted::Fitted;
use crate::telemetry::log::bounded;
use crate::telemetry::metrics::Metrics;

/// The longest name of a client that is kept, in bytes.
const MAX_CLIENT: usize = 128;

/// The handling of a request, in words of this server alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handling {
    mode: &'static str,
    /// True if any of its messages no longer stands as it was said.
    cut: bool,
    saved: u64,
    added: u64,
    /// Code of the reason for which it was not managed.
    fault: Option<&'static str>,
}

impl Handling {
    pub(super) fn of(mode: &'static str, fitted: &Fitted) -> Handling {
        Handling {
            mode,
            cut: fitted.cut,
            saved: fitted.saved,
            added: fitted.added,
            fault: fitted.unmanaged.map(|why| why.code()),
        }
    }

    /// Counts the request.
    pub(super) fn count(&self, metrics: &Metrics) {
        let cut = if self.cut { "yes" } else { "no" };
        metrics.handled(self.mode, cut, self.fault.unwrap_or("none"));
    }

    /// Returns its fields in a line of the log.
    pub(crate) fn fields(self) -> Value {
        json!({
            "mode": self.mode,
            "cut": self.cut,
            "saved": self.saved,
            "added": self.added,
            "fault": self.fault,
        })
    }
}

/// Returns the client that a request names.
pub(super) fn client(headers: &HeaderMap) -> Option<String> {
    let bytes = headers.get(header::USER_AGENT)?.as_bytes();
    // No longer text is made of a long name.
    let named = String::from_utf8_lossy(bytes.get(..4 * MAX_CLIENT).unwrap_or(bytes));
    Some(bounded(named.trim(), MAX_CLIENT).into_owned()).filter(|named| !named.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use tenure_workspace::relay::Unmanaged;

    #[test]
    fn a_line_of_the_log_says_what_was_done() {
        let mut fitted = Fitted {
            cut: true,
            saved: 7,
            added: 2,
            ..Fitted::default()
        };
        let cut = Handling::of("fit", &fitted).fields();
        let expected = json!({ "mode": "fit", "cut": true, "saved": 7, "added": 2, "fault": null });
        assert_eq!(cut, expected);
        fitted.unmanaged = Some(Unmanaged::DoesNotFit);
        assert_eq!(
            Handling::of("fit", &fitted).fields()["fault"],
            "does_not_fit"
        );
    }

    #[test]
    fn a_client_is_what_it_calls_itself_and_no_longer() {
        let named = |bytes: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(header::USER_AGENT, HeaderValue::from_bytes(bytes).unwrap());
            client(&headers)
        };
        assert_eq!(client(&HeaderMap::new()), None);
        assert_eq!(named(b"  "), None);
        assert_eq!(named(b"claude-cli/2.1 (x)").unwrap(), "claude-cli/2.1 (x)");
        let long = named("é".repeat(40_000).as_bytes()).unwrap();
        assert!(
            long.len() <= MAX_CLIENT + 4 && long.ends_with('…'),
            "{long}"
        );
        assert!(named(b"a\xff\xfeb").unwrap().starts_with('a'));
    }
}
