//! Texts that are kept by their digests, as lines of an export: originals of what was condensed, policies, and
//! the objects of files that records name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tenure::{Digest, Error, ErrorKind};

use crate::tenant::Tenant;

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
    fn of(text_digest: Digest, bytes: Vec<u8>) -> TextLine {
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

impl Tenant {
    /// Calls `each` with every text that is kept by its digest, in the order of the digests, as long as all of them
    /// together have at most so many bytes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when they have more, or one was altered; what `each` says;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn export_texts(
        &self,
        most: u64,
        each: &mut dyn FnMut(&TextLine) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut left = most;
        for digest in self.blobs()? {
            // One may have been erased since.
            let Some(bytes) = self.blob(digest)? else {
                continue;
            };
            left = left.checked_sub(bytes.len() as u64).ok_or_else(|| {
                Error::input(format!("the kept texts have more than {most} bytes"))
                    .hint("allow more with --texts-limit")
            })?;
            each(&TextLine::of(digest, bytes))?;
        }
        Ok(())
    }

    /// Keeps the texts of an export: all of them, or none. What is kept already stays.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`] when one is not what its digest says; [`ErrorKind::Policy`] when one was erased here;
    /// [`ErrorKind::Unavailable`] when the store cannot be reached.
    pub fn import_texts(&self, lines: Vec<TextLine>) -> Result<u64, Error> {
        let mut texts = Vec::with_capacity(lines.len());
        for line in lines {
            let digest = line.text_digest;
            if self.is_tombstone(digest)? {
                let what = format!("the text {digest} was erased");
                return Err(Error::new(ErrorKind::Policy, what));
            }
            texts.push(line.bytes()?);
        }
        match texts.len() as u64 {
            0 => Ok(0),
            count => self.put_blobs(texts).map(|_| count),
        }
    }
}
