//! The parts of a message that are no text: pictures, documents, sound, and what a provider sealed. Their bytes are packed
//! into the JSON (base64), and what they cost has nothing to do with how long that is.
//!
//! A picture costs what the model's formula says of its pixels, which its header tells. Of the rest no provider says how
//! it is counted, so that bounds are stated here.

use serde_json::Value;

use super::media::{Media, Source};
use crate::provider::catalogue::Image;

/// The keys under which providers put what they alone can read.
const SEALED: [&str; 6] = [
    "signature",
    "thoughtSignature",
    "thought_signature",
    "encrypted_content",
    "encrypted_index",
    "data",
];
/// Under another key, a text without white space of so many characters of base64 is packed, too.
const LONG: usize = 512;
/// A shorter JSON is counted as it is: there is nothing in it to win.
const SHORT: usize = 64;

/// A page of a document has no fewer bytes, on average.
const PAGE_BYTES: u64 = 32 << 10;
/// Providers take no more pages.
const MOST_PAGES: u64 = 100;
/// The pages of a document of which only the address is known.
const REFERENCED_PAGES: u64 = 10;
/// The tokens of the text of a page, at most. Its picture is added: of an A4 page at 150 dots an inch.
const PAGE_TEXT: u32 = 3_000;
const PAGE_PIXELS: (u32, u32) = (1_240, 1_754);
/// The side of the largest picture that a provider takes, in pixels: one whose size is not known costs as much.
const MAX_SIDE: u32 = 8_000;
/// The tokens of a picture for a model that names no formula.
const UNKNOWN_PICTURE: u32 = 5_000;
/// The bytes of a token of sound: 32 tokens a second, at 64 kbit/s.
const SOUND_BYTES: u64 = 250;
/// The bytes of a token of a film: 300 tokens a second, at 200 kbit/s.
const FILM_BYTES: u64 = 80;
/// The seconds of sound or film of which only the address is known, in tokens.
const REFERENCED_SOUND: u64 = 10_000;
/// The bytes of a token of what is sealed.
const SEALED_BYTES: u64 = 3;
/// The part of a picture that is unpacked to find its size, in bytes.
const HEADER: usize = 64 << 10;

/// The parts of a message that are no text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Packed {
    /// The size of each picture in pixels, where it is known.
    pictures: Vec<Option<(u32, u32)>>,
    pages: u64,
    /// The tokens of sound and film, and of what is sealed.
    sound: u64,
    sealed: u64,
    /// The number of documents and recordings.
    others: u32,
}

impl Packed {
    /// Takes what is packed out of a JSON value, and leaves what is text.
    ///
    /// ```
    /// use tenure::wire::Packed;
    /// let picture = format!("data:image/png;base64,{}", "iVBORw0KGgoAAAANSUhEUgAABAAAAAMACAYAAAA=");
    /// let mut json = serde_json::json!({ "type": "input_image", "image_url": picture });
    /// let mut packed = Packed::default();
    /// packed.take_from(&mut json);
    /// assert_eq!((json["image_url"].as_str(), packed.pictures()), (Some(""), 1));
    /// ```
    pub fn take_from(&mut self, json: &mut Value) {
        self.walk(json, "", None);
    }

    /// The picture that a block is, whose size is not known where only its address is.
    pub(crate) fn of_picture(json: &str) -> Packed {
        let mut packed = Packed::default();
        packed.readable(json);
        if packed.pictures.is_empty() {
            packed.pictures.push(None);
        }
        packed
    }

    /// The number of pictures.
    pub fn pictures(&self) -> u32 {
        u32::try_from(self.pictures.len()).unwrap_or(u32::MAX)
    }

    /// The number of pictures, documents and recordings.
    pub fn media(&self) -> u32 {
        self.pictures().saturating_add(self.others)
    }

    /// The JSON without what is packed in it; none where nothing is.
    pub(crate) fn readable(&mut self, json: &str) -> Option<String> {
        if json.len() < SHORT {
            return None;
        }
        let mut value: Value = serde_json::from_str(json).ok()?;
        let before = self.clone();
        self.take_from(&mut value);
        (*self != before).then(|| value.to_string())
    }

    /// Adds media. Of what only an address is known, a usual length is assumed.
    pub(crate) fn add(&mut self, media: &Media) {
        match (&media.source, media.kind) {
            (Source::Base64(data), _) => {
                self.add_data(data, media.mime.as_deref().unwrap_or(media.kind))
            }
            (_, "image") => self.pictures.push(None),
            (Source::Url(_), "audio" | "video") => self.add_sound(REFERENCED_SOUND),
            (Source::Url(_), _) => self.add_pages(REFERENCED_PAGES),
            (Source::Own, _) => {}
        }
    }

    fn walk(&mut self, value: &mut Value, key: &str, mime: Option<&str>) {
        match value {
            Value::String(text) => {
                let url = text.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
                match (url, mime.filter(|mime| !mime.starts_with("text"))) {
                    (Some((mime, data)), _) => self.add_data(data, mime),
                    (None, Some(mime)) if key == "data" && is_packed(text) => {
                        self.add_data(text, mime)
                    }
                    (None, _)
                        if (SEALED.contains(&key) || text.len() >= LONG) && is_packed(text) =>
                    {
                        self.add_data(text, "");
                    }
                    _ => return,
                }
                text.clear();
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.walk(value, "", None)),
            Value::Object(fields) => {
                let named = ["media_type", "mimeType", "mime_type", "format"];
                let mime =
                    named.iter().find_map(|name| fields.get(*name)?.as_str()).map(str::to_owned);
                for (key, value) in fields {
                    self.walk(value, key, mime.as_deref());
                }
            }
            _ => {}
        }
    }

    /// Adds what these bytes are: by how they begin, which is what a provider goes by, else by what they are called.
    fn add_data(&mut self, data: &str, mime: &str) {
        let bytes = data.len() as u64 / 4 * 3;
        let begins = |with: &[&str]| with.iter().any(|with| data.starts_with(with));
        let is = |kinds: &[&str]| kinds.iter().any(|kind| mime.starts_with(kind));
        if begins(&["iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"]) || is(&["image"]) {
            self.pictures.push(pixels(data));
        } else if begins(&["JVBERi0"]) || is(&["application", "document"]) {
            self.add_pages(bytes / PAGE_BYTES + 1);
        } else if is(&["audio", "wav", "mp3", "flac", "opus", "pcm", "aac"]) {
            self.add_sound(bytes / SOUND_BYTES + 1);
        } else if is(&["video"]) {
            self.add_sound(bytes / FILM_BYTES + 1);
        } else {
            self.sealed = self.sealed.saturating_add(bytes / SEALED_BYTES + 1);
        }
    }

    fn add_pages(&mut self, pages: u64) {
        self.pages = self.pages.saturating_add(pages.min(MOST_PAGES));
        self.others = self.others.saturating_add(1);
    }

    fn add_sound(&mut self, tokens: u64) {
        self.sound = self.sound.saturating_add(tokens);
        self.others = self.others.saturating_add(1);
    }

    /// Returns at most what it costs a model that counts pictures by this formula, in tokens.
    pub(crate) fn tokens(&self, image: Option<Image>) -> u32 {
        let picture = |size: Option<(u32, u32)>| {
            let (width, height) = size.unwrap_or((MAX_SIDE, MAX_SIDE));
            image.map_or(UNKNOWN_PICTURE, |image| image.tokens(width, height))
        };
        let pictures = self.pictures.iter().map(|size| u64::from(picture(*size)));
        let page = u64::from(PAGE_TEXT.saturating_add(picture(Some(PAGE_PIXELS))));
        let tokens = pictures
            .sum::<u64>()
            .saturating_add(self.pages.saturating_mul(page))
            .saturating_add(self.sound)
            .saturating_add(self.sealed);
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }
}

/// Returns whether a text is base64, of one alphabet or the other, and nothing else.
fn is_packed(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
        })
}

/// The size of a picture in pixels, as its header says; none where it is not read.
fn pixels(data: &str) -> Option<(u32, u32)> {
    let head = unpack(data, 32);
    let at = |place: usize| head.get(place).copied().map(u32::from);
    let big = |place: usize| Some(at(place)? << 8 | at(place + 1)?);
    let little = |place: usize| Some(at(place + 1)? << 8 | at(place)?);
    let little24 = |place: usize| Some(at(place + 2)? << 16 | little(place)?);
    let size = if head.starts_with(b"\x89PNG\r\n\x1a\n") && head.get(12..16) == Some(b"IHDR") {
        (big(16)? << 16 | big(18)?, big(20)? << 16 | big(22)?)
    } else if head.starts_with(b"GIF8") {
        (little(6)?, little(8)?)
    } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        match head.get(12..16)? {
            b"VP8X" => (little24(24)? + 1, little24(27)? + 1),
            b"VP8L" => {
                let bits = little(21)? | little(23)? << 16;
                ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
            }
            _ => (little(26)? & 0x3fff, little(28)? & 0x3fff),
        }
    } else if head.starts_with(b"\xff\xd8") {
        jpeg(&unpack(data, HEADER))?
    } else {
        return None;
    };
    (size.0 > 0 && size.1 > 0).then_some(size)
}

/// The size of a JPEG: the frame's, behind the segments before it.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let two = |at: usize| Some(u32::from(*bytes.get(at)?) << 8 | u32::from(*bytes.get(at + 1)?));
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        match *bytes.get(at + 1)? {
            // What fills, and what has no length.
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((two(at + 7)?, two(at + 5)?));
            }
            // The picture itself, or its end, without a frame before it.
            0xd9 | 0xda => return None,
            _ => at += 2 + (two(at + 2)? as usize).max(2),
        }
    }
}

/// The first bytes of what is packed as base64, at most so many.
fn unpack(data: &str, most: usize) -> Vec<u8> {
    let sextet = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    };
    let sextets = data.bytes().map_while(sextet);
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0u32, 0);
    for sextet in sextets {
        held = held << 6 | u32::from(sextet);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
        if bytes.len() == most {
            break;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pack(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let three = bytes.chunks(3).flat_map(|three| {
            let at = |place: usize| three.get(place).copied().unwrap_or(0);
            let [a, b, c] = [at(0), at(1), at(2)];
            let sextets = [
                a >> 2,
                (a & 3) << 4 | b >> 4,
                (b & 15) << 2 | c >> 6,
                c & 63,
            ];
            let digits = sextets.map(|sextet| char::from(DIGITS[usize::from(sextet)]));
            (0..4).map(move |at| if at <= three.len() { digits[at] } else { '=' })
        });
        three.collect()
    }

    fn tokens(json: Value, image: Option<Image>) -> (u32, String) {
        let (mut packed, mut json) = (Packed::default(), json);
        packed.take_from(&mut json);
        (packed.tokens(image), json.to_string())
    }

    const FLAT: Option<Image> = Some(Image::Flat { tokens: 258 });

    #[test]
    fn the_header_says_how_large_a_picture_is() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x05\0\0\0\x03\x20".to_vec();
        png.extend([8; 400]);
        let gif = b"GIF89a\0\x05\x20\x03rest";
        let jpeg = [
            &b"\xff\xd8\xff\xe1\x00\x08\xff\xc0abcd"[..],
            b"\xff\xff\xc4\x00\x04ab\xff\xc2\x00\x11\x08\x03\x20\x05\x00\x03",
        ]
        .concat();
        let vp8x = b"RIFF0000WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\x04\0\x1f\x03\0";
        let bits = (1_279u32 | 799 << 14).to_le_bytes();
        let vp8l = [&b"RIFF0000WEBPVP8L0000\x2f"[..], &bits].concat();
        let vp8 = b"RIFF0000WEBPVP8 0000\x9d\x01\x2a\0\x9d\x01\0\x05\x20\x03";
        for bytes in [&png[..], gif, &jpeg, vp8x, &vp8l] {
            assert_eq!(
                pixels(&pack(bytes)),
                Some((1_280, 800)),
                "{:?}",
                &bytes[..16]
            );
        }
        assert_eq!(pixels(&pack(vp8)), Some((1_280, 800)));
        // One that is cut off, says nothing, or is none.
        for bytes in [
            &png[..18],
            b"\xff\xd8\xff\xd9",
            b"\xff\xd8\xff\xe1\xff\xff",
            b"GIF89a\0\0\0\0",
            b"BM",
            b"",
        ] {
            assert_eq!(pixels(&pack(bytes)), None, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_packed_costs_what_it_is_and_not_how_long_it_is() {
        let long = pack(&[7; 400_000]);
        let pdf = format!("JVBERi0x{long}");
        let cases = [
            // 13 pages, of 3,000 tokens and a picture each.
            (
                serde_json::json!({ "source": { "media_type": "application/pdf", "data": pdf } }),
                13 * 3_258,
            ),
            (
                serde_json::json!({ "inlineData": { "mimeType": "audio/mp3", "data": long } }),
                1_601,
            ),
            (
                serde_json::json!({ "input_audio": { "format": "wav", "data": long } }),
                1_601,
            ),
            (
                serde_json::json!({ "inline_data": { "mime_type": "video/mp4", "data": long } }),
                5_001,
            ),
            (
                serde_json::json!({ "type": "thinking", "signature": long }),
                133_335,
            ),
            (
                serde_json::json!({ "output": { "image_url": format!("data:image/png;base64,{long}") } }),
                258,
            ),
            (
                serde_json::json!({ "type": "image_generation_call", "result": format!("iVBORw0KGgo{long}") }),
                258,
            ),
            (
                serde_json::json!({ "parts": [{ "inlineData": { "mimeType": "image/webp", "data": "UklGR" } }] }),
                258,
            ),
        ];
        for (json, cost) in cases {
            let (tokens, left) = tokens(json, FLAT);
            assert!(tokens.abs_diff(cost) <= 2, "{tokens} {cost} {left}");
            assert!(left.len() < 100, "{left}");
        }
        // Without a formula: a stated bound.
        let url = serde_json::json!({ "image_url": format!("data:image/png;base64,{long}") });
        assert_eq!(tokens(url, None).0, UNKNOWN_PICTURE);
        // What is text stays text.
        let text = serde_json::json!({ "source": { "media_type": "text/plain", "data": "Pump 7 is warm." }, "title": "A".repeat(500) });
        assert_eq!(tokens(text.clone(), FLAT), (0, text.to_string()));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..80), start in 0usize..6) {
            let starts: [&[u8]; 6] = [b"", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\xff\xd8\xff", b"GIF8", b"RIFF0000WEBPVP8X", b"RIFF0000WEBPVP8L"];
            let bytes = [starts[start], &bytes].concat();
            let data = pack(&bytes);
            prop_assert_eq!(unpack(&data, usize::MAX), bytes);
            let (tokens, _) = tokens(serde_json::json!({ "mimeType": "image/png", "data": data }), FLAT);
            prop_assert!(tokens <= 258);
        }
    }
}
