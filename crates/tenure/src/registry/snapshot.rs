//! All registries and their references in one text, and back.
//!
//! A snapshot is JSON Lines: a header, a line for each block in order, and a last line with the number
//! of lines and the SHA-256 of all bytes before it, so that a snapshot cut short anywhere is known for
//! one. Restored blocks have the authors and the protection they had, and fresh addresses; evicted
//! blocks leave no gap. What was done before is not in it: the log is the store's.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::permissions::Kind;
use super::state::{Slot, State};
use super::{Registries, Registry, Secrets};
use crate::digest::Digest;
use crate::error::{Error, unknown_name};
use crate::object::{
    Canonical, ContextObject, ObjectDocument, Overrides, Sealer, check_name, clip,
};

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
        let bytes: u64 = self
            .registries
            .values()
            .map(|registry| registry.state.bytes())
            .sum();
        let blocks: usize = self
            .registries
            .values()
            .map(|registry| registry.state.len())
            .sum();
        let mut out = Vec::with_capacity(bytes as usize + blocks * 160 + 512);
        line(&mut out, &header)?;
        for (label, registry) in &self.registries {
            for (_, slot) in registry.state.blocks() {
                let overrides = slot.object.overrides();
                let block = BlockOut {
                    object: Canonical::of(&slot.object),
                    overrides: (*overrides != Overrides::default()).then_some(overrides),
                    writer: (slot.writer != *label).then_some(&*slot.writer),
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
    /// redeems tokens that were signed with the same secret.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`](crate::ErrorKind::Input) when the text is no snapshot, is cut short or
    /// changed, or of a newer version, with the line.
    pub fn restore(text: &str, secrets: Secrets) -> Result<Registries, Error> {
        let (body, footer) = sealed(text)?;
        let mut lines = body.lines().enumerate();
        let (_, first) = lines.next().unwrap_or((0, ""));
        let header: Header = serde_json::from_str(first).map_err(|error| bad_json(&error, 0))?;
        let set = u128::from_str_radix(&header.set, 16).ok();
        let set = set.filter(|_| header.set.len() == 32).ok_or_else(|| {
            at(
                0,
                Error::input("the id of the snapshot is malformed")
                    .expected("32 hexadecimal digits"),
            )
        })?;
        let blocks = header.registries.iter().map(|registry| registry.blocks);
        let blocks = blocks.fold(0usize, usize::saturating_add);
        if blocks.saturating_add(1) != footer.lines {
            return Err(at(
                0,
                Error::input(format!("the header counts {blocks} blocks"))
                    .expected(format!("{}, which is how many there are", footer.lines - 1)),
            ));
        }
        let labels: BTreeSet<Arc<str>> = header
            .registries
            .iter()
            .map(|registry| Arc::clone(&registry.label))
            .collect();
        let known = |label: &str, line: usize| {
            labels.get(label).cloned().ok_or_else(|| {
                at(
                    line,
                    unknown_name("registry", label, labels.iter().map(|label| &**label)),
                )
            })
        };
        let mut sealer = Sealer::default();
        let mut registries = Registries {
            secrets,
            set,
            registries: Default::default(),
            logs: false,
        };
        let mut number_of_first = 1;
        for registry in header.registries {
            check_name(&registry.label).map_err(|error| at(0, error))?;
            for label in &registry.references {
                known(label, 0)?;
            }
            let mut slots = Vec::with_capacity(registry.blocks);
            for (number, line) in lines.by_ref().take(registry.blocks) {
                let block: BlockIn<'_> =
                    serde_json::from_str(line).map_err(|error| bad_json(&error, number))?;
                let writer = match &block.writer {
                    None => Arc::clone(&registry.label),
                    Some(label) => known(label, number)?,
                };
                if let Some(name) = &block.overrides.name {
                    check_name(name).map_err(|error| at(number, error))?;
                }
                let mut object = sealer
                    .seal(block.object)
                    .map_err(|error| at(number, error))?;
                if block.overrides != Overrides::default() {
                    object = Arc::new(object.with_overrides(block.overrides));
                }
                slots.push(Slot {
                    object,
                    writer,
                    uses: block.uses,
                    last_use: block.last_use,
                });
            }
            let first = number_of_first;
            number_of_first += slots.len();
            let state = State::of(Arc::clone(&registry.label), slots);
            let mut state = state.map_err(|(block, error)| at(first + block, error))?;
            (state.prefix, state.suffix) = (registry.prefix, registry.suffix);
            state.limit = registry.limit;
            (state.ticks, state.number) = (registry.uses, registry.operations);
            let mut restored = Registry::new(registry.kind, state);
            restored.references = registry.references;
            if registries
                .registries
                .insert(Arc::clone(&registry.label), restored)
                .is_some()
            {
                return Err(at(
                    0,
                    Error::input(format!(
                        "two registries are labelled `{}`",
                        clip(&registry.label)
                    )),
                ));
            }
        }
        Ok(registries)
    }
}

fn at(line: usize, error: Error) -> Error {
    error.at("snapshot", Some(line + 1))
}

fn bad_json(error: &serde_json::Error, line: usize) -> Error {
    at(line, crate::request::json_error(error, "snapshot"))
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
