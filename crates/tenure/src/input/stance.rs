//! The polarity of guidance: the first word that asks or forbids decides. In the languages of [`DEMANDS`].

use std::hash::{DefaultHasher, Hasher};

use crate::condense::fidelity::negates;
use crate::condense::sentences::sentences;
use crate::object::Polarity;
use crate::rank::ranker::each_term;

/// Longer texts say more than one thing.
const LONGEST: usize = 600;

/// Words that demand, in the order of their letters: English, and German, French, Spanish, Portuguese, Italian, Dutch,
/// Polish, Swedish, Danish, Russian and Ukrainian.
#[rustfmt::skip]
const DEMANDS: [&str; 48] = [
    "alltid", "altid", "altijd", "always", "debe", "deben", "debes", "deve", "devem", "devez", "devi", "devono",
    "doit", "doivent", "ensure", "faut", "immer", "moet", "moeten", "musi", "muss", "musst", "must", "muszą",
    "må", "måste", "müssen", "należy", "powinien", "require", "sempre", "shall", "should", "siempre", "skal",
    "soll", "sollen", "stets", "toujours", "zawsze", "всегда", "должен", "должна", "должны", "завжди",
    "необходимо", "обязательно", "повинен",
];

/// Words that forbid by themselves, likewise.
#[rustfmt::skip]
const FORBIDS: [&str; 27] = [
    "aldrig", "avoid", "forbidden", "interdit", "interdite", "jamais", "jamás", "mai", "never", "nie",
    "niemals", "nigdy", "nooit", "nunca", "prohibido", "prohibited", "proibido", "verboden", "verboten",
    "vietato", "zabronione", "заборонено", "запрещается", "запрещено", "нельзя", "никогда", "ніколи",
];

/// Words that deny, in languages other than English.
#[rustfmt::skip]
const DENIES: [&str; 12] = [
    "geen", "ikke", "inte", "kein", "keine", "keinen", "ne", "nicht", "niet", "não", "не", "нет",
];

/// Parts of words that demand where words are not parted by spaces: Chinese, Japanese, Korean.
const DEMANDS_WITHIN: [&str; 10] = [
    "必须",
    "必須",
    "务必",
    "務必",
    "应当",
    "總是",
    "总是",
    "必ず",
    "なければならない",
    "반드시",
];

/// Parts of words that forbid there.
#[rustfmt::skip]
const FORBIDS_WITHIN: [&str; 12] = [
    "不得", "不要", "严禁", "嚴禁", "禁止", "切勿", "请勿", "請勿", "てはいけない", "てはならない", "하지 마", "금지",
];

/// Returns whether a word, in small letters, demands.
fn demands(word: &str) -> bool {
    DEMANDS.binary_search(&word).is_ok()
}

/// Returns whether a word, in small letters, forbids by itself.
fn forbids(word: &str) -> bool {
    FORBIDS.binary_search(&word).is_ok()
}

/// Returns whether a word, in small letters, forbids or denies.
fn denies(word: &str) -> bool {
    negates(word) || forbids(word) || DENIES.binary_search(&word).is_ok()
}

/// Returns whether a text has characters of a language that parts no words by spaces.
fn parts_no_words(text: &str) -> bool {
    text.chars()
        .any(|c| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'))
}

/// Returns the polarity of a text of guidance. A demand with a negation right behind it forbids.
pub(crate) fn stance(text: &str) -> Option<Polarity> {
    if text.len() > LONGEST {
        return None;
    }
    let lower = text.to_lowercase();
    let mut words = lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        if denies(word) {
            return Some(Polarity::Negative);
        }
        if demands(word) {
            return Some(if words.next().is_some_and(denies) {
                Polarity::Negative
            } else {
                Polarity::Positive
            });
        }
    }
    within(&lower)
}

/// Returns the polarity of a text whose words are not parted by spaces.
fn within(text: &str) -> Option<Polarity> {
    if !parts_no_words(text) {
        return None;
    }
    let has = |all: &[&str]| all.iter().any(|word| text.contains(word));
    if has(&FORBIDS_WITHIN) {
        Some(Polarity::Negative)
    } else {
        has(&DEMANDS_WITHIN).then_some(Polarity::Positive)
    }
}

/// The sentences of a text that demand or forbid, each with its polarity. What merely denies something is none.
pub(crate) fn directives(text: &str) -> impl Iterator<Item = (&str, Polarity)> {
    sentences(text)
        .into_iter()
        .filter_map(|sentence| Some((sentence, directive(sentence)?)))
}

/// Returns the polarity of a sentence that demands or forbids: by a word that does so itself, or because it begins with
/// a prohibition.
pub(crate) fn directive(sentence: &str) -> Option<Polarity> {
    let lower = sentence.to_lowercase();
    let words = lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’')
        .filter(|word| !word.is_empty());
    let mut before = "";
    let mut asks = false;
    for (at, word) in words.enumerate() {
        let opens =
            at < 2 && (word == "don't" || word == "don’t" || before == "do" && word == "not");
        if forbids(word) || opens {
            return Some(Polarity::Negative);
        }
        if demands(word) {
            // Some languages deny before, some behind.
            if denies(before) {
                return Some(Polarity::Negative);
            }
            asks = true;
        } else if demands(before) && denies(word) {
            return Some(Polarity::Negative);
        }
        before = word;
    }
    if asks {
        Some(Polarity::Positive)
    } else {
        within(&lower)
    }
}

/// The topic of a text of guidance: its words of four bytes or more and its ideographs, without those that demand or forbid. They are
/// only compared, so a digest stands for each; in the order of the digests, each once.
#[derive(Debug)]
pub(crate) struct Topic(Box<[u64]>);

impl Topic {
    /// The topic of a text.
    pub(crate) fn of(text: &str) -> Topic {
        let mut words = Vec::new();
        each_term(text, |word| {
            // An ideograph is a word of three bytes.
            let tells = word.len() >= 4 || word.len() == 3 && !word.is_ascii();
            if tells && !says_how(word) {
                let mut hasher = DefaultHasher::new();
                hasher.write(word.as_bytes());
                words.push(hasher.finish());
            }
        });
        words.sort_unstable();
        words.dedup();
        Topic(words.into())
    }

    /// The digests of its words.
    pub(crate) fn words(&self) -> &[u64] {
        &self.0
    }
}

/// Returns whether a word, in small letters, says that something is asked or forbidden, and not what.
fn says_how(word: &str) -> bool {
    denies(word) || demands(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_decides() {
        assert!(DEMANDS.is_sorted() && FORBIDS.is_sorted() && DENIES.is_sorted());
        let asks = [
            "Always sign.",
            "You must sign, never initial.",
            "It should be signed, not initialled.",
        ];
        let forbids = [
            "Never sign.",
            "You must not sign.",
            "Don't sign.",
            "It shouldn’t be signed.",
        ];
        assert!(asks.iter().all(|text| stance(text) == Some(Polarity::Positive)));
        assert!(forbids.iter().all(|text| stance(text) == Some(Polarity::Negative)));
        assert_eq!(stance("The lamp is green."), None);
        assert_eq!(stance(&format!("Never {}", "x".repeat(700))), None);
    }

    #[test]
    fn sentences_demand_and_forbid_in_several_languages() {
        let asks = [
            "Always sign.",
            "Die Antwort muss kurz sein.",
            "La réponse doit être courte.",
            "La respuesta debe ser breve.",
            "Отвечать всегда на русском.",
            "回答必须简短。",
            "반드시 짧게 답한다.",
        ];
        let forbids = [
            "Do not guess.",
            "You must not guess.",
            "Niemals raten.",
            "Es muss nicht geraten werden.",
            "Ne devinez jamais.",
            "La respuesta no debe adivinar.",
            "Никогда не угадывай.",
            "禁止猜测。",
            "推測してはいけない。",
        ];
        for text in asks {
            assert_eq!(directive(text), Some(Polarity::Positive), "{text}");
        }
        for text in forbids {
            assert_eq!(directive(text), Some(Polarity::Negative), "{text}");
        }
        for text in [
            "The lamp is not green.",
            "Die Lampe ist nicht grün.",
            "灯是绿的。",
            "",
        ] {
            assert_eq!(directive(text), None, "{text}");
        }
        let text = "The gauge is new. Never open it hot. It was bought in May. Always wear gloves.";
        let found: Vec<&str> = directives(text).map(|(sentence, _)| sentence.trim()).collect();
        assert_eq!(found, ["Never open it hot.", "Always wear gloves."]);
    }
}
