//! Runs the golden cases of `tests/cases/*.md` at the root of the repository.
//!
//! A case is a chapter (`## title`) of prose and fenced blocks. The word after the fence says what a
//! block is:
//!
//! - `seed NAME.md`, `json NAME.json`: a source of guidance, in order; `document PATH`: a source of data; `file PATH` is
//!   beside them, and not named;
//! - `template NAME`: a chat template, as it stands in the file;
//! - `policy`: TOML, over the standard policy;
//! - `request`: JSON, over the request of the local owner with 2,000 tokens;
//! - `outcome`: how it ended, with what is pending or how many pages there are;
//! - `payload`: the exact payload expected (boundaries are written `BOUNDARY`), of several pages each;
//! - `verdicts`: one line for each candidate, `name: code`;
//! - `rungs`: one line for each candidate, `name: rung of the ladder, what held it`;
//! - `sections`: one line for each section, `zone name: items`, of the first page;
//! - `plan`: the strategy, and the tools offered;
//! - `notes`: one line for each note, `name: code`;
//! - `error`: the message expected instead.
//!
//! `UPDATE_CASES=1 cargo test -p tenure-workspace --test runner cases::` writes what came out into the blocks
//! that are there; read the difference before you keep it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tenure::{
    Budget, ChatTemplate, Compiled, Error, FrameKey, Outcome, Payload, Policy, Principal, Request,
};
use tenure_workspace::{Collect, ReadAs, Workspace};

/// What a block may expect.
const EXPECTATIONS: [&str; 8] = [
    "outcome", "payload", "verdicts", "rungs", "sections", "notes", "plan", "error",
];

/// A fenced block and where its text stands in the file.
struct Block {
    kind: String,
    name: String,
    text: String,
    /// The lines of the text, half-open.
    lines: (usize, usize),
}

struct Case {
    title: String,
    blocks: Vec<Block>,
}

/// The chapters of a file with their blocks.
fn cases(file: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut open: Option<(usize, &str)> = None;
    let lines: Vec<&str> = file.split('\n').collect();
    for (at, line) in lines.iter().enumerate() {
        match open {
            Some((start, head)) if line.trim_end() == "```" => {
                let mut words = head.split_whitespace().map(str::to_owned);
                let block = Block {
                    kind: words.next().unwrap_or_default(),
                    name: words.next().unwrap_or_default(),
                    text: lines[start..at].iter().map(|line| format!("{line}\n")).collect(),
                    lines: (start, at),
                };
                cases.last_mut().expect("a block belongs to a chapter").blocks.push(block);
                open = None;
            }
            Some(_) => {}
            None => {
                if let Some(head) = line.strip_prefix("```") {
                    open = Some((at + 1, head));
                } else if let Some(title) = line.strip_prefix("## ") {
                    cases.push(Case {
                        title: title.to_owned(),
                        blocks: Vec::new(),
                    });
                }
            }
        }
    }
    cases
}

fn compile(case: &Case, folder: &Path) -> Result<Outcome, Error> {
    let mut paths = Vec::new();
    let mut declared = Vec::new();
    let mut policy = Policy::preset("standard")?;
    let mut request = Request {
        principal: Principal::owner(),
        ..Request::default()
    };
    request.task.objective = "Do the work.".to_owned();
    request.budget = Budget::tokens(2_000);
    let mut template = None;
    for block in &case.blocks {
        match block.kind.as_str() {
            "seed" | "json" | "document" | "file" => {
                let path = folder.join(&block.name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, &block.text).unwrap();
                if matches!(&*block.kind, "seed" | "json") {
                    declared.push((path.clone(), ReadAs::Guidance));
                }
                if block.kind != "file" {
                    paths.push(path);
                }
            }
            "template" => template = Some(ChatTemplate::read(&block.text, None)?),
            "policy" => policy = Policy::from_toml(&block.text)?,
            "request" => {
                let mut whole = serde_json::to_value(&request).unwrap();
                merge(&mut whole, serde_json::from_str(&block.text).unwrap());
                request = Request::from_json(&whole.to_string())?;
            }
            _ => {}
        }
    }
    let workspace = Workspace::new(FrameKey::new("cases", [7; 32]))?;
    let mut world = workspace.world(request.model.as_deref().unwrap_or("gpt-4o"))?;
    if let Some(template) = template {
        world = world.with_template(template);
    }
    let collect = Collect {
        tenant: Some(request.principal.tenant.clone()),
        declared,
        ..Collect::default()
    };
    let collected = workspace.collect(&paths, &collect)?;
    workspace.compile(&world, &policy, &request, &collected.candidates)
}

fn merge(base: &mut serde_json::Value, changes: serde_json::Value) {
    match (base, changes) {
        (serde_json::Value::Object(base), serde_json::Value::Object(changes)) => {
            for (key, value) in changes {
                merge(base.entry(key).or_insert(serde_json::Value::Null), value);
            }
        }
        (base, changes) => *base = changes,
    }
}

/// What came out, by kind of block.
fn shown(result: &Result<Outcome, Error>, folder: &Path) -> BTreeMap<&'static str, String> {
    let outcome = match result {
        Err(error) => {
            let message = error.to_string().replace(&format!("{}/", folder.display()), "");
            return BTreeMap::from([("error", format!("{message}\n"))]);
        }
        Ok(outcome) => outcome,
    };
    let ended = match outcome {
        Outcome::Complete(_) => "complete".to_owned(),
        Outcome::Deferred { pending, .. } => {
            let pending: Vec<&str> = pending.iter().map(|pending| &*pending.name).collect();
            format!("deferred: {}", pending.join(", "))
        }
        _ => format!("pages: {}", outcome.compiled().count()),
    };
    let text = |compiled: &Compiled| match compiled.envelope.payload.as_ref().unwrap() {
        // A template may end a text as it likes.
        Payload::Text(text) => format!("{}\n", text.trim_end_matches('\n')),
        Payload::Body(body) => {
            let value: serde_json::Value = serde_json::from_str(body.get()).unwrap();
            format!("{}\n", serde_json::to_string_pretty(&value).unwrap())
        }
    };
    let pages: Vec<String> = outcome.compiled().map(text).collect();
    let payload = pages.join("----- the next page -----\n");
    let compiled = outcome.compiled().next().unwrap();
    let verdicts = outcome.compiled().flat_map(|compiled| &compiled.trace.verdicts);
    let rungs = compiled.trace.verdicts.iter().map(|one| {
        let rung = one.rung.unwrap();
        let held = one.held_by.map_or("the top".to_owned(), |by| by.to_string());
        format!("{}: {} {rung}, {held}\n", one.name, rung.number())
    });
    let sections = compiled.envelope.sections.iter().map(|section| {
        let items: Vec<&str> = section.items.iter().map(|item| &*item.name).collect();
        format!("{} {}: {}\n", section.zone, section.name, items.join(", "))
    });
    let notes = compiled.trace.notes.iter().map(|note| {
        let json = serde_json::to_value(note).unwrap();
        let name = json
            .get("name")
            .or(json.get("alias"))
            .or(json.get("rule"))
            .and_then(|name| name.as_str());
        format!(
            "{}: {}\n",
            name.unwrap_or_default(),
            json["code"].as_str().unwrap()
        )
    });
    BTreeMap::from([
        ("outcome", format!("{ended}\n")),
        (
            "plan",
            format!(
                "{}; tools offered: {}\n",
                compiled.trace.strategy.unwrap(),
                if compiled.trace.plan.tools.is_empty() {
                    "none".to_owned()
                } else {
                    compiled.trace.plan.tools.join(", ")
                }
            ),
        ),
        ("payload", hide_boundaries(&payload)),
        (
            "verdicts",
            verdicts
                .map(|one| {
                    let mut forms =
                        outcome.compiled().flat_map(|compiled| &compiled.trace.condensed);
                    let form = forms.find(|form| form.name == one.name);
                    let form = form.map_or_else(String::new, |form| format!(", {}", form.form));
                    format!("{}: {}{form}\n", one.name, one.reason.code())
                })
                .collect(),
        ),
        ("rungs", rungs.collect()),
        ("sections", sections.collect()),
        ("notes", notes.collect()),
    ])
}

/// Boundaries depend on the key and would only be noise.
fn hide_boundaries(text: &str) -> String {
    let mut parts = text.split("boundary=");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let quote = if part.starts_with('\\') { 2 } else { 1 };
        out.push_str("boundary=");
        out.push_str(&part[..quote]);
        out.push_str("BOUNDARY");
        out.push_str(&part[quote + 16..]);
    }
    out
}

fn check(path: &Path) {
    let file = fs::read_to_string(path).unwrap();
    let mut lines: Vec<String> = file.split('\n').map(str::to_owned).collect();
    let update = std::env::var_os("UPDATE_CASES").is_some();
    let mut failures = Vec::new();
    let cases = cases(&file);
    assert!(!cases.is_empty(), "{} has no cases", path.display());
    // From the end, so that replacing lines moves none that are still to be replaced.
    for case in cases.iter().rev() {
        let folder = tempfile::tempdir().unwrap();
        let result = compile(case, folder.path());
        let shown = shown(&result, folder.path());
        let expects = |block: &&Block| EXPECTATIONS.contains(&block.kind.as_str());
        let expected: Vec<&Block> = case.blocks.iter().filter(expects).collect();
        assert!(
            !expected.is_empty(),
            "{}: `{}` expects nothing",
            path.display(),
            case.title
        );
        for block in expected.into_iter().rev() {
            let got = shown.get(block.kind.as_str()).cloned().unwrap_or_else(|| match &result {
                Err(error) => format!("the compile failed: {error}\n"),
                Ok(_) => "the compile did not fail\n".to_owned(),
            });
            if got == block.text {
                continue;
            }
            if update {
                let text = got.trim_end_matches('\n').split('\n').map(str::to_owned);
                lines.splice(block.lines.0..block.lines.1, text);
            } else {
                let place = format!("{}:{} `{}`", path.display(), block.lines.0, case.title);
                failures.push(format!(
                    "{place} {}\n--- expected\n{}--- got\n{got}",
                    block.kind, block.text
                ));
            }
        }
    }
    if update {
        fs::write(path, lines.join("\n")).unwrap();
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn golden_cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ext| ext == "md")).collect();
    files.sort();
    assert!(files.len() >= 6, "cases are missing");
    files.iter().for_each(|path| check(path));
}
