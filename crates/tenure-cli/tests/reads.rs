//! Commands that only read make no store, wherever they are told to look.

use crate::help::pages;
use crate::support::{Bench, text};

/// The pages of commands that write to a store, or whose parts do: what these make is wanted.
const WRITERS: [&str; 16] = [
    "context pack",
    "context import",
    "entity add",
    "outcome propose",
    "store put",
    "store import",
    "store memory",
    "store policy",
    "store migrate",
    "session new",
    "session import",
    "keys create",
    "registry create",
    "mcp",
    "run",
    "serve",
];

/// The commands that need a store that is there to change it: they make none, either.
pub(crate) const READERS: &[&[&str]] = &[
    &["compile", "a.md", "--task", "x"],
    &["explain", "a.md", "--task", "x"],
    &["explain", "gw-4f1c"],
    &["gate", "a.md", "--task", "x", "--top-k", "1"],
    &["allocate", "--budget", "9", "--demand", "evidence=9"],
    &["allocate", "a.md", "--task", "x", "--budget", "900"],
    &["condense", "a.md", "--to", "9", "--no-keep"],
    &["rehydrate", "5f0c2a9133d07b1e"],
    &["query", "pump", "a.md"],
    &["query", "pump"],
    &["index", "query", "sections"],
    &["index", "list"],
    &["index", "status"],
    &["context", "activate", "notes", "--target", "thread:t"],
    &["context", "deactivate", "thread:t"],
    &["context", "explain", "notes"],
    &["context", "refresh", "notes"],
    &["context", "list"],
    &["context", "show", "notes"],
    &["context", "diff", "notes", "more"],
    &["context", "merge", "notes", "more", "--name", "both"],
    &["context", "export", "notes"],
    &["context", "accept", "notes", "--by", "ada"],
    &["context", "sweep"],
    &["tokens", "a.md"],
    &["check", "body.json"],
    &["check", "--answer", "a.md", "--constraints", "a.md"],
    &["lint", "a.md"],
    &["cache", "plan", "body.json"],
    &["cache", "explain", "body.json", "body.json"],
    &["models", "list"],
    &["models", "show", "gpt-4o"],
    &["models", "check"],
    &["diff", "trace.json", "trace.json"],
    &["import", "a.md", "--snapshot", "kept.snapshot"],
    &["registry", "show", "@"],
    &["registry", "promote", "@", "a", "--front"],
    &["registry", "reorder", "@", "a"],
    &["registry", "write", "@", "a", "--text", "x"],
    &["registry", "revise", "@", "a", "--text", "x"],
    &["registry", "set", "@", "a", "--priority", "1"],
    &["registry", "wrap", "@"],
    &["registry", "limit", "@"],
    &["registry", "evict", "@", "a"],
    &["registry", "rollback", "@", "run"],
    &["registry", "report", "@"],
    &["registry", "gate", "@", "--query", "x", "--top-k", "1"],
    &["store", "get", "a"],
    &["store", "list"],
    &["store", "audit"],
    &["store", "history", "a"],
    &["store", "as-of", "2026-06-01"],
    &["store", "search", "pump"],
    &["store", "log"],
    &["store", "retract", "a"],
    &["store", "judge", "a", "--status", "disputed"],
    &["store", "confirm", "a"],
    &["store", "export"],
    &["store", "erase", "a"],
    &["store", "subject", "ada"],
    &["store", "sweep"],
    &["store", "records"],
    &["store", "check"],
    &["store", "check", "--repair"],
    &["conflicts", "list"],
    &["conflicts", "show", "a", "b"],
    &["conflicts", "resolve", "a", "b", "--stands", "first"],
    &["belief", "show", "a"],
    &["belief", "revise", "a"],
    &["belief", "log", "a"],
    &["outcome", "accept", "a", "--by", "ada"],
    &["outcome", "reject", "a", "--by", "ada"],
    &["outcome", "withdraw", "a", "--by", "ada"],
    &["outcome", "repeat", "a"],
    &["outcome", "list"],
    &["store", "proposals"],
    &["review", "list"],
    &["review", "show", "a"],
    &["review", "accept", "a"],
    &["review", "reject", "a"],
    &["review", "hold", "a"],
    &["store", "refresh"],
    &["entity", "list"],
    &["entity", "show", "ada"],
    &["entity", "resolve", "Ada"],
    &["entity", "merge", "ada", "eve"],
    &["entity", "remove", "ada", "--alias", "Ada"],
    &["entity", "split", "ada"],
    &["entity", "review"],
    &["session", "append", "talk", "--text", "x"],
    &["session", "show", "talk"],
    &["session", "list"],
    &["session", "compile", "talk"],
    &["session", "rehydrate", "talk", "--id", "t2"],
    &["session", "checkpoint", "talk"],
    &["session", "pin", "talk", "t2"],
    &[
        "session", "judge", "talk", "t2", "--status", "clean", "--by", "ada",
    ],
    &["session", "unpin", "talk", "t2"],
    &["session", "learn", "talk", "a.md"],
    &["session", "export", "talk"],
    &["log"],
    &["replay", "gw-4f1c"],
    &["report", "gw-4f1c"],
    &["report", "trace.json"],
    &["keys", "list"],
    &["keys", "revoke", "5f0c2a91"],
    &["eval", "recall", "a.md", "--budget", "9"],
    &["eval", "similarities", "a.md"],
    &["doctor"],
    &["setup", "cursor", "--dry-run", "--force"],
    &["trust", "--list"],
    &["trust", "."],
    &["trust", "--untrust", "."],
    &["skills", "check", "."],
    &["schema", "request"],
    &["completions", "bash"],
    &["man"],
];

const MISSING: &str = "sqlite://missing.db";

#[test]
fn what_reads_makes_no_store() {
    let bench = Bench::new();
    bench.file("a.md", "The pump is hot.\n").file(
        "body.json",
        r#"{"model":"gpt-4o","messages":[{"role":"user","content":"x"}]}"#,
    );
    let trace = bench.ok(&["explain", "a.md", "--task", "x", "--format", "json"]);
    bench.file("trace.json", trace);
    let no_store = |after: &[&str]| {
        for made in [".tenure", "missing.db"] {
            let is_made = bench.folder.path().join(made).exists();
            assert!(!is_made, "{after:?} makes {made}");
        }
    };
    for reader in READERS {
        let args: Vec<&str> =
            reader.iter().map(|arg| if *arg == "@" { MISSING } else { arg }).collect();
        let output = bench.run(&args);
        let said = text(&output.stderr);
        assert!(!said.contains("panicked"), "{args:?}: {said}");
        // The arguments are right, so that the command comes as far as its store.
        let is_asked = output.status.code() != Some(1)
            || said.contains("nothing to search")
            || said.contains("there is no store");
        assert!(is_asked, "{args:?}: {said}");
        no_store(&args);
        let _ = std::fs::remove_file(bench.folder.path().join("kept.snapshot"));
        // Where one is named that is not there, whoever needs it says so.
        let named = bench.command(&args).env("TENURE_STORE", MISSING).output().unwrap();
        if !named.status.success() && output.status.success() {
            let said = text(&named.stderr);
            assert!(said.contains("there is no store"), "{args:?}: {said}");
        }
        no_store(&args);
    }
    let mut found = Vec::new();
    pages(&bench, &[], &mut found);
    let groups: Vec<String> = found.iter().map(|(path, _)| path.join(" ")).collect();
    for (path, page) in &found {
        let own = path.join(" ");
        let is_group = page.contains("\nCommands:\n");
        let mut covered = READERS.iter().any(|reader| {
            path.len() <= reader.len() && path.iter().zip(*reader).all(|(one, arg)| one == arg)
        });
        covered |= WRITERS.contains(&&*own) || is_group;
        assert!(covered, "`tenure {own}` is neither tried here nor a writer");
    }
    assert!(WRITERS.iter().all(|writer| groups.iter().any(|own| own == writer)));
}

#[test]
fn keys_of_a_store_that_is_not_there_are_none() {
    let bench = Bench::new();
    for more in [&[][..], &["--store", MISSING]] {
        let message = bench.refused(2, &[&["keys", "list"][..], more].concat());
        assert!(message.contains("there is no store"), "{message}");
        assert!(
            message.contains("`tenure keys create` makes one"),
            "{message}"
        );
    }
    bench.ok(&["keys", "create", "--tenant", "acme", "--operator"]);
    assert!(bench.ok(&["keys", "list"]).contains("acme"));
}
