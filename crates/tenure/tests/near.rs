//! What the ranker finds near: days that a task names, what an object is good for, questions that a task was taken apart
//! into, an encoder beside the built-in table, and what has nothing to do with the task.

use std::sync::Arc;

use serde_json::{Value, json};
use tenure::num::Score;
use tenure::vectors::{VectorModel, Vectors};
use tenure::{Compiled, Digest, Fact, Facts, Need, Policy, Reason, compile};

use crate::support::{Case, STANDARD, merge, passage, rule};

fn run(case: &Case, facts: &Facts) -> Compiled {
    let outcome = compile(
        &case.world,
        &case.policy,
        &case.request,
        &case.candidates,
        facts,
    );
    outcome.unwrap().single().unwrap().clone()
}

fn relevance(compiled: &Compiled, name: &str) -> f64 {
    let verdict = compiled.trace.verdict(name).unwrap();
    verdict.score.as_ref().unwrap().relevance.to_f64()
}

/// A task at noon on Wednesday, 2026-05-20.
fn task(objective: &str) -> Value {
    json!({
        "task": { "objective": objective },
        "as_of": { "valid": "2026-05-20T12:00:00Z" },
    })
}

fn on(name: &str, valid: Value, content: &str) -> Value {
    let mut found = passage(name, content);
    let ends = json!({ "valid_from": valid["from"], "valid_until": valid["until"] });
    merge(&mut found, ends);
    found
}

#[test]
fn what_is_of_the_days_that_the_task_names_comes_first() {
    let said = "The pump was repaired.";
    let objects = json!([
        on(
            "old",
            json!({ "from": "2023-05-07" }),
            &format!("{said} Alpha.")
        ),
        on(
            "march",
            json!({ "from": "2026-03-03" }),
            &format!("{said} Beta.")
        ),
        on(
            "may",
            json!({ "from": "2026-05-19" }),
            &format!("{said} Gamma.")
        ),
        on(
            "film",
            json!({ "from": "2023-05-07" }),
            "A film about whales."
        ),
    ]);
    let best = |objective: &str| {
        let case = Case::new(&objects, task(objective), STANDARD);
        let compiled = run(&case, &Facts::none());
        let names = ["old", "march", "may"];
        let best = names.map(|name| relevance(&compiled, name));
        let nearest = best.iter().position(|near| *near == 1.0).unwrap();
        let others = best.iter().filter(|near| **near < 1.0).count();
        (names[nearest], others)
    };
    for (objective, name) in [
        ("Was the pump repaired on May 7, 2023?", "old"),
        ("Was the pump repaired in 2023?", "old"),
        ("Was the pump repaired before 2024-01?", "old"),
        ("Was the pump repaired in March?", "march"),
        ("Was the pump repaired yesterday?", "may"),
        ("Was the pump repaired in the last two weeks?", "may"),
    ] {
        assert_eq!(best(objective), (name, 2), "{objective}");
    }
    // Days make nothing relevant that has nothing else in common with the task, and no date names no day.
    let case = Case::new(
        &objects,
        task("Was the pump repaired on May 7, 2023?"),
        STANDARD,
    );
    assert_eq!(relevance(&run(&case, &Facts::none()), "film"), 0.0);
    for objective in [
        "Was the pump repaired?",
        "Was the pump repaired on 2019-02-30 or port 2049?",
    ] {
        assert_eq!(best(objective).1, 0, "{objective}");
    }
    // An old policy knows no days.
    let old = Case::new(
        &objects,
        task("Was the pump repaired yesterday?"),
        "[ranking]\ndates = 0.0",
    );
    assert_eq!(relevance(&run(&old, &Facts::none()), "old"), 1.0);
}

#[test]
fn a_validity_holds_for_all_of_its_days() {
    let objects = json!([
        on(
            "lease",
            json!({ "from": "2025-01-01", "until": "2027-01-01" }),
            "The lease of the pump costs 3."
        ),
        on(
            "offer",
            json!({ "from": "2026-02-01" }),
            "The lease of the pump costs 4."
        ),
    ]);
    let case = Case::new(
        &objects,
        task("What did the lease of the pump cost in August 2025?"),
        STANDARD,
    );
    let compiled = run(&case, &Facts::none());
    assert_eq!(relevance(&compiled, "lease"), 1.0);
    assert!(relevance(&compiled, "offer") < 1.0);
}

#[test]
fn what_an_object_is_good_for_is_found() {
    let plain = rule(json!({ "name": "plain", "content": "Write numbers in full." }));
    let mut why = plain.clone();
    merge(
        &mut why,
        json!({
            "name": "why", "content": "Write numbers with their unit.", "behavioral_implication": "The pressure is told in pascal.",
        }),
    );
    let objects = json!([plain, why]);
    let all = "guidance = { near = 0.0 }\n";
    let compiled = run(&Case::new(&objects, json!({}), all), &Facts::none());
    assert_eq!(relevance(&compiled, "why"), 1.0);
    assert_eq!(relevance(&compiled, "plain"), 0.0);
    let without = format!("{all}[ranking]\npurpose = 0.0");
    let without = Case::new(&objects, json!({}), &without);
    assert_eq!(relevance(&run(&without, &Facts::none()), "why"), 0.0);
}

#[test]
fn each_question_that_a_task_asks_finds_its_own() {
    let objective = "How warm is the cellar, and who feeds the cat while we are on the long journey to the north?";
    let objects = json!([
        passage("cellar", "The cellar has ten degrees all year."),
        passage(
            "journey",
            "On a long journey to the north we take the train, and the journey is long."
        ),
        passage("tax", "Quarterly returns are due in April."),
    ]);
    let case = Case::new(&objects, task(objective), STANDARD);
    let need = Need::Subqueries {
        query: Digest::of(objective.as_bytes()),
    };
    let mut facts = Facts::none();
    let texts = ["How warm is the cellar?", "  ", "Who feeds the cat?"];
    facts.insert(&need, Fact::subqueries(texts.map(str::to_owned).to_vec()));
    assert_eq!(facts.subqueries(objective).len(), 2);
    let (whole, parts) = (run(&case, &Facts::none()), run(&case, &facts));
    assert!(relevance(&whole, "cellar") < 0.9);
    assert_eq!(relevance(&parts, "cellar"), 1.0);
    assert_eq!(relevance(&parts, "journey"), 1.0);
    assert_eq!(relevance(&parts, "tax"), 0.0);
    assert_ne!(whole.trace.inputs.facts, parts.trace.inputs.facts);
    // A record keeps them.
    let written = serde_json::to_string(&facts).unwrap();
    let read: Facts = serde_json::from_str(&written).unwrap();
    assert_eq!(run(&case, &read), parts);
}

#[test]
fn near_words_count_where_vectors_do() {
    let objective = "Which doctor called?";
    let objects = json!([
        passage("plain", "A doctor called on Monday about the bill."),
        passage("near", "A doctor called on Monday about a patient."),
        passage("alone", "The patient slept."),
    ]);
    let mut facts = Facts::none();
    let query = Digest::of(objective.as_bytes());
    let words = vec!["patients".to_owned(), "doctor".to_owned()];
    facts.insert(&Need::NearWords { query }, Fact::NearWords { words });
    let of = |policy: &str| {
        let case = Case::new(&objects, task(objective), policy);
        let compiled = run(&case, &facts);
        ["plain", "near", "alone"].map(|name| relevance(&compiled, name))
    };
    let [plain, near, alone] = of(STANDARD);
    assert!(plain < near && near == 1.0 && alone == 0.0);
    let [plain, near, _] = of("scorer = \"lexical\"");
    assert_eq!(plain, near);
    let [plain, near, _] = of("[ranking]\nnear_words = 0.0");
    assert_eq!(plain, near);
}

#[test]
fn what_somebody_chose_with_a_package_is_held_to_no_floor_of_relevance() {
    let mut chosen = passage("chosen", "A pump rests for ninety seconds.");
    merge(
        &mut chosen,
        json!({ "provenance": { "source_id": "decisions.md", "package": "memory:package:1" } }),
    );
    let objects = json!([chosen, passage("other", "Soup is served at noon.")]);
    let case = Case::new(&objects, task("What was decided?"), STANDARD);
    let compiled = run(&case, &Facts::none());
    let reason = |name: &str| compiled.trace.verdict(name).unwrap().reason.clone();
    assert_eq!(reason("chosen"), Reason::Fits);
    assert!(matches!(reason("other"), Reason::BelowFloor { .. }));
}

fn vectors(model: &str, of: &[(&str, f32)]) -> Arc<Vectors> {
    let model = VectorModel {
        dimensions: 2,
        unrelated: Score::new(0.2).unwrap(),
        related: Score::new(0.6).unwrap(),
        ..VectorModel::new(model, Digest::of(model.as_bytes()))
    };
    let mut vectors = Vectors::new(model);
    for (text, cosine) in of {
        let vector = [*cosine, (1.0 - cosine * cosine).max(0.0).sqrt()];
        vectors.add(Digest::of(text.as_bytes()), &vector).unwrap();
    }
    Arc::new(vectors)
}

#[test]
fn an_encoder_stands_beside_the_table_where_the_policy_says_so() {
    let objective = "Report the pressure.";
    let objects = json!([
        rule(json!({ "name": "one", "content": "In pascal." })),
        rule(json!({ "name": "other", "content": "In bars." })),
    ]);
    let mut facts = Facts::none();
    let own = [(objective, 1.0), ("In pascal.", 0.7), ("In bars.", 0.69)];
    facts.add_vectors(vectors("own", &own)).unwrap();
    let alone = facts.clone();
    let table = [(objective, 1.0), ("In pascal.", 0.1), ("In bars.", 0.9)];
    facts.add_beside(vectors("table", &table)).unwrap();
    let standard = Case::new(&objects, json!({}), STANDARD);
    assert_eq!(relevance(&run(&standard, &alone), "one"), 1.0);
    assert_eq!(relevance(&run(&standard, &facts), "other"), 1.0);
    assert!(relevance(&run(&standard, &facts), "one") < 1.0);
    // A policy from before knows no table beside an encoder, and what it does not use changes nothing.
    let old = Case::new(
        &objects,
        json!({}),
        "[ranking]\nencoder = 0.0\nbeside = 0.0",
    );
    assert_eq!(run(&old, &facts), run(&old, &alone));
    assert!(Policy::from_toml("[ranking]\nencoder = 0.8\nbeside = 0.3").is_err());
}

#[test]
fn a_policy_without_the_new_keys_has_the_digest_that_it_had() {
    let none = "[ranking]\npurpose = 0.0\ndates = 0.0\nencoder = 0.0\nbeside = 0.0";
    let written = serde_json::to_string(Policy::from_toml(none).unwrap().document()).unwrap();
    for key in ["purpose", "\"named\"", "\"dates\"", "\"encoder\"", "beside"] {
        assert!(!written.contains(key), "{key}: {written}");
    }
}

#[test]
fn without_vectors_rare_words_say_what_is_related() {
    let other = |at: usize| {
        passage(
            &format!("far{at}"),
            &format!("A pump of the brigade, year {at}."),
        )
    };
    let mut objects: Vec<Value> = (0..12).map(other).collect();
    objects.push(passage(
        "near",
        "The pump of the cellar leaks at its gasket.",
    ));
    objects.push(passage(
        "far",
        "A pump of the fire brigade stood in the parade of the town last summer.",
    ));
    let objects = Value::Array(objects);
    let objective = "Which gasket leaks, and what does it cost to repair the pump in the cellar?";
    let compiled = run(
        &Case::new(&objects, task(objective), STANDARD),
        &Facts::none(),
    );
    assert_eq!(relevance(&compiled, "near"), 1.0);
    let far = compiled.trace.verdict("far").unwrap();
    assert!(
        matches!(far.reason, Reason::BelowFloor { .. }),
        "{:?}",
        far.reason
    );
}

#[test]
fn no_task_is_too_odd_to_be_ranked() {
    let objects = json!([
        passage("pump", "The pump leaks. 泵 ポンプ насос मोटर"),
        passage("same", &"pump ".repeat(5_000)),
        passage("faces", "🙂🙃🙂"),
    ]);
    let long = "pump valve насос 泵 ".repeat(40_000);
    for objective in [
        long.as_str(),
        "p",
        "🙂",
        "👩‍🚀🌕",
        "pump насос 泵 ポンプ मोटर",
        "on 2023-02-30, 99.99.9999 or in the year 0",
        "last last last next 999 years ago",
    ] {
        // A task that takes up all of the budget is refused by its size, not by the ranker.
        let mut request = task(objective);
        merge(&mut request, json!({ "budget": { "tokens": 1_900_000 } }));
        let case = Case::new(&objects, request, "[limits]\nuser_tokens = 1800000");
        let one = case.compile();
        assert_eq!(one.as_ref().ok(), case.compile().as_ref().ok());
        if let Err(error) = one {
            assert!(!error.what.is_empty());
        }
    }
}
