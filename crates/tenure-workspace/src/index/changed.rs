//! Reads the files that changed, on several threads, and writes them into the index in the order of their paths.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use serde_json::Map;
use tenure::package::{Unit, UnitKind};
use tenure::ranker::Terms;
use tenure::{Digest, Error};
use tenure_adapters::read::text_of;
use tenure_store::{FileEntry, IndexedFile, IndexedPart, TreeIndex};

use super::scan::{MAX_FILE, Scanned, read_inside};
use super::{Indexing, Skipped, UNREAD};
use crate::units::{Cut, Fineness, Lines, Reading, cut};

/// The number of files, and of their bytes, that are written in one transaction.
const BATCH: usize = 256;
const BATCH_BYTES: u64 = 4 << 20;
/// The most threads that read files.
const MOST_THREADS: usize = 4;

/// The result of reading what changed.
#[derive(Default)]
pub(super) struct Written {
    pub(super) written: usize,
    pub(super) touched: usize,
    pub(super) notes: Vec<Skipped>,
}

/// A file that was read.
enum ReadFile {
    Entry(Box<FileEntry>),
    /// It holds what it held.
    Same,
    /// It is not there any more, or cannot be opened now.
    Gone(String),
}

/// Reads the files that changed and writes them, batch by batch, in the order of their paths.
pub(super) fn write_changed(
    root: &Path,
    rows: &mut TreeIndex,
    changed: &[&Scanned],
    known: &BTreeMap<String, (String, Option<Digest>)>,
    options: Indexing<'_>,
) -> Result<Written, Error> {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MOST_THREADS)
        .min(changed.len());
    let next = AtomicUsize::new(0);
    let mut done = Written::default();
    let told = std::thread::scope(|scope| -> Result<(), Error> {
        let (sender, receiver) = mpsc::sync_channel::<(usize, ReadFile)>(BATCH);
        for _ in 0..threads {
            let sender = sender.clone();
            let next = &next;
            scope.spawn(move || {
                let mut terms = Terms::default();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = changed.get(at) else { return };
                    let digest = known.get(&file.path).and_then(|(_, digest)| *digest);
                    let read = read_file(root, file, digest, &mut terms);
                    if sender.send((at, read)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        // Threads end out of turn; the order of the paths is that of the rows.
        let mut waiting = BTreeMap::new();
        let mut turn = 0;
        let mut batch = Batch::default();
        for (at, read) in receiver {
            waiting.insert(at, read);
            while let Some(read) = waiting.remove(&turn) {
                let file = changed[turn];
                turn += 1;
                batch.add(file, read, &mut done);
                if batch.is_full() {
                    batch.write(rows)?;
                }
                if let Some(progress) = options.progress {
                    progress(turn, changed.len());
                }
            }
        }
        batch.write(rows)
    });
    told.map(|()| done)
}

/// Rows that are written together.
#[derive(Default)]
struct Batch {
    entries: Vec<FileEntry>,
    touched: Vec<(String, String)>,
    gone: Vec<String>,
    bytes: u64,
}

impl Batch {
    fn add(&mut self, file: &Scanned, read: ReadFile, done: &mut Written) {
        match read {
            ReadFile::Entry(entry) => {
                if !entry.file.note.is_empty() {
                    done.notes.push(Skipped {
                        path: entry.file.path.clone(),
                        why: entry.file.note.clone(),
                    });
                }
                done.written += 1;
                self.bytes += entry.file.size;
                self.entries.push(*entry);
            }
            ReadFile::Same => {
                done.touched += 1;
                self.touched.push((file.path.clone(), file.stamp.clone()));
            }
            ReadFile::Gone(why) => {
                done.written += 1;
                self.gone.push(file.path.clone());
                done.notes.push(Skipped {
                    path: file.path.clone(),
                    why,
                });
            }
        }
    }

    fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES || self.entries.len() + self.touched.len() >= BATCH
    }

    fn write(&mut self, rows: &mut TreeIndex) -> Result<(), Error> {
        let Batch {
            entries,
            touched,
            gone,
            ..
        } = std::mem::take(self);
        if entries.is_empty() && touched.is_empty() && gone.is_empty() {
            return Ok(());
        }
        rows.write(&entries, &touched, &gone)
    }
}

/// Reads a file for the index.
fn read_file(root: &Path, file: &Scanned, known: Option<Digest>, terms: &mut Terms) -> ReadFile {
    let (reading, language) = Reading::of(&file.path).unwrap_or((Reading::Text, ""));
    let unread = |digest: Option<Digest>, note: String| {
        ReadFile::Entry(Box::new(FileEntry {
            file: IndexedFile {
                path: file.path.clone(),
                kind: UNREAD.to_owned(),
                size: file.size,
                stamp: file.stamp.clone(),
                digest,
                note,
                ..IndexedFile::default()
            },
            ..FileEntry::default()
        }))
    };
    if file.size > MAX_FILE {
        return unread(None, format!("larger than {} MiB", MAX_FILE >> 20));
    }
    let bytes = match read_inside(root, &file.path) {
        Ok(bytes) => bytes,
        Err(error) => return ReadFile::Gone(error.what),
    };
    let digest = Digest::of(&bytes);
    if known == Some(digest) {
        return ReadFile::Same;
    }
    if let Err(error) = text_of(&bytes) {
        return unread(Some(digest), error.what);
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return unread(Some(digest), "not UTF-8".to_owned());
    };
    let cut = cut(&file.path, &text, reading, language, Fineness::Sections);
    ReadFile::Entry(Box::new(entry_of(
        file, digest, &text, reading, language, cut, terms,
    )))
}

fn entry_of(
    file: &Scanned,
    digest: Digest,
    text: &str,
    reading: Reading,
    language: &str,
    cut: Cut,
    terms: &mut Terms,
) -> FileEntry {
    let units = &cut.document.units;
    let sections: Vec<(usize, &Unit)> = units
        .iter()
        .enumerate()
        .filter(|(_, unit)| unit.kind == UnitKind::Section)
        .collect();
    let number = |at: u32| {
        units
            .get(at as usize)
            .filter(|unit| unit.kind == UnitKind::Section)
            .map(|unit| unit.index)
    };
    let mut parts = Vec::with_capacity(sections.len() + 1);
    let mut words = Vec::with_capacity(sections.len() + 1);
    let mut count = |text: &str| {
        let mut found = Vec::new();
        terms.each_word(text, |term| found.push(term.to_owned()));
        found
    };
    let lead_ends = sections.first().map_or(text.len() as u64, |(_, unit)| unit.bytes.start);
    let lead = text.get(cut.front as usize..lead_ends as usize).unwrap_or_default();
    if !lead.trim_start_matches('\u{FEFF}').trim().is_empty() {
        let whole = &units[0];
        parts.push(IndexedPart {
            bytes: (cut.front, whole.bytes.end),
            own_ends: lead_ends,
            lines: whole.lines,
            ..IndexedPart::default()
        });
        words.push((count(&file.path), count(lead)));
    }
    for (turn, (_, unit)) in sections.iter().enumerate() {
        let next = sections.get(turn + 1).map_or(text.len() as u64, |(_, next)| next.bytes.start);
        let own = text.get(unit.bytes.start as usize..next as usize).unwrap_or_default();
        parts.push(IndexedPart {
            number: Some(unit.index),
            parent: unit.parent.and_then(number),
            heading: Some(unit.name.clone()),
            level: unit.level,
            bytes: (unit.bytes.start, unit.bytes.end),
            own_ends: next,
            lines: unit.lines,
        });
        words.push((count(&unit.name), count(own)));
    }
    let fields: &Map<String, serde_json::Value> = &cut.document.frontmatter;
    let frontmatter = if fields.is_empty() {
        String::new()
    } else {
        serde_json::Value::Object(fields.clone()).to_string()
    };
    FileEntry {
        file: IndexedFile {
            path: file.path.clone(),
            kind: reading.term().to_owned(),
            language: language.to_owned(),
            size: text.len() as u64,
            stamp: file.stamp.clone(),
            digest: Some(digest),
            lines: Lines::of(text).at((text.len() as u64).saturating_sub(1)),
            frontmatter,
            front: cut.front,
            labels: cut.document.labels.clone(),
            note: cut.note,
        },
        parts,
        terms: words,
    }
}
