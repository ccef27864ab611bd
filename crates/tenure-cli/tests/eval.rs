//! What `tenure eval` measures. Runs the real binary.

use crate::support::Bench;
use serde_json::json;

#[test]
fn recall_is_what_stands_in_the_budget() {
    let bench = Bench::new();
    let turn = |id: &str, speaker: &str, text: &str, order: u64| json!({ "id": id, "speaker": speaker, "text": text, "date": "1 May 2026", "order": order });
    let set = json!({
        "units": [
            turn("a", "Ann", "Which valve did you take out in the end, the one by the window?", 0),
            turn("b", "Bob", "The third.", 1),
            turn("c", "Ann", "The weather was lovely and we walked along the river.", 20),
            turn("d", "Bob", "I bought a bicycle and painted it green.", 21),
        ],
        "queries": [
            { "text": "Which valve did they take out?", "relevant": ["b"] },
            { "text": "What colour is the bicycle?", "relevant": ["d"] },
        ],
    });
    bench.file("sets.jsonl", format!("{set}\n\n"));
    let recall = |more: &[&str]| {
        let args = [
            "eval",
            "recall",
            "sets.jsonl",
            "--budget",
            "25",
            "--format",
            "json",
        ];
        bench.json(&[&args[..], more].concat())
    };
    let found = recall(&[]);
    assert_eq!(
        (&found["recall"], &found["queries"]),
        (&json!(1.0), &json!(2))
    );
    // Alone, the answer has no word of its question.
    assert_eq!(recall(&["--alone"])["recall"], json!(0.5));
    let shown = bench.ok(&["eval", "recall", "sets.jsonl", "--budget", "1"]);
    assert!(shown.starts_with("recall 0.0000"), "{shown}");
}

#[test]
fn broken_sets_are_refused_with_their_line() {
    let bench = Bench::new();
    for (name, text) in [
        ("json", "{\"units\":[],\"queries\":[]}\n{"),
        (
            "unknown",
            "{\"units\":[],\"queries\":[{\"text\":\"x\",\"relevant\":[\"a\"]}]}",
        ),
        (
            "twice",
            "{\"units\":[{\"id\":\"a\",\"text\":\"\"},{\"id\":\"a\",\"text\":\"\"}],\"queries\":[]}",
        ),
        ("empty", ""),
    ] {
        bench.file(name, text);
        bench.refused(2, &["eval", "recall", name, "--budget", "10"]);
    }
}
