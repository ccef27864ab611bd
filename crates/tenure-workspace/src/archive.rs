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

use schemars::JsonSchema;
use serde::Serialize;
use tenure::num::Score;
use tenure::object::ObjectId;
use tenure::policy::Scorer;
use tenure::ranker::Question;
use tenure::{Candidates, Error, Policy, Request, World};

use crate::workspace::Workspace;

/// So many passages in a row that are longer than what is left of the tokens end the answer: further ones are not counted.
const TOO_LONG: usize = 32;

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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
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
        let visible = tenure::visible(world, policy, request, candidates)?;
        let stands = |at: &usize| {
            candidates
                .objects()
                .get(*at)
                .is_some_and(|object| ask.standing.contains(object.name()))
        };
        let passages = candidates.passages();
        let seen = passages.of_candidates(visible.into_iter().filter(|at| !stands(at)));
        let (asked, dense) = match policy.document().scorer {
            Scorer::Hybrid => {
                let vectorizer = self.vectorizer();
                let dense = vectorizer.passage_similarities(ask.text, passages, &seen)?;
                (vectorizer.question(ask.text)?, dense)
            }
            _ => (Question::of(ask.text), None),
        };
        let weights = policy.document().ranking.weights();
        let mut ranked = passages.rank(&asked, &weights, &seen, dense.as_deref());
        let near = ranked.len();
        let mut found = Found {
            passages: Vec::new(),
            tokens: 0,
            left_out: 0,
            among: seen.into_iter().filter(|seen| *seen).count(),
        };
        let most = ask.limit.map_or(usize::MAX, |limit| limit as usize);
        let mut too_long = 0;
        while found.passages.len() < most
            && found.tokens < ask.tokens
            && too_long < TOO_LONG
            && let Some((at, score)) = ranked.next()
        {
            let passage = passages.get(at);
            let tokens = world.tokenizer().count(passage.text) as u32;
            if tokens > ask.tokens - found.tokens {
                too_long += 1;
                continue;
            }
            too_long = 0;
            found.tokens += tokens;
            found.passages.push(Passage {
                name: passage.object.name().to_owned(),
                object_id: passage.object.revision().object_id(),
                from: passage.range.start,
                until: passage.range.end,
                relevance: Score::clamped(score),
                tokens,
                text: passage.text.to_owned(),
            });
        }
        found.left_out = near - found.passages.len();
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tenure::{Budget, CountKind, FrameKey, ObjectDocument, Tokenizer};

    fn documents(pairs: &[(&str, &str)]) -> Candidates {
        Candidates::new(
            pairs
                .iter()
                .map(|(name, text)| ObjectDocument::named(*name, *text).seal().unwrap())
                .collect(),
        )
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
            best.text.contains("two bar") && best.text.len() <= 1_600,
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
        assert!(ask(&candidates, &Ask::new("zyxwv")).unwrap().passages.is_empty());
        assert_eq!(ask(&documents(&[]), &Ask::new("x")).unwrap().among, 0);
    }

    /// Counts how often it is asked.
    struct Asked(Arc<dyn Tokenizer>, Arc<AtomicUsize>);

    impl Tokenizer for Asked {
        fn name(&self) -> &str {
            self.0.name()
        }

        fn count(&self, text: &str) -> usize {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.count(text)
        }

        fn kind(&self) -> CountKind {
            self.0.kind()
        }

        fn is_additive(&self) -> bool {
            self.0.is_additive()
        }
    }

    #[test]
    fn tokens_are_counted_no_further_than_the_budget() {
        let texts: Vec<String> = (0..500)
            .map(|number| format!("The relief valve {number} opens at two bar."))
            .collect();
        let names: Vec<String> = (0..500).map(|number| format!("valve-{number}")).collect();
        let pairs: Vec<(&str, &str)> =
            names.iter().zip(&texts).map(|(name, text)| (&**name, &**text)).collect();
        let candidates = documents(&pairs);
        let asked = Arc::new(AtomicUsize::new(0));
        let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
        let world = workspace.world("gpt-4o").unwrap();
        let counter = Arc::clone(&asked);
        let world = world.counted_by(|inner| Arc::new(Asked(inner, counter)));
        let policy = Policy::preset("standard").unwrap();
        let request = Request::new("Anything.", Budget::default());
        let query = |ask: &Ask<'_>| {
            let found = workspace.query(&world, &policy, &request, &candidates, ask);
            (found.unwrap(), asked.swap(0, Ordering::Relaxed))
        };
        let (found, counted) = query(&Ask {
            limit: Some(3),
            ..Ask::new("relief valve")
        });
        assert_eq!((found.passages.len(), found.left_out, counted), (3, 497, 3));
        let (found, counted) = query(&Ask {
            tokens: 25,
            ..Ask::new("relief valve")
        });
        assert_eq!(found.passages.len() + found.left_out, 500);
        assert!((1..3).contains(&found.passages.len()) && found.tokens <= 25);
        assert!(counted <= found.passages.len() + TOO_LONG, "{counted}");
        assert_eq!(query(&Ask::new(&"valve ".repeat(200_000))).0.among, 500);
    }

    #[test]
    fn what_is_kept_of_a_query_changes_no_other() {
        let texts = ["A relief valve.", "The valve of the pump.", "A film."];
        let all = documents(&[("a", texts[0]), ("b", texts[1]), ("c", texts[2])]);
        let once = ask(&all, &Ask::new("valve")).unwrap();
        let standing = Ask {
            standing: ["a".to_owned()].into(),
            ..Ask::new("valve")
        };
        let less = ask(&all, &standing).unwrap();
        let alone = documents(&[("b", texts[1]), ("c", texts[2])]);
        assert_eq!(less, ask(&alone, &Ask::new("valve")).unwrap());
        assert_eq!(ask(&all, &Ask::new("valve")).unwrap(), once);
    }
}
