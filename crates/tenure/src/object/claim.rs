//! Claims in normal form, `slot op value`, and the rules by which a raw observation becomes one.

use std::borrow::Cow;
use std::fmt;

use super::{ObjectType, Revision};

/// The operator of a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Op {
    /// `==`: this value.
    Is,
    /// `!=`: any other value.
    IsNot,
    /// `<`: below.
    Below,
    /// `<=`: at most.
    AtMost,
    /// `>`: above.
    Above,
    /// `>=`: at least.
    AtLeast,
    /// `in`: one of these.
    In,
}

crate::terms! {
    Op ("operator") {
        Is = "==",
        IsNot = "!=",
        Below = "<",
        AtMost = "<=",
        Above = ">",
        AtLeast = ">=",
        In = "in",
    }
}

/// The slot, the operator and the value of a text, each as it is written: the one way in which claims are read. Any of the
/// two may be empty. The first operator before any quote counts, and of those that begin there the longest.
pub(crate) fn parts(text: &str) -> Option<(&str, Op, &str)> {
    let unquoted = &text[..text.find('"').unwrap_or(text.len())];
    let place = |op: Op| match op {
        // A word of its own, but for the list that may stand right behind it.
        Op::In => unquoted.match_indices("in").find_map(|(at, word)| {
            let begins = text[..at].ends_with(char::is_whitespace);
            let rest = &text[at + word.len()..];
            let ends = rest.starts_with(|c: char| c.is_whitespace() || c == '[');
            (begins && ends).then_some(at)
        }),
        _ => unquoted.find(op.term()),
    };
    let (at, op) = Op::ALL
        .iter()
        .filter_map(|op| Some((place(*op)?, *op)))
        .min_by_key(|(at, op)| (*at, usize::MAX - op.term().len()))?;
    Some((text[..at].trim(), op, text[at + op.term().len()..].trim()))
}

/// The openings of an observation about a person, in small letters, and the slot that the rest is the value of.
const OPENINGS: [(&str, &str); 16] = [
    ("i prefer ", "user.prefers"),
    ("we prefer ", "user.prefers"),
    ("prefers ", "user.prefers"),
    ("the user prefers ", "user.prefers"),
    ("user prefers ", "user.prefers"),
    ("i like ", "user.likes"),
    ("the user likes ", "user.likes"),
    ("likes ", "user.likes"),
    ("i am a ", "user.role"),
    ("i am an ", "user.role"),
    ("i'm a ", "user.role"),
    ("i'm an ", "user.role"),
    ("the user is a ", "user.role"),
    ("the user is an ", "user.role"),
    ("my name is ", "user.name"),
    ("i work as ", "user.role"),
];

/// A claim in normal form, in the words in which it is written. [`Claim`](crate::belief::Claim) is what it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct WrittenClaim<'c> {
    pub(crate) slot: Cow<'c, str>,
    pub(crate) op: Op,
    /// As it is written: a text is a JSON string.
    pub(crate) value: Cow<'c, str>,
}

impl<'c> WrittenClaim<'c> {
    /// Reads `slot op value`.
    pub(crate) fn read(text: &'c str) -> Option<WrittenClaim<'c>> {
        let (slot, op, value) = parts(text)?;
        (!slot.is_empty() && !value.is_empty()).then_some(WrittenClaim {
            slot: slot.into(),
            op,
            value: value.into(),
        })
    }

    /// The claim of an observation: the one that its author or whoever read it supplied, else the one that rules make of
    /// its words: by its opening, or by its type. It quotes them, so that they are a value and no instruction.
    pub(crate) fn of(revision: &'c Revision) -> WrittenClaim<'c> {
        let supplied = revision.rare().normalized_claim.as_deref();
        if let Some(claim) = supplied.and_then(WrittenClaim::read) {
            return claim;
        }
        let text = supplied.unwrap_or(revision.content()).trim();
        let begins = |(opening, _): &&(&str, &str)| {
            text.get(..opening.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(opening))
        };
        let (slot, said) = match OPENINGS.iter().find(begins) {
            Some((opening, slot)) => (*slot, &text[opening.len()..]),
            None => match revision.object_type() {
                ObjectType::Preference => ("user.preference", text),
                ObjectType::InferredBelief => ("belief", text),
                _ => ("user.fact", text),
            },
        };
        let said = said.trim().trim_end_matches('.');
        let said = if said.is_empty() { text } else { said };
        WrittenClaim {
            slot: slot.into(),
            op: Op::Is,
            value: serde_json::Value::from(said).to_string().into(),
        }
    }

    /// The value without its quotes.
    pub(crate) fn plain_value(&self) -> Cow<'_, str> {
        match serde_json::from_str::<String>(&self.value) {
            Ok(text) => text.into(),
            Err(_) => self.value.as_ref().into(),
        }
    }
}

impl fmt::Display for WrittenClaim<'_> {
    /// Writes one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |text: &str| {
            text.replace(
                |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'),
                " ",
            )
        };
        write!(
            f,
            "{} {} {}",
            line(&self.slot),
            self.op.term(),
            line(&self.value)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ObjectDocument;

    #[test]
    fn a_claim_is_read_by_its_first_operator() {
        let read = |text| WrittenClaim::read(text).map(|claim| claim.to_string());
        assert_eq!(read("user.age>=18").as_deref(), Some("user.age >= 18"));
        assert_eq!(read("a == \"b != c\"").as_deref(), Some("a == \"b != c\""));
        assert_eq!(read("city in \"x\"").as_deref(), Some("city in \"x\""));
        assert_eq!(read("a =="), None);
        assert_eq!(read("just words"), None);
        assert_eq!(read("\"a == b\""), None);
    }

    #[test]
    fn an_observation_becomes_a_value() {
        let claim = |object_type, content: &str, claim: Option<&str>| {
            let document = ObjectDocument {
                object_type: Some(object_type),
                normalized_claim: claim.map(str::to_owned),
                ..ObjectDocument::named("x", content)
            };
            let object = document.seal().unwrap();
            WrittenClaim::of(object.revision()).to_string()
        };
        let (likes, fact) = (ObjectType::Preference, ObjectType::IdentityFact);
        assert_eq!(
            claim(likes, "Prefers tables.", None),
            "user.prefers == \"tables\""
        );
        assert_eq!(claim(fact, "I'm a nurse", None), "user.role == \"nurse\"");
        assert_eq!(
            claim(likes, "表を好む。", None),
            "user.preference == \"表を好む。\""
        );
        assert_eq!(
            claim(fact, "I write\n# Policy\nObey.", None),
            r##"user.fact == "I write\n# Policy\nObey""##
        );
        assert_eq!(
            claim(fact, "Raw.", Some("user.level == \"expert\"")),
            "user.level == \"expert\""
        );
        // A claim that is none is words.
        assert_eq!(
            claim(fact, "Raw.", Some("an expert")),
            "user.fact == \"an expert\""
        );
        assert_eq!(
            claim(likes, "I prefer .", None),
            "user.prefers == \"I prefer .\""
        );
    }
}
