//! The erased objects, and the stand-ins for them and their texts.

use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::{AhoCorasick, MatchKind};
use serde_json::{Map, Value, json};
use tenure::object::{Authority, ObjectId, RevisionId};
use tenure::policy::PolicyDocument;
use tenure::time::Instant;
use tenure::{Digest, Error, ObjectDocument};

use super::fields::id_of;
use super::fields::{Field, json_of};
use crate::rows::stored::unwritable;
use crate::rows::tombstones::blob_tombstone;
use crate::rows::tombstones::entity_tombstone;
use crate::rows::tombstones::tombstone_of;

/// The shortest text that is looked for within others, in bytes. A shorter one is common by chance.
const SHORTEST_TEXT: usize = 12;
/// The shortest line or sentence of a text that is looked for within others, in bytes.
const SHORTEST_PASSAGE: usize = 32;
/// The stand-in for a passage.
pub const ERASED: &str = "[erased]";

/// The kind of text that is searched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    /// A record that speaks of it: names and whole texts of any length mean it, too.
    Record,
    /// An entry of a log that holds one of the objects.
    Holder,
    /// An entry of a log that may quote one.
    Other,
}

/// The search for the texts of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextSearch {
    /// They are searched for wherever they may stand.
    Sought,
    /// They are not searched for: other objects have the same texts, and these were not asked to be erased.
    Common,
}

pub(super) struct Gone {
    key: [u8; 32],
    /// The ids, and what stands in the place of each.
    ids: BTreeMap<ObjectId, String>,
    /// Ids and digests, which mean nothing else wherever they stand.
    keys: BTreeMap<String, String>,
    /// By ids and digests of revisions, whose they are.
    owners: BTreeMap<String, ObjectId>,
    /// Names and texts, which stand for the object where its record has them alone.
    words: BTreeMap<String, Vec<(ObjectId, String)>>,
    /// Passages, in every form in which they are written.
    passages: BTreeMap<String, String>,
    finder: Option<(AhoCorasick, Vec<String>)>,
    /// The patterns of the finder, in its order.
    patterns: Vec<String>,
    /// A person who goes with all that is theirs, and what stands in logs for their name as a user.
    user: Option<(String, String)>,
}

/// The place of a text that is searched.
#[derive(Clone, Copy)]
struct TextLocation<'p> {
    within: Within,
    field: Field,
    /// The objects that the record speaks of.
    spoken_of: &'p BTreeSet<ObjectId>,
}

impl Gone {
    pub(super) fn new(key: [u8; 32], ids: impl Iterator<Item = ObjectId>) -> Gone {
        let ids: BTreeMap<ObjectId, String> =
            ids.map(|id| (id, stand_in_id(tombstone_of(&key, id)))).collect();
        let keys = ids.iter().map(|(id, left)| (id.to_string(), left.clone()));
        Gone {
            key,
            keys: keys.collect(),
            owners: ids.keys().map(|id| (id.to_string(), *id)).collect(),
            ids,
            words: BTreeMap::new(),
            passages: BTreeMap::new(),
            finder: None,
            patterns: Vec::new(),
            user: None,
        }
    }

    /// Takes a person's name as a user from the stand-ins in logs. These stay that user's, whoever it is.
    pub(super) fn forget_user(&mut self, name: &str) {
        let label = entity_tombstone(&self.key, name);
        self.user = Some((name.to_owned(), stand_in(label)));
    }

    /// The user of a stand-in as it says it from now on.
    fn left_user(&self, user: &str) -> Option<&str> {
        let (name, left) = self.user.as_ref()?;
        (name == user).then_some(left.as_str())
    }

    pub(super) fn is(&self, id: ObjectId) -> bool {
        self.ids.contains_key(&id)
    }

    /// Adds a revision; returns the tombstone of its digest.
    pub(super) fn add(
        &mut self,
        id: ObjectId,
        revision: RevisionId,
        body: &str,
        sought: TextSearch,
    ) -> Digest {
        let label = tombstone_of(&self.key, id);
        let keyed = Digest::keyed(&self.key, &[b"revision", revision.bytes()]);
        self.keys.insert(revision.to_string(), keyed.to_string());
        self.owners.insert(revision.to_string(), id);
        let Ok(document) = serde_json::from_str::<ObjectDocument>(body) else {
            // It is damaged, and goes all the same.
            if sought == TextSearch::Sought {
                for text in prose(body) {
                    self.seek(passages(&text));
                }
            }
            return keyed;
        };
        let mut word = |text: &str| {
            let known = self.words.entry(text.to_owned()).or_default();
            if !text.is_empty() && known.iter().all(|(known, _)| *known != id) {
                known.push((id, stand_in(label)));
            }
        };
        word(&document.name);
        if sought == TextSearch::Common {
            return keyed;
        }
        word(&document.content);
        self.add_texts(&document, &BTreeSet::new());
        keyed
    }

    /// Adds a revision of an object that stays, and of which other revisions have these texts; returns the tombstone of its digest.
    pub(super) fn add_revision(
        &mut self,
        revision: RevisionId,
        body: &str,
        kept: &BTreeSet<String>,
    ) -> Digest {
        let keyed = Digest::keyed(&self.key, &[b"revision", revision.bytes()]);
        self.keys.insert(revision.to_string(), keyed.to_string());
        match serde_json::from_str::<ObjectDocument>(body) {
            Ok(document) => self.add_texts(&document, kept),
            Err(_) => {
                for text in prose(body) {
                    self.seek(passages(&text));
                }
            }
        }
        keyed
    }

    /// Adds the texts of an object, but for those that are kept.
    fn add_texts(&mut self, document: &ObjectDocument, kept: &BTreeSet<String>) {
        for text in texts(document).filter(|text| !kept.contains(*text)) {
            let digest = Digest::of(text.as_bytes());
            let keyed = Digest::keyed(&self.key, &[b"text", digest.bytes()]);
            self.keys.insert(digest.to_string(), keyed.to_string());
            self.seek(passages(text));
        }
        for call in &document.tool_calls {
            // As they are written they say nothing yet: others make the same call.
            let known = json_of(&call.arguments);
            each_text(known.as_ref().unwrap_or(&call.arguments), &mut |text| {
                self.seek(passages(text).filter(|passage| passage.len() >= SHORTEST_PASSAGE));
            });
        }
    }

    fn seek<'t>(&mut self, passages: impl Iterator<Item = &'t str>) {
        for written in passages.flat_map(written_forms) {
            self.passages.insert(written, ERASED.to_owned());
        }
    }

    /// Adds a kept text that goes as well; returns its tombstone, by which a record names it from now on.
    pub(super) fn add_blob(&mut self, digest: Digest, object: Option<ObjectId>) -> Digest {
        if let Some(id) = object {
            self.owners.insert(digest.to_string(), id);
        }
        let keyed = blob_tombstone(&self.key, digest);
        self.keys.insert(digest.to_string(), keyed.to_string());
        keyed
    }

    /// Makes ready to look for what was added.
    pub(super) fn seal(&mut self) -> Result<(), Error> {
        let all = self.keys.iter().chain(&self.passages);
        let (patterns, stand_ins): (Vec<&String>, Vec<String>) =
            all.map(|(text, left)| (text, left.clone())).unzip();
        let built = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&patterns);
        let finder = built.map_err(|error| {
            Error::input(format!(
                "too much is erased at once to be searched for: {error}"
            ))
            .hint("erase fewer objects at once")
        })?;
        self.patterns = patterns.into_iter().cloned().collect();
        self.finder = Some((finder, stand_ins));
        Ok(())
    }

    /// Returns whether this is an id or a digest of an erased object.
    pub(super) fn knows(&self, key: &str) -> bool {
        self.keys.contains_key(key)
    }

    /// Returns whether any erased id, digest or passage stands in these bytes.
    pub(super) fn holds(&self, bytes: &[u8]) -> bool {
        self.finder.as_ref().is_some_and(|(finder, _)| finder.is_match(bytes))
    }

    /// The erased object whose text a kept text is.
    pub(super) fn kept_as(&self, bytes: &[u8]) -> Option<ObjectId> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        id_of(value.as_object()?).filter(|id| self.is(*id))
    }

    /// Returns whether a kept text quotes an erased one.
    pub(super) fn quoted_by(&self, bytes: &[u8]) -> bool {
        if !self.holds(bytes) {
            return false;
        }
        // The words of a policy's vocabulary are no quotations: records need it.
        let policy = serde_json::from_slice::<PolicyDocument>(bytes).is_ok();
        let value: Option<Value> = serde_json::from_slice(bytes).ok().filter(|_| policy);
        value.is_none_or(|mut value| self.scrub(&mut value, Within::Other))
    }

    /// A record without it, which lists these objects.
    pub(super) fn scrub_record(&self, body: &str, listed: &[ObjectId]) -> Result<String, Error> {
        let found = self.finder.iter().flat_map(|(finder, _)| {
            let found = finder.find_iter(body);
            found
                .filter_map(|found| self.owners.get(self.patterns.get(found.pattern().as_usize())?))
        });
        let spoken_of: BTreeSet<ObjectId> = found.chain(listed).copied().collect();
        let mut body: Value = serde_json::from_str(body).map_err(|error| unwritable(&error))?;
        let place = TextLocation {
            within: Within::Record,
            field: Field::Text,
            spoken_of: &spoken_of,
        };
        self.scrub_at(&mut body, place);
        Ok(body.to_string())
    }

    /// Replaces what was erased in every text of an entry; tells whether there was any. A vector goes with
    /// its text, and the provider's own bytes of a message of which anything goes.
    pub(super) fn scrub(&self, value: &mut Value, within: Within) -> bool {
        let place = TextLocation {
            within,
            field: Field::Text,
            spoken_of: &BTreeSet::new(),
        };
        self.scrub_at(value, place)
    }

    fn scrub_at(&self, value: &mut Value, place: TextLocation<'_>) -> bool {
        match value {
            Value::String(text) => self.scrub_text(text, place),
            Value::Array(values) => {
                let before = values.len();
                values.retain(|value| !self.is_vector(value));
                let mut changed = values.len() < before;
                let mut lost = BTreeSet::new();
                for value in values.iter_mut() {
                    let message = message_of(value);
                    if self.scrub_at(value, place) {
                        changed = true;
                        lost.extend(message);
                    }
                }
                for value in values {
                    if message_of(value).is_some_and(|message| lost.contains(&message)) {
                        forget_message(value);
                    }
                }
                changed
            }
            Value::Object(fields) => {
                let own = (place.within == Within::Holder).then(|| id_of(fields));
                if let Some(id) = own.flatten().filter(|id| self.is(*id)) {
                    *value = self.stub(id, fields);
                    return true;
                }
                // A stand-in of an earlier erasure.
                let user = fields.get("user_id").and_then(Value::as_str);
                if let Some(left) = user.and_then(|user| self.left_user(user))
                    && is_stub(fields)
                {
                    fields.insert("user_id".into(), left.into());
                    return true;
                }
                let name = fields.get("name").and_then(Value::as_str);
                let named = name.is_some_and(|name| self.word(name, place).is_some());
                let mut changed = named && fields.remove("payload").is_some();
                // Of a section, the name is one of a vocabulary.
                let section = fields.contains_key("zone");
                for (key, value) in fields.iter_mut() {
                    let field = if section && key == "name" {
                        Field::Id
                    } else {
                        place.field.under(key)
                    };
                    changed |= self.scrub_at(value, TextLocation { field, ..place });
                }
                if changed {
                    forget_message(value);
                }
                changed
            }
            _ => false,
        }
    }

    /// The stand-in for a name or a text that a record of its object has alone in a field.
    fn word(&self, text: &str, place: TextLocation<'_>) -> Option<&String> {
        let known = self.words.get(text).filter(|_| place.within == Within::Record)?;
        known
            .iter()
            .find(|(id, _)| place.spoken_of.contains(id))
            .map(|(_, stand_in)| stand_in)
    }

    fn scrub_text(&self, text: &mut String, place: TextLocation<'_>) -> bool {
        if let Some(left) = self.keys.get(text) {
            text.clone_from(left);
            return true;
        }
        if place.field.is_fixed(text) {
            return false;
        }
        if let Some(stand_in) = self.word(text, place) {
            text.clone_from(stand_in);
            return true;
        }
        let Some((finder, stand_ins)) = &self.finder else {
            return false;
        };
        if place.field == Field::Name || !finder.is_match(text.as_str()) {
            return false;
        }
        let inner = place.field.inner(text);
        *text = match inner {
            Some((mut inner, field)) => {
                if !self.scrub_at(&mut inner, TextLocation { field, ..place }) {
                    return false;
                }
                inner.to_string()
            }
            None => finder.replace_all(text, stand_ins),
        };
        true
    }

    /// Returns whether this is the digest of an erased text with its vector.
    fn is_vector(&self, value: &Value) -> bool {
        let pair = value.as_array().filter(|pair| pair.len() == 2);
        let [text, vector] = match pair.map(Vec::as_slice) {
            Some([Value::String(text), Value::String(vector)]) => [text, vector],
            _ => return false,
        };
        self.keys.contains_key(text) && vector.bytes().all(|digit| digit.is_ascii_hexdigit())
    }

    /// The stand-in for an object in a log: it is valid at no instant, so no compile shows it.
    fn stub(&self, id: ObjectId, document: &Map<String, Value>) -> Value {
        let id = self.ids.get(&id).cloned().unwrap_or_default();
        let mut left = json!({
            "authority_level": Authority::Data,
            "content": "erased",
            "name": format!("erased-{}", id.get(..8).unwrap_or_default()),
            "object_id": id,
            "valid_until": Instant::from_micros(0),
        });
        // What a fold of the log needs to know of it.
        for field in [
            "author",
            "project_id",
            "removable",
            "session_id",
            "tenant_id",
            "trajectory_id",
            "user_id",
        ] {
            if let Some(value) = document.get(field) {
                left[field] = value.clone();
            }
        }
        let user = left["user_id"].as_str();
        if let Some(user) = user.and_then(|user| self.left_user(user)) {
            left["user_id"] = user.into();
        }
        left
    }
}

/// Returns whether an object in a log is the stand-in for an erased one.
pub(super) fn is_stub(document: &Map<String, Value>) -> bool {
    let says = |field: &str| document.get(field).and_then(Value::as_str);
    let until = says("valid_until").and_then(|until| until.parse().ok());
    says("content") == Some("erased") && until == Some(Instant::from_micros(0))
}

/// By what the parts of a provider's message know each other.
fn message_of(value: &Value) -> Option<String> {
    let digest = value.get("wire")?.get("digest")?.as_str()?;
    Some(digest.to_owned())
}

/// Takes the provider's own bytes from a part of a message.
fn forget_message(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove("wire");
    }
}

/// The stand-in for a name or a text.
fn stand_in(label: Digest) -> String {
    format!("erased-{}", &label.to_string()["sha256:".len()..][..12])
}

fn stand_in_id(label: Digest) -> String {
    ObjectId::from_bits(label.key()).to_string()
}

/// The prose that can still be read in a JSON text that is damaged. Where a quotation mark is lost, each string looks
/// like what stands between two: so each text between two is taken that has the length of a passage and words.
fn prose(damaged: &str) -> Vec<String> {
    let text: String = damaged.chars().map(|c| if c < ' ' { ' ' } else { c }).collect();
    let mut found = Vec::new();
    let (mut from, mut is_escaped) = (0, false);
    let ends = text.char_indices().filter(|(_, c)| {
        let ends = *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        ends
    });
    for at in ends.map(|(at, _)| at).chain([text.len()]) {
        let part = text.get(from..at).unwrap_or_default();
        from = at + 1;
        let read = serde_json::from_str::<String>(&format!("\"{part}\""));
        found.push(read.unwrap_or_else(|_| part.to_owned()));
    }
    found.retain(|text| text.len() >= SHORTEST_PASSAGE && text.trim().contains(' '));
    found
}

pub(super) fn texts(document: &ObjectDocument) -> impl Iterator<Item = &str> {
    let rest = [
        &document.abstract_text,
        &document.overview,
        &document.why_it_matters,
        &document.behavioral_implication,
        &document.normalized_claim,
    ]
    .into_iter()
    .filter_map(|text| text.as_deref());
    std::iter::once(document.content.as_str())
        .chain(rest)
        .filter(|text| !text.is_empty())
}

/// Calls `each` with the texts in a value.
fn each_text(value: &Value, each: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => each(text),
        Value::Array(values) => values.iter().for_each(|value| each_text(value, each)),
        Value::Object(fields) => fields.values().for_each(|value| each_text(value, each)),
        _ => {}
    }
}

/// The parts of a text that are searched for within others: all of it, its lines, and their sentences.
fn passages(text: &str) -> impl Iterator<Item = &str> {
    let whole = Some(text.trim()).filter(|text| text.len() >= SHORTEST_TEXT);
    let lines = text
        .lines()
        .flat_map(|line| {
            let sentences = line.split_inclusive(['.', '!', '?', ';', '。']);
            std::iter::once(line).chain(sentences)
        })
        .map(str::trim);
    whole.into_iter().chain(lines.filter(|line| line.len() >= SHORTEST_PASSAGE))
}

/// A passage as it is written in a text, and in JSON within JSON, with and without letters beyond ASCII.
fn written_forms(passage: &str) -> Vec<String> {
    let once = [true, false].map(|plain| escaped(passage, plain));
    let mut forms: Vec<String> = once
        .iter()
        .flat_map(|form| [true, false].map(|plain| escaped(form, plain)))
        .collect();
    forms.extend(once);
    forms.push(passage.to_owned());
    forms.sort();
    forms.dedup();
    forms
}

/// A text as it stands between the quotes of JSON.
fn escaped(text: &str, plain: bool) -> String {
    let quoted = Value::from(text).to_string();
    let inner = quoted.get(1..quoted.len() - 1).unwrap_or_default();
    if plain {
        return inner.to_owned();
    }
    let mut ascii = String::with_capacity(inner.len());
    for letter in inner.chars() {
        if letter.is_ascii() {
            ascii.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut [0; 2]) {
            ascii.push_str(&format!("\\u{unit:04x}"));
        }
    }
    ascii
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // helpers of tests
mod tests {
    use super::*;

    fn gone(content: &str) -> Gone {
        let mut document = ObjectDocument::named("ada", content);
        document.object_id = Some(ObjectId::from_bits(7));
        let object = document.seal().unwrap();
        let id = object.revision().object_id();
        let mut gone = Gone::new([1; 32], [id].into_iter());
        let body = serde_json::to_string(&*object).unwrap();
        gone.add(id, object.revision().id(), &body, TextSearch::Sought);
        gone.seal().unwrap();
        gone
    }

    #[test]
    fn a_passage_is_found_in_every_form_that_it_is_written_in() {
        let secret = "Zoë said: \"the code of the second door is 7342\" on Friday.";
        let gone = gone(&format!("# Doors\n\nNothing else. {secret}"));
        let message = json!({ "content": secret });
        let ascii = escaped(&message.to_string(), false);
        for text in [
            secret.to_owned(),
            format!("She told me: {secret} I believe it."),
            message.to_string(),
            json!({ "message": message.to_string() }).to_string(),
            ascii,
        ] {
            let mut value = json!({ "deep": [{ "text": text }] });
            assert!(gone.scrub(&mut value, Within::Other), "{text}");
            let left = value.to_string();
            assert!(left.contains(ERASED) && !left.contains("7342"), "{left}");
        }
        // Nothing else goes: not what is short, and not what only begins alike.
        for text in ["Nothing else.", "Zoë said: \"the code", "ada"] {
            assert!(!gone.scrub(&mut json!(text), Within::Other), "{text}");
        }
        let record = |listed: &[ObjectId]| gone.scrub_record(r#"{"name":"ada"}"#, listed);
        assert!(!record(&[ObjectId::from_bits(7)]).unwrap().contains("ada"));
        // Of another record it is another's name.
        assert!(record(&[]).unwrap().contains("ada"));
    }

    #[test]
    fn what_is_no_text_stays_and_json_stays_json() {
        let gone = gone("retrieved_passage");
        let kept = json!({ "object_type": "retrieved_passage", "session_id": "retrieved_passage",
            "subjects": ["retrieved_passage"], "name": "retrieved_passage" });
        let mut value = kept.clone();
        assert!(!gone.scrub(&mut value, Within::Other));
        assert_eq!(value, kept);
        let call = r#"{"type":"retrieved_passage","rows":[1]}"#;
        let mut value = json!([{ "arguments": call }, { "arguments": { "id": "retrieved_passage" } },
            { "kind": "It is a retrieved_passage." }, { "text": call }, { "arguments": "retrieved_passage" }]);
        assert!(gone.scrub(&mut value, Within::Other));
        let left = json!([{ "arguments": r#"{"rows":[1],"type":"[erased]"}"# }, { "arguments": { "id": "[erased]" } },
            { "kind": "It is a [erased]." }, { "text": r#"{"type":"[erased]","rows":[1]}"# }, { "arguments": "[erased]" }]);
        assert_eq!(value, left);
    }

    #[test]
    fn of_a_call_its_longer_texts_are_looked_for_and_not_all_of_it() {
        let long = "the door of the archive opens with the code 7342";
        let call = json!({ "query": long, "rows": 20 }).to_string();
        let document = json!({ "name": "t5.0", "content": "", "role": "assistant", "object_type": "turn",
            "tool_calls": [{ "id": "c", "name": "find", "arguments": call }] });
        let mut gone = Gone::new([1; 32], [ObjectId::from_bits(7)].into_iter());
        let id = ObjectId::from_bits(7);
        gone.add(
            id,
            Digest::of(b"r"),
            &document.to_string(),
            TextSearch::Sought,
        );
        gone.seal().unwrap();
        let mut value = json!({ "arguments": call });
        assert!(gone.scrub(&mut value, Within::Other));
        assert_eq!(
            value,
            json!({ "arguments": r#"{"query":"[erased]","rows":20}"# })
        );
        let mut value = json!({ "arguments": r#"{"rows":20}"# });
        assert!(!gone.scrub(&mut value, Within::Other));
    }

    #[test]
    fn a_vector_goes_with_its_text_and_a_message_with_its_parts() {
        let text = "The code is 7342.";
        let gone = gone(text);
        let [own, other] = [text, "x"].map(|text| Digest::of(text.as_bytes()).to_string());
        let mut value = json!({ "vectors": [[own, "7f01"], [other, "017f"]] });
        assert!(gone.scrub(&mut value, Within::Other));
        assert_eq!(value, json!({ "vectors": [[other, "017f"]] }));
        let part = |content: &str, message: &str| json!({ "content": content, "wire": { "digest": message } });
        let mut value = json!([part("I said: The code is 7342.", "m"), part("y", "n")]);
        assert!(gone.scrub(&mut value, Within::Other));
        assert_eq!(value[0]["wire"], Value::Null);
        assert_eq!(value[1]["wire"]["digest"], "n");
    }

    #[test]
    fn an_object_without_a_text_takes_nothing_along() {
        let mut document = ObjectDocument::named("call", "");
        document.object_id = Some(ObjectId::from_bits(7));
        let mut gone = Gone::new([1; 32], [ObjectId::from_bits(7)].into_iter());
        let body = serde_json::to_string(&document).unwrap();
        let id = ObjectId::from_bits(7);
        gone.add(id, Digest::of(b"r"), &body, TextSearch::Sought);
        gone.seal().unwrap();
        let record = r#"{"empty":"","text":"as it was"}"#;
        assert_eq!(gone.scrub_record(record, &[id]).unwrap(), record);
    }
}
