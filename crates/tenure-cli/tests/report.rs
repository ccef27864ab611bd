//! `tenure report` through the real binary: one page from a trace, a record or a session, and what it says to the rest.

use crate::support::Bench;
use serde_json::Value;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/firmware");

/// The arguments that compile the example, and these.
fn compiling(more: &[&str]) -> Vec<String> {
    let of = |name: &str| format!("{EXAMPLE}/{name}");
    let args = [
        "compile",
        "--as",
        "guidance",
        EXAMPLE,
        "--task-file",
        &of("task.json"),
        "--policy",
        &of("policy.toml"),
        "--budget",
        "4500",
        "--format",
        "json",
    ];
    let args = args.iter().chain(more);
    args.map(|arg| (*arg).to_owned()).collect()
}

fn run(bench: &Bench, args: &[String]) -> String {
    bench.ok(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The page that a report writes.
fn page(bench: &Bench, what: &str) -> String {
    bench.ok(&["report", what])
}

#[test]
fn the_example_is_one_small_page_that_needs_nothing_else() {
    let bench = Bench::new();
    let output = run(&bench, &compiling(&["--target", "anthropic"]));
    bench.file("out.json", &output);
    let html = page(&bench, "out.json");
    assert!(html.len() <= 400_000, "{}", html.len());
    for needless in ["<script", "<link", "<img", "src=", "@import", "url("] {
        assert!(!html.contains(needless), "{needless}");
    }
    // The rule that no model could guess is in; what the page of a stranger says is framed, and no markup.
    assert!(html.contains("init-seal") && html.contains("class=\"frame\""));
    assert!(html.contains("Would let it in:"));
    // A trace alone has all but the payload.
    let output: Value = serde_json::from_str(&output).unwrap();
    bench.file("trace.json", output["trace"].to_string());
    let alone = page(&bench, "trace.json");
    assert!(alone.contains("init-seal") && alone.contains("There is no payload here"));
}

#[test]
fn a_record_is_made_again_and_says_which_budget_lets_something_in() {
    let bench = Bench::new();
    bench.ok(&["store", "migrate", "--store", "sqlite://kept.db"]);
    let more = ["--store", "sqlite://kept.db", "--record"];
    let output: Value = serde_json::from_str(&run(&bench, &compiling(&more))).unwrap();
    let id = output["record_ids"][0].as_str().unwrap();
    let args = [
        "report",
        id,
        "--store",
        "sqlite://kept.db",
        "-o",
        "page.html",
    ];
    bench.ok(&args);
    let written = bench.ok(&["report", id, "--store", "sqlite://kept.db"]);
    assert!(written.contains("proven: the payload and all its inputs are as recorded"));
    let found = written.split("a budget of ").nth(1).unwrap();
    let tokens: u32 = found.split(' ').next().unwrap().parse().unwrap();
    assert!(
        tokens > 4_500 && found.contains("(found by compiling)"),
        "{tokens}"
    );
}

#[test]
fn what_cannot_be_shown_says_why() {
    let bench = Bench::new();
    bench
        .file("cut.json", "{\"version\":1,\"input_digest\":\"sha")
        .file("page.html", "<html>");
    assert!(bench.refused(2, &["report", "cut.json"]).contains("cut off"));
    assert!(bench.refused(2, &["report", "page.html"]).contains("no JSON"));
    let said = bench.refused(2, &["report", "gw-none"]);
    assert!(said.contains("there is no file `gw-none`"), "{said}");
    assert!(
        said.contains("the id of a record or of a session"),
        "{said}"
    );
}
