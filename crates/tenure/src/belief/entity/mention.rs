//! Stage 1: mentions of entities in a text, by known aliases and by bounded patterns.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;

use super::EntityType;
use super::address::{Addressed, addressed};
use super::profile::Profile;
use crate::base::error::Error;
use crate::belief::claim::folded;
use crate::object::vocabulary::vocabulary;

/// The fewest characters of an alias that is looked for: one letter means nothing.
pub const MIN_ALIAS: usize = 2;
/// The most characters of an alias.
pub const MAX_ALIAS: usize = 256;
/// The most ends at which a name is looked for where a longer one begins that is none.
const MOST_WORDS: usize = 64;
/// The most names that are given of one text.
pub const MAX_MENTIONS: usize = 10_000;

vocabulary! {
    /// The sign by which a mention is known.
    Sign ("sign") {
        /// A known alias.
        Alias = "alias",
        /// A mail address.
        Mail = "mail",
        /// The id of a document or a ticket.
        DocumentId = "document_id",
        /// A path or an address.
        Path = "path",
        /// A role description.
        Role = "role",
        /// A part of a known name.
        PartialName = "partial_name",
        /// A mail address that it stands beside.
        DisplayName = "display_name",
    }
}

/// A mention in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mention {
    /// Its place, in bytes.
    pub at: Range<usize>,
    /// Its name, folded.
    pub name: String,
    /// The sign by which it is known.
    pub sign: Sign,
    /// The type that the sign gives away.
    pub kind: Option<EntityType>,
    /// The mail address that it stands beside.
    pub beside: Option<Beside>,
}

/// A name and the mail address that it stands beside.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Beside {
    /// The name as it is written, with one space between two words.
    pub name: String,
    /// The address, folded.
    pub mail: String,
}

impl Mention {
    /// The address that its name stands beside: a name beside another one is another mention.
    pub fn mail(&self) -> Option<&str> {
        self.beside.as_ref().map(|beside| beside.mail.as_str())
    }

    /// The mention as it is compared with entities: what is known around it, with its name, its type and the mark that
    /// its sign is.
    pub fn profile(&self, around: Profile) -> Profile {
        let mut profile = around;
        profile.name.clone_from(&self.name);
        profile.kind = self.kind.or(profile.kind);
        let mark = Some(self.name.clone());
        match self.sign {
            Sign::Mail => profile.metadata.mail = mark,
            Sign::DocumentId => profile.metadata.document_id = mark,
            Sign::Path => profile.metadata.path = mark,
            Sign::Alias | Sign::PartialName => {}
            // Somebody has the role: who it is, is a person.
            Sign::Role => profile.kind = None,
            Sign::DisplayName => {
                if let Some(beside) = &self.beside {
                    profile.name.clone_from(&beside.name);
                    profile.metadata.mail = Some(beside.mail.clone());
                }
            }
        }
        profile
    }
}

/// The mentions of a text, in its order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Found {
    /// The mentions: each name once, where it stands first, and once for each address that it stands beside. They do not
    /// overlap.
    pub mentions: Vec<Mention>,
    /// True if there are more names than are given.
    pub is_cut: bool,
}

/// The mentions of a text as they are looked for, and everywhere that they stand.
#[derive(Default)]
pub(super) struct Marks {
    /// The mentions: of those that one search found, each name once.
    pub(super) mentions: Vec<Mention>,
    /// The places of all, repeats too, in the order of the text and apart from each other.
    pub(super) places: Vec<Range<usize>>,
    /// The names that the running search found.
    named: BTreeSet<String>,
    /// The mail addresses of the text, in its order.
    mails: Vec<Range<usize>>,
    /// Those in brackets, with the names before them.
    addressed: Vec<Addressed>,
    /// True if there are more names than there is room for.
    pub(super) is_cut: bool,
}

impl Marks {
    /// Returns whether the running search found this name before.
    fn holds(&self, name: &str) -> bool {
        self.named.contains(name)
    }

    /// Takes a mention; a repeat needs no room. Returns whether there was any.
    fn take(&mut self, mention: Mention) -> bool {
        if self.holds(&mention.name) {
            return true;
        }
        if self.mentions.len() >= MAX_MENTIONS {
            self.is_cut = true;
            return false;
        }
        self.named.insert(mention.name.clone());
        self.mentions.push(mention);
        true
    }

    /// Takes the place of a known alias, unless it is part of a name beside an address: that name is what is mentioned there.
    /// Returns whether it was taken.
    fn covers(&mut self, at: &Range<usize>, next: &mut usize) -> bool {
        let all = &mut self.addressed;
        while all.get(*next).is_some_and(|one| one.at.end <= at.start) {
            *next += 1;
        }
        let Some(one) = all.get_mut(*next).filter(|one| one.at.start <= at.end) else {
            return true;
        };
        if at.start < one.at.start && at.end == one.name.end {
            // A known name that goes further back.
            one.name.start = at.start;
            one.at.start = at.start;
            return false;
        }
        if one.at.start <= at.start && at.end <= one.at.end {
            return one.name.is_empty();
        }
        if at.end <= one.mail.start {
            one.at.start = one.at.start.max(at.end);
        } else {
            // The address is part of the alias.
            one.name = 0..0;
            one.at.start = one.at.end;
        }
        true
    }

    /// Adds what one pattern found, outside of what is marked already.
    fn add(
        &mut self,
        text: &str,
        found: impl Iterator<Item = Range<usize>>,
        (sign, kind): (Sign, Option<EntityType>),
    ) {
        let mut places = Vec::new();
        let mut next = 0;
        for found in found {
            let taken = &self.places;
            while taken.get(next).is_some_and(|at| at.end <= found.start) {
                next += 1;
            }
            if taken.get(next).is_some_and(|at| at.start < found.end) {
                continue;
            }
            let name = text[found.clone()].trim_end_matches('.');
            let at = found.start..found.start + name.len();
            let has_room = self.take(Mention {
                at: at.clone(),
                name: folded(name),
                sign,
                kind,
                beside: None,
            });
            if !has_room {
                break;
            }
            places.push(at);
        }
        self.places.append(&mut places);
        self.places.sort_by_key(|at| at.start);
    }

    /// Adds the names that stand beside addresses.
    fn add_names_beside(&mut self, text: &str) {
        let mut named = BTreeSet::new();
        for one in std::mem::take(&mut self.addressed) {
            let words: Vec<&str> = text[one.name].split_whitespace().collect();
            let beside = Beside {
                name: words.join(" "),
                mail: folded(&text[one.mail]),
            };
            let name = folded(&beside.name);
            if name.is_empty() {
                continue;
            }
            if named.insert((name.clone(), beside.mail.clone())) {
                if self.mentions.len() >= MAX_MENTIONS {
                    self.is_cut = true;
                    break;
                }
                self.mentions.push(Mention {
                    at: one.at.clone(),
                    name,
                    sign: Sign::DisplayName,
                    kind: None,
                    beside: Some(beside),
                });
            }
            self.places.push(one.at);
        }
        self.places.sort_by_key(|at| at.start);
    }
}

/// The search for mentions: made once of all aliases.
///
/// ```
/// use tenure::belief::entity::{MentionFinder, Sign};
/// let finder = MentionFinder::new(["Nova", "the prompt repo"])?;
/// let found = finder.find("Sam moved NOVA into the  prompt\nrepo (AI-114), says kim@acme.example.");
/// let names: Vec<&str> = found.mentions.iter().map(|mention| mention.name.as_str()).collect();
/// assert_eq!(names, ["nova", "the prompt repo", "ai-114", "kim@acme.example"]);
/// assert_eq!(found.mentions[1].sign, Sign::Alias);
/// # Ok::<(), tenure::Error>(())
/// ```
#[derive(Debug)]
pub struct MentionFinder {
    aliases: Option<AhoCorasick>,
    names: Vec<String>,
    mail: Regex,
    patterns: Vec<(Regex, Sign, Option<EntityType>)>,
}

/// The pattern of a mail address, bounded in length.
const MAIL: &str = r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,4}";

/// The other patterns, of which each is bounded in length.
const PATTERNS: [(&str, Sign, Option<EntityType>); 3] = [
    (
        r"(?:[a-z][a-z0-9+.-]{0,15}://)?(?:[A-Za-z0-9_.~-]{0,64}/){1,16}[A-Za-z0-9_.~-]{1,64}",
        Sign::Path,
        Some(EntityType::Document),
    ),
    (
        r"\b[A-Z][A-Z0-9]{1,9}-[0-9]{1,8}\b",
        Sign::DocumentId,
        Some(EntityType::Document),
    ),
    (
        r"\b[Tt]he (?:(?:acting|current|former) )?(?:C[EFTOIMS]O|CISO|chief [a-z]{3,12} officer|head of [a-z]{2,16}|project lead|tech lead|product owner|account manager|data protection officer)\b",
        Sign::Role,
        Some(EntityType::Role),
    ),
];

impl MentionFinder {
    /// A search for these aliases and for the patterns. Aliases that are too short or too long are left out.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when there are more aliases than can be searched for at once.
    pub fn new<A: AsRef<str>>(
        aliases: impl IntoIterator<Item = A>,
    ) -> Result<MentionFinder, Error> {
        let mut names: Vec<String> = aliases
            .into_iter()
            .map(|alias| folded(alias.as_ref()))
            .filter(|name| is_searchable(name))
            .collect();
        names.sort_unstable();
        names.dedup();
        let too_many = |error: &dyn std::fmt::Display| {
            Error::input(format!(
                "{} aliases cannot be searched for: {error}",
                names.len()
            ))
        };
        let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&names);
        let aliases = if names.is_empty() {
            None
        } else {
            Some(built.map_err(|error| too_many(&error))?)
        };
        let patterns = PATTERNS.iter().map(|(pattern, sign, kind)| {
            let regex = Regex::new(pattern).map_err(|error| too_many(&error))?;
            Ok((regex, *sign, *kind))
        });
        Ok(MentionFinder {
            mail: Regex::new(MAIL).map_err(|error| too_many(&error))?,
            patterns: patterns.collect::<Result<_, Error>>()?,
            aliases,
            names,
        })
    }

    /// The mentions in a text. Of two that overlap, a known alias goes first, then the earlier one.
    pub fn find(&self, text: &str) -> Found {
        let mut marks = MentionFinder::scan(&[self], text, &mut |_| true);
        self.add_patterns(text, &mut marks);
        let mut mentions = marks.mentions;
        mentions.sort_by_key(|mention| mention.at.start);
        let mut named = BTreeSet::new();
        mentions.retain(|one| named.insert((one.name.clone(), one.mail().map(str::to_owned))));
        Found {
            mentions,
            is_cut: marks.is_cut,
        }
    }

    /// The aliases of all these searches in a text that are `known`: of two that overlap the earlier one, then the longer. One
    /// that is not known covers nothing. A name beside a mail address is taken whole, whatever is known of its words.
    pub(super) fn scan(
        finders: &[&MentionFinder],
        text: &str,
        known: &mut dyn FnMut(&str) -> bool,
    ) -> Marks {
        let view = View::of(text);
        let mut marks = Marks::default();
        if let Some(finder) = finders.first() {
            let mails = finder.mail.find_iter(text);
            marks.mails = mails.map(|found| found.range()).collect();
            marks.addressed = addressed(text, &marks.mails);
        }
        let mut next: Vec<(Option<(usize, usize)>, bool)> = vec![(None, false); finders.len()];
        let (mut from, mut beside) = (0, 0);
        loop {
            for (finder, (hit, is_known)) in finders.iter().zip(&mut next) {
                let is_stale = hit.is_some_and(|(start, _)| start < from);
                if is_stale || !*is_known {
                    *hit = finder.next_alias(&view, from);
                    *is_known = true;
                }
            }
            let first = next
                .iter()
                .filter_map(|(hit, _)| *hit)
                .min_by_key(|(start, end)| (*start, std::cmp::Reverse(*end)));
            let Some((start, longest)) = first else { break };
            let mut ends = view.word_ends(start, longest);
            let is_name = |name: &str| {
                let mut finders = finders.iter();
                finders.any(|finder| {
                    let names = &finder.names;
                    names.binary_search_by(|one| one.as_str().cmp(name)).is_ok()
                })
            };
            let end = ends.find(|end| {
                let name = &view.text[start..*end];
                marks.holds(name) || ((*end == longest || is_name(name)) && known(name))
            });
            let Some(end) = end else {
                from = start + view.text[start..].chars().next().map_or(1, char::len_utf8);
                continue;
            };
            let (at, name) = (view.at(start)..view.end(end), &view.text[start..end]);
            from = end;
            if !marks.covers(&at, &mut beside) {
                continue;
            }
            let has_room = marks.holds(name)
                || marks.take(Mention {
                    at: at.clone(),
                    name: name.to_owned(),
                    sign: Sign::Alias,
                    kind: None,
                    beside: None,
                });
            if !has_room {
                break;
            }
            marks.places.push(at);
        }
        marks.add_names_beside(text);
        marks
    }

    /// The next place at which an alias begins that is the beginning of a word, and the end of the longest there.
    fn next_alias(&self, view: &View, from: usize) -> Option<(usize, usize)> {
        let aliases = self.aliases.as_ref()?;
        let mut from = from;
        while from < view.text.len() {
            let input = aho_corasick::Input::new(&view.text).range(from..);
            let found = aliases.find(input)?;
            let (start, end) = (found.start(), found.end());
            if !view.is_within_word(start) {
                return Some((start, end));
            }
            // Part of a longer word means nothing; within it, another may begin.
            from = start + view.text[start..].chars().next().map_or(1, char::len_utf8);
        }
        None
    }

    /// Adds what the patterns find outside of what is marked already.
    pub(super) fn add_patterns(&self, text: &str, marks: &mut Marks) {
        marks.named.clear();
        let mails = std::mem::take(&mut marks.mails);
        let person = Some(EntityType::Person);
        marks.add(text, mails.into_iter(), (Sign::Mail, person));
        for (pattern, sign, kind) in &self.patterns {
            let places = pattern.find_iter(text).map(|found| found.range());
            marks.add(text, places, (*sign, *kind));
        }
    }
}

/// Returns whether a folded alias is looked for.
fn is_searchable(name: &str) -> bool {
    let letters = name.chars().take(MAX_ALIAS + 1).count();
    (MIN_ALIAS..=MAX_ALIAS).contains(&letters)
}

/// A text, folded, with the place of each of its bytes in the text that it was made of.
struct View {
    text: String,
    /// The places where that is another one: of each byte of the folded text, the first byte of what it was made of.
    places: Vec<u32>,
    whole: usize,
}

impl View {
    fn of(text: &str) -> View {
        let mut folded = String::with_capacity(text.len());
        let mut places = Vec::with_capacity(text.len());
        let mut spaced = true;
        for (at, c) in text.char_indices() {
            if c.is_whitespace() {
                if !spaced {
                    folded.push(' ');
                    places.push(at as u32);
                }
                spaced = true;
                continue;
            }
            spaced = false;
            if c.is_ascii() {
                folded.push(c.to_ascii_lowercase());
                places.push(at as u32);
                continue;
            }
            use unicode_normalization::UnicodeNormalization;
            for plain in std::iter::once(c).nfkc().flat_map(char::to_lowercase) {
                folded.push(plain);
                places.resize(folded.len(), at as u32);
            }
        }
        View {
            text: folded,
            places,
            whole: text.len(),
        }
    }

    /// Returns whether a place is between two letters of one word.
    fn is_within_word(&self, at: usize) -> bool {
        let in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        in_word(self.text[..at].chars().next_back()) && in_word(self.text[at..].chars().next())
    }

    /// The ends of words, or of what is no word, from the last one up to `longest` back to `start`, and at most so many as a name has
    /// words.
    fn word_ends(&self, start: usize, longest: usize) -> impl Iterator<Item = usize> {
        let ends = self.text[start..longest]
            .char_indices()
            .rev()
            .map(move |(at, c)| start + at + c.len_utf8())
            .filter(|end| !self.is_within_word(*end));
        ends.filter(move |end| *end == longest || !self.text[..*end].ends_with(' '))
            .take(MOST_WORDS)
    }

    /// The place of a byte.
    fn at(&self, byte: usize) -> usize {
        self.places.get(byte).map_or(self.whole, |at| *at as usize)
    }

    /// The place behind the byte before this one.
    fn end(&self, byte: usize) -> usize {
        let last = byte.saturating_sub(1);
        let from = self.at(last);
        // The next byte that was made of another character begins where this one ends, but for white space.
        let next = self.places[byte.min(self.places.len())..]
            .iter()
            .map(|at| *at as usize)
            .find(|at| *at > from);
        match next {
            Some(next) if self.text.is_char_boundary(byte) => next,
            _ => self.whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(finder: &MentionFinder, text: &str) -> Vec<String> {
        let found = finder.find(text).mentions.into_iter();
        found.map(|mention| mention.name).collect()
    }

    #[test]
    fn aliases_are_whole_words_in_any_case_and_form() {
        let finder = MentionFinder::new(["Nova", "Nova Prime", "Ål", "x"]).unwrap();
        assert_eq!(names(&finder, "innovation"), [""; 0]);
        assert_eq!(
            names(&finder, "NOVA, nova prime; ＮＯＶＡ"),
            ["nova", "nova prime"]
        );
        assert_eq!(names(&finder, "x marks A\u{30A}l"), ["ål"; 0]);
        assert_eq!(names(&finder, "a\u{E5}l ål"), ["ål"]);
        let text = "see  Nova\n Prime.";
        let found = finder.find(text).mentions;
        assert_eq!(&text[found[0].at.clone()], "Nova\n Prime");
    }

    #[test]
    fn aliases_of_any_size_are_taken_or_left_out() {
        let long = "a".repeat(100_000);
        let finder = MentionFinder::new(["a", &long, "ab"]).unwrap();
        assert_eq!(names(&finder, "a ab aa"), ["ab"]);
        assert!(MentionFinder::new([""; 0]).unwrap().find("nova").mentions.is_empty());
    }

    #[test]
    fn a_text_full_of_names_is_cut() {
        let aliases: Vec<String> = (0..=MAX_MENTIONS).map(|n| format!("n{n}")).collect();
        let finder = MentionFinder::new(&aliases).unwrap();
        let found = finder.find(&aliases.join(" "));
        assert!(found.is_cut);
        assert_eq!(found.mentions.len(), MAX_MENTIONS);
        let found = finder.find(&aliases[1..].join(" "));
        assert!(!found.is_cut);
        assert_eq!(found.mentions.len(), MAX_MENTIONS);
    }

    #[test]
    fn repeats_leave_room_for_other_names() {
        let finder = MentionFinder::new(["ab", "nova", "ops-7"]).unwrap();
        let text =
            "ab OPS-12 x/y AI-1 ".repeat(MAX_MENTIONS + 500) + "OPS-7 nova z/ab kim@acme.example";
        let found = finder.find(&text);
        assert!(!found.is_cut);
        // A repeat covers its place: `z/ab` is no path, where `ab` is a name.
        let known: Vec<&str> = found.mentions.iter().map(|one| &*one.name).collect();
        let all = [
            "ab",
            "ops-12",
            "x/y",
            "ai-1",
            "ops-7",
            "nova",
            "kim@acme.example",
        ];
        assert_eq!(known, all);
        for mention in &found.mentions {
            assert_eq!(folded(&text[mention.at.clone()]), mention.name);
        }
    }

    #[test]
    fn patterns_find_what_no_alias_names() {
        let finder = MentionFinder::new(["AI-ENG-7"]).unwrap();
        let found = finder
            .find("The CFO sent docs/plan.md and OPS-12 to ann.lee@acme.example; AI-ENG-7 waits.");
        let signs: Vec<(Sign, &str)> = found
            .mentions
            .iter()
            .map(|mention| (mention.sign, mention.name.as_str()))
            .collect();
        assert_eq!(
            signs,
            [
                (Sign::Role, "the cfo"),
                (Sign::Path, "docs/plan.md"),
                (Sign::DocumentId, "ops-12"),
                (Sign::Mail, "ann.lee@acme.example"),
                (Sign::Alias, "ai-eng-7"),
            ]
        );
    }

    proptest! {
        #[test]
        fn mentions_stand_where_they_say(text in "[a-cA-C éÅ\u{301}ﬁ\n@./-]{0,60}", aliases in prop::collection::vec("[a-c é]{1,4}", 0..4)) {
            let finder = MentionFinder::new(&aliases).unwrap();
            let mut last = 0;
            for mention in finder.find(&text).mentions {
                prop_assert!(mention.at.start >= last && mention.at.start < mention.at.end);
                prop_assert!(text.is_char_boundary(mention.at.start) && text.is_char_boundary(mention.at.end));
                last = mention.at.end;
            }
        }
    }
}
