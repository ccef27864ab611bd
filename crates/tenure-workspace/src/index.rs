//! The index of a tree of documents: `.tenure/index.db` below the root. Files that were not changed are not read again;
//! units that are finer than sections are cut from the file when they are asked for.

mod changed;
mod nearness;
pub(crate) mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use tenure::num::Score;
use tenure::package::{DocumentUnits, JsonPath, Selector, Unit, UnitKind};
use tenure::ranker::{Ranker, Terms, Unit as Ranked, Weights};
use tenure::{Digest, Error};
use tenure_adapters::embed::Embedder;
use tenure_adapters::read::text_of;
use tenure_store::{FileMark, FoundPart, IndexCounts, IndexedFile, IndexedPart, TreeIndex};

use crate::trust::{Kind, Making, Thing, Trust};
use crate::units::{Cut, Fineness, Reading, cut, values_in};
use changed::write_changed;
use scan::{Scan, Scanned, read_inside, scan, within};

/// The folder of what belongs to a tree.
pub const TREE_FOLDER: &str = ".tenure";
/// The name of the index in it.
const INDEX_FILE: &str = "index.db";
/// The name of the vectors that are kept.
const VECTORS_FILE: &str = "vectors.db";
/// The kind of a file that is known and was not read.
const UNREAD: &str = "unread";
/// So many parts are ranked for each that is wanted, within bounds.
const RANKED_FOR_ONE: usize = 4;
const RANKED: std::ops::RangeInclusive<usize> = 32..=200;

/// Something that an index leaves out, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Skipped {
    /// Its path.
    pub path: String,
    /// The reason.
    pub why: String,
}

/// The options of a run.
#[derive(Clone, Copy, Default)]
pub struct Indexing<'p> {
    /// Also what ignore files name.
    pub include_ignored: bool,
    /// Things that the user accepted; without it, the root was named as that of an index to believe.
    pub trust: Option<&'p Trust>,
    /// Told how many files of how many are done.
    pub progress: Option<&'p dyn Fn(usize, usize)>,
}

/// The result of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct IndexRun {
    /// The files that were found.
    pub files: usize,
    /// Those that were read.
    pub read: usize,
    /// Those that hold what the index has.
    pub unchanged: usize,
    /// Those that are gone.
    pub removed: usize,
    /// The sections of the whole index.
    pub sections: u64,
    /// Names exactly what was read, of the whole index.
    pub snapshot_id: String,
    /// The entries that were left out, and files of which something could not be read.
    pub skipped: Vec<Skipped>,
}

/// The state of an index.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct IndexStatus {
    /// Names exactly what was read.
    pub snapshot_id: String,
    /// Its files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their sections.
    pub sections: u64,
    /// The files that were changed since, that are new and that are gone.
    pub changed: Vec<String>,
    /// The files that are new.
    pub new: Vec<String>,
    /// The files that are gone.
    pub gone: Vec<String>,
    /// The files of which something could not be read.
    pub notes: Vec<Skipped>,
}

/// A unit that was found, with its place.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FoundUnit {
    /// The path of its file within the root.
    pub path: String,
    /// Names the state of the file that it stands in.
    pub snapshot_id: String,
    /// Its kind.
    pub kind: UnitKind,
    /// Its number among those of its kind in the file.
    pub index: u32,
    /// Its heading or its name.
    pub name: String,
    /// The headings above it.
    pub trail: Vec<String>,
    /// The level of its heading.
    pub level: u8,
    /// Its language.
    pub language: String,
    /// Its first line and its last.
    pub lines: (u32, u32),
    /// Its bytes in the file.
    pub bytes: (u64, u64),
    /// Its nearness to the words of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
}

/// The units that were found, and what to say where there are none.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct FoundUnits {
    /// The units, in their order.
    pub units: Vec<FoundUnit>,
    /// The number of those that the limit left out, in the files that were looked at.
    pub left_out: usize,
    /// The number of files that may have more and were not looked at, because the limit was reached.
    pub files_left: usize,
    /// Nearest words, where nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nearest: Option<String>,
    /// The files that were read and are not what was indexed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
}

/// The id of the state of one file: of its path and its bytes.
pub(crate) fn snapshot_id(path: &str, digest: Digest) -> String {
    let digest = Digest::of_parts([path.as_bytes(), digest.to_string().as_bytes()]);
    format!("snapshot:{digest}")
}

/// A document that was read from its file.
pub(crate) struct Loaded {
    pub(crate) document: DocumentUnits,
    pub(crate) digest: Digest,
    /// The text as it lies in the file, a byte order mark included.
    pub(crate) text: String,
    /// Something that is wrong with it and ends nothing; empty where nothing is.
    pub(crate) note: String,
}

impl Loaded {
    /// The text of a range of the file, with plain newlines.
    pub(crate) fn text_of(&self, bytes: (u64, u64)) -> String {
        self.text
            .get(bytes.0 as usize..bytes.1 as usize)
            .unwrap_or_default()
            .trim_start_matches('\u{FEFF}')
            .replace("\r\n", "\n")
    }

    pub(crate) fn snapshot_id(&self) -> String {
        snapshot_id(&self.document.path, self.digest)
    }

    /// The values of JSON, YAML or frontmatter that a query finds in it.
    pub(crate) fn values(&self, query: &JsonPath) -> Result<Vec<Unit>, Error> {
        let reading =
            Reading::of(&self.document.path).map_or(Reading::Text, |(reading, _)| reading);
        values_in(&self.text, reading, query)
    }

    /// The byte behind a unit's own text: of a section, where the first section below it begins.
    pub(crate) fn own_end(&self, at: usize) -> u64 {
        let units = &self.document.units;
        let Some(unit) = units.get(at) else { return 0 };
        let mut below = units
            .get(at + 1..)
            .unwrap_or_default()
            .iter()
            .filter(|next| next.kind == UnitKind::Section && next.bytes.start < unit.bytes.end);
        below.next().map_or(unit.bytes.end, |next| next.bytes.start)
    }
}

/// Reads and cuts a document of the root.
pub(crate) fn load(root: &Path, name: &str, fineness: Fineness) -> Result<Loaded, Error> {
    format_of(name)?;
    load_bytes(name, read_inside(root, name)?, fineness)
}

/// The format that the name of a document says.
fn format_of(name: &str) -> Result<(Reading, &'static str), Error> {
    Reading::of(name).ok_or_else(|| {
        Error::input(format!("`{name}` is of no format that is read as units"))
            .expected("Markdown, text, JSON, YAML or source code")
    })
}

/// Cuts a document.
pub(crate) fn load_bytes(name: &str, bytes: Vec<u8>, fineness: Fineness) -> Result<Loaded, Error> {
    let (reading, language) = format_of(name)?;
    let digest = Digest::of(&bytes);
    text_of(&bytes).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        error.at(name, line)
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|error| Error::input(format!("`{name}` is not UTF-8: {error}")))?;
    let Cut { document, note, .. } = cut(name, &text, reading, language, fineness);
    Ok(Loaded {
        document,
        digest,
        text,
        note,
    })
}

fn found_unit(document: &DocumentUnits, at: usize, snapshot_id: String) -> Option<FoundUnit> {
    let unit = document.units.get(at)?;
    Some(FoundUnit {
        path: document.path.clone(),
        snapshot_id,
        kind: unit.kind,
        index: unit.index,
        name: unit.name.clone(),
        trail: document.trail(at).into_iter().map(str::to_owned).collect(),
        level: unit.level,
        language: unit.language.clone(),
        lines: unit.lines,
        bytes: (unit.bytes.start, unit.bytes.end),
        score: None,
    })
}

/// The root of a tree with its links resolved.
///
/// # Errors
///
/// [`ErrorKind::NotFound`](tenure::ErrorKind::NotFound) when there is no such folder.
pub(crate) fn root_of(root: &Path) -> Result<PathBuf, Error> {
    let shown = root.display();
    let real = fs::canonicalize(root).map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => format!("there is no folder `{shown}`"),
            _ => format!("cannot read the folder `{shown}`: {error}"),
        };
        Error::not_found(what)
            .expected("the folder that the documents are in")
            .hint("`.` is the folder that you are in; a path starts there, or with `/`")
            .caused_by(error)
    })?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(Error::input(format!("`{shown}` is not a folder")).expected("a folder"))
    }
}

/// The index of a tree.
pub struct Index {
    root: PathBuf,
    rows: TreeIndex,
    mark: Option<FileMark>,
}

/// The mark that an index which is found has to have.
fn mark_of(root: &Path, trust: Option<&Trust>) -> Result<Option<FileMark>, Error> {
    let thing = Thing::of(root, Kind::Index);
    let Some(trust) = trust else {
        return thing.follows_no_link().map(|()| None);
    };
    let believed = trust.check(&thing)?;
    Ok(believed.and_then(|believed| believed.mark))
}

impl Index {
    /// Opens the index of this root, which is believed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](tenure::ErrorKind::NotFound) when it has none.
    pub fn open(root: &Path) -> Result<Index, Error> {
        Index::at(root, None)
    }

    /// Opens the index that is found at this root, where the user made or accepted it.
    ///
    /// # Errors
    ///
    /// As [`Index::open`]; [`ErrorKind::Policy`](tenure::ErrorKind::Policy) when it is not trusted.
    pub fn found(root: &Path, trust: &Trust) -> Result<Index, Error> {
        Index::at(root, Some(trust))
    }

    pub(crate) fn at(root: &Path, trust: Option<&Trust>) -> Result<Index, Error> {
        let root = root_of(root)?;
        let mark = mark_of(&root, trust)?;
        let rows = TreeIndex::open_existing(&root.join(TREE_FOLDER).join(INDEX_FILE), mark)?;
        Ok(Index { root, rows, mark })
    }

    /// Brings the index up to date with what lies below these paths, and makes it where there is none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) for a path outside the root,
    /// [`ErrorKind::Unavailable`](tenure::ErrorKind::Unavailable) when the index cannot be written.
    pub fn update(
        root: &Path,
        paths: &[PathBuf],
        options: Indexing<'_>,
    ) -> Result<IndexRun, Error> {
        let root = root_of(root)?;
        let mut found = Scan::default();
        let mut scopes = BTreeSet::new();
        for path in paths {
            let (real, name) = within(&root, path)?;
            let one = scan(&root, &real, options.include_ignored)?;
            found.files.extend(one.files);
            found.skipped.extend(one.skipped);
            scopes.insert(name);
        }
        found.files.sort_by(|a, b| a.path.cmp(&b.path));
        found.files.dedup_by(|a, b| a.path == b.path);
        let mark = mark_of(&root, options.trust)?;
        let thing = Thing::of(&root, Kind::Index);
        let making = match options.trust {
            Some(trust) if mark.is_none() => Some(trust.making(&thing)?),
            _ => None,
        };
        let mark = mark.or(making.as_ref().map(|Making { mark, .. }| *mark));
        let folder = root.join(TREE_FOLDER);
        fs::create_dir_all(&folder).map_err(|error| {
            let what = format!("cannot make `{}`: {error}", folder.display());
            Error::new(tenure::ErrorKind::Unavailable, what).caused_by(error)
        })?;
        let mut rows = TreeIndex::open(&folder.join(INDEX_FILE), mark)?;
        drop(making);
        let known = rows.stamps()?;
        let is_known = |file: &&Scanned| {
            let stamp = known.get(&file.path).map(|(stamp, _)| stamp);
            !file.stamp.is_empty() && stamp == Some(&file.stamp)
        };
        let changed: Vec<&Scanned> = found.files.iter().filter(|file| !is_known(file)).collect();
        let there: BTreeSet<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
        let gone: Vec<String> = known
            .keys()
            .filter(|path| !there.contains(path.as_str()) && is_below(path, &scopes))
            .cloned()
            .collect();
        let read = write_changed(&root, &mut rows, &changed, &known, options)?;
        if !gone.is_empty() {
            rows.write(&[], &[], &gone)?;
        }
        let before = rows.get("snapshot")?;
        let snapshot_id = match before {
            Some(snapshot) if read.written == 0 && gone.is_empty() => snapshot,
            _ => {
                let snapshot = format!("snapshot:{}", rows.snapshot()?);
                rows.set("snapshot", &snapshot)?;
                snapshot
            }
        };
        let scoped: BTreeSet<String> = rows
            .get("scopes")?
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        if !scopes.is_subset(&scoped) {
            let all: BTreeSet<&String> = scoped.union(&scopes).collect();
            rows.set("scopes", &serde_json::json!(all).to_string())?;
        }
        found.skipped.extend(read.notes);
        Ok(IndexRun {
            files: found.files.len(),
            read: changed.len(),
            unchanged: found.files.len() - changed.len() + read.touched,
            removed: gone.len(),
            sections: rows.counts()?.sections,
            snapshot_id,
            skipped: found.skipped,
        })
    }

    /// The text of a unit, with plain newlines, as its file has it now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](tenure::ErrorKind::NotFound) when the file is gone.
    pub fn text(&self, unit: &FoundUnit) -> Result<String, Error> {
        let bytes = read_inside(&self.root, &unit.path)?;
        let text = bytes.get(unit.bytes.0 as usize..unit.bytes.1 as usize);
        let text = String::from_utf8_lossy(text.unwrap_or_default());
        Ok(text.trim_start_matches('\u{FEFF}').replace("\r\n", "\n"))
    }

    /// The root, with its links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The state of the index beside that of the files.
    ///
    /// # Errors
    ///
    /// As [`Index::open`].
    pub fn status(&self) -> Result<IndexStatus, Error> {
        let IndexCounts {
            files,
            bytes,
            sections,
        } = self.rows.counts()?;
        let scopes: BTreeSet<String> = self
            .rows
            .get("scopes")?
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        let known = self.rows.stamps()?;
        let mut there = BTreeMap::new();
        for scope in &scopes {
            let path = self.root.join(scope);
            if path.exists() {
                let found = scan(&self.root, &path, false)?;
                there.extend(found.files.into_iter().map(|file| (file.path, file.stamp)));
            }
        }
        let (mut changed, mut new) = (Vec::new(), Vec::new());
        for (path, stamp) in &there {
            match known.get(path) {
                None => new.push(path.clone()),
                Some((old, _)) if old == stamp && !stamp.is_empty() => {}
                // Its times changed; whether it did, its bytes say.
                Some((_, digest)) => {
                    let now = read_inside(&self.root, path).ok().map(|bytes| Digest::of(&bytes));
                    if now.is_none() || now != *digest {
                        changed.push(path.clone());
                    }
                }
            }
        }
        let gone = known.keys().filter(|path| !self.root.join(path).is_file());
        let notes = self.rows.files()?.into_iter().filter(|file| !file.note.is_empty());
        Ok(IndexStatus {
            snapshot_id: self.rows.get("snapshot")?.unwrap_or_default(),
            files,
            bytes,
            sections,
            changed,
            new,
            gone: gone.cloned().collect(),
            notes: notes
                .map(|file| Skipped {
                    path: file.path,
                    why: file.note,
                })
                .collect(),
        })
    }

    /// The files of the index, by their paths.
    ///
    /// # Errors
    ///
    /// As [`Index::open`].
    pub fn list(&self) -> Result<Vec<IndexedFile>, Error> {
        self.rows.files()
    }

    /// The units that a selector means, by path and place, at most `limit`; with paths, in these files and folders alone.
    ///
    /// # Errors
    ///
    /// As [`Index::open`].
    pub fn select(
        &self,
        selector: &Selector,
        paths: &[String],
        limit: usize,
    ) -> Result<FoundUnits, Error> {
        let scopes: BTreeSet<String> =
            paths.iter().map(|path| path.trim_end_matches('/').to_owned()).collect();
        let mut found = FoundUnits {
            units: Vec::new(),
            left_out: 0,
            files_left: 0,
            nearest: None,
            changed: Vec::new(),
        };
        let is_finer = selector.reaches().iter().any(|reach| reach.is_finer);
        let mut paths = self.candidates(selector, &scopes)?.into_iter();
        while let Some(path) = paths.next() {
            let Some(document) = self.document(&path)? else {
                continue;
            };
            let (document, snapshot) = if is_finer {
                match load(&self.root, &path, Fineness::All) {
                    Ok(loaded) => {
                        if snapshot_id(&path, loaded.digest) != document.1 {
                            found.changed.push(path.clone());
                        }
                        let snapshot = loaded.snapshot_id();
                        (loaded.document, snapshot)
                    }
                    Err(_) => {
                        found.changed.push(path.clone());
                        continue;
                    }
                }
            } else {
                document
            };
            for at in selector.find(&document) {
                if found.units.len() < limit {
                    found.units.extend(found_unit(&document, at, snapshot.clone()));
                } else {
                    found.left_out += 1;
                }
            }
            if found.units.len() >= limit {
                found.files_left = paths.len();
                break;
            }
        }
        if found.units.is_empty() {
            found.nearest = Some(self.miss(selector, &scopes)?);
        }
        Ok(found)
    }

    /// The values of JSON, YAML and frontmatter that a JSONPath finds, by path and place, at most `limit`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when the query would look at too many nodes; as [`Index::open`].
    pub fn values(
        &self,
        query: &JsonPath,
        paths: &[String],
        limit: usize,
    ) -> Result<FoundUnits, Error> {
        let scopes: BTreeSet<String> =
            paths.iter().map(|path| path.trim_end_matches('/').to_owned()).collect();
        let mut found = FoundUnits {
            units: Vec::new(),
            left_out: 0,
            files_left: 0,
            nearest: None,
            changed: Vec::new(),
        };
        let mut asked = 0;
        let mut paths = self.structured(&scopes)?.into_iter();
        while let Some(path) = paths.next() {
            if found.units.len() >= limit {
                found.files_left = 1 + paths.len();
                break;
            }
            let Ok(loaded) = load(&self.root, &path, Fineness::Sections) else {
                found.changed.push(path);
                continue;
            };
            asked += 1;
            for unit in loaded.values(query).unwrap_or_default() {
                if found.units.len() >= limit {
                    found.left_out += 1;
                    continue;
                }
                found.units.push(FoundUnit {
                    path: path.clone(),
                    snapshot_id: loaded.snapshot_id(),
                    kind: unit.kind,
                    index: unit.index,
                    name: unit.name,
                    trail: Vec::new(),
                    level: 0,
                    language: unit.language,
                    lines: unit.lines,
                    bytes: (unit.bytes.start, unit.bytes.end),
                    score: None,
                });
            }
        }
        if found.units.is_empty() {
            found.nearest = Some(format!(
                "{asked} files with JSON, YAML or frontmatter were asked"
            ));
        }
        Ok(found)
    }

    /// The paths of the files that hold JSON, YAML or frontmatter.
    pub(crate) fn structured(&self, scopes: &BTreeSet<String>) -> Result<Vec<String>, Error> {
        let files =
            self.rows.files()?.into_iter().filter(|file| {
                matches!(&*file.kind, "json" | "yaml") || !file.frontmatter.is_empty()
            });
        let paths = files.map(|file| file.path);
        Ok(paths.filter(|path| scopes.is_empty() || is_below(path, scopes)).collect())
    }

    /// The paths of the files in which a selector may find something, in order.
    pub(crate) fn candidates(
        &self,
        selector: &Selector,
        scopes: &BTreeSet<String>,
    ) -> Result<Vec<String>, Error> {
        let reaches = selector.reaches();
        let headings: Option<Vec<_>> = reaches.iter().map(|reach| reach.heading).collect();
        let mut paths: BTreeSet<String> = BTreeSet::new();
        match headings {
            Some(headings) => {
                for heading in headings {
                    paths.extend(self.rows.with_heading(heading)?);
                }
            }
            None => paths.extend(self.rows.paths()?),
        }
        paths.retain(|path| {
            selector.may_be_at(path) && (scopes.is_empty() || is_below(path, scopes))
        });
        Ok(paths.into_iter().collect())
    }

    /// A file as the units that the index holds, and the id of its state; none of one that was not read.
    fn document(&self, path: &str) -> Result<Option<(DocumentUnits, String)>, Error> {
        let Some(file) = self.rows.file(path)?.filter(|file| file.kind != UNREAD) else {
            return Ok(None);
        };
        let parts = self.rows.parts(path)?;
        let snapshot = snapshot_id(path, file.digest.unwrap_or_else(|| Digest::of(b"")));
        Ok(Some((document_of(&file, &parts), snapshot)))
    }

    /// Says what is nearest to a selector that found nothing.
    pub(crate) fn miss(
        &self,
        selector: &Selector,
        scopes: &BTreeSet<String>,
    ) -> Result<String, Error> {
        let mut documents = Vec::new();
        let unscoped = scopes.is_empty();
        if unscoped {
            // One document that has all headings says as much as all documents.
            let mut document = DocumentUnits::default();
            for heading in self.rows.headings()? {
                document.units.push(Unit {
                    kind: UnitKind::Section,
                    index: 0,
                    parent: None,
                    name: heading,
                    level: 1,
                    language: String::new(),
                    bytes: 0..0,
                    lines: (1, 1),
                });
            }
            documents.push(document);
        } else {
            for path in self.rows.paths()?.into_iter().filter(|path| is_below(path, scopes)) {
                documents.extend(self.document(&path)?.map(|(document, _)| document));
            }
            if documents.is_empty() {
                let scopes: Vec<String> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
                return Ok(format!(
                    "the index has no file at {}; `tenure index list` names all",
                    scopes.join(", ")
                ));
            }
        }
        Ok(selector.miss(&documents))
    }

    /// The parts of documents that are nearest to these words, the nearest first: sections, and what stands before the first
    /// one. With paths, in these files and folders alone. The words choose up to 200 of them; with an encoder, its vectors
    /// rank these beside the words.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](tenure::ErrorKind::Input) when no word says anything; as [`Index::open`].
    pub fn search(
        &self,
        words: &str,
        paths: &[String],
        limit: usize,
        embedder: Option<&dyn Embedder>,
    ) -> Result<FoundUnits, Error> {
        let scopes: BTreeSet<String> =
            paths.iter().map(|path| path.trim_end_matches('/').to_owned()).collect();
        let mut terms = BTreeSet::new();
        Terms::default().each_word(words, |term| {
            terms.insert(term.to_owned());
        });
        if terms.is_empty() {
            return Err(Error::input("the search has only stop words")
                .expected("words of the texts to find"));
        }
        let terms: Vec<String> = terms.into_iter().collect();
        let most = (limit * RANKED_FOR_ONE).clamp(*RANKED.start(), *RANKED.end()).max(limit);
        let most = if scopes.is_empty() {
            most
        } else {
            usize::MAX >> 1
        };
        let mut parts = self.rows.search(&terms, most)?;
        parts.retain(|part| scopes.is_empty() || is_below(&part.path, &scopes));
        parts.truncate((*RANKED.end()).max(limit));
        parts.sort_by(|a, b| (&a.path, a.part.bytes).cmp(&(&b.path, b.part.bytes)));
        let mut found = FoundUnits {
            units: Vec::new(),
            left_out: 0,
            files_left: 0,
            nearest: None,
            changed: Vec::new(),
        };
        let texts = self.own_texts(parts, &mut found.changed)?;
        let names: Vec<String> = texts
            .iter()
            .map(|(unit, _)| {
                format!(
                    "{} {} {}",
                    unit.path.replace(['/', '.', '-', '_'], " "),
                    unit.trail.join(" "),
                    unit.name
                )
            })
            .collect();
        let units: Vec<Ranked<'_>> = texts
            .iter()
            .zip(&names)
            .map(|((_, text), name)| Ranked {
                name,
                text,
                ..Ranked::default()
            })
            .collect();
        let near = match embedder {
            Some(embedder) => {
                let texts: Vec<&str> = texts.iter().map(|(_, text)| &**text).collect();
                let kept_in = self.root.join(TREE_FOLDER).join(VECTORS_FILE);
                let kept_in = (kept_in.as_path(), self.mark);
                Some(nearness::similarities(kept_in, embedder, words, &texts)?)
            }
            None => None,
        };
        let ranked = Ranker::new(&units, Weights::default().alone()).rank(words, near.as_deref());
        for (at, score) in ranked.into_iter().filter(|(_, score)| *score > 0.0) {
            if found.units.len() >= limit {
                found.left_out += 1;
            } else if let Some((unit, _)) = texts.get(at) {
                found.units.push(FoundUnit {
                    score: Some(Score::clamped(score)),
                    ..unit.clone()
                });
            }
        }
        if found.units.is_empty() {
            found.nearest = Some(format!(
                "no part has any of these words: {}",
                terms.join(", ")
            ));
        }
        Ok(found)
    }

    /// The parts as units, each with the text under its own heading, in their order.
    fn own_texts(
        &self,
        parts: Vec<FoundPart>,
        changed: &mut Vec<String>,
    ) -> Result<Vec<(FoundUnit, String)>, Error> {
        let mut texts: Vec<(FoundUnit, String)> = Vec::new();
        let mut open: Option<(String, Option<Opened>)> = None;
        for part in parts {
            if open.as_ref().is_none_or(|(path, _)| *path != part.path) {
                open = Some((part.path.clone(), self.opened(&part.path, changed)?));
            }
            let Some(opened) = open.as_ref().and_then(|(_, opened)| opened.as_ref()) else {
                continue;
            };
            let (start, end) = (part.part.bytes.0 as usize, part.part.own_ends as usize);
            let bytes = opened.bytes.get(start..end).unwrap_or_default();
            let decoded = String::from_utf8_lossy(bytes);
            let text = decoded.trim_end();
            let mut units = opened.document.units.iter();
            let at = match part.part.number {
                Some(number) => {
                    units.position(|unit| unit.kind == UnitKind::Section && unit.index == number)
                }
                None => Some(0),
            };
            let unit =
                at.and_then(|at| found_unit(&opened.document, at, opened.snapshot_id.clone()));
            if let Some(mut unit) = unit {
                // A search finds what stands under the heading itself; sections below are found by their own words.
                if unit.kind == UnitKind::Section {
                    unit.bytes.1 = (start + text.len()) as u64;
                    unit.lines.1 = unit.lines.0 + text.matches('\n').count() as u32;
                }
                texts.push((unit, text.to_owned()));
            }
        }
        Ok(texts)
    }

    /// A file's bytes with the units that the index holds; none of one that was changed since it was indexed, whose places
    /// are others now.
    fn opened(&self, path: &str, changed: &mut Vec<String>) -> Result<Option<Opened>, Error> {
        let Some((document, snapshot_id)) = self.document(path)? else {
            return Ok(None);
        };
        let bytes = read_inside(&self.root, path)
            .ok()
            .filter(|bytes| self::snapshot_id(path, Digest::of(bytes)) == snapshot_id);
        if bytes.is_none() {
            changed.push(path.to_owned());
        }
        Ok(bytes.map(|bytes| Opened {
            bytes,
            document,
            snapshot_id,
        }))
    }
}

/// A file that is as it was indexed.
struct Opened {
    bytes: Vec<u8>,
    document: DocumentUnits,
    snapshot_id: String,
}

/// Returns whether a path is one of these or lies below one.
pub(crate) fn is_below(path: &str, scopes: &BTreeSet<String>) -> bool {
    scopes.iter().any(|scope| {
        let behind = path.strip_prefix(scope.as_str());
        scope.is_empty()
            || behind.is_some_and(|behind| behind.is_empty() || behind.starts_with('/'))
    })
}

/// A document as the index holds it.
fn document_of(file: &IndexedFile, parts: &[IndexedPart]) -> DocumentUnits {
    let mut document = DocumentUnits {
        path: file.path.clone(),
        frontmatter: serde_json::from_str(&file.frontmatter).unwrap_or_default(),
        labels: file.labels.clone(),
        units: vec![Unit {
            kind: UnitKind::Document,
            index: 0,
            parent: None,
            name: String::new(),
            level: 0,
            language: file.language.clone(),
            bytes: 0..file.size,
            lines: (1, file.lines.max(1)),
        }],
    };
    if file.front > 0 {
        document.units.push(Unit {
            kind: UnitKind::Frontmatter,
            index: 0,
            parent: Some(0),
            name: String::new(),
            level: 0,
            language: "yaml".to_owned(),
            bytes: 0..file.front,
            lines: (1, 1),
        });
    }
    let first = document.units.len() as u32;
    for part in parts {
        let (Some(number), Some(heading)) = (part.number, &part.heading) else {
            continue;
        };
        document.units.push(Unit {
            kind: UnitKind::Section,
            index: number,
            parent: Some(part.parent.map_or(0, |parent| first + parent)),
            name: heading.clone(),
            level: part.level,
            language: String::new(),
            bytes: part.bytes.0..part.bytes.1,
            lines: part.lines,
        });
    }
    document
}
