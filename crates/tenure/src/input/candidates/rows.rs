//! Candidates as rows that the stages read fast.
//!
//! What is made here depends on the candidates alone, so it is made once and kept with them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::leaves::{Unfetched, digest_of_leaves, leaves_of};
use crate::base::digest::Digest;
use crate::base::num::Score;
use crate::base::text::{Hygiene, examine};
use crate::base::time::Instant;
use crate::belief::SlotClaim;
use crate::condense::duplicates::{Prints, Signed};
use crate::condense::{ContentType, detect};
use crate::input::profile::Profile;
use crate::input::stance::{Topic, stance};
use crate::object::section::{Section, section_of};
use crate::object::{
    Authority, Classification, ContextObject, ContradictionStatus, MemoryKind, Modality,
    ObjectType, Polarity, Protection, Revision, RevisionId, Role, Scope, TextField, without_lines,
};
use crate::rank::ranker::{Index, Part, Position, Unit};

/// The facts of a candidate that the stages read without following a pointer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) section: Section,
    pub(crate) object_type: ObjectType,
    pub(crate) authority: Authority,
    pub(crate) classification: Classification,
    pub(crate) protection: Protection,
    pub(crate) contradiction: ContradictionStatus,
    pub(crate) removable: bool,
    pub(crate) optional: bool,
    /// True if the object has any of the fields that few objects have.
    pub(crate) rare: bool,
    /// True if the object says where it comes from.
    pub(crate) origin: bool,
    pub(crate) superseded: bool,
    /// True if it stands in for a revision whose row was damaged.
    pub(crate) damaged: bool,
    /// True if who may see the object now is not who might see this revision.
    pub(crate) past: bool,
    /// Evidence or a result whose source or time is missing.
    pub(crate) anonymous: bool,
    /// True if it came with its folder: nothing chose it for the task.
    pub(crate) unasked: bool,
    /// True if somebody chose it, with a package.
    pub(crate) packed: bool,
    pub(crate) text: bool,
    pub(crate) personal: bool,
    /// True of a constraint, or of a rule that states no other, that may never leave.
    pub(crate) hard: bool,
    /// True of a constraint that a machine can hold answers against.
    pub(crate) checked: bool,
    /// True if the caller says it in the request itself.
    pub(crate) said: bool,
    /// The scope, as its place in [`Normalized::scopes`].
    pub(crate) scope: u32,
    pub(crate) bytes: u32,
    /// True if it goes by another name here than its revision's.
    pub(crate) renamed: bool,
    pub(crate) revision: RevisionId,
    /// The digest of its content.
    pub(crate) content: Digest,
    pub(crate) priority: Score,
    pub(crate) source_authority: Score,
    pub(crate) confidence: Score,
    pub(crate) valid_from: i64,
    pub(crate) valid_until: i64,
    pub(crate) tx_from: i64,
    pub(crate) tx_until: i64,
    /// Since when it is true, or else when it was retrieved: what its age counts from.
    pub(crate) since: i64,
    /// Breaks ties by content, never by id or insertion.
    pub(crate) tie: u64,
}

impl Row {
    /// Returns whether it is text that stands by itself: no part of a conversation, no tool, no task.
    pub(crate) fn is_loose(&self) -> bool {
        let apart = matches!(
            self.section,
            Section::Tools | Section::History | Section::Task | Section::Query
        );
        self.text && !apart
    }

    /// Returns whether it is a tool's definition.
    pub(crate) fn is_tool(&self) -> bool {
        self.object_type == ObjectType::ToolSchema
    }

    /// Returns whether it is a message of a conversation.
    pub(crate) fn is_message(&self) -> bool {
        matches!(self.object_type, ObjectType::Turn | ObjectType::ToolResult)
    }
}

/// An unknown start sorts before everything and excludes nothing.
pub(crate) const UNKNOWN: i64 = i64::MIN;
/// An open end.
pub(crate) const OPEN: i64 = i64::MAX;

/// The candidates as rows, with what was found while making them.
#[derive(Debug)]
pub(crate) struct Normalized {
    pub(crate) rows: Vec<Row>,
    pub(crate) scopes: Vec<Arc<Scope>>,
    /// The findings of hidden characters, by row and field.
    pub(crate) hygiene: BTreeMap<(u32, TextField), Hygiene>,
    /// The rows that asked for more authority than they have, with what they asked for.
    pub(crate) lowered: Vec<(u32, Authority)>,
    /// The rows whose object stands among the candidates with more authority, too.
    pub(crate) outranked: Vec<u32>,
    /// The sources that collecting did not fetch.
    pub(crate) unfetched: Vec<Unfetched>,
    /// The layers, made once of runs of objects. Each with its first row.
    layers: Vec<(u32, Arc<Layer>)>,
    index: OnceLock<Index>,
    /// By tenths of the threshold, from one half on.
    prints: [OnceLock<Prints>; TENTHS],
    digest: OnceLock<Digest>,
}

/// The number of thresholds for which the index of near-duplicates is kept.
const TENTHS: usize = 5;

/// The facts of a run of objects that take longest to make.
#[derive(Debug)]
struct Layer {
    /// True if the caller says all of it in the request itself.
    said: bool,
    objects: Arc<[Arc<ContextObject>]>,
    /// The names that a trace says: copies that were made one after the other, so that giving out all of them does
    /// not go from object to object in memory.
    names: Vec<Arc<str>>,
    leaves: OnceLock<Vec<u8>>,
    terms: OnceLock<Arc<Part>>,
    /// The guidance, by its place.
    stances: OnceLock<Vec<Stance>>,
    /// The claims, by their places.
    claims: OnceLock<Vec<ClaimRow>>,
    signed: [OnceLock<Arc<Signed>>; TENTHS],
    types: Vec<OnceLock<ContentType>>,
    profiles: Vec<OnceLock<Profile>>,
}

/// An object with a claim, and the entities that the claim is about.
#[derive(Debug)]
struct ClaimRow {
    at: u32,
    entities: Vec<String>,
    claim: SlotClaim,
}

/// Guidance that asks or forbids.
#[derive(Debug)]
struct Stance {
    at: u32,
    polarity: Polarity,
    /// Made when it is first compared: of many, few are.
    topic: OnceLock<Topic>,
}

impl Layer {
    fn terms(&self) -> Arc<Part> {
        let made = self.terms.get_or_init(|| {
            let mut materials = Materials::default();
            let tags: Vec<String> = self.objects.iter().map(|object| tags_of(object)).collect();
            let dates: Vec<String> = self.objects.iter().map(|object| date_of(object)).collect();
            let purposes: Vec<Cow<'_, str>> =
                self.objects.iter().map(|object| purpose_of(object)).collect();
            let texts = self.objects.iter().zip(tags.iter().zip(&dates)).zip(&purposes);
            let units = texts.map(|((object, (tags, date)), purpose)| {
                let unit = Unit {
                    name: object.name(),
                    tags,
                    speaker: object.revision().said_by().unwrap_or_default(),
                    date,
                    purpose,
                    text: object.revision().content(),
                    ..Unit::default()
                };
                (unit, materials.place(object))
            });
            Arc::new(Part::of(units))
        });
        Arc::clone(made)
    }

    fn stances(&self) -> &[Stance] {
        self.stances.get_or_init(|| {
            (0u32..)
                .zip(self.objects.iter())
                .filter_map(|(at, object)| {
                    Some(Stance {
                        at,
                        polarity: stance_of(object)?,
                        topic: OnceLock::new(),
                    })
                })
                .collect()
        })
    }
}

impl Layer {
    fn claims(&self) -> &[ClaimRow] {
        self.claims.get_or_init(|| {
            let objects = (0u32..).zip(self.objects.iter());
            objects
                .filter_map(|(at, object)| {
                    let (entities, claim) = SlotClaim::of(object)?;
                    Some(ClaimRow {
                        at,
                        entities,
                        claim,
                    })
                })
                .collect()
        })
    }

    fn stance(&self, at: usize) -> Option<&Stance> {
        let stances = self.stances();
        let found = stances.binary_search_by_key(&(at as u32), |stance| stance.at);
        stances.get(found.ok()?)
    }
}

impl Normalized {
    /// The digest of everything that a compile may depend on in the candidates.
    pub(crate) fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| {
            let leaves = self.layers.iter().map(|(_, layer)| {
                layer
                    .leaves
                    .get_or_init(|| leaves_of(layer.objects.iter().map(Arc::as_ref), layer.said))
                    .as_slice()
            });
            digest_of_leaves(leaves, &self.unfetched)
        })
    }

    /// The layer that holds a row, and where in it.
    fn layer(&self, row: u32) -> (&Layer, usize) {
        let after = self.layers.partition_point(|(first, _)| *first <= row);
        let (first, layer) = &self.layers[after - 1];
        (layer, (row - first) as usize)
    }

    pub(crate) fn object(&self, row: u32) -> &ContextObject {
        let (layer, at) = self.layer(row);
        &layer.objects[at]
    }

    pub(crate) fn row(&self, row: u32) -> &Row {
        &self.rows[row as usize]
    }

    pub(crate) fn name(&self, row: u32) -> Arc<str> {
        let (layer, at) = self.layer(row);
        Arc::clone(&layer.names[at])
    }

    /// The names of all rows, in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.layers.iter().flat_map(|(_, layer)| &layer.names)
    }

    /// Of what type a row's content seems to be, found when it is first asked.
    pub(crate) fn content_type(&self, row: u32) -> ContentType {
        let (layer, at) = self.layer(row);
        *layer.types[at].get_or_init(|| detect(layer.objects[at].revision().content()))
    }

    /// The profile of a row's content, which the measures of quality need, found when it is first asked.
    pub(crate) fn profile(&self, row: u32) -> &Profile {
        let (layer, at) = self.layer(row);
        let object = &layer.objects[at];
        layer.profiles[at].get_or_init(|| Profile::of(object, object.revision().content()))
    }

    /// Returns the index for ranking, made when something is first ranked.
    pub(crate) fn index(&self) -> &Index {
        self.index
            .get_or_init(|| Index::of(self.layers.iter().map(|(_, layer)| layer.terms())))
    }

    /// The claims that take part in settlement, each with the entities that it is about, in order.
    pub(crate) fn claims(&self) -> impl Iterator<Item = (u32, &[String], &SlotClaim)> {
        self.layers.iter().flat_map(|(first, layer)| {
            layer
                .claims()
                .iter()
                .map(move |row| (first + row.at, row.entities.as_slice(), &row.claim))
        })
    }

    /// Guidance that asks or forbids, found when something is first ranked, in order.
    pub(crate) fn stances(&self) -> impl Iterator<Item = (u32, Polarity)> {
        self.layers.iter().flat_map(|(first, layer)| {
            layer.stances().iter().map(move |stance| (first + stance.at, stance.polarity))
        })
    }

    /// Returns whether a row asks or forbids.
    pub(crate) fn has_stance(&self, row: u32) -> bool {
        let (layer, at) = self.layer(row);
        layer.stance(at).is_some()
    }

    /// Returns whether a row is a rule: it asks or forbids with the authority of a user or more, by its type, as the correction of
    /// an outcome, or since it states a constraint. The body of a skill is none until somebody asks for the skill.
    pub(crate) fn is_rule(&self, at: u32) -> bool {
        let row = self.row(at);
        let is_rule = match row.object_type {
            ObjectType::Rule | ObjectType::PolicyRule | ObjectType::ActionableConstraint => true,
            ObjectType::Outcome => self.has_stance(at),
            _ => row.rare && self.object(at).revision().rare().constraint.is_some(),
        };
        row.authority <= Authority::User && !row.unasked && is_rule
    }

    /// The topic of a row that asks or forbids; none of any other.
    pub(crate) fn topic(&self, row: u32) -> Option<&Topic> {
        let (layer, at) = self.layer(row);
        let stance = layer.stance(at)?;
        Some(stance.topic.get_or_init(|| Topic::of(layer.objects[at].revision().content())))
    }

    /// Returns the index of near-duplicates at this threshold, made when something is first ranked.
    pub(crate) fn prints(&self, threshold: Score) -> &Prints {
        let tenths = threshold.max(Score::HALF).millionths() / 100_000;
        let at = (tenths as usize - TENTHS).min(TENTHS - 1);
        let from = Score::from_millionths((at + TENTHS) as u32 * 100_000);
        self.prints[at].get_or_init(|| {
            let loose_data = |row: &Row| row.is_loose() && row.authority == Authority::Data;
            if !self.rows.iter().any(loose_data) {
                return Prints::default();
            }
            let mut rows = self.rows.iter();
            let signed: Vec<_> = self
                .layers
                .iter()
                .map(|(_, layer)| {
                    let rows = rows.by_ref().take(layer.objects.len());
                    let loose: Vec<bool> = rows.map(Row::is_loose).collect();
                    let sign = || {
                        let counted = layer.objects.iter().zip(loose).map(|(object, loose)| {
                            let revision = object.revision();
                            loose.then(|| (revision.content_digest().key(), revision.content()))
                        });
                        Arc::new(Signed::of(counted, from))
                    };
                    Arc::clone(layer.signed[at].get_or_init(sign))
                })
                .collect();
            Prints::of(&signed, |row| self.object(row).revision().content())
        })
    }

    /// Returns whether a row is a turn of the user: where an exchange begins. A turn that says nothing begins none: a
    /// body may leave it out.
    pub(crate) fn is_user_turn(&self, row: u32) -> bool {
        self.row(row).object_type == ObjectType::Turn
            && self.object(row).revision().role() == Some(Role::User)
            && !self.object(row).revision().content().trim().is_empty()
    }

    /// The order between two rows whose ranks are equal: by content, then name, then position.
    pub(crate) fn tie_break(&self, a: u32, b: u32) -> std::cmp::Ordering {
        self.row(a).tie.cmp(&self.row(b).tie).then_with(|| {
            let name = |row| self.object(row).name();
            name(a).cmp(name(b)).then(a.cmp(&b))
        })
    }
}

/// White space, marks and the like between two parts of a source that follow each other, in bytes.
const SEAM: u64 = 64;

/// Material that is ordered by itself: conversations, and the sources that evidence stands in. They have the same
/// number in every layer.
#[derive(Default)]
struct Materials<'a> {
    scopes: BTreeMap<&'a Scope, Digest>,
    numbers: BTreeMap<(Digest, &'a str), u128>,
}

impl<'a> Materials<'a> {
    /// A turn stands beside the turn before it; a passage beside the one that ends where it begins.
    fn place(&mut self, object: &'a ContextObject) -> Option<Position> {
        let revision = object.revision();
        let (name, from, until) = if section_of(revision) == Section::History {
            ("", 0, 0)
        } else {
            let provenance = revision.provenance()?;
            let chunk = provenance.chunk?;
            (
                without_lines(provenance.source_id.as_deref()?),
                chunk.start,
                chunk.end.saturating_add(SEAM),
            )
        };
        let scope = revision.scope();
        let scope = *self
            .scopes
            .entry(scope)
            .or_insert_with(|| Digest::of(format!("{scope:?}").as_bytes()));
        Some(Position {
            material: *self
                .numbers
                .entry((scope, name))
                .or_insert_with(|| Digest::of_parts([scope.bytes(), name.as_bytes()]).key()),
            from,
            until,
        })
    }
}

/// The words to find it by; of a tool also those of its parameters' names.
fn tags_of(object: &ContextObject) -> String {
    let mut words = object.revision().tags().collect::<Vec<_>>().join(" ");
    if let Some(tool) = object.revision().tool() {
        // As a name it is found already, but for the words that capitals alone part.
        if object.name().contains(char::is_uppercase) {
            spell(object.name(), &mut words);
        }
        parameters(&tool.input_schema, &mut words);
    }
    words
}

/// Adds the names of all parameters that a schema knows, the inner ones too.
fn parameters(schema: &Value, words: &mut String) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::Object(properties) if key == "properties" => {
                        for (name, schema) in properties {
                            spell(name, words);
                            parameters(schema, words);
                        }
                    }
                    _ => parameters(value, words),
                }
            }
        }
        Value::Array(schemas) => schemas.iter().for_each(|schema| parameters(schema, words)),
        _ => {}
    }
}

/// Adds the words of an identifier: of `dryRun` as of `dry_run`, two.
fn spell(name: &str, words: &mut String) {
    words.push(' ');
    let mut small = false;
    for c in name.chars() {
        if small && c.is_uppercase() {
            words.push(' ');
        }
        words.push(c);
        small = c.is_lowercase();
    }
}

/// The purpose of an object, as it says itself.
fn purpose_of(object: &ContextObject) -> Cow<'_, str> {
    let revision = object.revision();
    if let Some(tool) = revision.tool() {
        let mut said = String::new();
        descriptions(&tool.input_schema, &mut said);
        return Cow::Owned(said);
    }
    if !revision.has_rare() {
        return Cow::Borrowed("");
    }
    let rare = revision.rare();
    let (why, then) = (&rare.why_it_matters, &rare.behavioral_implication);
    match (why.as_deref(), then.as_deref()) {
        (Some(why), Some(then)) => Cow::Owned(format!("{why}\n{then}")),
        (one, other) => Cow::Borrowed(one.or(other).unwrap_or_default()),
    }
}

/// Adds what a schema says of the parameters of a tool.
fn descriptions(schema: &Value, said: &mut String) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "description" => {
                        said.push_str(text);
                        said.push('\n');
                    }
                    _ => descriptions(value, said),
                }
            }
        }
        Value::Array(schemas) => schemas.iter().for_each(|schema| descriptions(schema, said)),
        _ => {}
    }
}

/// The day from which on it is true, where it is known.
pub(super) fn date_of(object: &ContextObject) -> String {
    let mut date = object.valid().from.map_or(String::new(), |from| from.to_string());
    date.truncate(date.find('T').unwrap_or(date.len()));
    date
}

/// Returns whether guidance asks or forbids: as its constraint says, else as its text does.
fn stance_of(object: &ContextObject) -> Option<Polarity> {
    let revision = object.revision();
    let guides = matches!(
        section_of(revision),
        Section::Identity | Section::Policy | Section::Memory | Section::Karma
    );
    let text = matches!(revision.modality(), Modality::Text | Modality::Structured);
    match revision.rare().constraint.as_ref() {
        _ if !guides || !text => None,
        Some(constraint) => Some(constraint.polarity),
        None => stance(revision.content()),
    }
}

impl Normalized {
    /// The rows of layers, one after the other.
    pub(super) fn joined<'l>(
        layers: impl Iterator<Item = &'l Normalized>,
        unfetched: Vec<Unfetched>,
    ) -> Normalized {
        let mut joined = Normalized {
            rows: Vec::new(),
            scopes: Vec::new(),
            hygiene: BTreeMap::new(),
            lowered: Vec::new(),
            outranked: Vec::new(),
            unfetched,
            layers: Vec::new(),
            index: OnceLock::new(),
            prints: Default::default(),
            digest: OnceLock::new(),
        };
        let mut scopes: BTreeMap<Arc<Scope>, u32> = BTreeMap::new();
        for layer in layers {
            let first = joined.rows.len() as u32;
            let known: Vec<u32> = layer
                .scopes
                .iter()
                .map(|scope| {
                    *scopes.entry(Arc::clone(scope)).or_insert_with(|| {
                        joined.scopes.push(Arc::clone(scope));
                        joined.scopes.len() as u32 - 1
                    })
                })
                .collect();
            joined.rows.extend(layer.rows.iter().map(|row| Row {
                scope: known[row.scope as usize],
                ..*row
            }));
            let lowered = layer.lowered.iter();
            joined.lowered.extend(lowered.map(|(row, asked)| (first + row, *asked)));
            let outranked = layer.outranked.iter();
            joined.outranked.extend(outranked.map(|row| first + row));
            let hygiene = layer.hygiene.iter();
            joined.hygiene.extend(
                hygiene.map(|((row, field), found)| ((first + row, *field), found.clone())),
            );
            let layers = layer.layers.iter();
            joined.layers.extend(layers.map(|(at, layer)| (first + at, Arc::clone(layer))));
        }
        joined
    }

    /// The rows of these objects, which the caller said or did not say.
    pub(super) fn of(
        objects: Arc<[Arc<ContextObject>]>,
        said: bool,
        unfetched: Vec<Unfetched>,
    ) -> Normalized {
        let mut scopes: BTreeMap<Arc<Scope>, u32> = BTreeMap::new();
        let mut rows = Vec::with_capacity(objects.len());
        for object in &*objects {
            let next = scopes.len() as u32;
            let scope = *scopes.entry(Arc::clone(object.revision().scope())).or_insert(next);
            rows.push(Row {
                said,
                ..row(object, scope)
            });
        }
        let mut ordered: Vec<(u32, Arc<Scope>)> =
            scopes.into_iter().map(|(scope, at)| (at, scope)).collect();
        ordered.sort_by_key(|(at, _)| *at);
        let scopes = ordered.into_iter().map(|(_, scope)| scope).collect();
        let hygiene = hidden(&objects);
        let lowered = (0u32..)
            .zip(&*objects)
            .filter_map(|(at, object)| Some((at, object.status().asked?)))
            .collect();
        let outranked = (0u32..)
            .zip(&*objects)
            .filter_map(|(at, object)| object.status().outranked.then_some(at))
            .collect();
        Normalized {
            layers: vec![(
                0,
                Arc::new(Layer {
                    said,
                    types: objects.iter().map(|_| OnceLock::new()).collect(),
                    profiles: objects.iter().map(|_| OnceLock::new()).collect(),
                    names: objects.iter().map(|object| object.name().into()).collect(),
                    objects,
                    leaves: OnceLock::new(),
                    terms: OnceLock::new(),
                    stances: OnceLock::new(),
                    claims: OnceLock::new(),
                    signed: Default::default(),
                }),
            )],
            rows,
            scopes,
            hygiene,
            lowered,
            outranked,
            unfetched,
            index: OnceLock::new(),
            prints: Default::default(),
            digest: OnceLock::new(),
        }
    }
}

/// The hidden characters in the texts of these objects that can reach a prompt. A message as it came is named where its parts
/// do not say it.
fn hidden(objects: &[Arc<ContextObject>]) -> BTreeMap<(u32, TextField), Hygiene> {
    let mut found: BTreeMap<(u32, TextField), Hygiene> = BTreeMap::new();
    let mut said: BTreeSet<Digest> = BTreeSet::new();
    let digest = |at: u32| Some(objects[at as usize].revision().wire()?.digest);
    for (at, object) in (0u32..).zip(objects) {
        for (field, text) in object.texts() {
            let Some(more) = examine(&text) else {
                continue;
            };
            if field != TextField::Wire {
                said.extend(digest(at));
            }
            found.entry((at, field)).and_modify(|known| known.add(&more)).or_insert(more);
        }
    }
    found.retain(|(at, field), _| {
        *field != TextField::Wire || digest(*at).is_none_or(|digest| !said.contains(&digest))
    });
    found
}

/// The tag of what came with a skill.
const SKILL: &str = "skill";

/// Returns whether an object came with its folder: a file that was read as evidence without being retrieved, or the
/// body of a skill.
fn is_unasked(revision: &Revision) -> bool {
    let is_file = revision.object_type() == ObjectType::RetrievedPassage
        && revision.provenance().is_some_and(|found| {
            found.digest.is_some() && found.retrieved_at.is_none() && found.package.is_none()
        });
    is_file
        || revision.rare().memory_kind == Some(MemoryKind::Procedural)
            && revision.tags().any(|tag| tag == SKILL)
}

fn row(object: &ContextObject, scope: u32) -> Row {
    let revision = object.revision();
    let status = object.status();
    let section = section_of(revision);
    let micros = |instant: Option<Instant>, missing| instant.map_or(missing, Instant::micros);
    let digest = revision.content_digest();
    let provenance = revision.provenance();
    let valid = object.valid();
    let since = valid.from.or(provenance.and_then(|found| found.retrieved_at));
    let rules = matches!(
        revision.object_type(),
        ObjectType::PolicyRule | ObjectType::ActionableConstraint
    );
    let anonymous = match revision.object_type() {
        ObjectType::ToolResult => provenance.is_none_or(|found| found.retrieved_at.is_none()),
        // A rule that is data is evidence by what it is allowed, and no passage that somebody found.
        _ if rules => false,
        _ => section == Section::Evidence && provenance.is_none_or(|found| !found.is_complete()),
    };
    Row {
        section,
        object_type: revision.object_type(),
        authority: revision.authority_level(),
        classification: revision.classification(),
        protection: object.protection(),
        contradiction: status.contradiction,
        // A rule that is data binds nobody, whoever may not remove it.
        removable: object.is_removable()
            || (rules || revision.object_type() == ObjectType::Rule)
                && revision.authority_level() == Authority::Data,
        optional: revision.is_optional(),
        rare: revision.has_rare(),
        origin: revision.origins().next().is_some(),
        superseded: status.superseded_by.is_some(),
        damaged: status.damaged.is_some(),
        past: status.access.is_some(),
        anonymous,
        unasked: is_unasked(revision),
        packed: revision.provenance().is_some_and(|found| found.package.is_some()),
        text: matches!(revision.modality(), Modality::Text | Modality::Structured),
        personal: revision.is_personal(),
        hard: revision.is_hard_constraint() && (rules || revision.constraint().is_some()),
        checked: revision.has_validator(),
        said: false,
        scope,
        bytes: revision.content().len() as u32,
        renamed: object.overrides().name.is_some(),
        revision: revision.id(),
        content: digest,
        priority: object.priority(),
        source_authority: revision.source_authority(),
        confidence: revision.confidence(),
        valid_from: micros(valid.from, UNKNOWN),
        valid_until: micros(valid.until, OPEN),
        tx_from: micros(status.transaction.from, UNKNOWN),
        tx_until: micros(status.transaction.until, OPEN),
        since: micros(since, UNKNOWN),
        tie: (digest.key() >> 64) as u64,
    }
}
