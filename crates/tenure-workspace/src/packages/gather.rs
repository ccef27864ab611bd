//! From recipes to drafts: what the engines find, as it lies in the files now.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::{Map, Value};
use tenure::object::clip;
use tenure::package::{
    Action, DocumentUnits, Draft, Engine, ItemPolicy, JsonPath, LabelRule, LabelTable,
    RetrievalRecipe, Selector, SourceSpan, Unit, UnitKind, allowed,
};
use tenure::{Digest, Error};
use tenure_adapters::decide::AskedItem;
use tenure_adapters::embed::Embedder;

use super::Bearing;
use super::restricted::restrictions;
use crate::index::scan::{scan, within};
use crate::index::{Index, Loaded, load};
use crate::trust::Trust;
use crate::units::Fineness;

/// The most units that a recipe without a limit finds.
const MOST: usize = 1_000;
/// The most units that a search without a limit finds.
const MOST_FOUND: u32 = 10;

/// An item that its labels keep out of a package, for the operator.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Filtered {
    /// Its file.
    pub path: String,
    /// Its headings.
    pub name: String,
    /// The labels of its document.
    pub labels: Vec<String>,
}

/// The units that recipes found.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) drafts: Vec<Draft>,
    pub(super) filtered: Vec<Filtered>,
    pub(super) diagnostics: Vec<String>,
}

/// The files that were read, each once.
struct Gatherer<'a> {
    root: &'a Path,
    trust: Option<&'a Trust>,
    labels: &'a LabelTable,
    embedder: Option<&'a dyn Embedder>,
    summaries: &'a BTreeMap<Digest, String>,
    /// The documents that were read, each as fine as it was needed.
    loaded: BTreeMap<String, (Fineness, Loaded)>,
    /// The rules that they lay down themselves.
    restrictions: BTreeMap<String, Vec<LabelRule>>,
    found: Gathered,
}

/// Asks all recipes, in their order.
///
/// # Errors
///
/// [`ErrorKind::Input`](tenure::ErrorKind::Input) for a query that cannot be read, and when nothing at all is found: it
/// says what is nearest. [`ErrorKind::Policy`](tenure::ErrorKind::Policy) when the caller may pack nothing of it.
pub(super) fn gather(
    (root, trust): (&Path, Option<&Trust>),
    recipes: &[RetrievalRecipe],
    bearing: &Bearing<'_>,
) -> Result<Gathered, Error> {
    let mut gatherer = Gatherer {
        root,
        trust,
        labels: bearing.labels,
        embedder: bearing.embedder,
        summaries: bearing.summaries,
        loaded: BTreeMap::new(),
        restrictions: BTreeMap::new(),
        found: Gathered::default(),
    };
    let mut nearest = None;
    for (turn, recipe) in recipes.iter().enumerate() {
        let missed = match recipe.engine.unwrap_or(recipe.kind) {
            Engine::Selector => gatherer.select(recipe)?,
            Engine::Search => gatherer.search(recipe)?,
            Engine::Jsonpath => gatherer.values(recipe)?,
            engine => return Err(Error::unsupported(format!("the engine `{engine}`"))),
        };
        if let Some(missed) = missed {
            let told = format!(
                "recipe {}, `{}`, found nothing; {missed}",
                turn + 1,
                clip(&recipe.query)
            );
            gatherer.found.diagnostics.push(told);
            nearest.get_or_insert(missed);
        }
    }
    let Gatherer {
        mut found,
        restrictions,
        ..
    } = gatherer;
    for draft in &mut found.drafts {
        let own = restrictions.get(&draft.provenance.path);
        draft.policy.rules.extend(own.into_iter().flatten().cloned());
    }
    if found.drafts.is_empty() {
        let error = Error::input("nothing was found to pack");
        return Err(match nearest {
            Some(nearest) => error.hint(nearest),
            None => error.expected("a recipe that finds something"),
        });
    }
    let rules: Vec<_> = found.drafts.iter().map(|draft| draft.policy.rules.clone()).collect();
    let mut open = allowed(&rules, Action::Package, bearing.caller)?;
    let drafts = &found.drafts;
    bearing.narrow(Action::Package, &mut open, |at| AskedItem {
        digest: drafts[at].provenance.digest,
        labels: &drafts[at].policy.labels,
        name: &drafts[at].name,
        path: &drafts[at].provenance.path,
        unit_kind: drafts[at].provenance.unit_kind,
    })?;
    let mut open = open.into_iter();
    let filtered = &mut found.filtered;
    found.drafts.retain(|draft| {
        let passes = open.next().unwrap_or(false);
        if !passes {
            filtered.push(Filtered {
                path: draft.provenance.path.clone(),
                name: draft.name.clone(),
                labels: draft.policy.labels.clone(),
            });
        }
        passes
    });
    if found.drafts.is_empty() {
        let what = format!(
            "the caller may pack none of the {} units that were found",
            rules.len()
        );
        return Err(Error::new(tenure::ErrorKind::Policy, what)
            .hint("name a caller with --role and --clearance, or see the table of labels"));
    }
    Ok(found)
}

/// The files that sources of a recipe name, in order: a folder stands for what an index would hold of it.
pub(super) fn sources(root: &Path, sources: &[String]) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for source in sources {
        let (real, name) = within(root, &root.join(source))?;
        if real.is_dir() {
            names.extend(scan(root, &real, false)?.files.into_iter().map(|file| file.path))
        } else {
            names.push(name)
        }
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    Ok(names)
}

impl<'a> Gatherer<'a> {
    /// Returns what a selector finds; where it finds nothing, what is nearest.
    fn select(&mut self, recipe: &RetrievalRecipe) -> Result<Option<String>, Error> {
        let selector = Selector::new(&recipe.query)?;
        let limit = recipe.limit.map_or(MOST, |limit| limit as usize);
        let is_finer = selector.reaches().iter().any(|reach| reach.is_finer);
        let fineness = if is_finer {
            Fineness::All
        } else {
            Fineness::Sections
        };
        let before = self.found.drafts.len();
        let index = if recipe.sources.is_empty() {
            Some(Index::at(self.root, self.trust)?)
        } else {
            None
        };
        let scopes = scopes(&recipe.paths);
        let names = match &index {
            Some(index) => index.candidates(&selector, &scopes)?,
            None => sources(self.root, &recipe.sources)?,
        };
        let (mut left_out, mut files_left) = (0, 0);
        for (turn, name) in names.iter().enumerate() {
            if self.found.drafts.len() - before >= limit {
                files_left = names.len() - turn;
                break;
            }
            let loaded = match self.load(name, fineness) {
                Ok(()) => self.loaded.get(name).map(|(_, loaded)| loaded),
                // A file that was named must be there; one of the index may have gone.
                Err(error) if index.is_none() => return Err(error),
                Err(error) => {
                    self.found.diagnostics.push(format!("{name}: {}", error.what));
                    continue;
                }
            };
            let Some(loaded) = loaded else { continue };
            for at in selector.find(&loaded.document) {
                if self.found.drafts.len() - before >= limit {
                    left_out += 1;
                    continue;
                }
                let Some(unit) = loaded.document.units.get(at) else {
                    continue;
                };
                let found = (
                    unit,
                    full_name(&loaded.document, at),
                    (unit.bytes.start, unit.bytes.end),
                );
                let draft = draft(
                    loaded,
                    found,
                    recipe,
                    Engine::Selector,
                    self.labels,
                    self.summaries,
                );
                self.found.drafts.extend(draft);
            }
        }
        if left_out > 0 || files_left > 0 {
            let told = format!(
                "`{}`: the limit of {limit} was reached; {left_out} more units are left out, and {files_left} files that \
                 may have more",
                clip(&recipe.query)
            );
            self.found.diagnostics.push(told);
        }
        if self.found.drafts.len() > before {
            return Ok(None);
        }
        Ok(Some(match &index {
            Some(index) => index.miss(&selector, &scopes)?,
            None => {
                let documents: Vec<&DocumentUnits> = names
                    .iter()
                    .filter_map(|name| self.loaded.get(name))
                    .map(|(_, loaded)| &loaded.document)
                    .collect();
                selector.miss(documents)
            }
        }))
    }

    /// Returns what a JSONPath finds.
    fn values(&mut self, recipe: &RetrievalRecipe) -> Result<Option<String>, Error> {
        let query = JsonPath::new(&recipe.query)?;
        let limit = recipe.limit.map_or(MOST, |limit| limit as usize);
        let names = if recipe.sources.is_empty() {
            Index::at(self.root, self.trust)?.structured(&scopes(&recipe.paths))?
        } else {
            sources(self.root, &recipe.sources)?
        };
        let before = self.found.drafts.len();
        for (turn, name) in names.iter().enumerate() {
            if self.found.drafts.len() - before >= limit {
                let told = format!(
                    "`{}`: the limit of {limit} was reached; {} files that may have more are left out",
                    clip(&recipe.query),
                    names.len() - turn
                );
                self.found.diagnostics.push(told);
                break;
            }
            self.load(name, Fineness::Sections)?;
            let Some((_, loaded)) = self.loaded.get(name) else {
                continue;
            };
            let units = match loaded.values(&query) {
                Ok(units) => units,
                Err(error) => {
                    self.found.diagnostics.push(format!("{name}: {}", error.what));
                    continue;
                }
            };
            let room = limit.saturating_sub(self.found.drafts.len() - before);
            if units.len() > room {
                let told = format!(
                    "{name}: {} more values are beyond the limit of {limit}",
                    units.len() - room
                );
                self.found.diagnostics.push(told);
            }
            for unit in units.iter().take(room) {
                let bytes = (unit.bytes.start, unit.bytes.end);
                let found = (unit, unit.name.clone(), bytes);
                let draft = draft(
                    loaded,
                    found,
                    recipe,
                    Engine::Jsonpath,
                    self.labels,
                    self.summaries,
                );
                self.found.drafts.extend(draft);
            }
        }
        let is_empty = self.found.drafts.len() == before;
        Ok(is_empty.then(|| {
            format!(
                "{} files were asked; JSONPath reads JSON, YAML and frontmatter",
                names.len()
            )
        }))
    }

    /// The encoder that a recipe names, if it names one: with another, it would find other things under the same name.
    fn encoder_of(&self, recipe: &RetrievalRecipe) -> Result<Option<&'a dyn Embedder>, Error> {
        let Some(named) = &recipe.vectors else {
            return Ok(None);
        };
        let there = self.embedder.map(|embedder| embedder.model());
        match &there {
            Some(model) if model.digest == named.digest => Ok(self.embedder),
            Some(model) => Err(Error::input(format!(
                "the search `{}` is ranked by vectors of `{}`, and `{}` was given",
                clip(&recipe.query),
                named.model,
                model.name
            ))
            .expected(format!("the model {}", named.digest))),
            None => Err(Error::input(format!(
                "the search `{}` is ranked by vectors of `{}`, and no encoder was given",
                clip(&recipe.query),
                named.model
            ))
            .hint("name it with `--embedder`")),
        }
    }

    /// Returns what words find.
    fn search(&mut self, recipe: &RetrievalRecipe) -> Result<Option<String>, Error> {
        if !recipe.sources.is_empty() {
            return Err(
                Error::input("a search has no sources: it searches the index")
                    .expected("`paths` of the index, or the kind selector"),
            );
        }
        let index = Index::at(self.root, self.trust)?;
        let limit = recipe.limit.unwrap_or(MOST_FOUND) as usize;
        let embedder = self.encoder_of(recipe)?;
        let found = index.search(&recipe.query, &recipe.paths, limit, embedder)?;
        for path in &found.changed {
            let told = format!(
                "{path} is not what was indexed, and was left out; `tenure index` reads it again"
            );
            self.found.diagnostics.push(told);
        }
        if found.units.is_empty() {
            return Ok(Some(found.nearest.unwrap_or_default()));
        }
        for unit in found.units {
            self.load(&unit.path, Fineness::Sections)?;
            let Some((_, loaded)) = self.loaded.get(&unit.path) else {
                continue;
            };
            if loaded.snapshot_id() != unit.snapshot_id {
                self.found.diagnostics.push(format!("{} changed while it was read", unit.path));
                continue;
            }
            let units = &loaded.document.units;
            let at = units
                .iter()
                .position(|known| (known.kind, known.index) == (unit.kind, unit.index));
            let Some((at, own)) = at.and_then(|at| Some((at, units.get(at)?))) else {
                continue;
            };
            let found = (own, full_name(&loaded.document, at), unit.bytes);
            let draft = draft(
                loaded,
                found,
                recipe,
                Engine::Search,
                self.labels,
                self.summaries,
            );
            self.found.drafts.extend(draft.map(|mut draft| {
                draft.provenance.lines = unit.lines;
                draft
            }));
        }
        Ok(None)
    }

    fn load(&mut self, name: &str, fineness: Fineness) -> Result<(), Error> {
        let known = self.loaded.get(name).map(|(fineness, _)| *fineness);
        if known != Some(Fineness::All) && known != Some(fineness) {
            let loaded = load(self.root, name, fineness)?;
            if !loaded.note.is_empty() && known.is_none() {
                self.found.diagnostics.push(format!("{name}: {}", loaded.note));
            }
            let own = restrictions(name, loaded.text.trim_start_matches('\u{FEFF}'));
            self.restrictions.insert(loaded.document.path.clone(), own);
            self.loaded.insert(name.to_owned(), (fineness, loaded));
        }
        Ok(())
    }
}

pub(super) fn scopes(paths: &[String]) -> BTreeSet<String> {
    paths.iter().map(|path| path.trim_end_matches('/').to_owned()).collect()
}

/// The headings above a unit and its own name, as one text.
pub(super) fn full_name(document: &DocumentUnits, at: usize) -> String {
    let own = document.units.get(at).map_or("", |unit| unit.name.as_str());
    let trail = document.trail(at).into_iter().chain([own]);
    let names: Vec<&str> = trail.filter(|name| !name.is_empty()).collect();
    names.join(" > ")
}

/// The labels of a document.
fn labels_of(loaded: &Loaded) -> Vec<String> {
    loaded.document.labels.clone()
}

/// A unit with its name and the bytes that were found of it, as a draft; none of one without words.
fn draft(
    loaded: &Loaded,
    (unit, name, bytes): (&Unit, String, (u64, u64)),
    recipe: &RetrievalRecipe,
    engine: Engine,
    table: &LabelTable,
    summaries: &BTreeMap<Digest, String>,
) -> Option<Draft> {
    let text = loaded.text_of(bytes);
    if text.trim().is_empty() {
        return None;
    }
    let mut metadata = Map::new();
    if unit.level > 0 {
        metadata.insert("level".to_owned(), Value::from(unit.level));
    }
    if !unit.language.is_empty() && unit.kind != UnitKind::Document {
        metadata.insert("language".to_owned(), Value::from(unit.language.clone()));
    }
    let fields = &loaded.document.frontmatter;
    match fields.get("claims").or_else(|| fields.get("claim")) {
        Some(Value::Array(claims)) => {
            metadata.insert("claims".to_owned(), Value::from(claims.clone()));
        }
        Some(Value::String(claim)) => {
            metadata.insert("claims".to_owned(), Value::from(vec![claim.clone()]));
        }
        _ => {}
    }
    let labels = labels_of(loaded);
    let digest = Digest::of(text.as_bytes());
    Some(Draft {
        name,
        provenance: SourceSpan {
            bytes,
            digest,
            engine,
            lines: unit.lines,
            path: loaded.document.path.clone(),
            selector: recipe.query.clone(),
            snapshot_id: loaded.snapshot_id(),
            unit_index: unit.index,
            unit_kind: unit.kind,
        },
        policy: ItemPolicy {
            rules: table.rules(&labels),
            labels,
        },
        summary: summaries.get(&digest).cloned(),
        metadata,
        text,
    })
}
