//! Flaws of instructions, found before they are compiled: constraints that are only shown, that contradict or repeat
//! each other, or that no machine can check; and words of the role policy that say nothing.
//!
//! | finding | what |
//! |---|---|
//! | `implicit_critical` | a hard constraint that is conveyed by examples alone |
//! | `contradictory` | one asks what another forbids, or both set another number for the same |
//! | `duplicate` | two say the same |
//! | `unchecked` | a hard constraint without a validator |
//! | `redundant` | a sentence of the identity that stands there before, or whose opening words say nothing |
//! | `motivational` | a sentence of the identity that praises or encourages the model |
//!
//! Sentences of guidance are compared as constraints are, by the words that they share, in any language.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::digest::DigestMap;
use crate::base::text::clip;
use crate::condense::sentences::sentences;
use crate::input::candidates::Candidates;
use crate::input::stance::{Topic, directive, stance};
use crate::object::section::{Section, section_of};
use crate::object::vocabulary::vocabulary;
use crate::object::{Authority, ContextObject, Explicitness, Modality, ObjectType, Polarity};

vocabulary! {
    /// The kind of a finding.
    Flaw ("flaw of instructions") {
        /// A hard constraint that is conveyed by examples alone.
        ImplicitCritical = "implicit_critical",
        /// One asks what another forbids, or both set another number for the same.
        Contradictory = "contradictory",
        /// Two say the same.
        Duplicate = "duplicate",
        /// A hard constraint that no validator can check.
        Unchecked = "unchecked",
        /// Words of the identity that say nothing new.
        Redundant = "redundant",
        /// Words of the identity that praise or encourage.
        Motivational = "motivational",
    }
}

impl Flaw {
    /// Returns whether instructions with it should not be used.
    pub fn is_error(self) -> bool {
        matches!(self, Flaw::ImplicitCritical | Flaw::Contradictory)
    }
}

/// A flaw of an object's instructions.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LintFinding {
    /// The kind.
    pub flaw: Flaw,
    /// The object's name.
    pub name: Arc<str>,
    /// The beginning of what it says.
    pub says: String,
    /// The other object, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Arc<str>>,
    /// The beginning of what that says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_says: Option<String>,
}

impl fmt::Display for LintFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}: {}", self.flaw, self.name, self.says)?;
        match (&self.other, &self.other_says) {
            (Some(other), Some(says)) => write!(f, "  <->  {other}: {says}"),
            _ => Ok(()),
        }
    }
}

/// The findings in instructions.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
pub struct LintReport {
    /// The number of objects and sentences that demand or forbid.
    pub constraints: usize,
    /// The findings, in the order of the objects, up to [`MAX_FINDINGS`] of each kind.
    pub findings: Vec<LintFinding>,
    /// True if there are more of a kind than are listed, or not all pairs were compared.
    pub more: bool,
}

impl LintReport {
    /// Returns the number of findings that are errors.
    pub fn errors(&self) -> usize {
        self.findings.iter().filter(|finding| finding.flaw.is_error()).count()
    }
}

/// The most findings of one kind that are listed.
pub const MAX_FINDINGS: usize = 1_000;
/// The most pairs that are compared.
const MAX_PAIRS: usize = 8_000_000;
/// The share of the shorter one's words that two opposed constraints have in common.
const OPPOSED: f64 = 0.6;
/// The share of the longer one's words that two equal constraints have in common.
const EQUAL: f64 = 0.9;
/// Fewer words than this name no topic.
const LEAST_WORDS: usize = 2;

/// Words that show by example.
#[rustfmt::skip]
const EXAMPLES: [&str; 11] = [
    "example", "e.g.", "for instance", "such as", "like this", "beispiel", "par exemple", "por ejemplo", "например",
    "例如", "例えば",
];

/// Openings that say nothing.
#[rustfmt::skip]
const PADDING: [&str; 12] = [
    "please note that", "note that", "it is important to", "it's important to", "keep in mind that", "remember that",
    "please remember", "as mentioned", "as stated", "needless to say", "in order to make sure", "you should be aware",
];

/// Words that praise or encourage a model.
#[rustfmt::skip]
const MOTIVATES: [&str; 28] = [
    "world-class", "world class", "best in the world", "do your best", "try your best", "take a deep breath",
    "you can do it", "believe in you", "i believe", "amazing", "incredible", "brilliant", "genius", "passionate",
    "proud", "excited", "delight", "thrilled", "you are the best", "exceptional", "extraordinary", "unparalleled",
    "my career depends", "i will tip", "gib dein bestes", "fais de ton mieux", "haz tu mejor", "постарайся",
];

/// A text that demands or forbids.
struct Constraint<'c> {
    object: &'c ContextObject,
    text: &'c str,
    polarity: Option<Polarity>,
    topic: Topic,
    numbers: Vec<String>,
}

/// Looks through the instructions among candidates.
///
/// ```
/// use tenure::inspect::{Flaw, lint};
/// use tenure::{Candidates, ObjectDocument};
/// let yes = ObjectDocument::rule("cite", "Always cite the manual when you answer.").seal()?;
/// let no = ObjectDocument::rule("quiet", "Never cite the manual when you answer.").seal()?;
/// let report = lint(&Candidates::new(vec![yes, no]));
/// assert_eq!(report.findings[0].flaw, Flaw::Contradictory);
/// # Ok::<(), tenure::Error>(())
/// ```
pub fn lint(candidates: &Candidates) -> LintReport {
    let mut out = Found::default();
    let mut constraints = Vec::new();
    let mut identity: DigestMap<Arc<str>> = DigestMap::default();
    for object in candidates.objects() {
        let revision = object.revision();
        let commands = revision.authority_level() != Authority::Data;
        let text = matches!(revision.modality(), Modality::Text | Modality::Structured);
        if !commands || !text {
            continue;
        }
        let section = section_of(revision);
        let states = revision.constraint().is_some()
            || revision.object_type() == ObjectType::ActionableConstraint;
        if states {
            of_one(object, &mut out);
            let polarity = revision.constraint().map(|constraint| constraint.polarity);
            let stated = stance(revision.content()).or(polarity);
            constraints.push(Constraint::of(object, revision.content(), stated));
        } else if matches!(
            section,
            Section::Identity | Section::Policy | Section::Memory | Section::Karma
        ) {
            for sentence in sentences(revision.content()) {
                if let Some(polarity) = directive(sentence) {
                    constraints.push(Constraint::of(object, sentence, Some(polarity)));
                }
            }
        }
        if section == Section::Identity {
            of_identity(object, &mut identity, &mut out);
        }
    }
    out.report.constraints = constraints.len();
    of_pairs(&constraints, &mut out);
    out.report
}

/// The findings, and how many of each kind.
#[derive(Default)]
struct Found {
    report: LintReport,
    counts: BTreeMap<Flaw, usize>,
}

impl Found {
    fn add(
        &mut self,
        flaw: Flaw,
        object: &ContextObject,
        text: &str,
        other: Option<&Constraint<'_>>,
    ) {
        let count = self.counts.entry(flaw).or_default();
        *count += 1;
        if *count > MAX_FINDINGS {
            self.report.more = true;
            return;
        }
        self.report.findings.push(LintFinding {
            flaw,
            name: object.name().into(),
            says: clip(text.trim()),
            other: other.map(|other| other.object.name().into()),
            other_says: other.map(|other| clip(other.text.trim())),
        });
    }
}

impl<'c> Constraint<'c> {
    fn of(object: &'c ContextObject, text: &'c str, polarity: Option<Polarity>) -> Constraint<'c> {
        let numbers = text
            .split(|c: char| !c.is_alphanumeric() && c != '.' && c != ',')
            .map(|word| word.trim_matches(['.', ',']))
            .filter(|word| word.chars().any(|c| c.is_ascii_digit()));
        Constraint {
            object,
            text,
            polarity,
            topic: Topic::of(text),
            numbers: numbers.map(str::to_owned).collect(),
        }
    }

    /// Returns the number of words that both have.
    fn shared(&self, other: &Constraint<'_>) -> usize {
        let (mut own, mut their) = (
            self.topic.words().iter().peekable(),
            other.topic.words().iter().peekable(),
        );
        let mut shared = 0;
        while let (Some(a), Some(b)) = (own.peek(), their.peek()) {
            match a.cmp(b) {
                std::cmp::Ordering::Less => own.next(),
                std::cmp::Ordering::Greater => their.next(),
                std::cmp::Ordering::Equal => {
                    shared += 1;
                    own.next();
                    their.next()
                }
            };
        }
        shared
    }
}

/// Adds the flaws of a constraint by itself.
fn of_one(object: &ContextObject, out: &mut Found) {
    let revision = object.revision();
    if !revision.is_hard_constraint() {
        return;
    }
    let text = revision.content();
    let declared = revision.constraint();
    let is_declared = declared.is_some_and(|found| found.explicitness == Explicitness::Implicit);
    let shows = || {
        let lower = text.to_lowercase();
        EXAMPLES.iter().any(|word| lower.contains(word))
    };
    let states = || sentences(text).into_iter().any(|sentence| directive(sentence).is_some());
    if is_declared || (shows() && !states()) {
        out.add(Flaw::ImplicitCritical, object, text, None);
    }
    if !revision.has_validator() {
        out.add(Flaw::Unchecked, object, text, None);
    }
}

/// Adds the sentences of a part of the identity that say nothing.
fn of_identity(object: &ContextObject, seen: &mut DigestMap<Arc<str>>, out: &mut Found) {
    for sentence in sentences(object.revision().content()) {
        let lower = sentence.trim().to_lowercase();
        if lower.is_empty() {
            continue;
        }
        let words: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let key = crate::base::digest::Digest::of(words.join(" ").as_bytes()).key();
        let again = words.len() > 2 && seen.insert(key, object.name().into()).is_some();
        if again || PADDING.iter().any(|opening| lower.starts_with(opening)) {
            out.add(Flaw::Redundant, object, sentence, None);
        }
        if MOTIVATES.iter().any(|word| lower.contains(word)) {
            out.add(Flaw::Motivational, object, sentence, None);
        }
    }
}

/// Compares those that share a rare word: two that share most of their words share one of the rarest.
fn of_pairs(constraints: &[Constraint<'_>], out: &mut Found) {
    let mut with: DigestMap<Vec<u32>> = DigestMap::default();
    for (at, constraint) in (0u32..).zip(constraints) {
        for word in constraint.topic.words() {
            with.entry(u128::from(*word)).or_default().push(at);
        }
    }
    let of = |word: u64| with.get(&u128::from(word)).map_or(&[][..], Vec::as_slice);
    let mut left = MAX_PAIRS;
    // By whom each was met last.
    let mut met = vec![u32::MAX; constraints.len()];
    for (at, constraint) in (0u32..).zip(constraints) {
        let mut words = constraint.topic.words().to_vec();
        if words.len() < LEAST_WORDS {
            continue;
        }
        words.sort_by_key(|word| (of(*word).len(), *word));
        // Of a pair the shorter looks for the longer: so many of its words may be missing there, and one more may not.
        let missing = words.len() - (words.len() as f64 * OPPOSED).ceil() as usize;
        let mut near: Vec<u32> = Vec::new();
        for word in words.iter().take(missing + 1) {
            for &other in of(*word) {
                let theirs = constraints[other as usize].topic.words().len();
                let is_longer = (theirs, other) > (words.len(), at);
                if is_longer && std::mem::replace(&mut met[other as usize], at) != at {
                    near.push(other);
                }
            }
        }
        near.sort_unstable();
        near.truncate(left);
        left -= near.len();
        for other in near {
            let other = &constraints[other as usize];
            if let Some(flaw) = of_pair(constraint, other) {
                out.add(flaw, constraint.object, constraint.text, Some(other));
            }
        }
        if left == 0 {
            out.report.more = true;
            return;
        }
    }
}

/// Returns what is wrong with two constraints beside each other.
fn of_pair(one: &Constraint<'_>, other: &Constraint<'_>) -> Option<Flaw> {
    let (own, their) = (one.topic.words().len(), other.topic.words().len());
    let shared = one.shared(other) as f64;
    if shared < own.min(their) as f64 * OPPOSED {
        return None;
    }
    let is_opposed = match (one.polarity, other.polarity) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    };
    if is_opposed {
        return Some(Flaw::Contradictory);
    }
    if shared < own.max(their) as f64 * EQUAL {
        return None;
    }
    let differs = !one.numbers.is_empty() && !other.numbers.is_empty();
    Some(if differs && one.numbers != other.numbers {
        Flaw::Contradictory
    } else {
        Flaw::Duplicate
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::{ConstraintDocument, ObjectDocument};

    fn rule(name: &str, content: &str) -> ObjectDocument {
        ObjectDocument {
            object_type: Some(ObjectType::PolicyRule),
            ..ObjectDocument::named(name, content)
        }
    }

    fn identity(name: &str, content: &str) -> ObjectDocument {
        ObjectDocument {
            authority_level: Some(Authority::Platform),
            ..rule(name, content)
        }
    }

    fn constraint(name: &str, content: &str, json: &str) -> ObjectDocument {
        let constraint: ConstraintDocument = serde_json::from_str(json).unwrap();
        ObjectDocument {
            object_type: Some(ObjectType::ActionableConstraint),
            constraint: Some(constraint),
            ..ObjectDocument::named(name, content)
        }
    }

    fn flaws(documents: Vec<ObjectDocument>) -> Vec<(Flaw, String, Option<String>)> {
        let objects = documents.into_iter().map(|document| document.seal().unwrap());
        let report = lint(&Candidates::new(objects.collect()));
        report
            .findings
            .into_iter()
            .map(|found| {
                (
                    found.flaw,
                    found.name.to_string(),
                    found.other.map(|name| name.to_string()),
                )
            })
            .collect()
    }

    #[test]
    fn what_contradicts_and_what_repeats_is_found_in_any_language() {
        let hard = r#"{"rigidity":"hard","patterns":["x"]}"#;
        let never = r#"{"rigidity":"hard","polarity":"negative","patterns":["x"]}"#;
        let pair = |one: &str, other: &str| {
            flaws(vec![
                constraint("a", one, hard),
                rule("b", "The turbine hall opens at seven."),
                constraint(
                    "c",
                    other,
                    if directive(other) == Some(Polarity::Negative) {
                        never
                    } else {
                        hard
                    },
                ),
            ])
        };
        let found = |flaw| vec![(flaw, "a".to_owned(), Some("c".to_owned()))];
        for (one, other) in [
            (
                "Always cite the manual in answers.",
                "Never cite the manual in answers.",
            ),
            (
                "Die Antwort muss immer Quellen nennen.",
                "Die Antwort darf niemals Quellen nennen.",
            ),
            (
                "La réponse doit citer ses sources.",
                "La réponse ne doit jamais citer ses sources.",
            ),
            ("回答必须引用手册来源。", "回答不得引用手册来源。"),
            (
                "Answers have at most 5 sentences.",
                "Answers have at most 9 sentences.",
            ),
        ] {
            let mut all = pair(one, other);
            all.iter_mut().for_each(|found| {
                if found.1 == "c" {
                    *found = (found.0, "a".into(), Some("c".into()));
                }
            });
            assert_eq!(all, found(Flaw::Contradictory), "{one}");
        }
        let again = pair(
            "Always report pressure in pascal.",
            "Report pressure always in pascal!",
        );
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].0, Flaw::Duplicate);
        assert_eq!(
            pair(
                "Always report pressure in pascal.",
                "Never open the hot valve."
            ),
            []
        );
    }

    #[test]
    fn critical_constraints_are_stated_and_checked() {
        let shown = r#"{"rigidity":"hard","explicitness":"implicit","patterns":["x"]}"#;
        let stated = r#"{"rigidity":"hard","patterns":["x"]}"#;
        let unchecked = r#"{"rigidity":"hard"}"#;
        let soft = r#"{"rigidity":"soft","explicitness":"implicit"}"#;
        assert_eq!(
            flaws(vec![
                constraint("shown", "- Warm.\n- Dry.", shown),
                constraint(
                    "by-example",
                    "For example: [1] as the manual has it.",
                    stated
                ),
                constraint("stated", "Always cite, for example [1].", stated),
                constraint("unchecked", "Never guess a reading.", unchecked),
                constraint("soft", "- Brief.", soft),
            ]),
            [
                (Flaw::ImplicitCritical, "shown".into(), None),
                (Flaw::ImplicitCritical, "by-example".into(), None),
                (Flaw::Unchecked, "unchecked".into(), None),
            ]
        );
    }

    #[test]
    fn an_identity_says_what_it_says_once_and_plainly() {
        let text = "You operate the northern station. Please note that readings are in pascal. You are a \
                    world-class engineer, so do your best! You operate the northern station.";
        assert_eq!(
            flaws(vec![
                identity("role", text),
                rule("other", "Do your best at the gate.")
            ]),
            [
                (Flaw::Redundant, "role".into(), None),
                (Flaw::Motivational, "role".into(), None),
                (Flaw::Redundant, "role".into(), None),
            ]
        );
        assert_eq!(
            flaws(vec![identity("role", "You operate the northern station.")]),
            []
        );
    }

    #[test]
    fn ten_thousand_constraints_are_compared() {
        let soft = r#"{"rigidity":"soft"}"#;
        let text = |at: usize| {
            let word = |of: usize| {
                format!(
                    "valve{}",
                    char::from(b'a' + (at * 7 / 26usize.pow(of as u32) % 26) as u8)
                )
            };
            format!(
                "Always note {} of {} and {} of number{at}.",
                word(0),
                word(1),
                word(2).to_uppercase()
            )
        };
        let mut all: Vec<ObjectDocument> =
            (0..10_000).map(|at| constraint(&format!("c{at}"), &text(at), soft)).collect();
        all.push(constraint(
            "last",
            "Never note valvet of valveu and number77.",
            r#"{"rigidity":"soft","polarity":"negative"}"#,
        ));
        let objects = all.into_iter().map(|document| document.seal().unwrap());
        let report = lint(&Candidates::new(objects.collect()));
        assert_eq!(report.constraints, 10_001);
        let last = report.findings.iter().find(|found| found.flaw == Flaw::Contradictory);
        assert!(last.is_some_and(|found| {
            [&*found.name, found.other.as_deref().unwrap_or_default()].contains(&"last")
        }));
        // So many of the same few words are more than are worth comparing, and that is told.
        let objects = (0..10_000)
            .map(|at| {
                constraint(
                    &format!("c{at}"),
                    "Always note the gauge of the valve.",
                    soft,
                )
            })
            .map(|document| document.seal().unwrap());
        let report = lint(&Candidates::new(objects.collect()));
        assert!(report.more && report.findings.len() == MAX_FINDINGS);
    }
}
