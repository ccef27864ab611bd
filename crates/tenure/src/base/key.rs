//! The key that boundaries of frames, ids of originals and capabilities are made with.

use std::fmt;

use crate::base::digest::{Digest, mac};

/// The key that boundaries are made with, under an id that requests may name.
#[derive(Clone, PartialEq, Eq)]
pub struct FrameKey {
    id: String,
    secret: [u8; 32],
}

impl FrameKey {
    /// A key under this id.
    pub fn new(id: impl Into<String>, secret: [u8; 32]) -> FrameKey {
        FrameKey {
            id: id.into(),
            secret,
        }
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns a digest that stands for the key in the world's; the secret cannot be found from it.
    pub(crate) fn digest(&self) -> Digest {
        Digest::from_bytes(self.mac(&[b"tenure frame key digest"]))
    }

    pub(crate) fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        mac(&self.secret, parts)
    }

    /// The boundary for this content in this section: 16 hexadecimal digits that `body` does not
    /// contain.
    pub(crate) fn boundary(&self, section: &str, content: Digest, body: &str) -> String {
        let mut attempt = 0u32;
        loop {
            let mac = self.mac(&[section.as_bytes(), content.bytes(), &attempt.to_le_bytes()]);
            let boundary: String = mac[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            if !body.contains(&boundary) {
                return boundary;
            }
            attempt += 1;
        }
    }
}

impl fmt::Debug for FrameKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FrameKey({})", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_in_the_content_is_not_used() {
        let key = FrameKey::new("test", [7; 32]);
        let digest = Digest::of(b"x");
        let first = key.boundary("evidence", digest, "");
        assert_ne!(key.boundary("evidence", digest, &first), first);
    }
}
