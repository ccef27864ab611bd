//! Changes between two packages, and two packages as one.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::form::*;
use super::pack::{capabilities, layers};
use super::unit::UnitKind;
use crate::base::error::Error;
use crate::base::tokenizer::Tokenizer;

/// A first line and a last one.
type LineSpan = (u32, u32);

/// A change of one item.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct ItemChange {
    /// Its file.
    pub path: String,
    /// The kind of its unit.
    pub kind: UnitKind,
    /// Its headings.
    pub name: String,
    /// The lines that it had, and has.
    pub lines: (Option<LineSpan>, Option<LineSpan>),
    /// The tokens that it had, and has.
    pub tokens: (u32, u32),
}

/// The difference of two packages, item by item.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
pub struct PackageDiff {
    /// Items of the second alone.
    pub added: Vec<ItemChange>,
    /// Items whose text differs.
    pub changed: Vec<ItemChange>,
    /// Items that stand at other lines.
    pub moved: Vec<ItemChange>,
    /// Items of the first alone.
    pub removed: Vec<ItemChange>,
    /// The number of those that are the same.
    pub same: usize,
    /// Other properties that differ, such as `budget`.
    pub fields: Vec<&'static str>,
}

impl PackageDiff {
    /// Returns whether nothing differs.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty()
            && self.changed.is_empty()
            && self.moved.is_empty()
            && self.removed.is_empty()
            && self.fields.is_empty()
    }
}

/// A key of an item: what it is known by, and its number among those with the same.
type Key<'p> = (&'p str, UnitKind, &'p str, usize);

fn keyed(package: &ContextPackage) -> Vec<(Key<'_>, &ContextPackageItem)> {
    let mut times: BTreeMap<(&str, UnitKind, &str), usize> = BTreeMap::new();
    let keyed = package.items.iter().map(|item| {
        let (path, kind, name) = item.key();
        let time = times.entry((path, kind, name)).or_default();
        *time += 1;
        ((path, kind, name, *time), item)
    });
    keyed.collect()
}

fn change(
    before: Option<&ContextPackageItem>,
    after: Option<&ContextPackageItem>,
) -> Option<ItemChange> {
    let any = after.or(before)?;
    let lines = |item: Option<&ContextPackageItem>| item.map(|item| item.provenance.lines);
    let tokens = |item: Option<&ContextPackageItem>| item.map_or(0, |item| item.tokens);
    Some(ItemChange {
        path: any.provenance.path.clone(),
        kind: any.provenance.unit_kind,
        name: any.name.clone(),
        lines: (lines(before), lines(after)),
        tokens: (tokens(before), tokens(after)),
    })
}

/// Compares two packages.
pub fn diff(before: &ContextPackage, after: &ContextPackage) -> PackageDiff {
    let (old, new) = (keyed(before), keyed(after));
    let known: BTreeMap<Key<'_>, &ContextPackageItem> = old.iter().copied().collect();
    let now: BTreeMap<Key<'_>, &ContextPackageItem> = new.iter().copied().collect();
    let mut diff = PackageDiff::default();
    for (key, item) in &new {
        let before = known.get(key).copied();
        match before {
            None => diff.added.extend(change(None, Some(item))),
            Some(old) if old.provenance.digest != item.provenance.digest => {
                diff.changed.extend(change(Some(old), Some(item)));
            }
            Some(old) if old.provenance.lines != item.provenance.lines => {
                diff.moved.extend(change(Some(old), Some(item)));
            }
            Some(_) => diff.same += 1,
        }
    }
    let gone = old.iter().filter(|(key, _)| !now.contains_key(key));
    diff.removed.extend(gone.filter_map(|(_, item)| change(Some(item), None)));
    let fields = [
        ("budget", before.budget != after.budget),
        ("intent", before.intent != after.intent),
        ("name", before.name != after.name),
        ("namespace", before.namespace != after.namespace),
        ("retention", before.retention != after.retention),
        (
            "retrieval_recipes",
            before.retrieval_recipes != after.retrieval_recipes,
        ),
        ("reviewed", before.reviewed != after.reviewed),
        ("title", before.title != after.title),
    ];
    diff.fields = fields
        .into_iter()
        .filter(|(_, differs)| *differs)
        .map(|(name, _)| name)
        .collect();
    diff
}

/// Something in which packages that are merged do not agree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(tag = "conflict", rename_all = "snake_case")]
pub enum Conflict {
    /// One unit has two texts. The first package's stands.
    Differs {
        /// Its file.
        path: String,
        /// Its headings.
        name: String,
    },
    /// Two items make claims of one thing that cannot both hold. Both stand.
    Contradicts {
        /// The thing that is claimed of.
        slot: String,
        /// The two claims, each with the path that makes it.
        claims: [(String, String); 2],
    },
}

impl std::fmt::Display for Conflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Conflict::Differs { path, name } => {
                write!(
                    f,
                    "{path}: `{name}` has two texts; that of the package named first stands"
                )
            }
            Conflict::Contradicts { slot, claims } => {
                let [(one, from), (other, of)] = claims;
                write!(
                    f,
                    "`{slot}` is `{one}` in {from} and `{other}` in {of}; both stand"
                )
            }
        }
    }
}

/// Puts packages together under a name: the items of the first, then what the others add. The recipes of all make its
/// refresh.
///
/// # Errors
///
/// [`ErrorKind::Input`](crate::ErrorKind::Input) for fewer than two, or when the result would be too large.
pub fn merge(
    name: &str,
    packages: &[(String, ContextPackage)],
    tokenizer: &dyn Tokenizer,
) -> Result<(ContextPackage, Vec<Conflict>), Error> {
    let [(_, first), _, ..] = packages else {
        return Err(Error::input("one package alone cannot be merged").expected("two or more"));
    };
    let mut merged = ContextPackage {
        name: name.to_owned(),
        merged_from: packages.iter().map(|(id, _)| id.clone()).collect(),
        reviewed: packages.iter().any(|(_, package)| package.reviewed),
        ..first.clone()
    };
    let mut conflicts = Vec::new();
    for (_, package) in &packages[1..] {
        // Borrowed from a copy: the items that were there before those of this package.
        let known = merged.clone();
        let known: BTreeMap<Key<'_>, &ContextPackageItem> = keyed(&known).into_iter().collect();
        for (key, item) in keyed(package) {
            match known.get(&key) {
                None => merged.items.push(item.clone()),
                Some(held) if held.provenance.digest != item.provenance.digest => {
                    conflicts.push(Conflict::Differs {
                        path: item.provenance.path.clone(),
                        name: item.name.clone(),
                    });
                }
                Some(_) => {}
            }
        }
        let new = package
            .retrieval_recipes
            .iter()
            .filter(|recipe| !first.retrieval_recipes.contains(recipe));
        merged.retrieval_recipes.extend(new.cloned());
        merged.cut.extend(package.cut.iter().cloned());
        // What one of them may not outlive, the whole may not.
        let sooner = |a: Option<_>, b: Option<_>| a.into_iter().chain(b).min();
        merged.retention.expires = sooner(merged.retention.expires, package.retention.expires);
        merged.retention.review = sooner(merged.retention.review, package.retention.review);
    }
    merged.cut = still_cut(&merged);
    conflicts.extend(contradictions(&merged.items));
    merged.budget.max_items = sum(packages, |budget| budget.max_items);
    merged.budget.max_tokens = sum(packages, |budget| budget.max_tokens);
    merged.capabilities = capabilities(&merged.retrieval_recipes, &merged.items);
    merged.summary_layers = layers(&merged.items, &merged.intent, tokenizer);
    merged.diagnostics = conflicts.iter().map(ToString::to_string).collect();
    merged.check()?;
    Ok((merged, conflicts))
}

/// The cuts of the parts that the whole does not hold, each once.
fn still_cut(merged: &ContextPackage) -> Vec<CutItem> {
    let place =
        |path: &str, lines: (u32, u32), name: &str| (path.to_owned(), lines, name.to_owned());
    let items = merged.items.iter();
    let mut known: BTreeSet<(String, (u32, u32), String)> = items
        .map(|item| place(&item.provenance.path, item.provenance.lines, &item.name))
        .collect();
    let mut cut = merged.cut.clone();
    cut.retain(|cut| known.insert(place(&cut.path, cut.lines, &cut.name)));
    cut
}

fn sum(
    packages: &[(String, ContextPackage)],
    of: impl Fn(&ContextBudget) -> Option<u32>,
) -> Option<u32> {
    packages.iter().try_fold(0_u32, |sum, (_, package)| {
        Some(sum.saturating_add(of(&package.budget)?))
    })
}

/// The claims of items that cannot both hold: `slot = value` with one slot and two values.
fn contradictions(items: &[ContextPackageItem]) -> Vec<Conflict> {
    let mut known: BTreeMap<String, (String, String)> = BTreeMap::new();
    let mut found = Vec::new();
    for item in items {
        let claims = item.metadata.get("claims").and_then(Value::as_array);
        for claim in claims.into_iter().flatten().filter_map(Value::as_str) {
            let Some((slot, value)) = claim.split_once('=') else {
                continue;
            };
            let (slot, value) = (slot.trim().to_owned(), value.trim().to_owned());
            let path = item.provenance.path.clone();
            match known.get(&slot) {
                Some((held, from)) if *held != value => {
                    let conflict = Conflict::Contradicts {
                        claims: [(held.clone(), from.clone()), (value, path)],
                        slot,
                    };
                    if !found.contains(&conflict) {
                        found.push(conflict);
                    }
                }
                Some(_) => {}
                None => {
                    known.insert(slot, (value, path));
                }
            }
        }
    }
    found
}
