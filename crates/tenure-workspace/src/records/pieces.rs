//! A sent body as pieces of the payload that was compiled for it, and of texts that are kept by their digests: what the
//! client sent around its messages, and marks of a cache. Requests of a conversation share nearly all of these texts.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenure::Digest;

/// The most messages of the payload that are passed over to find one that was sent.
pub(super) const LOOK: usize = 64;

/// A piece of a sent body.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Piece {
    /// Bytes of the compiled payload.
    Payload {
        /// The first of them.
        from: u64,
        /// The first behind them.
        to: u64,
    },
    /// The text of this digest.
    Text(Digest),
}

#[derive(Deserialize)]
struct Body<'b> {
    #[serde(borrow, alias = "input", alias = "contents")]
    messages: Vec<&'b RawValue>,
}

/// The places of a body's messages; none where it has no list of them.
pub(super) fn messages(body: &[u8]) -> Vec<Range<usize>> {
    let text = std::str::from_utf8(body).unwrap_or_default();
    let Ok(read) = serde_json::from_str::<Body<'_>>(text) else {
        return Vec::new();
    };
    read.messages
        .iter()
        .map(|message| {
            let start = message.get().as_ptr() as usize - text.as_ptr() as usize;
            start..start + message.get().len()
        })
        .collect()
}

/// The bytes that a sent body takes of the payload, each with their first place in the body.
#[derive(Default)]
struct Taken(Vec<(usize, Range<usize>)>);

impl Taken {
    /// Adds bytes; those that go on where the last ended, with the same between, are one with them.
    fn add(&mut self, payload: &[u8], sent: &[u8], at: usize, from: Range<usize>) {
        if from.is_empty() {
            return;
        }
        if let Some((start, last)) = self.0.last_mut() {
            let between = *start + last.len()..at;
            let theirs = last.end..from.start;
            if sent.get(between) == payload.get(theirs) {
                last.end = from.end;
                return;
            }
        }
        self.0.push((at, from));
    }
}

fn shared<'b>(these: impl Iterator<Item = &'b u8>, those: impl Iterator<Item = &'b u8>) -> usize {
    these.zip(those).take_while(|(a, b)| a == b).count()
}

/// The pieces of a sent body, and its texts that are not in the payload.
pub(super) fn pieces(payload: &[u8], sent: &[u8]) -> (Vec<Piece>, Vec<Vec<u8>>) {
    let theirs = messages(payload);
    let mut taken = Taken::default();
    let mut next = 0;
    for own in messages(sent) {
        let ours = &sent[own.clone()];
        let near = || theirs.iter().enumerate().skip(next).take(LOOK);
        let whole = near()
            .find(|(_, place)| payload[(*place).clone()] == *ours)
            .map(|(at, place)| (at, place.clone(), ours.len(), 0));
        let alike = |(at, place): (usize, &Range<usize>)| {
            let theirs = &payload[place.clone()];
            let most = ours.len().min(theirs.len());
            let head = shared(ours.iter(), theirs.iter());
            let tail = shared(ours.iter().rev(), theirs.iter().rev()).min(most - head);
            (2 * (head + tail) >= ours.len()).then_some((at, place.clone(), head, tail))
        };
        let found = whole.or_else(|| near().find_map(alike));
        let Some((at, place, head, tail)) = found else {
            continue;
        };
        next = at + 1;
        taken.add(payload, sent, own.start, place.start..place.start + head);
        taken.add(payload, sent, own.end - tail, place.end - tail..place.end);
    }
    let (mut pieces, mut texts) = (Vec::new(), Vec::new());
    let mut done = 0;
    let mut own = |pieces: &mut Vec<Piece>, text: &[u8]| {
        if !text.is_empty() {
            pieces.push(Piece::Text(Digest::of(text)));
            texts.push(text.to_vec());
        }
    };
    for (at, from) in taken.0 {
        own(&mut pieces, &sent[done..at]);
        done = at + from.len();
        pieces.push(Piece::Payload {
            from: from.start as u64,
            to: from.end as u64,
        });
    }
    own(&mut pieces, &sent[done..]);
    (pieces, texts)
}

/// The bytes of a piece of a payload.
pub(super) fn of_payload(payload: &[u8], from: u64, to: u64) -> Option<&[u8]> {
    payload.get(usize::try_from(from).ok()?..usize::try_from(to).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(payload: &str, sent: &str) -> (String, usize) {
        let (pieces, texts) = pieces(payload.as_bytes(), sent.as_bytes());
        let mut texts = texts.iter();
        let mut kept = 0;
        let each = pieces.iter().flat_map(|piece| match piece {
            Piece::Payload { from, to } => {
                of_payload(payload.as_bytes(), *from, *to).unwrap().to_vec()
            }
            Piece::Text(digest) => {
                let text = texts.next().unwrap().clone();
                assert_eq!(*digest, Digest::of(&text));
                kept += text.len();
                text
            }
        });
        let again = String::from_utf8(each.collect()).unwrap();
        (again, kept)
    }

    #[test]
    fn a_body_is_made_again_of_its_payload_and_what_stood_around() {
        let long = "Pump 7 is warm. ".repeat(40);
        let said = format!(r#"{{"role":"user","content":[{{"type":"text","text":"{long}"}}]}}"#);
        let marked = said.replace(r#""}]"#, r#"","cache_control":{"type":"ephemeral"}}]"#);
        let answer = r#"{"role":"assistant","content":"é"}"#;
        let payload = format!(r#"{{"messages":[{said},{answer},{said}],"model":"m"}}"#);
        for sent in [
            format!(r#"{{"model":"x", "messages":[{said},{answer},{said}], "stream":true}}"#),
            format!(r#"{{"messages":[{said},{answer},{marked}],"max_tokens":9}}"#),
            format!(
                r#"{{"messages":[{{"role":"system","content":"Be brief."}},{said},{answer},{marked}]}}"#
            ),
        ] {
            let (again, kept) = again(&payload, &sent);
            assert_eq!(again, sent);
            assert!(kept < 200, "{kept} bytes are kept of {}", sent.len());
        }
        // Nothing in common, no JSON, no text: it is made again all the same.
        for sent in ["", "no JSON", r#"{"messages":"a"}"#, r#"{"messages":[{}]}"#] {
            assert_eq!(again(&payload, sent).0, sent);
            assert_eq!(again(sent, &payload).0, payload);
        }
    }
}
