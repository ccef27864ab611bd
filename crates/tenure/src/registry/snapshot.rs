//! All registries and their references in one text, and back.
//!
//! A snapshot is JSON Lines: a header, a line for each block in order, and a last line with the number
//! of lines and the SHA-256 of all bytes before it, so that a snapshot cut short anywhere is known for
//! one. Restored blocks have the authors and the protection they had, and fresh addresses; evicted
//! blocks leave no gap. What was done before is not in it: the log is the store's.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::permissions::Kind;
use super::slot::Slot;
use super::state::State;
use super::{Registries, Registry, Secrets};
use crate::base::digest::Digest;
use crate::base::error::{Error, unknown_name};
use crate::base::text::clip;
use crate::object::{Canonical, ContextObject, ObjectDocument, Overrides, Sealer, check_name};

/// The version of the snapshot's form.
pub const SNAPSHOT_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    tenure_snapshot: u32,
    /// The id of the set, which capabilities' tokens are signed for.
    set: String,
    registries: Vec<RegistryHeader>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RegistryHeader {
    label: Arc<str>,
    kind: Kind,
    blocks: usize,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    references: BTreeSet<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prefix: Option<Arc<ContextObject>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    suffix: Option<Arc<ContextObject>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
    uses: u32,
    operations: u64,
}

#[derive(Serialize)]
struct BlockOut<'a> {
    object: Canonical<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overrides: Option<&'a Overrides>,
    #[serde(skip_serializing_if = "Option::is_none")]
    writer: Option<&'a str>,
    /// The number of blocks that were written before it, left out where that is its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<u32>,
    #[serde(skip_serializing_if = "is_zero")]
    uses: u32,
    #[serde(skip_serializing_if = "is_zero")]
    last_use: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockIn<'a> {
    object: ObjectDocument,
    #[serde(default)]
    overrides: Overrides,
    #[serde(borrow)]
    writer: Option<Cow<'a, str>>,
    written: Option<u32>,
    #[serde(default)]
    uses: u32,
    #[serde(default)]
    last_use: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Footer {
    lines: usize,
    sha256: Digest,
}

impl Registries {
    /// All registries and their references as one text. The same registries give the same text.
    ///
    /// # Errors
    ///
    /// None that a caller can cause: every object was read or written as JSON before.
    pub fn snapshot(&self) -> Result<String, Error> {
        let registries = self.registries.iter().map(|(label, registry)| {
            let state = &registry.state;
            RegistryHeader {
                label: Arc::clone(label),
                kind: registry.kind,
                blocks: state.len(),
                references: registry.references.clone(),
                prefix: state.prefix.clone(),
                suffix: state.suffix.clone(),
                limit: state.limit,
                uses: state.ticks,
                operations: state.number,
            }
        });
        let header = Header {
            tenure_snapshot: SNAPSHOT_VERSION,
            set: format!("{:032x}", self.set),
            registries: registries.collect(),
        };
        let bytes: u64 = self.registries.values().map(|registry| registry.state.bytes()).sum();
        let blocks: usize = self.registries.values().map(|registry| registry.state.len()).sum();
        let mut out = Vec::with_capacity(bytes as usize + blocks * 160 + 512);
        line(&mut out, &header)?;
        for (label, registry) in &self.registries {
            for ((_, slot), written) in registry.state.blocks().zip(registry.state.written()) {
                let overrides = slot.object.overrides();
                let block = BlockOut {
                    object: Canonical::of(&slot.object),
                    overrides: (*overrides != Overrides::default()).then_some(overrides),
                    writer: (slot.writer != *label).then_some(&*slot.writer),
                    written,
                    uses: slot.uses,
                    last_use: slot.last_use,
                };
                line(&mut out, &block)?;
            }
        }
        let footer = Footer {
            lines: blocks + 1,
            sha256: Digest::of(&out),
        };
        line(&mut out, &footer)?;
        String::from_utf8(out).map_err(|_| Error::assertion("JSON is UTF-8"))
    }

    /// The registries of a snapshot, with fresh addresses. The host issues their capabilities, or
    /// redeems tokens that were signed with the same secret. [`Snapshot`] does the same in parts.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when the text is no snapshot, is cut short or
    /// changed, or of a newer version, with the line.
    pub fn restore(text: &str, secrets: Secrets) -> Result<Registries, Error> {
        let snapshot = Snapshot::open(text)?;
        let blocks = snapshot.parts(1).into_iter().map(Part::read).collect::<Result<_, Error>>()?;
        snapshot.restore(blocks, secrets)
    }
}

/// A snapshot whose checksum holds and whose blocks are not read yet. They can be read in parts, by
/// as many threads as the caller has.
///
/// ```
/// use tenure::registry::{Kind, Registries, Secrets, Snapshot};
/// # let secrets = || Secrets::new([1; 32], [2; 32]);
/// let mut registries = Registries::new(secrets());
/// registries.create("main", Kind::Agent)?;
/// let text = registries.snapshot()?;
///
/// let snapshot = Snapshot::open(&text)?;
/// let blocks = snapshot.parts(2).into_iter().map(|part| part.read()).collect::<Result<_, _>>()?;
/// assert_eq!(snapshot.restore(blocks, secrets())?.labels().collect::<Vec<_>>(), ["main"]);
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct Snapshot<'t> {
    header: Header,
    set: u128,
    labels: Arc<BTreeSet<Arc<str>>>,
    /// The lines of the blocks.
    body: &'t str,
}

/// Some of the blocks of a snapshot.
pub struct Part<'t> {
    /// The number of the first of the lines, counted from 0.
    first: usize,
    lines: &'t str,
    labels: Arc<BTreeSet<Arc<str>>>,
}

/// Blocks that were read, without what the header says of them.
pub struct Blocks(Vec<Draft>);

struct Draft {
    object: Arc<ContextObject>,
    /// None for the registry itself.
    writer: Option<Arc<str>>,
    written: Option<u32>,
    uses: u32,
    last_use: u32,
}

fn known(labels: &BTreeSet<Arc<str>>, label: &str, line: usize) -> Result<Arc<str>, Error> {
    labels.get(label).cloned().ok_or_else(|| {
        let known = labels.iter().map(|label| &**label);
        at(line, unknown_name("registry", label, known))
    })
}

impl<'t> Snapshot<'t> {
    /// Looks at the version, the checksum and the header.
    ///
    /// # Errors
    ///
    /// As [`Registries::restore`].
    pub fn open(text: &'t str) -> Result<Snapshot<'t>, Error> {
        let (whole, footer) = sealed(text)?;
        let (first, body) = whole.split_once('\n').unwrap_or((whole, ""));
        let header: Header = serde_json::from_str(first).map_err(|error| bad_json(&error, 0))?;
        let set = u128::from_str_radix(&header.set, 16)
            .ok()
            .filter(|_| header.set.len() == 32)
            .ok_or_else(|| {
                let error = Error::input("the id of the snapshot is malformed");
                at(0, error.expected("32 hexadecimal digits"))
            })?;
        let blocks = header
            .registries
            .iter()
            .map(|registry| registry.blocks)
            .fold(0usize, usize::saturating_add);
        if blocks.saturating_add(1) != footer.lines {
            return Err(at(
                0,
                Error::input(format!("the header counts {blocks} blocks"))
                    .expected(format!("{}, which is how many there are", footer.lines - 1)),
            ));
        }
        let mut labels = BTreeSet::new();
        for RegistryHeader { label, .. } in &header.registries {
            check_name(label).map_err(|error| at(0, error))?;
            if !labels.insert(Arc::clone(label)) {
                let what = format!("two registries are labelled `{}`", clip(label));
                return Err(at(
                    0,
                    Error::input(what).expected("a label of its own for each"),
                ));
            }
        }
        for label in header.registries.iter().flat_map(|registry| &registry.references) {
            known(&labels, label, 0)?;
        }
        Ok(Snapshot {
            header,
            set,
            labels: Arc::new(labels),
            body,
        })
    }

    /// Returns the blocks in at most this many parts of about the same size, in order.
    pub fn parts(&self, most: usize) -> Vec<Part<'t>> {
        let mut parts = Vec::new();
        let mut rest = self.body;
        let mut first = 1;
        let size = self.body.len() / most.max(1) + 1;
        while !rest.is_empty() {
            // The next end of a line. In UTF-8 no other character holds its byte.
            let tail = &rest.as_bytes()[size.min(rest.len())..];
            let end = tail
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(rest.len(), |end| rest.len() - tail.len() + end + 1);
            let (lines, next) = rest.split_at(end);
            parts.push(Part {
                first,
                lines,
                labels: Arc::clone(&self.labels),
            });
            first += lines.lines().count();
            rest = next;
        }
        parts
    }

    /// The registries, of all blocks in the order of their parts.
    ///
    /// # Errors
    ///
    /// As [`Registries::restore`].
    pub fn restore(self, blocks: Vec<Blocks>, secrets: Secrets) -> Result<Registries, Error> {
        let mut drafts = blocks.into_iter().flat_map(|Blocks(drafts)| drafts);
        let mut registries = BTreeMap::new();
        let mut first = 1;
        for registry in self.header.registries {
            // By when they were written, which is what their numbers say.
            let mut own: Vec<(u32, u32, Draft)> = drafts
                .by_ref()
                .take(registry.blocks)
                .zip(0u32..)
                .map(|(draft, place)| (draft.written.unwrap_or(place), place, draft))
                .collect();
            if own.len() != registry.blocks {
                return Err(at(first, Error::input("parts of the snapshot are missing")));
            }
            own.sort_by_key(|(written, place, _)| (*written, *place));
            let mut order = vec![0; own.len()];
            for (number, (_, place, _)) in (0u32..).zip(&own) {
                order[*place as usize] = number;
            }
            let places: Vec<u32> = own.iter().map(|(_, place, _)| *place).collect();
            let slots = own
                .into_iter()
                .map(|(_, _, draft)| Slot {
                    object: draft.object,
                    writer: draft.writer.unwrap_or_else(|| Arc::clone(&registry.label)),
                    uses: draft.uses,
                    last_use: draft.last_use,
                })
                .collect();
            let mut state = State::of(Arc::clone(&registry.label), slots, &order).map_err(
                |(number, error)| {
                    let place = places.get(number).map_or(0, |place| *place as usize);
                    at(first + place, error)
                },
            )?;
            first += registry.blocks;
            (state.prefix, state.suffix) = (registry.prefix, registry.suffix);
            state.limit = registry.limit;
            (state.ticks, state.number) = (registry.uses, registry.operations);
            let mut restored = Registry::new(registry.kind, state);
            restored.references = registry.references;
            registries.insert(registry.label, restored);
        }
        Ok(Registries {
            secrets,
            set: self.set,
            registries,
            logs: false,
        })
    }
}

impl Part<'_> {
    /// Reads and seals the blocks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) with the line.
    pub fn read(self) -> Result<Blocks, Error> {
        let mut sealer = Sealer::default();
        let mut drafts = Vec::with_capacity(self.lines.len() / 512);
        for (line, number) in self.lines.lines().zip(self.first..) {
            let block: BlockIn<'_> =
                serde_json::from_str(line).map_err(|error| bad_json(&error, number))?;
            let writer = block.writer.as_deref().map(|label| known(&self.labels, label, number));
            if let Some(name) = &block.overrides.name {
                check_name(name).map_err(|error| at(number, error))?;
            }
            let sealed = sealer.seal(block.object);
            let mut object = sealed.map_err(|error| at(number, error))?;
            if block.overrides != Overrides::default() {
                object = Arc::new(object.with_overrides(block.overrides));
            }
            drafts.push(Draft {
                object,
                writer: writer.transpose()?,
                written: block.written,
                uses: block.uses,
                last_use: block.last_use,
            });
        }
        Ok(Blocks(drafts))
    }
}

fn at(line: usize, error: Error) -> Error {
    error.at("snapshot", Some(line + 1))
}

fn bad_json(error: &serde_json::Error, line: usize) -> Error {
    at(line, crate::input::request::json_error(error, "snapshot"))
}

/// The lines that the last one vouches for.
fn sealed(text: &str) -> Result<(&str, Footer), Error> {
    version(text)?;
    let lines = text.strip_suffix('\n').and_then(|whole| {
        let end = whole.rfind('\n')? + 1;
        Some((&text[..end], &whole[end..]))
    });
    let parts =
        lines.and_then(|(body, last)| Some((body, serde_json::from_str::<Footer>(last).ok()?)));
    let Some((body, footer)) = parts else {
        return Err(Error::input(format!(
            "the snapshot is cut short after {} bytes",
            text.len()
        ))
        .expected("a last line with the number of lines and their SHA-256")
        .hint("write it again, or take an older one"));
    };
    let lines = body.lines().count();
    if lines != footer.lines || Digest::of(body.as_bytes()) != footer.sha256 {
        return Err(
            Error::input("the snapshot was changed after it was written")
                .expected(format!("{} lines with {}", footer.lines, footer.sha256))
                .hint("write it again, or take an older one"),
        );
    }
    Ok((body, footer))
}

/// Looks at the version first, so that a newer form is known for one, whatever it looks like.
fn version(text: &str) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Version {
        tenure_snapshot: u64,
    }
    let first = text.lines().next().unwrap_or_default();
    let is_whole = text.len() > first.len();
    match serde_json::from_str::<Version>(first) {
        Ok(found) if found.tenure_snapshot == u64::from(SNAPSHOT_VERSION) => Ok(()),
        Ok(found) => Err(Error::input(format!(
            "the snapshot has version {}",
            found.tenure_snapshot
        ))
        .expected(format!("version {SNAPSHOT_VERSION}"))
        .hint("read it with the program that wrote it, or a newer one")),
        Err(_) if !is_whole && first.starts_with("{\"tenure_snapshot\"") => Ok(()),
        Err(_) => Err(Error::input("this is not a snapshot")
            .expected("a file that `tenure import --snapshot` or `tenure registry` wrote")),
    }
}

fn line(out: &mut Vec<u8>, value: &impl Serialize) -> Result<(), Error> {
    serde_json::to_writer(&mut *out, value).map_err(|error| {
        Error::input(format!("the snapshot cannot be written as JSON: {error}"))
    })?;
    out.push(b'\n');
    Ok(())
}
