//! What tells one write to a session from another.

use serde::{Deserialize, Serialize};
use tenure::object::clip;
use tenure::{Digest, Error, ErrorKind};

/// The longest key, in bytes: as in the rest of the store.
const MAX_KEY: usize = 256;

/// What tells one write from another, wherever it is sent from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Once {
    key: String,
    /// Who writes, where that is known: a key is its writer's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// Of what was asked for under it.
    asked: Digest,
    /// How many messages it added.
    #[serde(default)]
    pub(super) messages: u64,
}

impl Once {
    /// A write of this, under this key of whoever writes it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the key is empty or too long.
    pub fn new(key: &str, by: Option<&str>, asked: &[u8]) -> Result<Once, Error> {
        if key.is_empty() || key.len() > MAX_KEY {
            return Err(Error::input("the idempotency key is empty or too long")
                .expected(format!("1 to {MAX_KEY} bytes")));
        }
        Ok(Once {
            key: key.to_owned(),
            by: by.map(str::to_owned),
            asked: Digest::of(asked),
            messages: 0,
        })
    }

    /// The same, of so many messages.
    pub(super) fn of(self, messages: u64) -> Once {
        Once { messages, ..self }
    }

    /// The id of a session that this write makes and gives no id to.
    pub(super) fn session_id(&self) -> String {
        let digest = match &self.by {
            Some(by) => Digest::of_parts([by.as_bytes(), self.key.as_bytes()]),
            None => Digest::of(self.key.as_bytes()),
        };
        let digest = digest.to_string();
        let hex = digest.trim_start_matches("sha256:");
        format!("ses-{}", hex.get(..16).unwrap_or(hex))
    }

    /// Whether what was done is what is asked for now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when the key is the same, and what is asked for is not.
    pub(super) fn is_done_by(&self, done: &Once) -> Result<bool, Error> {
        let is_same = (&done.key, &done.by) == (&self.key, &self.by);
        if is_same && done.asked != self.asked {
            let what = format!(
                "the idempotency key `{}` was used for another write",
                clip(&self.key)
            );
            return Err(Error::new(ErrorKind::Conflict, what).expected("a key of its own"));
        }
        Ok(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_writers() {
        let once = |by: Option<&str>, asked: &str| Once::new("k", by, asked.as_bytes()).unwrap();
        let ada = once(Some("ada"), "x");
        assert!(ada.is_done_by(&once(Some("ada"), "x")).unwrap());
        assert!(ada.is_done_by(&once(Some("ada"), "y")).is_err());
        for other in [
            once(Some("bob"), "x"),
            once(Some("bob"), "y"),
            once(None, "x"),
        ] {
            assert!(!ada.is_done_by(&other).unwrap());
            assert_ne!(ada.session_id(), other.session_id());
        }
        assert_eq!(ada.session_id(), once(Some("ada"), "y").session_id());
        // What was written before writers were told apart is read.
        let digest = Digest::of(b"x");
        let before = format!(r#"{{"key":"k","asked":"{digest}","messages":2}}"#);
        let before: Once = serde_json::from_str(&before).unwrap();
        assert!(once(None, "x").is_done_by(&before).unwrap());
    }
}
