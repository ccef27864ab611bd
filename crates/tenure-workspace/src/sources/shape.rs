//! The shape of an object: the signs by which a text holds objects in their published form, or means to. Such a text is
//! objects or an error. It is never read as words for everyone, since what it says of who may see it would be lost.
//!
//! A sign is a key of a mapping, at any depth, in any case and spelling that is near enough:
//!
//! - a field that no other form has, such as `security_classification` or `retirement_rule`;
//! - beside a `content`, a field that says what something is or whose, such as `object_type` or `user_id`. A page has its
//!   text as its content.
//!
//! Other data has a `name` and a `content`, too, so that these alone are no sign.

use std::collections::HashMap;
use std::fmt;
use std::sync::LazyLock;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use tenure::Error;
use tenure::object::clip;
use unicode_normalization::UnicodeNormalization as _;

use super::frontmatter::{Cut, MAX_FRONTMATTER, cut, is_rule, mapping};
use super::skill::line_of;

/// The fields that say who may see an object, and that nothing else has.
const RESTRICTING: [&str; 2] = ["permission_scope", "security_classification"];
/// The other fields that nothing else has.
const OURS: [&str; 19] = [
    "applicable_task_types",
    "authority_level",
    "behavioral_implication",
    "canonical_entity_ids",
    "conflict_policy",
    "contradiction_status",
    "decay_rule",
    "inserted_in_step",
    "memory_kind",
    "normalized_claim",
    // Those of a package, whose items say who may read them.
    "retrieval_recipes",
    "snapshot_id",
    "unit_index",
    "unit_kind",
    "retirement_rule",
    "slot_cardinality",
    "source_authority",
    "supersession_link",
    "why_it_matters",
];
/// The fields that are a sign beside a content alone: other data has them, too.
const SHARED: [&str; 12] = [
    "object_id",
    OBJECT_TYPE,
    "permission_scope.allow_roles",
    "permission_scope.deny_roles",
    "project_id",
    "session_id",
    "subjects",
    "task_id",
    "tenant_id",
    "user_id",
    "valid_from",
    "valid_until",
];
/// The field that says what an object is. With another of those that are shared, it needs no content beside it.
const OBJECT_TYPE: &str = "object_type";
/// Other words for a class; they mean it where their value is one.
const CLASS: [&str; 8] = [
    "class",
    "classification",
    "clearance",
    "confidentiality",
    "security",
    "securityclass",
    "securitylevel",
    "sensitivity",
];
/// The classes above what anyone may see.
const CLASSES: [&str; 3] = ["restricted", "confidential", "highlyrestricted"];
/// The longest key that is looked at, in bytes.
const LONGEST: usize = 64;
/// The most keys whose meaning is kept.
const MOST_KEPT: usize = 4096;

/// The meaning of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    /// A field that says who may see an object, or is near to one.
    Restricts(&'static str),
    /// Another field that nothing else has.
    Ours(&'static str),
    /// A field that other data has, too.
    Shared(&'static str),
    /// A word for a class.
    Class,
    /// The content.
    Content,
    /// The tags.
    Tags,
    /// A keyword of JSON Schema, which describes objects and is none.
    Schema,
    /// Anything else.
    Other,
}

/// A key as keys are compared: letters and digits in lower case.
fn folded(key: &str) -> String {
    key.nfkc()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The fields, folded.
static FIELDS: LazyLock<Vec<(String, Meaning)>> = LazyLock::new(|| {
    let last = |field: &'static str| field.rsplit('.').next().unwrap_or(field);
    let restricting = RESTRICTING.map(|field| (folded(field), Meaning::Restricts(field)));
    let ours = OURS.map(|field| (folded(field), Meaning::Ours(field)));
    let shared = SHARED.map(|field| (folded(last(field)), Meaning::Shared(field)));
    let content = ("content".to_owned(), Meaning::Content);
    let rest = ours.into_iter().chain(shared).chain([content]);
    restricting.into_iter().chain(rest).collect()
});

impl Meaning {
    fn of(key: &str) -> Meaning {
        if key.len() > LONGEST {
            return Meaning::Other;
        }
        match key {
            "$ref" | "allOf" | "anyOf" | "enum" | "oneOf" | "type" => return Meaning::Schema,
            "tags" => return Meaning::Tags,
            _ => {}
        }
        let key = folded(key);
        if key == "tenant" {
            return Meaning::Shared("tenant_id");
        }
        if CLASS.contains(&&*key) {
            return Meaning::Class;
        }
        let near = FIELDS.iter().filter_map(|(field, meaning)| {
            // A plural, and a word beside a short one, is another word.
            let most = match *meaning {
                Meaning::Shared("subjects") => 0,
                _ => (field.len() / 6).min(3),
            };
            let apart = key.chars().count().abs_diff(field.len());
            let distance = (apart <= most).then(|| strsim::osa_distance(&key, field))?;
            (distance <= most).then_some((distance, *meaning))
        });
        near.min_by_key(|(distance, _)| *distance)
            .map_or(Meaning::Other, |(_, meaning)| meaning)
    }

    /// The field that a key is or means; none where it means nothing of ours.
    const fn field(self) -> Option<&'static str> {
        match self {
            Meaning::Restricts(field) | Meaning::Ours(field) | Meaning::Shared(field) => {
                Some(field)
            }
            Meaning::Class => Some("security_classification"),
            _ => None,
        }
    }
}

/// Returns the field that says who may see an object and that a key may mean, where it is not the field's own name.
fn meant(key: &str) -> Option<&'static str> {
    let field = Meaning::of(key).field()?;
    (key != field).then_some(field)
}

/// Returns the first of the fields that say who may see an object that was written down without a value.
pub(super) fn without_value(fields: &Map<String, Value>) -> Option<&'static str> {
    fields
        .iter()
        .filter(|(_, value)| value.is_null())
        .filter_map(|(key, _)| Meaning::of(key).field().filter(|field| key == field))
        .filter(|field| RESTRICTING.contains(field) || SHARED.contains(field))
        .min()
}

/// The error for a field that is none and means one that says who may see an object.
pub(super) fn misspelt(key: &str) -> Option<Error> {
    let field = meant(key)?;
    let what = format!("unknown field `{}`", clip(key));
    Some(Error::input(what).hint(format!("did you mean `{field}`?")))
}

/// Returns whether a value is near to a class above what anyone may see.
fn is_class(value: &str) -> bool {
    let value = folded(clip_at(value));
    CLASSES.iter().any(|class| strsim::osa_distance(&value, class) <= 2)
}

fn clip_at(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST)]
}

/// The meanings of keys that were seen: data has the same ones over and over.
#[derive(Default)]
struct Keys(HashMap<String, Meaning>);

impl Keys {
    fn meaning(&mut self, key: &str) -> Meaning {
        if let Some(known) = self.0.get(key) {
            return *known;
        }
        let meaning = Meaning::of(key);
        if self.0.len() < MOST_KEPT && key.len() <= LONGEST {
            self.0.insert(key.to_owned(), meaning);
        }
        meaning
    }
}

/// A key by which a text holds an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Sign {
    key: String,
    field: &'static str,
    /// The number of mappings around the one that has it.
    depth: usize,
    /// Its line in the text, counted from one.
    line: usize,
}

impl Sign {
    /// The error for a text in which an object cannot be read.
    pub(crate) fn error(&self) -> Error {
        let error = if self.key == self.field || self.field.ends_with(&format!(".{}", self.key)) {
            let what = format!("`{}` stands where it is not read", clip(&self.key));
            Error::input(what).hint("what may restrict who sees a text is never read as its words")
        } else {
            let what = format!(
                "`{}` may restrict who sees this, and is no field",
                clip(&self.key)
            );
            Error::input(what).hint(format!("did you mean `{}`?", self.field))
        };
        error.at("", Some(self.line)).expected(
            "an object in JSON, a list of objects, `{\"objects\": […]}` or one in each line; in Markdown the fields between two \
             lines `---`",
        )
    }

    /// The error of reading objects, for a text that holds one.
    pub(super) fn explain(&self, error: Error) -> Error {
        if self.depth > 0 && error.what.starts_with("unknown field") {
            return self.error();
        }
        // The value may be what nobody may see, and what is left out is told of in a trace.
        let what = match error.what.split_once("value: string ") {
            Some((before, _)) => format!("{before}value: a text"),
            None => error.what.clone(),
        };
        let error = Error { what, ..error };
        match error.hint {
            Some(_) => error,
            None => {
                let key = clip(&self.key);
                error.hint(format!(
                    "it has `{key}`, so it is an object, and never read as text"
                ))
            }
        }
    }

    /// The sign in a text that begins behind these lines of its file.
    pub(super) fn below(mut self, lines: usize) -> Sign {
        self.line += lines;
        self
    }
}

/// Findings about a value.
#[derive(Default)]
struct Seen {
    sign: Option<Sign>,
    /// A field that is a sign beside a content.
    shared: Option<(String, &'static str)>,
    has_type: bool,
    is_text: bool,
    is_class: bool,
    is_schema: bool,
    /// Set for the tag of personal data, and for a list that has it.
    is_personal: bool,
}

/// Looks through one value without keeping it.
struct Look<'k> {
    keys: &'k mut Keys,
    depth: usize,
    /// Set where a content stands beside the mapping: the text of a page.
    has_content: bool,
    /// Set where the value may be a class.
    wants_class: bool,
}

impl<'k> Look<'k> {
    /// Looks at a whole value.
    fn at(keys: &'k mut Keys) -> Look<'k> {
        Look {
            keys,
            depth: 0,
            has_content: false,
            wants_class: false,
        }
    }

    /// Looks at the fields at the head of a page.
    fn at_head(keys: &'k mut Keys) -> Look<'k> {
        Look {
            has_content: true,
            ..Look::at(keys)
        }
    }
}

impl<'de> DeserializeSeed<'de> for Look<'_> {
    type Value = Seen;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Seen, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_> {
    type Value = Seen;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Seen, E> {
        Ok(Seen::default())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Seen, E> {
        Ok(Seen::default())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Seen, E> {
        Ok(Seen::default())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Seen, E> {
        Ok(Seen::default())
    }

    fn visit_unit<E>(self) -> Result<Seen, E> {
        Ok(Seen::default())
    }

    fn visit_str<E>(self, text: &str) -> Result<Seen, E> {
        // What was written as JSON twice is one text.
        let is_written_twice = self.depth == 0 && text.trim_start().starts_with(['{', '[']);
        Ok(Seen {
            sign: if is_written_twice {
                in_json(text)
            } else {
                None
            },
            is_text: true,
            is_class: self.wants_class && is_class(text),
            is_personal: text.eq_ignore_ascii_case("pii"),
            ..Seen::default()
        })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Seen, A::Error> {
        let mut all = Seen::default();
        let (keys, depth, wants_class) = (self.keys, self.depth, self.wants_class);
        while let Some(seen) = list.next_element_seed(Look {
            keys: &mut *keys,
            depth,
            has_content: false,
            wants_class,
        })? {
            all.sign = all.sign.or(seen.sign);
            all.shared = all.shared.or(seen.shared);
            all.is_class |= seen.is_class;
            all.is_personal |= seen.is_personal;
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Seen, A::Error> {
        let (keys, depth) = (self.keys, self.depth);
        let mut all = Seen::default();
        let (is_page, mut has_content) = (self.has_content, self.has_content);
        let (mut beside, mut others) = (None, 0);
        while let Some((meaning, key)) = map.next_key_seed(Named(&mut *keys))? {
            let seen = map.next_value_seed(Look {
                keys: &mut *keys,
                depth: depth + 1,
                has_content: false,
                wants_class: meaning == Meaning::Class,
            })?;
            let own = meaning.field().zip(key);
            match (meaning, own) {
                (Meaning::Restricts(_) | Meaning::Ours(_), Some((field, key)))
                    if !seen.is_schema =>
                {
                    let sign = Sign {
                        key,
                        field,
                        depth,
                        line: 1,
                    };
                    // The outermost says best what is wrong.
                    if all.sign.as_ref().is_none_or(|known| known.depth > depth) {
                        all.sign = Some(sign);
                    }
                }
                (Meaning::Shared(_), Some((field, key))) if !seen.is_schema => {
                    all.has_type |= field == OBJECT_TYPE;
                    others += usize::from(field != OBJECT_TYPE);
                    all.shared.get_or_insert((key, field));
                }
                (Meaning::Class, Some((field, key))) if seen.is_class => {
                    all.shared.get_or_insert((key, field));
                }
                (Meaning::Content, _) => has_content |= seen.is_text,
                // Those of a page are read, whoever wrote them.
                (Meaning::Tags, _) if seen.is_personal && !is_page => {
                    all.shared.get_or_insert(("tags".to_owned(), "tags"));
                }
                (Meaning::Schema, _) => all.is_schema = true,
                _ => {}
            }
            all.sign = all.sign.or(seen.sign);
            // What a mapping in it says may be of it: `permission_scope` under another name.
            beside = beside.or(seen.shared);
        }
        if (has_content || all.has_type && others > 0)
            && all.sign.is_none()
            && let Some((key, field)) = all.shared.clone().or(beside)
        {
            all.sign = Some(Sign {
                key,
                field,
                depth,
                line: 1,
            });
        }
        Ok(all)
    }
}

/// Reads a key as what it means, with its text where that is something.
struct Named<'k>(&'k mut Keys);

impl<'de> DeserializeSeed<'de> for Named<'_> {
    type Value = (Meaning, Option<String>);

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Named<'_> {
    type Value = (Meaning, Option<String>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        let meaning = self.0.meaning(key);
        Ok((meaning, meaning.field().map(|_| key.to_owned())))
    }
}

/// Looks for an object in one JSON text; in one that cannot be read, for its keys.
pub(crate) fn in_json(text: &str) -> Option<Sign> {
    let mut keys = Keys::default();
    let mut json = serde_json::Deserializer::from_str(text);
    let look = Look::at(&mut keys);
    let seen = look.deserialize(&mut json).and_then(|seen| json.end().map(|()| seen));
    let found = match seen {
        Ok(seen) => seen.sign,
        Err(_) => in_broken(text, &mut keys),
    };
    found.map(|sign| placed(sign, text))
}

/// Looks for objects in lines of JSON; where a line is none, in all of them together.
pub(crate) fn in_lines(text: &str) -> Option<Sign> {
    let mut keys = Keys::default();
    let mut is_whole = true;
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let mut json = serde_json::Deserializer::from_str(line);
        let seen = Look::at(&mut keys).deserialize(&mut json);
        let found = match seen.and_then(|seen| json.end().map(|()| seen)) {
            Ok(seen) => seen.sign,
            Err(_) => {
                is_whole = false;
                in_broken(line, &mut keys)
            }
        };
        if let Some(sign) = found {
            return Some(sign.below(at));
        }
    }
    if is_whole { None } else { in_json(text) }
}

/// Looks for an object among fields that were read; beside them stands a content.
pub(crate) fn in_fields(fields: &Map<String, Value>) -> Option<Sign> {
    let mut keys = Keys::default();
    let look = Look::at_head(&mut keys);
    let seen: Result<Seen, serde_json::Error> = look.deserialize(fields);
    seen.ok()?.sign
}

/// A sign with the line on which its key stands first.
fn placed(sign: Sign, text: &str) -> Sign {
    let at = text.find(&format!("\"{}\"", sign.key)).or_else(|| text.find(&sign.key));
    let line = at.map_or(1, |at| 1 + text[..at].matches('\n').count());
    Sign { line, ..sign }
}

/// Looks for the keys of an object in a text that is no JSON: every word before a `:` or a `=`.
fn in_broken(text: &str, keys: &mut Keys) -> Option<Sign> {
    let (mut has_content, mut beside) = (false, None);
    for at in separators(text) {
        let Some(key) = word_before(text, at) else {
            continue;
        };
        match keys.meaning(key) {
            Meaning::Restricts(field) | Meaning::Ours(field) => return Some(stated(key, field, 1)),
            Meaning::Shared(field) => beside = beside.or(Some((key, field))),
            Meaning::Class if is_class(value_behind(text, at)) => {
                beside = beside.or(Some((key, "security_classification")));
            }
            Meaning::Content => has_content = true,
            _ => {}
        }
    }
    let (key, field) = beside.filter(|_| has_content)?;
    Some(stated(key, field, 1))
}

fn stated(key: &str, field: &'static str, line: usize) -> Sign {
    Sign {
        key: key.to_owned(),
        field,
        depth: 0,
        line,
    }
}

fn separators(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.match_indices([':', '=']).map(|(at, _)| at)
}

/// The word before a separator, without the quotes around it.
fn word_before(text: &str, at: usize) -> Option<&str> {
    let before = text[..at].trim_end_matches([' ', '\t', '"', '\'', '\\', '\n']);
    let start =
        before.rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || !c.is_ascii()));
    let word = &before[start.map_or(0, |at| at + 1)..];
    (!word.is_empty() && word.len() <= LONGEST).then_some(word)
}

/// The value behind a separator, up to the end of its line.
fn value_behind(text: &str, at: usize) -> &str {
    let rest = text[at + 1..]
        .lines()
        .next()
        .unwrap_or("")
        .trim_start_matches([' ', '\t', '"', '\'']);
    let end = rest.find(['"', '\'', ',', '}', '#']);
    rest[..end.unwrap_or(rest.len())].trim()
}

/// The markup of a text that is looked through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blocks {
    /// Markdown: what stands in a fence of code is shown, and not said.
    Fenced,
    /// Another: there are no such fences.
    Plain,
}

/// Refuses a text that says in its head, or at the beginning of a line, who may see it: it is about to be read as words.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) with the line and the field that is meant.
pub(crate) fn check_page(text: &str, blocks: Blocks) -> Result<(), Error> {
    in_page(text, blocks).map_or(Ok(()), |sign| Err(sign.error()))
}

/// Refuses a text whose lines say who may see it: the body of a page.
///
/// # Errors
///
/// As [`check_page`].
pub(super) fn check_body(text: &str, lines_above: usize) -> Result<(), Error> {
    let sign = in_words(text, Blocks::Fenced, Head::Over);
    sign.map_or(Ok(()), |sign| Err(sign.below(lines_above).error()))
}

/// Refuses an instruction file or a skill that says who may see it. What else it says of itself holds for nothing, and restricts nothing.
///
/// # Errors
///
/// As [`check_page`].
pub(crate) fn check_instructions(text: &str) -> Result<(), Error> {
    let Some((page, fields)) = headed(text) else {
        return check_page(text, Blocks::Fenced);
    };
    let fields = fields
        .into_iter()
        .filter(|(key, _)| match Meaning::of(key) {
            Meaning::Shared(field) => !field.starts_with("object_"),
            meaning => !matches!(meaning, Meaning::Ours(_)),
        })
        .collect();
    in_head(&page, &fields, Blocks::Fenced).map_or(Ok(()), |sign| Err(sign.error()))
}

/// The frontmatter of a page, and its fields; none where it cannot be read, or where there is none.
fn headed(text: &str) -> Option<(Cut<'_>, Map<String, Value>)> {
    let page = cut(text).ok()??;
    let read = mapping(page.yaml).ok()?;
    Some((page, read.fields))
}

fn in_head(page: &Cut<'_>, fields: &Map<String, Value>, blocks: Blocks) -> Option<Sign> {
    if let Some(sign) = in_fields(fields) {
        let line = page.yaml_line + line_of(page.yaml, &sign.key) - 1;
        return Some(Sign { line, ..sign });
    }
    in_words(page.body, blocks, Head::Over).map(|sign| sign.below(page.body_line - 1))
}

fn in_page(text: &str, blocks: Blocks) -> Option<Sign> {
    if let Some((page, fields)) = headed(text) {
        return in_head(&page, &fields, blocks);
    }
    let start = text.trim_start();
    if start.starts_with(['{', '[']) {
        // An object may stand at the head of a text, which is its content.
        let mut json = serde_json::Deserializer::from_str(start);
        let mut keys = Keys::default();
        let look = Look::at_head(&mut keys);
        if let Ok(Seen {
            sign: Some(sign), ..
        }) = look.deserialize(&mut json)
        {
            return Some(placed(sign, text));
        }
    }
    in_words(text, blocks, Head::Before)
}

/// Looks at the first line of a table, which names its columns.
pub(super) fn in_columns(text: &str) -> Option<Sign> {
    let head = text.lines().next().unwrap_or("");
    let cells = || head.split([',', ';', '\t', '|']);
    let named = |cell: &str| cell.trim_matches(['"', '\'', ' ', '\u{FEFF}']).to_owned();
    let has_content = cells().any(|cell| Meaning::of(&named(cell)) == Meaning::Content);
    cells().map(named).find_map(|cell| match Meaning::of(&cell) {
        Meaning::Restricts(field) | Meaning::Ours(field) => Some(stated(&cell, field, 1)),
        Meaning::Shared(field) if has_content => Some(stated(&cell, field, 1)),
        _ => None,
    })
}

/// The head of a text, while its lines are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Head {
    /// No line was seen but blank ones.
    Before,
    /// Between two lines of marks, such as `+++`, from this byte on.
    Between(usize),
    /// Lines `key: value` without marks around them.
    Open,
    Over,
    /// Below the head, directly under a line of marks, where a section may begin.
    Under,
}

/// Looks at the lines of a text: in its head at every key, below at the first word of each line.
fn in_words(text: &str, blocks: Blocks, mut head: Head) -> Option<Sign> {
    let mut keys = Keys::default();
    let mut fence: Option<&str> = None;
    let mut start = 0;
    for (at, line) in text.split('\n').enumerate() {
        let from = start;
        start += line.len() + 1;
        let plain = line.trim();
        let mark = ["```", "~~~"].into_iter().find(|mark| plain.starts_with(mark));
        if blocks == Blocks::Fenced
            && let Some(mark) = mark
        {
            match fence {
                None => fence = Some(mark),
                Some(open) if open == mark => fence = None,
                Some(_) => {}
            }
            head = Head::Over;
            continue;
        }
        if fence.is_some() {
            continue;
        }
        head = match head {
            Head::Before if plain.is_empty() => continue,
            Head::Before if is_marks(plain) => {
                head = Head::Between(from);
                continue;
            }
            Head::Before | Head::Open if plain.is_empty() || !plain.contains([':', '=']) => {
                Head::Over
            }
            Head::Before => Head::Open,
            Head::Between(_) if is_marks(plain) => Head::Over,
            Head::Between(begun) if from - begun > MAX_FRONTMATTER => Head::Over,
            Head::Over if is_marks(plain) => Head::Under,
            Head::Under if plain.is_empty() => Head::Over,
            other => other,
        };
        let found = match head {
            Head::Between(_) => separators(line).find_map(|at| {
                let key = word_before(line, at)?;
                match keys.meaning(key) {
                    Meaning::Class if !is_class(value_behind(line, at)) => None,
                    meaning => Some((key, meaning.field()?)),
                }
            }),
            Head::Open => {
                separators(line).find_map(|at| restricting(&mut keys, word_before(line, at)?))
            }
            Head::Under => first_word(line).and_then(|key| match keys.meaning(key) {
                Meaning::Class => None,
                meaning => Some((key, meaning.field()?)),
            }),
            Head::Before | Head::Over => {
                first_word(line).and_then(|key| restricting(&mut keys, key))
            }
        };
        if let Some((key, field)) = found {
            return Some(stated(key, field, at + 1));
        }
    }
    None
}

fn restricting<'k>(keys: &mut Keys, key: &'k str) -> Option<(&'k str, &'static str)> {
    match keys.meaning(key) {
        Meaning::Restricts(field) => Some((key, field)),
        _ => None,
    }
}

/// Returns whether a line is made of marks alone, as those around a frontmatter are.
fn is_marks(line: &str) -> bool {
    is_rule(line)
        || line.len() >= 3 && line.chars().all(|c| c.is_ascii_punctuation() || "—–".contains(c))
}

/// The first word of a line that a `:` or a `=` follows.
fn first_word(line: &str) -> Option<&str> {
    let begins = line.trim_start_matches([
        ' ', '\t', '-', '*', '?', '{', '[', '"', '\'', '!', '<', '#', '>', '|', ':',
    ]);
    let end = begins.find([':', '='])?;
    let word = begins[..end].trim_end_matches([' ', '\t', '"', '\'']);
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || !c.is_ascii();
    (!word.is_empty() && word.len() <= LONGEST && word.chars().all(is_word)).then_some(word)
}
