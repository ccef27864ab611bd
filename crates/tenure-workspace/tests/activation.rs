//! What of memory a task needs is kept, and what has nothing to do with it is left out: by the default policy, on material
//! that nobody wrote for it. `models/eval/activation.py` makes further sets.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tenure::object::ObjectType;
use tenure::{Budget, Candidates, FrameKey, ObjectDocument, Policy, Request, Ruling};
use tenure_workspace::Workspace;

/// Units by their ids, and tasks: each with what it needs and what counts neither way.
struct Set {
    name: String,
    units: Vec<(String, String, String)>,
    tasks: Vec<(String, BTreeSet<String>, BTreeSet<String>)>,
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn texts(value: &Value) -> BTreeSet<String> {
    value.as_array().unwrap().iter().map(text).collect()
}

/// The sections of documentation that stand beside the tasks, and every other one of the rest.
fn docs() -> Set {
    let root = root().join("models/eval");
    let package = |id: &str| id.split([':', '-']).next().unwrap().to_owned();
    let tasks = lines(&root.join("activation.jsonl"));
    let tasks: Vec<Value> = tasks.into_iter().filter(|task| task["set"] == "docs").collect();
    let needed: BTreeSet<String> = tasks.iter().flat_map(|task| texts(&task["needs"])).collect();
    let mut units = Vec::new();
    let mut known = BTreeSet::new();
    let all = lines(&root.join("documents.jsonl"));
    let all = all.iter().flat_map(|set| set["units"].as_array().unwrap());
    for (at, unit) in all.enumerate() {
        let id = text(&unit["id"]);
        if known.insert(id.clone()) && (needed.contains(&id) || at % 2 == 0) {
            let body: String = text(&unit["text"]).chars().take(1200).collect();
            units.push((id.clone(), id.replace(':', "-"), body));
        }
    }
    let tasks = tasks.iter().map(|task| {
        let needs = texts(&task["needs"]);
        let of: BTreeSet<String> = needs.iter().map(|id| package(id)).collect();
        let same = units.iter().map(|(id, ..)| id).filter(|id| of.contains(&package(id)));
        let neutral = same.filter(|id| !needs.contains(*id)).cloned().collect();
        (text(&task["task"]), needs, neutral)
    });
    Set {
        name: "docs".to_owned(),
        tasks: tasks.collect(),
        units,
    }
}

/// The sets of a file that `activation.py` made.
fn made(path: &Path) -> Vec<Set> {
    let read = |set: &Value| Set {
        name: text(&set["name"]),
        units: set["units"]
            .as_array()
            .unwrap()
            .iter()
            .map(|unit| (text(&unit["id"]), text(&unit["name"]), text(&unit["text"])))
            .collect(),
        tasks: set["queries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|task| {
                (
                    text(&task["text"]),
                    texts(&task["relevant"]),
                    texts(&task["neutral"]),
                )
            })
            .collect(),
    };
    lines(path).iter().map(read).collect()
}

/// The share of what is needed that stands, and the share of what has nothing to do with a task that does not.
fn shares(set: &Set, policy: &Policy) -> (f64, f64) {
    let workspace = Workspace::new(FrameKey::new("test", [7; 32])).unwrap();
    let world = workspace.world("gpt-4o").unwrap();
    let seal = |(at, (_, name, text)): (usize, &(String, String, String))| {
        let fact = ObjectDocument {
            object_type: Some(ObjectType::ProjectDecision),
            ..ObjectDocument::rule(format!("{at}-{name}"), text.clone())
        };
        fact.seal().unwrap()
    };
    let candidates = Candidates::new(set.units.iter().enumerate().map(seal).collect());
    let (mut kept, mut needed, mut omitted, mut irrelevant) = (0u32, 0u32, 0u32, 0u32);
    for (task, needs, neutral) in &set.tasks {
        let request = Request::new(task.clone(), Budget::tokens(120_000));
        let outcome = workspace.compile(&world, policy, &request, &candidates).unwrap();
        let compiled = outcome.single().unwrap();
        for ((id, ..), verdict) in set.units.iter().zip(&compiled.trace.verdicts) {
            let stands = verdict.verdict == Ruling::Included;
            if needs.contains(id) {
                needed += 1;
                kept += u32::from(stands);
            } else if !neutral.contains(id) {
                irrelevant += 1;
                omitted += u32::from(!stands);
            }
        }
    }
    let share = |part: u32, of: u32| f64::from(part) / f64::from(of.max(1));
    (share(kept, needed), share(omitted, irrelevant))
}

#[test]
fn what_a_task_needs_is_kept_and_what_is_irrelevant_left_out() {
    let policy = Policy::preset("standard").unwrap();
    let (kept, omitted) = shares(&docs(), &policy);
    println!("docs: {kept:.3} of what is needed kept, {omitted:.3} of what is irrelevant left out");
    assert!(kept >= 0.95, "{kept}");
    assert!(omitted >= 0.80, "{omitted}");
}

/// The whole curve, of the files that `TENURE_ACTIVATION` names, parted by colons.
#[test]
fn the_curve_of_sets_that_are_named() {
    let Ok(files) = std::env::var("TENURE_ACTIVATION") else {
        return;
    };
    for set in files.split(':').flat_map(|file| made(Path::new(file))) {
        println!(
            "{}: {} units, {} tasks",
            set.name,
            set.units.len(),
            set.tasks.len()
        );
        for thousandths in [0, 100, 200, 300, 350, 380, 405, 420, 450, 500, 600] {
            let near = f64::from(thousandths) / 1000.0;
            let text = format!("name = \"curve\"\n[guidance]\nnear = {near:?}\n");
            let (kept, omitted) = shares(&set, &Policy::from_toml(&text).unwrap());
            println!("  near {near:.3}: kept {kept:.3}, omitted {omitted:.3}");
        }
    }
}
