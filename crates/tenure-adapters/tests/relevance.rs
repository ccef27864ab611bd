//! Near or not: of what a user keeps, by the default policy and the built-in table, a task is given what has to do with it
//! and nothing else, in every script.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods
)] // they are tests

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use tenure::object::{ContextObject, ObjectType, Provenance, Role};
use tenure::{
    Budget, Candidates, Facts, FrameKey, ObjectDocument, Policy, Request, Ruling, World, compile,
};
use tenure_adapters::embed::Vectorizer;

/// What a user keeps, a line each, and tasks: `? task = numbers of the lines that it needs`.
struct Set {
    kept: Vec<String>,
    tasks: Vec<(String, BTreeSet<usize>)>,
}

fn set(name: &str) -> Set {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/languages");
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let mut set = Set {
        kept: Vec::new(),
        tasks: Vec::new(),
    };
    for line in text.lines() {
        let Some(task) = line.strip_prefix("? ") else {
            set.kept.push(line.to_owned());
            continue;
        };
        let (task, needs) = task.rsplit_once(" = ").unwrap();
        let needs = needs.split(", ").map(|number| number.parse().unwrap());
        set.tasks.push((task.to_owned(), needs.collect()));
    }
    set
}

/// The kind of object that a line is kept as.
#[derive(Clone, Copy, Debug)]
enum Kept {
    /// A note of a project: memory.
    Note,
    /// A passage that retrieval found: evidence.
    Passage,
}

fn candidates(lines: &[String], kept: Kept) -> Candidates {
    Candidates::new(sealed(lines, kept))
}

fn sealed(lines: &[String], kept: Kept) -> Vec<Arc<ContextObject>> {
    let object_type = match kept {
        Kept::Note => ObjectType::ProjectDecision,
        Kept::Passage => ObjectType::RetrievedPassage,
    };
    let seal = |(at, text): (usize, &String)| {
        let provenance = Provenance {
            source_id: Some("notes".to_owned()),
            retrieved_at: Some("2026-05-01".parse().unwrap()),
            ..Provenance::default()
        };
        let object = ObjectDocument {
            object_type: Some(object_type),
            provenance: Some(provenance),
            ..ObjectDocument::rule(format!("{}", at + 1), text.clone())
        };
        object.seal().unwrap()
    };
    lines.iter().enumerate().map(seal).collect()
}

/// The lines, by their numbers, that a compile for a task lets in, and the kinds of its notes.
fn stands(task: &str, candidates: &Candidates) -> (BTreeSet<usize>, BTreeSet<String>) {
    let world = World::for_model("gpt-4o", FrameKey::new("test", [7; 32])).unwrap();
    let policy = Policy::preset("standard").unwrap();
    let request = Request::new(task, Budget::tokens(100_000));
    let mut facts = Facts::none();
    let query = request.query_text();
    Vectorizer::default().answer(&mut facts, &[&query], candidates, None).unwrap();
    let outcome = compile(&world, &policy, &request, candidates, &facts).unwrap();
    let trace = &outcome.single().unwrap().trace;
    let verdicts = trace.verdicts.iter();
    let included = verdicts.filter(|verdict| verdict.verdict == Ruling::Included);
    let kind = |note| serde_json::to_value(note).unwrap()["code"].as_str().unwrap().to_owned();
    let notes = trace.notes.iter().map(kind);
    (
        included.filter_map(|verdict| verdict.name.parse().ok()).collect(),
        notes.collect(),
    )
}

/// The share of what tasks need that stands, and the share of the rest that does not.
fn shares(set: &Set, kept: Kept, tells: bool) -> (f64, f64) {
    let candidates = candidates(&set.kept, kept);
    let (mut found, mut needed, mut left_out, mut unrelated) = (0, 0, 0, 0);
    for (task, needs) in &set.tasks {
        let (stands, _) = stands(task, &candidates);
        found += needs.intersection(&stands).count();
        needed += needs.len();
        let others = set.kept.len() - needs.len();
        left_out += others - stands.difference(needs).count();
        unrelated += others;
        if tells && stands != *needs {
            let extra: Vec<_> = stands.difference(needs).collect();
            let missing: Vec<_> = needs.difference(&stands).collect();
            println!("    {task}  extra {extra:?} missing {missing:?}");
        }
    }
    (
        found as f64 / needed as f64,
        left_out as f64 / unrelated as f64,
    )
}

/// The share of what tasks need that stands where each goes on with what was said before it, and the share of the rest that
/// does not.
fn shares_of_following(set: &Set, tells: bool) -> (f64, f64) {
    let (mut found, mut needed, mut left_out, mut unrelated) = (0, 0, 0, 0);
    for (said, needs) in &set.tasks {
        let (before, task) = said.split_once(" | ").unwrap();
        let turn = |(at, (role, text)): (usize, (Role, &str))| {
            let turn = ObjectDocument {
                object_type: Some(ObjectType::Turn),
                role: Some(role),
                ..ObjectDocument::rule(format!("turn-{at}"), text)
            };
            turn.seal().unwrap()
        };
        let said = [
            (Role::User, before),
            (Role::Assistant, "I do not know that yet."),
            (Role::User, task),
        ];
        let mut objects = sealed(&set.kept, Kept::Note);
        objects.extend(said.into_iter().enumerate().map(turn));
        let (stands, _) = stands(task, &Candidates::new(objects));
        found += needs.intersection(&stands).count();
        needed += needs.len();
        let others = set.kept.len() - needs.len();
        left_out += others - stands.difference(needs).count();
        unrelated += others;
        if tells && stands != *needs {
            println!("    {said:?} needs {needs:?} has {stands:?}");
        }
    }
    (
        found as f64 / needed as f64,
        left_out as f64 / unrelated as f64,
    )
}

const LANGUAGES: [&str; 11] = [
    "de", "fr", "es", "pt", "ru", "zh", "ja", "ko", "ar", "hi", "th",
];

#[test]
fn what_has_nothing_to_do_with_a_task_stays_out_in_every_language() {
    let tells = std::env::var("TENURE_TELL").is_ok();
    let mut short = Vec::new();
    for language in LANGUAGES {
        let set = set(&format!("{language}.txt"));
        for kept in [Kept::Note, Kept::Passage] {
            let (found, left_out) = shares(&set, kept, tells);
            println!(
                "{language} {kept:?}: {found:.3} of what is needed, {left_out:.3} of the rest left out"
            );
            if found < 0.9 || left_out < 0.9 {
                short.push(format!("{language} {kept:?} {found:.3} {left_out:.3}"));
            }
        }
    }
    assert!(short.is_empty(), "{short:?}");
}

#[test]
fn a_question_that_goes_on_with_the_one_before_finds_what_that_was_about() {
    let tells = std::env::var("TENURE_TELL").is_ok();
    let (found, left_out) = shares_of_following(&set("follow.txt"), tells);
    println!("follow: {found:.3} of what is needed, {left_out:.3} of the rest left out");
    assert!(found >= 0.9 && left_out >= 0.9, "{found} {left_out}");
}

/// Of 500 notes half thank someone and every second one names the same person.
#[test]
fn a_word_that_everything_says_brings_in_nothing() {
    let things = [
        "pump", "valve", "lamp", "cable", "filter", "sensor", "fan", "belt", "motor", "relay",
    ];
    let did = [
        "was repaired",
        "was replaced",
        "was ordered",
        "arrived",
        "is noisy",
    ];
    let notes: Vec<String> = (0..500)
        .map(|at| {
            let (thing, did) = (things[at % 10], did[at / 10 % 5]);
            match at % 2 {
                0 => format!("The {thing} of unit {at} {did}, thanks to Marta."),
                _ => format!("The {thing} of unit {at} {did} on Monday."),
            }
        })
        .collect();
    let candidates = candidates(&notes, Kept::Note);
    for task in ["thanks!", "Thanks, Marta!", "ok thanks"] {
        let (stands, _) = stands(task, &candidates);
        println!("{task}: {}", stands.len());
        assert!(stands.len() <= 3, "{task}: {stands:?}");
    }
    let (stands, _) = stands("Is the motor of unit 8 noisy again?", &candidates);
    assert!(!stands.is_empty());
}

#[test]
fn a_script_that_the_table_does_not_know_is_noted_and_no_nearness() {
    let english = set("follow.txt").kept;
    for language in ["ru", "zh", "ja", "ko", "ar", "hi", "th"] {
        let set = set(&format!("{language}.txt"));
        let (task, _) = &set.tasks[2];
        let (stands, notes) = self::stands(task, &candidates(&english, Kept::Note));
        assert_eq!(stands, BTreeSet::new(), "{task}");
        assert!(notes.contains("task_not_encoded"), "{notes:?}");
        let ask = "Which tools does the release of the pump firmware need?";
        let (stands, _) = self::stands(ask, &candidates(&set.kept, Kept::Passage));
        assert_eq!(stands, BTreeSet::new(), "{language}");
    }
}

#[test]
fn a_number_tells_one_of_many() {
    let rest =
        "It was looked at by the shift before and by the crew of the northern hall. ".repeat(4);
    let lines: Vec<String> = (1..=200)
        .map(|at| format!("Pump {at} stands at {} bar. {rest}", at % 61))
        .collect();
    for kept in [Kept::Note, Kept::Passage] {
        let (stands, _) = stands(
            "At which pressure does pump 150 stand?",
            &candidates(&lines, kept),
        );
        assert!(
            stands.contains(&150) && stands.len() < 10,
            "{kept:?}: {stands:?}"
        );
    }
}
