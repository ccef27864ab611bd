//! Answers unpacked, up to a limit: a packed one may become any size.

use std::io::Read;

use axum::http::{HeaderMap, header};
use bytes::Bytes;

/// The largest that an answer may become when it is unpacked, in bytes.
pub(super) const MAX_UNPACKED: u64 = 64 << 20;

/// Bytes of an answer, as they came.
pub(super) struct Packed {
    encoding: Option<String>,
    data: Bytes,
}

impl Packed {
    /// Takes bytes with the encoding that the headers of their answer name.
    pub(super) fn of(headers: &HeaderMap, data: Bytes) -> Packed {
        Packed {
            encoding: encoding(headers),
            data,
        }
    }

    /// Returns their text, unpacked as far as `most` bytes. It may take its time.
    pub(super) fn text(&self, most: u64) -> String {
        let data = vec![self.data.to_vec()];
        let parts = plain(self.encoding.as_deref(), data, most);
        parts.iter().map(|part| String::from_utf8_lossy(part)).collect()
    }
}

/// Returns the encoding that the headers of an answer name.
pub(super) fn encoding(headers: &HeaderMap) -> Option<String> {
    let encoding = headers.get(header::CONTENT_ENCODING)?.to_str().ok()?;
    Some(encoding.to_owned())
}

/// Unpacks the kept parts of an answer, as far as `most` bytes; none where they cannot be.
pub(super) fn plain(encoding: Option<&str>, parts: Vec<Vec<u8>>, most: u64) -> Vec<Vec<u8>> {
    match encoding {
        None | Some("identity") => parts,
        // The end of a packed text cannot be read without its beginning.
        Some(encoding) if parts.len() == 1 => {
            unpacked(encoding, &parts[0], most).into_iter().collect()
        }
        Some(_) => Vec::new(),
    }
}

fn unpacked(encoding: &str, packed: &[u8], most: u64) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let read = match encoding.trim().to_ascii_lowercase().as_str() {
        "gzip" | "x-gzip" => {
            flate2::read::MultiGzDecoder::new(packed).take(most).read_to_end(&mut plain)
        }
        "deflate" => flate2::read::ZlibDecoder::new(packed).take(most).read_to_end(&mut plain),
        "zstd" => ruzstd::decoding::StreamingDecoder::new(packed)
            .ok()?
            .take(most)
            .read_to_end(&mut plain),
        _ => return None,
    };
    // What came before an answer broke off is still worth reading.
    (read.is_ok() || !plain.is_empty()).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn a_packed_answer_is_unpacked_where_it_is_whole_and_its_encoding_known() {
        let text = br#"{"usage":{"prompt_tokens":9,"completion_tokens":2}}"#;
        let packed = gzip(text);
        let of = |encoding, parts| plain(encoding, parts, 1 << 10);
        assert_eq!(of(Some("gzip"), vec![packed.clone()]), [text.to_vec()]);
        assert!(of(Some("br"), vec![packed.clone()]).is_empty());
        assert!(of(Some("gzip"), vec![packed.clone(), packed]).is_empty());
    }

    #[test]
    fn a_text_that_unpacks_to_far_more_than_was_sent_is_read_up_to_a_limit() {
        let bomb = gzip(&vec![0; 80 << 20]);
        for most in [MAX_UNPACKED, 1 << 20] {
            let plain = plain(Some("gzip"), vec![bomb.clone()], most);
            assert_eq!((plain.len(), plain[0].len() as u64), (1, most));
        }
        let packed = Packed {
            encoding: Some("gzip".into()),
            data: gzip(&vec![b' '; 8 << 20]).into(),
        };
        assert_eq!(packed.text(1 << 20).len(), 1 << 20);
    }
}
