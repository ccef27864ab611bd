//! The versioned, immutable configuration of a compile.
//!
//! A policy is TOML. [`PRESETS`] are built in; `policies/standard.toml` lists every key with its
//! default, and any other policy names only what it changes.

mod answers;
mod entities;
mod guidance;
mod hygiene;
mod lay_over;
mod quality;
mod ranking;
mod session;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::error::{Error, parse_error, unknown_name};
use crate::base::num::Score;
pub use crate::input::following::{Contradictions, Derived, DisputedRules};
use crate::input::following::{is_kept, is_made, kept, made};
use crate::object::claim::WrittenClaim;
use crate::object::section::{Section, Zone};
use crate::object::{Authority, ContextObject, ObjectType, TaskType, vocabulary::vocabulary};

use guidance::{Templates, Told};
use lay_over::{line_of, merge};

pub use answers::AnswersPolicy;
pub use entities::EntityPolicy;
pub use guidance::{Equals, Guidance, MAX_TEMPLATE};
pub use hygiene::{Age, AgeUnit, Decay, HygienePolicy};
pub use quality::{Bounds, MissedByClass, OnMiss, QualityMetric, QualityPolicy};
pub use ranking::Ranking;
pub use session::SessionPolicy;

vocabulary! {
    /// The care that a task needs. Decides what happens when things do not fit.
    TaskClass ("task class") {
        /// Someone waits for the answer.
        Interactive = "interactive",
        /// No one waits.
        Batch = "batch",
        /// A wrong answer does harm.
        SafetyCritical = "safety_critical",
    }
}

vocabulary! {
    /// The model's way to a corpus.
    Strategy ("strategy") {
        /// All of it stands in the payload; so it does where there is no corpus.
        Full = "full",
        /// Its most relevant documents do, whole; the model asks for the rest.
        Documents = "documents",
        /// The model asks for what it needs.
        Retrieve = "retrieve",
    }
}

vocabulary! {
    /// The order of the payload.
    Order ("order") {
        /// Zones and sections.
        Sections = "sections",
        /// The order of the sources.
        Registry = "registry",
    }
}

vocabulary! {
    /// The place of the task relative to the registry, in registry order.
    TaskPosition ("task position") {
        /// Before it.
        Before = "before",
        /// After it.
        After = "after",
    }
}

vocabulary! {
    /// The policy for a payload that does not fit.
    Overflow ("overflow policy") {
        /// The lowest ranks leave.
        TruncateLowest = "truncate_lowest",
        /// Everything elastic shrinks.
        CascadeCompress = "cascade_compress",
        /// Evidence is left for a later turn.
        DeferRetrieval = "defer_retrieval",
        /// The compile fails.
        FailLoud = "fail_loud",
        /// The evidence is spread over several payloads.
        Paginate = "paginate",
    }
}

vocabulary! {
    /// The way in which the model gets a corpus: whole, or by retrieval.
    ContextMode ("context mode") {
        /// Whole where it fits well, else its most relevant documents, or retrieval.
        Auto = "auto",
        /// Whole, or the compile fails.
        Full = "full",
        /// None of it: the model asks for what it needs.
        Retrieve = "retrieve",
    }
}

vocabulary! {
    /// The source of relevance.
    Scorer ("scorer") {
        /// The built-in ranker, with vectors where there are any.
        Hybrid = "hybrid",
        /// The built-in ranker, by terms alone.
        Lexical = "lexical",
        /// Facts that someone else supplies.
        Supplied = "supplied",
    }
}

vocabulary! {
    /// The sign of personal data.
    PiiRule ("pii rule") {
        /// By the tag `pii`.
        Tagged = "tagged",
        /// Not at all.
        Off = "off",
    }
}

/// A policy as it is written.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Policy")]
pub struct PolicyDocument {
    /// The name that traces refer to.
    pub name: String,
    /// The version, as MAJOR.MINOR.PATCH.
    pub version: String,
    /// The order of the payload.
    pub order: Order,
    /// In registry order: where the task stands.
    pub task_position: TaskPosition,
    /// In registry order: whether to stop at the first block that does not fit.
    pub strict_stop: bool,
    /// True if sections open with a heading.
    pub headings: bool,
    /// True if the floor states the precedence in words.
    pub precedence: bool,
    /// The policy when not everything fits, by the class of the task.
    pub overflow: OverflowByClass,
    /// The most payloads that `paginate` may make.
    pub max_pages: u32,
    /// Under `cascade_compress`, data of more than this many tokens is condensed where it does not fit
    /// whole. 0: none is.
    pub condense_above: u32,
    /// The settings of the choice between the whole corpus and retrieval.
    pub context: ContextPolicy,
    /// The weight μ of a token's cost against its utility: a section's marginal utility must exceed μ · `cost`. 0:
    /// costs count for nothing.
    pub cost_sensitivity: f64,
    /// The source of relevance.
    pub scorer: Scorer,
    /// The weights of the built-in ranker.
    pub ranking: Ranking,
    /// The attachment of small units far from the task to objects that stand.
    pub rescue: Rescue,
    /// The similarity from which on one of two texts stands for both: from 0.5 to 1, or 0 for never. One flow in
    /// registry order knows no near-duplicates.
    pub near_duplicates: Score,
    /// The least relevance of files that were read as evidence without being retrieved, and of the bodies of skills.
    /// 0: none is needed.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub unasked_floor: Score,
    /// The effect of two claims on one single-valued slot of an entity that cannot both hold. A policy that does not
    /// say so, keeps both.
    #[serde(default = "kept", skip_serializing_if = "is_kept")]
    pub contradictions: Contradictions,
    /// The end of a dispute about an object that must stand, where nothing says which of two claims does.
    #[serde(default, skip_serializing_if = "DisputedRules::refuses")]
    pub disputed_rules: DisputedRules,
    /// The effect of a change on what was made from the changed object. A policy that does not say so, keeps it.
    #[serde(default = "made", skip_serializing_if = "is_made")]
    pub derived: Derived,
    /// The settings by which memory and guidance enter a payload.
    #[serde(default, skip_serializing_if = "Guidance::is_none")]
    pub guidance: Guidance,
    /// The sign of personal data.
    pub pii: PiiRule,
    /// Sections without which a payload is refused.
    pub required: Vec<Section>,
    /// The zone of each section, in order.
    pub layout: Layout,
    /// The least composite score of each grade.
    pub grades: Grades,
    /// The most tokens of one item.
    pub limits: Limits,
    /// The isolation that each mechanism gives data.
    pub isolation: Isolation,
    /// The form that answers are asked to have.
    #[serde(default, skip_serializing_if = "AnswersPolicy::is_off")]
    pub answers: AnswersPolicy,
    /// The limits of the payload's quality; none in policies from before there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<QualityPolicy>,
    /// The settings that keep the history of a session in its budget.
    #[serde(default)]
    pub session: SessionPolicy,
    /// The settings by which what stands grows stale.
    #[serde(default, skip_serializing_if = "HygienePolicy::is_off")]
    pub hygiene: HygienePolicy,
    /// The settings by which mentions are resolved to entities, as something is written.
    #[serde(default, skip_serializing_if = "EntityPolicy::is_default")]
    pub entities: EntityPolicy,
    /// Days in which freshness halves, by object type.
    pub half_life_days: BTreeMap<ObjectType, f64>,
    /// The freshness below which the retirement rule of an object runs that names none itself, by object type. A type that is
    /// not listed is not retired.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retire_below: BTreeMap<ObjectType, Score>,
    /// The settings of each section.
    pub sections: BTreeMap<Section, SectionPolicy>,
}

/// The zone of each section.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// Byte-stable within an epoch.
    pub floor: Vec<Section>,
    /// Append-only.
    pub history: Vec<Section>,
    /// The sections that each call adds.
    pub tail: Vec<Section>,
}

/// The policy when not everything fits, for each class of task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverflowByClass {
    /// Someone waits for the answer.
    pub interactive: Overflow,
    /// No one waits.
    pub batch: Overflow,
    /// A wrong answer does harm.
    pub safety_critical: Overflow,
}

/// Returns whether a floor is none. One that came later is left out then, so that an older policy has the digest that
/// it had.
fn is_nothing(floor: &Score) -> bool {
    *floor == Score::ZERO
}

/// The switch between a corpus, the documents in `codex`, as a whole and retrieval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextPolicy {
    /// The mode. A request may choose another.
    pub mode: ContextMode,
    /// For `auto`: the share of the window that the corpus must stay below.
    pub share: Score,
}

/// The attachment of small units, omitted because they are far from the task, to objects that stand: the weights of
/// the parts of their affinity, and its limits. One flow in registry order attaches nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rescue {
    /// The weight of the unit's nearness to the task.
    pub task: Score,
    /// The weight of the unit's nearness to the object that it is attached to.
    pub fit: Score,
    /// The weight of that object's nearness to the task.
    pub selected: Score,
    /// The weight of their being of one source.
    pub same: Score,
    /// The weight of the unit's speaking of what is being done.
    pub active: Score,
    /// The least affinity.
    pub least: Score,
    /// The most units that are attached. 0: none.
    pub most: u32,
    /// The most bytes of a unit.
    pub max_bytes: u32,
}

/// The least composite score of each grade.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grades {
    /// Of `critical`.
    pub critical: Score,
    /// Of `important`.
    pub important: Score,
    /// Of `useful`.
    pub useful: Score,
    /// Of `minimal`; below it an object is irrelevant.
    pub minimal: Score,
}

/// The most tokens of one item: more is refused, never cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Of an item at levels 0 to 3.
    pub user_tokens: u32,
    /// Of an item at level 4.
    pub data_tokens: u32,
}

/// The isolation that each mechanism gives: how well it keeps data from being read as instructions, from 0 to 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Isolation {
    /// No mechanism.
    pub none: Score,
    /// A frame with an unpredictable boundary.
    pub keyed_frame: Score,
    /// The provider's own tool message.
    pub tool_message: Score,
}

/// The settings of one section.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SectionPolicy {
    /// The relative importance w of the section: t tokens are worth w · α · ln(1 + (t − min) / β).
    pub weight: f64,
    /// The scale α of the utility.
    pub alpha: f64,
    /// The saturation β of the utility, in tokens.
    pub beta: f64,
    /// Tokens granted before anything is weighed.
    pub min: u32,
    /// The most tokens, or 0 for no limit.
    pub max: u32,
    /// The cost of a token relative to others, c: money, latency.
    pub cost: f64,
    /// The most of the section's allocation that one item may take before the others had their turn.
    pub item_share: Score,
    /// The least relevance.
    pub relevance_floor: Score,
    /// The least freshness.
    pub freshness_floor: Score,
    /// The least authority of the source.
    pub authority_floor: Score,
    /// The weights of the composite score.
    pub factors: Factors,
}

/// The weights of the factors of the composite score.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factors {
    /// The weight of its nearness to the task.
    pub relevance: Score,
    /// The weight of its source's quality.
    pub authority: Score,
    /// The weight of its newness.
    pub freshness: Score,
    /// The weight of its usefulness, as its author sees it.
    pub utility: Score,
    /// The weight of its cheapness.
    pub economy: Score,
    /// The weight of the confidence in it.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub confidence: Score,
}

/// The most payloads that a policy may let `paginate` make.
pub const MAX_PAGES: u32 = 256;

/// The built-in policies by name.
pub const PRESETS: [(&str, &str); 5] = [
    ("standard", include_str!("policies/standard.toml")),
    ("ordered", include_str!("policies/ordered.toml")),
    ("stable-floor", include_str!("policies/stable-floor.toml")),
    ("prefill", include_str!("policies/prefill.toml")),
    ("principle", include_str!("policies/principle.toml")),
];

/// A checked policy, with its digest and its tables laid out for the stages.
#[derive(Clone, Debug)]
pub struct Policy {
    document: PolicyDocument,
    digest: Digest,
    sections: [SectionPolicy; Section::COUNT],
    /// Each section's zone and its place in the payload.
    places: [(Zone, u8); Section::COUNT],
    frozen: [bool; Section::COUNT],
    templates: Templates,
}

impl Policy {
    /// The built-in policy of this name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when there is none; the nearest is offered.
    pub fn preset(name: &str) -> Result<Policy, Error> {
        // Each is read once: a server compiles under a preset thousands of times a second.
        static READ: [OnceLock<Policy>; PRESETS.len()] = [const { OnceLock::new() }; PRESETS.len()];
        let text = preset_text(name)?;
        let mut named = PRESETS.iter().zip(&READ);
        let kept = named.find_map(|((known, _), kept)| (*known == name).then_some(kept));
        if let Some(policy) = kept.and_then(OnceLock::get) {
            return Ok(policy.clone());
        }
        let policy = Policy::from_toml(text)?;
        Ok(match kept {
            Some(kept) => kept.get_or_init(|| policy).clone(),
            None => policy,
        })
    }

    /// A policy from TOML, over the defaults of `standard`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with the key and its line.
    pub fn from_toml(text: &str) -> Result<Policy, Error> {
        // The innermost part of the path that the text names.
        let located = |error: Error, path: &str| {
            let line = path.rsplit('.').find_map(|key| line_of(text, key));
            error.at("policy", line)
        };
        let mut changes: toml::Table = toml::from_str(text).map_err(|error| {
            let line = error
                .span()
                .map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            Error::input(error.message().trim()).at("policy", line)
        })?;
        let base = match changes.remove("extends") {
            None => PRESETS[0].1,
            Some(toml::Value::String(name)) => {
                preset_text(&name).map_err(|error| located(error, "extends"))?
            }
            Some(_) => {
                return Err(located(Error::input("`extends` is not a text"), "extends")
                    .expected("the name of a preset"));
            }
        };
        let parse = |text: &str| {
            toml::from_str::<toml::Table>(text)
                .map_err(|error| Error::assertion(format!("preset: {error}")))
        };
        let mut whole = parse(PRESETS[0].1)?;
        if base != PRESETS[0].1 {
            merge(&mut whole, parse(base)?, "").map_err(|(error, _)| error)?;
        }
        // One term stands for every class of task.
        if let Some(overflow @ toml::Value::String(_)) = changes.get("overflow") {
            let each = ["interactive", "batch", "safety_critical"]
                .map(|class| (class.to_owned(), overflow.clone()));
            changes.insert(
                "overflow".into(),
                toml::Value::Table(each.into_iter().collect()),
            );
        }
        merge(&mut whole, changes, "").map_err(|(error, key)| located(error, &key))?;
        let document: PolicyDocument = serde_path_to_error::deserialize(toml::Value::Table(whole))
            .map_err(|error| {
                let key = error.path().to_string();
                let mut ours = parse_error(error.inner().message());
                // A path without a key is `.`.
                if key != "." {
                    ours.what = format!("`{key}`: {}", ours.what);
                }
                located(ours, &key)
            })?;
        Policy::seal(document)
    }

    /// Checks a document and makes it a policy.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when a value makes no sense.
    pub fn seal(mut document: PolicyDocument) -> Result<Policy, Error> {
        if document.hygiene.is_off() {
            document.hygiene = HygienePolicy::default();
        }
        let bad = |what: String| {
            Err(Error::input(what).or_at(format!("policy `{}`", document.name), None))
        };
        let numbers: Vec<&str> = document.version.split('.').collect();
        if numbers.len() != 3 || numbers.iter().any(|number| number.parse::<u32>().is_err()) {
            return bad(format!(
                "version `{}` is not MAJOR.MINOR.PATCH",
                document.version
            ));
        }
        if let Err(error) = document.entities.weights.check() {
            return Err(error.or_at("entities.weights", None));
        }
        let mut places = [None; Section::COUNT];
        let layout = &document.layout;
        let zones = [
            (Zone::Floor, &layout.floor),
            (Zone::History, &layout.history),
            (Zone::Tail, &layout.tail),
        ];
        let listed = zones
            .iter()
            .flat_map(|(zone, sections)| sections.iter().map(move |section| (*zone, *section)));
        for (place, (zone, section)) in listed.enumerate() {
            if places[section.index()].is_some() {
                return bad(format!("the layout lists `{section}` twice"));
            }
            places[section.index()] = Some((zone, place as u8));
        }
        let mut sections = [None; Section::COUNT];
        for (section, settings) in &document.sections {
            let positive = |number: f64| number.is_finite() && number > 0.0;
            let weight = settings.weight.is_finite() && settings.weight >= 0.0;
            if !(weight && positive(settings.alpha) && positive(settings.beta)) {
                return bad(format!(
                    "`sections.{section}`: weight must be at least 0, alpha and beta above 0"
                ));
            }
            if !(settings.cost.is_finite() && settings.cost >= 0.0) {
                return bad(format!("`sections.{section}`: cost must be at least 0"));
            }
            if settings.max != 0 && settings.max < settings.min {
                return bad(format!(
                    "`sections.{section}`: max {} is below min {}",
                    settings.max, settings.min
                ));
            }
            sections[section.index()] = Some(*settings);
        }
        if document.half_life_days.values().any(|days| !(days.is_finite() && *days > 0.0)) {
            return bad("`half_life_days` must be above 0".to_owned());
        }
        if !(document.cost_sensitivity.is_finite() && document.cost_sensitivity >= 0.0) {
            return bad("`cost_sensitivity` must be at least 0".to_owned());
        }
        if !document.ranking.is_sound() {
            return bad("`ranking`: weights must be from 0 to 1000".to_owned());
        }
        if document.ranking.encoder.millionths() + document.ranking.beside.millionths() > 1_000_000
        {
            return bad("`ranking`: `encoder` and `beside` must not sum to more than 1".to_owned());
        }
        let Rescue {
            task,
            fit,
            selected,
            same,
            active,
            ..
        } = document.rescue;
        let weights = [task, fit, selected, same, active];
        if weights.iter().map(|weight| weight.millionths()).sum::<u32>() > 1_000_000 {
            return bad("the weights of `rescue` must not sum to more than 1".to_owned());
        }
        let near = document.near_duplicates;
        if near != Score::ZERO && near < Score::HALF {
            return bad("`near_duplicates` must be 0, or from 0.5 to 1".to_owned());
        }
        if !(1..=MAX_PAGES).contains(&document.max_pages) {
            return bad(format!("`max_pages` must be from 1 to {MAX_PAGES}"));
        }
        if document.sections.values().all(|settings| settings.weight == 0.0) {
            return bad("the weights of the sections sum to nothing".to_owned());
        }
        let OverflowByClass {
            interactive,
            batch,
            safety_critical,
        } = document.overflow;
        let walks = |overflow| matches!(overflow, Overflow::TruncateLowest | Overflow::FailLoud);
        if document.order == Order::Registry
            && ![interactive, batch, safety_critical].into_iter().all(walks)
        {
            return bad(
                "`overflow`: one flow in registry order knows truncate_lowest and fail_loud"
                    .to_owned(),
            );
        }
        if let Some(fault) = document.quality.as_ref().and_then(QualityPolicy::fault) {
            return bad(fault.to_owned());
        }
        if let Some(fault) = document.session.fault() {
            return bad(fault.to_owned());
        }
        let templates = Templates::read(&document.guidance.templates)
            .map_err(|error| error.or_at(format!("policy `{}`", document.name), None))?;
        if let Some(fault) = document.hygiene.fault() {
            return bad(fault);
        }
        let grades = &document.grades;
        if !(grades.critical >= grades.important
            && grades.important >= grades.useful
            && grades.useful >= grades.minimal)
        {
            return bad("`grades` must fall from critical to minimal".to_owned());
        }
        let mut sealed_places = [(Zone::Tail, 0); Section::COUNT];
        let Some(default_settings) = sections.iter().flatten().next().copied() else {
            return bad("`sections` is empty".to_owned());
        };
        let mut sealed_sections = [default_settings; Section::COUNT];
        for section in Section::ALL {
            match (places[section.index()], sections[section.index()]) {
                (Some(place), Some(settings)) => {
                    sealed_places[section.index()] = place;
                    sealed_sections[section.index()] = settings;
                }
                (None, _) => return bad(format!("the layout does not list `{section}`")),
                (_, None) => return bad(format!("`sections.{section}` is missing")),
            }
        }
        let json = serde_json::to_vec(&document).map_err(|error| {
            Error::input(format!("the policy cannot be written as JSON: {error}"))
        })?;
        let mut frozen = [false; Section::COUNT];
        if document.order == Order::Sections {
            let stable = document.layout.floor.iter();
            for section in stable.take_while(|section| section.is_freezable()) {
                frozen[section.index()] = true;
            }
        }
        Ok(Policy {
            digest: Digest::of(&json),
            document,
            sections: sealed_sections,
            places: sealed_places,
            frozen,
            templates,
        })
    }

    /// The policy as it is written.
    pub fn document(&self) -> &PolicyDocument {
        &self.document
    }

    /// The digest of all of it.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The settings of a section.
    pub fn section(&self, section: Section) -> &SectionPolicy {
        &self.sections[section.index()]
    }

    /// The zone a section stands in.
    pub fn zone(&self, section: Section) -> Zone {
        self.places[section.index()].0
    }

    /// Returns whether an epoch freezes what stands in this section: it does for the sections that open the floor, up
    /// to the first that changes with each call. One flow in registry order has none.
    pub fn freezes(&self, section: Section) -> bool {
        self.frozen[section.index()]
    }

    /// Returns the policy when not everything of a task of this class fits.
    pub fn overflow(&self, class: TaskClass) -> Overflow {
        let OverflowByClass {
            interactive,
            batch,
            safety_critical,
        } = self.document.overflow;
        match class {
            TaskClass::SafetyCritical => safety_critical,
            TaskClass::Batch => batch,
            TaskClass::Interactive => interactive,
        }
    }

    /// Returns what follows from a fact in this type of task, by the user's template for it; nothing where there is none, or
    /// where it writes nothing.
    ///
    /// # Errors
    ///
    /// In words, why the template failed.
    pub(crate) fn guided(
        &self,
        task_type: TaskType,
        object: &ContextObject,
        claim: &WrittenClaim<'_>,
    ) -> Result<Option<String>, String> {
        if !self.document.guidance.templates.contains_key(&task_type) {
            return Ok(None);
        }
        let revision = object.revision();
        let implication = revision.rare().behavioral_implication.as_deref();
        let told = Told {
            task_type: task_type.term(),
            name: object.name(),
            object_type: revision.object_type().term(),
            claim: &claim.to_string(),
            slot: &claim.slot,
            op: claim.op.term(),
            value: &claim.plain_value(),
            implication: implication.unwrap_or_default(),
            why: revision.why_it_matters().unwrap_or_default(),
        };
        self.templates.render(task_type, told)
    }

    /// The place of a section in the payload, from the front.
    pub fn place(&self, section: Section) -> u8 {
        self.places[section.index()].1
    }

    /// The most tokens that one item of this authority may have.
    pub fn limit(&self, authority: Authority) -> u32 {
        match authority {
            Authority::Data => self.document.limits.data_tokens,
            _ => self.document.limits.user_tokens,
        }
    }
}

/// The text of the built-in policy of this name.
fn preset_text(name: &str) -> Result<&'static str, Error> {
    let found = PRESETS.iter().find(|(known, _)| *known == name);
    let names = PRESETS.iter().map(|(known, _)| *known);
    found
        .map(|(_, text)| *text)
        .ok_or_else(|| unknown_name("policy preset", name, names))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::ranker::Weights;

    #[test]
    fn presets_are_sound_and_differ() {
        let mut digests: Vec<Digest> =
            PRESETS.iter().map(|(name, _)| Policy::preset(name).unwrap().digest()).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), PRESETS.len());
        let error = Policy::preset("standart").unwrap_err(); // spellchecker:disable-line
        assert_eq!(error.hint.as_deref(), Some("did you mean `standard`?"));
    }

    #[test]
    fn the_settings_of_sessions_are_those_of_the_preset() {
        let standard = Policy::preset("standard").unwrap();
        assert_eq!(standard.document().session, Default::default());
    }

    #[test]
    fn a_policy_names_only_what_it_changes() {
        let policy = Policy::from_toml("name = \"mine\"\n[sections.memory]\nmax = 900\n").unwrap();
        assert_eq!(policy.section(Section::Memory).max, 900);
        assert_eq!(policy.section(Section::Memory).beta, 1024.0);
        assert_eq!(policy.zone(Section::Task), Zone::Tail);
    }

    #[test]
    fn the_presets_rank_as_the_ranker_does_by_itself() {
        for (name, _) in PRESETS {
            let policy = Policy::preset(name).unwrap();
            assert_eq!(policy.document().ranking.weights(), Weights::default());
        }
    }

    #[test]
    fn a_policy_that_was_written_before_a_floor_came_has_its_digest() {
        let ordered = Policy::preset("ordered").unwrap();
        let written = serde_json::to_value(ordered.document()).unwrap();
        assert!(written.get("unasked_floor").is_none());
        assert_eq!(
            written["guidance"],
            serde_json::json!({ "critical": Score::new(0.8) })
        );
        assert!(written["sections"]["memory"]["factors"].get("confidence").is_none());
        let read: PolicyDocument = serde_json::from_value(written).unwrap();
        assert_eq!(Policy::seal(read).unwrap().digest(), ordered.digest());
        let standard = Policy::preset("standard").unwrap();
        assert_eq!(standard.document().unasked_floor, Score::HALF);
        let mut older = serde_json::to_value(standard.document()).unwrap();
        let said = older.as_object_mut().unwrap().remove("contradictions");
        assert_eq!(said, Some("settle".into()));
        let said = older.as_object_mut().unwrap().remove("derived");
        assert_eq!(said, Some("follow".into()));
        let older: PolicyDocument = serde_json::from_value(older).unwrap();
        assert_eq!(
            (older.contradictions, older.derived),
            (Contradictions::Keep, Derived::Keep)
        );
        assert_ne!(Policy::seal(older).unwrap().digest(), standard.digest());
        // One that was kept before there was any of it has none of it, whatever the preset says now.
        let mut kept = serde_json::to_value(standard.document()).unwrap();
        kept.as_object_mut().unwrap().remove("guidance");
        let kept: PolicyDocument = serde_json::from_value(kept).unwrap();
        assert_eq!(kept.guidance, Guidance::default());
        assert_eq!(kept.guidance.near, Score::ZERO);
    }

    #[test]
    fn hygiene_is_policy_data_and_one_without_it_has_its_digest() {
        let standard = Policy::preset("standard").unwrap();
        let hygiene = &standard.document().hygiene;
        let rate = |decay: Option<&Decay>| match decay {
            Some(Decay::Exponential { gamma, .. }) => *gamma,
            other => panic!("{other:?}"),
        };
        assert_eq!(rate(hygiene.decay.get(&ObjectType::ToolResult)), 0.3);
        assert_eq!(rate(hygiene.correction.as_ref()), 0.05);
        let off = Policy::from_toml("[hygiene]\nwatch = false\n").unwrap();
        let written = serde_json::to_value(off.document()).unwrap();
        assert!(written.get("hygiene").is_none());
        let read: PolicyDocument = serde_json::from_value(written).unwrap();
        assert_eq!(Policy::seal(read).unwrap().digest(), off.digest());
        let mine = "[hygiene.decay]\ntool_result = { form = \"step\", turns = 2, delta = 0.2 }\n";
        let mine = Policy::from_toml(mine).unwrap();
        let step = mine.document().hygiene.decay.get(&ObjectType::ToolResult);
        assert!(
            matches!(step, Some(Decay::Step { turns: 2, .. })),
            "{step:?}"
        );
        for name in ["ordered", "stable-floor", "prefill"] {
            assert!(
                !Policy::preset(name).unwrap().document().hygiene.watch,
                "{name}"
            );
        }
    }

    #[test]
    fn mistakes_name_the_key_and_its_line() {
        let check = |text: &str, what: &str, line: Option<usize>| {
            let error = Policy::from_toml(text).unwrap_err();
            assert!(error.to_string().contains(what), "{error}");
            assert_eq!(error.at.and_then(|at| at.line), line, "{text}");
        };
        check(
            "name = \"x\"\nheadngs = true\n",
            "did you mean `headings`?",
            Some(2),
        );
        check(
            "[sections.memory]\nwieght = 1.0\n",
            "did you mean `weight`?",
            Some(2),
        );
        check(
            "[grades]\nminimal = 7.0\n",
            "not a number from 0 to 1",
            Some(2),
        );
        check("order = \"by-size\"\n", "unknown term `by-size`", Some(1));
        check("name = \n", "", Some(1));
        check("version = \"1\"\n", "MAJOR.MINOR.PATCH", None);
        check(
            "[layout]\ntail = [\"evidence\", \"recall\", \"task\"]\n",
            "does not list `query`",
            None,
        );
        check(
            "[sections.memory]\ncost = nan\n",
            "cost must be at least 0",
            None,
        );
        check(
            "[sections.memory]\nalpha = nan\n",
            "alpha and beta above 0",
            None,
        );
        check(
            "[sections.memory]\nmin = 9\nmax = 8\n",
            "max 8 is below min 9",
            None,
        );
        check(
            "cost_sensitivity = -1.0\n",
            "`cost_sensitivity` must be at least 0",
            None,
        );
        for weight in ["-1.0", "nan", "inf"] {
            let text = format!("[ranking]\nname = {weight}\n");
            check(&text, "`ranking`: weights must be from 0 to 1000", None);
        }
        let heavy = "[rescue]\ntask = 1.0\nfit = 1.0\n";
        check(heavy, "`rescue` must not sum to more than 1", None);
        check("max_pages = 0\n", "from 1 to 256", None);
        check("near_duplicates = 0.4\n", "0, or from 0.5 to 1", None);
        check("overflow = \"drop\"\n", "unknown term `drop`", Some(1));
        check(
            "[overflow]\nbatched = \"fail_loud\"\n",
            "did you mean `batch`?",
            Some(2),
        );
        check(
            "[hygiene.decay]\ntool_result = { form = \"exponential\", gamma = -0.3 }\n",
            "`hygiene`, tool_result: gamma must be at least 0",
            None,
        );
        check(
            "[hygiene]\ncorrection = { form = \"sigmoid\", half_life = -1, kappa = 1.0 }\n",
            "`hygiene`, correction: half_life and kappa must be at least 0",
            None,
        );
        check(
            "[context]\nshare = 1.5\n",
            "not a number from 0 to 1",
            Some(2),
        );
        check(
            "extends = \"ordered\"\noverflow = \"paginate\"\n",
            "one flow in registry order",
            None,
        );
        let weightless = Section::ALL
            .iter()
            .map(|section| format!("[sections.{section}]\nweight = 0.0\n"));
        check(&weightless.collect::<String>(), "sum to nothing", None);
        check(
            "[sections.memory]\nbeta = 0.0\n",
            "alpha and beta above 0",
            None,
        );
    }
}
