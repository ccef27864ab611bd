//! The answer kept for its record: its beginning and its end, or all of it, within a bound for all answers together.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes kept of the beginning of an answer, and of its end; its usage stands in one of them.
const HEAD: usize = 64 << 10;
const TAIL: usize = 1 << 20;

/// The bytes kept of the beginning where the reply is wanted whole.
const WHOLE: usize = 16 << 20;
/// The last events of streams, where they have names.
const LAST: [&str; 4] = [
    "message_stop",
    "response.completed",
    "response.incomplete",
    "response.failed",
];
/// The most bytes that are kept of all answers together, until they are recorded.
const ALL: usize = 256 << 20;

/// The memory that all answers share.
pub(super) struct ReplyMemory {
    bytes: AtomicUsize,
    most: usize,
}

impl Default for ReplyMemory {
    fn default() -> ReplyMemory {
        ReplyMemory {
            bytes: AtomicUsize::new(0),
            most: ALL,
        }
    }
}

/// The share of one answer in it, given back when it is dropped.
#[derive(Default)]
struct Share {
    of: Option<Arc<ReplyMemory>>,
    bytes: usize,
}

impl Share {
    /// Makes it at least this large; returns whether it may be.
    fn grow(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let Some(of) = self.of.as_ref().filter(|_| more > 0) else {
            return true;
        };
        let before = of.bytes.fetch_add(more, Ordering::Relaxed);
        let fits = before.saturating_add(more) <= of.most;
        if fits {
            self.bytes += more
        } else {
            of.bytes.fetch_sub(more, Ordering::Relaxed);
        }
        fits
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if let Some(of) = &self.of {
            of.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// The beginning and the end of an answer.
#[derive(Default)]
pub(super) struct ReplyBuffer {
    /// True if a large answer is kept, too.
    whole: bool,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    pub(super) bytes: u64,
    /// True if something in between was let go.
    cut: bool,
    /// True if all bytes were let go, as are those that come.
    gone: bool,
    share: Share,
}

impl ReplyBuffer {
    /// Makes an empty one, which keeps a large answer whole where that is wanted.
    pub(super) fn new(whole: bool, memory: &Arc<ReplyMemory>) -> ReplyBuffer {
        ReplyBuffer {
            whole,
            share: Share {
                of: Some(Arc::clone(memory)),
                bytes: 0,
            },
            ..ReplyBuffer::default()
        }
    }

    /// Keeps bytes that came; returns whether all of them had to be let go now.
    pub(super) fn keep(&mut self, data: &[u8]) -> bool {
        self.bytes += data.len() as u64;
        if self.gone {
            return false;
        }
        let most = if self.whole { WHOLE } else { HEAD };
        let (head, rest) = data.split_at(data.len().min(most - self.head.len()));
        self.head.extend_from_slice(head);
        let over = (self.tail.len() + rest.len()).saturating_sub(TAIL);
        if over > 0 {
            self.cut = true;
            self.tail.drain(..over.min(self.tail.len()));
        }
        self.tail.extend(&rest[rest.len() - rest.len().min(TAIL)..]);
        let fits = self.share.grow(self.head.capacity() + self.tail.capacity());
        if !fits {
            self.let_go();
        }
        !fits
    }

    /// Drops the bytes, and keeps their count.
    pub(super) fn let_go(&mut self) {
        *self = ReplyBuffer {
            bytes: self.bytes,
            cut: true,
            gone: true,
            ..ReplyBuffer::default()
        };
    }

    /// Returns whether it is a stream whose last event is there: what follows it says nothing.
    pub(super) fn has_last_event(&self) -> bool {
        let backwards = self.tail.iter().rev().chain(self.head.iter().rev());
        let mut end: Vec<u8> = backwards.take(TAIL).copied().collect();
        end.reverse();
        let end = String::from_utf8_lossy(&end);
        let is_blank = |line: &&str| line.is_empty();
        let mut lines = end.lines().rev();
        // An event ends with a blank line.
        if !end.ends_with('\n') || lines.next() != Some("") {
            return false;
        }
        let mut fields = lines
            .skip_while(is_blank)
            .take_while(|line| !is_blank(line))
            .filter_map(|line| line.split_once(':'));
        fields.any(|(field, value)| match field {
            "event" => LAST.contains(&value.trim()),
            "data" => value.trim() == "[DONE]",
            _ => false,
        })
    }

    /// Returns the bytes that it holds in memory.
    pub(super) fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    /// Returns the parts: one where nothing is missing.
    pub(super) fn parts(self) -> Vec<Vec<u8>> {
        let (mut head, tail) = (self.head, Vec::from(self.tail));
        if self.cut {
            return vec![head, tail];
        }
        head.extend_from_slice(&tail);
        vec![head]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let mut kept = ReplyBuffer::default();
        let text: Vec<u8> = (0..HEAD + 100).map(|at| (at % 251) as u8).collect();
        for piece in text.chunks(777) {
            kept.keep(piece);
        }
        assert_eq!(kept.bytes, text.len() as u64);
        assert_eq!(kept.parts(), [text]);

        let mut kept = ReplyBuffer::default();
        let text: Vec<u8> = (0..HEAD + 3 * TAIL + 5).map(|at| (at % 241) as u8).collect();
        for piece in text.chunks(100_000) {
            kept.keep(piece);
            assert!(kept.len() <= HEAD + TAIL);
        }
        let parts = kept.parts();
        assert_eq!(parts[0], text[..HEAD]);
        assert_eq!(parts[1], text[text.len() - TAIL..]);

        let mut kept = ReplyBuffer::default();
        kept.keep(&text);
        assert_eq!(kept.parts()[1], text[text.len() - TAIL..]);
    }

    #[test]
    fn a_stream_is_said_with_its_last_event() {
        let is_said = |text: &str| {
            let mut kept = ReplyBuffer::default();
            for piece in text.as_bytes().chunks(7) {
                kept.keep(piece);
            }
            kept.has_last_event()
        };
        let long = format!("data: {{\"text\":\"{}\"}}\n\n", "é".repeat(HEAD));
        for said in [
            "data: {}\n\ndata: [DONE]\n\n",
            "data: {}\r\n\r\ndata:[DONE]\r\n\r\n",
            "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
            "data: {}\n\ndata: {\"type\":\"response.completed\"}\nevent: response.completed\n\n\n",
            &format!("{long}data: [DONE]\n\n"),
        ] {
            assert!(is_said(said), "{said}");
        }
        for unsaid in [
            "",
            "\n\n",
            "data: [DONE]",
            "data: [DONE]\n",
            "data: {}\n\n",
            "data: [DONE]\n\ndata: {}\n\n",
            "event: message_stop\ndata: {",
            "event: message_start\ndata: \"message_stop\"\n\n",
            &long,
        ] {
            assert!(!is_said(unsaid), "{unsaid}");
        }
    }

    #[test]
    fn all_answers_together_have_a_bound() {
        let most = 4 << 20;
        let held = Arc::new(ReplyMemory {
            bytes: AtomicUsize::new(0),
            most,
        });
        let bytes = || held.bytes.load(Ordering::Relaxed);
        let data = [7; 64 << 10];
        let mut all: Vec<ReplyBuffer> = (0..50).map(|_| ReplyBuffer::new(true, &held)).collect();
        let mut let_go = 0;
        for _ in 0..16 {
            for kept in &mut all {
                let_go += usize::from(kept.keep(&data));
                assert!(bytes() <= most);
            }
        }
        // Some are there whole, the others are counted on.
        let gone = all.iter().filter(|kept| kept.gone).count();
        assert!(gone == let_go && 0 < gone && gone < all.len(), "{gone}");
        let in_memory: usize = all.iter().map(ReplyBuffer::len).sum();
        assert!(in_memory <= bytes(), "{in_memory}");
        for kept in all {
            assert_eq!(kept.bytes, 16 * data.len() as u64);
            let expected = if kept.gone { 0 } else { 16 * data.len() };
            assert_eq!(kept.parts().iter().flatten().count(), expected);
        }
        assert_eq!(bytes(), 0);
        let mut kept = ReplyBuffer::new(true, &held);
        assert!(!kept.keep(&data));
    }
}
