//! The published forms of packages: what one holds, whence each item is, and what is said of an activation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::labels::LabelRule;
use super::unit::UnitKind;
use crate::base::digest::Digest;
use crate::base::error::Error;
use crate::base::json::from_json;
use crate::base::num::Score;
use crate::base::text::examine;
use crate::base::time::Instant;
use crate::object::check_name;
use crate::object::vocabulary::vocabulary;

/// The version of a package's form.
pub const PACKAGE_VERSION: u32 = 1;
/// The beginning of a package's id.
pub const PACKAGE_ID: &str = "memory:package:";
/// The beginning of an activation's id.
pub const ACTIVATION_ID: &str = "memory:activation:";
/// The most items of a package, and the most bytes of their texts.
pub const MOST_ITEMS: usize = 10_000;
/// The most bytes of the texts of a package's items.
pub const MOST_BYTES: usize = 64 << 20;

vocabulary! {
    /// The engine that finds units.
    Engine ("engine") {
        /// Selectors.
        Selector = "selector",
        /// Search by words.
        Search = "search",
        /// JSONPath.
        Jsonpath = "jsonpath",
    }
}

vocabulary! {
    /// The reason why something is not among the items of a package.
    CutReason ("cut reason") {
        /// The package holds as many items as it may.
        MaxItems = "max_items",
        /// It would take more tokens than the package may.
        MaxTokens = "max_tokens",
        /// An item holds it already.
        Contained = "contained",
    }
}

vocabulary! {
    /// The state of an item's source beside the item.
    Standing ("standing") {
        /// Equal text at the same place.
        Same = "same",
        /// Equal text at another place.
        Moved = "moved",
        /// Another text.
        Changed = "changed",
        /// It is not there any more.
        Gone = "gone",
    }
}

/// The coordinates of working memory. What is missing is not narrowed.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryNamespace {
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Further coordinates, by names of one's own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub custom: BTreeMap<String, String>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<String>,
    /// The user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl MemoryNamespace {
    /// The namespace that a target such as `thread:wp-0008` names. Another word than the five is a coordinate of one's own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when it is not `WORD:NAME`.
    ///
    /// ```
    /// use tenure::package::MemoryNamespace;
    /// let target = MemoryNamespace::target("thread:wp-0008")?;
    /// assert_eq!(target.thread.as_deref(), Some("wp-0008"));
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn target(text: &str) -> Result<MemoryNamespace, Error> {
        let pair = text.split_once(':').filter(|(word, name)| !word.is_empty() && !name.is_empty());
        let Some((word, name)) = pair else {
            return Err(Error::input(format!("`{text}` is no target"))
                .expected("`thread:NAME`, `task:NAME`, `project:NAME`, `user:NAME`, `agent:NAME` or `WORD:NAME`"));
        };
        let mut target = MemoryNamespace::default();
        let name = name.to_owned();
        match word {
            "agent" => target.agent = Some(name),
            "project" => target.project = Some(name),
            "task" => target.task = Some(name),
            "thread" => target.thread = Some(name),
            "user" => target.user = Some(name),
            other => {
                target.custom.insert(other.to_owned(), name);
            }
        }
        Ok(target)
    }

    /// This namespace, narrowed by another.
    #[must_use]
    pub fn narrowed(&self, by: &MemoryNamespace) -> MemoryNamespace {
        let pick =
            |own: &Option<String>, other: &Option<String>| other.clone().or_else(|| own.clone());
        let mut custom = self.custom.clone();
        custom.extend(by.custom.clone());
        MemoryNamespace {
            agent: pick(&self.agent, &by.agent),
            project: pick(&self.project, &by.project),
            task: pick(&self.task, &by.task),
            thread: pick(&self.thread, &by.thread),
            user: pick(&self.user, &by.user),
            custom,
        }
    }
}

/// The place that an item is from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceSpan {
    /// Its bytes in the file: the first, and the one behind.
    pub bytes: (u64, u64),
    /// The digest of its text, with plain newlines.
    pub digest: Digest,
    /// The engine that found it.
    pub engine: Engine,
    /// Its first line and its last.
    pub lines: (u32, u32),
    /// The path of its file, relative to the root.
    pub path: String,
    /// The query that found it.
    pub selector: String,
    /// The id of the state of the file that was read.
    pub snapshot_id: String,
    /// Its number among the units of its kind in the file, from 0.
    pub unit_index: u32,
    /// The kind of the unit.
    pub unit_kind: UnitKind,
}

/// The policy of an item as it was when it was packed: it holds at every activation, beside what holds then.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ItemPolicy {
    /// The labels of its document.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// The rules that the labels stood for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<LabelRule>,
}

/// One item of working memory.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextPackageItem {
    /// Further properties: the level of its heading, its language, the claims of its document.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// Its headings, the outermost first, or its name.
    pub name: String,
    /// Its policy when it was packed.
    #[serde(default)]
    pub policy: ItemPolicy,
    /// The place that it is from.
    pub provenance: SourceSpan,
    /// Its text in a few sentences, as the distiller has it; none of a text that is short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Its text, with plain newlines.
    pub text: String,
    /// The tokens of its text for the model of the budget.
    pub tokens: u32,
}

impl ContextPackageItem {
    /// The key by which it is known in another version: its file, its kind, and its headings.
    pub fn key(&self) -> (&str, UnitKind, &str) {
        (&self.provenance.path, self.provenance.unit_kind, &self.name)
    }
}

/// A query that can be asked again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetrievalRecipe {
    /// The engine; the kind, when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<Engine>,
    /// The kind of the query.
    pub kind: Engine,
    /// The most units that it finds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Files and folders of the index to which it is narrowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The query.
    pub query: String,
    /// Files that are read without an index, relative to the root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The encoder whose vectors rank a search beside its words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vectors: Option<RecipeVectors>,
}

/// An encoder that a recipe depends on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecipeVectors {
    /// Identifies it: another digest is another encoder.
    pub digest: Digest,
    /// Its name, for people.
    pub model: String,
}

/// A summary of a whole package.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryLayer {
    /// The method: `distilled`, or that of whoever supplied it.
    pub method: String,
    /// The share of the tokens that it aims at.
    pub ratio: Score,
    /// The summary.
    pub text: String,
    /// Its tokens.
    pub tokens: u32,
}

/// The room of a package.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ContextBudget {
    /// The most items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u32>,
    /// The most tokens of all texts together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// The model whose tokens are counted. Default: `gpt-4o`.
    pub model: String,
    /// Tokens of `max_tokens` that stay free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<u32>,
}

impl Default for ContextBudget {
    fn default() -> ContextBudget {
        ContextBudget {
            max_items: None,
            max_tokens: None,
            model: "gpt-4o".to_owned(),
            reserve: None,
        }
    }
}

/// A unit that was found and is no item.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CutItem {
    /// Its lines.
    pub lines: (u32, u32),
    /// Its headings or its name.
    pub name: String,
    /// Its file.
    pub path: String,
    /// The reason.
    pub reason: CutReason,
    /// Its tokens.
    pub tokens: u32,
}

/// The needs of whoever receives a package.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Capabilities {
    /// The engines that its recipes ask for. To activate it, none is needed.
    pub engines: Vec<Engine>,
    /// Features of a build that refreshing it needs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// The kinds of its units.
    pub units: Vec<UnitKind>,
}

/// The time for which a package is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Retention {
    /// The instant from which it is not activated any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Instant>,
    /// The instant from which somebody is asked to look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub review: Option<Instant>,
}

/// A portable package of working memory. Its id is the digest of its canonical JSON, so it holds no instant but those
/// that its owner names, and no path but those below the root.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextPackage {
    /// The room that it was packed for.
    #[serde(default)]
    pub budget: ContextBudget,
    /// The needs of its receiver.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// The units that were found and are no items.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut: Vec<CutItem>,
    /// Remarks for its reader.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<String>,
    /// Its use, in a sentence.
    #[serde(default)]
    pub intent: String,
    /// The items, in the order of the recipes and then of their rank.
    pub items: Vec<ContextPackageItem>,
    /// The packages that it was merged from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged_from: Vec<String>,
    /// The name under which its versions follow each other.
    pub name: String,
    /// Its coordinates.
    #[serde(default)]
    pub namespace: MemoryNamespace,
    /// The queries that it was made by, which a refresh asks again.
    #[serde(default)]
    pub retrieval_recipes: Vec<RetrievalRecipe>,
    /// The time for which it is kept.
    #[serde(default)]
    pub retention: Retention,
    /// True if a new version needs somebody's assent: for principles and norms, which should not drift.
    #[serde(default)]
    pub reviewed: bool,
    /// Summaries of the whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summary_layers: Vec<SummaryLayer>,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// The version of this form.
    pub version: u32,
}

impl ContextPackage {
    /// The canonical JSON: keys in their order, no white space.
    ///
    /// # Errors
    ///
    /// None: every package can be written.
    pub fn canonical(&self) -> Result<String, Error> {
        // A map of JSON values has its keys in order.
        let value = serde_json::to_value(self)
            .map_err(|error| Error::assertion(format!("a package is JSON: {error}")))?;
        Ok(value.to_string())
    }

    /// The id: the digest of the canonical JSON.
    ///
    /// # Errors
    ///
    /// As [`ContextPackage::canonical`].
    pub fn id(&self) -> Result<String, Error> {
        let digest = Digest::of(self.canonical()?.as_bytes()).to_string();
        let hex = digest.strip_prefix("sha256:").unwrap_or(&digest);
        Ok(format!("{PACKAGE_ID}{hex}"))
    }

    /// The tokens of all texts.
    pub fn tokens(&self) -> u32 {
        self.items.iter().fold(0, |sum, item| item.tokens.saturating_add(sum))
    }

    /// Checks the name, as names of objects are checked, and further that nothing in it is hidden and that it is no path and no id: it is typed
    /// where these are, too. A package that is kept under another name can still be read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with what the name must not have.
    pub fn check_name(name: &str) -> Result<(), Error> {
        const EXPECTED: &str = "1 to 256 bytes that are seen, without `/` and `\\`, and no id";
        let refused = |what: &str| {
            let shown: String = super::clip(name).escape_debug().collect();
            let what = format!("`{shown}` is no name of a package: {what}");
            Err(Error::input(what).expected(EXPECTED))
        };
        if name.trim().is_empty() {
            return Err(Error::input("a package needs a name").expected(EXPECTED));
        }
        if examine(name).is_some() {
            return refused("it holds a hidden character");
        }
        if name.trim() != name {
            return refused("it begins or ends with a space");
        }
        if name.contains(['/', '\\']) || name == "." || name == ".." {
            return refused("it is a path");
        }
        if name.starts_with(PACKAGE_ID) || name.starts_with(ACTIVATION_ID) {
            return refused("it begins as an id does");
        }
        check_name(name).map_err(|error| error.expected(EXPECTED))
    }

    /// Checks what came from outside: its version, its size, its paths, and that each text is the one that its place says.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) for another version, [`ErrorKind::Damaged`](crate::ErrorKind::Damaged)
    /// for what does not fit together.
    pub fn check(&self) -> Result<(), Error> {
        let damaged = |what: String| {
            Error::new(crate::ErrorKind::Damaged, what)
                .hint("ask its sender for it again, or pack it anew")
        };
        if self.version != PACKAGE_VERSION {
            return Err(
                Error::input(format!("the package has version {}", self.version))
                    .expected(format!("version {PACKAGE_VERSION}"))
                    .hint("a newer tenure may read it"),
            );
        }
        let bytes: usize = self.items.iter().map(|item| item.text.len()).sum();
        if self.items.len() > MOST_ITEMS || bytes > MOST_BYTES {
            return Err(Error::input("the package is too large").expected(format!(
                "at most {MOST_ITEMS} items and {} MiB",
                MOST_BYTES >> 20
            )));
        }
        for item in &self.items {
            let span = &item.provenance;
            let is_relative =
                span.path.split('/').all(|part| !part.is_empty() && part != "." && part != "..")
                    && !span.path.contains(['\\', '\0'])
                    && !span.path.contains(char::is_control);
            if !is_relative {
                return Err(damaged(format!(
                    "an item names the path `{}`",
                    super::clip(&span.path)
                ))
                .expected("a path below the root"));
            }
            if Digest::of(item.text.as_bytes()) != span.digest {
                return Err(damaged(format!(
                    "the text of `{}` is not the one that its digest names",
                    super::clip(&item.name)
                )));
            }
        }
        if !self.merged_from.is_empty() && self.merged_from.contains(&self.id()?) {
            Err(damaged("the package was merged from itself".to_owned()))
        } else {
            Ok(())
        }
    }
}

/// A package as it lies in a file: with its id, so that a change of it is seen.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PackageEnvelope {
    /// The id.
    pub id: String,
    /// The package.
    pub package: ContextPackage,
}

impl PackageEnvelope {
    /// A package with its id.
    ///
    /// # Errors
    ///
    /// As [`ContextPackage::id`].
    pub fn of(package: ContextPackage) -> Result<PackageEnvelope, Error> {
        Ok(PackageEnvelope {
            id: package.id()?,
            package,
        })
    }

    /// Reads an envelope and checks all of it. One of another version, or with a field that this one does not have, is refused before
    /// its items are looked at.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged) when it is not what its id names; as [`ContextPackage::check`].
    pub fn read(text: &str, source: &str) -> Result<PackageEnvelope, Error> {
        check_version(from_json::<Versioned>(text, source)?, source)?;
        from_json::<Outline>(text, source)?;
        from_json::<PackageEnvelope>(text, source)?.verified(source)
    }

    /// Refuses an envelope of another version, and one with a field that this version does not have, without a look at its items.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with both versions, or with the field.
    pub fn check_outline(known: &Value, source: &str) -> Result<(), Error> {
        // What is no package at all is told by whoever reads it whole.
        check_version(Versioned::deserialize(known).unwrap_or_default(), source)?;
        Outline::deserialize(known)
            .map(|_| ())
            .map_err(|error| crate::base::error::json_error(&error, source))
    }

    /// Like `check_outline`, once all of it was checked.
    ///
    /// # Errors
    ///
    /// As [`PackageEnvelope::read`].
    pub fn verified(self, source: &str) -> Result<PackageEnvelope, Error> {
        let id = self.package.id()?;
        if id != self.id {
            return Err(Error::new(
                crate::ErrorKind::Damaged,
                "the package is not the one that its id names",
            )
            .at(source, None)
            .expected(id)
            .hint("ask its sender for it again"));
        }
        self.package.check().map_err(|error| error.or_at(source, None))?;
        Ok(self)
    }
}

/// The version of an envelope, whatever else it holds.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Versioned {
    package: Option<VersionedPackage>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct VersionedPackage {
    version: Value,
}

fn check_version(read: Versioned, source: &str) -> Result<(), Error> {
    match read.package.and_then(|package| package.version.as_u64()) {
        Some(version) if version != u64::from(PACKAGE_VERSION) => {
            Err(Error::input(format!("the package has version {version}"))
                .at(source, None)
                .expected(format!("version {PACKAGE_VERSION}")))
        }
        _ => Ok(()),
    }
}

/// The fields of an envelope without their values. A test holds it to be those of [`PackageEnvelope`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Outline {
    #[serde(rename = "id")]
    _id: IgnoredAny,
    #[serde(rename = "package")]
    _package: PackageOutline,
}

/// The fields of [`ContextPackage`] without their values.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
#[allow(dead_code, reason = "their names are read, and nothing else")]
struct PackageOutline {
    budget: IgnoredAny,
    capabilities: IgnoredAny,
    cut: IgnoredAny,
    diagnostics: IgnoredAny,
    intent: IgnoredAny,
    items: IgnoredAny,
    merged_from: IgnoredAny,
    name: IgnoredAny,
    namespace: IgnoredAny,
    retrieval_recipes: IgnoredAny,
    retention: IgnoredAny,
    reviewed: IgnoredAny,
    summary_layers: IgnoredAny,
    title: IgnoredAny,
    version: IgnoredAny,
}

/// The result of the policy checks of an activation, as its caller may see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyResults {
    /// The items that were checked.
    pub checked: u32,
    /// Those that the caller may not read.
    pub withheld: u32,
}

/// An activation, or its end.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextActivation {
    /// True while it claims its place.
    pub active: bool,
    /// The Markdown; empty once it has ended.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// Its id: the same package for the same target and caller has the same.
    pub id: String,
    /// Its coordinates: those of the package, narrowed by the target.
    #[serde(default)]
    pub namespace: MemoryNamespace,
    /// The package.
    pub package: String,
    /// The result of the policy checks.
    #[serde(default)]
    pub policy_results: PolicyResults,
    /// The target, as it was named.
    #[serde(default)]
    pub target: String,
    /// The tokens of the Markdown.
    #[serde(default)]
    pub tokens: u32,
    /// Remarks for its reader, such as that sources have changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_packages_are_checked_as_names_are() {
        for good in ["decisions", "Größe 2", "a.b", "a:b", "日本語"] {
            assert!(ContextPackage::check_name(good).is_ok(), "{good}");
        }
        for (bad, what) in [
            ("", "needs a name"),
            ("  ", "needs a name"),
            ("a\u{200b}b", "hidden character"),
            ("a\u{202e}b", "hidden character"),
            ("a\u{e0041}", "hidden character"),
            ("a\nb", "control character"),
            ("a/b", "is a path"),
            ("..", "is a path"),
            ("a\\b", "is a path"),
            (" a", "a space"),
            ("memory:package:00", "an id does"),
        ] {
            let error = ContextPackage::check_name(bad).unwrap_err().to_string();
            assert!(
                error.contains(what) && error.contains("expected"),
                "{bad:?}: {error}"
            );
        }
        assert!(ContextPackage::check_name(&"n".repeat(257)).is_err());
    }

    #[test]
    fn an_unknown_field_is_refused_before_the_items_are_parsed() {
        // The items are none: whoever parses them says so.
        let package = |more: &str| {
            format!(
                r#"{{"id":"x","package":{{"items":[{{"no":"item"}}],"name":"n",{more}"version":1}}}}"#
            )
        };
        let told = |text: &str| PackageEnvelope::read(text, "p.json").unwrap_err().to_string();
        assert!(
            told(&package("")).contains("items[0]"),
            "{}",
            told(&package(""))
        );
        let text = package(r#""expired":false,"#);
        assert!(
            told(&text).contains("unknown field `expired`"),
            "{}",
            told(&text)
        );
        let value: Value = serde_json::from_str(&text).unwrap();
        let error = PackageEnvelope::check_outline(&value, "package").unwrap_err();
        assert!(error.what.contains("unknown field `expired`"), "{error}");
        // Another version may have other fields.
        assert!(told(&text.replace(r#""version":1"#, r#""version":2"#)).contains("version 2"));
        // A field that stands twice says two things.
        assert!(told(&package(r#""name":"m","#)).contains("duplicate"));
    }

    #[test]
    fn the_outline_has_the_fields_of_a_package() {
        let fields = |schema: &Value, of: &str| -> Vec<String> {
            let found = schema.pointer(of).and_then(Value::as_object).unwrap();
            found.keys().cloned().collect()
        };
        let schema = serde_json::to_value(schemars::schema_for!(PackageEnvelope)).unwrap();
        let known = fields(&schema, "/$defs/ContextPackage/properties");
        let whole: Map<String, Value> =
            known.iter().map(|field| (field.clone(), Value::Null)).collect();
        let read = PackageOutline::deserialize(Value::Object(whole)).map(|_| ());
        assert!(read.is_ok(), "{read:?}");
        assert_eq!(fields(&schema, "/properties"), ["id", "package"]);
        let unknown = serde_json::json!({"none_of_ours": 1});
        let told = PackageOutline::deserialize(unknown).map(|_| ()).unwrap_err().to_string();
        assert_eq!(told.matches('`').count() / 2 - 1, known.len(), "{told}");
    }
}
