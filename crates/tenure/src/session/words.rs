//! The words of a person, as they stand once their messages have left: whole, as long as all of them together fit their
//! share; then shortened from the oldest.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A text of no more tokens is not shortened: it stands whole or leaves.
const SHORT: u64 = 64;
/// The part of a shortened text that is its beginning, in thirds: people ask at the beginning or at the end.
const BEGINS: usize = 2;

/// The words of a person in one message.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// The number of the message in its session.
    pub turn: u64,
    /// The words; of shortened ones the beginning and the end.
    pub text: String,
    /// The number of times that the same was said, where more than once.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u32,
    /// The part that does not stand; none where the words stand whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<Cut>,
}

/// The part that is left out of the words of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// The place where it stood, in bytes of the words that are left.
    pub at: usize,
    /// Its tokens.
    pub tokens: u64,
}

fn once() -> u32 {
    1
}

fn is_once(times: &u32) -> bool {
    *times == 1
}

/// The words of a person in all messages that left, oldest first.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserWords {
    /// The words that stand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stand: Vec<Words>,
    /// The number of messages of which nothing stands, for want of room.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub left_out: u64,
}

fn is_nought(count: &u64) -> bool {
    *count == 0
}

impl Words {
    /// The words of a message, whole.
    pub fn whole(turn: u64, text: impl Into<String>) -> Words {
        Words {
            turn,
            text: text.into(),
            times: 1,
            cut: None,
        }
    }

    /// The words before and behind what is left out of them.
    pub fn parts(&self) -> (&str, &str) {
        let at = self.cut.map_or(self.text.len(), |cut| cut.at);
        let at = self.text.floor_char_boundary(at);
        self.text.split_at(at)
    }

    /// Shortens the words to at most `most` tokens.
    fn shorten(&mut self, most: u64, count: &dyn Fn(&str) -> u64) {
        let was = count(&self.text);
        let gone = self.cut.map_or(0, |cut| cut.tokens);
        let mut room = self.text.len() as u64 * most / was.max(1);
        let (at, text, tokens) = loop {
            let bytes = usize::try_from(room).unwrap_or(usize::MAX);
            let (before, behind) = self.parts();
            let before = head(before, bytes / 3 * BEGINS);
            let behind = match self.cut {
                Some(_) => behind,
                None => &self.text[before.len()..],
            };
            let behind = tail(behind, bytes.saturating_sub(before.len()));
            let text = format!("{before}{behind}");
            let tokens = count(&text);
            if tokens <= most || text.is_empty() {
                break (before.len(), text, tokens);
            }
            room = room / 8 * 7;
        };
        let tokens = gone + was.saturating_sub(tokens);
        (self.text, self.cut) = (text, Some(Cut { at, tokens }));
    }
}

/// The beginning of a text in at most so many bytes, which ends with a line, or else with a word, where it has any.
fn head(text: &str, bytes: usize) -> &str {
    let start = &text[..text.floor_char_boundary(bytes)];
    if start.len() == text.len() {
        return text;
    }
    let end = start
        .rfind('\n')
        .filter(|at| *at >= start.len() / 2)
        .or_else(|| start.rfind(char::is_whitespace));
    end.map_or(start, |at| &start[..at])
}

/// The end of a text in at most so many bytes, which begins with a line, or else with a word, where it has any.
fn tail(text: &str, bytes: usize) -> &str {
    let end = &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..];
    if end.len() == text.len() {
        return text;
    }
    let start = end
        .find('\n')
        .filter(|at| *at <= end.len() / 2)
        .or_else(|| end.find(char::is_whitespace));
    start.map_or(end, |at| &end[at..])
}

impl UserWords {
    /// These words, oldest first, in at most `most` tokens. What was said again in the same words stands where it was said
    /// last. All of it stands whole where that fits. Else what is long is shortened, from the oldest; once all of it is
    /// short, the oldest leaves.
    ///
    /// ```
    /// use tenure::session::{UserWords, Words};
    /// let said = |turn, text: &str| Words::whole(turn, text);
    /// let words = UserWords { stand: vec![said(2, "Write in Danish."), said(5, "Go on."), said(9, "Go on.")], left_out: 0 };
    /// let words = words.within(100, &|text| text.len() as u64 / 4);
    /// let [danish, go_on] = &words.stand[..] else { panic!("two stand") };
    /// assert_eq!((danish.text.as_str(), go_on.turn, go_on.times), ("Write in Danish.", 9, 2));
    /// ```
    pub fn within(self, most: u64, count: &dyn Fn(&str) -> u64) -> UserWords {
        let UserWords {
            stand,
            mut left_out,
        } = self;
        let mut stand = said_once(stand);
        let cost = |words: &Words| count(&words.text);
        let mut over = stand.iter().map(cost).sum::<u64>().saturating_sub(most);
        for words in &mut stand {
            let was = cost(words);
            if over > 0 && was > SHORT {
                words.shorten(was.saturating_sub(over).max(SHORT), count);
                over = over.saturating_sub(was.saturating_sub(cost(words)));
            }
        }
        stand.retain(|words| {
            let stays = over == 0;
            if !stays {
                over = over.saturating_sub(cost(words));
                left_out += u64::from(words.times);
            }
            stays
        });
        UserWords { stand, left_out }
    }

    /// Counts the messages whose words stand whole, shortened, or not at all.
    pub fn counts(&self) -> UserWordsKept {
        let of = |is_cut: bool| {
            self.stand
                .iter()
                .filter(|words| words.cut.is_some() == is_cut)
                .map(|words| u64::from(words.times))
                .sum()
        };
        UserWordsKept {
            whole: of(false),
            shortened: of(true),
            left_out: self.left_out,
        }
    }
}

/// Of the words of which some are the same, the newest.
fn said_once(stand: Vec<Words>) -> Vec<Words> {
    let mut times: BTreeMap<String, u32> = BTreeMap::new();
    for words in stand.iter().filter(|words| words.cut.is_none()) {
        let known = times.entry(words.text.clone()).or_default();
        *known = known.saturating_add(words.times);
    }
    let mut newest = Vec::with_capacity(stand.len());
    for mut words in stand.into_iter().rev() {
        // The newest takes the count of all with it.
        match words.cut {
            Some(_) => newest.push(words),
            None => {
                if let Some(all) = times.remove(&words.text) {
                    words.times = all;
                    newest.push(words);
                }
            }
        }
    }
    newest.reverse();
    newest
}

/// The number of messages of a person that left, by how their words stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UserWordsKept {
    /// The messages whose words stand whole.
    pub whole: u64,
    /// Those of which the beginning and the end stand.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub shortened: u64,
    /// Those of which nothing stands but what summaries hand on.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub left_out: u64,
}

impl fmt::Display for UserWordsKept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} messages whole", self.whole)?;
        for (count, how) in [(self.shortened, "shortened"), (self.left_out, "left out")] {
            if count > 0 {
                write!(f, ", {count} {how}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn count(text: &str) -> u64 {
        text.len().div_ceil(4) as u64
    }

    fn words(texts: &[&str]) -> UserWords {
        let stand = (0..).zip(texts);
        UserWords {
            stand: stand.map(|(turn, text)| Words::whole(turn, *text)).collect(),
            left_out: 0,
        }
    }

    fn texts(words: &UserWords) -> Vec<&str> {
        words.stand.iter().map(|words| words.text.as_str()).collect()
    }

    #[test]
    fn a_long_paste_takes_no_short_sentence_away() {
        let log = format!(
            "Why?\n{}\nSay it in Danish.",
            "GET /orders 200\n".repeat(400)
        );
        let said = words(&[
            "I am allergic to penicillin.",
            &log,
            "The demo is on Thursday.",
        ]);
        let kept = said.within(200, &count);
        assert_eq!(
            kept.counts(),
            UserWordsKept {
                whole: 2,
                shortened: 1,
                left_out: 0
            }
        );
        let pasted = &kept.stand[1];
        let (before, behind) = pasted.parts();
        assert!(before.starts_with("Why?\nGET") && behind.ends_with("\nSay it in Danish."));
        assert_eq!(
            pasted.cut.unwrap().tokens,
            count(&log) - count(&pasted.text)
        );
    }

    #[test]
    fn the_oldest_is_shortened_first_and_then_leaves() {
        let parts: Vec<String> =
            (0..8).map(|at| format!("Part {at}: {}", "so it is. ".repeat(60))).collect();
        let long: Vec<&str> = parts.iter().map(String::as_str).collect();
        let all: u64 = long.iter().map(|text| count(text)).sum();
        let some = words(&long).within(all - 60, &count);
        assert_eq!(
            some.counts(),
            UserWordsKept {
                whole: 7,
                shortened: 1,
                left_out: 0
            }
        );
        assert_eq!(texts(&some)[1..], long[1..]);
        // Cut again, it says how much is missing in all.
        let fewer = some.clone().within(all - 250, &count);
        assert!(
            fewer.stand[0].text.len() < some.stand[0].text.len() && fewer.stand[1].cut.is_some()
        );
        let gone = count(long[0]) - count(&fewer.stand[0].text);
        assert!(fewer.stand[0].cut.unwrap().tokens.abs_diff(gone) <= 2);
        let few = words(&long).within(150, &count);
        let kept = few.counts();
        assert_eq!((kept.whole, kept.shortened + kept.left_out), (0, 8));
        assert_eq!(few.stand.last().unwrap().turn, 7);
        assert!(kept.left_out > 0 && few.stand.iter().all(|words| count(&words.text) <= SHORT));
    }

    proptest! {
        #[test]
        fn what_fits_stands_whole_and_nothing_costs_more_than_it_may(
            said in prop::collection::vec("[a-c é漢\n]{0,400}", 0..12), most in 0u64..600, cuts in 1usize..5,
        ) {
            let said: Vec<&str> = said.iter().map(String::as_str).collect();
            let mut kept = words(&said);
            for _ in 0..cuts {
                kept = kept.within(most, &count);
            }
            let cost: u64 = kept.stand.iter().map(|words| count(&words.text)).sum();
            prop_assert!(cost <= most);
            let all = kept.counts();
            prop_assert_eq!(all.whole + all.shortened + all.left_out, said.len() as u64);
            let needed: u64 = said.iter().map(|text| count(text)).sum();
            if needed <= most {
                prop_assert!(said.iter().all(|text| kept.stand.iter().any(|words| words.text == *text)));
            }
            for words in &kept.stand {
                let (before, behind) = words.parts();
                let original = said[words.turn as usize];
                prop_assert!(original.starts_with(before) && original.ends_with(behind));
            }
        }
    }
}
