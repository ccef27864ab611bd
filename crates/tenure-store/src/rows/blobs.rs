//! Blobs: texts kept by their digests (originals of what was condensed, policies, the objects of files that records
//! name), and how an export writes them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tenure::{Digest, Error};

use crate::rows::engine::{Read, Write};
use crate::rows::tombstones::refuse_erased_blobs;

/// A text that is kept by its digest, as a line of an export.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextLine {
    /// The SHA-256 of its bytes.
    pub text_digest: Digest,
    /// Its text, where its bytes are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes in base64, where they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

impl TextLine {
    pub(crate) fn of(text_digest: Digest, bytes: Vec<u8>) -> TextLine {
        let (text, base64) = match String::from_utf8(bytes) {
            Ok(text) => (Some(text), None),
            Err(bytes) => (None, Some(STANDARD.encode(bytes.into_bytes()))),
        };
        TextLine {
            text_digest,
            text,
            base64,
        }
    }

    /// The bytes, which have the digest that the line says.
    fn bytes(self) -> Result<Vec<u8>, Error> {
        let digest = self.text_digest;
        let decoded = match (self.text, self.base64) {
            (Some(text), None) => Some(text.into_bytes()),
            (None, Some(coded)) => STANDARD.decode(coded).ok(),
            _ => None,
        };
        let bytes = decoded.ok_or_else(|| {
            Error::input(format!("the text {digest} cannot be read"))
                .expected("`text`, or `base64` if its bytes are not UTF-8")
        })?;
        if Digest::of(&bytes) != digest {
            return Err(Error::input(format!(
                "the text {digest} does not match its digest"
            )));
        }
        Ok(bytes)
    }
}

/// Blobs to keep, each the one that its digest says.
#[derive(Default)]
pub(crate) struct Blobs(Vec<(Digest, Vec<u8>)>);

impl Blobs {
    pub(crate) fn read(lines: Vec<TextLine>) -> Result<Blobs, Error> {
        lines
            .into_iter()
            .map(|line| Ok((line.text_digest, line.bytes()?)))
            .collect::<Result<_, _>>()
            .map(Blobs)
    }

    /// The digest of a request to write them together with a part that has the digest `rest`.
    pub(crate) fn asked_with(&self, rest: Digest) -> Digest {
        if self.0.is_empty() {
            return rest;
        }
        let own = self.0.iter().map(|(digest, _)| &digest.bytes()[..]);
        Digest::of_parts(std::iter::once(&rest.bytes()[..]).chain(own))
    }

    /// Writes them, within a write that other writers wait for: none of them is erased meanwhile.
    pub(crate) fn keep(&self, rows: &mut dyn Write) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        refuse_erased_blobs(rows, self.0.iter().map(|(digest, _)| *digest))?;
        let mut texts = self.0.iter();
        texts.try_for_each(|(digest, bytes)| rows.put_blob(*digest, bytes))
    }
}

/// Returns the text with this digest.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](tenure::ErrorKind::Damaged) when it no longer has that digest.
pub(crate) fn unaltered(rows: &mut dyn Read, digest: Digest) -> Result<Option<Vec<u8>>, Error> {
    let bytes = rows.blob(digest)?;
    if bytes.as_ref().is_some_and(|bytes| Digest::of(bytes) != digest) {
        return Err(Error::damaged(format!(
            "the stored text {digest} is damaged"
        )));
    }
    Ok(bytes)
}
