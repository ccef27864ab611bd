//! The ids of calls as a provider takes them. An id means nothing to another provider: one that it would refuse is
//! renamed, the same in the call and in its result, and the same each time.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::base::digest::Digest;

/// So many characters of an id stay in the one that it becomes, so that a reader knows it again.
const KEPT: usize = 20;

/// The ids that a provider takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IdRule {
    /// True if they hold letters, digits, `_` and `-` alone.
    pub(crate) plain: bool,
    /// The most characters.
    pub(crate) longest: usize,
    /// True if each call of a conversation needs one of its own.
    pub(crate) once: bool,
}

impl IdRule {
    /// Ids that go nowhere, or of which nothing is demanded.
    pub(crate) const ANY: IdRule = IdRule {
        plain: false,
        longest: usize::MAX,
        once: false,
    };

    /// Returns whether an id may stand as it is.
    pub(crate) fn takes(self, id: &str) -> bool {
        self == IdRule::ANY
            || !id.is_empty()
                && id.chars().count() <= self.longest
                && (!self.plain || id.chars().all(is_plain))
    }
}

fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

/// An id that every provider takes, made of one that this may refuse; of its `nth` use.
fn renamed(id: &str, nth: u32) -> String {
    let named = Digest::of(format!("{nth}:{id}").as_bytes()).to_string();
    let digest = named.trim_start_matches("sha256:");
    let kept: String = id.chars().filter(|c| is_plain(*c)).take(KEPT).collect();
    let kept = if kept.is_empty() { "call" } else { &kept };
    format!("{kept}_{}", &digest[..16])
}

/// The ids of a conversation, call by call.
pub(crate) struct CallIds<'a> {
    rule: IdRule,
    /// The uses of each id, where each may be used once.
    used: BTreeMap<Cow<'a, str>, u32>,
    /// The id that the latest call of an id has, where it is another.
    latest: BTreeMap<&'a str, String>,
}

impl<'a> CallIds<'a> {
    pub(crate) fn new(rule: IdRule) -> CallIds<'a> {
        CallIds {
            rule,
            used: BTreeMap::new(),
            latest: BTreeMap::new(),
        }
    }

    /// The id of the next call.
    pub(crate) fn call(&mut self, id: &'a str) -> Cow<'a, str> {
        let mut legal = if self.rule.takes(id) {
            Cow::Borrowed(id)
        } else {
            Cow::Owned(renamed(id, 1))
        };
        if self.rule.once {
            let mut nth = 1;
            while self.used.contains_key(&legal) {
                nth = self.used.get(id).map_or(nth, |used| nth.max(*used)) + 1;
                legal = Cow::Owned(renamed(id, nth));
            }
            self.used.insert(legal.clone(), 1);
            self.used.insert(Cow::Borrowed(id), nth);
        }
        match &legal {
            Cow::Borrowed(_) => self.latest.remove(id),
            Cow::Owned(legal) => self.latest.insert(id, legal.clone()),
        };
        legal
    }

    /// Returns whether a message may go back as it came that calls with this id, or (`answers`) has the result of
    /// such a call.
    pub(crate) fn leaves(&self, id: &str, answers: bool) -> bool {
        if answers {
            !self.latest.contains_key(id)
        } else {
            !self.used.contains_key(id)
        }
    }

    /// The next call goes back as it came.
    pub(crate) fn keep(&mut self, id: &'a str) {
        self.latest.remove(id);
        if self.rule.once {
            self.used.entry(Cow::Borrowed(id)).or_insert(1);
        }
    }

    /// The id of the call that a result answers.
    pub(crate) fn answered(&self, id: &'a str) -> Cow<'a, str> {
        match self.latest.get(id) {
            Some(legal) => Cow::Owned(legal.clone()),
            None if self.rule.takes(id) => Cow::Borrowed(id),
            None => Cow::Owned(renamed(id, 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STRICT: IdRule = IdRule {
        plain: true,
        longest: 40,
        once: true,
    };

    #[test]
    fn what_may_stand_stands_and_the_rest_is_renamed() {
        let mut ids = CallIds::new(STRICT);
        assert_eq!(ids.call("call_1"), "call_1");
        let again = ids.call("call_1");
        assert_ne!(again, "call_1");
        assert_eq!(ids.answered("call_1"), again);
        let dotted = ids.call("functions.look:0");
        assert!(dotted.starts_with("functionslook0_"), "{dotted}");
        assert_eq!(ids.answered("functions.look:0"), dotted);
        assert!(ids.call("").starts_with("call_"));
        assert_eq!(
            CallIds::new(IdRule::ANY).call("functions.look:0"),
            "functions.look:0"
        );
        assert_eq!(
            CallIds::new(IdRule {
                once: false,
                ..STRICT
            })
            .call("a"),
            "a"
        );
    }

    proptest! {
        #[test]
        fn no_two_calls_share_an_id_and_each_result_finds_its_own(
            said in prop::collection::vec("[a-c.:|]{0,3}|x{39,42}|ü", 0..40)
        ) {
            let (mut ids, mut again) = (CallIds::new(STRICT), CallIds::new(STRICT));
            let mut seen = std::collections::BTreeSet::new();
            for id in &said {
                let call = ids.call(id).into_owned();
                prop_assert!(STRICT.takes(&call), "{call}");
                prop_assert_eq!(ids.answered(id), call.as_str());
                prop_assert_eq!(again.call(id), call.as_str());
                prop_assert!(seen.insert(call));
            }
        }
    }
}
