//! The verb **rehydrate** over a session: originals by number, by summary, or by what they say.

use std::ops::RangeInclusive;

use serde::Serialize;
use tenure::num::Score;
use tenure::object::{ObjectType, clip};
use tenure::time::Instant;
use tenure::{Error, ObjectDocument, Tokenizer};

use super::entry::{Entry, Recalled};
use super::turn::called;
use super::{Message, Session};

/// The most tokens of the passages that answer a question, where nothing else is asked for: a model that asks for one
/// line pays for all that it is given.
pub const PASSAGES: u32 = 1_500;

/// The request for originals.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// An id: `t17` for a message, `t17-t20` for several, `c40` for all that a summary stands for.
    Id(String),
    /// The passages and records that say something about this, the best first, within a number of tokens
    /// ([`PASSAGES`] where nothing else is asked for).
    Query {
        /// The subject that they should speak of.
        text: String,
        /// The most tokens together.
        tokens: u32,
    },
}

/// A message as it was said, or the passages of it that a query asks for.
#[derive(Clone, Debug, Serialize)]
pub struct Original {
    /// Its id.
    pub id: String,
    /// The instant at which it was added.
    pub at: Instant,
    /// Its speaker: a role, or `tool`.
    pub speaker: String,
    /// The trust that it has: of several parts, that of the least.
    #[serde(skip)]
    pub trust: Score,
    /// Its text, calls and results; for a query its passages in order, with a line `…` between them.
    pub text: String,
    /// Whether there is more of the message than stands here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Its content, with the provider's own bytes. Empty for a query.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ObjectDocument>,
    /// Its match with the query, from 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

/// The originals that were found.
#[derive(Clone, Debug, Serialize)]
pub struct Rehydrated {
    /// The session.
    pub session: String,
    /// The messages; for a query the best first, else in order.
    pub originals: Vec<Original>,
    /// The number of further passages that matched and did not fit.
    pub left_out: usize,
    /// The messages of the id that are not given, since they are quarantined or retracted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<String>,
}

impl Session {
    /// The originals of what is asked for. Nothing changes by it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when there is nothing of that id;
    /// [`ErrorKind::Policy`](tenure::ErrorKind::Policy) when all of it is quarantined or retracted;
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the store cannot be reached.
    pub fn rehydrate(
        &self,
        wanted: &Wanted,
        tokenizer: &dyn Tokenizer,
    ) -> Result<Rehydrated, Error> {
        let session = self.id().to_owned();
        match wanted {
            Wanted::Id(id) => {
                let (originals, withheld) = self.of_id(id)?;
                Ok(Rehydrated {
                    session,
                    originals,
                    left_out: 0,
                    withheld,
                })
            }
            Wanted::Query { text, tokens } => {
                let (originals, left_out) = self.about(text, *tokens, tokenizer)?;
                Ok(Rehydrated {
                    session,
                    originals,
                    left_out,
                    withheld: Vec::new(),
                })
            }
        }
    }

    /// Puts these originals into the tail of the next request, where they stay until the epoch ends.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub fn carry_over(&mut self, found: &Rehydrated) -> Result<(), Error> {
        let (mut turns, mut passages) = (Vec::new(), Vec::new());
        for original in &found.originals {
            let Some(turn) = number(&original.id, 't') else {
                continue;
            };
            let text = original.partial.then_some(&original.text);
            if self.carried.iter().any(|(known, carried)| {
                *known == turn && (carried.is_none() || carried.as_ref() == text)
            }) {
                continue;
            }
            turns.push(turn);
            passages.extend(text.map(|text| Recalled {
                turn,
                text: text.clone(),
            }));
        }
        if turns.is_empty() {
            return Ok(());
        }
        self.push(vec![Entry::Carried { turns, passages }])
    }

    /// The originals of an id, and the ids of those that are judged instead of them.
    fn of_id(&self, id: &str) -> Result<(Vec<Original>, Vec<String>), Error> {
        let said = self.said_as(id)?.into_iter();
        let (judged, said): (Vec<_>, Vec<_>) = said.partition(|(turn, _)| self.is_judged(*turn));
        if let ([], Some((first, _))) = (said.as_slice(), judged.first()) {
            return Err(self.withheld(*first));
        }
        let originals = said.into_iter().map(|(number, message)| original(number, message));
        let withheld = judged.iter().map(|(turn, _)| format!("t{turn}"));
        Ok((originals.collect(), withheld.collect()))
    }

    /// The messages that an id names, judged or not.
    pub(super) fn said_as(&self, id: &str) -> Result<Vec<(u64, Message)>, Error> {
        let range = self.range(id)?;
        if let (true, turn) = (range.start() == range.end(), *range.start()) {
            return Ok(vec![(turn, self.message(turn)?)]);
        }
        // A reply that was taken back is given only if it is named alone. The entry that follows it says so.
        let end = range.end().saturating_add(super::CHUNK);
        let mut said = Vec::new();
        for (number, body) in self.tenant.entries_in(&self.log, *range.start()..end)? {
            match super::parsed(&self.log, number, &body)? {
                Entry::Said(message) if range.contains(&number) => said.push((number, message)),
                Entry::Said(message) if !message.reply => break,
                Entry::Withdrawn { after } => said.retain(|(number, _)| *number <= after),
                _ => {}
            }
        }
        if said.is_empty() {
            return Err(
                Error::input(format!("there is no message in `{}`", clip(id)))
                    .hint("`tenure session show` lists them"),
            );
        }
        Ok(said)
    }

    /// The numbers that an id names.
    fn range(&self, id: &str) -> Result<RangeInclusive<u64>, Error> {
        let bad = || {
            Error::input(format!(
                "`{}` is not the id of a message or a summary",
                clip(id)
            ))
            .expected("t17, t17-t20 or c40")
        };
        if let Some(at) = number(id, 'c') {
            return match self.one(at) {
                Ok(Entry::Checkpoint(checkpoint)) => Ok(checkpoint.first..=checkpoint.last),
                _ => Err(Error::input(format!("there is no summary `{}`", clip(id)))
                    .hint("`tenure session show` lists them")),
            };
        }
        if let Some(at) = number(id, 't') {
            return Ok(at..=at);
        }
        let (first, last) = id.split_once('-').ok_or_else(bad)?;
        match (number(first, 't'), number(last, 't')) {
            (Some(first), Some(last)) if first <= last => Ok(first..=last),
            _ => Err(bad()),
        }
    }
}

fn number(id: &str, kind: char) -> Option<u64> {
    let digits = id.strip_prefix(kind)?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

pub(super) fn original(number: u64, message: Message) -> Original {
    let speaker = match message.objects.first() {
        Some(object) if object.object_type == Some(ObjectType::ToolResult) => "tool".to_owned(),
        Some(object) => object.role.unwrap_or(tenure::object::Role::User).to_string(),
        None => String::new(),
    };
    let texts = message.objects.iter().map(|object| {
        let calls = object.tool_calls.iter().map(called);
        let said = (!object.content.is_empty()).then(|| object.content.clone());
        said.into_iter().chain(calls).collect::<Vec<_>>().join("\n")
    });
    Original {
        id: format!("t{number}"),
        at: message.at,
        speaker,
        trust: {
            let each = message.objects.iter().map(ObjectDocument::trust);
            each.min().unwrap_or(Score::HALF)
        },
        text: texts.collect::<Vec<_>>().join("\n"),
        partial: false,
        objects: message.objects,
        score: None,
    }
}
