//! Heads of requests as they come: what a line break is, and how long a head may be.
//!
//! The parser behind takes a bare LF for the end of a line, and more of a head than it is told to where it comes in one
//! piece. What stands before a server may read either otherwise, and let a request through inside another. So the bytes of
//! a connection are looked at on their way: where heads begin is known from the lengths of bodies. What no head may have
//! is replaced by what the parser refuses.

/// The byte that no head may have: the parser answers it with 400.
const REFUSED: u8 = 0;
/// The byte that is passed on of a head that is too long, which then has no end: the parser answers it with 431.
const ENDLESS: u8 = b'x';

/// The place in the stream of a connection.
pub(crate) struct Heads {
    /// The longest that a head may be, in bytes.
    most: usize,
    /// The length of the head under way, in bytes.
    head: usize,
    /// The line under way, without its end.
    line: Vec<u8>,
    part: Part,
    /// The number of bytes before the next line.
    data: u64,
    body: Body,
}

/// The part of a request that a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Empty lines before a request.
    Before,
    Head,
    /// The line before a chunk, which has its size.
    Size,
    /// The line end behind a chunk.
    BehindChunk,
    Trailers,
    /// Behind a head that was refused: nothing that follows is a request.
    Refused,
}

/// The way in which the end of a body is known.
#[derive(Clone, Copy)]
enum Body {
    Length(u64),
    Chunks,
}

impl Heads {
    /// Those of a new connection.
    pub(crate) fn new(most: usize) -> Heads {
        Heads {
            most,
            head: 0,
            line: Vec::new(),
            part: Part::Before,
            data: 0,
            body: Body::Length(0),
        }
    }

    /// Looks at the next bytes.
    pub(crate) fn pass(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let skipped = self.data.min((bytes.len() - at) as u64);
            self.data -= skipped;
            at += skipped as usize;
            if let Some(byte) = bytes.get_mut(at) {
                *byte = self.byte(*byte);
                at += 1;
            }
        }
    }

    /// Returns what is passed on for a byte of a line.
    fn byte(&mut self, byte: u8) -> u8 {
        if matches!(self.part, Part::Before | Part::Head) {
            self.head += 1;
            if self.head > self.most {
                self.refuse();
            }
        }
        match byte {
            _ if self.part == Part::Refused => ENDLESS,
            b'\n' if self.line.pop_if(|last| *last == b'\r').is_some() => {
                self.line_ends();
                byte
            }
            b'\n' => {
                self.refuse();
                REFUSED
            }
            _ => {
                self.line.push(byte);
                byte
            }
        }
    }

    fn refuse(&mut self) {
        self.part = Part::Refused;
        self.line = Vec::new();
    }

    fn line_ends(&mut self) {
        let is_empty = self.line.is_empty();
        match self.part {
            Part::Before if !is_empty => self.part = Part::Head,
            Part::Head if is_empty => match self.body {
                Body::Length(length) => {
                    self.data = length;
                    self.next_request();
                }
                Body::Chunks => self.part = Part::Size,
            },
            Part::Head => self.field(),
            Part::Size => match size(&self.line) {
                0 => self.part = Part::Trailers,
                size => (self.data, self.part) = (size, Part::BehindChunk),
            },
            Part::BehindChunk => self.part = Part::Size,
            Part::Trailers if is_empty => self.next_request(),
            Part::Before | Part::Trailers | Part::Refused => {}
        }
        self.line.clear();
    }

    fn next_request(&mut self) {
        let data = self.data;
        *self = Heads {
            data,
            ..Heads::new(self.most)
        };
    }

    /// Reads a field that says how long the body is; chunks count, whatever else is said.
    fn field(&mut self) {
        let Some(colon) = self.line.iter().position(|byte| *byte == b':') else {
            return;
        };
        let (name, value) = self.line.split_at(colon);
        let value = String::from_utf8_lossy(&value[1..]);
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            let last = value.rsplit(',').next().unwrap_or_default();
            if last.trim().eq_ignore_ascii_case("chunked") {
                self.body = Body::Chunks;
            }
        } else if name.eq_ignore_ascii_case(b"content-length")
            && let Body::Length(length) = &mut self.body
        {
            let first = value.split(',').next().unwrap_or_default();
            *length = first.trim().parse().unwrap_or(0);
        }
    }
}

/// The size of a chunk; none is as large as what cannot be read.
fn size(line: &[u8]) -> u64 {
    let digits = line.iter().map_while(|byte| char::from(*byte).to_digit(16));
    digits.fold(0, |size: u64, digit| {
        size.saturating_mul(16).saturating_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is passed on of a text that comes in pieces of `piece` bytes.
    fn passed(text: &str, most: usize, piece: usize) -> String {
        let mut bytes = text.as_bytes().to_vec();
        let mut heads = Heads::new(most);
        bytes.chunks_mut(piece).for_each(|piece| heads.pass(piece));
        String::from_utf8(bytes).unwrap()
    }

    const FOLLOWED: [&str; 5] = [
        "POST /a HTTP/1.1\r\nContent-Length: 6\r\n\r\na\nb\n\nc",
        "\r\nPOST /a HTTP/1.1\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n3;x=1\r\na\nb\r\nA\r\n\n\n\n\n\n\n\n\n\n\n\r\n0\r\nx: y\r\n\r\n",
        "POST /a HTTP/1.1\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /a HTTP/1.1\r\n\r\n",
        "POST /a HTTP/1.1\r\ncontent-length:   2, 2\r\n\r\n\n\n",
    ];

    #[test]
    fn bodies_pass_as_they_are_and_heads_are_found_behind_them() {
        for first in FOLLOWED {
            for second in FOLLOWED {
                let good = format!("{first}{second}GET /b HTTP/1.1\r\nhost: x\r\n\r\n");
                let bad = format!("{first}{second}GET /b HTTP/1.1\nhost: x\r\n\r\n");
                for piece in [1, 2, 3, 7, 1_000] {
                    assert_eq!(passed(&good, 100, piece), good);
                    let refused = passed(&bad, 100, piece);
                    let (before, behind) = refused.split_once('\0').unwrap();
                    assert_eq!(before, format!("{first}{second}GET /b HTTP/1.1"));
                    assert!(behind.bytes().all(|byte| byte == ENDLESS));
                }
            }
        }
    }

    #[test]
    fn a_head_is_as_long_as_it_may_be() {
        let head = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
        let text = head.repeat(3);
        for piece in [1, 5, 100] {
            assert_eq!(passed(&text, head.len(), piece), text);
            let cut = passed(&text, head.len() - 1, piece);
            assert_eq!(
                cut.strip_prefix(&head[..head.len() - 1]).unwrap(),
                "x".repeat(cut.len() - head.len() + 1)
            );
        }
    }
}
