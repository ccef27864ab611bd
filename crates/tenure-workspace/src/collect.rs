//! Collecting candidates from files and folders. What is not fetched is reported, so that nothing is
//! lost unseen.

mod options;

pub use options::{Collect, Progress, Warning, WarningKind};

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure::error::Location;
use tenure::object::{LOCAL_TENANT, MAX_NAME, ObjectType, Sealer, clip};
use tenure::registry::Secrets;
use tenure::{Candidates, ContextObject, Error, ObjectDocument, Unfetched};

use crate::code_tree::read_tree;
use crate::json_schema::{self, Draft, Malformed};
use crate::snapshot::{is_snapshot, only_label, read_snapshot};
use crate::sources::{Sourced, stem_of};
use crate::walk::{FoundFiles, Source, find};
use tenure_adapters::read::read_text;

/// The objects that were collected, with warnings.
#[derive(Debug, Default)]
pub struct Collected {
    /// The objects, and what was not fetched.
    pub candidates: Candidates,
    /// Warnings for the owner of the sources, in the order in which it was found.
    pub warnings: Vec<Warning>,
}

/// Reads the objects of these files and folders, in order. Folders are walked by name.
pub(crate) fn collect(paths: &[PathBuf], options: &Collect<'_>) -> Result<Collected, Error> {
    let FoundFiles {
        sources,
        mut unfetched,
        mut warnings,
    } = find(paths, options)?;
    let mut sealer = Sealer::default();
    let mut objects = Vec::new();
    let mut names = Names::default();
    let of = sources.len();
    for (files, source) in sources.into_iter().enumerate() {
        if let Some(progress) = options.progress {
            progress(Progress { files, of });
        }
        let shown = source.path.display().to_string();
        if source.documents.is_none() && may_be_snapshot(&source.path, options) {
            for object in blocks_of(&source.path, options)? {
                let tenant = &*object.revision().scope().tenant;
                names.take_name(tenant, object.name(), &shown, None)?;
                objects.push((object, None));
            }
            continue;
        }
        let (origin, path) = (source.origin.clone(), source.path.clone());
        let is_lenient = source.is_come_upon && !options.strict;
        let mut left_out = |error: Error, unfetched: &mut Vec<Unfetched>| {
            if !is_lenient {
                return Err(error);
            }
            unfetched.push(Unfetched::new(origin.clone(), error.what.clone()));
            warnings.push(Warning {
                kind: WarningKind::File,
                name: origin.clone(),
                what: format!("left out: {}", error.what),
                at: error.at,
            });
            Ok(())
        };
        let read = match documents(source, options) {
            Ok(read) => read,
            Err(error) => {
                left_out(error, &mut unfetched)?;
                continue;
            }
        };
        for sourced in read {
            let line = sourced.line;
            let is_empty = sourced.document.content.trim().is_empty();
            if is_lenient && sourced.is_named_by_file && is_empty {
                unfetched.push(Unfetched::new(origin.clone(), "empty"));
                continue;
            }
            let is_named_by_file = sourced.is_named_by_file;
            let mut document = owned(sourced, &path, &origin, options);
            if is_named_by_file && names.has(&document) {
                name_by_folder(&mut document, &path, &origin);
            }
            let overrun = overrun(&document, options, &shown, line);
            let sealed = check_schemas(&document)
                .and_then(|()| names.take(&document, &shown, Some(line)))
                .and_then(|()| sealer.seal(document));
            match sealed {
                Ok(sealed) => objects.push((sealed, overrun)),
                Err(error) => left_out(error.or_at(&shown, Some(line)), &mut unfetched)?,
            }
        }
    }
    for root in &options.code {
        let folder = root.file_name().map(|name| name.to_string_lossy());
        let prefix = folder.as_deref().filter(|_| options.code.len() > 1);
        let tree = read_tree(root, prefix)?;
        unfetched.extend(tree.unfetched);
        warnings.extend(tree.warnings);
        for mut document in tree.documents {
            document.tenant_id = document.tenant_id.or_else(|| options.tenant.clone());
            let shown = root.join(&document.name).display().to_string();
            names.take(&document, &shown, None)?;
            let sealed = sealer.seal(document);
            objects.push((sealed.map_err(|error| error.or_at(&shown, None))?, None));
        }
    }
    if let Some(progress) = options.progress {
        progress(Progress { files: of, of });
    }
    let (objects, long): (Vec<_>, Vec<_>) = objects.into_iter().unzip();
    warnings.extend(long.into_iter().flatten());
    Ok(Collected {
        candidates: Candidates::new(objects).with_unfetched(unfetched),
        warnings,
    })
}

/// A document with what collecting says of it: whose it is, where it is from, how far it is trusted.
fn owned(sourced: Sourced, path: &Path, origin: &str, options: &Collect<'_>) -> ObjectDocument {
    let mut document = sourced.document;
    document.tenant_id = document.tenant_id.or_else(|| options.tenant.clone());
    document.source_origin = document.source_origin.or_else(|| Some(origin.to_owned()));
    document.distrust_the_web();
    if sourced.is_named_by_file && document.object_id.is_none() {
        // Names were once those of files without their folders. What stores hold under them goes on.
        let rest = document.name.get(name_of(origin).len()..).unwrap_or("");
        let once = format!("{}{rest}", stem_of(path));
        document.object_id = Some(document.id_when_named(&once));
    }
    document
}

/// Tells a file of one folder that was named from that of another, where both have the same path within theirs.
fn name_by_folder(document: &mut ObjectDocument, path: &Path, origin: &str) {
    let depth = Path::new(origin).components().count();
    let folder = path.ancestors().nth(depth).and_then(Path::file_name);
    if let Some(folder) = folder {
        let folder = folder.to_string_lossy();
        document.name = format!("{folder}/{}", document.name);
        document.source_origin = Some(format!("{folder}/{origin}"));
        document.object_id = None;
    }
}

/// The name of objects without one of their own: their file's path, but for the ending of Markdown. Where a section's
/// name would be too long with it, the file's name alone.
fn name_of(origin: &str) -> &str {
    let origin = match origin.rsplit_once('/') {
        Some((_, file)) if origin.len() > MAX_PATH_IN_NAME => file,
        _ => origin,
    };
    let lower = origin.to_ascii_lowercase();
    let ending = [".markdown", ".md", ".json"]
        .into_iter()
        .find(|ending| lower.ends_with(ending));
    &origin[..origin.len() - ending.map_or(0, str::len)]
}

/// The names that are taken, each with the place of its object.
#[derive(Default)]
struct Names(BTreeMap<(String, String), Location>);

impl Names {
    /// Whether the document's name is taken.
    fn has(&self, document: &ObjectDocument) -> bool {
        let tenant = document.tenant_id.as_deref().unwrap_or(LOCAL_TENANT);
        let name = (tenant.to_owned(), document.name.clone());
        self.0.contains_key(&name)
    }

    fn take(
        &mut self,
        document: &ObjectDocument,
        source: &str,
        line: Option<usize>,
    ) -> Result<(), Error> {
        let tenant = document.tenant_id.as_deref().unwrap_or(LOCAL_TENANT);
        self.take_name(tenant, &document.name, source, line)
    }

    fn take_name(
        &mut self,
        tenant: &str,
        name: &str,
        source: &str,
        line: Option<usize>,
    ) -> Result<(), Error> {
        let place = Location {
            source: source.to_owned(),
            line,
        };
        match self.0.entry((tenant.to_owned(), name.to_owned())) {
            Entry::Vacant(free) => {
                free.insert(place);
                Ok(())
            }
            Entry::Occupied(first) => Err(Error::input(format!(
                "two objects are named `{}`",
                clip(name)
            ))
            .at(source, line)
            .expected("a different name for each object")
            .hint(format!("the first is at {}", first.get()))),
        }
    }
}

/// Returns whether a file may be a snapshot, so that its start is read: it has no format's extension, or that of
/// JSON.
fn may_be_snapshot(path: &Path, options: &Collect<'_>) -> bool {
    let json = path
        .extension()
        .is_some_and(|extension| extension == "json");
    (json || !options.formats.knows(path)) && is_snapshot(path)
}

/// The objects of one registry of a snapshot, in order.
fn blocks_of(path: &Path, options: &Collect<'_>) -> Result<Vec<Arc<ContextObject>>, Error> {
    // No address is asked for here, so no secret is needed.
    let mut registries = read_snapshot(path, Secrets::new([0; 32], [0; 32]))?;
    let label = only_label(&registries, options.registry.as_deref())
        .map_err(|error| error.or_at(path.display().to_string(), None))?;
    let view = registries.view(&label)?;
    Ok(view.objects().cloned().collect())
}

/// The documents of a source: those that finding it made, or what its format's parser makes of it.
fn documents(source: Source, options: &Collect<'_>) -> Result<Vec<Sourced>, Error> {
    if let Some(documents) = source.documents {
        return Ok(documents);
    }
    if !options.formats.knows(&source.path) {
        return Err(options.formats.unknown(&source.path));
    }
    let text = read_text(&source.path)?;
    let name = name_of(&source.origin);
    let parsed = options
        .formats
        .parse(&source.path, name, &text, options.split);
    parsed.map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        error.at(source.path.display().to_string(), line)
    })
}

/// The warning that an object is longer than the encoder sees. What was retrieved or said is not its
/// author's to cut.
fn overrun(
    document: &ObjectDocument,
    options: &Collect<'_>,
    shown: &str,
    line: usize,
) -> Option<Warning> {
    let found = matches!(
        document.object_type,
        Some(
            ObjectType::RetrievedPassage
                | ObjectType::ToolResult
                | ObjectType::Turn
                | ObjectType::Checkpoint
        )
    );
    let encoder = options.encoder.as_ref().filter(|_| !found)?;
    let tokens = encoder.overrun(&document.content)?;
    Some(Warning {
        kind: WarningKind::Encoder,
        name: document.name.clone(),
        what: format!(
            "about {tokens} tokens; {} sees the first {}",
            encoder.name, encoder.max_tokens
        ),
        at: Some(Location {
            source: shown.to_owned(),
            line: Some(line),
        }),
    })
}

/// The end of a place in a file, where the keyword stands, as it can be shown.
fn end_of(at: &str) -> String {
    let start = at.ceil_char_boundary(at.len().saturating_sub(LONGEST_PLACE));
    let shown = at[start..].replace(char::is_control, "\u{FFFD}");
    if start == 0 {
        shown
    } else {
        format!("…{shown}")
    }
}

/// The longest path that names the objects of its file, in bytes, so that its sections still have names.
const MAX_PATH_IN_NAME: usize = MAX_NAME - 80;

/// The most of a place that is shown, in bytes.
const LONGEST_PLACE: usize = 120;

/// A tool's schemas must be JSON Schema in the draft that they name, 2020-12 when they name none.
fn check_schemas(document: &ObjectDocument) -> Result<(), Error> {
    if document.object_type != Some(ObjectType::ToolSchema) {
        return Ok(());
    }
    for (field, schema) in [
        ("input_schema", &document.input_schema),
        ("output_schema", &document.output_schema),
    ] {
        let Some(schema) = schema else { continue };
        let draft = Draft::of(schema).map_err(|named| {
            Error::input(format!(
                "tool `{}`: unknown draft `{}`",
                clip(&document.name),
                clip(named)
            ))
            .expected("a `$schema` from draft-04 to 2020-12, or none")
        })?;
        json_schema::check(schema, draft).map_err(|Malformed { at, expected }| {
            let at = end_of(&at);
            let what = format!(
                "tool `{}`: `{field}{at}` is not JSON Schema",
                clip(&document.name)
            );
            Error::input(what).expected(expected)
        })?;
    }
    Ok(())
}
