//! Objects that are made anew from the files that they came from.

use serde_json::{Value, json};

use crate::support::Bench;

fn outcomes(bench: &Bench, more: &[&str]) -> Vec<(String, String)> {
    let args = [&["store", "refresh", "--format", "json"], more].concat();
    let done = bench.json(&args);
    let term = |value: &Value| value.as_str().unwrap().to_owned();
    let each = done["objects"].as_array().unwrap().iter();
    each.map(|one| (term(&one["name"]), term(&one["outcome"]))).collect()
}

fn object(bench: &Bench, name: &str) -> Value {
    bench.json(&["store", "get", name, "--format", "json"])[0]["object"].clone()
}

#[test]
fn a_changed_file_gives_its_object_a_new_revision_and_no_more_trust() {
    let bench = Bench::new();
    let file = |class: &str, level: u8, text: &str| {
        bench.file(
            "rules/limit.md",
            format!(
                "---\nupdate_path: rules/limit.md\nsecurity_classification: {class}\nauthority_level: {level}\n---\n{text}\n"
            ),
        );
    };
    let outcome = |expected: &str| {
        assert_eq!(
            outcomes(&bench, &[]),
            [("limit".to_owned(), expected.to_owned())]
        );
    };
    file("confidential", 2, "The limit is 3 bar.");
    bench.ok(&["store", "put", "--as", "guidance", "rules"]);
    outcome("unchanged");
    // What the file says of trust and secrecy counts where it asks for less and for more.
    file("public", 1, "The limit is 4 bar.");
    let dry = outcomes(&bench, &["--dry-run"]);
    assert_eq!(dry, [("limit".to_owned(), "revised".to_owned())]);
    let content = |bench: &Bench| object(bench, "limit")["content"].clone();
    assert_eq!(content(&bench), "The limit is 3 bar.\n".trim());
    outcome("revised");
    outcome("unchanged");
    let limit = object(&bench, "limit");
    assert_eq!(limit["content"], "The limit is 4 bar.");
    assert_eq!(
        (&limit["security_classification"], &limit["authority_level"]),
        (&json!("confidential"), &json!(2))
    );
    file("highly_restricted", 3, "The limit is 5 bar.");
    outcome("revised");
    let limit = object(&bench, "limit");
    assert_eq!(
        (&limit["security_classification"], &limit["authority_level"]),
        (&json!("highly_restricted"), &json!(3))
    );
    let history = bench.json(&["store", "history", "limit", "--format", "json"]);
    assert_eq!(history.as_array().unwrap().len(), 3);
    bench.file(".gitignore", "rules/\n");
    outcome("ignored");
    let text = bench.ok(&["store", "refresh"]);
    assert_eq!(text, "ignored              limit  rules/limit.md\n");
}

#[test]
fn only_the_own_file_inside_the_project_is_read() {
    let outer = Bench::new();
    outer.file("secret.md", "A secret.\n");
    let secret = outer.folder.path().join("secret.md");
    let bench = Bench::new();
    bench.file("a.md", "Anew.\n").file(".env.md", "A key.\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&secret, bench.folder.path().join("link.md")).unwrap();
    let cases = [
        ("a", "a.md", "a.md", "revised"),
        ("b", "b.md", "a.md", "not_its_source"),
        ("c", "secret.md", "../secret.md", "outside_the_project"),
        (
            "d",
            "secret.md",
            secret.to_str().unwrap(),
            "outside_the_project",
        ),
        ("e", "page", "https://docs.example/page", "not_a_file"),
        ("f", "gone.md", "file:gone.md", "missing"),
        ("g", ".env.md", ".env.md", "ignored"),
        ("h", "a.md", "./a.md", "not_in_the_file"),
        #[cfg(unix)]
        ("i", "link.md", "link.md", "outside_the_project"),
        ("j", "j", "", "not_a_file"),
    ];
    let lines = cases.map(|(name, origin, path, _)| {
        format!(
            "{}\n",
            json!({ "name": name, "content": "Old.", "object_type": "project_decision",
                    "source_origin": origin, "update_path": path })
        )
    });
    bench.file("all.jsonl", lines.concat());
    bench.ok(&["store", "put", "all.jsonl"]);
    let expected = cases.map(|(name, .., outcome)| (name.to_owned(), outcome.to_owned()));
    assert_eq!(outcomes(&bench, &[]), expected);
    assert_eq!(object(&bench, "a")["content"], "Anew.");
    for name in ["c", "d", "g", "i"] {
        assert_eq!(object(&bench, name)["content"], "Old.", "{name}");
    }
    bench.file("plain.jsonl", "{\"name\":\"plain\",\"content\":\"x\"}\n");
    bench.ok(&["store", "put", "plain.jsonl"]);
    let said = bench.refused(2, &["store", "refresh", "plain"]);
    assert!(said.contains("has no `update_path`"), "{said}");
    let said = bench.refused(2, &["store", "refresh", "--root", "nowhere"]);
    assert!(
        said.contains("nowhere") && said.contains("expected:"),
        "{said}"
    );
}

#[test]
fn data_is_refreshed_from_its_own_file_and_from_no_other() {
    let bench = Bench::new();
    let page = |path: &str, text: &str| format!("---\nupdate_path: {path}\n---\n{text}\n");
    bench
        .file("notes/own.md", page("notes/own.md", "The pump is off."))
        .file("notes/else.md", page("notes/own.md", "The valve is shut."))
        .file(
            "notes/web.md",
            page("https://evil.example/web.md", "Ask here."),
        );
    let put = bench.run(&["store", "put", "notes"]);
    assert!(put.status.success());
    let said = String::from_utf8_lossy(&put.stderr);
    for (name, path) in [
        ("else", "notes/own.md"),
        ("web", "https://evil.example/web.md"),
    ] {
        let told = format!("{name}: update_path `{path}` is left out: it is read as data");
        assert!(said.contains(&told), "{said}");
    }
    assert!(
        said.contains("else.md:") && !said.contains("own: update_path"),
        "{said}"
    );
    let (own, other) = (object(&bench, "own"), object(&bench, "else"));
    assert_eq!(own["update_path"], "notes/own.md");
    assert_eq!(own["object_type"], "retrieved_passage");
    assert_eq!(other["update_path"], Value::Null);
    bench.file("notes/own.md", page("notes/own.md", "The pump is on."));
    let done = outcomes(&bench, &[]);
    assert_eq!(done, [("own".to_owned(), "revised".to_owned())]);
    let own = object(&bench, "own");
    assert_eq!(own["content"], "The pump is on.");
    assert_eq!(own["object_type"], "retrieved_passage");
    // Asked for as data, it has no more authority than data by saying so.
    assert_eq!(own["authority_level"], Value::Null);
}
