//! What is checked of any input: a function for each target, and the list of them.
//!
//! The fuzz targets (`fuzz/targets/`) call these with bytes that libFuzzer makes up; the test
//! `fuzz_seeds` of `tenure-workspace` includes this file and calls them with the bytes of every
//! committed seed and of every input that ever failed. A function returns for whatever is properly
//! read or refused, and panics for a promise that did not hold.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // a panic is the finding
#![allow(unreachable_pub)] // the targets reach it, the test that includes this file does not

use std::path::{Component, Path};
use std::sync::{Arc, LazyLock};
use std::{fs, io};

use serde_json::{Value, json};
use tenure::registry::{Entry, Kind, LOG_VERSION, Op, Registries, RegistryView, Secrets, State};
use tenure::tokenizer::{Bpe, Vocabulary};
use tenure::{
    Budget, Candidates, Catalogue, ContextObject, Digest, Envelope, Error, ErrorKind, Facts,
    FrameKey, Model, ObjectDocument, Outcome, Policy, Request, Target, Tokenizer, Trace, World,
};
use tenure_workspace::sources::markdown::{self, Split};
use tenure_workspace::sources::skill::{Disclosure, Skill};
use tenure_workspace::sources::{Formats, Sourced, json as json_source, seed};
use tenure_workspace::{Collect, Workspace, skills};

/// Checks an input.
pub type Check = fn(&[u8]);

/// The targets by name, which is also the name of their folders of seeds.
pub const TARGETS: [(&str, Check); 12] = [
    ("compile", compile),
    ("documents", documents),
    ("json_objects", json_objects),
    ("markdown_split", markdown_split),
    ("ops", ops),
    ("policy", policy),
    ("project", project),
    ("request", request),
    ("seed_file", seed_file),
    ("skill", skill),
    ("snapshot", snapshot),
    ("trace", trace),
];

/// What every reader is given: text. Whatever is none is refused before any of them sees it.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// An error says what happened, and is never the reader's own fault.
fn sound(error: &Error) {
    assert!(!error.what.trim().is_empty(), "an error without a message");
    assert_ne!(error.kind, ErrorKind::Internal, "{error}");
    let parts = [&error.expected, &error.hint].into_iter().flatten();
    for part in parts {
        assert!(!part.trim().is_empty(), "an empty part: {error:?}");
    }
}

/// What a value is after it was written as JSON and read again.
fn again<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let written = serde_json::to_string(value).expect("it is written as JSON");
    serde_json::from_str(&written).unwrap_or_else(|error| panic!("{error}: {written}"))
}

/// Seals what can be sealed; an object says the same after it was written and read.
fn sealed(document: ObjectDocument) -> Option<Arc<ContextObject>> {
    let object = match document.seal() {
        Ok(object) => object,
        Err(error) => {
            sound(&error);
            return None;
        }
    };
    let id = object.revision().id();
    let document = object.to_document().expect("a sealed object has a form");
    let twice = document.seal().expect("its form is sound");
    assert_eq!(twice.revision().id(), id, "sealed again");
    let read: Arc<ContextObject> = again(&object);
    assert_eq!(read.revision().id(), id, "written and read");
    Some(object)
}

fn located(result: Result<Vec<Sourced>, Error>) {
    match result {
        Ok(found) => {
            for one in found {
                assert!(one.line > 0);
                sealed(one.document);
            }
        }
        Err(error) => {
            sound(&error);
            let line = error.at.as_ref().and_then(|at| at.line);
            assert!(line.is_some_and(|line| line > 0), "no line: {error:?}");
        }
    }
}

/// A seed file, or plain Markdown.
pub fn seed_file(data: &[u8]) {
    let Some(text) = text(data) else { return };
    located(seed::parse(text, "stem"));
}

/// Objects in their published form.
pub fn json_objects(data: &[u8]) {
    let Some(text) = text(data) else { return };
    located(json_source::parse(text, "stem"));
}

/// A document in any format: the first line is its extension.
pub fn documents(data: &[u8]) {
    let Some((extension, text)) = text(data).and_then(|text| text.split_once('\n')) else {
        return;
    };
    let path = std::path::PathBuf::from(format!("page.{extension}"));
    let formats = Formats::standard();
    if !formats.knows(&path) || formats.extensions().all(|known| known != extension) {
        return;
    }
    for split in [Split::Above(64), Split::Never] {
        match formats.parse(&path, "page", text, split) {
            Ok(found) => {
                for one in found {
                    assert!(one.line > 0);
                    sealed(one.document);
                }
            }
            Err(error) => sound(&error),
        }
    }
}

/// Plain Markdown: nothing of it is lost, whatever it is split into.
pub fn markdown_split(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let parts = markdown::split(text);
    let whole: String = parts.iter().map(|part| part.text).collect();
    assert_eq!(whole, text);
    let mut line = 1;
    for part in &parts {
        assert_eq!(part.line, line);
        line += part.text.matches('\n').count();
        assert!(part.above.iter().all(|above| text.contains(above)));
    }
    let lines = 1 + text.matches('\n').count();
    for split in [Split::Never, Split::Above(0), Split::default()] {
        let read = markdown::documents(text, "stem", split);
        if let Ok(sections) = &read {
            assert!(sections.iter().all(|section| section.line <= lines));
            let mut order = sections.windows(2);
            assert!(order.all(|pair| pair[0].line <= pair[1].line));
        }
        located(read);
    }
}

/// A `SKILL.md`.
pub fn skill(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match Skill::parse(text, "folder") {
        Ok(skill) => {
            skill.forgiven.iter().for_each(sound);
            assert!(text.contains(skill.body.as_str()), "{:?}", skill.body);
            if let Some(first) = skill.body.lines().next() {
                let line = text.split('\n').nth(skill.body_line - 1);
                assert!(line.is_some_and(|line| line.contains(first)), "{first:?}");
            }
            sealed(ObjectDocument::named(skill.entry_name(), "an entry"));
            assert!(skill.body_name().starts_with(&skill.entry_name()));
        }
        Err(error) => located(Err(error)),
    }
}

/// What stands in a file beside the project, and must never be read.
const OUTSIDE: &str = "nobody may read this";
/// The most files of a project.
const MAX_FILES: usize = 12;

/// A project: `=== path` opens a file, `=== path -> target` is a link. Whatever it imports, what lies
/// outside of it is never read.
pub fn project(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let outer = tempfile::tempdir().expect("a folder is made");
    let root = outer.path().join("root");
    fs::create_dir(&root).expect("a folder is made");
    fs::write(outer.path().join("outside.md"), OUTSIDE).expect("a file is written");
    for file in format!("\n{text}").split("\n=== ").skip(1).take(MAX_FILES) {
        let (path, content) = file.split_once('\n').unwrap_or((file, ""));
        let (path, link) = match path.split_once(" -> ") {
            Some((path, link)) => (path, Some(link)),
            None => (path, None),
        };
        // A link may lead anywhere; nothing is written through one.
        let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
        if !Path::new(path).components().all(plain) || content.contains(OUTSIDE) {
            continue;
        }
        let path = root.join(path);
        let mut folders = path.ancestors().skip(1).take_while(|folder| *folder != root);
        if path.is_symlink() || folders.any(Path::is_symlink) {
            continue;
        }
        // What cannot be made, such as a file below a file, is not in the project.
        let _ = path.parent().map(fs::create_dir_all);
        let _ = match link {
            Some(link) => link_to(link, &path),
            None => fs::write(&path, content),
        };
    }
    let near = text.strip_prefix("near ").and_then(|rest| rest.lines().next());
    let collect = Collect {
        skills: Disclosure::Resources,
        near: near.map(|near| root.join(near)),
        ..Collect::default()
    };
    let workspace = Workspace::new(FrameKey::new("fuzz", [7; 32])).expect("it is made");
    match workspace.collect(std::slice::from_ref(&root), &collect) {
        Ok(collected) => {
            for object in collected.candidates.objects() {
                assert!(!object.revision().content().contains(OUTSIDE), "{object:?}");
            }
            for warning in &collected.warnings {
                assert!(!warning.what.trim().is_empty());
                assert!(!warning.what.contains(OUTSIDE));
            }
        }
        Err(error) => sound(&error),
    }
    match skills::check(&root) {
        Ok(report) => assert!(report.violations.iter().all(|one| !one.what.is_empty())),
        Err(error) => sound(&error),
    }
}

#[cfg(unix)]
fn link_to(target: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link_to(_: &str, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A request.
pub fn request(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match Request::from_json(text) {
        Ok(request) => {
            if let Err(error) = request.validate() {
                sound(&error);
            }
            let read = again(&request);
            assert_eq!(read, request);
            assert_eq!(read.digest(), request.digest());
        }
        Err(error) => sound(&error),
    }
}

/// A policy.
pub fn policy(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match Policy::from_toml(text) {
        Ok(policy) => {
            let document = again(policy.document());
            assert_eq!(&document, policy.document());
            let read = Policy::seal(document).expect("what was sealed can be sealed again");
            assert_eq!(read.digest(), policy.digest());
        }
        Err(error) => sound(&error),
    }
}

/// A trace, as `tenure diff` reads them.
pub fn trace(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match Trace::from_json(text) {
        Ok(trace) => assert_eq!(again(&trace), trace),
        Err(error) => sound(&error),
    }
}

// ---- registries ---------------------------------------------------------------------------------

fn secrets() -> Secrets {
    Secrets::new([7; 32], [8; 32])
}

/// What holds of any registry, by whatever way it came about.
fn consistent(view: &RegistryView) {
    let summary = view.summary();
    assert_eq!(summary.blocks, view.len());
    assert_eq!(view.blocks().count(), view.len());
    let mut bytes = 0;
    for ((at, block), lineage) in view.blocks().enumerate().zip(view.provenance()) {
        assert_eq!(view.position(block), at);
        assert_eq!(lineage.position, at);
        let named = view.named(block.name()).expect("a block is found by name");
        assert_eq!(named.id(), block.id());
        if let Some(run) = &lineage.trajectory {
            let run = view.written_in(run);
            assert!(run.iter().any(|other| other.id() == block.id()));
        }
        assert!(block.object().revision().tags().all(|tag| {
            let mut tagged = view.tagged(tag);
            tagged.any(|other| other.id() == block.id())
        }));
        bytes += lineage.bytes as u64;
    }
    assert_eq!(summary.bytes, bytes);
}

/// A snapshot as it is, then with its last line made anew, then with a header that counts right:
/// otherwise no input would get past the checksum.
pub fn snapshot(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let body = match text.trim_end().rsplit_once('\n') {
        Some((body, last)) if last.starts_with("{\"lines\"") => body,
        _ => text.trim_end(),
    };
    let counted = counted(body);
    let resealed = [Some(body), counted.as_deref()].map(|body| body.map(resealed));
    for text in [Some(text.to_owned())].into_iter().chain(resealed).flatten() {
        restored(&text);
    }
}

/// The same body with the last line that vouches for it.
fn resealed(body: &str) -> String {
    let body = format!("{body}\n");
    let footer = json!({ "lines": body.lines().count(), "sha256": Digest::of(body.as_bytes()) });
    format!("{body}{footer}\n")
}

/// The same body with a header whose last registry has all blocks that no other has.
fn counted(body: &str) -> Option<String> {
    let (header, blocks) = body.split_once('\n').unwrap_or((body, ""));
    let mut header: Value = serde_json::from_str(header).ok()?;
    let (last, others) = header.get_mut("registries")?.as_array_mut()?.split_last_mut()?;
    let counts = others.iter().map(|one| one.get("blocks")?.as_u64());
    let mut left = blocks.lines().count() as u64;
    for count in counts {
        left = left.checked_sub(count?)?;
    }
    let count = last.get_mut("blocks")?;
    if *count == left {
        return None;
    }
    *count = left.into();
    Some(format!("{header}\n{blocks}").trim_end().to_owned())
}

fn restored(text: &str) {
    let mut registries = match Registries::restore(text, secrets()) {
        Ok(registries) => registries,
        Err(error) => return sound(&error),
    };
    let written = registries.snapshot().expect("a restored set is written");
    let read = Registries::restore(&written, secrets()).expect("what was written is read");
    assert_eq!(read.snapshot().expect("it is written again"), written);
    let labels: Vec<String> = registries.labels().map(str::to_owned).collect();
    for label in labels {
        consistent(&registries.view(&label).expect("a label has a view"));
        let capability = registries.issue(&label).expect("a label has a capability");
        let token = registries.token(&capability).expect("it has a token");
        let redeemed = registries.redeem(&token).expect("its own token is known");
        assert_eq!(redeemed.label(), capability.label());
    }
}

/// A log: a JSON array of entries, or a line for each entry or operation, where lines that are
/// neither are passed over.
pub fn ops(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let entries: Vec<Entry> = match serde_json::from_str(text) {
        Ok(entries) => entries,
        Err(_) => text.lines().filter_map(entry).collect(),
    };
    let mut state = State::empty("main".into());
    let mut number = 0;
    for Entry { by, op, .. } in entries {
        let before = state.clone();
        match state.apply(&by, op) {
            Ok(done) => {
                number += 1;
                assert_eq!(done.number, number);
                assert_eq!(done.over_limit, state.over_limit());
            }
            Err(error) => {
                sound(&error);
                assert_eq!(format!("{state:?}"), format!("{before:?}"), "{error}");
                let [now, before] =
                    [state.clone(), before].map(|state| RegistryView::new(Kind::Agent, state));
                assert!(now.provenance().eq(before.provenance()), "{error}");
            }
        }
        consistent(&RegistryView::new(Kind::Agent, state.clone()));
    }
}

fn entry(line: &str) -> Option<Entry> {
    if let Ok(entry) = serde_json::from_str(line) {
        return Some(entry);
    }
    let op: Op<tenure::registry::BlockId> = serde_json::from_str(line).ok()?;
    let by = serde_json::from_value(json!({ "label": "main", "kind": "agent" })).ok()?;
    Some(Entry {
        version: LOG_VERSION,
        number: 0,
        by,
        op,
    })
}

// ---- compiles -----------------------------------------------------------------------------------

/// The most objects of an input, so that each takes no time.
const MAX_OBJECTS: usize = 40;
/// The budget of a request that names none, and the most that one may name.
const BUDGETS: (u32, u32) = (400, 2_000);

static MODEL: LazyLock<(Model, Arc<dyn Tokenizer>)> = LazyLock::new(|| {
    let catalogue = Catalogue::builtin().expect("the catalogue is read");
    let model = catalogue.model("cl100k_base").expect("it is known").clone();
    let vocabulary = Vocabulary::named(&model.tokenizer).expect("it is built in");
    (model, Arc::new(Bpe::new(vocabulary)))
});

/// A line for each object or the request, which begin with `{`; all other lines are a policy.
pub fn compile(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let mut objects = Vec::new();
    let mut request = None;
    let mut rules = String::new();
    for (number, line) in text.lines().enumerate() {
        if !line.starts_with('{') {
            rules.push_str(line);
            rules.push('\n');
        } else if let Ok(found) = json_source::parse(line, &format!("line-{number}")) {
            let documents = found.into_iter().map(|one| one.document);
            objects.extend(documents.filter_map(|document| document.seal().ok()));
        } else if let Ok(found) = Request::from_json(line) {
            request = Some(found);
        }
    }
    objects.truncate(MAX_OBJECTS);
    let Ok(policy) = Policy::from_toml(&rules) else {
        return;
    };
    let mut request = request.unwrap_or_else(|| Request::new("Do the work.", Budget::default()));
    let tokens = request.budget.tokens.unwrap_or(BUDGETS.0).min(BUDGETS.1);
    request.budget.tokens = Some(tokens);

    // A world of its own: what it caches would otherwise grow from input to input.
    let (model, tokenizer) = &*MODEL;
    let key = FrameKey::new("fuzz", [7; 32]);
    let world = World::new("cl100k_base", model.clone(), Arc::clone(tokenizer), key);
    let candidates = Candidates::new(objects);
    let run = |request: &Request| {
        let result = tenure::compile(&world, &policy, request, &candidates, &Facts::none());
        result.map(|outcome| match outcome {
            Outcome::Complete(compiled) => *compiled,
            other => panic!("{other:?}"),
        })
    };
    if request.gate.is_some()
        && let Err(error) = tenure::gate(&world, &policy, &request, &candidates, &Facts::none())
    {
        sound(&error);
    }
    let dry = run(&Request {
        dry_run: true,
        ..request.clone()
    });
    request.dry_run = false;
    let compiled = match run(&request) {
        Ok(compiled) => compiled,
        Err(error) => {
            sound(&error);
            assert_eq!(dry.err(), Some(error), "a dry run fails alike");
            return;
        }
    };
    let envelope = &compiled.envelope;
    let dry = dry.expect("a dry run succeeds alike");
    assert_eq!(dry.envelope.total_tokens, envelope.total_tokens);
    assert!(envelope.total_tokens <= envelope.budget && envelope.budget <= tokens);
    let payload = envelope.payload.as_ref().expect("it was no dry run");
    let payload = std::str::from_utf8(payload.bytes()).expect("a payload is UTF-8");
    if request.target == Target::Text {
        let count = world.tokenizer().count(payload);
        assert_eq!(count, envelope.total_tokens as usize, "{payload}");
    } else {
        let _: Value = serde_json::from_str(payload).expect("a body is JSON");
    }
    assert_eq!(
        envelope.payload_digest,
        Some(Digest::of(payload.as_bytes()))
    );
    assert_eq!(compiled.trace.verdicts.len(), candidates.len());
    let written = serde_json::to_string(envelope).expect("an envelope is written");
    let read: Envelope = serde_json::from_str(&written).expect("an envelope is read");
    assert_eq!(&read, envelope);
    assert_eq!(again(&compiled.trace), compiled.trace);
    let twice = run(&request).expect("it was compiled before");
    assert_eq!(twice.envelope, compiled.envelope);
    assert_eq!(twice.trace, compiled.trace);
}
