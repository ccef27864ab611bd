//! The answer to `query_archive`: passages of objects that are not shown, the nearest first, within a number of
//! tokens.
//!
//! The search covers all that the caller may see and that holds at the instants asked for: documents that were left
//! to retrieval, objects that a compile omitted, and of a store also archived and demoted objects
//! ([`Reach::Archive`](crate::Reach::Archive)). Passages are ranked by the one ranker, terms and
//! vectors together. The result is data: a host gives it to the model as the result of its tool call.
//!
//! ```
//! use tenure::{Budget, Candidates, FrameKey, ObjectDocument, Policy, Request};
//! use tenure_workspace::{Workspace, archive::Ask};
//! let workspace = Workspace::new(FrameKey::new("demo", [7; 32]))?;
//! let world = workspace.world("gpt-4o")?;
//! let manual = "The valve opens at two bar.\n\nThe lamp is green.";
//! let manual = ObjectDocument::evidence("manual", "2026-06-06".parse()?, manual).seal()?;
//! let request = Request::new("Mend the pump.", Budget::default());
//! let found = workspace.query(&world, &Policy::preset("standard")?, &request, &Candidates::new(vec![manual]),
//!     &Ask::new("At which pressure does the valve open?"))?;
//! assert!(found.passages[0].text.contains("two bar"));
//! # Ok::<(), tenure::Error>(())
//! ```

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;
use tenure::num::Score;
use tenure::object::{ObjectId, ObjectType};
use tenure::policy::Scorer;
use tenure::ranker::{Ranker, Unit};
use tenure::{Candidates, Digest, Error, Policy, Request, World};

use crate::workspace::Workspace;

/// The least length at which a passage ends with its paragraph, and the most length of one, in bytes.
const ENOUGH: usize = 600;
const MOST: usize = 1_600;
/// More than two places apart: the last passage of one object is no neighbour of the first of the next.
const GAP: u64 = 8;

/// A query to the archive.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// The subject that passages should speak of.
    pub text: &'a str,
    /// The most tokens of all passages together. Default: 4,000.
    pub tokens: u32,
    /// The most passages. Default: as many as fit.
    pub limit: Option<u32>,
    /// The names of objects that stand before the model already, whole. Default: none.
    pub standing: BTreeSet<String>,
}

impl<'a> Ask<'a> {
    /// About this, within 4,000 tokens.
    pub fn new(text: &'a str) -> Ask<'a> {
        Ask {
            text,
            tokens: 4_000,
            limit: None,
            standing: BTreeSet::new(),
        }
    }
}

/// A part of an object's text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Passage {
    /// The object's name.
    pub name: String,
    /// The object.
    pub object_id: ObjectId,
    /// The start of the passage in its text, in bytes.
    pub from: usize,
    /// Its end, in bytes.
    pub until: usize,
    /// Its nearness, from 0 to 1; the nearest of all has 1.
    pub relevance: Score,
    /// Its cost.
    pub tokens: u32,
    /// Its text.
    pub text: String,
}

/// The passages of the archive that match a query.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Found {
    /// The nearest first.
    pub passages: Vec<Passage>,
    /// The tokens of all of them.
    pub tokens: u32,
    /// The number of further matches.
    pub left_out: usize,
    /// Among how many passages it was looked for.
    pub among: usize,
}

impl Workspace {
    /// **query**: passages of these candidates that say something about it. The caller, the instants and
    /// the policy's scorer are those of a compile; the task plays no part.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when nothing is asked, or the request makes no sense.
    pub fn query(
        &self,
        world: &World,
        policy: &Policy,
        request: &Request,
        candidates: &Candidates,
        ask: &Ask<'_>,
    ) -> Result<Found, Error> {
        if ask.text.trim().is_empty() {
            return Err(Error::input("the query is empty").expected("some words"));
        }
        if ask.tokens == 0 || ask.limit == Some(0) {
            return Err(Error::input("the limits allow no passage")
                .expected("at least one token and one passage"));
        }
        let mut units = Vec::new();
        let mut places = Vec::new();
        let mut order = 0;
        for at in tenure::visible(world, policy, request, candidates)? {
            let Some(object) = candidates.objects().get(at) else {
                continue;
            };
            let revision = object.revision();
            let is_text = !matches!(
                revision.object_type(),
                ObjectType::ToolSchema | ObjectType::Media | ObjectType::TaskState
            );
            if !is_text || ask.standing.contains(object.name()) {
                continue;
            }
            let text = revision.content();
            for range in passages(text) {
                units.push(Unit {
                    name: object.name(),
                    text: &text[range.clone()],
                    order: Some(order),
                    ..Unit::default()
                });
                places.push((at, range));
                order += 1;
            }
            order += GAP;
        }
        let dense = match policy.document().scorer {
            Scorer::Hybrid => {
                let texts: Vec<(Digest, &str)> = units
                    .iter()
                    .map(|unit| (Digest::of(unit.text.as_bytes()), unit.text))
                    .collect();
                self.vectorizer().similarities(ask.text, &texts)?
            }
            _ => None,
        };
        let weights = policy.document().ranking.weights();
        let ranked = Ranker::new(&units, weights).rank(ask.text, dense.as_deref());
        let mut found = Found {
            passages: Vec::new(),
            tokens: 0,
            left_out: 0,
            among: units.len(),
        };
        let most = ask.limit.map_or(usize::MAX, |limit| limit as usize);
        for (unit, score) in ranked.into_iter().take_while(|(_, score)| *score > 0.0) {
            let text = units[unit].text;
            let tokens = if found.passages.len() < most {
                world.tokenizer().count(text) as u32
            } else {
                u32::MAX
            };
            if tokens > ask.tokens - found.tokens {
                found.left_out += 1;
                continue;
            }
            let (at, range) = &places[unit];
            let object = &candidates.objects()[*at];
            found.tokens += tokens;
            found.passages.push(Passage {
                name: object.name().to_owned(),
                object_id: object.revision().object_id(),
                from: range.start,
                until: range.end,
                relevance: Score::clamped(score),
                tokens,
                text: text.to_owned(),
            });
        }
        Ok(found)
    }
}

/// The byte ranges of the passages of a text: paragraphs, short ones together, long ones cut at the end of a line,
/// else of a word. Nothing but white space stands between them.
pub(crate) fn passages(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let rest = &text[start..];
        let skipped = rest.len() - rest.trim_start().len();
        start += skipped;
        let rest = &text[start..];
        if rest.is_empty() {
            break;
        }
        let length = first(rest);
        ranges.push(start..start + rest[..length].trim_end().len());
        start += length;
    }
    ranges
}

/// The length of the first passage.
fn first(text: &str) -> usize {
    let most = text.floor_char_boundary(MOST);
    let enough = text.floor_char_boundary(ENOUGH);
    let after = |mark: &str| text[enough..most].find(mark).map(|at| enough + at);
    if let Some(end) = after("\n\n").or_else(|| after("\n#")) {
        return end;
    }
    if text.len() <= MOST {
        return text.len();
    }
    let window = &text[..most];
    let cut = window[enough..]
        .rfind('\n')
        .or_else(|| window[enough..].rfind(char::is_whitespace));
    cut.map_or(most, |at| enough + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tenure::{Budget, FrameKey, ObjectDocument};

    fn documents(pairs: &[(&str, &str)]) -> Candidates {
        let seal =
            |(name, text): &(&str, &str)| ObjectDocument::named(*name, *text).seal().unwrap();
        Candidates::new(pairs.iter().map(seal).collect())
    }

    fn ask(candidates: &Candidates, ask: &Ask<'_>) -> Result<Found, Error> {
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let world = workspace.world("gpt-4o").unwrap();
        let policy = Policy::preset("standard").unwrap();
        let request = Request::new("Anything.", Budget::default());
        workspace.query(&world, &policy, &request, candidates, ask)
    }

    #[test]
    fn the_passage_comes_back_and_not_the_document() {
        let filler = "The lamp on the panel is green while the machine is at rest.\n\n".repeat(60);
        let manual = format!("{filler}The relief valve opens at two bar.\n\n{filler}");
        let candidates = documents(&[("manual", &manual), ("menu", "Soup on Monday.")]);
        let question = Ask {
            tokens: 400,
            ..Ask::new("At what pressure does the relief valve open?")
        };
        let found = ask(&candidates, &question).unwrap();
        let best = &found.passages[0];
        assert_eq!(best.name, "manual");
        assert!(
            best.text.contains("two bar") && best.text.len() <= MOST,
            "{}",
            best.text
        );
        assert_eq!(&manual[best.from..best.until], best.text);
        assert!(found.tokens <= 400 && found.left_out > 0);
        let one = Ask {
            limit: Some(1),
            ..question.clone()
        };
        assert_eq!(ask(&candidates, &one).unwrap().passages.len(), 1);
        // What the model has before it is not told again.
        let rest = Ask {
            standing: ["manual".to_owned()].into(),
            ..question
        };
        let found = ask(&candidates, &rest).unwrap();
        assert!(found.passages.iter().all(|passage| passage.name == "menu"));
    }

    #[test]
    fn what_the_caller_may_not_see_is_not_found() {
        let secret = ObjectDocument {
            tenant_id: Some("other".into()),
            ..ObjectDocument::named("secret", "The relief valve opens at three bar.")
        };
        let mut objects = documents(&[("own", "A relief valve.")]).objects().to_vec();
        objects.push(secret.seal().unwrap());
        let found = ask(&Candidates::new(objects), &Ask::new("relief valve")).unwrap();
        assert_eq!((found.passages.len(), found.among), (1, 1));
        assert_eq!(found.passages[0].name, "own");
    }

    #[test]
    fn nothing_is_found_by_nothing() {
        let candidates = documents(&[("a", "Some text."), ("b", "… --- …")]);
        assert!(ask(&candidates, &Ask::new(" \n")).is_err());
        assert!(
            ask(
                &candidates,
                &Ask {
                    tokens: 0,
                    ..Ask::new("x")
                }
            )
            .is_err()
        );
        assert!(
            ask(&candidates, &Ask::new("zyxwv"))
                .unwrap()
                .passages
                .is_empty()
        );
        assert_eq!(ask(&documents(&[]), &Ask::new("x")).unwrap().among, 0);
    }

    proptest! {
        #[test]
        fn passages_hold_all_of_a_text_but_white_space(text in "([a-zé字 ]{0,40}\n{0,3}){0,90}") {
            let ranges = passages(&text);
            let mut end = 0;
            for range in &ranges {
                prop_assert!(text[end..range.start].trim().is_empty());
                prop_assert!(!range.is_empty() && range.len() <= MOST);
                end = range.end;
            }
            prop_assert!(text[end..].trim().is_empty());
        }
    }
}
