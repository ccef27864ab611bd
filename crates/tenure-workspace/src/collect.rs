//! Collecting candidates from files and folders. What is not fetched is reported, so that nothing is
//! lost unseen.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tenure::object::{ObjectType, Sealer, clip};
use tenure::{Candidates, Error, ObjectDocument, Unfetched};

use crate::read::read_text;
use crate::sources::{Sourced, parser_for};

/// The most entries that a walk looks at.
const MAX_ENTRIES: usize = 100_000;
/// How deep a walk goes.
const MAX_DEPTH: usize = 16;

/// How to collect.
#[derive(Default)]
pub struct Collect<'a> {
    /// The tenant of objects that name none. Default: the local tenant.
    pub tenant: Option<String>,
    /// Called as work goes on.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

/// How far collecting has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Files read.
    pub files: usize,
    /// Files found.
    pub of: usize,
}

/// A file to read.
struct Source {
    path: PathBuf,
    /// What objects call it: the path within the folder that was named, or the file's name.
    origin: String,
}

/// Reads the objects of these files and folders, in order. Folders are walked for Markdown, by name.
pub(crate) fn collect(paths: &[PathBuf], options: &Collect<'_>) -> Result<Candidates, Error> {
    let mut sources = Vec::new();
    let mut unfetched = Vec::new();
    for path in paths {
        find(path, &mut sources, &mut unfetched)?;
    }
    let mut sealer = Sealer::default();
    let mut objects = Vec::new();
    let mut seen: BTreeMap<(Option<String>, String), String> = BTreeMap::new();
    let of = sources.len();
    for (files, source) in sources.iter().enumerate() {
        if let Some(progress) = options.progress {
            progress(Progress { files, of });
        }
        let shown = source.path.display().to_string();
        for Sourced { document, line } in parse(source)? {
            let place = format!("{shown}:{line}");
            let mut document = document;
            document.tenant_id = document.tenant_id.or_else(|| options.tenant.clone());
            document.source_origin = document
                .source_origin
                .or_else(|| Some(source.origin.clone()));
            check_schemas(&document).map_err(|error| error.or_at(&shown, Some(line)))?;
            let key = (document.tenant_id.clone(), document.name.clone());
            if let Some(first) = seen.insert(key, place.clone()) {
                return Err(Error::input(format!(
                    "two objects are named `{}`",
                    clip(&document.name)
                ))
                .at(&shown, Some(line))
                .expected("a name of its own for each object")
                .hint(format!("the first is at {first}")));
            }
            objects.push(
                sealer
                    .seal(document)
                    .map_err(|error| error.or_at(&shown, Some(line)))?,
            );
        }
    }
    if let Some(progress) = options.progress {
        progress(Progress { files: of, of });
    }
    Ok(Candidates::new(objects).with_unfetched(unfetched))
}

fn parse(source: &Source) -> Result<Vec<Sourced>, Error> {
    let shown = source.path.display().to_string();
    let Some(parser) = parser_for(&source.path) else {
        return Err(Error::input(format!("`{shown}` has no known format"))
            .expected("a file that ends in .md or .json, or a folder"));
    };
    let text = read_text(&source.path)?;
    let stem = source
        .path
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or("unnamed");
    parser(&text, stem).map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        error.at(&shown, line)
    })
}

fn find(
    path: &Path,
    sources: &mut Vec<Source>,
    unfetched: &mut Vec<Unfetched>,
) -> Result<(), Error> {
    let shown = path.display();
    let metadata = fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::input(format!("`{shown}` does not exist")).expected("a file or a folder")
        }
        _ => Error::input(format!("cannot read `{shown}`: {error}")),
    })?;
    if !metadata.is_dir() {
        let origin = path.file_name().map_or_else(
            || shown.to_string(),
            |name| name.to_string_lossy().into_owned(),
        );
        sources.push(Source {
            path: path.to_owned(),
            origin,
        });
        return Ok(());
    }
    let mut walk = Walk {
        root: path,
        sources,
        unfetched,
        entries: 0,
    };
    walk.folder(path, 0)
}

struct Walk<'w> {
    root: &'w Path,
    sources: &'w mut Vec<Source>,
    unfetched: &'w mut Vec<Unfetched>,
    entries: usize,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), Error> {
        let failed = |error: std::io::Error| {
            Error::input(format!(
                "cannot read the folder `{}`: {error}",
                folder.display()
            ))
        };
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(Error::input(format!(
                    "`{}` holds more than {MAX_ENTRIES} entries",
                    self.root.display()
                ))
                .hint("name the files or a smaller folder"));
            }
            entries.push(entry.map_err(failed)?);
        }
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let kind = entry.file_type().map_err(failed)?;
            if name.starts_with('.') {
                self.skip(&path, "hidden");
            } else if kind.is_symlink() {
                self.skip(&path, "a link; name its target to include it");
            } else if kind.is_dir() && depth == MAX_DEPTH {
                self.skip(&path, "too deep");
            } else if kind.is_dir() {
                self.folder(&path, depth + 1)?;
            } else if !kind.is_file() {
                self.skip(&path, "not a file");
            } else if name.eq_ignore_ascii_case("readme.md") {
                self.skip(&path, "a README speaks to people; name it to include it");
            } else if !name.to_ascii_lowercase().ends_with(".md") {
                self.skip(&path, "not Markdown; name it to include it");
            } else {
                let origin = self.relative(&path);
                self.sources.push(Source { path, origin });
            }
        }
        Ok(())
    }

    fn relative(&self, path: &Path) -> String {
        let relative = path.strip_prefix(self.root).unwrap_or(path);
        relative
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect::<Vec<_>>()
            .join("/")
    }

    fn skip(&mut self, path: &Path, why: &str) {
        let what = self.relative(path);
        self.unfetched.push(Unfetched {
            what,
            why: why.to_owned(),
        });
    }
}

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
        let draft = schema
            .get("$schema")
            .and_then(|draft| draft.as_str())
            .unwrap_or("2020-12");
        let result = match draft {
            draft if draft.contains("2020-12") => jsonschema::draft202012::meta::validate(schema),
            draft if draft.contains("2019-09") => jsonschema::draft201909::meta::validate(schema),
            draft if draft.contains("draft-07") => jsonschema::draft7::meta::validate(schema),
            draft if draft.contains("draft-06") => jsonschema::draft6::meta::validate(schema),
            draft if draft.contains("draft-04") => jsonschema::draft4::meta::validate(schema),
            other => {
                return Err(Error::input(format!(
                    "tool `{}`: unknown draft `{}`",
                    document.name,
                    clip(other)
                ))
                .expected("a `$schema` from draft-04 to 2020-12, or none"));
            }
        };
        result.map_err(|error| {
            let path = error.instance_path().to_string();
            let place = if path.is_empty() {
                field.to_owned()
            } else {
                format!("{field}{path}")
            };
            Error::input(format!(
                "tool `{}`: `{place}` is not JSON Schema: {error}",
                clip(&document.name)
            ))
        })?;
    }
    Ok(())
}
