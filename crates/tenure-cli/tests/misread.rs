//! What holds an object is an object or an error, on the command line: nobody is shown what they may not see because
//! somebody misspelt who may.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Bench, text};

const ASK: [&str; 8] = [
    "--task",
    "What does the chief earn?",
    "--role",
    "contractor",
    "--clearance",
    "restricted",
    "--context",
    "full",
];

fn salary(more: Value) -> Value {
    let mut salary = json!({
        "name": "salary",
        "content": "The chief earns kestrel 9 a year.",
        "object_type": "artifact",
        "security_classification": "highly_restricted",
        "permission_scope": {"deny_roles": ["contractor"]},
    });
    let fields = salary.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    salary
}

/// The outcome of a compile for the contractor: the exit code and all that was printed.
fn compiled(bench: &Bench, sources: &[&str]) -> (Option<i32>, String) {
    let args = [&["compile"][..], sources, &ASK, &["--format", "json"]].concat();
    let out = bench.run(&args);
    let told = text(&out.stderr);
    (out.status.code(), format!("{}{told}", text(&out.stdout)))
}

#[test]
fn an_object_that_cannot_be_read_is_not_shown() {
    let good = json!({"name": "open", "content": "The chief is kind.", "object_type": "artifact"});
    let burn = salary(json!({"retirement_rule": "burn"}));
    let class = salary(json!({"security_classification": "highly-restricted"}));
    let page =
        "---\nlayout: post\ndeny-roles: [contractor]\n---\nThe chief earns kestrel 9 a year.\n";
    for (name, content, told) in [
        ("x.json", burn.to_string(), "unknown term `burn`"),
        (
            "x.json",
            class.to_string(),
            "unknown term `highly-restricted`",
        ),
        ("x.json", format!("[\n{good},\n{burn}\n]"), "\"line\":3"),
        (
            "x.json",
            json!({"objects": [good, burn]}).to_string(),
            "unknown term `burn`",
        ),
        (
            "x.json",
            json!({"data": [salary(json!({}))]}).to_string(),
            "stands where it is not read",
        ),
        ("x.jsonl", format!("{good}\n{burn}\n"), "\"line\":2"),
        ("x.md", page.to_owned(), "permission_scope.deny_roles"),
    ] {
        let bench = Bench::new();
        bench.file(&format!("d/{name}"), &content);
        bench.file("d/other.md", "The chief is old.");
        let path = format!("d/{name}");
        let (code, named) = compiled(&bench, &[&path]);
        assert_eq!(code, Some(2), "{content}: {named}");
        assert!(
            named.contains(told) && !named.contains("kestrel"),
            "{content}: {named}"
        );
        let (code, walked) = compiled(&bench, &["d"]);
        assert_eq!(code, Some(0), "{content}: {walked}");
        assert!(
            walked.contains("left out") && !walked.contains("kestrel"),
            "{content}: {walked}"
        );
        assert!(walked.contains("The chief is old"), "{content}: {walked}");
        let (code, strict) = compiled(&bench, &["d", "--strict"]);
        assert_eq!(code, Some(2), "{content}: {strict}");
        // Writing goes by the same reader.
        let refused = bench.refused(2, &["store", "put", &path]);
        assert!(!refused.contains("kestrel"), "{refused}");
    }
}

#[test]
fn lines_and_lists_of_objects_are_objects_with_their_restrictions() {
    let bench = Bench::new();
    let whole = salary(json!({}));
    bench.file("a.jsonl", format!("{whole}\n"));
    bench.file("b.json", json!({"objects": [whole]}).to_string());
    for path in ["a.jsonl", "b.json"] {
        let (code, shown) = compiled(&bench, &[path]);
        assert_eq!(code, Some(0), "{shown}");
        assert!(!shown.contains("kestrel"), "{shown}");
        let ask = ["--task", "What does the chief earn?", "--context", "full"];
        let args = [&["compile", path, "--payload"][..], &ask].concat();
        let owner = bench.ok(&args);
        assert!(owner.contains("kestrel"), "{owner}");
    }
}

#[test]
fn a_package_is_named_as_an_object_is_and_carries_what_its_documents_say() {
    let bench = Bench::new();
    bench.file(
        "pay.md",
        "---\nname: pay\nsecurity_classification: highly_restricted\n---\n# Pay\nkestrel\n",
    );
    for name in ["a/b", "a\u{200b}b", "..", " a"] {
        let refused = bench.refused(
            2,
            &[
                "context", "pack", "sections", "--source", "pay.md", "--name", name,
            ],
        );
        assert!(refused.contains("is no name of a package"), "{refused}");
    }
    bench.ok(&[
        "context", "pack", "sections", "--source", "pay.md", "--name", "pay",
    ]);
    let out = bench.run(&["context", "activate", "pay", "--clearance", "restricted"]);
    assert!(
        !text(&out.stdout).contains("kestrel"),
        "{}",
        text(&out.stdout)
    );
    assert!(bench.ok(&["context", "activate", "pay"]).contains("kestrel"));
    // The file of a package is read by its own verbs alone.
    let exported = bench.ok(&["context", "export", "pay"]);
    fs::create_dir_all(bench.folder.path().join("d")).unwrap();
    bench.file("d/pay.json", exported);
    let (code, shown) = compiled(&bench, &["d/pay.json"]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(!shown.contains("kestrel"), "{shown}");
}
