//! The idempotency key of a write to a session.

use serde::{Deserialize, Serialize};
use tenure::object::clip;
use tenure::{Digest, Error, ErrorKind};

/// An idempotency key, with the writer and the request that it stands for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdempotencyKey {
    key: String,
    /// The writer, where known: a key is its writer's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// The digest of the request under it.
    asked: Digest,
    /// The number of messages that it added.
    #[serde(default)]
    pub(super) messages: u64,
}

impl IdempotencyKey {
    /// Returns the key of a writer for a write of these bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when the key is empty or too long.
    pub fn new(key: &str, by: Option<&str>, asked: &[u8]) -> Result<IdempotencyKey, Error> {
        tenure_store::check_key(key)?;
        Ok(IdempotencyKey {
            key: key.to_owned(),
            by: by.map(str::to_owned),
            asked: Digest::of(asked),
            messages: 0,
        })
    }

    /// The same, for a write of this many messages.
    pub(super) fn of(self, messages: u64) -> IdempotencyKey {
        IdempotencyKey { messages, ..self }
    }

    /// The id of a session that this write makes without naming one.
    pub(super) fn session_id(&self) -> String {
        let digest = match &self.by {
            Some(by) => Digest::of_parts([by.as_bytes(), self.key.as_bytes()]),
            None => Digest::of(self.key.as_bytes()),
        }
        .to_string();
        let hex = digest.trim_start_matches("sha256:");
        format!("ses-{}", hex.get(..16).unwrap_or(hex))
    }

    /// Returns whether this write repeats the one that was done.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] when the key is the same and the request is not.
    pub(super) fn is_repeat_of(&self, done: &IdempotencyKey) -> Result<bool, Error> {
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
        let once =
            |by: Option<&str>, asked: &str| IdempotencyKey::new("k", by, asked.as_bytes()).unwrap();
        let ada = once(Some("ada"), "x");
        assert!(ada.is_repeat_of(&once(Some("ada"), "x")).unwrap());
        assert!(ada.is_repeat_of(&once(Some("ada"), "y")).is_err());
        for other in [
            once(Some("bob"), "x"),
            once(Some("bob"), "y"),
            once(None, "x"),
        ] {
            assert!(!ada.is_repeat_of(&other).unwrap());
            assert_ne!(ada.session_id(), other.session_id());
        }
        assert_eq!(ada.session_id(), once(Some("ada"), "y").session_id());
        // What was written before writers were told apart is read.
        let digest = Digest::of(b"x");
        let before = format!(r#"{{"key":"k","asked":"{digest}","messages":2}}"#);
        let before: IdempotencyKey = serde_json::from_str(&before).unwrap();
        assert!(once(None, "x").is_repeat_of(&before).unwrap());
    }
}
