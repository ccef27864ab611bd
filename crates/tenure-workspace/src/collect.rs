//! Collecting candidates from files and folders. What is not fetched is reported, so that nothing is
//! lost unseen.

mod mandatory;
mod options;
mod read_as;

pub use options::{Collect, Mandatory, Progress, Warning, WarningKind};
pub(crate) use read_as::{Declared, claims_guidance, file_named};
pub use read_as::{MANIFEST, ReadAs};

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tenure::belief::Claim;
use tenure::error::Location;
use tenure::object::{Authority, LOCAL_TENANT, ObjectType, Provenance, Sealer, clip};
use tenure::registry::Secrets;
use tenure::{Candidates, ContextObject, Digest, Error, ObjectDocument, Unfetched};

use crate::code_tree::read_tree;
use crate::json_schema::{self, Draft, Malformed};
use crate::read::name_of_file;
use crate::snapshot::{may_be_snapshot, only_label, read_snapshot};
use crate::sources::code::made_by_a_program;
use crate::sources::markdown::Split;
use crate::sources::names::{fitting, name_of};
use crate::sources::{Sourced, is_json, is_json_lines, parts, stem_of};
use crate::walk::{FoundFiles, Source, find};
use read_as::{Demoted, demote, looks_like_rules};
use tenure_adapters::read::read_text_up_to;

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
        mut sources,
        unfetched,
        mut warnings,
    } = find(paths, options)?;
    let twice = in_code(&mut sources, options);
    if let Some(mandatory) = &options.mandatory {
        warnings.extend(mandatory.mark(&mut sources));
    }
    let mut collector = Collector {
        options,
        sealer: Sealer::default(),
        names: Names::default(),
        objects: Vec::new(),
        unfetched,
        warnings,
        long: Vec::new(),
    };
    let of = sources.len();
    for (files, source) in sources.into_iter().enumerate() {
        if let Some(progress) = options.progress {
            progress(Progress { files, of });
        }
        collector.source(source)?;
    }
    for root in &options.code {
        collector.code(root, &twice)?;
    }
    if let Some(progress) = options.progress {
        progress(Progress { files: of, of });
    }
    collector.warnings.append(&mut collector.long);
    Ok(Collected {
        candidates: Candidates::new(collector.objects).with_unfetched(collector.unfetched),
        warnings: collector.warnings,
    })
}

/// The files that stand in a tree of source code as well as in what is walked: the walk leaves the source code to the tree, and
/// the tree leaves the documents and instructions, which are returned, to the walk.
fn in_code(sources: &mut Vec<Source>, options: &Collect<'_>) -> BTreeSet<PathBuf> {
    let roots: Vec<PathBuf> = options
        .code
        .iter()
        .filter_map(|root| std::fs::canonicalize(root).ok())
        .collect();
    let mut twice = BTreeSet::new();
    if roots.is_empty() {
        return twice;
    }
    sources.retain(|source| {
        let real = std::fs::canonicalize(&source.path).unwrap_or_else(|_| source.path.clone());
        if !roots.iter().any(|root| real.starts_with(root)) {
            return true;
        }
        let is_code = source.documents.is_none() && options.formats.is_code(&source.path);
        if !is_code {
            twice.insert(real);
        }
        !is_code
    });
    twice
}

/// The files that a walk of this folder comes upon, by their paths with all links resolved.
pub(crate) fn files_of(
    root: &Path,
    options: &Collect<'_>,
) -> Result<BTreeMap<PathBuf, Source>, Error> {
    let found = find(&[root.to_owned()], options)?.sources.into_iter();
    Ok(found
        .filter_map(|source| Some((std::fs::canonicalize(&source.path).ok()?, source)))
        .collect())
}

/// The objects of one file that is named, under the origin that they had when it was read before.
pub(crate) fn read_again(
    source: &Source,
    origin: &str,
    read_as: ReadAs,
    options: &Collect<'_>,
) -> Result<Vec<Arc<ContextObject>>, Error> {
    let mut collector = Collector {
        options,
        sealer: Sealer::default(),
        names: Names::default(),
        objects: Vec::new(),
        unfetched: Vec::new(),
        warnings: Vec::new(),
        long: Vec::new(),
    };
    collector.source(Source {
        path: source.path.clone(),
        origin: origin.to_owned(),
        documents: None,
        is_come_upon: false,
        read_as,
        standing: source.standing,
    })?;
    Ok(collector.objects)
}

/// The state of collecting.
struct Collector<'o> {
    options: &'o Collect<'o>,
    sealer: Sealer,
    names: Names,
    objects: Vec<Arc<ContextObject>>,
    unfetched: Vec<Unfetched>,
    warnings: Vec<Warning>,
    /// The warnings of objects that are long, which come last.
    long: Vec<Warning>,
}

impl Collector<'_> {
    /// Reads one source. Where a walk came upon it, what is wrong with it is reported and ends nothing.
    fn source(&mut self, source: Source) -> Result<(), Error> {
        let options = self.options;
        let shown = source.path.display().to_string();
        if source.documents.is_none() && may_be_snapshot(&source.path, &options.formats) {
            for object in blocks_of(&source.path, options)? {
                let tenant = &*object.revision().scope().tenant;
                self.names.take_name(tenant, object.name(), &shown, None)?;
                self.objects.push(object);
            }
            return Ok(());
        }
        let about = About {
            is_lenient: source.is_come_upon && !options.strict,
            is_named: !source.is_come_upon,
            origin: source.origin.clone(),
            path: source.path.clone(),
            read_as: source.read_as,
            shown,
        };
        let (read, bytes) = match read(source, options) {
            Ok(Read::Documents(read, bytes)) => (read, bytes),
            Ok(Read::LeftOut(why)) => {
                self.unfetched.push(Unfetched::new(about.origin, why));
                return Ok(());
            }
            Err(error) => return self.leave_out(&about, error),
        };
        let mut rules = None;
        for sourced in read {
            let line = sourced.line;
            if let Err(error) = self.document(&about, sourced, bytes, &mut rules) {
                self.leave_out(&about, error.or_at(&about.shown, Some(line)))?;
            }
        }
        self.warnings.extend(rules.map(|(name, line)| Warning {
            kind: WarningKind::ReadAsData,
            name,
            what: "looks like rules, and is read as data".to_owned(),
            at: Some(Location {
                source: about.shown,
                line: Some(line),
            }),
        }));
        Ok(())
    }

    /// Takes one document. `rules` is the first of its file that looks like rules and was read as data.
    fn document(
        &mut self,
        about: &About,
        mut sourced: Sourced,
        bytes: Option<Digest>,
        rules: &mut Option<(String, usize)>,
    ) -> Result<(), Error> {
        let (line, is_named_by_file) = (sourced.line, sourced.is_named_by_file);
        if about.is_lenient && is_named_by_file && sourced.document.content.trim().is_empty() {
            let empty = Unfetched::new(about.origin.clone(), "empty");
            self.unfetched.push(empty);
            return Ok(());
        }
        let options = self.options;
        match bytes.filter(|_| about.read_as != ReadAs::Guidance) {
            Some(_) if options.typed_objects && about.holds_objects(is_named_by_file) => {
                sourced.document.untyped_is_data();
            }
            Some(bytes) => {
                let from = (&*about.origin, about.found(&sourced, bytes));
                let document = &mut sourced.document;
                let Demoted {
                    claims,
                    update_path,
                } = demote(document, about.read_as, from);
                if rules.is_none()
                    && !options.formats.is_code(&about.path)
                    && (claims || looks_like_rules(&document.content))
                {
                    *rules = Some((document.name.clone(), line));
                }
                self.warnings.extend(update_path.map(|path| Warning {
                    kind: WarningKind::UpdatePath,
                    name: document.name.clone(),
                    what: format!(
                        "update_path `{}` is left out: it is read as data, and data is kept up to date from its own file alone",
                        clip(&path)
                    ),
                    at: Some(Location {
                        source: about.shown.clone(),
                        line: Some(line),
                    }),
                }));
            }
            None => {}
        }
        let asked = asked_authority(&sourced.document);
        let mut document = owned(sourced, &about.path, &about.origin, options);
        let lowered = asked.zip(document.authority_level).filter(|(asked, has)| asked < has);
        if let Some((asked, has)) = lowered {
            self.warnings.push(Warning {
                kind: WarningKind::AuthorityLowered,
                name: document.name.clone(),
                what: format!(
                    "authority_lowered: it has {has} and not {asked}, as rules from the web, a tool or an agent do not command"
                ),
                at: Some(Location {
                    source: about.shown.clone(),
                    line: Some(line),
                }),
            });
        }
        let claim = document.normalized_claim.as_deref();
        if let Some(why) = claim.and_then(Claim::flaw) {
            self.warnings.push(Warning {
                kind: WarningKind::ClaimNotParsed,
                name: document.name.clone(),
                what: format!("claim_not_parsed: {why}; it contradicts no other"),
                at: Some(Location {
                    source: about.shown.clone(),
                    line: Some(line),
                }),
            });
        }
        if is_named_by_file && self.names.has(&document) {
            name_by_folder(&mut document, &about.path, &about.origin);
        }
        let overrun = overrun(&document, options, &about.shown, line);
        check_schemas(&document)?;
        let at = |error: Error| error.or_at(&about.shown, Some(line));
        document.complete().map_err(at)?;
        document.check_provenance().map_err(at)?;
        self.names.take(&document, &about.shown, Some(line))?;
        self.objects.push(self.sealer.seal(document)?);
        self.long.extend(overrun);
        Ok(())
    }

    /// Reports what cannot be read, or fails.
    fn leave_out(&mut self, about: &About, error: Error) -> Result<(), Error> {
        if !about.is_lenient {
            return Err(error);
        }
        let unfetched = Unfetched::new(about.origin.clone(), error.what.clone());
        self.unfetched.push(unfetched);
        self.warnings.push(Warning {
            kind: WarningKind::File,
            name: about.origin.clone(),
            what: format!("left out: {}", error.what),
            at: error.at,
        });
        Ok(())
    }

    /// Reads a tree of source code.
    fn code(&mut self, root: &Path, twice: &BTreeSet<PathBuf>) -> Result<(), Error> {
        let folder = root.file_name().map(name_of_file);
        let prefix = folder.as_deref().filter(|_| self.options.code.len() > 1);
        let tree = read_tree(root, prefix)?;
        self.unfetched.extend(tree.unfetched);
        self.warnings.extend(tree.warnings);
        for (path, mut document) in tree.documents {
            if twice.contains(&path) {
                continue;
            }
            document.tenant_id = document.tenant_id.or_else(|| self.options.tenant.clone());
            let shown = root.join(&document.name).display().to_string();
            self.names.take(&document, &shown, None)?;
            let sealed = self.sealer.seal(document);
            self.objects.push(sealed.map_err(|error| error.or_at(&shown, None))?);
        }
        Ok(())
    }
}

/// A source whose documents are taken.
struct About {
    path: PathBuf,
    /// The path, as the user would write it.
    shown: String,
    /// Its name in objects.
    origin: String,
    read_as: ReadAs,
    /// Set where the user named it.
    is_named: bool,
    /// Set where what is wrong with it ends nothing.
    is_lenient: bool,
}

/// A document with what collecting says of it: whose it is, where it is from, how far it is trusted.
fn owned(sourced: Sourced, path: &Path, origin: &str, options: &Collect<'_>) -> ObjectDocument {
    let mut document = sourced.document;
    document.tenant_id = document.tenant_id.or_else(|| options.tenant.clone());
    document.source_origin = document.source_origin.or_else(|| Some(origin.to_owned()));
    document.distrust(Authority::Platform);
    if sourced.is_named_by_file && document.object_id.is_none() {
        // Names were once those of files without their folders. What stores hold under them goes on.
        let rest = document.name.get(name_of(origin).len()..).unwrap_or("");
        let once = format!("{}{rest}", stem_of(path));
        document.object_id = Some(document.id_when_named(&once));
    }
    document
}

/// The authority that a document asks for where it is a rule: without a word on it, it asks to command.
fn asked_authority(document: &ObjectDocument) -> Option<Authority> {
    let commands = matches!(
        document.object_type.unwrap_or(ObjectType::Rule),
        ObjectType::PolicyRule | ObjectType::ActionableConstraint | ObjectType::Rule
    );
    let stated = document.authority_level;
    stated.or_else(|| commands.then_some(Authority::Developer))
}

/// Tells a file of one folder that was named from that of another, where both have the same path within theirs.
fn name_by_folder(document: &mut ObjectDocument, path: &Path, origin: &str) {
    let depth = Path::new(origin).components().count();
    let folder = path.ancestors().nth(depth).and_then(Path::file_name);
    if let Some(folder) = folder {
        let folder = name_of_file(folder);
        document.name = fitting(format!("{folder}/{}", document.name));
        document.source_origin = Some(format!("{folder}/{origin}"));
        document.object_id = None;
    }
}

impl About {
    /// Returns whether a document is an object of a file that the user named, in its published form.
    fn holds_objects(&self, is_named_by_file: bool) -> bool {
        let is_line = is_json_lines(&self.path) && !is_named_by_file;
        self.is_named && (is_json(&self.path) || is_line)
    }

    /// The provenance of a document: the file, the lines of a part of source code, and the bytes. What an object says in a
    /// JSON file that the user names, such as a retriever's passages, is its own; a page that is walked over cannot say
    /// where it is from.
    fn found(&self, sourced: &Sourced, bytes: Digest) -> Provenance {
        let is_typed = self.is_named && (is_json(&self.path) || is_json_lines(&self.path));
        let said = sourced
            .document
            .provenance
            .clone()
            .filter(|_| is_typed || sourced.until.is_some())
            .unwrap_or_default();
        Provenance {
            source_id: said.source_id.or_else(|| {
                Some(match sourced.until {
                    Some(until) => format!("{}:{}-{until}", self.origin, sourced.line),
                    None => self.origin.clone(),
                })
            }),
            digest: Some(bytes),
            ..said
        }
    }
}

/// The names that are taken, each with the place of its object.
#[derive(Default)]
struct Names(BTreeMap<(String, String), Location>);

impl Names {
    /// Returns whether the document's name is taken.
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

/// The objects of one registry of a snapshot, in order.
fn blocks_of(path: &Path, options: &Collect<'_>) -> Result<Vec<Arc<ContextObject>>, Error> {
    // No address is asked for here, so no secret is needed.
    let mut registries = read_snapshot(path, Secrets::new([0; 32], [0; 32]))?;
    let label = only_label(&registries, options.registry.as_deref())
        .map_err(|error| error.or_at(path.display().to_string(), None))?;
    let view = registries.view(&label)?;
    Ok(view.objects().cloned().collect())
}

/// The contents of a source.
enum Read {
    /// Its documents, with the digest of what was read; without one where finding it made them.
    Documents(Vec<Sourced>, Option<Digest>),
    /// A program wrote it: the reason why it is left out.
    LeftOut(&'static str),
}

/// Reads a source: what finding it made of it, or what its format's parser does.
fn read(source: Source, options: &Collect<'_>) -> Result<Read, Error> {
    if let Some(documents) = source.documents {
        return Ok(Read::Documents(documents, None));
    }
    if !options.formats.knows(&source.path) {
        return Err(options.formats.unknown(&source.path));
    }
    let text = read_text_up_to(&source.path, options.formats.limit(&source.path))?;
    let name = name_of(&source.origin);
    let formats = &options.formats;
    let is_code = formats.is_code(&source.path);
    if source.is_come_upon
        && is_code
        && let Some(why) = made_by_a_program(&source.path, &text)
    {
        return Ok(Read::LeftOut(why));
    }
    let is_data = source.read_as != ReadAs::Guidance;
    let is_typed = options.typed_objects && !source.is_come_upon;
    let path = &source.path;
    let split = if options.whole && is_code {
        Split::Never
    } else {
        options.split
    };
    let parsed = match (is_data, is_typed) {
        (true, false) => formats.parse_data(path, &name, &text, split),
        (true, true) => formats.parse_typed(path, &name, &text, split),
        (false, _) => formats.parse(path, &name, &text, split),
    };
    let documents = parsed.map_err(|error| {
        let line = error.at.as_ref().and_then(|at| at.line);
        error.at(source.path.display().to_string(), line)
    })?;
    let is_cut = is_data && !is_code && !options.whole && split != Split::Never;
    let documents = if is_cut {
        parts::of(documents)
    } else {
        documents
    };
    Ok(Read::Documents(
        documents,
        Some(Digest::of(text.as_bytes())),
    ))
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

/// The most of a place that is shown, in bytes.
const LONGEST_PLACE: usize = 120;

/// The schemas of a tool, and that of a constraint, must be JSON Schema in the draft that they name, 2020-12 when they name none.
fn check_schemas(document: &ObjectDocument) -> Result<(), Error> {
    let is_tool = document.object_type == Some(ObjectType::ToolSchema);
    let constraint = document.constraint.as_ref();
    let answer = constraint.and_then(|constraint| constraint.schema.as_ref());
    for (field, kind, schema, applies) in [
        (
            "input_schema",
            "tool",
            document.input_schema.as_ref(),
            is_tool,
        ),
        (
            "output_schema",
            "tool",
            document.output_schema.as_ref(),
            is_tool,
        ),
        ("constraint.schema", "constraint", answer, true),
    ] {
        let Some(schema) = schema.filter(|_| applies) else {
            continue;
        };
        let draft = Draft::of(schema).map_err(|named| {
            Error::input(format!(
                "{kind} `{}`: unknown draft `{}`",
                clip(&document.name),
                clip(named)
            ))
            .expected("a `$schema` from draft-04 to 2020-12, or none")
        })?;
        json_schema::check(schema, draft).map_err(|Malformed { at, expected }| {
            let at = end_of(&at);
            let what = format!(
                "{kind} `{}`: `{field}{at}` is not JSON Schema",
                clip(&document.name)
            );
            Error::input(what).expected(expected)
        })?;
    }
    Ok(())
}
