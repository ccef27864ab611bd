//! Items beside their sources as these are now.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;
use tenure::Digest;
use tenure::package::{
    ContextPackage, Engine, JsonPath, LabelRule, SourceSpan, Standing, UnitKind,
};
use tenure_adapters::read::text_of;

use super::gather::full_name;
use super::restricted::restrictions;
use crate::index::scan::read_inside;
use crate::index::{Loaded, load, load_bytes, snapshot_id};
use crate::units::Fineness;

/// An item beside its source as it is now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Explained {
    /// Its file.
    pub path: String,
    /// The kind of its unit.
    pub kind: UnitKind,
    /// Its headings.
    pub name: String,
    /// The lines that it had.
    pub lines: (u32, u32),
    /// Its tokens.
    pub tokens: u32,
    /// The query that found it.
    pub selector: String,
    /// Standing of its source; none where nothing is known of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// The lines that it has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<(u32, u32)>,
    /// Its labels when it was packed.
    pub labels: Vec<String>,
}

/// Compares every item of a package with its source.
pub(super) fn explained(package: &ContextPackage, sources: &mut Sources<'_>) -> Vec<Explained> {
    let explained = package.items.iter().map(|item| {
        let span = &item.provenance;
        let (standing, now) = sources.standing(span, &item.name);
        Explained {
            path: span.path.clone(),
            kind: span.unit_kind,
            name: item.name.clone(),
            lines: span.lines,
            tokens: item.tokens,
            selector: span.selector.clone(),
            standing,
            now,
            labels: item.policy.labels.clone(),
        }
    });
    explained.collect()
}

/// The place where the sources are.
#[derive(Clone, Copy)]
enum Place<'r> {
    Root(&'r Path),
    Sent(&'r BTreeMap<String, String>),
}

/// The sources of items as they are now, each read once.
pub(super) struct Sources<'r> {
    place: Place<'r>,
    snapshots: BTreeMap<String, Option<String>>,
    loaded: BTreeMap<String, Option<Loaded>>,
    restrictions: BTreeMap<String, Vec<LabelRule>>,
}

impl<'r> Sources<'r> {
    /// The files below a root.
    pub(super) fn of_root(root: &'r Path) -> Sources<'r> {
        Sources::at(Place::Root(root))
    }

    /// These texts, by the paths of their files.
    pub(super) fn sent(texts: &'r BTreeMap<String, String>) -> Sources<'r> {
        Sources::at(Place::Sent(texts))
    }

    fn at(place: Place<'r>) -> Sources<'r> {
        Sources {
            place,
            snapshots: BTreeMap::new(),
            loaded: BTreeMap::new(),
            restrictions: BTreeMap::new(),
        }
    }

    /// The id of the state of a file, without cutting it into units.
    fn snapshot(&mut self, path: &str) -> Option<&str> {
        let place = self.place;
        let snapshot = self.snapshots.entry(path.to_owned()).or_insert_with(|| {
            let digest = match place {
                Place::Root(root) => Digest::of(&read_inside(root, path).ok()?),
                Place::Sent(texts) => Digest::of(texts.get(path)?.as_bytes()),
            };
            Some(snapshot_id(path, digest))
        });
        snapshot.as_deref()
    }

    /// Returns whether the file of an item is as it was.
    pub(super) fn is_same(&mut self, span: &SourceSpan) -> bool {
        self.snapshot(&span.path) == Some(&span.snapshot_id)
    }

    /// The rules that a file lays down itself for who may read it; none of one that is not there.
    pub(super) fn restrictions(&mut self, path: &str) -> Vec<LabelRule> {
        let place = self.place;
        let known = self.restrictions.entry(path.to_owned());
        let rules = known.or_insert_with(|| {
            let bytes = match place {
                Place::Root(root) => read_inside(root, path).unwrap_or_default(),
                Place::Sent(texts) => texts.get(path).cloned().unwrap_or_default().into_bytes(),
            };
            text_of(&bytes).map_or_else(|_| Vec::new(), |text| restrictions(path, text))
        });
        rules.clone()
    }

    pub(super) fn load(&mut self, path: &str) -> Option<&Loaded> {
        let place = self.place;
        let loaded = self.loaded.entry(path.to_owned()).or_insert_with(|| match place {
            Place::Root(root) => load(root, path, Fineness::All).ok(),
            Place::Sent(texts) => {
                let bytes = texts.get(path)?.clone().into_bytes();
                load_bytes(path, bytes, Fineness::All).ok()
            }
        });
        loaded.as_ref()
    }

    /// Returns the standing of the source of an item, and the lines that it has now. Of a file that was not sent,
    /// nothing is known.
    pub(super) fn standing(
        &mut self,
        span: &SourceSpan,
        name: &str,
    ) -> (Option<Standing>, Option<(u32, u32)>) {
        match self.place {
            Place::Sent(texts) if !texts.contains_key(&span.path) => (None, None),
            _ => {
                let (standing, lines) = self.known_standing(span, name);
                (Some(standing), lines)
            }
        }
    }

    fn known_standing(&mut self, span: &SourceSpan, name: &str) -> (Standing, Option<(u32, u32)>) {
        if self.is_same(span) {
            return (Standing::Same, Some(span.lines));
        }
        let Some(loaded) = self.load(&span.path) else {
            return (Standing::Gone, None);
        };
        if span.engine == Engine::Jsonpath {
            return value_standing(loaded, span, name);
        }
        let units = || {
            let units = loaded.document.units.iter().enumerate();
            units.filter(|(_, unit)| unit.kind == span.unit_kind)
        };
        let is_text = |at: usize| {
            let unit = loaded.document.units.get(at);
            // A search took a section without those below it.
            let ends = [unit.map_or(0, |unit| unit.bytes.end), loaded.own_end(at)];
            let start = unit.map_or(0, |unit| unit.bytes.start);
            ends.into_iter().any(|end| {
                let text = loaded.text_of((start, end));
                [text.as_str(), text.trim_end()]
                    .iter()
                    .any(|text| Digest::of(text.as_bytes()) == span.digest)
            })
        };
        let mut same: Vec<(u32, u32)> = Vec::new();
        for (at, unit) in units() {
            if is_text(at) {
                if unit.lines.0 == span.lines.0 {
                    return (Standing::Same, Some(span.lines));
                }
                same.push(unit.lines);
            }
        }
        if let Some(lines) = same.first() {
            return (Standing::Moved, Some(*lines));
        }
        let named = units().find(|(at, _)| full_name(&loaded.document, *at) == name);
        match named {
            Some((_, unit)) if !name.is_empty() || unit.kind == UnitKind::Document => {
                (Standing::Changed, Some(unit.lines))
            }
            _ => (Standing::Gone, None),
        }
    }
}

/// Returns the standing of a value that a JSONPath found: it is known by its normalized path.
fn value_standing(
    loaded: &Loaded,
    span: &SourceSpan,
    name: &str,
) -> (Standing, Option<(u32, u32)>) {
    let found = JsonPath::new(name).and_then(|query| loaded.values(&query)).unwrap_or_default();
    let Some(unit) = found.first() else {
        return (Standing::Gone, None);
    };
    let text = loaded.text_of((unit.bytes.start, unit.bytes.end));
    let is_same = Digest::of(text.as_bytes()) == span.digest;
    let standing = if !is_same {
        Standing::Changed
    } else if unit.lines == span.lines {
        Standing::Same
    } else {
        Standing::Moved
    };
    (standing, Some(unit.lines))
}
