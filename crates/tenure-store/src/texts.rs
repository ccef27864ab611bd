//! Texts that are kept by their digests, as lines of an export: originals of what was condensed, policies, and
//! the objects of files that records name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tenure::{Digest, Error};

use crate::buried::refuse_buried_blobs;
use crate::engine::{Read, Write};

/// A text that is kept by its digest, as a line of an export.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextLine {
    /// The SHA-256 of its bytes.
    pub text_digest: Digest,
    /// What it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its bytes, where they are no UTF-8.
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
        let bytes = match (self.text, self.base64) {
            (Some(text), None) => Some(text.into_bytes()),
            (None, Some(coded)) => STANDARD.decode(coded).ok(),
            _ => None,
        };
        let bytes = bytes.ok_or_else(|| {
            Error::input(format!("the text {digest} cannot be read"))
                .expected("`text`, or `base64` where its bytes are no UTF-8")
        })?;
        if Digest::of(&bytes) != digest {
            return Err(Error::input(format!(
                "the text {digest} is not what its digest says"
            )));
        }
        Ok(bytes)
    }
}

/// Texts to keep, each the one that its digest says.
#[derive(Default)]
pub(crate) struct Texts(Vec<(Digest, Vec<u8>)>);

impl Texts {
    pub(crate) fn read(lines: Vec<TextLine>) -> Result<Texts, Error> {
        let read = |line: TextLine| Ok((line.text_digest, line.bytes()?));
        lines
            .into_iter()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Texts)
    }

    /// The digest of a write that is asked to keep them beside what has this digest.
    pub(crate) fn asked_with(&self, rest: Digest) -> Digest {
        if self.0.is_empty() {
            return rest;
        }
        let own = self.0.iter().map(|(digest, _)| &digest.bytes()[..]);
        Digest::of_parts(std::iter::once(&rest.bytes()[..]).chain(own))
    }

    /// Keeps them, within a write that others wait for: none of them is erased meanwhile.
    pub(crate) fn keep(&self, rows: &mut dyn Write) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        refuse_buried_blobs(rows, self.0.iter().map(|(digest, _)| *digest))?;
        let mut texts = self.0.iter();
        texts.try_for_each(|(digest, bytes)| rows.put_blob(*digest, bytes))
    }
}

/// The text with this digest, unless somebody altered it.
pub(crate) fn unaltered(rows: &mut dyn Read, digest: Digest) -> Result<Option<Vec<u8>>, Error> {
    let bytes = rows.blob(digest)?;
    if bytes
        .as_ref()
        .is_some_and(|bytes| Digest::of(bytes) != digest)
    {
        return Err(Error::damaged(format!(
            "the stored text {digest} is damaged"
        )));
    }
    Ok(bytes)
}
